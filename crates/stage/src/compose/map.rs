//! Functions that map the paths and times of a node to those of another one.
//!
//! The semantics are those of `PcpMapFunction` of OpenUSD: the longest mapped ancestor of a path decides,
//! and a path maps only if its image maps back to it.

use std::rc::Rc;

use openusd::sdf::LayerOffset;

use super::paths::{PathId, Paths};

/// A mapped path, with its image; without one, neither it nor the paths below it map.
type Pair = (PathId, Option<PathId>);

/// A map of paths and times.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Map {
    /// Sorted by the length of the source, without pairs that others imply.
    pairs: Option<Rc<[Pair]>>,
    /// True if all other paths map to themselves.
    has_identity: bool,
    pub offset: LayerOffset,
}

impl Map {
    /// The map of every path and time to itself.
    pub const IDENTITY: Self = Self {
        pairs: None,
        has_identity: true,
        offset: LayerOffset::IDENTITY,
    };

    /// Maps a prim, and everything below it, to another one.
    pub fn new(paths: &mut Paths, source: PathId, target: PathId, offset: LayerOffset) -> Self {
        Self::canonical(paths, vec![(source, Some(target))], offset)
    }

    /// Maps the sources of relocates to their targets, and all other paths to themselves.
    pub fn relocating(paths: &mut Paths, pairs: impl Iterator<Item = (PathId, PathId)>) -> Self {
        let moved = pairs.map(|(source, target)| (source, Some(target)));
        let all = std::iter::once((PathId::ROOT, Some(PathId::ROOT))).chain(moved);
        let all = all.collect();
        Self::canonical(paths, all, LayerOffset::IDENTITY)
    }

    fn pairs(&self) -> &[Pair] {
        self.pairs.as_deref().unwrap_or_default()
    }

    pub fn has_identity(&self) -> bool {
        self.has_identity
    }

    /// Returns the map that also maps all other paths to themselves.
    pub fn with_identity(&self, paths: &mut Paths) -> Self {
        if self.has_identity {
            return self.clone();
        }
        let mut pairs = vec![(PathId::ROOT, Some(PathId::ROOT))];
        pairs.extend(self.pairs());
        Self::canonical(paths, pairs, self.offset)
    }

    /// Returns the map that does not map all other paths to themselves.
    pub fn without_identity(&self) -> Self {
        Self {
            has_identity: false,
            ..self.clone()
        }
    }

    /// Returns the map of the same paths that maps times by another offset.
    pub fn with_offset(&self, offset: LayerOffset) -> Self {
        Self {
            offset,
            ..self.clone()
        }
    }

    /// Sorts the pairs and removes those that others imply.
    fn canonical(paths: &mut Paths, mut pairs: Vec<Pair>, offset: LayerOffset) -> Self {
        pairs.sort_by_key(|(source, target)| (paths.len(*source), *source, *target));
        let mut index = 0;
        while index < pairs.len() {
            if is_redundant(paths, &pairs, index) {
                pairs.remove(index);
            } else {
                index += 1;
            }
        }
        let has_identity = pairs.first() == Some(&(PathId::ROOT, Some(PathId::ROOT)));
        if has_identity {
            pairs.remove(0);
        }
        Self {
            pairs: (!pairs.is_empty()).then(|| pairs.into()),
            has_identity,
            offset,
        }
    }

    /// Maps a path to the target.
    pub fn to_target(&self, paths: &mut Paths, path: PathId) -> Option<PathId> {
        let pairs = self.pairs();
        let best = best_source(paths, pairs, path, 0);
        let image = match best.and_then(|index| pairs.get(index)) {
            None => Some(path).filter(|_| self.has_identity),
            Some((source, target)) => {
                target.map(|target| paths.replace_prefix(path, *source, target))
            }
        }?;
        (!has_better_target(paths, pairs, image, best)).then_some(image)
    }

    /// Maps a path back to the source.
    pub fn to_source(&self, paths: &mut Paths, path: PathId) -> Option<PathId> {
        let pairs = self.pairs();
        let best = best_target(paths, pairs, path, 0);
        let (image, min) = match best.and_then(|index| pairs.get(index)) {
            None => (Some(path).filter(|_| self.has_identity)?, 0),
            Some((source, target)) => (
                paths.replace_prefix(path, (*target)?, *source),
                paths.len(*source),
            ),
        };
        let other = best_source(paths, pairs, image, min);
        (other.is_none() || other == best).then_some(image)
    }

    /// Returns the map that applies `inner` and then this one.
    pub fn compose(&self, paths: &mut Paths, inner: &Self) -> Self {
        if *self == Self::IDENTITY {
            return inner.clone();
        }
        if *inner == Self::IDENTITY {
            return self.clone();
        }
        let mut pairs: Vec<Pair> = Vec::new();
        if self.has_identity && inner.has_identity {
            pairs.push((PathId::ROOT, Some(PathId::ROOT)));
        }
        for (source, target) in inner.pairs() {
            let target = target.and_then(|target| self.to_target(paths, target));
            pairs.push((*source, target));
        }
        for (source, target) in self.pairs() {
            let Some(source) = inner.to_source(paths, *source) else {
                continue;
            };
            if !pairs.iter().any(|(known, _)| *known == source) {
                pairs.push((source, *target));
            }
        }
        let offset = self.offset.concatenate(&inner.offset);
        Self::canonical(paths, pairs, offset)
    }

    /// Returns the inverse.
    pub fn inverse(&self, paths: &Paths) -> Self {
        let inverted = |(source, target): &Pair| Some(((*target)?, Some(*source)));
        let mut pairs: Vec<Pair> = self.pairs().iter().filter_map(inverted).collect();
        pairs.sort_by_key(|(source, target)| (paths.len(*source), *source, *target));
        Self {
            pairs: (!pairs.is_empty()).then(|| pairs.into()),
            has_identity: self.has_identity,
            offset: self.offset.inverse(),
        }
    }
}

/// Returns the index of the pair with the longest source that begins a path, of at least `min` elements.
fn best_source(paths: &Paths, pairs: &[Pair], path: PathId, min: u32) -> Option<usize> {
    let found = pairs.iter().enumerate().rev();
    let mut found = found.take_while(|(_, (source, _))| paths.len(*source) >= min);
    let found = found.find(|(_, (source, _))| paths.has_prefix(path, *source));
    found.map(|(index, _)| index)
}

/// Returns the index of the pair with the longest target that begins a path, of at least `min` elements.
fn best_target(paths: &Paths, pairs: &[Pair], path: PathId, min: u32) -> Option<usize> {
    let mut best = None;
    let mut len = min;
    for (index, (_, target)) in pairs.iter().enumerate() {
        if let Some(target) = target
            && paths.len(*target) >= len
            && paths.has_prefix(path, *target)
        {
            len = paths.len(*target);
            best = Some(index);
        }
    }
    best
}

/// Returns whether a pair other than `best` maps back the image of a path.
fn has_better_target(paths: &Paths, pairs: &[Pair], image: PathId, best: Option<usize>) -> bool {
    let target = best
        .and_then(|index| pairs.get(index))
        .and_then(|(_, target)| *target);
    let min = target.map_or(0, |target| paths.len(target));
    let other = best_target(paths, pairs, image, min);
    other.is_some() && other != best
}

/// Returns whether the map is the same without one pair.
fn is_redundant(paths: &mut Paths, pairs: &[Pair], index: usize) -> bool {
    let Some((source, target)) = pairs.get(index).copied() else {
        return false;
    };
    if source == PathId::ROOT {
        return false;
    }
    let above = best_source(paths, pairs, paths.parent(source), 0);
    let Some((from, to)) = above.and_then(|above| pairs.get(above)).copied() else {
        return target.is_none();
    };
    let Some(to) = to else {
        return target.is_none();
    };
    let image = paths.replace_prefix(source, from, to);
    match target {
        None => has_better_target(paths, pairs, image, above),
        Some(target) => {
            target == image && {
                let parent = paths.parent(target);
                !has_better_target(paths, pairs, parent, above)
            }
        }
    }
}
