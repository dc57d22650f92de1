//! Collapses the edges of large meshes in pieces, on all cores.
//!
//! The pieces are the cells of a k-d tree. Points with triangles in several pieces stay until the pieces are joined,
//! so that a piece needs nothing of its neighbours. A piece fits into the processor's caches, and only the
//! pieces in work have the tables of a [`Decimation`].

#![allow(
    clippy::indexing_slicing,
    reason = "triangles of a mesh have been checked, and every table is as long as what its indices count"
)]

use rayon::prelude::*;

use super::collapse::{Decimation, Kept, Numbers};
use super::{LOW_DEVIATION, NONE, Source};

/// Maximum number of triangles of a mesh that is not divided.
pub(super) const MAX_TRIANGLES: usize = 1 << 16;

/// Number of triangles between two samples that the tree is built from.
const STRIDE: usize = 16;

/// Returns the triangles after collapses within `bound`, in another order. Pieces have about `size` triangles
/// or fewer.
pub(super) fn collapsed<T: Copy + Into<Kept> + Sync>(
    source: &Source<'_>,
    triangles: &[T],
    bound: f32,
    size: usize,
) -> Vec<Kept> {
    let pieces = divide(source, triangles, size);
    let is_border = borders(source, triangles, &pieces);
    let collapsed = |numbers: &mut Numbers, piece: &Vec<u32>| -> Vec<Kept> {
        let piece = piece.iter().map(|i| triangles[*i as usize].into());
        let mut decimation = Decimation::new(source, piece, numbers, LOW_DEVIATION);
        decimation.fix(|point| is_border[numbers.points[point] as usize]);
        numbers.clear();
        decimation.collapse(bound);
        decimation.remaining().collect()
    };
    let pieces: Vec<Vec<Kept>> = pieces
        .par_iter()
        .map_init(|| Numbers::new(source), collapsed)
        .collect();
    let joined = pieces.concat();
    if pieces.len() == 1 {
        return joined;
    }
    drop(pieces);
    let mut is_near = vec![false; is_border.len()];
    for kept in &joined {
        let points = kept
            .wedges
            .map(|wedge| source.vertices[wedge as usize].point as usize);
        if points.iter().any(|point| is_border[*point]) {
            points.iter().for_each(|point| is_near[*point] = true);
        }
    }
    let mut numbers = Numbers::new(source);
    let mut decimation = Decimation::new(source, joined.into_iter(), &mut numbers, LOW_DEVIATION);
    decimation.choose(|point| is_near[numbers.points[point] as usize]);
    decimation.collapse(bound);
    decimation.remaining().collect()
}

/// Returns the triangles of each piece, by their indices in ascending order.
fn divide<T: Copy + Into<Kept>>(
    source: &Source<'_>,
    triangles: &[T],
    size: usize,
) -> Vec<Vec<u32>> {
    let count = triangles.len().div_ceil(size).next_power_of_two();
    let depth = count.ilog2();
    let place = |&triangle: &T| {
        let [wedge, ..] = triangle.into().wedges;
        let point = source.vertices[wedge as usize].point;
        source.mesh.points[point as usize]
    };
    let mut samples: Vec<[f32; 3]> = triangles.iter().step_by(STRIDE).map(place).collect();
    let mut planes = vec![Plane::default(); count];
    split(&mut samples, &mut planes, 1);
    let mut pieces = vec![Vec::new(); count];
    for (i, triangle) in (0..).zip(triangles) {
        let place = place(triangle);
        let mut number = 1;
        for _ in 0..depth {
            let Plane { axis, offset } = planes[number];
            number = 2 * number + usize::from(place[axis] >= offset);
        }
        pieces[number - count].push(i);
    }
    pieces
}

/// A plane orthogonal to an axis.
#[derive(Clone, Copy, Default)]
struct Plane {
    axis: usize,
    offset: f32,
}

/// Sets the planes below the `number`th one of a binary heap, so that each halves the samples on its side.
fn split(samples: &mut [[f32; 3]], planes: &mut [Plane], number: usize) {
    if number >= planes.len() || samples.is_empty() {
        return;
    }
    let extent = |axis: usize| {
        let ends = samples
            .iter()
            .fold([f32::INFINITY, f32::NEG_INFINITY], |[low, high], sample| {
                [low.min(sample[axis]), high.max(sample[axis])]
            });
        ends[1] - ends[0]
    };
    let extents = [0, 1, 2].map(extent);
    let axis = (0..3)
        .max_by(|a, b| extents[*a].total_cmp(&extents[*b]))
        .unwrap_or(0);
    let middle = samples.len() / 2;
    let (below, median, above) =
        samples.select_nth_unstable_by(middle, |a, b| a[axis].total_cmp(&b[axis]));
    planes[number] = Plane {
        axis,
        offset: median[axis],
    };
    split(below, planes, 2 * number);
    split(above, planes, 2 * number + 1);
}

/// Returns for each point of the source if it has triangles in several pieces.
fn borders<T: Copy + Into<Kept>>(
    source: &Source<'_>,
    triangles: &[T],
    pieces: &[Vec<u32>],
) -> Vec<bool> {
    let mut owners = vec![NONE; source.mesh.points.len()];
    let mut is_border = vec![false; owners.len()];
    for (number, piece) in (0..).zip(pieces) {
        for wedge in piece
            .iter()
            .flat_map(|i| triangles[*i as usize].into().wedges)
        {
            let point = source.vertices[wedge as usize].point as usize;
            is_border[point] |= owners[point] != NONE && owners[point] != number;
            owners[point] = number;
        }
    }
    is_border
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::MEDIUM_DEVIATION;
    use super::*;
    use crate::shapes::ball;

    #[test]
    fn pieces_stay_joined() {
        let ball = ball(60);
        let whole = 0..ball.triangles.len();
        let (source, triangles) = Source::new(&ball, std::slice::from_ref(&whole)).unwrap();
        let mut triangles: Vec<Kept> = triangles.into_iter().map(Kept::from).collect();
        let mut decimation = Decimation::new(
            &source,
            triangles.iter().copied(),
            &mut Numbers::new(&source),
            LOW_DEVIATION,
        );
        for bound in [MEDIUM_DEVIATION, LOW_DEVIATION] {
            let pieces = divide(&source, &triangles, 500);
            assert!(pieces.len() >= 4, "{}", pieces.len());
            let mut all: Vec<u32> = pieces.concat();
            all.sort_unstable();
            assert!(all.iter().copied().eq(0..triangles.len() as u32));
            assert!(borders(&source, &triangles, &pieces).contains(&true));

            let joined = collapsed(&source, &triangles, bound, 500);
            let again = collapsed(&source, &triangles, bound, 500);
            assert!(
                joined
                    .iter()
                    .map(|t| t.wedges)
                    .eq(again.iter().map(|t| t.wedges))
            );
            triangles = joined;
            decimation.collapse(bound);
            let expected = decimation.remaining().count();
            assert!(
                triangles.len() < expected + expected / 5,
                "{} {expected}",
                triangles.len()
            );
            let edges: Vec<[u32; 2]> = triangles
                .iter()
                .map(|kept| {
                    kept.wedges
                        .map(|wedge| source.vertices[wedge as usize].point)
                })
                .flat_map(|[a, b, c]| [[a, b], [b, c], [c, a]])
                .collect();
            let distinct: HashSet<[u32; 2]> = edges.iter().copied().collect();
            assert_eq!(distinct.len(), edges.len());
            assert!(
                distinct
                    .iter()
                    .all(|[from, to]| distinct.contains(&[*to, *from]))
            );
        }
    }
}
