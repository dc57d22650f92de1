"""Small batches for tests, and the Python of the schedulers."""

import json
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: Python with test/requirements-scale.txt, which test/run installs.
PYTHON = os.environ.get("URDF_USD_SCALE_PYTHON") or str(ROOT / ".test-env" / "scale" / "bin" / "python")


def write_robots(folder, count, broken):
    """Writes the descriptions r0.urdf, r1.urdf, … of different robots; that with the number `broken` is cut off."""
    for number in range(count):
        box = f"<visual><geometry><box size='{number + 1} 1 1'/></geometry></visual>"
        text = "<robot" if number == broken else f"<robot name='r{number}'><link name='base'>{box}</link></robot>"
        (folder / f"r{number}.urdf").write_text(text)
    return folder


def rows(folder):
    """Returns the rows of the report without what differs between runs, by key."""
    lines = [json.loads(line) for line in (folder / "report.jsonl").read_text().splitlines()]
    return {line["key"]: {k: v for k, v in line.items() if k not in ("seconds", "finished")} for line in lines}


def journal(folder):
    """Returns the keys of the journals' rows, one for each conversion."""
    return sorted(json.loads(line)["key"] for file in (folder / "journal").glob("*.jsonl") for line in file.read_text().splitlines())
