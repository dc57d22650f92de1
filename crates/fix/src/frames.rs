//! Transforms: metres, z up, a translation and a rotation for each prim, scale in the geometry
//! (REP-158 §1.1).
//!
//! Every prim gets a rigid frame at its former position. Below a rotated root prim, and in an asset
//! with y up, frames are rotated back, so that the root is not rotated and z is up in each; the rest
//! of the transform is applied to the geometry. Cameras, lights and primitive shapes keep their
//! rotation, as they point along an axis of their own.

use nalgebra::{Isometry3, Matrix3, Matrix4, UnitQuaternion, Vector3};
use openusd::gf;
use urdf_usd_robot::ArenaMap;
use urdf_usd_stage::{SharedValue, Stage, Value, factor, vectors};

use super::notes::Notes;
use super::scene::{Node, NodeId, Scene};

/// Tolerance for numbers that are equal but for rounding.
const SAME: f64 = 1e-9;

/// Resolution of lengths in metres, and of the entries of a rotation.
const DIGIT: f64 = 1e-12;

/// Maximum error of a rotation in single precision, in radians.
const MAX_ANGLE_ERROR: f64 = 5e-7;

/// The former and the new poses of prims.
pub struct Places {
    /// Transform of points from the world of the source to metres with z up.
    pub world: Matrix4<f64>,
    /// The rotation in `world`.
    pub rotation: UnitQuaternion<f64>,
    /// Metres per unit of length of the source.
    pub meters: f64,
    /// Kilograms per unit of mass of the source.
    pub kilograms: f64,
    /// The former transform of each node to the world of the source.
    pub old: ArenaMap<Node, Matrix4<f64>>,
    /// The new pose of each node in the world, in metres.
    pub new: ArenaMap<Node, Isometry3<f64>>,
}

impl Places {
    /// Returns the transform from the former to the new coordinates of a node.
    pub fn change(&self, node: NodeId) -> Matrix4<f64> {
        self.new[node].inverse().to_homogeneous() * self.world * self.old[node]
    }

    /// Returns whether a transform is the identity, within rounding.
    pub fn is_identity(matrix: &Matrix4<f64>) -> bool {
        (matrix - Matrix4::identity()).abs().max() < SAME
    }

    /// Returns the rotation in [`Places::change`].
    pub fn rotation_change(&self, node: NodeId) -> UnitQuaternion<f64> {
        factor(&self.change(node)).pose.rotation
    }
}

/// Gives every prim its new frame.
pub fn fix(scene: &mut Scene, stage: &Stage, notes: &mut Notes) -> Places {
    let (meters, kilograms) = (stage.meters_per_unit(), stage.kilograms_per_unit());
    let up = if stage.is_z_up() {
        UnitQuaternion::identity()
    } else {
        UnitQuaternion::from_axis_angle(&Vector3::x_axis(), std::f64::consts::FRAC_PI_2)
    };
    let world = up.to_homogeneous() * Matrix4::new_scaling(meters);
    let worlds = stage.worlds();
    let old = ArenaMap::new(&scene.nodes, |_, node| worlds[node.source]);
    let mut back_rotation = ArenaMap::filled(&scene.nodes, UnitQuaternion::identity());
    let new = ArenaMap::new(&scene.nodes, |id, node| {
        let place = factor(&(world * old[id])).pose;
        back_rotation[id] = match node.parent {
            Some(parent) => back_rotation[parent],
            None => place.rotation.inverse(),
        };
        if node.is_primitive() || node.has_direction() {
            place
        } else {
            Isometry3::from_parts(place.translation, place.rotation * back_rotation[id])
        }
    });
    let places = Places {
        world,
        rotation: up,
        meters,
        kilograms,
        old,
        new,
    };
    if (meters - 1.0).abs() > 0.0 {
        notes.changed(
            "",
            format!("converted lengths to metres, from units of {meters} m"),
        );
    }
    if (kilograms - 1.0).abs() > 0.0 {
        notes.changed(
            "",
            format!("converted masses to kilograms, from units of {kilograms} kg"),
        );
    }
    if !stage.is_z_up() {
        notes.changed("", "rotated the asset from y up to z up");
    }
    for index in scene.nodes.handles() {
        transform(scene, index, stage, &places, notes);
        geometry(
            &mut scene.nodes[index],
            &rounded(&places.change(index)),
            notes,
        );
        other_lengths(&mut scene.nodes[index], &places);
        light(
            &mut scene.nodes[index],
            &rounded(&places.change(index)),
            &places,
        );
    }
    places
}

/// Rounds a number to a multiple of `step`.
fn round(x: f64, step: f64) -> f64 {
    // Multiplies by the inverse, which is exact for 1e12, so that 0.1 stays 0.1. Turns -0 into 0, which
    // is written differently.
    let per_step = (1.0 / step).round();
    let rounded = if per_step >= 1.0 {
        (x * per_step).round() / per_step
    } else {
        x
    };
    if rounded.is_finite() {
        rounded + 0.0
    } else {
        x
    }
}

/// Rounds a matrix, so that equal parts of the source at different places stay equal.
pub fn rounded(matrix: &Matrix4<f64>) -> Matrix4<f64> {
    let largest = matrix.fixed_view::<3, 3>(0, 0).abs().max();
    // Relative to the largest entry: the linear part contains the units of the source.
    let step = DIGIT * 10f64.powf(largest.log10().ceil());
    let mut rounded = *matrix;
    for (column, mut entries) in rounded.column_iter_mut().enumerate() {
        let step = if column == 3 { DIGIT } else { step };
        for entry in entries.iter_mut().take(3) {
            *entry = round(*entry, step);
        }
    }
    rounded
}

/// Writes the frame of a prim as a translation and a rotation, and for a primitive shape the
/// remaining scale.
fn transform(scene: &mut Scene, index: NodeId, stage: &Stage, places: &Places, notes: &mut Notes) {
    let node = &scene.nodes[index];
    let local = node.parent.map_or(places.new[index], |parent| {
        places.new[parent].inverse() * places.new[index]
    });
    let source = &stage[node.source];
    let stack = source.xform();
    for name in &stack.broken {
        notes.lost(
            &node.path,
            format!("the transform operation {name} has no readable value"),
            "give it a value, or remove it from xformOpOrder",
        );
    }
    if stack.ops.iter().any(|op| op.is_animated) {
        notes.lost(
            &node.path,
            "the transform is animated; only its first sample is written",
            "animate joints instead of transforms",
        );
    }
    let names: Vec<&str> = stack.ops.iter().map(|op| op.attribute.as_str()).collect();
    let is_plain = !stack.resets
        && !stack.ops.iter().any(|op| op.is_inverse || op.is_animated)
        && stack.broken.is_empty();
    let is_leaf = node.has_points() || node.is_primitive();
    let scale = if node.is_primitive() {
        let scale = remaining_scale(
            &rounded(&places.change(index)),
            places.meters,
            &node.path,
            notes,
        );
        // These shapes are their own mirror images.
        match node.type_name.as_str() {
            "Cube" | "Sphere" | "Cylinder" | "Capsule" | "Plane" => scale.abs(),
            _ => scale,
        }
    } else {
        Vector3::repeat(1.0)
    };
    let is_scaled = (scale - Vector3::repeat(1.0)).abs().max() > SAME;
    let has_no_ops = names.is_empty() && is_plain;
    let is_still = (local.translation.vector.norm() < SAME) && local.rotation.angle() < SAME;
    if has_no_ops
        && is_still
        && !is_scaled
        && (!node.is_body() || source.attributes.contains_key("xformOpOrder"))
    {
        return;
    }
    let wanted: &[&str] = if is_scaled {
        &["xformOp:translate", "xformOp:orient", "xformOp:scale"]
    } else {
        &["xformOp:translate", "xformOp:orient"]
    };
    // Leave a correct transform unchanged, to the last digit.
    let matrix = local.to_homogeneous() * Matrix4::new_nonuniform_scaling(&scale);
    let is_correct =
        is_plain && names == wanted && (source.local().matrix - matrix).abs().max() < SAME;
    if is_correct && (is_leaf || !is_scaled) {
        return;
    }
    if names != wanted || !is_plain {
        notes.changed(
            &node.path,
            "converted the transform to a translation and a rotation",
        );
    }
    let node = &mut scene.nodes[index];
    node.attributes
        .retain(|name, _| name != "xformOpOrder" && !name.starts_with("xformOp:"));
    // Rounded, so that equal parts of the source stay equal.
    let t = local.translation.vector.map(|x| round(x, DIGIT));
    node.set(
        "xformOp:translate",
        "double3",
        Value::Vec3d(gf::Vec3d {
            x: t.x,
            y: t.y,
            z: t.z,
        }),
    );
    let (type_name, value) = rotation(&local.rotation);
    node.set("xformOp:orient", type_name, value);
    if is_scaled {
        node.set(
            "xformOp:scale",
            "double3",
            Value::Vec3d(gf::Vec3d {
                x: scale.x,
                y: scale.y,
                z: scale.z,
            }),
        );
    }
    node.set_uniform(
        "xformOpOrder",
        "token[]",
        Value::TokenVec(wanted.iter().map(|name| (*name).into()).collect()),
    );
}

/// Returns the type and value of a quaternion, in single precision unless its error is too large.
pub fn rotation(rotation: &UnitQuaternion<f64>) -> (&'static str, Value) {
    let q = if rotation.w < 0.0 {
        -rotation.into_inner()
    } else {
        rotation.into_inner()
    };
    // Adding 0 turns -0 into 0, which is written differently.
    let [w, x, y, z] = [q.w, q.i, q.j, q.k].map(|c| c as f32 + 0.0);
    let back = nalgebra::Quaternion::new(f64::from(w), f64::from(x), f64::from(y), f64::from(z));
    if UnitQuaternion::from_quaternion(back).angle_to(rotation) <= MAX_ANGLE_ERROR {
        ("quatf", Value::Quatf(gf::Quatf { w, x, y, z }))
    } else {
        (
            "quatd",
            Value::Quatd(gf::Quatd {
                w: q.w,
                x: q.i,
                y: q.j,
                z: q.k,
            }),
        )
    }
}

/// Returns the scale of a primitive shape, apart from that of the units.
fn remaining_scale(
    affine: &Matrix4<f64>,
    meters: f64,
    path: &str,
    notes: &mut Notes,
) -> Vector3<f64> {
    let linear: Matrix3<f64> = affine.fixed_view::<3, 3>(0, 0).into_owned() / meters;
    let diagonal = Matrix3::from_diagonal(&linear.diagonal());
    if (linear - diagonal).abs().max() > 1e-6 {
        notes.left(
            path,
            "the shape is sheared, which translation, rotation and scale cannot express",
            "replace it by a mesh",
        );
    }
    linear.diagonal()
}

/// Transforms the shape of a node to its new frame.
fn geometry(node: &mut Node, affine: &Matrix4<f64>, notes: &mut Notes) {
    if node.is_primitive() {
        return;
    }
    for name in ["extent", "extentsHint"] {
        if !Places::is_identity(affine)
            && let Some(value) = node
                .attributes
                .get_mut(name)
                .and_then(|attribute| attribute.value.as_mut())
                .map(SharedValue::make_mut)
            && let Some(corners) = vectors(value)
        {
            *value = Value::Vec3fVec(
                corners
                    .as_chunks()
                    .0
                    .iter()
                    .flat_map(|&[low, high]| transformed_bounds(affine, low, high))
                    .collect(),
            );
        }
    }
    if !node.has_points() || Places::is_identity(affine) {
        return;
    }
    let linear: Matrix3<f64> = affine.fixed_view::<3, 3>(0, 0).into_owned();
    let point = |p: [f64; 3]| affine.transform_point(&p.into()).coords;
    let single = |v: Vector3<f64>| gf::Vec3f {
        x: v.x as f32,
        y: v.y as f32,
        z: v.z as f32,
    };
    let mut map = |name: &str, with: &dyn Fn([f64; 3]) -> Vector3<f64>| {
        let Some(attribute) = node.attributes.get_mut(name) else {
            return;
        };
        if let Some(found) = attribute.value.as_deref().and_then(vectors) {
            attribute.value =
                Some(Value::Vec3fVec(found.into_iter().map(|v| single(with(v))).collect()).into());
        }
    };
    map("points", &point);
    // The inverse transpose keeps normals perpendicular under a scale that is not uniform.
    let to_normal = linear
        .try_inverse()
        .map_or(linear, |inverse| inverse.transpose());
    let normal = |n: [f64; 3]| {
        let normal = to_normal * Vector3::from(n);
        normal.try_normalize(0.0).unwrap_or(normal)
    };
    map("normals", &normal);
    map("primvars:normals", &normal);
    map("velocities", &|v| linear * Vector3::from(v));
    if let Some([first, rest @ ..]) = node.value("points").and_then(vectors).as_deref() {
        let extreme = |pick: fn(f64, f64) -> f64| {
            let all = rest.iter().fold(Vector3::from(*first), |all, point| {
                all.zip_map(&Vector3::from(*point), pick)
            });
            single(all)
        };
        let extent = vec![extreme(f64::min), extreme(f64::max)];
        if node.attributes.contains_key("extent") {
            node.set("extent", "float3[]", Value::Vec3fVec(extent));
        }
    }
    // Widths have no direction, so they get the geometric mean of the scales.
    let factor = linear.determinant().abs().cbrt();
    scale_numbers(node, &["widths"], factor);
    // A reflection turns the faces inside out.
    if linear.determinant() < 0.0 {
        super::meshes::reverse_winding(node);
    }
    notes.changed(
        &node.path,
        "transformed the points to the frame of the link, in metres and without scale",
    );
}

/// Returns the axis-aligned bounding box of a transformed box.
fn transformed_bounds(affine: &Matrix4<f64>, low: [f64; 3], high: [f64; 3]) -> [gf::Vec3f; 2] {
    let corners = (0..8_usize).map(|corner| {
        let is_high = Vector3::from_fn(|axis, _| corner >> axis & 1 == 1);
        let at = Vector3::from(low).zip_zip_map(&high.into(), &is_high, |low, high, is_high| {
            if is_high { high } else { low }
        });
        affine.transform_point(&at.into()).coords
    });
    let single = |v: Vector3<f64>| gf::Vec3f {
        x: v.x as f32,
        y: v.y as f32,
        z: v.z as f32,
    };
    let far = Vector3::repeat(f64::INFINITY);
    let (low, high) = corners.fold((far, -far), |(low, high), corner| {
        (low.inf(&corner), high.sup(&corner))
    });
    [single(low), single(high)]
}

/// Converts lengths that are not affected by transforms, also those that are not authored: the
/// defaults of the schema are lengths too.
fn other_lengths(node: &mut Node, places: &Places) {
    let m = places.meters;
    if (m - 1.0).abs() <= 0.0 {
        return;
    }
    if node.is_primitive() {
        scale_numbers(node, &["extent"], m);
    }
    let type_name = if node.type_name == "Camera" {
        "float"
    } else {
        "double"
    };
    for (name, default) in lengths(&node.type_name) {
        if node.value(name).is_none() {
            node.set(
                name,
                type_name,
                if type_name == "float" {
                    Value::Float(*default as f32)
                } else {
                    Value::Double(*default)
                },
            );
        }
        scale_numbers(node, &[name], m);
    }
    if node.type_name == "Camera" {
        if node.value("clippingRange").is_none() {
            node.set(
                "clippingRange",
                "float2",
                Value::Vec2f(gf::Vec2f { x: 1.0, y: 1e6 }),
            );
        }
        scale_numbers(
            node,
            &[
                "clippingRange",
                "horizontalApertureOffset",
                "verticalApertureOffset",
                "focusDistance",
            ],
            m,
        );
    }
}

/// Returns the lengths of a type of prim whose default is not zero, with the default (UsdGeom).
fn lengths(type_name: &str) -> &'static [(&'static str, f64)] {
    match type_name {
        "Cube" => &[("size", 2.0)],
        "Sphere" => &[("radius", 1.0)],
        "Cylinder" | "Cone" => &[("height", 2.0), ("radius", 1.0)],
        "Cylinder_1" => &[("height", 2.0), ("radiusTop", 1.0), ("radiusBottom", 1.0)],
        "Capsule" => &[("height", 1.0), ("radius", 0.5)],
        "Capsule_1" => &[("height", 1.0), ("radiusTop", 0.5), ("radiusBottom", 0.5)],
        "Plane" => &[("width", 2.0), ("length", 2.0)],
        "Camera" => &[
            ("focalLength", 50.0),
            ("horizontalAperture", 20.955),
            ("verticalAperture", 15.2908),
        ],
        _ => &[],
    }
}

/// Applies the scale and the units of its frame to the size of a light, and keeps its brightness
/// (UsdLux): its luminance does not change, and a power per surface area (`inputs:normalize`) is
/// converted to square metres.
fn light(node: &mut Node, affine: &Matrix4<f64>, places: &Places) {
    let [x, y, z] = [0, 1, 2].map(|axis| affine.fixed_view::<3, 1>(0, axis).norm());
    let ball = affine.fixed_view::<3, 3>(0, 0).determinant().abs().cbrt();
    let sizes: &[(&str, f64, f64)] = match node.type_name.as_str() {
        "SphereLight" => &[("inputs:radius", 0.5, ball)],
        "DiskLight" => &[("inputs:radius", 0.5, (x * y).sqrt())],
        "CylinderLight" => &[
            ("inputs:length", 1.0, x),
            ("inputs:radius", 0.5, (y * z).sqrt()),
        ],
        "RectLight" | "PortalLight" => &[("inputs:width", 1.0, x), ("inputs:height", 1.0, y)],
        _ => &[],
    };
    let has_surface =
        node.type_name != "PortalLight" && !sizes.is_empty() || node.has("MeshLightAPI");
    let is_normalized =
        has_surface && matches!(node.value("inputs:normalize"), Some(Value::Bool(true)));
    let mut multiply = |name: &str, default: f64, factor: f64| {
        if (factor - 1.0).abs() > SAME {
            let number = node.number(name).unwrap_or(default);
            node.set(name, "float", Value::Float((number * factor) as f32));
        }
    };
    sizes
        .iter()
        .for_each(|(name, default, factor)| multiply(name, *default, *factor));
    if is_normalized {
        multiply("inputs:intensity", 1.0, places.meters.powi(2));
    }
    // Negative values mean no limit.
    for name in ["inputs:shadow:distance", "inputs:shadow:falloff"] {
        if node.number(name).is_some_and(|distance| distance > 0.0) {
            scale_numbers(node, &[name], places.meters);
        }
    }
}

/// Multiplies attributes that hold a number, a vector or an array of them.
pub fn scale_numbers(node: &mut Node, names: &[&str], factor: f64) {
    if (factor - 1.0).abs() < f64::EPSILON {
        return;
    }
    for name in names {
        if let Some(value) = node
            .attributes
            .get_mut(*name)
            .and_then(|attribute| attribute.value.as_mut())
            .map(SharedValue::make_mut)
        {
            multiply(value, factor);
        }
    }
}

fn multiply(value: &mut Value, factor: f64) {
    let single = |x: &mut f32| *x = (f64::from(*x) * factor) as f32;
    match value {
        Value::Float(x) => single(x),
        Value::Double(x) => *x *= factor,
        Value::Vec2f(v) => [&mut v.x, &mut v.y].into_iter().for_each(single),
        Value::Vec3f(v) => [&mut v.x, &mut v.y, &mut v.z].into_iter().for_each(single),
        Value::Vec3d(v) => [&mut v.x, &mut v.y, &mut v.z]
            .into_iter()
            .for_each(|x| *x *= factor),
        Value::FloatVec(all) => all.iter_mut().for_each(single),
        Value::DoubleVec(all) => all.iter_mut().for_each(|x| *x *= factor),
        Value::Vec3fVec(all) => all
            .iter_mut()
            .flat_map(|v| [&mut v.x, &mut v.y, &mut v.z])
            .for_each(single),
        _ => {}
    }
}
