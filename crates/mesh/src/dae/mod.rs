//! Collada (DAE) 1.4 and 1.5: the visual scene of a file as one mesh.
//!
//! Every instance of a geometry is placed by the transforms of its nodes and the file's unit.
//! `up_axis` is ignored, as RViz does and robots expect, unless the [options](super::Options)
//! honour it. Skins are shown at rest, in the shape that they are bound in; morphs in their base
//! shape. A file without a scene yields all its geometries. Only the common profile of materials is
//! read, and of that colour, opacity and emission.
//!
//! [`lists`] shortens the document for the XML parser, [`transform`] evaluates the transforms of a node,
//! [`geometry`] triangulates primitives, [`effect`] reads materials.

mod effect;
#[cfg(test)]
mod files;
mod geometry;
mod lists;
#[cfg(test)]
pub(super) mod tests;
mod transform;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use nalgebra::Matrix4;
use percent_encoding::percent_decode_str;
use roxmltree::{Document, Node, NodeId, ParsingOptions};

use self::effect::Look;
use self::geometry::{Geometry, Set};
use super::assembly::{Assembly, NONE, Surface};
use super::normals::Shading;
use super::number::Numbers;
use super::polygon::Triangulator;
use super::{Error, Source, UpAxis, codes};
use crate::texture::Loaded;
use urdf_usd_diagnostic::Code;
use urdf_usd_robot::Mesh;
use urdf_usd_text::xml::crowded_tag;

/// Maximum depth of nested nodes, instances of nodes included.
const MAX_DEPTH: usize = 128;

/// Maximum number of nodes of a scene, counted once per instance.
const MAX_NODES: usize = 100_000;

/// Maximum number of attributes of an element: the parser's search for duplicates is quadratic.
const MAX_ATTRIBUTES: usize = 2000;

/// Maximum number of undeclared namespace prefixes that are added to a file.
const MAX_PREFIXES: usize = 16;

/// Reads the file.
pub(super) fn read(source: &mut Source, bytes: Arc<[u8]>) -> Result<Mesh, Error> {
    let assembly = read_bytes(source, &bytes)?;
    drop(bytes);
    assembly.finish(source, Shading::Smooth)
}

fn read_bytes(source: &mut Source, bytes: &[u8]) -> Result<Assembly, Error> {
    let mut text = decode(bytes);
    // XML may not start with white space; files do.
    let space = text.len() - text.trim_start().len();
    let first_line = 1 + text[..space].matches('\n').count() as u32;
    if let Some(start) = crowded_tag(&text, MAX_ATTRIBUTES) {
        let before = text.get(..start).unwrap_or_default();
        let message = format!("an element has more than {MAX_ATTRIBUTES} attributes");
        return Err(Error::new(&codes::UNREADABLE, message)
            .line(1 + before.matches('\n').count() as u32)
            .help("export the mesh again"));
    }
    // The parser reports one undeclared prefix at a time; each pass declares it.
    for _ in 0..MAX_PREFIXES {
        let short = lists::Document::of(&text[space..]);
        let error = match parse(&short.text) {
            Ok(document) => {
                return read_document(
                    source,
                    Text {
                        document: &document,
                        lists: &short.lists,
                        first_line,
                    },
                    bytes.len(),
                );
            }
            Err(error) => error,
        };
        // Some exporters use undeclared prefixes in `<extra>`.
        let (roxmltree::Error::UnknownNamespace(prefix, _), Some(root)) =
            (&error, root_name_end(&text))
        else {
            // Its column is that in the whole file.
            let whole = parse(&text[space..]).err();
            return Err(unreadable(&whole.unwrap_or(error), first_line));
        };
        let mut patched = text.into_owned();
        patched.insert_str(
            root,
            &format!(" xmlns:{prefix}=\"urn:undeclared:{prefix}\""),
        );
        text = Cow::Owned(patched);
    }
    Err(Error::new(
        &codes::UNREADABLE,
        "the XML uses many namespace prefixes without declaring them",
    )
    .help("export the mesh again"))
}

fn parse(text: &str) -> Result<Document<'_>, roxmltree::Error> {
    let options = ParsingOptions {
        allow_dtd: true,
        ..ParsingOptions::default()
    };
    Document::parse_with_options(text, options)
}

/// Returns the end of the root element's name: after the first `<` that opens neither a comment, an
/// instruction nor a DOCTYPE.
fn root_name_end(text: &str) -> Option<usize> {
    let mut at = text.find('<')?;
    loop {
        let rest = text.get(at..)?;
        let end = match rest.as_bytes().get(1)? {
            b'?' => rest.find("?>")?,
            b'!' if rest.starts_with("<!--") => rest.find("-->")?,
            // The internal subset ends in `]`.
            b'!' => match (rest.find('['), rest.find('>')?) {
                (Some(open), close) if open < close => rest.find(']')?,
                (_, close) => close,
            },
            _ => return Some(at + rest.find([' ', '\t', '\r', '\n', '>', '/'])?),
        };
        at += end + rest.get(end..)?.find('<')?;
    }
}

/// A parsed document and its position in the file.
#[derive(Clone, Copy)]
struct Text<'a, 'input> {
    document: &'a Document<'input>,
    /// Lists of numbers that were taken out of it.
    lists: &'a [&'a str],
    /// The line of the file on which the document starts.
    first_line: u32,
}

impl<'a> Text<'a, '_> {
    /// Returns the text of an element of numbers.
    fn numbers(self, node: Node<'a, '_>) -> Cow<'a, str> {
        joined(texts(node).map(|text| lists::original(text, self.lists)))
    }

    /// Returns the line of an element. The time is linear in the length of the text before it.
    fn line(self, node: Node) -> u32 {
        self.document.text_pos_at(node.range().start).row + self.first_line - 1
    }

    /// Adds the line of `node` to an error that has none.
    fn located(self, error: Error, node: Node) -> Error {
        if error.line == 0 {
            error.line(self.line(node))
        } else {
            error
        }
    }
}

fn read_document(source: &mut Source, xml: Text, length: usize) -> Result<Assembly, Error> {
    let root = xml.document.root_element();
    if root.tag_name().name() != "COLLADA" {
        return Err(Error::new(
            &codes::UNREADABLE,
            format!(
                "the file is XML, but of <{}>, not of <COLLADA>",
                root.tag_name().name()
            ),
        )
        .line(xml.line(root))
        .help("export the mesh again"));
    }
    let mut reader = Reader {
        xml,
        ids: ids(root),
        assembly: Assembly::new(length),
        triangulator: Triangulator::new(),
        transforms: HashMap::new(),
        geometries: HashMap::new(),
        looks: HashMap::new(),
        embedded: Default::default(),
        unbound: HashSet::new(),
        path: Vec::new(),
        nodes: 0,
        instances: 0,
        source,
    };
    reader.scene(root)?;
    Ok(reader.assembly)
}

fn unreadable(error: &roxmltree::Error, first_line: u32) -> Error {
    let line = error.pos().row + first_line - 1;
    Error::new(&codes::UNREADABLE, format!("the XML is broken: {error}"))
        .line(line)
        .help("export the mesh again")
}

/// Decodes a file in UTF-8, UTF-16 or, if declared, Latin-1.
fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let utf16 = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.as_chunks::<2>().0.iter().map(|c| unit(*c)).collect();
        Cow::Owned(String::from_utf16_lossy(&units))
    };
    match bytes {
        [0xFF, 0xFE, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => utf16(rest, u16::from_be_bytes),
        // Without a byte order mark, the zero byte beside the first `<` reveals the order.
        [b'<', 0, ..] => utf16(bytes, u16::from_le_bytes),
        [0, b'<', ..] => utf16(bytes, u16::from_be_bytes),
        _ => {
            let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
            if let Ok(text) = str::from_utf8(bytes) {
                return Cow::Borrowed(text);
            }
            let declaration = bytes.get(..200).unwrap_or(bytes).to_ascii_lowercase();
            let says = |name: &[u8]| declaration.windows(name.len()).any(|w| w == name);
            if says(b"iso-8859-1") || says(b"windows-1252") || says(b"latin1") {
                return Cow::Owned(bytes.iter().map(|&b| char::from(b)).collect());
            }
            String::from_utf8_lossy(bytes)
        }
    }
}

/// Elements by tag and id; the first of duplicates.
type Ids<'a, 'input> = HashMap<(&'a str, &'a str), Node<'a, 'input>, foldhash::fast::RandomState>;

/// Returns the descendants of an element by tag and id.
fn ids<'a, 'input>(element: Node<'a, 'input>) -> Ids<'a, 'input> {
    let mut ids = Ids::default();
    for node in element.descendants() {
        if let Some(id) = node.attribute("id") {
            ids.entry((node.tag_name().name(), id)).or_insert(node);
        }
    }
    ids
}

/// Returns the element `tag` that a `#fragment` or a bare id refers to.
fn find<'a, 'input>(ids: &Ids<'a, 'input>, tag: &str, reference: &str) -> Option<Node<'a, 'input>> {
    let reference = reference.trim();
    let id = reference.strip_prefix('#').unwrap_or(reference);
    ids.get(&(tag, id)).copied().or_else(|| {
        // Second, since an id may contain a literal percent sign.
        ids.get(&(tag, percent_decode_str(id).decode_utf8_lossy().as_ref()))
            .copied()
    })
}

/// Returns the child elements called `tag`.
fn children<'a, 'input>(
    node: Node<'a, 'input>,
    tag: &str,
) -> impl Iterator<Item = Node<'a, 'input>> {
    node.children()
        .filter(move |child| child.tag_name().name() == tag)
}

/// Returns the first child element called `tag`.
fn child<'a, 'input>(node: Node<'a, 'input>, tag: &str) -> Option<Node<'a, 'input>> {
    children(node, tag).next()
}

/// Returns the text of an element without its comments.
fn text<'a>(node: Node<'a, '_>) -> Cow<'a, str> {
    joined(texts(node))
}

fn texts<'a>(node: Node<'a, '_>) -> impl Iterator<Item = &'a str> {
    let children = node.children().filter(Node::is_text);
    children.filter_map(|child| child.text())
}

fn joined<'a>(mut texts: impl Iterator<Item = &'a str>) -> Cow<'a, str> {
    let first = texts.next().unwrap_or_default();
    match texts.next() {
        None => Cow::Borrowed(first),
        Some(second) => Cow::Owned([first, second].into_iter().chain(texts).collect()),
    }
}

/// Parses the numbers in a text; NaN for other words.
fn floats(text: &str) -> impl Iterator<Item = f64> {
    let mut numbers = Numbers(text.as_bytes());
    std::iter::from_fn(move || numbers.float())
}

fn number(node: Node, attribute: &str) -> Option<u32> {
    node.attribute(attribute)?.trim().parse().ok()
}

struct Reader<'a, 'input, 's, 'f> {
    xml: Text<'a, 'input>,
    ids: Ids<'a, 'input>,
    assembly: Assembly,
    triangulator: Triangulator,
    /// Transforms of nodes: a node may be visited once per instance.
    transforms: HashMap<NodeId, Matrix4<f64>>,
    /// Geometries by their element and the texture coordinate sets that they are used with.
    geometries: HashMap<(NodeId, TexcoordSets<'a>), Rc<Geometry<'a>>>,
    /// Materials by their element.
    looks: HashMap<NodeId, Option<Rc<Look<'a>>>>,
    /// Embedded images by their element; `None` for one that is unusable.
    embedded: Loaded<NodeId>,
    /// Material symbols that have been reported as unbound.
    unbound: HashSet<&'a str>,
    /// The nodes from the root of the scene to the current one, to detect cycles.
    path: Vec<NodeId>,
    nodes: usize,
    instances: usize,
    source: &'s mut Source<'f>,
}

/// The texture coordinate set of each material symbol for which a binding names one.
type TexcoordSets<'a> = BTreeMap<&'a str, u32>;

impl<'a, 'input> Reader<'a, 'input, '_, '_> {
    fn report(&mut self, code: &'static Code, node: Node, message: impl Into<String>) {
        // Determining a line is linear in the size of the file.
        let line = if self.source.has_many(code) {
            0
        } else {
            self.xml.line(node)
        };
        self.source.report_at(code, line, message, "");
    }

    fn scene(&mut self, root: Node<'a, 'input>) -> Result<(), Error> {
        let transform = Matrix4::new_scaling(self.unit(root)) * self.turn(root);
        let instance = child(root, "scene").and_then(|scene| child(scene, "instance_visual_scene"));
        let named = instance.and_then(|instance| self.target(instance, "visual_scene"));
        let first = || {
            children(root, "library_visual_scenes")
                .find_map(|library| child(library, "visual_scene"))
        };
        // A reference that leads nowhere is reported; the first scene is better than none.
        if let Some(scene) = named.or_else(first) {
            for node in children(scene, "node") {
                self.node(node, &transform)?;
            }
        }
        if self.instances == 0 {
            for library in children(root, "library_geometries") {
                for geometry in children(library, "geometry") {
                    self.geometry(geometry, &transform, None)
                        .map_err(|error| self.xml.located(error, geometry))?;
                }
            }
        }
        Ok(())
    }

    /// Returns the number of metres per unit.
    fn unit(&mut self, root: Node) -> f64 {
        let Some(unit) = child(root, "asset").and_then(|asset| child(asset, "unit")) else {
            return 1.0;
        };
        let Some(meter) = unit.attribute("meter") else {
            return 1.0;
        };
        match meter.trim().parse::<f64>() {
            Ok(meter) if meter > 0.0 && meter.is_finite() => meter,
            _ => {
                self.report(
                    &codes::ASSET,
                    unit,
                    format!("the unit of `{meter}` metres is taken as 1"),
                );
                1.0
            }
        }
    }

    /// Returns the rotation that turns the file's up axis to z, if the options request it; the
    /// default up axis is y.
    fn turn(&mut self, root: Node) -> Matrix4<f64> {
        if self.source.options.up_axis != UpAxis::Honor {
            return Matrix4::identity();
        }
        let Some(up_axis) = child(root, "asset").and_then(|asset| child(asset, "up_axis")) else {
            return transform::Y_UP;
        };
        match text(up_axis).trim() {
            "X_UP" => transform::X_UP,
            "Y_UP" => transform::Y_UP,
            "Z_UP" => Matrix4::identity(),
            other => {
                self.report(
                    &codes::ASSET,
                    up_axis,
                    format!("the up axis `{other}` is taken as Y_UP"),
                );
                transform::Y_UP
            }
        }
    }

    fn node(&mut self, node: Node<'a, 'input>, parent: &Matrix4<f64>) -> Result<(), Error> {
        self.nodes += 1;
        if self.nodes > MAX_NODES || self.path.len() >= MAX_DEPTH {
            return Err(Error::new(
                &codes::TOO_LARGE,
                format!("the scene has more than {MAX_NODES} nodes or {MAX_DEPTH} levels"),
            )
            .line(self.xml.line(node))
            .help("flatten the scene in the program that wrote the file"));
        }
        if self.path.contains(&node.id()) {
            self.report(
                &codes::REFERENCE,
                node,
                "a node contains an instance of itself",
            );
            return Ok(());
        }
        let xml = self.xml;
        self.assembly
            // Instances visit the same children again and again; the budget bounds that.
            .spend(node.children().count())
            .map_err(|error| xml.located(error, node))?;
        self.path.push(node.id());
        let transform = parent
            * *self
                .transforms
                .entry(node.id())
                .or_insert_with(|| transform::of_node(node));
        for element in node.children() {
            match element.tag_name().name() {
                "node" => self.node(element, &transform)?,
                "instance_node" => {
                    if let Some(target) = self.target(element, "node") {
                        self.node(target, &transform)?;
                    }
                }
                "instance_geometry" => {
                    self.instances += 1;
                    if let Some(geometry) = self.target(element, "geometry") {
                        self.geometry(geometry, &transform, child(element, "bind_material"))
                            .map_err(|error| xml.located(error, element))?;
                    }
                }
                "instance_controller" => {
                    self.instances += 1;
                    if let Some(controller) = self.target(element, "controller") {
                        self.controller(controller, &transform, child(element, "bind_material"))
                            .map_err(|error| xml.located(error, element))?;
                    }
                }
                _ => {}
            }
        }
        self.path.pop();
        Ok(())
    }

    /// Returns the element that an instance refers to.
    fn target(&mut self, instance: Node<'a, 'input>, tag: &str) -> Option<Node<'a, 'input>> {
        let url = instance.attribute("url").unwrap_or_default();
        let found = find(&self.ids, tag, url);
        if found.is_none() {
            self.report(
                &codes::REFERENCE,
                instance,
                format!("there is no <{tag}> `{url}` in the file"),
            );
        }
        found
    }

    /// Adds the geometry of a skin or morph at rest.
    fn controller(
        &mut self,
        controller: Node<'a, 'input>,
        transform: &Matrix4<f64>,
        binding: Option<Node<'a, 'input>>,
    ) -> Result<(), Error> {
        let mut transform = *transform;
        let mut controller = controller;
        // Bounded, because controllers may refer to each other in a circle.
        for _ in 0..MAX_DEPTH {
            let Some(kind) = child(controller, "skin").or_else(|| child(controller, "morph"))
            else {
                break;
            };
            if kind.tag_name().name() == "morph" {
                let message = "a mesh has morph targets; it is shown in its base shape";
                self.report(&codes::MORPHS, kind, message);
            }
            if let Some(matrix) = child(kind, "bind_shape_matrix") {
                transform *= transform::matrix(&text(matrix)).unwrap_or_else(Matrix4::identity);
            }
            let reference = kind.attribute("source").unwrap_or_default();
            if let Some(geometry) = find(&self.ids, "geometry", reference) {
                return self.geometry(geometry, &transform, binding);
            }
            match find(&self.ids, "controller", reference) {
                Some(next) => controller = next,
                None => break,
            }
        }
        self.report(
            &codes::REFERENCE,
            controller,
            "a controller leads to no geometry",
        );
        Ok(())
    }

    fn geometry(
        &mut self,
        node: Node<'a, 'input>,
        transform: &Matrix4<f64>,
        binding: Option<Node<'a, 'input>>,
    ) -> Result<(), Error> {
        let bindings = Bindings::of(binding);
        self.assembly.spend(bindings.materials.len())?;
        let sets = self.texcoord_sets(&bindings);
        let key = (node.id(), sets);
        let geometry = if let Some(known) = self.geometries.get(&key) {
            known.clone()
        } else {
            let read = Rc::new(Geometry::read(self, node, &key.1));
            self.geometries.insert(key, read.clone());
            read
        };
        self.assembly.spend(geometry.sets.len())?;
        let mut runs = Vec::new();
        for set in &geometry.sets {
            runs.push((set.triangles.clone(), self.material(set, &bindings)));
        }
        let Geometry {
            positions,
            normals,
            uvs,
            colors,
            triangles,
            ..
        } = &*geometry;
        self.assembly.add(
            &Surface {
                positions,
                normals,
                uvs,
                colors,
                triangles,
                runs: &runs,
            },
            transform,
        )
    }

    /// Returns the index in the assembly of the material that the symbol of some primitives is
    /// bound to.
    fn material(&mut self, set: &Set<'a>, bindings: &Bindings<'a, 'input>) -> u32 {
        let Some(symbol) = set.symbol else {
            return NONE;
        };
        let Some(look) = self.look(symbol, bindings) else {
            if self.unbound.insert(symbol) {
                let message =
                    format!("the material `{symbol}` is not defined, or without a common profile");
                match self.xml.document.get_node(set.primitives) {
                    Some(primitives) => self.report(&codes::MATERIAL, primitives, message),
                    None => self.source.report(&codes::MATERIAL, message, ""),
                }
            }
            return NONE;
        };
        look.material
    }

    fn look(&mut self, symbol: &'a str, bindings: &Bindings<'a, 'input>) -> Option<Rc<Look<'a>>> {
        let target = bindings
            .materials
            .get(symbol)
            .and_then(|instance| instance.attribute("target"));
        // Some exporters bind nothing and use the material's id as the symbol.
        let material = find(&self.ids, "material", target.unwrap_or(symbol))?;
        if let Some(known) = self.looks.get(&material.id()) {
            return known.clone();
        }
        let look = Look::read(self, material).map(Rc::new);
        self.looks.insert(material.id(), look.clone());
        look
    }

    fn texcoord_sets(&mut self, bindings: &Bindings<'a, 'input>) -> TexcoordSets<'a> {
        let mut sets = TexcoordSets::new();
        for (symbol, instance) in &bindings.materials {
            let Some(semantic) = self.look(symbol, bindings).and_then(|look| look.texcoord) else {
                continue;
            };
            let is_meant = |input: &Node| {
                input.attribute("semantic") == Some(semantic)
                    && input
                        .attribute("input_semantic")
                        .is_none_or(|semantic| semantic == "TEXCOORD")
            };
            if let Some(input) = children(*instance, "bind_vertex_input").find(is_meant) {
                sets.insert(*symbol, number(input, "input_set").unwrap_or(0));
            }
        }
        sets
    }
}

/// The material bindings of an instance: symbols and their `instance_material`.
struct Bindings<'a, 'input> {
    materials: BTreeMap<&'a str, Node<'a, 'input>>,
}

impl<'a, 'input> Bindings<'a, 'input> {
    fn of(binding: Option<Node<'a, 'input>>) -> Self {
        // Only the common technique counts; others are specific to programs.
        let common = binding.map(|binding| child(binding, "technique_common").unwrap_or(binding));
        let instances = common.into_iter().flat_map(|common| common.descendants());
        let materials = instances.filter(|node| node.tag_name().name() == "instance_material");
        Self {
            materials: materials
                .filter_map(|node| Some((node.attribute("symbol")?, node)))
                .collect(),
        }
    }
}
