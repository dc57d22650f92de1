//! Summaries of planning data, named poses and provenance, for people and scripts.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::{About, JointKind, LinkId, NamedPose, PlanningCollision, Robot};
use urdf_usd_diagnostic::Escaped;

/// Summary of the data of a robot for motion planners, with the names of an XRDF's sections.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PlanningSummary {
    /// The configuration space.
    pub cspace: Vec<CoordinateSummary>,
    /// Names of the tool frames; the first is the end effector.
    pub tool_frames: Vec<String>,
    /// Groups of collision spheres.
    pub geometry: Vec<SpheresSummary>,
    /// Collision avoidance with obstacles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collision: Option<CollisionSummary>,
    /// Collision avoidance between links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub self_collision: Option<CollisionSummary>,
    /// Pairs of links that need no collision check.
    pub ignore: Vec<[String; 2]>,
}

/// A coordinate of the configuration space.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CoordinateSummary {
    /// Name of the joint.
    pub joint: String,
    /// Unit of the position: `rad` or `m`.
    pub unit: &'static str,
    /// Maximum acceleration in `unit`/s².
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acceleration: Option<f64>,
    /// Maximum jerk in `unit`/s³.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jerk: Option<f64>,
}

/// A group of spheres.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SpheresSummary {
    /// Name of the group.
    pub name: String,
    /// Number of spheres of each link.
    pub spheres: BTreeMap<String, usize>,
}

/// Use of a group of spheres.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CollisionSummary {
    /// Name of the group.
    pub geometry: String,
    /// Buffer distance of each link in metres.
    pub buffer_distance: BTreeMap<String, f64>,
}

/// Summary of a named pose.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PoseSummary {
    /// Name of the pose.
    pub name: String,
    /// Name of the joint group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Positions by joint, radians and metres.
    pub positions: BTreeMap<String, Vec<f64>>,
}

impl PlanningSummary {
    /// Summarises the data of a robot.
    pub fn of(robot: &Robot) -> Self {
        let planning = robot.planning();
        let name = |link: LinkId| robot.links()[link].name().to_owned();
        let group = |index: usize| planning.groups.get(index).map(|group| group.name.clone());
        let collision = |collision: &PlanningCollision| CollisionSummary {
            geometry: group(collision.group).unwrap_or_default(),
            buffer_distance: collision
                .buffers
                .iter()
                .map(|(link, buffer)| (name(*link), *buffer))
                .collect(),
        };
        let mut ignored = planning.ignored.clone();
        ignored.extend(robot.disabled_collisions().iter());
        Self {
            cspace: planning
                .coordinates
                .iter()
                .map(|coordinate| {
                    let joint = &robot.joints()[coordinate.joint];
                    CoordinateSummary {
                        joint: joint.name().to_owned(),
                        unit: match joint.kind() {
                            JointKind::Prismatic => "m",
                            _ => "rad",
                        },
                        acceleration: coordinate.acceleration,
                        jerk: coordinate.jerk,
                    }
                })
                .collect(),
            tool_frames: planning.tool_frames.iter().copied().map(name).collect(),
            geometry: planning
                .groups
                .iter()
                .map(|group| SpheresSummary {
                    name: group.name.clone(),
                    spheres: group
                        .spheres
                        .iter()
                        .map(|(link, spheres)| (name(*link), spheres.len()))
                        .collect(),
                })
                .collect(),
            collision: planning.collision.as_ref().map(collision),
            self_collision: planning.self_collision.as_ref().map(collision),
            ignore: ignored.iter().map(|(a, b)| [name(a), name(b)]).collect(),
        }
    }

    /// Returns whether there are no data.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl PoseSummary {
    /// Summarises all poses of a robot.
    pub fn all(robot: &Robot) -> Vec<Self> {
        let poses = robot.named_poses().iter();
        poses.map(|pose| Self::of(robot, pose)).collect()
    }

    /// Summarises a pose of a robot.
    pub fn of(robot: &Robot, pose: &NamedPose) -> Self {
        let positions = pose.positions.iter();
        Self {
            name: pose.name.clone(),
            group: pose.group.clone(),
            positions: positions
                .map(|(joint, at)| (robot.joints()[*joint].name().to_owned(), at.clone()))
                .collect(),
        }
    }
}

/// Joins names, escaped for terminals.
fn listed<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
    let names = names.into_iter().map(|name| Escaped(name).to_string());
    names.collect::<Vec<_>>().join(", ")
}

impl fmt::Display for PlanningSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.cspace.is_empty() {
            writeln!(f, "\nconfiguration space ({})", self.cspace.len())?;
        }
        for coordinate in &self.cspace {
            let unit = coordinate.unit;
            write!(f, "  {}", Escaped(&coordinate.joint))?;
            if let Some(limit) = coordinate.acceleration {
                write!(f, "  {limit} {unit}/s²")?;
            }
            if let Some(limit) = coordinate.jerk {
                write!(f, "  {limit} {unit}/s³")?;
            }
            writeln!(f)?;
        }
        if !self.tool_frames.is_empty() {
            let names = listed(&self.tool_frames);
            writeln!(f, "\ntool frames ({})\n  {names}", self.tool_frames.len())?;
        }
        for group in &self.geometry {
            let count: usize = group.spheres.values().sum();
            writeln!(f, "\nspheres of {} ({count})", Escaped(&group.name))?;
            for (link, count) in &group.spheres {
                writeln!(f, "  {}  {count}", Escaped(link))?;
            }
        }
        for (name, collision) in [
            ("collision", &self.collision),
            ("self-collision", &self.self_collision),
        ] {
            let Some(collision) = collision else {
                continue;
            };
            write!(f, "\n{name} with {}", Escaped(&collision.geometry))?;
            for (index, (link, buffer)) in collision.buffer_distance.iter().enumerate() {
                let before = if index == 0 { ", buffers: " } else { ", " };
                write!(f, "{before}{} {buffer} m", Escaped(link))?;
            }
            writeln!(f)?;
        }
        if !self.ignore.is_empty() {
            writeln!(
                f,
                "\npairs of links without collision check: {}",
                self.ignore.len()
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for PoseSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  {}", Escaped(&self.name))?;
        if let Some(group) = &self.group {
            write!(f, "  of {}", Escaped(group))?;
        }
        for (joint, positions) in &self.positions {
            let positions: Vec<String> = positions.iter().map(f64::to_string).collect();
            write!(f, "  {} {}", Escaped(joint), positions.join(" "))?;
        }
        writeln!(f)
    }
}

impl About {
    /// Returns whether the source says nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for About {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, text) in [
            ("robot type", &self.category),
            ("licence", &self.license),
            ("version", &self.version),
            ("source", &self.source),
            ("description", &self.description),
        ] {
            if !text.is_empty() {
                writeln!(f, "{name}: {}", Escaped(text))?;
            }
        }
        Ok(())
    }
}
