//! Watches files by watching the folders that they are in, since editors replace a file by renaming
//! another onto it.
//!
//! It says which paths may have changed, never what that means.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use notify::{ErrorKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc::UnboundedSender;

use super::codes;
use urdf_usd_diagnostic::{Diagnostic, Place};

/// How long a file has to be quiet before its change is told.
const QUIET: Duration = Duration::from_millis(200);
/// How often files are looked at where they can't be watched.
const POLL: Duration = Duration::from_secs(5);

/// What the watcher tells.
#[derive(Debug)]
pub enum Event {
    /// Something may have changed at these paths.
    Changed(Vec<PathBuf>),
    /// A folder cannot be watched: told once per kind of failure.
    Trouble(Diagnostic),
}

/// Watches files until it is dropped.
pub struct Watch {
    orders: mpsc::Sender<Order>,
}

/// What the watching thread is woken by.
enum Order {
    /// Watch these files.
    Set(BTreeSet<PathBuf>),
    /// The system says that something happened at these paths.
    Happened(Vec<PathBuf>),
    /// End.
    Stop,
}

impl Watch {
    /// Starts watching nothing; `events` gets what happens.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub fn start(events: UnboundedSender<Event>) -> io::Result<Self> {
        let (orders, inbox) = mpsc::channel();
        let happened = orders.clone();
        std::thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || Worker::new(events, happened).run(&inbox))?;
        Ok(Self { orders })
    }

    /// Watches exactly these files from now on, whether they exist or not. Files that were not
    /// watched before are told as changed once the watch stands, so that no change falls between
    /// reading them and watching them.
    pub fn set(&self, files: BTreeSet<PathBuf>) {
        // The thread lives until this is dropped.
        let _ = self.orders.send(Order::Set(files));
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.orders.send(Order::Stop);
    }
}

/// A folder's identity: a new folder of the same name needs a new watch.
type Identity = (u64, u64);

struct Worker {
    events: UnboundedSender<Event>,
    watcher: Option<RecommendedWatcher>,
    files: BTreeSet<PathBuf>,
    /// Where something happened, and when that is told. What became of a file does not matter: one
    /// that came and went again has changed.
    happened: BTreeMap<PathBuf, Instant>,
    folders: BTreeMap<PathBuf, Identity>,
    /// Files in folders that could not be watched.
    unwatched: Vec<PathBuf>,
    /// When to look at them again.
    poll: Instant,
    complained: bool,
}

impl Worker {
    fn new(events: UnboundedSender<Event>, happened: mpsc::Sender<Order>) -> Self {
        let handler = move |result: notify::Result<notify::Event>| {
            // Where events were lost, every file may have changed.
            let paths = match result {
                Ok(event) if event.kind.is_access() => return,
                Ok(event) if !event.need_rescan() => event.paths,
                _ => vec![PathBuf::from("/")],
            };
            let _ = happened.send(Order::Happened(paths));
        };
        let mut worker = Self {
            events,
            watcher: None,
            files: BTreeSet::new(),
            happened: BTreeMap::new(),
            folders: BTreeMap::new(),
            unwatched: Vec::new(),
            poll: Instant::now(),
            complained: false,
        };
        match notify::recommended_watcher(handler) {
            Ok(watcher) => worker.watcher = Some(watcher),
            Err(error) => worker.complain(None, &error),
        }
        worker
    }

    fn run(mut self, inbox: &mpsc::Receiver<Order>) {
        loop {
            let poll = (!self.unwatched.is_empty()).then_some(self.poll);
            let order = match self.happened.values().copied().chain(poll).min() {
                Some(due) => inbox.recv_timeout(due.saturating_duration_since(Instant::now())),
                None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match order {
                Ok(Order::Set(files)) => self.watch(files),
                Ok(Order::Happened(paths)) => {
                    let due = Instant::now() + QUIET;
                    self.happened
                        .extend(paths.into_iter().map(|path| (path, due)));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Order::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            }
            self.tell_what_is_due(Instant::now());
        }
    }

    fn tell_what_is_due(&mut self, now: Instant) {
        let due: Vec<PathBuf> = self
            .happened
            .extract_if(.., |_, at| *at <= now)
            .map(|(path, _)| path)
            .collect();
        if !due.is_empty() {
            self.look(&due);
        }
        if !self.unwatched.is_empty() && self.poll <= now {
            self.tell(self.unwatched.clone());
            self.stand();
        }
    }

    fn look(&mut self, paths: &[PathBuf]) {
        let touched = touched(&self.files, paths);
        if !touched.is_empty() {
            // A folder may have come, gone or been replaced.
            self.stand();
            self.tell(touched);
        }
    }

    fn watch(&mut self, files: BTreeSet<PathBuf>) {
        let new: Vec<PathBuf> = files.difference(&self.files).cloned().collect();
        self.files = files;
        self.stand();
        if !new.is_empty() {
            self.tell(new);
        }
    }

    fn tell(&self, paths: Vec<PathBuf>) {
        // Nobody listens any more when the node ends.
        let _ = self.events.send(Event::Changed(paths));
    }

    /// Makes the watches what the files need, as the folders stand now.
    fn stand(&mut self) {
        let mut needed: BTreeMap<PathBuf, (Identity, Vec<PathBuf>)> = BTreeMap::new();
        for file in &self.files {
            if let Some((folder, identity)) = nearest_folder(file) {
                needed
                    .entry(folder)
                    .or_insert_with(|| (identity, Vec::new()))
                    .1
                    .push(file.clone());
            }
        }
        let gone: Vec<PathBuf> = self
            .folders
            .iter()
            .filter(|(folder, identity)| {
                needed.get(*folder).is_none_or(|(now, _)| now != *identity)
            })
            .map(|(folder, _)| folder.clone())
            .collect();
        for folder in gone {
            self.folders.remove(&folder);
            if let Some(watcher) = &mut self.watcher {
                // The system may have ended the watch of a removed folder itself.
                let _ = watcher.unwatch(&folder);
            }
        }
        self.unwatched.clear();
        self.poll = Instant::now() + POLL;
        for (folder, (identity, files)) in needed {
            if self.folders.contains_key(&folder) {
                continue;
            }
            let Some(watcher) = &mut self.watcher else {
                self.unwatched.extend(files);
                continue;
            };
            match watcher.watch(&folder, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    self.folders.insert(folder, identity);
                }
                Err(error) => {
                    self.unwatched.extend(files);
                    self.complain(Some(&folder), &error);
                }
            }
        }
    }

    fn complain(&mut self, folder: Option<&Path>, error: &notify::Error) {
        if std::mem::replace(&mut self.complained, true) {
            return;
        }
        let limit = match &error.kind {
            ErrorKind::MaxFilesWatch => Some("fs.inotify.max_user_watches=524288"),
            ErrorKind::Io(error)
                if error.raw_os_error() == Some(rustix::io::Errno::MFILE.raw_os_error()) =>
            {
                Some("fs.inotify.max_user_instances=1024")
            }
            ErrorKind::Io(error)
                if error.raw_os_error() == Some(rustix::io::Errno::NOSPC.raw_os_error()) =>
            {
                Some("fs.inotify.max_user_watches=524288")
            }
            _ => None,
        };
        let poll = POLL.as_secs();
        let help = match limit {
            Some(setting) => format!(
                "changes are noticed within {poll} s instead; raise the limit: sudo sysctl {setting}"
            ),
            None => format!("changes are noticed within {poll} s instead"),
        };
        let what = folder.map_or_else(
            || "files".to_owned(),
            |folder| format!("the folder {}", folder.display()),
        );
        let message = format!("{what} cannot be watched for changes: {error}");
        let place = folder.map_or_else(Place::default, Place::file);
        let _ = self.events.send(Event::Trouble(
            Diagnostic::new(&codes::WATCH, place, message).help(help),
        ));
    }
}

/// The watched files that a change at `paths` may concern: those files, and those below them.
fn touched(files: &BTreeSet<PathBuf>, paths: &[PathBuf]) -> Vec<PathBuf> {
    let paths: BTreeSet<&Path> = paths.iter().map(PathBuf::as_path).collect();
    files
        .iter()
        .filter(|file| file.ancestors().any(|ancestor| paths.contains(ancestor)))
        .cloned()
        .collect()
}

/// The folder of a file, or the nearest above it that exists, and its identity.
fn nearest_folder(file: &Path) -> Option<(PathBuf, Identity)> {
    file.ancestors().skip(1).find_map(|folder| {
        let meta = std::fs::metadata(folder)
            .ok()
            .filter(std::fs::Metadata::is_dir)?;
        Some((folder.to_owned(), (meta.dev(), meta.ino())))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

    /// Waits until `path` is told as changed.
    fn await_change(events: &mut UnboundedReceiver<Event>, path: &Path) {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            match events.try_recv() {
                Ok(Event::Changed(paths)) if paths.iter().any(|p| p == path) => return,
                Ok(_) => {}
                Err(_) => {
                    assert!(
                        Instant::now() < deadline,
                        "no change of {} was told",
                        path.display()
                    );
                    std::thread::sleep(Duration::from_millis(10));
                }
            }
        }
    }

    fn watching(files: &[&Path]) -> (Watch, UnboundedReceiver<Event>) {
        let (sender, mut events) = unbounded_channel();
        let watch = Watch::start(sender).unwrap();
        watch.set(files.iter().map(|file| (*file).to_owned()).collect());
        for file in files {
            await_change(&mut events, file);
        }
        while events.try_recv().is_ok() {}
        (watch, events)
    }

    #[test]
    fn writing_replacing_and_removing_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().canonicalize().unwrap().join("a.stl");
        fs::write(&file, "one").unwrap();
        let (_watch, mut events) = watching(&[&file]);
        fs::write(&file, "two").unwrap();
        await_change(&mut events, &file);
        let other = file.with_extension("tmp");
        fs::write(&other, "three").unwrap();
        fs::rename(&other, &file).unwrap();
        await_change(&mut events, &file);
        fs::remove_file(&file).unwrap();
        await_change(&mut events, &file);
    }

    #[test]
    fn what_comes_and_goes_at_once_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().canonicalize().unwrap().join("a.stl");
        fs::write(&file, "one").unwrap();
        let (_watch, mut events) = watching(&[&file]);
        let other = file.with_extension("tmp");
        fs::write(&other, "two").unwrap();
        fs::rename(&other, &file).unwrap();
        fs::remove_file(&file).unwrap();
        await_change(&mut events, &file);
    }

    #[test]
    fn a_missing_file_is_told_when_it_comes_with_its_folders() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder
            .path()
            .canonicalize()
            .unwrap()
            .join("meshes/arm/a.stl");
        let (_watch, mut events) = watching(&[&file]);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        await_change(&mut events, &file);
        while events.try_recv().is_ok() {}
        fs::write(&file, "one").unwrap();
        await_change(&mut events, &file);
    }

    #[test]
    fn a_replaced_folder_is_watched_on() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let file = base.join("meshes/a.stl");
        fs::create_dir(base.join("meshes")).unwrap();
        fs::write(&file, "one").unwrap();
        let (_watch, mut events) = watching(&[&file]);
        fs::create_dir(base.join("next")).unwrap();
        fs::write(base.join("next/a.stl"), "two").unwrap();
        fs::rename(base.join("meshes"), base.join("old")).unwrap();
        await_change(&mut events, &file);
        fs::rename(base.join("next"), base.join("meshes")).unwrap();
        await_change(&mut events, &file);
        while events.try_recv().is_ok() {}
        fs::write(&file, "three").unwrap();
        await_change(&mut events, &file);
    }

    #[test]
    fn what_else_happens_in_the_folder_is_not_told() {
        let files: BTreeSet<PathBuf> = ["/p/meshes/a.stl", "/p/meshes/sub/b.stl"]
            .iter()
            .map(PathBuf::from)
            .collect();
        let touched = |path: &str| touched(&files, &[PathBuf::from(path)]).len();
        assert_eq!(
            (
                touched("/p/meshes/.a.stl.swp"),
                touched("/p/meshes/arm/arm.usda")
            ),
            (0, 0)
        );
        assert_eq!(
            (
                touched("/p/meshes/a.stl"),
                touched("/p/meshes/sub"),
                touched("/p/meshes"),
                touched("/")
            ),
            (1, 1, 2, 2)
        );
    }
}
