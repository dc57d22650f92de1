//! A robot for calculations: names, limits and masses, and batches of kinematics and dynamics.

use nalgebra::{Matrix3, Vector3};
use numpy::{PyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};
use std::sync::atomic::AtomicBool;
use urdf_usd_cli::api::{self, PlanningFiles};
use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_kinematics::{Chain, Mechanism, Reference, Transform, Twist, names};
use urdf_usd_robot as model;
use urdf_usd_robot::{LinkId, Pose};

use crate::arrays::calculate;
use crate::commands::{Input, PACKAGES, PLANNING};
use crate::failure::{found, refused};
use crate::ik::{self, Settings};
use crate::options;
use crate::work::run;

/// Number of elements of a pose: a homogeneous matrix.
pub const POSE: usize = 16;

/// A robot for calculations.
#[pyclass(frozen, module = "urdf_usd._native")]
pub struct Robot {
    pub(crate) robot: model::Robot,
    pub(crate) mechanism: Mechanism,
    found: Vec<Diagnostic>,
}

/// Writes a pose as a homogeneous matrix in row-major order.
fn write(pose: &Transform, matrix: &mut [f64]) {
    let (r, t) = (&pose.rotation, &pose.translation);
    #[rustfmt::skip]
    let rows = [
        r.m11, r.m12, r.m13, t.x,
        r.m21, r.m22, r.m23, t.y,
        r.m31, r.m32, r.m33, t.z,
        0.0, 0.0, 0.0, 1.0,
    ];
    matrix
        .iter_mut()
        .zip(rows)
        .for_each(|(to, from)| *to = from);
}

fn matrix(pose: &Pose) -> Vec<f64> {
    let mut numbers = vec![0.0; POSE];
    write(&Transform::from(pose), &mut numbers);
    numbers
}

/// Returns a number for JSON, which has none that is infinite.
fn finite(number: f64) -> Option<f64> {
    number.is_finite().then_some(number)
}

impl Robot {
    /// Returns the link with a name, or the root of the first tree.
    pub(crate) fn link(&self, name: Option<&str>) -> PyResult<LinkId> {
        let link = name.map_or_else(
            || names::base(&self.robot),
            |name| names::link(&self.robot, name),
        );
        link.map_err(|unknown| found(&[unknown]))
    }

    /// Returns the chain to a link.
    fn chain(&self, base: Option<&str>, link: &str) -> PyResult<Chain> {
        let (base, tip) = (self.link(base)?, self.link(Some(link))?);
        names::chain(&self.robot, &self.mechanism, base, tip).map_err(|error| found(&[error]))
    }

    fn coordinates(&self) -> usize {
        self.mechanism.coordinates().len()
    }

    fn joint(&self, joint: &model::Joint) -> Value {
        let name = |link: LinkId| self.robot.links()[link].name();
        let bounds = joint.bounds();
        let limit = joint.limit.as_ref();
        json!({
            "name": joint.name(), "kind": joint.kind().as_str(),
            "parent": name(joint.parent()), "child": name(joint.child()),
            "origin": matrix(&joint.origin), "axis": joint.axis.as_slice(),
            "lower": finite(bounds.lower()), "upper": finite(bounds.upper()),
            "effort": limit.and_then(|limit| limit.effort), "velocity": limit.and_then(|limit| limit.velocity),
            "damping": joint.dynamics.and_then(|dynamics| dynamics.damping),
            "friction": joint.dynamics.and_then(|dynamics| dynamics.friction),
            "closes_loop": joint.closes_loop(),
            "mimic": joint.mimic().map(|mimic| json!({
                "joint": self.robot.joints()[mimic.joint].name(), "multiplier": mimic.multiplier, "offset": mimic.offset,
            })),
        })
    }
}

#[pymethods]
impl Robot {
    /// Reads a robot.
    #[new]
    fn new(py: Python<'_>, input: Input<'_>, keywords: &Bound<'_, PyDict>) -> PyResult<Self> {
        let accepted = [&PACKAGES[..], &PLANNING].concat();
        let given = options::read(keywords, Some(&accepted))?.options;
        let read = input.read(&given.resolve)?;
        let files = PlanningFiles {
            srdf: given.srdf,
            xrdf: given.xrdf,
        };
        let loaded = run(py, &AtomicBool::new(false), None, |_| {
            let loaded = api::load_robot(read, &files, given.resolve);
            loaded.map(|(robot, found)| (Mechanism::of(&robot), robot, found))
        })?;
        let (mechanism, robot, found) = loaded.map_err(refused)?;
        Ok(Self {
            robot,
            mechanism,
            found,
        })
    }

    /// Returns the findings of reading it, as JSON.
    fn diagnostics(&self) -> String {
        serde_json::to_string(&self.found).unwrap_or_default()
    }

    /// Returns all that does not depend on a configuration, as JSON.
    fn description(&self) -> String {
        let robot = &self.robot;
        let joint_name = |joint| robot.joints()[joint].name();
        let link = |link: &model::Link| {
            let inertial = link.inertial.as_ref();
            let zero = (0.0, Vector3::zeros(), Matrix3::zeros());
            let (mass, centre, inertia) = inertial.map_or(zero, |inertial| {
                let turn = inertial.origin.rotation.to_rotation_matrix().into_inner();
                let inertia = turn * inertial.inertia * turn.transpose();
                (inertial.mass, inertial.origin.translation.vector, inertia)
            });
            json!({
                "name": link.name(), "mass": mass, "centre": centre.as_slice(),
                // Symmetric, so that the order of its elements does not matter.
                "inertia": inertia.as_slice(),
            })
        };
        let coordinates = self.mechanism.coordinates().iter().map(|coordinate| {
            let joint = &robot.joints()[coordinate.joint];
            let limit = joint.limit.as_ref();
            json!({
                "joint": joint.name(), "index": coordinate.index, "is_angle": coordinate.is_angle,
                "lower": finite(coordinate.bounds.lower()), "upper": finite(coordinate.bounds.upper()),
                "effort": limit.and_then(|limit| limit.effort), "velocity": limit.and_then(|limit| limit.velocity),
            })
        });
        let poses = robot.named_poses().iter().map(|pose| {
            let positions = pose.positions.iter();
            let positions: serde_json::Map<String, Value> = positions
                .map(|(joint, positions)| (joint_name(*joint).to_owned(), json!(positions)))
                .collect();
            json!({ "name": pose.name, "group": pose.group, "positions": positions })
        });
        let roots = robot.tree().roots().iter();
        json!({
            "name": robot.name(),
            "roots": roots.map(|root| robot.links()[*root].name()).collect::<Vec<_>>(),
            "links": robot.links().values().map(link).collect::<Vec<_>>(),
            "joints": robot.joints().values().map(|joint| self.joint(joint)).collect::<Vec<_>>(),
            "coordinates": coordinates.collect::<Vec<_>>(),
            "rest": self.mechanism.rest(),
            "poses": poses.collect::<Vec<_>>(),
        })
        .to_string()
    }

    /// Returns the pose of a link in another for each configuration, as homogeneous matrices.
    fn pose<'py>(
        &self,
        py: Python<'py>,
        q: PyReadonlyArray2<'py, f64>,
        link: &str,
        base: Option<&str>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let chain = self.chain(base, link)?;
        let scratch = || vec![0.0; chain.coordinates().len()];
        calculate(py, &q, self.coordinates(), POSE, scratch, |own, q, out| {
            chain.gather(q, own);
            write(&chain.forward(own), out);
        })
    }

    /// Returns the pose of each link in the root of its tree for each configuration.
    fn poses<'py>(
        &self,
        py: Python<'py>,
        q: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let links = self.robot.links().len();
        let scratch = || (self.mechanism.data(), vec![Transform::IDENTITY; links]);
        calculate(
            py,
            &q,
            self.coordinates(),
            links * POSE,
            scratch,
            |(data, poses), q, out| {
                self.mechanism.link_poses(q, data, poses);
                for (pose, out) in poses.iter().zip(out.chunks_exact_mut(POSE)) {
                    write(pose, out);
                }
            },
        )
    }

    /// Returns the Jacobian of a link in another for each configuration.
    fn jacobian<'py>(
        &self,
        py: Python<'py>,
        q: PyReadonlyArray2<'py, f64>,
        link: &str,
        base: Option<&str>,
        is_local: bool,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let chain = self.chain(base, link)?;
        let reference = match is_local {
            true => Reference::Tip,
            false => Reference::TipInBase,
        };
        let (own, all) = (chain.coordinates().len(), self.coordinates());
        let scratch = || (vec![0.0; own], vec![Twist::zeros(); own]);
        calculate(py, &q, all, 6 * all, scratch, |(own, columns), q, out| {
            chain.gather(q, own);
            chain.jacobian(own, reference, columns);
            for (column, at) in columns.iter().zip(chain.coordinates()) {
                let cells = out.iter_mut().skip(*at).step_by(all);
                cells.zip(column).for_each(|(to, from)| *to = *from);
            }
        })
    }

    /// Returns the mass matrix for each configuration.
    fn mass_matrix<'py>(
        &self,
        py: Python<'py>,
        q: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let all = self.coordinates();
        let scratch = || self.mechanism.data();
        calculate(py, &q, all, all * all, scratch, |data, q, out| {
            self.mechanism.mass_matrix(q, data, out);
        })
    }

    /// Returns the forces that hold the robot against gravity for each configuration.
    fn gravity<'py>(
        &self,
        py: Python<'py>,
        q: PyReadonlyArray2<'py, f64>,
        gravity: [f64; 3],
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (all, gravity) = (self.coordinates(), Vector3::from(gravity));
        let scratch = || self.mechanism.data();
        calculate(py, &q, all, all, scratch, |data, q, out| {
            self.mechanism.gravity_forces(q, &gravity, data, out);
        })
    }

    /// Returns the forces for each row of positions, velocities and accelerations.
    fn inverse_dynamics<'py>(
        &self,
        py: Python<'py>,
        rows: PyReadonlyArray2<'py, f64>,
        gravity: [f64; 3],
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (all, gravity) = (self.coordinates(), Vector3::from(gravity));
        let scratch = || self.mechanism.data();
        calculate(py, &rows, 3 * all, all, scratch, |data, row, out| {
            let (q, rates) = row.split_at_checked(all).unwrap_or_default();
            let (qd, qdd) = rates.split_at_checked(all).unwrap_or_default();
            self.mechanism.forces(q, qd, qdd, &gravity, data, out);
        })
    }

    /// Returns joint positions that bring a link to targets; see [`ik::solutions`].
    fn ik<'py>(
        &self,
        py: Python<'py>,
        rows: PyReadonlyArray2<'py, f64>,
        settings: Settings,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        ik::solutions(py, self, &rows, &settings)
    }

    /// Returns the positions of all joints for each configuration, followers included.
    fn positions<'py>(
        &self,
        py: Python<'py>,
        q: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let count = self.mechanism.position_count();
        calculate(
            py,
            &q,
            self.coordinates(),
            count,
            || (),
            |(), q, out| {
                self.mechanism.positions(q, out);
            },
        )
    }

    /// Returns the centre of mass of the robot for each configuration.
    fn centre_of_mass<'py>(
        &self,
        py: Python<'py>,
        q: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let scratch = || self.mechanism.data();
        calculate(py, &q, self.coordinates(), 3, scratch, |data, q, out| {
            let (_, centre) = self.mechanism.centre_of_mass(q, data);
            let centre = centre.unwrap_or_else(|| Vector3::repeat(f64::NAN));
            out.iter_mut()
                .zip(&centre)
                .for_each(|(to, from)| *to = *from);
        })
    }
}
