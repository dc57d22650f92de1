//! Writes links and frames, with masses, visuals, collisions and lights.

use nalgebra::{Matrix3, Vector3};

use super::names::Scope;
use super::{Writer, codes};
use urdf_usd_robot::{
    ArenaMap, Geometry, Light, LightKind, LinkId, Mass, Material, MaterialId, PLAIN_IOR, Pose,
    Shape, decimal,
};
use urdf_usd_text::xml::{number, numbers};

/// A link of the robot, and the link of the SDF that carries it.
#[derive(Clone, Copy)]
pub(super) struct Carried {
    pub carrier: LinkId,
    /// The carrier itself, or a frame in it.
    pub link: LinkId,
}

/// Named elements in a link of the SDF.
pub(super) struct Inside {
    names: Scope,
    /// Collisions: the link of the robot, and the name.
    pub collisions: Vec<(LinkId, String)>,
}

impl Inside {
    pub fn name(&mut self, name: &str, fallback: &str) -> String {
        let name = if name.trim().is_empty() {
            fallback
        } else {
            name
        };
        self.names.first([name])
    }
}

impl Writer<'_> {
    /// Writes all links with their contents and those of their frames, and all frames.
    pub(super) fn links(&mut self) {
        let robot = self.robot;
        let mut frames = ArenaMap::filled(robot.links(), Vec::new());
        for &link in robot.tree().order() {
            frames[self.groups.carrier[link]].push(link);
        }
        for &link in robot.tree().order() {
            let is_needed = !self.is_world(link) || self.world_has_content();
            if self.groups.is_link(link) && is_needed {
                self.link(link, &frames[link]);
            } else if !self.groups.is_link(link) {
                let carrier = self.names.links[self.groups.carrier[link]].clone();
                let name = self.names.links[link].clone();
                let (frame, pose) = self.place(link);
                self.to
                    .open("frame", vec![("name", name), ("attached_to", carrier)]);
                self.pose(Some(&frame), &pose);
                self.to.close();
            }
        }
    }

    /// Returns whether the world's own link has any content.
    pub(super) fn world_has_content(&self) -> bool {
        let robot = self.robot;
        robot.world_root().is_some_and(|world| {
            let link = &robot.links()[world];
            !link.visuals.is_empty()
                || !link.collisions.is_empty()
                || robot
                    .sensors()
                    .iter()
                    .any(|sensor| sensor.link == world && sensor.is_device())
                || robot.lights().iter().any(|light| light.link == world)
        })
    }

    fn link(&mut self, link: LinkId, frames: &[LinkId]) {
        let robot = self.robot;
        self.to
            .open("link", vec![("name", self.names.links[link].clone())]);
        let (frame, pose) = self.place(link);
        self.pose(Some(&frame), &pose);
        self.inertial(link);
        let mut inside = Inside {
            names: Scope::default(),
            collisions: Vec::new(),
        };
        let carried = frames.iter().map(|&frame| Carried {
            carrier: link,
            link: frame,
        });
        for frame in carried.clone() {
            for is_visual in [true, false] {
                let shapes = if is_visual {
                    &robot.links()[frame.link].visuals
                } else {
                    &robot.links()[frame.link].collisions
                };
                for (index, shape) in shapes.iter().enumerate() {
                    self.shape(frame, is_visual, index, shape, &mut inside);
                }
            }
        }
        // After all shapes: contact sensors refer to their collisions.
        for frame in carried {
            for light in robot
                .lights()
                .iter()
                .filter(|light| light.link == frame.link)
            {
                self.light(frame, light, &mut inside);
            }
            self.link_sensors(frame, &mut inside);
        }
        self.to.close();
    }

    /// Returns the frame that poses on a link are relative to; `None` for the carrier itself.
    pub(super) fn frame_in(&self, carried: Carried) -> Option<String> {
        (carried.carrier != carried.link).then(|| self.names.links[carried.link].clone())
    }

    fn inertial(&mut self, link: LinkId) {
        let source = &self.robot.links()[link];
        let given = source.inertial.as_ref();
        let mass = if self.groups.massless[link] {
            let message = format!("link \"{}\" moves but has no mass", source.name());
            self.findings.report(
                &codes::MASS,
                &source.place,
                message,
                "set its mass and inertia",
            );
            Mass::stand_in(given.map_or_else(Vector3::zeros, |inertial| {
                inertial.origin.translation.vector
            }))
        } else if let Some(mass) = given.and_then(Mass::of) {
            mass
        } else {
            // It is fixed to the world, where its mass does not matter.
            return;
        };
        if let Some(inertial) = given.filter(|_| mass.repaired) {
            let message = format!(
                "a principal moment of inertia of link \"{}\" is not positive, or not below the sum of the others",
                source.name()
            );
            self.findings.report(
                &codes::INERTIA,
                &inertial.place,
                message,
                "correct the tensor",
            );
        }
        // Written as given if it is valid; otherwise along the principal axes.
        let (pose, tensor) = match given.filter(|_| !self.groups.massless[link] && !mass.repaired) {
            Some(inertial) => (inertial.origin, inertial.inertia),
            None => (
                Pose::from_parts(mass.centre.into(), mass.axes),
                Matrix3::from_diagonal(&mass.moments),
            ),
        };
        self.to.open("inertial", Vec::new());
        self.pose(None, &pose);
        self.leaf("mass", &number(mass.mass));
        self.to.open("inertia", Vec::new());
        let i = &tensor;
        for (name, value) in [
            ("ixx", i.m11),
            ("ixy", i.m12),
            ("ixz", i.m13),
            ("iyy", i.m22),
            ("iyz", i.m23),
            ("izz", i.m33),
        ] {
            self.leaf(name, &number(value));
        }
        self.to.close();
        self.to.close();
    }

    fn shape(
        &mut self,
        carried: Carried,
        is_visual: bool,
        index: usize,
        shape: &Shape,
        inside: &mut Inside,
    ) {
        let what = if is_visual { "visual" } else { "collision" };
        let files = if is_visual {
            &self.files.visuals
        } else {
            &self.files.collisions
        };
        let file = files[carried.link].get(index).cloned().flatten();
        let is_mesh = matches!(
            shape.geometry,
            Geometry::Mesh { .. } | Geometry::Missing { .. }
        );
        if is_mesh && file.is_none() || !has_extent(&shape.geometry) {
            let why = if is_mesh {
                "has a mesh that was not read"
            } else {
                "has no extent"
            };
            let message = format!("a {what} {why}; it is left out of the SDF");
            self.findings.report(
                &codes::SHAPE,
                &shape.place,
                message,
                "use a shape with a surface or volume",
            );
            return;
        }
        let own = format!("{}_{what}", self.names.links[carried.link]);
        let name = inside.name(shape.name.as_deref().unwrap_or_default(), &own);
        if !is_visual {
            inside.collisions.push((carried.link, name.clone()));
        }
        self.to.open(
            if is_visual { "visual" } else { "collision" },
            vec![("name", name)],
        );
        self.pose(self.frame_in(carried).as_deref(), &shape.origin);
        self.geometry(&shape.geometry, &file.unwrap_or_default());
        if !is_visual {
            self.surface(carried.link);
        } else if let Some(id) = shape
            .material
            .filter(|_| !is_mesh || !self.files.have_materials)
        {
            self.material(id, shape);
        }
        self.to.close();
    }

    fn geometry(&mut self, geometry: &Geometry, file: &str) {
        self.to.open("geometry", Vec::new());
        let (form, sizes): (_, Vec<(&str, String)>) = match *geometry {
            Geometry::Box { size } => ("box", vec![("size", numbers(size.iter().copied()))]),
            Geometry::Cylinder { radius, length } => (
                "cylinder",
                vec![("radius", number(radius)), ("length", number(length))],
            ),
            Geometry::Sphere { radius } => ("sphere", vec![("radius", number(radius))]),
            // A capsule of length 0 is a sphere.
            Geometry::Capsule {
                radius,
                length: 0.0,
            } => ("sphere", vec![("radius", number(radius))]),
            Geometry::Capsule { radius, length } => (
                "capsule",
                vec![("radius", number(radius)), ("length", number(length))],
            ),
            Geometry::Mesh { scale, .. } | Geometry::Missing { scale } => {
                let mut attributes = vec![("uri", file.to_owned())];
                if scale != Vector3::repeat(1.0) {
                    attributes.push(("scale", numbers(scale.iter().copied())));
                }
                ("mesh", attributes)
            }
        };
        self.to.open(form, Vec::new());
        for (name, value) in sizes {
            self.leaf(name, &value);
        }
        self.to.close();
        self.to.close();
    }

    /// Writes the contact properties, if the robot has any.
    fn surface(&mut self, link: LinkId) {
        let Some(contact) = self.robot.links()[link].contact else {
            return;
        };
        self.to.open("surface", Vec::new());
        if let Some(restitution) = contact.restitution {
            self.to.open("bounce", Vec::new());
            self.leaf("restitution_coefficient", &number(restitution));
            self.to.close();
        }
        self.to.open("friction", Vec::new());
        self.to.open("ode", Vec::new());
        // SDFormat has one coefficient for each direction, and none for static friction.
        for direction in ["mu", "mu2"] {
            self.leaf(direction, &number(contact.dynamic_friction));
        }
        self.to.close();
        self.to.close();
        self.to.close();
    }

    fn material(&mut self, id: MaterialId, shape: &Shape) {
        let material = &self.robot.materials()[id];
        let file = self.files.textures[id].clone();
        let mut lost: Vec<&str> = material.maps.keys().map(|role| role.name()).collect();
        lost.extend((material.ior != PLAIN_IOR).then_some("index of refraction"));
        if !lost.is_empty() {
            let message = format!(
                "the SDF has material \"{}\" without its {}",
                material.name,
                lost.join(", ")
            );
            self.findings.report(
                &codes::LOOKS,
                &shape.place,
                message,
                "use a mesh file instead of a primitive shape",
            );
        }
        // The image includes the colour, which replaces the image elsewhere.
        let color = if file.is_some() {
            [1.0, 1.0, 1.0, f64::from(material.base_color[3])]
        } else {
            srgb(material.base_color)
        };
        self.to.open("material", Vec::new());
        for name in ["ambient", "diffuse"] {
            self.leaf(name, &numbers(color));
        }
        let [red, green, blue] = material.emissive;
        if material.emissive != [0.0; 3] {
            self.leaf("emissive", &numbers(srgb([red, green, blue, 1.0])));
        }
        let plain = Material::plain("", [1.0; 4]);
        if material.metallic != plain.metallic
            || material.roughness != plain.roughness
            || file.is_some()
        {
            self.to.open("pbr", Vec::new());
            self.to.open("metal", Vec::new());
            file.iter().for_each(|file| self.leaf("albedo_map", file));
            self.leaf("metalness", &number(shortest(material.metallic)));
            self.leaf("roughness", &number(shortest(material.roughness)));
            self.to.close();
            self.to.close();
        }
        self.to.close();
    }

    fn light(&mut self, carried: Carried, light: &Light, inside: &mut Inside) {
        let kind = match light.kind {
            LightKind::Directional { .. } => "directional",
            LightKind::Point { .. } => "point",
            LightKind::Spot { .. } => "spot",
        };
        let name = inside.name(&light.name, "light");
        let message = format!("light \"{name}\" has intensity 1 in the SDF");
        self.findings.report(
            &codes::LIGHT,
            &light.place,
            message,
            "set <intensity> in the SDF as the renderer requires",
        );
        self.to
            .open("light", vec![("name", name), ("type", kind.to_owned())]);
        self.pose(self.frame_in(carried).as_deref(), &light.origin);
        let color = numbers(light.color.into_iter().map(shortest).chain([1.0]));
        self.leaf("diffuse", &color);
        if let Some(range) = light.range {
            self.to.open("attenuation", Vec::new());
            self.leaf("range", &number(range));
            self.to.close();
        }
        self.leaf("direction", "0 0 -1");
        if let LightKind::Spot { inner, outer, .. } = light.kind {
            self.to.open("spot", Vec::new());
            // Full cone angles.
            self.leaf("inner_angle", &number(2.0 * inner));
            self.leaf("outer_angle", &number(2.0 * outer));
            self.leaf("falloff", "1");
            self.to.close();
        }
        self.to.close();
    }
}

/// Returns whether a primitive shape has positive extent; true for meshes.
fn has_extent(geometry: &Geometry) -> bool {
    match *geometry {
        Geometry::Box { size } => size.iter().all(|&edge| edge > 0.0),
        Geometry::Cylinder { radius, length } => radius > 0.0 && length > 0.0,
        Geometry::Capsule { radius, length } => radius > 0.0 && length >= 0.0,
        Geometry::Sphere { radius } => radius > 0.0,
        Geometry::Mesh { .. } | Geometry::Missing { .. } => true,
    }
}

/// Returns a linear colour in sRGB, and its opacity, as the shortest decimals that read back the
/// same.
fn srgb([red, green, blue, alpha]: [f32; 4]) -> [f64; 4] {
    let component = |linear: f32| {
        let is_same =
            |srgb: f64| (0.0..=1.0).contains(&srgb) && Material::linear(srgb) as f32 == linear;
        decimal::shortest(Material::srgb(f64::from(linear)), is_same)
    };
    [
        component(red),
        component(green),
        component(blue),
        shortest(alpha),
    ]
}

fn shortest(value: f32) -> f64 {
    decimal::shortest(f64::from(value), |other| other as f32 == value)
}
