use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::*;
use crate::fake::Fake;
use urdf_usd_ros::msg::std_msgs::Header;
use urdf_usd_ros::{Observed, PublisherId};
use urdf_usd_usd_read::InterfaceSummary;

const SENSOR: EndQos = EndQos {
    reliability: Reliability::BestEffort,
    durability: Durability::Volatile,
    depth: Some(5),
};

fn end(topic: &str, type_name: &str, role: TopicRole, node: &str) -> TopicEnd {
    let (topic, type_name, node) = (
        topic.to_owned(),
        type_name.to_owned(),
        Some(node.to_owned()),
    );
    TopicEnd {
        topic,
        type_name,
        role,
        node,
        id: None,
        qos: Some(SENSOR),
    }
}

fn publisher(topic: &str, type_name: &str, node: &str) -> TopicEnd {
    end(topic, type_name, TopicRole::Publisher, node)
}

fn subscriber(topic: &str, type_name: &str, node: &str) -> TopicEnd {
    end(topic, type_name, TopicRole::Subscriber, node)
}

fn service(service: &str, type_name: &str, role: ServiceRole, node: &str) -> ServiceEnd {
    ServiceEnd {
        service: service.to_owned(),
        type_name: type_name.to_owned(),
        role,
        node: Some(node.to_owned()),
        is_reachable: true,
    }
}

fn seen(topics: Vec<TopicEnd>, services: Vec<ServiceEnd>) -> Snapshot {
    Snapshot::new(
        Graph {
            nodes: Vec::new(),
            topics,
            services,
        },
        BTreeMap::new(),
    )
}

/// Returns the interfaces of the robot in the namespace, as `kind name type`.
fn listed(seen: &Snapshot, namespace: &str, others: &[&str]) -> Vec<String> {
    let others = others.iter().copied().collect();
    let who = Scope {
        namespace,
        others: &others,
        node: "/urdf_usd",
    };
    let listed = |captured: Captured| {
        let kind = match captured.interface.kind {
            InterfaceKind::Publisher { .. } => "publisher",
            InterfaceKind::Subscription { .. } => "subscription",
            InterfaceKind::ServiceServer => "server",
            InterfaceKind::ServiceClient => "client",
            InterfaceKind::ActionServer => "action",
            InterfaceKind::ActionClient => "asks",
        };
        format!(
            "{kind} {} {}",
            captured.interface.name, captured.interface.type_name
        )
    };
    interfaces(seen, &who).into_iter().map(listed).collect()
}

#[test]
fn topics_have_their_roles() {
    let seen = seen(
        vec![
            publisher("/scan", "sensor_msgs/msg/LaserScan", "/lidar"),
            subscriber("/scan", "sensor_msgs/msg/LaserScan", "/nav"),
            subscriber(
                "/joint_states",
                "sensor_msgs/msg/JointState",
                "/robot_state_publisher",
            ),
            // An operator drives it.
            publisher("/cmd_vel", "geometry_msgs/msg/Twist", "/teleop"),
            subscriber("/cmd_vel", "geometry_msgs/msg/Twist", "/base"),
            subscriber("/goal", "geometry_msgs/msg/PoseStamped", "/nav"),
            publisher("/twist", "geometry_msgs/msg/TwistStamped", "/base"),
        ],
        Vec::new(),
    );
    let expected = [
        "subscription cmd_vel geometry_msgs/msg/Twist",
        "subscription goal geometry_msgs/msg/PoseStamped",
        "publisher scan sensor_msgs/msg/LaserScan",
        "publisher twist geometry_msgs/msg/TwistStamped",
    ];
    assert_eq!(listed(&seen, "/", &[]), expected);
}

#[test]
fn infrastructure_is_excluded() {
    let node = "/driver";
    let seen = seen(
        vec![
            publisher("/rosout", "rcl_interfaces/msg/Log", node),
            publisher(
                "/parameter_events",
                "rcl_interfaces/msg/ParameterEvent",
                node,
            ),
            publisher("/tf", "tf2_msgs/msg/TFMessage", node),
            publisher("/diagnostics", "diagnostic_msgs/msg/DiagnosticArray", node),
            publisher("/clock", "rosgraph_msgs/msg/Clock", "/gz"),
            publisher("/_hidden", "std_msgs/msg/String", node),
            publisher("/own", "std_msgs/msg/String", "/urdf_usd"),
            subscriber("/clicked", "geometry_msgs/msg/PointStamped", "/rviz2"),
            publisher("/note", "std_msgs/msg/String", node),
        ],
        vec![
            service(
                "/driver/get_parameters",
                "rcl_interfaces/srv/GetParameters",
                ServiceRole::Server,
                node,
            ),
            service(
                "/driver/get_type_description",
                "type_description_interfaces/srv/GetTypeDescription",
                ServiceRole::Server,
                node,
            ),
            service(
                "/spawn",
                "simulation_interfaces/srv/SpawnEntity",
                ServiceRole::Server,
                "/sim",
            ),
            service(
                "/convert",
                "urdf_usd/srv/Convert",
                ServiceRole::Server,
                "/urdf_usd",
            ),
            service("/reset", "std_srvs/srv/Trigger", ServiceRole::Server, node),
        ],
    );
    assert_eq!(
        listed(&seen, "/", &[]),
        [
            "publisher note std_msgs/msg/String",
            "server reset std_srvs/srv/Trigger"
        ]
    );
}

#[test]
fn an_action_is_one_interface() {
    let part = |name: &str| format!("/arm/follow/_action/{name}");
    let seen = seen(
        vec![
            publisher(
                &part("feedback"),
                "control_msgs/action/FollowJointTrajectory_FeedbackMessage",
                "/arm",
            ),
            publisher(&part("status"), "action_msgs/msg/GoalStatusArray", "/arm"),
        ],
        vec![
            service(
                &part("send_goal"),
                "control_msgs/action/FollowJointTrajectory_SendGoal",
                ServiceRole::Client,
                "/a_planner",
            ),
            service(
                &part("send_goal"),
                "control_msgs/action/FollowJointTrajectory_SendGoal",
                ServiceRole::Server,
                "/arm",
            ),
            service(
                &part("cancel_goal"),
                "action_msgs/srv/CancelGoal",
                ServiceRole::Server,
                "/arm",
            ),
            service(
                &part("get_result"),
                "control_msgs/action/FollowJointTrajectory_GetResult",
                ServiceRole::Server,
                "/arm",
            ),
            service(
                "/dock/_action/send_goal",
                "x/action/Dock_SendGoal",
                ServiceRole::Client,
                "/a_planner",
            ),
            service("/map", "x/srv/Map", ServiceRole::Client, "/a_planner"),
        ],
    );
    let expected = [
        "action arm/follow control_msgs/action/FollowJointTrajectory",
        "asks dock x/action/Dock",
        "client map x/srv/Map",
    ];
    assert_eq!(listed(&seen, "/", &[]), expected);
}

#[test]
fn every_robot_has_its_namespace() {
    let scan = |topic: &str| publisher(topic, "sensor_msgs/msg/LaserScan", "/lidar");
    let seen = seen(
        vec![
            scan("/r1/scan"),
            scan("/r1/front/scan"),
            scan("/r10/scan"),
            scan("/scan"),
        ],
        Vec::new(),
    );
    let topics = |namespace, others: &[&str]| {
        listed(&seen, namespace, others)
            .iter()
            .map(|listed| listed.split(' ').nth(1).unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(topics("/r1", &["/", "/r1", "/r10"]), ["front/scan", "scan"]);
    assert_eq!(topics("/r1", &["/r1/front"]), ["scan"]);
    assert_eq!(topics("/", &["/", "/r1", "/r10"]), ["scan"]);
    assert_eq!(topics("/r2", &[]), Vec::<String>::new());
}

#[test]
fn measurements_are_in_the_interface() {
    let mut seen = seen(
        vec![
            publisher("/scan", "sensor_msgs/msg/LaserScan", "/lidar"),
            publisher("/joint_states", "sensor_msgs/msg/JointState", "/jsp"),
            publisher("/silent", "std_msgs/msg/String", "/n"),
        ],
        Vec::new(),
    );
    for topic in ["/scan", "/joint_states"] {
        seen.heard.insert(
            topic.to_owned(),
            Measurement {
                rate: Some(10.0),
                frame: Some("laser".to_owned()),
            },
        );
    }
    let found = interfaces(
        &seen,
        &Scope {
            namespace: "/",
            others: &Default::default(),
            node: "/urdf_usd",
        },
    );
    let [joints, scan, silent] = &found[..] else {
        panic!("{found:?}")
    };
    let qos = Qos::seen(false, false, Some(5));
    assert_eq!(
        scan.interface.kind,
        InterfaceKind::Publisher { rate: 10.0, qos }
    );
    assert_eq!(
        (scan.frame.as_deref(), scan.is_measured),
        (Some("laser"), true)
    );
    // It describes the whole robot, whatever its header says.
    assert_eq!((joints.frame.as_deref(), joints.is_measured), (None, true));
    assert_eq!(
        (silent.interface.kind, silent.is_measured),
        (
            InterfaceKind::Publisher {
                rate: DEFAULT_RATE,
                qos
            },
            false
        )
    );
}

#[test]
fn declared_interfaces_are_compared_with_the_graph() {
    let declared = |kind: &str, role: &str, name: &str, type_name: &str| InterfaceSummary {
        kind: kind.to_owned(),
        role: role.to_owned(),
        name: name.to_owned(),
        type_name: type_name.to_owned(),
        frame: None,
        starts_enabled: true,
        rate: None,
        qos: BTreeMap::new(),
    };
    let seen = seen(
        vec![
            publisher("/r1/scan", "sensor_msgs/msg/LaserScan", "/r1/lidar"),
            subscriber("/cmd_vel", "geometry_msgs/msg/TwistStamped", "/r1/base"),
            // This node subscribes to what it compares, which does not count.
            subscriber("/r1/robot_description", "std_msgs/msg/String", "/urdf_usd"),
        ],
        vec![service(
            "/r1/dock/_action/send_goal",
            "x/action/Dock_SendGoal",
            ServiceRole::Server,
            "/r1/dock",
        )],
    );
    let all = [
        declared("topic", "publisher", "scan", "sensor_msgs/msg/LaserScan"),
        declared(
            "topic",
            "subscription",
            "/cmd_vel",
            "geometry_msgs/msg/Twist",
        ),
        declared(
            "topic",
            "subscription",
            "robot_description",
            "std_msgs/msg/String",
        ),
        declared("action", "server", "dock", "x/action/Dock"),
        declared("service", "server", "reset", "std_srvs/srv/Trigger"),
    ];
    let differing = compare(&all, &seen, "/r1", "/urdf_usd");
    let listed: Vec<(&str, bool)> = differing
        .iter()
        .map(|d| (d.detail.as_str(), d.is_other_type))
        .collect();
    let expected = [
        ("no node serves /r1/reset", false),
        (
            "/cmd_vel has type geometry_msgs/msg/TwistStamped, while the asset declares geometry_msgs/msg/Twist",
            true,
        ),
        ("no node listens to /r1/robot_description", false),
    ];
    assert_eq!(listed, expected);
}

#[tokio::test]
async fn topics_are_measured_and_reported_once_they_settle() {
    let node = Arc::new(Fake::default());
    let scan = |who: u8| {
        let scan = publisher("/scan", "sensor_msgs/msg/LaserScan", "/lidar");
        seen(
            vec![TopicEnd {
                id: Some(PublisherId([who; 16])),
                ..scan
            }],
            Vec::new(),
        )
        .graph
    };
    node.set_graph(scan(1));
    let (sender, mut receiver) = watch::channel(Arc::default());
    let task = tokio::spawn(listen(node.clone(), sender));
    let publisher = node.clone();
    let frames = Arc::new(std::sync::Mutex::new(vec!["laser"]));
    let spoken = frames.clone();
    let speaking = tokio::spawn(async move {
        for number in 0.. {
            let frame = {
                let frames = spoken.lock().unwrap();
                frames[number % frames.len()].to_owned()
            };
            let header = Header {
                frame_id: frame,
                ..Header::default()
            };
            publisher.say_something(
                "/scan",
                &Observed {
                    header: Some(header),
                },
                1,
            );
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    let patience = Duration::from_secs(60);
    let mut heard = async |is_it: &dyn Fn(&Measurement) -> bool| {
        let wait = receiver.wait_for(|seen| seen.heard.get("/scan").is_some_and(is_it));
        tokio::time::timeout(patience, wait)
            .await
            .unwrap()
            .unwrap()
            .heard["/scan"]
            .clone()
    };
    let first = heard(&|heard| heard.rate.is_some()).await;
    assert!(
        first.rate.unwrap() <= 110.0 && first.frame.as_deref() == Some("laser"),
        "{first:?}"
    );
    // The same publisher is not measured again; a new one is.
    *frames.lock().unwrap() = vec!["a", "b"];
    node.set_graph(scan(1));
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(heard(&|_| true).await.frame.as_deref(), Some("laser"));
    node.set_graph(scan(2));
    assert!(heard(&|heard| heard.frame.is_none()).await.rate.is_some());
    speaking.abort();
    drop(receiver);
    tokio::time::timeout(patience, task).await.unwrap().unwrap();
}
