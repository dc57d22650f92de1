"""The ROS 2 package as built and installed by colcon, with Debian's packages of ROS 2: ament, rosidl for C and C++, colcon.

Dependencies that Debian lacks, `std_msgs`, `geometry_msgs` and `sensor_msgs` as far as they are used and the umbrellas `rosidl_default_*`, are created here.
The programs are already built, so that nothing is compiled twice. The node among real ROS nodes is tested by `test/workspace.py`,
which `colcon test` runs in a whole ROS 2.
"""

import json
import os
import re
import runpy
import subprocess
import sys
import types
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import yaml

import conftest

DEBIAN = Path(os.environ.get("URDF_USD_DEBIAN_ROS") or conftest.ROOT / ".test-env" / "debian-ros").absolute()
INTERFACES = {
    *("msg/Asset", "msg/FrameVerdict", "msg/NamedPose", "srv/CheckFrames", "srv/ComputeFk", "srv/Convert", "srv/DeletePose"),
    *("srv/ListPoses", "srv/SolveIk", "srv/StorePose"),
}
PATIENCE = 600


def environment():
    """Returns an environment with only Debian's ROS."""
    usr = DEBIAN / "usr"
    return {
        "PATH": f"{usr}/bin:{os.environ['HOME']}/.cargo/bin:/usr/local/bin:/usr/bin:/bin",
        "HOME": os.environ["HOME"],
        "PYTHONPATH": f"{usr}/lib/python3/dist-packages",
        "CMAKE_PREFIX_PATH": str(usr),
        "LD_LIBRARY_PATH": ":".join(map(str, usr.glob("lib/*-linux-gnu"))),
    }


def run(command, **options):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=PATIENCE, **options)
    return done.returncode, done.stdout + done.stderr


class Workspace:
    def __init__(self, folder):
        self.folder = folder
        self.install = folder / "install" / "urdf_usd"
        (folder / "src").mkdir()
        (folder / "src" / "urdf_usd").symlink_to(conftest.ROOT)
        generators = "rosidl_cmake rosidl_generator_c rosidl_generator_cpp rosidl_typesupport_introspection_c"
        self.package("rosidl_default_generators", f"ament_export_dependencies({generators})")
        self.package("rosidl_default_runtime", "ament_export_dependencies(rosidl_runtime_c rosidl_runtime_cpp)")
        self.messages("builtin_interfaces", {"Time": "int32 sec\nuint32 nanosec\n"})
        self.messages("std_msgs", {"Header": "builtin_interfaces/Time stamp\nstring frame_id\n"}, "builtin_interfaces")
        numbers = {"Point": "float64 x\nfloat64 y\nfloat64 z\n", "Quaternion": "float64 x 0\nfloat64 y 0\nfloat64 z 0\nfloat64 w 1\n"}
        self.messages("geometry_msgs", numbers | {"Pose": "Point position\nQuaternion orientation\n"})
        lists = "".join(f"float64[] {name}\n" for name in ("position", "velocity", "effort"))
        self.messages("sensor_msgs", {"JointState": f"std_msgs/Header header\nstring[] name\n{lists}"}, "std_msgs")
        # An external C program that uses the interfaces.
        self.package(
            "user",
            "find_package(urdf_usd REQUIRED)\nadd_executable(user user.c)\n"
            "target_link_libraries(user urdf_usd::urdf_usd__rosidl_generator_c)\ninstall(TARGETS user DESTINATION lib/user)",
            {"user.c": USER},
            "urdf_usd",
        )

    def package(self, name, cmake, files=(), *depends, group=""):
        folder = self.folder / "src" / name
        folder.mkdir()
        depends = "".join(f"<depend>{other}</depend>" for other in depends)
        (folder / "package.xml").write_text(
            f'<package format="3"><name>{name}</name><version>0.0.0</version><description>For a test.</description>'
            '<maintainer email="nobody@example.com">nobody</maintainer><license>Apache-2.0</license>'
            f"<buildtool_depend>ament_cmake</buildtool_depend>{depends}{group}"
            "<export><build_type>ament_cmake</build_type></export></package>"
        )
        (folder / "CMakeLists.txt").write_text(
            f"cmake_minimum_required(VERSION 3.16)\nproject({name} C CXX)\nfind_package(ament_cmake REQUIRED)\n{cmake}\nament_package()\n"
        )
        for file, text in dict(files).items():
            (folder / file).parent.mkdir(exist_ok=True)
            (folder / file).write_text(text)

    def messages(self, name, messages, *depends):
        files = {f"msg/{message}.msg": text for message, text in messages.items()}
        found = "".join(f"find_package({other} REQUIRED)\n" for other in ("rosidl_default_generators", *depends))
        cmake = f"{found}rosidl_generate_interfaces({name} {' '.join(files)} DEPENDENCIES {' '.join(depends)})"
        group = "<member_of_group>rosidl_interface_packages</member_of_group>"
        self.package(name, cmake, files, "rosidl_default_generators", *depends, group=group)

    def build(self):
        options = [f"-DURDF_USD_PROGRAMS={conftest.program().parent}", "-DBUILD_TESTING=OFF", "--no-warn-unused-cli"]
        # Run by its interpreter: the shebang of Debian's colcon is a path that does not exist here.
        return run(
            ["/usr/bin/python3", DEBIAN / "usr/bin/colcon", "build", "--event-handlers", "console_direct+", "--cmake-args", *options],
            cwd=self.folder,
            env=environment(),
        )

    def sourced(self, command):
        script = f'. "{self.folder}/install/setup.sh" && {command}'
        return run(["sh", "-c", script], env=environment() | {"COLCON_CURRENT_PREFIX": str(self.folder / "install")})


USER = r"""
#include <stdio.h>
#include <rosidl_runtime_c/string_functions.h>
#include <urdf_usd/msg/asset.h>
#include <urdf_usd/msg/frame_verdict.h>
#include <urdf_usd/srv/check_frames.h>
#include <urdf_usd/srv/convert.h>

int main(void) {
  urdf_usd__msg__Asset asset;
  urdf_usd__srv__CheckFrames_Response response;
  if (!urdf_usd__msg__Asset__init(&asset) || !urdf_usd__srv__CheckFrames_Response__init(&response)) return 1;
  rosidl_runtime_c__String__assign(&asset.header.frame_id, "base");
  asset.revision = 18446744073709551615u;
  urdf_usd__msg__FrameVerdict__Sequence__init(&response.frames, 2);
  response.frames.data[1].position_error = 0.5;
  printf("%s %llu %zu %.1f %s\n", asset.header.frame_id.data, (unsigned long long)asset.revision, response.frames.size,
         response.frames.data[1].position_error, urdf_usd__msg__FrameVerdict__WRONG_TOPIC);
  return 0;
}
"""


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    if not (DEBIAN / ".complete").is_file():
        why_not = DEBIAN / ".why-not"
        why = why_not.read_text() if why_not.is_file() else f"{DEBIAN} is not there: test/run unpacks it"
        (pytest.fail if os.environ.get("URDF_USD_NEEDS_COLCON") else pytest.skip)(why)
    if not (conftest.program().parent / "bridge").is_file():
        pytest.exit("the program `bridge` is not built", returncode=2)
    workspace = Workspace(tmp_path_factory.mktemp("workspace"))
    code, said = workspace.build()
    assert code == 0, said[-6000:]
    return workspace


@pytest.mark.xdist_group("colcon")
def test_the_installed_files(workspace):
    install = workspace.install
    for program in ("bridge", "urdf_usd"):
        assert os.access(install / "lib/urdf_usd" / program, os.X_OK)
    share = install / "share/urdf_usd"
    for interface in INTERFACES:
        idl = (share / f"{interface}.idl").read_text()
        assert f"module {interface.split('/')[0]}" in idl
        assert (share / f"{interface}.{interface.split('/')[0]}").is_file()
    assert (share / "rviz/robot.rviz").is_file() and (share / "launch/robot.launch.py").is_file()
    assert (share / "launch/bridge.launch.py").is_file() and (share / "config/bridge.yaml").is_file() and (share / "config/parameters.json").is_file()
    assert (share / "schema/plugInfo.json").is_file() and (share / "package.xml").is_file()
    index = install / "share/ament_index/resource_index"
    assert (index / "packages/urdf_usd").is_file()
    listed = {line.rsplit(".", 1)[0] for line in (index / "rosidl_interfaces/urdf_usd").read_text().split()}
    assert listed >= INTERFACES
    # Run-time dependencies: only real ones, and the messages of the node.
    needed = (index / "package_run_dependencies/urdf_usd").read_text().split(";")
    assert {"std_msgs", "sensor_msgs", "tf2_msgs", "diagnostic_msgs", "launch_ros", "rosidl_default_runtime"} <= {*needed}


@pytest.mark.xdist_group("colcon")
def test_the_environment(workspace):
    code, said = workspace.sourced('printf "%s\\n" "$PXR_PLUGINPATH_NAME" "$AMENT_PREFIX_PATH"')
    schema, prefixes = said.splitlines()
    assert code == 0 and Path(schema).samefile(workspace.install / "share/urdf_usd/schema"), said
    assert str(workspace.install) in prefixes.split(":")


@pytest.mark.xdist_group("colcon")
def test_other_packages_can_use_the_interfaces(workspace):
    code, said = workspace.sourced(f"{workspace.folder}/install/user/lib/user/user")
    assert (code, said.strip()) == (0, "base 18446744073709551615 2 0.5 wrong_topic"), said


@pytest.mark.xdist_group("colcon")
def test_the_installed_programs_run(workspace):
    programs = workspace.install / "lib/urdf_usd"
    assert run([programs / "urdf_usd", "--version"])[0] == 0
    code, said = run([programs / "bridge", "--ros-args", "--nonsense"])
    assert code == 2 and "--nonsense" in said


@pytest.mark.xdist_group("colcon")
@pytest.mark.parametrize(
    ("client", "succeeds", "part"),
    [
        ("auto", True, "ROS client embedded"),
        ("embedded", True, "ROS client embedded"),
        ("rclrs", False, "rosidl_generator_rs was not found"),
        ("r2r", False, "r2r 0.9.7 does not support"),
        ("ros2-client", False, "give auto, rclrs, r2r or embedded"),
    ],
)
def test_the_choice_of_the_ros_client(workspace, tmp_path, client, succeeds, part):
    # Only configured: cargo is asked for its version, and builds nothing.
    code, said = workspace.sourced(f'cmake -S "{conftest.ROOT}" -B "{tmp_path}" -DURDF_USD_ROS={client} -DBUILD_TESTING=OFF')
    assert (code == 0) == succeeds and part in " ".join(said.split()), said[-3000:]


CARGO = """#!/bin/sh
[ "$1" = --version ] && echo cargo 9.9.9 && exit
mkdir -p "$CARGO_TARGET_DIR/release"
echo "$ROS_DISTRO: $*" >> "$CARGO_TARGET_DIR/calls"
"""


@pytest.mark.xdist_group("colcon")
def test_a_changed_environment_configures_again(workspace, tmp_path):
    """With a program that stands for cargo. The target of the programs depends on no other here."""
    cargo, build, prefix = tmp_path / "cargo", tmp_path / "build", tmp_path / "install"
    cargo.write_text(CARGO)
    cargo.chmod(0o755)

    def run_cmake(command, distribution):
        return workspace.sourced(f"ROS_DISTRO={distribution} cmake {command}")

    options = f'-DCARGO="{cargo}" -DCMAKE_INSTALL_PREFIX="{prefix}/urdf_usd" -DBUILD_TESTING=OFF -DRMW_IMPLEMENTATION=RMW_IMPLEMENTATION-NOTFOUND'
    code, said = run_cmake(f'-S "{conftest.ROOT}" -B "{build}" {options}', "jazzy")
    assert code == 0 and "rosidl_generator_rs was not found" in said, said[-3000:]
    make = f'--build "{build}" --target urdf_usd_programs'
    code, said = run_cmake(make, "jazzy")
    assert code == 0 and "ROS client" not in said, said[-3000:]

    generator = prefix / "rosidl_generator_rs/share/rosidl_generator_rs"
    (generator / "cmake").mkdir(parents=True)
    (generator / "package.xml").touch()
    (generator / "cmake/rosidl_generator_rsConfig.cmake").touch()
    found = f"CMAKE_PREFIX_PATH={prefix / 'rosidl_generator_rs'}:$CMAKE_PREFIX_PATH cmake"
    code, said = workspace.sourced(f"ROS_DISTRO=jazzy {found} {make}")
    assert code == 0 and "embedded: the library rmw_implementation was not found" in " ".join(said.split()), said[-3000:]

    code, said = workspace.sourced(f"ROS_DISTRO=foxy {found} {make}")
    assert code == 0 and 'embedded: ROS_DISTRO is "foxy"' in " ".join(said.split()), said[-3000:]
    code, said = workspace.sourced(f"ROS_DISTRO=foxy {found} {make}")
    assert code == 0 and "ROS client" not in said, said[-3000:]
    calls = (build / "cargo/calls").read_text().splitlines()
    assert [call.split(":")[0] for call in calls] == ["jazzy", "jazzy", "foxy", "foxy"]
    assert all("build --bins --locked" in call for call in calls), calls


@pytest.mark.xdist_group("colcon")
def test_interfaces_apart_from_the_programs(workspace, tmp_path):
    # Only configured, without cargo: what is built and installed then is in the script that installs it.
    options = f'-DURDF_USD_INTERFACES_ONLY=ON -DCARGO=nonsense -DCMAKE_INSTALL_PREFIX="{tmp_path}/install" -DBUILD_TESTING=OFF'
    code, said = workspace.sourced(f'cmake -S "{conftest.ROOT}" -B "{tmp_path}/build" {options}')
    script = (tmp_path / "build/cmake_install.cmake").read_text()
    assert code == 0 and "ROS client" not in said, said[-3000:]
    assert "msg/Asset.msg" in script and "/schema" in script and "/bridge" not in script and "/launch" not in script
    assert "messages and services without the programs" in script


@pytest.mark.parametrize("client", ["rclrs", "r2r"])
def test_the_node_on_rcl_among_ros_nodes(tmp_path, client):
    if "AMENT_PREFIX_PATH" not in os.environ or "ROS_DISTRO" not in os.environ:
        pytest.skip(
            f"no ROS 2 workspace is sourced: the client {client} needs rcl and messages of a workspace, "
            f"which are in no package index (docs/ros.md); test/{client} builds and tests it where there is one"
        )
    folder = os.environ.get(f"URDF_USD_{client.upper()}_FOLDER") or tmp_path
    done = subprocess.run([conftest.ROOT / "test" / client, folder], capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout + done.stderr)[-5000:]


class Launch:
    """A launch file, run with stubs for its ROS imports: its declared arguments, and the node that it starts."""

    def __init__(self, *command_line, file="bridge.launch.py", **included):
        names = ["ament_index_python.packages", "launch", "launch.actions", "launch.substitutions", "launch_ros.actions"]
        names += ["launch.launch_description_sources", "launch_ros.parameter_descriptions"]
        modules = {name: types.ModuleType(name) for name in names}
        modules["ament_index_python.packages"].get_package_share_directory = lambda _: str(conftest.ROOT)
        modules["launch"].LaunchDescription = lambda entities: entities
        action = lambda kind: lambda *one, **named: types.SimpleNamespace(kind=kind, one=one, name=one[0] if one else named.get("name"), named=named)
        for kind in ("DeclareLaunchArgument", "IncludeLaunchDescription", "LogInfo", "OpaqueFunction", "UnsetLaunchConfiguration"):
            setattr(modules["launch.actions"], kind, action(kind))
        modules["launch.launch_description_sources"].PythonLaunchDescriptionSource = str
        modules["launch.substitutions"].Command = lambda parts: types.SimpleNamespace(perform=lambda _: XACRO[parts[0], Path(parts[1]).name])
        self.context = types.SimpleNamespace(
            launch_configurations=dict(text.split(":=", 1) for text in command_line) | included, argv=list(command_line)
        )
        modules["launch.substitutions"].LaunchConfiguration = lambda name: types.SimpleNamespace(
            perform=lambda context: context.launch_configurations[name]
        )
        modules["launch_ros.actions"].Node = action("Node")
        modules["launch_ros.parameter_descriptions"].ParameterValue = lambda value, value_type: value_type(value)
        before = {name: sys.modules.get(name) for name in modules}
        sys.modules.update(modules)
        try:
            self.entities = runpy.run_path(str(conftest.ROOT / "launch" / file))["generate_launch_description"]()
        finally:
            for name, module in before.items():
                sys.modules.pop(name) if module is None else sys.modules.update({name: module})
        self.arguments = {entity.name: entity.named for entity in self.entities if entity.kind == "DeclareLaunchArgument"}

    def start(self):
        """Returns the node, and the output."""
        said = []
        for entity in self.entities:
            if entity.kind == "DeclareLaunchArgument":
                self.context.launch_configurations.setdefault(entity.name, entity.named["default_value"])
                continue
            for made in entity.named["function"](self.context):
                if made.kind == "Node":
                    self.node = made.named
                elif made.kind == "UnsetLaunchConfiguration":
                    del self.context.launch_configurations[made.name]
                else:
                    said.append(made.named["msg"])
        self.given = {name: value for one in self.node["parameters"] if isinstance(one, dict) for name, value in one.items()}
        return said


XACRO = {("xacro ", "a.urdf.xacro"): "<robot name='a'><link name='tip'/><link name='root'/><joint><child link='tip'/></joint></robot>"}


@pytest.mark.parametrize(("arguments", "executables"), [
    ((), ["robot_state_publisher", "joint_state_publisher_gui", "rviz2"]),
    (("sliders:=false", "rviz:=false"), ["robot_state_publisher", "joint_state_publisher"]),
])  # fmt: skip
def test_the_launch_file_of_a_robot(tmp_path, arguments, executables):
    path = tmp_path / "a.urdf.xacro"
    path.write_text("<robot/>")
    launch = Launch(f"model:={path}", *arguments, file="robot.launch.py")
    (function,) = [entity for entity in launch.entities if entity.kind == "OpaqueFunction"]
    for name, argument in launch.arguments.items():
        launch.context.launch_configurations.setdefault(name, argument.get("default_value"))
    nodes = [node.named for node in function.named["function"](launch.context)]
    assert [node["executable"] for node in nodes] == executables
    assert nodes[0]["parameters"] == [{"robot_description": XACRO["xacro ", "a.urdf.xacro"]}]
    if "rviz2" in executables:
        assert nodes[-1]["arguments"] == ["-d", str(conftest.ROOT / "rviz/robot.rviz"), "-f", "root"]
    included = [entity.name for entity in launch.entities if entity.kind == "IncludeLaunchDescription"]
    assert included == [str(conftest.ROOT / "launch/bridge.launch.py")]
    assert yaml.safe_load((conftest.ROOT / "rviz/robot.rviz").read_text())["Visualization Manager"]["Displays"]
    for text in ("", "<robot name='a'/>", "<robot"):
        path = tmp_path / "bad.urdf"
        path.write_text(text)
        launch.context.launch_configurations["model"] = str(path)
        with pytest.raises(RuntimeError, match="bad.urdf: not a URDF"):
            function.named["function"](launch.context)


def test_launch_files_depend_on_what_they_use():
    package = ElementTree.parse(conftest.ROOT / "package.xml").getroot()
    needed = {depend.text for kind in ("depend", "exec_depend") for depend in package.iter(kind)}
    for path in (conftest.ROOT / "launch").iterdir():
        text = path.read_text()
        modules = set(re.findall(r"^(?:from|import) (\w+)", text, re.MULTILINE)) - set(sys.stdlib_module_names)
        packages = set(re.findall(r'package="(\w+)"', text)) - {"urdf_usd"}
        wanted = {{"yaml": "python3-yaml"}.get(module, module) for module in modules} | packages
        assert wanted <= needed, wanted - needed


def test_every_parameter_is_a_launch_argument():
    def flat(tree, prefix=""):
        for key, value in tree.items():
            yield from flat(value, f"{prefix}{key}.") if isinstance(value, dict) else [(prefix + key, value)]

    in_file = dict(flat(yaml.safe_load((conftest.ROOT / "config/bridge.yaml").read_text())["/**"]["ros__parameters"]))
    described = {row["name"]: row for row in json.loads((conftest.ROOT / "config/parameters.json").read_text())}
    assert len(described) > 40 and in_file == {name: row["default"] for name, row in described.items() if row["default"] != []}
    arguments = Launch().arguments
    assert {*described} | {"use_sim_time", "name", "namespace"} <= {*arguments}
    # An argument of this name is a setting of launch_ros that applies to every node.
    assert "ros_namespace" not in arguments
    for name, row in described.items():
        assert row["description"] in arguments[name]["description"] and (arguments[name]["choices"] or []) == row["choices"], name
        assert Launch(f"{name}:={arguments[name]['default_value'] or repr('')}").start() == []


def test_launch_arguments_reach_the_node():
    launch = Launch()
    assert launch.start() == [] and launch.given == {} and launch.node["parameters"] == [str(conftest.ROOT / "config/bridge.yaml")]
    launch = Launch(
        "discover:=true", "capture_interfaces:=True", "gltf.physics:=yes", "formats:=[usd, usdz]", "packages:=a=/b", "settle_time:=1",
        "workers:=3", "asset_namespace:=no", "frames.ignore:=[1, yes]", "description_from:=''", "http.port:=8700", "base:=auto", "name:=twin",
    )  # fmt: skip
    assert launch.start() == []
    assert launch.given == {
        "discover": True, "capture_interfaces": True, "gltf.physics": True, "formats": ["usd", "usdz"], "packages": ["a=/b"],
        "settle_time": 1.0, "workers": 3, "asset_namespace": "no", "frames.ignore": ["1", "yes"], "description_from": "", "http.port": 8700,
        "base": "auto",
    }  # fmt: skip
    assert isinstance(launch.given["settle_time"], float) and launch.node["name"] == "twin"
    # A second inclusion does not mistake the defaults of the first for given arguments.
    launch.context.launch_configurations["name"] = "second"
    launch.start()
    assert launch.node["name"] == "second" and "strict" not in launch.given
    launch = Launch("viewer:=false", "params_file:=/my.yaml")
    launch.start()
    assert launch.node["parameters"][1:] == ["/my.yaml", {"http.port": 0}]


@pytest.mark.parametrize(
    ("argument", "part"),
    [
        ("discovr:=true", "no argument discovr. Did you mean discover?"),
        ("nonsense:=true", "--show-args"),
        ("discover:=maybe", "type bool"),
        ("workers:=many", "type integer"),
        ("workers:=1.5", "type integer"),
        ("settle_time:=soon", "type double"),
        ("formats:=[[usd]]", "a list of strings"),
        ("formats:=[]", "empty list"),
    ],
)
def test_arguments_that_the_launch_file_rejects(argument, part):
    with pytest.raises(RuntimeError, match=re.escape(part)):
        Launch(argument).start()


def test_another_launch_file_may_have_other_arguments():
    launch = Launch("robot:=arm", camera="c", discovr="true")
    assert launch.start() == ["[bridge.launch.py] warning: bridge.launch.py has no argument discovr. Did you mean discover?"]
    assert launch.given == {}


GENERATOR = """
import json, sys, pathlib
arguments = json.loads(pathlib.Path(sys.argv[sys.argv.index("--generator-arguments-file") + 1]).read_text())
source = pathlib.Path(arguments["output_dir"], "rust", "src")
source.mkdir(parents=True)
source.joinpath("..", "Cargo.toml").write_text("unfit")
idl = [pathlib.Path(*entry.rsplit(":", 1)).read_text() for entry in arguments["idl_tuples"]]
source.joinpath("msg.rs").write_text("".join(idl))
print("made", arguments["package_name"])
"""


def test_messages_without_rust_get_it(tmp_path):
    """The closure over packages, with a generator that copies the .idl, which is Rust here."""

    def idl(prefix, package, name, text):
        file = tmp_path / prefix / package / "msg" / f"{name}.idl"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    idl("build", "own", "A", "pub a: outer::msg::B, pub b: super::msg::X, pub c: own::msg::Y, std::string::String")
    idl("over/share", "outer", "B", "inner::msg::rmw::C inner::msg::D")
    idl("under/share", "outer", "B", "never::msg::Read")
    idl("under/share", "inner", "C", "pub x: f64")
    (tmp_path / "generator.py").write_text(GENERATOR)
    (tmp_path / "templates").mkdir()
    show = "import os; print(os.environ['AMENT_PREFIX_PATH'])"

    def build(prefixes="over:under"):
        paths = ":".join(str(tmp_path / prefix) for prefix in prefixes.split(":"))
        command = [sys.executable, conftest.ROOT / "cmake/with_rust_messages.py", "--generator", tmp_path / "generator.py"]
        command += ["--templates", tmp_path / "templates", "--prefix", tmp_path / "rust", "--libraries", tmp_path]
        command += ["--own", f"own={tmp_path / 'build/own'}", "--packages", "outer", "--command", sys.executable, "-c", show]
        return run(command, env=os.environ | {"AMENT_PREFIX_PATH": paths})

    code, said = build()
    assert code == 0, said
    assert sorted(re.findall("made (.*)", said)) == ["inner", "outer", "own"]
    assert said.splitlines()[-1].split(":") == [str(tmp_path / p) for p in ("rust", "over", "under")]
    assert (tmp_path / "rust/lib").resolve() == tmp_path.resolve()
    for package, needs in [("own", ["outer"]), ("outer", ["inner"]), ("inner", [])]:
        manifest = (tmp_path / "rust/share" / package / "rust/Cargo.toml").read_text()
        assert f'name = "{package}"' in manifest and "[package.metadata.ros-env]\ninclude = true" in manifest
        assert re.findall(r'^(\w+) = "\*"$', manifest, re.MULTILINE) == needs
    # Generated once, until an input changes.
    assert "made" not in build()[1]
    idl("build", "own", "A2", "pub x: f64")
    assert len(re.findall("made (.*)", build()[1])) == 3
    code, said = build("over")
    assert code != 0 and "`inner`" in said and "AMENT_PREFIX_PATH" in said


def test_messages_are_staged_for_r2r(tmp_path):
    """What r2r reads of a package that is not installed, in a prefix whose name changes with it."""
    build = tmp_path / "build"

    def write(file, text):
        file = build / file
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    write("rosidl_generator_c/own/msg/a.h", "struct")
    write("rosidl_typesupport_introspection_c/own/msg/detail/a__rosidl_typesupport_introspection_c.h", "members")
    write("rosidl_typesupport_fastrtps_c/own/msg/detail/a__rosidl_typesupport_fastrtps_c.h", "not read")
    write("ament_cmake_index/share/ament_index/resource_index/rosidl_interfaces/own", "msg/A.idl")
    write("libown__rosidl_generator_c.so", "")
    show = "import os; print(os.environ['AMENT_PREFIX_PATH'], os.environ['LD_LIBRARY_PATH'], os.environ['IDL_PACKAGE_FILTER'], sep='\\n')"

    def stage():
        command = [sys.executable, conftest.ROOT / "cmake/with_staged_messages.py", "--own", "own", "--build", build]
        command += ["--packages", "std_msgs", "--command", sys.executable, "-c", show]
        env = os.environ | {"AMENT_PREFIX_PATH": "/under", "LD_LIBRARY_PATH": "", "IDL_PACKAGE_FILTER": "user_msgs;std_msgs"}
        code, said = run(command, env=env)
        assert code == 0, said
        prefixes, libraries, bound = said.splitlines()
        prefix, under = prefixes.split(":")
        assert under == "/under" and libraries == f"{prefix}/lib" and bound == "std_msgs;own;user_msgs"
        return Path(prefix)

    prefix = stage()
    files = {str(file.relative_to(prefix)) for file in prefix.rglob("*") if file.is_file() and "lib" not in file.relative_to(prefix).parts}
    assert files == {
        "include/own/own/msg/a.h",
        "include/own/own/msg/detail/a__rosidl_typesupport_introspection_c.h",
        "share/ament_index/resource_index/rosidl_interfaces/own",
    }
    assert (prefix / "lib/libown__rosidl_generator_c.so").is_file()
    assert stage() == prefix
    write("rosidl_generator_c/own/msg/a.h", "changed")
    changed = stage()
    assert changed != prefix and not prefix.exists() and (changed / "include/own/own/msg/a.h").read_text() == "changed"
