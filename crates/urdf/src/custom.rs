//! Keeps elements and attributes that URDF does not define.

use super::codes;
use super::source::unbound_uri;
use super::xml::{Node, Xml, elements, qualified_attribute, qualified_name};
use urdf_usd_robot::{Custom, Element};

/// Maximum nesting of elements. They are read, written and freed recursively, so this bounds the
/// stack.
const MAX_DEPTH: usize = 64;
/// Maximum number of elements and attributes that are kept. Real robots have up to 2000; each
/// becomes a prim or an attribute.
pub(super) const MAX_CUSTOM_ITEMS: usize = 50_000;

/// An element of URDF with the parts that the model represents. All other parts are custom.
pub(super) struct Known {
    pub name: &'static str,
    pub attributes: &'static [&'static str],
    pub children: &'static [Known],
    pub kind: Kind,
}

/// Number of times that an element may occur among its siblings.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// At most once.
    Single,
    /// Any number of times.
    Many,
    /// Any number of times, each with custom data of its own in the model.
    Owner,
}

const fn single(name: &'static str, attributes: &'static [&'static str]) -> Known {
    Known {
        name,
        attributes,
        children: &[],
        kind: Kind::Single,
    }
}

const fn owner(name: &'static str) -> Known {
    Known {
        name,
        attributes: &[],
        children: &[],
        kind: Kind::Owner,
    }
}

const ORIGIN: Known = single("origin", &["xyz", "rpy", "quat_xyzw"]);
const GEOMETRY: Known = Known {
    name: "geometry",
    attributes: &[],
    children: &[
        single("box", &["size"]),
        single("cylinder", &["radius", "length"]),
        single("sphere", &["radius"]),
        single("capsule", &["radius", "length"]),
        single("mesh", &["filename", "scale"]),
    ],
    kind: Kind::Single,
};
const MATERIAL_PARTS: &[Known] = &[single("color", &["rgba"]), single("texture", &["filename"])];

pub(super) const ROBOT: Known = Known {
    name: "robot",
    attributes: &["name"],
    children: &[
        owner("link"),
        owner("joint"),
        Known {
            name: "material",
            attributes: &["name"],
            children: MATERIAL_PARTS,
            kind: Kind::Many,
        },
    ],
    kind: Kind::Single,
};
pub(super) const LINK: Known = Known {
    name: "link",
    attributes: &["name"],
    children: &[
        Known {
            name: "inertial",
            attributes: &[],
            children: &[
                ORIGIN,
                single("mass", &["value"]),
                single("inertia", &["ixx", "ixy", "ixz", "iyy", "iyz", "izz"]),
            ],
            kind: Kind::Single,
        },
        owner("visual"),
        owner("collision"),
    ],
    kind: Kind::Owner,
};
pub(super) const VISUAL: Known = Known {
    name: "visual",
    attributes: &["name"],
    children: &[
        ORIGIN,
        GEOMETRY,
        Known {
            name: "material",
            attributes: &["name"],
            children: MATERIAL_PARTS,
            kind: Kind::Single,
        },
    ],
    kind: Kind::Owner,
};
pub(super) const COLLISION: Known = Known {
    name: "collision",
    attributes: &["name"],
    children: &[ORIGIN, GEOMETRY],
    kind: Kind::Owner,
};
pub(super) const JOINT: Known = Known {
    name: "joint",
    attributes: &["name", "type"],
    children: &[
        ORIGIN,
        single("parent", &["link"]),
        single("child", &["link"]),
        single("axis", &["xyz"]),
        single("limit", &["lower", "upper", "effort", "velocity"]),
        single("dynamics", &["damping", "friction"]),
        single("mimic", &["joint", "multiplier", "offset"]),
        single(
            "safety_controller",
            &[
                "soft_lower_limit",
                "soft_upper_limit",
                "k_position",
                "k_velocity",
            ],
        ),
        single("calibration", &["rising", "falling", "reference_position"]),
    ],
    kind: Kind::Owner,
};

impl Xml<'_> {
    /// Returns the parts of `node`, a URDF element described by `known`, that the model does not
    /// represent. An element within it that is only partly custom is kept with that part, and its
    /// name if it has one.
    ///
    /// Call it after everything in `node` was read: elements that were left out are kept whole.
    pub(super) fn custom(&mut self, node: Node<'_>, known: &Known) -> Custom {
        self.report_stray(node);
        let mut attributes = attributes(node, |name| !known.attributes.contains(&name));
        if !attributes.is_empty() && !self.has_room(node, attributes.len()) {
            attributes.clear();
        }
        let mut custom = Custom {
            attributes,
            elements: Vec::new(),
        };
        // Bits by the index of known children, of which there are fewer than 32.
        let mut seen: u32 = 0;
        for child in elements(node) {
            let name = qualified_name(child);
            let mut children = (0..).zip(known.children);
            let inner = children.find(|(_, inner)| inner.name == name);
            match inner.filter(|_| !self.is_left_out(child)) {
                Some((_, inner)) if inner.kind == Kind::Owner => {}
                Some((index, inner)) if inner.kind == Kind::Many || seen & (1 << index) == 0 => {
                    seen |= 1 << index;
                    custom.elements.extend(self.remnant(child, inner));
                }
                _ => custom.elements.extend(self.element(child)),
            }
        }
        custom
    }

    /// Returns the custom part of an element without custom data of its own in the model.
    fn remnant(&mut self, node: Node<'_>, known: &Known) -> Option<Element> {
        let Custom {
            mut attributes,
            elements,
        } = self.custom(node, known);
        if attributes.is_empty() && elements.is_empty() {
            return None;
        }
        if known.attributes.contains(&"name")
            && let Some(name) = node.attribute("name")
        {
            attributes.insert(0, ("name".to_owned(), name.to_owned()));
        }
        Some(Element {
            name: known.name.to_owned(),
            attributes,
            text: String::new(),
            children: elements,
            place: self.place(node),
        })
    }

    /// Returns an element as written; reports and returns `None` if it is nested too deeply.
    pub fn element(&mut self, node: Node<'_>) -> Option<Element> {
        // `ancestors` includes the node and the document; `take` bounds the walk in deep texts.
        if node.ancestors().take(MAX_DEPTH + 2).count() > MAX_DEPTH + 1 {
            let message = format!("elements are nested more than {MAX_DEPTH} levels deep");
            self.report(
                &codes::TOO_DEEP,
                node,
                message,
                "no robot needs this depth; correct the program that wrote the text",
            );
            return None;
        }
        let attributes = attributes(node, |_| true);
        if !self.has_room(node, 1 + attributes.len()) {
            return None;
        }
        self.report_instructions(node);
        let children = elements(node)
            .filter_map(|child| self.element(child))
            .collect();
        let name = qualified_name(node).to_owned();
        Some(Element {
            name,
            attributes,
            text: text_in(node),
            children,
            place: self.place(node),
        })
    }

    /// Returns whether `count` more custom elements and attributes are within the limit; reports it
    /// the first time they are not.
    fn has_room(&mut self, node: Node<'_>, count: usize) -> bool {
        let before = self.kept;
        self.kept = before.saturating_add(count);
        if before <= MAX_CUSTOM_ITEMS && self.kept > MAX_CUSTOM_ITEMS {
            let message = format!(
                "there are more than {MAX_CUSTOM_ITEMS} elements and attributes that URDF does not define or that repeat others; from here \
                 on they are left out"
            );
            self.report_always(
                &codes::TOO_MANY_ELEMENTS,
                node,
                message,
                "remove unused elements, or the repetitions",
            );
        }
        self.kept <= MAX_CUSTOM_ITEMS
    }

    /// Reports text between the child elements of a URDF element, which has no meaning.
    fn report_stray(&mut self, node: Node<'_>) {
        let is_stray = |child: &Node<'_>| child.text().is_some_and(|text| !text.trim().is_empty());
        if let Some(first) = node.children().filter(Node::is_text).find(is_stray) {
            let message = format!(
                "the text \"{}\" between elements has no meaning",
                super::xml::short(&text_in(node))
            );
            self.report_text(
                &codes::LEFT_OUT,
                first,
                message,
                "remove it, or make it a comment",
            );
        }
        self.report_instructions(node);
    }

    /// Reports processing instructions, which are dropped.
    fn report_instructions(&mut self, node: Node<'_>) {
        for instruction in node.children().filter(|child| child.is_pi()) {
            let target = instruction.pi().map_or("", |pi| pi.target);
            let message = format!(
                "the processing instruction <?{} …?> has no meaning here",
                super::xml::short(target)
            );
            self.report(&codes::LEFT_OUT, instruction, message, "remove it");
        }
    }
}

/// Returns the attributes of `node` and the namespaces that it declares, by their names as written,
/// that `is_wanted` accepts by name.
fn attributes(node: Node<'_>, is_wanted: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    let mut attributes = declarations(node);
    attributes.retain(|(name, _)| is_wanted(name));
    let written = node
        .attributes()
        .map(|a| (qualified_attribute(node, a), a.value()));
    let wanted = written.filter(|(name, _)| is_wanted(name));
    attributes.extend(wanted.map(|(name, value)| (name.to_owned(), value.to_owned())));
    attributes
}

/// Returns the namespaces that `node` itself declares, as attributes, without those inserted for
/// the parser.
fn declarations(node: Node<'_>) -> Vec<(String, String)> {
    let range = node.range();
    let end = node
        .first_child()
        .map_or(range.end, |child| child.range().start);
    // Querying the parser is slow, and nearly always there is nothing to find.
    if !node
        .document()
        .input_text()
        .get(range.start..end)
        .is_some_and(|tag| tag.contains("xmlns"))
    {
        return Vec::new();
    }
    let inherited = |prefix: Option<&str>, uri: &str| {
        node.parent_element()
            .is_some_and(|parent| parent.lookup_namespace_uri(prefix) == Some(uri))
    };
    let declared = node
        .namespaces()
        .filter(|namespace| !inherited(namespace.name(), namespace.uri()));
    let named = declared.filter_map(|namespace| match namespace.name() {
        Some(prefix) if namespace.uri() == unbound_uri(prefix) => None,
        Some(prefix) => Some((format!("xmlns:{prefix}"), namespace.uri().to_owned())),
        None => Some(("xmlns".to_owned(), namespace.uri().to_owned())),
    });
    named.collect()
}

/// Returns the text directly in `node`, each piece trimmed.
fn text_in(node: Node<'_>) -> String {
    let pieces = node
        .children()
        .filter(|child| child.is_text())
        .filter_map(|child| child.text());
    pieces
        .map(str::trim)
        .filter(|piece| !piece.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}
