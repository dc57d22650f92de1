//! Transforms: metres, z up, a translation and a rotation for each prim, scale in the geometry
//! (REP-158 §1.1).
//!
//! Every prim gets a rigid frame where it was. Below a root prim that is turned, and where y points
//! up, frames are turned back, so that the root's is not turned and z is up in each; geometry takes
//! what is left. What looks along an axis of its own, and a form that is given by a few numbers, is
//! turned as it was instead.

use nalgebra::{Isometry3, Matrix3, Matrix4, Rotation3, Translation3, UnitQuaternion, Vector3};
use openusd::gf;
use urdf_usd_robot::ArenaMap;
use urdf_usd_stage::{SharedValue, Stage, Value, rigid, vectors};

use super::notes::Notes;
use super::scene::{Node, NodeId, Scene};

/// How far apart two numbers may be that are the same but for rounding.
const SAME: f64 = 1e-9;

/// The last digit that counts in a length in metres, and in the entries of a rotation.
const DIGIT: f64 = 1e-12;

/// By how much, in radians, a rotation of single precision may be off.
const PRECISE: f64 = 5e-7;

/// Where prims were and are.
pub struct Places {
    /// Metres, z up, from the source's units and axes: for points of the source's world.
    pub world: Matrix4<f64>,
    /// The rotation in `world`.
    pub turned: UnitQuaternion<f64>,
    /// Metres in a unit of length of the source.
    pub meters: f64,
    /// Kilograms in a unit of mass of the source.
    pub kilograms: f64,
    /// Where each node of the scene was, in the source's world.
    pub was: ArenaMap<Node, Matrix4<f64>>,
    /// Where it is, in metres.
    pub is: ArenaMap<Node, Isometry3<f64>>,
}

impl Places {
    /// Takes what was in the coordinates of a node to what is.
    pub fn of(&self, node: NodeId) -> Matrix4<f64> {
        self.is[node].inverse().to_homogeneous() * self.world * self.was[node]
    }

    /// Whether nothing is different.
    pub fn is_identity(matrix: &Matrix4<f64>) -> bool {
        (matrix - Matrix4::identity()).abs().max() < SAME
    }

    /// The rotation in what [`Places::of`] gives.
    pub fn turn_of(&self, node: NodeId) -> UnitQuaternion<f64> {
        nearest(&self.of(node)).rotation
    }
}

/// Gives every prim its frame.
pub fn settle(scene: &mut Scene, stage: &Stage, notes: &mut Notes) -> Places {
    let (meters, kilograms) = (stage.meters_per_unit(), stage.kilograms_per_unit());
    let up = if stage.is_z_up() {
        UnitQuaternion::identity()
    } else {
        UnitQuaternion::from_axis_angle(&Vector3::x_axis(), std::f64::consts::FRAC_PI_2)
    };
    let world = up.to_homogeneous() * Matrix4::new_scaling(meters);
    let worlds = stage.worlds();
    let was = ArenaMap::new(&scene.nodes, |_, node| worlds[node.source]);
    let mut turned_back = ArenaMap::filled(&scene.nodes, UnitQuaternion::identity());
    let is = ArenaMap::new(&scene.nodes, |id, node| {
        let place = nearest(&(world * was[id]));
        turned_back[id] = match node.parent {
            Some(parent) => turned_back[parent],
            None => place.rotation.inverse(),
        };
        if node.is_primitive() || node.looks() {
            place
        } else {
            Isometry3::from_parts(place.translation, place.rotation * turned_back[id])
        }
    });
    let places = Places {
        world,
        turned: up,
        meters,
        kilograms,
        was,
        is,
    };
    if (meters - 1.0).abs() > 0.0 {
        notes.changed(
            "",
            format!("lengths are in metres now, not in units of {meters} m"),
        );
    }
    if (kilograms - 1.0).abs() > 0.0 {
        notes.changed(
            "",
            format!("masses are in kilograms now, not in units of {kilograms} kg"),
        );
    }
    if !stage.is_z_up() {
        notes.changed("", "z points up now, not y");
    }
    for index in scene.nodes.handles() {
        transform(scene, index, stage, &places, notes);
        geometry(&mut scene.nodes[index], &rounded(&places.of(index)), notes);
        other_lengths(&mut scene.nodes[index], &places);
        light(
            &mut scene.nodes[index],
            &rounded(&places.of(index)),
            &places,
        );
    }
    places
}

/// A number without what is below a step.
fn round(x: f64, step: f64) -> f64 {
    // By the inverse, which is exact for 1e12, so that 0.1 stays 0.1. There is no -0: it would read
    // as something else.
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

/// A matrix without the noise of computing it, so that what is equal in the source, in different
/// places, stays equal.
pub fn rounded(matrix: &Matrix4<f64>) -> Matrix4<f64> {
    let largest = matrix.fixed_view::<3, 3>(0, 0).abs().max();
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

/// The rigid transform that is nearest to a matrix.
fn nearest(matrix: &Matrix4<f64>) -> Isometry3<f64> {
    if let Some((place, _)) = rigid(matrix) {
        return place;
    }
    let linear: Matrix3<f64> = matrix.fixed_view::<3, 3>(0, 0).into_owned();
    let translation = Translation3::new(matrix[(0, 3)], matrix[(1, 3)], matrix[(2, 3)]);
    let svd = linear.svd(true, true);
    let rotation = match (svd.u, svd.v_t) {
        (Some(u), Some(v_t)) if linear.iter().all(|c| c.is_finite()) => {
            let mut turned = u * v_t;
            if turned.determinant() < 0.0 {
                turned = -turned;
            }
            UnitQuaternion::from_rotation_matrix(&Rotation3::from_matrix_unchecked(turned))
        }
        _ => UnitQuaternion::identity(),
    };
    Isometry3::from_parts(translation, rotation)
}

/// Writes a prim's frame as a translation and a rotation, and the scale that is left of a form that
/// is given by numbers.
fn transform(scene: &mut Scene, index: NodeId, stage: &Stage, places: &Places, notes: &mut Notes) {
    let node = &scene.nodes[index];
    let local = node.parent.map_or(places.is[index], |parent| {
        places.is[parent].inverse() * places.is[index]
    });
    let source = &stage[node.source];
    let stack = source.xform();
    for name in &stack.broken {
        notes.lost(
            &node.path,
            format!("the transform {name} has no value that can be read"),
            "give it a value, or take it out of xformOpOrder",
        );
    }
    if stack.ops.iter().any(|op| op.is_animated) {
        notes.lost(
            &node.path,
            "the transform varies in time; it is written as it is at the first time",
            "move links by joints",
        );
    }
    let names: Vec<&str> = stack.ops.iter().map(|op| op.attribute.as_str()).collect();
    let is_plain = !stack.resets
        && !stack.ops.iter().any(|op| op.is_inverse || op.is_animated)
        && stack.broken.is_empty();
    let is_leaf = node.has_points() || node.is_primitive();
    let scale = if node.is_primitive() {
        left_scale(
            &rounded(&places.of(index)),
            places.meters,
            &node.path,
            notes,
        )
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
    // What is right already is left as it stands, to the last digit.
    let matrix = local.to_homogeneous() * Matrix4::new_nonuniform_scaling(&scale);
    let is_right =
        is_plain && names == wanted && (source.local().matrix - matrix).abs().max() < SAME;
    if is_right && (is_leaf || !is_scaled) {
        return;
    }
    if names != wanted || !is_plain {
        notes.changed(
            &node.path,
            "the transform is a translation and a rotation now",
        );
    }
    let node = &mut scene.nodes[index];
    node.attributes
        .retain(|name, _| name != "xformOpOrder" && !name.starts_with("xformOp:"));
    // Equal parts of the source stay equal.
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

/// A rotation as a quaternion, in single precision unless that would be off by too much.
pub fn rotation(rotation: &UnitQuaternion<f64>) -> (&'static str, Value) {
    let q = if rotation.w < 0.0 {
        -rotation.into_inner()
    } else {
        rotation.into_inner()
    };
    // There is no -0: it would read as something else.
    let [w, x, y, z] = [q.w, q.i, q.j, q.k].map(|c| c as f32 + 0.0);
    let back = nalgebra::Quaternion::new(f64::from(w), f64::from(x), f64::from(y), f64::from(z));
    if UnitQuaternion::from_quaternion(back).angle_to(rotation) <= PRECISE {
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

/// The scale that a form which is given by numbers needs, beside that of the units.
fn left_scale(affine: &Matrix4<f64>, meters: f64, path: &str, notes: &mut Notes) -> Vector3<f64> {
    let linear: Matrix3<f64> = affine.fixed_view::<3, 3>(0, 0).into_owned() / meters;
    let diagonal = Matrix3::from_diagonal(&linear.diagonal());
    if (linear - diagonal).abs().max() > 1e-6 {
        notes.left(
            path,
            "the form is sheared, which no translation, rotation and scale can do",
            "make it a mesh",
        );
    }
    linear.diagonal()
}

/// Takes a node's form to its new frame.
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
                    .flat_map(|&[low, high]| boxed(affine, low, high))
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
    let to_normal = linear
        .try_inverse()
        .map_or(linear, |inverse| inverse.transpose());
    let normal = |n: [f64; 3]| {
        let turned = to_normal * Vector3::from(n);
        turned.try_normalize(0.0).unwrap_or(turned)
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
    let factor = linear.determinant().abs().cbrt();
    scale_numbers(node, &["widths"], factor);
    if linear.determinant() < 0.0 {
        super::meshes::turn_inside_out(node);
    }
    notes.changed(
        &node.path,
        "the points are in the link's frame and in metres now, without scale",
    );
}

/// The box along the axes around a box that is moved.
fn boxed(affine: &Matrix4<f64>, low: [f64; 3], high: [f64; 3]) -> [gf::Vec3f; 2] {
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

/// Lengths that no transform reaches. What is not authored is a length, too.
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
    for (name, otherwise) in lengths(&node.type_name) {
        if node.value(name).is_none() {
            node.set(
                name,
                type_name,
                if type_name == "float" {
                    Value::Float(*otherwise as f32)
                } else {
                    Value::Double(*otherwise)
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

/// The lengths of a type of prim that are not zero where nothing is authored, and what they are
/// then (UsdGeom).
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

/// Gives a light the size that it has by the scale and the units of its frame, and has it shine as
/// before (UsdLux): its luminance stays, and one that is divided by the light's surface
/// (`inputs:normalize`) is so in square metres.
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
    let mut multiply = |name: &str, otherwise: f64, factor: f64| {
        if (factor - 1.0).abs() > SAME {
            let number = node.number(name).unwrap_or(otherwise);
            node.set(name, "float", Value::Float((number * factor) as f32));
        }
    };
    sizes
        .iter()
        .for_each(|(name, otherwise, factor)| multiply(name, *otherwise, *factor));
    if is_normalized {
        multiply("inputs:intensity", 1.0, places.meters.powi(2));
    }
    // Below zero they say that there is no limit.
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
