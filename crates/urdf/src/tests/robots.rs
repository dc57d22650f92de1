//! Real robots, with the counts in their manifest.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::super::{decode, read};
use urdf_usd_diagnostic::Severity;

/// The folder of the robots: `$URDF_USD_ROBOTS`, or one next to the repository.
fn robots() -> Option<PathBuf> {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/robots");
    let folder = std::env::var_os("URDF_USD_ROBOTS").map_or_else(beside, PathBuf::from);
    let found = folder.join("MANIFEST.json").is_file();
    if !found {
        eprintln!(
            "skipped: {} has no MANIFEST.json (set URDF_USD_ROBOTS)",
            folder.display()
        );
    }
    found.then_some(folder)
}

#[test]
fn every_robot_is_read_whole() {
    let Some(folder) = robots() else { return };
    let manifest: Value =
        serde_json::from_slice(&fs::read(folder.join("MANIFEST.json")).unwrap()).unwrap();
    let entries = manifest["entries"].as_array().unwrap();
    assert_eq!(entries.len(), 18);
    for entry in entries {
        let file = folder.join(entry["urdf"].as_str().unwrap());
        let outcome = read(
            &decode(&fs::read(&file).unwrap()).unwrap().text,
            Some(&file),
        );
        let errors: Vec<_> = outcome
            .diagnostics
            .iter()
            .filter(|d| d.severity == Severity::Error)
            .map(ToString::to_string)
            .collect();
        assert_eq!(errors, [""; 0]);
        let robot = outcome.robot.unwrap();
        let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
        for joint in robot.joints().values() {
            *kinds.entry(joint.kind().as_str()).or_default() += 1;
        }
        let expected: BTreeMap<&str, u64> = entry["joints"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(kind, count)| (kind.as_str(), count.as_u64().unwrap()))
            .collect();
        assert_eq!(
            (robot.links().len() as u64, &kinds),
            (entry["links"].as_u64().unwrap(), &expected),
            "{}",
            file.display()
        );
        assert_eq!(robot.tree().roots().len(), 1, "{}", file.display());
        eprintln!("{}:", entry["package"]);
        for diagnostic in &outcome.diagnostics {
            eprintln!(
                "  {}:{} {} {} ({})",
                diagnostic.place.line,
                diagnostic.place.column,
                diagnostic.code,
                diagnostic.message,
                diagnostic.place.element
            );
        }
    }
}
