//! Parameters for motion planners, for the extras of a model.

use super::model::Numbers;
use crate::json::planning::{Buffer, Collision, Coordinate, Planning, Sphere, SphereGroup};
use urdf_usd_gltf_extension::axes;
use urdf_usd_robot::{self as robot, PlanningCollision, Robot};

/// Returns the planning parameters of `robot`; `None` if there are none.
pub fn planning(robot: &Robot, number: &Numbers) -> Option<Planning> {
    let planning = robot.planning();
    if planning.is_empty() {
        return None;
    }
    let coordinate = |coordinate: &robot::Coordinate| {
        let joint = number[coordinate.joint]?;
        Some(Coordinate {
            joint,
            acceleration_limit: coordinate.acceleration,
            jerk_limit: coordinate.jerk,
        })
    };
    let group = |group: &robot::SphereGroup| {
        let of_link = |(link, spheres): &(robot::LinkId, Vec<robot::Sphere>)| {
            let link = link.index();
            let sphere = move |sphere: &robot::Sphere| Sphere {
                link,
                center: axes::vector(&sphere.center.coords),
                radius: sphere.radius,
            };
            spheres.iter().map(sphere).collect::<Vec<_>>()
        };
        SphereGroup {
            name: group.name.clone(),
            spheres: group.spheres.iter().flat_map(of_link).collect(),
        }
    };
    let collision = |collision: &PlanningCollision| Collision {
        group: collision.group,
        buffers: collision
            .buffers
            .iter()
            .map(|&(link, distance)| Buffer {
                link: link.index(),
                distance,
            })
            .collect(),
    };
    Some(Planning {
        coordinates: planning.coordinates.iter().filter_map(coordinate).collect(),
        tool_frames: planning
            .tool_frames
            .iter()
            .map(|link| link.index())
            .collect(),
        sphere_groups: planning.groups.iter().map(group).collect(),
        collision: planning.collision.as_ref().map(collision),
        self_collision: planning.self_collision.as_ref().map(collision),
        ignored_pairs: planning
            .ignored
            .iter()
            .map(|(a, b)| [a.index(), b.index()])
            .collect(),
    })
}
