"""Batches of robots on a Ray cluster: `pip install "ray[data]"`.

>>> import urdf_usd.ray
>>> urdf_usd.ray.convert("robots.csv", "/shared/converted", formats=["usd"])["status"]
>>> urdf_usd.ray.dataset("robots.csv", "/shared/converted").write_parquet("/shared/rows")

All machines need this package, and the sources and the folder at the same paths, or both in an object store. A conversion runs in a
child process of a worker of Ray; if it crashes, or exceeds a limit, the robot's row has the reason. If a worker or a machine is lost, Ray repeats the
task.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
from typing import TYPE_CHECKING, Any

from . import batch
from ._errors import Diagnostic, Error, OptionError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import Options

__all__ = ["convert", "dataset"]

#: Maximum number of tasks that wait in Ray, so that a batch of any size needs little memory there.
_MAX_PENDING = 1000


def _import(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f'urdf_usd.ray needs Ray: pip install "ray[data]" ({error})') from error


def convert(
    sources: batch.Sources,
    output: str | os.PathLike[str],
    *,
    retry: bool = False,
    changed: bool = False,
    max_retries: int = 3,
    num_cpus: float = 1,
    **options: Unpack[Options],
) -> dict[str, Any]:
    """Converts robots as tasks of Ray, with the journal and the report of `urdf_usd batch`.

    Args:
        sources: The robots: descriptions, folders, patterns, and manifests.
        output: The folder of the batch.
        retry: Converts again what failed in an earlier run.
        changed: Converts again if a mesh or an included file has changed, too.
        max_retries: Maximum number of repetitions of a task whose worker or machine was lost.
        num_cpus: The processors that Ray reserves for a conversion.
        **options: The options of all conversions.

    Returns:
        The numbers of the batch, as `urdf_usd batch --json` prints them.

    Raises:
        OptionError: Arguments are wrong.
        Error: The sources name no robot; or Ray lost the workers of robots more often than `max_retries`, or assets could not be published. The
            report has all other robots, and the next call converts the rest.
    """
    ray = _import("ray")
    opened = batch.Batch(sources, output, retry=retry, changed=changed, **options)
    task = ray.remote(num_cpus=num_cpus, max_retries=max_retries)(batch.convert)
    waiting = iter(opened.tasks)
    pending: dict[Any, str] = {}
    faults: list[Diagnostic] = []
    try:
        while True:
            while len(pending) < _MAX_PENDING and (text := next(waiting, None)) is not None:
                pending[task.remote(text)] = text
            if not pending:
                break
            (ready,), _ = ray.wait(list(pending), num_returns=1)
            text = pending.pop(ready)
            try:
                row = ray.get(ready)
            except ray.exceptions.RayTaskError as error:
                if not isinstance(error.cause, Error) or isinstance(error.cause, OptionError):
                    raise
                faults.extend(error.cause.diagnostics)
            except ray.exceptions.RayError as error:
                reason = str(error).strip().partition("\n")[0]
                faults.append(Diagnostic("error", "command-failed", f"{json.loads(text)['robot']['key']}: {reason}"))
            else:
                opened.record(row)
    except BaseException:
        # Ctrl-C and a full disk, too: no result would be recorded.
        for running in pending:
            ray.cancel(running)
        with contextlib.suppress(Error):
            opened.finish()
        raise
    summary = opened.finish()
    if faults:
        raise Error(tuple(faults))
    return summary


def dataset(
    sources: batch.Sources,
    output: str | os.PathLike[str],
    *,
    retry: bool = False,
    changed: bool = False,
    num_cpus: float = 1,
    **options: Unpack[Options],
) -> Any:
    """Returns a `ray.data.Dataset` with the rows of the report; robots are converted as its rows are consumed.

    The rows are not recorded in the batch's journal: they are where the pipeline writes them. Robots that `convert` has recorded are left out.

    Args:
        sources: The robots: descriptions, folders, patterns, and manifests.
        output: The folder of the batch.
        retry: Converts again what failed in an earlier run.
        changed: Converts again if a mesh or an included file has changed, too.
        num_cpus: The processors that Ray reserves for a conversion.
        **options: The options of all conversions.
    """
    data = _import("ray.data")
    opened = batch.Batch(sources, output, retry=retry, changed=changed, **options)
    tasks = data.from_items([{"task": task} for task in opened.tasks])
    return tasks.map(_row, num_cpus=num_cpus)


def _row(item: dict[str, str]) -> dict[str, Any]:
    """Returns the row of a robot with the same fields for every robot, as a table needs them."""
    row = batch.convert(item["task"])
    row.pop("used", None)
    findings = [{"code": code, "count": count} for code, count in row["findings"].items()]
    return {"robot": None, "asset": None, "message": None} | row | {"findings": findings}
