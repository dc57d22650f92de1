//! Contributions of payloads, and assets that are rejected before composition.

#![allow(clippy::unwrap_used)] // a test that fails may panic

use urdf_usd_stage::{Options, Stage};

#[test]
fn schemas_of_payloads_are_distinguished_from_others() {
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
    // An explicit list of schemas hides those that a payload prepends.
    assert_eq!(of("/robot"), (false, String::new()));
    assert_eq!(
        of("/robot/a"),
        (false, "Cube PhysicsCollisionAPI".to_owned())
    );
    assert_eq!(of("/robot/b"), (true, "Xform".to_owned()));
}

#[test]
fn a_weaker_arc_to_a_class_does_not_replace_a_stronger_one() {
    let folder = tempfile::tempdir().unwrap();
    let entry = folder.path().join("robots.usda");
    let robot = |name: &str, (all, arm): (&str, &str)| {
        format!(
            "def \"{name}\" (\n    {all}\n)\n{{\n    def \"arm\" (\n        {arm}\n    )\n    {{\n    }}\n}}\n"
        )
    };
    let opened = |second: (&str, &str)| {
        let arm = "def \"arm\"\n{\n    def \"hand\"\n    {\n    }\n}\n";
        let robots = robot("a", ("", "references = </arm>")) + &robot("b", second);
        std::fs::write(&entry, format!("#usda 1.0\n\n{arm}{robots}")).unwrap();
        Stage::open(&entry, &Options::default())
            .map(|stage| stage.at("/b/arm/hand").is_some())
            .map_err(|error| error.to_string())
    };
    for arcs in [
        ("inherits = </a>", ""),
        ("", "inherits = </a/arm>"),
        ("inherits = </a>", "inherits = </a/arm>"),
        ("inherits = </a>", "specializes = </a/arm>"),
    ] {
        assert_eq!(opened(arcs), Ok(true), "{arcs:?}");
    }
    assert_eq!(
        opened(("specializes = </a>", "inherits = </a/arm>")),
        Ok(true)
    );
    let stage = Stage::open(&entry, &Options::default()).unwrap();
    assert_eq!(stage.errors, []);
    // Not if they are in different layers of a stack.
    assert_eq!(opened(("inherits = </a>", "")), Ok(true));
    let above = folder.path().join("above.usda");
    let text = "#usda 1.0\n(\nsubLayers = [@robots.usda@]\n)\nover \"b\"\n{\nover \"arm\" (\ninherits = </a/arm>\n)\n{\n}\n}\n";
    std::fs::write(&above, text).unwrap();
    let stage = Stage::open(&above, &Options::default()).unwrap();
    assert!(stage.errors.is_empty() && stage.at("/b/arm/hand").is_some());
}

#[test]
fn prims_keep_the_order_of_the_stage() {
    let folder = tempfile::tempdir().unwrap();
    let entry = folder.path().join("robot.usda");
    let prim = |name: &str, arc: &str, inside: &str| {
        format!("def \"{name}\" (\n{arc}\n)\n{{\n{inside}\n}}\n")
    };
    let text = prim("a", "inherits = </z>", "")
        + &prim(
            "b",
            "",
            &(prim("c", "references = </b/d>", &prim("e", "", ""))
                + &prim("d", "", &prim("f", "", ""))),
        )
        + &prim("z", "", &prim("y", "", ""));
    std::fs::write(&entry, format!("#usda 1.0\n{text}")).unwrap();
    let stage = Stage::open(&entry, &Options::default()).unwrap();
    let paths: Vec<&str> = stage.prims.iter().map(|prim| prim.path.as_str()).collect();
    let expected = [
        "/a", "/a/y", "/b", "/b/c", "/b/c/f", "/b/c/e", "/b/d", "/b/d/f", "/z", "/z/y",
    ];
    assert_eq!(paths, expected);
    for (id, prim) in stage.iter() {
        assert_eq!(stage.at(&prim.path), Some(id));
        let above = prim.path.rsplit_once('/').unwrap().0;
        assert_eq!(prim.parent, stage.at(above));
        assert!(
            prim.children
                .iter()
                .all(|child| stage[*child].parent == Some(id))
        );
    }
}

#[test]
fn payloads_above_a_referenced_target_are_recognised() {
    let folder = tempfile::tempdir().unwrap();
    let entry = folder.path().join("robot.usda");
    let whole = "def Xform \"whole\" (\n    payload = @parts.usda@\n)\n{\n}\n";
    let classes = "class \"_wheel\" (\n    apiSchemas = [\"PhysicsRigidBodyAPI\"]\n)\n{\n}\n";
    let parts = "def \"parts\"\n{\n    def Cube \"arm\" (\n        apiSchemas = [\"PhysicsCollisionAPI\"]\n    )\n    {\n        def \"hand\"\n        \
                 {\n        }\n    }\n}\n";
    std::fs::write(
        &entry,
        format!(
            "#usda 1.0\n{whole}{classes}def \"part\" (\n    references = </whole/arm>\n)\n{{\n}}\n"
        ),
    )
    .unwrap();
    std::fs::write(
        folder.path().join("parts.usda"),
        format!("#usda 1.0\n(\n    defaultPrim = \"parts\"\n)\n{parts}"),
    )
    .unwrap();
    let stage = Stage::open(&entry, &Options::default()).unwrap();
    let of = |path: &str| {
        let prim = stage.prim_at(path).unwrap();
        (prim.in_payload, prim.payload_schemas.join(" "))
    };
    assert_eq!(of("/whole"), (false, String::new()));
    assert_eq!(
        of("/whole/arm"),
        (true, "Cube PhysicsCollisionAPI".to_owned())
    );
    // OpenUSD loads a payload of a prim without a path in the stage in any case.
    assert_eq!(of("/part"), (false, String::new()));
    assert_eq!(of("/part/hand"), (false, String::new()));
    // No payload affects it.
    assert_eq!(of("/_wheel"), (false, String::new()));
}

#[test]
fn reopening_gives_the_same_stage_as_opening() {
    let assets = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../test/usd/assets");
    for name in ["variants.usda", "isaac_layout.usda"] {
        let stage = Stage::open(&assets.join(name), &Options::default()).unwrap();
        for choice in stage.other_variants(&[]) {
            let options = Options {
                variants: vec![choice.clone()],
                ..Options::default()
            };
            let (new, again) = (
                Stage::open(&assets.join(name), &options).unwrap(),
                stage.reopen(&options).unwrap(),
            );
            assert_eq!(
                format!("{:?}", new.prims),
                format!("{:?}", again.prims),
                "{name} {choice}"
            );
        }
    }
    let stage = Stage::open(&assets.join("variants.usda"), &Options::default()).unwrap();
    assert!(!stage.other_variants(&[]).is_empty());
    let none = Options {
        variants: vec!["none=such".parse().unwrap()],
        ..Options::default()
    };
    assert!(
        stage
            .reopen(&none)
            .unwrap_err()
            .to_string()
            .contains("no prim has the variant none=such")
    );
}

#[test]
fn prims_that_inherit_themselves_lose_the_arc() {
    let folder = tempfile::tempdir().unwrap();
    let entry = folder.path().join("robot.usda");
    let prim = |name: &str, arc: &str, inside: &str| {
        format!("def Xform \"{name}\" (\n{arc}\n)\n{{\n{inside}\n}}\n")
    };
    let child = prim("c", "", "");
    let opened = |text: &str| {
        std::fs::write(&entry, format!("#usda 1.0\n{text}")).unwrap();
        let stage = Stage::open(&entry, &Options::default()).unwrap();
        assert!(stage.at("/last").is_some(), "{text}");
        let errors = stage.errors.into_iter().map(|error| error.message);
        errors.collect::<Vec<_>>()
    };
    let last = prim("last", "", "");
    let opened = |text: &str| opened(&format!("{text}{last}"));
    let is_circle = |errors: &[String]| {
        let mut errors = errors.iter().peekable();
        errors.peek().is_some() && errors.all(|error| error.contains("is composed of itself"))
    };
    let a = |arc: &str, inside: &str| prim("a", arc, inside);
    let b = |arc: &str, inside: &str| prim("b", arc, inside);
    let x = |arc: &str| prim("x", arc, &child);
    for text in [
        a("inherits = </a>", &child),
        a("specializes = </a>", &child),
        a("inherits = </b>", &child) + &b("specializes = </a>", &child),
        a("", &x("inherits = </b/x>")) + &b("references = </a>", &child),
        a("references = </b>", &x("")) + &b("", &x("inherits = </a/x>")),
        a("inherits = </b>", &x(""))
            + &b("", &x("inherits = </e/x>"))
            + &prim("e", "inherits = </a>", ""),
    ] {
        let errors = opened(&text);
        assert!(is_circle(&errors), "{text}: {errors:?}");
    }
    // In a referenced layer with a sublayer.
    std::fs::write(
        folder.path().join("one.usda"),
        "#usda 1.0\n(\nsubLayers = [@two.usda@]\n)\nover \"a\" (\ninherits = </b>\n)\n{\n}\n",
    )
    .unwrap();
    let two = a("", &child) + &b("inherits = </a>", &child);
    std::fs::write(folder.path().join("two.usda"), format!("#usda 1.0\n{two}")).unwrap();
    let referenced = prim("r", "", &prim("part", "references = @one.usda@</a>", ""));
    assert!(is_circle(&opened(&referenced)));
    // A class of several prims, and cycles through ancestors or descendants, which composition reports.
    assert_eq!(
        opened(&(prim("_c", "", &child) + &a("inherits = </_c>", "") + &b("inherits = </_c>", ""))),
        Vec::<String>::new()
    );
    for text in [
        a("", &b("inherits = </a>", &child)),
        a("inherits = </a/c>", &child),
        a("references = </a>", &child),
    ] {
        assert!(!opened(&text).is_empty(), "{text}");
    }
}

#[test]
fn errors_about_other_files_have_a_single_line() {
    let folder = tempfile::tempdir().unwrap();
    let (entry, layer) = (
        folder.path().join("robot.usda"),
        folder.path().join("layer.usda"),
    );
    let reason = |bytes: &[u8], name: &str| {
        let file = folder.path().join(name);
        std::fs::write(&file, bytes).unwrap();
        Stage::open(&file, &Options::default()).unwrap_err().reason
    };
    for bytes in [&b"hello"[..], b""] {
        assert!(
            reason(bytes, "robot.usda").starts_with("it is not an OpenUSD file"),
            "{}",
            reason(bytes, "robot.usda")
        );
    }
    assert_eq!(
        reason(b"x", "robot.usdc"),
        "the file is truncated or damaged"
    );
    let broken = b"#usda 1.0\ndef \"a\" {\n  float x = \n}\n";
    let message = reason(broken, "robot.usda");
    assert!(
        message.ends_with(", robot.usda:3:12") && !message.contains('\n'),
        "{message}"
    );
    // A sublayer has the same message.
    std::fs::write(&layer, "hello").unwrap();
    std::fs::write(
        &entry,
        "#usda 1.0\n(\n    subLayers = [@./layer.usda@]\n)\n",
    )
    .unwrap();
    let errors = Stage::open(&entry, &Options::default()).unwrap().errors;
    assert!(
        errors[0]
            .message
            .starts_with("the sublayer @./layer.usda@ cannot be read: it is not an OpenUSD file"),
        "{errors:?}"
    );
}
