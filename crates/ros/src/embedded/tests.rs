//! Tests with two nodes in this process, over real DDS on loopback.

use std::collections::BTreeMap;
use std::fs::File;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::MetadataExt;
use std::sync::Mutex;
use std::time::Duration;

use super::keeper::Addresses;
use super::*;
use crate::graph::{EndQos, ServiceRole, TopicEnd, TopicRole};
use crate::msg::builtin_interfaces::Time;
use crate::msg::rcl_interfaces::{
    GetParameters, GetParametersRequest, ListParameters, ListParametersRequest,
    ListParametersResponse, ListParametersResult, ParameterValue,
};
use crate::msg::sensor_msgs::JointState;
use crate::msg::std_msgs::{Header, String as Text};
use crate::parameter::{Declaration, Value};
use crate::testing::{self, PATIENCE, graph, heard, text};
use crate::{Durability, Reliability, Request, codes};
use crate::{Node, Subscription};

/// Starts a node in the domain of its test.
fn node(name: &str, test: u16, line: &str) -> Client {
    let (args, _) = Args::parse(line.split_whitespace().map(str::to_owned)).expect("arguments");
    start(name, &args, &network(test)).expect("a node")
}

/// Returns the DDS domain of a test, locked until this process ends. The Python tests lock theirs
/// by the same files, from the other end of the range (test/conftest.py).
fn domain(test: u16) -> u16 {
    static TAKEN: Mutex<BTreeMap<u16, (u16, File)>> = Mutex::new(BTreeMap::new());
    let user = std::fs::metadata("/proc/self").expect("this process").uid();
    let folder = std::env::temp_dir().join(format!("urdf_usd-domains-{user}"));
    let take = || {
        std::fs::create_dir_all(&folder).expect("a folder");
        let locked = (1..=101).rev().find_map(|domain: u16| {
            let file = File::create(folder.join(domain.to_string())).expect("a file");
            file.try_lock().is_ok().then_some((domain, file))
        });
        locked.expect("a free domain")
    };
    TAKEN
        .lock()
        .expect("no panic")
        .entry(test)
        .or_insert_with(take)
        .0
}

fn network(test: u16) -> Network {
    let loopback = "<CycloneDDS><Domain><General><Interfaces><NetworkInterface address=\"127.0.0.1\"/></Interfaces></General>\
        <Discovery><SPDPInterval>500ms</SPDPInterval></Discovery></Domain></CycloneDDS>";
    let variables = [
        ("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST"),
        ("CYCLONEDDS_URI", loopback),
    ];
    Network {
        domain: domain(test),
        reach: Reach::Localhost,
        static_peers: Vec::new(),
        cyclone: network::cyclone_config(
            &crate::environment::Environment::from_pairs(&variables),
            Reach::Localhost,
        ),
        notice: None,
    }
}

#[tokio::test]
async fn latched_messages_reach_early_and_late_listeners() {
    let (speaker, listener) = (
        node("speaker", 0, "--ros-args -r __ns:=/a -r said:=/b/heard"),
        node("listener", 0, "--ros-args -r __ns:=/b"),
    );
    testing::latched_messages_reach_early_and_late_listeners(speaker, listener).await;
}

#[tokio::test]
async fn large_messages_arrive_and_slow_readers_get_the_last() {
    let (speaker, listener) = (node("speaker", 1, ""), node("listener", 1, ""));
    let mut subscription = listener
        .subscribe::<Text>("/t", Qos::latched(1))
        .expect("subscription");
    let publisher = speaker
        .advertise::<Text>("/t", Qos::latched(1))
        .expect("publisher");
    let large = "é".repeat(1 << 20);
    publisher.publish(text(large.clone())).expect("said");
    assert!(heard(&mut subscription).await == Some(large));
    // No reads meanwhile: of the messages that arrive, the last is kept.
    for n in 0..50 {
        publisher.publish(text(n.to_string())).expect("said");
    }
    let mut last = heard(&mut subscription).await;
    while last.as_deref() != Some("49") {
        last = heard(&mut subscription).await;
    }
}

#[tokio::test]
async fn the_longest_description_reaches_a_late_listener() {
    let speaker = node("speaker", 11, "");
    let publisher = speaker
        .advertise::<Text>("/t", Qos::latched(1))
        .expect("publisher");
    let longest = "x".repeat(16 << 20);
    publisher.publish(text(longest.clone())).expect("said");
    let listener = node("listener", 11, "");
    let mut subscription = listener
        .subscribe::<Text>("/t", Qos::latched(1))
        .expect("subscription");
    assert!(heard(&mut subscription).await == Some(longest));
}

#[tokio::test]
async fn a_node_that_leaves_ends_its_streams_and_is_gone_from_the_graph() {
    testing::a_node_that_leaves_ends_its_streams_and_is_gone_from_the_graph(
        node("one", 2, ""),
        node("other", 2, ""),
    )
    .await;
}

#[tokio::test]
async fn requests_and_answers_arrive_at_any_length() {
    let (server, caller) = (node("server", 3, ""), node("caller", 3, ""));
    let mut calls = server
        .serve::<ListParameters>("~/convert")
        .expect("service");
    assert_eq!(calls.service(), "/server/convert");
    tokio::spawn(async move {
        while let Some(Request { request, responder }) = calls.next().await {
            let length: usize = request.prefixes.iter().map(String::len).sum();
            let result = ListParametersResult {
                names: vec![format!("{length} bytes")],
                prefixes: vec!["x".repeat(request.depth.try_into().unwrap())],
            };
            responder
                .send(ListParametersResponse { result })
                .expect("sent");
        }
    });
    let ask = |length: usize, depth: u64| {
        let request = ListParametersRequest {
            prefixes: vec!["x".repeat(length)],
            depth,
        };
        caller.call::<ListParameters>("/server/convert", request, PATIENCE)
    };
    for (length, answer) in [
        (0, 0),
        (1281, 1280),
        (70_000, 59_000),
        (3_000_000, 3_000_000),
        (1, 7),
    ] {
        let result = ask(length, answer).await.expect("an answer").result;
        assert_eq!(result.names, [format!("{length} bytes")]);
        assert_eq!(result.prefixes[0].len() as u64, answer);
    }
    let (one, two) = tokio::join!(ask(1, 300_000), ask(1, 400_000));
    assert_eq!(
        (
            one.expect("an answer").result.prefixes[0].len(),
            two.expect("an answer").result.prefixes[0].len()
        ),
        (300_000, 400_000)
    );
}

#[test]
fn parameters_come_from_the_command_line() {
    let node = node("n", 4, "--ros-args -p a:=7 -p n:b:=x");
    let declare = |name: &str, default| node.declare(Declaration::new(name, default, ""));
    assert_eq!(declare("a", Value::Integer(1)), Ok(Value::Integer(7)));
    assert_eq!(declare("c", Value::Bool(true)), Ok(Value::Bool(true)));
    assert_eq!(
        declare("use_sim_time", Value::Bool(true)),
        Ok(Value::Bool(false))
    );
    let unused = node.finish_declaring();
    assert!(
        unused.len() == 1 && unused[0].message.contains("`b`"),
        "{unused:?}"
    );
    assert_eq!(
        declare("b", Value::Bool(true)).expect_err("type").code,
        codes::PARAMETER_TYPE.id
    );
}

#[tokio::test]
async fn the_graph_names_both_ends_and_forgets_them() {
    let (one, other) = (
        node("one", 5, "--ros-args -r __ns:=/left"),
        node("other", 5, ""),
    );
    let publisher = one
        .advertise::<JointState>("joint_states", Qos::latched(3))
        .expect("publisher");
    let service = one.serve::<ListParameters>("~/convert").expect("service");
    let mut heard = other
        .observe(
            "/left/joint_states",
            "sensor_msgs/msg/JointState",
            Qos::best_effort(1),
        )
        .expect("observer");
    let has_both = |graph: &Graph| {
        let ends: Vec<_> = graph
            .topics
            .iter()
            .filter(|end| end.topic == "/left/joint_states" && end.node.is_some())
            .collect();
        ends.len() == 2
            && graph
                .services
                .iter()
                .any(|end| end.service == "/left/one/convert" && end.node.is_some())
    };
    let (seen_by_other, seen_by_one) = (graph(&other, has_both).await, graph(&one, has_both).await);
    assert_eq!(seen_by_other.nodes, ["/left/one", "/other"]);
    for graph in [&seen_by_other, &seen_by_one] {
        let ends: Vec<_> = graph
            .topics
            .iter()
            .filter(|end| end.topic == "/left/joint_states")
            .collect();
        let [publisher, subscriber] = ends[..] else {
            panic!("{ends:?}")
        };
        assert_eq!(
            (publisher.role, publisher.node.as_deref()),
            (TopicRole::Publisher, Some("/left/one"))
        );
        assert_eq!(
            (subscriber.role, subscriber.node.as_deref()),
            (TopicRole::Subscriber, Some("/other"))
        );
        assert!(
            ends.iter()
                .all(|end| end.type_name == "sensor_msgs/msg/JointState")
        );
        let qos = publisher.qos.expect("reported");
        assert_eq!(
            (qos.reliability, qos.durability),
            (Reliability::Reliable, Durability::TransientLocal)
        );
        assert_eq!(
            subscriber.qos.map(|qos| qos.reliability),
            Some(Reliability::BestEffort)
        );
        let servers: Vec<_> = graph
            .services
            .iter()
            .filter(|end| end.service == "/left/one/convert")
            .collect();
        let [server] = servers[..] else {
            panic!("{servers:?}")
        };
        assert_eq!(
            (server.type_name.as_str(), server.role),
            ("rcl_interfaces/srv/ListParameters", ServiceRole::Server)
        );
    }
    let own = seen_by_one
        .publishers("/left/joint_states")
        .next()
        .expect("own end");
    assert_eq!(
        own.qos,
        Some(EndQos {
            reliability: Reliability::Reliable,
            durability: Durability::TransientLocal,
            depth: Some(3)
        })
    );

    let header = Header {
        stamp: Time { sec: 7, nanosec: 8 },
        frame_id: "base".into(),
    };
    publisher
        .publish(JointState {
            header: header.clone(),
            name: vec!["a".repeat(1 << 20)],
            ..JointState::default()
        })
        .expect("said");
    let sample = tokio::time::timeout(PATIENCE, heard.next())
        .await
        .expect("in time")
        .expect("a message");
    assert_eq!(sample.message.header, Some(header));
    assert_eq!(
        seen_by_other
            .publishers("/left/joint_states")
            .next()
            .and_then(|end| end.id),
        Some(sample.publisher)
    );

    drop((publisher, service));
    graph(&other, |graph| {
        graph.publishers("/left/joint_states").next().is_none()
    })
    .await;
    let left = graph(&other, |graph| {
        graph
            .services
            .iter()
            .all(|end| end.service != "/left/one/convert")
    })
    .await;
    assert!(left.nodes.contains(&"/left/one".to_owned()));
    one.shutdown();
    graph(&other, |graph| graph.nodes == ["/other"]).await;
    assert_eq!(one.graph(), Graph::default());
}

#[tokio::test]
async fn parameters_of_other_nodes_are_asked_for() {
    let caller = node("caller", 6, "");
    let asked = GetParametersRequest {
        names: vec!["robot_description".into()],
    };
    let absent = caller
        .call::<GetParameters>(
            "/server/get_parameters",
            asked.clone(),
            Duration::from_millis(300),
        )
        .await;
    assert_eq!(absent.expect_err("no server").code, codes::NO_ANSWER.id);
    let server = node("server", 6, "");
    server
        .declare(Declaration::new(
            "robot_description",
            Value::String("<robot/>".into()),
            "",
        ))
        .expect("declared");
    // Services answer only once all parameters are declared.
    let early = caller
        .call::<GetParameters>(
            "/server/get_parameters",
            asked.clone(),
            Duration::from_millis(300),
        )
        .await;
    assert_eq!(
        early.expect_err("declarations go on").code,
        codes::NO_ANSWER.id
    );
    assert_eq!(server.finish_declaring(), []);
    // Concurrent calls: each gets its own answer, and one does not wait for it.
    let call = |asked: GetParametersRequest| {
        caller.call::<GetParameters>("/server/get_parameters", asked, PATIENCE)
    };
    let given_up = tokio::time::timeout(Duration::from_millis(5), call(asked.clone())).await;
    let (one, two) = tokio::join!(
        call(asked.clone()),
        call(GetParametersRequest {
            names: vec!["use_sim_time".into(); 2]
        })
    );
    assert_eq!(
        one.expect("an answer").values,
        [ParameterValue::from(Value::String("<robot/>".into()))]
    );
    assert_eq!(
        two.expect("an answer").values,
        vec![ParameterValue::from(Value::Bool(false)); 2]
    );
    assert!(given_up.is_err());
    let is_gone = |graph: &Graph| {
        graph
            .services
            .iter()
            .all(|end| end.role == ServiceRole::Server)
    };
    graph(&server, is_gone).await;
    caller.shutdown();
    assert_eq!(
        call(asked).await.expect_err("it has left").code,
        codes::TRANSPORT.id
    );
}

#[tokio::test]
async fn messages_of_a_dead_publisher_are_not_delivered_later() {
    let (speaker, listener) = (node("speaker", 7, ""), node("listener", 7, ""));
    let publisher = speaker
        .advertise::<Text>("/t", Qos::latched(1))
        .expect("publisher");
    publisher.publish(text("old")).expect("said");
    let mut first = listener
        .subscribe::<Text>("/t", Qos::latched(1))
        .expect("subscription");
    assert_eq!(heard(&mut first).await.as_deref(), Some("old"));
    // A new subscription while the publisher exists receives the latched message again.
    drop(first);
    let mut again = listener
        .subscribe::<Text>("/t", Qos::latched(1))
        .expect("subscription");
    assert_eq!(heard(&mut again).await.as_deref(), Some("old"));
    drop(again);
    speaker.shutdown();
    graph(&listener, |graph| graph.publishers("/t").next().is_none()).await;
    let new = node("new", 7, "");
    let mut late = listener
        .subscribe::<Text>("/t", Qos::latched(1))
        .expect("subscription");
    let publisher = new
        .advertise::<Text>("/t", Qos::latched(1))
        .expect("publisher");
    publisher.publish(text("new")).expect("said");
    assert_eq!(heard(&mut late).await.as_deref(), Some("new"));
}

#[tokio::test]
async fn the_subscriptions_of_a_fleet_come_and_go() {
    let (fleet, other) = (node("fleet", 8, ""), node("other", 8, ""));
    let is_of_robot = |end: &&TopicEnd| end.topic.starts_with("/r") && end.topic != "/rosout";
    let count = |graph: &Graph| graph.topics.iter().filter(is_of_robot).count();
    let named = |end: &&TopicEnd| is_of_robot(end) && end.node.as_deref() == Some("/fleet");
    for _ in 0..3 {
        let topics = (0..200).flat_map(|n| {
            ["robot_description", "tf", "tf_static", "joint_states"].map(|t| format!("/r{n}/{t}"))
        });
        let subscriptions: Vec<Subscription<Text>> = topics
            .map(|topic| {
                fleet
                    .subscribe(&topic, Qos::latched(10))
                    .expect("subscription")
            })
            .collect();
        graph(&other, |graph| {
            graph.topics.iter().filter(named).count() == 800
        })
        .await;
        drop(subscriptions);
        graph(&other, |graph| count(graph) == 0).await;
    }
}

#[tokio::test]
async fn a_late_node_discovers_one_that_has_closed_many_endpoints() {
    let (fleet, other) = (node("fleet", 10, ""), node("other", 10, ""));
    let mut service = fleet.serve::<ListParameters>("~/convert").expect("service");
    tokio::spawn(async move {
        while let Some(Request { responder, .. }) = service.next().await {
            responder
                .send(ListParametersResponse::default())
                .expect("sent");
        }
    });
    let rounds = if std::env::var_os("URDF_USD_SOAK").is_some() {
        12
    } else {
        1
    };
    let of_robots = |graph: &Graph| {
        graph
            .topics
            .iter()
            .filter(|end| end.topic.starts_with("/said"))
            .count()
    };
    for _ in 0..rounds {
        let publishers: Vec<_> = (0..500)
            .map(|n| {
                fleet
                    .advertise::<Text>(&format!("/said{n}"), Qos::latched(1))
                    .expect("publisher")
            })
            .collect();
        graph(&other, |graph| of_robots(graph) == 500).await;
        drop(publishers);
        graph(&other, |graph| of_robots(graph) == 0).await;
    }
    let late = node("late", 10, "");
    graph(&late, |graph| {
        graph
            .services
            .iter()
            .any(|end| end.service == "/fleet/convert" && end.node.is_some())
    })
    .await;
    late.call::<ListParameters>("/fleet/convert", ListParametersRequest::default(), PATIENCE)
        .await
        .expect("an answer");
}

#[tokio::test]
async fn after_a_change_of_addresses_a_node_joins_again_and_loses_no_message() {
    let machine: Arc<Mutex<Vec<IpAddr>>> = Arc::default();
    let start = |name: &str| {
        let machine = machine.clone();
        let look_up = Box::new(move || Addresses {
            own: machine.lock().expect("no panic").clone(),
            ..Addresses::default()
        });
        start_with(name, &Args::default(), &network(9), look_up).expect("a node")
    };
    let (node, other) = (start("node"), start("other"));
    let publisher = other
        .advertise::<Text>("/t", Qos::latched(1))
        .expect("publisher");
    let mut subscription = node
        .subscribe::<Text>("/t", Qos::latched(1))
        .expect("subscription");
    publisher.publish(text("one")).expect("said");
    let mut texts = vec![heard(&mut subscription).await];
    let sessions = |graph: &Graph| graph.publishers("/t").map(|end| end.id).collect::<Vec<_>>();
    let before = sessions(&graph(&node, |graph| sessions(graph).len() == 1).await);
    machine
        .lock()
        .expect("no panic")
        .push(Ipv4Addr::new(192, 0, 2, 7).into());
    // The publisher of the new session coexists with the old one, which completes what is in
    // progress.
    graph(&node, |graph| sessions(graph).len() == 2).await;
    publisher.publish(text("two")).expect("said");
    let two = Some("two".to_owned());
    while !texts.contains(&two) {
        texts.push(heard(&mut subscription).await);
    }
    let after = graph(&node, |graph| sessions(graph).len() == 1).await;
    assert_ne!(sessions(&after), before);
    publisher.publish(text("three")).expect("said");
    let three = Some("three".to_owned());
    while !texts.contains(&three) {
        texts.push(heard(&mut subscription).await);
    }
    // Messages that arrive in both sessions are delivered once, except those that the new writer
    // repeats.
    assert!(texts.len() <= 4, "{texts:?}");
}
