"""Imports an asset into the Newton physics engine; run through worker.py, in the Python of `.test-env/nv`."""

import numpy as np
from prove.engine_newton import load, newton, wp


def describe(entry):
    """Describes the whole model."""
    builder, model, warned = load(entry)
    get = lambda name: getattr(model, name).numpy() if getattr(model, name) is not None else np.zeros(0)
    parents, children, starts = get("joint_parent"), get("joint_child"), get("joint_qd_start")
    kinds, anchors0, anchors1 = get("joint_type"), get("joint_X_p"), get("joint_X_c")
    axes, lower, upper = get("joint_axis"), get("joint_limit_lower"), get("joint_limit_upper")
    gains = {name: get(f"joint_{name}") for name in ("target_ke", "target_kd", "effort_limit")}
    articulations = get("articulation_start").tolist()
    joints = []
    for i in range(model.joint_count):
        freedom = slice(int(starts[i]), int(starts[i + 1]))
        turn = wp.quat(*[float(v) for v in anchors1[i][3:]])
        joints.append({
            "path": builder.joint_label[i],
            "kind": newton.JointType(int(kinds[i])).name,
            "parent": builder.body_label[parents[i]] if parents[i] >= 0 else None,
            "child": builder.body_label[children[i]],
            "in_parent": anchors0[i].tolist(),
            "in_child": anchors1[i].tolist(),
            #: In the child's frame.
            "axes": [[float(v) for v in wp.quat_rotate(turn, wp.vec3(*[float(v) for v in axis]))] for axis in axes[freedom]],
            "limits": np.stack([lower[freedom], upper[freedom]], axis=-1).tolist(),
            "articulation": sum(i >= start for start in articulations[:-1]) - 1 if len(articulations) > 1 else None,
            **{name: values[freedom].tolist() for name, values in gains.items()},
        })  # fmt: skip
    masses, centres, tensors, places = get("body_mass"), get("body_com"), get("body_inertia"), get("body_q")
    bodies = [
        {"path": path, "mass": float(masses[i]), "centre": centres[i].tolist(), "inertia": tensors[i].tolist(), "at": places[i].tolist()}
        for i, path in enumerate(builder.body_label)
    ]
    owner = get("shape_body")
    body_of = lambda shape: builder.body_label[owner[shape]] if owner[shape] >= 0 else None
    flags = get("shape_flags")
    shapes = [
        {
            "path": path, "body": body_of(i), "kind": newton.GeoType(int(get("shape_type")[i])).name,
            "collides": bool(flags[i] & int(newton.ShapeFlags.COLLIDE_SHAPES)), "friction": float(get("shape_material_mu")[i]),
            "corners": len(getattr(builder.shape_source[i], "vertices", ())),
        }
        for i, path in enumerate(builder.shape_label)
    ]  # fmt: skip
    return {
        "bodies": bodies,
        "joints": joints,
        "shapes": shapes,
        "articulations": model.articulation_count,
        "filtered": sorted({tuple(sorted((builder.shape_label[a], builder.shape_label[b]))) for a, b in builder.shape_collision_filter_pairs}),
        "warnings": warned,
    }


def swing(entry, seconds, step=1e-3):
    """Simulates with Featherstone's method, and returns the centre of mass of every body over time."""
    builder, model, _ = load(entry)
    solver = newton.solvers.SolverFeatherstone(model, angular_damping=0.0)
    state, following, control = model.state(), model.state(), model.control()
    newton.eval_fk(model, model.joint_q, model.joint_qd, state)
    times, positions, coordinates = [], [], []
    for index in range(int(seconds / step) + 1):
        if index % 5 == 0:
            poses = state.body_q.numpy()
            centres = model.body_com.numpy()
            times.append(index * step)
            positions.append([[float(v) for v in wp.transform_point(wp.transform(*pose), wp.vec3(*centre))] for pose, centre in zip(poses, centres)])
            coordinates.append(state.joint_q.numpy().tolist())
        state.clear_forces()
        solver.step(state, following, control, None, step)
        state, following = following, state
    return {"bodies": list(builder.body_label), "joints": list(builder.joint_label), "times": times, "centres": positions, "positions": coordinates}


def drop(entry, seconds, step=5e-3):
    """Returns the first and last poses of the bodies under gravity alone: without collisions, drives and limits, which the initial
    positions may violate."""
    builder, model, _ = load(entry)
    for name in ("joint_limit_ke", "joint_limit_kd", "joint_target_ke", "joint_target_kd"):
        getattr(model, name).zero_()
    solver = newton.solvers.SolverFeatherstone(model, angular_damping=0.0)
    state, following, control = model.state(), model.state(), model.control()
    newton.eval_fk(model, model.joint_q, model.joint_qd, state)
    first = state.body_q.numpy().tolist()
    for _ in range(round(seconds / step)):
        state.clear_forces()
        solver.step(state, following, control, None, step)
        state, following = following, state
    return {path: poses for path, *poses in zip(builder.body_label, first, state.body_q.numpy().tolist())}


def answer(what, entry, *arguments):
    return {"describe": describe, "drop": drop, "swing": swing}[what](entry, *arguments)
