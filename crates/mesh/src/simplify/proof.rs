//! Proves that a tier and its source lie near each other, both ways round.
//!
//! Most of what is asked is answered by a neighbour: a point mostly lies on the triangle on which the point beside it lies. Only where
//! that fails, all triangles are searched.

use nalgebra::Vector3;

use super::super::deviation::{is_near, squared_distance};
use super::{Map, NONE, Set, Source, Tier};

type Point = [f32; 3];

/// What is known of a tier. What was measured once need not be when the tier is tried again.
pub(super) struct Proof {
    /// How far they may lie from each other, in metres of the mesh.
    pub(super) bound: f32,
    /// The triangles (of points, the least first) of the tier that was looked at last.
    tier: Vec<[u32; 3]>,
    /// For each point of the source a triangle of the tier that it lies on; [`NONE`] if none is known.
    near: Vec<u32>,
    /// The same for the places that are looked at in each of [`Source::large`].
    near_large: Vec<[u32; PLACES]>,
    /// Triangles (of points, the least first) that lie on the source and are not turned round.
    proved: Set<[u32; 3]>,
}

/// Where a tier and its source are too far from each other.
pub(super) struct Astray {
    /// The numbers of the tier's triangles that are away from the source or turned round.
    pub(super) triangles: Vec<u32>,
    /// Places of the source that are away from the tier.
    pub(super) places: Vec<Point>,
}

impl Astray {
    pub(super) fn is_empty(&self) -> bool {
        self.triangles.is_empty() && self.places.is_empty()
    }
}

/// The places at which a triangle is looked at, beside its corners: its middle and those of its edges.
const PLACES: usize = 4;

/// These places, of the edges only those that are longer than `spacing`.
fn places([a, b, c]: [Point; 3], spacing: f32) -> [Option<Point>; PLACES] {
    let edge = |from: Point, to: Point| {
        let is_long = squared_distance(from, to) > spacing * spacing;
        is_long.then(|| [0, 1, 2].map(|k| (from[k] + to[k]) / 2.0))
    };
    [Some(middle(&[a, b, c])), edge(a, b), edge(b, c), edge(c, a)]
}

fn middle([a, b, c]: &[Point; 3]) -> Point {
    [0, 1, 2].map(|k| (a[k] + b[k] + c[k]) / 3.0)
}

/// Whether a triangle has an edge that is longer than `spacing`.
pub(super) fn is_large(triangle: [Point; 3], spacing: f32) -> bool {
    places(triangle, spacing).iter().flatten().count() > 1
}

impl Proof {
    /// Of no tier yet.
    pub(super) fn new(source: &Source<'_>, bound: f32) -> Self {
        Self {
            bound,
            tier: Vec::new(),
            near: vec![NONE; source.points.len()],
            near_large: vec![[NONE; PLACES]; source.large.len()],
            proved: Set::default(),
        }
    }

    /// The tier of these `triangles` (of vertices), and where it is farther than the bound from the source or turned round; and where the
    /// source is farther from the tier, if it `is_last`, so that no other will be made from it. `None` if that takes too long to say.
    pub(super) fn astray(&mut self, source: &Source<'_>, triangles: Vec<[u32; 3]>, is_last: bool) -> Option<(Astray, Tier)> {
        let tier = Tier::new(source, triangles);
        self.take(tier.faces.clone());
        let mut astray = Astray { triangles: Vec::new(), places: Vec::new() };
        let known = self.known(source);
        self.ask_neighbours(source);
        if is_last {
            self.search_points(source, &tier, &mut astray);
            self.search_large(source, &tier, &known, &mut astray);
        }
        self.search_tier(source, &tier.triangles, &known, &mut astray);
        (!source.whole.is_spent() && !tier.is_spent()).then_some((astray, tier))
    }

    /// For each triangle of the tier its number in the source, if it is there.
    fn known(&self, source: &Source<'_>) -> Vec<Option<u32>> {
        let number =
            |face: &[u32; 3]| source.around.of(face[0]).iter().copied().find(|&i| source.whole.faces[i as usize] == *face);
        self.tier.iter().map(number).collect()
    }

    fn corners(source: &Source<'_>, triangle: [u32; 3]) -> [Point; 3] {
        triangle.map(|i| source.points[i as usize])
    }

    /// Whether a place is near a triangle of the tier.
    fn is_on(&self, source: &Source<'_>, place: Point, triangle: u32) -> bool {
        let triangle = self.tier.get(triangle as usize);
        triangle.is_some_and(|t| is_near(place, &Self::corners(source, *t), self.bound))
    }

    /// Takes another tier in the place of the last one: what is near triangles that are in both stays so.
    fn take(&mut self, tier: Vec<[u32; 3]>) {
        let last = std::mem::replace(&mut self.tier, tier);
        if last.is_empty() {
            return;
        }
        let numbers: Map<[u32; 3], u32> = self.tier.iter().copied().zip(0..).collect();
        let now: Vec<u32> = last.iter().map(|t| numbers.get(t).copied().unwrap_or(NONE)).collect();
        for near in self.near.iter_mut().chain(self.near_large.as_flattened_mut()) {
            *near = now.get(*near as usize).copied().unwrap_or(NONE);
        }
    }

    /// Finds a triangle of the tier for most points: where they are kept, their own; else mostly one on which a neighbour lies.
    fn ask_neighbours(&mut self, source: &Source<'_>) {
        /// Each pass reaches one neighbour farther.
        const PASSES: usize = 3;
        for (triangle, number) in self.tier.iter().zip(0..) {
            triangle.iter().for_each(|&point| self.near[point as usize] = number);
        }
        for _ in 0..PASSES {
            let mut is_done = true;
            for corners in &source.whole.faces {
                for (k, &point) in corners.iter().enumerate() {
                    if self.near[point as usize] != NONE {
                        continue;
                    }
                    let others = [corners[(k + 1) % 3], corners[(k + 2) % 3]].map(|other| self.near[other as usize]);
                    if let Some(found) = others.into_iter().find(|t| self.is_on(source, source.points[point as usize], *t)) {
                        self.near[point as usize] = found;
                        is_done = false;
                    }
                }
            }
            if is_done {
                break;
            }
        }
    }

    /// Searches the tier for the points that no neighbour helped.
    fn search_points(&mut self, source: &Source<'_>, tier: &Tier, astray: &mut Astray) {
        for (near, (&place, point)) in self.near.iter_mut().zip(source.points.iter().zip(0..)) {
            if *near == NONE && !source.around.of(point).is_empty() {
                match tier.surface(source).find(place, self.bound) {
                    Some(found) => *near = found as u32,
                    None => astray.places.push(place),
                }
            }
        }
    }

    /// Searches the tier for places of the source's large triangles.
    fn search_large(&mut self, source: &Source<'_>, tier: &Tier, known: &[Option<u32>], astray: &mut Astray) {
        let mut is_there = vec![false; source.whole.faces.len()];
        known.iter().flatten().for_each(|&i| is_there[i as usize] = true);
        let mut last = NONE;
        for (at, &number) in source.large.iter().enumerate().filter(|(_, number)| !is_there[**number as usize]) {
            let face = source.whole.faces[number as usize];
            let places = places(Self::corners(source, face), source.spacing());
            for (k, place) in places.into_iter().enumerate() {
                let Some(place) = place.filter(|_| self.near_large[at][k] == NONE) else { continue };
                let [a, b, c] = face.map(|point| self.near[point as usize]);
                let found = [last, a, b, c].into_iter().find(|t| self.is_on(source, place, *t));
                match found.or_else(|| tier.surface(source).find(place, self.bound).map(|found| found as u32)) {
                    Some(found) => {
                        last = found;
                        self.near_large[at][k] = found;
                    }
                    None => astray.places.push(place),
                }
            }
        }
    }

    /// Searches the source for places of the tier's triangles that it has not itself.
    fn search_tier(&mut self, source: &Source<'_>, triangles: &[[u32; 3]], known: &[Option<u32>], astray: &mut Astray) {
        // For each triangle to look at the point of the source that is nearest to its middle, of those that lie on it, and how near.
        let asked = self.tier.iter().zip(known).map(|(face, known)| {
            let is_asked = known.is_none() && !self.proved.contains(face);
            is_asked.then_some((f32::INFINITY, NONE))
        });
        let mut asked: Vec<Option<(f32, u32)>> = asked.collect();
        for (&near, point) in self.near.iter().zip(0..) {
            if let (Some(Some(nearest)), Some(face)) = (asked.get_mut(near as usize), self.tier.get(near as usize)) {
                let distance = squared_distance(source.points[point as usize], middle(&Self::corners(source, *face)));
                if distance < nearest.0 {
                    *nearest = (distance, point);
                }
            }
        }
        for (number, (vertices, nearest)) in (0..).zip(triangles.iter().zip(asked)) {
            let Some((_, nearest)) = nearest else { continue };
            let face = self.tier[number as usize];
            let around = if nearest == NONE { &[] } else { source.around.of(nearest) };
            let is_near = |place: Point| {
                let known = |&i: &u32| is_near(place, &Self::corners(source, source.whole.faces[i as usize]), self.bound);
                around.iter().any(known) || source.whole.surface(source).is_within(place, self.bound)
            };
            let places = places(Self::corners(source, face), source.spacing());
            if is_turned(source, *vertices) || !places.into_iter().flatten().all(is_near) {
                astray.triangles.push(number);
            } else {
                self.proved.insert(face);
            }
        }
    }
}

/// Whether a triangle of vertices faces away from the normals of all its corners.
fn is_turned(source: &Source<'_>, triangle: [u32; 3]) -> bool {
    let face = source.normal(triangle);
    triangle.iter().all(|&i| face.dot(&Vector3::from(source.vertices[i as usize].normal.map(f64::from))) <= 0.0)
}
