//! Calls of the service `convert`: validation of the request, and the response.
//!
//! It accesses the file system, so it runs on a worker thread.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::asset_paths;
use super::codes;
use super::description_source::RobotNamespace;
use super::jobs;
use super::parameters::Parameters;
use urdf_usd_convert::{self as convert, Failure, Formats, Job, Report, Source};
use urdf_usd_diagnostic::{Diagnostic, Place, Severity};
use urdf_usd_messages::{ConvertRequest, ConvertResponse};
use urdf_usd_resolve::{Files, Resolver};
use urdf_usd_urdf::xacro;

fn rejection(message: impl Into<String>, help: impl Into<String>) -> Diagnostic {
    Diagnostic::new(&codes::REQUEST, Place::default(), message).help(help)
}

/// The last description that was received.
#[derive(Clone, Debug)]
pub(super) struct LastDescription {
    /// Its job.
    pub job: Arc<Job>,
    /// The namespace of its robot.
    pub robot_namespace: RobotNamespace,
    /// The key of its asset.
    pub key: String,
}

/// Returns the job that a call asks for.
///
/// `heard` is the last description, `folder` the default place, below the output directory, for a
/// text in the call itself, and `topic` the description topic for messages.
///
/// # Errors
/// Returns what is wrong with the call, and the remedy.
pub(super) fn job(
    request: &ConvertRequest,
    parameters: &Parameters,
    heard: Option<&LastDescription>,
    folder: &str,
    topic: &str,
) -> Result<Arc<Job>, Diagnostic> {
    let asked_dir = output_dir(&request.output_dir, parameters)?;
    let formats = if request.formats.is_empty() {
        parameters.conversion.formats.clone()
    } else {
        Formats::parse(&request.formats).map_err(|message| rejection(message, ""))?
    };
    let (mut robot_namespace, mut below) = (&RobotNamespace::Own, "");
    let asks_for_file = request.urdf.trim().is_empty() && !request.uri.trim().is_empty();
    let source = match (
        request.urdf.trim().is_empty(),
        request.uri.trim().is_empty(),
    ) {
        (false, false) => {
            return Err(rejection(
                "both urdf and uri are set",
                "set one of them, or neither for the last description received",
            ));
        }
        (false, true) => {
            below = folder;
            Source::Text {
                text: request.urdf.as_str().into(),
                file: None,
            }
        }
        (true, false) => Source::File(file(request.uri.trim(), parameters)?),
        (true, true) => {
            let help = "start its publisher (robot_state_publisher), or set urdf or uri";
            let heard = heard.ok_or_else(|| {
                rejection(
                    format!("no robot description was received on {topic} yet"),
                    help,
                )
            })?;
            (robot_namespace, below) = (&heard.robot_namespace, asset_paths::parent(&heard.key));
            heard.job.source.clone()
        }
    };
    let mut job = jobs::job(parameters, source, robot_namespace, below);
    job.options.formats = formats;
    // The path was checked above; a file that replaces it before the conversion must pass too.
    if let (true, Source::File(path)) = (asks_for_file, &job.source) {
        job.options.resolve.exact_inputs.push(path.clone());
    }
    match request.xrdf.trim() {
        "" => {}
        // A path has one line, an XRDF text several.
        text if text.contains(['\n', '\r']) => job.xrdf = Some(request.xrdf.as_str().into()),
        uri => {
            let refused = |error: Diagnostic| Diagnostic {
                message: format!("the XRDF: {}", error.message),
                ..error
            };
            let path = file(uri, parameters).map_err(refused)?;
            job.options.resolve.exact_inputs.push(path.clone());
            job.options.xrdf = Some(path);
        }
    }
    Ok(Arc::new(match asked_dir {
        Some(output_dir) => Job { output_dir, ..job },
        None => job,
    }))
}

/// Resolves a URI to a file that the call may read.
fn file(uri: &str, parameters: &Parameters) -> Result<PathBuf, Diagnostic> {
    let mut options = parameters.conversion.resolve.clone();
    // xacro files can run code, so they must always be in an allowed place.
    if !parameters.restrict_calls && !xacro::is_xacro(Path::new(uri)) {
        // Only the file itself may be anywhere; what it refers to is still restricted to the roots.
        options.allowed_roots.push("/".into());
    }
    let files = Files::new(Arc::new(Resolver::new(options)));
    let path = files.open(uri, None).map(|file| file.path).map_err(|error| {
        let parameters = "the parameters packages, package_paths and allowed_roots set what may be read; restrict_calls \
                          applies them to calls";
        let help = format!("{}; {parameters}", error.help);
        error.at(Place::default()).help(help)
    })?;
    // A symbolic link or an encoded name may hide the extension.
    let real = path.canonicalize().unwrap_or_else(|_| path.clone());
    if !xacro::is_xacro(Path::new(uri)) && (xacro::is_xacro(&path) || xacro::is_xacro(&real)) {
        return Err(rejection(
            format!("{uri:?} is a xacro file by another name"),
            "pass its own path",
        ));
    }
    Ok(path)
}

/// Returns the requested directory; a relative one is below the node's own.
///
/// If calls are restricted, it must be the node's own directory or below it, and no component may
/// be hidden.
fn output_dir(asked: &str, parameters: &Parameters) -> Result<Option<PathBuf>, Diagnostic> {
    let (asked, own) = (asked.trim(), parameters.output_dir.as_path());
    if asked.is_empty() {
        return Ok(None);
    }
    if !parameters.restrict_calls {
        return Ok(Some(own.join(asked)));
    }
    let outside = || {
        let message = format!(
            "output_dir {asked:?} is not below the node's own, {}",
            own.display()
        );
        rejection(
            message,
            "pass a folder below it, such as output_dir: \"robots\"; the parameters output_dir and restrict_calls require it",
        )
    };
    let mut path = PathBuf::new();
    for part in own.join(asked).components() {
        match part {
            Component::ParentDir => return Err(outside()),
            Component::CurDir => {}
            part => path.push(part),
        }
    }
    // The existing part must really be below the directory, not behind a symbolic link.
    let existing = path
        .ancestors()
        .find(|folder| folder.symlink_metadata().is_ok())
        .unwrap_or(&path);
    let real = existing.canonicalize().map_err(|_| outside())?;
    let rest = path.strip_prefix(existing).unwrap_or(Path::new(""));
    let path = if rest.as_os_str().is_empty() {
        real
    } else {
        real.join(rest)
    };
    let below = path.strip_prefix(own).map_err(|_| outside())?;
    if below
        .components()
        .any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"."))
    {
        return Err(rejection(
            format!("output_dir {asked:?} is hidden"),
            "choose names that do not begin with a dot",
        ));
    }
    let asset = path
        .ancestors()
        .take_while(|folder| *folder != own)
        .find(|folder| folder.join(convert::REPORT).exists());
    if let Some(asset) = asset {
        return Err(rejection(
            format!(
                "output_dir {asked:?} is inside the asset {}",
                asset.display()
            ),
            "choose another folder",
        ));
    }
    Ok(Some(path))
}

/// Returns the response for a conversion.
pub(super) fn answer(outcome: Result<&Report, &Failure>) -> ConvertResponse {
    match outcome {
        Ok(report) => ConvertResponse {
            success: true,
            message: summary(report),
            files: report
                .files
                .iter()
                .map(|file| {
                    report
                        .directory
                        .join(&file.path)
                        .to_string_lossy()
                        .into_owned()
                })
                .collect(),
            report: serde_json::to_string_pretty(report).unwrap_or_default(),
        },
        Err(failure) => ConvertResponse {
            message: first_error(&failure.diagnostics),
            ..ConvertResponse::default()
        },
    }
}

/// Returns the response for a refused call.
pub(super) fn refusal(diagnostic: &Diagnostic) -> ConvertResponse {
    ConvertResponse {
        message: diagnostic.to_sentence(),
        ..ConvertResponse::default()
    }
}

/// Returns the first error with its place, and the number of further errors.
pub(super) fn first_error(diagnostics: &[Diagnostic]) -> String {
    let errors = diagnostics
        .iter()
        .filter(|d| d.severity == Severity::Error)
        .count();
    // Of the most severe ones the first in the text; those without a line come last.
    match diagnostics.iter().max_by_key(|d| {
        (
            d.severity,
            std::cmp::Reverse((d.place.line == 0, d.place.line)),
        )
    }) {
        Some(worst) if errors == 2 => format!("{worst}; and 1 more error"),
        Some(worst) if errors > 2 => format!("{worst}; and {} more errors", errors - 1),
        Some(worst) => worst.to_string(),
        None => "not converted".to_owned(),
    }
}

/// Summarises a report in a sentence.
pub(super) fn summary(report: &Report) -> String {
    let done = if report.changed {
        "wrote revision"
    } else {
        "already current: revision"
    };
    let findings = findings(
        report.count(Severity::Error),
        report.count(Severity::Warning),
    );
    let bytes: u64 = report.files.iter().map(|file| file.bytes).sum();
    format!(
        "{done} {} of {:?} in {} ({} files, {}{findings})",
        report.revision,
        report.robot,
        report.directory.display(),
        report.files.len(),
        size(bytes)
    )
}

/// Returns `; 1 error, 2 warnings`, or an empty string.
fn findings(errors: usize, warnings: usize) -> String {
    let many = |count: usize, what: &str| match count {
        0 => None,
        1 => Some(format!("1 {what}")),
        _ => Some(format!("{count} {what}s")),
    };
    let parts: Vec<String> = [many(errors, "error"), many(warnings, "warning")]
        .into_iter()
        .flatten()
        .collect();
    if parts.is_empty() {
        String::new()
    } else {
        format!("; {}", parts.join(", "))
    }
}

/// Formats a file size, as in `134 kB`.
pub(crate) fn size(bytes: u64) -> String {
    #[allow(clippy::cast_precision_loss)] // approximate
    let bytes = bytes as f64;
    match bytes {
        b if b < 1e3 => format!("{b:.0} B"),
        b if b < 1e6 => format!("{:.0} kB", b / 1e3),
        b => format!("{:.1} MB", b / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    struct Bed {
        _folder: tempfile::TempDir,
        own: PathBuf,
        parameters: Parameters,
    }

    fn bed() -> Bed {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let own = base.join("out");
        fs::create_dir(&own).unwrap();
        fs::create_dir(base.join("robots")).unwrap();
        fs::write(base.join("robots/arm.urdf"), "<robot name='arm'/>").unwrap();
        fs::write(base.join("secret.urdf"), "<robot name='secret'/>").unwrap();
        let mut parameters = super::super::fake::parameters(&own);
        parameters.conversion.resolve.allowed_roots = vec![base.join("robots")];
        Bed {
            _folder: folder,
            own,
            parameters,
        }
    }

    fn ask(bed: &Bed, request: &ConvertRequest) -> Result<Arc<Job>, String> {
        job(request, &bed.parameters, None, "", "/robot_description").map_err(|d| d.to_sentence())
    }

    #[test]
    fn each_form_becomes_a_job() {
        let bed = bed();
        let text = ask(
            &bed,
            &ConvertRequest {
                urdf: "<robot/>".into(),
                ..Default::default()
            },
        )
        .unwrap();
        assert_eq!(
            (&text.output_dir, &text.options.formats),
            (&bed.own, &Formats::default())
        );
        let uri = bed.own.with_file_name("robots").join("arm.urdf");
        for form in [
            uri.display().to_string(),
            format!("file://{}", uri.display()),
        ] {
            let request = ConvertRequest {
                uri: form,
                output_dir: "a/b".into(),
                formats: vec!["glb".into()],
                ..Default::default()
            };
            let file = ask(&bed, &request).unwrap();
            assert_eq!(file.source, Source::File(uri.clone()));
            assert_eq!(
                (file.output_dir.clone(), file.options.formats.names()),
                (bed.own.join("a/b"), vec!["glb"])
            );
        }
        let xrdf = |xrdf: &str| {
            ask(
                &bed,
                &ConvertRequest {
                    urdf: "<robot/>".into(),
                    xrdf: xrdf.into(),
                    ..Default::default()
                },
            )
        };
        let with_text = xrdf("\nformat: xrdf\ncspace: {}\n").unwrap();
        assert_eq!(
            (with_text.xrdf.as_deref(), &with_text.options.xrdf),
            (Some("\nformat: xrdf\ncspace: {}\n"), &None)
        );
        let with_file = xrdf(&format!(" file://{} ", uri.display())).unwrap();
        assert_eq!(
            (&with_file.xrdf, &with_file.options.xrdf),
            (&None, &Some(uri.clone()))
        );
        assert_eq!((&text.xrdf, &text.options.xrdf), (&None, &None));
        let text = Source::Text {
            text: "<robot name='heard'/>".into(),
            file: None,
        };
        let robot_namespace = RobotNamespace::Named("/r1".into());
        let heard_job = Arc::new(jobs::job(&bed.parameters, text, &robot_namespace, "r1"));
        let heard = LastDescription {
            job: heard_job.clone(),
            robot_namespace,
            key: "r1/heard".into(),
        };
        let last = job(
            &ConvertRequest::default(),
            &bed.parameters,
            Some(&heard),
            "",
            "/robot_description",
        )
        .unwrap();
        assert_eq!(last, heard_job);
        assert_eq!(
            (last.output_dir.clone(), last.options.namespace.as_deref()),
            (bed.own.join("r1"), Some("r1"))
        );
        let elsewhere = ConvertRequest {
            output_dir: "sub".into(),
            ..Default::default()
        };
        let last = job(
            &elsewhere,
            &bed.parameters,
            Some(&heard),
            "",
            "/robot_description",
        )
        .unwrap();
        assert_eq!(
            (last.output_dir.clone(), last.options.namespace.as_deref()),
            (bed.own.join("sub"), Some("r1"))
        );
    }

    #[test]
    fn calls_may_name_any_place_unless_they_are_restricted() {
        let mut bed = bed();
        bed.parameters.restrict_calls = false;
        let secret = bed.own.with_file_name("secret.urdf");
        let elsewhere = bed.own.with_file_name("elsewhere");
        let output_dir = elsewhere.display().to_string();
        let request = ConvertRequest {
            uri: secret.display().to_string(),
            output_dir,
            ..Default::default()
        };
        let job = ask(&bed, &request).unwrap();
        assert_eq!(
            (&job.source, &job.output_dir),
            (&Source::File(secret), &elsewhere)
        );
        assert_eq!(
            job.options.resolve.allowed_roots,
            bed.parameters.conversion.resolve.allowed_roots
        );
    }

    #[test]
    fn forbidden_requests_are_refused_with_the_reason() {
        let bed = bed();
        let above = bed.own.parent().unwrap().to_owned();
        fs::create_dir_all(bed.own.join("arm")).unwrap();
        fs::write(bed.own.join("arm/report.json"), "{}").unwrap();
        std::os::unix::fs::symlink(&above, bed.own.join("link")).unwrap();
        let dir = |output_dir: &str| ConvertRequest {
            urdf: "<robot/>".into(),
            output_dir: output_dir.into(),
            ..Default::default()
        };
        for (request, part) in [
            (
                ConvertRequest::default(),
                "no robot description was received on /robot_description yet",
            ),
            (
                ConvertRequest {
                    urdf: "a".into(),
                    uri: "b".into(),
                    ..Default::default()
                },
                "both urdf and uri",
            ),
            (
                ConvertRequest {
                    uri: above.join("secret.urdf").display().to_string(),
                    ..Default::default()
                },
                "secret.urdf",
            ),
            (
                ConvertRequest {
                    uri: "package://nope/arm.urdf".into(),
                    ..Default::default()
                },
                "nope",
            ),
            (
                ConvertRequest {
                    urdf: "a".into(),
                    formats: vec!["stl".into()],
                    ..Default::default()
                },
                "\"stl\"",
            ),
            (
                ConvertRequest {
                    urdf: "a".into(),
                    xrdf: "package://nope/a.xrdf".into(),
                    ..Default::default()
                },
                "the XRDF: ",
            ),
            (
                ConvertRequest {
                    urdf: "a".into(),
                    xrdf: above.join("secret.urdf").display().to_string(),
                    ..Default::default()
                },
                "secret.urdf",
            ),
            (dir("/tmp/elsewhere"), "is not below"),
            (dir(".."), "is not below"),
            (dir("a/../../b"), "is not below"),
            (dir("link/x"), "is not below"),
            (dir(".git"), "hidden"),
            (dir("arm"), "inside the asset"),
            (dir("arm/sub"), "inside the asset"),
        ] {
            let message = ask(&bed, &request).expect_err(part);
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn xacro_is_refused_by_other_names() {
        let mut bed = bed();
        bed.parameters.restrict_calls = false;
        let (above, robots) = (
            bed.own.parent().unwrap().to_owned(),
            bed.own.with_file_name("robots"),
        );
        for folder in [&above, &robots] {
            fs::write(folder.join("arm.xacro"), "<robot name='arm'/>").unwrap();
            fs::write(folder.join("arm.urdf.xacro"), "<robot name='arm'/>").unwrap();
        }
        std::os::unix::fs::symlink(above.join("arm.xacro"), above.join("link.urdf")).unwrap();
        let uri = |uri: String| {
            ask(
                &bed,
                &ConvertRequest {
                    uri,
                    ..Default::default()
                },
            )
        };
        let (above, robots) = (above.display(), robots.display());
        for hidden in [
            format!("file://{above}/arm%2Exacro"),
            format!("file://{above}/arm.xacr%6F"),
            format!("file://{above}/arm.urdf.%78acro"),
            format!("{above}/link.urdf"),
            format!("file://{above}/link.urdf"),
        ] {
            let message = uri(hidden.clone()).expect_err(&hidden);
            assert!(message.contains("by another name"), "{hidden}: {message}");
        }
        // Under its own name, a xacro file must be in the allowed roots even if calls are
        // unrestricted.
        uri(format!("{above}/arm.xacro")).expect_err("outside");
        uri(format!("{robots}/arm.xacro")).unwrap();
        uri(format!("file://{robots}/arm.urdf.xacro")).unwrap();
    }

    #[test]
    fn a_path_into_a_package_is_as_good_as_its_uri() {
        let mut bed = bed();
        let (above, robots) = (
            bed.own.parent().unwrap().to_owned(),
            bed.own.with_file_name("robots"),
        );
        bed.parameters.conversion.resolve.allowed_roots.clear();
        let path = robots.join("arm.urdf");
        let request = ConvertRequest {
            uri: path.display().to_string(),
            ..Default::default()
        };
        ask(&bed, &request).expect_err("nothing is allowed");
        bed.parameters.conversion.resolve.packages = vec![("my_robots".to_owned(), robots.clone())];
        assert_eq!(
            ask(&bed, &request).unwrap().source,
            Source::File(path.clone())
        );
        bed.parameters.conversion.resolve.packages.clear();
        bed.parameters.conversion.resolve.package_paths = vec![robots];
        assert_eq!(ask(&bed, &request).unwrap().source, Source::File(path));
        let outside = ConvertRequest {
            uri: above.join("secret.urdf").display().to_string(),
            ..Default::default()
        };
        ask(&bed, &outside).expect_err("beside the package");
    }

    #[test]
    fn the_first_error_is_named_with_its_place() {
        let at = |severity, line| {
            let place = Place {
                line,
                column: 5,
                ..Place::default()
            };
            Diagnostic {
                severity,
                ..Diagnostic::new(&codes::REQUEST, place, format!("line {line}"))
            }
        };
        let found = [
            at(Severity::Warning, 1),
            at(Severity::Error, 9),
            at(Severity::Error, 3),
        ];
        let text = first_error(&found);
        assert!(
            text.starts_with("<text>:3:5: error") && text.ends_with("and 1 more error"),
            "{text}"
        );
    }
}
