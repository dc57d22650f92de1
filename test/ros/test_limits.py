"""Conversions in processes of their own: hostile ones cost themselves, never the node."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

pytest.importorskip("cyclonedds", reason="the peers are CycloneDDS (pip install cyclonedds)")

from hills import flat  # noqa: E402
from ros_node import PATIENCE, box, description  # noqa: E402
from ros_peer import Asset, Convert, Peer, String, until  # noqa: E402

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc")
LIMIT = 1.0
#: Conversions are given two seconds more to end by themselves.
GRACE = 2.0


class Stopper(threading.Thread):
    """Stops every worker that there is, as soon as it is there: to the node it is one that never comes back."""

    def __init__(self, node):
        super().__init__()
        self.node, self.ends, self.stopped = node, threading.Event(), set()

    def run(self):
        while not self.ends.wait(0.001):
            for pid in set(self.node.workers()) - self.stopped:
                try:
                    os.kill(pid, signal.SIGSTOP)
                    self.stopped.add(pid)
                except ProcessLookupError:
                    pass

    def kill(self, number):
        """Ends the stopped ones with this signal."""
        for pid in self.stopped & set(self.node.workers()):
            os.kill(pid, number)
            # Most signals are delivered once it goes on.
            os.kill(pid, signal.SIGCONT)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ends.set()
        self.join()
        # Idle ones are of use again.
        for pid in self.stopped & set(self.node.workers()):
            os.kill(pid, signal.SIGCONT)


def test_hostile_calls_never_end_the_node_and_honest_ones_between_are_answered(start, domain):
    node = start(time_limit=LIMIT, workers=2)
    with Peer(domain) as peer:
        assets = peer.subscription("/urdf_usd/asset", Asset, latched=True, depth=100)
        client = peer.client("/convert", Convert).matched(PATIENCE)
        good = description(peer, box("good"))
        assert assets.wait(lambda a: a.robot == "good", PATIENCE).revision == 1

        def honest(name):
            answer = client.answer(client.send(Convert.request(urdf=box(name))), PATIENCE)
            assert answer.success, answer.message

        # One after the other, with an honest one after each.
        for n in range(5):
            with Stopper(node):
                begun = time.monotonic()
                answer = client.answer(client.send(Convert.request(urdf=box(f"hostile{n}"))), PATIENCE)
            assert not answer.success and "convert-timed-out" in answer.message, answer.message
            assert time.monotonic() - begun < LIMIT + GRACE + 10
            honest(f"honest{n}")
        # And all at once.
        with Stopper(node):
            numbers = [client.send(Convert.request(urdf=box(f"all{n}"))) for n in range(6)]
            answers = [client.answer(number, PATIENCE) for number in numbers]
        assert all(not answer.success and "convert-timed-out" in answer.message for answer in answers), answers
        honest("last")
        # A description that is set aside leaves the last good asset, until it changes.
        with Stopper(node):
            good.write(String(data=box("good", 2)))
            node.logged(r"revision 1 stays")
        assert "convert-timed-out" in node.log
        good.write(String(data=box("good", 3)))
        assert assets.wait(lambda a: a.robot == "good" and a.revision == 2, PATIENCE)
        assert not [p for p in node.output.iterdir() if p.name.endswith((".staging", ".retired"))]
    pids = node.workers()
    assert pids and node.end() == 0
    gone = time.monotonic() + 10
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        assert time.monotonic() < gone, "workers outlive their node"
        time.sleep(0.05)


def test_workers_that_die_are_replaced_and_die_with_a_killed_node(start, domain):
    node = start(workers=1)
    with Peer(domain) as peer:
        client = peer.client("/convert", Convert).matched(PATIENCE)
        convert = lambda name: client.answer(client.send(Convert.request(urdf=box(name))), PATIENCE)
        assert convert("one").success
        # Idle ones are not missed.
        first = node.workers()
        for worker in first:
            os.kill(worker, signal.SIGKILL)
        until(lambda: not set(first) & set(node.workers()), PATIENCE, "the workers do not end")
        assert convert("two").success
        assert node.workers()
        for number, code in ((signal.SIGABRT, "convert-crashed"), (signal.SIGKILL, "convert-out-of-memory")):
            with Stopper(node) as stopper:
                call = client.send(Convert.request(urdf=box(f"three{number}")))
                answer = until(lambda: client.answered(call) or stopper.kill(number), PATIENCE, "no answer")
            assert not answer.success and code in answer.message, answer.message
            assert convert("four").success
        last = node.workers()
    node.kill()
    gone = time.monotonic() + 10
    while any(Path(f"/proc/{pid}").exists() for pid in last):
        assert time.monotonic() < gone, "workers outlive their node"
        time.sleep(0.05)


def test_memory_that_one_robot_takes_is_no_matter_of_others(start, domain, tmp_path):
    mesh = tmp_path / "flat.stl"
    flat(mesh, 8_000_000)
    urdf = f"<robot name='large'><link name='base'><visual><geometry><mesh filename='file://{mesh}'/></geometry></visual></link></robot>"
    node = start(memory_limit=1, workers=1, allowed_roots=[str(tmp_path)])
    with Peer(domain) as peer:
        client = peer.client("/convert", Convert).matched(PATIENCE)
        convert = lambda text: client.answer(client.send(Convert.request(urdf=text)), 2 * PATIENCE)
        for n in range(2):
            large = convert(urdf)
            assert not large.success and "convert-out-of-memory" in large.message and "limit of 1 MiB" in large.message, large.message
            small = convert(box(f"small{n}"))
            assert small.success, small.message
