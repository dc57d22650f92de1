//! The executable `bridge`, which replaces itself by `urdf_usd bridge`, the node.
//!
//! A second program with the same node in it would double the time to optimize and link.

use std::env;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    // `current_exe` resolves symbolic links, which `colcon build --symlink-install` installs.
    let program = env::current_exe().map_or_else(
        |_| PathBuf::from("urdf_usd"),
        |path| path.with_file_name("urdf_usd"),
    );
    // The process stays the same, so signals, launch and `ros2 run` see no difference. `exec`
    // returns only if it fails.
    let error = Command::new(&program)
        .arg("bridge")
        .args(env::args_os().skip(1))
        .exec();
    eprintln!(
        "bridge: {}: {error}; the program must be in the same folder as `bridge`",
        program.display()
    );
    ExitCode::FAILURE
}
