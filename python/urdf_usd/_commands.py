"""The work of commands: convert, check, fix, inspect."""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Union

from . import _native
from ._command import interpreter
from ._errors import Diagnostic, OptionError, diagnostics, failures
from ._sources import find

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import Options, Packages, Planning, Revision
    from ._options import Path as AnyPath

Source = Union[str, bytes, "os.PathLike[str]"]
"""A robot or an asset: a path, `package://PACKAGE/PATH`, or the text or bytes of a file. A string that begins with `<`, `{` or `#usda` is
text. A robot of the package robot_descriptions has the name of its module, or `robot_descriptions:NAME`; one in a Git repository is
`git+URL[@REF][#subdirectory=PATH]` or an address of GitHub."""
Engine = Literal["mujoco", "newton", "physx", "isaac", "drake", "gazebo"]
"""An engine or simulator whose support of an asset `check` reports."""
EngineOverlay = Literal["newton", "mujoco", "physx"]
"""An engine for which `fix` writes a layer."""
XacroArguments = Union[Mapping[str, object], str, Iterable[str]]
"""Arguments of a xacro file by name, or one or several as `NAME:=VALUE`."""


class Progress(NamedTuple):
    """The progress of a conversion."""

    step: str
    """The present step, such as `loading meshes`."""
    name: str
    """The largest item in progress; may be empty."""
    done: int
    """The amount that is done."""
    total: int
    """The whole amount, in the same unit; 0 if it is unknown."""


def native_input(
    source: Source,
    options: Mapping[str, Any],
    *,
    folder: str | os.PathLike[str] | None = None,
    robot: str | None = None,
    xacro_args: XacroArguments = (),
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns an input and options in the form of the native module."""
    given = dict(options)
    arguments: list[str] = []
    if isinstance(source, str):
        if source.lstrip("\ufeff \t\r\n").startswith(("<", "{", "#usda")):
            source = source.encode()
        elif found := find(source):
            source = found.path
            arguments += _arguments(found.xacro_args)
            # The caller's take precedence.
            given["packages"] = {**found.packages, **named_packages(given.get("packages"))}
    arguments += _arguments(xacro_args)
    return {
        "source": source if isinstance(source, bytes) else os.fspath(source),
        "folder": None if folder is None else os.fspath(folder),
        "robot": robot,
        "xacro_args": arguments,
    }, given


def named_packages(given: Mapping[str, AnyPath] | Iterable[str] | None) -> dict[str, AnyPath]:
    """Returns the folders of packages by name; an item of a list, or a single text, is `NAME=DIR`.

    Raises:
        OptionError: An item is not `NAME=DIR`.
    """
    if isinstance(given, Mapping):
        return dict(given)
    named: dict[str, AnyPath] = {}
    for item in [given] if isinstance(given, str) else given or ():
        name, _, folder = item.partition("=")
        if not (name and folder):
            message = f'packages: "{item}" is not NAME=DIR, such as my_robot_description=/home/me/my_robot_description'
            raise OptionError((Diagnostic("error", "command-usage", message),))
        named[name] = folder
    return named


def _names(given: str | Iterable[str]) -> list[str]:
    """Returns names; those of a text are separated by commas."""
    return [name.strip() for name in given.split(",")] if isinstance(given, str) else list(given)


def _items(given: str | Iterable[str]) -> list[str]:
    """Returns items that may contain commas; a text is one."""
    return [given] if isinstance(given, str) else list(given)


def _arguments(given: XacroArguments) -> list[str]:
    """Returns arguments of xacro, each as `NAME:=VALUE`."""
    return [f"{name}:={_xacro_value(value)}" for name, value in given.items()] if isinstance(given, Mapping) else _items(given)


def _xacro_value(value: object) -> str:
    # xacro's truth values are lower-case.
    return str(value).lower() if isinstance(value, bool) else str(value)


class _Files(Mapping[str, bytes]):
    """The contents of an asset's files by their paths in it, read when they are asked for."""

    def __init__(self, paths: Iterable[str], directory: Path | None, contents: Mapping[str, bytes]) -> None:
        self._paths = dict.fromkeys(paths)
        self._directory = directory
        self._contents = contents

    def __getitem__(self, path: str) -> bytes:
        if path not in self._paths:
            raise KeyError(path)
        return self._contents[path] if self._directory is None else (self._directory / path).read_bytes()

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)

    def __repr__(self) -> str:
        return f"<{len(self)} files: {', '.join(self)}>"


class Result:
    """An asset that was written."""

    report: dict[str, Any]
    """The report, as in `report.json`: source, options, counts, timings, files, findings."""
    diagnostics: tuple[Diagnostic, ...]
    """The findings."""
    name: str
    """The asset's name: that of its folder, and of its entry files without extension."""
    directory: Path | None
    """The asset's folder; `None` in memory."""
    entries: tuple[str, ...]
    """The files to open, by their paths in the asset: first the OpenUSD layers, then overlays, then other formats."""
    files: Mapping[str, bytes]
    """The contents of all files by their paths in the asset."""

    def __init__(self, written: tuple[str, os.PathLike[str], list[os.PathLike[str]], list[tuple[str, bytes]] | None]) -> None:
        report, directory, entries, contents = written
        self.report = json.loads(report)
        self.diagnostics = diagnostics(self.report["diagnostics"])
        self.name = Path(directory).name
        self.directory = None if contents is not None else Path(directory)
        self.entries = tuple(Path(entry).as_posix() for entry in entries)
        self.files = _Files((file["path"] for file in self.report["files"]), self.directory, dict(contents or ()))
        self._temporary: tempfile.TemporaryDirectory[str] | None = None

    @property
    def status(self) -> Literal["ok", "warnings", "errors"]:
        """`ok`, `warnings`, or `errors`: the asset lacks a part of the robot."""
        status: Literal["ok", "warnings", "errors"] = self.report["status"]
        return status

    @property
    def path(self) -> Path | None:
        """The first entry file; `None` in memory."""
        return None if self.directory is None or not self.entries else self.directory / self.entries[0]

    def write(self, out: str | os.PathLike[str]) -> Path:
        """Writes all files to the folder NAME in `out`, and returns the first entry file, or the folder if there is none."""
        folder = Path(out) / self.name
        for path, content in self.files.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        return folder / self.entries[0] if self.entries else folder

    def stage(self, entry: str | None = None) -> Any:
        """Opens an entry file, by default the first, with `pxr` (`pip install usd-core`), and returns the `Usd.Stage`.

        The files of a result in memory are written to a temporary folder, which lasts as long as the result.
        """
        try:
            usd = importlib.import_module("pxr.Usd")
        except ImportError as error:
            raise ImportError("stage() needs OpenUSD: pip install usd-core") from error
        if entry is None:
            endings = (".usda", ".usdc", ".usd", ".usdz")
            entry = next((name for name in self.entries if name.endswith(endings)), None)
        if entry is None or entry not in self.files:
            raise FileNotFoundError(f"the asset has no OpenUSD file {entry or ''}: its files are {', '.join(self.files)}")
        folder = self.directory
        if folder is None:
            if self._temporary is None:
                self._temporary = tempfile.TemporaryDirectory(prefix="urdf_usd-")
                self.write(self._temporary.name)
            folder = Path(self._temporary.name) / self.name
        return usd.Stage.Open(str(folder / entry))

    def __repr__(self) -> str:
        place = "in memory" if self.directory is None else self.directory
        return f"<urdf_usd.Result {self.name}: {self.status}, {len(self.files)} files, {place}>"


class Inspection:
    """The contents of an asset or a description."""

    summary: dict[str, Any]
    """Links, joints, masses, frames, interfaces and more, as `urdf_usd inspect --json` prints them: metres, radians, kilograms."""
    diagnostics: tuple[Diagnostic, ...]
    """The findings."""

    def __init__(self, inspected: str) -> None:
        read = json.loads(inspected)
        self.summary = read["summary"]
        self.diagnostics = diagnostics(read["diagnostics"])


class _Bar:
    """A bar of progress by tqdm, if it is installed; otherwise a line for each step."""

    def __init__(self) -> None:
        self._step = ""
        self._bar: Any = None

    def __call__(self, now: Progress) -> None:
        try:
            bar = importlib.import_module("tqdm.auto").tqdm
        except ImportError:
            if now.step != self._step:
                print(f"{now.step} …", file=sys.stderr)
            self._step = now.step
            return
        if now.step != self._step:
            self.close()
            self._step = now.step
            self._bar = bar(total=now.total or None, desc=now.step, leave=False)
        self._bar.n = now.done
        self._bar.set_postfix_str(now.name)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def convert(
    source: Source,
    out: str | os.PathLike[str] | None = None,
    *,
    folder: str | os.PathLike[str] | None = None,
    robot: str | None = None,
    xacro_args: XacroArguments = (),
    replace: bool = False,
    cache: bool = False,
    progress: bool | Callable[[Progress], object] | None = None,
    **options: Unpack[Options],
) -> Result:
    """Converts a robot, and writes the asset to the folder NAME in `out`; without `out`, its files are kept in memory.

    The options are those of `urdf_usd convert` (`docs/cli.md`), with underscores: `urdf_usd.Options` lists them. Other threads of Python run
    meanwhile. Ctrl-C ends a conversion of the main thread; nothing is written then.

    Args:
        source: The robot: a URDF or xacro file, an OpenUSD or glTF asset, the folder of one, or any other `Source`.
        out: The folder in which to create the asset's folder.
        folder: The folder that relative references of text or bytes start from; by default the working directory.
        robot: The name of a robot in a folder or a glTF file with several.
        xacro_args: Arguments of a xacro file.
        replace: Replaces the asset of that name. Otherwise formats and overlays of an earlier conversion of the same source stay, and an
            asset of another source is an error.
        cache: Uses the user's cache of earlier conversions; the option `cache_url` implies it.
        progress: Called with the progress, on this thread; an exception ends the conversion. `True` shows a bar (tqdm, if installed).
        **options: The options of the conversion.

    Raises:
        OptionError: Arguments are wrong, or do not fit together.
        Error: The robot can't be converted; `diagnostics` says why. A part that can't be converted, such as a missing mesh, is no error
            unless `strict` is set: see `Result.status`.
    """
    bar = _Bar() if progress is True else None
    callback = bar or (progress if callable(progress) else None)
    try:
        with failures():
            given = native_input(source, options, folder=folder, robot=robot, xacro_args=xacro_args)
        return convert_input(*given, out, replace=replace, cache=cache, callback=callback)
    finally:
        if bar:
            bar.close()


def convert_input(
    source: dict[str, Any],
    options: dict[str, Any],
    out: str | os.PathLike[str] | None,
    *,
    replace: bool = False,
    cache: bool = False,
    hulls: bool = True,
    callback: Callable[[Progress], object] | None = None,
) -> Result:
    """Converts what `native_input` returned. Without `hulls`, the hulls of colliders are their source's meshes."""
    with failures():
        written = _native.convert(
            source,
            None if out is None else os.fspath(out),
            options,
            {"replace": replace, "cache": cache, "hulls": hulls, "interpreter": interpreter()},
            None if callback is None else lambda *now: callback(Progress(*now)),
        )
    return Result(written)


def check(
    asset: Source,
    *,
    folder: str | os.PathLike[str] | None = None,
    robot: str | None = None,
    xacro_args: XacroArguments = (),
    select: str | Iterable[str] = (),
    ignore: str | Iterable[str] = (),
    variants: str | Iterable[str] = (),
    all_variants: bool = False,
    rep158: Revision = "2026-06",
    engine: Engine | Iterable[Engine] = (),
    **options: Unpack[Packages],
) -> tuple[Diagnostic, ...]:
    """Checks an OpenUSD asset against the rules of REP-158, a glTF file against those of EXT_robot_kinematics, or a description as a
    conversion does; returns the findings.

    Args:
        asset: The asset or description.
        folder: The folder that relative references of text or bytes start from.
        robot: The name of a robot in a folder.
        xacro_args: Arguments of a xacro file.
        select: Codes to check, in a list or separated by commas; `*` at the end matches any characters.
        ignore: Codes to ignore, in the same form.
        variants: Variants of an OpenUSD asset to select, one or several: `SET=NAME` or `/PRIM{SET=NAME}`.
        all_variants: Checks every variant of an OpenUSD asset.
        rep158: The revision of REP-158.
        engine: Engines: what they drop or approximate of an OpenUSD asset, with its selected variants, is reported, too.
        **options: The locations of packages.

    Raises:
        OptionError: Arguments are wrong.
        Error: The file can't be read.
    """
    given = native_input(asset, {**options, "variants": _items(variants), "rep158": rep158}, folder=folder, robot=robot, xacro_args=xacro_args)
    with failures():
        found = _native.check(
            *given,
            select=_names(select),
            ignore=_names(ignore),
            all_variants=all_variants,
            engines=_names(engine),
        )
    return diagnostics(json.loads(found))


def fix(
    asset: Source,
    out: str | os.PathLike[str] | None = None,
    *,
    variants: str | Iterable[str] = (),
    rep158: Revision = "2026-06",
    overlays: EngineOverlay | Iterable[EngineOverlay] = (),
    **options: Unpack[Packages],
) -> Result:
    """Rewrites an OpenUSD asset to follow REP-158, in the folder NAME in `out`, or in memory.

    The findings of the result are what was changed, and what remains.

    Args:
        asset: The entry file of an OpenUSD asset, its folder, `package://PACKAGE/PATH`, or the contents of a file without references.
        out: The folder in which to create the asset's folder.
        variants: Variants to make the default, one or several: `SET=NAME` or `/PRIM{SET=NAME}`.
        rep158: The revision of REP-158 to follow.
        overlays: Engines whose layers get mimic joints, and armature, damping, friction and velocity limits of joints. By default only the
            engines whose attributes the source has; with `rep158="2026-07"`, all three get a mimic joint that only the neutral layer has.
        **options: The locations of packages.

    Raises:
        OptionError: Arguments are wrong.
        Error: The asset can't be read, or nothing can be written.
    """
    given, given_options = native_input(asset, {**options, "variants": _items(variants), "rep158": rep158})
    with failures():
        return Result(_native.fix(given, None if out is None else os.fspath(out), given_options, _names(overlays)))


def inspect(
    asset: Source,
    *,
    folder: str | os.PathLike[str] | None = None,
    robot: str | None = None,
    xacro_args: XacroArguments = (),
    variants: str | Iterable[str] = (),
    **options: Unpack[Planning],
) -> Inspection:
    """Returns the link tree, joints, masses, frames and interfaces of an asset, or of a description as converted.

    Args:
        asset: The asset or description.
        folder: The folder that relative references of text or bytes start from.
        robot: The name of a robot in a folder or a glTF file.
        xacro_args: Arguments of a xacro file.
        variants: Variants of an OpenUSD asset to select, one or several: `SET=NAME` or `/PRIM{SET=NAME}`.
        **options: The locations of packages, and files with planning data.

    Raises:
        OptionError: Arguments are wrong.
        Error: The file can't be read.
    """
    given = native_input(asset, {**options, "variants": _items(variants)}, folder=folder, robot=robot, xacro_args=xacro_args)
    with failures():
        return Inspection(_native.inspect(*given))
