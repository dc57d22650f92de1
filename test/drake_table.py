"""Experiments with an SDF in Drake; run through worker.py, in a Python with test/requirements-drake.txt."""

from prove.engine_drake import answer  # noqa: F401
