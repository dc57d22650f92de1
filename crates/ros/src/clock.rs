//! ROS time: the system clock, or `/clock` while `use_sim_time` is true.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::Subscription;
use super::msg::builtin_interfaces::Time;
use super::msg::rosgraph_msgs::Clock as Tick;
use super::parameter::{Declaration, Value};
use super::served::Parameters;
use urdf_usd_diagnostic::Diagnostic;

/// Name of the parameter that selects the clock, the same in every ROS node.
const USE_SIM_TIME: &str = "use_sim_time";

/// The node's clock.
#[derive(Default)]
pub(super) struct Clock {
    is_simulated: AtomicBool,
    last: Mutex<Time>,
}

impl Clock {
    pub(super) fn now(&self) -> Time {
        if self.is_simulated.load(Ordering::Relaxed) {
            *self.last.lock().unwrap_or_else(PoisonError::into_inner)
        } else {
            Time::now()
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
                    Some(Tick { clock }) = next(&mut ticks) => *self.last.lock().unwrap_or_else(PoisonError::into_inner) = clock,
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
        // Time starts again at zero, not where an earlier simulation ended.
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Time::default();
        self.is_simulated.store(is_simulated, Ordering::Relaxed);
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
        *clock.last.lock().unwrap() = Time { sec: 7, nanosec: 0 };
        assert_eq!(clock.now().sec, 7);
        assert!(turn(false) && clock.now().sec > 1_000_000_000);
        turn(true);
        assert_eq!(
            clock.now(),
            Time::default(),
            "as rclcpp has it until /clock is heard"
        );
    }
}
