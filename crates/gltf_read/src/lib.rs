//! Reads glTF and GLB with EXT_robot_kinematics as a [`Robot`]: [`read`] is the entry point.
//!
//! Files that this project writes are restored exactly. Files of other programs are read by the
//! extension's rules, and as well as possible where they break them: every fault becomes a finding
//! whose place is a JSON pointer, and reading continues.
//!
//! - Links and joints keep the order of the model. The frame of a joint is the parent of its first
//!   dof node, with all joints at zero; that of a fixed joint is the node of its child link.
//!   Offsets of a link's node from that frame are applied to the link's contents.
//! - The shapes of a link are the nodes with meshes below its node and above no other link's node.
//!   Those in `collisionNodes` are colliders, all others are visuals. A shape whose
//!   `extras.geometry` declares a solid becomes that solid.
//! - Meshes that differ in their materials only become one mesh, with the materials on the shapes.
//! - `configurations` become named poses, except for the `home` pose that every robot has (see
//!   [`poses`]).
//!
//! Each copy of an instanced mesh (`EXT_mesh_gpu_instancing`) becomes a shape. Skins, morph targets
//! and animations are ignored.
//!
//! This crate must not know URDF, ROS or the file system: it loads buffers and images in other
//! files through the mesh reader's [`Files`].

mod cameras;
pub mod codes;
mod extras;
mod findings;
mod frames;
mod joints;
mod lights;
mod meshes;
mod names;
mod placement;
mod planning;
mod poses;
mod roots;
mod scene;
mod shapes;
mod summary;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use findings::Findings;
use names::Names;
use placement::Placement;
use scene::{Base, Scene};
pub use summary::{JointSummary, LinkSummary, RobotSummary, Summary};

use urdf_usd_diagnostic::Diagnostic;
pub use urdf_usd_gltf_extension::source::Source;
use urdf_usd_gltf_extension::{self as extension, Entry, Extension, Json};
use urdf_usd_mesh as mesh;
use urdf_usd_resolve::{File, Files};
use urdf_usd_robot::{ArenaMap, Connector, Link, LinkId, LinkProperties, Robot};

/// Maximum number of models that are read.
const MAX_MODELS: usize = 64;

/// Result of reading a file.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The robots, one for each kinematic model. If there are none, the diagnostics contain an
    /// error.
    pub models: Vec<Model>,
    /// Diagnostics, in no particular order.
    pub diagnostics: Vec<Diagnostic>,
}

/// A kinematic model.
#[derive(Clone, Debug)]
pub struct Model {
    /// The robot, with its meshes and textures loaded.
    pub robot: Robot,
    /// Origin of the model, if the file declares it.
    pub source: Option<Source>,
    /// Names of all configurations, in the file's order. [`Robot::named_poses`] excludes a `home`
    /// pose that adds nothing.
    pub configurations: Vec<String>,
}

/// A model while it is being read.
struct Draft {
    robot: Robot,
    source: Option<Source>,
    configurations: Vec<String>,
    shapes: Vec<(LinkId, shapes::Drafts)>,
}

/// Reads the robots in a GLB or in the JSON of a glTF file.
///
/// `file` is the origin of the bytes. It is used for places in diagnostics, for the name of an
/// unnamed robot, and to resolve references. Other files are opened through `files` only, which
/// decides which ones are allowed.
pub fn read(bytes: &[u8], file: Option<&Path>, files: &Files) -> Outcome {
    let mut findings = Findings::new(file);
    let Some(root) = document(bytes, &mut findings) else {
        return Outcome {
            models: Vec::new(),
            diagnostics: findings.finish(),
        };
    };
    let mut models = models(&root, file, &mut findings);
    let asset = File {
        path: file.map_or_else(PathBuf::new, Path::to_owned),
        bytes: bytes.into(),
    };
    let of_meshes = if models.is_empty() {
        Vec::new()
    } else {
        meshes::read(&mut models, &root, &asset, files, &mut findings)
    };
    let model = |Draft {
                     robot,
                     source,
                     configurations,
                     ..
                 }: Draft| Model {
        robot,
        source,
        configurations,
    };
    Outcome {
        models: models.into_iter().map(model).collect(),
        diagnostics: findings.finish().into_iter().chain(of_meshes).collect(),
    }
}

/// Parses the JSON of a file. Reports and returns `None` if it is not glTF 2.0.
fn document(bytes: &[u8], findings: &mut Findings) -> Option<Json> {
    let help = "give a .glb or .gltf file of glTF 2.0";
    let root = mesh::gltf::text(bytes)
        .map_err(|error| error.to_string())
        .and_then(|text| {
            serde_json::from_slice::<Json>(text)
                .map_err(|error| format!("the glTF is broken: {error}"))
        });
    let root = match root {
        Ok(root) => root,
        Err(message) => {
            findings.report(&codes::UNREADABLE, "", message, help);
            return None;
        }
    };
    let version = root
        .get("asset")
        .and_then(|asset| asset.get("version")?.text());
    if version.is_none_or(|version| version != "2" && !version.starts_with("2.")) {
        findings.report(
            &codes::UNREADABLE,
            "/asset/version",
            "the file does not say that it is glTF 2",
            help,
        );
        return None;
    }
    Some(root)
}

fn models(root: &Json, file: Option<&Path>, findings: &mut Findings) -> Vec<Draft> {
    let extension = Extension::of(root);
    let mut entries = extension
        .and_then(|extension| extension.models().or_report(findings))
        .unwrap_or_default();
    if entries.is_empty() {
        let message = format!(
            "the file has no {} with a model, so it says nothing about links and joints",
            extension::NAME
        );
        let help = "write it with `urdf_usd convert`, or refer to it as a mesh from a URDF";
        findings.report(&codes::NO_KINEMATICS, "/extensions", message, help);
    }
    if entries.len() > MAX_MODELS {
        let message = format!(
            "the file has {} kinematic models; {MAX_MODELS} are read",
            entries.len()
        );
        findings.report(&codes::TOO_MANY, "/extensions", message, "split the file");
        entries.truncate(MAX_MODELS);
    }
    // The joints of all models come first, because the tree is read with each of them at zero.
    let mut driven = HashSet::new();
    entries
        .iter()
        .for_each(|model| joints::driven(model, &mut driven));
    let skeleton = |model: &extension::Model<'_>| {
        let root = model.root_node().value()?;
        Some((root, joints::skeleton(model)))
    };
    let skeletons: Vec<_> = entries.iter().filter_map(skeleton).collect();
    let scene = Scene::new(root, &driven, &skeletons, findings);
    let meshes = root.get("meshes").map_or(0, |meshes| meshes.items().len());
    let mut taken = HashSet::new();
    entries
        .iter()
        .filter_map(|read| model(read, &scene, file, meshes, &mut taken, findings))
        .collect()
}

fn model(
    read: &extension::Model<'_>,
    scene: &Scene<'_>,
    file: Option<&Path>,
    meshes: usize,
    taken: &mut HashSet<usize>,
    findings: &mut Findings,
) -> Option<Draft> {
    let entry = &read.entry;
    let links = read.links().or_report(findings).unwrap_or_default();
    if links.is_empty() {
        findings.report(
            &codes::NO_LINKS,
            &entry.at,
            format!("{} has no link", entry.at),
            "a robot needs at least one link",
        );
        return None;
    }
    let nodes = link_nodes(&links, scene, findings);
    let mut names = Names::of("link", links.iter().map(|link| link.name().value()));
    let mut robot = Robot::new("");
    for (link, node) in links.iter().zip(&nodes) {
        let name = names.give(
            &link.entry.at,
            link.name(),
            node.and_then(|node| scene.name(node)),
            findings,
        );
        // `names` makes the name unique.
        let added = robot.add_link(Link::new(name));
        findings.accept(added.map(|_| ()), &link.entry.at);
    }
    let nodes = ArenaMap::new(robot.links(), |link, _| {
        nodes.get(link.index()).copied().flatten()
    });
    let (drafts, ids) = joints::drafts(read, scene, &mut robot, findings);
    for draft in &drafts {
        draft.report_loop(&robot, findings);
    }
    joints::follow(&drafts, &ids, &mut robot, findings);
    let bases = frames::place(scene, &drafts, &mut robot, &nodes, findings);
    for (read, id) in links.iter().zip(robot.links().handles()) {
        let frame = nodes[id].zip(bases[id]);
        let properties = link(
            &read.entry,
            robot.links()[id].name(),
            frame,
            scene,
            findings,
        );
        *robot.link_mut(id) = properties;
    }
    let shapes = shapes::Lists::of(&links, nodes.as_slice(), bases.as_slice(), findings)
        .shapes(scene, meshes, taken, findings);
    let shapes: Vec<_> = robot.links().handles().zip(shapes).collect();
    if read
        .root_node()
        .value()
        .is_some_and(|root| scene.is_turned(root))
    {
        findings.report(
            &codes::TURNED,
            &entry.below("rootNode"),
            "the root node turns axes with z up to glTF's: frames and joint axes are those of the source",
            "nothing need be done; in glTF's axes, the root node is at identity",
        );
    }
    robot.rename(robot_name(read, scene, file, findings));
    robot.custom = extras::custom(entry, findings);
    robot.place = findings.place(&entry.at);
    let lights = lights::read(scene.root, &shapes, findings);
    findings.accept(robot.set_lights(lights), &entry.at);
    let cameras = cameras::read(scene.root, &shapes, findings);
    findings.accept(robot.set_sensors(cameras), &entry.at);
    let poses = poses::read(read, &drafts, &ids, &robot, findings);
    let planning = planning::read(read, &ids, &robot, findings);
    // The readers of joints and poses have dropped values that don't fit the robot.
    findings.accept(robot.set_named_poses(poses), &entry.at);
    findings.accept(robot.set_planning(planning), &entry.at);
    roots::place(&mut robot, read, scene, &nodes, findings);
    let configurations = read
        .configurations()
        .into_iter()
        .map(|(name, _)| name.to_owned())
        .collect();
    let source = read.source().and_then(|read| source(&read, findings));
    Some(Draft {
        robot,
        source,
        configurations,
        shapes,
    })
}

/// Returns the node of each link; reports links that have none of their own.
fn link_nodes(
    links: &[extension::Link<'_>],
    scene: &Scene<'_>,
    findings: &mut Findings,
) -> Vec<Option<usize>> {
    let mut owned = HashSet::new();
    let mut node = |link: &extension::Link<'_>| {
        let node = link.node().or_report(findings);
        let why = match node {
            Some(node) if node < scene.len() && owned.insert(node) => return Some(node),
            Some(node) if node < scene.len() => {
                format!("has the node {node}, which is another link's")
            }
            Some(node) => format!("has the node {node}, which does not exist"),
            None => "has no node".to_owned(),
        };
        let at = &link.entry.at;
        findings.report(
            &codes::LINK_NODE,
            at,
            format!("{at} {why}"),
            "give every link a node of its own",
        );
        None
    };
    links.iter().map(&mut node).collect()
}

/// Reads a link without its shapes. `frame`: its node and its frame.
fn link(
    entry: &Entry<'_>,
    name: &str,
    frame: Option<(usize, Base)>,
    scene: &Scene<'_>,
    findings: &mut Findings,
) -> LinkProperties {
    let mut inertial = extras::inertial(entry, findings);
    if let Some((node, base)) = frame {
        if let Some(inertial) = &mut inertial {
            inertial.origin = scene.contents(node).pose * inertial.origin;
        }
        let (moved, _) = scene.relative(&base, node);
        if !moved.is_still() {
            let message = format!(
                "the node of link \"{}\" is not where its joint moves",
                name.chars().take(100).collect::<String>()
            );
            findings.report(
                &codes::LINK_MOVED,
                &entry.at,
                message,
                "let it have no transform, and give the origin node what is fixed",
            );
            if let Some(inertial) = &mut inertial {
                let origin = moved.then(&Placement::of(inertial.origin));
                inertial.origin = if origin.is_finite() {
                    origin.pose
                } else {
                    inertial.origin
                };
            }
        }
    }
    LinkProperties {
        inertial,
        custom: extras::custom(entry, findings),
        connector: entry
            .get("extras")
            .and_then(|extras| Connector::named(extras.json.get("connector")?.text()?)),
        place: findings.place(&entry.at),
        ..LinkProperties::default()
    }
}

/// Returns the name of the model, of its root node or of the file, in that order.
fn robot_name(
    read: &extension::Model<'_>,
    scene: &Scene<'_>,
    file: Option<&Path>,
    findings: &mut Findings,
) -> String {
    if let Some(name) = read
        .name()
        .or_report(findings)
        .filter(|name| !name.is_empty())
    {
        return name.to_owned();
    }
    let of_node = read
        .root_node()
        .or_report(findings)
        .and_then(|node| scene.name(node))
        .map(str::to_owned);
    let stem = || {
        file.and_then(Path::file_stem)
            .map(|stem| stem.to_string_lossy().into_owned())
    };
    let name = of_node
        .or_else(stem)
        .filter(|name| !name.trim().is_empty())
        .unwrap_or_else(|| "robot".to_owned());
    let message = format!(
        "the model has no name; it is called \"{}\"",
        name.chars().take(100).collect::<String>()
    );
    findings.report(&codes::NO_NAME, &read.entry.at, message, "give it a name");
    name
}

fn source(read: &extension::Source<'_>, findings: &mut Findings) -> Option<Source> {
    let format = read.format().or_report(findings)?.to_owned();
    let [uri, hash, resolved_at] = [read.uri(), read.hash(), read.resolved_at()]
        .map(|text| text.or_report(findings).map(str::to_owned));
    Some(Source {
        format,
        uri,
        hash,
        resolved_at,
    })
}
