//! Snapshots of the text layers of the sample arm and of what the program tells people, so that a
//! reviewer sees what a change does to what people read.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test or benchmark that fails may panic

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use urdf_usd::convert::{Context, Job, Source, convert};

#[test]
fn text_layers_of_the_sample_arm() {
    let urdf =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/sample_arm/urdf/sample_arm.urdf");
    let output = tempfile::tempdir().unwrap();
    let job = Job::new(Source::File(urdf), output.path());
    let report = convert(&job, &Context::default()).unwrap();
    let layers: Vec<&str> = report
        .files
        .iter()
        .map(|file| file.path.as_str())
        .filter(|path| path.ends_with(".usda"))
        .collect();
    assert!(layers.contains(&"sample_arm.usda"), "{layers:?}");
    for layer in layers {
        let text = std::fs::read_to_string(report.directory.join(layer)).unwrap();
        insta::assert_snapshot!(layer, text);
    }
}

/// What `urdf_usd` tells people on standard error, in a folder with a robot in which much is wrong;
/// without times and where the folder is.
fn told(arguments: &[&str], input: &str) -> String {
    let kept = tempfile::tempdir().unwrap();
    let folder = kept.path().canonicalize().unwrap();
    let link = |i: usize| {
        format!(
            "  <link name=\"l{i}\">\n    <visual><geometry><mesh filename=\"package://nowhere/l{i}.stl\"/></geometry></visual>\n  </link>\n"
        )
    };
    let joint = |i: usize| {
        format!(
            "  <joint name=\"j{i}\" type=\"continuous\"><parent link=\"base\"/><child link=\"l{i}\"/></joint>\n"
        )
    };
    let parts: String = (1..11).map(link).chain((1..11).map(joint)).collect();
    let spoilt = "  <joint name=\"lost\" type=\"revolut\"><parent link=\"base\"/><child link=\"nobody\"/></joint>\n";
    let text = format!("<robot name=\"many\">\n  <link name=\"base\"/>\n{parts}{spoilt}</robot>\n");
    std::fs::write(folder.join("robot.urdf"), text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_urdf_usd"));
    command
        .args(arguments)
        .current_dir(&folder)
        .env_remove("AMENT_PREFIX_PATH")
        .env_remove("CLICOLOR_FORCE")
        .env("XDG_CACHE_HOME", &folder);
    let mut process = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    process
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let done = process.wait_with_output().unwrap();
    let text = String::from_utf8(done.stderr)
        .unwrap()
        .replace(&*folder.to_string_lossy(), "/folder");
    let line = |line: &str| match line.split_once(" MB in ") {
        Some((before, after)) => format!("{before} MB in … {}\n", after.split_once(' ').unwrap().1),
        None => format!("{line}\n"),
    };
    format!(
        "{}exit code {}\n",
        text.lines().map(line).collect::<String>(),
        done.status.code().unwrap()
    )
}

#[test]
fn what_people_are_told() {
    insta::assert_snapshot!(
        "told_usual",
        told(&["convert", "robot.urdf", "-o", "out"], "")
    );
    insta::assert_snapshot!(
        "told_quiet",
        told(&["convert", "robot.urdf", "-o", "out", "-q"], "")
    );
    let assumed = "<robot name=\"r\"><link name=\"a\"/><link name=\"b\"/>\n\
        <joint name=\"j\" type=\"continuous\"><parent link=\"a\"/><child link=\"b\"/></joint></robot>";
    insta::assert_snapshot!("told_strict", told(&["convert", "-", "--strict"], assumed));
    let cut = "<robot name=\"r\">\n  <link name=\"a\">\n    <visual>\n  </link>\n</robot>\n";
    insta::assert_snapshot!("told_standard_input", told(&["convert", "-"], cut));
    insta::assert_snapshot!("told_no_file", told(&["convert", "gone.urdf"], ""));
}
