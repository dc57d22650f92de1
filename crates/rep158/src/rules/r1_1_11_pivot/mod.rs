//! The origin of an asset that is placed on the ground is at its bottom center.

#![expect(
    clippy::indexing_slicing,
    reason = "computes on the axes of vectors, and on transforms, one for each prim"
)]

use urdf_usd_stage::{Prim, PrimId, Stage, vectors};

use super::{Findings, Subject, rule};
use crate::layers::{is_geometry, is_ros};

rule! {
    severity: Warning,
    meaning: "The origin of an object that is placed on the ground is not at the bottom centre of \
              its bounding box.",
    outcome: "Placed in a scene, the object floats above the ground or sinks into it.",
    demand: "For assets intended to be placed on the ground, the root origin should be located at \
             the bottom-center of the bounding box (Z=0).",
    section: ("Coordinate Systems & Units", "§1.1"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    let Some(root) = stage.default_prim else {
        return;
    };
    let has = |what: &dyn Fn(&Prim) -> bool| stage.prims.iter().any(what);
    // Mechanisms, assets with sensors and environments are exempt: only the pivot of a single prop
    // matters.
    let is_aggregate = stage[root]
        .kind
        .as_deref()
        .is_some_and(|kind| kind != "component");
    if is_aggregate
        || !subject.physics.joints.is_empty()
        || subject.physics.bodies.len() > 1
        || has(&|prim| prim.type_name == "Camera")
    {
        return;
    }
    if !has(&|prim| prim.has("PhysicsCollisionAPI"))
        || has(&|prim| prim.schemas.iter().any(|schema| is_ros(schema)))
    {
        return;
    }
    let Some([low, high]) = bounds(stage, root) else {
        return;
    };
    let size = (0..3)
        .map(|axis| high[axis] - low[axis])
        .fold(0.0, f64::max);
    let off = [
        f64::midpoint(low[0], high[0]),
        f64::midpoint(low[1], high[1]),
        low[2],
    ];
    if off
        .iter()
        .any(|distance| distance.abs() > 0.01 * size + 1e-3)
    {
        let [x, y, z] = off.map(|distance| (distance * 1000.0).round() / 1000.0);
        let message =
            format!("the bottom centre of the asset is at ({x}, {y}, {z}), not at its origin");
        findings.prim(
            root,
            None,
            message,
            "move the shapes so that the origin is at their bottom centre",
        );
    }
}

/// Returns the bounding box of all shapes in the frame of `root`; `None` if the extent of one is unknown.
fn bounds(stage: &Stage, root: PrimId) -> Option<[[f64; 3]; 2]> {
    let worlds = stage.worlds();
    let to_root = worlds[root].try_inverse()?;
    let mut bounds: Option<[[f64; 3]; 2]> = None;
    for id in stage
        .subtree(root)
        .filter(|&id| stage[id].is_present() && is_geometry(&stage[id].type_name))
    {
        let points = stage[id]
            .value("extent")
            .or_else(|| stage[id].value("points"))
            .and_then(vectors)?;
        let low_high = |axis: usize| {
            points
                .iter()
                .map(|point| point[axis])
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| {
                    (l.min(v), h.max(v))
                })
        };
        let sides = [0, 1, 2].map(low_high);
        for corner in 0..8 {
            let at = [0, 1, 2].map(|axis| {
                if corner >> axis & 1 == 0 {
                    sides[axis].0
                } else {
                    sides[axis].1
                }
            });
            let point = (to_root * worlds[id]).transform_point(&at.into());
            let [low, high] = bounds.get_or_insert([point.coords.into(), point.coords.into()]);
            for axis in 0..3 {
                low[axis] = low[axis].min(point[axis]);
                high[axis] = high[axis].max(point[axis]);
            }
        }
    }
    bounds.filter(|bounds| bounds.iter().flatten().all(|c| c.is_finite()))
}
