"""Describes our schemas as registered in OpenUSD, and their use in assets; run through worker.py with PXR_PLUGINPATH_NAME set: OpenUSD
finds plugins only at its start."""

from pxr import Sdf, Usd

OURS = ("ros:", "ext_physics:", "urdf:", "isaac:")


def plain(value):
    """Converts a value for JSON."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return [plain(v) for v in value]


def described(name):
    """Describes a registered schema: its properties, and the types that it may be applied to."""
    registry = Usd.SchemaRegistry()
    definition = registry.FindAppliedAPIPrimDefinition(name) or registry.FindConcretePrimDefinition(name)
    if not definition:
        return None
    read = definition.GetPropertyMetadata
    return {
        "documented": bool(definition.GetDocumentation()) and all(map(definition.GetPropertyDocumentation, definition.GetPropertyNames())),
        "only_on": list(Usd.SchemaRegistry.GetAPISchemaCanOnlyApplyToTypeNames(name)),
        "properties": {
            p: [
                str(read(p, "typeName")) if definition.GetSpecType(p) == Sdf.SpecTypeAttribute else "rel",
                read(p, "variability") == Sdf.VariabilityUniform,
                plain(read(p, "default")),
                plain(read(p, "allowedTokens")),
            ]
            for p in definition.GetPropertyNames()
        },
    }


def findings(prim):
    """Returns disagreements between a prim's properties and its applied schemas."""
    definition = prim.GetPrimDefinition()
    built_in = set(definition.GetPropertyNames())
    for property in prim.GetAuthoredProperties():
        name = property.GetName()
        # Skip unknown schemas: only plugins of the given directory are registered.
        if not name.startswith(OURS) or name.startswith("isaac:") and not Usd.SchemaRegistry().FindAppliedAPIPrimDefinition("IsaacRobotAPI"):
            continue
        for spec in property.GetPropertyStack():
            where = f"{property.GetPath()} in {spec.layer.GetDisplayName()}"
            if spec.custom == (name in built_in):
                yield f"{where} is {'custom, but in a schema' if spec.custom else 'not custom, but in no schema that is applied'}"
            if spec.custom:
                continue
            if isinstance(spec, Sdf.RelationshipSpec):
                if definition.GetSpecType(name) != Sdf.SpecTypeRelationship:
                    yield f"{where} should be no relationship"
            elif str(spec.typeName) != str(definition.GetPropertyMetadata(name, "typeName")):
                yield f"{where} is {spec.typeName}"
            elif spec.variability != definition.GetPropertyMetadata(name, "variability"):
                yield f"{where} is {spec.variability}"
            allowed = definition.GetPropertyMetadata(name, "allowedTokens")
            if allowed and property.Get() not in allowed:
                yield f"{where} may not be {property.Get()!r}"


def used(entry, types):
    stage = Usd.Stage.Open(entry)
    prims = list(Usd.PrimRange.Stage(stage, Usd.TraverseInstanceProxies()))
    found = [finding for prim in prims for finding in findings(prim)]
    counts = {}
    for name, kind in types.items():
        # The authored schemas, and those that OpenUSD recognises.
        listed = [p for p in prims if name in (p.GetMetadata("apiSchemas") or Sdf.TokenListOp()).GetAppliedItems()]
        is_api = Usd.SchemaRegistry.GetSchemaKind(name) == Usd.SchemaKind.SingleApplyAPI
        has = [p for p in prims if kind and (p.HasAPI(kind) if is_api else p.IsA(kind))]
        listed = listed if is_api else [p for p in prims if p.GetTypeName() == name]
        misplaced = [p for p in has if is_api and p.GetTypeName() and not Usd.Prim.CanApplyAPI(p, kind)]
        found += [f"{name} may not be applied to {p.GetPath()}" for p in misplaced]
        counts[name] = [len(listed), len(has)]
    errors = validate(stage)
    values = {
        str(p.GetPath()): {n: plain(p.GetAttribute(n).Get()) for n in p.GetPrimDefinition().GetPropertyNames() if n.startswith("ros:")}
        for p in prims
        if p.GetParent().GetName() == "Interfaces"
    }
    return {"findings": found, "counts": counts, "errors": errors, "interfaces": values}


def validate(stage):
    """Returns the errors of OpenUSD's validators, if this build has them."""
    try:
        from pxr import UsdValidation
    except ImportError:
        return []
    validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    return [f"{e.GetName()}: {e.GetMessage()}" for e in UsdValidation.ValidationContext(validators).Validate(stage)]


def answer(names, entries):
    types = {name: Usd.SchemaRegistry.GetTypeFromSchemaTypeName(name) for name in names}
    return {
        "version": list(Usd.GetVersion()),
        "schemas": {name: described(name) for name in names},
        "assets": {entry: used(entry, types) for entry in entries},
    }
