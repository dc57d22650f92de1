//! Writes test layers for OpenUSD, as text and as crate files, into the given folder:
//! `test/usd/test_usd_text.py` compares them with the output of OpenUSD.

#![allow(clippy::indexing_slicing, clippy::unwrap_used)] // the layers are made here

use std::path::PathBuf;

use urdf_usd_usd_author::{crate_file, text};

#[path = "../../tests/formats/layers.rs"]
mod layers;
mod torture;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args_os().nth(1).map(PathBuf::from);
    let folder = folder.ok_or("name the folder for the layers")?;
    std::fs::create_dir_all(&folder)?;
    for (name, data) in torture::layers() {
        std::fs::write(folder.join(format!("{name}.usda")), text::write(&data)?)?;
        // Crate version 0.8.0 can't represent every layer.
        if let Ok(bytes) = crate_file::write(&data) {
            std::fs::write(folder.join(format!("{name}.usdc")), bytes)?;
        }
    }
    for (name, points) in [("meshes_small", 5), ("meshes_large", 20_000)] {
        let layer = layers::meshes(points);
        std::fs::write(folder.join(format!("{name}.usda")), layer.text()?)?;
        std::fs::write(
            folder.join(format!("{name}.usdc")),
            crate_file::write(&layer.into_data()?)?,
        )?;
    }
    Ok(())
}
