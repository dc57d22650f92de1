//! `urdf_usd view`: the viewer for one asset, without ROS. What is written in the asset's place
//! takes its place in the viewer.
//!
//! It reads `report.json` and which files there are; it must not know ROS, nor what is in USD.
//! Where the asset is made from something that changes, whoever started it says how it is made
//! again.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use percent_encoding::percent_decode_str;
use serde::Deserialize;
use tokio::sync::mpsc::unbounded_channel;

use urdf_usd_convert::{Failure, FileInfo, REPORT, Report, Status, file_name, named};
use urdf_usd_diagnostic::{self as diagnostic, Diagnostic, Place, escape_controls};
use urdf_usd_node::process::signals::Interrupted;
use urdf_usd_node::process::{fail, runtime};
use urdf_usd_resolve::Opened;
use urdf_usd_serve::watch::{Event, Watch};
use urdf_usd_serve::{Presence, RobotState, RobotView, Server, Site, codes, hash, is_servable};
use urdf_usd_worker::Workers;

/// The largest text of a glTF that is read.
const MAX_JSON: u64 = 512 << 20;

/// The port unless one is named.
const PORT: u16 = 8642;
/// How long threads that still read are waited for.
const PATIENCE: Duration = Duration::from_millis(500);

/// What the command is told.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// The IP address to serve on; any other than this machine's own loopback lets others on the
    /// network read the asset
    #[arg(long, value_name = "IP", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    address: IpAddr,
    /// The TCP port; 0: any that is free [default: 8642, or any that is free if that is taken]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Let whoever reaches --address store and delete named poses, also from other machines; on
    /// this machine alone they may always
    #[arg(long)]
    allow_writing: bool,
}

/// Makes the asset again.
pub(crate) type Make = Arc<dyn Fn() -> Result<Report, Failure> + Send + Sync>;

/// Serves the viewer for `asset` until it is interrupted. `make` is called at once and whenever a
/// file changes that it used; `open` gets the address; `drawing`: the worker pool for variants, and
/// its memory limit in MiB.
pub(crate) fn main(
    options: &Options,
    asset: &Path,
    make: Option<Make>,
    open: Option<fn(&str)>,
    drawing: (Arc<Workers>, Option<u64>),
) -> ExitCode {
    let result = runtime().and_then(|runtime| {
        let result = runtime.block_on(run(options, asset, make, open, drawing));
        runtime.shutdown_timeout(PATIENCE);
        result
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(diagnostic) => fail(&diagnostic),
    }
}

async fn run(
    options: &Options,
    asset: &Path,
    make: Option<Make>,
    open: Option<fn(&str)>,
    (workers, memory): (Arc<Workers>, Option<u64>),
) -> Result<(), Diagnostic> {
    let mut interrupted = Interrupted::new()?;
    let subject = Subject::find(asset)?;
    let looking = subject.clone();
    // Slow storage is waited for where it can be interrupted.
    let robot = tokio::select! {
        looked = tokio::task::spawn_blocking(move || looking.look(None)) => match looked {
            Ok(robot) => robot?,
            Err(_) => return Ok(()),
        },
        _ = interrupted.wait() => return Ok(()),
    };
    let server = bind(options)
        .await?
        .allow_writing(options.allow_writing)
        .render_with(workers, memory);
    let (url, site) = (server.url(), Arc::new(Site::default()));
    say(&format!(
        "{}: {}; Ctrl-C ends it",
        robot.name, robot.message
    ));
    let mut out = std::io::stdout();
    // Whoever closed the output does not want to read it.
    let _ = writeln!(out, "{url}").and_then(|()| out.flush());
    site.show(robot.clone(), Vec::new());
    open.iter().for_each(|open| open(&url));
    tokio::select! {
        () = server.serve(site.clone()) => Ok(()),
        result = follow(subject.clone(), robot, &site, make) => result,
        _ = interrupted.wait() => Ok(()),
    }
}

/// Takes the port that was asked for, or the usual one, or any if that is taken.
async fn bind(options: &Options) -> Result<Server, Diagnostic> {
    let at = |port| SocketAddr::new(options.address, port);
    let is_taken = || {
        std::net::TcpListener::bind(at(PORT))
            .is_err_and(|error| error.kind() == std::io::ErrorKind::AddrInUse)
    };
    let port = options
        .port
        .unwrap_or_else(|| if is_taken() { 0 } else { PORT });
    Server::bind(at(port)).await.map_err(|diagnostic| {
        diagnostic.help(
            "choose another with --port (0: any that is free), or an --address of this machine: 127.0.0.1, or 0.0.0.0 for all",
        )
    })
}

/// Shows what becomes of the asset, until the future is dropped.
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
            format!("no thread for watching files: {error}"),
        )
    })?;
    // What the asset was made from when it was last made.
    let mut sources = BTreeSet::new();
    let mut failure: Option<Failure> = None;
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
            Some(failure) => not_made(&shown, &failure.diagnostics),
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

/// Tells people a line.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{}", escape_controls(line));
}

/// What was shown stays, with why there is nothing new.
fn not_made(shown: &RobotView, diagnostics: &[Diagnostic]) -> RobotView {
    let revision = shown.revision.map_or_else(String::new, |revision| {
        format!(" (revision {revision} stays)")
    });
    RobotView {
        state: RobotState::Error,
        message: format!("{}{revision}", diagnostic::status(diagnostics)),
        diagnostics: diagnostics.to_vec(),
        ..shown.clone()
    }
}

/// What was shown stays, with what is the matter now.
fn failed(shown: &RobotView, diagnostic: &Diagnostic) -> RobotView {
    RobotView {
        state: RobotState::Error,
        message: diagnostic.message.clone(),
        diagnostics: vec![diagnostic.clone()],
        ..shown.clone()
    }
}

fn fault(path: &Path, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(&codes::VIEW, Place::file(path), message)
}

/// What is viewed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// An asset that `urdf_usd convert` or the node wrote, under the name of its directory, which
    /// may be a copy's.
    Asset { directory: PathBuf, key: String },
    /// A glTF file, with the files that it refers to; nothing else of its folder is served.
    Alone { directory: PathBuf, file: String },
}

impl Subject {
    /// What a person calls `asset`.
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
            "glb" | "gltf" => Self::Alone { directory, file },
            "" | "usda" if file.is_empty() || ending == "usda" => {
                if directory.join(REPORT).is_file() {
                    // Any layer of an asset stands for it: overlays have entries of their own.
                    let key = text(directory.file_name());
                    Self::Asset { directory, key }
                } else {
                    let file = named(&directory, name.as_ref(), &["glb", "gltf"]);
                    let file = file.ok_or_else(|| no_drawable(&directory, &name))?;
                    Self::Alone {
                        directory,
                        file: text(file.file_name()),
                    }
                }
            }
            _ => {
                let help = "give an asset's directory, its entry layer (NAME.usda), or a .glb file; a URDF is converted first: \
                            urdf_usd convert ROBOT.urdf";
                return Err(fault(
                    asset,
                    format!("{} is none of what can be viewed", asset.display()),
                )
                .help(help));
            }
        };
        let served = match &found {
            Self::Asset { key, .. } => key,
            Self::Alone { file, .. } => file,
        };
        if !is_servable(served) {
            let help = "rename it: without a dot in front, without backslashes, in UTF-8";
            return Err(fault(&path, format!("{served:?} cannot be part of a URL")).help(help));
        }
        Ok(found)
    }

    /// The file that says what is new.
    fn watched(&self) -> PathBuf {
        match self {
            Self::Asset { directory, .. } => directory.join(REPORT),
            Self::Alone { directory, file } => directory.join(file),
        }
    }

    /// All files that tell what is new: of an asset its list; of a file alone, the file and all
    /// that it names, there or not.
    fn used(&self) -> BTreeSet<PathBuf> {
        let mut used = BTreeSet::from([self.watched()]);
        if let Self::Alone { directory, file } = self
            && is_gltf(file)
            && let Ok(model) = Model::read(&directory.join(file))
        {
            used.extend(model.files().iter().map(|path| directory.join(path)));
        }
        used
    }

    /// The asset as it is now; `before`: as it was seen last.
    fn look(&self, before: Option<&RobotView>) -> Result<RobotView, Diagnostic> {
        match self {
            Self::Asset { directory, key } => asset(directory, key),
            Self::Alone { directory, file } => alone(directory, file, before),
        }
    }
}

fn no_drawable(directory: &Path, name: &str) -> Diagnostic {
    // Where a report says that it is an asset, it is made again in its place; a folder of something
    // else gets no advice to write there.
    let place = directory
        .parent()
        .filter(|_| directory.join(REPORT).is_file());
    let output = place.map_or_else(String::new, |parent| format!(" -o {}", parent.display()));
    fault(directory, format!("{} holds no {name}.glb, which is what a viewer draws", directory.display()))
        .help(format!("view the robot's own file (urdf_usd view ROBOT.urdf), or convert it: urdf_usd convert ROBOT.urdf{output} --formats usd,glb"))
}

/// What is in a file of JSON.
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

/// An asset with its report.
fn asset(directory: &Path, key: &str) -> Result<RobotView, Diagnostic> {
    let path = directory.join(REPORT);
    let unreadable = |error: &dyn std::fmt::Display| {
        fault(&path, format!("{} cannot be read: {error}", path.display()))
            .help("convert the robot again")
    };
    let report = Report::read(directory).map_err(|error| unreadable(&error))?;
    let is_drawable = |file: &FileInfo| {
        !file.path.contains('/') && [".glb", ".gltf"].iter().any(|end| file.path.ends_with(end))
    };
    if !report.files.iter().any(is_drawable) {
        return Err(no_drawable(directory, &file_name(&report.robot)));
    }
    let state = match Status::of(&report.diagnostics) {
        Status::Errors => RobotState::Error,
        Status::Warnings => RobotState::Warning,
        Status::Ok => RobotState::Ok,
    };
    let revision = report.revision;
    Ok(RobotView {
        name: report.robot,
        key: key.to_owned(),
        state,
        message: match diagnostic::status(&report.diagnostics) {
            found if found.is_empty() => format!("revision {revision} in {}", directory.display()),
            found => format!("revision {revision}; {found}"),
        },
        revision: Some(revision),
        time: written(&path),
        directory: Some(directory.to_owned()),
        files: report.files,
        counts: Some(report.counts),
        diagnostics: report.diagnostics,
        frames: None,
        namespace: "/".to_owned(),
        presence: Presence::Live,
        only_listed: false,
    })
}

/// A glTF file without a report: revisions are counted from when it was opened.
fn alone(
    directory: &Path,
    file: &str,
    before: Option<&RobotView>,
) -> Result<RobotView, Diagnostic> {
    let path = directory.join(file);
    let unreadable = |error: &dyn std::fmt::Display| {
        fault(&path, format!("{} cannot be read: {error}", path.display()))
    };
    let mut files = vec![file_view(directory, file).map_err(|error| unreadable(&error))?];
    if is_gltf(file) {
        let model = Model::read(&path).map_err(|error| unreadable(&error))?;
        // What is missing is told by whoever asks for it.
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
                    "{} is no binary glTF: it does not begin with \"glTF\"",
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
        revision,
        time: written(&path),
        directory: Some(directory.to_owned()),
        files,
        counts: None,
        diagnostics: Vec::new(),
        frames: None,
        namespace: "/".to_owned(),
        presence: Presence::Live,
        only_listed: true,
    })
}

/// The files that a glTF document refers to.
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
    /// Reads a document; why not, in words.
    fn read(path: &Path) -> Result<Self, String> {
        let text = read(path).map_err(|error| error.to_string())?;
        serde_json::from_slice(&text).map_err(|error| format!("no glTF: {error}"))
    }

    /// Those in its folder and below, in order.
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

/// Seconds since 1970 when a file was written.
fn written(path: &Path) -> f64 {
    let modified = fs::metadata(path).and_then(|meta| meta.modified()).ok();
    modified
        .and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok())
        .map_or(0.0, |time| time.as_secs_f64())
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
        // An overlay's entry, and a copy under another name.
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
    fn a_file_alone_is_all_that_is_served() {
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
        // A directory without a report is its file alone.
        fs::remove_file(arm.join("report.json")).unwrap();
        assert_eq!(Subject::find(&arm).unwrap(), subject);
    }

    #[test]
    fn a_gltf_comes_with_what_it_refers_to_in_its_folder() {
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
        // What is not there yet may come.
        let used = Subject::find(&arm.join("arm.gltf")).unwrap().used();
        assert_eq!(
            used,
            ["a b.bin", "arm.gltf", "gone.png"]
                .map(|name| arm.join(name))
                .into()
        );
    }

    #[test]
    fn what_cannot_be_viewed_is_told_with_the_remedy() {
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
        assert!(error(&arm.join("bad.glb")).contains("no binary glTF"));
        assert!(error(&arm.join("bad.gltf")).contains("no glTF"));
        assert!(error(&arm.join(".a.glb")).contains("rename"));
        fs::write(arm.join("report.json"), only_usd).unwrap();
        assert!(error(&arm).contains("no my arm.glb"));
        fs::write(arm.join("report.json"), "{").unwrap();
        assert!(error(&arm).contains("report.json cannot be read"));
    }

    #[test]
    fn what_fails_leaves_what_was_shown() {
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
