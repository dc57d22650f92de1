//! Overlays: layers with opinions over an asset, whose own files do not change.
//!
//! An overlay of the asset `NAME.usda` consists of two files: the layer `isaac.usda` with the
//! opinions, and the entry `NAME.isaac.usda`, whose sublayers are that layer and the asset. The entry
//! also holds the deletions from lists of weaker layers.

use std::io::Read as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use openusd::sdf::{self, SpecType};
use urdf_usd_resolve::Opened;
use urdf_usd_stage::{OpenError, PrimId, Stage, Value, on_large_stack};
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
    label: Label,
    /// The asset below the overlay.
    base: PathBuf,
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
    /// beside the asset. The content of an existing overlay is kept, except for [`Label::Posed`], which
    /// is replaced. `asset` may be the entry of the overlay itself.
    ///
    /// # Errors
    /// If a file cannot be opened, or a file with the name of the overlay is not one of this asset.
    pub fn open(
        asset: &Path,
        label: Label,
        output: Option<&Path>,
        packages: Option<Arc<urdf_usd_resolve::Resolver>>,
    ) -> Result<Self, Error> {
        let file = canonical(asset);
        let name = asset_name(&file);
        let beside = || asset.parent().map(Path::to_owned).unwrap_or_default();
        let given_folder = output.map_or_else(beside, |output| output.join(&name));
        let folder = canonical(&given_folder);
        let options = urdf_usd_stage::Options {
            packages,
            ..Default::default()
        };
        let (entry, layer) = (
            entry_path(&folder, &name, label),
            layer_path(&folder, label),
        );
        let taken = |path: &Path| Error::Taken {
            path: path.to_owned(),
            asset: asset.to_owned(),
        };
        if !entry.exists() {
            if layer.exists() {
                return Err(taken(&layer));
            }
            let stage = Stage::open(asset, &options)?;
            let layer = Layer::of(new_data(&stage, label, false));
            return Ok(Self {
                stage,
                layer,
                label,
                base: file,
                folder: given_folder,
                name,
                entry: None,
            });
        }
        let stage = Stage::open(&entry, &options)?;
        let below = stage
            .root_layer()
            .map(urdf_usd_stage::Layer::sublayers)
            .unwrap_or_default();
        let base = match below[..] {
            [own, base] if canonical(&folder.join(own)) == layer => canonical(&folder.join(base)),
            _ => return Err(taken(&entry)),
        };
        if label == Label::Posed {
            let base = if file == entry { base } else { file };
            let stage = Stage::open(&base, &options)?;
            let layer = Layer::of(new_data(&stage, label, false));
            return Ok(Self {
                stage,
                layer,
                label,
                base,
                folder: given_folder,
                name,
                entry: None,
            });
        }
        if file != entry && file != base {
            return Err(taken(&entry));
        }
        let mut data = read(&layer)?;
        let entry = restore_deletions(&mut data, read(&entry)?)?;
        let layer = Layer::of(data);
        Ok(Self {
            stage,
            layer,
            label,
            base,
            folder: given_folder,
            name,
            entry: Some(entry),
        })
    }

    /// Returns the paths and contents of the files of the overlay.
    ///
    /// # Errors
    /// If a layer has a value that cannot be written.
    pub fn files(&self) -> Result<[(PathBuf, String); 2], Error> {
        let mut entry = Layer::of(
            self.entry
                .clone()
                .unwrap_or_else(|| new_data(&self.stage, self.label, true)),
        );
        let own = format!("./{}.usda", self.label.as_str());
        entry.sublayers([own, relative(&canonical(&self.folder), &self.base)]);
        if let Some(root) = self.stage.default_prim {
            entry.over(&self.stage[root].path);
        }
        let mut layer = self.layer.data()?.clone();
        move_deletions(&mut layer, &mut entry);
        let layer = text::write(&layer)?;
        let entry = text::write(entry.data()?)?;
        let paths = (
            layer_path(&self.folder, self.label),
            entry_path(&self.folder, &self.name, self.label),
        );
        Ok([(paths.0, layer), (paths.1, entry)])
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
        // Check both files before writing either, so that an overlay that is too large stays as it
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
        let [(layer, _), (entry, _)] = files;
        Ok(Saved {
            entry,
            layer,
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

/// Returns the name of an asset from its file, without extension and the suffixes of overlays.
fn asset_name(file: &Path) -> String {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let mut name = stem.as_ref();
    while let Some(rest) = Label::ALL
        .iter()
        .find_map(|label| name.strip_suffix(label.as_str())?.strip_suffix('.'))
    {
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
fn new_data(stage: &Stage, label: Label, is_entry: bool) -> sdf::Data {
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
    root.add("documentation", string(label.doc()));
    data
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
    Ok(entry.data()?.clone())
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
            ".poses.usda",
            "isaac.usda",
        ];
        let expected = ["arm", "arm", "arm", "arm.v2", ".poses", "isaac"];
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
