//! Latency from a changed description to the published asset in a running node: meshes, hulls and
//! mesh layers are cached in memory, and each iteration changes one joint limit.
//!
//! The figure of interest is a percentile, which `divan` does not report: `cargo bench --bench
//! latency [-- ROBOT.urdf …]`. Without arguments it takes UR10e and the sample rover. Real robots
//! come from `$URDF_USD_ROBOTS`, by default `../shared/robots`.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)] // a test or benchmark that fails may panic

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use urdf_usd::convert::{self, Context, Job, Source, Timings};
use urdf_usd::resolve;
use urdf_usd::store::{DEFAULT_MEMORY_BYTES, Store};

/// Number of published descriptions; p99 is the second longest of 200.
const DESCRIPTIONS: usize = 200;

fn main() {
    // `cargo bench` passes --bench.
    let given: Vec<PathBuf> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with("--"))
        .map(PathBuf::from)
        .collect();
    for urdf in if given.is_empty() { robots() } else { given } {
        measure(&urdf);
    }
}

fn robots() -> Vec<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let robots = std::env::var_os("URDF_USD_ROBOTS")
        .map_or_else(|| here.join("../shared/robots"), PathBuf::from);
    let all = [
        robots.join("ur_description/urdf/ur10e.urdf"),
        here.join("examples/sample_rover/urdf/sample_rover.urdf"),
    ];
    let (there, missing): (Vec<PathBuf>, Vec<PathBuf>) =
        all.into_iter().partition(|urdf| urdf.exists());
    for urdf in missing {
        println!("{} is not there", urdf.display());
    }
    there
}

/// Returns the description with another limit of its first joint with one.
fn changed(text: &str, number: usize) -> String {
    let at = text
        .find("upper=\"")
        .map_or(text.len(), |at| at + "upper=\"".len());
    let end = text[at..].find('"').map_or(at, |length| at + length);
    format!(
        "{}{}{}",
        &text[..at],
        1.5 + 1e-6 * number as f64,
        &text[end..]
    )
}

fn measure(urdf: &Path) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let text = std::fs::read_to_string(urdf).expect("a URDF");
    let context = Context {
        store: Store::in_memory(DEFAULT_MEMORY_BYTES),
        ..Context::default()
    };
    let mut times: Vec<Duration> = Vec::new();
    let mut timings: Vec<Timings> = Vec::new();
    for number in 0..=DESCRIPTIONS {
        let source = Source::Text {
            text: changed(&text, number).into(),
            file: Some(urdf.to_owned()),
        };
        let resolve = resolve::Options {
            allowed_roots: vec!["/".into()],
            ..resolve::Options::default()
        };
        let options = convert::Options {
            resolve,
            ..Default::default()
        };
        let job = Job {
            options,
            ..Job::new(source, folder.path())
        };
        let started = Instant::now();
        let report = convert::convert(&job, &context).expect("a robot");
        // The first iteration has a cold cache.
        if number > 0 {
            assert!(report.changed, "the description differs");
            times.push(started.elapsed());
            timings.push(report.timings_ms);
        }
    }
    times.sort();
    let at = |percent: usize| {
        times[(times.len() * percent / 100).min(times.len() - 1)].as_secs_f64() * 1e3
    };
    let median = |phase: fn(&Timings) -> f64| {
        let mut all: Vec<f64> = timings.iter().map(phase).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    println!(
        "{:<16} p50 {:6.1} ms   p99 {:6.1} ms   read {:.1}, meshes {:.1}, write {:.1}, publish {:.1}",
        urdf.file_stem().unwrap_or_default().to_string_lossy(),
        at(50),
        at(99),
        median(|t| t.read),
        median(|t| t.meshes),
        median(|t| t.write),
        median(|t| t.publish),
    );
}
