//! Opens a stage with `openusd` and reads it completely.

mod errors;
mod plain;
mod prims;
mod reopen;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use openusd::pcp::LoadRules;
use openusd::sdf;
use openusd::tf::Token;
use openusd::usd::{self, InitialLoadSet, SpecSite};
use urdf_usd_resolve::{Files, Resolver};

use self::errors::{describe, shorten};
use self::plain::Basics;
use super::classes::{self, ArcChildren, Composed, LeftOut, Queue};
use super::prim::{ArcKind, Attribute, Prim, PrimId, Site, Specifier, VariantSet};
use super::shallow::{self, MAX_ARCS, SESSION, Surveys, Watch, on_large_stack};
use super::shared::{CodedArray, SharedValue, weight};
use super::{CompositionError, DEEPEST, Layer, LayerId, Shallow, Stage, Value};

/// Maximum number of composed prims, whatever the size of the layers.
const MAX_PRIMS: usize = 1_250_000;

/// Maximum number of composed prims of small layers, and of prims with arcs. Nested references multiply
/// prims, and each takes some KiB of memory, one with arcs up to 24: a file of a few kilobytes must not
/// reach [`MAX_PRIMS`].
const MAX_REFERENCED_PRIMS: usize = 125_000;

/// Number of further composed prims for each prim that a layer has.
const PRIMS_PER_LAYER_PRIM: usize = 2;

/// Maximum number of sites in layers, summed over all prims and properties.
const MAX_SITES: usize = 16_000_000;

/// Maximum size of the decoded arrays of binary layers, in bytes; shared arrays count once.
const MAX_ARRAY_BYTES: usize = 1 << 30;

/// Maximum size of all other values of attributes and metadata, in bytes.
const MAX_VALUE_BYTES: usize = 512 << 20;

/// Maximum number of times that an asset is opened again, without the arcs to classes that a prim has
/// already by an ancestor. Each time finds those below the ones before.
const MAX_ROUNDS: usize = 16;

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

/// Selected variants, by path of the prim and by set.
type Selections = BTreeMap<String, BTreeMap<String, String>>;

/// Returns the text of a session layer with these sublayers and variant selections.
fn session(overlays: &[PathBuf], chosen: &Selections) -> Option<String> {
    if overlays.is_empty() && chosen.is_empty() {
        return None;
    }
    let mut text = "#usda 1.0\n".to_owned();
    if !overlays.is_empty() {
        // Three `@` allow paths that contain an `@`.
        let overlays: Vec<String> = overlays
            .iter()
            .map(|path| format!("@@@{}@@@", path.display()))
            .collect();
        let _ = writeln!(text, "(\nsubLayers = [{}]\n)", overlays.join(", "));
    }
    // A layer names each prim once. The paths are sorted, so that a prim comes before those below
    // it, and all below it before its next sibling.
    let mut open: Vec<&str> = Vec::new();
    for (path, sets) in chosen {
        let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
        let common = open.iter().zip(&names).take_while(|(a, b)| a == b).count();
        text.push_str(&"}\n".repeat(open.len() - common));
        open.truncate(common);
        for (index, name) in names.iter().enumerate().skip(common) {
            let _ = write!(text, "over \"{name}\"");
            if index + 1 == names.len() {
                let selections: String = sets
                    .iter()
                    .map(|(set, variant)| format!("string {set} = \"{variant}\"\n"))
                    .collect();
                let _ = write!(text, " (\nvariants = {{\n{selections}}}\n)");
            }
            text.push_str("\n{\n");
            open.push(name);
        }
    }
    text.push_str(&"}\n".repeat(open.len()));
    Some(text)
}

/// Returns the prims that the session layer has opinions about.
fn in_session(chosen: &Selections) -> HashSet<String> {
    let prims = chosen.keys().flat_map(|path| {
        let above = classes::above(path).map(|(above, _)| above);
        above.chain([path.as_str()])
    });
    prims.map(str::to_owned).collect()
}

/// Opens an asset in `openusd`.
fn composed(
    entry: &Path,
    options: &Options,
    chosen: &Selections,
    watch: &Arc<Watch>,
    left_out: Arc<[LeftOut]>,
    surveys: &Arc<Surveys>,
) -> Result<usd::Stage, String> {
    let load = match options.payloads {
        true => InitialLoadSet::LoadAll,
        false => InitialLoadSet::LoadNone,
    };
    let session = session(&options.overlays, chosen);
    let mut memory = Vec::from_iter(
        session
            .as_ref()
            .map(|text| (SESSION.to_owned(), text.as_bytes().into())),
    );
    memory.extend(
        options
            .content
            .clone()
            .map(|content| (entry.to_string_lossy().into_owned(), content)),
    );
    let resolver = Shallow::new(
        options.packages.clone(),
        memory,
        options.files.clone(),
        Arc::clone(watch),
        left_out,
        Arc::clone(surveys),
    );
    let mut builder = usd::Stage::builder().resolver(resolver).load(load);
    if session.is_some() {
        builder = builder.session_layer(SESSION);
    }
    builder
        .open(&entry.to_string_lossy())
        .map_err(|error| shorten(&error.to_string()))
}

/// An arc that has to be left out, and the finding about it if its absence changes the result.
type Excluded = (LeftOut, Option<CompositionError>);

/// The outcome of composing an asset.
enum Composition {
    Done(Box<Stage>),
    /// These arcs have to be left out.
    Excluded(Vec<Excluded>),
}

fn read(
    entry: &Path,
    options: &Options,
    chosen: &Selections,
    surveys: &Arc<Surveys>,
) -> Result<Stage, String> {
    let (mut left_out, mut findings): (Vec<LeftOut>, Vec<_>) = (Vec::new(), Vec::new());
    for _ in 0..MAX_ROUNDS {
        match read_without(entry, options, chosen, left_out.clone().into(), surveys)? {
            Composition::Done(mut stage) => {
                stage.errors.append(&mut findings);
                stage.errors.sort();
                stage.errors.dedup();
                return Ok(*stage);
            }
            Composition::Excluded(found) => {
                for (arc, finding) in found {
                    if !left_out.contains(&arc) {
                        left_out.push(arc);
                    }
                    findings.extend(finding);
                }
            }
        }
    }
    let prim = left_out.last().map_or("", |arc| arc.prim.as_str());
    Err(format!(
        "prims inherit or specialize themselves, or inherit classes that they already inherit by ancestors, at more than {MAX_ROUNDS} levels, the last one at {prim}: remove these arcs"
    ))
}

fn read_without(
    entry: &Path,
    options: &Options,
    chosen: &Selections,
    left_out: Arc<[LeftOut]>,
    surveys: &Arc<Surveys>,
) -> Result<Composition, String> {
    let watch = Arc::<Watch>::default();
    let source = composed(entry, options, chosen, &watch, left_out.clone(), surveys)?;
    let mut reader = Reader::new(&source, &watch, in_session(chosen));
    let mut prims = reader.prims()?;
    if !reader.excluded.is_empty() {
        return Ok(Composition::Excluded(reader.excluded));
    }
    let by_path = (0..)
        .zip(&prims)
        .map(|(index, prim)| (prim.path.clone(), PrimId(index)))
        .collect();
    for identifier in source.layer_identifiers() {
        reader.layer(&identifier);
    }
    let mut errors: Vec<CompositionError> = source
        .composition_errors()
        .into_iter()
        .map(describe)
        .collect();
    errors.append(&mut reader.unread);
    // This unloads the payloads, so it comes after everything that needs them.
    if options.payloads {
        reader.mark_payloads(&mut prims)?;
    }
    let has_variants = |prim: &Prim| prim.instance.is_none() && !prim.variant_sets.is_empty();
    let composition = prims.iter().any(has_variants).then(|| {
        Arc::new(Basis {
            chosen: chosen.clone(),
            payloads: options.payloads,
            overlays: options.overlays.clone(),
            surveys: Arc::clone(surveys),
        })
    });
    Ok(Composition::Done(Box::new(Stage {
        entry: entry.to_owned(),
        layers: reader.layers,
        prims,
        default_prim: default_prim(&source, &by_path),
        errors,
        by_path,
        left_out,
        files: options.files.clone(),
        composition,
    })))
}

/// Returns the default prim, if it exists.
fn default_prim(source: &usd::Stage, by_path: &HashMap<String, PrimId>) -> Option<PrimId> {
    let name = source.default_prim()?;
    let path = if name.as_str().starts_with('/') {
        name.to_string()
    } else {
        format!("/{name}")
    };
    by_path.get(&path).copied()
}

/// Returns the names of the root prims.
///
/// `openusd` 0.8 composes the pseudo-root only for these names, but then follows the inherits of root
/// prims again for every path to them. This function avoids that by merging the names like `openusd`,
/// from the weakest layer to the strongest.
fn root_prims(source: &usd::Stage) -> Result<Vec<Token>, String> {
    let root = sdf::Path::abs_root();
    let mut names: Vec<Token> = Vec::new();
    let mut seen: HashSet<Token> = HashSet::new();
    for identifier in source.layer_stack().iter().rev() {
        let Some(layer) = source.layer(identifier) else {
            continue;
        };
        if layer.has_relocates() {
            drop(layer);
            return source.root_prims().map_err(|error| error.to_string());
        }
        let tokens = |key: &str| match layer
            .data()
            .try_field(&root, key)
            .ok()
            .flatten()
            .map(std::borrow::Cow::into_owned)
        {
            Some(Value::TokenVec(tokens)) => tokens,
            _ => Vec::new(),
        };
        names.extend(
            tokens("primChildren")
                .into_iter()
                .filter(|name| seen.insert(name.clone())),
        );
        let order = tokens("primOrder");
        if !order.is_empty() {
            sdf::apply_ordering(&mut names, &order);
        }
    }
    Ok(names)
}

/// The state of a prim without payloads.
enum Reach {
    /// No payload affects the prim.
    None,
    /// The prim may differ; with its sites if those of its children follow from them.
    Some(Option<Vec<Site>>),
    /// Neither the prim nor any descendant exists.
    Gone,
}

/// Returns true if a prim, or one below it, may differ without payloads: it has a payload, or an arc to
/// a nested prim, which includes the payloads of the ancestors of that prim.
fn may_have_payload(prim: &Prim) -> bool {
    let is_nested = |path: &str| path.trim_start_matches('/').contains('/');
    prim.arcs
        .iter()
        .any(|arc| arc.kind == ArcKind::Payload || is_nested(&arc.prim))
}

/// Returns a layer that was read.
#[allow(
    clippy::indexing_slicing,
    reason = "only `Reader::layer` makes these ids, of layers that it has read"
)]
fn layer_at(layers: &[Layer], id: LayerId) -> &Layer {
    &layers[id.0]
}

struct Reader<'a> {
    source: &'a usd::Stage,
    watch: &'a Watch,
    layers: Vec<Layer>,
    by_identifier: HashMap<String, Option<LayerId>>,
    /// Number of layers of the composition at the last check.
    seen: usize,
    /// The attributes of prims of prototypes, by path in the prototype.
    shared: HashMap<String, Arc<BTreeMap<String, Attribute>>>,
    /// Whether a large array of a binary layer may be read, by its address.
    arrays: HashMap<*const CodedArray, bool>,
    /// The decoded size of all permitted arrays.
    array_bytes: usize,
    /// The estimated size of all other values.
    value_bytes: usize,
    /// Number of sites of all prims.
    sites: usize,
    /// Number of prims of all layers.
    layer_prims: usize,
    /// Number of prims that `openusd` composed.
    prims_with_arcs: usize,
    /// Errors for arrays beyond the limit.
    unread: Vec<CompositionError>,
    /// The children with arcs within the layer stack, by layer.
    arc_children: Vec<ArcChildren>,
    /// The arcs to classes of the prims so far.
    classes: Composed,
    /// The arcs that have to be left out.
    excluded: Vec<Excluded>,
    /// True if the opinions about a prim without arcs follow from those about its parent: no layer moves
    /// prims or hides opinions.
    is_hierarchical: bool,
    /// The prims that the session layer has opinions about.
    in_session: HashSet<String>,
    /// True once the payloads have been unloaded.
    is_unloaded: bool,
    /// The paths in their prototypes of the prims below instances.
    prototypes: HashMap<PrimId, String>,
}

type Read<T> = Result<T, openusd::Error>;

/// A prim that has not been read.
struct Unread {
    path: String,
    /// The sites of opinions about it if it is plain; `openusd` composes others.
    sites: Option<Vec<Site>>,
    parent: Option<PrimId>,
    depth: usize,
}

/// A child of a prim.
struct Child {
    path: String,
    /// The sites of opinions about it if it is plain.
    sites: Option<Vec<Site>>,
}

/// Sorts prims into the order of the stage. `order` has the paths of the children of each parent whose
/// children were not read in order; of `None` those of the root prims.
fn in_order(mut prims: Vec<Prim>, order: &HashMap<Option<PrimId>, Vec<String>>) -> Vec<Prim> {
    let by_path: HashMap<&str, PrimId> = (0..)
        .zip(&prims)
        .map(|(index, prim)| (prim.path.as_str(), PrimId(index)))
        .collect();
    let sorted = |paths: &Vec<String>| -> Vec<PrimId> {
        let ids = paths.iter().map(|path| by_path.get(path.as_str()).copied());
        ids.flatten().collect()
    };
    let sorted: HashMap<Option<PrimId>, Vec<PrimId>> = order
        .iter()
        .map(|(parent, paths)| (*parent, sorted(paths)))
        .collect();
    let roots: Vec<PrimId> = match sorted.get(&None) {
        Some(roots) => roots.clone(),
        None => (0..)
            .zip(&prims)
            .filter(|(_, prim)| prim.parent.is_none())
            .map(|(index, _)| PrimId(index))
            .collect(),
    };
    for (parent, children) in sorted {
        if let Some(prim) = parent.and_then(|PrimId(parent)| prims.get_mut(parent)) {
            prim.children = children;
        }
    }
    // The new place of each prim.
    let mut places: Vec<PrimId> = (0..prims.len()).map(PrimId).collect();
    let mut stack: Vec<PrimId> = roots.into_iter().rev().collect();
    let mut count = 0;
    while let Some(PrimId(index)) = stack.pop() {
        let (Some(place), Some(prim)) = (places.get_mut(index), prims.get(index)) else {
            continue;
        };
        *place = PrimId(count);
        count += 1;
        stack.extend(prim.children.iter().rev());
    }
    let moved = |id: &mut PrimId| {
        if let Some(place) = places.get(id.0) {
            *id = *place;
        }
    };
    for prim in &mut prims {
        prim.parent.iter_mut().for_each(moved);
        prim.instance.iter_mut().for_each(moved);
        prim.children.iter_mut().for_each(moved);
    }
    let mut sorted: Vec<(PrimId, Prim)> = places.iter().copied().zip(prims).collect();
    sorted.sort_by_key(|(place, _)| place.0);
    sorted.into_iter().map(|(_, prim)| prim).collect()
}

impl<'a> Reader<'a> {
    fn new(source: &'a usd::Stage, watch: &'a Watch, in_session: HashSet<String>) -> Self {
        Self {
            source,
            watch,
            layers: Vec::new(),
            by_identifier: HashMap::new(),
            seen: 0,
            shared: HashMap::new(),
            arrays: HashMap::new(),
            array_bytes: 0,
            value_bytes: 0,
            sites: 0,
            layer_prims: 0,
            prims_with_arcs: 0,
            unread: Vec::new(),
            arc_children: Vec::new(),
            classes: Composed::default(),
            excluded: Vec::new(),
            is_hierarchical: true,
            in_session,
            is_unloaded: false,
            prototypes: HashMap::new(),
        }
    }

    /// Reads all prims, each before its descendants. Does not compose prims with arcs that have to be
    /// left out, nor a layer stack with such arcs.
    fn prims(&mut self) -> Result<Vec<Prim>, String> {
        let prims: Vec<Prim> = Vec::new();
        // Layers of the root layer stack come first, in order.
        for identifier in self.source.layer_stack() {
            self.layer(&identifier);
        }
        if self.new_layers()? {
            return Ok(prims);
        }
        let names = root_prims(self.source)?;
        let root_stack = self.source.layer_stack();
        let root_sites = root_stack.iter().filter_map(|identifier| {
            Some(Site {
                layer: self.layer(identifier)?,
                path: String::new(),
            })
        });
        let root_sites: Vec<Site> = root_sites.collect();
        let roots = self.children(None, &root_sites, Some(names));
        self.below(prims, roots)
    }

    /// Reads prims and everything below them. `above` is empty, or has the ancestors of the prims, the
    /// root first; the result begins with them.
    fn below(&mut self, above: Vec<Prim>, first: Vec<Child>) -> Result<Vec<Prim>, String> {
        let mut prims = above;
        let mut stack: Vec<Unread> = Vec::new();
        let mut queue: Queue<Unread> = Queue::default();
        let mut order: HashMap<Option<PrimId>, Vec<String>> = HashMap::new();
        let mut children = (
            first,
            prims.len().checked_sub(1).map(PrimId),
            prims.len() + 1,
        );
        // Prims with arcs that have to be left out, which would not end.
        let mut skipped: HashSet<String> = HashSet::new();
        loop {
            let (found, parent, depth): (Vec<Child>, Option<PrimId>, usize) = children;
            let above = parent.and_then(|PrimId(parent)| prims.get(parent));
            let mut known = self
                .classes
                .children(above, &self.layers, &self.arc_children);
            if !known.targets.is_empty()
                && found
                    .iter()
                    .any(|child| known.targets.contains_key(&child.path))
            {
                let paths = found.iter().map(|child| child.path.clone());
                order.insert(parent, paths.collect());
            }
            for Child { path, sites } in found.into_iter().rev() {
                let child = Unread {
                    path,
                    sites,
                    parent,
                    depth,
                };
                if let Some(repeats) = known.repeats.remove(&child.path) {
                    self.excluded.extend(repeats);
                    skipped.insert(child.path);
                } else if let Some(targets) = known.targets.remove(&child.path) {
                    queue.push(child.path.clone(), child, targets);
                } else {
                    stack.push(child);
                }
            }
            let next = stack.pop().or_else(|| {
                while let Some(waiting) = queue.pop() {
                    if !waiting.is_composed_of(&skipped) {
                        return Some(waiting.prim);
                    }
                    skipped.insert(waiting.prim.path.clone());
                }
                None
            });
            let Some(Unread {
                path,
                sites,
                parent,
                depth,
            }) = next
            else {
                break;
            };
            let limit =
                (MAX_REFERENCED_PRIMS + PRIMS_PER_LAYER_PRIM * self.layer_prims).min(MAX_PRIMS);
            if prims.len() >= limit {
                return Err(format!("it has more than {limit} prims"));
            }
            if self.new_layers()? {
                return Ok(prims);
            }
            let id = PrimId(prims.len());
            let above = parent.and_then(|PrimId(parent)| prims.get(parent));
            let plain = match sites.filter(|_| self.is_hierarchical) {
                Some(sites) => self
                    .plain_prim(&path, parent.zip(above), id, sites)
                    .map_err(|error| error.to_string())?,
                None => None,
            };
            let (read, mut found) = match plain {
                Some(read) => {
                    let found = self.children(Some(&read), &read.sites, None);
                    (read, found)
                }
                None => {
                    self.prims_with_arcs += 1;
                    if self.prims_with_arcs > MAX_REFERENCED_PRIMS {
                        return Err(format!(
                            "it has more than {MAX_REFERENCED_PRIMS} prims with references, payloads, classes or variants"
                        ));
                    }
                    let prim = self
                        .source
                        .prim(path.as_str())
                        .map_err(|error| error.to_string())?;
                    let stack = self.stack(&prim)?;
                    let read = self
                        .prim(&prim, stack, parent.zip(above), id)
                        .map_err(|error| error.to_string())?;
                    let is_listed = self.is_hierarchical
                        && !read.is_instance
                        && !self.in_session.contains(&path);
                    let names = match is_listed {
                        true => None,
                        false => Some(prim.child_names().map_err(|error| error.to_string())?),
                    };
                    let found = self.children(Some(&read), &read.sites, names);
                    (read, found)
                }
            };
            if depth >= DEEPEST && !found.is_empty() {
                found.clear();
                self.unread.push(CompositionError {
                    message: format!(
                        "prims nested more than {DEEPEST} deep are not read: those below this one"
                    ),
                    layer: None,
                    path: Some(path),
                });
            }
            self.is_bounded(&read)?;
            if let Some(parent) = parent.and_then(|PrimId(parent)| prims.get_mut(parent)) {
                parent.children.push(id);
            }
            prims.push(read);
            children = (found, Some(id), depth + 1);
        }
        Ok(if order.is_empty() {
            prims
        } else {
            in_order(prims, &order)
        })
    }

    /// Composes a prim with `openusd` and returns its sites.
    ///
    /// # Errors
    /// If its arcs resolve too many layers.
    fn stack(&self, prim: &usd::Prim) -> Result<Vec<SpecSite>, String> {
        let Some(stack) = self.watch.count_arcs(|| prim.prim_stack()) else {
            let path = prim.path().as_str();
            return Err(format!(
                "the arcs of {path} resolve more than {MAX_ARCS} layers: let layers refer to the same layer once"
            ));
        };
        stack.map_err(|error| error.to_string())
    }

    /// Returns the children of a prim with these sites, or the root prims, in order. `names` are their
    /// names if `openusd` has composed the prim.
    ///
    /// The prim index of a child is that of its parent, each node moved to the child, with the arcs that
    /// the child has itself (`PcpComputePrimIndex` of OpenUSD, "ancestral opinions"). Without any, its
    /// opinions are those of the parent's sites about it, in the same order. Instances are the
    /// exception: their own opinions about what is below them do not count.
    fn children(
        &self,
        prim: Option<&Prim>,
        sites: &[Site],
        names: Option<Vec<Token>>,
    ) -> Vec<Child> {
        let above = prim.map_or("", |prim| prim.path.as_str());
        let path = |name: &Token| format!("{above}/{name}");
        let is_plain = self.is_hierarchical && prim.is_none_or(|prim| !prim.is_instance);
        if !is_plain || prim.is_some_and(|prim| !prim.is_active) {
            let names = names.unwrap_or_default();
            let child = |name: &Token| Child {
                path: path(name),
                sites: None,
            };
            return names.iter().map(child).collect();
        }
        let mut listed = self.listed(sites);
        let names = names.unwrap_or_else(|| std::mem::take(&mut listed.names));
        let child = |name: &Token| {
            let path = path(name);
            let sites = listed.sites.remove(name);
            Child {
                sites: sites.filter(|_| !self.in_session.contains(&path)),
                path,
            }
        };
        names.iter().map(child).collect()
    }

    /// Marks the prims, and their types and schemas, that only payloads provide, by comparing with the
    /// stage without payloads.
    fn mark_payloads(&mut self, prims: &mut [Prim]) -> Result<(), String> {
        if !prims.iter().any(may_have_payload) {
            return Ok(());
        }
        let mut reached: Vec<Reach> = Vec::with_capacity(prims.len());
        for index in 0..prims.len() {
            let Some(prim) = prims.get(index) else { break };
            let above = prim.parent.and_then(|PrimId(above)| {
                let parent = prims.get(above)?;
                Some((parent, reached.get(above)?))
            });
            let sites = match above {
                None | Some((_, Reach::None)) if !may_have_payload(prim) => {
                    reached.push(Reach::None);
                    continue;
                }
                Some((_, Reach::Gone)) => Some(&[] as &[Site]),
                Some((_, Reach::Some(sites))) => sites.as_deref(),
                Some((parent, Reach::None)) => {
                    let is_usual = self.is_hierarchical && !parent.is_instance;
                    is_usual.then_some(parent.sites.as_slice())
                }
                None => None,
            };
            let plain = sites.and_then(|sites| self.plain_child(sites, prim.name()));
            let (reach, basics) = match plain {
                Some((sites, _)) if sites.is_empty() => (Reach::Gone, None),
                Some((sites, basics)) => (Reach::Some(Some(sites)), Some(basics)),
                None => self.without_payloads(&prim.path)?,
            };
            reached.push(reach);
            let names: Option<Vec<String>> = basics
                .filter(|basics| basics.specifier != Specifier::Over)
                .map(|basics| {
                    [basics.type_name]
                        .into_iter()
                        .chain(basics.schemas)
                        .collect()
                });
            let Some(prim) = prims.get_mut(index) else {
                break;
            };
            prim.in_payload = prim.specifier == Specifier::Def && names.is_none();
            let is_new = |name: &&String| {
                !name.is_empty() && names.as_ref().is_none_or(|names| !names.contains(*name))
            };
            prim.payload_schemas = Some(&prim.type_name)
                .into_iter()
                .chain(&prim.schemas)
                .filter(is_new)
                .cloned()
                .collect();
        }
        Ok(())
    }

    /// Composes a prim without payloads.
    fn without_payloads(&mut self, path: &str) -> Result<(Reach, Option<Basics>), String> {
        let fault = |error: openusd::Error| error.to_string();
        // `openusd` 0.8 drops its indices in quadratic time, so this waits until a prim needs it.
        if !std::mem::replace(&mut self.is_unloaded, true) {
            self.source.set_load_rules(LoadRules::none());
        }
        let prim = self.source.prim(path).map_err(|error| error.to_string())?;
        if prim.specifier().map_err(fault)?.is_none() {
            return Ok((Reach::Gone, None));
        }
        let sites = match prim.is_instance().map_err(fault)? || !self.is_hierarchical {
            true => None,
            false => Some(prim.prim_stack().map_err(fault)?),
        };
        let basics = prims::resolved_basics(&prim).map_err(fault)?;
        let sites = sites.map(|stack| self.sites(stack));
        Ok((Reach::Some(sites), Some(basics)))
    }

    /// Returns a layer of the composition, which is read at the first call; `None` for the session layer.
    fn layer(&mut self, identifier: &str) -> Option<LayerId> {
        if let Some(known) = self.by_identifier.get(identifier) {
            return *known;
        }
        let id = LayerId(self.layers.len());
        let read = self
            .source
            .layer(identifier)
            .filter(|_| identifier != SESSION)
            .map(|layer| {
                let is_local = self
                    .source
                    .layer_stack()
                    .iter()
                    .any(|local| local == identifier);
                let location = layer.resolved_path().unwrap_or(identifier);
                let is_binary = is_binary(&shallow::file_path(location));
                Layer::read(id, &layer, is_local, is_binary)
            });
        match read {
            Some(layer) => self.adopt(layer),
            None => {
                self.by_identifier.insert(identifier.to_owned(), None);
                return None;
            }
        }
        Some(id)
    }

    /// Adds a layer.
    fn adopt(&mut self, layer: Layer) {
        let id = LayerId(self.layers.len());
        self.is_hierarchical &= !layer.has_relocates_or_permissions();
        self.arc_children.push(ArcChildren::new(&layer));
        self.layer_prims += layer.prims.len();
        self.by_identifier
            .insert(layer.identifier.clone(), Some(id));
        self.layers.push(layer);
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

    /// Returns the large array at `path` of a binary layer as a shared handle; `None` for any other
    /// value.
    ///
    /// If it exceeds the limit for all arrays together, returns an empty value and records an
    /// error.
    fn large_array(&mut self, layer: &str, path: &sdf::Path) -> Option<SharedValue> {
        let array = Arc::clone(self.watch.arrays(layer)?.get(path)?);
        let is_allowed = *self.arrays.entry(Arc::as_ptr(&array)).or_insert_with(|| {
            let sum = self.array_bytes.saturating_add(array.bytes());
            let is_allowed = sum <= MAX_ARRAY_BYTES;
            if is_allowed {
                self.array_bytes = sum;
            }
            is_allowed
        });
        if is_allowed {
            return Some(SharedValue::coded(array));
        }
        self.unread.push(CompositionError {
            message: format!(
                "this array of {} elements is not read: all arrays together would take more than {} MiB",
                array.len(),
                MAX_ARRAY_BYTES >> 20
            ),
            layer: Some(layer.to_owned()),
            path: Some(path.as_str().to_owned()),
        });
        Some(SharedValue::from(Value::None))
    }

    /// Reads the layers that the last prim added. Returns whether they have arcs that have to be left
    /// out.
    ///
    /// # Errors
    /// If they cannot be composed safely.
    fn new_layers(&mut self) -> Result<bool, String> {
        let before = self.seen;
        self.seen = self.source.layer_count();
        let mut has_excluded = false;
        if self.seen == before {
            return Ok(has_excluded);
        }
        // Composition has not descended below the prims of these layers yet.
        for identifier in self.source.layer_identifiers().into_iter().skip(before) {
            let stack: Vec<LayerId> = self
                .source
                .sub_layers(&identifier)
                .iter()
                .filter_map(|identifier| self.layer(identifier))
                .collect();
            let arcs = || {
                let layers = stack.iter().map(|id| layer_at(&self.layers, *id));
                let prims = layers.flat_map(|layer| &layer.prims);
                prims.flat_map(|prim| &prim.arcs)
            };
            for arc in classes::circular(arcs())? {
                let layer = layer_at(&self.layers, arc.site.layer);
                let finding = classes::circle(layer, arc);
                self.excluded
                    .push((LeftOut::new(layer, arc), Some(finding)));
                has_excluded = true;
            }
            // Repeats are searched for when the asset is composed again without these arcs.
            if has_excluded {
                continue;
            }
            for repeat in classes::repeated(arcs())? {
                let arc = repeat.arc;
                let layer = layer_at(&self.layers, arc.site.layer);
                let finding = (!repeat.is_exact)
                    .then(|| classes::finding(layer, arc, &arc.site.path, &repeat.above));
                self.excluded.push((LeftOut::new(layer, arc), finding));
                has_excluded = true;
            }
        }
        Ok(has_excluded)
    }
}

/// Whether a file is a binary layer, by its magic bytes, or by its name in a package.
fn is_binary(path: &str) -> bool {
    if path.ends_with(']') {
        return path.ends_with(".usdc]");
    }
    shallow::is_binary(path)
}
