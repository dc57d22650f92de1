//! Simplified meshes with the materials of their source.

use std::ops::Range;

use urdf_usd_geometry::simplify::{self, Simplified};
use urdf_usd_robot::{Mesh, Part};

/// Creates the medium and the low tier of a mesh, where they save enough ([`simplify::tiers`]).
pub fn tiers(mesh: &Mesh) -> [Option<Mesh>; 2] {
    let parts: Vec<Range<usize>> = mesh
        .parts
        .iter()
        .map(|part| part.triangles.clone())
        .collect();
    simplify::tiers(mesh, &parts).map(|tier| tier.map(|tier| with_materials(tier, mesh)))
}

fn with_materials(tier: Simplified, source: &Mesh) -> Mesh {
    let part = |part: simplify::SimplifiedPart| Part {
        triangles: part.triangles,
        material: source
            .parts
            .get(part.source)
            .and_then(|source| source.material),
    };
    let parts = tier.parts.into_iter().map(part).collect();
    Mesh::new(tier.arrays, parts, source.materials.clone())
}

#[cfg(test)]
mod tests {
    use urdf_usd_geometry::shapes;
    use urdf_usd_robot::Material;

    use super::*;
    use crate::test::check;

    #[test]
    fn parts_keep_their_materials() {
        let ball = shapes::ball(60);
        let count = ball.triangles.len();
        let part = |triangles, material| Part {
            triangles,
            material,
        };
        let parts = vec![part(0..count / 2, Some(1)), part(count / 2..count, None)];
        let materials = ["a", "b"]
            .map(|name| Material::plain(name, [1.0; 4]))
            .to_vec();
        for tier in tiers(&Mesh::new(ball, parts, materials.clone())) {
            let tier = tier.unwrap();
            check(&tier);
            assert_eq!(tier.materials, materials);
            let kept: Vec<_> = tier.parts.iter().map(|part| part.material).collect();
            assert_eq!(kept, [Some(1), None]);
        }
    }
}
