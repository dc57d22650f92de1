"""Tests of the test infrastructure: workers, and the detection of tests without assertions."""

import sys

import pytest

from asserted import Watch
from conftest import robot_of
from worker import NODE, Worker

PYTHON = """
import os, sys
def answer(what, number=0):
    print("on standard output")
    if what == "raise": raise ValueError("no such asset")
    if what == "end": os._exit(3)
    if what == "wait": import time; time.sleep(60)
    print("on standard error", number, file=sys.stderr)
    return {"twice": 2 * number}
"""


@pytest.fixture
def asked(tmp_path):
    (tmp_path / "script.py").write_text(PYTHON)
    worker = Worker(sys.executable, {"PYTHONPATH": str(tmp_path)})
    yield worker
    worker.stop()


def test_a_worker_answers_many_questions_in_one_process(asked):
    for number in (1, 2):
        told, said = asked.ask("script", "double", number)
        assert told == {"twice": 2 * number}
        assert said.splitlines()[-1] == f"on standard error {number}" and f"error {3 - number}" not in said
        assert asked.process.poll() is None
    assert asked.ask("script", "double", 3) and asked.process.poll() is None


@pytest.mark.parametrize("what, words", [("raise", "ValueError: no such asset"), ("end", "script ended"), ("wait", "longer than 2 s")])
def test_a_worker_that_has_no_answer_fails_the_test_and_answers_the_next(asked, what, words):
    with pytest.raises(AssertionError, match=words):
        asked.ask("script", what, timeout=2 if what == "wait" else 600)
    assert asked.ask("script", "double", 4)[0] == {"twice": 8}


def test_so_does_one_in_node():
    worker = Worker(NODE, {"GLTF_VALIDATOR": "/nowhere"})
    with pytest.raises(AssertionError, match="Cannot find module"):
        worker.ask("validate_gltf", "none.glb")
    worker.stop()


def _loops(over):
    for number in over:
        assert number > 0


def assert_nothing():
    pass


@pytest.mark.parametrize(
    "what, has_looked",
    [(lambda: _loops([]), False), (lambda: _loops([1]), True), (lambda: [_loops([]), _loops([1])], True), (assert_nothing, True), (lambda: None, False)],
)
def test_a_loop_over_nothing_has_not_looked_at_anything(what, has_looked):
    before = sys.gettrace()
    with Watch() as watch:
        what()
    assert watch.asserted == has_looked
    assert sys.gettrace() is before


def test_an_assertion_that_fails_is_seen_and_told():
    with pytest.raises(AssertionError), Watch() as watch:
        _loops([-1])
    assert watch.asserted


def test_tests_of_one_robot_run_in_one_process(request):
    """pytest-xdist groups tests by the suffix of their names."""
    if not request.config.getoption("loadgroup", False):
        pytest.skip("all tests run in one process here (no --dist loadgroup)")
    grouped = [(item, item.get_closest_marker("xdist_group")) for item in request.session.items]
    assert all(group for item, group in grouped if robot_of(item))
    assert [item.nodeid for item, group in grouped if group and not item.nodeid.endswith(f"@{group.args[0]}")] == []
