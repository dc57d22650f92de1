//! Validation of a stage against the schema.

mod poses;

use std::collections::{HashMap, HashSet};

use urdf_usd_diagnostic::{Code, Diagnostic};
use urdf_usd_stage::{PrimId, texts};
use urdf_usd_usd_author::isaac_schema as names;

use crate::migrate::{free_axes, is_explicit, offsets};
use crate::report::Findings;
use crate::{View, all_links, articulation, codes};

/// The targets of a robot's lists, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Targets {
    /// Existing links, sites and robots.
    pub valid_links: Vec<String>,
    /// Other targets of the list of links, which do not exist or have another type.
    pub invalid_links: Vec<String>,
    /// Existing joints and robots.
    pub valid_joints: Vec<String>,
    /// Other targets of the list of joints, which do not exist or have another type.
    pub invalid_joints: Vec<String>,
}

/// Returns the targets of the lists of a robot with the topmost prim `robot`.
pub fn targets(view: &View<'_>, robot: PrimId) -> Targets {
    let is_link = |id: PrimId| {
        view.is_body(id)
            || view.stage[id].has(names::LINK_API)
            || view.is_site(id)
            || view.is_robot(id) && id != robot
    };
    let is_joint = |id: PrimId| view.is_joint(id) || view.is_robot(id) && id != robot;
    let split = |list: &str, is_member: &dyn Fn(PrimId) -> bool| -> (Vec<String>, Vec<String>) {
        view.stage[robot]
            .targets(list)
            .iter()
            .cloned()
            .partition(|path| view.at(path).is_some_and(is_member))
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

/// Validates every robot of a stage: its lists, the schemas of its links and joints, tokens, named
/// poses, and deprecated properties.
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
        let overlay = crate::overlay::with_schema(&view.stage.entry);
        let help = overlay.map_or_else(
            || {
                "run `urdf_usd isaac populate`, or apply IsaacRobotAPI to the robot's topmost prim"
                    .to_owned()
            },
            |overlay| format!("name the entry {}, which applies it", overlay.display()),
        );
        if let Some(id) = id {
            check.add(
                &codes::NO_ROBOT,
                id,
                None,
                "no prim applies IsaacRobotAPI",
                &help,
            );
        } else {
            let place = urdf_usd_diagnostic::Place::file(&view.stage.entry);
            return vec![
                Diagnostic::new(&codes::NO_ROBOT, place, "no prim applies IsaacRobotAPI")
                    .help(help),
            ];
        }
    }
    // A site may be in the list of another robot.
    let links = robots
        .iter()
        .flat_map(|robot| view.stage[*robot].targets(names::ROBOT_LINKS));
    let listed: HashSet<PrimId> = links.filter_map(|path| view.at(path)).collect();
    for &robot in &robots {
        check.check_lists(robot);
        check.check_members(robot);
        check.check_sites(robot, &listed);
        check.check_tokens(robot);
        check.check_poses(robot);
    }
    check.check_cycles(&robots);
    check.check_prims();
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

    /// Checks the targets of the lists.
    fn check_lists(&mut self, robot: PrimId) {
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
                self.report_target(robot, list, &path, wanted);
            }
            if is_explicit(self.view, robot, list) {
                let message = format!(
                    "{list} of {} is explicit and hides the entries of weaker layers",
                    self.path(robot)
                );
                let help = "author it as `prepend rel`, or run `urdf_usd isaac migrate`";
                self.add(&codes::EXPLICIT, robot, Some(list), message, help);
            }
        }
    }

    fn report_target(&mut self, robot: PrimId, list: &str, path: &str, wanted: &str) {
        let (code, what) = match self.view.at(path) {
            Some(_) => (&codes::TARGET_KIND, format!("is not {wanted}")),
            None => (&codes::TARGET, "does not exist".to_owned()),
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

    /// Checks that the links and joints of the robot have their schemas and are listed.
    fn check_members(&mut self, robot: PrimId) {
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
            let listed: HashSet<PrimId> = targets.iter().filter_map(|path| view.at(path)).collect();
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
                    && listed
                        .iter()
                        .any(|&other| view.nested_robot_of(other, robot) == Some(id));
                if !targets.is_empty() && !listed.contains(&id) && !is_covered {
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
            let help = "set physics:excludeFromArticulation on the joint that closes the loop";
            self.add(
                &codes::LOOP,
                joint,
                Some("physics:excludeFromArticulation"),
                message,
                help,
            );
        }
        self.check_first_link(robot, &found);
    }

    /// Checks that each site of the robot is in a list of links, all of which are in `listed`.
    fn check_sites(&mut self, robot: PrimId, listed: &HashSet<PrimId>) {
        let view = self.view;
        if view.stage[robot].targets(names::ROBOT_LINKS).is_empty() {
            return;
        }
        for id in view.subtree(robot) {
            // Bodies are checked as links.
            let is_site = view.is_site(id) && !view.is_body(id) && self.owner(id) == Some(robot);
            if is_site && !listed.contains(&id) {
                let message = format!(
                    "the site {} is not in {} of {}",
                    self.path(id),
                    names::ROBOT_LINKS,
                    self.path(robot)
                );
                let help = "run `urdf_usd isaac recalculate`";
                self.add(&codes::UNLISTED, id, None, message, help);
            }
        }
    }

    /// Checks that the list of links begins with the base.
    fn check_first_link(&mut self, robot: PrimId, found: &articulation::Articulation) {
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
        // The first link of an articulation is its base. Any other link is moved by a joint, or is the
        // base of a separate tree.
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
                "a child of another link"
            };
            let message = format!("the list of links begins with {}, {what}", self.path(first));
            let help =
                "put the base first, or run `urdf_usd isaac populate`, which rebuilds the list";
            self.add(
                &codes::FIRST_LINK,
                robot,
                Some(names::ROBOT_LINKS),
                message,
                help,
            );
        }
    }

    /// Checks the tokens of the robot.
    fn check_tokens(&mut self, robot: PrimId) {
        let mut types = names::RobotType::ALL.map(names::RobotType::as_str).to_vec();
        types.retain(|name| !names::EXAMPLE_ROBOT_TYPES.contains(name));
        let robot_type = self.view.stage[robot].text(names::ROBOT_TYPE);
        let example = names::EXAMPLE_ROBOT_TYPES
            .into_iter()
            .find(|example| robot_type == Some(example));
        if let Some(example) = example {
            let message = format!(
                "{} is {example:?}, an example of the documentation that the schema does not list",
                names::ROBOT_TYPE
            );
            let help = format!("use one of {}", types.join(", "));
            let property = Some(names::ROBOT_TYPE);
            self.add(&codes::ROBOT_TYPE, robot, property, message, &help);
        } else {
            self.check_token(robot, names::ROBOT_TYPE, &types);
        }
        self.check_token(robot, names::LICENSE, &names::LICENSES);
    }

    fn check_token(&mut self, id: PrimId, attribute: &str, allowed: &[&str]) {
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
                &format!("use one of {}", allowed.join(", ")),
            );
        }
    }

    /// Returns the nearest robot above a prim.
    fn owner(&self, id: PrimId) -> Option<PrimId> {
        self.view
            .stage
            .ancestors(id)
            .find(|&above| self.view.is_robot(above))
    }

    /// Reports robots whose lists form a cycle, by a depth-first search with an explicit stack.
    fn check_cycles(&mut self, robots: &[PrimId]) {
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
        // Whether a visited robot is completed; otherwise it is on the current path.
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
                            "{} names {}, whose lists contain it in turn",
                            self.path(robot),
                            self.path(child)
                        );
                        let help = "remove one of them from the lists of the other";
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

    /// Checks deprecated schemas and the properties of single prims.
    fn check_prims(&mut self) {
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
                self.check_token(id, names::FORWARD_AXIS, &["X", "Y", "Z"]);
            }
            let (schema, what) = match view.is_joint(id) {
                true => (names::LINK_API, "a joint"),
                false => (names::JOINT_API, "no joint"),
            };
            if prim.has(schema) {
                let message = format!("{schema} is applied to {}, which is {what}", prim.path);
                let help = "remove the schema from its apiSchemas";
                self.add(&codes::SCHEMA_KIND, id, None, message, help);
            }
            if !view.is_joint(id) {
                continue;
            }
            if let Some((attribute, _)) = offsets(prim).first() {
                let message = format!(
                    "{} has deprecated attributes for the order of its axes",
                    prim.path
                );
                self.add(
                    &codes::DEPRECATED_DOF,
                    id,
                    Some(attribute),
                    message,
                    "run `urdf_usd isaac migrate`",
                );
            }
            self.check_order(id);
        }
    }

    /// Checks the order of the degrees of freedom of a joint.
    fn check_order(&mut self, id: PrimId) {
        let prim = &self.view.stage[id];
        let order = prim
            .value(names::DOF_ORDER)
            .and_then(texts)
            .unwrap_or_default();
        let mut seen = HashSet::new();
        let wrong = order
            .iter()
            .find(|token| !names::DOF_TOKENS.contains(token) || !seen.insert(**token));
        let is_general = prim.type_name == "PhysicsJoint";
        let free = free_axes(prim);
        let locked = order.iter().find(|token| !free.contains(token));
        let (message, axes) = match (wrong, locked) {
            (Some(wrong), _) => (
                format!(
                    "{} of {} has {wrong:?}, which is a duplicate or not a degree of freedom",
                    names::DOF_ORDER,
                    prim.path
                ),
                names::DOF_TOKENS.to_vec(),
            ),
            (None, Some(locked)) if is_general => (
                format!(
                    "{} of {} has {locked:?}, which the limits of the joint lock",
                    names::DOF_ORDER,
                    prim.path
                ),
                free,
            ),
            // The former attributes for the order are reported as such.
            _ if is_general
                && order.is_empty()
                && free.len() > 1
                && prim.has(names::JOINT_API)
                && offsets(prim).is_empty() =>
            {
                let message = format!(
                    "the joint {} has {} and no {}",
                    prim.path,
                    count(free.len(), "degree of freedom"),
                    names::DOF_ORDER
                );
                (message, free)
            }
            _ => return,
        };
        let help = format!("list each degree of freedom once: {}", axes.join(", "));
        self.add(
            &codes::DOF_ORDER,
            id,
            Some(names::DOF_ORDER),
            message,
            &help,
        );
    }
}

fn count(number: usize, noun: &str) -> String {
    match (number, noun) {
        (1, noun) => format!("1 {noun}"),
        (number, "body") => format!("{number} bodies"),
        (number, "degree of freedom") => format!("{number} degrees of freedom"),
        (number, noun) => format!("{number} {noun}s"),
    }
}
