"""Conversions in separate processes: hostile ones fail without affecting the node."""

import contextlib
import fcntl
import os
import signal
import time
from pathlib import Path

import pytest

pytest.importorskip("cyclonedds", reason="the peers are CycloneDDS (pip install cyclonedds)")

import conftest  # noqa: E402
from hills import flat  # noqa: E402
from ros_node import PATIENCE, box, description  # noqa: E402
from ros_peer import Asset, Convert, Peer, String, until  # noqa: E402

LIMIT = 1.0
#: Extra seconds in which conversions may end by themselves.
GRACE = 2.0


@contextlib.contextmanager
def held(node, *robots):
    """Blocks conversions of these robots by holding the lock of their assets."""
    with contextlib.ExitStack() as stack:
        for robot in robots:
            lock = stack.enter_context((node.output / f".{robot}.lock").open("w"))
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def have_ended(pids):
    """Returns whether none of these processes runs."""
    return all(map(conftest.has_ended, pids))


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
            with held(node, f"hostile{n}"):
                begun = time.monotonic()
                answer = client.answer(client.send(Convert.request(urdf=box(f"hostile{n}"))), PATIENCE)
            assert not answer.success and "convert-timed-out" in answer.message, answer.message
            assert time.monotonic() - begun < LIMIT + GRACE + 10
            honest(f"honest{n}")
        # Then all at once.
        names = [f"all{n}" for n in range(6)]
        with held(node, *names):
            numbers = [client.send(Convert.request(urdf=box(name))) for name in names]
            answers = [client.answer(number, PATIENCE) for number in numbers]
        assert all(not answer.success and "convert-timed-out" in answer.message for answer in answers), answers
        honest("last")
        # A description that is set aside keeps the last good asset, until it changes.
        with held(node, "good"):
            good.write(String(data=box("good", 2)))
            node.logged(r"revision 1 is kept")
        assert "convert-timed-out" in node.log
        good.write(String(data=box("good", 3)))
        assert assets.wait(lambda a: a.robot == "good" and a.revision == 2, PATIENCE)
        assert not [p for p in node.output.iterdir() if p.name.endswith((".staging", ".retired"))]
    pids = node.workers()
    assert pids and node.end() == 0
    until(lambda: have_ended(pids), PATIENCE, "workers outlive their node")


def test_workers_that_die_are_replaced_and_die_with_a_killed_node(start, domain):
    node = start(workers=1)
    with Peer(domain) as peer:
        client = peer.client("/convert", Convert).matched(PATIENCE)
        convert = lambda name: client.answer(client.send(Convert.request(urdf=box(name))), PATIENCE)

        def end(number):
            pids = node.workers()
            for pid in pids:
                os.kill(pid, number)
            return pids

        assert convert("one").success
        # Idle workers are not replaced.
        killed = end(signal.SIGKILL)
        until(lambda: have_ended(killed), PATIENCE, "they go on")
        assert convert("two").success
        for number, code in ((signal.SIGABRT, "convert-crashed"), (signal.SIGKILL, "convert-out-of-memory")):
            with held(node, f"three{number}"):
                call = client.send(Convert.request(urdf=box(f"three{number}")))
                answer = until(lambda: client.answered(call) or end(number) and None, PATIENCE, "no answer")
            assert not answer.success and code in answer.message, answer.message
            until(lambda: have_ended(end(number)), PATIENCE, "they go on")
            assert convert("four").success
        pids = node.workers()
    assert pids
    node.kill()
    until(lambda: have_ended(pids), PATIENCE, "workers outlive their node")


def test_the_memory_of_one_robot_does_not_affect_others(start, domain, tmp_path):
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
