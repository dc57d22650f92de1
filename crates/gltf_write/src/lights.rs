//! `KHR_lights_punctual`: a node per light, below the node of its link.

use super::nodes::{Nodes, placed};
use crate::json::document::{Node, NodeExtensions};
use crate::json::lights::{Light, LightExtras, LightReference, Lights, Spot};
use urdf_usd_gltf_extension::lights;
use urdf_usd_robot::{self as robot, ArenaMap, LightKind, Robot};

/// Adds the lights of `robot` to `nodes`, and returns them.
pub fn add(robot: &Robot, nodes: &mut Nodes) -> Lights {
    let mut count = ArenaMap::filled(robot.links(), 0);
    for (index, light) in robot.lights().iter().enumerate() {
        let link = robot.links()[light.link].name();
        let name = format!("{link}_light_{}", count[light.link]);
        count[light.link] += 1;
        let extensions = NodeExtensions {
            light: Some(LightReference { light: index }),
            ..NodeExtensions::default()
        };
        let frame = nodes.links[light.link].frame;
        nodes.add(
            Node {
                extensions,
                ..placed(name, &lights::to_node(&light.origin))
            },
            frame,
        );
    }
    Lights {
        lights: robot.lights().iter().map(entry).collect(),
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
            // `KHR_lights_punctual` requires an inner angle below the outer one.
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
