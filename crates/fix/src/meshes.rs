//! Meshes: winding; triangulation, normals and convex hulls of colliders (REP-158 §1.3.1, §3.4).

use nalgebra::Vector3;
use openusd::gf;
use urdf_usd_stage::{SharedValue, Value, int_array, vectors};

use super::notes::Notes;
use super::scene::{Node, Scene};

/// Reverses the winding of the faces of a mesh, with all faceVarying values.
pub fn reverse_winding(node: &mut Node) {
    let Some(counts) = node
        .value("faceVertexCounts")
        .and_then(int_array)
        .map(<[i32]>::to_vec)
    else {
        return;
    };
    let mut order: Vec<usize> = Vec::new();
    for count in counts {
        let (start, count) = (order.len(), usize::try_from(count).unwrap_or_default());
        // Keep the first corner, so that triangle fans stay the same.
        order.extend((0..count).map(|corner| start + (count - corner) % count));
    }
    let per_corner: Vec<String> = node
        .attributes
        .iter()
        .filter(|(name, attribute)| {
            let interpolation = attribute
                .metadata
                .get("interpolation")
                .and_then(urdf_usd_stage::text);
            *name == "faceVertexIndices" || interpolation == Some("faceVarying")
        })
        .map(|(name, _)| name.clone())
        .collect();
    for name in per_corner {
        // The corners of an indexed primvar hold indices.
        let indices = format!("{name}:indices");
        let name = if node.attributes.contains_key(&indices) {
            indices
        } else {
            name
        };
        if let Some(value) = node
            .attributes
            .get_mut(&name)
            .and_then(|attribute| attribute.value.as_mut())
            .map(SharedValue::make_mut)
        {
            reorder(value, &order);
        }
    }
}

fn reorder(value: &mut Value, order: &[usize]) {
    fn permute<T: Clone>(all: &mut Vec<T>, order: &[usize]) {
        if all.len() == order.len() {
            *all = order
                .iter()
                .filter_map(|&index| all.get(index).cloned())
                .collect();
        }
    }
    match value {
        Value::IntVec(all) => permute(all, order),
        Value::FloatVec(all) => permute(all, order),
        Value::Vec2fVec(all) => permute(all, order),
        Value::Vec2dVec(all) => permute(all, order),
        Value::Vec3fVec(all) => permute(all, order),
        Value::Vec3dVec(all) => permute(all, order),
        Value::Vec4fVec(all) => permute(all, order),
        _ => {}
    }
}

/// Makes left-handed meshes right-handed, triangulates colliders, replaces colliders with the
/// approximation `convexHull` by their hulls, and adds missing normals to colliders.
pub fn fix(scene: &mut Scene, notes: &mut Notes) {
    for index in scene.nodes.handles() {
        let node = &mut scene.nodes[index];
        if node.type_name == "Mesh" && node.text("orientation") == Some("leftHanded") {
            reverse_winding(node);
            node.set_uniform("orientation", "token", Value::Token("rightHanded".into()));
            notes.changed(&node.path, "reversed the winding of the left-handed mesh");
        }
        if !node.is_collider() {
            continue;
        }
        match node.text("physics:approximation").map(str::to_owned).as_deref() {
            None | Some("none") => {
                triangulate(node, notes);
                add_normals(node, notes);
            }
            Some("convexHull") if node.type_name == "Mesh" => {
                replace_by_hull(node, notes);
                add_normals(node, notes);
            }
            Some(_) if node.is_primitive() => {
                node.set_uniform("physics:approximation", "token", Value::Token("none".into()));
                notes.changed(&node.path, "removed the approximation of the primitive collider");
            }
            Some(other) => notes.left(
                &node.path,
                format!("the physics engine has to approximate the collider: physics:approximation is {other}"),
                "author the intended shape as a mesh or as primitives",
            ),
        }
    }
}

/// Returns the corners of each face of a mesh.
fn faces(node: &Node) -> Option<Vec<Vec<i32>>> {
    let counts = node.value("faceVertexCounts").and_then(int_array)?;
    let mut indices = node
        .value("faceVertexIndices")
        .and_then(int_array)?
        .iter()
        .copied();
    let face = |count: &i32| {
        Some(
            indices
                .by_ref()
                .take(usize::try_from(*count).ok()?)
                .collect(),
        )
    };
    counts.iter().map(face).collect()
}

/// Triangulates the faces of a collider as fans (REP-158 §3.4).
fn triangulate(node: &mut Node, notes: &mut Notes) {
    let Some(faces) = faces(node)
        .filter(|faces| node.type_name == "Mesh" && faces.iter().any(|face| face.len() != 3))
    else {
        return;
    };
    let fan = |face: Vec<i32>| match &face[..] {
        [first, rest @ ..] => rest
            .iter()
            .zip(rest.iter().skip(1))
            .map(|(second, third)| [*first, *second, *third])
            .collect(),
        [] => Vec::new(),
    };
    let triangles: Vec<[i32; 3]> = faces.into_iter().flat_map(fan).collect();
    write_triangles(node, &triangles);
    notes.changed(&node.path, "triangulated the collider");
}

fn write_triangles(node: &mut Node, triangles: &[[i32; 3]]) {
    // Values of the former faces and corners no longer fit, and a collider does not need them.
    node.attributes.retain(|name, attribute| {
        let interpolation = attribute
            .metadata
            .get("interpolation")
            .and_then(urdf_usd_stage::text);
        !name.starts_with("primvars:") && name != "normals"
            || matches!(interpolation, Some("constant"))
    });
    node.set(
        "faceVertexCounts",
        "int[]",
        Value::IntVec(vec![3; triangles.len()]),
    );
    node.set(
        "faceVertexIndices",
        "int[]",
        Value::IntVec(triangles.concat()),
    );
    node.set_uniform("subdivisionScheme", "token", Value::Token("none".into()));
}

/// Gives a collider without normals those of its faces.
fn add_normals(node: &mut Node, notes: &mut Notes) {
    let has_normals = ["normals", "primvars:normals"]
        .iter()
        .any(|name| node.value(name).is_some());
    // Left-handed meshes are right-handed by now.
    let is_faceted = node.type_name == "Mesh" && node.text("subdivisionScheme") == Some("none");
    if has_normals || !is_faceted {
        return;
    }
    let (Some(faces), Some(points)) = (faces(node), node.value("points").and_then(vectors)) else {
        return;
    };
    let point = |corner: &i32| {
        let index = usize::try_from(*corner).ok()?;
        points.get(index).copied().map(Vector3::from)
    };
    let normals: Vec<gf::Vec3f> = faces
        .iter()
        .map(|face| {
            let corners: Vec<Vector3<f64>> = face.iter().filter_map(point).collect();
            // Newell's method, which has a result for faces that are not flat too.
            let next = corners.iter().cycle().skip(1);
            let sum: Vector3<f64> = corners.iter().zip(next).map(|(a, b)| a.cross(b)).sum();
            // Faces without an area have no normal; programs want one of unit length.
            let [x, y, z] = sum.try_normalize(0.0).unwrap_or_else(Vector3::z).into();
            let [x, y, z] = [x, y, z].map(|c: f64| c as f32);
            gf::Vec3f { x, y, z }
        })
        .collect();
    node.set("normals", "normal3f[]", Value::Vec3fVec(normals));
    if let Some(normals) = node.attributes.get_mut("normals") {
        let uniform = Value::Token("uniform".into());
        normals.metadata.insert("interpolation".to_owned(), uniform);
    }
    notes.changed(&node.path, "gave the collider the normals of its faces");
}

fn replace_by_hull(node: &mut Node, notes: &mut Notes) {
    let Some(points) = node.value("points").and_then(vectors) else {
        return;
    };
    let points: Vec<[f32; 3]> = points.into_iter().map(|p| p.map(|c| c as f32)).collect();
    match urdf_usd_geometry::convex_hull(&points) {
        Ok(hull) => {
            let triangles: Vec<[i32; 3]> = hull
                .triangles
                .iter()
                .map(|t| t.map(|i| i32::try_from(i).unwrap_or_default()))
                .collect();
            write_triangles(node, &triangles);
            let points = hull
                .points
                .iter()
                .map(|&[x, y, z]| gf::Vec3f { x, y, z })
                .collect();
            node.set("points", "point3f[]", Value::Vec3fVec(points));
            if let (Some((low, high)), true) =
                (hull.bounds(), node.attributes.contains_key("extent"))
            {
                let corner = |[x, y, z]: [f32; 3]| gf::Vec3f { x, y, z };
                node.set(
                    "extent",
                    "float3[]",
                    Value::Vec3fVec(vec![corner(low), corner(high)]),
                );
            }
            node.set_uniform(
                "physics:approximation",
                "token",
                Value::Token("none".into()),
            );
            notes.changed(
                &node.path,
                "replaced the collider by its convex hull, which the physics engine had to compute",
            );
        }
        Err(error) => notes.left(
            &node.path,
            format!("the collider has no convex hull: {error}"),
            "author the intended shape as a mesh or as primitives",
        ),
    }
}
