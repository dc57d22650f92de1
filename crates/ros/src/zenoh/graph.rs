//! The ROS graph, built from liveliness tokens: every node under `rmw_zenoh_cpp` declares one for
//! itself and one for each endpoint.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::wire::{self, End, Kind, ParsedToken};
use crate::graph::{Graph as All, ServiceEnd, ServiceRole, TopicEnd, TopicRole};

/// The nodes and endpoints that are alive, by token.
pub(super) struct Graph {
    known: Mutex<BTreeMap<String, ParsedToken>>,
    changes: watch::Sender<()>,
}

impl Graph {
    /// Creates an empty graph whose changes tick `changes`.
    pub(super) fn new(changes: watch::Sender<()>) -> Self {
        Self {
            known: Mutex::default(),
            changes,
        }
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, ParsedToken>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that a token appeared or vanished.
    pub(super) fn hear(&self, token: &str, is_alive: bool) {
        if !is_alive {
            self.known().remove(token);
        } else if let Some(parsed) = wire::read(token) {
            self.known().insert(token.to_owned(), parsed);
        } else {
            return tracing::debug!("a liveliness token that can't be read: {token}");
        }
        self.changes.send_replace(());
    }

    /// Returns the hash of a topic's type, from its endpoints.
    pub(super) fn hash(&self, topic: &str, type_name: &str) -> Option<String> {
        let known = self.known();
        let mut ends = known.values().filter_map(|token| token.end.as_ref());
        ends.find(|(end, _)| end.name == topic && end.type_name == type_name)
            .map(|(end, _)| end.hash.clone())
    }

    /// Waits for a server that `client` can call, up to `patience`.
    pub(super) async fn server(&self, client: &End, patience: Duration) -> Result<(), String> {
        let mut changes = self.changes.subscribe();
        // Whether there is a server with the same definition of the type; `None` without any
        // server.
        let find = || {
            let known = self.known();
            let ends = known
                .values()
                .filter_map(|token| token.end.as_ref())
                .map(|(end, _)| end);
            let servers = ends.filter(|end| end.kind == Kind::Server && end.name == client.name);
            servers
                .filter(|end| end.type_name == client.type_name)
                .map(|end| end.hash == client.hash)
                // One server with the same definition is enough.
                .max()
        };
        let wait = async { while find() != Some(true) && changes.changed().await.is_ok() {} };
        match (tokio::time::timeout(patience, wait).await, find()) {
            (Ok(()), _) => Ok(()),
            (Err(_), None) => Err("no node offers it".to_owned()),
            (Err(_), Some(_)) => Err(format!(
                "its server has another definition of {}",
                client.type_name
            )),
        }
    }

    /// Returns the whole graph, in any order.
    pub(super) fn all(&self) -> All {
        let mut all = All::default();
        for (token, ParsedToken { node, end }) in &*self.known() {
            let Some((end, qos)) = end else {
                all.nodes.push(node.clone());
                continue;
            };
            let (name, type_name, node) =
                (end.name.clone(), end.type_name.clone(), Some(node.clone()));
            let mut topic = |role, id| {
                let (topic, type_name, node) = (name.clone(), type_name.clone(), node.clone());
                all.topics.push(TopicEnd {
                    topic,
                    type_name,
                    role,
                    node,
                    id,
                    qos: Some(*qos),
                });
            };
            let service = |role| ServiceEnd {
                service: name.clone(),
                type_name: type_name.clone(),
                role,
                node: node.clone(),
                is_reachable: true,
            };
            match end.kind {
                Kind::Publisher => topic(TopicRole::Publisher, Some(wire::identity(token))),
                Kind::Subscriber => topic(TopicRole::Subscriber, None),
                Kind::Server => all.services.push(service(ServiceRole::Server)),
                Kind::Client => all.services.push(service(ServiceRole::Client)),
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_server_with_another_definition_is_not_found() {
        let (graph, patience) = (Graph::new(watch::channel(()).0), Duration::from_millis(50));
        let hear = |hash| {
            graph.hear(
                &format!("@ros2_lv/2/8b2/0/1/SS/%/%/adder/%add/example_interfaces::srv::dds_::AddTwoInts_/{hash}/::,10:,:,:,,"),
                true,
            );
        };
        let type_name = "example_interfaces/srv/AddTwoInts".to_owned();
        let client = End {
            kind: Kind::Client,
            name: "/add".to_owned(),
            type_name,
            hash: "RIHS01_ab".to_owned(),
        };
        assert_eq!(
            graph
                .server(&client, patience)
                .await
                .expect_err("no server"),
            "no node offers it"
        );
        hear("RIHS01_cd");
        let other = graph
            .server(&client, patience)
            .await
            .expect_err("another definition");
        assert_eq!(
            other,
            "its server has another definition of example_interfaces/srv/AddTwoInts"
        );
        hear("RIHS01_ab");
        assert_eq!(graph.server(&client, patience).await, Ok(()));
    }
}
