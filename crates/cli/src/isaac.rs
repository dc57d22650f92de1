//! `urdf_usd isaac`: shows, authors, checks and migrates the Isaac robot schema on any OpenUSD
//! asset.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde::Serialize;

use super::OUTPUT;
use super::check::{Counts, is_usd};
use super::deferred::Deferred;
use super::findings::as_results;
use super::packages::Packages;
use super::results::{failed, print, print_json, usage_error};
use super::subject::{AssetFile, INPUT};
use super::terminal::say;
use super::{plural, print_diagnostics};
use urdf_usd_convert::STDIN;
use urdf_usd_diagnostic::{Diagnostic, Severity, escape_controls};
use urdf_usd_isaac::{self as isaac, Edit, Label, LinkTree, Saved, Sites, View};
use urdf_usd_rep158::Stage;
use urdf_usd_resolve::Resolver;

/// The commands.
#[derive(Subcommand)]
pub enum Isaac {
    /// Print the tree of a robot's links, including robots nested within it
    ///
    /// Includes links that the robot's list names, and links that joints reach but the list lacks.
    ///
    /// Exit code 0: printed. 1: the asset can't be read, or has no identifiable robot. 2: usage
    /// error.
    Tree(Deferred<Tree>),
    /// Make an asset a robot of the Isaac schema: mark its links, joints and sites, and list them
    /// breadth-first from the base
    ///
    /// Replaces existing lists. The asset's files stay unchanged: opinions go to the layer
    /// isaac.usda, and the new entry NAME.isaac.usda includes that layer and the asset.
    ///
    /// Exit code 0: written. 1: not written. 2: usage error.
    Populate(Deferred<Populate>),
    /// Update the lists of a robot: valid entries keep their order, missing ones are removed, new
    /// ones are appended
    ///
    /// Writes the same files and has the same exit codes as populate.
    Recalculate(Deferred<Populate>),
    /// Check an asset against the Isaac robot schema: lists, links, joints, sites, named poses, and
    /// deprecated features
    ///
    /// Exit code 0: no errors, possibly warnings. 1: errors, or the asset can't be read. 2: usage
    /// error.
    Validate(Deferred<Validate>),
    /// Migrate deprecated features: IsaacReferencePointAPI, attributes for the order of a joint's
    /// axes, and lists of links and joints that hide those of weaker layers
    ///
    /// Writes the same files and has the same exit codes as populate.
    Migrate(Deferred<Migrate>),
}

/// The asset, and the locations of packages.
#[derive(Args)]
struct Asset {
    /// The entry file of any OpenUSD asset (.usda, .usd, .usdc, .usdz), or its folder, in which an
    /// overlay takes precedence; or package://PACKAGE/PATH of any of these. Commands that write no
    /// overlay read `-`, standard input, too
    asset: PathBuf,
    #[command(flatten)]
    packages: Packages,
    /// Print the result as JSON to standard output
    #[arg(long, help_heading = OUTPUT)]
    json: bool,
}

/// `isaac tree`.
#[derive(Args)]
pub struct Tree {
    #[command(flatten)]
    asset: Asset,
    /// The path of the robot's topmost prim [default: the first with IsaacRobotAPI, or the
    /// articulation that it is part of, otherwise the default prim]
    #[arg(long, value_name = "PRIM", help_heading = INPUT)]
    robot: Option<String>,
}

/// `isaac populate` and `isaac recalculate`.
#[derive(Args)]
pub struct Populate {
    #[command(flatten)]
    asset: Asset,
    /// The path of the robot's topmost prim [default: the first with IsaacRobotAPI, or the
    /// articulation that it is part of, otherwise the default prim]
    #[arg(long, value_name = "PRIM", help_heading = INPUT)]
    robot: Option<String>,
    /// The directory in which to create the asset's directory NAME for the overlay's files
    /// [default: beside the asset]
    #[arg(short = 'o', long = "output-dir", value_name = "DIR", help_heading = OUTPUT)]
    output: Option<PathBuf>,
    /// Do not create sites from the empty Xforms in links; existing sites are still listed
    #[arg(long)]
    no_sites: bool,
    /// Put sites at the end of the list of links instead of after their link
    #[arg(long)]
    sites_last: bool,
}

/// `isaac migrate`.
#[derive(Args)]
pub struct Migrate {
    #[command(flatten)]
    asset: Asset,
    /// The path of the robot's topmost prim [default: the first with IsaacRobotAPI, or the
    /// articulation that it is part of, otherwise the default prim]
    #[arg(long, value_name = "PRIM", help_heading = INPUT)]
    robot: Option<String>,
    /// The directory in which to create the asset's directory NAME for the overlay's files
    /// [default: beside the asset]
    #[arg(short = 'o', long = "output-dir", value_name = "DIR", help_heading = OUTPUT)]
    output: Option<PathBuf>,
}

/// `isaac validate`.
#[derive(Args)]
pub struct Validate {
    #[command(flatten)]
    asset: Asset,
}

/// Runs one of the commands.
pub fn run(command: &Isaac) -> ExitCode {
    let done = match command {
        Isaac::Tree(arguments) => tree(&arguments.0),
        Isaac::Populate(arguments) => populate(&arguments.0, isaac::populate),
        Isaac::Recalculate(arguments) => populate(&arguments.0, isaac::recalculate),
        Isaac::Validate(arguments) => validate(&arguments.0.asset),
        Isaac::Migrate(arguments) => migrate(&arguments.0),
    };
    done.unwrap_or_else(|code| code)
}

/// Extensions of an asset's entries.
pub const ENTRIES: [&str; 4] = ["usda", "usd", "usdc", "usdz"];
/// Extensions of entries, the overlay first: these commands show, check and change what they
/// author.
const WITH_OVERLAY: [&str; 5] = ["isaac.usda", "usda", "usd", "usdc", "usdz"];

/// Finds the entry file of an OpenUSD asset, and a resolver for its packages.
///
/// In a folder, the file with the first of `endings`. On failure, prints the error and returns the
/// exit code.
pub(super) fn entry(
    asset: &Path,
    endings: &[&str],
    packages: &Packages,
) -> Result<(AssetFile, std::sync::Arc<Resolver>), ExitCode> {
    let resolver = packages
        .resolver()
        .map_err(|message| usage_error(&message))?;
    let entry = AssetFile::find(asset, endings, &resolver).map_err(|message| failed(&message))?;
    if !is_usd(&entry.path) {
        return Err(failed(&format!(
            "{} is not an OpenUSD file: give a .usd, .usda, .usdc or .usdz",
            entry.path.display()
        )));
    }
    Ok((entry, resolver))
}

/// As [`entry`], for a command that writes an overlay, which refers to the asset by its path.
pub(super) fn entry_to_edit(
    asset: &Path,
    endings: &[&str],
    packages: &Packages,
) -> Result<(PathBuf, std::sync::Arc<Resolver>), ExitCode> {
    if asset == Path::new("-") {
        return Err(usage_error(
            "an overlay refers to its asset by the path: give a file instead of standard input",
        ));
    }
    let (entry, resolver) = entry(asset, endings, packages)?;
    Ok((entry.path, resolver))
}

fn opened(asset: &Asset) -> Result<Stage, ExitCode> {
    let (entry, resolver) = entry(&asset.asset, &WITH_OVERLAY, &asset.packages)?;
    let options = urdf_usd_usd_read::ReadOptions {
        packages: Some(resolver),
        ..Default::default()
    };
    Stage::open(&entry.path, &options).map_err(|error| failed(&error.to_string()))
}

fn tree(arguments: &Tree) -> Result<ExitCode, ExitCode> {
    #[derive(Serialize)]
    struct Link<'a> {
        path: &'a str,
        parent: Option<&'a str>,
        joint: Option<&'a str>,
        depth: usize,
    }
    let Tree { asset, robot } = arguments;
    let stage = opened(asset)?;
    let view = View::new(&stage);
    let robot = view
        .robot(robot.as_deref())
        .map_err(|error| failed(&error.to_string()))?;
    let tree = LinkTree::new(&view, robot);
    if asset.json {
        let path = |id: isaac::PrimId| stage[id].path.as_str();
        let links: Vec<Link<'_>> = tree
            .depth_first()
            .into_iter()
            .map(|(depth, node)| Link {
                path: path(node.prim),
                parent: node.parent.map(|parent| path(tree.nodes[parent].prim)),
                joint: node.joint.map(path),
                depth,
            })
            .collect();
        return Ok(print_json(
            &serde_json::json!({ "robot": path(robot), "links": links }),
        ));
    }
    Ok(print(tree.print(&stage).to_string()))
}

type Work =
    fn(&View<'_>, isaac::PrimId, Sites, &mut urdf_usd_usd_author::Layer) -> isaac::Populated;

fn populate(arguments: &Populate, work: Work) -> Result<ExitCode, ExitCode> {
    let Populate {
        asset,
        robot,
        output,
        no_sites,
        sites_last,
    } = arguments;
    let mut edit = edit(asset, Label::Isaac, output.as_deref())?;
    let view = View::new(&edit.stage);
    let robot = view
        .robot(robot.as_deref())
        .map_err(|error| failed(&error.to_string()))?;
    let populated = work(
        &view,
        robot,
        Sites {
            detect: !no_sites,
            last: *sites_last,
        },
        &mut edit.layer,
    );
    let saved = edit.save().map_err(|error| failed(&error.to_string()))?;
    print_diagnostics(&populated.diagnostics, None);
    let links = populated.links.len() - populated.sites.len();
    let outcome = format!(
        "{}: {}, {}, {}; {} added to the lists, {} removed; open this entry to see them",
        written(&saved),
        plural(links, "link"),
        plural(populated.sites.len(), "site"),
        plural(populated.joints.len(), "joint"),
        populated.added.len(),
        populated.removed.len()
    );
    say(escape_controls(&outcome));
    if asset.json {
        return Ok(print_json(
            &serde_json::json!({ "saved": saved, "lists": populated }),
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn migrate(arguments: &Migrate) -> Result<ExitCode, ExitCode> {
    let Migrate {
        asset,
        robot,
        output,
    } = arguments;
    let mut edit = edit(asset, Label::Isaac, output.as_deref())?;
    let view = View::new(&edit.stage);
    let robot = view
        .robot(robot.as_deref())
        .map_err(|error| failed(&error.to_string()))?;
    let migrated = isaac::migrate(&view, robot, &mut edit.layer);
    let saved = edit.save().map_err(|error| failed(&error.to_string()))?;
    print_diagnostics(&migrated.diagnostics, None);
    let outcome = format!(
        "{}: migrated {}, {}, {}; open this entry to see them",
        written(&saved),
        plural(migrated.sites.len(), "site"),
        plural(migrated.joints.len(), "joint"),
        plural(migrated.lists.len(), "list")
    );
    say(escape_controls(&outcome));
    if asset.json {
        return Ok(print_json(
            &serde_json::json!({ "saved": saved, "migrated": migrated }),
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// Opens an asset with its overlay for editing.
fn edit(asset: &Asset, label: Label, output: Option<&Path>) -> Result<Edit, ExitCode> {
    let (entry, resolver) = entry_to_edit(&asset.asset, &WITH_OVERLAY, &asset.packages)?;
    Edit::open(&entry, label, output, Some(resolver)).map_err(|error| failed(&error.to_string()))
}

pub(super) fn written(saved: &Saved) -> String {
    let done = if saved.changed {
        "wrote"
    } else {
        "nothing to change in"
    };
    format!("{done} {}", saved.entry.display())
}

fn validate(asset: &Asset) -> Result<ExitCode, ExitCode> {
    #[derive(Serialize)]
    struct Findings<'a> {
        asset: std::borrow::Cow<'a, str>,
        diagnostics: &'a [Diagnostic],
        counts: Counts,
    }
    let stage = opened(asset)?;
    let view = View::new(&stage);
    let mut found = isaac::validate(&view);
    // Findings name what the user gave, not its copy.
    let shown = match asset.asset == Path::new("-") {
        true => Path::new(STDIN),
        false => &stage.entry,
    };
    found
        .iter_mut()
        .map(|finding| &mut finding.place.file)
        .filter(|file| file.as_deref() == Some(&*stage.entry))
        .for_each(|file| *file = Some(shown.into()));
    let counts = Counts::new(&found);
    let printed = if asset.json {
        print_json(&Findings {
            asset: shown.to_string_lossy(),
            diagnostics: &found,
            counts,
        })
    } else {
        let entry = shown.to_string_lossy();
        let (errors, warnings) = (
            plural(counts.error, "error"),
            plural(counts.warning, "warning"),
        );
        print(format!(
            "{}{}: {errors}, {warnings}\n",
            as_results(&found, None),
            escape_controls(&entry)
        ))
    };
    Ok(
        if found
            .iter()
            .any(|finding| finding.severity == Severity::Error)
        {
            ExitCode::FAILURE
        } else {
            printed
        },
    )
}
