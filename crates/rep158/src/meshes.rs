//! Topology of meshes (UsdGeomMesh): closedness, manifoldness and winding.

#![expect(
    clippy::indexing_slicing,
    reason = "computes on corners of faces, which `weld` maps to points"
)]

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use super::shading::Shading;
use nalgebra::Vector3;
use urdf_usd_stage::{LayerId, Prim, PrimId, Site, Stage, array_len, int_array, vectors};

/// The topology of a mesh as a surface, after welding points at the same position.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Surface {
    /// The defect of the arrays, if they do not describe a surface.
    pub fault: Option<String>,
    /// Number of faces that are not triangles.
    pub not_triangles: usize,
    /// Number of edges with a single face.
    pub open_edges: usize,
    /// Number of edges with more than two faces.
    pub nonmanifold_edges: usize,
    /// Number of edges whose two faces traverse them in the same direction, so that the winding is
    /// inconsistent.
    pub flipped_edges: usize,
    /// The signed volume, in cubic units of the mesh: negative for a closed surface whose faces point
    /// inwards.
    pub volume: f64,
}

impl Surface {
    /// Whether every edge has two faces.
    pub fn is_closed(&self) -> bool {
        self.open_edges == 0 && self.nonmanifold_edges == 0
    }

    /// Whether the surface is closed and consistently wound, and its faces point inwards.
    pub fn is_inside_out(&self) -> bool {
        self.is_closed() && self.flipped_edges == 0 && self.volume < 0.0
    }
}

/// A cache of surfaces. Prims that share their attributes share the surface.
#[derive(Debug, Default)]
pub struct Meshes(RefCell<HashMap<usize, Rc<Surface>>>);

impl Meshes {
    /// Returns the surface of a mesh, which is analysed at the first call.
    pub fn surface(&self, prim: &Prim) -> Rc<Surface> {
        // The address identifies the attributes: the stage keeps them alive as long as this cache.
        let key = Arc::as_ptr(&prim.attributes) as usize;
        let known = self.0.borrow().get(&key).map(Rc::clone);
        known.unwrap_or_else(|| {
            let surface = Rc::new(analyse(prim));
            self.0.borrow_mut().insert(key, Rc::clone(&surface));
            surface
        })
    }
}

/// Returns the meshes of a stage, one for each opinion about points.
pub fn meshes(stage: &Stage) -> Vec<PrimId> {
    distinct(stage, |_| true, |_| None)
}

/// Returns the meshes that are colliders, one for each opinion about points.
pub fn colliders(stage: &Stage) -> Vec<PrimId> {
    distinct(stage, |id| collides(stage, id), |_| None)
}

/// Returns the meshes that are not colliders, one for each opinion about points and each material.
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

/// Returns the wanted meshes, the first of those with the same site of points and the same `key`.
fn distinct(
    stage: &Stage,
    is_wanted: impl Fn(PrimId) -> bool,
    key: impl Fn(PrimId) -> Option<PrimId>,
) -> Vec<PrimId> {
    let mut seen: HashSet<(LayerId, &str, Option<PrimId>)> = HashSet::new();
    let mut found = Vec::new();
    for (id, prim) in stage.present().filter(|(_, prim)| prim.type_name == "Mesh") {
        let source = prim
            .attributes
            .get("points")
            .and_then(|points| points.sites.first());
        if is_wanted(id)
            && source.is_none_or(|Site { layer, path }| seen.insert((*layer, path, key(id))))
        {
            found.push(id);
        }
    }
    found
}

/// Returns the corners of each face, as indices of points.
///
/// # Errors
/// A description of the defect, if the arrays do not fit together.
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
            .ok_or("faceVertexIndices has fewer corners than faceVertexCounts requires")?;
        if let Some(index) = face
            .iter()
            .find(|&&index| usize::try_from(index).map_or(true, |index| index >= points))
        {
            return Err(format!(
                "a face has the point index {index}, but there are only {points} points"
            ));
        }
        faces.push(face);
        rest = after;
    }
    if !rest.is_empty() {
        return Err(format!(
            "faceVertexIndices has {} corners more than faceVertexCounts requires",
            rest.len()
        ));
    }
    Ok(faces)
}

/// Maps each point to the first point at exactly the same position.
pub fn weld(points: &[[f64; 3]]) -> Vec<usize> {
    let mut first: HashMap<[u64; 3], usize> = HashMap::with_capacity(points.len());
    // Adding 0 turns -0 into 0, whose bits differ.
    points
        .iter()
        .enumerate()
        .map(|(index, p)| *first.entry(p.map(|c| (c + 0.0).to_bits())).or_insert(index))
        .collect()
}

/// Analyses a mesh: edges are counted by their welded end points, and the volume is the sum of the
/// signed tetrahedra between a reference point and the triangle fan of each face.
fn analyse(prim: &Prim) -> Surface {
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
    let welded = weld(&points);
    let welded = |index: i32| {
        usize::try_from(index)
            .ok()
            .and_then(|index| welded.get(index))
            .copied()
            .unwrap_or(0)
    };
    // Edges as (smaller end, larger end, whether the face traverses it in this direction).
    let mut edges: Vec<(usize, usize, bool)> = Vec::new();
    let origin = points.first().copied().unwrap_or_default();
    for face in faces {
        let mut corners: Vec<usize> = face.iter().map(|&index| welded(index)).collect();
        corners.dedup();
        if corners.len() > 1 && corners.first() == corners.last() {
            corners.pop();
        }
        // A degenerate face is not part of the surface.
        if corners.len() < 3 {
            continue;
        }
        for (index, &from) in corners.iter().enumerate() {
            let to = corners[(index + 1) % corners.len()];
            edges.push((from.min(to), from.max(to), from < to));
        }
        let at = |corner: usize| Vector3::from(points[corner]) - Vector3::from(origin);
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
            [a, b] if a.2 == b.2 => surface.flipped_edges += 1,
            [_, _] => {}
            _ => surface.nonmanifold_edges += 1,
        }
    }
    surface
}
