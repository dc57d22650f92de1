//! `urdf_usd view`: what a person calls a robot → an asset that the viewer shows. A description is converted into the cache, and again
//! whenever it or a file of it changes; of a folder, the robot in it.

use std::fs;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use clap::Args;

use super::findings::print_diagnostics;
use super::packages::Packages;
use super::progress::Bar;
use super::terminal::say_as;
use super::{failed, kept, wrong};
use crate::convert::{self, Context, Failure, Formats, Job, Options, REPORT, Report, Source, Status, Tiers, named};
use crate::diagnostic::{self, Severity, did_you_mean, nearest};
use crate::store::Store;
use crate::view::{self, Subject};
use crate::xacro;

/// How many folders deep robots are looked for, from the one that was named.
const DEPTH: usize = 5;
/// How many files and folders are looked at for robots.
const MOST_ENTRIES: usize = 20_000;
/// How many robots of a folder are listed.
const MOST_LISTED: usize = 30;
/// How much of a file tells whether it is a robot, in bytes.
const BEGINNING: u64 = 64 << 10;
/// How long what was made for the viewer is kept after it was last shown.
const KEPT: Duration = Duration::from_secs(30 * 24 * 3600);

/// The command's arguments.
#[derive(Args)]
pub(super) struct View {
    /// A URDF or xacro file, an OpenUSD file, a .glb or .gltf file, an asset's directory, or the folder of a ROS package with one robot
    asset: PathBuf,
    /// Which robot of a folder: the name of its file, with or without its ending
    #[arg(long, value_name = "NAME")]
    robot: Option<String>,
    /// An argument of the xacro file (may be given several times)
    #[arg(long = "xacro-arg", value_name = "NAME:=VALUE", value_parser = xacro::Argument::parse)]
    xacro_args: Vec<xacro::Argument>,
    #[command(flatten)]
    packages: Packages,
    /// Don't open the browser. It is opened only where there is a screen and the output goes to a terminal
    #[arg(long)]
    no_open: bool,
    #[command(flatten)]
    server: view::Options,
}

/// What is to be shown.
enum Shown {
    /// What is a drawing already.
    Drawing(PathBuf),
    /// What is converted first.
    Description(PathBuf),
}

/// Shows what is named until it is interrupted.
pub(super) fn run(arguments: &View) -> ExitCode {
    let shown = match find(&arguments.asset, arguments.robot.as_deref()) {
        Ok(shown) => shown,
        Err(message) => return failed(&message),
    };
    let open = (!arguments.no_open).then_some(open_browser as fn(&str));
    match shown {
        Shown::Drawing(path) => view::main(&arguments.server, &path, None, open),
        Shown::Description(file) => {
            let maker = match Maker::new(&file, arguments) {
                Ok(maker) => maker,
                Err(message) => return wrong(&message),
            };
            match maker.first() {
                Some(directory) => view::main(&arguments.server, &directory, Some(Arc::new(move || maker.again())), open),
                None => ExitCode::FAILURE,
            }
        }
    }
}

/// What of `path` is shown.
fn find(path: &Path, robot: Option<&str>) -> Result<Shown, String> {
    if !path.is_dir() {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
        let is_of_asset = path.parent().is_some_and(|folder| folder.join(REPORT).is_file());
        return match ending.as_str() {
            "urdf" | "xacro" | "xml" => Ok(Shown::Description(path.to_owned())),
            // A layer of an asset stands for it; OpenUSD files of others are read as robots.
            "usd" | "usda" | "usdc" | "usdz" if !is_of_asset && Subject::find(path).is_err() => {
                Ok(Shown::Description(path.to_owned()))
            }
            _ => Ok(Shown::Drawing(path.to_owned())),
        };
    }
    let name = path.canonicalize().ok().and_then(|path| path.file_name().map(ToOwned::to_owned)).unwrap_or_default();
    if robot.is_none() && (path.join(REPORT).is_file() || named(path, &name, &["glb", "gltf"]).is_some()) {
        return Ok(Shown::Drawing(path.to_owned()));
    }
    let robots = robots_in(path);
    let short = |file: &Path| file.strip_prefix(path).unwrap_or(file).display().to_string();
    let listed = || {
        let mut list: Vec<String> = robots.iter().take(MOST_LISTED).map(|robot| format!("\n  {}", short(robot))).collect();
        if robots.len() > MOST_LISTED {
            list.push(format!("\n  and {} more", robots.len() - MOST_LISTED));
        }
        list.concat()
    };
    if robots.is_empty() {
        return Err(format!(
            "{} holds neither an asset nor a robot description: give a .urdf, .xacro, OpenUSD, .glb or .gltf file",
            path.display()
        ));
    }
    let Some(wanted) = robot else {
        return match &robots[..] {
            [only] => Ok(Shown::Description(only.clone())),
            several => {
                Err(format!("{} holds {} robots: say which with --robot NAME{}", path.display(), several.len(), listed()))
            }
        };
    };
    let is_wanted = |file: &&PathBuf| short(file) == wanted || names(file).iter().any(|name| name == wanted);
    let mut found = robots.iter().filter(is_wanted);
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(Shown::Description(one.clone())),
        (Some(_), Some(_)) => Err(format!("several robots are called {wanted:?}: give one by its path{}", listed())),
        _ => {
            let all: Vec<String> = robots.iter().flat_map(|file| names(file)).collect();
            let meant = did_you_mean(nearest(wanted, all)).map_or_else(String::new, |meant| format!("; {meant}"));
            Err(format!("{} holds no robot {wanted:?}{meant}{}", path.display(), listed()))
        }
    }
}

/// What a robot's file may be called: `arm.urdf.xacro`, `arm.urdf`, `arm`.
fn names(file: &Path) -> Vec<String> {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut names = vec![name];
    while let Some((shorter, _)) =
        names.last().and_then(|name| name.rsplit_once('.')).filter(|(shorter, _)| !shorter.is_empty())
    {
        let shorter = shorter.to_owned();
        names.push(shorter);
    }
    names
}

/// The robot descriptions below a folder, in order. Hidden folders and links are left out, and xacro files that only define macros.
fn robots_in(folder: &Path) -> Vec<PathBuf> {
    let (mut robots, mut entries) = (Vec::new(), 0);
    let mut open = vec![(folder.to_owned(), 0)];
    while let Some((folder, depth)) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            entries += 1;
            if entries > MOST_ENTRIES {
                break;
            }
            let path = entry.path();
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth < DEPTH => open.push((path, depth + 1)),
                Ok(kind) if kind.is_file() && is_robot(&path) => robots.push(path),
                _ => {}
            }
        }
    }
    robots.sort();
    robots
}

/// Whether a file is called as descriptions are, and its robot has a name: files of macros have none.
fn is_robot(path: &Path) -> bool {
    if !path.extension().is_some_and(|ending| ending == "urdf" || ending == "xacro") {
        return false;
    }
    let mut start = Vec::new();
    if fs::File::open(path).and_then(|file| file.take(BEGINNING).read_to_end(&mut start)).is_err() {
        return false;
    }
    let text = String::from_utf8_lossy(&start);
    let tag = text.find("<robot").and_then(|at| text.get(at..)).and_then(|rest| rest.split('>').next()).unwrap_or_default();
    tag.split_whitespace().any(|attribute| attribute.starts_with("name"))
}

/// Converts a description into the cache, as often as it is asked to.
struct Maker {
    job: Job,
    /// Where there is no cache: a folder until the program ends.
    _temporary: Option<tempfile::TempDir>,
}

impl Maker {
    fn new(file: &Path, arguments: &View) -> Result<Self, String> {
        let file = std::path::absolute(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let arguments_of_xacro = &arguments.xacro_args;
        let resolve = arguments.packages.options()?;
        let key = convert::sha256(format!("{} {arguments_of_xacro:?} {resolve:?}", file.display()).as_bytes());
        let (output, temporary) = match Store::directory().map(|cache| cache.join("view")) {
            Some(cache) => (own_folder(&cache, key.get(..16).unwrap_or(&key), &file)?, None),
            None => {
                let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
                (folder.path().to_owned(), Some(folder))
            }
        };
        // What is looked at is the picture; layers are made by `convert`.
        let formats = Formats { usd: false, ..Formats::default() };
        let options = Options { formats, resolve, tiers: Tiers::High, ..Options::default() };
        let source = if arguments_of_xacro.is_empty() {
            Source::File(file)
        } else {
            Source::Xacro { file, arguments: arguments_of_xacro.clone() }
        };
        // What is wrong with the cache is told before anything is done.
        kept(false)?;
        Ok(Self { job: Job { options, ..Job::new(source, output) }, _temporary: temporary })
    }

    /// Converts for the first time, and tells people. Returns the asset's directory; `None` if there is none.
    fn first(&self) -> Option<PathBuf> {
        let mut bar = Bar::default();
        let expanded = Arc::new(Mutex::new(None));
        let keep = {
            let expanded = expanded.clone();
            move |text: &str| *expanded.lock().unwrap_or_else(PoisonError::into_inner) = Some(text.to_owned())
        };
        let context = Context {
            store: kept(false).unwrap_or_default(),
            progress: bar.listener(),
            expanded: Some(Box::new(keep)),
            ..Context::default()
        };
        let result = convert::convert(&self.job, &context);
        bar.clear();
        let expanded = expanded.lock().unwrap_or_else(PoisonError::into_inner).take();
        match result {
            Ok(report) => {
                print_diagnostics(&report.diagnostics, expanded.as_deref());
                let found = diagnostic::count(&report.diagnostics);
                match report.status {
                    Status::Ok => {}
                    Status::Warnings => say_as(Severity::Warning, format!("shown with {found}")),
                    Status::Errors => say_as(Severity::Error, format!("shown with {found}")),
                }
                Some(report.directory)
            }
            Err(failure) => {
                print_diagnostics(&failure.diagnostics, expanded.as_deref());
                say_as(Severity::Error, "there is nothing to show");
                None
            }
        }
    }

    /// Converts again.
    fn again(&self) -> Result<Report, Failure> {
        convert::convert(&self.job, &Context { store: kept(false).unwrap_or_default(), ..Context::default() })
    }
}

/// The folder in the cache for what is made of `file`. Those that nobody looked at for long go.
fn own_folder(cache: &Path, key: &str, file: &Path) -> Result<PathBuf, String> {
    /// Says what the folder was made from, and by its time when that was last shown.
    const MARK: &str = "source.txt";
    let folder = cache.join(key);
    let cannot = |error: std::io::Error| format!("the cache {} cannot be written: {error}", folder.display());
    fs::create_dir_all(&folder).map_err(cannot)?;
    fs::write(folder.join(MARK), file.display().to_string()).map_err(cannot)?;
    for old in fs::read_dir(cache).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let marked = fs::metadata(old.join(MARK)).or_else(|_| fs::metadata(&old)).and_then(|meta| meta.modified());
        if marked.is_ok_and(|time| SystemTime::now().duration_since(time).is_ok_and(|age| age > KEPT)) {
            // Another process may remove it, too.
            let _ = fs::remove_dir_all(old);
        }
    }
    Ok(folder)
}

/// Opens the browser where somebody sees it.
fn open_browser(url: &str) {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if !std::io::stdout().is_terminal() {
        return;
    }
    let program = if cfg!(target_os = "macos") {
        "open"
    } else if ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "WSL_DISTRO_NAME"].into_iter().any(is_set) {
        "xdg-open"
    } else {
        return;
    };
    let begun = Command::new(program).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    // Without such a program people click the address. A program that has ended is waited for, so that the system forgets it.
    if let Ok(mut browser) = begun {
        let _ = std::thread::Builder::new().name("browser".to_owned()).spawn(move || browser.wait());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn robots_of_a_folder_are_found_and_macros_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let found = |robot: Option<&str>| match find(folder.path(), robot) {
            Ok(Shown::Description(file)) => file.strip_prefix(folder.path()).unwrap().display().to_string(),
            Ok(Shown::Drawing(file)) => format!("drawing {}", file.display()),
            Err(message) => message,
        };
        let none = found(None);
        assert!(none.contains("neither an asset nor a robot") && !none.contains("-o"), "{none}");
        write("urdf/arm.urdf.xacro", "<?xml version='1.0'?>\n<robot xmlns:xacro='x'\n name='arm'>");
        write("urdf/macros.xacro", "<robot xmlns:xacro='x'><xacro:macro name='a'/></robot>");
        write(".git/old.urdf", "<robot name='old'>");
        assert_eq!(found(None), "urdf/arm.urdf.xacro");
        write("urdf/gripper.urdf", "<robot name='gripper'/>");
        let several = found(None);
        assert!(several.contains("2 robots") && several.ends_with("\n  urdf/arm.urdf.xacro\n  urdf/gripper.urdf"), "{several}");
        for name in ["arm", "arm.urdf", "arm.urdf.xacro", "urdf/arm.urdf.xacro"] {
            assert_eq!(found(Some(name)), "urdf/arm.urdf.xacro");
        }
        assert!(found(Some("griper")).contains("did you mean \"gripper\"?"), "{}", found(Some("griper")));
        write("other/gripper.urdf", "<robot name='gripper'/>");
        assert!(found(Some("gripper")).contains("give one by its path"));
    }

    #[test]
    fn folders_of_the_cache_go_when_nobody_looked_at_them_for_long() {
        let cache = tempfile::tempdir().unwrap();
        let old = own_folder(cache.path(), "old", Path::new("/a.urdf")).unwrap();
        let long_ago = SystemTime::now() - KEPT - Duration::from_secs(60);
        fs::File::options().write(true).open(old.join("source.txt")).unwrap().set_modified(long_ago).unwrap();
        let new = own_folder(cache.path(), "new", Path::new("/b.urdf")).unwrap();
        assert!(new.is_dir() && !old.exists());
    }
}
