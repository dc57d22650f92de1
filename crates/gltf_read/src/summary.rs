//! What a file holds, for people and scripts.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use serde::Serialize;

use super::{Model, Outcome};
use urdf_usd_diagnostic::{Diagnostic, Escaped};
use urdf_usd_robot::{ArenaMap, Bounds, Geometry, Joint, JointKind, MeshId, Pose, Robot, Shape};

/// What a glTF file holds.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Its kinematic models.
    pub robots: Vec<RobotSummary>,
    /// What was found while reading it.
    pub diagnostics: Vec<Diagnostic>,
}

/// A kinematic model. Everything is in ROS axes, metres and radians.
#[derive(Clone, Debug, Serialize)]
pub struct RobotSummary {
    /// The model's name.
    pub name: String,
    /// What it was made from, if the file says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<super::Source>,
    /// Links, depth first.
    pub links: Vec<LinkSummary>,
    /// Joints, in the order of the model.
    pub joints: Vec<JointSummary>,
    /// Named configurations, in the order of the file.
    pub configurations: Vec<ConfigurationSummary>,
    /// How many distinct meshes shapes are made of.
    pub meshes: usize,
    /// How many triangles these have.
    pub triangles: usize,
}

/// A link.
#[derive(Clone, Debug, Serialize)]
pub struct LinkSummary {
    /// Its name.
    pub name: String,
    /// How many links stand above it.
    pub depth: usize,
    /// kg.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mass: Option<f64>,
    /// Whether nobody measured it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub mass_assumed: bool,
    /// How many visuals it has.
    pub visuals: usize,
    /// How many colliders it has.
    pub colliders: usize,
    /// How many distinct meshes these are made of.
    pub meshes: usize,
}

/// A joint.
#[derive(Clone, Debug, Serialize)]
pub struct JointSummary {
    /// Its name.
    pub name: String,
    /// URDF's word.
    pub kind: &'static str,
    /// The link it hangs on.
    pub parent: String,
    /// The link it moves.
    pub child: String,
    /// Its frame in the parent's: x, y, z.
    pub translation: [f64; 3],
    /// The rotation of its frame in the parent's: x, y, z, w.
    pub rotation: [f64; 4],
    /// The axis of its motion, or the normal of its plane; `None` if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub axis: Option<[f64; 3]>,
    /// Radians or metres, if limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lower: Option<f64>,
    /// Radians or metres, if limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upper: Option<f64>,
    /// What the limits are in: `rad` or `m`; `None` without limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<&'static str>,
    /// rad/s or m/s, if limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub velocity: Option<f64>,
    /// N·m or N, if limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<f64>,
    /// The joint that it follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mimics: Option<String>,
    /// Whether it closes a loop.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub closes_loop: bool,
}

/// A named configuration.
#[derive(Clone, Debug, Serialize)]
pub struct ConfigurationSummary {
    /// Its name.
    pub name: String,
    /// The group of joints that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The positions that it sets by joint; empty if it says nothing that limits don't.
    pub positions: BTreeMap<String, Vec<f64>>,
}

impl Summary {
    /// Of what reading a file gave.
    pub fn of(outcome: Outcome) -> Self {
        Self {
            robots: outcome.models.iter().map(RobotSummary::of).collect(),
            diagnostics: outcome.diagnostics,
        }
    }
}

impl RobotSummary {
    fn of(model: &Model) -> Self {
        let robot = &model.robot;
        let name = |link: urdf_usd_robot::LinkId| robot.links()[link].name().to_owned();
        let mut depths = ArenaMap::filled(robot.links(), 0);
        let mut links = Vec::new();
        for &id in robot.tree().order() {
            let above = robot.tree().parent_joint(id);
            let depth = above.map_or(0, |joint| depths[robot.joints()[joint].parent()] + 1);
            depths[id] = depth;
            let link = &robot.links()[id];
            links.push(LinkSummary {
                name: link.name().to_owned(),
                depth,
                mass: link.inertial.as_ref().map(|inertial| inertial.mass),
                mass_assumed: link
                    .inertial
                    .as_ref()
                    .is_some_and(|inertial| inertial.is_assumed),
                visuals: link.visuals.len(),
                colliders: link.collisions.len(),
                meshes: count_meshes(link.visuals.iter().chain(&link.collisions)),
            });
        }
        let joint = |joint: &Joint| {
            let Pose {
                rotation,
                translation,
            } = joint.origin;
            let limit = joint.limit.unwrap_or_default();
            // Those of a planar joint hold in each direction; they are not one range.
            let bounds = if joint.kind() == JointKind::Planar {
                Bounds::NONE
            } else {
                joint.bounds()
            };
            let (lower, upper) = (bounds.lower(), bounds.upper());
            let is_limited = lower.is_finite() || upper.is_finite();
            let unit = if joint.kind() == JointKind::Prismatic {
                "m"
            } else {
                "rad"
            };
            let has_axis = !matches!(joint.kind().as_str(), "fixed" | "floating");
            JointSummary {
                name: joint.name().to_owned(),
                kind: joint.kind().as_str(),
                parent: name(joint.parent()),
                child: name(joint.child()),
                translation: translation.vector.into(),
                rotation: rotation.coords.into(),
                axis: has_axis.then(|| joint.axis.into_inner().into()),
                lower: Some(lower).filter(|limit| limit.is_finite()),
                upper: Some(upper).filter(|limit| limit.is_finite()),
                unit: is_limited.then_some(unit),
                velocity: limit.velocity,
                effort: limit.effort,
                mimics: joint
                    .mimic()
                    .map(|mimic| robot.joints()[mimic.joint].name().to_owned()),
                closes_loop: joint.closes_loop(),
            }
        };
        let shapes = || {
            robot
                .links()
                .values()
                .flat_map(|link| link.visuals.iter().chain(&link.collisions))
        };
        let used: HashSet<MeshId> = meshes(shapes()).collect();
        let triangles = used
            .iter()
            .map(|mesh| robot.meshes()[*mesh].mesh.outline().triangles)
            .sum();
        Self {
            name: robot.name().to_owned(),
            source: model.source.clone(),
            links,
            joints: robot.joints().values().map(joint).collect(),
            configurations: configurations(robot, &model.configurations),
            meshes: count_meshes(shapes()),
            triangles,
        }
    }
}

fn meshes<'a>(shapes: impl Iterator<Item = &'a Shape>) -> impl Iterator<Item = MeshId> {
    shapes.filter_map(|shape| {
        if let Geometry::Mesh { mesh, .. } = shape.geometry {
            Some(mesh)
        } else {
            None
        }
    })
}

/// How many meshes the shapes are made of, each counted once; those that are missing count for each
/// shape.
fn count_meshes<'a>(shapes: impl Iterator<Item = &'a Shape> + Clone) -> usize {
    let missing = shapes
        .clone()
        .filter(|shape| matches!(shape.geometry, Geometry::Missing { .. }));
    missing.count() + meshes(shapes).collect::<HashSet<_>>().len()
}

fn configurations(robot: &Robot, names: &[String]) -> Vec<ConfigurationSummary> {
    let plain = names
        .iter()
        .filter(|name| robot.named_poses().iter().all(|pose| pose.name != **name));
    let plain = plain.map(|name| ConfigurationSummary {
        name: name.clone(),
        group: None,
        positions: BTreeMap::new(),
    });
    let pose = |pose: &urdf_usd_robot::NamedPose| {
        let position = |(id, positions): &(urdf_usd_robot::JointId, Vec<f64>)| {
            (robot.joints()[*id].name().to_owned(), positions.clone())
        };
        ConfigurationSummary {
            name: pose.name.clone(),
            group: pose.group.clone(),
            positions: pose.positions.iter().map(position).collect(),
        }
    };
    plain.chain(robot.named_poses().iter().map(pose)).collect()
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, robot) in self.robots.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{robot}")?;
        }
        Ok(())
    }
}

impl fmt::Display for RobotSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} ({} meshes, {} triangles)",
            Escaped(&self.name),
            self.meshes,
            self.triangles
        )?;
        writeln!(f, "\nlinks ({})", self.links.len())?;
        for link in &self.links {
            write!(
                f,
                "{}{}",
                "  ".repeat(link.depth.min(100) + 1),
                Escaped(&link.name)
            )?;
            if let Some(mass) = link.mass {
                write!(
                    f,
                    "  {mass} kg{}",
                    if link.mass_assumed { " (assumed)" } else { "" }
                )?;
            }
            if link.visuals > 0 {
                write!(f, ", visuals {}", link.visuals)?;
            }
            if link.colliders > 0 {
                write!(f, ", colliders {}", link.colliders)?;
            }
            if link.meshes > 0 {
                write!(f, ", meshes {}", link.meshes)?;
            }
            writeln!(f)?;
        }
        writeln!(f, "\njoints ({})", self.joints.len())?;
        for joint in &self.joints {
            let [name, parent, child] =
                [&joint.name, &joint.parent, &joint.child].map(|text| Escaped(text));
            write!(f, "  {name}  {}  {parent} -> {child}", joint.kind)?;
            if let Some(unit) = joint.unit {
                let side = |limit: Option<f64>| {
                    limit.map_or("unlimited".to_owned(), |limit| limit.to_string())
                };
                write!(f, "  {} .. {} {unit}", side(joint.lower), side(joint.upper))?;
            }
            if let Some(leader) = &joint.mimics {
                write!(f, "  mimics {}", Escaped(leader))?;
            }
            if joint.closes_loop {
                write!(f, "  closes a loop")?;
            }
            writeln!(f)?;
        }
        writeln!(f, "\nconfigurations ({})", self.configurations.len())?;
        for configuration in &self.configurations {
            write!(f, "  {}", Escaped(&configuration.name))?;
            if let Some(group) = &configuration.group {
                write!(f, "  of {}", Escaped(group))?;
            }
            for (joint, positions) in &configuration.positions {
                let positions: Vec<String> = positions.iter().map(f64::to_string).collect();
                write!(f, "  {} {}", Escaped(joint), positions.join(" "))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
