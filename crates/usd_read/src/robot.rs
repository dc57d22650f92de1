//! Converts any OpenUSD asset with rigid bodies to a [`Robot`].
//!
//! Links and joints are identified by schemas and relationships alone (REP-158 §1.3), never by the
//! nesting of prims. Units, the up axis, all kinds of transforms and scales are normalised here:
//! the robot is in metres, kilograms and radians with z up.
//!
//! [`scene`](self) frames: the world of the stage, rotated and scaled, is the robot's world. A
//! body's frame is its prim's, without scale.

mod bindings;
mod custom;
mod filters;
mod foreign;
mod isaac;
mod joints;
mod lights;
mod links;
mod looks;
mod mass;
mod materials;
mod mdl;
mod meshes;
mod planning;
mod primvars;
mod scene;
mod sensors;
mod shapes;
mod tessellate;
mod tidy;
mod unselected;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use nalgebra::Vector3;

pub use self::isaac::is_pose_alias;
use self::joints::{End, Found, FoundId};
use self::links::{Draft, DraftId, Links};
pub use self::mass::DENSITY;
use self::scene::{SAME, Scene};
use self::shapes::{Drawn, Shapes};
use super::ReadError;
use crate::codes;
use urdf_usd_diagnostic::{Diagnostic, Place};
use urdf_usd_robot::names::UniqueNames;
use urdf_usd_robot::{
    Arena, ArenaMap, Connector, Inertial, Joint, JointId, JointKind, Link, LinkId, Mass, Pose,
    Robot, WORLD,
};
use urdf_usd_stage::{
    Layer, LayerId, LayerPlaces, Options, Prim, PrimId, Stage, Value, asset_paths, on_large_stack,
    text,
};
use urdf_usd_usd_author::isaac_schema::{JOINT_NAME_OVERRIDE, NAME_OVERRIDE};
use urdf_usd_usd_author::layout::MASS_FRAME;

/// Tolerance, in metres and radians, within which a body is at the pose given by its joint.
const STANDS: f64 = 2e-6;

/// The result of reading an asset.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The robot, with its meshes and textures loaded.
    pub robot: Robot,
    /// Problems with the asset, and assumptions made in place of missing data.
    pub diagnostics: Vec<Diagnostic>,
    /// The layers that were read, the root layer first; layers in a package as
    /// `package.usdz[layer.usda]`.
    pub layers: Vec<PathBuf>,
    /// Statements of the asset's root about the asset.
    pub info: AssetInfo,
}

/// Statements of an asset's root about the asset; empty if not authored.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AssetInfo {
    /// `assetInfo:identifier` (REP-158 §1.2.5).
    pub identifier: Option<String>,
    /// `assetInfo:version`.
    pub version: Option<String>,
    /// The entries of `assetInfo:ros`, sorted.
    pub ros: BTreeMap<String, Value>,
    /// The kind `assembly` or `group` (REP-158 §1.2.2); also `assembly` if no kind is authored and
    /// the asset has several articulations.
    pub aggregate: Option<String>,
}

impl AssetInfo {
    /// Returns the statements about an asset from a source with this URI: empty unless the source is
    /// in a ROS package.
    pub fn from_uri(uri: &str) -> Self {
        if !uri.starts_with("package://") {
            return Self::default();
        }
        let package_uri = ("package_uri".to_owned(), Value::String(uri.to_owned()));
        Self {
            identifier: Some(uri.to_owned()),
            ros: BTreeMap::from([package_uri]),
            ..Self::default()
        }
    }

    fn of(scene: &Scene<'_>) -> Self {
        let Some(id) = scene.stage.default_prim else {
            return Self::default();
        };
        let root = &scene.stage[id];
        let articulations = scene
            .prims()
            .filter(|(_, prim)| prim.has("PhysicsArticulationRootAPI"));
        let assumed = || (articulations.count() > 1).then(|| "assembly".to_owned());
        let aggregate = root.kind.clone().or_else(assumed);
        let aggregate = aggregate.filter(|kind| matches!(kind.as_str(), "assembly" | "group"));
        let Some(Value::Dictionary(info)) = root.metadata.get("assetInfo") else {
            return Self {
                aggregate,
                ..Self::default()
            };
        };
        let mut left_out = Vec::new();
        let mut statement = |key: &str| {
            let text = info.get(key).and_then(text).filter(|text| !text.is_empty());
            // A relative path would lead elsewhere from the new asset.
            let is_path =
                |text: &&str| matches!(info.get(key), Some(Value::AssetPath(_))) && !is_uri(text);
            if text.as_ref().is_some_and(is_path) {
                left_out.push(key.to_owned());
            }
            text.filter(|text| !is_path(text)).map(str::to_owned)
        };
        let (identifier, version) = (statement("identifier"), statement("version"));
        let ros = match info.get("ros") {
            Some(Value::Dictionary(ros)) => without_paths(ros, "ros", &mut left_out),
            _ => HashMap::new(),
        };
        if !left_out.is_empty() {
            left_out.sort();
            let more = if left_out.len() > MAX_LISTED {
                ", …"
            } else {
                ""
            };
            left_out.truncate(MAX_LISTED);
            let message = format!(
                "assetInfo has file paths, which are left out: {}{more}",
                left_out.join(", ")
            );
            let help = "author strings, such as package:// URIs";
            scene.report(&codes::ATTRIBUTES, id, None, message, help);
        }
        Self {
            identifier,
            version,
            ros: ros.into_iter().collect(),
            aggregate,
        }
    }
}

/// Maximum number of left out entries of `assetInfo` that a message lists.
const MAX_LISTED: usize = 20;

/// Returns whether an asset path is a URI that means the same on every machine.
fn is_uri(path: &str) -> bool {
    path.contains("://") && !path.starts_with("file:")
}

/// Returns a dictionary without file paths at any depth, and adds the keys of those to `left_out`.
fn without_paths(
    entries: &HashMap<String, Value>,
    key: &str,
    left_out: &mut Vec<String>,
) -> HashMap<String, Value> {
    let mut kept = HashMap::new();
    for (name, value) in entries {
        let key = format!("{key}:{name}");
        let value = match value {
            Value::Dictionary(entries) => Value::Dictionary(without_paths(entries, &key, left_out)),
            value if asset_paths(value).is_empty() => value.clone(),
            _ => {
                left_out.push(key);
                continue;
            }
        };
        kept.insert(name.clone(), value);
    }
    kept
}

/// Reads the robot of an asset of any layout: `.usd`, `.usda`, `.usdc` or `.usdz`, with payloads
/// and the selected variants. Variants that change only materials become its
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
    forget_stand_ins(&mut reading);
    reading
        .diagnostics
        .extend(looks::read(&stage, options, &mut reading.robot));
    Ok(Outcome {
        robot: reading.robot,
        diagnostics: reading.diagnostics,
        layers: stage
            .layers
            .iter()
            .map(|layer| layer.path.clone())
            .collect(),
        info: reading.info,
    })
}

/// Removes placeholder masses that an asset marks as assumed: its source had none.
fn forget_stand_ins(reading: &mut Reading) {
    for link in reading.robot.links().handles().collect::<Vec<_>>() {
        let inertial = &mut reading.robot.link_mut(link).inertial;
        if inertial
            .as_ref()
            .is_some_and(|inertial| inertial.is_assumed && Mass::is_stand_in(inertial))
        {
            *inertial = None;
        }
    }
}

/// The robot of a stage, and the prims of its links and joints.
#[derive(Clone, Debug)]
pub struct OfStage {
    /// The robot, with its meshes and textures loaded.
    pub robot: Robot,
    /// The prim of each link; `None` for the world and for links that the asset does not have.
    pub links: ArenaMap<Link, Option<PrimId>>,
    /// The prim of each joint; `None` for joints that only place a frame.
    pub joints: ArenaMap<Joint, Option<PrimId>>,
    /// True for each link that is a rigid body of the asset.
    pub is_body: ArenaMap<Link, bool>,
    /// Problems with the asset, and assumptions made in place of missing data.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads the robot of an open stage.
///
/// `robot`: the prim whose named poses are read, if the stage has several robots.
///
/// # Errors
/// If the stage has no rigid body.
pub fn read_stage(stage: &Stage, robot: Option<PrimId>) -> Result<OfStage, ReadError> {
    let failed = |reason: String| ReadError::Open {
        path: stage.entry.clone(),
        reason,
    };
    let reading = on_large_stack(|| Reading::of_robot(stage, robot, false))
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

/// The mass properties of a rigid body of an asset.
#[derive(Clone, Debug)]
pub struct BodyMass {
    /// The body.
    pub prim: PrimId,
    /// Its mass properties; the origin is in the stage's world, in metres with z up.
    pub inertial: Inertial,
    /// True if some of it is computed with [`DENSITY`], because the asset gives no density.
    pub is_assumed: bool,
}

/// Returns the mass properties of the rigid bodies of a stage: the authored ones, or else those
/// that UsdPhysics computes from their colliders (UsdPhysicsMassAPI). Omits bodies for which
/// neither is known.
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

/// A robot under construction, and the prims it is read from.
pub(super) struct Reading {
    pub robot: Robot,
    pub diagnostics: Vec<Diagnostic>,
    /// The prim of each link; `None` for the world and for links added by the reader.
    pub links: ArenaMap<Link, Option<PrimId>>,
    /// The prim of each joint; `None` for joints that only place a frame.
    pub joints: ArenaMap<Joint, Option<PrimId>>,
    /// True for each link that is a rigid body of the asset.
    pub is_body: ArenaMap<Link, bool>,
    /// Links whose mass is computed with an assumed density.
    pub assumed: Vec<LinkId>,
    /// The mass properties of the rigid bodies for which they are known.
    pub masses: Vec<BodyMass>,
    pub info: AssetInfo,
}

impl Reading {
    /// Reads the robot of a stage.
    pub fn of(stage: &Stage) -> Result<Self, ReadError> {
        Self::of_robot(stage, None, true)
    }

    /// Reads the robot of a stage with the named poses of one prim. `keeps_state`: whether the state
    /// of its joints becomes a named pose.
    fn of_robot(
        stage: &Stage,
        robot: Option<PrimId>,
        keeps_state: bool,
    ) -> Result<Self, ReadError> {
        let mut scene = Scene::new(stage);
        let mut places = LayerPlaces::default();
        for error in &stage.errors {
            let file = error
                .layer
                .as_ref()
                .map_or_else(|| stage.entry.clone(), Into::into);
            let element = error.path.clone().unwrap_or_default();
            let is_source = |layer: &Layer| error.layer.as_ref() == Some(&layer.identifier);
            let layer = stage.layers.iter().position(is_source).map(LayerId);
            let found = layer.and_then(|layer| places.of(stage, layer)?.1.at(&element));
            let (line, column) = found.unwrap_or_default();
            let place = Place {
                element,
                line,
                column,
                ..Place::file(file)
            };
            let help = "correct the layer, or put what is missing where it looks for it; the rest of the asset is read";
            scene.push(
                Diagnostic::new(&codes::COMPOSITION, place, error.message.clone()).help(help),
            );
        }
        unselected::report(stage, &scene);
        // A robot that consists of frames alone is accepted too.
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
                    &codes::WHOLE_STAGE,
                    first,
                    None,
                    message,
                    "name the robot's prim as the default prim",
                );
            }
        }
        let links = Links::find(&scene);
        let mut builder = Builder::new(&scene, links);
        builder.posed = robot;
        builder.keeps_state = keeps_state;
        builder.build();
        let Builder {
            robot,
            by_prim,
            assumed,
            masses,
            ..
        } = builder;
        let links = by_prim.prims_of_links(&robot);
        let is_body = ArenaMap::new(robot.links(), |link, _| {
            links[link].is_some_and(|prim| links::is_body(&stage[prim]))
        });
        let info = AssetInfo::of(&scene);
        Ok(Self {
            info,
            diagnostics: scene.into_findings(),
            joints: by_prim.prims_of_joints(&robot),
            robot,
            links,
            is_body,
            assumed,
            masses,
        })
    }
}

/// The links and joints of a robot by prim. The world, and joints that only place a link, have no
/// prim.
#[derive(Default)]
struct ByPrim {
    links: HashMap<PrimId, LinkId>,
    joints: HashMap<PrimId, JointId>,
}

impl ByPrim {
    fn prims_of_links(&self, robot: &Robot) -> ArenaMap<Link, Option<PrimId>> {
        let mut prims = ArenaMap::filled(robot.links(), None);
        for (prim, link) in &self.links {
            prims[*link] = Some(*prim);
        }
        prims
    }

    fn prims_of_joints(&self, robot: &Robot) -> ArenaMap<Joint, Option<PrimId>> {
        let mut prims = ArenaMap::filled(robot.joints(), None);
        for (prim, joint) in &self.joints {
            prims[*joint] = Some(*prim);
        }
        prims
    }
}

/// Returns the error for a stage without a robot, with its reason.
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
    looked_for.push_str(&unselected::hint(stage));
    ReadError::NoRobot {
        path: stage.entry.clone(),
        looked_for,
    }
}

/// The attachment of a body to its parent.
struct Held {
    joint: FoundId,
    /// The parent body; `None` for the world.
    parent: Option<DraftId>,
    /// True if the joint names the moved body first.
    reversed: bool,
}

/// A body connected by a joint.
struct Neighbour {
    body: DraftId,
    joint: FoundId,
    /// True if the joint names this body first.
    reversed: bool,
}

/// Assembles a robot.
struct Builder<'s, 'a> {
    scene: &'s Scene<'a>,
    links: Links,
    found: Rc<Arena<Found>>,
    robot: Robot,
    /// The link that represents the world, if the robot needs one.
    world: Option<LinkId>,
    /// True if bodies that nothing holds float in the world, because their places differ.
    float: bool,
    /// True if the state of joints becomes a named pose.
    keeps_state: bool,
    /// The state of joints, with the prims that have it.
    states: Vec<(JointId, PrimId, f64)>,
    /// The link made from each draft so far.
    ids: ArenaMap<Draft, Option<LinkId>>,
    by_prim: ByPrim,
    assumed: Vec<LinkId>,
    masses: Vec<BodyMass>,
    /// The prim whose named poses are read; `None` to read those of the default prim and all
    /// others.
    posed: Option<PrimId>,
    link_names: UniqueNames,
    joint_names: UniqueNames,
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
        let mut robot = Robot::new(name.unwrap_or_default());
        robot.place = root.map_or_else(Place::default, |root| scene.place(root, None));
        Self {
            scene,
            ids: ArenaMap::filled(&links.drafts, None),
            links,
            found,
            robot,
            world: None,
            float: false,
            keeps_state: false,
            states: Vec::new(),
            by_prim: ByPrim::default(),
            assumed: Vec::new(),
            masses: Vec::new(),
            posed: None,
            link_names: UniqueNames::default(),
            joint_names: UniqueNames::default(),
        }
    }

    fn build(&mut self) {
        let held = self.connect();
        let drawn = shapes::find(self.scene, &self.links);
        let needs_world = self.needs_world(&drawn);
        self.float = self.is_apart(&held, needs_world);
        if needs_world || self.float {
            self.add_world();
        }
        let order = isaac::order(self.scene);
        self.add_links(&order);
        self.add_joints(&held, &order);
        joints::follow(self.scene, &mut self.robot, &self.by_prim.joints);
        let shapes = self.add_shapes(&drawn);
        self.read_what_hangs_on_it();
        // After the shapes: UsdPhysics computes missing masses from colliders.
        self.weigh(&shapes);
        self.keep_custom();
        foreign::report(self.scene);
        tidy::robot(self.scene, &mut self.robot);
        // After `tidy`, because it tidies the poses that it moves by itself.
        self.give_mass_to_frames();
    }

    /// Returns whether the robot needs a link for the world: for joints, geometry or floating
    /// bodies there.
    fn needs_world(&self, drawn: &[Drawn]) -> bool {
        let is_held = |found: &Found| found.ends.iter().any(|end| end.body.is_none());
        self.found.values().any(is_held)
            || self.says_world()
            || drawn.iter().any(|drawn| drawn.owner.is_none())
    }

    /// Returns the bodies that nothing holds, without those that a URDF lets float.
    fn free_bodies(&self, held: &HashMap<DraftId, Held>) -> Vec<DraftId> {
        let links = &self.links;
        let is_free = |(id, draft): &(DraftId, &Draft)| {
            let is_within = draft.above.is_some_and(|above| links.body(above).is_none());
            let floats = self.scene.stage[draft.prim].text("urdf:joint:type") == Some("floating");
            draft.is_body && !is_within && !floats && !held.contains_key(id)
        };
        let free = links.drafts.iter().filter(is_free);
        free.map(|(id, _)| id).collect()
    }

    /// Returns whether bodies that nothing holds have places relative to each other, or to the
    /// world: then they float in the world.
    fn is_apart(&self, held: &HashMap<DraftId, Held>, has_world: bool) -> bool {
        let same = |a: &Pose, b: &Pose| {
            let apart = a.inverse() * b;
            apart.translation.vector.norm() < SAME && apart.rotation.angle() < SAME
        };
        let free = self.free_bodies(held);
        let mut poses = free.iter().map(|body| &self.links.drafts[*body].pose);
        let identity = Pose::identity();
        let first = if has_world {
            Some(&identity)
        } else {
            poses.next()
        };
        first.is_some_and(|first| poses.any(|pose| !same(first, pose)))
    }

    /// Adds a link for each draft. `order`: the positions of prims in the lists of robots.
    fn add_links(&mut self, order: &HashMap<PrimId, usize>) {
        let drafts = &self.links.drafts;
        let place = |draft: DraftId| order.get(&drafts[draft].prim).copied();
        for draft in isaac::arranged(drafts.handles(), place) {
            let prim = self.links.drafts[draft].prim;
            let name = self.link_name(prim);
            self.ids[draft] = self.add_link(name, Some(prim));
        }
    }

    /// Adds the joints that hold bodies and frames, then those that close loops.
    fn add_joints(&mut self, held: &HashMap<DraftId, Held>, order: &HashMap<PrimId, usize>) {
        let found = Rc::clone(&self.found);
        let place = |joint: FoundId| order.get(&found[joint].prim).copied();
        for draft in isaac::arranged(self.links.drafts.handles(), |draft| {
            place(held.get(&draft)?.joint)
        }) {
            match held.get(&draft) {
                Some(how) => self.add_tree_joint(draft, how),
                None => self.place_link(draft, held),
            }
        }
        let used: HashSet<FoundId> = held.values().map(|held| held.joint).collect();
        let loops = found.handles().filter(|joint| !used.contains(joint));
        for joint in isaac::arranged(loops, place) {
            self.add_loop(&found[joint], held);
        }
        for found in found.values() {
            joints::check_assembled(self.scene, &self.links, found);
            joints::report_drives(self.scene, found);
        }
    }

    fn add_shapes(&mut self, drawn: &[Drawn]) -> Shapes<'s, 'a> {
        let mut shapes = Shapes::new(self.scene);
        for drawn in drawn {
            if let Some(link) = self.link(drawn.owner) {
                shapes.add(&mut self.robot, link, drawn);
            }
        }
        shapes
    }

    /// Reads sensors, lights, filtered collision pairs, planning data and named poses.
    fn read_what_hangs_on_it(&mut self) {
        let (world, ids) = (self.world, &self.ids);
        let link = |draft: Option<DraftId>| draft.map_or(world, |draft| ids[draft]);
        sensors::read(self.scene, &self.links, &mut self.robot, link);
        lights::read(self.scene, &self.links, &mut self.robot, link);
        filters::read(self.scene, &self.links, &mut self.robot, link);
        planning::read(self.scene, &mut self.robot, &self.by_prim, self.world);
        isaac::read(self.scene, &mut self.robot, &self.by_prim, self.posed);
        self.robot.about = isaac::about(self.scene, self.posed);
        // Commands for an open stage list the poses that are authored.
        if self.keeps_state {
            joints::pose(self.scene, &mut self.robot, &self.states);
        }
    }

    /// Assigns mass properties to bodies.
    fn weigh(&mut self, shapes: &Shapes<'_, '_>) {
        let Self {
            scene,
            links,
            robot,
            ids,
            assumed,
            masses,
            ..
        } = self;
        let colliders = mass::colliders(links, &shapes.colliders);
        for (id, draft) in links.drafts.iter().filter(|(_, draft)| draft.is_body) {
            let Some(link) = ids[id] else { continue };
            let parts = colliders.get(&id).map_or(&[][..], Vec::as_slice);
            let (inertial, is_assumed) =
                mass::of_body(scene, robot, draft.prim, parts, &shapes.materials);
            if is_assumed {
                assumed.push(link);
            }
            masses.extend(inertial.as_ref().map(|inertial| BodyMass {
                prim: draft.prim,
                inertial: Inertial {
                    origin: draft.pose * inertial.origin,
                    ..inertial.clone()
                },
                is_assumed,
            }));
            robot.link_mut(link).inertial = inertial;
        }
    }

    /// Keeps URDF data that has no equivalent in the model.
    fn keep_custom(&mut self) {
        if let Some(root) = self.scene.stage.default_prim {
            self.robot.custom = custom::of(self.scene, root);
            if let Some(world) = self.world {
                self.robot.link_mut(world).custom = custom::of_world(self.scene, root);
            }
        }
        for (prim, link) in &self.by_prim.links {
            self.robot.link_mut(*link).custom = custom::of(self.scene, *prim);
        }
        for (prim, joint) in &self.by_prim.joints {
            self.robot.joint_mut(*joint).custom = custom::of(self.scene, *prim);
        }
    }

    /// Returns the pose of a link relative to an ancestor, with all joints at zero.
    fn pose_within(&self, link: LinkId, above: LinkId) -> Option<Pose> {
        let (mut at, mut pose) = (link, Pose::identity());
        while at != above {
            let joint = &self.robot.joints()[self.robot.tree().parent_joint(at)?];
            (at, pose) = (joint.parent(), joint.origin * pose);
        }
        Some(pose)
    }

    /// Returns mass from bodies to their frames. The writer gives an empty base the mass of the single
    /// link that is fixed to it ([`Roles::content`](urdf_usd_robot::Roles::content)), and names that
    /// link's frame.
    fn give_mass_to_frames(&mut self) {
        let links = &self.links;
        for (id, draft) in links.drafts.iter().filter(|(_, draft)| draft.is_body) {
            let targets = self.scene.stage[draft.prim].targets(MASS_FRAME);
            let frame = targets.first().and_then(|path| self.scene.stage.at(path));
            let frame = frame
                .and_then(|prim| links.of[prim].filter(|&frame| links.drafts[frame].prim == prim));
            let Some(frame) = frame.filter(|&frame| frame != id && links.body(frame) == Some(id))
            else {
                continue;
            };
            let (Some(body), Some(content)) = (self.ids[id], self.ids[frame]) else {
                continue;
            };
            let to_frame = self
                .pose_within(content, body)
                .unwrap_or(draft.pose.inverse() * links.drafts[frame].pose)
                .inverse();
            if let Some(inertial) = self.robot.link_mut(body).inertial.take() {
                self.robot.link_mut(content).inertial = Some(Inertial {
                    origin: tidy::moved(&inertial.origin, &to_frame),
                    ..inertial
                });
            }
        }
    }

    /// Returns whether the source had a link for the world on which something floats: that link has
    /// no prim, but the asset keeps the attributes of the floating joint.
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
                .values()
                .any(|draft| draft.is_body && floats(draft.prim))
    }

    /// Finds the parent of every body, breadth first from the roots. Joints that close loops hold
    /// nothing.
    fn connect(&self) -> HashMap<DraftId, Held> {
        let mut neighbours: HashMap<DraftId, Vec<Neighbour>> = HashMap::new();
        let (mut starts, mut moved, mut held) = (Vec::new(), HashSet::new(), HashMap::new());
        for (joint, found) in self.found.iter().filter(|(_, found)| !found.is_excluded) {
            match found.ends.map(|end| end.body) {
                [Some(body0), Some(body1)] => {
                    for (from, body, reversed) in [(body0, body1, false), (body1, body0, true)] {
                        neighbours.entry(from).or_default().push(Neighbour {
                            body,
                            joint,
                            reversed,
                        });
                    }
                    moved.insert(body1);
                }
                [None, Some(body)] | [Some(body), None] => {
                    let [first, _] = &found.ends;
                    held.entry(body).or_insert(Held {
                        joint,
                        parent: None,
                        reversed: first.body.is_some(),
                    });
                    starts.push(body);
                }
                [None, None] => {}
            }
        }
        let drafts = &self.links.drafts;
        let bodies: Vec<DraftId> = drafts
            .iter()
            .filter(|(_, draft)| draft.is_body)
            .map(|(id, _)| id)
            .collect();
        let is_base = |body: &&DraftId| {
            let prim = drafts[**body].prim;
            self.scene.stage[prim].has("PhysicsArticulationRootAPI")
                || self.scene.context == Some(prim)
        };
        // Start from bodies held to the world, then from bodies marked as the base, then from
        // bodies that no joint moves; in a ring, from the first body.
        starts.extend(bodies.iter().filter(is_base));
        starts.extend(bodies.iter().filter(|body| !moved.contains(*body)));
        starts.extend(&bodies);
        let mut seen: HashSet<DraftId> = HashSet::new();
        for start in starts {
            if !seen.insert(start) {
                continue;
            }
            // A body gets the parent found first; a later joint to a seen body closes a loop.
            let mut next = VecDeque::from([start]);
            while let Some(body) = next.pop_front() {
                for other in neighbours.get(&body).into_iter().flatten() {
                    // A body held to the world keeps that parent.
                    if !held.contains_key(&other.body) && seen.insert(other.body) {
                        held.insert(
                            other.body,
                            Held {
                                joint: other.joint,
                                parent: Some(body),
                                reversed: other.reversed,
                            },
                        );
                        next.push_back(other.body);
                    }
                }
            }
        }
        held
    }

    /// Returns the link of a draft, or of the world.
    fn link(&self, draft: Option<DraftId>) -> Option<LinkId> {
        draft.map_or(self.world, |draft| self.ids[draft])
    }

    /// Adds the joint that holds a body, and the intermediate link needed if the body's origin is
    /// off the joint's axis.
    fn add_tree_joint(&mut self, draft: DraftId, held: &Held) {
        let all = Rc::clone(&self.found);
        let found = &all[held.joint];
        let (prim, kind) = (found.prim, found.kind);
        let [first, second] = found.ends.map(|end| end.frame);
        let (near, far, direction) = if held.reversed {
            (second, first, -found.axis)
        } else {
            (first, second, found.axis)
        };
        let axis = far.rotation * direction;
        // The frame that contains the body's prim, if it is rigidly attached to the joint's body.
        let links = &self.links;
        let within = links.drafts[draft]
            .above
            .filter(|&above| links.body(above) == held.parent);
        let stands = links.pose(within.or(held.parent)).inverse() * links.drafts[draft].pose;
        let near = within.map_or(near, |within| {
            links.drafts[within].pose.inverse() * links.pose(held.parent) * near
        });
        let (Some(parent), Some(child)) =
            (self.link(within.or(held.parent)), self.link(Some(draft)))
        else {
            return;
        };
        if !found.more.is_empty() {
            let at = near * far.inverse();
            let apart = stands.inverse() * at;
            let is_there =
                apart.translation.vector.norm() < STANDS && apart.rotation.angle() < STANDS;
            let at = if is_there { stands } else { at };
            self.add_chain(found, held.reversed, parent, child, at);
            return;
        }
        let name = self.joint_name(prim, "");
        let has_pivot = joints::needs_pivot(kind, &axis, &far);
        let pivot = has_pivot.then(|| self.add_pivot(child)).flatten();
        let mut joint = Joint::new(name, kind, parent, pivot.unwrap_or(child));
        (joint.axis, joint.place) = (axis, self.scene.place(prim, None));
        joints::fill(self.scene, found, &mut joint);
        let Some(pivot) = pivot else {
            joint.origin = near * far.inverse();
            // Prim transforms have double precision, joint frames single precision.
            let apart = stands.inverse() * joint.origin;
            if apart.translation.vector.norm() < STANDS && apart.rotation.angle() < STANDS {
                joint.origin = stands;
            }
            let id = self.add_joint(joint, Some(prim));
            self.keep_state(id, found);
            return;
        };
        joint.origin = near * far.rotation.inverse();
        let body = self.robot.links()[child].name().to_owned();
        let message = format!(
            "joint {:?} does not turn body {body:?} about its origin: the link {:?} stands on the axis",
            joint.name(),
            self.robot.links()[pivot].name()
        );
        let help = "nothing need be done; the body stays where its prim is";
        self.scene.report(&codes::PIVOT, prim, None, message, help);
        let id = self.add_joint(joint, Some(prim));
        self.keep_state(id, found);
        let to_body = Pose::from_parts((-far.translation.vector).into(), Default::default());
        self.add_fixed(format!("{body}_fixed_joint"), pivot, child, to_body);
    }

    /// Adds a joint with several degrees of freedom: a joint for each, with massless links between
    /// them. `at`: the pose of `child` in `parent` with all of them at zero.
    fn add_chain(
        &mut self,
        found: &Found,
        reversed: bool,
        parent: LinkId,
        child: LinkId,
        at: Pose,
    ) {
        let mut parts: Vec<&Found> = found.all().collect();
        if reversed {
            parts.reverse();
        }
        let connector = if found.is_ball {
            Connector::Ball
        } else {
            Connector::Chain
        };
        let body = self.robot.links()[child].name().to_owned();
        let names: Vec<&str> = parts
            .iter()
            .map(|part| self.scene.stage[part.prim].name())
            .collect();
        let prims: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
        let is_one = parts.iter().all(|part| part.prim == found.prim);
        let message = if is_one {
            let name = names.first().copied().unwrap_or_default();
            let count = parts.len();
            format!(
                "joint {name:?} has {count} degrees of freedom: it is read as a chain of {count} joints to body {body:?}"
            )
        } else {
            format!(
                "joints {} connect the same bodies: they are read as one chain to body {body:?}",
                prims.join(", ")
            )
        };
        let help = "nothing need be done; links without mass are between the joints of the chain";
        self.scene
            .report(&codes::CHAIN, found.prim, None, message, help);
        let (mut above, mut from) = (parent, at);
        let count = parts.len();
        for (index, part) in parts.into_iter().enumerate() {
            let [first, second] = part.ends.map(|end| end.frame);
            let (far, direction) = if reversed {
                (first, -part.axis)
            } else {
                (second, part.axis)
            };
            let axis = far.rotation * direction;
            // Links of the chain have the axes of the body, and an origin on that of their joint.
            let is_off = joints::needs_pivot(part.kind, &axis, &far);
            let point = if is_off {
                far.translation
            } else {
                Pose::identity().translation
            };
            let name = self.joint_name(part.prim, &part.suffix);
            let is_last = index + 1 == count;
            let link = if is_last && !is_off {
                Some(child)
            } else {
                self.add_connector(format!("{name}_link"), connector, part.prim)
            };
            let Some(link) = link else { return };
            let to_point = Pose::from_parts(point, Default::default());
            let mut joint = Joint::new(name, part.kind, above, link);
            (joint.axis, joint.place) = (axis, self.scene.place(part.prim, None));
            joint.origin = from * to_point;
            joints::fill(self.scene, part, &mut joint);
            // A prim with several degrees of freedom is none of the joints.
            let prim = Some(part.prim).filter(|_| part.suffix.is_empty());
            if prim.is_none() && index == 0 {
                joint.custom = custom::of(self.scene, part.prim);
            }
            let id = self.add_joint(joint, prim);
            self.keep_state(id, part);
            (above, from) = (link, to_point.inverse());
        }
        if above != child {
            self.add_fixed(format!("{body}_fixed_joint"), above, child, from);
        }
    }

    /// Adds a link between the joints of a chain, one of which is at `prim`.
    fn add_connector(
        &mut self,
        name: String,
        connector: Connector,
        prim: PrimId,
    ) -> Option<LinkId> {
        let link = self.add_link(name, None)?;
        let added = self.robot.link_mut(link);
        (added.connector, added.place) = (Some(connector), self.scene.place(prim, None));
        Some(link)
    }

    /// Adds the intermediate link on the joint's axis for a body whose origin is off that axis.
    fn add_pivot(&mut self, body: LinkId) -> Option<LinkId> {
        let name = format!("{}_joint_frame", self.robot.links()[body].name());
        self.add_link(name, None)
    }

    /// Attaches a frame to the body it is rigid in. A body that nothing holds is a root, or floats
    /// if the asset has the attributes of a floating joint.
    fn place_link(&mut self, id: DraftId, held: &HashMap<DraftId, Held>) {
        let links = &self.links;
        let draft = &links.drafts[id];
        let (prim, pose, is_body) = (draft.prim, draft.pose, draft.is_body);
        // The parent is the enclosing frame, if that is rigidly attached to the same body.
        let above = draft
            .above
            .filter(|&above| !is_body || links.body(above).is_none());
        let words = &self.scene.stage[prim];
        let floats = is_body && (self.float || words.text("urdf:joint:type") == Some("floating"));
        let on = |draft: DraftId| Some((self.ids[draft]?, links.drafts[draft].pose));
        let parent = match above {
            Some(above) => on(above),
            None if is_body && !floats => None,
            None if self.world.is_some() => self.world.map(|world| (world, Pose::identity())),
            None => {
                // The asset does not say on what it floats: use the first root that does not float
                // itself.
                let floats_too = |draft: &Draft| {
                    self.scene.stage[draft.prim].text("urdf:joint:type") == Some("floating")
                };
                let is_root = |(id, draft): &(DraftId, &Draft)| {
                    draft.above.is_none() && !held.contains_key(id) && !floats_too(draft)
                };
                let root = links.drafts.iter().find(is_root).filter(|_| floats);
                root.and_then(|(id, _)| on(id))
            }
        };
        let Some(child) = self.ids[id] else { return };
        let Some((parent, of_parent)) = parent else {
            if is_body {
                self.place_root(prim, child, &pose);
            }
            return;
        };
        let name = words
            .text("urdf:joint:name")
            .filter(|name| !name.is_empty())
            .map(str::to_owned);
        let name = name.unwrap_or_else(|| format!("{}_joint", self.robot.links()[child].name()));
        let kind = if floats {
            JointKind::Floating
        } else {
            JointKind::Fixed
        };
        let mut joint = Joint::new(self.joint_names.unique(&name), kind, parent, child);
        joint.origin = of_parent.inverse() * pose;
        joint.place = self.scene.place(prim, None);
        joints::words(words, "urdf:joint", &mut joint);
        joint.custom = custom::of_joint(self.scene, prim);
        self.add_joint(joint, None);
    }

    /// Places a root that nothing holds. It is the robot's frame wherever it is in the stage. If
    /// the stage has y up and the root is tilted, its parent becomes a link with z up.
    fn place_root(&mut self, prim: PrimId, link: LinkId, pose: &Pose) {
        let is_tilted = (pose.rotation * Vector3::z() - Vector3::z()).norm() > 1e-6;
        let name = self.robot.links()[link].name().to_owned();
        if is_tilted && !self.scene.stage.is_z_up() {
            // REP-105 name of a robot's base frame, in which z is up. The robot's own name belongs
            // to another frame.
            let Some(base) = self.add_link("base_link".to_owned(), None) else {
                return;
            };
            let turned = Pose::from_parts(Vector3::zeros().into(), pose.rotation);
            self.add_fixed(format!("{name}_joint"), base, link, turned);
            let message = format!(
                "the stage has y up: body {name:?} hangs on the link {:?}, which has z up",
                self.robot.links()[base].name()
            );
            self.scene
                .report(&codes::BASE, prim, None, message, "nothing need be done");
        } else if pose.translation.vector.norm() > SAME || pose.rotation.angle() > SAME {
            let at = pose.translation.vector;
            let message = format!(
                "the base {name:?} stands at ({:.4}, {:.4}, {:.4}) m in the stage and nothing holds it; a robot has no word for that",
                at.x, at.y, at.z
            );
            self.scene.report(
                &codes::BASE,
                prim,
                None,
                message,
                "nothing need be done; place the robot where it is used",
            );
        }
    }

    /// Adds a joint that closes a loop. Its frame in the child becomes a link there.
    fn add_loop(&mut self, found: &Found, held: &HashMap<DraftId, Held>) {
        let prim = found.prim;
        let has_several = !found.more.is_empty();
        let kind = if has_several {
            let message = format!(
                "joint {:?} closes a loop with several degrees of freedom: it is read as floating",
                self.scene.stage[prim].name()
            );
            let help = "close the loop at a joint that turns about one axis";
            self.scene
                .report(&codes::JOINT_KIND, prim, None, message, help);
            JointKind::Floating
        } else {
            found.kind
        };
        let [
            End {
                body: body0,
                frame: near,
            },
            End {
                body: body1,
                frame: far,
            },
        ] = found.ends;
        let (Some(parent), Some(child)) = (self.link(body0), self.link(body1)) else {
            return;
        };
        let axis = far.rotation * found.axis;
        // If nothing else holds the parent to the world, the world would be its child.
        let mut top = body0;
        while let Some(body) = top.filter(|_| body1.is_none()) {
            match held.get(&body) {
                Some(held) => top = held.parent,
                None => break,
            }
        }
        let needs_pivot =
            body1.is_none() && top.is_some() || joints::needs_pivot(kind, &axis, &far);
        // Reuse a frame of the body that is at the joint.
        let (links, ids) = (&self.links, &self.ids);
        let frames = links
            .drafts
            .iter()
            .filter(|(id, draft)| needs_pivot && !draft.is_body && links.body(*id) == body1);
        let there = frames
            .filter_map(|(id, frame)| {
                let far = frame.pose.inverse() * links.drafts[body1?].pose * far;
                Some((ids[id]?, far))
            })
            .find(|(_, far)| far.translation.vector.norm() < 1e-6);
        let (child, far) = there.unwrap_or((child, far));
        let name = self.joint_name(prim, "");
        let pivot = (needs_pivot && there.is_none())
            .then(|| self.add_pivot(child))
            .flatten();
        let mut joint = Joint::new(name, kind, parent, pivot.unwrap_or(child));
        (joint.axis, joint.place) = (far.rotation * found.axis, self.scene.place(prim, None));
        if !has_several {
            joints::fill(self.scene, found, &mut joint);
        }
        joint.origin = if let Some(pivot) = pivot {
            let name = format!("{}_fixed_joint", self.robot.links()[child].name());
            let to_pivot = Pose::from_parts(far.translation, Default::default());
            self.add_fixed(name, child, pivot, to_pivot);
            near * far.rotation.inverse()
        } else {
            near * far.inverse()
        };
        // Added last, so that it cannot change the tree.
        self.add_joint(joint, Some(prim));
    }

    fn add_world(&mut self) {
        self.world = self.add_link(WORLD.to_owned(), None);
        if let (Some(world), Some(root)) = (self.world, self.scene.stage.default_prim) {
            self.robot.link_mut(world).place = self.scene.place(root, None);
        }
    }

    /// Adds a link with this name, numbered if the name is taken. `None`, with a diagnostic, if it
    /// can't be added.
    fn add_link(&mut self, name: String, prim: Option<PrimId>) -> Option<LinkId> {
        let name = self.unique_link(name, prim);
        let mut link = Link::new(name);
        if let Some(prim) = prim {
            link.place = self.scene.place(prim, None);
            link.context = sensors::nested_context(self.scene, prim);
            link.site = isaac::site(&self.scene.stage[prim]);
            link.is_dynamic_frame = self.scene.stage[prim].flag("ros:frame:static") == Some(false);
        }
        let place = link.place.clone();
        match self.robot.add_link(link) {
            Ok(id) => {
                self.by_prim.links.extend(prim.map(|prim| (prim, id)));
                Some(id)
            }
            Err(error) => {
                let message = format!("a link is left out: {error}");
                let help = "give each body and frame a name of its own";
                self.scene
                    .push(Diagnostic::new(&codes::NAME, place, message).help(help));
                None
            }
        }
    }

    /// Keeps the state of a joint of the robot.
    fn keep_state(&mut self, joint: Option<JointId>, found: &Found) {
        let state = joint.zip(joints::state(self.scene, found));
        self.states
            .extend(state.map(|(joint, at)| (joint, found.prim, at)));
    }

    fn add_joint(&mut self, joint: Joint, prim: Option<PrimId>) -> Option<JointId> {
        let (name, place) = (joint.name().to_owned(), joint.place.clone());
        match self.robot.add_joint(joint) {
            Ok(id) => {
                self.by_prim.joints.extend(prim.map(|prim| (prim, id)));
                Some(id)
            }
            Err(error) => {
                let message = format!("joint {name:?} is left out: {error}");
                let help = "give each joint a name of its own";
                self.scene
                    .push(Diagnostic::new(&codes::JOINT, place, message).help(help));
                None
            }
        }
    }

    fn add_fixed(&mut self, name: String, parent: LinkId, child: LinkId, origin: Pose) {
        let name = self.joint_names.unique(&name);
        let mut joint = Joint::new(name, JointKind::Fixed, parent, child);
        joint.origin = origin;
        self.add_joint(joint, None);
    }

    /// Returns the TF frame's name, or the display name, or the prim's name.
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

    /// Returns the ROS name (REP-158 §2.10), or the display name, or the prim's name, followed by
    /// `suffix`.
    fn joint_name(&mut self, id: PrimId, suffix: &str) -> String {
        let prim = &self.scene.stage[id];
        let given = ["ros:joint:name", NAME_OVERRIDE, JOINT_NAME_OVERRIDE]
            .into_iter()
            .find_map(|name| prim.text(name));
        let given = given.filter(|name| !name.is_empty()).map(str::to_owned);
        let name = given
            .or_else(|| display_name(self.scene, id))
            .unwrap_or_else(|| prim.name().to_owned());
        self.joint_names.unique(&format!("{name}{suffix}"))
    }

    fn unique_link(&mut self, name: String, prim: Option<PrimId>) -> String {
        let unique = self.link_names.unique(&name);
        if let Some(prim) = prim.filter(|_| unique != name) {
            let message = format!("two links are called {name:?}; this one becomes {unique:?}");
            self.scene.report(
                &codes::NAME,
                prim,
                None,
                message,
                "give each body and frame a name of its own",
            );
        }
        unique
    }
}

/// Returns the display name of a prim, if it has one.
fn display_name(scene: &Scene<'_>, id: PrimId) -> Option<String> {
    let name = text(scene.stage[id].metadata.get("displayName")?)?;
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests;
