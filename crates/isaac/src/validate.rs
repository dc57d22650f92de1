//! A stage held against the schema.

use std::collections::{HashMap, HashSet};

use urdf_usd_diagnostic::{Code, Diagnostic};
use urdf_usd_stage::{PrimId, array_len, texts};
use urdf_usd_usd_author::isaac_schema as names;

use crate::migrate::{is_hidden, offsets};
use crate::report::Findings;
use crate::{View, all_links, articulation, codes};

/// The targets of a robot's lists, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Targets {
    /// Links, sites and robots that are there.
    pub valid_links: Vec<String>,
    /// What the list of links names and is not there, or is none of these.
    pub invalid_links: Vec<String>,
    /// Joints and robots that are there.
    pub valid_joints: Vec<String>,
    /// What the list of joints names and is not there, or is none of these.
    pub invalid_joints: Vec<String>,
}

/// Tells what the lists of the robot whose topmost prim is `robot` name, and what of it is valid.
pub fn targets(view: &View<'_>, robot: PrimId) -> Targets {
    let is_link = |id: PrimId| {
        view.is_body(id)
            || view.stage[id].has(names::LINK_API)
            || view.is_site(id)
            || view.is_robot(id) && id != robot
    };
    let is_joint = |id: PrimId| view.is_joint(id) || view.is_robot(id) && id != robot;
    let split = |list: &str, is_it: &dyn Fn(PrimId) -> bool| -> (Vec<String>, Vec<String>) {
        view.stage[robot]
            .targets(list)
            .iter()
            .cloned()
            .partition(|path| view.at(path).is_some_and(is_it))
    };
    let (valid_links, invalid_links) = split(names::ROBOT_LINKS, &is_link);
    let (valid_joints, invalid_joints) = split(names::ROBOT_JOINTS, &is_joint);
    Targets {
        valid_links,
        invalid_links,
        valid_joints,
        invalid_joints,
    }
}

/// Holds every robot of a stage against the schema: its lists, the schemas of its links and joints,
/// tokens, named poses, and what is deprecated.
pub fn validate(view: &View<'_>) -> Vec<Diagnostic> {
    let mut check = Check {
        view,
        findings: Findings::new(view.stage),
    };
    let robots = view.robots();
    if robots.is_empty() {
        let id = view
            .stage
            .default_prim
            .or_else(|| view.prims().next().map(|(id, _)| id));
        let help =
            "run `urdf_usd isaac populate`, or apply IsaacRobotAPI to the robot's topmost prim";
        if let Some(id) = id {
            check.add(
                &codes::NO_ROBOT,
                id,
                None,
                "no prim applies IsaacRobotAPI",
                help,
            );
        } else {
            let place = urdf_usd_diagnostic::Place::file(&view.stage.entry);
            return vec![
                Diagnostic::new(&codes::NO_ROBOT, place, "no prim applies IsaacRobotAPI")
                    .help(help),
            ];
        }
    }
    for &robot in &robots {
        check.lists(robot);
        check.members(robot);
        check.words(robot);
        check.poses(robot);
    }
    check.circles(&robots);
    check.prims();
    check.findings.finish()
}

struct Check<'v, 'a> {
    view: &'v View<'a>,
    findings: Findings<'a>,
}

impl Check<'_, '_> {
    fn add(
        &mut self,
        code: &'static Code,
        id: PrimId,
        property: Option<&str>,
        message: impl Into<String>,
        help: &str,
    ) {
        self.findings.add(code, id, property, message, help);
    }

    fn path(&self, id: PrimId) -> &str {
        &self.view.stage[id].path
    }

    /// What the lists name.
    fn lists(&mut self, robot: PrimId) {
        let Targets {
            invalid_links,
            invalid_joints,
            ..
        } = targets(self.view, robot);
        for (list, invalid, wanted) in [
            (names::ROBOT_LINKS, invalid_links, "a link, site or robot"),
            (names::ROBOT_JOINTS, invalid_joints, "a joint or robot"),
        ] {
            for path in invalid {
                self.wrong_target(robot, list, &path, wanted);
            }
            if is_hidden(self.view, robot, list) {
                let message = format!(
                    "{list} of {} is given in full and hides what weaker layers have",
                    self.path(robot)
                );
                let help = "author it as `prepend rel`, or run `urdf_usd isaac migrate`";
                self.add(&codes::EXPLICIT, robot, Some(list), message, help);
            }
        }
    }

    fn wrong_target(&mut self, robot: PrimId, list: &str, path: &str, wanted: &str) {
        let (code, what) = match self.view.at(path) {
            Some(_) => (&codes::TARGET_KIND, format!("is not {wanted}")),
            None => (&codes::TARGET, "is not there".to_owned()),
        };
        let message = format!("{list} names <{path}>, which {what}");
        self.add(
            code,
            robot,
            Some(list),
            message,
            "remove it from the list, or run `urdf_usd isaac recalculate`",
        );
    }

    /// Which links and joints the robot has, and whether they are marked and listed.
    fn members(&mut self, robot: PrimId) {
        let view = self.view;
        let found = articulation(view, robot);
        let help = "run `urdf_usd isaac recalculate`";
        for (list, members) in [
            (names::ROBOT_LINKS, &found.links),
            (names::ROBOT_JOINTS, &found.joints),
        ] {
            let is_links = list == names::ROBOT_LINKS;
            let (what, schema, code) = match is_links {
                true => ("body", names::LINK_API, &codes::LINK_API),
                false => ("joint", names::JOINT_API, &codes::JOINT_API),
            };
            let targets = view.stage[robot].targets(list);
            let there: HashSet<PrimId> = targets.iter().filter_map(|path| view.at(path)).collect();
            if targets.is_empty() && !members.is_empty() {
                let message = format!(
                    "{} has {} and an empty {list}",
                    self.path(robot),
                    count(members.len(), what)
                );
                self.add(
                    &codes::EMPTY,
                    robot,
                    Some(list),
                    message,
                    "run `urdf_usd isaac populate`",
                );
            }
            for &id in members {
                let is_nested = id != robot && view.is_robot(id);
                if !is_nested && !view.stage[id].has(schema) {
                    let message = format!("the {what} {} does not apply {schema}", self.path(id));
                    self.add(code, id, None, message, help);
                }
                let is_covered = is_nested
                    && there
                        .iter()
                        .any(|&other| view.nested_robot_of(other, robot) == Some(id));
                if !targets.is_empty() && !there.contains(&id) && !is_covered {
                    let what = if is_nested { "robot" } else { what };
                    let message = format!(
                        "the {what} {} is not in {list} of {}",
                        self.path(id),
                        self.path(robot)
                    );
                    self.add(&codes::UNLISTED, id, None, message, help);
                }
            }
        }
        for &joint in &found.loops {
            let message = format!("the joint {} closes a loop", self.path(joint));
            let help =
                "set physics:excludeFromArticulation on the joint of the loop that is to close it";
            self.add(
                &codes::LOOP,
                joint,
                Some("physics:excludeFromArticulation"),
                message,
                help,
            );
        }
        self.first(robot, &found);
    }

    /// Whether the list of links begins with the base.
    fn first(&mut self, robot: PrimId, found: &articulation::Articulation) {
        let view = self.view;
        let listed = view.stage[robot]
            .targets(names::ROBOT_LINKS)
            .iter()
            .find_map(|path| view.at(path));
        let Some(first) = listed else { return };
        let base = all_links(view, robot, false).first().copied();
        let is_site = !view.is_body(first)
            && !view.is_robot(first)
            && !view.stage[first].has(names::LINK_API);
        // The base of an articulation is the first of its links; each other is moved by a joint, or
        // is the base of another.
        let own: HashMap<PrimId, usize> = found
            .links
            .iter()
            .enumerate()
            .map(|(index, id)| (*id, index))
            .collect();
        let node = base.map(|base| view.nested_robot_of(base, robot).unwrap_or(base));
        let is_moved = node.and_then(|node| own.get(&node)).is_some_and(|&index| {
            index > 0
                && found.joints.iter().any(|&joint| {
                    let [first, second] = [0, 1].map(|end| view.joint_body(joint, end));
                    let node_of = |body: PrimId| view.nested_robot_of(body, robot).unwrap_or(body);
                    view.is_joint(joint)
                        && view.is_articulated(joint)
                        && first.is_some()
                        && second.map(node_of) == node
                        && first.map(node_of) != node
                })
        });
        if is_site || is_moved {
            let what = if is_site {
                "a site"
            } else {
                "a link that hangs on another"
            };
            let message = format!("the list of links begins with {}, {what}", self.path(first));
            let help =
                "put the base first, or run `urdf_usd isaac populate`, which orders the list anew";
            self.add(
                &codes::FIRST_LINK,
                robot,
                Some(names::ROBOT_LINKS),
                message,
                help,
            );
        }
    }

    /// The robot's tokens.
    fn words(&mut self, robot: PrimId) {
        let types = names::RobotType::ALL.map(names::RobotType::as_str);
        self.token(robot, names::ROBOT_TYPE, &types);
        self.token(robot, names::LICENSE, &names::LICENSES);
    }

    fn token(&mut self, id: PrimId, attribute: &str, allowed: &[&str]) {
        let Some(token) = self.view.stage[id].text(attribute) else {
            return;
        };
        if !allowed.contains(&token) {
            let message = format!("{attribute} is {token:?}");
            self.add(
                &codes::TOKEN,
                id,
                Some(attribute),
                message,
                &format!("say one of {}", allowed.join(", ")),
            );
        }
    }

    /// Named poses: those that the robot lists and those that stand in it.
    fn poses(&mut self, robot: PrimId) {
        let view = self.view;
        let mut listed = HashSet::new();
        for path in view.stage[robot].targets(names::ROBOT_POSES) {
            match view
                .at(path)
                .filter(|&id| view.stage[id].type_name == names::NAMED_POSE)
            {
                Some(id) => {
                    listed.insert(id);
                }
                None => {
                    let code = if view.at(path).is_some() {
                        &codes::TARGET_KIND
                    } else {
                        &codes::TARGET
                    };
                    let message = format!(
                        "{} names <{path}>, which is no IsaacNamedPose that is there",
                        names::ROBOT_POSES
                    );
                    self.add(
                        code,
                        robot,
                        Some(names::ROBOT_POSES),
                        message,
                        "remove it from the list",
                    );
                }
            }
        }
        for id in view.subtree(robot) {
            if view.stage[id].type_name != names::NAMED_POSE || self.owner(id) != Some(robot) {
                continue;
            }
            if !listed.contains(&id) {
                let message = format!(
                    "the pose {} is not in {} of {}",
                    self.path(id),
                    names::ROBOT_POSES,
                    self.path(robot)
                );
                self.add(
                    &codes::POSE_UNLISTED,
                    id,
                    None,
                    message,
                    "add it to the list",
                );
            }
            self.pose(id);
        }
    }

    /// The robot that a prim stands in.
    fn owner(&self, id: PrimId) -> Option<PrimId> {
        self.view
            .stage
            .ancestors(id)
            .find(|&above| self.view.is_robot(above))
    }

    fn pose(&mut self, id: PrimId) {
        let view = self.view;
        let prim = &view.stage[id];
        let joints = prim.targets(names::POSE_JOINTS);
        for attribute in [names::POSE_VALUES, names::POSE_FIXED] {
            // Joints that nothing says are fixed are not.
            let none = (attribute == names::POSE_VALUES).then_some(0);
            let Some(values) = prim.value(attribute).and_then(array_len).or(none) else {
                continue;
            };
            if values != joints.len() {
                let message = format!(
                    "{} has {} and {values} {attribute}",
                    prim.path,
                    count(joints.len(), "joint")
                );
                self.add(
                    &codes::POSE,
                    id,
                    Some(attribute),
                    message,
                    "give one value for each joint",
                );
            }
        }
        for path in joints {
            if !view.at(path).is_some_and(|joint| view.is_joint(joint)) {
                let message = format!(
                    "{} sets <{path}>, which is no joint that is there",
                    prim.path
                );
                self.add(
                    &codes::POSE,
                    id,
                    Some(names::POSE_JOINTS),
                    message,
                    "name joints of the robot",
                );
            }
        }
        for name in [names::POSE_START, names::POSE_END] {
            let is_there = |path: &String| view.at(path).is_some();
            if prim.targets(name).len() != 1 || !prim.targets(name).iter().all(is_there) {
                let message = format!("{name} of {} names no one link that is there", prim.path);
                self.add(
                    &codes::POSE,
                    id,
                    Some(name),
                    message,
                    "name one link or site of the robot",
                );
            }
        }
    }

    /// Robots that name each other in a circle, each circle once.
    fn circles(&mut self, robots: &[PrimId]) {
        let view = self.view;
        let below: HashMap<PrimId, Vec<PrimId>> = robots
            .iter()
            .map(|&robot| {
                let lists = [names::ROBOT_LINKS, names::ROBOT_JOINTS]
                    .map(|list| view.stage[robot].targets(list));
                let named = lists.into_iter().flatten().filter_map(|path| view.at(path));
                (
                    robot,
                    named
                        .filter(|&id| view.is_robot(id) && (id != robot || !view.is_body(id)))
                        .collect(),
                )
            })
            .collect();
        // Whether a robot is done; what is met and not done is on the way.
        let mut is_done: HashMap<PrimId, bool> = HashMap::new();
        for &start in robots {
            if is_done.contains_key(&start) {
                continue;
            }
            is_done.insert(start, false);
            let mut stack = vec![(start, 0)];
            while let Some((robot, next)) = stack.last_mut() {
                let robot = *robot;
                let child = below
                    .get(&robot)
                    .and_then(|below| below.get(*next))
                    .copied();
                *next += 1;
                match child.map(|child| (child, is_done.get(&child))) {
                    None => {
                        is_done.insert(robot, true);
                        stack.pop();
                    }
                    Some((child, None)) => {
                        is_done.insert(child, false);
                        stack.push((child, 0));
                    }
                    Some((child, Some(false))) => {
                        let message = format!(
                            "{} names {}, in whose lists it is itself",
                            self.path(robot),
                            self.path(child)
                        );
                        let help = "let only one of the two name the other";
                        self.add(
                            &codes::CIRCLE,
                            robot,
                            Some(names::ROBOT_LINKS),
                            message,
                            help,
                        );
                    }
                    Some((_, Some(true))) => {}
                }
            }
        }
    }

    /// What is deprecated, and what prims of any robot say.
    fn prims(&mut self) {
        let view = self.view;
        for (id, prim) in view.prims() {
            if prim.has(names::REFERENCE_POINT_API) {
                let message = format!("{} applies IsaacReferencePointAPI", prim.path);
                self.add(
                    &codes::DEPRECATED_SITE,
                    id,
                    None,
                    message,
                    "run `urdf_usd isaac migrate`",
                );
            }
            if view.is_site(id) {
                self.token(id, names::FORWARD_AXIS, &["X", "Y", "Z"]);
            }
            if !view.is_joint(id) {
                continue;
            }
            if let Some((attribute, _)) = offsets(prim).first() {
                let message = format!("{} has attributes for the place of each axis", prim.path);
                self.add(
                    &codes::DEPRECATED_DOF,
                    id,
                    Some(attribute),
                    message,
                    "run `urdf_usd isaac migrate`",
                );
            }
            let order = prim
                .value(names::DOF_ORDER)
                .and_then(texts)
                .unwrap_or_default();
            let mut seen = HashSet::new();
            if let Some(wrong) = order
                .iter()
                .find(|token| !names::DOF_TOKENS.contains(token) || !seen.insert(**token))
            {
                let message = format!(
                    "{} of {} has {wrong:?}, which is no degree of freedom or there twice",
                    names::DOF_ORDER,
                    prim.path
                );
                let help = format!(
                    "list each degree of freedom once: {}",
                    names::DOF_TOKENS.join(", ")
                );
                self.add(
                    &codes::DOF_ORDER,
                    id,
                    Some(names::DOF_ORDER),
                    message,
                    &help,
                );
            }
        }
    }
}

fn count(number: usize, noun: &str) -> String {
    match (number, noun) {
        (1, noun) => format!("1 {noun}"),
        (number, "body") => format!("{number} bodies"),
        (number, noun) => format!("{number} {noun}s"),
    }
}
