//! The glTF meshes of a robot's shapes. Repeated geometry is built and stored once, whatever its
//! materials.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rayon::prelude::*;

use super::binary::{Binary, Packed, StoredForm, SurfaceAccessors};
use super::compact::{Compression, Grid};
use super::images::{Made, Picture, Pictures};
use super::options::Options;
use super::paint::{Ground, Paint};
use super::surface::{Surface, Vertices, Wanted};
use super::{binary, codes, solids, surface, tangents};
use crate::json::document::{Attributes, Mapping, Mappings, Mesh, Primitive, PrimitiveExtensions};
use crate::json::values::Index;
use urdf_usd_diagnostic::{Diagnostic, Place};
use urdf_usd_gltf_extension::UNPAINTED;
use urdf_usd_mesh::MAX_PIXELS_TOGETHER;
use urdf_usd_robot::{
    self as robot, ArenaMap, CacheEvicted, Geometry, Link, LinkId, MapRole, Material, Part, Robot,
    Shape, VisualPart,
};
use urdf_usd_store::time_limit::TimeLimit;
use urdf_usd_store::{self as store, Store};

/// The meshes of all shapes, with the materials, images and buffers that they use.
pub struct Drawings {
    /// Meshes of the visuals of each link; `None` where there is nothing to draw.
    pub visuals: ArenaMap<Link, Vec<Option<Index>>>,
    /// Meshes of the colliders of each link, likewise.
    pub collisions: ArenaMap<Link, Vec<Option<Index>>>,
    pub meshes: Vec<Mesh>,
    /// Quantization grid of each mesh; `None` if its positions are in metres.
    pub grids: Vec<Option<Grid>>,
    pub paint: Paint,
    pub binary: Binary,
}

/// Substitute for a material that neither the mesh nor the robot names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unpainted {
    /// The grey [`UNPAINTED`], which the reader recognises.
    Grey,
    /// No material.
    Bare,
}

/// Builds the meshes of all shapes of `robot`, or fewer if the time limit is exceeded.
///
/// # Errors
/// If a mesh is no longer in the cache.
pub fn draw(
    robot: &Robot,
    options: &Options,
    unpainted: Unpainted,
    store: &Store,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<Drawings, CacheEvicted> {
    let forms = Forms::of(robot);
    let (binary, stored) = forms.stored(options.extent.compression, store, &options.limit)?;
    let mut drawings = Drawings {
        visuals: ArenaMap::filled(robot.links(), Vec::new()),
        collisions: ArenaMap::filled(robot.links(), Vec::new()),
        meshes: Vec::new(),
        grids: Vec::new(),
        paint: Paint::new(images(robot, options, store, diagnostics)),
        binary,
    };
    let (known, told) = (HashMap::new(), HashSet::new());
    let mut meshes = Meshes {
        robot,
        forms: &forms,
        stored: &stored,
        unpainted,
        known,
        told,
        diagnostics,
    };
    for (id, link) in robot.links().iter() {
        let visuals = link.visuals.iter().enumerate();
        let visuals = visuals
            .map(|(n, shape)| meshes.visual(id, n, shape, &mut drawings))
            .collect();
        drawings.visuals[id] = visuals;
        let collisions = link
            .collisions
            .iter()
            .map(|shape| meshes.collision(shape, &mut drawings))
            .collect();
        drawings.collisions[id] = collisions;
    }
    Ok(drawings)
}

/// Returns the images of all materials by key; `None` for those that can't be made.
fn images(
    robot: &Robot,
    Options { images, limit, .. }: &Options,
    store: &Store,
    diagnostics: &mut Vec<Diagnostic>,
) -> HashMap<String, Option<Made>> {
    let of_meshes = robot
        .meshes()
        .values()
        .flat_map(|source| &source.mesh.materials);
    let mut room = MAX_PIXELS_TOGETHER;
    let mut distinct: HashMap<String, Option<Picture<'_>>> = HashMap::new();
    let mut left_out = 0;
    let of_looks = robot
        .look_variants()
        .iter()
        .flat_map(|look| look.materials.values().flatten());
    for picture in robot
        .materials()
        .values()
        .chain(of_meshes)
        .chain(of_looks)
        .flat_map(|material| Pictures::of(material).all())
    {
        if let Entry::Vacant(new) = distinct.entry(picture.key()) {
            // The number of combinations is not bounded by the size of the input: a few textures
            // can be combined in many ways.
            let left = room.checked_sub(picture.pixels());
            room = left.unwrap_or(room);
            left_out += u32::from(left.is_none());
            new.insert(left.map(|_| picture));
        }
    }
    if left_out > 0 {
        let message = format!(
            "{left_out} images that would have to be put together of others are left out: there are too many pixels in all"
        );
        let found = Diagnostic::new(&codes::TEXTURES_LEFT_OUT, Place::default(), message);
        diagnostics.push(found.help("scale the images down, or put roughness and metalness into green and blue of one image"));
    }
    let made = |(key, picture): (String, Option<Picture<'_>>)| {
        (key, picture.and_then(|picture| picture.made(images, store)))
    };
    let in_time = |(_, picture): &(String, Option<Picture<'_>>)| {
        !limit.is_over(|| {
            format!(
                "fitting the image {}",
                picture.map_or("", |picture| picture.name())
            )
        })
    };
    distinct.into_par_iter().filter(in_time).map(made).collect()
}

/// A distinct geometry of the robot.
struct Form<'a> {
    name: String,
    geometry: &'a Geometry,
    /// The loaded mesh; `None` for a solid.
    mesh: Option<&'a robot::LazyMesh>,
    /// Attributes of each part that any shape needs.
    wanted: Vec<Wanted>,
}

/// A form, encoded.
struct PackedForm {
    parts: Vec<Option<Packed>>,
    grid: Option<Grid>,
}

impl Form<'_> {
    fn surfaces(&self) -> Result<Vec<Option<Surface>>, CacheEvicted> {
        Ok(match self.mesh {
            None => {
                let wants = |what: fn(&Wanted) -> bool| self.wanted.iter().any(what);
                let mut surface = solids::surface(self.geometry, wants(|wanted| wanted.uvs));
                surface
                    .iter_mut()
                    .filter(|_| wants(|wanted| wanted.tangents))
                    .for_each(tangents::add);
                vec![surface]
            }
            Some(mesh) => {
                let arrays = mesh.arrays()?;
                let of_part = |vertices: &mut Vertices, (part, &wanted): (&Part, &Wanted)| {
                    let mut surface = surface::of_part(&arrays, part, wanted, vertices);
                    surface
                        .iter_mut()
                        .filter(|_| wanted.tangents)
                        .for_each(tangents::add);
                    surface
                };
                mesh.parts
                    .par_iter()
                    .zip(&self.wanted)
                    .map_init(Vertices::new, of_part)
                    .collect()
            }
        })
    }

    fn packed(&self, compression: Compression, store: &Store) -> Result<PackedForm, CacheEvicted> {
        let surfaces = self.surfaces()?;
        let grid = (compression != Compression::None)
            .then(|| Grid::around(surfaces.iter().flatten()))
            .flatten();
        let pack = |surface: Option<Surface>| {
            Some(Packed::new(surface?, grid.as_ref(), compression, store))
        };
        Ok(PackedForm {
            parts: surfaces.into_par_iter().map(pack).collect(),
            grid,
        })
    }
}

/// Returns whether vertex colours are shown with `material`: if there is no material, or if it uses
/// them.
fn shows_colors(mesh: Option<&robot::LazyMesh>, material: Option<&Material>) -> bool {
    mesh.is_some_and(|mesh| mesh.outline().has_colors)
        && material.is_none_or(|material| material.shows_corner_colors)
}

/// Deduplication key of a geometry. It excludes the scale, which is applied by the node.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Mesh(*const robot::LazyMesh),
    Solid(u8, [u64; 3]),
}

impl Key {
    fn of(robot: &Robot, geometry: &Geometry) -> Option<Self> {
        let solid =
            |kind, a: f64, b: f64, c: f64| Some(Self::Solid(kind, [a, b, c].map(f64::to_bits)));
        match *geometry {
            Geometry::Mesh { mesh, .. } => {
                Some(Self::Mesh(Arc::as_ptr(&robot.meshes()[mesh].mesh)))
            }
            Geometry::Missing { .. } => None,
            Geometry::Box { size } => solid(0, size.x, size.y, size.z),
            Geometry::Cylinder { radius, length } => solid(1, radius, length, 0.0),
            Geometry::Sphere { radius } => solid(2, radius, 0.0, 0.0),
            Geometry::Capsule { radius, length } => solid(3, radius, length, 0.0),
        }
    }
}

/// All distinct geometries, in order of first use.
#[derive(Default)]
struct Forms<'a> {
    list: Vec<Form<'a>>,
    index: HashMap<Key, usize>,
}

impl<'a> Forms<'a> {
    fn of(robot: &'a Robot) -> Self {
        let mut forms = Self::default();
        for (id, link) in robot.links().iter() {
            for (visual, shape) in link.visuals.iter().enumerate() {
                let Some(form) = forms
                    .add(robot, &shape.geometry)
                    .and_then(|index| forms.list.get_mut(index))
                else {
                    continue;
                };
                for (part, wanted) in form.wanted.iter_mut().enumerate() {
                    let at = VisualPart {
                        link: id,
                        visual,
                        part,
                    };
                    let of_looks = robot
                        .look_variants()
                        .iter()
                        .filter_map(|look| look.materials.get(&at).map(Option::as_ref));
                    for material in of_looks.chain([robot.material_of(shape, part)]) {
                        let uvs = material.is_some_and(Material::has_textures);
                        let tangents = material
                            .is_some_and(|material| material.maps.contains_key(&MapRole::Normal));
                        wanted.uvs |= uvs;
                        wanted.tangents |= tangents;
                        wanted.colors |= shows_colors(form.mesh, material);
                    }
                }
            }
            // Colliders need positions and normals only.
            for shape in &link.collisions {
                forms.add(robot, &shape.geometry);
            }
        }
        forms
    }

    /// Returns the buffer of all forms, from `store` if it is cached.
    ///
    /// # Errors
    /// If a mesh is no longer in the cache.
    fn stored(
        &self,
        compression: Compression,
        store: &Store,
        limit: &TimeLimit,
    ) -> Result<(Binary, Vec<StoredForm>), CacheEvicted> {
        let key = store.is_enabled().then(|| self.key(compression)).flatten();
        if let Some(known) = key.and_then(|key| store.load(&key).and_then(Binary::decode)) {
            return Ok(known);
        }
        let in_time =
            |form: &&Form<'_>| !limit.is_over(|| format!("writing {} into the glTF", form.name));
        let packed = self
            .list
            .par_iter()
            .filter(in_time)
            .map(|form| form.packed(compression, store));
        let mut forms: Vec<PackedForm> = packed.collect::<Result<_, _>>()?;
        binary::keep_one_plain(forms.iter_mut().flat_map(|form| &mut form.parts).flatten());
        let mut binary = Binary::default();
        let store_form = |form: PackedForm| {
            let parts = form
                .parts
                .into_iter()
                .map(|part| Some(binary.surface(&part?)))
                .collect();
            StoredForm {
                parts,
                grid: form.grid,
            }
        };
        let stored: Vec<StoredForm> = forms.into_iter().map(store_form).collect();
        // Forms may be missing after the time limit, and must not be cached then.
        if let Some(key) = key.filter(|_| limit.interruption().is_none()) {
            store.put_content(&key, &binary.encode(&stored));
        }
        Ok((binary, stored))
    }

    /// Returns the cache key of the buffer of all forms; `None` if some mesh has no digest.
    fn key(&self, compression: Compression) -> Option<store::Key> {
        let mut key = store::Key::shared("surfaces").and(format!("{compression:?}").as_bytes());
        for form in &self.list {
            key = match form.mesh {
                Some(mesh) if mesh.digest == [0; 32] => return None,
                Some(mesh) => key.and(&mesh.digest),
                None => key.and(format!("{:?}", form.geometry).as_bytes()),
            };
            key = key.and(format!("{:?}", form.wanted).as_bytes());
        }
        Some(key.key())
    }

    fn add(&mut self, robot: &'a Robot, geometry: &'a Geometry) -> Option<usize> {
        let key = Key::of(robot, geometry)?;
        Some(*self.index.entry(key).or_insert_with(|| {
            let (name, mesh) = match *geometry {
                Geometry::Mesh { mesh, .. } => {
                    let source = &robot.meshes()[mesh];
                    (source.stem(), Some(&*source.mesh))
                }
                Geometry::Box { .. } => ("box", None),
                Geometry::Cylinder { .. } => ("cylinder", None),
                Geometry::Sphere { .. } => ("sphere", None),
                Geometry::Capsule { .. } => ("capsule", None),
                Geometry::Missing { .. } => ("mesh", None),
            };
            let wanted = vec![Wanted::default(); mesh.map_or(1, |mesh| mesh.parts.len())];
            self.list.push(Form {
                name: name.to_owned(),
                geometry,
                mesh,
                wanted,
            });
            self.list.len() - 1
        }))
    }
}

/// Builds glTF meshes from forms and materials.
struct Meshes<'a> {
    robot: &'a Robot,
    forms: &'a Forms<'a>,
    stored: &'a [StoredForm],
    unpainted: Unpainted,
    known: HashMap<(Vec<Primitive>, Option<[u32; 4]>), Index>,
    /// Forms whose missing texture coordinates have been reported.
    told: HashSet<usize>,
    diagnostics: &'a mut Vec<Diagnostic>,
}

impl<'a> Meshes<'a> {
    fn visual(
        &mut self,
        link: LinkId,
        visual: usize,
        shape: &Shape,
        drawings: &mut Drawings,
    ) -> Option<Index> {
        let (index, form) = self.form(shape)?;
        let stored = self.stored.get(index)?;
        let mut primitives = Vec::new();
        for (part, accessors) in stored.parts.iter().enumerate() {
            let Some(accessors) = accessors else { continue };
            let at = VisualPart { link, visual, part };
            primitives.push(self.primitive(at, shape, index, accessors, drawings)?);
        }
        self.mesh(primitives, &form.name, stored.grid, drawings)
    }

    /// Returns the primitive for a part of a visual, whose form has the number `index`.
    fn primitive(
        &mut self,
        at: VisualPart,
        shape: &Shape,
        index: usize,
        accessors: &SurfaceAccessors,
        drawings: &mut Drawings,
    ) -> Option<Primitive> {
        let form = self.forms.list.get(index)?;
        let robot = self.robot;
        let material = robot.material_of(shape, at.part);
        let of_looks: Vec<(usize, Option<&Material>)> = robot
            .look_variants()
            .iter()
            .enumerate()
            .filter_map(|(n, look)| Some((n, look.materials.get(&at)?.as_ref())))
            .collect();
        let all = || {
            of_looks
                .iter()
                .map(|(_, material)| *material)
                .chain([material])
        };
        if all().flatten().any(Material::has_textures)
            && accessors.uv.is_none()
            && self.told.insert(index)
        {
            let textured = all().flatten().find(|material| material.has_textures());
            let name = textured.map_or("", |material| &material.name);
            self.diagnostics
                .push(texture_without_uvs(shape, &form.name, name));
        }
        // A primitive has the attributes that any of its variants needs.
        let uv = accessors
            .uv
            .filter(|_| all().flatten().any(Material::has_textures));
        let has_normals = |material: &Material| material.maps.contains_key(&MapRole::Normal);
        let tangent = accessors
            .tangent
            .filter(|_| uv.is_some() && all().flatten().any(has_normals));
        let color = accessors
            .color
            .filter(|_| shows_colors(form.mesh, material));
        let mut paint = |material: Option<&Material>| {
            let ground = Ground {
                textured: uv.is_some(),
                translucent: color.is_some() && accessors.translucent,
                // Mesh files often contain open surfaces, which have no inside; solids are closed.
                double_sided: form.mesh.is_some(),
            };
            let stand_in = || {
                if color.is_some() {
                    Material::of_corners("")
                } else {
                    Material::plain("", UNPAINTED)
                }
            };
            match material {
                Some(material) => drawings
                    .paint
                    .material(material, ground, &mut drawings.binary),
                None => drawings
                    .paint
                    .material(&stand_in(), ground, &mut drawings.binary),
            }
        };
        let is_bare = material.is_none() && color.is_none() && self.unpainted == Unpainted::Bare;
        let own = (!is_bare).then(|| paint(material));
        let mut mappings: Vec<Mapping> = Vec::new();
        for (look, material) in of_looks {
            let material = paint(material);
            match mappings
                .iter_mut()
                .find(|mapping| mapping.material == material)
            {
                Some(known) => known.variants.push(look),
                None => mappings.push(Mapping {
                    material,
                    variants: vec![look],
                }),
            }
        }
        let attributes = Attributes {
            position: accessors.position,
            normal: accessors.normal,
            tangent,
            uv,
            color,
        };
        let extensions = PrimitiveExtensions {
            variants: Mappings { mappings },
        };
        Some(Primitive {
            attributes,
            indices: accessors.indices,
            material: own,
            extensions,
        })
    }

    /// Adds the mesh of a collision shape, with the invisible material. Returns `None` if the shape
    /// has nothing to draw.
    fn collision(&mut self, shape: &Shape, drawings: &mut Drawings) -> Option<Index> {
        let (index, form) = self.form(shape)?;
        let stored = self.stored.get(index)?;
        let parts: Vec<&SurfaceAccessors> = stored.parts.iter().flatten().collect();
        if parts.is_empty() {
            return None;
        }
        let material = drawings.paint.unseen();
        let primitives = parts
            .into_iter()
            .map(|accessors| bare(accessors, material))
            .collect();
        self.mesh(primitives, &form.name, stored.grid, drawings)
    }

    fn form(&self, shape: &Shape) -> Option<(usize, &'a Form<'a>)> {
        let index = *self
            .forms
            .index
            .get(&Key::of(self.robot, &shape.geometry)?)?;
        Some((index, self.forms.list.get(index)?))
    }

    fn mesh(
        &mut self,
        primitives: Vec<Primitive>,
        name: &str,
        grid: Option<Grid>,
        drawings: &mut Drawings,
    ) -> Option<Index> {
        if primitives.is_empty() {
            return None;
        }
        // Two forms with different grids can have equal quantized positions, and then share all
        // accessors. They are still two meshes, because each has its own grid.
        let key = (primitives, grid.map(|grid| grid.bits()));
        Some(
            *self.known.entry(key).or_insert_with_key(|(primitives, _)| {
                drawings.meshes.push(Mesh {
                    name: name.to_owned(),
                    primitives: primitives.clone(),
                });
                drawings.grids.push(grid);
                drawings.meshes.len() - 1
            }),
        )
    }
}

/// Returns a primitive with positions and normals only.
fn bare(accessors: &SurfaceAccessors, material: Index) -> Primitive {
    let attributes = Attributes {
        position: accessors.position,
        normal: accessors.normal,
        tangent: None,
        uv: None,
        color: None,
    };
    let extensions = PrimitiveExtensions::default();
    Primitive {
        attributes,
        indices: accessors.indices,
        material: Some(material),
        extensions,
    }
}

fn texture_without_uvs(shape: &Shape, mesh: &str, material: &str) -> Diagnostic {
    let message = format!(
        "mesh \"{mesh}\" has no texture coordinates, so the texture of material \"{material}\" can't be placed on it"
    );
    Diagnostic::new(&codes::TEXTURE_WITHOUT_UVS, shape.place.clone(), message)
        .help("export the mesh with texture coordinates, or give the material a plain colour")
}
