//! Progress of a conversion: a bar on a terminal, or a line every few seconds elsewhere.

use std::io::{IsTerminal, Write};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::terminal::{Verbosity, verbosity};
use urdf_usd_convert::OnProgress;
use urdf_usd_diagnostic::escape_controls;

/// Time that a conversion runs before its progress is shown.
const SHOW_DELAY: Duration = Duration::from_millis(500);
/// Interval at which the bar moves, so that it looks alive while one mesh takes long.
const REDRAW_INTERVAL: Duration = Duration::from_millis(120);
/// Interval between lines if there is no terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(5);

/// The progress of a conversion.
#[derive(Clone, Debug, Default)]
struct State {
    step: &'static str,
    name: String,
    done: u64,
    all: u64,
}

impl State {
    /// Returns the line to show: `simplifying meshes and making colliders: 22 % (body.dae)`.
    fn line(&self) -> String {
        let percent = self.done.saturating_mul(100).checked_div(self.all);
        let percent = percent.map_or_else(String::new, |percent| format!(": {percent} %"));
        let name = if self.name.is_empty() {
            String::new()
        } else {
            format!(" ({})", escape_controls(&self.name))
        };
        format!("{}{percent}{name}", self.step)
    }
}

/// The thread that shows progress; it ends when its sender is dropped.
type Shown = Mutex<Option<(Sender<()>, JoinHandle<()>)>>;

/// Starts to show the progress of a conversion that began at `started`.
fn show(bar: ProgressBar, state: Arc<Mutex<State>>, started: Instant) -> Option<Shown> {
    let (over, wait) = channel();
    let begun = thread::Builder::new()
        .name("progress".to_owned())
        .spawn(move || {
            let goes_on = |time| wait.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
            if std::io::stderr().is_terminal() {
                if goes_on(SHOW_DELAY.saturating_sub(started.elapsed())) {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                    bar.enable_steady_tick(REDRAW_INTERVAL);
                }
                return;
            }
            while goes_on(LINE_INTERVAL) {
                let state = state.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let _ = writeln!(
                    std::io::stderr(),
                    "{}, {} s",
                    state.line(),
                    started.elapsed().as_secs()
                );
            }
        });
    begun.ok().map(|thread| Mutex::new(Some((over, thread))))
}

/// Shows the progress of a conversion until it is cleared.
pub(super) struct Bar {
    bar: ProgressBar,
    state: Arc<Mutex<State>>,
    /// The thread that shows progress, once there is any. If it can't be started, the conversion
    /// goes on without.
    thread: Arc<OnceLock<Option<Shown>>>,
}

impl Default for Bar {
    fn default() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template(
            "{spinner} {prefix} [{bar:24}] {percent:>3} %  {elapsed}  {wide_msg}",
        );
        let bar = bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self {
            bar,
            state: Arc::default(),
            thread: Arc::default(),
        }
    }
}

impl Bar {
    /// Returns a callback that receives progress; `None` with `--quiet`.
    pub(super) fn listener(&mut self) -> Option<Box<OnProgress>> {
        if verbosity() == Verbosity::Quiet {
            return None;
        }
        let (bar, state, thread) = (self.bar.clone(), self.state.clone(), self.thread.clone());
        let started = Instant::now();
        Some(Box::new(move |progress| {
            let (step, name) = (progress.step.as_str(), progress.name.to_owned());
            let (done, all) = (progress.done as u64, progress.all as u64);
            let now = State {
                step,
                name,
                done,
                all,
            };
            bar.set_prefix(step);
            bar.set_message(escape_controls(&now.name).into_owned());
            bar.set_length(all.max(1));
            bar.set_position(if all == 0 { 1 } else { done });
            *state.lock().unwrap_or_else(PoisonError::into_inner) = now;
            // The thread starts with the first progress: usually the cache is valid, and the
            // conversion takes less time than starting a thread.
            thread.get_or_init(|| show(bar.clone(), state.clone(), started));
        }))
    }

    /// Ends the progress and removes it from the terminal.
    pub(super) fn clear(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let thread = self.thread.get().and_then(Option::as_ref);
        let thread =
            thread.and_then(|thread| thread.lock().unwrap_or_else(PoisonError::into_inner).take());
        if let Some((over, thread)) = thread {
            drop(over);
            let _ = thread.join();
        }
        self.bar.finish_and_clear();
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use urdf_usd_convert::{Progress, Step};

    #[test]
    fn a_line_shows_step_share_and_item() {
        let mut bar = Bar::default();
        let tell = bar.listener().expect("a listener");
        tell(Progress {
            step: Step::Load,
            name: "a\n.dae",
            done: 1,
            all: 3,
        });
        assert_eq!(
            bar.state.lock().expect("whole").line(),
            "loading meshes: 33 % (a\\n.dae)"
        );
        tell(Progress {
            step: Step::Write,
            name: "",
            done: 0,
            all: 0,
        });
        assert_eq!(bar.state.lock().expect("whole").line(), "writing files");
        bar.clear();
    }
}
