#!/usr/bin/env python3
"""Hostile conversions under limits of time and memory, with an honest one after each.

Each attack must end within its limit, with an exit code of the program itself, and without published or temporary files; the honest
conversion after it must succeed. With --node the same inputs go to a running node as calls of its service `convert`, one after the other and
then all at once (needs `pip install cyclonedds`); the node must answer each, stay the same process, and answer honest calls between.

    python test/attack/limits.py --program target/release/urdf_usd [--node] [--time-limit 5] [--memory-limit 256]
"""

import argparse
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import time
import zlib

sys.dont_write_bytecode = True
TEST = pathlib.Path(__file__).resolve().parent.parent

#: Seconds by which a conversion may exceed its limit: two to end by itself, and some for a busy machine.
SLACK = 6
BODY = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
HONEST = f'<robot name="honest"><link name="base">{BODY}<visual><geometry><box size="{{}} 1 1"/></geometry></visual></link></robot>'


def shape(file):
    return f'<visual><geometry><mesh filename="file://{file}"/></geometry></visual>'


def urdf(folder, name, inside):
    path = folder / f"{name}.urdf"
    path.write_text(f'<robot name="{name}">{inside}</robot>')
    return path


def layer(folder, name, text):
    path = folder / f"{name}.usda"
    path.write_text(f'#usda 1.0\n(\n    defaultPrim = "r"\n    metersPerUnit = 1\n    upAxis = "Z"\n)\n{text}')
    return path


def large_mesh(folder):
    """Creates an honest mesh of a million triangles."""
    count, path = 1_000_000, folder / "large.stl"
    with path.open("wb") as stl:
        stl.write(bytes(80) + struct.pack("<I", count))
        for k in range(count):
            x, y, z = k % 1000, k // 1000, k * 2654435761 % 4096 / 4096
            stl.write(struct.pack("<12fH", 0, 0, 1, x, y, z, x + 1, y, z, x, y + 1, z / 2, 0))
    return urdf(folder, "large_mesh", f'<link name="a">{BODY}{shape(path)}</link>')


def pipe(folder):
    """Creates a mesh that is a pipe without a writer."""
    path = folder / "pipe.stl"
    os.mkfifo(path)
    return urdf(folder, "pipe", f'<link name="a">{BODY}{shape(path)}</link>')


def image(folder):
    """Creates a texture of 8192 × 8192 pixels in some kilobytes."""
    side, path = 8192, folder / "image.png"
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = zlib.compress((b"\0" + bytes(8 * side)) * side, 9)
    head = struct.pack(">IIBBBBB", side, side, 16, 6, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b""))
    material = f'<material name="m"><texture filename="file://{path}"/></material>'
    corners = "v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nf 1/1 2/2 3/3\n"
    (folder / "textured.obj").write_text(corners)
    visual = shape(folder / "textured.obj").replace("</visual>", f"{material}</visual>")
    return urdf(folder, "image", f'<link name="a">{BODY}{visual}</link>')


def ladder(folder):
    """Creates classes that each inherit the previous one twice: 2^40 paths to the first."""
    rungs = ['class "c0" { def Xform "x" {} }']
    for n in range(1, 40):
        rungs.append(f'class "c{n}" {{ def Xform "x" (inherits = </c{n - 1}>) {{}} def Xform "y" (inherits = </c{n - 1}>) {{}} }}')
    body = 'def Xform "r" (inherits = </c39>) { def Xform "b" (prepend apiSchemas = ["PhysicsRigidBodyAPI"]) {} }'
    return layer(folder, "ladder", "\n".join([*rungs, body]))


def siblings(folder):
    """Creates many nested bodies."""
    parts = [f'def Xform "b{n}" (prepend apiSchemas = ["PhysicsRigidBodyAPI"]) {{}}' for n in range(20_000)]
    return layer(folder, "siblings", 'def Xform "r" (prepend apiSchemas = ["PhysicsRigidBodyAPI"]) {\n' + "\n".join(parts) + "\n}\n")


ATTACKS = (large_mesh, pipe, image, ladder, siblings)


def leftovers(output):
    return [path.name for path in output.rglob("*") if path.name.endswith((".staging", ".retired"))]


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def through_the_command_line(arguments, inputs, folder):
    for number, (name, path) in enumerate(inputs.items()):
        output = folder / "cli"
        limits = ["--time-limit", str(arguments.time_limit), "--memory-limit", str(arguments.memory_limit)]
        command = [arguments.program, "convert", str(path), "-o", str(output), "--no-cache", "--allowed-root", str(folder), *limits]
        begun = time.monotonic()
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=arguments.time_limit + SLACK)
        except subprocess.TimeoutExpired:
            sys.exit(f"FAILED: {name} goes on after {arguments.time_limit + SLACK} s")
        took = time.monotonic() - begun
        codes = [line.split("convert-", 1)[1].split()[0] for line in done.stderr.splitlines() if "convert-" in line]
        print(f"{name}: exit code {done.returncode} after {took:.1f} s {codes}")
        check(done.returncode in (0, 1), f"{name}: exit code {done.returncode}\n{done.stderr}")
        check(not output.exists() or not leftovers(output), f"{name} left {leftovers(output)}")
        honest = folder / "honest.urdf"
        honest.write_text(HONEST.format(1 + number))
        done = subprocess.run([arguments.program, "convert", str(honest), "-o", str(output), *limits], capture_output=True, text=True)
        check(done.returncode == 0, f"the honest conversion after {name}: {done.stderr}")


def through_the_node(arguments, inputs, folder):
    sys.path.insert(0, str(TEST))
    os.environ["URDF_USD_BIN"] = arguments.program
    import ros_node
    import ros_peer

    limits = {"time_limit": arguments.time_limit, "memory_limit": arguments.memory_limit}
    node = ros_node.Node(
        arguments.domain, folder / "node", folder / "log.txt", workers=2, allowed_roots=[str(folder)], restrict_calls=False, **limits
    )
    try:
        with ros_peer.Peer(arguments.domain) as peer:
            client = peer.client("/convert", ros_peer.Convert).matched(60)
            ask = lambda **request: client.send(ros_peer.Convert.request(**request))

            def honest(number):
                begun = time.monotonic()
                answer = client.answer(ask(urdf=HONEST.format(number)), 60)
                check(answer.success, f"an honest call: {answer.message}")
                return time.monotonic() - begun

            honest(0.5)
            for number, (name, path) in enumerate(inputs.items()):
                begun = time.monotonic()
                answer = client.answer(ask(uri=str(path)), arguments.time_limit + SLACK + 10)
                took, after = time.monotonic() - begun, honest(1 + number)
                print(f"node, {name}: {took:.1f} s, {answer.message[:120]!r}; then an honest call in {after:.2f} s")
                check(node.process.poll() is None, f"the node ended after {name}:\n{node.log}")
            calls = {name: ask(uri=str(path)) for name, path in inputs.items()}
            begun = time.monotonic()
            for name, call in calls.items():
                client.answer(call, (arguments.time_limit + SLACK) * len(inputs))
            print(f"node, all at once: {time.monotonic() - begun:.1f} s; then an honest call in {honest(100):.2f} s")
            check(node.process.poll() is None, f"the node ended:\n{node.log}")
            check(not leftovers(folder / "node"), f"the node left {leftovers(folder / 'node')}")
    finally:
        node.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=os.environ.get("URDF_USD_BIN") or str(TEST.parent / "target/debug/urdf_usd"))
    parser.add_argument("--time-limit", type=float, default=5.0, help="in s")
    parser.add_argument("--memory-limit", type=int, default=256, help="in MiB")
    parser.add_argument("--node", action="store_true", help="also through ROS")
    parser.add_argument("--domain", type=int, default=88, help="the ROS domain for that")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder).resolve()
        inputs = {attack.__name__: attack(folder) for attack in ATTACKS}
        through_the_command_line(arguments, inputs, folder)
        if arguments.node:
            through_the_node(arguments, inputs, folder)
    print("every attack ended within its limits; every honest conversion was done")


if __name__ == "__main__":
    main()
