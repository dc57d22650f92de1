//! The surfaces of meshes (UsdGeomMesh): whether they are closed, and which side is out.

#![expect(
    clippy::indexing_slicing,
    reason = "computes on corners of faces, which `welded` maps to points"
)]

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use super::shading::Shading;
use nalgebra::Vector3;
use urdf_usd_stage::{LayerId, Prim, PrimId, Site, Stage, array_len, int_array, vectors};

/// What a mesh is as a surface. Points at the same place count as one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Surface {
    /// What is wrong with its arrays, so that it is none.
    pub fault: Option<String>,
    /// How many faces have another number of corners than three.
    pub not_triangles: usize,
    /// How many edges have a face on one side only.
    pub open_edges: usize,
    /// How many edges have more than two faces.
    pub crowded_edges: usize,
    /// How many edges have two faces that run along them in the same direction: one of them is
    /// turned.
    pub turned_edges: usize,
    /// What it encloses if it is closed, in cubic units of its own; negative if its front is
    /// inside.
    pub volume: f64,
}

impl Surface {
    /// Whether every edge has two faces.
    pub fn is_closed(&self) -> bool {
        self.open_edges == 0 && self.crowded_edges == 0
    }

    /// Whether it is closed, its faces are turned the same way, and their front is inside.
    pub fn is_inside_out(&self) -> bool {
        self.is_closed() && self.turned_edges == 0 && self.volume < 0.0
    }
}

/// What is known of meshes so far; those that share their attributes are one.
#[derive(Debug, Default)]
pub struct Meshes(RefCell<HashMap<usize, Rc<Surface>>>);

impl Meshes {
    /// The surface of a mesh; each is looked at once.
    pub fn of(&self, prim: &Prim) -> Rc<Surface> {
        // The stage keeps what it shares, so an address stands for the same attributes as long as
        // there is this.
        let key = Arc::as_ptr(&prim.attributes) as usize;
        let known = self.0.borrow().get(&key).map(Rc::clone);
        known.unwrap_or_else(|| {
            let surface = Rc::new(surface(prim));
            self.0.borrow_mut().insert(key, Rc::clone(&surface));
            surface
        })
    }
}

/// The meshes of a stage, of those that have their points from the same place the first one.
pub fn meshes(stage: &Stage) -> Vec<PrimId> {
    distinct(stage, |_| true, |_| None)
}

/// The meshes among them that bodies collide with.
pub fn colliders(stage: &Stage) -> Vec<PrimId> {
    distinct(stage, |id| collides(stage, id), |_| None)
}

/// The meshes that bodies don't collide with, of those with the same points and the same material
/// the first one.
pub fn visuals(stage: &Stage, shading: &Shading) -> Vec<PrimId> {
    distinct(
        stage,
        |id| !collides(stage, id),
        |id| shading.material_of(stage, id).map(|material| material.prim),
    )
}

fn collides(stage: &Stage, id: PrimId) -> bool {
    stage
        .self_and_ancestors(id)
        .any(|id| stage[id].has("PhysicsCollisionAPI"))
}

/// The meshes that are wanted, the first of those that have their points from the same place and
/// are alike in `what`.
fn distinct(
    stage: &Stage,
    is_wanted: impl Fn(PrimId) -> bool,
    what: impl Fn(PrimId) -> Option<PrimId>,
) -> Vec<PrimId> {
    let mut seen: HashSet<(LayerId, &str, Option<PrimId>)> = HashSet::new();
    let mut found = Vec::new();
    for (id, prim) in stage.present().filter(|(_, prim)| prim.type_name == "Mesh") {
        let source = prim
            .attributes
            .get("points")
            .and_then(|points| points.sites.first());
        if is_wanted(id)
            && source.is_none_or(|Site { layer, path }| seen.insert((*layer, path, what(id))))
        {
            found.push(id);
        }
    }
    found
}

/// The corners of a mesh's faces, face by face, as indices of its points.
///
/// # Errors
/// What is wrong with the arrays.
pub fn faces(prim: &Prim) -> Result<Vec<&[i32]>, String> {
    let array = |name| prim.value(name).and_then(int_array).unwrap_or_default();
    let points = prim.value("points").and_then(array_len).unwrap_or(0);
    let (counts, mut rest) = (array("faceVertexCounts"), array("faceVertexIndices"));
    if counts.is_empty() || points == 0 {
        return Err(if points == 0 {
            "it has no points"
        } else {
            "it has no faces"
        }
        .to_owned());
    }
    let mut faces = Vec::with_capacity(counts.len());
    for &count in counts {
        let corners = usize::try_from(count).ok().filter(|count| *count >= 3);
        let corners = corners.ok_or_else(|| format!("a face has {count} corners"))?;
        let (face, after) = rest
            .split_at_checked(corners)
            .ok_or("faceVertexCounts asks for more corners than faceVertexIndices has")?;
        if let Some(index) = face
            .iter()
            .find(|&&index| usize::try_from(index).map_or(true, |index| index >= points))
        {
            return Err(format!(
                "a face names point {index}, and there are {points}"
            ));
        }
        faces.push(face);
        rest = after;
    }
    if !rest.is_empty() {
        return Err(format!(
            "faceVertexIndices has {} corners more than faceVertexCounts asks for",
            rest.len()
        ));
    }
    Ok(faces)
}

/// Each point, as the first one at the same place.
pub fn welded(points: &[[f64; 3]]) -> Vec<usize> {
    let mut first: HashMap<[u64; 3], usize> = HashMap::with_capacity(points.len());
    // Adding 0 makes -0 the same as 0.
    points
        .iter()
        .enumerate()
        .map(|(index, p)| *first.entry(p.map(|c| (c + 0.0).to_bits())).or_insert(index))
        .collect()
}

fn surface(prim: &Prim) -> Surface {
    let faces = match faces(prim) {
        Ok(faces) => faces,
        Err(fault) => {
            return Surface {
                fault: Some(fault),
                ..Surface::default()
            };
        }
    };
    let points = prim.value("points").and_then(vectors).unwrap_or_default();
    if let Some(point) = points
        .iter()
        .position(|point| point.iter().any(|c| !c.is_finite()))
    {
        return Surface {
            fault: Some(format!("point {point} is not finite")),
            ..Surface::default()
        };
    }
    let mut surface = Surface {
        not_triangles: faces.iter().filter(|face| face.len() != 3).count(),
        ..Surface::default()
    };
    let welded = welded(&points);
    let welded = |index: i32| {
        usize::try_from(index)
            .ok()
            .and_then(|index| welded.get(index))
            .copied()
            .unwrap_or(0)
    };
    // Edges, the smaller end first, and whether the face runs that way.
    let mut edges: Vec<(usize, usize, bool)> = Vec::new();
    let centre = points.first().copied().unwrap_or_default();
    for face in faces {
        let mut corners: Vec<usize> = face.iter().map(|&index| welded(index)).collect();
        corners.dedup();
        if corners.len() > 1 && corners.first() == corners.last() {
            corners.pop();
        }
        // A face without area is no part of the surface.
        if corners.len() < 3 {
            continue;
        }
        for (index, &from) in corners.iter().enumerate() {
            let to = corners[(index + 1) % corners.len()];
            edges.push((from.min(to), from.max(to), from < to));
        }
        let at = |corner: usize| Vector3::from(points[corner]) - Vector3::from(centre);
        for pair in corners[1..].windows(2) {
            surface.volume += at(corners[0]).dot(&at(pair[0]).cross(&at(pair[1]))) / 6.0;
        }
    }
    if prim.text("orientation") == Some("leftHanded") {
        surface.volume = -surface.volume;
    }
    edges.sort_unstable();
    for edge in edges.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        match edge {
            [_] => surface.open_edges += 1,
            [a, b] if a.2 == b.2 => surface.turned_edges += 1,
            [_, _] => {}
            _ => surface.crowded_edges += 1,
        }
    }
    surface
}
