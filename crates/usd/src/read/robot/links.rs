//! Which prims are links: rigid bodies, and frames that are rigid in them or in the world.

use urdf_usd_robot::Pose;
use urdf_usd_stage::{Prim, PrimId};

use super::scene::Scene;
use crate::isaac_schema::{LINK_API, REFERENCE_POINT_API, SITE_API};

/// Names of prims that only hold others.
const HOLDERS: [&str; 8] = [
    "visual",
    "visuals",
    "collision",
    "collisions",
    "Looks",
    "Materials",
    "Joints",
    "joints",
];

/// A prim that becomes a link.
pub(super) struct Draft {
    pub prim: PrimId,
    /// Whether it moves by itself.
    pub is_body: bool,
    /// In the world, as the stage stands.
    pub pose: Pose,
    /// The link whose prim holds this one's.
    pub above: Option<usize>,
    /// The body that it is or is rigid in; `None`: the world.
    pub body: Option<usize>,
}

/// The links of a stage, in the order of their prims.
pub(super) struct Links {
    pub drafts: Vec<Draft>,
    /// By prim: the link that it is or lies in; `None`: the world.
    pub of: Vec<Option<usize>>,
}

impl Links {
    pub fn find(scene: &Scene<'_>) -> Self {
        let stage = scene.stage;
        let bare = bare(scene);
        let says_frames = scene
            .prims()
            .any(|(_, prim)| prim.has("RosFrameAPI") || prim.has("RosContextAPI"));
        let keeps_words = scene.prims().any(|(_, prim)| {
            prim.has("UrdfJointAPI") || prim.attributes.contains_key("urdf:joint:name")
        });
        let mut links = Self {
            drafts: Vec::new(),
            of: Vec::with_capacity(stage.prims.len()),
        };
        // By prim: whether it stands where converters put links that are no bodies.
        let mut is_in_tree: Vec<bool> = Vec::with_capacity(stage.prims.len());
        for (id, prim) in stage.iter() {
            let above = prim.parent.and_then(|PrimId(parent)| links.of[parent]);
            let body = above.and_then(|above| links.drafts[above].body);
            let below_geometry = prim
                .parent
                .is_some_and(|parent| is_in_tree[parent.0] || is_link_scope(scene, parent));
            let is_xform = prim.type_name == "Xform" && prim.parent.is_some();
            let is_body = scene.is_part[id.0] && is_body(prim);
            let is_named = prim.has("RosFrameAPI")
                && prim.parent.is_some()
                && !(keeps_words && is_of_sensor(scene, prim, above))
                || prim.has(SITE_API)
                || prim.has(REFERENCE_POINT_API)
                || prim.has(LINK_API) && is_xform;
            let is_plain =
                !says_frames && is_xform && bare[id.0] && (body.is_some() || below_geometry);
            // What stands for the world is no link of its own.
            let is_world = is_plain && body.is_none() && prim.name() == "world";
            is_in_tree.push(scene.is_part[id.0] && is_xform && below_geometry);
            if scene.is_part[id.0] && (is_body || is_named || is_plain && !is_world) {
                let index = links.drafts.len();
                let body = if is_body { Some(index) } else { body };
                links.drafts.push(Draft {
                    prim: id,
                    is_body,
                    pose: scene.pose(id),
                    above,
                    body,
                });
                links.of.push(Some(index));
            } else {
                links.of.push(above);
            }
        }
        links
    }

    /// The body that a prim is or is rigid in; `None`: the world.
    pub fn body_of(&self, prim: PrimId) -> Option<usize> {
        self.of[prim.0].and_then(|link| self.drafts[link].body)
    }
}

/// Whether a prim is a rigid body.
pub(super) fn is_body(prim: &Prim) -> bool {
    prim.has("PhysicsRigidBodyAPI") && prim.flag("physics:rigidBodyEnabled") != Some(false)
}

/// Whether a prim is a joint of UsdPhysics or of an engine.
pub(super) fn is_joint(prim: &Prim) -> bool {
    prim.type_name.starts_with("Phys") && prim.type_name.ends_with("Joint")
}

/// Whether a prim bears an interface of ROS.
pub(super) fn has_interface(prim: &Prim) -> bool {
    ["RosTopicAPI", "RosServiceAPI", "RosActionAPI"]
        .into_iter()
        .any(|schema| prim.has(schema))
}

/// By prim: whether it is an Xform with nothing in it but such Xforms, bodies and joints.
fn bare(scene: &Scene<'_>) -> Vec<bool> {
    let mut bare = vec![false; scene.stage.prims.len()];
    for (id, prim) in scene.prims().rev() {
        let is_plain = prim.type_name == "Xform"
            && prim.arcs.is_empty()
            && prim.instance.is_none()
            && !has_interface(prim);
        let fits = |child: &PrimId| {
            let prim = &scene.stage[*child];
            !scene.is_part[child.0] || bare[child.0] || is_body(prim) || is_joint(prim)
        };
        bare[id.0] = is_plain && !HOLDERS.contains(&prim.name()) && prim.children.iter().all(fits);
    }
    bare
}

/// Whether a prim is the scope in which converters of URDF nest all links, those too that are no
/// bodies.
fn is_link_scope(scene: &Scene<'_>, id: PrimId) -> bool {
    let prim = &scene.stage[id];
    let is_top = prim
        .parent
        .is_some_and(|above| scene.stage.default_prim == Some(above));
    is_top && prim.type_name == "Scope" && prim.name() == "Geometry"
}

/// Whether a frame belongs to a sensor, in an asset that tells the robot's own frames by the words
/// of their joints.
fn is_of_sensor(scene: &Scene<'_>, prim: &Prim, above: Option<usize>) -> bool {
    let is_in_camera = prim
        .parent
        .is_some_and(|above| scene.stage[above].type_name == "Camera");
    let is_own = prim.attributes.contains_key("urdf:joint:name");
    !is_own && !is_body(prim) && (is_in_camera || above.is_some() && prim.has("RosTopicAPI"))
}
