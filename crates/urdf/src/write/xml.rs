//! Writes elements as text, and puts custom data back.

use std::fmt::Write as _;

use urdf_usd_robot::{Custom, Element};
use urdf_usd_text::xml::escaped;

use crate::custom::{Kind, Known};

/// Maximum nesting of elements; deeper ones are left out, as the reader does.
const MAX_DEPTH: usize = 64;

/// Returns an element without content.
pub(super) fn element<const N: usize>(name: &str, attributes: [(&str, String); N]) -> Element {
    let attributes = attributes
        .map(|(name, value)| (name.to_owned(), value))
        .into();
    Element {
        name: name.to_owned(),
        attributes,
        text: String::new(),
        children: Vec::new(),
        place: Default::default(),
    }
}

/// Puts custom data back into the element that it came from. Elements of URDF that could not be
/// read go to `left_out`.
pub(super) fn put_back<'c>(
    element: &mut Element,
    custom: &'c Custom,
    known: &Known,
    left_out: &mut Vec<&'c Element>,
) {
    merge(
        element,
        (&custom.attributes, &custom.elements),
        known,
        left_out,
    );
}

fn merge<'c>(
    element: &mut Element,
    (attributes, elements): (&[(String, String)], &'c [Element]),
    known: &Known,
    left_out: &mut Vec<&'c Element>,
) {
    let own = attributes
        .iter()
        .filter(|(name, _)| !known.attributes.contains(&name.as_str()));
    element.attributes.extend(own.cloned());
    for custom in elements {
        let Some(inner) = known
            .children
            .iter()
            .find(|inner| inner.name == custom.name)
        else {
            element.children.push(custom.clone());
            continue;
        };
        // The custom part of an element that was read has no attribute of URDF, except the name
        // that identifies it.
        let is_left = |(name, _): &(String, String)| {
            name == "name" || !inner.attributes.contains(&name.as_str())
        };
        if inner.kind == Kind::Owner
            || !custom.text.is_empty()
            || !custom.attributes.iter().all(is_left)
        {
            left_out.push(custom);
            continue;
        }
        let name = |of: &Element| {
            of.attributes
                .iter()
                .find(|(name, _)| name == "name")
                .map(|(_, name)| name.clone())
        };
        let is_same = |of: &Element| {
            of.name == custom.name && (inner.kind != Kind::Many || name(of) == name(custom))
        };
        match element.children.iter_mut().find(|child| is_same(child)) {
            Some(child) => merge(
                child,
                (&custom.attributes, &custom.children),
                inner,
                left_out,
            ),
            // An identity origin is not written, unless it has custom data.
            None if inner.name == "origin" => element.children.push(custom.clone()),
            None => left_out.push(custom),
        }
    }
}

/// Returns the text of a document, and whether U+FFFD replaces characters that XML can't represent.
pub(super) fn text(root: &Element) -> (String, bool) {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n");
    let mut is_changed = false;
    write(&mut text, root, 0, &mut is_changed);
    (text, is_changed)
}

fn write(text: &mut String, element: &Element, depth: usize, is_changed: &mut bool) {
    let indent = "  ".repeat(depth);
    let _ = write!(text, "{indent}<{}", element.name);
    for (name, value) in &element.attributes {
        let _ = write!(text, " {name}=\"{}\"", escaped(value, is_changed));
    }
    let children = if depth < MAX_DEPTH {
        element.children.as_slice()
    } else {
        &[]
    };
    let own = escaped(&element.text, is_changed);
    match (own.is_empty(), children) {
        (true, []) => text.push_str("/>\n"),
        (false, []) => {
            let _ = writeln!(text, ">{own}</{}>", element.name);
        }
        (is_empty, _) => {
            text.push_str(">\n");
            if !is_empty {
                let _ = writeln!(text, "{indent}  {own}");
            }
            children
                .iter()
                .for_each(|child| write(text, child, depth + 1, is_changed));
            let _ = writeln!(text, "{indent}</{}>", element.name);
        }
    }
}
