//! Which crates depend on which: the library needs no network, and `docs/architecture.md` is true.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)] // a test that fails may panic

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Maximum number of packages that the library is compiled with.
const MAX_PACKAGES: usize = 170;
/// What a library may not force on the program that uses it: async runtimes, web servers, networks
/// and their clients, allocators, log writers, command lines.
const UNWANTED: &[&str] = &[
    "async-std",
    "axum",
    "clap",
    "futures",
    "hyper",
    "jemallocator",
    "mimalloc",
    "mio",
    "notify",
    "r2r",
    "rclrs",
    "rust-embed",
    "rustls",
    "smol",
    "socket2",
    "tikv-jemallocator",
    "tokio",
    "tower",
    "tracing-subscriber",
    "urdf_usd_cli",
    "urdf_usd_cyclone",
    "urdf_usd_memory",
    "urdf_usd_node",
    "urdf_usd_ros",
    "urdf_usd_serve",
    "urdf_usd_worker",
    "zenoh",
];
/// Calls that act on the whole process.
const PROCESS_WIDE: &[&str] = &[
    "global_allocator",
    "setrlimit",
    "set_parent_process_death_signal",
    "kill_current_process_group",
    "signal::unix",
    "panic::set_hook",
    "build_global",
    "env::set_var",
    "umask(",
    "process::exit(",
    "set_global_default",
    ".try_init()",
    "cargo:rustc-link-arg",
    "cargo::rustc-link-arg",
];
/// The crates that are parts of the programs, and may contain them.
const PROGRAMS: &[&str] = &["cli", "node", "python", "worker"];
const BEGIN: &str = "<!-- begin: crates, made by UPDATE_DOCS=1 cargo test --ignore-rust-version --test dependencies -->\n";
const END: &str = "<!-- end: crates -->\n";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns what cargo prints, which has to be on this machine already.
fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .args(["--locked", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the crates of the workspace, by their short names, with those that each depends on to
/// be built; not those of its tests.
fn edges() -> BTreeMap<String, BTreeSet<String>> {
    let metadata = cargo(&["metadata", "--format-version", "1", "--no-deps"]);
    let metadata: Value = serde_json::from_str(&metadata).unwrap();
    let short = |name: &Value| {
        let name = name.as_str().unwrap();
        name.strip_prefix("urdf_usd_").unwrap_or(name).to_owned()
    };
    let packages = metadata["packages"].as_array().unwrap();
    packages
        .iter()
        .map(|package| {
            let dependencies = package["dependencies"].as_array().unwrap().iter();
            let own = dependencies
                .filter(|dependency| dependency["kind"] != "dev" && dependency["path"].is_string());
            (
                short(&package["name"]),
                own.map(|dependency| short(&dependency["name"])).collect(),
            )
        })
        .collect()
}

#[test]
fn the_library_needs_no_network() {
    let tree = cargo(&[
        "tree",
        "--package",
        "urdf_usd",
        "--no-default-features",
        "--edges",
        "normal",
        "--prefix",
        "none",
        "--format",
        "{p}",
    ]);
    let packages: BTreeSet<String> = tree
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ');
            Some(format!("{} {}", words.next()?, words.next()?))
        })
        .collect();
    assert!(
        packages.len() <= MAX_PACKAGES,
        "{} packages: {packages:#?}",
        packages.len()
    );
    for package in &packages {
        let name = package.split(' ').next().unwrap();
        assert!(!UNWANTED.contains(&name), "the library depends on {name}");
    }
}

/// Collects the Rust files below `folder`.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn only_programs_act_on_the_process() {
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let folder = entry.unwrap().path();
        if PROGRAMS.iter().any(|name| folder.ends_with(name)) {
            continue;
        }
        let mut files = Vec::new();
        sources(&folder.join("src"), &mut files);
        files.extend(Some(folder.join("build.rs")).filter(|script| script.is_file()));
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            for call in PROCESS_WIDE {
                assert!(!text.contains(call), "{}: {call}", file.display());
            }
        }
    }
}

/// `docs/architecture.md` lists the dependencies of every crate, and draws the crates in layers,
/// each of which uses only lower ones.
#[test]
fn the_picture_of_the_crates_is_true() {
    let edges = edges();
    let page = root().join("docs/architecture.md");
    let text = fs::read_to_string(&page).unwrap();
    let (before, rest) = text
        .split_once(BEGIN)
        .expect("the mark where the list begins");
    let (listed, after) = rest.split_once(END).expect("the mark where the list ends");
    let mut wanted = String::from("\n| crate | depends on |\n|---|---|\n");
    for (name, dependencies) in &edges {
        let names: Vec<&str> = dependencies.iter().map(String::as_str).collect();
        wanted += &format!("| `{name}` | {} |\n", names.join(", "));
    }
    wanted += "\n";
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&page, format!("{before}{BEGIN}{wanted}{END}{after}")).unwrap();
    } else {
        assert_eq!(
            listed, wanted,
            "docs/architecture.md: run with UPDATE_DOCS=1"
        );
    }

    let picture = text.split("```").nth(1).expect("a picture");
    let mut layers = BTreeMap::new();
    for (layer, line) in picture.lines().enumerate() {
        // The name of the layer stands before its crates.
        for name in line.split("  ").skip(1).flat_map(str::split_whitespace) {
            assert_eq!(
                layers.insert(name.to_owned(), layer),
                None,
                "{name} is drawn twice"
            );
        }
    }
    let drawn: BTreeSet<&String> = layers.keys().collect();
    assert_eq!(drawn, edges.keys().collect(), "the crates of the picture");
    for (name, dependencies) in &edges {
        for dependency in dependencies {
            assert!(
                layers[name] < layers[dependency],
                "{name} uses {dependency}, which is not drawn below it"
            );
        }
    }
}
