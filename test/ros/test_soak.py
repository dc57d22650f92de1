"""A short run of `soak.py`. URDF_USD_SOAK makes it longer."""

import pytest

pytest.importorskip("cyclonedds", reason="the peers are CycloneDDS (pip install cyclonedds)")
pytest.importorskip("websockets", reason="joint states come over a WebSocket (pip install websockets)")

import conftest  # noqa: E402
import soak  # noqa: E402


def test_nothing_is_lost_or_wrong_in_a_short_soak(domain, tmp_path):
    # In MB per hour, measured only in long runs.
    seconds, slope = 30 * conftest.SOAK, 2
    found, faults = soak.soak(domain, robots=8, seconds=seconds, every=4, most_slope=slope, folder=tmp_path, viewers=2, callers=1)
    print(found)
    assert not faults, "\n".join(faults)
    assert found["revisions"] >= 8 * 5 and found["verdicts"] and found["calls"] and found["joint_messages"], found
