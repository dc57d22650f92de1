"""Builds the wheel with maturin, with arguments that pyproject.toml has no field for."""

import os

# The crate openusd 0.8.0 declares a newer Rust than it needs.
os.environ["MATURIN_PEP517_ARGS"] = f"{os.environ.get('MATURIN_PEP517_ARGS', '')} --ignore-rust-version".strip()

from maturin import *  # noqa: E402, F403
