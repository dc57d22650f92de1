//! Converts the program's messages to diagnostics, with the place that they name or that can be
//! inferred.
//!
//! The program names files, but a line only if a file is not XML. For other common errors, the text
//! that it complains about is searched in those files: a single occurrence gives the place.

use std::path::{Path, PathBuf};

use super::{codes, scan};
use urdf_usd_diagnostic::{Code, Diagnostic, Place};

/// Maximum number of trace lines in a message.
const MAX_TRACE: usize = 8;
/// Beginnings of trace lines, which name macros and files.
const TRACE: [&str; 5] = [
    "when instantiating macro: ",
    "instantiated from: ",
    "in file: ",
    "when processing file: ",
    "included from: ",
];
/// Beginning of an error about malformed XML.
const XML_ERROR: &str = "XML parsing error: ";

/// A message of the program.
#[derive(Default)]
struct Message<'a> {
    lines: Vec<&'a str>,
    trace: Vec<&'a str>,
}

impl<'a> Message<'a> {
    /// Returns the files that it names, those of macros first: they are nearest to the place.
    fn files(&self) -> Vec<&'a Path> {
        let macros = self
            .trace
            .iter()
            .filter_map(|line| line.rsplit_once(" (")?.1.strip_suffix(')'));
        let file = |line: &&'a str| TRACE[2..].iter().find_map(|start| line.strip_prefix(start));
        let files = self.trace.iter().filter_map(file);
        let mut distinct: Vec<&Path> = Vec::new();
        for file in macros.chain(files).map(Path::new) {
            if !distinct.contains(&file) {
                distinct.push(file);
            }
        }
        distinct
    }

    fn macro_name(&self) -> Option<&'a str> {
        let line = self
            .trace
            .iter()
            .find_map(|line| line.strip_prefix(TRACE[0]))?;
        Some(line.rsplit_once(" (").map_or(line, |(name, _)| name))
    }

    fn diagnostic(&self, code: &'static Code, file: &Path) -> Diagnostic {
        let text = self
            .lines
            .iter()
            .map(|line| line.trim())
            .filter(|line| !line.is_empty())
            .collect::<Vec<_>>()
            .join(" ");
        let text = text.strip_prefix("error: ").unwrap_or(&text);
        let mut message = format!("xacro: {}", text.chars().take(2000).collect::<String>());
        for line in self.trace.iter().take(MAX_TRACE) {
            message.push_str("\n  ");
            message.push_str(line);
        }
        if self.trace.len() > MAX_TRACE {
            message.push_str(&format!("\n  and {} more", self.trace.len() - MAX_TRACE));
        }
        Diagnostic::new(code, self.place(text, file), message)
    }

    fn place(&self, text: &str, file: &Path) -> Place {
        let files = self.files();
        let nearest = files.first().copied().unwrap_or(file);
        let element = self
            .macro_name()
            .map(|name| format!("macro \"{name}\""))
            .unwrap_or_default();
        if let Some((line, column)) = xml_position(text) {
            // A file that can't be parsed contains no expanded macro.
            let start = |line: &&str| {
                TRACE[2..4]
                    .iter()
                    .find_map(|start| line.strip_prefix(start))
                    .map(PathBuf::from)
            };
            let file = self
                .trace
                .iter()
                .find_map(start)
                .unwrap_or_else(|| nearest.to_owned());
            return Place {
                line,
                column,
                ..Place::file(file)
            };
        }
        let candidates = search_texts(text, self.macro_name());
        let found = candidates.iter().find_map(|candidate| {
            files
                .iter()
                .chain([&file])
                .find_map(|file| Some((file, only_position(&scan::text(file)?, candidate)?)))
        });
        match found {
            Some((file, (line, column))) => Place {
                line,
                column,
                element,
                ..Place::file(*file)
            },
            None => Place {
                element,
                ..Place::file(nearest)
            },
        }
    }
}

/// Returns whether a line is a trace line.
fn is_trace(line: &str) -> bool {
    TRACE.iter().any(|start| line.starts_with(start))
}

/// Splits the program's output into messages. Lines that are neither an error nor a warning belong
/// to the message before.
fn messages(output: &str) -> Vec<Message<'_>> {
    let mut messages: Vec<Message<'_>> = Vec::new();
    for line in output.lines() {
        let starts = ["error: ", "warning: ", XML_ERROR]
            .iter()
            .any(|start| line.starts_with(start));
        if starts || messages.is_empty() {
            messages.push(Message::default());
        }
        if let Some(message) = messages.last_mut() {
            if is_trace(line) {
                message.trace.push(line);
            } else if message.trace.is_empty() {
                message.lines.push(line);
            }
        }
    }
    messages
}

/// Returns the error in the output of a failed call.
pub(super) fn failure(output: &str, file: &Path) -> Diagnostic {
    let messages = messages(output);
    let is_error = |s: &&Message<'_>| {
        s.lines
            .first()
            .is_some_and(|line| line.starts_with("error: ") || line.starts_with(XML_ERROR))
    };
    let Some(message) = messages.iter().rev().find(is_error) else {
        // The last line of a Python traceback names the error.
        let last = output
            .lines()
            .rev()
            .find(|line| !line.trim().is_empty())
            .unwrap_or("it failed without an error message");
        return Message {
            lines: vec![last],
            trace: Vec::new(),
        }
        .diagnostic(&codes::FAILED, file)
        .help("");
    };
    let diagnostic = message.diagnostic(&codes::FAILED, file);
    let help = help(&diagnostic.message);
    diagnostic.help(help)
}

/// Returns the warnings in the output of a call.
pub(super) fn warnings(output: &str, file: &Path) -> Vec<Diagnostic> {
    let is_warning = |message: &Message<'_>| {
        message
            .lines
            .first()
            .is_some_and(|line| line.starts_with("warning: "))
    };
    let warning = |message: Message<'_>| {
        let mut diagnostic = message.diagnostic(&codes::WARNING, file);
        diagnostic.message = diagnostic
            .message
            .replacen("xacro: warning: ", "xacro: ", 1);
        diagnostic
    };
    let mut warnings: Vec<Diagnostic> = messages(output)
        .into_iter()
        .filter(is_warning)
        .map(warning)
        .collect();
    warnings.dedup();
    warnings
}

fn help(message: &str) -> String {
    let has = |part: &str| message.contains(part);
    if has("maximum recursion depth") {
        "a macro or file includes itself endlessly: put its call inside <xacro:if> or <xacro:unless>".to_owned()
    } else if has("not found, searching") || has("PackageNotFoundError") {
        "pass --package NAME=DIR, or --package-path with the folder that contains the package, or source its ROS \
        workspace"
            .to_owned()
    } else if has("Undefined substitution argument") {
        "pass NAME:=VALUE, or add a default: <xacro:arg name=\"…\" default=\"…\"/>".to_owned()
    } else if has("unknown macro name") {
        "include the file that defines the macro before its use, or correct the name".to_owned()
    } else if has(XML_ERROR) {
        "correct the XML; the root element needs xmlns:xacro=\"http://www.ros.org/wiki/xacro\""
            .to_owned()
    } else if has("No such file or directory") {
        "correct the name, or add the file; names are relative to the including file".to_owned()
    } else {
        String::new()
    }
}

/// Returns the position that Python's XML parser reports, whose columns are 0-based.
fn xml_position(text: &str) -> Option<(u32, u32)> {
    let (line, column) = text
        .strip_prefix(XML_ERROR)?
        .rsplit_once("line ")?
        .1
        .split_once(", column ")?;
    Some((
        line.parse().ok()?,
        column.trim().parse::<u32>().ok()?.saturating_add(1),
    ))
}

/// Returns the texts that an error may be about, likeliest first.
fn search_texts(text: &str, name: Option<&str>) -> Vec<String> {
    let mut parts = text.split(" when evaluating expression '");
    let error = parts.next().unwrap_or_default().trim();
    let after = |start: &str| error.split_once(start).map(|(_, rest)| rest.trim());
    let element = |name: &str| [" ", "/", ">", "\n"].map(|end| format!("<{name}{end}"));
    let mut texts = Vec::new();
    if let Some(name) = after("unknown macro name: ") {
        texts.extend(element(name));
    } else if let Some(argument) = after("Undefined substitution argument ") {
        texts.push(format!("$(arg {argument})"));
    } else if let Some((package, _)) =
        after("package '").and_then(|rest| rest.split_once("' not found"))
    {
        texts.push(format!("$(find {package})"));
    } else if let Some(path) =
        after("No such file or directory: ").and_then(|rest| rest.split(" [Errno").next())
    {
        let path = Path::new(path.trim_matches('\''));
        texts.extend(
            path.file_name()
                .map(|name| name.to_string_lossy().into_owned()),
        );
    } else if error.starts_with("Undefined parameters") || error.starts_with("Invalid parameter") {
        texts.extend(
            name.iter()
                .flat_map(|name| element(&format!("xacro:{name}"))),
        );
    }
    // The innermost expression comes first.
    for expression in parts.filter_map(|part| part.trim().strip_suffix('\'')) {
        texts.extend([format!("${{{expression}}}"), expression.to_owned()]);
    }
    texts
}

/// Returns the position of the only occurrence of `sought` in `text`: 1-based line, and column in
/// characters.
fn only_position(text: &str, sought: &str) -> Option<(u32, u32)> {
    let mut matches = text.match_indices(sought);
    let (Some((offset, _)), None) = (matches.next(), matches.next()) else {
        return None;
    };
    let before = &text[..offset];
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    Some((
        count(before.matches('\n').count() + 1),
        count(before[line_start..].chars().count() + 1),
    ))
}

/// Replaces the file's path by its name in the comment at the beginning of the generated text, so
/// that the text does not depend on the folder.
pub(super) fn strip_folder(text: String, file: &Path) -> String {
    // The program collapses dashes, since a comment must not contain `--`.
    let mut shown = String::new();
    for c in file.to_string_lossy().chars() {
        if !(c == '-' && shown.ends_with('-')) {
            shown.push(c);
        }
    }
    let comment = format!("autogenerated by xacro from {shown} ");
    let name = file
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .replace("--", "-");
    text.replacen(&comment, &format!("autogenerated by xacro from {name} "), 1)
}
