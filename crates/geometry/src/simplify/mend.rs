//! Repairs triangles of a tier that are flipped or too far from the source, so that the tier need
//! not be simplified again.
//!
//! Nearly all of them are slivers that fold over: they are on the surface, upside down. An edge
//! flip or an edge collapse removes them. The caller decides whether a triangle is fit.

use nalgebra::Vector3;

use super::topology::Around;
use super::{Source, Tier, is_near};
use crate::vector::distance_squared;

/// Points with more triangles are left alone.
const MOST_AT_A_POINT: usize = 32;

/// A tier under repair.
pub(super) struct Mending<'a, 's> {
    source: &'a Source<'s>,
    /// Maximum displacement of the surface.
    bound: f32,
    tier: &'a mut Tier,
    /// The unit of each triangle. A repair never spans units.
    units: &'a mut Vec<u32>,
    /// The triangles at each point before any repair of this pass.
    around: Around,
    /// Triangles whose entry in `around` is out of date.
    is_moved: Vec<bool>,
    /// Triangles that were removed.
    is_gone: Vec<bool>,
}

/// The effect of one repair.
struct Change {
    /// The numbers of triangles, and their new vertices.
    made: Vec<(u32, [u32; 3])>,
    gone: Vec<u32>,
}

impl<'a, 's> Mending<'a, 's> {
    pub(super) fn new(
        source: &'a Source<'s>,
        bound: f32,
        tier: &'a mut Tier,
        units: &'a mut Vec<u32>,
    ) -> Self {
        let count = tier.faces.len();
        let around = Around::new(source.points.len(), &tier.faces);
        Self {
            source,
            bound,
            tier,
            units,
            around,
            is_moved: vec![false; count],
            is_gone: vec![false; count],
        }
    }

    /// Repairs a triangle if the result consists of triangles (of vertices) that are fit. Tries to
    /// flip each edge first, then to collapse one, shortest first.
    pub(super) fn mend(&mut self, number: u32, mut fits: impl FnMut([u32; 3]) -> bool) {
        // `around` is out of date here. The next pass repairs the triangle.
        if self.is_moved[number as usize] {
            return;
        }
        let [a, b, c] = self.tier.triangles[number as usize];
        let edges = [[a, b, c], [b, c, a], [c, a, b]];
        let turned = edges
            .iter()
            .find_map(|[from, to, own]| self.turned(number, [*from, *to, *own], &mut fits));
        let change = turned.or_else(|| {
            let mut edges = edges.map(|[from, to, _]| [from, to]);
            let place = |vertex: u32| self.source.points[self.point(vertex) as usize];
            let length = |[from, to]: &[u32; 2]| distance_squared(place(*from), place(*to));
            edges.sort_by(|p, q| length(p).total_cmp(&length(q)));
            let ways = edges
                .into_iter()
                .flat_map(|[from, to]| [[from, to], [to, from]]);
            ways.into_iter()
                .find_map(|[from, to]| self.collapsed(number, from, to, &mut fits))
        });
        if let Some(change) = change {
            self.apply(change);
        }
    }

    fn point(&self, vertex: u32) -> u32 {
        self.source.vertices[vertex as usize].point
    }

    /// Flips the edge between the triangle and its neighbour to the other diagonal of their
    /// quadrilateral. Across a seam of normals both triangles move to the neighbour's side; between
    /// two parts they do so only if the triangle is narrower than the bound.
    fn turned(
        &self,
        number: u32,
        [from, to, own]: [u32; 3],
        fits: &mut impl FnMut([u32; 3]) -> bool,
    ) -> Option<Change> {
        let Self {
            source,
            bound,
            tier,
            units,
            around,
            is_moved,
            ..
        } = self;
        let points = [from, to].map(|vertex| self.point(vertex));
        let is_beside = |other: &&u32| {
            let [a, b, c] = tier.triangles[**other as usize].map(|vertex| self.point(vertex));
            **other != number && [[a, b], [b, c], [c, a]].contains(&[points[1], points[0]])
        };
        let mut beside = around.of(points[0]).iter().filter(is_beside);
        // At an edge of more than two triangles a flip would tear the surface.
        let beside = beside.next().copied().filter(|_| beside.next().is_none())?;
        let [there_from, there_to] = points.map(|point| self.vertex_at(beside, point));
        let (there_from, there_to) = (there_from?, there_to?);
        let look = |vertex: u32| {
            (
                source.vertices[vertex as usize].uv,
                source.vertices[vertex as usize].color,
            )
        };
        // Across a seam of texture coordinates or colours the triangles can't share a diagonal.
        if [there_from, there_to].map(look) != [from, to].map(look) {
            return None;
        }
        let place = |point: u32| source.points[point as usize];
        let is_narrow = || {
            is_near(
                place(self.point(own)),
                &[points[0], points[1], points[0]].map(place),
                *bound,
            )
        };
        if self.part(beside) != self.part(number) && !is_narrow() {
            return None;
        }
        let other = tier.triangles[beside as usize]
            .into_iter()
            .find(|vertex| !points.contains(&self.point(*vertex)))?;
        let is_seam = [there_from, there_to] != [from, to];
        let own = if is_seam {
            self.vertex_for(beside, self.point(own), own, self.part(beside))?
        } else {
            own
        };
        let has_diagonal = |face: &u32| tier.faces[*face as usize].contains(&self.point(other));
        let made = [
            (number, [own, there_from, other]),
            (beside, [other, there_to, own]),
        ];
        let can_be = !is_moved[beside as usize]
            && units[beside as usize] == units[number as usize]
            // If the diagonal is an edge already, more than two triangles would share it.
            && !around.of(self.point(own)).iter().any(has_diagonal)
            && made.iter().all(|(_, triangle)| fits(*triangle));
        can_be.then(|| Change {
            made: made.into(),
            gone: Vec::new(),
        })
    }

    /// Returns the vertex of a triangle at one of its points.
    fn vertex_at(&self, number: u32, point: u32) -> Option<u32> {
        self.tier.triangles[number as usize]
            .into_iter()
            .find(|vertex| self.point(*vertex) == point)
    }

    /// Returns the source's vertex at a point with the part given and the texture coordinate and
    /// colour of another vertex: the one whose normal agrees best with the triangle's.
    fn vertex_for(&self, triangle: u32, point: u32, like: u32, part: u32) -> Option<u32> {
        let Self { source, tier, .. } = self;
        let normal = source.normal(tier.triangles[triangle as usize]);
        let along = |vertex: &u32| {
            normal.dot(&Vector3::from(
                source.vertices[*vertex as usize].normal.map(f64::from),
            ))
        };
        let like = &source.vertices[like as usize];
        let fits = |vertex: &u32| {
            let at = &source.vertices[*vertex as usize];
            (at.point, at.part, at.uv, at.color) == (point, part, like.uv, like.color)
        };
        // Search the source, not the tier, which may not have the vertex any more.
        let faces = source.whole.around(source).of(point).iter();
        let vertices = faces.flat_map(|face| source.whole.triangles[*face as usize]);
        vertices
            .filter(fits)
            .max_by(|a, b| along(a).total_cmp(&along(b)))
    }

    fn part(&self, triangle: u32) -> u32 {
        self.source.vertices[self.tier.triangles[triangle as usize][0] as usize].part
    }

    /// Collapses an edge: moves the triangles at one corner of a triangle to another corner, so
    /// that the triangle vanishes.
    fn collapsed(
        &self,
        number: u32,
        from: u32,
        to: u32,
        fits: &mut impl FnMut([u32; 3]) -> bool,
    ) -> Option<Change> {
        let Self {
            tier,
            units,
            around,
            is_moved,
            ..
        } = self;
        let (from, to) = (self.point(from), self.point(to));
        let (at_from, at_to) = (around.of(from), around.of(to));
        let can_be = at_from.len() <= MOST_AT_A_POINT
            && at_to.len() <= MOST_AT_A_POINT
            && at_from.iter().all(|face| units[*face as usize] == units[number as usize])
            // Never collapse across parts: the proof doesn't measure their border.
            && at_from.iter().all(|face| self.part(*face) == self.part(number))
            && !at_from.iter().chain(at_to).any(|face| is_moved[*face as usize]);
        let beside = |at: &[u32], point: u32| {
            let mut points: Vec<u32> = at
                .iter()
                .flat_map(|face| tier.faces[*face as usize])
                .filter(|p| *p != point)
                .collect();
            points.sort_unstable();
            points.dedup();
            points
        };
        let ring = beside(at_from, from);
        // Link condition: triangles all around the point, and no common neighbours of the edge's
        // ends but the two corners opposite it. So the collapse keeps the surface a manifold.
        if !can_be || ring.len() != at_from.len() {
            return None;
        }
        let (gone, kept): (Vec<u32>, Vec<u32>) = at_from
            .iter()
            .partition(|face| tier.faces[**face as usize].contains(&to));
        let both = beside(at_to, to)
            .iter()
            .filter(|point| ring.binary_search(point).is_ok())
            .count();
        if gone.len() != 2 || both != 2 {
            return None;
        }
        // On a seam each side has its own vertex.
        let instead = |face: u32, vertex: u32| {
            let across = gone
                .iter()
                .find(|face| self.vertex_at(**face, from) == Some(vertex));
            let across = across.and_then(|face| self.vertex_at(*face, to));
            across.or_else(|| self.vertex_for(face, to, vertex, self.part(face)))
        };
        let made = kept.iter().map(|&face| {
            let [a, b, c] = tier.triangles[face as usize].map(|v| {
                if self.point(v) == from {
                    instead(face, v)
                } else {
                    Some(v)
                }
            });
            let triangle = [a?, b?, c?];
            fits(triangle).then_some((face, triangle))
        });
        let made = made.collect::<Option<Vec<_>>>()?;
        Some(Change { made, gone })
    }

    fn apply(&mut self, Change { made, gone }: Change) {
        let Self {
            source,
            tier,
            around,
            is_moved,
            is_gone,
            ..
        } = self;
        // The entries of all triangles at the points of a changed one are out of date.
        let mut touch = |face: [u32; 3]| {
            face.iter()
                .flat_map(|point| around.of(*point))
                .for_each(|face| is_moved[*face as usize] = true);
        };
        for number in gone {
            is_gone[number as usize] = true;
            touch(tier.faces[number as usize]);
        }
        for (number, triangle) in made {
            touch(tier.faces[number as usize]);
            (tier.triangles[number as usize], tier.faces[number as usize]) =
                (triangle, source.face(&triangle));
        }
    }

    /// Drops the triangles that were removed, and returns the new numbers of those in `numbers`
    /// that remain.
    pub(super) fn finish(self, numbers: Vec<u32>) -> Vec<u32> {
        let Self {
            tier,
            units,
            is_gone,
            ..
        } = self;
        if !is_gone.contains(&true) {
            return numbers;
        }
        let mut count = 0;
        let number = |gone: &bool| {
            count += u32::from(!gone);
            count - u32::from(!gone)
        };
        let new: Vec<u32> = is_gone.iter().map(number).collect();
        let left = numbers
            .into_iter()
            .filter(|number| !is_gone[*number as usize])
            .map(|number| new[number as usize])
            .collect();
        fn keep<T>(values: &mut Vec<T>, is_gone: &[bool]) {
            let mut is_gone = is_gone.iter();
            values.retain(|_| is_gone.next() != Some(&true));
        }
        keep(&mut tier.triangles, &is_gone);
        keep(&mut tier.faces, &is_gone);
        keep(units, &is_gone);
        left
    }
}
