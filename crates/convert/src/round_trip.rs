//! Round trips: robots through glTF and back must be equal.
//!
//! Files that differ when they are written again go to the folder in `URDF_USD_ROUND_TRIP`.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nalgebra::Vector3;
use rayon::prelude::*;

use super::context::Work;
use super::{Context, Job, Source, Tiers, load};
use urdf_usd_diagnostic::Severity;
use urdf_usd_gltf_read as gltf_read;
use urdf_usd_gltf_write as gltf;
use urdf_usd_resolve::{Files, Options, Resolver};
use urdf_usd_robot::{
    Bounds, Calibration, Channel, Custom, Dynamics, Element, Geometry, Joint, JointId, JointKind,
    Limit, MapRole, Material, Mesh, Mimic, NamedPose, Pose, Robot, Safety, Shape, kinematics,
};
use urdf_usd_store::Store;
use urdf_usd_store::time_limit::TimeLimit;
use urdf_usd_urdf as urdf;

/// Tolerance of single precision for coordinates of about one.
const SINGLE: f32 = 1e-5;

/// Returns the URDFs of this repository and, if available, real ones, each with its folder of
/// packages.
pub(super) fn robots() -> Vec<(PathBuf, PathBuf)> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let mut robots = Vec::new();
    for folder in [
        "examples/sample_arm/urdf",
        "examples/sample_rover/urdf",
        "examples/sample_corners/urdf",
        "test/robots",
    ] {
        let entries = std::fs::read_dir(root.join(folder))
            .unwrap_or_else(|error| panic!("{folder}: {error}"));
        let files = entries
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|e| e == "urdf"));
        robots.extend(files.map(|path| (path, root.join("examples"))));
    }
    assert!(robots.len() > 15);
    let shared = std::env::var_os("URDF_USD_ROBOTS")
        .map_or_else(|| root.join("../shared/robots"), PathBuf::from);
    match std::fs::read(shared.join("MANIFEST.json")) {
        Ok(manifest) => {
            let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
            let urdfs = manifest["entries"]
                .as_array()
                .unwrap()
                .iter()
                .map(|entry| entry["urdf"].as_str().unwrap());
            robots.extend(urdfs.map(|urdf| (shared.join(urdf), shared.clone())));
        }
        Err(_) => eprintln!(
            "skipped: {} has no MANIFEST.json (set URDF_USD_ROBOTS)",
            shared.display()
        ),
    }
    robots.sort();
    robots
}

/// Returns a robot with its meshes and textures, without data that the writer does not use.
fn loaded(urdf: &Path, packages: &Path) -> Robot {
    loaded_with(urdf, packages).0
}

/// Returns the same robot, and its references.
pub(super) fn loaded_with(urdf: &Path, packages: &Path) -> (Robot, urdf::References) {
    let files = Files::new(Arc::new(Resolver::new(Options {
        package_paths: vec![packages.to_owned()],
        ..Options::default()
    })));
    let file = files.input(urdf).unwrap();
    let outcome = urdf::read(&urdf::decode(&file.bytes).unwrap().text, Some(urdf));
    let mut robot = outcome.robot.unwrap();
    let job = Job {
        options: crate::Options {
            tiers: Tiers::High,
            ..Default::default()
        },
        ..Job::new(Source::File(urdf.to_owned()), "")
    };
    let (limit, context) = (TimeLimit::default(), Context::default());
    let work = Work {
        job: &job,
        context: &context,
        files: &Arc::new(files),
        store: &context.store,
        limit: &limit,
    };
    load::load(&mut robot, &outcome.references, urdf.parent(), work).unwrap();
    (robot, outcome.references)
}

pub(super) fn options() -> gltf::Options {
    let source = gltf::Source {
        format: "urdf".into(),
        uri: Some("package://p/r.urdf".into()),
        ..Default::default()
    };
    gltf::Options {
        source: Some(source),
        ..Default::default()
    }
}

fn no_files() -> Files {
    Files::new(Arc::new(Resolver::new(Options::default())))
}

pub(super) fn read(bytes: &[u8], file: &Path, files: &Files, name: &str) -> gltf_read::Model {
    let gltf_read::Outcome {
        mut models,
        diagnostics,
    } = gltf_read::read(bytes, Some(file), files);
    let bad: Vec<_> = diagnostics
        .iter()
        .filter(|d| d.severity > Severity::Info)
        .map(ToString::to_string)
        .collect();
    assert_eq!(bad, [""; 0], "{name}");
    assert_eq!(models.len(), 1, "{name}");
    models.remove(0)
}

/// Adds poses as in an SRDF: of a group, of all joints, and of one name in two groups.
fn add_poses(robot: &mut Robot) {
    let mut driven: Vec<JointId> = robot.joints().handles().collect();
    driven.retain(|&id| {
        let joint = &robot.joints()[id];
        joint.mimic().is_none()
            && !joint.closes_loop()
            && kinematics::position_count(joint.kind()) > 0
    });
    let pose = |name: &str, group: Option<&str>, joints: &[JointId]| {
        let positions = |&id: &JointId| {
            let count = kinematics::position_count(robot.joints()[id].kind());
            let positions = (0..count).map(|k| 0.1 * k as f64 + 1.0 / (id.index() + 3) as f64);
            (id, positions.collect())
        };
        let positions = joints.iter().map(positions).collect();
        NamedPose {
            name: name.into(),
            group: group.map(str::to_owned),
            chain: None,
            positions,
            fixed: Vec::new(),
            place: Default::default(),
        }
    };
    let half = &driven[..driven.len() / 2];
    let poses = [
        pose("home", Some("arm"), half),
        pose("home", Some("hand"), &driven),
        pose("ready/now", Some("arm"), half),
        pose("all", None, &driven),
    ];
    let poses = poses
        .into_iter()
        .filter(|pose| !pose.positions.is_empty())
        .collect();
    robot.set_named_poses(poses).unwrap();
}

#[test]
fn every_robot_comes_back() {
    let robots = robots();
    let differing = |(urdf, packages): &(PathBuf, PathBuf)| {
        let name = urdf.file_stem().unwrap().to_string_lossy();
        let mut robot = loaded(urdf, packages);
        let mut found = Vec::new();
        for has_poses in [false, true] {
            if has_poses {
                add_poses(&mut robot);
            }
            let glb = gltf::write(&robot, &options(), &Store::none())
                .unwrap()
                .glb()
                .unwrap();
            let model = read(&glb, Path::new("r.glb"), &no_files(), &name);
            assert_eq!(model.source, options().source, "{name}");
            same(&robot, &model.robot, &name);
            let again = gltf::write(&model.robot, &options(), &Store::none())
                .unwrap()
                .glb()
                .unwrap();
            if again != glb {
                if let Some(folder) = std::env::var_os("URDF_USD_ROUND_TRIP") {
                    std::fs::write(Path::new(&folder).join(format!("{name}.1.glb")), &glb).unwrap();
                    std::fs::write(Path::new(&folder).join(format!("{name}.2.glb")), &again)
                        .unwrap();
                }
                found.push(format!("{name}: {} and {} bytes", glb.len(), again.len()));
            }
        }
        other_forms(&robot, &name);
        found
    };
    let different: Vec<String> = robots.par_iter().flat_map(differing).collect();
    assert_eq!(different, [""; 0], "not the same bytes when written again");
}

/// Materials with every kind of image: images packed for glTF come back as separate channels, and
/// are written the same again.
#[test]
fn materials_with_images_come_back() {
    let image = |image: image::DynamicImage| {
        let mut bytes = std::io::Cursor::new(Vec::new());
        image.write_to(&mut bytes, image::ImageFormat::Png).unwrap();
        bytes.into_inner()
    };
    let grey = |k: u8| {
        image(image::DynamicImage::ImageLuma8(image::GrayImage::from_fn(
            4,
            4,
            |x, y| image::Luma([k * (x + 4 * y) as u8]),
        )))
    };
    let color = image(image::DynamicImage::ImageRgb8(image::RgbImage::from_fn(
        4,
        4,
        |x, y| image::Rgb([60 * x as u8, 60 * y as u8, 9]),
    )));
    let normals = image(image::DynamicImage::ImageRgb8(image::RgbImage::from_pixel(
        4,
        4,
        image::Rgb([140, 128, 254]),
    )));
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for (name, bytes) in [
        ("a.png", grey(15)),
        ("b.png", grey(9)),
        ("color.png", color),
        ("normals.png", normals),
    ] {
        std::fs::write(at(name), bytes).unwrap();
    }
    let mtl = "newmtl all\nKd 1 1 1\nNi 1.75\nKe 3 1 0\nmap_Kd color.png\nmap_Pr a.png\nmap_Pm b.png\nmap_Ke color.png\nmap_d b.png\n\
               norm -bm 0.5 normals.png\nnewmtl some\nKd 0.5 0.25 1\nPm 0\nmap_Pr a.png\nmap_d a.png\nnewmtl none\nKd 1 0 0\n";
    std::fs::write(at("a.mtl"), mtl).unwrap();
    let corners = "v 0 0 0\nv 1 0 0\nv 1 1 0\nvt 0 0\nvt 1 0\nvt 1 1\n";
    let faces = ["all", "some", "none"]
        .map(|name| format!("usemtl {name}\nf 1/1 2/2 3/3\n"))
        .concat();
    std::fs::write(at("a.obj"), format!("mtllib a.mtl\n{corners}{faces}")).unwrap();
    let urdf = "<robot name='r'><link name='a'><visual><geometry><mesh filename='a.obj'/></geometry></visual></link></robot>";
    std::fs::write(at("r.urdf"), urdf).unwrap();
    let robot = loaded(
        &folder.path().canonicalize().unwrap().join("r.urdf"),
        folder.path(),
    );
    for compression in [
        gltf::Compression::None,
        gltf::Compression::Quantize,
        gltf::Compression::Meshopt,
    ] {
        let options = || gltf::Options {
            extent: gltf::Extent {
                compression,
                ..Default::default()
            },
            ..options()
        };
        let glb = gltf::write(&robot, &options(), &Store::none())
            .unwrap()
            .glb()
            .unwrap();
        let model = read(&glb, Path::new("r.glb"), &no_files(), "r");
        let materials = &model.robot.meshes().as_slice()[0].mesh.materials;
        let [all, some, none] = &materials[..] else {
            panic!("{materials:?}")
        };
        let maps = |material: &Material| {
            material
                .maps
                .iter()
                .map(|(role, map)| (*role, map.channel, map.strength))
                .collect::<Vec<_>>()
        };
        let (rough, metal) = (
            (MapRole::Roughness, Channel::Green, 1.0),
            (MapRole::Metallic, Channel::Blue, 1.0),
        );
        let (normal, emissive) = (
            (MapRole::Normal, Channel::Red, 0.5),
            (MapRole::Emissive, Channel::Red, 1.0),
        );
        assert_eq!(maps(all), [normal, rough, metal, emissive]);
        assert_eq!(
            (maps(some), maps(none)),
            (vec![(MapRole::Roughness, Channel::Red, 1.0)], vec![])
        );
        let of = &robot.meshes().as_slice()[0].mesh.materials;
        for (a, b) in of.iter().zip(materials) {
            assert_eq!(
                (a.ior, a.roughness, a.metallic),
                (b.ior, b.roughness, b.metallic),
                "{}",
                a.name
            );
            assert!(
                a.emissive
                    .iter()
                    .zip(b.emissive)
                    .all(|(a, b)| (a - b).abs() < 1e-6),
                "{:?} {:?}",
                a.emissive,
                b.emissive
            );
            // Opacity is in the alpha channel of the colour.
            let has_opacity = a.maps.contains_key(&MapRole::Opacity);
            assert_eq!(
                b.base_color_texture
                    .as_ref()
                    .is_some_and(|texture| texture.has_alpha),
                has_opacity,
                "{}",
                a.name
            );
            for (role, map) in b
                .maps
                .iter()
                .filter(|(role, _)| matches!(role, MapRole::Normal | MapRole::Emissive))
            {
                assert_eq!(map.texture.bytes, a.maps[role].texture.bytes, "{role:?}");
            }
        }
        if compression == gltf::Compression::None {
            let again = gltf::write(&model.robot, &options(), &Store::none())
                .unwrap()
                .glb()
                .unwrap();
            assert!(again == glb, "not the same bytes when written again");
        }
    }
}

/// Asserts that variants of the file (all options, two files, compressed) contain the same robot.
fn other_forms(robot: &Robot, name: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap().join("r.gltf");
    for compression in [
        gltf::Compression::None,
        gltf::Compression::Quantize,
        gltf::Compression::Meshopt,
    ] {
        let is_exact = compression == gltf::Compression::None;
        let extent = gltf::Extent {
            animations: true,
            physics: true,
            compression,
        };
        let mut written = gltf::write(
            robot,
            &gltf::Options {
                extent,
                ..options()
            },
            &Store::none(),
        )
        .unwrap();
        let (document, binary) = written.gltf("r data.bin");
        std::fs::write(&path, document).unwrap();
        std::fs::write(
            path.with_file_name("r data.bin"),
            urdf_usd_store::joined(&binary).unwrap(),
        )
        .unwrap();
        let files = no_files();
        let file = files.input(&path).unwrap();
        let model = read(&file.bytes, &file.path, &files, name);
        if is_exact {
            same(robot, &model.robot, name);
            continue;
        }
        joints(robot, &model.robot, name);
        assert_eq!(poses(robot), poses(&model.robot), "{name}");
        for (a, b) in robot.links().values().zip(model.robot.links().values()) {
            for (of_a, of_b) in [(&a.visuals, &b.visuals), (&a.collisions, &b.collisions)] {
                assert_eq!(of_a.len(), of_b.len(), "{name}");
                of_a.iter().zip(of_b).for_each(|(a, b)| {
                    roughly(robot.with(a), model.robot.with(b), name);
                });
            }
        }
    }
}

/// A part of a robot, with the robot.
struct On<'a, T: ?Sized> {
    robot: &'a Robot,
    part: &'a T,
}

/// Pairs a robot with one of its parts.
trait With {
    fn with<'a, T: ?Sized>(&'a self, part: &'a T) -> On<'a, T>;
}

impl With for Robot {
    fn with<'a, T: ?Sized>(&'a self, part: &'a T) -> On<'a, T> {
        On { robot: self, part }
    }
}

/// Asserts that two shapes are equal within the grid of quantized vertices.
fn roughly(a: On<'_, Shape>, b: On<'_, Shape>, name: &str) {
    assert!(near(&a.part.origin, &b.part.origin), "{name}");
    let mesh = |on: &On<'_, Shape>| match on.part.geometry {
        Geometry::Mesh { mesh, scale } => {
            Some((on.robot.meshes()[mesh].mesh.load().unwrap(), scale))
        }
        _ => None,
    };
    let (Some((a, of_a)), Some((b, of_b))) = (mesh(&a), mesh(&b)) else {
        assert_eq!(mesh(&a).is_some(), mesh(&b).is_some(), "{name}");
        return;
    };
    assert_eq!(of_a, of_b, "{name}");
    let ((low, high), (b_low, b_high)) = (a.bounds().unwrap(), b.bounds().unwrap());
    let longest = (0..3).map(|k| high[k] - low[k]).fold(0.0, f32::max);
    for (a, b) in low.iter().chain(&high).zip(b_low.iter().chain(&b_high)) {
        assert!((a - b).abs() <= longest / 60_000.0, "{name}: {a} {b}");
    }
    let area = |mesh: &Mesh| -> f64 {
        let at = |index: u32| Vector3::from(mesh.points[index as usize].map(f64::from));
        mesh.triangles
            .iter()
            .map(|t| t.map(at))
            .map(|[a, b, c]| (b - a).cross(&(c - a)).norm() / 2.0)
            .sum()
    };
    let (of_a, of_b) = (area(&a), area(&b));
    assert!((of_a - of_b).abs() <= 1e-2 * of_a, "{name}: {of_a} {of_b}");
    assert!(
        b.triangles.len() <= a.triangles.len() && b.triangles.len() * 10 >= a.triangles.len() * 9,
        "{name}"
    );
}

/// Asserts that `b`, which was read, equals `a`, which was written.
pub(super) fn same(a: &Robot, b: &Robot, name: &str) {
    assert_eq!(a.name(), b.name());
    let names = |robot: &Robot| {
        robot
            .links()
            .values()
            .map(|link| link.name().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(a), names(b), "{name}");
    assert_eq!(plain(&a.custom), plain(&b.custom), "{name}");
    for (a_link, b_link) in a.links().values().zip(b.links().values()) {
        let name = &format!("{name}, link {}", a_link.name());
        match (&a_link.inertial, &b_link.inertial) {
            (Some(a), Some(b)) => {
                assert_eq!((a.mass, a.inertia), (b.mass, b.inertia), "{name}");
                assert!(near(&a.origin, &b.origin), "{name}");
            }
            (a, b) => assert_eq!((a.is_some(), b.is_some()), (false, false), "{name}"),
        }
        assert_eq!(plain(&a_link.custom), plain(&b_link.custom), "{name}");
        shapes(
            a.with(&a_link.visuals[..]),
            b.with(&b_link.visuals[..]),
            true,
            &format!("{name}, visual"),
        );
        shapes(
            a.with(&a_link.collisions[..]),
            b.with(&b_link.collisions[..]),
            false,
            &format!("{name}, collision"),
        );
    }
    joints(a, b, name);
    assert_eq!(poses(a), poses(b), "{name}");
    kinematics_agree(a, b, name);
}

/// The name of a pose, its group, and its positions by joint.
type Named = (String, Option<String>, BTreeMap<String, Vec<u64>>);

/// Returns named poses in a form that is independent of the order of joints.
fn poses(robot: &Robot) -> Vec<Named> {
    let of = |pose: &NamedPose| {
        let positions = pose.positions.iter().map(|(id, q)| {
            (
                robot.joints()[*id].name().to_owned(),
                q.iter().map(|q| (q + 0.0).to_bits()).collect(),
            )
        });
        (pose.name.clone(), pose.group.clone(), positions.collect())
    };
    robot.named_poses().iter().map(of).collect()
}

/// Compares joints. Those that close loops come last when read, and lack some properties.
fn joints(a: &Robot, b: &Robot, name: &str) {
    assert_eq!(a.joints().len(), b.joints().len(), "{name}");
    let loops_last = |robot: &Robot| {
        let mut joints: Vec<Joint> = robot.joints().as_slice().to_vec();
        joints.sort_by_key(Joint::closes_loop);
        joints
    };
    for (a_joint, b_joint) in loops_last(a).iter().zip(&loops_last(b)) {
        let name = &format!("{name}, joint {}", a_joint.name());
        let ends = |joint: &Joint| {
            (
                joint.name().to_owned(),
                joint.kind(),
                joint.parent(),
                joint.child(),
                joint.closes_loop(),
            )
        };
        assert_eq!(ends(a_joint), ends(b_joint), "{name}");
        assert!(
            near(&a_joint.origin, &b_joint.origin),
            "{name}: {} {}",
            a_joint.origin,
            b_joint.origin
        );
        if !matches!(a_joint.kind(), JointKind::Fixed | JointKind::Floating) {
            assert!(
                (a_joint.axis.into_inner() - b_joint.axis.into_inner()).amax() < 1e-12,
                "{name}"
            );
        }
        assert_eq!(limit(a_joint), limit(b_joint), "{name}");
        if a_joint.closes_loop() {
            continue;
        }
        assert_eq!(plain(&a_joint.custom), plain(&b_joint.custom), "{name}");
        let given = |joint: &Joint| {
            (
                joint.dynamics.filter(|d| *d != Dynamics::default()),
                joint.safety.filter(|s| *s != Safety::default()),
                joint.calibration.filter(|c| *c != Calibration::default()),
            )
        };
        assert_eq!(given(a_joint), given(b_joint), "{name}");
        assert_eq!(driver(a, a_joint), driver(b, b_joint), "{name}");
    }
}

/// Returns the part of a limit that a file can express: no infinite values, and no bounds of a
/// continuous joint.
fn limit(joint: &Joint) -> Limit {
    let limit = joint.limit.unwrap_or_default();
    let finite = |number: Option<f64>| number.filter(|number| number.is_finite());
    let is_bounded = joint.kind() != JointKind::Continuous || joint.closes_loop();
    Limit {
        bounds: if is_bounded {
            limit.bounds
        } else {
            Bounds::NONE
        },
        effort: finite(limit.effort),
        velocity: finite(limit.velocity),
    }
}

/// Returns the joint that drives another one, with multiplier and offset.
fn driver(robot: &Robot, joint: &Joint) -> Option<(String, f64, f64)> {
    let Mimic {
        joint: mut leader,
        mut multiplier,
        mut offset,
    } = joint.mimic()?;
    while let Some(next) = robot.joints()[leader].mimic() {
        offset += multiplier * next.offset;
        multiplier *= next.multiplier;
        leader = next.joint;
    }
    Some((robot.joints()[leader].name().to_owned(), multiplier, offset))
}

fn near(a: &Pose, b: &Pose) -> bool {
    (a.to_homogeneous() - b.to_homogeneous()).amax() < 1e-12
}

/// Returns custom data without places.
fn plain(custom: &Custom) -> Custom {
    fn element(of: &Element) -> Element {
        Element {
            place: Default::default(),
            children: of.children.iter().map(element).collect(),
            ..of.clone()
        }
    }
    Custom {
        attributes: custom.attributes.clone(),
        elements: custom.elements.iter().map(element).collect(),
    }
}

fn kinematics_agree(a: &Robot, b: &Robot, name: &str) {
    let mut seed = 1_u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) as f64 / f64::from(1 << 30) - 1.0
    };
    for _ in 0..10 {
        let at: HashMap<&str, Vec<f64>> = a
            .joints()
            .values()
            .map(|joint| {
                (
                    joint.name(),
                    (0..kinematics::position_count(joint.kind()))
                        .map(|_| random())
                        .collect(),
                )
            })
            .collect();
        let [of_a, of_b] = [a, b].map(|robot| {
            let model = kinematics::Model::of(robot);
            let mut positions = model.flat(
                &robot
                    .joints()
                    .values()
                    .map(|joint| at[joint.name()].as_slice())
                    .collect::<Vec<_>>(),
            );
            model.follow(&mut positions);
            model.poses(&positions)
        });
        for (a, b) in of_a.iter().zip(&of_b) {
            assert!(
                (a.to_homogeneous() - b.to_homogeneous()).amax() < 1e-9,
                "{name}"
            );
        }
    }
}

fn shapes(a: On<'_, [Shape]>, b: On<'_, [Shape]>, is_visible: bool, name: &str) {
    let On {
        robot: a,
        part: of_a,
    } = a;
    let On {
        robot: b,
        part: of_b,
    } = b;
    assert_eq!(of_a.len(), of_b.len(), "{name}");
    for (number, (a_shape, b_shape)) in of_a.iter().zip(of_b).enumerate() {
        let name = &format!("{name} {number}");
        let text = |shape: &Shape| {
            (
                shape.name.clone().filter(|name| !name.is_empty()),
                shape.stand_in_for.clone(),
            )
        };
        assert_eq!(text(a_shape), text(b_shape), "{name}");
        assert_eq!(plain(&a_shape.custom), plain(&b_shape.custom), "{name}");
        assert!(near(&a_shape.origin, &b_shape.origin), "{name}");
        let meshes = match (&a_shape.geometry, &b_shape.geometry) {
            (
                Geometry::Mesh {
                    mesh: in_a,
                    scale: of_a,
                },
                Geometry::Mesh {
                    mesh: in_b,
                    scale: of_b,
                },
            ) => {
                assert_eq!(of_a, of_b, "{name}");
                [
                    Some(a.meshes()[*in_a].mesh.load().unwrap()),
                    Some(b.meshes()[*in_b].mesh.load().unwrap()),
                ]
            }
            (of_a, of_b) => {
                assert_eq!(of_a, of_b, "{name}");
                [None, None]
            }
        };
        let meshes = meshes.each_ref().map(Option::as_ref);
        if let [Some(a), Some(b)] = meshes {
            assert!(corners(a) == corners(b), "{name}: not the same triangles");
        }
        assert_eq!(meshes[0].is_some(), meshes[1].is_some(), "{name}");
        if is_visible {
            let (a, b) = (looks(a, a_shape, meshes[0]), looks(b, b_shape, meshes[1]));
            assert!(alike(&a, &b), "{name}: {:?} {:?}", shown(&a), shown(&b));
        }
    }
}

/// Returns the corners of each triangle of a mesh, in a canonical order.
fn corners(mesh: &Mesh) -> Vec<[[u32; 3]; 3]> {
    let point = |index: u32| mesh.points[index as usize].map(|x| (x + 0.0).to_bits());
    let mut triangles: Vec<_> = mesh
        .triangles
        .iter()
        .map(|triangle| triangle.map(point))
        .collect();
    triangles.sort_unstable();
    triangles
}

/// The look of a part of a shape: number of triangles, name, quantized colour, metalness, roughness
/// and emission, whether it has a texture, and the corners' texture coordinates and colours.
///
/// Texture names are not compared, because equal images may share a file.
type Look = (usize, String, Vec<i64>, bool, Vec<[f32; 6]>);

/// Returns whether two surfaces look the same, up to single precision and 16 bits per colour.
fn alike(a: &[Look], b: &[Look]) -> bool {
    let near = |(a, b): (&f32, &f32)| (a - b).abs() <= SINGLE * (1.0 + a.abs());
    let corners = |a: &[[f32; 6]], b: &[[f32; 6]]| {
        a.len() == b.len() && a.as_flattened().iter().zip(b.as_flattened()).all(near)
    };
    let same = |(a, b): (&Look, &Look)| {
        (&a.0, &a.1, &a.2, &a.3) == (&b.0, &b.1, &b.2, &b.3) && corners(&a.4, &b.4)
    };
    a.len() == b.len() && a.iter().zip(b).all(same)
}

/// Returns looks without their corners, for messages.
fn shown(looks: &[Look]) -> Vec<(usize, &str, &[i64], bool)> {
    looks
        .iter()
        .map(|look| (look.0, look.1.as_str(), &look.2[..], look.3))
        .collect()
}

fn looks(robot: &Robot, shape: &Shape, mesh: Option<&Mesh>) -> Vec<Look> {
    let step = |x: f32, steps: f32| (x * steps).round() as i64;
    let of = |own: Option<&Material>, triangles: std::ops::Range<usize>| {
        let given = own.or_else(|| Some(&robot.materials()[shape.material?]));
        let shows_colors =
            mesh.is_some_and(|m| m.colors.is_some()) && given.is_none_or(|m| m.shows_corner_colors);
        let unpainted = if shows_colors {
            Material::of_corners("")
        } else {
            Material::plain("", [0.6, 0.6, 0.6, 1.0])
        };
        let material = given.unwrap_or(&unpainted);
        let texture = material
            .base_color_texture
            .as_ref()
            .filter(|_| mesh.is_none_or(|mesh| mesh.uvs.is_some()));
        // The substitute colour of a texture is not in the file.
        let color = if texture.is_some() {
            [1.0, 1.0, 1.0, material.base_color[3]]
        } else {
            material.base_color
        };
        let numbers = color
            .into_iter()
            .chain([material.metallic, material.roughness])
            .chain(material.emissive);
        let numbers = numbers.map(|x| step(x.clamp(0.0, 1.0), 1e6)).collect();
        let corner = |triangle: usize, k: usize| {
            let uv = mesh.and_then(|mesh| {
                let uvs = mesh.uvs.as_ref().filter(|_| texture.is_some())?;
                Some(uvs.values[uvs.indices[triangle][k] as usize])
            });
            let color = mesh.and_then(|mesh| {
                let colors = mesh.colors.as_ref().filter(|_| shows_colors)?;
                Some(colors.values[colors.indices[triangle][k] as usize])
            });
            let [u, v] = uv.unwrap_or_default();
            let [r, g, b, a] = color.unwrap_or_default();
            [u, v, r, g, b, a]
        };
        let count = triangles.len();
        let corners = if mesh.is_some() && (texture.is_some() || shows_colors) {
            triangles
                .flat_map(|triangle| [0, 1, 2].map(|k| corner(triangle, k)))
                .collect()
        } else {
            Vec::new()
        };
        (
            count,
            material.name.clone(),
            numbers,
            texture.is_some(),
            corners,
        )
    };
    match mesh {
        Some(mesh) => mesh
            .parts
            .iter()
            .map(|part| {
                of(
                    part.material.map(|material| &mesh.materials[material]),
                    part.triangles.clone(),
                )
            })
            .collect(),
        None if matches!(shape.geometry, Geometry::Missing { .. }) => Vec::new(),
        None => vec![of(None, 0..0)],
    }
}
