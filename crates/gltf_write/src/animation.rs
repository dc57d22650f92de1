//! Preview animations: one per joint, from its lower to its upper limit (step 8 in section 6 of the
//! extension's specification).

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use super::binary::Binary;
use crate::json::document::{Animation, Channel, ChannelTarget, Sampler};
use crate::json::kinematics::{Dof, Joint};
use urdf_usd_gltf_extension::{JointType, Motion};

/// Duration of a preview, in seconds.
const DURATION: f64 = 3.0;
/// Maximum distance of a preview from the joint's default position, in radians, since limits may
/// span any number of turns.
const FARTHEST: f64 = TAU;
/// Maximum number of keyframe intervals of a joint. A follower that needs more, such as one that
/// turns a thousand times per turn of its driver, is not animated.
const MOST_STEPS: f64 = 256.0;

/// First and last position of a preview.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sweep {
    from: f64,
    to: f64,
}

/// Returns a preview for each of `joints` that has one degree of freedom and is no follower. It
/// covers the limits, or a full turn of a continuous joint; followers move along.
pub fn previews(joints: &[Joint], binary: &mut Binary) -> Vec<Animation> {
    let preview = |(index, joint): (usize, &Joint)| {
        let ([dof], None) = (joint.dofs.as_slice(), &joint.mimic) else {
            return None;
        };
        let sweep = range(dof, joint.kind)?;
        let mut animation = Animation {
            name: joint.name.clone(),
            channels: Vec::new(),
            samplers: Vec::new(),
        };
        animation.add(joint, dof, sweep, binary);
        for follower in joints {
            if let (Some(mimic), [dof]) = (
                follower.mimic.as_ref().filter(|mimic| mimic.joint == index),
                &follower.dofs[..],
            ) {
                let at = |q: f64| mimic.multiplier * q + mimic.offset;
                let sweep = Sweep {
                    from: at(sweep.from),
                    to: at(sweep.to),
                };
                animation.add(follower, dof, sweep, binary);
            }
        }
        (!animation.channels.is_empty()).then_some(animation)
    };
    joints.iter().enumerate().filter_map(preview).collect()
}

/// Returns the positions between which a joint is shown; `None` if they are unknown or equal.
fn range(dof: &Dof, kind: JointType) -> Option<Sweep> {
    let limits = dof.limit.and_then(|limit| limit.lower.zip(limit.upper));
    let (from, to) = match (limits, dof.motion) {
        (Some((lower, upper)), Motion::Translation) => (lower, upper),
        (Some((lower, upper)), Motion::Rotation) => (
            lower.max(dof.default - FARTHEST),
            upper.min(dof.default + FARTHEST),
        ),
        (None, Motion::Rotation) if kind == JointType::Continuous => (-PI, PI),
        (None, _) => return None,
    };
    (from < to).then_some(Sweep { from, to })
}

impl Animation {
    /// Adds the motion of `joint`, which has one degree of freedom.
    fn add(&mut self, joint: &Joint, dof: &Dof, sweep: Sweep, binary: &mut Binary) {
        let Sweep { from, to } = sweep;
        let Some(&node) = joint.dof_nodes.first() else {
            return;
        };
        // Viewers interpolate rotations along the shorter arc, which is ambiguous from half a turn
        // on: keyframes are at most a quarter turn apart.
        let steps = match dof.motion {
            Motion::Rotation => ((to - from).abs() / FRAC_PI_2).ceil().max(1.0),
            Motion::Translation => 1.0,
        };
        // Keyframes are in single precision, where a very large limit becomes infinite.
        let is_written = |q: f64| (q as f32).is_finite();
        if !(steps <= MOST_STEPS && is_written(from) && is_written(to)) {
            return;
        }
        let shares: Vec<f64> = (0..=steps as usize).map(|k| k as f64 / steps).collect();
        let times: Vec<[f32; 1]> = shares
            .iter()
            .map(|share| [(share * DURATION) as f32])
            .collect();
        let input = binary.samples(&times, "SCALAR");
        let at = |share: f64| from + (to - from) * share;
        let output = match dof.motion {
            Motion::Rotation => binary.samples(
                &shares
                    .iter()
                    .map(|&s| turned(dof.axis, at(s)))
                    .collect::<Vec<_>>(),
                "VEC4",
            ),
            Motion::Translation => {
                let moved = |share| dof.axis.map(|x| (x * at(share)) as f32 + 0.0);
                binary.samples(
                    &shares.iter().map(|&s| moved(s)).collect::<Vec<_>>(),
                    "VEC3",
                )
            }
        };
        self.channels.push(Channel {
            sampler: self.samplers.len(),
            target: ChannelTarget {
                node,
                path: dof.motion,
            },
        });
        self.samplers.push(Sampler { input, output });
    }
}

/// Returns a rotation about a unit axis as x, y, z, w.
fn turned(axis: [f64; 3], angle: f64) -> [f32; 4] {
    let (sin, cos) = (angle / 2.0).sin_cos();
    // Adding 0.0 turns −0.0 into 0.0, so that equal keyframes are equal bytes.
    [axis[0] * sin, axis[1] * sin, axis[2] * sin, cos].map(|x| x as f32 + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::kinematics::Mimic;
    use crate::json::limit::Limit;

    fn joint(lower: f64, upper: f64, default: f64, mimic: Option<Mimic>) -> Joint {
        let limit = Some(Limit {
            lower: Some(lower),
            upper: Some(upper),
            ..Limit::default()
        });
        let motion = if mimic.is_none() {
            Motion::Rotation
        } else {
            Motion::Translation
        };
        Joint {
            name: "j".into(),
            kind: JointType::Revolute,
            parent_link: 0,
            child_link: 1,
            origin_node: 0,
            dof_nodes: vec![1],
            dofs: vec![Dof {
                motion,
                axis: [0.0, 0.0, 1.0],
                limit,
                default,
            }],
            mimic,
            dynamics: None,
            safety: None,
            calibration: None,
            extras: Default::default(),
        }
    }

    #[test]
    fn wide_limits_end_a_turn_from_the_default() {
        for ((lower, upper, default), expected) in [
            ((-1.0, 2.0, 0.0), Some((-1.0, 2.0))),
            ((6.5, 9.0, 6.5), Some((6.5, 9.0))),
            ((-1e9, 1e9, 0.0), Some((-TAU, TAU))),
            ((5.0, 50.0, 5.0), Some((5.0, 5.0 + TAU))),
            ((1.0, 1.0, 1.0), None),
        ] {
            assert_eq!(
                range(
                    &joint(lower, upper, default, None).dofs[0],
                    JointType::Revolute
                ),
                expected.map(|(from, to)| Sweep { from, to })
            );
        }
    }

    #[test]
    fn what_single_precision_can_not_hold_has_no_preview() {
        let mimic = Mimic {
            joint: 0,
            multiplier: 1e39,
            offset: 0.0,
        };
        let joints = [
            joint(-1.0, 1.0, 0.0, None),
            joint(-1.0, 1.0, 0.0, Some(mimic)),
        ];
        let animations = previews(&joints, &mut Binary::default());
        assert_eq!((animations.len(), animations[0].channels.len()), (1, 1));
    }
}
