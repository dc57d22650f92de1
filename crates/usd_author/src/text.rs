//! Writes layer data as text (`usda`), byte for byte as OpenUSD (26.11) prints the same layer: the
//! order of fields, properties and variants, blank lines, quoting and numbers. So a layer does not
//! change when a user saves it in OpenUSD.
//!
//! This module is independent of robots and file systems. It rejects data that OpenUSD would not
//! read back unchanged.

mod order;
mod value;

use std::fmt::Display;

use openusd::sdf::{self, ChildrenKey, FieldKey, ListOp, SpecType, Specifier, Value, Variability};
use openusd::tf::Token;

use super::Error;
use super::specs::{PrimId, Property, Spec, Specs};
use order::dictionary_order;

/// Returns the text of a layer.
///
/// # Errors
/// The first spec or value that the text format can't represent: splines, prim relocates, values
/// that no attribute has, asset paths with control characters, and listed children without a spec.
pub fn write(data: &sdf::Data) -> Result<String, Error> {
    write_specs(&data.clone().into())
}

/// Returns the text of a layer, as [`write`](fn@write).
pub(super) fn write_specs(specs: &Specs) -> Result<String, Error> {
    let mut writer = Writer {
        specs,
        out: String::with_capacity(4096),
        path: String::new(),
    };
    writer.layer()?;
    Ok(writer.out)
}

/// A pending item of the writer's explicit stack, which replaces recursion: prims may be nested
/// deeper than a thread's stack allows.
enum Step<'a> {
    /// A prim, and whether a blank line goes before it.
    Prim {
        id: PrimId,
        indent: usize,
        blank: bool,
    },
    /// A variant set with its variants.
    VariantSet {
        prim: PrimId,
        name: &'a str,
        indent: usize,
    },
    /// One variant.
    Variant {
        id: PrimId,
        name: &'a str,
        indent: usize,
    },
    /// A closing brace, and whether a blank line goes before it.
    Close { indent: usize, blank: bool },
}

struct Writer<'a> {
    specs: &'a Specs,
    out: String,
    /// Buffer for the path of a child.
    path: String,
}

/// Fields of a prim that are not metadata, or are written at a fixed place; the most frequent ones first.
const PRIM_STRUCTURE: [&str; 10] = [
    FieldKey::Specifier.as_str(),
    ChildrenKey::PropertyChildren.as_str(),
    ChildrenKey::PrimChildren.as_str(),
    FieldKey::TypeName.as_str(),
    FieldKey::Comment.as_str(),
    FieldKey::PrimOrder.as_str(),
    FieldKey::PropertyOrder.as_str(),
    ChildrenKey::VariantChildren.as_str(),
    ChildrenKey::VariantSetChildren.as_str(),
    "properties",
];

/// Fields of a layer that are not metadata, or are written at a fixed place.
const LAYER_STRUCTURE: [&str; 5] = [
    FieldKey::Comment.as_str(),
    FieldKey::LayerRelocates.as_str(),
    FieldKey::PrimOrder.as_str(),
    FieldKey::SubLayerOffsets.as_str(),
    ChildrenKey::PrimChildren.as_str(),
];

/// Fields of an attribute or relationship that are not metadata, or are written at a fixed place; the most
/// frequent ones first.
const PROPERTY_STRUCTURE: [&str; 10] = [
    FieldKey::TypeName.as_str(),
    FieldKey::Default.as_str(),
    FieldKey::Variability.as_str(),
    FieldKey::Custom.as_str(),
    FieldKey::Comment.as_str(),
    FieldKey::TimeSamples.as_str(),
    FieldKey::ConnectionPaths.as_str(),
    FieldKey::TargetPaths.as_str(),
    ChildrenKey::ConnectionChildren.as_str(),
    ChildrenKey::RelationshipTargetChildren.as_str(),
];

/// Returns the metadata among the fields of `spec`, sorted by name.
fn metadata<'a>(spec: &'a Spec, structure: &[&str]) -> Vec<(&'a str, &'a Value)> {
    let mut fields: Vec<(&str, &Value)> = spec
        .fields
        .iter()
        .map(|(name, value)| (&**name, value))
        .filter(|(name, _)| !structure.contains(name))
        .collect();
    fields.sort_by(|a, b| dictionary_order(a.0, b.0));
    fields
}

fn comment(spec: &Spec) -> Option<&str> {
    match spec.get(FieldKey::Comment.as_str()) {
        Some(Value::String(comment)) if !comment.is_empty() => Some(comment),
        _ => None,
    }
}

fn tokens<'a>(spec: &'a Spec, field: &str) -> &'a [Token] {
    match spec.get(field) {
        Some(Value::TokenVec(tokens)) => tokens,
        _ => &[],
    }
}

/// Returns the name of the type of a spec.
fn type_name(spec: &Spec) -> Option<&str> {
    let name = spec.type_name.as_ref().map(Token::as_str);
    name.filter(|name| !name.is_empty())
}

fn refuse(path: &dyn Display, reason: impl Into<String>) -> Error {
    Error {
        path: path.to_string(),
        reason: reason.into(),
    }
}

/// The path of a property.
struct PropertyPath<'a> {
    prim: &'a str,
    name: &'a str,
}

impl Display for PropertyPath<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.prim, self.name)
    }
}

/// The first words of the statement about an attribute: `uniform token purpose`.
struct Declaration<'a> {
    variability: &'static str,
    type_name: Token,
    name: &'a str,
}

impl Declaration<'_> {
    fn write(&self, out: &mut String) {
        out.extend([self.variability, &self.type_name, " ", self.name]);
    }
}

/// Returns the nonempty operations of a list, each with its keyword, in the order in which they are
/// written.
fn operations<T: Default + Clone + PartialEq>(op: &ListOp<T>) -> Vec<(&'static str, &[T])> {
    if op.explicit {
        return vec![("", &op.explicit_items)];
    }
    [
        ("delete ", &op.deleted_items),
        ("add ", &op.added_items),
        ("prepend ", &op.prepended_items),
        ("append ", &op.appended_items),
        ("reorder ", &op.ordered_items),
    ]
    .into_iter()
    .filter(|(_, items)| !items.is_empty())
    .map(|(keyword, items)| (keyword, items.as_slice()))
    .collect()
}

/// The reason why a child can't be written.
const UNSPECIFIED: &str = "it is listed as a child but there is no spec";

impl<'a> Writer<'a> {
    /// Returns the spec of a prim, a variant or a variant set.
    fn spec(&self, id: PrimId) -> Result<&'a Spec, Error> {
        self.specs
            .spec(id)
            .ok_or_else(|| refuse(&self.specs.path(id), UNSPECIFIED))
    }

    /// Returns the child, variant or variant set of `parent` whose path has these further `parts`.
    fn below(&mut self, parent: PrimId, parts: &[&str]) -> Result<PrimId, Error> {
        self.path.clear();
        self.path.push_str(self.specs.path(parent));
        self.path.extend(parts.iter().copied());
        self.specs
            .id(&self.path)
            .ok_or_else(|| refuse(&self.path, UNSPECIFIED))
    }

    fn indent(&mut self, indent: usize) {
        for _ in 0..indent {
            self.out.push_str("    ");
        }
    }

    /// Starts a line.
    fn line(&mut self, indent: usize, text: &str) {
        self.indent(indent);
        self.out.push_str(text);
    }

    fn layer(&mut self) -> Result<(), Error> {
        self.out.push_str("#usda 1.0\n");
        if let Some(root) = self.specs.id("/") {
            let spec = self.spec(root)?;
            self.layer_metadata(&"/", spec)?;
            let order = tokens(spec, FieldKey::PrimOrder.as_str());
            if order.len() > 1 {
                self.out.push('\n');
                self.reorder(0, "rootPrims", order);
            }
            let mut steps = Vec::new();
            self.push_children(&mut steps, root, 0, true);
            while let Some(step) = steps.pop() {
                self.step(&mut steps, step)?;
            }
        }
        self.out.push('\n');
        Ok(())
    }

    fn layer_metadata(&mut self, root: &dyn Display, spec: &Spec) -> Result<(), Error> {
        let before = self.out.len();
        self.out.push_str("(\n");
        let empty = self.out.len();
        if let Some(comment) = comment(spec) {
            self.indent(1);
            value::quote(&mut self.out, comment);
            self.out.push('\n');
        }
        let mut fields = metadata(spec, &LAYER_STRUCTURE);
        // OpenUSD sorts the metadata of a layer by bytes, and that of a spec in dictionary order.
        fields.sort_by_key(|(name, _)| *name);
        for (name, value) in fields {
            match (name, value) {
                ("documentation", Value::String(doc)) if doc.is_empty() => {}
                ("hasOwnedSubLayers", Value::Bool(false)) => {}
                ("subLayers", Value::StringVec(layers)) => {
                    let offsets = match spec.get(FieldKey::SubLayerOffsets.as_str()) {
                        Some(Value::LayerOffsetVec(offsets)) => offsets.as_slice(),
                        _ => &[],
                    };
                    self.sublayers(root, layers, offsets)?;
                }
                _ => self.field(1, root, name, value)?,
            }
        }
        if let Some(Value::Relocates(relocates)) = spec.get(FieldKey::LayerRelocates.as_str())
            && !relocates.is_empty()
        {
            self.relocates(relocates);
        }
        if self.out.len() == empty {
            self.out.truncate(before);
        } else {
            self.out.push_str(")\n");
        }
        Ok(())
    }

    fn sublayers(
        &mut self,
        root: &dyn Display,
        layers: &[String],
        offsets: &[sdf::LayerOffset],
    ) -> Result<(), Error> {
        if layers.is_empty() {
            return Ok(());
        }
        self.line(1, "subLayers = [\n");
        for (i, layer) in layers.iter().enumerate() {
            self.indent(2);
            value::asset(&mut self.out, layer).map_err(|reason| refuse(root, reason))?;
            value::layer_offset(&mut self.out, &offsets.get(i).copied().unwrap_or_default());
            self.out
                .push_str(if i + 1 < layers.len() { ",\n" } else { "\n" });
        }
        self.line(1, "]\n");
        Ok(())
    }

    fn relocates(&mut self, relocates: &[sdf::Relocate]) {
        self.line(1, "relocates = {\n");
        for (i, (source, target)) in relocates.iter().enumerate() {
            self.indent(2);
            value::path(&mut self.out, source);
            self.out.push_str(": ");
            value::path(&mut self.out, target);
            // OpenUSD writes a space after the comma.
            self.out.push_str(if i + 1 < relocates.len() {
                ", \n"
            } else {
                "\n"
            });
        }
        self.line(1, "}\n");
    }

    fn step(&mut self, steps: &mut Vec<Step<'a>>, step: Step<'a>) -> Result<(), Error> {
        match step {
            Step::Prim { id, indent, blank } => {
                if blank {
                    self.out.push('\n');
                }
                self.prim(steps, id, indent)
            }
            Step::VariantSet { prim, name, indent } => self.variant_set(steps, prim, name, indent),
            Step::Variant { id, name, indent } => self.variant(steps, id, name, indent),
            Step::Close { indent, blank } => {
                if blank {
                    self.out.push('\n');
                }
                self.line(indent, "}\n");
                Ok(())
            }
        }
    }

    fn prim(&mut self, steps: &mut Vec<Step<'a>>, id: PrimId, indent: usize) -> Result<(), Error> {
        let spec = self.spec(id)?;
        let specifier = match spec.specifier {
            Some(Specifier::Def) => "def ",
            Some(Specifier::Class) => "class ",
            _ => "over ",
        };
        self.line(indent, specifier);
        if let Some(type_name) = type_name(spec) {
            self.out.push_str(type_name);
            self.out.push(' ');
        }
        value::quote(&mut self.out, self.specs.name(id));
        self.prim_metadata(id, spec, indent)?;
        self.out.push('\n');
        self.line(indent, "{\n");
        steps.push(Step::Close {
            indent,
            blank: false,
        });
        self.body(steps, id, spec, indent)
    }

    /// Writes the contents of the braces of a prim or variant: flat parts directly, nested prims as
    /// pending steps.
    fn body(
        &mut self,
        steps: &mut Vec<Step<'a>>,
        id: PrimId,
        spec: &'a Spec,
        indent: usize,
    ) -> Result<(), Error> {
        for (field, keyword) in [
            (FieldKey::PropertyOrder, "properties"),
            (FieldKey::PrimOrder, "nameChildren"),
        ] {
            // OpenUSD does not write the order of a single name.
            let order = tokens(spec, field.as_str());
            if order.len() > 1 {
                self.reorder(indent + 1, keyword, order);
            }
        }
        let mut properties: Vec<&Property> = self.specs.properties(id).iter().collect();
        properties.sort_by(|a, b| dictionary_order(&a.name, &b.name));
        for property in &properties {
            self.property(id, property, indent + 1)?;
        }
        // The steps are a stack: children, which are pushed last, are written before variant sets.
        for name in tokens(spec, ChildrenKey::VariantSetChildren.as_str())
            .iter()
            .rev()
        {
            steps.push(Step::VariantSet {
                prim: id,
                name,
                indent: indent + 1,
            });
        }
        self.push_children(steps, id, indent + 1, !properties.is_empty());
        Ok(())
    }

    fn push_children(
        &self,
        steps: &mut Vec<Step<'a>>,
        parent: PrimId,
        indent: usize,
        blank_before_first: bool,
    ) {
        for (i, &id) in self.specs.children(parent).iter().enumerate().rev() {
            steps.push(Step::Prim {
                id,
                indent,
                blank: i > 0 || blank_before_first,
            });
        }
    }

    fn reorder(&mut self, indent: usize, what: &str, names: &[Token]) {
        self.line(indent, "reorder ");
        self.out.push_str(what);
        self.out.push_str(" = ");
        self.names(names.iter().map(Token::as_str));
        self.out.push('\n');
    }

    /// Writes names in brackets; a single name without brackets.
    fn names<'n>(&mut self, names: impl ExactSizeIterator<Item = &'n str>) {
        let several = names.len() > 1;
        if several {
            self.out.push('[');
        }
        for (i, name) in names.enumerate() {
            if i > 0 {
                self.out.push_str(", ");
            }
            value::quote(&mut self.out, name);
        }
        if several {
            self.out.push(']');
        }
    }

    fn variant_set(
        &mut self,
        steps: &mut Vec<Step<'a>>,
        prim: PrimId,
        name: &str,
        indent: usize,
    ) -> Result<(), Error> {
        let set = self.below(prim, &["{", name, "=}"])?;
        let spec = self.spec(set)?;
        let mut variants: Vec<&Token> = tokens(spec, ChildrenKey::VariantChildren.as_str())
            .iter()
            .collect();
        if variants.is_empty() {
            return Ok(());
        }
        // OpenUSD writes variants by name, whatever their order in the layer.
        variants.sort_by_key(|variant| variant.as_str());
        self.line(indent, "variantSet ");
        value::quote(&mut self.out, name);
        self.out.push_str(" = {\n");
        steps.push(Step::Close {
            indent,
            blank: false,
        });
        for variant in variants.into_iter().rev() {
            steps.push(Step::Variant {
                id: self.below(prim, &["{", name, "=", variant, "}"])?,
                name: variant,
                indent: indent + 1,
            });
        }
        Ok(())
    }

    fn variant(
        &mut self,
        steps: &mut Vec<Step<'a>>,
        id: PrimId,
        name: &str,
        indent: usize,
    ) -> Result<(), Error> {
        let spec = self.spec(id)?;
        self.indent(indent);
        value::quote(&mut self.out, name);
        self.prim_metadata(id, spec, indent)?;
        self.out.push_str(" {\n");
        steps.push(Step::Close {
            indent,
            blank: true,
        });
        self.body(steps, id, spec, indent)
    }

    fn prim_metadata(&mut self, id: PrimId, spec: &Spec, indent: usize) -> Result<(), Error> {
        self.parentheses(&self.specs.path(id), spec, &PRIM_STRUCTURE, indent)
    }

    /// Writes the metadata of a spec in parentheses; nothing if there is none.
    fn parentheses(
        &mut self,
        path: &dyn Display,
        spec: &Spec,
        structure: &[&str],
        indent: usize,
    ) -> Result<(), Error> {
        let fields = metadata(spec, structure);
        let comment = comment(spec);
        if fields.is_empty() && comment.is_none() {
            return Ok(());
        }
        self.out.push_str(" (\n");
        if let Some(comment) = comment {
            self.indent(indent + 1);
            value::quote(&mut self.out, comment);
            self.out.push('\n');
        }
        for (name, value) in fields {
            self.field(indent + 1, path, name, value)?;
        }
        self.line(indent, ")");
        Ok(())
    }

    /// Writes one metadata field, on its own lines.
    fn field(
        &mut self,
        indent: usize,
        path: &dyn Display,
        name: &str,
        value: &Value,
    ) -> Result<(), Error> {
        let refused = |reason: String| refuse(path, format!("its `{name}`: {reason}"));
        match (name, value) {
            ("inheritPaths", Value::PathListOp(op)) => {
                self.item_list(indent, "inherits", op).map_err(refused)
            }
            (_, Value::PathListOp(op)) => self.item_list(indent, name, op).map_err(refused),
            (_, Value::ReferenceListOp(op)) => self.item_list(indent, name, op).map_err(refused),
            (_, Value::PayloadListOp(op)) => self.item_list(indent, name, op).map_err(refused),
            ("variantSetNames", Value::StringListOp(op)) => {
                if op.explicit && op.explicit_items.is_empty() {
                    return Err(refused(
                        "a list of no variant sets has no text form".to_owned(),
                    ));
                }
                for (operation, names) in operations(op) {
                    self.line(indent, operation);
                    self.out.push_str("variantSets = ");
                    self.names(names.iter().map(String::as_str));
                    self.out.push('\n');
                }
                Ok(())
            }
            (_, Value::TokenListOp(op)) => {
                self.flat_list(indent, name, op, |out, item| value::quote(out, item));
                Ok(())
            }
            (_, Value::StringListOp(op)) => {
                self.flat_list(indent, name, op, |out, item| value::quote(out, item));
                Ok(())
            }
            (_, Value::UnregisteredValueListOp(op)) => {
                self.flat_list(indent, name, op, |out, item| out.push_str(item));
                Ok(())
            }
            (_, Value::IntListOp(op)) => {
                self.flat_list(indent, name, op, value::display);
                Ok(())
            }
            (_, Value::Int64ListOp(op)) => {
                self.flat_list(indent, name, op, value::display);
                Ok(())
            }
            (_, Value::UIntListOp(op)) => {
                self.flat_list(indent, name, op, value::display);
                Ok(())
            }
            (_, Value::UInt64ListOp(op)) => {
                self.flat_list(indent, name, op, value::display);
                Ok(())
            }
            ("variantSelection", Value::VariantSelectionMap(selections)) => {
                if !selections.is_empty() {
                    self.line(indent, "variants = ");
                    value::selections(&mut self.out, indent, selections);
                }
                Ok(())
            }
            ("prefixSubstitutions" | "suffixSubstitutions", Value::Dictionary(map)) => {
                self.assign(indent, name);
                value::substitutions(&mut self.out, indent, map).map_err(refused)
            }
            (_, Value::Dictionary(map) | Value::UnregisteredDictionary(map)) => {
                self.assign(indent, name);
                value::dictionary(&mut self.out, indent, map).map_err(refused)
            }
            ("displayUnit" | "symmetryFunction", Value::Token(text)) => {
                self.assign(indent, name);
                self.out.push_str(text);
                self.out.push('\n');
                Ok(())
            }
            _ => {
                self.assign(
                    indent,
                    if name == FieldKey::Documentation.as_str() {
                        "doc"
                    } else {
                        name
                    },
                );
                value::metadata(&mut self.out, value).map_err(refused)?;
                self.out.push('\n');
                Ok(())
            }
        }
    }

    fn assign(&mut self, indent: usize, name: &str) {
        self.line(indent, name);
        self.out.push_str(" = ");
    }

    /// Writes a list with its items on one line, always in brackets.
    fn flat_list<T: Default + Clone + PartialEq>(
        &mut self,
        indent: usize,
        name: &str,
        op: &ListOp<T>,
        mut write: impl FnMut(&mut String, &T),
    ) {
        for (operation, items) in operations(op) {
            self.line(indent, operation);
            self.out.push_str(name);
            if items.is_empty() {
                self.out.push_str(" = None\n");
                continue;
            }
            self.out.push_str(" = [");
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    self.out.push_str(", ");
                }
                write(&mut self.out, item);
            }
            self.out.push_str("]\n");
        }
    }

    /// Writes a list of paths or arcs: a single item bare, several with one per line.
    fn item_list<T: value::Item>(
        &mut self,
        indent: usize,
        name: &str,
        op: &ListOp<T>,
    ) -> Result<(), String> {
        for (operation, items) in operations(op) {
            self.line(indent, operation);
            self.out.push_str(name);
            self.out.push_str(" = ");
            match items {
                [] => self.out.push_str("None"),
                [item] if !item.needs_brackets() => item.write(&mut self.out, indent)?,
                _ => {
                    self.out.push_str("[\n");
                    for (i, item) in items.iter().enumerate() {
                        self.indent(indent + 1);
                        item.write(&mut self.out, indent + 1)?;
                        self.out
                            .push_str(if i + 1 < items.len() { ",\n" } else { "\n" });
                    }
                    self.line(indent, "]");
                }
            }
            self.out.push('\n');
        }
        Ok(())
    }

    fn property(
        &mut self,
        prim: PrimId,
        Property { name, spec }: &Property,
        indent: usize,
    ) -> Result<(), Error> {
        let path = PropertyPath {
            prim: self.specs.path(prim),
            name,
        };
        match spec.ty {
            SpecType::Attribute => self.attribute(&path, spec, indent),
            SpecType::Relationship => self.relationship(&path, spec, indent),
            SpecType::Unknown => Err(refuse(&path, UNSPECIFIED)),
            _ => Err(refuse(&path, "it is neither attribute nor relationship")),
        }
    }

    fn attribute(
        &mut self,
        path: &PropertyPath<'_>,
        spec: &Spec,
        indent: usize,
    ) -> Result<(), Error> {
        if spec.get("spline").is_some() {
            return Err(refuse(path, "splines are not written"));
        }
        let type_name = type_name(spec).ok_or_else(|| refuse(path, "it has no type"))?;
        let declaration = Declaration {
            variability: match spec.variability {
                Some(Variability::Uniform) => "uniform ",
                _ => "",
            },
            type_name: sdf::ValueTypeName::from(type_name).serialization_name(),
            name: path.name,
        };

        let custom = spec.custom == Some(true);
        let default = spec.get(FieldKey::Default.as_str());
        let samples = spec.get(FieldKey::TimeSamples.as_str());
        let connections = spec.get(FieldKey::ConnectionPaths.as_str());
        // Samples and connections declare the attribute too, so an empty declaration is not
        // repeated.
        let is_declared = default.is_some() || custom;
        let is_described =
            || comment(spec).is_some() || !metadata(spec, &PROPERTY_STRUCTURE).is_empty();
        if is_declared || (connections.is_none() && samples.is_none()) || is_described() {
            self.line(indent, if custom { "custom " } else { "" });
            declaration.write(&mut self.out);
            if let Some(default) = default {
                self.out.push_str(" = ");
                value::value(&mut self.out, default).map_err(|reason| refuse(path, reason))?;
            }
            self.parentheses(path, spec, &PROPERTY_STRUCTURE, indent)?;
            self.out.push('\n');
        }
        match samples {
            Some(Value::TimeSamples(samples)) => {
                self.samples(path, &declaration, samples, indent)?
            }
            Some(_) => return Err(refuse(path, "its time samples are none")),
            None => {}
        }
        if let Some(Value::PathListOp(op)) = connections {
            for (operation, sources) in operations(op) {
                self.line(indent, operation);
                declaration.write(&mut self.out);
                self.out.push_str(".connect");
                self.targets(sources, indent);
                self.out.push('\n');
            }
        }
        Ok(())
    }

    fn samples(
        &mut self,
        path: &dyn Display,
        declaration: &Declaration<'_>,
        samples: &[(f64, Value)],
        indent: usize,
    ) -> Result<(), Error> {
        self.indent(indent);
        declaration.write(&mut self.out);
        self.out.push_str(".timeSamples = {\n");
        for (time, sample) in samples {
            self.indent(indent + 1);
            value::number(&mut self.out, *time);
            self.out.push_str(": ");
            value::value(&mut self.out, sample).map_err(|reason| refuse(path, reason))?;
            self.out.push_str(",\n");
        }
        self.line(indent, "}\n");
        Ok(())
    }

    fn relationship(
        &mut self,
        path: &PropertyPath<'_>,
        spec: &Spec,
        indent: usize,
    ) -> Result<(), Error> {
        for field in [FieldKey::Default, FieldKey::TimeSamples] {
            if spec.get(field.as_str()).is_some() {
                return Err(refuse(path, "a relationship with a value is not written"));
            }
        }
        let declaration = match spec.variability {
            Some(Variability::Uniform) => "rel ",
            _ => "varying rel ",
        };
        let targets = match spec.get(FieldKey::TargetPaths.as_str()) {
            Some(Value::PathListOp(op)) => operations(op),
            _ => Vec::new(),
        };
        let explicit = targets
            .first()
            .filter(|(operation, _)| operation.is_empty());
        let custom = spec.custom == Some(true);
        let described = comment(spec).is_some() || !metadata(spec, &PROPERTY_STRUCTURE).is_empty();
        if described || custom || explicit.is_some() || targets.is_empty() {
            self.line(indent, if custom { "custom " } else { "" });
            self.out.extend([declaration, path.name]);
            if let Some((_, targets)) = explicit {
                self.targets(targets, indent);
            }
            self.parentheses(path, spec, &PROPERTY_STRUCTURE, indent)?;
            self.out.push('\n');
        }
        for (operation, targets) in targets
            .iter()
            .filter(|(operation, _)| !operation.is_empty())
        {
            self.line(indent, operation);
            self.out.extend([declaration, path.name]);
            self.targets(targets, indent);
            self.out.push('\n');
        }
        Ok(())
    }

    /// Writes ` = ` and the targets of a relationship or the sources of a connection: a single one
    /// bare, several with one per line.
    fn targets(&mut self, paths: &[sdf::Path], indent: usize) {
        self.out.push_str(" = ");
        match paths {
            [] => self.out.push_str("None"),
            [path] => value::path(&mut self.out, path),
            _ => {
                self.out.push_str("[\n");
                for path in paths {
                    self.indent(indent + 1);
                    value::path(&mut self.out, path);
                    self.out.push_str(",\n");
                }
                self.line(indent, "]");
            }
        }
    }
}
