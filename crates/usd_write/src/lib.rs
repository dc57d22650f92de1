//! Writes a [`Robot`] as the layers of an OpenUSD asset (REP-158).
//!
//! Each layer has its own module; `plan` decides the roles of links and joints, `library`
//! deduplicates shared items. This crate must not know where a robot comes from, how assets are
//! read, ROS clients or files: an [`Asset`] is in memory, or in the store.

mod arrays;
mod base;
pub mod codes;
mod drives;
mod engine;
mod entry;
mod extended_physics;
mod extents;
mod geometries;
mod instances;
mod isaac;
mod library;
mod lights;
mod materials;
mod mujoco;
mod newton;
mod openpbr;
mod physics;
mod physx;
mod plan;
mod planning;
mod ros;
mod sensors;
mod urdf;
mod usdz;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use arrays::WriteError;
use bytes::Bytes;
pub use isaac::Isaac;
use library::Library;
use plan::{Flattened, Plan};
use rayon::prelude::*;
pub use ros::{check_namespace, default_namespace, interfaces};

use urdf_usd_diagnostic::{Code, Diagnostic, Place};
pub use urdf_usd_robot::Base;
use urdf_usd_robot::{CacheEvicted, JointKind, Robot, Role, names};
use urdf_usd_store::time_limit::TimeLimit;
use urdf_usd_store::{Content, Store};
use urdf_usd_usd_author::{Layer, Value};

/// Nesting of body prims.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub enum Bodies {
    /// Each body is a child of its parent link.
    #[default]
    Nested,
    /// All bodies are children of the default prim, for engines that require it.
    Flat,
}

impl Bodies {
    /// All values.
    pub const ALL: [Self; 2] = [Self::Nested, Self::Flat];

    /// Returns the value as users write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Nested => "nested",
            Self::Flat => "flat",
        }
    }
}

impl fmt::Display for Bodies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Bodies {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|value| value.as_str() == text);
        known.ok_or_else(|| {
            format!(
                "{text:?} is none of {}",
                Self::ALL.map(Self::as_str).join(", ")
            )
        })
    }
}

/// A layer with the schemas of one program or renderer, stronger than the asset, with an entry
/// layer.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize, serde::Serialize,
)]
pub enum Overlay {
    /// The Isaac robot schema: links, joints, sites and named poses in order.
    Isaac,
    /// The MuJoCo physics engine.
    Mujoco,
    /// The Newton physics engine: joint behaviour that UsdPhysics cannot express.
    Newton,
    /// MaterialX OpenPBR beside UsdPreviewSurface.
    OpenPbr,
    /// The PhysX engine, also of Isaac Sim.
    Physx,
}

impl Overlay {
    /// All overlays.
    pub const ALL: [Self; 5] = [
        Self::Isaac,
        Self::Mujoco,
        Self::Newton,
        Self::OpenPbr,
        Self::Physx,
    ];

    /// Returns the overlays whose layers its entry has, strongest first: Isaac Sim's engine is PhysX.
    pub fn layers(self) -> &'static [Self] {
        match self {
            Self::Isaac => &[Self::Isaac, Self::Physx],
            Self::Mujoco => &[Self::Mujoco],
            Self::Newton => &[Self::Newton],
            Self::OpenPbr => &[Self::OpenPbr],
            Self::Physx => &[Self::Physx],
        }
    }

    /// Returns whether its entry has drives for simulations.
    pub fn has_drives(self) -> bool {
        self.layers()
            .iter()
            .any(|layer| matches!(layer, Self::Mujoco | Self::Newton | Self::Physx))
    }

    /// Returns the name in options and file names.
    pub fn as_str(self) -> &'static str {
        let [isaac, mujoco, newton, openpbr, physx] = urdf_usd_usd_author::layout::OVERLAYS;
        match self {
            Self::Isaac => isaac,
            Self::Mujoco => mujoco,
            Self::Newton => newton,
            Self::OpenPbr => openpbr,
            Self::Physx => physx,
        }
    }
}

impl fmt::Display for Overlay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Overlay {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|value| value.as_str() == text);
        known.ok_or_else(|| {
            format!(
                "{text:?} is none of {}",
                Self::ALL.map(Self::as_str).join(", ")
            )
        })
    }
}

/// Returns whether an asset may have a layer of this name (without extension), so that the entry
/// must not use it. Ignores case, because some file systems do.
pub fn is_layer(name: &str) -> bool {
    let layers = entry::ORDER
        .into_iter()
        .chain(["instances.usda", "materials.usda"]);
    let names = layers
        .filter_map(|layer| layer.strip_suffix(".usda"))
        .chain(Overlay::ALL.map(Overlay::as_str));
    names
        .into_iter()
        .any(|layer| layer.eq_ignore_ascii_case(name))
}

/// Options for writing an asset.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The entry layer's name without extension.
    pub entry: String,
    /// `assetInfo:identifier`.
    pub identifier: String,
    /// The entries of `assetInfo:ros`, such as `package_uri`.
    pub ros: BTreeMap<String, Value>,
    /// The kind of an asset that contains others: `assembly` or `group` (REP-158 §1.2.2); `None`
    /// for `component`.
    pub aggregate: Option<String>,
    /// `assetInfo:version`.
    pub version: String,
    /// `ros:context:namespace`; `None` for [`default_namespace`] (REP-158 §2.1.1).
    pub namespace: Option<String>,
    /// Attachment of the base to the world.
    pub base: Base,
    /// Nesting of body prims.
    pub bodies: Bodies,
    /// The overlays to write beside the asset.
    pub overlays: Vec<Overlay>,
    /// True if only overlays have mimic relations, each in the words of its engine (REP-158 of July 2026).
    pub mimics_in_engines: bool,
    /// Contents of the overlay [`Overlay::Isaac`].
    pub isaac: Isaac,
    /// True to pack the asset, without its overlays, into `<entry>.usdz` too.
    pub usdz: bool,
    /// Time limit; once it expires, the layers written so far are returned.
    pub limit: TimeLimit,
}

/// Statistics of a written asset.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Written {
    /// Distinct materials.
    pub materials: usize,
    /// Rigid bodies.
    pub bodies: usize,
    /// Total mass of all bodies, kg.
    pub mass: f64,
}

/// An asset's files.
#[derive(Debug)]
pub struct Asset {
    /// Contents by path relative to the asset's directory.
    pub files: BTreeMap<String, Content>,
    /// The USDZ package of the files, without those of overlays, if requested.
    pub usdz: Option<Vec<u8>>,
    /// Statistics of the files.
    pub written: Written,
    /// The diagnostics of writing.
    pub diagnostics: Vec<Diagnostic>,
}

/// The input of all layers.
struct Scene<'a> {
    robot: &'a Robot,
    options: &'a Options,
    plan: Plan,
    library: Library,
}

impl Scene<'_> {
    /// Returns whether the time limit has expired; `layer` names the layer being written.
    fn is_over(&self, layer: &str) -> bool {
        self.options.limit.is_over(|| format!("writing {layer}"))
    }
}

/// A function that builds a layer; `None` if the layer would be empty.
type Build = fn(&Scene<'_>, &mut Vec<Diagnostic>) -> Option<Layer>;

/// The layers that entries include, the slowest first.
const LAYERS: [(&str, Build); 8] = [
    ("base.usda", |scene, _| Some(base::layer(scene))),
    ("physics.usda", |scene, found| {
        Some(physics::layer(scene, found))
    }),
    ("urdf.usda", |scene, _| Some(urdf::layer(scene))),
    ("instances.usda", |scene, _| {
        (!scene.library.instances.is_empty()).then(|| instances::layer(scene))
    }),
    ("ros.usda", |scene, _| Some(ros::layer(scene))),
    ("materials.usda", |scene, _| {
        (!scene.library.materials.is_empty()).then(|| materials::layer(scene))
    }),
    ("planning.usda", |scene, _| planning::layer(scene)),
    ("extended_physics.usda", |scene, found| {
        extended_physics::layer(scene, found)
    }),
];

/// A layer of the asset after it was built.
struct WrittenLayer {
    path: String,
    /// `None` if the layer is empty, or the time limit expired.
    text: Option<String>,
    diagnostics: Vec<Diagnostic>,
}

impl WrittenLayer {
    fn new(
        scene: &Scene<'_>,
        path: &str,
        build: impl FnOnce(&mut Vec<Diagnostic>) -> Option<Layer>,
    ) -> Self {
        let mut diagnostics = Vec::new();
        let layer = if scene.is_over(path) {
            None
        } else {
            build(&mut diagnostics)
        };
        let text = layer
            .map(|layer| layer.text())
            .transpose()
            .unwrap_or_else(|error| {
                diagnostics.push(internal(scene, path, &error));
                None
            });
        Self {
            path: path.to_owned(),
            text,
            diagnostics,
        }
    }
}

/// Writes the asset of a robot: the layers of REP-158 §1.2.1 with the entry `<entry>.usda`, and its
/// textures.
///
/// The output is deterministic: it depends on the robot and the options, not on the contents of
/// `store`.
///
/// # Errors
/// If a mesh of the robot, or a layer, is no longer in the cache.
pub fn write(robot: &Robot, options: &Options, store: &Store) -> Result<Asset, CacheEvicted> {
    let plan = Plan::new(robot, options.base, options.bodies);
    let scene = Scene {
        robot,
        options,
        plan,
        library: Library::new(robot),
    };
    let mut diagnostics = findings(&scene);
    let mut of_overlays = BTreeSet::new();
    let mut builds: Vec<(String, Build)> = LAYERS
        .into_iter()
        .map(|(path, build)| (path.to_owned(), build))
        .collect();
    let layers: BTreeSet<Overlay> = options
        .overlays
        .iter()
        .flat_map(|overlay| overlay.layers())
        .copied()
        .collect();
    for overlay in layers {
        let path = format!("{}.usda", overlay.as_str());
        of_overlays.insert(path.clone());
        builds.push(match overlay {
            Overlay::Isaac => (path, |scene, found| Some(isaac::layer(scene, found))),
            Overlay::Mujoco => (path, |scene, found| Some(mujoco::layer(scene, found))),
            Overlay::Newton => (path, |scene, found| Some(newton::layer(scene, found))),
            Overlay::OpenPbr => (path, |scene, _| Some(openpbr::layer(scene))),
            Overlay::Physx => (path, |scene, found| Some(physx::layer(scene, found))),
        });
    }
    let has_meshes = !scene.library.meshes.is_empty() && !scene.is_over("geometries.usdc");
    let (mut layers, geometries) = rayon::join(
        || -> Vec<WrittenLayer> {
            // One task per layer: their costs differ too much for groups of neighbours.
            let builds = builds.into_par_iter().with_max_len(1);
            builds
                .map(|(path, build)| WrittenLayer::new(&scene, &path, |found| build(&scene, found)))
                .collect()
        },
        || has_meshes.then(|| geometries::content(&scene, store)),
    );
    let is_there = |name: &&str| {
        layers
            .iter()
            .any(|layer| layer.path == *name && layer.text.is_some())
    };
    // Layers that are empty, or that the time limit cut off, do not exist.
    let sublayers: Vec<&str> = entry::ORDER.into_iter().filter(is_there).collect();
    let path = format!("{}.usda", options.entry);
    let extents = if scene.is_over(&path) {
        Vec::new()
    } else {
        extents::hint(&scene, store)?
    };
    layers.push(WrittenLayer::new(&scene, &path, |_| {
        Some(entry::layer(&scene, &sublayers, extents))
    }));
    for &overlay in &options.overlays {
        let path = format!("{}.{}.usda", options.entry, overlay.as_str());
        of_overlays.insert(path.clone());
        layers.push(WrittenLayer::new(&scene, &path, |_| {
            Some(entry::overlay(&scene, overlay))
        }));
    }

    let mut files = BTreeMap::new();
    for WrittenLayer {
        path,
        text,
        diagnostics: found,
    } in layers
    {
        diagnostics.extend(found);
        files.extend(text.map(|text| (path, text.into())));
    }
    match geometries.transpose() {
        Ok(bytes) => files.extend(bytes.map(|content| ("geometries.usdc".to_owned(), content))),
        Err(WriteError::Layer(error)) => {
            diagnostics.push(internal(&scene, "geometries.usdc", &error))
        }
        Err(WriteError::Evicted(evicted)) => return Err(evicted),
    }
    for (path, texture) in &scene.library.textures {
        let bytes = Bytes::from_owner(texture.bytes.clone());
        files.insert(
            path.clone(),
            Content::from_pieces(vec![bytes], Some(texture.sha256.clone())),
        );
    }
    let usdz = if options.usdz && !scene.is_over("the package") {
        let packed = files
            .iter()
            .filter(|(path, _)| !of_overlays.contains(*path));
        package(&scene, packed, &mut diagnostics)?
    } else {
        None
    };
    Ok(Asset {
        files,
        usdz,
        written: written(&scene),
        diagnostics,
    })
}

/// Packs files into a USDZ package; `None`, with a diagnostic, if that fails.
fn package<'a>(
    scene: &Scene<'_>,
    files: impl Iterator<Item = (&'a String, &'a Content)>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<Option<Vec<u8>>, CacheEvicted> {
    let entry = &scene.options.entry;
    let files = files.map(|(path, content)| Ok((path, content.bytes().ok_or(CacheEvicted)?)));
    let files: Vec<_> = files.collect::<Result<_, _>>()?;
    let package = usdz::package(
        &format!("{entry}.usda"),
        files.iter().map(|(path, bytes)| (path.as_str(), &**bytes)),
    );
    Ok(match package {
        Ok(package) => Some(package),
        Err(error) => {
            diagnostics.push(internal(scene, &format!("{entry}.usdz"), &error));
            None
        }
    })
}

fn written(scene: &Scene<'_>) -> Written {
    let links = scene.robot.links().handles();
    let masses: Vec<f64> = links
        .filter_map(|link| physics::mass_of(scene, link))
        .map(|mass| mass.mass)
        .collect();
    Written {
        materials: scene.library.materials.len(),
        bodies: masses.len(),
        mass: masses.iter().sum(),
    }
}

fn internal(scene: &Scene<'_>, path: &str, error: &impl fmt::Display) -> Diagnostic {
    Diagnostic::new(
        &codes::INTERNAL,
        scene.robot.place.clone(),
        format!("{path}: {error}"),
    )
    .help("please report this")
}

/// Returns the diagnostics of the plan.
fn findings(scene: &Scene<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut note = |code: &'static Code, place: &Place, message: String, help: &str| {
        found.push(Diagnostic::new(code, place.clone(), message).help(help));
    };
    let (depth, most) = (scene.plan.depth, plan::MAX_NESTED);
    let nested = if depth > most {
        format!("{depth} deep (at most {most})")
    } else {
        "under very long names".to_owned()
    };
    let flattened = match scene.plan.flattened {
        Flattened::Nothing => None,
        Flattened::Bodies => Some((
            &codes::BODIES_FLAT,
            "bodies stand side by side in the default prim",
        )),
        Flattened::Frames => Some((
            &codes::FRAMES_FLAT,
            "bodies stand in the default prim, and frames in their bodies",
        )),
    };
    if let Some((code, outcome)) = flattened {
        let message = format!("links are nested {nested}; {outcome}");
        note(
            code,
            &scene.robot.place,
            message,
            "nothing need be done, unless a program relies on links that are nested",
        );
    }
    for (id, joint) in scene.robot.joints().iter() {
        let moves = !matches!(joint.kind(), JointKind::Fixed | JointKind::Floating);
        if joint.closes_loop() && moves && scene.plan.joints[id].is_none() {
            let message = format!(
                "joint {:?} closes a loop between links of one rigid body: it cannot move",
                joint.name()
            );
            note(
                &codes::RIGID_LOOP,
                &joint.place,
                message,
                "let it connect links that move against each other, or remove it",
            );
        }
    }
    for (id, link) in scene.robot.links().iter() {
        let plan = &scene.plan.links[id];
        let prim = plan.path.rsplit('/').next().unwrap_or_default();
        let is_encoded = plan.role == Role::Body && prim != link.name();
        if plan.role != Role::World && !is_encoded && !names::is_ros_name(link.name()) {
            let message = format!(
                "the TF frame {:?} has a name that ROS does not allow",
                link.name()
            );
            let help = "rename the link: letters, digits and underscores, no digit in front; slashes may separate parts";
            note(&codes::FRAME_ID, &link.place, message, help);
        }
        if plan.role != Role::Body {
            continue;
        }
        if is_encoded {
            let why = match link.name() {
                name if name.len() > names::MAX_IDENTIFIER => "is too long for a prim's name",
                name if names::is_identifier(name) => "is taken by a sibling",
                _ => "cannot be a prim's name",
            };
            let message = format!(
                "link {:?} {why}; its prim is {prim:?}, and simulators will publish that as its TF frame",
                link.name()
            );
            note(
                &codes::NAME_ENCODED,
                &link.place,
                message,
                "rename the link if its TF frame matters",
            );
        }
        if plan.mass_missing {
            let content = &scene.robot.links()[plan.content];
            let message = match &content.inertial {
                None => format!("link {:?} has no inertial", content.name()),
                Some(inertial) => {
                    format!("link {:?} has the mass {}", content.name(), inertial.mass)
                }
            };
            let place = content
                .inertial
                .as_ref()
                .map_or(&content.place, |i| &i.place);
            note(
                &codes::MASS_MISSING,
                place,
                message,
                "give the link an inertial with its true mass and inertia",
            );
        }
    }
    found.extend(merged_materials(scene));
    found
}

/// Reports materials that share a prim.
fn merged_materials(scene: &Scene<'_>) -> Option<Diagnostic> {
    let merged: Vec<String> = scene
        .library
        .merged
        .iter()
        .map(|(index, name)| {
            format!(
                "{name:?} is /Materials/{}",
                scene.library.materials[*index].name
            )
        })
        .collect();
    let message = format!(
        "materials of one look share a prim: {}",
        list((!merged.is_empty()).then_some(&merged)?)
    );
    let finding = Diagnostic::new(&codes::MATERIAL_MERGED, scene.robot.place.clone(), message);
    Some(finding.help("nothing need be done, unless the materials are to be edited apart"))
}

/// Maximum number of elements that a message lists.
const MAX_LISTED: usize = 50;

/// Returns a list of elements for a message.
fn list(elements: &[String]) -> String {
    let listed = elements.get(..MAX_LISTED).unwrap_or(elements).join(", ");
    match elements.len().saturating_sub(MAX_LISTED) {
        0 => listed,
        more => format!("{listed}, and {more} more"),
    }
}

/// Returns the path of a child. Unlike formatting, this allocates once, which counts for the paths of
/// every link and shape.
fn child(parent: &str, name: &str) -> String {
    [parent, "/", name].concat()
}

/// Returns an empty layer of this asset, and the default prim's path.
fn layer(scene: &Scene<'_>, doc: &str) -> (Layer, String) {
    (Layer::new(doc, &scene.plan.name), scene.plan.root())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes a robot with the elements `inside`; returns the text of each layer by path, and the
    /// diagnostics.
    fn written(inside: &str) -> (BTreeMap<String, Vec<u8>>, Vec<Diagnostic>) {
        let robot = urdf_usd_urdf::read(&format!("<robot name=\"r\">{inside}</robot>"), None)
            .robot
            .unwrap();
        let Asset {
            files, diagnostics, ..
        } = write(
            &robot,
            &Options {
                entry: "r".to_owned(),
                ..Options::default()
            },
            &Store::none(),
        )
        .unwrap();
        (
            files
                .into_iter()
                .map(|(path, content)| (path, content.bytes().unwrap().into()))
                .collect(),
            diagnostics,
        )
    }

    const BALL: &str = "<geometry><sphere radius=\"1\"/></geometry>";

    #[test]
    fn frames_that_ros_cannot_name_are_reported() {
        let links = [
            ("base", true),
            ("tool-0", false),
            ("arm/tool", false),
            ("größe", true),
            ("left-arm", true),
            ("2nd", false),
        ];
        let inside: String = links
            .iter()
            .enumerate()
            .map(|(index, (name, is_body))| {
                let visual = if *is_body { format!("<visual>{BALL}</visual>") } else { String::new() };
                let joint = match index {
                    0 => String::new(),
                    _ => format!(
                        "<joint name=\"j{index}\" type=\"fixed\"><parent link=\"base\"/><child link=\"{name}\"/></joint>"
                    ),
                };
                format!("<link name=\"{name}\">{visual}</link>\n{joint}")
            })
            .collect();
        let (files, diagnostics) = written(&inside);
        let told = |code: &str| -> Vec<u32> {
            diagnostics
                .iter()
                .filter(|d| d.code == code)
                .map(|d| d.place.line)
                .collect()
        };
        assert_eq!(told("usd-frame-id"), [2, 4, 6], "{diagnostics:?}");
        assert_eq!(
            told("usd-name-encoded"),
            [5],
            "a body's prim has another name, which is told instead"
        );
        // The names are unchanged.
        assert!(String::from_utf8_lossy(&files["ros.usda"]).contains("ros:frame:id = \"tool-0\""));
    }

    #[test]
    fn materials_without_a_name_are_called_after_their_element() {
        let visual = |red: &str| {
            format!(
                "<visual>{BALL}<material name=\"\"><color rgba=\"{red} 0 0 1\"/></material></visual>"
            )
        };
        let (files, _) = written(&format!(
            "<link name=\"a\">{}{}</link>",
            visual("0.25"),
            visual("0.75")
        ));
        let text = String::from_utf8_lossy(&files["materials.usda"]).into_owned();
        let names: Vec<&str> = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("def Material \""))
            .filter_map(|rest| rest.split('"').next())
            .collect();
        assert_eq!(names, ["material", "material_1"], "{text}");
    }
}
