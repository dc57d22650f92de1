"""Runs many robots on the built node for any duration: measures its costs, and checks that nothing is lost or judged wrongly.

    python test/soak.py --robots 20 --seconds 3600

Each robot is in a separate namespace: its description changes every few seconds, and it publishes TF at 200 Hz and joint states at
100 Hz. Viewers read the page, its events and its joints, and callers act like command-line tools: join, call, leave. The script prints
figures, and exits with 1 if a claim does not hold:

- every description becomes a revision and is announced;
- no frame of any robot is reported as wrong, by /diagnostics or by ~/check_frames;
- every call is answered, and every request over HTTP;
- descriptors and threads do not grow; memory grows by at most --slope MB per hour (in runs of ten minutes and more);
- the node shuts down cleanly, and its log has no defect.

All traffic stays on the loopback interface, in a separate DDS domain.
"""

import argparse
import contextlib
import hashlib
import json
import math
import multiprocessing
import os
import queue
import random
import shutil
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

import conftest
import ros_node
import ros_peer
from ros_peer import (
    Asset, CheckFrames, CheckFramesRequest, Convert, ConvertRequest, DiagnosticArray, GetParameters, Header, JointState, Peer, String,
    TFMessage, Time,
)  # fmt: skip

#: Maximum number of robots per process, so that Python keeps up.
ROBOTS_EACH = 5
#: Maximum time for the announcement of a revision on a loaded machine, in seconds.
LATEST = 30.0
#: Maximum time until the first verdict about a robot, and between later verdicts, in seconds.
SETTLED = 20.0
#: Minimum duration for a growth rate, in seconds.
LONG = 600
#: Maximum number of faults of a kind that are printed immediately.
SHOWN = 50
#: Tolerance for descriptors and threads between the halves: callers and viewers come and go.
SLACK = 16
SHOULDER, FLANGE = ("base", "arm", 1.0), ("arm", "tool", 0.5)


def robot(name, revision):
    """Returns the chain of `ros_node` with a box whose size depends on the revision."""
    return ros_node.chain(name).replace('size="1 1 1"', f'size="1 1 {1 + revision % 1000 / 1000}"', 1)


def stamp(seconds):
    return Time(sec=int(seconds), nanosec=int(seconds % 1 * 1e9))


class Robot:
    """A running robot in a namespace."""

    def __init__(self, peer, index, every, told):
        self.name, self.namespace = f"robot_{index}", f"/soak_{index}"
        self.told, self.every, self.revision = told, every, 0
        self.phase = random.random() * every
        self.described = peer.publisher(f"{self.namespace}/robot_description", String, latched=True, depth=1)
        self.static = peer.publisher(f"{self.namespace}/tf_static", TFMessage, latched=True, depth=1)
        self.moving = peer.publisher(f"{self.namespace}/tf", TFMessage, depth=100)
        self.joints = peer.publisher(f"{self.namespace}/joint_states", JointState, depth=10)
        parent, child, x = FLANGE
        self.static.write(TFMessage(transforms=[ros_node.transform(parent, child, x=x)]))

    def describe(self):
        self.revision += 1
        text = robot(self.name, self.revision)
        self.told.put((self.namespace[1:] + "/" + self.name, hashlib.sha256(text.encode()).hexdigest(), time.time()))
        self.described.write(String(data=text))

    def move(self, now, with_joints):
        angle = math.sin(now)
        parent, child, z = SHOULDER
        transform = ros_node.transform(parent, child, z=z, yaw=angle)
        transform.header.stamp = stamp(now)
        self.moving.write(TFMessage(transforms=[transform]))
        if with_joints:
            self.joints.write(JointState(header=Header(stamp=stamp(now)), name=["shoulder"], position=[angle]))


def speak(domain, indices, every, told, figures, stop):
    """Runs several robots in a process."""
    with Peer(domain) as peer:
        robots = [Robot(peer, index, every, told) for index in indices]
        start = time.monotonic()
        next_description = {robot.name: start + robot.phase for robot in robots}
        tick, ticks, late = start, 0, 0
        while not stop.is_set():
            tick += 0.005
            wait = tick - time.monotonic()
            if wait > 0:
                time.sleep(wait)
            elif wait < -1:
                # Do not catch up: a robot that was stopped is silent.
                tick, late = time.monotonic(), late + 1
            now = time.time()
            for one in robots:
                one.move(now, ticks % 2 == 0)
                if time.monotonic() >= next_description[one.name]:
                    next_description[one.name] += every
                    one.describe()
            ticks += 1
        figures.put((ticks / (time.monotonic() - start), late))
        # Wait until the last revisions have been received.
        time.sleep(2)


class Faults:
    """Faults, with counts by kind."""

    def __init__(self):
        self.texts, self.lock = {}, threading.Lock()

    def add(self, kind, text):
        with self.lock:
            count, first = self.texts.get(kind, (0, text))
            self.texts[kind] = (count + 1, first)
            if count < SHOWN:
                print(f"{time.strftime('%X')} {kind}: {text}", file=sys.stderr, flush=True)

    def lines(self):
        return [f"{kind}: {count} times; first: {first}" for kind, (count, first) in sorted(self.texts.items())]


class Revisions:
    """Tracks which descriptions became revisions."""

    def __init__(self, faults):
        self.faults, self.awaited, self.early = faults, {}, {}
        self.written, self.delays, self.newest = 0, [], {}
        self.again = 0

    def told(self, key, sha256, at):
        if (key, sha256) in self.early:
            self.early.pop((key, sha256))
            self.done(0.0)
        else:
            self.awaited[key, sha256] = at

    def done(self, delay):
        self.written += 1
        self.delays.append(delay)

    def heard(self, asset):
        report = json.loads(asset.report)
        key = f"{asset.ros_namespace}/{asset.robot}"
        before = self.newest.get(key, 0)
        # A node that rejoins the graph publishes latched messages again.
        self.again += asset.revision == before
        if asset.revision < before:
            self.faults.add("revisions that do not rise", f"{key}: {asset.revision} after {before}")
        self.newest[key] = asset.revision
        if asset.errors:
            self.faults.add("revisions with errors", f"{key}: {report['diagnostics']}")
        at = self.awaited.pop((key, report["source"]["sha256"]), None)
        if at is None:
            self.early[key, report["source"]["sha256"]] = True
        else:
            self.done(time.time() - at)

    def overdue(self, now):
        for key, sha256 in [k for k, at in self.awaited.items() if now - at > LATEST]:
            del self.awaited[key, sha256]
            self.faults.add("descriptions that became no revision", f"{key} at {time.strftime('%X', time.localtime(now - LATEST))}")


class Verdicts:
    """Tracks verdicts about frames: never wrong after the first correct one."""

    def __init__(self, faults):
        self.faults, self.settled, self.count, self.begun = faults, {}, 0, time.monotonic()

    def heard(self, array):
        for status in array.status:
            if ": frames of " not in status.name:
                if status.level == 2:
                    self.faults.add("errors on /diagnostics", f"{status.name}: {status.message}")
                continue
            key = status.name.split(": frames of ")[1]
            self.count += 1
            if status.level == 0:
                self.settled[key] = True
            elif key in self.settled or status.level == 2:
                self.faults.add("wrong verdicts", f"{status.name}: {status.message}")


class Measured:
    """Measures the resources of the process every second."""

    def __init__(self, pid):
        self.pid, self.rows = pid, []

    def take(self, at):
        proc = Path(f"/proc/{self.pid}")
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            status = dict(line.split(":", 1) for line in (proc / "status").read_text().splitlines())
            fields = (proc / "stat").read_text().rsplit(")", 1)[1].split()
            cpu = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
            fds = len(os.listdir(proc / "fd"))
            self.rows.append((at, int(status["VmRSS"].split()[0]) / 1024, fds, int(status["Threads"]), cpu))

    def halves(self, column):
        middle = len(self.rows) // 2
        return [max((row[column] for row in rows), default=0) for rows in (self.rows[:middle], self.rows[middle:])]

    def slope(self):
        """Returns the growth of memory in MB per hour over the second half, by least squares."""
        rows = self.rows[len(self.rows) // 2 :]
        if len(rows) < 2:
            return 0.0
        t, m = sum(r[0] for r in rows) / len(rows), sum(r[1] for r in rows) / len(rows)
        spread = sum((r[0] - t) ** 2 for r in rows)
        return 3600 * sum((r[0] - t) * (r[1] - m) for r in rows) / spread if spread else 0.0


def view(url, stop, faults, counts):
    """Runs a viewer: opens the page, follows events or joints for some seconds, and leaves."""
    from websockets.sync.client import connect

    while not stop.is_set():
        try:
            robots = json.load(urllib.request.urlopen(f"{url}api/robots", timeout=LATEST))
            counts["requests"] += 1
            if robots:
                chosen = random.choice(robots)
                json.load(urllib.request.urlopen(f"{url}api/frames/{chosen['key']}", timeout=LATEST))
                if chosen["revision"]:
                    urllib.request.urlopen(f"{url}assets/{chosen['key']}/report.json", timeout=LATEST).read()
                counts["requests"] += 2
            end = time.monotonic() + random.uniform(1, 4)
            if random.random() < 0.5:
                with connect(url.replace("http://", "ws://") + "joints", open_timeout=LATEST) as socket:
                    while time.monotonic() < end:
                        with contextlib.suppress(TimeoutError):
                            socket.recv(timeout=1)
                            counts["joints"] += 1
            else:
                with urllib.request.urlopen(f"{url}events", timeout=LATEST) as events:
                    while time.monotonic() < end:
                        events.readline()
                        counts["events"] += 1
        except Exception as error:  # noqa: BLE001: any error of a viewer is a fault
            if not stop.is_set():
                faults.add("viewers that failed", repr(error))
        stop.wait(0.2)


def call(domain, count, stop, faults, counts):
    """Runs callers like command-line tools: each joins, calls, and leaves."""
    while not stop.wait(random.uniform(0.5, 3)):
        index = random.randrange(count)
        key = f"soak_{index}/robot_{index}"
        try:
            with Peer(domain) as peer:
                kind = random.randrange(3)
                if kind == 0:
                    answer = peer.call("/urdf_usd/check_frames", CheckFrames, CheckFramesRequest(robot=key), timeout=LATEST)
                    if answer.success and not answer.all_ok:
                        wrong = [f"{f.frame_id} {f.verdict}: {f.detail}" for f in answer.frames if f.verdict != "ok"]
                        # The first transform may be late.
                        if counts["seconds"] > SETTLED:
                            faults.add("wrong answers of check_frames", f"{key}: {answer.message} {wrong}")
                elif kind == 1:
                    urdf = ros_node.box("called", size=1 + random.randrange(5))
                    answer = peer.call("/convert", Convert, ConvertRequest(urdf=urdf), timeout=LATEST)
                    if not answer.success:
                        faults.add("calls of convert that failed", answer.message)
                else:
                    request = GetParameters.request(names=["workers", "time_limit"])
                    answer = peer.call("/urdf_usd/get_parameters", GetParameters, request, timeout=LATEST)
                    if len(answer.values) != 2:
                        faults.add("wrong answers of get_parameters", repr(answer))
                counts["calls"] += 1
        except TimeoutError as error:
            faults.add("calls without an answer", f"{key}: {error}")


def soak(domain, robots, seconds, every, most_slope, folder, viewers=4, callers=2, say=print):
    """Runs the soak test. Returns the figures and the violated claims."""
    port = ros_node.free_port()
    environment = {"ROS_LOG_DIR": str(folder / "logs")}
    # Use a small cache, which is full when memory is measured: it grows by an outcome per description until then.
    options = {"http.port": port, "discover": True, "diagnostics_period": 1.0, "frames.timeout": 10.0, "cache_mb": 1}
    node = ros_node.Node(domain, folder / "out", folder / "log.txt", environment=environment, **options)
    faults, stop, counts = Faults(), threading.Event(), dict.fromkeys(("requests", "joints", "events", "calls", "seconds"), 0)
    revisions, verdicts, measured = Revisions(faults), Verdicts(faults), Measured(node.process.pid)
    spawn = multiprocessing.get_context("spawn")
    told, figures, ended = spawn.Queue(), spawn.Queue(), spawn.Event()
    groups = [list(range(first, min(first + ROBOTS_EACH, robots))) for first in range(0, robots, ROBOTS_EACH)]
    speakers = [spawn.Process(target=speak, args=(domain, group, every, told, figures, ended), daemon=True) for group in groups]
    url = f"http://127.0.0.1:{port}/"
    threads = [threading.Thread(target=view, args=(url, stop, faults, counts), daemon=True) for _ in range(viewers)]
    threads += [threading.Thread(target=call, args=(domain, robots, stop, faults, counts), daemon=True) for _ in range(callers)]
    try:
        node.logged("the page is at")
        with Peer(domain) as peer:
            assets = peer.subscription("/urdf_usd/asset", Asset, latched=True, depth=5000).matched(LATEST)
            diagnostics = peer.subscription("/diagnostics", DiagnosticArray, depth=1000)

            def listen():
                with contextlib.suppress(queue.Empty):
                    while True:
                        revisions.told(*told.get_nowait())
                for asset in assets.take():
                    # Conversions of callers.
                    if asset.robot != "called":
                        revisions.heard(asset)
                for array in diagnostics.take():
                    verdicts.heard(array)
                assets.seen.clear()
                diagnostics.seen.clear()
                revisions.overdue(time.time())

            for one in [*speakers, *threads]:
                one.start()
            start, next_row, next_line = time.monotonic(), 0.0, 60.0
            while (at := time.monotonic() - start) < seconds:
                counts["seconds"] = at
                if node.process.poll() is not None:
                    faults.add("the node has ended", f"code {node.process.returncode} after {at:.0f} s")
                    break
                listen()
                if at >= next_row:
                    measured.take(at)
                    next_row += 1
                if at >= next_line:
                    _, rss, fds, count, _ = measured.rows[-1]
                    say(f"{at:6.0f} s: {rss:.1f} MB, {fds} descriptors, {count} threads, {revisions.written} revisions, {len(faults.texts)} faults")
                    next_line += 60
                time.sleep(0.02)
            stop.set()
            ended.set()
            # Wait for the revisions of the last descriptions.
            last = time.monotonic() + LATEST
            while time.monotonic() < last and (revisions.awaited or any(one.is_alive() for one in speakers)):
                listen()
                time.sleep(0.02)
            for key, _ in revisions.awaited:
                faults.add("descriptions that became no revision", f"{key}, the last one")
        for one in threads:
            one.join(LATEST)
        for one in speakers:
            one.join(LATEST)
        if node.process.poll() is None:
            code = node.end()
            if code != 0:
                faults.add("the node did not end in good order", f"code {code}")
        joined = node.log.count("joined the ROS graph again")
        if revisions.again > robots * joined:
            faults.add("revisions that were announced again", f"{revisions.again}, with {robots} robots and {joined} new sessions")
        if "bug in urdf_usd" in node.log:
            faults.add("defects in the log", next(line for line in node.log.splitlines() if "bug in urdf_usd" in line))
    finally:
        stop.set()
        ended.set()
        if node.process.poll() is None:
            node.kill()
        for one in speakers:
            if one.is_alive():
                one.kill()
    if len(verdicts.settled) < robots:
        faults.add("robots that were never found to be right", f"{len(verdicts.settled)} of {robots} were")
    rates = []
    with contextlib.suppress(queue.Empty):
        while True:
            rates.append(figures.get(timeout=0.2))
    rows, delays = measured.rows, sorted(revisions.delays)
    for column, what in ((2, "descriptors"), (3, "threads")):
        before, after = measured.halves(column)
        if after > before + SLACK:
            faults.add(f"more {what} in the second half", f"{after} after {before}")
    slope = measured.slope()
    if seconds >= LONG and slope > most_slope:
        faults.add("memory grows", f"{slope:.2f} MB/h, more than {most_slope}")
    took = rows[-1][0] - rows[0][0] if len(rows) > 1 else 1
    found = {
        "robots": robots,
        "seconds": round(took),
        "revisions": revisions.written,
        "lost": sum(count for kind, (count, _) in faults.texts.items() if kind.startswith("descriptions that became")),
        "delay_median_s": round(delays[len(delays) // 2], 3) if delays else None,
        "delay_p99_s": round(delays[len(delays) * 99 // 100], 3) if delays else None,
        "verdicts": verdicts.count,
        "calls": counts["calls"],
        "http_requests": counts["requests"],
        "joint_messages": counts["joints"],
        "events": counts["events"],
        "tf_hz_per_robot": round(min((rate for rate, _ in rates), default=0), 1),
        "stalls_of_the_robots": sum(late for _, late in rates),
        "rss_mb_first_middle_last": [round(rows[i][1], 1) for i in (0, len(rows) // 2, -1)] if rows else None,
        "slope_mb_per_hour": round(slope, 2),
        "descriptors_halves": measured.halves(2),
        "threads_halves": measured.halves(3),
        "cpu_percent": round(100 * (rows[-1][4] - rows[0][4]) / max(took, 1)) if rows else None,
    }
    return found, faults.lines()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--robots", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--every", type=float, default=5, help="how often a description changes, in s")
    parser.add_argument("--slope", type=float, default=2, help="how much memory may grow, in MB an hour")
    parser.add_argument("--domain", type=int, default=77)
    parser.add_argument("--json", action="store_true", help="the figures as JSON")
    parser.add_argument("--keep", type=Path, help="a new folder for the log and the assets; otherwise they are removed")
    options = parser.parse_args()
    folder = options.keep or Path(tempfile.mkdtemp(prefix="urdf_usd-soak-"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        say = lambda text: print(text, file=sys.stderr, flush=True)  # noqa: E731
        found, faults = soak(options.domain, options.robots, options.seconds, options.every, options.slope, folder, say=say)
    finally:
        if options.keep is None:
            shutil.rmtree(folder, ignore_errors=True)
    if options.json:
        print(json.dumps(found | {"faults": faults}, indent=2))
    else:
        for name, value in found.items():
            print(f"{name.replace('_', ' ')}: {value}")
        print(*(faults or ["every claim holds"]), sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
