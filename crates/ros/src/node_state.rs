//! What every ROS client here keeps itself instead of leaving it to the network: names and remaps,
//! parameters, the clock.

use std::sync::Arc;

use futures::future::BoxFuture;

use super::args::Args;
use super::clock::Clock;
use super::msg::rosgraph_msgs::Clock as Tick;
use super::names::Names;
use super::served::Parameters;
use super::{Node, Subscription};
use urdf_usd_diagnostic::Diagnostic;

/// A node's names, parameters and clock.
pub struct NodeState {
    pub(super) names: Names,
    pub(super) parameters: Arc<Parameters>,
    pub(super) clock: Arc<Clock>,
}

impl NodeState {
    /// Of the node that calls itself `default_name`, under `args`.
    ///
    /// # Errors
    /// [`super::codes::INVALID_NAME`].
    pub fn new(default_name: &str, args: &Args) -> Result<Self, Diagnostic> {
        let names = args.names(default_name)?;
        let full = names.node.fully_qualified();
        let parameters = Arc::new(Parameters::new(full.clone(), args.overrides_for(&full)));
        Ok(Self {
            names,
            parameters,
            clock: Arc::default(),
        })
    }

    /// Opens the services of the parameters and of types, and makes the clock follow `/clock`,
    /// which `ticks` listens to, while `use_sim_time` is true. `spawn` runs tasks until the node
    /// ends.
    pub(super) fn open(
        &self,
        node: &impl Node,
        ticks: impl Fn() -> Result<Subscription<Tick>, Diagnostic> + Send + 'static,
        spawn: impl Fn(BoxFuture<'static, ()>),
    ) -> Result<(), Diagnostic> {
        self.parameters.serve(node, &spawn)?;
        #[cfg(not(feature = "rclrs"))]
        super::described::serve(node, &self.parameters, &spawn)?;
        spawn(Box::pin(
            self.clock.clone().follow(&self.parameters, ticks)?,
        ));
        Ok(())
    }
}
