//! Robustness against unusual assets: no panics, recursion or endless loops.

use std::fmt::Write as _;

use urdf_usd_stage::Stage;
use urdf_usd_usd_author::Layer;

use crate::{
    LinkTree, Sites, View, all_joints, all_links, articulation, migrate, populate, recalculate,
    targets, validate,
};

/// Opens the stage of a text.
fn stage(inside: &str) -> Stage {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("asset.usda");
    std::fs::write(
        &file,
        format!("#usda 1.0\n(\n    defaultPrim = \"r\"\n)\n\n{inside}"),
    )
    .unwrap();
    Stage::open(&file, &urdf_usd_stage::Options::default()).unwrap()
}

fn body(name: &str, inside: &str) -> String {
    format!(
        "def Xform \"{name}\" (\n    prepend apiSchemas = [\"PhysicsRigidBodyAPI\"]\n)\n{{\n{inside}}}\n"
    )
}

fn joint(name: &str, [body0, body1]: [&str; 2], more: &str) -> String {
    let end = |end: usize, body: &str| match body {
        "" => String::new(),
        _ => format!("    rel physics:body{end} = <{body}>\n"),
    };
    format!(
        "def PhysicsRevoluteJoint \"{name}\"\n{{\n{}{}{more}}}\n",
        end(0, body0),
        end(1, body1)
    )
}

fn robot(inside: &str) -> String {
    format!("def Xform \"r\" (\n    prepend apiSchemas = [\"IsaacRobotAPI\"]\n)\n{{\n{inside}}}\n")
}

fn names(stage: &Stage, ids: &[urdf_usd_stage::PrimId]) -> Vec<String> {
    ids.iter().map(|id| stage[*id].name().to_owned()).collect()
}

/// Runs all functions that read a stage or author an overlay, and returns the codes of the findings.
fn run_all(stage: &Stage) -> Vec<&'static str> {
    let view = View::new(stage);
    let root = view.robot(None).unwrap();
    let tree = LinkTree::new(&view, root);
    assert_eq!(
        tree.print(stage).to_string().lines().count(),
        tree.nodes.len()
    );
    let _ = (
        all_links(&view, root, true),
        all_joints(&view, root, false),
        targets(&view, root),
    );
    for work in [populate, recalculate] {
        let mut layer = Layer::new("", "r");
        let done = work(&view, root, Sites::default(), &mut layer);
        assert!(layer.check().is_ok(), "{:?}", layer.check());
        assert!(done.links.len() >= view.prims().filter(|(id, _)| view.is_body(*id)).count());
    }
    let mut layer = Layer::new("", "r");
    migrate(&view, root, &mut layer);
    assert!(layer.check().is_ok());
    validate(&view).iter().map(|found| found.code).collect()
}

#[test]
fn robots_in_a_cycle_are_traversed_once() {
    let inner = |name: &str, other: &str| {
        format!(
            "def Xform \"{name}\" (\n    prepend apiSchemas = [\"IsaacRobotAPI\"]\n)\n{{\n    rel isaac:physics:robotLinks = \
             [</r/{other}>, </r/{name}/link>]\n    rel isaac:physics:robotJoints = [</r/{other}>]\n{}}}\n",
            body("link", "")
        )
    };
    let inside = "rel isaac:physics:robotLinks = [</r/a>, </r>]\n".to_owned()
        + &inner("a", "b")
        + &inner("b", "a");
    let stage = stage(&robot(&inside));
    assert!(run_all(&stage).contains(&"isaac-robots-in-circle"));
    let view = View::new(&stage);
    let links = all_links(&view, view.robot(None).unwrap(), false);
    let paths: Vec<&str> = links.iter().map(|id| stage[*id].path.as_str()).collect();
    assert_eq!(paths, ["/r/b/link", "/r/a/link"]);
}

#[test]
fn loops_and_dangling_joints_are_handled() {
    let inside = body("a", "")
        + &body("b", "")
        + &body("c", "")
        + &joint("ab", ["/r/a", "/r/b"], "")
        + &joint("bc", ["/r/b", "/r/c"], "")
        + &joint("ca", ["/r/c", "/r/a"], "")
        + &joint("self", ["/r/a", "/r/a"], "")
        + &joint("none", ["", ""], "")
        + &joint("gone", ["/r/nowhere", "/r/a"], "")
        + &joint(
            "off",
            ["/r/a", "/r/c"],
            "    bool physics:jointEnabled = 0\n",
        );
    let stage = stage(&robot(&inside));
    let found = run_all(&stage);
    assert!(found.contains(&"isaac-loop"), "{found:?}");
    let view = View::new(&stage);
    let found = articulation(&view, view.robot(None).unwrap());
    // A joint with a dangling target counts as one to the world.
    assert_eq!(
        (names(&stage, &found.links), names(&stage, &found.joints)),
        (
            ["a", "b", "c"].map(str::to_owned).to_vec(),
            ["gone", "ab", "ca", "bc"].map(str::to_owned).to_vec()
        )
    );
    assert_eq!(names(&stage, &found.loops), ["bc"]);
}

#[test]
fn long_chains_are_deep_trees() {
    const LONG: usize = 3000;
    let mut inside = String::new();
    for index in 0..LONG {
        let _ = write!(inside, "{}", body(&format!("l{index}"), ""));
        if index > 0 {
            let ends = [format!("/r/l{}", index - 1), format!("/r/l{index}")];
            let _ = write!(
                inside,
                "{}",
                joint(&format!("j{index}"), [&ends[0], &ends[1]], "")
            );
        }
    }
    let stage = stage(&robot(&inside));
    let view = View::new(&stage);
    let tree = LinkTree::new(&view, view.robot(None).unwrap());
    assert_eq!(
        tree.depth_first().last().map(|(depth, _)| *depth),
        Some(LONG - 1)
    );
    let middle = tree.nodes.as_slice()[LONG / 2].joint.unwrap();
    let (before, after) = tree.links_from_joint(middle);
    assert_eq!((before.len(), after.len()), (LONG / 2, LONG - LONG / 2));
    run_all(&stage);
}

#[test]
fn assets_without_robots_are_reported() {
    let stage = stage("def Xform \"r\"\n{\n}\n");
    assert_eq!(run_all(&stage), ["isaac-no-robot"]);
    assert!(View::new(&stage).robot(Some("/x")).is_err());
    let stage = self::stage("def Xform \"a\"\n{\n}\ndef Xform \"b\"\n{\n}\n");
    let error = View::new(&stage).robot(None).unwrap_err().to_string();
    assert!(error.contains("2 root prims"), "{error}");
}

#[test]
fn prims_below_instances_are_reported_and_not_changed() {
    let inside = format!(
        "def Xform \"shared\"\n{{\n{}}}\ndef Xform \"copy\" (\n    instanceable = true\n    references = </r/shared>\n)\n{{\n}}\n",
        body("link", "")
    );
    let stage = stage(&robot(&inside));
    let view = View::new(&stage);
    let mut layer = Layer::new("", "r");
    let done = populate(
        &view,
        view.robot(None).unwrap(),
        Sites::default(),
        &mut layer,
    );
    assert_eq!(done.links, ["/r/shared/link", "/r/copy/link"]);
    assert_eq!(
        done.diagnostics
            .iter()
            .map(|found| found.code)
            .collect::<Vec<&str>>(),
        ["isaac-in-instance"]
    );
    assert!(layer.has("/r/shared/link") && !layer.has("/r/copy/link"));
}

/// Two arms of two joints each, with a site on the left one.
fn arms(more: &str) -> String {
    let link = |name: &str, inside: &str| {
        format!(
            "def Xform \"{name}\" (\n    prepend apiSchemas = [\"PhysicsRigidBodyAPI\", \"IsaacLinkAPI\"]\n)\n{{\n{inside}}}\n"
        )
    };
    let hinge = |name: &str, ends: [&str; 2]| {
        let limits = "    float physics:lowerLimit = -90\n    float physics:upperLimit = 90\n";
        joint(name, ends, limits)
    };
    let site = "def Xform \"tcp\" (\n    prepend apiSchemas = [\"IsaacSiteAPI\"]\n)\n{\n}\n";
    let links = ["base", "l1", "l2", "l2/tcp", "r1", "fixed"].map(|link| format!("</r/{link}>"));
    let joints = ["j1", "j2", "k1", "weld"].map(|joint| format!("</r/{joint}>"));
    let inside = format!(
        "    prepend rel isaac:physics:robotLinks = [{}]\n    prepend rel isaac:physics:robotJoints = [{}]\n    prepend rel isaac:robot:namedPoses = </r/pose>\n",
        links.join(", "),
        joints.join(", ")
    ) + &link("base", "")
        + &link("l1", "")
        + &link("l2", site)
        + &link("r1", "")
        + &link("fixed", "")
        + &hinge("j1", ["/r/base", "/r/l1"])
        + &hinge("j2", ["/r/l1", "/r/l2"])
        + &hinge("k1", ["/r/base", "/r/r1"])
        + &joint("weld", ["/r/l2", "/r/fixed"], "").replace("Revolute", "Fixed")
        + more;
    robot(&inside)
}

/// Returns the text of a pose of these joints.
fn pose(joints: &[&str], values: &str, end: &str, more: &str) -> String {
    let joints: Vec<String> = joints.iter().map(|joint| format!("</r/{joint}>")).collect();
    format!(
        "def IsaacNamedPose \"pose\"\n{{\n    rel isaac:robot:pose:startLink = </r/base>\n    rel isaac:robot:pose:endLink = </r/{end}>\n    rel isaac:robot:pose:joints = [{}]\n    float[] isaac:robot:pose:jointValues = [{values}]\n{more}}}\n",
        joints.join(", ")
    )
}

/// Returns the codes and messages that validation finds in a stage of two arms, apart from joints
/// without their schema.
fn found_in_arms(more: &str) -> Vec<(&'static str, String)> {
    let stage = stage(&arms(more));
    let found = validate(&View::new(&stage)).into_iter();
    found
        .filter(|found| found.code != "isaac-joint-api")
        .map(|found| (found.code, found.message))
        .collect()
}

#[test]
fn poses_are_validated() {
    let valid = "    bool isaac:robot:pose:valid = 1\n";
    for sound in [
        pose(&["j1", "j2"], "10, 20", "l2", ""),
        pose(&["j2"], "20", "l2/tcp", ""),
        pose(
            &["j1"],
            "100",
            "l2",
            "    bool isaac:robot:pose:valid = 0\n",
        ),
        pose(&["j1", "j2"], "0, 0", "l2", valid),
    ] {
        assert_eq!(found_in_arms(&sound), [], "{sound}");
    }
    let turned = "    quatd xformOp:orient = (0.7071067811865476, 0, 0, 0.7071067811865476)\n    uniform token[] xformOpOrder = [\"xformOp:orient\"]\n";
    for (wrong, code, words) in [
        (
            pose(&["j1", "k1"], "1, 2", "l2", ""),
            "isaac-pose-chain",
            "not between",
        ),
        (
            pose(&["j2", "j1"], "1, 2", "l2", ""),
            "isaac-pose-chain",
            "out of the order",
        ),
        (
            pose(&["j1", "weld"], "1, 0", "fixed", ""),
            "isaac-pose",
            "a fixed joint",
        ),
        (
            pose(&["j1"], "100", "l2", valid),
            "isaac-pose-valid",
            "outside its limits",
        ),
        (pose(&["j1"], "nan", "l2", ""), "isaac-pose", "not finite"),
        (
            pose(&["j1"], "0", "l2", &format!("{valid}{turned}")),
            "isaac-pose-valid",
            "from its target",
        ),
        (pose(&["j1"], "0", "j2", ""), "isaac-pose", "names a joint"),
    ] {
        let found = found_in_arms(&wrong);
        assert!(
            found
                .iter()
                .any(|(known, message)| *known == code && message.contains(words)),
            "{words}: {found:?}"
        );
    }
}

#[test]
fn schemas_sites_and_axes_are_validated() {
    let unlisted = "def Xform \"loose\" (\n    prepend apiSchemas = [\"IsaacSiteAPI\"]\n)\n{\n}\n";
    let wrong_schema =
        body("box", "").replace("RigidBodyAPI\"", "RigidBodyAPI\", \"IsaacJointAPI\"");
    let general = |order: &str| {
        let limits: String = ["transX", "transY", "transZ", "rotX"]
            .iter()
            .map(|axis| {
                format!("    float limit:{axis}:physics:low = 1\n    float limit:{axis}:physics:high = -1\n")
            })
            .collect();
        joint("d6", ["/r/base", "/r/r1"], &format!("{limits}{order}    uniform bool physics:excludeFromArticulation = 1\n")).replace(
            "PhysicsRevoluteJoint \"d6\"",
            "PhysicsJoint \"d6\" (\n    prepend apiSchemas = [\"IsaacJointAPI\", \"PhysicsLimitAPI:transX\", \"PhysicsLimitAPI:transY\", \"PhysicsLimitAPI:transZ\", \"PhysicsLimitAPI:rotX\"]\n)",
        )
    };
    let pose = pose(&["j1"], "0", "l2", "");
    let ordered = "    token[] isaac:physics:DofOffsetOpOrder = [\"RotZ\", \"RotY\"]\n";
    let is_ordered =
        |found: &[(&str, String)]| found.iter().all(|(code, _)| *code != "isaac-dof-order");
    assert!(is_ordered(&found_in_arms(&(general(ordered) + &pose))));
    for (more, code) in [
        (unlisted.to_owned(), "isaac-unlisted"),
        (wrong_schema, "isaac-schema-kind"),
        (general(""), "isaac-dof-order"),
        (general(&ordered.replace("RotY", "RotX")), "isaac-dof-order"),
    ] {
        let found = found_in_arms(&(more + &pose));
        assert!(
            found.iter().any(|(known, _)| *known == code),
            "{code}: {found:?}"
        );
    }
    // Populating gives the joint an order of its axes.
    let stage = stage(&arms(&(general("") + &pose)));
    let view = View::new(&stage);
    let mut layer = Layer::new("", "r");
    populate(
        &view,
        view.robot(None).unwrap(),
        Sites::default(),
        &mut layer,
    );
    assert!(layer.has("/r/d6"));
}
