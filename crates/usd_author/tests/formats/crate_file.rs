//! Crate files: their version, and the layers that are rejected.

use openusd::sdf::Value;

use super::layers::meshes;
use urdf_usd_usd_author::crate_file::write;
use urdf_usd_usd_author::{Attribute, Layer};

#[test]
fn bytes_are_the_same_each_time_and_marked_0_8_0() {
    let bytes = write(&meshes(100).into_data().unwrap()).unwrap();
    assert_eq!(&bytes[..11], b"PXR-USDC\0\x08\0");
    assert_eq!(bytes, write(&meshes(100).into_data().unwrap()).unwrap());
}

/// Returns the path of the spec that can't be written.
fn refused_at(layer: &Layer) -> String {
    write(&layer.clone().into_data().unwrap()).unwrap_err().path
}

#[test]
fn what_needs_a_newer_version_is_refused() {
    let mut layer = meshes(1);
    layer.over("/p").attribute(
        "t",
        Attribute::new("timecode", Value::TimeCode(openusd::sdf::TimeCode(1.0))),
    );
    assert_eq!(refused_at(&layer), "/p.t");

    let mut layer = meshes(1);
    layer.metadata("layerRelocates", Value::Relocates(Vec::new()));
    assert!(write(&layer.into_data().unwrap()).is_err());

    let mut layer = meshes(1);
    layer.over("/p").attribute("defaultPrim", Attribute::int(1));
    assert_eq!(refused_at(&layer), "/p.defaultPrim");
    assert!(write(&openusd::sdf::Data::new()).is_err());

    let mut layer = meshes(1);
    layer.over(&"/p".repeat(257));
    assert!(write(&layer.into_data().unwrap()).is_err());
}
