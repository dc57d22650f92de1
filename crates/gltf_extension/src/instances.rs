//! Instances of a mesh in `EXT_mesh_gpu_instancing`.

/// Name of the extension. Readers that don't support it show a single instance at the node, so
/// files that use it list it as required.
pub const NAME: &str = "EXT_mesh_gpu_instancing";
