"""Composes the assets of the tests of `crates/stage` with usd-core, and compares with the expectations beside them.

`UPDATE_STAGE=1 test/run -k test_stage` updates the expectations."""

import json
import math
import os
import pathlib

import pytest
from pxr import Gf, Sdf, Usd

ASSETS = pathlib.Path(__file__).parents[2] / "crates/stage/tests/assets"
# Maximum number of printed array elements.
SHOWN = 12
SPECIFIERS = {Sdf.SpecifierDef: "def", Sdf.SpecifierOver: "over", Sdf.SpecifierClass: "class"}
# Fields that are printed separately, or only list or order children.
OF_PRIMS = {"specifier", "typeName", "kind", "active", "instanceable", "apiSchemas", "references", "payload", "inheritPaths", "specializes"}
OF_PRIMS |= {"variantSelection", "variantSetNames", "propertyOrder", "primOrder"}
OF_ATTRIBUTES = {"default", "timeSamples", "connectionPaths", "typeName", "custom", "variability"}


def number(n):
    if math.isinf(n):
        return "inf" if n > 0 else "-inf"
    mantissa, exponent = f"{n:.5e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def numbers(value):
    if isinstance(value, (Gf.Quatf, Gf.Quatd, Gf.Quath)):
        return [value.real, *value.imaginary]
    try:
        return [n for part in value for n in numbers(part)]
    except TypeError:
        return [value]


def shown(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Sdf.AssetPath):
        return f"@{value.path}@" + ("" if value.resolvedPath else "!") if value.path else ""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return " ".join(map(number, numbers(value)))


def marked(words):
    return "".join(f" {word}" for word, is_so in words.items() if is_so)


def keys(stack, others):
    return sorted({key for spec in stack for key in spec.ListInfoKeys()} - others)


def attribute(prop):
    is_uniform = prop.GetVariability() == Sdf.VariabilityUniform
    value, times = prop.Get() if prop.HasAuthoredValue() else None, prop.GetTimeSamples()
    if value is None and times:
        value = prop.Get(times[0])
    if value is None:
        text = "-"
    elif prop.GetTypeName().isArray:
        text = f"{len(value)}: {' '.join(map(shown, list(value)[:SHOWN]))}".rstrip()
    else:
        text = shown(value)
    line = f"  {prop.GetName()} {prop.GetTypeName()}{marked({'custom': prop.IsCustom(), 'uniform': is_uniform})} = {text}"
    if times:
        line += f" at {' '.join(map(number, times))}"
    if prop.GetConnections():
        line += f" <- {' '.join(map(str, prop.GetConnections()))}"
    if metadata := keys(prop.GetPropertyStack(), OF_ATTRIBUTES):
        line += f" ({','.join(metadata)})"
    return line


def prim_lines(prim, without_payloads):
    alone = without_payloads.GetPrimAtPath(prim.GetPath())
    is_defined = prim.GetSpecifier() == Sdf.SpecifierDef
    words = {
        "abstract": prim.IsAbstract(),
        "inactive": not prim.IsActive(),
        "instanceable": prim.IsInstanceable(),
        "instance": prim.IsInstance(),
        "below-instance": prim.IsInstanceProxy(),
        "in-payload": is_defined and not (alone and alone.GetSpecifier() == Sdf.SpecifierDef),
    }
    schemas = ",".join(prim.GetPrimTypeInfo().GetAppliedAPISchemas())
    what = f"{SPECIFIERS[prim.GetSpecifier()]} {prim.GetTypeName() or '-'}{marked(words)}"
    yield f"{prim.GetPath()} {what} kind={prim.GetMetadata('kind') or '-'} schemas={schemas}"
    for name in sorted(prim.GetVariantSets().GetNames()):
        variants = prim.GetVariantSet(name)
        yield f"  {{{name}}} {'|'.join(variants.GetVariantNames())} selected={variants.GetVariantSelection() or '-'}"
    for key in keys(prim.GetPrimStack(), OF_PRIMS):
        value = prim.GetMetadata(key)
        yield f"  ({key})" + (f" {','.join(sorted(value))}" if isinstance(value, dict) else "")
    properties = sorted(prim.GetAuthoredProperties(), key=lambda prop: prop.GetName())
    yield from (attribute(prop) for prop in properties if isinstance(prop, Usd.Attribute))
    for prop in properties:
        if isinstance(prop, Usd.Relationship):
            yield f"  {prop.GetName()} -> {' '.join(map(str, prop.GetTargets()))}"


def stage_lines(entry):
    stage, without_payloads = Usd.Stage.Open(str(entry)), Usd.Stage.Open(str(entry), Usd.Stage.LoadNone)
    yield f"default prim {stage.GetDefaultPrim().GetPath()}"
    for prim in Usd.PrimRange(stage.GetPseudoRoot(), Usd.TraverseInstanceProxies(Usd.PrimAllPrimsPredicate)):
        if not prim.IsPseudoRoot():
            yield from prim_lines(prim, without_payloads)
    for layer in sorted(stage.GetUsedLayers(), key=lambda layer: layer.realPath):
        if not layer.anonymous:
            words = {"local": layer in stage.GetLayerStack(False), "binary": layer.GetFileFormat().formatId == "usdc"}
            yield f"layer {pathlib.Path(layer.realPath).relative_to(entry.parent)}{marked(words)}"
    paths = ["-" if "ublayer" in type(error).__name__ else str(error.rootSite.path) for error in stage.GetCompositionErrors()]
    yield from (f"error {path}" for path in sorted(paths))


@pytest.mark.parametrize("name", ["robot", "broken", "edits"])
def test_expectations_match_openusd(name):
    composed = "\n".join(stage_lines(ASSETS / f"{name}.usda")) + "\n"
    expected = ASSETS / f"{name}.txt"
    if os.environ.get("UPDATE_STAGE"):
        expected.write_text(composed)
    assert composed == expected.read_text()
