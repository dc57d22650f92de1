//! `urdf_usd check ASSET --live`: compares the frames of an OpenUSD asset with the TF of a running
//! robot.

use std::ffi::OsString;
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Format, code_quality, sarif};
use crate::results::{USAGE_CODE, failed, failed_with, print, print_json, usage_error};
use crate::{plural, say};
use urdf_usd_convert as convert;
use urdf_usd_diagnostic::{Diagnostic, Place, escape_controls};
use urdf_usd_messages::FrameVerdict;
use urdf_usd_node::check::{Outcome, check};
use urdf_usd_node::process::runtime;
use urdf_usd_node::process::signals::Interrupted;
use urdf_usd_node::{codes, verdict};
use urdf_usd_ros::{self as ros, Args, Node};
use urdf_usd_tf_check::{Expected, Finding, FrameStatus, Limits};
use urdf_usd_usd_read as usd_read;

/// The node's name, unless remapped.
const NAME: &str = "urdf_usd_check";
/// Exit code of an interrupted process (128 + SIGINT).
const INTERRUPTED: u8 = 130;

/// Parameters of the comparison.
pub(super) struct Listen<'a> {
    pub(super) asset: &'a Path,
    pub(super) format: Format,
    pub(super) timeout: f64,
    pub(super) limits: Limits,
    pub(super) ros_args: &'a [OsString],
}

/// Listens and prints the result; the exit code says whether all frames match the asset.
pub(super) fn run(listen: Listen<'_>) -> ExitCode {
    let entry = match convert::entry(listen.asset, &["usda", "usd", "usdc"]) {
        Ok(entry) => entry,
        Err(message) => return failed(&message),
    };
    let texts: Result<Vec<String>, OsString> = std::iter::once("--ros-args".into())
        .chain(listen.ros_args.iter().cloned())
        .map(OsString::into_string)
        .collect();
    let args = match texts.map(Args::parse) {
        Ok(Ok((args, rest))) if rest.is_empty() => args,
        Ok(Ok((_, rest))) => {
            return usage_error(&format!("{}: not a ROS argument", rest.join(" ")));
        }
        Ok(Err(diagnostic)) => {
            failed_with(&[diagnostic], None);
            return ExitCode::from(USAGE_CODE);
        }
        Err(argument) => {
            return usage_error(&format!("{}: not UTF-8 text", argument.to_string_lossy()));
        }
    };
    let expected = match usd_read::read_frames(&entry) {
        Ok(frames) => Expected::new(frames, Instant::now()),
        Err(error) => return failed(&error.to_string()),
    };
    let expected = match expected {
        Ok(expected) if expected.is_empty() => {
            return failed(&format!(
                "{} declares no frames: it has neither bodies nor prims with RosFrameAPI",
                entry.display()
            ));
        }
        Ok(expected) => expected,
        Err(error) => {
            return failed(&format!(
                "the frames of {} do not form a tree: {error}",
                entry.display()
            ));
        }
    };
    match listen_to(&args, &expected, &listen) {
        Ok(Some(outcome)) => {
            let printed = print_outcome(listen.asset, &outcome, listen.format);
            if outcome.check.is_ok() {
                printed
            } else {
                ExitCode::FAILURE
            }
        }
        Ok(None) => ExitCode::from(INTERRUPTED),
        Err(diagnostic) => failed_with(&[diagnostic], None),
    }
}

/// Listens, and returns the outcome; `None` if a signal ended it.
fn listen_to(
    args: &Args,
    expected: &Expected,
    listen: &Listen<'_>,
) -> Result<Option<Outcome>, Diagnostic> {
    // A timeout beyond the range of `Duration` counts as none.
    let patience = Duration::try_from_secs_f64(listen.timeout).unwrap_or(Duration::MAX);
    let runtime = runtime()?;
    let outcome = runtime.block_on(async {
        let mut interrupted = Interrupted::new()?;
        let node = ros::start(NAME, args)?;
        if matches!(listen.format, Format::Text) {
            let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
            let domain = set("ROS_DOMAIN_ID").unwrap_or_else(|| "0".to_owned());
            let rmw = set("RMW_IMPLEMENTATION").map_or_else(String::new, |rmw| format!(", {rmw}"));
            say(escape_controls(&format!(
                "listening for at most {} s in the ROS domain {domain}{rmw}",
                listen.timeout
            )));
        }
        let outcome = tokio::select! {
            outcome = check(&node, expected, &listen.limits, patience) => Some(outcome?),
            _ = interrupted.wait() => None,
        };
        node.shutdown();
        Ok(outcome)
    });
    runtime.shutdown_timeout(Duration::from_millis(500));
    outcome
}

fn print_outcome(asset: &Path, outcome: &Outcome, format: Format) -> ExitCode {
    match format {
        Format::Text => print(as_text(asset, outcome)),
        Format::Json => print_json(&as_json(asset, outcome)),
        Format::Sarif => print_json(&sarif::log(&diagnostics(asset, outcome), None)),
        Format::Gitlab => print_json(&code_quality::report(
            &diagnostics(asset, outcome),
            &asset.to_string_lossy(),
        )),
    }
}

fn as_text(asset: &Path, Outcome { check, topics }: &Outcome) -> String {
    let mut out = String::new();
    let findings = &check.findings;
    let width = findings
        .iter()
        .map(|finding| finding.frame.chars().count())
        .max()
        .unwrap_or(0);
    for Finding {
        frame,
        verdict,
        detail,
        ..
    } in findings
    {
        let line = format!("{frame:width$}  {:12}  {detail}", verdict.as_str());
        let _ = writeln!(out, "{}", escape_controls(&line));
    }
    for cause in &check.causes {
        let _ = writeln!(out, "cause: {}", escape_controls(&cause.to_string()));
    }
    let count = |wanted: fn(FrameStatus) -> bool| {
        findings
            .iter()
            .filter(|finding| wanted(finding.verdict))
            .count()
    };
    let extra = count(|verdict| verdict == FrameStatus::Extra);
    let more = if extra > 0 {
        format!(", {extra} more in TF")
    } else {
        String::new()
    };
    let summary = format!(
        "{}: {} of {} match the asset{more} ({}, {}, {})",
        asset.display(),
        count(|verdict| verdict == FrameStatus::Ok),
        plural(findings.len() - extra, "frame"),
        topics.moving,
        topics.fixed,
        topics.joints,
    );
    let _ = writeln!(out, "{}", escape_controls(&summary));
    out
}

fn as_json(asset: &Path, Outcome { check, topics }: &Outcome) -> Value {
    let frames: Vec<FrameVerdict> = check.findings.iter().cloned().map(verdict).collect();
    let causes: Vec<Value> = check
        .causes
        .iter()
        .map(|cause| json!({ "kind": cause.kind.as_str(), "message": cause.sentence }))
        .collect();
    json!({
        "asset": asset,
        "ok": check.is_ok(),
        "topics": { "tf": topics.moving, "tf_static": topics.fixed, "joint_states": topics.joints },
        "frames": frames,
        "causes": causes,
    })
}

fn diagnostics(asset: &Path, Outcome { check, .. }: &Outcome) -> Vec<Diagnostic> {
    let place = |frame: &str| Place {
        file: Some(asset.into()),
        element: frame.to_owned(),
        ..Place::default()
    };
    let help: Vec<&str> = check
        .causes
        .iter()
        .map(|cause| cause.sentence.as_str())
        .collect();
    let help = help.join("; ");
    let of = |finding: &Finding| {
        let code = match finding.verdict {
            FrameStatus::Missing => &codes::FRAME_MISSING,
            FrameStatus::WrongParent => &codes::FRAME_PARENT,
            FrameStatus::WrongTopic => &codes::FRAME_TOPIC,
            FrameStatus::Off => &codes::FRAME_OFF,
            FrameStatus::Stale => &codes::FRAME_STALE,
            FrameStatus::Extra => &codes::FRAME_EXTRA,
            FrameStatus::Ok => return None,
        };
        let message = format!(
            "frame {:?} is {}: {}",
            finding.frame,
            finding.verdict.as_str().replace('_', " "),
            finding.detail
        );
        Some(Diagnostic::new(code, place(&finding.frame), message).help(help.clone()))
    };
    check.findings.iter().filter_map(of).collect()
}
