"""Attacks the node with forged RTPS packets: its memory stays bounded and it still works.

For longer runs, and floods of forged participants and endpoints: `python test/attack/rtps.py --help`.
"""

import importlib.util
import resource
import sys
from pathlib import Path

import conftest
import pytest

pytest.importorskip("cyclonedds", reason="the honest peers are CycloneDDS (pip install cyclonedds)")

SCRIPT = Path(__file__).resolve().parents[1] / "attack" / "rtps.py"


def attack():
    spec = importlib.util.spec_from_file_location("attack_rtps", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look up their module.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def limited(start):
    """Starts a node that may map at most 6 GiB, which protects the machine."""
    node = start()
    resource.prlimit(node.process.pid, resource.RLIMIT_AS, (6 << 30, 6 << 30))
    node.logged("listening")
    return node


@pytest.mark.parametrize("part", ["unmatched", "matched"])
def test_forged_packets_neither_end_the_node_nor_fill_its_memory(limited, domain, part):
    packets = int(5_000 * conftest.SOAK)
    faults = attack().run(domain, limited.process.pid, parts=[part], packets=packets, seed=7)
    assert not faults, f"{faults}\n{limited.log[-4000:]}"


def test_unfinished_samples_hold_a_bounded_amount_of_memory(limited, domain):
    faults = attack().run(domain, limited.process.pid, parts=["fragments"], megabytes=int(256 * conftest.SOAK), seed=7)
    assert not faults, f"{faults}\n{limited.log[-4000:]}"
