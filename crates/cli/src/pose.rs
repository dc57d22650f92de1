//! `urdf_usd pose`: prints the poses of links for given joint positions.
//!
//! Also shares with `urdf_usd ik` how a robot and its joint positions are read.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use serde_json::{Map, Value, json};

use super::OUTPUT;
use super::check::is_usd;
use super::named_poses::{self, NamedPoses};
use super::packages::Packages;
use super::results::{Refusal, failed_with, print_json, usage_error};
use super::subject::{self, INPUT, PlanningFiles, Read, XacroArguments};
use super::{plural, print_diagnostics, results};
use urdf_usd_convert::{self as convert, Context, Job, STDIN, Source, Tiers, read_robot};
use urdf_usd_diagnostic::{Diagnostic, Place, escape_controls};
use urdf_usd_isaac::poses::stored::{entry_with_poses, of_asset};
use urdf_usd_kinematics::{Mechanism, Transform, codes, names};
use urdf_usd_resolve::{self as resolve, Resolver};
use urdf_usd_robot::kinematics::position_count;
use urdf_usd_robot::{JointId, LinkId, NamedPose, Robot};

/// Maximum size of a file of positions, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// A robot with its SRDF and XRDF, and how to read it.
#[derive(Args)]
pub(super) struct Subject {
    #[command(flatten)]
    robot: subject::Robot,
    #[command(flatten)]
    xacro: XacroArguments,
    #[command(flatten)]
    files: PlanningFiles,
    #[command(flatten)]
    packages: Packages,
}

/// The positions of a joint, with its name.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Setting {
    pub(super) joint: String,
    pub(super) positions: Vec<f64>,
}

/// Parses `JOINT=VALUE`, with comma-separated values if the joint has several positions.
fn setting(text: &str) -> Result<Setting, String> {
    let (joint, values) = text
        .rsplit_once('=')
        .filter(|(joint, _)| !joint.is_empty())
        .ok_or("write JOINT=VALUE")?;
    Ok(Setting {
        joint: joint.to_owned(),
        positions: numbers(values)?,
    })
}

/// Reads a file with one setting per line.
pub(super) fn settings(file: &Path) -> Result<Vec<Setting>, Diagnostic> {
    let is_input = file == Path::new("-");
    let problem = |line: usize, message: String| {
        let place = Place {
            line: line as u32,
            ..Place::file(if is_input { Path::new(STDIN) } else { file })
        };
        Diagnostic::new(&codes::POSITIONS, place, message)
            .help("write a line JOINT=VALUE for each joint, as `urdf_usd ik` prints them")
    };
    let mut text = String::new();
    let read = if is_input {
        std::io::stdin()
            .lock()
            .take(MAX_BYTES)
            .read_to_string(&mut text)
    } else {
        std::fs::File::open(file).and_then(|file| file.take(MAX_BYTES).read_to_string(&mut text))
    };
    read.map_err(|error| problem(0, format!("cannot read {}: {error}", file.display())))?;
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(n, line)| {
            setting(line.trim()).map_err(|error| problem(n + 1, format!("{line:?}: {error}")))
        })
        .collect()
}

/// Parses finite numbers, separated by commas.
pub(super) fn numbers(text: &str) -> Result<Vec<f64>, String> {
    let number = |text: &str| {
        text.trim()
            .parse::<f64>()
            .ok()
            .filter(|number| number.is_finite())
    };
    let number =
        |text: &str| number(text).ok_or_else(|| format!("\"{text}\" is not a finite number"));
    text.split(',').map(number).collect()
}

/// Joint positions.
#[derive(Args)]
pub(super) struct Positions {
    /// Set a joint's position, in radians (revolute, continuous) or metres (prismatic); may be
    /// given several times. A planar joint has two positions, metres along the two directions of
    /// its plane; a floating one has six: x, y, z in metres, then roll, pitch, yaw in radians. For
    /// `ik` it is the starting position, where --fix keeps the joint
    #[arg(long = "set", value_name = "JOINT=VALUE[,VALUE]...", value_parser = setting, help_heading = INPUT)]
    set: Vec<Setting>,
    /// Read positions from a file with a line JOINT=VALUE for each joint, as `urdf_usd ik` prints
    /// them; `-` reads standard input. --set takes precedence. The file may contain mimic joints
    #[arg(long, value_name = "FILE", help_heading = INPUT)]
    set_from: Option<PathBuf>,
    /// Use a named pose of the robot, its SRDF or its XRDF (`default`) for joints that neither --set nor --set-from sets.
    /// May be given several times, for example for an arm and its gripper: a pose leaves joints that it
    /// does not set as they are. The poses of an OpenUSD asset are those of all its entry files
    #[arg(long = "named", value_name = "NAME", help_heading = INPUT)]
    named: Vec<String>,
    /// The group of joints that the named pose belongs to, if several groups have one of that name; one
    /// for each --named, in the same order
    #[arg(long, value_name = "GROUP", requires = "named", help_heading = INPUT)]
    group: Vec<String>,
}

impl Positions {
    /// Returns whether any position is given.
    pub(super) fn is_given(&self) -> bool {
        !self.set.is_empty() || self.set_from.is_some() || !self.named.is_empty()
    }
}

/// The command `pose`, with or without a subcommand for named poses.
pub enum Pose {
    /// A subcommand for the named poses of an asset.
    Named(NamedPoses),
    /// No subcommand: prints the poses of links.
    Print(Box<PrintPoses>),
}

// The robot is required only without a subcommand, which clap's macros can't express.
impl FromArgMatches for Pose {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        match matches.subcommand() {
            Some(_) => NamedPoses::from_arg_matches(matches).map(Self::Named),
            None => PrintPoses::from_arg_matches(matches)
                .map(|arguments| Self::Print(Box::new(arguments))),
        }
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Pose {
    fn augment_args(command: Command) -> Command {
        NamedPoses::augment_subcommands(PrintPoses::augment_args(command))
            .args_conflicts_with_subcommands(true)
            .subcommand_negates_reqs(true)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// The arguments of `pose` without a subcommand.
#[derive(Args)]
pub struct PrintPoses {
    #[command(flatten)]
    subject: Subject,
    #[command(flatten)]
    positions: Positions,
    /// Print only this link's pose (may be given several times) [default: all links]
    #[arg(long = "frame", value_name = "LINK")]
    frames: Vec<String>,
    /// The link in whose frame poses are printed [default: the root link]
    #[arg(long, value_name = "LINK")]
    base: Option<String>,
    /// Print JSON: positions of all joints in radians and metres, and for each link its translation
    /// in metres and its quaternion x y z w
    #[arg(long, help_heading = OUTPUT)]
    json: bool,
}

/// Reads the robot; on failure, prints the error and returns the exit code.
pub(super) fn read(subject: &Subject) -> Result<(Robot, Vec<Diagnostic>), ExitCode> {
    let resolve = subject
        .packages
        .options()
        .map_err(|message| usage_error(&message))?;
    let read = subject.robot.read(&subject.xacro, &resolve)?;
    load_robot(read, &subject.files, resolve).map_err(|refusal| refusal.print())
}

/// Reads a robot without meshes, with its SRDF and XRDF, and the named poses of all entries of an
/// asset. Also returns the findings.
///
/// # Errors
/// Returns the reason if the robot can't be read.
pub fn load_robot(
    read: Read,
    files: &PlanningFiles,
    resolve: resolve::Options,
) -> Result<(Robot, Vec<Diagnostic>), Refusal> {
    let mut options = convert::Options {
        resolve,
        tiers: Tiers::High,
        ..convert::Options::default()
    };
    files.put(&mut options);
    let job = Job {
        options,
        robot: read.model,
        ..Job::new(read.source, ".")
    };
    let (mut robot, found) =
        read_robot(&job, &Context::default()).map_err(|failure| Refusal::Found {
            diagnostics: failure.diagnostics,
            expanded: None,
        })?;
    if let Source::File(file) = &job.source
        && is_usd(file)
    {
        let resolver = Arc::new(Resolver::new(job.options.resolve.clone()));
        add_poses_of_asset(&mut robot, file, files, resolver)?;
    }
    Ok((robot, found))
}

/// Adds the named poses in the other entries of an asset to the robot that `file`, an entry of it, has. A
/// given SRDF or XRDF takes precedence.
fn add_poses_of_asset(
    robot: &mut Robot,
    file: &Path,
    files: &PlanningFiles,
    resolver: Arc<Resolver>,
) -> Result<(), String> {
    if entry_with_poses(file) == file {
        return Ok(());
    }
    let of_asset = of_asset(file, None, robot, Some(resolver))?;
    let own = robot.named_poses().to_vec();
    let (mut poses, weaker) = if files.is_given() {
        (own, of_asset)
    } else {
        (of_asset, own)
    };
    for pose in weaker {
        let is_same = |known: &NamedPose| (&known.name, &known.group) == (&pose.name, &pose.group);
        if !poses.iter().any(is_same) {
            poses.push(pose);
        }
    }
    robot
        .set_named_poses(poses)
        .map_err(|error| error.to_string())
}

/// Returns the coordinates of a mechanism at the given positions, with findings about them.
///
/// `outside` says what follows from a position outside the limits.
pub(super) fn coordinates(
    robot: &Robot,
    mechanism: &Mechanism,
    asked: &Positions,
    outside: &str,
    found: &mut Vec<Diagnostic>,
) -> Result<Vec<f64>, Diagnostic> {
    let report = |joint: JointId, positions: &[f64], found: &mut Vec<Diagnostic>| {
        found.extend(beyond_limits(robot, mechanism, joint, positions, outside));
    };
    let mut q = mechanism.rest();
    if !asked.group.is_empty() && asked.group.len() != asked.named.len() {
        let message = format!(
            "{} --group for {} --named",
            asked.group.len(),
            asked.named.len()
        );
        return Err(
            Diagnostic::new(&codes::UNKNOWN_POSE, names::of_file(robot), message)
                .help("give one --group for each --named, in the same order"),
        );
    }
    for (index, name) in asked.named.iter().enumerate() {
        let group = asked.group.get(index).filter(|group| !group.is_empty());
        let of_name: Vec<&NamedPose> = robot
            .named_poses()
            .iter()
            .filter(|pose| pose.name == *name)
            .collect();
        let of_group = of_name
            .iter()
            .find(|pose| pose.group.as_ref() == group)
            .copied();
        let pose = match (of_group, &of_name[..]) {
            (Some(pose), _) => pose,
            (None, [pose]) if group.is_none() => pose,
            (None, [_, _, ..]) => {
                let groups: Vec<&str> = of_name
                    .iter()
                    .filter_map(|pose| pose.group.as_deref())
                    .collect();
                let message = format!("several groups have a named pose \"{name}\"");
                let help = format!("choose one with --group: {}", groups.join(", "));
                return Err(
                    Diagnostic::new(&codes::UNKNOWN_POSE, names::of_file(robot), message)
                        .help(help),
                );
            }
            _ => {
                let names = robot.named_poses().iter().map(|pose| pose.name.as_str());
                return Err(names::unknown(
                    robot,
                    &codes::UNKNOWN_POSE,
                    "named pose",
                    name,
                    names,
                ));
            }
        };
        for (joint, positions) in &pose.positions {
            report(*joint, positions, found);
            put(mechanism, *joint, positions, &mut q);
        }
    }
    let from_file = asked.set_from.as_deref().map_or(Ok(Vec::new()), settings)?;
    // In this order, since --set takes precedence.
    let (count, all) = (from_file.len(), from_file.iter().chain(&asked.set));
    for (
        n,
        Setting {
            joint: name,
            positions,
        },
    ) in all.enumerate()
    {
        let id = names::joint(robot, name)?;
        let about = &robot.joints()[id];
        // `ik` prints mimic joints, too; their leaders set them.
        if n < count && about.mimic().is_some() {
            continue;
        }
        let problem = |code, message: String| Diagnostic::new(code, about.place.clone(), message);
        let has = position_count(about.kind());
        if has != positions.len() {
            let message = format!(
                "joint \"{name}\" is {} and has {}, not {}",
                about.kind().as_str(),
                plural(has, "position"),
                positions.len()
            );
            return Err(problem(&codes::POSITIONS, message)
                .help("give one value for each position, separated by commas"));
        }
        if let Some(mimic) = about.mimic() {
            let leader = robot.joints()[mimic.joint].name();
            let message = format!("joint \"{name}\" follows joint \"{leader}\"");
            return Err(problem(&codes::FOLLOWS, message).help(format!("set \"{leader}\" instead")));
        }
        if mechanism.first(id).is_none() {
            let message = format!("joint \"{name}\" closes a loop and moves nothing");
            return Err(problem(&codes::FOLLOWS, message).help("leave it out"));
        }
        report(id, positions, found);
        put(mechanism, id, positions, &mut q);
    }
    Ok(q)
}

/// Returns findings about positions of a joint that are outside its limits.
fn beyond_limits(
    robot: &Robot,
    mechanism: &Mechanism,
    id: JointId,
    positions: &[f64],
    outside: &str,
) -> Vec<Diagnostic> {
    let about = &robot.joints()[id];
    let first = mechanism.first(id).unwrap_or(usize::MAX);
    let coordinates = mechanism.coordinates().iter().skip(first);
    let beyond = coordinates
        .zip(positions)
        .filter(|(coordinate, position)| !coordinate.bounds.contains(**position));
    beyond
        .map(|(coordinate, position)| {
            let (lower, upper) = (coordinate.bounds.lower(), coordinate.bounds.upper());
            let unit = if coordinate.is_angle { "rad" } else { "m" };
            let message = format!(
                "{position} {unit} is outside the limits of joint \"{}\", {lower} to {upper} {unit}",
                about.name()
            );
            Diagnostic::new(&codes::OUT_OF_LIMITS, about.place.clone(), message).help(outside)
        })
        .collect()
}

fn put(mechanism: &Mechanism, joint: JointId, positions: &[f64], q: &mut [f64]) {
    let Some(first) = mechanism.first(joint) else {
        return;
    };
    q.iter_mut()
        .skip(first)
        .zip(positions)
        .for_each(|(to, from)| *to = *from);
}

/// Returns the positions of joints by name, in the order of the robot.
///
/// Each is a number, or a list if the joint has several positions. Fixed joints are left out.
pub(super) fn joints(
    robot: &Robot,
    mechanism: &Mechanism,
    q: &[f64],
    is_wanted: impl Fn(JointId) -> bool,
) -> Vec<(String, Value)> {
    let mut positions = vec![0.0; mechanism.position_count()];
    mechanism.positions(q, &mut positions);
    let mut at = positions.into_iter();
    let mut named = Vec::new();
    for (id, joint) in robot.joints().iter() {
        let own: Vec<f64> = at.by_ref().take(position_count(joint.kind())).collect();
        let moves = mechanism.first(id).is_some() || joint.mimic().is_some();
        match own.as_slice() {
            [] => {}
            _ if !moves || !is_wanted(id) => {}
            [one] => named.push((joint.name().to_owned(), json!(one))),
            several => named.push((joint.name().to_owned(), json!(several))),
        }
    }
    named
}

/// Runs the command.
pub fn run(arguments: &Pose) -> ExitCode {
    match arguments {
        Pose::Named(command) => named_poses::run(command),
        Pose::Print(arguments) => print(arguments),
    }
}

fn print(arguments: &PrintPoses) -> ExitCode {
    let (robot, mut found) = match read(&arguments.subject) {
        Ok(read) => read,
        Err(code) => return code,
    };
    let result = poses(&robot, arguments, &mut found);
    let (joints, base, frames) = match result {
        Ok(result) => result,
        Err(stop) => {
            found.push(stop);
            return failed_with(&found, None);
        }
    };
    print_diagnostics(&found, None);
    if arguments.json {
        let pose = |transform: &Transform| {
            let pose = transform.pose();
            let (t, q) = (pose.translation.vector, pose.rotation.coords);
            json!({ "translation": [t.x, t.y, t.z], "quaternion": [q.x, q.y, q.z, q.w] })
        };
        let frames: Map<String, Value> = frames
            .iter()
            .map(|(name, at)| (name.clone(), pose(at)))
            .collect();
        let joints = Map::from_iter(joints);
        return print_json(
            &json!({ "robot": robot.name(), "base": base, "joints": joints, "frames": frames, "diagnostics": found }),
        );
    }
    let width = frames
        .iter()
        .map(|(name, _)| name.chars().count())
        .max()
        .unwrap_or(0)
        .max(4);
    let mut text = format!(
        "in the frame of {base}\n{:width$}  {:>10} {:>10} {:>10}   {:>9} {:>9} {:>9} {:>9}\n",
        "link", "x (m)", "y (m)", "z (m)", "qx", "qy", "qz", "qw"
    );
    for (name, at) in &frames {
        let pose = at.pose();
        let (t, q) = (
            pose.translation.vector.map(plain),
            pose.rotation.coords.map(plain),
        );
        text += &format!(
            "{name:width$}  {:10.6} {:10.6} {:10.6}   {:9.6} {:9.6} {:9.6} {:9.6}\n",
            t.x, t.y, t.z, q.x, q.y, q.z, q.w
        );
    }
    results::print(escape_lines(&text))
}

/// Removes the sign of a number that is printed as zero.
fn plain(number: f64) -> f64 {
    if number.abs() < 5e-7 { 0.0 } else { number }
}

fn escape_lines(text: &str) -> String {
    text.lines()
        .map(|line| format!("{}\n", escape_controls(line)))
        .collect()
}

/// The positions of joints, the name of the base, and poses by link.
type Poses = (Vec<(String, Value)>, String, Vec<(String, Transform)>);

fn poses(
    robot: &Robot,
    arguments: &PrintPoses,
    found: &mut Vec<Diagnostic>,
) -> Result<Poses, Diagnostic> {
    let mechanism = Mechanism::of(robot);
    let outside = "the poses are those at this position, which the robot can't reach";
    let q = coordinates(robot, &mechanism, &arguments.positions, outside, found)?;
    let base = arguments
        .base
        .as_deref()
        .map_or_else(|| names::base(robot), |name| names::link(robot, name))?;
    let wanted = arguments
        .frames
        .iter()
        .map(|name| names::link(robot, name))
        .collect::<Result<Vec<_>, _>>()?;
    // Without a selection, links of other trees are left out.
    let in_tree = |link: &LinkId| mechanism.root(*link) == mechanism.root(base);
    let wanted: Vec<LinkId> = if wanted.is_empty() {
        robot
            .tree()
            .order()
            .iter()
            .copied()
            .filter(in_tree)
            .collect()
    } else {
        wanted
    };
    let mut frames = Vec::new();
    for link in wanted {
        let chain = names::chain(robot, &mechanism, base, link)?;
        let mut own = vec![0.0; chain.coordinates().len()];
        chain.gather(&q, &mut own);
        let name = robot.links()[link].name().to_owned();
        frames.push((name, chain.forward(&own)));
    }
    let name = robot.links()[base].name().to_owned();
    Ok((joints(robot, &mechanism, &q, |_| true), name, frames))
}
