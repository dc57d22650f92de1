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
}
