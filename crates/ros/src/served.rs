//! The services and topic through which other nodes access parameters: the six services of
//! `rcl_interfaces`, and `/parameter_events`.
//!
//! Used by all clients, so that they behave alike.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use tokio::sync::watch;

use super::msg::Service;
use super::msg::builtin_interfaces::Time;
use super::msg::rcl_interfaces as rcl;
use super::overrides::Override;
use super::parameter::{Change, Changes, Declaration, Store, Value};
use super::{Node, Publisher, Qos, Request, codes, queue};
use urdf_usd_diagnostic::{Diagnostic, Place};

/// Maximum number of unread changes of a slow reader.
const CHANGES_DEPTH: usize = 1024;
/// Maximum number of parameters that one request may name; further ones are answered as unknown.
const MAX_NAMES: usize = 4096;

/// The parameters of one node.
pub(super) struct Parameters {
    node: String,
    state: Mutex<State>,
    /// True once all parameters are declared. Services wait for it, so that no client receives a
    /// partial list.
    is_complete: watch::Sender<bool>,
}

struct State {
    store: Store,
    listeners: Vec<queue::Sender<Change>>,
    events: Option<Publisher<rcl::ParameterEvent>>,
    has_ended: bool,
}

impl Parameters {
    pub(super) fn new(node: String, overrides: BTreeMap<String, Override>) -> Self {
        let state = State {
            store: Store::new(overrides),
            listeners: Vec::new(),
            events: None,
            has_ended: false,
        };
        Self {
            node,
            state: Mutex::new(state),
            is_complete: watch::Sender::new(false),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn declare(&self, declaration: Declaration) -> Result<Value, Diagnostic> {
        let mut state = self.state();
        let name = declaration.name.clone();
        let is_new = state.store.get(&name).is_none();
        let value = state.store.declare(declaration)?;
        if is_new {
            let parameter = rcl::Parameter {
                name,
                value: value.clone().into(),
            };
            self.announce(
                &state,
                rcl::ParameterEvent {
                    new_parameters: vec![parameter],
                    ..Default::default()
                },
            );
        }
        Ok(value)
    }

    pub(super) fn finish_declaring(&self) -> Vec<Diagnostic> {
        self.is_complete.send_replace(true);
        let state = self.state();
        let unknown = state.store.unused().map(|o| {
            let place = Place {
                element: format!("parameter `{}`", o.parameter),
                ..o.place.clone()
            };
            let message = format!("`{}` has no parameter `{}`", self.node, o.parameter);
            let suggestion = state.store.suggestion(&o.parameter);
            let help = if suggestion.is_empty() {
                "`ros2 param list` shows its parameters".to_owned()
            } else {
                suggestion
            };
            Diagnostic::new(&codes::UNKNOWN_PARAMETER, place, message).help(help)
        });
        unknown.collect()
    }

    pub(super) fn changes(&self) -> Changes {
        let (sender, receiver) = queue::keep_last(CHANGES_DEPTH);
        let mut state = self.state();
        // After the end, the sender is dropped here, which ends the stream at once.
        if !state.has_ended {
            state.listeners.push(sender);
        }
        Changes::new(receiver)
    }

    /// Ends all [`Changes`].
    pub(super) fn end(&self) {
        let mut state = self.state();
        state.has_ended = true;
        state.listeners.clear();
        state.events = None;
    }

    fn announce(&self, state: &State, event: rcl::ParameterEvent) {
        if let Some(events) = &state.events {
            // Fails only while the node shuts down.
            let _ = events.publish(rcl::ParameterEvent {
                stamp: Time::now(),
                node: self.node.clone(),
                ..event
            });
        }
    }

    /// Changes parameters, all or none, and announces the changes.
    fn set(&self, parameters: Vec<rcl::Parameter>) -> rcl::SetParametersResult {
        let changes: Result<Vec<Change>, String> = parameters
            .into_iter()
            .map(|rcl::Parameter { name, value }| match value.value() {
                Some(value) => Ok(Change { name, value }),
                None => Err(format!("`{name}` can't be removed")),
            })
            .collect();
        let mut state = self.state();
        let changes = match changes.and_then(|changes| state.store.set(changes)) {
            Ok(changes) => changes,
            Err(reason) => {
                tracing::warn!("a parameter change was refused: {reason}");
                return rcl::SetParametersResult {
                    successful: false,
                    reason,
                };
            }
        };
        let told = changes.iter().map(|Change { name, value }| rcl::Parameter {
            name: name.clone(),
            value: value.clone().into(),
        });
        // Under the lock, so that events are published in the order of the changes.
        self.announce(
            &state,
            rcl::ParameterEvent {
                changed_parameters: told.collect(),
                ..Default::default()
            },
        );
        state.listeners.retain(|listener| !listener.is_closed());
        for change in &changes {
            tracing::info!("parameter {} is now {}", change.name, change.value);
            for listener in &state.listeners {
                listener.push(change.clone());
            }
        }
        rcl::SetParametersResult {
            successful: true,
            reason: String::new(),
        }
    }

    fn set_each(&self, request: rcl::SetParametersRequest) -> rcl::SetParametersResponse {
        rcl::SetParametersResponse {
            results: request
                .parameters
                .into_iter()
                .map(|parameter| self.set(vec![parameter]))
                .collect(),
        }
    }

    fn values(&self, request: rcl::GetParametersRequest) -> rcl::GetParametersResponse {
        let state = self.state();
        let value = |name: &String| {
            state
                .store
                .get(name)
                .map(|(_, value)| value.clone().into())
                .unwrap_or_default()
        };
        rcl::GetParametersResponse {
            values: request.names.iter().take(MAX_NAMES).map(value).collect(),
        }
    }

    fn types(&self, request: rcl::GetParameterTypesRequest) -> rcl::GetParameterTypesResponse {
        let state = self.state();
        let kind = |name: &String| {
            state
                .store
                .get(name)
                .map_or(0, |(_, value)| value.kind() as u8)
        };
        rcl::GetParameterTypesResponse {
            types: request.names.iter().take(MAX_NAMES).map(kind).collect(),
        }
    }

    fn descriptors(
        &self,
        request: rcl::DescribeParametersRequest,
    ) -> rcl::DescribeParametersResponse {
        let state = self.state();
        let describe = |name: &String| match state.store.get(name) {
            None => rcl::ParameterDescriptor {
                name: name.clone(),
                ..Default::default()
            },
            Some((declaration, value)) => rcl::ParameterDescriptor {
                name: name.clone(),
                type_: value.kind() as u8,
                description: declaration.description.clone(),
                additional_constraints: declaration.constraints.clone(),
                read_only: declaration.read_only,
                ..Default::default()
            }
            .range(declaration.range),
        };
        rcl::DescribeParametersResponse {
            descriptors: request.names.iter().take(MAX_NAMES).map(describe).collect(),
        }
    }

    fn list(&self, request: rcl::ListParametersRequest) -> rcl::ListParametersResponse {
        let (names, prefixes) = self.state().store.list(&request.prefixes, request.depth);
        rcl::ListParametersResponse {
            result: rcl::ListParametersResult { names, prefixes },
        }
    }

    /// Opens the services and the topic at `node`, and answers in tasks that end with it.
    pub(super) fn serve(
        self: &Arc<Self>,
        node: &impl Node,
        spawn: impl Fn(BoxFuture<'static, ()>),
    ) -> Result<(), Diagnostic> {
        // The depth of `rmw_qos_profile_parameter_events`.
        self.state().events = Some(node.advertise("/parameter_events", Qos::reliable(1000))?);
        spawn(self.answer::<rcl::GetParameters>(node, "~/get_parameters", Self::values)?);
        spawn(self.answer::<rcl::GetParameterTypes>(node, "~/get_parameter_types", Self::types)?);
        spawn(self.answer::<rcl::DescribeParameters>(
            node,
            "~/describe_parameters",
            Self::descriptors,
        )?);
        spawn(self.answer::<rcl::ListParameters>(node, "~/list_parameters", Self::list)?);
        spawn(self.answer::<rcl::SetParameters>(node, "~/set_parameters", Self::set_each)?);
        spawn(self.answer::<rcl::SetParametersAtomically>(
            node,
            "~/set_parameters_atomically",
            |parameters, request| rcl::SetParametersAtomicallyResponse {
                result: parameters.set(request.parameters),
            },
        )?);
        Ok(())
    }

    fn answer<S: Service>(
        self: &Arc<Self>,
        node: &impl Node,
        service: &str,
        answer: fn(&Self, S::Request) -> S::Response,
    ) -> Result<BoxFuture<'static, ()>, Diagnostic> {
        let mut requests = node.serve::<S>(service)?;
        let parameters = self.clone();
        let mut is_complete = self.is_complete.subscribe();
        Ok(Box::pin(async move {
            // Never fails: `parameters` owns the sender.
            let _ = is_complete.wait_for(|&is_complete| is_complete).await;
            while let Some(Request { request, responder }) = requests.next().await {
                // Fails only while the node shuts down.
                let _ = responder.send(answer(&parameters, request));
            }
        }))
    }
}
