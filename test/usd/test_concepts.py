"""docs/mapping.md: every concept of the URDF to USD mapping is in its table, with properties that are authored there and a test."""

import functools
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from pxr import Sdf

from conftest import CORNER_ROBOTS, SAMPLE_ROBOTS

TESTS = Path(__file__).resolve().parents[1]
DOCUMENT = TESTS.parent / "docs" / "mapping.md"

#: Every row of the mapping's tables, the requirements of its appendices, and colours, which it lacks. The mapping is not part of the repository.
CONCEPTS = """
URDF file | mesh files | in-memory stage | image files
unit: up axis | unit: length | unit: mass | unit: angle | unit: time | unit: force | unit: torque | unit: velocity
robot | robot/name
link | link/name | link: anchor point | link: world | link: nested | link: flat | link: articulation root
link/inertial | link/inertial: absent | link/inertial/origin | link/inertial/origin/xyz | link/inertial/origin/rpy | link/inertial/mass | link/inertial/inertia
link/visual | link/visual/name | link/visual/origin | link/visual/geometry | link/visual/material | link/visual/material/name
link/collision | link/collision/name | link/collision/origin | link/collision/geometry | link/collision: purpose | link/collision: mesh
geometry | geometry/box | geometry/box/size | geometry/cylinder | geometry/cylinder/radius | geometry/cylinder/length
geometry/sphere | geometry/sphere/radius | geometry/capsule
geometry/mesh | geometry/mesh/filename | geometry/mesh/scale | geometry/mesh: topology | geometry/mesh: handedness | geometry/mesh: texture coordinates | geometry/mesh: colours of vertices and facets
material | material/name | material/color | material/color/rgba | material: colour space | material: texture interaction
material/texture | material/texture/filename | material: mesh textures | material: projection textures | material: colours of vertices and facets | material: embedded | material: MaterialX
joint | joint/name | joint/type | joint/type: revolute | joint/type: continuous | joint/type: prismatic | joint/type: fixed | joint/type: floating | joint/type: planar
joint/parent | joint/child | joint/origin | joint/origin/xyz | joint/origin/rpy | joint/axis | joint/axis/xyz | joint: loop
joint/limit | joint/limit/lower | joint/limit/upper | joint/limit/velocity | joint/limit/effort
joint/calibration | joint/calibration/rising | joint/calibration/falling
joint/dynamics | joint/dynamics/damping | joint/dynamics/friction
joint/safety_controller | joint/safety_controller/soft_lower_limit | joint/safety_controller/soft_upper_limit | joint/safety_controller/k_position | joint/safety_controller/k_velocity
joint/mimic | joint/mimic/joint | joint/mimic/multiplier | joint/mimic/offset
transmission | transmission/name | transmission/type | transmission/joint | transmission/joint/name | transmission/joint/hardwareInterface
transmission/actuator | transmission/actuator/name | transmission/actuator/mechanicalReduction | transmission/actuator/hardwareInterface
gazebo | sensor | package URI
asset: geometry library | asset: material library | asset: textures | asset: geometry layer | asset: materials layer | asset: physics layer | asset: contents layer | asset: interface
name: encoding | name: collisions | custom attribute | custom element | custom element: nested | custom element: namespaced
"""
EXPECTED = [concept.strip() for line in CONCEPTS.strip().splitlines() for concept in line.split("|")]


@dataclass(frozen=True)
class Row:
    concept: str
    what: str
    properties: tuple  # the notation is described in docs/mapping.md
    layer: str
    example: str  # a robot and a prim's path
    test: str


def _rows():
    out = []
    for line in DOCUMENT.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if line.startswith("| ") and len(cells) == 6 and cells[0] != "URDF":
            concept, what, properties, layer, example, test = cells
            out.append(Row(concept, what, tuple(re.findall(r"`([^`]+)`", properties)), layer.strip("`"), example.strip("`"), test.strip("`")))
    return out


ROWS = _rows()
AUTHORED = [row for row in ROWS if row.properties]


def test_every_concept_has_its_row():
    assert [row.concept for row in ROWS] == EXPECTED


@functools.cache
def _tests(module):
    path = next(TESTS.glob(f"*/{module}.py"), TESTS / f"{module}.py")
    return set(re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)) if path.is_file() else set()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.concept)
def test_the_named_test_exists(row):
    module, _, name = row.test.partition("::")
    assert name in _tests(module), f"{row.concept}: {row.test} does not exist"


def test_every_row_names_a_result():
    for row in ROWS:
        assert row.what, row.concept
        assert bool(row.properties) == bool(row.example), f"{row.concept}: properties and an example belong together"


#: Metadata of a prim, by the terms of the table.
METADATA = {"displayName", "kind", "assetInfo", "payload", "references", "instanceable", "variantSetNames"}
#: Metadata of a layer.
OF_LAYERS = {"upAxis", "metersPerUnit", "kilogramsPerUnit", "timeCodesPerSecond", "defaultPrim", "subLayers"}


def _is_authored(layer, prim, what):
    if what == "subLayers":
        return bool(layer.subLayerPaths)
    if what in OF_LAYERS:
        return layer.pseudoRoot.HasInfo(what)
    assert prim, "no such prim in the layer"
    if what.startswith("def "):
        return prim.specifier == Sdf.SpecifierDef and prim.typeName == what.removeprefix("def ")
    if re.fullmatch(r"\w+API(:\w+)?", what):
        return prim.HasInfo("apiSchemas") and what in prim.GetInfo("apiSchemas").GetAppliedItems()
    if what in METADATA:
        return prim.HasInfo(what)
    return what in prim.properties


@pytest.mark.parametrize("row", AUTHORED, ids=lambda row: row.concept)
def test_named_properties_are_authored(row, conversions):
    """Checks the layer that the table names, on the prim of its example."""
    robot, path = row.example.split(" ", 1)
    assert robot in CORNER_ROBOTS + SAMPLE_ROBOTS, f"{robot} is not a robot of the repository"
    converted = conversions(robot)
    name = converted.entry.name if row.layer == "NAME.usda" else row.layer
    layer = Sdf.Layer.FindOrOpen(str(converted.directory / name))
    assert layer, f"{name} is missing"
    prim = layer.GetPrimAtPath(path) if path != "/" else layer.pseudoRoot
    missing = [what for what in row.properties if not _is_authored(layer, prim, what)]
    assert missing == [], f"{row.concept}: {path} in {name}"
