"""Runs a command, `cargo build`, where it finds Rust for ROS messages.

Most workspaces have their messages from packages of a distribution, without Rust. So it is generated from the .idl files that every
installed message package carries: for the packages named, and whatever they refer to, into a prefix that is there for this command
alone. The crate `ros-env` takes it up from PREFIX/share/PACKAGE/rust, as from any workspace that has it.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

KINDS = ("msg", "srv", "action")
#: A reference of generated code to another package: `std_msgs::msg::Header`.
REFERENCE = re.compile(r"(?<![\w:])([a-z]\w*)::(?:msg|srv|action)::")
#: The manifest that `ros-env` expects: marked, with the referred packages as dependencies of any version.
MANIFEST = """[package]
name = "{package}"
version = "0.0.0"
edition = "2021"

[package.metadata.ros-env]
include = true

[dependencies]
{dependencies}"""


def idl_files(folder):
    return sorted(file for kind in KINDS for file in folder.glob(f"{kind}/*.idl"))


class Messages:
    def __init__(self, options):
        self.options = options
        self.prefix = options.prefix.resolve()
        self.own = {name: Path(folder).resolve() for name, folder in (package.split("=", 1) for package in options.own)}

    def folder(self, package):
        """The folder of a package's .idl files."""
        prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
        folders = [Path(prefix, "share", package) for prefix in prefixes if prefix]
        for folder in [self.own[package]] if package in self.own else folders:
            if idl_files(folder):
                return folder
        sys.exit(f"the messages of `{package}` are in no prefix of AMENT_PREFIX_PATH; install them (rosdep does) and source the workspace")

    def state(self, packages):
        """The inputs of the generated Rust of packages; unchanged as long as it is up to date."""
        files = [Path(__file__).resolve(), self.options.generator.resolve(), *self.options.templates.resolve().rglob("*.em")]
        files += [file for package in sorted(packages) for file in idl_files(self.folder(package))]
        return {"packages": sorted(packages), "files": [[str(file), file.stat().st_mtime_ns] for file in files]}

    def make(self):
        """Generates the Rust of all packages, unless it is up to date."""
        kept = self.prefix / "state.json"
        if kept.is_file():
            there = json.loads(kept.read_text())
            if {*self.options.packages, *self.own} <= {*there["packages"]} and self.state(there["packages"]) == there:
                return
        shutil.rmtree(self.prefix, ignore_errors=True)
        done, waiting = set(), [*self.options.packages, *self.own]
        while waiting:
            package = waiting.pop()
            if package not in done:
                done.add(package)
                waiting += self.generate(package)
        (self.prefix / "lib").symlink_to(self.options.libraries.resolve())
        kept.write_text(json.dumps(self.state(done)))

    def generate(self, package):
        """Generates the Rust of a package. Returns the packages that it refers to."""
        folder, share = self.folder(package), self.prefix / "share" / package
        share.mkdir(parents=True)
        files = idl_files(folder)
        arguments = share / "arguments.json"
        options = {
            "package_name": package,
            "package_version": "0.0.0",
            "output_dir": str(share),
            "template_dir": str(self.options.templates.resolve()),
            "idl_tuples": [f"{folder}:{file.relative_to(folder)}" for file in files],
            "ros_interface_files": list(map(str, files)),
            "ros_interface_dependencies": [],
            "target_dependencies": list(map(str, files)),
        }
        arguments.write_text(json.dumps(options))
        command = [sys.executable, self.options.generator, "--generator-arguments-file", arguments, "--typesupport-impls", ""]
        if subprocess.run(list(map(str, command))).returncode:
            sys.exit(f"rosidl_generator_rs failed on the messages of `{package}`")
        code = "".join(file.read_text() for file in share.glob("rust/src/**/*.rs"))
        referred = sorted(set(REFERENCE.findall(code)) - {"super", "self", "crate", package})
        dependencies = "".join(f'{name} = "*"\n' for name in referred)
        (share / "rust" / "Cargo.toml").write_text(MANIFEST.format(package=package, dependencies=dependencies))
        return referred


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--generator", type=Path, required=True, help="the program rosidl_generator_rs")
    parser.add_argument("--templates", type=Path, required=True, help="its templates")
    parser.add_argument("--prefix", type=Path, required=True, help="the output folder")
    parser.add_argument("--libraries", type=Path, required=True, help="the folder of the libraries of --own packages")
    parser.add_argument("--own", metavar="PACKAGE=DIR", action="append", default=[], help="a package not yet installed: its .idl files")
    parser.add_argument("--packages", nargs="+", required=True, help="the packages to generate")
    parser.add_argument("--command", nargs=argparse.REMAINDER, required=True, help="the command, last")
    options = parser.parse_args()
    messages = Messages(options)
    messages.make()
    prefixes = [str(messages.prefix), *filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep))]
    os.environ["AMENT_PREFIX_PATH"] = os.pathsep.join(prefixes)
    # For the linker: cargo does not rerun the build scripts of rclrs when prefixes change.
    libraries = [f"{prefix}/lib" for prefix in prefixes]
    os.environ["LIBRARY_PATH"] = os.pathsep.join([*libraries, *filter(None, [os.environ.get("LIBRARY_PATH")])])
    os.execvp(options.command[0], options.command)


if __name__ == "__main__":
    main()
