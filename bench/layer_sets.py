"""Generates sets of OpenUSD layers, composes them with OpenUSD, and compares the result with this program's composition.

A set is made from a seed alone, so that a seed names a case. Sets of the kinds with `cyclic` have arcs to any prim, also to the one with the arc and
to those around it; the others have arcs to later prims and layers only.
"""

import json
import os
import random
import resource
import signal
import subprocess
import tempfile
from dataclasses import dataclass

from pxr import Sdf, Tf, Usd

ARCS = ("references", "payload", "inherits", "specializes")
#: Edits of lists of arcs: a plain list twice as often as each edit.
EDITS = ("", "", "prepend ", "append ", "add ", "delete ", "reorder ")
SCHEMAS = ('"PhysicsMassAPI"', '"PhysicsRigidBodyAPI"', '"PhysicsCollisionAPI"')


@dataclass
class Kind:
    """The features of the sets of a kind."""

    edits: bool = False
    """Edits of lists, and variants inside of variants."""
    properties: bool = False
    """Properties, offsets, instances and metadata."""
    relocates: bool = False
    cyclic: bool = False


KINDS = {
    "arcs": Kind(),
    "edits": Kind(edits=True),
    "properties": Kind(edits=True, properties=True),
    "relocates": Kind(edits=True, properties=True, relocates=True),
    "cyclic": Kind(cyclic=True),
    "cyclic-edits": Kind(edits=True, cyclic=True),
}


class Set:
    """The layers of a seed."""

    def __init__(self, kind, seed):
        self.random = random.Random(seed)
        self.kind = KINDS[kind]
        self.names = "abc" if self.kind.cyclic else "abcdef"
        self.top = self.index = None
        count = self.random.choice([1, 1, 2, 3])
        self.density = self.random.choice([0.1, 0.2, 0.3])
        self.variants = self.random.choice([0, 0.2, 0.35])
        self.files = [f"f{index}.usda" for index in range(count)]

    def write(self, folder):
        """Writes the layers, and returns the path of the first."""
        folder.mkdir(parents=True, exist_ok=True)
        for self.index, file in enumerate(self.files):
            (folder / file).write_text(self.layer())
        return folder / self.files[0]

    def chance(self, probability):
        return self.random.random() < probability

    def path(self, after=""):
        """A path of up to three prims; the first one comes after another name."""
        first = [name for name in self.names if name > after]
        if not first:
            return None
        path = "/" + self.random.choice(first)
        for probability in (0.4, 0.25):
            if self.chance(probability):
                path += "/" + self.random.choice(self.names)
        return path

    def offset(self):
        if not self.kind.properties or self.chance(0.6):
            return ""
        return f" (offset = {self.random.choice([1, 10, -3])}; scale = {self.random.choice([1, 2, 0.5])})"

    def arc(self, name):
        """The target of an arc."""
        after = "" if self.kind.cyclic else self.top
        if name in ("inherits", "specializes"):
            path = self.path(after)
            return f"<{path}>" if path else None
        files = self.files if self.kind.cyclic else self.files[self.index + 1 :]
        file = self.random.choice(files) if files and self.chance(0.5) else ""
        path = self.path("" if file else after) if not file or self.chance(0.7) else ""
        if not file and not path:
            return None
        return (f"@./{file}@" if file else "") + (f"<{path}>" if path else "") + self.offset()

    def metadata(self, indent):
        lines = []
        for name in ARCS:
            if not self.chance(self.density):
                continue
            edit = self.random.choice(EDITS) if self.kind.edits else ""
            arcs = [self.arc(name) for _ in range(self.random.choice([1, 1, 1, 2]))]
            arcs = [arc for arc in arcs if arc]
            if arcs:
                is_one = len(arcs) == 1 and self.chance(0.5)
                lines.append(f"{indent}{edit}{name} = " + (arcs[0] if is_one else f"[{', '.join(dict.fromkeys(arcs))}]"))
        if self.kind.properties:
            choice = self.random.choice
            if self.chance(0.1):
                lines.append(f"{indent}instanceable = {choice(['true', 'true', 'false'])}")
            if self.chance(0.05):
                lines.append(f"{indent}active = {choice(['true', 'false'])}")
            if self.chance(0.1):
                lines.append(f'{indent}kind = "{choice(["component", "group"])}"')
            if self.chance(0.15):
                data = f"int {choice('pq')} = {self.random.randrange(9)}\n dictionary d = {{ int {choice('uv')} = {self.random.randrange(9)} }}"
                lines.append(f"{indent}customData = {{ {data} }}")
            if self.chance(0.15):
                edit = choice(["", "prepend ", "append ", "delete ", "add "])
                lines.append(f"{indent}{edit}apiSchemas = [{', '.join(self.random.sample(SCHEMAS, choice([1, 2])))}]")
        return lines

    def properties(self, indent):
        lines = []
        if not self.kind.properties:
            return lines
        choice, number = self.random.choice, self.random.randrange
        for name in "xy":
            if self.chance(0.15):
                lines.append(f"{indent}double {name} = {choice([number(99), number(99), 'None'])}")
            if self.chance(0.1):
                lines.append(f"{indent}double {name}.timeSamples = {{ {number(5)}: {number(99)}, {5 + number(5)}: 3 }}")
            if self.chance(0.1):
                edit = choice(["", "prepend ", "append ", "delete "])
                lines.append(f"{indent}{edit}double {name}.connect = [<{self.path()}.x>, <{self.path()}.y>]")
        if self.chance(0.1):
            lines.append(f"{indent}timecode t = {number(9)}")
        if self.chance(0.05):
            lines.append(f"{indent}asset f = @./{choice(self.files)}@")
        for name in "rs":
            if self.chance(0.15):
                edit = choice(["", "prepend ", "append ", "delete ", "add "])
                targets = [f"<{self.path()}{choice(['', '.x'])}>" for _ in range(choice([1, 2]))]
                lines.append(f"{indent}{edit}rel {name} = [{', '.join(dict.fromkeys(targets))}]")
        return lines

    def prims(self, depth, indent):
        lines, seen = [], set()
        count = self.random.choice([0, 1, 2, 2])
        if depth == 0:
            count += 2 if self.kind.cyclic else 4
        for _ in range(count):
            name = self.random.choice(self.names)
            if name in seen:
                continue
            if depth == 0:
                self.top = name
            seen.add(name)
            lines += self.prim(name, depth, indent)
        if self.kind.properties and self.chance(0.1):
            order = '"c", "a"' if depth else '"c", "b"'
            lines.append(f"{indent}reorder {'nameChildren' if depth else 'rootPrims'} = [{order}]")
        return lines

    def body(self, depth, indent):
        lines = self.properties(indent)
        return lines + (self.prims(depth + 1, indent) if depth < 2 else [])

    def variant_sets(self, depth, indent, names="vw"):
        """The metadata and the variants of at most one set."""
        for name in names:
            if not self.chance(self.variants):
                continue
            metadata = []
            if self.chance(0.85):
                metadata.append(f'{indent}    variants = {{ string {name} = "{self.random.choice(["x", "x", "y", "z"])}" }}')
            metadata.append(f'{indent}    {self.random.choice(["prepend ", "append ", "add ", ""])}variantSets = "{name}"')
            lines = [f'{indent}    variantSet "{name}" = {{']
            for variant in self.random.choice([["x"], ["x", "y"]]):
                inner = names[1:] if self.kind.edits else ""
                inside, sets = self.variant_sets(depth, indent + "    ", inner)
                lines += [f'{indent}      "{variant}" (', *self.metadata(indent + "          "), *inside, f"{indent}      ) {{"]
                lines += [*self.body(depth, indent + "        "), *sets, f"{indent}      }}"]
            return metadata, [*lines, f"{indent}    }}"]
        return [], []

    def prim(self, name, depth, indent):
        specifier = type_name = ""
        if self.kind.properties:
            specifier = self.random.choice(["def", "def", "def", "over", "class"])
            type_name = self.random.choice(["", "Xform ", "Scope "])
        metadata, sets = self.variant_sets(depth, indent)
        head = [f'{indent}{specifier or "def"} {type_name}"{name}" (', *self.metadata(indent + "    "), *metadata, f"{indent})", f"{indent}{{"]
        return [*head, *sets, *self.body(depth, indent + "    "), f"{indent}}}"]

    def relocates(self):
        """Relocates, of which some are not valid, or contradict each other."""
        pairs = []
        for _ in range(self.random.choice([0, 1, 1, 2, 4])):
            source = self.path() + "/" + self.random.choice(self.names)
            target = f"<{self.path()}{self.random.choice(['', '/n', '/n', '/m'])}>"
            pairs.append(f"<{source}>: {self.random.choice([target] * 5 + ['<>'])}")
        return [f"    relocates = {{ {', '.join(pairs)} }}"] if pairs else []

    def layer(self):
        below = [f"@./{file}@{self.offset()}" for file in self.files[self.index + 1 :] if self.chance(0.3)]
        head = ["#usda 1.0", "(", '    defaultPrim = "a"'] + ([f"    subLayers = [{', '.join(below)}]"] if below else [])
        if self.kind.properties and self.chance(0.2):
            head.append(f"    timeCodesPerSecond = {self.random.choice([24, 48, 12])}")
        if self.kind.relocates:
            head += self.relocates()
        return "\n".join([*head, ")", *self.prims(0, "")]) + "\n"


def limited(seconds):
    """Limits the memory and processor time of a process: for some sets with cycles, OpenUSD does not end, or takes all memory.

    Processor time does not depend on the load of the machine; the alarm ends a process that waits forever.
    """
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    signal.alarm(20 * seconds)


def composed_here(program, entries):
    """The answers of the example `composed_stages` of crates/stage, one for each path; `end` where it does not answer."""
    found = []
    while len(found) < len(entries):
        left = entries[len(found) :]
        with tempfile.TemporaryFile("w+") as output:
            process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=output, text=True, preexec_fn=lambda: limited(60))
            process.communicate("".join(f"{entry}\n" for entry in left))
            output.seek(0)
            answers = [json.loads(line) for line in output.read().splitlines() if line.endswith("}")]
        found += answers
        if len(answers) < len(left):
            found.append({"end": f"exit code {process.returncode}"})
    return found


def composed_by_openusd(entry, seconds=2):
    """OpenUSD's answer about a set, from another process; `end` where it does not answer."""
    with tempfile.TemporaryFile("w+") as output:
        child = os.fork()
        if not child:
            try:
                null = os.open(os.devnull, os.O_WRONLY)
                os.dup2(null, 1)
                os.dup2(null, 2)
                limited(seconds)
                output.write(json.dumps(dump(entry)))
                output.flush()
            finally:
                os._exit(0)
        _, status = os.waitpid(child, 0)
        output.seek(0)
        try:
            return json.loads(output.read())
        except ValueError:
            return {"end": f"status {status}"}


def plain(value):
    """A value as JSON has it."""
    if isinstance(value, Sdf.AssetPath):
        return value.resolvedPath
    if isinstance(value, Sdf.TimeCode):
        return value.GetValue()
    if isinstance(value, Sdf.PathExpression):
        return value.GetText()
    return {key: plain(entry) for key, entry in value.items()} if isinstance(value, dict) else value


def dump(entry):
    try:
        stage = Usd.Stage.Open(str(entry))
    except Tf.ErrorException as error:
        is_fault = "erification" in str(error) or "Coding" in str(error)
        return {"end" if is_fault else "error": str(error)}
    prims = Usd.PrimRange(stage.GetPseudoRoot(), Usd.TraverseInstanceProxies(Usd.PrimAllPrimsPredicate))
    return {
        "prims": [dump_prim(prim) for prim in prims if not prim.IsPseudoRoot()],
        "errors": [type(error).__name__ for error in stage.GetCompositionErrors()],
    }


def dump_prim(prim):
    attributes = {}
    for attribute in prim.GetAuthoredAttributes():
        times, value = attribute.GetTimeSamples(), attribute.Get()
        value = attribute.Get(times[0]) if value is None and times else value
        connections = [str(path) for path in attribute.GetConnections()]
        attributes[attribute.GetName()] = {"value": plain(value), "times": list(times), "connections": connections}
    data = plain(prim.GetMetadata("customData")) if prim.HasAuthoredMetadata("customData") else None
    return {
        "path": str(prim.GetPath()),
        "sites": [[spec.layer.identifier.rsplit("/", 1)[-1], str(spec.path)] for spec in prim.GetPrimStack()],
        "type": str(prim.GetTypeName()),
        "specifier": str(prim.GetSpecifier()).rsplit("Specifier", 1)[-1],
        "active": prim.IsActive(),
        "instance": prim.IsInstance(),
        "kind": prim.GetMetadata("kind") or None,
        "schemas": list(prim.GetAppliedSchemas()),
        "attributes": attributes,
        "relationships": {each.GetName(): [str(path) for path in each.GetTargets()] for each in prim.GetAuthoredRelationships()},
        "variants": {name: prim.GetVariantSet(name).GetVariantSelection() or None for name in prim.GetVariantSets().GetNames()},
        # A schema that adds documentation to prims is part of OpenUSD's answer only.
        "custom": data and {key: value for key, value in data.items() if key != "userDocBrief"},
    }


#: Errors here about opinions that OpenUSD leaves out without an error.
SILENT = (" is outside of ", "this opinion does not count", "have no effect")


def differences(here, there):
    """The differences between two answers about a set, in words."""
    if "end" in here:
        return [f"no answer: {here['end']}"]
    if ("error" in here) != ("error" in there):
        return [f"opened by one only: {here.get('error') or there.get('error')}"]
    if "error" in here:
        return []
    found = []
    paths, expected = [prim["path"] for prim in here["prims"]], {prim["path"]: prim for prim in there["prims"]}
    if sorted(paths) != sorted(expected):
        found.append(f"prims: further {sorted(set(paths) - set(expected))}, missing {sorted(set(expected) - set(paths))}")
    elif paths != list(expected):
        found.append(f"order: {paths}, in OpenUSD {list(expected)}")
    for prim in here["prims"]:
        other = expected.get(prim["path"], prim)
        for key, value in prim.items():
            theirs = other[key]
            # OpenUSD also names sets of opinions that do not count, such as those about prims below an instance.
            if key == "variants":
                value, theirs = ({name: chosen for name, chosen in sets.items() if chosen} for sets in (value, theirs))
            if value != theirs:
                found.append(f"{key} of {prim['path']}:\n  here    {value}\n  OpenUSD {theirs}")
    errors = [message for _, message in here["errors"] if not any(words in message for words in SILENT)]
    if bool(errors) != bool(there["errors"]):
        found.append(f"errors: {errors}, in OpenUSD {there['errors']}")
    return found
