//! Steps that the tests of all networks share.

use std::time::Duration;

use super::msg::rcl_interfaces::ListParameters;
use super::msg::std_msgs::String as Text;
use super::{Client, Graph, Node, Qos, Sample, Subscription, codes};

/// Time limit of any operation on a busy machine.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// Waits until the graph is as `wanted`.
pub(super) async fn graph(node: &Client, wanted: impl Fn(&Graph) -> bool) -> Graph {
    let mut changes = node.graph_changes();
    let seen = async {
        loop {
            let graph = node.graph();
            if wanted(&graph) {
                return graph;
            }
            changes.changed().await.expect("the node is there");
        }
    };
    match tokio::time::timeout(PATIENCE, seen).await {
        Ok(graph) => graph,
        Err(_) => panic!("the graph stayed {:#?}", node.graph()),
    }
}

/// Returns the next message.
pub(super) async fn sample<M>(subscription: &mut Subscription<M>) -> Option<Sample<M>> {
    tokio::time::timeout(PATIENCE, subscription.next())
        .await
        .expect("in time")
}

/// Returns the next text.
pub(super) async fn heard(subscription: &mut Subscription<Text>) -> Option<String> {
    sample(subscription).await.map(|sample| sample.message.data)
}

pub(super) fn text(data: impl Into<String>) -> Text {
    Text { data: data.into() }
}

/// Requires `speaker` in `/a`, which remaps `said` to `/b/heard`, and `listener` in `/b`.
pub(super) async fn latched_messages_reach_early_and_late_listeners(
    speaker: Client,
    listener: Client,
) {
    let mut early = listener
        .subscribe::<Text>("heard", Qos::latched(1))
        .expect("early");
    let publisher = speaker
        .advertise::<Text>("said", Qos::latched(1))
        .expect("publisher");
    assert_eq!((publisher.topic(), early.topic()), ("/b/heard", "/b/heard"));
    let large = "é".repeat(1 << 20);
    for message in ["one", &large] {
        publisher.publish(text(message)).expect("said");
        assert!(heard(&mut early).await.as_deref() == Some(message));
    }
    let mut late = listener
        .subscribe::<Text>("/b/heard", Qos::latched(1))
        .expect("late");
    assert!(heard(&mut late).await == Some(large));
}

/// Expects nodes named `one` and `other`.
pub(super) async fn a_node_that_leaves_ends_its_streams_and_is_gone_from_the_graph(
    one: Client,
    other: Client,
) {
    let mut left = one
        .subscribe::<Text>("/t", Qos::reliable(10))
        .expect("subscription");
    let mut stays = other
        .subscribe::<Text>("/t", Qos::latched(10))
        .expect("subscription");
    let mut calls = one.serve::<ListParameters>("convert").expect("service");
    let mut changes = one.changes();
    let publisher = one
        .advertise::<Text>("/t", Qos::latched(10))
        .expect("publisher");
    publisher.publish(text("bye")).expect("said");
    assert_eq!(heard(&mut stays).await.as_deref(), Some("bye"));
    graph(&other, |graph| {
        graph.nodes == ["/one", "/other"] && graph.publishers("/t").count() == 1
    })
    .await;
    one.shutdown();
    one.shutdown();
    while heard(&mut left).await.is_some() {}
    assert!(calls.next().await.is_none() && changes.next().await.is_none());
    for fault in [
        publisher.publish(text("late")).err(),
        one.subscribe::<Text>("/t", Qos::reliable(1)).err(),
    ] {
        assert_eq!(fault.map(|fault| fault.code), Some(codes::TRANSPORT.id));
    }
    let graph = graph(&other, |graph| {
        graph.nodes == ["/other"] && graph.publishers("/t").count() == 0
    })
    .await;
    assert!(
        graph
            .services
            .iter()
            .all(|end| end.node.as_deref() == Some("/other")),
        "{graph:#?}"
    );
    assert!(stays.dropped() == 0 && stays.try_next().is_none());
}
