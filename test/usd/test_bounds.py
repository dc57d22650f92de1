"""Small OpenUSD files that need much memory or time: opened if OpenUSD opens them, else rejected with a remedy."""

import importlib.util
import re
import resource
import subprocess

import pytest

import conftest

_spec = importlib.util.spec_from_file_location("usd_attack", conftest.ROOT / "test" / "attack" / "usd.py")
attack = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(attack)

#: Address space of the program. The reader reserves 256 MiB of it for a stack, but uses less.
MEMORY = 3 << 30


def run(command, asset):
    """Runs a command on an asset with bounded memory; the timeout only ends endless runs."""
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))  # noqa: E731
    done = subprocess.run(
        [conftest.PROGRAM, *command, asset], capture_output=True, text=True, timeout=240, preexec_fn=limit, check=False
    )
    output = done.stdout + done.stderr
    assert done.returncode >= 0 and not re.search("panicked|memory allocation|internal error", output), output
    # Undo the wrapping of messages, which depends on the length of the path.
    return re.sub(r"\n *│ *", " ", output)


def is_read(output):
    """Returns whether the stage was composed: the assets have no robot, which is reported only then."""
    return "holds no robot" in output


@pytest.mark.parametrize("kind", ["shared-array", "large-arrays"])
def test_arrays_are_shared_and_decoded_on_demand(kind, tmp_path):
    assert is_read(run(["inspect"], attack.write(kind, tmp_path)))


def test_large_metadata_is_refused(tmp_path):
    assert "more than 512 MiB" in run(["inspect"], attack.write("shared-metadata", tmp_path))


def test_variant_sets_beyond_the_bound_are_named(tmp_path):
    assert is_read(run(["inspect"], attack.write("variant-sets", tmp_path, 3000)))
    output = run(["check"], attack.write("variant-sets", tmp_path, 6000))
    assert "lead to more than 4096 sites" in output, output


@pytest.mark.parametrize("kind", ["ladder-inherits", "ladder-specializes", "nested-ladder-inherits"])
def test_ladders_of_classes_are_composed(kind, tmp_path):
    assert is_read(run(["inspect"], attack.write(kind, tmp_path, 30)))


@pytest.mark.parametrize("kind", ["ladder-references", "ladder-payload", "layer-ladder-references"])
def test_ladders_beyond_the_bound_are_refused(kind, tmp_path):
    output = run(["inspect"], attack.write(kind, tmp_path, 30))
    assert "refer to" in output and "once" in output, output


def test_ladders_of_sublayers_are_cut(tmp_path):
    output = run(["inspect"], attack.write("layer-ladder-subLayers", tmp_path, 30))
    assert is_read(output) and "include each layer once" in output, output


@pytest.mark.parametrize("command", [["check"], ["convert"], ["fix"]])
def test_other_commands_refuse_them_too(command, tmp_path):
    into = ["-o", tmp_path / "out"] if command == ["fix"] else []
    output = run([*command, *into], attack.write("ladder-references", tmp_path, 30))
    assert "refer to it once" in output, output


def test_layers_of_millions_of_prims_are_refused(tmp_path):
    assert "more than 2000000 prims" in run(["inspect"], attack.write("prims", tmp_path))


def test_stages_of_too_many_prims_are_refused(tmp_path):
    # 125,000, and 2 for each of the few prims in the file; or as many with references.
    assert re.search("more than 125[0-9]{3} prims", run(["inspect"], attack.write("instances", tmp_path, 7)))
