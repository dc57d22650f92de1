//! Snapshots of the text layers of the sample arm, so that a reviewer sees what a change does to what people read.

use std::path::Path;

use urdf_usd::convert::{Context, Formats, Job, Source, convert};
use urdf_usd::{resolve, usd};

#[test]
fn text_layers_of_the_sample_arm() {
    let urdf = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/sample_arm/urdf/sample_arm.urdf");
    let output = tempfile::tempdir().unwrap();
    let job = Job {
        source: Source::File(urdf),
        output_dir: output.path().to_owned(),
        formats: Formats::default(),
        resolve: resolve::Options::default(),
        namespace: None,
        base: usd::Base::Auto,
        bodies: usd::Bodies::Nested,
        overlays: Vec::new(),
        srdf: None,
        simready: None,
        meshes: Default::default(),
        tiers: Default::default(),
        stand_ins: false,
        strict: false,
    };
    let report = convert(&job, &Context::default()).unwrap();
    let layers: Vec<&str> = report.files.iter().map(|file| file.path.as_str()).filter(|path| path.ends_with(".usda")).collect();
    assert!(layers.contains(&"sample_arm.usda"), "{layers:?}");
    for layer in layers {
        let text = std::fs::read_to_string(report.directory.join(layer)).unwrap();
        insta::assert_snapshot!(layer, text);
    }
}
