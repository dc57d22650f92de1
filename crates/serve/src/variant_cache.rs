//! GLBs of an asset in variants other than its own GLB's: the available variants, and rendering on
//! demand from the asset's layers.
//!
//! Results are cached in memory under the asset's content, so none of an older revision is ever
//! returned. This module does not depend on ROS or HTTP.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

use urdf_usd_convert::{Context, Formats, Job, Options, OutputFormat, Report, Source, Tiers};
use urdf_usd_store::{Key, KeyBuilder, Store, pack, unpack};
use urdf_usd_usd_read::{TierSet, VariantChoice};
use urdf_usd_worker::{Limits, Workers};

/// Maximum size of the cache, in bytes.
const CACHE_BYTES: u64 = 256 << 20;
/// Time limit for rendering, which reads and writes meshes but derives none.
const TIME_LIMIT: Duration = Duration::from_secs(120);
/// Maximum number of attempts if a new revision replaces the asset meanwhile.
const MAX_ATTEMPTS: usize = 3;

/// Variant set of the visual meshes.
const VISUAL_SET: &str = "visual_representation";

/// Options of a GLB that is drawn from an asset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Drawing {
    /// The variants that differ from those of the asset's own GLB.
    pub(crate) variants: Vec<VariantChoice>,
    /// True if triangles are compressed (`EXT_meshopt_compression`).
    pub(crate) is_compact: bool,
}

impl Drawing {
    /// Returns the preview of an asset with these sets: the coarsest meshes, compressed. `None` if
    /// its visual meshes would be those of the asset's own GLB.
    pub(crate) fn preview(offered: &[TierSet]) -> Option<Self> {
        let choices = offered.iter().filter_map(|tiers| {
            Some(VariantChoice {
                prim: None,
                set: tiers.set.clone(),
                variant: coarsest(tiers)?.to_owned(),
            })
        });
        let variants: Vec<VariantChoice> = choices.collect();
        let is_coarser = variants.iter().any(|choice| choice.set == VISUAL_SET);
        is_coarser.then_some(Self {
            variants,
            is_compact: true,
        })
    }
}

/// Returns the variant of a set that is fastest to send, if it is not the first. Sphere sets are
/// coarser than hulls, but have more shapes.
fn coarsest(tiers: &TierSet) -> Option<&str> {
    const HULL: &str = "convex_hull";
    let (first, others) = tiers.variants.split_first()?;
    if first == HULL {
        return None;
    }
    let hull = others.iter().find(|name| *name == HULL);
    hull.or(others.last()).map(String::as_str)
}

/// A GLB file in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VariantGlb {
    /// SHA-256 of the bytes, in lower-case hex.
    pub(crate) sha256: String,
    /// Content of the file.
    pub(crate) bytes: Bytes,
    /// The content compressed by gzip, if triangles are compressed: meshopt leaves redundancy to a
    /// general compressor, and gzip takes another fifth off.
    pub(crate) gzip: Option<Bytes>,
}

/// Renders GLBs and caches them.
#[derive(Debug)]
pub(crate) struct VariantCache {
    store: Store,
    workers: Arc<Workers>,
    limits: Limits,
}

impl Default for VariantCache {
    fn default() -> Self {
        Self::new(Arc::new(Workers::here()), None)
    }
}

impl VariantCache {
    /// Creates a cache that renders in `workers`, each with a memory limit in MiB.
    pub(crate) fn new(workers: Arc<Workers>, memory: Option<u64>) -> Self {
        Self {
            store: Store::in_memory(CACHE_BYTES),
            workers,
            limits: Limits {
                time: Some(TIME_LIMIT),
                memory,
            },
        }
    }

    /// Returns the variant sets of the asset with this entry layer; the first variant of each is
    /// the one in the asset's own GLB.
    ///
    /// # Errors
    /// Returns why they can't be read, as a sentence.
    pub(crate) fn offered(&self, entry: &Path) -> Result<Vec<TierSet>, String> {
        let known = |asset: KeyBuilder| asset.and(b"offered").key();
        let before = known(content(entry)?);
        if let Some(sets) = self
            .store
            .get(&before, |bytes| serde_json::from_slice(bytes).ok())
        {
            return Ok(sets);
        }
        let sets = self.workers.tiers(entry, self.limits)?;
        // If a new revision was published meanwhile, the result belongs to neither.
        if content(entry).is_ok_and(|now| known(now) == before) {
            self.store
                .put(&before, || serde_json::to_vec(&sets).unwrap_or_default());
        }
        Ok(sets)
    }

    /// Returns the GLB drawn like this, if it is cached for the asset's current content.
    ///
    /// # Errors
    /// Returns why the asset can't be read, as a sentence.
    pub(crate) fn known(
        &self,
        entry: &Path,
        drawing: &Drawing,
    ) -> Result<Option<VariantGlb>, String> {
        Ok(self.cached(&key(content(entry)?, drawing)))
    }

    /// Returns the GLB drawn like this, rendering it if necessary; `cancelled` stops that.
    ///
    /// # Errors
    /// Returns why there is none, as a sentence.
    pub(crate) fn render(
        &self,
        entry: &Path,
        drawing: &Drawing,
        cancelled: &Arc<AtomicBool>,
    ) -> Result<VariantGlb, String> {
        // Optimistic concurrency: conversions do not wait for readers, so compare the asset's
        // content before and after, and retry if it changed.
        for _ in 0..MAX_ATTEMPTS {
            let before = key(content(entry)?, drawing);
            if let Some(known) = self.cached(&before) {
                return Ok(known);
            }
            let rendered = self.convert(entry, drawing, cancelled.clone());
            if key(content(entry)?, drawing) == before {
                let glb = rendered?;
                let arrays = [Some(glb.bytes.clone()), glb.gzip.clone()];
                let head = (&glb.sha256, glb.bytes.len());
                self.store
                    .put_content(&before, &pack(&head, arrays.into_iter().flatten()));
                return Ok(glb);
            }
        }
        Err("the asset keeps changing while it is rendered: try again later".to_owned())
    }

    /// Renders the preview of the asset, if it has one and it is not cached. After a failure, does
    /// nothing until the asset changes.
    pub(crate) fn prepare_preview(&self, entry: &Path) {
        let Ok(asset) = content(entry) else {
            return;
        };
        let failed = asset.and(b"no preview").key();
        if self.store.load(&failed).is_some() {
            return;
        }
        let result = self.offered(entry).and_then(|offered| {
            let preview = Drawing::preview(&offered);
            preview.map_or(Ok(()), |drawing| {
                self.render(entry, &drawing, &Arc::default()).map(|_| ())
            })
        });
        if result.is_err() {
            self.store.put(&failed, || vec![1]);
        }
    }

    fn convert(
        &self,
        entry: &Path,
        drawing: &Drawing,
        cancelled: Arc<AtomicBool>,
    ) -> Result<VariantGlb, String> {
        let folder = tempfile::tempdir()
            .map_err(|error| format!("cannot create a temporary folder: {error}"))?;
        let mut options = Options {
            formats: Formats::only(OutputFormat::Glb),
            // The asset has its tiers already: none is derived here.
            tiers: Tiers::High,
            variants: drawing.variants.clone(),
            time_limit: self.limits.time,
            memory_limit: self.limits.memory,
            ..Options::default()
        };
        if drawing.is_compact {
            options.gltf.compression = "meshopt".parse()?;
        }
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
            fs::read(&file).map_err(|error| format!("the rendered GLB cannot be read: {error}"))?;
        let gzip = drawing
            .is_compact
            .then(|| compress(&bytes))
            .transpose()
            .map_err(|error| format!("the rendered GLB cannot be compressed: {error}"))?;
        Ok(VariantGlb {
            sha256: listed.sha256.clone(),
            bytes: bytes.into(),
            gzip,
        })
    }

    fn cached(&self, key: &Key) -> Option<VariantGlb> {
        let entry = self.store.load(key)?;
        let ((sha256, length), arrays): ((String, usize), _) = unpack(&entry)?;
        let (bytes, gzip) = arrays.split_at_checked(length)?;
        Some(VariantGlb {
            sha256,
            bytes: entry.slice_ref(bytes),
            gzip: (!gzip.is_empty()).then(|| entry.slice_ref(gzip)),
        })
    }
}

fn compress(bytes: &[u8]) -> std::io::Result<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    encoder.finish().map(Into::into)
}

fn key(asset: KeyBuilder, drawing: &Drawing) -> Key {
    let asset = asset.and(b"drawing").and(&[drawing.is_compact.into()]);
    let with = |key: KeyBuilder, choice: &VariantChoice| key.and(choice.to_string().as_bytes());
    drawing.variants.iter().fold(asset, with).key()
}

/// Returns a key of the asset's content: its report, and the modification times of its files, since
/// a user may have edited a layer.
fn content(entry: &Path) -> Result<KeyBuilder, String> {
    let directory = entry.parent().unwrap_or(Path::new("."));
    let report = Report::read(directory)
        .map_err(|error| format!("the asset's report cannot be read: {error}"))?;
    let mut key = Key::builder("asset")
        .and(entry.as_os_str().as_encoded_bytes())
        .and(&report.revision.to_le_bytes());
    for file in &report.files {
        // A file that is gone has the time 0, so its return changes the key.
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
    use std::io::Read;
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use urdf_usd_convert as convert;
    use urdf_usd_worker::Program;

    /// Writes the asset of a robot with a wavy sheet of `side` × `side` squares, and returns its
    /// entry.
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

    fn drawing(choices: &[&str]) -> Drawing {
        Drawing {
            variants: choices.iter().map(|text| text.parse().unwrap()).collect(),
            ..Drawing::default()
        }
    }

    fn low() -> Drawing {
        drawing(&[
            "visual_representation=mesh_low",
            "collision_fidelity=convex_hull",
        ])
    }

    #[test]
    fn a_drawing_is_kept_as_long_as_the_asset_stays() {
        let folder = tempfile::tempdir().unwrap();
        let entry = asset(folder.path(), 40);
        static RELEASED: AtomicUsize = AtomicUsize::new(0);
        let program = Program::new("none").releasing_with(|| {
            RELEASED.fetch_add(1, Ordering::SeqCst);
        });
        let variant_cache =
            VariantCache::new(Arc::new(Workers::in_process_of(Some(&program))), None);
        let sets: Vec<String> = variant_cache
            .offered(&entry)
            .unwrap()
            .into_iter()
            .map(|tiers| tiers.set)
            .collect();
        assert_eq!(sets, ["visual_representation", "collision_fidelity"]);
        assert_eq!(variant_cache.known(&entry, &low()), Ok(None));
        let first = variant_cache
            .render(&entry, &low(), &Arc::default())
            .unwrap();
        assert!(
            first.bytes.starts_with(b"glTF")
                && first.bytes.len()
                    < fs::metadata(entry.with_extension("glb")).unwrap().len() as usize
        );
        assert_eq!(first.sha256, convert::sha256(&first.bytes));
        // A cached GLB is returned even if rendering is cancelled.
        assert_eq!(
            RELEASED.load(Ordering::SeqCst),
            1,
            "memory is released after a glb is rendered"
        );
        assert_eq!(
            variant_cache.render(&entry, &low(), &Arc::new(true.into())),
            Ok(first.clone())
        );
        assert_eq!(
            variant_cache.known(&entry, &drawing(&["collision_fidelity=convex_hull"])),
            Ok(None)
        );
        // The preview, with its gzip.
        variant_cache.prepare_preview(&entry);
        let preview = Drawing::preview(&variant_cache.offered(&entry).unwrap()).unwrap();
        let preview = variant_cache.known(&entry, &preview).unwrap().unwrap();
        assert!(preview.bytes.starts_with(b"glTF") && preview.bytes.len() < first.bytes.len());
        let mut unzipped = Vec::new();
        flate2::read::GzDecoder::new(&preview.gzip.unwrap()[..])
            .read_to_end(&mut unzipped)
            .unwrap();
        assert_eq!(
            (unzipped, first.gzip.clone()),
            (preview.bytes.to_vec(), None)
        );
        // A new revision.
        asset(folder.path(), 60);
        assert_eq!(variant_cache.known(&entry, &low()), Ok(None));
        assert_ne!(
            variant_cache
                .render(&entry, &low(), &Arc::default())
                .unwrap(),
            first
        );
        // An edited layer.
        let layer = entry.with_file_name("base.usda");
        fs::File::options()
            .write(true)
            .open(layer)
            .unwrap()
            .set_modified(SystemTime::now() + Duration::from_secs(9))
            .unwrap();
        assert_eq!(variant_cache.known(&entry, &low()), Ok(None));
    }

    #[test]
    fn errors_are_sentences() {
        let folder = tempfile::tempdir().unwrap();
        let entry = asset(folder.path(), 10);
        let variant_cache = VariantCache::default();
        // A mesh this small has no tiers.
        assert_eq!(variant_cache.offered(&entry).unwrap().len(), 1);
        let none = variant_cache
            .render(&entry, &low(), &Arc::default())
            .unwrap_err();
        assert!(none.contains("visual_representation=mesh_low"), "{none}");
        let off = drawing(&["collision_fidelity=convex_hull"]);
        assert!(
            variant_cache
                .render(&entry, &off, &Arc::new(true.into()))
                .is_err()
        );
        assert!(variant_cache.render(&entry, &off, &Arc::default()).is_ok());
        fs::write(entry.with_file_name("base.usda"), "#usda 1.0\ndef {").unwrap();
        assert!(
            variant_cache.offered(&entry).unwrap().is_empty()
                && variant_cache.render(&entry, &off, &Arc::default()).is_err()
        );
        variant_cache.prepare_preview(&entry);
        fs::remove_file(entry.with_file_name(convert::REPORT)).unwrap();
        assert!(
            variant_cache
                .offered(&entry)
                .unwrap_err()
                .contains("report")
        );
    }
    #[test]
    fn a_failed_preview_is_not_tried_again() {
        let folder = tempfile::tempdir().unwrap();
        let entry = asset(folder.path(), 40);
        let mut variant_cache = VariantCache::default();
        variant_cache.limits.time = Some(Duration::ZERO);
        variant_cache.prepare_preview(&entry);
        variant_cache.limits.time = Some(TIME_LIMIT);
        variant_cache.prepare_preview(&entry);
        let sets = variant_cache.offered(&entry).unwrap();
        let preview = Drawing::preview(&sets).unwrap();
        assert_eq!(variant_cache.known(&entry, &preview), Ok(None));
        // A request still renders it.
        assert!(
            variant_cache
                .render(&entry, &preview, &Arc::default())
                .is_ok()
        );
    }

    #[test]
    fn a_preview_has_coarser_visual_meshes() {
        let preview = |sets: &[(&str, &[&str])]| {
            let set = |(set, names): &(&str, &[&str])| TierSet {
                set: (*set).to_owned(),
                variants: names.iter().map(ToString::to_string).collect(),
            };
            let sets: Vec<TierSet> = sets.iter().map(set).collect();
            let drawing = Drawing::preview(&sets)?;
            assert!(drawing.is_compact);
            let names = drawing.variants.iter().map(|choice| choice.variant.clone());
            Some(names.collect::<Vec<_>>().join(" "))
        };
        let visual: (&str, &[&str]) = (VISUAL_SET, &["mesh_high", "mesh_low"]);
        let colliders: (&str, &[&str]) =
            ("collision_fidelity", &["trimesh", "convex_hull", "spheres"]);
        let coarse = preview(&[visual, colliders]);
        assert_eq!(coarse.as_deref(), Some("mesh_low convex_hull"));
        let hulls: (&str, &[&str]) = ("collision_fidelity", &["convex_hull", "spheres"]);
        assert_eq!(preview(&[visual, hulls]).as_deref(), Some("mesh_low"));
        // Without coarser visual meshes, the asset's own GLB is as good.
        let single: (&str, &[&str]) = (VISUAL_SET, &["mesh_high"]);
        assert_eq!(
            [preview(&[]), preview(&[colliders]), preview(&[single])],
            [None, None, None]
        );
    }
}
