//! `urdf.usda`: URDF data that USD has no equivalent for, as `urdf:*` attributes and Scopes
//! (mapping, appendices C and F).

use std::collections::HashMap;

use openusd::sdf::Value;

use super::plan::{LINK_SCOPES, Plan, ROOT_SCOPES};
use super::sensors::{SensorPlan, SensorPrim, SensorPrimKind};
use super::{Scene, child};
use urdf_usd_robot::{Custom, Element, Joint, JointKind, Role, Shape, names};
use urdf_usd_usd_author::layout::{
    ASSUMED_MASS, CAMERA_OF_TOPIC, DRIVE_COMMAND, IMAGE_SIZE, JOINT_NAME, JOINT_OWNER, LINK_OWNER,
    MASS_FRAME, OWNER,
};
use urdf_usd_usd_author::{Attribute, Layer, Relationship, dictionary, string};

/// Attributes that the Scope schema defines: a URDF attribute of the same name gets the prefix
/// `urdf:`.
const SCOPE_ATTRIBUTES: [&str; 3] = ["proxyPrim", "purpose", "visibility"];

/// Maximum depth of elements; deeper ones are omitted, because no reader keeps them anyway.
const DEEPEST: usize = 64;

pub(super) fn layer(scene: &Scene<'_>) -> Layer {
    let (mut layer, root) = super::layer(
        scene,
        "urdf:* attributes and elements: what USD has no word for",
    );
    layer.over(&root);
    let mut writer = Writer {
        layer: &mut layer,
        plan: &scene.plan,
        taken: None,
    };
    // The world's geometry is in the default prim.
    writer.keep(
        &root,
        &scene.robot.custom,
        &[&ROOT_SCOPES[..], &LINK_SCOPES[..]].concat(),
    );
    for (id, link) in scene.robot.links().iter() {
        let plan = &scene.plan.links[id];
        if scene.is_over("urdf.usda") {
            return layer;
        }
        if plan.role == Role::World {
            let guest = Guest {
                owner: LINK_OWNER,
                host: &scene.robot.custom,
            };
            writer.keep_guest(&plan.path, &link.custom, &LINK_SCOPES, &guest);
        } else {
            writer.keep(&plan.path, &link.custom, &LINK_SCOPES);
        }
        // The mass of its body, if it is assumed.
        let inertial = scene.robot.links()[plan.content].inertial.as_ref();
        if plan.role == Role::Body
            && (plan.mass_missing || inertial.is_some_and(|inertial| inertial.is_assumed))
        {
            writer
                .layer
                .over(&plan.path)
                .attribute(ASSUMED_MASS, Attribute::string("true").uniform().custom());
        }
        if plan.role == Role::Body && plan.content != id && inertial.is_some() {
            let frame = scene.plan.links[plan.content].path.as_str();
            writer
                .layer
                .over(&plan.path)
                .relationship(MASS_FRAME, Relationship::to([frame]).custom());
        }
        for visual in &scene.library.visuals[id] {
            writer.keep_shape(
                &format!("{}/visual", plan.path),
                &visual.name,
                &link.visuals,
            );
        }
        for collider in &scene.library.colliders[id] {
            writer.keep_shape(
                &format!("{}/collision", plan.path),
                &collider.name,
                &link.collisions,
            );
        }
    }
    for (joint, plan) in scene
        .robot
        .joints()
        .values()
        .zip(scene.plan.joints.values())
    {
        match plan {
            Some(plan) => {
                writer.layer.over(&plan.path).apply(["UrdfJointAPI"]);
                writer.joint(&plan.path, "urdf", joint, |attribute| attribute);
                // Without gains, the drive in `physics.usda` doesn't tell.
                if let Some(drive) = joint.drive().filter(|drive| drive.gains.is_none()) {
                    let command = Attribute::token(drive.command.as_str());
                    let mut prim = writer.layer.over(&plan.path);
                    prim.attribute(DRIVE_COMMAND, command.uniform().custom());
                }
                writer.keep(&plan.path, &joint.custom, &[]);
            }
            // The attributes of a joint without a prim (to a frame, or floating) are on the child
            // link, without a schema.
            None => {
                let path = scene.plan.links[joint.child()].path.clone();
                writer.layer.over(&path).attribute(
                    JOINT_NAME,
                    Attribute::string(joint.name()).uniform().custom(),
                );
                writer.joint(&path, "urdf:joint", joint, |attribute| {
                    attribute.uniform().custom()
                });
                let guest = Guest {
                    owner: JOINT_OWNER,
                    host: &scene.robot.links()[joint.child()].custom,
                };
                writer.keep_guest(&path, &joint.custom, &LINK_SCOPES, &guest);
            }
        }
    }
    for sensor in &scene.plan.sensors {
        author_camera(&mut layer, sensor);
    }
    layer
}

/// Authors the image size of a camera, and relates its interfaces that are not below its prim to it.
fn author_camera(layer: &mut Layer, sensor: &SensorPlan) {
    let size = |prim: &SensorPrim| match prim.kind {
        SensorPrimKind::Camera(view, _) => Some([view.width, view.height]),
        _ => None,
    };
    let found = sensor
        .prims
        .iter()
        .find_map(|prim| Some((prim, size(prim)?)));
    let Some((camera, size)) = found else {
        return;
    };
    for (name, pixels) in IMAGE_SIZE.into_iter().zip(size) {
        let pixels = i32::try_from(pixels).unwrap_or(i32::MAX);
        let attribute = Attribute::int(pixels).uniform().custom();
        layer.over(&camera.path).attribute(name, attribute);
    }
    let is_below = |path: &str| {
        path.strip_prefix(camera.path.as_str())
            .is_some_and(|rest| rest.starts_with('/'))
    };
    for path in sensor.interfaces.iter().flatten() {
        if !is_below(path) {
            let camera = Relationship::to([camera.path.as_str()]).custom();
            layer.over(path).relationship(CAMERA_OF_TOPIC, camera);
        }
    }
}

/// An element of the source whose custom data are on the prim of another element.
struct Guest<'a> {
    owner: &'static str,
    /// The custom data of the element that has the prim.
    host: &'a Custom,
}

impl Guest<'_> {
    /// Marks an attribute as one of the guest.
    fn mark(&self, attribute: Attribute) -> Attribute {
        let data = OWNER
            .rsplit(':')
            .fold(string(self.owner), |value, key| dictionary([(key, value)]));
        attribute.metadata("customData", data)
    }
}

struct Writer<'a> {
    layer: &'a mut Layer,
    plan: &'a Plan,
    /// Names of children in use, by prim, once elements need them.
    taken: Option<HashMap<String, Vec<String>>>,
}

impl Writer<'_> {
    fn taken(&mut self) -> &mut HashMap<String, Vec<String>> {
        self.taken.get_or_insert_with(|| self.plan.children())
    }

    /// Authors a joint's URDF attributes with the prefix, each finished by `finish`.
    fn joint(
        &mut self,
        path: &str,
        prefix: &str,
        joint: &Joint,
        finish: fn(Attribute) -> Attribute,
    ) {
        let mut prim = self.layer.over(path);
        prim.attribute(
            &format!("{prefix}:type"),
            finish(Attribute::token(joint.kind().as_str()).uniform()),
        );
        let limit = joint.limit.unwrap_or_default();
        let dynamics = joint.dynamics.unwrap_or_default();
        let safety = joint.safety.unwrap_or_default();
        let calibration = joint.calibration.unwrap_or_default();
        let numbers = [
            ("limit:effort", limit.effort),
            ("limit:velocity", limit.velocity),
            ("dynamics:damping", dynamics.damping),
            ("dynamics:friction", dynamics.friction),
            (
                "safety_controller:soft_lower_limit",
                safety.soft_lower_limit,
            ),
            (
                "safety_controller:soft_upper_limit",
                safety.soft_upper_limit,
            ),
            ("safety_controller:k_position", safety.k_position),
            ("safety_controller:k_velocity", safety.k_velocity),
            ("calibration:rising", calibration.rising),
            ("calibration:falling", calibration.falling),
            (
                "calibration:reference_position",
                calibration.reference_position,
            ),
        ];
        for (name, value) in numbers {
            if let Some(value) = value {
                prim.attribute(
                    &format!("{prefix}:{name}"),
                    finish(Attribute::float(value as f32)),
                );
            }
        }
        let (lower, upper) = limit.bounds.sides();
        // UsdPhysics joints have these as limits; joint types without limits keep the URDF values
        // here.
        if !matches!(joint.kind(), JointKind::Revolute | JointKind::Prismatic) {
            for (name, value) in [("limit:lower", lower), ("limit:upper", upper)] {
                if let Some(value) = value {
                    prim.attribute(
                        &format!("{prefix}:{name}"),
                        Attribute::float(value as f32).uniform().custom(),
                    );
                }
            }
        }
    }

    /// Authors a shape's URDF data: attributes on its prim, elements in a Scope beside it, because
    /// an instanceable prim hides its children.
    fn keep_shape(&mut self, scope: &str, name: &str, shapes: &[Shape]) {
        // `visual_3` is the fourth visual of the source link, even if an earlier one is missing.
        let index = name
            .rsplit('_')
            .next()
            .and_then(|index| index.parse::<usize>().ok());
        let Some(shape) = index
            .and_then(|index| shapes.get(index))
            .filter(|shape| !shape.custom.is_empty())
        else {
            return;
        };
        self.attributes(
            &format!("{scope}/{name}"),
            "urdf:",
            &shape.custom.attributes,
            &[],
        );
        if !shape.custom.elements.is_empty() {
            let beside = format!("{scope}/{name}_urdf");
            self.layer.def(&beside, "Scope");
            self.elements(&beside, &shape.custom.elements, 0);
        }
    }

    fn keep(&mut self, path: &str, custom: &Custom, reserved: &[&str]) {
        if custom.is_empty() {
            return;
        }
        self.attributes(path, "urdf:", &custom.attributes, &[]);
        self.reserve(path, reserved);
        self.elements(path, &custom.elements, 0);
    }

    /// Authors the custom data of an element without a prim, marked with their owner. Attributes with
    /// the name of one of the host have the owner in their name.
    fn keep_guest(&mut self, path: &str, custom: &Custom, reserved: &[&str], guest: &Guest<'_>) {
        if custom.is_empty() {
            return;
        }
        let of_host = identifiers(&guest.host.attributes);
        let mut prim = self.layer.over(path);
        for ((own, value), name) in custom
            .attributes
            .iter()
            .zip(identifiers(&custom.attributes))
        {
            let attribute = guest.mark(text_attribute(own, value, &name));
            let prefix = if of_host.contains(&name) {
                format!("urdf:{}:", guest.owner)
            } else {
                "urdf:".to_owned()
            };
            prim.attribute(&format!("{prefix}{name}"), attribute);
        }
        self.reserve(path, reserved);
        for scope in self.elements(path, &custom.elements, 0) {
            let owner = Attribute::string(guest.owner).uniform().custom();
            self.layer
                .over(&format!("{path}/{scope}"))
                .attribute(OWNER, owner);
        }
    }

    fn reserve<T: AsRef<str>>(&mut self, path: &str, names: &[T]) {
        let taken = self.taken().entry(path.to_owned()).or_default();
        taken.extend(names.iter().map(|name| name.as_ref().to_owned()));
    }

    /// Authors elements as Scopes, and returns the names of these; siblings are named in one pass.
    fn elements(&mut self, path: &str, elements: &[Element], depth: usize) -> Vec<String> {
        if elements.is_empty() || depth > DEEPEST {
            return Vec::new();
        }
        let wanted: Vec<&str> = elements
            .iter()
            .map(|element| element.name.as_str())
            .collect();
        // A Scope of an element has no other children.
        let taken = (depth == 0).then(|| self.taken().get(path));
        let taken = taken.flatten().into_iter().flatten();
        let taken: Vec<&str> = taken.map(String::as_str).collect();
        let identifiers = names::identifiers(&wanted, "element", &taken);
        for (element, name) in elements.iter().zip(&identifiers) {
            let below = child(path, name);
            let mut prim = self.layer.def(&below, "Scope");
            if *name != element.name {
                prim.display_name(&element.name);
            }
            if !element.text.is_empty() {
                prim.attribute(
                    "urdf:text",
                    Attribute::string(&element.text).uniform().custom(),
                );
            }
            self.attributes(&below, "", &element.attributes, &SCOPE_ATTRIBUTES);
            self.elements(&below, &element.children, depth + 1);
        }
        if depth == 0 {
            self.reserve(path, &identifiers);
        }
        identifiers
    }

    /// Authors attributes as text, as in the XML. Those in `clashing` get the prefix `urdf:`.
    fn attributes(
        &mut self,
        path: &str,
        prefix: &str,
        attributes: &[(String, String)],
        clashing: &[&str],
    ) {
        let mut prim = self.layer.over(path);
        for ((own, value), name) in attributes.iter().zip(identifiers(attributes)) {
            let prefix = if clashing.contains(&name.as_str()) {
                "urdf:"
            } else {
                prefix
            };
            let attribute = text_attribute(own, value, &name);
            prim.attribute(&[prefix, &name].concat(), attribute);
        }
    }
}

/// Returns the names of attributes in OpenUSD, without a prefix.
fn identifiers(attributes: &[(String, String)]) -> Vec<String> {
    let wanted: Vec<&str> = attributes.iter().map(|(name, _)| name.as_str()).collect();
    names::identifiers(&wanted, "attribute", &[])
}

/// Returns an attribute with its text in the XML; `own` is its name there, `name` the one in OpenUSD.
fn text_attribute(own: &str, value: &str, name: &str) -> Attribute {
    let attribute = Attribute::string(value).uniform().custom();
    if name == own {
        attribute
    } else {
        attribute.metadata("displayName", Value::String(own.to_owned()))
    }
}
