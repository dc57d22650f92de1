"""Discovery between the node and its peers under bad conditions, for any duration.

    python test/meetings.py --seconds 3600 --peers 20        # a node and twenty peers that stop, leave and come back
    python test/meetings.py --meetings 10000                 # until that number is reached

Peers start in any order, are stopped for 0 to 60 s, killed, and restarted under the same name; the node is stopped too, but not killed.
After each round both sides run: every description must become an asset that its own peer receives, and every call must be answered.
Answers after more than half a minute count as late, which also happens on an overloaded machine; missing ones count as lost, and the
exit code is 1 if any was lost.
"""

import argparse
import collections
import contextlib
import itertools
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

#: Seconds after which a message between running sides counts as late. The aim is 2, on an idle machine.
IN_TIME = 30
#: Seconds after which a message counts as lost.
AT_ALL = 150


def parameter_of(response):
    """Returns the only parameter of a response."""
    (value,) = response.values
    return value.value


class PeerProcess:
    """A peer in a separate process, so that it can be stopped: publishes descriptions, and reports the assets that it receives."""

    def __init__(self, domain, topic="/robot_description", lease=None, config=None):
        environment = dict(os.environ) | ({"CYCLONEDDS_URI": config} if config else {})
        if lease is not None:
            import ros_peer

            short = f"<LeaseDuration>{lease}s</LeaseDuration></Discovery>"
            config = environment.get("CYCLONEDDS_URI", ros_peer.CONFIG)
            environment["CYCLONEDDS_URI"] = config.replace("</Discovery>", short)
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--peer", str(domain), topic],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )
        self.unread = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def _say(self, *words):
        # A crashed peer is counted later.
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write((" ".join(words) + "\n").encode())
            self.process.stdin.flush()

    def has_crashed(self):
        """Returns whether the peer crashed: Cyclone DDS sometimes does on an overloaded machine."""
        return self.process.poll() is not None

    def describe(self, name, links=1):
        """Publishes the description of a robot with a number of links."""
        self._say("describe", name, str(links))

    def call(self, is_again=False):
        """Calls the node, with the client of the previous call if `is_again`."""
        self._say("call-again" if is_again else "call")

    def stop(self):
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def kill(self):
        self.process.kill()
        self.process.wait()
        # Unread output does not matter.
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()

    def line(self, timeout):
        """Returns its next line, or None."""
        end = time.monotonic() + timeout
        while b"\n" not in self.unread:
            if not select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))[0]:
                return None
            more = os.read(self.process.stdout.fileno(), 1 << 16)
            if not more:
                return None
            self.unread += more
        line, self.unread = self.unread.split(b"\n", 1)
        return line.decode()

    def tells(self, wanted, timeout):
        """Waits until it has printed all wanted lines, in any order. Returns the missing ones."""
        missing, end = set(wanted), time.monotonic() + timeout
        while missing and (line := self.line(max(0, end - time.monotonic()))) is not None:
            missing.discard(line)
        return missing

    def hears(self, name, links=1, timeout=60):
        """Returns whether it receives the asset of that robot."""
        return not self.tells([f"asset {name} {links}"], timeout)


def robot(name, links):
    """Returns a robot with a number of links; all but the first are frames."""
    from ros_node import BODY

    frames = "".join(
        f'<link name="frame{n}"/><joint name="joint{n}" type="fixed"><parent link="base"/><child link="frame{n}"/></joint>' for n in range(links - 1)
    )
    return f'<robot name="{name}"><link name="base">{BODY}<visual><geometry><box size="1 1 1"/></geometry></visual></link>{frames}</robot>'


def peer_main(domain, topic):
    """Runs the peer process: commands on standard input, received messages on standard output."""
    import ros_peer
    with ros_peer.Peer(int(domain)) as peer:
        described = peer.publisher(topic, ros_peer.String, latched=True, depth=1)
        # A late peer receives the assets of all earlier robots.
        assets = peer.subscription("/urdf_usd/asset", ros_peer.Asset, latched=True, depth=100_000)
        client, is_waiting, call, unread = None, False, None, b""
        while True:
            if select.select([0], [], [], 0.05)[0]:
                more = os.read(0, 1 << 16)
                if not more:
                    return
                *lines, unread = (unread + more).split(b"\n")
                for line in lines:
                    match line.decode().split():
                        case ["describe", name, links]:
                            described.write(ros_peer.String(data=robot(name, int(links))))
                        case ["call"]:
                            # Like `ros2 service call`: a new client for each call.
                            peer.clients.clear()
                            client, is_waiting = peer.client("/urdf_usd/get_parameters", ros_peer.GetParameters), True
                        case ["call-again"]:
                            is_waiting = True
            if is_waiting and client.requests.writer.get_matched_subscriptions() and client.replies.reader.get_matched_publications():
                is_waiting, call = False, client.send(ros_peer.GetParameters.request(names=["settle_time"]))
                print("called", flush=True)
            if call is not None:
                client.replies.take()
                if any((r.client, r.sequence) == (client.identity, call) for r in client.replies.seen):
                    call = None
                    print("answer", flush=True)
            for asset in assets.take():
                print(f"asset {asset.robot} {asset.links}", flush=True)
            assets.seen.clear()


@dataclass
class Figures:
    """The results of a run."""

    meetings: int = 0
    rounds: int = 0
    lost: list = field(default_factory=list)
    late: int = 0
    crashed: int = 0
    seconds: list = field(default_factory=list)

    def kinds(self):
        """Counts the losses by what the peer did, whether the node was stopped, and what was missing."""
        kinds = collections.Counter((plan, stopped, *(what.split()[0] for what in missing)) for _, _, plan, stopped, *missing in self.lost)
        return dict(kinds) or ""

    def __str__(self):
        times = sorted(self.seconds) or [0]
        p = [times[min(len(times) - 1, int(len(times) * q))] for q in (0.5, 0.9, 0.99)]
        return (
            f"{self.meetings} meetings in {self.rounds} rounds, lost: {len(self.lost)} {self.kinds()}, late: {self.late}{f', crashed peers: {self.crashed}' if self.crashed else ''}; "
            f"seconds until all was there: median {p[0]:.2f}, 90 % {p[1]:.2f}, 99 % {p[2]:.2f}, most {times[-1]:.2f}"
        )


def wait_for(peers, wanted, since):
    """Waits until each peer has printed its `wanted` lines, or has crashed. Returns the seconds from `since` for each, and the missing lines of
    the others."""
    missing, took = {n: set(words) for n, words in wanted.items()}, {}
    while missing and (left := AT_ALL - (time.monotonic() - since)) > 0:
        for n in list(missing):
            while missing[n] and (line := peers[n].line(0)) is not None:
                missing[n].discard(line)
            if not missing[n]:
                took[n] = time.monotonic() - since
                del missing[n]
        running = [peers[n].process.stdout for n in missing if not peers[n].has_crashed()]
        if not running:
            break
        select.select(running, [], [], min(left, 0.1))
    return took, missing


def meet(start, domain, *, seconds=None, meetings=None, peers=3, longest_stop=3.0, leases=(None, 2), seed=None, report=lambda figures: None):
    """Runs rounds with `peers` peers and a node that `start` starts."""
    dice = random.Random(seed)
    end = time.monotonic() + seconds if seconds else None
    node, figures = start(discover=True), Figures()
    others = [PeerProcess(domain, f"/r{n}/robot_description", lease=dice.choice(leases)) for n in range(peers)]
    # Each peer changes a single robot: the number of robots is not the subject.
    turns = [itertools.cycle(range(1, 101)) for _ in others]
    try:
        while (end is None or time.monotonic() < end) and (meetings is None or figures.meetings < meetings):
            figures.rounds += 1
            plan = [dice.choice(["nothing", "stop", "stop", "kill", "call"]) for _ in others]
            wanted = {}
            is_node_stopped = dice.random() < 0.5
            stops = sorted(dice.uniform(0, 0.5) for _ in range(len(others) + 1))
            for n, (what, wait) in enumerate(zip(plan, stops)):
                time.sleep(wait / len(others))
                if what == "kill":
                    others[n].kill()
                    others[n] = PeerProcess(domain, f"/r{n}/robot_description", lease=dice.choice(leases))
                links = next(turns[n])
                wanted[n] = [f"asset robot{n} {links}", "called", "answer"]
                others[n].describe(f"robot{n}", links)
                others[n].call()
                if what == "stop":
                    others[n].stop()
                if is_node_stopped and n == len(others) // 2:
                    node.process.send_signal(signal.SIGSTOP)
            # Most stops are short; some exceed the timeouts of other sides.
            time.sleep(min(longest_stop, dice.expovariate(1 / 0.7)) if dice.random() < 0.9 else longest_stop)
            node.process.send_signal(signal.SIGCONT)
            awake = time.monotonic()
            for other in others:
                other.go_on()
            took, missing = wait_for(others, wanted, awake)
            figures.meetings += len(wanted)
            figures.seconds += took.values()
            figures.late += sum(seconds > IN_TIME for seconds in took.values())
            for n, words in missing.items():
                if others[n].has_crashed():
                    figures.crashed += 1
                    others[n].kill()
                    others[n] = PeerProcess(domain, f"/r{n}/robot_description", lease=dice.choice(leases))
                else:
                    figures.lost.append((figures.rounds, n, plan[n], is_node_stopped, *sorted(words)))
            assert node.process.poll() is None, node.log
            report(figures)
    finally:
        node.process.send_signal(signal.SIGCONT)
        for other in others:
            other.kill()
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--meetings", type=int)
    parser.add_argument("--peers", type=int, default=5)
    parser.add_argument("--longest-stop", type=float, default=15)
    # Higher domains use ports in Linux's ephemeral range: peers of two domains may then receive each other's messages.
    parser.add_argument("--domain", type=int, default=101, choices=range(102), metavar="0 … 101")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    from ros_node import Node

    folder = Path(tempfile.mkdtemp())
    # Discover robots in namespaces.
    node = Node(options.domain, folder / "out", folder / "log.txt", environment={"ROS_LOG_DIR": str(folder / "logs")}, discover=True)
    said = [time.monotonic()]

    def report(figures):
        if time.monotonic() - said[0] > 10:
            said[0] = time.monotonic()
            print(figures, flush=True)

    try:
        figures = meet(
            lambda **_: node,
            options.domain,
            seconds=options.seconds,
            meetings=options.meetings,
            peers=options.peers,
            longest_stop=options.longest_stop,
            seed=options.seed,
            report=report,
        )
    finally:
        node.kill()
    print(f"seed {options.seed}, log {node.log_path}\n{figures}")
    return bool(figures.lost)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peer"]:
        peer_main(*sys.argv[2:])
    else:
        sys.exit(main())
