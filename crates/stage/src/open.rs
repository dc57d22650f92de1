//! Opens an asset, composes its prims and reads them completely.

mod read;
mod reopen;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use openusd::sdf;
use openusd::tf::Token;
use urdf_usd_resolve::{Files, Resolver};

use super::compose::{
    Composer, Fault, Index, Layers, NodeKind, PathId, Paths, Selections, StackId,
};
use super::prim::{Attribute, Prim, PrimId, Properties, VariantSet};
use super::shallow::{Shallow, Surveys, on_large_stack};
use super::shared::{CodedArray, CodedArrays, weight};
use super::{CompositionError, DEEPEST, Layer, LayerId, Stage, Value};

/// Maximum number of composed prims, whatever the size of the layers.
const MAX_PRIMS: usize = 1_250_000;

/// Maximum number of composed prims of small layers. Nested references multiply prims, and each takes some
/// KiB of memory: a file of a few kilobytes must not reach [`MAX_PRIMS`].
const MAX_REFERENCED_PRIMS: usize = 125_000;

/// Number of further composed prims for each prim that a layer has.
const PRIMS_PER_LAYER_PRIM: usize = 2;

/// Maximum number of sites in layers, summed over all prims and properties.
const MAX_SITES: usize = 16_000_000;

/// Maximum size of the decoded arrays of binary layers, in bytes; shared arrays count once.
const MAX_ARRAY_BYTES: usize = 1 << 30;

/// Maximum size of all other values of attributes and metadata, in bytes.
const MAX_VALUE_BYTES: usize = 512 << 20;

/// Options of opening an asset.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether payloads are loaded, as by default.
    pub payloads: bool,
    /// Variant selections that override those of the asset.
    pub variants: Vec<VariantChoice>,
    /// Variants that are selected if a prim has them, unless `variants` selects one of the same set.
    pub preferred: Vec<VariantChoice>,
    /// Overlays over the layers of the asset, the strongest first.
    pub overlays: Vec<PathBuf>,
    /// The resolver of `package://` URIs, if they are resolved.
    pub packages: Option<Arc<Resolver>>,
    /// Permits and records the layers and images, except the entry, that are opened. `None` permits
    /// all files.
    pub files: Option<Arc<Files>>,
    /// The content of the entry if it is not a file, such as a layer from standard input. Relative paths
    /// in it are relative to the folder of the entry.
    pub content: Option<Arc<[u8]>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            payloads: true,
            variants: Vec::new(),
            preferred: Vec::new(),
            overlays: Vec::new(),
            packages: None,
            files: None,
            content: None,
        }
    }
}

/// A variant to select.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize, serde::Serialize)]
pub struct VariantChoice {
    /// The path of the prim; `None` for all prims with the set.
    pub prim: Option<String>,
    /// The variant set.
    pub set: String,
    /// The variant.
    pub variant: String,
}

impl std::fmt::Display for VariantChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.prim {
            Some(prim) => write!(f, "{prim}{{{}={}}}", self.set, self.variant),
            None => write!(f, "{}={}", self.set, self.variant),
        }
    }
}

impl std::str::FromStr for VariantChoice {
    type Err = String;

    /// Parses `SET=NAME` or `/PRIM{SET=NAME}`.
    fn from_str(text: &str) -> Result<Self, String> {
        let fault = || format!("\"{text}\" is neither SET=NAME nor /PRIM{{SET=NAME}}");
        let (prim, choice) = match text.split_once('{') {
            Some((prim, rest)) => (
                Some(prim.to_owned()),
                rest.strip_suffix('}').ok_or_else(fault)?,
            ),
            None => (None, text),
        };
        let (set, variant) = choice.split_once('=').ok_or_else(fault)?;
        let is_prim = |prim: &String| {
            sdf::Path::new(prim).is_ok_and(|path| path.is_abs() && path.is_prim_path())
        };
        if !sdf::Path::is_valid_identifier(set)
            || !sdf::Path::is_valid_variant_identifier(variant)
            || prim.as_ref().is_some_and(|p| !is_prim(p))
        {
            return Err(fault());
        }
        Ok(Self {
            prim,
            set: set.to_owned(),
            variant: variant.to_owned(),
        })
    }
}

/// An error of opening an asset.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} cannot be opened as OpenUSD: {reason}", path.display())]
pub struct OpenError {
    /// The file.
    pub path: PathBuf,
    /// The reason.
    pub reason: String,
}

impl Stage {
    /// Opens and reads an asset. Errors outside of the root layer are in [`Stage::errors`].
    ///
    /// # Errors
    /// If the root layer cannot be read, the asset exceeds a limit, or no prim has a variant that the
    /// options select.
    pub fn open(entry: &Path, options: &Options) -> Result<Self, OpenError> {
        open(entry, options, None)
    }

    /// Opens the same asset with other variants. Faster than [`Stage::open`], as the variant sets are
    /// known.
    ///
    /// # Errors
    /// As [`Stage::open`].
    pub fn reopen(&self, options: &Options) -> Result<Self, OpenError> {
        open(&self.entry, options, Some(self))
    }
}

fn open(entry: &Path, options: &Options, known: Option<&Stage>) -> Result<Stage, OpenError> {
    let failed = |reason: String| OpenError {
        path: entry.to_owned(),
        reason,
    };
    on_large_stack(|| opened(entry, options, known))
        .map_err(|error| failed(format!("cannot start a thread to read it: {error}")))?
        .map_err(failed)
}

fn opened(entry: &Path, options: &Options, known: Option<&Stage>) -> Result<Stage, String> {
    let surveys = surveys(options, known);
    let plain = || read(entry, options, &Selections::new(), &surveys);
    let is_open =
        |choice: &&VariantChoice| options.variants.iter().all(|known| known.set != choice.set);
    let wanted: Vec<&VariantChoice> = options
        .preferred
        .iter()
        .filter(is_open)
        .chain(&options.variants)
        .collect();
    if wanted.is_empty() {
        return plain();
    }
    // A selected variant may compose prims with further sets: repeat until nothing changes.
    let mut stage = if known.is_some() {
        None
    } else {
        Some(plain()?)
    };
    let default = stage.as_ref().or(known).map(variant_sets);
    let mut chosen = Selections::new();
    for _ in 0..8 {
        let Some(seen) = stage.as_ref().or(known) else {
            break;
        };
        let before = chosen.clone();
        for choice in &wanted {
            let prims = seen
                .prims
                .iter()
                .filter(|prim| choice.prim.as_ref().is_none_or(|path| *path == prim.path));
            let prims = prims.filter(|prim| prim.instance.is_none());
            for prim in prims.filter(|prim| {
                prim.variant_sets
                    .iter()
                    .any(|set| set.name == choice.set && set.variants.contains(&choice.variant))
            }) {
                chosen
                    .entry(prim.path.clone())
                    .or_default()
                    .insert(choice.set.clone(), choice.variant.clone());
            }
        }
        if chosen == before {
            break;
        }
        let base = stage.as_ref().or(known);
        let changed = base.map(|base| reopen::recomposed(base, options, &chosen, &surveys));
        stage = Some(match changed.transpose()?.flatten() {
            Some(stage) => stage,
            None => read(entry, options, &chosen, &surveys)?,
        });
    }
    let mut stage = stage.map_or_else(plain, Ok)?;
    // Variants may select variants of prims below, so the chosen ones show other selections than the default.
    for prim in &mut stage.prims {
        let known = default.as_ref().and_then(|sets| sets.get(&prim.path));
        for set in known.into_iter().flatten() {
            let same = prim.variant_sets.iter_mut().find(|is| is.name == set.name);
            if let Some(same) = same {
                same.authored.clone_from(&set.authored);
            }
        }
    }
    for choice in &options.variants {
        let is_chosen = |(path, sets): (&String, &BTreeMap<String, String>)| {
            choice.prim.as_ref().is_none_or(|prim| prim == path)
                && sets.get(&choice.set) == Some(&choice.variant)
        };
        if !chosen.iter().any(is_chosen) {
            let all = stage.variants();
            let there: Vec<String> = all
                .iter()
                .map(|(prim, set, variants)| format!("{prim}{{{set}={}}}", variants.join("|")))
                .collect();
            let there = if there.is_empty() {
                "it has no variants".to_owned()
            } else {
                format!("it has {}", there.join(", "))
            };
            return Err(format!("no prim has the variant {choice}; {there}"));
        }
    }
    Ok(stage)
}

/// Returns the variant sets of a stage by path of the prim.
fn variant_sets(stage: &Stage) -> HashMap<String, Vec<VariantSet>> {
    let prims = stage.prims.iter();
    let with_sets = prims.filter(|prim| !prim.variant_sets.is_empty());
    with_sets
        .map(|prim| (prim.path.clone(), prim.variant_sets.clone()))
        .collect()
}

/// The inputs and layers of a composition, from which [`Stage::reopen`] composes other variants.
#[derive(Debug)]
pub(super) struct Basis {
    chosen: Selections,
    payloads: bool,
    overlays: Vec<PathBuf>,
    surveys: Arc<Surveys>,
}

/// Returns the cache of layers for opening an asset, or for opening it again.
fn surveys(options: &Options, known: Option<&Stage>) -> Arc<Surveys> {
    let is_same = |known: &&Stage| match (&known.files, &options.files) {
        (Some(known), Some(files)) => Arc::ptr_eq(known, files),
        (None, None) => true,
        _ => false,
    };
    let known = known
        .filter(is_same)
        .and_then(|known| known.composition.as_ref());
    known
        .map(|known| Arc::clone(&known.surveys))
        .unwrap_or_default()
}

/// Opens the layers of an asset.
///
/// # Errors
/// If the root layer cannot be read.
fn composer(
    entry: &Path,
    options: &Options,
    chosen: &Selections,
    surveys: &Arc<Surveys>,
    known: &[Layer],
) -> Result<Composer, String> {
    let name = entry.to_string_lossy();
    let content = options.content.clone();
    let memory = content.map(|content| (name.clone().into_owned(), content));
    let resolver = Shallow::new(
        options.packages.clone(),
        memory.into_iter().collect(),
        options.files.clone(),
        Arc::clone(surveys),
    );
    let mut layers = Layers::new(resolver);
    let mut paths = Paths::default();
    let identifier = layers.identifier(&name, None);
    let root = layers
        .open(&mut paths, &identifier)
        .map_err(|fault| match fault {
            Fault::Missing => format!("failed to resolve asset path: {name}"),
            Fault::Unreadable(reason) => reason,
        })?;
    // In the same order, so that their ids stay the same.
    for layer in known {
        let _ = layers.open(&mut paths, &layer.identifier);
    }
    let mut overlays = Vec::new();
    for overlay in &options.overlays {
        let name = overlay.to_string_lossy();
        let identifier = layers.identifier(&name, None);
        let message = match layers.open(&mut paths, &identifier) {
            Ok(layer) => {
                overlays.push(layer);
                continue;
            }
            Err(Fault::Missing) => format!("the sublayer @{name}@ does not exist"),
            Err(Fault::Unreadable(reason)) => {
                format!("the sublayer @{name}@ cannot be read: {reason}")
            }
        };
        layers.errors.push(CompositionError {
            message,
            layer: None,
            path: None,
        });
    }
    Ok(Composer::new(
        layers,
        paths,
        root,
        &overlays,
        chosen,
        options.payloads,
    ))
}

fn read(
    entry: &Path,
    options: &Options,
    chosen: &Selections,
    surveys: &Arc<Surveys>,
) -> Result<Stage, String> {
    let mut reader = Reader::new(
        composer(entry, options, chosen, surveys, &[])?,
        options.payloads,
    );
    let root = Rc::new(reader.composer.root_index());
    let prims = reader.below(&root, Vec::new(), None)?;
    Ok(reader.stage(entry, options, chosen, surveys, prims))
}

/// A prim that has not been read.
struct Unread {
    name: Token,
    /// The index of the parent.
    above: Rc<Index>,
    parent: Option<PrimId>,
    depth: usize,
}

/// A site of an instance that counts for its prototype, with the bits of its time offset.
type SharedSite = (NodeKind, StackId, PathId, (u64, u64));

struct Reader {
    composer: Composer,
    loads_payloads: bool,
    /// The attributes of prims of prototypes, by path in the prototype.
    shared: HashMap<String, Arc<Properties<Attribute>>>,
    /// The paths in their prototypes of instances and of the prims below.
    prototypes: HashMap<PrimId, String>,
    /// The number of each prototype, by the sites of its instances.
    instances: HashMap<Vec<SharedSite>, usize>,
    /// The large arrays of the layers that were looked up.
    arrays: HashMap<LayerId, Option<Arc<CodedArrays>>>,
    /// Whether a large array of a binary layer may be read, by its address.
    allowed: HashMap<*const CodedArray, bool>,
    /// The decoded size of all permitted arrays.
    array_bytes: usize,
    /// The estimated size of all other values.
    value_bytes: usize,
    /// Number of sites of all prims.
    sites: usize,
    /// Errors of reading.
    unread: Vec<CompositionError>,
}

impl Reader {
    fn new(composer: Composer, loads_payloads: bool) -> Self {
        Self {
            composer,
            loads_payloads,
            shared: HashMap::new(),
            prototypes: HashMap::new(),
            instances: HashMap::new(),
            arrays: HashMap::new(),
            allowed: HashMap::new(),
            array_bytes: 0,
            value_bytes: 0,
            sites: 0,
            unread: Vec::new(),
        }
    }

    /// Reads the children of the last of `above`, or only the child `only`, and everything below, each prim
    /// before its descendants. `above` has the ancestors of the prims, the root first, and the result
    /// begins with them; `index` is the index of the last one.
    ///
    /// # Errors
    /// The limit that the asset exceeds.
    fn below(
        &mut self,
        index: &Rc<Index>,
        above: Vec<Prim>,
        only: Option<Token>,
    ) -> Result<Vec<Prim>, String> {
        let mut prims = above;
        let mut stack: Vec<Unread> = Vec::new();
        let names = match only {
            Some(only) => vec![only],
            None => self.composer.child_names(index),
        };
        let (parent, depth) = (prims.len().checked_sub(1).map(PrimId), prims.len() + 1);
        let unread = |name: Token, above: &Rc<Index>, parent, depth| Unread {
            name,
            above: Rc::clone(above),
            parent,
            depth,
        };
        stack.extend(
            names
                .into_iter()
                .rev()
                .map(|name| unread(name, index, parent, depth)),
        );
        let mut limit = MAX_REFERENCED_PRIMS;
        while let Some(Unread {
            name,
            above,
            parent,
            depth,
        }) = stack.pop()
        {
            if prims.len() >= limit {
                // More layers may be open by now. Not for each prim: there may be thousands of layers.
                let layers = self.composer.layers.all().iter();
                let layer_prims: usize = layers.map(|opened| opened.layer.prims.len()).sum();
                limit = (MAX_REFERENCED_PRIMS + PRIMS_PER_LAYER_PRIM * layer_prims).min(MAX_PRIMS);
                if prims.len() >= limit {
                    return Err(format!("it has more than {limit} prims"));
                }
            }
            let index = Rc::new(self.composer.child(&above, name.as_str()));
            drop(above);
            if let Some(limit) = self.composer.exceeded() {
                return Err(limit);
            }
            let id = PrimId(prims.len());
            let above = parent.and_then(|PrimId(parent)| prims.get(parent));
            let path = above.map_or("", |above| above.path.as_str());
            let path = format!("{path}/{name}");
            let read = self.prim(&index, &path, parent.zip(above), id)?;
            let mut names = match read.is_active {
                true => self.composer.child_names(&index),
                false => Vec::new(),
            };
            if depth >= DEEPEST && !names.is_empty() {
                names.clear();
                self.unread.push(CompositionError {
                    message: format!(
                        "prims nested more than {DEEPEST} deep are not read: those below this one"
                    ),
                    layer: None,
                    path: Some(path),
                });
            }
            if let Some(parent) = parent.and_then(|PrimId(parent)| prims.get_mut(parent)) {
                parent.children.push(id);
            }
            prims.push(read);
            stack.extend(
                names
                    .into_iter()
                    .rev()
                    .map(|name| unread(name, &index, Some(id), depth + 1)),
            );
        }
        Ok(prims)
    }

    /// Returns the errors of composing and reading.
    fn errors(&mut self) -> Vec<CompositionError> {
        let mut errors = self.composer.take_errors();
        errors.append(&mut self.unread);
        errors.sort();
        errors.dedup();
        errors
    }

    /// Returns the stage with these prims.
    fn stage(
        mut self,
        entry: &Path,
        options: &Options,
        chosen: &Selections,
        surveys: &Arc<Surveys>,
        prims: Vec<Prim>,
    ) -> Stage {
        let by_path: HashMap<String, PrimId> = (0..)
            .zip(&prims)
            .map(|(index, prim)| (prim.path.clone(), PrimId(index)))
            .collect();
        let errors = self.errors();
        let root = self.composer.layers.stack(self.composer.root).root;
        let default = self.composer.layers.opened(root).default_prim();
        let has_variants = |prim: &Prim| prim.instance.is_none() && !prim.variant_sets.is_empty();
        let composition = prims.iter().any(has_variants).then(|| {
            Arc::new(Basis {
                chosen: chosen.clone(),
                payloads: options.payloads,
                overlays: options.overlays.clone(),
                surveys: Arc::clone(surveys),
            })
        });
        Stage {
            entry: entry.to_owned(),
            layers: self.composer.layers.into_layers(),
            default_prim: default.and_then(|path| by_path.get(path.as_str()).copied()),
            prims,
            errors,
            by_path,
            files: options.files.clone(),
            composition,
        }
    }

    /// Adds the size of a prim to the totals.
    ///
    /// # Errors
    /// The limit that the prims so far exceed.
    fn is_bounded(&mut self, prim: &Prim) -> Result<(), String> {
        self.sites += prim.sites.len();
        if prim.instance.is_none() {
            let attributes = prim.attributes.values().map(|of| &of.sites);
            let relationships = prim.relationships.values().map(|of| &of.sites);
            self.sites += attributes.chain(relationships).map(Vec::len).sum::<usize>();
        }
        if self.sites > MAX_SITES {
            return Err(format!(
                "its prims and properties have more than {MAX_SITES} opinions of layers"
            ));
        }
        let metadata =
            |metadata: &BTreeMap<String, Value>| metadata.values().map(weight).sum::<usize>();
        let targets = |targets: &[String]| {
            targets
                .iter()
                .map(|target| 24 + target.len())
                .sum::<usize>()
        };
        self.value_bytes += metadata(&prim.metadata)
            + prim
                .relationships
                .values()
                .map(|of| metadata(&of.metadata) + targets(&of.targets))
                .sum::<usize>()
            + prim
                .schemas
                .iter()
                .map(|schema| 24 + schema.len())
                .sum::<usize>();
        if prim.instance.is_none() {
            self.value_bytes += prim
                .attributes
                .values()
                .map(|of| targets(&of.connections))
                .sum::<usize>();
        }
        if self.value_bytes > MAX_VALUE_BYTES {
            return Err(format!(
                "its values, arrays of binary layers aside, take more than {} MiB",
                MAX_VALUE_BYTES >> 20
            ));
        }
        Ok(())
    }
}
