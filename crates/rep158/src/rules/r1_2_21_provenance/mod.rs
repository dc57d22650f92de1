//! `assetInfo["ros"]` names the source of the asset.

use urdf_usd_stage::{Value, text};

use super::{Findings, Subject, rule};

rule! {
    severity: Warning,
    meaning: "The source of the asset is recorded outside of assetInfo[\"ros\"], or is not a \
              package:// URI.",
    outcome: "Programs cannot find the description that the asset was made from.",
    demand: "To carry robotics-specific provenance, authors should use a namespaced \
             sub-dictionary: assetInfo[\"ros\"], such as assetInfo[\"ros\"][\"package_uri\"] = \
             \"package://my_robot/urdf/robot.urdf\".",
    section: ("Asset Management", "§1.2.5"),
}

/// Keys under which assets name their source.
const SOURCES: &[&str] = &[
    "package_uri",
    "urdf",
    "urdf_path",
    "sdf",
    "sdf_uri",
    "source_urdf",
];

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let Some(root) = subject.stage.default_prim else {
        return;
    };
    let prim = &subject.stage[root];
    let entries = |key: &str| match prim.metadata.get(key) {
        Some(Value::Dictionary(entries)) => Some(entries),
        _ => None,
    };
    let mut report = |message: String| {
        findings.prim(
            root,
            None,
            message,
            "author assetInfo[\"ros\"][\"package_uri\"] = \"package://PACKAGE/PATH\"",
        )
    };
    for dictionary in ["assetInfo", "customData"] {
        if let Some(name) = SOURCES
            .iter()
            .find(|name| entries(dictionary).is_some_and(|entries| entries.contains_key(**name)))
        {
            report(format!(
                "{name} is in {dictionary} of {}, not in assetInfo[\"ros\"]",
                prim.path
            ));
        }
    }
    let uri = match entries("assetInfo").and_then(|entries| entries.get("ros")) {
        Some(Value::Dictionary(ros)) => ros
            .get("package_uri")
            .map(|uri| text(uri).unwrap_or_default()),
        Some(_) => {
            return report(format!(
                "ros in assetInfo of {} is not a dictionary",
                prim.path
            ));
        }
        None => None,
    };
    if let Some(uri) = uri.filter(|uri| {
        uri.strip_prefix("package://")
            .and_then(|rest| rest.split_once('/'))
            .is_none_or(|(name, path)| name.is_empty() || path.is_empty())
    }) {
        report(format!(
            "package_uri of {} is \"{uri}\", which is not a package:// URI",
            prim.path
        ));
    }
}
