"""Arcs to classes that a prim has already by an ancestor, and other edits of lists, compose as in OpenUSD, and always end."""

import itertools
import json

import pytest
from conftest import run
from pxr import Usd

from test_bounds import run as run_bounded

HEADER = '#usda 1.0\n(\n    defaultPrim = "World"\n    metersPerUnit = 1\n    upAxis = "Z"\n{}\n)\n'
BODY = 'prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]'


def prim(name, arcs="", inside="", specifier="def Xform"):
    """Returns the text of a prim."""
    return f'{specifier} "{name}" (\n{arcs}\n)\n{{\n{inside}\n}}\n'


def over(name, arcs="", inside=""):
    return prim(name, arcs, inside, "over")


ROBOT = prim("Robot", BODY, "float physics:mass = 1\n" + prim("arm"))
ENV_0 = prim("env_0", "", ROBOT)
NESTED = prim("Robot", "inherits = </World/env_0/Robot>")
VARIANT = 'variants = {\nstring v = "a"\n}\nprepend variantSets = "v"'


def world(inside, arcs=""):
    return prim("World", arcs, inside)


#: Layers by name; the first one is opened.
CASES = {
    "one_layer": {"a": world(ENV_0 + prim("env_1", "inherits = </World/env_0>", NESTED))},
    "grid": {"a": world(ENV_0 + "".join(prim(f"env_{i}", "inherits = </World/env_0>", NESTED) for i in range(1, 5)))},
    "chain": {"a": world(ENV_0 + prim("env_1", "inherits = </World/env_0>") + prim("env_2", "inherits = </World/env_1>", NESTED))},
    "grandchild": {
        "a": world(
            ENV_0 + prim("env_1", "inherits = </World/env_0>", prim("Robot", "", prim("arm", "inherits = </World/env_0/Robot/arm>")))
        )
    },
    "reference": {"a": world(ENV_0 + prim("env_1", "references = </World/env_0>", NESTED))},
    "reference_of_chain": {
        "a": world(ENV_0 + prim("env_1", "references = </World/env_0>") + prim("env_2", "inherits = </World/env_1>", NESTED))
    },
    "sublayers": {
        "a": ("subLayers = [@b.usda@]", over("World", "", over("env_1", "", over("Robot", "inherits = </World/env_0/Robot>")))),
        "b": world(ENV_0 + prim("env_1", "inherits = </World/env_0>")),
    },
    "sublayers_twice": {
        "a": ("subLayers = [@b.usda@]", over("World", "", over("env_1", "", over("Robot", "inherits = </World/env_0/Robot>")))),
        "b": ("subLayers = [@c.usda@]", over("World", "", over("env_1", "inherits = </World/env_0>"))),
        "c": world(ENV_0 + prim("env_1")),
    },
    "over_a_reference": {
        "a": world(over("env_1", "", over("Robot", "inherits = </World/env_0/Robot>")), "references = @b.usda@</World>"),
        "b": world(ENV_0 + prim("env_1", "inherits = </World/env_0>")),
    },
    "over_a_payload": {
        "a": world(over("env_1", "", over("Robot", "specializes = </World/env_0/Robot>")), "payload = @b.usda@</World>"),
        "b": world(ENV_0 + prim("env_1", "inherits = </World/env_0>")),
    },
    "above_a_reference": {
        "a": world(over("env_1", "inherits = </World/env_0>"), "references = @b.usda@</World>"),
        "b": world(ENV_0 + prim("env_1", "", NESTED)),
    },
    "references_of_parts": {
        "a": world(
            prim("env_0", "references = @b.usda@</World/env_0>")
            + prim("env_1", "references = @b.usda@</World/env_1>", over("Robot", "inherits = </World/env_0/Robot>"))
        ),
        "b": world(ENV_0 + prim("env_1", "inherits = </World/env_0>")),
    },
    "used_before": {
        "a": prim("A", "inherits = </World/env_1/Robot>")
        + world(over("env_1", "", over("Robot", "inherits = </World/env_0/Robot>")), "payload = @b.usda@</World>"),
        "b": world(ENV_0 + prim("env_1", "inherits = </World/env_0>")),
    },
    "used_before_by_a_chain": {
        "a": prim("A", "references = </B>")
        + prim("B", "inherits = </World/env_1/Robot>")
        + world(over("env_1", "", over("Robot", "inherits = </World/env_0/Robot>")), "references = @b.usda@</World>"),
        "b": world(ENV_0 + prim("env_1", "inherits = </World/env_0>")),
    },
    "referenced_chain": {
        "a": world("", "references = @b.usda@</World>"),
        "b": world(ENV_0 + prim("env_1", "inherits = </World/env_0>") + prim("env_2", "inherits = </World/env_1>", NESTED)),
    },
    "inside_a_variant": {
        "a": world(
            ENV_0
            + prim(
                "env_1",
                f"inherits = </World/env_0>\n{VARIANT}",
                'variantSet "v" = {\n"a" {\n' + over("Robot", "inherits = </World/env_0/Robot>") + "}\n}",
            )
        )
    },
    "outside_of_a_variant": {
        "a": world(ENV_0 + prim("env_1", VARIANT, NESTED + 'variantSet "v" = {\n"a" (\ninherits = </World/env_0>\n) {\n}\n}'))
    },
}  # fmt: skip


def written(case, folder):
    for name, layer in CASES[case].items():
        metadata, text = layer if isinstance(layer, tuple) else ("", layer)
        (folder / f"{name}.usda").write_text(HEADER.format(metadata) + text)
    return folder / "a.usda"


@pytest.mark.parametrize("case", CASES)
def test_repeated_inherits_compose_as_in_openusd(case, tmp_path):
    entry = written(case, tmp_path)
    stage = Usd.Stage.Open(str(entry))
    links = [str(p.GetPath()) for p in stage.Traverse() if "/Robot" in str(p.GetPath())]
    assert len(links) >= 4
    run_bounded(["inspect"], entry)
    done = run("inspect", entry, "--json")
    assert done.returncode == 0, done.stderr
    assert sorted(link["path"] for link in json.loads(done.stdout)["links"]) == sorted(links)
    assert not stage.GetCompositionErrors() and "usd-read-not-composed" not in done.stderr, done.stderr


@pytest.mark.parametrize("case", ["chain", "over_a_payload", "sublayers"])
@pytest.mark.parametrize("command", ["check", "fix", "convert", "pose"])
def test_every_command_opens_them(command, case, tmp_path):
    entry = written(case, tmp_path)
    into = ["-o", tmp_path / "out"] if command in ("fix", "convert") else []
    output = run_bounded([command, *into], entry)
    assert "cannot be opened" not in output, output


def test_a_scene_of_many_copies_opens_in_time(tmp_path):
    copies = "".join(prim(f"env_{i}", "inherits = </World/env_0>") for i in range(1, 400))
    overs = "".join(over(f"env_{i}", "", over("Robot", "inherits = </World/env_0/Robot>")) for i in range(1, 400))
    (tmp_path / "b.usda").write_text(HEADER.format("") + world(ENV_0 + copies))
    for entry, text in (("stack", over("World", "", overs)), ("reference", world(overs, "references = @b.usda@</World>"))):
        metadata = "subLayers = [@b.usda@]" if entry == "stack" else ""
        (tmp_path / f"{entry}.usda").write_text(HEADER.format(metadata) + text)
        assert "400" in run_bounded(["inspect"], tmp_path / f"{entry}.usda")


@pytest.mark.parametrize(("delete", "add"), list(itertools.product(["a", "b", "ab"], ["prepend", "append", "add"])))
def test_deletes_come_before_additions(delete, add, tmp_path):
    names = {"a": "PhysicsRigidBodyAPI", "b": "PhysicsMassAPI"}
    deleted = ", ".join(f'"{names[letter]}"' for letter in delete)
    edits = f'delete apiSchemas = [{deleted}]\n{add} apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]'
    text = prim("World", edits, "float physics:mass = 2")
    entry = tmp_path / "a.usda"
    entry.write_text(HEADER.format("") + text)
    stage = Usd.Stage.Open(str(entry))
    schemas = stage.GetDefaultPrim().GetAppliedSchemas()
    done = run("inspect", entry, "--json")
    assert ("PhysicsRigidBodyAPI" in schemas) == (done.returncode == 0), done.stderr
    if done.returncode == 0:
        assert json.loads(done.stdout)["mass"] == 2
