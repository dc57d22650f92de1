//! `urdf_usd pose store|list|get|delete|apply|export|import`: manages the named poses of an asset.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use serde_json::{Value as Json, json};

use super::OUTPUT;
use super::deferred::Deferred;
use super::isaac::{ENTRIES, entry, entry_to_edit, written};
use super::packages::Packages;
use super::pose::{Setting, settings};
use super::results::{failed, failed_with, print, print_json, usage_error};
use super::subject::INPUT;
use super::terminal;
use super::{plural, print_diagnostics};
use urdf_usd_diagnostic::{Diagnostic, Place, Severity, escape_controls};
use urdf_usd_isaac::poses::stored::{entry_with_poses, of_asset, open_with_poses};
use urdf_usd_isaac::poses::{self, PoseError, Poses, Units, apply};
use urdf_usd_isaac::{Edit, Label, Saved, codes};
use urdf_usd_robot::{JointId, JointKind, NamedPose};
use urdf_usd_usd_author::isaac_schema::PoseScope;

/// Maximum size of a file of poses, in bytes.
const MAX_BYTES: u64 = 64 << 20;

/// The commands.
#[derive(Subcommand)]
pub enum NamedPoses {
    /// List the named poses of an asset
    ///
    /// Exit code 0: listed, even if there are none. 1: the asset can't be read. 2: usage error.
    List(Deferred<List>),
    /// Print a named pose: the position of each joint that it sets, in radians or metres, and the
    /// links of its chain
    ///
    /// Exit code 0: printed. 1: no such pose, or the asset can't be read. 2: usage error.
    Get(Deferred<Get>),
    /// Store a named pose on an asset, replacing any of the same name
    ///
    /// The asset's files stay unchanged: the pose goes to the layer poses.usda, and the new entry
    /// NAME.poses.usda includes that layer and the asset. Commands find the pose by any entry of the
    /// asset; other programs have to open NAME.poses.usda. If the robot lacks IsaacRobotAPI, the
    /// layer adds it, with lists of links and joints. A pose outside of limits is stored and marked
    /// as invalid.
    ///
    /// Exit code 0: stored. 1: not stored. 2: usage error.
    Store(Deferred<Store>),
    /// Delete a named pose of an asset
    ///
    /// Writes the same files as store: the layer poses.usda hides a pose of the asset's own files.
    ///
    /// Exit code 0: deleted. 1: no such pose, or it can't be written. 2: usage error.
    Delete(Deferred<Delete>),
    /// Write the asset with its robot in a named pose: the joints of the pose move, and all others
    /// keep their place
    ///
    /// Poses of an arm and of its gripper combine, if both are applied one after the other. The
    /// drives of the pose's joints get their positions as targets. Transforms go to the layer
    /// posed.usda, targets to posed_drives.usda, with the new entry NAME.posed.usda: open that entry
    /// to see the pose. After the robot was converted again, apply the pose with --reset.
    ///
    /// Exit code 0: written. 1: no such pose, or it can't be written. 2: usage error.
    Apply(Deferred<Apply>),
    /// Write all named poses of an asset to a JSON file, in the format that Isaac Sim's Robot Poser
    /// imports
    ///
    /// Exit code 0: written. 1: not written. 2: usage error.
    Export(Deferred<Export>),
    /// Store the poses of a JSON file on an asset, replacing those of the same names
    ///
    /// The file has the format that export writes; joints and links are named by the paths of their
    /// prims or by their names. A pose that names an unknown joint or link is skipped. Writes the
    /// same files as store.
    ///
    /// Exit code 0: all stored. 1: some or none stored. 2: usage error.
    Import(Deferred<Import>),
}

/// An asset, and the locations of packages.
#[derive(Args)]
struct Asset {
    /// The folder of an OpenUSD asset, or any of its entry files (NAME.usda, NAME.isaac.usda,
    /// NAME.newton.usda, …; also .usd, .usdc, .usdz): all have the same poses, including those stored
    /// later; or package://PACKAGE/PATH of any of these. list, get and export read `-`, standard input,
    /// too
    asset: PathBuf,
    /// The path of the robot's topmost prim [default: the first with IsaacRobotAPI, or the
    /// articulation that it is part of, otherwise the default prim]
    #[arg(long, value_name = "PRIM", help_heading = INPUT)]
    robot: Option<String>,
    #[command(flatten)]
    packages: Packages,
}

/// The name of a pose, and its group if that is ambiguous.
#[derive(Args)]
struct PoseName {
    /// The name of the pose
    name: String,
    /// The group of joints that the pose belongs to, if several groups have a pose of this name
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,
}

/// The output directory, and the format of the result.
#[derive(Args)]
struct Output {
    /// The directory in which to create the asset's directory NAME for the overlay's files
    /// [default: beside the asset]
    #[arg(short = 'o', long = "output-dir", value_name = "DIR", help_heading = OUTPUT)]
    output: Option<PathBuf>,
    /// Print the result as JSON to standard output
    #[arg(long, help_heading = OUTPUT)]
    json: bool,
}

/// `pose list`.
#[derive(Args)]
pub struct List {
    #[command(flatten)]
    asset: Asset,
    /// Print JSON to standard output
    #[arg(long, help_heading = OUTPUT)]
    json: bool,
}

/// `pose get`.
#[derive(Args)]
pub struct Get {
    #[command(flatten)]
    asset: Asset,
    #[command(flatten)]
    which: PoseName,
    /// Print JSON to standard output
    #[arg(long, help_heading = OUTPUT)]
    json: bool,
}

/// `pose store`.
#[derive(Args)]
pub struct Store {
    #[command(flatten)]
    asset: Asset,
    #[command(flatten)]
    which: PoseName,
    /// The position of a joint, in radians or metres (may be given several times)
    #[arg(long = "set", value_name = "JOINT=POSITION", value_parser = setting)]
    set: Vec<(String, f64)>,
    /// Set joints from a file with a line JOINT=VALUE for each joint, as `urdf_usd ik` prints them; `-`
    /// reads standard input. --set takes precedence. The file may contain mimic joints
    #[arg(long, value_name = "FILE")]
    set_from: Option<PathBuf>,
    /// Start from this pose of the asset: its joints keep their positions, except those that --set
    /// and --set-from name
    #[arg(long, value_name = "NAME")]
    from: Option<String>,
    /// The first link of the pose's chain, which need not be above --end; joints up to --end that
    /// are not set are at zero or at the limit nearest to it [default: the nearest common ancestor of
    /// the joints]
    #[arg(long, value_name = "LINK", requires = "end")]
    start: Option<String>,
    /// The last link of the pose's chain [default: the link that the last joint moves, or the tool
    /// frame in it]
    #[arg(long, value_name = "LINK", requires = "start")]
    end: Option<String>,
    /// Exclude a joint from inverse kinematics (may be given several times)
    #[arg(long, value_name = "JOINT")]
    fixed: Vec<String>,
    #[command(flatten)]
    scope: Scope,
    #[command(flatten)]
    output: Output,
}

/// The scope of stored poses.
#[derive(Args)]
struct Scope {
    /// The scope for the prims of new poses: Named_Poses as the schema's documentation has it,
    /// NamedPoses as Isaac Sim 6.0 reads it, or both (the prims in the first, inherited by the second)
    #[arg(long, value_name = "SCOPE", default_value_t = PoseScope::default(), value_parser = pose_scope(), help_heading = OUTPUT)]
    pose_scope: PoseScope,
}

/// Parses a scope, and lists all of them in help.
fn pose_scope() -> impl TypedValueParser<Value = PoseScope> {
    PossibleValuesParser::new(PoseScope::ALL.map(PoseScope::as_str)).try_map(|text| text.parse())
}

/// `pose delete`.
#[derive(Args)]
pub struct Delete {
    #[command(flatten)]
    asset: Asset,
    #[command(flatten)]
    which: PoseName,
    #[command(flatten)]
    output: Output,
}

/// `pose apply`.
#[derive(Args)]
pub struct Apply {
    #[command(flatten)]
    asset: Asset,
    #[command(flatten)]
    which: PoseName,
    /// Drop poses that were applied before: joints that the pose does not set are where the asset has
    /// them
    #[arg(long)]
    reset: bool,
    #[command(flatten)]
    output: Output,
}

/// `pose export`.
#[derive(Args)]
pub struct Export {
    #[command(flatten)]
    asset: Asset,
    /// The file to write; `-` for standard output
    file: PathBuf,
    /// Write angles in degrees instead of radians; lengths are in metres
    #[arg(long)]
    degrees: bool,
    /// Print the result as JSON to standard output, if the poses go to a file
    #[arg(long, help_heading = OUTPUT)]
    json: bool,
}

/// `pose import`.
#[derive(Args)]
pub struct Import {
    #[command(flatten)]
    asset: Asset,
    /// The JSON file to read; `-` for standard input
    file: PathBuf,
    #[command(flatten)]
    scope: Scope,
    #[command(flatten)]
    output: Output,
}

fn setting(text: &str) -> Result<(String, f64), String> {
    let (joint, value) = text
        .rsplit_once('=')
        .filter(|(joint, _)| !joint.is_empty())
        .ok_or("write JOINT=POSITION")?;
    let value = value.parse::<f64>().ok().filter(|value| value.is_finite());
    Ok((
        joint.to_owned(),
        value.ok_or("the position is not a number of radians or metres")?,
    ))
}

/// Runs one of the commands.
pub fn run(command: &NamedPoses) -> ExitCode {
    let done = match command {
        NamedPoses::List(arguments) => list(&arguments.0),
        NamedPoses::Get(arguments) => get(&arguments.0),
        NamedPoses::Store(arguments) => store(&arguments.0),
        NamedPoses::Delete(arguments) => delete(&arguments.0),
        NamedPoses::Apply(arguments) => apply_pose(&arguments.0),
        NamedPoses::Export(arguments) => export(&arguments.0),
        NamedPoses::Import(arguments) => import(&arguments.0),
    };
    done.unwrap_or_else(|code| code)
}

/// Opens the asset with all its poses.
fn stage(asset: &Asset) -> Result<urdf_usd_rep158::Stage, ExitCode> {
    let (entry, resolver) = entry(&asset.asset, &ENTRIES, &asset.packages)?;
    open_with_poses(&entry.path, Some(resolver)).map_err(|error| failed(&error.to_string()))
}

/// Opens the asset to edit its poses.
fn edit(asset: &Asset, output: Option<&Path>) -> Result<Edit, ExitCode> {
    let (entry, resolver) = entry_to_edit(&asset.asset, &ENTRIES, &asset.packages)?;
    Edit::open(&entry, Label::Poses, output, Some(resolver))
        .map_err(|error| failed(&error.to_string()))
}

/// Saves an overlay in which the poses at `paths` are stored or deleted.
fn save(edit: &mut Edit, paths: &[String]) -> Result<Saved, ExitCode> {
    edit.override_poses(paths)
        .and_then(|()| edit.save())
        .map_err(|error| failed(&error.to_string()))
}

impl PoseName {
    fn find<'p>(&self, poses: &'p Poses<'_>) -> Result<&'p NamedPose, ExitCode> {
        let pose = poses.get(&self.name, self.group.as_deref());
        pose.map_err(|error| report_error(&error))
    }
}

/// Prints why there is no such pose, and what to do; returns the exit code.
fn report_error(error: &PoseError) -> ExitCode {
    if let PoseError::Wrong(found) = error {
        return failed_with(std::slice::from_ref(found), None);
    }
    failed(&error.to_string())
}

fn open<'a>(stage: &'a urdf_usd_rep158::Stage, asset: &Asset) -> Result<Poses<'a>, ExitCode> {
    Poses::of(stage, asset.robot.as_deref()).map_err(|error| report_error(&error))
}

/// Describes a pose for programs: positions in radians and metres, by the names of joints.
fn described(poses: &Poses<'_>, pose: &NamedPose) -> Json {
    let stored = poses.stored(pose);
    let joints: serde_json::Map<String, Json> = pose
        .positions
        .iter()
        .filter_map(|(joint, at)| {
            Some((
                poses.robot.joints()[*joint].name().to_owned(),
                json!(at.first()?),
            ))
        })
        .collect();
    let fixed: Vec<&str> = pose
        .fixed
        .iter()
        .map(|joint| poses.robot.joints()[*joint].name())
        .collect();
    json!({
        "name": pose.name,
        "group": pose.group,
        "joints": joints,
        "fixed": fixed,
        "start": stored.start,
        "end": stored.end,
        "valid": stored.is_valid,
        "prim": stored.prim,
    })
}

fn list(arguments: &List) -> Result<ExitCode, ExitCode> {
    let stage = stage(&arguments.asset)?;
    let poses = open(&stage, &arguments.asset)?;
    let all = poses.robot.named_poses();
    if arguments.json {
        let all: Vec<Json> = all.iter().map(|pose| described(&poses, pose)).collect();
        return Ok(print_json(&json!({ "poses": all })));
    }
    let mut text = String::new();
    for pose in all {
        let group = pose
            .group
            .as_ref()
            .map(|group| format!(" (group {group})"))
            .unwrap_or_default();
        let line = format!(
            "{}{group}: {}",
            pose.name,
            plural(pose.positions.len(), "joint")
        );
        text += &format!("{}\n", escape_controls(&line));
    }
    if all.is_empty() {
        let _ = writeln!(
            std::io::stderr(),
            "{} has no named poses",
            escape_controls(&stage.entry.to_string_lossy())
        );
    }
    Ok(print(text))
}

fn get(arguments: &Get) -> Result<ExitCode, ExitCode> {
    let stage = stage(&arguments.asset)?;
    let poses = open(&stage, &arguments.asset)?;
    let pose = arguments.which.find(&poses)?;
    if arguments.json {
        return Ok(print_json(&described(&poses, pose)));
    }
    let stored = poses.stored(pose);
    let mut text = String::new();
    let mut line = |line: String| text += &format!("{}\n", escape_controls(&line));
    let end = |path: &Option<String>| path.clone().unwrap_or_else(|| "?".to_owned());
    let validity = if stored.is_valid { "" } else { ", invalid" };
    line(format!(
        "{}: from {} to {}{validity}",
        pose.name,
        end(&stored.start),
        end(&stored.end)
    ));
    for (id, at) in &pose.positions {
        let joint = &poses.robot.joints()[*id];
        let Some(at) = at.first() else {
            continue;
        };
        let is_fixed = if pose.fixed.contains(id) {
            ", fixed"
        } else {
            ""
        };
        let value = match joint.kind() {
            JointKind::Prismatic => format!("{at:.6} m"),
            _ => format!("{at:.6} rad ({:.3} deg)", at.to_degrees()),
        };
        line(format!("  {}: {value}{is_fixed}", joint.name()));
    }
    Ok(print(text))
}

fn store(arguments: &Store) -> Result<ExitCode, ExitCode> {
    let Store {
        asset,
        which,
        set,
        set_from,
        from,
        start,
        end,
        fixed,
        scope,
        output,
    } = arguments;
    if set.is_empty() && set_from.is_none() && from.is_none() && start.is_none() {
        return Err(usage_error(
            "the pose is empty: give --set JOINT=POSITION, --set-from FILE, --from NAME, or --start and --end",
        ));
    }
    if which.name.is_empty() {
        return Err(usage_error("the name of a pose can't be empty"));
    }
    let mut edit = edit(asset, output.output.as_deref())?;
    let poses = open(&edit.stage, asset)?;
    let of = |error: PoseError| report_error(&error);
    // Filled in this order: --from, --set-from, then joints of the chain that both lack, then --set.
    let mut positions: BTreeMap<_, Vec<f64>> = BTreeMap::new();
    let (mut chain, mut held) = (None, BTreeSet::new());
    if let Some(from) = from {
        let pose = poses
            .get(from, which.group.as_deref())
            .or_else(|_| poses.get(from, None))
            .map_err(of)?;
        positions.extend(pose.positions.iter().cloned());
        chain = pose.chain;
        held.extend(pose.fixed.iter().copied());
    }
    let mut left_out = Vec::new();
    if let Some(file) = set_from {
        let read = settings(file).map_err(|found| failed_with(&[found], None))?;
        left_out = set_all(&poses, &read, &mut positions).map_err(of)?;
    }
    if let (Some(start), Some(end)) = (start, end) {
        let ends = (poses.link(start).map_err(of)?, poses.link(end).map_err(of)?);
        let between = poses.joints_between(ends.0, ends.1);
        if between.is_empty() {
            return Err(failed(&format!(
                "no joint with one position is between {start} and {end}: give two links with such joints between them"
            )));
        }
        for joint in between {
            let home = poses.robot.joints()[joint].bounds().nearest(0.0);
            positions.entry(joint).or_insert_with(|| vec![home]);
        }
        chain = Some(ends);
    }
    for (name, value) in set {
        positions.insert(poses.joint(name).map_err(of)?, vec![*value]);
    }
    for name in fixed {
        let joint = poses.joint(name).map_err(of)?;
        if !positions.contains_key(&joint) {
            return Err(failed(&format!(
                "--fixed {name}: the pose does not set that joint; give it a position with --set"
            )));
        }
        held.insert(joint);
    }
    let (name, group) = (which.name.clone(), which.group.clone());
    let pose = NamedPose {
        name,
        group,
        chain,
        positions: positions.into_iter().collect(),
        fixed: held.into_iter().collect(),
        place: Place::default(),
    };
    let stored_name = pose.name.clone();
    let (paths, mut found) = poses.store(&[pose], scope.pose_scope, &mut edit.layer);
    found.splice(0..0, left_out);
    let Some(path) = paths.first() else {
        return Err(failed_with(&found, None));
    };
    let saved = save(&mut edit, &paths)?;
    print_diagnostics(&found, None);
    say(&format!(
        "{}: stored {stored_name:?} at {path}; {}",
        written(&saved),
        use_of(&saved, output)
    ));
    Ok(printed(
        output,
        &json!({ "saved": saved, "pose": stored_name, "prim": path, "diagnostics": found }),
    ))
}

/// Sets joints from a file. Returns findings about joints that no pose can set.
fn set_all(
    poses: &Poses<'_>,
    read: &[Setting],
    positions: &mut BTreeMap<JointId, Vec<f64>>,
) -> Result<Vec<Diagnostic>, PoseError> {
    let mut left_out = Vec::new();
    for Setting {
        joint: name,
        positions: at,
    } in read
    {
        let known = poses.robot.joint_named(name);
        let joint = known.map(|id| &poses.robot.joints()[id]);
        // `ik` prints mimic joints, too; their leaders set them.
        if joint.is_some_and(|joint| joint.mimic().is_some()) {
            continue;
        }
        if let (Some(joint), [_, _, ..]) = (joint, at.as_slice()) {
            let message = format!("joint {name:?} has several positions, and is left out");
            let help = "nothing need be done, unless programs need its positions";
            left_out.push(
                Diagnostic::new(&codes::POSE_LEFT_OUT, joint.place.clone(), message).help(help),
            );
            continue;
        }
        positions.insert(poses.joint(name)?, at.clone());
    }
    Ok(left_out)
}

/// Says which entry to name to use a stored pose.
fn use_of(saved: &Saved, output: &Output) -> String {
    let entry = saved.entry.file_name().unwrap_or_default();
    match &output.output {
        // Entries elsewhere do not lead to this folder.
        Some(_) => "name this entry to use it".to_owned(),
        None => format!(
            "`urdf_usd pose`, `ik` and `view` find it by any entry of the asset; open {} in other commands and programs",
            entry.to_string_lossy()
        ),
    }
}

fn delete(arguments: &Delete) -> Result<ExitCode, ExitCode> {
    let Delete {
        asset,
        which,
        output,
    } = arguments;
    let mut edit = edit(asset, output.output.as_deref())?;
    let poses = open(&edit.stage, asset)?;
    let pose = which.find(&poses)?;
    let paths = poses.delete(pose, &mut edit.layer);
    let name = pose.name.clone();
    let saved = save(&mut edit, &paths)?;
    say(&format!("{}: deleted {name:?}", written(&saved)));
    Ok(printed(output, &json!({ "saved": saved, "pose": name })))
}

fn apply_pose(arguments: &Apply) -> Result<ExitCode, ExitCode> {
    let Apply {
        asset,
        which,
        reset,
        output,
    } = arguments;
    let (entry, resolver) = entry_to_edit(&asset.asset, &ENTRIES, &asset.packages)?;
    // A named entry, such as that for an engine, stays below the posed robot.
    let entry = if asset.asset.is_dir() {
        entry_with_poses(&entry)
    } else {
        entry
    };
    let open_overlay = if *reset { Edit::replace } else { Edit::open };
    let packages = Some(resolver);
    let edit = open_overlay(
        &entry,
        Label::Posed,
        output.output.as_deref(),
        packages.clone(),
    );
    let mut edit = edit.map_err(|error| failed(&error.to_string()))?;
    let mut poses = open(&edit.stage, asset)?;
    let all = of_asset(&entry, asset.robot.as_deref(), &poses.robot, packages).and_then(|all| {
        poses
            .robot
            .set_named_poses(all)
            .map_err(|error| error.to_string())
    });
    all.map_err(|message| failed(&message))?;
    let pose = which.find(&poses)?;
    let applied = apply(&poses, pose, &mut edit.layer, &mut edit.drives);
    let name = pose.name.clone();
    let saved = edit.save().map_err(|error| failed(&error.to_string()))?;
    print_diagnostics(&applied.diagnostics, None);
    let moved = match applied.moved.len() {
        1 => "1 body".to_owned(),
        count => format!("{count} bodies"),
    };
    say(&format!(
        "{}: {name:?} moves {moved} and sets the target of {}; open this entry to see the pose",
        written(&saved),
        plural(applied.joints.len(), "joint")
    ));
    Ok(printed(
        output,
        &json!({ "saved": saved, "pose": name, "applied": applied }),
    ))
}

fn export(arguments: &Export) -> Result<ExitCode, ExitCode> {
    let stage = stage(&arguments.asset)?;
    let poses = open(&stage, &arguments.asset)?;
    let units = if arguments.degrees {
        Units::Degrees
    } else {
        Units::Radians
    };
    let (exported, found) = poses::export(&poses, units);
    print_diagnostics(&found, None);
    let text =
        serde_json::to_string_pretty(&exported).map_err(|error| failed(&error.to_string()))? + "\n";
    if arguments.file == Path::new("-") {
        if arguments.json {
            return Err(usage_error(
                "--json prints a report to standard output; name a file for the poses",
            ));
        }
        return Ok(print(text));
    }
    let written = urdf_usd_store::replace_file(&arguments.file, text.as_bytes());
    written.map_err(|error| {
        failed(&format!(
            "cannot write {}: {error}",
            arguments.file.display()
        ))
    })?;
    say(&format!(
        "wrote {} to {}",
        plural(poses.robot.named_poses().len() - found.len(), "pose"),
        arguments.file.display()
    ));
    if arguments.json {
        let file = arguments.file.to_string_lossy();
        return Ok(print_json(&json!({ "file": file, "diagnostics": found })));
    }
    Ok(ExitCode::SUCCESS)
}

fn import(arguments: &Import) -> Result<ExitCode, ExitCode> {
    let Import {
        asset,
        file,
        scope,
        output,
    } = arguments;
    let text = read_text(file).map_err(|message| failed(&message))?;
    let mut edit = edit(asset, output.output.as_deref())?;
    let poses = open(&edit.stage, asset)?;
    let (read, mut found) = match poses::import(&poses, &text, file) {
        Ok(read) => read,
        Err(diagnostic) => return Err(failed_with(&[diagnostic], None)),
    };
    let (stored, more) = poses.store(&read, scope.pose_scope, &mut edit.layer);
    found.extend(more);
    if stored.is_empty() {
        let code = failed_with(&found, None);
        say("stored no pose of the file");
        return Err(code);
    }
    let saved = save(&mut edit, &stored)?;
    print_diagnostics(&found, None);
    say(&format!(
        "{}: stored {}; {}",
        written(&saved),
        plural(stored.len(), "pose"),
        use_of(&saved, output)
    ));
    let printed = printed(
        output,
        &json!({ "saved": saved, "prims": stored, "diagnostics": found }),
    );
    let is_wrong = |found: &Diagnostic| found.severity == Severity::Error;
    Ok(if found.iter().any(is_wrong) {
        ExitCode::FAILURE
    } else {
        printed
    })
}

fn read_text(file: &Path) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("cannot read {}: {error}", file.display());
    let mut text = String::new();
    let mut input: Box<dyn Read> = match file == Path::new("-") {
        true => Box::new(std::io::stdin()),
        false => Box::new(std::fs::File::open(file).map_err(failed)?),
    };
    input
        .by_ref()
        .take(MAX_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(failed)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(format!(
            "{} has more than {} MiB, the maximum for a file of poses",
            file.display(),
            MAX_BYTES >> 20
        ));
    }
    Ok(text)
}

fn say(text: &str) {
    terminal::say(escape_controls(text));
}

fn printed(output: &Output, json: &Json) -> ExitCode {
    if output.json {
        print_json(json)
    } else {
        ExitCode::SUCCESS
    }
}
