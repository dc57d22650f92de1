//! Binary STL.

use nalgebra::Vector3;

use urdf_usd_robot::MeshArrays;

/// Writes the triangles of a mesh as a binary STL, without scaling. Corner normals and appearance
/// are lost.
pub fn stl(mesh: &MeshArrays) -> Vec<u8> {
    // Readers take a header that starts with "solid" for ASCII.
    let mut bytes = b"binary STL".to_vec();
    bytes.resize(80, b' ');
    let count = u32::try_from(mesh.triangles.len()).unwrap_or(u32::MAX);
    bytes.extend(count.to_le_bytes());
    for triangle in mesh.triangles.iter().take(count as usize) {
        let corners =
            triangle.map(|point| mesh.points.get(point as usize).copied().unwrap_or_default());
        let [a, b, c] = corners.map(|corner| Vector3::from(corner.map(f64::from)));
        let normal = (b - a)
            .cross(&(c - a))
            .try_normalize(0.0)
            .unwrap_or_default();
        let numbers = normal
            .iter()
            .map(|&x| x as f32)
            .chain(corners.into_iter().flatten());
        bytes.extend(numbers.flat_map(f32::to_le_bytes));
        bytes.extend([0; 2]);
    }
    bytes
}
