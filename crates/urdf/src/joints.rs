//! Reads joints and mimics.

use std::collections::HashSet;

use nalgebra::{Unit, Vector3};

use super::codes;
use super::links::origin;
use super::xml::{Node, Xml, children, name_of, short};
use urdf_usd_diagnostic::{did_you_mean, nearest};
use urdf_usd_robot::names::UniqueNames;
use urdf_usd_robot::{
    ArenaMap, Bounds, Calibration, Custom, Dynamics, Joint, JointId, JointKind, JointProperties,
    Limit, Link, LinkId, Mimic, Robot, Safety,
};

/// Maximum length of a chain of mimics, which lookups of the leading joint walk through.
const MAX_MIMIC_STEPS: usize = 64;

/// Deviation of an axis from unit length that is not reported: numbers in files are rounded.
const UNIT_TOLERANCE: f64 = 1e-3;

/// Reads all joints of a robot, and returns their elements in the order of joints. Their custom
/// data is not read yet.
pub(super) fn joints<'n>(xml: &mut Xml<'_>, root: Node<'n>, robot: &mut Robot) -> Vec<Node<'n>> {
    let mut nodes: Vec<Node<'n>> = Vec::new();
    let mut names = Names::new(root);
    let mut left_out = Vec::new();
    for node in children(root, "joint") {
        let Some((parent, child)) = ends(xml, node, robot) else {
            names.pass_over(xml, node, robot);
            // Read it all the same, to report its other errors at once.
            properties(xml, node);
            xml.leave_out(node);
            left_out.push(node);
            continue;
        };
        let before = name_of(node).and_then(|name| robot.joint_named(name));
        let is_repeated = before
            .map(|id| &robot.joints()[id])
            .is_some_and(|before| (before.parent(), before.child()) == (parent, child));
        if is_repeated {
            let message = format!(
                "{} is a repetition with the same parent and child; the first is used",
                xml.label(node)
            );
            xml.report(&codes::DUPLICATE_JOINT, node, message, "remove one of them");
        }
        let name = (!is_repeated).then(|| names.assign(xml, node, robot));
        let (kind, properties) = properties(xml, node);
        let added = name.map(|name| robot.add_joint(Joint::new(name, kind, parent, child)));
        match added {
            Some(Ok(id)) => {
                *robot.joint_mut(id) = properties;
                nodes.push(node);
            }
            _ => {
                xml.leave_out(node);
                left_out.push(node);
            }
        }
    }
    mimics(xml, robot, &nodes, &names);
    for node in left_out {
        if let Some(mimic) = xml.child(node, "mimic") {
            // Only for its findings.
            leader(xml, mimic, robot, &names);
        }
    }
    nodes
}

/// Assigns unique names to joints.
struct Names<'n> {
    /// Names of joints that are left out.
    passed_over: HashSet<&'n str>,
    /// All names in the text and generated ones, which further generated names must avoid.
    taken: UniqueNames,
}

impl<'n> Names<'n> {
    fn new(root: Node<'n>) -> Self {
        let mut taken = UniqueNames::default();
        for name in children(root, "joint").filter_map(name_of) {
            taken.insert(name);
        }
        Self {
            passed_over: HashSet::new(),
            taken,
        }
    }

    /// Reports errors in the name of the joint `node`, which is left out and claims no name.
    fn pass_over(&mut self, xml: &mut Xml<'_>, node: Node<'n>, robot: &Robot) {
        match name_of(node) {
            Some(name) => {
                if !self.passed_over.insert(name) || robot.joint_named(name).is_some() {
                    Self::report_another(xml, node, name);
                }
            }
            None => xml.report(
                &codes::UNNAMED,
                node,
                "a joint has no name",
                "add name=\"…\"",
            ),
        }
    }

    /// Reports a duplicate name that needs no new one.
    fn report_another(xml: &mut Xml<'_>, node: Node<'_>, name: &str) {
        let message = format!("another joint has the name \"{}\"", short(name));
        xml.report(
            &codes::DUPLICATE_JOINT,
            node,
            message,
            "give every joint a unique name",
        );
    }

    /// Returns the name of the joint `node`: its own, or a generated one, reported, if it has none
    /// or its own is taken.
    fn assign(&mut self, xml: &mut Xml<'_>, node: Node<'_>, robot: &Robot) -> String {
        match name_of(node) {
            Some(name) if robot.joint_named(name).is_none() => {
                if self.passed_over.contains(name) {
                    Self::report_another(xml, node, name);
                }
                name.to_owned()
            }
            Some(name) => {
                // Renamed instead of left out, so that the links below the joint stay attached.
                let new = self.taken.numbered(name);
                let message = format!(
                    "another joint has the name \"{}\"; this one is renamed \"{}\"",
                    short(name),
                    short(&new)
                );
                xml.report(
                    &codes::DUPLICATE_JOINT,
                    node,
                    message,
                    "give every joint a unique name",
                );
                new
            }
            None => {
                let new = self.taken.numbered("unnamed_joint");
                let message = format!("a joint has no name; it is named \"{new}\"");
                xml.report(&codes::UNNAMED, node, message, "add name=\"…\"");
                new
            }
        }
    }
}

/// Returns the parent and child of a joint; reports and returns `None` if they are missing or
/// unknown.
fn ends(xml: &mut Xml<'_>, node: Node<'_>, robot: &Robot) -> Option<(LinkId, LinkId)> {
    let parent = end(xml, node, "parent", robot);
    let child = end(xml, node, "child", robot);
    let (parent, child) = (parent?, child?);
    if parent == child {
        let message = format!("{} connects a link to itself", xml.label(node));
        xml.report(
            &codes::JOINT_TO_ITSELF,
            node,
            message,
            "correct its parent or child",
        );
        return None;
    }
    Some((parent, child))
}

fn end(xml: &mut Xml<'_>, joint: Node<'_>, which: &str, robot: &Robot) -> Option<LinkId> {
    let node = xml.child(joint, which);
    let Some((node, name)) = node.and_then(|node| {
        Some((
            node,
            node.attribute("link")
                .filter(|name| !name.trim().is_empty())?,
        ))
    }) else {
        let message = format!("{} has no {which} link", xml.label(joint));
        xml.report(
            &codes::NO_JOINT_LINK,
            node.unwrap_or(joint),
            message,
            format!("add <{which} link=\"…\"/>"),
        );
        return None;
    };
    let link = robot.link_named(name);
    if link.is_none() {
        let message = format!(
            "{} has the {which} link \"{}\", which the robot does not have",
            xml.label(joint),
            short(name)
        );
        let alike = |known: &&str| known.trim().eq_ignore_ascii_case(name.trim());
        // Comparing every link for every joint is worth it only for findings that are shown.
        let near = if xml.is_full(&codes::UNKNOWN_LINK) {
            None
        } else {
            robot.links().values().map(Link::name).filter(alike).min()
        };
        let help = did_you_mean(near.map(short))
            .unwrap_or_else(|| "correct the name, or add the link".to_owned());
        xml.report_at(&codes::UNKNOWN_LINK, node, "link", message, help);
    }
    link
}

fn properties(xml: &mut Xml<'_>, node: Node<'_>) -> (JointKind, JointProperties) {
    let (kind, unknown) = kind(xml, node);
    let attributes = unknown
        .into_iter()
        .map(|kind| ("type".to_owned(), kind))
        .collect();
    let properties = JointProperties {
        origin: origin(xml, node),
        axis: axis(xml, node, kind),
        limit: limit(xml, node, kind),
        dynamics: xml.child(node, "dynamics").map(|node| dynamics(xml, node)),
        armature: None,
        safety: xml
            .child(node, "safety_controller")
            .map(|node| safety(xml, node)),
        calibration: xml.child(node, "calibration").map(|node| Calibration {
            rising: optional(xml, node, "rising"),
            falling: optional(xml, node, "falling"),
            reference_position: optional(xml, node, "reference_position"),
        }),
        commanded: None,
        custom: Custom {
            attributes,
            elements: Vec::new(),
        },
        place: xml.place(node),
    };
    (kind, properties)
}

fn optional(xml: &mut Xml<'_>, node: Node<'_>, name: &str) -> Option<f64> {
    xml.number(node, name, "it is ignored")
}

fn dynamics(xml: &mut Xml<'_>, node: Node<'_>) -> Dynamics {
    if !node.has_attribute("damping") && !node.has_attribute("friction") {
        let message = format!(
            "{} has neither damping nor friction, so ROS's URDF parser rejects the robot",
            xml.label(node)
        );
        xml.report(
            &codes::MISSING_ATTRIBUTE,
            node,
            message,
            "add damping=\"…\" or friction=\"…\", or remove the element",
        );
    }
    let mut coefficient = |name| {
        let value = optional(xml, node, name)?;
        Some(magnitude(xml, node, name, value))
    };
    Dynamics {
        damping: coefficient("damping"),
        friction: coefficient("friction"),
    }
}

fn safety(xml: &mut Xml<'_>, node: Node<'_>) -> Safety {
    require(xml, node, &["k_velocity"]);
    Safety {
        soft_lower_limit: xml.limit(node, "soft_lower_limit"),
        soft_upper_limit: xml.limit(node, "soft_upper_limit"),
        k_position: optional(xml, node, "k_position"),
        k_velocity: optional(xml, node, "k_velocity"),
    }
}

/// Reports missing attributes out of `names`, all of which URDF requires.
fn require(xml: &mut Xml<'_>, node: Node<'_>, names: &[&str]) {
    let missing: Vec<&str> = names
        .iter()
        .copied()
        .filter(|name| !node.has_attribute(*name))
        .collect();
    if !missing.is_empty() {
        let message = format!(
            "{} has no {}, so ROS's URDF parser rejects the robot",
            xml.label(node),
            missing.join(" and no ")
        );
        let help = missing
            .iter()
            .map(|name| format!("{name}=\"…\""))
            .collect::<Vec<_>>()
            .join(" and ");
        xml.report(
            &codes::MISSING_ATTRIBUTE,
            node,
            message,
            format!("add {help}"),
        );
    }
}

/// Returns the kind of a joint, and the value of its type if URDF does not define it.
fn kind(xml: &mut Xml<'_>, node: Node<'_>) -> (JointKind, Option<String>) {
    use JointKind::{Continuous, Fixed, Floating, Planar, Prismatic, Revolute};
    let word = node.attribute("type");
    let kinds = [Fixed, Revolute, Continuous, Prismatic, Planar, Floating];
    if let Some(kind) = kinds
        .into_iter()
        .find(|kind| Some(kind.as_str()) == word.map(str::trim))
    {
        return (kind, None);
    }
    let message = match word {
        Some(word) => format!(
            "{} has the unknown type \"{}\"; it is read as fixed",
            xml.label(node),
            short(word)
        ),
        None => format!("{} has no type; it is read as fixed", xml.label(node)),
    };
    let known = [
        "fixed",
        "revolute",
        "continuous",
        "prismatic",
        "planar",
        "floating",
    ];
    let meant = word.and_then(|word| did_you_mean(nearest(word, known)));
    let help = meant.unwrap_or_else(|| {
        "use fixed, revolute, continuous, prismatic, planar or floating".to_owned()
    });
    xml.report_at(&codes::UNKNOWN_JOINT_TYPE, node, "type", message, help);
    (Fixed, word.map(str::to_owned))
}

fn axis(xml: &mut Xml<'_>, joint: Node<'_>, kind: JointKind) -> Unit<Vector3<f64>> {
    let Some(node) = xml.child(joint, "axis") else {
        return Vector3::x_axis();
    };
    let Some(xyz) = xml.numbers::<3>(node, "xyz", "1 0 0 is used") else {
        return Vector3::x_axis();
    };
    let axis = Vector3::from(xyz);
    let matters = !matches!(kind, JointKind::Fixed | JointKind::Floating);
    // Scaled before the norm is taken: the square of a tiny number underflows.
    let largest = axis.amax();
    if largest == 0.0 {
        if matters {
            let message = "the axis 0 0 0 has no direction; 1 0 0 is used".to_owned();
            xml.report_at(
                &codes::ZERO_AXIS,
                node,
                "xyz",
                message,
                "set the direction of motion",
            );
        }
        return Vector3::x_axis();
    }
    let length = (axis / largest).norm() * largest;
    if matters && (length - 1.0).abs() > UNIT_TOLERANCE {
        let message = format!("the axis has length {length:.4} instead of 1");
        xml.report_at(
            &codes::AXIS_NOT_UNIT,
            node,
            "xyz",
            message,
            "only its direction counts",
        );
    }
    // Normalising a unit vector would only round it again.
    if (axis.norm_squared() - 1.0).abs() < 1e-15 {
        Unit::new_unchecked(axis)
    } else {
        Unit::new_normalize(axis / largest)
    }
}

/// Reads the limits of a joint. URDF's default replaces a missing side of the range of a revolute
/// or prismatic joint.
fn limit(xml: &mut Xml<'_>, joint: Node<'_>, kind: JointKind) -> Option<Limit> {
    let node = xml.child(joint, "limit");
    let given = |name: &str| node.is_some_and(|node| node.has_attribute(name));
    let has_range = matches!(kind, JointKind::Revolute | JointKind::Prismatic);
    if has_range && !given("lower") && !given("upper") {
        let message = format!(
            "{} has no lower and upper limit; it is unlimited",
            xml.label(joint)
        );
        let help = "add <limit lower=\"…\" upper=\"…\" effort=\"…\" velocity=\"…\"/>, or make a revolute joint continuous";
        // With URDF's default of 0 on both sides, the joint could not move.
        let limit = node.map(|node| read_limit(xml, node, kind, false));
        xml.report(&codes::NO_LIMIT, node.unwrap_or(joint), message, help);
        return limit;
    }
    node.map(|node| read_limit(xml, node, kind, has_range))
}

/// Reads a limit element; with `is_range`, a missing side of the range is 0.
fn read_limit(xml: &mut Xml<'_>, node: Node<'_>, kind: JointKind, is_range: bool) -> Limit {
    require(xml, node, &["effort", "velocity"]);
    let [mut lower, mut upper] = ["lower", "upper"].map(|name| xml.limit(node, name));
    let effort = xml
        .limit(node, "effort")
        .map(|value| magnitude(xml, node, "effort", value));
    let velocity = xml
        .limit(node, "velocity")
        .map(|value| magnitude(xml, node, "velocity", value));
    for (name, side) in [("lower", &mut lower), ("upper", &mut upper)] {
        if is_range && !node.has_attribute(name) {
            *side = Some(0.0);
            let message = format!(
                "{} has no {name}; URDF's default, 0, is used",
                xml.label(node)
            );
            xml.report(
                &codes::HALF_LIMIT,
                node,
                message,
                format!("add {name}=\"…\""),
            );
        }
    }
    if let (Some(low), Some(high)) = (lower, upper)
        && low > high
    {
        let has_limits = matches!(
            kind,
            JointKind::Revolute | JointKind::Prismatic | JointKind::Planar
        );
        let (what, help) = if has_limits {
            (
                "they are exchanged (Bullet reads them as no limits)".to_owned(),
                "exchange them, or correct a sign",
            )
        } else {
            (lower, upper) = (None, None);
            (
                format!(
                    "they are left out, as a {} joint has no limits",
                    kind.as_str()
                ),
                "remove them",
            )
        };
        let message = format!("the lower limit {low} is above the upper limit {high}; {what}");
        xml.report_at(&codes::LIMITS_SWAPPED, node, "lower", message, help);
    }
    Limit {
        bounds: Bounds::between(lower, upper),
        effort,
        velocity,
    }
}

fn magnitude(xml: &mut Xml<'_>, node: Node<'_>, name: &str, value: f64) -> f64 {
    if value < 0.0 {
        let message = format!("{name} is negative; its magnitude is used");
        xml.report_at(
            &codes::NEGATIVE_LIMIT,
            node,
            name,
            message,
            "remove the sign",
        );
    }
    value.abs()
}

/// The mimics of the description, by joint.
type Mimics = ArenaMap<Joint, Option<Mimic>>;

/// Assigns mimics to the joints, except those that would form a cycle or too long a chain.
fn mimics(xml: &mut Xml<'_>, robot: &mut Robot, nodes: &[Node<'_>], names: &Names<'_>) {
    let mut mimics: Mimics = ArenaMap::filled(robot.joints(), None);
    for (&node, id) in nodes.iter().zip(robot.joints().handles()) {
        if let Some(mimic) = xml.child(node, "mimic") {
            mimics[id] = self::mimic(xml, mimic, (id, node), robot, names);
            if mimics[id].is_none() {
                xml.leave_out(mimic);
            }
        }
    }
    let mut drop = |mimics: &mut Mimics, joints: Vec<JointId>, code, what: &str, help: &str| {
        for id in joints {
            mimics[id] = None;
            let Some(&node) = nodes.get(id.index()) else {
                continue;
            };
            if let Some(mimic) = children(node, "mimic").next() {
                let message = format!("{} {what}", xml.label(node));
                xml.report(code, mimic, message, help);
                xml.leave_out(mimic);
            }
        }
    };
    // Cycles first: `too_long` follows each chain to its end.
    let found = circular(&mimics);
    drop(
        &mut mimics,
        found,
        &codes::MIMIC_CYCLE,
        "mimics itself through other joints",
        "remove one of the mimics of the cycle",
    );
    let found = too_long(&mimics);
    drop(
        &mut mimics,
        found,
        &codes::MIMIC_TOO_LONG,
        &format!("mimics through more than {MAX_MIMIC_STEPS} other joints"),
        "let it mimic the first joint of the chain",
    );
    // The mimics are free of cycles, and refer to joints of this robot.
    if let Err(error) = robot.set_mimics(mimics.iter().map(|(id, mimic)| (id, *mimic))) {
        xml.push(error.to_diagnostic(robot.place.clone()));
    }
}

/// Returns the joints whose mimics have to be removed so that no chain is longer than
/// [`MAX_MIMIC_STEPS`].
///
/// The mimics must be free of cycles. Each joint's distance from the end of its chain is computed
/// once, so the cost is linear.
fn too_long(mimics: &Mimics) -> Vec<JointId> {
    let mut cut = Vec::new();
    let mut steps: ArenaMap<Joint, Option<usize>> = mimics.map(|_| None);
    for (start, _) in mimics.iter() {
        let (mut path, mut at) = (Vec::new(), start);
        while steps[at].is_none() {
            path.push(at);
            match mimics[at] {
                Some(mimic) => at = mimic.joint,
                None => break,
            }
        }
        let mut below = steps[at];
        for &joint in path.iter().rev() {
            let length = match below {
                Some(steps) if steps == MAX_MIMIC_STEPS => {
                    cut.push(joint);
                    0
                }
                Some(steps) => steps + 1,
                None => 0,
            };
            steps[joint] = Some(length);
            below = steps[joint];
        }
    }
    cut
}

/// Reads a `mimic` element of the joint `follower`; reports and returns `None` if it is not
/// possible.
fn mimic(
    xml: &mut Xml<'_>,
    node: Node<'_>,
    (follower, joint): (JointId, Node<'_>),
    robot: &Robot,
    names: &Names<'_>,
) -> Option<Mimic> {
    let mimic = leader(xml, node, robot, names)?;
    if mimic.joint == follower {
        let message = format!("{} mimics itself", xml.label(joint));
        xml.report_at(
            &codes::MIMIC_CYCLE,
            node,
            "joint",
            message,
            "name the joint to mimic",
        );
        return None;
    }
    let still = [mimic.joint, follower]
        .map(|id| &robot.joints()[id])
        .into_iter()
        .find(|joint| urdf_usd_robot::kinematics::position_count(joint.kind()) != 1);
    if let Some(still) = still {
        let message = format!(
            "the joint \"{}\" is {} and can neither mimic nor be mimicked",
            short(still.name()),
            still.kind().as_str()
        );
        xml.report(
            &codes::MIMIC_WITHOUT_POSITION,
            node,
            message,
            "use revolute, continuous or prismatic joints only",
        );
        return None;
    }
    Some(mimic)
}

/// Reads the leader, multiplier and offset of a `mimic` element; reports and returns `None` if the
/// leader does not exist.
fn leader(xml: &mut Xml<'_>, node: Node<'_>, robot: &Robot, names: &Names<'_>) -> Option<Mimic> {
    let multiplier = xml.number(node, "multiplier", "1 is used").unwrap_or(1.0);
    let offset = xml.number(node, "offset", "0 is used").unwrap_or(0.0);
    let Some(name) = node
        .attribute("joint")
        .filter(|name| !name.trim().is_empty())
    else {
        let message = format!("{} names no joint", xml.label(node));
        xml.report_at(
            &codes::DANGLING_MIMIC,
            node,
            "joint",
            message,
            "add joint=\"…\"",
        );
        return None;
    };
    let leader = robot.joint_named(name);
    if leader.is_none() {
        let (what, help) = match names.passed_over.contains(name) {
            true => ("is left out", "correct that joint first"),
            false => ("does not exist", "correct the name, or add the joint"),
        };
        let message = format!("the mimicked joint \"{}\" {what}", short(name));
        xml.report_at(&codes::DANGLING_MIMIC, node, "joint", message, help);
    }
    Some(Mimic {
        joint: leader?,
        multiplier,
        offset,
    })
}

/// Returns, for each cycle of mimics, the joint in it that is visited first. Each joint is visited
/// once.
fn circular(mimics: &Mimics) -> Vec<JointId> {
    let mut circular = Vec::new();
    // The walk that visited each joint.
    let mut visited: ArenaMap<Joint, Option<JointId>> = mimics.map(|_| None);
    for (start, _) in mimics.iter() {
        let mut at = start;
        while visited[at].is_none() {
            visited[at] = Some(start);
            match mimics[at] {
                Some(mimic) => at = mimic.joint,
                None => break,
            }
        }
        // Visited again in the same walk, by following a mimic: a cycle.
        if visited[at] == Some(start) && mimics[at].is_some() {
            circular.push(at);
        }
    }
    circular
}
