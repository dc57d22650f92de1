//! Finds the entry file of an asset.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::{OutputFormat, Report};
use urdf_usd_resolve as resolve;
use urdf_usd_usd_write::Overlay;

impl Report {
    /// Returns the path of the asset's file with the asset's name and this extension (`usda`,
    /// `glb`), if it was written.
    pub fn file(&self, ending: &str) -> Option<PathBuf> {
        let name = format!("{}.{ending}", self.name);
        self.files
            .iter()
            .any(|file| file.path == name)
            .then(|| self.directory.join(name))
    }

    /// Returns the files that programs open, the layers before their overlays and other formats.
    pub fn entries(&self) -> Vec<PathBuf> {
        let formats = OutputFormat::ALL.iter().map(|format| format.extension());
        let overlays = Overlay::ALL.map(|overlay| format!("{overlay}.usda"));
        let (layers, others) = (formats.clone().take(1), formats.skip(1));
        layers
            .map(|ending| self.file(ending))
            .chain(overlays.iter().map(|ending| self.file(ending)))
            .chain(others.map(|ending| self.file(ending)))
            .flatten()
            .collect()
    }
}

/// Returns the file to open for the path `asset`.
///
/// A file stands for itself. In a directory, it is the first existing file, in the order of
/// `endings`, that has the directory's name or the name that the robot had when it was converted.
///
/// # Errors
/// Returns a message for the user if the path does not exist, or the directory has no such file.
pub fn entry(asset: &Path, endings: &[&str]) -> Result<PathBuf, String> {
    if !asset.is_dir() {
        return if asset.exists() {
            Ok(asset.to_owned())
        } else {
            Err(resolve::missing_input(asset).to_string())
        };
    }
    let directory = asset
        .canonicalize()
        .map_err(|error| format!("cannot open {}: {error}", asset.display()))?;
    let name = directory.file_name().unwrap_or_default();
    // A copied directory may have another name than its files.
    let converted = || {
        Report::read(asset)
            .ok()
            .and_then(|report| named(asset, OsStr::new(&report.name), endings))
    };
    named(asset, name, endings)
        .or_else(converted)
        .ok_or_else(|| {
            let wanted = Path::new(name).with_added_extension(endings.first().unwrap_or(&""));
            format!(
                "{} contains no {}: give the path of the asset's file",
                asset.display(),
                wanted.display()
            )
        })
}

/// Returns the existing file of this name in a directory with the first of `endings`.
pub fn named(directory: &Path, name: &OsStr, endings: &[&str]) -> Option<PathBuf> {
    endings
        .iter()
        .map(|ending| directory.join(name).with_added_extension(ending))
        .find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::entry;
    use crate::{Context, Job, Report, Source, convert};

    #[test]
    fn an_asset_is_opened_by_its_file_its_folder_and_a_copy_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let text = "<robot name='my: arm'><link name='a'/></robot>".into();
        let report = convert(
            &Job::new(Source::Text { text, file: None }, folder.path()),
            &Context::default(),
        )
        .unwrap();
        let (arm, usda) = (
            folder.path().join("my_ arm"),
            folder.path().join("my_ arm/my_ arm.usda"),
        );
        assert_eq!(
            (entry(&usda, &["glb"]), entry(&arm, &["usda", "glb"])),
            (Ok(usda.clone()), Ok(usda.clone()))
        );
        assert_eq!(
            entry(&arm, &["usdc", "glb"]),
            Ok(usda.with_extension("glb"))
        );
        assert_eq!(
            (report.file("usda"), report.file("usdz")),
            (Some(usda.clone()), None)
        );
        // The report as read back.
        let read = Report::read(&arm).unwrap();
        assert_eq!(
            (&read.name, &read.directory, read.file("glb")),
            (&report.name, &arm, report.file("glb"))
        );

        let copy = folder.path().join("copy.1");
        fs::rename(&arm, &copy).unwrap();
        assert_eq!(entry(&copy, &["usda"]), Ok(copy.join("my_ arm.usda")));
        let none = entry(&copy, &["usdz"]).unwrap_err();
        assert!(none.contains("contains no copy.1.usdz"), "{none}");
        assert!(
            entry(&arm, &["usda"])
                .unwrap_err()
                .contains("does not exist")
        );
    }
}
