//! What assets that are strange come to: nothing here panics, recurses or goes on for ever.

use std::fmt::Write as _;

use urdf_usd_stage::Stage;
use urdf_usd_usd_author::Layer;

use crate::{
    LinkTree, Sites, View, all_joints, all_links, articulation, migrate, populate, recalculate,
    targets, validate,
};

/// The stage of a text.
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

/// All that looks at a stage and all that authors.
fn everything(stage: &Stage) -> Vec<&'static str> {
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
fn robots_that_name_each_other_in_a_circle_are_gone_through_once() {
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
    assert!(everything(&stage).contains(&"isaac-robots-in-circle"));
    let view = View::new(&stage);
    let links = all_links(&view, view.robot(None).unwrap(), false);
    let paths: Vec<&str> = links.iter().map(|id| stage[*id].path.as_str()).collect();
    assert_eq!(paths, ["/r/b/link", "/r/a/link"]);
}

#[test]
fn rings_and_joints_that_lead_nowhere_do_no_harm() {
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
    let found = everything(&stage);
    assert!(found.contains(&"isaac-loop"), "{found:?}");
    let view = View::new(&stage);
    let of = articulation(&view, view.robot(None).unwrap());
    // What leads nowhere holds to the world.
    assert_eq!(
        (names(&stage, &of.links), names(&stage, &of.joints)),
        (
            ["a", "b", "c"].map(str::to_owned).to_vec(),
            ["gone", "ab", "ca", "bc"].map(str::to_owned).to_vec()
        )
    );
    assert_eq!(names(&stage, &of.loops), ["bc"]);
}

#[test]
fn a_long_chain_is_a_tree_as_deep() {
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
    everything(&stage);
}

#[test]
fn what_is_no_robot_is_told() {
    let stage = stage("def Xform \"r\"\n{\n}\n");
    assert_eq!(everything(&stage), ["isaac-no-robot"]);
    assert!(View::new(&stage).robot(Some("/x")).is_err());
    let stage = self::stage("def Xform \"a\"\n{\n}\ndef Xform \"b\"\n{\n}\n");
    let error = View::new(&stage).robot(None).unwrap_err().to_string();
    assert!(error.contains("2 root prims"), "{error}");
}

#[test]
fn what_is_below_an_instance_is_told_and_left() {
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
