"""Discovery between the node and its peers under bad conditions: a side is stopped, times out and returns, or calls at the worst moment.

Latched messages must arrive soon after both sides run, and each call must be answered. `python test/meetings.py --help` runs the same
for any duration.
"""

import collections
import contextlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("cyclonedds", reason="the node is tested against cyclonedds (pip install cyclonedds)")

import conftest  # noqa: E402
import meetings  # noqa: E402
import ros_peer  # noqa: E402
from meetings import PeerProcess, parameter_of  # noqa: E402
from ros_node import PATIENCE, box, description  # noqa: E402
from ros_peer import Asset, Client, GetParameters, Peer, String  # noqa: E402

takes_long = pytest.mark.skipif(conftest.SOAK <= 1, reason="takes more than a minute: runs with URDF_USD_SOAK=2 and more")


def assets_of(peer):
    return peer.subscription("/urdf_usd/asset", Asset, latched=True, depth=100)


@pytest.mark.parametrize("seconds", [0.2, 1, 6], ids=["blink", "second", "long"])
def test_a_node_that_was_stopped_receives_and_answers_earlier_messages(start, peer, seconds):
    node = start()
    topic, assets = description(peer, box("before")), assets_of(peer)
    assets.wait(lambda asset: asset.robot == "before", PATIENCE)
    client = peer.client("/urdf_usd/get_parameters", GetParameters).matched(PATIENCE)
    node.process.send_signal(signal.SIGSTOP)
    number = client.send(GetParameters.request(names=["settle_time"]))
    topic.write(String(data=box("meanwhile")))
    time.sleep(seconds)
    node.process.send_signal(signal.SIGCONT)
    assets.wait(lambda asset: asset.robot == "meanwhile", PATIENCE)
    assert [value.value for value in client.answer(number, PATIENCE).values] == [0.05]
    # The same for later messages.
    topic.write(String(data=box("after")))
    assets.wait(lambda asset: asset.robot == "after", PATIENCE)
    assert [value.value for value in client.call(GetParameters.request(names=["settle_time"]), PATIENCE).values] == [0.05]


def test_a_peer_that_returns_after_its_lease_is_reconnected(start, peer, domain):
    node = start()
    assets = assets_of(peer)
    with PeerProcess(domain, lease=2) as other:
        other.describe("before")
        assets.wait(lambda asset: asset.robot == "before", PATIENCE)
        other.stop()
        node.logged('"before" is gone')
        other.go_on()
        other.describe("back")
        assets.wait(lambda asset: asset.robot == "back", PATIENCE)
        assert other.hears("back")


def test_a_call_by_a_peer_that_returns_after_its_lease_is_answered(start, peer, domain):
    node = start()
    assets = assets_of(peer)
    with PeerProcess(domain, lease=2) as other:
        other.describe("before")
        assets.wait(lambda asset: asset.robot == "before", PATIENCE)
        for _ in range(3):
            # The call is its first action after the return.
            other.stop()
            other.call()
            time.sleep(4)
            other.go_on()
            assert not other.tells(["called", "answer"], PATIENCE)
        other.describe("after")
        assert other.hears("after")
    assert "joined the ROS graph again" not in node.log


def test_a_first_answer_is_not_lost_if_the_node_is_stopped_after_discovery(start, domain):
    node = start()
    node.logged("listening")
    dice = random.Random(13)
    for _ in range(12):
        with Peer(domain) as caller:
            client = caller.client("/urdf_usd/get_parameters", GetParameters).matched(PATIENCE)
            number = client.send(GetParameters.request(names=["settle_time"]))
            time.sleep(dice.uniform(0, 0.05))
            node.process.send_signal(signal.SIGSTOP)
            time.sleep(dice.uniform(0.15, 0.4))
            node.process.send_signal(signal.SIGCONT)
            assert parameter_of(client.answer(number, PATIENCE)) == 0.05


def test_a_node_that_comes_long_after_its_peers_finds_them(start, domain):
    """Without multicast, participants of Cyclone DDS 11 probe all ports only for a limited time."""
    soon = "<InitialLocatorPruneDelay>1s</InitialLocatorPruneDelay><DiscoveredLocatorPruneDelay>1s</DiscoveredLocatorPruneDelay></Discovery>"
    with contextlib.ExitStack() as held:
        # Occupy the first ports, as if there were many nodes.
        for participant in range(12):
            for port in (7410, 7411):
                one = held.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
                one.bind(("0.0.0.0", port + 250 * domain + 2 * participant))
        other = held.enter_context(PeerProcess(domain, config=ros_peer.CONFIG.replace("</Discovery>", soon)))
        other.describe("before")
        time.sleep(5)
        node = start()
        assert other.hears("before"), node.log
        assert node.end() == 0
        time.sleep(5)
        node = start()
        other.describe("again")
        assert other.hears("again"), node.log


def test_an_answer_reaches_a_client_that_replaced_another_while_the_node_was_stopped(start, peer):
    node = start()
    node.logged("listening")
    asked = GetParameters.request(names=["settle_time"])
    for _ in range(10):
        before = Client(peer.participant, "/urdf_usd/get_parameters", GetParameters)
        before.call(asked, PATIENCE)
        node.process.send_signal(signal.SIGSTOP)
        before.close()
        after = Client(peer.participant, "/urdf_usd/get_parameters", GetParameters).matched(PATIENCE)
        number = after.send(asked)
        time.sleep(0.3)
        node.process.send_signal(signal.SIGCONT)
        assert parameter_of(after.answer(number, PATIENCE)) == 0.05
        after.close()


def test_a_stopped_caller_does_not_block_others(start, peer, domain):
    node = start()
    # A client with unlimited history, which shows all answers of the node.
    client = Client(peer.participant, "/urdf_usd/get_parameters", GetParameters, depth=100_000).matched(PATIENCE)
    with PeerProcess(domain, lease=100) as other, PeerProcess(domain, lease=2) as back:
        other.call()
        assert not other.tells(["called", "answer"], PATIENCE)
        back.describe("before")
        assert back.hears("before")
        back.stop()
        node.logged('"before" is gone')
        other.stop()
        came = collections.Counter()

        def answered():
            came.update(answer.sequence for answer in client.replies.take() if answer.client == client.identity)
            return numbers <= came.keys()

        for n in range(170):
            if n == 100:
                back.go_on()
            numbers = {client.send(GetParameters.request(names=["settle_time"])) for _ in range(50)}
            ros_peer.until(answered, PATIENCE, "some calls have no answer")
        assert "joined the ROS graph again" not in node.log
        # An unacknowledged answer is repeated once after two seconds, but not again: repetitions would displace the answers of callers
        # with a short history.
        time.sleep(6)
        answered()
        often = {number: times for number, times in came.items() if times > 2}
        assert not often, f"{len(often)} of {len(came)} answers came more than twice: {dict(list(often.items())[:5])}"
        other.go_on()
        # The known participant is gone: it has to discover the other one before it calls.
        other.describe("after")
        assert other.hears("after")
        other.call()
        assert not other.tells(["called", "answer"], PATIENCE)


def test_calls_are_answered_by_a_node_that_was_stopped_longer_than_the_leases_of_callers(start, domain):
    """When it continues, Cyclone DDS drops all callers before it reads their messages, and rediscovers them soon after."""
    node = start()
    node.logged("listening")
    with contextlib.ExitStack() as held:
        others = [held.enter_context(PeerProcess(domain, lease=2)) for _ in range(12)]
        for other in others:
            other.call()
        for other in others:
            assert not other.tells(["called", "answer"], PATIENCE)
        for _ in range(int(3 * conftest.SOAK)):
            node.process.send_signal(signal.SIGSTOP)
            for other in others:
                other.call(is_again=True)
            time.sleep(3)
            node.process.send_signal(signal.SIGCONT)
            # Faster than the timeout of answers for unknown callers, which is 20 s.
            end = time.monotonic() + 15
            for other in others:
                assert not other.tells(["called", "answer"], max(0.1, end - time.monotonic()))


def in_a_network_of_its_own(folder, what):
    alone = ["unshare", "--map-root-user", "--net"]
    if not shutil.which("unshare") or subprocess.run([*alone, "true"], capture_output=True).returncode:
        pytest.skip("cannot create a network namespace here (unshare --map-root-user --net)")
    script = Path(__file__).resolve().parents[1] / "networks.py"
    done = subprocess.run([*alone, sys.executable, script, folder, what], capture_output=True, text=True, timeout=4 * PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_machine_that_changes_its_addresses(tmp_path):
    in_a_network_of_its_own(tmp_path, "moves")


def test_a_machine_whose_network_goes_down_and_returns(tmp_path):
    in_a_network_of_its_own(tmp_path, "goes")


@takes_long
def test_a_node_that_was_stopped_for_a_minute_receives_earlier_messages(start, peer):
    node = start()
    topic, assets = description(peer, box("before")), assets_of(peer)
    assets.wait(lambda asset: asset.robot == "before", PATIENCE)
    node.process.send_signal(signal.SIGSTOP)
    topic.write(String(data=box("meanwhile")))
    time.sleep(67)
    node.process.send_signal(signal.SIGCONT)
    assets.wait(lambda asset: asset.robot == "meanwhile", PATIENCE)
    assert "joined the ROS graph again" not in node.log
    assert [value.value for value in peer.call("/urdf_usd/get_parameters", GetParameters, GetParameters.request(names=["settle_time"]), PATIENCE).values] == [0.05]


def test_meetings_at_random(start, domain):
    seconds = 12 * conftest.SOAK
    figures = meetings.meet(start, domain, seconds=seconds, seed=7)
    assert figures.lost == [] and figures.late == 0 and figures.meetings > 10 * seconds / 25, figures
