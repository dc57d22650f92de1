//! ROS time: the system clock, or `/clock` while `use_sim_time` is true.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::Inner;
use crate::diagnostic::Diagnostic;
use crate::ros::msg::builtin_interfaces::Time;
use crate::ros::msg::rosgraph_msgs::Clock as Tick;
use crate::ros::parameter::{Declaration, Value};
use crate::ros::{Qos, Subscription};

/// The parameter that every ROS node has.
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

    /// Declares the parameter, and follows it and `/clock` while it is true.
    pub(super) fn follow(self: Arc<Self>, node: &Arc<Inner>) -> Result<(), Diagnostic> {
        let mut changes = node.parameters.changes();
        let text = "Whether time comes from /clock instead of the system clock.";
        let is_simulated = node.parameters.declare(Declaration::new(USE_SIM_TIME, Value::Bool(false), text))?;
        let mut ticks = self.turn(node, &is_simulated)?;
        let node_of_task = Arc::downgrade(node);
        node.spawn(async move {
            loop {
                tokio::select! {
                    change = changes.next() => {
                        let Some(change) = change else { return };
                        if change.name == USE_SIM_TIME {
                            let Some(node) = node_of_task.upgrade() else { return };
                            ticks = self.turn(&node, &change.value).unwrap_or_else(|e| {
                                tracing::warn!("{e}");
                                None
                            });
                        }
                    }
                    Some(Tick { clock }) = next(&mut ticks) => *self.last.lock().unwrap_or_else(PoisonError::into_inner) = clock,
                }
            }
        });
        Ok(())
    }

    /// Turns to the system clock or to `/clock`.
    fn turn(&self, node: &Inner, is_simulated: &Value) -> Result<Option<Subscription<Tick>>, Diagnostic> {
        let is_simulated = *is_simulated == Value::Bool(true);
        self.is_simulated.store(is_simulated, Ordering::Relaxed);
        if is_simulated { node.subscribe("/clock", Qos::best_effort(1)).map(Some) } else { Ok(None) }
    }
}

/// The next tick; never without a subscription.
async fn next(ticks: &mut Option<Subscription<Tick>>) -> Option<Tick> {
    match ticks {
        Some(ticks) => ticks.next().await.map(|sample| sample.message),
        None => std::future::pending().await,
    }
}
