//! Point instancers, converted to the new frames and units (REP-158 §3.5).

use nalgebra::{Matrix4, Quaternion, Translation3, UnitQuaternion, Vector3};
use openusd::gf::{self, f16};
use urdf_usd_stage::{SharedValue, Value, int_array, quaternions, rigid, vectors};

use super::frames::{Places, rounded};
use super::joints::rotated;
use super::notes::Notes;
use super::scene::{Node, Scene};

/// Maximum rotation, in radians, and deviation of the scale from 1 that are not written.
const SAME: f64 = 1e-9;

/// Keeps the instances of every point instancer where they were.
pub fn fix(scene: &mut Scene, places: &Places, notes: &mut Notes) {
    for index in scene.nodes.handles() {
        let node = &scene.nodes[index];
        if node.type_name != "PointInstancer" {
            continue;
        }
        let here = rounded(&places.change(index));
        // Instances place a prototype relative to its parent, so that a change of the parent's
        // coordinates changes the prototype.
        let undo_change = |path: &String| {
            let parent = scene.nodes[scene.at(path)?].parent;
            let changed = parent.map_or(places.world, |parent| places.change(parent));
            rounded(&changed).try_inverse()
        };
        let prototypes: Vec<Option<Matrix4<f64>>> =
            node.targets("prototypes").iter().map(undo_change).collect();
        let is_same = |back: &Option<Matrix4<f64>>| back.as_ref().is_none_or(Places::is_identity);
        if Places::is_identity(&here) && prototypes.iter().all(is_same) {
            continue;
        }
        let node = &mut scene.nodes[index];
        let Some(instances) = instances(node, &here, &prototypes) else {
            notes.left(
                &node.path,
                "the point instancer has instances that are sheared, without size or without prototype, so it cannot be converted to the new frame",
                "replace its instances by prims",
            );
            continue;
        };
        write(node, &instances);
        let rotation = places.rotation_change(index);
        let linear = here.fixed_view::<3, 3>(0, 0).into_owned();
        for name in ["velocities", "accelerations"] {
            map_vectors(node, name, |v| single(linear * v));
        }
        map_vectors(node, "angularVelocities", |v| rotated(&rotation, v.into()));
        notes.changed(
            &node.path,
            "converted the point instancer to its new frame and to metres",
        );
    }
}

/// An instance of a prototype.
struct Instance {
    position: Vector3<f64>,
    rotation: UnitQuaternion<f64>,
    scale: Vector3<f64>,
}

/// Returns the instances in the new frame of their instancer; `None` if position, rotation and scale
/// cannot express one.
fn instances(
    node: &Node,
    here: &Matrix4<f64>,
    prototypes: &[Option<Matrix4<f64>>],
) -> Option<Vec<Instance>> {
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
    let instance = |(number, index): (usize, &i32)| {
        let back = (*prototypes.get(usize::try_from(*index).ok()?)?)?;
        let rotation =
            orientations
                .get(number)
                .map_or_else(UnitQuaternion::identity, |&[w, x, y, z]| {
                    UnitQuaternion::try_new(Quaternion::new(w, x, y, z), 1e-9)
                        .unwrap_or_else(UnitQuaternion::identity)
                });
        let scale = scales
            .get(number)
            .map_or_else(|| Vector3::repeat(1.0), |&scale| Vector3::from(scale));
        let old = Translation3::from(Vector3::from(*positions.get(number)?)).to_homogeneous()
            * rotation.to_homogeneous()
            * Matrix4::new_nonuniform_scaling(&scale);
        let (pose, scale) = rigid(&(here * old * back))?;
        Some(Instance {
            position: pose.translation.vector,
            rotation: pose.rotation,
            scale,
        })
    };
    indices.iter().enumerate().map(instance).collect()
}

fn write(node: &mut Node, instances: &[Instance]) {
    let is_rotated = instances
        .iter()
        .any(|instance| instance.rotation.angle() > SAME);
    let is_scaled = instances
        .iter()
        .any(|instance| (instance.scale - Vector3::repeat(1.0)).abs().max() > SAME);
    node.set(
        "positions",
        "point3f[]",
        Value::Vec3fVec(
            instances
                .iter()
                .map(|instance| single(instance.position))
                .collect(),
        ),
    );
    if is_scaled || node.attributes.contains_key("scales") {
        node.set(
            "scales",
            "float3[]",
            Value::Vec3fVec(
                instances
                    .iter()
                    .map(|instance| single(instance.scale))
                    .collect(),
            ),
        );
    }
    let is_precise = node.attributes.contains_key("orientationsf");
    if is_rotated || is_precise || node.attributes.contains_key("orientations") {
        // Programs that know `orientationsf` prefer it; `orientations` is for the others.
        let all = instances.iter().map(|instance| {
            let q = instance.rotation.into_inner();
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
fn map_vectors(node: &mut Node, name: &str, with: impl Fn(Vector3<f64>) -> gf::Vec3f) {
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
