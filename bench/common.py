"""Code that the benchmarks share: the program, the robots, the machine, and measured runs."""

import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parent.parent


@dataclass
class Run:
    """Cost of a run of a program."""

    wall: float
    """Elapsed seconds."""
    cpu: float
    """Processor seconds of all threads and children, user and system."""
    memory: int
    """Peak resident bytes. The kernel counts a child from its fork on, so this is at least the script's own, about 18 MB."""
    error: str = ""
    """The end of its output, if it failed."""


def measure(command, environment=None, timeout=900):
    """Runs `command`, and kills it after `timeout` seconds."""
    with tempfile.TemporaryFile() as printed:
        begin = time.perf_counter()
        process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})},
        )
        timer = threading.Timer(timeout, process.kill)
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begin
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        error = ""
        if process.returncode:
            printed.seek(0)
            lines = printed.read().decode(errors="replace").strip().splitlines()
            error = f"exit code {process.returncode}: {' '.join(lines[-3:])}"
        return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, error)


def best(runs):
    """The minimum of each figure, since disturbances only add to it. A failed run counts only if all failed."""
    good = [run for run in runs if not run.error]
    if not good:
        return runs[0]
    return Run(min(r.wall for r in good), min(r.cpu for r in good), min(r.memory for r in good))


def program():
    """The program of $URDF_USD_BIN, or the release build of `urdf_usd`, built if necessary."""
    if given := os.environ.get("URDF_USD_BIN"):
        return pathlib.Path(given).resolve()
    command = ["cargo", "build", "--release", "--ignore-rust-version", "--locked", "--quiet", "--bins"]
    subprocess.run(command, cwd=ROOT, check=True)
    metadata = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--locked"]
    target = json.loads(subprocess.check_output(metadata, cwd=ROOT))["target_directory"]
    return pathlib.Path(target) / "release" / "urdf_usd"


def known_options(binary):
    """The long options of `urdf_usd convert`."""
    text = subprocess.check_output([binary, "convert", "--help"], text=True)
    return {word.rstrip(",") for word in text.split() if word.startswith("--")}


def robots_folder(given=None):
    """The folder of the real robots."""
    folder = pathlib.Path(given or os.environ.get("URDF_USD_ROBOTS") or ROOT.parent / "shared" / "robots").resolve()
    if not (folder / "MANIFEST.json").is_file():
        sys.exit(f"no MANIFEST.json in {folder}; set URDF_USD_ROBOTS")
    return folder


def add_robots_option(parser):
    parser.add_argument("--robots", action="append", metavar="DIR", help="a set of robots with a MANIFEST.json; may be repeated, such as for that of bench/corpus [$URDF_USD_ROBOTS]")


def sets_of_robots(given):
    """The folders of `--robots`, by the name of their corpus."""
    folders = [robots_folder(folder) for folder in given or [None]]
    return {json.loads((folder / "MANIFEST.json").read_text())["corpus"]: folder for folder in folders}


def robots(folder, only=()):
    """(name, package, URDF relative to the folder) of the robots whose name contains a word of `only`, or of all if it is empty."""
    entries = json.loads((folder / "MANIFEST.json").read_text())["entries"]
    found = [(entry["robot"], entry["package"], entry["urdf"]) for entry in entries]
    return [robot for robot in found if not only or any(word.lower() in robot[0].lower() for word in only)]


def machine():
    """A line that describes the machine."""
    cores = len(os.sched_getaffinity(0))
    model = "unknown processor"
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except OSError:
        memory = 0
    return f"{model}, {cores} cores, {memory:.0f} GiB, {platform.system()} {platform.release()}"


def table(header, rows):
    """A Markdown table with the first column aligned left, the others right."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    line = lambda cells: "| " + " | ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(cells, widths))) + " |"
    rule = "|" + "|".join("-" * (w + 2) if i == 0 else "-" * (w + 1) + ":" for i, w in enumerate(widths)) + "|"
    return "\n".join([line(header), rule, *map(line, rows)])
