//! Names and colours of materials in a URDF.

use std::collections::{HashMap, HashSet};

use super::codes;
use crate::xml::short;
use urdf_usd_diagnostic::{Diagnostic, Place};
use urdf_usd_robot::{ArenaMap, Material, MaterialId, Robot, decimal, names};

/// Names of a robot's materials, unique unless empty.
pub(super) struct Materials {
    names: ArenaMap<Material, String>,
    /// Renamed materials: old name, new name, and place of the first use.
    renamed: Vec<(String, String, Place)>,
    /// Materials whose further properties were reported.
    pub reported: HashSet<MaterialId>,
}

impl Materials {
    /// Assigns names to the materials of `robot`. A material without a name keeps none; it is
    /// written where it is used.
    pub fn new(robot: &Robot) -> Self {
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
            reported: HashSet::new(),
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
                    // A later material may have this name in the source, and keeps it.
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

    /// Returns a finding for every renamed material.
    pub fn renamed(&self) -> Vec<Diagnostic> {
        let finding = |(old, new, place): &(String, String, Place)| {
            let message = format!(
                "another material has the name \"{}\"; this one is renamed \"{}\"",
                short(old),
                short(new)
            );
            Diagnostic::new(&codes::RENAMED, place.clone(), message)
                .help("give every material a unique name")
        };
        self.renamed.iter().map(finding).collect()
    }

    /// Returns the name of a material; empty if it has none.
    pub fn name(&self, id: MaterialId) -> &str {
        &self.names[id]
    }
}

/// Returns the colour of a material in sRGB, and its opacity, as the shortest decimals that read
/// back the same.
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

/// Returns the properties of a material that URDF can't express, as text.
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
