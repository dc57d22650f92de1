use super::*;

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
    let (mut positions, mut poses) = (vec![0.1; 3], vec![Pose::identity(); 4]);
    let count = allocation_counter::measure(|| {
        for step in 0..100 {
            positions[0] = 0.01 * f64::from(step);
            model.follow(&mut positions);
            model.forward(&positions, &mut poses);
        }
    });
    assert_eq!(count.count_total, 0);
    // The counter counts.
    assert!(allocation_counter::measure(|| drop(model.poses(&positions))).count_total > 0);
}
