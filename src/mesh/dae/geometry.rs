//! The primitives of a Collada geometry, as triangles.

use std::collections::HashMap;
use std::ops::Range;

use roxmltree::{Node, NodeId};

use super::{Ids, Reader, TexcoordSets, child, children, find, floats, ids, text};
use crate::mesh::assembly::{Corner, NONE};
use crate::mesh::codes;
use crate::mesh::polygon::Triangulator;

/// A geometry in its own frame.
#[derive(Default)]
pub(super) struct Geometry<'a> {
    pub positions: Vec<[f64; 3]>,
    pub normals: Vec<[f32; 3]>,
    pub uvs: Vec<[f32; 2]>,
    pub triangles: Vec<[Corner; 3]>,
    pub sets: Vec<Set<'a>>,
}

/// Triangles with one material.
pub(super) struct Set<'a> {
    /// What an instance binds to a material.
    pub symbol: Option<&'a str>,
    pub triangles: Range<usize>,
}

impl<'a> Geometry<'a> {
    /// Reads a `geometry`. `texcoord_sets` says which texture coordinates a symbol is to have, if not the first.
    pub fn read<'input>(reader: &mut Reader<'a, 'input, '_, '_>, node: Node<'a, 'input>, texcoord_sets: &TexcoordSets) -> Self {
        let name = node.attribute("name").or_else(|| node.attribute("id")).unwrap_or_default();
        let Some(mesh) = child(node, "mesh").or_else(|| child(node, "convex_mesh")) else {
            reader.report(&codes::SKIPPED, node, format!("the geometry `{name}` is no mesh"));
            return Self::default();
        };
        let mut builder = Builder {
            ids: &reader.ids,
            own: ids(mesh),
            geometry: Self::default(),
            triangulator: &mut reader.triangulator,
            positions: HashMap::new(),
            normals: HashMap::new(),
            uvs: HashMap::new(),
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
        let Builder { geometry, skipped, unusable, .. } = builder;
        reader.assembly.unusable(unusable);
        if let Some(primitives) = without_positions {
            reader.report(&codes::REFERENCE, primitives, format!("primitives of the geometry `{name}` have no positions"));
        }
        if skipped > 0 {
            reader.report(&codes::SKIPPED, node, format!("{skipped} sets of lines in the geometry `{name}` are left out"));
        }
        geometry
    }
}

/// A list of corners with several indices each.
struct Indices {
    values: Vec<u32>,
    /// How many indices a corner has.
    stride: usize,
    position: Column,
    normal: Option<Column>,
    uv: Option<Column>,
}

/// One of a corner's indices, and what to add to it.
#[derive(Clone, Copy)]
struct Column {
    offset: usize,
    base: u32,
    len: u32,
}

impl Column {
    fn index(self, corner: &[u32]) -> u32 {
        corner.get(self.offset).filter(|&&i| i < self.len).map_or(NONE, |i| i + self.base)
    }
}

impl Indices {
    fn len(&self) -> usize {
        self.values.len() / self.stride
    }

    fn corner(&self, i: usize) -> Corner {
        let corner = self.values.get(i * self.stride..(i + 1) * self.stride).unwrap_or_default();
        Corner {
            position: self.position.index(corner),
            normal: self.normal.map_or(NONE, |column| column.index(corner)),
            uv: self.uv.map_or(NONE, |column| column.index(corner)),
            color: NONE,
        }
    }

    fn triangle(&self, corners: [usize; 3]) -> [Corner; 3] {
        corners.map(|i| self.corner(i))
    }
}

struct Builder<'b, 'a, 'input> {
    ids: &'b Ids<'a, 'input>,
    /// Those of the mesh itself.
    own: Ids<'a, 'input>,
    geometry: Geometry<'a>,
    triangulator: &'b mut Triangulator,
    /// Where the values of a source begin in the geometry, and how many it has.
    positions: HashMap<NodeId, (u32, u32)>,
    normals: HashMap<NodeId, (u32, u32)>,
    uvs: HashMap<NodeId, (u32, u32)>,
    skipped: usize,
    unusable: usize,
}

impl<'a, 'input> Builder<'_, 'a, 'input> {
    /// An element by its id, in the mesh first: some exporters repeat ids from mesh to mesh.
    fn find(&self, tag: &str, reference: &str) -> Option<Node<'a, 'input>> {
        find(&self.own, tag, reference).or_else(|| find(self.ids, tag, reference))
    }

    /// Adds a set of primitives; `None` if it has no positions.
    fn primitives(&mut self, node: Node<'a, 'input>, texcoord_sets: &TexcoordSets) -> Option<()> {
        let symbol = node.attribute("material");
        let wanted = symbol.and_then(|symbol| texcoord_sets.get(symbol)).copied();
        let mut indices = self.inputs(node, wanted)?;
        let start = self.geometry.triangles.len();
        match node.tag_name().name() {
            "polylist" => {
                let counts: Vec<u32> = child(node, "vcount").map(|vcount| integers(&text(vcount))).unwrap_or_default();
                for p in children(node, "p") {
                    indices.values = integers(&text(p));
                    self.polygons(&indices, &counts);
                }
            }
            "polygons" => {
                for polygon in node.children() {
                    match polygon.tag_name().name() {
                        "p" => {
                            indices.values = integers(&text(polygon));
                            self.polygon(&indices, 0..indices.len(), &[]);
                        }
                        "ph" => self.polygon_with_holes(polygon, &mut indices),
                        _ => {}
                    }
                }
            }
            kind => {
                for p in children(node, "p") {
                    indices.values = integers(&text(p));
                    self.triangles(kind, &indices);
                }
            }
        }
        self.geometry.sets.push(Set { symbol, triangles: start..self.geometry.triangles.len() });
        Some(())
    }

    fn triangles(&mut self, kind: &str, indices: &Indices) {
        let corners = indices.len();
        let triangles = &mut self.geometry.triangles;
        match kind {
            "tristrips" => {
                let turned = |i: usize| if i.is_multiple_of(2) { [i, i + 1, i + 2] } else { [i + 1, i, i + 2] };
                triangles.extend((0..corners.saturating_sub(2)).map(|i| indices.triangle(turned(i))));
            }
            "trifans" => triangles.extend((2..corners).map(|i| indices.triangle([0, i - 1, i]))),
            _ => {
                triangles.extend((0..corners / 3).map(|i| indices.triangle([3 * i, 3 * i + 1, 3 * i + 2])));
                self.unusable += usize::from(!corners.is_multiple_of(3));
            }
        }
    }

    fn polygons(&mut self, indices: &Indices, counts: &[u32]) {
        let mut start = 0;
        for (i, &count) in counts.iter().enumerate() {
            let end = start + count as usize;
            if end > indices.len() {
                self.unusable += counts.len() - i;
                return;
            }
            self.polygon(indices, start..end, &[]);
            start = end;
        }
    }

    /// Adds the polygon of some corners; `holes` are where holes begin among them.
    fn polygon(&mut self, indices: &Indices, corners: Range<usize>, holes: &[u32]) {
        match corners.len() {
            0..=2 => self.unusable += 1,
            3 => self.geometry.triangles.push(indices.triangle([corners.start, corners.start + 1, corners.start + 2])),
            _ => {
                let Geometry { positions, triangles, .. } = &mut self.geometry;
                let at = |i| positions.get(indices.corner(i).position as usize).copied().unwrap_or([f64::NAN; 3]);
                let outline: Vec<[f64; 3]> = corners.clone().map(at).collect();
                self.triangulator.cut(&outline, holes, |t| triangles.push(indices.triangle(t.map(|i| corners.start + i))));
            }
        }
    }

    fn polygon_with_holes(&mut self, polygon: Node, indices: &mut Indices) {
        indices.values = child(polygon, "p").map(|p| integers(&text(p))).unwrap_or_default();
        let mut holes = Vec::new();
        for hole in children(polygon, "h") {
            holes.push(indices.len() as u32);
            // A last corner that is cut short must not shift the next outline.
            indices.values.truncate(indices.len() * indices.stride);
            indices.values.extend(integers(&text(hole)));
        }
        self.polygon(indices, 0..indices.len(), &holes);
    }

    /// The columns of a set of primitives; `None` if it has no positions.
    fn inputs(&mut self, node: Node<'a, 'input>, texcoord_set: Option<u32>) -> Option<Indices> {
        let (mut position, mut normal, mut uv) = (None, None, None);
        let mut uv_is_wanted = false;
        let mut stride = 1;
        for input in children(node, "input") {
            let offset = number(input, "offset").unwrap_or(0) as usize;
            stride = stride.max(offset + 1);
            let Some(reference) = input.attribute("source") else { continue };
            let semantic = input.attribute("semantic").unwrap_or_default();
            let vertices = (semantic == "VERTEX").then(|| self.find("vertices", reference)).flatten();
            let inner: Vec<(&str, u32, &str)> = match vertices {
                Some(vertices) => children(vertices, "input")
                    .filter_map(|i| Some((i.attribute("semantic")?, number(i, "set").unwrap_or(0), i.attribute("source")?)))
                    .collect(),
                None => vec![(semantic, number(input, "set").unwrap_or(0), reference)],
            };
            for (semantic, set, reference) in inner {
                let Some(source) = self.find("source", reference) else { continue };
                let column = |(base, len)| Some(Column { offset, base, len });
                match semantic {
                    "POSITION" if position.is_none() => {
                        let list = &mut self.geometry.positions;
                        position =
                            column(*self.positions.entry(source.id()).or_insert_with(|| append(list, source, ["X", "Y", "Z"])));
                    }
                    "NORMAL" if normal.is_none() => {
                        let list = &mut self.geometry.normals;
                        normal =
                            column(*self.normals.entry(source.id()).or_insert_with(|| append(list, source, ["X", "Y", "Z"])));
                    }
                    "TEXCOORD" if uv.is_none() || (!uv_is_wanted && texcoord_set == Some(set)) => {
                        let list = &mut self.geometry.uvs;
                        uv = column(*self.uvs.entry(source.id()).or_insert_with(|| append(list, source, ["S", "T"])));
                        uv_is_wanted = texcoord_set == Some(set);
                    }
                    _ => {}
                }
            }
        }
        Some(Indices { values: Vec::new(), stride, position: position?, normal, uv })
    }
}

/// A component of a value, from a number.
trait Component {
    fn from_f64(value: f64) -> Self;
}

impl Component for f64 {
    fn from_f64(value: f64) -> Self {
        value
    }
}

impl Component for f32 {
    fn from_f64(value: f64) -> Self {
        value as Self
    }
}

/// Appends the values of a `source` to `list` and says where they begin and how many they are. `params` are the usual names of
/// the components; the accessor's `count` is not trusted.
fn append<const N: usize, T: Component>(list: &mut Vec<[T; N]>, source: Node, params: [&str; N]) -> (u32, u32) {
    let base = list.len();
    let array = child(source, "float_array").or_else(|| child(source, "int_array"));
    let accessor = child(source, "technique_common").and_then(|common| child(common, "accessor"));
    let (offset, stride, columns) = accessor.map_or_else(
        || (0, N, std::array::from_fn(|i| i)),
        |accessor| {
            let names: Vec<&str> =
                children(accessor, "param").map(|param| param.attribute("name").unwrap_or_default()).collect();
            let stride = number(accessor, "stride").map_or(names.len().max(1), |stride| stride.max(1) as usize);
            (number(accessor, "offset").unwrap_or(0) as usize, stride, columns(&names, params))
        },
    );
    if let Some(array) = array {
        let text = text(array);
        let mut row = Vec::new();
        let mut values = floats(&text).skip(offset);
        let width = columns.iter().max().map_or(0, |last| last + 1).min(stride);
        loop {
            row.clear();
            row.extend(values.by_ref().take(stride.min(MAX_STRIDE)));
            if row.len() < width || row.is_empty() {
                break;
            }
            list.push(columns.map(|column| T::from_f64(row.get(column).copied().unwrap_or(0.0))));
        }
    }
    (base as u32, (list.len() - base) as u32)
}

/// The most numbers that one value of a source may have.
const MAX_STRIDE: usize = 4096;

/// Which numbers of a value are its components: those with the usual names, else the first that are named, else the first.
fn columns<const N: usize>(names: &[&str], usual: [&str; N]) -> [usize; N] {
    let by_name = usual.map(|name| names.iter().position(|n| n.eq_ignore_ascii_case(name)));
    let named: Vec<usize> = (0..names.len()).filter(|&i| !names[i].is_empty()).collect();
    std::array::from_fn(|i| {
        if by_name.iter().all(Option::is_some) {
            by_name[i].unwrap_or(i)
        } else if named.len() >= N {
            named[i]
        } else {
            i
        }
    })
}

fn number(node: Node, attribute: &str) -> Option<u32> {
    node.attribute(attribute)?.trim().parse().ok()
}

/// The numbers in a list of indices; [`NONE`] where it says something else or less than zero.
fn integers(text: &str) -> Vec<u32> {
    text.split_ascii_whitespace().map(|word| word.parse().unwrap_or(NONE)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_accessors() {
        assert_eq!(columns(&["X", "Y", "Z"], ["X", "Y", "Z"]), [0, 1, 2]);
        assert_eq!(columns(&["Z", "Y", "X"], ["X", "Y", "Z"]), [2, 1, 0]);
        assert_eq!(columns(&["", "U", "V"], ["S", "T"]), [1, 2]);
        assert_eq!(columns(&["", "", ""], ["S", "T"]), [0, 1]);
        assert_eq!(columns(&["S", "T", "P"], ["S", "T"]), [0, 1]);
        assert_eq!(columns(&[], ["S", "T"]), [0, 1]);
    }
}
