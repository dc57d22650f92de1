//! Deduplicates meshes, materials, textures and the instances that visuals reference.
//!
//! The library decides which items are equal and names them. It authors nothing.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use nalgebra::Vector3;

use urdf_usd_robot::{
    Arena, ArenaMap, Channel, Geometry, Handle, LazyMesh, Link, LinkId, Map, MapRole, Material,
    MaterialId, MeshId, Pose, Robot, Shape, Texture, names,
};
use urdf_usd_usd_author::layout::{CONVEX_PARTS, FIDELITY, HULL, TRIMESH, default_material};

/// A mesh of a [`Library`].
pub(super) type MeshIndex = Handle<MeshEntry>;
/// A material of a [`Library`].
pub(super) type MaterialIndex = Handle<MaterialEntry>;
/// An instance of a [`Library`].
pub(super) type InstanceIndex = Handle<Instance>;

/// A mesh of geometries.usdc.
pub(super) struct MeshEntry {
    /// Name; a unique identifier once the library is finished.
    pub name: String,
    pub mesh: Arc<LazyMesh>,
    /// The faces of each material that does not cover the whole mesh; see [`Form::Mesh`].
    pub subsets: Vec<Subset>,
}

/// The faces of a mesh that share one material.
pub(super) struct Subset {
    pub material: MaterialIndex,
    pub faces: Vec<Range<u32>>,
}

impl Subset {
    /// Returns the number of faces.
    pub fn count(&self) -> usize {
        self.faces.iter().map(Range::len).sum()
    }
}

/// A material of materials.usda.
pub(super) struct MaterialEntry {
    pub name: String,
    pub material: Material,
    /// The primvars that it reads from the mesh it is bound to.
    pub from_corners: FromCorners,
    /// The paths of its images in the asset, by hash.
    files: HashMap<String, String>,
}

impl MaterialEntry {
    /// Returns the path of an image of the material in the asset.
    pub fn file(&self, texture: &Texture) -> &str {
        self.files.get(&texture.sha256).map_or("", String::as_str)
    }
}

/// The primvars, `displayColor` and `displayOpacity`, that a material reads from the mesh it is
/// bound to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct FromCorners {
    pub color: bool,
    /// True only if some corner is not opaque: renderers may depth-sort every surface whose opacity
    /// is connected to a network.
    pub opacity: bool,
}

impl FromCorners {
    /// Returns the primvars that `material` reads on `mesh`. UsdPreviewSurface can't multiply a
    /// texture by vertex colours, so a texture replaces them.
    fn of(material: &Material, mesh: Option<&LazyMesh>) -> Self {
        let Some(mesh) =
            mesh.filter(|mesh| material.shows_corner_colors && mesh.outline().has_colors)
        else {
            return Self::default();
        };
        let texture = material.base_color_texture.as_ref();
        let has_alpha = texture.is_some_and(|texture| texture.has_alpha)
            || material.maps.contains_key(&MapRole::Opacity);
        Self {
            color: texture.is_none(),
            opacity: !has_alpha && mesh.outline().has_translucent_corners,
        }
    }
}

/// A prototype that visuals reference.
pub(super) struct Instance {
    pub name: String,
    pub form: Form,
    /// Number of visuals that reference it.
    pub uses: usize,
}

/// The geometry of an instance.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Form {
    /// A primitive with its dimensions.
    Primitive(Geometry),
    /// A mesh. If it has subsets, their materials are bound inside the instance.
    Mesh(MeshIndex),
}

/// A visual of a link.
pub(super) struct Visual {
    /// `visual_0`: numbered by the visual's index in the source link, so that the name is stable
    /// when another visual fails.
    pub name: String,
    pub display_name: Option<String>,
    /// The unreadable mesh that this visual is a placeholder for.
    pub stand_in_for: Option<String>,
    pub pose: Pose,
    pub scale: Option<Vector3<f64>>,
    /// One look for each of [`TIERS`].
    pub looks: [Look; 3],
}

impl Visual {
    /// Returns whether the looks of the tiers differ.
    pub fn has_tiers(&self) -> bool {
        self.looks.iter().any(|look| *look != self.default_look())
    }

    /// Returns the look in [`DEFAULT_TIER`].
    pub fn default_look(&self) -> Look {
        let [_, medium, _] = self.looks;
        medium
    }
}

/// The instance and material that a visual shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Look {
    pub instance: InstanceIndex,
    /// The material bound to parts of the instance that have none of their own.
    pub material: MaterialIndex,
}

/// A collider of a link.
pub(super) struct Collider {
    /// `collision_0`.
    pub name: String,
    pub display_name: Option<String>,
    pub pose: Pose,
    pub scale: Option<Vector3<f64>>,
    pub form: ColliderForm,
}

/// The geometry of a collider.
pub(super) enum ColliderForm {
    Primitive(Geometry),
    /// The convex hull, or the mesh itself if it has none, and the source mesh.
    Mesh {
        convex_hull: MeshIndex,
        trimesh: MeshIndex,
        /// At least two, or none.
        convex_parts: Vec<MeshIndex>,
    },
}

/// A mesh of a collider in a variant of [`FIDELITY`].
pub(super) struct ColliderMesh {
    pub variant: &'static str,
    /// Name of its prim.
    pub name: String,
    pub mesh: MeshIndex,
    pub kind: ColliderMeshKind,
}

impl ColliderMesh {
    /// Returns the path of its prim in a scope of colliders.
    pub fn path(&self, scope: &str) -> String {
        format!("{scope}{{{FIDELITY}={}}}{}", self.variant, self.name)
    }
}

/// The relation of a mesh of a collider to the mesh of its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColliderMeshKind {
    Source,
    Hull,
    /// One of several convex parts.
    Part,
}

impl Collider {
    /// Returns the names and meshes of its convex parts, which are alone in their variant.
    pub fn convex_parts(&self) -> impl Iterator<Item = (String, MeshIndex)> {
        let parts = match &self.form {
            ColliderForm::Mesh { convex_parts, .. } => convex_parts.as_slice(),
            ColliderForm::Primitive(_) => &[],
        };
        let name = move |(number, part): (usize, &MeshIndex)| {
            (format!("{}_part_{number}", self.name), *part)
        };
        parts.iter().enumerate().map(name)
    }

    /// Returns the meshes of all variants; none for a primitive, which is outside of the variants.
    pub fn meshes(&self, is_decomposed: bool) -> Vec<ColliderMesh> {
        let ColliderForm::Mesh {
            convex_hull,
            trimesh,
            convex_parts,
        } = &self.form
        else {
            return Vec::new();
        };
        let whole = |variant, mesh: MeshIndex| ColliderMesh {
            variant,
            name: self.name.clone(),
            mesh,
            kind: if mesh == *trimesh {
                ColliderMeshKind::Source
            } else {
                ColliderMeshKind::Hull
            },
        };
        let mut meshes = vec![whole(HULL, *convex_hull), whole(TRIMESH, *trimesh)];
        if is_decomposed && convex_parts.is_empty() {
            meshes.push(whole(CONVEX_PARTS, *convex_hull));
        }
        let parts = self.convex_parts().map(|(name, mesh)| ColliderMesh {
            variant: CONVEX_PARTS,
            name,
            mesh,
            kind: ColliderMeshKind::Part,
        });
        meshes.extend(parts);
        meshes
    }
}

/// The shared items of the asset, and the visuals and colliders of each link.
pub(super) struct Library {
    pub meshes: Arena<MeshEntry>,
    pub materials: Arena<MaterialEntry>,
    /// Names of materials that share the entry of another name.
    pub merged: BTreeSet<(MaterialIndex, String)>,
    pub instances: Arena<Instance>,
    /// Paths in the asset with their contents.
    pub textures: Vec<(String, Arc<Texture>)>,
    pub visuals: ArenaMap<Link, Vec<Visual>>,
    pub colliders: ArenaMap<Link, Vec<Collider>>,
    /// True if some mesh has convex parts.
    pub is_decomposed: bool,
}

/// A mesh and the bits of the scale that is baked into its points.
#[derive(PartialEq, Eq, Hash, Clone, Copy)]
struct MeshKey {
    mesh: *const LazyMesh,
    scale: [u64; 3],
}

/// Maximum number of triangles in all copies of meshes that exist only because a mesh is used with
/// several scales. Beyond that, the scale is authored on the leaf prim.
const MAX_COPIED: usize = 4 << 20;
/// Range of sizes, in metres from the origin, that baked points may have: single precision
/// represents these without loss.
const BAKED_SIZES: Range<f64> = 1e-20..1e20;

/// Key of materials that look alike: their numbers by bits, and the texture.
type LooksKey = (
    [u32; 10],
    Option<(String, bool)>,
    Vec<MapKey>,
    FromCorners,
    String,
);

/// Key of a map: its role, image, channel, the bits of its strength and its formatted placement.
type MapKey = (MapRole, String, Channel, u32, String);

/// Key of equal instances: primitives by kind and the bits of their dimensions.
#[derive(PartialEq, Eq, Hash)]
enum FormKey {
    Primitive(u8, [u64; 3]),
    Mesh(MeshIndex),
}

impl FormKey {
    fn of(form: &Form) -> Self {
        // Adding 0.0 turns −0.0 into 0.0, so that both have the same key.
        let solid = |kind, a: f64, b: f64, c: f64| {
            Self::Primitive(kind, [a, b, c].map(|number| (number + 0.0).to_bits()))
        };
        match *form {
            Form::Mesh(mesh) => Self::Mesh(mesh),
            Form::Primitive(Geometry::Box { size }) => solid(0, size.x, size.y, size.z),
            Form::Primitive(Geometry::Cylinder { radius, length }) => solid(1, radius, length, 0.0),
            Form::Primitive(Geometry::Sphere { radius }) => solid(2, radius, 0.0, 0.0),
            Form::Primitive(Geometry::Capsule { radius, length }) => solid(3, radius, length, 0.0),
            // Form::Primitive never holds a mesh; the arm makes the match exhaustive.
            Form::Primitive(Geometry::Mesh { scale, .. } | Geometry::Missing { scale }) => {
                solid(4, scale.x, scale.y, scale.z)
            }
        }
    }
}

struct Builder<'a> {
    robot: &'a Robot,
    library: Library,
    mesh_index: HashMap<MeshKey, MeshIndex>,
    /// The split of each scale of each source mesh between its points and the leaf.
    baked: HashMap<(MeshId, [u64; 3]), Scale>,
    /// Meshes already used with some scale, and the total triangles of their copies with another
    /// scale.
    scaled: HashSet<*const LazyMesh>,
    copied: usize,
    /// The single material that covers each visual mesh, if it has one.
    coverings: HashMap<MeshIndex, Option<MaterialIndex>>,
    /// The paths of textures in the asset, by hash.
    texture_files: HashMap<String, String>,
    /// The texture paths in use, and the next number to try for each name.
    texture_paths: HashSet<String>,
    texture_numbers: HashMap<String, usize>,
    /// Materials by look, and instances by form.
    material_index: HashMap<LooksKey, MaterialIndex>,
    instance_index: HashMap<FormKey, InstanceIndex>,
    source_material: HashMap<MaterialId, MaterialIndex>,
    default_material: Option<MaterialIndex>,
}

impl Library {
    pub(super) fn new(robot: &Robot) -> Self {
        let mut builder = Builder {
            robot,
            library: Self {
                meshes: Arena::default(),
                materials: Arena::default(),
                merged: BTreeSet::new(),
                instances: Arena::default(),
                textures: Vec::new(),
                visuals: ArenaMap::new(robot.links(), |_, _| Vec::new()),
                colliders: ArenaMap::new(robot.links(), |_, _| Vec::new()),
                is_decomposed: robot
                    .meshes()
                    .values()
                    .any(|source| !source.convex_parts.is_empty()),
            },
            mesh_index: HashMap::new(),
            baked: HashMap::new(),
            scaled: HashSet::new(),
            copied: 0,
            coverings: HashMap::new(),
            texture_files: HashMap::new(),
            texture_paths: HashSet::new(),
            texture_numbers: HashMap::new(),
            material_index: HashMap::new(),
            instance_index: HashMap::new(),
            source_material: HashMap::new(),
            default_material: None,
        };
        for link in robot.links().handles() {
            builder.add_link(link);
        }
        builder.finish()
    }
}

impl Builder<'_> {
    fn add_link(&mut self, id: LinkId) {
        let link = &self.robot.links()[id];
        let visuals = link
            .visuals
            .iter()
            .enumerate()
            .filter_map(|(index, shape)| self.visual(index, shape))
            .collect();
        let colliders = link
            .collisions
            .iter()
            .enumerate()
            .filter_map(|(index, shape)| self.collider(index, shape))
            .collect();
        self.library.visuals[id] = visuals;
        self.library.colliders[id] = colliders;
    }

    /// Plans a visual; `None` if it has no visible geometry.
    fn visual(&mut self, index: usize, shape: &Shape) -> Option<Visual> {
        let (forms, scale) = match &shape.geometry {
            Geometry::Mesh { mesh, scale } => {
                let (meshes, scale) = self.tiers(*mesh, *scale);
                (meshes.map(Form::Mesh), scale)
            }
            Geometry::Missing { .. } => return None,
            primitive => (
                std::array::from_fn(|_| Form::Primitive(primitive.clone())),
                None,
            ),
        };
        let looks = forms.map(|form| {
            let covering = match form {
                Form::Mesh(mesh) => self.covering(mesh),
                Form::Primitive(_) => None,
            };
            let material = covering.unwrap_or_else(|| self.shape_material(shape, &form));
            Look {
                instance: self.instance(form),
                material,
            }
        });
        // Only one tier is composed at a time.
        let mut shown: Vec<InstanceIndex> = looks.iter().map(|look| look.instance).collect();
        shown.dedup();
        for instance in shown {
            self.library.instances[instance].uses += 1;
        }
        let name = format!("visual_{index}");
        let stand_in_for = shape.stand_in_for.clone();
        Some(Visual {
            name,
            display_name: shape.name.clone(),
            stand_in_for,
            pose: shape.origin,
            scale,
            looks,
        })
    }

    /// Returns a mesh in each of [`TIERS`] with the scale baked in, and the rest of the scale,
    /// which belongs on the leaf.
    fn tiers(&mut self, id: MeshId, scale: Vector3<f64>) -> ([MeshIndex; 3], Option<Vector3<f64>>) {
        let (high, Scale { baked, left }) = self.mesh(id, scale);
        let tiers = &self.robot.meshes()[id].tiers;
        let mut tier = |mesh: &Option<Arc<LazyMesh>>, finer: MeshIndex, suffix: &str| match mesh {
            Some(mesh) => {
                let name = format!("{}_{suffix}", self.library.meshes[high].name);
                self.mesh_entry(mesh, baked, name)
            }
            None => finer,
        };
        let medium = tier(&tiers.medium, high, "medium");
        let low = tier(&tiers.low, medium, "low");
        ([high, medium, low], left)
    }

    /// Plans a collider; `None` if it has no geometry.
    fn collider(&mut self, index: usize, shape: &Shape) -> Option<Collider> {
        let (form, scale) = match &shape.geometry {
            Geometry::Mesh { mesh: id, scale } => {
                let (trimesh, Scale { baked, left }) = self.mesh(*id, *scale);
                let hull = self.robot.meshes()[*id].hull.clone();
                let convex_hull = match hull {
                    Some(hull) => {
                        let name = format!("{}_hull", self.library.meshes[trimesh].name);
                        self.mesh_entry(&hull, baked, name)
                    }
                    None => trimesh,
                };
                let convex_parts = self.convex_parts(*id, trimesh, baked);
                (
                    ColliderForm::Mesh {
                        convex_hull,
                        trimesh,
                        convex_parts,
                    },
                    left,
                )
            }
            Geometry::Missing { .. } => return None,
            primitive => (ColliderForm::Primitive(primitive.clone()), None),
        };
        let name = format!("collision_{index}");
        Some(Collider {
            name,
            display_name: shape.name.clone(),
            pose: shape.origin,
            scale,
            form,
        })
    }

    /// Returns the convex parts of a mesh with the scale baked in, if it has several.
    fn convex_parts(&mut self, id: MeshId, mesh: MeshIndex, baked: Vector3<f64>) -> Vec<MeshIndex> {
        let parts = &self.robot.meshes()[id].convex_parts;
        if parts.len() < 2 {
            return Vec::new();
        }
        let stem = self.library.meshes[mesh].name.clone();
        let entry = |(number, part)| self.mesh_entry(part, baked, format!("{stem}_part_{number}"));
        parts.iter().enumerate().map(entry).collect()
    }

    /// Returns the mesh with the scale baked in, and the split of the scale.
    fn mesh(&mut self, id: MeshId, scale: Vector3<f64>) -> (MeshIndex, Scale) {
        let source = &self.robot.meshes()[id];
        let split = self.split(id, &source.mesh, scale);
        let stem = stem(&source.uri);
        let name = if scale.min() > 0.0 {
            stem
        } else {
            format!("{stem}_mirrored")
        };
        (self.mesh_entry(&source.mesh, split.baked, name), split)
    }

    /// Splits a scale between points and leaf. It is baked into the points unless they would exceed
    /// single precision or the copies for other scales would exceed [`MAX_COPIED`]. Signs are
    /// always baked, so that the winding stays right.
    fn split(&mut self, id: MeshId, mesh: &Arc<LazyMesh>, scale: Vector3<f64>) -> Scale {
        if let Some(&known) = self.baked.get(&(id, bits(scale))) {
            return known;
        }
        let is_there = self.mesh_index.contains_key(&MeshKey {
            mesh: Arc::as_ptr(mesh),
            scale: bits(scale),
        });
        let is_first = self.scaled.insert(Arc::as_ptr(mesh));
        // The first scale of a mesh takes the place of its source; only further ones are copies.
        let copies = if is_first || is_there {
            0
        } else {
            mesh.outline().triangles
        };
        let split = if is_bakeable(mesh, scale) && self.copied.saturating_add(copies) <= MAX_COPIED
        {
            self.copied += copies;
            Scale {
                baked: scale,
                left: None,
            }
        } else {
            let left = scale.abs();
            Scale {
                baked: scale.map(f64::signum),
                left: (left != Vector3::repeat(1.0)).then_some(left),
            }
        };
        self.baked.insert((id, bits(scale)), split);
        split
    }

    fn mesh_entry(&mut self, mesh: &Arc<LazyMesh>, scale: Vector3<f64>, name: String) -> MeshIndex {
        let key = MeshKey {
            mesh: Arc::as_ptr(mesh),
            scale: bits(scale),
        };
        if let Some(&index) = self.mesh_index.get(&key) {
            return index;
        }
        let mesh = if scale == Vector3::repeat(1.0) {
            mesh.clone()
        } else {
            Arc::new(mesh.scaled(scale))
        };
        let index = self.library.meshes.push(MeshEntry {
            name,
            mesh,
            subsets: Vec::new(),
        });
        self.mesh_index.insert(key, index);
        index
    }

    /// Returns the material that covers a whole visual mesh. A mesh without one gets a subset for
    /// each of its own materials.
    fn covering(&mut self, index: MeshIndex) -> Option<MaterialIndex> {
        if let Some(known) = self.coverings.get(&index) {
            return *known;
        }
        let entry = &self.library.meshes[index];
        let (mesh, name) = (entry.mesh.clone(), entry.name.clone());
        let mut subsets: Vec<Subset> = Vec::new();
        for part in &mesh.parts {
            let Some(material) = part
                .material
                .and_then(|material| mesh.materials.get(material))
            else {
                continue;
            };
            let material = self.named_material(material, &name, Some(&mesh));
            // Lossless: readers limit meshes to far fewer triangles than `u32` can index.
            let faces = part.triangles.start as u32..part.triangles.end as u32;
            match subsets
                .iter_mut()
                .find(|subset| subset.material == material)
            {
                Some(subset) => subset.faces.push(faces),
                None => subsets.push(Subset {
                    material,
                    faces: vec![faces],
                }),
            }
        }
        let covering = match &subsets[..] {
            [only] if only.count() == mesh.outline().triangles => Some(only.material),
            _ => {
                self.library.meshes[index].subsets = subsets;
                None
            }
        };
        self.coverings.insert(index, covering);
        covering
    }

    /// Returns the source material of a shape, else one that shows the colours of its mesh, else
    /// the default one.
    fn shape_material(&mut self, shape: &Shape, form: &Form) -> MaterialIndex {
        if let Some(id) = shape.material {
            if let Some(&index) = self.source_material.get(&id) {
                return index;
            }
            let index = self.named_material(&self.robot.materials()[id], "", None);
            self.source_material.insert(id, index);
            return index;
        }
        if let Form::Mesh(mesh) = *form
            && self.library.meshes[mesh].mesh.outline().has_colors
        {
            let mesh = self.library.meshes[mesh].mesh.clone();
            return self.material(
                &Material::of_corners("corner_colors"),
                "corner_colors",
                Some(&mesh),
            );
        }
        match self.default_material {
            Some(index) => index,
            None => {
                let index = self.material(&default_material(), "default", None);
                self.default_material = Some(index);
                index
            }
        }
    }

    /// Returns the entry for a material of the source like [`Self::material`], and notes its name if
    /// the entry has another one.
    fn named_material(
        &mut self,
        material: &Material,
        of: &str,
        mesh: Option<&LazyMesh>,
    ) -> MaterialIndex {
        let index = self.material(material, of, mesh);
        let entry = &self.library.materials[index];
        if !material.name.is_empty() && material.name != entry.material.name {
            self.library.merged.insert((index, material.name.clone()));
        }
        index
    }

    /// Returns the entry for a material with this look, and adds it if there is none. An unnamed
    /// material is named after its owner `of`, which may be empty. `mesh` is the mesh it is bound
    /// to, if that affects its look.
    fn material(
        &mut self,
        material: &Material,
        of: &str,
        mesh: Option<&LazyMesh>,
    ) -> MaterialIndex {
        let from_corners = FromCorners::of(material, mesh);
        let texture = material
            .base_color_texture
            .as_ref()
            .map(|texture| (texture.sha256.clone(), texture.has_alpha));
        let surface = [material.metallic, material.roughness, material.ior];
        let numbers = material
            .base_color
            .into_iter()
            .chain(surface)
            .chain(material.emissive);
        let mut bits = [0; 10];
        // Adding 0.0 turns −0.0 into 0.0, so that both have the same key.
        bits.iter_mut()
            .zip(numbers)
            .for_each(|(bits, number)| *bits = (number + 0.0).to_bits());
        let map = |(role, map): (&MapRole, &Map)| {
            let placement = format!("{:?}", map.placement);
            (
                *role,
                map.texture.sha256.clone(),
                map.channel,
                map.strength.to_bits(),
                placement,
            )
        };
        let lacquer = (material.clearcoat, material.clearcoat_roughness);
        let rest = format!(
            "{:?}",
            (
                material.base_color_placement,
                material.opacity_threshold,
                material.specular,
                lacquer
            )
        );
        let maps = material.maps.iter().map(map).collect();
        let key = (bits, texture, maps, from_corners, rest);
        if let Some(known) = self.material_index.get(&key) {
            return *known;
        }
        let files = material
            .textures()
            .map(|texture| (texture.sha256.clone(), self.texture(texture)))
            .collect();
        let name = match (material.name.as_str(), of) {
            // Unnamed URDF materials are named after their element (mapping, appendix E).
            ("", "") => "material".to_owned(),
            ("", of) => format!("{of}_material"),
            (name, _) => name.to_owned(),
        };
        let index = self.library.materials.push(MaterialEntry {
            name,
            material: material.clone(),
            from_corners,
            files,
        });
        self.material_index.insert(key, index);
        index
    }

    fn texture(&mut self, texture: &Arc<Texture>) -> String {
        let Self {
            library: Library { textures, .. },
            texture_paths: taken,
            texture_numbers: numbers,
            ..
        } = self;
        let path = self
            .texture_files
            .entry(texture.sha256.clone())
            .or_insert_with(|| {
                // Encodes file names as identifiers: stricter than necessary, but safe on every
                // file system.
                let stem = names::identifiers(&[&texture.name], "texture", &[]).remove(0);
                let extension = texture.format.extension();
                let next = numbers.entry(format!("{stem}.{extension}")).or_insert(0);
                let path = loop {
                    let path = match *next {
                        0 => format!("textures/{stem}.{extension}"),
                        n => format!("textures/{stem}_{n}.{extension}"),
                    };
                    *next += 1;
                    if taken.insert(path.clone()) {
                        break path;
                    }
                };
                textures.push((path.clone(), texture.clone()));
                path
            });
        path.clone()
    }

    fn instance(&mut self, form: Form) -> InstanceIndex {
        let instances = &mut self.library.instances;
        *self
            .instance_index
            .entry(FormKey::of(&form))
            .or_insert_with(|| {
                instances.push(Instance {
                    name: String::new(),
                    form,
                    uses: 0,
                })
            })
    }

    /// Assigns unique names, one pass per list.
    fn finish(mut self) -> Library {
        let Library {
            meshes,
            materials,
            instances,
            ..
        } = &mut self.library;
        let of_meshes = meshes.values_mut().map(|entry| &mut entry.name);
        make_identifiers(of_meshes, "mesh");
        let of_materials = materials.values_mut().map(|entry| &mut entry.name);
        make_identifiers(of_materials, "material");
        for instance in instances.values_mut() {
            instance.name = match &instance.form {
                Form::Mesh(mesh) => meshes[*mesh].name.clone(),
                Form::Primitive(geometry) => primitive_name(geometry).to_owned(),
            };
        }
        let of_instances = instances.values_mut().map(|instance| &mut instance.name);
        make_identifiers(of_instances, "instance");
        self.library
    }
}

/// Makes each name a unique identifier.
fn make_identifiers<'a>(names: impl Iterator<Item = &'a mut String>, fallback: &str) {
    let names: Vec<&mut String> = names.collect();
    let wanted: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
    let identifiers = names::identifiers(&wanted, fallback, &[]);
    for (name, identifier) in names.into_iter().zip(identifiers) {
        *name = identifier;
    }
}

/// The split of a source mesh's scale.
#[derive(Clone, Copy)]
struct Scale {
    /// The factor baked into the points (REP-158 §1.1).
    baked: Vector3<f64>,
    /// The remaining factor for the leaf prim, if any.
    left: Option<Vector3<f64>>,
}

/// Returns the bits of a scale, for use as a key.
fn bits(scale: Vector3<f64>) -> [u64; 3] {
    [scale.x, scale.y, scale.z].map(f64::to_bits)
}

/// Returns whether a scale can be baked into the points of a mesh without loss.
fn is_bakeable(mesh: &LazyMesh, scale: Vector3<f64>) -> bool {
    let size = mesh.bounds().map_or(1.0, |(low, high)| {
        let corners = low.into_iter().zip(high);
        corners.zip(&scale).fold(0.0, |most, ((low, high), scale)| {
            f64::max(most, f64::from(low.abs().max(high.abs())) * scale.abs())
        })
    });
    BAKED_SIZES.contains(&size)
}

/// Returns the name of a mesh: its file name without folders and extension.
fn stem(uri: &str) -> String {
    let decoded = percent_encoding::percent_decode_str(uri).decode_utf8_lossy();
    let file = decoded.rsplit(['/', '\\']).next().unwrap_or_default();
    file.rsplit_once('.')
        .map_or(file, |(stem, _)| stem)
        .to_owned()
}

fn primitive_name(geometry: &Geometry) -> &'static str {
    match geometry {
        Geometry::Box { .. } => "box",
        Geometry::Cylinder { .. } => "cylinder",
        Geometry::Sphere { .. } => "sphere",
        Geometry::Capsule { .. } => "capsule",
        Geometry::Mesh { .. } | Geometry::Missing { .. } => "mesh",
    }
}
