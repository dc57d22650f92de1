//! Caches outcomes of conversions, so that an unchanged one is not repeated, and what is known of
//! published files without reading them.
//!
//! An outcome is valid while the job is the same and no file changed: none that was read, none that
//! was looked for and missing, none that was written. Files are compared by their state (size,
//! times, inode) rather than by content, so a recall costs one `stat` per file.

use std::io::Read as _;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::publish::Known;
use super::report::{Outcome, Report, Timings};
use super::{Job, Options, Source};
use urdf_usd_resolve::{States, TIMESTAMP_RESOLUTION};
use urdf_usd_store::{Key, Store, open_regular_file};

/// Files that changed this shortly before a conversion are not trusted: their time stamps are too
/// coarse to show a second change. Tests use a shorter margin.
pub(super) const MARGIN: Duration = if cfg!(test) {
    Duration::from_millis(50)
} else {
    TIMESTAMP_RESOLUTION
};

/// The cached outcome of a conversion.
#[derive(Serialize, Deserialize)]
struct Memo {
    read: States,
    written: States,
    outcome: Outcome,
}

/// Returns the outcome of the last conversion of `job`, if nothing changed since.
///
/// `hash` is that of the source's text, if it is in the job or the output of xacro.
pub(super) fn recall(
    job: &Job,
    hash: Option<&str>,
    store: &Store,
    start: Instant,
) -> Option<Report> {
    let memo: Memo = store.get(&key("conversion", job, hash, store)?, |bytes| {
        serde_json::from_slice(bytes).ok()
    })?;
    // Published files count as well: the asset is restored if another program changed one.
    if !(memo.read.are_unchanged() && memo.written.are_unchanged()) {
        return None;
    }
    let timings_ms = Timings {
        total: super::milliseconds(start.elapsed()),
        ..Timings::default()
    };
    Some(Report {
        timings_ms,
        changed: false,
        ..memo.outcome.into()
    })
}

/// Caches the outcome of `job` under its key, with the states of the files that it read and wrote.
pub(super) fn remember(
    job: &Job,
    hash: Option<&str>,
    store: &Store,
    report: &Report,
    read: impl FnOnce() -> States,
    written: States,
) {
    let Some(key) = key("conversion", job, hash, store) else {
        return;
    };
    let read = read();
    // A file that changed meanwhile may have been read in part, so the outcome is not cached.
    if read.are_reliable() {
        let memo = Memo {
            read,
            written,
            outcome: report.clone().into(),
        };
        store.put(&key, || serde_json::to_vec(&memo).unwrap_or_default());
    }
}

/// Returns a view of the store for the entries that conversions of `job` use, independent of its
/// text. On other machines, they are found by the text: `hash`, or that of the file.
pub(super) fn for_job(job: &Job, hash: Option<&str>, store: &Store) -> Store {
    let shared = || {
        let hash = match (&job.source, hash) {
            (_, Some(hash)) => hash.to_owned(),
            (Source::File(file), None) => hash_of(file)?,
            _ => return None,
        };
        let options = Options {
            resolve: Default::default(),
            time_limit: None,
            memory_limit: None,
            cache_url: None,
            ..job.options.clone()
        };
        let key = Key::shared("job").and(hash.as_bytes());
        Some(key.and(format!("{options:?}").as_bytes()).key())
    };
    key("job", job, None, store).map_or_else(|| store.clone(), |key| store.for_job(&key, shared))
}

/// Returns the hash of a description; `None` for one that is larger than any by hand.
fn hash_of(file: &Path) -> Option<String> {
    const MAX_BYTES: u64 = 16 << 20;
    let (file, meta) = open_regular_file(&file.canonicalize().ok()?).ok()?;
    let mut bytes = Vec::new();
    (meta.len() <= MAX_BYTES).then_some(())?;
    file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    Some(super::sha256(&bytes))
}

/// Returns what is known of the files that were last published in `directory`.
pub(super) fn published(directory: &Path, store: &Store) -> Known {
    let known = published_key(directory, store)
        .and_then(|key| store.get(&key, |bytes| serde_json::from_slice(bytes).ok()));
    known.unwrap_or_default()
}

/// Caches what is known of the files of a revision that was just published.
pub(super) fn remember_published(report: &Report, states: States, store: &Store) {
    if let Some(key) = published_key(&report.directory, store) {
        let sha256 = report
            .files
            .iter()
            .map(|file| (file.path.clone(), file.sha256.clone()))
            .collect();
        let known = Known { sha256, states };
        store.put(&key, || serde_json::to_vec(&known).unwrap_or_default());
    }
}

fn published_key(directory: &Path, store: &Store) -> Option<Key> {
    let folder = std::env::current_dir()
        .ok()
        .filter(|_| store.is_enabled())?;
    Some(
        Key::builder("published")
            .and(folder.join(directory).as_os_str().as_encoded_bytes())
            .key(),
    )
}

/// Returns the key of an entry of a `kind` for a job.
///
/// `None` if the store keeps nothing, or if the outcome depends on more than the job and its files:
/// on the date, or on the contents of a workspace.
fn key(kind: &str, job: &Job, hash: Option<&str>, store: &Store) -> Option<Key> {
    if !store.is_enabled() || job.options.simready || job.options.dated || job.options.check {
        return None;
    }
    // Limits and the shared cache do not change the output.
    let mut job = Job {
        options: Options {
            time_limit: None,
            memory_limit: None,
            cache_url: None,
            ..job.options.clone()
        },
        ..job.clone()
    };
    // The hash of inline text or bytes replaces them in the key.
    match &mut job.source {
        Source::Text { text, .. } => *text = "".into(),
        Source::Bytes { bytes, .. } => *bytes = Default::default(),
        Source::File(_) | Source::Xacro { .. } => {}
    }
    // Relative paths of the job depend on the working directory.
    let folder = std::env::current_dir().ok()?;
    // The debug text contains every field of the job, so no new option can be missing from the key.
    let key = Key::builder(kind)
        .and(folder.as_os_str().as_encoded_bytes())
        .and(format!("{job:?}").as_bytes());
    Some(key.and(hash.unwrap_or_default().as_bytes()).key())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use crate::{Context, Job, Options, Report, Source, convert};
    use urdf_usd_diagnostic::{Code, Diagnostic, Place, Severity};
    use urdf_usd_resolve::{self as resolve, States};
    use urdf_usd_store::Store;

    const STL: &str = "solid\nfacet vertex 0 0 0 vertex 1 0 0 vertex 0 1 0 endfacet\nendsolid\n";

    fn write(path: &Path, text: &str, age: bool) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        if age {
            std::thread::sleep(2 * super::MARGIN);
        }
    }

    fn job(root: &Path) -> Job {
        let resolve = resolve::Options {
            package_paths: vec![root.join("first"), root.join("second")],
            ..resolve::Options::default()
        };
        Job {
            options: Options {
                resolve,
                ..Options::default()
            },
            ..Job::new(Source::File(root.join("r.urdf")), root.join("out"))
        }
    }

    #[test]
    fn a_conversion_is_recalled_until_something_changes() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (urdf, mesh) = (root.join("r.urdf"), root.join("second/p/a.stl"));
        // One of its meshes can't be read.
        let visual =
            |mesh: &str| format!("<visual><geometry><mesh filename='{mesh}'/></geometry></visual>");
        let visuals = visual("package://p/a.stl") + &visual("/nowhere/b.stl");
        let text = format!("<robot name='r'><link name='a'>{visuals}</link></robot>");
        write(&urdf, &text, true);
        write(&mesh, STL, true);
        let context = Context {
            store: Store::on_disk(&root.join("cache"), 1 << 20),
            ..Context::default()
        };
        let convert = |job: &Job| convert(job, &context).unwrap();
        // A recalled conversion has no times of steps.
        let is_recalled =
            |report: &Report| report.timings_ms.read == 0.0 && report.timings_ms.write == 0.0;
        let first = convert(&job(&root));
        let again = convert(&job(&root));
        assert!(first.changed && !again.changed && is_recalled(&again));
        assert_eq!(
            (&again.files, again.revision, &again.diagnostics),
            (&first.files, 1, &first.diagnostics)
        );
        assert_eq!(
            (again.counts, &again.directory, &again.root),
            (first.counts, &first.directory, &first.root)
        );

        let other_job = convert(&Job {
            options: Options {
                bodies: urdf_usd_usd_write::Bodies::Flat,
                ..job(&root).options
            },
            ..job(&root)
        });
        assert!(!is_recalled(&other_job));
        // An asset that was touched is checked again.
        convert(&job(&root));
        assert!(is_recalled(&convert(&job(&root))));
        fs::remove_file(first.directory.join("base.usda")).unwrap();
        let restored = convert(&job(&root));
        assert!(restored.changed && restored.directory.join("base.usda").exists());

        write(&mesh, &STL.replace("0 1 0", "0 2 0"), true);
        let with_mesh = convert(&job(&root));
        assert!(with_mesh.changed && is_recalled(&convert(&job(&root))));
        // The package appears in a location of higher precedence.
        write(
            &root.join("first/p/a.stl"),
            &STL.replace("0 1 0", "0 3 0"),
            true,
        );
        assert!(convert(&job(&root)).changed);
        // A file written just now may have been read half-written.
        write(&urdf, &text.replace("'a'>", "'b'>"), false);
        let young = convert(&job(&root));
        assert!(young.changed && !is_recalled(&convert(&job(&root))));
    }

    #[test]
    fn spilled_data_gives_the_same_files() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        // A wavy sheet with texture coordinates, in two parts.
        const SIDE: usize = 42;
        let mut obj = String::new();
        for (i, j) in (0..SIDE).flat_map(|i| (0..SIDE).map(move |j| (i as f64, j as f64))) {
            obj += &format!(
                "v {i} {j} {}\nvt {} {}\n",
                (i / 5.0).sin() * (j / 7.0).cos(),
                i / 42.0,
                j / 42.0
            );
        }
        for (i, j) in (0..SIDE - 1).flat_map(|i| (0..SIDE - 1).map(move |j| (i, j))) {
            let [a, b, c, d] =
                [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)].map(|(i, j)| i * SIDE + j + 1);
            obj += &format!(
                "usemtl m{}\nf {a}/{a} {b}/{b} {c}/{c}\nf {a}/{a} {c}/{c} {d}/{d}\n",
                i / 20
            );
        }
        write(&root.join("second/p/a.obj"), &obj, true);
        let shape = |kind: &str, scale: &str| {
            format!(
                "<{kind}><geometry><mesh filename='package://p/a.obj' scale='{scale}'/></geometry></{kind}>"
            )
        };
        let (plain, scaled) = (
            shape("visual", "1 1 1"),
            shape("visual", "0.001 -0.001 0.002") + &shape("collision", "2 2 2"),
        );
        write(
            &root.join("r.urdf"),
            &format!("<robot name='r'><link name='a'>{plain}{scaled}</link></robot>"),
            true,
        );
        let formats = crate::Formats::all();
        let mut written: Vec<std::collections::BTreeMap<String, Vec<u8>>> = Vec::new();
        for (n, in_memory) in [usize::MAX, 0, 200_000].into_iter().enumerate() {
            let stores = [
                Store::none(),
                Store::in_memory(1 << 24),
                Store::on_disk(&root.join(format!("cache{n}")), 1 << 24),
            ];
            for (compression, store) in stores.into_iter().flat_map(|store| {
                [
                    urdf_usd_gltf_write::Compression::None,
                    urdf_usd_gltf_write::Compression::Meshopt,
                ]
                .map(|compression| (compression, store.clone()))
            }) {
                let out = tempfile::tempdir().unwrap();
                let mut options = Options {
                    formats: formats.clone(),
                    ..job(&root).options
                };
                options.gltf.compression = compression;
                let job = Job {
                    options,
                    ..Job::new(job(&root).source, out.path())
                };
                let context = Context {
                    store,
                    ..Context::default()
                };
                let report = crate::convert_within(in_memory, &job, &context).unwrap();
                let bytes = |file: &crate::FileInfo| {
                    let bytes = fs::read(report.directory.join(&file.path)).unwrap();
                    assert_eq!(
                        (bytes.len() as u64, crate::sha256(&bytes)),
                        (file.bytes, file.sha256.clone()),
                        "{}",
                        file.path
                    );
                    (file.path.clone(), bytes)
                };
                written.push(report.files.iter().map(bytes).collect());
            }
        }
        assert!(
            ["geometries.usdc", "r.glb"]
                .iter()
                .all(|file| written[0][*file].len() > 60_000)
        );
        for (n, files) in written.iter().enumerate() {
            assert!(*files == written[n % 2], "{n}");
        }
    }

    #[test]
    fn a_changed_limit_loads_no_mesh_arrays_and_an_eviction_starts_over() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let urdf = |upper: u32| {
            let mesh = |kind: &str| {
                format!(
                    "<{kind}><geometry><mesh filename='package://p/a.obj' scale='2 1 1'/></geometry></{kind}>"
                )
            };
            let text = format!(
                "<robot name='r'><link name='a'>{}{}</link><link name='b'/><joint name='j' type='revolute'><parent link='a'/>\
                 <child link='b'/><limit lower='0' upper='{upper}' effort='1' velocity='1'/></joint></robot>",
                mesh("visual"),
                mesh("collision")
            );
            write(&root.join("r.urdf"), &text, true);
        };
        // Its arrays, and those of its hull, exceed the size of entries that are kept together.
        let corner = |i: u32| {
            let (turn, z) = (2.4 * f64::from(i), f64::from(i) / 100.0 - 1.0);
            let radius = (1.0 - z * z).sqrt();
            format!("v {} {} {z}\n", radius * turn.cos(), radius * turn.sin())
        };
        let corners: String = (1..200).map(corner).collect();
        let faces: String = (1..198)
            .map(|i| format!("f {i} {} {}\n", i + 1, i + 2))
            .collect();
        let obj = root.join("second/p/a.obj");
        write(&obj, &(corners + &faces), true);
        let files = resolve::Files::new(std::sync::Arc::new(resolve::Resolver::new(
            job(&root).options.resolve,
        )));
        let located = files.locate(&obj.to_string_lossy(), None).unwrap();
        let (mesh, _) =
            urdf_usd_mesh::load(&located, &files, Default::default(), &Store::none()).unwrap();
        let hull = urdf_usd_mesh::kept_hull(&mesh, &Store::none())
            .unwrap()
            .unwrap()
            .mesh;
        let keys = [mesh, hull].map(|mesh| {
            urdf_usd_store::Key::shared("arrays")
                .and(&mesh.digest)
                .key()
        });

        for store in [
            Store::on_disk(&root.join("cache"), 1 << 20),
            Store::in_memory(1 << 20),
        ] {
            let context = Context {
                store: store.clone(),
                ..Context::default()
            };
            let out = tempfile::tempdir().unwrap();
            let job = |formats| Job {
                options: Options {
                    formats,
                    ..job(&root).options
                },
                ..Job::new(job(&root).source, out.path())
            };
            let job = |names: &[&str]| job(crate::Formats::parse(names).unwrap());
            let bytes =
                |report: &Report, file: &str| fs::read(report.directory.join(file)).unwrap();
            urdf(1);
            let first = convert(&job(&["usd", "glb"]), &context).unwrap();
            let layer = bytes(&first, "geometries.usdc");
            assert!(keys.iter().all(|key| store.loader(key).is_some()));
            keys.iter().for_each(|key| store.put(key, || "spoilt"));
            let is_spoilt = || {
                keys.iter()
                    .all(|key| store.load(key).is_some_and(|bytes| &*bytes == b"spoilt"))
            };
            urdf(2);
            let second = convert(&job(&["usd", "glb"]), &context).unwrap();
            assert!(
                second.changed
                    && second.revision == 2
                    && bytes(&second, "geometries.usdc") == layer
                    && is_spoilt()
            );
            // A published file that was touched is compared by its contents.
            fs::write(
                second.directory.join("geometries.usdc"),
                [&layer[..layer.len() - 1], b"x"].concat(),
            )
            .unwrap();
            urdf(3);
            let third = convert(&job(&["usd", "glb"]), &context).unwrap();
            assert!(bytes(&third, "geometries.usdc") == layer && is_spoilt());
            let hash = |file: &str| {
                third
                    .files
                    .iter()
                    .find(|info| info.path == file)
                    .unwrap()
                    .sha256
                    .clone()
            };
            assert_eq!(hash("geometries.usdc"), crate::sha256(&layer));
            assert_eq!(hash("r.glb"), crate::sha256(&bytes(&third, "r.glb")));

            let with_meshes = convert(&job(&["usd", "urdf"]), &context).unwrap();
            assert!(
                !is_spoilt()
                    && with_meshes
                        .files
                        .iter()
                        .any(|file| file.path.starts_with("meshes/"))
            );
            let plain = Job {
                output_dir: root.join("plain"),
                ..job(&["usd", "urdf"])
            };
            let plain = convert(&plain, &Context::default()).unwrap();
            assert_eq!(with_meshes.files, plain.files);
        }
    }

    #[test]
    fn a_conversion_is_recalled_with_any_finding() {
        const UNLISTED: Code = Code {
            id: "in-no-list",
            severity: Severity::Warning,
            meaning: "",
            outcome: "",
        };
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        write(
            &root.join("r.urdf"),
            "<robot name='r'><link name='a'/></robot>",
            true,
        );
        let (job, store) = (job(&root), Store::in_memory(1 << 20));
        let made = convert(&job, &Context::default()).unwrap();
        let found = Diagnostic::new(
            &UNLISTED,
            Place {
                line: 3,
                ..Place::file("a.urdf")
            },
            "odd",
        )
        .help("look at it");
        let made = Report {
            diagnostics: vec![found],
            ..made
        };
        let states = || States::now(&made.used);
        super::remember(&job, None, &store, &made, states, states());
        let recalled = super::recall(&job, None, &store, std::time::Instant::now()).unwrap();
        assert_eq!(
            (&recalled.diagnostics, &recalled.source),
            (&made.diagnostics, &made.source)
        );
        assert_eq!(
            (&recalled.used, &recalled.directory, recalled.changed),
            (&made.used, &made.directory, false)
        );
    }
}
