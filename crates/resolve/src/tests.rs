use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use rustix::fs::{CWD, RenameFlags};
use tempfile::TempDir;

use super::{Error, File, Files, Options, Resolver, prefixes};

/// A temporary folder with files, removed at the end of the test.
struct World {
    dir: TempDir,
}

impl World {
    /// Creates `files`: relative paths with contents.
    fn new(files: &[(&str, &str)]) -> Self {
        let world = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        for (name, content) in files {
            fs::create_dir_all(world.at(name).parent().unwrap()).unwrap();
            fs::write(world.at(name), content).unwrap();
        }
        world
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    fn package(self, folder: &str, name: &str) -> Self {
        fs::create_dir_all(self.at(folder)).unwrap();
        fs::write(
            self.at(folder).join("package.xml"),
            format!(
                "<?xml version=\"1.0\"?>\n<package format=\"3\"><name> {name} </name></package>"
            ),
        )
        .unwrap();
        self
    }

    fn marker(self, prefix: &str, name: &str) -> Self {
        let folder = self
            .at(prefix)
            .join("share/ament_index/resource_index/packages");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(name), "").unwrap();
        self
    }

    fn link(self, from: &str, to: &str) -> Self {
        fs::create_dir_all(self.at(from).parent().unwrap()).unwrap();
        symlink(self.at(to), self.at(from)).unwrap();
        self
    }

    fn prefixes(&self, names: &[&str]) -> Options {
        Options {
            ament_prefixes: names.iter().map(|name| self.at(name)).collect(),
            ..Options::default()
        }
    }
}

fn files(options: Options) -> Files {
    Files::new(Arc::new(Resolver::new(options)))
}

fn text(file: Result<File, Error>) -> String {
    String::from_utf8(file.unwrap().bytes.to_vec()).unwrap()
}

fn code(file: Result<File, Error>) -> &'static str {
    file.map_or_else(
        |error| error.code.id,
        |file| panic!("{} was opened", file.path.display()),
    )
}

#[test]
fn packages_are_found_in_the_documented_order() {
    let world = World::new(&[
        ("given/a", "given"),
        ("path/arm/a", "path"),
        ("over/share/arm/a", "over"),
        ("under/share/arm/a", "under"),
        ("own/a", "own"),
    ]);
    let world = world
        .marker("over", "arm")
        .marker("under", "arm")
        .package("own", "arm");
    fs::create_dir_all(world.at("own/urdf")).unwrap();
    let mut options = world.prefixes(&["over", "under"]);
    options.packages = vec![("arm".into(), world.at("given"))];
    options.package_paths = vec![world.at("path")];
    let open = |options: &Options| {
        let files = files(options.clone());
        files.allow(&world.at("own/urdf"));
        text(files.open("package://arm/a", None))
    };
    assert_eq!(open(&options), "given");
    options.packages.clear();
    assert_eq!(open(&options), "path");
    options.package_paths.clear();
    assert_eq!(open(&options), "over");
    options.ament_prefixes.remove(0);
    assert_eq!(open(&options), "under");
    options.ament_prefixes.clear();
    assert_eq!(open(&options), "own");
}

#[test]
fn a_package_path_may_be_the_package_itself_but_not_one_of_another_name() {
    let world = World::new(&[("checkout/a", "a"), ("paths/arm/a", "wrong")])
        .package("checkout", "arm")
        .package("paths/arm", "leg");
    let options = |name: &str| Options {
        package_paths: vec![world.at(name)],
        ..Options::default()
    };
    assert_eq!(
        text(files(options("checkout")).open("package://arm/a", None)),
        "a"
    );
    let error = files(options("paths"))
        .open("package://arm/a", None)
        .unwrap_err();
    assert_eq!(error.code.id, "resolve-unknown-package");
    assert!(
        error.message.contains("its package.xml says \"leg\""),
        "{error}"
    );
}

#[test]
fn an_unknown_package_lists_every_place() {
    let world = World::new(&[("paths/x", ""), ("robot/urdf/arm.urdf", "")])
        .package("robot", "robot")
        .marker("prefix", "leg");
    let mut options = world.prefixes(&["prefix"]);
    options.package_paths = vec![world.at("paths")];
    let files = files(options);
    files.allow(&world.at("robot/urdf"));
    let error = files.open("package://nope/a.stl", None).unwrap_err();
    assert_eq!(error.code.id, "resolve-unknown-package");
    for place in [
        "paths/nope",
        "prefix/share/ament_index/resource_index/packages/nope",
        "robot/package.xml",
    ] {
        assert!(
            error
                .message
                .contains(&world.at(place).display().to_string()),
            "{place} in {error}"
        );
    }
    assert!(error.help.contains("--package nope=DIR"), "{error}");
    assert!(files.used().contains(&world.at("paths/nope")));
}

#[test]
fn a_mapping_to_a_missing_folder_ends_the_search() {
    let world = World::new(&[("path/arm/a", "path")]);
    let mut options = Options {
        package_paths: vec![world.at("path")],
        ..Options::default()
    };
    options.packages = vec![("arm".into(), world.at("typo"))];
    assert_eq!(
        code(files(options).open("package://arm/a", None)),
        "resolve-unknown-package"
    );
}

#[test]
fn the_urdfs_folder_and_its_package_may_be_read_and_nothing_beside_them() {
    let world = World::new(&[
        ("robot/urdf/a", "a"),
        ("robot/meshes/b", "b"),
        ("secret", "s"),
        ("lone/u/a", "a"),
        ("lone/b", "b"),
    ]);
    let world = world.package("robot", "robot");
    let folder = world.at("robot/urdf");
    let files = files(Options::default());
    assert_eq!(code(files.open("a", Some(&folder))), "resolve-not-allowed");
    files.allow(&folder);
    assert_eq!(text(files.open("a", Some(&folder))), "a");
    assert_eq!(text(files.open("../meshes/b", Some(&folder))), "b");
    assert_eq!(
        text(files.open(
            &format!("file://{}", world.at("robot/meshes/b").display()),
            None
        )),
        "b"
    );
    for uri in [
        "../../secret",
        "../../missing",
        "/etc/passwd",
        "file:///etc/no-such-file",
    ] {
        assert_eq!(
            code(files.open(uri, Some(&folder))),
            "resolve-not-allowed",
            "{uri}"
        );
    }
    assert_eq!(code(files.open("a", None)), "resolve-no-base");
    files.allow(&world.at("lone/u"));
    assert_eq!(
        code(files.open("../b", Some(&world.at("lone/u")))),
        "resolve-not-allowed"
    );
}

#[test]
fn an_allowed_root_opens_what_was_refused() {
    let world = World::new(&[("lone/urdf/x", ""), ("lone/meshes/b", "b")]);
    let files = files(Options {
        allowed_roots: vec![world.at("lone")],
        ..Options::default()
    });
    assert_eq!(
        text(files.open("../meshes/b", Some(&world.at("lone/urdf")))),
        "b"
    );
}

#[test]
fn parents_in_a_uri_stay_in_the_package() {
    let world = World::new(&[("p/arm/m/a", "a"), ("p/leg/a", "leg")]);
    let files = files(Options {
        package_paths: vec![world.at("p")],
        ..Options::default()
    });
    assert_eq!(text(files.open("package://arm/m/../m/a", None)), "a");
    for uri in [
        "package://arm/../leg/a",
        "package://arm/%2e%2e/leg/a",
        "package://arm/m/../../leg/a",
    ] {
        assert_eq!(code(files.open(uri, None)), "resolve-escape", "{uri}");
    }
}

#[test]
fn links_are_resolved_before_the_check() {
    let world = World::new(&[("robot/real/a", "a"), ("secret/s", "s")]).package("robot", "robot");
    let world = world
        .link("robot/inside", "robot/real/a")
        .link("robot/outside", "secret/s")
        .link("robot/folder", "secret");
    let files = files(Options::default());
    files.allow(&world.at("robot"));
    assert_eq!(text(files.open("package://robot/inside", None)), "a");
    let error = files.open("package://robot/outside", None).unwrap_err();
    assert_eq!(error.code.id, "resolve-not-allowed");
    assert!(error.help.contains("allowed roots"), "{error}");
    assert_eq!(
        code(files.open("package://robot/folder/s", None)),
        "resolve-not-allowed"
    );
    assert_eq!(
        code(files.open("package://robot/folder/none", None)),
        "resolve-not-allowed"
    );
}

#[test]
fn a_refusal_lasts_until_what_it_depends_on_changes() {
    let world = World::new(&[("a/x", ""), ("b/f", "")]).link("root", "a");
    let options = Options {
        allowed_roots: vec![world.at("root")],
        ..Options::default()
    };
    let refusal = |name: &str| {
        let files = files(options.clone());
        assert_eq!(
            code(files.open(&world.at(name).display().to_string(), None)),
            "resolve-not-allowed"
        );
        files.states(SystemTime::now())
    };
    let (there, missing) = (refusal("b/f"), refusal("gone/deep/f"));
    assert!(there.are_unchanged() && missing.are_unchanged());
    fs::remove_file(world.at("root")).unwrap();
    symlink(world.at("b"), world.at("root")).unwrap();
    assert!(!there.are_unchanged());
    let missing = [refusal("gone/deep/f"), refusal("a/deep/f")];
    assert!(missing.iter().all(super::States::are_unchanged));
    ["gone", "a/deep"]
        .iter()
        .for_each(|link| symlink(world.at("b"), world.at(link)).unwrap());
    assert!(!missing.iter().any(super::States::are_unchanged));
    // The same path, which leads elsewhere now.
    let moved = refusal("a/x");
    fs::rename(world.at("a/x"), world.at("b/x")).unwrap();
    symlink(world.at("b/x"), world.at("a/x")).unwrap();
    assert!(!moved.are_unchanged());
}

#[test]
fn a_package_installed_by_links_can_be_read() {
    let world = World::new(&[
        ("src/arm/meshes/a", "a"),
        ("src/arm/meshes/t", "t"),
        ("src/other/s", "s"),
        ("i/share/arm/real", "r"),
    ]);
    let world = world.package("src/arm", "arm").marker("i", "arm");
    let world = world
        .link("i/share/arm/package.xml", "src/arm/package.xml")
        .link("i/share/arm/meshes/a", "src/arm/meshes/a");
    let world = world.link("i/share/arm/meshes/s", "src/other/s");
    let installed = files(world.prefixes(&["i"]));
    let file = installed.open("package://arm/meshes/a", None).unwrap();
    assert_eq!(file.path, world.at("src/arm/meshes/a"));
    assert!(
        installed.used().contains(&world.at("i/share/arm/meshes/a"))
            && installed.used().contains(&file.path)
    );
    // References in the mesh start at its real folder, also if nothing was opened before.
    let fresh = files(world.prefixes(&["i"]));
    assert_eq!(text(fresh.open("t", file.path.parent())), "t");
    assert_eq!(
        text(fresh.open(
            &world.at("i/share/arm/meshes/a").display().to_string(),
            None
        )),
        "a"
    );
    assert_eq!(
        text(fresh.open(
            &format!("file://{}", world.at("i/share/arm/real").display()),
            None
        )),
        "r"
    );
    assert_eq!(
        code(fresh.open("package://arm/meshes/s", None)),
        "resolve-not-allowed"
    );
}

#[test]
fn a_manifest_link_to_a_folder_of_another_name_opens_nothing() {
    let world = World::new(&[("src/leg/a", "a")])
        .package("src/leg", "leg")
        .marker("i", "arm");
    let world = world
        .link("i/share/arm/package.xml", "src/leg/package.xml")
        .link("i/share/arm/a", "src/leg/a");
    assert_eq!(
        code(files(world.prefixes(&["i"])).open("package://arm/a", None)),
        "resolve-not-allowed"
    );
}

#[test]
fn percent_and_spaces_work_encoded_and_as_they_are() {
    let world = World::new(&[
        ("p/arm/a b.stl", "space"),
        ("p/arm/50%20.stl", "percent"),
        ("p/arm/ü.stl", "umlaut"),
    ]);
    let files = files(Options {
        package_paths: vec![world.at("p")],
        ..Options::default()
    });
    let base = world.at("p/arm");
    for (uri, content) in [
        ("package://arm/a%20b.stl", "space"),
        ("package://arm/a b.stl", "space"),
        ("a%20b.stl", "space"),
        ("package://arm/50%20.stl", "percent"),
        ("package://arm/50%2520.stl", "percent"),
        ("50%20.stl", "percent"),
        ("package://arm/%C3%BC.stl", "umlaut"),
    ] {
        assert_eq!(text(files.open(uri, Some(&base))), content, "{uri}");
    }
}

#[test]
fn a_missing_file_names_its_neighbours() {
    let world = World::new(&[("p/arm/meshes/Base.STL", ""), ("p/arm/meshes/base.dae", "")]);
    let files = files(Options {
        package_paths: vec![world.at("p")],
        ..Options::default()
    });
    let error = files
        .open("package://arm/meshes/base.stl", None)
        .unwrap_err();
    assert_eq!(error.code.id, "resolve-missing-file");
    assert_eq!(error.help, "did you mean \"Base.STL\" or \"base.dae\"?");
    let error = files
        .open("package://arm/Meshes/Base.STL", None)
        .unwrap_err();
    assert_eq!(error.help, "did you mean \"meshes\"?");
    assert_eq!(
        files
            .open("package://arm/meshes\\x.stl", None)
            .unwrap_err()
            .help,
        "write / between folders, not \\"
    );
    assert!(files.used().contains(&world.at("p/arm/meshes/base.stl")));
}

#[test]
fn only_regular_files_of_a_bounded_size_are_read() {
    let world = World::new(&[("p/arm/a/b", "")]);
    let big = fs::File::create(world.at("p/arm/big")).unwrap();
    big.set_len(super::MAX_BYTES + 1).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(world.at("p/arm/socket")).unwrap();
    let files = files(Options {
        package_paths: vec![world.at("p")],
        ..Options::default()
    });
    assert_eq!(
        code(files.open("package://arm/a", None)),
        "resolve-not-a-file"
    );
    assert_eq!(
        code(files.open("package://arm/socket", None)),
        "resolve-not-a-file"
    );
    assert_eq!(
        code(files.open("package://arm/big", None)),
        "resolve-too-large"
    );
    assert_eq!(
        code(files.open("package://arm/a/b/c", None)),
        "resolve-missing-file"
    );
}

/// Exchanges `name` and `other` repeatedly while `work` runs.
fn while_exchanged(world: &World, name: &str, other: &str, work: impl FnOnce()) {
    let is_done = std::sync::atomic::AtomicBool::new(false);
    let (name, other) = (world.at(name), world.at(other));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(std::sync::atomic::Ordering::Relaxed) {
                rustix::fs::renameat_with(CWD, &name, CWD, &other, RenameFlags::EXCHANGE).unwrap();
            }
        });
        // A panic in `work` must not leave the thread running.
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        is_done.store(true, std::sync::atomic::Ordering::Relaxed);
        outcome.unwrap();
    });
}

#[test]
fn a_file_exchanged_for_a_link_meanwhile_is_never_read_from_outside() {
    let world = World::new(&[("robot/meshes/a", "inside"), ("secret/a", "outside")])
        .package("robot", "robot");
    let world = world
        .link("robot/meshes/link", "secret/a")
        .link("robot/linked", "secret");
    let mut inside = 0;
    let mut look = |tries: usize| {
        for _ in 0..tries {
            let files = files(Options::default());
            files.allow(&world.at("robot"));
            let located = files
                .locate("package://robot/meshes/a", None)
                .and_then(|located| files.read(&located));
            for read in [located, files.open("package://robot/meshes/a", None)] {
                match read {
                    Ok(file) => {
                        assert_eq!(String::from_utf8_lossy(&file.bytes), "inside");
                        inside += 1;
                    }
                    Err(error) => {
                        assert!(
                            ["resolve-not-allowed", "resolve-unreadable"].contains(&error.code.id),
                            "{error}"
                        );
                    }
                }
            }
        }
    };
    while_exchanged(&world, "robot/meshes/a", "robot/meshes/link", || look(500));
    while_exchanged(&world, "robot/meshes", "robot/linked", || look(500));
    assert!(inside > 0, "nothing was read at all");
}

#[test]
fn an_input_that_was_judged_before_is_read_where_it_was() {
    let world = World::new(&[("robot/r.urdf", "r"), ("secret/s", "s")]).package("robot", "robot");
    let path = world.at("robot/r.urdf");
    let files = || {
        files(Options {
            exact_inputs: vec![path.clone()],
            ..Options::default()
        })
    };
    assert_eq!(text(files().input(&path)), "r");
    fs::remove_file(&path).unwrap();
    symlink(world.at("secret/s"), &path).unwrap();
    assert_eq!(code(files().input(&path)), "resolve-unreadable");
}

#[test]
fn a_pipe_that_takes_a_files_place_is_not_waited_for() {
    let world = World::new(&[("robot/a", "a")]).package("robot", "robot");
    rustix::fs::mkfifoat(CWD, world.at("robot/pipe"), rustix::fs::Mode::RWXU).unwrap();
    let files = || {
        let files = files(Options::default());
        files.allow(&world.at("robot"));
        files
    };
    assert_eq!(
        code(files().open("package://robot/pipe", None)),
        "resolve-not-a-file"
    );
    assert_eq!(
        code(files().input(&world.at("robot/pipe"))),
        "resolve-not-a-file"
    );
    let located = files().locate("package://robot/a", None).unwrap();
    fs::rename(world.at("robot/pipe"), world.at("robot/a")).unwrap();
    assert_eq!(code(files().read(&located)), "resolve-unreadable");
    let manifest = world.at("robot/package.xml");
    fs::remove_file(&manifest).unwrap();
    rustix::fs::mkfifoat(CWD, &manifest, rustix::fs::Mode::RWXU).unwrap();
    assert_eq!(super::package_of(&world.at("robot")), None);
}

#[test]
fn a_path_is_walked_as_the_file_system_goes() {
    let world = World::new(&[("a/b/file", "f"), ("c/other", "o")]);
    let world = world
        .link("c/link", "a/b")
        .link("again", "c/link")
        .link("loop", "loop")
        .link("gone", "nowhere");
    symlink("../a/./b/../b/file", world.at("c/relative")).unwrap();
    for path in [
        "a/b/file",
        "c/link/file",
        "c/link/../b/file",
        "again/file",
        "c/relative",
        "c/link/../../c/other",
        "c",
        "c/link/..",
    ] {
        let path = world.at(path);
        assert_eq!(
            super::place::Place::walk(&path).unwrap().path,
            path.canonicalize().unwrap(),
            "{}",
            path.display()
        );
    }
    for path in [
        "loop",
        "gone",
        "nowhere",
        "a/b/file/x",
        "a/b/file/",
        "a/b/file/..",
    ] {
        let path = world.at(path);
        let kinds = (
            super::place::Place::walk(&path).unwrap_err().kind(),
            path.canonicalize().unwrap_err().kind(),
        );
        assert_eq!(kinds.0, kinds.1, "{}", path.display());
    }
    assert_eq!(
        super::place::Place::walk(Path::new("/")).unwrap().path,
        Path::new("/")
    );
    let exactly = |path| {
        super::place::Place::opened_exactly(&world.at(path), &|_| Ok::<_, std::io::Error>(()))
            .map(|opened| opened.path)
    };
    assert_eq!(exactly("a/b/file").unwrap(), world.at("a/b/file"));
    assert!(exactly("c/link/file").is_err() && exactly("c/relative").is_err());
}

#[test]
fn a_file_is_read_once() {
    let world = World::new(&[("a", "old")]);
    let files = files(Options::default());
    let first = files.input(&world.at("a")).unwrap();
    fs::write(world.at("a"), "new").unwrap();
    assert_eq!(text(files.open("a", Some(&world.at("")))), "old");
    assert_eq!(files.used(), [first.path]);
}

#[test]
fn the_input_may_be_anywhere_and_a_link() {
    let world = World::new(&[
        ("real/robot.urdf", "r"),
        ("real/mesh", "m"),
        ("links/mesh2", "m2"),
    ]);
    let world = world.link("links/robot.urdf", "real/robot.urdf");
    let files = files(Options::default());
    assert_eq!(text(files.input(&world.at("links/robot.urdf"))), "r");
    assert_eq!(text(files.open("mesh", Some(&world.at("real")))), "m");
    assert_eq!(text(files.open("mesh2", Some(&world.at("links")))), "m2");
    let error = files.input(&world.at("real/Robot.urdf")).unwrap_err();
    assert_eq!(
        (error.code.id, error.help.as_str()),
        ("resolve-missing-file", "did you mean \"robot.urdf\"?")
    );
    assert_eq!(code(files.input(&world.at("real"))), "resolve-not-a-file");
}

#[test]
fn a_manifest_at_the_top_of_the_file_system_is_no_package() {
    assert_eq!(super::package_of(Path::new("/")), None);
}

#[test]
fn a_long_manifest_is_not_parsed() {
    let attributes: String = (0..20_000).map(|i| format!(" a{i}=''")).collect();
    let manifest = format!("<package{attributes}><name>arm</name></package>");
    let world = World::new(&[("arm/package.xml", &manifest)]);
    assert_eq!(super::package_of(&world.at("arm")), None);
}

#[test]
fn files_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Files>();
}

#[test]
fn the_environment_value_is_split() {
    assert_eq!(
        prefixes("/a::/b:".as_ref()),
        [PathBuf::from("/a"), PathBuf::from("/b")]
    );
    assert!(prefixes("".as_ref()).is_empty());
}
