//! Detects without converting whether a conversion would have the same outcome as the last one.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use urdf_usd_convert::Job;
use urdf_usd_resolve::States;

/// The inputs of a conversion: the job, and the state of every file that it read or looked for.
#[derive(Clone, Debug)]
pub(super) struct Fingerprint {
    job: Arc<Job>,
    files: States,
    written: Option<PathBuf>,
}

impl Fingerprint {
    /// Records the state of the files `used` by a conversion that began at `started`. `written` is
    /// a file of its result.
    pub(super) fn take(
        job: Arc<Job>,
        used: &[PathBuf],
        written: Option<PathBuf>,
        started: SystemTime,
    ) -> Self {
        Self {
            job,
            files: States::snapshot(used, started),
            written,
        }
    }

    /// Creates the fingerprint of a conversion that reported no inputs: it depends on the job
    /// alone.
    pub(super) fn for_job(job: Arc<Job>) -> Self {
        Self {
            job,
            files: States::snapshot(&[], SystemTime::UNIX_EPOCH),
            written: None,
        }
    }

    /// Returns whether `job` is the same and none of its inputs has changed since. Blocks on the
    /// file system.
    pub(super) fn holds(&self, job: &Job) -> bool {
        // The cheapest test first: the others access the file system.
        *self.job == *job
            && self.written.as_ref().is_none_or(|path| path.exists())
            && self.files.are_unchanged()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::time::Duration;

    use super::*;
    use urdf_usd_convert::Source;

    fn job(text: &str) -> Job {
        Job::new(
            Source::Text {
                text: text.into(),
                file: None,
            },
            "/out",
        )
    }

    fn age(path: &Path, seconds: u64) {
        let old = SystemTime::now() - Duration::from_secs(seconds);
        fs::File::options()
            .write(true)
            .open(path)
            .unwrap()
            .set_modified(old)
            .unwrap();
    }

    #[test]
    fn it_holds_until_text_or_files_change() {
        let folder = tempfile::tempdir().unwrap();
        let (mesh, missing) = (folder.path().join("a.stl"), folder.path().join("sub/b.stl"));
        fs::write(&mesh, "one").unwrap();
        age(&mesh, 60);
        let take = || {
            Fingerprint::take(
                Arc::new(job("a")),
                &[mesh.clone(), missing.clone()],
                None,
                SystemTime::now(),
            )
        };
        let print = take();
        assert!(print.holds(&job("a")));
        assert!(!print.holds(&job("b")));
        let options = urdf_usd_convert::Options {
            strict: true,
            ..Default::default()
        };
        assert!(!print.holds(&Job {
            options,
            ..job("a")
        }));

        fs::create_dir(folder.path().join("sub")).unwrap();
        assert!(print.holds(&job("a")));
        fs::write(&missing, "two").unwrap();
        assert!(!print.holds(&job("a")));

        age(&missing, 60);
        let print = take();
        assert!(print.holds(&job("a")));
        // Replaced by a file of the same length and time, as `cp -p` and `mv` leave it.
        let other = folder.path().join("other");
        fs::write(&other, "six").unwrap();
        fs::File::options()
            .write(true)
            .open(&other)
            .unwrap()
            .set_modified(fs::metadata(&mesh).unwrap().modified().unwrap())
            .unwrap();
        fs::rename(&other, &mesh).unwrap();
        assert!(!print.holds(&job("a")));
    }

    #[test]
    fn a_file_changed_during_the_conversion_invalidates_the_fingerprint() {
        let folder = tempfile::tempdir().unwrap();
        let mesh = folder.path().join("a.stl");
        let started = SystemTime::now() - Duration::from_secs(1);
        fs::write(&mesh, "one").unwrap();
        assert!(!Fingerprint::take(Arc::new(job("a")), &[mesh], None, started).holds(&job("a")));
    }

    #[test]
    fn a_lost_asset_is_written_again() {
        let folder = tempfile::tempdir().unwrap();
        let written = folder.path().join("report.json");
        fs::write(&written, "{}").unwrap();
        let print = Fingerprint::take(
            Arc::new(job("a")),
            &[],
            Some(written.clone()),
            SystemTime::now(),
        );
        assert!(print.holds(&job("a")));
        fs::remove_file(&written).unwrap();
        assert!(!print.holds(&job("a")));
    }
}
