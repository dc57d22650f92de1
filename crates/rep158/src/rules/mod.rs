//! The rules, one file each: what it demands, what that looks like, and the function that looks. Numbers up to those that the public
//! checker (`ros-openusd-compliance-checker`) has mean what they mean there; later ones in a section are this program's.

use super::Rule;
use urdf_usd_diagnostic::Code;

macro_rules! rules {
    ($($name:ident,)*) => {
        $(mod $name;)*

        /// All rules, in the order of the specification.
        pub const ALL: &[&Rule] = &[$(&$name::RULE),*];

        /// Their codes.
        pub const CODES: &[&Code] = &[$(&$name::RULE.code),*];
    };
}

rules! {
    r0_1_composition,
    r0_2_targets,
    r0_3_files,
    r1_1_1_meters_per_unit,
    r1_1_2_kilograms_per_unit,
    r1_1_3_up_axis,
    r1_1_4_root_transform,
    r1_1_5_time_codes_per_second,
    r1_1_6_kinematic_stack,
    r1_1_7_kinematic_scale,
    r1_1_8_layer_units,
    r1_1_9_matrices_and_angles,
    r1_1_10_scale_of_groups,
    r1_1_11_pivot,
    r1_2_1_default_prim,
    r1_2_2_asset_identifier,
    r1_2_3_asset_version,
    r1_2_4_asset_paths,
    r1_2_6_kind_in_component,
    r1_2_7_variant_selection,
    r1_2_8_inherits,
    r1_2_9_prefabs,
    r1_2_10_payload_contents,
    r1_2_11_point_instancer,
    r1_2_12_binary_schemas,
    r1_2_13_text_arrays,
    r1_2_14_kind_of_root,
    r1_2_15_model_hierarchy,
    r1_2_16_functional_layers,
    r1_2_17_geometry_layers,
    r1_2_18_layer_names,
    r1_2_19_heavy_payloads,
    r1_2_20_entry_layer,
    r1_2_21_provenance,
    r1_2_22_self_contained,
    r1_2_23_default_state,
    r1_2_24_clones,
    r1_3_1_joint_limits,
    r1_4_1_vendor_opinions,
    r1_4_2_core_physics,
    r3_5_1_repeated_meshes,
    r3_5_2_instanceable_without_arc,
    r4_2_6_extended_names,
    r4_2_7_core_prefix,
    r4_2_8_native_prims,
    r4_2_9_no_transport,
}
