//! `urdf_usd batch`: converts many robots, and shows the progress.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::conversion::Conversion;
use super::results::{failed_with, print_json, usage_error};
use super::terminal::{Verbosity, say, say_as, verbosity};
use super::{OUTPUT, check_options, print_diagnostics, version};
use crate::subject::INPUT;
use urdf_usd_batch::codes::is_temporary;
use urdf_usd_batch::items::find;
use urdf_usd_batch::journal::Row;
use urdf_usd_batch::report::{self, Summary};
use urdf_usd_batch::{Event, Output, Settings, Shard, download, set_defaults, set_origins};
use urdf_usd_diagnostic::{Diagnostic, Severity, escape_controls};
use urdf_usd_objects::probe_cache;
use urdf_usd_worker::{Program, Workers};

/// Size of the cache of meshes of all workers together, in MiB.
const CACHE: u64 = 512;

/// Exit code of a batch that stopped by a temporary fault: EX_TEMPFAIL of sysexits.h. Schedulers
/// repeat it, but neither one with broken robots nor one that needs a correction.
const STOPPED: u8 = 75;

/// The command's arguments.
#[derive(Args)]
pub(super) struct Batch {
    /// Robot descriptions; folders, with all robots below them; patterns in quotes, such as
    /// 'robots/*/*.urdf'; and manifests: .csv with the columns source, key, arguments and options by
    /// their names, or .jsonl with such objects. s3://BUCKET/FOLDER (gs://, az://), also with a
    /// manifest's name: the folder is downloaded
    #[arg(value_name = "SOURCE", required = true)]
    sources: Vec<PathBuf>,
    /// The directory of the batch: assets/KEY/NAME for each robot, the journal, and the report. Robots
    /// below it are no sources. s3://BUCKET/FOLDER, gs:// or az://: assets are published there, with
    /// the credentials of the environment
    #[arg(short = 'o', long = "output-dir", value_name = "DIR", help_heading = OUTPUT)]
    output: PathBuf,
    /// Convert only every OF-th robot, from the NUMBER-th on: for job arrays and indexed jobs, which
    /// share the directory
    #[arg(long, value_name = "NUMBER/OF", value_parser = Shard::parse, help_heading = INPUT)]
    shard: Option<Shard>,
    /// Convert again what failed in an earlier run
    #[arg(long, help_heading = INPUT)]
    retry: bool,
    /// Convert again if a mesh or an included file has changed, too; otherwise only if the
    /// description, the options or the program have
    #[arg(long, help_heading = INPUT)]
    changed: bool,
    /// The number of conversions at a time; 0: one for each processor
    #[arg(short, long, value_name = "COUNT", default_value_t = 0, help_heading = super::GLOBAL)]
    jobs: usize,
    #[command(flatten)]
    conversion: Conversion,
    /// Add no pictures of the robots to the assets and the report
    #[arg(long, conflicts_with = "thumbnail", help_heading = OUTPUT)]
    no_thumbnails: bool,
    /// Print the numbers of the batch as JSON to standard output
    #[arg(long, help_heading = OUTPUT)]
    json: bool,
}

/// Converts the robots.
pub(super) fn run(arguments: &Batch, program: Option<&Program>) -> ExitCode {
    let mut options = arguments.conversion.options.clone();
    if let Err(message) = check_options(&options) {
        return usage_error(&message);
    }
    let mut given = arguments.conversion.given.clone();
    if arguments.no_thumbnails {
        given.insert("thumbnail".to_owned());
    }
    set_defaults(&mut options, &given);
    let shard = arguments.shard.unwrap_or(Shard::WHOLE);
    let opened = Output::open(&arguments.output, shard)
        .and_then(|output| Ok((output, download(&arguments.sources)?)));
    let (mut output, (sources, mirrors)) = match opened {
        Ok(opened) => opened,
        Err(fault) => return stopped(fault),
    };
    output.set_mirrors(&mirrors);
    // Descriptions refer to packages beside their own.
    let folders = mirrors.iter().map(|mirror| mirror.folder.clone());
    options.resolve.package_paths.extend(folders);
    let mut items = match find(&sources, output.folder()) {
        Ok(items) => items,
        Err(faults) => return failed_with(&faults, None),
    };
    set_origins(&mut items, &mirrors);
    for item in &items {
        let checked = item.options(&options).and_then(|own| check_options(&own));
        if let Err(message) = checked {
            return usage_error(&format!("{}: {message}", item.key));
        }
    }
    // Once, instead of by each worker.
    if let Some(url) = &options.cache_url
        && let Err(warning) = probe_cache(url)
    {
        print_diagnostics(&[warning], None);
        options.cache_url = None;
    }
    let jobs = match arguments.jobs {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        jobs => jobs,
    };
    let workers = program.map_or_else(Workers::here, |program| {
        Workers::new(program.clone(), jobs, CACHE)
    });
    let settings = Settings {
        output,
        options,
        shard,
        jobs,
        retry: arguments.retry,
        changed: arguments.changed,
        version: version::SHORT.to_owned(),
    };
    let mut watch = Watch::default();
    let ran = urdf_usd_batch::run(&items, &settings, &workers, |event| watch.on_event(&event));
    watch.bar.finish_and_clear();
    let written = ran.and_then(|bad| Ok((bad, report::write(&settings.output, &items)?)));
    let (bad, summary) = match written {
        Ok(written) => written,
        Err(found) => return stopped(found),
    };
    let printed = print_summary(arguments, &settings.output, &summary, &watch);
    if bad > 0 { ExitCode::FAILURE } else { printed }
}

/// Prints the fault that ends the batch, and returns its exit code.
fn stopped(fault: Diagnostic) -> ExitCode {
    let is_temporary = is_temporary(&fault);
    let code = failed_with(&[fault], None);
    if is_temporary {
        ExitCode::from(STOPPED)
    } else {
        code
    }
}

fn print_summary(arguments: &Batch, output: &Output, summary: &Summary, watch: &Watch) -> ExitCode {
    let seconds = watch
        .began
        .map_or(0.0, |began| began.elapsed().as_secs_f64());
    let done = match watch.done {
        0 => String::new(),
        done => format!(", {done} were done already"),
    };
    say(format!(
        "processed {} in {seconds:.1} s{done}; the report is {}",
        super::plural(watch.finished, "robot"),
        output.address("report.html")
    ));
    let codes: Vec<String> = summary
        .most_frequent()
        .into_iter()
        .map(|(code, count)| format!("{code} {count}"))
        .collect();
    if !codes.is_empty() {
        say(format!("robots by finding: {}", codes.join(", ")));
    }
    let is_good = summary.status.keys().all(|status| status.is_good());
    let severity = if is_good {
        Severity::Info
    } else {
        Severity::Error
    };
    say_as(severity, summary.line());
    if arguments.json {
        print_json(summary)
    } else {
        ExitCode::SUCCESS
    }
}

/// The progress of a batch: a bar on a terminal, a line now and then elsewhere.
struct Watch {
    bar: ProgressBar,
    began: Option<Instant>,
    open: usize,
    done: usize,
    finished: usize,
    last_line: Option<Instant>,
}

impl Default for Watch {
    fn default() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template(
            "{spinner} [{bar:24}] {pos}/{len} robots  {per_sec}  {eta} left  {wide_msg}",
        );
        Self {
            bar: bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())),
            began: None,
            open: 0,
            done: 0,
            finished: 0,
            last_line: None,
        }
    }
}

impl Watch {
    fn on_event(&mut self, event: &Event<'_>) {
        match event {
            Event::Begun { open, done } => {
                (self.open, self.done) = (*open, *done);
                self.began = Some(Instant::now());
                self.last_line = self.began;
                self.bar.set_length(*open as u64);
                if verbosity() != Verbosity::Quiet && std::io::stderr().is_terminal() {
                    self.bar.set_draw_target(ProgressDrawTarget::stderr());
                }
            }
            Event::Finished(row) => {
                self.finished += 1;
                self.bar.set_message(escape_controls(&row.key).into_owned());
                self.bar.inc(1);
                self.bar.suspend(|| print_failure(row));
                self.line();
            }
            Event::Waiting => self.line(),
        }
    }

    /// Prints a line about the progress, if none was printed for some time and there is no bar.
    fn line(&mut self) {
        let is_due = self
            .last_line
            .is_some_and(|last| last.elapsed() >= Duration::from_secs(5));
        let (true, true, Some(began)) = (is_due, self.bar.is_hidden(), self.began) else {
            return;
        };
        self.last_line = Some(Instant::now());
        let rate = self.finished as f64 / began.elapsed().as_secs_f64();
        let left = if rate > 0.0 {
            format!(", {:.0} s left", (self.open - self.finished) as f64 / rate)
        } else {
            String::new()
        };
        say(format!(
            "{} of {} robots, {rate:.1} per second{left}",
            self.finished, self.open
        ));
    }
}

/// Prints a line about a robot that was not converted.
fn print_failure(row: &Row) {
    if row.asset.is_none() {
        let message = row.message.as_deref().unwrap_or("no reason is known");
        say_as(
            Severity::Error,
            format!(
                "{}: {}: {}",
                escape_controls(&row.key),
                row.status.as_str(),
                escape_controls(message)
            ),
        );
    }
}
