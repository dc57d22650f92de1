//! A rule of a specification, as a checker has it.

use std::fmt::{self, Write as _};

use super::Code;

/// What stands in some places of a file: each with its place and its text, `None` for nothing. What
/// places and texts are, the list of rules says.
pub type Example = &'static [(&'static str, Option<&'static str>)];

/// What a specification demands, why, what that looks like, and the function that looks. `C` is the
/// function's type.
///
/// A rule is one file and reports one code, whose [`meaning`](Code::meaning) is what is wrong where
/// the rule is broken, and whose [`outcome`](Code::outcome) is what comes of it: why there is the
/// rule.
#[derive(Debug)]
pub struct Rule<C> {
    /// What it reports.
    pub code: Code,
    /// The sentence of the specification.
    pub demand: &'static str,
    /// The section of the specification that says so, and its anchor (`#joints`).
    pub section: (&'static str, &'static str),
    /// What breaks it.
    pub breaks: Example,
    /// The same as it should be.
    pub keeps: Example,
    /// When it is looked at.
    pub turn: Turn,
    /// The function that looks.
    pub check: C,
}

/// When a rule is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Where it is broken, nothing else is looked at.
    Gate,
    /// In the order of the list.
    Usual,
    /// After all others, so that it says only what none of them has said better.
    Last,
}

/// Looks at `rules` one after the other: `look` returns whether a rule is broken.
pub fn run_rules<C>(rules: &[&Rule<C>], mut look: impl FnMut(&Rule<C>) -> bool) {
    for rule in rules.iter().filter(|rule| rule.turn != Turn::Last) {
        if look(rule) && rule.turn == Turn::Gate {
            return;
        }
    }
    for rule in rules.iter().filter(|rule| rule.turn == Turn::Last) {
        look(rule);
    }
}

/// The rule in Markdown, for people.
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
        writeln!(f, "This breaks the rule:\n\n{}", Shown(self.breaks))?;
        write!(f, "This keeps it:\n\n{}", Shown(self.keeps))
    }
}

/// An example, indented as code.
struct Shown(Example);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, text) in self.0 {
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
            breaks: &[("/n", Some("1")), ("/m", None)],
            keeps: &[("/n", Some("2\n3"))],
            turn,
            check: false,
        }
    }

    const RULES: [Rule<bool>; 4] = [
        rule("gate", Turn::Gate),
        rule("last", Turn::Last),
        rule("one", Turn::Usual),
        rule("two", Turn::Usual),
    ];

    fn looked_at(broken: &str) -> Vec<&'static str> {
        let mut looked_at = Vec::new();
        run_rules(&RULES.each_ref(), |rule| {
            looked_at.push(rule.code.id);
            rule.code.id == broken
        });
        looked_at
    }

    #[test]
    fn rules_have_their_turns() {
        assert_eq!(looked_at("one"), ["gate", "one", "two", "last"]);
        assert_eq!(looked_at("gate"), ["gate"]);
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
