//! The default prim is neither rotated nor scaled nor animated.

use urdf_usd_stage::OpKind;

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "The default prim rotates, scales or animates the whole asset.",
    outcome: "Programs that place the robot by its root prim overwrite this transform: the robot \
              lies on its side or has another size.",
    demand: "Assets must not rely on root-node rotations to align geometry; points and normals \
             should be transform-applied to Z-up.",
    section: ("Coordinate Systems & Units", "§1.1"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let Some(root) = subject.stage.default_prim else {
        return;
    };
    let prim = &subject.stage[root];
    let stack = prim.xform();
    let help = "apply the transform to the points, joints and poses below, and remove it here";
    if let Some(op) = stack.ops.iter().find(|op| op.is_animated) {
        let message = format!(
            "the default prim {} is animated by {}",
            prim.path, op.attribute
        );
        findings.prim(
            root,
            Some(&op.attribute),
            message,
            "animate the prims below it instead",
        );
    }
    let is_translation = |matrix: nalgebra::Matrix4<f64>| {
        (matrix.fixed_view::<3, 3>(0, 0) - nalgebra::Matrix3::identity()).amax() <= 1e-6
    };
    if is_translation(prim.local().matrix) {
        return;
    }
    if let Some(op) = stack.ops.iter().find(|op| !is_translation(op.matrix)) {
        let does = if op.kind == OpKind::Scale {
            "scaled"
        } else {
            "rotated"
        };
        let message = format!(
            "the default prim {} is {does} by {}",
            prim.path, op.attribute
        );
        findings.prim(root, Some(&op.attribute), message, help);
    }
}
