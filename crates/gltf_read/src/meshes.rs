//! Reads the meshes of shapes, and merges those that differ in their materials only. The writer
//! stores a mesh once for each set of materials; merging restores a single mesh with materials on
//! the shapes.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nalgebra::{Matrix3, Vector3};

use super::Draft;
use super::codes;
use super::findings::Findings;
use super::placement::Placement;
use super::shapes::{self, Copies, Form};
use urdf_usd_gltf_extension::Json;
use urdf_usd_gltf_extension::UNPAINTED;
use urdf_usd_gltf_extension::axes;
use urdf_usd_mesh::gltf::{Meshes, Wanted, WantedPrimitive};
use urdf_usd_mesh::{self as mesh, digest};
use urdf_usd_resolve::{File, Files};
use urdf_usd_robot::{
    Geometry, LookVariant, Material, MaterialId, MeshId, MeshSource, Robot, Shape, VisualPart,
};

/// Maximum number of meshes in a group, and of groups that a mesh is compared with.
const MAX_MEMBERS: usize = 64;

/// Maximum number of variants that are read.
const MAX_LOOKS: usize = 1000;

/// Name of the variants extension.
const VARIANTS: &str = "KHR_materials_variants";

/// Maximum number of instances that are read of a node.
const MAX_COPIES: usize = 10_000;

/// Index of a material, and whether it is used with vertex colours.
type Paint = Option<(usize, bool)>;

/// Properties of a primitive that distinguish its geometry from others.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Outline {
    position: Option<usize>,
    normal: Option<usize>,
    indices: Option<usize>,
    mode: Option<usize>,
    /// The material, if it affects the choice of texture coordinates.
    placed_by: Option<usize>,
}

/// A primitive of the document.
struct Primitive {
    outline: Outline,
    uvs: Option<usize>,
    colors: Option<usize>,
    material: Option<usize>,
    /// Variants in which the primitive has a material (KHR_materials_variants), each with the index
    /// of the material.
    looks: Vec<(usize, usize)>,
}

impl Primitive {
    fn of(primitive: &Json, materials: &[Json]) -> Self {
        let attribute = |name: &str| primitive.get("attributes")?.get(name)?.index();
        let material = primitive.get("material").and_then(Json::index);
        let texture = material.and_then(|index| first_texture(materials.get(index)?));
        let of_transform = texture.and_then(|texture| {
            texture
                .get("extensions")?
                .get("KHR_texture_transform")?
                .get("texCoord")
        });
        let is_placed = of_transform.or_else(|| texture?.get("texCoord")).is_some();
        Self {
            outline: Outline {
                position: attribute("POSITION"),
                normal: attribute("NORMAL"),
                indices: primitive.get("indices").and_then(Json::index),
                mode: primitive.get("mode").and_then(Json::index),
                placed_by: material.filter(|_| is_placed),
            },
            uvs: attribute(if is_placed {
                "TEXCOORD_1"
            } else {
                "TEXCOORD_0"
            })
            .or(attribute("TEXCOORD_0")),
            colors: attribute("COLOR_0"),
            material,
            looks: looks(primitive),
        }
    }

    fn paint(&self) -> Paint {
        self.material
            .map(|material| (material, self.colors.is_some()))
    }
}

/// Returns the variants of a primitive, each with the index of its material.
fn looks(primitive: &Json) -> Vec<(usize, usize)> {
    let mappings = primitive
        .at(&["extensions", VARIANTS, "mappings"])
        .map_or(&[][..], Json::items);
    let of_mapping = |mapping: &Json| -> Vec<(usize, usize)> {
        let Some(material) = mapping.get("material").and_then(Json::index) else {
            return Vec::new();
        };
        let variants = mapping.get("variants").map_or(&[][..], Json::items);
        variants
            .iter()
            .filter_map(Json::index)
            .map(|variant| (variant, material))
            .collect()
    };
    mappings.iter().flat_map(of_mapping).collect()
}

/// Returns the texture of a material whose placement applies to all of its textures.
fn first_texture(material: &Json) -> Option<&Json> {
    let surface = material.get("pbrMetallicRoughness");
    let of_surface = ["baseColorTexture", "metallicRoughnessTexture"]
        .into_iter()
        .find_map(|key| surface?.get(key));
    of_surface.or_else(|| {
        ["normalTexture", "occlusionTexture", "emissiveTexture"]
            .into_iter()
            .find_map(|key| material.get(key))
    })
}

/// A mesh of the document.
struct Drawn {
    name: String,
    primitives: Vec<Primitive>,
}

/// Meshes of the document with the same geometry.
struct Group {
    /// The first mesh, from which the geometry is read.
    mesh: usize,
    baked: Placement,
    wanted: Vec<WantedPrimitive>,
    /// Meshes of visuals.
    members: Vec<usize>,
}

/// Key of meshes with the same geometry: name, primitives, and the transform of their coordinates.
type Key = (String, Vec<Outline>, [u64; 10]);

/// All groups of a model.
#[derive(Default)]
struct Groups {
    list: Vec<Group>,
    known: HashMap<(usize, [u64; 10], bool), usize>,
    by_key: HashMap<Key, Vec<usize>>,
}

fn bits(placement: &Placement) -> [u64; 10] {
    let numbers = placement
        .pose
        .translation
        .vector
        .iter()
        .chain(placement.pose.rotation.coords.iter())
        .chain(&placement.scale);
    let mut bits = [0; 10];
    bits.iter_mut()
        .zip(numbers)
        .for_each(|(bits, number)| *bits = number.to_bits());
    bits
}

impl Groups {
    /// Adds a mesh to a group that it fits into, or to a new one, and returns the group.
    fn add(
        &mut self,
        drawn: &[Drawn],
        mesh: usize,
        baked: Placement,
        is_visible: bool,
    ) -> Option<usize> {
        let bits = bits(&baked);
        if let Some(&known) = self.known.get(&(mesh, bits, is_visible)) {
            return Some(known);
        }
        let Drawn { name, primitives } = drawn.get(mesh)?;
        let key = (
            name.clone(),
            primitives
                .iter()
                .map(|primitive| primitive.outline.clone())
                .collect(),
            bits,
        );
        let alike = self.by_key.entry(key).or_default();
        // Only the latest groups are searched, which bounds the cost of many similar meshes.
        let found = alike
            .iter()
            .rev()
            .take(MAX_MEMBERS)
            .copied()
            .find(|&group| {
                self.list
                    .get(group)
                    .is_some_and(|group| !is_visible || group.takes(drawn, mesh))
            });
        let index = found.unwrap_or_else(|| {
            let wanted = (0..primitives.len()).map(|p| WantedPrimitive {
                geometry: (mesh, p),
                uvs: None,
                colors: None,
            });
            self.list.push(Group {
                mesh,
                baked,
                wanted: wanted.collect(),
                members: Vec::new(),
            });
            alike.push(self.list.len() - 1);
            self.list.len() - 1
        });
        self.known.insert((mesh, bits, is_visible), index);
        if is_visible {
            let group = self.list.get_mut(index)?;
            for (number, (wanted, primitive)) in group.wanted.iter_mut().zip(primitives).enumerate()
            {
                wanted.uvs = wanted.uvs.or(primitive.uvs.map(|_| (mesh, number)));
                wanted.colors = wanted.colors.or(primitive.colors.map(|_| (mesh, number)));
            }
            group.members.push(mesh);
        }
        Some(index)
    }
}

impl Group {
    /// Returns whether a mesh of the same outline can join the group, so that only materials
    /// differ. Each member must have a single material on the primitives that vary, because a shape
    /// of the robot has one material.
    fn takes(&self, drawn: &[Drawn], mesh: usize) -> bool {
        let Some(new) = drawn.get(mesh).filter(|_| self.members.len() < MAX_MEMBERS) else {
            return false;
        };
        let of = |(mesh, primitive): (usize, usize)| {
            drawn
                .get(mesh)
                .and_then(|drawn| drawn.primitives.get(primitive))
        };
        let fits = |(wanted, primitive): (&WantedPrimitive, &Primitive)| {
            let uvs = wanted
                .uvs
                .and_then(of)
                .is_none_or(|known| primitive.uvs.is_none_or(|uvs| known.uvs == Some(uvs)));
            let colors = wanted.colors.and_then(of).is_none_or(|known| {
                primitive.colors.is_none_or(|colors| {
                    (known.colors, known.material) == (Some(colors), primitive.material)
                })
            });
            uvs && colors
        };
        let varying = self.varying(drawn, Some(mesh));
        let has_one_paint = |member: &Drawn| {
            let mut paints = member
                .primitives
                .iter()
                .zip(&varying)
                .filter(|(_, varies)| **varies)
                .map(|(p, _)| p.paint());
            let first = paints.next();
            paints.all(|paint| Some(paint) == first)
        };
        self.wanted.iter().zip(&new.primitives).all(fits)
            && self
                .members
                .iter()
                .filter_map(|member| drawn.get(*member))
                .chain([new])
                .all(has_one_paint)
    }

    /// Returns which primitives differ in their materials among the members and `other`.
    fn varying(&self, drawn: &[Drawn], other: Option<usize>) -> Vec<bool> {
        let members: Vec<&Drawn> = self
            .members
            .iter()
            .copied()
            .chain(other)
            .filter_map(|member| drawn.get(member))
            .collect();
        let paint = |member: &&Drawn, number: usize| {
            member.primitives.get(number).and_then(Primitive::paint)
        };
        (0..self.wanted.len())
            .map(|number| {
                members
                    .array_windows()
                    .any(|[a, b]| paint(a, number) != paint(b, number))
            })
            .collect()
    }
}

/// Reads the meshes and materials of the shapes of `models`, and adds them to their robots.
pub fn read(
    models: &mut [Draft],
    root: &Json,
    file: &File,
    files: &Files,
    findings: &mut Findings,
) -> Vec<urdf_usd_diagnostic::Diagnostic> {
    let list = |key: &str| root.get(key).map_or(&[][..], Json::items);
    let drawn = |mesh: &Json| Drawn {
        name: mesh
            .get("name")
            .and_then(Json::text)
            .unwrap_or_default()
            .to_owned(),
        primitives: mesh
            .get("primitives")
            .map_or(&[][..], Json::items)
            .iter()
            .map(|primitive| Primitive::of(primitive, list("materials")))
            .collect(),
    };
    let drawn: Vec<Drawn> = list("meshes").iter().map(drawn).collect();
    let mut work = |mut meshes: Option<&mut Meshes<'_, '_, '_>>| {
        let mut diagnostics = Vec::new();
        for model in models.iter_mut() {
            let maker = Maker {
                drawn: &drawn,
                file,
                findings,
                materials: HashMap::new(),
                looks: look_names(root),
                instancers: 0,
                diagnostics: &mut diagnostics,
            };
            maker.model(model, meshes.as_deref_mut());
        }
        diagnostics
    };
    if drawn.is_empty() {
        return work(None);
    }
    match mesh::gltf::open(file, files, |meshes| work(Some(meshes))) {
        Ok((found, more)) => found.into_iter().chain(more).collect(),
        Err(error) => {
            // Without its buffers, a file still describes links and joints.
            let found = work(None);
            found
                .into_iter()
                .chain([error.diagnostic(&file.path)])
                .collect()
        }
    }
}

/// Returns the names of the document's variants, made unique.
fn look_names(root: &Json) -> Vec<String> {
    let variants = root
        .at(&["extensions", VARIANTS, "variants"])
        .map_or(&[][..], Json::items);
    let mut names: Vec<String> = Vec::new();
    for (number, variant) in variants.iter().take(MAX_LOOKS).enumerate() {
        let name = variant
            .get("name")
            .and_then(Json::text)
            .filter(|name| !name.is_empty());
        let name = name.map_or_else(|| format!("look_{number}"), str::to_owned);
        let is_free = |name: &str| names.iter().all(|known| known != name);
        names.push(urdf_usd_robot::names::unique_from(
            &name, "_", number, is_free,
        ));
    }
    names
}

/// Meshes of a model's groups; all lists are parallel to [`Groups::list`].
struct GroupMeshes {
    groups: Groups,
    /// Mesh of the robot; `None` if it can't be read.
    ids: Vec<Option<MeshId>>,
    /// Index of the primitive of each part.
    numbers: Vec<Vec<usize>>,
    /// Whether each primitive's material differs among the members.
    varying: Vec<Vec<bool>>,
}

/// Creates the shapes of a robot.
struct Maker<'m> {
    drawn: &'m [Drawn],
    file: &'m File,
    findings: &'m mut Findings,
    /// Robot materials by those of the document.
    materials: HashMap<(usize, bool), Option<MaterialId>>,
    /// Names of the document's variants.
    looks: Vec<String>,
    /// Number of instanced nodes so far.
    instancers: usize,
    diagnostics: &'m mut Vec<urdf_usd_diagnostic::Diagnostic>,
}

impl Maker<'_> {
    fn model(mut self, model: &mut Draft, mut meshes: Option<&mut Meshes<'_, '_, '_>>) {
        let mut groups = Groups::default();
        // Materials of members decide on the mesh of a group, so groups are complete before shapes
        // are made.
        for (_, shapes) in &model.shapes {
            for (list, is_visible) in [(&shapes.visuals, true), (&shapes.collisions, false)] {
                for shape in list {
                    if let Form::Mesh {
                        mesh: Some(mesh),
                        baked,
                        ..
                    } = shape.form
                    {
                        groups.add(self.drawn, mesh, baked, is_visible);
                    }
                }
            }
        }
        let robot = &mut model.robot;
        let mut variants: Vec<LookVariant> = self
            .looks
            .iter()
            .map(|name| LookVariant {
                name: name.clone(),
                materials: BTreeMap::new(),
            })
            .collect();
        let mut numbers: Vec<Vec<usize>> = Vec::with_capacity(groups.list.len());
        let mut read = |group| {
            let made = meshes
                .as_deref_mut()
                .and_then(|meshes| self.source(group, meshes));
            let (source, of_parts) = made.unzip();
            numbers.push(of_parts.unwrap_or_default());
            source.map(|source| robot.add_mesh(source))
        };
        let ids: Vec<Option<MeshId>> = groups.list.iter().map(&mut read).collect();
        let varying: Vec<Vec<bool>> = groups
            .list
            .iter()
            .map(|group| group.varying(self.drawn, None))
            .collect();
        let read = GroupMeshes {
            groups,
            ids,
            numbers,
            varying,
        };
        for (link, shapes) in std::mem::take(&mut model.shapes) {
            let mut make = |list: Vec<shapes::Draft>, is_visible: bool| -> Vec<Shape> {
                let mut shapes = Vec::with_capacity(list.len());
                for draft in list {
                    let copies = draft.copies;
                    let looks = if is_visible {
                        self.looks(&draft.form, &read, meshes.as_deref_mut())
                    } else {
                        Vec::new()
                    };
                    let first = shapes.len();
                    let shape = self.shape(robot, draft, is_visible, &read, meshes.as_deref_mut());
                    match copies.zip(meshes.as_deref_mut()) {
                        Some((copies, meshes)) => {
                            shapes.extend(self.copies(&shape, copies, meshes))
                        }
                        None => shapes.push(shape),
                    }
                    for (look, part, material) in looks {
                        let Some(look) = variants.get_mut(look) else {
                            continue;
                        };
                        for visual in first..shapes.len() {
                            look.materials
                                .insert(VisualPart { link, visual, part }, material.clone());
                        }
                    }
                }
                shapes
            };
            let (visuals, collisions) =
                (make(shapes.visuals, true), make(shapes.collisions, false));
            let set = robot.set_visuals(link, visuals);
            let set = set.and_then(|()| robot.set_collisions(link, collisions));
            self.findings.accept(set, "");
        }
        for variant in variants {
            // `look_names` makes the name unique.
            let added = robot.add_look_variant(variant);
            self.findings.accept(added, "");
        }
    }

    /// Returns the materials of a shape's parts in variants: index of the variant, number of the
    /// part, material.
    fn looks(
        &self,
        form: &Form,
        read: &GroupMeshes,
        meshes: Option<&mut Meshes<'_, '_, '_>>,
    ) -> Vec<(usize, usize, Option<Material>)> {
        let (mesh, of_parts) = match form {
            Form::Solid(_, mesh) => (*mesh, &[0][..]),
            Form::Mesh { mesh, baked, .. } => {
                let group = mesh
                    .and_then(|mesh| read.groups.known.get(&(mesh, bits(baked), true)).copied());
                (
                    *mesh,
                    group
                        .and_then(|group| read.numbers.get(group))
                        .map_or(&[][..], Vec::as_slice),
                )
            }
        };
        let (Some(drawn), Some(meshes)) = (mesh.and_then(|mesh| self.drawn.get(mesh)), meshes)
        else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for (part, number) in of_parts.iter().enumerate() {
            let Some(primitive) = drawn.primitives.get(*number) else {
                continue;
            };
            let has_colors = primitive.colors.is_some();
            for (look, material) in &primitive.looks {
                let material = meshes
                    .material(*material, has_colors)
                    .filter(|material| !is_default(material, has_colors));
                found.push((*look, part, material));
            }
        }
        found
    }

    /// Reads the mesh of a group without the materials that shapes bring, and the index of each
    /// part's primitive. Reports and returns `None` if it can't be read.
    fn source(
        &mut self,
        group: &Group,
        meshes: &mut Meshes<'_, '_, '_>,
    ) -> Option<(MeshSource, Vec<usize>)> {
        let name = self
            .drawn
            .get(group.mesh)
            .map(|drawn| drawn.name.replace(['/', '\\'], "_"))
            .unwrap_or_default();
        let at = format!("/meshes/{}", group.mesh);
        let (mesh, numbers) = self.mesh(group, meshes)?;
        // Programs that name their output after the mesh file expect a file extension.
        let uri = format!("{}#{at}/{name}.gltf", file_name(&self.file.path));
        Some((
            MeshSource::new(uri, self.findings.place(&at), Arc::new(mesh.into())),
            numbers,
        ))
    }

    fn mesh(
        &mut self,
        group: &Group,
        meshes: &mut Meshes<'_, '_, '_>,
    ) -> Option<(urdf_usd_robot::Mesh, Vec<usize>)> {
        // Convert to ROS axes first: `baked` is in ROS axes.
        let columns = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(axes::to_vector);
        let turn = Matrix3::from_columns(&columns).to_homogeneous();
        let transform = if group.baked == Placement::default() {
            turn
        } else {
            group.baked.to_matrix() * turn
        };
        let (mut mesh, numbers) = match meshes.mesh(&Wanted {
            primitives: group.wanted.clone(),
            transform,
        }) {
            Ok(made) => made,
            Err(error) => {
                let mut diagnostic = error.diagnostic(&self.file.path);
                diagnostic.place.element = format!("/meshes/{}", group.mesh);
                self.diagnostics.push(diagnostic);
                return None;
            }
        };
        mesh.digest = digest(&mesh);
        let varying = group.varying(self.drawn, None);
        let first = group
            .members
            .first()
            .and_then(|member| self.drawn.get(*member));
        let mut known: HashMap<(usize, bool), Option<usize>> = HashMap::new();
        for (part, &number) in mesh.parts.iter_mut().zip(&numbers) {
            let own = first
                .and_then(|first| first.primitives.get(number))
                .and_then(Primitive::paint);
            let Some(paint) = own.filter(|_| varying.get(number) == Some(&false)) else {
                continue;
            };
            part.material = *known.entry(paint).or_insert_with(|| {
                let material = meshes
                    .material(paint.0, paint.1)
                    .filter(|material| !is_default(material, paint.1))?;
                mesh.materials.push(material);
                Some(mesh.materials.len() - 1)
            });
        }
        Some((mesh, numbers))
    }

    fn shape(
        &mut self,
        robot: &mut Robot,
        draft: shapes::Draft,
        is_visible: bool,
        read: &GroupMeshes,
        meshes: Option<&mut Meshes<'_, '_, '_>>,
    ) -> Shape {
        let (geometry, paint) = match draft.form {
            Form::Solid(solid, mesh) => {
                let first = mesh.and_then(|mesh| self.drawn.get(mesh)?.primitives.first());
                (solid, first.and_then(Primitive::paint))
            }
            Form::Mesh { mesh, scale, baked } => {
                let group =
                    mesh.and_then(|mesh| read.groups.known.get(&(mesh, bits(&baked), is_visible)));
                let group = group.copied();
                let geometry = match group.and_then(|group| *read.ids.get(group)?) {
                    Some(mesh) => Geometry::Mesh { mesh, scale },
                    None => Geometry::Missing { scale },
                };
                let drawn = mesh.and_then(|mesh| self.drawn.get(mesh));
                let varying = group
                    .and_then(|group| read.varying.get(group))
                    .map_or(&[][..], Vec::as_slice);
                let mut paints = drawn
                    .iter()
                    .flat_map(|drawn| &drawn.primitives)
                    .zip(varying);
                (
                    geometry,
                    paints
                        .find(|(_, varies)| **varies)
                        .and_then(|(p, _)| p.paint()),
                )
            }
        };
        let material = paint
            .filter(|_| is_visible)
            .and_then(|paint| self.material(robot, paint, meshes));
        Shape {
            name: draft.name,
            origin: draft.pose,
            geometry,
            material,
            stand_in_for: draft.stand_in_for,
            instance_set: None,
            custom: draft.custom,
            place: self.findings.place(&draft.at),
        }
    }

    /// Returns a shape for each instance in the accessors `copies`.
    fn copies(
        &mut self,
        shape: &Shape,
        copies: Copies,
        meshes: &mut Meshes<'_, '_, '_>,
    ) -> Vec<Shape> {
        let mut numbers = |accessor: Option<usize>| -> Vec<[f64; 3]> {
            accessor
                .and_then(|accessor| meshes.values::<3>(accessor).ok())
                .unwrap_or_default()
        };
        let (translations, scales) = (numbers(copies.translation), numbers(copies.scale));
        let rotations = copies
            .rotation
            .and_then(|accessor| meshes.values::<4>(accessor).ok())
            .unwrap_or_default();
        let count = translations.len().max(scales.len()).max(rotations.len());
        if count > MAX_COPIES {
            let message = format!("the node has {count} copies of its mesh; {MAX_COPIES} are read");
            self.findings.report(
                &codes::SHAPE,
                &shape.place.element,
                message,
                "use a mesh instead of so many copies",
            );
        }
        self.instancers += 1;
        let of_node = match shape.geometry {
            Geometry::Mesh { scale, .. } | Geometry::Missing { scale } => scale,
            _ => Vector3::repeat(1.0),
        };
        let node = Placement {
            pose: shape.origin,
            scale: of_node,
            is_sheared: false,
        };
        let copy = |n: usize| {
            let mut inner =
                Placement::of_copy(translations.get(n), rotations.get(n), scales.get(n));
            // As for nodes: a scale of 0 would leave nothing of the mesh.
            inner.scale = inner
                .scale
                .map(|factor| if factor == 0.0 { 1.0 } else { factor });
            let placed = Some(node.then(&inner))
                .filter(Placement::is_finite)
                .unwrap_or(node);
            let geometry = match shape.geometry {
                Geometry::Mesh { mesh, .. } => Geometry::Mesh {
                    mesh,
                    scale: placed.scale,
                },
                Geometry::Missing { .. } => Geometry::Missing {
                    scale: placed.scale,
                },
                ref solid => solid.clone(),
            };
            Shape {
                origin: placed.pose,
                geometry,
                instance_set: Some(self.instancers),
                ..shape.clone()
            }
        };
        (0..count.min(MAX_COPIES)).map(copy).collect()
    }

    fn material(
        &mut self,
        robot: &mut Robot,
        paint: (usize, bool),
        meshes: Option<&mut Meshes<'_, '_, '_>>,
    ) -> Option<MaterialId> {
        let meshes = meshes?;
        *self.materials.entry(paint).or_insert_with(|| {
            let material = meshes
                .material(paint.0, paint.1)
                .filter(|material| !is_default(material, paint.1))?;
            Some(robot.add_material(material))
        })
    }
}

/// Returns whether a material is the writer's substitute for none.
fn is_default(material: &Material, has_colors: bool) -> bool {
    *material
        == if has_colors {
            Material::of_corners("")
        } else {
            Material::plain("", UNPAINTED)
        }
}

fn file_name(path: &Path) -> String {
    PathBuf::from(path)
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}
