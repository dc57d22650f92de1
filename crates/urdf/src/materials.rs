//! Reads materials: those of the robot, and those of visuals.
//!
//! A name refers to its first definition among the robot's materials or, if there is none, to the
//! first in a visual, as in urdfdom. A visual whose material has a colour or texture of its own
//! uses that, whatever its name refers to.

use std::collections::{HashMap, HashSet};

use roxmltree::NodeId;

use super::codes;
use super::xml::{Node, Xml, children, name_of, short};
use urdf_usd_diagnostic::Place;
use urdf_usd_robot::{Material, MaterialId, Robot};

/// Colour of a surface without description: mid grey, in sRGB.
const GREY: [f64; 4] = [0.5, 0.5, 0.5, 1.0];
/// Colour under a texture, used if the texture can't be shown.
const WHITE: [f64; 4] = [1.0, 1.0, 1.0, 1.0];

/// Materials read so far.
#[derive(Default)]
pub(super) struct Materials {
    /// References to images: the material, the reference, and its place.
    pub textures: Vec<(MaterialId, String, Place)>,
    /// Materials by name, with the lines of their definitions.
    named: HashMap<String, (MaterialId, u32)>,
    /// Materials that visuals define, by their elements.
    inline: HashMap<NodeId, MaterialId>,
    /// All materials by their properties.
    known: HashMap<Key, MaterialId>,
    /// Names of materials in visuals.
    used: HashSet<String>,
}

/// Identity of a material: name, bits of the linear colour, texture.
type Key = (String, [u32; 4], Option<String>);

/// Colour and texture of a material's element.
struct Looks<'n> {
    color: Option<[f64; 4]>,
    /// Reference to an image, and the element that contains it.
    texture: Option<(String, Node<'n>)>,
}

impl Materials {
    /// Reads all materials in the robot element `root`.
    pub fn read(xml: &mut Xml<'_>, root: Node<'_>, robot: &mut Robot) -> Self {
        let mut materials = Self::default();
        for node in children(root, "material") {
            let looks = looks(xml, node);
            if looks.is_empty() {
                let message = format!(
                    "{} has neither colour nor texture; grey is used",
                    xml.label(node)
                );
                xml.report(
                    &codes::EMPTY_MATERIAL,
                    node,
                    message,
                    "add <color rgba=\"…\"/> or <texture filename=\"…\"/>",
                );
            }
            let Some(name) = name_of(node) else {
                let message = "a material of the robot has no name, so no visual can refer to it";
                xml.report(
                    &codes::UNNAMED,
                    node,
                    message,
                    "add name=\"…\", or remove it",
                );
                xml.leave_out(node);
                continue;
            };
            if let Some(&(first, line)) = materials.named.get(name) {
                let is_same = materials.known.get(&key(node, &looks)) == Some(&first);
                let how = if is_same {
                    "in the same way, so ROS's URDF parser rejects the robot"
                } else {
                    "differently; the first definition is used"
                };
                let message = format!(
                    "{} is already defined on line {line}, {how}",
                    xml.label(node)
                );
                let help = if is_same {
                    "remove one of them"
                } else {
                    "rename or remove one of them"
                };
                xml.report(&codes::DUPLICATE_MATERIAL, node, message, help);
                if !is_same {
                    xml.leave_out(node);
                }
                continue;
            }
            let id = materials.define(xml, node, robot, looks);
            materials.name(xml, node, id);
        }
        let visuals = children(root, "link").flat_map(|link| children(link, "visual"));
        for node in visuals.filter_map(|visual| children(visual, "material").next()) {
            let looks = looks(xml, node);
            if looks.is_empty() {
                continue;
            }
            // To urdfdom, an empty name is a name.
            if !node.has_attribute("name") {
                // Counting the rest of the link is worth it only for findings that are shown.
                let lost = if xml.is_full(&codes::UNNAMED) {
                    "the visual".to_owned()
                } else {
                    dropped(node)
                };
                let label = xml.label(node);
                let message = format!("{label} has no name, so ROS's URDF parser drops {lost}");
                xml.report(&codes::UNNAMED, node, message, "add name=\"…\"");
            }
            let before = robot.materials().len();
            let id = materials.define(xml, node, robot, looks);
            materials.inline.insert(node.id(), id);
            // Reported once for each colour and texture: hands and feet repeat theirs many times.
            if !materials.name(xml, node, id) && robot.materials().len() > before {
                let name = name_of(node).unwrap_or_default();
                let line = materials.named.get(name).map_or(0, |&(_, line)| line);
                let message = format!(
                    "the material \"{}\" differs from the one of the same name on line {line}",
                    short(name)
                );
                let help = "rename it: some programs, such as RViz, show the first for both";
                xml.report(&codes::MATERIAL_REDEFINED, node, message, help);
            }
        }
        materials
    }

    /// Reports the materials of the robot that no visual names, each once.
    pub fn report_unused(&self, xml: &mut Xml<'_>, root: Node<'_>) {
        let mut known = self.used.clone();
        for node in children(root, "material") {
            let name = name_of(node).filter(|_| !xml.is_left_out(node));
            if name.is_some_and(|name| known.insert(name.to_owned())) {
                let message = format!("no visual uses {}", xml.label(node));
                xml.report(
                    &codes::UNUSED_MATERIAL,
                    node,
                    message,
                    "remove it, or name it in a visual",
                );
            }
        }
    }

    /// Returns the material of a visual's `material` element.
    pub fn resolve(
        &mut self,
        xml: &mut Xml<'_>,
        node: Node<'_>,
        robot: &mut Robot,
    ) -> Option<MaterialId> {
        self.used.extend(name_of(node).map(str::to_owned));
        self.find_or_define(xml, node, robot)
    }

    fn find_or_define(
        &mut self,
        xml: &mut Xml<'_>,
        node: Node<'_>,
        robot: &mut Robot,
    ) -> Option<MaterialId> {
        if let Some(&id) = self.inline.get(&node.id()) {
            return Some(id);
        }
        let Some(name) = name_of(node) else {
            let message = format!("{} has neither name, colour nor texture", xml.label(node));
            xml.report(
                &codes::EMPTY_MATERIAL,
                node,
                message,
                "add <color rgba=\"…\"/> or the name of a material of the robot",
            );
            return None;
        };
        if let Some(&(id, _)) = self.named.get(name) {
            return Some(id);
        }
        let message = format!(
            "the material \"{}\" is not defined; grey is used",
            short(name)
        );
        xml.report(
            &codes::UNKNOWN_MATERIAL,
            node,
            message,
            "define it in the robot, or correct the name",
        );
        let id = self.define(
            xml,
            node,
            robot,
            Looks {
                color: None,
                texture: None,
            },
        );
        // The name is bound now, so that other visuals with it are not reported again.
        self.name(xml, node, id);
        Some(id)
    }

    /// Binds the name of `node` to `id` unless it is bound; returns whether it refers to `id`.
    fn name(&mut self, xml: &Xml<'_>, node: Node<'_>, id: MaterialId) -> bool {
        let Some(name) = name_of(node) else {
            return true;
        };
        self.named
            .entry(name.to_owned())
            .or_insert_with(|| (id, xml.place(node).line))
            .0
            == id
    }

    /// Returns the material with the name of `node` and these properties, and creates it if needed.
    fn define(
        &mut self,
        xml: &Xml<'_>,
        node: Node<'_>,
        robot: &mut Robot,
        looks: Looks<'_>,
    ) -> MaterialId {
        let key = key(node, &looks);
        if let Some(&id) = self.known.get(&key) {
            return id;
        }
        let material = Material::plain(key.0.clone(), key.1.map(f32::from_bits));
        let id = robot.add_material(material);
        self.textures
            .extend(looks.texture.map(|(uri, node)| (id, uri, xml.place(node))));
        self.known.insert(key, id);
        id
    }
}

/// Lists the shapes that urdfdom drops because of a visual's invalid material. It stops reading the link
/// there, and reads collisions last.
fn dropped(material: Node<'_>) -> String {
    let visual = material.parent_element();
    let link = visual.and_then(|visual| visual.parent_element());
    let count = |name: &str, from: usize| {
        let all = link.into_iter().flat_map(|link| children(link, name));
        match all.filter(|shape| shape.range().start >= from).count() {
            0 => None,
            1 => Some(format!("1 {name}")),
            count => Some(format!("{count} {name}s")),
        }
    };
    let after = visual.map_or(0, |visual| visual.range().end);
    let more: Vec<String> = [count("visual", after), count("collision", 0)]
        .into_iter()
        .flatten()
        .collect();
    if more.is_empty() {
        "the visual".to_owned()
    } else {
        format!(
            "the visual and all that it reads after it: {} of the link",
            more.join(" and ")
        )
    }
}

impl Looks<'_> {
    fn is_empty(&self) -> bool {
        self.color.is_none() && self.texture.is_none()
    }
}

fn key(node: Node<'_>, looks: &Looks<'_>) -> Key {
    let srgb = looks
        .color
        .unwrap_or(if looks.texture.is_some() { WHITE } else { GREY });
    let [red, green, blue, alpha] = srgb;
    let color = [
        Material::linear(red),
        Material::linear(green),
        Material::linear(blue),
        alpha,
    ]
    // By bits, since floats have no hash.
    .map(|c| (c as f32).to_bits());
    (
        name_of(node).unwrap_or_default().to_owned(),
        color,
        looks.texture.as_ref().map(|(uri, _)| uri.clone()),
    )
}

fn looks<'n>(xml: &mut Xml<'_>, material: Node<'n>) -> Looks<'n> {
    let color = xml
        .child(material, "color")
        .and_then(|node| color(xml, node));
    let texture = xml.child(material, "texture").and_then(|node| {
        let uri = node
            .attribute("filename")
            .map(str::trim)
            .filter(|uri| !uri.is_empty());
        if uri.is_none() {
            let message = format!("{} has no filename", xml.label(node));
            xml.report(
                &codes::NO_TEXTURE_FILE,
                node,
                message,
                "add filename=\"package://…\"",
            );
        }
        Some((uri?.to_owned(), node))
    });
    Looks { color, texture }
}

/// Reads the sRGB colour and opacity of a `color` element.
fn color(xml: &mut Xml<'_>, node: Node<'_>) -> Option<[f64; 4]> {
    let numbers = xml.any_numbers(node, "rgba", "the colour is ignored")?;
    let rgba = match *numbers {
        [r, g, b, a] => [r, g, b, a],
        [r, g, b] => {
            let message = "rgba has three numbers; an opacity of 1 is used".to_owned();
            xml.report_at(
                &codes::NO_ALPHA,
                node,
                "rgba",
                message,
                "add a fourth number, the opacity",
            );
            [r, g, b, 1.0]
        }
        _ => {
            let message = format!(
                "rgba needs 4 numbers, but has {}; the colour is ignored",
                numbers.len()
            );
            xml.report_at(
                &codes::BAD_NUMBER,
                node,
                "rgba",
                message,
                "write red, green, blue and opacity, from 0 to 1",
            );
            return None;
        }
    };
    if rgba.iter().any(|c| !(0.0..=1.0).contains(c)) {
        let message = "rgba has a component outside 0 to 1".to_owned();
        let help = if rgba.iter().any(|&c| c > 2.0) {
            "divide components from 0 to 255 by 255"
        } else {
            "correct the component"
        };
        xml.report_at(&codes::COLOUR_RANGE, node, "rgba", message, help);
    }
    // Adding zero turns -0 into 0, so that equal colours have equal bits.
    Some(rgba.map(|c| c.clamp(0.0, 1.0) + 0.0))
}
