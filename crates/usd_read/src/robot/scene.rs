//! The stage in the model's units and axes, and the diagnostics of reading it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use nalgebra::{
    Isometry3, Matrix3, Matrix4, Point3, Quaternion, Rotation3, Translation3, UnitQuaternion,
    Vector3,
};

use urdf_usd_diagnostic::{Code, Diagnostic, Place};
use urdf_usd_robot::{InvalidRobot, Pose};
use urdf_usd_stage::{Prim, PrimId, PrimMap, Stage, numbers, rigid};

/// Tolerance, in metres and radians, within which frames are equal.
pub(super) const SAME: f64 = 1e-7;

/// A stage in metres and kilograms, with z up.
pub(super) struct Scene<'a> {
    pub stage: &'a Stage,
    /// Transforms from each prim's coordinates, in the stage's units, to the world in metres with z
    /// up. For column vectors.
    pub placed: PrimMap<Matrix4<f64>>,
    /// True for each prim of the robot: present, like all its ancestors, and in the default prim,
    /// or in a robot that the lists of the robot there reference.
    pub is_part: PrimMap<bool>,
    /// Metres in a unit of length.
    pub metre: f64,
    /// Kilograms in a unit of mass.
    pub kilogram: f64,
    /// True if some variant set may change only looks.
    pub may_vary: bool,
    /// Transform from the stage's world to one in metres with z up.
    to_world: Matrix4<f64>,
    findings: RefCell<Findings>,
}

/// Diagnostics in order of discovery, without duplicates.
#[derive(Default)]
struct Findings {
    all: Vec<Diagnostic>,
    /// Indices into `all`, by a hash of place and message.
    by_hash: HashMap<u64, Vec<usize>>,
}

impl<'a> Scene<'a> {
    pub fn new(stage: &'a Stage) -> Self {
        let metre = stage.meters_per_unit();
        // Converting y up to z up keeps x and maps y to z.
        let turn = if stage.is_z_up() {
            UnitQuaternion::identity()
        } else {
            quarter_turn()
        };
        let to_world = turn.to_homogeneous() * Matrix4::new_scaling(metre);
        let mut placed = stage.worlds();
        placed
            .values_mut()
            .for_each(|world| *world = to_world * *world);
        let is_part = stage.inherit(|_, prim, above| prim.is_present() && *above.unwrap_or(&true));
        let kilogram = stage.kilograms_per_unit();
        let may_vary = super::looks::may_vary(stage);
        Self {
            stage,
            placed,
            is_part,
            metre,
            kilogram,
            may_vary,
            to_world,
            findings: RefCell::default(),
        }
    }

    /// Returns the prims of the robot.
    pub fn prims(&self) -> impl DoubleEndedIterator<Item = (PrimId, &'a Prim)> {
        self.stage.iter().filter(|(id, _)| self.is_part[*id])
    }

    /// Restricts the robot to the subtrees of these prims.
    pub fn keep_below(&mut self, roots: &[PrimId]) {
        let mut kept = self.stage.filled(false);
        for id in roots.iter().flat_map(|root| self.stage.subtree(*root)) {
            kept[id] = self.is_part[id];
        }
        self.is_part = kept;
    }

    /// Returns the frame of a prim in the world, with orthogonal axes of unit length.
    pub fn pose(&self, id: PrimId) -> Pose {
        frame_of(&self.placed[id])
    }

    /// Returns a frame given by a point and a rotation in a prim, or in the stage's world.
    pub fn frame_in(
        &self,
        prim: Option<PrimId>,
        point: &Vector3<f64>,
        rotation: &UnitQuaternion<f64>,
    ) -> Pose {
        let matrix = prim.map_or(&self.to_world, |id| &self.placed[id]);
        let at = matrix.transform_point(&Point3::from(*point));
        Pose::from_parts(at.coords.into(), frame_of(matrix).rotation * rotation)
    }

    /// Returns the location of a property, or of the prim: the layer with the strongest opinion,
    /// and the path in the stage.
    pub fn place(&self, id: PrimId, property: Option<&str>) -> Place {
        let prim = &self.stage[id];
        let file = prim.site(property).map_or_else(
            || self.stage.entry.clone(),
            |site| self.stage[site.layer].path.clone(),
        );
        let element =
            property.map_or_else(|| prim.path.clone(), |name| format!("{}.{name}", prim.path));
        Place {
            file: Some(Arc::from(file)),
            element,
            ..Place::default()
        }
    }

    /// Reports a problem with a prim or one of its properties.
    pub fn report(
        &self,
        code: &'static Code,
        id: PrimId,
        property: Option<&str>,
        message: impl Into<String>,
        help: &str,
    ) {
        let diagnostic = Diagnostic::new(code, self.place(id, property), message).help(help);
        self.push(diagnostic);
    }

    /// Reports data of a prim that the robot model rejected, if any.
    pub fn accept(&self, result: Result<(), InvalidRobot>, id: PrimId) {
        if let Err(error) = result {
            self.push(error.to_diagnostic(self.place(id, None)));
        }
    }

    /// Adds a diagnostic, unless it was reported before.
    pub fn push(&self, diagnostic: Diagnostic) {
        let Findings { all, by_hash } = &mut *self.findings.borrow_mut();
        let mut hasher = DefaultHasher::new();
        (&diagnostic.place.element, &diagnostic.message).hash(&mut hasher);
        let alike = by_hash.entry(hasher.finish()).or_default();
        let is_known = |index: &usize| all.get(*index) == Some(&diagnostic);
        if !alike.iter().any(is_known) {
            alike.push(all.len());
            all.push(diagnostic);
        }
    }

    pub fn into_findings(self) -> Vec<Diagnostic> {
        self.findings.into_inner().all
    }
}

/// Returns the rotation from y up to z up.
fn quarter_turn() -> UnitQuaternion<f64> {
    UnitQuaternion::from_axis_angle(&Vector3::x_axis(), std::f64::consts::FRAC_PI_2)
}

/// Returns the frame of a matrix, without its scale and shear.
fn frame_of(matrix: &Matrix4<f64>) -> Pose {
    if let Some((pose, _)) = rigid(matrix) {
        return pose;
    }
    let translation = Translation3::new(matrix[(0, 3)], matrix[(1, 3)], matrix[(2, 3)]);
    let linear: Matrix3<f64> = matrix.fixed_view::<3, 3>(0, 0).into_owned();
    // Gram–Schmidt: keep x, and remove its component from y.
    let x = linear.column(0).try_normalize(1e-12);
    let y = x.and_then(|x| (linear.column(1) - x * x.dot(&linear.column(1))).try_normalize(1e-12));
    let rotation = x.zip(y).map_or_else(UnitQuaternion::identity, |(x, y)| {
        UnitQuaternion::from_rotation_matrix(&Rotation3::from_matrix_unchecked(
            Matrix3::from_columns(&[x, y, x.cross(&y)]),
        ))
    });
    Isometry3::from_parts(translation, rotation)
}

/// Returns a rotation from a quaternion attribute; `None` if it is not authored or not a rotation.
pub(super) fn rotation(prim: &Prim, attribute: &str) -> Option<UnitQuaternion<f64>> {
    let [w, x, y, z] = numbers(prim.value(attribute)?)?;
    UnitQuaternion::try_new(Quaternion::new(w, x, y, z), 1e-9)
        .filter(|rotation| rotation.coords.iter().all(|c| c.is_finite()))
}

/// Returns a finite vector from an attribute.
pub(super) fn vector(prim: &Prim, attribute: &str) -> Option<Vector3<f64>> {
    let vector = Vector3::from(numbers::<3>(prim.value(attribute)?)?);
    vector.iter().all(|c| c.is_finite()).then_some(vector)
}
