//! Cameras: a node per camera, below the node of its link.

use super::nodes::{Nodes, placed};
use crate::json::document::{Camera, CameraExtras, Node, Orthographic, Perspective, View};
use urdf_usd_gltf_extension::cameras;
use urdf_usd_robot::{self as robot, ArenaMap, Robot, SensorKind};

/// Adds the cameras of `robot` to `nodes`, and returns them.
pub fn add(robot: &Robot, nodes: &mut Nodes) -> Vec<Camera> {
    let mut count = ArenaMap::filled(robot.links(), 0);
    let mut list = Vec::new();
    for sensor in robot.sensors() {
        let SensorKind::Camera(camera) = &sensor.kind else {
            continue;
        };
        let link = robot.links()[sensor.link].name();
        let name = format!("{link}_camera_{}", count[sensor.link]);
        count[sensor.link] += 1;
        let frame = nodes.links[sensor.link].frame;
        nodes.add(
            Node {
                camera: Some(list.len()),
                ..placed(name, &cameras::to_node(&sensor.origin))
            },
            frame,
        );
        let extras = CameraExtras {
            width: camera.width,
            height: camera.height,
        };
        list.push(Camera {
            name: sensor.name.clone(),
            view: view(camera),
            extras,
        });
    }
    list
}

fn view(camera: &robot::Camera) -> View {
    let aspect_ratio = f64::from(camera.width) / f64::from(camera.height);
    let (znear, zfar) = (camera.near, camera.far);
    match camera.parallel_width {
        Some(width) => {
            let xmag = width / 2.0;
            View::Orthographic {
                orthographic: Orthographic {
                    xmag,
                    ymag: xmag / aspect_ratio,
                    znear,
                    zfar,
                },
            }
        }
        None => View::Perspective {
            perspective: Perspective {
                aspect_ratio,
                yfov: camera.vertical_fov(),
                znear,
                zfar,
            },
        },
    }
}
