"""Kinematics and dynamics of a robot, for one configuration or batches."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native
from ._commands import Result, Source, XacroArguments, named_packages, native_input
from ._errors import Diagnostic, diagnostics, failures
from ._view import Theme, View, page

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import Planning

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Mimic:
    """The relation of a follower to its leader: `multiplier * position + offset`."""

    joint: str
    """The joint that is followed."""
    multiplier: float
    """The factor."""
    offset: float
    """Radians or metres."""


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint. Limits are infinite where there are none."""

    name: str
    kind: str
    """`revolute`, `continuous`, `prismatic`, `fixed`, `planar` or `floating`."""
    parent: str
    """The parent link."""
    child: str
    """The child link."""
    origin: Array
    """The child's frame at position zero in the parent's frame, (4, 4), metres."""
    axis: Array
    """The axis in the joint's frame, (3,), of unit length."""
    lower: float
    """Radians or metres."""
    upper: float
    """Radians or metres."""
    effort: float
    """Maximum torque or force, N·m or N."""
    velocity: float
    """Maximum speed, rad/s or m/s."""
    damping: float
    """N·m·s/rad or N·s/m; 0 if it is not given."""
    friction: float
    """N·m or N; 0 if it is not given."""
    mimic: Mimic | None
    """The joint that it follows."""
    closes_loop: bool
    """True if it closes a loop; kinematics leave the loop open."""


@dataclass(frozen=True, eq=False)
class IkResult:
    """Joint positions for targets. Arrays have the batch dimension of the targets, if they have one."""

    q: Array
    """The configurations, (n, dof), within all limits: the solution, or the nearest one found."""
    reached: NDArray[np.bool_]
    """True for each target that is reached, (n,)."""
    position_error: Array
    """The distance that is left, metres, (n,)."""
    angle_error: Array
    """The angle that is left, radians, (n,); 0 for positions."""
    attempts: NDArray[np.int64]
    """The number of starts, (n,)."""


def _number(value: float | None, absent: float) -> float:
    return absent if value is None else value


class Robot:
    """A robot for calculations.

    A configuration `q` has a coordinate for each degree of freedom that follows no other, in the order of `dof_names`: radians for angles,
    metres for distances. Mimic joints follow their leaders. A planar joint has two coordinates, a floating joint six: x, y, z, then roll,
    pitch and yaw about the moved axes. Functions take one configuration (dof,) or a batch (n, dof), and return float64 arrays in C order with
    or without the batch dimension. They use all processors, and other threads of Python run meanwhile.

    Poses are homogeneous matrices of a link's frame in the frame of `base`, by default the root link. Masses are those of the description: a
    link without mass properties has none.
    """

    name: str
    """The robot's name."""
    root: str
    """The root link; empty for a robot without links."""
    link_names: tuple[str, ...]
    """The links, in the order of arrays with a dimension of links."""
    joints: Mapping[str, Joint]
    """All joints by name."""
    dof_names: tuple[str, ...]
    """The coordinates: names of joints, with `[0]`, `[1]`, … for those of a planar or floating joint."""
    lower: Array
    """Lower limits of the coordinates, (dof,); those of mimic joints narrow those of their leaders."""
    upper: Array
    """Upper limits of the coordinates, (dof,)."""
    velocity_limits: Array
    """Maximum speeds, rad/s or m/s, (dof,)."""
    effort_limits: Array
    """Maximum torques or forces, N·m or N, (dof,)."""
    rest: Array
    """The coordinates at rest, (dof,): zero, or the limit nearest to it."""
    masses: Array
    """Masses of the links, kg, (links,)."""
    centres_of_mass: Array
    """Centres of mass of the links in their frames, metres, (links, 3)."""
    inertias: Array
    """Inertia tensors of the links about their centres of mass, in the axes of the links' frames, kg·m², (links, 3, 3)."""
    poses: Mapping[str, Array]
    """Named poses (SRDF, XRDF, Isaac), (dof,); of two with one name, each is `GROUP/NAME`. Joints that a pose does not set are at rest."""
    diagnostics: tuple[Diagnostic, ...]
    """The findings of reading the robot."""

    def __init__(self, given: tuple[dict[str, Any], dict[str, Any]]) -> None:
        """Use `Robot.load`."""
        with failures():
            native = _native.Robot(*given)
        self._native = native
        self._given = _absolute(given)
        about = json.loads(native.description())
        self.diagnostics = diagnostics(json.loads(native.diagnostics()))
        self.name = about["name"]
        self.root = next(iter(about["roots"]), "")
        links, coordinates = about["links"], about["coordinates"]
        self.link_names = tuple(link["name"] for link in links)
        self.joints = {joint["name"]: _joint(joint) for joint in about["joints"]}
        several = {coordinate["joint"] for coordinate in coordinates if coordinate["index"]}
        self.dof_names = tuple(
            coordinate["joint"] + (f"[{coordinate['index']}]" if coordinate["joint"] in several else "") for coordinate in coordinates
        )

        def limits(name: str, absent: float) -> Array:
            return np.array([_number(coordinate[name], absent) for coordinate in coordinates], dtype=np.float64)

        self.lower, self.upper = limits("lower", -np.inf), limits("upper", np.inf)
        self.velocity_limits, self.effort_limits = limits("velocity", np.inf), limits("effort", np.inf)
        self.rest = np.array(about["rest"], dtype=np.float64)
        self.masses = np.array([link["mass"] for link in links], dtype=np.float64)
        self.centres_of_mass = np.array([link["centre"] for link in links], dtype=np.float64).reshape(-1, 3)
        self.inertias = np.array([link["inertia"] for link in links], dtype=np.float64).reshape(-1, 3, 3)
        names = [pose["name"] for pose in about["poses"]]
        self.poses = {
            pose["name"] if names.count(pose["name"]) == 1 else f"{pose['group'] or ''}/{pose['name']}": self.configuration(pose["positions"])
            for pose in about["poses"]
        }

    @classmethod
    def load(
        cls,
        source: Source,
        *,
        folder: str | os.PathLike[str] | None = None,
        robot: str | None = None,
        xacro_args: XacroArguments = (),
        **options: Unpack[Planning],
    ) -> Robot:
        """Reads a robot without its meshes from a URDF or xacro file, an OpenUSD or glTF asset, or any other `Source`.

        Args:
            source: The robot.
            folder: The folder that relative references of text or bytes start from.
            robot: The name of a robot in a folder or a glTF file with several.
            xacro_args: Arguments of a xacro file.
            **options: The locations of packages, and files with named poses.

        Raises:
            OptionError: Arguments are wrong.
            Error: The robot can't be read.
        """
        given = native_input(source, options, folder=folder, robot=robot, xacro_args=xacro_args)
        return cls(given)

    def __reduce__(self) -> tuple[type[Robot], tuple[tuple[dict[str, Any], dict[str, Any]]]]:
        # Another process reads the robot again.
        return type(self), (self._given,)

    @property
    def dof(self) -> int:
        """The number of coordinates."""
        return len(self.dof_names)

    @property
    def mass(self) -> float:
        """The mass of all links, kg."""
        return float(self.masses.sum())

    def configuration(self, positions: Mapping[str, float | Sequence[float]] | None = None, *, pose: str | None = None) -> Array:
        """Returns a configuration, (dof,): that of a named pose, or rest, with the given positions of joints.

        Args:
            positions: Positions of joints by name, radians or metres; a list for a joint with several.
            pose: The name of a pose.

        Raises:
            KeyError: There is no such joint or pose, or the joint follows another.
        """
        q = (self.rest if pose is None else self.poses[pose]).copy()
        for name, position in (positions or {}).items():
            at = [index for index, dof in enumerate(self.dof_names) if dof == name or dof.rsplit("[", 1)[0] == name]
            if not at:
                raise KeyError(f"{name!r} has no coordinates: they are {', '.join(self.dof_names)}")
            q[at] = np.broadcast_to(np.asarray(position, dtype=np.float64), (len(at),))
        return q

    def joint_positions(self, q: ArrayLike) -> dict[str, Array]:
        """Returns the positions of all joints that are not fixed, mimic joints included, radians or metres: (n,), or (n, k) for a planar or
        floating joint."""
        rows, is_one = self._rows(q)
        counts = {"fixed": 0, "planar": 2, "floating": 6}
        positions = self._native.positions(rows).reshape(len(rows), sum(counts.get(joint.kind, 1) for joint in self.joints.values()))
        named: dict[str, Array] = {}
        at = 0
        for joint in self.joints.values():
            count = counts.get(joint.kind, 1)
            if count:
                own = positions[:, at : at + count] if count > 1 else positions[:, at]
                named[joint.name] = own[0] if is_one else own
            at += count
        return named

    def fk(self, q: ArrayLike, link: str | Sequence[str] | None = None, *, base: str | None = None, out: Array | None = None) -> Array:
        """Returns poses of links (forward kinematics): (n, 4, 4) for a link, (n, links, 4, 4) for several.

        Args:
            q: Configurations, (n, dof) or (dof,).
            link: A link, or several; by default all, in the order of `link_names`.
            base: The link in whose frame poses are; by default the root.
            out: An array for the result, which is returned; float64, in C order. Repeated calls with it need no new memory for one link, or
                for all in the root.
        """
        rows, is_one = self._rows(q)
        if isinstance(link, str):
            return _batch(rows, is_one, (4, 4), out, lambda flat: self._native.pose(rows, link, base, flat))
        if link is None and base is None:
            return _batch(rows, is_one, (len(self.link_names), 4, 4), out, lambda flat: self._native.poses(rows, flat))
        several = self.link_names if link is None else link
        each = [self.fk(q, one, base=base) for one in several]
        shape = (len(each), 4, 4)
        whole = _whole(rows, is_one, shape, out)
        if each:
            return np.stack(each, axis=-3, out=whole)
        return np.empty(shape if is_one else (len(rows), *shape)) if whole is None else whole

    def jacobian(
        self, q: ArrayLike, link: str, *, base: str | None = None, frame: Literal["base", "link"] = "base", out: Array | None = None
    ) -> Array:
        """Returns the Jacobian of a link, (n, 6, dof): linear velocity (m) of its origin, then angular velocity (rad), per unit of each
        coordinate.

        Args:
            q: Configurations, (n, dof) or (dof,).
            link: The link that moves.
            base: The link in whose frame it moves; by default the root.
            frame: The axes of the velocities: `base` is Pinocchio's `LOCAL_WORLD_ALIGNED`, `link` its `LOCAL`.
            out: An array for the result, which is returned; float64, in C order. Repeated calls with it need no new memory.
        """
        if frame not in ("base", "link"):
            raise ValueError(f"frame is {frame!r}, neither 'base' nor 'link'")
        rows, is_one = self._rows(q)
        return _batch(rows, is_one, (6, self.dof), out, lambda flat: self._native.jacobian(rows, link, base, frame == "link", flat))

    def mass_matrix(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Returns the mass matrix, (n, dof, dof), with the root at rest: kg·m² between angles, kg between distances, kg·m between the two.

        Args:
            q: Configurations, (n, dof) or (dof,).
            out: An array for the result, which is returned; float64, in C order. Repeated calls with it need no new memory.
        """
        rows, is_one = self._rows(q)
        return _batch(rows, is_one, (self.dof, self.dof), out, lambda flat: self._native.mass_matrix(rows, flat))

    def gravity(self, q: ArrayLike, gravity: ArrayLike = (0.0, 0.0, -9.81), *, out: Array | None = None) -> Array:
        """Returns the generalised forces that hold the robot still, (n, dof), N·m or N, with the root at rest.

        Args:
            q: Configurations, (n, dof) or (dof,).
            gravity: The acceleration in the root's axes, m/s².
            out: An array for the result, which is returned; float64, in C order. Repeated calls with it need no new memory.
        """
        x, y, z = np.asarray(gravity, dtype=np.float64)
        rows, is_one = self._rows(q)
        down = (float(x), float(y), float(z))
        return _batch(rows, is_one, (self.dof,), out, lambda flat: self._native.gravity(rows, down, flat))

    def inverse_dynamics(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, gravity: ArrayLike = (0.0, 0.0, -9.81)) -> Array:
        """Returns the generalised forces for a motion, (n, dof), N·m or N, with the root at rest (recursive Newton-Euler).

        Args:
            q: Configurations, (n, dof) or (dof,).
            qd: Velocities, of the same shape, rad/s or m/s.
            qdd: Accelerations, of the same shape, rad/s² or m/s².
            gravity: The acceleration in the root's axes, m/s².
        """
        x, y, z = np.asarray(gravity, dtype=np.float64)
        (rows, is_one), *rates = (self._rows(array) for array in (q, qd, qdd))
        if any(len(array) != len(rows) or one != is_one for array, one in rates):
            raise ValueError("q, qd and qdd differ in shape")
        whole = np.hstack([rows, *(array for array, _ in rates)])
        down = (float(x), float(y), float(z))
        return _batch(rows, is_one, (self.dof,), None, lambda _: self._native.inverse_dynamics(whole, down))

    def centre_of_mass(self, q: ArrayLike) -> Array:
        """Returns the centre of mass of the robot in the root's frame, metres, (n, 3); NaN without mass.

        Args:
            q: Configurations, (n, dof) or (dof,).
        """
        rows, is_one = self._rows(q)
        return _batch(rows, is_one, (3,), None, lambda _: self._native.centre_of_mass(rows))

    def ik(
        self,
        target: ArrayLike,
        link: str,
        *,
        base: str | None = None,
        q: ArrayLike | None = None,
        fixed: str | Iterable[str] = (),
        margin: float = 0.0,
        attempts: int = 100,
        iterations: int = 30,
        tolerance: float = 1e-6,
        seed: int = 0,
    ) -> IkResult:
        """Returns joint positions that bring a link to targets (inverse kinematics). The same arguments give the same result.

        Args:
            target: Poses (n, 4, 4) or (4, 4), or positions (n, 3) or (3,) for any orientation, in the frame of `base`, metres.
            link: The link to move.
            base: The link in whose frame targets are; by default the root.
            q: Where the robot is, (dof,) or (n, dof): the solution near it is sought. Without it, each target has the best of many starts.
            fixed: Joints that keep their positions in `q`, or at rest.
            margin: Distance to keep from all limits, rad or m.
            attempts: Maximum number of starts; those after the first are random.
            iterations: Maximum number of steps of an attempt.
            tolerance: The error at which a target counts as reached, m and rad together.
            seed: The seed of random starts.

        Raises:
            Error: There is no such link or joint, or no joint moves the link.
            ValueError: An argument has the wrong shape, or a pose is no rigid motion.
        """
        targets = np.asarray(target, dtype=np.float64)
        is_position = targets.shape[-1:] == (3,) and targets.ndim in (1, 2)
        is_pose = targets.shape[-2:] == (4, 4) and targets.ndim in (2, 3)
        if not (is_position or is_pose):
            raise ValueError(f"target has the shape {targets.shape}: give (n, 4, 4), (4, 4), (n, 3) or (3,)")
        if not np.isfinite(targets).all():
            raise ValueError("target has numbers that are not finite")
        is_one = targets.ndim == (1 if is_position else 2)
        if is_pose:
            turns = targets[..., :3, :3]
            is_turn = np.allclose(np.swapaxes(turns, -1, -2) @ turns, np.eye(3), atol=1e-4) and bool((np.linalg.det(turns) > 0).all())
            if not is_turn or not np.allclose(targets[..., 3, :], (0, 0, 0, 1)):
                raise ValueError("target is no rigid motion: a rotation matrix, a translation, and the last row 0 0 0 1")
        targets = targets.reshape(-1, 3 if is_position else 16)
        if attempts < 1 or iterations < 1:
            raise ValueError("attempts and iterations are at least 1")
        if not (tolerance > 0 and margin >= 0):
            raise ValueError("tolerance is above 0, margin at least 0")
        start = self._rows(self.rest if q is None else q)[0]
        if len(start) not in (1, len(targets)):
            raise ValueError(f"q has {len(start)} rows for {len(targets)} targets")
        start = np.broadcast_to(start, (len(targets), self.dof))
        settings = {
            "link": link,
            "base": base,
            "fixed": [fixed] if isinstance(fixed, str) else list(fixed),
            "margin": float(margin),
            "attempts": int(attempts),
            "iterations": int(iterations),
            "tolerance": float(tolerance),
            "seed": int(seed),
            "is_from": q is not None,
            "is_position": is_position,
        }
        with failures():
            found = self._native.ik(np.ascontiguousarray(np.hstack([start, targets])), settings).reshape(-1, self.dof + 4)
        if is_one:
            found = found[0]
        return IkResult(
            q=np.ascontiguousarray(found[..., : self.dof]),
            reached=found[..., self.dof] > 0,
            position_error=found[..., self.dof + 1],
            angle_error=found[..., self.dof + 2],
            attempts=found[..., self.dof + 3].astype(np.int64),
        )

    def to_html(self, *, pose: str | None = None, camera: str | None = None, theme: Theme | None = None) -> str:
        """Returns a page that shows the robot with a slider for each coordinate: one file, which loads nothing from elsewhere.

        Args:
            pose: A named pose, or `joint:value` pairs with commas, in radians and metres; by default that of the description.
            camera: `front`, `back`, `left`, `right`, `top`, `iso`, or six numbers with commas: the camera's and the target's position, y up.
            theme: `light` or `dark`; by default that of the system.

        Raises:
            Error: The robot can't be converted to glTF, or the package was built without the viewer.
        """
        source, options = self._given
        convert = {"formats": "glb", "gltf_compression": "meshopt", "tiers": "high"}
        setting = {"replace": True, "cache": False, "hulls": True, "interpreter": []}
        with failures():
            result = Result(_native.convert(source, None, options | convert, setting, None))
        return page(self.name, result.files[result.entries[0]], pose=pose, camera=camera, theme=theme)

    def show(self, *, pose: str | None = None, camera: str | None = None, theme: Theme | None = None, height: int = 480) -> View:
        """Shows the robot in a cell of a notebook, as the page of `to_html`.

        Args:
            pose: As in `to_html`.
            camera: As in `to_html`.
            theme: As in `to_html`.
            height: The height in pixels.
        """
        return View(self.to_html(pose=pose, camera=camera, theme=theme), height)

    def _rows(self, q: ArrayLike) -> tuple[Array, bool]:
        """Returns configurations as a batch, and whether they are a single one."""
        rows = np.ascontiguousarray(q, dtype=np.float64)
        if rows.ndim not in (1, 2) or rows.shape[-1] != self.dof:
            raise ValueError(f"q has the shape {rows.shape}: give ({self.dof},) or (n, {self.dof}), in the order of dof_names")
        return np.atleast_2d(rows), rows.ndim == 1

    def __repr__(self) -> str:
        return f"<urdf_usd.Robot {self.name}: {len(self.link_names)} links, {self.dof} degrees of freedom>"


def _whole(rows: Array, is_one: bool, shape: tuple[int, ...], out: Array | None) -> Array | None:
    """Returns `out`, once it has the shape of a batch or of a single result, and its type."""
    if isinstance(out, np.matrix):
        raise TypeError("out is a numpy.matrix, which has two dimensions always: give a numpy.ndarray")
    shape = shape if is_one else (len(rows), *shape)
    if out is not None and not (isinstance(out, np.ndarray) and out.dtype == np.float64 and out.shape == shape and out.flags.carray):
        raise ValueError(f"out is no writeable float64 array of the shape {shape} in C order")
    return out


def _batch(rows: Array, is_one: bool, shape: tuple[int, ...], out: Array | None, calculate: Callable[[Array | None], Array]) -> Array:
    """Returns the results of `calculate`, which writes them to `out` or to a new array of one dimension."""
    whole = _whole(rows, is_one, shape, out)
    with failures():
        numbers = calculate(None if whole is None else whole.reshape(-1))
    if whole is not None:
        return whole
    return numbers.reshape(shape if is_one else (len(rows), *shape))


def _absolute(given: tuple[dict[str, Any], dict[str, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns an input and options that mean the same in any working directory.

    Only what is read again is made absolute: findings of the first reading name files as the caller does.
    """

    def path(given: str | os.PathLike[str]) -> str:
        text = os.fspath(given)
        # The native module expands `~` in options; an empty name is no file. Unlike abspath, this keeps `..` after symbolic links.
        return text if not text or text.startswith("~") or os.path.isabs(text) else os.path.join(os.getcwd(), text)

    source, options = given[0].copy(), given[1].copy()
    if isinstance(source["source"], bytes):
        source["folder"] = path(source["folder"] or os.curdir)
    elif not source["source"].startswith(("package://", "file://")):
        source["source"] = path(source["source"])
    for name in ("package_paths", "allowed_roots"):
        if (value := options.get(name)) is not None:
            options[name] = [path(item) for item in ([value] if isinstance(value, (str, os.PathLike)) else value)]
    for name in ("srdf_file", "xrdf_file"):
        if (value := options.get(name)) is not None:
            options[name] = path(value)
    options["packages"] = {name: path(folder) for name, folder in named_packages(options.get("packages")).items()}
    return source, options


def _joint(about: dict[str, Any]) -> Joint:
    mimic = about["mimic"]
    return Joint(
        name=about["name"],
        kind=about["kind"],
        parent=about["parent"],
        child=about["child"],
        origin=np.array(about["origin"], dtype=np.float64).reshape(4, 4),
        axis=np.array(about["axis"], dtype=np.float64),
        lower=_number(about["lower"], -np.inf),
        upper=_number(about["upper"], np.inf),
        effort=_number(about["effort"], np.inf),
        velocity=_number(about["velocity"], np.inf),
        damping=_number(about["damping"], 0.0),
        friction=_number(about["friction"], 0.0),
        mimic=None if mimic is None else Mimic(**mimic),
        closes_loop=about["closes_loop"],
    )


__all__ = ["Array", "IkResult", "Joint", "Mimic", "Robot"]
