//! Rules of a specification: what a checker reports, why, and an example of each.

use std::fmt::{self, Write as _};

use super::Code;

/// The parts of an example by name; `None` for a part that is left out.
///
/// Names are file names, or places in one file, depending on the list of rules.
pub type Example = Vec<(&'static str, Option<&'static str>)>;

/// A requirement of a specification, and the function of type `C` that checks it.
///
/// A rule reports one code, whose [`meaning`](Code::meaning) is what is wrong where the rule is
/// broken, and whose [`outcome`](Code::outcome) is what follows from that. Declare rules with
/// [`rule!`](super::rule) and list them with [`rules!`](super::rules).
#[derive(Debug)]
pub struct Rule<C> {
    /// Code that the rule reports.
    pub code: Code,
    /// Requirement, in the words of the specification.
    pub demand: &'static str,
    /// Title of the section of the specification, and its anchor (`#joints`).
    pub section: (&'static str, &'static str),
    /// Returns an example that breaks the rule.
    pub breaks: fn() -> Example,
    /// Returns the same example, corrected.
    pub keeps: fn() -> Example,
    /// Position of the rule in the order of checks.
    pub turn: Turn,
    /// Function that checks the rule.
    pub check: C,
}

/// Position of a rule in the order of checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// In the order of the list. If the rule is broken, no later rule is checked.
    Gate,
    /// In the order of the list.
    Usual,
    /// After all others; reports only what no other rule has reported.
    Last,
}

/// Checks `rules` in their order; `check` returns whether a rule is broken.
pub fn run_rules<C>(rules: &[&'static Rule<C>], mut check: impl FnMut(&'static Rule<C>) -> bool) {
    for rule in rules.iter().filter(|rule| rule.turn != Turn::Last) {
        if check(rule) && rule.turn == Turn::Gate {
            return;
        }
    }
    for rule in rules.iter().filter(|rule| rule.turn == Turn::Last) {
        check(rule);
    }
}

/// Declares the rule of a module as the constant `RULE` (exported as `diagnostic::rule!`). The
/// module's function `check` checks it.
///
/// The parent module provides what all rules have in common:
/// - `id`, a `const fn` that returns the [`ModuleId`] of the rule in the module with the given
///   path,
/// - the macro `example!`, which builds an [`Example`] from `"breaks"` or `"keeps"` and the value
///   of the field of that name, if the rule gives one.
///
/// ```
/// use urdf_usd_diagnostic::{self as diagnostic, IdForm, ModuleId};
///
/// type Rule = diagnostic::Rule<fn(u32) -> bool>;
///
/// const fn id(module: &str) -> ModuleId {
///     ModuleId::new("example-", module, IdForm::Kebab)
/// }
///
/// macro_rules! example {
///     ($name:literal [$text:literal]) => {
///         vec![("number", Some($text))]
///     };
/// }
///
/// mod even_number {
///     urdf_usd_diagnostic::rule! {
///         severity: Error,
///         meaning: "A number is odd.",
///         outcome: "It has no half.",
///         demand: "Numbers MUST be even.",
///         section: ("Numbers", "#numbers"),
///         breaks: ["1"],
///         keeps: ["2"],
///     }
///
///     fn check(number: u32) -> bool {
///         number.is_multiple_of(2)
///     }
/// }
///
/// fn main() {
///     assert_eq!(even_number::RULE.code.id, "example-even-number");
///     assert_eq!((even_number::RULE.breaks)(), [("number", Some("1"))]);
/// }
/// ```
#[macro_export]
macro_rules! diagnostic_rule {
    (
        severity: $severity:ident,
        meaning: $meaning:literal,
        outcome: $outcome:literal,
        demand: $demand:literal,
        section: $section:expr,
        $(turn: $turn:ident,)?
        $(breaks: $breaks:tt,)?
        $(keeps: $keeps:tt,)?
    ) => {
        pub const RULE: super::Rule = super::Rule {
            code: $crate::Code {
                id: {
                    const ID: &$crate::ModuleId = &super::id(module_path!());
                    ID.as_str()
                },
                severity: $crate::Severity::$severity,
                meaning: $meaning,
                outcome: $outcome,
            },
            demand: $demand,
            section: $section,
            breaks: || example!("breaks" $($breaks)?),
            keeps: || example!("keeps" $($keeps)?),
            turn: $crate::diagnostic_rule!(@turn $($turn)?),
            check,
        };
    };
    (@turn) => {
        $crate::Turn::Usual
    };
    (@turn $turn:ident) => {
        $crate::Turn::$turn
    };
}

/// Declares the modules of rules (exported as `diagnostic::rules!`), and lists the rules as `ALL`
/// and their codes as `CODES`, in the order given.
#[macro_export]
macro_rules! diagnostic_rules {
    ($($name:ident,)*) => {
        $(mod $name;)*

        /// All rules, in the order of the specification.
        pub const ALL: &[&Rule] = &[$(&$name::RULE),*];

        /// The codes of all rules.
        pub const CODES: &[&$crate::Code] = &[$(&$name::RULE.code),*];
    };
}

/// Maximum length of a code in bytes.
const MAX_ID_BYTES: usize = 64;

/// The id of a rule's code, derived at compile time from the name of the rule's module.
#[derive(Debug)]
pub struct ModuleId {
    text: [u8; MAX_ID_BYTES],
    length: usize,
}

/// The part of a module's name that becomes an id.
#[derive(Clone, Copy, Debug)]
pub enum IdForm {
    /// The name in kebab-case: `dof-count` of `dof_count`.
    Kebab,
    /// The number that the name begins with: `3.5.1` of `r3_5_1_repeated_meshes`.
    Number,
}

impl ModuleId {
    /// Returns the id made of `prefix` and the name of the module at `path`.
    pub const fn new(prefix: &str, path: &str, form: IdForm) -> Self {
        let mut id = Self {
            text: [0; MAX_ID_BYTES],
            length: 0,
        };
        let mut rest = prefix.as_bytes();
        while let [byte, following @ ..] = rest {
            id.push(*byte);
            rest = following;
        }
        rest = match (form, last_segment(path)) {
            (IdForm::Number, [b'r', number @ ..]) => number,
            (_, name) => name,
        };
        while let [byte, following @ ..] = rest {
            id.push(match (form, byte, following) {
                // The first word ends the number: `3.5.1` of `r3_5_1_repeated_meshes`.
                (IdForm::Number, b'_', [b'a'..=b'z', ..]) => break,
                (IdForm::Number, b'_', _) => b'.',
                (IdForm::Kebab, b'_', _) => b'-',
                _ => *byte,
            });
            rest = following;
        }
        id
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "evaluated at compile time: an id that is too long does not compile"
    )]
    const fn push(&mut self, byte: u8) {
        self.text[self.length] = byte;
        self.length += 1;
    }

    /// Returns the id.
    pub const fn as_str(&self) -> &str {
        match str::from_utf8(self.text.split_at(self.length).0) {
            Ok(text) => text,
            Err(_) => "",
        }
    }
}

/// Returns the last segment of the module path `path`.
const fn last_segment(path: &str) -> &[u8] {
    let mut segment = path.as_bytes();
    let mut rest = segment;
    while let [byte, following @ ..] = rest {
        if *byte == b':' {
            segment = following;
        }
        rest = following;
    }
    segment
}

/// Formats the rule as Markdown.
impl<C> fmt::Display for Rule<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Code {
            id,
            severity,
            meaning,
            outcome,
        } = &self.code;
        writeln!(f, "{id} ({severity})\n")?;
        writeln!(
            f,
            "The specification (\"{}\"): {}\n",
            self.section.0, self.demand
        )?;
        writeln!(
            f,
            "What is wrong: {meaning}\n\nWhat comes of it: {outcome}\n"
        )?;
        writeln!(f, "This breaks the rule:\n\n{}", Shown((self.breaks)()))?;
        write!(f, "This keeps it:\n\n{}", Shown((self.keeps)()))
    }
}

/// An example, indented as code.
struct Shown(Example);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, text) in &self.0 {
            match text {
                Some(text) => {
                    write!(f, "    {place}: ")?;
                    text.chars().try_for_each(|c| {
                        if c == '\n' {
                            f.write_str("\n    ")
                        } else {
                            f.write_char(c)
                        }
                    })?;
                }
                None => write!(f, "    {place}: (left out)")?,
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Severity;

    const fn rule(id: &'static str, turn: Turn) -> Rule<bool> {
        Rule {
            code: Code {
                id,
                severity: Severity::Error,
                meaning: "It is odd.",
                outcome: "Nobody knows.",
            },
            demand: "It MUST be even.",
            section: ("Numbers", "#numbers"),
            breaks: || vec![("/n", Some("1")), ("/m", None)],
            keeps: || vec![("/n", Some("2\n3"))],
            turn,
            check: false,
        }
    }

    const RULES: [&Rule<bool>; 4] = [
        &rule("gate", Turn::Gate),
        &rule("last", Turn::Last),
        &rule("one", Turn::Usual),
        &rule("two", Turn::Usual),
    ];

    fn checked(broken: &str) -> Vec<&'static str> {
        let mut checked = Vec::new();
        run_rules(&RULES, |rule| {
            checked.push(rule.code.id);
            rule.code.id == broken
        });
        checked
    }

    #[test]
    fn rules_have_their_turns() {
        assert_eq!(checked("one"), ["gate", "one", "two", "last"]);
        assert_eq!(checked("gate"), ["gate"]);
    }

    #[test]
    fn ids_are_the_names_of_modules() {
        for (path, form, id) in [
            ("a::b::dof_count", IdForm::Kebab, "x-dof-count"),
            ("required", IdForm::Kebab, "x-required"),
            ("a::r3_5_10_repeated_meshes", IdForm::Number, "x-3.5.10"),
            ("r0_1", IdForm::Number, "x-0.1"),
        ] {
            assert_eq!(ModuleId::new("x-", path, form).as_str(), id);
        }
    }

    #[test]
    fn a_rule_explains_itself() {
        let text = RULES[0].to_string();
        assert!(
            text.starts_with("gate (error)\n\nThe specification (\"Numbers\"): It MUST be even.\n"),
            "{text}"
        );
        assert!(
            text.ends_with(
                "rule:\n\n    /n: 1\n    /m: (left out)\n\nThis keeps it:\n\n    /n: 2\n    3\n"
            ),
            "{text}"
        );
    }
}
