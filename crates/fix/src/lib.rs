//! Any OpenUSD robot asset → one that follows REP-158: [`fix`] is the entry point.
//!
//! The asset is composed and read ([`Stage`]), mended as a tree of prims ([`scene`]), one subject
//! per module, and written anew in layers by function ([`layers`]). Paths of prims stay what they
//! are. What can't be mended is a finding; nothing is written to disk.
//!
//! This module must not know URDF, ROS or the network.

pub mod codes;
mod frames;
mod instancers;
mod instances;
mod joints;
mod layers;
mod meshes;
mod metadata;
mod notes;
mod physics;
mod scene;
mod textures;
mod variants;
mod vendors;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use notes::Notes;
use scene::Scene;
use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_resolve::{Files, Resolver};
use urdf_usd_stage::{OpenError, Stage, VariantChoice};

/// How to mend an asset.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Variants that become the default ones.
    pub variants: Vec<VariantChoice>,
    /// Where `package://` looks, and which files may be read beside those in the asset's folder and
    /// its package.
    pub packages: Arc<Resolver>,
}

/// A mended asset: its name, its files by path in its folder, and what was done to it or could not
/// be.
#[derive(Clone, Debug)]
pub struct Fixed {
    /// The name of the default prim, after which the entry is named.
    pub name: String,
    /// The entry's path in the folder: `NAME.usda`.
    pub entry: PathBuf,
    /// What is in the files, by their paths in the asset's folder.
    pub files: BTreeMap<PathBuf, Vec<u8>>,
    /// What was mended (infos) and what could not be (warnings).
    pub diagnostics: Vec<Diagnostic>,
    /// The files that the asset was read from.
    pub used: Vec<PathBuf>,
}

/// Why an asset can't be mended at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It can't be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Its entry can't be read.
    #[error(transparent)]
    Entry(#[from] urdf_usd_resolve::Error),
    /// There is nothing in it.
    #[error("{} has no prim to start from: it names no default prim, and has {roots} root prims", path.display())]
    NoRoot {
        /// The entry.
        path: PathBuf,
        /// How many prims it could be.
        roots: usize,
    },
    /// A layer can't be written.
    #[error("{0}")]
    Write(String),
}

/// Mends the asset `entry`. Nothing is written to disk.
///
/// # Errors
/// If the asset can't be opened, has no root, or holds what no layer can.
pub fn fix(entry: &Path, options: &Options) -> Result<Fixed, Error> {
    let files = Arc::new(Files::new(options.packages.clone()));
    files.find_input(entry, u64::MAX)?;
    let overlays = overlays(entry, &files);
    let with = |variants: Vec<VariantChoice>| {
        let (overlays, packages) = (overlays.clone(), Some(options.packages.clone()));
        urdf_usd_stage::Options {
            variants,
            overlays,
            packages,
            files: Some(files.clone()),
            ..Default::default()
        }
    };
    let stage = Stage::open(entry, &with(options.variants.clone()))?;
    let mut notes = Notes::new(entry);
    for error in &stage.errors {
        notes.left(
            error.path.clone().unwrap_or_default(),
            error.message.trim_end_matches(':'),
            "put the file where the path leads, allow its folder with --allowed-root, or remove what leads there",
        );
    }
    let mut used: Vec<PathBuf> = stage
        .layers
        .iter()
        .map(|layer| layer.path.clone())
        .collect();
    let mut scene = mended(&stage, entry, &mut notes)?;
    let mut others = Vec::new();
    for choice in stage.other_variants(&options.variants) {
        let chosen = options
            .variants
            .iter()
            .cloned()
            .chain([choice.clone()])
            .collect();
        let other = stage.reopen(&with(chosen))?;
        used.extend(other.layers.iter().map(|layer| layer.path.clone()));
        let mut of_variant = Notes::new(entry);
        let other = mended(&other, entry, &mut of_variant)?;
        others.push((choice, other, of_variant));
    }
    let mut files = BTreeMap::new();
    let scenes = std::iter::once(&mut scene).chain(others.iter_mut().map(|(_, other, _)| other));
    used.extend(textures::collect(scenes, &stage, &mut files, &mut notes));
    let scenes = others
        .iter_mut()
        .map(|(_, other, of_variant)| (other, of_variant));
    let source = scene.nodes[scene.root].source;
    let library = instances::share(
        source,
        std::iter::once((&mut scene, &mut notes))
            .chain(scenes)
            .collect(),
    );
    for (choice, other, of_variant) in others {
        variants::keep(&mut scene, &choice, other);
        // What is to be said of the other variants' prims has been said of the same ones here, or
        // is said of what differs.
        notes.of_variant(&choice, of_variant);
    }
    used.sort();
    used.dedup();
    let name = scene.name().to_owned();
    layers::write(&scene, &library, &mut files, &mut notes)?;
    Ok(Fixed {
        entry: PathBuf::from(format!("{name}.usda")),
        name,
        files,
        diagnostics: notes.finish(),
        used,
    })
}

/// The layers that entries for single simulators put over the asset: those of `NAME.VENDOR.usda`
/// beside `NAME.usda`.
fn overlays(entry: &Path, files: &Arc<Files>) -> Vec<PathBuf> {
    let (Some(folder), Some(stem), Some(name)) = (
        entry.parent(),
        entry.file_stem().and_then(|s| s.to_str()),
        entry.file_name(),
    ) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for file in std::fs::read_dir(if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    })
    .into_iter()
    .flatten()
    .flatten()
    {
        let path = file.path();
        let is_overlay = path
            .file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| {
                name.strip_prefix(stem)
                    .and_then(|rest| rest.strip_prefix('.')?.strip_suffix(".usda"))
                    .is_some_and(|vendor| !vendor.contains('.'))
            });
        if !is_overlay {
            continue;
        }
        let unloaded = urdf_usd_stage::Options {
            payloads: false,
            files: Some(files.clone()),
            ..Default::default()
        };
        let Ok(stage) = Stage::open(&path, &unloaded) else {
            continue;
        };
        let Some(root) = stage.root_layer() else {
            continue;
        };
        let layers = root.sublayers();
        let is_of_entry =
            |layer: &&str| Path::new(layer.trim_start_matches("./")).as_os_str() == name;
        let Some(at) = layers.iter().position(is_of_entry) else {
            continue;
        };
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        found.extend(
            layers
                .iter()
                .take(at)
                .map(|layer| folder.join(layer.trim_start_matches("./"))),
        );
    }
    found.sort();
    found
}

/// The scene of a stage, with everything mended but for what needs to know its variants.
fn mended(stage: &Stage, entry: &Path, notes: &mut Notes) -> Result<Scene, Error> {
    let mut scene = Scene::of(stage, notes).ok_or_else(|| Error::NoRoot {
        path: entry.to_owned(),
        roots: stage
            .prims
            .iter()
            .filter(|prim| prim.parent.is_none() && prim.is_present())
            .count(),
    })?;
    let places = frames::settle(&mut scene, stage, notes);
    instancers::settle(&mut scene, &places, notes);
    joints::settle(&mut scene, stage, &places, notes);
    physics::settle(&mut scene, stage, &places, notes);
    meshes::hulls(&mut scene, notes);
    vendors::translate(&mut scene, notes);
    metadata::settle(&mut scene, stage, notes);
    instances::keep(&mut scene, stage, notes);
    layers::arrange(&mut scene);
    Ok(scene)
}
