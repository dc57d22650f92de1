"""The node where the system gives it little, in a process of its own."""

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


@pytest.mark.parametrize("soft, hard", [(64, 4096), (256, 256)], ids=["a soft limit", "a hard limit"])
def test_as_many_robots_are_held_as_the_limit_of_descriptors_allows(start, domain, tmp_path, monkeypatch, soft, hard):
    limited = tmp_path / "limited"
    limited.write_text(f'#!/bin/sh\nulimit -Sn {soft} && ulimit -Hn {hard} && exec {conftest.program()} "$@"\n')
    limited.chmod(0o755)
    monkeypatch.setattr(conftest, "PROGRAM", limited)
    node = start(discover=True, workers=1)
    with Peer(domain) as peer:
        assets = peer.subscription("/urdf_usd/asset", Asset, latched=True, depth=1000)
        diagnostics = peer.subscription("/diagnostics", DiagnosticArray, depth=100)
        robots = {}
        for n in range(ROBOTS):
            robots[f"r{n}"] = peer.publisher(f"/r{n}/robot_description", String, latched=True, depth=1)
            robots[f"r{n}"].write(String(data=box("arm")))
        written, held = set(), None

        def look():
            nonlocal held
            written.update(asset.ros_namespace for asset in assets.take())
            for array in diagnostics.take():
                statuses = [s for s in array.status if s.name.endswith("robots held")]
                if statuses:
                    held = {pair.key: pair.value for pair in statuses[0].values}
            assert node.process.poll() is None, node.log
            assert "Too many open files" not in node.log, node.log

        def all_held():
            look()
            return len(written) == (ROBOTS if held is None else int(held["held"]))

        if hard > 1024:
            # The soft limit was no more than that: all are held.
            ros_peer.until(lambda: look() or len(written) == ROBOTS, PATIENCE, f"all robots: {sorted(written)}")
            assert held is None and open_files(node) > soft, held
            return
        ros_peer.until(lambda: look() or held and all_held(), PATIENCE, f"as many as are held: {held}, {sorted(written)}")
        assert held["code"] == "bridge-descriptors" and 0 < int(held["held"]) < ROBOTS, held
        assert int(held["held"]) + int(held["left out"]) == ROBOTS, held
        assert "bridge-descriptors" in node.log and "ulimit -n" in node.log
        # Those that are held leave as soon as they are written, and all others have their turn.
        def all_had_their_turn():
            look()
            for name in [name for name in written if name in robots]:
                entity = robots.pop(name).writer
                entity.__del__()
                del entity._ref
            return len(written) == ROBOTS

        ros_peer.until(all_had_their_turn, PATIENCE, f"the others: {sorted(written)}")
