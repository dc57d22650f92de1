//! A summary of an asset for people and scripts.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::path::Path;

use nalgebra::{Point3, Vector3};
use serde::{Deserialize, Serialize, Serializer};

use super::ReadError;
use super::robot::Reading;
use super::tiers::finest;
use crate::FrameKind;
use urdf_usd_diagnostic::{Diagnostic, Escaped};
use urdf_usd_robot::ArenaMap;
use urdf_usd_robot::kinematics::Model;
use urdf_usd_robot::{
    About, Command, Counts, Geometry, Joint, JointKind, LinkId, PlanningSummary, PoseSummary,
    Robot, Shape,
};
use urdf_usd_stage::{Options, Prim, PrimId, Stage, Value, VariantChoice, on_large_stack};

/// Maximum indentation depth in the text output; deeper links are shown at this depth.
const DEEPEST_SHOWN: usize = 100;
/// Maximum number of variants opened to count their triangles, beside the selected ones: each takes
/// as long as the asset itself.
const MAX_VARIANTS: usize = 4;

/// A summary of an asset for people and scripts.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// The default prim.
    pub name: String,
    /// The namespace of the asset's ROS interfaces.
    pub namespace: String,
    /// Statements of the asset about the robot as a product, with the Isaac robot schema.
    #[serde(skip_serializing_if = "About::is_empty")]
    pub about: About,
    /// Numbers of all elements, as a conversion counts them: in the finest variants, also links and
    /// joints without a prim.
    #[serde(serialize_with = "counts")]
    pub counts: Counts,
    /// Bodies and frames, depth first along the joints.
    pub links: Vec<LinkSummary>,
    /// Joints, in the order of the bodies that they move.
    pub joints: Vec<JointSummary>,
    /// Topics, services and actions.
    pub interfaces: Vec<InterfaceSummary>,
    /// Named poses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub poses: Vec<PoseSummary>,
    /// Data for motion planners.
    #[serde(skip_serializing_if = "PlanningSummary::is_empty")]
    pub planning: PlanningSummary,
    /// Total mass of all bodies, kg.
    pub mass: f64,
    /// Size along x, y and z in metres of the visuals, or else of the colliders, with all joints at
    /// zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<[f64; 3]>,
    /// Triangles of all visuals with a mesh, in the selected variants.
    pub triangles: usize,
    /// Variants of all variant sets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<VariantSummary>,
}

fn counts<S: Serializer>(counts: &Counts, serializer: S) -> Result<S::Ok, S::Error> {
    let Counts {
        links,
        joints,
        meshes,
        triangles,
    } = *counts;
    let named = [
        ("links", links),
        ("joints", joints),
        ("meshes", meshes),
        ("triangles", triangles),
    ];
    serializer.collect_map(named)
}

/// A body or a frame.
#[derive(Clone, Debug, Serialize)]
pub struct LinkSummary {
    /// The TF frame's name.
    pub frame: String,
    /// The prim.
    pub path: String,
    /// Number of bodies and frames above it.
    pub depth: usize,
    /// Body or frame.
    #[serde(serialize_with = "frame_kind")]
    pub kind: FrameKind,
    /// Mass, kg.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mass: Option<f64>,
    /// True if the mass is computed with an assumed density.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub mass_assumed: bool,
    /// Number of visuals.
    pub visuals: usize,
    /// Number of colliders.
    pub colliders: usize,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // as serde calls it
fn frame_kind<S: Serializer>(kind: &FrameKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.as_str())
}

/// A joint.
#[derive(Clone, Debug, Serialize)]
pub struct JointSummary {
    /// The ROS name.
    pub name: String,
    /// The prim.
    pub path: String,
    /// Joint type as in URDF.
    pub kind: String,
    /// The parent body; `None` for the world.
    pub parent: Option<String>,
    /// The body that it moves.
    pub child: Option<String>,
    /// The axis in its own frame, of a joint that has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub axis: Option<[f64; 3]>,
    /// Lower limit in degrees or metres; `None` if infinite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lower: Option<f64>,
    /// Upper limit in degrees or metres; `None` if infinite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upper: Option<f64>,
    /// Unit of the limits: `deg` or `m`; `None` without limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<&'static str>,
    /// Maximum effort, N·m or N.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<f64>,
    /// Maximum velocity, degrees or metres per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub velocity: Option<f64>,
    /// Command of its drive: position, velocity or effort.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drive: Option<&'static str>,
    /// The leader joint that it mimics.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mimics: Option<String>,
    /// Mimic multiplier, in radians and metres.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub factor: Option<f64>,
    /// True if it closes a loop.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub closes_loop: bool,
}

/// A topic, service or action.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct InterfaceSummary {
    /// `topic`, `service` or `action`.
    pub kind: String,
    /// Publisher, subscription, server, client.
    pub role: String,
    /// As authored, relative to the namespace.
    pub name: String,
    /// The ROS type.
    pub type_name: String,
    /// The frame of its messages, given by the location of its prim (REP-158 §2.7).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame: Option<String>,
    /// True if it is enabled at load time (§2.3).
    pub starts_enabled: bool,
    /// Rate in Hz of a published topic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// The authored quality of service, by policy: reliability, durability, history, depth.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub qos: BTreeMap<String, String>,
}

/// A variant of the asset.
#[derive(Clone, Debug, Serialize)]
pub struct VariantSummary {
    /// The variant set.
    pub set: String,
    /// The variant.
    pub name: String,
    /// True if it is selected.
    pub is_selected: bool,
    /// Triangles of all visuals with a mesh.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub triangles: Option<usize>,
    /// Triangles of all colliders with a mesh.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collision_triangles: Option<usize>,
}

/// Reads a summary of an asset of any layout, and diagnostics about it.
///
/// # Errors
/// As [`read`](super::read).
pub fn inspect(entry: &Path, options: &Options) -> Result<(Summary, Vec<Diagnostic>), ReadError> {
    let stage = opened(entry, options)?;
    let no_thread = |error| ReadError::Open {
        path: entry.to_owned(),
        reason: format!("no thread for it: {error}"),
    };
    let (mut summary, reading) = on_large_stack(|| {
        let reading = Reading::of(&stage)?;
        Ok((summary(&stage, &reading), reading))
    })
    .map_err(no_thread)??;
    let finest = Options {
        preferred: finest(),
        ..options.clone()
    };
    // The selected variants may have simplified meshes, and hulls as colliders.
    let counted = on_large_stack(|| -> Result<Counts, ReadError> {
        let stage = opened(entry, &finest)?;
        Ok(Reading::of(&stage)?.robot.counts())
    });
    summary.describe(&reading.robot);
    summary.counts = counted.map_err(no_thread)??;
    summary.variants = variants(&stage, &reading.robot, entry, options);
    Ok((summary, reading.diagnostics))
}

/// Returns the topics, services and actions that an asset declares, without loading payloads.
///
/// # Errors
/// If the asset can't be opened.
pub fn read_interfaces(entry: &Path) -> Result<Vec<InterfaceSummary>, ReadError> {
    Ok(interfaces(&opened(
        entry,
        &Options {
            payloads: false,
            ..Options::default()
        },
    )?))
}

fn opened(entry: &Path, options: &Options) -> Result<Stage, ReadError> {
    Stage::open(entry, options).map_err(|error| ReadError::Open {
        path: error.path,
        reason: error.reason,
    })
}

fn summary(stage: &Stage, reading: &Reading) -> Summary {
    let robot = &reading.robot;
    let root = stage.default_prim.map(|root| &stage[root]);
    let triangles = |of: fn(&urdf_usd_robot::Link) -> &[Shape]| triangles(robot, of);
    Summary {
        name: root
            .map_or_else(|| robot.name(), |root| root.name())
            .to_owned(),
        namespace: root
            .and_then(|root| root.text("ros:context:namespace"))
            .unwrap_or_default()
            .to_owned(),
        about: About::default(),
        counts: robot.counts(),
        links: links(stage, reading),
        joints: joints(stage, reading),
        interfaces: interfaces(stage),
        poses: Vec::new(),
        planning: PlanningSummary::default(),
        mass: robot
            .links()
            .values()
            .filter_map(|link| link.inertial.as_ref())
            .map(|inertial| inertial.mass)
            .sum(),
        size: size(robot),
        triangles: triangles(|link| &link.visuals),
        variants: Vec::new(),
    }
}

/// Returns the links that have a prim, depth first along the joints.
fn links(stage: &Stage, reading: &Reading) -> Vec<LinkSummary> {
    let robot = &reading.robot;
    let assumed: HashSet<LinkId> = reading.assumed.iter().copied().collect();
    // Masses of bodies, some of which belong to frames in the robot.
    let masses: HashMap<PrimId, f64> = reading
        .masses
        .iter()
        .map(|body| (body.prim, body.inertial.mass))
        .collect();
    let mut depths = ArenaMap::filled(robot.links(), 0);
    let mut links = Vec::new();
    for &id in robot.tree().order() {
        // Links without a prim don't add to the depth.
        let joint = robot.tree().parent_joint(id);
        let above = joint.map(|joint| robot.joints()[joint].parent());
        depths[id] = above.map_or(0, |above| {
            depths[above] + usize::from(reading.links[above].is_some())
        });
        let (Some(prim), link) = (reading.links[id], &robot.links()[id]) else {
            continue;
        };
        links.push(LinkSummary {
            frame: frame_id(&stage[prim]),
            path: stage[prim].path.clone(),
            depth: depths[id],
            kind: kind_of(&stage[prim]).unwrap_or(FrameKind::Frame),
            mass: masses.get(&prim).copied(),
            mass_assumed: assumed.contains(&id),
            visuals: link.visuals.len(),
            colliders: link.collisions.len(),
        });
    }
    links
}

/// Returns the joints that have a prim, in the order of the links that they move; those that close
/// loops last.
fn joints(stage: &Stage, reading: &Reading) -> Vec<JointSummary> {
    let robot = &reading.robot;
    let mut with_prims: Vec<(&Joint, PrimId)> = robot
        .joints()
        .iter()
        .filter_map(|(id, joint)| Some((joint, reading.joints[id]?)))
        .collect();
    let mut place = ArenaMap::filled(robot.links(), 0);
    for (index, link) in robot.tree().order().iter().enumerate() {
        place[*link] = index;
    }
    with_prims.sort_by_key(|(joint, _)| (joint.closes_loop(), place[joint.child()]));
    with_prims
        .into_iter()
        .map(|(found, prim)| joint(stage, reading, found, &stage[prim]))
        .collect()
}

fn joint(stage: &Stage, reading: &Reading, joint: &Joint, prim: &Prim) -> JointSummary {
    let robot = &reading.robot;
    let is_angular = matches!(joint.kind(), JointKind::Revolute | JointKind::Continuous);
    let unit = |value: f64| {
        if is_angular {
            rounded(value.to_degrees())
        } else {
            value
        }
    };
    let (lower, upper) = joint.bounds().sides();
    let (lower, upper) = (lower.map(unit), upper.map(unit));
    let axis = joint.axis.into_inner();
    let has_axis = !matches!(joint.kind(), JointKind::Fixed | JointKind::Floating);
    let limit = joint.limit.unwrap_or_default();
    let [parent, child] = [joint.parent(), joint.child()]
        .map(|link| body(reading, link).map(|prim| frame_id(&stage[prim])));
    JointSummary {
        name: joint.name().to_owned(),
        path: prim.path.clone(),
        kind: joint.kind().as_str().to_owned(),
        parent,
        child,
        axis: has_axis.then(|| [axis.x, axis.y, axis.z].map(rounded)),
        lower,
        upper,
        unit: lower
            .or(upper)
            .map(|_| if is_angular { "deg" } else { "m" }),
        effort: limit.effort,
        velocity: limit.velocity.map(unit),
        drive: joint.drive().map(|drive| match drive.command {
            Command::Effort => "effort",
            Command::Velocity => "velocity",
            Command::Position => "position",
        }),
        mimics: joint
            .mimic()
            .map(|mimic| robot.joints()[mimic.joint].name().to_owned()),
        factor: joint.mimic().map(|mimic| rounded(mimic.multiplier)),
        closes_loop: joint.closes_loop(),
    }
}

/// Returns the prim of the body that a link is or is rigidly attached to; for an intermediate link
/// on a joint's axis, the body fixed to it; `None` for the world.
fn body(reading: &Reading, link: LinkId) -> Option<PrimId> {
    let robot = &reading.robot;
    let mut at = link;
    // An intermediate link on an axis bears exactly one body.
    while reading.links[at].is_none() {
        let below = robot
            .tree()
            .child_joints(at)
            .iter()
            .map(|joint| &robot.joints()[*joint]);
        match below
            .filter(|joint| joint.kind() == JointKind::Fixed)
            .map(|joint| joint.child())
            .next()
        {
            Some(child)
                if robot.world_root() != Some(at) && robot.tree().parent_joint(at).is_some() =>
            {
                at = child
            }
            _ => break,
        }
    }
    loop {
        if reading.is_body[at] {
            return reading.links[at];
        }
        at = robot.joints()[robot.tree().parent_joint(at)?].parent();
    }
}

/// Rounds a single-precision number to its significant digits.
fn rounded(value: f64) -> f64 {
    let digits = 1e-6_f64.max(value.abs() * 1e-6);
    let scale = 10.0_f64.powf(-digits.log10().floor());
    let rounded = (value * scale).round() / scale;
    if rounded.is_finite() {
        rounded + 0.0
    } else {
        value
    }
}

/// Returns the size of the bounding box of all visuals, or else of all colliders.
fn size(robot: &Robot) -> Option<[f64; 3]> {
    let poses = Model::of(robot).poses(&[]);
    let around = |of: fn(&urdf_usd_robot::Link) -> &[Shape]| {
        let (mut low, mut high) = (
            Vector3::repeat(f64::INFINITY),
            Vector3::repeat(f64::NEG_INFINITY),
        );
        for (link, pose) in robot.links().values().zip(&poses) {
            for shape in of(link) {
                let Some((from, to)) = extent(robot, &shape.geometry) else {
                    continue;
                };
                for corner in 0..8_u8 {
                    let bits = Vector3::from_fn(|k, _| corner >> k & 1 == 1);
                    let at =
                        from.zip_zip_map(&to, &bits, |from, to, bit| if bit { to } else { from });
                    let at = (pose * shape.origin * Point3::from(at)).coords;
                    (low, high) = (low.inf(&at), high.sup(&at));
                }
            }
        }
        (low.x <= high.x).then(|| (high - low).into())
    };
    around(|link| &link.visuals).or_else(|| around(|link| &link.collisions))
}

/// Returns the bounding box of a geometry in its own frame.
fn extent(robot: &Robot, geometry: &Geometry) -> Option<(Vector3<f64>, Vector3<f64>)> {
    let half = match geometry {
        Geometry::Box { size } => size / 2.0,
        Geometry::Sphere { radius } => Vector3::repeat(*radius),
        Geometry::Cylinder { radius, length } => Vector3::new(*radius, *radius, length / 2.0),
        Geometry::Capsule { radius, length } => {
            Vector3::new(*radius, *radius, length / 2.0 + radius)
        }
        Geometry::Mesh { mesh, scale } => {
            let (low, high) = robot.meshes()[*mesh].mesh.bounds()?;
            let [low, high] =
                [low, high].map(|corner| Vector3::from(corner.map(f64::from)).component_mul(scale));
            return Some((low.inf(&high), low.sup(&high)));
        }
        Geometry::Missing { .. } => return None,
    };
    Some((-half, half))
}

fn triangles(robot: &Robot, of: fn(&urdf_usd_robot::Link) -> &[Shape]) -> usize {
    let shapes = robot.links().values().flat_map(of);
    let meshes = shapes.filter_map(|shape| match shape.geometry {
        Geometry::Mesh { mesh, .. } => Some(&robot.meshes()[mesh].mesh),
        _ => None,
    });
    meshes.map(|mesh| mesh.outline().triangles).sum()
}

/// Returns the variants of an asset, each with its number of triangles.
fn variants(stage: &Stage, robot: &Robot, entry: &Path, options: &Options) -> Vec<VariantSummary> {
    let mut sets: BTreeMap<&str, (&[String], Option<&str>)> = BTreeMap::new();
    for set in stage
        .prims
        .iter()
        .filter(|prim| prim.instance.is_none())
        .flat_map(|prim| &prim.variant_sets)
    {
        sets.entry(&set.name)
            .or_insert((&set.variants, set.selection.as_deref()));
    }
    let count = |robot: &Robot| {
        (
            triangles(robot, |link| &link.visuals),
            triangles(robot, |link| &link.collisions),
        )
    };
    let read = |set: &str, name: &str| {
        let choice = VariantChoice {
            prim: None,
            set: set.to_owned(),
            variant: name.to_owned(),
        };
        let variants = options
            .variants
            .iter()
            .filter(|known| known.set != set)
            .cloned()
            .chain([choice])
            .collect();
        let stage = Stage::open(
            entry,
            &Options {
                variants,
                ..options.clone()
            },
        )
        .ok()?;
        let reading = on_large_stack(|| Reading::of(&stage)).ok()?.ok()?;
        Some(count(&reading.robot))
    };
    let all = sets.iter().flat_map(|(set, (names, selected))| {
        names
            .iter()
            .map(move |name| (*set, name.as_str(), *selected == Some(name.as_str())))
    });
    let all: Vec<(&str, &str, bool)> = all.collect();
    // Each variant takes as long as the asset itself, so they are read in parallel.
    std::thread::scope(|scope| {
        let others = all
            .iter()
            .filter(|(_, _, is_selected)| !is_selected)
            .take(MAX_VARIANTS);
        let counting: HashMap<(String, String), _> = others
            .map(|&(set, name, _)| {
                (
                    (set.to_owned(), name.to_owned()),
                    scope.spawn(move || read(set, name)),
                )
            })
            .collect();
        let counted: HashMap<(String, String), _> = counting
            .into_iter()
            .filter_map(|(variant, thread)| Some((variant, thread.join().ok().flatten()?)))
            .collect();
        let own = count(robot);
        let one = |(set, name, is_selected): (&str, &str, bool)| {
            let counted = if is_selected {
                Some(own)
            } else {
                counted.get(&(set.to_owned(), name.to_owned())).copied()
            };
            VariantSummary {
                set: set.to_owned(),
                name: name.to_owned(),
                is_selected,
                triangles: counted.map(|(seen, _)| seen),
                collision_triangles: counted.map(|(_, collides)| collides),
            }
        };
        all.iter().copied().map(one).collect()
    })
}

fn kind_of(prim: &Prim) -> Option<FrameKind> {
    if prim.has("PhysicsRigidBodyAPI") {
        Some(FrameKind::Body)
    } else if prim.has("RosFrameAPI") {
        Some(FrameKind::Frame)
    } else {
        None
    }
}

/// Returns the name of a TF frame.
fn frame_id(prim: &Prim) -> String {
    let given = prim
        .text("ros:frame:id")
        .filter(|id| !id.is_empty() && prim.has("RosFrameAPI"));
    given.unwrap_or_else(|| prim.name()).to_owned()
}

/// Returns the interfaces of all prims.
fn interfaces(stage: &Stage) -> Vec<InterfaceSummary> {
    let mut interfaces = Vec::new();
    // The frame that each prim is or is inside of.
    let mut frames: HashMap<PrimId, PrimId> = HashMap::new();
    for (id, prim) in stage.iter() {
        let frame = if kind_of(prim).is_some() {
            Some(id)
        } else {
            prim.parent.and_then(|above| frames.get(&above).copied())
        };
        frames.extend(frame.map(|frame| (id, frame)));
        for (schema, kind) in [
            ("RosTopicAPI", "topic"),
            ("RosServiceAPI", "service"),
            ("RosActionAPI", "action"),
        ] {
            if !prim.has(schema) || !prim.is_present() {
                continue;
            }
            let text = |field: &str| {
                prim.text(&format!("ros:{kind}:{field}"))
                    .unwrap_or_default()
                    .to_owned()
            };
            interfaces.push(InterfaceSummary {
                kind: kind.to_owned(),
                role: text("role"),
                name: text("name"),
                type_name: text("type"),
                frame: frame.map(|frame| frame_id(&stage[frame])),
                starts_enabled: prim
                    .flag(&format!("ros:{kind}:starts_enabled"))
                    .unwrap_or(true),
                rate: prim.number("ros:topic:publish_rate"),
                qos: qos(prim),
            });
        }
    }
    interfaces
}

/// Returns the authored policies of a topic.
fn qos(prim: &Prim) -> BTreeMap<String, String> {
    let named = ["reliability", "durability", "history"]
        .into_iter()
        .filter_map(|policy| {
            Some((
                policy.to_owned(),
                prim.text(&format!("ros:topic:qos:{policy}"))?.to_owned(),
            ))
        });
    let depth = match prim.value("ros:topic:qos:depth") {
        Some(Value::Int(depth)) => Some(*depth),
        _ => None,
    };
    named
        .chain(depth.map(|depth| ("depth".to_owned(), depth.to_string())))
        .collect()
}

impl Summary {
    /// Sets the statements, named poses and planning data to those of a robot.
    pub fn describe(&mut self, robot: &Robot) {
        self.about.clone_from(&robot.about);
        self.poses = PoseSummary::all(robot);
        let positions = self.poses.iter_mut().flat_map(|pose| &mut pose.positions);
        for (_, positions) in positions {
            positions.iter_mut().for_each(|at| *at = rounded(*at));
        }
        self.planning = PlanningSummary::of(robot);
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} (namespace {:?})",
            Escaped(&self.name),
            self.namespace
        )?;
        let assumed = if self.links.iter().any(|link| link.mass_assumed) {
            ", masses with * are assumed"
        } else {
            ""
        };
        writeln!(f, "{}", self.counts)?;
        write!(
            f,
            "{} kg{assumed}, {} triangles seen",
            rounded(self.mass),
            self.triangles
        )?;
        if let Some([x, y, z]) = self.size {
            write!(f, ", {x:.3} x {y:.3} x {z:.3} m")?;
        }
        // The link `world` and joints that only place a frame have none.
        let with_prim = |listed: usize, all: usize| match listed == all {
            true => listed.to_string(),
            false => format!("{listed} of {all} have a prim"),
        };
        let (links, joints) = (self.links.len(), self.joints.len());
        let links = with_prim(links, self.counts.links);
        let joints = with_prim(joints, self.counts.joints);
        write!(f, "\n{}", self.about)?;
        writeln!(f, "\nlinks ({links})")?;
        self.links.iter().try_for_each(|link| link.fmt(f))?;
        writeln!(f, "\njoints ({joints})")?;
        self.joints.iter().try_for_each(|joint| joint.fmt(f))?;
        writeln!(f, "\ninterfaces ({})", self.interfaces.len())?;
        self.interfaces
            .iter()
            .try_for_each(|interface| interface.fmt(f))?;
        if !self.poses.is_empty() {
            writeln!(f, "\nnamed poses ({})", self.poses.len())?;
        }
        self.poses.iter().try_for_each(|pose| write!(f, "{pose}"))?;
        write!(f, "{}", self.planning)?;
        if !self.variants.is_empty() {
            writeln!(f, "\nvariants ({})", self.variants.len())?;
        }
        self.variants.iter().try_for_each(|variant| variant.fmt(f))
    }
}

impl LinkSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let indent = "  ".repeat(self.depth.min(DEEPEST_SHOWN) + 1);
        write!(f, "{indent}{}", Escaped(&self.frame))?;
        match (self.kind, self.mass) {
            (FrameKind::Frame, None) => write!(f, "  frame")?,
            (_, mass) => write!(
                f,
                "  {} kg{}",
                mass.unwrap_or(0.0),
                if self.mass_assumed { "*" } else { "" }
            )?,
        }
        if self.visuals > 0 {
            write!(f, ", visuals {}", self.visuals)?;
        }
        if self.colliders > 0 {
            write!(f, ", colliders {}", self.colliders)?;
        }
        writeln!(f)
    }
}

impl JointSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [name, kind] = [&self.name, &self.kind].map(|text| Escaped(text));
        let parent = Escaped(self.parent.as_deref().unwrap_or("(world)"));
        write!(
            f,
            "  {name}  {kind}  {parent} -> {}",
            Escaped(self.child.as_deref().unwrap_or("?"))
        )?;
        if let Some([x, y, z]) = self.axis {
            write!(f, "  axis {x} {y} {z}")?;
        }
        if let Some(unit) = self.unit {
            let side = |limit: Option<f64>| {
                limit.map_or("unlimited".to_owned(), |limit| limit.to_string())
            };
            write!(f, "  {} .. {} {unit}", side(self.lower), side(self.upper))?;
        }
        let is_linear = self.kind == JointKind::Prismatic.as_str();
        if let Some(effort) = self.effort {
            write!(f, "  {effort} {}", if is_linear { "N" } else { "N·m" })?;
        }
        if let Some(velocity) = self.velocity {
            write!(
                f,
                "  {velocity} {}",
                if is_linear { "m/s" } else { "deg/s" }
            )?;
        }
        if let Some(drive) = self.drive {
            write!(f, "  driven by {drive}")?;
        }
        if let Some(leader) = &self.mimics {
            write!(f, "  mimics {}", Escaped(leader))?;
            if let Some(factor) = self.factor.filter(|factor| *factor != 1.0) {
                write!(f, " times {factor}")?;
            }
        }
        if self.closes_loop {
            write!(f, "  closes a loop")?;
        }
        writeln!(f)
    }
}

impl InterfaceSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [role, name, type_name] =
            [&self.role, &self.name, &self.type_name].map(|text| Escaped(text));
        write!(f, "  {} {role}  {name}  {type_name}", self.kind)?;
        if let Some(frame) = &self.frame {
            write!(f, "  in {}", Escaped(frame))?;
        }
        if !self.starts_enabled {
            write!(f, "  disabled at start")?;
        }
        if let Some(rate) = self.rate {
            write!(f, "  {rate} Hz")?;
        }
        for (policy, value) in &self.qos {
            write!(f, "  {policy} {}", Escaped(value))?;
        }
        writeln!(f)
    }
}

impl VariantSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  {}={}", Escaped(&self.set), Escaped(&self.name))?;
        if let Some((seen, collides)) = self.triangles.zip(self.collision_triangles) {
            write!(f, "  {seen} triangles seen, {collides} collide")?;
        }
        writeln!(f, "{}", if self.is_selected { "  selected" } else { "" })
    }
}
