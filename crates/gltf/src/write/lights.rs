//! `KHR_lights_punctual`: a node for each light below that of its link.

use super::nodes::{Nodes, placed};
use crate::json::document::{Node, NodeExtensions};
use crate::json::lights::{Light, LightExtras, LightReference, Lights, Spot};
use crate::lights;
use urdf_usd_robot::{self as robot, LightKind, Robot};

/// Adds the lights of `robot`.
pub fn add(robot: &Robot, nodes: &mut Nodes) -> Lights {
    let mut count = vec![0; robot.links.len()];
    for (index, light) in robot.lights.iter().enumerate() {
        let (Some(link), Some(above)) =
            (robot.links.get(light.link.0), nodes.links.get(light.link.0))
        else {
            continue;
        };
        let name = format!("{}_light_{}", link.name, count[light.link.0]);
        count[light.link.0] += 1;
        let extensions = NodeExtensions {
            light: Some(LightReference { light: index }),
            ..NodeExtensions::default()
        };
        let frame = above.frame;
        nodes.add(
            Node {
                extensions,
                ..placed(name, &lights::to_node(&light.origin))
            },
            frame,
        );
    }
    Lights {
        lights: robot.lights.iter().map(entry).collect(),
    }
}

fn entry(light: &robot::Light) -> Light {
    let (kind, spot, extras) = match light.kind {
        LightKind::Directional { angle } => (
            "directional",
            None,
            Some(LightExtras::Angle { angle }).filter(|_| angle > 0.0),
        ),
        LightKind::Point { radius } => ("point", None, of_radius(radius)),
        LightKind::Spot {
            radius,
            inner,
            outer,
        } => {
            let inner = inner.clamp(0.0, outer * (1.0 - lights::HARD));
            (
                "spot",
                Some(Spot {
                    inner_cone_angle: inner,
                    outer_cone_angle: outer,
                }),
                of_radius(radius),
            )
        }
    };
    Light {
        name: light.name.clone(),
        kind,
        color: Some(light.color).filter(|color| *color != [1.0; 3]),
        intensity: light.intensity,
        range: light.range,
        spot,
        extras,
    }
}

fn of_radius(radius: f64) -> Option<LightExtras> {
    (radius > 0.0).then_some(LightExtras::Radius { radius })
}
