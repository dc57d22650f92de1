//! The relocates of a layer stack, which move prims that its arcs bring in to other paths.
//!
//! The rules are those of `Pcp_ComputeRelocationsForLayerStack` of OpenUSD: relocates that contradict each
//! other do not count, and only those of the metadata of layers are read.

use std::collections::{BTreeMap, HashMap, HashSet};

use openusd::sdf;
use openusd::tf::Token;

use super::super::{CompositionError, Value};
use super::layers::{Layers, Member};
use super::map::Map;
use super::paths::{PathId, Paths};

/// Maximum number of relocates of a layer stack. Composing two maps takes the square of their number.
pub const MAX_RELOCATES: usize = 4096;

/// Maximum number of elements of the paths of all relocates of a layer stack, those before the relocates of
/// prims above them included: each can multiply the length of the next.
const MAX_ELEMENTS: usize = 1_000_000;

/// The relocates of a layer stack.
#[derive(Default)]
pub(crate) struct Relocates {
    /// The targets by source. A prim without a target is removed.
    targets: HashMap<PathId, Option<PathId>>,
    /// The sources by target.
    sources: HashMap<PathId, PathId>,
    /// The relocates that affect the namespace of a prim: the sources by target.
    below: HashMap<PathId, BTreeMap<PathId, PathId>>,
    /// The sources by parent.
    from: HashMap<PathId, Vec<PathId>>,
    /// The targets by parent, sorted by name.
    into: HashMap<PathId, Vec<PathId>>,
}

/// A relocate of a layer.
#[derive(Clone)]
struct Authored {
    target: Option<PathId>,
    member: Member,
}

impl Relocates {
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// Returns whether a prim was moved away or removed.
    pub fn is_source(&self, path: PathId) -> bool {
        self.targets.contains_key(&path)
    }

    /// Returns the path from which a prim was moved.
    pub fn source(&self, target: PathId) -> Option<PathId> {
        self.sources.get(&target).copied()
    }

    /// Returns the map of the relocates below a prim; `None` without any.
    pub fn map(&self, paths: &mut Paths, prim: PathId) -> Option<Map> {
        let pairs = self.below.get(&prim)?;
        let pairs = pairs.iter().map(|(target, source)| (*source, *target));
        Some(Map::relocating(paths, pairs))
    }

    /// Applies the relocates to the names of the children of a prim, and returns the names of the sources,
    /// which no weaker or stronger site may use.
    pub fn rename<'r>(
        &'r self,
        paths: &'r Paths,
        prim: PathId,
        names: &mut Vec<Token>,
    ) -> impl Iterator<Item = &'r str> {
        let sources = self.from.get(&prim).map(Vec::as_slice).unwrap_or_default();
        let targets = self.into.get(&prim).map(Vec::as_slice).unwrap_or_default();
        // A renamed child stays in its place, unless there is one with the new name.
        let renamed = |source: PathId| {
            let target = self.targets.get(&source).copied().flatten();
            target.filter(|target| paths.parent(*target) == prim)
        };
        let moved: HashMap<&str, Option<&str>> = sources
            .iter()
            .map(|source| {
                (
                    paths.name(*source),
                    renamed(*source).map(|to| paths.name(to)),
                )
            })
            .collect();
        if !moved.is_empty() {
            let mut known: HashSet<Token> = names.iter().cloned().collect();
            let before = std::mem::take(names);
            for name in before {
                let Some(to) = moved.get(name.as_str()) else {
                    names.push(name);
                    continue;
                };
                known.remove(&name);
                if let Some(to) = to.map(Token::from)
                    && known.insert(to.clone())
                {
                    names.push(to);
                }
            }
        }
        let known: HashSet<Token> = names.iter().cloned().collect();
        for target in targets {
            let source = self.source(*target);
            let name = Token::from(paths.name(*target));
            if source.is_some_and(|source| paths.parent(source) != prim) && !known.contains(&name) {
                names.push(name);
            }
        }
        sources.iter().map(|source| paths.name(*source))
    }

    /// Adds a valid relocate.
    fn add(&mut self, paths: &Paths, source: PathId, target: Option<PathId>) {
        self.targets.insert(source, target);
        self.from
            .entry(paths.parent(source))
            .or_default()
            .push(source);
        if let Some(target) = target {
            self.sources.insert(target, source);
            self.into
                .entry(paths.parent(target))
                .or_default()
                .push(target);
        }
    }

    /// Returns the path of the source before the relocates of the prims above it, and takes the elements of
    /// all paths on the way from those that are left. `None` if there are too many.
    fn origin(&self, paths: &mut Paths, source: PathId, left: &mut usize) -> Option<PathId> {
        let mut origin = source;
        // Each round replaces a target by a source.
        loop {
            *left = left.checked_sub(1 + paths.len(origin) as usize)?;
            let mut above = origin;
            let moved = loop {
                if above == PathId::ROOT {
                    return Some(origin);
                }
                if let Some(source) = self.source(above) {
                    break source;
                }
                above = paths.parent(above);
            };
            origin = paths.replace_prefix(origin, above, moved);
        }
    }

    /// Collects the relocates that affect each prim. Returns `None` if their paths have too many elements.
    fn index(&mut self, paths: &mut Paths) -> Option<()> {
        let mut moved: Vec<(PathId, PathId)> = (self.sources.iter())
            .map(|(target, source)| (*source, *target))
            .collect();
        moved.sort();
        let mut left = MAX_ELEMENTS;
        let mut origins = Vec::new();
        for (source, target) in &moved {
            origins.push((self.origin(paths, *source, &mut left)?, *target));
        }
        // A map has one source for each target: the one before all relocates.
        for (source, target) in origins.into_iter().chain(moved) {
            let mut prim = source;
            loop {
                let below = self.below.entry(prim).or_default();
                below.entry(target).or_insert(source);
                if prim == PathId::ROOT {
                    break;
                }
                prim = paths.parent(prim);
            }
        }
        for targets in self.into.values_mut() {
            targets.sort_by(|a, b| paths.name(*a).cmp(paths.name(*b)));
        }
        Some(())
    }
}

/// Returns why the paths of a relocate are not valid, if they are not.
fn fault(
    paths: &Paths,
    source: Option<PathId>,
    target: &sdf::Path,
    to: Option<PathId>,
) -> Option<&'static str> {
    let is_prim = |path: &PathId| *path != PathId::ROOT && !paths.has_variants(*path);
    let Some(source) = source.filter(is_prim) else {
        return Some("its source is not the path of a prim");
    };
    if paths.len(source) == 1 {
        return Some("its source is a root prim, which no arc brings in");
    }
    if target.is_empty() {
        return None;
    }
    let Some(target) = to.filter(is_prim) else {
        return Some("its target is not the path of a prim");
    };
    if paths.has_prefix(target, source) {
        return Some("its target is the source, or below it");
    }
    paths
        .has_prefix(source, target)
        .then_some("its target is above the source")
}

/// Returns the name of a relocate as the path of an error, by which its line is found.
fn place(paths: &Paths, source: PathId) -> String {
    super::super::usda::relocate_place(&paths.text(source))
}

impl Layers {
    /// Returns the relocates of the layers of a layer stack, the strongest first.
    pub(super) fn relocates(&mut self, paths: &mut Paths, members: &[Member]) -> Relocates {
        let mut authored: BTreeMap<PathId, Authored> = BTreeMap::new();
        let mut count = 0;
        'members: for member in members {
            let metadata = &self.layer(member.layer).metadata;
            let Some(Value::Relocates(pairs)) = metadata.get("layerRelocates") else {
                continue;
            };
            let left = MAX_RELOCATES + 1 - count;
            let pairs: Vec<_> = pairs.iter().take(left).cloned().collect();
            for (source, target) in pairs {
                count += 1;
                if count > MAX_RELOCATES {
                    let message = format!(
                        "its layer stack has more than {MAX_RELOCATES} relocates; the others are not composed"
                    );
                    self.report(message, member.layer);
                    break 'members;
                }
                let from = paths.parse(source.as_str());
                let to = paths.parse(target.as_str());
                if let Some(reason) = fault(paths, from, &target, to) {
                    let place = super::super::usda::relocate_place(source.as_str());
                    let message = format!(
                        "the relocate of {} to <{}> does not count: {reason}",
                        source.as_str(),
                        target.as_str()
                    );
                    self.report_relocate(message, *member, place);
                } else if let Some(from) = from {
                    let member = *member;
                    let target = to.filter(|_| !target.is_empty());
                    let relocate = Authored { target, member };
                    authored.entry(from).or_insert(relocate);
                }
            }
        }
        if authored.is_empty() {
            return Relocates::default();
        }
        for (source, reason) in conflicts(paths, &authored) {
            if let Some(Authored { target, member }) = authored.remove(&source) {
                let target = target.map(|target| paths.text(target));
                let message = format!(
                    "the relocate of {} to <{}> does not count: {reason}",
                    paths.text(source),
                    target.unwrap_or_default()
                );
                self.report_relocate(message, member, place(paths, source));
            }
        }
        let mut relocates = Relocates::default();
        for (source, Authored { target, .. }) in &authored {
            relocates.add(paths, *source, *target);
        }
        if relocates.index(paths).is_none() {
            let message = format!(
                "the relocates of its layer stack have paths of more than {MAX_ELEMENTS} elements; none are composed"
            );
            if let Some(member) = members.first() {
                self.report(message, member.layer);
            }
            return Relocates::default();
        }
        relocates
    }

    /// Adds an error about a relocate.
    fn report_relocate(&mut self, message: String, member: Member, place: String) {
        self.errors.push(CompositionError {
            message,
            layer: Some(self.layer(member.layer).identifier.clone()),
            path: Some(place),
        });
    }
}

/// Returns the sources of relocates that contradict others, with the reason.
fn conflicts(paths: &Paths, authored: &BTreeMap<PathId, Authored>) -> BTreeMap<PathId, String> {
    let mut found = BTreeMap::new();
    let mut by_target: HashMap<PathId, PathId> = HashMap::new();
    for (source, Authored { target, .. }) in authored {
        let Some(target) = *target else {
            continue;
        };
        let other = *by_target.entry(target).or_insert(*source);
        if other != *source {
            let reason = |other| format!("{} has the same target", paths.text(other));
            found.insert(*source, reason(other));
            found.entry(other).or_insert_with(|| reason(*source));
        }
    }
    for (source, Authored { target, .. }) in authored {
        if let Some(target) = *target {
            if authored.contains_key(&target) {
                let reason = "its target is the source of another relocate".to_owned();
                found.entry(*source).or_insert(reason);
                let reason = "its source is the target of another relocate".to_owned();
                found.entry(target).or_insert(reason);
            }
            if let Some(above) = moved_above(paths, authored, target) {
                let reason = format!(
                    "its target is below {}, which another one moves",
                    paths.text(above)
                );
                found.entry(*source).or_insert(reason);
            }
        }
        if let Some(above) = moved_above(paths, authored, *source) {
            let reason = format!(
                "its source is below {}, which another one moves; write the path to which that one moves it",
                paths.text(above)
            );
            found.entry(*source).or_insert(reason);
        }
    }
    found
}

/// Returns the nearest prim above a path that is the source of a relocate.
fn moved_above(
    paths: &Paths,
    authored: &BTreeMap<PathId, Authored>,
    path: PathId,
) -> Option<PathId> {
    let mut above = paths.parent(path);
    while above != PathId::ROOT {
        if authored.contains_key(&above) {
            return Some(above);
        }
        above = paths.parent(above);
    }
    None
}
