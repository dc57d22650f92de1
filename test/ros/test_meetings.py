"""The node and its peers meet under bad conditions: either side stands still, is given up and comes back, or calls at the worst moment.

Whatever happens, what is latched arrives within moments of both sides being awake, and each call gets its answer. More of the same,
for as long as one likes: `python test/meetings.py --help`.
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

takes_long = pytest.mark.skipif(conftest.SOAK <= 1, reason="takes more than a minute: with URDF_USD_SOAK=2 and more")


def assets_of(peer):
    return peer.subscription("/urdf_usd/asset", Asset, latched=True, depth=100)


@pytest.mark.parametrize("seconds", [0.2, 1, 6], ids=["blink", "second", "long"])
def test_a_node_that_was_stopped_hears_and_answers_what_was_said_meanwhile(start, peer, seconds):
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
    # And from then on.
    topic.write(String(data=box("after")))
    assets.wait(lambda asset: asset.robot == "after", PATIENCE)
    assert [value.value for value in client.call(GetParameters.request(names=["settle_time"]), PATIENCE).values] == [0.05]


def test_a_peer_that_was_given_up_and_comes_back_is_heard_and_hears(start, peer, domain):
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


def test_a_call_by_a_peer_that_comes_back_from_a_silence_beyond_its_lease_is_answered(start, peer, domain):
    node = start()
    assets = assets_of(peer)
    with PeerProcess(domain, lease=2) as other:
        other.describe("before")
        assets.wait(lambda asset: asset.robot == "before", PATIENCE)
        for _ in range(3):
            # The call is what it does first when it is back.
            other.stop()
            other.call()
            time.sleep(4)
            other.go_on()
            assert not other.tells(["called", "answer"], PATIENCE)
        other.describe("after")
        assert other.hears("after")
    assert "joined the ROS graph again" not in node.log


def test_a_first_answer_is_not_lost_when_the_node_stands_still_after_the_meeting(start, domain):
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
    """Without multicast, participants of Cyclone DDS 11 look for others at all ports for a while only."""
    soon = "<InitialLocatorPruneDelay>1s</InitialLocatorPruneDelay><DiscoveredLocatorPruneDelay>1s</DiscoveredLocatorPruneDelay></Discovery>"
    with contextlib.ExitStack() as held:
        # The first ports are others', as beside many nodes.
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


def test_an_answer_reaches_a_client_that_took_the_place_of_another_while_the_node_stood_still(start, peer):
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


def test_a_caller_that_stands_still_holds_up_no_other(start, peer, domain):
    node = start()
    # One that keeps all: what is looked at is what the node sends.
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
        # Two seconds after an answer that is not acknowledged it comes once more, and that was it: others would push out those of callers
        # that keep few.
        time.sleep(6)
        answered()
        often = {number: times for number, times in came.items() if times > 2}
        assert not often, f"{len(often)} of {len(came)} answers came more than twice: {dict(list(often.items())[:5])}"
        other.go_on()
        # The participant that it knew is gone: it has to meet the other one before it calls.
        other.describe("after")
        assert other.hears("after")
        other.call()
        assert not other.tells(["called", "answer"], PATIENCE)


def test_calls_are_answered_by_a_node_that_stood_still_for_longer_than_the_leases_of_the_callers(start, domain):
    """Cyclone DDS, when it goes on, gives all of them up before it hears what they sent, and meets them anew moments later."""
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
            # Not by the time limit of answers whose callers are not known, which is 20 s.
            end = time.monotonic() + 15
            for other in others:
                assert not other.tells(["called", "answer"], max(0.1, end - time.monotonic()))


def in_a_network_of_its_own(folder, what):
    alone = ["unshare", "--map-root-user", "--net"]
    if not shutil.which("unshare") or subprocess.run([*alone, "true"], capture_output=True).returncode:
        pytest.skip("a network of its own can't be had here (unshare --map-root-user --net)")
    script = Path(__file__).resolve().parents[1] / "networks.py"
    done = subprocess.run([*alone, sys.executable, script, folder, what], capture_output=True, text=True, timeout=4 * PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_machine_that_changes_its_addresses(tmp_path):
    in_a_network_of_its_own(tmp_path, "moves")


def test_a_machine_whose_network_goes_and_comes_back(tmp_path):
    in_a_network_of_its_own(tmp_path, "goes")


@takes_long
def test_a_node_that_stood_still_for_a_minute_hears_what_was_said_meanwhile(start, peer):
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
