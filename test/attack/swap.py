"""Exchanges a mesh for a symbolic link to a file outside of the permitted folders, as fast as possible, while it is converted repeatedly.

    python test/attack/swap.py [--program target/debug/urdf_usd] [--tries 70] [--what file|folder]

A conversion may fail or read the mesh inside. Reads from outside are counted, and must not happen. Needs only Python's standard library
and Linux's renameat2.
"""

import argparse
import ctypes
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
EXCHANGE = 2
AT_FDCWD = -100
#: Seconds between two exchanges.
PERIOD = 0.0005
#: Number of squares of the mesh outside.
INSTEAD = 1000

#: Number of other meshes of the robot: reading them leaves time between the check and the reading of the exchanged one.
OTHERS = 100


def quads(count, at):
    """Returns an OBJ file of squares, which is recognised by its number of triangles."""
    lines = []
    for i in range(count):
        lines += [f"v {at} {i} 0", f"v {at + 1} {i} 0", f"v {at + 1} {i + 0.5} 0", f"v {at} {i + 0.5} 0"]
    lines += [f"f {4 * i + 1} {4 * i + 2} {4 * i + 3} {4 * i + 4}" for i in range(count)]
    return "\n".join(lines) + "\n"


def exchange(one, other):
    """Exchanges two paths in an endless loop."""
    libc, one, other = ctypes.CDLL(None, use_errno=True), os.fsencode(one), os.fsencode(other)
    while True:
        if libc.renameat2(AT_FDCWD, one, AT_FDCWD, other, EXCHANGE):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        # Keep each for a while, or every check would see both.
        time.sleep(PERIOD)


def lay_out(folder, what):
    """Creates a robot with a mesh inside, another mesh outside, and a link to it beside the first. Returns the two paths to exchange."""
    folder = Path(folder).resolve()
    (folder / "robot" / "meshes").mkdir(parents=True)
    (folder / "outside").mkdir()
    names = ["m", *(f"other{i}" for i in range(OTHERS))]
    visuals = (f'<visual><geometry><mesh filename="meshes/{name}.obj"/></geometry></visual>' for name in names)
    (folder / "robot" / "r.urdf").write_text(f'<robot name="r"><link name="a">{"".join(visuals)}</link></robot>')
    for place in (folder / "robot" / "meshes", folder / "outside"):
        for name in names[1:]:
            (place / f"{name}.obj").write_text(quads(1, 0))
    (folder / "robot" / "meshes" / "m.obj").write_text(quads(1, 0))
    (folder / "outside" / "m.obj").write_text(quads(INSTEAD, 7))
    if what == "folder":
        (folder / "robot" / "linked").symlink_to(folder / "outside")
        return folder / "robot" / "meshes", folder / "robot" / "linked"
    (folder / "robot" / "meshes" / "link.obj").symlink_to(folder / "outside" / "m.obj")
    return folder / "robot" / "meshes" / "m.obj", folder / "robot" / "meshes" / "link.obj"


def attack(program, *, tries=70, what="file"):
    """Returns how many conversions read the mesh inside, the one outside, and none."""
    read = {"inside": 0, "outside": 0, "none": 0}
    with tempfile.TemporaryDirectory() as folder:
        exchanger = multiprocessing.Process(target=exchange, args=lay_out(folder, what), daemon=True)
        exchanger.start()
        try:
            for _ in range(tries):
                command = [program, "convert", f"{folder}/robot/r.urdf", "-o", f"{folder}/out", "--json", "--no-cache"]
                done = subprocess.run(command, capture_output=True, text=True, timeout=60)
                report = json.loads(done.stdout) if done.stdout else {}
                triangles = report.get("counts", {}).get("triangles", 0)
                # The mesh outside has more triangles than all others together.
                is_read = not any("m.obj" in found["message"] and found["code"].startswith("resolve-") for found in report.get("diagnostics", []))
                read["outside" if triangles >= INSTEAD else "inside" if report and is_read else "none"] += 1
        finally:
            exchanger.terminate()
            exchanger.join()
    return read


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=os.environ.get("URDF_USD_BIN") or ROOT / "target" / "debug" / "urdf_usd")
    parser.add_argument("--tries", type=int, default=70, help="how many conversions (default: 70)")
    parser.add_argument("--what", choices=("file", "folder"), action="append", help="what is exchanged; both by default")
    arguments = parser.parse_args()
    outside = 0
    for what in arguments.what or ("file", "folder"):
        read = attack(str(arguments.program), tries=arguments.tries, what=what)
        print(f"{what}: {read['outside']} of {arguments.tries} read from outside, {read['inside']} from inside, {read['none']} none")
        outside += read["outside"]
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main())
