//! Generates the interfaces of this package from `msg/` and `srv/` at the root of the repository.

use std::error::Error;
use std::path::Path;

use urdf_usd_rosidl::{Options, read_package, rust};

fn main() {
    if let Err(error) = generate() {
        println!("cargo::error={error}");
    }
}

fn generate() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=msg");
    println!("cargo::rerun-if-changed=srv");
    let definitions = read_package("urdf_usd", Path::new("."))?;
    let options = Options {
        embeds_source: true,
        is_in_every_workspace: true,
    };
    let file = Path::new(&std::env::var("OUT_DIR")?).join("messages.rs");
    Ok(std::fs::write(file, rust(&definitions, &[], options))?)
}
