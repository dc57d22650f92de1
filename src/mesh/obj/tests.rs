//! Small OBJ files, each with what must come out of it.

use super::*;
use crate::mesh::test::{codes_of, read, read_with, triangles};

#[test]
fn corners_of_every_kind() {
    let text = "\u{feff}# a comment\nv 0 0 0\nv 1 0 0 # trailing\nv 2 2 0 2\nv 0 1 0 .1 .2 .3\nvt 0 0\nvt 1 .25\nvn 0 0 2\n\
                f 1/1/1 2/2/1 \\\n 3//1\nf -4 -2/-1 -1//-1\nl 1 2\np 1\nf 1 2\nf 1 2 9\nf 1 2 0\nf 1 2 x\n";
    for text in [text.to_owned(), text.replace('\n', "\r\n"), text.replace('\n', "\r")] {
        let (mesh, diagnostics) = read("a.obj", text.as_bytes()).unwrap();
        assert_eq!(mesh.points, [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]]);
        assert_eq!(mesh.triangles, [[0, 1, 2], [0, 2, 3]]);
        assert_eq!(mesh.normals.values, [[0.0, 0.0, 1.0]]);
        let uvs = mesh.uvs.unwrap();
        let uv: Vec<_> = uvs.indices.iter().map(|t| t.map(|i| uvs.values[i as usize])).collect();
        assert_eq!(uv, [[[0.0, 0.0], [1.0, 0.25], [0.0, 0.0]], [[0.0, 0.0], [1.0, 0.25], [0.0, 0.0]]]);
        assert_eq!(codes_of(&diagnostics), ["mesh-skipped-primitives", "mesh-bad-values"]);
        assert!(diagnostics[1].message.contains(" 4 faces"), "{}", diagnostics[1].message);
    }
}

#[test]
fn concave_faces() {
    let text = "v 0 0 0\nv 2 0 0\nv 2 1 0\nv 1 1 0\nv 1 2 0\nv 0 2 0\nf 2 3 4 5 6 1\n";
    let (mesh, _) = read("a.obj", text.as_bytes()).unwrap();
    let area: f32 = triangles(&mesh)
        .iter()
        .map(|(_, [a, b, c])| {
            let area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
            assert!(area > 0.0);
            area / 2.0
        })
        .sum();
    assert_eq!((mesh.triangles.len(), area), (4, 3.0));
}

const SQUARES: &str = "mtllib my colours.mtl\nv 0 0 0\nv 1 0 0\nv 1 1 0\nvt 0 0\nvt 1 0\nvt 1 1\n\
                       usemtl light blue\nf 1/1 2/2 3/3\nusemtl other\nf 1 3 2\nusemtl light blue\ng x\nf 1/1 2/2 3/3\n";

#[test]
fn materials_by_name() {
    let mtl = "newmtl other\nKd 1\nnewmtl light blue\nKd 0.5 0 1 # blue\nd 0.25\nKe 0 0 1\nPr 0.75\nPm 1\n";
    let (mesh, diagnostics) = read_with("a.obj", SQUARES.as_bytes(), &[("my colours.mtl", mtl.as_bytes())]).unwrap();
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let names: Vec<_> = triangles(&mesh).iter().map(|t| t.0).collect();
    assert_eq!(names, ["light blue", "light blue", "other"]);
    let blue = &mesh.materials[0];
    assert!((blue.base_color[0] - 0.214_041).abs() < 1e-6, "{blue:?}");
    assert_eq!(blue.base_color[1..], [0.0, 1.0, 0.25]);
    assert_eq!((blue.metallic, blue.roughness, blue.emissive), (1.0, 0.75, [0.0, 0.0, 1.0]));
    assert_eq!(mesh.materials[1].base_color, [1.0; 4]);
}

#[test]
fn missing_libraries_and_materials() {
    let (mesh, diagnostics) = read("a.obj", SQUARES.as_bytes()).unwrap();
    assert_eq!(codes_of(&diagnostics), ["mesh-material-library"]);
    assert_eq!((mesh.parts.len(), mesh.parts[0].material), (1, None));
    let (_, diagnostics) = read_with("a.obj", SQUARES.as_bytes(), &[("my colours.mtl", b"newmtl other")]).unwrap();
    assert_eq!(codes_of(&diagnostics), ["mesh-material"]);
}

#[test]
fn recognised_by_content() {
    assert!(looks_like(b"# x\n\n  v 0 0 0"));
    assert!(!looks_like(b"hello"));
    assert_eq!(read("a.obj", b"hello").unwrap_err().code.id, "mesh-empty");
    assert_eq!(read("a.txt", b"hello").unwrap_err().code.id, "mesh-format");
    assert!(read("a.txt", b"v 0 0 0\nv 1 0 0\nv 1 1 0\nf 1 2 3").is_ok());
}
