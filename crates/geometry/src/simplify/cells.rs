//! Cells of a mesh: compact groups of triangles, found by splitting recursively at the median of
//! their centres.

use crate::Bounds;
use crate::boxes::middle;

/// Maximum number of triangles sorted by one task.
const TOGETHER: usize = 4096;

/// Orders triangles by their centres so that those of each of `leaves` leaves, and of each inner
/// node above them, are contiguous.
fn arrange(order: &mut [([f32; 3], u32)], leaves: usize) {
    if leaves <= 1 {
        return;
    }
    // Split along the axis with the widest spread of centres, not of corners: the sides of a
    // cylinder extend along its axis, but their centres coincide there.
    let mut middles = Bounds::empty();
    order.iter().for_each(|(middle, _)| middles.add(*middle));
    let axis = middles.longest_axis();
    let half = order.len() / 2;
    if half > 0 {
        order.select_nth_unstable_by(half, |a, b| a.0[axis].total_cmp(&b.0[axis]));
    }
    let count = order.len();
    let (left, right) = order.split_at_mut(half);
    if count > TOGETHER {
        rayon::join(|| arrange(left, leaves / 2), || arrange(right, leaves / 2));
    } else {
        arrange(left, leaves / 2);
        arrange(right, leaves / 2);
    }
}

/// Returns the numbers of triangles, in order, in compact groups of at most `size`. Every index of
/// a triangle is one of `points`.
pub(super) fn clusters(points: &[[f32; 3]], triangles: &[[u32; 3]], size: usize) -> Vec<Vec<u32>> {
    // `arrange` halves the leaves down to one, so their number has to be a power of two.
    let count = triangles.len().div_ceil(size.max(1)).next_power_of_two();
    let mut order: Vec<([f32; 3], u32)> = triangles
        .iter()
        .map(|triangle| middle(points, triangle))
        .zip(0..)
        .collect();
    arrange(&mut order, count);
    let clusters = (0..count).map(|i| {
        let [from, to] = [i, i + 1].map(|i| order.len() * i / count);
        let mut numbers: Vec<u32> = order[from..to].iter().map(|(_, number)| *number).collect();
        numbers.sort_unstable();
        numbers
    });
    clusters.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_hold_each_triangle_once() {
        let points: Vec<[f32; 3]> = (0..300_u16)
            .map(|i| [f32::from(i % 17), f32::from(i % 31), f32::from(i)])
            .collect();
        let triangles: Vec<[u32; 3]> = (0..298).map(|i| [i, i + 1, i + 2]).collect();
        for size in [1, 10, 100, 1000] {
            let clusters = clusters(&points, &triangles, size);
            assert!(
                clusters
                    .iter()
                    .all(|cluster| cluster.len() <= size && cluster.is_sorted()),
                "{size}"
            );
            let mut all = clusters.concat();
            all.sort_unstable();
            assert_eq!(all, (0..298).collect::<Vec<_>>());
        }
    }
}
