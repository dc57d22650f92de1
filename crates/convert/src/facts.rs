//! The facts of a robot that each output format can hold: the only list of them, and the source of
//! the table in `docs/formats.md`.
//!
//! A writer reports facts that its format has no word for from its own list of them (`NO_WORD`); a
//! test compares these lists with the table.

use urdf_usd_diagnostic::Code;
use urdf_usd_gltf_write as gltf;
use urdf_usd_mjcf as mjcf;
use urdf_usd_robot::facts::Fact;
use urdf_usd_sdf as sdf;
use urdf_usd_urdf::write as urdf;
use urdf_usd_usd_write as usd;

use super::{OutputFormat, codes};

/// The state of a fact in the files of a format.
enum Held {
    /// They have it.
    Kept,
    /// They have it, with the exceptions that findings of these codes name.
    Mostly(&'static [&'static Code]),
    /// They lack it, as findings of these codes say.
    Lost(&'static [&'static Code]),
}

use Held::{Kept, Lost, Mostly};

/// A row of the table.
struct Row {
    words: &'static str,
    /// The facts that writers report.
    facts: &'static [Fact],
    /// The state in each of [`COLUMNS`].
    held: [Held; COLUMNS.len()],
}

/// The columns of the table: formats that hold the same facts.
const COLUMNS: [(&str, &[OutputFormat]); 5] = [
    ("OpenUSD", &[OutputFormat::Usd, OutputFormat::Usdz]),
    ("glTF", &[OutputFormat::Glb, OutputFormat::Gltf]),
    ("URDF", &[OutputFormat::Urdf]),
    ("MJCF", &[OutputFormat::Mjcf]),
    ("SDF", &[OutputFormat::Sdf]),
];

/// Declares a row: its words, its facts, and its state in each column.
macro_rules! rows {
    ($($words:literal [$($fact:ident)*]: $usd:expr, $gltf:expr, $urdf:expr, $mjcf:expr, $sdf:expr;)+) => {
        &[$(Row {
            words: $words,
            facts: &[$(Fact::$fact),*],
            held: [$usd, $gltf, $urdf, $mjcf, $sdf],
        }),+]
    };
}

const ROWS: &[Row] = rows! {
    "links and their tree" []: Mostly(&[&usd::codes::NAME_ENCODED]), Kept, Mostly(&[&urdf::codes::ROOTS]),
        Mostly(&[&mjcf::codes::RENAMED]), Mostly(&[&sdf::codes::RENAMED]);
    "revolute, continuous and prismatic joints" []: Kept, Kept, Kept, Mostly(&[&mjcf::codes::RENAMED]),
        Mostly(&[&sdf::codes::RENAMED]);
    "fixed joints" [FixedJoints]: Kept, Kept, Kept, Lost(&[&mjcf::codes::NO_WORD]),
        Mostly(&[&sdf::codes::MERGED]);
    "planar joints" []: Kept, Kept, Kept, Kept, Lost(&[&sdf::codes::PLANAR]);
    "floating joints" [FloatingJoints]: Kept, Kept, Kept, Kept, Lost(&[&sdf::codes::NO_WORD]);
    "loop joints" []: Mostly(&[&usd::codes::RIGID_LOOP]), Mostly(&[&gltf::codes::LOOP_JOINT]),
        Lost(&[&urdf::codes::LOOP]), Mostly(&[&mjcf::codes::LOOP]), Mostly(&[&sdf::codes::LOOP]);
    "joints with several degrees of freedom" []: Kept, Kept, Kept, Mostly(&[&mjcf::codes::BALL]), Kept;
    "position limits" []: Kept, Kept, Kept, Mostly(&[&mjcf::codes::RANGE]), Kept;
    "effort limits" []: Kept, Kept, Kept, Kept, Kept;
    "velocity limits" [VelocityLimits]: Kept, Kept, Kept, Lost(&[&mjcf::codes::NO_WORD]), Kept;
    "soft limits" [SoftLimits]: Kept, Kept, Mostly(&[&urdf::codes::REQUIRED]), Lost(&[&mjcf::codes::NO_WORD]),
        Lost(&[&sdf::codes::NO_WORD]);
    "calibration" [Calibration]: Kept, Kept, Kept, Lost(&[&mjcf::codes::NO_WORD]), Lost(&[&sdf::codes::NO_WORD]);
    "damping and friction of joints" []: Kept, Kept, Kept, Kept, Kept;
    "armature of joints" []: Mostly(&[&codes::ARMATURE]), Lost(&[&codes::ARMATURE]), Lost(&[&codes::ARMATURE]), Kept,
        Lost(&[&codes::ARMATURE]);
    "mimic joints" []: Mostly(&[&usd::codes::NEWTON_MIMIC, &usd::codes::MIMIC]), Mostly(&[&gltf::codes::MIMIC_LEFT_OUT]), Kept,
        Mostly(&[&mjcf::codes::MIMIC]), Mostly(&[&sdf::codes::MIMIC]);
    "drives" [Drives DrivesWithoutGains]: Kept, Mostly(&[&gltf::codes::NO_WORD]), Mostly(&[&urdf::codes::NO_WORD]),
        Mostly(&[&codes::DRIVES_ASSUMED, &mjcf::codes::GAINS]), Mostly(&[&sdf::codes::NO_WORD]);
    "gains and targets of drives" []: Kept, Mostly(&[&gltf::codes::DRIVE]), Lost(&[&urdf::codes::DRIVE]),
        Mostly(&[&mjcf::codes::ACCELERATION]), Mostly(&[&sdf::codes::DRIVE]);
    "masses and inertias" []: Mostly(&[&usd::codes::MASS_MISSING, &usd::codes::INERTIA_REPAIRED]), Kept, Kept,
        Mostly(&[&mjcf::codes::MASS, &mjcf::codes::INERTIA]), Mostly(&[&sdf::codes::MASS, &sdf::codes::INERTIA]);
    "marks of assumed masses" [AssumedMasses]: Kept, Kept, Lost(&[&urdf::codes::NO_WORD]),
        Lost(&[&mjcf::codes::NO_WORD]), Lost(&[&sdf::codes::NO_WORD]);
    "visuals" []: Kept, Kept, Mostly(&[&urdf::codes::SHAPE]), Mostly(&[&mjcf::codes::SHAPE]),
        Mostly(&[&sdf::codes::SHAPE]);
    "collisions" []: Kept, Kept, Mostly(&[&urdf::codes::SHAPE]), Mostly(&[&mjcf::codes::HULL, &mjcf::codes::SHAPE]),
        Mostly(&[&sdf::codes::SHAPE]);
    "names of visuals and collisions" []: Kept, Kept, Kept, Mostly(&[&mjcf::codes::RENAMED]),
        Mostly(&[&sdf::codes::RENAMED]);
    "names of materials" [SolidMaterials]: Mostly(&[&usd::codes::MATERIAL_MERGED]), Kept,
        Mostly(&[&urdf::codes::RENAMED]), Mostly(&[&mjcf::codes::RENAMED]), Mostly(&[&sdf::codes::NO_WORD]);
    "colour and opacity" []: Kept, Kept, Mostly(&[&codes::MESH_LOOKS]), Kept, Mostly(&[&codes::MESH_LOOKS]);
    "metalness, roughness, emission, clear coat" []: Kept, Kept,
        Mostly(&[&urdf::codes::LOOKS, &codes::MESH_LOOKS]), Mostly(&[&mjcf::codes::LOOKS]),
        Mostly(&[&sdf::codes::LOOKS, &codes::MESH_LOOKS]);
    "images of colour, and their placement" []: Mostly(&[&codes::TEXTURE_WITHOUT_COORDINATES]),
        Mostly(&[&gltf::codes::TEXTURE_WITHOUT_UVS, &gltf::codes::TEXTURES_LEFT_OUT]),
        Mostly(&[&codes::MESH_LOOKS]), Mostly(&[&mjcf::codes::IMAGE, &mjcf::codes::LOOKS]), Mostly(&[&codes::MESH_LOOKS]);
    "other images" []: Kept, Mostly(&[&gltf::codes::TEXTURES_LEFT_OUT]),
        Mostly(&[&urdf::codes::LOOKS, &codes::MESH_LOOKS]), Lost(&[&mjcf::codes::LOOKS]),
        Mostly(&[&sdf::codes::LOOKS, &codes::MESH_LOOKS]);
    "vertex colours" []: Kept, Kept, Mostly(&[&codes::MESH_LOOKS]), Lost(&[&mjcf::codes::LOOKS]),
        Mostly(&[&codes::MESH_LOOKS]);
    "looks" []: Lost(&[&codes::LOOKS]), Kept, Lost(&[&codes::LOOKS]), Lost(&[&codes::LOOKS]), Lost(&[&codes::LOOKS]);
    "surface friction" [Contact]: Kept, Mostly(&[&gltf::codes::NO_WORD]), Mostly(&[&urdf::codes::NO_WORD]), Kept, Kept;
    "static friction that differs" [StaticFriction Contact]: Kept, Mostly(&[&gltf::codes::NO_WORD]),
        Mostly(&[&urdf::codes::NO_WORD]), Lost(&[&mjcf::codes::NO_WORD]), Lost(&[&sdf::codes::NO_WORD]);
    "restitution" [Restitution Contact]: Kept, Mostly(&[&gltf::codes::NO_WORD]), Mostly(&[&urdf::codes::NO_WORD]),
        Lost(&[&mjcf::codes::NO_WORD]), Kept;
    "cameras" [Sensors]: Kept, Kept, Mostly(&[&urdf::codes::NO_WORD]), Mostly(&[&mjcf::codes::SENSOR]), Kept;
    "other sensors" [Sensors SensorsBesideCameras]: Kept, Mostly(&[&gltf::codes::NO_WORD]),
        Mostly(&[&urdf::codes::NO_WORD]), Mostly(&[&mjcf::codes::SENSOR]), Mostly(&[&sdf::codes::SENSOR]);
    "lights" [Lights]: Kept, Kept, Lost(&[&urdf::codes::NO_WORD]), Lost(&[&mjcf::codes::NO_WORD]),
        Mostly(&[&sdf::codes::LIGHT]);
    "named poses" [NamedPoses]: Kept, Kept, Lost(&[&urdf::codes::SRDF]), Kept, Lost(&[&sdf::codes::NO_WORD]);
    "pairs of links without collisions" [DisabledCollisions]: Mostly(&[&usd::codes::TOO_MANY_PAIRS]),
        Mostly(&[&gltf::codes::NO_WORD]), Lost(&[&urdf::codes::SRDF]), Kept, Lost(&[&sdf::codes::NO_WORD]);
    "data for motion planners" [Planning]: Kept, Kept, Lost(&[&urdf::codes::NO_WORD]), Lost(&[&mjcf::codes::NO_WORD]),
        Lost(&[&sdf::codes::NO_WORD]);
    "ROS interfaces" [Interfaces InterfacesBesideSensors]: Kept, Mostly(&[&gltf::codes::NO_WORD]),
        Mostly(&[&urdf::codes::NO_WORD]), Lost(&[&mjcf::codes::NO_WORD]), Lost(&[&sdf::codes::NO_WORD]);
    "ROS contexts" [Contexts]: Kept, Lost(&[&gltf::codes::NO_WORD]), Lost(&[&urdf::codes::NO_WORD]),
        Lost(&[&mjcf::codes::NO_WORD]), Lost(&[&sdf::codes::NO_WORD]);
    "custom elements of a URDF" [CustomElements CustomElementsBesideSdf]: Kept, Kept, Mostly(&[&urdf::codes::LEFT_OUT]),
        Lost(&[&mjcf::codes::NO_WORD]), Mostly(&[&sdf::codes::NO_WORD]);
    "custom attributes of a URDF" [CustomAttributes]: Kept, Kept, Kept, Lost(&[&mjcf::codes::NO_WORD]),
        Lost(&[&sdf::codes::NO_WORD]);
};

/// Returns the table of `docs/formats.md`.
fn table() -> String {
    let heads = COLUMNS.map(|(name, _)| name).join(" | ");
    let mut text = format!("| | {heads} |\n|---{}|\n", "|---".repeat(COLUMNS.len()));
    for row in ROWS {
        let cells = row.held.each_ref().map(Held::cell).join(" | ");
        text.push_str(&format!("| {} | {cells} |\n", row.words));
    }
    text
}

impl Held {
    fn codes(&self) -> &'static [&'static Code] {
        match self {
            Kept => &[],
            Mostly(codes) | Lost(codes) => codes,
        }
    }

    fn cell(&self) -> String {
        let codes: Vec<String> = self
            .codes()
            .iter()
            .map(|code| format!("`{}`", code.id))
            .collect();
        match self {
            Kept => "yes".to_owned(),
            Mostly(_) => format!("yes, except {}", codes.join(", ")),
            Lost(_) => format!("no: {}", codes.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN: &str = "<!-- begin: facts, made by UPDATE_DOCS=1 cargo test --ignore-rust-version -p urdf_usd_convert document -->\n";
    const END: &str = "<!-- end: facts -->\n";

    /// The documented table matches the list. `UPDATE_DOCS=1 cargo test` rewrites it.
    #[test]
    fn documented_facts_match_the_list() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats.md");
        let page = std::fs::read_to_string(path).unwrap();
        let (before, rest) = page.split_once(BEGIN).unwrap();
        let (_, after) = rest.split_once(END).unwrap();
        let wanted = format!("{before}{BEGIN}\n{}\n{END}{after}", table());
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(path, wanted).unwrap();
        } else {
            assert!(
                page == wanted,
                "docs/formats.md is out of date: run with UPDATE_DOCS=1"
            );
        }
    }

    #[test]
    fn every_format_has_one_column() {
        let mut formats: Vec<OutputFormat> = COLUMNS
            .iter()
            .flat_map(|(_, formats)| *formats)
            .copied()
            .collect();
        formats.sort_unstable();
        let mut all = OutputFormat::ALL.to_vec();
        all.sort_unstable();
        assert_eq!(formats, all);
    }

    #[test]
    fn the_table_agrees_with_the_lists_of_the_writers() {
        let lists: [(usize, &Code, &[Fact]); 5] = [
            (1, &gltf::codes::NO_WORD, gltf::NO_WORD),
            (2, &urdf::codes::NO_WORD, urdf::NO_WORD),
            (2, &urdf::codes::SRDF, urdf::IN_SRDF),
            (3, &mjcf::codes::NO_WORD, mjcf::NO_WORD),
            (4, &sdf::codes::NO_WORD, sdf::NO_WORD),
        ];
        for (column, code, list) in lists {
            for row in ROWS {
                let is_named = row.held[column]
                    .codes()
                    .iter()
                    .any(|named| named.id == code.id);
                let is_listed = row.facts.iter().any(|fact| list.contains(fact));
                assert_eq!(is_named, is_listed, "{}: {}", code.id, row.words);
            }
            for fact in list {
                assert!(
                    ROWS.iter().any(|row| row.facts.contains(fact)),
                    "{fact:?} has no row"
                );
            }
        }
    }
}
