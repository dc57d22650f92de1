"""Lists the joints of an asset in the Newton physics engine; run through worker.py, in the Python of `.test-env/nv`."""

import warnings

from newton_import import newton, wp
from pxr import Usd


def answer(entry):
    builder = newton.ModelBuilder()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        builder.add_usd(entry)
    with wp.ScopedDevice("cpu"):
        model = builder.finalize()
    stage = Usd.Stage.Open(entry)

    def name(path):
        """Returns the URDF name of a joint. Newton adds joints without a prim, such as that of a free base."""
        prim = stage.GetPrimAtPath(path)
        return prim.GetAttribute("ros:joint:name").Get() if prim else None

    starts = [int(x) for x in model.joint_qd_start.numpy()]
    types = model.joint_type.numpy()
    leaders, coefficients = model.joint_mimic_joint.numpy(), model.joint_mimic_coeffs.numpy()
    per_dof = {
        "friction": model.joint_friction, "damping": model.joint_damping, "velocity_limit": model.joint_velocity_limit,
        "lower": model.joint_limit_lower, "upper": model.joint_limit_upper,
    }  # fmt: skip
    per_dof = {key: [float(x) for x in values.numpy()] for key, values in per_dof.items()}
    joints = {}
    for index, path in enumerate(builder.joint_label):
        dofs = slice(starts[index], starts[index + 1])
        leader = int(leaders[index])
        joints[name(path) or path] = {
            "type": newton.JointType(types[index]).name,
            "leader": name(builder.joint_label[leader]) if leader >= 0 else None,
            "coefficients": [float(x) for x in coefficients[index]],
            **{key: values[dofs] for key, values in per_dof.items()},
        }
    return {"bodies": builder.body_count, "joints": joints, "warnings": [str(w.message) for w in told]}
