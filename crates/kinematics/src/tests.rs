use std::f64::consts::PI;

use nalgebra::{Point3, UnitQuaternion, Vector3};
use proptest::prelude::*;
use urdf_usd_robot::kinematics::Model;
use urdf_usd_robot::{JointId, LinkId, Pose, Robot};

use crate::ik::{Goal, Lm, Problem, Restarts, Starts, Target, solve, solve_unless};
use crate::{
    Chain, Error, GRAVITY, Mechanism, POSE, Random, Reference, Stance, Transform, Twist, pose_error,
};

/// Every kind of joint, a follower of a follower, a follower of another kind, a loop with a
/// follower.
const MIXED: &str = r#"<robot name="mixed">
  <link name="a"><inertial><mass value="3"/><origin xyz="0.1 0 0.2"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="b"><inertial><mass value="2"/><origin xyz="0 0.1 0" rpy="0.3 0 0"/><inertia ixx="0.2" iyy="0.1" izz="0.2" ixy="0.01" ixz="0" iyz="0"/></inertial></link>
  <link name="c"><inertial><mass value="1"/><origin xyz="0.2 0 0"/><inertia ixx="0.1" iyy="0.2" izz="0.2" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="d"><inertial><mass value="1.5"/><origin xyz="0 0 0.3"/><inertia ixx="0.1" iyy="0.2" izz="0.2" ixy="0" ixz="0.02" iyz="0"/></inertial></link>
  <link name="e"/><link name="f"><inertial><mass value="0.5"/><inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="g"/><link name="h"/>
  <joint name="ab" type="floating"><parent link="a"/><child link="b"/><origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/></joint>
  <joint name="bc" type="revolute"><parent link="b"/><child link="c"/><origin xyz="0 0.2 0.1" rpy="1 0 0.2"/><axis xyz="1 2 3"/><limit lower="-1" upper="2" effort="1" velocity="1"/></joint>
  <joint name="cd" type="prismatic"><parent link="c"/><child link="d"/><origin xyz="0 0.2 0.1"/><axis xyz="0 -1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/><mimic joint="bc" multiplier="-0.5" offset="0.1"/></joint>
  <joint name="de" type="planar"><parent link="d"/><child link="e"/><origin xyz="0.3 0 0" rpy="0 0.7 0"/><axis xyz="0 1 1"/></joint>
  <joint name="ef" type="continuous"><parent link="e"/><child link="f"/><origin xyz="0 0 0.3"/><axis xyz="-1 0 0"/><mimic joint="cd" multiplier="2" offset="-0.3"/></joint>
  <joint name="ag" type="continuous"><parent link="a"/><child link="g"/><origin xyz="0 0.5 0"/><axis xyz="0 0 1"/></joint>
  <joint name="gh" type="fixed"><parent link="g"/><child link="h"/><origin xyz="0 0.5 0" rpy="0 0 1"/></joint>
  <joint name="loop" type="revolute"><parent link="h"/><child link="f"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
</robot>"#;

/// Six axes, an elbow and a wrist, all with limits.
const ARM: &str = r#"<robot name="arm">
  <link name="base"/><link name="l1"/><link name="l2"/><link name="l3"/><link name="l4"/><link name="l5"/><link name="tool"/>
  <joint name="j1" type="revolute"><parent link="base"/><child link="l1"/><origin xyz="0 0 0.3"/><axis xyz="0 0 1"/><limit lower="-3" upper="3" effort="1" velocity="1"/></joint>
  <joint name="j2" type="revolute"><parent link="l1"/><child link="l2"/><origin xyz="0.1 0 0"/><axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
  <joint name="j3" type="revolute"><parent link="l2"/><child link="l3"/><origin xyz="0 0 0.4"/><axis xyz="0 1 0"/><limit lower="-2" upper="2.5" effort="1" velocity="1"/></joint>
  <joint name="j4" type="revolute"><parent link="l3"/><child link="l4"/><origin xyz="0 0 0.2"/><axis xyz="0 0 1"/><limit lower="-3" upper="3" effort="1" velocity="1"/></joint>
  <joint name="j5" type="revolute"><parent link="l4"/><child link="l5"/><origin xyz="0 0 0.2"/><axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
  <joint name="j6" type="revolute"><parent link="l5"/><child link="tool"/><origin xyz="0 0 0.1"/><axis xyz="0 0 1"/><limit lower="-3" upper="3" effort="1" velocity="1"/></joint>
</robot>"#;

fn robot(text: &str) -> Robot {
    urdf_usd_urdf::read(text, None).robot.unwrap()
}

fn link(robot: &Robot, name: &str) -> LinkId {
    robot.link_named(name).unwrap()
}

fn joint(robot: &Robot, name: &str) -> JointId {
    robot.joint_named(name).unwrap()
}

fn apart(a: &Transform, b: &Transform) -> f64 {
    (a.rotation - b.rotation)
        .amax()
        .max((a.translation - b.translation).amax())
}

fn values(count: usize) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(-3.0..3.0_f64, count)
}

/// Returns the twist between two poses that are `2 h` apart, by its definition: (dT/dq) T⁻¹.
fn derivative(before: &Pose, at: &Pose, after: &Pose, h: f64) -> Twist {
    let difference = (after.to_homogeneous() - before.to_homogeneous()) / (2.0 * h)
        * at.inverse().to_homogeneous();
    let m = |row: usize, column: usize| difference[(row, column)];
    Twist::new(m(0, 3), m(1, 3), m(2, 3), m(2, 1), m(0, 2), m(1, 0))
}

proptest! {
    /// A chain agrees with the robot's model, and its Jacobian with numerical differentiation.
    #[test]
    fn chains_move_as_the_robot_s_model_does(q in values(10), base in 0..8_usize, tip in 0..8_usize) {
        let robot = robot(MIXED);
        let (mechanism, model) = (Mechanism::of(&robot), Model::of(&robot));
        prop_assert_eq!(mechanism.coordinates().len(), 10);
        let relative = |q: &[f64]| {
            let mut positions = vec![0.0; model.positions()];
            mechanism.positions(q, &mut positions);
            let poses = model.poses(&positions);
            poses[base].inverse() * poses[tip]
        };
        let chain = Chain::between(&mechanism, robot.links().handle(base).unwrap(), robot.links().handle(tip).unwrap()).unwrap();
        let mut own = vec![0.0; chain.coordinates().len()];
        chain.gather(&q, &mut own);
        let mut columns = vec![Twist::zeros(); own.len()];
        let at = chain.jacobian(&own, Reference::Base, &mut columns);
        prop_assert!(apart(&at, &Transform::from(relative(&q))) < 1e-12);
        for coordinate in 0..q.len() {
            let h = 1e-5;
            let [before, after] = [-h, h].map(|step| {
                let mut moved = q.clone();
                moved[coordinate] += step;
                relative(&moved)
            });
            let expected = derivative(&before, &relative(&q), &after, h);
            let ours = chain.coordinates().iter().position(|c| *c == coordinate).map_or(Twist::zeros(), |c| columns[c]);
            prop_assert!((expected - ours).amax() < 1e-6 * (1.0 + expected.amax()), "{coordinate}: {expected} {ours}");
        }
        let (mut positions, mut again) = (vec![0.0; model.positions()], vec![0.0; 10]);
        mechanism.positions(&q, &mut positions);
        mechanism.from_positions(&positions, &mut again);
        prop_assert_eq!(again, q);
    }

    /// Conservation of energy: power is force times velocity. At rest the forces are those of
    /// gravity; they are linear in accelerations.
    #[test]
    fn forces_follow_from_energy(q in values(10), qd in values(10), qdd in values(10)) {
        let robot = robot(MIXED);
        let mechanism = Mechanism::of(&robot);
        let mut data = mechanism.data();
        let mut energy = |q: &[f64], qd: &[f64]| {
            let mut mass = vec![0.0; 100];
            mechanism.batch_mass_matrices(q, &mut mass);
            let kinetic: f64 = (0..10).map(|i| (0..10).map(|j| 0.5 * qd[i] * mass[i * 10 + j] * qd[j]).sum::<f64>()).sum();
            let (weight, centre) = mechanism.centre_of_mass(q, &mut data);
            kinetic - weight * GRAVITY.dot(&centre.unwrap())
        };
        let later = |t: f64| -> (Vec<f64>, Vec<f64>) {
            ((0..10).map(|i| q[i] + t * qd[i] + 0.5 * t * t * qdd[i]).collect(), (0..10).map(|i| qd[i] + t * qdd[i]).collect())
        };
        let (h, (before, after)) = (1e-5, (later(-1e-5), later(1e-5)));
        let power = (energy(&after.0, &after.1) - energy(&before.0, &before.1)) / (2.0 * h);
        let mut forces = vec![0.0; 10];
        let mut data = mechanism.data();
        mechanism.forces(&q, &qd, &qdd, &GRAVITY, &mut data, &mut forces);
        let done: f64 = forces.iter().zip(&qd).map(|(f, v)| f * v).sum();
        prop_assert!((power - done).abs() < 1e-5 * done.abs().max(100.0), "{power} {done}");
        let (mut still, mut held) = (vec![0.0; 10], vec![0.0; 10]);
        mechanism.forces(&q, &[], &[], &GRAVITY, &mut data, &mut still);
        mechanism.gravity_forces(&q, &GRAVITY, &mut data, &mut held);
        prop_assert!(still.iter().zip(&held).all(|(a, b)| (a - b).abs() < 1e-9));
        mechanism.forces(&q, &[], &qdd, &GRAVITY, &mut data, &mut forces);
        let mut mass = vec![0.0; 100];
        mechanism.batch_mass_matrices(&q, &mut mass);
        let mut inertia = vec![0.0; 10];
        mechanism.effective_inertia(&q, &mut data, &mut inertia);
        for i in 0..10 {
            prop_assert!((inertia[i] - mass[i * 11]).abs() < 1e-12 * mass[i * 11].max(1.0));
            let by_mass: f64 = (0..10).map(|j| mass[i * 10 + j] * qdd[j]).sum();
            prop_assert!((forces[i] - held[i] - by_mass).abs() < 1e-8 * by_mass.abs().max(1.0));
        }
    }

    #[test]
    fn coordinates_are_read_from_where_links_are(q in prop::collection::vec(-0.9..0.9_f64, 10), x in values(6)) {
        let robot = robot(MIXED);
        let mechanism = Mechanism::of(&robot);
        let at = Pose::new(Vector3::new(x[0], x[1], x[2]), Vector3::new(x[3], x[4], x[5]));
        let mut stance = Stance::new(&mechanism);
        stance.put(&mechanism, link(&robot, "a"), &at);
        let parts: Vec<(JointId, Vec<f64>)> = robot.joints().iter().filter_map(|(id, joint)| {
            let first = mechanism.first(id)?;
            Some((id, q[first..first + urdf_usd_robot::kinematics::position_count(joint.kind())].to_vec()))
        }).collect();
        let joints: Vec<(JointId, &[f64])> = parts.iter().map(|(id, q)| (*id, q.as_slice())).collect();
        stance.teleport(&mechanism, &joints).unwrap();
        let poses: Vec<Pose> = stance.links().values().map(Transform::pose).collect();
        prop_assert!(apart(&stance.links()[link(&robot, "a")], &Transform::from(at)) < 1e-12);
        let mut read = Stance::new(&mechanism);
        let misfit = read.read(&mechanism, &poses);
        prop_assert!(misfit.distance < 1e-7 && misfit.angle < 1e-7, "{misfit:?}");
        prop_assert!(read.coordinates().iter().zip(&q).all(|(a, b)| (a - b).abs() < 1e-7), "{:?}", read.coordinates());
    }

    #[test]
    fn errors_are_what_is_missing(x in values(6), y in values(6)) {
        let pose = |x: &[f64]| Pose::new(Vector3::new(x[0], x[1], x[2]), Vector3::new(x[3], x[4], x[5]));
        let (desired, actual) = (pose(&x), pose(&y));
        let error = pose_error(&desired, &actual);
        let turned = UnitQuaternion::from_scaled_axis(error.rotation) * actual.rotation;
        prop_assert!(turned.angle_to(&desired.rotation) < 1e-7);
        prop_assert!((actual.translation.vector + error.position - desired.translation.vector).norm() < 1e-12);
        prop_assert!(error.rotation.norm() <= PI + 1e-12);
        prop_assert_eq!(&error.to_array()[..3], error.rotation.as_slice());
    }
}

#[test]
fn a_half_turn_is_found() {
    for axis in [
        Vector3::x(),
        Vector3::y(),
        Vector3::z(),
        Vector3::new(0.6, 0.0, -0.8),
    ] {
        for angle in [PI, PI - 1e-9, PI - 1e-5, 1e-9, 1e-12] {
            let desired = Pose::new(Vector3::zeros(), axis * angle);
            let error = pose_error(&desired, &Pose::identity());
            assert!(
                (error.rotation.norm() - angle).abs() < 1e-7 * angle,
                "{axis} {angle}: {}",
                error.rotation
            );
        }
    }
}

#[test]
fn an_anchored_robot_moves_about_its_anchor() {
    let robot = robot(ARM);
    let mechanism = Mechanism::of(&robot);
    let mut stance = Stance::new(&mechanism);
    let (base, tool) = (link(&robot, "base"), link(&robot, "tool"));
    let before = stance.links()[tool];
    stance
        .teleport_anchored(
            &mechanism,
            &[
                (joint(&robot, "j2"), &[0.5]),
                (joint(&robot, "j5"), &[-1.0]),
            ],
            tool,
        )
        .unwrap();
    assert!(apart(&before, &stance.links()[tool]) < 1e-12);
    assert!(stance.links()[base].translation.norm() > 0.1);
    let in_base = stance.links()[base].inverse().then(&stance.links()[tool]);
    let chain = Chain::between(&mechanism, base, tool).unwrap();
    assert!(apart(&in_base, &chain.forward(stance.coordinates())) < 1e-12);
    assert_eq!(stance.coordinates(), [0.0, 0.5, 0.0, 0.0, -1.0, 0.0]);
}

#[test]
fn what_is_not_there_is_said() {
    let robot = robot(&ARM.replace(
        "<link name=\"base\"/>",
        "<link name=\"base\"/><link name=\"apart\"/>",
    ));
    let mechanism = Mechanism::of(&robot);
    let (base, apart) = (link(&robot, "base"), link(&robot, "apart"));
    assert_eq!(
        Chain::between(&mechanism, base, apart).unwrap_err(),
        Error::NoWay { base, tip: apart }
    );
    let mut stance = Stance::new(&mechanism);
    let (first, second) = (joint(&robot, "j1"), joint(&robot, "j2"));
    let given = [(first, &[0.5][..]), (second, &[][..])];
    assert_eq!(
        stance.teleport(&mechanism, &given),
        Err(Error::Positions {
            joint: second,
            has: 1,
            given: 0
        })
    );
    assert_eq!(stance.coordinates(), [0.0; 6]);
}

#[test]
fn a_leader_keeps_its_followers_within_their_limits() {
    let robot = robot(MIXED);
    let mechanism = Mechanism::of(&robot);
    let coordinate = mechanism.coordinates()[mechanism.first(joint(&robot, "bc")).unwrap()];
    // -1 ≤ -0.5 q + 0.1 ≤ 1: from -1.8 to 2.2; its own are -1 and 2.
    assert_eq!(
        (coordinate.bounds.lower(), coordinate.bounds.upper()),
        (-1.0, 2.0)
    );
    let robot = self::robot(&MIXED.replace("multiplier=\"-0.5\"", "multiplier=\"-1\""));
    let mechanism = Mechanism::of(&robot);
    let coordinate = mechanism.coordinates()[mechanism.first(joint(&robot, "bc")).unwrap()];
    assert!(
        (coordinate.bounds.lower() + 0.9).abs() < 1e-12
            && (coordinate.bounds.upper() - 1.1).abs() < 1e-12
    );
}

fn random_goal(mechanism: &Mechanism, chain: &Chain, random: &mut Random) -> Pose {
    let (mut q, mut own) = (mechanism.rest(), vec![0.0; chain.coordinates().len()]);
    mechanism.random_configuration(random, &mut q);
    chain.gather(&q, &mut own);
    chain.forward(&own).pose()
}

#[test]
fn nothing_is_allocated_once_it_is_set_up() {
    let robot = robot(ARM);
    let mechanism = Mechanism::of(&robot);
    let (base, tool) = (link(&robot, "base"), link(&robot, "tool"));
    let chain = Chain::between(&mechanism, base, tool).unwrap();
    let mut random = Random::new(3);
    let goals: Vec<Pose> = (0..20)
        .map(|_| random_goal(&mechanism, &chain, &mut random))
        .collect();
    let mut problem =
        Problem::new(&mechanism, &[Target::new(base, tool, Goal::Pose(goals[0]))]).unwrap();
    let mut lm = Lm::default();
    let mut starts = Starts::new(&problem, &mechanism.rest());
    starts.choose(&problem, &mut mechanism.rest());
    let (mut q, mut data) = (mechanism.rest(), mechanism.data());
    let mut positions = vec![0.0; mechanism.position_count()];
    let mut poses = vec![Pose::identity(); robot.links().len()];
    let (mut forces, mut columns) = (vec![0.0; 6], vec![Twist::zeros(); 6]);
    lm.solve(&problem, &mut q);
    let info = allocation_counter::measure(|| {
        for goal in &goals {
            mechanism.poses(&q, &mut positions, &mut poses);
            mechanism.forces(&q, &q, &q, &GRAVITY, &mut data, &mut forces);
            chain.jacobian(&q, Reference::Tip, &mut columns);
            problem.aim(0, &Goal::Pose(*goal));
            lm.solve(&problem, &mut q);
            starts.choose(&problem, &mut q);
        }
    });
    assert_eq!(info.count_total, 0);
}

/// Solves `problem` within limits and asserts that every goal is reached.
fn reached(problem: &Problem<'_>) -> Vec<f64> {
    let mut q = problem.mechanism().rest();
    let outcome = solve(&mut Lm::default(), problem, &mut q, &Restarts::default());
    assert!(
        outcome.is_reached && outcome.position < 1e-6 && outcome.angle < 1e-6,
        "{outcome:?}"
    );
    for (at, q) in q.iter().enumerate() {
        if let Some((lower, upper)) = problem.range(at) {
            assert!((lower..=upper).contains(q));
        }
    }
    q
}

#[test]
fn each_kind_of_goal_is_reached() {
    let robot = robot(ARM);
    let mechanism = Mechanism::of(&robot);
    let (base, tool) = (link(&robot, "base"), link(&robot, "tool"));
    let chain = Chain::between(&mechanism, base, tool).unwrap();
    let mut random = Random::new(7);
    for _ in 0..50 {
        let pose = random_goal(&mechanism, &chain, &mut random);
        let point = Point3::from(pose.translation.vector);
        let aim = |goal| Problem::new(&mechanism, &[Target::new(base, tool, goal)]).unwrap();
        let at = |q: &[f64]| chain.forward(q).pose();
        let q = reached(&aim(Goal::Position(point)));
        assert!((at(&q).translation.vector - point.coords).norm() < 1e-6);
        let q = reached(&aim(Goal::Orientation(pose.rotation)));
        assert!(at(&q).rotation.angle_to(&pose.rotation) < 1e-6);
        let far = Point3::from(pose.translation.vector * 5.0);
        let q = reached(&aim(Goal::LookAt {
            axis: Vector3::x_axis(),
            point: far,
        }));
        let there = at(&q);
        let ahead = there.rotation * Vector3::x();
        assert!(
            ahead
                .cross(&(far.coords - there.translation.vector).normalize())
                .norm()
                < 2e-6
        );
        assert!(ahead.dot(&(far.coords - there.translation.vector)) > 0.0);
    }
}

#[test]
fn held_joints_stay_and_margins_are_kept() {
    let robot = robot(ARM);
    let mechanism = Mechanism::of(&robot);
    let (base, tool) = (link(&robot, "base"), link(&robot, "tool"));
    let goal = Goal::Position(Point3::new(0.35, 0.1, 0.7));
    let problem = Problem::new(&mechanism, &[Target::new(base, tool, goal)]).unwrap();
    let problem = problem.holding(&[joint(&robot, "j4")]).with_margin(0.5);
    let q = reached(&problem);
    assert_eq!(q[3], 0.0);
    assert!(
        q[0].abs() <= 2.5 && q[1].abs() <= 1.5 && (-1.5..=2.0).contains(&q[2]) && q[4].abs() <= 1.5
    );
    assert_eq!(
        (problem.range(3), problem.range(1)),
        (None, Some((-1.5, 1.5)))
    );
}

#[test]
fn a_joint_that_follows_is_held_by_its_leader() {
    let robot = robot(MIXED);
    let mechanism = Mechanism::of(&robot);
    let target = Target::new(
        link(&robot, "a"),
        link(&robot, "f"),
        Goal::Position(Point3::origin()),
    );
    let leader = mechanism.first(joint(&robot, "bc")).unwrap();
    let free = Problem::new(&mechanism, &[target]).unwrap();
    assert!(free.range(leader).is_some());
    for held in ["bc", "cd", "ef"] {
        assert_eq!(
            free.clone().holding(&[joint(&robot, held)]).range(leader),
            None,
            "{held}"
        );
    }
    // A margin too wide for any range still has a solution.
    for margin in [1.0, 1e3, f64::MAX] {
        let problem = free.clone().with_margin(margin);
        let mut q = mechanism.rest();
        solve(
            &mut Lm::default(),
            &problem,
            &mut q,
            &Restarts {
                attempts: 2,
                seed: 0,
            },
        );
        assert!(q.iter().all(|at| at.is_finite()), "{margin}: {q:?}");
    }
}

#[test]
fn what_is_out_of_reach_ends_nearest() {
    let robot = robot(ARM);
    let mechanism = Mechanism::of(&robot);
    let goal = Goal::Position(Point3::new(5.0, 0.0, 0.3));
    let problem = Problem::new(
        &mechanism,
        &[Target::new(
            link(&robot, "base"),
            link(&robot, "tool"),
            goal,
        )],
    )
    .unwrap();
    let mut q = mechanism.rest();
    let outcome = solve(
        &mut Lm::default(),
        &problem,
        &mut q,
        &Restarts {
            attempts: 10,
            seed: 0,
        },
    );
    assert!(!outcome.is_reached && outcome.attempts == 10);
    // Stretched out: 0.1 m from the first axis, then 0.9 m.
    assert!((outcome.position - 4.0).abs() < 1e-4, "{outcome:?}");
    let (mut solver, restarts) = (Lm::default(), Restarts::default());
    let outcome = solve_unless(&mut solver, &problem, &mut q, &restarts, || true);
    assert_eq!(outcome.attempts, 1);
}

#[test]
fn steps_are_bounded_and_small_ones_converge() {
    let robot = robot(ARM);
    let mechanism = Mechanism::of(&robot);
    let (base, tool) = (link(&robot, "base"), link(&robot, "tool"));
    let chain = Chain::between(&mechanism, base, tool).unwrap();
    let mut random = Random::new(3);
    for _ in 0..20 {
        let goal = Goal::Pose(random_goal(&mechanism, &chain, &mut random));
        let problem = Problem::new(&mechanism, &[Target::new(base, tool, goal)]).unwrap();
        let start = mechanism.rest();
        let mut lm = Lm::default();
        lm.max_step = 0.02;
        lm.iterations = 1;
        let mut q = start.clone();
        lm.solve(&problem, &mut q);
        let step: f64 = q.iter().zip(&start).map(|(a, b)| (a - b).powi(2)).sum();
        assert!(step.sqrt() <= 0.02 + 1e-12, "{step}");
        // Small steps far from the target are not slow progress at a local minimum.
        let mut q = start.clone();
        let restarts = Restarts {
            attempts: 20,
            seed: 0,
        };
        lm.iterations = 2000;
        let outcome = solve(&mut lm, &problem, &mut q, &restarts);
        assert!(outcome.is_reached, "{outcome:?}");
    }
}

#[test]
fn a_start_that_is_chosen_leads_there() {
    // Narrow ranges, where the middle of all is often on the wrong side of a limit.
    let robot = robot(
        &ARM.replace("-3", "-2")
            .replace("upper=\"3\"", "upper=\"1.5\""),
    );
    let mechanism = Mechanism::of(&robot);
    let (base, tool) = (link(&robot, "base"), link(&robot, "tool"));
    let chain = Chain::between(&mechanism, base, tool).unwrap();
    let mut random = Random::new(5);
    let mut problem = Problem::new(
        &mechanism,
        &[Target::new(base, tool, Goal::Pose(Pose::identity()))],
    )
    .unwrap();
    let mut starts = Starts::new(&problem, &mechanism.rest());
    let mut lm = Lm::default();
    let once = Restarts {
        attempts: 1,
        seed: 0,
    };
    let (mut chosen, mut middle) = (0, 0);
    for _ in 0..300 {
        problem.aim(0, &Goal::Pose(random_goal(&mechanism, &chain, &mut random)));
        let mut q = mechanism.rest();
        assert!(starts.choose(&problem, &mut q) > 0);
        let mut again = mechanism.rest();
        Starts::new(&problem, &mechanism.rest()).choose(&problem, &mut again);
        assert_eq!(q, again);
        chosen += usize::from(solve(&mut lm, &problem, &mut q, &once).is_reached);
        assert!(q.iter().enumerate().all(|(at, q)| {
            problem
                .range(at)
                .is_some_and(|(lower, upper)| (lower..=upper).contains(q))
        }));
        middle += usize::from(solve(&mut lm, &problem, &mut mechanism.rest(), &once).is_reached);
    }
    assert!(chosen >= 294 && middle < chosen, "{chosen} {middle}");
}

#[test]
fn starts_keep_what_is_held_and_know_every_goal() {
    let robot = robot(ARM);
    let mechanism = Mechanism::of(&robot);
    let (base, tool) = (link(&robot, "base"), link(&robot, "tool"));
    let far = Point3::new(2.0, 1.0, 1.5);
    for goal in [
        Goal::Position(Point3::new(0.4, 0.2, 0.6)),
        Goal::Orientation(UnitQuaternion::from_euler_angles(0.3, 1.0, -0.5)),
        Goal::LookAt {
            axis: Vector3::x_axis(),
            point: far,
        },
    ] {
        let problem = Problem::new(&mechanism, &[Target::new(base, tool, goal)])
            .unwrap()
            .holding(&[joint(&robot, "j1")]);
        let mut q = mechanism.rest();
        q[0] = 0.25;
        let before = problem.outcome(&q, 1e-6).cost;
        Starts::new(&problem, &q).choose(&problem, &mut q);
        assert_eq!(q[0], 0.25);
        assert!(
            problem.outcome(&q, 1e-6).cost < 1e-3_f64.min(before),
            "{goal:?}"
        );
    }
    // With all joints held, no start is chosen.
    let all: Vec<JointId> = robot.joints().handles().collect();
    let goal = Goal::Position(Point3::origin());
    let problem = Problem::new(&mechanism, &[Target::new(base, tool, goal)])
        .unwrap()
        .holding(&all);
    let mut q = mechanism.rest();
    assert_eq!(Starts::new(&problem, &q).choose(&problem, &mut q), 0);
    assert_eq!(q, mechanism.rest());
}

#[test]
fn limits_that_are_rounded_half_turns_stop_nothing() {
    for (limit, is_round) in [
        ("3.14", true),
        ("3.14159", true),
        ("6.3", true),
        ("3.1", false),
    ] {
        let text = ARM.replace(
            "lower=\"-3\" upper=\"3\"",
            &format!("lower=\"-{limit}\" upper=\"{limit}\""),
        );
        let robot = robot(&text);
        let mechanism = Mechanism::of(&robot);
        let (base, tool) = (link(&robot, "base"), link(&robot, "tool"));
        let chain = Chain::between(&mechanism, base, tool).unwrap();
        let goal = chain.forward(&[-2.9, 0.4, 0.9, 0.3, 0.8, -0.4]).pose();
        let problem =
            Problem::new(&mechanism, &[Target::new(base, tool, Goal::Pose(goal))]).unwrap();
        let mut q = [2.9, 0.4, 0.9, 0.3, 0.8, -0.4];
        // Across the half turn, 0.48 rad away, with all else as it is.
        let outcome = Lm::default().solve(&problem, &mut q);
        let is_near = q
            .iter()
            .skip(1)
            .zip([0.4, 0.9, 0.3, 0.8, -0.4])
            .all(|(a, b)| (a - b).abs() < 0.01);
        assert_eq!(
            outcome.is_reached && is_near,
            is_round,
            "{limit}: {outcome:?} {q:?}"
        );
    }
}

/// Asserts that numbers are equal but for rounding.
fn same(ours: &[f64], theirs: &[f64]) {
    assert_eq!(ours.len(), theirs.len());
    let largest = theirs.iter().fold(1.0, |a: f64, b| a.max(b.abs()));
    let difference = ours.iter().zip(theirs).map(|(a, b)| (a - b).abs());
    let difference = difference.fold(0.0, f64::max);
    assert!(difference <= 1e-12 * largest, "{difference:e} {largest:e}");
}

/// Returns a pose by rows.
fn elements(pose: &Transform) -> Vec<f64> {
    let pose = pose.pose().to_homogeneous().transpose();
    pose.as_slice().to_vec()
}

/// Each number of rows fills the lanes of vector registers in another way.
#[test]
fn batches_agree_with_single_configurations() {
    for (text, counts) in [(MIXED, vec![1, 2, 3, 7, 8, 9, 17]), (ARM, vec![5])] {
        let robot = robot(text);
        let mechanism = Mechanism::of(&robot);
        let size = mechanism.coordinates().len();
        let (mut data, mut random) = (mechanism.data(), Random::new(3));
        for count in counts {
            let mut q = vec![0.0; count * size];
            for row in q.chunks_exact_mut(size) {
                mechanism.random_configuration(&mut random, row);
            }
            // Beyond the range of the reduction, in one lane only.
            let is_angle = |coordinate: &crate::Coordinate| coordinate.is_angle;
            q[mechanism.coordinates().iter().position(is_angle).unwrap()] = 1e5;
            let links = robot.links().len();
            let mut poses = vec![0.0; count * links * POSE];
            mechanism.batch_poses(&q, &mut poses);
            let mut forces = vec![0.0; count * size];
            mechanism.batch_gravity_forces(&q, &GRAVITY, &mut forces);
            let mut masses = vec![0.0; count * size * size];
            mechanism.batch_mass_matrices(&q, &mut masses);
            for (row, q) in q.chunks_exact(size).enumerate() {
                let (mut positions, mut expected) = (
                    vec![0.0; mechanism.position_count()],
                    vec![Pose::identity(); links],
                );
                mechanism.poses(q, &mut positions, &mut expected);
                let expected: Vec<f64> = expected
                    .iter()
                    .flat_map(|pose| elements(&Transform::from(pose)))
                    .collect();
                same(&poses[row * links * POSE..][..links * POSE], &expected);
                let mut expected = vec![0.0; size];
                mechanism.gravity_forces(q, &GRAVITY, &mut data, &mut expected);
                same(&forces[row * size..][..size], &expected);
                // Columns of the mass matrix are the forces of unit accelerations without gravity.
                let mass = &masses[row * size * size..][..size * size];
                for column in 0..size {
                    let mut unit = vec![0.0; size];
                    unit[column] = 1.0;
                    mechanism.forces(q, &[], &unit, &Vector3::zeros(), &mut data, &mut expected);
                    let ours: Vec<f64> = (0..size).map(|row| mass[row * size + column]).collect();
                    same(&ours, &expected);
                }
            }
            for (base, tip) in [(0, links - 1), (links - 1, 0), (1, 2), (2, 2)] {
                let [base, tip] = [base, tip].map(|link| robot.links().handle(link).unwrap());
                let chain = Chain::between(&mechanism, base, tip).unwrap();
                let mut poses = vec![0.0; count * POSE];
                chain.batch_poses(size, &q, &mut poses);
                for reference in [Reference::Base, Reference::TipInBase, Reference::Tip] {
                    let mut jacobians = vec![0.0; count * 6 * size];
                    chain.batch_jacobians(size, &q, reference, &mut jacobians);
                    for (row, q) in q.chunks_exact(size).enumerate() {
                        let mut own = vec![0.0; chain.coordinates().len()];
                        let mut columns = vec![Twist::zeros(); own.len()];
                        chain.gather(q, &mut own);
                        let tip = chain.jacobian(&own, reference, &mut columns);
                        same(&poses[row * POSE..][..POSE], &elements(&tip));
                        let mut expected = vec![0.0; 6 * size];
                        for (column, at) in columns.iter().zip(chain.coordinates()) {
                            for (row, number) in column.iter().enumerate() {
                                expected[row * size + at] = *number;
                            }
                        }
                        same(&jacobians[row * 6 * size..][..6 * size], &expected);
                    }
                }
            }
        }
    }
}

#[test]
fn a_batch_of_a_robot_without_coordinates_has_poses_only() {
    let robot = robot(r#"<robot name="r"><link name="l"/></robot>"#);
    let mechanism = Mechanism::of(&robot);
    let mut poses = vec![0.0; 3 * POSE];
    mechanism.batch_poses(&[], &mut poses);
    same(&poses, &elements(&Transform::IDENTITY).repeat(3));
    mechanism.batch_mass_matrices(&[], &mut []);
    mechanism.batch_gravity_forces(&[], &GRAVITY, &mut []);
}
