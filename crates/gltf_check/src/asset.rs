//! The models of an asset as the rules see them: values of the wrong type and invalid references
//! are absent.

use std::collections::BTreeMap;

use nalgebra::Vector3;

use super::findings::short;
use urdf_usd_gltf_extension::{self as extension, Extension, JointType, Json, Motion};

/// An asset: its nodes and its kinematic models.
pub struct Asset<'a> {
    pub nodes: &'a [Json],
    pub models: Vec<Model<'a>>,
}

/// A kinematic model.
pub struct Model<'a> {
    /// The model in the file.
    pub read: extension::Model<'a>,
    pub index: usize,
    pub name: &'a str,
    pub root: Option<usize>,
    pub links: Vec<Link<'a>>,
    pub joints: Vec<Joint<'a>>,
    pub configurations: BTreeMap<&'a str, extension::Configuration<'a>>,
}

/// A link.
pub struct Link<'a> {
    /// The link in the file.
    pub read: extension::Link<'a>,
    pub model: usize,
    pub index: usize,
    pub name: &'a str,
    pub node: Option<usize>,
    /// Position in the list and index of each valid node.
    pub visuals: Vec<(usize, usize)>,
    pub collisions: Vec<(usize, usize)>,
}

/// A joint.
pub struct Joint<'a> {
    /// The joint in the file.
    pub read: extension::Joint<'a>,
    pub index: usize,
    pub name: &'a str,
    pub kind: Option<JointType>,
    pub parent: Option<usize>,
    pub child: Option<usize>,
    pub origin: Option<usize>,
    pub dof_nodes: Vec<Option<usize>>,
    pub dofs: Vec<Dof>,
    pub mimic: Option<Mimic>,
}

/// A degree of freedom.
#[derive(Default)]
pub struct Dof {
    pub motion: Option<Motion>,
    pub axis: Option<Vector3<f64>>,
    pub lower: Option<f64>,
    pub upper: Option<f64>,
    pub default: f64,
}

/// Mimic relation; its joint is absent if it is not a joint of the model.
pub struct Mimic {
    pub joint: Option<usize>,
}

impl<'a> Asset<'a> {
    /// Reads the asset of the document `root`.
    pub fn of(root: &'a Json, extension: Option<&Extension<'a>>) -> Self {
        let nodes = root.list("nodes");
        let models = extension
            .and_then(|extension| extension.models().value())
            .unwrap_or_default();
        let models = models.into_iter().enumerate();
        Self {
            models: models
                .map(|(index, read)| Model::of(index, read, nodes.len()))
                .collect(),
            nodes,
        }
    }

    /// Returns all links of all models.
    pub fn links(&self) -> impl Iterator<Item = &Link<'a>> {
        self.models.iter().flat_map(|model| &model.links)
    }

    /// Returns all joints of all models.
    pub fn joints(&self) -> impl Iterator<Item = &Joint<'a>> {
        self.models.iter().flat_map(|model| &model.joints)
    }
}

impl<'a> Model<'a> {
    fn of(index: usize, read: extension::Model<'a>, nodes: usize) -> Self {
        let links = read
            .links()
            .value()
            .unwrap_or_default()
            .into_iter()
            .enumerate();
        let links: Vec<Link<'_>> = links
            .map(|(at, link)| Link::of(index, at, link, nodes))
            .collect();
        let joints = read.joints().value().unwrap_or_default();
        let (link_count, joint_count) = (links.len(), joints.len());
        let joint = |(at, joint)| Joint::of(at, joint, nodes, link_count, joint_count);
        Model {
            index,
            name: read.name().value().unwrap_or_default(),
            root: below(nodes, read.root_node().value()),
            joints: joints.into_iter().enumerate().map(joint).collect(),
            links,
            configurations: read.configurations().into_iter().collect(),
            read,
        }
    }

    /// Returns the model's name for messages.
    pub fn title(&self) -> String {
        title("model", self.name, self.index)
    }

    /// Returns for each link the first joint that has it as its child.
    pub fn parent_joints(&self) -> Vec<Option<usize>> {
        let mut parents = vec![None; self.links.len()];
        for joint in &self.joints {
            if let Some(slot @ None) = joint.child.and_then(|child| parents.get_mut(child)) {
                *slot = Some(joint.index);
            }
        }
        parents
    }

    /// Returns the name of a link for messages, if it exists.
    pub fn link_title(&self, link: Option<usize>) -> String {
        link.and_then(|link| self.links.get(link))
            .map(Link::title)
            .unwrap_or_default()
    }
}

impl<'a> Link<'a> {
    fn of(model: usize, index: usize, read: extension::Link<'a>, nodes: usize) -> Self {
        let there = |list: Vec<Option<usize>>| {
            list.into_iter()
                .enumerate()
                .filter_map(|(entry, node)| Some((entry, below(nodes, node)?)))
                .collect()
        };
        Link {
            model,
            index,
            name: read.name().value().unwrap_or_default(),
            node: below(nodes, read.node().value()),
            visuals: there(read.each_visual_node()),
            collisions: there(read.each_collision_node()),
            read,
        }
    }

    /// Returns the JSON pointer to the link.
    pub fn pointer(&self) -> &str {
        &self.read.entry.at
    }

    /// Returns the link's name for messages.
    pub fn title(&self) -> String {
        title("link", self.name, self.index)
    }
}

impl<'a> Joint<'a> {
    fn of(
        index: usize,
        read: extension::Joint<'a>,
        nodes: usize,
        links: usize,
        joints: usize,
    ) -> Self {
        let mimic = read.mimic().filter(|mimic| mimic.entry.json.is_object());
        Joint {
            index,
            name: read.name().value().unwrap_or_default(),
            kind: read.kind(),
            parent: below(links, read.parent_link().value()),
            child: below(links, read.child_link().value()),
            origin: below(nodes, read.origin_node().value()),
            dof_nodes: read
                .each_dof_node()
                .into_iter()
                .map(|node| below(nodes, node))
                .collect(),
            dofs: read
                .dofs()
                .value()
                .unwrap_or_default()
                .iter()
                .map(Dof::of)
                .collect(),
            mimic: mimic.map(|mimic| Mimic {
                joint: below(joints, mimic.joint().value()),
            }),
            read,
        }
    }

    /// Returns the JSON pointer to the joint.
    pub fn pointer(&self) -> &str {
        &self.read.entry.at
    }

    /// Returns the joint's name for messages.
    pub fn title(&self) -> String {
        title("joint", self.name, self.index)
    }

    /// Returns the number of degrees of freedom of the joint's type; without a valid type, of its
    /// list.
    pub fn dof_count(&self) -> usize {
        self.kind
            .map_or(self.dofs.len(), |kind| kind.motions().len())
    }

    /// Returns the degrees of freedom that have a valid node, with their numbers and nodes.
    pub fn driven(&self) -> impl Iterator<Item = (usize, usize, &Dof)> {
        let pairs = self.dof_nodes.iter().zip(&self.dofs).enumerate();
        pairs.filter_map(|(k, (node, dof))| Some((k, (*node)?, dof)))
    }
}

impl Dof {
    fn of(read: &extension::Dof<'_>) -> Self {
        let limit = read.limit();
        Self {
            motion: read.motion(),
            axis: read.axis().value().map(Vector3::from),
            lower: limit.as_ref().and_then(|limit| limit.lower().value()),
            upper: limit.as_ref().and_then(|limit| limit.upper().value()),
            default: read.default().value().unwrap_or(0.0),
        }
    }

    /// Returns the limits if the lower one is above the upper one.
    pub fn reversed_limits(&self) -> Option<(f64, f64)> {
        self.lower
            .zip(self.upper)
            .filter(|(lower, upper)| lower > upper)
    }

    /// Describes the range if `position` is outside of it, with a tolerance for rounding; `None` if
    /// the limits are reversed.
    pub fn range_without(&self, position: f64) -> Option<String> {
        let rounding = 1e-9 * position.abs().max(1.0);
        let is_inside = self.lower.is_none_or(|lower| position >= lower - rounding)
            && self.upper.is_none_or(|upper| position <= upper + rounding);
        let bound = |bound: Option<f64>, none: &str| {
            bound.map_or_else(|| none.to_owned(), |bound| bound.to_string())
        };
        let is_range = self.reversed_limits().is_none();
        (is_range && !is_inside)
            .then(|| format!("{} to {}", bound(self.lower, "-∞"), bound(self.upper, "∞")))
    }
}

/// Returns `index` if it is within a list of `count` items.
fn below(count: usize, index: Option<usize>) -> Option<usize> {
    index.filter(|&index| index < count)
}

fn title(what: &str, name: &str, index: usize) -> String {
    if name.is_empty() {
        format!("{what} {index}")
    } else {
        format!("{what} \"{}\"", short(name))
    }
}

/// Formats a count with its noun: `1 node`, `2 nodes`.
pub fn plural(count: usize, noun: &str) -> String {
    if count == 1 {
        format!("1 {noun}")
    } else {
        format!("{count} {noun}s")
    }
}

/// Returns the name of a node for messages.
pub fn node_title(nodes: &[Json], node: usize) -> String {
    let name = nodes
        .get(node)
        .and_then(|node| node.get("name")?.text())
        .unwrap_or_default();
    if name.is_empty() {
        format!("node {node}")
    } else {
        format!("node {node} (\"{}\")", short(name))
    }
}
