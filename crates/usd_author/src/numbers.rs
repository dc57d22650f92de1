//! Numbers in the form of USD's physics and transforms: single precision, degrees, unit
//! quaternions.

use nalgebra::{Unit, UnitQuaternion, Vector3};

use super::{Attribute, Prim};
use openusd::tf::Token;
use urdf_usd_robot::Pose;

/// Returns a quaternion w, x, y, z in single precision. w is not negative, so that equal rotations
/// give equal numbers.
pub fn quatf(rotation: &UnitQuaternion<f64>) -> [f32; 4] {
    let q = rotation.quaternion();
    let sign = if q.w < 0.0 { -1.0 } else { 1.0 };
    [q.w, q.i, q.j, q.k].map(|v| positive_zero((sign * v) as f32))
}

/// Returns three numbers in single precision.
pub fn vec3f(v: &Vector3<f64>) -> [f32; 3] {
    [v.x, v.y, v.z].map(|v| positive_zero(v as f32))
}

/// Returns three numbers in double precision.
pub fn vec3d(v: &Vector3<f64>) -> [f64; 3] {
    [v.x, v.y, v.z].map(|v| if v == 0.0 { 0.0 } else { v })
}

fn positive_zero(v: f32) -> f32 {
    if v == 0.0 { 0.0 } else { v }
}

/// Returns degrees in single precision; infinities are preserved.
pub fn degrees(radians: f64) -> f32 {
    radians.to_degrees() as f32
}

/// Maximum error in radians that single precision may introduce into an orientation.
const SINGLE_PRECISION_ERROR: f64 = 5e-7;

/// Returns an orientation as `quatf`, or as `quatd` if single precision would rotate it by more
/// than [`SINGLE_PRECISION_ERROR`].
///
/// OpenUSD computes the angle of an orientation from w alone, as 2·acos(w). Near the identity w is
/// so flat that single precision can't resolve angles: 1 mrad is off by up to 0.1 mrad, and 0.1
/// mrad becomes zero, which is not acceptable for calibrated robots.
fn orientation(rotation: &UnitQuaternion<f64>) -> Attribute {
    let single = quatf(rotation);
    let [w, x, y, z] = single.map(f64::from);
    let read = match Unit::try_new(Vector3::new(x, y, z), 1e-10) {
        Some(axis) => UnitQuaternion::from_axis_angle(&axis, 2.0 * w.clamp(-1.0, 1.0).acos()),
        None => UnitQuaternion::identity(),
    };
    if read.angle_to(rotation) <= SINGLE_PRECISION_ERROR {
        return Attribute::quatf(single);
    }
    let q = rotation.quaternion();
    let sign = if q.w < 0.0 { -1.0 } else { 1.0 };
    Attribute::quatd([q.w, q.i, q.j, q.k].map(|v| if v == 0.0 { 0.0 } else { sign * v }))
}

/// Authors exactly `xformOp:translate` and `xformOp:orient` (REP-158 §1.1), and `xformOp:scale` for
/// leaf geometry.
pub fn place(prim: &mut Prim<'_>, pose: &Pose, scale: Option<&Vector3<f64>>) {
    prim.attribute(
        "xformOp:translate",
        Attribute::double3(vec3d(&pose.translation.vector)),
    )
    .attribute("xformOp:orient", orientation(&pose.rotation));
    let mut order = vec![
        Token::new("xformOp:translate"),
        Token::new("xformOp:orient"),
    ];
    if let Some(scale) = scale {
        prim.attribute("xformOp:scale", Attribute::float3(vec3f(scale)));
        order.push(Token::new("xformOp:scale"));
    }
    prim.attribute("xformOpOrder", Attribute::token_array(order).uniform());
}

/// Returns the token of USD's joint axis and the rotation from that axis to `axis`: the identity
/// for the three positive axes.
pub fn joint_axis(axis: &Unit<Vector3<f64>>) -> (&'static str, UnitQuaternion<f64>) {
    let half_turn =
        |about: Unit<Vector3<f64>>| UnitQuaternion::from_axis_angle(&about, std::f64::consts::PI);
    // The tokens name positive axes only, so a negative one is half a turn away from its token.
    let axes = [
        ("X", Vector3::x_axis(), Vector3::z_axis()),
        ("Y", Vector3::y_axis(), Vector3::x_axis()),
        ("Z", Vector3::z_axis(), Vector3::x_axis()),
    ];
    for (token, unit, across) in axes {
        if (axis.into_inner() - unit.into_inner()).norm() < 1e-9 {
            return (token, UnitQuaternion::identity());
        }
        if (axis.into_inner() + unit.into_inner()).norm() < 1e-9 {
            return (token, half_turn(across));
        }
    }
    (
        "X",
        UnitQuaternion::rotation_between_axis(&Vector3::x_axis(), axis)
            .unwrap_or_else(UnitQuaternion::identity),
    )
}

#[cfg(test)]
mod tests {
    use super::joint_axis;
    use nalgebra::{Unit, Vector3};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_token_axis_is_turned_onto_the_axis(v in prop::array::uniform3(-1.0..1.0f64)) {
            prop_assume!(Vector3::from(v).norm() > 1e-3);
            let axis = Unit::new_normalize(Vector3::from(v));
            let (token, rotation) = joint_axis(&axis);
            let unit = match token { "X" => Vector3::x(), "Y" => Vector3::y(), _ => Vector3::z() };
            prop_assert!((rotation * unit - axis.into_inner()).norm() < 1e-9);
        }
    }

    #[test]
    fn axes_along_the_frame_need_no_oblique_rotation() {
        for (axis, token) in [
            ([1., 0., 0.], "X"),
            ([0., -1., 0.], "Y"),
            ([0., 0., -1.], "Z"),
        ] {
            let axis = Unit::new_normalize(Vector3::from(axis));
            assert_eq!(joint_axis(&axis).0, token);
        }
    }
}
