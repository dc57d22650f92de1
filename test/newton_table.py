"""Experiments with an asset in Newton; run through worker.py, in the Python of `.test-env/nv`."""

from prove.engine_newton import answer  # noqa: F401
