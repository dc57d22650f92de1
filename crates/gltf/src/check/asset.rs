//! The extension's JSON as the rules look at it: what is of the wrong type or refers to nothing is absent, and has been reported.

use nalgebra::Vector3;
use serde_json::Value;

use super::findings::{Findings, short};
use super::{EXTENSION, codes};
use urdf_usd_robot::{JointKind, kinematics};

/// The asset: its nodes and the models on them.
pub struct Asset<'a> {
    pub nodes: &'a [Value],
    pub models: Vec<Model<'a>>,
}

/// A kinematic model.
pub struct Model<'a> {
    pub index: usize,
    pub name: &'a str,
    pub root: Option<usize>,
    pub links: Vec<Link<'a>>,
    pub joints: Vec<Joint<'a>>,
    pub configurations: Vec<(&'a str, &'a Value)>,
}

/// A link.
pub struct Link<'a> {
    pub model: usize,
    pub index: usize,
    pub name: &'a str,
    pub node: Option<usize>,
    /// Which entry, and the node.
    pub visuals: Vec<(usize, usize)>,
    pub collisions: Vec<(usize, usize)>,
}

/// A joint.
pub struct Joint<'a> {
    pub model: usize,
    pub index: usize,
    pub name: &'a str,
    pub kind: Option<JointKind>,
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

/// Which channel a degree of freedom drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Motion {
    Rotation,
    Translation,
}

/// What a joint follows, if that is a joint of the model.
pub struct Mimic {
    pub joint: Option<usize>,
}

impl Motion {
    /// The extension's word, which is also the name of the channel.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rotation => "rotation",
            Self::Translation => "translation",
        }
    }

    fn read(text: &str) -> Option<Self> {
        [Self::Rotation, Self::Translation].into_iter().find(|motion| motion.as_str() == text)
    }

    /// Of each degree of freedom of a joint.
    pub fn of(kind: JointKind) -> &'static [Self] {
        use Motion::{Rotation, Translation};
        match kind {
            JointKind::Fixed => &[],
            JointKind::Revolute | JointKind::Continuous => &[Rotation],
            JointKind::Prismatic => &[Translation],
            JointKind::Planar => &[Translation; 2],
            JointKind::Floating => &[Translation, Translation, Translation, Rotation, Rotation, Rotation],
        }
    }
}

impl<'a> Asset<'a> {
    /// Reads `extension`, which is the one in `json`. Indices that lead nowhere are reported.
    pub fn of(json: &'a Value, extension: &'a Value, findings: &mut Findings) -> Self {
        let nodes = list(json, "nodes");
        let models = list(extension, "models").iter().enumerate();
        Self { models: models.map(|(index, model)| Model::of(index, model, nodes.len(), findings)).collect(), nodes }
    }
}

impl<'a> Model<'a> {
    fn of(at: usize, json: &'a Value, nodes: usize, findings: &mut Findings) -> Self {
        let joint_count = list(json, "joints").len();
        let mut model = Model {
            index: at,
            name: text(json, "name"),
            root: None,
            links: Vec::new(),
            joints: Vec::new(),
            configurations: object(json, "configurations").map(|(name, value)| (name.as_str(), value)).collect(),
        };
        model.root =
            NodeReferences { title: model.title(), count: nodes, findings }.property(json, "rootNode", &model.pointer());
        let links = list(json, "links").iter().enumerate();
        model.links = links.map(|(index, link)| Link::of(at, index, link, nodes, findings)).collect();
        let counts = Counts { nodes, links: model.links.len(), joints: joint_count };
        let joints = list(json, "joints").iter().enumerate();
        model.joints = joints.map(|(index, joint)| Joint::of(at, index, joint, &counts, findings)).collect();
        model
    }

    /// Where it is.
    pub fn pointer(&self) -> String {
        format!("/extensions/{EXTENSION}/models/{}", self.index)
    }

    /// What messages call it.
    pub fn title(&self) -> String {
        title("model", self.name, self.index)
    }
}

/// How long the lists are that indices refer to.
struct Counts {
    nodes: usize,
    links: usize,
    joints: usize,
}

impl<'a> Link<'a> {
    fn of(model: usize, at: usize, json: &'a Value, nodes: usize, findings: &mut Findings) -> Self {
        let mut link =
            Link { model, index: at, name: text(json, "name"), node: None, visuals: Vec::new(), collisions: Vec::new() };
        let pointer = link.pointer();
        let mut references = NodeReferences { title: link.title(), count: nodes, findings };
        link.node = references.property(json, "node", &pointer);
        let there =
            |nodes: Vec<Option<usize>>| nodes.into_iter().enumerate().filter_map(|(n, node)| Some((n, node?))).collect();
        link.visuals = there(references.list(json, "visualNodes", &pointer));
        link.collisions = there(references.list(json, "collisionNodes", &pointer));
        link
    }

    /// Where it is.
    pub fn pointer(&self) -> String {
        format!("/extensions/{EXTENSION}/models/{}/links/{}", self.model, self.index)
    }

    /// What messages call it.
    pub fn title(&self) -> String {
        title("link", self.name, self.index)
    }
}

impl<'a> Joint<'a> {
    fn of(model: usize, at: usize, json: &'a Value, counts: &Counts, findings: &mut Findings) -> Self {
        let mut joint = Joint {
            model,
            index: at,
            name: text(json, "name"),
            kind: kind(text(json, "type")),
            parent: None,
            child: None,
            origin: None,
            dof_nodes: Vec::new(),
            dofs: list(json, "dofs").iter().map(Dof::of).collect(),
            mimic: None,
        };
        let (pointer, title) = (joint.pointer(), joint.title());
        let mut link = |what: &str| {
            let link = json.get(what).and_then(index)?;
            if link >= counts.links {
                let message = format!("{title}: {what} is {link}, and the model has {}", plural(counts.links, "link"));
                findings.report(
                    &codes::LINK_INDEX,
                    format!("{pointer}/{what}"),
                    message,
                    "give the link's place in `links`, from 0",
                );
            }
            Some(link).filter(|&link| link < counts.links)
        };
        joint.parent = link("parentLink");
        joint.child = link("childLink");
        let mut references = NodeReferences { title: title.clone(), count: counts.nodes, findings };
        joint.origin = references.property(json, "originNode", &pointer);
        joint.dof_nodes = references.list(json, "dofNodes", &pointer);
        joint.mimic = json.get("mimic").filter(|mimic| mimic.is_object()).map(|mimic| {
            let driver = mimic.get("joint").and_then(index);
            if let Some(driver) = driver.filter(|&driver| driver >= counts.joints) {
                let message =
                    format!("{title}: it follows joint {driver}, and the model has {}", plural(counts.joints, "joint"));
                let help = "give the driver's place in `joints`, from 0";
                findings.report(&codes::JOINT_INDEX, format!("{pointer}/mimic/joint"), message, help);
            }
            Mimic { joint: driver.filter(|&driver| driver < counts.joints) }
        });
        joint
    }

    /// Where it is.
    pub fn pointer(&self) -> String {
        format!("/extensions/{EXTENSION}/models/{}/joints/{}", self.model, self.index)
    }

    /// What messages call it.
    pub fn title(&self) -> String {
        title("joint", self.name, self.index)
    }

    /// How many degrees of freedom its type has; as many as it lists if the type is none.
    pub fn dof_count(&self) -> usize {
        self.kind.map_or(self.dofs.len(), kinematics::position_count)
    }

    /// The degrees of freedom with their nodes, where both are there.
    pub fn driven(&self) -> impl Iterator<Item = (usize, usize, &Dof)> {
        let pairs = self.dof_nodes.iter().zip(&self.dofs).enumerate();
        pairs.filter_map(|(k, (node, dof))| Some((k, (*node)?, dof)))
    }
}

impl Dof {
    fn of(json: &Value) -> Self {
        let limit = |name: &str| json.get("limit").and_then(|limit| limit.get(name)).and_then(Value::as_f64);
        Self {
            motion: Motion::read(text(json, "motion")),
            axis: numbers::<3>(json.get("axis")).map(Vector3::from),
            lower: limit("lower"),
            upper: limit("upper"),
            default: json.get("default").and_then(Value::as_f64).unwrap_or(0.0),
        }
    }

    /// The range in words if `position` is outside of it, but for rounding; `None` too if there is no range to be in.
    pub fn range_without(&self, position: f64) -> Option<String> {
        let rounding = 1e-9 * position.abs().max(1.0);
        let is_inside = self.lower.is_none_or(|lower| position >= lower - rounding)
            && self.upper.is_none_or(|upper| position <= upper + rounding);
        let bound = |bound: Option<f64>, none: &str| bound.map_or_else(|| none.to_owned(), |bound| bound.to_string());
        let is_range = !matches!((self.lower, self.upper), (Some(lower), Some(upper)) if lower > upper);
        (is_range && !is_inside).then(|| format!("{} to {}", bound(self.lower, "-∞"), bound(self.upper, "∞")))
    }
}

fn kind(text: &str) -> Option<JointKind> {
    use JointKind::{Continuous, Fixed, Floating, Planar, Prismatic, Revolute};
    [Fixed, Revolute, Continuous, Prismatic, Planar, Floating].into_iter().find(|kind| kind.as_str() == text)
}

fn title(what: &str, name: &str, index: usize) -> String {
    if name.is_empty() { format!("{what} {index}") } else { format!("{what} \"{}\"", short(name)) }
}

/// References to nodes, from one part of a model.
struct NodeReferences<'f> {
    /// What messages call that part.
    title: String,
    /// How many nodes there are.
    count: usize,
    findings: &'f mut Findings,
}

impl NodeReferences<'_> {
    /// The node that `value` names in the property `what` at `pointer`.
    fn node(&mut self, value: &Value, what: &str, pointer: String) -> Option<usize> {
        let node = index(value)?;
        if node < self.count {
            return Some(node);
        }
        let message = format!("{}: {what} names node {node}, and the asset has {}", self.title, plural(self.count, "node"));
        self.findings.report(&codes::NODE_INDEX, pointer, message, "give the node's place in the asset's `nodes`, from 0");
        None
    }

    /// The node in the property `what` of `json`, which is at `pointer`.
    fn property(&mut self, json: &Value, what: &str, pointer: &str) -> Option<usize> {
        self.node(json.get(what)?, what, format!("{pointer}/{what}"))
    }

    /// Those in the list `what` of `json`, which is at `pointer`.
    fn list(&mut self, json: &Value, what: &str, pointer: &str) -> Vec<Option<usize>> {
        let entries = list(json, what).iter().enumerate();
        entries.map(|(n, value)| self.node(value, what, format!("{pointer}/{what}/{n}"))).collect()
    }
}

/// `1 node`, `2 nodes`.
pub fn plural(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// What messages call a node.
pub fn node_title(nodes: &[Value], node: usize) -> String {
    let name = nodes.get(node).map_or("", |node| text(node, "name"));
    if name.is_empty() { format!("node {node}") } else { format!("node {node} (\"{}\")", short(name)) }
}

/// The list `name` of `json`; empty if there is none.
pub fn list<'a>(json: &'a Value, name: &str) -> &'a [Value] {
    json.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The properties of the object `name` of `json`; none if there is none.
pub fn object<'a>(json: &'a Value, name: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    json.get(name).and_then(Value::as_object).into_iter().flatten()
}

/// The text `name` of `json`; empty if there is none.
pub fn text<'a>(json: &'a Value, name: &str) -> &'a str {
    json.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// A whole number from 0, also if it is written as 3.0.
pub fn index(value: &Value) -> Option<usize> {
    let number = value.as_u64().or_else(|| {
        let number = value.as_f64().filter(|number| number.fract() == 0.0 && *number >= 0.0)?;
        // Beyond this no list is as long, and the cast saturates.
        Some(number as u64)
    })?;
    Some(usize::try_from(number).unwrap_or(usize::MAX))
}

/// Exactly `N` numbers.
pub fn numbers<const N: usize>(value: Option<&Value>) -> Option<[f64; N]> {
    let list = value?.as_array()?;
    let numbers: Option<Vec<f64>> = list.iter().take(N + 1).map(Value::as_f64).collect();
    numbers?.try_into().ok()
}
