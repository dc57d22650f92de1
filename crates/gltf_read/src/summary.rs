//! Summary of a file's contents, for display and scripts.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use serde::Serialize;

use super::{Model, Outcome};
use urdf_usd_diagnostic::{Diagnostic, Escaped};
use urdf_usd_robot::{
    ArenaMap, Bounds, Geometry, Joint, JointKind, MeshId, PlanningSummary, Pose, PoseSummary,
    Robot, Shape,
};

/// Summary of a glTF file.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Kinematic models of the file.
    pub robots: Vec<RobotSummary>,
    /// Diagnostics of reading the file.
    pub diagnostics: Vec<Diagnostic>,
}

/// Summary of a kinematic model. Values are in ROS axes, metres and radians.
#[derive(Clone, Debug, Serialize)]
pub struct RobotSummary {
    /// Name of the model.
    pub name: String,
    /// Origin of the model, if the file declares it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<super::Source>,
    /// Links in depth-first order.
    pub links: Vec<LinkSummary>,
    /// Joints, in the order of the model.
    pub joints: Vec<JointSummary>,
    /// Configurations, in the order of the file.
    pub configurations: Vec<PoseSummary>,
    /// Data for motion planners.
    #[serde(skip_serializing_if = "PlanningSummary::is_empty")]
    pub planning: PlanningSummary,
    /// Number of distinct meshes of all shapes.
    pub meshes: usize,
    /// Number of triangles of the distinct meshes.
    pub triangles: usize,
}

/// Summary of a link.
#[derive(Clone, Debug, Serialize)]
pub struct LinkSummary {
    /// Name of the link.
    pub name: String,
    /// Number of links above it.
    pub depth: usize,
    /// Mass in kg.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mass: Option<f64>,
    /// Whether the mass is assumed rather than measured.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub mass_assumed: bool,
    /// Number of visuals.
    pub visuals: usize,
    /// Number of colliders.
    pub colliders: usize,
    /// Number of distinct meshes of its shapes.
    pub meshes: usize,
}

/// Summary of a joint.
#[derive(Clone, Debug, Serialize)]
pub struct JointSummary {
    /// Name of the joint.
    pub name: String,
    /// Joint type in URDF's terms.
    pub kind: &'static str,
    /// Name of the parent link.
    pub parent: String,
    /// Name of the child link.
    pub child: String,
    /// Translation of the joint frame in the parent's: x, y, z.
    pub translation: [f64; 3],
    /// Rotation of the joint frame in the parent's: x, y, z, w.
    pub rotation: [f64; 4],
    /// Axis of motion, or normal of the plane; `None` if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub axis: Option<[f64; 3]>,
    /// Lower limit in radians or metres.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lower: Option<f64>,
    /// Upper limit in radians or metres.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upper: Option<f64>,
    /// Unit of the limits, `rad` or `m`; `None` without limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<&'static str>,
    /// Maximum velocity in rad/s or m/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub velocity: Option<f64>,
    /// Maximum effort in N·m or N.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<f64>,
    /// Name of the joint that it follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mimics: Option<String>,
    /// Whether the joint closes a loop.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub closes_loop: bool,
}

impl Summary {
    /// Summarises the outcome of reading a file.
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
            // The limits of a planar joint apply to each direction, so they are not a single range.
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
            planning: PlanningSummary::of(robot),
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

/// Returns the number of distinct meshes of the shapes. Each missing mesh counts separately.
fn count_meshes<'a>(shapes: impl Iterator<Item = &'a Shape> + Clone) -> usize {
    let missing = shapes
        .clone()
        .filter(|shape| matches!(shape.geometry, Geometry::Missing { .. }));
    missing.count() + meshes(shapes).collect::<HashSet<_>>().len()
}

fn configurations(robot: &Robot, names: &[String]) -> Vec<PoseSummary> {
    let plain = names
        .iter()
        .filter(|name| robot.named_poses().iter().all(|pose| pose.name != **name));
    let plain = plain.map(|name| PoseSummary {
        name: name.clone(),
        group: None,
        positions: BTreeMap::new(),
    });
    plain.chain(PoseSummary::all(robot)).collect()
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
            write!(f, "{configuration}")?;
        }
        write!(f, "{}", self.planning)
    }
}
