"""The interface of Isaac Sim's URDF importer, `isaacsim.asset.importer.urdf`, which Isaac Lab's `UrdfConverter` calls.

>>> import urdf_usd.compat.isaacsim
>>> urdf_usd.compat.isaacsim.install()      # before Isaac Lab converts
>>> from isaacsim.asset.importer.urdf import URDFImporter, URDFImporterConfig
>>> URDFImporter(URDFImporterConfig(urdf_path="arm.urdf", usd_path="out", fix_base=True)).import_urdf()
'out/arm/arm.usda'

The asset is one of this program, with the Isaac robot schema, and a variant set `Physics` with the variants of the importer: `physics` (for any
engine), `physx`, `mujoco` and `none`. A field without a counterpart raises `UnsupportedFieldError` if it is set.

Like the importer, it reads any file that the description names. Don't use it for URDFs that you don't trust, unless you set `allowed_roots`.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import pkgutil
import re
import shutil
import sys
import tempfile
import types
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union

from .._commands import Result, convert
from ._description import Description

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._options import Options
    from .._options import Path as AnyPath

__all__ = ["URDFImporter", "URDFImporterConfig", "UnsupportedFieldError", "install"]

_logger = logging.getLogger(__name__)
_Overlay = Literal["isaac", "newton", "physx", "mujoco"]
_MODULE = "isaacsim.asset.importer.urdf"
_Value = TypeVar("_Value", str, float)
_ByJoint = Union[_Value, dict[str, _Value], None]
_MODES = {"position": "position", "velocity": "velocity", "none": "effort", "effort": "effort"}
# The most parts that PhysX decomposes a mesh into by default.
_CONVEX_PARTS = 32


class UnsupportedFieldError(NotImplementedError, ValueError):
    """A field of the configuration that has no counterpart."""


@dataclass
class URDFImporterConfig:
    """The settings of an import, with the fields of Isaac Sim 6.2."""

    urdf_path: str | None = None
    """The file, which ends with `.urdf`."""
    usd_path: str | None = None
    """The folder for the asset's folder; by default, the file's folder."""
    merge_fixed_joints: bool = False
    """Merges links that fixed joints connect. Frames stay, as frames."""
    merge_mesh: bool = False
    """No counterpart: a mesh file is one mesh in any case, but visuals are not merged."""
    debug_mode: bool = False
    """No counterpart: there are no intermediate files."""
    collision_from_visuals: bool = False
    """Replaces colliders by the visuals."""
    collision_type: str = "Convex Hull"
    """The form of colliders from visuals: `Convex Hull` or `Convex Decomposition`. `Bounding Sphere` and `Bounding Cube` have no counterpart."""
    allow_self_collision: bool = False
    """True if links of the robot collide with each other."""
    ros_package_paths: list[dict[str, str]] = field(default_factory=list)
    """ROS packages, each with `name` and `path`."""
    robot_type: str = "Default"
    """The kind of robot, for the Isaac robot schema."""
    fix_base: bool | None = None
    """True if the base is fixed to the world; `None`: as the description says."""
    link_density: float | None = None
    """The density in kg/m³ of links without mass."""
    joint_drive_type: _ByJoint[str] = None
    """`force`, for all joints or by patterns of names. `acceleration` has no counterpart."""
    joint_target_type: _ByJoint[str] = None
    """`none`, `position` or `velocity`, for all joints or by patterns of names."""
    override_joint_stiffness: _ByJoint[float] = None
    """Stiffness in N·m/rad or N/m, for all joints or by patterns of names; where there is none, that which holds the robot."""
    override_joint_damping: _ByJoint[float] = None
    """Damping in N·m·s/rad or N·s/m, in the same way."""
    run_asset_transformer: bool = True
    """`False` has no counterpart: assets are layered."""
    run_multi_physics_conversion: bool = True
    """Adds the variants `physx` and `mujoco`."""


class URDFImporter:
    """Imports URDF files as OpenUSD assets."""

    def __init__(self, config: URDFImporterConfig | None = None, *, allowed_roots: AnyPath | Sequence[AnyPath] | None = None) -> None:
        """Takes the settings.

        Args:
            config: The settings; they may be changed between imports.
            allowed_roots: The folders from which files are read, besides the URDF's and those of packages; by default, any file is read.
        """
        self._config = config if config is not None else URDFImporterConfig()
        self._allowed_roots = allowed_roots

    @property
    def config(self) -> URDFImporterConfig:
        """The settings."""
        return self._config

    @config.setter
    def config(self, config: URDFImporterConfig) -> None:
        self._config = config

    def import_urdf(self, config: URDFImporterConfig | None = None) -> str:
        """Imports the file of the settings, and returns the path of the asset: `USD_PATH/STEM/STEM.usda`.

        An earlier asset in that folder is replaced. Findings are logged.

        Raises:
            ValueError: No file is set, its name does not end with `.urdf`, or a pattern matches no joint.
            UnsupportedFieldError: A field that has no counterpart is set.
            urdf_usd.Error: The file can't be converted.
        """
        if config is not None:
            self._config = config
        config = self._config
        if not config.urdf_path:
            raise ValueError("URDF path is not set in the importer configuration.")
        source = Path(os.path.normpath(config.urdf_path))
        if source.suffix.lower() != ".urdf":
            raise ValueError(f"Expected file with extension '.urdf', got '{source.suffix or '<no extension>'}' for path: {source}")
        _refuse(config)
        if config.usd_path is None:
            config.usd_path = str(source.parent)
        stem = source.stem.lstrip(".")
        out = Path(os.path.normpath(config.usd_path)) / stem
        text = source.read_bytes()
        packages: dict[str, str | Path] = {}
        drives: dict[str, dict[str, object]] = {}
        try:
            robot = ElementTree.fromstring(text)
            if self._allowed_roots is None:
                packages |= Description(source).packages()
        except (SyntaxError, ValueError):
            # convert() says where it is malformed. The XML parser's errors are SyntaxErrors.
            robot = ElementTree.Element("robot")
        else:
            drives = _drives(config, robot)
        packages |= {package["name"]: package["path"] for package in config.ros_package_paths}
        overlays: list[_Overlay] = ["isaac", "newton", "physx", "mujoco"] if config.run_multi_physics_conversion else ["isaac", "newton"]
        options: Options = {
            "formats": "usd",
            "overlays": overlays,
            "merge_fixed": config.merge_fixed_joints,
            "self_collision": "all" if config.allow_self_collision else "none",
            "packages": packages,
            "allowed_roots": source.absolute().anchor if self._allowed_roots is None else self._allowed_roots,
            "robot_type": config.robot_type,  # type: ignore[typeddict-item]  # convert() says so if it is wrong.
            "base": {None: "auto", True: "fixed", False: "floating"}[config.fix_base],  # type: ignore[typeddict-item]
        }
        if config.link_density:
            options["density"] = config.link_density
        decomposed = config.collision_from_visuals and config.collision_type == "Convex Decomposition"
        if decomposed:
            options["convex_parts"] = _CONVEX_PARTS
        if config.collision_from_visuals and len(robot):
            text = _with_visuals_as_colliders(robot)
        with tempfile.TemporaryDirectory(prefix="urdf_usd-") as scratch:
            if drives:
                file = Path(scratch) / "drives.yaml"
                # JSON is YAML.
                file.write_text(json.dumps(drives), encoding="utf-8")
                options["drives_file"] = file
            made = convert(text, Path(scratch) / "payloads", folder=source.absolute().parent, **options)
            for finding in made.diagnostics:
                _logger.log({"error": logging.ERROR, "warning": logging.WARNING}.get(finding.severity, logging.INFO), "%s: %s", source, finding)
            entry = _entry(made, overlays, decomposed)
            out.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(out / "payloads", ignore_errors=True)
            shutil.copytree(Path(scratch) / "payloads" / made.name, out / "payloads")
        path = out / f"{stem}.usda"
        path.write_text(entry, encoding="utf-8")
        _reload(out)
        return str(path)


def _reload(folder: Path) -> None:
    """Reads layers again that this process has open from an earlier import."""
    sdf: Any = sys.modules.get("pxr.Sdf")
    for layer in sdf.Layer.GetLoadedLayers() if sdf else ():
        # A layer that closes meanwhile is false.
        if layer and layer.realPath and Path(layer.realPath).is_relative_to(folder.absolute()):
            layer.Reload(force=True)


def _refuse(config: URDFImporterConfig) -> None:
    """Raises for fields that have no counterpart."""
    kinds = config.joint_drive_type.values() if isinstance(config.joint_drive_type, dict) else [config.joint_drive_type]
    faults = {
        "merge_mesh": config.merge_mesh and "visuals of a link are not merged; a mesh file is one mesh in any case",
        "debug_mode": config.debug_mode and "there are no intermediate files",
        "run_asset_transformer": not config.run_asset_transformer and "assets are layered; flatten the stage with OpenUSD if it has to be one file",
        "joint_drive_type": any(kind not in (None, "force") for kind in kinds) and "drives are of the type force",
        "collision_type": config.collision_from_visuals
        and config.collision_type not in ("Convex Hull", "Convex Decomposition")
        and "colliders from visuals are convex hulls or convex decompositions",
    }
    for name, reason in faults.items():
        if reason:
            raise UnsupportedFieldError(f"{name}={getattr(config, name)!r} has no counterpart in urdf_usd: {reason}")


def _drives(config: URDFImporterConfig, robot: ElementTree.Element) -> dict[str, dict[str, object]]:
    """Returns properties of drives by patterns that match one joint each. Gains that the mode of a joint does not use are logged.

    Raises:
        ValueError: A pattern matches no joint.
    """
    joints = [joint.get("name", "") for joint in robot.findall("joint") if joint.get("type") in ("revolute", "continuous", "prismatic")]
    modes = {name: _MODES.get(kind, kind) for name, kind in _by_joint(config.joint_target_type, joints).items()}
    found: dict[str, dict[str, object]] = {}
    for key, values in (
        ("mode", modes),
        ("stiffness", _by_joint(config.override_joint_stiffness, joints)),
        ("damping", _by_joint(config.override_joint_damping, joints)),
    ):
        for name, value in values.items():
            mode = modes.get(name, "position")
            if key == "mode" or mode == "position" or (key == "damping" and mode == "velocity"):
                found.setdefault(re.escape(name), {})[key] = value
            else:
                _logger.warning("joint %r: the %s of %s is ignored, as a drive of the mode %r has none", name, key, value, mode)
    return found


def _by_joint(given: _Value | Mapping[str, _Value] | None, joints: list[str]) -> dict[str, _Value]:
    """Returns values by joints; later patterns take precedence."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        return dict.fromkeys(joints, given)
    found: dict[str, _Value] = {}
    for pattern, value in given.items():
        matching = [name for name in joints if re.search(pattern, name)]
        if not matching:
            raise ValueError(f"Joint name pattern '{pattern}' matched no joints. Available joints: {joints}")
        found.update(dict.fromkeys(matching, value))
    return found


def _with_visuals_as_colliders(robot: ElementTree.Element) -> bytes:
    """Returns the description with the visuals of links as their colliders."""
    for link in robot.findall("link"):
        for collision in link.findall("collision"):
            link.remove(collision)
        for visual in link.findall("visual"):
            collision = ElementTree.SubElement(link, "collision")
            collision.extend(deepcopy(part) for part in visual if part.tag in ("origin", "geometry"))
    text: bytes = ElementTree.tostring(robot, encoding="utf-8")
    return text


def _entry(made: Result, overlays: list[_Overlay], decomposed: bool) -> str:
    """Returns the layer to open: the asset as the engine of each variant reads it, below the Isaac robot schema."""
    name = made.name
    main = made.files[f"{name}.usda"].decode()
    prim = re.search(r'^    defaultPrim = "(.*)"$', main, re.MULTILINE)
    assert prim is not None
    variants = {"physics": f"{name}.newton.usda", "none": "base.usda"}
    if "physx" in overlays:
        variants |= {"physx": f"{name}.physx.usda", "mujoco": f"{name}.mujoco.usda"}
    fidelity = '        string collision_fidelity = "convex_decomposition"\n' if decomposed else ""
    references = "".join(f'        "{variant}" (\n            prepend references = @./payloads/{file}@\n        ) {{\n        }}\n' for variant, file in variants.items())
    return (
        f'#usda 1.0\n(\n    defaultPrim = "{prim[1]}"\n    kilogramsPerUnit = 1\n    metersPerUnit = 1\n    subLayers = [\n        @./payloads/isaac.usda@\n'
        f'    ]\n    timeCodesPerSecond = 1\n    upAxis = "Z"\n)\n\ndef Xform "{prim[1]}" (\n    variants = {{\n        string Physics = "physics"\n{fidelity}'
        f'    }}\n    prepend variantSets = "Physics"\n)\n{{\n    variantSet "Physics" = {{\n{references}    }}\n}}\n'
    )


class _SearchPath:
    """The `__path__` of a package in place of one that can't be imported yet. It is computed at each import, so that modules in folders that Isaac
    Sim's extensions add to `sys.path` later are found."""

    def __init__(self, package: str) -> None:
        self._package = package

    def __iter__(self) -> Iterator[str]:
        return iter(pkgutil.extend_path([], self._package))


def install() -> None:
    """Makes `import isaacsim.asset.importer.urdf` find this module in this process, also where Isaac Sim's is installed.

    In Isaac Sim, call it after `SimulationApp` is created: that adds the folders of extensions to `sys.path`.
    """
    parents = _MODULE.split(".")[:-1]
    for length in range(1, len(parents) + 1):
        parent = ".".join(parents[:length])
        try:
            importlib.import_module(parent)
        except ImportError:
            module = types.ModuleType(parent)
            module.__path__ = _SearchPath(parent)  # type: ignore[assignment]
            sys.modules[parent] = module
            if length > 1:
                setattr(sys.modules[".".join(parents[: length - 1])], parents[length - 1], module)
    sys.modules[_MODULE] = sys.modules[__name__]
    setattr(sys.modules[".".join(parents)], "urdf", sys.modules[__name__])  # noqa: B010 - a module has no such attribute for type checkers
