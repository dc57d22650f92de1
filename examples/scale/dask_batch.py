#!/usr/bin/env python3
"""Converts robots on a Dask cluster, with the journal and the report of `urdf_usd batch`.

    python dask_batch.py SOURCES OUTPUT [SCHEDULER]

Without the address of a scheduler, Dask starts a cluster on this machine. Needs `pip install "dask[distributed]"` beside urdf_usd.
"""

import sys

import urdf_usd.batch
from dask.distributed import Client, as_completed


def main():
    sources, output, *scheduler = sys.argv[1:]
    batch = urdf_usd.batch.Batch(sources, output, formats=["usd"])
    print(f"{len(batch.tasks)} robots to convert, {batch.done} were converted before")
    with Client(*scheduler) as client:
        # A robot whose worker is lost three times stays open for the next run.
        futures = client.map(urdf_usd.batch.convert, batch.tasks, retries=3)
        for future in as_completed(futures):
            if future.status == "finished":
                batch.record(future.result())
            else:
                print(future.exception(), file=sys.stderr)
    summary = batch.finish()
    print(", ".join(f"{count} {status}" for status, count in summary["status"].items()), f"and {summary['open']} open")
    return int(summary["open"] > 0 or not summary["status"].keys() <= {"ok", "warnings"})


if __name__ == "__main__":
    sys.exit(main())
