//! Reads attributes and relationships.

use openusd::sdf::schema::FieldKey;
use openusd::sdf::{self, SpecData, SpecType, Value, ValueTypeName, Variability};

use super::lexer::Token;
use super::path::is_path;
use super::{ListEdit, Parsed, Parser};

impl Parser<'_> {
    /// Reads a property of the prim or variant at `owner`. `edit` was read before it.
    pub fn property(
        &mut self,
        owner: &sdf::Path,
        edit: ListEdit,
        properties: &mut Vec<String>,
    ) -> Parsed<()> {
        let is_custom = self.eat_word("custom")?;
        let is_varying = self.eat_word("varying")?;
        if self.eat_word("rel")? {
            return self.relationship(owner, edit, is_custom, is_varying, properties);
        }
        if is_varying {
            return Err(self.expected("`rel`"));
        }
        let is_uniform = self.eat_word("uniform")? || self.eat_word("config")?;
        let start = self.start();
        let type_name = self.type_name()?;
        let path = self.property_path(owner, properties)?;
        let known = self.specs.remove(&path);
        let known_type = known
            .as_ref()
            .and_then(|spec| spec.get(FieldKey::TypeName.as_str()));
        if known_type.is_some_and(|known| *known != Value::Token(type_name.as_token())) {
            return Err(self.fault_at(start, format!("{path} already has another type")));
        }
        let mut spec = known.unwrap_or_else(|| {
            let mut spec = SpecData::new(SpecType::Attribute);
            spec.add(FieldKey::TypeName, Value::Token(type_name.as_token()));
            if is_custom {
                spec.add(FieldKey::Custom, Value::Bool(true));
            }
            if is_uniform {
                let uniform = Value::Variability(Variability::Uniform);
                spec.add(FieldKey::Variability, uniform);
            }
            spec
        });
        self.attribute(owner, edit, &type_name, &mut spec)?;
        self.insert(path, spec);
        Ok(())
    }

    /// Reads the name of a property, lists it, and returns its path.
    fn property_path(
        &mut self,
        owner: &sdf::Path,
        properties: &mut Vec<String>,
    ) -> Parsed<sdf::Path> {
        let (Token::Word(name) | Token::Namespaced(name)) = *self.token() else {
            return Err(self.expected("the property's name"));
        };
        self.expect_space()?;
        let path = owner
            .append_property(name)
            .map_err(|error| self.fault(error.to_string()))?;
        if !self.specs.contains_key(&path) {
            properties.push(name.to_owned());
        }
        self.note(&path, self.start());
        self.advance()?;
        Ok(path)
    }

    /// Reads what follows the name of an attribute.
    fn attribute(
        &mut self,
        owner: &sdf::Path,
        edit: ListEdit,
        type_name: &ValueTypeName,
        spec: &mut SpecData,
    ) -> Parsed<()> {
        if self.eat(b'.')? {
            let Token::Word(field) = *self.token() else {
                return Err(self.expected("`connect` or `timeSamples`"));
            };
            let start = self.start();
            self.advance()?;
            self.expect(b'=')?;
            match field {
                "connect" => {
                    let targets = self.targets(owner, edit, FieldKey::ConnectionPaths)?;
                    let targets = Value::PathListOp(edit.apply(targets));
                    spec.add_list_op(FieldKey::ConnectionPaths, targets);
                }
                "timeSamples" if edit == ListEdit::Explicit => {
                    let samples = self.time_samples(type_name)?;
                    spec.add(FieldKey::TimeSamples, Value::TimeSamples(samples));
                }
                // `openusd` has no type for splines that its binary encoding can hold.
                "spline" if edit == ListEdit::Explicit => {
                    let text = self.spline(type_name)?;
                    spec.add("spline", Value::UnregisteredValue(text));
                }
                _ => {
                    let message =
                        format!("an attribute has no `.{field}`: use `.connect` or `.timeSamples`");
                    return Err(self.fault_at(start, message));
                }
            }
            return Ok(());
        }
        if edit != ListEdit::Explicit {
            return Err(self.expected("`.connect`"));
        }
        if self.eat(b'=')? {
            let value = match self.token() {
                // Only a type that OpenUSD does not have takes a path; its value is lost there too.
                Token::Path(text) => {
                    if !text.is_empty() && !is_path(text) {
                        return Err(self.expected("a path"));
                    }
                    self.advance()?;
                    None
                }
                Token::Word("AnimationBlock") => {
                    self.advance()?;
                    None
                }
                _ => Some(self.attribute_value(type_name)?),
            };
            if let Some(value) = value {
                spec.add(FieldKey::Default, value);
            }
        }
        self.property_metadata_block(spec)
    }

    fn relationship(
        &mut self,
        owner: &sdf::Path,
        edit: ListEdit,
        is_custom: bool,
        is_varying: bool,
        properties: &mut Vec<String>,
    ) -> Parsed<()> {
        let path = self.property_path(owner, properties)?;
        let mut spec = self.specs.remove(&path).unwrap_or_else(|| {
            let mut spec = SpecData::new(SpecType::Relationship);
            if is_custom {
                spec.add(FieldKey::Custom, Value::Bool(true));
            }
            if !is_varying {
                let uniform = Value::Variability(Variability::Uniform);
                spec.add(FieldKey::Variability, uniform);
            }
            spec
        });
        // The list of targets alone can be edited.
        let is_edited = edit != ListEdit::Explicit;
        if !is_edited && self.eat(b'.')? {
            if !self.eat_word("default")? {
                return Err(self.expected("`default`"));
            }
            self.expect(b'=')?;
            self.path()?;
        } else if !is_edited && self.eat(b'[')? {
            self.path()?;
            self.expect(b']')?;
        } else {
            if self.eat(b'=')? {
                let targets = self.targets(owner, edit, FieldKey::TargetPaths)?;
                let targets = Value::PathListOp(edit.apply(targets));
                spec.add_list_op(FieldKey::TargetPaths, targets);
            }
            if !is_edited {
                self.property_metadata_block(&mut spec)?;
            }
        }
        self.insert(path, spec);
        Ok(())
    }

    /// Reads the targets of a relationship or connection; relative paths start at the prim.
    fn targets(
        &mut self,
        owner: &sdf::Path,
        edit: ListEdit,
        key: FieldKey,
    ) -> Parsed<Vec<sdf::Path>> {
        let start = self.start();
        let mut targets = Vec::new();
        self.one_or_list(|parser| {
            let start = parser.start();
            let target = parser.path()?;
            let steps_up = steps_up(&target);
            let depth = depth_of(owner);
            let absolute = owner.make_absolute(&target);
            if target.is_empty() || absolute.is_empty() || steps_up > depth {
                return Err(parser.fault_at(start, "this target leads nowhere"));
            }
            let text = target.as_str();
            // The target of another relationship is none, but a property of it is. OpenUSD takes the mapper
            // of a connection for a property, but not as the source of one.
            let is_mapper = text.contains(".mapper[");
            let is_prim_or_property = !text.contains('{')
                && !absolute.is_abs_root()
                && !text.ends_with(".expression")
                && match is_mapper {
                    true => text.ends_with(']') && matches!(key, FieldKey::TargetPaths),
                    false => !text.ends_with(']'),
                };
            if !is_prim_or_property {
                return Err(
                    parser.fault_at(start, "a target is a prim or a property, without variants")
                );
            }
            targets.push(absolute);
            Ok(())
        })?;
        if targets.is_empty() && edit != ListEdit::Explicit {
            return Err(self.fault_at(start, "a list that is edited needs an item"));
        }
        Ok(targets)
    }

    /// Reads a path in angle brackets; `<>` is the empty path.
    pub fn path(&mut self) -> Parsed<sdf::Path> {
        let Token::Path(text) = *self.token() else {
            return Err(self.expected("a path such as </robot/base>"));
        };
        let path = match text {
            "" => sdf::Path::default(),
            _ if !is_path(text) => return Err(self.fault(format!("<{text}> is not a path"))),
            // Only variant selections have blanks, which are no part of names.
            _ => sdf::Path::new(&text.replace([' ', '\t'], ""))
                .map_err(|error| self.fault(error.to_string()))?,
        };
        self.advance()?;
        Ok(path)
    }

    fn property_metadata_block(&mut self, spec: &mut SpecData) -> Parsed<()> {
        match self.token() {
            Token::Mark(b'(') => {
                self.statements(b'(', b')', |parser| parser.property_metadata(spec))
            }
            _ => Ok(()),
        }
    }
}

/// Returns how many prims above its start a relative path leads.
pub fn steps_up(path: &sdf::Path) -> usize {
    let steps = path.as_str().split('/');
    steps.take_while(|step| *step == "..").count()
}

/// Returns the number of prims at and above a path.
pub fn depth_of(path: &sdf::Path) -> usize {
    let path = path.strip_all_variant_selections();
    path.as_str()
        .split('/')
        .filter(|name| !name.is_empty())
        .count()
}
