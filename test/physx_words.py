"""Reads the passive behaviour of joints in PhysX; run through worker.py, in the Python of `.test-env/physx`."""

import numpy as np
from ovphysx.types import TensorType
from physx_hold import load

NAMES = ("ARMATURE", "MAX_VELOCITY", "FRICTION_PROPERTIES")


def answer(entry):
    """Returns armature, maximum speed and (static, dynamic, viscous) friction of all degrees of freedom."""
    physx, pattern, _ = load(entry)
    found = []
    for name in NAMES:
        binding = physx.create_tensor_binding(pattern=pattern, tensor_type=getattr(TensorType, f"ARTICULATION_DOF_{name}"))
        values = np.zeros(binding.shape, dtype=np.float32)
        binding.read(values)
        found.append(values.reshape(-1, 3 if name == "FRICTION_PROPERTIES" else 1).tolist())
    return found
