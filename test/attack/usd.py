"""Generators of hostile OpenUSD assets: small files that ask for much memory or time.

    python test/attack/usd.py KIND FOLDER [--size N]

writes one asset into FOLDER and prints the path of its entry. Layers in the binary encoding are written by `usd-core`.
"""

import argparse
from pathlib import Path

HEADER = '#usda 1.0\n(\n    defaultPrim = "robot"\n    metersPerUnit = 1\n    upAxis = "Z"\n)\n'

#: Arcs of prims by the name of their metadata; each can form a ladder within one layer.
LOCAL_ARCS = ("inherits", "specializes", "references", "payload")


def shared_array(folder, size):
    """`size` attributes that share one array of a million integers, which compresses to a few hundred bytes."""
    return _arrays(folder, [[0] * 1_000_000] * size)


def large_arrays(folder, size):
    """`size` different arrays of fifty million integers each."""
    from pxr import Vt

    return _arrays(folder, (Vt.IntArray(50_000_000, index) for index in range(size)))


def shared_metadata(folder, size):
    """`size` attributes that share one dictionary with an array of a million integers."""
    from pxr import Sdf, Vt

    layer, prim = _binary_layer()
    values = {"values": Vt.IntArray(1_000_000)}
    for index in range(size):
        attribute = Sdf.AttributeSpec(prim, f"a{index}", Sdf.ValueTypeNames.Int)
        attribute.SetInfo("customData", values)
    return _exported(layer, folder)


def ladder(folder, size, arc):
    """A ladder of `size` rungs: both prims of each rung have an arc to both prims of the next, so there are 2^size paths."""
    text = [HEADER, f'def Xform "robot" ({_arcs(arc, ["/a0", "/b0"])})\n{{\n}}\n']
    for rung in range(size):
        below = [f"/a{rung + 1}", f"/b{rung + 1}"] if rung + 1 < size else []
        for side in "ab":
            text.append(f'class Xform "{side}{rung}" ({_arcs(arc, below)})\n{{\n    custom int {side}{rung} = {rung}\n}}\n')
    return _text(folder, "robot.usda", "".join(text))


def nested_ladder(folder, size, arc):
    """A ladder whose rungs are below their prim: composing each also composes the prims above."""
    text = [HEADER, f'def Xform "robot" ({_arcs(arc, ["/s/a0", "/s/b0"])})\n{{\n}}\n', 'class Scope "s"\n{\n']
    for rung in range(size):
        below = [f"/s/a{rung + 1}", f"/s/b{rung + 1}"] if rung + 1 < size else []
        for side in "ab":
            text.append(f'class Xform "{side}{rung}" ({_arcs(arc, below)})\n{{\n    def Scope "in{rung}{side}"\n    {{\n    }}\n}}\n')
    return _text(folder, "robot.usda", "".join([*text, "}\n"]))


def layer_ladder(folder, size, arc):
    """A ladder of layers: both of each rung reference, load or include both of the next."""
    for rung in range(size):
        below = [f"{side}{rung + 1}.usda" for side in "ab"] if rung + 1 < size else []
        for side in "ab":
            _text(folder, f"{side}{rung}.usda", _layer(arc, below, f"{side}{rung}"))
    return _text(folder, "robot.usda", _layer(arc, ["a0.usda", "b0.usda"], "top"))


def _layer(arc, below, name):
    paths = ", ".join(f"@{layer}@" for layer in below)
    header, on_prim = HEADER, ""
    if below and arc == "subLayers":
        header = HEADER.replace("(\n", f"(\n    subLayers = [{paths}]\n", 1)
    elif below:
        on_prim = f"\n    prepend {arc} = [{paths}]\n"
    return f'{header}def Xform "robot" ({on_prim})\n{{\n    custom int {name} = 1\n}}\n'


def variant_ladder(folder, size):
    """Nested variant sets: both variants of each set contain all further sets."""
    def level(depth):
        if depth == size:
            return "def Scope \"end\" {}\n"
        return f'variantSet "v{depth}" = {{\n"x" ( variants = {{ string v{depth + 1} = "x" }} ) {{\n{level(depth + 1)}}}\n"y" {{\n}}\n}}\n'

    text = f'{HEADER}def Xform "robot" (\n    variants = {{ string v0 = "x" }}\n    prepend variantSets = "v0"\n)\n{{\n{level(0)}}}\n'
    return _text(folder, "robot.usda", text)


def variant_sets(folder, size):
    """`size` variant sets on one prim."""
    names = [f"set{index}" for index in range(size)]
    text = [HEADER, 'def Xform "robot" (\n    variants = {\n']
    text += [f'        string {name} = "a"\n' for name in names]
    text += ["    }\n    prepend variantSets = [", ", ".join(f'"{name}"' for name in names), "]\n)\n{\n"]
    text += [f'    variantSet "{name}" = {{\n        "a" {{\n            custom int {name} = 1\n        }}\n        "b" {{\n        }}\n    }}\n' for name in names]
    return _text(folder, "robot.usda", "".join([*text, "}\n"]))


def siblings(folder, size):
    """A robot of `size` bodies side by side, each with a revolute joint to the first."""
    text = [HEADER, 'def Xform "robot" (prepend apiSchemas = ["PhysicsArticulationRootAPI"])\n{\n']
    for index in range(size):
        text.append(f'    def Xform "link{index}" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])\n    {{\n'
                    f'        float physics:mass = 1\n    }}\n')
    for index in range(1, size):
        text.append(_joint(f"joint{index}", "/robot/link0", f"/robot/link{index}", 4))
    return _text(folder, "robot.usda", "".join([*text, "}\n"]))


def nested(folder, size, width=1):
    """`size` bodies nested in one another, up to 200 deep in a chain, with chains side by side."""
    text, joints, link = [HEADER, 'def Xform "robot" (prepend apiSchemas = ["PhysicsArticulationRootAPI"])\n{\n'], [], 0
    while link < size:
        depth, path = 0, "/robot"
        while depth < 200 and link < size:
            path += f"/link{link}"
            text.append(f'def Xform "link{link}" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])\n{{\nfloat physics:mass = 1\n')
            joints.append(_joint(f"joint{link}", path.rsplit("/", 1)[0], path, 4))
            depth, link = depth + 1, link + 1
        text.append("}\n" * depth)
    return _text(folder, "robot.usda", "".join([*text, *joints, "}\n"]))


def _joint(name, body0, body1, indent):
    space = " " * indent
    rel0 = f"{space}    rel physics:body0 = <{body0}>\n" if body0 != "/robot" else ""
    return (f'{space}def PhysicsRevoluteJoint "{name}"\n{space}{{\n{rel0}{space}    rel physics:body1 = <{body1}>\n'
            f'{space}    uniform token physics:axis = "Z"\n{space}}}\n')


def prims(folder, size):
    """`size` prims in groups of a thousand."""
    text = [HEADER, 'def Xform "robot"\n{\n']
    for start in range(0, size, 1000):
        text.append(f'    def Scope "group{start // 1000}"\n    {{\n')
        text += [f'        def Scope "p{index}" {{\n        }}\n' for index in range(start, min(start + 1000, size))]
        text.append("    }\n")
    return _text(folder, "robot.usda", "".join([*text, "}\n"]))


def instances(folder, size):
    """Groups of ten prims that reference the next group, so that there are 10^size prims."""
    text = [HEADER, 'def Xform "robot" (references = </g0>)\n{\n}\n']
    for group in range(size):
        below = f" (references = </g{group + 1}>)" if group + 1 < size else ""
        text.append(f'class Xform "g{group}"\n{{\n')
        text += [f'    def Xform "p{index}"{below} {{\n    }}\n' for index in range(10)]
        text.append("}\n")
    return _text(folder, "robot.usda", "".join(text))


def long_names(folder, size):
    """One prim with a name of `size` bytes and a child per ten bytes: their paths take size² / 10 bytes."""
    text = [HEADER, f'def Xform "robot"\n{{\n    def Scope "{"n" * size}"\n    {{\n']
    text += [f'        def Scope "p{index}" {{\n        }}\n' for index in range(size // 10)]
    return _text(folder, "robot.usda", "".join([*text, "    }\n}\n"]))


def long_names_binary(folder, size):
    """As `long_names`, in the binary encoding."""
    from pxr import Sdf

    layer = Sdf.Layer.FindOrOpen(str(long_names(folder, size)))
    return _exported(layer, folder)


def _arrays(folder, arrays):
    from pxr import Sdf, Vt

    layer, prim = _binary_layer()
    known = {}
    for index, values in enumerate(arrays):
        if id(values) not in known:
            known = {id(values): (values, Vt.IntArray(values))}
        attribute = Sdf.AttributeSpec(prim, f"a{index}", Sdf.ValueTypeNames.IntArray)
        attribute.default = known[id(values)][1]
    return _exported(layer, folder)


def _binary_layer():
    from pxr import Sdf

    layer = Sdf.Layer.CreateAnonymous(".usdc")
    layer.defaultPrim = "robot"
    layer.pseudoRoot.SetInfo("metersPerUnit", 1.0)
    layer.pseudoRoot.SetInfo("upAxis", "Z")
    prim = Sdf.PrimSpec(layer, "robot", Sdf.SpecifierDef, "Xform")
    return layer, prim


def _exported(layer, folder):
    path = Path(folder) / "robot.usdc"
    layer.Export(str(path))
    return path


def _arcs(arc, targets):
    return f"prepend {arc} = [{', '.join(f'<{target}>' for target in targets)}]" if targets else ""


def _text(folder, name, text):
    path = Path(folder) / name
    path.write_text(text)
    return path


#: The kinds of assets, with their generators and harmful sizes.
KINDS = {
    "shared-array": (shared_array, 3000),
    "large-arrays": (large_arrays, 20),
    "shared-metadata": (shared_metadata, 3000),
    "variant-ladder": (variant_ladder, 40),
    "variant-sets": (variant_sets, 3000),
    "siblings": (siblings, 20_000),
    "nested": (nested, 5000),
    "prims": (prims, 2_000_000),
    "instances": (instances, 8),
    "long-names": (long_names, 1_000_000),
    "long-names-binary": (long_names_binary, 1_000_000),
}
for _arc in LOCAL_ARCS:
    KINDS[f"ladder-{_arc}"] = (lambda folder, size, arc=_arc: ladder(folder, size, arc), 30)
    KINDS[f"nested-ladder-{_arc}"] = (lambda folder, size, arc=_arc: nested_ladder(folder, size, arc), 30)
for _arc in ("subLayers", "references", "payload"):
    KINDS[f"layer-ladder-{_arc}"] = (lambda folder, size, arc=_arc: layer_ladder(folder, size, arc), 30)


def write(kind, folder, size=None):
    """Writes an asset of `kind` into `folder`, which exists, and returns the path of its entry."""
    generator, default = KINDS[kind]
    return generator(folder, default if size is None else size)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=sorted(KINDS))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--size", type=int, help="how large; that of the first attack by default")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    print(write(arguments.kind, arguments.folder, arguments.size))


if __name__ == "__main__":
    main()
