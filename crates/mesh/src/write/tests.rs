use std::path::Path;
use std::sync::Arc;

use super::*;
use crate::test::read_with;
use crate::{PerCorner, Polygons, from_polygons};
use urdf_usd_robot::{Corners, Material, Mesh};

fn polygons() -> Polygons {
    Polygons {
        points: vec![
            [0.1, 0.2, 0.3],
            [1.0, 0.0, -0.5],
            [0.0, 3.0, 0.0],
            [0.0, 0.0, 0.7],
        ],
        counts: vec![3, 3],
        corners: vec![0, 1, 2, 0, 2, 3],
        materials: vec![
            Material {
                metallic: 0.75,
                roughness: 0.125,
                ..Material::plain("blue steel", [0.2, 0.3, 0.4, 0.5])
            },
            Material {
                emissive: [2.0, 0.5, 0.0],
                ior: 1.75,
                ..Material::plain("lamp", [0.0, 1.0, 0.9, 1.0])
            },
        ],
        face_materials: vec![Some(0), Some(1)],
        ..Polygons::default()
    }
}

/// Returns a mesh whose normals have exact unit length.
fn mesh(polygons: &Polygons) -> Mesh {
    let mut mesh = from_polygons(polygons, Path::new("a")).unwrap().0;
    mesh.normals = Corners {
        values: vec![[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]],
        indices: vec![[0, 0, 1], [0, 1, 1]],
    };
    mesh
}

#[test]
fn stl_holds_the_triangles() {
    let mesh = mesh(&polygons());
    let (again, found) = read_with("a.stl", &stl(&mesh), &[]).unwrap();
    assert!(found.is_empty(), "{found:?}");
    assert_eq!(
        (&again.points, &again.triangles),
        (&mesh.points, &mesh.triangles)
    );
    assert_eq!(stl(&again), stl(&mesh));
    assert_eq!(lost_in_stl(&mesh.into()), Some("its colours"));
}

#[test]
fn obj_holds_triangles_and_materials() {
    let mesh = mesh(&polygons());
    let written = obj(&mesh, None, "a.mtl", &mut |_| panic!("there is no image"));
    let (again, found) = read_with(
        "a.obj",
        written.obj.as_bytes(),
        &[("a.mtl", written.mtl.as_ref().unwrap().as_bytes())],
    )
    .unwrap();
    assert!(found.is_empty(), "{found:?}");
    assert_eq!(
        (&again.points, &again.triangles, &again.normals),
        (&mesh.points, &mesh.triangles, &mesh.normals)
    );
    let numbers = |mesh: &Mesh| {
        mesh.materials
            .iter()
            .map(|m| (m.base_color, m.metallic, m.roughness, m.ior))
            .collect::<Vec<_>>()
    };
    assert_eq!(numbers(&again), numbers(&mesh));
    let apart = (0..3)
        .map(|k| (again.materials[1].emissive[k] - mesh.materials[1].emissive[k]).abs())
        .fold(0.0, f32::max);
    assert!(apart < 1e-6, "{:?}", again.materials[1].emissive);
    assert_eq!(
        (again.materials[0].name.as_str(), written.lost.len()),
        ("blue_steel", 0)
    );
    let second = obj(&again, None, "a.mtl", &mut |_| String::new());
    assert_eq!((second.obj, second.mtl), (written.obj, written.mtl));
}

#[test]
fn obj_holds_colours_of_corners_and_images() {
    let png = {
        let mut bytes = std::io::Cursor::new(Vec::new());
        image::DynamicImage::ImageRgb8(image::RgbImage::from_pixel(2, 2, image::Rgb([9, 200, 9])))
            .write_to(&mut bytes, image::ImageFormat::Png)
            .unwrap();
        bytes.into_inner()
    };
    let colors = PerCorner {
        values: vec![[0.25, 0.5, 1.0, 1.0], [0.0, 1.0, 0.0, 1.0]],
        indices: vec![0, 1, 0, 1, 1, 0],
    };
    let colored = mesh(&Polygons {
        colors,
        face_materials: Vec::new(),
        materials: Vec::new(),
        ..polygons()
    });
    let written = obj(&colored, None, "a.mtl", &mut |_| String::new());
    let (again, _) = read_with("a.obj", written.obj.as_bytes(), &[]).unwrap();
    assert_eq!((written.mtl, &again.points), (None, &colored.points));
    let colors = |mesh: &Mesh| {
        crate::test::colors(mesh)
            .into_iter()
            .flatten()
            .flatten()
            .collect::<Vec<f32>>()
    };
    crate::test::assert_near(colors(&again), colors(&colored));

    let uvs = PerCorner {
        values: vec![[0.0, 0.0], [1.0, 0.25], [0.5, 1.0]],
        indices: vec![0, 1, 2, 0, 2, 1],
    };
    let with_uvs = mesh(&Polygons { uvs, ..polygons() });
    let file = urdf_usd_resolve::File {
        path: "wood.png".into(),
        bytes: png.clone().into(),
    };
    let wood = Material {
        base_color_texture: Some(crate::texture(&file).unwrap()),
        ..Material::plain("wood", [1.0; 4])
    };
    let mut with_uvs = with_uvs;
    with_uvs.materials = vec![wood.clone(), wood];
    let written = obj(&with_uvs, None, "a.mtl", &mut |texture: &Arc<_>| {
        format!("{}.png", texture.name)
    });
    let mtl = written.mtl.unwrap();
    let (again, found) = read_with(
        "a.obj",
        written.obj.as_bytes(),
        &[("a.mtl", mtl.as_bytes()), ("wood.png", &png)],
    )
    .unwrap();
    assert!(found.is_empty(), "{found:?}");
    assert_eq!(
        (&again.uvs, &again.materials[0].base_color_texture),
        (&with_uvs.uvs, &with_uvs.materials[0].base_color_texture)
    );
}
