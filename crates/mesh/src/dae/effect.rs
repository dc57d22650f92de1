//! Materials of Collada: the common profile of their effects (specification 1.4.1, chapter 8).

use std::sync::Arc;

use roxmltree::Node;

use super::{Reader, child, children, find, floats, text};
use crate::maps::{self, Laid};
use crate::texture::{Use, Values};
use crate::{MAX_IOR, codes};
use urdf_usd_robot::{Channel, ImagePlacement, Map, MapRole, Material, Texture, Wrap};

/// The weights of red, green and blue in the opacity modes that use a colour.
const LUMINANCE: [f64; 3] = [0.212_671, 0.715_160, 0.072_169];

/// Maximum magnitude of a repetition or an offset of an image; others are ignored.
const MAX_SETTING: f64 = 1e6;

/// Maximum number of references from a texture to its image.
const MAX_STEPS: usize = 8;

/// A material and the way it is used.
pub(super) struct Look<'a> {
    /// An index into the assembly's materials.
    pub material: u32,
    /// The name by which bindings select the texture coordinate set of its texture.
    pub texcoord: Option<&'a str>,
}

/// A colour, or an image.
enum Paint<'a, 'input> {
    Colour([f64; 4]),
    Image(Placed<'a, 'input>),
}

/// An image on a surface.
struct Placed<'a, 'input> {
    image: Image<'a, 'input>,
    /// The name of its texture coordinates.
    texcoord: Option<&'a str>,
    placement: ImagePlacement,
}

/// The location of an image.
#[derive(Clone, PartialEq)]
enum Image<'a, 'input> {
    File(String),
    /// Embedded in the file, as hexadecimal text of this element.
    Here(Node<'a, 'input>),
}

impl<'a> Look<'a> {
    /// Reads a `material`; `None` if it has no effect with a common profile.
    pub fn read<'input>(
        reader: &mut Reader<'a, 'input, '_, '_>,
        node: Node<'a, 'input>,
    ) -> Option<Self> {
        let name = node
            .attribute("name")
            .or_else(|| node.attribute("id"))
            .unwrap_or_default();
        let instance = child(node, "instance_effect")?;
        let effect = find(&reader.ids, "effect", instance.attribute("url")?)?;
        let (profile, technique, shader) = shader(effect)?;
        let scope = Scope {
            name,
            instance,
            places: [technique, profile, effect],
        };
        // Materials may share one effect; each of them searches it, which the budget has to account
        // for.
        let places = scope.places.iter().chain([&scope.instance]);
        reader
            .assembly
            .spend(places.map(|place| place.children().count()).sum())
            .ok()?;

        let is_constant = shader.tag_name().name() == "constant";
        let emission = scope.paint(reader, shader, "emission");
        let emissive = match &emission {
            Some(Paint::Colour(colour)) => linear(*colour),
            _ => [0.0; 3],
        };
        // A constant material shows its emission only.
        let (diffuse, glow) = if is_constant {
            (emission, None)
        } else {
            (scope.paint(reader, shader, "diffuse"), emission)
        };
        let (opacity, opacity_from) = scope.opacity(reader, shader);
        let (mut lies, mut image) = (None, None);
        let mut placement = ImagePlacement::default();
        let colour = match diffuse {
            Some(Paint::Colour(colour)) => linear(colour),
            Some(Paint::Image(placed)) => {
                lies = Some(placed.texcoord);
                placement = placed.placement;
                image = Some(placed.image);
                [1.0; 3]
            }
            None => [1.0; 3],
        };
        let has_alpha = opacity_from.as_ref().is_some_and(|from| {
            let is_same = Some(&from.placed.image) == image.as_ref();
            is_same && from.placed.placement == placement && from.values == Values::Alpha
        });
        // An image's alpha counts only if the material refers to it.
        let usage = if has_alpha {
            Use::Transparent
        } else {
            Use::Opaque
        };
        let texture = image.as_ref().and_then(|image| image.load(reader, usage));
        let opacity = if opacity > 0.0 {
            opacity.min(1.0)
        } else {
            reader.report(
                &codes::OPACITY_ZERO,
                shader,
                format!("the material `{name}` has an opacity of 0"),
            );
            1.0
        };
        let mut material = Material::plain(name, [colour[0], colour[1], colour[2], opacity as f32]);
        material.emissive = emissive;
        // Exporters write 1, at which nothing would reflect, as a default.
        let ior = scope
            .number(reader, shader, "index_of_refraction")
            .filter(|ior| *ior > 1.0);
        material.ior = ior.map_or(material.ior, |ior| ior.min(MAX_IOR) as f32);
        material.base_color_texture = texture;
        material.base_color_placement = placement;
        let mut laid = Laid::new(lies);
        if let Some(Paint::Image(placed)) = glow {
            add_glow(reader, &placed, &mut laid, &mut material);
        }
        if let Some(from) = opacity_from.filter(|_| !has_alpha) {
            add_opacity(reader, &from, &mut laid, &mut material);
        }
        scope.add_normals(reader, &mut material, &mut laid);
        material.cut_out(crate::is_mask);
        scope.report_others(reader, shader, image.as_ref());
        Some(Self {
            material: reader.assembly.material(material),
            texcoord: laid.into_inner().flatten(),
        })
    }
}

/// Adds an image to a material as its emission.
fn add_glow<'a, 'input>(
    reader: &mut Reader<'a, 'input, '_, '_>,
    placed: &Placed<'a, 'input>,
    laid: &mut Laid<Option<&'a str>>,
    material: &mut Material,
) {
    if let Some(texture) = placed.image.load(reader, Use::Opaque) {
        // The image replaces the colour: as a factor it is 1.
        material.emissive = [1.0; 3];
        let map = placed.lay(Map::of(texture, Channel::Red));
        let fits = laid.fits(placed.texcoord);
        maps::add(material, MapRole::Emissive, map, fits, reader.source);
    }
}

/// Adds an image to a material as its opacity.
fn add_opacity<'a, 'input>(
    reader: &mut Reader<'a, 'input, '_, '_>,
    from: &Opacity<'a, 'input>,
    laid: &mut Laid<Option<&'a str>>,
    material: &mut Material,
) {
    if let Some(texture) = from.placed.image.load(reader, Use::Opaque)
        && let Some(map) = reader.source.map(&texture, from.values, Channel::Red)
    {
        // Opacity has the placement of the colour.
        let is_laid_as_color = material.base_color_texture.is_none()
            || material.base_color_placement == from.placed.placement;
        let fits = laid.fits(from.placed.texcoord) && is_laid_as_color;
        let map = from.placed.lay(map);
        maps::add(material, MapRole::Opacity, map, fits, reader.source);
    }
}

/// Returns the first shader of an effect's common profile and its ancestors: profile, technique,
/// shader.
fn shader<'a, 'input>(
    effect: Node<'a, 'input>,
) -> Option<(Node<'a, 'input>, Node<'a, 'input>, Node<'a, 'input>)> {
    children(effect, "profile_COMMON").find_map(|profile| {
        children(profile, "technique").find_map(|technique| {
            let shader = ["phong", "lambert", "blinn", "constant"]
                .iter()
                .find_map(|name| child(technique, name))?;
            Some((profile, technique, shader))
        })
    })
}

impl Placed<'_, '_> {
    /// Returns a map of the image with its placement.
    fn lay(&self, map: Map) -> Map {
        Map {
            placement: self.placement,
            ..map
        }
    }
}

impl<'a, 'input> Image<'a, 'input> {
    fn load(&self, reader: &mut Reader<'a, 'input, '_, '_>, usage: Use) -> Option<Arc<Texture>> {
        match self {
            Self::File(reference) => reader.source.texture(reference, usage),
            Self::Here(hex) => {
                if let Some(known) = reader.embedded.get(&hex.id(), usage) {
                    return known;
                }
                let image = hex
                    .ancestors()
                    .find(|node| node.tag_name().name() == "image");
                let name = image
                    .and_then(|image| image.attribute("name").or_else(|| image.attribute("id")));
                let (bytes, is_counted) = (bytes(&text(*hex)), reader.embedded.has(&hex.id()));
                let texture = reader.source.embedded_texture(
                    name.unwrap_or("image"),
                    &bytes,
                    usage,
                    is_counted,
                );
                reader.embedded.insert(hex.id(), usage, texture.clone());
                texture
            }
        }
    }
}

/// Decodes hexadecimal text up to the first other character.
fn bytes(hex: &str) -> Vec<u8> {
    let mut digits = hex
        .chars()
        .filter(|c| !c.is_ascii_whitespace())
        .map_while(|c| c.to_digit(16));
    let mut bytes = Vec::with_capacity(hex.len() / 2);
    while let (Some(high), Some(low)) = (digits.next(), digits.next()) {
        bytes.push((high * 16 + low) as u8);
    }
    bytes
}

/// The scope in which a material's parameters are resolved.
struct Scope<'a, 'input> {
    /// The material's name, for messages.
    name: &'a str,
    /// The `instance_effect`; its `setparam` take precedence.
    instance: Node<'a, 'input>,
    /// The elements that may contain `newparam`, innermost first.
    places: [Node<'a, 'input>; 3],
}

/// An image of opacity.
struct Opacity<'a, 'input> {
    placed: Placed<'a, 'input>,
    values: Values,
}

impl<'a, 'input> Scope<'a, 'input> {
    /// Reads the normal map, which programs write to an <extra> of the effect as `bump` or
    /// `normal`, whatever their profile.
    fn add_normals(
        &self,
        reader: &mut Reader<'a, 'input, '_, '_>,
        material: &mut Material,
        laid: &mut Laid<Option<&'a str>>,
    ) {
        let extras = self
            .places
            .iter()
            .flat_map(|place| children(*place, "extra"))
            .flat_map(|extra| children(extra, "technique"));
        let named = |node: &Node| matches!(node.tag_name().name(), "bump" | "normal" | "normalmap");
        let found = extras
            .flat_map(|technique| technique.children())
            .find(|node| named(node) && child(*node, "texture").is_some());
        let Some(node) = found else { return };
        let Some(Paint::Image(placed)) = self.paint_of(reader, node) else {
            return;
        };
        let Some(texture) = placed.image.load(reader, Use::Opaque) else {
            return;
        };
        let Some(holds_normals) = reader.source.holds_normals(&texture) else {
            return;
        };
        if !holds_normals {
            let message = format!(
                "the <{}> image of the material `{}` holds heights, which say no slope without a scale; it is left out",
                node.tag_name().name(),
                self.name
            );
            reader.report(&codes::SIMPLIFIED, node, message);
        } else if let Some(map) = reader.source.map(&texture, Values::Channels, Channel::Red) {
            let (map, fits) = (placed.lay(map), laid.fits(placed.texcoord));
            maps::add(material, MapRole::Normal, map, fits, reader.source);
        }
    }

    /// Reports the unsupported images of a shader. Exporters repeat the image of the colour as that
    /// of the ambient light; it is not reported.
    fn report_others(
        &self,
        reader: &mut Reader<'a, 'input, '_, '_>,
        shader: Node<'a, 'input>,
        color: Option<&Image<'a, 'input>>,
    ) {
        for channel in [
            "ambient",
            "specular",
            "shininess",
            "reflective",
            "reflectivity",
        ] {
            let Some(texture) = child(shader, channel).and_then(|node| child(node, "texture"))
            else {
                continue;
            };
            let image = self.image(reader, texture.attribute("texture").unwrap_or_default());
            if channel == "ambient" && image.as_ref() == color {
                continue;
            }
            let message = format!(
                "the <{channel}> image of the material `{}` has no place in any output, and is left out",
                self.name
            );
            reader.report(&codes::SIMPLIFIED, texture, message);
        }
    }

    fn parameter(&self, sid: &str) -> Option<Node<'a, 'input>> {
        let set =
            children(self.instance, "setparam").find(|param| param.attribute("ref") == Some(sid));
        let mut new = self
            .places
            .iter()
            .flat_map(|place| children(*place, "newparam"));
        set.or_else(|| new.find(|param| param.attribute("sid") == Some(sid)))
    }

    /// Returns the element that holds the value of a channel: one called `tag`, or that of a
    /// parameter.
    fn value(
        &self,
        reader: &mut Reader<'a, 'input, '_, '_>,
        channel: Node<'a, 'input>,
        tag: &str,
    ) -> Option<Node<'a, 'input>> {
        if let Some(value) = child(channel, tag) {
            return Some(value);
        }
        let reference = child(channel, "param")?
            .attribute("ref")
            .unwrap_or_default();
        let beside = ["annotate", "semantic", "modifier"];
        let is_value = |node: &Node| node.is_element() && !beside.contains(&node.tag_name().name());
        let value = self
            .parameter(reference)
            .and_then(|parameter| parameter.children().find(is_value));
        if value.is_none() {
            let (channel_name, name) = (channel.tag_name().name(), self.name);
            let message = format!(
                "the <{channel_name}> of the material `{name}` refers to a parameter `{reference}` that has no value"
            );
            reader.report(&codes::REFERENCE, channel, message);
        }
        value
    }

    fn paint(
        &self,
        reader: &mut Reader<'a, 'input, '_, '_>,
        shader: Node<'a, 'input>,
        channel: &str,
    ) -> Option<Paint<'a, 'input>> {
        self.paint_of(reader, child(shader, channel)?)
    }

    /// Returns the value of a channel.
    fn paint_of(
        &self,
        reader: &mut Reader<'a, 'input, '_, '_>,
        channel: Node<'a, 'input>,
    ) -> Option<Paint<'a, 'input>> {
        if let Some(texture) = child(channel, "texture") {
            let sampler = texture.attribute("texture").unwrap_or_default();
            let Some(image) = self.image(reader, sampler) else {
                let name = self.name;
                let message =
                    format!("the texture `{sampler}` of the material `{name}` leads to no image");
                reader.report(&codes::REFERENCE, texture, message);
                return None;
            };
            return Some(Paint::Image(Placed {
                image,
                texcoord: texture.attribute("texcoord"),
                placement: self.placement(reader, texture),
            }));
        }
        let numbers = self.value(reader, channel, "color")?;
        let mut colour = [0.0, 0.0, 0.0, 1.0];
        for (slot, number) in colour
            .iter_mut()
            .zip(floats(&text(numbers)))
            .filter(|(_, number)| number.is_finite())
        {
            *slot = number;
        }
        Some(Paint::Colour(colour))
    }

    fn number(
        &self,
        reader: &mut Reader<'a, 'input, '_, '_>,
        shader: Node<'a, 'input>,
        channel: &str,
    ) -> Option<f64> {
        let number = self.value(reader, child(shader, channel)?, "float")?;
        floats(&text(number))
            .next()
            .filter(|number| number.is_finite())
    }

    /// Returns the opacity of a shader, and the image to multiply it by (specification 1.5, chapter
    /// 7, determining transparency; 1.4 has two of the modes).
    fn opacity(
        &self,
        reader: &mut Reader<'a, 'input, '_, '_>,
        shader: Node<'a, 'input>,
    ) -> (f64, Option<Opacity<'a, 'input>>) {
        let amount = self.number(reader, shader, "transparency").unwrap_or(1.0);
        let mode = child(shader, "transparent")
            .and_then(|node| node.attribute("opaque"))
            .unwrap_or("A_ONE");
        let colour = match self.paint(reader, shader, "transparent") {
            Some(Paint::Colour(colour)) => colour,
            Some(Paint::Image(_)) if matches!(mode, "RGB_ZERO" | "A_ZERO") && amount != 1.0 => {
                let name = self.name;
                let message = format!(
                    "the opacity of the material `{name}` by an image in mode {mode} is left out"
                );
                reader.report(&codes::SIMPLIFIED, shader, message);
                return (1.0, None);
            }
            Some(Paint::Image(placed)) => {
                let values = match mode {
                    "RGB_ZERO" => Values::OneMinusLuminance,
                    "RGB_ONE" => Values::Luminance,
                    "A_ZERO" => Values::OneMinusAlpha,
                    _ => Values::Alpha,
                };
                return (amount, Some(Opacity { placed, values }));
            }
            None => return (amount, None),
        };
        let luminance: f64 = LUMINANCE
            .iter()
            .zip(colour)
            .map(|(weight, c)| weight * c)
            .sum();
        let opacity = match mode {
            "RGB_ZERO" => 1.0 - luminance * amount,
            "RGB_ONE" => luminance * amount,
            "A_ZERO" => 1.0 - colour[3] * amount,
            _ => colour[3] * amount,
        };
        (opacity, None)
    }

    /// Returns the placement of a texture: the wrap modes of its sampler, and the settings that Maya,
    /// 3ds Max and FCollada write to an <extra> of it.
    fn placement(
        &self,
        reader: &mut Reader<'a, 'input, '_, '_>,
        texture: Node<'a, 'input>,
    ) -> ImagePlacement {
        let mut placement = ImagePlacement::default();
        let name = texture.attribute("texture").unwrap_or_default();
        let sampler = self.parameter(name).and_then(|parameter| {
            let is_sampler =
                |node: &Node| node.is_element() && node.tag_name().name().starts_with("sampler");
            parameter.children().find(is_sampler)
        });
        for (wrap, tag) in placement.wrap.iter_mut().zip(["wrap_s", "wrap_t"]) {
            let Some(node) = sampler.and_then(|sampler| child(sampler, tag)) else {
                continue;
            };
            *wrap = match text(node).trim() {
                "MIRROR" => Wrap::Mirror,
                "CLAMP" => Wrap::Clamp,
                // MIRROR_ONCE is of Collada 1.5.
                mode @ ("BORDER" | "NONE" | "MIRROR_ONCE") => {
                    self.report_lost(reader, node, &format!("the wrap mode {mode}"), "CLAMP");
                    Wrap::Clamp
                }
                _ => Wrap::Repeat,
            };
        }
        let settings = children(texture, "extra")
            .flat_map(|extra| children(extra, "technique"))
            .flat_map(|technique| technique.children())
            .filter(Node::is_element);
        for node in settings {
            // Materials may share an effect with many settings.
            if reader.assembly.spend(1).is_err() {
                break;
            }
            self.place(reader, node, &mut placement);
        }
        placement
    }

    /// Applies a setting of Maya's `place2dTexture`; reports one that a placement can't express.
    fn place(
        &self,
        reader: &mut Reader<'a, 'input, '_, '_>,
        node: Node<'a, 'input>,
        placement: &mut ImagePlacement,
    ) {
        let value = text(node);
        let number = floats(&value)
            .next()
            .filter(|number| number.abs() <= MAX_SETTING);
        let is_set =
            value.trim().eq_ignore_ascii_case("true") || number.is_some_and(|number| number != 0.0);
        let name = node.tag_name().name();
        let axis = usize::from(name.ends_with('V'));
        let (Some(wrap), Some(scale), Some(translation)) = (
            placement.wrap.get_mut(axis),
            placement.scale.get_mut(axis),
            placement.translation.get_mut(axis),
        ) else {
            return;
        };
        match name {
            "repeatU" | "repeatV" => *scale = number.map_or(*scale, |number| number as f32),
            "offsetU" | "offsetV" => {
                *translation = number.map_or(*translation, |number| number as f32);
            }
            // Without wrapping, Maya shows its default colour outside the frame; importers clamp.
            "wrapU" | "wrapV" if !is_set && *wrap == Wrap::Repeat => *wrap = Wrap::Clamp,
            "mirrorU" | "mirrorV" if is_set => *wrap = Wrap::Mirror,
            "coverageU" | "coverageV" if number.is_some_and(|number| number != 1.0) => {
                self.report_lost(reader, node, name, "1");
            }
            "stagger" if is_set => self.report_lost(reader, node, name, "false"),
            "rotateUV" | "rotateFrame" | "translateFrameU" | "translateFrameV" | "noiseU"
            | "noiseV"
                if number.is_some_and(|number| number != 0.0) =>
            {
                self.report_lost(reader, node, name, "0");
            }
            _ => {}
        }
    }

    /// Reports that `what` of an image is replaced by `instead`.
    fn report_lost(
        &self,
        reader: &mut Reader<'a, 'input, '_, '_>,
        node: Node<'a, 'input>,
        what: &str,
        instead: &str,
    ) {
        let message = format!(
            "{what} of an image of the material `{}` has no place in any output; {instead} is used",
            self.name
        );
        reader.report(&codes::SIMPLIFIED, node, message);
    }

    /// Resolves the image of a texture: sampler → surface → image, or a part of that chain.
    fn image(
        &self,
        reader: &Reader<'a, 'input, '_, '_>,
        texture: &str,
    ) -> Option<Image<'a, 'input>> {
        let mut name = texture.to_owned();
        for _ in 0..MAX_STEPS {
            let Some(parameter) = self.parameter(&name) else {
                break;
            };
            let inside = |tag: &str| {
                parameter
                    .descendants()
                    .find(|node| node.tag_name().name() == tag)
            };
            name = match inside("instance_image").and_then(|image| image.attribute("url")) {
                Some(url) => url.to_owned(),
                None => text(inside("source").or_else(|| inside("init_from"))?)
                    .trim()
                    .to_owned(),
            };
        }
        let Some(image) = find(&reader.ids, "image", &name) else {
            // Some exporters write the file name in place of the image's id.
            return name.contains('.').then_some(Image::File(name));
        };
        // 1.4: <data>, or <init_from> with the reference itself; 1.5: <ref> or <hex> in
        // <init_from>, optionally within <create_2d>.
        let own = || {
            image
                .children()
                .filter(|node| node.tag_name().name() != "extra")
                .flat_map(|node| node.descendants())
        };
        let inside = |tag: &str| own().find(|node| node.tag_name().name() == tag);
        let file = |node: Node| {
            Some(text(node).trim().to_owned())
                .filter(|reference| !reference.is_empty())
                .map(Image::File)
        };
        let reference = inside("ref").or_else(|| inside("init_from")).and_then(file);
        reference.or_else(|| inside("hex").or_else(|| inside("data")).map(Image::Here))
    }
}

fn linear([red, green, blue, _]: [f64; 4]) -> [f32; 3] {
    [red, green, blue].map(|part| Material::linear(part.clamp(0.0, 1.0)) as f32)
}
