"""The table robot × engine × check: every robot has the mass, holds its start and moves as Pinocchio computes from its URDF, in every engine.

Conftest prints the figures. Newton runs three robots and PhysX one, unless URDF_USD_SOAK is above one; XPBD runs only then.
"""

import functools

import pytest
from conftest import REAL_ROBOTS, SOAK, convert, marks_of, scratch, source
from prove.compare import ENTRIES, MAX_ERROR
from table import Subject
from test_urdf import peers
from worker import worker

#: An arm on a held base; a gripper with mimic joints; a quadruped with limits beside zero.
CHOSEN = ("ur_description", "robotiq_description", "aliengo_description")
#: Robots with a free base that start on their feet.
LEGGED = ("aliengo_description", "anymal_c_simple_description", "g1_description")
ROBOTS = {"mujoco": REAL_ROBOTS, "drake": REAL_ROBOTS, "newton": CHOSEN, "physx": CHOSEN[:1], "xpbd": ()}
#: Checks that fail by a fault of the engine, by engine and robot; faults/ shows each without this project.
FAULTS = {
    ("newton", "g1_description"): {"step", "mimic"},  # newton_mimic.py
    ("physx", "allegro_hand_description"): {"step"},  # physx_viscous_friction.py
    ("physx", "pr2_description"): {"step"},  # the same: 1.3 mm at a finger
    # newton_xpbd_nan.py: NaN
    ("xpbd", "anymal_c_simple_description"): {"hold"},
    ("xpbd", "g1_description"): {"hold", "mimic"},
    ("xpbd", "interbotix_xsarm_descriptions"): {"hold", "mimic"},
    ("xpbd", "minitaur_description"): {"hold"},
    ("xpbd", "robotiq_description"): {"hold", "mimic"},
    ("xpbd", "spot_description"): {"hold"},
    # newton_xpbd_swing.py: its joints give way.
    ("xpbd", "jaco_description"): {"hold"},
    ("xpbd", "synthetic_edge_cases"): {"hold", "mimic"},
    ("xpbd", "ur_description"): {"hold"},
}


@functools.cache
def subject(name):
    return Subject(convert(source(name), scratch(), "--formats", "usd,mjcf,sdf", "--overlays", "newton,physx", "--tiers", "high"))


def cells():
    for name in REAL_ROBOTS:
        for engine in ENTRIES:
            if SOAK > 1 or name in ROBOTS[engine]:
                yield pytest.param(name, engine, marks=marks_of(name), id=f"{name}-{engine}")


@pytest.mark.parametrize(("name", "engine"), [*cells()])
def test_robots_are_alike_in_every_engine(name, engine, record_property):
    figures = subject(name).figures(engine)
    record_property("engines", [name, engine, figures])
    wrong = {what: figure for what, figure in figures.items() if not figure[0] <= MAX_ERROR[what]}
    assert wrong.keys() == FAULTS.get((engine, name), set()), wrong


#: The lowest and highest position at the start: 0.7929 of the gripper's ros2_control, -0.646 of the limits of the calves.
STARTS = {"ur_description": (0, 0), "robotiq_description": (-0.7929, 0.7929), "aliengo_description": (-0.645772, 0)}


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks_of(name)) for name in STARTS])
def test_robots_start_as_described(name):
    start = subject(name).plan["start"].values()
    assert (min(start, default=0), max(start, default=0)) == pytest.approx(STARTS[name], abs=1e-4)


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks_of(name)) for name in LEGGED])
def test_robots_stand_on_their_legs(name):
    found, _ = worker(peers(), "urdf").ask("mujoco_stand", subject(name).entries["mujoco"])
    assert found["fall"] < 0.02 and found["upright"] > 0.99 and found["moved"] < 0.1, found
