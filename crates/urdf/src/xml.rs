//! Reads elements and attributes with their positions, and reports findings about them.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use roxmltree::{Attribute, NodeId};

use super::codes;
use super::source::Source;
use super::write::UNLIMITED;
use urdf_usd_diagnostic::{Code, Collector, Diagnostic, Most, Place};

/// An element of the text.
pub(crate) type Node<'a> = roxmltree::Node<'a, 'a>;

/// Maximum number of findings.
const MAX_FINDINGS: usize = 1000;
/// Maximum number of characters of a name in a message.
const MAX_LABEL: usize = 60;
/// Room for the description of an element.
const TYPICAL_LABEL: usize = 48;
/// Maximum number of ancestors in the description of an element.
const MAX_STEPS: usize = 64;
/// Maximum magnitude of a number. Larger ones count as infinite: writers use single precision.
const MAX_MAGNITUDE: f64 = 1e30;

/// An error in a numeric attribute.
enum Trouble {
    /// Not a number.
    Bad(String),
    /// NaN, infinite, or beyond [`MAX_MAGNITUDE`].
    NonFinite(String),
}

/// Reads a document, and collects findings.
pub(crate) struct Xml<'a> {
    source: &'a Source<'a>,
    file: Option<Arc<Path>>,
    /// Ordinals of elements that have siblings of the same name, by their parent; computed when one
    /// is needed.
    ordinals: RefCell<HashMap<NodeId, HashMap<NodeId, u32>>>,
    /// Elements without a counterpart in the model: they are kept whole as custom data.
    left_out: HashSet<NodeId>,
    /// Number of custom elements and attributes so far, including those beyond the limit.
    pub(super) kept: usize,
    findings: Collector,
}

impl<'a> Xml<'a> {
    pub(super) fn new(source: &'a Source<'a>, file: Option<Arc<Path>>) -> Self {
        Self {
            source,
            file,
            ordinals: RefCell::default(),
            left_out: HashSet::new(),
            kept: 0,
            findings: Collector::new(Most::Together(MAX_FINDINGS)),
        }
    }

    /// Returns everything that was reported.
    pub fn into_diagnostics(self) -> Vec<Diagnostic> {
        self.findings.finish_with(
            &codes::MORE_FINDINGS,
            Place {
                file: self.file,
                ..Place::default()
            },
        )
    }

    /// Returns the place of `node`.
    pub fn place(&self, node: Node<'_>) -> Place {
        self.place_at(node.range().start, self.label(node))
    }

    fn place_at(&self, offset: usize, element: String) -> Place {
        let (line, column) = self.source.position(offset);
        Place {
            file: self.file.clone(),
            line,
            column,
            element,
            ..Place::default()
        }
    }

    /// Reports a finding about an element.
    pub fn report(
        &mut self,
        code: &'static Code,
        node: Node<'_>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let place = self.place(node);
        self.push(Diagnostic::new(code, place, message).help(help));
    }

    /// Reports a finding about an element even if the limit of findings is reached.
    pub fn report_always(
        &mut self,
        code: &'static Code,
        node: Node<'_>,
        message: String,
        help: &str,
    ) {
        let place = self.place(node);
        self.findings
            .keep(Diagnostic::new(code, place, message).help(help));
    }

    /// Reports a finding about text in an element, at its first character that is not white space.
    pub fn report_text(
        &mut self,
        code: &'static Code,
        text: Node<'_>,
        message: String,
        help: &str,
    ) {
        let range = text.range();
        let written = text
            .document()
            .input_text()
            .get(range.clone())
            .unwrap_or_default();
        let offset = range.start + (written.len() - written.trim_start().len());
        let element = text
            .parent_element()
            .map_or_else(String::new, |element| self.label(element));
        self.push(Diagnostic::new(code, self.place_at(offset, element), message).help(help));
    }

    /// Reports a finding about an attribute.
    fn report_attribute(
        &mut self,
        code: &'static Code,
        node: Node<'_>,
        attribute: Attribute<'_, '_>,
        message: String,
        help: impl Into<String>,
    ) {
        let place = self.place_at(attribute.range().start, self.label(node));
        self.push(Diagnostic::new(code, place, message).help(help));
    }

    /// Reports a finding about the attribute `name` of an element, or about the element if it lacks
    /// the attribute.
    pub fn report_at(
        &mut self,
        code: &'static Code,
        node: Node<'_>,
        name: &str,
        message: String,
        help: impl Into<String>,
    ) {
        match node.attribute_node(name) {
            Some(attribute) => self.report_attribute(code, node, attribute, message, help),
            None => self.report(code, node, message, help),
        }
    }

    /// Reports a finding at a byte offset of the original text.
    pub fn report_original(
        &mut self,
        code: &'static Code,
        offset: usize,
        message: String,
        help: impl Into<String>,
    ) {
        let (line, column) = self.source.original_position(offset);
        let place = Place {
            file: self.file.clone(),
            line,
            column,
            ..Place::default()
        };
        self.push(Diagnostic::new(code, place, message).help(help));
    }

    /// Returns whether further findings with this code are only counted.
    pub fn is_full(&self, code: &'static Code) -> bool {
        self.findings.is_full(code.id)
    }

    /// Keeps a finding, or only counts it once the limit is reached.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.findings.push(diagnostic);
    }

    /// Records that `node` has no counterpart in the model, so that it is kept as custom data.
    pub fn leave_out(&mut self, node: Node<'_>) {
        self.left_out.insert(node.id());
    }

    pub fn is_left_out(&self, node: Node<'_>) -> bool {
        self.left_out.contains(&node.id())
    }

    /// Describes an element for users by its path below the robot: `link "a" / visual 2`.
    pub fn label(&self, node: Node<'_>) -> String {
        // The robot is implied, unless it is the element itself.
        let named = |n: &Node<'_>| n.is_element() && (n.parent_element().is_some() || *n == node);
        let steps = node.ancestors().filter(named).take(MAX_STEPS);
        let steps: Vec<Node<'_>> = steps.collect();
        let mut label = String::with_capacity(TYPICAL_LABEL);
        for step in steps.into_iter().rev() {
            if !label.is_empty() {
                label.push_str(" / ");
            }
            self.push_step(&mut label, step);
        }
        label
    }

    /// Describes an element without its ancestors: by its name, its `reference`, or its ordinal.
    fn push_step(&self, out: &mut String, node: Node<'_>) {
        push_short(out, qualified_name(node));
        if let Some(label) = name_of(node).or_else(|| node.attribute("reference")) {
            out.push_str(" \"");
            push_short(out, label);
            out.push('"');
        } else if let Some(ordinal) = self.ordinal(node) {
            out.push_str(&format!(" {ordinal}"));
        }
    }

    /// Returns the ordinal of an element that has siblings of the same name.
    fn ordinal(&self, node: Node<'_>) -> Option<u32> {
        let parent = node.parent_element()?;
        // For all children at once: counting siblings for each label would be quadratic.
        let mut ordinals = self.ordinals.borrow_mut();
        let ordinals = ordinals
            .entry(parent.id())
            .or_insert_with(|| ordinals_in(parent));
        ordinals.get(&node.id()).copied()
    }

    /// Returns the only element `name` in `node`, or the first; reports the others.
    pub fn child<'n>(&mut self, node: Node<'n>, name: &str) -> Option<Node<'n>> {
        let mut found = children(node, name);
        let first = found.next()?;
        for more in found {
            let (line, _) = self.source.position(first.range().start);
            let message = format!(
                "{} has another {name}; the one on line {line} is used",
                self.label(node)
            );
            self.report(
                &codes::REPEATED_ELEMENT,
                more,
                message,
                "remove one of them",
            );
        }
        Some(first)
    }

    /// Returns the `N` numbers in the attribute `name`. Returns `None` if there is no such
    /// attribute, or if it is invalid: then it is reported, with `otherwise` as the consequence.
    pub fn numbers<const N: usize>(
        &mut self,
        node: Node<'_>,
        name: &str,
        otherwise: &str,
    ) -> Option<[f64; N]> {
        let attribute = node.attribute_node(name)?;
        let (mut numbers, mut count) = ([0.0; N], 0);
        for number in parse_numbers(attribute.value()) {
            match number {
                Ok(number) => {
                    if let Some(place) = numbers.get_mut(count) {
                        *place = number;
                    }
                    count += 1;
                }
                Err(trouble) => {
                    self.report_trouble(node, attribute, &trouble, otherwise);
                    return None;
                }
            }
        }
        if count != N {
            let message = format!(
                "{name} needs {}, but \"{}\" has {count}",
                count_of(N),
                short(attribute.value())
            );
            self.wrong_number(&codes::BAD_NUMBER, node, attribute, &message, otherwise);
            return None;
        }
        Some(numbers)
    }

    /// Returns the number in the attribute `name`, like [`Self::numbers`].
    pub fn number(&mut self, node: Node<'_>, name: &str, otherwise: &str) -> Option<f64> {
        self.numbers::<1>(node, name, otherwise)
            .map(|[number]| number)
    }

    /// Returns the numbers in the attribute `name`, any count of them, like [`Self::numbers`].
    pub fn any_numbers(&mut self, node: Node<'_>, name: &str, otherwise: &str) -> Option<Vec<f64>> {
        let attribute = node.attribute_node(name)?;
        parse_numbers(attribute.value())
            .collect::<Result<_, _>>()
            .map_err(|trouble| self.report_trouble(node, attribute, &trouble, otherwise))
            .ok()
    }

    /// Returns a limit; `None` if there is none, or an infinite one, which is reported.
    pub fn limit(&mut self, node: Node<'_>, name: &str) -> Option<f64> {
        let attribute = node.attribute_node(name)?;
        let text = attribute.value().trim();
        // Written by this program where URDF requires a limit and there is none.
        if text.strip_prefix('-').unwrap_or(text) == UNLIMITED {
            return None;
        }
        if text
            .parse::<f64>()
            .is_ok_and(|number| number.abs() > MAX_MAGNITUDE)
        {
            let message = format!(
                "{name} is infinite (\"{}\"), so it is no limit",
                short(attribute.value())
            );
            self.report_attribute(
                &codes::INFINITE_LIMIT,
                node,
                attribute,
                message,
                format!("leave {name} out, or give a number"),
            );
            return None;
        }
        self.number(node, name, "it is ignored")
    }

    fn report_trouble(
        &mut self,
        node: Node<'_>,
        attribute: Attribute<'_, '_>,
        trouble: &Trouble,
        otherwise: &str,
    ) {
        let name = attribute.name();
        let (code, what) = match trouble {
            Trouble::Bad(word) => (
                &codes::BAD_NUMBER,
                format!("{name} contains \"{}\" instead of a number", short(word)),
            ),
            Trouble::NonFinite(word) => (
                &codes::NON_FINITE_NUMBER,
                format!(
                    "{name} contains \"{}\", which is not a finite number",
                    short(word)
                ),
            ),
        };
        self.wrong_number(code, node, attribute, &what, otherwise);
    }

    fn wrong_number(
        &mut self,
        code: &'static Code,
        node: Node<'_>,
        attribute: Attribute<'_, '_>,
        what: &str,
        otherwise: &str,
    ) {
        let text = attribute.value();
        let help = if text.contains("${") || text.contains("$(") {
            "this is a xacro expression: run xacro first, as in: xacro robot.urdf.xacro > robot.urdf"
        } else if text.contains(',') {
            "use a decimal point, and separate numbers by spaces without commas"
        } else {
            "correct the number"
        };
        self.report_attribute(code, node, attribute, format!("{what}; {otherwise}"), help);
    }
}

/// Returns the child elements of `node`.
pub(crate) fn elements(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    node.children().filter(|child| child.is_element())
}

/// Returns the child elements `name` of `node`, by their names as written: `x:link` is not `link`.
pub(crate) fn children<'n>(node: Node<'n>, name: &str) -> impl Iterator<Item = Node<'n>> {
    elements(node).filter(move |child| qualified_name(*child) == name)
}

/// Returns the `name` attribute, unless it is blank.
pub(crate) fn name_of<'n>(node: Node<'n>) -> Option<&'n str> {
    node.attribute("name")
        .filter(|name| !name.trim().is_empty())
}

/// Returns the name of an element as written, with its prefix.
pub(crate) fn qualified_name<'n>(node: Node<'n>) -> &'n str {
    // From the text: the parser resolves prefixes to namespaces and does not keep them.
    let local = node.tag_name().name();
    let tag = node
        .document()
        .input_text()
        .get(node.range())
        .and_then(|text| text.strip_prefix('<'));
    // Nearly all names have no prefix, so nothing needs to be searched for.
    let rest = tag.and_then(|tag| tag.strip_prefix(local));
    if rest.is_some_and(|rest| rest.starts_with([' ', '>', '/', '\n', '\t', '\r'])) {
        return local;
    }
    let name = tag.and_then(|tag| {
        tag.split(|c: char| c.is_whitespace() || matches!(c, '/' | '>'))
            .next()
    });
    name.filter(|name| !name.is_empty()).unwrap_or(local)
}

/// Returns the name of an attribute as written, with its prefix.
pub(crate) fn qualified_attribute<'n>(node: Node<'n>, attribute: Attribute<'n, 'n>) -> &'n str {
    node.document()
        .input_text()
        .get(attribute.range_qname())
        .unwrap_or(attribute.name())
}

/// Returns `text`, truncated if it is long.
pub(crate) fn short(text: &str) -> String {
    let mut out = String::new();
    push_short(&mut out, text);
    out
}

/// Appends `text`, truncated if it is long.
fn push_short(out: &mut String, text: &str) {
    // A text has at least as many bytes as characters.
    let is_long = text.len() > MAX_LABEL;
    let end = is_long
        .then(|| text.char_indices().nth(MAX_LABEL))
        .flatten();
    match end {
        Some((end, _)) => out.extend([&text[..end], "…"]),
        None => out.push_str(text),
    }
}

fn count_of(count: usize) -> String {
    if count == 1 {
        "one number".to_owned()
    } else {
        format!("{count} numbers")
    }
}

fn parse_numbers(text: &str) -> impl Iterator<Item = Result<f64, Trouble>> {
    let number = |word: &str| match word.parse::<f64>() {
        Ok(number) if number.abs() <= MAX_MAGNITUDE => Ok(number),
        Ok(_) => Err(Trouble::NonFinite(word.to_owned())),
        Err(_) => Err(Trouble::Bad(word.to_owned())),
    };
    text.split_whitespace().map(number)
}

/// Returns ordinals for the elements in `parent` that have siblings of the same name.
fn ordinals_in(parent: Node<'_>) -> HashMap<NodeId, u32> {
    let mut ordinals = HashMap::new();
    // The first element of each name, and the number of them so far.
    let mut groups: HashMap<&str, (NodeId, u32)> = HashMap::new();
    for child in elements(parent) {
        let name = child.tag_name().name();
        let (first, count) = groups.entry(name).or_insert((child.id(), 0));
        *count += 1;
        if *count == 2 {
            ordinals.insert(*first, 1);
        }
        if *count > 1 {
            ordinals.insert(child.id(), *count);
        }
    }
    ordinals
}
