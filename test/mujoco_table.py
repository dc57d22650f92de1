"""Experiments with an MJCF in MuJoCo; run through worker.py, in the Python of `.test-env/urdf`."""

from prove.engine_mujoco import answer  # noqa: F401
