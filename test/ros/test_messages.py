"""The bytes of every message, compared with an independent implementation: CycloneDDS' Python types in ros_peer and moveit_peer.
`crates/messages/src/tests/cyclone.jsonl` has them for the unit tests of that crate, which encode and decode the same values;
`UPDATE_MESSAGES=1` updates it."""

import dataclasses
import itertools
import json
import os
import typing
from pathlib import Path

import pytest

pytest.importorskip("cyclonedds", reason="the bytes are compared with those of cyclonedds (pip install cyclonedds)")

import moveit_peer  # noqa: E402
import ros_peer  # noqa: E402
from cyclonedds.idl import IdlStruct  # noqa: E402
from cyclonedds.idl import types as idl  # noqa: E402

FIXTURE = Path(__file__).parents[2] / "crates/messages/src/tests/cyclone.jsonl"


def interfaces():
    """Returns all messages and halves of services, by ROS name."""
    found = {}
    for value in itertools.chain(vars(ros_peer).values(), vars(moveit_peer).values()):
        kinds = [value.request, value.response] if isinstance(value, ros_peer.Service) else [value]
        for kind in kinds:
            if isinstance(kind, type) and issubclass(kind, IdlStruct) and kind is not IdlStruct:
                package, folder, _, name = kind.__idl_typename__.split("::")
                found[f"{package}/{folder}/{name.removesuffix('_')}"] = kind
    return dict(sorted(found.items()))


def filled(hint, count):
    """Returns a value of a type, different from the last one."""
    if isinstance(hint, type) and issubclass(hint, IdlStruct):
        return hint(**{name: filled(hint, count) for name, hint in typing.get_type_hints(hint, include_extras=True).items()})
    if hint is str:
        return f"ü{next(count)}"
    if hint is bool:
        return next(count) % 2 == 0
    _, kind = typing.get_args(hint)
    if isinstance(kind, idl.array):
        return [filled(kind.subtype, count) for _ in range(kind.length)]
    if isinstance(kind, idl.sequence):
        # In a large message, only the first sequences have two elements.
        is_single = kind.subtype in (ros_peer.FloatingPointRange, ros_peer.IntegerRange) or next(count) > 40
        return [filled(kind.subtype, count) for _ in range(1 if is_single else 2)]
    return next(count) % 200 + (0.5 if kind.startswith("float") else 0)


def plain(value):
    """Converts a message to JSON; `type` is a keyword of Rust."""
    if dataclasses.is_dataclass(value):
        named = ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))
        return {"type_" if name == "type" else name: plain(member) for name, member in named}
    return [plain(member) for member in value] if isinstance(value, list) else value


def test_the_unit_tests_have_the_bytes_of_cyclonedds():
    lines = []
    for name, kind in interfaces().items():
        sample = filled(kind, itertools.count(1))
        data, value = sample.serialize(use_version_2=False), plain(sample)
        if "/srv/" in name:
            # The identity of the request: two integers that are not part of the interface.
            data, value = data[:4] + data[20:], {k: v for k, v in value.items() if k not in ("client", "sequence")}
        lines.append(json.dumps({"type": name, "value": value, "cdr": data.hex()}, ensure_ascii=False))
    text = "\n".join(lines) + "\n"
    if "UPDATE_MESSAGES" in os.environ:
        FIXTURE.write_text(text)
    assert FIXTURE.read_text() == text
