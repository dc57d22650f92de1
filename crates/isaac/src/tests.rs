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
