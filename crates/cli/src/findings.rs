//! Findings as people read them: those of one code and cause as one, with the line of the source
//! that the first is about, the worst last, where the eye is.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteDiagnostic};

use super::excerpt::{self, Excerpt};
use super::terminal::{Amount, amount, is_coloured};
use urdf_usd_convert::STDIN;
use urdf_usd_diagnostic::{
    Diagnostic, Group, Severity, escape_controls, escape_controls_in_list, groups,
};

/// How many findings come with an excerpt of the source; each costs as much time as the source is
/// long.
const MAX_EXCERPTS: usize = 100;
/// How many of the things that the other findings of a group are about are named.
const MAX_SUBJECTS: usize = 6;
/// How many of the other errors of a group are told in a line each.
const MAX_LINES: usize = 4;

/// How many characters of what is only worth knowing are shown.
const MAX_NOTE: usize = 220;

/// What came from standard input, for excerpts.
pub(super) static STANDARD_INPUT: OnceLock<Arc<str>> = OnceLock::new();

/// Shows findings on standard error; `expanded` is what xacro made of the source, if it is xacro.
pub(super) fn print_diagnostics(diagnostics: &[Diagnostic], expanded: Option<&str>) {
    let mut out = std::io::stderr();
    let is_coloured = is_coloured(&out);
    show(
        diagnostics,
        expanded,
        &mut out,
        (is_coloured, true),
        amount(),
    );
}

/// Shows findings as the result of a command, on standard output.
pub(super) fn print_results(diagnostics: &[Diagnostic]) {
    let mut out = std::io::stdout();
    let is_coloured = is_coloured(&out);
    show(diagnostics, None, &mut out, (is_coloured, false), amount());
}

/// Writes findings to `out`; `is_brief`: those that are only worth knowing in a line each.
pub(super) fn show(
    diagnostics: &[Diagnostic],
    expanded: Option<&str>,
    out: &mut dyn Write,
    (is_coloured, is_brief): (bool, bool),
    amount: Amount,
) {
    let theme = if is_coloured {
        GraphicalTheme::unicode()
    } else {
        GraphicalTheme::unicode_nocolor()
    };
    let handler = GraphicalReportHandler::new_themed(theme).with_links(false);
    let mut shown = Shown {
        handler,
        expanded,
        sources: HashMap::new(),
        excerpts: 0,
    };
    let wanted = diagnostics
        .iter()
        .filter(|finding| amount != Amount::Quiet || finding.severity == Severity::Error);
    let mut text = String::new();
    if amount == Amount::Verbose {
        let mut all: Vec<&Diagnostic> = wanted.collect();
        all.sort_by_key(|finding| finding.severity);
        all.into_iter()
            .for_each(|finding| shown.render(finding, finding.code, &finding.help, &mut text));
    } else {
        let mut groups = groups(wanted);
        groups.sort_by_key(Group::severity);
        for group in &groups {
            if group.severity() == Severity::Info && is_brief {
                text.push_str(&note(group));
            } else {
                shown.render(group.first, &group.title(), &help(group), &mut text);
            }
        }
    }
    // A closed pipe (`| head`) is the reader's choice.
    let _ = out.write_all(text.as_bytes());
}

/// What is only worth knowing, in a line.
fn note(group: &Group<'_>) -> String {
    let text: String = group.to_string().chars().take(MAX_NOTE).collect();
    let cut = if group.to_string().chars().nth(MAX_NOTE).is_some() {
        "…"
    } else {
        ""
    };
    format!("note: {}{cut}\n", escape_controls(&text))
}

/// What to do about a group, and what else is in it.
fn help(group: &Group<'_>) -> String {
    let mut help = group.first.help.clone();
    let mut add = |line: &str| {
        help.push_str(if help.is_empty() { "" } else { "\n" });
        help.push_str(line);
    };
    let more = group.others.len();
    if more == 0 {
        return help;
    }
    // Errors of one code may be of different kinds; those of one cause are not.
    if group.severity() == Severity::Error && group.first.cause.is_empty() {
        for other in group.others.iter().take(MAX_LINES) {
            let message = other
                .message
                .lines()
                .next()
                .unwrap_or_default()
                .trim_end_matches([':', ';']);
            add(&format!("also {}{message}", position(other)));
        }
        if more > MAX_LINES {
            add(&format!("and {} more: -v shows each", more - MAX_LINES));
        }
        return help;
    }
    let (subjects, unnamed) = group.other_subjects(MAX_SUBJECTS);
    let mut line = format!("{more} more");
    if !subjects.is_empty() {
        // Of files their names: the first is told in full.
        let names: Vec<&str> = subjects
            .iter()
            .map(|subject| subject.rsplit('/').next().unwrap_or(subject))
            .collect();
        let _ = write!(
            line,
            ": {}{}",
            names.join(", "),
            if unnamed > 0 { ", …" } else { "" }
        );
    }
    add(&format!("{line}; -v shows each"));
    help
}

/// `line 7: `, if the place has a line.
fn position(finding: &Diagnostic) -> String {
    if finding.place.line > 0 {
        format!("line {}: ", finding.place.line)
    } else {
        String::new()
    }
}

/// What is needed to show findings one after the other.
struct Shown<'a> {
    handler: GraphicalReportHandler,
    expanded: Option<&'a str>,
    sources: HashMap<PathBuf, Option<Arc<str>>>,
    excerpts: usize,
}

impl Shown<'_> {
    /// Adds a finding to `out`.
    fn render(&mut self, diagnostic: &Diagnostic, title: &str, help: &str, out: &mut String) {
        let file = diagnostic
            .place
            .file
            .as_deref()
            .filter(|_| diagnostic.place.line > 0 && self.excerpts < MAX_EXCERPTS);
        let text = file.and_then(|file| self.text(file, diagnostic.place.expanded));
        // A path that the message names is not told twice.
        let is_told = diagnostic.place.line == 0
            && diagnostic
                .place
                .file
                .as_ref()
                .is_some_and(|file| diagnostic.message.contains(&*file.to_string_lossy()));
        let message = match text {
            None if !is_told => format!("{}: {}", diagnostic.place, diagnostic.message),
            _ => diagnostic.message.clone(),
        };
        let mut shown = MietteDiagnostic::new(escape_controls_in_list(&message))
            .with_code(title)
            .with_severity(match diagnostic.severity {
                Severity::Info => miette::Severity::Advice,
                Severity::Warning => miette::Severity::Warning,
                Severity::Error => miette::Severity::Error,
            });
        if !help.is_empty() {
            let lines: Vec<_> = help.lines().map(escape_controls).collect();
            shown = shown.with_help(lines.join("\n"));
        }
        let mut rendered = String::new();
        let result = match (file, text) {
            (Some(file), Some(text)) => {
                self.excerpts += 1;
                let place = &diagnostic.place;
                let name = file.to_string_lossy();
                let name = if place.expanded {
                    format!("{name}, expanded by xacro")
                } else {
                    name.into_owned()
                };
                let excerpt = Excerpt::new(&name, &text, place.line, place.column);
                shown = shown.with_labels([LabeledSpan::at_offset(
                    excerpt.offset,
                    escape_controls(&place.element),
                )]);
                let report = miette::Report::new(shown).with_source_code(excerpt);
                self.handler.render_report(&mut rendered, report.as_ref())
            }
            _ => self.handler.render_report(&mut rendered, &shown),
        };
        match result {
            Ok(()) => out.push_str(&rendered),
            Err(_) => out.push_str(&format!("{}\n", escape_controls(&diagnostic.to_string()))),
        }
    }

    /// The text that a place is in.
    fn text(&mut self, file: &Path, is_expanded: bool) -> Option<Arc<str>> {
        if is_expanded {
            return self.expanded.map(Arc::from);
        }
        if file == Path::new(STDIN) {
            return STANDARD_INPUT.get().cloned();
        }
        self.sources
            .entry(file.to_owned())
            .or_insert_with(|| excerpt::source(file))
            .clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use urdf_usd_diagnostic::Place;

    urdf_usd_diagnostic::codes! {
        MASS Warning "test-mass": "A.", "Goes on.";
        NOTE Info "test-note": "N.", "Goes on.";
        LINK Error "test-link": "B.", "Goes on.";
        PACKAGE Error "test-package": "C.", "Goes on.";
    }

    fn finding(code: &'static urdf_usd_diagnostic::Code, line: u32, what: &str) -> Diagnostic {
        let place = Place {
            line,
            column: 1,
            element: format!("link \"{what}\" / visual"),
            ..Place::file("/no/such.urdf")
        };
        Diagnostic::new(code, place, format!("{what} is wrong\n  in detail")).help("mend it")
    }

    fn shown(amount: Amount, is_coloured: bool) -> String {
        let mut found: Vec<Diagnostic> = (1..9)
            .map(|line| finding(&MASS, line, &format!("m{line}")))
            .collect();
        found.insert(
            0,
            finding(&PACKAGE, 3, "p").because("no package p", "p/a.stl"),
        );
        found.insert(3, finding(&LINK, 9, "x"));
        found.extend([finding(&NOTE, 11, "n"), finding(&NOTE, 12, "o")]);
        found.extend([
            finding(&LINK, 10, "y"),
            finding(&PACKAGE, 4, "q").because("no package p", "p/b.stl"),
        ]);
        let mut out = Vec::new();
        show(&found, None, &mut out, (is_coloured, true), amount);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn findings_of_a_kind_are_one_and_errors_come_last() {
        insta::assert_snapshot!(shown(Amount::Usual, false));
        let all = shown(Amount::Verbose, false);
        assert!(ALL.iter().all(|code| all.contains(code.id)), "{all}");
        assert_eq!(
            (
                all.matches("test-mass").count(),
                all.matches("-v shows").count()
            ),
            (8, 0),
            "{all}"
        );
        assert!(all.rfind("test-mass") < all.find("test-link"));
        let errors = shown(Amount::Quiet, false);
        assert!(
            !errors.contains("test-mass") && errors.contains("test-link ×2"),
            "{errors}"
        );
    }

    #[test]
    fn colours_are_only_where_they_are_wanted() {
        assert!(
            shown(Amount::Usual, true).contains('\x1b')
                && !shown(Amount::Usual, false).contains('\x1b')
        );
    }
}
