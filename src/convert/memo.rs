//! Conversions that need not be made again, since neither the job nor any file changed: not what was read, not what was looked for
//! in vain, not what was written.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::report::{Counts, FileInfo, Report, SourceInfo, Timings};
use super::{Job, Options};
use crate::diagnostic::{Diagnostic, Place};
use crate::resolve::{COARSE, States};
use crate::store::{Key, Store};

/// Files that changed so shortly before a conversion are not relied on; tests don't wait that long.
pub(super) const MARGIN: Duration = if cfg!(test) { Duration::from_millis(50) } else { COARSE };

/// A conversion that was made.
#[derive(Serialize, Deserialize)]
struct Memo {
    read: States,
    written: States,
    robot: String,
    uri: Option<String>,
    sha256: String,
    revision: u64,
    files: Vec<(String, u64, String)>,
    counts: Counts,
    diagnostics: Vec<(String, String, Place, String)>,
    directory: PathBuf,
    name: String,
    root: String,
    namespace: String,
    used: Vec<PathBuf>,
}

/// The outcome of `job`, if nothing changed since it was converted last. `made`: the hash of what xacro made of its source.
pub(super) fn recall(job: &Job, made: Option<&str>, store: &Store, start: Instant) -> Option<Report> {
    let memo: Memo = store.get(&key(job, made, store)?, |bytes| serde_json::from_slice(bytes).ok())?;
    if !(memo.read.hold() && memo.written.hold()) {
        return None;
    }
    let mut report = memo.report(job.source.kind())?;
    report.timings_ms = Timings { total: super::milliseconds(start.elapsed()), ..Timings::default() };
    Some(report)
}

/// Keeps the outcome of `job`: what it was made from, and what was left of it.
pub(super) fn remember(job: &Job, made: Option<&str>, store: &Store, report: &Report, read: States, written: States) {
    if let Some(key) = key(job, made, store).filter(|_| read.are_sure()) {
        store.put(&key, || serde_json::to_vec(&Memo::of(report, read, written)).unwrap_or_default());
    }
}

/// `None` if nothing is kept, or the outcome depends on more than the job and files: on the date.
fn key(job: &Job, made: Option<&str>, store: &Store) -> Option<Key> {
    if !store.keeps() || job.options.simready || job.options.dated {
        return None;
    }
    // How long it may take changes nothing of what comes out.
    let job = &Job { options: Options { time_limit: None, ..job.options.clone() }, ..job.clone() };
    // Relative paths of the job start from it.
    let folder = std::env::current_dir().ok()?;
    let key = Key::of("conversion").and(folder.as_os_str().as_encoded_bytes()).and(format!("{job:?}").as_bytes());
    Some(key.and(made.unwrap_or_default().as_bytes()).key())
}

impl Memo {
    fn of(report: &Report, read: States, written: States) -> Self {
        let report = report.clone();
        Self {
            read,
            written,
            robot: report.robot,
            uri: report.source.uri,
            sha256: report.source.sha256,
            revision: report.revision,
            files: report.files.into_iter().map(|file| (file.path, file.bytes, file.sha256)).collect(),
            counts: report.counts,
            diagnostics: report.diagnostics.into_iter().map(|d| (d.code.to_owned(), d.message, d.place, d.help)).collect(),
            directory: report.directory,
            name: report.name,
            root: report.root,
            namespace: report.namespace,
            used: report.used,
        }
    }

    fn report(self, kind: &'static str) -> Option<Report> {
        let diagnostic = |(code, message, place, help): (String, String, Place, String)| {
            let code = crate::codes::find(&code)?;
            Some(Diagnostic::new(code, place, message).help(help))
        };
        Some(Report {
            robot: self.robot,
            source: SourceInfo { kind, uri: self.uri, sha256: self.sha256 },
            revision: self.revision,
            files: self.files.into_iter().map(|(path, bytes, sha256)| FileInfo { path, bytes, sha256 }).collect(),
            counts: self.counts,
            timings_ms: Timings::default(),
            diagnostics: self.diagnostics.into_iter().map(diagnostic).collect::<Option<_>>()?,
            directory: self.directory,
            name: self.name,
            root: self.root,
            namespace: self.namespace,
            changed: false,
            used: self.used,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use crate::convert::{Context, Job, Options, Report, Source, convert};
    use crate::resolve;
    use crate::store::Store;

    const STL: &str = "solid\nfacet vertex 0 0 0 vertex 1 0 0 vertex 0 1 0 endfacet\nendsolid\n";

    fn write(path: &Path, text: &str, age: bool) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        if age {
            std::thread::sleep(2 * super::MARGIN);
        }
    }

    fn job(root: &Path) -> Job {
        let resolve =
            resolve::Options { package_paths: vec![root.join("first"), root.join("second")], ..resolve::Options::default() };
        Job {
            options: Options { resolve, ..Options::default() },
            ..Job::new(Source::File(root.join("r.urdf")), root.join("out"))
        }
    }

    #[test]
    fn a_conversion_is_recalled_until_something_changes() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (urdf, mesh) = (root.join("r.urdf"), root.join("second/p/a.stl"));
        let text = "<robot name='r'><link name='a'><visual><geometry><mesh filename='package://p/a.stl'/></geometry></visual></link></robot>";
        write(&urdf, text, true);
        write(&mesh, STL, true);
        let context = Context { store: Store::on_disk(&root.join("cache"), 1 << 20), ..Context::default() };
        let convert = |job: &Job| convert(job, &context).unwrap();
        // It goes through none of the phases.
        let is_recalled = |report: &Report| report.timings_ms.read == 0.0 && report.timings_ms.write == 0.0;
        let first = convert(&job(&root));
        let again = convert(&job(&root));
        assert!(first.changed && !again.changed && is_recalled(&again));
        assert_eq!((&again.files, again.revision, &again.diagnostics), (&first.files, 1, &first.diagnostics));
        assert_eq!((again.counts, &again.directory, &again.root), (first.counts, &first.directory, &first.root));

        let other_job =
            convert(&Job { options: Options { bodies: crate::usd::Bodies::Flat, ..job(&root).options }, ..job(&root) });
        assert!(!is_recalled(&other_job));
        // An asset that somebody touched is looked at again.
        convert(&job(&root));
        assert!(is_recalled(&convert(&job(&root))));
        fs::remove_file(first.directory.join("base.usda")).unwrap();
        let restored = convert(&job(&root));
        assert!(restored.changed && restored.directory.join("base.usda").exists());

        write(&mesh, &STL.replace("0 1 0", "0 2 0"), true);
        let with_mesh = convert(&job(&root));
        assert!(with_mesh.changed && is_recalled(&convert(&job(&root))));
        // The package turns up in a place that comes first.
        write(&root.join("first/p/a.stl"), &STL.replace("0 1 0", "0 3 0"), true);
        assert!(convert(&job(&root)).changed);
        // What was written only just now may have been read half.
        write(&urdf, &text.replace("'a'>", "'b'>"), false);
        let young = convert(&job(&root));
        assert!(young.changed && !is_recalled(&convert(&job(&root))));
    }
}
