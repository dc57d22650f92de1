//! Reads the properties that the writer keeps in `extras` (see `json::extras` of `gltf_write`), in
//! the model's terms.

use nalgebra::{Matrix3, Vector3};

use super::findings::Findings;
use super::placement::to_rotation;
use urdf_usd_gltf_extension::axes;
use urdf_usd_gltf_extension::{self as extension, Entry, Json, Misfits};
use urdf_usd_robot::{
    Bounds, Command, Custom, Drive, Element, Gains, Geometry, Inertial, Limit, Pose,
};

/// Maximum nesting depth of custom elements.
const MAX_DEPTH: usize = 64;

/// Reads the custom data in the extras of `owner`.
pub fn custom(owner: &Entry<'_>, findings: &mut Findings) -> Custom {
    let Some(custom) = owner.get("extras").and_then(|extras| extras.get("custom")) else {
        return Custom::default();
    };
    Custom {
        attributes: attributes(&custom),
        elements: elements(&custom, "elements", 0, findings),
    }
}

fn attributes(owner: &Entry<'_>) -> Vec<(String, String)> {
    let members = owner.json.get("attributes").map_or(&[][..], Json::members);
    members
        .iter()
        .filter_map(|(name, value)| Some((name.clone(), value.text()?.to_owned())))
        .collect()
}

fn elements(owner: &Entry<'_>, key: &str, depth: usize, findings: &mut Findings) -> Vec<Element> {
    if depth > MAX_DEPTH {
        return Vec::new();
    }
    let element = |entry: Entry<'_>| {
        Some(Element {
            name: entry.text("name").or_report(findings)?.to_owned(),
            attributes: attributes(&entry),
            text: entry
                .text("text")
                .or_report(findings)
                .unwrap_or_default()
                .to_owned(),
            children: elements(&entry, "children", depth + 1, findings),
            place: findings.place(&entry.at),
        })
    };
    let entries = owner.list(key).value().unwrap_or_default();
    entries.into_iter().filter_map(element).collect()
}

/// Reads the rigid transform in the member `key`; identity if it is absent.
pub fn placement(owner: &Entry<'_>, key: &str, findings: &mut Findings) -> Pose {
    let Some(entry) = owner.get(key) else {
        return Pose::identity();
    };
    let translation = entry
        .numbers("translation")
        .or_report(findings)
        .map(axes::to_vector)
        .unwrap_or_default();
    let rotation = entry
        .numbers("rotation")
        .or_report(findings)
        .and_then(to_rotation)
        .unwrap_or_default();
    Pose::from_parts(translation.into(), rotation)
}

/// Reads the mass properties in the extras of a link.
pub fn inertial(link: &Entry<'_>, findings: &mut Findings) -> Option<Inertial> {
    let entry = link.get("extras")?.get("inertial")?;
    let mass = entry.number("mass").or_report(findings)?;
    let [yy, yz, xy, zz, xz, xx] = entry
        .numbers("inertia")
        .or_report(findings)
        .unwrap_or_default();
    Some(Inertial {
        origin: placement(&entry, "origin", findings),
        mass,
        inertia: Matrix3::new(xx, xy, xz, xy, yy, yz, xz, yz, zz),
        is_assumed: entry
            .get("assumed")
            .is_some_and(|entry| *entry.json == Json::Bool(true)),
        place: findings.place(&entry.at),
    })
}

/// Reads a limit. Effort and velocity are magnitudes, so their signs are dropped.
pub fn limit(limit: &extension::Limit<'_>, findings: &mut Findings) -> Limit {
    let entry = &limit.entry;
    let (lower, upper) = (
        limit.lower().or_report(findings),
        limit.upper().or_report(findings),
    );
    let mut limit = Limit {
        bounds: Bounds::between(lower, upper),
        effort: limit.effort().or_report(findings),
        velocity: limit.velocity().or_report(findings),
    };
    if let (Some(lower), Some(upper)) = (lower, upper)
        && lower > upper
    {
        let message =
            format!("the lower limit {lower} is above the upper limit {upper}; they are exchanged");
        findings.report(
            &super::codes::LIMITS_SWAPPED,
            &entry.at,
            message,
            "exchange them, or correct a sign",
        );
    }
    for (key, side) in [
        ("effort", &mut limit.effort),
        ("velocity", &mut limit.velocity),
    ] {
        if side.is_some_and(|value| value < 0.0) {
            let message = format!("{key} is negative; its magnitude is used");
            findings.report(
                &super::codes::BAD_VALUE,
                &entry.below(key),
                message,
                "remove the sign",
            );
            *side = side.map(f64::abs);
        }
    }
    limit
}

/// Reads the limits that the writer kept in the extras of a joint, or of a loop joint of the model.
pub fn kept_limit(owner: &Entry<'_>, findings: &mut Findings) -> Option<Limit> {
    Some(limit(&owner.get("limit")?.into(), findings))
}

/// Reads the drive in the extras of a joint.
pub fn drive(joint: &Entry<'_>, findings: &mut Findings) -> Option<Drive> {
    let entry = joint.get("extras")?.get("drive")?;
    let command = match entry.text("command").or_report(findings)? {
        "effort" => Command::Effort,
        "velocity" => Command::Velocity,
        "position" => Command::Position,
        _ => {
            findings.misfit(&entry.below("command"), "position, velocity or effort");
            return None;
        }
    };
    let mut number = |key: &str| entry.number(key).or_report(findings);
    Some(Drive {
        command,
        initial_position: number("initialPosition"),
        gains: Some(Gains {
            stiffness: number("stiffness").unwrap_or(0.0),
            damping: number("damping").unwrap_or(0.0),
            target_position: number("targetPosition"),
            target_velocity: number("targetVelocity"),
            max_force: number("maxForce"),
            is_acceleration: matches!(entry.json.get("acceleration"), Some(Json::Bool(true))),
        }),
    })
}

/// Reads the solid that the extras of a shape's node declare; `None` for a mesh, or without a
/// declaration.
pub fn solid(node: &Entry<'_>, findings: &mut Findings) -> Option<Geometry> {
    let form = node.get("extras")?.get("geometry")?;
    let mut length = |key: &str| {
        let length = form.number(key).or_report(findings)?;
        if length < 0.0 {
            findings.misfit(&form.below(key), "a length");
        }
        Some(length).filter(|length| *length >= 0.0)
    };
    match form.json.get("type")?.text()? {
        "cylinder" => Some(Geometry::Cylinder {
            radius: length("radius")?,
            length: length("length")?,
        }),
        "sphere" => Some(Geometry::Sphere {
            radius: length("radius")?,
        }),
        "capsule" => Some(Geometry::Capsule {
            radius: length("radius")?,
            length: length("length")?,
        }),
        "box" => {
            let size: Vector3<f64> = axes::to_vector(form.numbers("size").or_report(findings)?);
            let is_size = size.iter().all(|edge| *edge >= 0.0);
            if !is_size {
                findings.misfit(&form.below("size"), "three lengths");
            }
            is_size.then_some(Geometry::Box { size })
        }
        _ => None,
    }
}

/// Returns whether the extras of a node declare a shape.
pub fn is_shape(node: &Entry<'_>) -> bool {
    node.json
        .get("extras")
        .and_then(|extras| extras.get("geometry")?.get("type")?.text())
        .is_some()
}
