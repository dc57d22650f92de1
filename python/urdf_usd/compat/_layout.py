"""Writes an asset of this program in the layout of urdf-usd-converter: links below `Geometry`, joints below `Physics`, and `Materials`.

The layers are authored with Sdf: no stage composes them, so that files of an earlier conversion that the process has open do no harm.
"""

from __future__ import annotations

import importlib
import math
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from .. import __version__
from ._description import Description, Link

# Applied schemas of source prims that the layout has, by their beginnings.
_SCHEMAS = ("PhysicsRigidBodyAPI", "PhysicsMassAPI", "PhysicsLimitAPI", "Newton")
# Namespaces of source attributes that the layout has.
_NAMESPACES = ("physics:", "limit:", "newton:", "urdf:")
# The pose at the start and marks, which the layout has not.
_OMITTED = ("newton:angular:", "newton:linear:", "urdf:inertial:assumed")
# The schemas' defaults, which urdf-usd-converter does not author.
_DEFAULTS = {
    "newton:damping": 0.0,
    "newton:friction": 0.0,
    "newton:mimicCoef0": 0.0,
    "newton:mimicCoef1": 1.0,
    "newton:mimicEnabled": True,
}
_SHAPE = re.compile(r"(?:visual|collision)_(\d+)")
# Elements of URDF, which are custom elements of the source where they could not be read.
_KNOWN = ("collision", "inertial", "visual")


class _Pxr:
    """Modules of OpenUSD, which is no dependency of the package."""

    def __init__(self) -> None:
        names = ("Gf", "Sdf", "Usd", "UsdGeom", "UsdPhysics", "UsdShade")
        self.Gf, self.Sdf, self.Usd, self.UsdGeom, self.UsdPhysics, self.UsdShade = (importlib.import_module(f"pxr.{name}") for name in names)


class _Names:
    """Names of prims, unique among siblings."""

    def __init__(self) -> None:
        self._taken: dict[str, set[str]] = {}
        try:
            # The encoding of urdf-usd-converter, which depends on usd-exchange.
            self._encode = importlib.import_module("usdex.core").getValidPrimName
        except ImportError:
            self._encode = _identifier

    def unique(self, parent: object, names: Iterable[str]) -> list[str]:
        """Returns names for children of a prim; a repeated one gets a number."""
        taken = self._taken.setdefault(str(parent), set())
        names = list(names)
        requested = {self._encode(name) for name in names}
        found = []
        for name in names:
            encoded, number = self._encode(name), 0
            while encoded in taken or (number and encoded in requested):
                number += 1
                encoded = self._encode(f"{name}_{number}")
            taken.add(encoded)
            found.append(encoded)
        return found


class _Writer:
    """The layers of an asset in the making."""

    def __init__(self, stage: Any, description: Description, name: str) -> None:
        self.pxr = _Pxr()
        self.stage = stage
        self.description = description
        self.source = stage.GetDefaultPrim()
        self.transforms = self.pxr.UsdGeom.XformCache()
        self.names = _Names()
        (encoded,) = self.names.unique("/", [name])
        self.name = name
        self.root = self.pxr.Sdf.Path.absoluteRootPath.AppendChild(encoded)
        self.libraries = {kind: self.layer(kind) for kind in ("Geometry", "Materials")}
        self.layers = {kind: self.layer(encoded, "Xform") for kind in ("Physics", "Geometry", "Materials", "Contents")}
        self.paths: dict[Any, Any] = {}
        self.materials: dict[Any, Any] = {}
        self.meshes: dict[tuple[Any, bool], Any] = {}
        self.textures: dict[str, Path] = {}
        self.merged = {carrier for link in description.links if (carrier := description.inertia_of(link))}

    def layer(self, default: str, type_name: str | None = None) -> Any:
        """Returns an empty layer with the metrics of the layout."""
        layer = self.pxr.Sdf.Layer.CreateAnonymous(".usda")
        layer.customLayerData = {"creator": f"urdf_usd {__version__}"}
        layer.defaultPrim = default
        root = layer.pseudoRoot
        for key, value in (("upAxis", "Z"), ("metersPerUnit", 1.0), ("kilogramsPerUnit", 1.0)):
            root.SetInfo(key, value)
        if type_name:
            self.define(layer, f"/{default}", type_name)
        return layer

    def over(self, layer: Any, path: object) -> Any:
        """Returns the spec of a prim, an over unless it exists."""
        return self.pxr.Sdf.CreatePrimInLayer(layer, self.pxr.Sdf.Path(str(path)))

    def define(self, layer: Any, path: object, type_name: str) -> Any:
        """Returns the spec of a prim that the layer defines."""
        spec = self.over(layer, path)
        spec.specifier = self.pxr.Sdf.SpecifierDef
        spec.typeName = type_name
        return spec

    def set(self, spec: Any, name: str, type_name: Any, value: Any, *, uniform: bool = False, custom: bool = False) -> None:
        """Authors an attribute."""
        sdf = self.pxr.Sdf
        variability = sdf.VariabilityUniform if uniform else sdf.VariabilityVarying
        if isinstance(type_name, str):
            type_name = sdf.ValueTypeNames.Find(type_name)
        sdf.AttributeSpec(spec, name, type_name, variability, custom).default = value

    def target(self, spec: Any, name: str, paths: Iterable[Any]) -> None:
        """Authors a relationship."""
        relationship = self.pxr.Sdf.RelationshipSpec(spec, name, False, self.pxr.Sdf.VariabilityUniform)
        relationship.targetPathList.explicitItems = list(paths)

    def apply(self, spec: Any, schemas: Iterable[str]) -> None:
        """Applies schemas after those that are applied."""
        before = spec.GetInfo("apiSchemas").prependedItems if spec.HasInfo("apiSchemas") else []
        schemas = list(dict.fromkeys([*before, *schemas]))
        if schemas:
            spec.SetInfo("apiSchemas", self.pxr.Sdf.TokenListOp.Create(prependedItems=schemas))

    def place(self, spec: Any, matrix: Any) -> None:
        """Authors a transform as translation, rotation and scale."""
        gf = self.pxr.Gf
        parts = gf.Transform(matrix)
        self.set(spec, "xformOp:translate", "double3", gf.Vec3d(parts.GetTranslation()))
        self.set(spec, "xformOp:orient", "quatf", gf.Quatf(parts.GetRotation().GetQuat()))
        self.set(spec, "xformOp:scale", "float3", gf.Vec3f(parts.GetScale()))
        self.set(spec, "xformOpOrder", "token[]", ["xformOp:translate", "xformOp:orient", "xformOp:scale"], uniform=True)

    def show_name(self, spec: Any, name: str) -> None:
        """Keeps a name that the prim can't have."""
        if spec.name != name:
            spec.SetInfo("displayName", name)

    def copy_attributes(self, prim: Any, spec: Any, namespaces: tuple[str, ...], omitted: tuple[str, ...] = ()) -> None:
        """Copies authored attributes of some namespaces."""
        omitted += _OMITTED
        # By name first: an attribute takes several times as long, and most are in other namespaces.
        for name in prim.GetAuthoredPropertyNames():
            if not name.startswith(namespaces) or name.startswith(omitted):
                continue
            attribute = prim.GetAttribute(name)
            value = attribute.Get() if attribute else None
            if value is None or _DEFAULTS.get(name) == value:
                continue
            uniform = attribute.GetVariability() == self.pxr.Sdf.VariabilityUniform
            self.set(spec, name, attribute.GetTypeName(), value, uniform=uniform, custom=name.startswith("urdf:"))

    def links(self) -> None:
        """Authors links with their shapes, from the root link down."""
        self.define(self.layers["Geometry"], self.root.AppendChild("Geometry"), "Scope")
        scope = self.root.AppendChild("Geometry")
        pending = [(prim, scope, self.source) for prim in self.children(self.source)]
        root = self.description.root
        if root and all(_name(prim) != root for prim, *_ in pending):
            # An empty root link, such as `world`, is the robot's prim in the source.
            path = scope.AppendChild(self.names.unique(scope, [root])[0])
            self.show_name(self.define(self.layers["Geometry"], path, "Xform"), root)
            pending = [(prim, path, self.source) for prim, *_ in pending]
        articulated = False
        placed: dict[str, tuple[Any, Any]] = {}
        waiting = 0
        while pending:
            prim, parent, above = pending.pop(0)
            name = _name(prim)
            wanted, _ = self.description.parents.get(name, ("", False))
            if wanted in placed:
                # A link that a floating joint connects is no child of its parent in the source.
                parent, above = placed[wanted]
            elif wanted in self.description.links and waiting < len(pending):
                pending.append((prim, parent, above))
                waiting += 1
                continue
            waiting = 0
            (encoded,) = self.names.unique(parent, [name])
            path = parent.AppendChild(encoded)
            self.paths[prim.GetPath()] = path
            placed[name] = (path, prim)
            spec = self.define(self.layers["Geometry"], path, "Xform")
            self.show_name(spec, name)
            if parent != scope:
                matrix, _ = self.transforms.ComputeRelativeTransform(prim, above)
                self.place(spec, matrix)
            self.custom(self.layers["Geometry"], prim, path)
            self.copy_attributes(prim, spec, ("urdf:",))
            if prim.HasAPI(self.pxr.UsdPhysics.RigidBodyAPI):
                articulated = self.body(prim, path, articulated) or articulated
            self.shapes(prim, path, self.description.links.get(name, Link()))
            pending += [(child, path, prim) for child in self.children(prim)]

    def children(self, prim: Any) -> Iterator[Any]:
        """Returns the links attached to a link. A camera's optical frame is below the camera."""
        parent = None if prim == self.source else _name(prim)
        for child in prim.GetChildren():
            name = _name(child)
            if child.GetTypeName() not in ("Xform", "Camera") or name in self.merged:
                continue
            if name in self.description.links and (parent is None or self.description.parents.get(name, ("",))[0] == parent):
                yield child
            else:
                yield from (frame for frame in child.GetChildren() if self.description.parents.get(_name(frame), ("",))[0] == parent)

    def is_custom(self, prim: Any) -> bool:
        """Returns whether a prim is an element that URDF does not define."""
        sdf = self.pxr.Sdf
        return any(spec.layer.realPath.endswith("/urdf.usda") and spec.specifier == sdf.SpecifierDef for spec in prim.GetPrimStack())

    def custom(self, layer: Any, prim: Any, path: Any) -> None:
        """Copies elements that URDF does not define."""
        known = () if self.is_custom(prim) or prim == self.source else _KNOWN
        elements = [child for child in prim.GetChildren() if self.is_custom(child) and _name(child) not in known]
        names = [_name(child) for child in elements]
        for child, name, encoded in zip(elements, names, self.names.unique(path, names)):
            spec = self.define(layer, path.AppendChild(encoded), "Scope")
            self.show_name(spec, name)
            for attribute in child.GetAuthoredAttributes():
                key = attribute.GetName()
                key = key if key.startswith("urdf:") else f"urdf:{key}"
                self.set(spec, key, "string", str(attribute.Get()), custom=True)
            self.custom(layer, child, path.AppendChild(encoded))

    def body(self, prim: Any, path: Any, articulated: bool) -> bool:
        """Authors the physics of a rigid body, and returns whether it is the root of the articulation."""
        spec = self.over(self.layers["Physics"], path)
        name = _name(prim)
        root = bool(self.description.joints) and not articulated
        self.apply(spec, ["PhysicsRigidBodyAPI", *(("PhysicsArticulationRootAPI", "NewtonArticulationRootAPI") if root else ())])
        carrier = self.description.inertia_of(name)
        heavy = next((child for child in prim.GetChildren() if _name(child) == carrier), None) if carrier else prim
        # The mass of a link without inertial is assumed.
        if heavy is not None and self.description.links[carrier or name].has_mass and heavy.HasAPI(self.pxr.UsdPhysics.MassAPI):
            self.mass(heavy, prim, spec)
        self.apply(spec, [schema for schema in prim.GetAppliedSchemas() if schema.startswith("Newton")])
        self.copy_attributes(prim, spec, ("newton:",))
        return root

    def mass(self, heavy: Any, prim: Any, spec: Any) -> None:
        """Authors the mass of one link on another, by default the same."""
        gf = self.pxr.Gf
        mass = self.pxr.UsdPhysics.MassAPI(heavy)
        matrix, _ = self.transforms.ComputeRelativeTransform(heavy, prim) if heavy != prim else (gf.Matrix4d(1), True)
        axes = gf.Quatf(matrix.ExtractRotationQuat()) * mass.GetPrincipalAxesAttr().Get()
        center = gf.Vec3f(matrix.Transform(gf.Vec3d(mass.GetCenterOfMassAttr().Get())))
        diagonal = mass.GetDiagonalInertiaAttr().Get()
        self.apply(spec, ["PhysicsMassAPI", "NewtonMassAPI"])
        self.set(spec, "physics:mass", "float", mass.GetMassAttr().Get())
        self.set(spec, "physics:centerOfMass", "point3f", center)
        if not self.description.links[_name(heavy)].has_inertia:
            return
        self.set(spec, "physics:diagonalInertia", "float3", diagonal)
        self.set(spec, "physics:principalAxes", "quatf", axes)
        # Row vectors: the rotation of Gf is the transpose.
        rotation = gf.Matrix3d(gf.Rotation(gf.Quatd(axes)))
        tensor = rotation.GetTranspose() * gf.Matrix3d(gf.Vec3d(diagonal)) * rotation
        self.set(spec, "newton:inertia", "double[]", [tensor[row][column] for row, column in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))])

    def shapes(self, prim: Any, path: Any, link: Link) -> None:
        """Authors a link's visuals and colliders."""
        shapes: list[tuple[Any, str, bool]] = []
        for scope, names in (("visual", link.visuals), ("collision", link.collisions)):
            for shape in prim.GetPrimAtPath(scope).GetChildren() if prim.GetPrimAtPath(scope) else ():
                if number := _SHAPE.fullmatch(shape.GetName()):
                    name = names[int(number[1])] if int(number[1]) < len(names) else ""
                    shapes.append((shape, name or _name(shape), scope == "collision"))
        for (shape, name, collides), encoded in zip(shapes, self.names.unique(path, [name for _, name, _ in shapes])):
            proxies = self.pxr.Usd.PrimRange(shape, self.pxr.Usd.TraverseInstanceProxies())
            leaf = next((part for part in proxies if part.IsA(self.pxr.UsdGeom.Gprim)), None)
            if leaf is None:
                continue
            spec = self.geometry(leaf, path.AppendChild(encoded))
            self.show_name(spec, name)
            self.copy_attributes(shape, spec, ("urdf:",))
            elements = shape.GetParent().GetChild(f"{shape.GetName()}_urdf")
            if elements:
                self.custom(self.layers["Geometry"], elements, spec.path)
            matrix, _ = self.transforms.ComputeRelativeTransform(leaf, prim)
            self.place(spec, matrix)
            if collides:
                self.set(spec, "purpose", "token", "guide", uniform=True)
                self.collider(leaf, spec.path)
            else:
                self.look(leaf, spec.path)

    def geometry(self, leaf: Any, path: Any) -> Any:
        """Authors a shape, and returns its spec."""
        spec = self.define(self.layers["Geometry"], path, leaf.GetTypeName())
        if leaf.GetTypeName() == "Mesh":
            library = self.mesh(leaf)
            spec.referenceList.prependedItems = [self.pxr.Sdf.Reference("./GeometryLibrary.usdc", library)]
            return spec
        for attribute in leaf.GetAuthoredAttributes():
            if not attribute.GetName().startswith(("xformOp", "purpose", *_NAMESPACES)):
                uniform = attribute.GetVariability() == self.pxr.Sdf.VariabilityUniform
                self.set(spec, attribute.GetName(), attribute.GetTypeName(), attribute.Get(), uniform=uniform)
        return spec

    def mesh(self, leaf: Any) -> Any:
        """Returns the path of a mesh in the library of geometry, to which it is added once."""
        sdf = self.pxr.Sdf
        source = next(spec for spec in leaf.GetPrimStack() if spec.layer.realPath.endswith("/geometries.usdc"))
        if source.path not in self.meshes:
            library = self.libraries["Geometry"]
            self.define(library, "/Geometry", "Scope").specifier = sdf.SpecifierClass
            path = sdf.Path("/Geometry").AppendChild(self.names.unique("library", [source.name])[0])
            sdf.CopySpec(source.layer, source.path, library, path)
            self.meshes[source.path] = path
        return self.meshes[source.path]

    def collider(self, leaf: Any, path: Any) -> None:
        """Authors the physics of a collider."""
        spec = self.over(self.layers["Physics"], path)
        self.apply(spec, ["PhysicsCollisionAPI", "NewtonCollisionAPI"])
        if leaf.GetTypeName() == "Mesh":
            self.apply(spec, ["PhysicsMeshCollisionAPI", "NewtonMeshCollisionAPI"])
            self.set(spec, "physics:approximation", "token", "convexHull", uniform=True)

    def look(self, leaf: Any, path: Any) -> None:
        """Binds the materials of a visual and of its parts."""
        bindings = self.pxr.UsdShade.MaterialBindingAPI
        whole = bindings(leaf).ComputeBoundMaterial()[0]
        self.bind(path, whole)
        for part in leaf.GetChildren():
            if part.GetTypeName() == "GeomSubset":
                material = bindings(part).ComputeBoundMaterial()[0]
                if material and material.GetPath() != (whole.GetPath() if whole else None):
                    self.bind(path.AppendChild(part.GetName()), material)

    def bind(self, path: Any, material: Any) -> None:
        """Binds a material, except the one of visuals without any."""
        bound = self.material(material.GetPrim()) if material else None
        if bound is not None:
            spec = self.over(self.layers["Materials"], path)
            self.apply(spec, ["MaterialBindingAPI"])
            self.target(spec, "material:binding", [bound])

    def material(self, prim: Any) -> Any:
        """Returns the path of a material, which is added once; `None` for the grey of visuals without a material."""
        sdf = self.pxr.Sdf
        source = next((spec for spec in prim.GetPrimStack() if spec.layer.realPath.endswith("/materials.usda")), None)
        if source is None or (source.name == "default" and "default" not in self.description.materials):
            return None
        if source.path not in self.materials:
            library = self.libraries["Materials"]
            self.define(library, "/Materials", "Scope").specifier = sdf.SpecifierClass
            name = _name(prim)
            (encoded,) = self.names.unique("materials", [name])
            copy = sdf.Path("/Materials").AppendChild(encoded)
            sdf.CopySpec(source.layer, source.path, library, copy)
            self.interface(library.GetPrimAtPath(copy), Path(source.layer.realPath).parent)
            scope = self.root.AppendChild("Materials")
            self.define(self.layers["Materials"], scope, "Scope")
            spec = self.define(self.layers["Materials"], scope.AppendChild(encoded), "Material")
            spec.referenceList.prependedItems = [sdf.Reference("./MaterialsLibrary.usdc", copy)]
            self.show_name(spec, name)
            self.materials[source.path] = spec.path
        return self.materials[source.path]

    def interface(self, material: Any, folder: Path) -> None:
        """Moves the inputs of a material's surface to the material, and its images to the layout's folder."""
        sdf = self.pxr.Sdf
        for shader in material.nameChildren:
            for attribute in list(shader.attributes):
                value = attribute.default
                if attribute.name == "inputs:file" and isinstance(value, sdf.AssetPath):
                    file = folder / value.path
                    self.textures[file.name] = file
                    value = sdf.AssetPath(f"./Textures/{file.name}")
                    # As in urdf-usd-converter.
                    name = "inputs:ColorTexture" if shader.name == "Texture" else f"inputs:{shader.name}"
                elif shader.name == "PreviewSurface" and attribute.name.startswith("inputs:") and value is not None:
                    name = attribute.name
                else:
                    continue
                self.set(material, name, attribute.typeName, value)
                self.connect(attribute, material, name)
            if shader.name == "PreviewSurface" and "inputs:opacity" not in shader.attributes:
                self.set(material, "inputs:opacity", "float", 1.0)
                self.connect(sdf.AttributeSpec(shader, "inputs:opacity", sdf.ValueTypeNames.Float), material, "inputs:opacity")
            for wrap in [attribute for attribute in shader.attributes if attribute.name in ("inputs:wrapS", "inputs:wrapT")]:
                wrap.connectionPathList.explicitItems = [material.path.AppendProperty("inputs:wrapMode")]
        self.set(material, "inputs:wrapMode", "token", "repeat")

    def connect(self, attribute: Any, material: Any, name: str) -> None:
        """Replaces a value by that of a material's input."""
        attribute.ClearDefaultValue()
        attribute.connectionPathList.explicitItems = [material.path.AppendProperty(name)]

    def joints(self) -> None:
        """Authors joints, in the order of the URDF."""
        physics = self.layers["Physics"]
        scope = self.root.AppendChild("Physics")
        self.define(physics, scope, "Scope")
        order = {name: place for place, name in enumerate(self.description.joints)}
        bodies = {prim.GetPath() for prim in self.stage.Traverse() if prim.HasAPI(self.pxr.UsdPhysics.RigidBodyAPI)}
        gone = bodies - set(self.paths)
        joints = [prim for prim in self.stage.Traverse() if prim.IsA(self.pxr.UsdPhysics.Joint)]
        joints = [prim for prim in joints if not gone.intersection(self.pxr.UsdPhysics.Joint(prim).GetBody1Rel().GetTargets())]
        names = {prim.GetPath(): _joint_name(prim) for prim in joints}
        # All others are in the URDF.
        names = {path: name if name in order else "root_joint" for path, name in names.items()}
        joints.sort(key=lambda prim: order.get(_joint_name(prim), -1))
        encoded = self.names.unique(scope, [names[prim.GetPath()] for prim in joints])
        self.paths |= {prim.GetPath(): scope.AppendChild(name) for prim, name in zip(joints, encoded)}
        for prim in joints:
            self.joint(prim, names[prim.GetPath()])

    def joint(self, prim: Any, name: str) -> None:
        """Authors a joint."""
        spec = self.define(self.layers["Physics"], self.paths[prim.GetPath()], prim.GetTypeName())
        self.show_name(spec, name)
        schemas = [schema for schema in prim.GetAppliedSchemas() if schema.startswith(_SCHEMAS)]
        free = {schema for schema in schemas if schema.startswith("PhysicsLimitAPI:") and _is_free(prim, schema.partition(":")[2])}
        self.apply(spec, [schema for schema in schemas if schema not in free])
        limits = tuple(f"limit:{schema.partition(':')[2]}:" for schema in free)
        self.copy_attributes(prim, spec, _NAMESPACES, omitted=limits)
        for limit in ("physics:lowerLimit", "physics:upperLimit"):
            if limit in spec.attributes and math.isinf(spec.attributes[limit].default):
                spec.RemoveProperty(spec.attributes[limit])
        for relationship in prim.GetAuthoredRelationships():
            if relationship.GetName().startswith(("physics:", "newton:")):
                paths = [self.paths[path] for path in relationship.GetTargets() if path in self.paths]
                self.target(spec, relationship.GetName(), paths)
        if "physics:body0" not in spec.relationships:
            self.target(spec, "physics:body0", [self.root])
        self.custom(self.layers["Physics"], prim, spec.path)

    def scene(self) -> None:
        """Authors the scene of physics."""
        self.apply(self.define(self.layers["Physics"], "/PhysicsScene", "PhysicsScene"), ["NewtonSceneAPI"])

    def robot_elements(self) -> None:
        """Authors elements of the robot that URDF does not define."""
        if any(self.is_custom(child) for child in self.source.GetChildren()):
            path = self.root.AppendChild("Geometry").AppendChild(self.names.unique(self.root.AppendChild("Geometry"), ["custom"])[0])
            self.show_name(self.define(self.layers["Geometry"], path, "Scope"), "custom")
            self.custom(self.layers["Geometry"], self.source, path)

    def interface_layer(self, scene: bool) -> Any:
        """Returns the layer to open."""
        sdf = self.pxr.Sdf
        layer = self.layer(self.root.name, "Xform")
        spec = layer.GetPrimAtPath(self.root)
        self.show_name(spec, self.name)
        spec.SetInfo("kind", "component")
        spec.SetInfo("assetInfo", {"name": self.root.name})
        spec.payloadList.prependedItems = [sdf.Payload("./Payload/Contents.usda")]
        self.apply(spec, ["GeomModelAPI"])
        hint = self.source.GetAttribute("extentsHint")
        self.set(spec, "extentsHint", "float3[]", hint.Get())
        if scene:
            over = self.define(layer, "/PhysicsScene", "PhysicsScene")
            over.payloadList.prependedItems = [sdf.Payload("./Payload/Contents.usda", sdf.Path("/PhysicsScene"))]
        return layer

    def save(self, out: Path, scene: bool, comment: str) -> Path:
        """Writes the files, and returns the one to open."""
        payload = out / "Payload"
        shutil.rmtree(payload / "Textures", ignore_errors=True)
        payload.mkdir(parents=True, exist_ok=True)
        contents = self.layers["Contents"]
        used = [kind for kind in ("Physics", "Geometry", "Materials") if kind != "Materials" or self.materials]
        contents.subLayerPaths = [f"./{kind}.usda" for kind in used]
        files = {payload / f"{kind}.usda": self.layers[kind] for kind in (*used, "Contents")}
        for kind, made in (("Geometry", self.meshes), ("Materials", self.materials)):
            if made:
                files[payload / f"{kind}Library.usdc"] = self.libraries[kind]
        # A name may be no name of a file.
        entry = out / f"{self.name if Path(self.name).name == self.name else self.root.name}.usda"
        files[entry] = self.interface_layer(scene)
        for file, layer in files.items():
            self.export(layer, file, comment)
        if self.textures:
            (payload / "Textures").mkdir()
            for name, source in self.textures.items():
                shutil.copyfile(source, payload / "Textures" / name)
        return entry

    def export(self, layer: Any, file: Path, comment: str) -> None:
        """Writes a layer, also for those who have an earlier one of that name open."""
        layer.comment = comment
        if not layer.Export(file.as_posix()):
            raise OSError(f"{file} can't be written")
        if (opened := self.pxr.Sdf.Layer.Find(file.as_posix())) is not None:
            opened.Reload(force=True)


def _identifier(name: str) -> str:
    """Returns a name that a prim can have."""
    name = re.sub(r"\W", "_", name, flags=re.ASCII)
    return f"_{name}" if not name or name[0].isdigit() else name


def _name(prim: Any) -> str:
    """Returns a prim's name in the URDF."""
    return str(prim.GetDisplayName() or prim.GetName())


def _is_free(joint: Any, axis: str) -> bool:
    """Returns whether a limit permits every position."""
    low, high = (joint.GetAttribute(f"limit:{axis}:physics:{bound}").Get() for bound in ("low", "high"))
    return (low, high) == (-math.inf, math.inf)


def _joint_name(prim: Any) -> str:
    """Returns a joint's name in the URDF."""
    attribute = prim.GetAttribute("ros:joint:name")
    return str(attribute.Get()) if attribute and attribute.Get() else _name(prim)


def write(stage: Any, description: Description, out: Path, name: str, *, scene: bool, comment: str) -> Path:
    """Writes the asset that a stage shows, in the layout of urdf-usd-converter; returns the file to open."""
    sdf = importlib.import_module("pxr.Sdf")
    # The source's meshes, not their hulls, are what an engine gets the hulls of.
    with_hulls = [prim for prim in stage.Traverse() if "collision_fidelity" in prim.GetVariantSets().GetNames()]
    with sdf.ChangeBlock():
        for prim in with_hulls:
            over = sdf.CreatePrimInLayer(stage.GetSessionLayer(), prim.GetPath())
            over.variantSelections["collision_fidelity"] = "trimesh"
    writer = _Writer(stage, description, name)
    # No listener of OpenUSD hears of each spec.
    with writer.pxr.Sdf.ChangeBlock():
        writer.links()
        writer.joints()
        writer.robot_elements()
        if scene:
            writer.scene()
    return writer.save(out, scene, comment)


def flatten(layered: Path, out: Path, *, comment: str) -> Path:
    """Writes an asset as one binary layer, with its images beside it."""
    pxr = _Pxr()
    layer = pxr.Usd.Stage.Open(layered.as_posix()).Flatten()
    textures = layered.parent / "Payload" / "Textures"

    def move(path: Any) -> None:
        spec = layer.GetAttributeAtPath(path) if path.IsPrimPropertyPath() else None
        if spec is not None and isinstance(spec.default, pxr.Sdf.AssetPath) and Path(spec.default.path).parent == textures:
            spec.default = pxr.Sdf.AssetPath(f"./Textures/{Path(spec.default.path).name}")

    layer.Traverse(pxr.Sdf.Path.absoluteRootPath, move)
    layer.customLayerData = {"creator": f"urdf_usd {__version__}"}
    layer.comment = comment
    layer.documentation = ""
    file = out / f"{layered.stem}.usdc"
    out.mkdir(parents=True, exist_ok=True)
    if not layer.Export(file.as_posix()):
        raise OSError(f"{file} can't be written")
    if (opened := pxr.Sdf.Layer.Find(file.as_posix())) is not None:
        opened.Reload(force=True)
    if textures.exists():
        # As in urdf-usd-converter, images of a robot that was written there before stay if this one has none.
        shutil.rmtree(out / "Textures", ignore_errors=True)
        shutil.copytree(textures, out / "Textures")
    return file
