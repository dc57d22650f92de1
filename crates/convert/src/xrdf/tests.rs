use std::collections::BTreeMap;

use super::*;
use urdf_usd_diagnostic::Severity;

/// A robot: `base`, its child `arm`, and the arm's child `hand` with the empty frame `tool`; `side`
/// is a child of the base near the arm, and `far` is away from all.
const URDF: &str = r#"<robot name="r">
    <link name="base"><collision><geometry><box size="0.2 0.2 0.1"/></geometry></collision></link>
    <link name="arm"><collision><origin xyz="0 0 0.2"/><geometry><cylinder radius="0.04" length="0.4"/></geometry></collision></link>
    <link name="hand"><collision><geometry><sphere radius="0.05"/></geometry></collision></link>
    <link name="tool"/><link name="side"><collision><geometry><sphere radius="0.02"/></geometry></collision></link>
    <link name="far"><collision><geometry><capsule radius="0.02" length="0.1"/></geometry></collision></link>
    <joint name="lift" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
      <limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
    <joint name="roll" type="continuous"><parent link="arm"/><child link="hand"/><origin xyz="0 0 0.5"/><axis xyz="0 0 1"/></joint>
    <joint name="tip" type="fixed"><parent link="hand"/><child link="tool"/><origin xyz="0 0 0.1"/></joint>
    <joint name="beside" type="fixed"><parent link="base"/><child link="side"/><origin xyz="0.4 0 0.1"/></joint>
    <joint name="away" type="fixed"><parent link="base"/><child link="far"/><origin xyz="0 5 0"/></joint>
    </robot>"#;

fn robot() -> Robot {
    urdf_usd_urdf::read(URDF, None).robot.unwrap()
}

fn planned(
    options: &Options,
) -> (
    Robot,
    Result<Vec<FittedLink>, Diagnostic>,
    Vec<&'static str>,
) {
    let (mut robot, mut found) = (robot(), Vec::new());
    let links = plan(
        &mut robot,
        &Modifiers::default(),
        &Options {
            samples: 500,
            ..options.clone()
        },
        &Context::default(),
        &mut found,
    )
    .map_err(|stop| match stop {
        Stop::Found(mut found) => found.remove(0),
        Stop::Evicted(evicted) => panic!("{evicted}"),
    });
    (
        robot,
        links,
        found.into_iter().map(|found| found.code).collect(),
    )
}

fn pairs(robot: &Robot) -> Vec<String> {
    let name = |link: LinkId| robot.links()[link].name();
    robot
        .planning()
        .ignored
        .iter()
        .map(|(a, b)| format!("{} {}", name(a), name(b)))
        .collect()
}

fn wanted() -> Options {
    Options {
        spheres: Some(Wanted::Error(0.06)),
        ..Options::default()
    }
}

#[test]
fn neighbours_and_pairs_that_never_touch_are_ignored() {
    let (robot, links, found) = planned(&wanted());
    assert_eq!(found, ["xrdf-assumed-limits", "xrdf-assumed-tool"]);
    // The arm can touch `side`; the hand then reaches beyond it.
    let expected = [
        "base arm",
        "base hand",
        "base side",
        "base far",
        "arm hand",
        "arm far",
        "hand side",
        "hand far",
        "side far",
    ];
    assert_eq!(pairs(&robot), expected);
    let links = links.unwrap();
    let names: Vec<&str> = links.iter().map(|link| link.link.as_str()).collect();
    assert_eq!(names, ["base", "arm", "hand", "side", "far"]);
    assert!(
        links
            .iter()
            .all(|link| link.error <= 0.06 && link.spheres > 0),
        "{links:?}"
    );
    let planning = robot.planning();
    let joints: Vec<&str> = planning
        .coordinates
        .iter()
        .map(|c| robot.joints()[c.joint].name())
        .collect();
    assert_eq!(joints, ["lift", "roll"]);
    assert_eq!(planning.tool_frames, [robot.link_named("tool").unwrap()]);
    // A sphere needs only one.
    let of = |link: &str| {
        planning.groups[0]
            .spheres
            .iter()
            .find(|(of, _)| robot.links()[*of].name() == link)
            .unwrap()
            .1
            .clone()
    };
    assert_eq!(
        of("hand"),
        [Sphere {
            center: Point3::origin(),
            radius: 0.05
        }]
    );
    // The result is reproducible.
    assert_eq!(planned(&wanted()).0.planning(), planning);
}

#[test]
fn options_override_assumptions() {
    let limit = |joint: Option<&str>, value| Limit {
        joint: joint.map(str::to_owned),
        value,
    };
    let text = |text: &str| text.to_owned();
    let options = Options {
        joints: vec![text("roll"), text("lift")],
        acceleration: vec![limit(Some("lift"), 3.0), limit(None, 2.0)],
        jerk: vec![limit(None, 9.0)],
        tool_frames: vec![text("hand"), text("tool"), text("hand")],
        ..wanted()
    };
    let (robot, links, found) = planned(&options);
    assert!(links.is_ok() && found.is_empty(), "{found:?}");
    let coordinate = |joint, acceleration| Coordinate {
        joint: robot.joint_named(joint).unwrap(),
        acceleration: Some(acceleration),
        jerk: Some(9.0),
    };
    assert_eq!(
        robot.planning().coordinates,
        [coordinate("roll", 2.0), coordinate("lift", 3.0)]
    );
    let tools = ["hand", "tool"].map(|name| robot.link_named(name).unwrap());
    assert_eq!(robot.planning().tool_frames, tools);
    for (options, what) in [
        (
            Options {
                joints: vec![text("lifd")],
                ..wanted()
            },
            "did you mean",
        ),
        (
            Options {
                joints: vec![text("tip")],
                ..wanted()
            },
            "revolute, continuous or prismatic",
        ),
        (
            Options {
                jerk: vec![limit(Some("none"), 1.0)],
                ..wanted()
            },
            "name a joint",
        ),
        (
            Options {
                tool_frames: vec![text("nothing")],
                ..wanted()
            },
            "name a link",
        ),
        (
            Options {
                pose: Some(text("up")),
                ..wanted()
            },
            "--srdf",
        ),
    ] {
        let stop = planned(&options).1.unwrap_err();
        assert!(
            stop.code == "xrdf-option" && stop.help.contains(what),
            "{stop:?}"
        );
    }
}

#[test]
fn links_that_touch_at_the_default_pose_are_reported() {
    let mut robot = robot();
    // The arm touches `side`.
    let lift = robot.joint_named("lift").unwrap();
    let pose = NamedPose {
        name: "home".to_owned(),
        group: Some("g".to_owned()),
        chain: None,
        positions: vec![(lift, vec![1.3258])],
        fixed: Vec::new(),
        place: Default::default(),
    };
    robot.add_named_pose(pose).unwrap();
    let mut found = Vec::new();
    plan(
        &mut robot,
        &Modifiers::default(),
        &Options {
            samples: 10,
            ..wanted()
        },
        &Context::default(),
        &mut found,
    )
    .unwrap();
    assert_eq!(
        robot.default_pose().unwrap().positions,
        [(lift, vec![1.3258])]
    );
    let touching: Vec<&Diagnostic> = found
        .iter()
        .filter(|found| found.code == "xrdf-touching")
        .collect();
    assert!(
        touching.len() == 1 && touching[0].message.contains("\"arm\" and \"side\""),
        "{found:?}"
    );
    assert!(pairs(&robot).contains(&"arm side".to_owned()));
}

#[test]
fn a_written_xrdf_is_read_without_findings() {
    let (mut robot, mut found) = (robot(), Vec::new());
    plan(
        &mut robot,
        &Modifiers::default(),
        &Options {
            samples: 500,
            ..wanted()
        },
        &Context::default(),
        &mut found,
    )
    .unwrap();
    let text = xrdf::write(&robot, ASSUMED_LIMITS, &Default::default());
    let mut again = self::robot();
    let said = xrdf::apply(&text, None, &mut again, &mut Default::default()).diagnostics;
    assert!(
        said.iter().all(|said| said.severity == Severity::Info),
        "{said:?}"
    );
    assert_eq!(
        (&again.planning().groups, &again.planning().ignored),
        (&robot.planning().groups, &robot.planning().ignored)
    );
    // Existing spheres are kept, unless others are requested.
    let kept = plan(
        &mut again,
        &Modifiers::default(),
        &Options {
            samples: 10,
            ..Options::default()
        },
        &Context::default(),
        &mut found,
    )
    .unwrap();
    assert_eq!(
        (kept.len(), &again.planning().groups),
        (0, &robot.planning().groups)
    );
}

#[test]
fn links_with_visuals_alone_are_reported() {
    let visual = "<visual><geometry><box size='1 1 1'/></geometry></visual>";
    let text = URDF.replace(
        r#"<link name="tool"/>"#,
        &format!(r#"<link name="tool">{visual}</link>"#),
    );
    let mut robot = urdf_usd_urdf::read(&text, None).robot.unwrap();
    let mut found = Vec::new();
    let options = Options {
        samples: 10,
        ..wanted()
    };
    plan(
        &mut robot,
        &Modifiers::default(),
        &options,
        &Context::default(),
        &mut found,
    )
    .unwrap();
    let uncovered = found
        .iter()
        .filter(|found| found.code == "spheres-uncovered-link");
    let messages: Vec<&str> = uncovered.map(|found| found.message.as_str()).collect();
    assert!(
        matches!(messages[..], [only] if only.contains("\"tool\"")),
        "{messages:?}"
    );
}

/// Every point of the shapes is in a sphere, and no sphere exceeds the error bound; tested with
/// independent formulas.
#[test]
fn spheres_cover_primitives_within_their_error() {
    let (robot, links, _) = planned(&wanted());
    let links = links.unwrap();
    let group = &robot.planning().groups[0];
    let outside = |link: &str, p: Point3<f64>| -> f64 {
        match link {
            "base" => {
                let out = Vector3::new(p.x.abs() - 0.1, p.y.abs() - 0.1, p.z.abs() - 0.05);
                out.map(|at| at.max(0.0)).norm()
            }
            "arm" => {
                let out = (p.x.hypot(p.y) - 0.04, (p.z - 0.2).abs() - 0.2);
                out.0.max(0.0).hypot(out.1.max(0.0))
            }
            "far" => (p - Point3::new(0.0, 0.0, p.z.clamp(-0.05, 0.05))).norm() - 0.02,
            _ => 0.0,
        }
    };
    let mut random = Random::new(7);
    for (link, spheres) in &group.spheres {
        let name = robot.links()[*link].name();
        let error = links.iter().find(|link| link.link == name).unwrap().error;
        for _ in 0..5_000 {
            let p = Point3::from(Vector3::from_fn(|_, _| (random.unit() - 0.5) * 1.0));
            if outside(name, p) <= 0.0 && ["base", "arm", "far"].contains(&name) {
                assert!(
                    spheres
                        .iter()
                        .any(|sphere| (p - sphere.center).norm() <= sphere.radius),
                    "{name}: {p}"
                );
            }
            // A point on a sphere.
            let sphere = spheres[random.number() as usize % spheres.len()];
            let direction = p.coords.normalize();
            let out = outside(name, sphere.center + direction * sphere.radius);
            assert!(out <= error + 1e-9, "{name}: {out} > {error}");
        }
    }
}

/// Returns joints, tool frames, groups, collisions, pairs and default positions by name, in
/// canonical order where the order has no meaning.
fn said(robot: &Robot) -> impl PartialEq + std::fmt::Debug {
    let link = |id: &LinkId| robot.links()[*id].name().to_owned();
    let joint = |id: &JointId| robot.joints()[*id].name().to_owned();
    let planning = robot.planning();
    let coordinates: Vec<_> = planning
        .coordinates
        .iter()
        .map(|c| (joint(&c.joint), c.acceleration, c.jerk))
        .collect();
    let groups: Vec<_> = planning
        .groups
        .iter()
        .map(|group| {
            let spheres: BTreeMap<_, _> = group
                .spheres
                .iter()
                .map(|(of, spheres)| (link(of), spheres.clone()))
                .collect();
            (group.name.clone(), spheres)
        })
        .collect();
    let collision = |collision: &Option<PlanningCollision>| {
        collision.as_ref().map(|collision| {
            let buffers: BTreeMap<_, _> = collision
                .buffers
                .iter()
                .map(|(of, buffer)| (link(of), buffer.to_bits()))
                .collect();
            (collision.group, buffers)
        })
    };
    let pairs: BTreeSet<_> = planning
        .ignored
        .iter()
        .map(|(a, b)| BTreeSet::from([link(&a), link(&b)]))
        .collect();
    let pose = robot.default_pose().map(|pose| {
        pose.positions
            .iter()
            .map(|(id, at)| (joint(id), at[0].to_bits()))
            .collect::<BTreeMap<_, _>>()
    });
    let tools: Vec<_> = planning.tool_frames.iter().map(link).collect();
    (
        coordinates,
        tools,
        groups,
        (
            collision(&planning.collision),
            collision(&planning.self_collision),
        ),
        pairs,
        pose,
    )
}

#[test]
fn an_xrdf_round_trips_through_usd_and_gltf() {
    const XRDF: &str = "format: xrdf
format_version: 2.0
default_joint_positions: {lift: 0.1, roll: -2.5}
cspace: {joint_names: [roll, lift], acceleration_limits: [3, 0.1], jerk_limits: [4]}
tool_frames: [tool, side]
world_collision: {geometry: 'with: colon', buffer_distance: {far: 0.3, tool: -0.02}}
self_collision: {geometry: b, buffer_distance: {arm: 0.1}, ignore: {base: [arm, side], tool: [arm, base]}}
geometry:
  'with: colon':
    spheres:
      tool: [{center: [0.1, 0, -0.3], radius: -0.01}]
      base: [{center: [1.1, 2.2, 3.3], radius: 0.7}, {center: [0, 0, 0], radius: 0.1}]
  b: {spheres: {side: [{center: [0, 0.01, 0], radius: 0.02}]}}
  empty: {spheres: {}}
";
    use urdf_usd_store::Store;
    let mut robot = robot();
    xrdf::apply(XRDF, None, &mut robot, &mut Default::default());
    let glb = urdf_usd_gltf_write::write(&robot, &crate::round_trip::options(), &Store::none())
        .unwrap()
        .glb()
        .unwrap();
    let files = resolve::Files::new(Arc::new(
        resolve::Resolver::new(resolve::Options::default()),
    ));
    let again = crate::round_trip::read(&glb, Path::new("r.glb"), &files, "r").robot;
    assert!(
        said(&again) == said(&robot),
        "{:?}\n{:?}",
        said(&again),
        said(&robot)
    );

    let folder = tempfile::tempdir().unwrap();
    let options = urdf_usd_usd_write::Options {
        entry: "r".to_owned(),
        ..Default::default()
    };
    for (path, bytes) in urdf_usd_usd_write::write(&robot, &options, &Store::none())
        .unwrap()
        .files
    {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes.bytes().unwrap()).unwrap();
    }
    let outcome = urdf_usd_usd_read::read(
        &folder.path().join("r.usda"),
        &urdf_usd_usd_read::ReadOptions::default(),
    )
    .unwrap();
    assert!(
        said(&outcome.robot) == said(&robot),
        "{:?}\n{:?}",
        said(&outcome.robot),
        said(&robot)
    );
    // The spheres break no rule of REP-158.
    let rules = urdf_usd_rep158::Options {
        all_variants: true,
        ..Default::default()
    };
    let found = urdf_usd_rep158::check(&folder.path().join("r.usda"), &rules).unwrap();
    let bad: Vec<_> = found
        .iter()
        .filter(|found| {
            found.to_string().contains("spheres") || found.to_string().contains("planning")
        })
        .collect();
    assert!(bad.is_empty(), "{bad:?}");
    // And as XRDF text.
    assert_eq!(
        xrdf::write(&outcome.robot, ASSUMED_LIMITS, &Default::default())
            .lines()
            .count(),
        xrdf::write(&robot, ASSUMED_LIMITS, &Default::default())
            .lines()
            .count()
    );
    // Spheres are guides, neither visible nor colliders.
    let shapes = |robot: &Robot| {
        robot
            .links()
            .values()
            .map(|link| link.visuals.len() + link.collisions.len())
            .sum::<usize>()
    };
    assert_eq!(shapes(&outcome.robot), shapes(&robot));
}

#[test]
fn joints_that_mimic_in_the_description_are_no_coordinates() {
    let robot = robot();
    let modifiers = Modifiers {
        freed: vec!["roll".to_owned()],
        ..Modifiers::default()
    };
    let named = |joints: &[&str]| {
        let joints = joints.iter().map(|name| (*name).to_owned()).collect();
        let options = Options {
            joints,
            ..Options::default()
        };
        coordinates(&robot, &modifiers, &options)
    };
    let error = named(&["roll"]).unwrap_err();
    assert_eq!(error.code, "xrdf-option");
    assert!(error.message.contains("\"roll\""), "{}", error.message);
    let all = named(&[]).unwrap();
    let names: Vec<&str> = all
        .iter()
        .map(|coordinate| robot.joints()[coordinate.joint].name())
        .collect();
    assert_eq!(names, ["lift"]);
}
