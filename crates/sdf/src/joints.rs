//! Writes joints: those of the tree, those that fix the base, and those that close loops.

use super::{MODEL, Motion, Writer, codes};
use urdf_usd_robot::{Command, Joint, JointId, JointKind, LinkId, Mimic, Pose};
use urdf_usd_text::xml::{number, numbers};

/// The head of a joint of the SDF.
struct Head<'n> {
    name: String,
    kind: &'static str,
    parent: &'n str,
    child: &'n str,
}

impl Writer<'_> {
    pub(super) fn joints(&mut self) {
        let robot = self.robot;
        for &link in robot.tree().order() {
            let id = robot.tree().parent_joint(link);
            match self.groups.motion[link] {
                Motion::Fixed => self.fix_to_world(link),
                Motion::Joint(id) => self.joint(id),
                // Two links of the SDF that are rigidly connected. Otherwise the lower one is a
                // frame, or carries the frame of the upper one.
                Motion::Rigid => match id {
                    Some(id) if self.is_joined(link) => self.joint(id),
                    Some(id) => self.report_merged(id),
                    None => {}
                },
                Motion::Free => {
                    if let Some(joint) = id
                        .map(|id| &robot.joints()[id])
                        .filter(|joint| joint.kind() == JointKind::Planar)
                    {
                        let message =
                            format!("planar joint \"{}\" is left out of the SDF", joint.name());
                        self.findings.report(
                            &codes::PLANAR,
                            &joint.place,
                            message,
                            "use two prismatic joints and a link between them",
                        );
                    }
                }
            }
        }
        for (id, joint) in robot
            .joints()
            .iter()
            .filter(|(_, joint)| joint.closes_loop())
        {
            let [parent, child] =
                [joint.parent(), joint.child()].map(|link| self.groups.carrier[link]);
            match joint.kind() {
                JointKind::Floating => {}
                JointKind::Planar => {
                    let message =
                        format!("planar joint \"{}\" is left out of the SDF", joint.name());
                    self.findings.report(
                        &codes::PLANAR,
                        &joint.place,
                        message,
                        "close the loop at a revolute or prismatic joint",
                    );
                }
                // In SDFormat, the child of a joint is never the world.
                _ if parent == child || self.is_world(joint.child()) => {
                    let message = format!(
                        "joint \"{}\" does not close a loop between two moving links",
                        joint.name()
                    );
                    self.findings.report(
                        &codes::LOOP,
                        &joint.place,
                        message,
                        "close the loop between moving links",
                    );
                }
                _ => self.joint(id),
            }
        }
    }

    /// Returns whether a joint connects a link to the one it is rigidly attached to: both belong to
    /// different links of the SDF.
    pub(super) fn is_joined(&self, link: LinkId) -> bool {
        let above = self
            .robot
            .tree()
            .parent_joint(link)
            .map(|id| self.robot.joints()[id].parent());
        self.groups.is_link(link) && above.is_some_and(|above| self.groups.carrier[above] != link)
    }

    /// Returns whether a joint of the robot becomes a moving joint of the SDF.
    pub(super) fn moves(&self, id: JointId) -> bool {
        let joint = &self.robot.joints()[id];
        let is_single = matches!(
            joint.kind(),
            JointKind::Revolute | JointKind::Continuous | JointKind::Prismatic
        );
        let [parent, child] = [joint.parent(), joint.child()].map(|link| self.groups.carrier[link]);
        is_single && (!joint.closes_loop() || parent != child && !self.is_world(joint.child()))
    }

    /// Reports a fixed joint whose links become one link of the SDF.
    fn report_merged(&mut self, id: JointId) {
        let robot = self.robot;
        let joint = &robot.joints()[id];
        let message = format!(
            "fixed joint \"{}\" is left out of the SDF: its links become one link",
            joint.name()
        );
        self.findings.report(
            &codes::MERGED,
            &joint.place,
            message,
            "give both links a mass if the joint is needed",
        );
    }

    /// Fixes a link to the world.
    fn fix_to_world(&mut self, link: LinkId) {
        // The world's own link is written only if it has content.
        if self.is_world(link) && !self.world_has_content() {
            return;
        }
        let robot = self.robot;
        let own = robot
            .tree()
            .parent_joint(link)
            .filter(|&id| robot.joints()[id].kind() == JointKind::Fixed);
        let name = match own {
            Some(id) => self.names.joints[id].clone(),
            None => {
                let name = format!("{}_to_world", self.names.links[link]);
                self.names.model.first([name.as_str()])
            }
        };
        let child = self.names.links[link].clone();
        self.begin(&Head {
            name,
            kind: "fixed",
            parent: "world",
            child: &child,
        });
        self.to.close();
    }

    fn begin(
        &mut self,
        Head {
            name,
            kind,
            parent,
            child,
        }: &Head<'_>,
    ) {
        self.to.open(
            "joint",
            vec![("name", name.clone()), ("type", (*kind).to_owned())],
        );
        self.leaf("parent", parent);
        self.leaf("child", child);
    }

    fn joint(&mut self, id: JointId) {
        let robot = self.robot;
        let joint = &robot.joints()[id];
        let parent = self.frame(joint.parent()).to_owned();
        let child = self.names.links[joint.child()].clone();
        let parent_name = if parent == MODEL { "world" } else { &parent };
        let kind = joint.kind().as_str();
        self.begin(&Head {
            name: self.names.joints[id].clone(),
            kind,
            parent: parent_name,
            child: &child,
        });
        self.pose(Some(&parent), &joint.origin);
        if joint.kind() != JointKind::Fixed {
            self.axis(id, joint);
        }
        self.joint_sensors(id);
        self.gains(id, joint);
        self.mimic_of_drake(id, joint);
        self.to.close();
    }

    /// Writes the gains of a drive for Drake, the only reader of such an element; Gazebo's controller is in
    /// [`gazebo`](super::gazebo).
    fn gains(&mut self, id: JointId, joint: &Joint) {
        if let Some(actuation) = self.robot.simulation().actuation.get(&id) {
            if actuation.command == Command::Position {
                let gains = [
                    ("p", number(actuation.stiffness)),
                    ("d", number(actuation.damping)),
                ];
                self.to.leaf("drake:controller_gains", gains.into());
            }
            return;
        }
        let Some(gains) = joint.gains() else {
            return;
        };
        let mut left_out = gains;
        if gains.stiffness > 0.0 && gains.damping >= 0.0 && !gains.is_acceleration {
            self.to.leaf(
                "drake:controller_gains",
                vec![("p", number(gains.stiffness)), ("d", number(gains.damping))],
            );
            (left_out.stiffness, left_out.damping) = (0.0, 0.0);
        }
        let words = left_out.to_words();
        if !words.is_empty() {
            let message = format!(
                "the SDF leaves out {words} of the drive of joint \"{}\"",
                joint.name()
            );
            let help = "set them in the controller of the simulator";
            self.findings
                .report(&codes::DRIVE, &joint.place, message, help);
        }
    }

    /// Writes the mimic relation for Drake, which does not read SDFormat's.
    fn mimic_of_drake(&mut self, id: JointId, joint: &Joint) {
        let mimic = joint.mimic();
        if let Some(mimic) = mimic.filter(|mimic| self.moves(id) && self.moves(mimic.joint)) {
            let attributes = vec![
                ("joint", self.names.joints[mimic.joint].clone()),
                ("multiplier", number(mimic.multiplier)),
                ("offset", number(mimic.offset)),
            ];
            self.to.leaf("drake:mimic", attributes);
        }
    }

    fn axis(&mut self, id: JointId, joint: &Joint) {
        self.to.open("axis", Vec::new());
        self.leaf("xyz", &numbers(joint.axis.iter().copied()));
        let limit = joint.limit.unwrap_or_default();
        let (lower, upper) = joint.bounds().sides();
        let known = |value: Option<f64>| value.filter(|value| value.is_finite() && *value >= 0.0);
        let actuation = self.robot.simulation().actuation.get(&id);
        // An effort of 0 means "unknown" in the URDF of a driven joint, but "no actuator" in Drake.
        let effort = actuation.map_or(limit.effort, |actuation| actuation.max_force);
        self.to.open("limit", Vec::new());
        for (name, value) in [
            ("lower", lower),
            ("upper", upper),
            ("effort", known(effort)),
            ("velocity", known(limit.velocity)),
        ] {
            value
                .iter()
                .for_each(|value| self.leaf(name, &number(*value)));
        }
        self.to.close();
        if let Some(dynamics) = joint.dynamics {
            self.to.open("dynamics", Vec::new());
            for (name, value) in [
                ("damping", known(dynamics.damping)),
                ("friction", known(dynamics.friction)),
            ] {
                value
                    .iter()
                    .for_each(|value| self.leaf(name, &number(*value)));
            }
            self.to.close();
        }
        if let Some(mimic) = joint.mimic() {
            self.mimic(id, &mimic);
        }
        self.to.close();
    }

    fn mimic(&mut self, follower: JointId, mimic: &Mimic) {
        let robot = self.robot;
        if !self.moves(follower) || !self.moves(mimic.joint) {
            let [joint, leader] = [follower, mimic.joint].map(|id| &robot.joints()[id]);
            let message = format!(
                "joint \"{}\" can't mimic \"{}\" in SDFormat",
                joint.name(),
                leader.name()
            );
            let help = "use mimics between joints with one degree of freedom only";
            self.findings
                .report(&codes::MIMIC, &joint.place, message, help);
            return;
        }
        self.to.open(
            "mimic",
            vec![("joint", self.names.joints[mimic.joint].clone())],
        );
        // SDFormat: follower = multiplier × (leader - reference) + offset. URDF has no reference.
        self.leaf("multiplier", &number(mimic.multiplier));
        self.leaf("offset", &number(mimic.offset));
        self.leaf("reference", "0");
        self.to.close();
    }

    /// Returns the frame that the pose of a link or frame is relative to, and that pose.
    pub(super) fn place(&self, link: LinkId) -> (String, Pose) {
        let robot = self.robot;
        let Some(id) = robot.tree().parent_joint(link) else {
            return (MODEL.to_owned(), Pose::identity());
        };
        let joint = &robot.joints()[id];
        match self.groups.motion[link] {
            Motion::Joint(id) => (self.names.joints[id].clone(), Pose::identity()),
            _ => (self.frame(joint.parent()).to_owned(), joint.origin),
        }
    }
}
