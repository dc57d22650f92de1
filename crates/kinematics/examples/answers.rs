//! Answers questions about one robot, a line of JSON for each, so that other programs can compare
//! their results without starting this one for every configuration.
//!
//! `answers ROBOT.urdf` first prints a line that describes the coordinates. Then it answers each
//! line of standard input:
//!
//! - `{"q": […], "base": LINK, "tip": LINK, "qd": […], "qdd": […]}`: where all links are (4×4, row
//!   by row), the Jacobians of `tip` in `base` in each reference, mass, centre of mass, mass
//!   matrix, forces of gravity, forces.
//! - `{"solve": [{"base": LINK, "tip": LINK, "pose": [x, y, z, qx, qy, qz, qw]}], "start": […],
//!   "attempts": N, "seed": N}`: inverse kinematics; without a start, from the one that is chosen.
//!   `"position"`, `"orientation"`, or `"axis"` with `"point"` instead of `"pose"` are the other
//!   goals.
//! - `{"sample": N, "seed": N}`: random configurations within limits.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)] // a harness that fails may panic

use std::io::{BufRead, Write};

use nalgebra::{Isometry3, Point3, Quaternion, Translation3, Unit, UnitQuaternion, Vector3};
use serde_json::{Value, json};
use urdf_usd_kinematics::Twist;
use urdf_usd_kinematics::ik::{Goal, Lm, Problem, Restarts, Starts, Target, solve};
use urdf_usd_kinematics::{Chain, GRAVITY, Mechanism, Random, Reference, Transform};
use urdf_usd_robot::{Link, LinkId, Pose, Robot};

fn main() {
    let file = std::env::args().nth(1).expect("answers ROBOT.urdf");
    let text = std::fs::read_to_string(&file).expect("the file can be read");
    let robot = urdf_usd_urdf::read(&text, None)
        .robot
        .expect("it is a robot");
    let mechanism = Mechanism::of(&robot);
    let mut out = std::io::stdout().lock();
    let mut say = |value: &Value| {
        writeln!(out, "{value}").unwrap();
        out.flush().unwrap();
    };
    let coordinates = mechanism.coordinates().iter().map(|coordinate| {
        let (lower, upper) = coordinate.bounds.sides();
        let joint = &robot.joints()[coordinate.joint];
        json!({ "joint": joint.name(), "index": coordinate.index, "lower": lower, "upper": upper, "is_angle": coordinate.is_angle })
    });
    let links: Vec<&str> = robot.links().values().map(Link::name).collect();
    say(&json!({ "coordinates": coordinates.collect::<Vec<_>>(), "links": links }));
    for line in std::io::stdin().lock().lines() {
        let question: Value = serde_json::from_str(&line.unwrap()).expect("a line of JSON");
        say(&if question.get("solve").is_some() {
            solved(&robot, &mechanism, &question)
        } else if let Some(count) = question["sample"].as_u64() {
            let mut random = Random::new(question["seed"].as_u64().unwrap_or(0));
            let mut q = mechanism.rest();
            json!(
                (0..count)
                    .map(|_| {
                        mechanism.random_configuration(&mut random, &mut q);
                        q.clone()
                    })
                    .collect::<Vec<_>>()
            )
        } else {
            configuration(&robot, &mechanism, &question)
        });
    }
}

fn numbers(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .map(|all| {
            all.iter()
                .map(|number| number.as_f64().expect("a number"))
                .collect()
        })
        .unwrap_or_default()
}

fn link(robot: &Robot, name: &Value) -> LinkId {
    let name = name.as_str().expect("a link");
    robot.link_named(name).expect("a link of the robot")
}

fn matrix(transform: &Transform) -> Vec<f64> {
    let (r, t) = (transform.rotation, transform.translation);
    let row = |i: usize| [r[(i, 0)], r[(i, 1)], r[(i, 2)], t[i]];
    [row(0), row(1), row(2), [0.0, 0.0, 0.0, 1.0]].concat()
}

fn configuration(robot: &Robot, mechanism: &Mechanism, question: &Value) -> Value {
    let (q, qd, qdd) = (
        numbers(&question["q"]),
        numbers(&question["qd"]),
        numbers(&question["qdd"]),
    );
    let count = mechanism.coordinates().len();
    let mut data = mechanism.data();
    let mut positions = vec![0.0; mechanism.position_count()];
    let mut poses = vec![Pose::identity(); robot.links().len()];
    mechanism.poses(&q, &mut positions, &mut poses);
    let chain = Chain::between(
        mechanism,
        link(robot, &question["base"]),
        link(robot, &question["tip"]),
    )
    .expect("a way");
    let mut own = vec![0.0; chain.coordinates().len()];
    chain.gather(&q, &mut own);
    let mut columns = vec![Twist::zeros(); own.len()];
    let mut jacobian = |reference| {
        let tip = chain.jacobian(&own, reference, &mut columns);
        assert_eq!(tip, chain.forward(&own));
        json!(
            columns
                .iter()
                .map(|column| column.as_slice().to_vec())
                .collect::<Vec<_>>()
        )
    };
    let jacobians = [
        jacobian(Reference::Base),
        jacobian(Reference::TipInBase),
        jacobian(Reference::Tip),
    ];
    let (mass, centre) = mechanism.centre_of_mass(&q, &mut data);
    let (mut inertia, mut gravity, mut forces) =
        (vec![0.0; count * count], vec![0.0; count], vec![0.0; count]);
    mechanism.batch_mass_matrices(&q, &mut inertia);
    mechanism.gravity_forces(&q, &GRAVITY, &mut data, &mut gravity);
    mechanism.forces(&q, &qd, &qdd, &GRAVITY, &mut data, &mut forces);
    json!({
        "links": poses.iter().map(|pose| matrix(&Transform::from(pose))).collect::<Vec<_>>(), "tip": matrix(&chain.forward(&own)),
        "columns": chain.coordinates(), "jacobians": jacobians, "mass": mass, "centre": centre.map(|c| [c.x, c.y, c.z]),
        "inertia": inertia, "gravity": gravity, "forces": forces,
    })
}

fn goal(target: &Value) -> Goal {
    let point = |of: &[f64]| Point3::new(of[0], of[1], of[2]);
    let turn =
        |of: &[f64]| UnitQuaternion::from_quaternion(Quaternion::new(of[3], of[0], of[1], of[2]));
    if target.get("pose").is_some() {
        let pose = numbers(&target["pose"]);
        Goal::Pose(Isometry3::from_parts(
            Translation3::from(point(&pose).coords),
            turn(&pose[3..]),
        ))
    } else if target.get("position").is_some() {
        Goal::Position(point(&numbers(&target["position"])))
    } else if target.get("orientation").is_some() {
        Goal::Orientation(turn(&numbers(&target["orientation"])))
    } else {
        let axis = Unit::new_normalize(Vector3::from_iterator(numbers(&target["axis"])));
        Goal::LookAt {
            axis,
            point: point(&numbers(&target["point"])),
        }
    }
}

fn solved(robot: &Robot, mechanism: &Mechanism, question: &Value) -> Value {
    let targets = question["solve"].as_array().expect("targets").iter();
    let targets: Vec<Target> = targets
        .map(|target| {
            Target::new(
                link(robot, &target["base"]),
                link(robot, &target["tip"]),
                goal(target),
            )
        })
        .collect();
    let margin = question["margin"].as_f64().unwrap_or(0.0);
    let problem = Problem::new(mechanism, &targets)
        .expect("a way")
        .with_margin(margin);
    let mut q = numbers(&question["start"]);
    if q.is_empty() {
        q = mechanism.rest();
        Starts::new(&problem, &q).choose(&problem, &mut q);
    }
    let attempts = question["attempts"].as_u64().unwrap_or(1) as usize;
    let restarts = Restarts {
        attempts,
        seed: question["seed"].as_u64().unwrap_or(0),
    };
    let outcome = solve(&mut Lm::default(), &problem, &mut q, &restarts);
    json!({
        "q": q, "is_reached": outcome.is_reached, "cost": outcome.cost, "position": outcome.position, "angle": outcome.angle,
        "iterations": outcome.iterations, "attempts": outcome.attempts,
    })
}
