//! Any OpenUSD asset with rigid bodies → [`Robot`].
//!
//! What is a link and what a joint follows from schemas and relationships alone (REP-158 §1.3),
//! never from how prims are nested. Units, the up axis, transforms of any kind and scales are
//! settled here: the robot is in metres, kilograms and radians with z up.
//!
//! [`scene`](self) frames: the world of the stage, turned and scaled, is the robot's world. A
//! body's frame is its prim's, without scale.

mod custom;
mod isaac;
mod joints;
mod lights;
mod links;
mod looks;
mod mass;
mod materials;
mod meshes;
mod planning;
mod scene;
mod sensors;
mod shapes;
mod tessellate;
mod tidy;

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use nalgebra::Vector3;

use self::joints::{End, Found};
use self::links::Links;
pub use self::mass::DENSITY;
use self::scene::{SAME, Scene};
use self::shapes::Shapes;
use super::ReadError;
use crate::codes;
use crate::isaac_schema::{JOINT_NAME_OVERRIDE, NAME_OVERRIDE};
use urdf_usd_diagnostic::{Diagnostic, Place};
use urdf_usd_robot::{
    Custom, Inertial, Joint, JointId, JointKind, Link, LinkId, Pose, Robot, Tree,
};
use urdf_usd_stage::{Options, Prim, PrimId, Stage, Value, on_large_stack, text};

/// A body that stands as near as this to where its joint has it, metres and radians, stands there.
const STANDS: f64 = 2e-6;
/// The name of the link that stands for the world ([`Robot::world_root`]).
const WORLD: &str = "world";

/// What reading an asset gave.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The robot, with its meshes and textures loaded.
    pub robot: Robot,
    /// What could not be read, and what stands on an assumption.
    pub diagnostics: Vec<Diagnostic>,
    /// The layers that were read, the root layer first; of a layer in a package,
    /// `package.usdz[layer.usda]`.
    pub layers: Vec<PathBuf>,
    /// `ros:context:namespace` of the asset's root, if it says one (REP-158 §2.1.1).
    pub namespace: Option<String>,
    /// `assetInfo:version` of the asset's root, if it says one (REP-158 §1.2.5).
    pub version: Option<String>,
}

/// Reads the robot that an asset holds, of any layout: `.usd`, `.usda`, `.usdc`, `.usdz`, with
/// payloads and the selected variants. Variants that change nothing but materials are its
/// [`Robot::look_variants`].
///
/// # Errors
/// If the asset can't be opened, or has no rigid body.
pub fn read(entry: &Path, options: &Options) -> Result<Outcome, ReadError> {
    let failed = |reason: String| ReadError::Open {
        path: entry.to_owned(),
        reason,
    };
    let stage = Stage::open(entry, options).map_err(|error| failed(error.reason))?;
    let mut reading = on_large_stack(|| Reading::of(&stage))
        .map_err(|error| failed(format!("no thread for it: {error}")))??;
    reading
        .diagnostics
        .extend(looks::read(&stage, options, &mut reading.robot));
    let root = stage.default_prim.map(|root| &stage[root]);
    let namespace = root
        .filter(|root| root.has("RosContextAPI"))
        .and_then(|root| root.text("ros:context:namespace"));
    let version = match root.and_then(|root| root.metadata.get("assetInfo")) {
        Some(Value::Dictionary(info)) => info.get("version").and_then(text).map(str::to_owned),
        _ => None,
    };
    Ok(Outcome {
        robot: reading.robot,
        diagnostics: reading.diagnostics,
        layers: stage
            .layers
            .iter()
            .map(|layer| layer.path.clone())
            .collect(),
        namespace: namespace.map(str::to_owned),
        version: version.filter(|version| !version.is_empty()),
    })
}

/// The robot of a stage, and the prims that it comes from.
#[derive(Clone, Debug)]
pub struct OfStage {
    /// The robot, with its meshes and textures loaded.
    pub robot: Robot,
    /// By link: its prim; none for the world and for links that the asset does not have.
    pub links: Vec<Option<PrimId>>,
    /// By joint: its prim; none for those that only place a frame.
    pub joints: Vec<Option<PrimId>>,
    /// By link: whether it is a rigid body of the asset.
    pub is_body: Vec<bool>,
    /// What could not be read, and what stands on an assumption.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads the robot of a stage that is open already.
///
/// `robot`: the prim whose named poses are wanted, where the stage has several robots.
///
/// # Errors
/// If the stage has no rigid body.
pub fn read_stage(stage: &Stage, robot: Option<PrimId>) -> Result<OfStage, ReadError> {
    let failed = |reason: String| ReadError::Open {
        path: stage.entry.clone(),
        reason,
    };
    let reading = on_large_stack(|| Reading::of_robot(stage, robot))
        .map_err(|error| failed(format!("no thread for it: {error}")))??;
    let Reading {
        robot,
        diagnostics,
        links,
        joints,
        is_body,
        ..
    } = reading;
    Ok(OfStage {
        robot,
        links,
        joints,
        is_body,
        diagnostics,
    })
}

/// What a rigid body of an asset weighs.
#[derive(Clone, Debug)]
pub struct BodyMass {
    /// The body.
    pub prim: PrimId,
    /// Its mass properties; the origin is in the stage's world, in metres with z up.
    pub inertial: Inertial,
    /// Whether some of it stands on [`DENSITY`], since the asset gives no density.
    pub is_assumed: bool,
}

/// What the rigid bodies of a stage weigh: what they say, or else what UsdPhysics computes of their
/// colliders (UsdPhysicsMassAPI). Bodies of which neither is known are left out.
///
/// # Errors
/// If the stage has no rigid body.
pub fn body_masses(stage: &Stage) -> Result<Vec<BodyMass>, ReadError> {
    let failed = |reason: String| ReadError::Open {
        path: stage.entry.clone(),
        reason,
    };
    let reading = on_large_stack(|| Reading::of(stage))
        .map_err(|error| failed(format!("no thread for it: {error}")))??;
    Ok(reading.masses)
}

/// A robot, and where it comes from.
pub(super) struct Reading {
    pub robot: Robot,
    pub diagnostics: Vec<Diagnostic>,
    /// By link: its prim; none for the world and for links that are made here.
    pub links: Vec<Option<PrimId>>,
    /// By joint: its prim; none for those that only place a frame.
    pub joints: Vec<Option<PrimId>>,
    /// By link: whether it is a rigid body of the asset.
    pub is_body: Vec<bool>,
    /// Links whose mass stands on a density that nobody gave.
    pub assumed: Vec<LinkId>,
    /// What each rigid body weighs, as far as that is known.
    pub masses: Vec<BodyMass>,
}

impl Reading {
    /// Reads the robot of a stage.
    pub fn of(stage: &Stage) -> Result<Self, ReadError> {
        Self::of_robot(stage, None)
    }

    /// The same, with the named poses of one prim.
    fn of_robot(stage: &Stage, robot: Option<PrimId>) -> Result<Self, ReadError> {
        let mut scene = Scene::new(stage);
        for error in &stage.errors {
            let file = error
                .layer
                .as_ref()
                .map_or_else(|| stage.entry.clone(), Into::into);
            let place = Place {
                element: error.path.clone().unwrap_or_default(),
                ..Place::file(file)
            };
            let help =
                "put what is missing where the layer looks for it; the rest of the asset is read";
            scene.push(
                Diagnostic::new(&codes::READ_COMPOSITION, place, error.message.clone()).help(help),
            );
        }
        // A robot of frames alone is one, too.
        let all = |is: fn(&Prim) -> bool| -> Vec<PrimId> {
            scene
                .prims()
                .filter(|(_, prim)| is(prim))
                .map(|(id, _)| id)
                .collect()
        };
        let mut bodies = all(links::is_body);
        if bodies.is_empty() {
            bodies = all(|prim| prim.has("RosFrameAPI"));
        }
        let Some(&first) = bodies.first() else {
            return Err(no_robot(stage, &scene));
        };
        let is_inside = |root: PrimId| {
            bodies
                .iter()
                .any(|&body| body == root || stage.ancestors(body).any(|id| id == root))
        };
        match stage.default_prim {
            Some(root) if is_inside(root) => {
                let roots = isaac::roots(&scene, root);
                scene.keep_below(&roots);
            }
            _ => {
                let message =
                    "the default prim holds no rigid body; the whole stage is read".to_owned();
                scene.report(
                    &codes::READ_WHOLE_STAGE,
                    (first, None),
                    message,
                    "name the robot's prim as the default prim",
                );
            }
        }
        let links = Links::find(&scene);
        let mut builder = Builder::new(&scene, links);
        builder.posed = robot;
        builder.build();
        let Builder {
            robot,
            prims,
            joint_prims,
            assumed,
            masses,
            ..
        } = builder;
        let is_body = prims
            .iter()
            .map(|prim| prim.is_some_and(|prim| links::is_body(&stage[prim])))
            .collect();
        Ok(Self {
            robot,
            diagnostics: scene.into_findings(),
            links: prims,
            joints: joint_prims,
            is_body,
            assumed,
            masses,
        })
    }
}

/// Why a stage holds no robot.
fn no_robot(stage: &Stage, scene: &Scene<'_>) -> ReadError {
    let count = scene.prims().count();
    let joints = scene
        .prims()
        .filter(|(_, prim)| links::is_joint(prim))
        .count();
    let colliders = scene
        .prims()
        .filter(|(_, prim)| prim.has("PhysicsCollisionAPI"))
        .count();
    let mut looked_for = format!(
        "no prim has PhysicsRigidBodyAPI, which makes a link, or RosFrameAPI, which makes a frame (it has {count} prims, {joints} joints and {colliders} colliders)"
    );
    if let Some(error) = stage.errors.first() {
        looked_for = format!(
            "{looked_for}; some of it could not be composed: {}",
            error.message
        );
    }
    ReadError::NoRobot {
        path: stage.entry.clone(),
        looked_for,
    }
}

/// How a body is held.
struct Held {
    /// The joint, an index into [`Builder::found`].
    joint: usize,
    /// The body that it hangs on; `None`: the world.
    parent: Option<usize>,
    /// Whether the joint names the moved body first.
    reversed: bool,
}

/// Puts a robot together.
struct Builder<'s, 'a> {
    scene: &'s Scene<'a>,
    links: Links,
    found: Rc<[Found]>,
    robot: Robot,
    /// The link that stands for the world, if the robot needs one.
    world: Option<LinkId>,
    /// By draft: its link.
    ids: Vec<LinkId>,
    prims: Vec<Option<PrimId>>,
    joint_prims: Vec<Option<PrimId>>,
    assumed: Vec<LinkId>,
    masses: Vec<BodyMass>,
    /// The prim whose named poses are read; `None`: the default prim's, and all others.
    posed: Option<PrimId>,
    link_names: Names,
    joint_names: Names,
}

impl<'s, 'a> Builder<'s, 'a> {
    fn new(scene: &'s Scene<'a>, links: Links) -> Self {
        let found = joints::find(scene, &links).into();
        let root = scene
            .stage
            .default_prim
            .or_else(|| scene.prims().next().map(|(id, _)| id));
        let name = root.map(|root| {
            display_name(scene, root).unwrap_or_else(|| scene.stage[root].name().to_owned())
        });
        let robot = Robot {
            name: name
                .filter(|name| !name.is_empty())
                .unwrap_or_else(|| "robot".to_owned()),
            links: Vec::new(),
            joints: Vec::new(),
            tree: Tree::default(),
            materials: Vec::new(),
            meshes: Vec::new(),
            sensors: Vec::new(),
            lights: Vec::new(),
            interfaces: Vec::new(),
            disabled_collisions: Vec::new(),
            named_poses: Vec::new(),
            look_variants: Vec::new(),
            planning: urdf_usd_robot::Planning::default(),
            custom: Custom::default(),
            place: root.map_or_else(Place::default, |root| scene.place(root, None)),
        };
        Self {
            scene,
            links,
            found,
            robot,
            world: None,
            ids: Vec::new(),
            prims: Vec::new(),
            joint_prims: Vec::new(),
            assumed: Vec::new(),
            masses: Vec::new(),
            posed: None,
            link_names: Names::default(),
            joint_names: Names::default(),
        }
    }

    fn build(&mut self) {
        let held = self.connect();
        let is_held = self
            .found
            .iter()
            .any(|found| found.ends.iter().any(|(body, _)| body.is_none()));
        let drawn = shapes::find(self.scene, &self.links);
        if is_held || self.says_world() || drawn.iter().any(|drawn| drawn.owner.is_none()) {
            self.add_world();
        }
        let order = isaac::order(self.scene);
        let place = |prim: PrimId| order.get(&prim).copied();
        let drafts = 0..self.links.drafts.len();
        let links = isaac::arranged(drafts.clone(), |index| place(self.links.drafts[index].prim));
        self.ids = vec![LinkId(0); links.len()];
        for index in links {
            let prim = self.links.drafts[index].prim;
            let name = self.link_name(prim);
            self.ids[index] = self.add_link(name, Some(prim));
        }
        let used: HashSet<usize> = held.values().map(|held| held.joint).collect();
        for index in isaac::arranged(drafts, |index| {
            place(self.found[held.get(&index)?.joint].prim)
        }) {
            match held.get(&index) {
                Some(held) => self.add_tree_joint(index, held),
                None => self.place_link(index, &held),
            }
        }
        let loops = (0..self.found.len()).filter(|index| !used.contains(index));
        for index in isaac::arranged(loops, |index| place(self.found[index].prim)) {
            self.add_loop(index, &held);
        }
        self.found
            .iter()
            .for_each(|found| joints::check_assembled(self.scene, &self.links, found));
        let by_prim: HashMap<PrimId, JointId> = self
            .joint_prims
            .iter()
            .enumerate()
            .filter_map(|(index, prim)| Some(((*prim)?, JointId(index))))
            .collect();
        joints::follow(self.scene, &mut self.robot, &by_prim);
        self.robot.tree = Tree::build(self.robot.links.len(), &mut self.robot.joints);
        let mut shapes = Shapes::new(self.scene);
        for drawn in &drawn {
            if let Some(link) = self.link(drawn.owner) {
                shapes.add(&mut self.robot, link.0, drawn);
            }
        }
        let Shapes {
            colliders,
            materials,
            ..
        } = shapes;
        let (world, ids) = (self.world, &self.ids);
        let link = |draft: Option<usize>| draft.map_or(world, |draft| ids.get(draft).copied());
        sensors::read(self.scene, &self.links, &mut self.robot, link);
        lights::read(self.scene, &self.links, &mut self.robot, link);
        self.robot.disabled_collisions =
            sensors::filtered_pairs(self.scene, &self.links, &self.robot, link);
        planning::read(
            self.scene,
            &mut self.robot,
            (&self.prims, &self.joint_prims),
            self.world,
        );
        isaac::read(
            self.scene,
            &mut self.robot,
            (&self.prims, &self.joint_prims),
            self.posed,
        );
        self.assumed = mass::set(
            self.scene,
            &self.links,
            &mut self.robot,
            &self.ids,
            (&colliders, &materials),
        );
        let assumed: HashSet<LinkId> = self.assumed.iter().copied().collect();
        let bodies = self
            .links
            .drafts
            .iter()
            .zip(&self.ids)
            .filter(|(draft, _)| draft.is_body);
        let weighed = bodies.filter_map(|(draft, id)| {
            let inertial = self.robot.links[id.0].inertial.clone()?;
            let inertial = Inertial {
                origin: draft.pose * inertial.origin,
                ..inertial
            };
            Some(BodyMass {
                prim: draft.prim,
                inertial,
                is_assumed: assumed.contains(id),
            })
        });
        self.masses = weighed.collect();
        self.keep_custom();
        tidy::robot(&mut self.robot);
        self.give_mass_to_frames();
    }

    /// What came from a URDF and has no other word.
    fn keep_custom(&mut self) {
        if let Some(root) = self.scene.stage.default_prim {
            self.robot.custom = custom::of(self.scene, root);
        }
        for (link, prim) in self.robot.links.iter_mut().zip(&self.prims) {
            link.custom = prim
                .map(|prim| custom::of(self.scene, prim))
                .unwrap_or_default();
        }
        for (joint, prim) in self.robot.joints.iter_mut().zip(&self.joint_prims) {
            joint.custom = prim
                .map(|prim| custom::of(self.scene, prim))
                .unwrap_or_default();
        }
    }

    /// Where a link stands in one that it hangs on, at zero.
    fn pose_within(&self, link: LinkId, above: LinkId) -> Option<Pose> {
        let (mut at, mut pose) = (link, Pose::identity());
        while at != above {
            let joint = self
                .robot
                .joints
                .get(self.robot.tree.parent_joint.get(at.0).copied()??.0)?;
            (at, pose) = (joint.parent, joint.origin * pose);
        }
        Some(pose)
    }

    /// A root body without geometry that holds exactly one frame with geometry has that link's
    /// mass: the writer gives it to the root ([`Roles::content`](urdf_usd_robot::Roles::content)).
    /// Here it goes back.
    fn give_mass_to_frames(&mut self) {
        let mut frames_of: HashMap<usize, Vec<usize>> = HashMap::new();
        for (index, frame) in self
            .links
            .drafts
            .iter()
            .enumerate()
            .filter(|(_, frame)| !frame.is_body)
        {
            if let Some(body) = frame.body {
                frames_of.entry(body).or_default().push(index);
            }
        }
        for (index, draft) in self
            .links
            .drafts
            .iter()
            .enumerate()
            .filter(|(_, draft)| draft.is_body)
        {
            let body = self.ids[index];
            let has_shapes = |link: LinkId| {
                let link = &self.robot.links[link.0];
                !link.visuals.is_empty() || !link.collisions.is_empty()
            };
            let is_base = self.robot.tree.parent_joint[body.0]
                .is_none_or(|joint| self.robot.joints[joint.0].kind == JointKind::Floating);
            let frames = frames_of.get(&index).into_iter().flatten().copied();
            let mut with_shapes = frames.filter(|frame| has_shapes(self.ids[*frame]));
            let (Some(frame), None) = (with_shapes.next(), with_shapes.next()) else {
                continue;
            };
            let of_frame = &self.links.drafts[frame];
            if !is_base || has_shapes(body) {
                continue;
            }
            let content = self.ids[frame];
            let to_frame = self
                .pose_within(content, body)
                .unwrap_or(draft.pose.inverse() * of_frame.pose)
                .inverse();
            if let Some(inertial) = self.robot.links[body.0].inertial.take() {
                let moved = Inertial {
                    origin: tidy::moved(&inertial.origin, &to_frame),
                    ..inertial
                };
                self.robot.links[content.0].inertial = Some(moved);
            }
        }
    }

    /// Whether the source had a link for the world, on which something floats: it has no prim, but
    /// the asset keeps the words of the joint.
    fn says_world(&self) -> bool {
        let stage = self.scene.stage;
        let is_named = |prim: &Prim| prim.text("ros:context:parent_frame") == Some(WORLD);
        let floats = |prim: PrimId| stage[prim].text("urdf:joint:type") == Some("floating");
        stage
            .default_prim
            .is_some_and(|root| is_named(&stage[root]))
            && self
                .links
                .drafts
                .iter()
                .any(|draft| draft.is_body && floats(draft.prim))
    }

    /// Finds how every body is held, from the roots outwards. Joints that close loops hold nothing.
    fn connect(&self) -> HashMap<usize, Held> {
        let mut neighbours: HashMap<usize, Vec<(usize, usize, bool)>> = HashMap::new();
        let (mut starts, mut moved, mut held) = (Vec::new(), HashSet::new(), HashMap::new());
        for (joint, found) in self
            .found
            .iter()
            .enumerate()
            .filter(|(_, found)| !found.is_excluded)
        {
            match found.ends.each_ref().map(|(body, _)| *body) {
                [Some(body0), Some(body1)] => {
                    neighbours
                        .entry(body0)
                        .or_default()
                        .push((joint, body1, false));
                    neighbours
                        .entry(body1)
                        .or_default()
                        .push((joint, body0, true));
                    moved.insert(body1);
                }
                [None, Some(body)] | [Some(body), None] => {
                    let reversed = found.ends[0].0.is_some();
                    held.entry(body).or_insert(Held {
                        joint,
                        parent: None,
                        reversed,
                    });
                    starts.push(body);
                }
                [None, None] => {}
            }
        }
        let drafts = &self.links.drafts;
        let bodies: Vec<usize> = (0..drafts.len())
            .filter(|&index| drafts[index].is_body)
            .collect();
        let is_base = |body: &&usize| {
            let prim = &self.scene.stage[drafts[**body].prim];
            prim.has("PhysicsArticulationRootAPI") || prim.has("RosContextAPI")
        };
        // What is held, what says that it is the base, what no joint moves; and in a ring the
        // first.
        starts.extend(bodies.iter().filter(is_base));
        starts.extend(bodies.iter().filter(|body| !moved.contains(*body)));
        starts.extend(&bodies);
        let mut seen: HashSet<usize> = HashSet::new();
        for start in starts {
            if !seen.insert(start) {
                continue;
            }
            let mut next = VecDeque::from([start]);
            while let Some(body) = next.pop_front() {
                for &(joint, other, reversed) in
                    neighbours.get(&body).map_or(&[][..], Vec::as_slice)
                {
                    // A body that is held to the world already hangs there.
                    if !held.contains_key(&other) && seen.insert(other) {
                        held.insert(
                            other,
                            Held {
                                joint,
                                parent: Some(body),
                                reversed,
                            },
                        );
                        next.push_back(other);
                    }
                }
            }
        }
        held
    }

    fn link(&self, body: Option<usize>) -> Option<LinkId> {
        body.map_or(self.world, |body| self.ids.get(body).copied())
    }

    /// The joint that holds a body, and the link that it needs where the body's origin is not on
    /// the joint's axis.
    fn add_tree_joint(&mut self, index: usize, held: &Held) {
        let all = Rc::clone(&self.found);
        let found = &all[held.joint];
        let (prim, kind) = (found.prim, found.kind);
        let (near, far) = if held.reversed { (1, 0) } else { (0, 1) };
        let ((_, near), (_, far)): (&End, &End) = (&found.ends[near], &found.ends[far]);
        let (near, far) = (*near, *far);
        let direction = if held.reversed {
            -found.direction()
        } else {
            found.direction()
        };
        let axis = far.rotation * direction;
        // The frame that the body's prim lies in, if that is rigid in what the joint names.
        let drafts = &self.links.drafts;
        let within = drafts[index]
            .above
            .filter(|&above| drafts[above].body == held.parent);
        let pose = |link: Option<usize>| link.map_or_else(Pose::identity, |link| drafts[link].pose);
        let stands = pose(within.or(held.parent)).inverse() * drafts[index].pose;
        let near = within.map_or(near, |within| {
            drafts[within].pose.inverse() * pose(held.parent) * near
        });
        let (Some(parent), Some(child)) =
            (self.link(within.or(held.parent)), self.link(Some(index)))
        else {
            return;
        };
        let has_pivot = joints::needs_pivot(kind, &axis, &far);
        let mut joint = Joint::new(self.joint_name(prim), kind, parent, child);
        (joint.axis, joint.place) = (axis, self.scene.place(prim, None));
        joint.origin = if has_pivot {
            near * far.rotation.inverse()
        } else {
            near * far.inverse()
        };
        joints::fill(self.scene, found, &mut joint);
        if has_pivot {
            let body = self.robot.links[child.0].name.clone();
            let pivot = self.add_link(format!("{body}_joint_frame"), None);
            joint.child = pivot;
            let message = format!(
                "joint {:?} does not turn body {body:?} about its origin: the link {:?} stands on the axis",
                joint.name, self.robot.links[pivot.0].name
            );
            let help = "nothing need be done; the body stays where its prim is";
            self.scene
                .report(&codes::READ_PIVOT, (prim, None), message, help);
            self.add_joint(joint, Some(prim));
            let name = format!("{body}_fixed_joint");
            self.add_fixed(
                name,
                pivot,
                child,
                Pose::from_parts((-far.translation.vector).into(), Default::default()),
            );
        } else {
            // Prims stand in double precision where joints have frames in single.
            let apart = stands.inverse() * joint.origin;
            if apart.translation.vector.norm() < STANDS && apart.rotation.angle() < STANDS {
                joint.origin = stands;
            }
            self.add_joint(joint, Some(prim));
        }
    }

    /// Holds a frame to what it is rigid in. A body that nothing holds is a root, or floats where
    /// the asset has the joint's words.
    fn place_link(&mut self, index: usize, held: &HashMap<usize, Held>) {
        let draft = &self.links.drafts[index];
        let (prim, pose, is_body) = (draft.prim, draft.pose, draft.is_body);
        // A frame hangs on the frame that it lies in, if that is rigid in the same body.
        let above = draft
            .above
            .filter(|&above| !is_body || self.links.drafts[above].body.is_none());
        let words = &self.scene.stage[prim];
        let floats = is_body && words.text("urdf:joint:type") == Some("floating");
        let parent = match above {
            Some(above) => Some((self.ids[above], self.links.drafts[above].pose)),
            None if is_body && !floats => None,
            None if self.world.is_some() => self.world.map(|world| (world, Pose::identity())),
            None => {
                // The asset does not say what it floats on: the first root that does not float
                // itself.
                let drafts = &self.links.drafts;
                let floats_too = |other: usize| {
                    self.scene.stage[drafts[other].prim].text("urdf:joint:type") == Some("floating")
                };
                let is_root = |&other: &usize| {
                    drafts[other].above.is_none()
                        && !held.contains_key(&other)
                        && !floats_too(other)
                };
                let root = (0..drafts.len()).find(is_root).filter(|_| floats);
                root.map(|root| (self.ids[root], drafts[root].pose))
            }
        };
        let child = self.ids[index];
        let Some((parent, of_parent)) = parent else {
            if is_body {
                self.place_root(index);
            }
            return;
        };
        let name = words
            .text("urdf:joint:name")
            .filter(|name| !name.is_empty())
            .map(str::to_owned);
        let name = name.unwrap_or_else(|| format!("{}_joint", self.robot.links[child.0].name));
        let kind = if floats {
            JointKind::Floating
        } else {
            JointKind::Fixed
        };
        let mut joint = Joint::new(self.unique_joint(name), kind, parent, child);
        joint.origin = of_parent.inverse() * pose;
        joint.place = self.scene.place(prim, None);
        joints::words(words, "urdf:joint", &mut joint);
        self.add_joint(joint, None);
    }

    /// A root that nothing holds is the robot's frame, wherever it stands in the stage, unless it
    /// lies: then it hangs on a link that has z up.
    fn place_root(&mut self, index: usize) {
        let draft = &self.links.drafts[index];
        let (prim, pose) = (draft.prim, draft.pose);
        let is_tilted = (pose.rotation * Vector3::z() - Vector3::z()).norm() > 1e-6;
        let id = self.ids[index];
        let name = self.robot.links[id.0].name.clone();
        if is_tilted && !self.scene.stage.is_z_up() {
            // As ROS calls the frame of a robot's base, in which z is up (REP-105). The robot's own
            // name is that of another frame.
            let base = self.add_link("base_link".to_owned(), None);
            let turned = Pose::from_parts(Vector3::zeros().into(), pose.rotation);
            self.add_fixed(format!("{name}_joint"), base, id, turned);
            let message = format!(
                "the stage has y up: body {name:?} hangs on the link {:?}, which has z up",
                self.robot.links[base.0].name
            );
            self.scene.report(
                &codes::READ_BASE,
                (prim, None),
                message,
                "nothing need be done",
            );
        } else if pose.translation.vector.norm() > SAME || pose.rotation.angle() > SAME {
            let at = pose.translation.vector;
            let message = format!(
                "the base {name:?} stands at ({:.4}, {:.4}, {:.4}) m in the stage and nothing holds it; a robot has no word for that",
                at.x, at.y, at.z
            );
            self.scene.report(
                &codes::READ_BASE,
                (prim, None),
                message,
                "nothing need be done; place the robot where it is used",
            );
        }
    }

    /// A joint that no tree needs: it closes a loop. What it moves in its child is a frame there.
    fn add_loop(&mut self, index: usize, held: &HashMap<usize, Held>) {
        let all = Rc::clone(&self.found);
        let found = &all[index];
        let prim = found.prim;
        let [(body0, near), (body1, far)] = found.ends;
        let (Some(parent), Some(child)) = (self.link(body0), self.link(body1)) else {
            return;
        };
        let axis = far.rotation * found.direction();
        // Where nothing else holds the parent to the world, the world would be its child.
        let mut top = body0;
        while let Some(body) = top.filter(|_| body1.is_none()) {
            match held.get(&body) {
                Some(held) => top = held.parent,
                None => break,
            }
        }
        let needs_pivot =
            body1.is_none() && top.is_some() || joints::needs_pivot(found.kind, &axis, &far);
        // A frame that stands where the joint is, if the body has one.
        let drafts = &self.links.drafts;
        let in_frame = |frame: usize| {
            Some((
                frame,
                drafts[frame].pose.inverse() * drafts[body1?].pose * far,
            ))
        };
        let frames = (0..drafts.len())
            .filter(|&frame| needs_pivot && !drafts[frame].is_body && drafts[frame].body == body1);
        let there = frames
            .filter_map(in_frame)
            .find(|(_, far)| far.translation.vector.norm() < 1e-6);
        let (child, far) = there.map_or((child, far), |(frame, far)| (self.ids[frame], far));
        let axis = far.rotation * found.direction();
        let mut joint = Joint::new(self.joint_name(prim), found.kind, parent, child);
        (joint.axis, joint.place) = (axis, self.scene.place(prim, None));
        joints::fill(self.scene, found, &mut joint);
        if needs_pivot && there.is_none() {
            joint.origin = near * far.rotation.inverse();
            let body = self.robot.links[child.0].name.clone();
            let pivot = self.add_link(format!("{body}_joint_frame"), None);
            self.add_fixed(
                format!("{body}_fixed_joint"),
                child,
                pivot,
                Pose::from_parts(far.translation, Default::default()),
            );
            joint.child = pivot;
        } else {
            joint.origin = near * far.inverse();
        }
        // Last, so that the tree is the one that was found.
        self.add_joint(joint, Some(prim));
    }

    fn add_world(&mut self) -> LinkId {
        if let Some(world) = self.world {
            return world;
        }
        let root = self.scene.stage.default_prim;
        let id = self.add_link(WORLD.to_owned(), None);
        if let Some(root) = root {
            self.robot.links[id.0].place = self.scene.place(root, None);
        }
        self.world = Some(id);
        id
    }

    fn add_link(&mut self, name: String, prim: Option<PrimId>) -> LinkId {
        let name = self.unique_link(name, prim);
        let place = prim.map_or_else(Place::default, |prim| self.scene.place(prim, None));
        self.robot.links.push(Link {
            name,
            inertial: None,
            visuals: Vec::new(),
            collisions: Vec::new(),
            contact: None,
            custom: Custom::default(),
            place,
        });
        self.prims.push(prim);
        LinkId(self.robot.links.len() - 1)
    }

    fn add_joint(&mut self, joint: Joint, prim: Option<PrimId>) {
        self.robot.joints.push(joint);
        self.joint_prims.push(prim);
    }

    fn add_fixed(&mut self, name: String, parent: LinkId, child: LinkId, origin: Pose) {
        let name = self.unique_joint(name);
        let joint = Joint {
            origin,
            ..Joint::new(name, JointKind::Fixed, parent, child)
        };
        self.add_joint(joint, None);
    }

    /// The TF frame's name, or the name for people, or the prim's.
    fn link_name(&self, id: PrimId) -> String {
        let prim = &self.scene.stage[id];
        let of_frame = prim
            .text("ros:frame:id")
            .filter(|_| prim.has("RosFrameAPI"));
        let given = of_frame
            .or_else(|| prim.text(NAME_OVERRIDE))
            .filter(|name| !name.is_empty())
            .map(str::to_owned);
        given
            .or_else(|| display_name(self.scene, id))
            .unwrap_or_else(|| prim.name().to_owned())
    }

    /// The ROS name (REP-158 §2.10), or the name for people, or the prim's.
    fn joint_name(&mut self, id: PrimId) -> String {
        let prim = &self.scene.stage[id];
        let given = ["ros:joint:name", NAME_OVERRIDE, JOINT_NAME_OVERRIDE]
            .into_iter()
            .find_map(|name| prim.text(name));
        let given = given.filter(|name| !name.is_empty()).map(str::to_owned);
        let name = given
            .or_else(|| display_name(self.scene, id))
            .unwrap_or_else(|| prim.name().to_owned());
        self.unique_joint(name)
    }

    fn unique_link(&mut self, name: String, prim: Option<PrimId>) -> String {
        let unique = self.link_names.unique(&name);
        if let Some(prim) = prim.filter(|_| unique != name) {
            let message = format!("two links are called {name:?}; this one becomes {unique:?}");
            self.scene.report(
                &codes::READ_NAME,
                (prim, None),
                message,
                "give each body and frame a name of its own",
            );
        }
        unique
    }

    fn unique_joint(&mut self, name: String) -> String {
        self.joint_names.unique(&name)
    }
}

/// Names that are taken.
#[derive(Default)]
struct Names {
    taken: HashSet<String>,
    /// The next number to try behind a name that was asked for again.
    numbers: HashMap<String, usize>,
}

impl Names {
    /// Takes `name`, with a number if it is taken.
    fn unique(&mut self, name: &str) -> String {
        if self.taken.insert(name.to_owned()) {
            return name.to_owned();
        }
        let number = self.numbers.entry(name.to_owned()).or_insert(1);
        loop {
            let candidate = format!("{name}_{number}");
            *number += 1;
            if self.taken.insert(candidate.clone()) {
                return candidate;
            }
        }
    }
}

/// The name that a prim has for people, if it has one.
fn display_name(scene: &Scene<'_>, id: PrimId) -> Option<String> {
    let name = text(scene.stage[id].metadata.get("displayName")?)?;
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests;
