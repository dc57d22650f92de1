//! Places sensors, assigns their interfaces to prims (REP-158 §2.2, §2.7, §2.8), and authors their
//! prims in `base.usda`.
//!
//! A sensor is an Xform or a Camera in the link whose frame its messages use. `ros` authors the
//! schemas on the prims that are planned here. This module is independent of the contents of
//! topics.

use std::collections::{BTreeMap, HashMap, HashSet};

use nalgebra::{Quaternion, Unit, UnitQuaternion};

use super::Scene;
use super::plan::{LINK_SCOPES, Plan, ROOT_SCOPES};
use super::ros::ros_name;
use urdf_usd_robot::{
    ArenaMap, Camera, GLOBAL_FRAMES, LinkId, Pose, Robot, Role, Sensor, SensorKind, names,
};
use urdf_usd_usd_author::numbers::place;
use urdf_usd_usd_author::{Attribute, Layer, Prim};

/// Width of a camera's aperture in tenths of a scene unit: USD's fallback. Only its ratio to the
/// focal length is visible.
const HORIZONTAL_APERTURE: f64 = 20.955;

/// Tolerance, in metres and radians, within which two frames coincide.
const SAME_PLACE: f64 = 1e-6;

/// The prims of a sensor.
#[derive(Clone, Debug)]
pub(super) struct SensorPlan {
    /// The prims that belong to this sensor alone, parents first.
    pub prims: Vec<SensorPrim>,
    /// The prim that bears each of [`Sensor::interfaces`], one of `prims` or a frame; `None` for
    /// interfaces that are prohibited in an asset.
    pub interfaces: Vec<Option<String>>,
}

/// A prim of a sensor.
#[derive(Clone, Debug)]
pub(super) struct SensorPrim {
    pub path: String,
    /// The original name, if USD cannot represent it or a sibling has it. For a frame, the name of
    /// the TF frame.
    pub display_name: Option<String>,
    pub kind: SensorPrimKind,
}

/// The kind of a sensor's prim.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum SensorPrimKind {
    /// A Camera, with its pose relative to its parent prim.
    Camera(Camera, Pose),
    /// An Xform at the sensor, with its pose relative to its parent prim.
    Place(Pose),
    /// The optical frame of its parent camera.
    OpticalFrame,
    /// The frame of a sensor that is not a camera, with its pose relative to its parent prim.
    Frame(Pose),
    /// An Xform in an optical frame that only bears an interface.
    Interface,
}

/// A requested prim of a sensor below a link's prim, before it is named.
struct Wish {
    sensor: usize,
    /// Index of the sensor's interface that it will bear.
    interface: Option<usize>,
    name: String,
    kind: SensorPrimKind,
    /// The link that will be nested in it: the camera's optical frame.
    optical: Option<LinkId>,
}

/// A requested prim with its assigned name.
type Granted = (Wish, String);

/// Plans the prims of a robot's sensors. `plan` has everything but the sensors; links that are
/// optical frames of cameras are moved below them.
pub(super) fn plan(robot: &Robot, plan: &mut Plan) -> Vec<SensorPlan> {
    let optical_frames = optical_frame_names(robot, plan);
    let mut planner = Planner {
        robot,
        plan,
        taken: robot
            .links()
            .values()
            .map(|link| link.name().to_owned())
            .chain(optical_frames.values().cloned())
            .collect(),
        optical_frames,
        cameras: cameras_with_links(robot, plan),
        counts: interface_counts(robot),
        wishes: BTreeMap::new(),
        sensors: robot
            .sensors()
            .iter()
            .map(|sensor| SensorPlan {
                prims: Vec::new(),
                interfaces: vec![None; sensor.interfaces.len()],
            })
            .collect(),
    };
    for (index, sensor) in robot.sensors().iter().enumerate() {
        match sensor.kind {
            SensorKind::Camera(camera) => planner.camera(index, sensor, camera),
            _ => planner.other(index, sensor),
        }
    }
    let granted = planner.name();
    let mut sensors = std::mem::take(&mut planner.sensors);
    let optical_frames = std::mem::take(&mut planner.optical_frames);
    move_optical_frames(plan, &mut sensors, &granted);
    place_prims(robot, plan, &optical_frames, granted, &mut sensors);
    sensors
}

/// Returns, by sensor, the links that are optical frames of cameras and can be nested in them:
/// frames rigidly attached to the camera's link. If several cameras share a link, the first gets
/// it. Links already nested in another camera are excluded: otherwise paths could grow without
/// bound.
fn cameras_with_links(robot: &Robot, plan: &Plan) -> HashMap<usize, LinkId> {
    let mut wanted: HashMap<LinkId, usize> = HashMap::new();
    for (index, sensor) in robot.sensors().iter().enumerate() {
        let Some(frame) = sensor
            .frame
            .filter(|_| matches!(sensor.kind, SensorKind::Camera(_)))
        else {
            continue;
        };
        let (link, on) = (&plan.links[frame], &plan.links[sensor.link]);
        if link.role == Role::Frame && link.body == on.body && holder(robot, plan, frame).is_some()
        {
            wanted.entry(frame).or_insert(index);
        }
    }
    let mut is_in_camera = ArenaMap::filled(robot.links(), false);
    let mut cameras = HashMap::new();
    for &link in robot.tree().order() {
        // Tree order visits parents first, so `is_in_camera` of the parent is final.
        let is_below = plan.links[link]
            .holder
            .is_some_and(|holder| is_in_camera[holder]);
        let camera = wanted.get(&link).filter(|_| !is_below);
        is_in_camera[link] = is_below || camera.is_some();
        cameras.extend(camera.map(|&camera| (camera, link)));
    }
    cameras
}

/// Returns the parent link of the prim of `link`, which may be the world.
fn holder(robot: &Robot, plan: &Plan, link: LinkId) -> Option<LinkId> {
    plan.links[link]
        .holder
        .or_else(|| robot.world_root().filter(|&world| world != link))
}

/// Moves the links that are optical frames, with their descendants, into the prims of their cameras
/// (§2.8). Their poses in the world don't change.
fn move_optical_frames(
    plan: &mut Plan,
    sensors: &mut [SensorPlan],
    granted: &BTreeMap<LinkId, Vec<Granted>>,
) {
    let mut cameras: HashMap<String, String> = HashMap::new();
    for (wish, identifier) in granted.values().flatten() {
        let (Some(frame), SensorPrimKind::Camera(_, pose)) = (wish.optical, wish.kind) else {
            continue;
        };
        let frame = &mut plan.links[frame];
        let turned = pose.inverse() * frame.local;
        // Within tolerance, author the exact half turn instead of a rounded product.
        frame.local = if is_same(&turned, &half_turn()) {
            half_turn()
        } else {
            turned
        };
        cameras.insert(frame.path.clone(), identifier.clone());
    }
    if cameras.is_empty() {
        return;
    }
    let links = plan.links.values_mut().map(|link| &mut link.path);
    let joints = plan
        .joints
        .values_mut()
        .flatten()
        .map(|joint| &mut joint.path);
    let added = plan.world_joints.iter_mut().map(|(path, _)| path);
    let interfaces = sensors
        .iter_mut()
        .flat_map(|sensor| &mut sensor.interfaces)
        .flatten();
    for path in links
        .chain(joints)
        .chain(added)
        .chain(&mut plan.articulation_roots)
        .chain(interfaces)
    {
        *path = with_cameras(path, &cameras);
    }
}

/// Returns `path` with a camera's name inserted before each frame that moves into a camera.
/// `cameras`: by the frame's original path.
fn with_cameras(path: &str, cameras: &HashMap<String, String>) -> String {
    let ends = path
        .match_indices('/')
        .map(|(at, _)| at)
        .skip(1)
        .chain([path.len()]);
    let (mut moved, mut begin) = (String::with_capacity(path.len()), 0);
    for end in ends {
        if let Some(camera) = path.get(..end).and_then(|above| cameras.get(above)) {
            moved.push('/');
            moved.push_str(camera);
        }
        moved.push_str(path.get(begin..end).unwrap_or_default());
        begin = end;
    }
    moved
}

/// Plans the named prims and their contents. `plan` already has the optical frames in their
/// cameras.
fn place_prims(
    robot: &Robot,
    plan: &Plan,
    optical_frames: &HashMap<usize, String>,
    granted: BTreeMap<LinkId, Vec<Granted>>,
    sensors: &mut [SensorPlan],
) {
    for (holder, granted) in granted {
        for (wish, identifier) in granted {
            let path = format!("{}/{identifier}", plan.links[holder].path);
            let (Some(planned), Some(sensor)) = (
                sensors.get_mut(wish.sensor),
                robot.sensors().get(wish.sensor),
            ) else {
                continue;
            };
            if let Some(interface) = wish.interface {
                planned.bear(interface, path.clone());
            }
            planned.add(path.clone(), &wish.name, wish.kind);
            match (wish.kind, optical_frames.get(&wish.sensor)) {
                (SensorPrimKind::Camera(..), Some(id)) => {
                    planned.add_optical_frame(sensor, &path, id)
                }
                // The messages are in a frame elsewhere, which cameras may share.
                (SensorPrimKind::Camera(..), None) if wish.optical.is_none() => {
                    let name = ros_name(&format!("{}_optical_frame", sensor.name));
                    let identifier = names::identifiers(&[&name], "optical_frame", &[]).remove(0);
                    let kind = SensorPrimKind::Place(half_turn());
                    planned.add(format!("{path}/{identifier}"), &name, kind);
                }
                (SensorPrimKind::Frame(_), _) => planned.add_interfaces(sensor, &path),
                _ => {}
            }
        }
    }
}

impl SensorPlan {
    /// Adds the optical frame of a camera without a corresponding link, with the camera's
    /// interfaces.
    fn add_optical_frame(&mut self, sensor: &Sensor, camera: &str, id: &str) {
        let identifier = names::identifiers(&[id], "optical_frame", &[]).remove(0);
        let frame = format!("{camera}/{identifier}");
        self.add(frame.clone(), id, SensorPrimKind::OpticalFrame);
        self.add_interfaces_below(interface_names(sensor), &frame);
    }

    /// Adds the interfaces of a sensor in its own frame: a single one on the frame itself.
    fn add_interfaces(&mut self, sensor: &Sensor, frame: &str) {
        let named = interface_names(sensor);
        if let [(only, _)] = named[..] {
            self.bear(only, frame.to_owned());
        } else {
            self.add_interfaces_below(named, frame);
        }
    }

    /// Adds interfaces with their names as children of a frame.
    fn add_interfaces_below(&mut self, named: Vec<(usize, String)>, frame: &str) {
        let wanted: Vec<&str> = named.iter().map(|(_, name)| name.as_str()).collect();
        for ((interface, name), identifier) in
            named
                .iter()
                .zip(names::identifiers(&wanted, "interface", &[]))
        {
            let path = format!("{frame}/{identifier}");
            self.bear(*interface, path.clone());
            self.add(path, name, SensorPrimKind::Interface);
        }
    }

    /// Assigns an interface of the sensor to the prim at `path`.
    fn bear(&mut self, interface: usize, path: String) {
        if let Some(bearer) = self.interfaces.get_mut(interface) {
            *bearer = Some(path);
        }
    }

    fn add(&mut self, path: String, name: &str, kind: SensorPrimKind) {
        let display_name = (path.rsplit('/').next() != Some(name)).then(|| name.to_owned());
        self.prims.push(SensorPrim {
            path,
            display_name,
            kind,
        });
    }
}

struct Planner<'a> {
    robot: &'a Robot,
    plan: &'a Plan,
    /// The TF names of optical frames without a corresponding link, by sensor.
    optical_frames: HashMap<usize, String>,
    /// Frame names that are not available to sensors other than cameras.
    taken: HashSet<String>,
    /// The links nested in cameras as their optical frames, by sensor.
    cameras: HashMap<usize, LinkId>,
    /// The number of interfaces in each link's frame.
    counts: HashMap<LinkId, usize>,
    /// Requested prims by parent link.
    wishes: BTreeMap<LinkId, Vec<Wish>>,
    sensors: Vec<SensorPlan>,
}

impl Planner<'_> {
    /// Plans a camera. It is a sibling of the link that is its optical frame, which is nested in it
    /// (§2.8); without one it is in its own link. A body can't be nested in a camera: if the
    /// optical frame is a body, the camera is in that body. Topics always belong to the optical
    /// frame.
    fn camera(&mut self, index: usize, sensor: &Sensor, camera: Camera) {
        let optical = self.cameras.get(&index).copied();
        let in_body = sensor.frame.filter(|frame| {
            let is_body = self.plan.links[*frame].role == Role::Body;
            is_body && is_same(&(self.in_frame(sensor, *frame) * look()), &half_turn())
        });
        let beside = optical.and_then(|frame| Some((frame, holder(self.robot, self.plan, frame)?)));
        let (holder, pose) = match (beside, in_body) {
            (Some((frame, holder)), _) => {
                let pose = self.in_frame(sensor, holder) * look();
                let turned = self.plan.links[frame].local * half_turn();
                (
                    holder,
                    if is_same(&pose, &turned) {
                        turned
                    } else {
                        pose
                    },
                )
            }
            (None, Some(body)) => (body, half_turn()),
            (None, None) => (sensor.link, sensor.origin * look()),
        };
        let kind = SensorPrimKind::Camera(camera, pose);
        self.wishes.entry(holder).or_default().push(Wish {
            sensor: index,
            interface: None,
            name: sensor.name.clone(),
            kind,
            optical,
        });
        if let Some(frame) = sensor.frame {
            for (interface, name) in interface_names(sensor) {
                self.wish(
                    frame,
                    index,
                    Some(interface),
                    name,
                    SensorPrimKind::Interface,
                );
            }
        }
    }

    /// Plans a sensor that is not a camera. A frame itself bears the interface of a sensor at its
    /// origin if no other is in it (as in §2.8); otherwise each interface gets a child prim (§2.2).
    fn other(&mut self, index: usize, sensor: &Sensor) {
        let frame = sensor.frame.unwrap_or(sensor.link);
        let pose = self.in_frame(sensor, frame);
        if let (Some(id), [_, ..]) = (own_frame(sensor), &interface_names(sensor)[..])
            && !self.taken.contains(id)
        {
            self.wish(
                frame,
                index,
                None,
                id.to_owned(),
                SensorPrimKind::Frame(pose),
            );
            return;
        }
        // An interface is below its context, not on it (§2.1).
        let is_frame = self.plan.links[frame].role == Role::Frame
            && self.robot.links()[frame].context.is_none()
            && is_same(&pose, &Pose::identity());
        let mut name_of_sensor = Some(sensor.name.clone());
        for (interface, name) in interface_names(sensor) {
            let first = name_of_sensor.take();
            if is_frame && self.counts.get(&frame) == Some(&1) {
                if let Some(planned) = self.sensors.get_mut(index) {
                    planned.bear(interface, self.plan.links[frame].path.clone());
                }
            } else {
                self.wish(
                    frame,
                    index,
                    Some(interface),
                    first.unwrap_or(name),
                    SensorPrimKind::Place(pose),
                );
            }
        }
        if let Some(name) = name_of_sensor {
            self.wish(frame, index, None, name, SensorPrimKind::Place(pose));
        }
    }

    /// Returns the pose of the sensor relative to a link's frame, with all joints at zero.
    fn in_frame(&self, sensor: &Sensor, frame: LinkId) -> Pose {
        if frame == sensor.link {
            return sensor.origin;
        }
        let rest = |link: LinkId| self.plan.links[link].rest;
        rest(frame).inverse() * rest(sensor.link) * sensor.origin
    }

    fn wish(
        &mut self,
        holder: LinkId,
        sensor: usize,
        interface: Option<usize>,
        name: String,
        kind: SensorPrimKind,
    ) {
        self.wishes.entry(holder).or_default().push(Wish {
            sensor,
            interface,
            name,
            kind,
            optical: None,
        });
    }

    /// Names the requested prims, one pass per link, avoiding the existing children of the link's
    /// prim.
    fn name(&mut self) -> BTreeMap<LinkId, Vec<Granted>> {
        if self.wishes.is_empty() {
            return BTreeMap::new();
        }
        let taken = self.plan.children();
        let named = |(holder, wishes): (LinkId, Vec<Wish>)| {
            let wanted: Vec<&str> = wishes.iter().map(|wish| wish.name.as_str()).collect();
            let held = taken
                .get(&self.plan.links[holder].path)
                .into_iter()
                .flatten()
                .map(String::as_str);
            let reserved: Vec<&str> = LINK_SCOPES
                .into_iter()
                .chain(ROOT_SCOPES)
                .chain(held)
                .collect();
            let identifiers = names::identifiers(&wanted, "sensor", &reserved);
            (holder, wishes.into_iter().zip(identifiers).collect())
        };
        std::mem::take(&mut self.wishes)
            .into_iter()
            .map(named)
            .collect()
    }
}

/// Returns the number of interfaces in the frame of each link, without those in frames that only the
/// asset has.
fn interface_counts(robot: &Robot) -> HashMap<LinkId, usize> {
    let mut counts: HashMap<LinkId, usize> = HashMap::new();
    for sensor in robot.sensors() {
        let frame = match (sensor.frame, sensor.kind) {
            (None, SensorKind::Camera(_)) => continue,
            (frame, _) => frame.unwrap_or(sensor.link),
        };
        *counts.entry(frame).or_default() += interface_names(sensor).len();
    }
    counts
}

/// Returns TF names for optical frames without a corresponding link: valid in ROS and unique among
/// frames.
fn optical_frame_names(robot: &Robot, plan: &Plan) -> HashMap<usize, String> {
    let is_frameless =
        |sensor: &Sensor| matches!(sensor.kind, SensorKind::Camera(_)) && sensor.frame.is_none();
    let cameras: Vec<(usize, &Sensor)> = robot
        .sensors()
        .iter()
        .enumerate()
        .filter(|(_, sensor)| is_frameless(sensor))
        .collect();
    let mut wanted: Vec<String> = cameras
        .iter()
        .map(|(_, camera)| ros_name(&format!("{}_optical_frame", camera.name)))
        .collect();
    // If two cameras share a name, their links are added to both names, so that neither depends on
    // the order of the source.
    let mut count: HashMap<String, usize> = HashMap::new();
    for name in &wanted {
        *count.entry(name.clone()).or_default() += 1;
    }
    for (name, (_, camera)) in wanted.iter_mut().zip(&cameras) {
        if count.get(name).is_some_and(|&count| count > 1) {
            let link = robot.links()[camera.link].name();
            *name = ros_name(&format!("{link}_{name}"));
        }
    }
    let prims = plan
        .links
        .values()
        .filter_map(|link| link.path.rsplit('/').next());
    let taken: Vec<&str> = robot
        .links()
        .values()
        .map(|link| link.name())
        .chain(prims)
        .collect();
    let is_free = |name: &&str| !taken.contains(name);
    let given: Vec<Option<String>> = cameras
        .iter()
        .map(|(_, camera)| own_frame(camera).filter(is_free).map(str::to_owned))
        .collect();
    let taken: Vec<&str> = taken
        .iter()
        .copied()
        .chain(given.iter().flatten().map(String::as_str))
        .collect();
    let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
    let made = names::identifiers(&wanted, "optical_frame", &taken);
    let names = given
        .into_iter()
        .zip(made)
        .map(|(given, made)| given.unwrap_or(made));
    cameras
        .into_iter()
        .map(|(index, _)| index)
        .zip(names)
        .collect()
}

/// Returns the name of the sensor's own frame, if the source gives one.
fn own_frame(sensor: &Sensor) -> Option<&str> {
    sensor
        .frame_name
        .as_deref()
        .filter(|name| !GLOBAL_FRAMES.contains(name))
}

/// Returns the preferred names of a sensor's interface prims, by interface: the sensor's name with
/// the last part of the topic, or with the whole topic if that is needed to tell two apart. Omits
/// interfaces that are prohibited in an asset.
fn interface_names(sensor: &Sensor) -> Vec<(usize, String)> {
    let called = |topic: &str| {
        let has_prefix = topic
            .strip_prefix(&sensor.name)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('_'));
        if has_prefix {
            topic.to_owned()
        } else {
            format!("{}_{topic}", sensor.name)
        }
    };
    let allowed: Vec<(usize, &str, &str)> = sensor
        .interfaces
        .iter()
        .enumerate()
        .filter(|(_, interface)| !interface.is_prohibited())
        .map(|(index, interface)| {
            (
                index,
                interface.name.as_str(),
                interface.name.rsplit('/').next().unwrap_or_default(),
            )
        })
        .collect();
    allowed
        .iter()
        .map(|&(index, topic, leaf)| {
            let is_shared = allowed
                .iter()
                .filter(|(_, _, other)| *other == leaf)
                .count()
                > 1;
            let topic = topic.trim_start_matches('/').replace('/', "_");
            (index, called(if is_shared { &topic } else { leaf }))
        })
        .collect()
}

/// Returns the pose of USD's camera (along −z, y up) in a sensor's frame (along x, z up).
fn look() -> Pose {
    Pose::from_parts(
        [0.0; 3].into(),
        Unit::new_unchecked(Quaternion::new(0.5, 0.5, -0.5, -0.5)),
    )
}

/// Returns the rotation between USD's camera and an optical frame (along z, y down): half a turn
/// about x, its own inverse (§2.8).
fn half_turn() -> Pose {
    Pose::from_parts(
        [0.0; 3].into(),
        UnitQuaternion::new_unchecked(Quaternion::new(0.0, 1.0, 0.0, 0.0)),
    )
}

fn is_same(a: &Pose, b: &Pose) -> bool {
    (a.translation.vector - b.translation.vector).norm() <= SAME_PLACE
        && a.rotation.angle_to(&b.rotation) <= SAME_PLACE
}

/// Authors the Cameras and Xforms of sensors. Prims that only bear an interface belong to
/// `ros.usda`.
pub(super) fn author(scene: &Scene<'_>, layer: &mut Layer) {
    for planned in scene.plan.sensors.iter().flat_map(|sensor| &sensor.prims) {
        let (type_name, pose) = match planned.kind {
            SensorPrimKind::Camera(_, pose) => ("Camera", pose),
            SensorPrimKind::Place(pose) => ("Xform", pose),
            SensorPrimKind::OpticalFrame => ("Xform", half_turn()),
            SensorPrimKind::Frame(pose) => ("Xform", pose),
            SensorPrimKind::Interface => continue,
        };
        let mut prim = layer.def(&planned.path, type_name);
        if let SensorPrimKind::Camera(camera, _) = planned.kind {
            author_view(&mut prim, &camera);
        }
        if let Some(name) = &planned.display_name {
            prim.display_name(name);
        }
        place(&mut prim, &pose, None);
    }
}

/// Authors the camera's optics. Apertures are in tenths of the stage's unit, which only has a
/// visible effect in orthographic projection.
fn author_view(prim: &mut Prim<'_>, camera: &Camera) {
    let width = camera
        .parallel_width
        .map_or(HORIZONTAL_APERTURE, |width| width * 10.0);
    let vertical_aperture = width * f64::from(camera.height) / f64::from(camera.width);
    let projection = if camera.parallel_width.is_some() {
        "orthographic"
    } else {
        "perspective"
    };
    prim.attribute(
        "clippingRange",
        Attribute::float2([camera.near as f32, camera.far as f32]),
    )
    .attribute("horizontalAperture", Attribute::float(width as f32))
    .attribute("projection", Attribute::token(projection))
    .attribute(
        "verticalAperture",
        Attribute::float(vertical_aperture as f32),
    );
    if camera.parallel_width.is_none() {
        let focal_length = width / 2.0 / (camera.horizontal_fov / 2.0).tan();
        prim.attribute("focalLength", Attribute::float(focal_length as f32));
    }
}

#[cfg(test)]
mod tests;
