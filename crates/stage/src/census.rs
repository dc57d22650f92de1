//! Counts the ways that composition would go, before it goes them.
//!
//! Each arc of a prim brings in everything that its target has. Two arcs on each rung of a ladder
//! of thirty prims lead to a billion places, and `openusd` visits each: OpenUSD does so for
//! references, payloads and sublayers, and gives up at a fixed number of nodes. Here the ways are
//! counted rung by rung, each prim once, when a layer is opened; a layer with more than
//! [`MAX_WAYS`] is refused.

use std::collections::{BTreeSet, HashMap};

use openusd::sdf::{AbstractData, SpecType};
use openusd::{ar, sdf, usda, usdc};

use super::layer::arcs;
use super::prim::{Arc, ArcKind};
use super::value::array_len;
use super::{DEEPEST, LayerId};

/// Maximum number of ways from one prim by arcs within layers. The composition of a prim takes time
/// with the square of it: at the limit about a second.
pub const MAX_WAYS: usize = 2048;

/// Maximum length of a chain of arcs within layers.
const MAX_CHAIN: usize = 1000;

/// Maximum number of layers in a layer stack; one that is included several times counts each time.
pub const MAX_SUBLAYERS: usize = 1024;

/// Maximum number of variant sets of a prim. Selecting variants takes time with the square of it:
/// at the limit some seconds.
const MAX_VARIANT_SETS: usize = 1000;

/// Maximum number of paths that are followed.
const MAX_PATHS: usize = 1_000_000;

/// What the layers that were opened so far include and refer to.
#[derive(Default)]
pub(super) struct Census {
    /// Targets of arcs within a layer stack, by the path of the prim without variants. Those of all
    /// layers that include others, or are included: of which stacks they are parts follows only
    /// from the composition.
    pooled: Targets,
    /// Layers that include each other, by the locations that they were resolved to.
    sublayers: HashMap<String, Vec<String>>,
    /// The layers that others include.
    included: BTreeSet<String>,
}

type Targets = HashMap<String, BTreeSet<(bool, String)>>;

impl Census {
    /// Adds a layer. `sublayers` are resolved.
    ///
    /// # Errors
    /// Why it must not be composed.
    pub fn add(
        &mut self,
        location: &str,
        contents: &Contents,
        sublayers: Vec<String>,
    ) -> Result<(), String> {
        if let Some(prim) = &contents.crowded {
            return Err(format!(
                "{prim} has more than {MAX_VARIANT_SETS} variant sets: let prims below it have them"
            ));
        }
        count(&contents.targets)?;
        let is_of_stack = !sublayers.is_empty() || self.included.contains(location);
        if !is_of_stack {
            return Ok(());
        }
        self.included.extend(sublayers.iter().cloned());
        self.sublayers.insert(location.to_owned(), sublayers);
        let members = Members {
            sublayers: &self.sublayers,
        };
        if self
            .sublayers
            .keys()
            .any(|layer| members.count(layer) > MAX_SUBLAYERS)
        {
            self.sublayers.remove(location);
            return Err(format!(
                "its layer stack has more than {MAX_SUBLAYERS} layers, each counted as often as it is included: include it once"
            ));
        }
        if !contents.targets.is_empty() {
            for (path, targets) in &contents.targets {
                self.pooled
                    .entry(path.clone())
                    .or_default()
                    .extend(targets.iter().cloned());
            }
            count(&self.pooled)?;
        }
        Ok(())
    }
}

/// What counts of a layer.
#[derive(Default)]
pub(super) struct Contents {
    /// The layers that it includes, as written.
    pub sublayers: Vec<String>,
    targets: Targets,
    /// A prim with too many variant sets.
    crowded: Option<String>,
}

impl Contents {
    /// Reads a text layer. One without a word of any arc is not parsed.
    pub fn of_text(text: &[u8]) -> Self {
        let words = [
            "inherits",
            "specializes",
            "references",
            "payload",
            "subLayers",
            "variantSet",
        ];
        let has_arcs = |text: &&str| words.iter().any(|word| text.contains(word));
        let Some(text) = str::from_utf8(text).ok().filter(has_arcs) else {
            return Self::default();
        };
        // What can't be parsed here can't be composed either, and is reported there.
        usda::parse(text)
            .map(|data| Self::of_data(&data))
            .unwrap_or_default()
    }

    /// Reads a binary layer, by what it has tokens for.
    pub fn of_binary(file: &usdc::CrateFile, bytes: &ar::SharedBuffer) -> Self {
        let names = [
            "inheritPaths",
            "specializes",
            "references",
            "payload",
            "subLayers",
            "variantSetChildren",
        ];
        if !file
            .tokens
            .iter()
            .any(|token| names.contains(&token.as_str()))
        {
            return Self::default();
        }
        let data = usdc::CrateData::open(ar::AssetBuffer::Shared(bytes.clone()), true);
        data.map(|data| Self::of_data(&data)).unwrap_or_default()
    }

    fn of_data(data: &dyn AbstractData) -> Self {
        let mut targets = Targets::new();
        let mut crowded = None;
        for path in data.spec_paths() {
            if !matches!(
                data.spec_type(&path),
                Some(SpecType::Prim | SpecType::Variant)
            ) {
                continue;
            }
            let sets = data.try_field(&path, "variantSetChildren").ok().flatten();
            if sets
                .as_deref()
                .and_then(array_len)
                .is_some_and(|count| count > MAX_VARIANT_SETS)
            {
                crowded = Some(path.as_str().to_owned());
            }
            let inside = arcs(LayerId(0), data, &path)
                .into_iter()
                .filter(|arc| arc.asset.is_empty() && !arc.prim.is_empty());
            let of_prim: Vec<(bool, String)> =
                inside.map(|arc| (is_class(&arc), arc.prim)).collect();
            if !of_prim.is_empty() {
                let prim = path.strip_all_variant_selections();
                targets
                    .entry(prim.as_str().to_owned())
                    .or_default()
                    .extend(of_prim);
            }
        }
        let sublayers = data
            .try_field(&sdf::Path::abs_root(), "subLayers")
            .ok()
            .flatten();
        let sublayers = sublayers
            .as_deref()
            .and_then(super::texts)
            .unwrap_or_default();
        Self {
            sublayers: sublayers.into_iter().map(str::to_owned).collect(),
            targets,
            crowded,
        }
    }
}

fn is_class(arc: &Arc) -> bool {
    matches!(arc.kind, ArcKind::Inherit | ArcKind::Specialize)
}

/// Sizes of layer stacks.
struct Members<'a> {
    sublayers: &'a HashMap<String, Vec<String>>,
}

impl Members<'_> {
    fn count(&self, root: &str) -> usize {
        let below = |layer: &String| self.sublayers.get(layer).cloned().unwrap_or_default();
        ways(root, &mut HashMap::new(), MAX_SUBLAYERS, below).unwrap_or(usize::MAX)
    }
}

/// Counts the ways from every prim that has arcs.
///
/// # Errors
/// If there are too many from one of them.
fn count(targets: &Targets) -> Result<(), String> {
    let below = |path: &String| -> Vec<String> {
        let ends = path
            .match_indices('/')
            .map(|(at, _)| at)
            .filter(|at| *at > 0)
            .chain([path.len()]);
        let arcs = ends.map(|at| path.split_at(at)).flat_map(|(above, rest)| {
            let arcs = targets.get(above).into_iter().flatten();
            // A class at the root is composed once for all ways that lead to it.
            let arcs = arcs.filter(|(is_class, target)| !is_class || target.rfind('/') != Some(0));
            arcs.map(move |(_, target)| format!("{target}{rest}"))
        });
        arcs.filter(|target| target.matches('/').count() <= DEEPEST)
            .collect()
    };
    let mut known = HashMap::new();
    for path in targets.keys() {
        if ways(path, &mut known, MAX_WAYS, below).is_none() {
            return Err(format!(
                "the references, payloads, inherits and specializes of {path} lead on by more than {MAX_WAYS} ways, or more than \
                 {MAX_CHAIN} steps: let prims that need the same thing refer to it once"
            ));
        }
    }
    Ok(())
}

/// Counts the ways that begin at `start`, itself included; each place once, without recursion. None
/// if there are more than `max`, or the chain is too long. Ways that lead back end there: cycles
/// are errors of the composition.
fn ways(
    start: &str,
    known: &mut HashMap<String, Option<usize>>,
    max: usize,
    below: impl Fn(&String) -> Vec<String>,
) -> Option<usize> {
    // Places whose ways are being counted are known as None.
    let mut stack: Vec<(String, std::vec::IntoIter<String>, usize)> = Vec::new();
    let mut enter = Some(start.to_owned());
    let mut last = 0;
    loop {
        if let Some(place) = enter.take() {
            match known.get(&place) {
                Some(counted) => last = counted.unwrap_or(0),
                None if stack.len() > MAX_CHAIN || known.len() > MAX_PATHS => return None,
                None => {
                    known.insert(place.clone(), None);
                    let next = below(&place).into_iter();
                    stack.push((place, next, 1));
                    last = 0;
                }
            }
        }
        let Some((place, next, sum)) = stack.last_mut() else {
            return Some(last);
        };
        *sum = sum.saturating_add(std::mem::take(&mut last));
        if *sum > max {
            return None;
        }
        match next.next() {
            Some(target) => enter = Some(target),
            None => {
                last = *sum;
                known.insert(std::mem::take(place), Some(last));
                stack.pop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ladder(rungs: usize, arc: &str, folder: &str) -> Contents {
        let mut text =
            format!("#usda 1.0\ndef \"robot\" ({arc} = [<{folder}/a0>, <{folder}/b0>]) {{}}\n");
        let mut prims = String::new();
        for rung in 0..rungs {
            for side in ["a", "b"] {
                let next = rung + 1;
                prims += &format!(
                    "class \"{side}{rung}\" ({arc} = [<{folder}/a{next}>, <{folder}/b{next}>]) {{}}\n"
                );
            }
        }
        text += &if folder.is_empty() {
            prims
        } else {
            format!("class \"{}\" {{\n{prims}}}\n", &folder[1..])
        };
        Contents::of_text(text.as_bytes())
    }

    #[test]
    fn ladders_are_counted_without_going_down_every_way() {
        for (rungs, arc, folder, is_fine) in [
            (8, "references", "", true),
            (12, "references", "", false),
            (90, "references", "", false),
            (90, "payload", "", false),
            (90, "inherits", "", true),
            (90, "specializes", "", true),
            (90, "inherits", "/s", false),
        ] {
            let added = Census::default().add("a.usda", &ladder(rungs, arc, folder), Vec::new());
            assert_eq!(added.is_ok(), is_fine, "{rungs} {arc} {folder}: {added:?}");
        }
    }

    #[test]
    fn layers_that_are_included_again_and_again_count_each_time() {
        let mut census = Census::default();
        let mut refused = 0;
        for rung in 0..90 {
            for side in ["a", "b"] {
                let below = vec![format!("a{}", rung + 1), format!("b{}", rung + 1)];
                refused += usize::from(
                    census
                        .add(&format!("{side}{rung}"), &Contents::default(), below)
                        .is_err(),
                );
            }
        }
        assert!(refused > 0);
        let mut census = Census::default();
        let parts: Vec<String> = (0..1000).map(|part| format!("part{part}")).collect();
        assert_eq!(census.add("root", &Contents::default(), parts), Ok(()));
    }

    #[test]
    fn layers_are_read_however_they_begin() {
        for start in [
            "#usda 1.0\n",
            "\n#usda 1.0\n",
            "# comment\n#usda 1.0\n",
            "\u{feff}#usda 1.0\n",
        ] {
            let text = format!("{start}def \"a\" (references = </b>) {{}}\n");
            let is_parsed = usda::parse(&text).is_ok();
            assert_eq!(
                Contents::of_text(text.as_bytes()).targets.is_empty(),
                !is_parsed,
                "{start:?}"
            );
        }
    }

    #[test]
    fn cycles_and_long_chains_end() {
        let cycle = "#usda 1.0\ndef \"a\" (references = </b>) {}\ndef \"b\" (references = [</a>, </b>]) {}\n";
        assert_eq!(
            Census::default().add("a", &Contents::of_text(cycle.as_bytes()), Vec::new()),
            Ok(())
        );
        let chain: String = (0..5000)
            .map(|at| format!("def \"p{at}\" (references = </p{}>) {{}}\n", at + 1))
            .collect();
        let chain = Contents::of_text(format!("#usda 1.0\n{chain}").as_bytes());
        assert!(Census::default().add("a", &chain, Vec::new()).is_err());
        let many: String = (0..5000)
            .map(|at| format!("def \"p{at}\" (references = </part>) {{}}\n"))
            .collect();
        let many = Contents::of_text(format!("#usda 1.0\n{many}").as_bytes());
        assert_eq!(Census::default().add("a", &many, Vec::new()), Ok(()));
    }
}
