#!/usr/bin/env python3
"""Generates the sample robots of this project: meshes, textures, URDFs, SRDFs and an XRDF.

    python3 examples/make_samples.py [DIRECTORY]

writes sample_arm, sample_rover and sample_corners into DIRECTORY (default: beside this script). It needs only Python 3.11, and its
output is reproducible, so a test compares the committed files with it. Lengths are metres, angles radians, masses kilograms; meshes
are right-handed with z up, as in URDF.
"""

import json
import math
import struct
import sys
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import quoteattr

TAU = 2 * math.pi

# ---------------------------------------------------------------------------------------------------------------- vectors


def add(a, b):
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def sub(a, b):
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def scaled(a, k):
    return (a[0] * k, a[1] * k, a[2] * k)


def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a, b):
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def unit(a):
    length = math.sqrt(dot(a, a))
    return scaled(a, 1 / length) if length > 1e-15 else (0.0, 0.0, 1.0)


def rotation(rpy):
    """The matrix (three rows) of URDF's rpy: about the fixed x, then y, then z axis."""
    (sr, sp, sy), (cr, cp, cy) = [math.sin(a) for a in rpy], [math.cos(a) for a in rpy]
    return (
        (cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
        (sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
        (-sp, cp * sr, cp * cr),
    )


def turned(matrix, v):
    return tuple(dot(row, v) for row in matrix)


def number(x, decimals=6):
    """The shortest text of a number: no trailing zeros, no minus zero."""
    text = f"{x:.{decimals}f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def numbers(values, decimals=6):
    return " ".join(number(v, decimals) for v in values)


# ----------------------------------------------------------------------------------------------------------------- meshes


@dataclass
class Face:
    """A convex polygon, counter-clockwise seen from outside."""

    corners: tuple  # indices of points
    uvs: tuple = None  # one (u, v) per corner
    material: str = ""


@dataclass
class Mesh:
    """Closed polygon surfaces. Faces of a surface share points, so that normals can be smoothed across its edges."""

    points: list = field(default_factory=list)
    faces: list = field(default_factory=list)

    def __add__(self, other):
        shift = len(self.points)
        moved = [Face(tuple(c + shift for c in f.corners), f.uvs, f.material) for f in other.faces]
        return Mesh(self.points + other.points, self.faces + moved)

    def moved(self, xyz=(0, 0, 0), rpy=(0, 0, 0)):
        matrix = rotation(rpy)
        return Mesh([add(turned(matrix, p), xyz) for p in self.points], self.faces)

    def painted(self, material):
        return Mesh(self.points, [Face(f.corners, f.uvs, material) for f in self.faces])

    def along_y(self):
        """The mesh, rotated so that its z axis points along y."""
        return self.moved(rpy=(-TAU / 4, 0, 0))

    def along_x(self):
        """The mesh, rotated so that its z axis points along x."""
        return self.moved(rpy=(0, TAU / 4, 0))

    def triangles(self):
        """(corner, corner, corner) of every face, each corner as (point index, uv), and the face's index."""
        for index, face in enumerate(self.faces):
            uvs = face.uvs or ((0.0, 0.0),) * len(face.corners)
            fan = list(zip(face.corners, uvs))
            for k in range(1, len(fan) - 1):
                yield (fan[0], fan[k], fan[k + 1]), index

    def face_normals(self):
        """Per face, its normal with its doubled area as length."""
        out = []
        for face in self.faces:
            p = [self.points[c] for c in face.corners]
            total = (0.0, 0.0, 0.0)
            for k in range(1, len(p) - 1):
                total = add(total, cross(sub(p[k], p[0]), sub(p[k + 1], p[0])))
            out.append(total)
        return out

    def corner_normals(self, crease=math.radians(35)):
        """Per face a tuple of unit normals, one per corner: smooth over edges that turn by less than `crease`."""
        areas = self.face_normals()
        units = [unit(n) for n in areas]
        around = [[] for _ in self.points]
        for index, face in enumerate(self.faces):
            for corner in face.corners:
                around[corner].append(index)
        limit = math.cos(crease)
        out = []
        for index, face in enumerate(self.faces):
            normals = []
            for corner in face.corners:
                total = (0.0, 0.0, 0.0)
                for other in around[corner]:
                    if dot(units[index], units[other]) >= limit:
                        total = add(total, areas[other])
                normals.append(unit(total))
            out.append(tuple(normals))
        return out


def joined(*meshes):
    out = Mesh()
    for mesh in meshes:
        out = out + mesh
    return out


# ----------------------------------------------------------------------------------------------------------------- shapes


def fillet(corners, steps=2):
    """A polyline of (x, y, radius): its inner corners rounded with arcs."""
    out = [corners[0][:2]]
    for (ax, ay, _), (bx, by, radius), (cx, cy, _) in zip(corners, corners[1:], corners[2:]):
        into = unit((ax - bx, ay - by, 0))
        away = unit((cx - bx, cy - by, 0))
        half = math.acos(max(-1, min(1, dot(into, away)))) / 2
        if radius <= 0 or half > TAU / 4 - 1e-3:
            out.append((bx, by))
            continue
        reach = radius / math.tan(half)
        middle = unit(add(into, away))
        centre = (bx + middle[0] * radius / math.sin(half), by + middle[1] * radius / math.sin(half))
        start = math.atan2(by + into[1] * reach - centre[1], bx + into[0] * reach - centre[0])
        end = math.atan2(by + away[1] * reach - centre[1], bx + away[0] * reach - centre[0])
        sweep = (end - start + TAU / 2) % TAU - TAU / 2
        for k in range(steps + 1):
            angle = start + sweep * k / steps
            out.append((centre[0] + radius * math.cos(angle), centre[1] + radius * math.sin(angle)))
    out.append(corners[-1][:2])
    return out


def lathe(profile, segments=28, closed=False):
    """A profile of (radius, z), from the bottom up, revolved about z. A closed profile gives a ring."""
    mesh, rings = Mesh(), []
    for radius, z in profile:
        if radius < 1e-9:
            rings.append([len(mesh.points)] * segments)
            mesh.points.append((0.0, 0.0, z))
        else:
            rings.append(list(range(len(mesh.points), len(mesh.points) + segments)))
            for k in range(segments):
                mesh.points.append((radius * math.cos(TAU * k / segments), radius * math.sin(TAU * k / segments), z))
    lengths = [0.0]
    pairs = list(zip(range(len(profile)), range(1, len(profile)))) + ([(len(profile) - 1, 0)] if closed else [])
    for a, b in pairs:
        lengths.append(lengths[-1] + math.dist(profile[a], profile[b]))
    for row, (a, b) in enumerate(pairs):
        low, high = lengths[row] / lengths[-1], lengths[row + 1] / lengths[-1]
        for k in range(segments):
            n = (k + 1) % segments
            corners = [rings[a][k], rings[a][n], rings[b][n], rings[b][k]]
            uvs = [(k / segments, low), ((k + 1) / segments, low), ((k + 1) / segments, high), (k / segments, high)]
            keep = [i for i in range(4) if corners[i] != corners[i - 1]]
            if len(keep) > 2:
                mesh.faces.append(Face(tuple(corners[i] for i in keep), tuple(uvs[i] for i in keep)))
    return mesh


def solid(*corners, segments=28, steps=2):
    """A solid of revolution from (radius, z, rounding) corners; the axis closes it at both ends."""
    ends = [(0.0, corners[0][1], 0)], [(0.0, corners[-1][1], 0)]
    return lathe(fillet(ends[0] + list(corners) + ends[1], steps), segments)


def inset(outline, distance):
    """A counter-clockwise outline moved inwards."""
    out = []
    for k, (x, y) in enumerate(outline):
        before, after = outline[k - 1], outline[(k + 1) % len(outline)]
        a, b = unit((x - before[0], y - before[1], 0)), unit((after[0] - x, after[1] - y, 0))
        na, nb = (-a[1], a[0]), (-b[1], b[0])
        stretch = 1 + na[0] * nb[0] + na[1] * nb[1]
        out.append((x + distance * (na[0] + nb[0]) / stretch, y + distance * (na[1] + nb[1]) / stretch))
    return out


def cut_ears(outline):
    """A simple counter-clockwise polygon as triangles of its indices."""

    def turn(a, b, c):
        (ax, ay), (bx, by), (cx, cy) = outline[a], outline[b], outline[c]
        return (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)

    left, out = list(range(len(outline))), []
    while len(left) > 3:
        for k in range(len(left)):
            a, b, c = left[k - 1], left[k], left[(k + 1) % len(left)]
            if turn(a, b, c) <= 1e-15:
                continue
            if any(turn(a, b, p) >= 0 and turn(b, c, p) >= 0 and turn(c, a, p) >= 0 for p in left if p not in (a, b, c)):
                continue
            out.append((a, b, c))
            del left[k]
            break
        else:
            raise ValueError("the outline crosses itself")
    return [*out, tuple(left)]


def prism(outline, low, high, bevel=0.0, steps=2):
    """A counter-clockwise outline of (x, y), extruded from z = low to high with rounded edges. The caps have u, v over the
    outline's bounds."""
    loops = []
    for k in range(steps + 1 if bevel else 1):
        angle = TAU / 4 * k / steps if bevel else 0
        loops.append((bevel * (1 - math.sin(angle)), low + bevel * (1 - math.cos(angle))))
    loops += [(inwards, high - (z - low)) for inwards, z in reversed(loops)]
    mesh, count = Mesh(), len(outline)
    for inwards, z in loops:
        mesh.points += [(x, y, z) for x, y in (inset(outline, inwards) if inwards else outline)]
    for row in range(len(loops) - 1):
        for k in range(count):
            n = (k + 1) % count
            mesh.faces.append(Face((row * count + k, row * count + n, (row + 1) * count + n, (row + 1) * count + k)))
    xs, ys = [p[0] for p in outline], [p[1] for p in outline]
    spread = (max(xs) - min(xs), max(ys) - min(ys))
    top = (len(loops) - 1) * count
    for ear in cut_ears([p[:2] for p in mesh.points[:count]]):
        uvs = [((mesh.points[c][0] - min(xs)) / spread[0], (mesh.points[c][1] - min(ys)) / spread[1]) for c in ear]
        mesh.faces.append(Face(tuple(top + c for c in ear), tuple(uvs)))
        mesh.faces.append(Face(tuple(reversed(ear)), tuple(reversed(uvs))))
    return mesh


def arc(centre, radius, start, end, steps):
    return [
        (centre[0] + radius * math.cos(start + (end - start) * k / steps), centre[1] + radius * math.sin(start + (end - start) * k / steps))
        for k in range(steps + 1)
    ]


def rounded_rectangle(width, height, radius, steps=3):
    x, y = width / 2 - radius, height / 2 - radius
    centres = [((x, y), 0), ((-x, y), 1), ((-x, -y), 2), ((x, -y), 3)]
    return [p for centre, quarter in centres for p in arc(centre, radius, quarter * TAU / 4, (quarter + 1) * TAU / 4, steps)]


def polygon(corners, steps=2):
    """A closed outline of (x, y, radius) corners."""
    rounded = fillet([corners[-1], *corners, corners[0]], steps)[1:-1]
    return rounded


def dog_bone(radius0, radius1, length, steps=10):
    """Two circles, one at the origin and one at (length, 0), and their outer tangents."""
    a = math.acos((radius0 - radius1) / length)
    return arc((0, 0), radius0, a, TAU - a, steps) + arc((length, 0), radius1, -a, a, steps)


def block(size, rounding, bevel=None):
    """A box of (x, y, z) centred on the origin, its upright edges rounded and its rims bevelled."""
    return prism(rounded_rectangle(size[0], size[1], rounding), -size[2] / 2, size[2] / 2, rounding / 2 if bevel is None else bevel, 1)


def tube(path, radius, segments=12):
    """A pipe along a path of points, with round ends."""
    directions = [unit(sub(b, a)) for a, b in zip(path, path[1:])]
    directions = [directions[0]] + [unit(add(a, b)) for a, b in zip(directions, directions[1:])] + [directions[-1]]
    helper = (0, 0, 1) if abs(directions[0][2]) < 0.9 else (1, 0, 0)
    side = unit(cross(directions[0], helper))
    stations = []
    for point, forward in zip(path, directions):
        side = unit(sub(side, scaled(forward, dot(side, forward))))
        stations.append((point, forward, side))
    rings = []
    for bend in (75, 45, 15):
        rings.append((stations[0], -radius * math.sin(math.radians(bend)), radius * math.cos(math.radians(bend))))
    rings += [(s, 0.0, radius) for s in stations]
    for bend in (15, 45, 75):
        rings.append((stations[-1], radius * math.sin(math.radians(bend)), radius * math.cos(math.radians(bend))))
    mesh = Mesh()
    for (point, forward, across), ahead, reach in rings:
        up = cross(forward, across)
        for k in range(segments):
            angle = TAU * k / segments
            out = add(scaled(across, reach * math.cos(angle)), scaled(up, reach * math.sin(angle)))
            mesh.points.append(add(add(point, scaled(forward, ahead)), out))
    for row in range(len(rings) - 1):
        for k in range(segments):
            n = (k + 1) % segments
            mesh.faces.append(
                Face((row * segments + k, row * segments + n, (row + 1) * segments + n, (row + 1) * segments + k))
            )
    for (point, forward, _), ahead, row in ((stations[0], -radius, 0), (stations[-1], radius, len(rings) - 1)):
        tip = len(mesh.points)
        mesh.points.append(add(point, scaled(forward, ahead)))
        for k in range(segments):
            n = (k + 1) % segments
            a, b = row * segments + k, row * segments + n
            mesh.faces.append(Face((tip, b, a) if row == 0 else (tip, a, b)))
    return mesh


def eased(path, rounds=2):
    """A path with its corners cut twice, for bent pipes."""
    for _ in range(rounds):
        cut = [path[0]]
        for a, b in zip(path, path[1:]):
            cut += [add(scaled(a, 0.75), scaled(b, 0.25)), add(scaled(a, 0.25), scaled(b, 0.75))]
        path = [*cut, path[-1]]
    return path


def bolts(count, circle, z, radius=0.006, height=0.005):
    """Hexagon heads on a circle, standing on z."""
    head = prism([(radius * math.cos(TAU * k / 6), radius * math.sin(TAU * k / 6)) for k in range(6)], 0, height, radius / 6, 1)
    places = [TAU * (k + 0.5) / count for k in range(count)]
    return joined(*(head.moved((circle * math.cos(a), circle * math.sin(a), z)) for a in places))


# ----------------------------------------------------------------------------------------------------------- mass properties


@dataclass
class Inertia:
    mass: float
    centre: tuple
    tensor: tuple  # about the centre of mass, three rows
    rpy: tuple = (0, 0, 0)


def inertia_of(mesh, mass):
    """The mass properties of a homogeneous body of this shape and mass, by the divergence theorem."""
    volume, first, second = 0.0, [0.0] * 3, [[0.0] * 3 for _ in range(3)]
    for corners, _ in mesh.triangles():
        a, b, c = (mesh.points[i] for i, _ in corners)
        det = dot(a, cross(b, c))
        s = add(add(a, b), c)
        volume += det / 6
        for i in range(3):
            first[i] += det * s[i] / 24
            for j in range(3):
                second[i][j] += det * (a[i] * a[j] + b[i] * b[j] + c[i] * c[j] + s[i] * s[j]) / 120
    if volume <= 0:
        raise ValueError("the surface is not closed or inside out")
    centre, density = tuple(f / volume for f in first), mass / volume
    central = [[density * second[i][j] - mass * centre[i] * centre[j] for j in range(3)] for i in range(3)]
    trace = central[0][0] + central[1][1] + central[2][2]
    tensor = tuple(tuple((trace if i == j else 0.0) - central[i][j] for j in range(3)) for i in range(3))
    return Inertia(mass, centre, tensor)


def in_frame(inertia, rpy):
    """The same inertia in axes rotated by rpy."""
    r, t = rotation(rpy), inertia.tensor
    half = [[sum(t[i][k] * r[k][j] for k in range(3)) for j in range(3)] for i in range(3)]
    out = tuple(tuple(sum(r[k][i] * half[k][j] for k in range(3)) for j in range(3)) for i in range(3))
    return Inertia(inertia.mass, inertia.centre, out, rpy)


# --------------------------------------------------------------------------------------------------------------- textures

FONT = {  # five columns by seven rows, for labels on textures
    "A": "01110100011000111111100011000110001", "B": "11110100011000111110100011000111110",
    "C": "01110100011000010000100001000101110", "E": "11111100001000011110100001000011111",
    "L": "10000100001000010000100001000011111", "M": "10001110111010110101100011000110001",
    "O": "01110100011000110001100011000101110", "P": "11110100011000111110100001000010000",
    "R": "11110100011000111110101001001010001", "S": "01111100001000001110000010000111110",
    "V": "10001100011000110001100010101000100", "D": "11110100011000110001100011000111110",
    "U": "10001100011000110001100011000101110", "0": "01110100011001110101110011000101110",
    "1": "00100011000010000100001000010001110", "6": "00110010001000011110100011000101110",
    "-": "00000000000000011111000000000000000", " ": "0" * 35,
}  # fmt: skip


def lettering(text, x, y):
    """Whether (x, y), in font pixels from the lower left of `text`, is on a letter."""
    column, row = math.floor(x), 6 - math.floor(y)
    if not (0 <= row < 7 and 0 <= column < 6 * len(text)) or column % 6 == 5:
        return False
    return FONT[text[column // 6]][row * 5 + column % 6] == "1"


def draw(width, height, colour_at, samples=3):
    """PNG bytes of a picture: `colour_at(x, y)` gives sRGB in 0..1 at pixel coordinates from the lower left."""
    rows = []
    for row in range(height):
        line = bytearray([0])
        for column in range(width):
            total = [0.0, 0.0, 0.0]
            for i in range(samples):
                for j in range(samples):
                    colour = colour_at(column + (i + 0.5) / samples, height - row - 1 + (j + 0.5) / samples)
                    total = [t + c for t, c in zip(total, colour)]
            line += bytes(round(255 * t / samples**2) for t in total)
        rows.append(bytes(line))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = zlib.compress(b"".join(rows), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def stripes(x, y, width):
    return (x + y) // width % 2 == 0


# -------------------------------------------------------------------------------------------------------------- materials


@dataclass
class Paint:
    """A material: sRGB colour, and a texture's file name if it has one."""

    colour: tuple
    texture: str = None
    roughness: float = 0.5
    metallic: float = 0.0
    glow: tuple = None


def linear(c):
    return c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4


# ---------------------------------------------------------------------------------------------------------------- writers


def stl_binary(mesh, title):
    out = bytearray(title.encode().ljust(80)[:80])
    triangles = [tuple(mesh.points[i] for i, _ in t) for t, _ in mesh.triangles()]
    out += struct.pack("<I", len(triangles))
    for a, b, c in triangles:
        out += struct.pack("<12fH", *unit(cross(sub(b, a), sub(c, a))), *a, *b, *c, 0)
    return bytes(out)


def stl_ascii(mesh, title):
    lines = [f"solid {title}"]
    for t, _ in mesh.triangles():
        a, b, c = (mesh.points[i] for i, _ in t)
        lines.append(f"  facet normal {numbers(unit(cross(sub(b, a), sub(c, a))), 4)}")
        lines += ["    outer loop", *(f"      vertex {numbers(p)}" for p in (a, b, c)), "    endloop", "  endfacet"]
    return "\n".join([*lines, f"endsolid {title}", ""]).encode()


class Numbered:
    """Distinct values in order of first use, numbered for references in text files."""

    def __init__(self):
        self.index, self.values = {}, []

    def __call__(self, value):
        if value not in self.index:
            self.index[value] = len(self.values)
            self.values.append(value)
        return self.index[value]


def obj(mesh, library):
    """OBJ text: polygons grouped by material, with texture coordinates and smooth normals."""
    points, uvs, normals, groups = Numbered(), Numbered(), Numbered(), {}
    for face, around in zip(mesh.faces, mesh.corner_normals()):
        corners = []
        for corner, uv, normal in zip(face.corners, face.uvs or [None] * len(face.corners), around):
            v, n = points(numbers(mesh.points[corner], 5)), normals(numbers(normal, 3))
            corners.append(f"{v + 1}//{n + 1}" if uv is None else f"{v + 1}/{uvs(numbers(uv, 4)) + 1}/{n + 1}")
        groups.setdefault(face.material, []).append("f " + " ".join(corners))
    lines = [f"mtllib {library}"]
    lines += [f"v {v}" for v in points.values] + [f"vt {v}" for v in uvs.values] + [f"vn {v}" for v in normals.values]
    for material, faces in groups.items():
        lines += [f"usemtl {material}", *faces]
    return ("\n".join(lines) + "\n").encode()


def mtl(paints):
    lines = []
    for name, paint in paints.items():
        lines += [f"newmtl {name}", f"Kd {numbers(paint.colour)}", "Ks 0.1 0.1 0.1", "d 1", "illum 2"]
        lines += [f"map_Kd {paint.texture}"] if paint.texture else []
        lines.append("")
    return "\n".join(lines).encode()


@dataclass
class Node:
    """A node of a DAE scene: a pose, at most one geometry by name, and children."""

    name: str
    xyz: tuple = (0, 0, 0)
    rpy: tuple = (0, 0, 0)
    geometry: str = None
    children: list = field(default_factory=list)


def dae_geometry(name, mesh, unit_metres):
    points, uvs, normals = Numbered(), Numbered(), Numbered()
    groups = {}
    for face, around in zip(mesh.faces, mesh.corner_normals()):
        corners = []
        for corner, uv, normal in zip(face.corners, face.uvs or ((0, 0),) * len(face.corners), around):
            point = numbers(scaled(mesh.points[corner], 1 / unit_metres), 5)
            corners.append(f"{points(point)} {normals(numbers(normal, 3))} {uvs(numbers(uv, 4))}")
        groups.setdefault(face.material, []).append(corners)

    def source(kind, table, axes):
        data = " ".join(table.values)
        params = "".join(f'<param name="{a}" type="float"/>' for a in axes)
        return (
            f'      <source id="{name}-{kind}"><float_array id="{name}-{kind}-array" count="{len(table.values) * len(axes)}">{data}</float_array>'
            f'<technique_common><accessor source="#{name}-{kind}-array" count="{len(table.values)}" stride="{len(axes)}">{params}</accessor></technique_common></source>'
        )

    lines = [f'    <geometry id="{name}" name="{name}"><mesh>']
    lines += [source("positions", points, "XYZ"), source("normals", normals, "XYZ"), source("map", uvs, "ST")]
    lines.append(f'      <vertices id="{name}-vertices"><input semantic="POSITION" source="#{name}-positions"/></vertices>')
    for material, faces in groups.items():
        lines.append(f'      <polylist material="{material}" count="{len(faces)}">')
        for semantic, what, offset in (("VERTEX", "vertices", 0), ("NORMAL", "normals", 1), ("TEXCOORD", "map", 2)):
            chosen = ' set="0"' if semantic == "TEXCOORD" else ""
            lines.append(f'        <input semantic="{semantic}" source="#{name}-{what}" offset="{offset}"{chosen}/>')
        lines.append(f"        <vcount>{' '.join(str(len(f)) for f in faces)}</vcount>")
        lines.append(f"        <p>{' '.join(c for f in faces for c in f)}</p>")
        lines.append("      </polylist>")
    lines.append("    </mesh></geometry>")
    return lines, list(groups)


def dae(geometries, scene, paints, unit_metres=1.0, unit_name="meter"):
    """COLLADA 1.4.1 with nested nodes; a geometry may be instanced by several."""
    library, used = [], {}
    for name, mesh in geometries.items():
        lines, materials = dae_geometry(name, mesh, unit_metres)
        library += lines
        used[name] = materials
    names = list(dict.fromkeys(m for materials in used.values() for m in materials))
    out = ['<?xml version="1.0" encoding="utf-8"?>', '<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">']
    out.append('  <asset><created>2026-01-01T00:00:00</created><modified>2026-01-01T00:00:00</modified>')
    out.append(f'    <unit name="{unit_name}" meter="{number(unit_metres)}"/><up_axis>Z_UP</up_axis></asset>')
    pictures = [m for m in names if paints[m].texture]
    if pictures:
        out.append("  <library_images>")
        out += [f'    <image id="{m}-image"><init_from>{paints[m].texture}</init_from></image>' for m in pictures]
        out.append("  </library_images>")
    out.append("  <library_effects>")
    for m in names:
        paint = paints[m]
        diffuse = f"<color>{numbers((*paint.colour, 1))}</color>"
        params = ""
        if paint.texture:
            diffuse = f'<texture texture="{m}-sampler" texcoord="UVMap"/>'
            params = (
                f'<newparam sid="{m}-surface"><surface type="2D"><init_from>{m}-image</init_from></surface></newparam>'
                f'<newparam sid="{m}-sampler"><sampler2D><source>{m}-surface</source></sampler2D></newparam>'
            )
        glow = f"<emission><color>{numbers((*paint.glow, 1))}</color></emission>" if paint.glow else ""
        out.append(f'    <effect id="{m}-effect"><profile_COMMON>{params}<technique sid="common"><lambert>{glow}<diffuse>{diffuse}</diffuse></lambert></technique></profile_COMMON></effect>')
    out.append("  </library_effects>")
    out.append("  <library_materials>")
    out += [f'    <material id="{m}" name="{m}"><instance_effect url="#{m}-effect"/></material>' for m in names]
    out.append("  </library_materials>")
    out += ["  <library_geometries>", *library, "  </library_geometries>"]
    out.append('  <library_visual_scenes><visual_scene id="scene" name="scene">')

    def write(node, depth):
        pad = "  " * depth
        out.append(f'{pad}<node id="node-{node.name}" name="{node.name}" type="NODE">')
        if any(node.xyz):
            out.append(f"{pad}  <translate>{numbers(scaled(node.xyz, 1 / unit_metres))}</translate>")
        for axis, angle in (("0 0 1", node.rpy[2]), ("0 1 0", node.rpy[1]), ("1 0 0", node.rpy[0])):
            if angle:
                out.append(f"{pad}  <rotate>{axis} {number(math.degrees(angle))}</rotate>")
        if node.geometry:
            bound = "".join(
                f'<instance_material symbol="{m}" target="#{m}"><bind_vertex_input semantic="UVMap" input_semantic="TEXCOORD" input_set="0"/></instance_material>'
                for m in used[node.geometry]
            )
            out.append(f'{pad}  <instance_geometry url="#{node.geometry}"><bind_material><technique_common>{bound}</technique_common></bind_material></instance_geometry>')
        for child in node.children:
            write(child, depth + 1)
        out.append(f"{pad}</node>")

    for node in scene:
        write(node, 2)
    out.append('  </visual_scene></library_visual_scenes>')
    out += ['  <scene><instance_visual_scene url="#scene"/></scene>', "</COLLADA>", ""]
    return "\n".join(out).encode()


def glb(mesh, paints, images):
    """Binary glTF 2.0: one primitive per material, pictures embedded. `images` maps a texture's name to PNG bytes. glTF has y up:
    (x, y, z) becomes (x, z, -y), which readers of URDFs undo."""
    mesh = Mesh([(x, z, -y) for x, y, z in mesh.points], mesh.faces)
    buffer, views, accessors = bytearray(), [], []

    def view(data, target=None):
        while len(buffer) % 4:
            buffer.append(0)
        views.append({"buffer": 0, "byteOffset": len(buffer), "byteLength": len(data)} | ({"target": target} if target else {}))
        buffer.extend(data)
        return len(views) - 1

    def accessor(rows, kind, component, target):
        flat = [x for row in rows for x in (row if isinstance(row, tuple) else (row,))]
        entry = {"bufferView": view(struct.pack(f"<{len(flat)}{'f' if component == 5126 else 'H'}", *flat), target)}
        entry |= {"componentType": component, "count": len(rows), "type": kind}
        if kind == "VEC3" and component == 5126:
            stored = [struct.unpack("<3f", struct.pack("<3f", *r)) for r in rows]
            entry |= {"min": [min(r[i] for r in stored) for i in range(3)], "max": [max(r[i] for r in stored) for i in range(3)]}
        accessors.append(entry)
        return len(accessors) - 1

    names = list(dict.fromkeys(f.material for f in mesh.faces))
    smooth, primitives = mesh.corner_normals(), []
    for name in names:
        table, indices = Numbered(), []
        for face, around in zip(mesh.faces, smooth):
            if face.material == name:
                uvs = face.uvs or ((0.0, 0.0),) * len(face.corners)
                ids = [table((mesh.points[c], n, (u, 1 - v))) for c, n, (u, v) in zip(face.corners, around, uvs)]
                for k in range(1, len(ids) - 1):
                    indices += [ids[0], ids[k], ids[k + 1]]
        attributes = {
            "POSITION": accessor([v[0] for v in table.values], "VEC3", 5126, 34962),
            "NORMAL": accessor([v[1] for v in table.values], "VEC3", 5126, 34962),
        }
        if paints[name].texture:
            attributes["TEXCOORD_0"] = accessor([v[2] for v in table.values], "VEC2", 5126, 34962)
        primitives.append({"attributes": attributes, "indices": accessor(indices, "SCALAR", 5123, 34963), "material": names.index(name)})
    for entry in accessors:  # only positions need bounds
        if not any(p["attributes"]["POSITION"] == accessors.index(entry) for p in primitives):
            entry.pop("min", None), entry.pop("max", None)
    materials, pictures = [], []
    for name in names:
        paint = paints[name]
        surface = {"metallicFactor": paint.metallic, "roughnessFactor": paint.roughness}
        if paint.texture:
            surface["baseColorTexture"] = {"index": len(pictures)}
            pictures.append({"name": paint.texture, "mimeType": "image/png", "bufferView": view(images[paint.texture])})
        else:
            surface["baseColorFactor"] = [round(linear(c), 6) for c in paint.colour] + [1.0]
        glow = {"emissiveFactor": [round(linear(c), 6) for c in paint.glow]} if paint.glow else {}
        materials.append({"name": name, "pbrMetallicRoughness": surface} | glow)
    root = {"asset": {"version": "2.0", "generator": "make_samples.py"}, "scene": 0, "scenes": [{"nodes": [0]}]}
    root |= {"nodes": [{"mesh": 0, "name": "head"}], "meshes": [{"primitives": primitives, "name": "head"}], "materials": materials}
    if pictures:
        root |= {"images": pictures, "textures": [{"source": i, "sampler": 0} for i in range(len(pictures))]}
        root["samplers"] = [{"magFilter": 9729, "minFilter": 9987, "wrapS": 10497, "wrapT": 10497}]
    while len(buffer) % 4:
        buffer.append(0)
    root |= {"buffers": [{"byteLength": len(buffer)}], "bufferViews": views, "accessors": accessors}
    text = json.dumps(root, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(buffer), b"BIN\0") + bytes(buffer)
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


# ------------------------------------------------------------------------------------------------------------------- URDF


def element(tag, /, *children, **attributes):
    """XML text of an element, children indented. A trailing underscore keeps an attribute's name from being a keyword."""
    head = tag + "".join(f" {k.rstrip('_')}={quoteattr(str(v))}" for k, v in attributes.items() if v is not None)
    inside = [c for c in children if c]
    if not inside:
        return f"<{head}/>"
    if len(inside) == 1 and not inside[0].startswith("<"):
        return f"<{head}>{inside[0]}</{tag}>"
    return f"<{head}>\n" + "\n".join("  " + line for c in inside for line in c.split("\n")) + f"\n</{tag}>"


def origin(xyz=(0, 0, 0), rpy=(0, 0, 0)):
    if not any(xyz) and not any(rpy):
        return ""
    return element("origin", xyz=numbers(xyz), rpy=numbers(rpy, 10) if any(rpy) else None)


def inertial(i):
    digits = lambda x: f"{0.0 if abs(x) < 1e-12 else x:.9g}"
    names = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}
    at = element("origin", xyz=" ".join(f"{0.0 if abs(c) < 1e-9 else c:.9g}" for c in i.centre), rpy=numbers(i.rpy))
    return element("inertial", at, element("mass", value=number(i.mass)), element("inertia", **{k: digits(i.tensor[r][c]) for k, (r, c) in names.items()}))


def mesh_file(package, file, scale=None):
    return element("mesh", filename=f"package://{package}/{file}", scale=scale)


def cylinder(radius, length):
    return element("cylinder", radius=number(radius), length=number(length))


def box(*size):
    return element("box", size=numbers(size))


def sphere(radius):
    return element("sphere", radius=number(radius))


def visual(geometry, material=None, xyz=(0, 0, 0), rpy=(0, 0, 0), name=None):
    return element("visual", origin(xyz, rpy), element("geometry", geometry), element("material", name=material) if material else "", name=name)


def collision(geometry, xyz=(0, 0, 0), rpy=(0, 0, 0), name=None):
    return element("collision", origin(xyz, rpy), element("geometry", geometry), name=name)


def link(name, *parts):
    return element("link", *parts, name=name)


def joint(name, kind, parent, child, *parts, xyz=(0, 0, 0), rpy=(0, 0, 0), axis=None):
    return element(
        "joint", origin(xyz, rpy), element("parent", link=parent), element("child", link=child),
        element("axis", xyz=numbers(axis)) if axis else "", *parts, name=name, type=kind,
    )  # fmt: skip


def limit(effort, velocity, lower=None, upper=None):
    bound = lambda v: None if v is None else number(v)
    return element("limit", lower=bound(lower), upper=bound(upper), effort=number(effort), velocity=number(velocity))


def colour(name, rgba):
    return element("material", element("color", rgba=numbers(rgba)), name=name)


def robot(name, comment, *parts, **attributes):
    body = element("robot", *parts, name=name, **attributes)
    return f'<?xml version="1.0" encoding="utf-8"?>\n<!-- {comment} Made by examples/make_samples.py. -->\n{body}\n'.encode()


def group_state(group, name, positions):
    return element("group_state", *(element("joint", name=joint, value=number(value)) for joint, value in positions.items()), name=name, group=group)


def disable_collisions(reason, *pairs):
    return [element("disable_collisions", link1=a, link2=b, reason=reason) for a, b in pairs]


def xrdf(comment, positions, cspace, tool_frames, spheres, ignore):
    """XRDF text, version 1.0. `cspace`: joint → (acceleration, jerk); `spheres`: link → (centre, radius) each; `ignore`: link → links."""
    quoted = lambda names: "[" + ", ".join(f'"{name}"' for name in names) + "]"
    listed = lambda values: "[" + ", ".join(number(value) for value in values) + "]"
    lines = [f"# {comment} Made by examples/make_samples.py.", "format: xrdf", "format_version: 1.0", "", "default_joint_positions:"]
    lines += [f'  "{joint}": {number(value)}' for joint, value in positions.items()]
    lines += ["", "cspace:", f"  joint_names: {quoted(cspace)}"]
    lines += [f"  {name}: {listed(limits)}" for name, limits in zip(("acceleration_limits", "jerk_limits"), zip(*cspace.values()))]
    lines += ["", f"tool_frames: {quoted(tool_frames)}", "", "collision:", '  geometry: "spheres"', "", "self_collision:", '  geometry: "spheres"', "  ignore:"]
    lines += [f'    "{link}": {quoted(others)}' for link, others in ignore.items()]
    lines += ["", "geometry:", '  "spheres":', "    spheres:"]
    for link, balls in spheres.items():
        lines += [f'      "{link}":', *(f"        - {{center: {listed(centre)}, radius: {number(radius)}}}" for centre, radius in balls)]
    return ("\n".join(lines) + "\n").encode()


def package_xml(name, description):
    return f"""<?xml version="1.0"?>
<package format="3">
  <name>{name}</name>
  <version>1.0.0</version>
  <description>{description}</description>
  <maintainer email="urdf_usd@example.org">urdf_usd</maintainer>
  <license>Apache-2.0</license>
</package>
""".encode()


# -------------------------------------------------------------------------------------------------------------------- arm


def puck(radius, low, high, cap="", segments=28):
    """A joint housing along y from low to high: rounded rims, a seam, and a domed cap on the low side if `cap` names its paint."""
    seam = (low + high) / 2
    body = solid(
        (radius * 0.94, low, 0.004), (radius, low + 0.006, 0.003), (radius, seam - 0.004, 0), (radius * 0.965, seam - 0.003, 0),
        (radius * 0.965, seam + 0.003, 0), (radius, seam + 0.004, 0), (radius, high, 0.008), segments=segments,
    )  # fmt: skip
    lid = solid((radius * 0.78, low - 0.006, 0.006), (radius * 0.86, low + 0.002, 0), segments=segments)
    return body.along_y(), lid.along_y().painted(cap)


def tapered(radius_low, radius_high, low, high, waist=0.9, segments=28):
    """A casing along z, slightly waisted."""
    profile = []
    for k in range(7):
        t = k / 6
        radius = radius_low + (radius_high - radius_low) * t
        profile.append((radius * (1 - (1 - waist) * math.sin(t * TAU / 2)), low + (high - low) * t))
    return lathe([(0, low), *profile, (0, high)], segments)


ARM_PAINTS = {
    "shell": Paint((0.92, 0.91, 0.88)),
    "graphite": Paint((0.16, 0.17, 0.19)),
    "band": Paint((1, 1, 1), "../textures/pedestal_band.png"),
}


def pedestal_band(x, y):
    """Hazard stripes between two lines, with the robot's name on a plate; 512 × 64, wrapped once round the pedestal."""
    dark, light, amber = (0.13, 0.14, 0.15), (0.93, 0.92, 0.89), (0.98, 0.66, 0.08)
    if y < 4 or y >= 60:
        return dark
    for start in (12, 268):
        if start <= x < start + 116:
            return dark if lettering("SAMPLE-ARM", (x - start - 4) / 1.8, (y - 25.7) / 1.8) else light
    return amber if stripes(x, y, 20) else dark


def arm(out):
    """Six axes like a collaborative arm's: housings along y, casings along z; with every joint at zero, the elbow is bent and
    the tool points down."""
    name = "sample_arm"
    p = {}

    foot = solid((0.13, 0, 0.004), (0.13, 0.018, 0.006), (0.088, 0.024, 0.012), (0.082, 0.1, 0), segments=40)
    band = lathe([(0.0825, 0.1), (0.084, 0.103), (0.084, 0.177), (0.0825, 0.18)], 40)
    # The band's picture covers its cylinder; u runs around, v up.
    band = Mesh(band.points, [Face(f.corners, tuple((u, (v - 0.045) / 0.91) for u, v in f.uvs)) for f in band.faces])
    band_core = solid((0.0825, 0.1, 0), (0.0825, 0.18, 0), segments=40)
    column = solid((0.082, 0.18, 0), (0.076, 0.29, 0.01), (0.09, 0.305, 0.008), (0.09, 0.337, 0.005), (0.07, 0.34, 0), segments=40)
    connector = block((0.05, 0.07, 0.06), 0.008).moved((-0.085, 0, 0.055))
    cable = tube(eased([(-0.1, -0.015, 0.055), (-0.145, -0.015, 0.058), (-0.165, -0.02, 0.007), (-0.185, -0.05, 0.007), (-0.25, -0.05, 0.007)]), 0.007, 8)
    pedestal_body = joined(foot, column, band_core)
    pedestal = joined(
        foot.painted("shell"), column.painted("shell"), bolts(8, 0.112, 0.018, 0.008, 0.006).painted("graphite"),
        connector.painted("graphite"), cable.painted("graphite"), band.painted("band"),
    )  # fmt: skip
    out.write("meshes/pedestal.obj", obj(pedestal, "pedestal.mtl"))
    out.write("meshes/pedestal.mtl", mtl(ARM_PAINTS))
    out.write("textures/pedestal_band.png", draw(512, 64, pedestal_band))

    shoulder, p["shoulder_cap"] = puck(0.076, -0.078, 0.056)
    shoulder = shoulder.moved((0, 0, 0.11)) + solid((0.088, 0.002, 0.004), (0.088, 0.03, 0.01), (0.07, 0.07, 0.0))
    lower, p["upper_cap_low"] = puck(0.074, 0.0, 0.108)
    upper, p["upper_cap_high"] = puck(0.064, 0.0, 0.104)
    upper_arm = lower.moved((0, 0.058, 0)) + upper.moved((0, 0.058, 0.36)) + tapered(0.06, 0.05, 0.04, 0.33).moved((0, 0.112, 0))
    # The lids of the upper arm belong on its outer (high y) side.
    outer = lambda lid, z, reach: lid.moved(rpy=(0, 0, TAU / 2)).moved((0, 0.058 + reach, z))
    upper_trim = outer(p["upper_cap_low"], 0, 0.108) + outer(p["upper_cap_high"], 0.36, 0.104)
    elbow, p["elbow_cap"] = puck(0.06, -0.062, 0.056)
    elbow = elbow + tapered(0.048, 0.042, 0.035, 0.196, 0.92)
    forearm, p["forearm_cap"] = puck(0.046, -0.05, 0.04)
    forearm = forearm.moved((0, 0, 0.15)) + solid((0.041, 0.004, 0.003), (0.041, 0.03, 0.003), (0.034, 0.045, 0.004), (0.034, 0.13, 0))
    wrist, p["wrist_cap"] = puck(0.044, 0.0, 0.088)
    wrist = wrist.moved((0, 0.042, 0)) + solid((0.034, 0.02, 0), (0.034, 0.058, 0.004)).moved((0, 0.086, 0))
    wrist_trim = p["wrist_cap"].moved(rpy=(0, 0, TAU / 2)).moved((0, 0.13, 0))
    flange = solid((0.037, 0.002, 0.002), (0.037, 0.018, 0.002), (0.026, 0.02, 0.001), (0.026, 0.025, 0.001)) + bolts(6, 0.031, 0.017, 0.0035, 0.003)

    palm = prism(polygon([(-0.03, -0.055, 0.008), (0.03, -0.055, 0.008), (0.03, 0.055, 0.008), (-0.03, 0.055, 0.008)]), 0.006, 0.052, 0.005)
    rails = joined(*(block((0.01, 0.118, 0.012), 0.003).moved((x, 0, 0.056)) for x in (-0.015, 0.015)))
    palm = palm + rails + solid((0.034, 0, 0.002), (0.034, 0.008, 0.002))
    # Seen from the side (y across, z up): a carriage on the rails, and a slender jaw that bends inwards to its pad.
    side = [(0.0, 0.0, 0.002), (0.026, 0.0, 0.004), (0.026, 0.016, 0.004), (0.02, 0.028, 0.01), (0.016, 0.062, 0.01), (0.008, 0.09, 0.003), (0.002, 0.09, 0.002), (0.002, 0.05, 0.008), (0.004, 0.022, 0.006), (0.0, 0.014, 0.003)]  # fmt: skip
    jaw = prism(polygon(side), -0.011, 0.011, 0.0015, 1)
    # prism extrudes along z; map (x, y, z) → (y, z, x), a rotation.
    jaw = Mesh([(z, x, y) for x, y, z in jaw.points], jaw.faces)
    pad = block((0.018, 0.003, 0.034), 0.001).moved((0, 0.0015, 0.07))

    for part, mesh in {
        "shoulder": shoulder, "upper_arm": upper_arm, "elbow": elbow, "forearm": forearm, "wrist": wrist, "flange": flange,
        "palm": palm, "shoulder_cap": p["shoulder_cap"].moved((0, 0, 0.11)), "upper_arm_caps": upper_trim, "elbow_cap": p["elbow_cap"],
        "forearm_cap": p["forearm_cap"].moved((0, 0, 0.15)), "wrist_cap": wrist_trim,
    }.items():  # fmt: skip
        out.write(f"meshes/{part}.stl", stl_binary(mesh, f"{name} {part}"))
    out.write("meshes/finger.stl", stl_ascii(jaw, "finger"))

    stl = lambda part: mesh_file(name, f"meshes/{part}.stl")
    q = TAU / 4
    soft = lambda low, high: element("safety_controller", k_position="100", k_velocity="40", soft_lower_limit=number(low), soft_upper_limit=number(high))
    rub = lambda damping, friction: element("dynamics", damping=number(damping), friction=number(friction))
    axes = ["shoulder_pan_joint", "shoulder_lift_joint", "elbow_joint", "forearm_roll_joint", "wrist_pitch_joint", "flange_roll_joint"]
    finger_parts = (visual(stl("finger"), "steel"), visual(box(0.018, 0.003, 0.034), "rubber", (0, 0.0015, 0.07)), collision(box(0.022, 0.024, 0.09), (0, 0.013, 0.045)))
    finger_mass = inertial(inertia_of(jaw + pad, 0.06))

    text = robot(
        name, "A six-axis arm on a pedestal, with a two-finger gripper whose right finger mimics the left.",
        colour("shell", (0.92, 0.91, 0.88, 1)), colour("graphite", (0.16, 0.17, 0.19, 1)), colour("teal", (0.0, 0.55, 0.58, 1)),
        colour("steel", (0.66, 0.68, 0.71, 1)), colour("rubber", (0.08, 0.08, 0.08, 1)),
        link("world"),
        joint("world_joint", "fixed", "world", "base_link"),
        link("base_link", inertial(inertia_of(pedestal_body, 14)), visual(mesh_file(name, "meshes/pedestal.obj"), name="pedestal"),
             collision(cylinder(0.13, 0.022), (0, 0, 0.011)), collision(cylinder(0.09, 0.32), (0, 0, 0.18))),
        joint(axes[0], "revolute", "base_link", "shoulder_link", limit(150, 2.6, -2.9, 2.9), rub(1.2, 0.8),
              element("calibration", rising="0.05"), soft(-2.8, 2.8), xyz=(0, 0, 0.34), axis=(0, 0, 1)),
        link("shoulder_link", inertial(inertia_of(shoulder, 4.2)), visual(stl("shoulder"), "shell"), visual(stl("shoulder_cap"), "teal"), collision(stl("shoulder"))),
        joint(axes[1], "revolute", "shoulder_link", "upper_arm_link", limit(150, 2.6, -1.9, 1.9), rub(1.2, 0.8), soft(-1.8, 1.8),
              xyz=(0, 0, 0.11), rpy=(0, -0.35, 0), axis=(0, 1, 0)),
        link("upper_arm_link", inertial(in_frame(inertia_of(upper_arm, 6.5), (0, 0.4, 0.25))), visual(stl("upper_arm"), "shell", name="casing"),
             visual(stl("upper_arm_caps"), "teal", name="caps"), collision(stl("upper_arm"))),
        joint(axes[2], "revolute", "upper_arm_link", "elbow_link", limit(120, 2.8, -1.7, 2.4), rub(0.8, 0.5), soft(-1.6, 2.3),
              xyz=(0, 0, 0.36), rpy=(0, 1.95, 0), axis=(0, 1, 0)),
        link("elbow_link", inertial(in_frame(inertia_of(elbow, 2.8), (0.3, -0.2, 0.1))), visual(stl("elbow"), "shell"), visual(stl("elbow_cap"), "teal"), collision(stl("elbow"))),
        joint(axes[3], "continuous", "elbow_link", "forearm_link", limit(40, 3.5), rub(0.3, 0.2), xyz=(0, 0, 0.196), axis=(0, 0, 1)),
        link("forearm_link", inertial(inertia_of(forearm, 1.6)), visual(stl("forearm"), "graphite"), visual(stl("forearm_cap"), "teal"), collision(stl("forearm"))),
        joint(axes[4], "revolute", "forearm_link", "wrist_link", limit(40, 3.5, -2.1, 2.1), rub(0.3, 0.2), soft(-2, 2),
              xyz=(0, 0, 0.15), rpy=(0, q, 0), axis=(0, 1, 0)),
        link("wrist_link", inertial(inertia_of(wrist, 1.1)), visual(stl("wrist"), "shell"), visual(stl("wrist_cap"), "teal"), collision(stl("wrist"))),
        joint(axes[5], "revolute", "wrist_link", "flange_link", limit(20, 4, -TAU, TAU), rub(0.1, 0.1), xyz=(0, 0.086, 0.06), axis=(0, 0, 1)),
        link("flange_link", inertial(inertia_of(flange, 0.15)), visual(stl("flange"), "graphite"), collision(cylinder(0.037, 0.023), (0, 0, 0.0135))),
        joint("tool0_joint", "fixed", "flange_link", "tool0", xyz=(0, 0, 0.025)),
        link("tool0"),
        joint("gripper_joint", "fixed", "tool0", "gripper_link", rpy=(0, 0, q)),
        link("gripper_link", inertial(inertia_of(palm, 0.55)), visual(stl("palm"), "graphite"), collision(box(0.06, 0.11, 0.056), (0, 0, 0.03))),
        joint("grasp_joint", "fixed", "gripper_link", "grasp_frame", xyz=(0, 0, 0.13)),
        link("grasp_frame"),
        joint("left_finger_joint", "prismatic", "gripper_link", "left_finger_link", limit(30, 0.15, 0, 0.03), rub(2, 0.5), xyz=(0, 0.001, 0.062), axis=(0, 1, 0)),
        link("left_finger_link", finger_mass, *finger_parts),
        joint("right_finger_joint", "prismatic", "gripper_link", "right_finger_link", limit(30, 0.15, 0, 0.03), rub(2, 0.5),
              element("mimic", joint="left_finger_joint", multiplier="1", offset="0"), xyz=(0, -0.001, 0.062), rpy=(0, 0, TAU / 2), axis=(0, 1, 0)),
        link("right_finger_link", finger_mass, *finger_parts),
        element("ros2_control",
                element("hardware", element("plugin", "mock_components/GenericSystem"), element("param", "true", name="calculate_dynamics")),
                *(element("joint", element("command_interface", element("param", "-2.9", name="min"), element("param", "2.9", name="max"), name="position"),
                          element("state_interface", element("param", "0.0", name="initial_value"), name="position"), element("state_interface", name="velocity"), name=a) for a in axes),
                element("joint", element("command_interface", name="position"), element("state_interface", name="position"), name="left_finger_joint"),
                name="sample_arm_system", type="system"),
        *(element("transmission", element("type", "transmission_interface/SimpleTransmission"),
                  element("joint", element("hardwareInterface", "hardware_interface/PositionJointInterface"), name=a),
                  element("actuator", element("mechanicalReduction", str(ratio)), name=a.replace("joint", "motor")), name=a.replace("joint", "transmission"))
          for a, ratio in zip(axes[:2], (101, 101))),
    )  # fmt: skip
    out.write("urdf/sample_arm.urdf", text)

    at = lambda *positions: dict(zip(axes, positions))
    adjacent = [("base_link", "shoulder_link"), ("shoulder_link", "upper_arm_link"), ("upper_arm_link", "elbow_link"), ("elbow_link", "forearm_link"),
                ("forearm_link", "wrist_link"), ("wrist_link", "flange_link"), ("flange_link", "gripper_link"), ("gripper_link", "left_finger_link"),
                ("gripper_link", "right_finger_link")]  # fmt: skip
    # Pairs that joint limits keep apart, or that are meant to touch.
    apart = [("elbow_link", "wrist_link"), ("forearm_link", "flange_link"), ("wrist_link", "gripper_link"), ("flange_link", "left_finger_link"),
             ("flange_link", "right_finger_link")]  # fmt: skip
    fingers = ("left_finger_link", "right_finger_link")
    out.write("srdf/sample_arm.srdf", robot(
        name, "What planners ask of the sample arm: its groups, their states, and the links that need no check for collision.",
        element("group", element("chain", base_link="base_link", tip_link="tool0"), name="arm"),
        element("group", element("joint", name="left_finger_joint"), element("joint", name="right_finger_joint"), name="gripper"),
        group_state("arm", "home", at(0, 0, 0, 0, 0, 0)),
        group_state("arm", "stowed", at(0, -1, 2.3, 0, 0.3, 0)),
        group_state("arm", "up", at(0, 0, -1.6, 0, -1.570796, 0)),
        group_state("gripper", "open", {"left_finger_joint": 0.03}),
        group_state("gripper", "closed", {"left_finger_joint": 0}),
        element("end_effector", name="gripper", parent_link="tool0", group="gripper", parent_group="arm"),
        *disable_collisions("Adjacent", *adjacent), *disable_collisions("Never", *apart), *disable_collisions("User", fingers),
    ))  # fmt: skip
    jaw_balls = [((0, 0.013, z), 0.018) for z in (0.015, 0.045, 0.075)]
    ignore = {}
    for first, second in (*adjacent, *apart, fingers):
        ignore.setdefault(first, []).append(second)
    out.write("xrdf/sample_arm.xrdf", xrdf(
        "What motion generation asks of the sample arm: a posture to prefer, limits beyond the URDF's, and spheres for collision.",
        {**at(0.4, 0.15, -0.25, 0, 0.1, 0.4), "left_finger_joint": 0.02},
        dict(zip(axes, ((8, 400), (8, 400), (10, 500), (12, 600), (12, 600), (15, 800)))), ["tool0", "grasp_frame"],
        {
            "base_link": [((0, 0, z), 0.11) for z in (0.04, 0.13, 0.22, 0.28)],
            "shoulder_link": [((0, 0, 0.04), 0.09), ((0, -0.04, 0.11), 0.09), ((0, 0.02, 0.11), 0.09)],
            "upper_arm_link": [((0, 0.112, z), r) for z, r in ((0, 0.092), (0.09, 0.065), (0.18, 0.062), (0.27, 0.06), (0.36, 0.083))],
            "elbow_link": [((0, 0, 0), 0.083), ((0, 0, 0.09), 0.055), ((0, 0, 0.16), 0.05)],
            "forearm_link": [((0, 0, 0.04), 0.05), ((0, 0, 0.1), 0.05), ((0, 0, 0.15), 0.066)],
            "wrist_link": [((0, 0.086, 0), 0.062), ((0, 0.086, 0.035), 0.045)],
            "flange_link": [((0, 0, 0.012), 0.042)],
            "gripper_link": [((0, y, 0.03), 0.045) for y in (-0.03, 0, 0.03)],
            "left_finger_link": jaw_balls,
            "right_finger_link": jaw_balls,
        },
        ignore,
    ))  # fmt: skip
    out.write("package.xml", package_xml(name, "A sample robot: a six-axis arm with a mimic gripper."))


# ------------------------------------------------------------------------------------------------------------------ rover

ROVER_PAINTS = {
    "body": Paint((0.95, 0.55, 0.08)),
    "dark": Paint((0.13, 0.14, 0.16)),
    "alloy": Paint((0.72, 0.74, 0.77)),
    "rubber": Paint((0.07, 0.07, 0.08)),
    "deck": Paint((1, 1, 1), "../textures/deck.png"),
    "lamp": Paint((0.95, 0.97, 1.0), glow=(0.55, 0.6, 0.7)),
    "brake": Paint((0.75, 0.05, 0.05)),
    "white": Paint((0.93, 0.93, 0.91), roughness=0.4),
    "face": Paint((1, 1, 1), "face", roughness=0.25),
    "lens": Paint((0.03, 0.04, 0.07), roughness=0.1),
    "trim": Paint((0.16, 0.17, 0.19), roughness=0.6),
}


def deck_picture(x, y):
    """The rover's deck from above, 256 × 128, x forwards: panels, a warning strip at the tail, its name."""
    panel, line, pale, amber = (0.24, 0.26, 0.28), (0.12, 0.13, 0.14), (0.85, 0.86, 0.86), (0.97, 0.68, 0.1)
    if x < 20:
        return amber if stripes(x, y, 12) else line
    if lettering("ROVER-01", (x - 122) / 2.4, (y - 56) / 2.4):
        return pale
    if (x - 20) % 59 < 2 or abs(y - 32) < 1 or abs(y - 96) < 1 or y < 3 or y >= 125 or x >= 253:
        return line
    for cx in (34, 242):
        for cy in (16, 112):
            if (x - cx) ** 2 + (y - cy) ** 2 < 20:
                return line
    return panel


def face_picture(x, y):
    """The rover's face, 128 × 64: a dark screen with two bright eyes."""
    for cx in (38, 90):
        d = math.hypot((x - cx) / 1.0, (y - 34) / 1.25)
        if d < 13:
            return (0.25, 0.95, 0.9) if d < 11 else (0.1, 0.5, 0.5)
    if 50 <= x <= 78 and abs(y - 13 - ((x - 64) / 14) ** 2 * 4) < 1.5:
        return (0.25, 0.95, 0.9)
    return (0.03, 0.05, 0.07) if int(y) % 4 else (0.04, 0.07, 0.09)


def wheel_parts(radius, width, lugs, segments=28):
    """Geometries of a wheel about y, and the nodes that place them."""
    r, w = radius, width / 2
    tyre = lathe(fillet([(r * 0.7, -w * 0.8, 0), (r * 0.9, -w, 0.006), (r * 0.965, -w * 0.8, 0.006), (r * 0.965, w * 0.8, 0.006), (r * 0.9, w, 0.006), (r * 0.7, w * 0.8, 0)]), segments, closed=True)
    lug = prism(polygon([(-0.94 * w, -0.1 * r, 0), (-0.15 * w, 0.0, 0), (-0.15 * w, 0.13 * r, 0), (-0.94 * w, 0.03 * r, 0)]), 0, 0.05 * r, 0.015 * r, 1)
    rim = lathe(fillet([(r * 0.6, -w * 0.75, 0.003), (r * 0.7, -w * 0.82, 0.003), (r * 0.7, w * 0.82, 0.003), (r * 0.6, w * 0.75, 0.003), (r * 0.64, 0, 0)]), segments, closed=True)
    spoke = prism(polygon([(r * 0.14, -0.075 * r, 0), (r * 0.64, -0.045 * r, 0), (r * 0.64, 0.045 * r, 0), (r * 0.14, 0.075 * r, 0)]), -0.06 * r, 0.06 * r, 0.025 * r, 1)
    hub = solid((r * 0.2, -w * 0.5, 0.003), (r * 0.2, w * 0.55, 0.006), (r * 0.12, w * 0.7, 0.004), segments=20)
    hub = hub + bolts(5, r * 0.15, w * 0.54, r * 0.04, r * 0.04)
    geometries = {
        "tyre": tyre.painted("rubber"), **({"lug": lug.painted("rubber")} if lugs else {}), "rim": rim.painted("alloy"),
        "spoke": spoke.painted("alloy"), "hub": hub.painted("dark"),
    }  # fmt: skip
    q = TAU / 4
    spokes = [Node(f"spoke_{k}", (0, 0, w * 0.35), (0, 0, TAU * k / 5), "spoke") for k in range(5)]
    # A lug is in the x-y plane and extends along z: on the tread, its x is along the wheel's axis.
    treads = []
    for k in range(lugs):
        for side, turn in (("l", 0.0), ("r", TAU / 2)):
            a = TAU * (k + (0.5 if side == "r" else 0)) / lugs
            inner = Node(f"lug_{side}{k}", (r * 0.955, 0, 0), (0, q, 0), None, [Node(f"lug_{side}{k}_turn", (0, 0, 0), (0, 0, turn), "lug")])
            treads.append(Node(f"tread_{side}{k}", (0, 0, 0), (0, 0, a), None, [inner]))
    wheel = Node("wheel", (0, 0, 0), (-q, 0, 0), None, [
        Node("tyre", geometry="tyre"), Node("rim", geometry="rim"), Node("hub", geometry="hub"),
        Node("spokes", (0, 0, 0), (0, 0, 0.2), None, spokes), Node("treads", (0, 0, 0), (0, 0, 0), None, treads),
    ])  # fmt: skip
    return geometries, [wheel]


def rover(out):
    """A four-wheeled base with an odometry caster at the tail, and a mast that carries a pan-and-tilt head."""
    name = "sample_rover"
    # Side views, x forwards and z up. Roundings stay wider than the bevels.
    hull = polygon([(-0.26, -0.035, 0.02), (0.2, -0.035, 0.03), (0.285, 0.02, 0.02), (0.285, 0.055, 0.014), (0.265, 0.07, 0.014), (-0.28, 0.07, 0.014), (-0.285, 0.01, 0.03)])
    shell = polygon([(-0.285, 0.066, 0.014), (0.29, 0.066, 0.014), (0.23, 0.125, 0.03), (0.16, 0.14, 0.03), (-0.25, 0.14, 0.03), (-0.285, 0.11, 0.03)])

    def across(outline, width, bevel):  # an outline of (x, z), drawn along y
        mesh = prism([(x, -z) for x, z in reversed(outline)], -width / 2, width / 2, bevel)
        return Mesh([(x, z, -y) for x, y, z in mesh.points], mesh.faces)

    lower, upper = across(hull, 0.27, 0.01), across(shell, 0.32, 0.012)
    deck = prism(rounded_rectangle(0.36, 0.23, 0.012), 0.139, 0.145, 0.002, 1).moved((-0.045, 0, 0))
    axles = joined(*(solid((0.022, -0.185, 0.002), (0.022, 0.185, 0.002), segments=20).along_y().moved((x, 0, 0)) for x in (-0.19, 0.19)))
    lamp = solid((0.022, 0, 0.002), (0.024, 0.012, 0.002), (0.018, 0.016, 0.003), segments=24).along_x()
    lamps = joined(*(lamp.moved((0.262, y, 0.095), (0, -0.75, 0)) for y in (-0.105, 0.105)))
    bezel = solid((0.029, -0.012, 0), (0.029, 0.008, 0.003), segments=24).along_x()
    bezels = joined(*(bezel.moved((0.262, y, 0.095), (0, -0.75, 0)) for y in (-0.105, 0.105)))
    brakes = joined(*(block((0.008, 0.05, 0.014), 0.003).moved((-0.287, y, 0.095)) for y in (-0.105, 0.105)))
    bumper = tube([(0.24, -0.13, 0.02), (0.29, -0.13, 0.015), (0.312, -0.115, 0.012), (0.316, -0.08, 0.012), (0.316, 0.08, 0.012), (0.312, 0.115, 0.012), (0.29, 0.13, 0.015), (0.24, 0.13, 0.02)], 0.0095, 8)  # fmt: skip
    rails = joined(*(tube([(-0.2, y, 0.135), (-0.2, y, 0.162), (-0.185, y, 0.172), (-0.02, y, 0.172), (-0.005, y, 0.162), (-0.005, y, 0.135)], 0.006, 8) for y in (-0.135, 0.135)))
    fork_base = block((0.04, 0.06, 0.03), 0.006).moved((-0.295, 0, 0.02))
    socket = solid((0.042, 0.138, 0.002), (0.042, 0.152, 0.004), (0.03, 0.156, 0.004), (0.03, 0.19, 0.003), segments=32).moved((0.13, 0, 0))
    mount = solid((0.05, 0.14, 0.002), (0.05, 0.152, 0.003), segments=32).moved((-0.1, 0, 0))
    chassis = {
        "hull": joined(lower, axles, bumper, bezels, rails, fork_base, socket, mount).painted("dark"),
        "cover": joined(upper.painted("body"), lamps.painted("lamp"), brakes.painted("brake")),
        "deck": deck.painted("deck"),
    }
    scene = [Node("chassis", children=[Node("hull", geometry="hull"), Node("top", children=[Node("cover", geometry="cover"), Node("deck", geometry="deck")])])]
    out.write("meshes/chassis.dae", dae(chassis, scene, ROVER_PAINTS))
    out.write("textures/deck.png", draw(256, 128, deck_picture))

    geometries, scene = wheel_parts(0.1, 0.075, 14)
    out.write("meshes/wheel.dae", dae(geometries, scene, ROVER_PAINTS))
    small, small_scene = wheel_parts(0.04, 0.024, 0, 20)
    out.write("meshes/caster_wheel.dae", dae(small, small_scene, ROVER_PAINTS, 0.01, "centimeter"))

    cheek = prism(polygon([(-0.016, 0.03, 0.005), (-0.075, -0.04, 0.012), (-0.045, -0.052, 0.012), (0.02, 0.012, 0.006), (0.02, 0.03, 0.004)]), -0.003, 0.003, 0.0015, 1)
    cheek = Mesh([(x, -z, y) for x, y, z in cheek.points], cheek.faces)
    fork = joined(cheek.moved((0, 0.02, 0)), cheek.moved((0, -0.02, 0)), block((0.045, 0.05, 0.01), 0.004).moved((-0.0, 0, 0.028)), solid((0.016, 0.03, 0), (0.016, 0.045, 0.003), segments=24))
    out.write("meshes/caster_fork.stl", stl_binary(fork, f"{name} caster fork"))
    mast = solid((0.019, -0.15, 0.002), (0.019, 0.16, 0.001), (0.03, 0.164, 0.003), (0.03, 0.178, 0.003), segments=32)
    out.write("meshes/mast.stl", stl_binary(mast, f"{name} mast"))
    yoke = solid((0.032, 0.002, 0.002), (0.032, 0.02, 0.004), (0.02, 0.026, 0), segments=32) + block((0.034, 0.15, 0.012), 0.005).moved((0, 0, 0.026))
    arm_side = prism([(x, y) for x, y in dog_bone(0.017, 0.024, 0.05, 10)], -0.006, 0.006, 0.002, 1)
    # The outline's x becomes z (up), its own z becomes y.
    arm_side = Mesh([(y, z, x) for x, y, z in arm_side.points], arm_side.faces)
    yoke = yoke + joined(*(arm_side.moved((0, y, 0.03)) for y in (-0.078, 0.078)))
    out.write("meshes/yoke.stl", stl_binary(yoke, f"{name} yoke"))

    head = prism(rounded_rectangle(0.1, 0.138, 0.03, 6), -0.042, 0.048, 0.014, 3)
    screen = prism(rounded_rectangle(0.104, 0.052, 0.012), -0.003, 0.003, 0.0015, 1)
    # The screen's u runs from the viewer's left to right, v up: (u, v) → (+y, +z) when seen from the front means y and z, facing +x.
    screen = Mesh([(z + 0.0505, x, y + 0.002) for x, y, z in screen.points], screen.faces)
    brow = block((0.03, 0.12, 0.008), 0.0035).moved((0.052, 0, 0.036))
    ears = joined(*(solid((0.026, -0.004, 0.001), (0.026, 0.003, 0.002), segments=28).along_y().moved((0, y, 0.0)) for y in (-0.069, 0.069)))
    lens = solid((0.011, 0, 0.001), (0.011, 0.01, 0.002), (0.007, 0.0115, 0.001), segments=24).along_x().moved((0.05, 0, -0.0335))
    antenna = tube([(-0.03, 0.045, 0.04), (-0.034, 0.046, 0.07), (-0.042, 0.048, 0.11)], 0.0025, 8) + solid((0.006, -0.006, 0.005), (0.006, 0.006, 0.005), segments=16).moved((-0.042, 0.048, 0.114))
    head_mesh = joined(head.painted("white"), screen.painted("face"), brow.painted("trim"), ears.painted("trim"), lens.painted("lens"), antenna.painted("trim"))
    out.write("meshes/head.glb", glb(head_mesh, ROVER_PAINTS, {"face": draw(128, 64, face_picture)}))

    q = TAU / 4
    rub = lambda damping, friction: element("dynamics", damping=number(damping), friction=number(friction))
    wheel_solid = solid((0.1, -0.0375, 0.01), (0.1, 0.0375, 0.01)).along_y()
    wheels = []
    for side, y, flip in (("left", 0.205, 0), ("right", -0.205, TAU / 2)):
        for end, x in (("front", 0.19), ("rear", -0.19)):
            wheels += [
                joint(f"{end}_{side}_wheel_joint", "continuous", "base_link", f"{end}_{side}_wheel_link", limit(12, 18), rub(0.05, 0.02), xyz=(x, y, 0), axis=(0, 1, 0)),
                link(f"{end}_{side}_wheel_link", inertial(inertia_of(wheel_solid, 1.1)), visual(mesh_file(name, "meshes/wheel.dae"), rpy=(0, 0, flip)),
                     collision(cylinder(0.1, 0.075), rpy=(q, 0, 0))),
            ]  # fmt: skip
    text = robot(
        name, "A four-wheeled rover with an odometry caster, a rising mast and a pan-and-tilt sensor head.",
        colour("dark", (0.13, 0.14, 0.16, 1)), colour("alloy", (0.72, 0.74, 0.77, 1)), colour("white", (0.93, 0.93, 0.91, 1)), colour("smoke", (0.05, 0.06, 0.08, 0.9)),
        link("base_footprint"),
        joint("base_footprint_joint", "fixed", "base_footprint", "base_link", xyz=(0, 0, 0.1)),
        link("base_link", inertial(inertia_of(lower + upper, 18)), visual(mesh_file(name, "meshes/chassis.dae"), name="chassis"),
             collision(box(0.57, 0.27, 0.1), (0, 0, 0.015), name="hull"), collision(box(0.56, 0.32, 0.07), (0, 0, 0.105), name="cover")),
        *wheels,
        joint("caster_swivel_joint", "continuous", "base_link", "caster_fork_link", limit(1, 20), rub(0.01, 0.01), xyz=(-0.315, 0, -0.025), axis=(0, 0, 1)),
        link("caster_fork_link", inertial(in_frame(inertia_of(fork, 0.2), (0, 0.6, 0))), visual(mesh_file(name, "meshes/caster_fork.stl"), "alloy"), collision(mesh_file(name, "meshes/caster_fork.stl"))),
        joint("caster_wheel_joint", "continuous", "caster_fork_link", "caster_wheel_link", limit(1, 50), rub(0.005, 0.002), xyz=(-0.055, 0, -0.035), axis=(0, 1, 0)),
        link("caster_wheel_link", inertial(inertia_of(solid((0.04, -0.012, 0), (0.04, 0.012, 0)).along_y(), 0.15)), visual(mesh_file(name, "meshes/caster_wheel.dae")), collision(cylinder(0.04, 0.024), rpy=(q, 0, 0))),
        joint("mast_lift_joint", "prismatic", "base_link", "mast_link", limit(60, 0.2, 0, 0.12), rub(8, 2), xyz=(0.13, 0, 0.16), axis=(0, 0, 1)),
        link("mast_link", inertial(inertia_of(mast, 0.7)), visual(mesh_file(name, "meshes/mast.stl"), "alloy"), collision(cylinder(0.02, 0.31), (0, 0, 0.005))),
        joint("head_pan_joint", "revolute", "mast_link", "head_pan_link", limit(4, 3, -2.6, 2.6), rub(0.1, 0.05), xyz=(0, 0, 0.178), axis=(0, 0, 1)),
        link("head_pan_link", inertial(inertia_of(yoke, 0.35)), visual(mesh_file(name, "meshes/yoke.stl"), "dark"), collision(mesh_file(name, "meshes/yoke.stl"))),
        joint("head_tilt_joint", "revolute", "head_pan_link", "head_link", limit(4, 3, -0.6, 0.9), rub(0.1, 0.05), xyz=(0, 0, 0.08), axis=(0, 1, 0)),
        link("head_link", inertial(inertia_of(head, 0.8)), visual(mesh_file(name, "meshes/head.glb"), name="head"), collision(box(0.1, 0.138, 0.09), (0, 0, 0.003))),
        joint("camera_joint", "fixed", "head_link", "camera_link", xyz=(0.0615, 0, -0.0335)),
        link("camera_link"),
        joint("camera_optical_joint", "fixed", "camera_link", "camera_optical_frame", rpy=(-q, 0, -q)),
        link("camera_optical_frame"),
        joint("lidar_joint", "fixed", "base_link", "lidar_link", xyz=(-0.1, 0, 0.185)),
        link("lidar_link", inertial(inertia_of(solid((0.042, -0.033, 0), (0.042, 0.033, 0)), 0.4)), visual(cylinder(0.042, 0.022), "dark", (0, 0, -0.022), name="foot"),
             visual(cylinder(0.039, 0.03), "smoke", (0, 0, 0.004), name="window"), visual(cylinder(0.042, 0.012), "dark", (0, 0, 0.025), name="lid"), collision(cylinder(0.042, 0.066))),
        joint("imu_joint", "fixed", "base_link", "imu_link", xyz=(0, 0, 0.04)),
        link("imu_link"),
        element("gazebo", element("sensor", element("update_rate", "30"), element("always_on", "true"), element("topic", "camera/image_raw"),
                                  element("camera", element("camera_info_topic", "camera/camera_info"), element("optical_frame_id", "camera_optical_frame"), element("horizontal_fov", "1.2"),
                                          element("image", element("width", "1280"), element("height", "720"), element("format", "R8G8B8")),
                                          element("clip", element("near", "0.05"), element("far", "30"))), name="camera", type="camera"), reference="camera_link"),
        element("gazebo", element("sensor", element("update_rate", "10"), element("topic", "scan"),
                                  element("lidar", element("scan", element("horizontal", element("samples", "720"), element("resolution", "1"), element("min_angle", "-3.14159265"), element("max_angle", "3.14159265"))),
                                          element("range", element("min", "0.08"), element("max", "12"), element("resolution", "0.01"))), name="lidar", type="gpu_lidar"), reference="lidar_link"),
        element("gazebo", element("sensor", element("update_rate", "100"), element("topic", "imu"), name="imu", type="imu"), reference="imu_link"),
        *(element("gazebo", element("mu1", "1.1"), element("mu2", "0.9"), reference=f"{end}_{side}_wheel_link") for side in ("left", "right") for end in ("front", "rear")),
    )  # fmt: skip
    out.write("urdf/sample_rover.urdf", text)
    head_joints = ("mast_lift_joint", "head_pan_joint", "head_tilt_joint")
    looks = {"ahead": (0, 0, 0), "raised": (0.12, 0, 0), "left": (0.08, 1.2, 0.1), "right": (0.08, -1.2, 0.1), "down": (0.1, 0, 0.8)}
    out.write("srdf/sample_rover.srdf", robot(
        name, "What planners ask of the sample rover: its head as a group, and where that looks.",
        element("group", *(element("joint", name=j) for j in head_joints), name="head"),
        *(group_state("head", look, dict(zip(head_joints, at))) for look, at in looks.items()),
    ))  # fmt: skip
    out.write("package.xml", package_xml(name, "A sample robot: a four-wheeled rover with a mast and a sensor head."))


# ---------------------------------------------------------------------------------------------------------------- corners


def corners(out):
    """Difficult features of URDF in one robot."""
    name = "sample_corners"
    # A bracket without any symmetry, so that every mistake of axis, sign or order shows.
    bracket = prism(polygon([(0, 0, 0.004), (0.2, 0, 0.01), (0.2, 0.03, 0.01), (0.05, 0.05, 0.03), (0.03, 0.12, 0.01), (0, 0.12, 0.01)]), 0, 0.04, 0.004)
    bracket = bracket + bolts(1, 0.012, 0.039, 0.004, 0.004).moved((0.17, 0.015, 0))
    out.write("meshes/bracket é.stl", stl_binary(bracket, "solid bracket: a binary file whose header says solid"))
    out.write("meshes/bracket_ascii.STL", stl_ascii(bracket, "bracket"))
    flat = Mesh([(0, 0, 0), (0.1, 0, 0), (0.1, 0.05, 0), (0, 0.05, 0)], [Face((0, 1, 2, 3))])
    out.write("meshes/flat.stl", stl_binary(flat, "a plate without thickness"))
    paints = {"side": Paint((0.2, 0.45, 0.7)), "top": Paint((1, 1, 1), "../textures/tiles.png")}
    tile = prism(rounded_rectangle(0.12, 0.08, 0.01), 0, 0.03, 0.004)
    tile = Mesh(tile.points, [Face(f.corners, f.uvs, "top" if f.uvs else "side") for f in tile.faces])
    out.write("meshes/tile.obj", obj(tile, "tile.mtl"))
    out.write("meshes/tile.mtl", mtl(paints))
    checks = lambda x, y: ((0.9, 0.35, 0.2) if x < 16 else (0.85, 0.85, 0.8)) if (x // 8 + y // 8) % 2 else (0.2, 0.22, 0.25)
    out.write("textures/tiles.png", draw(64, 64, checks, 1))
    geometries, scene = wheel_parts(0.05, 0.03, 3, 12)
    half = [Node("assembly", (0.01, 0.02, 0.03), (0.3, -0.2, 0.5), None, [Node("lower", (0, 0, 0), (0, 0, 0), None, scene)])]
    out.write("meshes/nested.dae", dae({k: v.painted("alloy" if k in ("rim", "spoke") else "rubber") for k, v in geometries.items()}, half, ROVER_PAINTS, 0.0254, "inch"))

    plain = inertial(in_frame(Inertia(0.5, (0.01, -0.02, 0.03), ((0.004, 0, 0), (0, 0.005, 0), (0, 0, 0.006))), (0, 0, 0)))
    turned_inertial = element("inertial", origin((0.1, -0.05, 0.02), (0.4, -0.9, 2.2)), element("mass", value="2.5"),
                              element("inertia", ixx="0.05", ixy="0.004", ixz="-0.003", iyy="0.06", iyz="0.002", izz="0.04"))  # fmt: skip
    mesh = lambda file, scale=None: mesh_file(name, file, scale)
    text = robot(
        "sample corners-1", "Corner cases: every one of them is legal, and each has broken some converter.",
        colour("blue", (0.1, 0.3, 0.8, 1)), colour("glass", (0.4, 0.7, 0.9, 0.35)), element("material", element("texture", filename=f"package://{name}/textures/tiles.png"), name="tiles"),
        colour("blue", (0.8, 0.1, 0.1, 1)),
        link("world"),
        joint("free-flyer", "floating", "world", "base-link", xyz=(0, 0, 0.5), rpy=(0, 0, 0.3)),
        element("link", turned_inertial, visual(box(0.4, 0.3, 0.1), "tiles", name="body"), visual(cylinder(0.05, 0.12), "blue", (0, 0, 0.1), (0.3, 0.2, 0.1), name="body"),
                visual(element("sphere", radius="0.04"), "glass", (0.1, 0, 0.1), name="1st/bulb"), collision(box(0.4, 0.3, 0.1)), collision(sphere(0.05), (0, 0, 0.1)), name="base-link"),
        # Two names that become one identifier, and one that is the identifier.
        joint("slide x/y", "planar", "base-link", "base link", limit(10, 1), xyz=(0, 0.3, 0), rpy=(0.2, 0, 0.4), axis=(0, 0.6, 0.8)),
        link("base link", plain, visual(mesh("meshes/bracket é.stl", "-1 1 1"), "blue"), collision(mesh("meshes/bracket é.stl", "-1 1 1"))),
        joint("turn", "revolute", "base link", "base_link", limit(5, 2, -0.5, 1.25), element("dynamics", damping="0.7", friction="0.3"), element("calibration", rising="0.1", falling="-0.1"),
              element("safety_controller", k_velocity="10", k_position="20", soft_lower_limit="-0.4", soft_upper_limit="1.2"), xyz=(0.1, 0, 0.2), rpy=(0, TAU / 4, 0), axis=(0.36, -0.48, 0.8)),
        link("base_link", plain, visual(mesh("meshes/bracket_ascii.STL", "1 0.5 2"), "glass"), visual(mesh("meshes/tile.obj"), None, (0, 0, 0.1)), collision(mesh("meshes/bracket_ascii.STL", "1 0.5 2"))),
        # A leading digit, a slash, other alphabets.
        joint("2nd/joint", "prismatic", "base_link", "3rd.finger", limit(20, 0.1, -0.02, 0.04), xyz=(0, 0.1, 0), axis=(0, -3, 4)),
        link("3rd.finger", plain, visual(element("capsule", radius="0.03", length="0.1"), "blue"), collision(element("capsule", radius="0.03", length="0.1"), (0, 0, 0.02), (0.1, 0.2, 0.3))),
        joint("follower_a", "prismatic", "base_link", "палец", limit(20, 0.1, -0.1, 0.1), element("mimic", joint="2nd/joint", multiplier="-0.5", offset="0.01"), xyz=(0, -0.1, 0), axis=(1, 0, 0)),
        link("палец", plain, visual(mesh("meshes/nested.dae", "1 2 0.5"))),
        joint("follower_b", "prismatic", "палец", "指", limit(20, 0.1, -0.1, 0.1), element("mimic", joint="follower_a", multiplier="2", offset="-0.003"), xyz=(0, 0, 0.1), axis=(0, 0, 1)),
        link("指", plain, visual(sphere(0.02), "blue")),
        # Siblings whose names meet in one identifier, joints' and links' alike.
        *(part for k, pad in enumerate(("pad-1", "pad 1", "pad_1")) for part in (
            joint(f"pad{'-. '[k]}joint", "continuous", "base-link", pad, xyz=(-0.1 + 0.1 * k, -0.2, 0), axis=(1, 0, 0)),
            link(pad, plain, visual(box(0.05, 0.02, 0.02), "blue")))),
        # A chain of frames with a body at its end, and a frame that nothing follows.
        joint("mount_joint", "fixed", "base-link", "mount", xyz=(0.2, 0, 0.05), rpy=(0.1, 0.2, 0.3)),
        link("mount"),
        joint("mount_2_joint", "fixed", "mount", "mount_2", xyz=(0, 0, 0.05), rpy=(-0.4, 0, 0)),
        link("mount_2"),
        joint("wheel", "continuous", "mount_2", "wheel", xyz=(0, 0.05, 0), axis=(0, 1, 0)),
        link("wheel", plain, visual(cylinder(0.05, 0.02), "glass", rpy=(TAU / 4, 0, 0)), collision(cylinder(0.05, 0.02), rpy=(TAU / 4, 0, 0))),
        joint("tip_joint", "fixed", "wheel", "tip", xyz=(0, 0.02, 0), rpy=(0, 0, TAU / 2)),
        link("tip"),
        # Bodies without properties that physics needs.
        joint("bare_joint", "revolute", "base-link", "bare", limit(1, 1, 0, 1), xyz=(-0.2, 0, 0), axis=(0, 1, 0)),
        link("bare", visual(mesh("meshes/flat.stl"), "blue")),
        joint("light_joint", "fixed", "bare", "light", xyz=(0, 0, 0.1)),
        link("light", inertial(Inertia(0.0, (0, 0, 0), ((0, 0, 0), (0, 0, 0), (0, 0, 0)))), visual(box(0.02, 0.02, 0.02), "blue")),
        # Foreign attributes, elements and namespaces.
        element("vendor:calibration", element("vendor:entry", "1 2 3", joint="turn", unit="mm"), version="2"),
        element("loop_hint", kind="none"),
        element("gazebo", element("static", "false")),
        **{"xmlns:vendor": "https://example.org/vendor", "version": "1.0", "vendor:serial": "A-17"},
    )  # fmt: skip
    out.write("urdf/sample_corners.urdf", text)
    out.write("package.xml", package_xml(name, "A sample robot of corner cases."))


# ------------------------------------------------------------------------------------------------------------------- main


class Folder:
    """The output files of one robot."""

    def __init__(self, path):
        self.path = path

    def write(self, file, data):
        target = self.path / file
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent
    for name, make in (("sample_arm", arm), ("sample_rover", rover), ("sample_corners", corners)):
        make(Folder(root / name))


if __name__ == "__main__":
    main()
