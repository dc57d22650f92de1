//! The executable `bridge`: becomes `urdf_usd bridge`, the node, of the program beside it. A
//! program of its own, with the same engine in it, would be optimised and linked a second time.

use std::env;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    // Where links lead to: `colcon build --symlink-install` installs links.
    let program = env::current_exe().map_or_else(
        |_| PathBuf::from("urdf_usd"),
        |path| path.with_file_name("urdf_usd"),
    );
    // The process stays the same one: signals, launch and `ros2 run` see no difference. It returns
    // only if it fails.
    let error = Command::new(&program)
        .arg("bridge")
        .args(env::args_os().skip(1))
        .exec();
    eprintln!(
        "bridge: {}: {error}; it has to be in the same folder as `bridge`",
        program.display()
    );
    ExitCode::FAILURE
}
