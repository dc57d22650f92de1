"""Every command that takes a path does the same for each spelling of it: bare, `./`, absolute, through a link, from another folder."""

import re
import shutil

import pytest
from conftest import run
from pxr import Usd

SHAPE = '<geometry><box size="0.1 0.2 0.3"/></geometry>'
LINK = (
    '<link name="{}"><inertial><mass value="1"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>'
    f"<visual>{SHAPE}</visual><collision>{SHAPE}</collision></link>"
)
ROBOT = f"""<robot name="bot">{LINK.format("base")}{LINK.format("bob")}
  <joint name="pivot" type="revolute"><parent link="base"/><child link="bob"/><origin xyz="0 0 0.5"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="5" velocity="2"/></joint>
</robot>"""
OVERLAYS = (".isaac.usda", ".poses.usda", ".posed.usda")

#: The arguments of each command. Brief notes are cut at a length that includes paths, hence `-v`. `@NAME` is an input, `>NAME` an output.
COMMANDS = {
    "convert a URDF": ["convert", "@bot.urdf", "-o", ">out", "--formats", "usd,glb,urdf,mjcf,sdf", "-v"],
    "convert OpenUSD": ["convert", "@bot.usda", "-o", ">out", "--formats", "usd,glb,urdf", "-v"],
    "convert glTF": ["convert", "@bot.glb", "-o", ">out", "--formats", "usd,glb,urdf", "-v"],
    "convert with files": ["convert", "@bot.urdf", "-o", ">out", "--srdf-file", "@bot.srdf", "--masses-file", "@masses.yaml", "--allowed-root", "@."],
    "inspect a URDF": ["inspect", "@bot.urdf", "--json"],
    "inspect OpenUSD": ["inspect", "@bot.usda", "--json"],
    "inspect glTF": ["inspect", "@bot.glb", "--json"],
    "check OpenUSD": ["check", "@bot.usda"],
    "check glTF": ["check", "@bot.glb"],
    "fix": ["fix", "@bot.usda", "-o", ">out"],
    "isaac tree": ["isaac", "tree", "@bot.usda"],
    "isaac validate": ["isaac", "validate", "@bot.usda", "--json"],
    "isaac populate": ["isaac", "populate", "@bot.usda"],
    "isaac populate elsewhere": ["isaac", "populate", "@bot.usda", "-o", ">out"],
    "isaac recalculate": ["isaac", "recalculate", "@bot.usda"],
    "isaac migrate": ["isaac", "migrate", "@bot.usda"],
    "pose of a URDF": ["pose", "@bot.urdf"],
    "pose of OpenUSD": ["pose", "@bot.usda", "--set", "pivot=0.2"],
    "pose store": ["pose", "store", "@bot.usda", "high", "--set", "pivot=0.2"],
    "pose store elsewhere": ["pose", "store", "@bot.usda", "high", "--set", "pivot=0.2", "-o", ">out"],
    "pose list": ["pose", "list", "@bot.usda"],
    "pose get": ["pose", "get", "@bot.usda", "rest"],
    "pose apply": ["pose", "apply", "@bot.usda", "rest"],
    "pose delete": ["pose", "delete", "@bot.usda", "rest"],
    "pose export": ["pose", "export", "@bot.usda", ">poses.json"],
    "pose import": ["pose", "import", "@bot.usda", "@given.json"],
    "ik": ["ik", "@bot.urdf", "--tip", "bob", "--target", "0,0,0.5", "--srdf", "@bot.srdf"],
    "xrdf write": ["xrdf", "write", "@bot.urdf", "-o", ">out.xrdf", "-q", "--error", "0.05"],
    "xrdf check": ["xrdf", "check", "@bot.urdf", "@bot.xrdf"],
    "schema": ["schema", "-o", ">out"],
}
SPELLINGS = ["bare", "dot", "link", "another folder"]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Returns a folder with a robot in each format, and files about it."""
    folder = tmp_path_factory.mktemp("inputs")
    made = folder / "made"
    (folder / "bot.urdf").write_text(ROBOT)
    done = run("convert", folder / "bot.urdf", "-o", made, "--formats", "usd,glb")
    assert done.returncode == 0, done.stderr
    (entry,) = made.glob("*/bot.usda")
    shutil.copy(entry.with_suffix(".glb"), folder / "bot.glb")
    flat = Usd.Stage.Open(str(entry)).Flatten()
    flat.Export(str(folder / "bot.usda"))
    shutil.rmtree(made)
    (folder / "bot.srdf").write_text('<robot name="bot"/>')
    (folder / "masses.yaml").write_text("bob: 2\n")
    for arguments in (
        ["pose", "store", folder / "bot.usda", "rest", "--set", "pivot=0.1"],
        ["pose", "export", folder / "bot.poses.usda", folder / "given.json"],
        ["xrdf", "write", folder / "bot.urdf", "-o", folder / "bot.xrdf", "--error", "0.05"],
    ):
        done = run(*arguments)
        assert done.returncode == 0, done.stderr
    # One file, so that a link to it is the whole asset.
    flat = Usd.Stage.Open(str(folder / "bot.poses.usda")).Flatten()
    for made in folder.glob("*poses.usda"):
        made.unlink()
    flat.Export(str(folder / "bot.usda"))
    return folder


def done_by(arguments, spelling, inputs, root):
    """Runs a command, and returns the exit code, the output and the files, without the names of folders."""
    place, linked, elsewhere = root / "place", root / "linked", root / "elsewhere"
    shutil.copytree(inputs, place)
    (place / "out").mkdir()
    linked.mkdir()
    elsewhere.mkdir()
    given = {path.name for path in place.iterdir()}
    for path in place.iterdir():
        (linked / path.name).symlink_to(path)
    folder, start = {
        "bare": (place, ""),
        "dot": (place, "./"),
        "absolute": (elsewhere, f"{place}/"),
        "link": (elsewhere, "../linked/"),
        "another folder": (elsewhere, "../place/"),
    }[spelling]
    spelled = [(start + argument[1:] or ".") if argument[0] in "@>" else argument for argument in arguments]
    done = run(*spelled, cwd=folder)

    def plain(text):
        for name in (f"{root}/elsewhere/", "../place/", "../linked/", f"{place}/", f"{linked}/", str(place), str(linked)):
            text = text.replace(name, "")
        # Lines are wrapped by the length of paths.
        text = " ".join(re.sub(r"(?<![\w.])\./", "", text).replace("│", " ").split())
        return re.sub(r"\d+(\.\d+)? m?s\b", "", text)

    files = {}
    for above in (place, linked):
        for path in sorted(above.rglob("*")):
            name = str(path.relative_to(above))
            if path.is_symlink() or path.is_dir() or name in given or path.name in ("report.json", ".lock"):
                continue
            if path.name.endswith(OVERLAYS):
                stage = Usd.Stage.Open(str(path))
                assert not stage.GetCompositionErrors() and stage.GetDefaultPrim().GetChildren(), name
                files[name] = stage.Flatten().ExportToString().split("\n)\n", 1)[1]
            elif not any(path.with_name(f"bot{overlay}").is_file() and f".{path.name}" == overlay for overlay in OVERLAYS):
                files[name] = path.read_bytes()
    return done.returncode, plain(done.stdout), plain(done.stderr), files


@pytest.mark.parametrize("command", COMMANDS)
def test_spellings_of_a_path_are_one(command, inputs, tmp_path):
    wanted = done_by(COMMANDS[command], "absolute", inputs, tmp_path / "absolute")
    assert wanted[0] in (0, 1) and "panicked" not in wanted[2], wanted
    writes = any(argument[0] == ">" for argument in COMMANDS[command]) or command.split()[-1] in ("populate", "recalculate", "store", "apply", "delete", "import")
    assert bool(wanted[3]) == writes or command == "isaac migrate", (command, wanted[2])
    for spelling in SPELLINGS:
        found = done_by(COMMANDS[command], spelling, inputs, tmp_path / spelling)
        for part, (is_now, should) in enumerate(zip(found, wanted)):
            assert is_now == should, f"{spelling}: {['exit code', 'output', 'messages', 'files'][part]}"
