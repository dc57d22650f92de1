//! Source positions of the prims and properties of a text layer.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use super::{LayerId, Stage, asset_bytes, usda};

/// Line and column of every prim, variant and property of a text layer, by path in the layer:
/// `/robot{set=v}base.physics:mass`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places(HashMap<String, (u32, u32)>);

impl Places {
    /// Scans the text of a layer. Any other text yields some positions or none.
    pub fn of(text: &[u8]) -> Self {
        let text = String::from_utf8_lossy(text);
        let mut places = HashMap::new();
        let (mut counted, mut line, mut column) = (0, 1_u32, 1_u32);
        for (path, offset) in usda::positions(&text) {
            for character in text.get(counted..offset).unwrap_or_default().chars() {
                if character == '\n' {
                    (line, column) = (line.saturating_add(1), 1);
                } else {
                    column = column.saturating_add(1);
                }
            }
            counted = offset;
            places.entry(path).or_insert((line, column));
        }
        Self(places)
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
            over "base" { float physics:lowerLimit = 1; }
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
    class "last" {}
    def "beside" {
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
        std::fs::write(&file, LAYER).unwrap();
        let stage = crate::Stage::open(&file, &crate::Options::default()).unwrap();
        let places = Places::of(&std::fs::read(&file).unwrap());
        for prim in stage.layers[0].prims.iter() {
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
    fn any_text_is_read_once() {
        let long = format!(
            "#usda 1.0\ndef \"a\" {{ {} }}",
            "float ü = 1; ".repeat(300_000)
        );
        assert_eq!(Places::of(long.as_bytes()).at("/a.ü"), Some((2, 17)));
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
