//! How far a conversion is: a bar on a terminal, a line every few seconds elsewhere.

use std::io::{IsTerminal, Write};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::terminal::{Amount, amount};
use urdf_usd_convert::Tell;
use urdf_usd_diagnostic::escape_controls;

/// How long a conversion may take before it is told how far it is.
const PATIENCE: Duration = Duration::from_millis(500);
/// How often the bar moves, so that nobody takes it for dead while one mesh takes long.
const TICK: Duration = Duration::from_millis(120);
/// How often there is a line where there is no terminal.
const LINES: Duration = Duration::from_secs(5);

/// How far a conversion is, as it is told.
#[derive(Clone, Debug, Default)]
struct State {
    step: &'static str,
    name: String,
    done: u64,
    all: u64,
}

impl State {
    /// `simplifying meshes and making hulls: 22 % (body.dae)`.
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

/// The thread that shows how far it is; it ends when its sender is dropped.
type Shown = Mutex<Option<(Sender<()>, JoinHandle<()>)>>;

/// Shows from now on how far a conversion is that has `started` some time ago.
fn show(bar: ProgressBar, state: Arc<Mutex<State>>, started: Instant) -> Option<Shown> {
    let (over, wait) = channel();
    let begun = thread::Builder::new()
        .name("progress".to_owned())
        .spawn(move || {
            let goes_on = |time| wait.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
            if std::io::stderr().is_terminal() {
                if goes_on(PATIENCE.saturating_sub(started.elapsed())) {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                    bar.enable_steady_tick(TICK);
                }
                return;
            }
            while goes_on(LINES) {
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

/// Tells how far a conversion is until it is cleared.
pub(super) struct Bar {
    bar: ProgressBar,
    state: Arc<Mutex<State>>,
    /// What shows it, once there is something to show. Without a thread nobody is told; the
    /// conversion goes on.
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
    /// What tells of the progress that it hears of; `None` where nobody wants to know.
    pub(super) fn listener(&mut self) -> Option<Box<Tell>> {
        if amount() == Amount::Quiet {
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
            // Not before there is something to tell: mostly nothing has changed, and it is over in
            // less time than a thread begins in.
            thread.get_or_init(|| show(bar.clone(), state.clone(), started));
        }))
    }

    /// Ends it: nothing of it is left on the terminal.
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
    fn a_line_says_how_far_it_is_and_with_what() {
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
