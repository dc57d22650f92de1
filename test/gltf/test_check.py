"""`urdf_usd check` and the JSON schema of EXT_robot_kinematics: our files pass both; files with one fault each get
its code. An independent validator also applies the schema."""

import copy
import json
import os
import re
import subprocess
from random import Random

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

import conftest
from conftest import run
from glb_file import Glb, turn

EXTENSION = "EXT_robot_kinematics"
FOLDER = conftest.ROOT / "docs" / EXTENSION
SCHEMAS = {path.name: json.loads(path.read_text()) for path in sorted((FOLDER / "schema").glob("*.schema.json"))}
SAMPLER = json.loads((FOLDER / "test" / "sampler.gltf").read_text())
BROKEN = json.loads((FOLDER / "test" / "broken.json").read_text())
EXAMPLES = sorted((FOLDER / "examples").glob("*.gl*"))


def schema():
    registry = Registry().with_resources((name, Resource.from_contents(content)) for name, content in SCHEMAS.items())
    return Draft202012Validator(SCHEMAS[f"{EXTENSION}.schema.json"], registry=registry)


def refusals(document):
    return [f"{error.json_path}: {error.message}" for error in schema().iter_errors(document["extensions"][EXTENSION])]


def patched(document, operations):
    """The document after a JSON patch (RFC 6902: add, replace, remove)."""
    out = copy.deepcopy(document)
    for operation in operations:
        *way, last = [step.replace("~1", "/").replace("~0", "~") for step in operation["path"].split("/")[1:]]
        at = out
        for step in way:
            at = at[int(step)] if isinstance(at, list) else at[step]
        if isinstance(at, list):
            last = len(at) if last == "-" else int(last)
        if operation["op"] == "remove":
            del at[last]
        elif isinstance(at, list) and operation["op"] == "add":
            at.insert(last, operation["value"])
        else:
            assert (operation["op"] == "add") != (last in at if isinstance(at, dict) else True), operation
            at[last] = operation["value"]
    return out


def at(document, pointer):
    for step in pointer.split("/")[1:]:
        document = document[int(step)] if isinstance(document, list) else document[step.replace("~1", "/").replace("~0", "~")]
    return document


def check(file, *options, code=None):
    """Runs `check` on a file, and returns its findings as JSON."""
    done = run("check", file, "--format", "json", *options)
    assert "panicked" not in done.stderr and done.stderr == "", done.stderr
    said = json.loads(done.stdout)
    errors = said["counts"]["error"]
    assert done.returncode == (1 if errors else 0)
    assert code is None or done.returncode == code, done.stdout
    return said


@pytest.fixture
def written(tmp_path):
    """Returns a function that writes a document to a file."""

    def write(document, name="robot.gltf", indent=1):
        file = tmp_path / name
        file.write_text(json.dumps(document, indent=indent, ensure_ascii=False), encoding="utf-8")
        return file

    return write


# ---- Valid files --------------------------------------------------------------------------------------------------------------


def test_our_files_are_clean(converted):
    said = check(converted.glb, code=0)
    assert said["diagnostics"] == [] and said["counts"] == {"error": 0, "warning": 0, "info": 0}
    assert refusals(Glb(converted.glb).json) == []


@pytest.mark.parametrize(
    "options",
    [("--gltf-animations",), ("--gltf-physics",), ("--gltf-compression", "quantize"), ("--gltf-compression", "meshopt"), ("--formats", "gltf"), ("--gltf-date",)],
    ids=" ".join,
)
@pytest.mark.parametrize("robot", ["sample_arm", "sample_rover", "mimics", "several_roots"])
def test_our_files_are_clean_with_every_option(robot, options, tmp_path):
    if "--formats" not in options:
        options = ("--formats", "glb", *options)
    made = conftest.convert(conftest.source(robot), tmp_path, *options)
    file = made.glb if made.glb.exists() else made.glb.with_suffix(".gltf")
    assert check(file, code=0)["diagnostics"] == []
    assert refusals(Glb(file).json if file.suffix == ".glb" else json.loads(file.read_text())) == []


def test_the_schemas_are_schemas():
    for name, content in SCHEMAS.items():
        Draft202012Validator.check_schema(content)
        assert content["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        assert content["$id"] == name


@pytest.mark.parametrize("file", [*EXAMPLES, FOLDER / "test" / "sampler.gltf"], ids=lambda file: file.name)
def test_examples(file):
    assert check(file, code=0)["diagnostics"] == []
    assert refusals(json.loads(file.read_text())) == []
    (issues,) = conftest.gltf_issues(file).values()
    assert [issue for issue in issues if issue["code"] != "UNSUPPORTED_EXTENSION"] == []


# ---- Broken files -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case["name"])
def test_each_fault_has_its_code(case, written):
    said = check(written(patched(SAMPLER, case["patch"])))
    found = said["diagnostics"]
    wanted = [d for d in found if d["code"] == case["code"] and d["where"].get("element", "") == case["at"]]
    assert wanted, f"{case['code']} at {case['at']!r} is not among\n" + json.dumps(found, indent=1)
    assert len(wanted) == 1
    others = {d["code"] for d in found if d is not wanted[0]}
    assert others <= set(case.get("also", ())), json.dumps(found, indent=1)
    assert set(case.get("also", ())) <= others, "listed codes that were not found"
    assert all(d["message"] and d["help"] for d in found)


@pytest.mark.parametrize("case", [c for c in BROKEN if "/extensions/EXT_robot" in c["at"] or "/nodes" in c["at"]], ids=lambda case: case["name"])
def test_an_independent_validator_rejects_schema_violations(case):
    assert bool(refusals(patched(SAMPLER, case["patch"]))) == case["refused_by_schema"]


def places(value, way=()):
    """Yields the paths of all values in a document, except the document itself."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*way, key)
        yield from places(item, (*way, key))


ODD = [None, True, -1, 0, 0.5, 1.0, 1e300, "", "odd", "sha256:0f", "2026-01-02T03:04:05Z", [], {}, [[], {}], {"": 1}, [0, 0, 0], [0] * 7]
NAMES = ["odd", "extras", "extensions", "mimic", "name", "uri", "hash", "resolvedAt", "format", "", "~/"]


@pytest.mark.parametrize("seed", range(60))
def test_the_schema_is_applied_as_by_an_independent_validator(seed, written):
    """For documents with random edits: violations of the schema are errors, and `kinematics-schema` is reported only for them."""
    random = Random(seed)
    document = copy.deepcopy(SAMPLER)
    for _ in range(random.randint(1, 3)):
        extension = document["extensions"][EXTENSION]
        *way, last = random.choice(list(places(extension)) or [("models",)])
        above = extension
        for step in way:
            above = above[step]
        value = above.get(last) if isinstance(above, dict) else above[last]
        match random.choice(["remove", "replace", "add"]):
            case "add" if isinstance(value, dict):
                value[random.choice(NAMES)] = copy.deepcopy(random.choice(ODD))
            case "remove" if value is not None:
                del above[last]
            case _:
                above[last] = copy.deepcopy(random.choice(ODD))
    steps = [["extensions", EXTENSION, *error.absolute_path] for error in schema().iter_errors(document["extensions"][EXTENSION])]
    refused = {"".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in way) for way in steps}
    found = check(written(document))["diagnostics"]
    assert not refused or any(d["severity"] == "error" for d in found)
    assert {d["where"]["element"] for d in found if d["code"] == "kinematics-schema"} <= refused


def test_a_finding_has_the_line_and_column_of_its_value(written):
    """For every case, in three layouts of the text."""
    for case in BROKEN:
        document = patched(SAMPLER, case["patch"])
        for indent in (None, 1, 4):
            file = written(document, indent=indent)
            lines = file.read_text().split("\n")
            for found in check(file)["diagnostics"]:
                where = found["where"]
                if found["code"] == "kinematics-unreadable":
                    continue
                try:
                    value = at(document, where.get("element", ""))
                except KeyError:
                    continue  # a missing value has the place of its container
                there = "\n".join([lines[where["line"] - 1][where["column"] - 1 :], *lines[where["line"] :]])
                assert json.JSONDecoder().raw_decode(there)[0] == value, (case["name"], where)


def test_a_missing_value_has_the_place_of_its_container(written):
    document = patched(SAMPLER, [{"op": "remove", "path": "/extensions/EXT_robot_kinematics/models/0/joints/2/childLink"}])
    file = written(document)
    (found,) = check(file)["diagnostics"]
    assert found["where"]["element"].endswith("/joints/2") and "slide" in found["message"] and "childLink" in found["message"]
    line = file.read_text().split("\n")[found["where"]["line"] - 1]
    assert line[found["where"]["column"] - 1] == "{"


def test_findings_of_a_rule_are_bounded(written):
    document = copy.deepcopy(SAMPLER)
    model = document["extensions"][EXTENSION]["models"][0]
    model["links"] += [{"name": f"l{k}", "node": 10_000 + k} for k in range(5000)]
    said = check(written(document))
    assert len(said["diagnostics"]) == 101
    assert "4900 more" in said["diagnostics"][-1]["message"]


def test_names_that_json_pointers_escape(written):
    document = copy.deepcopy(SAMPLER)
    configurations = document["extensions"][EXTENSION]["models"][0]["configurations"]
    configurations["größe ~/1"] = {"jointPositions": []}
    (found,) = check(written(document))["diagnostics"]
    assert found["where"]["element"].endswith("/configurations/größe ~0~11/jointPositions")
    assert "größe ~/1" in found["message"]


# ---- Not glTF -----------------------------------------------------------------------------------------------------------------


def glb(json_bytes, *, magic=b"glTF", version=2, length=None, size=None, kind=b"JSON"):
    json_bytes += b" " * (-len(json_bytes) % 4)
    total = 20 + len(json_bytes)
    header = magic + (version).to_bytes(4, "little") + (length or total).to_bytes(4, "little")
    return header + (len(json_bytes) if size is None else size).to_bytes(4, "little") + kind + json_bytes


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "JSON"),
        (b"solid stl", "JSON"),
        (b"\x89PNG\r\n\x1a\n\0\0", "UTF-8"),
        (b"[]", "asset.version"),
        (b'{"asset": {"version": 2}}', "asset.version"),
        (b'{"asset": {"version": "3.0"}}', "3.0"),
        (b'{"asset": {"version": "2.0"}', "line 1"),
        (b"[" * 100_000, "recursion"),
        (b'{"a": 1e999}', "out of range"),
        (b"glTF", "header"),
        (b"glTF\2\0\0\0", "header"),
        (glb(b"{}", version=1), "version 1"),
        (glb(b"{}", length=1000), "cut off"),
        (glb(b"{}", size=1000), "cut off"),
        (glb(b"{}", size=0xFFFFFFFF), "cut off"),
        (glb(b"{}", kind=b"BIN\0"), "chunk"),
        (glb(b"{"), "broken"),
    ],
    ids=range(17),
)
def test_other_files_are_rejected(content, words, tmp_path):
    for name in ("robot.glb", "robot.gltf"):
        (tmp_path / name).write_bytes(content)
        (found,) = check(tmp_path / name, code=1)["diagnostics"]
        assert found["code"] == "kinematics-unreadable" and words in found["message"], found["message"]


def test_a_glb_of_a_broken_file_says_the_same(written, tmp_path):
    for case in BROKEN:
        document = patched(SAMPLER, case["patch"])
        (tmp_path / "robot.glb").write_bytes(glb(json.dumps(document).encode()))
        of_text, of_glb = (check(file)["diagnostics"] for file in (written(document), tmp_path / "robot.glb"))
        assert [(d["code"], d["message"], d["where"].get("element")) for d in of_text] == [(d["code"], d["message"], d["where"].get("element")) for d in of_glb]
        assert all("line" not in d["where"] for d in of_glb)


# ---- The command --------------------------------------------------------------------------------------------------------------


def broken(name):
    (case,) = [case for case in BROKEN if case["name"] == name]
    return patched(SAMPLER, case["patch"])


def test_text_output(written):
    file = written(broken("an axis that is too long"))
    done = run("check", file)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    for word in ("kinematics-axis-not-unit", 'joint "turn"', "1.414214", "[0, 0.707107, 0.707107]", "robot.gltf:", "/dofs/0/axis"):
        assert word in done.stdout, f"{word} is not in\n{done.stdout}"
    assert done.stdout.splitlines()[-1] == f"{file}: 0 errors, 1 warning"


def test_no_excerpt_of_a_file_in_one_line(written):
    done = run("check", written(broken("an axis that is too long"), indent=None))
    assert "/dofs/0/axis" in done.stdout and "line 1, column" in done.stdout
    assert max(map(len, done.stdout.splitlines())) < 500


def test_severity(written):
    warned, wrong = written(broken("an axis that is too long"), "w.gltf"), written(broken("an axis of no length"), "e.gltf")
    for least, shown in (("info", 1), ("warning", 1), ("error", 0)):
        said = check(warned, "--severity", least, code=0)
        assert len(said["diagnostics"]) == shown and said["counts"]["warning"] == 1
        assert len(check(wrong, "--severity", least, code=1)["diagnostics"]) == 1
    done = run("check", warned, "--severity", "error")
    assert done.stdout == f"{warned}: 0 errors, 1 warning (1 below --severity not shown)\n"


def test_sarif(written, tmp_path):
    """Requirements of section 3 of the SARIF standard, and of code scanning."""
    file = written(broken("the origin as the dof node"), "größe 1.gltf")
    done = run("check", file.name, "--format", "sarif", cwd=tmp_path)
    assert done.returncode == 1 and done.stderr == ""
    log = json.loads(done.stdout)
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-2.1.0.json")
    (run_,) = log["runs"]
    driver = run_["tool"]["driver"]
    assert driver["name"] == "urdf_usd" and re.fullmatch(r"\d+\.\d+\.\d+.*", driver["semanticVersion"])
    rules = driver["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules) == 3
    for rule in rules:
        assert rule["shortDescription"]["text"] and rule["help"]["text"]
        assert rule["defaultConfiguration"]["level"] in ("error", "warning", "note")
    found = check(file)["diagnostics"]
    assert len(run_["results"]) == len(found)
    for result, diagnostic in zip(run_["results"], found, strict=True):
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"] == diagnostic["code"]
        assert result["level"] == diagnostic["severity"]
        assert diagnostic["message"] in result["message"]["text"]
        (location,) = result["locations"]
        physical = location["physicalLocation"]
        assert physical["artifactLocation"] == {"uri": "gr%C3%B6%C3%9Fe%201.gltf"}
        assert physical["region"] == {"startLine": diagnostic["where"]["line"], "startColumn": diagnostic["where"]["column"]}
        assert location["logicalLocations"] == [{"fullyQualifiedName": diagnostic["where"]["element"]}]


def test_sarif_of_a_clean_glb(conversions):
    done = run("check", conversions("sample_arm").glb, "--format", "sarif")
    log = json.loads(done.stdout)
    assert done.returncode == 0 and log["runs"][0]["results"] == [] and log["runs"][0]["tool"]["driver"]["rules"] == []


def test_what_cannot_be_checked(tmp_path):
    (tmp_path / "robot.usda").write_text("no layer\n")
    for asset, words in (("gone.glb", "gone.glb"), (".", "contains"), ("robot.usda", "robot.usda"), ("gone.usdz", "does not exist")):
        done = run("check", tmp_path / asset)
        assert (done.returncode, done.stdout) == (1, "") and words in done.stderr, done.stderr
    for arguments in ([], ["a.glb", "b.glb"], ["a.glb", "--format", "xml"], ["a.glb", "--severity", "fatal"]):
        done = run("check", *arguments)
        assert (done.returncode, done.stdout) == (2, ""), done.stderr


def test_help_names_the_tools_for_other_checks():
    done = run("check", "--help")
    assert done.returncode == 0 and "Khronos" in done.stdout and "docs/rules.md" in done.stdout


# ---- The examples -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("urdf", sorted((FOLDER / "examples").glob("*.urdf")), ids=lambda file: file.stem)
def test_examples_equal_the_output_of_the_converter(urdf, tmp_path):
    """UPDATE_EXAMPLES=1 updates the examples."""
    srdf = urdf.with_suffix(".srdf")
    options = ("--srdf-file", srdf) if srdf.exists() else ()
    done = run("convert", urdf.name, "-o", tmp_path, "--formats", "glb", "--no-cache", *options, cwd=urdf.parent)
    assert done.returncode == 0, done.stderr
    made = Glb(tmp_path / urdf.stem / f"{urdf.stem}.glb")
    text = in_one_file(made)
    example = urdf.with_suffix(".gltf")
    if os.environ.get("UPDATE_EXAMPLES"):
        example.write_text(text, encoding="utf-8")
    assert example.read_text(encoding="utf-8") == text, "run with UPDATE_EXAMPLES=1"
    assert set(json.loads(text)["extensions"]) == {EXTENSION}


def in_one_file(made):
    """Converts a GLB to the text of a .gltf with an embedded buffer."""
    import base64

    document = copy.deepcopy(made.json)
    # The version of the program is not part of the example.
    document["asset"] = {"version": "2.0", "generator": "urdf_usd"}
    for buffer in document.get("buffers", []):
        buffer["uri"] = "data:application/octet-stream;base64," + base64.b64encode(made.buffer[: buffer["byteLength"]]).decode()
    return laid_out(document) + "\n"


def laid_out(value, indent=0, width=120):
    """Formats JSON with values on one line if they fit."""
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or not value or indent + len(line) <= width:
        return line
    pad, end = "\n" + " " * (indent + 2), "\n" + " " * indent
    if isinstance(value, dict):
        entries = [f"{json.dumps(key, ensure_ascii=False)}: {laid_out(entry, indent + 2, width)}" for key, entry in value.items()]
        return "{" + pad + f",{pad}".join(entries) + end + "}"
    return "[" + pad + f",{pad}".join(laid_out(entry, indent + 2, width) for entry in value) + end + "]"


def test_the_examples_are_listed():
    listed = (FOLDER / "examples" / "README.md").read_text()
    for file in EXAMPLES:
        assert f"({file.name})" in listed, file.name


# ---- The loader in the specification ------------------------------------------------------------------------------------------

_HARNESS = """
const { document, positions, configuration } = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const vector = (values) => ({ values, set(...values) { this.values = values; } });
const nodes = document.nodes.map(({ translation, rotation }) =>
  ({ position: vector(translation ?? [0, 0, 0]), quaternion: vector(rotation ?? [0, 0, 0, 1]) }));
const robot = loadRobot(document.extensions.EXT_robot_kinematics.models[0], nodes);
if (configuration) robot.applyConfiguration(configuration);
for (const [name, value] of Object.entries(positions)) robot.setPosition(name, value);
console.log(JSON.stringify(nodes.map(({ position, quaternion }) => [position.values, quaternion.values])));
"""


@pytest.mark.parametrize("file", [*EXAMPLES, FOLDER / "test" / "sampler.gltf"], ids=lambda file: file.name)
def test_the_loader_in_the_specification_works(file):
    """The verbatim code sets the nodes as computed by section 5 of the extension."""
    (code,) = re.findall(r"```js\n(.*?)```", (FOLDER / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    document = json.loads(file.read_text(encoding="utf-8"))
    (model,) = document["extensions"][EXTENSION]["models"]
    random = np.random.default_rng(7)
    positions = {j["name"]: random.uniform(-3, 3, len(j["dofs"])).tolist() for j in model["joints"]}
    set_ = {name: q[0] if len(q) == 1 else q for name, q in positions.items() if q}
    for configuration in (None, *model["configurations"]):
        values = set_
        expected = {}
        if configuration:
            values = {}
            entries = model["configurations"][configuration]["jointPositions"]
            positions = {j["name"]: entry if isinstance(entry, list) else [entry] for j, entry in zip(model["joints"], entries, strict=True)}
        for joint in model["joints"]:
            q = positions[joint["name"]]
            if mimic := joint.get("mimic"):
                q = [mimic["multiplier"] * positions[model["joints"][mimic["joint"]]["name"]][0] + mimic.get("offset", 0)]
            for node, dof, value in zip(joint["dofNodes"], joint["dofs"], q, strict=True):
                turns = dof["motion"] == "rotation"
                expected[node] = ([0, 0, 0], turn(dof["axis"], value)) if turns else (np.array(dof["axis"]) * value, [0, 0, 0, 1])
        for node, there in enumerate(document["nodes"]):
            expected.setdefault(node, (there.get("translation", [0, 0, 0]), there.get("rotation", [0, 0, 0, 1])))
        given = json.dumps({"document": document, "positions": values, "configuration": configuration})
        done = subprocess.run(["node", "-e", code + _HARNESS], input=given, capture_output=True, text=True, encoding="utf-8", timeout=60)
        assert done.returncode == 0, done.stderr
        for node, (position, quaternion) in enumerate(json.loads(done.stdout)):
            assert np.allclose(position, expected[node][0], rtol=0, atol=1e-12), node
            assert np.allclose(quaternion, expected[node][1], rtol=0, atol=1e-12), node


def test_codes_are_explained(written):
    """`--explain` explains codes; standard output remains machine-readable."""
    done = run("check", "--explain", "kinematics-axis-zero")
    assert done.returncode == 0 and done.stderr == ""
    assert "An axis MUST NOT be zero." in done.stdout and "This breaks the rule:" in done.stdout, done.stdout
    assert "Nothing is published" in run("check", "--explain", "convert-timed-out").stdout
    unknown = run("check", "--explain", "kinematics-axis-zer")
    assert unknown.returncode == 2 and 'did you mean "kinematics-axis-zero"' in unknown.stderr, unknown.stderr
    with_asset = run("check", str(written(SAMPLER)), "--format", "json", "--explain", "kinematics-axis-zero")
    assert json.loads(with_asset.stdout)["diagnostics"] == [] and "MUST NOT be zero" in with_asset.stderr
