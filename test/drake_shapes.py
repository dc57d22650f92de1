"""Loads a URDF or an SDF with its mesh files in Drake; run through worker.py, in a Python with test/requirements-drake.txt."""

import logging

from pydrake.geometry import Role
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import AddMultibodyPlantSceneGraph
from pydrake.systems.framework import DiagramBuilder

WARNED = []
handler = logging.Handler(logging.WARNING)
handler.emit = lambda record: WARNED.append(record.getMessage())
logging.getLogger("drake").addHandler(handler)


def answer(path):
    """Returns the numbers of colliders and visuals, and Drake's warnings. Colliders without a convex hull are errors."""
    WARNED.clear()
    plant, scene = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.001)
    Parser(plant).AddModels(path)
    plant.Finalize()
    count = scene.model_inspector().NumGeometriesWithRole
    return {"collisions": count(Role.kProximity), "visuals": count(Role.kIllustration), "warnings": list(WARNED)}
