//! `urdf_usd fix`: rewrites any OpenUSD asset to follow REP-158, and lists what was fixed and what
//! remains.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::OUTPUT;
use super::check::{Counts, is_usd, revisions};
use super::conversion::CommandLimits;
use super::isaac::ENTRIES;
use super::packages::PACKAGES;
use super::packages::Packages;
use super::results::{Refusal, print_json, usage_error};
use super::subject::{AssetFile, INPUT};
use super::terminal::say;
use super::{plural, print_diagnostics};
use urdf_usd_convert::{self as convert, Report, SourceInfo};
use urdf_usd_diagnostic::{Severity, escape_controls};
use urdf_usd_fix::{self as engine, Dialect};
use urdf_usd_rep158::{self as rep158, Revision, VariantChoice};
use urdf_usd_resolve::{Opened, Resolver};

/// The command's arguments.
#[derive(Args)]
pub struct Fix {
    /// The entry file of an OpenUSD asset (.usda, .usd, .usdc, .usdz), or its folder.
    /// package://PACKAGE/PATH of any of these; or `-`, standard input
    asset: PathBuf,
    /// The directory in which to create the asset's directory, named after its default prim. Source
    /// files are never overwritten
    #[arg(short = 'o', long = "output-dir", value_name = "DIR", help_heading = OUTPUT)]
    pub(super) output: PathBuf,
    /// Make this variant the default (may be given several times): on all prims with that variant
    /// set, or on one prim
    #[arg(long, value_name = "SET=NAME|/PRIM{SET=NAME}", help_heading = INPUT)]
    variant: Vec<VariantChoice>,
    /// The revision of REP-158 that the asset is to follow. 2026-07 keeps mimic joints only in the layers of engines
    #[arg(long, default_value_t, value_parser = revisions())]
    rep158: Revision,
    /// Also write mimic joints, and armature, damping, friction and velocity limits of joints, with the attributes of these
    /// engines, each in its layer. By default only those of the source have them; with --rep158 2026-07, all three get a
    /// mimic joint that only the neutral layer has
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = engines(), help_heading = OUTPUT)]
    overlays: Vec<Dialect>,
    #[command(flatten)]
    packages: Packages,
    /// Allow copying layers, textures and other files from this folder (may be given several
    /// times), in addition to packages, the asset's folder and the package that contains it
    #[arg(long, value_name = "DIR", help_heading = PACKAGES)]
    allowed_root: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) limits: CommandLimits,
    /// Print the report as JSON to standard output
    #[arg(long, help_heading = OUTPUT)]
    json: bool,
}

/// Returns the parser of the engines whose attributes can be written.
fn engines() -> impl TypedValueParser<Value = Dialect> {
    PossibleValuesParser::new(Dialect::ENGINES.map(Dialect::as_str))
        .try_map(|text| parse_overlay(&text))
}

/// Returns the dialect of the engine with this name.
///
/// # Errors
/// Returns the reason if there is no such engine.
pub fn parse_overlay(name: &str) -> Result<Dialect, String> {
    let mut engines = Dialect::ENGINES.into_iter();
    engines
        .find(|engine| engine.as_str() == name)
        .ok_or_else(|| {
            format!(
                "{name:?} is none of {}",
                Dialect::ENGINES.map(Dialect::as_str).join(", ")
            )
        })
}

/// Fixes the asset, writes it, checks the result, and prints what remains.
pub fn run(arguments: &Fix) -> ExitCode {
    let resolver = match arguments.packages.options_with(&arguments.allowed_root) {
        Ok(options) => Arc::new(Resolver::new(options)),
        Err(message) => return usage_error(&message),
    };
    let options = engine::Options {
        revision: arguments.rep158,
        engines: arguments.overlays.clone(),
        variants: arguments.variant.clone(),
        packages: resolver.clone(),
    };
    let fixed = AssetFile::find(&arguments.asset, &ENTRIES, &resolver)
        .map_err(Refusal::from)
        .and_then(|asset| fix(&asset, &arguments.output, &options));
    let (report, written) = match fixed {
        Ok(fixed) => fixed,
        Err(refusal) => return refusal.print(),
    };
    let counts = Counts::new(&report.diagnostics);
    print_diagnostics(&report.diagnostics, None);
    let entry = written.to_string_lossy();
    let (errors, warnings) = (
        plural(counts.error, "error"),
        plural(counts.warning, "warning"),
    );
    let done = if report.changed {
        "wrote"
    } else {
        "nothing to change in"
    };
    say(format!(
        "{done} {}; left: {errors}, {warnings} (REP-158 of {})",
        escape_controls(&entry),
        arguments.rep158
    ));
    let printed = if arguments.json {
        print_json(&report)
    } else {
        ExitCode::SUCCESS
    };
    if report
        .diagnostics
        .iter()
        .any(|finding| finding.severity == Severity::Error)
    {
        ExitCode::FAILURE
    } else {
        printed
    }
}

/// Fixes an asset, writes it below the folder `output`, and checks the result; also returns its
/// entry file.
///
/// # Errors
/// Returns the reason if nothing is written, or the result can't be read.
pub fn fix(
    asset: &AssetFile,
    output: &Path,
    options: &engine::Options,
) -> Result<(Report, PathBuf), Refusal> {
    let entry = &asset.path;
    if !is_usd(entry) {
        return Err(Refusal::Failed(format!(
            "{} is not an OpenUSD file: give a .usda, .usd, .usdc or .usdz",
            entry.display()
        )));
    }
    let fixed = engine::fix(entry, options).map_err(|error| error.to_string())?;
    // Not earlier: the asset's name and its source files are known only now.
    check_output(&output.join(&fixed.name), &fixed.used)?;
    let source = SourceInfo {
        kind: "usd".into(),
        uri: None,
        file: asset
            .copy
            .is_none()
            .then(|| entry.to_string_lossy().into_owned()),
        sha256: Opened::at(entry)
            .and_then(|opened| urdf_usd_serve::hash(&opened.file))
            .unwrap_or_default(),
    };
    let files = fixed
        .files
        .into_iter()
        .map(|(path, bytes)| (path.to_string_lossy().into_owned(), bytes))
        .collect();
    let published = convert::write_asset(&fixed.name, source, output, files, fixed.diagnostics);
    let mut report = published.map_err(|diagnostics| Refusal::Found {
        diagnostics,
        expanded: None,
    })?;
    let written = report.directory.join(&fixed.entry);
    // Findings of these checks are printed, and are not in the published report.json.
    let lost = engine::compare(&written, &fixed.sources).map_err(|error| error.to_string())?;
    report.diagnostics.extend(lost);
    let rules = rep158::Options {
        revision: options.revision,
        all_variants: true,
        interfaces: options.packages.interfaces(),
        packages: Some(options.packages.clone()),
        ..rep158::Options::default()
    };
    let broken = rep158::check(&written, &rules).map_err(|error| error.to_string())?;
    report.diagnostics.extend(broken);
    report.status = convert::Status::from_findings(&report.diagnostics);
    Ok((report, written))
}

/// Checks that `directory` may be replaced: it contains no source file, and nothing that this
/// program did not write.
fn check_output(directory: &Path, used: &[PathBuf]) -> Result<(), String> {
    let Ok(there) = directory.canonicalize() else {
        return Ok(());
    };
    let is_in = |file: &&PathBuf| {
        file.canonicalize()
            .is_ok_and(|file| file.starts_with(&there))
    };
    if let Some(file) = used.iter().find(is_in) {
        let (directory, file) = (directory.display(), file.display());
        return Err(format!(
            "{directory} contains {file}, a source of the asset: choose another directory with -o; sources are never overwritten"
        ));
    }
    let is_empty = std::fs::read_dir(&there).is_ok_and(|mut entries| entries.next().is_none());
    let other = match Report::read(&there) {
        Ok(report) if report.options.is_empty() => return Ok(()),
        Ok(report) => format!("is the asset that was converted from {}", report.source),
        Err(_) if is_empty => return Ok(()),
        Err(_) => "exists, and is not an asset written by this program".to_owned(),
    };
    Err(format!(
        "{} {other}: choose another directory with -o",
        directory.display()
    ))
}
