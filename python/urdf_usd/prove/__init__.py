"""Proves that a robot is the same in every engine: `python -m urdf_usd.prove arm.urdf`.

>>> from urdf_usd.prove import prove
>>> table = prove("arm.urdf")
>>> table.ok, table.rows["mujoco"].figures["hold"]
(True, Figure(value=0.0004, largest=0.1, joint='elbow'))

Each engine that is installed loads the robot in a process, and its masses and motions are compared with this program's. docs/guides/prove.md
explains the checks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._prove import Figure, Row, Table, prove

__all__ = ["Figure", "Row", "Table", "prove"]


def __getattr__(name: str) -> object:
    # Engines import modules of this folder in a Python without the rest of the package.
    if name in __all__:
        from . import _prove

        return getattr(_prove, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
