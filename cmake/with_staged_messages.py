"""Runs a command, `cargo build`, where r2r finds the messages of a package that is not installed yet.

r2r generates its types from installed packages: from the C headers, from the introspection libraries, which its build script loads, and
from the ament index. A prefix in the build folder has all three. Its name contains a hash of what r2r reads, because r2r's build scripts
run again only if an environment variable changes.
"""

import argparse
import hashlib
import os
import shutil
from pathlib import Path

GENERATORS = ("rosidl_generator_c", "rosidl_typesupport_introspection_c")
INDEX = "share/ament_index/resource_index/rosidl_interfaces"


def with_first(first, variable):
    """Returns the folders of a variable, behind one folder more."""
    return os.pathsep.join([str(first), *filter(None, os.environ.get(variable, "").split(os.pathsep))])


def inputs(options):
    """Yields the names and contents of what r2r reads, to be hashed."""
    for generator in GENERATORS:
        folder = options.build / generator / options.own
        for header in sorted(folder.rglob("*.h")):
            yield header.relative_to(folder), header.read_bytes()
    # Installed packages: an update changes the manifest's version, or at least its time.
    for prefix in filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)):
        for package in [*options.packages, "rcl", "rmw"]:
            manifest = Path(prefix, "share", package, "package.xml")
            if manifest.is_file():
                yield manifest, str(manifest.stat().st_mtime_ns).encode()


def stage(options):
    """Returns the prefix, which is made unless it is up to date."""
    digest = hashlib.sha256()
    for name, content in inputs(options):
        digest.update(f"{name} {len(content)}\n".encode() + content)
    folder = options.build / "r2r_messages"
    prefix = folder / digest.hexdigest()[:16]
    if prefix.is_dir():
        return prefix
    shutil.rmtree(folder, ignore_errors=True)
    # Renamed when complete, so that an interrupted run leaves nothing that looks complete.
    incomplete = folder / "incomplete"
    for generator in GENERATORS:
        # `include/PACKAGE/PACKAGE`, as installed since Humble.
        source, target = options.build / generator / options.own, incomplete / "include" / options.own / options.own
        for header in source.rglob("*.h"):
            copy = target / header.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(header, copy)
    (incomplete / INDEX).mkdir(parents=True)
    shutil.copyfile(options.build / "ament_cmake_index" / INDEX / options.own, incomplete / INDEX / options.own)
    (incomplete / "lib").symlink_to(options.build)
    incomplete.rename(prefix)
    return prefix


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--own", metavar="PACKAGE", required=True, help="the package not yet installed")
    parser.add_argument("--build", type=Path, required=True, help="its build folder")
    parser.add_argument("--packages", nargs="+", required=True, help="the other packages whose messages are bound")
    parser.add_argument("--command", nargs=argparse.REMAINDER, required=True, help="the command, last")
    options = parser.parse_args()
    options.build = options.build.resolve()
    prefix = stage(options)
    os.environ["AMENT_PREFIX_PATH"] = with_first(prefix, "AMENT_PREFIX_PATH")
    os.environ["LD_LIBRARY_PATH"] = with_first(prefix / "lib", "LD_LIBRARY_PATH")
    # Otherwise r2r binds every installed message, which takes minutes. The user's packages, for the topics of `capture_interfaces`, come last.
    bound = [*options.packages, options.own, *os.environ.get("IDL_PACKAGE_FILTER", "").split(";")]
    os.environ["IDL_PACKAGE_FILTER"] = ";".join(dict.fromkeys(filter(None, bound)))
    os.execvp(options.command[0], options.command)


if __name__ == "__main__":
    main()
