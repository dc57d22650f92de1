//! Rules of EXT_robot_kinematics, with a folder for each.
//!
//! The folder of a rule has the name of its code: `dof_count` reports `kinematics-dof-count`. Its
//! `mod.rs` declares and checks the rule. Its examples are `breaks.json` and `keeps.json`, which
//! map places in the sampler to values, and to `null` for removal.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use urdf_usd_diagnostic::{Example, IdForm, ModuleId, rule, rules};

use super::findings::Findings;
use super::{Rule, Subject};

const fn id(module: &str) -> ModuleId {
    ModuleId::new("kinematics-", module, IdForm::Kebab)
}

/// Builds the example `breaks` or `keeps` of a rule from the JSON file in its folder.
macro_rules! example {
    ($name:literal) => {
        super::values(include_str!(concat!($name, ".json")))
    };
}

/// Returns the members of a JSON object, with their values as they are written.
fn values(json: &'static str) -> Example {
    serde_json::from_str::<BTreeMap<&str, Option<&RawValue>>>(json)
        .unwrap_or_default()
        .into_iter()
        .map(|(place, value)| (place, value.map(RawValue::get)))
        .collect()
}

rules! {
    unreadable,
    missing,
    not_declared,
    required,
    schema,
    node_index,
    link_index,
    joint_index,
    duplicate_name,
    shared_node,
    node_cycle,
    node_parents,
    several_parents,
    joint_loop,
    link_outside_root,
    chain_broken,
    chain_indirect,
    dof_nodes,
    dof_count,
    dof_motion,
    dof_node_matrix,
    origin_in_dof,
    dof_node_rest,
    link_transform,
    scaled_frame,
    root_transform,
    axis_zero,
    axis_not_unit,
    planar_basis,
    floating_basis,
    floating_order,
    limits_reversed,
    continuous_bounds,
    default_outside_limits,
    mimic_itself,
    mimic_chain,
    mimic_dofs,
    configuration_length,
    configuration_shape,
    configuration_outside_limits,
    animation_channel,
    animated_frame,
    animated_matrix,
    shape_outside_link,
    collision_drawn,
    configuration_form,
    other_property,
    geometry_node,
    negative_limit,
    several_roots,
    visual_and_collision,
    outside_scene,
    source_hash,
}
