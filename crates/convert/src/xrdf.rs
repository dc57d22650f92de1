//! XRDF files for robots of any source: checked against one, and written for one.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use nalgebra::{Point3, Vector3};
use rayon::prelude::*;
use serde::Serialize;

use super::context::{Progress, Step, Stop, retry_if_evicted};
use super::{Context, Failure, Job, Meshes, REPORT_IT, codes, described};
use urdf_usd_diagnostic::{Code, Diagnostic, did_you_mean, nearest};
use urdf_usd_geometry::Random;
use urdf_usd_geometry::spheres::{self, Wanted};
use urdf_usd_resolve as resolve;
use urdf_usd_robot::kinematics::{Model, position_count};
use urdf_usd_robot::{
    ArenaMap, CacheEvicted, Coordinate, DEFAULT_POSE, Geometry, Joint, JointId, JointKind, Link,
    LinkId, LinkPairs, NamedPose, PlacedSpheres, Planning, PlanningCollision, Robot, Shape, Sphere,
    SphereGroup, touches,
};
use urdf_usd_store::Store;
use urdf_usd_urdf::xrdf;

/// Accelerations and jerks that are assumed: those of NVIDIA's XRDF of the UR10e, in rad/s² and
/// rad/s³ (m/s² and m/s³).
const ASSUMED_LIMITS: (f64, f64) = (12.0, 500.0);
/// Centres and radii are written in multiples of a metre divided by this.
const PER_METRE: f64 = 1e5;
/// What of them is noise of the multiplication.
const NOISE: f64 = 1e-6;
/// Sides of the prism that stands for a cylinder, and steps of a quarter of a circle.
const SIDES: usize = 64;
/// How far a prismatic joint without limits is taken to go either way, metres.
const UNLIMITED_SLIDE: f64 = 1.0;
/// Poses that are the default where none is called so, the most likely first.
const OTHER_DEFAULTS: [&str; 2] = ["home", "ready"];

/// What an XRDF that is written says beyond what the robot does.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Which spheres; of each link. `None`: the robot's own, if a source gave it some, otherwise
    /// [`Options::DEFAULT`].
    pub spheres: Option<Wanted>,
    /// The joints of the configuration space in their order; empty: the robot's own, otherwise all
    /// that have one position of their own.
    pub joints: Vec<String>,
    /// Acceleration limits, rad/s² or m/s²; above zero.
    pub acceleration: Vec<Limit>,
    /// Jerk limits, rad/s³ or m/s³; above zero.
    pub jerk: Vec<Limit>,
    /// The tool frames; empty: the robot's own.
    pub tool_frames: Vec<String>,
    /// The named pose that is the default; `None`: `default`, `home` or `ready`, if there is one
    /// for the whole robot.
    pub pose: Option<String>,
    /// How many configurations are looked at for pairs of links that never or always touch.
    pub samples: usize,
}

/// A limit of one joint, or of all that have none of their own.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// The joint; `None`: all.
    pub joint: Option<String>,
    /// Above zero.
    pub value: f64,
}

impl Options {
    /// The spheres that are fitted where nothing says which.
    pub const DEFAULT: Wanted = Wanted::Error(0.02);
    /// How many configurations are looked at where nothing says how many.
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

/// An XRDF that was made.
#[derive(Clone, Debug, Serialize)]
pub struct Written {
    /// Its text.
    #[serde(skip)]
    pub text: String,
    /// The robot's name.
    pub robot: String,
    /// The links that spheres were fitted to.
    pub links: Vec<FittedLink>,
    /// How many spheres the XRDF has.
    pub spheres: usize,
    /// How many pairs of links its self-collision ignores.
    pub ignored: usize,
    /// What was found.
    pub diagnostics: Vec<Diagnostic>,
}

/// A link with the spheres that were fitted to it.
#[derive(Clone, Debug, Serialize)]
pub struct FittedLink {
    /// Its name.
    pub link: String,
    /// How many there are.
    pub spheres: usize,
    /// Metres that none of them stands out of the collision geometry more than.
    pub error: f64,
}

/// Reads the robot of a job and holds the XRDF that its options name against it; gives the robot's
/// name, and what there is to say of the XRDF. Meshes are not read.
///
/// # Errors
/// If the robot or the file can't be read.
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
    let (robot, found) = super::described_alone(job, &files, context).map_err(fail)?;
    let found = found.into_iter().filter(is_of_xrdf).collect();
    Ok((robot.name().to_owned(), found))
}

/// Reads the robot of a job and makes an XRDF for it.
///
/// # Errors
/// If the robot can't be read, has nothing to fit spheres to, or lacks what an option names.
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
    let (mut robot, mut diagnostics) = described(job, context, files, store, Meshes::Loaded)?;
    match plan(&mut robot, options, context, &mut diagnostics) {
        Ok(links) => {
            let planning = robot.planning();
            Ok(Written {
                text: xrdf::write(&robot, ASSUMED_LIMITS),
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

/// Gives the robot what an XRDF needs: see [`Options`]. The context hears how far that is.
///
/// # Errors
/// If an option names what the robot does not have, there is nothing to fit spheres to, or a mesh
/// is no longer in the cache.
fn plan(
    robot: &mut Robot,
    options: &Options,
    context: &Context,
    found: &mut Vec<Diagnostic>,
) -> Result<Vec<FittedLink>, Stop> {
    let place = robot.place.clone();
    default_pose(robot, options)?;
    let mut planning = Planning {
        coordinates: coordinates(robot, options)?,
        ..robot.planning().clone()
    };
    let missing = planning
        .coordinates
        .iter()
        .filter(|c| c.acceleration.is_none() || c.jerk.is_none())
        .count();
    if missing > 0 {
        let message = format!(
            "{missing} joints have no limits of acceleration or jerk; 12 rad/s² and 500 rad/s³ are assumed"
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
        (planning.collision, planning.self_collision) = (None, None);
    }
    if !keeps || planning.self_collision.is_none() {
        let known = |collision: &Option<PlanningCollision>| match collision {
            // What held for other spheres says nothing of these.
            Some(collision) if keeps => collision.clone(),
            _ => PlanningCollision {
                group: 0,
                buffers: Vec::new(),
            },
        };
        (planning.collision, planning.self_collision) = (
            Some(known(&planning.collision)),
            Some(known(&planning.self_collision)),
        );
        context.begin_step(Step::Touch);
        planning.ignored = ignored(robot, &planning, options.samples, found);
    }
    robot
        .set_planning(planning)
        .map_err(|error| option(robot, &codes::INTERNAL, error.to_string()).help(REPORT_IT))?;
    Ok(links)
}

/// Makes the pose that the options name, or one that is usually meant, the default.
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
            Some(pose.ok_or_else(|| {
                unknown(
                    robot,
                    "pose",
                    name,
                    names,
                    "give the robot's SRDF with --srdf",
                )
            })?)
        }
        None if robot.default_pose().is_some() => return Ok(()),
        None => OTHER_DEFAULTS.into_iter().find_map(named),
    };
    let Some(pose) = pose.cloned() else {
        return Ok(());
    };
    // An XRDF has positions of joints that have one each.
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
        place: pose.place,
    });
    robot
        .set_named_poses(poses)
        .map_err(|error| option(robot, &codes::INTERNAL, error.to_string()).help(REPORT_IT))
}

/// What is wrong with an option that names something.
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

/// The configuration space.
fn coordinates(robot: &Robot, options: &Options) -> Result<Vec<Coordinate>, Diagnostic> {
    let joint = |name: &String| {
        let names = robot.joints().values().map(Joint::name);
        let id = robot
            .joint_named(name)
            .ok_or_else(|| unknown(robot, "joint", name, names, "name a joint of the robot"))?;
        if !is_own(robot, id) {
            let message = format!("the joint \"{name}\" has not one position of its own");
            return Err(option(robot, &codes::XRDF_OPTION, message)
                .help("name joints that turn or slide and follow no other"));
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
                .filter(|&id| is_own(robot, id))
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
        // Those that name a joint count more, whatever their order.
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

/// Returns whether a joint has one position, which it does not owe to another joint.
fn is_own(robot: &Robot, joint: JointId) -> bool {
    let joint = &robot.joints()[joint];
    position_count(joint.kind()) == 1 && joint.mimic().is_none()
}

/// The tool frames: those of the options, of the robot, or the frame that most joints are above.
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
        let message = format!("nothing says which frame the tool is; \"{name}\" is taken");
        found.push(
            option(robot, &codes::XRDF_ASSUMED_TOOL, message)
                .help("give --tool-frame, or the robot's SRDF with --srdf"),
        );
        frames.push(frame);
    }
    Ok(frames)
}

/// The frame that most moving joints are above, the last of those that are rigid to each other.
fn tip(robot: &Robot) -> Option<LinkId> {
    // How many joints that move are above each link, and how many that don't below the last of
    // them.
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
    // A gripper's fingers hang on the hand, which is what is moved to a place: of several branches
    // that end equally far the first counts.
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

/// Spheres that were fitted to links.
struct Fit {
    links: Vec<FittedLink>,
    /// The spheres of all links, with the robot's name.
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
    let tell = |name: &str| {
        context.tell(Progress {
            step: Step::Cover,
            name,
            done: done.load(Ordering::Relaxed),
            all,
        })
    };
    let work = |&link: &LinkId| {
        let link = &robot.links()[link];
        tell(link.name());
        let fitted = fitted(robot, &link.collisions, wanted);
        done.fetch_add(1, Ordering::Relaxed);
        tell(link.name());
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
            // Nothing of its shapes could be read, which was said.
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
    if group.spheres.is_empty()
        && found
            .iter()
            .all(|found| found.code != codes::SPHERES_TOO_FINE.id)
    {
        let message = "no link of the robot has collision geometry that spheres could be fitted to"
            .to_owned();
        let is_missing = |shape: &Shape| matches!(shape.geometry, Geometry::Missing { .. });
        let help = if robot
            .links()
            .values()
            .flat_map(|link| &link.collisions)
            .any(is_missing)
        {
            "its collision meshes could not be read: see the errors about them"
        } else {
            "add collision elements to the description"
        };
        return Err(option(robot, &codes::SPHERES_NONE, message)
            .help(help)
            .into());
    }
    Ok(Fit { links: fits, group })
}

/// Spheres of a link.
struct Fitted {
    spheres: Vec<Sphere>,
    error: f64,
}

/// Spheres that cover shapes. `None` if they would be too many.
fn fitted(robot: &Robot, shapes: &[Shape], wanted: Wanted) -> Result<Option<Fitted>, CacheEvicted> {
    let mut spheres: Vec<Sphere> = Vec::new();
    let mut triangles: Vec<spheres::Triangle> = Vec::new();
    // How far what stands for cylinders is outside of them.
    let mut slack = 0.0_f64;
    for shape in shapes {
        let mut add = |corners: [Vector3<f64>; 3]| {
            triangles
                .push(corners.map(|corner| (shape.origin * Point3::from(corner)).coords.into()));
        };
        match &shape.geometry {
            // A ball is what it is.
            Geometry::Sphere { radius } if *radius > 0.0 => {
                let center = Point3::from(shape.origin.translation.vector);
                spheres.push(rounded(center.coords.into(), *radius));
            }
            Geometry::Mesh { mesh, scale } => {
                let mesh = robot.meshes()[*mesh].mesh.arrays()?;
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
                boxed(size / 2.0, &mut add);
            }
            Geometry::Cylinder { radius, length } => {
                let outer = radius / (std::f64::consts::PI / SIDES as f64).cos();
                slack = slack.max(outer - radius);
                revolved(
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
                // The prism around the ball, and the lines around the arc.
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
                revolved(&profile, SIDES, &mut add);
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
    // The centre moves, the radius grows by as much, and is rounded up.
    let rounding = 3.0 / PER_METRE;
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
            .map(|(center, radius)| rounded(center, radius)),
    );
    Ok(Some(Fitted {
        spheres,
        error: fit.error + slack + rounding,
    }))
}

/// A sphere with few decimals that has the one of this centre and radius in it.
fn rounded(center: [f64; 3], radius: f64) -> Sphere {
    // By division, so that the nearest number to the decimals comes out.
    let near = center.map(|at| (at * PER_METRE).round() / PER_METRE + 0.0);
    let moved = (Point3::from(near) - Point3::from(center)).norm();
    Sphere {
        center: Point3::from(near),
        radius: ((radius + moved) * PER_METRE - NOISE).ceil() / PER_METRE,
    }
}

/// The triangles of a box.
fn boxed(half: Vector3<f64>, add: &mut impl FnMut([Vector3<f64>; 3])) {
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

/// The triangles of a line (radius and height, from bottom to top) that goes around z.
fn revolved(profile: &[(f64, f64)], sides: usize, add: &mut impl FnMut([Vector3<f64>; 3])) {
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

/// The pairs of links whose spheres need not be held off each other: neighbours, those that are
/// rigid to each other, and those that touch never or always.
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
    let known = ignored.clone();
    let name = |link: LinkId| robot.links()[link].name();
    let poses = model.poses(&robot.positions(&model, robot.default_pose()));
    for touch in touches(&spheres, &poses, &known) {
        let (first, second, depth) = (name(touch.first), name(touch.second), touch.depth * 1000.0);
        let message = format!(
            "at the default positions spheres of \"{first}\" and \"{second}\" are {depth:.1} mm in each other, so the pair is not checked for collision"
        );
        let help =
            "choose another default pose (--pose), or fit spheres that stand out less (--error)";
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
    /// The indices of their spheres among those of all links.
    spheres: (usize, usize),
    /// Whether they touched in the configurations so far.
    touch: Option<bool>,
}

/// The pairs of links, but for `known` ones, whose spheres touch in all of so many configurations,
/// or in none.
fn touching_alike(
    robot: &Robot,
    model: &Model,
    spheres: &[(LinkId, Vec<Sphere>)],
    samples: usize,
    known: &LinkPairs,
) -> Vec<(LinkId, LinkId)> {
    /// How many configurations are looked at before pairs that were seen both ways are left out:
    /// nearly all of those that can be.
    const AT_ONCE: usize = 64;
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
    for start in (0..samples).step_by(AT_ONCE) {
        let placed: Vec<Vec<PlacedSpheres>> = (start..samples.min(start + AT_ONCE))
            .into_par_iter()
            .map(|sample| {
                let poses = model.poses(&configuration(robot, model, sample as u64));
                spheres
                    .iter()
                    .filter_map(|(link, spheres)| {
                        Some(PlacedSpheres::new(spheres, poses.get(link.index())?))
                    })
                    .collect()
            })
            .collect();
        open = open
            .into_par_iter()
            .filter_map(|pair| {
                let mut touch = pair.touch;
                let (one, other) = pair.spheres;
                for placed in &placed {
                    let now = placed.get(one)?.touch(placed.get(other)?);
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

/// Pairs of links with spheres that are rigid to each other, or neighbours: no link with spheres is
/// between them in the tree.
fn neighbours(robot: &Robot, links: &BTreeSet<LinkId>) -> LinkPairs {
    let tree = robot.tree();
    let joint = |link: LinkId| tree.parent_joint(link).map(|joint| &robot.joints()[joint]);
    // The first link of all that are rigid to each other.
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

/// A configuration that looks random: for the same number always the same.
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
/// The sentence to show.
pub fn save(written: &Written, path: &Path) -> Result<(), String> {
    std::fs::write(path, &written.text)
        .map_err(|error| format!("cannot write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests;
