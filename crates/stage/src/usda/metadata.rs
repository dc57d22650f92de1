//! Reads metadata of layers, prims, variants and properties: the statements in parentheses.

use std::collections::HashMap;

use openusd::sdf::schema::FieldKey;
use openusd::sdf::{self, LayerOffset, Permission, SpecData, Value, ValueTypeName};
use openusd::tf;

use super::lexer::Token;
use super::path::is_variant_name;
use super::property::{depth_of, steps_up};
use super::{ListEdit, Parsed, Parser, relocate_place};

/// The types of metadata of OpenUSD's own (`SdfSchema`). Those of its schema libraries are in
/// `openusd::sdf::schema_field_type`.
const TYPES: [(&str, &str); 28] = [
    ("active", "bool"),
    ("allowedTokens", "token[]"),
    ("arraySizeConstraint", "int64"),
    ("colorConfiguration", "asset"),
    ("colorManagementSystem", "token"),
    ("colorSpace", "token"),
    ("comment", "string"),
    ("defaultPrim", "token"),
    ("displayGroup", "string"),
    ("displayGroupOrder", "string[]"),
    ("displayName", "string"),
    ("documentation", "string"),
    ("endFrame", "double"),
    ("endTimeCode", "double"),
    ("framePrecision", "int"),
    ("framesPerSecond", "double"),
    ("hasOwnedSubLayers", "bool"),
    ("hidden", "bool"),
    ("instanceable", "bool"),
    ("noLoadHint", "bool"),
    ("owner", "string"),
    ("prefix", "string"),
    ("sessionOwner", "string"),
    ("startFrame", "double"),
    ("startTimeCode", "double"),
    ("suffix", "string"),
    ("symmetricPeer", "string"),
    ("timeCodesPerSecond", "double"),
];

/// Metadata that is a dictionary.
const DICTIONARIES: [&str; 10] = [
    "assetInfo",
    "clips",
    "customData",
    "customLayerData",
    "expressionVariables",
    "fallbackPrimTypes",
    "limits",
    "sdrMetadata",
    "symmetryArguments",
    "uiHints",
];

impl Parser<'_> {
    /// Reads a statement of the metadata of a layer.
    pub fn layer_metadata(&mut self, spec: &mut SpecData) -> Parsed<()> {
        if let Token::Word(key @ ("subLayers" | "relocates")) = *self.token() {
            self.advance()?;
            self.expect(b'=')?;
            return match key {
                "subLayers" => self.sublayers(spec),
                _ => {
                    let pairs = self.relocates(&sdf::Path::abs_root())?;
                    spec.add(FieldKey::LayerRelocates, Value::Relocates(pairs));
                    Ok(())
                }
            };
        }
        let edit = self.list_edit()?;
        self.common_metadata(edit, spec)
    }

    /// Reads a statement of the metadata of a prim or variant.
    pub fn prim_metadata(&mut self, path: &sdf::Path, spec: &mut SpecData) -> Parsed<()> {
        let edit = self.list_edit()?;
        let Token::Word(key) = *self.token() else {
            return self.common_metadata(edit, spec);
        };
        let start = self.start();
        match key {
            "references" | "payload" | "inherits" | "specializes" | "variantSets" => {
                self.advance()?;
                self.expect(b'=')?;
                let is_empty = self.arcs(key, path, edit, spec)?;
                if is_empty && edit != ListEdit::Explicit {
                    return Err(
                        self.fault_at(start, format!("`{key}` that is edited needs an item"))
                    );
                }
                Ok(())
            }
            "kind" | "variants" | "relocates" | "prefixSubstitutions" | "suffixSubstitutions" => {
                if edit != ListEdit::Explicit {
                    return Err(self.fault(format!("`{key}` is no list")));
                }
                self.advance()?;
                self.expect(b'=')?;
                match key {
                    "kind" => {
                        let kind = self.string()?;
                        spec.add(FieldKey::Kind, Value::token(kind));
                    }
                    "variants" => self.selections(spec)?,
                    "relocates" => {
                        let pairs = self.relocates(path)?;
                        spec.add(FieldKey::Relocates, Value::Relocates(pairs));
                    }
                    _ => {
                        let dictionary = self.string_dictionary()?;
                        spec.add(key, Value::Dictionary(dictionary));
                    }
                }
                Ok(())
            }
            _ => self.common_metadata(edit, spec),
        }
    }

    /// Reads a statement of the metadata of a property.
    pub fn property_metadata(&mut self, spec: &mut SpecData) -> Parsed<()> {
        let edit = self.list_edit()?;
        if !self.eat_word("displayUnit")? {
            return self.common_metadata(edit, spec);
        }
        self.expect(b'=')?;
        let start = self.start();
        let unit = self.identifier("a unit such as mm")?;
        if sdf::Unit::from_name(unit).is_none() {
            return Err(self.fault_at(start, format!("`{unit}` is not a unit of OpenUSD")));
        }
        spec.add(FieldKey::DisplayUnit, Value::token(unit));
        Ok(())
    }

    /// Reads a statement that every spec can have: a comment, or `KEY = VALUE`.
    fn common_metadata(&mut self, edit: ListEdit, spec: &mut SpecData) -> Parsed<()> {
        let start = self.start();
        let key = match *self.token() {
            Token::String(_) if edit == ListEdit::Explicit => {
                let comment = self.string()?;
                spec.add(FieldKey::Comment, Value::String(comment));
                return Ok(());
            }
            Token::Word(
                key @ ("doc" | "permission" | "symmetryFunction" | "customData"
                | "symmetryArguments"),
            ) => {
                self.advance()?;
                key
            }
            _ => self.identifier("the name of metadata")?,
        };
        self.expect(b'=')?;
        match key {
            "apiSchemas" => {
                let schemas = self.token_list(edit)?;
                spec.add_list_op(key, Value::TokenListOp(edit.apply(schemas)));
            }
            "clipSets" => {
                let sets = self.string_list()?;
                spec.add_list_op(key, Value::StringListOp(edit.apply(sets)));
            }
            "inactiveIds" => {
                let ids = match self.value_or_none("int64[]")? {
                    Some(Value::Int64Vec(ids)) => ids,
                    _ => Vec::new(),
                };
                spec.add_list_op(key, Value::Int64ListOp(edit.apply(ids)));
            }
            _ if edit != ListEdit::Explicit => self.unregistered_list(key, start, edit, spec)?,
            "doc" => {
                let text = self.string()?;
                spec.add(FieldKey::Documentation, Value::String(text));
            }
            "permission" => {
                let permission = match self.identifier("`public` or `private`")? {
                    "public" => Permission::Public,
                    "private" => Permission::Private,
                    _ => return Err(self.fault("a permission is `public` or `private`")),
                };
                spec.add(FieldKey::Permission, Value::Permission(permission));
            }
            "symmetryFunction" => {
                let function = match self.token() {
                    Token::Word(_) => self.identifier("the name of a function")?,
                    _ => "",
                };
                spec.add(FieldKey::SymmetryFunction, Value::token(function));
            }
            _ if DICTIONARIES.contains(&key) => {
                let dictionary = self.dictionary()?;
                spec.add(key, Value::Dictionary(dictionary));
            }
            _ => {
                let value = self.metadata_value(key)?;
                spec.add(key, value);
            }
        }
        Ok(())
    }

    /// Reads the value of metadata by its type; that of metadata that no schema declares is kept as
    /// text.
    fn metadata_value(&mut self, key: &str) -> Parsed<Value> {
        let known = TYPES.iter().find(|(name, _)| *name == key);
        let type_name = known
            .map(|(_, type_name)| ValueTypeName::from(*type_name))
            .or_else(|| sdf::schema_field_type(key))
            .filter(ValueTypeName::is_registered);
        match type_name {
            Some(_) if matches!(self.token(), Token::Word("None" | "AnimationBlock")) => {
                Err(self.expected(&format!("a value of `{key}`")))
            }
            Some(type_name) => self.value(&type_name),
            None if matches!(self.token(), Token::Mark(b'{')) => {
                self.dictionary().map(Value::UnregisteredDictionary)
            }
            None => self.literal().map(Value::UnregisteredValue),
        }
    }

    /// Keeps an edit of a list that no schema declares as text. A repeated edit replaces the
    /// earlier one of its kind, as in OpenUSD.
    fn unregistered_list(
        &mut self,
        key: &str,
        start: usize,
        edit: ListEdit,
        spec: &mut SpecData,
    ) -> Parsed<()> {
        if sdf::is_registered_field(key) {
            return Err(self.fault_at(start, format!("`{key}` is no list")));
        }
        let text = self.literal()?;
        let items = match text
            .strip_prefix('[')
            .and_then(|text| text.strip_suffix(']'))
        {
            Some(inside) => vec![inside.to_owned()],
            None if text == "None" => Vec::new(),
            None => return Err(self.fault_at(start, format!("`{key}` that is edited is a list"))),
        };
        if spec
            .get(key)
            .is_none_or(|known| matches!(known, Value::UnregisteredValueListOp(_)))
        {
            spec.add_list_op(key, Value::UnregisteredValueListOp(edit.apply(items)));
        }
        Ok(())
    }

    /// Reads a value, or `None`, which is the empty list.
    fn value_or_none(&mut self, type_name: &str) -> Parsed<Option<Value>> {
        if self.eat_word("None")? {
            return Ok(None);
        }
        self.value(&ValueTypeName::from(type_name)).map(Some)
    }

    fn token_list(&mut self, edit: ListEdit) -> Parsed<Vec<tf::Token>> {
        let start = self.start();
        match self.value_or_none("token[]")? {
            Some(Value::TokenVec(tokens)) if tokens.is_empty() && edit != ListEdit::Explicit => {
                Err(self.fault_at(start, "a list that is edited needs an item"))
            }
            Some(Value::TokenVec(tokens)) => Ok(tokens),
            _ => Ok(Vec::new()),
        }
    }

    fn string_list(&mut self) -> Parsed<Vec<String>> {
        match self.value_or_none("string[]")? {
            Some(Value::StringVec(strings)) => Ok(strings),
            _ => Ok(Vec::new()),
        }
    }

    /// Reads the arcs of a prim, or the names of its variant sets. Returns whether there are none.
    fn arcs(
        &mut self,
        key: &str,
        path: &sdf::Path,
        edit: ListEdit,
        spec: &mut SpecData,
    ) -> Parsed<bool> {
        let is_empty;
        match key {
            "references" => {
                let mut references = Vec::new();
                self.one_or_list(|parser| {
                    let (asset_path, prim_path) = parser.arc_target()?;
                    let mut reference = sdf::Reference::default();
                    (reference.asset_path, reference.prim_path) = (asset_path, prim_path);
                    (reference.layer_offset, reference.custom_data) = parser.arc_options(true)?;
                    references.push(reference);
                    Ok(())
                })?;
                is_empty = references.is_empty();
                let references = Value::ReferenceListOp(edit.apply(references));
                spec.add_list_op(FieldKey::References, references);
            }
            "payload" => {
                let mut payloads = Vec::new();
                self.one_or_list(|parser| {
                    let (asset_path, prim_path) = parser.arc_target()?;
                    let mut payload = sdf::Payload::default();
                    (payload.asset_path, payload.prim_path) = (asset_path, prim_path);
                    payload.layer_offset = parser.arc_options(false)?.0;
                    payloads.push(payload);
                    Ok(())
                })?;
                is_empty = payloads.is_empty();
                let payloads = Value::PayloadListOp(edit.apply(payloads));
                spec.add_list_op(FieldKey::Payload, payloads);
            }
            "variantSets" => {
                let start = self.start();
                let names = self.names()?;
                if let Some(wrong) = names.iter().find(|name| !is_variant_name(name)) {
                    let message = format!("`{wrong}` is not a valid name of a variant set");
                    return Err(self.fault_at(start, message));
                }
                is_empty = names.is_empty();
                let names = Value::StringListOp(edit.apply(names));
                spec.add_list_op(FieldKey::VariantSetNames, names);
            }
            _ => {
                let mut targets = Vec::new();
                // Relative paths start at the prim, whatever variant the arc is in.
                let prim = path.strip_all_variant_selections();
                self.one_or_list(|parser| {
                    let start = parser.start();
                    let target = parser.path()?;
                    if target.is_empty() || steps_up(&target) > depth_of(&prim) {
                        return Err(parser.fault_at(start, "this path leads nowhere"));
                    }
                    let target = prim.make_absolute(&target);
                    parser.check_prim_path(start, &target)?;
                    targets.push(target);
                    Ok(())
                })?;
                is_empty = targets.is_empty();
                let field = match key {
                    "inherits" => FieldKey::InheritPaths,
                    _ => FieldKey::Specializes,
                };
                spec.add_list_op(field, Value::PathListOp(edit.apply(targets)));
            }
        }
        Ok(is_empty)
    }

    /// Checks that an arc leads to a prim.
    fn check_prim_path(&self, start: usize, path: &sdf::Path) -> Parsed<()> {
        let is_prim = path.as_str().starts_with('/')
            && !path.is_abs_root()
            && !path.is_property_path()
            && !path.as_str().contains('[')
            && !path.contains_prim_variant_selection();
        match is_prim {
            true => Ok(()),
            false => {
                let message =
                    format!("<{path}> is not the path of a prim, without variants, from the root");
                Err(self.fault_at(start, message))
            }
        }
    }

    /// Reads `@layer@</prim>`, `@layer@` or `</prim>`.
    fn arc_target(&mut self) -> Parsed<(String, sdf::Path)> {
        let start = self.start();
        let asset_path = match self.token() {
            Token::Asset(path) => {
                let path = path.clone().into_owned();
                self.advance()?;
                if path.is_empty() {
                    let message =
                        "the path between `@` is empty: leave `@@` out to refer to this layer";
                    return Err(self.fault_at(start, message));
                }
                path
            }
            Token::Path(_) => String::new(),
            _ => {
                return Err(
                    self.expected("an asset path such as @robot.usda@, or a path such as </robot>")
                );
            }
        };
        let mut prim_path = sdf::Path::default();
        if matches!(self.token(), Token::Path(_)) {
            let start = self.start();
            prim_path = self.path()?;
            if !prim_path.is_empty() {
                self.check_prim_path(start, &prim_path)?;
            }
        }
        Ok((asset_path, prim_path))
    }

    /// Reads `(offset = …; scale = …; customData = {…})`, if it is there.
    fn arc_options(
        &mut self,
        may_have_custom_data: bool,
    ) -> Parsed<(LayerOffset, HashMap<String, Value>)> {
        let (mut offset, mut custom_data) = (LayerOffset::default(), HashMap::new());
        if !matches!(self.token(), Token::Mark(b'(')) {
            return Ok((offset, custom_data));
        }
        self.statements(b'(', b')', |parser| {
            let Token::Word(key) = *parser.token() else {
                return Err(parser.expected("`offset` or `scale`"));
            };
            let is_known =
                matches!(key, "offset" | "scale") || (key == "customData" && may_have_custom_data);
            if !is_known {
                return Err(parser.expected("`offset` or `scale`"));
            }
            parser.advance()?;
            parser.expect(b'=')?;
            if key == "customData" {
                custom_data = parser.dictionary()?;
                return Ok(());
            }
            let Token::Number(number) = *parser.token() else {
                return Err(parser.expected("a number"));
            };
            parser.advance()?;
            match key {
                "offset" => offset.offset = number.to_f64(),
                _ => offset.scale = number.to_f64(),
            }
            Ok(())
        })?;
        Ok((offset, custom_data))
    }

    fn sublayers(&mut self, spec: &mut SpecData) -> Parsed<()> {
        let (mut layers, mut offsets) = (Vec::new(), Vec::new());
        self.list(b'[', b']', |parser| {
            let Token::Asset(path) = parser.token() else {
                return Err(parser.expected("an asset path such as @robot.usda@"));
            };
            layers.push(path.clone().into_owned());
            parser.advance()?;
            offsets.push(parser.arc_options(false)?.0);
            Ok(())
        })?;
        spec.add(FieldKey::SubLayers, Value::StringVec(layers));
        spec.add(FieldKey::SubLayerOffsets, Value::LayerOffsetVec(offsets));
        Ok(())
    }

    /// Reads `{ <source>: <target>, … }`.
    fn relocates(&mut self, path: &sdf::Path) -> Parsed<sdf::RelocateList> {
        let mut pairs = sdf::RelocateList::default();
        self.list(b'{', b'}', |parser| {
            let start = parser.start();
            let source = path.make_absolute(&parser.path()?);
            parser.check_prim_path(start, &source)?;
            if let Some(positions) = &mut parser.positions {
                positions.push((relocate_place(source.as_str()), start));
            }
            parser.expect(b':')?;
            let start = parser.start();
            let mut target = parser.path()?;
            // `<>` takes the prim away.
            if !target.is_empty() {
                target = path.make_absolute(&target);
                parser.check_prim_path(start, &target)?;
            }
            pairs.push((source, target));
            Ok(())
        })?;
        Ok(pairs)
    }

    /// Reads `variants = { string SET = "VARIANT" }`. Repeated statements add up.
    fn selections(&mut self, spec: &mut SpecData) -> Parsed<()> {
        let start = self.start();
        let mut selections = match spec.remove(FieldKey::VariantSelection.as_str()) {
            Some(Value::VariantSelectionMap(selections)) => selections,
            _ => HashMap::new(),
        };
        for (set, variant) in self.dictionary()? {
            let Value::String(variant) = variant else {
                return Err(self.fault_at(start, format!("the variant of `{set}` is no string")));
            };
            if !is_variant_name(&variant) {
                return Err(
                    self.fault_at(start, format!("`{variant}` is not a valid variant name"))
                );
            }
            selections.insert(set, variant);
        }
        spec.add(
            FieldKey::VariantSelection,
            Value::VariantSelectionMap(selections),
        );
        Ok(())
    }
}
