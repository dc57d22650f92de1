//! Drives of joints (PhysicsDriveAPI): the gains with which a joint follows its command.
//!
//! Gains of the source are written as they are. A URDF gives the effort limit of a joint but not its
//! stiffness: gains are then computed from the inertia that the joint carries, so that every joint,
//! of a finger or of a shoulder, responds alike: as a critically damped oscillator of [`FREQUENCY`].

use nalgebra::{Matrix3, Point3, Vector3};

use super::Scene;
use super::physics::mass_of;
use urdf_usd_robot::{ArenaMap, Command, Drive, Gains, JointId, JointKind, Link, Mass, Pose};
use urdf_usd_usd_author::numbers::degrees;
use urdf_usd_usd_author::{Attribute, Prim};

/// Natural frequency, Hz. Ten times the bandwidth of an arm's controller, and low enough for
/// simulations with 100 or more steps per second to integrate.
const FREQUENCY: f64 = 10.0;

/// Maximum number of carried links that are summed one by one. Beyond that, precomputed sums are
/// used: in a long chain each joint carries nearly all links.
const MAX_ONE_BY_ONE: usize = 256;

/// Authors the drive of a joint on its prim: `angular` or `linear`, in USD's units (per degree).
pub(super) fn author(
    scene: &Scene<'_>,
    carried: &Carried,
    prim: &mut Prim<'_>,
    id: JointId,
    drive: &Drive,
) {
    let joint = &scene.robot.joints()[id];
    let (instance, is_angular) = match joint.kind() {
        JointKind::Revolute | JointKind::Continuous => ("angular", true),
        JointKind::Prismatic => ("linear", false),
        _ => return,
    };
    let per_unit = |gain: f64| if is_angular { gain.to_radians() } else { gain };
    let position = |target: f64| {
        if is_angular {
            degrees(target)
        } else {
            target as f32
        }
    };
    let gains = drive
        .gains
        .unwrap_or_else(|| computed(scene, carried, id, drive));
    prim.apply([format!("PhysicsDriveAPI:{instance}").as_str()]);
    let mut set = |name: &str, value: Attribute| {
        prim.attribute(&format!("drive:{instance}:physics:{name}"), value);
    };
    let kind = if gains.is_acceleration {
        "acceleration"
    } else {
        "force"
    };
    set("type", Attribute::token(kind).uniform());
    for (name, gain) in [("stiffness", gains.stiffness), ("damping", gains.damping)] {
        set(name, Attribute::float(per_unit(gain) as f32));
    }
    if let Some(force) = gains.max_force {
        set("maxForce", Attribute::float(force as f32));
    }
    for (name, target) in [
        ("targetPosition", gains.target_position),
        ("targetVelocity", gains.target_velocity),
    ] {
        if let Some(target) = target {
            set(name, Attribute::float(position(target)));
        }
    }
}

/// Returns gains for a drive whose source gives none.
fn computed(scene: &Scene<'_>, carried: &Carried, id: JointId, drive: &Drive) -> Gains {
    let frequency = std::f64::consts::TAU * FREQUENCY;
    let carried = carried.by(scene, id);
    // A mass m has the natural frequency ω and critical damping for k = m·ω² and d = 2·m·ω.
    let (stiffness, damping) = match drive.command {
        Command::Position => (carried * frequency * frequency, 2.0 * carried * frequency),
        Command::Velocity => (0.0, 2.0 * carried * frequency),
        Command::Effort => (0.0, 0.0),
    };
    let effort = scene.robot.joints()[id]
        .limit
        .and_then(|limit| limit.effort);
    Gains {
        stiffness,
        damping,
        target_position: drive.initial_position,
        // Many URDFs write an effort of 0 for "unknown".
        max_force: effort.filter(|&effort| effort > 0.0),
        ..Gains::default()
    }
}

/// The mass that each link carries, itself included.
pub(super) struct Carried {
    /// Mass properties of each link; `None` if it is not a body.
    masses: ArenaMap<Link, Option<Mass>>,
    /// Number of descendants of each link, itself included, without floating ones.
    count: ArenaMap<Link, usize>,
    /// Combined mass properties of each link and its descendants.
    whole: ArenaMap<Link, Whole>,
}

/// Combined mass properties of several bodies, relative to the default prim with all joints at
/// zero.
#[derive(Clone, Copy, Default)]
struct Whole {
    /// Total mass, kg.
    mass: f64,
    /// First moment of mass, kg·m.
    first: Vector3<f64>,
    /// Inertia about the origin, kg·m².
    inertia: Matrix3<f64>,
}

impl Whole {
    fn of(mass: &Mass, rest: &Pose) -> Self {
        let centre = (rest * Point3::from(mass.centre)).coords;
        let turn = (rest.rotation * mass.axes)
            .to_rotation_matrix()
            .into_inner();
        let own = turn * Matrix3::from_diagonal(&mass.moments) * turn.transpose();
        Self {
            mass: mass.mass,
            first: mass.mass * centre,
            inertia: mass.mass * spread(&centre, &centre) + own,
        }
    }

    fn add(&mut self, other: &Self) {
        self.mass += other.mass;
        self.first += other.first;
        self.inertia += other.inertia;
    }

    /// Returns the moment of inertia about the unit vector `axis` through `point` (parallel axis
    /// theorem).
    fn about(&self, axis: &Vector3<f64>, point: &Vector3<f64>) -> f64 {
        // Expands Σ m·spread(r − p, r − p): only the sums about the origin are stored.
        let between = spread(point, &self.first) + spread(&self.first, point);
        let inertia = self.inertia - between + self.mass * spread(point, point);
        axis.dot(&(inertia * axis))
    }
}

/// Returns (a · b) 1 − a bᵀ: for a = b, the inertia tensor of a unit mass at `a`.
fn spread(a: &Vector3<f64>, b: &Vector3<f64>) -> Matrix3<f64> {
    Matrix3::from_diagonal_element(a.dot(b)) - a * b.transpose()
}

impl Carried {
    pub(super) fn new(scene: &Scene<'_>) -> Self {
        let (robot, links) = (scene.robot, &scene.plan.links);
        let masses = ArenaMap::new(robot.links(), |link, _| mass_of(scene, link));
        let mut whole = ArenaMap::new(robot.links(), |link, _| {
            masses[link]
                .as_ref()
                .map(|mass| Whole::of(mass, &links[link].rest))
                .unwrap_or_default()
        });
        let mut count = ArenaMap::filled(robot.links(), 1);
        // Reverse tree order visits children first: a sum is complete when its parent adds it.
        for &link in robot.tree().order().iter().rev() {
            let joint = robot
                .tree()
                .parent_joint(link)
                .map(|joint| &robot.joints()[joint]);
            // Floating links are not carried.
            if let Some(joint) = joint.filter(|joint| joint.kind() != JointKind::Floating) {
                let (below, number) = (whole[link], count[link]);
                whole[joint.parent()].add(&below);
                count[joint.parent()] += number;
            }
        }
        Self {
            masses,
            count,
            whole,
        }
    }

    /// Returns the effective inertia of a joint: kg·m² about its axis, or kg along it, with all
    /// joints at zero.
    fn by(&self, scene: &Scene<'_>, id: JointId) -> f64 {
        let (robot, plan) = (scene.robot, &scene.plan);
        let joint = &robot.joints()[id];
        let frame = plan.links[joint.child()].rest;
        let axis = frame.rotation * joint.axis.into_inner();
        if self.count[joint.child()] > MAX_ONE_BY_ONE {
            let whole = &self.whole[joint.child()];
            return match joint.kind() {
                JointKind::Prismatic => whole.mass,
                // Differences of large sums may round to less than zero.
                _ => whole.about(&axis, &frame.translation.vector).max(0.0),
            };
        }
        let mut carried = 0.0;
        let mut stack = vec![joint.child()];
        while let Some(link) = stack.pop() {
            let below = robot
                .tree()
                .child_joints(link)
                .iter()
                .map(|&joint| &robot.joints()[joint]);
            stack.extend(
                below
                    .filter(|joint| joint.kind() != JointKind::Floating)
                    .map(|joint| joint.child()),
            );
            let Some(mass) = &self.masses[link] else {
                continue;
            };
            carried += match joint.kind() {
                JointKind::Prismatic => mass.mass,
                _ => {
                    let rest = &plan.links[link].rest;
                    let arm =
                        rest * Point3::from(mass.centre) - Point3::from(frame.translation.vector);
                    let own = (rest.rotation * mass.axes).inverse() * axis;
                    mass.mass * arm.cross(&axis).norm_squared()
                        + own.component_mul(&own).dot(&mass.moments)
                }
            };
        }
        carried
    }
}

#[cfg(test)]
mod tests {
    use nalgebra::UnitQuaternion;

    use super::*;

    #[test]
    fn many_bodies_as_one_turn_as_they_do_one_by_one() {
        let mass = |k: f64| Mass {
            mass: 1.0 + k,
            centre: Vector3::new(k, -0.5 * k, 0.3),
            moments: Vector3::new(0.2, 0.3, 0.4 + 0.01 * k),
            axes: UnitQuaternion::from_euler_angles(k, 0.2, -k),
            repaired: false,
        };
        let rest = |k: f64| {
            Pose::from_parts(
                [k, 1.0, -2.0 * k].into(),
                UnitQuaternion::from_euler_angles(0.3, k, 0.1),
            )
        };
        let (axis, point) = (
            Vector3::new(1.0, 2.0, -0.5).normalize(),
            Vector3::new(0.7, -3.0, 1.5),
        );
        let (mut whole, mut alone) = (Whole::default(), 0.0);
        for k in 0..20 {
            let (mass, rest) = (mass(f64::from(k)), rest(f64::from(k)));
            whole.add(&Whole::of(&mass, &rest));
            let arm = (rest * Point3::from(mass.centre)).coords - point;
            let own = (rest.rotation * mass.axes).inverse() * axis;
            alone += mass.mass * arm.cross(&axis).norm_squared()
                + own.component_mul(&own).dot(&mass.moments);
        }
        let as_one = whole.about(&axis, &point);
        assert!((as_one - alone).abs() < 1e-9 * alone, "{as_one} {alone}");
    }
}
