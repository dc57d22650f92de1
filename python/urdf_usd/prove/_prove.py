"""The table of engines and checks for a robot."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Union

from .._commands import Source, convert
from .._errors import Diagnostic, OptionError
from .._robot import Robot
from .compare import CHECKS, ENTRIES, MAX_ERROR, compare
from .experiments import GRAVITY, WEAK
from .reference import plan

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._options import Planning

Status = Literal["ok", "failed", "error", "missing"]
#: Engines that run by default, in the order of the table. XPBD is a solver of Newton that loses energy.
DEFAULT = ("mujoco", "newton", "physx", "drake")
#: The columns of the table, and the checks of each.
COLUMNS = {
    "mass": ("mass", "centre", "matrix", "inertia"),
    "holds": ("start", "hold"),
    "motion": ("swing", "step"),
    "mimic": ("mimic",),
    "contacts": ("contacts",),
    "limits": ("stop",),
    "warnings": ("warnings",),
}
#: Newton imports newton-usd-schemas and scipy (for convex hulls) only while it loads an asset.
_NEWTON = "'newton[sim]' newton-usd-schemas scipy usd-core"
_PACKAGES = {"mujoco": "mujoco", "newton": _NEWTON, "xpbd": _NEWTON, "physx": "ovphysx", "drake": "drake", "usd": "usd-core"}
_SECONDS = 900
_OPENUSD = (".usd", ".usda", ".usdc", ".usdz")


@dataclass(frozen=True)
class Figure:
    """The result of a check."""

    value: float
    """The largest difference; `compare.MAX_ERROR` has the units. Infinite or NaN if the engine computed NaN."""
    largest: float
    """The largest difference that is right."""
    joint: str
    """The joint with the largest difference, or other details."""

    @property
    def ok(self) -> bool:
        """True if the difference is small enough."""
        return self.value <= self.largest


@dataclass(frozen=True)
class Row:
    """The results of an engine."""

    status: Status
    """`ok`; `failed`: a check failed; `error`: the engine did not load or run the robot; `missing`: the engine is not installed."""
    figures: dict[str, Figure] = field(default_factory=dict)
    """Results by check."""
    message: str = ""
    """The engine's error, or what to install."""


@dataclass(frozen=True)
class Table:
    """The results of all engines."""

    robot: str
    """The robot's name."""
    rows: dict[str, Row]
    """Results by engine."""

    @property
    def ok(self) -> bool:
        """True if every engine that is installed has passed every check; false if none is."""
        found = [row.status for row in self.rows.values() if row.status != "missing"]
        return bool(found) and set(found) == {"ok"}

    def to_json(self) -> dict[str, Any]:
        """Returns the table as JSON has it: a value that is infinite or NaN is `None`."""
        engines = {engine: asdict(row) for engine, row in self.rows.items()}
        for row in engines.values():
            for figure in row["figures"].values():
                figure["value"] = figure["value"] if math.isfinite(figure["value"]) else None
        return {"robot": self.robot, "ok": self.ok, "engines": engines}

    def to_text(self) -> str:
        """Returns the table as text, with a line for each failure below."""
        lines = [["", "loads", *COLUMNS]]
        below = []
        for engine, row in self.rows.items():
            loads = {"missing": "-", "error": "FAILED"}.get(row.status, "ok")
            cells = []
            for checks in COLUMNS.values():
                figures = [row.figures[check] for check in checks if check in row.figures]
                cells.append("-" if not figures else "ok" if all(figure.ok for figure in figures) else "FAILED")
            lines.append([engine, loads, *cells])
            if row.message:
                below.append(f"{engine}: {row.message}")
            below += [
                f"{engine}: {check}: {_number(figure.value)}, at most {figure.largest:g}{f' ({figure.joint})' if figure.joint else ''}"
                for check, figure in row.figures.items()
                if not figure.ok
            ]
        widths = [max(map(len, column)) for column in zip(*lines)]
        text = "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines)
        return "\n".join([self.robot, text, *below])


def prove(
    asset: Source,
    *,
    engines: str | Iterable[str] = DEFAULT,
    pythons: Mapping[str, Union[str, os.PathLike[str]]] | None = None,
    **options: Unpack[Planning],
) -> Table:
    """Runs a robot in engines, and compares them with this program's kinematics and dynamics.

    MuJoCo and Drake get an MJCF and an SDF that this program writes; Newton and PhysX an OpenUSD asset: that of the source as it is, if it is
    one, otherwise the one that this program writes. The base is held. It takes seconds to minutes an engine.

    Args:
        asset: The robot: any `Source`.
        engines: `mujoco`, `newton`, `xpbd` (Newton's other solver), `physx`, `drake`.
        pythons: The Python of an engine that is not installed in this one, and of OpenUSD (`usd`).
        **options: The locations of packages, and files with planning data.

    Raises:
        OptionError: An engine is unknown, OpenUSD is not installed, or a file of OpenUSD is not in metres, kilograms and Z-up.
        Error: The asset can't be read.
    """
    engines = [engines] if isinstance(engines, str) else list(engines)
    for name in (*engines, *(pythons or {})):
        if name not in (*ENTRIES, "usd"):
            raise OptionError((Diagnostic("error", "command-usage", f'there is no engine "{name}"; the engines are {", ".join(ENTRIES)}'),))
    interpreters = {name: os.fspath(path) for name, path in (pythons or {}).items()}
    with tempfile.TemporaryDirectory(prefix="urdf_usd-") as scratch:
        made = convert(asset, scratch, formats=["usd", "mjcf", "sdf"], overlays=["newton", "physx"], tiers="high", **options)
        folder = Path(scratch) / made.name
        entries = {engine: str(folder / f"{made.name}{suffix}") for engine, suffix in ENTRIES.items()}
        assumed = {output: sorted(_elements(made.diagnostics, code, "link")) for output, code in _ASSUMED.items()}
        robot = Robot.load(folder)
        if (own := _openusd(asset)) is not None:
            entries |= dict.fromkeys(("newton", "xpbd", "physx"), own)
            robot = Robot.load(asset, **options)
            assumed["usd"] = []
        weak = {"": GRAVITY, **{f"physx_{gravity:g}": gravity for gravity in (GRAVITY, WEAK, 0.0)}}
        stage, row = _ask("scenes", interpreters.get("usd"), [entries, str(folder), weak], "usd")
        if row is not None:
            raise OptionError((Diagnostic("error", "command-usage", f"OpenUSD: {row.message}"),))
        if "refused" in stage:
            raise OptionError((Diagnostic("error", "command-usage", stage["refused"]),))
        found = plan(robot, assumed, stage["drives"], stage["start"], stage["armature"])
        found |= {"scenes": stage["scenes"], "bodies": stage["bodies"]}
        found["names"] = {"usd": stage["names"], "drake": _sdf_names(robot, made.diagnostics, Path(entries["drake"]))}
        rows = {engine: _run(engine, interpreters.get(engine), entries[engine], found) for engine in engines}
    return Table(robot.name, rows)


#: The findings about links whose mass is assumed, by output.
_ASSUMED = {"mujoco": "mjcf-mass-missing", "drake": "sdf-mass-missing", "usd": "link-without-mass"}


def _elements(findings: Iterable[Diagnostic], code: str, kind: str) -> set[str]:
    """Returns the names of the links or joints that findings of this code are about."""
    start = f'{kind} "'
    elements = (finding.element for finding in findings if finding.code == code)
    return {element.removeprefix(start).removesuffix('"') for element in elements if element.startswith(start)}


def _sdf_names(robot: Robot, findings: Iterable[Diagnostic], sdf: Path) -> dict[str, str]:
    """Returns the joints that have another name in the SDF, by that name: those of the same child."""
    children = {robot.joints[name].child: name for name in _elements(findings, "sdf-renamed", "joint") if name in robot.joints}
    if not children:
        return {}
    named = {joint.findtext("child", ""): joint.get("name", "") for joint in ElementTree.parse(sdf).iter("joint")}
    return {named[child]: name for child, name in children.items() if child in named}


def _number(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else "no finite number"


def _openusd(asset: Source) -> str | None:
    """Returns the path of a source that is a file of OpenUSD."""
    if isinstance(asset, bytes) or not os.fspath(asset).endswith(_OPENUSD):
        return None
    path = Path(asset).expanduser().absolute()
    return str(path) if path.is_file() else None


def _run(engine: str, interpreter: str | None, entry: str, found: dict[str, Any]) -> Row:
    """Runs the experiments in an engine."""
    arguments: list[Any] = [entry, found, CHECKS[engine]]
    if engine in ("newton", "xpbd"):
        arguments.append(engine)
    results, row = _ask(f"engine_{'newton' if engine == 'xpbd' else engine}", interpreter, arguments, engine)
    if row is not None:
        return row
    figures = {check: Figure(value, MAX_ERROR[check], joint) for check, (value, joint) in compare(found, engine, results).items()}
    return Row("ok" if all(figure.ok for figure in figures.values()) else "failed", figures)


def _ask(module: str, interpreter: str | None, arguments: list[Any], engine: str) -> tuple[dict[str, Any], Row | None]:
    """Runs a module in a process. Returns its result, or else what went wrong: engines end processes."""
    command = [interpreter or sys.executable, str(Path(__file__).with_name("_engine.py")), module]
    try:
        done = subprocess.run(command, input=json.dumps(arguments), capture_output=True, text=True, encoding="utf-8", errors="replace", timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        return {}, Row("error", message=f"no result after {_SECONDS} s")
    except OSError as error:
        return {}, Row("error", message=str(error))
    try:
        reply = json.loads(done.stdout)
    except ValueError:
        last = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "")
        return {}, Row("error", message=last or f"the process ended with {done.returncode}")
    if "missing" in reply:
        return {}, Row("missing", message=f"not installed: pip install {_PACKAGES[engine]} (no module {reply['missing']})")
    return reply["answer"], None
