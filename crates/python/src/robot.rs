//! A robot for calculations: names, limits and masses, and batches of kinematics and dynamics.

use nalgebra::{Matrix3, Vector3};
use numpy::{PyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};
use std::sync::atomic::AtomicBool;
use urdf_usd_cli::api::{self, PlanningFiles};
use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_kinematics::{Chain, Mechanism, POSE, Reference, names};
use urdf_usd_robot as model;
use urdf_usd_robot::{LinkId, Pose};

use crate::arrays::{Parts, Results, by_row, calculate};
use crate::commands::{Input, PACKAGES, PLANNING};
use crate::failure::{found, refused};
use crate::ik::{self, Settings};
use crate::options;
use crate::work::run;

/// The caller's array for results.
type Out<'py> = Option<Bound<'py, PyArray1<f64>>>;

/// A robot for calculations.
#[pyclass(frozen, module = "urdf_usd._native")]
pub struct Robot {
    pub(crate) robot: model::Robot,
    pub(crate) mechanism: Mechanism,
    found: Vec<Diagnostic>,
}

/// Returns a pose as a homogeneous matrix in row-major order.
fn matrix(pose: &Pose) -> Vec<f64> {
    pose.to_homogeneous().transpose().as_slice().to_vec()
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

    /// Calculates `width` numbers for each configuration; `part` gets some of them.
    fn batch<'py>(
        &self,
        py: Python<'py>,
        q: &PyReadonlyArray2<'py, f64>,
        width: usize,
        out: Out<'py>,
        part: impl Fn(&[f64], &mut [f64]) + Sync,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let parts = Parts::of(q.shape().first().copied().unwrap_or(0), width);
        calculate(
            py,
            q,
            self.coordinates(),
            Results { width, out },
            parts,
            &AtomicBool::new(false),
            part,
        )
    }

    /// Calculates `width` numbers for each row of `columns` numbers, one row at a time.
    fn rows<'py, S>(
        &self,
        py: Python<'py>,
        rows: &PyReadonlyArray2<'py, f64>,
        columns: usize,
        width: usize,
        scratch: impl Fn() -> S + Sync,
        row: impl Fn(&mut S, &[f64], &mut [f64]) + Sync,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let parts = Parts::of(rows.shape().first().copied().unwrap_or(0), columns + width);
        let part = by_row(columns, width, scratch, row);
        let cancelled = AtomicBool::new(false);
        calculate(
            py,
            rows,
            columns,
            Results::new(width),
            parts,
            &cancelled,
            part,
        )
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
        out: Out<'py>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let chain = self.chain(base, link)?;
        let all = self.coordinates();
        self.batch(py, &q, POSE, out, |q, out| chain.batch_poses(all, q, out))
    }

    /// Returns the pose of each link in the root of its tree for each configuration.
    fn poses<'py>(
        &self,
        py: Python<'py>,
        q: PyReadonlyArray2<'py, f64>,
        out: Out<'py>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let width = self.robot.links().len() * POSE;
        self.batch(py, &q, width, out, |q, out| {
            self.mechanism.batch_poses(q, out);
        })
    }

    /// Returns the Jacobian of a link in another for each configuration.
    fn jacobian<'py>(
        &self,
        py: Python<'py>,
        q: PyReadonlyArray2<'py, f64>,
        link: &str,
        base: Option<&str>,
        is_local: bool,
        out: Out<'py>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let chain = self.chain(base, link)?;
        let reference = match is_local {
            true => Reference::Tip,
            false => Reference::TipInBase,
        };
        let all = self.coordinates();
        self.batch(py, &q, 6 * all, out, |q, out| {
            chain.batch_jacobians(all, q, reference, out);
        })
    }

    /// Returns the mass matrix for each configuration.
    fn mass_matrix<'py>(
        &self,
        py: Python<'py>,
        q: PyReadonlyArray2<'py, f64>,
        out: Out<'py>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let all = self.coordinates();
        self.batch(py, &q, all * all, out, |q, out| {
            self.mechanism.batch_mass_matrices(q, out);
        })
    }

    /// Returns the forces that hold the robot against gravity for each configuration.
    fn gravity<'py>(
        &self,
        py: Python<'py>,
        q: PyReadonlyArray2<'py, f64>,
        gravity: [f64; 3],
        out: Out<'py>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let gravity = Vector3::from(gravity);
        self.batch(py, &q, self.coordinates(), out, |q, out| {
            self.mechanism.batch_gravity_forces(q, &gravity, out);
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
        self.rows(py, &rows, 3 * all, all, scratch, |data, row, out| {
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
        let columns = self.coordinates();
        self.rows(
            py,
            &q,
            columns,
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
        self.rows(py, &q, self.coordinates(), 3, scratch, |data, q, out| {
            let (_, centre) = self.mechanism.centre_of_mass(q, data);
            let centre = centre.unwrap_or_else(|| Vector3::repeat(f64::NAN));
            out.iter_mut()
                .zip(&centre)
                .for_each(|(to, from)| *to = *from);
        })
    }
}
