"""The node with scarce system resources, in a separate process."""

import os

import pytest

pytest.importorskip("cyclonedds", reason="the peers are CycloneDDS (pip install cyclonedds)")

import conftest  # noqa: E402
import ros_peer  # noqa: E402
from ros_node import PATIENCE, box  # noqa: E402
from ros_peer import Asset, DiagnosticArray, Peer, String  # noqa: E402

ROBOTS = 40


def open_files(node):
    return len(os.listdir(f"/proc/{node.process.pid}/fd"))


def test_robots_cost_no_descriptors(start, domain, tmp_path, monkeypatch):
    limited = tmp_path / "limited"
    limited.write_text(f'#!/bin/sh\nulimit -Sn 64 && ulimit -Hn 128 && exec {conftest.program()} "$@"\n')
    limited.chmod(0o755)
    monkeypatch.setattr(conftest, "PROGRAM", limited)
    node = start(discover=True, workers=1)
    with Peer(domain) as peer:
        assets = peer.subscription("/urdf_usd/asset", Asset, latched=True, depth=1000)
        node.logged("listening")
        before = open_files(node)
        publishers = {f"r{n}": peer.publisher(f"/r{n}/robot_description", String, latched=True, depth=1) for n in range(ROBOTS)}
        for publisher in publishers.values():
            publisher.write(String(data=box("arm")))
        written = set()

        def all_written():
            written.update(asset.ros_namespace for asset in assets.take())
            assert node.process.poll() is None and "Too many open files" not in node.log, node.log
            return len(written) == ROBOTS

        ros_peer.until(all_written, PATIENCE, f"all robots: {sorted(written)}")
        assert open_files(node) < before + ROBOTS / 2, (before, open_files(node))
