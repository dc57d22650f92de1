use nalgebra::Translation3;
use proptest::prelude::*;

use super::*;

/// A random pose within a metre.
fn pose() -> impl Strategy<Value = Pose> {
    (
        prop::array::uniform3(-1.0..1.0_f64),
        prop::array::uniform3(-3.0..3.0_f64),
    )
        .prop_map(|(at, turn)| {
            let [x, y, z] = at;
            let [roll, pitch, yaw] = turn;
            Pose::from_parts(
                Translation3::new(x, y, z),
                UnitQuaternion::from_euler_angles(roll, pitch, yaw),
            )
        })
}

fn axis() -> impl Strategy<Value = Unit<Vector3<f64>>> {
    prop::array::uniform3(-1.0..1.0_f64)
        .prop_map(Vector3::from)
        .prop_filter_map("too short", |v| Unit::try_new(v, 0.1))
}

fn kind() -> impl Strategy<Value = JointKind> {
    prop::sample::select(JointKind::ALL.to_vec())
}

/// A random tree: frame `k + 1` hangs on an earlier one by joint `k`, which may follow an earlier
/// joint.
fn model() -> impl Strategy<Value = Model> {
    let part = (any::<prop::sample::Index>(), pose(), pose(), kind(), axis());
    let mimic = prop::option::of((any::<prop::sample::Index>(), -2.0..2.0_f64, -1.0..1.0_f64));
    prop::collection::vec((part, mimic), 1..9).prop_map(|parts| {
        let root = ModelFrame {
            parent: None,
            joint: None,
            origin: Pose::identity(),
            tail: Pose::identity(),
        };
        let (mut frames, mut joints) = (vec![root], Vec::new());
        for (index, ((parent, origin, tail, kind, axis), mimic)) in parts.into_iter().enumerate() {
            frames.push(ModelFrame {
                parent: Some(parent.index(index + 1)),
                joint: Some(index),
                origin,
                tail,
            });
            let mimic = mimic
                .filter(|_| index > 0)
                .map(|(leader, factor, offset)| (leader.index(index.max(1)), factor, offset));
            joints.push(ModelJoint { kind, axis, mimic });
        }
        Model::new(frames, &joints).expect("a tree")
    })
}

/// The twist that takes one pose to another in `2 h`, by its definition: (dT/dq) T⁻¹.
fn derivative(before: &Pose, at: &Pose, after: &Pose, h: f64) -> Twist {
    let difference = (after.to_homogeneous() - before.to_homogeneous()) / (2.0 * h)
        * at.inverse().to_homogeneous();
    let m = |row: usize, column: usize| difference[(row, column)];
    Twist::new(m(0, 3), m(1, 3), m(2, 3), m(2, 1), m(0, 2), m(1, 0))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    /// Numerical differentiation as the check: whatever the chain, its mimics, its base.
    #[test]
    fn the_jacobian_is_the_derivative(model in model(), base: prop::sample::Index, tip: prop::sample::Index, seed: u64) {
        let (base, tip) = (base.index(model.frames()), tip.index(model.frames()));
        let mut state = seed;
        let mut positions: Vec<f64> = (0..model.positions())
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) as f64 / f64::from(1_u32 << 30) - 1.0
            })
            .collect();
        model.follow(&mut positions);
        let mut columns = vec![Twist::zeros(); model.positions()];
        model.jacobian(base, tip, &positions, &model.poses(&positions), &mut columns);
        let relative = |positions: &[f64]| {
            let mut positions = positions.to_vec();
            model.follow(&mut positions);
            let poses = model.poses(&positions);
            poses[base].inverse() * poses[tip]
        };
        let led: Vec<bool> = (0..model.positions())
            .map(|p| (0..model.joints.len()).any(|j| model.range(j).contains(&p) && model.joints[j].leader.is_some()))
            .collect();
        for (position, column) in columns.iter().enumerate() {
            if led[position] {
                prop_assert_eq!(*column, Twist::zeros());
                continue;
            }
            let h = 1e-5;
            let [before, after] = [-h, h].map(|step| {
                let mut moved = positions.clone();
                moved[position] += step;
                relative(&moved)
            });
            let expected = derivative(&before, &relative(&positions), &after, h);
            prop_assert!((expected - column).amax() < 1e-6 * (1.0 + expected.amax()), "{position}: {expected} {column}");
        }
    }
}

fn chain() -> Model {
    let frame = |parent: usize, joint: usize, x: f64| ModelFrame {
        parent: Some(parent),
        joint: Some(joint),
        origin: Pose::translation(x, 0.0, 0.0),
        tail: Pose::identity(),
    };
    let root = ModelFrame {
        parent: None,
        joint: None,
        origin: Pose::identity(),
        tail: Pose::identity(),
    };
    let joint = |kind, mimic| ModelJoint {
        kind,
        axis: Vector3::z_axis(),
        mimic,
    };
    let joints = [
        joint(JointKind::Revolute, None),
        joint(JointKind::Revolute, Some((0, -2.0, 0.5))),
        joint(JointKind::Prismatic, Some((1, 0.1, 0.0))),
    ];
    Model::new(
        vec![root, frame(0, 0, 1.0), frame(1, 1, 2.0), frame(2, 2, 0.0)],
        &joints,
    )
    .expect("a chain")
}

#[test]
fn mimics_follow_through_chains() {
    let model = chain();
    let mut positions = vec![0.25, 9.0, 9.0];
    model.follow(&mut positions);
    assert_eq!(positions, [0.25, 0.0, 0.0]);
    positions[0] = 0.5;
    model.follow(&mut positions);
    assert_eq!(positions, [0.5, -0.5, -0.05]);
}

#[test]
fn the_velocity_at_a_point() {
    let model = chain();
    let mut columns = vec![Twist::zeros(); 3];
    let mut positions = vec![0.25; 3];
    model.follow(&mut positions);
    model.jacobian(0, 1, &positions, &model.poses(&positions), &mut columns);
    // Turning about z at (1, 0, 0) takes the point at the origin down y, and the axis itself
    // nowhere.
    assert_eq!(columns[0], Twist::new(0.0, -1.0, 0.0, 0.0, 0.0, 1.0));
    assert_eq!(
        at(&columns[0], &Vector3::x()),
        Twist::new(0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
    );
}

#[test]
fn what_is_no_model_is_refused() {
    let frame = |parent, joint| ModelFrame {
        parent,
        joint,
        origin: Pose::identity(),
        tail: Pose::identity(),
    };
    let joint = |mimic| ModelJoint {
        kind: JointKind::Revolute,
        axis: Vector3::z_axis(),
        mimic,
    };
    let error = |frames, joints: &[ModelJoint]| Model::new(frames, joints).err();
    assert_eq!(
        error(vec![frame(Some(1), None), frame(Some(0), None)], &[]),
        Some(ModelError::Circular)
    );
    assert_eq!(
        error(vec![frame(Some(2), None)], &[]),
        Some(ModelError::Missing)
    );
    assert_eq!(
        error(vec![frame(None, Some(0))], &[]),
        Some(ModelError::Missing)
    );
    assert_eq!(
        error(
            vec![],
            &[joint(Some((1, 1.0, 0.0))), joint(Some((0, 1.0, 0.0)))]
        ),
        Some(ModelError::Circular)
    );
    assert_eq!(
        error(vec![], &[joint(Some((0, 1.0, 0.0)))]),
        Some(ModelError::Circular)
    );
    assert_eq!(
        error(vec![], &[joint(Some((5, 1.0, 0.0)))]),
        Some(ModelError::Missing)
    );
}

#[test]
fn arrays_of_the_wrong_length_do_no_harm() {
    let model = chain();
    let mut poses = [Pose::identity(); 2];
    model.forward(&[], &mut poses);
    assert_eq!(poses[1].translation.x, 1.0);
    model.follow(&mut [0.5]);
    assert_eq!(model.range(7), 0..0);
    assert_eq!(model.flat(&[vec![1.0, 2.0], vec![]]), [1.0, 0.0, 0.0]);
}

#[test]
fn nothing_is_allocated_once_it_is_set_up() {
    let model = chain();
    let (mut positions, mut poses, mut columns) = (
        vec![0.1; 3],
        vec![Pose::identity(); 4],
        vec![Twist::zeros(); 3],
    );
    let count = allocation_counter::measure(|| {
        for step in 0..100 {
            positions[0] = 0.01 * f64::from(step);
            model.follow(&mut positions);
            model.forward(&positions, &mut poses);
            model.jacobian(0, 3, &positions, &poses, &mut columns);
        }
    });
    assert_eq!(count.count_total, 0);
    // The counter counts.
    assert!(allocation_counter::measure(|| drop(model.poses(&positions))).count_total > 0);
}
