//! Snapshots of the text layers of the sample arm, so that a reviewer sees what a change does to what people read.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test or benchmark that fails may panic

use std::path::Path;

use urdf_usd::convert::{Context, Job, Source, convert};

#[test]
fn text_layers_of_the_sample_arm() {
    let urdf = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/sample_arm/urdf/sample_arm.urdf");
    let output = tempfile::tempdir().unwrap();
    let job = Job::new(Source::File(urdf), output.path());
    let report = convert(&job, &Context::default()).unwrap();
    let layers: Vec<&str> = report.files.iter().map(|file| file.path.as_str()).filter(|path| path.ends_with(".usda")).collect();
    assert!(layers.contains(&"sample_arm.usda"), "{layers:?}");
    for layer in layers {
        let text = std::fs::read_to_string(report.directory.join(layer)).unwrap();
        insta::assert_snapshot!(layer, text);
    }
}
