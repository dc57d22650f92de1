//! The meshes of a glTF file one by one, for a reader that looks at nodes himself: [`open`] is the
//! entry point.

use gltf::json::{self, Index};
use nalgebra::Matrix4;

use super::{Error, Material, Mesh, Pieces, Reader, Shading, Source, codes, container_parts, root};
use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_resolve::{File, Files};

/// A primitive of the document: the index of its mesh, and its own in that.
pub type Primitive = (usize, usize);

/// What a mesh is to be made of.
pub struct Wanted {
    /// Each becomes a part of the mesh.
    pub primitives: Vec<WantedPrimitive>,
    /// From the file's coordinates to the mesh's.
    pub transform: Matrix4<f64>,
}

/// What a part of a mesh is to be made of.
#[derive(Clone, Copy)]
pub struct WantedPrimitive {
    /// Whose triangles and normals.
    pub geometry: Primitive,
    /// Whose texture coordinates, if any.
    pub uvs: Option<Primitive>,
    /// Whose colours of vertices, if any, with the base colour of its material in them.
    pub colors: Option<Primitive>,
}

/// The meshes and materials of an open file.
pub struct Meshes<'a, 's, 'f>(Reader<'a, 's, 'f>);

/// Gives `work` the meshes of a glTF file, and returns what it made of them, with all findings.
///
/// # Errors
/// If nothing of the file can be used.
pub fn open<T>(
    file: &File,
    files: &Files,
    work: impl FnOnce(&mut Meshes<'_, '_, '_>) -> T,
) -> Result<(T, Vec<Diagnostic>), Error> {
    let mut source = Source::new(&file.path, files, Default::default());
    let (text, binary) = container_parts(&file.bytes)?;
    let root = root(text, &file.bytes, &source)?;
    let mut meshes = Meshes(Reader::new(&root, binary, file.bytes.len(), &mut source));
    meshes.0.is_kept = true;
    let result = work(&mut meshes);
    Ok((result, source.finish()))
}

/// The JSON of a glTF file in either form.
///
/// # Errors
/// If it is a container without.
pub fn text(bytes: &[u8]) -> Result<&[u8], Error> {
    container_parts(bytes).map(|(text, _)| text)
}

impl<'a> Meshes<'a, '_, '_> {
    /// The material with this index as it shows on vertices with or without colours; `None`,
    /// reported, if there is none.
    pub fn material(&mut self, index: usize, has_colors: bool) -> Option<Material> {
        let look = self
            .0
            .look(Some(Index::new(u32::try_from(index).unwrap_or(u32::MAX))))?;
        Some(self.0.looks.get(look)?.shown(has_colors))
    }

    /// The values of an accessor; none, reported, if they can't be had.
    ///
    /// # Errors
    /// If the values of the file grow beyond its size.
    pub fn values<const N: usize>(&mut self, accessor: usize) -> Result<Vec<[f64; N]>, Error> {
        let Reader {
            buffers,
            assembly,
            source,
            ..
        } = &mut self.0;
        buffers.values(
            Index::new(u32::try_from(accessor).unwrap_or(u32::MAX)),
            true,
            assembly,
            source,
        )
    }

    /// A mesh without materials, and for each of its parts the index of the wanted primitive that
    /// it is: those without a triangle that can be used are left out.
    ///
    /// # Errors
    /// If nothing of it can be used, or the meshes of the file grow beyond its size.
    pub fn mesh(&mut self, wanted: &Wanted) -> Result<(Mesh, Vec<usize>), Error> {
        // What an earlier one that failed has left.
        self.0.assembly = self.0.assembly.left();
        for (number, primitive) in wanted.primitives.iter().enumerate() {
            // Stands in for the part's material, so that parts with equal ones stay apart.
            let mark = self
                .0
                .assembly
                .material(Material::plain(number.to_string(), [1.0; 4]));
            let Some(geometry) = self.primitive(primitive.geometry) else {
                let (mesh, number) = primitive.geometry;
                self.0.source.report(
                    &codes::REFERENCE,
                    format!("mesh {mesh} has no primitive {number}"),
                    "",
                );
                continue;
            };
            let [uvs, colors] = [primitive.uvs, primitive.colors].map(|other| {
                let other = self.primitive(other?)?;
                Some((other, self.0.look(other.material)))
            });
            self.0.pieces(
                &Pieces {
                    geometry,
                    uvs,
                    colors,
                },
                Some(mark),
                &wanted.transform,
            )?;
        }
        let next = self.0.assembly.left();
        let assembly = std::mem::replace(&mut self.0.assembly, next);
        let mut mesh = assembly.finish(self.0.source, Shading::Flat)?;
        let number =
            |part: &urdf_usd_robot::Part| mesh.materials.get(part.material?)?.name.parse().ok();
        let numbers = mesh
            .parts
            .iter()
            .map(|part| number(part).unwrap_or_default())
            .collect();
        mesh.parts.iter_mut().for_each(|part| part.material = None);
        mesh.materials.clear();
        Ok((mesh, numbers))
    }

    fn primitive(&self, (mesh, primitive): Primitive) -> Option<&'a json::mesh::Primitive> {
        let root: &'a json::Root = self.0.root;
        root.meshes.get(mesh)?.primitives.get(primitive)
    }
}
