//! Copies of one mesh in `EXT_mesh_gpu_instancing`.

/// The name of the extension. Who does not know it shows one copy where the node is, so it is
/// required of a file that has it.
pub const NAME: &str = "EXT_mesh_gpu_instancing";
