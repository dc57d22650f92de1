"""Batches of robots for drivers in Python: what `urdf_usd batch` does, on the machines of a scheduler such as Dask, Ray or `concurrent.futures`.

>>> from concurrent.futures import ThreadPoolExecutor
>>> batch = urdf_usd.batch.Batch("robots", "converted", formats=["usd"])
>>> with ThreadPoolExecutor(8) as pool:
...     for row in pool.map(urdf_usd.batch.convert, batch.tasks):
...         batch.record(row)
>>> batch.finish()["status"]

The folder, its journal and its report are those of the command (`docs/batch.md`), so each can resume a batch of the other. All machines need the
sources and the folder at the same paths. Both may be in an object store, `s3://BUCKET/FOLDER`: each machine downloads the sources once.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Union

from . import _native
from ._command import interpreter
from ._errors import failures

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import Options

__all__ = ["Batch", "convert"]

Sources = Union[str, "os.PathLike[str]", Iterable[Union[str, "os.PathLike[str]"]]]
"""Descriptions, folders, patterns and manifests, or addresses of them in an object store."""


class Batch:
    """The robots to convert, with the journal that takes their rows. One process at a time has a batch open."""

    tasks: tuple[str, ...]
    """The conversions to run, each a text for `convert` in any process. Robots that an earlier run has converted are left out."""
    done: int
    """The number of robots that an earlier run has converted."""

    def __init__(
        self,
        sources: Sources,
        output: str | os.PathLike[str],
        *,
        retry: bool = False,
        changed: bool = False,
        **options: Unpack[Options],
    ) -> None:
        """Opens a batch.

        Args:
            sources: The robots: descriptions, folders, patterns, and manifests; or addresses of them in an object store.
            output: The folder of the batch, or its address in an object store.
            retry: Converts again what failed in an earlier run.
            changed: Converts again if a mesh or an included file has changed, too.
            **options: The options of all conversions.

        Raises:
            OptionError: Arguments are wrong.
            Error: The sources name no robot, a manifest is faulty, or another process has the batch open.
        """
        given = [sources] if isinstance(sources, (str, os.PathLike)) else list(sources)
        with failures():
            self._native = _native.Batch([os.fspath(source) for source in given], os.fspath(output), dict(options), retry, changed)
        self.tasks = tuple(self._native.tasks())
        self.done = self._native.done()

    def record(self, row: Mapping[str, Any]) -> None:
        """Appends the row of a robot to the journal: the robot is not converted again.

        Raises:
            OptionError: The row is not one of this batch, or is recorded already.
            Error: The journal can't be written; the row can be recorded again.
        """
        with failures():
            self._native.record(json.dumps(dict(row)))

    def finish(self) -> dict[str, Any]:
        """Writes the report of all rows so far, `report.jsonl` and `report.html`, and closes the batch.

        Returns:
            The numbers of the batch, as `urdf_usd batch --json` prints them.
        """
        with failures():
            summary: dict[str, Any] = json.loads(self._native.finish())
        return summary


def convert(task: str) -> dict[str, Any]:
    """Converts a robot of a batch, in a child process within the limits of time and memory, and returns its row of the report.

    A robot that can't be converted is no exception but a row with its `status` and `message`.

    Raises:
        OptionError: The text is not one of `Batch.tasks`.
        Error: The asset can't be published in the object store of the batch.
    """
    with failures():
        row: dict[str, Any] = json.loads(_native.convert_robot(task, interpreter()))
    return row
