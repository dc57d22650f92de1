//! The root layer sets `timeCodesPerSecond` to 1.

use urdf_usd_stage::double;

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "The root layer does not set timeCodesPerSecond to 1.",
    outcome: "Programs play recorded motions at another speed: 24 time codes are one second if the \
              value is missing.",
    demand: "`timeCodesPerSecond` must be set to 1.0.",
    section: ("Coordinate Systems & Units", "§1.1"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let metadata = |key| subject.stage.metadata(key).and_then(double);
    // Without timeCodesPerSecond, OpenUSD falls back to framesPerSecond.
    let message = match (metadata("timeCodesPerSecond"), metadata("framesPerSecond")) {
        (Some(1.0), _) => return,
        (Some(other), _) => {
            format!("timeCodesPerSecond is {other}, so time samples are not in seconds")
        }
        (None, frames) => format!(
            "timeCodesPerSecond is not set, so {} time codes are one second",
            frames.unwrap_or(24.0)
        ),
    };
    findings.stage(
        message,
        "set timeCodesPerSecond = 1 and convert the times of all samples",
    );
}
