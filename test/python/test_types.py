"""The types of the package: generated from the table of options, and checked by mypy and pyright."""

import json
import os
import re
import sys
from pathlib import Path

from conftest import ROOT, scratch
from option_types import module
from python_package import TOOLS, run

PACKAGE = ROOT / "python" / "urdf_usd"


def test_option_types_are_those_of_the_table(site):
    # Without the package, which needs these types.
    script = (
        "import sys, importlib.util\n"
        "spec = importlib.util.spec_from_file_location('urdf_usd._native', sys.argv[1])\n"
        "module = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(module)\n"
        "print(module.options())\n"
    )
    options = json.loads(run(sys.executable, "-c", script, site / "urdf_usd" / "_native.abi3.so"))
    assert len({option["keyword"] for option in options}) == len(options) > 40
    file = PACKAGE / "_options.py"
    if os.environ.get("UPDATE_DOCS"):
        file.write_text(module(options))
    assert file.read_text() == module(options), "run with UPDATE_DOCS=1"


def test_types_are_right(urdf_usd, site):
    usage = ROOT / "test" / "python" / "usage.py"
    run(TOOLS / "mypy", "--strict", "--cache-dir", "/dev/null", PACKAGE, usage, env={"MYPYPATH": str(ROOT / "python")}, cwd=ROOT / "python")
    # Wrong uses are errors: each line with a mark, and no other.
    wrong = [n for n, line in enumerate(usage.read_text().splitlines(), 1) if "# type: ignore[" in line]
    plain = site / "usage.py"
    plain.write_text(re.sub(r"  # type: ignore\[.*\]", "", usage.read_text()))
    pyright = (TOOLS / "pyright", "--outputjson", "--pythonpath", TOOLS / "python", plain, "urdf_usd")
    # It fails because of the wrong uses.
    done = json.loads(run("bash", "-c", '"$0" "$@" || [ $? = 1 ]', *pyright, cwd=site))
    errors = [finding for finding in done["generalDiagnostics"] if finding["severity"] == "error"]
    found = {(Path(finding["file"]).name, finding["range"]["start"]["line"] + 1) for finding in errors}
    assert found == {(plain.name, line) for line in wrong}, errors
    assert done["summary"]["filesAnalyzed"] > 6


def test_stubs_are_those_of_the_native_module(site):
    run(TOOLS / "stubtest", "--concise", "urdf_usd._native", env={"PYTHONPATH": str(site), "MYPYPATH": str(site)}, cwd=scratch())


def test_all_that_is_public_is_documented(urdf_usd):
    for name in urdf_usd.__all__:
        value = getattr(urdf_usd, name)
        if name in ("__version__", "Source"):
            continue
        assert value.__doc__, name
        if isinstance(value, type) and value.__module__.startswith("urdf_usd"):
            for member, what in vars(value).items():
                if not member.startswith("_") and (callable(what) or isinstance(what, (property, classmethod))):
                    assert what.__doc__, f"{name}.{member}"
    # Numbers have units.
    for name in ("fk", "jacobian", "mass_matrix", "gravity", "ik"):
        assert "dof" in getattr(urdf_usd.Robot, name).__doc__
    assert "metres" in urdf_usd.Robot.__doc__
