//! Prints findings for people: those of the same code and cause are grouped, with an excerpt of the
//! source for the first, and the most severe last, next to the prompt.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteDiagnostic};

use super::excerpt::{self, Excerpt};
use super::terminal::{Verbosity, is_coloured, verbosity};
use urdf_usd_convert::STDIN;
use urdf_usd_diagnostic::{
    Diagnostic, Group, Severity, escape_controls, escape_controls_in_list, groups,
};

/// Maximum number of findings that are shown with an excerpt; each takes time proportional to the
/// length of its source.
const MAX_EXCERPTS: usize = 100;
/// Maximum number of subjects of a group's other findings that are named.
const MAX_SUBJECTS: usize = 6;
/// Maximum number of other errors of a group that get their own line.
const MAX_LINES: usize = 4;

/// Maximum number of characters of an informational finding.
const MAX_NOTE: usize = 220;

/// The text read from standard input, for excerpts.
pub(super) static STANDARD_INPUT: OnceLock<Arc<str>> = OnceLock::new();

/// Prints findings on standard error; `expanded` is the output of xacro if the source is a xacro
/// file.
pub(super) fn print_diagnostics(diagnostics: &[Diagnostic], expanded: Option<&str>) {
    let mut out = std::io::stderr();
    let is_coloured = is_coloured(&out);
    let text = show(diagnostics, expanded, (is_coloured, true), verbosity());
    let _ = out.write_all(text.as_bytes());
}

/// Returns findings as the result of a command, for standard output.
pub(super) fn as_results(diagnostics: &[Diagnostic], expanded: Option<&str>) -> String {
    let is_coloured = is_coloured(&std::io::stdout());
    show(diagnostics, expanded, (is_coloured, false), verbosity())
}

/// Returns findings as text; `is_brief` shortens informational ones to a line each.
pub(super) fn show(
    diagnostics: &[Diagnostic],
    expanded: Option<&str>,
    (is_coloured, is_brief): (bool, bool),
    verbosity: Verbosity,
) -> String {
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
        .filter(|finding| verbosity != Verbosity::Quiet || finding.severity == Severity::Error);
    let mut text = String::new();
    if verbosity == Verbosity::Verbose {
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
    text
}

/// Returns an informational finding as one line.
fn note(group: &Group<'_>) -> String {
    let text: String = group.to_string().chars().take(MAX_NOTE).collect();
    let cut = if group.to_string().chars().nth(MAX_NOTE).is_some() {
        "…"
    } else {
        ""
    };
    format!("note: {}{cut}\n", escape_controls(&text))
}

/// Returns the help text of a group, with a summary of its other findings.
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
    // Errors of one code may differ in kind, unless they share a cause.
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
        // Files are named without their folders: the first finding has the whole path.
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

/// Returns `line 7: `, if the place has a line.
fn position(finding: &Diagnostic) -> String {
    if finding.place.line > 0 {
        format!("line {}: ", finding.place.line)
    } else {
        String::new()
    }
}

/// Settings and state for rendering findings one after the other.
struct Shown<'a> {
    handler: GraphicalReportHandler,
    expanded: Option<&'a str>,
    sources: HashMap<PathBuf, Option<Arc<str>>>,
    excerpts: usize,
}

impl Shown<'_> {
    /// Appends a finding to `out`.
    fn render(&mut self, diagnostic: &Diagnostic, title: &str, help: &str, out: &mut String) {
        let file = diagnostic
            .place
            .file
            .as_deref()
            .filter(|_| diagnostic.place.line > 0 && self.excerpts < MAX_EXCERPTS);
        let text = file.and_then(|file| self.text(file, diagnostic.place.expanded));
        // A path that is part of the message is not repeated.
        let is_in_message = diagnostic.place.line == 0
            && diagnostic
                .place
                .file
                .as_ref()
                .is_some_and(|file| diagnostic.message.contains(&*file.to_string_lossy()));
        let message = match text {
            None if !is_in_message => format!("{}: {}", diagnostic.place, diagnostic.message),
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

    /// Returns the text that a place refers to.
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
        Diagnostic::new(code, place, format!("{what} is wrong\n  in detail")).help("fix it")
    }

    fn shown(verbosity: Verbosity, is_coloured: bool) -> String {
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
        show(&found, None, (is_coloured, true), verbosity)
    }

    #[test]
    fn findings_of_a_kind_are_one_and_errors_come_last() {
        insta::assert_snapshot!(shown(Verbosity::Normal, false));
        let all = shown(Verbosity::Verbose, false);
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
        let errors = shown(Verbosity::Quiet, false);
        assert!(
            !errors.contains("test-mass") && errors.contains("test-link ×2"),
            "{errors}"
        );
    }

    #[test]
    fn colours_are_only_where_they_are_wanted() {
        assert!(
            shown(Verbosity::Normal, true).contains('\x1b')
                && !shown(Verbosity::Normal, false).contains('\x1b')
        );
    }
}
