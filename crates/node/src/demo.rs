//! `urdf_usd demo`: the node and, on the loopback interface, a player that simulates a moving
//! robot.
//!
//! The two communicate only over DDS, as the node does with any robot.

mod player;
mod sample;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use crate::parameters::Parameters;
use crate::process::signals::Interrupted;
use crate::process::{fail, logging, raise_file_limit, runtime};
use crate::{NAME, Ready, codes, size};
use urdf_usd_diagnostic::{Diagnostic, Place, status};
use urdf_usd_ros::Args;
use urdf_usd_ros::Node;
use urdf_usd_ros::embedded::{self, Network};
use urdf_usd_serve::{RobotView, Site};
use urdf_usd_worker::Program;

/// DDS domain of the demo unless `ROS_DOMAIN_ID` is set; unlikely to be used by a robot nearby.
const DOMAIN: u16 = 87;
/// Time limit for the first revision.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time limit for a verdict on the frames after the first revision, with `--once`.
const FRAMES_PATIENCE: Duration = Duration::from_secs(10);

/// Command-line options of the demo.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Exit after the first revision
    #[arg(long)]
    once: bool,
    /// Output directory
    #[arg(
        short = 'o',
        long = "output",
        value_name = "DIR",
        default_value = "urdf_usd_demo"
    )]
    output: PathBuf,
}

/// Runs the demo until it is interrupted, or, with `--once`, until the first revision. The node's
/// workers are processes of `program`.
pub fn main(options: Options, program: Option<&Program>) -> ExitCode {
    // The demo prints its own, shorter progress messages.
    logging::start_in_terminal(NAME, "warn");
    let result = runtime().and_then(|runtime| {
        let result = runtime.block_on(run(&options, program));
        runtime.shutdown_timeout(Duration::from_millis(500));
        result
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(diagnostic) => fail(&diagnostic),
    }
}

fn fault(message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(&codes::DEMO, Place::default(), message)
}

async fn run(options: &Options, program: Option<&Program>) -> Result<(), Diagnostic> {
    let mut interrupted = Interrupted::new()?;
    let network = network()?;
    let folder = tempfile::tempdir()
        .map_err(|error| fault(format!("no temporary folder for the sample robot: {error}")))?;
    let sample = sample::unpack(folder.path()).map_err(|error| {
        fault(format!(
            "the sample robot cannot be unpacked to {}: {error}",
            folder.path().display()
        ))
    })?;

    let node = Arc::new(embedded::start(NAME, &Args::default(), &network)?);
    let (changes, mut parameters) = (node.changes(), Parameters::declare(&*node)?);
    parameters.output_dir.clone_from(&options.output);
    parameters
        .conversion
        .resolve
        .packages
        .push((sample.package.to_owned(), sample.folder.clone()));
    parameters.conversion.srdf = Some(sample.srdf.clone());
    let site: Arc<Site> = Arc::default();
    let events = site.events();
    let ready = Ready::new(
        node.clone(),
        parameters,
        changes,
        site.clone(),
        (raise_file_limit(), program),
    )
    .await
    .map_err(|d| {
        let is_output = d.code == codes::OUTPUT_DIR.id;
        if is_output {
            d.help("pass another directory: urdf_usd demo -o DIR")
        } else {
            d
        }
    })?;
    let url = ready.url();

    let player_node = Arc::new(embedded::start("sample_robot", &Args::default(), &network)?);
    let player = player::Player::new(&*player_node, &sample)?;
    if let Some(url) = &url {
        say(&format!("The viewer is at {url}"));
    }
    say(&format!(
        "Ctrl-C ends the demo.\n\n\
         A sample robot moves on ROS domain {} (this machine only): {}\n\
         The node converts it and watches its files: change a mesh there and see a new revision.",
        network.domain,
        sample.urdf.display()
    ));
    let result = tokio::select! {
        ended = ready.run() => Err(ended),
        () = player.play(player_node.clone()) => Ok(()),
        result = tell(&site, events, options.once) => result,
        _ = interrupted.wait() => Ok(()),
    };
    player_node.shutdown();
    node.shutdown();
    result
}

/// Returns the network of the demo: the loopback interface, in a domain of its own.
fn network() -> Result<Network, Diagnostic> {
    let mut network = Network::loopback_from_env()?;
    if std::env::var_os("ROS_DOMAIN_ID").is_none_or(|domain| domain.is_empty()) {
        network.domain = DOMAIN;
    }
    Ok(network)
}

/// Prints progress until the demo is done.
async fn tell(
    site: &Site,
    mut events: tokio::sync::broadcast::Receiver<urdf_usd_serve::Event>,
    once: bool,
) -> Result<(), Diagnostic> {
    let first = async {
        loop {
            if let Some(robot) = site
                .robots()
                .into_iter()
                .find(|robot| robot.revision.is_some())
            {
                return robot;
            }
            // The robots are looked up again, so a lagged receiver loses nothing.
            let _ = events.recv().await;
        }
    };
    let mut robot = tokio::time::timeout(PATIENCE, first).await.map_err(|_| {
        fault(format!(
            "no asset was written within {} s",
            PATIENCE.as_secs()
        ))
        .help("see the log above; check that UDP is allowed on the loopback interface")
    })?;
    show_asset(&robot);
    let mut shown = None;
    let deadline = tokio::time::Instant::now() + FRAMES_PATIENCE;
    loop {
        if let Some(now) = site.robots().into_iter().find(|now| now.key == robot.key) {
            if now.revision != robot.revision {
                show_change(&robot, &now);
            }
            if let Some(frames) = now
                .frames
                .as_ref()
                .filter(|frames| Some(frames.ok) != shown)
            {
                shown = Some(frames.ok);
                say(&format!(
                    "Its frames in live TF: {} of {} match the asset",
                    frames.ok, frames.total
                ));
                for finding in &frames.findings {
                    say(&format!(
                        "  {} {}: {}",
                        finding.frame, finding.verdict, finding.detail
                    ));
                }
            }
            robot = now;
        }
        let settled = robot
            .frames
            .as_ref()
            .is_some_and(|frames| frames.ok == frames.total);
        if once && (settled || tokio::time::Instant::now() >= deadline) {
            if shown.is_none() {
                say("No frames received from TF yet");
            }
            return Ok(());
        }
        let wait = if once {
            Duration::from_millis(200)
        } else {
            Duration::from_secs(3600)
        };
        // An event, a lag and the time limit have the same effect: another round.
        let _ = tokio::time::timeout(wait, events.recv()).await;
    }
}

fn show_asset(robot: &RobotView) {
    let Some((revision, directory)) = robot.revision.zip(robot.directory.as_deref()) else {
        return;
    };
    let mut text = format!(
        "\nRevision {revision} of {:?} in {}\n",
        robot.name,
        directory.display()
    );
    for file in &robot.files {
        text.push_str(&format!(
            "  {:>10}  {}\n",
            size(file.bytes),
            directory.join(&file.path).display()
        ));
    }
    if let Some(counts) = robot.counts {
        text.push_str(&format!(
            "  {} links, {} joints, {} meshes with {} triangles, {} materials{}",
            counts.links,
            counts.joints,
            counts.meshes,
            counts.triangles,
            counts.materials,
            found(robot)
        ));
    }
    say(&text);
}

/// Prints a later revision, on one line.
fn show_change(before: &RobotView, now: &RobotView) {
    let Some(revision) = now.revision else { return };
    let is_new = |file: &&urdf_usd_convert::FileInfo| !before.files.contains(file);
    let changed: Vec<&str> = now
        .files
        .iter()
        .filter(is_new)
        .map(|file| file.path.as_str())
        .collect();
    say(&format!(
        "Revision {revision} of {:?}: {} changed{}",
        now.name,
        changed.join(", "),
        found(now)
    ));
}

/// Returns a summary of the conversion's findings, to append to a line.
fn found(robot: &RobotView) -> String {
    match status(&robot.diagnostics) {
        found if found.is_empty() => String::new(),
        found => format!("; {found}"),
    }
}

/// Ignores a closed output: no one reads it.
fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// The unpacked sample robot.
pub(super) struct Sample {
    /// Name of its ROS package.
    pub package: &'static str,
    /// Folder of its package.
    pub folder: PathBuf,
    /// Path of its URDF.
    pub urdf: PathBuf,
    /// Path of its SRDF.
    pub srdf: PathBuf,
}
