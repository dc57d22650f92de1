//! Look-up of links and joints by name, with errors for unknown names.

use urdf_usd_diagnostic::{Code, Diagnostic, Place, did_you_mean, nearest};
use urdf_usd_robot::{Joint, JointId, Link, LinkId, Robot};

use crate::mechanism::Mechanism;
use crate::{Chain, Error, codes};

/// Maximum number of names listed in an error without a suggestion.
const MOST_NAMED: usize = 30;

/// Returns the link with a name.
///
/// # Errors
/// [`codes::UNKNOWN_LINK`], with a similar name.
pub fn link(robot: &Robot, name: &str) -> Result<LinkId, Diagnostic> {
    robot.link_named(name).ok_or_else(|| {
        let names = robot.links().values().map(Link::name);
        unknown(robot, &codes::UNKNOWN_LINK, "link", name, names)
    })
}

/// Returns the joint with a name.
///
/// # Errors
/// [`codes::UNKNOWN_JOINT`], with a similar name.
pub fn joint(robot: &Robot, name: &str) -> Result<JointId, Diagnostic> {
    robot.joint_named(name).ok_or_else(|| {
        let names = robot.joints().values().map(Joint::name);
        unknown(robot, &codes::UNKNOWN_JOINT, "joint", name, names)
    })
}

/// Returns the error for a name that is not among `names`; `what` is the kind of element.
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
    let message = format!("the robot has no {what} \"{name}\"");
    Diagnostic::new(code, of_file(robot), message).help(help)
}

/// Returns the place of an error in what a caller asks of a robot: its file. No line of the file is
/// wrong.
pub fn of_file(robot: &Robot) -> Place {
    Place {
        file: robot.place.file.clone(),
        ..Place::default()
    }
}

/// Returns the default base of poses: the root of the first tree.
///
/// # Errors
/// [`codes::UNKNOWN_LINK`] if the robot has no links.
pub fn base(robot: &Robot) -> Result<LinkId, Diagnostic> {
    robot.tree().roots().first().copied().ok_or_else(|| {
        let message = "the robot has no links";
        Diagnostic::new(&codes::UNKNOWN_LINK, of_file(robot), message)
    })
}

/// Returns the chain between two links.
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

/// Returns the error as a diagnostic, with the names of the links.
pub fn no_way(robot: &Robot, error: Error) -> Diagnostic {
    let name = |link: LinkId| robot.links()[link].name();
    let message = match error {
        Error::NoWay { base, tip } => format!(
            "no joints lead from link \"{}\" to link \"{}\"",
            name(base),
            name(tip)
        ),
        other => other.to_string(),
    };
    Diagnostic::new(&codes::NO_WAY, of_file(robot), message)
        .help("name a base that is in the same tree")
}
