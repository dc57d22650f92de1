//! Text of layers: numbers, strings, and round trips.

use std::collections::HashMap;
use std::path::PathBuf;

use openusd::gf::f16;
use openusd::sdf::{self, Value};
use openusd::usda;
use proptest::prelude::*;

use super::layers::{Range, any_layer};
use urdf_usd_usd_author::text::write;
use urdf_usd_usd_author::{Attribute, Layer};

fn text(layer: &Layer) -> String {
    layer.text().unwrap()
}

/// Returns the body of the only property of the only prim of a layer.
fn property(attribute: Attribute) -> String {
    let mut layer = Layer::new("", "");
    layer.over("/p").attribute("a", attribute);
    let text = text(&layer);
    text.split_once("{\n    ")
        .unwrap()
        .1
        .split_once("\n}")
        .unwrap()
        .0
        .to_owned()
}

#[test]
fn numbers_are_the_shortest_that_read_back() {
    let doubles = [
        0.0,
        -0.0,
        1.0,
        0.1,
        1e-7,
        1e-6,
        1.5e-6,
        9.99e-7,
        1e14,
        123456789012345.0,
        1e15,
        1.25e20,
        -2.5e-10,
        123456.789,
        1.0 / 3.0,
        5e-324,
        f64::MAX,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    assert_eq!(
        property(Attribute::double_array(doubles)),
        "double[] a = [0, -0, 1, 0.1, 1e-7, 0.000001, 0.0000015, 9.99e-7, 100000000000000, 123456789012345, 1e15, 1.25e20, \
         -2.5e-10, 123456.789, 0.3333333333333333, 5e-324, 1.7976931348623157e308, inf, -inf, nan]"
    );
    let floats = [
        0.1,
        123456789012345.0,
        16777216.0,
        1.0 / 3.0,
        f32::MAX,
        1e-45,
    ];
    assert_eq!(
        property(Attribute::float_array(floats)),
        "float[] a = [0.1, 123456790000000, 16777216, 0.33333334, 3.4028235e38, 1e-45]"
    );
    let halves = [0.1, 1e-7, 65504.0, -0.0, 1234.0, 12.5].map(f16::from_f64);
    assert_eq!(
        property(Attribute::new("half[]", Value::HalfVec(halves.to_vec()))),
        "half[] a = [0.0999756, 1.19209e-07, 65504, -0, 1234, 12.5]"
    );
}

#[test]
fn strings_are_quoted_as_openusd_does() {
    for (given, quoted) in [
        ("", r#""""#),
        ("a", r#""a""#),
        ("a\"b", r#"'a"b'"#),
        ("a'b", r#""a'b""#),
        ("a\"'b", r#""a\"'b""#),
        ("a\nb", "\"\"\"a\nb\"\"\""),
        ("a\r\nb", "\"\"\"a\\r\nb\"\"\""),
        ("a\n\"b", "'''a\n\"b'''"),
        ("a\tb\\c", r#""a\tb\\c""#),
        ("\u{1}\u{7f}\u{85}é😀", "\"\\x01\\x7f\u{85}é😀\""),
        ("a\0b", r#""a""#),
    ] {
        assert_eq!(
            property(Attribute::string(given)),
            format!("string a = {quoted}")
        );
    }
    for (given, quoted) in [
        ("a.png", "@a.png@"),
        ("a@b", "@@@a@b@@@"),
        ("a@@@@", r"@@@a\@@@@@@@"),
        ("", "@@"),
    ] {
        assert_eq!(
            property(Attribute::asset(given)),
            format!("asset a = {quoted}")
        );
    }
}

/// OpenUSD reads prims at this depth and deeper, so a thread with a small stack must be able to
/// write them.
#[test]
fn depth_is_no_matter_of_the_stack() {
    let mut layer = Layer::new("", "");
    layer.def(&"/p".repeat(1000), "Xform");
    let write = std::thread::Builder::new()
        .stack_size(128 * 1024)
        .spawn(move || text(&layer))
        .unwrap();
    assert_eq!(write.join().unwrap().matches('}').count(), 1000);
}

#[test]
fn what_openusd_would_refuse_is_refused() {
    let mut layer = Layer::new("", "");
    layer.over("/p").attribute("a", Attribute::asset("a\nb"));
    let error = layer.text().unwrap_err();
    assert_eq!(error.path, "/p.a");
    let mut layer = Layer::new("", "");
    layer
        .over("/p")
        .attribute("a", Attribute::new("opaque", Value::Opaque));
    assert!(layer.text().is_err());
}

/// Returns the directory of the reference layers: next to the repository, or `URDF_USD_GOLD`.
fn gold() -> Option<PathBuf> {
    let dir = std::env::var_os("URDF_USD_GOLD")
        .map_or_else(
            || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/gold")),
            PathBuf::from,
        )
        .join("ref_arm");
    if dir.is_dir() {
        return Some(dir);
    }
    eprintln!("skipped: no reference layers at {}", dir.display());
    None
}

#[test]
fn reference_layers_stay_as_they_are() {
    let Some(dir) = gold() else { return };
    let mut seen = 0;
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "usda")
        {
            let before = std::fs::read_to_string(&path).unwrap();
            assert_eq!(
                write(&usda::parse(&before).unwrap()).unwrap(),
                before,
                "{}",
                path.display()
            );
            seen += 1;
        }
    }
    assert!(seen >= 8, "{seen}");
}

/// Returns every spec with its fields; unordered lists are sorted.
fn content(data: &sdf::Data) -> HashMap<String, (u32, HashMap<String, Value>)> {
    let field = |(name, value): &(String, Value)| {
        let value = match value {
            Value::TokenVec(names) if name == "propertyChildren" || name == "variantChildren" => {
                let mut names = names.clone();
                names.sort();
                Value::TokenVec(names)
            }
            _ => value.clone(),
        };
        (name.clone(), value)
    };
    data.iter()
        .map(|(path, spec)| {
            (
                path.to_string(),
                (spec.ty as u32, spec.fields.iter().map(field).collect()),
            )
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_reads_back(layer in any_layer(Range::Readable)) {
        let text = layer.text().unwrap();
        let data = &layer.into_data().unwrap();
        prop_assert_eq!(&write(data).unwrap(), &text);
        let read = usda::parse(&text).map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
        let (before, after) = (content(data), content(&read));
        for (path, spec) in &before {
            prop_assert_eq!(Some(spec), after.get(path), "{}\n{}", path, text);
        }
        prop_assert_eq!(before.len(), after.len());
        prop_assert_eq!(write(&read).unwrap(), text);
    }
}
