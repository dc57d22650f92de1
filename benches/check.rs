//! Times `urdf_usd check` on the assets of real robots, by phase: opening, rules, all variants.
//!
//! Each time is the minimum of several runs; `rules` and `all variants` are ratios to the time of
//! opening in the same run. `cargo bench --bench check [-- ROBOT.urdf …]`; without arguments
//! it takes the robots of `$URDF_USD_ROBOTS` (by default `../shared/robots`) with the most
//! prims, and the sample arm.

#![allow(clippy::expect_used)] // a benchmark that fails may panic

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use urdf_usd::convert::{self, Context, Formats, Job, Source};
use urdf_usd::rep158::{self, Stage};
use urdf_usd::resolve;

/// Number of runs of each part.
const RUNS: usize = 5;

fn main() {
    // `cargo bench` passes --bench.
    let given: Vec<PathBuf> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with("--"))
        .map(PathBuf::from)
        .collect();
    println!(
        "robot                    links  prims  open ms check ms   all ms  rules  all variants"
    );
    for urdf in if given.is_empty() { robots() } else { given } {
        measure(&urdf);
    }
}

fn robots() -> Vec<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let robots = std::env::var_os("URDF_USD_ROBOTS")
        .map_or_else(|| here.join("../shared/robots"), PathBuf::from);
    let real = [
        "pr2_description/urdf/pr2.urdf",
        "simple_humanoid_description/urdf/simple_humanoid.urdf",
        "spot_description/urdf/spot_arm.urdf",
        "ur_description/urdf/ur10e.urdf",
    ];
    let all = real
        .map(|urdf| robots.join(urdf))
        .into_iter()
        .chain([here.join("examples/sample_arm/urdf/sample_arm.urdf")]);
    let (there, missing): (Vec<PathBuf>, Vec<PathBuf>) = all.partition(|urdf| urdf.exists());
    for urdf in missing {
        println!("{} is not there", urdf.display());
    }
    there
}

/// Returns the minimum time of several runs.
fn least<T>(work: impl Fn() -> T) -> Duration {
    let time = |_| {
        let started = Instant::now();
        drop(work());
        started.elapsed()
    };
    (0..RUNS).map(time).min().expect("it runs")
}

fn measure(urdf: &Path) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let resolve = resolve::Options {
        allowed_roots: vec!["/".into()],
        ..resolve::Options::default()
    };
    let formats = Formats::parse(&["usd"]).expect("a format");
    let options = convert::Options {
        resolve,
        formats,
        ..convert::Options::default()
    };
    let job = Job {
        options,
        ..Job::new(Source::File(urdf.to_owned()), folder.path())
    };
    let report = convert::convert(&job, &Context::default()).expect("a robot");
    let entry = folder
        .path()
        .join(&report.name)
        .join(format!("{}.usda", report.name));
    let opened = Stage::open(&entry, &Default::default()).expect("it opens");
    let open = least(|| Stage::open(&entry, &Default::default()));
    let check = least(|| rep158::check(&entry, &rep158::Options::default()));
    let all = least(|| {
        rep158::check(
            &entry,
            &rep158::Options {
                all_variants: true,
                ..rep158::Options::default()
            },
        )
    });
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let ratio = |time: Duration| time.as_secs_f64() / open.as_secs_f64();
    println!(
        "{:24} {:5} {:6} {:8.0} {:8.0} {:8.0} {:6.2} {:12.2}",
        report.name,
        report.counts.links,
        opened.prims.len(),
        ms(open),
        ms(check),
        ms(all),
        ratio(check.saturating_sub(open)),
        ratio(all),
    );
}
