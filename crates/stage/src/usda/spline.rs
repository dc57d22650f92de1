//! Reads splines: the values of attributes over time as curves.
//!
//! `openusd` can't represent them: they are checked, and kept as text.

use openusd::gf::f16;
use openusd::sdf::ValueTypeName;

use super::lexer::{Number, Token};
use super::{Parsed, Parser};

/// Types of attributes that can have a spline.
const TYPES: [&str; 4] = ["double", "float", "half", "timecode"];

impl<'a> Parser<'a> {
    /// Returns the text of a spline: `{ bezier, 1: 2; post curve (1, 2), 3: 4 }`.
    pub fn spline(&mut self, type_name: &ValueTypeName) -> Parsed<String> {
        let start = self.start();
        if !TYPES.contains(&type_name.as_token().as_str()) {
            let message = format!("an attribute of type `{type_name}` has no spline");
            return Err(self.fault_at(start, message));
        }
        let range = match type_name.as_token().as_str() {
            "half" => f64::from(f16::MAX),
            "float" => f64::from(f32::MAX),
            _ => f64::MAX,
        };
        self.list(b'{', b'}', |parser| parser.spline_item(range))?;
        Ok(self.slice(start, self.last_end).to_owned())
    }

    /// Reads an item of a spline with values up to `range`.
    fn spline_item(&mut self, range: f64) -> Parsed<()> {
        // `pre:held` is one word for the lexer.
        let (word, joined): (&'a str, Option<&'a str>) = match *self.token() {
            Token::Word(word) => (word, None),
            Token::Namespaced(words) => match words.split_once(':') {
                Some((word, joined)) => (word, Some(joined)),
                None => (words, None),
            },
            _ => ("", None),
        };
        match (word, joined) {
            ("bezier" | "hermite", None) => self.advance(),
            ("pre" | "post", _) => {
                self.advance()?;
                match joined {
                    Some(mode) => self.extrapolation(mode, range),
                    None => {
                        self.expect(b':')?;
                        let mode = self.spline_word()?;
                        self.extrapolation(mode, range)
                    }
                }
            }
            ("loop", None) => {
                self.advance()?;
                self.expect(b':')?;
                self.expect(b'(')?;
                self.spline_number(f64::MAX)?;
                self.expect(b',')?;
                self.spline_number(f64::MAX)?;
                for _ in 0..2 {
                    self.expect(b',')?;
                    match self.token() {
                        Token::Number(Number::Unsigned(_) | Number::Negative(_)) => {
                            self.advance()?;
                        }
                        _ => return Err(self.expected("a whole number of loops")),
                    }
                }
                self.expect(b',')?;
                self.spline_number(range)?;
                self.expect(b')')
            }
            _ => self.knot(range),
        }
    }

    /// Reads `TIME: VALUE`, or `TIME: VALUE BEFORE & VALUE`, and parameters after a semicolon or a line
    /// end.
    fn knot(&mut self, range: f64) -> Parsed<()> {
        self.spline_number(f64::MAX)?;
        self.expect(b':')?;
        self.spline_number(range)?;
        if self.eat(b'&')? {
            self.spline_number(range)?;
        }
        match self.token() {
            Token::Mark(b';') => self.advance()?,
            Token::Newline => {
                let blanks = self.slice(self.start(), self.end());
                let blanks = blanks.trim_matches([' ', '\t']);
                match blanks {
                    "\n" | "\r" => self.advance()?,
                    _ if blanks.starts_with(['\n', '\r']) => {
                        return Err(
                            self.fault("parameters of the knot do not follow on the next line")
                        );
                    }
                    // A comment before the line end belongs to the end of the list.
                    _ => return Ok(()),
                }
            }
            _ => return Ok(()),
        }
        loop {
            self.knot_parameter(range)?;
            if !self.separator()? || !self.is_at_knot_parameter() {
                break;
            }
        }
        match self.token() {
            Token::Mark(b';') => Err(self.expected("a parameter of the knot, or `,`")),
            _ => Ok(()),
        }
    }

    fn is_at_knot_parameter(&self) -> bool {
        matches!(
            self.token(),
            Token::Word("pre" | "post") | Token::Mark(b'{')
        )
    }

    /// Reads `pre (TANGENT)`, `post MODE (TANGENT)` or a dictionary.
    fn knot_parameter(&mut self, range: f64) -> Parsed<()> {
        match *self.token() {
            Token::Mark(b'{') => self.dictionary().map(|_| ()),
            Token::Word("pre") => {
                self.advance()?;
                self.expect_space()?;
                self.tangent(range)
            }
            Token::Word("post") => {
                self.advance()?;
                self.expect_space()?;
                let at = self.start();
                let mode = self.spline_word()?;
                if !matches!(mode, "none" | "held" | "linear" | "curve") {
                    let message =
                        format!("`{mode}` is no interpolation: use none, held, linear or curve");
                    return Err(self.fault_at(at, message));
                }
                if !matches!(self.token(), Token::Mark(b'(')) {
                    return Ok(());
                }
                self.expect_space()?;
                self.tangent(range)
            }
            _ => Err(self.expected("`pre`, `post` or a dictionary")),
        }
    }

    /// Reads `(SLOPE)` or `(WIDTH, SLOPE)`, with the algorithm that computes the tangent at the end.
    fn tangent(&mut self, range: f64) -> Parsed<()> {
        self.expect(b'(')?;
        let at = self.start();
        let first = self.spline_number(f64::MAX)?;
        let mut has_slope = false;
        while self.eat(b',')? {
            if self.eat_word("custom")? || self.eat_word("autoEase")? {
                break;
            }
            if has_slope {
                return Err(self.expected("`custom` or `autoEase`"));
            }
            self.spline_number(range)?;
            has_slope = true;
        }
        match has_slope {
            true if first < 0.0 => {
                return Err(self.fault_at(at, "the width of a tangent is not negative"));
            }
            false if first.abs() > range => {
                return Err(self.fault_at(at, "this slope is out of range"));
            }
            _ => {}
        }
        self.expect(b')')
    }

    /// Reads the rest of an extrapolation, after its mode.
    fn extrapolation(&mut self, mode: &str, range: f64) -> Parsed<()> {
        match mode {
            "none" | "held" | "linear" => Ok(()),
            "sloped" => {
                self.expect(b'(')?;
                self.spline_number(range)?;
                self.expect(b')')
            }
            "loop" => {
                self.expect_space()?;
                match self.spline_word()? {
                    "repeat" | "reset" | "oscillate" => Ok(()),
                    _ => Err(self.fault("a loop is `repeat`, `reset` or `oscillate`")),
                }
            }
            _ => Err(self.fault(format!(
                "`{mode}` is no extrapolation: use none, held, linear, sloped or loop"
            ))),
        }
    }

    fn spline_word(&mut self) -> Parsed<&'a str> {
        let Token::Word(word) = *self.token() else {
            return Err(self.expected("a word"));
        };
        self.advance()?;
        Ok(word)
    }

    /// Reads a number between `-range` and `range`.
    fn spline_number(&mut self, range: f64) -> Parsed<f64> {
        let Token::Number(number) = *self.token() else {
            return Err(self.expected("a number"));
        };
        if number.to_f64().abs() > range {
            return Err(self.fault("this number is out of range for a spline of this type"));
        }
        self.advance()?;
        Ok(number.to_f64())
    }
}
