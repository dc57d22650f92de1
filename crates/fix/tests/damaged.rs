//! Robustness of opening, checking and fixing against damaged layers: no panics, bounded time.
//!
//! The inputs are damaged copies of the examples of all rules and of the stages in the tests of
//! `urdf_usd fix`. `URDF_USD_SOAK=N` tries N times as many.

#![allow(clippy::indexing_slicing, clippy::unwrap_used)] // a test that fails may panic

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use urdf_usd_rep158::{Options, RULES, check};

/// Number of damaged copies of each layer.
const COPIES: u64 = 3;

/// Maximum time for one of these small assets, in a development build on a busy machine.
const LONGEST: Duration = Duration::from_secs(60);

/// Fragments that cause trouble in the wrong place.
const WORDS: &[&str] = &[
    "nan",
    "-inf",
    "inf",
    "1e308",
    "-1",
    "0",
    "[]",
    "None",
    "\"\"",
    "</>",
    "</robot>",
    "<../..>",
    "@@",
    "@./robot.usda@",
    "@/dev/null@",
    "{",
    "}",
    "(",
    ")",
    "def",
    "over",
    "class",
    "xformOp:transform",
    "!resetXformStack!",
    "references = </robot>",
    "instanceable = true",
    "prepend apiSchemas = [\"PhysicsRigidBodyAPI\"]",
    "inherits = </robot>",
    "double3",
    "token[]",
    "rel",
    "\u{0}",
    "ä",
];

/// A deterministic random number generator (SplitMix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.next() % count.max(1) as u64).unwrap()
    }
}

/// Returns the text with some words exchanged, repeated or removed.
fn damaged(text: &str, dice: &mut Dice) -> String {
    let mut words: Vec<&str> = text.split_inclusive([' ', '\n', ',']).collect();
    for _ in 0..=dice.below(4) {
        let (at, other) = (dice.below(words.len()), dice.below(words.len()));
        match dice.below(5) {
            0 => words.swap(at, other),
            1 => drop(words.remove(at)),
            2 => words.insert(at, words[other]),
            3 => words[at] = WORDS[dice.below(WORDS.len())],
            _ => words.insert(at, WORDS[dice.below(WORDS.len())]),
        }
        if words.is_empty() {
            break;
        }
    }
    words.concat()
}

/// Returns the undamaged assets: sets of files, the first of which is opened.
fn seeds() -> Vec<Vec<(PathBuf, String)>> {
    let header = "#usda 1.0\n(\n    defaultPrim = \"robot\"\n    metersPerUnit = 1\n    upAxis = \"Z\"\n)\n\n";
    let with_header = |text: &str| {
        if text.starts_with("#usda") {
            text.to_owned()
        } else {
            format!("{header}{text}\n")
        }
    };
    let examples = RULES.iter().flat_map(|rule| [rule.breaks, rule.keeps]);
    let mut seeds: Vec<Vec<(PathBuf, String)>> = examples
        .map(|example| {
            example()
                .into_iter()
                .filter(|(name, _)| name.ends_with(".usda"))
                .map(|(name, text)| (PathBuf::from(name), with_header(text.unwrap())))
                .collect()
        })
        .collect();
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../test/usd/assets");
    let mut files: Vec<PathBuf> = std::fs::read_dir(assets)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .collect();
    files.sort();
    seeds.extend(files.into_iter().map(|path| {
        vec![(
            PathBuf::from("robot.usda"),
            std::fs::read_to_string(path).unwrap(),
        )]
    }));
    seeds.retain(|seed| !seed.is_empty());
    seeds
}

#[test]
fn damaged_assets_are_read_checked_and_fixed_or_rejected() {
    let times: u64 = std::env::var("URDF_USD_SOAK")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(1);
    let seeds = seeds();
    assert!(seeds.len() > 2 * RULES.len() / 3);
    let (mut opened, mut mended) = (0, 0);
    for (number, seed) in seeds.iter().enumerate() {
        for copy in 0..COPIES * times {
            let mut dice = Dice(number as u64 * 1_000_003 + copy);
            let folder = tempfile::tempdir().unwrap();
            let hit = dice.below(seed.len());
            for (index, (name, text)) in seed.iter().enumerate() {
                let path = folder.path().join(name);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                let text = if index == hit {
                    damaged(text, &mut dice)
                } else {
                    text.clone()
                };
                std::fs::write(path, text).unwrap();
            }
            let entry = folder.path().join(&seed[0].0);
            let started = Instant::now();
            opened += usize::from(
                check(
                    &entry,
                    &Options {
                        all_variants: true,
                        ..Options::default()
                    },
                )
                .is_ok(),
            );
            mended +=
                usize::from(urdf_usd_fix::fix(&entry, &urdf_usd_fix::Options::default()).is_ok());
            assert!(
                started.elapsed() < LONGEST,
                "{:?} copy {copy} took {:?}",
                seed[hit].0,
                started.elapsed()
            );
        }
    }
    assert!(
        opened > seeds.len() / 4 && mended > seeds.len() / 8,
        "{opened} opened, {mended} mended: what is tried is no asset at all"
    );
}
