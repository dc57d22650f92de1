//! What materials are called, and how they look, in a URDF.

use std::collections::{HashMap, HashSet};

use super::codes;
use crate::xml::short;
use urdf_usd_diagnostic::{Diagnostic, Place};
use urdf_usd_robot::{ArenaMap, Material, MaterialId, Robot, decimal, names};

/// The names of a robot's materials, each different unless it is empty.
pub(super) struct Materials {
    names: ArenaMap<Material, String>,
    /// Those that are not the robot's own: old, new, the place of what shows it first.
    renamed: Vec<(String, String, Place)>,
    /// Materials of which has been told what URDF can't say.
    pub told: HashSet<MaterialId>,
}

impl Materials {
    /// Those of `robot`. A material that has no name, and is used, keeps none: it is written where
    /// it shows.
    pub fn of(robot: &Robot) -> Self {
        let own: HashSet<&str> = robot
            .materials()
            .values()
            .map(|material| material.name.as_str())
            .collect();
        let mut first_use: HashMap<MaterialId, &Place> = HashMap::new();
        for shape in robot.links().values().flat_map(|link| &link.visuals) {
            if let Some(id) = shape.material {
                first_use.entry(id).or_insert(&shape.place);
            }
        }
        let mut materials = Self {
            names: ArenaMap::filled(robot.materials(), String::new()),
            renamed: Vec::new(),
            told: HashSet::new(),
        };
        let mut taken: HashSet<String> = HashSet::new();
        for (id, material) in robot.materials().iter() {
            let name = if material.name.trim().is_empty() {
                ""
            } else {
                &material.name
            };
            let is_free = name.is_empty() || taken.insert(name.to_owned());
            let name = if is_free {
                name.to_owned()
            } else {
                let other = names::unique(name, |other| {
                    !own.contains(other) && taken.insert(other.to_owned())
                });
                let place = first_use
                    .get(&id)
                    .map_or(&robot.place, |place| *place)
                    .clone();
                materials
                    .renamed
                    .push((name.to_owned(), other.clone(), place));
                other
            };
            materials.names[id] = name;
        }
        materials
    }

    /// A finding for each that is not called as it was.
    pub fn renamed(&self) -> Vec<Diagnostic> {
        let told = |(old, new, place): &(String, String, Place)| {
            let message = format!(
                "the material \"{}\" is the second of that name; it becomes \"{}\"",
                short(old),
                short(new)
            );
            Diagnostic::new(&codes::RENAMED, place.clone(), message)
                .help("give every material a name of its own")
        };
        self.renamed.iter().map(told).collect()
    }

    /// Returns the name of a material; empty if it has none.
    pub fn name(&self, id: MaterialId) -> &str {
        &self.names[id]
    }
}

/// The colour of a material in sRGB, and its opacity: the shortest decimals that are read as the
/// same.
pub(super) fn srgb(material: &Material) -> [f64; 4] {
    let [red, green, blue, alpha] = material.base_color;
    let component = |linear: f32| {
        let is_same =
            |srgb: f64| (0.0..=1.0).contains(&srgb) && Material::linear(srgb) as f32 == linear;
        decimal::shortest(Material::srgb(f64::from(linear)), is_same)
    };
    let alpha = decimal::shortest(f64::from(alpha), |other| other as f32 == alpha);
    [component(red), component(green), component(blue), alpha]
}

/// What a material has that URDF has no word for, in words.
pub(super) fn beyond_urdf(material: &Material) -> Option<String> {
    let plain = Material::plain("", [1.0; 4]);
    let mut what: Vec<&str> = Vec::new();
    what.extend((material.metallic != plain.metallic).then_some("metalness"));
    what.extend((material.roughness != plain.roughness).then_some("roughness"));
    what.extend((material.emissive != plain.emissive).then_some("emission"));
    what.extend((material.clearcoat > 0.0).then_some("clear coat"));
    what.extend(material.specular.map(|_| "specular colour"));
    what.extend((!material.maps.is_empty()).then_some("further images"));
    (!what.is_empty()).then(|| what.join(", "))
}
