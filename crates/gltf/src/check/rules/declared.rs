//! Whether the file has the extension and says so.

use serde_json::Value;

use super::super::asset::list;
use super::super::findings::Findings;
use super::super::{EXTENSION, codes};

/// `extensions`, `extensionsUsed` and `extensionsRequired`.
pub fn check(json: &Value, findings: &mut Findings) {
    let place_in = |name: &str| list(json, name).iter().position(|entry| entry == EXTENSION);
    let used = place_in("extensionsUsed");
    if json.pointer(&format!("/extensions/{EXTENSION}")).is_none() {
        let message = match used {
            Some(_) => format!("{EXTENSION} is listed in extensionsUsed, but `extensions` of the root object does not have it"),
            None => format!("the file does not use {EXTENSION}: there is no robot to check"),
        };
        findings.report(
            &codes::MISSING,
            "/extensions",
            message,
            "write the robot with `urdf_usd convert`, or add the extension to the root object's `extensions`",
        );
        return;
    }
    if used.is_none() {
        let message = format!("{EXTENSION} is not listed in extensionsUsed");
        findings.report(&codes::NOT_DECLARED, "/extensionsUsed", message, format!("add \"{EXTENSION}\" to extensionsUsed"));
    }
    if let Some(place) = place_in("extensionsRequired") {
        let message = format!("{EXTENSION} is listed in extensionsRequired, though any viewer can draw the robot without it");
        let help = format!("remove \"{EXTENSION}\" from extensionsRequired");
        findings.report(&codes::REQUIRED, format!("/extensionsRequired/{place}"), message, help);
    }
}
