//! `urdf_usd view`: serves the viewer without ROS, for one asset and its new revisions, or for
//! robots that are dropped on the page.
//!
//! It reads `report.json` and lists files; it knows nothing of ROS or USD. If the asset is
//! converted from a source, the caller passes the conversion.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use serde::Deserialize;
use tokio::sync::mpsc::unbounded_channel;

use crate::results::print;
use urdf_usd_convert::{Failure, FileInfo, REPORT, Report, file_name, named};
use urdf_usd_diagnostic::{self as diagnostic, Diagnostic, Place, escape_controls};
use urdf_usd_node::process::signals::Interrupted;
use urdf_usd_node::process::{fail, runtime};
use urdf_usd_resolve::{self as resolve, Opened};
use urdf_usd_serve::watch::{Event, Watch};
use urdf_usd_serve::{
    Presence, RobotState, RobotView, Server, Site, codes, hash, is_servable, origin, seconds,
};
use urdf_usd_worker::{Limits, Workers};

/// Maximum size of a glTF's JSON, in bytes.
const MAX_JSON: u64 = 512 << 20;

/// Default port.
const PORT: u16 = 8642;
/// Time limit for threads that still read at the end.
const PATIENCE: Duration = Duration::from_millis(500);

/// Options of the viewer's server.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// The IP address to serve on; any other than the loopback address lets others on the network
    /// read the asset
    #[arg(long, value_name = "IP", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    address: IpAddr,
    /// The TCP port; 0 for any free one [default: 8642, or the next free one]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Let other machines that reach --address store and delete named poses; this machine may
    /// always
    #[arg(long)]
    allow_writing: bool,
    /// Let pages of this origin show the viewer in a frame, such as https://example.org; * for any
    /// (may be given several times). By default, none may
    #[arg(long, value_name = "ORIGIN", value_parser = origin)]
    embed_in: Vec<String>,
}

/// Converts the asset again.
pub(crate) type Make = Arc<dyn Fn() -> Result<Report, Failure> + Send + Sync>;

/// The server.
pub(crate) struct Serving<'a> {
    pub(crate) options: &'a Options,
    /// Called with the address.
    pub(crate) open: Option<fn(&str)>,
    /// The worker pool for variants and for dropped robots.
    pub(crate) workers: Arc<Workers>,
    /// Search paths for packages of dropped robots.
    pub(crate) resolve: resolve::Options,
    /// Limits of the conversion of dropped robots.
    pub(crate) limits: Limits,
}

/// The asset to show.
pub(crate) struct Shown {
    pub(crate) path: PathBuf,
    /// Called at once and whenever a file that it used changes.
    pub(crate) make: Option<Make>,
}

/// Serves the viewer until interrupted.
pub(crate) fn main(serving: Serving<'_>, shown: Option<Shown>) -> ExitCode {
    let result = runtime().and_then(|runtime| {
        let result = runtime.block_on(run(serving, shown));
        runtime.shutdown_timeout(PATIENCE);
        result
    });
    match result {
        Ok(code) => code,
        Err(diagnostic) => fail(&diagnostic),
    }
}

async fn run(serving: Serving<'_>, shown: Option<Shown>) -> Result<ExitCode, Diagnostic> {
    let Serving {
        options,
        open,
        workers,
        resolve,
        limits,
    } = serving;
    let mut interrupted = Interrupted::new()?;
    let (mut found, mut make) = (None, None);
    if let Some(shown) = shown {
        let subject = Subject::find(&shown.path)?;
        let looking = subject.clone();
        // On a blocking thread, so that an interrupt ends the wait for slow storage.
        let robot = tokio::select! {
            looked = tokio::task::spawn_blocking(move || looking.look(None)) => match looked {
                Ok(robot) => robot?,
                Err(_) => return Ok(ExitCode::SUCCESS),
            },
            _ = interrupted.wait() => return Ok(ExitCode::SUCCESS),
        };
        (found, make) = (Some((subject, robot)), shown.make);
    }
    let server = bind(options)
        .await?
        .allow_writing(options.allow_writing)
        .embed_in(options.embed_in.clone())
        .render_with(workers.clone(), limits.memory)
        .convert_uploads(workers, resolve, limits);
    let (url, site) = (server.url(), Arc::new(Site::default()));
    say(&match &found {
        Some((_, robot)) => format!("{}: {}; Ctrl-C ends it", robot.name, robot.message),
        None => "drop a robot on the page: a URDF, xacro, OpenUSD or glTF file, its folder or a ZIP; Ctrl-C ends it".to_owned(),
    });
    let printed = print(format!("{url}\n"));
    if printed != ExitCode::SUCCESS {
        return Ok(printed);
    }
    if let Some((_, robot)) = &found {
        site.show(robot.clone(), Vec::new());
    }
    open.iter().for_each(|open| open(&url));
    let following = async {
        match found {
            Some((subject, robot)) => follow(subject, robot, &site, make).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = server.serve(site.clone()) => {}
        result = following => result?,
        _ = interrupted.wait() => {}
    }
    Ok(ExitCode::SUCCESS)
}

/// Binds the requested port; without one, the default or the next free one.
async fn bind(options: &Options) -> Result<Server, Diagnostic> {
    let at = |port| SocketAddr::new(options.address, port);
    let bound = match options.port {
        Some(port) => Server::bind(at(port)).await,
        None => Server::bind_near(at(PORT)).await,
    };
    bound.map_err(|diagnostic| {
        diagnostic.help(
            "choose another --port (0: any free one), or an --address of this machine: 127.0.0.1, or 0.0.0.0 for all",
        )
    })
}

/// Watches the asset and shows its changes, until the future is dropped.
async fn follow(
    subject: Subject,
    mut shown: RobotView,
    site: &Site,
    make: Option<Make>,
) -> Result<(), Diagnostic> {
    let (sender, mut events) = unbounded_channel();
    let watch = Watch::start(sender).map_err(|error| {
        fault(
            &subject.watched(),
            format!("cannot start a thread to watch files: {error}"),
        )
    })?;
    // The source files of the last conversion.
    let mut sources = BTreeSet::new();
    let mut failure: Option<Failure> = None;
    // Converts for the list of files to watch: the asset that is shown was converted before.
    if let Some(make) = make.clone()
        && let Ok(made) = tokio::task::spawn_blocking(move || make()).await
    {
        sources = made
            .map_or_else(|failure| failure.used, |report| report.used)
            .into_iter()
            .collect();
    }
    loop {
        let using = subject.clone();
        if let Ok(mut used) = tokio::task::spawn_blocking(move || using.used()).await {
            used.extend(sources.iter().cloned());
            watch.set(used);
        }
        match events.recv().await {
            Some(Event::Changed(_)) => {}
            Some(Event::Failed(diagnostic)) => {
                say(&diagnostic.to_string());
                continue;
            }
            None => return Ok(()),
        }
        if let Some(make) = make.clone() {
            let Ok(made) = tokio::task::spawn_blocking(move || make()).await else {
                return Ok(());
            };
            let (used, why) = made.map_or_else(
                |why| (why.used.clone(), Some(why)),
                |report| (report.used, None),
            );
            (sources, failure) = (used.into_iter().collect(), why);
        }
        let (looking, before) = (subject.clone(), shown.clone());
        let Ok(now) = tokio::task::spawn_blocking(move || looking.look(Some(&before))).await else {
            return Ok(());
        };
        let now = match &failure {
            Some(failure) => keep_after_failure(&shown, &failure.diagnostics),
            None => now.unwrap_or_else(|diagnostic| failed(&shown, &diagnostic)),
        };
        if now != shown {
            tell(site, &shown, &now);
            shown = now;
        }
    }
}

fn tell(site: &Site, before: &RobotView, now: &RobotView) {
    site.show(now.clone(), Vec::new());
    let RobotView {
        name,
        key,
        revision,
        state,
        message,
        ..
    } = now;
    if now.revision != before.revision {
        site.publish(
            "revision",
            &serde_json::json!({ "robot": name, "key": key, "revision": revision }),
        );
    }
    let event = serde_json::json!({ "robot": name, "key": key, "revision": revision, "state": state, "message": message });
    site.publish("diagnostics", &event);
    say(&format!("{name}: {message}"));
}

/// Prints a line on standard error.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{}", escape_controls(line));
}

/// Returns the view that is shown, with the reason why there is no new revision.
fn keep_after_failure(shown: &RobotView, diagnostics: &[Diagnostic]) -> RobotView {
    let revision = shown.revision.map_or_else(String::new, |revision| {
        format!(" (revision {revision} stays)")
    });
    let message = format!("{}{revision}", diagnostic::status(diagnostics));
    shown.outdated(message, diagnostics)
}

/// Returns the view that is shown, with a diagnostic.
fn failed(shown: &RobotView, diagnostic: &Diagnostic) -> RobotView {
    shown.outdated(diagnostic.message.clone(), std::slice::from_ref(diagnostic))
}

fn fault(path: &Path, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(&codes::VIEW, Place::file(path), message)
}

/// The subject of the viewer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// An asset that `urdf_usd convert` or the node wrote. Its key is the name of its directory,
    /// which may be a copy.
    Asset { directory: PathBuf, key: String },
    /// A single glTF file, with the files that it refers to; nothing else in its folder is served.
    SingleFile { directory: PathBuf, file: String },
}

impl Subject {
    /// Finds the subject that `asset` names.
    pub(crate) fn find(asset: &Path) -> Result<Self, Diagnostic> {
        let path = asset
            .canonicalize()
            .map_err(|error| fault(asset, format!("cannot open {}: {error}", asset.display())))?;
        let text = |part: Option<&std::ffi::OsStr>| {
            part.and_then(std::ffi::OsStr::to_str)
                .unwrap_or_default()
                .to_owned()
        };
        let (directory, file, name) = if path.is_dir() {
            (path.clone(), String::new(), text(path.file_name()))
        } else {
            let directory = path.parent().unwrap_or(Path::new("/")).to_owned();
            (directory, text(path.file_name()), text(path.file_stem()))
        };
        let ending = text(Path::new(&file).extension()).to_ascii_lowercase();
        let found = match ending.as_str() {
            "glb" | "gltf" => Self::SingleFile { directory, file },
            "" | "usda" if file.is_empty() || ending == "usda" => {
                if directory.join(REPORT).is_file() {
                    // Any layer of an asset shows the asset, including the entries of overlays.
                    let key = text(directory.file_name());
                    Self::Asset { directory, key }
                } else {
                    let file = named(&directory, name.as_ref(), &["glb", "gltf"]);
                    let file = file.ok_or_else(|| no_drawable(&directory, &name))?;
                    Self::SingleFile {
                        directory,
                        file: text(file.file_name()),
                    }
                }
            }
            _ => {
                let help = "give an asset's directory, its entry layer (NAME.usda), or a .glb file; a URDF is converted first: \
                            urdf_usd convert ROBOT.urdf";
                return Err(fault(asset, format!("cannot view {}", asset.display())).help(help));
            }
        };
        let served = match &found {
            Self::Asset { key, .. } => key,
            Self::SingleFile { file, .. } => file,
        };
        if !is_servable(served) {
            let help = "rename it: without a dot in front, without backslashes, in UTF-8";
            return Err(fault(&path, format!("{served:?} cannot be part of a URL")).help(help));
        }
        Ok(found)
    }

    /// The file whose change announces a new revision.
    fn watched(&self) -> PathBuf {
        match self {
            Self::Asset { directory, .. } => directory.join(REPORT),
            Self::SingleFile { directory, file } => directory.join(file),
        }
    }

    /// Returns all files whose change may matter: the report of an asset; a single file and all
    /// files that it refers to, existing or not.
    fn used(&self) -> BTreeSet<PathBuf> {
        let mut used = BTreeSet::from([self.watched()]);
        if let Self::SingleFile { directory, file } = self
            && is_gltf(file)
            && let Ok(model) = Model::read(&directory.join(file))
        {
            used.extend(model.files().iter().map(|path| directory.join(path)));
        }
        used
    }

    /// Returns the current view of the subject; `before` is the previous one.
    fn look(&self, before: Option<&RobotView>) -> Result<RobotView, Diagnostic> {
        match self {
            Self::Asset { directory, key } => asset(directory, key),
            Self::SingleFile { directory, file } => single_file(directory, file, before),
        }
    }
}

fn no_drawable(directory: &Path, name: &str) -> Diagnostic {
    // A folder with a report is an asset, which can be converted again in place; for any other
    // folder, the advice must not be to write there.
    let place = directory
        .parent()
        .filter(|_| directory.join(REPORT).is_file());
    let output = place.map_or_else(String::new, |parent| format!(" -o {}", parent.display()));
    fault(directory, format!("{} contains no {name}.glb, which the viewer needs", directory.display()))
        .help(format!("view the robot's own file (urdf_usd view ROBOT.urdf), or convert it: urdf_usd convert ROBOT.urdf{output} --formats usd,glb"))
}

/// Reads a JSON file of limited size.
fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let Opened { file, meta, .. } = Opened::at(path)?;
    if meta.len() > MAX_JSON {
        return Err(std::io::Error::new(
            std::io::ErrorKind::InvalidInput,
            "it is larger than 512 MiB",
        ));
    }
    let mut text = Vec::new();
    file.take(MAX_JSON).read_to_end(&mut text)?;
    Ok(text)
}

/// Returns the view of an asset, from its report.
fn asset(directory: &Path, key: &str) -> Result<RobotView, Diagnostic> {
    let path = directory.join(REPORT);
    let unreadable = |error: &dyn std::fmt::Display| {
        fault(&path, format!("cannot read {}: {error}", path.display()))
            .help("convert the robot again")
    };
    let report = Report::read(directory).map_err(|error| unreadable(&error))?;
    let is_drawable = |file: &FileInfo| {
        !file.path.contains('/') && [".glb", ".gltf"].iter().any(|end| file.path.ends_with(end))
    };
    if !report.files.iter().any(is_drawable) {
        return Err(no_drawable(directory, &file_name(&report.robot)));
    }
    let revision = report.revision;
    let message = match diagnostic::status(&report.diagnostics) {
        found if found.is_empty() => format!("revision {revision} in {}", directory.display()),
        found => format!("revision {revision}; {found}"),
    };
    Ok(RobotView {
        time: written(&path),
        // The folder may be a copy.
        directory: Some(directory.to_owned()),
        ..RobotView::of_report(report, key, message)
    })
}

/// Returns the view of a single glTF file. Revisions count its changes since it was opened.
fn single_file(
    directory: &Path,
    file: &str,
    before: Option<&RobotView>,
) -> Result<RobotView, Diagnostic> {
    let path = directory.join(file);
    let unreadable = |error: &dyn std::fmt::Display| {
        fault(&path, format!("cannot read {}: {error}", path.display()))
    };
    let mut files = vec![file_view(directory, file).map_err(|error| unreadable(&error))?];
    if is_gltf(file) {
        let model = Model::read(&path).map_err(|error| unreadable(&error))?;
        // The caller reports missing files.
        files.extend(
            model
                .files()
                .iter()
                .filter_map(|path| file_view(directory, path).ok()),
        );
    } else {
        let mut magic = [0; 4];
        Opened::at(&path)
            .and_then(|mut opened| opened.file.read_exact(&mut magic))
            .map_err(|error| unreadable(&error))?;
        if &magic != b"glTF" {
            return Err(fault(
                &path,
                format!(
                    "{} is not a binary glTF: it does not begin with \"glTF\"",
                    path.display()
                ),
            ));
        }
    }
    let revision = match before {
        Some(before) if before.files == files => before.revision,
        Some(before) => before.revision.map(|revision| revision + 1),
        None => Some(1),
    };
    let key = Path::new(file).file_stem().map_or_else(
        || file.to_owned(),
        |stem| stem.to_string_lossy().into_owned(),
    );
    Ok(RobotView {
        name: key.clone(),
        key,
        state: RobotState::Ok,
        message: format!("{}, without the report of its conversion", path.display()),
        sha256: None,
        revision,
        time: written(&path),
        directory: Some(directory.to_owned()),
        files,
        counts: None,
        diagnostics: Vec::new(),
        frames: None,
        is_outdated: false,
        namespace: "/".to_owned(),
        presence: Presence::Live,
        only_listed: true,
    })
}

/// The references to files in a glTF document.
#[derive(Deserialize)]
struct Model {
    #[serde(default)]
    buffers: Vec<Reference>,
    #[serde(default)]
    images: Vec<Reference>,
}

#[derive(Deserialize)]
struct Reference {
    uri: Option<String>,
}

fn is_gltf(file: &str) -> bool {
    file.to_ascii_lowercase().ends_with(".gltf")
}

impl Model {
    /// Reads a document; fails with the reason.
    fn read(path: &Path) -> Result<Self, String> {
        let text = read(path).map_err(|error| error.to_string())?;
        serde_json::from_slice(&text).map_err(|error| format!("not a glTF document: {error}"))
    }

    /// Returns the referenced files in its folder and below, in order.
    fn files(&self) -> BTreeSet<String> {
        let uris = self
            .buffers
            .iter()
            .chain(&self.images)
            .filter_map(|reference| reference.uri.as_deref());
        let outside = uris.filter(|uri| !uri.starts_with("data:"));
        let decoded = outside.filter_map(|uri| percent_decode_str(uri).decode_utf8().ok());
        decoded
            .filter(|path| path.split('/').all(is_servable))
            .map(std::borrow::Cow::into_owned)
            .collect()
    }
}

fn file_view(directory: &Path, path: &str) -> std::io::Result<FileInfo> {
    let Opened { file, meta, .. } = Opened::at(&directory.join(path))?;
    let (bytes, sha256) = (meta.len(), hash(&file)?);
    Ok(FileInfo {
        path: path.to_owned(),
        bytes,
        sha256,
    })
}

/// Returns the modification time of a file, in seconds since 1970; 0 if it is unknown.
fn written(path: &Path) -> f64 {
    let modified = fs::metadata(path).and_then(|meta| meta.modified());
    modified.map_or(0.0, seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT_TEXT: &str = r#"{"robot": "my arm", "revision": 3, "files": [{"path": "arm.glb", "bytes": 4, "sha256": "00"}],
        "diagnostics": [{"severity": "info", "code": "a", "message": "small", "where": {}},
                        {"severity": "warning", "code": "b", "message": "look", "where": {"line": 7}, "help": "here"}],
        "something": "new"}"#;

    fn folder(files: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let arm = folder.path().canonicalize().unwrap().join("arm");
        fs::create_dir(&arm).unwrap();
        for (name, text) in files {
            fs::write(arm.join(name), text).unwrap();
        }
        (folder, arm)
    }

    fn look(path: &Path) -> Result<RobotView, Diagnostic> {
        Subject::find(path)?.look(None)
    }

    #[test]
    fn an_asset_by_its_directory_and_by_its_entry() {
        let (_folder, arm) = folder(&[
            ("arm.usda", "#usda 1.0"),
            ("arm.glb", "glTF"),
            ("report.json", REPORT_TEXT),
        ]);
        let robot = look(&arm).unwrap();
        assert_eq!(
            (robot.name.as_str(), robot.key.as_str(), robot.revision),
            ("my arm", "arm", Some(3))
        );
        assert_eq!(
            (robot.state, robot.message.as_str()),
            (RobotState::Warning, "revision 3; 1 warning: look")
        );
        assert_eq!(
            (
                robot.diagnostics[1].place.line,
                robot.diagnostics[1].help.as_str()
            ),
            (7, "here")
        );
        assert!(!robot.only_listed);
        assert_eq!(look(&arm.join("arm.usda")).unwrap(), robot);
        // The entry of an overlay, and a copy under another name.
        fs::write(arm.join("arm.newton.usda"), "#usda 1.0").unwrap();
        assert_eq!(look(&arm.join("arm.newton.usda")).unwrap(), robot);
        let copy = arm.with_file_name("copy of arm");
        fs::rename(&arm, &copy).unwrap();
        let robot = look(&copy).unwrap();
        assert_eq!(
            (
                robot.name.as_str(),
                robot.key.as_str(),
                robot.files[0].path.as_str()
            ),
            ("my arm", "copy of arm", "arm.glb")
        );
    }

    #[test]
    fn only_a_single_file_is_served() {
        let (_folder, arm) = folder(&[("arm.glb", "glTF1"), ("report.json", REPORT_TEXT)]);
        let subject = Subject::find(&arm.join("arm.glb")).unwrap();
        let robot = subject.look(None).unwrap();
        assert_eq!(
            (robot.key.as_str(), robot.revision, robot.only_listed),
            ("arm", Some(1), true)
        );
        assert_eq!(
            robot
                .files
                .iter()
                .map(|file| file.path.as_str())
                .collect::<Vec<_>>(),
            ["arm.glb"]
        );
        assert_eq!(subject.look(Some(&robot)).unwrap().revision, Some(1));
        fs::write(arm.join("arm.glb"), "glTF2").unwrap();
        assert_eq!(subject.look(Some(&robot)).unwrap().revision, Some(2));
        // A directory without a report is a single file.
        fs::remove_file(arm.join("report.json")).unwrap();
        assert_eq!(Subject::find(&arm).unwrap(), subject);
    }

    #[test]
    fn a_gltf_is_served_with_its_files_in_its_folder() {
        let model = r#"{"asset": {"version": "2.0"}, "buffers": [{"uri": "a%20b.bin"}, {"uri": "data:x;base64,AA"}, {}],
            "images": [{"uri": "../secret.png"}, {"uri": "/etc/passwd"}, {"uri": "gone.png"}, {"uri": ".hidden"}]}"#;
        let (_folder, arm) = folder(&[
            ("arm.gltf", model),
            ("a b.bin", "x"),
            (".hidden", "x"),
            ("other", "x"),
        ]);
        fs::write(arm.parent().unwrap().join("secret.png"), "x").unwrap();
        let robot = look(&arm.join("arm.gltf")).unwrap();
        assert_eq!(
            robot
                .files
                .iter()
                .map(|file| file.path.as_str())
                .collect::<Vec<_>>(),
            ["arm.gltf", "a b.bin"]
        );
        // A missing file may appear later.
        let used = Subject::find(&arm.join("arm.gltf")).unwrap().used();
        assert_eq!(
            used,
            ["a b.bin", "arm.gltf", "gone.png"]
                .map(|name| arm.join(name))
                .into()
        );
    }

    #[test]
    fn faults_of_a_subject_have_a_remedy() {
        let only_usd = REPORT_TEXT.replace("arm.glb", "arm.usda");
        let (_folder, arm) = folder(&[
            ("robot.urdf", "<robot/>"),
            ("bad.glb", "solid"),
            ("bad.gltf", "[]x"),
            (".a.glb", "glTF"),
        ]);
        let error = |path: &Path| look(path).unwrap_err().to_string();
        assert!(
            error(&arm).contains("no arm.glb") && error(&arm).contains("urdf_usd convert"),
            "{}",
            error(&arm)
        );
        assert!(error(&arm.join("robot.urdf")).contains("converted first"));
        assert!(error(&arm.join("nothing.glb")).contains("nothing.glb"));
        assert!(error(&arm.join("bad.glb")).contains("not a binary glTF"));
        assert!(error(&arm.join("bad.gltf")).contains("not a glTF"));
        assert!(error(&arm.join(".a.glb")).contains("rename"));
        fs::write(arm.join("report.json"), only_usd).unwrap();
        assert!(error(&arm).contains("no my arm.glb"));
        fs::write(arm.join("report.json"), "{").unwrap();
        assert!(error(&arm).contains("cannot read"));
    }

    #[test]
    fn a_failure_keeps_the_shown_revision() {
        let (_folder, arm) = folder(&[("arm.glb", "glTF"), ("report.json", REPORT_TEXT)]);
        let robot = look(&arm).unwrap();
        fs::write(arm.join("report.json"), "{").unwrap();
        let now = failed(&robot, &look(&arm).unwrap_err());
        assert_eq!(
            (now.revision, now.state, &now.files),
            (Some(3), RobotState::Error, &robot.files)
        );
        assert_eq!(now.diagnostics[0].code, codes::VIEW.id);
    }
}
