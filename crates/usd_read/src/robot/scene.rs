//! The stage in the model's units and axes, and the diagnostics of reading it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use nalgebra::{Matrix4, Quaternion, UnitQuaternion, Vector3};

use urdf_usd_diagnostic::{Code, Diagnostic, Place};
use urdf_usd_robot::{InvalidRobot, Pose};
use urdf_usd_stage::{Prim, PrimId, PrimMap, Stage, factor, joint_frame, numbers};

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
    /// The ROS context of the robot (REP-158 §2.1), if it has exactly one outermost.
    pub context: Option<PrimId>,
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
        let is_context = |id: &PrimId| stage[*id].has("RosContextAPI");
        let mut outermost = stage.iter().map(|(id, _)| id).filter(|id| {
            is_part[*id] && is_context(id) && !stage.ancestors(*id).any(|above| is_context(&above))
        });
        let context = stage.default_prim.filter(is_context).or_else(|| {
            let first = outermost.next()?;
            outermost.next().is_none().then_some(first)
        });
        let kilogram = stage.kilograms_per_unit();
        let may_vary = super::looks::may_vary(stage);
        Self {
            stage,
            placed,
            is_part,
            context,
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

    /// Returns the frame of a prim in the world, without its scale and shear.
    pub fn pose(&self, id: PrimId) -> Pose {
        factor(&self.placed[id]).pose
    }

    /// Returns the frame of a joint in the world: `local` in the prim `target`, which is the body
    /// `body` or below it, or in the stage's world.
    pub fn joint_frame(&self, body: Option<PrimId>, target: Option<PrimId>, local: &Pose) -> Pose {
        let transform = |id: Option<PrimId>| id.map_or(&self.to_world, |id| &self.placed[id]);
        let target = target.filter(|_| target != body);
        joint_frame(
            transform(body),
            target.map(|target| transform(Some(target))),
            local,
        )
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
