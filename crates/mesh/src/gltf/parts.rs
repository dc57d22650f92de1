//! Single meshes of a glTF file, for a reader that walks the nodes itself: [`open`] is the entry
//! point.

use gltf::json::{self, Index};
use nalgebra::Matrix4;

use super::{
    Error, Material, Mesh, Pieces, Reader, Shading, Source, codes, container_parts, report_morphs,
    root,
};
use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_resolve::{File, Files};

/// A primitive of the document: the index of its mesh, and its index in that.
pub type Primitive = (usize, usize);

/// The composition of a mesh.
pub struct Wanted {
    /// The primitives, each of which becomes a part of the mesh.
    pub primitives: Vec<WantedPrimitive>,
    /// The transform from the file's coordinates to the mesh's.
    pub transform: Matrix4<f64>,
}

/// The composition of a part of a mesh.
#[derive(Clone, Copy)]
pub struct WantedPrimitive {
    /// The primitive that provides triangles and normals.
    pub geometry: Primitive,
    /// The primitive that provides texture coordinates, if any.
    pub uvs: Option<Primitive>,
    /// The primitive that provides vertex colours, if any, multiplied by its material's base
    /// colour.
    pub colors: Option<Primitive>,
}

/// The meshes and materials of an open file.
pub struct Meshes<'a, 's, 'f>(Reader<'a, 's, 'f>);

/// Calls `work` with the meshes of a glTF file. Returns its result and all findings.
///
/// # Errors
/// If no part of the file is usable.
pub fn open<T>(
    file: &File,
    files: &Files,
    work: impl FnOnce(&mut Meshes<'_, '_, '_>) -> T,
) -> Result<(T, Vec<Diagnostic>), Error> {
    let mut source = Source::new(&file.path, files, Default::default());
    let (text, binary) = container_parts(&file.bytes)?;
    let root = root(text, &file.bytes, &source)?;
    report_morphs(&root, &mut source);
    let mut meshes = Meshes(Reader::new(&root, binary, file.bytes.len(), &mut source));
    meshes.0.is_kept = true;
    let result = work(&mut meshes);
    Ok((result, source.finish()))
}

/// Returns the JSON of a glTF file in either form.
///
/// # Errors
/// If the file is a container without JSON.
pub fn text(bytes: &[u8]) -> Result<&[u8], Error> {
    container_parts(bytes).map(|(text, _)| text)
}

impl<'a> Meshes<'a, '_, '_> {
    /// Returns the material with this index, as it shows on vertices with or without colours.
    /// `None`, reported, if it does not exist.
    pub fn material(&mut self, index: usize, has_colors: bool) -> Option<Material> {
        let look = self
            .0
            .look(Some(Index::new(u32::try_from(index).unwrap_or(u32::MAX))))?;
        Some(self.0.looks.get(look)?.shown(has_colors))
    }

    /// Returns the values of an accessor; none, reported, if they are unavailable.
    ///
    /// # Errors
    /// If the values of the file exceed the budget derived from its size.
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

    /// Returns a mesh without materials, and for each of its parts the index of the wanted
    /// primitive. Primitives without a usable triangle are left out.
    ///
    /// # Errors
    /// If no part of it is usable, or the meshes of the file exceed the budget derived from its
    /// size.
    pub fn mesh(&mut self, wanted: &Wanted) -> Result<(Mesh, Vec<usize>), Error> {
        // Discard the remains of an earlier mesh that failed.
        self.0.assembly = self.0.assembly.left();
        for (number, primitive) in wanted.primitives.iter().enumerate() {
            // A placeholder for the part's material, so that parts with equal materials stay
            // separate.
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
