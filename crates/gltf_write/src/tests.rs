//! Reads the written file with independent code and compares it with the robot.

use std::sync::Arc;

use nalgebra::{Isometry3, Quaternion, Translation3, Unit, UnitQuaternion, Vector3};
use serde_json::Value;

use super::{Options, write};
use urdf_usd_diagnostic::Place;
use urdf_usd_gltf_extension::source::Source;
use urdf_usd_robot::*;
use urdf_usd_store::Store;

fn link(name: &str, visuals: Vec<Shape>, collisions: Vec<Shape>) -> Link {
    let mut link = Link::new(name);
    (link.visuals, link.collisions) = (visuals, collisions);
    link
}

/// Returns handles that fit any robot: its first two materials and its first mesh.
fn handles() -> ([MaterialId; 2], MeshId) {
    let mut robot = Robot::new("");
    let materials = [(); 2].map(|()| robot.add_material(Material::plain("", [1.0; 4])));
    (materials, robot.add_mesh(mesh_source("", sheet())))
}

fn shape(geometry: Geometry, material: Option<usize>) -> Shape {
    let origin = pose([0.1, 0.2, 0.3], [0.4, 0.5, 0.6]);
    let material = material.map(|index| handles().0[index]);
    Shape {
        name: None,
        origin,
        geometry,
        material,
        stand_in_for: None,
        instance_set: None,
        custom: Custom::default(),
        place: Place::default(),
    }
}

fn pose(xyz: [f64; 3], [roll, pitch, yaw]: [f64; 3]) -> Pose {
    Isometry3::from_parts(
        Translation3::from(Vector3::from(xyz)),
        UnitQuaternion::from_euler_angles(roll, pitch, yaw),
    )
}

/// Returns a joint between two of the first links of a robot.
fn joint(name: &str, kind: JointKind, parent: usize, child: usize) -> Joint {
    let mut robot = Robot::new("");
    let links: Vec<LinkId> = (0..=parent.max(child))
        .map(|n| robot.add_link(Link::new(n.to_string())).unwrap())
        .collect();
    let n = child as f64;
    let mut joint = Joint::new(name, kind, links[parent], links[child]);
    joint.origin = pose([0.3 * n, -0.2, 0.1 * n], [0.3, -1.2 + n, 0.4 * n]);
    joint.axis = Unit::new_normalize(Vector3::new(0.3 + n, -0.5, 0.8));
    joint
}

fn limit(lower: f64, upper: f64) -> Option<Limit> {
    Some(Limit {
        bounds: Bounds::between(Some(lower), Some(upper)),
        effort: Some(5.0),
        velocity: Some(f64::INFINITY),
    })
}

fn robot(links: Vec<Link>, joints: Vec<Joint>) -> Robot {
    let checker = Texture {
        name: "checker".into(),
        format: ImageFormat::Png,
        bytes: png().into(),
        sha256: "c".into(),
        has_alpha: false,
    };
    let mut textured = Material::plain("checker", [0.5, 0.5, 0.5, 1.0]);
    textured.base_color_texture = Some(Arc::new(checker));
    let mut robot = Robot::new("größe 1");
    robot.add_material(Material::plain("red", [1.0, 0.0, 0.0, 1.0]));
    robot.add_material(textured);
    robot.add_mesh(mesh_source("package://p/meshes/sheet.stl", sheet()));
    for link in links {
        robot.add_link(link).unwrap();
    }
    for joint in joints {
        robot.add_joint(joint).unwrap();
    }
    robot.custom.attributes = vec![("version".into(), "1.0".into())];
    robot
}

fn mesh_source(uri: &str, mesh: Mesh) -> MeshSource {
    MeshSource::new(uri, Place::default(), Arc::new(mesh.into()))
}

/// Returns two triangles, one without a material and one with a material of the mesh.
fn sheet() -> Mesh {
    let arrays = MeshArrays {
        points: vec![
            [0.0, 0.0, 0.0],
            [1.0, 0.0, 0.0],
            [1.0, 2.0, 0.0],
            [0.0, 2.0, 0.0],
        ],
        triangles: vec![[0, 1, 2], [0, 2, 3]],
        normals: Corners {
            values: vec![[0.0, 0.0, 1.0]],
            indices: vec![[0; 3]; 2],
        },
        uvs: None,
        colors: None,
    };
    let parts = vec![
        Part {
            triangles: 0..1,
            material: None,
        },
        Part {
            triangles: 1..2,
            material: Some(0),
        },
    ];
    Mesh::new(
        arrays,
        parts,
        vec![Material::plain("own", [0.0, 1.0, 0.0, 0.5])],
    )
}

fn png() -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    image::RgbImage::from_pixel(4, 4, image::Rgb([9, 200, 30]))
        .write_to(&mut bytes, image::ImageFormat::Png)
        .unwrap();
    bytes.into_inner()
}

/// Returns a chain with a joint of every kind, mimic chains, a loop and a second root.
fn everything() -> Robot {
    let kinds = [&JointKind::ALL[..], &[JointKind::Revolute; 2]].concat();
    let cube = || Geometry::Box {
        size: Vector3::new(1.0, 2.0, 3.0),
    };
    let (_, sheet) = handles();
    let mesh = |scale| Geometry::Mesh { mesh: sheet, scale };
    let mirrored = Vector3::new(-1.0, 2.0, 3.0);
    let missing = || Geometry::Missing { scale: mirrored };
    let mut links: Vec<Link> = (0..9)
        .map(|n| link(&format!("link-{n}"), Vec::new(), Vec::new()))
        .collect();
    links[1].visuals = vec![
        shape(cube(), Some(0)),
        shape(cube(), Some(1)),
        shape(mesh(mirrored), Some(0)),
    ];
    links[1].collisions = vec![shape(cube(), None), shape(mesh(mirrored), None)];
    links[2].visuals = vec![
        shape(mesh(Vector3::new(1.0, 1.0, 1.0)), Some(1)),
        shape(missing(), None),
        shape(Geometry::Sphere { radius: 0.1 }, None),
        shape(
            Geometry::Capsule {
                radius: 0.1,
                length: 0.5,
            },
            Some(1),
        ),
        shape(
            Geometry::Cylinder {
                radius: 0.1,
                length: 0.5,
            },
            Some(1),
        ),
    ];
    links[2].collisions = vec![
        shape(missing(), None),
        shape(Geometry::Sphere { radius: 0.0 }, None),
    ];
    links.push(link("apart", Vec::new(), Vec::new()));
    let mut joints: Vec<Joint> = kinds
        .iter()
        .enumerate()
        .map(|(n, &kind)| joint(&format!("j{n}"), kind, n, n + 1))
        .collect();
    joints[1].limit = limit(0.5, 1.5);
    joints[2].limit = limit(-1.0, 1.0);
    joints[3].limit = limit(2.0, -2.0);
    joints[4].limit = limit(0.25, 0.75);
    joints[5].limit = limit(0.25, 0.75);
    joints.insert(4, joint("ring", JointKind::Revolute, 1, 4));
    // Drivers precede and follow their followers.
    joints.swap(4, 8);
    let mut robot = robot(links, joints);
    let follows = |follower: &str, leader: &str, multiplier: f64, offset: f64| {
        let [follower, joint] = [follower, leader].map(|name| robot.joint_named(name).unwrap());
        let mimic = Mimic {
            joint,
            multiplier,
            offset,
        };
        (follower, Some(mimic))
    };
    let mimics = [
        follows("j6", "j7", 2.0, 0.25),
        follows("j7", "j1", -3.0, 0.5),
    ];
    robot.set_mimics(mimics).unwrap();
    robot
}

struct Glb {
    json: Value,
    binary: Vec<u8>,
}

impl Glb {
    fn of(robot: &Robot) -> Self {
        let source = Source {
            format: "urdf".into(),
            uri: Some("package://p/p.urdf".into()),
            hash: Some("sha256:0".into()),
            ..Source::default()
        };
        let glb = write(
            robot,
            &Options {
                source: Some(source),
                ..Options::default()
            },
            &Store::none(),
        )
        .unwrap()
        .glb()
        .unwrap();
        let length = |at: usize| u32::from_le_bytes(glb[at..at + 4].try_into().unwrap()) as usize;
        assert_eq!((&glb[..4], length(8)), (&b"glTF"[..], glb.len()));
        let end = 20 + length(12);
        let json = serde_json::from_slice(&glb[20..end]).unwrap();
        Self {
            json,
            binary: glb.get(end + 8..).unwrap_or_default().to_vec(),
        }
    }

    fn model(&self) -> &Value {
        &self.json["extensions"]["EXT_robot_kinematics"]["models"][0]
    }

    fn list<'a>(&self, value: &'a Value) -> &'a [Value] {
        value.as_array().map_or(&[], Vec::as_slice)
    }

    /// Returns the vertex colours of a primitive.
    fn colors(&self, primitive: &Value) -> Option<Vec<[u16; 4]>> {
        let accessor =
            &self.json["accessors"][primitive["attributes"]["COLOR_0"].as_u64()? as usize];
        assert_eq!(
            (&accessor["type"], &accessor["normalized"]),
            (&"VEC4".into(), &true.into())
        );
        let view = &self.json["bufferViews"][accessor["bufferView"].as_u64()? as usize];
        let start = view["byteOffset"].as_u64()? as usize;
        let count = accessor["count"].as_u64()? as usize;
        let components = self.binary[start..start + 8 * count]
            .chunks_exact(2)
            .map(|b| u16::from_le_bytes([b[0], b[1]]));
        Some(
            components
                .collect::<Vec<_>>()
                .chunks_exact(4)
                .map(|c| [c[0], c[1], c[2], c[3]])
                .collect(),
        )
    }

    /// Computes the pose of every link's node by the extension's pose algorithm, in glTF axes.
    fn link_poses(&self, positions: &[Vec<f64>]) -> Vec<Pose> {
        let nodes = self.list(&self.json["nodes"]);
        let mut local: Vec<Pose> = nodes.iter().map(node_pose).collect();
        for (joint, positions) in self.list(&self.model()["joints"]).iter().zip(positions) {
            let dofs = self
                .list(&joint["dofs"])
                .iter()
                .zip(self.list(&joint["dofNodes"]));
            for ((dof, node), &q) in dofs.zip(positions) {
                let axis = Vector3::from(numbers(&dof["axis"]));
                assert!((axis.norm() - 1.0).abs() < 1e-9);
                let node = &mut local[node.as_u64().unwrap() as usize];
                assert_eq!(*node, Pose::identity());
                *node = match dof["motion"].as_str().unwrap() {
                    "rotation" => Pose::rotation(axis * q),
                    _ => Pose::translation(axis.x * q, axis.y * q, axis.z * q),
                };
            }
        }
        let mut world = vec![Pose::identity(); nodes.len()];
        let mut stack = vec![0];
        while let Some(parent) = stack.pop() {
            for child in self.list(&nodes[parent]["children"]) {
                let child = child.as_u64().unwrap() as usize;
                world[child] = world[parent] * local[child];
                stack.push(child);
            }
        }
        self.list(&self.model()["links"])
            .iter()
            .map(|link| world[link["node"].as_u64().unwrap() as usize])
            .collect()
    }
}

fn numbers<const N: usize>(value: &Value) -> [f64; N] {
    std::array::from_fn(|k| value[k].as_f64().unwrap())
}

fn node_pose(node: &Value) -> Pose {
    let translation = if node["translation"].is_null() {
        [0.0; 3]
    } else {
        numbers(&node["translation"])
    };
    let [x, y, z, w] = if node["rotation"].is_null() {
        [0.0, 0.0, 0.0, 1.0]
    } else {
        numbers(&node["rotation"])
    };
    Pose::from_parts(
        Vector3::from(translation).into(),
        UnitQuaternion::from_quaternion(Quaternion::new(w, x, y, z)),
    )
}

/// Returns the rotation (x, y, z) → (y, z, x).
fn to_gltf() -> UnitQuaternion<f64> {
    UnitQuaternion::from_rotation_matrix(&nalgebra::Rotation3::from_matrix_unchecked(
        nalgebra::Matrix3::new(0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0),
    ))
}

#[test]
fn the_extensions_pose_algorithm_moves_links_as_the_robot_does() {
    let robot = everything();
    let glb = Glb::of(&robot);
    let mut seed = 1_u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) as f64 / f64::from(1 << 30) - 1.0
    };
    for _ in 0..20 {
        let model = kinematics::Model::of(&robot);
        let mut positions: Vec<f64> = (0..model.positions()).map(|_| random()).collect();
        model.follow(&mut positions);
        let expected = model.poses(&positions);
        let of = |(id, _): (JointId, _)| positions[model.range(id.index())].to_vec();
        let present: Vec<Vec<f64>> = robot
            .joints()
            .iter()
            .filter(|(_, j)| !j.closes_loop())
            .map(of)
            .collect();
        let axes = Pose::from_parts(Translation3::identity(), to_gltf());
        for (expected, found) in expected.iter().zip(glb.link_poses(&present)) {
            let expected = axes * expected * axes.inverse();
            assert!((expected.to_homogeneous() - found.to_homogeneous()).norm() < 1e-9);
        }
    }
}

#[test]
fn the_model_says_what_the_robot_says() {
    let robot = everything();
    let written = write(&robot, &Options::default(), &Store::none()).unwrap();
    let codes: Vec<_> = written.diagnostics.iter().map(|d| d.code).collect();
    assert_eq!(
        codes,
        ["gltf-texture-without-coordinates", "gltf-loop-joint"]
    );
    let glb = Glb::of(&robot);
    let model = glb.model();
    let named = |name: &str| {
        glb.list(&model["joints"])
            .iter()
            .find(|joint| joint["name"] == name)
            .unwrap()
    };
    assert_eq!(glb.list(&model["links"]).len(), robot.links().len());
    assert!(
        glb.list(&model["joints"])
            .iter()
            .all(|joint| joint["name"] != "ring")
    );
    assert_eq!(model["extras"]["loops"][0]["name"], "ring");
    // An infinite velocity is omitted, and a continuous joint has no bounds.
    assert_eq!(
        named("j1")["dofs"][0]["limit"],
        serde_json::json!({"lower": 0.5, "upper": 1.5, "effort": 5.0})
    );
    assert_eq!(
        named("j2")["dofs"][0]["limit"],
        serde_json::json!({"effort": 5.0})
    );
    assert_eq!(
        named("j3")["dofs"][0]["limit"],
        serde_json::json!({"lower": -2.0, "upper": 2.0, "effort": 5.0}),
        "in order"
    );
    // The limit of a planar joint applies in both directions; that of a floating joint applies to
    // none of its degrees of freedom.
    let allowed = serde_json::json!({"lower": 0.25, "upper": 0.75, "effort": 5.0});
    for dof in glb.list(&named("j4")["dofs"]) {
        assert_eq!(
            (&dof["limit"], &dof["default"]),
            (&allowed, &serde_json::json!(0.25))
        );
    }
    assert!(
        named("j4")
            .get("extras")
            .is_none_or(|extras| extras.get("limit").is_none())
    );
    assert!(
        glb.list(&named("j5")["dofs"])
            .iter()
            .all(|dof| dof.get("limit").is_none() && dof["default"] == 0.0)
    );
    assert_eq!(named("j5")["extras"]["limit"], allowed);
    assert_eq!(named("j0")["dofNodes"], serde_json::json!([]));
    // j6 = 2·j7 + 0.25 and j7 = -3·j1 + 0.5.
    let driver = glb
        .list(&model["joints"])
        .iter()
        .position(|joint| joint["name"] == "j1")
        .unwrap();
    assert_eq!(
        named("j6")["mimic"],
        serde_json::json!({"joint": driver, "multiplier": -6.0, "offset": 1.25})
    );
    let home = glb.list(&model["configurations"]["home"]["jointPositions"]);
    assert_eq!(home.len(), glb.list(&model["joints"]).len());
    assert_eq!(home[driver], 0.5);
    assert_eq!(named("j6")["dofs"][0]["default"], -1.75);
    assert_eq!(model["source"]["uri"], "package://p/p.urdf");
    assert_eq!(model["extras"]["custom"]["attributes"]["version"], "1.0");
}

#[test]
fn nodes_have_their_names_and_places() {
    let glb = Glb::of(&everything());
    let nodes = glb.list(&glb.json["nodes"]);
    let name = |index: &Value| {
        nodes[index.as_u64().unwrap() as usize]["name"]
            .as_str()
            .unwrap()
    };
    assert_eq!(name(&glb.json["scenes"][0]["nodes"][0]), "größe 1");
    assert_eq!(name(&nodes[0]["children"][0]), "world", "of two roots");
    let model = glb.model();
    let joint = &model["joints"][1];
    assert_eq!(name(&joint["originNode"]), "joint_j1_origin");
    assert_eq!(name(&joint["dofNodes"][0]), "joint_j1_dof0");
    let link = &model["links"][1];
    assert_eq!(name(&link["visualNodes"][2]), "link-1_visual_2");
    let collision = &nodes[link["collisionNodes"][1].as_u64().unwrap() as usize];
    assert_eq!(collision["name"], "link-1_collision_1");
    assert_eq!(
        collision["extensions"]["KHR_node_visibility"]["visible"],
        false
    );
    assert_eq!(collision["scale"], serde_json::json!([2.0, 3.0, -1.0]));
    let lost = &nodes[model["links"][2]["visualNodes"][1].as_u64().unwrap() as usize];
    assert!(
        lost["mesh"].is_null() && !lost["translation"].is_null(),
        "a mesh that was not loaded keeps its place"
    );
}

#[test]
fn geometry_is_stored_once_and_colliders_are_invisible() {
    let glb = Glb::of(&everything());
    // The box (plain, textured, collider) and the sheet (two materials, collider) share accessors.
    let meshes = glb.list(&glb.json["meshes"]);
    let boxes: Vec<_> = meshes.iter().filter(|mesh| mesh["name"] == "box").collect();
    assert_eq!(boxes.len(), 3);
    assert!(
        boxes
            .iter()
            .all(|mesh| mesh["primitives"][0]["attributes"]["POSITION"]
                == boxes[0]["primitives"][0]["attributes"]["POSITION"])
    );
    assert!(boxes[0]["primitives"][0]["attributes"]["TEXCOORD_0"].is_null());
    assert!(!boxes[1]["primitives"][0]["attributes"]["TEXCOORD_0"].is_null());
    let collider =
        &glb.json["materials"][boxes[2]["primitives"][0]["material"].as_u64().unwrap() as usize];
    assert_eq!(
        (
            collider["alphaMode"].as_str(),
            &collider["pbrMetallicRoughness"]["baseColorFactor"][3]
        ),
        (Some("MASK"), &0.0.into())
    );
    assert_eq!(glb.list(&glb.json["images"]).len(), 1);
    let end = glb.list(&glb.json["bufferViews"]).last().unwrap();
    let end = end["byteOffset"].as_u64().unwrap() + end["byteLength"].as_u64().unwrap();
    assert_eq!(glb.json["buffers"][0]["byteLength"], end);
    assert_eq!(glb.binary.len() as u64, end.next_multiple_of(4));
}

#[test]
fn corners_show_their_colours_where_nothing_else_has_a_colour_or_the_material_says_so() {
    // The sheet's first triangle has no material of its own. The second has a green one, with or
    // without vertex colours.
    let sheets = [(true, 0.5), (false, 1.0)].map(|(shows, opacity)| {
        let values = vec![[1.0, 0.0, 0.2, 1.0], [0.0, 0.0, 1.0, opacity]];
        let mut sheet = sheet();
        sheet.colors = Some(Corners {
            values,
            indices: vec![[0; 3], [0, 1, 1]],
        });
        sheet.materials[0].shows_corner_colors = shows;
        sheet
    });
    let mut robot = robot(vec![link("base", Vec::new(), Vec::new())], Vec::new());
    let meshes = sheets.map(|sheet| robot.add_mesh(mesh_source("sheet.stl", sheet)));
    let mesh = |index: usize| Geometry::Mesh {
        mesh: meshes[index],
        scale: Vector3::new(1.0, 1.0, 1.0),
    };
    let base = robot.link_named("base").unwrap();
    let visuals = vec![
        shape(mesh(0), None),
        shape(mesh(0), Some(0)),
        shape(mesh(1), None),
    ];
    robot.set_visuals(base, visuals).unwrap();
    robot
        .set_collisions(base, vec![shape(mesh(0), None)])
        .unwrap();
    let glb = Glb::of(&robot);
    let nodes = glb.list(&glb.json["nodes"]);
    // Vertex colours, base colour and alpha mode of each primitive of a visual.
    type Shown = (Option<Vec<[u16; 4]>>, [f64; 4], Option<String>);
    let shown = |node: &Value| -> Vec<Shown> {
        let mesh = nodes[node.as_u64().unwrap() as usize]["mesh"]
            .as_u64()
            .unwrap() as usize;
        let of_primitive = |primitive: &Value| {
            let material = &glb.json["materials"][primitive["material"].as_u64().unwrap() as usize];
            let color = numbers(&material["pbrMetallicRoughness"]["baseColorFactor"]);
            (
                glb.colors(primitive),
                color,
                material["alphaMode"].as_str().map(str::to_owned),
            )
        };
        glb.list(&glb.json["meshes"][mesh]["primitives"])
            .iter()
            .map(of_primitive)
            .collect()
    };
    let (pink, clear) = ([65535, 0, 13107, 65535], [0, 0, 65535, 32768]);
    let visuals = glb.list(&glb.model()["links"][0]["visualNodes"]);
    let (white, green) = ([1.0; 4], [0.0, 1.0, 0.0, 0.5]);
    let blend = || Some("BLEND".to_owned());
    let translucent = || (Some(vec![pink, clear, clear]), green, blend());
    assert_eq!(
        shown(&visuals[0]),
        [(Some(vec![pink; 3]), white, None), translucent()]
    );
    assert_eq!(
        shown(&visuals[1]),
        [(None, [1.0, 0.0, 0.0, 1.0], None), translucent()]
    );
    assert_eq!(
        shown(&visuals[2]),
        [(Some(vec![pink; 3]), white, None), (None, green, blend())]
    );
    let collider = &glb.model()["links"][0]["collisionNodes"][0];
    assert!(shown(collider).iter().all(|(colors, ..)| colors.is_none()));
    gltf::Gltf::from_slice(
        &write(&robot, &Options::default(), &Store::none())
            .unwrap()
            .glb()
            .unwrap(),
    )
    .expect("valid glTF");
}

#[test]
fn a_robot_of_frames_alone_has_no_buffer_and_writing_is_repeatable() {
    let frames = robot(vec![link("base", Vec::new(), Vec::new())], Vec::new());
    let glb = Glb::of(&frames);
    assert!(glb.binary.is_empty() && glb.json["buffers"].is_null() && glb.json["meshes"].is_null());
    assert_eq!(
        glb.json["extensionsUsed"],
        serde_json::json!(["EXT_robot_kinematics"])
    );
    let nothing = robot(Vec::new(), Vec::new());
    assert_eq!(
        Glb::of(&nothing)
            .list(&Glb::of(&nothing).json["nodes"])
            .len(),
        1
    );
    assert_eq!(
        write(&everything(), &Options::default(), &Store::none())
            .unwrap()
            .glb()
            .unwrap(),
        write(&everything(), &Options::default(), &Store::none())
            .unwrap()
            .glb()
            .unwrap()
    );
}

#[test]
fn a_document_beside_its_buffer_leaves_the_glb_as_it_is() {
    let alone = write(&everything(), &Options::default(), &Store::none())
        .unwrap()
        .glb()
        .unwrap();
    let mut written = write(&everything(), &Options::default(), &Store::none()).unwrap();
    let document: Value = serde_json::from_slice(&written.gltf("a.bin").0).unwrap();
    assert_eq!(document["buffers"][0]["uri"], "a.bin");
    assert_eq!(written.glb().unwrap(), alone);
}

#[test]
fn what_the_gltf_crate_reads_is_valid() {
    let glb = write(&everything(), &Options::default(), &Store::none())
        .unwrap()
        .glb()
        .unwrap();
    gltf::Gltf::from_slice(&glb).expect("valid glTF");
}

/// Returns the mesh points of shapes, transformed by the shapes.
fn points(robot: &Robot, shapes: &[Shape]) -> Vec<Vec<Vector3<f64>>> {
    let of_shape = |shape: &Shape| {
        let Geometry::Mesh { mesh, scale } = shape.geometry else {
            panic!()
        };
        let points = &robot.meshes()[mesh].mesh.arrays().unwrap().points;
        points
            .iter()
            .map(|p| {
                shape.origin
                    * nalgebra::Point3::from(Vector3::from(p.map(f64::from)).component_mul(&scale))
            })
            .map(|p| p.coords)
            .collect()
    };
    shapes.iter().map(of_shape).collect()
}

#[test]
fn copies_of_a_mesh_have_one_node_and_come_back() {
    let copy = |n: usize, instance_set: Option<usize>| {
        let scale = Vector3::new(1.0 + n as f64, 2.0, -0.5);
        let origin = pose([n as f64, -0.3, 0.7], [0.1 * n as f64, 1.0, -2.0]);
        Shape {
            origin,
            instance_set,
            ..shape(
                Geometry::Mesh {
                    mesh: handles().1,
                    scale,
                },
                Some(0),
            )
        }
    };
    let shapes = || {
        vec![
            copy(0, Some(7)),
            copy(1, None),
            copy(2, Some(7)),
            copy(3, Some(7)),
            copy(4, Some(8)),
        ]
    };
    let robot = robot(vec![link("a", shapes(), shapes())], Vec::new());
    for compression in [super::Compression::None, super::Compression::Quantize] {
        for physics in [false, true] {
            let options = Options {
                extent: super::Extent {
                    compression,
                    physics,
                    ..Default::default()
                },
                ..Options::default()
            };
            let written = write(&robot, &options, &Store::none()).unwrap();
            let nodes: Vec<_> = written
                .document
                .nodes
                .iter()
                .filter(|node| node.extensions.instances.is_some())
                .collect();
            assert_eq!(
                nodes.len(),
                if physics { 1 } else { 2 },
                "every collider has a node of its own for physics"
            );
            assert!(
                written
                    .document
                    .extensions_required
                    .contains(&"EXT_mesh_gpu_instancing")
            );
            let files = urdf_usd_resolve::Files::new(Arc::new(urdf_usd_resolve::Resolver::new(
                Default::default(),
            )));
            let urdf_usd_gltf_read::Outcome {
                models,
                diagnostics,
            } = urdf_usd_gltf_read::read(&written.glb().unwrap(), None, &files);
            assert!(diagnostics.is_empty(), "{diagnostics:?}");
            let read = &models[0].robot;
            let list = &read.links().as_slice()[0].visuals;
            let made: Vec<bool> = list
                .iter()
                .map(|shape| shape.instance_set.is_some())
                .collect();
            assert_eq!(
                made,
                [true, true, true, false, false],
                "the copies are where the first of them was"
            );
            // Shapes in the order of the file.
            let ordered: Vec<Shape> = [0, 2, 3, 1, 4]
                .map(|n| robot.links().as_slice()[0].visuals[n].clone())
                .into();
            for (a, b) in points(&robot, &ordered).iter().zip(points(read, list)) {
                let nearest = |a: &Vector3<f64>| {
                    b.iter()
                        .map(|b| (a - b).norm())
                        .fold(f64::INFINITY, f64::min)
                };
                assert!(a.iter().all(|a| nearest(a) < 1e-3), "{a:?} {b:?}");
            }
        }
    }
}
