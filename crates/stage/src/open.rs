//! Opening: everything that is asked of `openusd` is asked here.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use openusd::pcp::LoadRules;
use openusd::sdf::{self, SpecType};
use openusd::tf::Token;
use openusd::usd::TimeCode;
use openusd::usd::{self, InitialLoadSet, SpecSite};
use urdf_usd_resolve::{Files, Resolver};

use super::layer::{fields, is_list_of_specs};
use super::prim::{ArcKind, Attribute, Prim, PrimId, Relationship, Site, Specifier, VariantSet};
use super::shallow::{self, MAX_ARCS, SESSION, Watch, on_large_stack};
use super::shared::{CodedArray, SharedValue, weight};
use super::{CompositionError, DEEPEST, Layer, LayerId, Shallow, Stage, Value};

/// Maximum number of composed prims; each takes up to ten KiB.
const MAX_PRIMS: usize = 125_000;

/// Maximum number of places in layers that all prims are composed of, counted for each prim.
const MAX_SITES: usize = 4_000_000;

/// Maximum size of the decoded arrays of binary layers, in bytes; what several attributes share
/// counts once.
const MAX_ARRAY_BYTES: usize = 1 << 30;

/// Maximum size of all other values of attributes and metadata, in bytes.
const MAX_VALUE_BYTES: usize = 512 << 20;

/// How many prims, and paths of how many bytes, are followed from one that inherits.
const LONGEST_CHAIN: usize = 1000;

/// How to open an asset.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether payloads are loaded; yes by default.
    pub payloads: bool,
    /// Variants that are selected instead of those that the asset selects.
    pub variants: Vec<VariantChoice>,
    /// Variants that are selected where a prim has them, unless `variants` has something to say of
    /// their set.
    pub preferred: Vec<VariantChoice>,
    /// Layers that are stronger than the asset's own, the strongest first: overlays that its entry
    /// does not include.
    pub overlays: Vec<PathBuf>,
    /// Where `package://` looks, if anywhere.
    pub packages: Option<Arc<Resolver>>,
    /// What may be opened: every layer and image but the entry is asked for here, and remembered.
    /// `None`: any file may be.
    pub files: Option<Arc<Files>>,
    /// What is in the entry, where that is no file: a layer from standard input. What it refers to
    /// starts from the entry's folder.
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
    /// The prim; all prims that have the set if none is given.
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

    /// `SET=NAME`, or `/PRIM{SET=NAME}`.
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

/// Why an asset could not be opened at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} cannot be opened as OpenUSD: {reason}", path.display())]
pub struct OpenError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong.
    pub reason: String,
}

impl Stage {
    /// Opens and reads an asset. What is missing or broken in it, but for the root layer, is in
    /// [`Stage::errors`].
    ///
    /// # Errors
    /// If the root layer can't be read, or a variant is asked for that no prim has.
    pub fn open(entry: &Path, options: &Options) -> Result<Self, OpenError> {
        open(entry, options, None)
    }

    /// The same asset with other variants, in less time than [`Stage::open`] takes: what has which
    /// variants is known.
    ///
    /// # Errors
    /// Those of [`Stage::open`].
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
        .map_err(|error| failed(format!("no thread for it: {error}")))?
        .map_err(failed)
}

fn opened(entry: &Path, options: &Options, known: Option<&Stage>) -> Result<Stage, String> {
    let plain = || {
        read(
            entry,
            options,
            (!options.overlays.is_empty()).then(|| session(&options.overlays, &BTreeMap::new())),
        )
    };
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
    // Only what is composed is known: a variant may bring in prims with sets of their own.
    let mut stage = if known.is_some() {
        None
    } else {
        Some(plain()?)
    };
    let mut chosen: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
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
        stage = Some(read(
            entry,
            options,
            Some(session(&options.overlays, &chosen)),
        )?);
    }
    let stage = stage.map_or_else(plain, Ok)?;
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

/// The text of a layer that includes others and selects variants.
fn session(overlays: &[PathBuf], chosen: &BTreeMap<String, BTreeMap<String, String>>) -> String {
    let mut text = "#usda 1.0\n".to_owned();
    if !overlays.is_empty() {
        let overlays: Vec<String> = overlays
            .iter()
            .map(|path| format!("@@@{}@@@", path.display()))
            .collect();
        let _ = writeln!(text, "(\nsubLayers = [{}]\n)", overlays.join(", "));
    }
    for (path, sets) in chosen {
        let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
        for (index, name) in names.iter().enumerate() {
            let _ = write!(text, "over \"{name}\"");
            if index + 1 == names.len() {
                let selections: String = sets
                    .iter()
                    .map(|(set, variant)| format!("string {set} = \"{variant}\"\n"))
                    .collect();
                let _ = write!(text, " (\nvariants = {{\n{selections}}}\n)");
            }
            text.push_str("\n{\n");
        }
        text.push_str(&"}\n".repeat(names.len()));
    }
    text
}

fn composed(
    entry: &Path,
    options: &Options,
    session: Option<&String>,
    load: InitialLoadSet,
    watch: &Arc<Watch>,
) -> Result<usd::Stage, String> {
    let mut memory =
        Vec::from_iter(session.map(|text| (SESSION.to_owned(), text.as_bytes().into())));
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
    );
    let mut builder = usd::Stage::builder().resolver(resolver).load(load);
    if session.is_some() {
        builder = builder.session_layer(SESSION);
    }
    builder
        .open(&entry.to_string_lossy())
        .map_err(|error| told(&error.to_string()))
}

fn read(entry: &Path, options: &Options, session: Option<String>) -> Result<Stage, String> {
    let load = if options.payloads {
        InitialLoadSet::LoadAll
    } else {
        InitialLoadSet::LoadNone
    };
    let watch = Arc::<Watch>::default();
    let source = composed(entry, options, session.as_ref(), load, &watch)?;
    let mut reader = Reader {
        source: &source,
        watch: &watch,
        layers: Vec::new(),
        by_identifier: HashMap::new(),
        seen: 0,
        shared: HashMap::new(),
        arrays: HashMap::new(),
        array_bytes: 0,
        value_bytes: 0,
        sites: 0,
        unread: Vec::new(),
    };
    let mut prims: Vec<Prim> = Vec::new();
    let mut by_path = HashMap::new();
    let roots = root_prims(&source)?;
    let mut stack: Vec<(usd::Prim, Option<PrimId>, usize)> = Vec::new();
    for name in roots.iter().rev() {
        stack.push((
            source
                .prim(format!("/{name}").as_str())
                .map_err(|error| error.to_string())?,
            None,
            1,
        ));
    }
    // Layers in the order of the root layer stack, before any that an arc brings in.
    for identifier in source.layer_stack() {
        reader.layer(&identifier);
    }
    while let Some((prim, parent, depth)) = stack.pop() {
        if depth > DEEPEST {
            return Err(format!(
                "{} is nested more than {DEEPEST} deep",
                prim.path().as_str()
            ));
        }
        if prims.len() >= MAX_PRIMS {
            return Err(format!("it has more than {MAX_PRIMS} prims"));
        }
        reader.new_layers()?;
        let id = PrimId(prims.len());
        let Some(children) = watch.counted(|| prim.children()) else {
            let path = prim.path().as_str();
            return Err(format!(
                "the arcs of {path} lead on by more than {MAX_ARCS} ways: let layers refer to the same one once"
            ));
        };
        let children = children.map_err(|error| error.to_string())?;
        stack.extend(
            children
                .into_iter()
                .rev()
                .map(|child| (child, Some(id), depth + 1)),
        );
        let read = reader
            .prim(&prim, parent, &prims)
            .map_err(|error| error.to_string())?;
        reader.is_bounded(&read)?;
        if let Some(parent) = parent.and_then(|PrimId(parent)| prims.get_mut(parent)) {
            parent.children.push(id);
        }
        by_path.insert(read.path.clone(), id);
        prims.push(read);
    }
    for identifier in source.layer_identifiers() {
        reader.layer(&identifier);
    }
    let mut errors: Vec<CompositionError> = source
        .composition_errors()
        .into_iter()
        .map(described)
        .collect();
    errors.append(&mut reader.unread);
    errors.sort();
    errors.dedup();
    if options.payloads {
        tell_payloads(&source, &mut prims)?;
    }
    let default_prim = source.default_prim().and_then(|name| {
        let path = if name.as_str().starts_with('/') {
            name.to_string()
        } else {
            format!("/{name}")
        };
        by_path.get(&path).copied()
    });
    Ok(Stage {
        entry: entry.to_owned(),
        layers: reader.layers,
        prims,
        default_prim,
        errors,
        by_path,
        files: options.files.clone(),
    })
}

/// The names of the prims at the root.
///
/// `openusd` 0.8 follows the inherits of a prim at the root again for every way that leads to them
/// once it has composed the pseudo-root, which it does for the names below it only. So these are
/// put together here, as it does: from the weakest layer to the strongest.
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

/// Tells which prims, and which of their types and schemas, are there because of payloads: unloads
/// these and looks again.
fn tell_payloads(source: &usd::Stage, prims: &mut [Prim]) -> Result<(), String> {
    // What no payload can reach is the same without them. A target below the root of a layer has
    // with it the payloads of the prims above it.
    let is_nested = |path: &str| path.trim_start_matches('/').contains('/');
    let brings = |prim: &Prim| {
        prim.arcs
            .iter()
            .any(|arc| arc.kind == ArcKind::Payload || is_nested(&arc.prim))
    };
    if !prims.iter().any(brings) {
        return Ok(());
    }
    source.set_load_rules(LoadRules::none());
    /// What is known of a prim without payloads.
    #[derive(Clone, Copy, PartialEq)]
    enum Reach {
        /// No payload reaches it.
        None,
        /// It may differ.
        Some,
        /// It is not there, and nothing below it.
        Gone,
    }
    let mut reached: Vec<Reach> = Vec::with_capacity(prims.len());
    for prim in prims {
        let above = prim
            .parent
            .and_then(|PrimId(above)| reached.get(above).copied())
            .unwrap_or(Reach::None);
        let mut reach = if above == Reach::None && brings(prim) {
            Reach::Some
        } else {
            above
        };
        let mut names: Option<Vec<String>> = None;
        if reach == Reach::Some {
            let before = source
                .prim(prim.path.as_str())
                .map_err(|error| error.to_string())?;
            let (specifier, type_name, schemas) = match (
                before.specifier(),
                before.type_name(),
                before.authored_api_schemas(),
            ) {
                (Ok(specifier), Ok(type_name), Ok(schemas)) => (specifier, type_name, schemas),
                (Err(error), ..) | (_, Err(error), _) | (.., Err(error)) => {
                    return Err(error.to_string());
                }
            };
            reach = if specifier.is_none() {
                Reach::Gone
            } else {
                Reach::Some
            };
            if matches!(specifier, Some(sdf::Specifier::Def | sdf::Specifier::Class)) {
                names = Some(
                    type_name
                        .iter()
                        .chain(&schemas)
                        .map(ToString::to_string)
                        .collect(),
                );
            }
        }
        reached.push(reach);
        if reach == Reach::None {
            continue;
        }
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

/// A layer that was read.
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
    /// How many layers the composition had used when it was last asked.
    seen: usize,
    /// The attributes of prims of prototypes, by their paths there.
    shared: HashMap<String, Arc<BTreeMap<String, Attribute>>>,
    /// The large arrays of binary layers that attributes have so far, by their addresses, and
    /// whether they may be read.
    arrays: HashMap<*const CodedArray, bool>,
    /// The decoded size of those.
    array_bytes: usize,
    /// The size of all other values.
    value_bytes: usize,
    /// How many places in layers prims are composed of.
    sites: usize,
    /// Arrays beyond the bound.
    unread: Vec<CompositionError>,
}

type Read<T> = Result<T, openusd::Error>;

impl Reader<'_> {
    /// A layer that the composition used; none for the one that only selects variants.
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
                let path = layer.resolved_path().unwrap_or(identifier).to_owned();
                Layer::read(id, &layer, is_local, is_binary(&path))
            });
        let known = read.map(|layer| {
            self.layers.push(layer);
            id
        });
        self.by_identifier.insert(identifier.to_owned(), known);
        known
    }

    /// Counts what a prim takes.
    ///
    /// # Errors
    /// If the prims so far take more than is allowed.
    fn is_bounded(&mut self, prim: &Prim) -> Result<(), String> {
        self.sites += prim.sites.len();
        if self.sites > MAX_SITES {
            return Err(format!(
                "its prims are composed of more than {MAX_SITES} opinions of layers"
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

    /// The value of an attribute in a binary layer, if that is a large array: shared, and decoded
    /// when it is needed. A value of no type if it must not be.
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

    /// Reads the layers that came with the last prim, and refuses what must not be composed.
    fn new_layers(&mut self) -> Result<(), String> {
        let before = self.seen;
        self.seen = self.source.layer_count();
        if self.seen == before {
            return Ok(());
        }
        // Some may be known by the prims that they speak of, but nothing below these is composed.
        for identifier in self.source.layer_identifiers().into_iter().skip(before) {
            if let Some(id) = self.layer(&identifier) {
                self.may_be_composed(id)?;
            }
            self.ends(&self.source.sub_layers(&identifier))?;
        }
        Ok(())
    }

    /// Whether no prim of a layer stack inherits or specializes itself, by whatever arcs between:
    /// `openusd` 0.8 runs out of stack over the prims below it.
    fn ends(&mut self, stack: &[String]) -> Result<(), String> {
        let ids: Vec<LayerId> = stack
            .iter()
            .filter_map(|identifier| self.layer(identifier))
            .collect();
        let prims = || ids.iter().flat_map(|id| &layer_at(&self.layers, *id).prims);
        let mut arcs: HashMap<&str, Vec<&super::prim::Arc>> = HashMap::new();
        // What stands in a variant leads back only where that is selected, which is an error and no
        // more.
        for prim in prims().filter(|prim| !prim.path.contains('{')) {
            let inside = prim
                .arcs
                .iter()
                .filter(|arc| arc.asset.is_empty() && !arc.prim.is_empty());
            arcs.entry(&prim.path).or_default().extend(inside);
        }
        let is_class =
            |arc: &&&super::prim::Arc| matches!(arc.kind, ArcKind::Inherit | ArcKind::Specialize);
        for (start, first) in &arcs {
            let mut paths: Vec<String> = first
                .iter()
                .filter(is_class)
                .map(|arc| arc.prim.clone())
                .collect();
            let mut seen: HashSet<String> = HashSet::new();
            while let Some(path) = paths.pop() {
                if path == **start {
                    return Err(format!(
                        "{start} inherits or specializes itself, directly or by other prims: remove one of these arcs"
                    ));
                }
                if path.len() > LONGEST_CHAIN
                    || seen.len() > LONGEST_CHAIN
                    || !seen.insert(path.clone())
                {
                    continue;
                }
                let ends = path
                    .match_indices('/')
                    .map(|(at, _)| at)
                    .filter(|at| *at > 0)
                    .chain([path.len()]);
                for (above, below) in ends.map(|at| path.split_at(at)) {
                    let targets = arcs.get(above).into_iter().flatten();
                    paths.extend(targets.map(|arc| format!("{}{below}", arc.prim)));
                }
            }
        }
        Ok(())
    }

    /// Whether a layer has no prim that inherits what it already inherits by a prim above:
    /// composing it never ends in `openusd` 0.8.
    fn may_be_composed(&self, id: LayerId) -> Result<(), String> {
        let layer = layer_at(&self.layers, id);
        let mut inheriting: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for prim in &layer.prims {
            for arc in prim
                .arcs
                .iter()
                .filter(|arc| matches!(arc.kind, ArcKind::Inherit | ArcKind::Specialize))
            {
                inheriting.entry(&prim.path).or_default().push(&arc.prim);
            }
        }
        for (path, classes) in &inheriting {
            let above = path.match_indices('/').map(|(at, _)| path.split_at(at));
            for (above, rest) in above {
                let by_above = inheriting.get(above).into_iter().flatten();
                if let Some(twice) = by_above
                    .map(|class| format!("{class}{rest}"))
                    .find(|class| classes.contains(&class.as_str()))
                {
                    let name = file_name(&layer.identifier);
                    return Err(format!(
                        "{path} in {name} inherits {twice}, which it already inherits by {above}: remove one of both"
                    ));
                }
            }
        }
        Ok(())
    }

    fn sites(&mut self, stack: Vec<SpecSite>) -> Vec<Site> {
        let site = |site: SpecSite| {
            Some(Site {
                layer: self.layer(&site.layer)?,
                path: site.path.as_str().to_owned(),
            })
        };
        stack.into_iter().filter_map(site).collect()
    }

    fn prim(&mut self, prim: &usd::Prim, parent: Option<PrimId>, above: &[Prim]) -> Read<Prim> {
        let parent_prim = parent.and_then(|PrimId(index)| above.get(index));
        let stack = prim.prim_stack()?;
        let sites = self.sites(stack);
        let mut arcs = Vec::new();
        let mut metadata = BTreeMap::new();
        let mut variant_names: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut authored_selections: BTreeMap<String, String> = BTreeMap::new();
        for site in &sites {
            let layer = layer_at(&self.layers, site.layer);
            if let Some(spec) = layer.prim(&site.path) {
                arcs.extend(spec.arcs.iter().cloned());
                for (set, variant) in &spec.selections {
                    authored_selections
                        .entry(set.clone())
                        .or_insert_with(|| variant.clone());
                }
            }
            let Some(data) = self.source.layer(&layer.identifier) else {
                continue;
            };
            let Ok(path) = sdf::Path::new(&site.path) else {
                continue;
            };
            for (key, value) in fields(data.data(), &path) {
                match (key.as_str(), value) {
                    ("variantSetNames", Value::StringListOp(names)) => {
                        names.iter().for_each(|name| {
                            variant_names.entry(name.clone()).or_default();
                        });
                    }
                    ("assetInfo" | "customData", value) => merge(&mut metadata, key, value),
                    (
                        "specifier" | "typeName" | "kind" | "active" | "instanceable"
                        | "apiSchemas" | "references" | "payload",
                        _,
                    )
                    | (
                        "inheritPaths" | "specializes" | "variantSelection" | "propertyOrder"
                        | "primOrder",
                        _,
                    ) => {}
                    (other, _) if is_list_of_specs(other) => {}
                    (_, value) => {
                        metadata.entry(key).or_insert(value);
                    }
                }
            }
            // A site lists the few sets that it has itself; each selected variant is a site too.
            let sets = data
                .data()
                .try_field(&path, "variantSetChildren")
                .ok()
                .flatten();
            for set in sets.as_deref().and_then(super::texts).unwrap_or_default() {
                let (Some(variants), Ok(set_path)) = (
                    variant_names.get_mut(set),
                    path.append_variant_selection(set, ""),
                ) else {
                    continue;
                };
                if let Ok(Some(value)) = data.data().try_field(&set_path, "variantChildren") {
                    variants.extend(
                        super::texts(&value)
                            .unwrap_or_default()
                            .into_iter()
                            .map(str::to_owned),
                    );
                }
            }
        }
        let selections = prim.variant_sets().get_all_variant_selections()?;
        let variant_sets = variant_names.into_iter().map(|(name, mut variants)| {
            variants.sort();
            variants.dedup();
            let selection = selections
                .iter()
                .find(|(set, _)| *set == name)
                .map(|(_, variant)| variant.clone())
                .filter(|v| !v.is_empty());
            VariantSet {
                authored: authored_selections.get(&name).cloned(),
                name,
                variants,
                selection,
            }
        });
        let variant_sets = variant_sets.collect();
        let specifier = match prim.specifier()? {
            Some(sdf::Specifier::Def) => Specifier::Def,
            Some(sdf::Specifier::Class) => Specifier::Class,
            _ => Specifier::Over,
        };
        let instance = parent_prim.and_then(|above| {
            if above.is_instance {
                parent
            } else {
                above.instance
            }
        });
        let prototype = if instance.is_some() {
            prim.prim_in_prototype()?
                .map(|prim| prim.path().as_str().to_owned())
        } else {
            None
        };
        let (attributes, relationships) = self.properties(prim, prototype, &sites)?;
        Ok(Prim {
            path: prim.path().as_str().to_owned(),
            parent,
            children: Vec::new(),
            type_name: prim
                .type_name()?
                .map(|name| name.to_string())
                .unwrap_or_default(),
            specifier,
            is_abstract: specifier == Specifier::Class
                || parent_prim.is_some_and(|parent| parent.is_abstract),
            schemas: prim
                .authored_api_schemas()?
                .iter()
                .map(ToString::to_string)
                .collect(),
            kind: prim
                .kind()?
                .map(|kind| kind.to_string())
                .filter(|kind| !kind.is_empty()),
            is_active: prim.is_active()?,
            is_instanceable: prim.is_instanceable()?,
            is_instance: prim.is_instance()?,
            instance,
            in_payload: false,
            payload_schemas: Vec::new(),
            metadata,
            attributes,
            relationships,
            variant_sets,
            arcs,
            sites,
        })
    }

    #[expect(clippy::type_complexity, reason = "it is taken apart at once")]
    fn properties(
        &mut self,
        prim: &usd::Prim,
        prototype: Option<String>,
        prim_sites: &[Site],
    ) -> Read<(
        Arc<BTreeMap<String, Attribute>>,
        BTreeMap<String, Relationship>,
    )> {
        let known = prototype
            .as_ref()
            .and_then(|path| self.shared.get(path))
            .cloned();
        let mut attributes = BTreeMap::new();
        let mut relationships = BTreeMap::new();
        for name in prim.authored_property_names()? {
            let (sites, kind) = self.property_sites(&name, prim_sites);
            if kind == Some(SpecType::Relationship) {
                let relationship = prim.relationship(name.clone());
                let targets = relationship
                    .targets()?
                    .iter()
                    .map(|path| path.as_str().to_owned())
                    .collect();
                let (is_custom, metadata) = self.of_relationship(&sites);
                relationships.insert(
                    name.to_string(),
                    Relationship {
                        targets,
                        is_custom,
                        metadata,
                        sites,
                    },
                );
            } else if known.is_none() {
                let attribute = self.attribute(&prim.attribute(name.clone()), sites)?;
                attributes.insert(name.to_string(), attribute);
            }
        }
        if let Some(known) = known {
            return Ok((known, relationships));
        }
        let is_connected = attributes
            .values()
            .any(|attribute| !attribute.connections.is_empty());
        let attributes = Arc::new(attributes);
        // Connections lead to prims of this instance, so they can't be shared.
        if let Some(prototype) = prototype.filter(|_| !is_connected) {
            self.shared.insert(prototype, Arc::clone(&attributes));
        }
        Ok((attributes, relationships))
    }

    /// Where layers speak of a property, of those that speak of its prim, and what the strongest
    /// takes it for.
    fn property_sites(&self, name: &Token, prim_sites: &[Site]) -> (Vec<Site>, Option<SpecType>) {
        let mut kind = None;
        let site = |site: &Site| {
            let layer = self
                .source
                .layer(&layer_at(&self.layers, site.layer).identifier)?;
            let path = sdf::Path::new(&site.path)
                .ok()?
                .append_property(name.clone())
                .ok()?;
            let is = layer.data().spec_type(&path)?;
            let is_same = *kind.get_or_insert(is) == is;
            is_same.then(|| Site {
                layer: site.layer,
                path: path.as_str().to_owned(),
            })
        };
        let sites = prim_sites.iter().filter_map(site).collect();
        (sites, kind)
    }

    /// Whether a relationship is custom, and its metadata; the strongest counts.
    fn of_relationship(&self, sites: &[Site]) -> (bool, BTreeMap<String, Value>) {
        let (mut is_custom, mut metadata) = (false, BTreeMap::new());
        for site in sites {
            let Some(layer) = self
                .source
                .layer(&layer_at(&self.layers, site.layer).identifier)
            else {
                continue;
            };
            let Ok(path) = sdf::Path::new(&site.path) else {
                continue;
            };
            for (key, value) in fields(layer.data(), &path) {
                match key.as_str() {
                    "custom" => is_custom |= value == Value::Bool(true),
                    "targetPaths" | "variability" => {}
                    key if is_list_of_specs(key) => {}
                    _ => {
                        metadata.entry(key).or_insert(value);
                    }
                }
            }
        }
        (is_custom, metadata)
    }

    fn attribute(&mut self, attribute: &usd::Attribute, sites: Vec<Site>) -> Read<Attribute> {
        let mut read = Attribute {
            type_name: String::new(),
            is_custom: false,
            is_uniform: false,
            value: None,
            times: Vec::new(),
            connections: Vec::new(),
            metadata: BTreeMap::new(),
            sites,
        };
        let (mut is_sampled, mut is_connected) = (false, false);
        let mut default: Option<SharedValue> = None;
        for site in &read.sites {
            let Some(layer) = self
                .source
                .layer(&layer_at(&self.layers, site.layer).identifier)
            else {
                continue;
            };
            let Ok(path) = sdf::Path::new(&site.path) else {
                continue;
            };
            let data = layer.data();
            for key in data.list_fields(&path).unwrap_or_default() {
                match key.as_str() {
                    // The strongest counts, whatever is weaker.
                    "default" if default.is_none() => {
                        default =
                            self.large_array(layer.resolved_path().unwrap_or_default(), &path);
                        if default.is_none() {
                            let value = data
                                .try_field(&path, &key)
                                .ok()
                                .flatten()
                                .map(std::borrow::Cow::into_owned);
                            self.value_bytes += value.as_ref().map_or(0, weight);
                            default = value
                                .filter(|_| self.value_bytes <= MAX_VALUE_BYTES)
                                .map(SharedValue::from);
                        }
                    }
                    "default" => {}
                    "timeSamples" => is_sampled = true,
                    "connectionPaths" => is_connected = true,
                    _ if is_list_of_specs(&key) => {}
                    _ => {
                        let Ok(Some(value)) = data.try_field(&path, &key) else {
                            continue;
                        };
                        match (key.as_str(), value.as_ref()) {
                            ("typeName", value) if read.type_name.is_empty() => {
                                super::text(value)
                                    .unwrap_or_default()
                                    .clone_into(&mut read.type_name);
                            }
                            ("custom", Value::Bool(true)) => read.is_custom = true,
                            ("variability", Value::Variability(sdf::Variability::Uniform)) => {
                                read.is_uniform = true
                            }
                            ("typeName" | "custom" | "variability", _) => {}
                            (_, value) => {
                                // Counted at once: attributes of one prim may share a large
                                // dictionary. The asset is refused then.
                                self.value_bytes += weight(value);
                                if self.value_bytes <= MAX_VALUE_BYTES {
                                    read.metadata.entry(key).or_insert_with(|| value.clone());
                                }
                            }
                        }
                    }
                }
            }
        }
        if is_sampled && self.value_bytes <= MAX_VALUE_BYTES {
            read.times = attribute.time_sample_times()?;
            self.value_bytes += 8 * read.times.len();
        }
        if is_connected {
            read.connections = attribute
                .connections()?
                .iter()
                .map(|path| path.as_str().to_owned())
                .collect();
        }
        // What is composed of several opinions, or found relative to a layer, the library knows.
        let is_plain = default
            .as_ref()
            .and_then(SharedValue::unless_large_array)
            .is_none_or(|value| !is_composed(value));
        let value = if is_plain {
            default
        } else {
            attribute.get::<Value>()?.map(SharedValue::from)
        };
        let is_none = |value: &SharedValue| {
            matches!(
                value.unless_large_array(),
                Some(Value::ValueBlock | Value::None)
            )
        };
        read.value = value.filter(|value| !is_none(value));
        if let (None, Some(first)) = (&read.value, read.times.first()) {
            read.value = attribute
                .get_at::<Value>(TimeCode::from(*first))?
                .map(SharedValue::from);
        }
        Ok(read)
    }
}

/// Whether a value is composed of several opinions, or is relative to its layer.
fn is_composed(value: &Value) -> bool {
    matches!(
        value,
        Value::AssetPath(_)
            | Value::AssetPathVec(_)
            | Value::Dictionary(_)
            | Value::TimeCode(_)
            | Value::TimeCodeVec(_)
            | Value::PathExpression(_)
            | Value::PathExpressionVec(_)
    )
}

/// Puts a dictionary under a stronger one.
fn merge(metadata: &mut BTreeMap<String, Value>, key: String, weaker: Value) {
    match (metadata.get_mut(&key), weaker) {
        (Some(Value::Dictionary(strong)), Value::Dictionary(weak)) => {
            for (name, value) in weak {
                strong.entry(name).or_insert(value);
            }
        }
        (Some(_), _) => {}
        (None, value) => {
            metadata.insert(key, value);
        }
    }
}

/// Whether the file is a binary layer, by what it begins with. One in a package counts by its name.
fn is_binary(path: &str) -> bool {
    if path.ends_with(']') {
        return path.ends_with(".usdc]");
    }
    shallow::is_binary(path)
}

/// The name of a layer's file.
fn file_name(identifier: &str) -> &str {
    identifier.rsplit('/').next().unwrap_or(identifier)
}

/// What is wrong with a layer, and in which line, without the text that stands there and without
/// the parts of the reader.
fn told(reason: &str) -> String {
    let mut lines = reason.lines();
    let first = lines
        .next()
        .unwrap_or_default()
        .trim_start_matches("error: ")
        .trim_start_matches("Unable to parse pseudo root: ");
    if let Some(file) = first.strip_prefix("no file format registered for ") {
        return format!("{} is no OpenUSD file by its name", file_name(file));
    }
    if first.starts_with("Text file must start with magic token")
        || first == "Unexpected end of tokens"
    {
        return "it is no OpenUSD file: its text does not begin with `#usda 1.0`, and it is neither binary nor a package"
            .to_owned();
    }
    if first.starts_with("failed to read pod ") {
        return "the file is cut off or damaged".to_owned();
    }
    let place = lines
        .next()
        .and_then(|line| line.trim().strip_prefix("--> "))
        .map(file_name);
    place.map_or_else(|| first.to_owned(), |place| format!("{first}, {place}"))
}

/// An error of the composition, taken apart.
fn described(error: openusd::pcp::CompositionDiagnostic) -> CompositionError {
    use openusd::pcp::CompositionDiagnostic as Error;
    let arc = |arc: openusd::pcp::ArcType| format!("{arc:?}").to_lowercase();
    match error {
        Error::UnresolvedLayer {
            asset_path,
            arc: kind,
            introduced_by,
            site_path,
        } => CompositionError {
            message: format!("the {} @{asset_path}@ leads to no file", arc(kind)),
            layer: Some(introduced_by),
            path: Some(site_path.as_str().to_owned()),
        },
        Error::MalformedLayer {
            asset_path,
            arc: kind,
            introduced_by,
            site_path,
            reason,
        } => CompositionError {
            message: format!(
                "the {} @{asset_path}@ can't be read: {}",
                arc(kind),
                told(&reason)
            ),
            layer: Some(introduced_by),
            path: Some(site_path.as_str().to_owned()),
        },
        Error::UnresolvedPrimPath {
            arc: kind,
            target_layer,
            prim_path,
            introduced_by,
            site_path,
        } => CompositionError {
            message: format!(
                "the {} leads to {prim_path}, which is not in {}",
                arc(kind),
                file_name(&target_layer)
            ),
            layer: Some(introduced_by),
            path: Some(site_path.as_str().to_owned()),
        },
        Error::UnresolvedDefaultPrim {
            layer_id,
            arc: kind,
            site_path,
        } => CompositionError {
            message: format!(
                "the {} names no prim, and {} has no default prim",
                arc(kind),
                file_name(&layer_id)
            ),
            layer: None,
            path: Some(site_path.as_str().to_owned()),
        },
        Error::UnresolvedSublayer {
            asset_path,
            introduced_by,
        } => CompositionError {
            message: format!("the sublayer @{asset_path}@ leads to no file"),
            layer: Some(introduced_by),
            path: None,
        },
        Error::MalformedSublayer {
            asset_path,
            introduced_by,
            reason,
        } => CompositionError {
            message: format!(
                "the sublayer @{asset_path}@ can't be read: {}",
                told(&reason)
            ),
            layer: Some(introduced_by),
            path: None,
        },
        Error::InvalidExternalTargetPath {
            target,
            property,
            layer,
            arc: kind,
            arc_root,
            ..
        } => CompositionError {
            message: format!(
                "{target} is outside of {arc_root}, which is all that the {} brings in",
                arc(kind)
            ),
            layer: Some(layer),
            path: Some(property.as_str().to_owned()),
        },
        Error::ArcCycle(chain) => CompositionError {
            message: format!(
                "{} leads back to itself{}",
                chain.composing.as_str(),
                chain
                    .hops
                    .iter()
                    .map(|hop| format!(", by a {} to {}", arc(hop.arc), hop.path.as_str()))
                    .collect::<String>()
            ),
            layer: Some(chain.root_layer),
            path: Some(chain.composing.as_str().to_owned()),
        },
        Error::SublayerCycle {
            root_layer,
            seen_layer,
        } => CompositionError {
            message: format!(
                "the sublayer {} includes itself, directly or by another layer",
                file_name(&seen_layer)
            ),
            layer: Some(root_layer),
            path: None,
        },
        other => CompositionError {
            message: other.to_string(),
            layer: None,
            path: None,
        },
    }
}
