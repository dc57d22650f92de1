//! Named poses of a robot: lists, looks up, stores, deletes and applies them, and exchanges them as
//! JSON.
//!
//! A pose is a [`NamedPose`] of the model. In an asset it is a prim of the type `IsaacNamedPose` in the
//! scope `Named_Poses` of the robot, and listed in `isaac:robot:namedPoses`. The scope `NamedPoses`, in
//! which Isaac Sim 6.0 looks it up, inherits that scope. Poses in either are read.

mod apply;
mod json;
pub mod stored;

use std::collections::HashSet;

pub use apply::{Applied, apply};
pub use json::{Units, export, import};
use nalgebra::{Isometry3, Matrix4, UnitQuaternion, Vector3};
use urdf_usd_diagnostic::{Diagnostic, Place, did_you_mean, nearest};
use urdf_usd_kinematics as kinematics;
use urdf_usd_robot::kinematics::{Model, position_count};
use urdf_usd_robot::{
    ArenaMap, DEFAULT_POSE, Joint, JointId, JointKind, Link, LinkId, NamedPose, Pose, Robot,
};
use urdf_usd_stage::{ArcKind, PrimId, Stage, rigid};
use urdf_usd_usd_author::isaac_schema as names;
use urdf_usd_usd_author::isaac_schema::PoseScope;
use urdf_usd_usd_author::layout::DEFAULT_POSE_PROPERTIES;
use urdf_usd_usd_author::{Attribute, Layer, Relationship};
use urdf_usd_usd_author::{Chain, PosePrim, author_scopes, joints_between};
use urdf_usd_usd_read::{OfStage, ReadError, is_pose_alias, read_stage};

use crate::populate::{Sites, populate, write_list};
use crate::{Error, View, codes, overlay};

/// Maximum number of characters of the name and the group of a pose, which label buttons.
const MAX_NAME_CHARS: usize = 100;
/// Maximum number of poses of an asset.
const MAX_POSES: usize = 1000;

/// Checks the name or group of a pose that is to be stored; `what` is "name" or "group".
///
/// # Errors
/// A sentence that describes the fault.
pub fn check_name(what: &str, name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err(format!("the {what} is empty"));
    }
    let length = name.chars().count();
    if length > MAX_NAME_CHARS {
        return Err(format!(
            "the {what} has {length} characters: use at most {MAX_NAME_CHARS}"
        ));
    }
    if name.chars().any(char::is_control) {
        let message = format!("the {what} has control characters, such as a line break");
        return Err(format!("{message}: use letters, digits, spaces and marks"));
    }
    Ok(())
}

/// A robot of an asset, with its named poses.
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
    /// The findings of reading the robot.
    pub diagnostics: Vec<Diagnostic>,
}

/// Errors of looking up and storing poses.
#[derive(Debug, thiserror::Error)]
pub enum PoseError {
    /// The robot cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The asset does not determine its robot.
    #[error(transparent)]
    Robot(#[from] Error),
    /// No pose has this name.
    #[error("there is no pose {name:?}{}: {help}", group.as_ref().map(|group| format!(" of the group {group:?}")).unwrap_or_default())]
    Unknown {
        /// The name.
        name: String,
        /// The given group.
        group: Option<String>,
        /// Similar or existing names.
        help: String,
    },
    /// Several groups have a pose with this name.
    #[error("several groups have a pose {name:?}: name one of {}", groups.join(", "))]
    Ambiguous {
        /// The name.
        name: String,
        /// The groups.
        groups: Vec<String>,
    },
    /// The pose is invalid.
    #[error("{}", .0.to_sentence())]
    Wrong(Box<Diagnostic>),
}

/// The stored properties of a pose beyond the [`NamedPose`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stored {
    /// The path of the prim; `None` for a pose in other properties of the asset.
    pub prim: Option<String>,
    /// The path of the link at the start of its chain.
    pub start: Option<String>,
    /// The path of the link or site at the end of its chain.
    pub end: Option<String>,
    /// Whether the positions are within the limits.
    pub is_valid: bool,
}

impl<'a> Poses<'a> {
    /// Reads the robot of a stage with its poses. `robot` is the path of its topmost prim, as for
    /// [`View::robot`].
    ///
    /// # Errors
    /// If the stage has no robot.
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

    /// Returns the pose with a name. Without a group, returns the pose without a group, or the only one.
    ///
    /// # Errors
    /// If no pose, or poses of several groups, have the name.
    pub fn get(&self, name: &str, group: Option<&str>) -> Result<&NamedPose, PoseError> {
        let named: Vec<&NamedPose> = self
            .robot
            .named_poses()
            .iter()
            .filter(|pose| pose.name == name)
            .collect();
        let in_group = |group: Option<&str>| {
            named
                .iter()
                .find(|pose| pose.group.as_deref() == group)
                .copied()
        };
        match (in_group(group), &named[..]) {
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

    /// Returns the stored properties of a pose beyond its positions.
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
                is_valid,
            };
        };
        let prim = &self.stage[id];
        Stored {
            prim: Some(prim.path.clone()),
            start: prim.targets(names::POSE_START).first().cloned(),
            end: prim.targets(names::POSE_END).first().cloned(),
            is_valid: prim.flag(names::POSE_VALID).unwrap_or(false),
        }
    }

    /// Returns the prim of a pose.
    pub(crate) fn prim_of(&self, pose: &NamedPose) -> Option<PrimId> {
        // The reader sets the place of each pose to its prim.
        self.stage
            .at(&pose.place.element)
            .filter(|id| self.stage[*id].type_name == names::NAMED_POSE)
    }

    /// Returns the joint with a name, or with the path of its prim.
    ///
    /// # Errors
    /// If no joint has the name, or poses cannot set the joint: it does not have exactly one position,
    /// or follows another joint.
    pub fn joint(&self, name: &str) -> Result<JointId, PoseError> {
        let by_path = self
            .joints
            .iter()
            .find(|(_, prim)| prim.is_some_and(|id| self.stage[id].path == name));
        let found = by_path.map_or_else(
            || kinematics::names::joint(&self.robot, name),
            |(joint, _)| Ok(joint),
        );
        let id = found.map_err(|finding| self.invalid_here(finding))?;
        let joint = &self.robot.joints()[id];
        let why = if joint.mimic().is_some() {
            "it follows another joint"
        } else if position_count(joint.kind()) != 1 {
            "it does not have exactly one position"
        } else if self.joints[id].is_none() {
            "it has no prim"
        } else {
            return Ok(id);
        };
        Err(self.invalid(
            &kinematics::codes::FOLLOWS,
            format!("no pose can set the joint {name:?}: {why}"),
            "leave it out".to_owned(),
        ))
    }

    /// Returns the link with a name, or with the path of its prim.
    ///
    /// # Errors
    /// If no link has the name.
    pub fn link(&self, name: &str) -> Result<LinkId, PoseError> {
        let by_path = self
            .links
            .iter()
            .find(|(_, prim)| prim.is_some_and(|id| self.stage[id].path == name));
        let found = by_path.map_or_else(
            || kinematics::names::link(&self.robot, name),
            |(link, _)| Ok(link),
        );
        found.map_err(|finding| self.invalid_here(finding))
    }

    fn invalid(
        &self,
        code: &'static urdf_usd_diagnostic::Code,
        message: String,
        help: String,
    ) -> PoseError {
        self.invalid_here(Diagnostic::new(code, Place::default(), message).help(help))
    }

    /// Returns a finding about this asset as an error.
    fn invalid_here(&self, finding: Diagnostic) -> PoseError {
        PoseError::Wrong(Box::new(Diagnostic {
            place: Place::file(&self.stage.entry),
            ..finding
        }))
    }

    /// Returns the independent joints of a chain with a single position, from its start to its end,
    /// through the nearest common ancestor of both; empty if they are in different trees.
    pub fn joints_between(&self, start: LinkId, end: LinkId) -> Vec<JointId> {
        let is_settable = |id: &JointId| {
            let joint = &self.robot.joints()[*id];
            position_count(joint.kind()) == 1
                && joint.mimic().is_none()
                && self.joints[*id].is_some()
        };
        let joints = joints_between(&self.robot, start, end).unwrap_or_default();
        joints.into_iter().filter(is_settable).collect()
    }

    /// Returns the finding that a pose has no chain.
    fn no_chain(&self, pose: &NamedPose) -> Diagnostic {
        let message = format!(
            "the pose {:?} sets no joint with a single position and a prim, or joints of several trees",
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

    /// Returns the body that a link is rigidly attached to.
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

    /// Stores poses as `IsaacNamedPose` prims, and lists them in the robot.
    ///
    /// Replaces poses with the same name and group. A robot without `IsaacRobotAPI` becomes one
    /// ([`populate`]). `layer` is the strongest of the stage. Returns the paths of the prims, and
    /// findings: an error for each pose that is not stored, as it sets no joint with a single position,
    /// or joints of several trees. `scopes`: where prims of new poses are.
    pub fn store(
        &self,
        poses: &[NamedPose],
        scopes: PoseScope,
        layer: &mut Layer,
    ) -> (Vec<String>, Vec<Diagnostic>) {
        let view = View::new(self.stage);
        let (mut paths, mut findings): (Vec<String>, Vec<Diagnostic>) = Default::default();
        for pose in poses {
            let checked = self.check(pose, paths.len());
            match checked.and_then(|()| self.store_one(pose, scopes, layer, &mut findings)) {
                Ok(path) => paths.push(path),
                Err(found) => findings.push(found),
            }
        }
        if paths.is_empty() {
            return (paths, findings);
        }
        if !view.is_robot(self.root) {
            findings.extend(
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
        (paths, findings)
    }

    /// Checks the limits for a pose; `stored` is the number of poses that were just stored.
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
            return Err(found(&codes::POSE_COUNT, message).help("delete unused poses"));
        }
        Ok(())
    }

    fn store_one(
        &self,
        pose: &NamedPose,
        scopes: PoseScope,
        layer: &mut Layer,
        findings: &mut Vec<Diagnostic>,
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
                findings.push(
                    Diagnostic::new(
                        &kinematics::codes::OUT_OF_LIMITS,
                        joint.place.clone(),
                        message,
                    )
                    .help("choose a position within the limits"),
                );
            }
        }
        let root = &self.stage[self.root];
        let scope = format!("{}/{}", root.path, scopes.scope());
        let same = self
            .robot
            .named_poses()
            .iter()
            .find(|other| (&other.name, &other.group) == (&pose.name, &pose.group));
        let existing = same
            .and_then(|same| self.prim_of(same))
            .filter(|id| overlay::can_author(self.stage, *id));
        // A pose that Isaac Sim replaced in its scope is stored in the other again.
        let inherited = existing
            .filter(|id| self.stage[*id].path.contains(names::SIM_NAMED_POSES))
            .and_then(|id| names::other_pose_path(&self.stage[id].path))
            .and_then(|path| self.stage.at(&path));
        if let (Some(id), Some(_)) = (existing, inherited) {
            layer.remove(&self.stage[id].path);
        }
        let existing = inherited.or(existing);
        let path = existing.map_or_else(
            || format!("{scope}/{}", self.free_name(&scope, pose, layer)),
            |id| self.stage[id].path.clone(),
        );
        if self.stage.at(&scope).is_none() || scopes == PoseScope::Both && !self.is_linked(&scope) {
            author_scopes(layer, &root.path, scopes);
        }
        let prim =
            |id: Option<PrimId>| id.map(|id| self.stage[id].path.clone()).unwrap_or_default();
        let meters_per_unit = self.stage.meters_per_unit();
        let values = chain.joints.iter().map(|(joint, value)| {
            let is_slide = self.robot.joints()[*joint].kind() == JointKind::Prismatic;
            if is_slide {
                (value / meters_per_unit) as f32
            } else {
                value.to_degrees() as f32
            }
        });
        let exists = self.stage.at(&path).is_some();
        PosePrim {
            name: &pose.name,
            // An empty group overrides the group of a weaker layer.
            group: pose.group.as_deref().or(exists.then_some("")),
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
                .map(|(joint, _)| pose.fixed.contains(joint))
                .collect(),
            is_valid: chain.is_valid(&self.robot),
            end_at: self.end_at(pose, [chain.start, chain.end]),
        }
        .author(layer, &path);
        if exists {
            layer.over(&path).active(true).display_name(&pose.name);
        }
        Ok(path)
    }

    /// Returns whether the scope of Isaac Sim inherits the scope of poses at `path`.
    fn is_linked(&self, path: &str) -> bool {
        let root = &self.stage[self.root].path;
        let sim = self.stage.at(&format!("{root}/{}", names::SIM_NAMED_POSES));
        // The paths of an arc are those of its layer, which may differ across references.
        let name = path.rsplit('/').next();
        sim.is_some_and(|id| {
            let mut arcs = self.stage[id].arcs.iter();
            arcs.any(|arc| arc.kind == ArcKind::Inherit && arc.prim.rsplit('/').next() == name)
        })
    }

    /// Returns an unused prim name in the scope of poses.
    fn free_name(&self, scope: &str, pose: &NamedPose, layer: &Layer) -> String {
        let children = self
            .stage
            .at(scope)
            .map_or(&[][..], |id| self.stage[id].children.as_slice());
        // An inactive prim of a deleted pose can be reused.
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
            // A name in the layer but not in the stage belongs to a pose that was just stored.
            if !layer.has(&format!("{scope}/{name}"))
                || self.stage.at(&format!("{scope}/{name}")).is_some()
            {
                return name;
            }
            reserved.push(name);
        }
    }

    /// Deletes a pose. `layer` is the strongest of the stage; prims of weaker layers are made inactive.
    /// Returns the paths of the prims.
    pub fn delete(&self, pose: &NamedPose, layer: &mut Layer) -> Vec<String> {
        let view = View::new(self.stage);
        let root = &self.stage[self.root];
        let [joints, positions] = DEFAULT_POSE_PROPERTIES;
        // The default pose may be stored in both forms.
        if pose.name == DEFAULT_POSE && pose.group.is_none() && root.value(positions).is_some() {
            let blocked = Attribute::blocked("double[]").uniform().custom();
            let none: [String; 0] = [];
            layer
                .over(&root.path)
                .relationship(joints, Relationship::to(none).custom())
                .attribute(positions, blocked);
        }
        let Some(id) = self.prim_of(pose) else {
            return Vec::new();
        };
        // A prim that Isaac Sim stored in its scope would return in place of the deleted one.
        let other = names::other_pose_path(&self.stage[id].path)
            .and_then(|path| self.stage.at(&path))
            .filter(|id| !is_pose_alias(&self.stage[*id]));
        let mut paths = Vec::new();
        for prim in [Some(id), other]
            .into_iter()
            .flatten()
            .map(|id| &self.stage[id])
        {
            let path = prim.path.as_str();
            let is_only_here = prim
                .sites
                .iter()
                .all(|site| self.is_edited_layer(site.layer, layer, path));
            layer.remove(path);
            if !is_only_here {
                layer.over(path).active(false);
            }
            paths.push(path);
            paths.extend(names::other_pose_path(path).as_deref().and_then(|other| {
                let id = self.stage.at(other)?;
                Some(self.stage[id].path.as_str())
            }));
        }
        let list: Vec<String> = root
            .targets(names::ROBOT_POSES)
            .iter()
            .filter(|target| !paths.contains(&target.as_str()))
            .cloned()
            .collect();
        write_list(&view, self.root, names::ROBOT_POSES, &list, layer);
        paths.into_iter().map(str::to_owned).collect()
    }

    /// Whether a layer of the stage is the edited one: the first below the entry.
    fn is_edited_layer(&self, id: urdf_usd_stage::LayerId, layer: &Layer, path: &str) -> bool {
        id.0 == 1 && layer.has(path)
    }

    /// Returns the pose of the end of a chain in the robot's prim, in the units and axes of the stage.
    ///
    /// If the end is not below the start, the start stays where it is at rest, as in Isaac's inverse
    /// kinematics: joints on the way up from it move the rest of the robot.
    pub(crate) fn end_at(&self, pose: &NamedPose, [start, end]: [LinkId; 2]) -> Pose {
        let model = Model::of(&self.robot);
        let placed = |pose| Placed::of(self, model.poses(&self.robot.positions(&model, pose)));
        let (rest, posed) = (placed(None), placed(Some(pose)));
        if self.robot.tree().is_below(end, start) {
            return self.in_robot(&posed.in_stage(self, end));
        }
        let in_start = posed.in_stage(self, start).inverse() * posed.in_stage(self, end);
        self.in_robot(&(rest.in_stage(self, start) * in_start))
    }

    /// Returns a pose in the world of the stage relative to the robot's prim.
    fn in_robot(&self, in_stage: &Pose) -> Pose {
        let within = self
            .stage
            .world(self.root)
            .try_inverse()
            .unwrap_or_else(Matrix4::identity)
            * in_stage.to_homogeneous();
        rigid(&within).map_or_else(Pose::identity, |(pose, _)| pose)
    }
}

/// The poses of the links of a robot in the stage, for some joint positions.
struct Placed {
    /// The pose of each link relative to its root link, in metres with z up.
    poses: ArenaMap<Link, Pose>,
    /// The rotation from z up to the axes of the stage.
    turn: UnitQuaternion<f64>,
    /// Metres per unit of length.
    meters_per_unit: f64,
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
            meters_per_unit: robot.stage.meters_per_unit(),
        }
    }

    /// Returns the frame of a link in its parent link, in the units of the stage.
    fn in_parent(&self, parent: LinkId, link: LinkId) -> Pose {
        let relative = self.poses[parent].inverse() * self.poses[link];
        Isometry3::from_parts(
            (relative.translation.vector / self.meters_per_unit).into(),
            relative.rotation,
        )
    }

    /// Returns the frame of a link in the world of the stage.
    ///
    /// It is computed relative to the topmost fixed link with a prim, whose pose is that of the stage.
    fn in_stage(&self, robot: &Poses<'_>, link: LinkId) -> Pose {
        let above = |link: LinkId| {
            let joint = robot.robot.tree().parent_joint(link)?;
            Some(&robot.robot.joints()[joint])
        };
        let mut path: Vec<LinkId> =
            std::iter::successors(Some(link), |&link| above(link).map(Joint::parent)).collect();
        path.reverse();
        let is_fixed_link =
            |link: &LinkId| above(*link).is_none_or(|joint| joint.kind() == JointKind::Fixed);
        let fixed_link = path
            .into_iter()
            .take_while(is_fixed_link)
            .find(|link| robot.links[*link].is_some());
        let reference = fixed_link.and_then(|fixed_link| {
            let prim = robot.links[fixed_link]?;
            Some((self.poses[fixed_link], rigid(&robot.stage.world(prim))?.0))
        });
        match reference {
            Some((root, in_stage)) => {
                let relative = root.inverse() * self.poses[link];
                in_stage
                    * Isometry3::from_parts(
                        (relative.translation.vector / self.meters_per_unit).into(),
                        relative.rotation,
                    )
            }
            // The chain is attached to the world by a joint that moves.
            None => {
                let pose = self.poses[link];
                let point = self.turn * (pose.translation.vector / self.meters_per_unit);
                Isometry3::from_parts(point.into(), self.turn * pose.rotation)
            }
        }
    }
}
