//! Generates Rust source text for the types of definitions.

use std::fmt::Write;

use crate::definition::{Base, Constant, Container, Definition, Field, FieldType, Kind, Part};

/// Numbers of `type_description_interfaces/msg/FieldType`: single values, and the offsets for
/// arrays and sequences of them.
const NESTED: u8 = 1;
const STRING: u8 = 17;
const BOUNDED_STRING: u8 = 21;
const ARRAY: u8 = 48;
const BOUNDED_SEQUENCE: u8 = 96;
const SEQUENCE: u8 = 144;

/// Keywords of Rust that are valid names of fields. An underscore is appended, as
/// `rosidl_generator_rs` does.
const KEYWORDS: [&str; 28] = [
    "abstract", "as", "async", "await", "box", "const", "dyn", "enum", "final", "fn", "gen",
    "impl", "in", "let", "loop", "match", "mod", "move", "mut", "override", "pub", "ref", "static",
    "trait", "type", "unsafe", "use", "where",
];

/// Path of the crate with the traits and the standard messages; it uses the same path for itself.
const ROS: &str = "::urdf_usd_ros";

/// Options of the generator for one package.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Whether the types contain the text of their definitions, for the service
    /// `get_type_description`.
    pub embeds_source: bool,
    /// Whether every ROS workspace has the package.
    ///
    /// If so, the features `r2r` and `rclrs` connect its types with those of the workspace; if not,
    /// the types are not messages under these features.
    pub is_in_every_workspace: bool,
}

/// A message or a half of a service, with its name in ROS.
struct Type<'a> {
    definition: &'a Definition,
    part: &'a Part,
    /// The name that rosidl uses: `Convert_Request`.
    ros_name: String,
}

impl<'a> Type<'a> {
    fn all(definitions: &'a [Definition]) -> impl Iterator<Item = Self> {
        definitions.iter().flat_map(|definition| {
            let suffixes: &[&str] = match definition.kind {
                Kind::Message => &[""],
                Kind::Service => &["_Request", "_Response"],
            };
            definition
                .parts
                .iter()
                .zip(suffixes)
                .map(|(part, suffix)| Self {
                    definition,
                    part,
                    ros_name: format!("{}{suffix}", definition.name),
                })
        })
    }

    /// Returns the name in Rust: `ConvertRequest`.
    fn rust_name(&self) -> String {
        self.ros_name.replace('_', "")
    }
}

/// Writes a Rust module with the types of a package.
///
/// The fields of a type decide whether it derives comparison and `Copy`: a message defined neither
/// in `definitions` nor in `others` derives neither.
pub fn rust(definitions: &[Definition], others: &[Definition], options: Options) -> String {
    let mut generator = Generator {
        known: definitions.iter().chain(others).collect(),
        options,
        text: String::new(),
    };
    for kind in Type::all(definitions) {
        // Writing to a string never fails.
        let _ = generator.structure(&kind);
    }
    for definition in definitions.iter().filter(|d| d.kind == Kind::Service) {
        let _ = generator.service(definition);
    }
    let _ = generator.list(definitions);
    if options.is_in_every_workspace {
        for name in bounded_messages(definitions) {
            let _ = generator.mirror_of_bounded(definitions, name);
        }
    }
    generator.text
}

/// Returns the messages of this package that occur in bounded sequences; rosidl generates only the
/// middleware's form of these.
fn bounded_messages(definitions: &[Definition]) -> Vec<&str> {
    let fields = Type::all(definitions).flat_map(|kind| &kind.part.fields);
    let mut names: Vec<&str> = fields
        .filter(|field| matches!(field.kind.container, Container::BoundedSequence(_)))
        .filter_map(|field| match &field.kind.base {
            Base::Message { name, .. } => Some(name.as_str()),
            _ => None,
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

struct Generator<'a> {
    known: Vec<&'a Definition>,
    options: Options,
    text: String,
}

impl Generator<'_> {
    fn structure(&mut self, kind: &Type<'_>) -> std::fmt::Result {
        let Definition {
            package,
            kind: file,
            ..
        } = kind.definition;
        let (ros, name) = (&kind.ros_name, kind.rust_name());
        let full = format!("{package}/{}/{ros}", file.extension());
        let has_defaults = kind.part.fields.iter().any(differs_from_zero);
        let derives = self.derives(kind.part, has_defaults);
        writeln!(
            self.text,
            "#[doc = \"`{full}`.\"]\n#[derive({derives})]\npub struct {name} {{"
        )?;
        for field in &kind.part.fields {
            let doc = doc(&field.declaration, &field.comment);
            let kind = self.rust_type(&field.kind, package);
            writeln!(self.text, "{doc}pub {}: {kind},", rust_field(&field.name))?;
        }
        if kind.part.fields.is_empty() {
            // As in rosidl: a struct in C needs a member.
            let doc = "#[doc = \"Always 0.\"]\n";
            writeln!(self.text, "{doc}pub {EMPTY}: u8,")?;
        }
        writeln!(self.text, "}}")?;
        if has_defaults {
            self.defaults(kind.part, &name)?;
        }
        if !kind.part.constants.is_empty() {
            writeln!(self.text, "impl {name} {{")?;
            for constant in &kind.part.constants {
                self.constant(constant)?;
            }
            writeln!(self.text, "}}")?;
        }
        let source = match file {
            Kind::Message => self.source(kind.definition),
            // The text belongs to the service, not to its halves.
            Kind::Service => "None".to_owned(),
        };
        let fields = self.described_fields(kind.part, package);
        writeln!(
            self.text,
            "impl {ROS}::msg::Interface for {name} {{ const TYPE: &'static {ROS}::types::Type = \
             &{ROS}::types::Type {{ name: {full:?}, fields: &[{fields}], source: {source} }}; }}",
        )?;
        let theirs = format!(
            "{ROS}::rclrs::ros_env::{package}::{}::{ros}",
            file.extension()
        );
        if *file == Kind::Message {
            let otherwise = self.rcl_gate();
            writeln!(
                self.text,
                "{otherwise}impl {ROS}::msg::Message for {name} \
                 {{ #[cfg(feature = \"rclrs\")] type Ros = {theirs}; }}",
            )?;
        }
        if self.options.is_in_every_workspace {
            self.mirror(kind.part, &name, &theirs)?;
        }
        Ok(())
    }

    /// Returns the traits to derive: types of fixed size are `Copy`, and compared as the numbers
    /// that they consist of.
    fn derives(&self, part: &Part, has_defaults: bool) -> String {
        let is_equal = self.all(part, |base| match base {
            Base::Primitive(primitive) => Some(!primitive.is_float()),
            Base::String(_) => Some(true),
            Base::Message { .. } => None,
        });
        let is_fixed = self.is_fixed(part);
        let mut derives = vec!["Clone", "Debug", "PartialEq"];
        derives.extend((!has_defaults).then_some("Default"));
        derives.extend(is_fixed.then_some("Copy"));
        derives.extend(is_equal.then_some("Eq"));
        derives.extend((is_equal && is_fixed).then_some("PartialOrd, Ord, Hash"));
        derives.extend(["::serde::Serialize", "::serde::Deserialize"]);
        derives.join(", ")
    }

    /// Returns whether all values have the same size, which excludes texts and sequences.
    fn is_fixed(&self, part: &Part) -> bool {
        let is_sequence = |field: &Field| {
            !matches!(
                field.kind.container,
                Container::Single | Container::Array(_)
            )
        };
        !part.fields.iter().any(is_sequence)
            && part.fields.iter().all(|field| match &field.kind.base {
                Base::Primitive(_) => true,
                Base::String(_) => false,
                Base::Message { package, name } => self
                    .find(package, name)
                    .is_some_and(|part| self.is_fixed(part)),
            })
    }

    /// Returns whether a property holds for all fields. If `holds` returns `None`, the field is a
    /// message, whose fields decide.
    fn all(&self, part: &Part, holds: fn(&Base) -> Option<bool>) -> bool {
        part.fields
            .iter()
            .all(|field| match (&field.kind.base, holds(&field.kind.base)) {
                (Base::Message { package, name }, None) => self
                    .find(package, name)
                    .is_some_and(|part| self.all(part, holds)),
                (_, known) => known.unwrap_or(false),
            })
    }

    fn find(&self, package: &str, name: &str) -> Option<&Part> {
        let is_it =
            |d: &&&Definition| d.kind == Kind::Message && d.package == package && d.name == name;
        self.known.iter().find(is_it)?.parts.first()
    }

    fn rust_type(&self, kind: &FieldType, package: &str) -> String {
        let base = match &kind.base {
            Base::Primitive(primitive) => primitive.rust.to_owned(),
            Base::String(_) => "::std::string::String".to_owned(),
            Base::Message {
                package: other,
                name,
            } => path(other, name, package),
        };
        match kind.container {
            Container::Single => base,
            Container::Array(length) => format!("[{base}; {length}]"),
            Container::Sequence | Container::BoundedSequence(_) => {
                format!("::std::vec::Vec<{base}>")
            }
        }
    }

    fn defaults(&mut self, part: &Part, name: &str) -> std::fmt::Result {
        let head = "-> Self { Self {";
        write!(
            self.text,
            "impl ::std::default::Default for {name} {{ fn default() {head}"
        )?;
        for field in &part.fields {
            let value = match &field.default {
                Some(value) => literal(&field.kind.base, value, true),
                None => "::std::default::Default::default()".to_owned(),
            };
            write!(self.text, "{}: {value},", rust_field(&field.name))?;
        }
        writeln!(self.text, "}} }} }}")
    }

    fn constant(&mut self, constant: &Constant) -> std::fmt::Result {
        let kind = match &constant.kind {
            Base::Primitive(primitive) => primitive.rust,
            _ => "&'static str",
        };
        let value = literal(&constant.kind, &constant.value, false);
        let doc = doc(&constant.declaration, &constant.comment);
        writeln!(
            self.text,
            "{doc}pub const {}: {kind} = {value};",
            constant.name
        )
    }

    /// Returns the fields as constants for type descriptions.
    fn described_fields(&self, part: &Part, package: &str) -> String {
        if part.fields.is_empty() {
            // 3 is the type `uint8`.
            return described_field(EMPTY, 3, 0, "None", "");
        }
        part.fields
            .iter()
            .map(
                |Field {
                     name,
                     kind,
                     default,
                     ..
                 }| {
                    let (base, bound, nested) = match &kind.base {
                        Base::Primitive(primitive) => (primitive.type_id, 0, "None".to_owned()),
                        Base::String(None) => (STRING, 0, "None".to_owned()),
                        Base::String(Some(bound)) => (BOUNDED_STRING, *bound, "None".to_owned()),
                        Base::Message {
                            package: other,
                            name,
                        } => (NESTED, 0, described(&path(other, name, package))),
                    };
                    let (plus, capacity) = match kind.container {
                        Container::Single => (0, 0),
                        Container::Array(length) => (ARRAY, length),
                        Container::Sequence => (SEQUENCE, 0),
                        Container::BoundedSequence(most) => (BOUNDED_SEQUENCE, most),
                    };
                    let default = default.as_deref().map(|value| python(&kind.base, value));
                    let default = default.unwrap_or_default();
                    let field = described_field(name, base + plus, capacity, &nested, &default);
                    field.replace("string_capacity: 0", &format!("string_capacity: {bound}"))
                },
            )
            .collect()
    }

    fn service(&mut self, definition: &Definition) -> std::fmt::Result {
        let Definition { package, name, .. } = definition;
        let full = format!("{package}/srv/{name}");
        let [request, response] =
            ["Request", "Response"].map(|half| described(&format!("{name}{half}")));
        let info = described(&path("service_msgs", "ServiceEventInfo", package));
        // The type that rosidl adds for service introspection.
        let event: String = [
            described_field("info", NESTED, 0, &info, ""),
            described_field("request", NESTED + BOUNDED_SEQUENCE, 1, &request, ""),
            described_field("response", NESTED + BOUNDED_SEQUENCE, 1, &response, ""),
        ]
        .concat();
        let event = format!(
            "Some(&{ROS}::types::Type {{ name: \"{full}_Event\", fields: &[{event}], source: None }})"
        );
        let fields: String = [
            ("request", request),
            ("response", response),
            ("event", event),
        ]
        .map(|(half, nested)| described_field(&format!("{half}_message"), NESTED, 0, &nested, ""))
        .concat();
        let source = self.source(definition);
        let otherwise = self.rcl_gate();
        writeln!(
            self.text,
            "#[doc = \"`{full}`.\"]\n#[derive(Clone, Copy, Debug)]\npub struct {name};\n\
             impl {ROS}::msg::Interface for {name} {{ const TYPE: &'static {ROS}::types::Type = \
             &{ROS}::types::Type {{ name: {full:?}, fields: &[{fields}], source: {source} }}; }}\n\
             {otherwise}impl {ROS}::msg::Service for {name} {{\n\
             #[cfg(feature = \"r2r\")] type R2r = {ROS}::r2r::bindings::{package}::srv::{name}::Service;\n\
             #[cfg(feature = \"rclrs\")] type Ros = {ROS}::rclrs::ros_env::{package}::srv::{name};\n\
             type Request = {name}Request;\ntype Response = {name}Response;\n}}",
        )
    }

    /// Lists the messages and services of the package.
    fn list(&mut self, definitions: &[Definition]) -> std::fmt::Result {
        let types: String = definitions
            .iter()
            .map(|d| format!("<{} as {ROS}::msg::Interface>::TYPE,", d.name))
            .collect();
        writeln!(
            self.text,
            "#[doc = \"All messages and services of the package.\"]\n\
             pub const INTERFACES: &[&{ROS}::types::Type] = &[{types}];",
        )
    }

    fn source(&self, definition: &Definition) -> String {
        if self.options.embeds_source {
            format!("Some({:?})", definition.text)
        } else {
            "None".to_owned()
        }
    }

    fn rcl_gate(&self) -> &'static str {
        if self.options.is_in_every_workspace {
            ""
        } else {
            "#[cfg(not(feature = \"rcl\"))]\n"
        }
    }

    /// Generates a conversion field by field, so that the compiler reports differences between the
    /// definitions.
    fn mirror(&mut self, part: &Part, ours: &str, theirs: &str) -> std::fmt::Result {
        let mirror = format!("{ROS}::rclrs::wire::Mirror");
        let empty = (part.fields.is_empty()).then(|| EMPTY.to_owned());
        let names = || {
            part.fields
                .iter()
                .map(|f| rust_field(&f.name))
                .chain(empty.clone())
        };
        let from: String = names()
            .map(|name| format!("{name}: {mirror}::from_ours(ours.{name}),"))
            .collect();
        let into: String = names()
            .map(|name| format!("{name}: {mirror}::into_ours(self.{name}),"))
            .collect();
        writeln!(
            self.text,
            "#[cfg(feature = \"rclrs\")]\nimpl {mirror}<{ours}> for {theirs} {{\n\
             fn from_ours(ours: {ours}) -> Self {{ Self {{ {from} }} }}\n\
             fn into_ours(self) -> {ours} {{ {ours} {{ {into} }} }}\n}}",
        )
    }

    fn mirror_of_bounded(&mut self, definitions: &[Definition], name: &str) -> std::fmt::Result {
        let messages = Type::all(definitions).filter(|kind| kind.ros_name == name);
        for kind in messages {
            let package = &kind.definition.package;
            let theirs = format!("{ROS}::rclrs::ros_env::{package}::msg::rmw::{name}");
            self.mirror(kind.part, name, &theirs)?;
        }
        Ok(())
    }
}

/// Name of the member that rosidl adds to a message without fields.
const EMPTY: &str = "structure_needs_at_least_one_member";

/// Returns the path to a message from a module of package `from`.
fn path(package: &str, name: &str, from: &str) -> String {
    if package == from {
        name.to_owned()
    } else {
        format!("{ROS}::msg::{package}::{name}")
    }
}

/// Returns the expression for the description of a type.
fn described(path: &str) -> String {
    format!("Some(<{path} as {ROS}::msg::Interface>::TYPE)")
}

fn described_field(name: &str, type_id: u8, capacity: u64, nested: &str, default: &str) -> String {
    format!(
        "{ROS}::types::Field {{ name: {name:?}, kind: {ROS}::types::FieldType {{ type_id: {type_id}, \
         capacity: {capacity}, string_capacity: 0, nested: {nested} }}, default: {default:?} }},"
    )
}

fn doc(declaration: &str, comment: &str) -> String {
    let text = if comment.is_empty() {
        format!("`{declaration}`.")
    } else {
        format!("`{declaration}`: {comment}.")
    };
    format!("#[doc = {text:?}]\n")
}

fn rust_field(name: &str) -> String {
    if KEYWORDS.contains(&name) {
        format!("{name}_")
    } else {
        name.to_owned()
    }
}

/// Returns whether a field has a default other than zero, `false` or the empty text.
fn differs_from_zero(field: &Field) -> bool {
    field
        .default
        .as_deref()
        .is_some_and(|value| !match &field.kind.base {
            Base::Primitive(_) => value == "false" || value.parse() == Ok(0.0),
            _ => value.is_empty(),
        })
}

/// Returns a literal in Rust.
fn literal(kind: &Base, value: &str, is_owned: bool) -> String {
    match kind {
        Base::Primitive(primitive) if primitive.is_float() => float(value),
        Base::String(_) if is_owned => format!("::std::string::String::from({value:?})"),
        Base::String(_) => format!("{value:?}"),
        _ => value.to_owned(),
    }
}

/// Returns a literal in Python, in which rosidl describes defaults.
fn python(kind: &Base, value: &str) -> String {
    match (kind, value) {
        (Base::Primitive(primitive), _) if primitive.is_float() => float(value),
        (Base::Primitive(_), "true") => "True".to_owned(),
        (Base::Primitive(_), "false") => "False".to_owned(),
        _ => value.to_owned(),
    }
}

/// Returns a number with a decimal point or an exponent.
fn float(value: &str) -> String {
    let number = value.parse::<f64>().unwrap_or_default();
    format!("{number:?}")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn generated(kind: Kind, text: &str, options: Options) -> String {
        let definition = Definition::parse("p", kind, Path::new("It.msg"), text.to_owned());
        rust(&[definition.expect("valid")], &[], options)
    }

    #[test]
    fn fields_constants_and_defaults_are_written() {
        let text =
            "uint8 type\nstring<=5[] names # some\nfloat64 w 1\nstring OK='ok'\nother/Unknown o";
        let code = generated(Kind::Message, text, Options::default());
        for part in [
            "#[derive(Clone, Debug, PartialEq, ::serde::Serialize, ::serde::Deserialize)]\npub struct It {",
            "#[doc = \"`uint8 type`.\"]\npub type_: u8,",
            "#[doc = \"`string<=5[] names`: some.\"]\npub names: ::std::vec::Vec<::std::string::String>,",
            "pub o: ::urdf_usd_ros::msg::other::Unknown,",
            "w: 1.0,",
            "pub const OK: &'static str = \"ok\";",
            "name: \"names\", kind: ::urdf_usd_ros::types::FieldType { type_id: 165, capacity: 0, string_capacity: 5,",
            "default: \"1.0\"",
        ] {
            assert!(code.contains(part), "{part}\n{code}");
        }
        assert!(!code.contains("Mirror"), "{code}");
    }

    #[test]
    fn messages_of_numbers_are_copied_and_ordered() {
        let code = generated(
            Kind::Message,
            "int32[2] a\nbool b false",
            Options::default(),
        );
        assert!(
            code.contains("Default, Copy, Eq, PartialOrd, Ord, Hash"),
            "{code}"
        );
        let code = generated(Kind::Message, "float32 a", Options::default());
        assert!(code.contains("Default, Copy, ::serde"), "{code}");
    }

    #[test]
    fn an_empty_half_of_a_service_has_the_member_that_rosidl_adds() {
        let options = Options {
            embeds_source: true,
            is_in_every_workspace: true,
        };
        let code = generated(Kind::Service, "---\nbool ok\n", options);
        for part in [
            "pub struct ItRequest {\n#[doc = \"Always 0.\"]\npub structure_needs_at_least_one_member: u8,",
            "name: \"structure_needs_at_least_one_member\", kind: ::urdf_usd_ros::types::FieldType { type_id: 3,",
            "source: Some(\"---\\nbool ok\\n\")",
            "::Mirror<ItResponse> for ::urdf_usd_ros::rclrs::ros_env::p::srv::It_Response {",
            "#[cfg(feature = \"r2r\")] type R2r = ::urdf_usd_ros::r2r::bindings::p::srv::It::Service;",
            "pub struct It;",
        ] {
            assert!(code.contains(part), "{part}\n{code}");
        }
    }
}
