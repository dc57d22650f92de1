//! Finds arcs to classes that a prim has already through an ancestor, as scene cloners write them.
//!
//! `/env_1` inherits `/env_0`, and `/env_1/Robot` inherits `/env_0/Robot`: OpenUSD follows the second arc
//! once, `openusd` 0.8.0 overflows the stack or does not terminate. Such arcs are left out before
//! composition: of one layer by [`edits`](super::edits), of a layer stack and of prims that references
//! compose by the reader of the stage, which then opens the asset again.

use std::collections::{HashMap, HashSet};

use super::CompositionError;
use super::layer::Layer;
use super::prim::{Arc, ArcKind, Prim};

/// Maximum number of prims, and of bytes of a path, that a search along arcs follows.
pub(super) const MAX_CHAIN: usize = 1000;

/// Maximum number of prims that all searches in a layer stack follow together.
const MAX_STEPS: usize = 4_000_000;

/// An arc to a class that composition has to leave out.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct LeftOut {
    /// The path of the layer's file, as in [`Layer::path`].
    pub layer: String,
    /// The path of the prim in the layer, with variant selections.
    pub prim: String,
    /// Whether it is an inherit, or a specialize.
    pub is_inherit: bool,
    /// The class, as authored.
    pub class: String,
}

impl LeftOut {
    pub fn new(layer: &Layer, arc: &Arc) -> Self {
        Self {
            layer: layer.path.to_string_lossy().into_owned(),
            prim: arc.site.path.clone(),
            is_inherit: arc.kind == ArcKind::Inherit,
            class: arc.prim.clone(),
        }
    }
}

/// Returns the finding about an arc whose absence changes the result of composition.
pub(super) fn finding(layer: &Layer, arc: &Arc, path: &str, above: &str) -> CompositionError {
    CompositionError {
        message: format!(
            "{path} inherits or specializes {}, which it already has by an arc of {above}; the arc of {path} is left out: remove one of both",
            arc.prim
        ),
        layer: Some(layer.identifier.clone()),
        path: Some(path.to_owned()),
    }
}

/// An arc that repeats another one of an ancestor.
pub(super) struct Repeat<'a> {
    pub arc: &'a Arc,
    /// The path of the ancestor.
    pub above: String,
    /// Whether the order of strength stays the same without the arc.
    pub is_exact: bool,
}

/// The strength of a kind of arc, 0 for the strongest.
fn rank(kind: ArcKind) -> usize {
    match kind {
        ArcKind::Inherit => 0,
        ArcKind::Reference | ArcKind::Payload => 1,
        ArcKind::Specialize => 2,
    }
}

pub(super) fn is_class(arc: &Arc) -> bool {
    matches!(arc.kind, ArcKind::Inherit | ArcKind::Specialize)
}

/// Returns a path in a layer without variant selections.
fn without_variants(path: &str) -> String {
    if !path.contains('{') {
        return path.to_owned();
    }
    openusd::sdf::Path::new(path).map_or_else(
        |_| path.to_owned(),
        |path| path.strip_all_variant_selections().as_str().to_owned(),
    )
}

/// Iterates over the proper ancestors of a path, each with the rest of the path.
fn above(path: &str) -> impl Iterator<Item = (&str, &str)> {
    path.match_indices('/')
        .map(move |(at, _)| path.split_at(at))
        .filter(|(above, _)| !above.is_empty())
}

/// Finds the repeated arcs to classes among the arcs within a layer stack. An ancestor's arc in a
/// variant counts for prims in the same variant.
///
/// # Errors
/// If the layer stack has too many arcs to search.
pub(super) fn repeated<'a>(
    arcs: impl Iterator<Item = &'a Arc>,
) -> Result<Vec<Repeat<'a>>, &'static str> {
    let mut by_prim: HashMap<String, Vec<&Arc>> = HashMap::new();
    for arc in arcs.filter(|arc| arc.asset.is_empty() && !arc.prim.is_empty()) {
        let prim = without_variants(&arc.site.path);
        by_prim.entry(prim).or_default().push(arc);
    }
    let mut steps = 0;
    let mut found = Vec::new();
    for (prim, arcs) in &by_prim {
        for arc in arcs.iter().filter(|arc| is_class(arc)) {
            let mut repeat = None;
            for (above, rest) in above(prim) {
                let (Some(first), Some(wanted)) = (by_prim.get(above), arc.prim.strip_suffix(rest))
                else {
                    continue;
                };
                let in_variant = |first: &&&Arc| {
                    !first.site.path.contains('{') || arc.site.path.starts_with(&first.site.path)
                };
                let first = first.iter().filter(in_variant).copied();
                if let Some(weakest) = leads_to(first, wanted, &by_prim, &mut steps) {
                    repeat = Some(Repeat {
                        arc,
                        above: above.to_owned(),
                        is_exact: weakest <= rank(arc.kind),
                    });
                    break;
                }
                if steps > MAX_STEPS {
                    return Err("its prims have too many arcs to classes");
                }
            }
            found.extend(repeat);
        }
    }
    Ok(found)
}

/// Returns the rank of the weakest arc on a way from `first` to the prim `wanted`, if there is one.
fn leads_to<'a>(
    first: impl Iterator<Item = &'a Arc>,
    wanted: &str,
    by_prim: &HashMap<String, Vec<&'a Arc>>,
    steps: &mut usize,
) -> Option<usize> {
    let mut seen: HashSet<String> = HashSet::new();
    let mut paths: Vec<(String, usize)> = first
        .map(|arc| (arc.prim.clone(), rank(arc.kind)))
        .collect();
    while let Some((path, weakest)) = paths.pop() {
        *steps += 1;
        if path == wanted {
            return Some(weakest);
        }
        if path.len() > MAX_CHAIN
            || seen.len() > MAX_CHAIN
            || *steps > MAX_STEPS
            || !seen.insert(path.clone())
        {
            continue;
        }
        for (above, below) in above(&path).chain([(path.as_str(), "")]) {
            let arcs = by_prim.get(above).into_iter().flatten();
            let arcs = arcs.filter(|arc| !arc.site.path.contains('{'));
            paths.extend(arcs.map(|arc| {
                let target = format!("{}{below}", arc.prim);
                (target, weakest.max(rank(arc.kind)))
            }));
        }
    }
    None
}

/// The prims of a layer that have arcs to classes, by the path of what they are children of.
pub(super) struct ClassChildren(HashMap<String, Vec<(String, String)>>);

impl ClassChildren {
    pub fn new(layer: &Layer) -> Self {
        let mut children: HashMap<String, Vec<(String, String)>> = HashMap::new();
        for prim in layer
            .prims
            .iter()
            .filter(|prim| prim.arcs.iter().any(is_class))
        {
            // The path of a child of a variant is like /robot{set=variant}arm, and arcs of a variant
            // belong to the prim of the variant set.
            let outer = prim.path.trim_end_matches('}');
            let end = match outer.len() < prim.path.len() {
                true => outer.rfind('{').unwrap_or(prim.path.len()),
                false => prim.path.len(),
            };
            let prim_path = prim.path.get(..end).unwrap_or_default();
            let start = prim_path.rfind(['/', '}']).map_or(0, |at| at + 1);
            let (parent, name) = prim_path.split_at(start);
            children
                .entry(parent.trim_end_matches('/').to_owned())
                .or_default()
                .push((name.to_owned(), prim.path.clone()));
        }
        Self(children)
    }

    /// Returns names and paths in the layer of the children of a prim that have arcs to classes.
    fn of(&self, path: &str) -> impl Iterator<Item = (&str, &str)> {
        let children = self.0.get(path).into_iter().flatten();
        children.map(|(name, path)| (name.as_str(), path.as_str()))
    }
}

/// The arcs to classes of the composed prims so far, which [`Composed::repeats`] compares with those of
/// the prims below.
#[derive(Default)]
pub(super) struct Composed {
    /// By path of the prim: the path in the stage of the target, and the arc.
    targets: HashMap<String, Vec<(String, Arc)>>,
}

impl Composed {
    /// Returns the arcs of the children of a composed prim that repeat arcs of it or of its ancestors,
    /// with the paths of the children and the findings for those that change the result.
    pub fn repeats(
        &mut self,
        prim: &Prim,
        layers: &[Layer],
        children: &[ClassChildren],
    ) -> Vec<(String, LeftOut, Option<CompositionError>)> {
        let own = prim.arcs.iter().filter(|arc| {
            let is_local = |arc: &Arc| layers.get(arc.site.layer.0).is_some_and(|l| l.is_local);
            !arc.prim.is_empty() && arc.asset.is_empty() && (is_class(arc) || is_local(arc))
        });
        let own: Vec<(String, Arc)> = own
            .map(|arc| (in_stage(&arc.site.path, &prim.path, &arc.prim), arc.clone()))
            .collect();
        if !own.is_empty() {
            self.targets.insert(prim.path.clone(), own);
        }
        let mut found = Vec::new();
        for site in &prim.sites {
            let (Some(layer), Some(children)) =
                (layers.get(site.layer.0), children.get(site.layer.0))
            else {
                continue;
            };
            for (name, child) in children.of(&site.path) {
                let path = format!("{}/{name}", prim.path);
                let arcs = layer.prim(child).map(|child| child.arcs.as_slice());
                for arc in arcs.unwrap_or_default().iter().filter(|arc| is_class(arc)) {
                    let class = in_stage(child, &path, &arc.prim);
                    let Some((above, stronger)) = self.repeated(&path, &class) else {
                        continue;
                    };
                    // Every use of a layer has the layers that it refers to, which are read later.
                    let is_exact = rank(stronger.kind) <= rank(arc.kind)
                        && (layer.is_local || arc.site.layer.0 <= stronger.site.layer.0);
                    let left_out = LeftOut::new(layer, arc);
                    let finding = (!is_exact).then(|| finding(layer, arc, &path, above));
                    found.push((path.clone(), left_out, finding));
                }
            }
        }
        found
    }

    /// Returns an ancestor of `path` with an arc that leads to `class`.
    fn repeated<'a>(&'a self, path: &'a str, class: &str) -> Option<(&'a str, &'a Arc)> {
        above(path).find_map(|(above, rest)| {
            let wanted = class.strip_suffix(rest)?;
            let targets = self.targets.get(above)?;
            let (_, arc) = targets.iter().find(|(target, _)| target == wanted)?;
            Some((above, arc))
        })
    }
}

/// Returns the path in the stage of a prim beside one in a layer, of which the path in the stage is
/// known: a reference replaces the beginning of both.
fn in_stage(site: &str, path: &str, beside: &str) -> String {
    let site = without_variants(site);
    let (mut from, mut to) = (site.as_str(), path);
    while let (Some((above_from, name)), Some((above_to, other))) =
        (from.rsplit_once('/'), to.rsplit_once('/'))
        && name == other
    {
        (from, to) = (above_from, above_to);
    }
    match beside.strip_prefix(from) {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{to}{rest}"),
        _ => beside.to_owned(),
    }
}
