//! The axes of degrees of freedom.

use nalgebra::Vector3;

use super::super::asset::{Asset, Joint};
use super::super::codes;
use super::super::findings::Findings;
use super::super::transform::round;
use urdf_usd_robot::JointKind;

/// How far from 1 a length may be in single precision.
const LENGTH_ROUNDING: f64 = 1e-5;
/// How far from 0 the cosine of a right angle may be.
const ANGLE_ROUNDING: f64 = 1e-4;

/// x, y and z of a ROS frame in glTF's axes.
const ROS_AXES: [[f64; 3]; 3] = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];

/// Lengths, and the bases of planar and floating joints.
pub fn check(asset: &Asset<'_>, findings: &mut Findings) {
    for joint in asset.models.iter().flat_map(|model| &model.joints) {
        lengths(joint, findings);
        match joint.kind {
            Some(JointKind::Planar) => planar(joint, findings),
            Some(JointKind::Floating) => floating(joint, findings),
            _ => {}
        }
    }
}

fn lengths(joint: &Joint<'_>, findings: &mut Findings) {
    for (k, axis) in joint.dofs.iter().enumerate().filter_map(|(k, dof)| Some((k, dof.axis?))) {
        let pointer = || format!("{}/dofs/{k}/axis", joint.pointer());
        let length = axis.norm();
        if length <= f64::MIN_POSITIVE {
            let message = format!("{}: the axis of degree of freedom {k} is zero", joint.title());
            findings.report(&codes::AXIS_ZERO, pointer(), message, "give the direction of the axis, of length 1");
        } else if (length - 1.0).abs() > LENGTH_ROUNDING {
            let message = format!("{}: the axis of degree of freedom {k} has length {}, not 1", joint.title(), round(length));
            let help = match axis.try_normalize(f64::MIN_POSITIVE).filter(|unit| unit.norm() > 0.5) {
                Some(unit) => format!("write it as {}", in_words(&unit)),
                None => "divide it by its length".to_owned(),
            };
            findings.report(&codes::AXIS_NOT_UNIT, pointer(), message, help);
        }
    }
}

/// The directions of the degrees of freedom of a joint, if it has `N` that all have one.
fn directions<const N: usize>(joint: &Joint<'_>) -> Option<[Vector3<f64>; N]> {
    // The length of very large vectors is infinite, which leaves nothing of them.
    let unit = |axis: Vector3<f64>| axis.try_normalize(f64::MIN_POSITIVE).filter(|unit| unit.norm() > 0.5);
    let axes: Option<Vec<_>> = joint.dofs.iter().take(N + 1).map(|dof| unit(dof.axis?)).collect();
    axes?.try_into().ok()
}

fn planar(joint: &Joint<'_>, findings: &mut Findings) {
    let Some([u, v]) = directions::<2>(joint) else { return };
    let cosine = u.dot(&v);
    if cosine.abs() <= ANGLE_ROUNDING {
        return;
    }
    let angle = round(cosine.clamp(-1.0, 1.0).acos().to_degrees());
    let message = format!("{}: the two axes of the plane are at {angle}°, not at 90°", joint.title());
    let help = "with the plane's normal n and t = [1, 0, 0] or, if n is close to that, [0, 1, 0], in the source's axes: u = n × t of length 1, v = n × u";
    findings.report(&codes::PLANAR_BASIS, format!("{}/dofs/1/axis", joint.pointer()), message, help);
}

fn floating(joint: &Joint<'_>, findings: &mut Findings) {
    let Some([tx, ty, tz, rx, ry, rz]) = directions::<6>(joint) else { return };
    for (first, what, axes) in [(0, "translations", [tx, ty, tz]), (3, "rotations", [rx, ry, rz])] {
        let pointer = format!("{}/dofs/{first}/axis", joint.pointer());
        let list = axes.map(|axis| in_words(&axis)).join(", ");
        let [x, y, z] = axes;
        let help = "use [0, 0, 1], [1, 0, 0], [0, 1, 0], which are x, y and z of the source in glTF's axes";
        if (x.cross(&y) - z).norm() > ANGLE_ROUNDING || x.dot(&y).abs() > ANGLE_ROUNDING {
            let message = format!("{}: its {what} are along {list}, which is no right-handed basis", joint.title());
            findings.report(&codes::FLOATING_BASIS, pointer, message, help);
        } else if axes.iter().zip(ROS_AXES).any(|(axis, expected)| (axis - Vector3::from(expected)).norm() > ANGLE_ROUNDING) {
            let message = format!("{}: its {what} are along {list}, not along x, y and z of the source", joint.title());
            findings.report(&codes::FLOATING_ORDER, pointer, message, help);
        }
    }
}

fn in_words(v: &Vector3<f64>) -> String {
    format!("[{}, {}, {}]", round(v.x), round(v.y), round(v.z))
}
