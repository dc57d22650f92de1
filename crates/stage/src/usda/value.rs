//! Reads values of a declared type, dictionaries, and values of types that nobody declared.

use std::collections::HashMap;

use openusd::gf::{self, f16};
use openusd::sdf::{self, Value, ValueKind, ValueTypeName};
use openusd::tf;

use super::lexer::{Number, Token};
use super::{KEYWORDS, Parsed, Parser};

/// A value that an attribute or an element of its array can have.
trait Element: Sized {
    fn read(parser: &mut Parser<'_>) -> Parsed<Self>;
}

/// Integers take whole and, cut off, fractional numbers in their range, as in OpenUSD.
macro_rules! integers {
    ($($type:ty)*) => {$(
        impl Element for $type {
            fn read(parser: &mut Parser<'_>) -> Parsed<Self> {
                let Token::Number(number) = *parser.token() else {
                    return Err(parser.expected("a whole number"));
                };
                let integer = match number {
                    Number::Unsigned(number) => <$type>::try_from(number).ok(),
                    Number::Negative(number) => <$type>::try_from(number).ok(),
                    Number::Float(number) => {
                        let whole = number.trunc();
                        // The bounds are exact as floats, or one beyond, where `as` would saturate.
                        let is_in_range = whole >= <$type>::MIN as f64 && whole <= <$type>::MAX as f64;
                        let integer = whole as $type;
                        (is_in_range && integer as f64 == whole).then_some(integer)
                    }
                };
                let Some(integer) = integer else {
                    return Err(parser.fault(concat!("this number is out of range for ", stringify!($type))));
                };
                parser.advance()?;
                Ok(integer)
            }
        }
    )*};
}

integers! { u8 i32 u32 i64 u64 }

impl Element for f64 {
    fn read(parser: &mut Parser<'_>) -> Parsed<Self> {
        let number = match parser.token() {
            Token::Number(number) => number.to_f64(),
            token => match text(token) {
                Some("inf") => f64::INFINITY,
                Some("-inf") => f64::NEG_INFINITY,
                Some("nan") => f64::NAN,
                _ => return Err(parser.expected("a number")),
            },
        };
        parser.advance()?;
        Ok(number)
    }
}

/// Returns the text of a word or string.
fn text<'a>(token: &'a Token<'_>) -> Option<&'a str> {
    match token {
        Token::Word(word) => Some(word),
        Token::String(string) => Some(string),
        _ => None,
    }
}

/// Shorter numbers are rounded from 64 bits, so that a text gives the bits that OpenUSD reads.
impl Element for f32 {
    fn read(parser: &mut Parser<'_>) -> Parsed<Self> {
        f64::read(parser).map(|number| number as Self)
    }
}

impl Element for f16 {
    fn read(parser: &mut Parser<'_>) -> Parsed<Self> {
        f32::read(parser).map(Self::from_f32)
    }
}

impl Element for sdf::TimeCode {
    fn read(parser: &mut Parser<'_>) -> Parsed<Self> {
        f64::read(parser).map(Self::from)
    }
}

impl Element for bool {
    fn read(parser: &mut Parser<'_>) -> Parsed<Self> {
        let is_true = match parser.token() {
            Token::Number(number) => number.to_f64() != 0.0,
            token => match text(token).map(str::to_ascii_lowercase).as_deref() {
                Some("true" | "yes" | "1") => true,
                Some("false" | "no" | "0") => false,
                _ => return Err(parser.expected("true or false")),
            },
        };
        parser.advance()?;
        Ok(is_true)
    }
}

impl Element for String {
    fn read(parser: &mut Parser<'_>) -> Parsed<Self> {
        parser.string()
    }
}

impl Element for tf::Token {
    fn read(parser: &mut Parser<'_>) -> Parsed<Self> {
        parser.string().map(Self::from)
    }
}

impl Element for sdf::PathExpression {
    fn read(parser: &mut Parser<'_>) -> Parsed<Self> {
        let start = parser.start();
        let expression = Self::parse(&parser.string()?);
        match expression.parse_error() {
            Some(error) => {
                Err(parser.fault_at(start, format!("ill-formed path expression: {error}")))
            }
            None => Ok(expression),
        }
    }
}

impl Element for sdf::AssetPath {
    fn read(parser: &mut Parser<'_>) -> Parsed<Self> {
        let path = match parser.token() {
            Token::Asset(path) | Token::String(path) => Self::new(path.as_ref()),
            _ => return Err(parser.expected("an asset path such as @mesh.usd@")),
        };
        parser.advance()?;
        Ok(path)
    }
}

fn tuple<T: Element + Copy + Default, const N: usize>(parser: &mut Parser<'_>) -> Parsed<[T; N]> {
    let start = parser.start();
    let mut items = [T::default(); N];
    let mut count = 0;
    parser.list(b'(', b')', |parser| {
        let item = T::read(parser)?;
        if let Some(slot) = items.get_mut(count) {
            *slot = item;
        }
        count += 1;
        Ok(())
    })?;
    match count == N {
        true => Ok(items),
        false => Err(parser.fault_at(start, format!("expected {N} numbers, found {count}"))),
    }
}

macro_rules! tuples {
    ($($type:ident: $component:ty, $count:literal;)*) => {$(
        impl Element for gf::$type {
            fn read(parser: &mut Parser<'_>) -> Parsed<Self> {
                tuple::<$component, $count>(parser).map(Self::from)
            }
        }
    )*};
}

// Quaternions are written and kept with their real part first.
tuples! {
    Vec2h: f16, 2; Vec2f: f32, 2; Vec2d: f64, 2; Vec2i: i32, 2;
    Vec3h: f16, 3; Vec3f: f32, 3; Vec3d: f64, 3; Vec3i: i32, 3;
    Vec4h: f16, 4; Vec4f: f32, 4; Vec4d: f64, 4; Vec4i: i32, 4;
    Quath: f16, 4; Quatf: f32, 4; Quatd: f64, 4;
    Mat2d: Row<2>, 2; Mat3d: Row<3>, 3; Matrix4d: Row<4>, 4;
}

type Row<const N: usize> = [f64; N];

impl<const N: usize> Element for Row<N>
where
    Self: Default,
{
    fn read(parser: &mut Parser<'_>) -> Parsed<Self> {
        tuple(parser)
    }
}

/// Reads an array. Lists within it, all of one length, are flattened, as in OpenUSD.
fn array<T: Element>(parser: &mut Parser<'_>) -> Parsed<Vec<T>> {
    fn rows<T: Element>(parser: &mut Parser<'_>, array: &mut Vec<T>) -> Parsed<()> {
        parser.strict_list(b'[', b']', |parser| match parser.token() {
            Token::Mark(b'[') => parser.nested(|parser| rows(parser, array)),
            _ => {
                array.push(T::read(parser)?);
                Ok(())
            }
        })
    }
    let (mut array, mut row_length) = (Vec::new(), None);
    parser.list(b'[', b']', |parser| {
        let start = parser.start();
        let before = array.len();
        let length = match parser.token() {
            Token::Mark(b'[') => {
                parser.nested(|parser| rows(parser, &mut array))?;
                Some(array.len() - before)
            }
            _ => {
                array.push(T::read(parser)?);
                None
            }
        };
        match before > 0 && length != row_length {
            true => Err(parser.fault_at(start, "the lists in a list differ in length")),
            false => {
                row_length = length;
                Ok(())
            }
        }
    })?;
    Ok(array)
}

macro_rules! typed {
    ($parser:expr, $type:expr, $kind:expr, $($scalar:ident $array:ident)*) => {
        match $kind {
            $(
                ValueKind::$scalar => Value::$scalar(Element::read($parser)?),
                ValueKind::$array => Value::$array(array($parser)?),
            )*
            _ => return Err($parser.fault(format!("`{}` attributes have no value", $type))),
        }
    };
}

impl Parser<'_> {
    /// Reads a value of a type. A value of a type that OpenUSD does not have is kept as text.
    pub fn value(&mut self, type_name: &ValueTypeName) -> Parsed<Value> {
        if self.eat_word("None")? || self.eat_word("AnimationBlock")? {
            return Ok(Value::ValueBlock);
        }
        let Some(kind) = type_name.kind() else {
            return self.literal().map(Value::UnregisteredValue);
        };
        Ok(typed! { self, type_name, kind,
            Bool BoolVec Uchar UcharVec Int IntVec Uint UintVec Int64 Int64Vec Uint64 Uint64Vec
            Half HalfVec Float FloatVec Double DoubleVec String StringVec Token TokenVec
            AssetPath AssetPathVec TimeCode TimeCodeVec PathExpression PathExpressionVec
            Quath QuathVec Quatf QuatfVec Quatd QuatdVec
            Vec2h Vec2hVec Vec2f Vec2fVec Vec2d Vec2dVec Vec2i Vec2iVec
            Vec3h Vec3hVec Vec3f Vec3fVec Vec3d Vec3dVec Vec3i Vec3iVec
            Vec4h Vec4hVec Vec4f Vec4fVec Vec4d Vec4dVec Vec4i Vec4iVec
            Matrix2d Matrix2dVec Matrix3d Matrix3dVec Matrix4d Matrix4dVec
        })
    }

    /// Returns the text of a value of unknown type, with the spaces that OpenUSD writes.
    pub fn literal(&mut self) -> Parsed<String> {
        let (open, close) = match self.token() {
            Token::Mark(b'[') => (b'[', b']'),
            Token::Mark(b'(') => (b'(', b')'),
            Token::Mark(_) | Token::Newline | Token::End => return Err(self.expected("a value")),
            Token::Word(word) if *word != "None" && KEYWORDS.contains(word) => {
                return Err(self.expected("a value"));
            }
            _ => {
                let text = self.slice(self.start(), self.end()).to_owned();
                self.advance()?;
                return Ok(text);
            }
        };
        let mut items = Vec::new();
        self.nested(|parser| {
            parser.list(open, close, |parser| {
                if matches!(parser.token(), Token::Word("None") | Token::Path(_)) {
                    return Err(parser.expected("a value"));
                }
                items.push(parser.literal()?);
                Ok(())
            })
        })?;
        Ok(format!(
            "{}{}{}",
            char::from(open),
            items.join(", "),
            char::from(close)
        ))
    }

    /// Reads the value of an attribute: a value of its type, or an edit of an array.
    pub fn attribute_value(&mut self, type_name: &ValueTypeName) -> Parsed<Value> {
        // Array edits (OpenUSD 25.11) have no representation in `sdf::Value`.
        match self.token() {
            Token::Word("edit") if type_name.is_array() && type_name.kind().is_some() => {
                self.array_edit(type_name).map(Value::UnregisteredValue)
            }
            Token::Word("edit") => Err(self.expected("a value")),
            _ => self.value(type_name),
        }
    }

    /// Returns the text of an array edit: `edit [append 3; erase [0]]`.
    fn array_edit(&mut self, type_name: &ValueTypeName) -> Parsed<String> {
        let start = self.start();
        let array = type_name.as_token().to_string();
        let element = ValueTypeName::from(array.trim_end_matches("[]"));
        self.advance()?;
        self.statements(b'[', b']', |parser| parser.array_edit_step(&element))?;
        Ok(self.slice(start, self.last_end).to_owned())
    }

    fn array_edit_step(&mut self, element: &ValueTypeName) -> Parsed<()> {
        let Token::Word(word) = *self.token() else {
            return Err(self.expected("an edit such as `append`"));
        };
        let at = self.start();
        self.advance()?;
        match word {
            "prepend" | "append" => self.edited_element(element),
            "write" | "insert" => {
                self.edited_element(element)?;
                let preposition = if word == "write" { "to" } else { "at" };
                match self.eat_word(preposition)? {
                    true => self.edited_index(),
                    false => Err(self.expected(&format!("`{preposition}`"))),
                }
            }
            "erase" => self.edited_index(),
            "minsize" | "maxsize" | "resize" => {
                match self.token() {
                    Token::Number(Number::Unsigned(_)) => self.advance()?,
                    _ => return Err(self.expected("a size")),
                }
                match word != "maxsize" && self.eat_word("fill")? {
                    true => self.edited_literal(element),
                    false => Ok(()),
                }
            }
            _ => Err(self.fault_at(
                at,
                format!(
                    "`{word}` is no edit of an array: use write, insert, prepend, append, erase, minsize, maxsize or resize"
                ),
            )),
        }
    }

    /// Reads an element of an edited array, or the value of one.
    fn edited_element(&mut self, element: &ValueTypeName) -> Parsed<()> {
        match self.token() {
            Token::Mark(b'[') => self.edited_index(),
            _ => self.edited_literal(element),
        }
    }

    fn edited_index(&mut self) -> Parsed<()> {
        self.expect(b'[')?;
        match self.token() {
            Token::Number(Number::Unsigned(_) | Number::Negative(_)) => self.advance()?,
            _ => return Err(self.expected("the index of an element")),
        }
        self.expect(b']')
    }

    fn edited_literal(&mut self, element: &ValueTypeName) -> Parsed<()> {
        match self.token() {
            Token::Word("None" | "AnimationBlock") => Err(self.expected("a value")),
            _ => self.value(element).map(|_| ()),
        }
    }

    /// Reads a dictionary: `{ TYPE KEY = VALUE; dictionary KEY = {…} }`.
    pub fn dictionary(&mut self) -> Parsed<HashMap<String, Value>> {
        let mut dictionary = HashMap::new();
        self.nested(|parser| {
            parser.statements(b'{', b'}', |parser| {
                let is_dictionary = parser.eat_word("dictionary")?;
                let type_name = match is_dictionary {
                    true => None,
                    false => Some(parser.type_name()?),
                };
                parser.expect_space()?;
                let key = match parser.token() {
                    Token::String(key) => key.clone().into_owned(),
                    Token::Word(key) | Token::Scoped(key) => (*key).to_owned(),
                    _ => return Err(parser.expected("a key")),
                };
                parser.advance()?;
                parser.expect(b'=')?;
                let value = match type_name {
                    None => Value::Dictionary(parser.dictionary()?),
                    Some(_) if matches!(parser.token(), Token::Word("None")) => {
                        return Err(parser.expected("a value"));
                    }
                    Some(name) if name.is_registered() => parser.value(&name)?,
                    Some(name) => {
                        return Err(parser.fault(format!("`{name}` is not a type of OpenUSD")));
                    }
                };
                dictionary.insert(key, value);
                Ok(())
            })
        })?;
        Ok(dictionary)
    }

    /// Reads a dictionary of strings: `{ "KEY": "VALUE", … }`.
    pub fn string_dictionary(&mut self) -> Parsed<HashMap<String, Value>> {
        let mut dictionary = HashMap::new();
        self.list(b'{', b'}', |parser| {
            let key = parser.string()?;
            parser.expect(b':')?;
            dictionary.insert(key, Value::String(parser.string()?));
            Ok(())
        })?;
        Ok(dictionary)
    }

    /// Reads time samples: `{ TIME: VALUE, … }`. A later sample of the same time replaces an
    /// earlier one.
    pub fn time_samples(&mut self, type_name: &ValueTypeName) -> Parsed<sdf::TimeSampleMap> {
        let mut samples = sdf::TimeSampleMap::default();
        self.list(b'{', b'}', |parser| {
            let time = f64::read(parser)?;
            parser.expect(b':')?;
            samples.push((time, parser.attribute_value(type_name)?));
            Ok(())
        })?;
        Ok(sdf::normalize_time_samples(samples))
    }
}
