//! Checks of the OpenUSD reader, the rules of REP-158 and `fix`, for arbitrary bytes: no panic, no
//! hang, and a fixed asset can be opened again.

use std::path::PathBuf;
use std::sync::LazyLock;

use urdf_usd_rep158 as rep158;

/// Virtual folder of the fuzzed layer, with a layer that it may refer to as `b.usda`.
static FOLDER: LazyLock<(tempfile::TempDir, PathBuf)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = folder.path().to_owned();
    let other = "#usda 1.0\n(\n    defaultPrim = \"b\"\n)\ndef Xform \"b\"\n{\n    def Cube \"c\"\n    {\n    }\n}\n";
    std::fs::write(path.join("b.usda"), other).expect("the folder can be written");
    (folder, path)
});

/// Checks a layer, text or binary.
pub fn usd(bytes: &[u8]) {
    let folder = &FOLDER.1;
    // The first bytes of a `.usd` file decide its format.
    let entry = folder.join("a.usd");
    std::fs::write(&entry, bytes).expect("the folder can be written");
    let found = rep158::check(
        &entry,
        &rep158::Options {
            all_variants: true,
            ..rep158::Options::default()
        },
    );
    let fixed = urdf_usd_fix::fix(&entry, &urdf_usd_fix::Options::default());
    assert!(
        found.is_ok() || fixed.is_err(),
        "fix wrote an asset that cannot be opened"
    );
    let Ok(fixed) = fixed else { return };
    let written = tempfile::tempdir_in(folder).expect("a folder can be made");
    for (name, bytes) in &fixed.files {
        let file = written.path().join(name);
        std::fs::create_dir_all(file.parent().expect("it is in the folder"))
            .expect("a folder can be made");
        std::fs::write(file, bytes).expect("the folder can be written");
    }
    let opened = rep158::Stage::open(&written.path().join(&fixed.entry), &Default::default());
    assert!(
        opened.is_ok(),
        "the fixed asset cannot be opened: {opened:?}"
    );
}
