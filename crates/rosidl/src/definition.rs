//! The parser of `.msg` and `.srv` files.

use std::fmt;
use std::path::{Path, PathBuf};

/// The line between the request and the response of a service.
const SEPARATOR: &str = "---";

/// A fault in a definition.
#[derive(Debug, PartialEq, Eq)]
pub struct Error {
    /// The file or folder.
    pub file: PathBuf,
    /// The line, counted from 1; 0 if the file itself can't be read.
    pub line: usize,
    /// The fault.
    pub message: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file.display(), self.line, self.message)
    }
}

impl std::error::Error for Error {}

/// The kind of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A message: one part.
    Message,
    /// A service: a request and a response.
    Service,
}

impl Kind {
    /// Returns the folder and file extension of definitions of this kind: `msg` or `srv`.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Message => "msg",
            Self::Service => "srv",
        }
    }
}

/// A message or service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The ROS package: `std_msgs`.
    pub package: String,
    /// Message or service.
    pub kind: Kind,
    /// The name within the package: `String`.
    pub name: String,
    /// The message, or the request and the response.
    pub parts: Vec<Part>,
    /// The whole text of the file.
    pub text: String,
}

/// A message, or one half of a service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// The fields, in the order of the wire format.
    pub fields: Vec<Field>,
    /// The constants.
    pub constants: Vec<Constant>,
}

/// A field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The name.
    pub name: String,
    /// The type.
    pub kind: FieldType,
    /// The default value, as the file writes it.
    pub default: Option<String>,
    /// The declaration without its comment: `string<=10 name`.
    pub declaration: String,
    /// The comment behind the declaration and on indented lines below it.
    pub comment: String,
}

/// A constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constant {
    /// The name.
    pub name: String,
    /// The type, never an array or another interface.
    pub kind: Base,
    /// The value, as the file writes it, without the quotes of a string.
    pub value: String,
    /// The declaration without its comment.
    pub declaration: String,
    /// The comment behind the declaration and on indented lines below it.
    pub comment: String,
}

/// The type of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldType {
    /// The type of one value.
    pub base: Base,
    /// The number of values.
    pub container: Container,
}

/// The type of one value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Base {
    /// A number or bool.
    Primitive(Primitive),
    /// A text, with its maximum length in bytes if it has one.
    String(Option<u64>),
    /// Another message.
    Message {
        /// The package of the message.
        package: String,
        /// The name of the message.
        name: String,
    },
}

/// The number of values in a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// One value.
    Single,
    /// A fixed number of values.
    Array(u64),
    /// Any number of values.
    Sequence,
    /// A limited number of values.
    BoundedSequence(u64),
}

/// A built-in type of fixed size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Primitive {
    /// The type's name in definitions.
    pub name: &'static str,
    /// The type in Rust.
    pub rust: &'static str,
    /// The type's number in `type_description_interfaces/msg/FieldType`.
    pub type_id: u8,
}

/// All built-in types of fixed size. `char` is an unsigned byte in `.msg` files.
const PRIMITIVES: [Primitive; 13] = {
    const fn primitive(name: &'static str, rust: &'static str, type_id: u8) -> Primitive {
        Primitive {
            name,
            rust,
            type_id,
        }
    }
    [
        primitive("int8", "i8", 2),
        primitive("uint8", "u8", 3),
        primitive("int16", "i16", 4),
        primitive("uint16", "u16", 5),
        primitive("int32", "i32", 6),
        primitive("uint32", "u32", 7),
        primitive("int64", "i64", 8),
        primitive("uint64", "u64", 9),
        primitive("float32", "f32", 10),
        primitive("float64", "f64", 11),
        primitive("char", "u8", 3),
        primitive("bool", "bool", 15),
        primitive("byte", "u8", 16),
    ]
};

impl Primitive {
    /// Returns whether the type is a floating-point number.
    pub fn is_float(self) -> bool {
        self.name.starts_with("float")
    }

    /// Returns whether `text` is a literal of the type in both Rust and interface definitions.
    fn accepts(self, text: &str) -> bool {
        fn parses<T: std::str::FromStr>(text: &str) -> bool {
            text.parse::<T>().is_ok()
        }
        match self.rust {
            "bool" => parses::<bool>(text),
            "u8" => parses::<u8>(text),
            "u16" => parses::<u16>(text),
            "u32" => parses::<u32>(text),
            "u64" => parses::<u64>(text),
            "i8" => parses::<i8>(text),
            "i16" => parses::<i16>(text),
            "i32" => parses::<i32>(text),
            "i64" => parses::<i64>(text),
            // Rust also parses `inf` and `NaN`, which are no literals.
            _ => text.parse::<f64>().is_ok_and(f64::is_finite),
        }
    }
}

/// Reads all definitions of a ROS package, from `msg/` and `srv/` in `folder`, sorted by name.
///
/// # Errors
/// Returns the first fault.
pub fn read_package(package: &str, folder: &Path) -> Result<Vec<Definition>, Error> {
    let mut definitions = Vec::new();
    for kind in [Kind::Message, Kind::Service] {
        let folder = folder.join(kind.extension());
        if !folder.is_dir() {
            continue;
        }
        let failed = |file: &Path, error: std::io::Error| Error {
            file: file.to_owned(),
            line: 0,
            message: error.to_string(),
        };
        let entries = std::fs::read_dir(&folder).map_err(|error| failed(&folder, error))?;
        let mut files = entries
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| failed(&folder, error))?;
        files.retain(|file| file.extension().is_some_and(|e| e == kind.extension()));
        // `read_dir` has no fixed order, and the generated source must be reproducible.
        files.sort();
        for file in files {
            let text = std::fs::read_to_string(&file).map_err(|error| failed(&file, error))?;
            definitions.push(Definition::parse(package, kind, &file, text)?);
        }
    }
    Ok(definitions)
}

impl Definition {
    /// Parses the text of `file`, whose name is the interface's.
    ///
    /// # Errors
    /// Returns the first fault.
    pub fn parse(package: &str, kind: Kind, file: &Path, text: String) -> Result<Self, Error> {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let error = |line: usize, message: String| Error {
            file: file.to_owned(),
            line,
            message,
        };
        if !is_type_name(&name) {
            return Err(error(
                0,
                format!("`{name}` is not a valid name of an interface"),
            ));
        }
        let mut parts = vec![Part::default()];
        // The declaration whose comment an indented line continues.
        let mut continued: Option<Last> = None;
        for (index, line) in text.lines().enumerate() {
            let at = |message| error(index + 1, message);
            let (code, comment) = split_comment(line);
            if code == SEPARATOR {
                parts.push(Part::default());
                continued = None;
                continue;
            }
            let Some(part) = parts.last_mut() else { break };
            if code.is_empty() {
                match continued.and_then(|last| part.comment_mut(last)) {
                    Some(before)
                        if line.starts_with(char::is_whitespace) && !comment.is_empty() =>
                    {
                        before.push(' ');
                        before.push_str(comment);
                    }
                    _ => continued = None,
                }
                continue;
            }
            continued = Some(part.declare(code, comment, package).map_err(at)?);
        }
        let expected = match kind {
            Kind::Message => 1,
            Kind::Service => 2,
        };
        if parts.len() != expected {
            let message = format!("{} parts instead of {expected}", parts.len());
            return Err(error(text.lines().count(), message));
        }
        Ok(Self {
            package: package.to_owned(),
            kind,
            name: name.into_owned(),
            parts,
            text,
        })
    }
}

/// The declaration that was read last.
#[derive(Clone, Copy)]
enum Last {
    Field,
    Constant,
}

impl Part {
    fn comment_mut(&mut self, last: Last) -> Option<&mut String> {
        match last {
            Last::Field => self.fields.last_mut().map(|field| &mut field.comment),
            Last::Constant => self.constants.last_mut().map(|it| &mut it.comment),
        }
    }

    /// Adds the declaration in a line.
    fn declare(&mut self, code: &str, comment: &str, package: &str) -> Result<Last, String> {
        let (kind, rest) = code
            .split_once(char::is_whitespace)
            .ok_or_else(|| format!("`{code}` has no name"))?;
        let (kind, rest) = (field_type(kind, package)?, rest.trim());
        let end = rest
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        let (name, value) = rest.split_at(end);
        let (name, declaration) = (name.to_owned(), code.to_owned());
        let comment = comment.to_owned();
        let names = self.fields.iter().map(|field| &field.name);
        let names = names.chain(self.constants.iter().map(|constant| &constant.name));
        if names.into_iter().any(|other| *other == name) {
            return Err(format!("`{name}` is declared twice"));
        }
        if let Some(value) = value.trim_start().strip_prefix('=') {
            let is_single = kind.container == Container::Single;
            if !is_single || !is_constant_name(&name) {
                return Err(format!("`{code}` is not a constant"));
            }
            self.constants.push(Constant {
                value: kind.base.value(value.trim())?,
                name,
                kind: kind.base,
                declaration,
                comment,
            });
            return Ok(Last::Constant);
        }
        if !is_field_name(&name) || value.starts_with(|c: char| !c.is_whitespace()) {
            return Err(format!("`{rest}` is not a field"));
        }
        let default = match value.trim() {
            "" => None,
            _ if kind.container != Container::Single => {
                return Err("defaults of arrays are not supported".to_owned());
            }
            value => Some(kind.base.value(value)?),
        };
        self.fields.push(Field {
            name,
            kind,
            default,
            declaration,
            comment,
        });
        Ok(Last::Field)
    }
}

impl Base {
    /// Checks a constant or default, and removes the quotes of a text.
    fn value(&self, text: &str) -> Result<String, String> {
        let value = match self {
            Self::Primitive(primitive) => primitive.accepts(text).then_some(text),
            Self::String(_) => ['"', '\''].iter().find_map(|quote| {
                text.strip_prefix(*quote)?
                    .strip_suffix(*quote)
                    .filter(|text| !text.contains(['\\', *quote]))
            }),
            Self::Message { .. } => None,
        };
        value
            .map(str::to_owned)
            .ok_or_else(|| format!("`{text}` is not a value of this type"))
    }
}

/// Splits a line into code and comment, both trimmed. A `#` within quotes does not start a comment.
fn split_comment(line: &str) -> (&str, &str) {
    let mut quote = None;
    let start = line.find(|c: char| {
        match quote {
            Some(open) if c == open => quote = None,
            None if c == '"' || c == '\'' => quote = Some(c),
            _ => {}
        }
        c == '#' && quote.is_none()
    });
    let (code, comment) = line.split_at(start.unwrap_or(line.len()));
    (code.trim(), comment.trim_start_matches('#').trim())
}

/// Parses a type: `float64`, `string<=10[]`, `geometry_msgs/Point[<=3]`.
fn field_type(text: &str, package: &str) -> Result<FieldType, String> {
    let number = |digits: &str| {
        let number = digits.parse().ok().filter(|number| *number > 0);
        number.ok_or_else(|| format!("`{digits}` in `{text}` is not a length"))
    };
    let (base, container) = match text.strip_suffix(']').and_then(|t| t.rsplit_once('[')) {
        None => (text, Container::Single),
        Some((base, "")) => (base, Container::Sequence),
        Some((base, count)) => match count.strip_prefix("<=") {
            Some(most) => (base, Container::BoundedSequence(number(most)?)),
            None => (base, Container::Array(number(count)?)),
        },
    };
    let primitive = PRIMITIVES.iter().find(|primitive| primitive.name == base);
    let base = match (primitive, base.strip_prefix("string")) {
        (Some(primitive), _) => Base::Primitive(*primitive),
        (None, Some("")) => Base::String(None),
        (None, Some(bound)) if bound.starts_with("<=") => {
            Base::String(Some(number(bound.trim_start_matches("<="))?))
        }
        _ => {
            // A name without a package is that of a message in this one.
            let (package, name) = base.split_once('/').unwrap_or((package, base));
            if !is_type_name(name) || !is_field_name(package) {
                return Err(format!("unknown type `{base}`"));
            }
            Base::Message {
                package: package.to_owned(),
                name: name.to_owned(),
            }
        }
    };
    Ok(FieldType { base, container })
}

/// Returns whether `first` accepts the first character of `name`, and `others` all of them.
fn is_name(name: &str, first: fn(&char) -> bool, others: fn(char) -> bool) -> bool {
    name.chars().next().is_some_and(|c| first(&c)) && name.chars().all(others)
}

fn is_type_name(name: &str) -> bool {
    is_name(name, char::is_ascii_uppercase, |c| {
        c.is_ascii_alphanumeric()
    })
}

fn is_field_name(name: &str) -> bool {
    is_name(name, char::is_ascii_lowercase, |c| {
        c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'
    })
}

fn is_constant_name(name: &str) -> bool {
    is_name(name, char::is_ascii_uppercase, |c| {
        c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> Result<Part, Error> {
        let file = Path::new("p/msg/Test.msg");
        Definition::parse("p", Kind::Message, file, text.to_owned())
            .map(|mut definition| definition.parts.remove(0))
    }

    fn primitive(name: &str) -> Base {
        let found = PRIMITIVES.iter().find(|primitive| primitive.name == name);
        Base::Primitive(*found.expect("a primitive"))
    }

    #[test]
    fn fields_and_constants_are_read_with_their_comments() {
        let part = message(
            "# About it.\nuint8[3]  data # three\n              # of them\n# Not about it.\n\
             string<=10[<=4] names\nfloat64 w -1.5\nstring OK=\"a # b\" # fine\nother_msgs/Other o\nOwn[] own\n",
        )
        .expect("valid");
        let kind = |base, container| FieldType { base, container };
        let other = |package: &str, name: &str| Base::Message {
            package: package.into(),
            name: name.into(),
        };
        let expected = [
            (
                "data",
                kind(primitive("uint8"), Container::Array(3)),
                "three of them",
            ),
            (
                "names",
                kind(Base::String(Some(10)), Container::BoundedSequence(4)),
                "",
            ),
            ("w", kind(primitive("float64"), Container::Single), ""),
            (
                "o",
                kind(other("other_msgs", "Other"), Container::Single),
                "",
            ),
            ("own", kind(other("p", "Own"), Container::Sequence), ""),
        ];
        let fields: Vec<_> = part
            .fields
            .iter()
            .map(|f| (f.name.as_str(), f.kind.clone(), f.comment.as_str()))
            .collect();
        assert_eq!(fields, expected);
        assert_eq!(part.fields[0].declaration, "uint8[3]  data");
        assert_eq!(part.fields[2].default.as_deref(), Some("-1.5"));
        let [ok] = &part.constants[..] else {
            panic!("{:?}", part.constants)
        };
        assert_eq!((ok.name.as_str(), ok.value.as_str()), ("OK", "a # b"));
        assert_eq!(ok.comment, "fine");
    }

    #[test]
    fn faults_are_reported_with_their_line() {
        for (line, message_part) in [
            ("wstring a", "unknown type `wstring`"),
            ("float65 a", "unknown type `float65`"),
            ("string<10 a", "unknown type `string<10`"),
            ("uint8[0] a", "not a length"),
            ("uint8[x] a", "not a length"),
            ("uint8", "has no name"),
            ("uint8 A", "not a field"),
            ("uint8 a-b", "not a field"),
            ("uint8 a=1", "not a constant"),
            ("uint8[] A=1", "not a constant"),
            ("uint8 A=256", "not a value"),
            ("bool B=True", "not a value"),
            ("string S=bare", "not a value"),
            ("float64 F=nan", "not a value"),
            ("uint8[] a [1, 2]", "not supported"),
            ("int32 x", "declared twice"),
            ("---", "2 parts instead of 1"),
        ] {
            let error = message(&format!("int32 x\n{line}\n")).expect_err(line);
            assert_eq!(error.line, 2, "{line}");
            assert!(error.to_string().starts_with("p/msg/Test.msg:2: "));
            assert!(error.message.contains(message_part), "{line}: {error}");
        }
    }

    #[test]
    fn packages_are_read_in_order_of_names() {
        let folder = tempfile::tempdir().expect("a folder");
        for (file, text) in [
            ("msg/B.msg", "bool b"),
            ("msg/A.msg", ""),
            ("srv/S.srv", "---\nbool b"),
            ("msg/notes.txt", "not a definition"),
        ] {
            let file = folder.path().join(file);
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
            std::fs::write(file, text).expect("written");
        }
        let names = read_package("p", folder.path()).map(|definitions| {
            let parts = |d: &Definition| (d.name.clone(), d.parts.len());
            definitions.iter().map(parts).collect::<Vec<_>>()
        });
        assert_eq!(
            names,
            Ok(vec![("A".into(), 1), ("B".into(), 1), ("S".into(), 2)])
        );
        let bad = folder.path().join("msg/lower.msg");
        std::fs::write(&bad, "").expect("written");
        assert_eq!(
            read_package("p", folder.path()).map_err(|e| e.file),
            Err(bad)
        );
    }
}
