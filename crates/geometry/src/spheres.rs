//! Covers a body with few spheres, none of which protrudes by more than a given error.
//!
//! A ball whose centre is at depth `d` in a body and whose radius is `d + e` protrudes by at most
//! `e`, since the ball of radius `d` is inside. The largest balls of that kind have their centres
//! on the medial axis of the body. Among those, a small set is chosen that covers samples of the
//! body: points, each with a radius within which it represents the body. A sample counts as covered
//! only with its whole radius, so the cover is proved between the samples, too.
//!
//! This module must not know anything but triangles.

mod cover;
mod depths;
pub(crate) mod solid;
mod surface;

use std::collections::HashSet;

use cover::{Ball, Block, cover};
use depths::Depths;
use solid::{Solid, close_cracks, edge_of_cells, surface_samples};

use crate::Bounds;
use crate::vector::{cross, dot, norm, subtract};

/// A point in metres.
pub type Point = [f64; 3];
/// Its corners, counter-clockwise seen from outside.
pub type Triangle = [Point; 3];

/// Minimum and maximum radius that a sample of the surface represents, relative to the error.
const SURFACE: [f64; 2] = [0.05, 0.2];
/// Number of samples of the surface, about, above which they are coarser.
const MOST_FINE_SURFACE: f64 = 20_000.0;
/// Depth below the surface down to which no volume samples are needed, relative to the error: the
/// samples of the surface cover it.
const SKIN: f64 = 0.05;
/// Minimum and maximum radius that a sample of the volume next to the surface represents, relative
/// to the error.
const VOLUME: [f64; 2] = [0.06, 1.0 / 6.0];
/// Number of samples of the volume next to the surface, about, above which they are coarser.
const MOST_FINE_VOLUME: f64 = 30_000.0;
/// Minimum edge of a cell of the body's grid, relative to the error. Half of it takes a fifth longer, and
/// saves no spheres (UR10e, G1 and four others, at an error of 2 cm).
const GRID: f64 = 0.16;
/// Maximum number of samples of the surface.
const MOST_SAMPLES: f64 = 40_000.0;
/// Maximum number of candidates for spheres.
const MOST_BALLS: usize = 1500;
/// Maximum number of spheres of one body.
pub const MOST_SPHERES: usize = 2000;

/// The target of a fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wanted {
    /// Maximum protrusion of any sphere in metres; above zero.
    Error(f64),
    /// Maximum number of spheres, above zero; the protrusion is minimised.
    Count(usize),
}

/// Spheres that cover a body.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fit {
    /// Centres and radii, metres.
    pub spheres: Vec<(Point, f64)>,
    /// Maximum protrusion of any sphere, metres.
    pub error: f64,
}

/// Covers the body that `triangles` are the surface of. Where the surface has holes, the body is
/// the region with a winding number above one half, to a cell of the grid, and the triangles
/// themselves; cavities that can't be seen from outside are part of it. Returns `None` if there is no
/// triangle, a number is not finite, the error is not positive, or the body needs more than [`MOST_SPHERES`].
pub fn fit(triangles: &[Triangle], wanted: Wanted) -> Option<Fit> {
    if triangles.is_empty()
        || !triangles
            .iter()
            .flatten()
            .flatten()
            .all(|at| at.is_finite())
    {
        return None;
    }
    let finest = match wanted {
        Wanted::Error(error) if !(error > 0.0 && error.is_finite()) => return None,
        Wanted::Error(error) => error * GRID,
        Wanted::Count(_) => 0.0,
    };
    let mut surface = distinct(triangles);
    let bounds = Bounds::of(surface.iter().flatten().copied());
    close_cracks(&mut surface, edge_of_cells(&bounds, finest));
    let solid = Solid::new(&surface, finest);
    let body = Candidates::new(&solid, thickness(triangles));
    match wanted {
        Wanted::Error(error) => body.with_error(error, MOST_SPHERES),
        Wanted::Count(count) => body.with_count(count.min(MOST_SPHERES)),
    }
}

/// Returns the mean thickness of a body: twice its volume by its area, if its surface has no holes.
fn thickness(triangles: &[Triangle]) -> f64 {
    let [volume, area] = triangles
        .iter()
        .fold([0.0; 2], |[volume, area], [a, b, c]| {
            let across = cross(subtract(*b, *a), subtract(*c, *a));
            [volume + dot(*a, across) / 6.0, area + norm(across) / 2.0]
        });
    2.0 * volume.abs() / area
}

/// Returns the triangles without those that repeat another one with the same orientation. A surface that
/// is stored several times would have a multiple of its winding number, and one with holes would
/// enclose what is far outside of it.
fn distinct(triangles: &[Triangle]) -> Vec<Triangle> {
    let mut seen: HashSet<_, foldhash::fast::FixedState> =
        HashSet::with_capacity_and_hasher(triangles.len(), Default::default());
    let key = |triangle: &Triangle| {
        // Adding zero makes -0 and 0 equal.
        let mut corners = triangle.map(|corner| corner.map(|at| (at + 0.0).to_bits()));
        let least = (0..3).min_by_key(|&index| corners.get(index).copied());
        corners.rotate_left(least.unwrap_or(0));
        corners
    };
    let is_new = |triangle: &&Triangle| seen.insert(key(triangle));
    triangles.iter().filter(is_new).copied().collect()
}

/// A body, with the centres of spheres that may cover it.
struct Candidates<'a> {
    solid: &'a Solid,
    depths: Depths<'a>,
    /// Points near the medial axis, with their depths.
    middles: Vec<(Point, f64)>,
}

impl<'a> Candidates<'a> {
    fn new(solid: &'a Solid, thickness: f64) -> Self {
        let depths = Depths::new(solid);
        Self {
            middles: depths.middles(MOST_BALLS, thickness),
            depths,
            solid,
        }
    }

    /// Returns at most `most` spheres that protrude by at most `error`.
    fn with_error(&self, error: f64, most: usize) -> Option<Fit> {
        let area: f64 = self
            .solid
            .seen
            .iter()
            .map(|[a, b, c]| norm(cross(subtract(*b, *a), subtract(*c, *a))) / 2.0)
            .sum();
        // Finer where that takes few samples: a ball covers a sample with its whole radius, so that
        // coarse ones need more balls.
        let spacing = |[fine, coarse]: [f64; 2], most: f64| {
            (area / most).sqrt().clamp(fine * error, coarse * error)
        };
        let edge = spacing(SURFACE, MOST_FINE_SURFACE).max((area / MOST_SAMPLES).sqrt());
        // Samples farther apart than the error leave no room for spheres.
        if edge > error / 2.0 {
            return None;
        }
        let mut points = surface_samples(&self.solid.seen, edge);
        let volume = spacing(VOLUME, MOST_FINE_VOLUME).max(edge / 2.0);
        let skin = error * SKIN;
        // With a larger reach the samples of the surface also cover the volume down to the skin.
        points.iter_mut().for_each(|(_, reach)| *reach += skin);
        points.extend(self.depths.inner_samples(skin, volume));
        sort_by_place(&mut points);
        let balls: Vec<Ball> = self
            .middles
            .iter()
            .map(|(center, depth)| (*center, depth + error))
            .collect();
        let own = |point: Point| (point, self.solid.depth(point) + error);
        let blocks = Block::all(&points);
        let mut spheres = cover(&balls, &blocks, own, most)?;
        let depths: Vec<f64> = spheres.iter().map(|(_, radius)| radius - error).collect();
        shrink(&mut spheres, &blocks);
        // Report the actual protrusion: shrinking has made it smaller than the requested one.
        let error = spheres
            .iter()
            .zip(depths)
            .map(|((_, radius), depth)| radius - depth)
            .fold(0.0, f64::max);
        Some(Fit { spheres, error })
    }

    /// Returns at most `count` spheres, by bisection for the smallest error, to 4 %.
    fn with_count(&self, count: usize) -> Option<Fit> {
        let bounds = Bounds::of(self.solid.seen.iter().flatten().copied());
        let half = norm(bounds.size()) / 2.0;
        // Start with an error at which one sphere suffices, slack for the samples included.
        let (mut enough, mut too_small) = (half * 2.0, half / 512.0);
        let mut best = self.with_error(enough, count);
        // Bisect in the logarithm: the error may be anywhere within three orders of magnitude. The
        // greedy cover is not monotonic in the error, so keep the best fit seen.
        while enough / too_small > 1.04 {
            let error = (enough * too_small).sqrt();
            match self.with_error(error, count) {
                Some(fit) => {
                    enough = error;
                    if best.as_ref().is_none_or(|best| fit.error < best.error) {
                        best = Some(fit);
                    }
                }
                None => too_small = error,
            }
        }
        best
    }
}

/// Sorts points in Morton order, so that neighbours in space are mostly neighbours in the list.
fn sort_by_place(points: &mut [Ball]) {
    let low = Bounds::of(points.iter().map(|(point, _)| *point)).low;
    let size = points
        .iter()
        .map(|(point, _)| norm(subtract(*point, low)))
        .fold(1e-9, f64::max);
    let key = |(point, _): &Ball| {
        let at = subtract(*point, low).map(|at| (at / size * 1023.0) as u32);
        // Interleave the bits of the three coordinates.
        (0..10).fold(0_u32, |key, bit| {
            (0..).zip(at).fold(key, |key, (axis, at)| {
                key | (at >> bit & 1) << (3 * bit + axis)
            })
        })
    };
    points.sort_by_cached_key(key);
}

/// Shrinks each sphere to the points for which it is responsible.
fn shrink(spheres: &mut [Ball], blocks: &[Block]) {
    let needs = |sphere: &Ball, point: &Ball| norm(subtract(point.0, sphere.0)) + point.1;
    let mut radii = vec![0.0_f64; spheres.len()];
    for block in blocks {
        // Only spheres that may have more room for a point than another has for all.
        let rooms: Vec<(f64, f64)> = spheres.iter().map(|sphere| block.room(sphere)).collect();
        let least = rooms
            .iter()
            .map(|(least, _)| *least)
            .fold(f64::NEG_INFINITY, f64::max);
        let near: Vec<(usize, &Ball)> = spheres
            .iter()
            .enumerate()
            .zip(&rooms)
            .filter(|(_, (_, most))| *most >= least)
            .map(|(sphere, _)| sphere)
            .collect();
        for point in &block.points {
            // The sphere with the most slack is responsible for the point.
            let room = |(_, sphere): &&(usize, &Ball)| sphere.1 - needs(sphere, point);
            let best = near.iter().max_by(|a, b| room(a).total_cmp(&room(b)));
            if let Some((best, sphere)) = best
                && let Some(radius) = radii.get_mut(*best)
            {
                *radius = radius.max(needs(sphere, point));
            }
        }
    }
    spheres
        .iter_mut()
        .zip(radii)
        .for_each(|(sphere, radius)| sphere.1 = radius.min(sphere.1));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::{add, scale};
    use crate::{Random, shapes};

    /// A box from `low` to `high`; `open`: without its upper side.
    fn cuboid(low: Point, high: Point, open: bool) -> Vec<Triangle> {
        let (corners, sides) = shapes::cuboid(low, high);
        let sides = &sides[..if open { 5 } else { 6 }];
        sides
            .iter()
            .flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]])
            .map(|triangle| triangle.map(|corner| corners[corner]))
            .collect()
    }

    /// Asserts that every point of the box is in a sphere, and that none protrudes by more than the
    /// fit says, with formulas independent of the fit's.
    fn check(fit: &Fit, low: Point, high: Point) {
        let mut random = Random::new(3);
        for index in 0..30_000 {
            let mut point: Point =
                std::array::from_fn(|k| low[k] + (high[k] - low[k]) * random.unit());
            if index % 3 > 0 {
                // On a face, then on an edge.
                (0..index % 3)
                    .for_each(|k| point[k] = if random.unit() < 0.5 { low[k] } else { high[k] });
            }
            let is_in = |(center, radius): &(Point, f64)| norm(subtract(point, *center)) <= *radius;
            assert!(fit.spheres.iter().any(is_in), "{point:?}");
        }
        for (center, radius) in &fit.spheres {
            // Search the direction of maximum protrusion by brute force.
            for _ in 0..2000 {
                let direction: Point = std::array::from_fn(|_| random.unit() - 0.5);
                let point = add(*center, scale(direction, radius / norm(direction)));
                let out: Point =
                    std::array::from_fn(|k| (low[k] - point[k]).max(point[k] - high[k]).max(0.0));
                assert!(
                    norm(out) <= fit.error + 1e-9,
                    "{center:?} {radius}: {} > {}",
                    norm(out),
                    fit.error
                );
            }
        }
    }

    #[test]
    fn a_box_is_covered_within_the_error() {
        let (low, high) = ([0.0, -0.1, 0.2], [0.3, 0.1, 0.4]);
        let fit = fit(&cuboid(low, high, false), Wanted::Error(0.05)).unwrap();
        assert!(fit.error <= 0.05 && fit.error > 0.025, "{}", fit.error);
        check(&fit, low, high);
        // Most of them are along the edges.
        assert!(
            (4..40).contains(&fit.spheres.len()),
            "{}",
            fit.spheres.len()
        );
    }

    #[test]
    fn plates_thinner_than_cells_need_few_spheres() {
        for thickness in [0.0015, 0.002, 0.003] {
            let (low, high) = ([0.0; 3], [0.2, 0.2, thickness]);
            let fit = fit(&cuboid(low, high, false), Wanted::Error(0.02)).unwrap();
            check(&fit, low, high);
            assert!(fit.spheres.len() < 70, "{thickness}: {}", fit.spheres.len());
        }
    }

    #[test]
    fn more_spheres_stand_out_less() {
        let (low, high) = ([-0.5, -0.05, -0.05], [0.5, 0.05, 0.05]);
        let [few, many] = [3, 8].map(|count| {
            let fit = fit(&cuboid(low, high, false), Wanted::Count(count)).unwrap();
            assert!(fit.spheres.len() <= count);
            check(&fit, low, high);
            fit.error
        });
        assert!(many < few && few < 0.2, "{few} {many}");
        let one = fit(&cuboid(low, high, false), Wanted::Count(1)).unwrap();
        assert_eq!(one.spheres.len(), 1);
    }

    #[test]
    fn bodies_with_holes_are_filled_and_hollow_ones_are_full() {
        let (low, high) = ([0.0; 3], [0.2; 3]);
        let fit_of = |triangles: &[Triangle]| fit(triangles, Wanted::Error(0.06)).unwrap();
        let closed = fit_of(&cuboid(low, high, false));
        let open = fit_of(&cuboid(low, high, true));
        // The interior up to slightly below the hole, from which spheres may protrude by one more
        // cell of the grid.
        check(
            &Fit {
                error: open.error + 0.02,
                ..open.clone()
            },
            low,
            [0.2, 0.2, 0.19],
        );
        assert!(
            open.spheres.len() <= closed.spheres.len() * 2,
            "{} {}",
            open.spheres.len(),
            closed.spheres.len()
        );
        let mut hollow = cuboid(low, high, false);
        hollow.extend(
            cuboid([0.02; 3], [0.18; 3], false)
                .iter()
                .map(|[a, b, c]| [*a, *c, *b]),
        );
        let hollow = fit_of(&hollow);
        check(&hollow, low, high);
        assert!(
            hollow.spheres.len() <= closed.spheres.len() * 2,
            "{} {}",
            hollow.spheres.len(),
            closed.spheres.len()
        );
    }

    #[test]
    fn an_open_box_that_is_stored_several_times_is_covered() {
        // Its winding number exceeds one half far beyond the opening.
        let (low, high) = ([0.0; 3], [0.2; 3]);
        let once = fit(&cuboid(low, high, true), Wanted::Error(0.06)).unwrap();
        for times in [4, 8, 40] {
            let mut triangles = cuboid(low, high, true).repeat(times);
            // The first corner of a triangle is arbitrary.
            triangles
                .iter_mut()
                .step_by(2)
                .for_each(|of| of.rotate_left(1));
            let fit = fit(&triangles, Wanted::Error(0.06)).unwrap();
            assert_eq!(fit.spheres.len(), once.spheres.len());
            check(
                &Fit {
                    error: fit.error + 0.02,
                    ..fit
                },
                low,
                high,
            );
        }
    }

    #[test]
    fn a_plate_without_thickness_is_covered() {
        let (low, high) = ([0.0; 3], [0.2, 0.1, 0.0]);
        let plate = fit(&cuboid(low, high, false), Wanted::Error(0.03)).unwrap();
        check(&plate, low, high);
    }

    #[test]
    fn what_is_no_body_has_no_spheres() {
        assert_eq!(fit(&[], Wanted::Error(0.1)), None);
        assert_eq!(fit(&[[[f64::NAN; 3]; 3]], Wanted::Error(0.1)), None);
        for error in [f64::NAN, f64::INFINITY, 0.0, -1.0] {
            let of_error = fit(&cuboid([0.0; 3], [1.0; 3], false), Wanted::Error(error));
            assert_eq!(of_error, None, "{error}");
        }
        // This error needs more than two thousand spheres.
        assert_eq!(
            fit(&cuboid([0.0; 3], [1.0; 3], false), Wanted::Error(1e-4)),
            None
        );
        // A single point is covered by one sphere.
        assert_eq!(
            fit(&[[[1.0; 3]; 3]], Wanted::Error(0.1)).map(|fit| fit.spheres.len()),
            Some(1)
        );
        // Rounding leaves such a body no margin.
        let far = fit(&[[[1e6; 3]; 3]], Wanted::Error(0.1));
        assert!(far.is_none_or(|fit| fit.spheres.len() == 1));
    }
}
