//! Triangulates the primitives of a Collada geometry.

use std::collections::HashMap;
use std::ops::Range;

use roxmltree::{Node, NodeId};

use super::{Ids, Reader, TexcoordSets, Text, child, children, find, ids, number};
use crate::assembly::{Assembly, Corner, NONE};
use crate::codes;
use crate::number::Numbers;
use crate::polygon::Triangulator;
use urdf_usd_robot::Material;

/// A geometry in its own frame.
#[derive(Default)]
pub(super) struct Geometry<'a> {
    pub positions: Vec<[f64; 3]>,
    pub normals: Vec<[f32; 3]>,
    pub uvs: Vec<[f32; 2]>,
    /// Linear red, green, blue and opacity.
    pub colors: Vec<[f32; 4]>,
    pub triangles: Vec<[Corner; 3]>,
    pub sets: Vec<Set<'a>>,
}

/// Triangles with one material.
pub(super) struct Set<'a> {
    /// The symbol that an instance binds to a material.
    pub symbol: Option<&'a str>,
    /// The primitive element of the triangles.
    pub primitives: NodeId,
    pub triangles: Range<usize>,
}

impl<'a> Geometry<'a> {
    /// Reads a `geometry`. `texcoord_sets` selects texture coordinate sets by symbol; the default
    /// is the first.
    pub fn read<'input>(
        reader: &mut Reader<'a, 'input, '_, '_>,
        node: Node<'a, 'input>,
        texcoord_sets: &TexcoordSets,
    ) -> Self {
        let name = node
            .attribute("name")
            .or_else(|| node.attribute("id"))
            .unwrap_or_default();
        let Some(mesh) = child(node, "mesh").or_else(|| child(node, "convex_mesh")) else {
            reader.report(
                &codes::SKIPPED,
                node,
                format!("the geometry `{name}` is no mesh"),
            );
            return Self::default();
        };
        if mesh.has_attribute("convex_hull_of") {
            reader.report(
                &codes::SKIPPED,
                mesh,
                format!("the geometry `{name}` is the hull of another, and has no faces"),
            );
        }
        let mut builder = Builder {
            names: Names {
                own: ids(mesh),
                all: &reader.ids,
                xml: reader.xml,
            },
            assembly: &mut reader.assembly,
            triangulator: &mut reader.triangulator,
            positions: Values::new(["X", "Y", "Z"], 0.0, |p| p),
            normals: Values::new(["X", "Y", "Z"], 0.0, |n| n.map(|x| x as f32)),
            uvs: Values::new(["S", "T"], 0.0, |uv| uv.map(|x| x as f32)),
            colors: Values::new(["R", "G", "B", "A"], 1.0, linear),
            triangles: Vec::new(),
            outline: Vec::new(),
            sets: Vec::new(),
            skipped: 0,
            unusable: 0,
        };
        let mut without_positions = None;
        for primitives in mesh.children().filter(Node::is_element) {
            match primitives.tag_name().name() {
                "triangles" | "tristrips" | "trifans" | "polylist" | "polygons" => {
                    let read = builder.primitives(primitives, texcoord_sets);
                    without_positions = without_positions.or(read.is_none().then_some(primitives));
                }
                "lines" | "linestrips" => builder.skipped += 1,
                _ => {}
            }
        }
        let Builder {
            positions,
            normals,
            uvs,
            colors,
            triangles,
            sets,
            skipped,
            unusable,
            ..
        } = builder;
        reader.assembly.unusable(unusable);
        if let Some(primitives) = without_positions {
            reader.report(
                &codes::REFERENCE,
                primitives,
                format!("primitives of the geometry `{name}` have no positions"),
            );
        }
        if skipped > 0 {
            reader.report(
                &codes::SKIPPED,
                node,
                format!("{skipped} sets of lines in the geometry `{name}` are left out"),
            );
        }
        Self {
            positions: positions.list,
            normals: normals.list,
            uvs: uvs.list,
            colors: colors.list,
            triangles,
            sets,
        }
    }
}

/// A list of corners with several indices each.
struct Indices {
    values: Vec<u32>,
    /// The number of indices per corner.
    stride: usize,
    position: Column,
    normal: Option<Column>,
    uv: Option<Column>,
    color: Option<Column>,
}

/// The offset of an index within a corner, and its base.
#[derive(Clone, Copy)]
struct Column {
    offset: usize,
    base: u32,
    len: u32,
}

impl Column {
    fn index(self, corner: &[u32]) -> u32 {
        corner
            .get(self.offset)
            .filter(|&&i| i < self.len)
            .map_or(NONE, |i| i + self.base)
    }
}

impl Indices {
    /// Replaces the indices by those in the text of a `p`.
    fn read(&mut self, text: &str) {
        self.values.clear();
        self.add(text);
    }

    fn add(&mut self, text: &str) {
        integers(text, &mut self.values);
    }

    fn len(&self) -> usize {
        self.values.len() / self.stride
    }

    fn corner(&self, i: usize) -> Corner {
        let corner = self
            .values
            .get(i * self.stride..(i + 1) * self.stride)
            .unwrap_or_default();
        let index = |column: Option<Column>| column.map_or(NONE, |column| column.index(corner));
        Corner {
            position: self.position.index(corner),
            normal: index(self.normal),
            uv: index(self.uv),
            color: index(self.color),
        }
    }

    fn triangle(&self, corners: [usize; 3]) -> [Corner; 3] {
        corners.map(|i| self.corner(i))
    }
}

struct Builder<'b, 'a, 'input> {
    names: Names<'b, 'a, 'input>,
    assembly: &'b mut Assembly,
    triangulator: &'b mut Triangulator,
    positions: Values<f64, 3>,
    normals: Values<f32, 3>,
    uvs: Values<f32, 2>,
    colors: Values<f32, 4>,
    triangles: Vec<[Corner; 3]>,
    /// The outline of a polygon; reused to avoid allocation.
    outline: Vec<[f64; 3]>,
    sets: Vec<Set<'a>>,
    skipped: usize,
    unusable: usize,
}

impl<'a, 'input> Builder<'_, 'a, 'input> {
    /// Adds a set of primitives; `None` if it has no positions.
    fn primitives(&mut self, node: Node<'a, 'input>, texcoord_sets: &TexcoordSets) -> Option<()> {
        let symbol = node.attribute("material");
        let wanted = symbol.and_then(|symbol| texcoord_sets.get(symbol)).copied();
        let mut indices = self.inputs(node, wanted)?;
        let start = self.triangles.len();
        let xml = self.names.xml;
        match node.tag_name().name() {
            "polylist" => {
                let mut counts = Vec::new();
                child(node, "vcount")
                    .into_iter()
                    .for_each(|vcount| integers(&xml.numbers(vcount), &mut counts));
                for p in children(node, "p") {
                    indices.read(&xml.numbers(p));
                    self.polygons(&indices, &counts);
                }
            }
            "polygons" => {
                for polygon in node.children() {
                    match polygon.tag_name().name() {
                        "p" => {
                            indices.read(&xml.numbers(polygon));
                            self.polygon(&indices, 0..indices.len(), &[]);
                        }
                        "ph" => self.polygon_with_holes(polygon, &mut indices),
                        _ => {}
                    }
                }
            }
            kind => {
                for p in children(node, "p") {
                    indices.read(&xml.numbers(p));
                    self.triangles(kind, &indices);
                }
            }
        }
        let triangles = start..self.triangles.len();
        self.sets.push(Set {
            symbol,
            primitives: node.id(),
            triangles,
        });
        Some(())
    }

    fn triangles(&mut self, kind: &str, indices: &Indices) {
        let corners = indices.len();
        let triangles = &mut self.triangles;
        match kind {
            "tristrips" => {
                // Every second triangle of a strip is wound the other way.
                let turned = |i: usize| {
                    if i.is_multiple_of(2) {
                        [i, i + 1, i + 2]
                    } else {
                        [i + 1, i, i + 2]
                    }
                };
                triangles
                    .extend((0..corners.saturating_sub(2)).map(|i| indices.triangle(turned(i))));
            }
            "trifans" => triangles.extend((2..corners).map(|i| indices.triangle([0, i - 1, i]))),
            _ => {
                triangles.extend(
                    (0..corners / 3).map(|i| indices.triangle([3 * i, 3 * i + 1, 3 * i + 2])),
                );
                self.unusable += usize::from(!corners.is_multiple_of(3));
            }
        }
    }

    fn polygons(&mut self, indices: &Indices, counts: &[u32]) {
        // A polygon that is usable has three corners, which are in memory already.
        self.triangles.reserve(counts.len().min(indices.len() / 3));
        let mut start = 0;
        for (i, &count) in counts.iter().enumerate() {
            let end = start + count as usize;
            if end > indices.len() {
                // All further polygons would start beyond the end, too.
                self.unusable += counts.len() - i;
                return;
            }
            self.polygon(indices, start..end, &[]);
            start = end;
        }
    }

    /// Adds the polygon of some corners; `holes` are the offsets at which holes start.
    fn polygon(&mut self, indices: &Indices, corners: Range<usize>, holes: &[u32]) {
        let outline = holes.first().map_or(corners.len(), |&hole| hole as usize);
        match corners.len() {
            _ if outline < 3 => self.unusable += 1,
            3 => self.triangles.push(indices.triangle([
                corners.start,
                corners.start + 1,
                corners.start + 2,
            ])),
            _ => {
                let Self {
                    positions,
                    triangles,
                    outline: outline_points,
                    ..
                } = self;
                let at = |i| {
                    positions
                        .list
                        .get(indices.corner(i).position as usize)
                        .copied()
                        .unwrap_or([f64::NAN; 3])
                };
                outline_points.clear();
                outline_points.extend(corners.clone().map(at));
                self.triangulator.cut(outline_points, holes, |t| {
                    triangles.push(indices.triangle(t.map(|i| corners.start + i)))
                });
            }
        }
    }

    fn polygon_with_holes(&mut self, polygon: Node<'a, 'input>, indices: &mut Indices) {
        let xml = self.names.xml;
        indices.values.clear();
        child(polygon, "p")
            .into_iter()
            .for_each(|p| indices.add(&xml.numbers(p)));
        let mut holes = Vec::new();
        for hole in children(polygon, "h") {
            holes.push(indices.len() as u32);
            // An incomplete last corner must not shift the next outline.
            indices.values.truncate(indices.len() * indices.stride);
            indices.add(&xml.numbers(hole));
        }
        self.polygon(indices, 0..indices.len(), &holes);
    }

    /// Returns the columns of a set of primitives; `None` if it has no positions.
    ///
    /// The wanted one of several texture coordinate sets is used, else the lowest; of several
    /// colour sets the lowest.
    fn inputs(&mut self, node: Node<'a, 'input>, texcoord_set: Option<u32>) -> Option<Indices> {
        let (mut position, mut normal) = (None, None);
        // Candidates with their penalty: the lowest wins, the first on a tie.
        let mut uv: Option<((bool, u32), Node, usize)> = None;
        let mut color: Option<(u32, Node, usize)> = None;
        let mut stride = 1;
        for input in children(node, "input") {
            let offset = number(input, "offset").unwrap_or(0) as usize;
            stride = stride.max(offset + 1);
            let Some(reference) = input.attribute("source") else {
                continue;
            };
            let semantic = input.attribute("semantic").unwrap_or_default();
            let set = number(input, "set").unwrap_or(0);
            let vertices = (semantic == "VERTEX")
                .then(|| self.names.find("vertices", reference))
                .flatten();
            let inner: Vec<(&str, u32, &str)> = match vertices {
                Some(vertices) => children(vertices, "input")
                    .filter_map(|i| {
                        Some((
                            i.attribute("semantic")?,
                            number(i, "set").unwrap_or(set),
                            i.attribute("source")?,
                        ))
                    })
                    .collect(),
                None => vec![(semantic, set, reference)],
            };
            for (semantic, set, reference) in inner {
                let Some(source) = self.names.find("source", reference) else {
                    continue;
                };
                let against = (texcoord_set != Some(set), set);
                match semantic {
                    "POSITION" => position = position.or(Some((source, offset))),
                    "NORMAL" => normal = normal.or(Some((source, offset))),
                    "TEXCOORD" if uv.is_none_or(|(least, ..)| against < least) => {
                        uv = Some((against, source, offset))
                    }
                    "COLOR" if color.is_none_or(|(least, ..)| set < least) => {
                        color = Some((set, source, offset))
                    }
                    _ => {}
                }
            }
        }
        let Self {
            names, assembly, ..
        } = self;
        let (source, offset) = position?;
        let position = self.positions.column(names, assembly, source, offset);
        let normal =
            normal.map(|(source, offset)| self.normals.column(names, assembly, source, offset));
        let uv = uv.map(|(_, source, offset)| self.uvs.column(names, assembly, source, offset));
        let color =
            color.map(|(_, source, offset)| self.colors.column(names, assembly, source, offset));
        Some(Indices {
            values: Vec::new(),
            stride,
            position,
            normal,
            uv,
            color,
        })
    }
}

/// Lookup of elements: in the mesh first, since some exporters repeat ids across meshes.
struct Names<'b, 'a, 'input> {
    own: Ids<'a, 'input>,
    all: &'b Ids<'a, 'input>,
    xml: Text<'a, 'input>,
}

impl<'a, 'input> Names<'_, 'a, 'input> {
    fn find(&self, tag: &str, reference: &str) -> Option<Node<'a, 'input>> {
        find(&self.own, tag, reference).or_else(|| find(self.all, tag, reference))
    }

    /// Returns the array of a `source`, which may refer to that of another. An array that is shared
    /// too often for the budget counts as missing.
    fn array(&self, assembly: &mut Assembly, source: Node<'a, 'input>) -> Option<Node<'a, 'input>> {
        let own = child(source, "float_array").or_else(|| child(source, "int_array"));
        let reference = accessor(source).and_then(|accessor| accessor.attribute("source"));
        let id = reference.map(|reference| reference.trim().trim_start_matches('#'));
        if id.is_none() || own.is_some_and(|own| own.attribute("id") == id) {
            return own;
        }
        let other = reference.and_then(|reference| {
            self.find("float_array", reference)
                .or_else(|| self.find("int_array", reference))
                .filter(|other| Some(*other) != own)
        });
        match other {
            Some(other) => {
                // First its nodes, which are visited even if they hold no text.
                let length = other.range().len();
                assembly.spend(length).ok()?;
                let list = self.xml.numbers(other).len();
                assembly.spend(list.saturating_sub(length)).ok()?;
                Some(other)
            }
            None => own,
        }
    }
}

fn accessor<'a, 'input>(source: Node<'a, 'input>) -> Option<Node<'a, 'input>> {
    child(child(source, "technique_common")?, "accessor")
}

/// Values of one kind, from any number of sources.
struct Values<T, const N: usize> {
    list: Vec<[T; N]>,
    /// The offset and number of each source's values in the list.
    spans: HashMap<NodeId, (u32, u32)>,
    /// The usual names of the components.
    usual: [&'static str; N],
    /// The value of a component that a source lacks.
    missing: f64,
    of: fn([f64; N]) -> [T; N],
}

impl<T, const N: usize> Values<T, N> {
    fn new(usual: [&'static str; N], missing: f64, of: fn([f64; N]) -> [T; N]) -> Self {
        Self {
            list: Vec::new(),
            spans: HashMap::new(),
            usual,
            missing,
            of,
        }
    }

    fn column<'a, 'input>(
        &mut self,
        names: &Names<'_, 'a, 'input>,
        assembly: &mut Assembly,
        source: Node<'a, 'input>,
        offset: usize,
    ) -> Column {
        let (base, len) = match self.spans.get(&source.id()) {
            Some(span) => *span,
            None => {
                let base = self.list.len() as u32;
                if let Some(array) = names.array(assembly, source) {
                    self.append(&names.xml.numbers(array), accessor(source));
                }
                let span = (base, self.list.len() as u32 - base);
                self.spans.insert(source.id(), span);
                span
            }
        };
        Column { offset, base, len }
    }

    /// Appends the values of an array. The accessor's `count` is not trusted.
    fn append(&mut self, array: &str, accessor: Option<Node>) {
        let (skipped, stride, columns) = accessor.map_or_else(
            || (0, N, std::array::from_fn(Some)),
            |accessor| {
                let names: Vec<&str> = children(accessor, "param")
                    .map(|param| param.attribute("name").unwrap_or_default())
                    .collect();
                let stride = number(accessor, "stride")
                    .map_or(names.len().max(1), |stride| stride.max(1) as usize);
                (
                    number(accessor, "offset").unwrap_or(0) as usize,
                    stride,
                    columns(&names, self.usual),
                )
            },
        );
        // The last value may lack trailing components that no column reads.
        let needed = columns
            .iter()
            .flatten()
            .max()
            .map_or(1, |last| last + 1)
            .min(stride);
        let mut numbers = Numbers(array.as_bytes());
        // An offset may be larger than any list.
        _ = (0..skipped).all(|_| numbers.word().is_some());
        let is_plain = stride == N && columns.iter().copied().eq((0..N).map(Some));
        loop {
            let mut value = [self.missing; N];
            let mut seen = 0;
            if is_plain {
                for component in &mut value {
                    let Some(number) = numbers.float() else { break };
                    *component = number;
                    seen += 1;
                }
            } else {
                while seen < stride
                    && let Some(number) = numbers.float()
                {
                    let component = columns.iter().position(|column| *column == Some(seen));
                    if let Some(value) = component.and_then(|component| value.get_mut(component)) {
                        *value = number;
                    }
                    seen += 1;
                }
            }
            if seen < needed {
                break;
            }
            self.list.push((self.of)(value));
        }
    }
}

/// Returns the indices of the components within a value: by their usual names, else the first named
/// ones, else the first. Opacity is optional.
fn columns<const N: usize>(names: &[&str], usual: [&str; N]) -> [Option<usize>; N] {
    let by_name = usual.map(|name| names.iter().position(|n| n.eq_ignore_ascii_case(name)));
    if by_name.iter().take(3).all(Option::is_some) {
        return by_name;
    }
    let named = names
        .iter()
        .enumerate()
        .filter(|(_, name)| !name.is_empty());
    let named: Vec<usize> = named.map(|(i, _)| i).collect();
    std::array::from_fn(|i| {
        if named.len() >= N.min(3) {
            named.get(i).copied()
        } else {
            Some(i)
        }
    })
}

/// Converts a vertex colour to linear. Collada doesn't specify the colour space. Assume sRGB, as
/// for the colours of effects: that is what Blender and most others write, which store vertex
/// colours as display bytes.
fn linear(color: [f64; 4]) -> [f32; 4] {
    let [r, g, b, opacity] = color;
    let [r, g, b] = [r, g, b].map(|c| Material::linear(c.clamp(0.0, 1.0)) as f32);
    [r, g, b, opacity as f32]
}

/// Appends the numbers in a list of indices; [`NONE`] for other words and negative numbers.
fn integers(text: &str, list: &mut Vec<u32>) {
    let mut numbers = Numbers(text.as_bytes());
    // Most have three to five digits and a blank.
    list.reserve(text.len() / 4);
    list.extend(std::iter::from_fn(|| numbers.index()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_in_any_state() {
        let mut list = vec![7];
        integers(
            "\t1 20\r\n 0003\n4294967294 4294967295 4294967296 99999999999999999999 -1 x 5x x5 +5 1.0 6",
            &mut list,
        );
        assert_eq!(
            list,
            [
                7,
                1,
                20,
                3,
                4_294_967_294,
                NONE,
                NONE,
                NONE,
                NONE,
                NONE,
                NONE,
                NONE,
                NONE,
                NONE,
                6
            ]
        );
        integers("", &mut list);
        integers(" ", &mut list);
        assert_eq!(list.len(), 15);
    }

    #[test]
    fn lists_that_end_before_their_offset() {
        let xml = roxmltree::Document::parse("<accessor offset='4294967295'/>").unwrap();
        let mut values = Values::new(["S", "T"], 0.0, |uv| uv);
        // The time is that of the list, not of the offset.
        for _ in 0..1000 {
            values.append("1 2 3 4", Some(xml.root_element()));
        }
        assert!(values.list.is_empty());
    }

    #[test]
    fn columns_of_accessors() {
        let some = |columns: [usize; 3]| columns.map(Some);
        assert_eq!(columns(&["X", "Y", "Z"], ["X", "Y", "Z"]), some([0, 1, 2]));
        assert_eq!(columns(&["Z", "Y", "X"], ["X", "Y", "Z"]), some([2, 1, 0]));
        assert_eq!(columns(&["", "U", "V"], ["S", "T"]), [Some(1), Some(2)]);
        assert_eq!(columns(&["", "", ""], ["S", "T"]), [Some(0), Some(1)]);
        assert_eq!(columns(&["S", "T", "P"], ["S", "T"]), [Some(0), Some(1)]);
        assert_eq!(columns(&[], ["S", "T"]), [Some(0), Some(1)]);
        let rgba = ["R", "G", "B", "A"];
        assert_eq!(
            columns(&["A", "R", "G", "B"], rgba),
            [Some(1), Some(2), Some(3), Some(0)]
        );
        assert_eq!(
            columns(&["R", "G", "B"], rgba),
            [Some(0), Some(1), Some(2), None]
        );
        assert_eq!(
            columns(&["X", "Y", "Z"], rgba),
            [Some(0), Some(1), Some(2), None]
        );
        assert_eq!(columns(&[], rgba), [Some(0), Some(1), Some(2), Some(3)]);
    }
}
