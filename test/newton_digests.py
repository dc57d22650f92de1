"""Hashes the models of assets in the Newton physics engine; run through worker.py, in the Python of `.test-env/nv`."""

import hashlib

import numpy as np
from newton_import import load, wp

#: Identities of objects, which differ in each run.
SKIPPED = ("uid", "shape_source_ptr")


def answer(*entries):
    """Returns for each asset the error of Newton, or a hash of its model."""
    found = []
    for entry in entries:
        try:
            builder, model, _ = load(entry)
        except Exception as error:  # noqa: BLE001 - Newton raises several kinds
            found.append([str(error), None])
            continue
        values = {name: value.numpy() for name, value in vars(model).items() if isinstance(value, wp.array) and name not in SKIPPED}
        values["pairs"] = np.array(sorted(builder.shape_collision_filter_pairs))
        # Constraints that only some of its solvers read.
        values |= {f"mujoco.{name}": value.numpy() for name, value in vars(getattr(model, "mujoco", None) or object).items() if isinstance(value, wp.array)}
        parts = [f"{name}{value.shape}".encode() + value.tobytes() for name, value in sorted(values.items())]
        found.append([None, hashlib.sha256(b"".join(parts)).hexdigest()])
    return found
