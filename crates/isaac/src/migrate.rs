//! Migration from older versions of the schema.

use std::collections::HashMap;

use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_stage::{Prim, PrimId};
use urdf_usd_usd_author::isaac_schema as names;
use urdf_usd_usd_author::{Attribute, Layer};

use crate::populate::write_list;
use crate::report::Findings;
use crate::{View, codes, overlay};

/// The paths of the prims that were migrated.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Migrated {
    /// Sites that applied `IsaacReferencePointAPI`.
    pub sites: Vec<String>,
    /// Joints whose attributes per axis were replaced by one list, or removed from a joint with one
    /// axis.
    pub joints: Vec<String>,
    /// Explicit lists of robots that were replaced by prepended ones.
    pub lists: Vec<String>,
    /// The opinions that could not be authored.
    pub diagnostics: Vec<Diagnostic>,
}

/// Migrates the prim `robot` and its descendants.
///
/// Replaces `IsaacReferencePointAPI` by `IsaacSiteAPI`, migrates the order of the degrees of freedom
/// ([`migrate_dof_order`]), and replaces explicit lists of robots by prepended ones
/// ([`ensure_prepended`]). `layer` is the strongest of the stage.
pub fn migrate(view: &View<'_>, robot: PrimId, layer: &mut Layer) -> Migrated {
    let mut migrated = Migrated::default();
    let mut findings = Findings::new(view.stage);
    for id in view.subtree(robot) {
        let prim = &view.stage[id];
        let (is_site, has_offsets) = (
            prim.has(names::REFERENCE_POINT_API),
            view.is_joint(id) && !offsets(prim).is_empty(),
        );
        if (is_site || has_offsets) && !overlay::can_author(view.stage, id) {
            let message = format!("{} cannot be migrated: it is below an instance", prim.path);
            let help = "make the prim above not instanceable, or migrate the referenced layer";
            findings.add(&codes::INSTANCE, id, None, message, help);
            continue;
        }
        if is_site {
            layer
                .over(&prim.path)
                .unapply([names::REFERENCE_POINT_API])
                .apply([names::SITE_API]);
            migrated.sites.push(prim.path.clone());
        }
        if has_offsets && migrate_dof_order(view, id, layer) {
            migrated.joints.push(prim.path.clone());
        }
        if view.is_robot(id) && overlay::can_author(view.stage, id) {
            let lists = ensure_prepended(view, id, layer);
            migrated.lists.extend(
                lists
                    .into_iter()
                    .map(|list| format!("{}.{list}", prim.path)),
            );
        }
    }
    migrated.diagnostics = findings.finish();
    migrated
}

/// Authors prepended lists over the explicit lists of links and joints of a robot, with the same
/// entries in the same order. Returns the names of the lists.
pub fn ensure_prepended(view: &View<'_>, robot: PrimId, layer: &mut Layer) -> Vec<&'static str> {
    let lists = [names::ROBOT_LINKS, names::ROBOT_JOINTS]
        .into_iter()
        .filter(|list| is_explicit(view, robot, list));
    lists
        .inspect(|list| write_list(view, robot, list, view.stage[robot].targets(list), layer))
        .collect()
}

/// Whether the strongest opinion about a list is explicit, and hides weaker ones.
pub(crate) fn is_explicit(view: &View<'_>, robot: PrimId, list: &str) -> bool {
    let site = view.stage[robot]
        .relationships
        .get(list)
        .and_then(|list| list.sites.first());
    site.is_some_and(|site| {
        let path = site
            .path
            .split_once('.')
            .map_or(site.path.as_str(), |(prim, _)| prim);
        let properties = view.stage[site.layer]
            .prim(path)
            .map_or(&[][..], |prim| prim.properties.as_slice());
        properties
            .iter()
            .any(|property| property.name == list && property.is_explicit)
    })
}

/// Replaces the attributes of a joint for each axis (`isaac:physics:Tr_X:DoFOffset` to `Rot_Z`) by
/// `isaac:physics:DofOffsetOpOrder`, and returns whether there were any.
///
/// The order is that of the offsets, and of [`DOF_TOKENS`](names::DOF_TOKENS) for equal offsets,
/// without locked axes. An existing order is sorted by the offsets; axes without an offset follow. A
/// joint with at most one axis gets no order. `layer` is the strongest of the stage.
pub fn migrate_dof_order(view: &View<'_>, joint: PrimId, layer: &mut Layer) -> bool {
    let prim = &view.stage[joint];
    let offsets = offsets(prim);
    if offsets.is_empty() {
        return false;
    }
    let places: HashMap<&str, i64> = offsets
        .iter()
        .filter_map(|(attribute, token)| Some((*token, integer(prim, attribute)?)))
        .collect();
    let rank = |token: &str| {
        names::DOF_TOKENS
            .iter()
            .position(|other| *other == token)
            .unwrap_or(names::DOF_TOKENS.len())
    };
    let has_several = !matches!(
        prim.type_name.as_str(),
        "PhysicsRevoluteJoint"
            | "PhysicsPrismaticJoint"
            | "PhysicsFixedJoint"
            | "PhysicsDistanceJoint"
    );
    let authored = prim
        .value(names::DOF_ORDER)
        .and_then(urdf_usd_stage::texts)
        .unwrap_or_default();
    let mut order: Vec<&str> = authored.clone();
    if order.is_empty() {
        order = names::DOF_TOKENS
            .into_iter()
            .filter(|token| places.contains_key(token) && is_free(prim, token))
            .collect();
        order.sort_by_key(|token| (places.get(token).copied(), rank(token)));
    } else {
        // The sort is stable: axes without an offset keep their order at the end.
        order.sort_by_key(|token| {
            places
                .get(token)
                .map_or((1, 0, 0), |place| (0, *place, rank(token)))
        });
    }
    let mut over = layer.over(&prim.path);
    if has_several && order != authored && (order.len() > 1 || !authored.is_empty()) {
        over.attribute(
            names::DOF_ORDER,
            Attribute::token_array(order.iter().copied()),
        );
    }
    for (attribute, _) in offsets {
        let (is_weaker, type_name) = match prim.attributes.get(attribute) {
            Some(authored) => (true, authored.type_name.clone()),
            None => (false, String::new()),
        };
        over.remove_property(attribute);
        if is_weaker {
            // A stronger layer can block the value of an attribute, but not remove the attribute.
            let is_custom = prim
                .attributes
                .get(attribute)
                .is_some_and(|authored| authored.is_custom);
            let blocked = Attribute::blocked(type_name);
            over.attribute(
                attribute,
                if is_custom { blocked.custom() } else { blocked },
            );
        }
    }
    true
}

/// Returns the attributes of a joint for the offsets of axes, with the tokens of the axes.
///
/// Accepts the spelling of the schema, `DoFOffset`, and that of Isaac Sim, `DofOffset`.
pub(crate) fn offsets(prim: &Prim) -> Vec<(&str, &'static str)> {
    let token = |name: &str| {
        let (axis, last) = name.strip_prefix("isaac:physics:")?.split_once(':')?;
        let (kind, letter) = axis.split_once('_')?;
        let start = match kind {
            "Tr" => "Trans",
            "Rot" => "Rot",
            _ => return None,
        };
        let is_axis = |token: &&str| token.strip_prefix(start).is_some_and(|rest| rest == letter);
        names::DOF_TOKENS
            .into_iter()
            .find(is_axis)
            .filter(|_| last.eq_ignore_ascii_case("DofOffset"))
    };
    let has_value = prim
        .attributes
        .iter()
        .filter(|(_, attribute)| attribute.value.is_some());
    has_value
        .filter_map(|(name, _)| Some((name.as_str(), token(name)?)))
        .collect()
}

fn integer(prim: &Prim, attribute: &str) -> Option<i64> {
    let number = prim.number(attribute).filter(|number| number.abs() < 1e9)?;
    #[expect(clippy::cast_possible_truncation, reason = "it is small")]
    Some(number.round() as i64)
}

/// Returns the degrees of freedom of a joint, in the order of [`DOF_TOKENS`](names::DOF_TOKENS).
pub(crate) fn free_axes(prim: &Prim) -> Vec<&'static str> {
    let axes = names::DOF_TOKENS.into_iter();
    axes.filter(|token| is_free(prim, token)).collect()
}

/// Whether a joint is free along or about an axis. An axis of a general joint is locked by a low limit
/// above the high one.
fn is_free(prim: &Prim, token: &str) -> bool {
    if prim.type_name == "PhysicsSphericalJoint" {
        return token.starts_with("Rot");
    }
    let mut instance = token.to_owned();
    if let Some(first) = instance.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    let side = |side: &str| prim.number(&format!("limit:{instance}:physics:{side}"));
    let is_limited = prim.has(&format!("PhysicsLimitAPI:{instance}"));
    !is_limited || side("low").unwrap_or(f64::NEG_INFINITY) <= side("high").unwrap_or(f64::INFINITY)
}
