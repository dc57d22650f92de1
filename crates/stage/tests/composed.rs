//! Composition of stages, compared with expected dumps next to the assets. `test/usd/test_stage.py`
//! checks the dumps against `usd-core`.

#![allow(clippy::unwrap_used)] // a test that fails may panic

use std::fmt::Write as _;
use std::path::Path;

use urdf_usd_stage::{
    Attribute, Options, Prim, Specifier, Stage, Value, array_len, asset_paths, double_array,
    doubles, texts, vectors,
};

/// Maximum number of elements of an array in the dump.
const SHOWN: usize = 12;

/// Returns a text dump of all prims of a stage.
fn dump(stage: &Stage) -> String {
    let mut text = format!(
        "default prim {}\n",
        stage.default_prim.map_or("-", |id| &stage[id].path)
    );
    for prim in &stage.prims {
        show(&mut text, prim);
    }
    let folder = stage.entry.parent().unwrap().canonicalize().unwrap();
    let mut layers: Vec<String> = stage
        .layers
        .iter()
        .map(|layer| {
            let path = layer
                .path
                .canonicalize()
                .unwrap_or_else(|_| layer.path.clone());
            let path = path
                .strip_prefix(&folder)
                .unwrap_or(&path)
                .display()
                .to_string();
            let words: String = [(" local", layer.is_local), (" binary", layer.is_binary)]
                .iter()
                .filter(|(_, is)| *is)
                .map(|(word, _)| *word)
                .collect();
            format!("layer {path}{words}")
        })
        .collect();
    layers.sort();
    let errors = stage
        .errors
        .iter()
        .filter(|error| error.path.as_ref().is_none_or(|path| !path.contains('.')));
    let mut errors: Vec<String> = errors
        .map(|error| format!("error {}", error.path.as_deref().unwrap_or("-")))
        .collect();
    errors.sort();
    text + &layers
        .into_iter()
        .chain(errors)
        .map(|line| line + "\n")
        .collect::<String>()
}

fn show(text: &mut String, prim: &Prim) {
    let specifier = match prim.specifier {
        Specifier::Def => "def",
        Specifier::Over => "over",
        Specifier::Class => "class",
    };
    let _ = write!(
        text,
        "{} {specifier} {}",
        prim.path,
        if prim.type_name.is_empty() {
            "-"
        } else {
            &prim.type_name
        }
    );
    let words = [
        ("abstract", prim.is_abstract),
        ("inactive", !prim.is_active),
        ("instanceable", prim.is_instanceable),
        ("instance", prim.is_instance),
        ("below-instance", prim.instance.is_some()),
        ("in-payload", prim.in_payload),
    ];
    for (word, _) in words.iter().filter(|(_, is)| *is) {
        let _ = write!(text, " {word}");
    }
    let _ = writeln!(
        text,
        " kind={} schemas={}",
        prim.kind.as_deref().unwrap_or("-"),
        prim.schemas.join(",")
    );
    let mut sets: Vec<_> = prim.variant_sets.iter().collect();
    sets.sort_by(|a, b| a.name.cmp(&b.name));
    for set in sets {
        let _ = writeln!(
            text,
            "  {{{}}} {} selected={}",
            set.name,
            set.variants.join("|"),
            set.selection.as_deref().unwrap_or("-")
        );
    }
    for (key, value) in &prim.metadata {
        let keys = match value {
            Value::Dictionary(entries) => {
                let mut keys: Vec<&str> = entries.keys().map(String::as_str).collect();
                keys.sort_unstable();
                format!(" {}", keys.join(","))
            }
            _ => String::new(),
        };
        let _ = writeln!(text, "  ({key}){keys}");
    }
    for (name, attribute) in prim.attributes.iter() {
        show_attribute(text, name, attribute);
    }
    for (name, relationship) in &prim.relationships {
        let _ = writeln!(text, "  {name} -> {}", relationship.targets.join(" "));
    }
}

fn show_attribute(text: &mut String, name: &str, attribute: &Attribute) {
    let _ = write!(text, "  {name} {}", attribute.type_name);
    for (word, _) in [
        ("custom", attribute.is_custom),
        ("uniform", attribute.is_uniform),
    ]
    .iter()
    .filter(|(_, is)| *is)
    {
        let _ = write!(text, " {word}");
    }
    let _ = write!(
        text,
        " = {}",
        attribute
            .value
            .as_deref()
            .map_or_else(|| "-".to_owned(), shown)
    );
    if !attribute.times.is_empty() {
        let _ = write!(text, " at {}", list(&attribute.times));
    }
    if !attribute.connections.is_empty() {
        let _ = write!(text, " <- {}", attribute.connections.join(" "));
    }
    if !attribute.metadata.is_empty() {
        let _ = write!(
            text,
            " ({})",
            attribute
                .metadata
                .keys()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(",")
        );
    }
    text.push('\n');
}

fn shown(value: &Value) -> String {
    let count = array_len(value)
        .map(|length| format!("{length}: "))
        .unwrap_or_default();
    let inside = match value {
        Value::Bool(flag) => flag.to_string(),
        Value::BoolVec(flags) => flags
            .iter()
            .take(SHOWN)
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(" "),
        Value::AssetPath(_) | Value::AssetPathVec(_) => asset_paths(value)
            .iter()
            .take(SHOWN)
            .map(|(path, found)| format!("@{path}@{}", if found.is_some() { "" } else { "!" }))
            .collect::<Vec<_>>()
            .join(" "),
        Value::String(text) => format!("{text:?}"),
        Value::Token(text) => format!("{:?}", text.as_str()),
        Value::StringVec(_) | Value::TokenVec(_) => texts(value)
            .unwrap()
            .iter()
            .take(SHOWN)
            .map(|text| format!("{text:?}"))
            .collect::<Vec<_>>()
            .join(" "),
        Value::Vec2fVec(v) => list(
            &v.iter()
                .take(SHOWN)
                .flat_map(|v| [v.x, v.y])
                .map(f64::from)
                .collect::<Vec<_>>(),
        ),
        value => {
            let vectors =
                vectors(value).map(|v| v.into_iter().take(SHOWN).flatten().collect::<Vec<f64>>());
            let numbers = vectors
                .or_else(|| double_array(value).map(|v| v.into_iter().take(SHOWN).collect()))
                .or_else(|| doubles(value));
            numbers.map_or_else(|| format!("{value:?}"), |numbers| list(&numbers))
        }
    };
    format!("{count}{inside}").trim_end().to_owned()
}

/// Formats numbers with six digits.
fn list(numbers: &[f64]) -> String {
    numbers
        .iter()
        .map(|n| {
            if n.is_infinite() {
                n.to_string()
            } else {
                format!("{n:.5e}")
            }
        })
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn composition_agrees_with_openusd() {
    for name in ["robot", "broken", "edits"] {
        let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/assets");
        let stage = Stage::open(&assets.join(format!("{name}.usda")), &Options::default()).unwrap();
        let expected = std::fs::read_to_string(assets.join(format!("{name}.txt"))).unwrap();
        let composed = dump(&stage);
        for (line, (is, should)) in composed.lines().zip(expected.lines()).enumerate() {
            assert_eq!(is, should, "{name}.txt, line {}", line + 1);
        }
        assert_eq!(
            composed.lines().count(),
            expected.lines().count(),
            "{name}.txt"
        );
    }
}

#[test]
fn authored_selections_are_those_of_the_default_variants() {
    let folder = tempfile::tempdir().unwrap();
    let entry = folder.path().join("r.usda");
    let variant = |name: &str| {
        format!("\"{name}\" {{\nover \"a\" (variants = {{ string set = \"{name}\" }}) {{\n}}\n}}\n")
    };
    let text = format!(
        "#usda 1.0\n(defaultPrim = \"r\")\ndef \"r\" (\nvariants = {{ string set = \"one\" }}\nprepend variantSets = \"set\"\n)\n{{\n\
         def \"a\" (prepend variantSets = \"set\") {{\nvariantSet \"set\" = {{\n\"one\" {{\n}}\n\"two\" {{\n}}\n}}\n}}\n\
         variantSet \"set\" = {{\n{}{}}}\n}}\n",
        variant("one"),
        variant("two")
    );
    std::fs::write(&entry, text).unwrap();
    let selected = |choices: &[&str]| {
        let options = Options {
            variants: choices
                .iter()
                .map(|choice| choice.parse().unwrap())
                .collect(),
            ..Options::default()
        };
        let stage = Stage::open(&entry, &options).unwrap();
        let set = &stage.prim_at("/r/a").unwrap().variant_sets[0];
        (
            set.selection.clone().unwrap(),
            set.authored.clone().unwrap(),
        )
    };
    let is = |selection: &str| (selection.to_owned(), "one".to_owned());
    assert_eq!(selected(&[]), is("one"));
    assert_eq!(selected(&["/r{set=two}"]), is("two"));
    assert_eq!(selected(&["set=two"]), is("two"));
    assert_eq!(selected(&["/r{set=two}", "/r/a{set=one}"]), is("one"));
}

/// Returns everything about the prims of a stage.
fn everything(stage: &Stage) -> String {
    let paths: Vec<_> = stage.layers.iter().map(|layer| &layer.path).collect();
    format!(
        "{:#?}{:?}{paths:?}{:?}",
        stage.prims, stage.errors, stage.default_prim
    )
}

#[test]
fn opening_with_other_variants_composes_what_differs() {
    let folder = tempfile::tempdir().unwrap();
    let parts = "#usda 1.0\n\
        def Xform \"x\" {\ndef Mesh \"m\" (apiSchemas = [\"MaterialBindingAPI\"]) {\nrel material:binding = </x/red>\ndouble size = 1\n}\ndef Material \"red\" {\n}\n}\n\
        def Xform \"y\" (references = </x>) {\nover \"m\" {\ndouble size = 2\n}\ndef Sphere \"s\" {\n}\n}\n";
    std::fs::write(folder.path().join("parts.usda"), parts).unwrap();
    let with_set = |name: &str, inside: &str| {
        format!(
            "def Xform \"{name}\" (\nvariants = {{ string look = \"one\" }}\nprepend variantSets = \"look\"\n)\n{{\n{inside}\n\
             variantSet \"look\" = {{\n\
             \"one\" {{\ndef \"v\" (payload = @parts.usda@</x>) {{\n}}\n}}\n\
             \"two\" {{\ndef \"v\" (payload = @parts.usda@</y>\ninstanceable = true) {{\n}}\ndef \"w\" (references = @parts.usda@</x>) {{\n}}\n}}\n}}\n}}\n"
        )
    };
    for extra in [
        "",
        // These are composed of prims with variants.
        "def \"copy\" (references = </r/a>) {\n}\n",
        "def \"kind\" (inherits = </r/b/c>) {\n}\n",
    ] {
        let text = format!(
            "#usda 1.0\n(defaultPrim = \"r\")\ndef Xform \"r\" {{\n{}def Xform \"b\" {{\n{}def \"e\" {{\n}}\n}}\n{extra}def \"f\" {{\n}}\n}}\n",
            with_set("a", "def \"in_a\" {\n}"),
            with_set("c", &with_set("below", "")),
        );
        let entry = folder.path().join("r.usda");
        std::fs::write(&entry, &text).unwrap();
        let stage = Stage::open(&entry, &Options::default()).unwrap();
        for choice in ["look=two", "/r/a{look=two}", "/r/b/c{look=two}", "look=one"] {
            let options = Options {
                variants: vec![choice.parse().unwrap()],
                ..Options::default()
            };
            // An asset that is not a file is composed as a whole.
            let whole = Options {
                content: Some(text.as_bytes().into()),
                ..options.clone()
            };
            let whole = Stage::open(&entry, &whole).unwrap();
            let reopened = stage.reopen(&options).unwrap();
            assert_eq!(
                everything(&reopened),
                everything(&whole),
                "{choice} {extra}"
            );
            let back = reopened.reopen(&Options::default()).unwrap();
            assert_eq!(everything(&back), everything(&stage), "{choice} {extra}");
        }
    }
}

/// Opens a text layer.
fn open_text(text: &str) -> Result<Stage, String> {
    let folder = tempfile::tempdir().unwrap();
    let entry = folder.path().join("a.usda");
    std::fs::write(&entry, text).unwrap();
    Stage::open(&entry, &Options::default()).map_err(|error| error.reason)
}

#[test]
fn arrays_of_several_kilobytes_are_shared_between_prims() {
    let numbers = |count: usize| vec!["1"; count].join(", ");
    let (few, many) = (numbers(100), numbers(600));
    let text = format!(
        "#usda 1.0\ndef \"S\"\n{{\n    double[] few = [{few}]\n    double[] many = [{many}]\n}}\n\
         def \"A\" (references = </S>)\n{{\n}}\n"
    );
    let stage = open_text(&text).unwrap();
    let shown = |name: &str| format!("{:?}", stage.prims[1].attributes[name].value);
    assert_eq!(shown("many"), "Some([600 elements])");
    assert!(shown("few").contains("1.0, 1.0"), "{}", shown("few"));
}

#[test]
fn long_path_expressions_of_many_prims_are_refused() {
    let patterns: Vec<String> = (0..2000)
        .map(|index| format!("/C/pattern{index}"))
        .collect();
    let text = patterns.join(" + ");
    let prims = (0..1000).map(|index| format!("def \"A{index}\" (inherits = </C>)\n{{\n}}\n"));
    let prims: String = prims.collect();
    let layer =
        format!("#usda 1.0\nclass \"C\"\n{{\n    pathExpression e = \"{text}\"\n}}\n{prims}");
    let error = open_text(&layer).unwrap_err();
    assert!(error.contains("take more than 512 MiB"), "{error}");
}
