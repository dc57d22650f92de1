//! The codeless schemas of what the layers apply beyond OpenUSD's own: Ros*API, ExtendedPhysics*API
//! and UrdfJointAPI.
//!
//! And those of the Isaac robot schema, which its own programs bring along: they are a plugin of
//! their own, so that no program loads them twice.
//!
//! They are data, written by hand in `schema/`: OpenUSD loads them from a directory named in
//! `PXR_PLUGINPATH_NAME`.

/// The files of the schema plugin by name; they belong into one directory.
pub const SCHEMA_FILES: [(&str, &str); 2] = [
    (
        "generatedSchema.usda",
        include_str!("../schema/generatedSchema.usda"),
    ),
    ("plugInfo.json", include_str!("../schema/plugInfo.json")),
];

/// The files of the plugin for the Isaac robot schema, which programs other than Isaac Sim lack.
pub const ISAAC_SCHEMA_FILES: [(&str, &str); 2] = [
    (
        "generatedSchema.usda",
        include_str!("../schema/isaac/generatedSchema.usda"),
    ),
    (
        "plugInfo.json",
        include_str!("../schema/isaac/plugInfo.json"),
    ),
];
