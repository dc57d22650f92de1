//! Puts the commit into release builds. Development builds have none: they would be rebuilt after
//! every commit.

use std::env;
use std::path::Path;
use std::process::{Command, Stdio};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=URDF_USD_COMMIT");
    if env::var_os("URDF_USD_COMMIT").is_some() || env::var("PROFILE").as_deref() != Ok("release") {
        return;
    }
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        (output.status.success() && !text.is_empty()).then_some(text)
    };
    // Sources without git, or within another repository, have no commit of their own.
    let is_own = git(&["rev-parse", "--show-prefix"]).as_deref() == Some("crates/cli/");
    let Some(commit) = is_own
        .then(|| git(&["log", "-1", "--format=%h %cs"]))
        .flatten()
    else {
        return;
    };
    println!("cargo:rustc-env=URDF_USD_COMMIT={commit}");
    let reference = git(&["symbolic-ref", "-q", "HEAD"]);
    for name in [Some("HEAD".to_owned()), reference].into_iter().flatten() {
        if let Some(path) =
            git(&["rev-parse", "--git-path", &name]).filter(|path| Path::new(path).exists())
        {
            println!("cargo:rerun-if-changed={path}");
        }
    }
}
