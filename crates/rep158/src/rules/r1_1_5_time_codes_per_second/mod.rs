//! The root layer sets `timeCodesPerSecond` to 1.

use urdf_usd_stage::double;

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "The root layer does not say that a time code is a second.",
    outcome: "Programs play recorded motions at another speed: 24 time codes are a second where \
              nothing is said.",
    demand: "`timeCodesPerSecond` must be set to 1.0.",
    section: ("Coordinate Systems & Units", "§1.1"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let of_stage = |key| subject.stage.metadata(key).and_then(double);
    // OpenUSD falls back to framesPerSecond.
    let message = match (of_stage("timeCodesPerSecond"), of_stage("framesPerSecond")) {
        (Some(1.0), _) => return,
        (Some(other), _) => {
            format!("timeCodesPerSecond is {other}, so time samples are not in seconds")
        }
        (None, frames) => format!(
            "timeCodesPerSecond is not set, so {} time codes are a second",
            frames.unwrap_or(24.0)
        ),
    };
    findings.stage(
        message,
        "set timeCodesPerSecond = 1 and convert the times of all samples",
    );
}
