//! The robot as a whole, and its mutators, which preserve its validity.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::OnceLock;

use urdf_usd_diagnostic::{Diagnostic, Place};

use super::{
    About, Arena, Custom, Geometry, Interface, Joint, JointId, JointProperties, Light, Link,
    LinkId, LinkProperties, LookVariant, Material, MaterialId, MeshId, MeshSource, Mimic,
    NamedPose, Planning, RosSettings, Sensor, Shape, Simulation, Tree, codes,
};
use crate::kinematics::position_count;

/// Name of the link that represents the world ([`Robot::world_root`]).
pub const WORLD: &str = "world";

/// A robot: links connected by joints, with geometry, sensors, lights and planning data.
///
/// Its structure is valid at all times. Links and joints have unique names; each joint connects
/// links of the robot; each link has at most one joint above it, further ones close loops
/// ([`Tree`]); joints don't follow each other in a circle; named poses and planning coordinates
/// refer to joints that have the positions they set; every handle in a shape, a sensor, a light, a
/// look, a pose, a pair of links or planning data refers to an element of the robot.
///
/// A handle of another robot is refused unless this one has as many elements, and is meaningless
/// then: it refers to some other element. Looking one up in an arena directly may panic, as an
/// index out of bounds does.
#[derive(Clone)]
pub struct Robot {
    name: String,
    links: Arena<Link>,
    link_names: HashMap<String, LinkId>,
    joints: Arena<Joint>,
    joint_names: HashMap<String, JointId>,
    /// Union-find over links: links of one set are connected by joints of the tree.
    connected: Vec<usize>,
    /// For each link, whether a joint of the tree is above it.
    has_parent: Vec<bool>,
    /// Derived from links and joints on first use.
    tree: OnceLock<Tree>,
    materials: Arena<Material>,
    meshes: Arena<MeshSource>,
    look_variants: Vec<LookVariant>,
    named_poses: Vec<NamedPose>,
    planning: Planning,
    disabled_collisions: LinkPairs,
    simulation: Simulation,
    sensors: Vec<Sensor>,
    lights: Vec<Light>,
    /// ROS interfaces of the robot as a whole, beside `joint_states`: those
    /// of its controllers.
    pub interfaces: Vec<Interface>,
    /// ROS settings of the robot as a whole.
    pub ros: RosSettings,
    /// Statements of the source about the robot as a product.
    pub about: About,
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
    /// A reference to a link, a joint, a material, a mesh, a shape or a group of spheres that the
    /// robot does not have.
    #[error("\"{0}\" is not of the robot, or refers to what is not")]
    Dangling(String),
    /// A joint follows itself, directly or through others.
    #[error("the joint \"{0}\" follows itself")]
    CircularMimic(String),
    /// Two look variants of one name.
    #[error("the robot has a look variant \"{0}\" already")]
    DuplicateLook(String),
    /// A named pose or a coordinate of the configuration space that does not match the joints: a
    /// joint that follows another, is set twice or out of order, or has another number of
    /// positions.
    #[error("\"{0}\" sets positions that the joints of the robot do not have")]
    Positions(String),
}

impl InvalidRobot {
    /// Returns the finding of a reader that leaves out a refused element, which should have been
    /// valid.
    pub fn to_diagnostic(&self, place: Place) -> Diagnostic {
        let message = format!("a part of the robot is left out: {self}");
        let help = "this is a defect of the program; please report it with the file";
        Diagnostic::new(&codes::REFUSED, place, message).help(help)
    }
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

impl fmt::Debug for Robot {
    /// Leaves out data derived from links and joints: the order of a hash map differs between runs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Robot")
            .field("name", &self.name)
            .field("links", &self.links)
            .field("joints", &self.joints)
            .field("materials", &self.materials)
            .field("meshes", &self.meshes)
            .field("look_variants", &self.look_variants)
            .field("named_poses", &self.named_poses)
            .field("planning", &self.planning)
            .field("disabled_collisions", &self.disabled_collisions)
            .field("simulation", &self.simulation)
            .field("sensors", &self.sensors)
            .field("lights", &self.lights)
            .field("interfaces", &self.interfaces)
            .field("custom", &self.custom)
            .field("place", &self.place)
            .finish_non_exhaustive()
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
            simulation: Simulation::default(),
            sensors: Vec::new(),
            lights: Vec::new(),
            interfaces: Vec::new(),
            ros: RosSettings::default(),
            about: About::default(),
            custom: Custom::default(),
            place: Place::default(),
        };
        robot.rename(name);
        robot
    }

    /// Returns the name in the source, or a default if it gives none; never empty.
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

    /// Returns the properties of a link, for changes.
    pub fn link_mut(&mut self, link: LinkId) -> &mut LinkProperties {
        &mut self.links[link]
    }

    /// Returns the properties of all links, for changes.
    pub fn links_mut(&mut self) -> impl DoubleEndedIterator<Item = (LinkId, &mut LinkProperties)> {
        self.links.iter_mut().map(|(id, link)| (id, &mut **link))
    }

    /// Adds a visual shape to a link.
    ///
    /// # Errors
    /// If the robot does not have the link, or the material or mesh of the shape.
    pub fn add_visual(&mut self, link: LinkId, shape: Shape) -> Result<(), InvalidRobot> {
        self.check_shapes(link, std::slice::from_ref(&shape))?;
        self.links[link].visuals.push(shape);
        Ok(())
    }

    /// Adds a collider to a link.
    ///
    /// # Errors
    /// As of [`Robot::add_visual`].
    pub fn add_collision(&mut self, link: LinkId, shape: Shape) -> Result<(), InvalidRobot> {
        self.check_shapes(link, std::slice::from_ref(&shape))?;
        self.links[link].collisions.push(shape);
        Ok(())
    }

    /// Replaces the visual shape `index` of a link.
    ///
    /// # Errors
    /// As of [`Robot::add_visual`], or if the link has no such shape.
    pub fn set_visual(
        &mut self,
        link: LinkId,
        index: usize,
        shape: Shape,
    ) -> Result<(), InvalidRobot> {
        self.check_shapes(link, std::slice::from_ref(&shape))?;
        let link = &mut self.links[link];
        let before = link.visuals.get_mut(index);
        *before.ok_or_else(|| InvalidRobot::Dangling(link.name.clone()))? = shape;
        Ok(())
    }

    /// Replaces the collider `index` of a link.
    ///
    /// # Errors
    /// As of [`Robot::set_visual`].
    pub fn set_collision(
        &mut self,
        link: LinkId,
        index: usize,
        shape: Shape,
    ) -> Result<(), InvalidRobot> {
        self.check_shapes(link, std::slice::from_ref(&shape))?;
        let link = &mut self.links[link];
        let before = link.collisions.get_mut(index);
        *before.ok_or_else(|| InvalidRobot::Dangling(link.name.clone()))? = shape;
        Ok(())
    }

    /// Replaces the visual shapes of a link.
    ///
    /// # Errors
    /// As of [`Robot::add_visual`].
    pub fn set_visuals(&mut self, link: LinkId, shapes: Vec<Shape>) -> Result<(), InvalidRobot> {
        self.check_shapes(link, &shapes)?;
        self.links[link].visuals = shapes;
        Ok(())
    }

    /// Replaces the colliders of a link.
    ///
    /// # Errors
    /// As of [`Robot::add_visual`].
    pub fn set_collisions(&mut self, link: LinkId, shapes: Vec<Shape>) -> Result<(), InvalidRobot> {
        self.check_shapes(link, &shapes)?;
        self.links[link].collisions = shapes;
        Ok(())
    }

    /// Checks that the robot has a link.
    fn check_link(&self, link: LinkId, of: impl fmt::Display) -> Result<(), InvalidRobot> {
        if self.links.contains(link) {
            Ok(())
        } else {
            Err(InvalidRobot::Dangling(of.to_string()))
        }
    }

    /// Checks that the robot has a link, and the meshes and materials of shapes on it.
    fn check_shapes(&self, link: LinkId, shapes: &[Shape]) -> Result<(), InvalidRobot> {
        self.check_link(link, format_args!("{link:?}"))?;
        if shapes.iter().all(|shape| self.has_parts_of(shape)) {
            Ok(())
        } else {
            Err(InvalidRobot::Dangling(self.links[link].name.clone()))
        }
    }

    /// Returns whether the robot has the material and the mesh of a shape.
    fn has_parts_of(&self, shape: &Shape) -> bool {
        let has_mesh = match shape.geometry {
            Geometry::Mesh { mesh, .. } => self.meshes.contains(mesh),
            _ => true,
        };
        has_mesh
            && shape
                .material
                .is_none_or(|material| self.materials.contains(material))
    }

    /// Returns the link of this name.
    pub fn link_named(&self, name: &str) -> Option<LinkId> {
        self.link_names.get(name).copied()
    }

    /// Adds a link.
    ///
    /// # Errors
    /// If the name is taken, or if the robot does not have a material or mesh of its shapes.
    pub fn add_link(&mut self, link: Link) -> Result<LinkId, InvalidRobot> {
        if self.link_names.contains_key(&link.name) {
            return Err(InvalidRobot::DuplicateLink(link.name));
        }
        let mut shapes = link.visuals.iter().chain(&link.collisions);
        if !shapes.all(|shape| self.has_parts_of(shape)) {
            return Err(InvalidRobot::Dangling(link.name));
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
    /// If the name is taken, or if the robot does not have the links that it connects.
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

    /// Makes a joint follow another, or (`None`) no other.
    ///
    /// # Errors
    /// If it would follow itself, directly or through others, a joint is not of this robot, or a
    /// named pose or a coordinate sets a joint that would follow another.
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
        // Checked with the change in place, which is undone if it does not fit.
        let before = std::mem::replace(&mut self.joints[follower].mimic, mimic);
        let result = self.check_positions();
        if result.is_err() {
            self.joints[follower].mimic = before;
        }
        result
    }

    /// Makes joints follow others, or (`None`) no others.
    ///
    /// # Errors
    /// If joints would follow each other in a circle, a joint is not of this robot, or a named pose
    /// or a coordinate sets a joint that would follow another.
    pub fn set_mimics(
        &mut self,
        mimics: impl IntoIterator<Item = (JointId, Option<Mimic>)>,
    ) -> Result<(), InvalidRobot> {
        let before: Vec<Option<Mimic>> = self.joints.values().map(|joint| joint.mimic).collect();
        let result = self.try_mimics(mimics);
        if result.is_err() {
            for (joint, mimic) in self.joints.values_mut().zip(before) {
                joint.mimic = mimic;
            }
        }
        result
    }

    fn try_mimics(
        &mut self,
        mimics: impl IntoIterator<Item = (JointId, Option<Mimic>)>,
    ) -> Result<(), InvalidRobot> {
        for (follower, mimic) in mimics {
            if !self.joints.contains(follower) {
                return Err(InvalidRobot::Dangling(format!("{follower:?}")));
            }
            if mimic.is_some_and(|mimic| !self.joints.contains(mimic.joint)) {
                let name = self.joints[follower].name.clone();
                return Err(InvalidRobot::Dangling(name));
            }
            self.joints[follower].mimic = mimic;
        }
        // Only the result counts: in between, joints may follow each other in a circle.
        if let Some(joint) = self.circular() {
            let name = self.joints[joint].name.clone();
            return Err(InvalidRobot::CircularMimic(name));
        }
        self.check_positions()
    }

    /// Checks the named poses and planning data, which set positions of joints.
    fn check_positions(&self) -> Result<(), InvalidRobot> {
        let mut poses = self.named_poses.iter();
        poses.try_for_each(|pose| self.check_pose(pose))?;
        self.check_planning(&self.planning)
    }

    /// Returns a joint that follows itself, if there is one. Each joint is visited once, however
    /// long chains are.
    fn circular(&self) -> Option<JointId> {
        // The walk that visited each joint first: visiting it again in the same walk is a cycle.
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

    /// Returns the alternative looks of the robot.
    pub fn look_variants(&self) -> &[LookVariant] {
        &self.look_variants
    }

    /// Adds a look.
    ///
    /// # Errors
    /// If the name is taken, or if the robot does not have one of its links.
    pub fn add_look_variant(&mut self, variant: LookVariant) -> Result<(), InvalidRobot> {
        if self
            .look_variants
            .iter()
            .any(|known| known.name == variant.name)
        {
            return Err(InvalidRobot::DuplicateLook(variant.name));
        }
        let mut parts = variant.materials.keys();
        parts.try_for_each(|part| self.check_link(part.link, &variant.name))?;
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
    /// If the joints that it sets do not have these positions, or are not in the robot's order, or
    /// it does not set all its fixed joints, or the robot does not have the links of its chain.
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
        let mut ends = pose.chain.into_iter().flat_map(<[LinkId; 2]>::from);
        ends.try_for_each(|link| self.check_link(link, &pose.name))?;
        let is_in_order = pose.positions.is_sorted_by(|(a, _), (b, _)| a < b)
            && pose.fixed.is_sorted_by(|a, b| a < b);
        let is_set = |fixed: &JointId| pose.positions.iter().any(|(joint, _)| joint == fixed);
        let fits = |(joint, positions): &(JointId, Vec<f64>)| {
            self.joints.contains(*joint)
                && self.joints[*joint].mimic.is_none()
                && positions.len() == position_count(self.joints[*joint].kind)
        };
        if is_in_order && pose.positions.iter().all(fits) && pose.fixed.iter().all(is_set) {
            Ok(())
        } else {
            Err(InvalidRobot::Positions(pose.name.clone()))
        }
    }

    /// Returns the motion planning data; empty unless a source gives some.
    pub fn planning(&self) -> &Planning {
        &self.planning
    }

    /// Replaces the planning data.
    ///
    /// # Errors
    /// If a coordinate's joint follows another, does not have exactly one position, or is set
    /// twice, or if the data refer to a link or a group of spheres that does not exist.
    pub fn set_planning(&mut self, planning: Planning) -> Result<(), InvalidRobot> {
        self.check_planning(&planning)?;
        self.planning = planning;
        Ok(())
    }

    fn check_planning(&self, planning: &Planning) -> Result<(), InvalidRobot> {
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
        let mut links = planning.links();
        links.try_for_each(|link| self.check_link(link, format_args!("{link:?}")))
    }

    /// Returns pairs of links that are excluded from collision checks. Links connected by a joint
    /// are excluded only if the source excludes them.
    pub fn disabled_collisions(&self) -> &LinkPairs {
        &self.disabled_collisions
    }

    /// Excludes pairs of links from collision checks.
    ///
    /// # Errors
    /// If the robot does not have one of the links.
    pub fn disable_collisions(
        &mut self,
        pairs: impl IntoIterator<Item = (LinkId, LinkId)>,
    ) -> Result<(), InvalidRobot> {
        let pairs: Vec<(LinkId, LinkId)> = pairs.into_iter().collect();
        for link in pairs.iter().flat_map(|&pair| <[LinkId; 2]>::from(pair)) {
            self.check_link(link, format_args!("{link:?}"))?;
        }
        self.disabled_collisions.extend(pairs);
        Ok(())
    }

    /// Replaces looks and pairs of links, which refer to links of the robot.
    pub(crate) fn replace_looks_and_pairs(&mut self, looks: Vec<LookVariant>, pairs: LinkPairs) {
        self.look_variants = looks;
        self.disabled_collisions = pairs;
    }

    /// Returns what simulations need beyond the description; empty unless a conversion assumes it.
    pub fn simulation(&self) -> &Simulation {
        &self.simulation
    }

    /// Replaces the data for simulations.
    ///
    /// # Errors
    /// If the robot does not have a link or joint of the data, or if the start does not match its
    /// joints.
    pub fn set_simulation(&mut self, simulation: Simulation) -> Result<(), InvalidRobot> {
        let pairs = simulation.touching.iter();
        for link in pairs.flat_map(<[LinkId; 2]>::from) {
            self.check_link(link, format_args!("{link:?}"))?;
        }
        let missing = |joint: &&JointId| !self.joints.contains(**joint);
        if let Some(joint) = simulation.actuation.keys().find(missing) {
            return Err(InvalidRobot::Dangling(format!("{joint:?}")));
        }
        if let Some(home) = &simulation.home {
            self.check_pose(home)?;
        }
        self.simulation = simulation;
        Ok(())
    }

    /// Returns pairs of links that do not collide in simulations, beside those connected by joints:
    /// the disabled ones, and those that touch at the start.
    pub fn filtered_collisions(&self) -> LinkPairs {
        let (disabled, touching) = (&self.disabled_collisions, &self.simulation.touching);
        disabled.iter().chain(touching.iter()).collect()
    }

    /// Returns the sensors, in the source's order.
    pub fn sensors(&self) -> &[Sensor] {
        &self.sensors
    }

    /// Replaces all sensors.
    ///
    /// # Errors
    /// If the robot does not have the links of one.
    pub fn set_sensors(&mut self, sensors: Vec<Sensor>) -> Result<(), InvalidRobot> {
        for sensor in &sensors {
            let mut links = std::iter::once(sensor.link).chain(sensor.frame);
            links.try_for_each(|link| self.check_link(link, &sensor.name))?;
        }
        self.sensors = sensors;
        Ok(())
    }

    /// Returns the sensors and the interfaces of the robot as a whole, for changes by this crate,
    /// which gives sensors links of the robot only.
    pub(crate) fn sensors_and_interfaces_mut(&mut self) -> (&mut Vec<Sensor>, &mut Vec<Interface>) {
        (&mut self.sensors, &mut self.interfaces)
    }

    /// Returns the lights, in the source's order.
    pub fn lights(&self) -> &[Light] {
        &self.lights
    }

    /// Replaces all lights.
    ///
    /// # Errors
    /// If the robot does not have the link of one.
    pub fn set_lights(&mut self, lights: Vec<Light>) -> Result<(), InvalidRobot> {
        for light in &lights {
            self.check_link(light.link, &light.name)?;
        }
        self.lights = lights;
        Ok(())
    }

    /// Returns the root link that represents the world, if there is one: named `world`, with
    /// geometry or with joints on it, regardless of other roots. It does not move, links connected
    /// to it by fixed joints are static, and its mass is ignored.
    pub fn world_root(&self) -> Option<LinkId> {
        let world = self.link_named(WORLD)?;
        let tree = self.tree();
        let is_used = !self.links[world].is_empty() || !tree.child_joints(world).is_empty();
        (tree.parent_joint(world).is_none() && is_used).then_some(world)
    }

    /// Returns whether a link is only a frame: it has no mass and no geometry, or is the world.
    pub fn is_frame(&self, link: LinkId) -> bool {
        self.world_root() == Some(link) || self.links[link].is_empty()
    }

    /// Creates a robot without links that has the name, meshes and materials of another, so that
    /// their handles stay valid.
    pub(crate) fn without_links(other: &Self) -> Self {
        Self {
            meshes: other.meshes.clone(),
            materials: other.materials.clone(),
            ..Self::new(other.name())
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Coordinate, JointKind, PlanningCollision};

    /// A robot with links `l0`, `l1`, … and a joint `j0`, `j1`, … of a kind for each pair of links.
    fn robot(links: usize, joints: &[(JointKind, usize, usize)]) -> Robot {
        let mut robot = Robot::new("r");
        for index in 0..links {
            robot.add_link(Link::new(format!("l{index}"))).unwrap();
        }
        for (index, &(kind, parent, child)) in joints.iter().enumerate() {
            let [parent, child] = [parent, child].map(|link| robot.links().handle(link).unwrap());
            let joint = Joint::new(format!("j{index}"), kind, parent, child);
            robot.add_joint(joint).unwrap();
        }
        robot
    }

    /// A chain of revolute joints, `j0` from `l0` to `l1` and so on.
    fn chain(joints: usize) -> Robot {
        let pairs: Vec<_> = (0..joints)
            .map(|index| (JointKind::Revolute, index, index + 1))
            .collect();
        robot(joints + 1, &pairs)
    }

    fn joint(robot: &Robot, name: &str) -> JointId {
        robot.joint_named(name).unwrap()
    }

    fn follow(joint: JointId) -> Option<Mimic> {
        Some(Mimic {
            joint,
            multiplier: 1.0,
            offset: 0.0,
        })
    }

    fn pose(positions: &[(JointId, &[f64])]) -> NamedPose {
        NamedPose {
            name: "p".to_owned(),
            group: None,
            chain: None,
            positions: positions
                .iter()
                .map(|(id, at)| (*id, at.to_vec()))
                .collect(),
            fixed: Vec::new(),
            place: Place::default(),
        }
    }

    fn coordinates(joints: &[JointId]) -> Planning {
        let coordinates = joints.iter().map(|&joint| Coordinate {
            joint,
            acceleration: None,
            jerk: None,
        });
        Planning {
            coordinates: coordinates.collect(),
            ..Planning::default()
        }
    }

    /// Asserts that a change is refused with `error` and changes nothing.
    fn refuses<T: fmt::Debug + PartialEq>(
        robot: &mut Robot,
        error: InvalidRobot,
        change: impl FnOnce(&mut Robot) -> Result<T, InvalidRobot>,
    ) {
        let before = (format!("{robot:?}"), robot.tree().clone());
        assert_eq!(change(robot), Err(error));
        assert_eq!((format!("{robot:?}"), robot.tree().clone()), before);
    }

    #[test]
    fn names_are_unique_and_found() {
        let mut robot = chain(2);
        let error = InvalidRobot::DuplicateLink("l1".to_owned());
        refuses(&mut robot, error, |r| r.add_link(Link::new("l1")));
        let ends = [0, 2].map(|link| robot.links().handle(link).unwrap());
        let again = Joint::new("j1", JointKind::Fixed, ends[0], ends[1]);
        let error = InvalidRobot::DuplicateJoint("j1".to_owned());
        refuses(&mut robot, error, |r| r.add_joint(again));
        let look = LookVariant {
            name: "red".to_owned(),
            materials: Default::default(),
        };
        robot.add_look_variant(look.clone()).unwrap();
        let error = InvalidRobot::DuplicateLook("red".to_owned());
        refuses(&mut robot, error, |r| r.add_look_variant(look));
        assert_eq!(robot.link_named("l2"), Some(ends[1]));
        assert_eq!(
            (robot.link_named("l3"), robot.joint_named("j2")),
            (None, None)
        );
        // A link and a joint may share a name.
        robot.add_link(Link::new("j0")).unwrap();
    }

    #[test]
    fn a_robot_has_a_name() {
        let mut robot = Robot::new("");
        assert_eq!(robot.name(), "robot");
        robot.rename("arm");
        assert_eq!(robot.name(), "arm");
    }

    #[test]
    fn what_another_robot_has_is_not_referred_to() {
        let other = chain(5);
        let foreign = (other.link_named("l5").unwrap(), joint(&other, "j4"));
        let mut robot = chain(2);
        let base = robot.link_named("l0").unwrap();
        let dangling = |name: &str| InvalidRobot::Dangling(name.to_owned());
        for (parent, child) in [(base, foreign.0), (foreign.0, base)] {
            let joint = Joint::new("j", JointKind::Fixed, parent, child);
            refuses(&mut robot, dangling("j"), |r| r.add_joint(joint));
        }
        let j0 = joint(&robot, "j0");
        refuses(&mut robot, dangling("j0"), |r| {
            r.set_mimics([(j0, follow(foreign.1))])
        });
        refuses(&mut robot, dangling("#4"), |r| {
            r.set_mimics([(foreign.1, follow(j0))])
        });
        refuses(&mut robot, InvalidRobot::Positions("p".to_owned()), |r| {
            r.add_named_pose(pose(&[(foreign.1, &[0.0])]))
        });
        refuses(&mut robot, dangling("#4"), |r| {
            r.set_planning(coordinates(&[foreign.1]))
        });
    }

    /// A solid of this material.
    fn solid(material: Option<MaterialId>) -> Shape {
        Shape {
            name: None,
            origin: crate::Pose::identity(),
            geometry: Geometry::Sphere { radius: 1.0 },
            material,
            stand_in_for: None,
            instance_set: None,
            custom: Custom::default(),
            place: Place::default(),
        }
    }

    #[test]
    fn shapes_are_made_of_what_the_robot_has() {
        let mut other = chain(5);
        let material = other.add_material(Material::plain("m", [1.0; 4]));
        let far = other.link_named("l5").unwrap();
        let mut robot = chain(1);
        let base = robot.link_named("l0").unwrap();
        let dangling = |name: &str| InvalidRobot::Dangling(name.to_owned());
        let foreign = solid(Some(material));
        let mesh = Shape {
            geometry: Geometry::Mesh {
                mesh: crate::Handle::new(0),
                scale: nalgebra::Vector3::repeat(1.0),
            },
            ..solid(None)
        };
        for shape in [foreign.clone(), mesh] {
            refuses(&mut robot, dangling("l0"), |r| {
                r.add_visual(base, shape.clone())
            });
            refuses(&mut robot, dangling("l0"), |r| {
                r.add_collision(base, shape.clone())
            });
            refuses(&mut robot, dangling("l0"), |r| {
                r.set_visuals(base, vec![shape.clone()])
            });
            refuses(&mut robot, dangling("l0"), |r| {
                r.set_collisions(base, vec![shape.clone()])
            });
            let mut link = Link::new("new");
            link.visuals.push(shape);
            refuses(&mut robot, dangling("new"), |r| r.add_link(link));
        }
        refuses(&mut robot, dangling("#5"), |r| {
            r.add_visual(far, solid(None))
        });
        robot.add_visual(base, solid(None)).unwrap();
        robot.add_collision(base, solid(None)).unwrap();
        for index in 0..2 {
            refuses(&mut robot, dangling("l0"), |r| {
                r.set_visual(base, index, foreign.clone())
            });
        }
        refuses(&mut robot, dangling("l0"), |r| {
            r.set_visual(base, 1, solid(None))
        });
        refuses(&mut robot, dangling("l0"), |r| {
            r.set_collision(base, 1, solid(None))
        });
        let own = robot.add_material(Material::plain("m", [1.0; 4]));
        robot.set_visual(base, 0, solid(Some(own))).unwrap();
        robot.set_collision(base, 0, solid(Some(own))).unwrap();
        assert_eq!(robot.links()[base].visuals[0].material, Some(own));
    }

    #[test]
    fn what_hangs_on_a_robot_hangs_on_its_own_links() {
        let far = chain(5).link_named("l5").unwrap();
        let mut robot = chain(1);
        let base = robot.link_named("l0").unwrap();
        let dangling = |name: &str| InvalidRobot::Dangling(name.to_owned());
        let sensor = |link: LinkId, frame: Option<LinkId>| Sensor {
            name: "s".to_owned(),
            kind: crate::SensorKind::Imu,
            link,
            origin: crate::Pose::identity(),
            frame,
            frame_name: None,
            interfaces: Vec::new(),
            place: Place::default(),
        };
        for sensor in [sensor(far, None), sensor(base, Some(far))] {
            refuses(&mut robot, dangling("s"), |r| r.set_sensors(vec![sensor]));
        }
        let light = Light {
            name: "l".to_owned(),
            kind: crate::LightKind::Point { radius: 0.0 },
            link: far,
            origin: crate::Pose::identity(),
            color: [1.0; 3],
            intensity: 1.0,
            range: None,
            place: Place::default(),
        };
        refuses(&mut robot, dangling("l"), |r| r.set_lights(vec![light]));
        refuses(&mut robot, dangling("#5"), |r| {
            r.disable_collisions([(base, far)])
        });
        let chain = NamedPose {
            chain: Some((base, far)),
            ..pose(&[])
        };
        refuses(&mut robot, dangling("p"), |r| r.add_named_pose(chain));
        let part = crate::VisualPart {
            link: far,
            visual: 0,
            part: 0,
        };
        let look = LookVariant {
            name: "red".to_owned(),
            materials: [(part, None)].into(),
        };
        refuses(&mut robot, dangling("red"), |r| r.add_look_variant(look));
        let group = crate::SphereGroup {
            name: "g".to_owned(),
            spheres: vec![(far, Vec::new())],
        };
        let collision = PlanningCollision {
            group: 0,
            buffers: vec![(far, 0.0)],
        };
        let own_group = crate::SphereGroup {
            name: "g".to_owned(),
            spheres: Vec::new(),
        };
        let planning = [
            Planning {
                tool_frames: vec![far],
                ..Planning::default()
            },
            Planning {
                groups: vec![group],
                ..Planning::default()
            },
            Planning {
                groups: vec![own_group],
                collision: Some(collision),
                ..Planning::default()
            },
            Planning {
                ignored: [(base, far)].into_iter().collect(),
                ..Planning::default()
            },
        ];
        for planning in planning {
            refuses(&mut robot, dangling("#5"), |r| r.set_planning(planning));
        }
    }

    #[test]
    fn joints_follow_each_other_in_no_circle() {
        let mut robot = chain(4);
        let [a, b, c, d] = ["j0", "j1", "j2", "j3"].map(|name| joint(&robot, name));
        let circular = |robot: &mut Robot, mimics: &[(JointId, JointId)]| {
            let mimics: Vec<_> = mimics.iter().map(|&(id, of)| (id, follow(of))).collect();
            let before = format!("{robot:?}");
            let error = robot.set_mimics(mimics).unwrap_err();
            assert!(matches!(error, InvalidRobot::CircularMimic(_)), "{error}");
            assert_eq!(format!("{robot:?}"), before);
        };
        circular(&mut robot, &[(a, a)]);
        circular(&mut robot, &[(a, b), (b, a)]);
        circular(&mut robot, &[(d, c), (a, b), (b, c), (c, a)]);
        robot
            .set_mimics([(a, follow(b)), (b, follow(c)), (d, follow(c))])
            .unwrap();
        // The circle may be closed later, and opened in the same change.
        circular(&mut robot, &[(c, d)]);
        robot.set_mimics([(c, follow(d)), (d, None)]).unwrap();
        let error = InvalidRobot::CircularMimic("j3".to_owned());
        refuses(&mut robot, error, |r| r.set_mimic(d, follow(a)));
        let error = InvalidRobot::CircularMimic("j0".to_owned());
        refuses(&mut robot, error, |r| r.set_mimic(a, follow(a)));
        robot.set_mimic(a, None).unwrap();
        robot.set_mimic(a, follow(b)).unwrap();
        let leaders = [a, b, c, d].map(|id| robot.joints()[id].mimic().map(|mimic| mimic.joint));
        assert_eq!(leaders, [Some(b), Some(c), Some(d), None]);
    }

    #[test]
    fn joints_are_added_without_what_they_followed() {
        let mut robot = chain(2);
        let [a, b] = ["j0", "j1"].map(|name| joint(&robot, name));
        robot.set_mimics([(a, follow(b))]).unwrap();
        let mut other = chain(0);
        let link = other.add_link(Link::new("l1")).unwrap();
        let root = other.link_named("l0").unwrap();
        let added = other
            .add_joint(robot.joints()[a].between(root, link))
            .unwrap();
        assert_eq!(other.joints()[added].mimic(), None);
    }

    #[test]
    fn poses_are_of_joints_that_can_take_them() {
        let kinds = [
            JointKind::Revolute,
            JointKind::Planar,
            JointKind::Fixed,
            JointKind::Revolute,
        ];
        let joints: Vec<_> = (0..)
            .zip(kinds)
            .map(|(at, kind)| (kind, at, at + 1))
            .collect();
        let mut robot = robot(5, &joints);
        let [turn, plane, fixed, last] = ["j0", "j1", "j2", "j3"].map(|name| joint(&robot, name));
        robot.set_mimics([(last, follow(turn))]).unwrap();
        let invalid: [&[(JointId, &[f64])]; 7] = [
            &[(turn, &[])],
            &[(turn, &[1.0, 2.0])],
            &[(plane, &[1.0])],
            &[(fixed, &[0.0])],
            &[(last, &[1.0])],
            &[(plane, &[1.0, 2.0]), (turn, &[1.0])],
            &[(turn, &[1.0]), (turn, &[1.0])],
        ];
        let error = InvalidRobot::Positions("p".to_owned());
        for positions in invalid {
            refuses(&mut robot, error.clone(), |r| {
                r.add_named_pose(pose(positions))
            });
            refuses(&mut robot, error.clone(), |r| {
                r.set_named_poses(vec![pose(&[]), pose(positions)])
            });
        }
        let valid = pose(&[(turn, &[1.0]), (plane, &[1.0, 2.0])]);
        robot.add_named_pose(valid.clone()).unwrap();
        // No joint of a pose can follow another from then on.
        robot.set_mimics([(last, None)]).unwrap();
        refuses(&mut robot, error.clone(), |r| {
            r.set_mimics([(turn, follow(last))])
        });
        refuses(&mut robot, error, |r| r.set_mimic(turn, follow(last)));
        robot.set_named_poses(Vec::new()).unwrap();
        robot.set_mimics([(turn, follow(last))]).unwrap();
    }

    #[test]
    fn coordinates_are_of_joints_with_one_position() {
        let joints = [
            (JointKind::Revolute, 0, 1),
            (JointKind::Floating, 1, 2),
            (JointKind::Revolute, 2, 3),
        ];
        let mut robot = robot(4, &joints);
        let [turn, floating, last] = ["j0", "j1", "j2"].map(|name| joint(&robot, name));
        let invalid = |name: &str| InvalidRobot::Positions(name.to_owned());
        robot.set_mimics([(last, follow(turn))]).unwrap();
        for (joints, name) in [
            (vec![turn, last], "j2"),
            (vec![floating], "j1"),
            (vec![turn, turn], "j0"),
        ] {
            refuses(&mut robot, invalid(name), |r| {
                r.set_planning(coordinates(&joints))
            });
        }
        let collision = Planning {
            self_collision: Some(PlanningCollision {
                group: 0,
                buffers: Vec::new(),
            }),
            ..Planning::default()
        };
        let error = InvalidRobot::Dangling("group 0".to_owned());
        refuses(&mut robot, error, |r| r.set_planning(collision));
        robot.set_mimics([(last, None)]).unwrap();
        robot.set_planning(coordinates(&[last, turn])).unwrap();
        refuses(&mut robot, invalid("j2"), |r| {
            r.set_mimics([(last, follow(turn))])
        });
    }

    #[test]
    fn pairs_are_of_different_links_in_order() {
        let robot = chain(2);
        let [a, b, c] = [0, 1, 2].map(|link| robot.links().handle(link).unwrap());
        let pairs: LinkPairs = [(c, b), (b, c), (a, a), (b, a)].into_iter().collect();
        assert_eq!(pairs.iter().collect::<Vec<_>>(), [(a, b), (b, c)]);
        assert!(pairs.len() == 2 && pairs.contains(c, b) && !pairs.contains(a, c));
    }

    fn loops(robot: &Robot) -> Vec<bool> {
        robot.joints().values().map(Joint::closes_loop).collect()
    }

    #[test]
    fn the_first_joint_that_reaches_a_link_is_above_it() {
        use JointKind::Revolute as R;
        // A diamond, and a joint from a link to itself.
        let diamond = robot(4, &[(R, 0, 1), (R, 0, 2), (R, 1, 3), (R, 2, 3), (R, 3, 3)]);
        assert_eq!(loops(&diamond), [false, false, false, true, true]);
        // A ring has a root: the link below its last joint.
        let ring = robot(3, &[(R, 0, 1), (R, 1, 2), (R, 2, 0)]);
        assert_eq!(loops(&ring), [false, false, true]);
        assert_eq!(ring.tree().roots(), [ring.link_named("l0").unwrap()]);
        // A second parent closes a loop, though its own tree is another.
        let parents = robot(3, &[(R, 0, 2), (R, 1, 2)]);
        assert_eq!(
            (loops(&parents), parents.tree().roots().len()),
            (vec![false, true], 2)
        );
    }

    #[test]
    fn links_are_in_order_depth_first() {
        use JointKind::Fixed as F;
        let robot = robot(6, &[(F, 5, 1), (F, 5, 0), (F, 1, 4), (F, 3, 2)]);
        let names = |links: &[LinkId]| -> Vec<&str> {
            links
                .iter()
                .map(|&link| robot.links()[link].name())
                .collect()
        };
        let tree = robot.tree();
        assert_eq!(names(tree.roots()), ["l3", "l5"]);
        assert_eq!(names(tree.order()), ["l3", "l2", "l5", "l1", "l4", "l0"]);
        let link = |name| robot.link_named(name).unwrap();
        assert_eq!(tree.parent_joint(link("l4")), robot.joint_named("j2"));
        assert_eq!(
            tree.child_joints(link("l5")),
            ["j0", "j1"].map(|name| joint(&robot, name))
        );
        assert_eq!(names(tree.below(link("l1"))), ["l1", "l4"]);
    }

    #[test]
    fn the_world_is_a_root_that_is_used() {
        use JointKind::Fixed;
        let mut robot = Robot::new("r");
        let world = robot.add_link(Link::new("world")).unwrap();
        let base = robot.add_link(Link::new("base")).unwrap();
        assert_eq!(robot.world_root(), None);
        robot
            .add_joint(Joint::new("j", Fixed, world, base))
            .unwrap();
        assert_eq!(robot.world_root(), Some(world));
    }

    #[test]
    fn large_robots_are_built_in_about_linear_time() {
        const LINKS: usize = 100_000;
        let forwards = (1..LINKS).map(|at| (JointKind::Fixed, at - 1, at));
        let backwards: Vec<_> = forwards.clone().rev().collect();
        for joints in [forwards.collect(), backwards] {
            let robot = robot(LINKS, &joints);
            assert_eq!(robot.tree().roots().len(), 1);
            assert_eq!(robot.tree().order().len(), LINKS);
        }
    }

    proptest! {
        #[test]
        fn the_tree_is_a_spanning_forest(
            count in 1_usize..12,
            ends in proptest::collection::vec((0_usize..12, 0_usize..12), 0..30),
        ) {
            let joints: Vec<_> = ends
                .iter()
                .map(|&(parent, child)| (JointKind::Fixed, parent % count, child % count))
                .collect();
            let robot = robot(count, &joints);
            let tree = robot.tree();
            // Each link once, after its parent.
            let mut seen = BTreeSet::new();
            for &link in tree.order() {
                if let Some(above) = tree.parent_joint(link) {
                    prop_assert_eq!(robot.joints()[above].child(), link);
                    prop_assert!(seen.contains(&robot.joints()[above].parent()));
                }
                prop_assert!(seen.insert(link));
            }
            prop_assert_eq!(seen.len(), count);
            // Each joint that closes no loop is the one above its child; others are above none.
            for (id, joint) in robot.joints().iter() {
                let is_above = tree.parent_joint(joint.child()) == Some(id);
                prop_assert_eq!(is_above, !joint.closes_loop());
                let is_below = tree.child_joints(joint.parent()).contains(&id);
                prop_assert_eq!(is_below, !joint.closes_loop());
            }
            let in_tree = joints.len() - loops(&robot).iter().filter(|is_loop| **is_loop).count();
            prop_assert_eq!(tree.roots().len() + in_tree, count);
            // `is_below` and `below` agree with the way up.
            for link in robot.links().handles() {
                let up = |link: &LinkId| {
                    Some(robot.joints()[tree.parent_joint(*link)?].parent())
                };
                let way: Vec<LinkId> = std::iter::successors(Some(link), up).collect();
                for above in robot.links().handles() {
                    prop_assert_eq!(tree.is_below(link, above), way.contains(&above));
                    prop_assert_eq!(tree.below(above).contains(&link), way.contains(&above));
                }
            }
        }
    }
}
