//! What the program says, as diagnostics: the message, and the place that it names or that follows
//! from it.
//!
//! It names files, and a line only where a file is no XML. For the other common errors the text
//! that it complains of is looked for in the files that it names: where that stands only once, that
//! is the place.

use std::path::{Path, PathBuf};

use super::{codes, scan};
use urdf_usd_diagnostic::{Code, Diagnostic, Place};

/// How many of its lines on macros and files a message has.
const MAX_TRACE: usize = 8;
/// What its lines on macros and files begin with.
const TRACE: [&str; 5] = [
    "when instantiating macro: ",
    "instantiated from: ",
    "in file: ",
    "when processing file: ",
    "included from: ",
];
/// What it puts in front of an error.
const XML_ERROR: &str = "XML parsing error: ";

/// Something that the program said.
#[derive(Default)]
struct Saying<'a> {
    lines: Vec<&'a str>,
    trace: Vec<&'a str>,
}

impl<'a> Saying<'a> {
    /// The files that it names, those of macros first: what is nearest to the place.
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
        let said = self
            .lines
            .iter()
            .map(|line| line.trim())
            .filter(|line| !line.is_empty())
            .collect::<Vec<_>>()
            .join(" ");
        let said = said.strip_prefix("error: ").unwrap_or(&said);
        let mut message = format!("xacro: {}", said.chars().take(2000).collect::<String>());
        for line in self.trace.iter().take(MAX_TRACE) {
            message.push_str("\n  ");
            message.push_str(line);
        }
        if self.trace.len() > MAX_TRACE {
            message.push_str(&format!("\n  and {} more", self.trace.len() - MAX_TRACE));
        }
        Diagnostic::new(code, self.place(said, file), message)
    }

    fn place(&self, said: &str, file: &Path) -> Place {
        let files = self.files();
        let nearest = files.first().copied().unwrap_or(file);
        let element = self
            .macro_name()
            .map(|name| format!("macro \"{name}\""))
            .unwrap_or_default();
        if let Some((line, column)) = xml_position(said) {
            // A macro has nothing to do with a file that can't be parsed.
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
        let sought = sought(said, self.macro_name());
        let found = sought.iter().find_map(|text| {
            files
                .iter()
                .chain([&file])
                .find_map(|file| Some((file, only_position(&scan::text(file)?, text)?)))
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

/// Whether a line says where, and not what.
fn is_trace(line: &str) -> bool {
    TRACE.iter().any(|start| line.starts_with(start))
}

/// All that the program said, in order. What is no error and no warning counts as part of what came
/// before.
fn sayings(said: &str) -> Vec<Saying<'_>> {
    let mut sayings: Vec<Saying<'_>> = Vec::new();
    for line in said.lines() {
        let starts = ["error: ", "warning: ", XML_ERROR]
            .iter()
            .any(|start| line.starts_with(start));
        if starts || sayings.is_empty() {
            sayings.push(Saying::default());
        }
        if let Some(saying) = sayings.last_mut() {
            if is_trace(line) {
                saying.trace.push(line);
            } else if saying.trace.is_empty() {
                saying.lines.push(line);
            }
        }
    }
    sayings
}

/// Why the program failed, by what it said.
pub(super) fn failure(said: &str, file: &Path) -> Diagnostic {
    let sayings = sayings(said);
    let is_error = |s: &&Saying<'_>| {
        s.lines
            .first()
            .is_some_and(|line| line.starts_with("error: ") || line.starts_with(XML_ERROR))
    };
    let Some(saying) = sayings.iter().rev().find(is_error) else {
        // A traceback of Python ends with what is the matter.
        let last = said
            .lines()
            .rev()
            .find(|line| !line.trim().is_empty())
            .unwrap_or("it failed and did not say why");
        return Saying {
            lines: vec![last],
            trace: Vec::new(),
        }
        .diagnostic(&codes::FAILED, file)
        .help("");
    };
    let diagnostic = saying.diagnostic(&codes::FAILED, file);
    let help = help(&diagnostic.message);
    diagnostic.help(help)
}

/// What the program warned of.
pub(super) fn warnings(said: &str, file: &Path) -> Vec<Diagnostic> {
    let is_warning = |saying: &Saying<'_>| {
        saying
            .lines
            .first()
            .is_some_and(|line| line.starts_with("warning: "))
    };
    let warning = |saying: Saying<'_>| {
        let mut diagnostic = saying.diagnostic(&codes::WARNING, file);
        diagnostic.message = diagnostic
            .message
            .replacen("xacro: warning: ", "xacro: ", 1);
        diagnostic
    };
    let mut warnings: Vec<Diagnostic> = sayings(said)
        .into_iter()
        .filter(is_warning)
        .map(warning)
        .collect();
    warnings.dedup();
    warnings
}

fn help(message: &str) -> String {
    let is = |part: &str| message.contains(part);
    if is("maximum recursion depth") {
        "a macro or a file includes itself without end: put its call into <xacro:if> or <xacro:unless>".to_owned()
    } else if is("not found, searching") || is("PackageNotFoundError") {
        "say where the package is with --package NAME=DIR, or --package-path with the folder that holds it, or source its ROS \
        workspace"
            .to_owned()
    } else if is("Undefined substitution argument") {
        "give it: NAME:=VALUE, or give it a default: <xacro:arg name=\"…\" default=\"…\"/>"
            .to_owned()
    } else if is("unknown macro name") {
        "include the file that defines the macro before, or correct the name".to_owned()
    } else if is(XML_ERROR) {
        "correct the text there; the root element needs xmlns:xacro=\"http://www.ros.org/wiki/xacro\"".to_owned()
    } else if is("No such file or directory") {
        "correct the name, or put the file there; names are relative to the file that includes it"
            .to_owned()
    } else {
        String::new()
    }
}

/// The position that Python's XML parser tells, whose columns begin with 0.
fn xml_position(said: &str) -> Option<(u32, u32)> {
    let (line, column) = said
        .strip_prefix(XML_ERROR)?
        .rsplit_once("line ")?
        .1
        .split_once(", column ")?;
    Some((
        line.parse().ok()?,
        column.trim().parse::<u32>().ok()?.saturating_add(1),
    ))
}

/// The texts that an error may be about, the likeliest first.
fn sought(said: &str, name: Option<&str>) -> Vec<String> {
    let mut parts = said.split(" when evaluating expression '");
    let error = parts.next().unwrap_or_default().trim();
    let after = |start: &str| error.split_once(start).map(|(_, rest)| rest.trim());
    let element = |name: &str| [" ", "/", ">", "\n"].map(|end| format!("<{name}{end}"));
    let mut sought = Vec::new();
    if let Some(name) = after("unknown macro name: ") {
        sought.extend(element(name));
    } else if let Some(argument) = after("Undefined substitution argument ") {
        sought.push(format!("$(arg {argument})"));
    } else if let Some((package, _)) =
        after("package '").and_then(|rest| rest.split_once("' not found"))
    {
        sought.push(format!("$(find {package})"));
    } else if let Some(path) =
        after("No such file or directory: ").and_then(|rest| rest.split(" [Errno").next())
    {
        let path = Path::new(path.trim_matches('\''));
        sought.extend(
            path.file_name()
                .map(|name| name.to_string_lossy().into_owned()),
        );
    } else if error.starts_with("Undefined parameters") || error.starts_with("Invalid parameter") {
        sought.extend(
            name.iter()
                .flat_map(|name| element(&format!("xacro:{name}"))),
        );
    }
    // The innermost expression is the first.
    for expression in parts.filter_map(|part| part.trim().strip_suffix('\'')) {
        sought.extend([format!("${{{expression}}}"), expression.to_owned()]);
    }
    sought
}

/// Where `sought` stands in `text`, if only once: line and column from 1, in characters.
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

/// The text that the program made, with the file's name alone in the comment at its beginning: the
/// same robot in another folder is the same text.
pub(super) fn without_folder(text: String, file: &Path) -> String {
    // It writes one dash for several, which a comment can't have.
    let mut shown = String::new();
    for c in file.to_string_lossy().chars() {
        if !(c == '-' && shown.ends_with('-')) {
            shown.push(c);
        }
    }
    let said = format!("autogenerated by xacro from {shown} ");
    let name = file
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .replace("--", "-");
    text.replacen(&said, &format!("autogenerated by xacro from {name} "), 1)
}
