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
    r1_1_1_meters_per_unit,
    r1_3_1_joint_limits,
    r3_1_1_preview_surface,
    r3_1_2_udim,
    r3_1_3_texture_range,
    r3_1_4_subset_family,
    r3_2_1_texture_format,
    r3_2_2_data_map,
    r3_2_3_jpeg_alpha,
    r3_2_4_environment,
    r3_2_5_texture_there,
    r3_2_6_texture_size,
    r3_3_1_procedural,
    r3_3_2_vertex_colors,
    r3_3_3_texture_coordinates,
    r3_4_1_triangles,
    r3_4_2_orientation,
    r3_4_3_double_sided,
    r3_4_4_watertight,
    r3_4_5_winding,
    r3_4_6_topology,
    r3_6_1_area_light,
    r3_6_2_core_light,
}
