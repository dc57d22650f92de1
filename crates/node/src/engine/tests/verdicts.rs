//! Verdicts: their description, robot and clock, and their state after a standstill.

use std::time::Instant;

use super::super::{MIN_STANDSTILL, RECOVERY};
use super::*;
use urdf_usd_messages::{CheckFramesResponse, ComputeFk, ComputeFkRequest};
use urdf_usd_ros::{Simulated, Timeline};

/// The robot of a file: REAL with a frame that the running robot lacks.
fn given() -> String {
    REAL.replace(
        "<gazebo",
        "<link name='tool0'/><joint name='tcp' type='fixed'><parent link='tool'/><child link='tool0'/></joint><gazebo",
    )
}

impl Bed {
    async fn check(&self, robot: &str) -> CheckFramesResponse {
        let request = CheckFramesRequest {
            robot: robot.into(),
            frames: vec![],
        };
        within(
            self.node
                .ask::<CheckFrames>("/urdf_usd/check_frames", request),
        )
        .await
    }

    /// Calls convert with a text.
    async fn convert(&self, urdf: &str) -> bool {
        let request = ConvertRequest {
            urdf: urdf.to_owned(),
            ..Default::default()
        };
        within(self.node.ask::<ConvertService>("/convert", request))
            .await
            .success
    }

    fn say_tool(&self, who: u8) {
        let tool = TFMessage {
            transforms: vec![transform("base", "tool", 1.0)],
        };
        self.node.say("/tf_static", &tool, who);
    }
}

/// Plays a robot_state_publisher that runs another description: it publishes that on the topic, has
/// it as its parameter, and sends its frames.
#[tokio::test(flavor = "multi_thread")]
async fn frames_are_compared_with_the_given_file_not_with_what_another_node_runs() {
    for is_published in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("arm.urdf");
        fs::write(&path, given()).unwrap();
        let mut bed = real_bed(|parameters| {
            parameters.urdf_file = Some(path.clone());
            parameters.description_from = Some("/*".to_owned());
        });
        let mut requests = bed
            .node
            .answer::<GetParameters>("/robot_state_publisher/get_parameters");
        let mut ends = vec![("/tf_static", TF, 7)];
        if is_published {
            ends.push(("/robot_description", STRING, 7));
        }
        bed.node.set_graph(Graph {
            nodes: vec!["/robot_state_publisher".to_owned()],
            ..graph(&ends)
        });
        if is_published {
            bed.describe(REAL);
        }
        let status = bed
            .with_tool_on("", |status| status.level == DiagnosticStatus::WARN)
            .await;
        assert!(
            status.message.contains("\"tool0\" is missing"),
            "{}",
            status.message
        );
        // Longer than the time after which a parameter is read.
        let asked = tokio::time::timeout(Duration::from_millis(3500), requests.next()).await;
        assert!(asked.is_err(), "the parameter is read");
        bed.say_tool(7);
        let answer = bed.check("").await;
        assert!(answer.success && !answer.all_ok, "{}", answer.message);
        assert_eq!((answer.robot.as_str(), answer.revision), ("arm", 1));
        assert_eq!(bed.site.robots().len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_name_means_the_robot_that_runs() {
    let mut bed = real_bed(|_| {});
    bed.node.set_graph(graph(&[
        ("/robot_description", STRING, 1),
        ("/robot_description", STRING, 2),
    ]));
    assert!(
        bed.convert("<robot name='other'><link name='odd'/></robot>")
            .await
    );
    bed.shows("other", |robot| robot.revision == Some(1)).await;
    let none = bed.check("").await;
    assert!(
        !none.success
            && none.message.starts_with("no robot is running")
            && none.message.contains("other"),
        "{}",
        none.message
    );
    bed.describe(REAL);
    bed.shows("arm", |robot| robot.revision == Some(1)).await;
    // Neither a call before nor one after is meant.
    assert!(
        bed.convert("<robot name='third'><link name='odd'/></robot>")
            .await
    );
    let answer = bed.check("").await;
    assert!(
        answer.success && answer.robot == "arm",
        "{}",
        answer.message
    );
    let poses = within(
        bed.node
            .ask::<ComputeFk>("/urdf_usd/compute_fk", ComputeFkRequest::default()),
    )
    .await;
    assert!(
        poses.success && poses.links.iter().any(|link| link == "tool"),
        "{poses:?}"
    );
    bed.node.say(
        "/robot_description",
        &std_msgs::String {
            data: REAL.replace("'arm'", "'leg'"),
        },
        2,
    );
    bed.shows("leg", |robot| robot.revision == Some(1)).await;
    let several = bed.check("").await;
    assert!(
        !several.success && several.message == "several robots are running: pass one of arm, leg",
        "{}",
        several.message
    );
    assert!(bed.check("leg").await.success);
    // A call that failed, or that found errors, is no lasting fault of the node.
    assert!(!bed.convert("<robot name='bad'>").await);
    let lost = "<robot name='lost'><link name='a'><visual><geometry><mesh filename='nowhere.stl'/></geometry></visual></link></robot>";
    assert!(bed.convert(lost).await);
    bed.shows("lost", |robot| !robot.diagnostics.is_empty())
        .await;
    let status = bed.status(|s| s.name.ends_with("conversion of lost")).await;
    assert_eq!(
        (status.level, value(&status, "errors")),
        (DiagnosticStatus::OK, Some("1"))
    );
    assert!(bed.site.robot("bad").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_with_the_name_of_the_running_robot_does_not_replace_it() {
    let bed = real_bed(|_| {});
    bed.node
        .set_graph(graph(&[("/robot_description", STRING, 1)]));
    bed.describe(REAL);
    bed.shows("arm", |robot| robot.revision == Some(1)).await;
    assert!(
        bed.convert("<robot name='arm'><link name='base'/><link name='odd'/></robot>")
            .await
    );
    // Its own description is converted again.
    bed.shows("arm", |robot| robot.revision == Some(3)).await;
    bed.say_tool(7);
    let answer = within(async {
        loop {
            let answer = bed.check("").await;
            if answer.revision == 3 && answer.all_ok {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    assert!(answer.frames.iter().any(|frame| frame.frame_id == "tool"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_restarts_with_another_description_is_no_rival_of_itself() {
    let bed = bed_with(|parameters| parameters.description_from = Some("/*".to_owned()));
    let mut requests = bed.node.answer::<GetParameters>("/rsp/get_parameters");
    let here = |is_here: bool| Graph {
        nodes: if is_here {
            vec!["/rsp".to_owned()]
        } else {
            vec![]
        },
        ..graph(&[("/rosout", "rcl_interfaces/msg/Log", 9)])
    };
    for (revision, text) in [(1, TWO), (2, "<robot name='arm'/>")] {
        bed.node.set_graph(here(true));
        let call = within(requests.next()).await.unwrap();
        call.responder
            .send(GetParametersResponse {
                values: vec![Value::String(text.to_owned()).into()],
            })
            .unwrap();
        bed.shows("arm", |robot| robot.revision == Some(revision))
            .await;
        bed.node.set_graph(here(false));
        bed.shows("arm", |robot| robot.presence == Presence::Gone)
            .await;
    }
}

/// Returns an engine that is not running, with a converted robot that publisher 1 describes.
async fn with_robot(set: impl FnOnce(&mut Parameters)) -> (tempfile::TempDir, Started) {
    let folder = tempfile::tempdir().unwrap();
    let mut parameters = fake::parameters(folder.path());
    set(&mut parameters);
    let mut started = start(Fake::default(), None, parameters);
    let engine = &mut started.engine;
    engine
        .node
        .set_graph(graph(&[("/robot_description", STRING, 1)]));
    engine.node.say(
        "/robot_description",
        &std_msgs::String {
            data: TWO.to_owned(),
        },
        1,
    );
    let described = within(engine.descriptions.next()).await.unwrap();
    engine.hear(described);
    within(async {
        while engine.robots.is_empty() {
            engine.start_due();
            if let Ok(Some(back)) =
                tokio::time::timeout(Duration::from_millis(20), engine.running.tasks.join_next())
                    .await
            {
                engine.finish_task(back).unwrap();
            }
        }
    })
    .await;
    engine
        .graph_due
        .soon(Instant::now() - Duration::from_secs(1));
    engine.start_due();
    (folder, started)
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_standstill_no_robot_is_gone_before_discovery_has_recovered() {
    let (_folder, mut started) = with_robot(|_| {}).await;
    let engine = &mut started.engine;
    let is_gone = |engine: &Engine<Fake>| engine.robots["arm"].gone.is_some();
    let scan = |engine: &mut Engine<Fake>| {
        engine.graph_due = super::super::Debounced::default();
        engine.schedule_graph_scan();
        engine.start_due();
    };
    assert!(!is_gone(engine));
    // The leases of all other participants have expired meanwhile.
    engine.turned = Instant::now() - 2 * MIN_STANDSTILL;
    engine
        .node
        .set_graph(graph(&[("/rosout", "rcl_interfaces/msg/Log", 9)]));
    scan(engine);
    assert!(!is_gone(engine) && engine.standstill.is_some());
    // It was discovered again.
    engine
        .node
        .set_graph(graph(&[("/robot_description", STRING, 1)]));
    let standstill = engine.standstill.as_mut().unwrap();
    standstill.ended = Instant::now() - RECOVERY;
    engine.poll().unwrap();
    scan(engine);
    assert!(!is_gone(engine) && engine.standstill.is_none());
    // One that has really left is noticed then.
    engine.turned = Instant::now() - 2 * MIN_STANDSTILL;
    engine
        .node
        .set_graph(graph(&[("/rosout", "rcl_interfaces/msg/Log", 9)]));
    scan(engine);
    assert!(!is_gone(engine));
    let standstill = engine.standstill.as_mut().unwrap();
    standstill.ended = Instant::now() - RECOVERY;
    engine.poll().unwrap();
    engine.graph_due = super::super::Debounced {
        due: Some(Instant::now()),
        last: None,
    };
    engine.start_due();
    assert!(is_gone(engine));
}

/// A base and an arm on a revolute joint.
const TURNING: &str = "<robot name='arm'>\
    <link name='base'><visual><geometry><box size='1 1 1'/></geometry></visual></link>\
    <link name='tool'><visual><geometry><box size='1 1 1'/></geometry></visual></link>\
    <joint name='turn' type='revolute'><parent link='base'/><child link='tool'/><origin xyz='1 0 0'/><axis xyz='0 0 1'/>\
    <limit lower='-1' upper='1' effort='1' velocity='1'/></joint></robot>";

#[tokio::test(flavor = "multi_thread")]
async fn while_the_clock_stands_still_no_frame_is_stale() {
    let mut bed = real_bed(|parameters| parameters.frame_timeout = Duration::from_millis(500));
    let at = Instant::now();
    let clock = |elapsed: u64, still: u64, resets| Timeline {
        at: at + Duration::from_millis(elapsed),
        resets,
        simulated: Some(Simulated {
            still_for: Duration::from_millis(still),
            has_ticked: true,
        }),
    };
    let ends = [
        ("/robot_description", STRING, 1),
        ("/tf", TF, 7),
        ("/clock", "rosgraph_msgs/msg/Clock", 8),
    ];
    bed.node.set_timeline(clock(0, 0, 0));
    bed.node.set_graph(graph(&ends));
    bed.describe(TURNING);
    bed.shows("arm", |robot| robot.revision == Some(1)).await;
    let moving = TFMessage {
        transforms: vec![transform("base", "tool", 1.0)],
    };
    bed.node.say("/tf", &moving, 7);
    within(async { while !bed.check("").await.all_ok {} }).await;
    // The simulation is paused for longer than the timeout.
    tokio::time::sleep(Duration::from_millis(800)).await;
    bed.node.set_timeline(clock(0, 8400, 0));
    let answer = bed.check("").await;
    assert!(
        answer.all_ok && answer.message.contains("/clock has stood still for 8 s"),
        "{}",
        answer.message
    );
    let status = bed
        .status(|s| s.name.ends_with("frames of arm") && s.message.contains("stood still"))
        .await;
    assert_eq!(status.level, DiagnosticStatus::OK, "{}", status.message);
    // It is reset, and goes on without the frame.
    bed.node.set_timeline(clock(100, 0, 1));
    let answer = bed.check("").await;
    assert!(
        answer.all_ok && !answer.message.contains("stood"),
        "{}",
        answer.message
    );
    bed.node.set_timeline(clock(700, 0, 1));
    let answer = bed.check("").await;
    assert!(
        !answer.all_ok && answer.frames[1].verdict == "stale",
        "{}",
        answer.message
    );
    // Nobody publishes the clock any more: that is no pause.
    bed.node.say("/tf", &moving, 7);
    within(async { while !bed.check("").await.all_ok {} }).await;
    bed.node.set_graph(graph(&ends[..2]));
    bed.node.set_timeline(clock(700, 3000, 1));
    let answer = within(async {
        loop {
            let answer = bed.check("").await;
            if !answer.all_ok {
                return answer;
            }
        }
    })
    .await;
    assert!(
        answer.message.contains("no node publishes /clock"),
        "{}",
        answer.message
    );
}
