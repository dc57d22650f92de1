//! Compares the result with the source: it must not have fewer bodies, joints, shapes or less mass.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use urdf_usd_diagnostic::{Diagnostic, Place};
use urdf_usd_stage::{OpenError, Options, Prim, Specifier, Stage, VariantChoice};

use super::codes::{MISSING, NOT_WHOLE};
use super::instances::GEOMETRY;
use super::scene::{is_joint_type, is_shape_type};

/// Maximum number of prims that a finding names.
const MAX_NAMED: usize = 5;

/// Tolerance of masses, relative: they are written in single precision.
const SAME_MASS: f64 = 1e-5;

/// The contents of a source, with some variants.
#[derive(Clone, Debug)]
pub struct Contents {
    /// The variants; none for those that the asset selects.
    variants: Vec<VariantChoice>,
    bodies: BTreeSet<String>,
    joints: BTreeSet<String>,
    shapes: BTreeSet<String>,
    /// Number of colliders.
    colliders: usize,
    /// The authored masses of bodies, in kg.
    masses: BTreeMap<String, f64>,
}

impl Contents {
    pub(super) fn new(stage: &Stage, variants: Vec<VariantChoice>) -> Self {
        // OpenUSD ignores prims below one that no layer defines.
        let defined = || {
            stage.present().filter(|(id, _)| {
                let mut above = stage.ancestors(*id);
                above.all(|above| stage[above].specifier == Specifier::Def)
            })
        };
        let paths = |is: &dyn Fn(&Prim) -> bool| -> BTreeSet<String> {
            defined()
                .filter(|(_, prim)| is(prim))
                .map(|(_, prim)| prim.path.clone())
                .collect()
        };
        let is_body = |prim: &Prim| prim.has("PhysicsRigidBodyAPI");
        let kilograms = stage.kilograms_per_unit();
        Self {
            variants,
            bodies: paths(&is_body),
            joints: paths(&|prim| is_joint_type(&prim.type_name)),
            shapes: paths(&|prim| is_shape_type(&prim.type_name)),
            // Colliders of groups move to the shapes that have none.
            colliders: paths(&|prim| {
                is_shape_type(&prim.type_name) && prim.has("PhysicsCollisionAPI")
            })
            .len(),
            masses: defined()
                .filter(|(_, prim)| is_body(prim))
                .filter_map(|(_, prim)| {
                    Some((prim.path.clone(), prim.number("physics:mass")? * kilograms))
                })
                .filter(|(_, mass)| *mass > 0.0)
                .collect(),
        }
    }

    /// Returns whether a shape of the source is here: at its path, or at one of the places to which repeated
    /// meshes and shapes of bodies move.
    fn has_shape(&self, path: &str) -> bool {
        let (above, name) = path.rsplit_once('/').unwrap_or_default();
        let below = format!("{path}/{GEOMETRY}");
        self.shapes.contains(path)
            || self.shapes.contains(&format!("{above}/{GEOMETRY}/{name}"))
            || self
                .shapes
                .range(below.clone()..)
                .next()
                .is_some_and(|shape| shape.starts_with(&below))
    }
}

/// Opens the written asset, and compares it with the source in each of `sources`.
///
/// # Errors
/// If the written asset cannot be opened.
pub fn compare(entry: &Path, sources: &[Contents]) -> Result<Vec<Diagnostic>, OpenError> {
    let mut findings = Vec::new();
    let mut written: Option<Stage> = None;
    for source in sources {
        let options = Options {
            variants: source.variants.clone(),
            ..Options::default()
        };
        let stage = match &written {
            Some(known) => known.reopen(&options),
            None => Stage::open(entry, &options),
        };
        let stage = match stage {
            Ok(stage) => stage,
            Err(error) if written.is_some() => {
                findings.push(finding(entry, String::new(), error.reason));
                continue;
            }
            Err(error) => return Err(error),
        };
        let with: Vec<String> = source.variants.iter().map(ToString::to_string).collect();
        let with = if with.is_empty() {
            String::new()
        } else {
            format!(" (with {})", with.join(", "))
        };
        for error in &stage.errors {
            let place = Place {
                element: error.path.clone().unwrap_or_default(),
                ..Place::file(entry.to_owned())
            };
            let message = format!("{}{with}", error.message);
            findings.push(Diagnostic::new(&NOT_WHOLE, place, message));
        }
        let now = Contents::new(&stage, Vec::new());
        let mut lacks = |what: &str, paths: Vec<&String>| {
            if let Some(first) = paths.first() {
                let names: Vec<&str> = paths.iter().take(MAX_NAMED).map(|p| p.as_str()).collect();
                let more = if paths.len() > MAX_NAMED { ", …" } else { "" };
                let message = format!(
                    "the result lacks {} {what} of the source{with}: {}{more}",
                    paths.len(),
                    names.join(", ")
                );
                findings.push(finding(entry, (*first).clone(), message));
            }
        };
        lacks("bodies", source.bodies.difference(&now.bodies).collect());
        lacks("joints", source.joints.difference(&now.joints).collect());
        let is_gone = |path: &&String| !now.has_shape(path);
        lacks("shapes", source.shapes.iter().filter(is_gone).collect());
        let is_lighter = |(path, mass): &(&String, &f64)| {
            let now = now.masses.get(*path).copied().unwrap_or_default();
            now < **mass * (1.0 - SAME_MASS)
        };
        let lighter = source.masses.iter().filter(is_lighter);
        lacks("masses", lighter.map(|(path, _)| path).collect());
        if now.colliders < source.colliders {
            let message = format!(
                "the result has {} colliders, the source {}{with}",
                now.colliders, source.colliders
            );
            findings.push(finding(entry, String::new(), message));
        }
        written.get_or_insert(stage);
    }
    Ok(findings)
}

fn finding(entry: &Path, element: String, message: String) -> Diagnostic {
    let place = Place {
        element,
        ..Place::file(entry.to_owned())
    };
    Diagnostic::new(&MISSING, place, message)
        .help("keep the source, and report this with the source to the authors of this program")
}
