//! A part of a robot as a robot: what hangs on one of its links.

use std::collections::HashSet;

use super::{ArenaMap, Element, Joint, JointId, Link, LinkId, LinkPairs, Mimic, Robot, VisualPart};

/// Outcome of [`Robot::keep_below`].
#[derive(Clone, Debug, PartialEq)]
pub struct Removed {
    /// The present handle of each former link; `None` if it was removed.
    pub links: ArenaMap<Link, Option<LinkId>>,
    /// Names of the removed joints, in their order.
    pub joints: Vec<String>,
    /// Present handles of joints that followed a removed one. They follow none any more.
    pub freed: Vec<JointId>,
}

impl Robot {
    /// Makes `base` the root: removes links that are not below it, with all that refers to them.
    /// Meshes and materials stay.
    pub fn keep_below(&mut self, base: LinkId) -> Removed {
        let mut before = std::mem::replace(self, Self::new(self.name().to_owned()));
        let links = ArenaMap::new(before.links(), |id, link| {
            let stays = before.tree().is_below(id, base);
            stays.then(|| self.add_link(link.clone()).ok()).flatten()
        });
        let joints: ArenaMap<Joint, Option<JointId>> =
            ArenaMap::new(before.joints(), |_, joint| {
                // A joint that closes a loop may come from anywhere, but nothing is above the base.
                let parent = links[joint.parent()]?;
                let child = links[joint.child()].filter(|_| joint.child() != base)?;
                self.add_joint(joint.between(parent, child)).ok()
            });
        let gone = before
            .joints()
            .iter()
            .filter(|(id, _)| joints[*id].is_none());
        let mut removed = Removed {
            joints: gone.map(|(_, joint)| joint.name().to_owned()).collect(),
            freed: Vec::new(),
            links,
        };
        let links = &removed.links;
        let mut mimics = Vec::new();
        for (id, joint) in before.joints().iter() {
            let (Some(now), Some(mimic)) = (joints[id], joint.mimic()) else {
                continue;
            };
            match joints[mimic.joint] {
                Some(joint) => mimics.push((now, Some(Mimic { joint, ..mimic }))),
                None => removed.freed.push(now),
            }
        }
        // Part of what was valid: no circle, and no joint of another robot.
        let is_valid = self.set_mimics(mimics).is_ok();
        debug_assert!(is_valid);
        let pair = |(a, b): (LinkId, LinkId)| Some((links[a]?, links[b]?));
        let pairs = |pairs: &LinkPairs| pairs.iter().filter_map(pair).collect();
        self.disabled_collisions = pairs(&before.disabled_collisions);
        self.sensors = std::mem::take(&mut before.sensors);
        self.sensors.retain_mut(|sensor| {
            sensor.frame = sensor.frame.and_then(|frame| links[frame]);
            links[sensor.link].is_some_and(|now| {
                sensor.link = now;
                true
            })
        });
        self.lights = std::mem::take(&mut before.lights);
        self.lights.retain_mut(|light| {
            links[light.link].is_some_and(|now| {
                light.link = now;
                true
            })
        });
        for variant in before.look_variants() {
            let mut variant = variant.clone();
            let materials = std::mem::take(&mut variant.materials).into_iter();
            let part = |part: VisualPart| {
                Some(VisualPart {
                    link: links[part.link]?,
                    ..part
                })
            };
            variant.materials = materials
                .filter_map(|(of, material)| Some((part(of)?, material)))
                .collect();
            let is_valid = self.add_look_variant(variant).is_ok();
            debug_assert!(is_valid);
        }
        for pose in before.named_poses() {
            let mut pose = pose.clone();
            let positions = std::mem::take(&mut pose.positions).into_iter();
            pose.positions = positions
                .filter_map(|(id, at)| Some((joints[id]?, at)))
                .collect();
            pose.chain = pose.chain.and_then(pair);
            if !pose.positions.is_empty() {
                let is_valid = self.add_named_pose(pose).is_ok();
                debug_assert!(is_valid);
            }
        }
        let mut planning = before.planning().clone();
        planning.coordinates.retain_mut(|coordinate| {
            joints[coordinate.joint].is_some_and(|now| {
                coordinate.joint = now;
                true
            })
        });
        planning.tool_frames.retain_mut(|frame| {
            links[*frame].is_some_and(|now| {
                *frame = now;
                true
            })
        });
        planning.ignored = pairs(&planning.ignored);
        for group in &mut planning.groups {
            let spheres = std::mem::take(&mut group.spheres).into_iter();
            group.spheres = spheres
                .filter_map(|(of, spheres)| Some((links[of]?, spheres)))
                .collect();
        }
        let collisions = planning.collision.iter_mut();
        for collision in collisions.chain(&mut planning.self_collision) {
            let buffers = std::mem::take(&mut collision.buffers).into_iter();
            collision.buffers = buffers
                .filter_map(|(of, buffer)| Some((links[of]?, buffer)))
                .collect();
        }
        let is_valid = self.set_planning(planning).is_ok();
        debug_assert!(is_valid);
        let is_kept = |name: &str| self.joint_named(name).is_some();
        let named = |is_kept: bool| {
            let links = before
                .links()
                .iter()
                .filter(move |(id, _)| links[*id].is_some() == is_kept);
            links.map(|(_, link)| link.name()).collect()
        };
        let gone = Gone {
            joints: removed.joints.iter().map(String::as_str).collect(),
            links: named(false),
            kept: named(true),
        };
        let mut custom = before.custom.clone();
        forget(&mut custom.elements, &gone, &is_kept);
        self.custom = custom;
        self.place = before.place.clone();
        self.interfaces = std::mem::take(&mut before.interfaces);
        self.take_meshes_and_materials(before);
        removed
    }
}

/// Names of what is gone, and of links that are not.
struct Gone<'a> {
    joints: HashSet<&'a str>,
    links: HashSet<&'a str>,
    kept: HashSet<&'a str>,
}

impl Gone<'_> {
    /// Whether a name, of a link or a joint, is only of what is gone.
    fn has(&self, name: &str, is_joint: &impl Fn(&str) -> bool) -> bool {
        (self.joints.contains(name) || self.links.contains(name))
            && !self.kept.contains(name)
            && !is_joint(name)
    }
}

/// Takes away what is about joints and links that are gone: `joint` elements, transmissions that
/// lose their joint by it, and what Gazebo is told of them.
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
                before == 0 || joints(element) > 0
            }
            _ => true,
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{JointKind, LookVariant, NamedPose, Planning};
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
                place: Place::default(),
            };
            robot.add_named_pose(pose).unwrap();
        };
        add_pose("both", &[0, 1]);
        add_pose("gone", &[0]);
        robot.disabled_collisions = [(links[0], links[2]), (links[2], links[4])]
            .into_iter()
            .collect();
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
        let removed = robot.keep_below(robot.link_named("l1").unwrap());
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
        let pairs: Vec<_> = robot.disabled_collisions.iter().collect();
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
        let removed = robot.keep_below(robot.link_named("l0").unwrap());
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
