//! An asset drawn in other variants than its own GLB is: which there are to choose from, and the
//! GLB with some of them, made on demand from the asset's layers.
//!
//! What was made is kept in memory by the content of the asset, so nothing of an older revision is
//! ever given. It must not know ROS, nor HTTP.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use bytes::Bytes;

use urdf_usd_convert::{Context, Formats, Job, Options, OutputFormat, Report, Source, Tiers};
use urdf_usd_store::{Key, KeyBuilder, Store, pack, unpack};
use urdf_usd_usd_read::{TierSet, VariantChoice};
use urdf_usd_worker::{Limits, Workers};

/// How many bytes of what was made are kept.
const KEPT: u64 = 256 << 20;
/// How long making a drawing may take: meshes are read and written, nothing is derived from them.
const LONGEST: Duration = Duration::from_secs(120);
/// How often it is begun anew because another revision took the asset's place meanwhile.
const ATTEMPTS: usize = 3;

/// A GLB.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Drawing {
    /// Of the bytes, lower-case hex.
    pub(crate) sha256: String,
    /// The file.
    pub(crate) bytes: Bytes,
}

/// Makes drawings and keeps them.
#[derive(Debug)]
pub(crate) struct Drawings {
    kept: Store,
    workers: Arc<Workers>,
    limits: Limits,
}

impl Default for Drawings {
    fn default() -> Self {
        Self::new(Arc::new(Workers::here()), None)
    }
}

impl Drawings {
    /// Renders variants in `workers`, each with a memory limit in MiB.
    pub(crate) fn new(workers: Arc<Workers>, memory: Option<u64>) -> Self {
        Self {
            kept: Store::in_memory(KEPT),
            workers,
            limits: Limits {
                time: Some(LONGEST),
                memory,
            },
        }
    }

    /// The variant sets that the asset with this entry layer can be drawn in; the first variant of
    /// each is what its own GLB shows.
    ///
    /// # Errors
    /// Why they can't be read, in a sentence.
    pub(crate) fn offered(&self, entry: &Path) -> Result<Vec<TierSet>, String> {
        let known = |asset: KeyBuilder| asset.and(b"offered").key();
        let before = known(content(entry)?);
        if let Some(sets) = self
            .kept
            .get(&before, |bytes| serde_json::from_slice(bytes).ok())
        {
            return Ok(sets);
        }
        let sets = self.workers.tiers(entry, self.limits)?;
        // What was read while a revision took the place of another is of neither.
        if content(entry).is_ok_and(|now| known(now) == before) {
            self.kept
                .put(&before, || serde_json::to_vec(&sets).unwrap_or_default());
        }
        Ok(sets)
    }

    /// The drawing in these variants, if it was made of the asset as it is now.
    ///
    /// # Errors
    /// Why the asset can't be read, in a sentence.
    pub(crate) fn known(
        &self,
        entry: &Path,
        variants: &[VariantChoice],
    ) -> Result<Option<Drawing>, String> {
        Ok(self.kept(&key(content(entry)?, variants)))
    }

    /// The drawing in these variants, made if need be; `cancelled` calls that off.
    ///
    /// # Errors
    /// Why there is none, in a sentence.
    pub(crate) fn draw(
        &self,
        entry: &Path,
        variants: &[VariantChoice],
        cancelled: &Arc<AtomicBool>,
    ) -> Result<Drawing, String> {
        for _ in 0..ATTEMPTS {
            let before = key(content(entry)?, variants);
            if let Some(known) = self.kept(&before) {
                return Ok(known);
            }
            let made = self.make(entry, variants, cancelled.clone());
            if key(content(entry)?, variants) == before {
                let drawing = made?;
                self.kept
                    .put_content(&before, &pack(&drawing.sha256, [drawing.bytes.clone()]));
                return Ok(drawing);
            }
        }
        Err(
            "the asset is written again and again while it is drawn: try again once it rests"
                .to_owned(),
        )
    }

    fn make(
        &self,
        entry: &Path,
        variants: &[VariantChoice],
        cancelled: Arc<AtomicBool>,
    ) -> Result<Drawing, String> {
        let folder = tempfile::tempdir()
            .map_err(|error| format!("there is no temporary folder: {error}"))?;
        let options = Options {
            formats: Formats::only(OutputFormat::Glb),
            tiers: Tiers::High,
            variants: variants.to_vec(),
            time_limit: self.limits.time,
            memory_limit: self.limits.memory,
            ..Options::default()
        };
        let job = Job {
            options,
            ..Job::new(Source::File(entry.to_owned()), folder.path())
        };
        let result = self.workers.convert(
            &job,
            &Context {
                cancelled,
                ..Context::default()
            },
        );
        let report = result.map_err(|failure| {
            failure.diagnostics.first().map_or_else(
                || failure.to_string(),
                |found| match found.help.as_str() {
                    "" => found.message.clone(),
                    help => format!("{}: {help}", found.message),
                },
            )
        })?;
        let file = report.file("glb").ok_or("the conversion wrote no GLB")?;
        let name = file.file_name().unwrap_or_default();
        let listed = report
            .files
            .iter()
            .find(|listed| *listed.path == *name)
            .ok_or("the conversion wrote no GLB")?;
        let bytes =
            fs::read(&file).map_err(|error| format!("what was drawn cannot be read: {error}"))?;
        Ok(Drawing {
            sha256: listed.sha256.clone(),
            bytes: bytes.into(),
        })
    }

    fn kept(&self, key: &Key) -> Option<Drawing> {
        let entry = self.kept.load(key)?;
        let (sha256, bytes) = unpack(&entry)?;
        Some(Drawing {
            sha256,
            bytes: entry.slice_ref(bytes),
        })
    }
}

fn key(asset: KeyBuilder, variants: &[VariantChoice]) -> Key {
    variants
        .iter()
        .fold(asset.and(b"drawing"), |key, choice| {
            key.and(choice.to_string().as_bytes())
        })
        .key()
}

/// What tells one content of an asset from another: its report, and when each file was written,
/// should somebody have edited a layer.
fn content(entry: &Path) -> Result<KeyBuilder, String> {
    let directory = entry.parent().unwrap_or(Path::new("."));
    let report = Report::read(directory)
        .map_err(|error| format!("the asset's report cannot be read: {error}"))?;
    let mut key = Key::builder("asset")
        .and(entry.as_os_str().as_encoded_bytes())
        .and(&report.revision.to_le_bytes());
    for file in &report.files {
        let written = fs::metadata(directory.join(&file.path))
            .and_then(|meta| meta.modified())
            .ok();
        let written = written
            .and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok())
            .unwrap_or_default();
        key = key
            .and(file.path.as_bytes())
            .and(file.sha256.as_bytes())
            .and(&written.as_nanos().to_le_bytes());
    }
    Ok(key)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use urdf_usd_convert as convert;
    use urdf_usd_worker::Program;

    /// Writes the asset of a robot with a wavy sheet of `side` × `side` squares; gives its entry.
    fn asset(folder: &Path, side: usize) -> PathBuf {
        let at = |x: usize, y: usize| {
            let [x, y] = [x, y].map(|k| k as f64 / side as f64);
            format!(
                "vertex {x} {y} {}\n",
                0.02 * (3.0 * x).sin() * (2.0 * y).cos()
            )
        };
        let squares = (0..side).flat_map(|x| (0..side).map(move |y| (x, y)));
        let facets: String = squares
            .flat_map(|(x, y)| {
                [
                    [(x, y), (x + 1, y), (x + 1, y + 1)],
                    [(x, y), (x + 1, y + 1), (x, y + 1)],
                ]
            })
            .map(|corners| {
                format!(
                    "facet\nouter loop\n{}endloop\nendfacet\n",
                    corners.map(|(x, y)| at(x, y)).concat()
                )
            })
            .collect();
        fs::write(
            folder.join("sheet.stl"),
            format!("solid\n{facets}endsolid\n"),
        )
        .unwrap();
        let shape = "<geometry><mesh filename='sheet.stl'/></geometry>";
        let text = format!(
            "<robot name='r'><link name='a'><visual>{shape}</visual><collision>{shape}</collision></link></robot>"
        );
        fs::write(folder.join("r.urdf"), text).unwrap();
        let job = Job::new(Source::File(folder.join("r.urdf")), folder.join("out"));
        convert::convert(&job, &Context::default())
            .unwrap()
            .file("usda")
            .unwrap()
    }

    fn low() -> Vec<VariantChoice> {
        [
            "visual_representation=mesh_low",
            "collision_fidelity=convex_hull",
        ]
        .map(|choice| choice.parse().unwrap())
        .into()
    }

    #[test]
    fn a_drawing_is_kept_as_long_as_the_asset_stays() {
        let folder = tempfile::tempdir().unwrap();
        let entry = asset(folder.path(), 40);
        static RELEASED: AtomicUsize = AtomicUsize::new(0);
        let program = Program::new("none").releasing_with(|| {
            RELEASED.fetch_add(1, Ordering::SeqCst);
        });
        let drawings = Drawings::new(Arc::new(Workers::in_process_of(Some(&program))), None);
        let sets: Vec<String> = drawings
            .offered(&entry)
            .unwrap()
            .into_iter()
            .map(|tiers| tiers.set)
            .collect();
        assert_eq!(sets, ["visual_representation", "collision_fidelity"]);
        assert_eq!(drawings.known(&entry, &low()), Ok(None));
        let first = drawings.draw(&entry, &low(), &Arc::default()).unwrap();
        assert!(
            first.bytes.starts_with(b"glTF")
                && first.bytes.len()
                    < fs::metadata(entry.with_extension("glb")).unwrap().len() as usize
        );
        assert_eq!(first.sha256, convert::sha256(&first.bytes));
        // What is kept can be had even when nothing can be made.
        assert_eq!(
            RELEASED.load(Ordering::SeqCst),
            1,
            "memory is released after a drawing is made"
        );
        assert_eq!(
            drawings.draw(&entry, &low(), &Arc::new(true.into())),
            Ok(first.clone())
        );
        assert_eq!(
            drawings.known(&entry, &["collision_fidelity=convex_hull".parse().unwrap()]),
            Ok(None)
        );
        // Another revision.
        asset(folder.path(), 60);
        assert_eq!(drawings.known(&entry, &low()), Ok(None));
        assert_ne!(
            drawings.draw(&entry, &low(), &Arc::default()).unwrap(),
            first
        );
        // A layer that somebody edited.
        let layer = entry.with_file_name("base.usda");
        fs::File::options()
            .write(true)
            .open(layer)
            .unwrap()
            .set_modified(SystemTime::now() + Duration::from_secs(9))
            .unwrap();
        assert_eq!(drawings.known(&entry, &low()), Ok(None));
    }

    #[test]
    fn what_is_in_the_way_is_a_sentence() {
        let folder = tempfile::tempdir().unwrap();
        let entry = asset(folder.path(), 10);
        let drawings = Drawings::default();
        // So small a mesh has no tiers.
        assert_eq!(drawings.offered(&entry).unwrap().len(), 1);
        let none = drawings.draw(&entry, &low(), &Arc::default()).unwrap_err();
        assert!(none.contains("visual_representation=mesh_low"), "{none}");
        let off = ["collision_fidelity=convex_hull".parse().unwrap()];
        assert!(drawings.draw(&entry, &off, &Arc::new(true.into())).is_err());
        assert!(drawings.draw(&entry, &off, &Arc::default()).is_ok());
        fs::write(entry.with_file_name("base.usda"), "#usda 1.0\ndef {").unwrap();
        assert!(
            drawings.offered(&entry).unwrap().is_empty()
                && drawings.draw(&entry, &off, &Arc::default()).is_err()
        );
        fs::remove_file(entry.with_file_name(convert::REPORT)).unwrap();
        assert!(drawings.offered(&entry).unwrap_err().contains("report"));
    }
}
