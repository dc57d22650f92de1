//! Reads visuals and colliders of links from the nodes below them.

use std::collections::{HashMap, HashSet};

use nalgebra::Vector3;

use super::cameras;
use super::codes;
use super::extras;
use super::findings::Findings;
use super::lights;
use super::placement::Placement;
use super::scene::{Base, Scene, is_one};
use urdf_usd_gltf_extension::instances;
use urdf_usd_gltf_extension::{Entry, Field, Json, Link};
use urdf_usd_robot::{Custom, Geometry, Pose};

/// A shape whose mesh has not been read yet.
pub struct Draft {
    pub name: Option<String>,
    pub pose: Pose,
    pub form: Form,
    pub stand_in_for: Option<String>,
    pub custom: Custom,
    /// Accessors of `EXT_mesh_gpu_instancing`, if the shape is instanced. They are relative to the
    /// shape's frame, before its scale.
    pub copies: Option<Copies>,
    /// JSON pointer to the node.
    pub at: String,
}

/// Accessors of instances' attributes.
#[derive(Clone, Copy)]
pub struct Copies {
    pub translation: Option<usize>,
    pub rotation: Option<usize>,
    pub scale: Option<usize>,
}

impl Copies {
    fn of(node: &Entry<'_>) -> Option<Self> {
        let attributes = node
            .json
            .at(&["extensions", instances::NAME, "attributes"])?;
        let accessor = |name: &str| attributes.get(name).and_then(Json::index);
        let [translation, rotation, scale] = ["TRANSLATION", "ROTATION", "SCALE"].map(accessor);
        Some(Self {
            translation,
            rotation,
            scale,
        })
        .filter(|_| translation.or(rotation).or(scale).is_some())
    }
}

/// Geometry of a shape.
pub enum Form {
    /// A solid, with the mesh of the document that displays it.
    Solid(Geometry, Option<usize>),
    /// A mesh of the document; `None` if the node has none.
    Mesh {
        mesh: Option<usize>,
        scale: Vector3<f64>,
        /// Transform from the document's coordinates to those of the mesh.
        baked: Placement,
    },
}

/// The shapes of a link.
#[derive(Default)]
pub struct Drafts {
    pub visuals: Vec<Draft>,
    pub collisions: Vec<Draft>,
    pub lights: Vec<lights::Draft>,
    pub cameras: Vec<cameras::Draft>,
}

/// Membership of a node in the lists of the model.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Listed {
    Visual,
    Collision,
    /// The node is in no list.
    No,
}

/// The links of a model, with the nodes in their lists.
pub struct Lists<'a> {
    links: &'a [Link<'a>],
    nodes: &'a [Option<usize>],
    bases: &'a [Option<Base>],
    /// Link by the node at which its subtree begins.
    owners: HashMap<usize, usize>,
    listed: HashMap<usize, Listed>,
}

impl<'a> Lists<'a> {
    pub fn of(
        links: &'a [Link<'a>],
        nodes: &'a [Option<usize>],
        bases: &'a [Option<Base>],
        findings: &mut Findings,
    ) -> Self {
        let mut owners = HashMap::new();
        let starts = bases
            .iter()
            .enumerate()
            .filter_map(|(link, base)| Some((base.as_ref()?.node, link)));
        let own = nodes
            .iter()
            .enumerate()
            .filter_map(|(link, node)| Some(((*node)?, link)));
        // The own node of a link counts before the start of the subtree of another link.
        for (node, link) in own.chain(starts) {
            owners.entry(node).or_insert(link);
        }
        let mut listed = HashMap::new();
        let mut list = |nodes: Field<'_, '_, Vec<usize>>, list: Listed| {
            listed.extend(
                nodes
                    .or_report(findings)
                    .unwrap_or_default()
                    .into_iter()
                    .map(|node| (node, list)),
            );
        };
        links
            .iter()
            .for_each(|link| list(link.visual_nodes(), Listed::Visual));
        // Colliders come last and win: a node in both lists must not become visible.
        links
            .iter()
            .for_each(|link| list(link.collision_nodes(), Listed::Collision));
        Self {
            links,
            nodes,
            bases,
            owners,
            listed,
        }
    }

    /// Reads the shapes of every link. `taken`: nodes that have become shapes, of this or other
    /// models.
    pub fn shapes(
        &self,
        scene: &Scene<'_>,
        meshes: usize,
        taken: &mut HashSet<usize>,
        findings: &mut Findings,
    ) -> Vec<Drafts> {
        let mut met = HashSet::new();
        let mut reader = Reader {
            lists: self,
            scene,
            meshes,
            taken,
            met: &mut met,
            findings,
        };
        let shapes = (0..self.links.len())
            .map(|link| reader.link(link))
            .collect();
        for link in self.links {
            for nodes in [link.visual_nodes(), link.collision_nodes()] {
                let (key, at) = (nodes.key, nodes.at());
                for node in nodes.value().unwrap_or_default() {
                    if !met.contains(&node) {
                        let message = format!(
                            "node {node} is among the {key} of {}, but not on it",
                            link.entry.at
                        );
                        findings.report(
                            &codes::SHAPE,
                            &at,
                            message,
                            "let it be below the link's node",
                        );
                    }
                }
            }
        }
        shapes
    }
}

struct Reader<'a, 'r> {
    lists: &'r Lists<'a>,
    scene: &'r Scene<'a>,
    /// Number of meshes in the document.
    meshes: usize,
    taken: &'r mut HashSet<usize>,
    /// Nodes that have been visited.
    met: &'r mut HashSet<usize>,
    findings: &'r mut Findings,
}

impl Reader<'_, '_> {
    fn link(&mut self, link: usize) -> Drafts {
        let mut drafts = Drafts::default();
        let Some(base) = self.lists.bases.get(link).copied().flatten() else {
            return drafts;
        };
        if self.lists.owners.get(&base.node) != Some(&link) {
            return drafts;
        }
        let own = self.lists.nodes.get(link).copied().flatten();
        // Frames of a robot have no scale: the scale above a frame applies to its contents.
        let start = Placement::scaled(base.world.scale).then(&base.below);
        let mut open = vec![(base.node, start, Listed::No, false)];
        while let Some((node, placement, above, is_hidden)) = open.pop() {
            let is_other = self
                .lists
                .owners
                .get(&node)
                .is_some_and(|owner| *owner != link);
            if is_other
                || (node != base.node && Some(node) != own && self.lists.owners.contains_key(&node))
            {
                continue;
            }
            self.met.insert(node);
            let entry = self.scene.entry(node);
            let listed = self.lists.listed.get(&node).copied().unwrap_or(above);
            let is_hidden = is_hidden || is_hidden_by(&entry);
            let children = self.scene.children(node).iter().rev();
            let child = |&child: &usize| {
                (
                    child,
                    placement.then(self.scene.local(child)),
                    listed,
                    is_hidden,
                )
            };
            open.extend(children.map(child));
            let placement = placement.then(&self.scene.contents(node));
            drafts
                .cameras
                .extend(cameras::at_node(&entry, placement.pose).filter(|_| placement.is_finite()));
            drafts.lights.extend(
                lights::at_node(&entry, placement.pose)
                    .filter(|_| placement.is_finite() && !is_hidden),
            );
            if !(extras::is_shape(&entry) || entry.json.get("mesh").is_some())
                || !self.taken.insert(node)
            {
                continue;
            }
            if is_hidden && listed == Listed::No {
                let message = format!(
                    "node {node} is hidden and not among the shapes of a link; it is left out"
                );
                self.findings.report(
                    &codes::SHAPE,
                    &entry.at,
                    message,
                    "name it among the link's collisionNodes if it collides",
                );
                continue;
            }
            let draft = self.shape(node, &entry, placement);
            if listed == Listed::Collision {
                drafts.collisions.push(draft)
            } else {
                drafts.visuals.push(draft)
            }
        }
        drafts
    }

    fn shape(&mut self, node: usize, entry: &Entry<'_>, mut placement: Placement) -> Draft {
        if !placement.is_finite() {
            let message = format!(
                "what is at node {node} is infinitely far away or large; it is where its link is"
            );
            self.findings.report(
                &codes::BAD_VALUE,
                &entry.at,
                message,
                "correct the transforms above it",
            );
            placement = Placement::default();
        }
        if placement.is_sheared {
            let message = format!("what is at node {node} is sheared");
            self.findings.report(
                &codes::SHEAR,
                &entry.at,
                message,
                "apply the transforms above it to the mesh",
            );
        }
        let mut baked = Placement::default();
        let mut mesh = self.mesh(entry);
        if mesh.is_none() && extras::is_shape(entry) {
            // The writer puts a quantized mesh into a child node, whose transform dequantizes it.
            let inner = self.scene.children(node).iter().copied().find(|&child| {
                let child = self.scene.entry(child);
                child.json.get("mesh").is_some() && !extras::is_shape(&child)
            });
            if let Some(inner) = inner {
                self.taken.insert(inner);
                baked = *self.scene.local(inner);
                mesh = self.mesh(&self.scene.entry(inner));
            }
        }
        // A solid has no scale, so a scaled one is read as its mesh.
        let solid = extras::solid(entry, self.findings)
            .filter(|_| is_one(&placement.scale) || mesh.is_none());
        let form = match solid {
            Some(solid) => Form::Solid(solid, mesh),
            None => Form::Mesh {
                mesh,
                scale: self.scale(entry, &placement),
                baked,
            },
        };
        let text = |key: &str| Some(entry.json.get("extras")?.get(key)?.text()?.to_owned());
        Draft {
            name: text("shapeName"),
            pose: placement.pose,
            form,
            stand_in_for: text("standInFor"),
            custom: extras::custom(entry, self.findings),
            copies: Copies::of(entry),
            at: entry.at.clone(),
        }
    }

    /// Returns the scale of a mesh. Zeros are reported and replaced by 1.
    fn scale(&mut self, entry: &Entry<'_>, placement: &Placement) -> Vector3<f64> {
        if placement.scale.iter().any(|&factor| factor == 0.0) {
            let message = format!(
                "{} has a scale of 0, which would leave nothing of its mesh; 1 is used",
                entry.at
            );
            self.findings.report(
                &codes::BAD_VALUE,
                &entry.below("scale"),
                message,
                "correct the scale",
            );
        }
        placement
            .scale
            .map(|factor| if factor == 0.0 { 1.0 } else { factor })
    }

    /// Returns the mesh of a node, if it has one. Reports an invalid index.
    fn mesh(&mut self, entry: &Entry<'_>) -> Option<usize> {
        let mesh = entry.index("mesh").or_report(self.findings)?;
        if mesh >= self.meshes {
            let message = format!("{} has the mesh {mesh}, which does not exist", entry.at);
            self.findings.report(
                &codes::SHAPE,
                &entry.below("mesh"),
                message,
                "correct the index",
            );
        }
        Some(mesh).filter(|&mesh| mesh < self.meshes)
    }
}

fn is_hidden_by(node: &Entry<'_>) -> bool {
    let visible = node
        .json
        .get("extensions")
        .and_then(|all| all.get("KHR_node_visibility")?.get("visible"));
    visible == Some(&Json::Bool(false))
}
