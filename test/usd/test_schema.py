"""The codeless schemas of `schema/`: OpenUSD loads them, they match REP-158, and every layer follows them."""

import sys

from conftest import ROOT, old_usd, run
from test_rep158 import is_accepted
from worker import worker

DIRECTORY = ROOT / "schema"

ENDS, ROLES = ["server", "client"], ["publisher", "subscription"]
DURABILITY, HISTORY = ["system_default", "transient_local", "volatile"], ["system_default", "keep_last", "keep_all"]
MOTIONS = ["fixed", "revolute", "continuous", "prismatic", "planar", "floating"]
URDF_NUMBERS = (
    "calibration:falling", "calibration:reference_position", "calibration:rising", "dynamics:damping", "dynamics:friction", "limit:effort",
    "limit:velocity", "safety_controller:k_position", "safety_controller:k_velocity", "safety_controller:soft_lower_limit",
    "safety_controller:soft_upper_limit",
)  # fmt: skip


def _offered(kind):
    return {
        f"ros:{kind}:name": ["string", True, None, None],
        f"ros:{kind}:role": ["token", True, None, ENDS],
        f"ros:{kind}:starts_enabled": ["bool", True, True, None],
        f"ros:{kind}:type": ["string", True, None, None],
    }


#: Schema → property → type, whether it is uniform, fallback, allowed tokens: REP-158 sections 2.1 to 2.7 and 4.2.2.
SCHEMAS = {
    "RosContextAPI": {
        "ros:context:domain_id": ["int", True, None, None],
        "ros:context:namespace": ["string", True, None, None],
        "ros:context:parent_frame": ["string", True, "world", None],
    },
    "RosTopicAPI": {
        "ros:topic:name": ["string", True, None, None],
        "ros:topic:override_frame_id": ["string", True, None, None],
        "ros:topic:publish_rate": ["double", True, None, None],
        "ros:topic:qos:depth": ["int", True, 10, None],
        "ros:topic:qos:durability": ["token", True, "system_default", DURABILITY],
        "ros:topic:qos:history": ["token", True, "system_default", HISTORY],
        "ros:topic:qos:match_publisher": ["bool", True, False, None],
        "ros:topic:qos:reliability": ["token", True, "system_default", ["system_default", "reliable", "best_effort"]],
        "ros:topic:role": ["token", True, None, ROLES],
        "ros:topic:starts_enabled": ["bool", True, True, None],
        "ros:topic:type": ["string", True, None, None],
    },
    "RosServiceAPI": _offered("service"),
    "RosActionAPI": _offered("action"),
    "RosFrameAPI": {"ros:frame:id": ["string", True, None, None], "ros:frame:static": ["bool", True, True, None]},
    "ExtendedPhysicsMimicAPI": {
        "ext_physics:mimic:joint": ["rel", True, None, None],
        "ext_physics:mimic:multiplier": ["float", False, 1, None],
        "ext_physics:mimic:offset": ["float", False, 0, None],
    },
    "ExtendedPhysicsActuatorAPI": {"ext_physics:actuator:targets": ["rel", True, None, None]},
    "UrdfJointAPI": {f"urdf:{n}": ["float", False, None, None] for n in URDF_NUMBERS} | {"urdf:type": ["token", True, None, MOTIONS]},
}
ONLY_ON = {"ExtendedPhysicsMimicAPI": ["PhysicsPrismaticJoint", "PhysicsRevoluteJoint"], "UrdfJointAPI": ["PhysicsJoint"]}


def seen_by_openusd(*entries, python=sys.executable, directory=DIRECTORY):
    """Describes the schemas and the assets in the OpenUSD of `python`."""
    # A separate process: OpenUSD reports faults of a plugin only once.
    seen, said = worker(python, "schemas", PXR_PLUGINPATH_NAME=str(directory)).ask("schemas_in_usd", list(SCHEMAS), list(map(str, entries)))
    assert said == "", "OpenUSD reports faults of the plugin"
    return seen


def _assert_as_specified(seen):
    for name, properties in SCHEMAS.items():
        schema = seen["schemas"][name]
        assert schema, f"{name} is not registered"
        assert schema["properties"] == properties, name
        assert schema["documented"], name
        assert sorted(schema["only_on"]) == ONLY_ON.get(name, []), name


def assert_kept(seen, entry):
    asset = seen["assets"][str(entry)]
    assert asset["findings"] == []
    assert asset["errors"] == []
    for name, (listed, has) in asset["counts"].items():
        assert listed == has, f"{name} is applied {listed} times and there {has} times"
    assert asset["counts"]["RosContextAPI"][0] == 1 and asset["counts"]["RosTopicAPI"][0] >= 2
    return asset


def test_openusd_registers_every_schema():
    _assert_as_specified(seen_by_openusd())


def test_old_openusd_registers_them_too(conversions):
    entry = conversions("sample_arm").entry
    seen = seen_by_openusd(entry, python=old_usd())
    assert seen["version"] == [0, 24, 5]
    _assert_as_specified(seen)
    assert_kept(seen, entry)


def test_without_the_directory_they_are_unknown(tmp_path):
    """The schemas of the other tests are only from our directory."""
    assert set(seen_by_openusd(directory=tmp_path)["schemas"].values()) == {None}


def test_every_layer_follows_them(converted):
    seen = seen_by_openusd(converted.entry)
    asset = assert_kept(seen, converted.entry)
    joints, written = asset["counts"]["UrdfJointAPI"][0], converted.report["counts"]["joints"]
    assert 0 < joints <= written or written == 0 or joints == 0


def test_fallbacks_are_known(conversions):
    """A converted robot has the fallbacks."""
    entry = conversions("sample_arm").entry
    interfaces = {path.rsplit("/", 1)[1]: values for path, values in seen_by_openusd(entry)["assets"][str(entry)]["interfaces"].items()}
    states, description = interfaces["joint_states"], interfaces["robot_description"]
    assert states["ros:topic:starts_enabled"] is True and states["ros:topic:qos:depth"] == 10
    assert states["ros:topic:qos:reliability"] == "system_default" and states["ros:topic:override_frame_id"] is None
    assert description["ros:topic:qos:durability"] == "transient_local" and description["ros:topic:qos:history"] == "system_default"


def test_the_checker_accepts_registered_schemas(converted):
    """Fallbacks must not cause findings."""
    found = worker(sys.executable, "rep158", PXR_PLUGINPATH_NAME=str(DIRECTORY)).ask("rep158_check", converted.entry)[0]["violations"]
    assert [f"{v['check_id']} {v['prim_path']}" for v in found if not is_accepted(v, converted)] == []


def test_the_program_writes_them(tmp_path):
    done = run("schema", "-o", tmp_path / "new" / "schema")
    assert done.returncode == 0 and done.stdout == "", done.stderr
    files = lambda directory: {str(p.relative_to(directory)): p.read_bytes() for p in directory.rglob("*") if p.is_file()}
    ours, written = files(DIRECTORY), files(tmp_path / "new" / "schema")
    names = {"plugInfo.json", "generatedSchema.usda"}
    assert ours == written and set(ours) == names | {f"isaac/{name}" for name in names}
    _assert_as_specified(seen_by_openusd(directory=tmp_path / "new" / "schema"))


def test_unwritable_folders_are_named(tmp_path):
    (tmp_path / "file").write_text("")
    done = run("schema", "-o", tmp_path / "file" / "schema")
    assert done.returncode == 1 and str(tmp_path / "file") in done.stderr and "panicked" not in done.stderr
    assert run("schema").returncode == 2
