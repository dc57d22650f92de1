"""The overlay `newton` as read by the Newton physics engine: mimic joints, friction, damping and speed limits.

Newton runs in a separate Python, URDF_USD_NV_PYTHON.
"""

import json

import expectation
import kinematics
import pytest
from conftest import convert, in_nv, marks_of, run, source

#: Newton's value for no speed limit.
UNLIMITED = 1e6
#: The samples, and real robots with mimics, dynamics or prismatic joints.
CHOSEN = ("sample_arm", "sample_rover", "sample_corners", "g1_description", "interbotix_xsarm_descriptions", "pr2_description",
          "robotiq_description", "spot_description", "synthetic_edge_cases", "ur_description")  # fmt: skip


def in_newton(entry):
    return in_nv("newton_joints", entry)


def overlay(asset):
    return asset.directory / f"{asset.asset_name}.newton.usda"


@pytest.fixture(scope="module", params=[pytest.param(name, marks=marks_of(name)) for name in CHOSEN])
def robot(request, tmp_path_factory):
    """Returns a URDF, the converted asset, and Newton's reading of the overlay's entry."""
    asset = convert(source(request.param), tmp_path_factory.mktemp("newton"), "--overlays", "newton", "--formats", "usd")
    return kinematics.read(asset.urdf), asset, in_newton(overlay(asset))


def left_out(asset):
    return [d["message"] for d in asset.report["diagnostics"] if d["code"] == "newton-mimic-left-out"]


def single(urdf, newton):
    """Returns the joints with one degree of freedom, from the URDF and from Newton."""
    types = {"revolute": "REVOLUTE", "continuous": "REVOLUTE", "prismatic": "PRISMATIC"}
    for name, joint in urdf.joints.items():
        if joint.kind in types and name in newton["joints"]:
            found = newton["joints"][name]
            assert found["type"] == types[joint.kind], name
            yield joint, found


def test_all_bodies_and_joints_arrive(robot):
    urdf, _, newton = robot
    expected = expectation.of(urdf)
    assert newton["bodies"] == len(expected.bodies)
    assert set(expected.joints) <= set(newton["joints"])


def test_friction_damping_and_limits(robot):
    urdf, _, newton = robot
    close = lambda value: pytest.approx([value], rel=1e-5, abs=1e-9)
    for joint, found in single(urdf, newton):
        assert found["friction"] == close(max(joint.friction or 0, 0)), joint.name
        assert found["damping"] == close(max(joint.damping or 0, 0)), joint.name
        assert found["velocity_limit"] == close(joint.velocity or UNLIMITED), joint.name
        if joint.kind != "continuous" and joint.lower is not None and joint.upper is not None and joint.lower <= joint.upper:
            assert found["lower"] == pytest.approx([joint.lower], rel=1e-5, abs=1e-6), joint.name
            assert found["upper"] == pytest.approx([joint.upper], rel=1e-5, abs=1e-6), joint.name


def test_mimics(robot):
    urdf, asset, newton = robot
    for joint, found in single(urdf, newton):
        if not joint.mimic:
            assert found["leader"] is None, joint.name
            continue
        # The joint at the end of the chain, and the combined linear relation.
        leader = joint
        while leader.mimic and leader.mimic[0] in urdf.joints:
            leader = urdf.joints[leader.mimic[0]]
        offset = urdf.resolve({})[joint.name]
        multiplier = urdf.resolve({leader.name: 1.0})[joint.name] - offset
        angular = lambda j: j.kind != "prismatic"
        if leader.name in newton["joints"] and kinematics.FREEDOM[leader.kind] == 1 and angular(leader) == angular(joint):
            assert found["leader"] == leader.name, joint.name
            assert found["coefficients"] == pytest.approx([offset, multiplier], rel=1e-5, abs=1e-6), joint.name
        elif leader is not joint:
            assert found["leader"] is None, joint.name
            assert any(f'"{joint.name}"' in message for message in left_out(asset)), joint.name


JOINT = """<link name='{child}'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial></link>
<joint name='{name}' type='{kind}'><parent link='{parent}'/><child link='{child}'/><axis xyz='0 0 1'/>{more}</joint>"""


def made(tmp_path, *joints):
    """Converts a body with joints, given by name, kind and content."""
    parts = [JOINT.format(name=name, kind=kind, parent="base", child=f"{name}_link", more=more) for name, kind, more in joints]
    base = JOINT.split("\n")[0].format(child="base")
    (tmp_path / "robot.urdf").write_text(f"<robot name='r'>{base}{''.join(parts)}</robot>")
    done = run("convert", tmp_path / "robot.urdf", "-o", tmp_path, "--overlays", "newton", "--formats", "usd", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    return tmp_path / "r" / "r.newton.usda", [d["message"] for d in report["diagnostics"] if d["code"] == "newton-mimic-left-out"]


def test_chains_are_resolved_to_the_independent_joint(tmp_path):
    entry, told = made(
        tmp_path,
        ("a", "continuous", ""),
        ("b", "continuous", "<mimic joint='a' multiplier='2' offset='0.5'/>"),
        ("c", "revolute", "<limit lower='-1' upper='1' effort='1' velocity='1'/><mimic joint='b' multiplier='-3' offset='0.25'/>"),
        ("s", "prismatic", "<limit lower='-1' upper='1' effort='1' velocity='0'/>"),
        ("t", "prismatic", "<limit lower='-1' upper='1' effort='1' velocity='2'/><mimic joint='s' multiplier='0.5' offset='0.125'/>"),
    )
    assert told == []
    joints = in_newton(entry)["joints"]
    expected = {"b": ("a", 0.5, 2), "c": ("a", -1.25, -6), "t": ("s", 0.125, 0.5)}
    for name, (leader, *coefficients) in expected.items():
        assert joints[name]["leader"] == leader
        assert joints[name]["coefficients"] == pytest.approx(coefficients, rel=1e-6)
    assert [joints[n]["velocity_limit"] for n in "st"] == [[UNLIMITED], [2.0]], "a speed of 0 means no limit"


def test_a_revolute_joint_does_not_follow_a_prismatic_one(tmp_path):
    entry, told = made(
        tmp_path,
        ("s", "prismatic", "<limit lower='-1' upper='1' effort='1' velocity='1'/>"),
        ("a", "continuous", "<mimic joint='s'/>"),
    )
    assert [message.split('"')[1] for message in told] == ["a"]
    assert all(joint["leader"] is None for joint in in_newton(entry)["joints"].values())
