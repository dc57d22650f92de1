//! Comparison of a written asset with its source.

#![allow(clippy::unwrap_used)] // a test that fails may panic

use std::path::Path;

use urdf_usd_diagnostic::Severity;
use urdf_usd_fix::{Options, compare, fix};

const HEADER: &str = "#usda 1.0\n(\ndefaultPrim = \"robot\"\nmetersPerUnit = 1\nkilogramsPerUnit = 1\nupAxis = \"Z\"\n)\n";

fn body(name: &str, mass: f64, inside: &str) -> String {
    format!(
        "def Xform \"{name}\" (\nprepend apiSchemas = [\"PhysicsRigidBodyAPI\", \"PhysicsMassAPI\"]\n)\n{{\nfloat physics:mass = {mass}\n{inside}\n}}\n"
    )
}

const SHAPE: &str =
    "def Cube \"shape\" (\nprepend apiSchemas = [\"PhysicsCollisionAPI\"]\n)\n{\n}\n";
const JOINT: &str = "def PhysicsFixedJoint \"weld\"\n{\nrel physics:body0 = </robot/a>\nrel physics:body1 = </robot/b>\n}\n";

fn write(path: &Path, inside: &str) {
    let robot = format!("{HEADER}def Xform \"robot\"\n{{\n{inside}\n}}\n");
    std::fs::write(path, robot).unwrap();
}

#[test]
fn missing_parts_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let (source, result) = (
        folder.path().join("source.usda"),
        folder.path().join("result.usda"),
    );
    let whole = body("a", 2.0, SHAPE) + &body("b", 1.0, "") + JOINT;
    write(&source, &whole);
    let sources = fix(&source, &Options::default()).unwrap().sources;
    for (inside, lacks) in [
        (whole.clone(), vec![]),
        (
            body("a", 2.0, SHAPE),
            vec!["1 bodies", "1 joints", "1 masses"],
        ),
        (
            body("a", 2.0, "") + &body("b", 1.0, "") + JOINT,
            vec!["1 shapes", "0 colliders"],
        ),
        (
            body("a", 1.5, SHAPE) + &body("b", 1.0, "") + JOINT,
            vec!["1 masses"],
        ),
        (
            body("a", 2.0, SHAPE) + &body("b", 1.0, ""),
            vec!["1 joints"],
        ),
        (
            // A body that was a shape, or a repeated mesh, has its shape one level lower.
            body(
                "a",
                2.0,
                "def Xform \"shape\"\n{\ndef Cube \"geometry\" (\nprepend apiSchemas = [\"PhysicsCollisionAPI\"]\n)\n{\n}\n}\n",
            ) + &body("b", 1.0, "")
                + JOINT,
            vec![],
        ),
    ] {
        write(&result, &inside);
        let found = compare(&result, &sources).unwrap();
        assert_eq!(found.len(), lacks.len(), "{inside}\n{found:?}");
        for (found, lacks) in found.iter().zip(lacks) {
            assert!(
                found.code == "fix-missing"
                    && found.severity == Severity::Error
                    && found.message.contains(lacks),
                "{found:?}"
            );
        }
    }
    write(
        &result,
        &format!("{whole}def \"c\" (\nreferences = @none.usda@\n)\n{{\n}}\n"),
    );
    let found = compare(&result, &sources).unwrap();
    assert!(found.iter().all(|found| found.code == "fix-not-whole") && !found.is_empty());
}
