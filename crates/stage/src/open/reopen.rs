//! Composes an asset with other variants from a stage of the same asset: only the prims with these
//! variants, and those below them.

use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;

use openusd::tf::Token;

use super::super::prim::{Arc as CompositionArc, ArcKind, Prim, PrimId};
use super::super::{Layer, LayerId, Stage};
use super::{Options, Reader, Selections, Surveys, composer};

/// Returns true if a prim, or one below it, may differ without payloads: it has a payload, or an arc to
/// a nested prim, which includes the payloads of the ancestors of that prim.
fn may_have_payload(prim: &Prim) -> bool {
    let is_nested = |path: &str| path.trim_start_matches('/').contains('/');
    prim.arcs
        .iter()
        .any(|arc| arc.kind == ArcKind::Payload || is_nested(&arc.prim))
}

/// Returns true if a layer moves prims, so that the opinions about a prim do not follow from those about
/// its parent.
fn has_relocates(layer: &Layer) -> bool {
    layer.metadata.contains_key("layerRelocates")
}

fn is_class(arc: &CompositionArc) -> bool {
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

/// Iterates over the proper ancestors of a path.
fn above(path: &str) -> impl Iterator<Item = &str> {
    let ends = path.match_indices('/').map(|(at, _)| at);
    ends.filter_map(|end| path.get(..end).filter(|above| !above.is_empty()))
}

/// Returns the ids of the prims whose variants differ from those of `known`, without those below others;
/// `None` if other prims may differ too.
///
/// A selection in the session layer affects the prim and all below it, and the prims that are composed
/// of those: by arcs within the root layer stack, or by classes, whose arcs composition continues in
/// every layer stack above.
fn changed(known: &Stage, options: &Options, chosen: &Selections) -> Option<Vec<PrimId>> {
    let before = known.composition.as_ref()?;
    let keeps = |(path, sets): (&String, &std::collections::BTreeMap<String, String>)| {
        let now = chosen.get(path);
        sets.keys()
            .all(|set| now.is_some_and(|now| now.contains_key(set)))
    };
    let is_same = before.payloads == options.payloads && before.overlays == options.overlays;
    let is_simple = known.errors.is_empty()
        && options.content.is_none()
        && !known.layers.iter().any(has_relocates);
    if !is_same || !is_simple || !before.chosen.iter().all(keeps) {
        return None;
    }
    let mut ids: HashSet<PrimId> = HashSet::new();
    for (path, sets) in chosen {
        let id = known.at(path)?;
        let selection = |name: &String| {
            let set = known[id].variant_sets.iter().find(|set| set.name == *name);
            set.and_then(|set| set.selection.as_ref())
        };
        if sets
            .iter()
            .any(|(set, variant)| selection(set) != Some(variant))
        {
            ids.insert(id);
        }
    }
    let topmost = |id: &PrimId| !known.ancestors(*id).any(|above| ids.contains(&above));
    let mut topmost: Vec<PrimId> = ids.iter().copied().filter(topmost).collect();
    topmost.sort();
    for id in &topmost {
        let mut above = known.ancestors(*id);
        if known[*id].instance.is_some() || above.any(|above| may_have_payload(&known[above])) {
            return None;
        }
    }
    let paths: HashSet<&str> = topmost.iter().map(|id| known[*id].path.as_str()).collect();
    let affected: HashSet<&str> = (paths.iter().copied())
        .flat_map(|path| above(path).chain([path]))
        .collect();
    let is_below =
        |path: &str| paths.contains(path) || above(path).any(|above| paths.contains(above));
    for layer in &known.layers {
        for arc in layer.prims.iter().flat_map(|prim| &prim.arcs) {
            if !arc.asset.is_empty() || is_below(&without_variants(&arc.site.path)) {
                continue;
            }
            let is_affected = match layer.is_local {
                true => {
                    arc.prim.is_empty()
                        || affected.contains(arc.prim.as_str())
                        || is_below(&arc.prim)
                }
                false => is_class(arc),
            };
            if is_affected {
                return None;
            }
        }
    }
    Some(topmost)
}

/// Composes the asset of `known` with other variants. Returns `None` if it has to be composed as a
/// whole.
///
/// # Errors
/// As [`Stage::open`].
pub(super) fn recomposed(
    known: &Stage,
    options: &Options,
    chosen: &Selections,
    surveys: &Arc<Surveys>,
) -> Result<Option<Stage>, String> {
    let Some(changed) = changed(known, options, chosen) else {
        return Ok(None);
    };
    let composer = composer(&known.entry, options, chosen, surveys, &known.layers)?;
    let identifiers = composer
        .layers
        .all()
        .iter()
        .map(|opened| &opened.layer.identifier);
    if !identifiers.eq(known.layers.iter().map(|layer| &layer.identifier)) {
        return Ok(None);
    }
    let mut reader = Reader::new(composer, options.payloads);
    let mut prims: Vec<Prim> = Vec::with_capacity(known.prims.len());
    // The new ids of the prims of `known`; those of replaced prims are not used.
    let mut moved: Vec<PrimId> = Vec::with_capacity(known.prims.len());
    // The index of the first prim of each new part, and its length.
    let mut parts: Vec<(usize, usize)> = Vec::new();
    let mut at = 0;
    for id in changed.iter().copied().chain([PrimId(known.prims.len())]) {
        for prim in known.prims.get(at..id.0).unwrap_or_default() {
            moved.push(PrimId(prims.len()));
            prims.push(prim.clone());
        }
        if id.0 == known.prims.len() {
            break;
        }
        let size = known.subtree(id).count();
        at = id.0 + size;
        moved.extend(std::iter::repeat_n(PrimId(prims.len()), size));
        let part = reader.part(known, id)?;
        parts.push((prims.len(), part.len()));
        prims.extend(part);
    }
    let count = reader.composer.layers.all().len();
    if count != known.layers.len() || !uses_same_layers(known, &changed, &prims) {
        return Ok(None);
    }
    let new_id = |id: PrimId| moved.get(id.0).copied().unwrap_or(id);
    let mut next = parts.iter().copied().peekable();
    let mut end = 0;
    let mut start = 0;
    for (index, prim) in prims.iter_mut().enumerate() {
        if let Some((first, len)) = next.next_if(|(first, _)| *first == index) {
            (start, end) = (first, first + len);
        }
        if index < end {
            // Ids in a part count from its first prim, except that above it.
            let is_first = index == start;
            let shift = |id: &mut PrimId| id.0 += start;
            prim.children.iter_mut().for_each(shift);
            match is_first {
                true => prim.parent = prim.parent.map(new_id),
                false => prim.parent.iter_mut().for_each(shift),
            }
            prim.instance.iter_mut().for_each(shift);
        } else {
            let shift = |id: &mut PrimId| *id = new_id(*id);
            prim.children.iter_mut().for_each(shift);
            prim.parent.iter_mut().for_each(shift);
            prim.instance.iter_mut().for_each(shift);
        }
    }
    Ok(Some(reader.stage(
        &known.entry,
        options,
        chosen,
        surveys,
        prims,
    )))
}

/// Returns true if each layer with opinions about the replaced prims still has opinions about some prim.
fn uses_same_layers(known: &Stage, changed: &[PrimId], prims: &[Prim]) -> bool {
    let sites = prims.iter().flat_map(|prim| &prim.sites);
    let used: HashSet<LayerId> = sites.map(|site| site.layer).collect();
    let mut before = (changed.iter())
        .flat_map(|id| known.subtree(*id))
        .flat_map(|id| known[id].sites.iter().map(|site| site.layer));
    before.all(|layer| used.contains(&layer))
}

impl Reader {
    /// Reads a prim of `known`, and those below it, as composed now. The ids count from that prim, but its
    /// parent is that of `known`.
    ///
    /// # Errors
    /// The limit that the asset exceeds.
    fn part(&mut self, known: &Stage, id: PrimId) -> Result<Vec<Prim>, String> {
        let mut chain: Vec<PrimId> = known.ancestors(id).collect();
        chain.reverse();
        let count = chain.len();
        let mut above: Vec<Prim> = Vec::with_capacity(count);
        let mut composed = self.composer.root_index();
        self.prototypes.clear();
        for (index, id) in chain.iter().enumerate() {
            let prim = &known[*id];
            composed = self.composer.child(&composed, prim.name());
            let mut prim = prim.clone();
            prim.parent = index.checked_sub(1).map(PrimId);
            prim.children = Vec::from_iter((index + 1 < count).then_some(PrimId(index + 1)));
            above.push(prim);
        }
        let name = Token::from(known[id].name());
        let mut prims = self.below(&Rc::new(composed), above, Some(name))?;
        let mut part = prims.split_off(count);
        for prim in &mut part {
            let shift = |id: &mut PrimId| id.0 = id.0.saturating_sub(count);
            prim.children.iter_mut().for_each(shift);
            prim.parent.iter_mut().for_each(shift);
            prim.instance.iter_mut().for_each(shift);
        }
        if let Some(first) = part.first_mut() {
            first.parent = known[id].parent;
        }
        Ok(part)
    }
}
