//! Checks an asset against REP-158 before it is published.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use urdf_usd_diagnostic::{Diagnostic, Place};
use urdf_usd_rep158 as rep158;
use urdf_usd_resolve as resolve;
use urdf_usd_robot::CacheEvicted;

use super::{Options, codes, publish};

/// Checks the OpenUSD files against the rules, in every variant. `directory` is their future
/// location.
///
/// # Errors
/// If the content of a file is no longer in the cache.
pub(super) fn check(
    files: &publish::Files,
    name: &str,
    directory: &Path,
    options: &Options,
) -> Result<Vec<Diagnostic>, CacheEvicted> {
    let entry = ["usda", "usdz"]
        .map(|ending| format!("{name}.{ending}"))
        .into_iter()
        .find(|entry| files.contains_key(entry));
    let Some(entry) = entry else {
        return Ok(Vec::new());
    };
    run_check(files, &entry, directory, options).or_else(|error| {
        publish::unless_evicted(&error)?;
        let message = format!("could not check the asset against REP-158: {error}");
        let help = "free space in the folder for temporary files (TMPDIR)";
        Ok(vec![
            Diagnostic::new(&codes::UNCHECKED, Place::default(), message).help(help),
        ])
    })
}

fn run_check(
    files: &publish::Files,
    entry: &str,
    directory: &Path,
    options: &Options,
) -> io::Result<Vec<Diagnostic>> {
    let folder = tempfile::tempdir()?;
    // Findings name files with links resolved; below, their future paths replace these.
    let here = folder.path().canonicalize()?;
    // The check skips the glTF and the URDF, which are not parts of the OpenUSD asset.
    let is_apart = |path: &str| {
        path.starts_with("meshes/")
            || [".glb", ".gltf", ".bin", ".urdf"]
                .iter()
                .any(|ending| path.ends_with(ending))
    };
    for (path, content) in files.iter().filter(|(path, _)| !is_apart(path)) {
        let path = here.join(path);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        publish::write(content, &path)?;
    }
    // The conversion itself reports types that the sourced workspace lacks (`ros-type-missing`).
    let packages = Some(Arc::new(resolve::Resolver::new(options.resolve.clone())));
    let options = rep158::Options {
        revision: options.rep158,
        all_variants: true,
        packages,
        ..rep158::Options::default()
    };
    let mut found = rep158::check(&here.join(entry), &options).map_err(io::Error::other)?;
    let (shown, meant) = (here.to_string_lossy(), directory.to_string_lossy());
    for finding in &mut found {
        let inside = finding
            .place
            .file
            .as_deref()
            .and_then(|file| file.strip_prefix(&here).ok());
        if let Some(inside) = inside {
            finding.place.file = Some(directory.join(inside).into());
        }
        finding.message = finding.message.replace(&*shown, &meant);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::{Context, Job, Options, Source, convert};

    #[test]
    fn findings_name_the_published_files() {
        let text = "#usda 1.0\n(\n    defaultPrim = \"r\"\n    subLayers = [@./gone.usda@]\n)\ndef \"r\" {\n}\n";
        let files = [("r.usda".to_owned(), text.as_bytes().to_vec().into())].into();
        let found = check(&files, "r", "/assets/r".as_ref(), &Options::default()).unwrap();
        let gone = found
            .iter()
            .find(|finding| finding.code == "REP158-0.1")
            .unwrap();
        assert_eq!(
            gone.place.file.as_deref(),
            Some("/assets/r/r.usda".as_ref())
        );
        let temporary = std::env::temp_dir().to_string_lossy().into_owned();
        assert!(!format!("{found:?}").contains(&temporary), "{found:?}");
    }

    #[test]
    fn a_conversion_is_checked_on_request() {
        let folder = tempfile::tempdir().unwrap();
        let text: std::sync::Arc<str> =
            "<robot name='r'><link name='a'><visual><geometry><box size='1 1 1'/></geometry></visual></link></robot>".into();
        for formats in [&["usd"][..], &["usdz"]] {
            let formats = crate::Formats::parse(formats).unwrap();
            let job = Job {
                options: Options {
                    check: true,
                    formats,
                    ..Options::default()
                },
                ..Job::new(
                    Source::Text {
                        text: text.clone(),
                        file: None,
                    },
                    folder.path(),
                )
            };
            let report = convert(&job, &Context::default()).unwrap();
            assert!(
                !report
                    .diagnostics
                    .iter()
                    .any(|d| d.code == "REP158-0.1" || d.code == "asset-unchecked"),
                "{:?}",
                report.diagnostics
            );
        }
    }
}
