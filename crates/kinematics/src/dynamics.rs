//! Dynamics: centre of mass, inertia, gravity forces and inverse dynamics (recursive
//! Newton–Euler).
//!
//! Masses are those of the source: a link without mass properties has none. Forces are generalised
//! forces of the coordinates ([`Mechanism::coordinates`]): N·m for angles, N for distances; the
//! leader's coordinate bears the forces of its followers. Everything is in the frame of the root,
//! which is at rest; each tree has its own root.

#![allow(
    clippy::indexing_slicing,
    reason = "`Mechanism::of` makes all steps, each after the one that it hangs on, and `Data` has an entry for each"
)]

use nalgebra::Vector3;

use crate::mechanism::{Data, Lump, Mechanism, Step};

/// Gravitational acceleration in a root frame whose z axis points up, m/s².
pub const GRAVITY: Vector3<f64> = Vector3::new(0.0, 0.0, -9.81);

impl Mechanism {
    /// Returns the mass of all links, kg, and their centre of mass in the root's frame, metres; the
    /// centre is `None` without mass.
    pub fn centre_of_mass(&self, q: &[f64], data: &mut Data) -> (f64, Option<Vector3<f64>>) {
        self.forward(q, data);
        let (mut mass, mut moment) = (0.0, Vector3::zeros());
        for (lump, frame) in self.lumps.iter().zip(&data.frames) {
            mass += lump.mass;
            moment += frame.rotation * lump.moment + frame.translation * lump.mass;
        }
        (mass, (mass > 0.0).then(|| moment / mass))
    }

    /// Writes the diagonal of the mass matrix: the inertia that each coordinate moves, kg·m² for angles, kg
    /// for distances. Unlike [`Mechanism::batch_mass_matrices`], it needs no
    /// memory of quadratic size.
    pub fn effective_inertia(&self, q: &[f64], data: &mut Data, inertia: &mut [f64]) {
        inertia.fill(0.0);
        self.forward(q, data);
        self.compose(data);
        for (index, step) in self.steps.iter().enumerate() {
            let (angular, linear) = axis(step, data, index + 1);
            let (force, moment) = momentum(&data.lumps[index + 1], &angular, &linear);
            let mut sum = angular.dot(&moment) + linear.dot(&force);
            // Followers above this step move what it moves, too.
            let mut at = step.parent;
            while at > 0 && self.shared.get(step.coordinate) == Some(&true) {
                let other = &self.steps[at - 1];
                if other.coordinate == step.coordinate {
                    let (angular, linear) = axis(other, data, at);
                    sum += 2.0 * (angular.dot(&moment) + linear.dot(&force));
                }
                at = other.parent;
            }
            if let Some(inertia) = inertia.get_mut(step.coordinate) {
                *inertia += sum;
            }
        }
    }

    /// Writes the generalised forces that hold the robot still against `gravity` (m/s², in the
    /// root's axes; [`GRAVITY`]), N·m and N.
    pub fn gravity_forces(
        &self,
        q: &[f64],
        gravity: &Vector3<f64>,
        data: &mut Data,
        forces: &mut [f64],
    ) {
        forces.fill(0.0);
        self.forward(q, data);
        // As `compose`, without inertia, which has no weight.
        data.lumps.resize(self.lumps.len(), Lump::NONE);
        for ((lump, frame), out) in self.lumps.iter().zip(&data.frames).zip(&mut data.lumps) {
            out.mass = lump.mass;
            out.moment = frame.rotation * lump.moment + frame.translation * lump.mass;
        }
        for (index, step) in self.steps.iter().enumerate().rev() {
            let Lump { mass, moment, .. } = data.lumps[index + 1];
            let above = &mut data.lumps[step.parent];
            above.mass += mass;
            above.moment += moment;
        }
        for (index, step) in self.steps.iter().enumerate() {
            let (angular, linear) = axis(step, data, index + 1);
            let lump = &data.lumps[index + 1];
            if let Some(force) = forces.get_mut(step.coordinate) {
                *force -=
                    angular.dot(&lump.moment.cross(gravity)) + linear.dot(&(gravity * lump.mass));
            }
        }
    }

    /// Writes the generalised forces for the accelerations `qdd` (rad/s², m/s²) at the velocities
    /// `qd` (rad/s, m/s), against `gravity` (m/s², in the root's axes): inverse dynamics, N·m and
    /// N.
    pub fn forces(
        &self,
        q: &[f64],
        qd: &[f64],
        qdd: &[f64],
        gravity: &Vector3<f64>,
        data: &mut Data,
        forces: &mut [f64],
    ) {
        forces.fill(0.0);
        self.forward(q, data);
        let zero = Vector3::zeros();
        // Accelerating the root upwards is equivalent to gravity on every link.
        data.motions.resize(self.steps.len() + 1, [zero; 4]);
        data.motions[0] = [zero, zero, zero, -gravity];
        let rate =
            |step: &Step, of: &[f64]| step.factor * of.get(step.coordinate).copied().unwrap_or(0.0);
        for (index, step) in self.steps.iter().enumerate() {
            // Recursive Newton–Euler, outwards: a step's motion is its parent's and its own.
            let [spin, speed, spin_rate, speed_rate] = data.motions[step.parent];
            let (angular, linear) = unit_axis(step, data, index + 1);
            let (by, by_rate) = (rate(step, qd), rate(step, qdd));
            let (own_spin, own_speed) = (angular * by, linear * by);
            data.motions[index + 1] = [
                spin + own_spin,
                speed + own_speed,
                spin_rate + angular * by_rate + spin.cross(&own_spin),
                speed_rate + linear * by_rate + spin.cross(&own_speed) + speed.cross(&own_spin),
            ];
        }
        // The wrench on each step, from the last to the first: its own, and that of its children.
        for index in (0..=self.steps.len()).rev() {
            let lump = self.lumps[index].placed(&data.frames[index]);
            let [spin, speed, spin_rate, speed_rate] = data.motions[index];
            let (force, moment) = momentum(&lump, &spin_rate, &speed_rate);
            let (momentum, angular_momentum) = momentum(&lump, &spin, &speed);
            let (force, moment) = (
                force + spin.cross(&momentum),
                moment + spin.cross(&angular_momentum) + speed.cross(&momentum),
            );
            // Wrenches replace the motions, which are not needed any more.
            data.motions[index] = [moment, force, zero, zero];
        }
        for index in (1..=self.steps.len()).rev() {
            let step = &self.steps[index - 1];
            // Children come after their parents, so in reverse the wrenches of all descendants are
            // in.
            let [moment, force, ..] = data.motions[index];
            let (angular, linear) = axis(step, data, index);
            if let Some(out) = forces.get_mut(step.coordinate) {
                *out += angular.dot(&moment) + linear.dot(&force);
            }
            let above = &mut data.motions[step.parent];
            above[0] += moment;
            above[1] += force;
        }
    }

    /// Computes the composite mass of each step and its descendants, about the root's origin; after
    /// [`Mechanism::forward`].
    fn compose(&self, data: &mut Data) {
        data.lumps.resize(self.lumps.len(), Lump::NONE);
        for ((lump, frame), out) in self.lumps.iter().zip(&data.frames).zip(&mut data.lumps) {
            *out = lump.placed(frame);
        }
        for (index, step) in self.steps.iter().enumerate().rev() {
            let lump = data.lumps[index + 1];
            data.lumps[step.parent].add(&lump);
        }
    }
}

/// Returns the spatial velocity at the root's origin per unit of a step's motion: angular, then
/// linear.
#[inline]
fn unit_axis(step: &Step, data: &Data, at: usize) -> (Vector3<f64>, Vector3<f64>) {
    let frame = &data.frames[at];
    let z = frame.z();
    if step.is_turn {
        (z, frame.translation.cross(&z))
    } else {
        (Vector3::zeros(), z)
    }
}

/// Returns the same per unit of the coordinate.
#[inline]
fn axis(step: &Step, data: &Data, at: usize) -> (Vector3<f64>, Vector3<f64>) {
    let (angular, linear) = unit_axis(step, data, at);
    (angular * step.factor, linear * step.factor)
}

/// Returns the linear and angular momentum, about the root's origin, of a moving mass.
#[inline]
fn momentum(
    lump: &Lump,
    angular: &Vector3<f64>,
    linear: &Vector3<f64>,
) -> (Vector3<f64>, Vector3<f64>) {
    (
        linear * lump.mass - lump.moment.cross(angular),
        lump.inertia * angular + lump.moment.cross(linear),
    )
}
