//! What the node hears of the others on the network: whether a caller can be answered yet, and who can't be understood.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::StreamExt;
use rustdds::{DomainParticipantStatusEvent as Event, DomainParticipantStatusListener, GUID, QosPolicies, StatusEvented};
use tokio::sync::watch;

/// How long a new reader is given to see a heartbeat. RustDDS sends one at once, which may come too early for the other side, and then
/// every 100 ms while a reader lacks something. Without this wait 1 of 80 first answers to CycloneDDS was lost, with it none of 500.
const FIRST_HEARTBEAT: Duration = Duration::from_millis(150);

/// What is known of the endpoints of other nodes.
#[derive(Default)]
struct Known {
    /// The topic of every endpoint, by its identity.
    topics: HashMap<GUID, String>,
    /// Readers that one of our writers is connected with, and since when.
    matched: HashMap<GUID, Instant>,
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

    /// Ticks after every change.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
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
                known.matched.insert(remote_reader, Instant::now());
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

    /// Waits until a participant whose identity begins with `prefix` can hear our writer on `topic`, a DDS topic name, but not for
    /// longer than `patience`.
    ///
    /// A reply sent earlier would be lost. Requests overtake discovery; and a reader under Cyclone takes all that was written before
    /// the first heartbeat it sees for history that is none of its business, so that a new one is given time to see a heartbeat.
    pub(super) async fn reader(&self, topic: &str, prefix: &[u8], patience: Duration) {
        let mut changes = self.changes.subscribe();
        let since = || {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            let is_wanted =
                |guid: &GUID| guid.to_bytes().starts_with(prefix) && known.topics.get(guid).is_some_and(|t| t == topic);
            // Of several the last one may be meant.
            known.matched.iter().filter(|(guid, _)| is_wanted(guid)).map(|(_, since)| *since).max()
        };
        let wait = async {
            loop {
                if let Some(since) = since() {
                    tokio::time::sleep(FIRST_HEARTBEAT.saturating_sub(since.elapsed())).await;
                    return;
                }
                if changes.changed().await.is_err() {
                    return;
                }
            }
        };
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
