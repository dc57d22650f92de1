mod custom;
mod extensions;
mod findings;
mod mutations;
mod robots;
mod values;

use super::{Outcome, read};
use urdf_usd_diagnostic::Severity;
use urdf_usd_robot::Robot;

/// A robot around `inside`, which begins on line 2.
fn text(inside: &str) -> String {
    format!("<robot name=\"r\">\n{inside}\n</robot>")
}

/// The robot in `text`, which reports nothing worse than an information.
fn clean(text: &str) -> Robot {
    let Outcome {
        robot, diagnostics, ..
    } = read(text, None);
    assert!(
        diagnostics.iter().all(|d| d.severity == Severity::Info),
        "{diagnostics:#?}"
    );
    robot.unwrap()
}

/// The findings about `text`: code, line, column, element.
fn findings(text: &str) -> Vec<(&'static str, u32, u32, String)> {
    read(text, None)
        .diagnostics
        .into_iter()
        .map(|d| (d.code, d.place.line, d.place.column, d.place.element))
        .collect()
}
