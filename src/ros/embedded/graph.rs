//! What the node hears of the others on the network: whether a caller can be answered yet, and who can't be understood.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use rustdds::{DomainParticipantStatusEvent as Event, DomainParticipantStatusListener, GUID, QosPolicies, StatusEvented};
use tokio::sync::watch;

/// What is known of the endpoints of other nodes.
#[derive(Default)]
struct Known {
    /// The topic of every endpoint, by its identity.
    topics: HashMap<GUID, String>,
    /// Readers that one of our writers is connected with.
    matched: HashSet<GUID>,
}

/// The endpoints of other nodes, as discovery tells of them.
pub(super) struct Graph {
    known: Mutex<Known>,
    changes: watch::Sender<()>,
}

impl Graph {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { known: Mutex::default(), changes: watch::channel(()).0 })
    }

    /// Listens to discovery until the task is ended.
    pub(super) async fn follow(self: Arc<Self>, listener: DomainParticipantStatusListener) {
        let mut events = listener.as_async_status_stream();
        while let Some(event) = events.next().await {
            self.hear(event);
        }
    }

    fn hear(&self, event: Event) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::ReaderDetected { reader: endpoint } | Event::WriterDetected { writer: endpoint } => {
                known.topics.insert(endpoint.guid, endpoint.topic_name);
            }
            Event::ReaderLost { guid, .. } | Event::WriterLost { guid, .. } => {
                known.topics.remove(&guid);
                known.matched.remove(&guid);
            }
            Event::RemoteReaderMatched { remote_reader, .. } => {
                known.matched.insert(remote_reader);
            }
            Event::RemoteReaderQosIncompatible { remote_reader: other, requested_qos, offered_qos, .. } => {
                warn_of_qos(known.topics.get(&other), "subscriber", &requested_qos, &offered_qos);
            }
            Event::RemoteWriterQosIncompatible { remote_writer: other, requested_qos, offered_qos, .. } => {
                warn_of_qos(known.topics.get(&other), "publisher", &requested_qos, &offered_qos);
            }
            _ => return,
        }
        drop(known);
        self.changes.send_replace(());
    }

    /// Waits until a participant whose identity begins with `prefix` is connected with our writer on `topic`, a DDS topic name, but
    /// not for longer than `patience`. A reply sent earlier would be lost: requests overtake discovery.
    pub(super) async fn reader(&self, topic: &str, prefix: &[u8], patience: Duration) {
        let mut changes = self.changes.subscribe();
        let there = || {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known
                .matched
                .iter()
                .any(|guid| guid.to_bytes().starts_with(prefix) && known.topics.get(guid).is_some_and(|t| t == topic))
        };
        let wait = async { while !there() && changes.changed().await.is_ok() {} };
        if tokio::time::timeout(patience, wait).await.is_err() {
            tracing::debug!(topic, "the caller's side of the service did not show up in time; answering all the same");
        }
    }
}

fn warn_of_qos(topic: Option<&String>, who: &str, requested: &QosPolicies, offered: &QosPolicies) {
    let topic = topic.map_or("a topic", |name| name.strip_prefix("rt").unwrap_or(name));
    tracing::warn!(
        "a {who} of {topic} can't be connected: what is offered ({:?}, {:?}) is less than what is asked for ({:?}, {:?}); change the \
         QoS of one of them",
        offered.reliability(),
        offered.durability(),
        requested.reliability(),
        requested.durability(),
    );
}
