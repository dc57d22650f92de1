//! Joint limits are numbers, the lower one not above the upper one.

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "A joint limit is not a number, or the lower limit is above the upper one.",
    outcome: "The joint cannot move, or the engine stops with an error.",
    demand: "A joint's limits must be numbers, the lower one not above the upper one.",
    section: ("Physics", "§1.3"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for joint in &subject.physics.joints {
        let prim = &subject.stage[joint.prim];
        let mut bounds = match prim.type_name.as_str() {
            "PhysicsRevoluteJoint" | "PhysicsPrismaticJoint" => {
                vec![(
                    "physics:lowerLimit".into(),
                    "physics:upperLimit".into(),
                    true,
                )]
            }
            // A negative distance means no limit.
            "PhysicsDistanceJoint"
                if prim
                    .number("physics:maxDistance")
                    .is_none_or(|most| most >= 0.0 || most.is_nan()) =>
            {
                vec![(
                    "physics:minDistance".into(),
                    "physics:maxDistance".into(),
                    true,
                )]
            }
            // The two cone angles are independent of each other.
            "PhysicsSphericalJoint" => vec![(
                "physics:coneAngle0Limit".into(),
                "physics:coneAngle1Limit".into(),
                false,
            )],
            _ => Vec::new(),
        };
        // PhysicsLimitAPI is exempt from the order: a lower limit above the upper one locks the axis.
        let axes = prim.instances_of("PhysicsLimitAPI");
        bounds.extend(axes.map(|axis| {
            (
                format!("limit:{axis}:physics:low"),
                format!("limit:{axis}:physics:high"),
                false,
            )
        }));
        for (low, high, is_ordered) in bounds {
            let values = [prim.number(&low), prim.number(&high)];
            let message = match values {
                [Some(value), _] if value.is_nan() => {
                    format!("the joint {} has a {low} that is not a number", prim.path)
                }
                [_, Some(value)] if value.is_nan() => {
                    format!("the joint {} has a {high} that is not a number", prim.path)
                }
                [Some(lower), Some(upper)] if is_ordered && lower > upper => {
                    format!(
                        "the joint {} has the lower limit {lower}, above its upper limit {upper}",
                        prim.path
                    )
                }
                [Some(lower), Some(upper)]
                    if is_ordered && lower == upper && lower.is_infinite() =>
                {
                    format!("the joint {} has the limit {lower} at both ends", prim.path)
                }
                _ => continue,
            };
            let is_upper =
                values[0].is_none_or(|value| !value.is_nan()) && values[1].is_some_and(f64::is_nan);
            let help = "author the smaller value as the lower limit: in degrees for revolute joints, in metres for prismatic ones, -inf and inf for no limit";
            findings.prim(
                joint.prim,
                Some(if is_upper { &high } else { &low }),
                message,
                help,
            );
        }
    }
}
