//! A part of a robot as a robot: what hangs on one of its links.

use std::collections::HashSet;

use super::{Element, JointId, LinkId, Robot, Tree, VisualPart};

/// What [`Robot::keep_below`] took away.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Removed {
    /// By link as it was: which it is now; `None` if it is gone.
    pub links: Vec<Option<LinkId>>,
    /// The names of the joints that are gone, in their order.
    pub joints: Vec<String>,
    /// The joints that followed one that is gone, as they are now. They follow none any more.
    pub freed: Vec<JointId>,
}

impl Robot {
    /// Makes `base` the root: what is not below it is gone, with all that refers to it. Meshes and
    /// materials stay.
    pub fn keep_below(&mut self, base: LinkId) -> Removed {
        let mut removed = Removed::default();
        let mut count = 0;
        for link in 0..self.links.len() {
            let stays = self.tree.is_below(LinkId(link), base);
            removed.links.push(stays.then_some(LinkId(count)));
            count += usize::from(stays);
        }
        let links = &removed.links;
        let link = |id: LinkId| links.get(id.0).copied().flatten();
        let mut joints: Vec<Option<JointId>> = Vec::with_capacity(self.joints.len());
        let mut kept = Vec::new();
        for mut joint in std::mem::take(&mut self.joints) {
            match (link(joint.parent), link(joint.child)) {
                // A joint that closes a loop may come from anywhere, but nothing is above the base.
                (Some(parent), Some(child)) if joint.child != base => {
                    (joint.parent, joint.child) = (parent, child);
                    joints.push(Some(JointId(kept.len())));
                    kept.push(joint);
                }
                _ => {
                    joints.push(None);
                    removed.joints.push(joint.name);
                }
            }
        }
        let joint_now = |id: JointId| joints.get(id.0).copied().flatten();
        for (index, joint) in kept.iter_mut().enumerate() {
            let Some(mut mimic) = joint.mimic else {
                continue;
            };
            joint.mimic = joint_now(mimic.joint).map(|leader| {
                mimic.joint = leader;
                mimic
            });
            if joint.mimic.is_none() {
                removed.freed.push(JointId(index));
            }
        }
        let pair = |&(a, b): &(LinkId, LinkId)| Some((link(a)?, link(b)?));
        self.disabled_collisions = self.disabled_collisions.iter().filter_map(pair).collect();
        self.sensors.retain_mut(|sensor| {
            sensor.frame = sensor.frame.and_then(link);
            link(sensor.link).is_some_and(|now| {
                sensor.link = now;
                true
            })
        });
        self.lights.retain_mut(|light| {
            link(light.link).is_some_and(|now| {
                light.link = now;
                true
            })
        });
        for variant in &mut self.look_variants {
            let materials = std::mem::take(&mut variant.materials).into_iter();
            let part = |part: VisualPart| {
                Some(VisualPart {
                    link: link(part.link)?,
                    ..part
                })
            };
            variant.materials = materials
                .filter_map(|(of, material)| Some((part(of)?, material)))
                .collect();
        }
        for pose in &mut self.named_poses {
            let positions = std::mem::take(&mut pose.positions).into_iter();
            pose.positions = positions
                .filter_map(|(id, at)| Some((joint_now(id)?, at)))
                .collect();
            pose.chain = pose.chain.as_ref().and_then(pair);
        }
        self.named_poses.retain(|pose| !pose.positions.is_empty());
        let planning = &mut self.planning;
        planning.coordinates.retain_mut(|coordinate| {
            joint_now(coordinate.joint).is_some_and(|now| {
                coordinate.joint = now;
                true
            })
        });
        planning.tool_frames = planning
            .tool_frames
            .iter()
            .filter_map(|&frame| link(frame))
            .collect();
        planning.ignored = planning.ignored.iter().filter_map(pair).collect();
        for group in &mut planning.groups {
            let spheres = std::mem::take(&mut group.spheres).into_iter();
            group.spheres = spheres
                .filter_map(|(of, spheres)| Some((link(of)?, spheres)))
                .collect();
        }
        for collision in planning
            .collision
            .iter_mut()
            .chain(&mut planning.self_collision)
        {
            let buffers = std::mem::take(&mut collision.buffers).into_iter();
            collision.buffers = buffers
                .filter_map(|(of, buffer)| Some((link(of)?, buffer)))
                .collect();
        }
        let is_kept = |name: &str| kept.iter().any(|joint| joint.name == name);
        let gone = Gone {
            joints: removed.joints.iter().map(String::as_str).collect(),
            links: self
                .links
                .iter()
                .zip(links)
                .filter(|(_, now)| now.is_none())
                .map(|(link, _)| link.name.as_str())
                .collect(),
            kept: self
                .links
                .iter()
                .zip(links)
                .filter(|(_, now)| now.is_some())
                .map(|(link, _)| link.name.as_str())
                .collect(),
        };
        forget(&mut self.custom.elements, &gone, &is_kept);
        let stays: Vec<bool> = links.iter().map(Option::is_some).collect();
        let mut stays = stays.into_iter();
        self.links.retain(|_| stays.next().unwrap_or_default());
        self.joints = kept;
        self.tree = Tree::build(self.links.len(), &mut self.joints);
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
    use crate::{Custom, Joint, JointKind, Link, LookVariant, Mimic, NamedPose, Planning};
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
        let link = |k: usize| Link {
            name: format!("l{k}"),
            inertial: None,
            visuals: Vec::new(),
            collisions: Vec::new(),
            contact: None,
            custom: Custom::default(),
            place: Place::default(),
        };
        let joint = |k: usize| {
            Joint::new(
                format!("j{k}"),
                JointKind::Revolute,
                LinkId(k),
                LinkId(k + 1),
            )
        };
        let mut joints: Vec<Joint> = (0..4).map(joint).collect();
        joints[2].mimic = Some(Mimic {
            joint: JointId(0),
            multiplier: 1.0,
            offset: 0.0,
        });
        joints[3].mimic = Some(Mimic {
            joint: JointId(2),
            multiplier: 1.0,
            offset: 0.0,
        });
        let transmission = |joint: &str| {
            element(
                "transmission",
                ("name", "t"),
                vec![element("joint", ("name", joint), Vec::new())],
            )
        };
        let elements = vec![
            transmission("j0"),
            transmission("j3"),
            element("gazebo", ("reference", "l0"), Vec::new()),
            element("gazebo", ("reference", "l4"), Vec::new()),
        ];
        let pose = |name: &str, positions: &[usize]| NamedPose {
            name: name.to_owned(),
            group: None,
            chain: None,
            positions: positions
                .iter()
                .map(|&k| (JointId(k), vec![k as f64]))
                .collect(),
            place: Place::default(),
        };
        Robot {
            name: "r".to_owned(),
            links: (0..5).map(link).collect(),
            tree: Tree::build(5, &mut joints),
            joints,
            materials: Vec::new(),
            meshes: Vec::new(),
            sensors: Vec::new(),
            lights: Vec::new(),
            interfaces: Vec::new(),
            disabled_collisions: vec![(LinkId(0), LinkId(2)), (LinkId(2), LinkId(4))],
            named_poses: vec![pose("both", &[0, 1]), pose("gone", &[0])],
            look_variants: vec![LookVariant {
                name: "plain".to_owned(),
                materials: [0, 4]
                    .map(|link| {
                        (
                            VisualPart {
                                link: LinkId(link),
                                visual: 0,
                                part: 0,
                            },
                            None,
                        )
                    })
                    .into(),
            }],
            planning: Planning {
                tool_frames: vec![LinkId(0), LinkId(4)],
                ..Planning::default()
            },
            custom: Custom {
                attributes: Vec::new(),
                elements,
            },
            place: Place::default(),
        }
    }

    #[test]
    fn what_is_not_below_the_new_root_is_gone_with_all_that_refers_to_it() {
        let mut robot = chain();
        let removed = robot.keep_below(LinkId(1));
        assert_eq!(removed.joints, ["j0"]);
        assert_eq!(
            (removed.links[0], removed.links[1], removed.freed),
            (None, Some(LinkId(0)), vec![JointId(1)])
        );
        let names: Vec<&str> = robot.links.iter().map(|link| link.name.as_str()).collect();
        assert_eq!(
            (names, &robot.tree.roots[..]),
            (vec!["l1", "l2", "l3", "l4"], &[LinkId(0)][..])
        );
        assert_eq!(
            (
                robot.joints[1].mimic,
                robot.joints[2].mimic.map(|mimic| mimic.joint)
            ),
            (None, Some(JointId(1)))
        );
        assert_eq!(robot.disabled_collisions, [(LinkId(1), LinkId(3))]);
        let poses: Vec<_> = robot
            .named_poses
            .iter()
            .map(|pose| (pose.name.as_str(), &pose.positions[..]))
            .collect();
        assert_eq!(poses, [("both", &[(JointId(0), vec![1.0])][..])]);
        assert_eq!(robot.planning.tool_frames, [LinkId(3)]);
        assert!(
            robot.look_variants[0]
                .materials
                .keys()
                .map(|part| part.link)
                .eq([LinkId(3)])
        );
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
        let removed = robot.keep_below(LinkId(0));
        assert_eq!(
            (
                removed.joints.len(),
                removed.freed.len(),
                robot.links.len(),
                robot.custom.elements.len()
            ),
            (0, 0, 5, 4)
        );
    }
}
