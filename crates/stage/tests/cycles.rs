//! Composition of generated layers with cyclic arcs: it ends within the limits, with a finding where an arc
//! is not composed.

#![allow(clippy::unwrap_used)] // a test that fails may panic

use std::fmt::Write as _;
use std::path::Path;

use urdf_usd_stage::{Options, Stage};

/// A generator of numbers: xorshift64 (Marsaglia, 2003).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    fn one_of(&mut self, texts: [&'static str; 3]) -> &'static str {
        let at = self.below(3);
        let mut numbered = (0..).zip(texts);
        numbered.find(|(index, _)| *index == at).unwrap().1
    }

    fn path(&mut self) -> String {
        let count = 1 + self.below(3);
        let names = (0..count).map(|_| self.one_of(["/a", "/b", "/c"]));
        names.collect()
    }

    fn arcs(&mut self) -> String {
        let mut arcs = String::new();
        for kind in ["references", "payload", "inherits", "specializes"] {
            if self.below(4) == 0 {
                let layer = match kind {
                    "references" | "payload" => self.one_of(["", "@one.usda@", "@two.usda@"]),
                    _ => "",
                };
                writeln!(arcs, "prepend {kind} = {layer}<{}>", self.path()).unwrap();
            }
        }
        arcs
    }

    fn prims(&mut self, depth: u64) -> String {
        let mut prims = String::new();
        for name in ["a", "b", "c"] {
            if self.below(depth + 1) == 0 {
                let arcs = self.arcs();
                let inside = if depth < 3 {
                    self.prims(depth + 1)
                } else {
                    String::new()
                };
                let variant = match self.below(3) {
                    0 => format!(
                        "variantSet \"v\" = {{\n\"x\" (\n{}) {{\n{inside}}}\n}}\n",
                        self.arcs()
                    ),
                    _ => inside,
                };
                let selection = "variants = { string v = \"x\" }\nprepend variantSets = \"v\"\n";
                writeln!(
                    prims,
                    "def \"{name}\" (\n{arcs}{selection})\n{{\n{variant}}}"
                )
                .unwrap();
            }
        }
        prims
    }
}

/// Writes two layers, of which the first includes the second for every other seed.
fn write(folder: &Path, seed: u64) {
    let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ (seed + 1));
    (0..8).for_each(|_| _ = random.below(2));
    for (name, sublayer) in [("one.usda", seed.is_multiple_of(2)), ("two.usda", false)] {
        let metadata = if sublayer {
            "(\nsubLayers = [@two.usda@]\n)\n"
        } else {
            ""
        };
        let text = format!("#usda 1.0\n{metadata}{}", random.prims(0));
        std::fs::write(folder.join(name), text).unwrap();
    }
}

#[test]
fn cyclic_arcs_end_within_the_limits() {
    let folder = tempfile::tempdir().unwrap();
    let (mut composed, mut cycles) = (0, 0);
    for seed in 0..24 {
        write(folder.path(), seed);
        match Stage::open(&folder.path().join("one.usda"), &Options::default()) {
            Ok(stage) => {
                composed += 1;
                let is_cycle = |message: &str| message.contains("is composed of itself");
                cycles += usize::from(stage.errors.iter().any(|e| is_cycle(&e.message)));
                assert!(stage.errors.iter().all(|e| e.path.is_some()), "{seed}");
            }
            Err(error) => {
                let is_limit = ["lead to too many paths", "more than"];
                let is_limit = is_limit.iter().any(|text| error.reason.contains(text));
                assert!(is_limit, "{seed}: {error}");
            }
        }
    }
    assert!(composed >= 4 && cycles >= 4, "{composed} {cycles}");
}
