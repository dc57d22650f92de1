//! That rules find what breaks them and not what keeps them, and that nothing in an asset makes the checker panic.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{Options, RULES, check};
use urdf_usd_diagnostic::Example;

/// The header that an example without one gets.
const HEADER: &str = "#usda 1.0\n(\n    defaultPrim = \"robot\"\n    kilogramsPerUnit = 1\n    metersPerUnit = 1\n    timeCodesPerSecond = 1\n    \
    upAxis = \"Z\"\n)\n\n";

/// Writes the files of an example; returns the first.
fn written(example: Example, folder: &Path) -> PathBuf {
    for (name, text) in example {
        let (file, text) = (folder.join(name), text.unwrap());
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let text = if text.starts_with("#usda") { text.to_owned() } else { format!("{HEADER}{text}\n") };
        if name.ends_with(".usdc") {
            openusd::usdc::CrateWriter::write_to_file(&openusd::usda::parse(&text).unwrap(), file).unwrap();
            continue;
        }
        std::fs::write(file, text).unwrap();
    }
    folder.join(example[0].0)
}

#[test]
fn examples_break_and_keep_their_rules() {
    for rule in RULES {
        let options = Options { select: vec![rule.code.id.to_owned()], ..Options::default() };
        let found = |example| {
            let folder = tempfile::tempdir().unwrap();
            check(&written(example, folder.path()), &options).unwrap()
        };
        assert!(found(rule.breaks).iter().any(|finding| finding.code == rule.code.id), "{}", rule.code.id);
        assert_eq!(found(rule.keeps), [], "{}", rule.code.id);
    }
}

#[test]
fn codes_are_in_order_and_unique() {
    let ids: Vec<&str> = RULES.iter().map(|rule| rule.code.id).collect();
    let numbers =
        |id: &str| id.strip_prefix("REP158-").unwrap().split('.').map(|n| n.parse::<u32>().unwrap()).collect::<Vec<_>>();
    assert!(ids.is_sorted_by_key(|id| numbers(id)), "{ids:?}");
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
}
