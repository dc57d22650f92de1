//! Overlays: where what is authored about an asset is kept. The asset's own files stay as they are.
//!
//! An overlay of the asset `NAME.usda` is two files: the layer `isaac.usda` with what is authored,
//! and the entry `NAME.isaac.usda`, which includes that layer and below it the asset. Whoever opens
//! the entry sees both. What lists of weaker layers lose is said in the entry.

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
/// The largest layer that is read to be changed, or written, in bytes.
const MAX_BYTES: u64 = 64 << 20;

/// What an overlay is about; it says how its files are called.
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

    /// The name of the layer, without its ending.
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

/// Why an overlay can't be made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The asset, or the overlay that is there, can't be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// There is no prim at the path that was given for the robot.
    #[error("{} has no prim {prim}: give the path of the robot's topmost prim", path.display())]
    NoPrim {
        /// The entry.
        path: PathBuf,
        /// What was given.
        prim: String,
    },
    /// It can't be told which prim is the robot.
    #[error("{} has no robot to start from: no prim applies IsaacRobotAPI, it names no default prim, and has {roots} root prims; give the \
             path of the robot's topmost prim", path.display())]
    NoRobot {
        /// The entry.
        path: PathBuf,
        /// How many root prims it has.
        roots: usize,
    },
    /// A file is there that is no overlay of the asset.
    #[error("{} is there, and is no overlay of {}: nothing is written over it; choose another directory", path.display(), asset.display())]
    Taken {
        /// The file.
        path: PathBuf,
        /// The asset.
        asset: PathBuf,
    },
    /// The layer that is there can't be read.
    #[error("{} cannot be read: {reason}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A layer holds what none can.
    #[error("a layer cannot be written: {0}")]
    Author(#[from] author::Error),
    /// A file can't be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: std::io::Error,
    },
}

/// An asset with the overlay that is to be changed.
#[derive(Debug)]
pub struct Edit {
    /// The asset with the overlay as it was.
    pub stage: Stage,
    /// The layer of the overlay: what is authored here is stronger than the asset.
    pub layer: Layer,
    label: Label,
    /// The asset that the overlay is over.
    base: PathBuf,
    /// Where the files go, as it was given.
    folder: PathBuf,
    name: String,
    /// The overlay's entry as it was, without what it takes off lists of the layer; the stage is
    /// that of it then. What others have authored in it stays.
    entry: Option<sdf::Data>,
}

/// The files of an overlay that was saved.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Saved {
    /// The entry, which includes the layer and the asset.
    pub entry: PathBuf,
    /// The layer.
    pub layer: PathBuf,
    /// Whether anything differs from what was there.
    pub changed: bool,
}

impl Edit {
    /// Opens an asset to change its overlay `label`, which is in the folder `NAME` in `output`
    /// (`NAME`: as the asset's file is called), or beside the asset. If there is one, its content
    /// is kept, but for [`Label::Posed`], which is made anew. `asset` may be the overlay's own
    /// entry.
    ///
    /// # Errors
    /// If something can't be opened, or a file of the overlay's name is there that is none of this
    /// asset.
    pub fn open(
        asset: &Path,
        label: Label,
        output: Option<&Path>,
        packages: Option<Arc<urdf_usd_resolve::Resolver>>,
    ) -> Result<Self, Error> {
        let file = settled(asset);
        let name = name_of(&file);
        let beside = || asset.parent().map(Path::to_owned).unwrap_or_default();
        let shown = output.map_or_else(beside, |output| output.join(&name));
        let folder = settled(&shown);
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
            let layer = Layer::of(data(&stage, label, false));
            return Ok(Self {
                stage,
                layer,
                label,
                base: file,
                folder: shown,
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
            [own, base] if settled(&folder.join(own)) == layer => settled(&folder.join(base)),
            _ => return Err(taken(&entry)),
        };
        if label == Label::Posed {
            let base = if file == entry { base } else { file };
            let stage = Stage::open(&base, &options)?;
            let layer = Layer::of(data(&stage, label, false));
            return Ok(Self {
                stage,
                layer,
                label,
                base,
                folder: shown,
                name,
                entry: None,
            });
        }
        if file != entry && file != base {
            return Err(taken(&entry));
        }
        let mut data = read(&layer)?;
        let entry = unite(&mut data, read(&entry)?)?;
        let layer = Layer::of(data);
        Ok(Self {
            stage,
            layer,
            label,
            base,
            folder: shown,
            name,
            entry: Some(entry),
        })
    }

    /// The overlay's files: paths and contents.
    ///
    /// # Errors
    /// If a layer holds what none can.
    pub fn files(&self) -> Result<[(PathBuf, String); 2], Error> {
        let mut entry = Layer::of(
            self.entry
                .clone()
                .unwrap_or_else(|| data(&self.stage, self.label, true)),
        );
        let own = format!("./{}.usda", self.label.as_str());
        entry.sublayers([own, relative(&settled(&self.folder), &self.base)]);
        if let Some(root) = self.stage.default_prim {
            entry.over(&self.stage[root].path);
        }
        let mut layer = self.layer.data()?.clone();
        part(&mut layer, &mut entry);
        let layer = text::write(&layer)?;
        let entry = text::write(entry.data()?)?;
        let paths = (
            layer_path(&self.folder, self.label),
            entry_path(&self.folder, &self.name, self.label),
        );
        Ok([(paths.0, layer), (paths.1, entry)])
    }

    /// Writes the overlay's files, each whole or not at all: first the layer, then the entry.
    ///
    /// # Errors
    /// If a layer holds what none can, or a file can't be written.
    pub fn save(&self) -> Result<Saved, Error> {
        let files = self.files()?;
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| Error::Write { path, source }
        };
        std::fs::create_dir_all(&self.folder).map_err(failed(&self.folder))?;
        let mut changed = false;
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
            if std::fs::read(path).is_ok_and(|there| there == content.as_bytes()) {
                continue;
            }
            changed = true;
            let file_name = path.file_name().unwrap_or_default().to_string_lossy();
            let new = self
                .folder
                .join(format!(".{file_name}.{}.new", std::process::id()));
            let written = std::fs::write(&new, content).and_then(|()| std::fs::rename(&new, path));
            written.map_err(|error| {
                // What is left of it is of no use to anybody.
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

/// Whether a layer can author anything on a prim: what is below an instance is shared.
pub(crate) fn can_author(stage: &Stage, id: PrimId) -> bool {
    stage[id].instance.is_none()
}

fn entry_path(folder: &Path, name: &str, label: Label) -> PathBuf {
    folder.join(format!("{name}.{}.usda", label.as_str()))
}

fn layer_path(folder: &Path, label: Label) -> PathBuf {
    folder.join(format!("{}.usda", label.as_str()))
}

/// The name of an asset by its file, without endings and what overlays add.
fn name_of(file: &Path) -> String {
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

/// An absolute path without links, dots and what leads nowhere, as far as it exists.
fn settled(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for above in whole.ancestors() {
        if let Ok(there) = above.canonicalize() {
            let rest = whole.strip_prefix(above).unwrap_or(Path::new(""));
            // Joining nothing would end the path with a slash.
            return if rest.as_os_str().is_empty() {
                there
            } else {
                there.join(rest)
            };
        }
    }
    whole
}

/// The asset path by which a layer in `folder` refers to `file`; both are settled.
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

/// The data of a new layer with the metadata of the asset: units and axes are those of the root
/// layer alone. `is_entry`: with all of it.
fn data(stage: &Stage, label: Label, is_entry: bool) -> sdf::Data {
    let of_layer = [
        "defaultPrim",
        "kilogramsPerUnit",
        "metersPerUnit",
        "timeCodesPerSecond",
        "upAxis",
    ];
    let of_asset = [
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
            !of_asset.contains(&key.as_str())
        } else {
            of_layer.contains(&key.as_str())
        } {
            root.add(key, value.clone());
        }
    }
    root.add("documentation", string(label.doc()));
    data
}

/// Moves what relationships that also prepend take off weaker layers into the entry: of two
/// statements about one relationship in a text layer, `openusd` 0.8.0 reads the last alone.
fn part(layer: &mut sdf::Data, entry: &mut Layer) {
    let mut both: Vec<sdf::Path> = layer
        .iter()
        .filter(|(_, spec)| spec.ty == SpecType::Relationship)
        .map(|(path, _)| path.clone())
        .collect();
    // The order of the specs is any.
    both.sort_by(|a, b| a.as_str().cmp(b.as_str()));
    for path in both {
        let Some(Value::PathListOp(op)) =
            layer.spec_mut(&path).and_then(|spec| spec.get_mut(TARGETS))
        else {
            continue;
        };
        // What others have authored of the relationship in the entry stays.
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

/// Takes back what [`part`] has moved; returns the entry without it.
fn unite(layer: &mut sdf::Data, entry: sdf::Data) -> Result<sdf::Data, Error> {
    let mut moved = Vec::new();
    for (path, spec) in entry
        .iter()
        .filter(|(_, spec)| spec.ty == SpecType::Relationship)
    {
        if let Some(Value::PathListOp(of_entry)) = spec.get(TARGETS)
            && *of_entry == sdf::PathListOp::deleted(of_entry.deleted_items.clone())
            && let Some(Value::PathListOp(op)) =
                layer.spec_mut(path).and_then(|spec| spec.get_mut(TARGETS))
        {
            op.deleted_items
                .extend(of_entry.deleted_items.iter().cloned());
            moved.push(path.clone());
        }
    }
    let mut entry = Layer::of(entry);
    for (prim, name) in moved.iter().filter_map(sdf::Path::split_property) {
        entry.over(prim.as_str()).remove_property(name);
    }
    Ok(entry.data()?.clone())
}

/// The data of a text layer that composing has read already.
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
        // In text, a relationship that does not say so is uniform.
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

    use super::{name_of, relative};

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
        assert_eq!(names.map(|name| name_of(Path::new(name))), expected);
    }

    #[test]
    fn the_asset_is_named_from_the_overlays_folder() {
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
