//! Watches files by watching their folders, since editors replace a file by renaming another onto
//! it.
//!
//! Reports which paths may have changed, not what that means.

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

/// Duration without events after which a file's change is reported.
const SETTLE_TIME: Duration = Duration::from_millis(200);
/// Poll interval for files that can't be watched.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// A report of the watcher.
#[derive(Debug)]
pub enum Event {
    /// Something may have changed at these paths.
    Changed(Vec<PathBuf>),
    /// A folder cannot be watched; reported once.
    Failed(Diagnostic),
}

/// A watcher of files; stops when it is dropped.
pub struct Watch {
    commands: mpsc::Sender<Command>,
}

/// A message to the watching thread.
enum Command {
    /// Watch these files.
    Set(BTreeSet<PathBuf>),
    /// The system reports events at these paths.
    Occurred(Vec<PathBuf>),
    /// Stop the thread.
    Stop,
}

impl Watch {
    /// Starts a thread that watches no files yet and sends reports to `events`.
    ///
    /// # Errors
    /// Fails if the thread can't be started.
    pub fn start(events: UnboundedSender<Event>) -> io::Result<Self> {
        let (commands, inbox) = mpsc::channel();
        let occurred = commands.clone();
        std::thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || Worker::new(events, occurred).run(&inbox))?;
        Ok(Self { commands })
    }

    /// Watches exactly these files, whether they exist or not.
    ///
    /// Files that were not watched before are reported as changed once they are watched, so that no
    /// change between reading them and watching them is lost.
    pub fn set(&self, files: BTreeSet<PathBuf>) {
        // The thread lives until this is dropped.
        let _ = self.commands.send(Command::Set(files));
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.commands.send(Command::Stop);
    }
}

/// Identity of a folder: a new folder of the same name needs a new watch.
type Identity = (u64, u64);

struct Worker {
    events: UnboundedSender<Event>,
    watcher: Option<RecommendedWatcher>,
    files: BTreeSet<PathBuf>,
    /// Paths with events, and when to report them. Every event counts, whatever the final state: a
    /// file that appeared and vanished has changed.
    occurred: BTreeMap<PathBuf, Instant>,
    folders: BTreeMap<PathBuf, Identity>,
    /// Files in folders that can't be watched.
    unwatched: Vec<PathBuf>,
    /// Time of the next poll of these files.
    poll: Instant,
    has_warned: bool,
}

impl Worker {
    fn new(events: UnboundedSender<Event>, occurred: mpsc::Sender<Command>) -> Self {
        let handler = move |result: notify::Result<notify::Event>| {
            // If events were lost, every file may have changed.
            let paths = match result {
                Ok(event) if event.kind.is_access() => return,
                Ok(event) if !event.need_rescan() => event.paths,
                _ => vec![PathBuf::from("/")],
            };
            let _ = occurred.send(Command::Occurred(paths));
        };
        let mut worker = Self {
            events,
            watcher: None,
            files: BTreeSet::new(),
            occurred: BTreeMap::new(),
            folders: BTreeMap::new(),
            unwatched: Vec::new(),
            poll: Instant::now(),
            has_warned: false,
        };
        match notify::recommended_watcher(handler) {
            Ok(watcher) => worker.watcher = Some(watcher),
            Err(error) => worker.warn_once(None, &error),
        }
        worker
    }

    fn run(mut self, inbox: &mpsc::Receiver<Command>) {
        loop {
            let poll = (!self.unwatched.is_empty()).then_some(self.poll);
            let command = match self.occurred.values().copied().chain(poll).min() {
                Some(due) => inbox.recv_timeout(due.saturating_duration_since(Instant::now())),
                None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match command {
                Ok(Command::Set(files)) => self.watch(files),
                Ok(Command::Occurred(paths)) => {
                    let due = Instant::now() + SETTLE_TIME;
                    self.occurred
                        .extend(paths.into_iter().map(|path| (path, due)));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Command::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            }
            self.report_due(Instant::now());
        }
    }

    fn report_due(&mut self, now: Instant) {
        let due: Vec<PathBuf> = self
            .occurred
            .extract_if(.., |_, at| *at <= now)
            .map(|(path, _)| path)
            .collect();
        if !due.is_empty() {
            self.report_touched(&due);
        }
        if !self.unwatched.is_empty() && self.poll <= now {
            // Nothing tells which of them changed, so all count as changed.
            self.report(self.unwatched.clone());
            self.update_watches();
        }
    }

    fn report_touched(&mut self, paths: &[PathBuf]) {
        let touched = touched(&self.files, paths);
        if !touched.is_empty() {
            // A folder may have appeared, vanished or been replaced.
            self.update_watches();
            self.report(touched);
        }
    }

    fn watch(&mut self, files: BTreeSet<PathBuf>) {
        let new: Vec<PathBuf> = files.difference(&self.files).cloned().collect();
        self.files = files;
        self.update_watches();
        if !new.is_empty() {
            self.report(new);
        }
    }

    fn report(&self, paths: Vec<PathBuf>) {
        // The receiver is gone only when the node is shutting down.
        let _ = self.events.send(Event::Changed(paths));
    }

    /// Updates the watches to the folders that the files need, as they exist now.
    fn update_watches(&mut self) {
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
        // Before new watches: a folder that was replaced has the path of its successor.
        for folder in gone {
            self.folders.remove(&folder);
            if let Some(watcher) = &mut self.watcher {
                // The system may have removed the watch with the folder.
                let _ = watcher.unwatch(&folder);
            }
        }
        self.unwatched.clear();
        self.poll = Instant::now() + POLL_INTERVAL;
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
                    self.warn_once(Some(&folder), &error);
                }
            }
        }
    }

    fn warn_once(&mut self, folder: Option<&Path>, error: &notify::Error) {
        if std::mem::replace(&mut self.has_warned, true) {
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
        let poll = POLL_INTERVAL.as_secs();
        let help = match limit {
            Some(setting) => format!(
                "changes are detected by polling every {poll} s; to raise the limit, run sudo sysctl {setting}"
            ),
            None => format!("changes are detected by polling every {poll} s"),
        };
        let what = folder.map_or_else(
            || "files".to_owned(),
            |folder| format!("the folder {}", folder.display()),
        );
        let message = format!("{what} cannot be watched for changes: {error}");
        let place = folder.map_or_else(Place::default, Place::file);
        let _ = self.events.send(Event::Failed(
            Diagnostic::new(&codes::WATCH, place, message).help(help),
        ));
    }
}

/// Returns the watched files that an event at `paths` may concern: those paths, and files below
/// them.
fn touched(files: &BTreeSet<PathBuf>, paths: &[PathBuf]) -> Vec<PathBuf> {
    let paths: BTreeSet<&Path> = paths.iter().map(PathBuf::as_path).collect();
    files
        .iter()
        .filter(|file| file.ancestors().any(|ancestor| paths.contains(ancestor)))
        .cloned()
        .collect()
}

/// Returns the nearest existing folder above a file, and its identity.
fn nearest_folder(file: &Path) -> Option<(PathBuf, Identity)> {
    // A file's folders may be created later; an event in the nearest existing one reveals that.
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

    /// Waits until `path` is reported as changed.
    fn await_change(events: &mut UnboundedReceiver<Event>, path: &Path) {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            match events.try_recv() {
                Ok(Event::Changed(paths)) if paths.iter().any(|p| p == path) => return,
                Ok(_) => {}
                Err(_) => {
                    assert!(
                        Instant::now() < deadline,
                        "no change of {} was reported",
                        path.display()
                    );
                    std::thread::sleep(Duration::from_millis(10));
                }
            }
        }
    }

    /// Watches `files`; returns after the initial event of each, without pending events.
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
    fn writing_replacing_and_removing_are_reported() {
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
    fn a_short_lived_file_is_reported() {
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
    fn a_missing_file_is_reported_when_it_appears_with_its_folders() {
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
    fn other_files_in_the_folder_are_not_reported() {
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
