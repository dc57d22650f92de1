//! Selects the prims that become links: rigid bodies, and frames rigidly attached to them or to the
//! world.

use urdf_usd_robot::{Arena, Handle, Pose};
use urdf_usd_stage::{Prim, PrimId, PrimMap};

use super::scene::Scene;
use super::sensors::nested_context;
use urdf_usd_usd_author::isaac_schema::{LINK_API, REFERENCE_POINT_API, SITE_API};

/// Names of prims that only group others.
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

/// A link of [`Links`].
pub(super) type DraftId = Handle<Draft>;

/// A prim that becomes a link.
pub(super) struct Draft {
    pub prim: PrimId,
    /// True if it is a rigid body.
    pub is_body: bool,
    /// Pose in the world, as authored.
    pub pose: Pose,
    /// The link whose prim contains this one's.
    pub above: Option<DraftId>,
    /// The body that the link above is or is rigidly attached to; `None` for the world.
    within: Option<DraftId>,
}

/// The links of a stage, in the order of their prims.
pub(super) struct Links {
    pub drafts: Arena<Draft>,
    /// The link that each prim is or is inside of; `None` for the world.
    pub of: PrimMap<Option<DraftId>>,
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
            drafts: Arena::default(),
            of: stage.filled(None),
        };
        // True for each prim at a place where converters put links that are not bodies.
        let mut is_in_tree = stage.filled(false);
        for (id, prim) in stage.iter() {
            let above = prim.parent.and_then(|parent| links.of[parent]);
            let body = above.and_then(|above| links.body(above));
            let below_geometry = prim
                .parent
                .is_some_and(|parent| is_in_tree[parent] || is_link_scope(scene, parent));
            let is_xform = prim.type_name == "Xform" && prim.parent.is_some();
            let is_body = scene.is_part[id] && is_body(prim);
            let is_named = prim.has("RosFrameAPI")
                && prim.parent.is_some()
                && !(keeps_words && is_of_sensor(scene, prim, above))
                || body.is_some() && nested_context(scene, id).is_some()
                || prim.has(SITE_API)
                || prim.has(REFERENCE_POINT_API)
                || prim.has(LINK_API) && is_xform;
            let is_plain =
                !says_frames && is_xform && bare[id] && (body.is_some() || below_geometry);
            // A prim that represents the world does not become a link.
            let is_world = is_plain && body.is_none() && prim.name() == "world";
            is_in_tree[id] = scene.is_part[id] && is_xform && below_geometry;
            let is_link = scene.is_part[id] && (is_body || is_named || is_plain && !is_world);
            links.of[id] = if is_link {
                Some(links.drafts.push(Draft {
                    prim: id,
                    is_body,
                    pose: scene.pose(id),
                    above,
                    within: body,
                }))
            } else {
                above
            };
        }
        links
    }

    /// Returns the body that a link is or is rigidly attached to; `None` for the world.
    pub fn body(&self, link: DraftId) -> Option<DraftId> {
        let draft = &self.drafts[link];
        if draft.is_body {
            Some(link)
        } else {
            draft.within
        }
    }

    /// Returns the body that a prim is or is rigidly attached to; `None` for the world.
    pub fn body_of(&self, prim: PrimId) -> Option<DraftId> {
        self.of[prim].and_then(|link| self.body(link))
    }

    /// Returns the pose of a link, or of the world.
    pub fn pose(&self, link: Option<DraftId>) -> Pose {
        link.map_or_else(Pose::identity, |link| self.drafts[link].pose)
    }
}

/// Returns whether a prim is a rigid body.
pub(super) fn is_body(prim: &Prim) -> bool {
    prim.has("PhysicsRigidBodyAPI") && prim.flag("physics:rigidBodyEnabled") != Some(false)
}

/// Returns whether a prim is a joint of UsdPhysics or of an engine.
pub(super) fn is_joint(prim: &Prim) -> bool {
    prim.type_name.starts_with("Phys") && prim.type_name.ends_with("Joint")
}

/// Returns whether a prim has a ROS interface.
pub(super) fn has_interface(prim: &Prim) -> bool {
    ["RosTopicAPI", "RosServiceAPI", "RosActionAPI"]
        .into_iter()
        .any(|schema| prim.has(schema))
}

/// Returns, for each prim, whether it is an Xform that contains only such Xforms, bodies and
/// joints.
fn bare(scene: &Scene<'_>) -> PrimMap<bool> {
    let mut bare = scene.stage.filled(false);
    for (id, prim) in scene.prims().rev() {
        let is_plain = prim.type_name == "Xform"
            && prim.arcs.is_empty()
            && prim.instance.is_none()
            && !has_interface(prim);
        let fits = |child: &PrimId| {
            let prim = &scene.stage[*child];
            !scene.is_part[*child] || bare[*child] || is_body(prim) || is_joint(prim)
        };
        bare[id] = is_plain && !HOLDERS.contains(&prim.name()) && prim.children.iter().all(fits);
    }
    bare
}

/// Returns whether a prim is the scope in which URDF converters nest all links, including those
/// that are not bodies.
fn is_link_scope(scene: &Scene<'_>, id: PrimId) -> bool {
    let prim = &scene.stage[id];
    let is_top = prim
        .parent
        .is_some_and(|above| scene.stage.default_prim == Some(above));
    is_top && prim.type_name == "Scope" && prim.name() == "Geometry"
}

/// Returns whether a frame belongs to a sensor, in an asset that identifies the robot's own frames
/// by the attributes of their joints.
fn is_of_sensor(scene: &Scene<'_>, prim: &Prim, above: Option<DraftId>) -> bool {
    let is_in_camera = prim
        .parent
        .is_some_and(|above| scene.stage[above].type_name == "Camera");
    let is_own = prim.attributes.contains_key("urdf:joint:name");
    !is_own && !is_body(prim) && (is_in_camera || above.is_some() && prim.has("RosTopicAPI"))
}
