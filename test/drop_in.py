"""Converts URDF files with urdf-usd-converter, or with this project's replacement of it, and prints what programs that open the assets read.

Arguments: `theirs` or `ours`, a folder for output, the folder of ROS packages, then URDF files. The output is JSON: facts by file, or the types
of the exception.
"""

import hashlib
import json
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import newton_usd_schemas  # noqa: F401 - registers Newton's schemas
from pxr import Gf, Usd, UsdGeom, UsdPhysics, UsdShade


def numbers(value):
    """Returns a value as a list of numbers."""
    if isinstance(value, Gf.Matrix4d):
        return [number for row in value for number in row]
    return [float(value)] if isinstance(value, (int, float)) else [float(number) for number in value]


def image(texture):
    """Returns the digest of the image that a shader of a texture reads."""
    (file,) = UsdShade.Shader(texture).GetInput("file").GetValueProducingAttributes()
    return hashlib.sha256(Path(file.Get().resolvedPath).read_bytes()).hexdigest()


def colour(shape):
    """Returns the diffuse colours and digests of images of a shape, sorted; `None` if it has an image, but no texture coordinates."""
    found = set()
    for prim in Usd.PrimRange(shape):
        if prim.IsA(UsdGeom.Gprim) or prim.GetTypeName() == "GeomSubset":
            material, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()
            shader = material.ComputeSurfaceSource()[0] if material else None
            sources = shader.GetInput("diffuseColor").GetValueProducingAttributes() if shader else []
            if any(each.Get() is None for each in sources) and not UsdGeom.PrimvarsAPI(prim).HasPrimvar("st"):
                # This project shows the mean colour there.
                return None
            found |= {image(each.GetPrim()) if each.Get() is None else str([round(abs(part), 2) for part in each.Get()]) for each in sources}
    return sorted(found)


def turn(joint):
    """Returns the pose of the second body in the first at zero, and the axis in the second."""
    pose = []
    for side in ("0", "1"):
        position, rotation = (joint.GetAttribute(f"physics:local{what}{side}").Get() for what in ("Pos", "Rot"))
        pose.append(Gf.Matrix4d(Gf.Rotation(Gf.Quatd(rotation)), Gf.Vec3d(position)))
    axis = joint.GetAttribute("physics:axis")
    axis = pose[1].TransformDir(Gf.Vec3d(*(float(name == axis.Get()) for name in "XYZ"))) if axis else None
    return numbers(pose[1].GetInverse() * pose[0]), None if axis is None else numbers(axis)


def original(prim):
    """Returns a prim's name in the URDF."""
    return prim.GetDisplayName() or prim.GetName()


def pairs(robot):
    """Returns links with their parents; that of a root is the scope of geometry."""
    parents = {joint.find("child").get("link"): joint.find("parent").get("link") for joint in robot.findall("joint")}
    return {(link.get("name"), parents.get(link.get("name"), "Geometry")) for link in robot.findall("link")}


def facts(path, names):
    """Returns what the asset at a path contains; `names` are pairs of a link and its parent."""
    stage = Usd.Stage.Open(path)
    root = stage.GetDefaultPrim()
    relative = lambda prim_path: str(prim_path.MakeRelativePath(root.GetPath()))  # noqa: E731
    poses, boxes = UsdGeom.XformCache(), UsdGeom.BBoxCache(Usd.TimeCode.Default(), ["default", "guide"])
    links, shapes, joints, parts = {}, {}, {}, set()
    for prim in Usd.PrimRange(root.GetChild("Geometry")):
        if not prim.IsA(UsdGeom.Xformable):
            continue
        if relative(prim.GetPath().GetParentPath()) in {*shapes, *parts}:
            parts.add(relative(prim.GetPath()))
            continue
        fact = {"display_name": prim.GetDisplayName()}
        if prim.IsA(UsdGeom.Gprim) or prim.HasAuthoredReferences() or (original(prim), original(prim.GetParent())) not in names:
            box = boxes.ComputeWorldBound(prim).ComputeAlignedRange()
            leaf = next(part for part in Usd.PrimRange(prim) if part.IsA(UsdGeom.Gprim))
            fact |= {"box": [*numbers(box.GetMin()), *numbers(box.GetMax())], "colour": colour(prim), "schemas": sorted(leaf.GetAppliedSchemas())}
            fact["schemas"] = [name for name in fact["schemas"] if name != "MaterialBindingAPI"]
            fact["purpose"] = UsdGeom.Imageable(prim).ComputePurpose()
            shapes[relative(prim.GetPath())] = fact
            continue
        fact |= {"pose": numbers(poses.GetLocalToWorldTransform(prim)), "schemas": sorted(prim.GetAppliedSchemas()), "type": prim.GetTypeName()}
        fact["operations"] = [operation.GetOpName() for operation in UsdGeom.Xformable(prim).GetOrderedXformOps()]
        if prim.HasAPI(UsdPhysics.MassAPI):
            fact["mass"] = prim.GetAttribute("physics:mass").Get()
            fact["inertia"] = numbers(prim.GetAttribute("newton:inertia").Get() or [])
            # Without one, the converter authors none, which engines read as the centre of the colliders.
            center = prim.GetAttribute("physics:centerOfMass")
            fact["center"] = numbers(center.Get()) if center.HasAuthoredValue() else [0.0, 0.0, 0.0]
        links[relative(prim.GetPath())] = fact
    for prim in root.GetChild("Physics").GetChildren():
        joint = UsdPhysics.Joint(prim)
        fact = {"type": prim.GetTypeName(), "display_name": prim.GetDisplayName(), "schemas": sorted(prim.GetAppliedSchemas())}
        fact["bodies"] = [[relative(body) for body in side.GetTargets()] for side in (joint.GetBody0Rel(), joint.GetBody1Rel())]
        fact["pose"], fact["axis"] = turn(prim)
        for name in ("physics:lowerLimit", "physics:upperLimit", "newton:damping", "newton:friction", "newton:velocityLimit", "urdf:limit:effort",
                     "newton:mimicCoef0", "newton:mimicCoef1"):  # fmt: skip
            attribute = prim.GetAttribute(name)
            fact[name] = numbers(attribute.Get()) if attribute and attribute.HasAuthoredValue() else None
        mimic = prim.GetRelationship("newton:mimicJoint")
        fact["mimic"] = [relative(leader) for leader in mimic.GetTargets()] if mimic else []
        joints[prim.GetName()] = fact
    layer = stage.GetRootLayer()
    return {
        "name": root.GetName(),
        "kind": Usd.ModelAPI(root).GetKind(),
        "comment": layer.comment,
        "units": [stage.GetMetadata(key) for key in ("upAxis", "metersPerUnit", "kilogramsPerUnit")],
        "files": sorted(str(file.relative_to(Path(path).parent)) for file in Path(path).parent.rglob("*") if file.is_file()),
        "prim_stack": [Path(spec.layer.realPath).name for spec in root.GetPrimStack()],
        "root_prims": [f"{prim.GetName()} {prim.GetTypeName()} {sorted(prim.GetAppliedSchemas())}" for prim in stage.GetPseudoRoot().GetChildren()],
        "scopes": [prim.GetName() for prim in root.GetChildren()],
        "custom": sorted(relative(prim.GetPath()) for prim in stage.Traverse() if prim.GetTypeName() == "Scope"),
        "order": list(joints),
        "links": links,
        "shapes": shapes,
        "joints": joints,
    }


def main(which, out, packages, *files):
    if which == "theirs":
        from urdf_usd_converter import Converter
    else:
        from urdf_usd.compat.urdf_usd_converter import Converter
    ros_packages = [{"name": folder.name, "path": str(folder)} for folder in Path(packages).iterdir() if (folder / "package.xml").exists()]
    found = {}
    for file in files:
        for flat in (False, True):
            key = f"{Path(file).name}{' flat' if flat else ''}"
            converter = Converter(not flat, not flat, "a comment", ros_packages)
            try:
                path = converter.convert(file, f"{out}/{key}").path
                found[key] = facts(path, pairs(ElementTree.parse(file).getroot()))
            except Exception as error:  # noqa: BLE001 - what is raised is compared
                found[key] = {"error": [kind.__name__ for kind in type(error).__mro__]}
    print(json.dumps(found))


main(*sys.argv[1:])
