//! `urdf_usd ik`: finds joint positions that bring links to targets.

use std::fmt::Write;
use std::process::ExitCode;

use clap::Args;
use nalgebra::{Point3, Quaternion, UnitQuaternion};
use serde_json::{Map, json};

use super::OUTPUT;
use super::pose::{Positions, Subject, coordinates, joints, numbers, read};
use super::print_diagnostics;
use super::results::{failed_with, print, print_json, usage_error};
use urdf_usd_diagnostic::{Diagnostic, escape_controls};
use urdf_usd_kinematics::ik::{Goal, Lm, Outcome, Problem, Restarts, Starts, Target, solve};
use urdf_usd_kinematics::{Mechanism, codes, names};
use urdf_usd_robot::{JointId, Pose, Robot};

/// Heading of the options of the solver.
const SOLVER: &str = "Solver";

/// `ik`.
#[derive(Args)]
pub struct Ik {
    #[command(flatten)]
    subject: Subject,
    /// The link to bring to the target (may be given several times, each with its own target)
    #[arg(long = "tip", value_name = "LINK", required = true)]
    tips: Vec<String>,
    /// The target pose of the tip's frame in the base's frame: x,y,z in metres and the quaternion
    /// qx,qy,qz,qw; or x,y,z alone for any orientation
    #[arg(long = "target", value_name = "X,Y,Z[,QX,QY,QZ,QW]", required = true, allow_hyphen_values = true, value_parser = goal)]
    targets: Vec<Goal>,
    /// The link in whose frame targets are given [default: the root link]
    #[arg(long, value_name = "LINK")]
    base: Option<String>,
    #[command(flatten)]
    start: Positions,
    /// Keep a joint at its starting position (may be given several times)
    #[arg(long = "fix", value_name = "JOINT")]
    fixed: Vec<String>,
    /// Keep joints this far from their limits, in rad or m
    #[arg(long, value_name = "MARGIN", default_value_t = 0.0, value_parser = not_negative)]
    margin: f64,
    /// Maximum number of attempts: the first from the given positions, or from the best of 512
    /// random ones if none are given; the others from random positions
    #[arg(long, value_name = "N", default_value_t = Restarts::default().attempts as u32, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    attempts: u32,
    /// Consider the targets reached at this norm of all errors, in m and rad, each times its weight
    #[arg(long, value_name = "ERROR", default_value_t = Lm::default().tolerance, value_parser = positive, help_heading = SOLVER)]
    tolerance: f64,
    /// Multiply errors of orientation, in rad, by this weight
    #[arg(long, value_name = "WEIGHT", default_value_t = Lm::default().rotation_weight, value_parser = not_negative, help_heading = SOLVER)]
    rotation_weight: f64,
    /// Multiply errors of position, in m, by this weight
    #[arg(long, value_name = "WEIGHT", default_value_t = Lm::default().position_weight, value_parser = not_negative, help_heading = SOLVER)]
    position_weight: f64,
    /// The damping of the first step; it adapts. More damping gives shorter, safer steps
    #[arg(long, value_name = "DAMPING", default_value_t = Lm::default().damping, value_parser = positive, help_heading = SOLVER)]
    damping: f64,
    /// Maximum number of steps of an attempt
    #[arg(long, value_name = "N", default_value_t = Lm::default().iterations as u32, value_parser = clap::value_parser!(u32).range(1..=1_000_000), help_heading = SOLVER)]
    iterations: u32,
    /// Maximum norm of a step: the changes of all joints, in rad and m
    #[arg(long, value_name = "STEP", default_value_t = Lm::default().max_step, value_parser = positive, help_heading = SOLVER)]
    max_step: f64,
    /// The seed of the random positions
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Print JSON: `joints` (radians, metres), `reached`, `error` (`position` in metres, `angle` in
    /// radians), `iterations`, `attempts`
    #[arg(long, help_heading = OUTPUT)]
    json: bool,
}

fn goal(text: &str) -> Result<Goal, String> {
    match numbers(text)?.as_slice() {
        [x, y, z] => Ok(Goal::Position(Point3::new(*x, *y, *z))),
        [x, y, z, qx, qy, qz, qw] => {
            let turn = UnitQuaternion::try_new(Quaternion::new(*qw, *qx, *qy, *qz), 1e-9)
                .ok_or("the quaternion has length zero")?;
            Ok(Goal::Pose(Pose::from_parts(
                nalgebra::Translation3::new(*x, *y, *z),
                turn,
            )))
        }
        other => Err(format!(
            "found {} numbers instead of 3 (x,y,z) or 7 (x,y,z,qx,qy,qz,qw)",
            other.len()
        )),
    }
}

fn positive(text: &str) -> Result<f64, String> {
    let number = not_negative(text).ok().filter(|number| *number > 0.0);
    number.ok_or_else(|| "give a number above 0".to_owned())
}

fn not_negative(text: &str) -> Result<f64, String> {
    let number = text
        .parse::<f64>()
        .ok()
        .filter(|number| *number >= 0.0 && number.is_finite());
    number.ok_or_else(|| "give a number of at least 0".to_owned())
}

/// Runs the command.
pub fn run(arguments: &Ik) -> ExitCode {
    if arguments.tips.len() != arguments.targets.len() {
        let (tips, targets) = (arguments.tips.len(), arguments.targets.len());
        return usage_error(&format!(
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
            return failed_with(&found, None);
        }
    };
    if !outcome.is_reached {
        let Outcome {
            position,
            angle,
            attempts,
            ..
        } = outcome;
        // The angle of a target without an orientation is zero.
        let (left, without) = if angle > 0.0 {
            let left = format!("{position:.6} m and {angle:.6} rad are left");
            (
                left,
                " give x,y,z alone if the orientation does not matter,",
            )
        } else {
            (format!("{position:.6} m are left"), "")
        };
        let message = format!("not reached in {attempts} attempts: {left}");
        let help = format!("move the target within reach,{without} or allow more --attempts");
        found
            .push(Diagnostic::new(&codes::NOT_REACHED, names::of_file(&robot), message).help(help));
    }
    print_diagnostics(&found, None);
    let joints = joints(&robot, &mechanism, &q, |joint| moved.contains(&joint));
    let printed = if arguments.json {
        let error = json!({ "position": outcome.position, "angle": outcome.angle });
        let joints = Map::from_iter(joints);
        let outcome_json = json!({
            "robot": robot.name(), "joints": joints, "reached": outcome.is_reached, "error": error,
            "iterations": outcome.iterations, "attempts": outcome.attempts, "diagnostics": found,
        });
        print_json(&outcome_json)
    } else {
        let mut text = String::new();
        for (name, position) in &joints {
            let position = position.to_string().replace(['[', ']', ' '], "");
            let _ = writeln!(text, "{}", escape_controls(&format!("{name}={position}")));
        }
        print(text)
    };
    if outcome.is_reached {
        printed
    } else {
        ExitCode::FAILURE
    }
}

/// The coordinates, the outcome, and the joints that influence the targets.
type Solved = (Vec<f64>, Outcome, Vec<JointId>);

fn solved(
    robot: &Robot,
    mechanism: &Mechanism,
    arguments: &Ik,
    found: &mut Vec<Diagnostic>,
) -> Result<Solved, Diagnostic> {
    let outside = "the search starts from the nearest limit";
    let mut q = coordinates(robot, mechanism, &arguments.start, outside, found)?;
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
        let message = format!("no joint moves \"{tip}\" relative to the base");
        let help = "choose another --base or --tip, or remove a --fix";
        return Err(Diagnostic::new(&codes::NO_MOTION, names::of_file(robot), message).help(help));
    }
    let restarts = Restarts {
        attempts: arguments.attempts as usize,
        seed: arguments.seed,
    };
    let mut steps = 0;
    if !arguments.start.is_given() {
        steps = Starts::new(&problem, &q).choose(&problem, &mut q);
    }
    let mut solver = Lm::default();
    solver.tolerance = arguments.tolerance;
    solver.rotation_weight = arguments.rotation_weight;
    solver.position_weight = arguments.position_weight;
    solver.damping = arguments.damping;
    solver.iterations = arguments.iterations as usize;
    solver.max_step = arguments.max_step;
    let outcome = solve(&mut solver, &problem, &mut q, &restarts);
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
