//! The robot as a whole, and the only ways to change it: each keeps it valid.

use std::collections::{BTreeSet, HashMap};
use std::sync::OnceLock;

use urdf_usd_diagnostic::Place;

use super::{
    Arena, Custom, Geometry, Interface, Joint, JointId, JointProperties, Light, Link, LinkId,
    LinkProperties, LookVariant, Material, MaterialId, MeshId, MeshSource, Mimic, NamedPose,
    Planning, Sensor, Shape, Tree,
};
use crate::kinematics::position_count;

/// A robot: links joined by joints, with what hangs on them.
///
/// It is valid at all times. Links and joints have unique names; each joint connects links of the
/// robot; each link has at most one joint above it, further ones close loops ([`Tree`]); joints
/// follow each other in no circle; named poses and planning data refer to joints that have the
/// positions they set.
#[derive(Clone, Debug)]
pub struct Robot {
    name: String,
    links: Arena<Link>,
    link_names: HashMap<String, LinkId>,
    joints: Arena<Joint>,
    joint_names: HashMap<String, JointId>,
    /// Union-find over links: links of one set are connected by joints of the tree.
    connected: Vec<usize>,
    /// Whether a joint of the tree is above each link.
    has_parent: Vec<bool>,
    /// Derived from links and joints on first use.
    tree: OnceLock<Tree>,
    materials: Arena<Material>,
    meshes: Arena<MeshSource>,
    look_variants: Vec<LookVariant>,
    named_poses: Vec<NamedPose>,
    planning: Planning,
    /// Pairs of links that need not be checked for collision. Links that a joint connects are not
    /// among them unless the source says so.
    pub disabled_collisions: LinkPairs,
    /// Sensors in the source's order.
    pub sensors: Vec<Sensor>,
    /// Lights in the source's order.
    pub lights: Vec<Light>,
    /// ROS interfaces of the robot as a whole, beside `joint_states` and `robot_description`: those
    /// of its controllers.
    pub interfaces: Vec<Interface>,
    /// Attributes and elements of the robot element, kept as they were: transmissions, gazebo,
    /// ros2_control, sensors.
    pub custom: Custom,
    /// Position of the robot element in its source.
    pub place: Place,
}

/// A change that would make a [`Robot`] invalid. The robot is as it was before.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRobot {
    /// Two links of one name.
    #[error("the robot has a link \"{0}\" already")]
    DuplicateLink(String),
    /// Two joints of one name.
    #[error("the robot has a joint \"{0}\" already")]
    DuplicateJoint(String),
    /// A joint refers to a link or joint of another robot.
    #[error("\"{0}\" refers to a link or joint that the robot does not have")]
    Dangling(String),
    /// A joint follows itself, directly or through others.
    #[error("the joint \"{0}\" follows itself")]
    CircularMimic(String),
    /// Two look variants of one name.
    #[error("the robot has a look variant \"{0}\" already")]
    DuplicateLook(String),
    /// A named pose or a coordinate of the configuration space that the joints can't take: a joint
    /// that follows another or closes a loop, is set twice or out of order, or has another number
    /// of positions.
    #[error("\"{0}\" sets positions that the joints of the robot do not have")]
    Positions(String),
}

/// Unordered pairs of different links, each once, in the order of links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkPairs {
    pairs: BTreeSet<(LinkId, LinkId)>,
}

impl LinkPairs {
    /// Adds a pair, unless both are the same link.
    pub fn insert(&mut self, a: LinkId, b: LinkId) {
        if a != b {
            self.pairs.insert((a.min(b), a.max(b)));
        }
    }

    /// Returns whether the pair is among them.
    pub fn contains(&self, a: LinkId, b: LinkId) -> bool {
        self.pairs.contains(&(a.min(b), a.max(b)))
    }

    /// Returns the number of pairs.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Returns whether there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Returns all pairs, in the order of links, the lower link first.
    pub fn iter(&self) -> impl Iterator<Item = (LinkId, LinkId)> {
        self.pairs.iter().copied()
    }
}

impl FromIterator<(LinkId, LinkId)> for LinkPairs {
    fn from_iter<I: IntoIterator<Item = (LinkId, LinkId)>>(pairs: I) -> Self {
        let mut all = Self::default();
        all.extend(pairs);
        all
    }
}

impl Extend<(LinkId, LinkId)> for LinkPairs {
    fn extend<I: IntoIterator<Item = (LinkId, LinkId)>>(&mut self, pairs: I) {
        pairs.into_iter().for_each(|(a, b)| self.insert(a, b));
    }
}

impl Robot {
    /// Creates a robot without links; its name is `robot` if `name` is empty.
    pub fn new(name: impl Into<String>) -> Self {
        let mut robot = Self {
            name: String::new(),
            links: Arena::default(),
            link_names: HashMap::new(),
            joints: Arena::default(),
            joint_names: HashMap::new(),
            connected: Vec::new(),
            has_parent: Vec::new(),
            tree: OnceLock::new(),
            materials: Arena::default(),
            meshes: Arena::default(),
            look_variants: Vec::new(),
            named_poses: Vec::new(),
            planning: Planning::default(),
            disabled_collisions: LinkPairs::default(),
            sensors: Vec::new(),
            lights: Vec::new(),
            interfaces: Vec::new(),
            custom: Custom::default(),
            place: Place::default(),
        };
        robot.rename(name);
        robot
    }

    /// Returns the name as the source gives it, or a stand-in if it gives none; never empty.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Changes the name; an empty one becomes `robot`.
    pub fn rename(&mut self, name: impl Into<String>) {
        self.name = Some(name.into())
            .filter(|name| !name.is_empty())
            .unwrap_or_else(|| "robot".to_owned());
    }

    /// Returns the links in the source's order.
    pub fn links(&self) -> &Arena<Link> {
        &self.links
    }

    /// Returns what a link consists of, for changes.
    pub fn link_mut(&mut self, link: LinkId) -> &mut LinkProperties {
        &mut self.links[link]
    }

    /// Returns what all links consist of, for changes.
    pub fn links_mut(&mut self) -> impl DoubleEndedIterator<Item = (LinkId, &mut LinkProperties)> {
        self.links.iter_mut().map(|(id, link)| (id, &mut **link))
    }

    /// Returns the link of this name.
    pub fn link_named(&self, name: &str) -> Option<LinkId> {
        self.link_names.get(name).copied()
    }

    /// Adds a link.
    ///
    /// # Errors
    /// If there is one of this name.
    pub fn add_link(&mut self, link: Link) -> Result<LinkId, InvalidRobot> {
        if self.link_names.contains_key(&link.name) {
            return Err(InvalidRobot::DuplicateLink(link.name));
        }
        let name = link.name.clone();
        let id = self.links.push(link);
        self.link_names.insert(name, id);
        self.connected.push(id.index());
        self.has_parent.push(false);
        self.tree = OnceLock::new();
        Ok(id)
    }

    /// Returns the joints in the source's order.
    pub fn joints(&self) -> &Arena<Joint> {
        &self.joints
    }

    /// Returns the properties of a joint, for changes.
    pub fn joint_mut(&mut self, joint: JointId) -> &mut JointProperties {
        &mut self.joints[joint]
    }

    /// Returns the properties of all joints, for changes.
    pub fn joints_mut(
        &mut self,
    ) -> impl DoubleEndedIterator<Item = (JointId, &mut JointProperties)> {
        self.joints.iter_mut().map(|(id, joint)| (id, &mut **joint))
    }

    /// Returns the joint of this name.
    pub fn joint_named(&self, name: &str) -> Option<JointId> {
        self.joint_names.get(name).copied()
    }

    /// Adds a joint that follows no other ([`Robot::set_mimics`]).
    ///
    /// The first joint that reaches a link is the one above it. A joint closes a loop if its child
    /// has a joint above it already, or if its ends are connected already: in a ring without a
    /// root, that is the last one in the source's order.
    ///
    /// # Errors
    /// If there is one of this name, or if the robot does not have the links that it connects.
    pub fn add_joint(&mut self, mut joint: Joint) -> Result<JointId, InvalidRobot> {
        if self.joint_names.contains_key(&joint.name) {
            return Err(InvalidRobot::DuplicateJoint(joint.name));
        }
        if !self.links.contains(joint.parent) || !self.links.contains(joint.child) {
            return Err(InvalidRobot::Dangling(joint.name));
        }
        let (parent, child) = (self.set_of(joint.parent), self.set_of(joint.child));
        let is_reached = self.has_parent.get_mut(joint.child.index());
        joint.closes_loop = parent == child || is_reached.as_deref() == Some(&true);
        joint.mimic = None;
        if !joint.closes_loop {
            is_reached.into_iter().for_each(|reached| *reached = true);
            if let Some(set) = self.connected.get_mut(child) {
                *set = parent;
            }
        }
        let name = joint.name.clone();
        let id = self.joints.push(joint);
        self.joint_names.insert(name, id);
        self.tree = OnceLock::new();
        Ok(id)
    }

    /// Returns the representative of the connected links that `link` is one of (path halving).
    fn set_of(&mut self, link: LinkId) -> usize {
        let mut at = link.index();
        while let Some(&above) = self.connected.get(at).filter(|&&above| above != at) {
            let further = self.connected.get(above).copied().unwrap_or(above);
            if let Some(entry) = self.connected.get_mut(at) {
                *entry = further;
            }
            at = further;
        }
        at
    }

    /// Lets a joint follow another, or (`None`) no other.
    ///
    /// # Errors
    /// If it would follow itself, directly or through others, or a joint is not of this robot.
    pub fn set_mimic(
        &mut self,
        follower: JointId,
        mimic: Option<Mimic>,
    ) -> Result<(), InvalidRobot> {
        let mut leader = mimic.map(|mimic| mimic.joint);
        if let Some(joint) = [Some(follower), leader]
            .into_iter()
            .flatten()
            .find(|joint| !self.joints.contains(*joint))
        {
            return Err(InvalidRobot::Dangling(format!("{joint:?}")));
        }
        // No joint follows itself so far, so the chain of leaders ends.
        while let Some(joint) = leader {
            if joint == follower {
                let name = self.joints[follower].name.clone();
                return Err(InvalidRobot::CircularMimic(name));
            }
            leader = self.joints[joint].mimic.map(|mimic| mimic.joint);
        }
        self.joints[follower].mimic = mimic;
        Ok(())
    }

    /// Lets joints follow others, or (`None`) no others.
    ///
    /// # Errors
    /// If joints would follow each other in a circle, or a joint is not of this robot.
    pub fn set_mimics(
        &mut self,
        mimics: impl IntoIterator<Item = (JointId, Option<Mimic>)>,
    ) -> Result<(), InvalidRobot> {
        let before: Vec<Option<Mimic>> = self.joints.values().map(|joint| joint.mimic).collect();
        let mut error = None;
        for (follower, mimic) in mimics {
            let leader = mimic.map(|mimic| mimic.joint);
            if self.joints.contains(follower)
                && leader.is_none_or(|leader| self.joints.contains(leader))
            {
                self.joints[follower].mimic = mimic;
            } else {
                let name = self.joints.values().nth(follower.index());
                error = Some(InvalidRobot::Dangling(
                    name.map_or_else(|| format!("{follower:?}"), |joint| joint.name.clone()),
                ));
            }
        }
        error = error.or_else(|| {
            let joint = self.circular()?;
            Some(InvalidRobot::CircularMimic(self.joints[joint].name.clone()))
        });
        match error {
            None => Ok(()),
            Some(error) => {
                for (joint, mimic) in self.joints.values_mut().zip(before) {
                    joint.mimic = mimic;
                }
                Err(error)
            }
        }
    }

    /// Returns a joint that follows itself, if there is one. Each joint is visited once, however
    /// long chains are.
    fn circular(&self) -> Option<JointId> {
        // The walk that first came to each joint: coming to it again in the same walk is a circle.
        let mut walks = vec![None; self.joints.len()];
        for start in self.joints.handles() {
            let mut next = Some(start);
            while let Some(joint) = next {
                let walk = walks.get_mut(joint.index())?;
                match walk {
                    Some(walk) if *walk == start => return Some(joint),
                    Some(_) => break,
                    None => *walk = Some(start),
                }
                next = self.joints[joint].mimic.map(|mimic| mimic.joint);
            }
        }
        None
    }

    /// Returns how joints connect links. Computed on first use after a change.
    pub fn tree(&self) -> &Tree {
        self.tree
            .get_or_init(|| Tree::new(&self.links, &self.joints))
    }

    /// Returns named and inline materials, each once.
    pub fn materials(&self) -> &Arena<Material> {
        &self.materials
    }

    /// Returns a material for changes.
    pub fn material_mut(&mut self, material: MaterialId) -> &mut Material {
        &mut self.materials[material]
    }

    /// Returns all materials for changes.
    pub fn materials_mut(&mut self) -> impl Iterator<Item = (MaterialId, &mut Material)> {
        self.materials.iter_mut()
    }

    /// Adds a material, for [`Shape::material`] to refer to.
    pub fn add_material(&mut self, material: Material) -> MaterialId {
        self.materials.push(material)
    }

    /// Returns the meshes that shapes are made of.
    pub fn meshes(&self) -> &Arena<MeshSource> {
        &self.meshes
    }

    /// Returns a mesh for changes.
    pub fn mesh_mut(&mut self, mesh: MeshId) -> &mut MeshSource {
        &mut self.meshes[mesh]
    }

    /// Returns all meshes for changes.
    pub fn meshes_mut(&mut self) -> impl Iterator<Item = (MeshId, &mut MeshSource)> {
        self.meshes.iter_mut()
    }

    /// Adds a mesh, for [`Geometry::Mesh`] to refer to.
    pub fn add_mesh(&mut self, source: MeshSource) -> MeshId {
        self.meshes.push(source)
    }

    /// Returns the material of part `part` of a visual's mesh: the mesh's own before the shape's.
    pub fn material_of(&self, shape: &Shape, part: usize) -> Option<&Material> {
        let mesh = match shape.geometry {
            Geometry::Mesh { mesh, .. } => Some(&*self.meshes[mesh].mesh),
            _ => None,
        };
        let own = mesh.and_then(|mesh| mesh.materials.get(mesh.parts.get(part)?.material?));
        own.or_else(|| Some(&self.materials[shape.material?]))
    }

    /// Returns looks that the robot can have instead of the one that it has.
    pub fn look_variants(&self) -> &[LookVariant] {
        &self.look_variants
    }

    /// Adds a look.
    ///
    /// # Errors
    /// If there is one of this name.
    pub fn add_look_variant(&mut self, variant: LookVariant) -> Result<(), InvalidRobot> {
        if self
            .look_variants
            .iter()
            .any(|known| known.name == variant.name)
        {
            return Err(InvalidRobot::DuplicateLook(variant.name));
        }
        self.look_variants.push(variant);
        Ok(())
    }

    /// Returns named poses, in the sources' order; names may recur among groups.
    pub fn named_poses(&self) -> &[NamedPose] {
        &self.named_poses
    }

    /// Adds a named pose.
    ///
    /// # Errors
    /// If the joints that it sets do not have these positions, or are not in the robot's order.
    pub fn add_named_pose(&mut self, pose: NamedPose) -> Result<(), InvalidRobot> {
        self.check_pose(&pose)?;
        self.named_poses.push(pose);
        Ok(())
    }

    /// Replaces all named poses.
    ///
    /// # Errors
    /// As of [`Robot::add_named_pose`].
    pub fn set_named_poses(&mut self, poses: Vec<NamedPose>) -> Result<(), InvalidRobot> {
        poses.iter().try_for_each(|pose| self.check_pose(pose))?;
        self.named_poses = poses;
        Ok(())
    }

    fn check_pose(&self, pose: &NamedPose) -> Result<(), InvalidRobot> {
        let is_in_order = pose.positions.is_sorted_by(|(a, _), (b, _)| a < b);
        let fits = |(joint, positions): &(JointId, Vec<f64>)| {
            self.joints.contains(*joint)
                && self.joints[*joint].mimic.is_none()
                && positions.len() == position_count(self.joints[*joint].kind)
        };
        if is_in_order && pose.positions.iter().all(fits) {
            Ok(())
        } else {
            Err(InvalidRobot::Positions(pose.name.clone()))
        }
    }

    /// Returns what motion planners need to know of it; empty unless a source says.
    pub fn planning(&self) -> &Planning {
        &self.planning
    }

    /// Replaces the planning data.
    ///
    /// # Errors
    /// If a coordinate is of a joint that follows another, has more or less than one position, or
    /// is set twice, or if collision data refer to a group of spheres that is not there.
    pub fn set_planning(&mut self, planning: Planning) -> Result<(), InvalidRobot> {
        let mut seen = BTreeSet::new();
        for coordinate in &planning.coordinates {
            if !self.joints.contains(coordinate.joint) {
                return Err(InvalidRobot::Dangling(format!("{:?}", coordinate.joint)));
            }
            let joint = &self.joints[coordinate.joint];
            if joint.mimic.is_some()
                || position_count(joint.kind) != 1
                || !seen.insert(coordinate.joint)
            {
                return Err(InvalidRobot::Positions(joint.name.clone()));
            }
        }
        let collisions = planning.collision.iter().chain(&planning.self_collision);
        for collision in collisions {
            if collision.group >= planning.groups.len() {
                return Err(InvalidRobot::Dangling(format!("group {}", collision.group)));
            }
        }
        self.planning = planning;
        Ok(())
    }

    /// Returns the root link that stands for the world, if there is one: named `world`, with
    /// geometry or with joints on it, whatever other roots there are. It does not move, what hangs
    /// on it by a fixed joint is held, and its mass means nothing.
    pub fn world_root(&self) -> Option<LinkId> {
        let world = self.link_named("world")?;
        let tree = self.tree();
        let is_used = !self.links[world].is_empty() || !tree.child_joints(world).is_empty();
        (tree.parent_joint(world).is_none() && is_used).then_some(world)
    }

    /// Returns whether a link is no more than a frame: nothing physical is on it, or it is the
    /// world.
    pub fn is_frame(&self, link: LinkId) -> bool {
        self.world_root() == Some(link) || self.links[link].is_empty()
    }

    /// Takes the meshes and materials of another robot, so that their handles stay valid.
    pub(crate) fn take_meshes_and_materials(&mut self, other: Self) {
        self.meshes = other.meshes;
        self.materials = other.materials;
    }
}
