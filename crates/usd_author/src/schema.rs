//! Codeless schemas that the layers apply beyond OpenUSD's own: Ros*API, ExtendedPhysics*API and
//! UrdfJointAPI; and those of the Isaac robot schema.
//!
//! The Isaac schema is a separate plugin, because Isaac Sim registers it already.
//!
//! The files are written by hand in `schema/`. OpenUSD loads them from a directory named in
//! `PXR_PLUGINPATH_NAME`.

/// The files of the schema plugins, by path in one directory. The plugin in `usdRos` has the name and the types of
/// the one that ros-simulation/openusd-schemas distributes: OpenUSD loads only one of two plugins with the same
/// name, but fails if two plugins declare the same schema.
pub const SCHEMA_FILES: [(&str, &str); 4] = [
    (
        "generatedSchema.usda",
        include_str!("../schema/generatedSchema.usda"),
    ),
    ("plugInfo.json", include_str!("../schema/plugInfo.json")),
    (
        "usdRos/generatedSchema.usda",
        include_str!("../schema/usdRos/generatedSchema.usda"),
    ),
    (
        "usdRos/plugInfo.json",
        include_str!("../schema/usdRos/plugInfo.json"),
    ),
];

/// The files of the plugin for the Isaac robot schema, which programs other than Isaac Sim lack; by path in the same
/// directory.
pub const ISAAC_SCHEMA_FILES: [(&str, &str); 2] = [
    (
        "isaac/generatedSchema.usda",
        include_str!("../schema/isaac/generatedSchema.usda"),
    ),
    (
        "isaac/plugInfo.json",
        include_str!("../schema/isaac/plugInfo.json"),
    ),
];
