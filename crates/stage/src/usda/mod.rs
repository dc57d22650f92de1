//! Reads the text of a layer (`.usda`) into `openusd`'s container of specs.
//!
//! `openusd` 0.8.0 has a parser of its own, which refuses layers that OpenUSD 26.11 opens (`.5`,
//! `//` comments, `#usda 1.1`, names beyond ASCII), and recurses as deep as the text is nested.
//! The grammar here is that of OpenUSD's `textFileFormat.yy` (24.08), held against `usd-core`
//! 26.11 by `test/usd/test_text.py`: what one opens the other opens, with the same content.
//!
//! It must not know files, composition or robots.

mod lexer;
mod metadata;
mod path;
mod property;
mod spline;
mod value;

use std::collections::HashMap;
use std::io::Cursor;

use openusd::sdf::schema::{ChildrenKey, FieldKey};
use openusd::sdf::{self, SpecData, SpecType, Value, ValueTypeName};
use openusd::usdc::CrateWriter;

use super::DEEPEST;
use super::layer::is_list_of_specs;
use super::shallow::MAX_LAYER_BLOCKS;
use super::shared::MIN_LAZY_BYTES;
use super::value::array_len;
use lexer::{Lexer, Token, is_identifier};

/// The position of an error in the text of a layer, and what is wrong there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct TextError {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// What is wrong, and what was expected.
    pub message: String,
}

/// An error at a byte offset.
struct Fault {
    at: usize,
    message: String,
}

impl Fault {
    fn new(at: usize, message: impl Into<String>) -> Self {
        Self {
            at,
            message: message.into(),
        }
    }
}

type Parsed<T> = Result<T, Fault>;

/// Parses the text of a layer.
///
/// # Errors
/// The first place that OpenUSD's grammar does not allow, and text that is nested deeper than
/// [`DEEPEST`].
pub fn parse(text: &[u8]) -> Result<sdf::Data, TextError> {
    specs(text).map(sdf::Data::from_specs)
}

/// As [`parse`], the specs by path.
fn specs(text: &[u8]) -> Result<HashMap<sdf::Path, SpecData>, TextError> {
    let readable = match str::from_utf8(text) {
        Ok(text) => text,
        Err(error) => {
            let before = text.get(..error.valid_up_to()).unwrap_or_default();
            let before = String::from_utf8_lossy(before);
            return Err(locate(
                &before,
                Fault::new(
                    before.len(),
                    "this byte is not UTF-8: save the file as UTF-8",
                ),
            ));
        }
    };
    let parsed = Parser::new(readable).and_then(|mut parser| {
        parser.layer()?;
        Ok(parser.specs)
    });
    parsed.map_err(|fault| locate(readable, fault))
}

/// Maximum number of time samples of an attribute in a layer that is kept as it was parsed.
const MAX_LIGHT_SAMPLES: usize = 256;

/// Maximum nesting of dictionaries in such a layer.
const MAX_LIGHT_DEPTH: usize = 16;

/// A text layer.
pub(super) enum ParsedLayer {
    /// Without large values, with the number of its specs.
    Light(sdf::Data, usize),
    /// In the binary encoding.
    Encoded(Vec<u8>),
}

/// Parses the text of a layer, and encodes one with large values, or with more than `max_specs` specs.
///
/// # Errors
/// As [`encode`].
pub(super) fn parse_or_encode(text: &[u8], max_specs: usize) -> Result<ParsedLayer, EncodeError> {
    let specs = specs(text)?;
    let count = specs.len();
    let is_light = count <= max_specs && specs.values().all(is_light);
    let data = sdf::Data::from_specs(specs);
    Ok(match is_light {
        true => ParsedLayer::Light(data, count),
        false => ParsedLayer::Encoded(write(data)?),
    })
}

/// Returns whether a spec has no large values.
fn is_light(spec: &SpecData) -> bool {
    let mut fields = spec.fields.iter();
    fields.all(|(key, value)| is_list_of_specs(key) || is_small(value, 0))
}

fn is_small(value: &Value, depth: usize) -> bool {
    match value {
        Value::Dictionary(entries) => {
            depth < MAX_LIGHT_DEPTH && entries.values().all(|entry| is_small(entry, depth + 1))
        }
        Value::TimeSamples(samples) => {
            samples.len() <= MAX_LIGHT_SAMPLES
                && samples.iter().all(|(_, sample)| is_small(sample, depth))
        }
        // Larger arrays are decoded from the binary encoding at the first access, once for all attributes that
        // share them.
        value => array_len(value).is_none_or(|len| len * element_bytes(value) < MIN_LAZY_BYTES),
    }
}

/// Returns the size of an element of an array, or more.
fn element_bytes(array: &Value) -> usize {
    match array {
        Value::IntVec(_) | Value::UintVec(_) | Value::FloatVec(_) => 4,
        Value::Matrix3dVec(_) => 72,
        Value::Matrix4dVec(_) => 128,
        _ => 32,
    }
}

/// The reason why the text of a layer can't be had in the binary encoding.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    /// It is not the text of a layer.
    #[error(transparent)]
    Text(#[from] TextError),
    /// `openusd` can't write what is in it: dictionaries that are nested more than 32 deep.
    #[error(transparent)]
    Format(#[from] sdf::FormatError),
}

/// The first field of a layer that [`write`] writes.
///
/// The binary encoding marks the names of properties by negative indices into its table of tokens,
/// so that the first token can't be one. OpenUSD puts this token first; `openusd` 0.8.0 does not,
/// and makes prims of properties that have the name of the first prim.
pub(super) const FIRST_TOKEN: &str = ";-)";

/// Parses the text of a layer and returns it in the binary encoding.
///
/// # Errors
/// Those of [`parse`], and dictionaries that are nested too deeply to be written.
pub fn encode(text: &[u8]) -> Result<Vec<u8>, EncodeError> {
    Ok(write(parse(text)?)?)
}

/// Writes a layer in the binary encoding.
pub(super) fn write(mut data: sdf::Data) -> Result<Vec<u8>, sdf::FormatError> {
    if let Some(root) = data.spec_mut(&sdf::Path::abs_root()) {
        let first = (FIRST_TOKEN.to_owned(), Value::Bool(false));
        root.fields.insert(0, first);
    }
    let mut bytes = Cursor::new(Vec::new());
    CrateWriter::write(&data, &mut bytes)?;
    Ok(bytes.into_inner())
}

/// Returns the paths of the prims, variants and properties of a layer with the byte offsets of
/// their names, in order, up to the first fault.
pub fn positions(text: &str) -> Vec<(String, usize)> {
    let Ok(mut parser) = Parser::new(text) else {
        return Vec::new();
    };
    parser.positions = Some(Vec::new());
    // A fault ends the list early.
    let _ = parser.layer();
    parser.positions.unwrap_or_default()
}

/// Returns the path under which [`positions`] has the relocate of a prim.
pub fn relocate_place(source: &str) -> String {
    format!("<{source}>")
}

/// Counts the lines and columns before a fault.
fn locate(text: &str, fault: Fault) -> TextError {
    let before = text.get(..fault.at.min(text.len())).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    let count = |count: usize| u32::try_from(count + 1).unwrap_or(u32::MAX);
    TextError {
        line: count(before.matches('\n').count()),
        column: count(before.get(line_start..).unwrap_or_default().chars().count()),
        message: fault.message,
    }
}

/// What a keyword before a list says about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ListEdit {
    Explicit,
    Add,
    Prepend,
    Append,
    Delete,
    Reorder,
}

impl ListEdit {
    /// Returns the operation of one list.
    fn apply<T: Default + Clone + PartialEq>(self, items: Vec<T>) -> sdf::ListOp<T> {
        let mut edit = sdf::ListOp {
            explicit: self == Self::Explicit,
            ..sdf::ListOp::default()
        };
        *match self {
            Self::Explicit => &mut edit.explicit_items,
            Self::Add => &mut edit.added_items,
            Self::Prepend => &mut edit.prepended_items,
            Self::Append => &mut edit.appended_items,
            Self::Delete => &mut edit.deleted_items,
            Self::Reorder => &mut edit.ordered_items,
        } = items;
        edit
    }
}

/// Words that are no type names, because statements begin with them or contain them.
const KEYWORDS: [&str; 56] = [
    "add",
    "AnimationBlock",
    "append",
    "bezier",
    "class",
    "config",
    "connect",
    "curve",
    "custom",
    "customData",
    "default",
    "def",
    "delete",
    "dictionary",
    "displayUnit",
    "doc",
    "held",
    "hermite",
    "inherits",
    "kind",
    "linear",
    "loop",
    "nameChildren",
    "None",
    "none",
    "offset",
    "oscillate",
    "over",
    "payload",
    "permission",
    "post",
    "pre",
    "prefixSubstitutions",
    "prepend",
    "properties",
    "references",
    "relocates",
    "rel",
    "reorder",
    "repeat",
    "reset",
    "rootPrims",
    "scale",
    "sloped",
    "spline",
    "subLayers",
    "suffixSubstitutions",
    "specializes",
    "symmetryArguments",
    "symmetryFunction",
    "timeSamples",
    "uniform",
    "variantSet",
    "variantSets",
    "variants",
    "varying",
];

/// What the body of a prim or variant declares, in order.
#[derive(Default)]
struct Body {
    children: Vec<String>,
    properties: Vec<String>,
    variant_sets: Vec<String>,
}

impl Body {
    fn store(self, spec: &mut SpecData) {
        for (key, names) in [
            (ChildrenKey::PrimChildren, self.children),
            (ChildrenKey::PropertyChildren, self.properties),
            (ChildrenKey::VariantSetChildren, self.variant_sets),
        ] {
            if !names.is_empty() {
                spec.add(key, Value::token_vec(names));
            }
        }
    }
}

/// A recursive descent parser with one token of lookahead.
struct Parser<'a> {
    lexer: Lexer<'a>,
    token: Token<'a>,
    /// Byte offset that the token starts at.
    start: usize,
    /// Byte offset after the token before.
    last_end: usize,
    /// Number of open braces, brackets and parentheses that recursion is in.
    depth: usize,
    /// Number of bodies, dictionaries and lists within lists so far.
    blocks: usize,
    specs: HashMap<sdf::Path, SpecData>,
    /// Paths and the offsets of their names, if they are wanted.
    positions: Option<Vec<(String, usize)>>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Parsed<Self> {
        let mut parser = Self {
            lexer: Lexer::new(text, header(text)?),
            token: Token::End,
            start: 0,
            last_end: 0,
            depth: 0,
            blocks: 0,
            positions: None,
            specs: HashMap::new(),
        };
        parser.advance()?;
        Ok(parser)
    }

    /// Adds a spec without room for more fields: layers have millions.
    fn insert(&mut self, path: sdf::Path, mut spec: SpecData) {
        spec.fields.shrink_to_fit();
        self.specs.insert(path, spec);
    }

    fn token(&self) -> &Token<'a> {
        &self.token
    }

    fn start(&self) -> usize {
        self.start
    }

    /// Returns the byte offset after the current token.
    fn end(&self) -> usize {
        self.lexer.offset()
    }

    fn slice(&self, start: usize, end: usize) -> &'a str {
        self.lexer.slice(start, end)
    }

    fn fault(&self, message: impl Into<String>) -> Fault {
        Fault::new(self.start, message)
    }

    fn fault_at(&self, at: usize, message: impl Into<String>) -> Fault {
        Fault::new(at, message)
    }

    fn expected(&self, what: &str) -> Fault {
        self.fault(format!("expected {what}, found {}", self.token.describe()))
    }

    fn advance(&mut self) -> Parsed<()> {
        self.last_end = self.lexer.offset();
        (self.start, self.token) = self.lexer.next()?;
        Ok(())
    }

    /// Checks that a space is before the token; comments alone are not enough.
    fn expect_space(&self) -> Parsed<()> {
        let gap = self.slice(self.last_end, self.start);
        let blanks = [' ', '\t'];
        // A block comment ends at its first mark, so that a blank after one is between two comments.
        let is_between = ["*/ ", "*/\t"].iter().any(|end| gap.contains(end));
        match gap.starts_with(blanks) || gap.ends_with(blanks) || is_between {
            true => Ok(()),
            false => Err(self.expected("a space")),
        }
    }

    fn eat(&mut self, mark: u8) -> Parsed<bool> {
        let is_there = self.token == Token::Mark(mark);
        if is_there {
            self.advance()?;
        }
        Ok(is_there)
    }

    fn expect(&mut self, mark: u8) -> Parsed<()> {
        match self.eat(mark)? {
            true => Ok(()),
            false => Err(self.expected(&format!("`{}`", char::from(mark)))),
        }
    }

    fn eat_word(&mut self, word: &str) -> Parsed<bool> {
        let is_there = self.token == Token::Word(word);
        if is_there {
            self.advance()?;
        }
        Ok(is_there)
    }

    fn eat_newline(&mut self) -> Parsed<bool> {
        let is_there = self.token == Token::Newline;
        if is_there {
            self.advance()?;
        }
        Ok(is_there)
    }

    fn string(&mut self) -> Parsed<String> {
        let Token::String(string) = &self.token else {
            return Err(self.expected("a string in quotation marks"));
        };
        let string = string.clone().into_owned();
        self.advance()?;
        Ok(string)
    }

    /// Does `work` one level deeper.
    fn nested<T>(&mut self, work: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= DEEPEST {
            return Err(self.fault(format!("the text is nested more than {DEEPEST} deep")));
        }
        self.blocks += 1;
        if self.blocks > MAX_LAYER_BLOCKS {
            let message = format!(
                "the layer has more than {MAX_LAYER_BLOCKS} prims, variants and dictionaries"
            );
            return Err(self.fault(message));
        }
        self.depth += 1;
        let done = work(self);
        self.depth -= 1;
        done
    }

    /// Reads a list with commas between its items; one may follow the last.
    fn list(
        &mut self,
        open: u8,
        close: u8,
        mut item: impl FnMut(&mut Self) -> Parsed<()>,
    ) -> Parsed<()> {
        self.expect(open)?;
        self.eat_newline()?;
        while !self.eat(close)? {
            item(self)?;
            let has_comma = self.eat(b',')?;
            self.eat_newline()?;
            if !has_comma {
                return self.expect(close);
            }
        }
        Ok(())
    }

    /// Reads a list without a comma after its last item.
    fn strict_list(
        &mut self,
        open: u8,
        close: u8,
        mut item: impl FnMut(&mut Self) -> Parsed<()>,
    ) -> Parsed<()> {
        self.expect(open)?;
        self.eat_newline()?;
        loop {
            item(self)?;
            if !self.eat(b',')? {
                self.eat_newline()?;
                return self.expect(close);
            }
            self.eat_newline()?;
        }
    }

    /// Reads one item without brackets, a list of items, or `None`.
    fn one_or_list(&mut self, mut item: impl FnMut(&mut Self) -> Parsed<()>) -> Parsed<()> {
        if self.eat_word("None")? {
            return Ok(());
        }
        match self.token {
            Token::Mark(b'[') => self.list(b'[', b']', item),
            _ => item(self),
        }
    }

    /// Reads statements that line ends or semicolons separate.
    fn statements(
        &mut self,
        open: u8,
        close: u8,
        mut statement: impl FnMut(&mut Self) -> Parsed<()>,
    ) -> Parsed<()> {
        self.expect(open)?;
        self.eat_newline()?;
        while !self.eat(close)? {
            statement(self)?;
            if !self.separator()? {
                return self.expect(close);
            }
        }
        Ok(())
    }

    fn separator(&mut self) -> Parsed<bool> {
        let has_semicolon = self.eat(b';')?;
        Ok(self.eat_newline()? || has_semicolon)
    }

    /// Reads the operation of a list, if one is named.
    fn list_edit(&mut self) -> Parsed<ListEdit> {
        let edit = match self.token {
            Token::Word("add") => ListEdit::Add,
            Token::Word("prepend") => ListEdit::Prepend,
            Token::Word("append") => ListEdit::Append,
            Token::Word("delete") => ListEdit::Delete,
            Token::Word("reorder") => ListEdit::Reorder,
            _ => return Ok(ListEdit::Explicit),
        };
        self.advance()?;
        Ok(edit)
    }

    /// Reads the name of a type, which is no keyword.
    fn identifier(&mut self, what: &str) -> Parsed<&'a str> {
        match self.token {
            Token::Word(word) if !KEYWORDS.contains(&word) => {
                self.advance()?;
                Ok(word)
            }
            Token::Scoped(word) => {
                self.advance()?;
                Ok(word)
            }
            _ => Err(self.expected(what)),
        }
    }

    fn type_name(&mut self) -> Parsed<ValueTypeName> {
        let base = self.identifier("a type")?;
        if !self.eat(b'[')? {
            return Ok(ValueTypeName::from(base));
        }
        self.expect(b']')?;
        Ok(ValueTypeName::from(format!("{base}[]")))
    }

    /// Reads the names that `reorder` puts in order, or that `variantSets` lists.
    fn names(&mut self) -> Parsed<Vec<String>> {
        let mut names = Vec::new();
        self.one_or_list(|parser| {
            names.push(parser.string()?);
            Ok(())
        })?;
        Ok(names)
    }

    /// Reads the whole layer.
    fn layer(&mut self) -> Parsed<()> {
        let root = sdf::Path::abs_root();
        let mut spec = SpecData::new(SpecType::PseudoRoot);
        self.eat_newline()?;
        if self.token == Token::Mark(b'(') {
            self.statements(b'(', b')', |parser| parser.layer_metadata(&mut spec))?;
            self.eat_newline()?;
        }
        let mut body = Body::default();
        while self.token != Token::End {
            if self.eat_word("reorder")? {
                match self.eat_word("rootPrims")? {
                    true => self.order(&mut spec, FieldKey::PrimOrder)?,
                    false => return Err(self.expected("`rootPrims`")),
                }
            } else {
                self.prim(&root, &mut body.children)?;
            }
            if !self.eat_newline()? && self.token != Token::End {
                return Err(self.expected("the end of the line"));
            }
        }
        body.store(&mut spec);
        self.specs.insert(root, spec);
        Ok(())
    }

    /// Notes the place of a name.
    fn note(&mut self, path: &sdf::Path, offset: usize) {
        if let Some(positions) = &mut self.positions {
            positions.push((path.as_str().to_owned(), offset));
        }
    }

    /// Reads the rest of a `reorder` statement.
    fn order(&mut self, spec: &mut SpecData, key: FieldKey) -> Parsed<()> {
        self.expect(b'=')?;
        let names = self.names()?;
        spec.add(key, Value::token_vec(names));
        Ok(())
    }

    fn prim(&mut self, parent: &sdf::Path, siblings: &mut Vec<String>) -> Parsed<()> {
        let specifier = match self.token {
            Token::Word("def") => sdf::Specifier::Def,
            Token::Word("over") => sdf::Specifier::Over,
            Token::Word("class") => sdf::Specifier::Class,
            _ => return Err(self.expected("`def`, `over` or `class`")),
        };
        self.advance()?;
        let mut type_name = String::new();
        while !matches!(self.token, Token::String(_)) {
            type_name += self.identifier("the prim's type, or its name in quotation marks")?;
            if !self.eat(b'.')? {
                break;
            }
            type_name.push('.');
        }
        let start = self.start;
        self.expect_space()?;
        let name = self.string()?;
        if !is_identifier(&name) {
            let message = format!(
                "`{name}` is not a valid prim name: use letters, digits and `_`, not a digit first"
            );
            return Err(self.fault_at(start, message));
        }
        let path = parent
            .append_path(name.as_str())
            .map_err(|error| self.fault_at(start, error.to_string()))?;
        if self.specs.contains_key(&path) {
            return Err(self.fault_at(start, format!("{path} is already defined in this layer")));
        }
        let mut spec = SpecData::new(SpecType::Prim);
        spec.add(FieldKey::Specifier, Value::Specifier(specifier));
        if !type_name.is_empty() {
            spec.add(FieldKey::TypeName, Value::token(type_name));
        }
        self.note(&path, start);
        // Reserves the path, so that a prim within can't have it.
        self.specs
            .insert(path.clone(), SpecData::new(SpecType::Prim));
        self.prim_rest(&path, spec)?;
        siblings.push(name);
        Ok(())
    }

    /// Reads the metadata and the body of a prim or variant, and stores it.
    fn prim_rest(&mut self, path: &sdf::Path, mut spec: SpecData) -> Parsed<()> {
        self.eat_newline()?;
        if self.token == Token::Mark(b'(') {
            self.statements(b'(', b')', |parser| parser.prim_metadata(path, &mut spec))?;
            self.eat_newline()?;
        }
        let mut body = Body::default();
        self.nested(|parser| parser.body(path, &mut spec, &mut body))?;
        body.store(&mut spec);
        self.insert(path.clone(), spec);
        Ok(())
    }

    fn body(&mut self, path: &sdf::Path, spec: &mut SpecData, body: &mut Body) -> Parsed<()> {
        self.expect(b'{')?;
        self.eat_newline()?;
        while !self.eat(b'}')? {
            let is_block = match self.token {
                Token::Word("def" | "over" | "class") => {
                    self.prim(path, &mut body.children)?;
                    true
                }
                Token::Word("variantSet") => {
                    self.variant_set(path, &mut body.variant_sets)?;
                    true
                }
                _ => {
                    self.statement(path, spec, &mut body.properties)?;
                    false
                }
            };
            let is_separated = match is_block {
                true => self.eat_newline()?,
                false => self.separator()?,
            };
            if !is_separated {
                return Err(self.expected(match is_block {
                    true => "the end of the line",
                    false => "the end of the line or `;`",
                }));
            }
        }
        Ok(())
    }

    /// Reads a property or a `reorder` statement.
    fn statement(
        &mut self,
        path: &sdf::Path,
        spec: &mut SpecData,
        properties: &mut Vec<String>,
    ) -> Parsed<()> {
        let edit = self.list_edit()?;
        if edit == ListEdit::Reorder {
            if self.eat_word("nameChildren")? {
                return self.order(spec, FieldKey::PrimOrder);
            }
            if self.eat_word("properties")? {
                return self.order(spec, FieldKey::PropertyOrder);
            }
        }
        self.property(path, edit, properties)
    }

    fn variant_set(&mut self, prim: &sdf::Path, sets: &mut Vec<String>) -> Parsed<()> {
        self.advance()?;
        let set = self.variant_name()?;
        self.expect(b'=')?;
        self.eat_newline()?;
        self.expect(b'{')?;
        self.eat_newline()?;
        let mut variants = Vec::new();
        loop {
            let start = self.start;
            let variant = self.variant_name()?;
            let path = prim
                .append_variant_selection(&set, &variant)
                .map_err(|error| self.fault_at(start, error.to_string()))?;
            self.note(&path, start);
            if !self.specs.contains_key(&path) {
                variants.push(variant);
            }
            self.prim_rest(&path, SpecData::new(SpecType::Variant))?;
            self.eat_newline()?;
            if self.eat(b'}')? {
                break;
            }
        }
        let path = prim
            .append_variant_selection(&set, "")
            .map_err(|error| self.fault(error.to_string()))?;
        let mut spec = SpecData::new(SpecType::VariantSet);
        spec.add(ChildrenKey::VariantChildren, Value::token_vec(variants));
        if self.specs.insert(path, spec).is_none() {
            sets.push(set);
        }
        Ok(())
    }

    /// Reads the name of a variant or of a set of variants.
    fn variant_name(&mut self) -> Parsed<String> {
        let start = self.start;
        let name = self.string()?;
        // OpenUSD refuses `.`, which `openusd` allows.
        let is_valid = !name.contains('.') && sdf::Path::is_valid_variant_identifier(&name);
        match is_valid && !name.is_empty() {
            true => Ok(name),
            false => Err(self.fault_at(start, format!("`{name}` is not a valid variant name"))),
        }
    }
}

/// What is wrong with text that is no layer.
pub(super) const NO_HEADER: &str = "a text layer begins with the line `#usda 1.0`";

/// Checks the first line, `#usda 1.0`, and returns the byte offset of its end. OpenUSD 26.11 reads
/// every version 1, and ignores what follows it on the line.
fn header(text: &str) -> Parsed<usize> {
    let length = text.find('\n').unwrap_or(text.len());
    let line = text
        .get(..length)
        .unwrap_or_default()
        .trim_end_matches('\r');
    let Some(version) = line.strip_prefix("#usda ") else {
        return Err(Fault::new(0, NO_HEADER));
    };
    let version = version.split([' ', '\t']).find(|word| !word.is_empty());
    let version = version.unwrap_or_default();
    let parts: Vec<_> = version.split('.').map(str::parse::<u32>).collect();
    match parts[..] {
        [Ok(1), Ok(_)] | [Ok(1), Ok(_), Ok(_)] => Ok(length),
        _ => {
            let message = format!(
                "version `{}` of the text format is not known: versions 1.0 to 1.x are",
                version.escape_debug()
            );
            Err(Fault::new(0, message))
        }
    }
}
