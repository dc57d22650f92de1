"""This project's reading of the STL, OBJ and glTF files of test/meshes, compared with trimesh: bounds, area, triangles, materials, colours.

The expectations for each file are in the tests of crates/mesh/src/stl.rs, obj and gltf; this compares them with an independent
reader. A table lists the files that trimesh reads wrongly or not at all, with the reason and figures computed by hand.
"""

import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import trimesh

import test_meshes
from meshes import agrees, check_misread, linear

FOLDER = Path(__file__).resolve().parents[1] / "meshes"
FORMATS = ("stl", "obj", "gltf")
STATS = os.environ.get("URDF_USD_MESH_STATS")
ALL_FIGURES = json.loads(Path(STATS).read_text()) if STATS and Path(STATS).is_file() else {}
FIGURES = {
    Path(path).name: figures for path, figures in ALL_FIGURES.items() if any(Path(path).is_relative_to(FOLDER / kind) for kind in FORMATS)
}

#: Bounds of a rectangle of 2 by 1, horizontal and (in glTF, where y is up) vertical, and of the STL files with a perpendicular triangle.
LYING, STANDING = [[0, 0, 0], [2, 1, 0]], [[0, 0, 0], [2, 0, 1]]
STL = ([[0, 0, 0], [2, 1, 3]], 5, 3, 1)

#: Files that trimesh (4.x) reads wrongly: the fault, then the correct bounds, area, and numbers of triangles and used materials.
TRIMESH_IS_WRONG = {
    "ascii.stl": ("knows one case of letters and one solid", *STL),
    "too_few.stl": ("takes a wrong count for a text", *STL),
    "too_many.stl": ("takes a wrong count for a text", *STL),
    "mac.obj": ("knows no lines that end with CR alone", [[0, 0, 0], [2, 1, 0]], 1, 1, 1),
    "materials.obj": ("knows no material library whose name has a space", LYING, 6, 6, 5),
    "missing.obj": ("refuses a file with one bad index", [[0, 0, 0], [2, 1, 0]], 1, 1, 1),
    "polygons.obj": ("stumbles over a comment after numbers", [[0, 0, 0], [2, 2, 5]], 5, 6, 1),
    "weights.obj": ("drops the weights of vertices", LYING, 2, 2, 1),
    "colors.gltf": ("counts no material apart for what also has colours", STANDING, 12, 12, 4),
    "ext_meshopt.gltf": ("does not decompress", STANDING, 4, 4, 1),
    "khr_meshopt.gltf": ("does not decompress", STANDING, 4, 4, 1),
    "external.gltf": ("does not decode the names of files", STANDING, 2, 2, 1),
    "instances.gltf": ("knows no instances", [[0, -5, 6], [14, 0, 9]], 12, 6, 1),
    "modes.gltf": ("gives lines where surfaces are asked for", [[0, -1, 0], [2, 0, 1]], 4, 4, 1),
    "nodes.gltf": ("shows what is hidden", [[-3, -10, 0], [6, 0, 2]], 8, 4, 1),
    "sparse.gltf": ("drops sparse values", [[0, 0, 0], [2, 0, 5]], 6, 2, 1),
}
REFUSED = {"draco.gltf": "mesh-unsupported"}

pytestmark = pytest.mark.skipif(not FIGURES, reason="URDF_USD_MESH_STATS is not a file of figures (the example mesh_figures writes it)")


@pytest.fixture(autouse=True)
def quiet():
    """Silences the warnings of trimesh about unreadable parts."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def path_of(name):
    (found,) = (path for kind in FORMATS for path in (FOLDER / kind).glob(name))
    return found


def test_every_file_is_read_or_rejected():
    files = {path.name for kind in FORMATS for path in (FOLDER / kind).iterdir() if path.suffix in (".stl", ".obj", ".gltf", ".glb")}
    assert set(FIGURES) == files
    assert {name: figures["error"] for name, figures in FIGURES.items() if "error" in figures} == REFUSED


@pytest.mark.parametrize("name", sorted(set(FIGURES) - set(TRIMESH_IS_WRONG) - set(REFUSED)) or ["no file"])
def test_as_trimesh_reads_it(name):
    low, high, area, count, materials = test_meshes.measured(path_of(name))
    assert agrees(FIGURES[name], low, high, area, count, len(materials)), (FIGURES[name], low, high, area, count, materials)


@pytest.mark.parametrize("name", sorted(TRIMESH_IS_WRONG))
def test_files_that_trimesh_reads_wrongly(name):
    check_misread(FIGURES[name], TRIMESH_IS_WRONG[name], lambda: test_meshes.measured(path_of(name)), "trimesh")


def rounded(colors):
    """Returns a set of colours, rounded to trimesh's eight bits."""
    return sorted({tuple(round(float(c), 2) for c in color) for color in colors})


@pytest.mark.parametrize("name", ["colors.obj", "colors255.obj"])
def test_colors_of_obj(name):
    given = np.array([line.split()[4:] for line in path_of(name).read_text().splitlines() if line.startswith("v ")], dtype=object)
    colors = [np.array(row, dtype=float) / (255 if "255" in name else 1) for row in given if len(row) > 2]
    expected = [[*linear(color), color[3] if len(color) > 3 else 1] for color in colors]
    white = [[1, 1, 1, 1]] if name == "colors.obj" else []
    assert rounded(FIGURES[name]["colors"]) == rounded(expected + white)


def test_colors_of_gltf():
    parts = trimesh.load(path_of("colors.gltf"), process=False).dump(concatenate=False)
    (bare,) = (part for part in parts if part.visual.kind == "vertex")
    ours = {tuple(np.round(color, 2)) for color in FIGURES["colors.gltf"]["colors"]}
    assert {tuple(np.round(color / 255, 2)) for color in bare.visual.vertex_colors} <= ours


def test_materials_of_gltf():
    parts = trimesh.load(path_of("materials.gltf"), process=False).dump(concatenate=False)
    theirs = {part.visual.material.name: part.visual.material.baseColorFactor for part in parts}
    ours = {material["name"]: material["base_color"] for material in FIGURES["materials.gltf"]["materials"]}
    assert set(ours) == set(theirs)
    for name in ("metal", "sign", "glass"):
        np.testing.assert_allclose(ours[name][:3], np.asarray(theirs[name])[:3] / 255, atol=0.5 / 255 + 1e-6, err_msg=name)
    assert (ours["metal"][3], ours["glass"][3], ours["leaf"][3], ours["stem"][3]) == (1, 0.25, 0, 1)


def test_the_files_equal_the_output_of_their_script(tmp_path):
    """The script writes the same bytes into another folder."""
    for kind in ("stl", "obj/sub", "gltf"):
        (tmp_path / kind).mkdir(parents=True)
    script = tmp_path / "make.py"
    script.write_text((FOLDER / "make.py").read_text())
    subprocess.run([sys.executable, script], check=True)
    made = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert len(made) > 25
    assert [str(path) for path, data in made.items() if (FOLDER / path).read_bytes() != data] == []
