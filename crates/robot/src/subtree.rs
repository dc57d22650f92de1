//! Extraction of a subtree of a robot as a robot.

use std::collections::HashSet;

use super::{
    ArenaMap, Coordinate, Element, InvalidRobot, Joint, JointId, Light, Link, LinkId, LookVariant,
    Mimic, NamedPose, Planning, PlanningCollision, Robot, Sensor, Simulation, SphereGroup,
    VisualPart,
};

/// Outcome of [`Robot::keep_below`].
#[derive(Clone, Debug, PartialEq)]
pub struct Removed {
    /// The new handle of each former link; `None` if it was removed.
    pub links: ArenaMap<Link, Option<LinkId>>,
    /// Names of the removed joints, in their order.
    pub joints: Vec<String>,
    /// New handles of joints that followed a removed one; they no longer follow any.
    pub freed: Vec<JointId>,
}

impl Robot {
    /// Makes `base` the root: removes links that are not below it, with everything that refers to
    /// them. Meshes and materials stay.
    ///
    /// # Errors
    /// If the remaining robot would be invalid; `self` is unchanged then.
    pub fn keep_below(&mut self, base: LinkId) -> Result<Removed, InvalidRobot> {
        // A joint that closes a loop may have any parent, but the base must stay the root.
        let joint = |_: JointId, joint: &Joint| {
            (joint.child() != base).then(|| joint.between(joint.parent(), joint.child()))
        };
        let mut kept = self.clone();
        let is_below = |link| self.tree().is_below(link, base);
        let Rebuilt {
            links,
            joints,
            freed,
        } = kept.rebuild(is_below, joint)?;
        let gone = self.joints().iter().filter(|(id, _)| joints[*id].is_none());
        let joints = gone.map(|(_, joint)| joint.name().to_owned()).collect();
        *self = kept;
        Ok(Removed {
            links,
            joints,
            freed,
        })
    }

    /// Keeps some links and joints: `joint` returns a joint between former links, or `None` to remove it.
    /// Everything that refers to removed ones goes, too. Meshes and materials stay.
    ///
    /// # Errors
    /// If the remaining robot would be invalid; `self` is unchanged then.
    pub(crate) fn rebuild(
        &mut self,
        keep: impl Fn(LinkId) -> bool,
        joint: impl Fn(JointId, &Joint) -> Option<Joint>,
    ) -> Result<Rebuilt, InvalidRobot> {
        let mut kept = Self::without_links(self);
        let mut links = ArenaMap::filled(self.links(), None);
        for (id, link) in self.links().iter().filter(|(id, _)| keep(*id)) {
            links[id] = Some(kept.add_link(link.clone())?);
        }
        let mut joints = ArenaMap::filled(self.joints(), None);
        for (id, before) in self.joints().iter() {
            let Some(joint) = joint(id, before) else {
                continue;
            };
            if let (Some(parent), Some(child)) = (links[joint.parent()], links[joint.child()]) {
                joints[id] = Some(kept.add_joint(joint.between(parent, child))?);
            }
        }
        let now = Now { links, joints };
        let freed = now.mimics(self, &mut kept)?;
        now.devices(self, &mut kept)?;
        now.looks_and_poses(self, &mut kept)?;
        kept.set_planning(now.planning(self.planning()))?;
        let gone = self.joints().iter();
        let gone = gone.filter(|(id, _)| now.joints[*id].is_none());
        let named = |is_kept: bool| {
            let links = self.links().iter();
            links
                .filter(|(id, _)| now.links[*id].is_some() == is_kept)
                .map(|(_, link)| link.name())
                .collect()
        };
        let gone = Gone {
            joints: gone.map(|(_, joint)| joint.name()).collect(),
            links: named(false),
            kept: named(true),
        };
        let mut custom = self.custom.clone();
        forget(&mut custom.elements, &gone, &|name| {
            kept.joint_named(name).is_some()
        });
        kept.custom = custom;
        kept.place = self.place.clone();
        kept.about = self.about.clone();
        kept.ros = self.ros.clone();
        kept.set_simulation(Simulation {
            self_collision: self.simulation().self_collision,
            ..Simulation::default()
        })?;
        kept.interfaces = std::mem::take(&mut self.interfaces);
        *self = kept;
        Ok(Rebuilt {
            links: now.links,
            joints: now.joints,
            freed,
        })
    }
}

/// Outcome of [`Robot::rebuild`].
pub(crate) struct Rebuilt {
    /// New handle of each former link; `None` if it was removed.
    pub(crate) links: ArenaMap<Link, Option<LinkId>>,
    /// New handle of each former joint; `None` if it was removed.
    pub(crate) joints: ArenaMap<Joint, Option<JointId>>,
    /// New handles of joints that followed a removed one; they no longer follow any.
    pub(crate) freed: Vec<JointId>,
}

/// The new handles of a robot's former elements; `None` for removed ones.
struct Now {
    links: ArenaMap<Link, Option<LinkId>>,
    joints: ArenaMap<Joint, Option<JointId>>,
}

impl Now {
    fn pair(&self, (a, b): (LinkId, LinkId)) -> Option<(LinkId, LinkId)> {
        Some((self.links[a]?, self.links[b]?))
    }

    /// Restores the mimics among the joints of `kept`. Returns the joints that followed a removed
    /// one.
    fn mimics(&self, before: &Robot, kept: &mut Robot) -> Result<Vec<JointId>, InvalidRobot> {
        let (mut mimics, mut freed) = (Vec::new(), Vec::new());
        for (id, joint) in before.joints().iter() {
            let (Some(now), Some(mimic)) = (self.joints[id], joint.mimic()) else {
                continue;
            };
            match self.joints[mimic.joint] {
                Some(joint) => mimics.push((now, Some(Mimic { joint, ..mimic }))),
                None => freed.push(now),
            }
        }
        kept.set_mimics(mimics)?;
        Ok(freed)
    }

    /// Adds the remaining sensors, lights and pairs of links to `kept`.
    fn devices(&self, before: &Robot, kept: &mut Robot) -> Result<(), InvalidRobot> {
        let pairs = before.disabled_collisions().iter();
        kept.disable_collisions(pairs.filter_map(|pair| self.pair(pair)))?;
        let sensor = |sensor: &Sensor| {
            Some(Sensor {
                link: self.links[sensor.link]?,
                frame: sensor.frame.and_then(|frame| self.links[frame]),
                ..sensor.clone()
            })
        };
        kept.set_sensors(before.sensors().iter().filter_map(sensor).collect())?;
        let light = |light: &Light| {
            Some(Light {
                link: self.links[light.link]?,
                ..light.clone()
            })
        };
        kept.set_lights(before.lights().iter().filter_map(light).collect())
    }

    /// Adds the remaining looks and named poses to `kept`.
    fn looks_and_poses(&self, before: &Robot, kept: &mut Robot) -> Result<(), InvalidRobot> {
        for variant in before.look_variants() {
            let part = |part: &VisualPart| {
                Some(VisualPart {
                    link: self.links[part.link]?,
                    ..*part
                })
            };
            let materials = variant.materials.iter();
            kept.add_look_variant(LookVariant {
                name: variant.name.clone(),
                materials: materials
                    .filter_map(|(of, material)| Some((part(of)?, material.clone())))
                    .collect(),
            })?;
        }
        for pose in before.named_poses() {
            let positions = pose.positions.iter();
            let pose = NamedPose {
                positions: positions
                    .filter_map(|(id, at)| Some((self.joints[*id]?, at.clone())))
                    .collect(),
                chain: pose.chain.and_then(|chain| self.pair(chain)),
                fixed: pose
                    .fixed
                    .iter()
                    .filter_map(|id| self.joints[*id])
                    .collect(),
                ..pose.clone()
            };
            if !pose.positions.is_empty() {
                kept.add_named_pose(pose)?;
            }
        }
        Ok(())
    }

    fn planning(&self, before: &Planning) -> Planning {
        let coordinate = |coordinate: &Coordinate| {
            Some(Coordinate {
                joint: self.joints[coordinate.joint]?,
                ..*coordinate
            })
        };
        let group = |group: &SphereGroup| SphereGroup {
            name: group.name.clone(),
            spheres: self.by_link(&group.spheres),
        };
        let collision = |collision: &PlanningCollision| PlanningCollision {
            group: collision.group,
            buffers: self.by_link(&collision.buffers),
        };
        let frames = before.tool_frames.iter();
        let pairs = before.ignored.iter();
        Planning {
            coordinates: before.coordinates.iter().filter_map(coordinate).collect(),
            tool_frames: frames.filter_map(|frame| self.links[*frame]).collect(),
            groups: before.groups.iter().map(group).collect(),
            collision: before.collision.as_ref().map(collision),
            self_collision: before.self_collision.as_ref().map(collision),
            ignored: pairs.filter_map(|pair| self.pair(pair)).collect(),
        }
    }

    /// Returns the values of the remaining links.
    fn by_link<T: Clone>(&self, values: &[(LinkId, T)]) -> Vec<(LinkId, T)> {
        let values = values.iter();
        values
            .filter_map(|(link, value)| Some((self.links[*link]?, value.clone())))
            .collect()
    }
}

/// Names of removed joints and links, and of the remaining links.
struct Gone<'a> {
    joints: HashSet<&'a str>,
    links: HashSet<&'a str>,
    kept: HashSet<&'a str>,
}

impl Gone<'_> {
    /// Returns whether only removed elements have this name of a link or joint.
    fn has(&self, name: &str, is_joint: &impl Fn(&str) -> bool) -> bool {
        (self.joints.contains(name) || self.links.contains(name))
            && !self.kept.contains(name)
            && !is_joint(name)
    }
}

/// Removes the elements that refer to removed joints and links: `joint` elements, transmissions
/// that lose all their joints by it, and `gazebo` extensions.
fn forget(elements: &mut Vec<Element>, gone: &Gone<'_>, is_joint: &impl Fn(&str) -> bool) {
    let value = |element: &Element, key: &str| {
        element
            .attributes
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value.trim().to_owned())
    };
    elements.retain_mut(|element| {
        let joints = |element: &Element| {
            element
                .children
                .iter()
                .filter(|child| child.name == "joint")
                .count()
        };
        match element.name.as_str() {
            "joint" => {
                !value(element, "name").is_some_and(|name| gone.joints.contains(name.as_str()))
            }
            "gazebo"
                if value(element, "reference").is_some_and(|name| gone.has(&name, is_joint)) =>
            {
                false
            }
            "transmission" | "ros2_control" => {
                let before = joints(element);
                forget(&mut element.children, gone, is_joint);
                // An element whose joints are all removed goes, too; one that never named any
                // stays.
                before == 0 || joints(element) > 0
            }
            _ => true,
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::JointKind;
    use urdf_usd_diagnostic::Place;

    fn element(name: &str, attribute: (&str, &str), children: Vec<Element>) -> Element {
        let attributes = vec![(attribute.0.to_owned(), attribute.1.to_owned())];
        Element {
            name: name.to_owned(),
            attributes,
            text: String::new(),
            children,
            place: Place::default(),
        }
    }

    /// Links `l0` … `l4` in a chain of joints `j0` … `j3`; `j2` follows `j0`, and `j3` follows
    /// `j2`.
    fn chain() -> Robot {
        let mut robot = Robot::new("r");
        let links: Vec<LinkId> = (0..5)
            .map(|k| robot.add_link(Link::new(format!("l{k}"))).unwrap())
            .collect();
        let joints: Vec<JointId> = (0..4)
            .map(|k| {
                let kind = JointKind::Revolute;
                let joint = Joint::new(format!("j{k}"), kind, links[k], links[k + 1]);
                robot.add_joint(joint).unwrap()
            })
            .collect();
        let mimic = |joint: JointId| {
            Some(Mimic {
                joint,
                multiplier: 1.0,
                offset: 0.0,
            })
        };
        robot
            .set_mimics([(joints[2], mimic(joints[0])), (joints[3], mimic(joints[2]))])
            .unwrap();
        let transmission = |joint: &str| {
            element(
                "transmission",
                ("name", "t"),
                vec![element("joint", ("name", joint), Vec::new())],
            )
        };
        robot.custom.elements = vec![
            transmission("j0"),
            transmission("j3"),
            element("gazebo", ("reference", "l0"), Vec::new()),
            element("gazebo", ("reference", "l4"), Vec::new()),
        ];
        let mut add_pose = |name: &str, positions: &[usize]| {
            let positions = positions.iter().map(|&k| (joints[k], vec![k as f64]));
            let pose = NamedPose {
                name: name.to_owned(),
                group: None,
                chain: None,
                positions: positions.collect(),
                fixed: Vec::new(),
                place: Place::default(),
            };
            robot.add_named_pose(pose).unwrap();
        };
        add_pose("both", &[0, 1]);
        add_pose("gone", &[0]);
        robot
            .disable_collisions([(links[0], links[2]), (links[2], links[4])])
            .unwrap();
        let part = |link: usize| VisualPart {
            link: links[link],
            visual: 0,
            part: 0,
        };
        robot
            .add_look_variant(LookVariant {
                name: "plain".to_owned(),
                materials: [0, 4].map(|link| (part(link), None)).into(),
            })
            .unwrap();
        robot
            .set_planning(Planning {
                tool_frames: vec![links[0], links[4]],
                ..Planning::default()
            })
            .unwrap();
        robot
    }

    #[test]
    fn what_is_not_below_the_new_root_is_gone_with_all_that_refers_to_it() {
        let mut robot = chain();
        let old = robot.links().clone();
        let removed = robot.keep_below(robot.link_named("l1").unwrap()).unwrap();
        let link = |name: &str| robot.link_named(name).unwrap();
        let joint = |name: &str| robot.joint_named(name).unwrap();
        assert_eq!(removed.joints, ["j0"]);
        let now: Vec<Option<LinkId>> = old.handles().map(|id| removed.links[id]).collect();
        assert_eq!((now[0], now[1]), (None, Some(link("l1"))));
        assert_eq!(removed.freed, [joint("j2")]);
        let names: Vec<&str> = robot.links().values().map(Link::name).collect();
        assert_eq!(names, ["l1", "l2", "l3", "l4"]);
        assert_eq!(robot.tree().roots(), [link("l1")]);
        assert_eq!(robot.joints()[joint("j2")].mimic(), None);
        let leader = robot.joints()[joint("j3")].mimic().map(|mimic| mimic.joint);
        assert_eq!(leader, Some(joint("j2")));
        let pairs: Vec<_> = robot.disabled_collisions().iter().collect();
        assert_eq!(pairs, [(link("l2"), link("l4"))]);
        let poses: Vec<_> = robot
            .named_poses()
            .iter()
            .map(|pose| (pose.name.as_str(), &pose.positions[..]))
            .collect();
        assert_eq!(poses, [("both", &[(joint("j1"), vec![1.0])][..])]);
        assert_eq!(robot.planning().tool_frames, [link("l4")]);
        let looks = robot.look_variants()[0].materials.keys();
        assert!(looks.map(|part| part.link).eq([link("l4")]));
        let elements: Vec<&str> = robot
            .custom
            .elements
            .iter()
            .map(|element| element.attributes[0].1.as_str())
            .collect();
        assert_eq!(elements, ["t", "l4"]);
    }

    #[test]
    fn of_the_root_everything_stays() {
        let mut robot = chain();
        let removed = robot.keep_below(robot.link_named("l0").unwrap()).unwrap();
        assert_eq!(
            (
                removed.joints.len(),
                removed.freed.len(),
                robot.links().len(),
                robot.custom.elements.len()
            ),
            (0, 0, 5, 4)
        );
    }
}
