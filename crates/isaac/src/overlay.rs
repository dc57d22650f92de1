//! Overlays: layers with opinions over an asset, whose own files do not change.
//!
//! An overlay of the asset `NAME.usda` consists of two files: the layer `isaac.usda` with the
//! opinions, and the entry `NAME.isaac.usda`, whose sublayers are that layer and the asset. The entry
//! also holds the deletions from lists of weaker layers. If another asset of the folder has a layer of
//! that name, the layer is `NAME_isaac.usda`. The overlay of a pose has a second layer: transforms and
//! physics are in separate ones (REP-158 §1.2.1).
//!
//! All entries of an asset give access to the same overlay: [`lineage`] follows the overlays down to
//! the asset.

use std::io::Read as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use openusd::sdf::{self, SpecType};
use urdf_usd_resolve::{Opened, Resolver};
use urdf_usd_stage::{OpenError, PrimId, Stage, Value, on_large_stack, texts};
use urdf_usd_usd_author::isaac_schema::other_pose_path;
use urdf_usd_usd_author::layout::OVERLAYS;
use urdf_usd_usd_author::text;
use urdf_usd_usd_author::{self as author, Layer, Relationship, string};

/// The field of a relationship that holds its targets.
const TARGETS: &str = "targetPaths";
/// Maximum size of a layer that is read or written, in bytes.
const MAX_BYTES: u64 = 64 << 20;

/// The subject of an overlay, which determines the names of its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// The Isaac robot schema: `isaac.usda`.
    Isaac,
    /// Named poses: `poses.usda`.
    Poses,
    /// The robot in one pose: `posed.usda`.
    Posed,
}

impl Label {
    const ALL: [Self; 3] = [Self::Isaac, Self::Poses, Self::Posed];

    /// Returns the name of the layer, without extension.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Isaac => "isaac",
            Self::Poses => "poses",
            Self::Posed => "posed",
        }
    }

    fn doc(self) -> &'static str {
        match self {
            Self::Isaac => "Links, joints and sites in the words of the Isaac robot schema",
            Self::Poses => "Named poses",
            Self::Posed => "The bodies in one pose of the robot",
        }
    }

    /// Returns the documentation of the second layer, if the overlay has one.
    fn doc_of_drives(self) -> Option<&'static str> {
        (self == Self::Posed).then_some("The drives of the joints in one pose of the robot")
    }
}

/// Errors of reading and writing overlays.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The asset, or its existing overlay, cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The given path of the robot has no prim.
    #[error("{} has no prim {prim}: give the path of the robot's topmost prim", path.display())]
    NoPrim {
        /// The entry.
        path: PathBuf,
        /// The given path.
        prim: String,
    },
    /// The asset does not determine its robot.
    #[error("{} has no robot: no prim applies IsaacRobotAPI, it names no default prim, and has {roots} root prims; give the \
             path of the robot's topmost prim", path.display())]
    NoRobot {
        /// The entry.
        path: PathBuf,
        /// Number of root prims.
        roots: usize,
    },
    /// A file with the name of the overlay exists, but is not an overlay of the asset.
    #[error("{} exists, but is not an overlay of {}, and is not overwritten; choose another directory", path.display(), asset.display())]
    Taken {
        /// The file.
        path: PathBuf,
        /// The asset.
        asset: PathBuf,
    },
    /// The existing layer cannot be read.
    #[error("{} cannot be read: {reason}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// A layer has a value that cannot be written.
    #[error("a layer cannot be written: {0}")]
    Author(#[from] author::Error),
    /// A file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
}

/// An asset with an overlay that is edited.
#[derive(Debug)]
pub struct Edit {
    /// The asset with the overlay before the edit.
    pub stage: Stage,
    /// The layer of the overlay, which is stronger than the asset.
    pub layer: Layer,
    /// The second layer of [`Label::Posed`], for drives and states of joints. It remains empty for others.
    pub drives: Layer,
    label: Label,
    /// The entry below the overlay.
    base: PathBuf,
    /// The sublayers of the existing entry between the layer and the base, such as that of an engine.
    between: Vec<String>,
    layer_name: LayerName,
    /// The folder of the overlay, as given.
    folder: PathBuf,
    name: String,
    /// The existing entry of the overlay, without its deletions from lists of the layer. Other opinions
    /// in it are preserved.
    entry: Option<sdf::Data>,
}

/// The files of a saved overlay.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Saved {
    /// The entry, whose sublayers are the layer and the asset.
    pub entry: PathBuf,
    /// The layer.
    pub layer: PathBuf,
    /// Whether a file differs from its previous content.
    pub changed: bool,
}

impl Edit {
    /// Opens an asset to edit its overlay `label`.
    ///
    /// The overlay is in the folder `NAME` of `output`, where `NAME` is the stem of the asset's file, or
    /// beside the asset. The content of an existing overlay is kept. `asset` may be any entry of the
    /// asset: [`Label::Isaac`] is authored over the asset itself, [`Label::Poses`] over the overlay
    /// `isaac` if there is one, and [`Label::Posed`] over the named entry.
    ///
    /// # Errors
    /// If a file cannot be opened, or a file with the name of the overlay is not one of this asset.
    pub fn open(
        asset: &Path,
        label: Label,
        output: Option<&Path>,
        packages: Option<Arc<Resolver>>,
    ) -> Result<Self, Error> {
        Self::start(asset, label, output, packages, false)
    }

    /// Opens an asset as [`Edit::open`] does, to replace its overlay: nothing of an existing one is kept.
    ///
    /// # Errors
    /// As of [`Edit::open`].
    pub fn replace(
        asset: &Path,
        label: Label,
        output: Option<&Path>,
        packages: Option<Arc<Resolver>>,
    ) -> Result<Self, Error> {
        Self::start(asset, label, output, packages, true)
    }

    fn start(
        asset: &Path,
        label: Label,
        output: Option<&Path>,
        packages: Option<Arc<Resolver>>,
        is_replaced: bool,
    ) -> Result<Self, Error> {
        let file = canonical(asset);
        let lineage = lineage(&file);
        let own_asset = lineage.last().unwrap_or(&file);
        let name = asset_name(own_asset);
        let beside = || asset.parent().map(Path::to_owned).unwrap_or_default();
        let given_folder = output.map_or_else(beside, |output| output.join(&name));
        let folder = canonical(&given_folder);
        let options = urdf_usd_stage::Options {
            packages,
            ..Default::default()
        };
        let entry = entry_path(&folder, &name, label);
        let wanted = match label {
            Label::Isaac => own_asset.clone(),
            Label::Poses => base_of_poses(&lineage, &entry),
            Label::Posed => file.clone(),
        };
        let taken = |path: &Path| Error::Taken {
            path: path.to_owned(),
            asset: asset.to_owned(),
        };
        if !entry.exists() {
            let layer_name = LayerName::free(&folder, &name, label)
                .ok_or_else(|| taken(&layer_path(&folder, label)))?;
            let stage = Stage::open(&wanted, &options)?;
            let [layer, drives] = new_layers(&stage, label);
            return Ok(Self {
                stage,
                layer,
                drives,
                label,
                base: wanted,
                between: Vec::new(),
                layer_name,
                folder: given_folder,
                name,
                entry: None,
            });
        }
        if self::lineage(&entry).last() != Some(own_asset) {
            return Err(taken(&entry));
        }
        let stage = Stage::open(&entry, &options)?;
        let below = stage
            .root_layer()
            .map(urdf_usd_stage::Layer::sublayers)
            .unwrap_or_default();
        let [own, between @ .., base] = below.as_slice() else {
            return Err(taken(&entry));
        };
        let layer_name = LayerName::of(own, &name, label).ok_or_else(|| taken(&entry))?;
        let before = canonical(&folder.join(base));
        let base = match label {
            // An overlay of another entry follows the named one.
            Label::Posed if file != entry => wanted,
            // Poses of the overlay `isaac`, if it was written after the poses were stored.
            Label::Poses if before == *own_asset => wanted,
            _ => before.clone(),
        };
        let drives_name = layer_name.of_drives();
        let (of_drives, between): (Vec<&str>, Vec<&str>) =
            between.iter().partition(|path| drives_name.is(path));
        let between = between.into_iter().map(str::to_owned).collect();
        if is_replaced {
            let stage = Stage::open(&base, &options)?;
            let [layer, drives] = new_layers(&stage, label);
            return Ok(Self {
                stage,
                layer,
                drives,
                label,
                base,
                between,
                layer_name,
                folder: given_folder,
                name,
                entry: None,
            });
        }
        let mut data = read(&folder.join(&layer_name.0))?;
        let restored = restore_deletions(&mut data, read(&entry)?)?;
        let [_, new_drives] = new_layers(&stage, label);
        let drives = match of_drives.as_slice() {
            [] => new_drives,
            _ => Layer::of(read(&folder.join(&drives_name.0))?),
        };
        let mut edit = Self {
            stage,
            layer: Layer::of(data),
            drives,
            label,
            base,
            between,
            layer_name,
            folder: given_folder,
            name,
            entry: Some(restored),
        };
        if edit.base != before {
            // Compose the layer with its other base, which may have other prims. Nothing is written
            // before the edit is saved.
            let content = edit
                .files()?
                .pop()
                .map(|(_, text)| text.into_bytes().into());
            let options = urdf_usd_stage::Options { content, ..options };
            edit.stage = Stage::open(&entry, &options)?;
        }
        Ok(edit)
    }

    /// Removes what the entry says about named poses that the layer stores or deletes, in either scope:
    /// Isaac Sim edits the file that it opened, which is stronger than the layer.
    ///
    /// # Errors
    /// If the entry has a value that cannot be written.
    pub fn override_poses(&mut self, paths: &[String]) -> Result<(), Error> {
        let Some(entry) = self.entry.take() else {
            return Ok(());
        };
        let others = paths.iter().filter_map(|path| other_pose_path(path));
        let paths: Vec<String> = others.chain(paths.iter().cloned()).collect();
        let is_kept = |target: &sdf::Path| !paths.iter().any(|path| path == target.as_str());
        let mut entry = Layer::of(entry);
        for path in &paths {
            entry.remove(path);
        }
        let mut data = entry.into_data()?;
        let mut empty = Vec::new();
        let relationships: Vec<sdf::Path> = data
            .iter()
            .filter(|(_, spec)| spec.ty == SpecType::Relationship)
            .map(|(path, _)| path.clone())
            .collect();
        for path in relationships {
            if let Some(Value::PathListOp(op)) =
                data.spec_mut(&path).and_then(|spec| spec.get_mut(TARGETS))
            {
                let had = *op != sdf::PathListOp::default();
                op.explicit_items.retain(is_kept);
                op.added_items.retain(is_kept);
                op.prepended_items.retain(is_kept);
                op.appended_items.retain(is_kept);
                if had && *op == sdf::PathListOp::default() {
                    empty.push(path);
                }
            }
        }
        let mut entry = Layer::of(data);
        for (prim, name) in empty.iter().filter_map(sdf::Path::split_property) {
            entry.over(prim.as_str()).remove_property(name);
        }
        self.entry = Some(entry.into_data()?);
        Ok(())
    }

    /// Returns the paths and contents of the files of the overlay: its layers, then the entry.
    fn files(&self) -> Result<Vec<(PathBuf, String)>, Error> {
        let mut entry = Layer::of(
            self.entry
                .clone()
                .unwrap_or_else(|| new_data(&self.stage, self.label.doc(), true)),
        );
        let mut layer = self.layer.clone().into_data()?;
        move_deletions(&mut layer, &mut entry);
        let mut files = vec![(&self.layer_name, text::write(&layer)?)];
        let drives_name = self.layer_name.of_drives();
        if self.label.doc_of_drives().is_some() {
            files.push((&drives_name, self.drives.text()?));
        }
        let own = files.iter().map(|(name, _)| format!("./{}", name.0));
        let base = relative(&canonical(&self.folder), &self.base);
        let between = self.between.iter().cloned();
        entry.sublayers(own.chain(between).chain([base]));
        if let Some(root) = self.stage.default_prim {
            entry.over(&self.stage[root].path);
        }
        let layers = files
            .into_iter()
            .map(|(name, text)| (self.folder.join(&name.0), text));
        let mut files: Vec<_> = layers.collect();
        files.push((
            entry_path(&self.folder, &self.name, self.label),
            entry.text()?,
        ));
        Ok(files)
    }

    /// Writes the files of the overlay, each atomically: first the layer, then the entry.
    ///
    /// # Errors
    /// If a layer has a value that cannot be written, or a file cannot be written.
    pub fn save(&self) -> Result<Saved, Error> {
        let files = self.files()?;
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| Error::Write { path, source }
        };
        std::fs::create_dir_all(&self.folder).map_err(failed(&self.folder))?;
        let mut changed = false;
        // Check all files before writing any, so that an overlay that is too large stays as it
        // was.
        if let Some((path, _)) = files
            .iter()
            .find(|(_, content)| content.len() as u64 > MAX_BYTES)
        {
            return Err(Error::Write {
                path: path.clone(),
                source: std::io::ErrorKind::FileTooLarge.into(),
            });
        }
        for (path, content) in &files {
            if std::fs::read(path).is_ok_and(|existing| existing == content.as_bytes()) {
                continue;
            }
            changed = true;
            let file_name = path.file_name().unwrap_or_default().to_string_lossy();
            let new = self
                .folder
                .join(format!(".{file_name}.{}.new", std::process::id()));
            let written = std::fs::write(&new, content).and_then(|()| std::fs::rename(&new, path));
            written.map_err(|error| {
                // Remove the partial file.
                let _ = std::fs::remove_file(&new);
                failed(path)(error)
            })?;
        }
        Ok(Saved {
            entry: entry_path(&self.folder, &self.name, self.label),
            layer: self.folder.join(&self.layer_name.0),
            changed,
        })
    }
}

/// Whether a layer can author opinions on a prim: prims below an instance are shared.
pub(crate) fn can_author(stage: &Stage, id: PrimId) -> bool {
    stage[id].instance.is_none()
}

fn entry_path(folder: &Path, name: &str, label: Label) -> PathBuf {
    folder.join(format!("{name}.{}.usda", label.as_str()))
}

fn layer_path(folder: &Path, label: Label) -> PathBuf {
    folder.join(format!("{}.usda", label.as_str()))
}

/// The file name of the layer of an overlay.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LayerName(String);

impl LayerName {
    /// Returns the possible names of the layer of the asset `name`, in order.
    fn all(name: &str, label: Label) -> [String; 2] {
        let label = label.as_str();
        [format!("{label}.usda"), format!("{name}_{label}.usda")]
    }

    /// Returns the name of a new layer in a folder: the first, unless it is that of another asset. `None`
    /// if files of these names exist that are not such layers.
    fn free(folder: &Path, name: &str, label: Label) -> Option<Self> {
        let [first, second] = Self::all(name, label).map(Self);
        let is_free = |layer: &Self| !folder.join(&layer.0).exists();
        if is_free(&first) {
            return Some(first);
        }
        let files = std::fs::read_dir(folder).ok()?;
        let mut entries = files
            .filter_map(|file| Some(file.ok()?.path()))
            .filter(|file| has_label(file, label));
        let uses_first = |entry: PathBuf| {
            let own = sublayers(&entry).and_then(|sublayers| sublayers.into_iter().next());
            own.and_then(|own| Self::of(&own, name, label)) == Some(first.clone())
        };
        entries.any(uses_first).then_some(second).filter(is_free)
    }

    /// Returns the name of the layer that an entry includes as `sublayer`, if it is one of this asset.
    fn of(sublayer: &str, name: &str, label: Label) -> Option<Self> {
        let all = Self::all(name, label).into_iter();
        all.map(Self).find(|layer| layer.is(sublayer))
    }

    /// Returns whether `sublayer` is this layer.
    fn is(&self, sublayer: &str) -> bool {
        sublayer.strip_prefix("./").unwrap_or(sublayer) == self.0
    }

    /// Returns the name of the second layer of the overlay.
    fn of_drives(&self) -> Self {
        let stem = self.0.strip_suffix(".usda").unwrap_or(&self.0);
        Self(format!("{stem}_drives.usda"))
    }
}

/// Returns the files of an overlay of the asset with the entry `asset`: the possible layers and the entry.
pub(crate) fn overlay_files(asset: &Path, label: Label) -> [PathBuf; 3] {
    let (folder, name) = (asset.parent().unwrap_or(Path::new("")), asset_name(asset));
    let [one, other] = LayerName::all(&name, label);
    [
        folder.join(one),
        folder.join(other),
        entry_path(folder, &name, label),
    ]
}

/// Returns an entry, the entry that it is an overlay of, and so on; the last is the asset's own.
pub(crate) fn lineage(entry: &Path) -> Vec<PathBuf> {
    let mut found = vec![canonical(entry)];
    while let Some(below) = found.last().and_then(|entry| below(entry))
        && !found.contains(&below)
    {
        found.push(below);
    }
    found
}

/// Returns the entry of the same asset that an overlay's entry includes as its last sublayer.
fn below(entry: &Path) -> Option<PathBuf> {
    let name = asset_name(entry);
    if entry.file_stem()?.to_string_lossy() == name {
        return None;
    }
    let base = canonical(&entry.parent()?.join(sublayers(entry)?.last()?));
    (asset_name(&base) == name).then_some(base)
}

/// Returns the sublayers of a text layer, as authored.
fn sublayers(entry: &Path) -> Option<Vec<String>> {
    let data = read(entry).ok()?;
    let root = data.spec(&sdf::Path::abs_root())?;
    let sublayers = root.get("subLayers").and_then(texts)?;
    Some(sublayers.into_iter().map(str::to_owned).collect())
}

/// Returns the entry that poses are stored over: the overlay `isaac` of the asset if there is one, which
/// may have poses, or the asset itself. `entry` is the entry of the overlay of poses.
fn base_of_poses(lineage: &[PathBuf], entry: &Path) -> PathBuf {
    let own_asset = lineage.last().map(PathBuf::as_path).unwrap_or(entry);
    overlay_in(lineage, Label::Isaac, Some(entry)).unwrap_or_else(|| own_asset.to_owned())
}

/// Returns the entry with all poses of the asset that `entry` belongs to: the entry itself if it includes
/// the overlay of poses, that overlay, the overlay `isaac`, or the asset itself.
pub fn entry_with_poses(entry: &Path) -> PathBuf {
    let lineage = lineage(entry);
    let is_poses = |file: &PathBuf| has_label(file, Label::Poses);
    if lineage.iter().any(is_poses) {
        return entry.to_owned();
    }
    let found = overlay_in(&lineage, Label::Poses, None)
        .or_else(|| overlay_in(&lineage, Label::Isaac, None))
        .filter(|found| !lineage.contains(found));
    let Some(found) = found else {
        return entry.to_owned();
    };
    // As the caller has it: messages show this path.
    let beside = entry.with_file_name(found.file_name().unwrap_or_default());
    if canonical(&beside) == found {
        beside
    } else {
        found
    }
}

/// Returns the entry of the overlay `isaac` of the asset that `entry` belongs to, if `entry` does not
/// include it.
pub(crate) fn with_schema(entry: &Path) -> Option<PathBuf> {
    let lineage = lineage(entry);
    overlay_in(&lineage, Label::Isaac, None).filter(|found| !lineage.contains(found))
}

/// Opens an asset with all its named poses, whichever of its entries is given.
///
/// # Errors
/// If a file cannot be opened.
pub fn open_with_poses(entry: &Path, packages: Option<Arc<Resolver>>) -> Result<Stage, Error> {
    let entry = entry_with_poses(entry);
    match Edit::open(&entry, Label::Poses, None, packages.clone()) {
        Err(Error::Taken { .. }) => {
            let options = urdf_usd_stage::Options {
                packages,
                ..Default::default()
            };
            Ok(Stage::open(&entry, &options)?)
        }
        opened => opened.map(|edit| edit.stage),
    }
}

/// Returns the entry of an overlay beside the entries of an asset. An overlay that includes `except` is
/// none.
fn overlay_in(entries: &[PathBuf], label: Label, except: Option<&Path>) -> Option<PathBuf> {
    let own_asset = entries.last()?;
    let name = asset_name(own_asset);
    let candidates = entries
        .iter()
        .filter_map(|file| Some(entry_path(file.parent()?, &name, label)));
    candidates.into_iter().find(|found| {
        let includes = lineage(found);
        found.is_file()
            && includes.last() == Some(own_asset)
            && !except.is_some_and(|except| includes.iter().any(|file| file == except))
    })
}

/// Returns whether the name of an entry is that of an overlay.
fn has_label(entry: &Path, label: Label) -> bool {
    let stem = entry.file_stem().unwrap_or_default().to_string_lossy();
    stem.strip_suffix(label.as_str())
        .is_some_and(|rest| rest.ends_with('.'))
}

/// Returns the name of an asset from its file, without extension and the suffixes of overlays.
fn asset_name(file: &Path) -> String {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let labels = || {
        Label::ALL
            .iter()
            .map(|label| label.as_str())
            .chain(OVERLAYS)
    };
    let mut name = stem.as_ref();
    while let Some(rest) = labels().find_map(|label| name.strip_suffix(label)?.strip_suffix('.')) {
        name = rest;
    }
    if name.is_empty() {
        stem.into_owned()
    } else {
        name.to_owned()
    }
}

/// Canonicalizes the existing part of a path, and makes the rest absolute.
///
/// The empty path is the working directory: it is the parent of a bare file name.
fn canonical(path: &Path) -> PathBuf {
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for above in absolute.ancestors() {
        if let Ok(existing) = above.canonicalize() {
            let rest = absolute.strip_prefix(above).unwrap_or(Path::new(""));
            // Joining an empty path would append a slash.
            return if rest.as_os_str().is_empty() {
                existing
            } else {
                existing.join(rest)
            };
        }
    }
    absolute
}

/// Returns the asset path of `file` relative to `folder`; both are canonical.
fn relative(folder: &Path, file: &Path) -> String {
    let (from, to): (Vec<Component<'_>>, Vec<Component<'_>>) =
        (folder.components().collect(), file.components().collect());
    let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n("..".to_owned(), from.len() - common);
    let down = to
        .iter()
        .skip(common)
        .map(|part| part.as_os_str().to_string_lossy().into_owned());
    let path = up.chain(down).collect::<Vec<_>>().join("/");
    if from.len() > common {
        path
    } else {
        format!("./{path}")
    }
}

/// Creates the data of a new layer with the units and axes of the asset's root layer; for the entry,
/// with all metadata of the root layer, as OpenUSD reads it from there only.
fn new_data(stage: &Stage, doc: &str, is_entry: bool) -> sdf::Data {
    let units = [
        "defaultPrim",
        "kilogramsPerUnit",
        "metersPerUnit",
        "timeCodesPerSecond",
        "upAxis",
    ];
    let excluded = [
        "subLayers",
        "subLayerOffsets",
        "documentation",
        "comment",
        "layerRelocates",
        "primOrder",
    ];
    let mut data = sdf::Data::new();
    let root = data.create_spec(sdf::Path::abs_root(), SpecType::PseudoRoot);
    for (key, value) in stage.root_layer().iter().flat_map(|layer| &layer.metadata) {
        if if is_entry {
            !excluded.contains(&key.as_str())
        } else {
            units.contains(&key.as_str())
        } {
            root.add(key, value.clone());
        }
    }
    root.add("documentation", string(doc));
    data
}

/// Returns the empty layers of a new overlay.
fn new_layers(stage: &Stage, label: Label) -> [Layer; 2] {
    [label.doc(), label.doc_of_drives().unwrap_or_default()]
        .map(|doc| Layer::of(new_data(stage, doc, false)))
}

/// Moves the deletions of relationships that also prepend into the entry.
///
/// A text layer has one statement per list operation, and `openusd` 0.8.0 reads only the last
/// statement about a relationship.
fn move_deletions(layer: &mut sdf::Data, entry: &mut Layer) {
    let mut relationships: Vec<sdf::Path> = layer
        .iter()
        .filter(|(_, spec)| spec.ty == SpecType::Relationship)
        .map(|(path, _)| path.clone())
        .collect();
    // Specs are unordered.
    relationships.sort_by(|a, b| a.as_str().cmp(b.as_str()));
    for path in relationships {
        let Some(Value::PathListOp(op)) =
            layer.spec_mut(&path).and_then(|spec| spec.get_mut(TARGETS))
        else {
            continue;
        };
        // Keep opinions about the relationship that others have authored in the entry.
        if op.prepended_items.is_empty() || entry.has(path.as_str()) {
            continue;
        }
        let Some((prim, name)) = path.split_property() else {
            continue;
        };
        let deleted: Vec<String> = op
            .deleted_items
            .drain(..)
            .map(|path| path.as_str().to_owned())
            .collect();
        if !deleted.is_empty() {
            let none: [String; 0] = [];
            entry
                .over(prim.as_str())
                .relationship(name, Relationship::prepend(none).delete(deleted));
        }
    }
}

/// Reverts [`move_deletions`], and returns the entry without the deletions.
fn restore_deletions(layer: &mut sdf::Data, entry: sdf::Data) -> Result<sdf::Data, Error> {
    let mut moved = Vec::new();
    for (path, spec) in entry
        .iter()
        .filter(|(_, spec)| spec.ty == SpecType::Relationship)
    {
        if let Some(Value::PathListOp(entry_op)) = spec.get(TARGETS)
            && *entry_op == sdf::PathListOp::deleted(entry_op.deleted_items.clone())
            && let Some(Value::PathListOp(op)) =
                layer.spec_mut(path).and_then(|spec| spec.get_mut(TARGETS))
        {
            op.deleted_items
                .extend(entry_op.deleted_items.iter().cloned());
            moved.push(path.clone());
        }
    }
    let mut entry = Layer::of(entry);
    for (prim, name) in moved.iter().filter_map(sdf::Path::split_property) {
        entry.over(prim.as_str()).remove_property(name);
    }
    Ok(entry.into_data()?)
}

/// Reads the data of a text layer, which composition has already accepted.
fn read(path: &Path) -> Result<sdf::Data, Error> {
    let failed = |reason: String| Error::Read {
        path: path.to_owned(),
        reason,
    };
    let opened = Opened::at(path).map_err(|error| failed(error.to_string()))?;
    if opened.meta.len() > MAX_BYTES {
        return Err(failed(format!("it is larger than {} MiB", MAX_BYTES >> 20)));
    }
    let mut text = String::new();
    opened
        .file
        .take(MAX_BYTES)
        .read_to_string(&mut text)
        .map_err(|error| failed(error.to_string()))?;
    let parsed = on_large_stack(|| openusd::usda::parse(&text).map_err(|error| error.to_string()));
    let mut data = parsed
        .map_err(|error| failed(error.to_string()))?
        .map_err(failed)?;
    let relationships: Vec<sdf::Path> = data
        .iter()
        .filter(|(_, spec)| spec.ty == SpecType::Relationship)
        .map(|(path, _)| path.clone())
        .collect();
    for path in relationships {
        // A relationship is uniform unless the text declares it varying.
        if let Some(spec) = data.spec_mut(&path)
            && spec.get("variability").is_none()
        {
            spec.add("variability", Value::Variability(sdf::Variability::Uniform));
        }
    }
    Ok(data)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{asset_name, relative};

    #[test]
    fn overlays_of_overlays_have_the_assets_name() {
        let names = [
            "arm.usda",
            "arm.isaac.usda",
            "arm.isaac.poses.usda",
            "arm.v2.usdc",
            "arm.newton.usda",
            ".poses.usda",
            "isaac.usda",
        ];
        let expected = ["arm", "arm", "arm", "arm.v2", "arm", ".poses", "isaac"];
        assert_eq!(names.map(|name| asset_name(Path::new(name))), expected);
    }

    #[test]
    fn asset_paths_are_relative_to_the_overlay() {
        for (folder, file, expected) in [
            ("/a/b", "/a/b/c.usda", "./c.usda"),
            ("/a/b", "/a/c/d.usda", "../c/d.usda"),
            ("/a/b", "/a/b/c/d.usda", "./c/d.usda"),
            ("/a", "/b.usda", "../b.usda"),
            ("/", "/b.usda", "./b.usda"),
            ("/a/b", "/a/..b/c.usda", "../..b/c.usda"),
            ("/a", "/a/..b.usda", "./..b.usda"),
        ] {
            assert_eq!(relative(Path::new(folder), Path::new(file)), expected);
        }
    }
}
