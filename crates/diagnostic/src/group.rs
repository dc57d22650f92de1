//! Groups findings that report the same problem.
//!
//! Terminals, pages and status texts show groups: a robot with thirty massless links has one
//! problem to solve, not thirty.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::{self, Write as _};

use super::{Diagnostic, Severity, id};

/// Maximum number of groups that a [`status`] names.
const MAX_NAMED: usize = 3;

/// All findings of one code, severity and [cause](Diagnostic::cause), in the order in which they
/// were reported. A group is never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group<'a> {
    /// The first finding, which represents the group.
    pub first: &'a Diagnostic,
    /// The other findings.
    pub others: Vec<&'a Diagnostic>,
}

impl<'a> Group<'a> {
    /// Returns the number of findings.
    pub fn count(&self) -> usize {
        1 + self.others.len()
    }

    /// Returns the severity of the findings.
    pub fn severity(&self) -> Severity {
        self.first.severity
    }

    /// Returns the code of the findings.
    pub fn code(&self) -> id::Id {
        self.first.code
    }

    /// Returns `link-without-mass ×33`, or the code alone if there is one finding.
    pub fn title(&self) -> String {
        match self.count() {
            1 => self.first.code.to_owned(),
            count => format!("{} ×{count}", self.first.code),
        }
    }

    /// Returns the distinct subjects of the other findings, without that of the first: at most
    /// `most` of them, and the number left out.
    pub fn other_subjects(&self, most: usize) -> (Vec<Cow<'a, str>>, usize) {
        let first = self.first.subject();
        let mut subjects: Vec<Cow<'a, str>> = Vec::new();
        let mut known: HashMap<Cow<'a, str>, ()> = HashMap::new();
        for subject in self.others.iter().map(|finding| finding.subject()) {
            if subject != first && known.insert(subject.clone(), ()).is_none() {
                subjects.push(subject);
            }
        }
        let more = subjects.len().saturating_sub(most);
        subjects.truncate(most);
        (subjects, more)
    }
}

/// Formats the group as `link-without-mass ×33, first: arm.urdf:12:3: link "a" has no inertial`.
impl fmt::Display for Group<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = self.first.message.lines().next().unwrap_or_default();
        let first = if self.count() == 1 { "" } else { ", first" };
        write!(
            f,
            "{}{first}: {}: {message}",
            self.title(),
            self.first.place
        )
    }
}

/// Groups findings, highest severity first; groups of equal severity keep the order of their first
/// findings.
pub fn groups<'a>(diagnostics: impl IntoIterator<Item = &'a Diagnostic>) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    let mut known: HashMap<(Severity, &str, &str), usize> = HashMap::new();
    for finding in diagnostics {
        let number = *known
            .entry((finding.severity, finding.code, &finding.cause))
            .or_insert(groups.len());
        match groups.get_mut(number) {
            Some(group) => group.others.push(finding),
            None => groups.push(Group {
                first: finding,
                others: Vec::new(),
            }),
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.severity()));
    groups
}

/// Returns `14 errors, 1 warning`, or an empty string if there are neither.
pub fn count(diagnostics: &[Diagnostic]) -> String {
    let mut text = String::new();
    for (severity, noun) in [(Severity::Error, "error"), (Severity::Warning, "warning")] {
        let count = diagnostics
            .iter()
            .filter(|finding| finding.severity == severity)
            .count();
        if count > 0 {
            let (separator, plural) = (
                if text.is_empty() { "" } else { ", " },
                if count == 1 { "" } else { "s" },
            );
            let _ = write!(text, "{separator}{count} {noun}{plural}");
        }
    }
    text
}

/// Summarises errors and warnings in one line: their number and kinds, or the message itself if
/// there is only one. Empty if there are none.
pub fn status(diagnostics: &[Diagnostic]) -> String {
    let named = groups(
        diagnostics
            .iter()
            .filter(|finding| finding.severity > Severity::Info),
    );
    let what = match &named[..] {
        [] => return String::new(),
        [only] if only.count() == 1 || !only.first.cause.is_empty() => {
            let text = if only.first.cause.is_empty() {
                &only.first.message
            } else {
                &only.first.cause
            };
            text.lines().next().unwrap_or_default().to_owned()
        }
        _ => {
            let titles: Vec<String> = named.iter().take(MAX_NAMED).map(Group::title).collect();
            titles.join(", ") + if named.len() > MAX_NAMED { ", …" } else { "" }
        }
    };
    format!("{}: {what}", count(diagnostics))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Code, Place};

    crate::codes! {
        MASS Warning "test-mass": "A.", "Goes on.";
        PACKAGE Error "test-package": "B.", "Goes on.";
        NOTE Info "test-note": "C.", "Goes on.";
    }

    fn finding(code: &'static Code, line: u32, element: &str, cause: &str) -> Diagnostic {
        let place = Place {
            line,
            column: 1,
            element: element.to_owned(),
            ..Place::file("r.urdf")
        };
        Diagnostic::new(code, place, format!("message {line}\n  detail")).because(cause, "")
    }

    fn many() -> Vec<Diagnostic> {
        vec![
            finding(&NOTE, 1, "", ""),
            finding(&MASS, 2, "link \"a\" / visual", ""),
            finding(&PACKAGE, 3, "link \"a\" / mesh", "no package \"p\"")
                .because("no package \"p\"", "p/a.stl"),
            finding(&PACKAGE, 4, "link \"b\" / mesh", "no package \"q\""),
            finding(&MASS, 5, "link \"b\"", ""),
            finding(&PACKAGE, 6, "link \"c\" / mesh", "").because("no package \"p\"", "p/c.stl"),
            finding(&MASS, 7, "link \"b\" / visual", ""),
            finding(&MASS, 8, "", ""),
        ]
    }

    #[test]
    fn findings_of_one_code_and_cause_are_one_group() {
        let all = many();
        let groups = groups(&all);
        assert!(
            ALL.iter()
                .all(|code| groups.iter().any(|group| group.code() == code.id))
        );
        let shown: Vec<(String, u32)> = groups
            .iter()
            .map(|group| (group.title(), group.first.place.line))
            .collect();
        let shown: Vec<(&str, u32)> = shown
            .iter()
            .map(|(title, line)| (title.as_str(), *line))
            .collect();
        assert_eq!(
            shown,
            [
                ("test-package ×2", 3),
                ("test-package", 4),
                ("test-mass ×4", 2),
                ("test-note", 1)
            ]
        );
        assert_eq!(groups[0].other_subjects(9), (vec!["p/c.stl".into()], 0));
        assert_eq!(
            groups[2].other_subjects(9),
            (vec!["link \"b\"".into(), "r.urdf:8:1".into()], 0)
        );
        assert_eq!(groups[2].other_subjects(1), (vec!["link \"b\"".into()], 1));
        assert_eq!(
            groups[2].to_string(),
            "test-mass ×4, first: r.urdf:2:1: message 2"
        );
        assert_eq!(groups[3].to_string(), "test-note: r.urdf:1:1: message 1");
    }

    #[test]
    fn a_status_counts_and_quotes_only_a_single_message() {
        let all = many();
        assert_eq!(
            status(&all),
            "3 errors, 4 warnings: test-package ×2, test-package, test-mass ×4"
        );
        assert_eq!(status(&all[..2]), "1 warning: message 2");
        assert_eq!(status(&all[..1]), "");
        assert_eq!(
            status(&[all[2].clone(), all[5].clone()]),
            "2 errors: no package \"p\""
        );
        assert_eq!(
            status(&[all[1].clone(), all[4].clone()]),
            "2 warnings: test-mass ×2"
        );
    }
}
