"""The experiments of the table, with simulations in place of engines."""

import math

import pytest
from prove.compare import CHECKS, MAX_ERROR, compare
from prove.experiments import SAMPLES, run

STILL = {"hinge": 0.0, "follower": 0.0}
PLAN = {
    "joints": ["hinge"], "slides": [], "mimics": {"follower": ("hinge", 1.0, 0.0)}, "poses": [STILL, STILL], "limits": {"hinge": (-1.0, 1.0)},
    "start": STILL, "drives": {"hinge": (1.0, 0.0, None, 0.0)}, "loads": {"hinge": 0.0}, "swing": {"positions": STILL, "velocities": STILL},
    "step": {"positions": STILL, "targets": {}}, "masses": {"usd": {"mass": 1.0, "centres": [[0.0] * 3] * 2, "matrices": [[[1.0]]] * 2}},
    "swung": [STILL] * SAMPLES, "stepped": [STILL] * SAMPLES,
}  # fmt: skip


class Still:
    """A simulation in which nothing moves."""

    #: The count of readings of positions, and of mass matrices, that give NaN.
    nan_at = 0

    def __init__(self, entry, plan, **options):
        self.heard = []
        self.readings = self.matrices = 0

    def reset(self, positions, velocities):
        pass

    def aim(self, targets):
        pass

    def advance(self, seconds):
        pass

    def positions(self):
        self.readings += 1
        return dict.fromkeys(STILL, math.nan if self.readings == self.nan_at else 0.0)

    def mass(self):
        return 1.0

    def centre(self):
        return [0.0] * 3

    def mass_matrix(self, joints):
        self.matrices += 1
        return [[math.nan if self.matrices == self.nan_at else 1.0]]

    def touching(self):
        return 0


#: Checks that fail, by the count of the reading that gives NaN: positions at the end of the motions are the fifth.
@pytest.mark.parametrize(("nan_at", "failing"), [(0, set()), (2, {"matrix", "inertia", "mimic", "stop"}), (5, {"mimic", "stop", "swing", "step"})])
def test_nan_fails(nan_at, failing):
    simulation = type("Simulation", (Still,), {"nan_at": nan_at})
    figures = compare(PLAN, "physx", run(simulation, "", PLAN, CHECKS["physx"]))
    assert {check for check, (value, _) in figures.items() if not value <= MAX_ERROR[check]} == failing
