//! Tests that every rule reports its `breaks` example and accepts its `keeps` example, that no file
//! makes the checker panic, and that the specification lists all rules. Detailed expectations are
//! tested in Python with `docs/EXT_robot_kinematics/test/broken.json`.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{RULES, check, codes};
use urdf_usd_diagnostic::{Example, MAX_PER_CODE};

const SAMPLER: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/EXT_robot_kinematics/test/sampler.gltf"
));
const BROKEN: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/EXT_robot_kinematics/test/broken.json"
));
const SPECIFICATION: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/EXT_robot_kinematics/README.md"
));

/// Packs a document and a buffer of zeros into a GLB (glTF 2.0 specification, chapter 4).
fn glb(json: &str) -> Vec<u8> {
    const BUFFER: usize = 76;
    let json_length = json.len().next_multiple_of(4);
    let total = 12 + 8 + json_length + 8 + BUFFER;
    let word = |number: usize| u32::try_from(number).unwrap().to_le_bytes();
    let mut bytes = [
        b"glTF",
        &word(2)[..],
        &word(total),
        &word(json_length),
        b"JSON",
    ]
    .concat();
    bytes.extend(json.as_bytes());
    bytes.resize(20 + json_length, b' ');
    bytes.extend([&word(BUFFER)[..], b"BIN\0"].concat());
    bytes.resize(total, 0);
    bytes
}

#[test]
fn the_sampler_is_clean_in_both_containers() {
    assert_eq!(check(SAMPLER.as_bytes(), None), []);
    assert_eq!(check(&glb(SAMPLER), None), []);
}

#[test]
fn the_specification_lists_every_code_and_no_other() {
    let mut listed = Vec::new();
    for row in SPECIFICATION
        .lines()
        .filter(|line| line.contains("| `kinematics-"))
    {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        assert_eq!(
            cells[1],
            (listed.len() + 1).to_string(),
            "numbers go up by one"
        );
        listed.push([cells[2].trim_matches('`'), cells[3], cells[4], cells[5]].map(str::to_owned));
    }
    let row = |rule: &&super::Rule| {
        let (title, anchor) = rule.section;
        let section = format!("[{title}]({anchor})");
        [
            rule.code.id.to_owned(),
            rule.code.severity.to_string(),
            rule.demand.to_owned(),
            section,
        ]
    };
    assert_eq!(listed, RULES.iter().map(row).collect::<Vec<_>>());
}

/// Returns the sampler with the values of an example.
fn with(example: &Example) -> Vec<u8> {
    let mut document: Value = serde_json::from_str(SAMPLER).unwrap();
    for (place, text) in example {
        let pointer = match place.strip_prefix('/') {
            Some(_) => place.to_string(),
            None => format!("/extensions/EXT_robot_kinematics/{place}"),
        };
        let value = text.map(|text| serde_json::from_str(text).unwrap());
        let (above, last) = pointer.rsplit_once('/').unwrap();
        match (document.pointer_mut(above).unwrap(), value) {
            (Value::Object(object), Some(value)) => drop(object.insert(last.to_owned(), value)),
            (Value::Object(object), None) => drop(object.remove(last)),
            (Value::Array(list), Some(value)) if last == list.len().to_string() => list.push(value),
            (Value::Array(list), Some(value)) => list[last.parse::<usize>().unwrap()] = value,
            other => panic!("{place}: {other:?}"),
        }
    }
    serde_json::to_vec(&document).unwrap()
}

#[test]
fn examples_break_and_keep_their_rules() {
    for rule in RULES {
        let [breaks, keeps] = [rule.breaks, rule.keeps].map(|example| example());
        assert!(!breaks.is_empty() && !keeps.is_empty(), "{}", rule.code.id);
        let found = check(&with(&breaks), None);
        assert!(
            found.iter().any(|finding| finding.code == rule.code.id),
            "{}: {found:?}",
            rule.code.id
        );
        assert_eq!(check(&with(&keeps), None), [], "{}", rule.code.id);
        let places = |example: &Example| {
            example
                .iter()
                .map(|(place, _)| *place)
                .collect::<BTreeSet<_>>()
        };
        assert!(
            places(&keeps).is_subset(&places(&breaks)),
            "{}: the same places",
            rule.code.id
        );
    }
}

#[test]
fn every_code_has_a_broken_file() {
    let cases: Vec<Value> = serde_json::from_str(BROKEN).unwrap();
    let met: BTreeSet<&str> = cases
        .iter()
        .map(|case| case["code"].as_str().unwrap())
        .collect();
    assert_eq!(met, codes::ALL.iter().map(|code| code.id).collect());
}

/// Collects the pointers to all values of a document except the root.
fn pointers(value: &Value, at: &str, out: &mut Vec<String>) {
    let mut go_on = |step: &str, value: &Value| {
        let pointer = format!("{at}/{step}");
        out.push(pointer.clone());
        pointers(value, &pointer, out);
    };
    match value {
        Value::Object(object) => object.iter().for_each(|(key, value)| go_on(key, value)),
        Value::Array(list) => list
            .iter()
            .enumerate()
            .for_each(|(index, value)| go_on(&index.to_string(), value)),
        _ => {}
    }
}

/// Returns values that are invalid almost anywhere.
fn odd_values() -> Vec<Value> {
    let long: Vec<usize> = (0..200).collect();
    vec![
        Value::Null,
        json!(true),
        json!(-1),
        json!(0),
        json!(0.5),
        json!(7),
        json!(1e300),
        json!(-1e-320),
        json!(u64::MAX),
        json!("ä".repeat(300)),
        json!(""),
        json!([]),
        json!({}),
        json!([[], {}]),
        json!({"": {"/~": []}}),
        json!([0.0, 0.0, 0.0]),
        json!([1e308, 1e308, 1e308]),
        json!([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        json!(long),
    ]
}

fn remove(document: &mut Value, pointer: &str) {
    let Some((above, last)) = pointer.rsplit_once('/') else {
        return;
    };
    match document.pointer_mut(above) {
        Some(Value::Object(object)) => drop(object.remove(last)),
        Some(Value::Array(list)) => match last.parse::<usize>() {
            Ok(index) if index < list.len() => drop(list.remove(index)),
            _ => {}
        },
        _ => {}
    }
}

/// Checks that findings are few, have positions in the text, and have a message.
fn assert_sane(bytes: &[u8]) {
    let found = check(bytes, None);
    assert!(found.len() <= codes::ALL.len() * (MAX_PER_CODE + 1));
    let lines = bytes.split(|&byte| byte == b'\n').count();
    for diagnostic in found {
        assert!(diagnostic.place.line as usize <= lines);
        assert!(
            !diagnostic.message.is_empty()
                && diagnostic.message.len() < 2000
                && !diagnostic.help.is_empty(),
            "{diagnostic}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_document_makes_it_panic(changes in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..3, any::<prop::sample::Index>()), 1..5)) {
        let mut document: Value = serde_json::from_str(SAMPLER).unwrap();
        for (place, kind, what) in changes {
            let mut all = Vec::new();
            pointers(&document, "", &mut all);
            if all.is_empty() {
                break;
            }
            let pointer = place.get(&all);
            let value = match kind {
                0 => {
                    remove(&mut document, pointer);
                    continue;
                }
                1 => Some(what.get(&odd_values()).clone()),
                _ => document.pointer(what.get(&all).as_str()).cloned(),
            };
            // Some odd values have keys that need escaping in pointers.
            if let Some((slot, value)) = document.pointer_mut(pointer).zip(value) {
                *slot = value;
            }
        }
        assert_sane(serde_json::to_string_pretty(&document).unwrap().as_bytes());
    }

    #[test]
    fn no_bytes_make_it_panic(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6), end in any::<prop::sample::Index>(), is_glb: bool) {
        let mut bytes = if is_glb { glb(SAMPLER) } else { SAMPLER.as_bytes().to_vec() };
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if bytes[0] % 2 == 0 {
            bytes.truncate(end.index(bytes.len()));
        }
        assert_sane(&bytes);
    }
}
