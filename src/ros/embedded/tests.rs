//! Two nodes of this process, over real DDS on loopback.

use std::time::Duration;

use super::wire::Wire;
use super::*;
use crate::ros::msg::std_msgs::String as Text;
use crate::ros::msg::urdf_usd::{Convert, ConvertRequest, ConvertResponse};
use crate::ros::{Request, parameter::Declaration};

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// A node alone with the others of its test: each test has a domain of its own, and so has each run.
fn node(name: &str, test: u16, line: &str) -> Embedded {
    let (args, _) = Args::parse(line.split_whitespace().map(str::to_owned)).expect("arguments");
    let domain = 1 + (u16::try_from(std::process::id() % 20).unwrap_or(0) * 5 + test) % 100;
    let network = Network { domain, reach: Reach::Localhost, services: ServiceWire::Cyclone, without_effect: Vec::new() };
    Embedded::start(name, &args, &network).expect("a node")
}

async fn heard(subscription: &mut Subscription<Text>) -> Option<String> {
    tokio::time::timeout(PATIENCE, subscription.next()).await.expect("in time").map(|sample| sample.message.data)
}

fn text(data: impl Into<String>) -> Text {
    Text { data: data.into() }
}

#[tokio::test]
async fn latched_messages_reach_early_and_late_listeners() {
    let (speaker, listener) =
        (node("speaker", 0, "--ros-args -r __ns:=/a -r said:=/b/heard"), node("listener", 0, "--ros-args -r __ns:=/b"));
    let mut early = listener.subscribe::<Text>("heard", Qos::latched(1)).expect("early");
    let publisher = speaker.advertise::<Text>("said", Qos::latched(1)).expect("publisher");
    assert_eq!((publisher.topic(), early.topic()), ("/b/heard", "/b/heard"));
    publisher.publish(text("one")).expect("said");
    assert_eq!(heard(&mut early).await.as_deref(), Some("one"));
    publisher.publish(text("two")).expect("said");
    assert_eq!(heard(&mut early).await.as_deref(), Some("two"));
    let mut late = listener.subscribe::<Text>("/b/heard", Qos::latched(1)).expect("late");
    // RustDDS clears its history now and then, not at every message: one that is outdated may come first.
    let first = heard(&mut late).await;
    let last = if first.as_deref() == Some("one") { heard(&mut late).await } else { first };
    assert_eq!(last.as_deref(), Some("two"));
}

#[tokio::test]
async fn large_messages_arrive_and_slow_readers_get_the_last() {
    let (speaker, listener) = (node("speaker", 1, ""), node("listener", 1, ""));
    let mut subscription = listener.subscribe::<Text>("/t", Qos::latched(1)).expect("subscription");
    let publisher = speaker.advertise::<Text>("/t", Qos::latched(1)).expect("publisher");
    let large = "é".repeat(1 << 20);
    publisher.publish(text(large.clone())).expect("said");
    assert!(heard(&mut subscription).await == Some(large));
    // Nobody reads meanwhile: of what arrives, the last is kept.
    for n in 0..50 {
        publisher.publish(text(n.to_string())).expect("said");
    }
    let mut last = heard(&mut subscription).await;
    while last.as_deref() != Some("49") {
        last = heard(&mut subscription).await;
    }
}

#[tokio::test]
async fn a_node_that_leaves_ends_its_streams_and_not_the_others() {
    let (one, other) = (node("one", 2, ""), node("other", 2, ""));
    let mut left = one.subscribe::<Text>("/t", Qos::reliable(10)).expect("subscription");
    let mut stays = other.subscribe::<Text>("/t", Qos::latched(10)).expect("subscription");
    let mut calls = one.serve::<Convert>("convert").expect("service");
    let mut changes = one.changes();
    let publisher = one.advertise::<Text>("/t", Qos::latched(10)).expect("publisher");
    publisher.publish(text("bye")).expect("said");
    assert_eq!(heard(&mut stays).await.as_deref(), Some("bye"));
    one.shutdown();
    one.shutdown();
    while heard(&mut left).await.is_some() {}
    assert!(calls.next().await.is_none() && changes.next().await.is_none());
    for fault in [publisher.publish(text("late")).err(), one.subscribe::<Text>("/t", Qos::reliable(1)).err()] {
        assert_eq!(fault.map(|fault| fault.code), Some(codes::TRANSPORT.id));
    }
    let again = node("one", 2, "").advertise::<Text>("/t", Qos::latched(10)).expect("publisher");
    drop(again);
    let third = node("third", 2, "");
    third.advertise::<Text>("/t", Qos::latched(10)).and_then(|p| p.publish(text("hello"))).expect("said");
    assert!(stays.dropped() == 0);
}

#[tokio::test]
async fn fast_dds_is_answered_and_long_answers_are_shortened() {
    let network = Network { services: ServiceWire::FastDds, ..node("scout", 3, "").0.network.clone() };
    let start = |name: &str| Embedded::start(name, &Args::default(), &network).expect("a node");
    let (server, caller) = (start("server"), start("caller"));
    let mut calls = server.serve::<Convert>("~/convert").expect("service");
    assert_eq!(calls.service(), "/server/convert");
    tokio::spawn(async move {
        while let Some(Request { request, responder }) = calls.next().await {
            let (message, report) = (format!("{} bytes", request.urdf.len()), "{}".repeat(100_000));
            responder.send(ConvertResponse { message, report, ..Default::default() }).expect("sent");
        }
    });
    let client: ros2_client::Client<Wire<ConvertRequest>, Wire<ConvertResponse>> = {
        let (mut live, kind) = (caller.0.live(), ros2_client::ServiceTypeName::new("urdf_usd", "Convert"));
        let (name, mapping) =
            (ros2_client::Name::parse("/server/convert").expect("a name"), ros2_client::ServiceMapping::Enhanced);
        let node = &mut live.as_mut().expect("live").node;
        node.create_client(mapping, &name, &kind, wire::service(), wire::service()).expect("client")
    };
    // The request is sent again until the server has been found and answers.
    let answered = async {
        loop {
            let request = ConvertRequest { urdf: "x".repeat(1000), ..Default::default() };
            let id = client.async_send_request(Wire(request)).await.expect("sent");
            let reply = tokio::time::timeout(Duration::from_secs(1), client.async_receive_response(id)).await;
            if let Ok(Ok(Wire(response))) = reply {
                return response;
            }
        }
    };
    let response = tokio::time::timeout(PATIENCE, answered).await.expect("in time");
    assert!(response.message.starts_with("1000 bytes (the report is too long") && response.report.is_empty(), "{response:?}");
}

#[test]
fn parameters_come_from_the_command_line() {
    let node = node("n", 4, "--ros-args -p a:=7 -p n:b:=x");
    let declare = |name: &str, default| node.declare(Declaration::new(name, default, ""));
    assert_eq!(declare("a", Value::Integer(1)), Ok(Value::Integer(7)));
    assert_eq!(declare("c", Value::Bool(true)), Ok(Value::Bool(true)));
    assert_eq!(declare("use_sim_time", Value::Bool(true)), Ok(Value::Bool(false)));
    let unused = node.unused_overrides();
    assert!(unused.len() == 1 && unused[0].message.contains("`b`"), "{unused:?}");
    assert_eq!(declare("b", Value::Bool(true)).expect_err("type").code, codes::PARAMETER_TYPE.id);
}
