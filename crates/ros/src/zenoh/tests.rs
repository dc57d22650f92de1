//! Tests with two nodes in this process and a router between them, over real Zenoh on loopback.
//!
//! They use several threads, because the router's session is closed in asynchronous code, which
//! needs them.

use std::net::TcpListener;

use super::*;
use crate::environment::Environment;
use crate::graph::{EndQos, ServiceRole, TopicEnd, TopicRole};
use crate::msg::builtin_interfaces::Time;
use crate::msg::rcl_interfaces::{
    GetParameters, GetParametersRequest, ListParameters, ListParametersRequest,
    ListParametersResponse, ListParametersResult,
};
use crate::msg::sensor_msgs::JointState;
use crate::msg::std_msgs::{Header, String as Text};
use crate::testing::{self, PATIENCE, graph, sample};
use crate::{Node, PublisherId, Request, codes};

/// A router, and the nodes that connect to it.
struct Net {
    address: String,
    _router: Session,
}

impl Net {
    fn new() -> Self {
        let port = TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .expect("a port")
            .port();
        let address = format!("tcp/127.0.0.1:{port}");
        let mut config = ::zenoh::Config::default();
        let listen = format!(r#"["{address}"]"#);
        for (key, value) in [
            ("mode", r#""router""#),
            ("listen/endpoints", &listen),
            ("scouting/multicast/enabled", "false"),
        ] {
            config.insert_json5(key, value).expect("a setting");
        }
        let router = std::thread::spawn(|| ::zenoh::open(config).wait())
            .join()
            .expect("no panic")
            .expect("a router");
        Self {
            address,
            _router: router,
        }
    }

    fn node(&self, name: &str, line: &str) -> Client {
        let (args, _) = Args::parse(line.split_whitespace().map(str::to_owned)).expect("arguments");
        let connect = format!(
            r#"connect/endpoints=["{}"];listen/endpoints=["tcp/127.0.0.1:0"]"#,
            self.address
        );
        let variables = Environment::from_pairs(&[
            ("ZENOH_CONFIG_OVERRIDE", &connect),
            ("ROS_DOMAIN_ID", "79"),
        ]);
        start(
            name,
            &args,
            &Settings::from_variables(&variables).expect("settings"),
        )
        .expect("a node")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn latched_messages_reach_early_and_late_listeners() {
    let net = Net::new();
    let speaker = net.node("speaker", "--ros-args -r __ns:=/a -r said:=/b/heard");
    let listener = net.node("listener", "--ros-args -r __ns:=/b");
    testing::latched_messages_reach_early_and_late_listeners(speaker, listener).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_leaves_ends_its_streams_and_is_gone_from_the_graph() {
    let net = Net::new();
    testing::a_node_that_leaves_ends_its_streams_and_is_gone_from_the_graph(
        net.node("one", ""),
        net.node("other", ""),
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dropped_endpoints_are_withdrawn() {
    let net = Net::new();
    let (one, other) = (net.node("one", ""), net.node("other", ""));
    let publisher = one
        .advertise::<Text>("/t", Qos::reliable(1))
        .expect("publisher");
    let (subscription, service) = (
        one.subscribe::<Text>("/t", Qos::reliable(1)),
        one.serve::<ListParameters>("convert"),
    );
    let ends = |graph: &crate::Graph| {
        let topics = graph.topics.iter().filter(|end| end.topic == "/t").count();
        (
            topics,
            graph
                .services
                .iter()
                .filter(|end| end.service == "/convert")
                .count(),
        )
    };
    graph(&other, |graph| ends(graph) == (2, 1)).await;
    drop((publisher, subscription, service));
    graph(&other, |graph| ends(graph) == (0, 0)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn services_are_called_and_answered() {
    let net = Net::new();
    let (server, caller) = (
        net.node("server", ""),
        net.node("caller", "--ros-args -p rate:=5"),
    );
    let no_server = caller
        .call::<ListParameters>(
            "/none",
            ListParametersRequest::default(),
            Duration::from_millis(300),
        )
        .await
        .expect_err("none");
    assert!(
        no_server.code == codes::NO_ANSWER.id && no_server.message.contains("no node offers it"),
        "{no_server}"
    );
    let mut calls = server
        .serve::<ListParameters>("~/convert")
        .expect("service");
    assert_eq!(calls.service(), "/server/convert");
    let answering = tokio::spawn(async move {
        let mut held = Vec::new();
        while let Some(Request { request, responder }) = calls.next().await {
            if request.prefixes == ["silence"] {
                held.push(responder);
            } else {
                let result = ListParametersResult {
                    names: vec![request.prefixes.concat().repeat(1000)],
                    ..Default::default()
                };
                responder
                    .send(ListParametersResponse { result })
                    .expect("sent");
            }
        }
    });
    let ask = |text: &str, patience| {
        caller.call::<ListParameters>(
            "/server/convert",
            ListParametersRequest {
                prefixes: vec![text.to_owned()],
                ..Default::default()
            },
            patience,
        )
    };
    assert_eq!(
        ask("abc", PATIENCE).await.expect("an answer").result.names[0].len(),
        3000
    );
    let silent = ask("silence", Duration::from_millis(500))
        .await
        .expect_err("silence");
    assert!(
        silent.code == codes::NO_ANSWER.id && silent.message.contains("does not answer"),
        "{silent}"
    );
    let many = futures::future::join_all((0..50).map(|n| ask(&format!("{n:02}"), PATIENCE))).await;
    for (n, answer) in many.into_iter().enumerate() {
        assert!(
            answer.expect("an answer").result.names[0].starts_with(&format!("{n:02}")),
            "{n}"
        );
    }
    let names = GetParametersRequest {
        names: vec!["use_sim_time".to_owned(), "none".to_owned()],
    };
    assert_eq!(
        caller.finish_declaring().len(),
        1,
        "`rate` is given and not declared"
    );
    let values = server
        .call::<GetParameters>("/caller/get_parameters", names, PATIENCE)
        .await
        .expect("values")
        .values;
    assert_eq!(
        values.iter().map(|value| value.type_).collect::<Vec<_>>(),
        [1, 0]
    );
    answering.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn topics_of_any_type_are_observed_and_their_endpoints_listed() {
    let net = Net::new();
    let (speaker, observer) = (
        net.node("speaker", "--ros-args -r __ns:=/left"),
        net.node("observer", ""),
    );
    let header = Header {
        stamp: Time { sec: 7, nanosec: 8 },
        frame_id: "laser".to_owned(),
    };
    let publisher = speaker
        .advertise::<JointState>("scan", Qos::best_effort(5))
        .expect("publisher");
    let mut seen = observer
        .observe(
            "/left/scan",
            "sensor_msgs/msg/JointState",
            Qos::best_effort(10),
        )
        .expect("subscription");
    let is_matched = |graph: &crate::Graph| {
        graph
            .topics
            .iter()
            .filter(|end| end.topic == "/left/scan")
            .count()
            == 2
    };
    let known = graph(&observer, is_matched).await;
    graph(&speaker, is_matched).await;
    let Some(TopicEnd {
        type_name,
        role,
        node,
        id,
        qos,
        ..
    }) = known.publishers("/left/scan").next().cloned()
    else {
        panic!("no publisher in {known:#?}");
    };
    assert_eq!(
        (type_name.as_str(), role, node.as_deref()),
        (
            "sensor_msgs/msg/JointState",
            TopicRole::Publisher,
            Some("/left/speaker")
        )
    );
    let offered = EndQos {
        reliability: Reliability::BestEffort,
        durability: Durability::Volatile,
        depth: Some(5),
    };
    assert_eq!(qos, Some(offered));
    publisher
        .publish(JointState {
            header: header.clone(),
            position: vec![1.0; 99],
            ..JointState::default()
        })
        .expect("said");
    let sample = sample(&mut seen).await.expect("a sample");
    assert_eq!(
        (sample.message.header, Some(sample.publisher)),
        (Some(header), id)
    );
    assert_ne!(sample.publisher, PublisherId::default());
    let served = known
        .services
        .iter()
        .find(|end| end.service == "/left/speaker/get_parameters")
        .expect("a service");
    assert_eq!(
        (served.type_name.as_str(), served.role),
        ("rcl_interfaces/srv/GetParameters", ServiceRole::Server)
    );
    // A subscription may wait for a topic whose type no node has announced.
    let mut later = observer
        .observe("/odd", "odd_msgs/msg/Odd", Qos::latched(1))
        .expect("subscription");
    assert!(later.try_next().is_none());
}
