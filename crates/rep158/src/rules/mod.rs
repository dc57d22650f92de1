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
    r1_3_1_joint_limits,
}
