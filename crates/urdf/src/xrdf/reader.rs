//! Reads values and names of an XRDF, and reports errors in them.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use super::{codes, is_coordinate};
use crate::xml::short;
use urdf_usd_diagnostic::{
    Code, Collector, Diagnostic, Most, Place, Suggestions, did_you_mean, nearest,
};
use urdf_usd_robot::kinematics::position_count;
use urdf_usd_robot::{InvalidRobot, Joint, JointId, Link, LinkId, Robot};
use urdf_usd_text::yaml::{Content, Key, Mark, Yaml};

/// Maximum number of findings.
const MAX_FINDINGS: usize = 1000;
/// Maximum magnitude of a number. Larger ones count as infinite: writers use single precision.
const MAX_MAGNITUDE: f64 = 1e30;

/// Collects findings, and reads values with checks.
pub(super) struct Findings {
    file: Option<Arc<Path>>,
    list: Collector,
}

impl Findings {
    pub fn new(file: Option<&Path>) -> Self {
        Self {
            file: file.map(Arc::from),
            list: Collector::new(Most::Together(MAX_FINDINGS)),
        }
    }

    pub fn place(&self, at: Mark, element: &str) -> Place {
        Place {
            file: self.file.clone(),
            line: at.line,
            column: at.column,
            element: element.to_owned(),
            ..Place::default()
        }
    }

    pub fn report(
        &mut self,
        code: &'static Code,
        at: Mark,
        element: &str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let place = self.place(at, element);
        self.list
            .push(Diagnostic::new(code, place, message).help(help));
    }

    /// Reports that the robot rejected a change.
    pub fn refuse(&mut self, error: &InvalidRobot, at: Mark, element: &str) {
        self.list.push(error.to_diagnostic(self.place(at, element)));
    }

    pub fn into_diagnostics(self) -> Vec<Diagnostic> {
        self.list.finish_with(
            &codes::MORE_FINDINGS,
            Place {
                file: self.file,
                ..Place::default()
            },
        )
    }

    fn wrong_form(&mut self, value: &Yaml, element: &str, needed: &str) {
        let found = match &value.content {
            Content::Scalar {
                text,
                quoted: false,
            } if text.is_empty() => "no value".to_owned(),
            Content::Scalar { text, .. } => format!("\"{}\"", short(text)),
            Content::List(_) => "a list".to_owned(),
            Content::Map(_) => "a map".to_owned(),
        };
        let message = format!("{element} needs {needed}, but has {found}");
        self.report(
            &codes::WRONG_FORM,
            value.at,
            element,
            message,
            format!("write {needed}"),
        );
    }

    /// Returns the entries of a map. A missing value counts as an empty map.
    fn map<'a>(&mut self, value: &'a Yaml, element: &str) -> &'a [(Key, Yaml)] {
        if !matches!(value.content, Content::Map(_)) && !is_nothing(value) {
            self.wrong_form(value, element, "a map");
        }
        value.entries()
    }

    /// Returns the entries of a map, each key once; `repeated` is the code of further ones. A
    /// missing value counts as an empty map.
    pub fn entries<'a>(
        &mut self,
        value: &'a Yaml,
        element: &str,
        repeated: &'static Code,
    ) -> Vec<&'a (Key, Yaml)> {
        let entries = self.map(value, element).iter();
        self.distinct(entries, element, repeated, |(key, _)| {
            (key.at, key.text.as_str())
        })
    }

    /// Returns the lists of a map, each key once with the items of all its lists. A missing value
    /// counts as an empty map.
    ///
    /// NVIDIA's own `ur5e_robotiq_2f_140.xrdf` repeats a key, and planners read both lists.
    pub fn lists<'a>(&mut self, value: &'a Yaml, element: &str) -> Vec<(&'a Key, Vec<&'a Yaml>)> {
        let mut lists: Vec<(&Key, Vec<&Yaml>)> = Vec::new();
        let mut number: HashMap<&str, usize> = HashMap::new();
        for (key, list) in self.map(value, element) {
            let name = key.text.as_str();
            let items = self.items(list, &below(element, name));
            match number.get(name).and_then(|index| lists.get_mut(*index)) {
                Some((first, known)) => {
                    known.extend(items);
                    let (name, line) = (short(name), first.at.line);
                    let message =
                        format!("\"{name}\" is repeated; its list is added to that of line {line}");
                    let help = "write one list";
                    self.report(&codes::REPEATED, key.at, element, message, help);
                }
                None => {
                    number.insert(name, lists.len());
                    lists.push((key, items.iter().collect()));
                }
            }
        }
        lists
    }

    /// Returns the entries of a map with keys in `known`, and reports the others.
    pub fn fields<'a>(
        &mut self,
        value: &'a Yaml,
        element: &str,
        known: &[&str],
    ) -> Vec<&'a (Key, Yaml)> {
        self.known_entries(value, element, known, &codes::UNKNOWN_KEY)
    }

    /// Returns the entries of a map with keys in `known`, and reports the others with a code.
    pub fn known_entries<'a>(
        &mut self,
        value: &'a Yaml,
        element: &str,
        known: &[&str],
        unknown: &'static Code,
    ) -> Vec<&'a (Key, Yaml)> {
        let whole = if element.is_empty() {
            "an XRDF"
        } else {
            element
        };
        let mut entries = self.entries(value, element, &codes::REPEATED_KEY);
        entries.retain(|(key, _)| {
            let is_known = known.contains(&key.text.as_str());
            if !is_known {
                let help = match nearest(&key.text, known.iter().copied()).first() {
                    Some(near) => format!("did you mean {near}?"),
                    None => format!("{whole} has {}", known.join(", ")),
                };
                let message = format!(
                    "XRDF does not define \"{}\" here; it is ignored",
                    short(&key.text)
                );
                self.report(unknown, key.at, &below(element, &key.text), message, help);
            }
            is_known
        });
        entries
    }

    /// Returns `items` without repetitions of a name, which are reported.
    fn distinct<'a, T: 'a>(
        &mut self,
        items: impl Iterator<Item = &'a T>,
        element: &str,
        code: &'static Code,
        name: impl Fn(&'a T) -> (Mark, &'a str),
    ) -> Vec<&'a T> {
        let mut seen = HashSet::new();
        let mut distinct = Vec::new();
        for item in items {
            let (at, name) = name(item);
            if seen.insert(name) {
                distinct.push(item);
            } else {
                let message = format!("\"{}\" is repeated; the first one is used", short(name));
                self.report(code, at, element, message, "remove one of them");
            }
        }
        distinct
    }

    /// Returns the value of `name` among `fields`, which belong to the element at `at`; reports and
    /// returns `None` if it is missing.
    pub fn require<'a>(
        &mut self,
        fields: &[&'a (Key, Yaml)],
        name: &str,
        at: Mark,
        element: &str,
    ) -> Option<&'a Yaml> {
        let value = optional(fields, name);
        if value.is_none() {
            let whole = if element.is_empty() {
                "the XRDF"
            } else {
                element
            };
            self.report(
                &codes::MISSING,
                at,
                element,
                format!("{whole} has no {name}"),
                format!("add {name}: …"),
            );
        }
        value
    }

    /// Returns the items of a list. A missing value counts as an empty list.
    pub fn items<'a>(&mut self, value: &'a Yaml, element: &str) -> &'a [Yaml] {
        match &value.content {
            Content::List(items) => items,
            _ if is_nothing(value) => &[],
            _ => {
                self.wrong_form(value, element, "a list");
                &[]
            }
        }
    }

    pub fn name<'a>(&mut self, value: &'a Yaml, element: &str) -> Option<&'a str> {
        let text = value.text();
        if text.is_none() {
            self.wrong_form(value, element, "a name");
        }
        text
    }

    /// Returns the distinct names in a list, with their positions.
    pub fn names<'a>(&mut self, value: &'a Yaml, element: &str) -> Vec<(Mark, &'a str)> {
        let items = self.items(value, element);
        self.numbered_names(items, element, &codes::REPEATED)
            .into_iter()
            .map(|(_, name)| name)
            .collect()
    }

    /// Returns the distinct names among `items`, with their indices and positions; `repeated` is
    /// the code of further ones.
    pub fn numbered_names<'a>(
        &mut self,
        items: impl IntoIterator<Item = &'a Yaml>,
        element: &str,
        repeated: &'static Code,
    ) -> Vec<(usize, (Mark, &'a str))> {
        let items = items.into_iter().enumerate();
        let names: Vec<(usize, (Mark, &str))> = items
            .filter_map(|(index, item)| Some((index, (item.at, self.name(item, element)?))))
            .collect();
        // Copying ends the borrow of `names`.
        self.distinct(names.iter(), element, repeated, |&(_, name)| name)
            .into_iter()
            .copied()
            .collect()
    }

    pub fn number(&mut self, value: &Yaml, element: &str) -> Option<f64> {
        // A quoted number is a string in YAML.
        let number = match &value.content {
            Content::Scalar {
                text,
                quoted: false,
            } => number(text).filter(|number| number.abs() <= MAX_MAGNITUDE),
            _ => None,
        };
        if number.is_none() {
            self.wrong_form(value, element, "a number");
        }
        number
    }

    pub fn three_numbers(&mut self, value: &Yaml, element: &str) -> Option<[f64; 3]> {
        let numbers = match &value.content {
            Content::List(items) if items.len() == 3 => items,
            _ => {
                self.wrong_form(value, element, "a list of three numbers");
                return None;
            }
        };
        let numbers: Option<Vec<f64>> = numbers
            .iter()
            .map(|item| self.number(item, element))
            .collect();
        <[f64; 3]>::try_from(numbers?).ok()
    }
}

/// Parses a number of YAML's core schema (YAML 1.2, section 10.3.2): decimal, or hexadecimal or
/// octal without a sign.
fn number(text: &str) -> Option<f64> {
    let with_radix = |digits: &str, radix| {
        let is_valid = digits.chars().all(|digit| digit.is_digit(radix));
        u64::from_str_radix(digits, radix)
            .ok()
            .filter(|_| is_valid)
            .map(|number| number as f64)
    };
    match text.split_at_checked(2) {
        Some(("0x", digits)) => with_radix(digits, 16),
        Some(("0o", digits)) => with_radix(digits, 8),
        _ => text.parse().ok(),
    }
}

/// Returns the value of `name` among `fields`.
pub(super) fn optional<'a>(fields: &[&'a (Key, Yaml)], name: &str) -> Option<&'a Yaml> {
    entry(fields, name).map(|(_, value)| value)
}

/// Returns the entry `name` among `fields`.
pub(super) fn entry<'a>(fields: &[&'a (Key, Yaml)], name: &str) -> Option<&'a (Key, Yaml)> {
    fields.iter().copied().find(|(key, _)| key.text == name)
}

/// Returns whether a value is missing or null (YAML 1.2, section 10.3.2). Readers of XRDF take it
/// for an empty list or map.
fn is_nothing(value: &Yaml) -> bool {
    matches!(&value.content, Content::Scalar { text, quoted: false } if matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL"))
}

/// Returns the path of a child of an element, for messages.
pub(super) fn below(element: &str, name: &str) -> String {
    if element.is_empty() {
        short(name)
    } else {
        format!("{element} / {}", short(name))
    }
}

/// Looks up names of one kind; unknown names are reported once each.
struct Names<'a, Id> {
    find: fn(&Robot, &str) -> Option<Id>,
    all: fn(&'a Robot) -> Vec<&'a str>,
    removed: HashSet<String>,
    unknown: HashSet<String>,
    suggestions: Suggestions,
}

impl<'a> Names<'a, LinkId> {
    fn links(removed: HashSet<String>) -> Self {
        Self {
            find: Robot::link_named,
            all: |robot| robot.links().values().map(Link::name).collect(),
            removed,
            unknown: HashSet::new(),
            suggestions: Suggestions::default(),
        }
    }
}

impl<'a> Names<'a, JointId> {
    fn joints(removed: HashSet<String>) -> Self {
        Self {
            find: Robot::joint_named,
            all: |robot| robot.joints().values().map(Joint::name).collect(),
            removed,
            unknown: HashSet::new(),
            suggestions: Suggestions::default(),
        }
    }
}

impl<'a, Id> Names<'a, Id> {
    fn find(
        &mut self,
        robot: &'a Robot,
        findings: &mut Findings,
        (at, name): (Mark, &str),
        element: &str,
        (code, what): (&'static Code, &str),
    ) -> Option<Id> {
        // Checked first: the world and its joint are removed as well, although the robot may have
        // got new ones with the same names.
        if self.removed.contains(name) {
            let message = format!(
                "\"{}\" is not below the root that set_base_frame sets",
                short(name)
            );
            findings.report(
                &codes::ABOVE_BASE,
                at,
                element,
                message,
                "remove the name, or set another root",
            );
            return None;
        }
        let found = (self.find)(robot, name);
        if found.is_none() && self.unknown.insert(name.to_owned()) {
            let near = self.suggestions.nearest(name, (self.all)(robot));
            let help = did_you_mean(near.iter().map(|name| short(name)))
                .unwrap_or_else(|| "correct the name, or use the XRDF of this robot".to_owned());
            findings.report(
                code,
                at,
                element,
                format!("the robot has no {what} \"{}\"", short(name)),
                help,
            );
        }
        found
    }
}

/// Names of links and joints that are removed, because they are not below the new root.
#[derive(Default)]
pub(super) struct Removed {
    pub links: HashSet<String>,
    pub joints: HashSet<String>,
    /// Names of the joints that mimic a removed one.
    pub freed: HashSet<String>,
}

/// Looks up the links and joints of a robot by name.
pub(super) struct Known<'a> {
    robot: &'a Robot,
    frames: Names<'a, LinkId>,
    joints: Names<'a, JointId>,
    freed: HashSet<String>,
}

impl<'a> Known<'a> {
    pub fn new(robot: &'a Robot, removed: Removed) -> Self {
        Self {
            robot,
            frames: Names::links(removed.links),
            joints: Names::joints(removed.joints),
            freed: removed.freed,
        }
    }

    /// Returns the robot.
    pub fn robot(&self) -> &'a Robot {
        self.robot
    }

    /// Returns whether a joint may be a coordinate: it has one degree of freedom, and follows no
    /// other joint in the robot's description.
    pub fn is_coordinate(&self, joint: &Joint) -> bool {
        is_coordinate(joint) && !self.freed.contains(joint.name())
    }

    /// Returns the link `name`; reports and returns `None` if there is none.
    pub fn frame(
        &mut self,
        findings: &mut Findings,
        name: (Mark, &str),
        element: &str,
    ) -> Option<LinkId> {
        self.frames.find(
            self.robot,
            findings,
            name,
            element,
            (&codes::UNKNOWN_FRAME, "link or added frame"),
        )
    }

    /// Returns the joint `name`, which is independent and has one degree of freedom; reports and
    /// returns `None` if there is no such joint.
    pub fn moving_joint(
        &mut self,
        findings: &mut Findings,
        (at, name): (Mark, &str),
        element: &str,
    ) -> Option<(JointId, &'a Joint)> {
        let id = self.joints.find(
            self.robot,
            findings,
            (at, name),
            element,
            (&codes::UNKNOWN_JOINT, "joint"),
        )?;
        let joint = &self.robot.joints()[id];
        if position_count(joint.kind()) != 1 {
            let message = format!(
                "the joint \"{}\" is {} and does not have one degree of freedom",
                short(name),
                joint.kind().as_str()
            );
            let help = "use revolute, continuous and prismatic joints only";
            findings.report(&codes::JOINT_KIND, at, element, message, help);
            return None;
        }
        if let Some(mimic) = joint.mimic() {
            let leader = short(self.robot.joints()[mimic.joint].name());
            let message = format!(
                "the joint \"{}\" mimics the joint \"{leader}\" and can't be set",
                short(name)
            );
            findings.report(
                &codes::MIMIC_JOINT,
                at,
                element,
                message,
                format!("remove it; \"{leader}\" determines its position"),
            );
            return None;
        }
        if self.freed.contains(name) {
            let message = format!(
                "the joint \"{}\" mimics a joint that is not below the root, and can't be set",
                short(name)
            );
            let help = "remove it, or set a root above the joint that it mimics";
            findings.report(&codes::MIMIC_JOINT, at, element, message, help);
            return None;
        }
        Some((id, joint))
    }
}
