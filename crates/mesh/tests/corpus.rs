//! Runs the checks of the fuzzers (`fuzz/`) as a regular test: over the seed inputs, those that
//! once failed, and damaged copies of all, the same ones in every run. `fuzz/run` searches for new
//! ones.

#![allow(clippy::expect_used, clippy::indexing_slicing, missing_docs)]

#[path = "../../../fuzz/src/bound.rs"]
mod bound;
#[path = "../../../fuzz/src/checks.rs"]
mod checks;

use std::fs;
use std::path::{Path, PathBuf};

use urdf_usd_geometry::Random;

/// Number of damaged copies of each input.
const COPIES: u64 = 100;

mod memory {
    /// Returns the result of `work`, and its peak memory in bytes.
    pub fn peak<T>(work: impl FnOnce() -> T) -> (T, usize) {
        let mut result = None;
        let counted = allocation_counter::measure(|| result = Some(work()));
        (
            result.expect("it has run"),
            usize::try_from(counted.bytes_max).expect("no more than there is memory"),
        )
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns all files below a folder, in order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .map(|entry| entry.expect("the folder can be read").path());
    let mut out: Vec<_> = entries
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .collect();
    out.sort();
    out
}

/// Returns the inputs of a fuzzer; of the hand-made files those with one of these extensions.
fn corpus(target: &str, folder: &str, endings: &[&str]) -> Vec<Vec<u8>> {
    let of_tests = files(&root().join("test/meshes").join(folder))
        .into_iter()
        .filter(|path| {
            let ending = path
                .extension()
                .and_then(|ending| ending.to_str())
                .unwrap_or_default()
                .to_ascii_lowercase();
            endings.contains(&ending.as_str())
        });
    let kept = ["seeds", "kept"]
        .into_iter()
        .flat_map(|kind| files(&root().join("fuzz").join(kind).join(target)));
    let inputs: Vec<_> = of_tests
        .chain(kept)
        .map(|path| fs::read(path).expect("the file can be read"))
        .collect();
    assert!(
        inputs.len() >= 5,
        "{target} has few inputs: {}",
        inputs.len()
    );
    inputs
}

/// A source of random choices.
struct Dice(Random);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.0.number() % end.max(1) as u64).expect("less than a size")
    }
}

/// Returns a copy with some bytes changed, removed, duplicated, moved or truncated.
fn damaged(bytes: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut out = bytes.to_vec();
    for _ in 0..=dice.below(4) {
        let at = dice.below(out.len());
        let end = (at + 1 + dice.below(16)).min(out.len());
        match dice.below(6) {
            0 => out[at..end]
                .iter_mut()
                .for_each(|byte| *byte = dice.below(256) as u8),
            1 => out[at..end]
                .iter_mut()
                .for_each(|byte| *byte ^= 1 << dice.below(8)),
            2 => drop(out.drain(at..end)),
            3 => out.extend_from_within(at..end),
            4 => {
                let part = out[at..end].to_vec();
                let to = dice.below(out.len());
                out.splice(to..to, part);
            }
            _ if dice.below(4) == 0 => out.truncate(at),
            _ => out[at..end]
                .iter_mut()
                .for_each(|byte| *byte = [0, 0xFF, b'-', b'9'][dice.below(4)]),
        }
        if out.is_empty() {
            break;
        }
    }
    out
}

fn holds(inputs: &[Vec<u8>], check: fn(&[u8])) {
    for (seed, input) in (0_u64..).zip(inputs) {
        check(input);
        let mut dice = Dice(Random::new(seed));
        for _ in 0..COPIES {
            check(&damaged(input, &mut dice));
        }
    }
}

#[test]
fn stl() {
    holds(&corpus("stl", "stl", &["stl"]), checks::stl);
}

#[test]
fn obj() {
    holds(&corpus("obj", "obj", &["obj"]), checks::obj);
}

#[test]
fn dae() {
    holds(&corpus("dae", "dae", &["dae"]), checks::dae);
}

#[test]
fn gltf() {
    holds(&corpus("gltf", "gltf", &["gltf", "glb"]), checks::gltf);
}

#[test]
fn texture() {
    holds(
        &corpus(
            "texture",
            "",
            &[
                "png", "jpg", "jpeg", "bmp", "tga", "gif", "tif", "tiff", "webp",
            ],
        ),
        checks::texture,
    );
}
