"""The names in a URDF that the layout of urdf-usd-converter depends on."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from xml.parsers import expat
from xml.sax.saxutils import escape


@dataclass
class Link:
    """The names of a link's shapes, and whether it has inertial properties."""

    visuals: list[str] = field(default_factory=list)
    """The names of visuals: that of the element, the stem of the mesh file, or the kind of shape."""
    collisions: list[str] = field(default_factory=list)
    """The names of collisions, in the same way."""
    has_mass: bool = False
    """True if the link has a mass or a moment of inertia."""
    has_inertia: bool = False
    """True if the link has an inertia tensor."""

    @property
    def is_frame(self) -> bool:
        """True for a link without mass and shapes."""
        return not (self.visuals or self.collisions or self.has_mass)

    @property
    def has_only_mass(self) -> bool:
        """True for a link with mass and without shapes."""
        return self.has_mass and not (self.visuals or self.collisions)


class Description:
    """A URDF file as its elements name things; everything else is read by `convert`."""

    def __init__(self, path: Path) -> None:
        """Reads the names.

        Raises:
            ElementTree.ParseError: The file is not well-formed.
        """
        text = path.read_bytes()
        root = ElementTree.fromstring(text)
        self.path = path.absolute()
        self.name = root.get("name", "")
        self.links = {link.get("name", ""): _link(link) for link in root.findall("link")}
        self.joints = [joint.get("name", "") for joint in root.findall("joint")]
        self.parents = {
            child.get("link", ""): (parent.get("link", ""), joint.get("type") == "fixed")
            for joint in root.findall("joint")
            for parent, child in zip(joint.findall("parent"), joint.findall("child"))
        }
        self.root = next((link for link in self.links if link not in self.parents), "")
        self.materials = {material.get("name", "") for material in root.iter("material")}
        self._source = text
        self.text = self._weld(text)
        self._files = [element.get("filename", "") for tag in ("mesh", "texture") for element in root.iter(tag)]

    def inertia_of(self, name: str) -> str | None:
        """Returns the link that nothing but carries the mass of a link with shapes, by a fixed joint: what KDL, which allows no mass on a root
        link, makes people write."""
        link = self.links.get(name)
        if link is None or link.has_mass or link.is_frame:
            return None
        carriers = (child for child, (parent, fixed) in self.parents.items() if parent == name and fixed)
        return next((child for child in carriers if child in self.links and self.links[child].has_only_mass), None)

    @property
    def is_welded(self) -> bool:
        """True if the text fixes the robot to a link `world`."""
        return self.root == "world" or self.text != self._source

    def _weld(self, text: bytes) -> bytes:
        """Returns the text with the root link fixed to a link `world`, as urdf-usd-converter fixes every robot."""
        end = _end_of_root(text)
        # Text in another encoding than ASCII's, such as UTF-16, stays as it is.
        if not self.root or "world" in self.links or not text[end:].startswith(b"</robot"):
            return text
        root = escape(self.root, {'"': "&quot;"}).encode("ascii", "xmlcharrefreplace")
        name = "root_joint"
        while name in self.joints:
            name += "_"
        joint = f'<joint name="{name}" type="fixed">'.encode() + b'<parent link="world"/><child link="' + root + b'"/></joint>'
        return text[:end] + b'<link name="world"/>' + joint + text[end:]

    def packages(self) -> dict[str, Path]:
        """Returns the folders above the file in which `package://NAME/PATH` finds PATH, by the package's name, as urdf-usd-converter does."""
        found: dict[str, Path] = {}
        for uri in self._files:
            if not uri.startswith("package://"):
                continue
            name, _, relative = uri.removeprefix("package://").partition("/")
            if name and relative and name not in found:
                folder = next((folder for folder in self.path.parents if _exists(folder / relative)), None)
                if folder is not None:
                    found[name] = folder
        return found


def _end_of_root(text: bytes) -> int:
    """Returns the position of the root's end tag, which is the last one that the parser meets; comments may have others."""
    end = 0
    parser = expat.ParserCreate()

    def meet(_: str) -> None:
        nonlocal end
        end = parser.CurrentByteIndex

    parser.EndElementHandler = meet
    parser.Parse(text, True)
    return end


def _exists(path: Path) -> bool:
    """Returns whether a path exists; one that is too long or can't be searched does not."""
    try:
        return path.exists()
    except OSError:
        return False


def _link(element: ElementTree.Element) -> Link:
    inertial = element.find("inertial")
    return Link(
        visuals=[_shape(shape) for shape in element.findall("visual")],
        collisions=[_shape(shape) for shape in element.findall("collision")],
        has_mass=inertial is not None and _massive(inertial),
        has_inertia=inertial is not None and inertial.find("inertia") is not None,
    )


def _massive(inertial: ElementTree.Element) -> bool:
    """Returns whether a mass or a principal moment is not zero."""
    mass, inertia = inertial.find("mass"), inertial.find("inertia")
    values = [] if mass is None else [mass.get("value", "0")]
    values += [] if inertia is None else [inertia.get(key, "0") for key in ("ixx", "iyy", "izz")]
    return any(_number(value) for value in values)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _shape(element: ElementTree.Element) -> str:
    if name := element.get("name"):
        return name
    geometry = element.find("geometry")
    shape = next(iter(geometry), None) if geometry is not None else None
    if shape is None:
        return ""
    file = shape.get("filename") if shape.tag == "mesh" else None
    return PurePosixPath(file).stem if file else shape.tag
