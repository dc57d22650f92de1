//! A robot as joints of one degree of freedom each, on flat arrays.

#![allow(
    clippy::indexing_slicing,
    reason = "`Mechanism::of` makes all steps, each after the one that it hangs on, and `Data` has an entry for each"
)]

use nalgebra::Vector3;
use urdf_usd_geometry::Random;
use urdf_usd_robot::kinematics::{Model, planar_basis, position_count};
use urdf_usd_robot::{
    ArenaMap, Bounds, Inertial, Joint, JointId, JointKind, Link, LinkId, Pose, Robot, Tree,
};

use crate::Transform;

/// Range of an unlimited distance in either direction, metres.
const UNLIMITED_SLIDE: f64 = 1.0;

/// A coordinate: a position of a joint that follows no other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coordinate {
    /// The joint.
    pub joint: JointId,
    /// Index among the joint's positions: 0, except for planar and floating joints.
    pub index: usize,
    /// True for an angle in radians; otherwise it is a distance in metres.
    pub is_angle: bool,
    /// The range in which every joint that follows it is within its own limits too, if there is
    /// such a range.
    pub bounds: Bounds,
}

impl Coordinate {
    /// Returns a finite range for sampling: half a turn either way for unlimited angles, a metre
    /// for unlimited distances.
    pub fn range(&self) -> (f64, f64) {
        let reach = if self.is_angle {
            std::f64::consts::PI
        } else {
            UNLIMITED_SLIDE
        };
        match self.bounds.sides() {
            (Some(lower), Some(upper)) => (lower, upper),
            (Some(lower), None) => (lower, lower + 2.0 * reach),
            (None, Some(upper)) => (upper - 2.0 * reach, upper),
            (None, None) => (-reach, reach),
        }
    }
}

/// A rotation about, or a translation along, the z axis of the step's frame, by `factor ·
/// coordinate + offset`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// The parent: 0 is the root, `n` the step `n - 1`.
    pub(crate) parent: usize,
    /// Its frame in the parent's frame.
    pub(crate) origin: Transform,
    pub(crate) is_turn: bool,
    pub(crate) coordinate: usize,
    pub(crate) factor: f64,
    pub(crate) offset: f64,
}

impl Step {
    #[inline]
    pub(crate) fn value(&self, q: &[f64]) -> f64 {
        self.factor * q.get(self.coordinate).copied().unwrap_or(0.0) + self.offset
    }

    /// Returns the frame after the motion, given the frame before it.
    #[inline]
    pub(crate) fn moved(frame: &Transform, is_turn: bool, by: f64) -> Transform {
        if is_turn {
            frame.turned(by)
        } else {
            frame.slid(by)
        }
    }
}

/// The pose of a link in a step's frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seat {
    /// The step that it is rigidly connected to, as in [`Step::parent`].
    pub(crate) on: usize,
    pub(crate) pose: Transform,
}

/// The mass of all links on a step, in the step's frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lump {
    /// kg.
    pub(crate) mass: f64,
    /// Mass times centre, kg·m.
    pub(crate) moment: Vector3<f64>,
    /// About the frame's origin, kg·m².
    pub(crate) inertia: nalgebra::Matrix3<f64>,
}

impl Lump {
    pub(crate) const NONE: Self = Self {
        mass: 0.0,
        moment: Vector3::new(0.0, 0.0, 0.0),
        inertia: nalgebra::Matrix3::new(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    };

    fn of(inertial: &Inertial, link: &Transform) -> Self {
        let frame = link.then(&Transform::from(&inertial.origin));
        let inertia = frame.rotation * inertial.inertia * frame.rotation.transpose();
        let (mass, centre) = (inertial.mass, frame.translation);
        Self {
            mass,
            moment: centre * mass,
            inertia: inertia + shifted(mass, &centre),
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.mass += other.mass;
        self.moment += other.moment;
        self.inertia += other.inertia;
    }

    /// Returns the same mass in the frame in which this one's frame is `frame`.
    #[inline]
    pub(crate) fn placed(&self, frame: &Transform) -> Self {
        let (turn, at) = (&frame.rotation, &frame.translation);
        let moment = turn * self.moment;
        // Parallel axis theorem, in terms of the first moment: the centre of mass may be undefined.
        let cross = 2.0 * at.dot(&moment) * nalgebra::Matrix3::identity()
            - at * moment.transpose()
            - moment * at.transpose();
        Self {
            mass: self.mass,
            moment: moment + at * self.mass,
            inertia: turn * self.inertia * turn.transpose() + cross + shifted(self.mass, at),
        }
    }
}

/// Returns the inertia of a unit point mass at `at`.
#[inline]
fn shifted(mass: f64, at: &Vector3<f64>) -> nalgebra::Matrix3<f64> {
    (nalgebra::Matrix3::identity() * at.norm_squared() - at * at.transpose()) * mass
}

/// Buffers for the results of a [`Mechanism`], so that no configuration allocates.
#[derive(Clone, Debug)]
pub struct Data {
    /// The frame of the root, then of each step after its motion, in the root.
    pub(crate) frames: Vec<Transform>,
    /// The composite mass of each step and its descendants, in the root; the root's first.
    pub(crate) lumps: Vec<Lump>,
    /// Velocity and acceleration of each step in the root, angular and linear, for
    /// [`crate::dynamics`].
    pub(crate) motions: Vec<[Vector3<f64>; 4]>,
}

/// A robot's joints and links, prepared for kinematics and dynamics.
///
/// A configuration is described by **coordinates**: the positions of all joints that follow no
/// other, in radians or metres, in the robot's order ([`Mechanism::coordinates`]); a planar joint
/// has two, a floating one six (see [`position_count`]). The coordinates determine the positions of
/// joints that follow others (mimic). A joint that closes a loop moves nothing; it has coordinates
/// only if others follow it. Missing coordinates, at the end of a shorter array, count as zero.
///
/// All poses are in the frame of the tree's root link.
#[derive(Clone, Debug)]
pub struct Mechanism {
    pub(crate) steps: Vec<Step>,
    pub(crate) seats: ArenaMap<Link, Seat>,
    /// The mass on the root, then on each step, in its own frame.
    pub(crate) lumps: Vec<Lump>,
    coordinates: Vec<Coordinate>,
    /// For each coordinate, true if several steps have it.
    pub(crate) shared: Vec<bool>,
    /// For each joint its first coordinate, if it has its own.
    first: ArenaMap<Joint, Option<usize>>,
    /// The root of the tree that each link is in.
    pub(crate) roots: ArenaMap<Link, LinkId>,
    model: Model,
    pub(crate) joints: ArenaMap<Joint, JointAt>,
    /// For each joint, the one that it follows through the whole chain of mimics.
    pub(crate) followed: ArenaMap<Joint, Option<Followed>>,
    pub(crate) tree: Tree,
}

/// The joint that another one follows, by `factor · position + offset`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Followed {
    pub(crate) leader: JointId,
    factor: f64,
    offset: f64,
}

/// A joint between links.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JointAt {
    pub(crate) kind: JointKind,
    pub(crate) parent: LinkId,
    pub(crate) child: LinkId,
    pub(crate) origin: Pose,
    pub(crate) axis: nalgebra::Unit<Vector3<f64>>,
}

impl Mechanism {
    /// Creates the mechanism of a robot. Links without mass properties have no mass.
    pub fn of(robot: &Robot) -> Self {
        let model = Model::of(robot);
        let followed = ArenaMap::new(robot.joints(), |joint, _| {
            let (leader, factor, offset) = model.driver(joint.index())?;
            Some(Followed {
                leader: robot.joints().handle(leader)?,
                factor,
                offset,
            })
        });
        let (coordinates, first) = coordinates(robot, &followed);
        let mut steps: Vec<Step> = Vec::new();
        let root_seat = Seat {
            on: 0,
            pose: Transform::IDENTITY,
        };
        let mut seats = ArenaMap::filled(robot.links(), root_seat);
        let mut lumps = vec![Lump::NONE];
        let mut roots = ArenaMap::new(robot.links(), |link, _| link);
        let tree = robot.tree();
        for &link in tree.order() {
            if let Some(id) = tree.parent_joint(link) {
                let joint = &robot.joints()[id];
                let above = seats[joint.parent()];
                roots[link] = roots[joint.parent()];
                let mut seat = Seat {
                    on: above.on,
                    pose: above.pose.then(&Transform::from(&joint.origin)),
                };
                for (index, motion) in motions(joint.kind(), &joint.axis).into_iter().enumerate() {
                    let basis = Transform {
                        rotation: motion.axes,
                        translation: Vector3::zeros(),
                    };
                    // A follower's first position follows, its others are zero.
                    let (coordinate, factor, offset) = match followed[id] {
                        Some(by) if index == 0 => (first[by.leader], by.factor, by.offset),
                        Some(_) => (None, 0.0, 0.0),
                        None => (first[id].map(|first| first + index), 1.0, 0.0),
                    };
                    let is_turn = motion.is_turn;
                    let origin = seat.pose.then(&basis);
                    // Nothing moves this motion, so it is folded into the seat, as a fixed joint
                    // is.
                    let Some(coordinate) = coordinate.filter(|_| factor != 0.0) else {
                        seat.pose = Step::moved(&origin, is_turn, offset).then(&basis.inverse());
                        continue;
                    };
                    steps.push(Step {
                        parent: seat.on,
                        origin,
                        is_turn,
                        coordinate,
                        factor,
                        offset,
                    });
                    lumps.push(Lump::NONE);
                    seat = Seat {
                        on: steps.len(),
                        // Back from the axes of the motion to those of the joint.
                        pose: basis.inverse(),
                    };
                }
                seats[link] = seat;
            }
            if let Some(inertial) = &robot.links()[link].inertial {
                let seat = seats[link];
                lumps[seat.on].add(&Lump::of(inertial, &seat.pose));
            }
        }
        let (mut seen, mut shared) = (
            vec![false; coordinates.len()],
            vec![false; coordinates.len()],
        );
        for step in &steps {
            shared[step.coordinate] |= seen[step.coordinate];
            seen[step.coordinate] = true;
        }
        let joints = ArenaMap::new(robot.joints(), |_, joint| JointAt {
            kind: joint.kind(),
            parent: joint.parent(),
            child: joint.child(),
            origin: joint.origin,
            axis: joint.axis,
        });
        Self {
            steps,
            seats,
            lumps,
            coordinates,
            shared,
            first,
            roots,
            model,
            joints,
            followed,
            tree: tree.clone(),
        }
    }

    /// Returns the step at index `on` ([`Step::parent`]); `None` for the root.
    pub(crate) fn step(&self, on: usize) -> Option<&Step> {
        self.steps.get(on.checked_sub(1)?)
    }

    /// Returns the coordinates, in the order of the arrays that all functions take.
    pub fn coordinates(&self) -> &[Coordinate] {
        &self.coordinates
    }

    /// Returns the index of a joint's first coordinate; `None` if it has none: it is fixed, follows
    /// another or closes a loop.
    pub fn first(&self, joint: JointId) -> Option<usize> {
        self.first[joint]
    }

    /// Returns the root of the tree that a link is in.
    pub fn root(&self, link: LinkId) -> LinkId {
        self.roots[link]
    }

    /// Creates the buffers for computations.
    pub fn data(&self) -> Data {
        Data {
            frames: vec![Transform::IDENTITY; self.steps.len() + 1],
            lumps: self.lumps.clone(),
            motions: vec![[Vector3::zeros(); 4]; self.steps.len() + 1],
        }
    }

    /// Returns the coordinates at rest: zero, or the nearest value within bounds.
    pub fn rest(&self) -> Vec<f64> {
        self.coordinates
            .iter()
            .map(|coordinate| coordinate.bounds.nearest(0.0))
            .collect()
    }

    /// Computes the pose of each step for the coordinates `q`; `data` comes from
    /// [`Mechanism::data`].
    pub(crate) fn forward(&self, q: &[f64], data: &mut Data) {
        data.frames
            .resize(self.steps.len() + 1, Transform::IDENTITY);
        for (index, step) in self.steps.iter().enumerate() {
            let frame = data.frames[step.parent].then(&step.origin);
            data.frames[index + 1] = Step::moved(&frame, step.is_turn, step.value(q));
        }
    }

    /// Writes the pose of each link in its root, in the order of [`Robot::links`], and the
    /// positions of all joints, as [`Mechanism::positions`] does.
    pub fn poses(&self, q: &[f64], positions: &mut [f64], poses: &mut [Pose]) {
        self.positions(q, positions);
        self.model.forward(positions, poses);
    }

    /// Writes the positions of all joints, followers included, laid out as in [`Model`]. The
    /// positions of joints that close a loop and have no follower are left unchanged.
    pub fn positions(&self, q: &[f64], positions: &mut [f64]) {
        for (at, coordinate) in self.coordinates.iter().enumerate() {
            let place = self.model.range(coordinate.joint.index()).start + coordinate.index;
            if let Some(to) = positions.get_mut(place) {
                *to = q.get(at).copied().unwrap_or(0.0);
            }
        }
        self.model.follow(positions);
    }

    /// Writes the coordinates for the positions of all joints, laid out as in [`Model`]; the
    /// positions of followers are ignored.
    pub fn from_positions(&self, positions: &[f64], q: &mut [f64]) {
        for (coordinate, to) in self.coordinates.iter().zip(q) {
            let place = self.model.range(coordinate.joint.index()).start + coordinate.index;
            *to = positions.get(place).copied().unwrap_or(0.0);
        }
    }

    /// Writes a configuration within the [ranges](Coordinate::range) of the coordinates.
    pub fn random_configuration(&self, random: &mut Random, q: &mut [f64]) {
        for (coordinate, to) in self.coordinates.iter().zip(q) {
            let (lower, upper) = coordinate.range();
            *to = random.between(lower, upper);
        }
    }

    /// Returns the number of positions of all joints together, as [`Model::positions`] does.
    pub fn position_count(&self) -> usize {
        self.model.positions()
    }
}

/// Returns all coordinates, and for each joint the index of its first one, if it has any.
fn coordinates(
    robot: &Robot,
    followed: &ArenaMap<Joint, Option<Followed>>,
) -> (Vec<Coordinate>, ArenaMap<Joint, Option<usize>>) {
    let mut is_led = ArenaMap::filled(robot.joints(), false);
    for followed in followed.values().flatten() {
        is_led[followed.leader] = true;
    }
    let mut coordinates: Vec<Coordinate> = Vec::new();
    let mut first = ArenaMap::filled(robot.joints(), None);
    for (id, joint) in robot.joints().iter() {
        // A joint that closes a loop moves nothing, but its followers need its coordinate.
        if followed[id].is_some() || (joint.closes_loop() && !is_led[id]) {
            continue;
        }
        let count = position_count(joint.kind());
        first[id] = Some(coordinates.len()).filter(|_| count > 0);
        coordinates.extend((0..count).map(|index| Coordinate {
            joint: id,
            index,
            is_angle: is_angle(joint.kind(), index),
            bounds: joint.bounds(),
        }));
    }
    for (id, joint) in robot.joints().iter() {
        let Some(by) = followed[id] else {
            continue;
        };
        if let Some(led) = first[by.leader].and_then(|first| coordinates.get_mut(first)) {
            led.bounds = narrowed(led.bounds, joint.bounds(), by.factor, by.offset);
        }
    }
    (coordinates, first)
}

/// Returns whether a position of a joint is an angle.
fn is_angle(kind: JointKind, index: usize) -> bool {
    match kind {
        JointKind::Revolute | JointKind::Continuous => true,
        JointKind::Floating => index >= 3,
        JointKind::Fixed | JointKind::Prismatic | JointKind::Planar => false,
    }
}

/// A rotation about, or a translation along, one of the three axes.
struct AxisMotion {
    is_turn: bool,
    axes: nalgebra::Matrix3<f64>,
}

/// Returns the motions of a joint, in order.
fn motions(kind: JointKind, axis: &nalgebra::Unit<Vector3<f64>>) -> Vec<AxisMotion> {
    let motion = |is_turn: bool, z: &nalgebra::Unit<Vector3<f64>>| {
        // Any basis with this z will do: the motion is about or along z only.
        let (u, v) = planar_basis(z);
        let axes =
            nalgebra::Matrix3::from_columns(&[u.into_inner(), v.into_inner(), z.into_inner()]);
        AxisMotion { is_turn, axes }
    };
    let turn = |z: &nalgebra::Unit<Vector3<f64>>| motion(true, z);
    let slide = |z: &nalgebra::Unit<Vector3<f64>>| motion(false, z);
    let [x, y, z] = [Vector3::x_axis(), Vector3::y_axis(), Vector3::z_axis()];
    match kind {
        JointKind::Fixed => Vec::new(),
        JointKind::Revolute | JointKind::Continuous => vec![turn(axis)],
        JointKind::Prismatic => vec![slide(axis)],
        JointKind::Planar => {
            let (u, v) = planar_basis(axis);
            vec![slide(&u), slide(&v)]
        }
        // In the order of `moved`: translations, then turns about the moved axes.
        JointKind::Floating => {
            vec![
                slide(&x),
                slide(&y),
                slide(&z),
                turn(&x),
                turn(&y),
                turn(&z),
            ]
        }
    }
}

/// Restricts a leader's bounds to those for which the follower, at `factor · leader + offset`, is
/// within its own bounds. Returns the leader's bounds if no position is left.
fn narrowed(leader: Bounds, follower: Bounds, factor: f64, offset: f64) -> Bounds {
    if factor == 0.0 || !factor.is_finite() {
        return leader;
    }
    let (a, b) = (
        (follower.lower() - offset) / factor,
        (follower.upper() - offset) / factor,
    );
    // A negative factor swaps the follower's limits.
    let (lower, upper) = (leader.lower().max(a.min(b)), leader.upper().min(a.max(b)));
    if lower <= upper {
        Bounds::between(Some(lower), Some(upper))
    } else {
        leader
    }
}
