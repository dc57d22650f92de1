//! ROS time: the system clock, or `/clock` while `use_sim_time` is true.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Subscription;
use super::msg::builtin_interfaces::Time;
use super::msg::rosgraph_msgs::Clock as Tick;
use super::parameter::{Declaration, Value};
use super::served::Parameters;
use urdf_usd_diagnostic::Diagnostic;

/// Name of the parameter that selects the clock, the same in every ROS node.
const USE_SIM_TIME: &str = "use_sim_time";

/// A reading of the node's clock for timeouts.
///
/// It runs at the pace of ROS time, so that nothing times out while a simulation is paused, but
/// never backwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeline {
    /// The time. Its distance to an earlier reading is the ROS time between the two.
    pub at: Instant,
    /// Number of times that ROS time was set back, or changed its source. Stamps from before and
    /// after can't be compared.
    pub resets: u64,
    /// The state of `/clock`; `None` while the time is that of the system.
    pub simulated: Option<Simulated>,
}

/// The state of `/clock`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Simulated {
    /// The time of the system since it last changed, or since the node began to follow it.
    pub still_for: Duration,
    /// It was received at least once.
    pub has_ticked: bool,
}

/// The node's clock.
pub(super) struct Clock(Mutex<State>);

struct State {
    is_simulated: bool,
    /// The last time on `/clock`.
    last: Time,
    has_ticked: bool,
    /// Beginning of the timeline of `/clock`, and its progress since.
    start: Instant,
    elapsed: Duration,
    /// When `/clock` last changed.
    changed: Instant,
    resets: u64,
}

impl Default for Clock {
    fn default() -> Self {
        let now = Instant::now();
        Self(Mutex::new(State {
            is_simulated: false,
            last: Time::default(),
            has_ticked: false,
            start: now,
            elapsed: Duration::ZERO,
            changed: now,
            resets: 0,
        }))
    }
}

impl State {
    fn tick(&mut self, time: Time) {
        let nanoseconds =
            |time: Time| i64::from(time.sec) * 1_000_000_000 + i64::from(time.nanosec);
        let step = nanoseconds(time) - nanoseconds(self.last);
        let is_first = !std::mem::replace(&mut self.has_ticked, true);
        self.last = time;
        if is_first || step != 0 {
            self.changed = Instant::now();
        }
        match u64::try_from(step) {
            // The first time says nothing about a pace.
            Ok(_) if is_first => {}
            Ok(step) => {
                self.elapsed = self.elapsed.saturating_add(Duration::from_nanos(step));
            }
            Err(_) => self.resets += 1,
        }
    }

    fn turn(&mut self, is_simulated: bool) {
        let now = Instant::now();
        // Time starts again at zero, not where an earlier simulation ended.
        *self = Self {
            is_simulated,
            last: Time::default(),
            has_ticked: false,
            start: now,
            elapsed: Duration::ZERO,
            changed: now,
            resets: self.resets + u64::from(is_simulated != self.is_simulated),
        };
    }
}

impl Clock {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn now(&self) -> Time {
        let state = self.state();
        if state.is_simulated {
            state.last
        } else {
            Time::now()
        }
    }

    pub(super) fn timeline(&self) -> Timeline {
        let (state, now) = (self.state(), Instant::now());
        Timeline {
            at: if state.is_simulated {
                state.start.checked_add(state.elapsed).unwrap_or(now)
            } else {
                now
            },
            resets: state.resets,
            simulated: state.is_simulated.then(|| Simulated {
                still_for: now.saturating_duration_since(state.changed),
                has_ticked: state.has_ticked,
            }),
        }
    }

    /// Declares `use_sim_time` and returns a task that follows it.
    ///
    /// While the parameter is true, the task reads `/clock`, which `subscribe` opens.
    pub(super) fn follow(
        self: Arc<Self>,
        parameters: &Parameters,
        subscribe: impl Fn() -> Result<Subscription<Tick>, Diagnostic> + Send + 'static,
    ) -> Result<impl Future<Output = ()> + Send + 'static, Diagnostic> {
        // Before the declaration, so that no change after it is missed.
        let mut changes = parameters.changes();
        let text = "Whether time comes from /clock instead of the system clock.";
        let is_simulated =
            parameters.declare(Declaration::new(USE_SIM_TIME, Value::Bool(false), text))?;
        let mut ticks = self.turn(&subscribe, &is_simulated)?;
        Ok(async move {
            loop {
                tokio::select! {
                    change = changes.next() => {
                        let Some(change) = change else { return };
                        if change.name == USE_SIM_TIME {
                            ticks = self.turn(&subscribe, &change.value).unwrap_or_else(|e| {
                                tracing::warn!("{e}");
                                None
                            });
                        }
                    }
                    Some(Tick { clock }) = next(&mut ticks) => self.state().tick(clock),
                }
            }
        })
    }

    /// Switches to the system clock or to `/clock`.
    fn turn(
        &self,
        subscribe: impl Fn() -> Result<Subscription<Tick>, Diagnostic>,
        is_simulated: &Value,
    ) -> Result<Option<Subscription<Tick>>, Diagnostic> {
        let is_simulated = *is_simulated == Value::Bool(true);
        self.state().turn(is_simulated);
        is_simulated.then(subscribe).transpose()
    }
}

/// Returns the next tick; pending for ever without a subscription.
async fn next(ticks: &mut Option<Subscription<Tick>>) -> Option<Tick> {
    match ticks {
        Some(ticks) => ticks.next().await.map(|sample| sample.message),
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_simulation_starts_without_the_time_of_the_one_before() {
        let clock = Clock::default();
        let none = || {
            Err(Diagnostic::new(
                &super::super::codes::TRANSPORT,
                urdf_usd_diagnostic::Place::default(),
                "no topic",
            ))
        };
        let turn = |to| clock.turn(none, &Value::Bool(to)).is_ok();
        assert!(!turn(true));
        clock.state().tick(Time { sec: 7, nanosec: 0 });
        assert_eq!(clock.now().sec, 7);
        assert!(turn(false) && clock.now().sec > 1_000_000_000);
        turn(true);
        assert_eq!(
            clock.now(),
            Time::default(),
            "as rclcpp has it until /clock is heard"
        );
    }

    #[test]
    fn the_timeline_runs_with_the_simulation_and_never_back() {
        let clock = Clock::default();
        let before = clock.timeline();
        assert_eq!((before.resets, before.simulated), (0, None));
        clock.state().turn(true);
        let start = clock.timeline();
        assert!(start.resets == 1 && !start.simulated.unwrap().has_ticked);
        let tick = |sec, nanosec| {
            clock.state().tick(Time { sec, nanosec });
            clock.timeline()
        };
        // The first time is no progress; a pause is none either.
        assert_eq!(tick(1000, 500_000_000).at, start.at);
        std::thread::sleep(Duration::from_millis(30));
        let still = tick(1000, 500_000_000);
        assert!(still.at == start.at && still.simulated.unwrap().still_for.as_millis() >= 30);
        let later = tick(1002, 0);
        assert_eq!(later.at - start.at, Duration::from_millis(1500));
        assert!(later.simulated.unwrap().still_for.as_millis() < 30);
        let reset = tick(3, 0);
        assert_eq!((reset.at, reset.resets), (later.at, start.resets + 1));
        assert_eq!(tick(4, 0).at - later.at, Duration::from_secs(1));
        clock.state().turn(false);
        assert_eq!(
            (clock.timeline().resets, clock.timeline().simulated),
            (3, None)
        );
    }
}
