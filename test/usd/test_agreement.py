"""What ros-openusd-compliance-checker finds in an asset, `urdf_usd check` finds too, by the rule of the same number and on the same prim;
docs/check.md says what it does not, and why. What only `urdf_usd check` finds, the examples of its rules show."""

import functools
import json
import re
from pathlib import Path

import pytest
from PIL import Image
from pxr import Sdf

import explained
import test_rep158
from conftest import ROBOTS, ROOT, run

ROWS = explained.rows("usd-check", "check.md")
RULES = ROOT / "docs" / "rules.md"
#: The header that an example without one has.
HEADER = '#usda 1.0\n(\n    defaultPrim = "robot"\n    kilogramsPerUnit = 1\n    metersPerUnit = 1\n    timeCodesPerSecond = 1\n    upAxis = "Z"\n)\n\n'


class Compared:
    """What both checkers find in an asset."""

    def __init__(self, name, entry):
        self.name, self.entry = name, Path(entry).resolve()
        done = run("check", self.entry, "--format", "json")
        self.ours = json.loads(done.stdout)["diagnostics"]
        self.theirs = test_rep158.check(self.entry)["violations"]
        assert not [v for v in self.theirs if v["check_id"].endswith("internal_error")], self.theirs

    def codes(self):
        return {d["code"] for d in self.ours}

    def has(self, violation):
        """Whether ours has a finding of theirs. They name a prim, a layer, or nothing (`/`)."""
        found = [d for d in self.ours if d["code"] == f"REP158-{violation['check_id']}"]
        at = violation["prim_path"]
        if at == "/" or not at:
            return bool(found)
        if Sdf.Layer.Find(at) or Path(at).is_file():
            return any(Path(d["where"]["file"]).samefile(at) for d in found)
        # Beyond a hundred, ours only counts.
        if any(re.match(r"there are \d+ more findings", d["message"]) for d in found):
            return True
        return any(re.sub(r"\{[^}]*\}", "/", d["where"]["element"]).partition(".")[0].replace("//", "/") == at for d in found)

    def missed(self):
        """What of theirs ours lacks."""
        return [v for v in self.theirs if not self.has(v)]


def is_explained(violation):
    return any(row.covers(violation["check_id"], violation["message"], violation["prim_path"]) for row in ROWS)


def assert_agreed(compared):
    lines = [f"{v['check_id']} {v['prim_path']}: {v['message']}" for v in compared.missed() if not is_explained(v)]
    assert lines == [], compared.name


# ---- Examples of rules --------------------------------------------------------------------------------------------------------


def examples():
    """What breaks each rule: the files of a small asset by the rule's code, as docs/rules.md has them."""
    found = {}
    _, text = RULES.read_text(encoding="utf-8").split("\n## REP-158\n")
    for section in text.split("\n### ")[1:]:
        code = section.partition("\n")[0]
        example = section.split("This breaks the rule:\n\n")[1].split("\nThis keeps it:")[0]
        parts = re.split(r"^    (\S+\.\w+): ", example, flags=re.MULTILINE)[1:]
        lines = lambda part: "\n".join(line.removeprefix("    ") for line in part.rstrip().split("\n")) + "\n"
        found[code] = {name: lines(part) for name, part in zip(parts[::2], parts[1::2])}
    return found


EXAMPLES = examples()


def written(files, folder):
    """The first file of an example that is written out."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if image := re.fullmatch(r"(8|16)-bit (L|RGB|RGBA) (\w+)(?: (\d+)x(\d+))?\n", text):
            bits, mode, form, width, height = image.groups()
            mode = "I;16" if bits == "16" and mode == "L" else mode
            Image.new(mode, (int(width or 2), int(height or 2))).save(path, form)
        elif path.suffix in (".usda", ".usdc"):
            layer = Sdf.Layer.CreateAnonymous()
            text = text if text.startswith("#usda") else HEADER + text
            assert layer.ImportFromString(text), f"{name}\n{text}"
            path.write_text(text) if path.suffix == ".usda" else layer.Export(str(path))
        else:
            path.write_text(text)
    return folder / next(iter(files))


@functools.cache
def compared_example(code, folder):
    return Compared(code, written(EXAMPLES[code], folder / code))


@pytest.fixture(scope="module")
def compared_examples(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples")
    return {code: compared_example(code, folder) for code in EXAMPLES}


@pytest.mark.xdist_group("examples of rules")
def test_the_examples_of_all_rules(compared_examples):
    assert len(compared_examples) > 140
    for compared in compared_examples.values():
        assert_agreed(compared)


@pytest.mark.xdist_group("examples of rules")
def test_each_rule_finds_what_breaks_it(compared_examples):
    """Rules that need a sourced ROS workspace are tested where one is made."""
    silent = {code for code, compared in compared_examples.items() if code not in compared.codes()}
    assert silent <= {"REP158-2.3.3"}


@pytest.mark.xdist_group("examples of rules")
def test_what_only_ours_finds_is_listed(compared_examples):
    """The page lists the rules whose example the other checker passes by."""
    only = {code.removeprefix("REP158-") for code, compared in compared_examples.items() if code.removeprefix("REP158-") not in {v["check_id"] for v in compared.theirs}}
    page = (explained.DOCS / "check.md").read_text(encoding="utf-8")
    listed = re.findall(r"`(\d[\d.]*)`", page.split("## What only `urdf_usd check` finds")[1])
    assert sorted(listed) == sorted(only)


# ---- Assets -------------------------------------------------------------------------------------------------------------------


@functools.cache
def compared_robot(converted):
    return Compared(converted.name, converted.entry)


def test_converted_robots(converted):
    assert_agreed(compared_robot(converted))


def test_assets_of_another_converter(theirs):
    compared = Compared(*theirs)
    assert len(compared.theirs) > 10
    assert_agreed(compared)


def test_the_asset_made_by_hand():
    entry = ROBOTS.parent / "gold" / "ref_arm" / "ref_arm.usda"
    if not entry.is_file():
        pytest.skip(f"{entry} is not there (beside the real robots)")
    compared = Compared("ref_arm", entry)
    assert compared.theirs
    assert_agreed(compared)
