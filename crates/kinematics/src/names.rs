//! Links and joints by the names that people give, and what is told of those that there are not.

use urdf_usd_diagnostic::{Code, Diagnostic, did_you_mean, nearest};
use urdf_usd_robot::{JointId, LinkId, Robot};

use crate::mechanism::Mechanism;
use crate::{Chain, Error, codes};

/// How many names are listed where none looks like the one that was given.
const MOST_NAMED: usize = 30;

/// The link of a name.
///
/// # Errors
/// [`codes::UNKNOWN_LINK`], with a name that looks like it.
pub fn link(robot: &Robot, name: &str) -> Result<LinkId, Diagnostic> {
    let found = robot
        .links
        .iter()
        .position(|link| link.name == name)
        .map(LinkId);
    found.ok_or_else(|| {
        unknown(
            robot,
            &codes::UNKNOWN_LINK,
            "link",
            name,
            robot.links.iter().map(|link| link.name.as_str()),
        )
    })
}

/// The joint of a name.
///
/// # Errors
/// [`codes::UNKNOWN_JOINT`], with a name that looks like it.
pub fn joint(robot: &Robot, name: &str) -> Result<JointId, Diagnostic> {
    let found = robot
        .joints
        .iter()
        .position(|joint| joint.name == name)
        .map(JointId);
    let names = || robot.joints.iter().map(|joint| joint.name.as_str());
    found.ok_or_else(|| unknown(robot, &codes::UNKNOWN_JOINT, "joint", name, names()))
}

/// That a robot has nothing of a name among `names`; `what` it would be, in a word.
pub fn unknown<'a>(
    robot: &Robot,
    code: &'static Code,
    what: &str,
    name: &str,
    names: impl Iterator<Item = &'a str>,
) -> Diagnostic {
    let names: Vec<&str> = names.collect();
    let help = did_you_mean(nearest(name, names.iter().copied())).unwrap_or_else(|| {
        match names.get(MOST_NAMED..) {
            _ if names.is_empty() => format!("it has no {what} at all"),
            Some(more @ [_, ..]) => {
                format!(
                    "it has {}, and {} more",
                    names
                        .iter()
                        .take(MOST_NAMED)
                        .copied()
                        .collect::<Vec<_>>()
                        .join(", "),
                    more.len()
                )
            }
            _ => format!("it has {}", names.join(", ")),
        }
    });
    Diagnostic::new(
        code,
        robot.place.clone(),
        format!("the robot has no {what} \"{name}\""),
    )
    .help(help)
}

/// The link that poses are in where none is named: the root of the first tree.
pub fn base(robot: &Robot) -> LinkId {
    robot.tree.roots.first().copied().unwrap_or(LinkId(0))
}

/// The chain between two links.
///
/// # Errors
/// [`codes::NO_WAY`] if they are in two trees.
pub fn chain(
    robot: &Robot,
    mechanism: &Mechanism,
    base: LinkId,
    tip: LinkId,
) -> Result<Chain, Diagnostic> {
    Chain::between(mechanism, base, tip).map_err(|error| no_way(robot, error))
}

/// What an error about links means to people.
pub fn no_way(robot: &Robot, error: Error) -> Diagnostic {
    let name = |link: LinkId| {
        robot
            .links
            .get(link.0)
            .map_or("?", |link| link.name.as_str())
    };
    let message = match error {
        Error::NoWay { base, tip } => format!(
            "no joints lead from link \"{}\" to link \"{}\"",
            name(base),
            name(tip)
        ),
        other => other.to_string(),
    };
    Diagnostic::new(&codes::NO_WAY, robot.place.clone(), message)
        .help("name a base that is in the same tree")
}
