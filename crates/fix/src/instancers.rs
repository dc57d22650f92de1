//! Point instancers: they stay what they are, in the new frames and units (REP-158 §3.5).

use nalgebra::{Matrix4, Quaternion, Translation3, UnitQuaternion, Vector3};
use openusd::gf::{self, f16};
use urdf_usd_stage::{SharedValue, Value, int_array, quaternions, rigid, vectors};

use super::frames::{Places, rounded};
use super::joints::turned;
use super::notes::Notes;
use super::scene::{Node, Scene};

/// How far from no rotation and no scale a copy may be and have none, in radians and as a factor.
const SAME: f64 = 1e-9;

/// Takes the copies of every point instancer to where they were.
pub fn settle(scene: &mut Scene, places: &Places, notes: &mut Notes) {
    for index in scene.nodes.handles() {
        let node = &scene.nodes[index];
        if node.type_name != "PointInstancer" {
            continue;
        }
        let here = rounded(&places.of(index));
        // A prototype stands in its parent, whatever its place in the world: what changed there,
        // changed in the prototype.
        let of_prototype = |path: &String| {
            let parent = scene.nodes[scene.at(path)?].parent;
            let changed = parent.map_or(places.world, |parent| places.of(parent));
            rounded(&changed).try_inverse()
        };
        let prototypes: Vec<Option<Matrix4<f64>>> = node
            .targets("prototypes")
            .iter()
            .map(of_prototype)
            .collect();
        let is_same = |back: &Option<Matrix4<f64>>| back.as_ref().is_none_or(Places::is_identity);
        if Places::is_identity(&here) && prototypes.iter().all(is_same) {
            continue;
        }
        let node = &mut scene.nodes[index];
        let Some(copies) = copies(node, &here, &prototypes) else {
            notes.left(
                &node.path,
                "copies of the point instancer are sheared or have no size, or name no prototype, so they can't be taken to the new frame",
                "write its instances as prims",
            );
            continue;
        };
        write(node, &copies);
        let turn = places.turn_of(index);
        let linear = here.fixed_view::<3, 3>(0, 0).into_owned();
        for name in ["velocities", "accelerations"] {
            each(node, name, |v| single(linear * v));
        }
        each(node, "angularVelocities", |v| turned(&turn, v.into()));
        notes.changed(
            &node.path,
            "the copies of the point instancer are in its new frame and in metres now",
        );
    }
}

/// A copy of a prototype.
struct Copy {
    position: Vector3<f64>,
    turn: UnitQuaternion<f64>,
    scale: Vector3<f64>,
}

/// The copies in the new frame of their instancer; `None` if one can't be said by position,
/// rotation and scale.
fn copies(
    node: &Node,
    here: &Matrix4<f64>,
    prototypes: &[Option<Matrix4<f64>>],
) -> Option<Vec<Copy>> {
    let positions = node
        .value("positions")
        .and_then(vectors)
        .unwrap_or_default();
    let orientations = ["orientationsf", "orientations"]
        .into_iter()
        .find_map(|name| node.value(name).and_then(quaternions));
    let (orientations, scales) = (
        orientations.unwrap_or_default(),
        node.value("scales").and_then(vectors).unwrap_or_default(),
    );
    let indices = node
        .value("protoIndices")
        .and_then(int_array)
        .unwrap_or_default();
    let copy = |(number, index): (usize, &i32)| {
        let back = (*prototypes.get(usize::try_from(*index).ok()?)?)?;
        let turn =
            orientations
                .get(number)
                .map_or_else(UnitQuaternion::identity, |&[w, x, y, z]| {
                    UnitQuaternion::try_new(Quaternion::new(w, x, y, z), 1e-9)
                        .unwrap_or_else(UnitQuaternion::identity)
                });
        let scale = scales
            .get(number)
            .map_or_else(|| Vector3::repeat(1.0), |&scale| Vector3::from(scale));
        let was = Translation3::from(Vector3::from(*positions.get(number)?)).to_homogeneous()
            * turn.to_homogeneous()
            * Matrix4::new_nonuniform_scaling(&scale);
        let (pose, scale) = rigid(&(here * was * back))?;
        Some(Copy {
            position: pose.translation.vector,
            turn: pose.rotation,
            scale,
        })
    };
    indices.iter().enumerate().map(copy).collect()
}

fn write(node: &mut Node, copies: &[Copy]) {
    let is_turned = copies.iter().any(|copy| copy.turn.angle() > SAME);
    let is_scaled = copies
        .iter()
        .any(|copy| (copy.scale - Vector3::repeat(1.0)).abs().max() > SAME);
    node.set(
        "positions",
        "point3f[]",
        Value::Vec3fVec(copies.iter().map(|copy| single(copy.position)).collect()),
    );
    if is_scaled || node.attributes.contains_key("scales") {
        node.set(
            "scales",
            "float3[]",
            Value::Vec3fVec(copies.iter().map(|copy| single(copy.scale)).collect()),
        );
    }
    let is_precise = node.attributes.contains_key("orientationsf");
    if is_turned || is_precise || node.attributes.contains_key("orientations") {
        // Programs that know the precise ones take these; the others are for those that don't.
        let all = copies.iter().map(|copy| {
            let q = copy.turn.into_inner();
            [q.w, q.i, q.j, q.k].map(|c| c as f32 + 0.0)
        });
        let half = all.clone().map(|q| {
            let [w, x, y, z] = q.map(f16::from_f32);
            gf::Quath { w, x, y, z }
        });
        node.set("orientations", "quath[]", Value::QuathVec(half.collect()));
        let precise = all.map(|[w, x, y, z]| gf::Quatf { w, x, y, z });
        node.set(
            "orientationsf",
            "quatf[]",
            Value::QuatfVec(precise.collect()),
        );
    }
}

/// Maps the vectors of an attribute.
fn each(node: &mut Node, name: &str, with: impl Fn(Vector3<f64>) -> gf::Vec3f) {
    let Some(value) = node
        .attributes
        .get_mut(name)
        .and_then(|attribute| attribute.value.as_mut())
        .map(SharedValue::make_mut)
    else {
        return;
    };
    if let Some(all) = vectors(value) {
        *value = Value::Vec3fVec(all.into_iter().map(|v| with(v.into())).collect());
    }
}

fn single(v: Vector3<f64>) -> gf::Vec3f {
    gf::Vec3f {
        x: v.x as f32,
        y: v.y as f32,
        z: v.z as f32,
    }
}
