//! The state of a node that is independent of the network: names and remaps, parameters, the clock.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;

use super::args::Args;
use super::clock::Clock;
use super::msg::rosgraph_msgs::Clock as Tick;
use super::names::Names;
use super::served::Parameters;
use super::types::Type;
use super::{Node, Subscription, Timeline};
use urdf_usd_diagnostic::Diagnostic;

/// A node's names, parameters, clock and types.
pub struct NodeState {
    pub(super) names: Names,
    pub(super) parameters: Arc<Parameters>,
    pub(super) clock: Arc<Clock>,
    pub(super) types: Arc<Types>,
}

/// The types that a node uses, by name: those of its topics and services, and all types that they
/// refer to.
#[derive(Default)]
pub(super) struct Types(Mutex<BTreeMap<&'static str, &'static Type>>);

impl Types {
    fn known(&self) -> MutexGuard<'_, BTreeMap<&'static str, &'static Type>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the type of a topic or service.
    pub(super) fn add(&self, used: &'static Type) {
        let mut known = self.known();
        if known.insert(used.name, used).is_none() {
            known.extend(used.references());
        }
    }

    /// Returns the type with this hash.
    #[cfg(not(feature = "rcl"))]
    pub(super) fn with_hash(&self, hash: &str) -> Option<&'static Type> {
        self.known()
            .values()
            .copied()
            .find(|known| known.hash() == hash)
    }
}

impl NodeState {
    /// Creates the state of the node that calls itself `default_name`, under `args`.
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
            types: Arc::default(),
        })
    }

    /// Returns the time for timeouts: see [`Node::timeline`].
    pub fn timeline(&self) -> Timeline {
        self.clock.timeline()
    }

    /// Opens the services for parameters and types, and makes the clock follow `use_sim_time`.
    ///
    /// `ticks` subscribes to `/clock`. `spawn` runs tasks until the node ends.
    pub(super) fn open(
        &self,
        node: &impl Node,
        ticks: impl Fn() -> Result<Subscription<Tick>, Diagnostic> + Send + 'static,
        spawn: impl Fn(BoxFuture<'static, ()>),
    ) -> Result<(), Diagnostic> {
        self.parameters.serve(node, &spawn)?;
        #[cfg(not(feature = "rcl"))]
        super::described::serve(node, &self.parameters, &self.types, &spawn)?;
        spawn(Box::pin(
            self.clock.clone().follow(&self.parameters, ticks)?,
        ));
        Ok(())
    }
}
