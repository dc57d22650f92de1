//! [`Mesh`] → mesh files that other programs read. GLB is written by the crate that writes glTF.

mod obj;
mod stl;

pub use obj::{Obj, obj};
pub use stl::stl;
use urdf_usd_robot::{LazyMesh, Material};

/// Describes the appearance of a mesh that STL can't represent; `None` if there is none.
pub fn lost_in_stl(mesh: &LazyMesh) -> Option<&'static str> {
    let has_pictures = mesh.materials.iter().any(Material::has_textures);
    match mesh {
        _ if has_pictures => Some("its images and colours"),
        _ if mesh.outline().has_colors || mesh.materials.len() > 1 => Some("its colours"),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
