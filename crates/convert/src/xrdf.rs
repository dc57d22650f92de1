//! Checks XRDF files against robots of any source, and writes them.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use nalgebra::{Point3, Vector3};
use rayon::prelude::*;
use serde::Serialize;

use super::context::{Progress, Step, Stop, retry_if_evicted};
use super::{Context, Described, Failure, Job, Meshes, REPORT_IT, codes, read_described};
use urdf_usd_diagnostic::{Code, Diagnostic, did_you_mean, nearest};
use urdf_usd_geometry::Random;
use urdf_usd_geometry::spheres::{self, Wanted};
use urdf_usd_resolve as resolve;
use urdf_usd_robot::kinematics::{Model, position_count};
use urdf_usd_robot::{
    ArenaMap, CacheEvicted, Coordinate, DEFAULT_POSE, Geometry, Joint, JointId, JointKind, Link,
    LinkId, LinkPairs, LinkSpheres, NamedPose, Planning, PlanningCollision, Pose, Robot, Shape,
    Sphere, SphereGroup, touches,
};
use urdf_usd_store::Store;
use urdf_usd_urdf::xrdf::{self, Modifiers};

/// Assumed limits of acceleration and jerk: those of NVIDIA's XRDF of the UR10e, in rad/s² and
/// rad/s³ (m/s² and m/s³).
const ASSUMED_LIMITS: (f64, f64) = (12.0, 500.0);
/// Number of steps per metre to which centres and radii are rounded.
const PER_METRE: f64 = 1e5;
/// Tolerance of the rounding for floating-point noise of the multiplication, in steps.
const NOISE: f64 = 1e-6;
/// Number of sides of the prism that replaces a cylinder; a quarter of a circle has a quarter of
/// them.
const SIDES: usize = 64;
/// Assumed range of a prismatic joint without limits in either direction, in metres.
const UNLIMITED_SLIDE: f64 = 1.0;
/// Names of default poses, in order of precedence.
pub(super) const DEFAULT_POSES: [&str; 3] = [DEFAULT_POSE, "home", "ready"];

/// Contents of an XRDF beyond those of the robot.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The spheres of each link. `None`: the robot's own if a source has some, otherwise
    /// [`Options::DEFAULT`].
    pub spheres: Option<Wanted>,
    /// The joints of the configuration space in order; empty: the robot's own, otherwise all joints
    /// with one position that are not mimic joints.
    pub joints: Vec<String>,
    /// Acceleration limits in rad/s² or m/s²; positive.
    pub acceleration: Vec<Limit>,
    /// Jerk limits in rad/s³ or m/s³; positive.
    pub jerk: Vec<Limit>,
    /// The tool frames; empty: the robot's own.
    pub tool_frames: Vec<String>,
    /// Name of the default pose; `None`: `default`, `home` or `ready`, if the whole robot has one.
    pub pose: Option<String>,
    /// Number of random configurations in which pairs of links are tested for contact.
    pub samples: usize,
}

/// A limit of one joint, or of all joints without their own.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// The name of the joint; `None` for all.
    pub joint: Option<String>,
    /// The limit; positive.
    pub value: f64,
}

impl Options {
    /// The spheres to fit by default.
    pub const DEFAULT: Wanted = Wanted::Error(0.02);
    /// The default number of configurations.
    pub const SAMPLES: usize = 10_000;
}

impl Default for Options {
    fn default() -> Self {
        Self {
            spheres: None,
            joints: Vec::new(),
            acceleration: Vec::new(),
            jerk: Vec::new(),
            tool_frames: Vec::new(),
            pose: None,
            samples: Self::SAMPLES,
        }
    }
}

/// A written XRDF.
#[derive(Clone, Debug, Serialize)]
pub struct Written {
    /// The text.
    #[serde(skip)]
    pub text: String,
    /// The robot's name.
    pub robot: String,
    /// The links that spheres were fitted to.
    pub links: Vec<FittedLink>,
    /// The number of spheres in the XRDF.
    pub spheres: usize,
    /// The number of pairs of links that self-collision ignores.
    pub ignored: usize,
    /// The findings.
    pub diagnostics: Vec<Diagnostic>,
}

/// A link with the spheres that were fitted to it.
#[derive(Clone, Debug, Serialize)]
pub struct FittedLink {
    /// The name of the link.
    pub link: String,
    /// The number of spheres.
    pub spheres: usize,
    /// Upper bound of the distance by which they exceed the collision geometry, in metres.
    pub error: f64,
}

/// Reads the robot of a job and checks the XRDF that its options name against it.
///
/// Returns the robot's name and the findings about the XRDF. Meshes are not read.
///
/// # Errors
/// Fails if the robot or the file can't be read.
pub fn check(job: &Job, context: &Context) -> Result<(String, Vec<Diagnostic>), Failure> {
    let files = Arc::new(resolve::Files::new(Arc::new(resolve::Resolver::new(
        job.options.resolve.clone(),
    ))));
    let fail = |diagnostics| Failure {
        diagnostics,
        used: files.used(),
    };
    let file = job
        .options
        .xrdf
        .as_deref()
        .map(|path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned()));
    let is_of_xrdf = |found: &Diagnostic| found.place.file.as_deref() == file.as_deref();
    let (robot, found) = super::read_without_meshes(job, &files, context).map_err(fail)?;
    let found = found.into_iter().filter(is_of_xrdf).collect();
    Ok((robot.name().to_owned(), found))
}

/// Reads the robot of a job and writes an XRDF for it.
///
/// # Errors
/// Fails if the robot can't be read, has no geometry to cover, or lacks what an option names.
pub fn write(job: &Job, options: &Options, context: &Context) -> Result<Written, Failure> {
    let files = Arc::new(resolve::Files::new(Arc::new(resolve::Resolver::new(
        job.options.resolve.clone(),
    ))));
    retry_if_evicted(&context.store, |store| {
        write_with(store, job, options, context, &files)
    })
    .map_err(|diagnostics| Failure {
        diagnostics,
        used: files.used(),
    })
}

fn write_with(
    store: &Store,
    job: &Job,
    options: &Options,
    context: &Context,
    files: &Arc<resolve::Files>,
) -> Result<Written, Stop> {
    let Described {
        mut robot,
        mut diagnostics,
        modifiers,
    } = read_described(job, context, files, store, Meshes::Loaded)?;
    match plan(&mut robot, &modifiers, options, context, &mut diagnostics) {
        Ok(links) => {
            let planning = robot.planning();
            Ok(Written {
                text: xrdf::write(&robot, ASSUMED_LIMITS, &modifiers),
                spheres: planning
                    .groups
                    .iter()
                    .flat_map(|group| &group.spheres)
                    .map(|(_, spheres)| spheres.len())
                    .sum(),
                ignored: planning.ignored.len(),
                robot: robot.name().to_owned(),
                links,
                diagnostics,
            })
        }
        Err(stop) => Err(stop.after(diagnostics, |mut found| {
            found.sort_by_key(|found| std::cmp::Reverse(found.severity));
            found
        })),
    }
}

/// Completes the robot's planning data as [`Options`] describe, and reports progress to the
/// context.
///
/// # Errors
/// Fails if an option names a missing element of the robot, there is no geometry to cover, or a
/// mesh is no longer in the cache.
fn plan(
    robot: &mut Robot,
    modifiers: &Modifiers,
    options: &Options,
    context: &Context,
    found: &mut Vec<Diagnostic>,
) -> Result<Vec<FittedLink>, Stop> {
    let place = robot.place.clone();
    default_pose(robot, options)?;
    let mut planning = Planning {
        coordinates: coordinates(robot, modifiers, options)?,
        ..robot.planning().clone()
    };
    let missing = planning
        .coordinates
        .iter()
        .filter(|c| c.acceleration.is_none() || c.jerk.is_none())
        .count();
    if missing > 0 {
        let message = format!(
            "{missing} joints have no acceleration or jerk limits; assuming 12 rad/s² and 500 rad/s³"
        );
        let help = "give --acceleration-limit and --jerk-limit";
        found.push(Diagnostic::new(&codes::XRDF_ASSUMED_LIMITS, place.clone(), message).help(help));
    }
    planning.tool_frames = tool_frames(robot, options, found)?;
    let keeps = options.spheres.is_none() && !planning.groups.is_empty();
    let mut links = Vec::new();
    if !keeps {
        let wanted = options.spheres.unwrap_or(Options::DEFAULT);
        let fit = fit(robot, wanted, context, found)?;
        links = fit.links;
        planning.groups = vec![fit.group];
    }
    if !keeps || planning.self_collision.is_none() {
        // Buffer distances and pairs of an XRDF apply to links, so they stay with other spheres.
        let own = planning.self_collision.take();
        let group = planning
            .collision
            .as_ref()
            .map_or(0, |collision| collision.group);
        let group = if keeps { group } else { 0 };
        let known = |collision: Option<PlanningCollision>| PlanningCollision {
            group,
            buffers: collision.map_or_else(Vec::new, |collision| collision.buffers),
        };
        planning.collision = Some(known(planning.collision.take()));
        planning.self_collision = Some(known(own));
        context.begin_step(Step::Touch);
        planning.ignored = ignored(robot, &planning, options.samples, found);
    }
    robot
        .set_planning(planning)
        .map_err(|error| option(robot, &codes::INTERNAL, error.to_string()).help(REPORT_IT))?;
    Ok(links)
}

/// Makes the default pose the one that the options name, or one with a conventional name.
fn default_pose(robot: &mut Robot, options: &Options) -> Result<(), Diagnostic> {
    let named = |name: &str| {
        let poses = robot.named_poses();
        let of_robot = poses
            .iter()
            .find(|pose| pose.name == name && pose.group.is_none());
        of_robot.or_else(|| poses.iter().find(|pose| pose.name == name))
    };
    let pose = match &options.pose {
        Some(name) => {
            let pose = named(name);
            let names = robot.named_poses().iter().map(|pose| pose.name.as_str());
            Some(pose.ok_or_else(|| unknown(robot, "pose", name, names, NO_POSE_HELP))?)
        }
        None if robot.default_pose().is_some() => return Ok(()),
        None => DEFAULT_POSES.into_iter().find_map(named),
    };
    let Some(pose) = pose.cloned() else {
        return Ok(());
    };
    // An XRDF has only positions of joints with one position.
    let is_single = |&joint: &JointId| position_count(robot.joints()[joint].kind()) == 1;
    let positions: Vec<_> = pose
        .positions
        .iter()
        .filter(|(joint, _)| is_single(joint))
        .cloned()
        .collect();
    let mut poses = robot.named_poses().to_vec();
    poses.retain(|other| other.name != DEFAULT_POSE || other.group.is_some());
    poses.push(NamedPose {
        name: DEFAULT_POSE.to_owned(),
        group: None,
        chain: None,
        positions,
        fixed: Vec::new(),
        place: pose.place,
    });
    robot
        .set_named_poses(poses)
        .map_err(|error| option(robot, &codes::INTERNAL, error.to_string()).help(REPORT_IT))
}

/// Returns the diagnostic for an option that names a missing element.
fn unknown<'a>(
    robot: &Robot,
    what: &str,
    name: &str,
    names: impl Iterator<Item = &'a str>,
    otherwise: &str,
) -> Diagnostic {
    let near = nearest(name, names);
    let help = did_you_mean(near).unwrap_or_else(|| otherwise.to_owned());
    option(
        robot,
        &codes::XRDF_OPTION,
        format!("the robot has no {what} \"{name}\""),
    )
    .help(help)
}

fn option(robot: &Robot, code: &'static Code, message: String) -> Diagnostic {
    Diagnostic::new(code, robot.place.clone(), message)
}

/// Returns the configuration space.
fn coordinates(
    robot: &Robot,
    modifiers: &Modifiers,
    options: &Options,
) -> Result<Vec<Coordinate>, Diagnostic> {
    let joint = |name: &String| {
        let names = robot.joints().values().map(Joint::name);
        let id = robot
            .joint_named(name)
            .ok_or_else(|| unknown(robot, "joint", name, names, "name a joint of the robot"))?;
        if !is_own(robot, modifiers, id) {
            let message = format!(
                "the joint \"{name}\" is a mimic joint, or does not have exactly one position"
            );
            return Err(option(robot, &codes::XRDF_OPTION, message)
                .help("name revolute, continuous or prismatic joints that are not mimic joints"));
        }
        Ok(id)
    };
    let known = &robot.planning().coordinates;
    let new = |id| Coordinate {
        joint: id,
        acceleration: None,
        jerk: None,
    };
    let mut coordinates: Vec<Coordinate> = if options.joints.is_empty() && !known.is_empty() {
        known.clone()
    } else {
        let ids: Vec<JointId> = match options.joints.is_empty() {
            true => robot
                .joints()
                .handles()
                .filter(|&id| is_own(robot, modifiers, id))
                .collect(),
            false => options.joints.iter().map(joint).collect::<Result<_, _>>()?,
        };
        let mut seen = BTreeSet::new();
        let ids = ids.into_iter().filter(|id| seen.insert(*id));
        ids.map(|id| {
            known
                .iter()
                .find(|known| known.joint == id)
                .copied()
                .unwrap_or(new(id))
        })
        .collect()
    };
    for (limits, is_jerk) in [(&options.acceleration, false), (&options.jerk, true)] {
        // Limits of a named joint override those of all joints, whatever their order.
        let (own, all): (Vec<&Limit>, Vec<&Limit>) =
            limits.iter().partition(|limit| limit.joint.is_some());
        for limit in all.into_iter().chain(own) {
            let of = limit.joint.as_ref().map(joint).transpose()?;
            let meant = coordinates
                .iter_mut()
                .filter(|coordinate| of.is_none_or(|of| of == coordinate.joint));
            for coordinate in meant {
                *(if is_jerk {
                    &mut coordinate.jerk
                } else {
                    &mut coordinate.acceleration
                }) = Some(limit.value);
            }
        }
    }
    Ok(coordinates)
}

/// Returns whether a joint has exactly one position and is not a mimic joint, neither in the robot
/// nor in the description that the XRDF is for.
fn is_own(robot: &Robot, modifiers: &Modifiers, joint: JointId) -> bool {
    let joint = &robot.joints()[joint];
    position_count(joint.kind()) == 1
        && joint.mimic().is_none()
        && !modifiers.freed.iter().any(|freed| freed == joint.name())
}

/// Returns the tool frames: those of the options, those of the robot, or the frame below the most
/// joints.
fn tool_frames(
    robot: &Robot,
    options: &Options,
    found: &mut Vec<Diagnostic>,
) -> Result<Vec<LinkId>, Diagnostic> {
    let link = |name: &String| {
        let names = robot.links().values().map(Link::name);
        robot
            .link_named(name)
            .ok_or_else(|| unknown(robot, "link", name, names, "name a link of the robot"))
    };
    let mut frames: Vec<LinkId> = options
        .tool_frames
        .iter()
        .map(link)
        .collect::<Result<_, _>>()?;
    let mut seen = BTreeSet::new();
    frames.retain(|frame| seen.insert(*frame));
    if frames.is_empty() {
        frames.clone_from(&robot.planning().tool_frames);
    }
    if frames.is_empty()
        && let Some(frame) = tip(robot)
    {
        let name = robot.links()[frame].name();
        let message = format!("the tool frame is unknown; assuming \"{name}\"");
        found.push(
            option(robot, &codes::XRDF_ASSUMED_TOOL, message)
                .help("give --tool-frame, or the robot's SRDF with --srdf"),
        );
        frames.push(frame);
    }
    Ok(frames)
}

/// Returns the frame below the most movable joints, the last of those that are rigidly connected.
fn tip(robot: &Robot) -> Option<LinkId> {
    // For each link, the number of movable joints above it, and the number of fixed joints after
    // the last of these.
    let mut above = ArenaMap::filled(robot.links(), (0_usize, 0_usize));
    let tree = robot.tree();
    for &link in tree.order() {
        let Some(joint) = tree.parent_joint(link).map(|joint| &robot.joints()[joint]) else {
            continue;
        };
        let (moving, fixed) = above[joint.parent()];
        let counts = joint.kind() != JointKind::Fixed && joint.mimic().is_none();
        above[link] = if counts {
            (moving + 1, 0)
        } else {
            (moving, fixed + 1)
        };
    }
    let best = above.values().map(|(moving, _)| *moving).max()?;
    // A gripper's fingers are children of the hand, which is the part to be positioned; of several
    // equally long branches, the first wins.
    tree.order()
        .iter()
        .copied()
        .filter(|&link| above[link].0 == best)
        .reduce(|best, link| {
            if above[link].1 > above[best].1 {
                link
            } else {
                best
            }
        })
}

/// Help on a pose that the robot does not have.
pub(super) const NO_POSE_HELP: &str = "give the robot's SRDF with --srdf; a pose stored on an OpenUSD asset is in its entry NAME.poses.usda";

/// The spheres that were fitted to links.
struct Fit {
    links: Vec<FittedLink>,
    /// The spheres of all links, in a group with the robot's name.
    group: SphereGroup,
}

/// Fits spheres to the collision geometry of every link.
fn fit(
    robot: &Robot,
    wanted: Wanted,
    context: &Context,
    found: &mut Vec<Diagnostic>,
) -> Result<Fit, Stop> {
    let world = robot.world_root();
    let links: Vec<LinkId> = robot
        .links()
        .handles()
        .filter(|&link| !robot.links()[link].collisions.is_empty() && world != Some(link))
        .collect();
    let (done, all) = (AtomicUsize::new(0), links.len());
    let report = |name: &str| {
        context.report_progress(Progress {
            step: Step::Cover,
            name,
            done: done.load(Ordering::Relaxed),
            all,
        })
    };
    let work = |&link: &LinkId| {
        let link = &robot.links()[link];
        report(link.name());
        let fitted = fit_shapes(robot, &link.collisions, wanted);
        done.fetch_add(1, Ordering::Relaxed);
        report(link.name());
        fitted
    };
    let shapes: Vec<Option<Fitted>> = links.par_iter().map(work).collect::<Result<_, _>>()?;
    let mut group = SphereGroup {
        name: format!("{}_spheres", robot.name()),
        spheres: Vec::new(),
    };
    let mut fits = Vec::new();
    for (link, fitted) in links.into_iter().zip(shapes) {
        let name = robot.links()[link].name().to_owned();
        match fitted {
            Some(fitted) if !fitted.spheres.is_empty() => {
                fits.push(FittedLink {
                    link: name,
                    spheres: fitted.spheres.len(),
                    error: fitted.error,
                });
                group.spheres.push((link, fitted.spheres));
            }
            // None of its shapes could be read, which is already reported.
            Some(_) => {}
            None => {
                let message = format!(
                    "the collision geometry of the link \"{name}\" is too large or too thin for such spheres"
                );
                let diagnostic = Diagnostic::new(
                    &codes::SPHERES_TOO_FINE,
                    robot.links()[link].place.clone(),
                    message,
                );
                found.push(diagnostic.help("allow a larger --error, or give --spheres"));
            }
        }
    }
    // A planner would let these links collide.
    for link in robot.links().values() {
        if !link.visuals.is_empty() && link.collisions.is_empty() {
            let message = format!(
                "the link \"{}\" has visuals but no collision geometry, so it has no spheres",
                link.name()
            );
            let diagnostic =
                Diagnostic::new(&codes::SPHERES_UNCOVERED, link.place.clone(), message);
            found.push(diagnostic.help("add collision elements to the description"));
        }
    }
    if group.spheres.is_empty()
        && found
            .iter()
            .all(|found| found.code != codes::SPHERES_TOO_FINE.id)
    {
        let message =
            "no link of the robot has collision geometry to cover with spheres".to_owned();
        let is_missing = |shape: &Shape| matches!(shape.geometry, Geometry::Missing { .. });
        let help = if robot
            .links()
            .values()
            .flat_map(|link| &link.collisions)
            .any(is_missing)
        {
            "its collision meshes are unreadable: see the errors about them"
        } else {
            "add collision elements to the description"
        };
        return Err(option(robot, &codes::SPHERES_NONE, message)
            .help(help)
            .into());
    }
    Ok(Fit { links: fits, group })
}

/// The spheres of a link.
struct Fitted {
    spheres: Vec<Sphere>,
    error: f64,
}

/// Returns spheres that cover shapes; `None` if that would take too many.
///
/// The geometry is covered as triangles ([`spheres`]); primitives are replaced by polyhedra that
/// enclose them, so spheres that cover the polyhedra cover the primitives, too. The error bound
/// includes the distance between a primitive and its polyhedron.
fn fit_shapes(
    robot: &Robot,
    shapes: &[Shape],
    wanted: Wanted,
) -> Result<Option<Fitted>, CacheEvicted> {
    let mut spheres: Vec<Sphere> = Vec::new();
    let mut triangles: Vec<spheres::Triangle> = Vec::new();
    // Maximum distance between a primitive and the polyhedron that replaces it.
    let mut slack = 0.0_f64;
    for shape in shapes {
        let mut add = |corners: [Vector3<f64>; 3]| {
            triangles
                .push(corners.map(|corner| (shape.origin * Point3::from(corner)).coords.into()));
        };
        match &shape.geometry {
            // A sphere needs no approximation.
            Geometry::Sphere { radius } if *radius > 0.0 => {
                let center = Point3::from(shape.origin.translation.vector);
                spheres.push(round_outward(center.coords.into(), *radius));
            }
            Geometry::Mesh { mesh, scale } => {
                let mesh = robot.meshes()[*mesh].mesh.arrays()?;
                // A scale that mirrors reverses the winding.
                let is_turned = scale.product() < 0.0;
                for [a, b, c] in &mesh.triangles {
                    let corner = |index: &u32| {
                        let point = mesh.points.get(*index as usize)?.map(f64::from);
                        Some(Vector3::from(point).component_mul(scale))
                    };
                    let (b, c) = if is_turned { (c, b) } else { (b, c) };
                    if let (Some(a), Some(b), Some(c)) = (corner(a), corner(b), corner(c)) {
                        add([a, b, c]);
                    }
                }
            }
            Geometry::Box { size } => {
                add_box(size / 2.0, &mut add);
            }
            Geometry::Cylinder { radius, length } => {
                // A circumscribed prism: its sides touch the cylinder.
                let outer = radius / (std::f64::consts::PI / SIDES as f64).cos();
                slack = slack.max(outer - radius);
                add_revolution(
                    &[
                        (0.0, -length / 2.0),
                        (outer, -length / 2.0),
                        (outer, length / 2.0),
                        (0.0, length / 2.0),
                    ],
                    SIDES,
                    &mut add,
                );
            }
            Geometry::Capsule { radius, length } => {
                let steps = SIDES / 4;
                // A circumscribed polyhedron: the prism around the circle, and the lines around the
                // arc.
                let step = std::f64::consts::FRAC_PI_2 / steps as f64;
                let outer =
                    radius / (std::f64::consts::PI / SIDES as f64).cos() / (step / 2.0).cos();
                slack = slack.max(outer - radius);
                let cap = |index: usize| (index as f64 * step).sin_cos();
                let mut profile: Vec<(f64, f64)> = (0..=steps)
                    .map(cap)
                    .map(|(sine, cosine)| (outer * sine, -length / 2.0 - outer * cosine))
                    .collect();
                profile.extend(
                    (0..=steps)
                        .rev()
                        .map(cap)
                        .map(|(sine, cosine)| (outer * sine, length / 2.0 + outer * cosine)),
                );
                add_revolution(&profile, SIDES, &mut add);
            }
            Geometry::Sphere { .. } | Geometry::Missing { .. } => {}
        }
    }
    if triangles.is_empty() {
        return Ok(Some(Fitted {
            error: 0.0,
            spheres,
        }));
    }
    // Rounding moves the centre and grows the radius by as much, and then rounds it up.
    let rounding = 3.0 / PER_METRE;
    // At least half of the error is left for the fit: with a larger slack the spheres exceed it,
    // as the bound that is returned says.
    let wanted = match wanted {
        Wanted::Error(error) => Wanted::Error((error - slack - rounding).max(error / 2.0)),
        Wanted::Count(count) => Wanted::Count(count.saturating_sub(spheres.len()).max(1)),
    };
    let Some(fit) = spheres::fit(&triangles, wanted) else {
        return Ok(None);
    };
    spheres.extend(
        fit.spheres
            .into_iter()
            .map(|(center, radius)| round_outward(center, radius)),
    );
    Ok(Some(Fitted {
        spheres,
        error: fit.error + slack + rounding,
    }))
}

/// Returns a sphere with few decimals that contains the one of this centre and radius.
fn round_outward(center: [f64; 3], radius: f64) -> Sphere {
    // By division, which yields the floating-point number nearest to the decimals.
    let near = center.map(|at| (at * PER_METRE).round() / PER_METRE + 0.0);
    let moved = (Point3::from(near) - Point3::from(center)).norm();
    Sphere {
        center: Point3::from(near),
        radius: ((radius + moved) * PER_METRE - NOISE).ceil() / PER_METRE,
    }
}

/// Adds the triangles of a box.
fn add_box(half: Vector3<f64>, add: &mut impl FnMut([Vector3<f64>; 3])) {
    for axis in 0..3 {
        for side in [-1.0, 1.0] {
            let corner = |one: f64, other: f64| {
                let mut at = [side, one * side, other];
                at.rotate_right(axis);
                Vector3::from(at).component_mul(&half)
            };
            let [a, b, c, d] = [
                corner(-1.0, -1.0),
                corner(1.0, -1.0),
                corner(1.0, 1.0),
                corner(-1.0, 1.0),
            ];
            add([a, b, c]);
            add([a, c, d]);
        }
    }
}

/// Adds the triangles of a profile (radius and height, from bottom to top) that is rotated about z.
fn add_revolution(profile: &[(f64, f64)], sides: usize, add: &mut impl FnMut([Vector3<f64>; 3])) {
    let at = |(radius, height): (f64, f64), side: usize| {
        let (sine, cosine) =
            ((side % sides) as f64 * std::f64::consts::TAU / sides as f64).sin_cos();
        if radius > 0.0 {
            Vector3::new(radius * cosine, radius * sine, height)
        } else {
            Vector3::new(0.0, 0.0, height)
        }
    };
    for (&low, &high) in profile.iter().zip(profile.iter().skip(1)) {
        for side in 0..sides {
            let [a, b, c, d] = [
                at(low, side),
                at(low, side + 1),
                at(high, side + 1),
                at(high, side),
            ];
            if low.0 > 0.0 {
                add([a, b, c]);
            }
            if high.0 > 0.0 {
                add([a, c, d]);
            }
        }
    }
}

/// Returns the pairs of links whose spheres need no collision check: neighbours, rigidly connected
/// links, and those that touch never or always.
fn ignored(
    robot: &Robot,
    planning: &Planning,
    samples: usize,
    found: &mut Vec<Diagnostic>,
) -> LinkPairs {
    let spheres = planning.self_collision_spheres();
    let model = Model::of(robot);
    let mut ignored = neighbours(robot, &spheres.iter().map(|(link, _)| *link).collect());
    ignored.extend(robot.disabled_collisions().iter());
    ignored.extend(planning.ignored.iter());
    let known = ignored.clone();
    let name = |link: LinkId| robot.links()[link].name();
    let poses = model.poses(&robot.positions(&model, robot.default_pose()));
    for touch in touches(&spheres, &poses, &known) {
        let (first, second, depth) = (name(touch.first), name(touch.second), touch.depth * 1000.0);
        let message = format!(
            "at the default positions spheres of \"{first}\" and \"{second}\" overlap by {depth:.1} mm, so the pair is excluded from collision checks"
        );
        let help =
            "choose another default pose (--pose), or a tighter fit of the spheres (--error)";
        found.push(Diagnostic::new(&codes::XRDF_TOUCHING, robot.place.clone(), message).help(help));
        ignored.insert(touch.first, touch.second);
    }
    if samples > 0 {
        ignored.extend(touching_alike(robot, &model, &spheres, samples, &ignored));
    }
    ignored
}

/// A pair of links with spheres.
struct Pair {
    links: (LinkId, LinkId),
    /// Indices of the two links in the list of spheres.
    spheres: (usize, usize),
    /// Whether the spheres touched in the configurations so far; `None` before the first.
    touch: Option<bool>,
}

/// Returns the pairs of links, except `known` ones, whose spheres touch in all of the sampled
/// configurations, or in none.
///
/// This is the sampling method of MoveIt's Setup Assistant: pairs that were never seen touching may
/// still touch in a configuration that was not sampled.
fn touching_alike(
    robot: &Robot,
    model: &Model,
    spheres: &[(LinkId, Vec<Sphere>)],
    samples: usize,
    known: &LinkPairs,
) -> Vec<(LinkId, LinkId)> {
    /// Number of configurations after which pairs that were seen both ways are dropped; the first
    /// batch already drops nearly all of them.
    const BATCH: usize = 64;
    let pairs = spheres.iter().enumerate().flat_map(|(one, (link, _))| {
        let others = spheres.iter().enumerate().skip(one + 1);
        others.map(move |(other, (other_link, _))| Pair {
            links: (*link, *other_link),
            spheres: (one, other),
            touch: None,
        })
    });
    let mut open: Vec<Pair> = pairs
        .filter(|pair| !known.contains(pair.links.0, pair.links.1))
        .collect();
    let balls: Vec<LinkSpheres> = spheres
        .iter()
        .map(|(_, spheres)| LinkSpheres::new(spheres))
        .collect();
    for start in (0..samples).step_by(BATCH) {
        if open.is_empty() {
            break;
        }
        let poses: Vec<Vec<Pose>> = (start..samples.min(start + BATCH))
            .into_par_iter()
            .map(|sample| model.poses(&configuration(robot, model, sample as u64)))
            .collect();
        open = open
            .into_par_iter()
            .filter_map(|pair| {
                let mut touch = pair.touch;
                let (first, second) = pair.links;
                let [one, other] = [pair.spheres.0, pair.spheres.1].map(|index| balls.get(index));
                let (one, other) = (one?, other?);
                for poses in &poses {
                    let (at, other_at) = (poses.get(first.index())?, poses.get(second.index())?);
                    let now = one.touch(at, other, other_at);
                    if touch.is_some_and(|touch| touch != now) {
                        return None;
                    }
                    touch = Some(now);
                }
                Some(Pair { touch, ..pair })
            })
            .collect();
    }
    open.into_iter().map(|pair| pair.links).collect()
}

/// Returns pairs of links with spheres that are rigidly connected, or neighbours: no other link
/// with spheres is between them in the tree.
fn neighbours(robot: &Robot, links: &BTreeSet<LinkId>) -> LinkPairs {
    let tree = robot.tree();
    let joint = |link: LinkId| tree.parent_joint(link).map(|joint| &robot.joints()[joint]);
    // The topmost link of each rigidly connected group.
    let mut rigid = ArenaMap::new(robot.links(), |link, _| link);
    for &link in tree.order() {
        if let Some(joint) = joint(link).filter(|joint| joint.kind() == JointKind::Fixed) {
            rigid[link] = rigid[joint.parent()];
        }
    }
    let mut pairs = LinkPairs::default();
    for &link in links {
        let mut above = joint(link);
        while let Some(joint_above) = above {
            if links.contains(&joint_above.parent()) {
                pairs.insert(link, joint_above.parent());
                break;
            }
            above = joint(joint_above.parent());
        }
        pairs.extend(
            links
                .range(..link)
                .filter(|&&other| rigid[other] == rigid[link])
                .map(|other| (*other, link)),
        );
    }
    pairs
}

/// Returns a pseudo-random configuration, the same for the same number.
fn configuration(robot: &Robot, model: &Model, number: u64) -> Vec<f64> {
    // Far apart, so that the sequences of neighbouring numbers have nothing in common.
    let mut random = Random::new(number.wrapping_mul(0xd134_2543_de82_ef95));
    let mut positions = robot.positions(model, None);
    for (id, joint) in robot.joints().iter() {
        let Some(at) = positions
            .get_mut(model.range(id.index()))
            .and_then(<[f64]>::first_mut)
        else {
            continue;
        };
        let (lower, upper) = match joint.kind() {
            JointKind::Revolute | JointKind::Prismatic => joint.bounds().sides(),
            JointKind::Continuous => (None, None),
            _ => continue,
        };
        let reach = if joint.kind() == JointKind::Prismatic {
            UNLIMITED_SLIDE
        } else {
            std::f64::consts::PI
        };
        let lower = lower.unwrap_or_else(|| upper.map_or(-reach, |upper| upper - 2.0 * reach));
        let upper = upper.unwrap_or(lower + 2.0 * reach);
        *at = lower + (upper - lower) * random.unit();
    }
    model.follow(&mut positions);
    positions
}

/// Writes the text of an XRDF to a file.
///
/// # Errors
/// Returns a message for the user.
pub fn save(written: &Written, path: &Path) -> Result<(), String> {
    urdf_usd_store::replace_file(path, written.text.as_bytes())
        .map_err(|error| format!("cannot write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests;
