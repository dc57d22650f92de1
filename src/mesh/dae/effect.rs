//! Materials of Collada: the common profile of their effects (specification 1.4.1, chapter 8).

use std::sync::Arc;

use roxmltree::Node;

use super::{Reader, child, children, find, floats, text};
use crate::mesh::{codes, texture};
use crate::robot::{Material, Texture};

/// The weights of red, green and blue in the modes that take opacity from a colour.
const LUMINANCE: [f64; 3] = [0.212_671, 0.715_160, 0.072_169];

/// How many steps a texture's way to its image may have.
const MAX_STEPS: usize = 8;

/// A material as it is used.
pub(super) struct Look<'a> {
    /// An index into the assembly's materials.
    pub material: u32,
    /// The name under which a binding says which texture coordinates its texture uses.
    pub texcoord: Option<&'a str>,
}

/// A colour, or the reference to an image and the name of its texture coordinates.
enum Paint<'a> {
    Colour([f64; 4]),
    Image { reference: String, texcoord: Option<&'a str> },
}

impl<'a> Look<'a> {
    /// Reads a `material`; `None` if it has no effect with a common profile.
    pub fn read<'input>(reader: &mut Reader<'a, 'input, '_, '_>, node: Node<'a, 'input>) -> Option<Self> {
        let name = node.attribute("name").or_else(|| node.attribute("id")).unwrap_or_default();
        let effect = find(&reader.ids, "effect", child(node, "instance_effect")?.attribute("url")?)?;
        let profile = child(effect, "profile_COMMON")?;
        let technique = child(profile, "technique")?;
        let shader = ["phong", "lambert", "blinn", "constant"].iter().find_map(|name| child(technique, name))?;
        let scope = Scope { places: [technique, profile, effect] };
        // Materials may share one effect, which is searched for each of them.
        reader.assembly.spend(scope.places.iter().map(|place| place.children().count()).sum()).ok()?;

        let emission = match scope.paint(reader, shader, "emission") {
            Some(Paint::Colour(colour)) => linear(colour),
            _ => [0.0; 3],
        };
        let diffuse = scope.paint(reader, shader, "diffuse");
        let mut texcoord = None;
        let mut image = None;
        let mut texture = None;
        let colour = match diffuse {
            Some(Paint::Colour(colour)) => linear(colour),
            Some(Paint::Image { reference, texcoord: name }) => {
                texcoord = name;
                texture = reader.source.texture(&reference);
                image = Some(reference);
                [1.0; 3]
            }
            // A constant material glows in its emission and nothing else.
            None if shader.tag_name().name() == "constant" => emission,
            None => [1.0; 3],
        };
        let (opacity, alpha_from) = scope.opacity(reader, shader);
        let opacity = if opacity > 0.0 {
            opacity.min(1.0)
        } else {
            reader.report(&codes::OPACITY_ZERO, shader, format!("the material `{name}` has an opacity of 0"));
            1.0
        };
        let mut material = Material::plain(name, [colour[0], colour[1], colour[2], opacity as f32]);
        material.emissive = emission;
        material.base_color_texture = texture.map(|texture| with_alpha(texture, alpha_from.is_some() && alpha_from == image));
        Some(Self { material: reader.assembly.material(material), texcoord })
    }
}

/// The image of a material; its alpha means something only where the material says so.
fn with_alpha(texture: Arc<Texture>, alpha: bool) -> Arc<Texture> {
    if alpha { texture } else { texture::opaque(texture) }
}

/// Where parameters are looked up, innermost first.
struct Scope<'a, 'input> {
    places: [Node<'a, 'input>; 3],
}

impl<'a, 'input> Scope<'a, 'input> {
    fn parameter(&self, sid: &str) -> Option<Node<'a, 'input>> {
        self.places.iter().flat_map(|place| children(*place, "newparam")).find(|param| param.attribute("sid") == Some(sid))
    }

    fn paint(&self, reader: &Reader<'a, 'input, '_, '_>, shader: Node<'a, 'input>, channel: &str) -> Option<Paint<'a>> {
        let channel = child(shader, channel)?;
        if let Some(texture) = child(channel, "texture") {
            let reference = self.image(reader, texture.attribute("texture")?)?;
            return Some(Paint::Image { reference, texcoord: texture.attribute("texcoord") });
        }
        let numbers = match child(channel, "color") {
            Some(color) => color,
            None => self.parameter(child(channel, "param")?.attribute("ref")?)?.first_element_child()?,
        };
        let mut colour = [0.0, 0.0, 0.0, 1.0];
        for (slot, number) in colour.iter_mut().zip(floats(&text(numbers))).filter(|(_, number)| number.is_finite()) {
            *slot = number;
        }
        Some(Paint::Colour(colour))
    }

    fn number(&self, shader: Node<'a, 'input>, channel: &str) -> Option<f64> {
        let channel = child(shader, channel)?;
        let number = match child(channel, "float") {
            Some(float) => float,
            None => self.parameter(child(channel, "param")?.attribute("ref")?)?.first_element_child()?,
        };
        floats(&text(number)).next().filter(|number| number.is_finite())
    }

    /// The opacity of a shader, and the image whose alpha it is to be multiplied with.
    fn opacity(&self, reader: &Reader<'a, 'input, '_, '_>, shader: Node<'a, 'input>) -> (f64, Option<String>) {
        let transparency = self.number(shader, "transparency");
        let mode = child(shader, "transparent").and_then(|node| node.attribute("opaque")).unwrap_or("A_ONE");
        let colour = match self.paint(reader, shader, "transparent") {
            Some(Paint::Colour(colour)) => colour,
            Some(Paint::Image { reference, .. }) => return (1.0, Some(reference)),
            None => return (transparency.unwrap_or(1.0), None),
        };
        let amount = transparency.unwrap_or(1.0);
        let luminance: f64 = LUMINANCE.iter().zip(colour).map(|(weight, c)| weight * c).sum();
        let opacity = match mode {
            "RGB_ZERO" => 1.0 - luminance * amount,
            "RGB_ONE" => luminance * amount,
            "A_ZERO" => 1.0 - colour[3] * amount,
            _ => colour[3] * amount,
        };
        (opacity, None)
    }

    /// The file that a texture's sampler leads to: sampler → surface → image, or less of it.
    fn image(&self, reader: &Reader<'a, 'input, '_, '_>, texture: &str) -> Option<String> {
        let mut name = texture.to_owned();
        for _ in 0..MAX_STEPS {
            let Some(parameter) = self.parameter(&name) else { break };
            let inside = |tag: &str| parameter.descendants().find(|node| node.tag_name().name() == tag);
            name = match inside("instance_image").and_then(|image| image.attribute("url")) {
                Some(url) => url.to_owned(),
                None => text(inside("source").or_else(|| inside("init_from"))?).trim().to_owned(),
            };
        }
        let Some(image) = find(&reader.ids, "image", &name) else {
            // Some exporters write the file where its image belongs.
            return name.contains('.').then_some(name);
        };
        let from = child(image, "init_from")?;
        let reference = child(from, "ref").map_or_else(|| text(from), text);
        Some(reference.trim().to_owned()).filter(|reference| !reference.is_empty())
    }
}

fn linear(colour: [f64; 4]) -> [f32; 3] {
    [0, 1, 2].map(|i| Material::linear(colour[i].clamp(0.0, 1.0)) as f32)
}
