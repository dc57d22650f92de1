"""Experiments with an asset in PhysX; run through worker.py, in the Python of `.test-env/physx`."""

from prove.engine_physx import answer  # noqa: F401
