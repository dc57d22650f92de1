//! Merging of links that fixed joints connect: engines simulate one body instead of several.
//!
//! This module must not know formats; `docs/simulate.md` documents the rules.

use std::collections::HashSet;

use super::subtree::Rebuilt;
use super::{
    ArenaMap, Contact, Inertial, InvalidRobot, Joint, JointId, JointKind, Link, LinkId, LinkPairs,
    LookVariant, Pose, Robot, SensorKind, Shape, VisualPart,
};

/// Frames with a meaning by convention: REP 105 (mobile platforms), REP 120 (humanoids), and the ends of
/// manipulators in ROS-Industrial.
const CONVENTIONAL_FRAMES: [&str; 22] = [
    "base_link",
    "base_footprint",
    "odom",
    "map",
    "earth",
    "l_wrist",
    "r_wrist",
    "l_gripper",
    "r_gripper",
    "gaze",
    "torso",
    "l_ankle",
    "r_ankle",
    "l_sole",
    "r_sole",
    "l_toe",
    "r_toe",
    "base",
    "flange",
    "tool0",
    "optical_frame",
    "optical",
];
/// Attribute of a fixed joint that other importers of URDF read; `true` keeps the joint.
const DONT_COLLAPSE: &str = "dont_collapse";
/// Elements of a `gazebo` extension that keep a fixed joint, if `true`.
const PRESERVED: [&str; 2] = ["disableFixedJointLumping", "preserveFixedJoint"];

/// Outcome of [`Robot::merge_fixed`].
#[derive(Clone, Debug, PartialEq)]
pub struct Merged {
    /// Place of the shapes of each former link: the new handle of the link that has them, and the indices of
    /// its first visual and its first collider there.
    pub shapes: ArenaMap<Link, (LinkId, usize, usize)>,
    /// Names of the removed links, in their order.
    pub removed: Vec<String>,
    /// Number of links that gave their mass and shapes to another link and remain as frames.
    pub frames: usize,
}

/// Indices of the first visual and the first collider of each link in the link that takes them.
type FirstShapes = ArenaMap<Link, (usize, usize)>;

/// Place of a link in the body that it is part of.
#[derive(Clone, Copy)]
struct Part {
    /// Link that takes the mass and the shapes.
    body: LinkId,
    /// Frame of the link in that of `body`.
    in_body: Pose,
    /// Nearest link at or above it that remains.
    frame: LinkId,
    /// Frame of the link in that of `frame`.
    in_frame: Pose,
}

impl Robot {
    /// Merges each link with the links that fixed joints connect to it: the upper link gets mass, inertia,
    /// visuals and colliders of the lower ones, all poses at any joint positions unchanged.
    ///
    /// A lower link remains as a frame without mass and shapes if `keep` is true for its name, if it was a
    /// frame before, has a conventional name, or if anything of the robot refers to it: sensors, lights,
    /// poses, planning data, extensions. It is not merged if it is fixed to the world or an end of a loop, has
    /// a sensor of contacts or forces, an impossible mass, another friction than the upper link, or a joint
    /// that the source marks (`dont_collapse`, `preserveFixedJoint`, `disableFixedJointLumping`).
    ///
    /// # Errors
    /// If the merged robot would be invalid; `self` is unchanged then.
    pub fn merge_fixed(&mut self, keep: impl Fn(&str) -> bool) -> Result<Merged, InvalidRobot> {
        let whole = self.unmergeable();
        let referred = self.referred_to();
        let remains = |id: LinkId, link: &Link| {
            link.is_empty() || referred[id] || is_conventional(link.name()) || keep(link.name())
        };
        let parts = self.parts(&whole, remains);
        let (mut merged, shapes) = self.with_contents_moved(&parts)?;
        let is_gone = |id: LinkId| parts[id].frame != id;
        let joint = |id: JointId, joint: &Joint| {
            let above = parts[joint.parent()];
            let is_above_gone =
                is_gone(joint.child()) && self.tree().parent_joint(joint.child()) == Some(id);
            (!is_above_gone).then(|| {
                let mut joint = joint.between(above.frame, joint.child());
                joint.origin = above.in_frame * joint.origin;
                joint
            })
        };
        let Rebuilt { links, .. } = merged.rebuild(|id| !is_gone(id), joint)?;
        let gave = |id: &LinkId| parts[*id].body != *id && !self.links()[*id].is_empty();
        let outcome = Merged {
            shapes: ArenaMap::new(self.links(), |id, _| {
                let (visual, collision) = shapes[id];
                // The body of a part remains.
                (links[parts[id].body].unwrap_or(id), visual, collision)
            }),
            removed: named(self, is_gone),
            frames: self
                .links()
                .handles()
                .filter(|id| gave(id) && !is_gone(*id))
                .count(),
        };
        *self = merged;
        Ok(outcome)
    }

    /// Returns, for each link, whether the joint above it must stay.
    fn unmergeable(&self) -> ArenaMap<Link, bool> {
        let is_true = |text: &str| text.trim().eq_ignore_ascii_case("true") || text.trim() == "1";
        let (mut marked, world) = (HashSet::new(), self.world_root());
        for element in self.custom.elements.iter().filter(|e| e.name == "gazebo") {
            let keeps = |child: &&crate::Element| PRESERVED.contains(&child.name.as_str());
            if element
                .children
                .iter()
                .filter(keeps)
                .any(|child| is_true(&child.text))
            {
                marked.extend(reference(element));
            }
        }
        let mut whole = ArenaMap::new(self.links(), |id, link| {
            let joint = self
                .tree()
                .parent_joint(id)
                .map(|joint| &self.joints()[joint]);
            joint.is_none_or(|joint| {
                let mut attributes = joint.custom.attributes.iter();
                joint.kind() != JointKind::Fixed
                    || !has_sound_mass(link)
                    || !has_sound_mass(&self.links()[joint.parent()])
                    || Some(joint.parent()) == world
                    || attributes.any(|(name, value)| name == DONT_COLLAPSE && is_true(value))
                    || marked.contains(joint.name())
            })
        });
        for sensor in self.sensors() {
            whole[sensor.link] |=
                matches!(sensor.kind, SensorKind::Contact | SensorKind::ForceTorque);
        }
        for joint in self.joints().values().filter(|joint| joint.closes_loop()) {
            (whole[joint.parent()], whole[joint.child()]) = (true, true);
        }
        whole
    }

    /// Returns, for each link, whether anything of the robot beside joints refers to it.
    fn referred_to(&self) -> ArenaMap<Link, bool> {
        let extensions: HashSet<&str> = self.custom.elements.iter().filter_map(reference).collect();
        let mut referred = ArenaMap::new(self.links(), |id, link| {
            let joint = self.tree().parent_joint(id);
            link.context.is_some()
                || link.connector.is_some()
                || !link.custom.is_empty()
                || extensions.contains(link.name())
                || joint.is_some_and(|joint| extensions.contains(self.joints()[joint].name()))
        });
        let of_sensors = self.sensors().iter();
        let of_sensors =
            of_sensors.flat_map(|sensor| sensor.frame.into_iter().chain([sensor.link]));
        let of_lights = self.lights().iter().map(|light| light.link);
        let of_poses = self.named_poses().iter().filter_map(|pose| pose.chain);
        let of_poses = of_poses.flat_map(<[LinkId; 2]>::from);
        let links = of_sensors.chain(of_lights).chain(of_poses);
        for link in links.chain(self.planning().links()) {
            referred[link] = true;
        }
        referred
    }

    /// Returns the place of each link in the body that it becomes part of.
    fn parts(
        &self,
        whole: &ArenaMap<Link, bool>,
        remains: impl Fn(LinkId, &Link) -> bool,
    ) -> ArenaMap<Link, Part> {
        let mut parts = ArenaMap::new(self.links(), |id, _| Part {
            body: id,
            in_body: Pose::identity(),
            frame: id,
            in_frame: Pose::identity(),
        });
        // Friction of the colliders of each body; `None` while it has no collider.
        let mut contacts: ArenaMap<Link, Option<Option<Contact>>> =
            ArenaMap::new(self.links(), |_, link| {
                (!link.collisions.is_empty()).then_some(link.contact)
            });
        for &id in self.tree().order() {
            let joint = self.tree().parent_joint(id).filter(|_| !whole[id]);
            let Some(joint) = joint.map(|joint| &self.joints()[joint]) else {
                continue;
            };
            let (link, above) = (&self.links()[id], parts[joint.parent()]);
            let (body, own) = (contacts[above.body], contacts[id]);
            if own.is_some() && body.is_some() && own != body {
                continue;
            }
            contacts[above.body] = body.or(own);
            let part = &mut parts[id];
            (part.body, part.in_body) = (above.body, above.in_body * joint.origin);
            if !remains(id, link) {
                (part.frame, part.in_frame) = (above.frame, above.in_frame * joint.origin);
            }
        }
        parts
    }

    /// Returns the robot with masses and shapes at the links that take them, and the indices of the first
    /// visual and collider of each link there.
    fn with_contents_moved(
        &self,
        parts: &ArenaMap<Link, Part>,
    ) -> Result<(Self, FirstShapes), InvalidRobot> {
        let mut moved = self.clone();
        let mut shapes = ArenaMap::filled(self.links(), (0, 0));
        let mut masses: ArenaMap<Link, Vec<Inertial>> = ArenaMap::filled(self.links(), Vec::new());
        for &id in self.tree().order() {
            let (link, part) = (&self.links()[id], parts[id]);
            masses[part.body].extend(link.inertial.iter().map(|inertial| Inertial {
                origin: part.in_body * inertial.origin,
                ..inertial.clone()
            }));
            if part.body == id {
                continue;
            }
            let placed = |shapes: &[Shape]| -> Vec<Shape> {
                let placed = shapes.iter().map(|shape| Shape {
                    origin: part.in_body * shape.origin,
                    ..shape.clone()
                });
                placed.collect()
            };
            let body = &moved.links()[part.body];
            shapes[id] = (body.visuals.len(), body.collisions.len());
            if body.collisions.is_empty() && !link.collisions.is_empty() {
                moved.link_mut(part.body).contact = link.contact;
            }
            for shape in placed(&link.visuals) {
                moved.add_visual(part.body, shape)?;
            }
            for shape in placed(&link.collisions) {
                moved.add_collision(part.body, shape)?;
            }
            moved.set_visuals(id, Vec::new())?;
            moved.set_collisions(id, Vec::new())?;
            (moved.link_mut(id).inertial, moved.link_mut(id).contact) = (None, None);
        }
        let mut grows = ArenaMap::filled(self.links(), false);
        for (id, part) in parts.iter() {
            grows[part.body] |= part.body != id;
        }
        for (id, masses) in masses.iter().filter(|(id, _)| grows[*id]) {
            moved.link_mut(id).inertial = Inertial::together(masses);
        }
        let looks = self.look_variants().iter().map(|look| LookVariant {
            name: look.name.clone(),
            materials: look
                .materials
                .iter()
                .map(|(of, material)| {
                    let visual = VisualPart {
                        link: parts[of.link].body,
                        visual: of.visual + shapes[of.link].0,
                        ..*of
                    };
                    (visual, material.clone())
                })
                .collect(),
        });
        moved.replace_looks_and_pairs(looks.collect(), self.pairs_of_bodies(parts));
        Ok((moved, shapes))
    }

    /// Returns the pairs of bodies that need no collision check: those whose solid parts are pairs of links
    /// that need none. Pairs of links that are merged with no other stay.
    fn pairs_of_bodies(&self, parts: &ArenaMap<Link, Part>) -> LinkPairs {
        let mut members: ArenaMap<Link, Vec<LinkId>> = ArenaMap::filled(self.links(), Vec::new());
        for (id, part) in parts.iter() {
            members[part.body].push(id);
        }
        let disabled = self.disabled_collisions();
        let mut exempt = disabled.clone();
        exempt.extend(
            self.joints()
                .values()
                .map(|joint| (joint.parent(), joint.child())),
        );
        let is_exempt = |a: LinkId, b: LinkId| {
            let solid = |body: LinkId| {
                let links = members[body].iter().copied();
                links.filter(|link| !self.links()[*link].collisions.is_empty())
            };
            let mut pairs = solid(a)
                .flat_map(|a| solid(b).map(move |b| (a, b)))
                .peekable();
            pairs.peek().is_some() && pairs.all(|(a, b)| exempt.contains(a, b))
        };
        let bodies: LinkPairs = disabled
            .iter()
            .map(|(a, b)| (parts[a].body, parts[b].body))
            .collect();
        let stays = |a: LinkId, b: LinkId| {
            [a, b].iter().all(|link| members[*link].len() == 1) && disabled.contains(a, b)
        };
        bodies
            .iter()
            .filter(|&(a, b)| stays(a, b) || is_exempt(a, b))
            .collect()
    }
}

fn has_sound_mass(link: &Link) -> bool {
    let mut masses = link.inertial.iter().map(|inertial| inertial.mass);
    masses.all(|mass| mass.is_finite() && mass >= 0.0)
}

/// Returns the link or joint that an extension is about.
fn reference(element: &crate::Element) -> Option<&str> {
    let mut attributes = element.attributes.iter();
    attributes
        .find(|(name, _)| name == "reference")
        .map(|(_, value)| value.trim())
}

/// Returns whether the name of a link, with or without a prefix, has a meaning by convention.
fn is_conventional(name: &str) -> bool {
    CONVENTIONAL_FRAMES.iter().any(|frame| {
        let prefix = name.strip_suffix(frame);
        prefix.is_some_and(|prefix| prefix.is_empty() || prefix.ends_with(['_', '/']))
    })
}

fn named(robot: &Robot, is_chosen: impl Fn(LinkId) -> bool) -> Vec<String> {
    let chosen = robot.links().iter().filter(|(id, _)| is_chosen(*id));
    chosen.map(|(_, link)| link.name().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Custom, Geometry, Limit};
    use urdf_usd_diagnostic::Place;

    fn ball(name: &str) -> Shape {
        Shape {
            name: Some(name.to_owned()),
            origin: Pose::translation(0.0, 0.0, 1.0),
            geometry: Geometry::Sphere { radius: 1.0 },
            material: None,
            stand_in_for: None,
            instance_set: None,
            custom: Custom::default(),
            place: Place::default(),
        }
    }

    /// Links `a`, `b` and `c` with two visuals each, fixed to each other in a row with a metre between, and `d`
    /// on a hinge of `c`.
    fn row() -> Robot {
        let mut robot = Robot::new("r");
        let links = ["a", "b", "c", "d"].map(|name| {
            let mut link = Link::new(name);
            link.visuals = [1, 2].map(|index| ball(&format!("{name}{index}"))).into();
            robot.add_link(link).unwrap()
        });
        for (index, kind) in [JointKind::Fixed, JointKind::Fixed, JointKind::Revolute]
            .into_iter()
            .enumerate()
        {
            let mut joint = Joint::new(format!("j{index}"), kind, links[index], links[index + 1]);
            joint.origin = Pose::translation(1.0, 0.0, 0.0);
            joint.limit = Some(Limit::default());
            robot.add_joint(joint).unwrap();
        }
        let part = |link: usize, visual: usize| VisualPart {
            link: links[link],
            visual,
            part: 0,
        };
        robot
            .add_look_variant(LookVariant {
                name: "plain".to_owned(),
                materials: [(part(2, 1), None), (part(3, 0), None)].into(),
            })
            .unwrap();
        robot
    }

    #[test]
    fn looks_follow_their_visuals() {
        let mut robot = row();
        let before = robot.links().clone();
        let merged = robot.merge_fixed(|name| name == "b").unwrap();
        let link = |name: &str| robot.link_named(name).unwrap();
        assert_eq!((merged.removed, merged.frames), (vec!["c".to_owned()], 1));
        let former = before.position(|link| link.name() == "c").unwrap();
        assert_eq!(merged.shapes[former], (link("a"), 4, 0));
        let names = |id: LinkId| -> Vec<&str> {
            let visuals = robot.links()[id].visuals.iter();
            visuals
                .filter_map(|visual| visual.name.as_deref())
                .collect()
        };
        assert_eq!(names(link("a")), ["a1", "a2", "b1", "b2", "c1", "c2"]);
        assert_eq!(names(link("b")), [""; 0]);
        let parts = robot.look_variants()[0].materials.keys();
        let parts: Vec<_> = parts.map(|part| (part.link, part.visual)).collect();
        assert_eq!(parts, [(link("a"), 5), (link("d"), 0)]);
        // The frame of the hinge is below the nearest link that remains.
        let hinge = &robot.joints()[robot.joint_named("j2").unwrap()];
        assert_eq!(hinge.parent(), link("b"));
        assert_eq!(hinge.origin, Pose::translation(2.0, 0.0, 0.0));
        assert_eq!(
            robot.links()[link("a")].visuals[5].origin,
            Pose::translation(2.0, 0.0, 1.0)
        );
    }
}
