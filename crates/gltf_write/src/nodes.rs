//! The node tree: link frames, the chain of origin and dof nodes of every joint, and the shapes
//! (sections 2 and 6 of the extension's specification).

use std::collections::HashMap;

use nalgebra::{Quaternion, UnitQuaternion, Vector3, Vector4};

use super::compact::Grid;
use super::drawings::Drawings;
use crate::json::document::{InstanceAttributes, Instances, Node, NodeExtensions, Visibility};
use crate::json::extras::{NodeExtras, ShapeExtras};
use crate::json::values::Index;
use urdf_usd_gltf_extension::axes;
use urdf_usd_robot::{
    ArenaMap, Geometry, Joint, JointId, Link, LinkId, Pose, Robot, Shape, kinematics,
};

/// The node tree, with the indices of links' and joints' nodes.
pub struct Nodes {
    pub list: Vec<Node>,
    /// Root node, which has the robot's name.
    pub root: Index,
    /// The nodes of each link.
    pub links: ArenaMap<Link, LinkNodes>,
    /// Nodes of each joint; `None` for joints that close loops.
    pub joints: ArenaMap<Joint, Option<JointNodes>>,
}

/// The nodes of a link.
#[derive(Clone, Debug, Default)]
pub struct LinkNodes {
    pub frame: Index,
    pub visuals: Vec<Index>,
    pub collisions: Vec<Index>,
}

/// The nodes of a joint.
#[derive(Clone, Debug)]
pub struct JointNodes {
    pub origin: Index,
    pub dofs: Vec<Index>,
}

/// Builds the node tree of `robot`. With `each_collider` every collider has a separate node, which
/// physics extensions can refer to.
pub fn build(robot: &Robot, drawings: &mut Drawings, each_collider: bool) -> Nodes {
    let root = Node {
        name: robot.name().to_owned(),
        ..Node::default()
    };
    let mut nodes = Nodes {
        list: vec![root],
        root: 0,
        links: ArenaMap::filled(robot.links(), LinkNodes::default()),
        joints: ArenaMap::filled(robot.joints(), None),
    };
    let above_roots = if robot.tree().roots().len() > 1 {
        nodes.named("world".to_owned(), nodes.root)
    } else {
        nodes.root
    };
    for &id in robot.tree().order() {
        let above = match robot.tree().parent_joint(id) {
            Some(joint) => nodes.joint(joint, &robot.joints()[joint]),
            None => above_roots,
        };
        nodes.link(id, &robot.links()[id], above, drawings, each_collider);
    }
    nodes
}

impl Nodes {
    /// Adds a node below `parent`.
    pub fn add(&mut self, node: Node, parent: Index) -> Index {
        let index = self.list.len();
        self.list.push(node);
        if let Some(parent) = self.list.get_mut(parent) {
            parent.children.push(index);
        }
        index
    }

    fn named(&mut self, name: String, parent: Index) -> Index {
        self.add(
            Node {
                name,
                ..Node::default()
            },
            parent,
        )
    }

    /// Adds the node chain of a joint below its parent link, and returns the last node.
    fn joint(&mut self, id: JointId, joint: &Joint) -> Index {
        let name = format!("joint_{}_origin", joint.name());
        let origin = self.add(
            placed(name, &joint.origin),
            self.links[joint.parent()].frame,
        );
        let mut last = origin;
        let dofs: Vec<Index> = (0..kinematics::position_count(joint.kind()))
            .map(|k| {
                last = self.named(format!("joint_{}_dof{k}", joint.name()), last);
                last
            })
            .collect();
        self.joints[id] = Some(JointNodes { origin, dofs });
        last
    }

    /// Adds the node of a shape. A quantized mesh gets a child node that dequantizes it, so that
    /// the shape's node keeps the transform of the robot.
    fn shape(
        &mut self,
        name: String,
        shape: &Shape,
        mesh: Option<Index>,
        drawings: &Drawings,
        hidden: bool,
        frame: Index,
    ) -> Index {
        let grid = mesh.and_then(|mesh| drawings.grids.get(mesh)?.as_ref());
        let scale = scale_of(shape);
        let visibility = hidden.then_some(Visibility { visible: false });
        let inner = format!("{name}_mesh");
        let node = Node {
            mesh: mesh.filter(|_| grid.is_none()),
            scale: (scale != [1.0; 3]).then_some(scale),
            extensions: NodeExtensions {
                visibility,
                ..NodeExtensions::default()
            },
            extras: Some(NodeExtras::Shape(ShapeExtras::of(shape))),
            ..placed(name, &shape.origin)
        };
        let index = self.add(node, frame);
        if let Some(grid) = grid {
            self.add(counted(inner, mesh, grid), index);
        }
        index
    }

    /// Adds one node for the shapes that a point instancer made of one mesh, with a copy for each.
    fn copies(
        &mut self,
        name: String,
        shapes: &[&Shape],
        mesh: Index,
        drawings: &mut Drawings,
        hidden: bool,
        frame: Index,
    ) -> Index {
        let grid = drawings.grids.get(mesh).copied().flatten();
        let (mut translations, mut scales) = (Vec::new(), Vec::new());
        let mut turns = Vec::with_capacity(shapes.len());
        for shape in shapes {
            let rotation = axes::rotation(&shape.origin.rotation);
            let (mut at, mut scale) = (
                axes::vector(&shape.origin.translation.vector),
                scale_of(shape),
            );
            // No node is between an instance and its mesh, so its transform has to dequantize too.
            if let Some(grid) = &grid {
                let corner = Vector3::from(grid.corner.map(f64::from));
                let corner = Vector3::from(scale).component_mul(&corner);
                let turn = UnitQuaternion::new_unchecked(Quaternion::from(Vector4::from(rotation)));
                at = (Vector3::from(at) + turn * corner).into();
                scale = scale.map(|factor| factor * f64::from(grid.side));
            }
            translations.push(at.map(|x| x as f32));
            scales.push(scale.map(|x| x as f32));
            turns.push(rotation.map(|x| x as f32));
        }
        let attributes = InstanceAttributes {
            translation: drawings.binary.samples(&translations, "VEC3"),
            rotation: drawings.binary.samples(&turns, "VEC4"),
            scale: drawings.binary.samples(&scales, "VEC3"),
        };
        let visibility = hidden.then_some(Visibility { visible: false });
        let extensions = NodeExtensions {
            visibility,
            instances: Some(Instances { attributes }),
            ..NodeExtensions::default()
        };
        let extras = shapes
            .first()
            .map(|shape| NodeExtras::Shape(ShapeExtras::of(shape)));
        self.add(
            Node {
                name,
                mesh: Some(mesh),
                extensions,
                extras,
                ..Node::default()
            },
            frame,
        )
    }

    fn link(
        &mut self,
        id: LinkId,
        link: &Link,
        above: Index,
        drawings: &mut Drawings,
        each_collider: bool,
    ) {
        let extras = Some(NodeExtras::Link {
            link: link.name().to_owned(),
        });
        let frame = self.add(
            Node {
                name: link.name().to_owned(),
                extras,
                ..Node::default()
            },
            above,
        );
        let seen = drawings.visuals[id].clone();
        let touched = drawings.collisions[id].clone();
        let mut shapes =
            |kind: &str, shapes: &[Shape], meshes: &[Option<Index>], hidden: bool| -> Vec<Index> {
                let mesh = |n: usize| meshes.get(n).copied().flatten();
                let batches = batches(shapes, mesh, hidden && each_collider);
                let shape_node = |batch: Vec<usize>| {
                    let number = *batch.first()?;
                    let name = format!("{}_{kind}_{number}", link.name());
                    let batch: Vec<&Shape> = batch.iter().filter_map(|&n| shapes.get(n)).collect();
                    let &first = batch.first()?;
                    Some(match mesh(number) {
                        Some(mesh) if batch.len() > 1 => {
                            self.copies(name, &batch, mesh, drawings, hidden, frame)
                        }
                        mesh => self.shape(name, first, mesh, drawings, hidden, frame),
                    })
                };
                batches.into_iter().filter_map(shape_node).collect()
            };
        let visuals = shapes("visual", &link.visuals, &seen, false);
        let collisions = shapes("collision", &link.collisions, &touched, true);
        self.links[id] = LinkNodes {
            frame,
            visuals,
            collisions,
        };
    }
}

/// Returns the scale of a shape's mesh along glTF's axes.
fn scale_of(shape: &Shape) -> [f64; 3] {
    match shape.geometry {
        Geometry::Mesh { scale, .. } | Geometry::Missing { scale } => axes::vector(&scale),
        _ => [1.0; 3],
    }
}

/// Groups shapes that share a node because one point instancer made them of one mesh. Groups are in
/// the order of their first shape. With `each` every shape is a group.
fn batches(shapes: &[Shape], mesh: impl Fn(usize) -> Option<Index>, each: bool) -> Vec<Vec<usize>> {
    let mut batches: Vec<Vec<usize>> = Vec::with_capacity(shapes.len());
    let mut known: HashMap<(usize, Index, Option<&str>), usize> = HashMap::new();
    for (n, shape) in shapes.iter().enumerate() {
        let key = shape.instance_set.zip(mesh(n)).filter(|_| !each);
        let key = key.map(|(set, mesh)| (set, mesh, shape.name.as_deref()));
        let batch = key.and_then(|key| known.get(&key));
        match batch.and_then(|&batch| batches.get_mut(batch)) {
            Some(batch) => batch.push(n),
            None => {
                known.extend(key.map(|key| (key, batches.len())));
                batches.push(vec![n]);
            }
        }
    }
    batches
}

/// Returns the node that dequantizes a mesh: it scales by the side of `grid` and moves to its
/// corner.
fn counted(name: String, mesh: Option<Index>, grid: &Grid) -> Node {
    let translation = grid.corner.map(f64::from);
    Node {
        name,
        mesh,
        translation: (translation != [0.0; 3]).then_some(translation),
        scale: (grid.side != 1.0).then_some([f64::from(grid.side); 3]),
        ..Node::default()
    }
}

/// Returns a node at `pose`.
pub fn placed(name: String, pose: &Pose) -> Node {
    let translation = axes::vector(&pose.translation.vector);
    let rotation = axes::rotation(&pose.rotation);
    Node {
        name,
        translation: (translation != [0.0; 3]).then_some(translation),
        rotation: (rotation != [0.0, 0.0, 0.0, 1.0]).then_some(rotation),
        ..Node::default()
    }
}
