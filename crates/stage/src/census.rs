//! Limits on the number of paths that composition follows, checked before composition.
//!
//! Each arc of a prim composes everything below its target. A ladder of thirty prims with two arcs
//! on each rung has a billion paths, and `openusd` visits each; OpenUSD does so for references,
//! payloads and sublayers, and stops at a fixed number of nodes. This module counts the paths by
//! dynamic programming when a layer is opened, visiting each prim once, and rejects a layer with more
//! than [`MAX_WAYS`].

use std::collections::{BTreeSet, HashMap};

use openusd::sdf::{AbstractData, SpecType};
use openusd::{ar, sdf, usdc};

use super::layer::arcs;
use super::prim::{Arc, ArcKind};
use super::value::array_len;
use super::{DEEPEST, LayerId};

/// Maximum number of paths from one prim by arcs within layers. Composing a prim takes quadratic time
/// in this number: about a second at the limit.
pub const MAX_WAYS: usize = 2048;

/// Maximum length of a chain of arcs within layers.
const MAX_CHAIN: usize = 1000;

/// Maximum number of layers in a layer stack, counted with repetitions.
pub const MAX_SUBLAYERS: usize = 1024;

/// Maximum number of variant sets of a prim. Selecting variants takes quadratic time in this number:
/// some seconds at the limit.
const MAX_VARIANT_SETS: usize = 1000;

/// Maximum number of paths that are followed.
const MAX_PATHS: usize = 1_000_000;

/// The sublayers and arcs of the layers that were opened so far.
#[derive(Default)]
pub(super) struct Census {
    /// Targets of arcs within a layer stack, by the path of the prim without variants.
    ///
    /// Pools all layers that have or are sublayers: which of them share a layer stack is only known
    /// after composition, so that this is an upper bound.
    pooled: Targets,
    /// The sublayers of each layer, by resolved location.
    sublayers: HashMap<String, Vec<String>>,
    /// The layers that include a layer.
    included_by: HashMap<String, Vec<String>>,
}

type Targets = HashMap<String, BTreeSet<(bool, String)>>;

impl Census {
    /// Adds a layer with its resolved sublayers.
    ///
    /// # Errors
    /// The limit that the layer exceeds.
    pub fn add(
        &mut self,
        location: &str,
        contents: &Contents,
        sublayers: Vec<String>,
    ) -> Result<(), String> {
        if let Some(prim) = &contents.excessive {
            return Err(format!(
                "{prim} has more than {MAX_VARIANT_SETS} variant sets: move some to prims below it"
            ));
        }
        check_paths(&contents.targets)?;
        let has_stack = !sublayers.is_empty() || self.included_by.contains_key(location);
        if !has_stack {
            return Ok(());
        }
        for sublayer in &sublayers {
            let above = self.included_by.entry(sublayer.clone()).or_default();
            above.push(location.to_owned());
        }
        self.sublayers.insert(location.to_owned(), sublayers);
        let members = Members {
            sublayers: &self.sublayers,
        };
        if self
            .including(location)
            .iter()
            .any(|layer| members.count(layer) > MAX_SUBLAYERS)
        {
            // The layer is not composed, so it must not count for those that include it.
            self.sublayers.remove(location);
            return Err(format!(
                "its layer stack has more than {MAX_SUBLAYERS} layers, counted with repetitions: include each layer once"
            ));
        }
        let mut is_new = false;
        for (path, targets) in &contents.targets {
            let known = self.pooled.entry(path.clone()).or_default();
            for target in targets {
                is_new |= known.insert(target.clone());
            }
        }
        // Assets of many files mostly repeat their arcs.
        if is_new {
            check_paths(&self.pooled)?;
        }
        Ok(())
    }

    /// Returns a layer and those that include it, directly or through others.
    fn including<'a>(&'a self, location: &'a str) -> BTreeSet<&'a str> {
        let mut found = BTreeSet::new();
        let mut stack = vec![location];
        while let Some(layer) = stack.pop() {
            if found.insert(layer) {
                let above = self.included_by.get(layer).into_iter().flatten();
                stack.extend(above.map(String::as_str));
            }
        }
        found
    }
}

/// The parts of a layer that the census counts.
#[derive(Default)]
pub(super) struct Contents {
    /// The authored sublayers.
    pub sublayers: Vec<String>,
    targets: Targets,
    /// A prim with too many variant sets.
    excessive: Option<String>,
}

impl Contents {
    /// Reads a binary layer, by what it has tokens for.
    pub fn from_binary(file: &usdc::CrateFile, bytes: &ar::SharedBuffer) -> Self {
        let names = [
            "inheritPaths",
            "specializes",
            "references",
            "payload",
            "subLayers",
            "variantSetChildren",
        ];
        // Without these names there is nothing to count. Layers that hold only geometry need no
        // further decoding.
        if !file
            .tokens
            .iter()
            .any(|token| names.contains(&token.as_str()))
        {
            return Self::default();
        }
        let data = usdc::CrateData::open(ar::AssetBuffer::Shared(bytes.clone()), true);
        data.map(|data| Self::from_data(&data)).unwrap_or_default()
    }

    fn from_data(data: &dyn AbstractData) -> Self {
        let mut targets = Targets::new();
        let mut excessive = None;
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
                excessive = Some(path.as_str().to_owned());
            }
            let inside = arcs(LayerId(0), data, &path)
                .into_iter()
                .filter(|arc| arc.asset.is_empty() && !arc.prim.is_empty());
            let prim_targets: Vec<(bool, String)> =
                inside.map(|arc| (is_class(&arc), arc.prim)).collect();
            if !prim_targets.is_empty() {
                let prim = path.strip_all_variant_selections();
                targets
                    .entry(prim.as_str().to_owned())
                    .or_default()
                    .extend(prim_targets);
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
            excessive,
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
        count_paths(root, &mut HashMap::new(), MAX_SUBLAYERS, below).unwrap_or(usize::MAX)
    }
}

/// Checks the number of paths from every prim with arcs.
///
/// # Errors
/// If a prim has more than [`MAX_WAYS`] paths, or a chain is longer than [`MAX_CHAIN`].
fn check_paths(targets: &Targets) -> Result<(), String> {
    let below = |path: &String| -> Vec<String> {
        let ends = path
            .match_indices('/')
            .map(|(at, _)| at)
            .filter(|at| *at > 0)
            .chain([path.len()]);
        let arcs = ends.map(|at| path.split_at(at)).flat_map(|(above, rest)| {
            let arcs = targets.get(above).into_iter().flatten();
            // `openusd` composes a class at the root once, whatever the number of paths to it.
            let arcs = arcs.filter(|(is_class, target)| !is_class || target.rfind('/') != Some(0));
            arcs.map(move |(_, target)| format!("{target}{rest}"))
        });
        arcs.filter(|target| target.matches('/').count() <= DEEPEST)
            .collect()
    };
    let mut known = HashMap::new();
    for path in targets.keys() {
        if count_paths(path, &mut known, MAX_WAYS, below).is_none() {
            return Err(format!(
                "the references, payloads, inherits and specializes of {path} lead to more than {MAX_WAYS} paths, or to a chain of more than \
                 {MAX_CHAIN} arcs: let prims that need the same target refer to it once"
            ));
        }
    }
    Ok(())
}

/// Counts the paths that begin at `start`, including the empty one.
///
/// A depth-first search with an explicit stack that visits each node once; the count of a node is one
/// plus the counts of its targets. Returns `None` if a count exceeds `max`, or the chain is too long.
/// Cycles end the path: composition reports them.
fn count_paths(
    start: &str,
    known: &mut HashMap<String, Option<usize>>,
    max: usize,
    below: impl Fn(&String) -> Vec<String>,
) -> Option<usize> {
    // Nodes on the stack have the count `None`.
    let mut stack: Vec<(String, std::vec::IntoIter<String>, usize)> = Vec::new();
    let mut enter = Some(start.to_owned());
    let mut last = 0;
    loop {
        if let Some(node) = enter.take() {
            match known.get(&node) {
                Some(counted) => last = counted.unwrap_or(0),
                None if stack.len() > MAX_CHAIN || known.len() > MAX_PATHS => return None,
                None => {
                    known.insert(node.clone(), None);
                    let next = below(&node).into_iter();
                    stack.push((node, next, 1));
                    last = 0;
                }
            }
        }
        let Some((node, next, sum)) = stack.last_mut() else {
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
                known.insert(std::mem::take(node), Some(last));
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
        contents(&text)
    }

    #[test]
    fn paths_of_ladders_are_counted_in_linear_time() {
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
    fn repeated_sublayers_count_each_time() {
        let mut census = Census::default();
        let mut rejected = 0;
        for rung in 0..90 {
            for side in ["a", "b"] {
                let below = vec![format!("a{}", rung + 1), format!("b{}", rung + 1)];
                rejected += usize::from(
                    census
                        .add(&format!("{side}{rung}"), &Contents::default(), below)
                        .is_err(),
                );
            }
        }
        assert!(rejected > 0);
        let mut census = Census::default();
        let parts: Vec<String> = (0..1000).map(|part| format!("part{part}")).collect();
        assert_eq!(census.add("root", &Contents::default(), parts), Ok(()));
    }

    fn contents(text: &str) -> Contents {
        Contents::from_data(&crate::usda::parse(text.as_bytes()).expect("a layer"))
    }

    #[test]
    fn cycles_and_long_chains_end() {
        let cycle = "#usda 1.0\ndef \"a\" (references = </b>) {}\ndef \"b\" (references = [</a>, </b>]) {}\n";
        assert_eq!(
            Census::default().add("a", &contents(cycle), Vec::new()),
            Ok(())
        );
        let chain: String = (0..5000)
            .map(|at| format!("def \"p{at}\" (references = </p{}>) {{}}\n", at + 1))
            .collect();
        let chain = contents(&format!("#usda 1.0\n{chain}"));
        assert!(Census::default().add("a", &chain, Vec::new()).is_err());
        let many: String = (0..5000)
            .map(|at| format!("def \"p{at}\" (references = </part>) {{}}\n"))
            .collect();
        let many = contents(&format!("#usda 1.0\n{many}"));
        assert_eq!(Census::default().add("a", &many, Vec::new()), Ok(()));
    }
}
