//! Named poses of a robot as data: listed, looked up, stored, deleted, applied, and exchanged as
//! JSON.
//!
//! A pose is a [`NamedPose`] of the model, wherever it is from; on an asset it is a prim of the
//! type `IsaacNamedPose` in the scope `Named_Poses` of the robot, listed by
//! `isaac:robot:namedPoses`.

mod apply;
mod json;
pub mod stored;

use std::collections::{HashMap, HashSet};

pub use apply::{Applied, apply};
pub use json::{Units, export, import};
use nalgebra::{Isometry3, Matrix4, UnitQuaternion, Vector3};
use urdf_usd_diagnostic::{Diagnostic, Place, did_you_mean, nearest};
use urdf_usd_kinematics as kinematics;
use urdf_usd_robot::kinematics::{Model, position_count};
use urdf_usd_robot::{
    ArenaMap, DEFAULT_POSE, Joint, JointId, JointKind, Link, LinkId, NamedPose, Pose, Robot,
};
use urdf_usd_stage::{PrimId, Stage, Value, rigid};
use urdf_usd_usd_author::isaac_schema as names;
use urdf_usd_usd_author::layout::DEFAULT_POSE_PROPERTIES;
use urdf_usd_usd_author::{Attribute, Layer, Relationship};
use urdf_usd_usd_author::{Chain, PosePrim};
use urdf_usd_usd_read::{OfStage, ReadError, read_stage};

use crate::populate::{Sites, populate, write_list};
use crate::{Error, View, codes, overlay};

/// Maximum number of characters of a pose's name, and of its group: they are shown on buttons.
const MAX_NAME: usize = 100;
/// Maximum number of poses of an asset.
const MAX_POSES: usize = 1000;

/// Checks the name or group of a pose that is to be stored; `what` it is.
///
/// # Errors
/// What is wrong with it, in a sentence.
pub fn check_name(what: &str, name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err(format!("the {what} is empty"));
    }
    let length = name.chars().count();
    if length > MAX_NAME {
        return Err(format!(
            "the {what} has {length} characters: use {MAX_NAME} at most"
        ));
    }
    if name.chars().any(char::is_control) {
        let message = format!("the {what} has control characters, such as a line break");
        return Err(format!("{message}: use letters, digits, spaces and marks"));
    }
    Ok(())
}

/// A pose, and those of its joints that inverse kinematics leaves alone.
pub type WithFixed = (NamedPose, Vec<JointId>);

/// The named poses of an asset, with the robot that they are of.
#[derive(Debug)]
pub struct Poses<'a> {
    stage: &'a Stage,
    /// The robot; [`Robot::named_poses`] are its poses.
    pub robot: Robot,
    /// The robot's topmost prim.
    root: PrimId,
    links: ArenaMap<Link, Option<PrimId>>,
    joints: ArenaMap<Joint, Option<PrimId>>,
    is_body: ArenaMap<Link, bool>,
    /// What was found while the robot was read.
    pub diagnostics: Vec<Diagnostic>,
}

/// Why a pose can't be had.
#[derive(Debug, thiserror::Error)]
pub enum PoseError {
    /// The robot can't be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It can't be told which prim is the robot.
    #[error(transparent)]
    Robot(#[from] Error),
    /// There is no pose of that name.
    #[error("there is no pose {name:?}{}: {help}", group.as_ref().map(|group| format!(" of the group {group:?}")).unwrap_or_default())]
    Unknown {
        /// The name.
        name: String,
        /// The group, if one was given.
        group: Option<String>,
        /// What there is.
        help: String,
    },
    /// Several groups have a pose of that name.
    #[error("several groups have a pose {name:?}: name one of {}", groups.join(", "))]
    Ambiguous {
        /// The name.
        name: String,
        /// The groups.
        groups: Vec<String>,
    },
    /// A pose can't be stored as it is.
    #[error("{}", .0.to_sentence())]
    Wrong(Box<Diagnostic>),
}

/// What a prim of a pose says beyond the [`NamedPose`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stored {
    /// The prim; `None`: the asset has the pose in other words.
    pub prim: Option<String>,
    /// The link that its chain begins with, by its path.
    pub start: Option<String>,
    /// The link or site that it ends with, by its path.
    pub end: Option<String>,
    /// The joints that inverse kinematics leaves alone, by their numbers in the robot.
    pub fixed: Vec<JointId>,
    /// Whether the positions are allowed.
    pub is_valid: bool,
}

impl<'a> Poses<'a> {
    /// Reads the robot of a stage with its poses. `robot`: the path of its topmost prim, as
    /// [`View::robot`] takes it.
    ///
    /// # Errors
    /// If it has no robot.
    pub fn of(stage: &'a Stage, robot: Option<&str>) -> Result<Self, PoseError> {
        let root = View::new(stage).robot(robot)?;
        let OfStage {
            robot,
            links,
            joints,
            is_body,
            diagnostics,
        } = read_stage(stage, robot.map(|_| root))?;
        Ok(Self {
            stage,
            robot,
            root,
            links,
            joints,
            is_body,
            diagnostics,
        })
    }

    /// The pose of this name. Without a group, the one that is of none, or the only one.
    ///
    /// # Errors
    /// If there is none, or several groups have one.
    pub fn get(&self, name: &str, group: Option<&str>) -> Result<&NamedPose, PoseError> {
        let named: Vec<&NamedPose> = self
            .robot
            .named_poses()
            .iter()
            .filter(|pose| pose.name == name)
            .collect();
        let of = |group: Option<&str>| {
            named
                .iter()
                .find(|pose| pose.group.as_deref() == group)
                .copied()
        };
        match (of(group), &named[..]) {
            (Some(pose), _) => Ok(pose),
            (None, [pose]) if group.is_none() => Ok(pose),
            (None, [_, _, ..]) if group.is_none() => Err(PoseError::Ambiguous {
                name: name.to_owned(),
                groups: named.iter().filter_map(|pose| pose.group.clone()).collect(),
            }),
            _ => {
                let all = || {
                    self.robot
                        .named_poses()
                        .iter()
                        .map(|pose| pose.name.as_str())
                };
                let near = nearest(name, all().filter(|other| *other != name));
                let help = did_you_mean(near).unwrap_or_else(|| match all().next() {
                    Some(_) => format!("the asset has {}", all().collect::<Vec<_>>().join(", ")),
                    None => "the asset has none".to_owned(),
                });
                Err(PoseError::Unknown {
                    name: name.to_owned(),
                    group: group.map(str::to_owned),
                    help,
                })
            }
        }
    }

    /// What the asset says of a pose beside its positions.
    pub fn stored(&self, pose: &NamedPose) -> Stored {
        let id = self.prim_of(pose);
        let link = |link: LinkId| Some(self.stage[self.links[link]?].path.clone());
        let Some(id) = id else {
            let chain = self.chain(pose);
            let is_valid = chain
                .as_ref()
                .is_some_and(|chain| chain.is_valid(&self.robot));
            let (start, end) =
                chain.map_or((None, None), |chain| (link(chain.start), link(chain.end)));
            return Stored {
                prim: None,
                start,
                end,
                fixed: Vec::new(),
                is_valid,
            };
        };
        let prim = &self.stage[id];
        let flags = match prim.value(names::POSE_FIXED) {
            Some(Value::BoolVec(flags)) => flags.as_slice(),
            _ => &[],
        };
        let by_prim: HashMap<PrimId, JointId> = self
            .joints
            .iter()
            .filter_map(|(joint, prim)| Some(((*prim)?, joint)))
            .collect();
        let fixed = prim
            .targets(names::POSE_JOINTS)
            .iter()
            .zip(flags)
            .filter(|(_, is_fixed)| **is_fixed);
        let fixed = fixed.filter_map(|(path, _)| by_prim.get(&self.stage.at(path)?).copied());
        Stored {
            prim: Some(prim.path.clone()),
            start: prim.targets(names::POSE_START).first().cloned(),
            end: prim.targets(names::POSE_END).first().cloned(),
            fixed: fixed.collect(),
            is_valid: prim.flag(names::POSE_VALID).unwrap_or(false),
        }
    }

    /// The prim of a pose.
    fn prim_of(&self, pose: &NamedPose) -> Option<PrimId> {
        // The reader gives each pose the place of its prim.
        self.stage
            .at(&pose.place.element)
            .filter(|id| self.stage[*id].type_name == names::NAMED_POSE)
    }

    /// The joint of a name: the robot's, or the path of its prim.
    ///
    /// # Errors
    /// If there is none, or it is one that no pose can set: without exactly one position, or one
    /// that follows another.
    pub fn joint(&self, name: &str) -> Result<JointId, PoseError> {
        let by_path = self
            .joints
            .iter()
            .find(|(_, prim)| prim.is_some_and(|id| self.stage[id].path == name));
        let found = by_path.map_or_else(
            || kinematics::names::joint(&self.robot, name),
            |(joint, _)| Ok(joint),
        );
        let id = found.map_err(|wrong| self.here(wrong))?;
        let joint = &self.robot.joints()[id];
        let why = if joint.mimic().is_some() {
            "it follows another joint"
        } else if position_count(joint.kind()) != 1 {
            "it has not exactly one position"
        } else if self.joints[id].is_none() {
            "it has no prim"
        } else {
            return Ok(id);
        };
        Err(self.wrong(
            &kinematics::codes::FOLLOWS,
            format!("no pose can set the joint {name:?}: {why}"),
            "leave it out".to_owned(),
        ))
    }

    /// The link of a name: the robot's, or the path of its prim.
    ///
    /// # Errors
    /// If there is none.
    pub fn link(&self, name: &str) -> Result<LinkId, PoseError> {
        let by_path = self
            .links
            .iter()
            .find(|(_, prim)| prim.is_some_and(|id| self.stage[id].path == name));
        let found = by_path.map_or_else(
            || kinematics::names::link(&self.robot, name),
            |(link, _)| Ok(link),
        );
        found.map_err(|wrong| self.here(wrong))
    }

    fn wrong(
        &self,
        code: &'static urdf_usd_diagnostic::Code,
        message: String,
        help: String,
    ) -> PoseError {
        self.here(Diagnostic::new(code, Place::default(), message).help(help))
    }

    /// What is wrong with this asset.
    fn here(&self, wrong: Diagnostic) -> PoseError {
        PoseError::Wrong(Box::new(Diagnostic {
            place: Place::file(&self.stage.entry),
            ..wrong
        }))
    }

    /// The joints of a chain that have a position of their own, from its start outwards; none if
    /// its end does not hang on its start.
    pub fn joints_between(&self, start: LinkId, end: LinkId) -> Vec<JointId> {
        let (mut at, mut joints) = (end, Vec::new());
        while at != start {
            let Some(id) = self.robot.tree().parent_joint(at) else {
                return Vec::new();
            };
            let joint = &self.robot.joints()[id];
            if position_count(joint.kind()) == 1
                && joint.mimic().is_none()
                && self.joints[id].is_some()
            {
                joints.push(id);
            }
            at = joint.parent();
        }
        joints.reverse();
        joints
    }

    /// That a pose has no chain.
    fn no_chain(&self, pose: &NamedPose) -> Diagnostic {
        let message = format!(
            "the pose {:?} sets no joint that has one position and a prim, or joints of several trees",
            pose.name
        );
        let help = "set joints of one tree of the robot";
        Diagnostic::new(&codes::NO_CHAIN, Place::file(&self.stage.entry), message).help(help)
    }

    fn chain(&self, pose: &NamedPose) -> Option<Chain> {
        let has_prim = |joint: JointId| self.joints[joint].is_some();
        let chain = Chain::of(&self.robot, pose, &has_prim, &|link| self.body_of(link))?;
        chain.between(&self.robot, &|link| self.links[link].is_some())
    }

    /// The body that a link is rigid in.
    fn body_of(&self, link: LinkId) -> Option<LinkId> {
        let mut at = link;
        while !self.is_body[at] {
            let joint = &self.robot.joints()[self.robot.tree().parent_joint(at)?];
            if joint.kind() != JointKind::Fixed {
                return None;
            }
            at = joint.parent();
        }
        Some(at)
    }

    /// Stores poses under their names and groups, in place of those that are there: prims
    /// `IsaacNamedPose`, listed by the robot; each with the joints that inverse kinematics leaves
    /// alone. A robot without `IsaacRobotAPI` becomes one ([`populate`]). `layer` is the strongest
    /// of the stage. Gives the paths of the prims, and what is to be told: an error for each pose
    /// that sets no joint of one position, or joints of several trees, and is not stored.
    pub fn store(&self, poses: &[WithFixed], layer: &mut Layer) -> (Vec<String>, Vec<Diagnostic>) {
        let view = View::new(self.stage);
        let (mut paths, mut told): (Vec<String>, Vec<Diagnostic>) = Default::default();
        for (pose, fixed) in poses {
            let checked = self.check(pose, paths.len());
            match checked.and_then(|()| self.store_one(pose, fixed, layer, &mut told)) {
                Ok(path) => paths.push(path),
                Err(found) => told.push(found),
            }
        }
        if paths.is_empty() {
            return (paths, told);
        }
        if !view.is_robot(self.root) {
            told.extend(
                populate(
                    &view,
                    self.root,
                    Sites {
                        detect: false,
                        last: false,
                    },
                    layer,
                )
                .diagnostics,
            );
        }
        let mut list: Vec<String> = self.stage[self.root].targets(names::ROBOT_POSES).to_vec();
        list.extend(paths.iter().cloned());
        let mut seen = HashSet::new();
        list.retain(|path| seen.insert(path.clone()));
        write_list(&view, self.root, names::ROBOT_POSES, &list, layer);
        (paths, told)
    }

    /// Checks what is bounded of a pose; `stored`: how many were stored just now.
    fn check(&self, pose: &NamedPose, stored: usize) -> Result<(), Diagnostic> {
        let found =
            |code, message: String| Diagnostic::new(code, Place::file(&self.stage.entry), message);
        let named = check_name("name", &pose.name).and_then(|()| {
            pose.group
                .as_ref()
                .map_or(Ok(()), |group| check_name("group", group))
        });
        named.map_err(|message| {
            found(
                &codes::POSE_NAME,
                format!("a pose is not stored: {message}"),
            )
            .help("choose another one")
        })?;
        let known = self.robot.named_poses();
        let is_known = known
            .iter()
            .any(|other| (&other.name, &other.group) == (&pose.name, &pose.group));
        if !is_known && known.len() + stored >= MAX_POSES {
            let message = format!(
                "the pose {:?} is not stored: the asset would have more than {MAX_POSES} poses",
                pose.name
            );
            return Err(found(&codes::POSE_COUNT, message).help("delete poses that nobody uses"));
        }
        Ok(())
    }

    fn store_one(
        &self,
        pose: &NamedPose,
        fixed: &[JointId],
        layer: &mut Layer,
        told: &mut Vec<Diagnostic>,
    ) -> Result<String, Diagnostic> {
        let chain = self.chain(pose).ok_or_else(|| self.no_chain(pose))?;
        for (joint, value) in &chain.joints {
            let joint = &self.robot.joints()[*joint];
            let bounds = joint.bounds();
            if !bounds.contains(*value) {
                let unit = if joint.kind() == JointKind::Prismatic {
                    "m"
                } else {
                    "rad"
                };
                let message = format!(
                    "the pose {:?} sets joint {:?} to {value} {unit}, outside its limits {} to {} {unit}",
                    pose.name,
                    joint.name(),
                    bounds.lower(),
                    bounds.upper()
                );
                told.push(
                    Diagnostic::new(
                        &kinematics::codes::OUT_OF_LIMITS,
                        joint.place.clone(),
                        message,
                    )
                    .help("choose a position within them"),
                );
            }
        }
        let root = &self.stage[self.root];
        let scope = format!("{}/{}", root.path, names::NAMED_POSES);
        let same = self
            .robot
            .named_poses()
            .iter()
            .find(|other| (&other.name, &other.group) == (&pose.name, &pose.group));
        let there = same
            .and_then(|same| self.prim_of(same))
            .filter(|id| overlay::can_author(self.stage, *id));
        let path = there.map_or_else(
            || format!("{scope}/{}", self.free_name(&scope, pose, layer)),
            |id| self.stage[id].path.clone(),
        );
        if self.stage.at(&scope).is_none() && !layer.has(&scope) {
            layer.def(&scope, "Scope");
        }
        let prim =
            |id: Option<PrimId>| id.map(|id| self.stage[id].path.clone()).unwrap_or_default();
        let metre = self.stage.meters_per_unit();
        let values = chain.joints.iter().map(|(joint, value)| {
            let is_slide = self.robot.joints()[*joint].kind() == JointKind::Prismatic;
            if is_slide {
                (value / metre) as f32
            } else {
                value.to_degrees() as f32
            }
        });
        let is_there = self.stage.at(&path).is_some();
        PosePrim {
            name: &pose.name,
            // What a weaker layer says would stay otherwise.
            group: pose.group.as_deref().or(is_there.then_some("")),
            start: prim(self.links[chain.start]),
            end: prim(self.links[chain.end]),
            joints: chain
                .joints
                .iter()
                .map(|(joint, _)| prim(self.joints[*joint]))
                .collect(),
            values: values.collect(),
            fixed: chain
                .joints
                .iter()
                .map(|(joint, _)| fixed.contains(joint))
                .collect(),
            is_valid: chain.is_valid(&self.robot),
            end_at: self.end_at(pose, chain.end),
        }
        .author(layer, &path);
        if is_there {
            layer.over(&path).active(true).display_name(&pose.name);
        }
        Ok(path)
    }

    /// A name in the scope of poses that no other pose has.
    fn free_name(&self, scope: &str, pose: &NamedPose, layer: &Layer) -> String {
        let children = self
            .stage
            .at(scope)
            .map_or(&[][..], |id| self.stage[id].children.as_slice());
        // A pose that was deleted left its name to the next of that name.
        let taken: Vec<&str> = children
            .iter()
            .filter(|id| self.stage[**id].is_active)
            .map(|id| self.stage[*id].name())
            .collect();
        let mut reserved: Vec<String> = taken.into_iter().map(str::to_owned).collect();
        loop {
            let held: Vec<&str> = reserved.iter().map(String::as_str).collect();
            let name = urdf_usd_robot::names::identifiers(&[&pose.name], "pose", &held)
                .pop()
                .unwrap_or_default();
            // One that was stored just now, into the same layer.
            if !layer.has(&format!("{scope}/{name}"))
                || self.stage.at(&format!("{scope}/{name}")).is_some()
            {
                return name;
            }
            reserved.push(name);
        }
    }

    /// Takes a pose off the asset. `layer` is the strongest of the stage: a prim that stands in
    /// another is made inactive.
    pub fn delete(&self, pose: &NamedPose, layer: &mut Layer) {
        let view = View::new(self.stage);
        let root = &self.stage[self.root];
        let [joints, positions] = DEFAULT_POSE_PROPERTIES;
        // It may be there in both words.
        if pose.name == DEFAULT_POSE && pose.group.is_none() && root.value(positions).is_some() {
            let blocked = Attribute::blocked("double[]").uniform().custom();
            let none: [String; 0] = [];
            layer
                .over(&root.path)
                .relationship(joints, Relationship::to(none).custom())
                .attribute(positions, blocked);
        }
        let Some(id) = self.prim_of(pose) else { return };
        let path = self.stage[id].path.clone();
        let is_only_here = self.stage[id]
            .sites
            .iter()
            .all(|site| self.is_of_overlay(site.layer, layer, &path));
        layer.remove(&path);
        if !is_only_here {
            layer.over(&path).active(false);
        }
        let list: Vec<String> = root
            .targets(names::ROBOT_POSES)
            .iter()
            .filter(|target| **target != path)
            .cloned()
            .collect();
        write_list(&view, self.root, names::ROBOT_POSES, &list, layer);
    }

    /// Whether a layer of the stage is the one that is edited: the first below the entry.
    fn is_of_overlay(&self, id: urdf_usd_stage::LayerId, layer: &Layer, path: &str) -> bool {
        id.0 == 1 && layer.has(path)
    }

    /// Where a link is in the robot's prim in a pose, in the stage's units and axes.
    fn end_at(&self, pose: &NamedPose, link: LinkId) -> Pose {
        let model = Model::of(&self.robot);
        let placed = Placed::of(self, model.poses(&self.robot.positions(&model, Some(pose))));
        let in_stage = placed.in_stage(self, link);
        let within = self
            .stage
            .world(self.root)
            .try_inverse()
            .unwrap_or_else(Matrix4::identity)
            * in_stage.to_homogeneous();
        rigid(&within).map_or_else(Pose::identity, |(pose, _)| pose)
    }
}

/// Where the links of a robot are in the stage for some positions.
struct Placed {
    /// The pose of each link in its root.
    poses: ArenaMap<Link, Pose>,
    /// From metres with z up to the stage's axes.
    turn: UnitQuaternion<f64>,
    /// Metres in a unit of length.
    metre: f64,
}

impl Placed {
    fn of(robot: &Poses<'_>, poses: Vec<Pose>) -> Self {
        let quarter =
            || UnitQuaternion::from_axis_angle(&Vector3::x_axis(), -std::f64::consts::FRAC_PI_2);
        let turn = if robot.stage.is_z_up() {
            UnitQuaternion::identity()
        } else {
            quarter()
        };
        let mut poses = poses.into_iter();
        Self {
            poses: ArenaMap::new(robot.robot.links(), |_, _| {
                poses.next().unwrap_or_else(Pose::identity)
            }),
            turn,
            metre: robot.stage.meters_per_unit(),
        }
    }

    /// A link's frame in the stage's world: it moves against the topmost link that stands still and
    /// has a prim, and that is where the stage has it.
    fn in_stage(&self, robot: &Poses<'_>, link: LinkId) -> Pose {
        let above = |link: LinkId| {
            let joint = robot.robot.tree().parent_joint(link)?;
            Some(&robot.robot.joints()[joint])
        };
        let mut path: Vec<LinkId> =
            std::iter::successors(Some(link), |&link| above(link).map(Joint::parent)).collect();
        path.reverse();
        let is_still =
            |link: &LinkId| above(*link).is_none_or(|joint| joint.kind() == JointKind::Fixed);
        let still = path
            .into_iter()
            .take_while(is_still)
            .find(|link| robot.links[*link].is_some());
        let stands = still.and_then(|still| {
            let prim = robot.links[still]?;
            Some((self.poses[still], rigid(&robot.stage.world(prim))?.0))
        });
        match stands {
            Some((root, in_stage)) => {
                let apart = root.inverse() * self.poses[link];
                in_stage
                    * Isometry3::from_parts(
                        (apart.translation.vector / self.metre).into(),
                        apart.rotation,
                    )
            }
            // It hangs on the world by a joint that moves.
            None => {
                let pose = self.poses[link];
                let point = self.turn * (pose.translation.vector / self.metre);
                Isometry3::from_parts(point.into(), self.turn * pose.rotation)
            }
        }
    }
}
