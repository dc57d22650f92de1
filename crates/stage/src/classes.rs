//! Finds arcs to classes that a prim has already through an ancestor, as scene cloners write them.
//!
//! `/env_1` inherits `/env_0`, and `/env_1/Robot` inherits `/env_0/Robot`: OpenUSD follows the second arc
//! once, `openusd` 0.8.0 overflows the stack or does not terminate. Such arcs are left out before
//! composition: of one layer by [`edits`](super::edits), of a layer stack and of prims that references
//! compose by the reader of the stage, which then opens the asset again.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use super::CompositionError;
use super::layer::Layer;
use super::prim::{Arc, ArcKind, Prim};

/// Maximum number of prims, and of bytes of a path, that a search along arcs follows.
const MAX_CHAIN: usize = 1000;

/// Maximum number of prims that all searches in a layer stack follow together.
const MAX_STEPS: usize = 4_000_000;
/// Error of a search that would follow more.
const TOO_MANY: &str = "its prims have too many arcs to classes";

/// An arc to a class that composition has to leave out.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct LeftOut {
    /// The path of the layer's file, as in [`Layer::path`].
    pub layer: String,
    /// The path of the prim in the layer, with variant selections.
    pub prim: String,
    /// True for an inherit, false for a specialize.
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

/// Returns the finding about an arc by which a prim inherits or specializes itself.
pub(super) fn circle(layer: &Layer, arc: &Arc) -> CompositionError {
    let path = without_variants(&arc.site.path);
    CompositionError {
        message: format!(
            "{path} inherits or specializes itself, directly or by other prims; its arc to {} is left out: remove it",
            arc.prim
        ),
        layer: Some(layer.identifier.clone()),
        path: Some(path),
    }
}

/// Returns arcs of a layer stack without which no prim inherits or specializes itself, directly or
/// through other arcs: `openusd` 0.8 overflows the stack on the prims below. OpenUSD follows such an arc
/// up to the prim itself.
///
/// # Errors
/// If the layer stack has too many arcs to search.
pub(super) fn circular<'a>(
    arcs: impl Iterator<Item = &'a Arc>,
) -> Result<Vec<&'a Arc>, &'static str> {
    // A cycle through a variant exists only if it is selected, and is then a composition error.
    let arcs = arcs.filter(|arc| is_inside(arc) && !arc.site.path.contains('{'));
    let mut by_prim: BTreeMap<&str, Vec<&Arc>> = BTreeMap::new();
    for arc in arcs {
        by_prim.entry(&arc.site.path).or_default().push(arc);
    }
    let (mut found, mut steps) = (Vec::new(), 0);
    let starts: Vec<&str> = by_prim.keys().copied().collect();
    for start in starts {
        let own = by_prim.get(start).cloned().unwrap_or_default();
        for arc in own.into_iter().filter(|arc| is_class(arc)) {
            let is_circular = is_circular(start, arc, &by_prim, &mut steps);
            if steps > MAX_STEPS {
                return Err(TOO_MANY);
            }
            if is_circular {
                found.push(arc);
                // Without this arc, the others of the circle are sound.
                let arcs = by_prim.get_mut(start).into_iter();
                arcs.for_each(|arcs| arcs.retain(|other| !std::ptr::eq(*other, arc)));
            }
        }
    }
    Ok(found)
}

/// Returns whether the arc of a prim leads back to it. Counts the prims that it follows in `steps`.
fn is_circular(
    start: &str,
    arc: &Arc,
    by_prim: &BTreeMap<&str, Vec<&Arc>>,
    steps: &mut usize,
) -> bool {
    let mut paths = vec![arc.prim.clone()];
    let mut seen: HashSet<String> = HashSet::new();
    while let Some(path) = paths.pop() {
        if path == start {
            return true;
        }
        let is_long = path.len() > MAX_CHAIN || seen.len() > MAX_CHAIN;
        if is_long || *steps > MAX_STEPS || !seen.insert(path.clone()) {
            continue;
        }
        for (above, below) in above(&path).chain([(path.as_str(), "")]) {
            let targets = by_prim.get(above).into_iter().flatten();
            *steps += 1 + targets.clone().count();
            paths.extend(targets.map(|arc| format!("{}{below}", arc.prim)));
        }
    }
    false
}

/// An arc that repeats another one of an ancestor.
pub(super) struct Repeat<'a> {
    pub arc: &'a Arc,
    /// The path of the ancestor.
    pub above: String,
    /// True if the order of strength stays the same without the arc.
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
pub(super) fn without_variants(path: &str) -> String {
    if !path.contains('{') {
        return path.to_owned();
    }
    openusd::sdf::Path::new(path).map_or_else(
        |_| path.to_owned(),
        |path| path.strip_all_variant_selections().as_str().to_owned(),
    )
}

/// Iterates over the proper ancestors of a path, each with the rest of the path.
pub(super) fn above(path: &str) -> impl Iterator<Item = (&str, &str)> {
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
    for arc in arcs.filter(|arc| is_inside(arc)) {
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
                    return Err(TOO_MANY);
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

/// Returns whether an arc leads to a prim in its own layer stack.
fn is_inside(arc: &Arc) -> bool {
    arc.asset.is_empty() && !arc.prim.is_empty()
}

/// The prims of a layer that have arcs within the layer stack, by the path of what they are children
/// of.
pub(super) struct ArcChildren(HashMap<String, Vec<(String, String)>>);

impl ArcChildren {
    pub fn new(layer: &Layer) -> Self {
        let mut children: HashMap<String, Vec<(String, String)>> = HashMap::new();
        for prim in layer
            .prims
            .iter()
            .filter(|prim| prim.arcs.iter().any(is_inside))
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

    /// Returns names and paths in the layer of the children of a prim that have arcs.
    fn of(&self, path: &str) -> impl Iterator<Item = (&str, &str)> {
        let children = self.0.get(path).into_iter().flatten();
        children.map(|(name, path)| (name.as_str(), path.as_str()))
    }
}

/// The arcs to classes of the composed prims so far, which [`Composed::children`] compares with those
/// of the prims below.
#[derive(Default)]
pub(super) struct Composed {
    /// By path of the prim: the path in the stage of the target, and the arc.
    targets: HashMap<String, Vec<(String, Arc)>>,
}

/// The children of a composed prim that have arcs, by path.
#[derive(Default)]
pub(super) struct Children {
    /// The targets of the arcs within the layer stack, as paths in the stage.
    pub targets: HashMap<String, Vec<String>>,
    /// The arcs that repeat arcs of the prim or of its ancestors, with the findings for those that
    /// change the result.
    pub repeats: HashMap<String, Vec<(LeftOut, Option<CompositionError>)>>,
}

impl Composed {
    /// Returns the children of a prim that have arcs. `prim` is `None` for the root prims.
    pub fn children(
        &mut self,
        prim: Option<&Prim>,
        layers: &[Layer],
        children: &[ArcChildren],
    ) -> Children {
        let above = prim.map_or("", |prim| prim.path.as_str());
        let own = prim
            .iter()
            .flat_map(|prim| &prim.arcs)
            .filter(|arc| {
                let is_local = |arc: &Arc| layers.get(arc.site.layer.0).is_some_and(|l| l.is_local);
                is_inside(arc) && (is_class(arc) || is_local(arc))
            })
            .map(|arc| (in_stage(&arc.site.path, above, &arc.prim), arc.clone()));
        let own: Vec<(String, Arc)> = own.collect();
        if !own.is_empty() {
            self.targets.insert(above.to_owned(), own);
        }
        let sites: Vec<(usize, &str)> = match prim {
            Some(prim) => {
                let sites = prim.sites.iter();
                sites
                    .map(|site| (site.layer.0, site.path.as_str()))
                    .collect()
            }
            None => (0..layers.len()).map(|layer| (layer, "")).collect(),
        };
        let mut found = Children::default();
        for (index, site) in sites {
            let (Some(layer), Some(children)) = (layers.get(index), children.get(index)) else {
                continue;
            };
            for (name, child) in children.of(site) {
                let path = format!("{above}/{name}");
                let arcs = layer.prim(child).map(|child| child.arcs.as_slice());
                for arc in arcs.unwrap_or_default().iter().filter(|arc| is_inside(arc)) {
                    let target = in_stage(child, &path, &arc.prim);
                    let repeated = if is_class(arc) {
                        self.repeated(&path, &target)
                    } else {
                        None
                    };
                    if let Some((above, stronger)) = repeated {
                        // Every use of a layer has the layers that it refers to, which are read later.
                        let is_exact = rank(stronger.kind) <= rank(arc.kind)
                            && (layer.is_local || arc.site.layer.0 <= stronger.site.layer.0);
                        let left_out = LeftOut::new(layer, arc);
                        let finding = (!is_exact).then(|| finding(layer, arc, &path, above));
                        let repeats = found.repeats.entry(path.clone()).or_default();
                        repeats.push((left_out, finding));
                    }
                    found.targets.entry(path.clone()).or_default().push(target);
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

/// A prim that is not composed yet.
pub(super) struct Waiting<T> {
    pub prim: T,
    /// The targets of its arcs.
    targets: Vec<String>,
}

impl<T> Waiting<T> {
    /// Returns whether it is composed of one of these prims, or of one below.
    pub fn is_composed_of(&self, prims: &HashSet<String>) -> bool {
        self.targets.iter().any(|target| {
            prims.contains(target) || above(target).any(|(above, _)| prims.contains(above))
        })
    }
}

/// Prims with arcs within the layer stack, which are composed after their targets: composing a prim
/// composes its targets, before their arcs have been compared with those of their ancestors.
pub(super) struct Queue<T> {
    waiting: HashMap<String, Waiting<T>>,
    order: VecDeque<String>,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self {
            waiting: HashMap::new(),
            order: VecDeque::new(),
        }
    }
}

impl<T> Queue<T> {
    pub fn push(&mut self, path: String, prim: T, targets: Vec<String>) {
        self.order.push_back(path.clone());
        self.waiting.insert(path, Waiting { prim, targets });
    }

    /// Returns a prim whose targets do not wait, if there is one, or else any.
    pub fn pop(&mut self) -> Option<Waiting<T>> {
        let mut path = loop {
            let first = self.order.front()?;
            if self.waiting.contains_key(first) {
                break first.clone();
            }
            self.order.pop_front();
        };
        let mut chain = HashSet::new();
        while let Some(waiting) = self.waiting.get(&path)
            && chain.len() < MAX_CHAIN
        {
            let targets = waiting.targets.iter();
            let mut blockers = targets.flat_map(|target| {
                let ancestors = above(target).map(|(above, _)| above);
                ancestors.chain([target.as_str()])
            });
            let blocker = blockers.find(|blocker| {
                *blocker != path && !chain.contains(*blocker) && self.waiting.contains_key(*blocker)
            });
            let Some(blocker) = blocker.map(str::to_owned) else {
                break;
            };
            chain.insert(std::mem::replace(&mut path, blocker));
        }
        self.waiting.remove(&path)
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
