"""Runs the node in a separate process, with small robots for it."""

import json
import math
import os
import re
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import numpy as np

import conftest
import kinematics
import ros_peer
from ros_peer import Header, JointState, Quaternion, String, TFMessage, Time, Transform, TransformStamped, Vector3

#: Timeout of all waits in seconds, long enough for a loaded machine.
PATIENCE = 60
ARM = conftest.SAMPLES / "sample_arm"
BODY = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
BOX = '<robot name="{name}"><link name="base">' + BODY + '<visual><geometry><box size="{size} 1 1"/></geometry></visual></link></robot>'


def box(name, size=1):
    """Returns the URDF of a box."""
    return BOX.format(name=name, size=size)


def chain(name="chain"):
    """base → (revolute) arm → (fixed) tool."""
    visual = '<visual><geometry><box size="1 1 1"/></geometry></visual>'
    links = "".join(f'<link name="{link}">{BODY}{visual}</link>' for link in ("base", "arm", "tool"))
    return (
        f'<robot name="{name}">{links}'
        '<joint name="shoulder" type="revolute"><parent link="base"/><child link="arm"/><origin xyz="0 0 1"/><axis xyz="0 0 1"/>'
        '<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
        '<joint name="flange" type="fixed"><parent link="arm"/><child link="tool"/><origin xyz="0.5 0 0"/></joint></robot>'
    )


def transform(parent, child, x=0.0, y=0.0, z=0.0, yaw=0.0):
    turn = Quaternion(z=math.sin(yaw / 2), w=math.cos(yaw / 2))
    moved = Transform(translation=Vector3(x=x, y=y, z=z), rotation=turn)
    return TransformStamped(header=Header(frame_id=parent), child_frame_id=child, transform=moved)


class Node:
    """The node in a separate process."""

    def __init__(self, domain, output, log, *arguments, environment=None, **parameters):
        # Run the program directly, so that exit codes and messages are its own.
        command = [str(conftest.program()), "bridge", "--ros-args"]
        parameters = {"output_dir": output, "http.port": 0, "settle_time": 0.05, "diagnostics_period": 0.2} | parameters
        for name, value in parameters.items():
            # JSON is valid YAML, and quotes strings.
            command += ["-p", f"{name}:={json.dumps(str(value) if isinstance(value, Path) else value)}"]
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("ROS_", "RMW_", "AMENT_"))}
        self.log_path = log
        self.output = Path(output)
        with log.open("wb") as stream, log.with_suffix(".out").open("wb") as standard_output:
            self.process = subprocess.Popen(
                [*command, *map(str, arguments)],
                stdout=standard_output,
                stderr=stream,
                env=inherited
                | {
                    "ROS_DOMAIN_ID": str(domain),
                    "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
                    "RMW_IMPLEMENTATION": "rmw_cyclonedds_cpp",
                }
                | (environment or {}),
            )

    @property
    def log(self):
        return self.log_path.read_text(errors="replace")

    def logged(self, pattern, timeout=PATIENCE):
        """Waits for a line of the log."""

        def look():
            assert self.process.poll() is None, f"the node ended with {self.process.returncode}:\n{self.log}"
            return re.search(pattern, self.log)

        try:
            return ros_peer.until(look, timeout, f"no {pattern!r} in the log")
        except TimeoutError as error:
            raise TimeoutError(f"{error}:\n{self.log}") from None

    def ended(self, timeout=PATIENCE):
        """Waits for the process to end, and returns its exit code."""
        code = self.process.wait(timeout)
        assert "panicked" not in self.log, self.log
        return code

    def end(self, signal_number=signal.SIGTERM, timeout=PATIENCE):
        if self.process.poll() is None:
            self.process.send_signal(signal_number)
        return self.ended(timeout)

    def workers(self):
        """Returns the process ids of its workers."""
        found = set()
        for task in Path(f"/proc/{self.process.pid}/task").iterdir():
            try:
                pids = (task / "children").read_text().split()
                found |= {int(pid) for pid in pids if b"\0worker\0" in Path(f"/proc/{pid}/cmdline").read_bytes()}
            except (FileNotFoundError, ProcessLookupError):
                pass
        return sorted(found)

    def kill(self):
        self.process.kill()
        self.process.wait(PATIENCE)


def description(peer, text=None):
    """Publishes a latched description, like robot_state_publisher."""
    publisher = peer.publisher("/robot_description", String, latched=True, depth=1)
    # It exists as long as its node.
    vars(peer).setdefault("publishers", []).append(publisher)
    if text is not None:
        publisher.write(String(data=text))
    return publisher


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class StatePublisher(ros_peer.Peer):
    """A robot_state_publisher in a participant of its own: publishes a description and the frames of its robot at rest.

    Its parameter is the description, too. `topic` says whether the description is on a topic. `change` replaces the transforms of a frame
    by a list. `states` says whether joint states are published with the frames.
    """

    def __init__(self, domain, folder, text, name="robot_state_publisher", topic=True, change=lambda frame, told: [told], states=False, rate=20):
        super().__init__(domain)
        path = folder / f"{name}.urdf"
        path.write_text(text)
        self.text, self.change, self.silent = text, change, False
        self.robot = kinematics.read(path)
        self.server = self.server(f"/{name}/get_parameters", ros_peer.GetParameters)
        self.tf = self.publisher("/tf", TFMessage, depth=100)
        self.tf_static = self.publisher("/tf_static", TFMessage, latched=True, depth=1)
        self.joint_states = self.publisher("/joint_states", JointState, depth=100) if states else None
        self.description = self.publisher("/robot_description", String, latched=True, depth=1) if topic else None
        ends = [self.server, self.tf, self.tf_static, self.joint_states, self.description]
        self.announce(name, *filter(None, ends))
        if topic:
            self.description.write(String(data=text))
        self.publish_static()
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.play, args=(1 / rate,), daemon=True)
        self.thread.start()

    def frames(self, is_static):
        joints = [joint for joint in self.robot.joints.values() if (joint.kind == "fixed") == is_static]
        positions = self.robot.resolve({})
        told = {j.child: posed(j.parent, j.child, j.origin @ j.motion(positions.get(j.name, 0.0))) for j in joints}
        return [changed for frame, transform in told.items() for changed in self.change(frame, transform)]

    def publish_static(self):
        if static := self.frames(is_static=True):
            self.tf_static.write(TFMessage(transforms=static))

    def play(self, period):
        while not self.stopped.wait(period):
            now = time.time_ns()
            stamp = Time(sec=now // 10**9, nanosec=now % 10**9)
            moving = [] if self.silent else self.frames(is_static=False)
            for transform in moving:
                transform.header.stamp = stamp
            if moving:
                self.tf.write(TFMessage(transforms=moving))
            if self.joint_states and not self.silent:
                self.joint_states.write(joint_state(self.robot, stamp))
            for request in self.server.requests.take():
                value = ros_peer.ParameterValue(type=4, string_value=self.text)
                response = ros_peer.GetParameters.response(client=request.client, sequence=request.sequence, values=[value])
                self.server.replies.write(response)

    def close(self):
        self.stopped.set()
        self.thread.join()
        super().close()


def joint_state(robot, stamp, without=()):
    """Returns the joint states of a robot at rest."""
    at = {name: position for name, position in robot.resolve({}).items() if name not in without}
    return JointState(header=Header(stamp=stamp), name=list(at), position=list(at.values()))


def posed(parent, child, pose):
    """Returns a transform with the pose of a matrix."""
    x, y, z = map(float, pose[:3, 3])
    moved = Transform(translation=Vector3(x=x, y=y, z=z), rotation=quaternion(pose[:3, :3]))
    return TransformStamped(header=Header(frame_id=parent), child_frame_id=child, transform=moved)


def quaternion(turn):
    """Returns the quaternion of a matrix by its eigenvector (Bar-Itzhack), which has no singular cases."""
    k = np.array([
        [turn[0, 0] - turn[1, 1] - turn[2, 2], 0, 0, 0],
        [turn[1, 0] + turn[0, 1], turn[1, 1] - turn[0, 0] - turn[2, 2], 0, 0],
        [turn[2, 0] + turn[0, 2], turn[2, 1] + turn[1, 2], turn[2, 2] - turn[0, 0] - turn[1, 1], 0],
        [turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1], np.trace(turn)],
    ])  # fmt: skip
    x, y, z, w = np.linalg.eigh(k)[1][:, -1]
    return Quaternion(x=float(x), y=float(y), z=float(z), w=float(w))
