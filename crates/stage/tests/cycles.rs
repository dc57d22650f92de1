//! Composition of generated layers with cyclic arcs: it ends within the limits, with a finding where an arc
//! is not composed.

#![allow(clippy::unwrap_used)] // a test that fails may panic

use std::fmt::Write as _;
use std::path::Path;

use urdf_usd_stage::{OpenError, Options, Stage};

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

/// Opens a layer in which each prim references the next one, or the child `k` of the next one.
fn open_chain(arcs: usize, is_sibling: bool) -> Result<Stage, OpenError> {
    let mut prims = String::new();
    for index in 0..arcs {
        let next = index + 1;
        let target = match is_sibling {
            true => format!("/a/r{next}"),
            false => format!("/r{next}/k"),
        };
        writeln!(
            prims,
            "def \"r{index}\" (\nreferences = <{target}>\n)\n{{\ndef \"k\"\n{{\n}}\n}}"
        )
        .unwrap();
    }
    writeln!(prims, "def \"r{arcs}\"\n{{\ndef \"k\"\n{{\n}}\n}}").unwrap();
    if is_sibling {
        prims = format!("def \"a\"\n{{\n{prims}}}\n");
    }
    let folder = tempfile::tempdir().unwrap();
    let entry = folder.path().join("chain.usda");
    std::fs::write(&entry, format!("#usda 1.0\n{prims}")).unwrap();
    Stage::open(&entry, &Options::default())
}

#[test]
fn short_chains_are_composed() {
    // The child `k` that a prim has by a reference has no arcs in turn.
    for (is_sibling, first, sites) in [(true, "/a/r0", 41), (false, "/r0", 2)] {
        let stage = open_chain(40, is_sibling).unwrap();
        assert!(stage.errors.is_empty(), "{:?}", stage.errors);
        let found = stage.prims.iter().find(|prim| prim.path == first).unwrap();
        assert_eq!(found.sites.len(), sites, "{first}");
    }
}

/// The arcs are nested up to the limit, so this also shows that the stack suffices for it.
#[test]
fn long_chains_end_within_the_limits() {
    for is_sibling in [true, false] {
        let error = open_chain(2100, is_sibling).unwrap_err();
        assert!(error.reason.contains("lead to too many paths"), "{error}");
    }
}

#[test]
fn cyclic_arcs_end_within_the_limits() {
    let folder = tempfile::tempdir().unwrap();
    let entry = folder.path().join("one.usda");
    // The arcs of most seeds lead to more paths than the limit.
    for (seed, is_composed) in [
        (3, true),
        (16, true),
        (17, true),
        (19, true),
        (2, false),
        (5, false),
        (14, false),
    ] {
        write(folder.path(), seed);
        match Stage::open(&entry, &Options::default()) {
            Ok(stage) => {
                assert!(is_composed, "{seed}");
                let is_cycle = |message: &str| message.contains("is composed of itself");
                let cycles = stage.errors.iter().filter(|e| is_cycle(&e.message));
                assert!(cycles.count() > 10, "{seed}");
                assert!(stage.errors.iter().all(|e| e.path.is_some()), "{seed}");
            }
            Err(error) => {
                let is_limit = error.reason.contains("lead to too many paths");
                assert!(is_limit && !is_composed, "{seed}: {error}");
            }
        }
    }
}
