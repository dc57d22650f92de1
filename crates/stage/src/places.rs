//! Source positions of the prims and properties of a text layer.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use super::lex::{Part, part};
use super::{LayerId, Stage, asset_bytes};

/// Line and column of every prim, variant and property of a text layer, by path in the layer:
/// `/robot{set=v}base.physics:mass`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places(HashMap<String, (u32, u32)>);

impl Places {
    /// Scans the text of a layer in a single pass. Any other text yields some positions or none.
    pub fn of(text: &[u8]) -> Self {
        let mut scanner = Scanner {
            text,
            counted: 0,
            line: 1,
            column: 1,
            places: HashMap::new(),
        };
        scanner.scan();
        Self(scanner.places)
    }

    /// Returns the line and column of the name of a prim or property, both from 1, columns in
    /// characters. Falls back to the prim for an unknown property.
    pub fn at(&self, path: &str) -> Option<(u32, u32)> {
        let prim = || self.0.get(path.rsplit_once('.')?.0);
        self.0.get(path).or_else(prim).copied()
    }
}

/// The source positions in the layers of a stage. Each layer is read on first use.
#[derive(Debug, Default)]
pub struct LayerPlaces(HashMap<LayerId, (Arc<Path>, Places)>);

impl LayerPlaces {
    /// Returns the file of a layer and the positions in it, none if it is binary; `None` for a layer
    /// that is not part of the stage.
    pub fn of(&mut self, stage: &Stage, id: LayerId) -> Option<(Arc<Path>, &Places)> {
        let layer = stage.layers.get(id.0)?;
        let (file, places) = self.0.entry(id).or_insert_with(|| {
            let bytes = (!layer.is_binary).then(|| asset_bytes(&layer.path.to_string_lossy()).ok());
            let places = bytes.flatten().map(|text| Places::of(&text));
            (layer.path.as_path().into(), places.unwrap_or_default())
        });
        Some((Arc::clone(file), places))
    }
}

/// The contents of a pair of braces.
enum Block {
    /// Prims, properties and variant sets of the prim or variant at this path.
    Body(String),
    /// The variants of a set, with the path of its prim and its name.
    Variants(String, String),
    /// A dictionary, or time samples.
    Value,
}

struct Scanner<'a> {
    text: &'a [u8],
    /// The offset up to which lines and columns are counted.
    counted: usize,
    line: u32,
    column: u32,
    places: HashMap<String, (u32, u32)>,
}

impl Scanner<'_> {
    fn scan(&mut self) {
        let text = self.text;
        let mut blocks = vec![Block::Body(String::new())];
        // The state of the current statement: its first and last word so far, whether its name is
        // known, and the contents of its braces.
        let (mut first, mut last, mut is_named, mut next) = (None, None, false, None);
        let (mut at, mut brackets) = (0, 0_usize);
        while let Some((part, length)) = text.get(at..).and_then(part) {
            let start = at;
            at += length;
            match part {
                Part::Byte(bracket @ (b'(' | b'[')) => {
                    // The metadata in `float mass (` ends the name; `float[]` is part of a type.
                    if bracket == b'(' && brackets == 0 {
                        self.property(&blocks, first, last, &mut is_named);
                    }
                    brackets += 1;
                }
                Part::Byte(b')' | b']') => brackets = brackets.saturating_sub(1),
                _ if brackets > 0 => {}
                Part::Byte(b'{') => {
                    blocks.push(next.take().unwrap_or(Block::Value));
                    if !matches!(blocks.last(), Some(Block::Value)) {
                        (first, last, is_named) = (None, None, false);
                    }
                }
                Part::Byte(b'}') => {
                    // The last statement may end here.
                    if !matches!(blocks.last(), Some(Block::Value)) {
                        self.property(&blocks, first, last, &mut is_named);
                        (first, last, is_named) = (None, None, false);
                    }
                    if blocks.len() > 1 {
                        blocks.pop();
                    }
                }
                _ if matches!(blocks.last(), Some(Block::Value)) => {}
                Part::String => {
                    let quotes = match text.get(start..at) {
                        Some([a, b, c, _, _, _, ..]) if a == b && b == c => 3,
                        _ => 1,
                    };
                    let name = text.get(start + quotes..at - quotes).unwrap_or_default();
                    let name = String::from_utf8_lossy(name).into_owned();
                    let word = |word: Option<(usize, usize)>| {
                        word.and_then(|(from, to)| text.get(from..to))
                            .unwrap_or_default()
                    };
                    let path = match (blocks.last(), word(first)) {
                        (Some(Block::Body(above)), b"def" | b"over" | b"class") if !is_named => {
                            let slash = if above.ends_with('}') { "" } else { "/" };
                            Some(format!("{above}{slash}{name}"))
                        }
                        (Some(Block::Body(above)), b"variantSet") if !is_named => {
                            next = Some(Block::Variants(above.clone(), name));
                            is_named = true;
                            None
                        }
                        (Some(Block::Variants(above, set)), _) => {
                            Some(format!("{above}{{{set}={name}}}"))
                        }
                        _ => None,
                    };
                    if let Some(path) = path {
                        self.record(path.clone(), start);
                        next = Some(Block::Body(path));
                        is_named = true;
                    }
                }
                Part::Byte(b'=') => self.property(&blocks, first, last, &mut is_named),
                Part::Byte(b'\n' | b'\r' | b';') => {
                    // The body of a prim may begin on the next line.
                    if next.is_none() {
                        self.property(&blocks, first, last, &mut is_named);
                        (first, last, is_named) = (None, None, false);
                    }
                }
                Part::Byte(byte) if is_word_byte(byte) => {
                    let rest = text.get(at..).unwrap_or_default();
                    let end = at + rest.iter().take_while(|&&b| is_word_byte(b)).count();
                    let word = Some((start, end));
                    (first, last, at) = (first.or(word), word, end);
                }
                Part::Byte(_) | Part::Opaque => {}
            }
        }
    }

    /// Records the property that a statement declares: its last word is the name.
    fn property(
        &mut self,
        blocks: &[Block],
        first: Option<(usize, usize)>,
        last: Option<(usize, usize)>,
        is_named: &mut bool,
    ) {
        let (Some(Block::Body(owner)), Some((from, to))) =
            (blocks.last(), last.filter(|_| last != first && !*is_named))
        else {
            return;
        };
        *is_named = true;
        let word = String::from_utf8_lossy(self.text.get(from..to).unwrap_or_default());
        // `inputs:file.connect` is an opinion about `inputs:file`.
        let name = word.split('.').next().unwrap_or_default();
        self.record(format!("{owner}.{name}"), from);
    }

    /// Records the position of `path`, unless it is known. `offset` must not decrease between calls.
    fn record(&mut self, path: String, offset: usize) {
        for &byte in self.text.get(self.counted..offset).unwrap_or_default() {
            if byte == b'\n' {
                self.line = self.line.saturating_add(1);
                self.column = 1;
            } else if byte & 0xc0 != 0x80 {
                self.column = self.column.saturating_add(1);
            }
        }
        self.counted = offset;
        self.places.entry(path).or_insert((self.line, self.column));
    }
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | b'.') || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::Places;

    const LAYER: &str = r#"#usda 1.0
(
    defaultPrim = "robot"
    doc = """def "no" {
    float no = 1"""
)

# def "comment" {
def Xform "robot" (
    prepend apiSchemas = ["PhysicsRigidBodyAPI"]
    variants = {
        string set = "v"
    }
    payload = @geometry.usda{.usda@</x>
)
{
    custom string größe = "def 'x' {" ; float after = 2
    float3[] points = [(1, 2, 3), (4, 5, 6)] (
        interpolation = "vertex"
    )
    double3 xformOp:translate.timeSamples = {
        0: (1, 2, 3),
    }
    float d.timeSamples = { 0: 1,
        1: 2 }
    uniform token[] xformOpOrder = ["a"]
    color3f inputs:diffuseColor.connect = </robot.outputs:rgb>
    prepend rel physics:body0 = </robot>
    token outputs:rgb

    variantSet "set" = {
        "v" (
            doc = "x"
        ) {
            over "base" { float physics:lowerLimit = 1 }
            variantSet "inner" = {
                "w" {
                    def "deep"
                    {
                    }
                }
            }
        }
        "u" {
            float mass
        }
    }
    class "last" {} def "beside" {
    }
}
"#;

    #[test]
    fn prims_and_properties_are_found() {
        let places = Places::of(LAYER.as_bytes());
        let mut all: Vec<(&str, &str)> = Vec::new();
        for (path, name) in [
            ("/robot", "\"robot\""),
            ("/robot.größe", "größe"),
            ("/robot.after", "after"),
            ("/robot.points", "points"),
            ("/robot.xformOp:translate", "xformOp:translate"),
            ("/robot.d", "d"),
            ("/robot.xformOpOrder", "xformOpOrder"),
            ("/robot.inputs:diffuseColor", "inputs:diffuseColor"),
            ("/robot.physics:body0", "physics:body0"),
            ("/robot.outputs:rgb", "outputs:rgb"),
            ("/robot{set=v}", "\"v\""),
            ("/robot{set=v}base", "\"base\""),
            ("/robot{set=v}base.physics:lowerLimit", "physics:lowerLimit"),
            ("/robot{set=v}{inner=w}", "\"w\""),
            ("/robot{set=v}{inner=w}deep", "\"deep\""),
            ("/robot{set=u}", "\"u\""),
            ("/robot{set=u}.mass", "mass"),
            ("/robot/last", "\"last\""),
            ("/robot/beside", "\"beside\""),
        ] {
            let (line, column) = places
                .at(path)
                .unwrap_or_else(|| panic!("{path}: {places:?}"));
            let found: String = LAYER
                .lines()
                .nth(line as usize - 1)
                .unwrap()
                .chars()
                .skip(column as usize - 1)
                .collect();
            assert!(found.starts_with(name), "{path}: {found}");
            all.push((path, name));
        }
        assert_eq!(places.0.len(), all.len(), "{places:?}");
        // An unknown property has the position of its prim.
        assert_eq!(places.at("/robot/last.none"), places.at("/robot/last"));
        assert_eq!(
            (places.at("/robot"), places.at("/none"), places.at("")),
            (Some((9, 11)), None, None)
        );
    }

    #[test]
    fn all_specs_of_openusd_have_positions() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.usda");
        std::fs::write(&file, LAYER.replace("größe", "size")).unwrap();
        let stage = crate::Stage::open(&file, &crate::Options::default()).unwrap();
        let places = Places::of(&std::fs::read(&file).unwrap());
        for prim in &stage.layers[0].prims {
            assert!(places.0.contains_key(&prim.path), "{}", prim.path);
            for property in &prim.properties {
                assert!(
                    places
                        .0
                        .contains_key(&format!("{}.{}", prim.path, property.name)),
                    "{}",
                    property.name
                );
            }
        }
    }

    #[test]
    fn any_text_is_scanned_in_linear_time() {
        let long = format!("def \"a\" {{ {} }}", "float ü = 1; ".repeat(300_000));
        assert_eq!(Places::of(long.as_bytes()).at("/a.ü"), Some((1, 17)));
        for text in [
            "",
            "}}}}",
            "def \"a",
            "def",
            "def \"a\" { float x",
            "= = =",
            "\"\"\"",
            "def \"a\" {{{{",
            ")]",
            "\u{feff}",
            "variantSet \"a\" = { \"b\"",
        ] {
            let _ = Places::of(text.as_bytes());
        }
        for end in 0..LAYER.len() {
            let _ = Places::of(&LAYER.as_bytes()[..end]);
        }
    }
}
