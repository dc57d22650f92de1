//! Writes constraints outside the tree, actuators, and named poses.

use std::collections::{BTreeMap, BTreeSet};

use super::bodies::{Bodies, Motion, range};
use super::{Writer, codes};
use urdf_usd_robot::names::UniqueNames;
use urdf_usd_robot::{
    Actuator, Command, Connector, Joint, JointId, JointKind, LinkId, MIMIC_SOLIMP, MIMIC_SOLREF,
    Mimic, NamedPose, Pose, kinematics,
};
use urdf_usd_text::xml::{Attributes, number, numbers};

/// Distance between the two points of an axis that are connected, in metres.
const AXIS_POINT_DISTANCE: f64 = 0.1;

impl Writer<'_> {
    /// Writes the sites on a link at which loops close.
    pub(super) fn loop_sites(&mut self, link: LinkId) {
        let robot = self.robot;
        for joint in robot
            .joints()
            .values()
            .filter(|joint| joint.closes_loop() && can_close_loop(joint.kind()))
        {
            for (end, frame, is_this) in [
                ("parent", joint.origin, joint.parent() == link),
                ("child", Pose::identity(), joint.child() == link),
            ] {
                if !is_this {
                    continue;
                }
                let at = self.bodies.placement[link].1 * frame;
                self.site(&site_name(joint, end, 0), &at);
                if joint.kind() != JointKind::Fixed {
                    let along = Pose::translation(
                        joint.axis.x * AXIS_POINT_DISTANCE,
                        joint.axis.y * AXIS_POINT_DISTANCE,
                        joint.axis.z * AXIS_POINT_DISTANCE,
                    );
                    self.site(&site_name(joint, end, 1), &(at * along));
                }
            }
        }
    }

    /// Writes disabled collisions, loops and mimics.
    pub(super) fn constraints(&mut self) {
        let robot = self.robot;
        self.to.open("contact", Vec::new());
        let filtered = robot.filtered_collisions();
        let filtered = filtered
            .iter()
            .map(|(a, b)| [a, b].map(|link| self.bodies.body(link)));
        // MuJoCo itself leaves out a body and its parent, unless the parent is fixed to the world.
        let world = robot.world_root().map(|link| &robot.links()[link]);
        let has_ground = world.is_some_and(|world| !world.collisions.is_empty());
        let is_static = |body: &Option<LinkId>| {
            let above = std::iter::successors(*body, |body| self.bodies.above[*body]);
            let mut motions = above.map(|body| self.bodies.motion[body]);
            let is_fixed = motions.all(|motion| matches!(motion, None | Some(Motion::Fixed)));
            is_fixed && (body.is_some() || has_ground)
        };
        let moving = robot.links().handles().filter(|link| {
            matches!(
                self.bodies.motion[*link],
                Some(Motion::Joint(_) | Motion::Chain(_))
            )
        });
        let on_static = moving
            .map(|link| [self.bodies.above[link], Some(link)])
            .filter(|[above, _]| is_static(above));
        let pairs: BTreeSet<[Option<LinkId>; 2]> = filtered.chain(on_static).collect();
        for [first, second] in pairs {
            if first != second {
                let [first, second] = [first, second].map(|body| {
                    body.map_or_else(|| "world".to_owned(), |body| self.names.links[body].clone())
                });
                self.to
                    .leaf("exclude", vec![("body1", first), ("body2", second)]);
            }
        }
        self.to.close();
        self.to.open("equality", Vec::new());
        for (id, joint) in robot.joints().iter() {
            if joint.closes_loop() {
                self.close_loop(joint);
                continue;
            }
            if let Some(mimic) = joint.mimic() {
                self.mimic(id, &mimic);
            }
            if let Some((position, _)) = range(joint).filter(|(lower, upper)| lower == upper)
                && self.moves(id)
            {
                for name in self.names.joints[id].clone() {
                    self.to.leaf(
                        "joint",
                        vec![
                            ("joint1", name),
                            ("polycoef", numbers([position, 0.0, 0.0, 0.0, 0.0])),
                        ],
                    );
                }
                let message = format!("joint \"{}\" can only be at {position}", joint.name());
                self.findings.report(
                    &codes::RANGE,
                    &joint.place,
                    message,
                    "make it a fixed joint, or correct its limits",
                );
            }
        }
        self.to.close();
    }

    /// Returns whether a joint of the robot becomes a joint of MuJoCo.
    fn moves(&self, joint: JointId) -> bool {
        let robot = self.robot;
        let child = robot.joints()[joint].child();
        if self.bodies.motion[child] == Some(Motion::Joint(joint)) {
            return true;
        }
        let body = self.bodies.body(child);
        let is_chain = |body| self.bodies.motion[body] == Some(Motion::Chain(Connector::Chain));
        let is_fixed = robot.joints()[joint].kind() == JointKind::Fixed;
        !is_fixed
            && body
                .is_some_and(|body| is_chain(body) && Bodies::chain(robot, body).contains(&joint))
    }

    /// Returns the name of the joint of MuJoCo that a joint of the robot becomes; `None` if it
    /// becomes none or several.
    fn single_name(&self, joint: JointId) -> Option<String> {
        match self.names.joints[joint].as_slice() {
            [name] if self.moves(joint) => Some(name.clone()),
            _ => None,
        }
    }

    fn mimic(&mut self, follower: JointId, mimic: &Mimic) {
        let robot = self.robot;
        let [joint, leader] = [follower, mimic.joint].map(|id| &robot.joints()[id]);
        if let Some((joint1, joint2)) = self
            .single_name(follower)
            .zip(self.single_name(mimic.joint))
        {
            let polynomial = numbers([mimic.offset, mimic.multiplier, 0.0, 0.0, 0.0]);
            self.to.leaf(
                "joint",
                vec![
                    ("joint1", joint1),
                    ("joint2", joint2),
                    ("polycoef", polynomial),
                    ("solref", numbers(MIMIC_SOLREF)),
                    ("solimp", numbers(MIMIC_SOLIMP)),
                ],
            );
        } else if leader.closes_loop() {
            let message = format!(
                "joint \"{}\" mimics \"{}\", which closes a loop",
                joint.name(),
                leader.name()
            );
            self.findings.report(
                &codes::LOOP,
                &joint.place,
                message,
                "let it mimic a joint of the tree",
            );
        } else {
            let message = format!(
                "joint \"{}\" can't mimic \"{}\" in MuJoCo",
                joint.name(),
                leader.name()
            );
            self.findings.report(
                &codes::MIMIC,
                &joint.place,
                message,
                "use mimics between joints with one degree of freedom only",
            );
        }
    }

    fn close_loop(&mut self, joint: &Joint) {
        let kind = joint.kind().as_str();
        if can_close_loop(joint.kind()) {
            let sites = |number| {
                [
                    ("site1", site_name(joint, "parent", number)),
                    ("site2", site_name(joint, "child", number)),
                ]
            };
            let constraint = if joint.kind() == JointKind::Fixed {
                "weld"
            } else {
                "connect"
            };
            let mut first: Attributes = vec![("name", joint.name().to_owned())];
            first.extend(sites(0));
            self.to.leaf(constraint, first);
            // A hinge: two connected points of its axis leave only the rotation about the axis.
            if joint.kind() != JointKind::Fixed {
                let mut second: Attributes = vec![("name", format!("{}_axis", joint.name()))];
                second.extend(sites(1));
                self.to.leaf(constraint, second);
            }
        }
        let has_more = range(joint).is_some()
            || joint.dynamics.is_some()
            || joint.drive().is_some()
            || joint.mimic().is_some();
        if !can_close_loop(joint.kind()) && joint.kind() != JointKind::Floating {
            let message = format!(
                "{kind} joint \"{}\" closes a loop, and MuJoCo has no constraint for it",
                joint.name()
            );
            self.findings.report(
                &codes::LOOP,
                &joint.place,
                message,
                "close the loop at a revolute joint",
            );
        } else if has_more && joint.kind() != JointKind::Floating {
            let message = format!(
                "{kind} joint \"{}\" closes a loop; its limits, dynamics and drive are left out of the MJCF",
                joint.name()
            );
            self.findings.report(
                &codes::LOOP,
                &joint.place,
                message,
                "close the loop at a joint without limits, dynamics and drive",
            );
        }
    }

    /// Writes an actuator for every driven joint.
    pub(super) fn actuators(&mut self) {
        let robot = self.robot;
        self.to.open("actuator", Vec::new());
        for (id, joint) in robot.joints().iter() {
            let actuator = Actuator::of(robot, id);
            let name = self.single_name(id).filter(|_| is_single(joint.kind()));
            let Some((actuator, name)) = actuator.zip(name) else {
                continue;
            };
            let Actuator { command, gains, .. } = actuator;
            let mut kind = match command {
                Command::Effort => "motor",
                Command::Velocity => "velocity",
                Command::Position => "position",
            };
            let mut attributes: Attributes = vec![("name", name.clone()), ("joint", name)];
            self.controls.push(actuator.target);
            let ranges = [
                ("ctrlrange", actuator.control_range),
                (
                    "forcerange",
                    actuator.max_force.map(|force| [-force, force]),
                ),
            ];
            for (name, range) in ranges {
                attributes.extend(range.map(|range| (name, numbers(range))));
            }
            if let Some((gain, bias)) = actuator.gain_and_bias() {
                let [constant, _, damping] = bias;
                match command {
                    Command::Position if constant == 0.0 => {
                        attributes.push(("kp", number(gain)));
                        attributes.push(("kv", number(-damping)));
                    }
                    Command::Velocity => attributes.push(("kv", number(gain))),
                    Command::Effort if bias == [0.0; 3] => {}
                    Command::Position | Command::Effort => {
                        kind = "general";
                        attributes.extend([
                            ("gainprm", number(gain)),
                            ("biastype", "affine".to_owned()),
                            ("biasprm", numbers(bias)),
                        ]);
                    }
                }
            }
            self.to.leaf(kind, attributes);
            if let Some(gains) = gains.filter(|gains| gains.is_acceleration) {
                let message = format!(
                    "the drive of joint \"{}\" sets an acceleration, which MuJoCo's actuators can't: its {} are left out",
                    joint.name(),
                    gains.to_words()
                );
                self.findings.report(
                    &codes::ACCELERATION,
                    &joint.place,
                    message,
                    "let the drive have the type force, or set kp and kv in the MJCF",
                );
            } else if command != Command::Effort && gains.is_none() {
                // No gain is invented: MuJoCo's default of 1 applies.
                let message = format!(
                    "the {kind} actuator of joint \"{}\" has no gain",
                    joint.name()
                );
                self.findings.report(
                    &codes::GAINS,
                    &joint.place,
                    message,
                    "set kp (and kv) in the MJCF",
                );
            }
        }
        self.to.close();
    }

    /// Writes named poses, and the initial positions and targets of drives, as keyframes.
    pub(super) fn keyframes(&mut self) {
        let robot = self.robot;
        self.to.open("keyframe", Vec::new());
        let mut names = UniqueNames::default();
        let is_shared = |pose: &NamedPose| {
            robot
                .named_poses()
                .iter()
                .filter(|other| other.name == pose.name)
                .count()
                > 1
        };
        // The first keyframe is the start of the simulation.
        let home = robot.simulation().home.as_ref();
        if let Some(home) = home {
            let name = names.unique_or(&home.name, "pose");
            let controls = std::mem::take(&mut self.controls);
            self.keyframe(name, &home.positions, &controls);
        }
        let is_home = |pose: &NamedPose| {
            home.is_some_and(|home| home.name == pose.name && home.positions == pose.positions)
        };
        for pose in robot.named_poses().iter().filter(|pose| !is_home(pose)) {
            let name = match &pose.group {
                Some(group) if is_shared(pose) => format!("{group}/{}", pose.name),
                _ => pose.name.clone(),
            };
            let name = names.unique_or(&name, "pose");
            self.keyframe(name, &pose.positions, &[]);
        }
        if self.controls.iter().any(|target| *target != 0.0) {
            let name = names.unique_or("initial_positions", "pose");
            let controls = std::mem::take(&mut self.controls);
            self.keyframe(name, &[], &controls);
        }
        self.to.close();
    }

    fn keyframe(&mut self, name: String, positions: &[(JointId, Vec<f64>)], controls: &[f64]) {
        let robot = self.robot;
        let mut at: BTreeMap<JointId, Vec<f64>> = positions.iter().cloned().collect();
        // Leaders first, however long the chain of mimics. Quadratic in the number of mimics, which
        // is small.
        let followers = robot
            .joints()
            .iter()
            .filter(|(_, joint)| joint.mimic().is_some());
        let mut waiting: Vec<JointId> = followers
            .map(|(id, _)| id)
            .filter(|id| !at.contains_key(id))
            .collect();
        while let Some(index) = waiting.iter().position(|id| {
            let leader = robot.joints()[*id].mimic().map(|mimic| mimic.joint);
            leader.is_some_and(|leader| !waiting.contains(&leader))
        }) {
            let id = waiting.remove(index);
            if let Some(mimic) = robot.joints()[id].mimic() {
                let led = at
                    .get(&mimic.joint)
                    .and_then(|positions| positions.first())
                    .copied()
                    .unwrap_or(0.0);
                at.insert(id, vec![mimic.multiplier * led + mimic.offset]);
            }
        }
        // `qpos` has the joints in the order of bodies in the file; quaternions begin with w.
        let mut qpos: Vec<f64> = Vec::new();
        for &link in robot.tree().order() {
            let joint = robot.tree().parent_joint(link);
            let given = joint
                .and_then(|joint| at.get(&joint))
                .map_or(&[][..], Vec::as_slice);
            match self.bodies.motion[link] {
                None | Some(Motion::Fixed) => {}
                Some(Motion::Free) => {
                    let joint = joint.map(|joint| &robot.joints()[joint]);
                    let rest = joint.map_or_else(Pose::identity, |joint| {
                        let moved = if joint.kind() == JointKind::Floating {
                            kinematics::motion(joint, given)
                        } else {
                            Pose::identity()
                        };
                        self.bodies.placement[joint.parent()].1 * joint.origin * moved
                    });
                    let (at, turn) = (rest.translation.vector, rest.rotation);
                    qpos.extend([at.x, at.y, at.z, turn.w, turn.i, turn.j, turn.k]);
                }
                Some(Motion::Chain(connector)) => {
                    let chain = Bodies::chain(robot, link);
                    let parts = chain.iter().map(|id| {
                        let given = at.get(id).map_or(&[][..], Vec::as_slice);
                        (&robot.joints()[*id], given)
                    });
                    let parts = parts.filter(|(joint, _)| is_single(joint.kind()));
                    match connector {
                        Connector::Chain => qpos
                            .extend(parts.map(|(_, given)| given.first().copied().unwrap_or(0.0))),
                        Connector::Ball => {
                            let turns =
                                parts.map(|(joint, given)| kinematics::motion(joint, given));
                            let turn = turns.fold(Pose::identity(), |all, one| all * one).rotation;
                            qpos.extend([turn.w, turn.i, turn.j, turn.k]);
                        }
                    }
                }
                Some(Motion::Joint(id)) => {
                    let joint = &robot.joints()[id];
                    if joint.kind() == JointKind::Floating {
                        let moved = kinematics::motion(joint, given);
                        let (at, turn) = (moved.translation.vector, moved.rotation);
                        qpos.extend([at.x, at.y, at.z, turn.w, turn.i, turn.j, turn.k]);
                    } else {
                        let count = kinematics::position_count(joint.kind());
                        qpos.extend((0..count).map(|k| given.get(k).copied().unwrap_or(0.0)));
                    }
                }
            }
        }
        let mut key = vec![("name", name), ("qpos", numbers(qpos))];
        if !controls.is_empty() {
            key.push(("ctrl", numbers(controls.iter().copied())));
        }
        self.to.leaf("key", key);
    }
}

/// Returns whether a joint has one degree of freedom.
fn is_single(kind: JointKind) -> bool {
    kinematics::position_count(kind) == 1
}

/// Returns whether MuJoCo can close a loop with such a joint.
fn can_close_loop(kind: JointKind) -> bool {
    matches!(
        kind,
        JointKind::Fixed | JointKind::Revolute | JointKind::Continuous
    )
}

/// Returns the name of a site at which a loop closes. Site 0 is at the joint, site 1 along its
/// axis.
fn site_name(joint: &Joint, end: &str, number: usize) -> String {
    let axis = if number == 0 { "" } else { "_axis" };
    format!("{}_{end}{axis}", joint.name())
}
