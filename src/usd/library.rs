//! Everything that is written once and used many times: meshes, materials, textures, and the instances that visuals pull in.
//!
//! The library decides what is the same as what, and names it. It authors nothing.

use std::collections::HashMap;
use std::sync::Arc;

use nalgebra::Vector3;

use crate::robot::{Geometry, LinkId, Material, MaterialId, Mesh, Pose, Robot, Shape, Texture, names};

/// Indices into the library's lists.
pub(super) type MeshIndex = usize;
pub(super) type MaterialIndex = usize;
pub(super) type InstanceIndex = usize;

/// A mesh of geometries.usdc.
pub(super) struct MeshEntry {
    pub name: String,
    pub mesh: Arc<Mesh>,
}

/// A material of materials.usda.
pub(super) struct MaterialEntry {
    pub name: String,
    pub material: Material,
    /// The texture's path in the asset.
    pub texture: Option<String>,
}

/// What a visual pulls in.
pub(super) struct Instance {
    pub name: String,
    pub form: Form,
    /// How many visuals use it.
    pub uses: usize,
}

/// What an instance is made of.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Form {
    /// A primitive, by its dimensions.
    Primitive(Geometry),
    /// A mesh, and the material of each of its parts that has one of its own, unless one material covers it all.
    Mesh { mesh: MeshIndex, parts: Vec<(std::ops::Range<usize>, MaterialIndex)>, triangles: usize },
}

/// A visual of a link.
pub(super) struct Visual {
    /// `visual_0`: by its place among the link's visuals in the source, so that it doesn't change when another fails.
    pub name: String,
    pub display_name: Option<String>,
    pub pose: Pose,
    pub scale: Option<Vector3<f64>>,
    pub instance: InstanceIndex,
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

/// What a collider is.
pub(super) enum ColliderForm {
    Primitive(Geometry),
    /// The convex hull, or the mesh itself where it has none; and the mesh.
    Mesh {
        convex_hull: MeshIndex,
        trimesh: MeshIndex,
    },
}

/// What the asset shares, and what each link has of it.
#[derive(Default)]
pub(super) struct Library {
    pub meshes: Vec<MeshEntry>,
    pub materials: Vec<MaterialEntry>,
    pub instances: Vec<Instance>,
    /// Paths in the asset, and contents.
    pub textures: Vec<(String, Arc<Texture>)>,
    /// By link.
    pub visuals: Vec<Vec<Visual>>,
    /// By link.
    pub colliders: Vec<Vec<Collider>>,
}

/// What shows where neither the mesh nor the source names a material.
const DEFAULT_COLOR: [f32; 4] = [0.5, 0.5, 0.5, 1.0];

#[derive(PartialEq, Eq, Hash, Clone, Copy)]
struct MeshKey {
    mesh: *const Mesh,
    mirrored: [bool; 3],
}

struct Builder<'a> {
    robot: &'a Robot,
    library: Library,
    mesh_index: HashMap<MeshKey, MeshIndex>,
    mesh_names: Vec<String>,
    material_names: Vec<String>,
    texture_index: HashMap<String, usize>,
    source_material: HashMap<MaterialId, MaterialIndex>,
    default_material: Option<MaterialIndex>,
}

impl Library {
    pub(super) fn new(robot: &Robot) -> Self {
        let mut builder = Builder {
            robot,
            library: Self::default(),
            mesh_index: HashMap::new(),
            mesh_names: Vec::new(),
            material_names: Vec::new(),
            texture_index: HashMap::new(),
            source_material: HashMap::new(),
            default_material: None,
        };
        for link in 0..robot.links.len() {
            builder.add_link(LinkId(link));
        }
        builder.finish()
    }
}

impl Builder<'_> {
    fn add_link(&mut self, link: LinkId) {
        let link = &self.robot.links[link.0];
        let visuals = link.visuals.iter().enumerate().filter_map(|(index, shape)| self.visual(index, shape)).collect();
        let colliders = link.collisions.iter().enumerate().filter_map(|(index, shape)| self.collider(index, shape)).collect();
        self.library.visuals.push(visuals);
        self.library.colliders.push(colliders);
    }

    fn visual(&mut self, index: usize, shape: &Shape) -> Option<Visual> {
        let (form, scale, covering) = match &shape.geometry {
            Geometry::Mesh { mesh, scale } => {
                let (mesh, scale) = self.mesh(*mesh, *scale)?;
                let source = self.library.meshes[mesh].mesh.clone();
                let stem = self.mesh_names[mesh].clone();
                let triangles = source.triangles.len();
                let own: Vec<(std::ops::Range<usize>, MaterialIndex)> = source
                    .parts
                    .iter()
                    .filter_map(|part| {
                        let material = source.materials.get(part.material?)?;
                        Some((part.triangles.clone(), self.material(material, &stem)))
                    })
                    .collect();
                let covers_all = own.len() == source.parts.len() && own.iter().all(|(_, material)| *material == own[0].1);
                match own.first() {
                    Some(&(_, material)) if covers_all => {
                        (Form::Mesh { mesh, parts: Vec::new(), triangles }, scale, Some(material))
                    }
                    _ => (Form::Mesh { mesh, parts: own, triangles }, scale, None),
                }
            }
            primitive => (Form::Primitive(primitive.clone()), None, None),
        };
        let material = match covering {
            Some(material) => material,
            None => self.shape_material(shape),
        };
        let instance = self.instance(form);
        let name = format!("visual_{index}");
        Some(Visual { name, display_name: shape.name.clone(), pose: shape.origin, scale, instance, material })
    }

    fn collider(&mut self, index: usize, shape: &Shape) -> Option<Collider> {
        let (form, scale) = match &shape.geometry {
            Geometry::Mesh { mesh: id, scale } => {
                let (trimesh, positive) = self.mesh(*id, *scale)?;
                let hull = self.robot.meshes[id.0].hull.clone();
                let convex_hull = match hull {
                    Some(hull) => {
                        let name = format!("{}_hull", self.mesh_names[trimesh]);
                        self.mesh_entry(&hull, mirrored_axes(*scale), name)
                    }
                    None => trimesh,
                };
                (ColliderForm::Mesh { convex_hull, trimesh }, positive)
            }
            primitive => (ColliderForm::Primitive(primitive.clone()), None),
        };
        let name = format!("collision_{index}");
        Some(Collider { name, display_name: shape.name.clone(), pose: shape.origin, scale, form })
    }

    /// The mesh with negative factors of the scale baked in, and what is left of the scale.
    fn mesh(&mut self, id: crate::robot::MeshId, scale: Vector3<f64>) -> Option<(MeshIndex, Option<Vector3<f64>>)> {
        let source = &self.robot.meshes[id.0];
        let mesh = source.mesh.as_ref()?;
        let index = self.mesh_entry(mesh, mirrored_axes(scale), stem(&source.uri));
        let positive = scale.abs();
        Some((index, (positive != Vector3::repeat(1.0)).then_some(positive)))
    }

    fn mesh_entry(&mut self, mesh: &Arc<Mesh>, mirrored: [bool; 3], name: String) -> MeshIndex {
        let key = MeshKey { mesh: Arc::as_ptr(mesh), mirrored };
        if let Some(&index) = self.mesh_index.get(&key) {
            return index;
        }
        let is_mirrored = mirrored != [false; 3];
        let mesh = if is_mirrored { Arc::new(mesh.mirrored(mirrored)) } else { mesh.clone() };
        let index = self.library.meshes.len();
        self.library.meshes.push(MeshEntry { name: String::new(), mesh });
        self.mesh_names.push(if is_mirrored { format!("{name}_mirrored") } else { name });
        self.mesh_index.insert(key, index);
        index
    }

    /// The material of a shape in the source, or the default one.
    fn shape_material(&mut self, shape: &Shape) -> MaterialIndex {
        if let Some(id) = shape.material {
            if let Some(&index) = self.source_material.get(&id) {
                return index;
            }
            let index = self.material(&self.robot.materials[id.0], "material");
            self.source_material.insert(id, index);
            return index;
        }
        match self.default_material {
            Some(index) => index,
            None => {
                let index = self.material(&Material::plain("default", DEFAULT_COLOR), "default");
                self.default_material = Some(index);
                index
            }
        }
    }

    /// The entry of a material that looks like this one.
    fn material(&mut self, material: &Material, fallback: &str) -> MaterialIndex {
        let looks_like = |entry: &MaterialEntry| {
            let same_texture = entry.material.base_color_texture.as_ref().map(|t| &t.sha256)
                == material.base_color_texture.as_ref().map(|t| &t.sha256);
            let other = &entry.material;
            same_texture
                && other.base_color == material.base_color
                && other.metallic == material.metallic
                && other.roughness == material.roughness
                && other.emissive == material.emissive
        };
        if let Some(index) = self.library.materials.iter().position(looks_like) {
            return index;
        }
        let texture = material.base_color_texture.as_ref().map(|texture| self.texture(texture));
        let name = if material.name.is_empty() { format!("{fallback}_material") } else { material.name.clone() };
        self.library.materials.push(MaterialEntry { name: String::new(), material: material.clone(), texture });
        self.material_names.push(name);
        self.library.materials.len() - 1
    }

    fn texture(&mut self, texture: &Arc<Texture>) -> String {
        let textures = &mut self.library.textures;
        let index = *self.texture_index.entry(texture.sha256.clone()).or_insert_with(|| {
            let taken: Vec<&str> = textures.iter().map(|(path, _)| path.as_str()).collect();
            // File names: the encoding of identifiers is more than is needed, and safe everywhere.
            let stem = names::identifiers(&[&texture.name], "texture", &[]).remove(0);
            let extension = texture.format.extension();
            let path =
                (0..)
                    .map(|n| {
                        if n == 0 { format!("textures/{stem}.{extension}") } else { format!("textures/{stem}_{n}.{extension}") }
                    })
                    .find(|path| !taken.contains(&path.as_str()))
                    .unwrap_or_default();
            textures.push((path, texture.clone()));
            textures.len() - 1
        });
        textures[index].0.clone()
    }

    fn instance(&mut self, form: Form) -> InstanceIndex {
        let instances = &mut self.library.instances;
        let index = instances.iter().position(|instance| instance.form == form).unwrap_or_else(|| {
            instances.push(Instance { name: String::new(), form, uses: 0 });
            instances.len() - 1
        });
        instances[index].uses += 1;
        index
    }

    /// Names everything, each list in one pass.
    fn finish(mut self) -> Library {
        let library = &mut self.library;
        for (entry, name) in library.meshes.iter_mut().zip(identifiers(&self.mesh_names, "mesh")) {
            entry.name = name;
        }
        for (entry, name) in library.materials.iter_mut().zip(identifiers(&self.material_names, "material")) {
            entry.name = name;
        }
        let names: Vec<String> = library
            .instances
            .iter()
            .map(|instance| match &instance.form {
                Form::Mesh { mesh, .. } => library.meshes[*mesh].name.clone(),
                Form::Primitive(geometry) => primitive_name(geometry).to_owned(),
            })
            .collect();
        for (instance, name) in library.instances.iter_mut().zip(identifiers(&names, "instance")) {
            instance.name = name;
        }
        self.library
    }
}

fn identifiers(wanted: &[String], fallback: &str) -> Vec<String> {
    names::identifiers(&wanted.iter().map(String::as_str).collect::<Vec<_>>(), fallback, &[])
}

fn mirrored_axes(scale: Vector3<f64>) -> [bool; 3] {
    [scale.x < 0.0, scale.y < 0.0, scale.z < 0.0]
}

/// The name of a mesh: of its file, without folders and ending.
fn stem(uri: &str) -> String {
    let decoded = percent_encoding::percent_decode_str(uri).decode_utf8_lossy();
    let file = decoded.rsplit(['/', '\\']).next().unwrap_or_default();
    file.rsplit_once('.').map_or(file, |(stem, _)| stem).to_owned()
}

fn primitive_name(geometry: &Geometry) -> &'static str {
    match geometry {
        Geometry::Box { .. } => "box",
        Geometry::Cylinder { .. } => "cylinder",
        Geometry::Sphere { .. } => "sphere",
        Geometry::Capsule { .. } => "capsule",
        Geometry::Mesh { .. } => "mesh",
    }
}
