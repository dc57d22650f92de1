//! What payloads bring, and what is not composed at all.

#![allow(clippy::unwrap_used)] // a test that fails may panic

use urdf_usd_stage::{Options, Stage};

#[test]
fn schemas_of_payloads_are_told_from_others() {
    let folder = tempfile::tempdir().unwrap();
    let entry = folder.path().join("robot.usda");
    let header = "#usda 1.0\n(\n    defaultPrim = \"robot\"\n)\n";
    let robot = "def Xform \"robot\" (\n    apiSchemas = [\"RosContextAPI\"]\n    payload = @parts.usda@\n)\n{\n    def \"a\"\n    {\n    }\n}\n";
    let parts = "def \"robot\" (\n    prepend apiSchemas = [\"GeomModelAPI\"]\n)\n{\n    def Cube \"a\" (\n        apiSchemas = [\"PhysicsCollisionAPI\"]\n    )\n    {\n    }\n\n    \
                 def Xform \"b\"\n    {\n    }\n}\n";
    std::fs::write(&entry, format!("{header}{robot}")).unwrap();
    std::fs::write(folder.path().join("parts.usda"), format!("{header}{parts}")).unwrap();
    let stage = Stage::open(&entry, &Options::default()).unwrap();
    let of = |path: &str| {
        let prim = stage.prim_at(path).unwrap();
        (prim.in_payload, prim.payload_schemas.join(" "))
    };
    // Explicit schemas stand in the way of those that a payload prepends.
    assert_eq!(of("/robot"), (false, String::new()));
    assert_eq!(of("/robot/a"), (false, "Cube PhysicsCollisionAPI".to_owned()));
    assert_eq!(of("/robot/b"), (true, "Xform".to_owned()));
}

#[test]
fn what_is_inherited_twice_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let entry = folder.path().join("robots.usda");
    let robot = |name: &str, (all, arm): (&str, &str)| {
        format!("def \"{name}\" (\n    {all}\n)\n{{\n    def \"arm\" (\n        {arm}\n    )\n    {{\n    }}\n}}\n")
    };
    let opened = |second: (&str, &str)| {
        let arm = "def \"arm\"\n{\n    def \"hand\"\n    {\n    }\n}\n";
        let robots = robot("a", ("", "references = </arm>")) + &robot("b", second);
        std::fs::write(&entry, format!("#usda 1.0\n\n{arm}{robots}")).unwrap();
        Stage::open(&entry, &Options::default())
            .map(|stage| stage.at("/b/arm/hand").is_some())
            .map_err(|error| error.to_string())
    };
    assert_eq!(opened(("inherits = </a>", "")), Ok(true));
    assert_eq!(opened(("", "inherits = </a/arm>")), Ok(true));
    let error = opened(("inherits = </a>", "inherits = </a/arm>")).unwrap_err();
    assert!(error.contains("/b/arm in robots.usda inherits /a/arm, which it already inherits by /b"), "{error}");
}
