//! Tests of files that other programs may write, and of invalid ones.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_2, FRAC_PI_4};
use std::path::Path;
use std::sync::Arc;

use nalgebra::{UnitQuaternion, Vector3};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Model, Outcome, read};
use urdf_usd_gltf_extension::lights::HARD;
use urdf_usd_resolve::{Files, Options, Resolver};
use urdf_usd_robot::{
    Camera, Channel, Geometry, ImagePlacement, JointKind, Light, LightKind, LookVariant, Map,
    MapRole, Material, Pose, Robot, Sensor, SensorKind, Texture, VisualPart, Wrap, kinematics,
};

mod corrupted;

pub fn no_files() -> Files {
    Files::new(Arc::new(Resolver::new(Options::default())))
}

fn outcome(document: &Value) -> Outcome {
    read(&serde_json::to_vec(document).unwrap(), None, &no_files())
}

/// Returns the robot of a document with one model, and the codes of the findings.
fn robot(document: &Value) -> (Robot, Vec<&'static str>) {
    let Outcome {
        mut models,
        diagnostics,
    } = outcome(document);
    let codes = diagnostics.iter().map(|d| d.code).collect();
    assert_eq!(models.len(), 1, "{diagnostics:?}");
    (models.remove(0).robot, codes)
}

/// Returns a document of nodes and a model.
fn document(nodes: Value, model: Value) -> Value {
    json!({
        "asset": {"version": "2.0"}, "nodes": nodes, "extensionsUsed": ["EXT_robot_kinematics"],
        "extensions": {"EXT_robot_kinematics": {"models": [model]}}
    })
}

/// Adds a triangle as mesh 0, in glTF axes: (0, 0, 0), (1, 0, 0), (0, 2, 0).
fn with_triangle(mut document: Value) -> Value {
    document["meshes"] = json!([{"name": "leaf", "primitives": [{"attributes": {"POSITION": 0}}]}]);
    document["accessors"] =
        json!([{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}]);
    document["bufferViews"] = json!([{"buffer": 0, "byteLength": 36}]);
    let data = "AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAAEAAAAAA";
    document["buffers"] =
        json!([{"byteLength": 36, "uri": format!("data:application/octet-stream;base64,{data}")}]);
    document
}

fn close(a: Vector3<f64>, b: [f64; 3]) -> bool {
    (a - Vector3::from(b)).norm() < 1e-9
}

#[test]
fn the_documents_own_example() {
    let nodes = json!([
        {"name": "robot_root", "children": [1]}, {"name": "base_link", "children": [2]},
        {"translation": [0, 0.1, 0], "children": [3]}, {"children": [4]}, {"name": "upper_arm_link", "children": [5]},
        {"name": "upper_arm_visual", "mesh": 0}
    ]);
    let model = json!({
        "name": "my_robot", "rootNode": 0,
        "links": [{"name": "base_link", "node": 1, "visualNodes": []}, {"name": "upper_arm_link", "node": 4, "visualNodes": [5]}],
        "joints": [{
            "name": "shoulder", "type": "revolute", "parentLink": 0, "childLink": 1, "originNode": 2, "dofNodes": [3],
            "dofs": [{"motion": "rotation", "axis": [0, 0, 1], "default": 0.0,
                      "limit": {"lower": -1.57, "upper": 1.57, "velocity": 2.0, "effort": 50.0}}]
        }]
    });
    let (robot, codes) = robot(&with_triangle(document(nodes, model)));
    assert!(codes.is_empty(), "{codes:?}");
    let joint = &robot.joints().as_slice()[0];
    assert_eq!(
        (joint.kind(), robot.name()),
        (JointKind::Revolute, "my_robot")
    );
    // glTF's y is up, which is z in ROS axes; glTF's z is forward, which is x in ROS axes.
    assert!(close(joint.origin.translation.vector, [0.0, 0.0, 0.1]));
    assert_eq!(joint.axis, Vector3::x_axis());
    let limit = joint.limit.unwrap();
    assert_eq!(
        (limit.bounds.sides(), limit.velocity, limit.effort),
        ((Some(-1.57), Some(1.57)), Some(2.0), Some(50.0))
    );
    assert!(robot.links().as_slice()[0].visuals.is_empty() && robot.named_poses().is_empty());
    let mesh = robot.meshes().as_slice()[0].mesh.arrays().unwrap();
    assert_eq!(
        mesh.points,
        [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 2.0]]
    );
    assert_eq!(mesh.normals.values, [[1.0, 0.0, 0.0]]);
    assert_ne!(robot.meshes().as_slice()[0].mesh.digest, [0; 32]);
}

/// Returns a joint with one degree of freedom about ROS' z, between links 0 and 1.
fn revolute(origin: usize, dof: usize) -> Value {
    json!({"name": "j", "type": "continuous", "parentLink": 0, "childLink": 1, "originNode": origin, "dofNodes": [dof],
        "dofs": [{"motion": "rotation", "axis": [0, 1, 0]}]})
}

#[test]
fn transforms_on_the_way_are_composed() {
    // Offsets between the parent's node and the joint, on the dof node, between it and the child's
    // node, and between the child's node and its mesh.
    let nodes = json!([
        {"name": "base", "translation": [9, 9, 9], "children": [1]}, {"translation": [0, 0, 1], "children": [2]},
        {"rotation": [0, FRAC_1_SQRT_2, 0, FRAC_1_SQRT_2], "children": [3]},
        {"translation": [0, 0, 2], "children": [4, 6]}, {"translation": [0, 0, 4], "children": [5]},
        {"matrix": [1,0,0,0, 0,1,0,0, 0,0,1,0, 0,8,0,1], "mesh": 0, "scale": [1, 1, 1]}, {"mesh": 0}
    ]);
    let links = json!([{"name": "base", "node": 0}, {"name": "arm", "node": 4, "extras": {"inertial": {
        "mass": 2, "origin": {"translation": [1, 0, 0], "rotation": [0, 0, 0, 1]}, "inertia": [1, 2, 3, 4, 5, 6]}}}]);
    let (robot, codes) = robot(&with_triangle(document(
        nodes,
        json!({"name": "r", "links": links, "joints": [revolute(2, 3)]}),
    )));
    assert_eq!(
        codes,
        ["gltf-read-link-moved", "gltf-read-root-placed"],
        "the link's node is two metres from where it turns, and the base is away from the origin"
    );
    let joint = &robot.joints().as_slice()[0];
    // The origin node rotates forward to left. The dof node applies its own translation before its
    // rotation.
    assert!(
        close(joint.origin.translation.vector, [1.0, 2.0, 0.0]),
        "{}",
        joint.origin
    );
    assert!(
        joint
            .origin
            .rotation
            .angle_to(&UnitQuaternion::from_axis_angle(
                &Vector3::z_axis(),
                FRAC_PI_2
            ))
            < 1e-9
    );
    let arm = &robot.links().as_slice()[1];
    assert!(close(
        arm.visuals[0].origin.translation.vector,
        [4.0, 0.0, 8.0]
    ));
    assert!(
        close(arm.visuals[1].origin.translation.vector, [0.0; 3]),
        "what hangs on the dof node moves with it"
    );
    let inertial = arm.inertial.as_ref().unwrap();
    assert!(close(inertial.origin.translation.vector, [4.0, 1.0, 0.0]));
    // glTF's xx, xy, xz, yy, yz, zz are ROS' yy, yz, xy, zz, xz, xx.
    assert_eq!(
        (
            inertial.inertia.m11,
            inertial.inertia.m22,
            inertial.inertia.m33
        ),
        (6.0, 1.0, 4.0)
    );
    assert_eq!(
        (
            inertial.inertia.m12,
            inertial.inertia.m13,
            inertial.inertia.m23
        ),
        (3.0, 5.0, 2.0)
    );
    assert_eq!(robot.meshes().len(), 1, "one mesh, twice");
}

#[test]
fn a_dof_node_that_is_not_at_zero_does_not_move_the_joint() {
    let nodes = json!([
        {"children": [1]}, {"translation": [1, 0, 0], "children": [2]},
        {"rotation": [0, 0.3826834323650898, 0, 0.9238795325112867], "children": [3]}, {}
    ]);
    let links = json!([{"name": "base", "node": 0}, {"name": "arm", "node": 3}]);
    let mut model = json!({"name": "r", "links": links, "joints": [revolute(1, 2)]});
    let (found, codes) = robot(&document(nodes.clone(), model.clone()));
    assert_eq!(
        (codes, found.joints().as_slice()[0].origin.rotation.angle()),
        (vec!["gltf-read-dof-at-rest"], 0.0)
    );
    model["joints"][0]["dofs"][0]["default"] = json!(FRAC_PI_4);
    let (found, codes) = robot(&document(nodes, model));
    assert_eq!(codes, [""; 0]);
    assert_eq!(
        (
            found.named_poses()[0].name.as_str(),
            found.named_poses()[0].positions[0].1[0]
        ),
        ("home", FRAC_PI_4)
    );
}

#[test]
fn the_limit_of_a_planar_joint_is_that_of_both_directions() {
    let nodes: Vec<Value> = (0..4)
        .map(|n| {
            if n < 3 {
                json!({"children": [n + 1]})
            } else {
                json!({})
            }
        })
        .collect();
    let limits = |of_u: Value, of_v: Value| {
        let dofs = [([0.0, 0.0, 1.0], of_u), ([1.0, 0.0, 0.0], of_v)]
            .map(|(axis, limit)| json!({"motion": "translation", "axis": axis, "limit": limit}));
        let plane = json!({"name": "p", "type": "planar", "parentLink": 0, "childLink": 1, "originNode": 1, "dofNodes": [2, 3], "dofs": dofs});
        let links = json!([{"name": "a", "node": 0}, {"name": "b", "node": 3}]);
        robot(&document(
            json!(nodes),
            json!({"name": "r", "links": links, "joints": [plane]}),
        ))
        .0
        .joints()
        .as_slice()[0]
            .limit
    };
    let one = json!({"lower": -1, "upper": 2, "velocity": 3});
    assert_eq!(
        limits(one.clone(), one.clone()).map(|limit| (limit.bounds.sides(), limit.velocity)),
        Some(((Some(-1.0), Some(2.0)), Some(3.0)))
    );
    assert_eq!(
        limits(one, json!({"lower": -2, "upper": 2})),
        None,
        "the model has one limit for both"
    );
}

#[test]
fn other_bases_of_planes_and_free_bodies_keep_their_poses() {
    let axis = |motion: &str, axis: [f64; 3]| json!({"motion": motion, "axis": axis});
    let nodes: Vec<Value> = (0..11)
        .map(|n| {
            if n < 10 {
                json!({"children": [n + 1]})
            } else {
                json!({})
            }
        })
        .collect();
    // A plane normal to ROS' z with axes x and y, and a floating body with axes along and about
    // glTF's x, y and z.
    let dofs = json!([
        axis("translation", [0.0, 0.0, 1.0]),
        axis("translation", [1.0, 0.0, 0.0])
    ]);
    let free = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let free: Vec<Value> = ["translation", "rotation"]
        .into_iter()
        .flat_map(|motion| free.map(|direction| axis(motion, direction)))
        .collect();
    let plane = json!({"name": "p", "type": "planar", "parentLink": 0, "childLink": 1, "originNode": 1, "dofNodes": [2, 3], "dofs": dofs});
    let model = json!({
        "name": "r", "links": [{"name": "a", "node": 0}, {"name": "b", "node": 3}, {"name": "c", "node": 10}],
        "joints": [plane, {"name": "f", "type": "floating", "parentLink": 1, "childLink": 2, "originNode": 4,
            "dofNodes": [5, 6, 7, 8, 9, 10], "dofs": free}],
        "configurations": {
            "there": {"jointPositions": [[1, 2], [1, 2, 3, 0.3, 0.4, 0.5]]},
            "in a row": {"jointPositions": [1, 2, 1, 2, 3, 0.3, 0.4, 0.5]},
            "half": {"jointPositions": [[1, 2], 3], "extras": {"group": "wheels", "joints": [0]}},
            "none": {"jointPositions": [7, 8, 9]}
        }
    });
    let (robot, codes) = robot(&document(json!(nodes), model));
    assert_eq!(codes, ["gltf-read-configuration"]);
    let names: Vec<_> = robot
        .named_poses()
        .iter()
        .map(|pose| {
            (
                pose.name.as_str(),
                pose.group.as_deref(),
                pose.positions.len(),
            )
        })
        .collect();
    assert_eq!(
        names,
        [
            ("half", Some("wheels"), 1),
            ("in a row", None, 2),
            ("there", None, 2)
        ]
    );
    assert_eq!(
        robot.named_poses()[1].positions,
        robot.named_poses()[2].positions
    );
    let mut positions = vec![Vec::new(); 2];
    for (joint, at) in &robot.named_poses()[2].positions {
        positions[joint.index()] = at.clone();
    }
    assert_eq!(robot.joints().as_slice()[0].axis, Vector3::z_axis());
    let poses = {
        let model = kinematics::Model::of(&robot);
        model.poses(&model.flat(&positions))
    };
    assert!(close(poses[1].translation.vector, [1.0, 2.0, 0.0]));
    // glTF's x, y, z are ROS' y, z, x.
    assert!(close(poses[2].translation.vector, [4.0, 3.0, 2.0]));
    let turn = |axis, angle| UnitQuaternion::from_axis_angle(&axis, angle);
    let expected =
        turn(Vector3::y_axis(), 0.3) * turn(Vector3::z_axis(), 0.4) * turn(Vector3::x_axis(), 0.5);
    assert!(poses[2].rotation.angle_to(&expected) < 1e-9);
}

#[test]
fn a_root_node_may_turn_axes_with_z_up() {
    // The rotation takes x to z, y to x and z to y; the other one is a quarter turn about x.
    let turns = [
        json!([-0.5, -0.5, -0.5, 0.5]),
        json!([-FRAC_1_SQRT_2, 0, 0, FRAC_1_SQRT_2]),
    ];
    for turn in turns {
        let nodes = json!([
            {"children": [1], "rotation": turn}, {"children": [2]}, {"translation": [0.3, 0, 0.1], "children": [3, 5]},
            {"children": [4]}, {"mesh": 0, "children": [6]}, {"mesh": 0, "translation": [1, 0, 0]},
            {"mesh": 0, "translation": [0, 0, 1]}
        ]);
        let links = json!([{"name": "base", "node": 1}, {"name": "arm", "node": 4, "extras": {"inertial": {
            "mass": 1.0, "origin": {"translation": [1, 2, 3]}, "inertia": [1.0, 0.0, 0.0, 2.0, 0.0, 3.0]}}}]);
        let mut joint = revolute(2, 3);
        joint["dofs"][0]["axis"] = json!([0, 0, 1]);
        let model = json!({"name": "r", "rootNode": 0, "links": links, "joints": [joint]});
        let (robot, codes) = robot(&with_triangle(document(nodes, model)));
        let (turned, placed) = ("gltf-read-turned-root", "gltf-read-root-placed");
        assert!(
            codes.starts_with(&[turned])
                && codes.iter().all(|code| [turned, placed].contains(code)),
            "{codes:?}"
        );
        assert_eq!(robot.links().as_slice().len(), 2);
        let joint = &robot.joints().as_slice()[0];
        assert_eq!(joint.origin.translation.vector, Vector3::new(0.3, 0.0, 0.1));
        assert_eq!(joint.origin.rotation, UnitQuaternion::identity());
        assert_eq!(joint.axis, Vector3::z_axis());
        // The file's (0, 2, 0) is a point of the mesh, in the axes of the source.
        let mesh = robot.meshes().as_slice()[0].mesh.arrays().unwrap();
        let at = |link: usize, visual: usize| {
            let visual = &robot.links().as_slice()[link].visuals[visual];
            let point = mesh.points[2].map(f64::from);
            visual.origin * nalgebra::Point3::from(point)
        };
        assert!(close(at(0, 0).coords, [1.3, 2.0, 0.1]));
        assert!(close(at(1, 0).coords, [0.0, 2.0, 0.0]));
        assert!(close(at(1, 1).coords, [0.0, 2.0, 1.0]));
        let inertial = robot.links().as_slice()[1].inertial.as_ref().unwrap();
        assert!(close(inertial.origin.translation.vector, [1.0, 2.0, 3.0]));
        let turn = inertial.origin.rotation.to_rotation_matrix();
        let inertia = turn * inertial.inertia * turn.inverse();
        assert!(close(inertia.diagonal(), [1.0, 2.0, 3.0]));
    }
}

#[test]
fn scaled_frames_keep_everything_in_its_place() {
    let nodes = json!([
        {"scale": [0.01, 0.01, 0.01], "children": [1]}, {"children": [2]}, {"translation": [100, 0, 0], "children": [3]},
        {"children": [4]}, {"translation": [0, 200, 0], "mesh": 0}
    ]);
    let links = json!([{"name": "base", "node": 1}, {"name": "arm", "node": 3}]);
    let (robot, codes) = robot(&with_triangle(document(
        nodes,
        json!({"name": "r", "links": links, "joints": [revolute(2, 3)]}),
    )));
    assert_eq!(codes, ["gltf-read-scaled-frame"]);
    assert!(close(
        robot.joints().as_slice()[0].origin.translation.vector,
        [0.0, 1.0, 0.0]
    ));
    let shape = &robot.links().as_slice()[1].visuals[0];
    assert!(close(shape.origin.translation.vector, [0.0, 0.0, 2.0]));
    assert_eq!(
        shape.geometry,
        Geometry::Mesh {
            mesh: robot.meshes().handle(0).unwrap(),
            scale: Vector3::repeat(0.01)
        }
    );
}

#[test]
fn shapes_are_what_hangs_below_links_and_lists_say_what_collides() {
    let hidden = json!({"KHR_node_visibility": {"visible": false}});
    let nodes = json!([
        {"children": [1, 2, 3, 7]}, {"mesh": 0, "children": [4]}, {"children": [5]}, {"mesh": 0, "extensions": hidden},
        {"mesh": 0, "scale": [1, 0, 1]}, {"mesh": 0}, {"mesh": 0}, {"mesh": 9}
    ]);
    let links =
        json!([{"name": "base", "node": 0, "visualNodes": [1, 6, 20], "collisionNodes": [2]}]);
    let (robot, codes) = robot(&with_triangle(document(
        nodes,
        json!({"name": "r", "links": links}),
    )));
    assert_eq!(
        robot.links().as_slice()[0].visuals.len(),
        3,
        "the hidden one is left out, the lost one stands for itself"
    );
    assert_eq!(robot.links().as_slice()[0].collisions.len(), 1);
    assert_eq!(
        codes,
        [
            "gltf-read-bad-value",
            "gltf-read-shape",
            "gltf-read-shape",
            "gltf-read-shape",
            "gltf-read-shape"
        ]
    );
    let missing = Geometry::Missing {
        scale: Vector3::repeat(1.0),
    };
    let shapes = robot.links().as_slice()[0]
        .visuals
        .iter()
        .map(|shape| shape.geometry == missing)
        .collect::<Vec<_>>();
    assert_eq!(
        (robot.meshes().len(), shapes),
        (1, vec![false, false, true])
    );
}

#[test]
fn a_mesh_in_coordinates_of_its_own_is_in_those_of_the_shape_again() {
    let nodes = json!([
        {"children": [1]},
        {"translation": [1, 2, 3], "scale": [2, 2, -2], "children": [2], "extras": {"geometry": {"type": "mesh"}, "shapeName": "s"}},
        {"translation": [0, 1, 0], "scale": [3, 0.5, 1], "mesh": 0}
    ]);
    let (robot, codes) = robot(&with_triangle(document(
        nodes,
        json!({"name": "r", "links": [{"name": "base", "node": 0}]}),
    )));
    assert_eq!(codes, [""; 0]);
    let [shape] = &robot.links().as_slice()[0].visuals[..] else {
        panic!("{:?}", robot.links().as_slice()[0].visuals)
    };
    assert!(close(shape.origin.translation.vector, [3.0, 1.0, 2.0]));
    let Geometry::Mesh { mesh, scale } = shape.geometry else {
        panic!("{shape:?}")
    };
    assert_eq!(scale, Vector3::new(-2.0, 2.0, 2.0));
    assert_eq!(
        robot.meshes()[mesh].mesh.arrays().unwrap().points,
        [[0.0, 0.0, 1.0], [0.0, 3.0, 1.0], [0.0, 0.0, 2.0]]
    );
}

#[test]
fn the_examples_of_the_specification_are_read_without_a_finding() {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/EXT_robot_kinematics/examples");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "gltf") {
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        let Outcome {
            models,
            diagnostics,
        } = read(&bytes, Some(&path), &no_files());
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        let [
            Model {
                robot,
                configurations,
                ..
            },
        ] = &models[..]
        else {
            panic!("{}", path.display())
        };
        let document: Value = serde_json::from_slice(&bytes).unwrap();
        let model = &document["extensions"]["EXT_robot_kinematics"]["models"][0];
        let list = |value: &Value| value.as_array().map_or(0, Vec::len);
        assert_eq!(
            robot.links().len(),
            list(&model["links"]),
            "{}",
            path.display()
        );
        let loops = list(&model["extras"]["loops"]);
        assert_eq!(
            robot.joints().len(),
            list(&model["joints"]) + loops,
            "{}",
            path.display()
        );
        assert_eq!(
            robot
                .joints()
                .values()
                .filter(|joint| joint.closes_loop())
                .count(),
            loops,
            "{}",
            path.display()
        );
        let shown = robot
            .links()
            .values()
            .filter(|link| !link.visuals.is_empty())
            .count();
        let with_visuals = |link: &&Value| list(&link["visualNodes"]) > 0;
        assert_eq!(
            shown,
            model["links"]
                .as_array()
                .unwrap()
                .iter()
                .filter(with_visuals)
                .count(),
            "{}",
            path.display()
        );
        let is_home_alone = *configurations == ["home"];
        assert_eq!(
            robot.named_poses().len(),
            if is_home_alone {
                0
            } else {
                configurations.len()
            },
            "{}",
            path.display()
        );
        count += 1;
    }
    assert!(count >= 6);
}

#[test]
fn lights_are_on_the_links_that_hold_their_nodes() {
    let light = |index: usize| json!({"extensions": {"KHR_lights_punctual": {"light": index}}, "translation": [0, 0, 1]});
    let nodes =
        json!([{"children": [1, 2, 3, 4]}, light(0), light(1), light(2), light(9), light(0)]);
    let mut document = document(
        nodes,
        json!({"name": "r", "links": [{"name": "a", "node": 0}], "joints": []}),
    );
    document["extensions"]["KHR_lights_punctual"] = json!({"lights": [
        {"type": "spot", "name": "lamp", "color": [2, 1, 0], "intensity": 3, "range": 7},
        {"type": "directional", "range": 5},
        {"type": "area"},
    ]});
    let (robot, codes) = robot(&document);
    assert_eq!(codes, ["gltf-read-light"; 2]);
    let [spot, sun] = robot.lights() else {
        panic!("{:?}", robot.lights())
    };
    assert_eq!(
        (spot.name.as_str(), spot.color, spot.intensity, spot.range),
        ("lamp", [1.0, 0.5, 0.0], 6.0, Some(7.0))
    );
    assert_eq!(
        spot.kind,
        LightKind::Spot {
            radius: 0.0,
            inner: 0.0,
            outer: FRAC_PI_4
        }
    );
    assert_eq!(
        (sun.kind, sun.intensity, sun.range),
        (LightKind::Directional { angle: 0.0 }, 1.0, None)
    );
    // glTF's z is x in ROS axes, and the node looks along its -z.
    assert!(close(spot.origin.translation.vector, [1.0, 0.0, 0.0]));
    assert!(close(
        spot.origin.rotation * -Vector3::z(),
        [-1.0, 0.0, 0.0]
    ));
}

/// Returns a robot with two visuals as read from URDF, and the same robot after writing and reading
/// glTF.
fn there_and_back(change: impl FnOnce(&mut Robot)) -> (Robot, Robot) {
    let visual = "<visual><geometry><box size='1 1 1'/></geometry></visual>";
    let urdf = format!("<robot name='r'><link name='a'>{visual}{visual}</link></robot>");
    let mut robot = urdf_usd_urdf::read(&urdf, None).robot.unwrap();
    change(&mut robot);
    let written =
        urdf_usd_gltf_write::write(&robot, &Default::default(), &urdf_usd_store::Store::none())
            .unwrap()
            .glb()
            .unwrap();
    let Outcome {
        mut models,
        diagnostics,
    } = read(&written, None, &no_files());
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    (robot, models.remove(0).robot)
}

fn image(name: &str, opacity: u8) -> Arc<Texture> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    let image = image::RgbaImage::from_pixel(4, 4, image::Rgba([9, 200, 30, opacity]));
    image.write_to(&mut bytes, image::ImageFormat::Png).unwrap();
    urdf_usd_mesh::made(name.to_owned(), bytes.into_inner(), opacity < 255)
}

#[test]
fn materials_come_back_with_where_their_images_lie() {
    let placement = |n: f32| ImagePlacement {
        wrap: [Wrap::Mirror, Wrap::Clamp],
        scale: [2.0, n],
        rotation: f64::from(n),
        translation: [0.1, -0.3],
    };
    let map = |name: &str, channel, n| Map {
        placement: placement(n),
        ..Map::of(image(name, 255), channel)
    };
    let metal = Material {
        base_color_texture: Some(image("color", 255)),
        base_color_placement: placement(0.5),
        metallic: 0.5,
        clearcoat: 0.75,
        clearcoat_roughness: 0.25,
        maps: [
            (MapRole::Roughness, map("rough", Channel::Green, 2.0)),
            (MapRole::Metallic, map("rough", Channel::Blue, 2.0)),
            (MapRole::Normal, map("bumps", Channel::Red, 3.0)),
            (MapRole::Clearcoat, map("coat", Channel::Red, 4.0)),
            (
                MapRole::ClearcoatRoughness,
                map("coat", Channel::Green, 5.0),
            ),
        ]
        .into(),
        ..Material::plain("metal", [1.0; 4])
    };
    let leaf = Material {
        base_color_texture: Some(image("leaf", 100)),
        base_color_placement: ImagePlacement {
            wrap: [Wrap::Clamp, Wrap::Repeat],
            ..ImagePlacement::default()
        },
        opacity_threshold: Some(0.25),
        ior: 1.25,
        specular: Some([0.5, 0.25, 1.0]),
        ..Material::plain("leaf", [1.0; 4])
    };
    let (robot, again) = there_and_back(|robot| {
        let materials = [metal, leaf].map(|material| robot.add_material(material));
        let link = robot.links().handle(0).unwrap();
        let mut visuals = robot.links()[link].visuals.clone();
        for (visual, material) in visuals.iter_mut().zip(materials) {
            visual.material = Some(material);
        }
        robot.set_visuals(link, visuals).unwrap();
    });
    for (a, b) in robot.materials().values().zip(again.materials().values()) {
        // Images have their names in the file, and equal images are merged, whatever their names.
        let unnamed = |material: &Material| {
            let mut material = material.clone();
            let unnamed = |texture: &Arc<Texture>| {
                Arc::new(Texture {
                    name: String::new(),
                    ..Texture::clone(texture)
                })
            };
            material.base_color_texture = material.base_color_texture.as_ref().map(unnamed);
            material
                .maps
                .values_mut()
                .for_each(|map| map.texture = unnamed(&map.texture));
            material
        };
        assert_eq!(unnamed(a), unnamed(b));
    }
    assert_eq!(again.materials().len(), 2);
}

#[test]
fn looks_come_back() {
    let (robot, again) = there_and_back(|robot| {
        let link = robot.links().handle(0).unwrap();
        let at = |visual| VisualPart {
            link,
            visual,
            part: 0,
        };
        let paint = |name: &str, red| Some(Material::plain(name, [red, 0.5, 0.25, 1.0]));
        let grey = robot.add_material(paint("grey", 0.5).unwrap());
        let mut visuals = robot.links()[link].visuals.clone();
        visuals[0].material = Some(grey);
        robot.set_visuals(link, visuals).unwrap();
        let textured = Material {
            base_color_texture: Some(image("wood", 255)),
            ..Material::plain("wood", [1.0; 4])
        };
        let of = |name: &str, materials: Vec<(usize, Option<Material>)>| LookVariant {
            name: name.to_owned(),
            materials: materials
                .into_iter()
                .map(|(visual, material)| (at(visual), material))
                .collect(),
        };
        for look in [
            of("plain", vec![(0, paint("grey", 0.5)), (1, None)]),
            of("red", vec![(0, paint("red", 1.0)), (1, paint("red", 1.0))]),
            of("wood", vec![(0, Some(textured))]),
        ] {
            robot.add_look_variant(look).unwrap();
        }
    });
    assert_eq!(robot.look_variants(), again.look_variants());
    let materials: Vec<_> = again.links().as_slice()[0]
        .visuals
        .iter()
        .map(|shape| again.material_of(shape, 0).map(|m| m.name.as_str()))
        .collect();
    assert_eq!(materials, [Some("grey"), None]);
}

#[test]
fn cameras_come_back() {
    let cameras = [
        Camera {
            horizontal_fov: 1.25,
            parallel_width: None,
            width: 800,
            height: 600,
            near: 0.05,
            far: 30.0,
        },
        Camera {
            horizontal_fov: 1.0,
            parallel_width: Some(2.5),
            width: 300,
            height: 600,
            near: 0.5,
            far: 3.0,
        },
    ];
    let (robot, again) = there_and_back(|robot| {
        let link = robot.links().handle(0).unwrap();
        let sensors = cameras
            .map(|camera| Sensor {
                name: "eye".into(),
                kind: SensorKind::Camera(camera),
                link,
                origin: Pose::from_parts(
                    Vector3::new(1.0, 2.0, 3.0).into(),
                    UnitQuaternion::from_euler_angles(0.1, 0.2, 0.3),
                ),
                frame: None,
                frame_name: None,
                interfaces: Vec::new(),
                place: Default::default(),
            })
            .into();
        robot.set_sensors(sensors).unwrap();
    });
    assert_eq!(again.sensors().len(), 2);
    for (a, b) in robot.sensors().iter().zip(again.sensors()) {
        let (SensorKind::Camera(x), SensorKind::Camera(y)) = (a.kind, b.kind) else {
            panic!("{:?}", b.kind)
        };
        assert!((x.horizontal_fov - y.horizontal_fov).abs() < 1e-12);
        assert_eq!(
            (x.parallel_width, x.width, x.height, x.near, x.far),
            (y.parallel_width, y.width, y.height, y.near, y.far)
        );
        assert!((a.origin.to_homogeneous() - b.origin.to_homogeneous()).amax() < 1e-12);
        assert_eq!((&a.name, a.link), (&b.name, b.link));
    }
    let nodes = json!([{"children": [1, 2]}, {"camera": 0}, {"camera": 3}]);
    let mut document = document(
        nodes,
        json!({"name": "r", "links": [{"name": "a", "node": 0}], "joints": []}),
    );
    document["cameras"] =
        json!([{"type": "perspective", "perspective": {"yfov": 1, "znear": 0.1}}]);
    let (robot, codes) = self::robot(&document);
    assert_eq!(
        (robot.sensors().len(), codes),
        (1, vec!["gltf-read-camera"])
    );
    // A glTF camera looks along -z, which is -x in ROS axes; the model's camera looks along its x,
    // with z up.
    let origin = robot.sensors()[0].origin;
    assert!(
        close(origin * Vector3::x(), [-1.0, 0.0, 0.0])
            && close(origin * Vector3::z(), [0.0, 0.0, 1.0])
    );
}

proptest! {
    #[test]
    fn lights_come_back(
        n in prop::collection::vec(-1.0..1.0f64, 9), kind in 0..3usize, named in any::<bool>(), has_range in any::<bool>()
    ) {
        let urdf = "<robot name='r'><link name='a'/><link name='b'/><joint name='j' type='continuous'><parent link='a'/><child link='b'/>\
                    <origin xyz='1 2 3' rpy='1 2 3'/></joint></robot>";
        let mut robot = urdf_usd_urdf::read(urdf, None).robot.unwrap();
        let (radius, outer) = (n[0].max(0.0), 0.1 + n[1].abs());
        // A hard edge, or one that is softer than the extension asks for.
        let edge = if n[2] > 0.5 { 1.0 } else { n[2].abs() * (1.0 - 1.01 * HARD) };
        let kind = match kind {
            0 => LightKind::Directional { angle: radius },
            1 => LightKind::Point { radius },
            _ => LightKind::Spot { radius, inner: outer * edge, outer },
        };
        let is_parallel = matches!(kind, LightKind::Directional { .. });
        let lamp = Light {
            name: if named { "lamp".into() } else { "b_light_0".into() },
            kind,
            link: robot.link_named("b").unwrap(),
            origin: Pose::from_parts(Vector3::new(n[3], n[4], n[5]).into(), UnitQuaternion::from_scaled_axis(Vector3::new(n[6], n[7], n[8]))),
            color: [1.0, n[3].abs() as f32, n[4].abs() as f32],
            intensity: 1.0 + n[5],
            range: (has_range && !is_parallel).then(|| 2.0 + n[6]),
            place: Default::default(),
        };
        robot.set_lights(vec![lamp]).unwrap();
        let written = urdf_usd_gltf_write::write(&robot, &Default::default(), &urdf_usd_store::Store::none()).unwrap().glb().unwrap();
        let Outcome { models, diagnostics } = read(&written, None, &no_files());
        prop_assert!(diagnostics.is_empty(), "{:?}", diagnostics);
        let (a, b) = (&robot.lights()[0], &models[0].robot.lights()[0]);
        prop_assert_eq!((&a.name, a.kind, a.link, a.color), (&b.name, b.kind, b.link, b.color));
        prop_assert_eq!((a.intensity, a.range), (b.intensity, b.range));
        prop_assert!((a.origin.to_homogeneous() - b.origin.to_homogeneous()).amax() < 1e-12);
    }
}

#[test]
fn several_models_are_several_robots() {
    let mut both = document(
        json!([{"name": "n"}, {}]),
        json!({"name": "a", "links": [{"node": 0}]}),
    );
    let second = json!({"links": [{"name": "x", "node": 1}, {"name": "x"}], "source": {"format": "xrdf", "resolvedAt": "1"}});
    both["extensions"]["EXT_robot_kinematics"]["models"]
        .as_array_mut()
        .unwrap()
        .push(second);
    let Outcome {
        models,
        diagnostics,
    } = outcome(&both);
    let names: Vec<Vec<&str>> = models
        .iter()
        .map(|m| m.robot.links().values().map(|l| l.name()).collect())
        .collect();
    assert_eq!(names, [vec!["n"], vec!["x", "x_2"]]);
    assert_eq!(models[1].robot.name(), "robot");
    let source = models[1].source.as_ref().unwrap();
    assert_eq!(
        (source.format.as_str(), source.resolved_at.as_deref()),
        ("xrdf", Some("1"))
    );
    let codes: Vec<_> = diagnostics
        .iter()
        .map(|d| (d.code, d.place.element.rsplit_once("models/").unwrap().1))
        .collect();
    let expected = [
        ("gltf-read-no-name", "0/links/0"),
        ("gltf-read-link-node", "1/links/1"),
        ("gltf-read-duplicate-name", "1/links/1"),
        ("gltf-read-no-name", "1"),
    ];
    assert_eq!(codes, expected);
}

#[test]
fn what_is_broken_is_a_finding_and_the_rest_is_read() {
    let nodes = json!([{"children": [1, 2, 3, 4, 5]}, {}, {}, {}, {}, {}]);
    let links: Vec<Value> = (0..6)
        .map(|n| json!({"name": format!("l{n}"), "node": n}))
        .collect();
    let joint = |child: usize, more: Value| {
        let mut joint = json!({"name": format!("j{child}"), "type": "revolute", "parentLink": 0, "childLink": child,
            "originNode": child, "dofNodes": [], "dofs": [{"motion": "rotation", "axis": [0, 0, 1]}]});
        joint
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        joint
    };
    let joints = json!([
        joint(
            1,
            json!({"dofs": [{"motion": "rotation", "axis": [0, 0, 2], "limit": {"lower": 1, "upper": -1, "effort": -3}}]})
        ),
        joint(2, json!({"type": "screw", "mimic": {"joint": 2}})),
        joint(
            3,
            json!({"dofs": [{"motion": "translation"}], "mimic": {"joint": 1}})
        ),
        joint(4, json!({"type": "floating"})),
        joint(5, json!({"childLink": 99})),
        joint(
            4,
            json!({"name": "j1", "type": "fixed", "dofs": [], "originNode": null})
        ),
        joint(0, json!({})),
    ]);
    let (robot, mut codes) = robot(&document(
        nodes,
        json!({"name": "r", "links": links, "joints": joints}),
    ));
    let kinds: Vec<_> = robot
        .joints()
        .values()
        .map(|joint| (joint.name(), joint.kind().as_str(), joint.closes_loop()))
        .collect();
    let expected = [
        ("j1", "revolute", false),
        ("j2", "continuous", false),
        ("j3", "prismatic", false),
        ("j4", "continuous", false),
        ("j1_2", "fixed", true),
    ];
    assert_eq!(kinds, expected);
    assert_eq!(
        robot.joints().as_slice()[0]
            .limit
            .map(|limit| (limit.bounds.sides(), limit.effort)),
        Some(((Some(-1.0), Some(1.0)), Some(3.0)))
    );
    assert_eq!(
        robot
            .joints()
            .values()
            .filter(|joint| joint.mimic().is_some())
            .count(),
        1,
        "the circle is cut"
    );
    codes.sort_unstable();
    codes.dedup();
    let expected = [
        "gltf-read-axis",
        "gltf-read-bad-value",
        "gltf-read-duplicate-name",
        "gltf-read-joint-links",
        "gltf-read-joint-nodes",
        "gltf-read-joint-type",
        "gltf-read-limits-swapped",
        "gltf-read-loop",
        "gltf-read-mimic",
    ];
    assert_eq!(codes, expected);
}

#[test]
fn what_is_no_robot_says_so() {
    let code = |bytes: &[u8]| {
        let Outcome {
            models,
            diagnostics,
        } = read(bytes, None, &no_files());
        assert!(models.is_empty());
        diagnostics.first().map(|d| d.code)
    };
    for (bytes, expected) in [
        (&b""[..], "gltf-read-unreadable"),
        (b"glTF\x02\0\0\0\x0c\0\0\0", "gltf-read-unreadable"),
        (b"{\"asset\": {\"version\": \"1.0\"}}", "gltf-read-unreadable"),
        (b"{\"asset\": {\"version\": \"2.0\"}, \"x\": 1e999}", "gltf-read-unreadable"),
        (b"{\"asset\": {\"version\": \"2.0\"}}", "gltf-read-no-kinematics"),
        (
            b"{\"asset\": {\"version\": \"2.0\"}, \"extensions\": {\"EXT_robot_kinematics\": {\"models\": [{}]}}}",
            "gltf-read-no-links",
        ),
    ] {
        assert_eq!(code(bytes), Some(expected), "{}", String::from_utf8_lossy(bytes));
    }
    let nested = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(code(nested.as_bytes()), Some("gltf-read-unreadable"));
}

#[test]
fn deep_and_many_nodes_end() {
    let count = 20_000;
    let nodes: Vec<Value> = (0..count)
        .map(|n| {
            if n + 1 < count {
                json!({"children": [n + 1], "translation": [1e300, 0, 0]})
            } else {
                json!({})
            }
        })
        .collect();
    let links: Vec<Value> = (0..count)
        .map(|n| json!({"name": n.to_string(), "node": n}))
        .collect();
    let joints: Vec<Value> = (1..count)
        .map(|n| json!({"parentLink": 0, "childLink": n, "type": "fixed", "originNode": n}))
        .collect();
    let outcome = outcome(&document(
        json!(nodes),
        json!({"links": links, "joints": joints}),
    ));
    let Model { robot, .. } = &outcome.models[0];
    assert_eq!(robot.links().len(), count);
    assert!(robot.joints().values().all(|joint| {
        joint
            .origin
            .translation
            .vector
            .iter()
            .all(|x| x.is_finite())
    }));
    assert!(outcome.diagnostics.len() < 200);
}
