//! Converts OpenUSD robot assets to assets that follow REP-158: [`fix`] is the entry point.
//!
//! The asset is composed ([`Stage`]), fixed as a tree of prims ([`scene`]) with a module per subject,
//! and written in layers by function ([`layers`]). Paths of prims do not change. Violations that
//! cannot be fixed are reported; nothing is written to disk.
//!
//! This crate must not depend on URDF, ROS or the network.

pub mod codes;
mod compare;
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
mod shapes;
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

pub use compare::{Contents, compare};
pub use urdf_usd_rep158::Revision;
pub use urdf_usd_usd_author::dialects::Dialect;

/// Options of [`fix`].
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The revision of REP-158.
    pub revision: Revision,
    /// Engines whose words say mimic relations and the passive behaviour of joints, besides those of the source.
    pub engines: Vec<Dialect>,
    /// Variants that become the default selections.
    pub variants: Vec<VariantChoice>,
    /// The resolver of `package://` URIs, and of the files that may be read outside of the asset's
    /// folder and package.
    pub packages: Arc<Resolver>,
}

/// A fixed asset, with its files and a report.
#[derive(Clone, Debug)]
pub struct Fixed {
    /// The name of the default prim, which is also that of the entry.
    pub name: String,
    /// The path of the entry in the folder: `NAME.usda`.
    pub entry: PathBuf,
    /// The contents of the files, by path in the folder.
    pub files: BTreeMap<PathBuf, Vec<u8>>,
    /// The fixes (infos) and the remaining violations (warnings).
    pub diagnostics: Vec<Diagnostic>,
    /// The files that the asset was read from.
    pub used: Vec<PathBuf>,
    /// The contents of the source in each variant, for [`compare`].
    pub sources: Vec<Contents>,
}

/// Errors of [`fix`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The asset cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The entry cannot be read.
    #[error(transparent)]
    Entry(#[from] urdf_usd_resolve::Error),
    /// The asset has no default prim, and not exactly one root prim.
    #[error("{} has no root prim: it names no default prim, and has {roots} root prims", path.display())]
    NoRoot {
        /// The entry.
        path: PathBuf,
        /// Number of root prims.
        roots: usize,
    },
    /// A layer cannot be written.
    #[error("{0}")]
    Write(String),
}

/// Fixes the asset with the root layer `entry`. Nothing is written to disk.
///
/// # Errors
/// If the asset cannot be opened, has no root prim, or has values that cannot be written.
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
    notes.broken(&stage.errors);
    let mut sources = vec![Contents::new(&stage, Vec::new())];
    let mut used: Vec<PathBuf> = stage
        .layers
        .iter()
        .map(|layer| layer.path.clone())
        .collect();
    let mut data = urdf_usd_rep158::data_images(&stage);
    let mut scene = fixed_scene(&stage, entry, options, &mut notes)?;
    let mut others = Vec::new();
    for choice in stage.other_variants(&options.variants) {
        let chosen = options
            .variants
            .iter()
            .cloned()
            .chain([choice.clone()])
            .collect();
        let other = stage.reopen(&with(chosen))?;
        sources.push(Contents::new(&other, vec![choice.clone()]));
        used.extend(other.layers.iter().map(|layer| layer.path.clone()));
        data.extend(urdf_usd_rep158::data_images(&other));
        let mut variant_notes = Notes::new(entry);
        variant_notes.broken(&other.errors);
        let other = fixed_scene(&other, entry, options, &mut variant_notes)?;
        others.push((choice, other, variant_notes));
    }
    let mut files = BTreeMap::new();
    let scenes = std::iter::once(&mut scene).chain(others.iter_mut().map(|(_, other, _)| other));
    // Before `share`: materials that name equal files are equal only afterwards.
    used.extend(textures::collect(
        scenes, &stage, &data, &mut files, &mut notes,
    ));
    let scenes = others
        .iter_mut()
        .map(|(_, other, variant_notes)| (other, variant_notes));
    let source = scene.nodes[scene.root].source;
    let library = instances::share(
        source,
        std::iter::once((&mut scene, &mut notes))
            .chain(scenes)
            .collect(),
    );
    for (choice, other, variant_notes) in others {
        variants::add(&mut scene, &choice, other, &mut notes);
        // Notes about prims that do not differ have already been recorded for the default variants.
        notes.merge_variant(&choice, variant_notes);
    }
    variants::add_selections(&mut scene, &stage, |choice| {
        let others = options
            .variants
            .iter()
            .filter(|known| known.set != choice.set);
        let chosen = others.cloned().chain([choice.clone()]).collect();
        stage.reopen(&urdf_usd_stage::Options {
            // Only the selections matter here.
            payloads: false,
            ..with(chosen)
        })
    })?;
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
        sources,
    })
}

/// Returns the layers that vendor entries put over the asset: the sublayers of `NAME.VENDOR.usda`
/// above `NAME.usda`.
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
            // Only the sublayers matter here.
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
        let is_entry = |layer: &&str| Path::new(layer.trim_start_matches("./")).as_os_str() == name;
        let Some(at) = layers.iter().position(is_entry) else {
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

/// Builds the scene of a stage, and applies all fixes that do not depend on other variants.
fn fixed_scene(
    stage: &Stage,
    entry: &Path,
    options: &Options,
    notes: &mut Notes,
) -> Result<Scene, Error> {
    let mut scene = Scene::from_stage(stage, notes).ok_or_else(|| Error::NoRoot {
        path: entry.to_owned(),
        roots: stage
            .prims
            .iter()
            .filter(|prim| prim.parent.is_none() && prim.is_present())
            .count(),
    })?;
    // `frames` is first, as the next three use its places. `physics` splits visible colliders
    // before `meshes` changes colliders. `instances` is after all that may exclude a prim from
    // instancing.
    let places = frames::fix(&mut scene, stage, notes);
    instancers::fix(&mut scene, &places, notes);
    joints::fix(&mut scene, stage, &places, notes);
    physics::fix(&mut scene, stage, &places, notes);
    meshes::fix(&mut scene, notes);
    vendors::translate(&mut scene, options, notes);
    // After `vendors`, which translates moments.
    physics::repair_inertias(&mut scene, notes);
    metadata::fix(&mut scene, stage, notes);
    instances::mark(&mut scene, stage, notes);
    layers::arrange(&mut scene);
    Ok(scene)
}
