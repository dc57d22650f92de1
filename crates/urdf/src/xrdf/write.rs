//! Writes a robot's planning data as XRDF.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use super::{Modifiers, is_coordinate};
use urdf_usd_robot::{Coordinate, Joint, JointId, LinkId, PlanningCollision, Robot};

/// Writes [`Robot::planning`] and the default pose of a robot as XRDF.
///
/// The version is 1.0, or 2.0 if there are several geometry groups. Coordinates without limits get
/// those of `limits` (acceleration and jerk, in rad/s² and rad/s³ or m/s² and m/s³), since XRDF
/// requires them. `modifiers` are the difference between the robot and the description that the XRDF
/// is for: joints that mimic there are no coordinates, and the joints of added frames are fixed.
pub fn write(robot: &Robot, limits: (f64, f64), modifiers: &Modifiers) -> String {
    let planning = robot.planning();
    let is_first_version = planning.groups.len() <= 1;
    let mut text = format!(
        "format: xrdf\nformat_version: {}\n",
        if is_first_version { "1.0" } else { "2.0" }
    );
    let link = |id: LinkId| quoted(robot.links()[id].name());
    let joint = |id: JointId| quoted(robot.joints()[id].name());
    let added = modifiers.frames.iter().filter_map(|name| {
        let joint = robot.tree().parent_joint(robot.link_named(name)?)?;
        Some(robot.joints()[joint].name())
    });
    let freed = modifiers.freed.iter().map(String::as_str);
    let fixed: HashSet<&str> = added.chain(freed).collect();
    let is_coordinate = |joint: &Joint| is_coordinate(joint) && !fixed.contains(joint.name());
    text += &changes(robot, modifiers);
    // Some readers require all joints in this section: those that the pose leaves out are at zero,
    // clamped to their limits. Writing to a string can't fail.
    let pose = robot
        .default_pose()
        .into_iter()
        .flat_map(|pose| &pose.positions);
    let given: HashMap<JointId, f64> = pose
        .filter_map(|(joint, at)| Some((*joint, *at.first()?)))
        .collect();
    text += "\ndefault_joint_positions:";
    let moving = robot
        .joints()
        .iter()
        .filter(|(_, joint)| is_coordinate(joint));
    let mut positions = moving
        .map(|(id, other)| (id, other.bounds().nearest(0.0) + 0.0))
        .peekable();
    text += if positions.peek().is_some() {
        "\n"
    } else {
        " {}\n"
    };
    for (id, otherwise) in positions {
        let _ = writeln!(
            text,
            "  {}: {}",
            joint(id),
            number(given.get(&id).copied().unwrap_or(otherwise))
        );
    }
    let coordinates: Vec<&Coordinate> = planning
        .coordinates
        .iter()
        .filter(|coordinate| is_coordinate(&robot.joints()[coordinate.joint]))
        .collect();
    text += "\ncspace:\n  joint_names:";
    text += if coordinates.is_empty() {
        " []\n"
    } else {
        "\n"
    };
    for coordinate in &coordinates {
        let _ = writeln!(text, "    - {}", joint(coordinate.joint));
    }
    let acceleration: Vec<f64> = coordinates
        .iter()
        .map(|c| c.acceleration.unwrap_or(limits.0))
        .collect();
    let jerk: Vec<f64> = coordinates
        .iter()
        .map(|c| c.jerk.unwrap_or(limits.1))
        .collect();
    let _ = writeln!(
        text,
        "  acceleration_limits: [{}]\n  jerk_limits: [{}]",
        numbers(&acceleration),
        numbers(&jerk)
    );
    let frames: Vec<String> = planning
        .tool_frames
        .iter()
        .map(|&frame| link(frame))
        .collect();
    let _ = writeln!(text, "\ntool_frames: [{}]", frames.join(", "));
    let section = |name: &str, collision: &PlanningCollision| {
        let group = planning
            .groups
            .get(collision.group)
            .map_or("", |group| &group.name);
        let mut text = format!("\n{name}:\n  geometry: {}\n", quoted(group));
        if !collision.buffers.is_empty() {
            text += "  buffer_distance:\n";
        }
        for (of, buffer) in &collision.buffers {
            let _ = writeln!(text, "    {}: {}", link(*of), number(*buffer));
        }
        text
    };
    if let Some(collision) = &planning.collision {
        text += &section(
            if is_first_version {
                "collision"
            } else {
                "world_collision"
            },
            collision,
        );
    }
    if let Some(collision) = &planning.self_collision {
        text += &section("self_collision", collision);
        let mut pairs = planning.ignored.iter().peekable();
        text += if pairs.peek().is_some() {
            "  ignore:\n"
        } else {
            "  ignore: {}\n"
        };
        while let Some((first, second)) = pairs.next() {
            let mut others = vec![link(second)];
            // Pairs are sorted, so that those with the same first link are consecutive.
            while let Some((_, other)) = pairs.next_if(|(next, _)| *next == first) {
                others.push(link(other));
            }
            let _ = writeln!(text, "    {}: [{}]", link(first), others.join(", "));
        }
    }
    if !planning.groups.is_empty() {
        text += "\ngeometry:\n";
    }
    for group in &planning.groups {
        let _ = write!(text, "  {}:\n    spheres:", quoted(&group.name));
        text += if group.spheres.is_empty() {
            " {}\n"
        } else {
            "\n"
        };
        for (of, spheres) in &group.spheres {
            let _ = writeln!(text, "      {}:", link(*of));
            for sphere in spheres {
                let center = numbers(sphere.center.coords.as_slice());
                let _ = writeln!(
                    text,
                    "        - center: [{center}]\n          radius: {}",
                    number(sphere.radius)
                );
            }
        }
    }
    text
}

/// Returns the section `modifiers`; nothing without changes.
fn changes(robot: &Robot, modifiers: &Modifiers) -> String {
    let mut text = String::new();
    for name in &modifiers.frames {
        let joint = robot
            .link_named(name)
            .and_then(|frame| robot.tree().parent_joint(frame))
            .map(|joint| &robot.joints()[joint]);
        let Some(joint) = joint else {
            continue;
        };
        let (position, rotation) = (joint.origin.translation.vector, joint.origin.rotation);
        let _ = writeln!(
            text,
            "  - add_frame:
      frame_name: {}
      parent_frame_name: {}
      joint_name: {}
      joint_type: FIXED
      fixed_transform:
        position: [{}]
        orientation: {{w: {}, xyz: [{}]}}",
            quoted(name),
            quoted(robot.links()[joint.parent()].name()),
            quoted(joint.name()),
            numbers(position.as_slice()),
            number(rotation.w),
            numbers(rotation.imag().as_slice()),
        );
    }
    if let Some(base) = &modifiers.base {
        let _ = writeln!(text, "  - set_base_frame: {}", quoted(base));
    }
    if text.is_empty() {
        return text;
    }
    format!("\nmodifiers:\n{text}")
}

/// Returns a double-quoted YAML scalar.
fn quoted(name: &str) -> String {
    let mut quoted = String::from("\"");
    for character in name.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            // A byte order mark in content should be escaped (YAML 1.2, section 5.2).
            character if character.is_control() || character == '\u{feff}' => {
                let _ = write!(quoted, "\\U{:08x}", u32::from(character));
            }
            character => quoted.push(character),
        }
    }
    quoted + "\""
}

/// Formats a number for YAML 1.1 as well: with a decimal point and without an exponent.
fn number(value: f64) -> String {
    // Adding zero turns -0 into 0.
    let text = format!("{}", value + 0.0);
    if text.contains('.') {
        text
    } else {
        text + ".0"
    }
}

fn numbers(values: &[f64]) -> String {
    values
        .iter()
        .map(|value| number(*value))
        .collect::<Vec<_>>()
        .join(", ")
}
