//! Resolves and opens layers of untrusted assets, within limits.
//!
//! `openusd` parses the paths of a layer recursively. [`Shallow`] therefore rejects text that is nested
//! deeper than [`DEEPEST`], and [`on_large_stack`] provides the stack that the permitted depth can need.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs;
use std::io::{self, Read as _, Seek as _};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::SystemTime;

use openusd::ar::{
    self, Asset, AssetBuffer, AssetInfo, DefaultResolver, ResolvedPath, Resolver, SharedBuffer,
};
use openusd::sdf::{self, AbstractData, FileFormat as _};
use openusd::usdc::CrateFile;
use openusd::usdz::UsdzFileFormat;
use urdf_usd_resolve::{Files, LFS_HELP, LFS_START, Opened, Resolver as Packages};

use super::layer::{Layer, LayerId};
use super::shared::{CodedArrays, coded_arrays};
use super::{tables, usda};

/// Maximum nesting of prims, and of brackets in the text of a layer. Assets that this program writes
/// stay below 80.
pub const DEEPEST: usize = 256;

/// Size of the stack for reading an asset: hundreds of KiB per level. Unused pages take no memory.
const STACK: usize = 256 << 20;

/// The magic bytes of a binary layer.
const BINARY: &[u8] = b"PXR-USDC";
/// The magic bytes of a package, which is a ZIP file.
const PACKAGE: &[u8] = b"PK";

/// Maximum size of a layer, in bytes.
const MAX_BYTES: u64 = 4 << 30;

/// Maximum number of specs of all text layers that are kept as they were parsed: about 300 MB, several times
/// their size in the binary encoding.
const MAX_LIGHT_SPECS: usize = 400_000;

/// Maximum number of blocks in braces of a text layer: prims, variants and dictionaries.
pub const MAX_LAYER_BLOCKS: usize = 2_000_000;

/// The ending that the resolver adds to the locations of text layers.
///
/// `openusd` picks its parser by the ending of a location and has no way to register another one.
/// At this ending it looks at the content, so that [`Shallow`] can hand it what [`usda::parse`]
/// read, in the binary encoding.
const PARSED: &str = ".usd";

/// Adds [`PARSED`] to the location of a text layer, and enters a package at its first layer.
fn parsed_location(resolver: &Shallow, location: ResolvedPath) -> ResolvedPath {
    let location = match has_ending(&location.to_string_lossy(), "usdz") {
        true => UsdzFileFormat
            .resolve_layer(resolver, &location)
            .unwrap_or(location),
        false => location,
    };
    if !has_ending(&location.to_string_lossy(), "usda") {
        return location;
    }
    let path = location.to_string_lossy();
    let stem = path.trim_end_matches(']');
    let brackets = path.get(stem.len()..).unwrap_or_default();
    ResolvedPath::new(format!("{stem}{PARSED}{brackets}"))
}

/// Returns the path of the file, or of the layer in a package, at a location that the resolver of
/// an asset returned.
pub(super) fn file_path(location: &str) -> Cow<'_, str> {
    let stem = location.trim_end_matches(']');
    match stem.strip_suffix(PARSED) {
        Some(path) if has_ending(path, "usda") => {
            let brackets = location.get(stem.len()..).unwrap_or_default();
            format!("{path}{brackets}").into()
        }
        _ => location.into(),
    }
}

/// Runs `work` on a thread whose stack suffices for layers of the depth [`DEEPEST`]. A panic resumes
/// in the caller.
///
/// # Errors
/// If the thread cannot be started.
pub fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let thread = thread::Builder::new()
            .name("usd reader".to_owned())
            .stack_size(STACK)
            .spawn_scoped(scope, work)?;
        thread
            .join()
            .map_or_else(|panic| std::panic::resume_unwind(panic), Ok)
    })
}

/// A resolver with limits.
///
/// Resolves paths as OpenUSD's default resolver, and `package://` as ROS (REP-158 §1.2.5). Opens only
/// regular files that may be read, and text only if it is not nested too deeply.
#[derive(Default)]
pub(super) struct Shallow {
    paths: DefaultResolver,
    /// The resolver of `package://` URIs, if they are resolved.
    packages: Option<Arc<Packages>>,
    /// In-memory layers by path.
    memory: Vec<(String, Arc<[u8]>)>,
    /// The files that may be opened; `None` for all.
    files: Option<Arc<Files>>,
    surveys: Arc<Surveys>,
}

/// A layer in the binary encoding, and its large arrays.
struct Survey {
    bytes: SharedBuffer,
    arrays: Option<Arc<CodedArrays>>,
}

/// The content of a file.
enum Content {
    Asset(Box<dyn Asset>),
    /// The text of a layer without large values.
    Light(Light),
}

/// A text layer without large values, which several stages share.
#[derive(Clone)]
pub(super) struct Light(Arc<sdf::Data>);

impl AbstractData for Light {
    fn has_spec(&self, path: &sdf::Path) -> bool {
        self.0.has_spec(path)
    }

    fn has_field(&self, path: &sdf::Path, field: &str) -> bool {
        self.0.has_field(path, field)
    }

    fn spec_type(&self, path: &sdf::Path) -> Option<sdf::SpecType> {
        self.0.spec_type(path)
    }

    fn try_field(
        &self,
        path: &sdf::Path,
        field: &str,
    ) -> Result<Option<Cow<'_, sdf::Value>>, sdf::DataError> {
        self.0.try_field(path, field)
    }

    fn list_fields(&self, path: &sdf::Path) -> Option<Vec<String>> {
        self.0.list_fields(path)
    }

    fn spec_paths(&self) -> Vec<sdf::Path> {
        self.0.spec_paths()
    }

    fn create_spec(&mut self, path: sdf::Path, ty: sdf::SpecType) {
        Arc::make_mut(&mut self.0).create_spec(path, ty);
    }

    fn erase_spec(&mut self, path: &sdf::Path) {
        Arc::make_mut(&mut self.0).erase_spec(path);
    }

    fn set_field(&mut self, path: &sdf::Path, field: &str, value: sdf::Value) {
        Arc::make_mut(&mut self.0).set_field(path, field, value);
    }

    fn erase_field(&mut self, path: &sdf::Path, field: &str) {
        Arc::make_mut(&mut self.0).erase_field(path, field);
    }
}

/// Caches the layers of an asset by location, so that opening it with other variants parses and encodes
/// no text again and shares decoded arrays.
#[derive(Default)]
pub(super) struct Surveys {
    encoded: Mutex<HashMap<String, Arc<Survey>>>,
    /// The text layers without large values, which are not encoded.
    light: Mutex<HashMap<String, Light>>,
    /// Number of specs of these layers.
    light_specs: AtomicUsize,
    /// The prims and metadata of layers.
    read: Mutex<HashMap<String, Layer>>,
}

impl std::fmt::Debug for Surveys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Surveys").finish_non_exhaustive()
    }
}

impl Shallow {
    /// Creates a resolver with in-memory layers by absolute path.
    pub(super) fn new(
        packages: Option<Arc<Packages>>,
        memory: Vec<(String, Arc<[u8]>)>,
        files: Option<Arc<Files>>,
        surveys: Arc<Surveys>,
    ) -> Self {
        Self {
            paths: DefaultResolver::default(),
            packages,
            memory,
            files,
            surveys,
        }
    }

    /// Returns the cached survey of a layer.
    fn surveyed(&self, location: &str) -> Option<Arc<Survey>> {
        let survey = held(&self.surveys.encoded).get(location).cloned()?;
        self.is_file(location).then_some(survey)
    }

    /// Returns whether a layer is a file, whose content may be cached.
    fn is_file(&self, location: &str) -> bool {
        self.in_memory(&file_path(location)).is_none()
    }

    /// Opens a text layer that has no large values; returns `None` for any other layer.
    ///
    /// # Errors
    /// If the layer cannot be read.
    pub(super) fn light(&self, location: &ResolvedPath) -> io::Result<Option<Light>> {
        let name = location.to_string_lossy();
        let is_text = has_ending(&name, "usd") && self.surveyed(&name).is_none();
        if !is_text {
            return Ok(None);
        }
        if let Some(known) = held(&self.surveys.light).get(&*name)
            && self.is_file(&name)
        {
            return Ok(Some(known.clone()));
        }
        Ok(match self.load(location)? {
            Content::Light(light) => Some(light),
            Content::Asset(_) => None,
        })
    }

    /// Returns a layer that was read before, if it has the same id.
    pub(super) fn known_layer(&self, location: &str, id: LayerId) -> Option<Layer> {
        let layer = held(&self.surveys.read).get(location).cloned()?;
        let arcs = || layer.prims.iter().flat_map(|prim| &prim.arcs);
        let has_id = arcs().all(|arc| arc.site.layer == id);
        (has_id && self.is_file(location)).then_some(layer)
    }

    /// Caches a layer.
    pub(super) fn keep_layer(&self, location: &str, layer: &Layer) {
        if self.is_file(location) {
            held(&self.surveys.read).insert(location.to_owned(), layer.clone());
        }
    }

    /// Returns the large arrays of an open layer.
    pub(super) fn arrays(&self, location: &str) -> Option<Arc<CodedArrays>> {
        held(&self.surveys.encoded).get(location)?.arrays.clone()
    }

    /// Checks a layer in the binary encoding, and finds its large arrays.
    fn survey(location: &str, bytes: SharedBuffer) -> io::Result<Survey> {
        let name = file_path(location);
        tables::check(&bytes)
            .map_err(|reason| rejected(format!("{name} is not read: {reason}")))?;
        // A damaged layer is reported where it is read again.
        let file = CrateFile::open(AssetBuffer::Shared(bytes.clone()));
        let arrays = file.map(coded_arrays).unwrap_or_default();
        Ok(Survey {
            bytes,
            arrays: (!arrays.is_empty()).then(|| Arc::new(arrays)),
        })
    }

    /// Opens a file, or one in a package.
    fn load(&self, resolved_path: &ResolvedPath) -> io::Result<Content> {
        let location = resolved_path.to_string_lossy();
        let path = file_path(&location);
        if let Some(survey) = self.surveyed(&location) {
            return Ok(Content::Asset(asset(&survey.bytes)));
        }
        let bytes = match (
            self.in_memory(&path),
            ar::split_package_relative_path_outer(&path),
        ) {
            (Some(content), _) => content.to_vec(),
            (None, Some((package, inner))) => {
                openusd::usdz::package_entry(self, &package, &inner)?.to_vec()
            }
            (None, None) => {
                let note = |error: &io::Error| {
                    self.files
                        .iter()
                        .for_each(|files| files.note_failure(error))
                };
                let mut file = open_file(self.files.as_deref(), &path).inspect_err(note)?;
                // `openusd` reads the entries of a package from the open file.
                if begins_with(&mut file, PACKAGE)? {
                    return Ok(Content::Asset(Box::new(file)));
                }
                content(file)?
            }
        };
        let is_package = bytes.starts_with(PACKAGE);
        let is_binary = is_package || bytes.starts_with(BINARY);
        // `parsed_location` has changed the locations of layers that are named .usda, and no
        // others.
        let is_text = path != location;
        if is_text && is_binary {
            return Err(rejected(format!(
                "{path} is in the binary encoding: name it .usd or .usdc"
            )));
        }
        let is_parsed = !is_binary && (is_text || has_ending(&path, "usd"));
        let kept = &self.surveys.light_specs;
        let max_specs = MAX_LIGHT_SPECS.saturating_sub(kept.load(Ordering::Relaxed));
        let bytes = match is_parsed {
            true => match parsed(&bytes, &path, max_specs).map_err(rejected)? {
                usda::ParsedLayer::Light(data, specs) => {
                    let light = Light(Arc::new(data));
                    if self.is_file(&location) {
                        kept.fetch_add(specs, Ordering::Relaxed);
                        let known = light.clone();
                        held(&self.surveys.light).insert(location.clone().into_owned(), known);
                    }
                    return Ok(Content::Light(light));
                }
                usda::ParsedLayer::Encoded(bytes) => bytes,
            },
            false => bytes,
        };
        let bytes = AssetBuffer::Owned(bytes).into_shared();
        if !is_parsed && (!is_binary || is_package) {
            return Ok(Content::Asset(asset(&bytes)));
        }
        let survey = Arc::new(Self::survey(&location, bytes)?);
        held(&self.surveys.encoded).insert(location.clone().into_owned(), Arc::clone(&survey));
        Ok(Content::Asset(asset(&survey.bytes)))
    }

    fn identifier(&self, asset_path: &str, anchor: Option<&ResolvedPath>) -> String {
        match self.in_package(asset_path) {
            Some(file) => self.paths.create_identifier(&file, anchor),
            None => self.paths.create_identifier(asset_path, anchor),
        }
    }

    /// Returns the content of an in-memory layer.
    fn in_memory(&self, path: &str) -> Option<Arc<[u8]>> {
        self.memory
            .iter()
            .find(|(name, _)| name == path)
            .map(|(_, content)| content.clone())
    }

    /// Returns the path of a `package://NAME/…` URI.
    fn in_package(&self, asset_path: &str) -> Option<String> {
        let (name, inside) = asset_path.strip_prefix("package://")?.split_once('/')?;
        let package = self.packages.as_ref()?.package(name, None).ok()?;
        Some(package.folder.join(inside).to_string_lossy().into_owned())
    }
}

impl Resolver for Shallow {
    fn create_identifier(&self, asset_path: &str, anchor: Option<&ResolvedPath>) -> String {
        self.identifier(asset_path, anchor)
    }

    fn resolve(&self, asset_path: &str) -> Option<ResolvedPath> {
        if self.in_memory(asset_path).is_some() {
            return Some(parsed_location(self, ResolvedPath::new(asset_path)));
        }
        let in_package = self.in_package(asset_path);
        let path = in_package.as_deref().unwrap_or(asset_path);
        let found = match ar::split_package_relative_path_outer(path) {
            // Opens the package through this resolver, with the same limits as other files.
            Some((package, inner)) => self.paths.resolve(&package).and_then(|package| {
                let package = package.to_string_lossy();
                let exists = openusd::usdz::package_contains(self, &package, &inner);
                exists.then(|| ResolvedPath::new(ar::join_package_relative_path(&package, &inner)))
            }),
            None => self.paths.resolve(path),
        };
        // Record missing files too: the asset depends on them, as they may appear later.
        if let Some(files) = self
            .files
            .as_ref()
            .filter(|_| found.is_none() && path.starts_with('/'))
        {
            files.rely_on(Path::new(path));
        }
        found.map(|location| parsed_location(self, location))
    }

    fn resolve_for_new_asset(&self, asset_path: &str) -> Option<ResolvedPath> {
        self.paths.resolve_for_new_asset(asset_path)
    }

    fn open_asset(&self, resolved_path: &ResolvedPath) -> io::Result<Box<dyn Asset>> {
        match self.load(resolved_path)? {
            Content::Asset(asset) => Ok(asset),
            Content::Light(light) => {
                let bytes = usda::write(sdf::Data::clone(&light.0));
                let bytes = bytes.map_err(|error| rejected(error.to_string()))?;
                Ok(asset(&AssetBuffer::Owned(bytes).into_shared()))
            }
        }
    }

    fn get_extension<'a>(&self, asset_path: &'a str) -> &'a str {
        self.paths.get_extension(asset_path)
    }

    fn is_context_dependent_path(&self, asset_path: &str) -> bool {
        self.paths.is_context_dependent_path(asset_path)
    }

    fn in_memory_identifier<'a>(&self, asset_path: &'a str) -> Cow<'a, str> {
        self.paths.in_memory_identifier(asset_path)
    }

    fn get_asset_info(&self, asset_path: &str, resolved_path: &ResolvedPath) -> AssetInfo {
        self.paths.get_asset_info(asset_path, resolved_path)
    }

    fn get_modification_timestamp(
        &self,
        asset_path: &str,
        resolved_path: &ResolvedPath,
    ) -> Option<SystemTime> {
        self.paths
            .get_modification_timestamp(asset_path, resolved_path)
    }

    fn identity(&self) -> String {
        self.paths.identity()
    }

    fn cache_id(&self) -> Option<u64> {
        self.paths.cache_id()
    }
}

fn asset(bytes: &SharedBuffer) -> Box<dyn Asset> {
    Box::new(io::Cursor::new(AssetBuffer::Shared(bytes.clone())))
}

/// Locks a cache. A panic leaves it whole.
fn held<T>(cache: &Mutex<T>) -> MutexGuard<'_, T> {
    cache.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens a regular file, if `files` permits it. The path is resolved only once, so that it cannot be
/// exchanged after the check.
///
/// # Errors
/// If the file is not permitted, cannot be read, or is larger than 4 GiB.
fn open_file(files: Option<&Files>, path: &str) -> io::Result<fs::File> {
    let denied =
        |error: urdf_usd_resolve::Error| io::Error::new(io::ErrorKind::PermissionDenied, error);
    let opened = match files {
        Some(files) => files.open_path(Path::new(path)).map_err(denied)?,
        None => Opened::at(Path::new(path))?,
    };
    if opened.meta.len() > MAX_BYTES {
        return Err(rejected(format!(
            "{path} is larger than {} GiB",
            MAX_BYTES >> 30
        )));
    }
    let mut file = opened.file;
    if begins_with(&mut file, LFS_START)? {
        return Err(rejected(format!(
            "it is a Git LFS pointer, not the file itself: {LFS_HELP}"
        )));
    }
    Ok(file)
}

fn content(mut file: fs::File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a file, or one in a package (`package.usdz[textures/paint.png]`), at a path that
/// [`asset_paths`](super::asset_paths) has resolved.
///
/// # Errors
/// If it is not a regular file, cannot be read, or is larger than 4 GiB.
pub fn asset_bytes(resolved_path: &str) -> io::Result<Vec<u8>> {
    bytes_within(None, resolved_path)
}

/// As [`asset_bytes`], for the files that `files` permits.
///
/// # Errors
/// As [`asset_bytes`], and if the file is not permitted.
pub(super) fn bytes_within(files: Option<&Arc<Files>>, resolved_path: &str) -> io::Result<Vec<u8>> {
    match ar::split_package_relative_path_outer(resolved_path) {
        Some((package, inner)) => {
            let resolver = Shallow {
                files: files.cloned(),
                ..Shallow::default()
            };
            Ok(openusd::usdz::package_entry(&resolver, &package, &inner)?.to_vec())
        }
        None => content(open_file(files.map(Arc::as_ref), resolved_path)?),
    }
}

/// Returns true for a binary layer, by its magic bytes, or by its name in a package.
pub(super) fn is_binary_layer(path: &str) -> bool {
    if path.ends_with(']') {
        return path.ends_with(".usdc]");
    }
    open_file(None, path)
        .and_then(|mut file| begins_with(&mut file, BINARY))
        .unwrap_or(false)
}

/// Whether a file begins with `start`. The file has to be at its beginning, and is rewound.
fn begins_with(file: &mut fs::File, start: &[u8]) -> io::Result<bool> {
    let mut read = Vec::new();
    file.by_ref()
        .take(start.len() as u64)
        .read_to_end(&mut read)?;
    file.rewind()?;
    Ok(read == start)
}

fn rejected(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

/// Whether a path, or that of a file in a package, has an ending.
fn has_ending(path: &str, ending: &str) -> bool {
    let path = path.trim_end_matches(']');
    path.rsplit_once('.')
        .is_some_and(|(_, found)| found.eq_ignore_ascii_case(ending))
}

/// Parses the text of a layer; see [`usda::parse_or_encode`].
fn parsed(text: &[u8], path: &str, max_specs: usize) -> Result<usda::ParsedLayer, String> {
    let name = path.rsplit('/').next().unwrap_or(path);
    usda::parse_or_encode(text, max_specs).map_err(|error| match error {
        usda::EncodeError::Text(error) => {
            let (line, column) = (error.line, error.column);
            format!("{}, {name}:{line}:{column}", error.message)
        }
        usda::EncodeError::Format(error) => format!("{error}, {name}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_has_a_large_stack_and_panics_resume() {
        fn down(levels: usize) -> usize {
            let frame = std::hint::black_box([levels; 1024]);
            if levels == 0 {
                0
            } else {
                down(levels - 1) + usize::from(frame[levels % 1024] == levels)
            }
        }
        // Needs at least 80 MiB, more than any default stack.
        assert_eq!(on_large_stack(|| down(10_000)).unwrap(), 10_000);
        let panic = std::panic::catch_unwind(|| on_large_stack(|| panic!("so"))).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"so"));
    }

    /// Reads `text` as the entry of an asset, on a thread with the stack size of tokio's workers.
    fn open_text(text: String) -> Result<crate::Stage, String> {
        let thread = thread::Builder::new().stack_size(2 << 20).spawn(move || {
            let folder = tempfile::tempdir().unwrap();
            let entry = folder.path().join("a.usda");
            fs::write(&entry, text).unwrap();
            crate::Stage::open(&entry, &crate::Options::default())
                .map_err(|error| error.to_string())
        });
        thread.unwrap().join().unwrap()
    }

    #[test]
    fn deep_layers_are_read_or_rejected_on_a_small_stack() {
        let layer = |inside: &str| format!("#usda 1.0\n(\n    defaultPrim = \"a\"\n)\n{inside}\n");
        let prims = |depth: usize| {
            let open: String = (0..depth).map(|_| "def Xform \"a\"\n{\n").collect();
            layer(&format!("{open}{}", "}\n".repeat(depth)))
        };
        let dictionaries = |depth: usize| {
            let (open, close) = ("dictionary d = {\n".repeat(depth), "}\n".repeat(depth));
            layer(&format!(
                "def Xform \"a\" (\n customData = {{\n{open}{close}}}\n)\n{{\n}}\n"
            ))
        };
        assert_eq!(open_text(prims(40)).unwrap().prims[0].name(), "a");
        assert_eq!(open_text(dictionaries(30)).unwrap().prims[0].name(), "a");
        for text in [
            prims(DEEPEST + 1),
            prims(1500),
            prims(100_000),
            dictionaries(DEEPEST - 1),
            dictionaries(50_000),
        ] {
            let error = open_text(text).unwrap_err();
            assert!(error.contains("nested more than"), "{error}");
        }
    }

    #[test]
    fn special_files_do_not_block() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe.usdz");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
        for path in [Path::new("/dev/zero"), folder.path(), &pipe] {
            let entry = folder.path().join("a.usda");
            std::os::unix::fs::symlink(path, &entry).unwrap();
            assert!(
                crate::Stage::open(&entry, &crate::Options::default()).is_err(),
                "{}",
                path.display()
            );
            fs::remove_file(&entry).unwrap();
        }
        // Resolving a reference into a package opens the package.
        let entry = folder.path().join("b.usda");
        fs::write(
            &entry,
            "#usda 1.0\ndef \"a\" (\n    references = @./pipe.usdz[a.usda]@</a>\n)\n{\n}\n",
        )
        .unwrap();
        let stage = crate::Stage::open(&entry, &crate::Options::default()).unwrap();
        assert_eq!(stage.errors.len(), 1, "{:?}", stage.errors);
    }
}
