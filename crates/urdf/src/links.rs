//! Reads links: mass properties, visuals and collisions.

use std::collections::HashMap;

use nalgebra::{Matrix3, Quaternion, SymmetricEigen, Translation3, UnitQuaternion, Vector3};

use super::codes;
use super::custom::{COLLISION, Known, VISUAL};
use super::materials::Materials;
use super::references::MeshReference;
use super::xml::{Node, Xml, children, elements, name_of, qualified_name, short};
use urdf_usd_robot::{Geometry, Inertial, LinkId, Pose, Robot, Shape};

/// Thickness of a box or cylinder given as flat, in metres.
const MIN_THICKNESS: f64 = 1e-4;
/// Excess of a principal moment over its physical maximum that is not reported, relative to the
/// largest moment: numbers in files are rounded.
const INERTIA_TOLERANCE: f64 = 1e-3;

/// Materials and mesh files shared by the shapes of all links.
pub(super) struct Assets {
    pub materials: Materials,
    pub meshes: Vec<MeshReference>,
    /// Indices into `meshes`.
    by_uri: HashMap<String, usize>,
}

impl Assets {
    pub fn new(materials: Materials) -> Self {
        Self {
            materials,
            meshes: Vec::new(),
            by_uri: HashMap::new(),
        }
    }

    /// Returns the index of the mesh file `uri`, which the element `node` refers to.
    fn mesh(&mut self, xml: &Xml<'_>, node: Node<'_>, uri: &str) -> usize {
        *self.by_uri.entry(uri.to_owned()).or_insert_with(|| {
            let (uri, place) = (uri.to_owned(), xml.place(node));
            self.meshes.push(MeshReference {
                uri,
                place,
                visuals: Vec::new(),
                collisions: Vec::new(),
            });
            self.meshes.len() - 1
        })
    }
}

/// Reads the `origin` in `node`; identity if there is none. Rotations are fixed-axis roll, pitch
/// and yaw in radians.
pub(super) fn origin(xml: &mut Xml<'_>, node: Node<'_>) -> Pose {
    let Some(node) = xml.child(node, "origin") else {
        return Pose::identity();
    };
    let [x, y, z] = xml
        .numbers(node, "xyz", "0 0 0 is used")
        .unwrap_or_default();
    let [roll, pitch, yaw] = xml
        .numbers(node, "rpy", "0 0 0 is used")
        .unwrap_or_default();
    let mut rotation = UnitQuaternion::from_euler_angles(roll, pitch, yaw);
    if let Some([x, y, z, w]) = xml.numbers(node, "quat_xyzw", "it is ignored") {
        if node.attribute("rpy").is_some() {
            let message = format!(
                "{} has both rpy and quat_xyzw; quat_xyzw is used",
                xml.label(node)
            );
            xml.report(&codes::TWO_ROTATIONS, node, message, "remove one of them");
        }
        match UnitQuaternion::try_new(Quaternion::new(w, x, y, z), 1e-9) {
            Some(quaternion) => rotation = quaternion,
            None => {
                let message = "quat_xyzw has zero length, so it is ignored".to_owned();
                xml.report_at(
                    &codes::BAD_NUMBER,
                    node,
                    "quat_xyzw",
                    message,
                    "use a unit quaternion; 0 0 0 1 is the identity",
                );
            }
        }
    }
    Pose::from_parts(Translation3::new(x, y, z), rotation)
}

/// Reads the mass properties of a link.
pub(super) fn inertial(xml: &mut Xml<'_>, link: Node<'_>) -> Option<Inertial> {
    let node = xml.child(link, "inertial")?;
    let origin = origin(xml, node);
    let mass = mass(xml, node);
    let inertia = inertia(xml, node, mass);
    Some(Inertial {
        origin,
        mass,
        inertia,
        is_assumed: false,
        place: xml.place(node),
    })
}

fn mass(xml: &mut Xml<'_>, inertial: Node<'_>) -> f64 {
    let Some(node) = xml
        .child(inertial, "mass")
        .filter(|node| node.has_attribute("value"))
    else {
        let message = format!("{} has no mass", xml.label(inertial));
        xml.report(
            &codes::NO_MASS,
            inertial,
            message,
            "add <mass value=\"…\"/> in kilograms",
        );
        return 0.0;
    };
    let Some(mass) = xml.number(node, "value", "0 is used") else {
        return 0.0;
    };
    if mass < 0.0 {
        let message = format!("the mass is negative: {mass} kg");
        xml.report_at(
            &codes::NEGATIVE_MASS,
            node,
            "value",
            message,
            "correct the mass",
        );
    } else if mass == 0.0 {
        let help = "give the mass, or remove the inertial if the link is only a frame";
        xml.report_at(
            &codes::ZERO_MASS,
            node,
            "value",
            "the mass is 0".to_owned(),
            help,
        );
    }
    mass
}

fn inertia(xml: &mut Xml<'_>, inertial: Node<'_>, mass: f64) -> Matrix3<f64> {
    const NAMES: [&str; 6] = ["ixx", "ixy", "ixz", "iyy", "iyz", "izz"];
    let node = xml.child(inertial, "inertia");
    let missing: Vec<&str> = NAMES
        .into_iter()
        .filter(|name| !node.is_some_and(|node| node.has_attribute(*name)))
        .collect();
    if !missing.is_empty() {
        let at = node.unwrap_or(inertial);
        let what = if node.is_some() {
            missing.join(", ")
        } else {
            "inertia".to_owned()
        };
        let message = format!("{} has no {what}; 0 is used", xml.label(at));
        xml.report(
            &codes::NO_INERTIA,
            at,
            message,
            "add the moments of inertia in kg·m²",
        );
    }
    let Some(node) = node else {
        return Matrix3::zeros();
    };
    let [xx, xy, xz, yy, yz, zz] =
        NAMES.map(|name| xml.number(node, name, "0 is used").unwrap_or_default());
    let inertia = Matrix3::new(xx, xy, xz, xy, yy, yz, xz, yz, zz);
    // Links that are mere frames often have 0 for all values.
    if !(mass == 0.0 && inertia.iter().all(|&value| value == 0.0))
        && missing.is_empty()
        && let Some(why) = impossible(&inertia)
    {
        let help = "moments must be about the centre of mass in kg·m²; let the CAD program or a mesh tool compute them";
        xml.report(
            &codes::NON_PHYSICAL_INERTIA,
            node,
            format!("the inertia is not physically realisable: {why}"),
            help,
        );
    }
    inertia
}

/// Returns why an inertia tensor is not physically realisable, or `None` if it is.
///
/// The principal moments of a body are positive and satisfy the triangle inequality.
fn impossible(inertia: &Matrix3<f64>) -> Option<String> {
    let scale = inertia.amax();
    if scale == 0.0 {
        return Some("all components are 0".to_owned());
    }
    // Scaled, and with a bounded number of iterations: the decomposition must end for any numbers.
    let eigen = SymmetricEigen::try_new(inertia / scale, 1e-12, 1000)?;
    let mut moments: [f64; 3] = eigen.eigenvalues.into();
    moments.sort_by(f64::total_cmp);
    let [a, b, c] = moments;
    let shown = moments
        .map(|moment| format!("{:.3e}", moment * scale))
        .join(", ");
    if a <= 0.0 {
        Some(format!("not all principal moments are positive ({shown})"))
    } else if a + b < c - INERTIA_TOLERANCE * c {
        Some(format!(
            "the largest principal moment exceeds the sum of the others ({shown})"
        ))
    } else {
        None
    }
}

/// The kinds of shapes of a link.
#[derive(Clone, Copy)]
pub(super) enum ShapeKind {
    Visual,
    Collision,
}

impl ShapeKind {
    /// Returns the name of the element.
    fn element(self) -> &'static str {
        match self {
            Self::Visual => "visual",
            Self::Collision => "collision",
        }
    }

    /// Returns the attributes and elements that the model represents.
    fn known(self) -> &'static Known {
        match self {
            Self::Visual => &VISUAL,
            Self::Collision => &COLLISION,
        }
    }
}

/// Reads the shapes of one kind in the element `link`, and registers them as those of `id` with the
/// mesh files that they refer to.
pub(super) fn shapes(
    xml: &mut Xml<'_>,
    link: Node<'_>,
    kind: ShapeKind,
    id: LinkId,
    assets: &mut Assets,
    robot: &mut Robot,
) -> Vec<Shape> {
    let mut shapes = Vec::new();
    for node in children(link, kind.element()) {
        let origin = origin(xml, node);
        let material = match kind {
            ShapeKind::Visual => xml.child(node, "material"),
            ShapeKind::Collision => None,
        };
        let material = material.and_then(|material| assets.materials.resolve(xml, material, robot));
        match geometry(xml, node, assets) {
            Some((geometry, reference)) => {
                if let Some(reference) = reference.and_then(|index| assets.meshes.get_mut(index)) {
                    let users = match kind {
                        ShapeKind::Visual => &mut reference.visuals,
                        ShapeKind::Collision => &mut reference.collisions,
                    };
                    users.push((id, shapes.len()));
                }
                let custom = xml.custom(node, kind.known());
                let name = name_of(node).map(str::to_owned);
                shapes.push(Shape {
                    name,
                    origin,
                    geometry,
                    material,
                    stand_in_for: None,
                    instance_set: None,
                    custom,
                    place: xml.place(node),
                });
            }
            None => xml.leave_out(node),
        }
    }
    shapes
}

/// Reads the geometry of a visual or collision, with the index of its mesh file if it refers to
/// one; reports and returns `None` if there is no valid one.
fn geometry(
    xml: &mut Xml<'_>,
    shape: Node<'_>,
    assets: &mut Assets,
) -> Option<(Geometry, Option<usize>)> {
    let Some(node) = xml
        .child(shape, "geometry")
        .filter(|node| node.first_element_child().is_some())
    else {
        let message = format!("{} has no geometry", xml.label(shape));
        xml.report(
            &codes::NO_GEOMETRY,
            shape,
            message,
            "add <geometry> with a box, cylinder, sphere, capsule or mesh",
        );
        return None;
    };
    let kinds = ["box", "cylinder", "sphere", "capsule", "mesh"];
    let mut forms = elements(node).filter(|form| kinds.contains(&qualified_name(*form)));
    let Some(form) = forms.next() else {
        let found = elements(node).next().unwrap_or(node);
        let message = format!(
            "\"{}\" is not a geometry of URDF",
            short(qualified_name(found))
        );
        xml.report(
            &codes::UNKNOWN_GEOMETRY,
            found,
            message,
            "use box, cylinder, sphere, capsule or mesh",
        );
        return None;
    };
    for more in forms {
        let message = format!(
            "{} is a second geometry; the first is used",
            xml.label(more)
        );
        xml.report(
            &codes::REPEATED_ELEMENT,
            more,
            message,
            "move it into another visual or collision",
        );
        xml.leave_out(more);
    }
    let solid = match qualified_name(form) {
        "box" => cuboid(xml, form),
        "cylinder" => {
            // Both are read before either is required, so that both errors are reported.
            let (radius, length) = (
                dimension(xml, form, "radius"),
                dimension(xml, form, "length"),
            );
            let (radius, length) = (radius?, length?);
            Some(Geometry::Cylinder {
                radius: extent(xml, form, radius)?,
                length: thickness(xml, form, length),
            })
        }
        "sphere" => {
            let radius = dimension(xml, form, "radius")?;
            Some(Geometry::Sphere {
                radius: extent(xml, form, radius)?,
            })
        }
        "capsule" => {
            let (radius, length) = (
                dimension(xml, form, "radius"),
                dimension(xml, form, "length"),
            );
            let (radius, length) = (radius?, length?);
            Some(Geometry::Capsule {
                radius: extent(xml, form, radius)?,
                length,
            })
        }
        _ => return mesh(xml, form, assets).map(|(mesh, reference)| (mesh, Some(reference))),
    };
    solid.map(|solid| (solid, None))
}

fn cuboid(xml: &mut Xml<'_>, node: Node<'_>) -> Option<Geometry> {
    let size = dimensions::<3>(xml, node, "size")?;
    let zeros = size.iter().filter(|&&edge| edge == 0.0).count();
    // One zero makes it flat, two make it a line.
    let extent = if zeros > 1 {
        extent(xml, node, 0.0)?
    } else {
        1.0
    };
    let size = Vector3::from(size).map(|edge| {
        if edge == 0.0 {
            thickness(xml, node, edge)
        } else {
            edge
        }
    });
    (extent > 0.0).then_some(Geometry::Box { size })
}

fn mesh(xml: &mut Xml<'_>, node: Node<'_>, assets: &mut Assets) -> Option<(Geometry, usize)> {
    let scale = scale(xml, node);
    let Some(uri) = node
        .attribute("filename")
        .map(str::trim)
        .filter(|uri| !uri.is_empty())
    else {
        let message = format!("{} has no filename", xml.label(node));
        xml.report(
            &codes::NO_MESH_FILE,
            node,
            message,
            "add filename=\"package://…\"",
        );
        return None;
    };
    Some((Geometry::Missing { scale }, assets.mesh(xml, node, uri)))
}

fn scale(xml: &mut Xml<'_>, node: Node<'_>) -> Vector3<f64> {
    let one = Vector3::repeat(1.0);
    let Some(numbers) = xml.any_numbers(node, "scale", "1 1 1 is used") else {
        return one;
    };
    let scale = match *numbers {
        [x, y, z] => Vector3::new(x, y, z),
        [factor] => {
            let message = "scale has one number, which is used for all three axes".to_owned();
            xml.report_at(
                &codes::UNIFORM_SCALE,
                node,
                "scale",
                message,
                "write three numbers",
            );
            Vector3::repeat(factor)
        }
        _ => {
            let message = format!(
                "scale needs 3 numbers, but has {}; 1 1 1 is used",
                numbers.len()
            );
            xml.report_at(
                &codes::BAD_NUMBER,
                node,
                "scale",
                message,
                "write three numbers",
            );
            return one;
        }
    };
    if scale.iter().any(|&factor| factor == 0.0) {
        let message = "a scale of 0 would collapse the mesh; 1 is used instead".to_owned();
        xml.report_at(
            &codes::ZERO_SCALE,
            node,
            "scale",
            message,
            "correct the scale",
        );
    }
    scale.map(|factor| if factor == 0.0 { 1.0 } else { factor })
}

fn dimension(xml: &mut Xml<'_>, node: Node<'_>, name: &str) -> Option<f64> {
    dimensions::<1>(xml, node, name).map(|[value]| value)
}

/// Reads required dimensions; reports and returns `None` if they are missing or not numbers.
fn dimensions<const N: usize>(xml: &mut Xml<'_>, node: Node<'_>, name: &str) -> Option<[f64; N]> {
    if !node.has_attribute(name) {
        let message = format!("{} has no {name}", xml.label(node));
        xml.report(
            &codes::MISSING_NUMBER,
            node,
            message,
            format!("add {name}=\"…\" in metres"),
        );
    }
    let values: [f64; N] = xml.numbers(node, name, "the shape is left out")?;
    if values.iter().any(|&value| value < 0.0) {
        let message = format!("{name} is negative; its magnitude is used");
        xml.report_at(
            &codes::NEGATIVE_DIMENSION,
            node,
            name,
            message,
            "remove the sign",
        );
    }
    Some(values.map(f64::abs))
}

/// Returns `value` if it is positive; otherwise reports and returns `None`.
fn extent(xml: &mut Xml<'_>, node: Node<'_>, value: f64) -> Option<f64> {
    if value > 0.0 {
        return Some(value);
    }
    let message = format!("{} has no extent and is left out", xml.label(node));
    xml.report(
        &codes::EMPTY_GEOMETRY,
        node,
        message,
        "correct the size, or remove the shape",
    );
    None
}

/// Returns `value`, or the minimum thickness, reported, if it is zero.
fn thickness(xml: &mut Xml<'_>, node: Node<'_>, value: f64) -> f64 {
    if value > 0.0 {
        return value;
    }
    let message = format!("{} is flat; it gets a thickness of 0.1 mm", xml.label(node));
    xml.report(&codes::FLAT_GEOMETRY, node, message, "set the thickness");
    MIN_THICKNESS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_inertias_are_distinguished_from_rounded_ones() {
        let diagonal = |a, b, c| Matrix3::from_diagonal(&Vector3::new(a, b, c));
        for possible in [
            diagonal(1.0, 2.0, 2.9),
            diagonal(1e-9, 1e-9, 2.0e-9),
            diagonal(0.1, 0.2, 0.3),
            diagonal(0.1, 0.2, 0.3001),
        ] {
            assert_eq!(impossible(&possible), None, "{possible}");
        }
        let turn = UnitQuaternion::from_euler_angles(0.3, 0.2, 0.1)
            .to_rotation_matrix()
            .into_inner();
        for bad in [
            diagonal(1.0, 1.0, 3.0),
            diagonal(1.0, -1.0, 1.0),
            diagonal(0.0, 1.0, 1.0),
            diagonal(1e29, 1.0, 1.0),
        ] {
            assert!(
                impossible(&(turn * bad * turn.transpose())).is_some(),
                "{bad}"
            );
        }
        assert!(impossible(&Matrix3::zeros()).is_some());
    }
}
