"""The scripts for Slurm and Kubernetes in examples/scale, with the variables of these schedulers: every robot is converted once."""

import os
import re
import subprocess
from pathlib import Path

import conftest
import pytest
from batches import PYTHON, journal, rows, write_robots
from conftest import ROOT, run

EXAMPLES = ROOT / "examples" / "scale"
COUNT = 24
BROKEN = 5


@pytest.fixture(scope="module")
def robots(tmp_path_factory):
    return write_robots(tmp_path_factory.mktemp("robots"), COUNT, BROKEN)


@pytest.fixture(scope="module")
def expected(robots, tmp_path_factory):
    folder = tmp_path_factory.mktemp("expected")
    done = run("batch", robots, "-o", folder, "--formats", "usd", "-j", "2")
    assert done.returncode == 1, done.stderr
    found = rows(folder)
    assert len(found) == COUNT and found[f"r{BROKEN}"]["status"] == "failed"
    return found


def script(tmp_path, command, **environment):
    """Runs a script that calls `urdf_usd`."""
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir(exist_ok=True)
    if not (bin_folder / "urdf_usd").exists():
        (bin_folder / "urdf_usd").symlink_to(conftest.program())
    path = f"{bin_folder}:{os.environ['PATH']}"
    return subprocess.run(command, env={**os.environ, "PATH": path, **environment}, capture_output=True, text=True, timeout=100, check=False)


@pytest.mark.parametrize(("ids", "step"), [([0, 1, 2], 1), ([3, 7], 4)])
def test_a_job_array_of_slurm_converts_every_robot(robots, expected, tmp_path, ids, step):
    for number in ids:
        done = script(
            tmp_path,
            [EXAMPLES / "slurm.sh", robots, "--output-dir", tmp_path / "out", "--formats", "usd"],
            SLURM_ARRAY_TASK_ID=str(number),
            SLURM_ARRAY_TASK_MIN=str(ids[0]),
            SLURM_ARRAY_TASK_STEP=str(step),
            SLURM_ARRAY_TASK_COUNT=str(len(ids)),
            SLURM_CPUS_PER_TASK="2",
        )
        assert done.returncode in (0, 1), done.stderr
    assert rows(tmp_path / "out") == expected and journal(tmp_path / "out") == sorted(expected)
    refused = script(tmp_path, [EXAMPLES / "slurm.sh", robots], SLURM_ARRAY_TASK_ID="")
    assert refused.returncode != 0 and "submit this script with sbatch" in refused.stderr


def test_the_job_of_kubernetes_is_valid_and_its_pods_convert_every_robot(robots, expected, tmp_path):
    import yaml

    file = EXAMPLES / "kubernetes.yaml"
    validate = [str(Path(PYTHON).with_name("kubernetes-validate")), "--strict"]
    valid = subprocess.run([*validate, file], capture_output=True, text=True, check=False)
    assert valid.returncode == 0, valid.stdout + valid.stderr
    (tmp_path / "wrong.yaml").write_text(file.read_text().replace("completionMode", "completionMood"))
    assert subprocess.run([*validate, tmp_path / "wrong.yaml"], capture_output=True, check=False).returncode != 0
    spec = yaml.safe_load(file.read_text())["spec"]
    (container,) = spec["template"]["spec"]["containers"]
    given = {entry["name"]: entry["value"] for entry in container["env"]}
    assert int(given["SHARDS"]) == spec["completions"] == spec["parallelism"]
    # The shared volume is a folder here.
    (tmp_path / "robots.csv").write_text("source\n" + "".join(f"{path}\n" for path in robots.iterdir()))
    arguments = [argument.replace("/shared", str(tmp_path)) for argument in container["args"]]
    failed = []
    for index in range(spec["completions"]):
        done = script(tmp_path, [*container["command"], *arguments], JOB_COMPLETION_INDEX=str(index), **given)
        failed += [index] * done.returncode
    assert len(failed) == 1, "the broken robot's shard"
    found = rows(tmp_path / "converted")
    assert {Path(key).name: row["status"] for key, row in found.items()} == {key: row["status"] for key, row in expected.items()}
    assert len(journal(tmp_path / "converted")) == COUNT


def test_the_scripts_are_valid_bash():
    assert subprocess.run(["bash", "-n", EXAMPLES / "slurm.sh"], check=False).returncode == 0
    # Slurm reads its options up to the first command only.
    lines = (EXAMPLES / "slurm.sh").read_text().splitlines()
    commands = [number for number, line in enumerate(lines) if line and not line.startswith("#")]
    assert max(number for number, line in enumerate(lines) if re.match("#SBATCH --", line)) < commands[0]
