//! Codeless schemas that the layers apply beyond OpenUSD's own: Ros*API, ExtendedPhysics*API and
//! UrdfJointAPI; and those of the Isaac robot schema.
//!
//! The Isaac schema is a separate plugin, because Isaac Sim registers it already.
//!
//! The files are written by hand in `schema/`. OpenUSD loads them from a directory named in
//! `PXR_PLUGINPATH_NAME`.

/// The files of the schema plugin by name; they belong in one directory.
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
