//! The transforms of a Collada node (specification 1.4.1, chapter 5, node and its transformation
//! elements).

use nalgebra::{Matrix4, Rotation3, Unit, Vector3};
use roxmltree::Node;

use super::{floats, text};

/// Rotates x up to z up: right is -y, up x, out of the screen z (`up_axis`, chapter 5 of the
/// specification); in z up these are x, z, -y.
#[rustfmt::skip]
pub(super) const X_UP: Matrix4<f64> = Matrix4::new(
    0.0, -1.0, 0.0, 0.0,
    0.0, 0.0, -1.0, 0.0,
    1.0, 0.0, 0.0, 0.0,
    0.0, 0.0, 0.0, 1.0,
);

/// Rotates y up to z up: right is x, up y, out of the screen z.
#[rustfmt::skip]
pub(super) const Y_UP: Matrix4<f64> = Matrix4::new(
    1.0, 0.0, 0.0, 0.0,
    0.0, 0.0, -1.0, 0.0,
    0.0, 1.0, 0.0, 0.0,
    0.0, 0.0, 0.0, 1.0,
);

/// Returns the product of a node's transformation elements in document order. Invalid ones count as
/// the identity.
pub(super) fn of_node(node: Node) -> Matrix4<f64> {
    node.children()
        .filter_map(element)
        .fold(Matrix4::identity(), |product, transform| {
            product * transform
        })
}

/// Parses a matrix of sixteen numbers, row by row.
pub(super) fn matrix(text: &str) -> Option<Matrix4<f64>> {
    numbers(text).map(|n: [f64; 16]| Matrix4::from_row_slice(&n))
}

/// Returns `None` if the element is no transform or is invalid.
fn element(node: Node) -> Option<Matrix4<f64>> {
    let name = node.tag_name().name();
    match name {
        "matrix" => matrix(&text(node)),
        "translate" => {
            numbers(&text(node)).map(|n: [f64; 3]| Matrix4::new_translation(&Vector3::from(n)))
        }
        "scale" => numbers(&text(node))
            .map(|n: [f64; 3]| Matrix4::new_nonuniform_scaling(&Vector3::from(n))),
        "rotate" => {
            let [x, y, z, degrees] = numbers(&text(node))?;
            let axis = Unit::try_new(Vector3::new(x, y, z), 0.0)?;
            Some(Rotation3::from_axis_angle(&axis, degrees.to_radians()).to_homogeneous())
        }
        "lookat" => look_at(numbers(&text(node))?),
        "skew" => skew(numbers(&text(node))?),
        _ => None,
    }
}

/// Parses the first N numbers, all of which have to be finite.
fn numbers<const N: usize>(text: &str) -> Option<[f64; N]> {
    let mut numbers = floats(text).take_while(|x| x.is_finite());
    let mut found = [0.0; N];
    for slot in &mut found {
        *slot = numbers.next()?;
    }
    Some(found)
}

/// Returns the transform to the eye, with -z towards the point of interest and y up.
fn look_at([a, b, c, d, e, f, g, h, i]: [f64; 9]) -> Option<Matrix4<f64>> {
    let [eye, interest, up] = [[a, b, c], [d, e, f], [g, h, i]].map(Vector3::from);
    let forward = (interest - eye).try_normalize(0.0)?;
    let right = forward.cross(&up).try_normalize(0.0)?;
    let up = right.cross(&forward);
    let column = |v: Vector3<f64>, w| v.push(w);
    Some(Matrix4::from_columns(&[
        column(right, 0.0),
        column(up, 0.0),
        column(-forward, 0.0),
        column(eye, 1.0),
    ]))
}

/// Shears along the second vector until the first is rotated by the angle towards it, as in
/// RenderMan.
fn skew(n: [f64; 7]) -> Option<Matrix4<f64>> {
    let turned = Vector3::new(n[1], n[2], n[3]).try_normalize(0.0)?;
    let along = Vector3::new(n[4], n[5], n[6]).try_normalize(0.0)?;
    let across = (turned - along * turned.dot(&along)).try_normalize(1e-12)?;
    let between = turned.angle(&along);
    let after = between - n[0].to_radians();
    // At these angles the sheared vector would be infinitely long.
    if !(after > 0.0 && after < std::f64::consts::PI) {
        return None;
    }
    // A vector at an angle φ to `along` has the component cot φ along it for each unit across.
    let shift = 1.0 / after.tan() - 1.0 / between.tan();
    let mut matrix = Matrix4::identity();
    let mut linear = matrix.fixed_view_mut::<3, 3>(0, 0);
    linear += along * across.transpose() * shift;
    Some(matrix)
}

#[cfg(test)]
mod tests {
    use nalgebra::Point3;
    use roxmltree::Document;

    use super::*;

    fn moved(xml: &str, point: [f64; 3]) -> [f64; 3] {
        let text = format!("<node>{xml}</node>");
        let document = Document::parse(&text).unwrap();
        let point = of_node(document.root_element()).transform_point(&Point3::from(point));
        // Rounded, for comparison.
        [point.x, point.y, point.z].map(|x| (x * 1e9).round() / 1e9 + 0.0)
    }

    #[test]
    fn every_element() {
        let p = [1.0, 2.0, 3.0];
        assert_eq!(
            moved("<matrix>1 0 0 5  0 0 -1 6  0 1 0 7  0 0 0 1</matrix>", p),
            [6.0, 3.0, 9.0]
        );
        assert_eq!(moved("<translate>1 1 1</translate>", p), [2.0, 3.0, 4.0]);
        assert_eq!(moved("<scale>1 -1 2</scale>", p), [1.0, -2.0, 6.0]);
        assert_eq!(moved("<rotate>0 0 2 90</rotate>", p), [-2.0, 1.0, 3.0]);
        // At (0, 0, 4), looking along +x, z up: right is -y.
        assert_eq!(
            moved("<lookat>0 0 4  9 0 4  0 0 1</lookat>", p),
            [-3.0, -1.0, 6.0]
        );
        // y is rotated by 45 degrees towards x.
        assert_eq!(moved("<skew>45 0 1 0 1 0 0</skew>", p), [3.0, 2.0, 3.0]);
        assert_eq!(
            moved("<skew>30 0 1 0 1 0 0</skew>", [0.0, 1.0, 0.0])[0],
            0.577_350_269
        );
        // Vectors that are not perpendicular: (1, 1, 0) rotated by 15 degrees towards x.
        assert_eq!(
            moved("<skew>15 1 1 0 1 0 0</skew>", [1.0, 1.0, 0.0]),
            [1.732_050_808, 1.0, 0.0]
        );
    }

    #[test]
    fn in_document_order() {
        assert_eq!(
            moved(
                "<translate>1 0 0</translate><rotate>0 0 1 90</rotate><scale>2 2 2</scale>",
                [1.0, 0.0, 0.0]
            ),
            [1.0, 2.0, 0.0]
        );
        assert_eq!(
            moved(
                "<scale>2 2 2</scale><translate>1 0 0</translate>",
                [1.0, 0.0, 0.0]
            ),
            [4.0, 0.0, 0.0]
        );
    }

    #[test]
    fn nonsense_moves_nothing() {
        let xml = "<matrix>1 2 3</matrix><rotate>0 0 0 90</rotate><scale>nan 1 1</scale><translate/><lookat>0 0 0 0 0 0 0 0 1</lookat>\
                   <skew>90 0 1 0 1 0 0</skew><skew>45 1 0 0 1 0 0</skew><translate>a b c</translate>";
        assert_eq!(moved(xml, [1.0, 2.0, 3.0]), [1.0, 2.0, 3.0]);
    }
}
