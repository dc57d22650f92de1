"""Experiments with a robot that every engine runs alike.

An engine offers a class `Simulation(entry, plan, **options)`, which loads an asset with its base held:

- `drives`, `limits`, `contacts`, `friction`: whether these act; `gravity`: m/s²;
- `names`: the URDF's names of joints whose name differs in the asset;
- `reset(positions, velocities)`, `positions()`, `velocities()`: by joint, for joints with one degree of freedom;
- `mass()`, `centre()`, `mass_matrix(joints)`: of the present state;
- `aim(targets)`, `advance(seconds)`, `touching()`: the number of contacts;
- `heard`: warnings of the engine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

#: A robot's experiments, and what the reference expects of them (reference.py).
Plan = dict[str, Any]
#: Positions by joint, rad or m.
Positions = dict[str, float]

#: Duration of the hold, the motions and the collision with limits, s.
HOLD, MOTION, STOP = 1.0, 0.5, 0.3
#: Times at which motions are compared, s.
SAMPLES = 5
#: Distance from the limit at the start, and speed towards it: rad, or a tenth in m.
APPROACH, SPEED = 0.05, 1.0
#: Gravity, m/s².
GRAVITY = 9.81
#: Gravity of the free swing, m/s²: with more of it, fingers of a few grams turn so fast within half a second that the step of an engine
#: decides where they are.
WEAK = 1.0


def largest(numbers: Iterable[float], default: float = 0.0) -> float:
    """Returns the largest number, or NaN if there is one: `max` ignores a NaN that is not the first number."""
    found = list(numbers)
    return math.nan if any(map(math.isnan, found)) else max(found, default=default)


def run(simulation: Callable[..., Any], entry: str, plan: Plan, checks: list[str]) -> dict[str, Any]:
    """Returns the results of the checks (keys of `CHECKS`) for an asset. `plan` is that of reference.py."""
    return {check: CHECKS[check](simulation, entry, plan) for check in checks}


def _mass(simulation: Callable[..., Any], entry: str, plan: Plan) -> dict[str, Any]:
    """Returns the mass, and the centre of mass and the mass matrix of each pose."""
    sim = simulation(entry, plan, drives=False, limits=False, contacts=False)
    found: dict[str, Any] = {"mass": sim.mass(), "centres": [], "matrices": []}
    for pose in plan["poses"]:
        sim.reset(pose, {})
        found["centres"].append(sim.centre())
        found["matrices"].append(sim.mass_matrix(plan["joints"]))
    return found


def _hold(simulation: Callable[..., Any], entry: str, plan: Plan) -> dict[str, Any]:
    """Returns the start, the distance that each joint moves in a second as converted, the contacts at the start and warnings."""
    sim = simulation(entry, plan)
    start = sim.positions()
    touching = sim.touching()
    worst = 0.0
    for _ in range(10):
        sim.advance(HOLD / 10)
        worst = largest((worst, _mimic_error(plan, sim.positions())))
    end = sim.positions()
    moved = {name: end[name] - start[name] for name in start}
    return {"start": start, "moved": moved, "contacts": touching, "mimic": worst, "heard": sim.heard}


def _swing(simulation: Callable[..., Any], entry: str, plan: Plan) -> dict[str, Any]:
    sim = simulation(entry, plan, drives=False, limits=False, contacts=False, friction=False, gravity=WEAK)
    sim.reset(plan["swing"]["positions"], plan["swing"]["velocities"])
    return _motion(sim, plan)


def _step(simulation: Callable[..., Any], entry: str, plan: Plan) -> dict[str, Any]:
    sim = simulation(entry, plan, limits=False, contacts=False, friction=False)
    sim.reset(plan["step"]["positions"], {})
    sim.aim(plan["step"]["targets"])
    return _motion(sim, plan)


def _motion(sim: Any, plan: Plan) -> dict[str, Any]:
    samples: list[Positions] = []
    worst = 0.0
    for _ in range(SAMPLES):
        sim.advance(MOTION / SAMPLES)
        samples.append(sim.positions())
        worst = largest((worst, _mimic_error(plan, samples[-1])))
    return {"samples": samples, "mimic": worst}


def _stop(simulation: Callable[..., Any], entry: str, plan: Plan) -> dict[str, Any]:
    """Returns the largest distance beyond a limit of joints that are thrown at it, for both sides."""
    beyond: Positions = {}
    for side in (0, 1):
        sim = simulation(entry, plan, drives=False, contacts=False, gravity=0.0)
        positions: Positions = dict(plan["start"])
        velocities: Positions = {}
        sign = 2 * side - 1
        for name, limits in plan["limits"].items():
            unit = 0.1 if name in plan["slides"] else 1.0
            positions[name] = limits[side] - sign * min(APPROACH * unit, 0.5 * (limits[1] - limits[0]))
            velocities[name] = sign * SPEED * unit
        for name, (leader, factor, offset) in plan["mimics"].items():
            positions[name] = factor * positions[leader] + offset
            velocities[name] = factor * velocities.get(leader, 0.0)
        sim.reset(positions, velocities)
        furthest = dict.fromkeys(plan["limits"], -math.inf)
        for _ in range(60):
            sim.advance(STOP / 60)
            at = sim.positions()
            for name, limits in plan["limits"].items():
                furthest[name] = largest((furthest[name], sign * (at[name] - limits[side])))
        for name, by in furthest.items():
            beyond[name] = largest((beyond.get(name, -math.inf), by))
    return {"beyond": beyond}


def _mimic_error(plan: Plan, at: Positions) -> float:
    """Returns the largest difference of a follower from its leader's position."""
    errors = [abs(at[name] - (factor * at[leader] + offset)) for name, (leader, factor, offset) in plan["mimics"].items() if name in at and leader in at]
    return largest(errors)


CHECKS = {"mass": _mass, "hold": _hold, "swing": _swing, "step": _step, "stop": _stop}
