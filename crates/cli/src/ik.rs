//! `urdf_usd ik`: joint positions that bring links to targets.

use std::io::Write;
use std::process::ExitCode;

use clap::Args;
use nalgebra::{Point3, Quaternion, UnitQuaternion};
use serde_json::{Map, json};

use super::pose::{Positions, Subject, coordinates, joints, numbers, read};
use super::{print_diagnostics, print_json, wrong};
use urdf_usd_diagnostic::{Diagnostic, escape_controls};
use urdf_usd_kinematics::ik::{Goal, Lm, Outcome, Problem, Restarts, Starts, Target, solve};
use urdf_usd_kinematics::{Mechanism, codes, names};
use urdf_usd_robot::{JointId, Pose, Robot};

/// `ik`.
#[derive(Args)]
pub struct Ik {
    #[command(flatten)]
    subject: Subject,
    /// The link to bring to the target (may be given several times, each with its target)
    #[arg(long = "tip", value_name = "LINK", required = true)]
    tips: Vec<String>,
    /// Where the tip's frame is wanted in the frame of the base: x,y,z in metres and the quaternion
    /// qx,qy,qz,qw; or x,y,z alone, however it is turned
    #[arg(long = "target", value_name = "X,Y,Z[,QX,QY,QZ,QW]", required = true, allow_hyphen_values = true, value_parser = goal)]
    targets: Vec<Goal>,
    /// The link in whose frame targets are [default: the root link]
    #[arg(long, value_name = "LINK")]
    base: Option<String>,
    #[command(flatten)]
    start: Positions,
    /// A joint that stays where it starts (may be given several times)
    #[arg(long = "fix", value_name = "JOINT")]
    fixed: Vec<String>,
    /// Keep joints off their limits by so many radians or metres
    #[arg(long, value_name = "MARGIN", default_value_t = 0.0, value_parser = not_negative)]
    margin: f64,
    /// How often it is tried: first from the positions that are set, or from the best of 512 if
    /// none are, then from random ones
    #[arg(long, value_name = "N", default_value_t = Restarts::default().attempts as u32, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    attempts: u32,
    /// What random positions follow from
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Print JSON: `joints` (radians, metres), `reached`, `error` (`position` in metres, `angle` in
    /// radians), `iterations`, `attempts`
    #[arg(long)]
    json: bool,
}

fn goal(text: &str) -> Result<Goal, String> {
    match numbers(text)?.as_slice() {
        [x, y, z] => Ok(Goal::Position(Point3::new(*x, *y, *z))),
        [x, y, z, qx, qy, qz, qw] => {
            let turn = UnitQuaternion::try_new(Quaternion::new(*qw, *qx, *qy, *qz), 1e-9)
                .ok_or("the quaternion has no length")?;
            Ok(Goal::Pose(Pose::from_parts(
                nalgebra::Translation3::new(*x, *y, *z),
                turn,
            )))
        }
        other => Err(format!(
            "it has {} numbers, not 3 (x,y,z) or 7 (x,y,z,qx,qy,qz,qw)",
            other.len()
        )),
    }
}

fn not_negative(text: &str) -> Result<f64, String> {
    let number = text
        .parse::<f64>()
        .ok()
        .filter(|number| *number >= 0.0 && number.is_finite());
    number.ok_or_else(|| "it is no number from zero".to_owned())
}

/// Runs the command.
pub fn run(arguments: &Ik) -> ExitCode {
    if arguments.tips.len() != arguments.targets.len() {
        let (tips, targets) = (arguments.tips.len(), arguments.targets.len());
        return wrong(&format!(
            "{tips} --tip and {targets} --target: give one --target for each --tip, in the same order"
        ));
    }
    let (robot, mut found) = match read(&arguments.subject) {
        Ok(read) => read,
        Err(code) => return code,
    };
    let mechanism = Mechanism::of(&robot);
    let solved = solved(&robot, &mechanism, arguments, &mut found);
    let (q, outcome, moved) = match solved {
        Ok(solved) => solved,
        Err(stop) => {
            found.push(stop);
            print_diagnostics(&found, None);
            return ExitCode::FAILURE;
        }
    };
    if !outcome.is_reached {
        let Outcome {
            position,
            angle,
            attempts,
            ..
        } = outcome;
        let message = format!(
            "not reached in {attempts} attempts: {position:.6} m and {angle:.6} rad are left"
        );
        let help = "bring the target within reach, give it as x,y,z alone if its rotation does not matter, or more --attempts";
        found.push(Diagnostic::new(&codes::NOT_REACHED, robot.place.clone(), message).help(help));
    }
    print_diagnostics(&found, None);
    let joints = joints(&robot, &mechanism, &q, |joint| moved.contains(&joint));
    if arguments.json {
        let error = json!({ "position": outcome.position, "angle": outcome.angle });
        let joints = Map::from_iter(joints);
        let told = json!({
            "robot": robot.name(), "joints": joints, "reached": outcome.is_reached, "error": error,
            "iterations": outcome.iterations, "attempts": outcome.attempts, "diagnostics": found,
        });
        let code = print_json(&told);
        return if outcome.is_reached {
            code
        } else {
            ExitCode::FAILURE
        };
    }
    let mut out = std::io::stdout().lock();
    for (name, position) in &joints {
        // A closed pipe (`| head`) is the reader's choice.
        let _ = writeln!(
            out,
            "{}",
            escape_controls(&format!(
                "{name}={}",
                position.to_string().replace(['[', ']', ' '], "")
            ))
        );
    }
    if outcome.is_reached {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Coordinates, how near they come, and the joints that were of use.
type Solved = (Vec<f64>, Outcome, Vec<JointId>);

fn solved(
    robot: &Robot,
    mechanism: &Mechanism,
    arguments: &Ik,
    found: &mut Vec<Diagnostic>,
) -> Result<Solved, Diagnostic> {
    let mut q = coordinates(robot, mechanism, &arguments.start, found)?;
    let base = arguments
        .base
        .as_deref()
        .map_or_else(|| names::base(robot), |name| names::link(robot, name))?;
    let target =
        |(tip, goal): (&String, &Goal)| Ok(Target::new(base, names::link(robot, tip)?, *goal));
    let targets = arguments
        .tips
        .iter()
        .zip(&arguments.targets)
        .map(target)
        .collect::<Result<Vec<_>, Diagnostic>>()?;
    let fixed = arguments
        .fixed
        .iter()
        .map(|name| names::joint(robot, name))
        .collect::<Result<Vec<_>, _>>()?;
    let problem = Problem::new(mechanism, &targets).map_err(|error| names::no_way(robot, error))?;
    let problem = problem.holding(&fixed).with_margin(arguments.margin);
    if let Some(tip) = problem
        .unmoved()
        .and_then(|index| arguments.tips.get(index))
    {
        let message = format!("nothing moves \"{tip}\" for the base");
        let help = "name another --base or --tip, or let go of a joint (--fix)";
        return Err(Diagnostic::new(&codes::NO_MOTION, robot.place.clone(), message).help(help));
    }
    let restarts = Restarts {
        attempts: arguments.attempts as usize,
        seed: arguments.seed,
    };
    let mut steps = 0;
    if !arguments.start.is_given() {
        steps = Starts::new(&problem, &q).choose(&problem, &mut q);
    }
    let outcome = solve(&mut Lm::default(), &problem, &mut q, &restarts);
    let outcome = Outcome {
        iterations: outcome.iterations + steps,
        ..outcome
    };
    let mut moved: Vec<JointId> = problem
        .chains()
        .flat_map(|chain| chain.joints().iter().map(|joint| joint.joint))
        .collect();
    moved.extend(
        problem
            .chains()
            .flat_map(|chain| chain.coordinates())
            .filter_map(|at| mechanism.coordinates().get(*at).map(|c| c.joint)),
    );
    Ok((q, outcome, moved))
}
