//! The ROS 2 node `bridge`.

use std::process::ExitCode;

fn main() -> ExitCode {
    urdf_usd::bridge::main(std::env::args_os().skip(1))
}
