//! The rules, one file each: what it demands, what that looks like, and the function that looks.

use super::Rule;
use crate::diagnostic::Code;

macro_rules! rules {
    ($($name:ident,)*) => {
        $(mod $name;)*

        /// All rules, in the order of the specification's table.
        pub const ALL: &[&Rule] = &[$(&$name::RULE),*];

        /// Their codes.
        pub const CODES: &[&Code] = &[$(&$name::RULE.code),*];
    };
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
}
