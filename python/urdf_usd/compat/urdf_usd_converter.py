"""The interface of the PyPI package urdf-usd-converter.

>>> from urdf_usd.compat.urdf_usd_converter import Converter
>>> asset = Converter(ros_packages=[{"name": "arm", "path": "src/arm"}]).convert("arm.urdf", "out")
>>> asset.path
'out/arm.usda'

It needs OpenUSD (`pip install usd-core` or `usd-exchange`), like that package. `install` makes `import urdf_usd_converter` find this module.

Like that package, it reads any file that the description names. Don't use it for URDFs that you don't trust, unless you set `allowed_roots`.
"""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from .. import __version__
from .._commands import convert_input, native_input
from .._errors import Diagnostic, Error
from ._description import Description
from ._layout import flatten, write

if TYPE_CHECKING:
    from typing import Protocol

    from .._options import Path as AnyPath

    class AssetPath(Protocol):
        """The parts of `pxr.Sdf.AssetPath` that callers use; OpenUSD has no types."""

        path: str
        """The path of the file to open."""
        resolvedPath: str
        """The resolved path, which is empty here."""

__all__ = ["ConversionError", "Converter", "__version__", "install"]

# Findings that urdf-usd-converter raises an exception for, although the rest of the robot can be converted.
_FATAL = frozenset(
    {
        "urdf-dangling-mimic",
        "urdf-duplicate-joint",
        "urdf-duplicate-link",
        "urdf-duplicate-material",
        "urdf-joint-without-link",
        "urdf-nameless-robot",
        "urdf-unknown-joint-type",
        "urdf-unknown-link",
        "urdf-unnamed-element",
        "urdf-zero-axis",
    }
)


class ConversionError(Error, ValueError, RuntimeError):
    """A description that can't be converted. urdf-usd-converter raises `ValueError`, and `RuntimeError` for malformed XML."""


class Converter:
    """Converts URDF files to OpenUSD assets in the layout of urdf-usd-converter."""

    @dataclass
    class Params:
        """The settings of a converter; they may be changed between conversions."""

        layer_structure: bool = True
        """Writes an interface layer with payloads; otherwise one binary layer."""
        scene: bool = True
        """Adds the prim `/PhysicsScene`."""
        comment: str = ""
        """The comment of the written layers."""
        ros_packages: list[dict[str, str]] = field(default_factory=list)
        """ROS packages, each with `name` and `path`."""

    def __init__(
        self,
        layer_structure: bool = True,
        scene: bool = True,
        comment: str = "",
        ros_packages: Sequence[Mapping[str, AnyPath]] = (),
        *,
        allowed_roots: AnyPath | Sequence[AnyPath] | None = None,
    ) -> None:
        """Takes the settings.

        Args:
            layer_structure: See `Params`.
            scene: See `Params`.
            comment: See `Params`.
            ros_packages: See `Params`.
            allowed_roots: The folders from which files are read, besides the URDF's and those of packages; by default, any file is read.
        """
        self._allowed_roots = allowed_roots
        packages = [{key: os.fspath(value) for key, value in package.items()} for package in ros_packages]
        self.params = self.Params(layer_structure=layer_structure, scene=scene, comment=comment, ros_packages=packages)

    def convert(self, input_file: AnyPath, output_dir: AnyPath) -> AssetPath:
        """Converts a URDF file, and returns the `Sdf.AssetPath` of the asset in `output_dir`: `NAME.usda`, or `NAME.usdc` without layer structure.

        Parts that can't be converted, such as a missing mesh, are warnings of OpenUSD (`Tf.Warn`), other findings its status messages.

        Raises:
            ValueError: The file can't be read, or `output_dir` is not a directory.
            ConversionError: The file is not a URDF, or refers to links and joints that it does not have. It is a `ValueError`.
            ImportError: OpenUSD is not installed.
        """
        sdf, tf = (importlib.import_module(f"pxr.{name}") for name in ("Sdf", "Tf"))
        source, out = Path(input_file), Path(output_dir)
        if not source.is_file():
            raise ValueError(f"Input file {input_file} is not a readable file")
        if out.exists() and not out.is_dir():
            raise ValueError(f"Output directory {output_dir} is not a directory")
        tf.Status(f"Converting {source} into {out}")
        try:
            description = Description(source)
        except (SyntaxError, ValueError) as error:
            # The XML parser's errors are SyntaxErrors.
            fault = Diagnostic("error", "urdf-malformed-xml", f"Error parsing XML: {error}", file=str(source))
            raise ConversionError((fault,)) from None
        if not description.links:
            raise ConversionError((Diagnostic("error", "urdf-no-links", "The link does not exist.", file=str(source)),))
        if not description.root:
            raise ConversionError((Diagnostic("error", "urdf-loop", "Closed loop articulations are not supported.", file=str(source)),))
        folder = source.absolute().parent
        given = {package["name"]: folder / package["path"] for package in self.params.ros_packages if package.get("name") and package.get("path")}
        # With allowed_roots, folders above the file are not searched: a package that is found there would be allowed by that.
        located = description.packages() if self._allowed_roots is None else {}
        # A folder that does not exist is a warning for each file of the package.
        packages = {name: path for name, path in {**located, **given}.items() if path.is_dir()}
        with tempfile.TemporaryDirectory(prefix="urdf_usd-") as scratch:
            try:
                options = {
                    "formats": "usd",
                    "overlays": "newton",
                    "tiers": "high",
                    "base": "auto" if description.is_welded else "fixed",
                    "drive": "none",
                    "self_collision": "all",
                    "packages": packages,
                    "allowed_roots": folder.anchor if self._allowed_roots is None else self._allowed_roots,
                }
                # Engines compute the hulls of this layout.
                result = convert_input(*native_input(description.text, options, folder=folder), scratch, hulls=False)
            except Error as error:
                raise ConversionError(_placed(error.diagnostics, source)) from None
            findings = _placed(result.diagnostics, source)
            if fatal := tuple(filter(_is_fatal, findings)):
                raise ConversionError(fatal)
            for finding in findings:
                (tf.Warn if finding.severity == "error" else tf.Status)(str(finding))
            name = description.name or result.name
            stage = result.stage(f"{result.name}.newton.usda")
            if self.params.layer_structure:
                path = write(stage, description, out.absolute(), name, scene=self.params.scene, comment=self.params.comment)
            else:
                layered = write(stage, description, Path(scratch) / "layers", name, scene=self.params.scene, comment="")
                path = flatten(layered, out.absolute(), comment=self.params.comment)
        asset: AssetPath = sdf.AssetPath(path.as_posix())
        return asset


def _placed(findings: Iterable[Diagnostic], source: Path) -> tuple[Diagnostic, ...]:
    """Returns findings about the text as findings about its file."""
    return tuple(replace(finding, file=str(source)) if finding.file is None else finding for finding in findings)


def _is_fatal(finding: Diagnostic) -> bool:
    # The material of a visual needs no name.
    return finding.code in _FATAL and not (finding.code == "urdf-unnamed-element" and "material" in finding.element)


def install() -> None:
    """Makes `import urdf_usd_converter` find this module in this process, unless that package was imported before."""
    sys.modules.setdefault("urdf_usd_converter", sys.modules[__name__])
