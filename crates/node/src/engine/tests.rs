//! Behaviour of the node without a network and without real conversions.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use futures::StreamExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;

mod endure;
mod published;
mod verdicts;

use super::super::asset_paths::AssetPaths;
use super::super::fake::{self, Fake};
use super::super::jobs::Convert;
use super::super::parameters::Parameters;
use super::super::tf_messages::tests::transform;
use super::Engine;
use urdf_usd_convert::{
    Counts, Failure, FileInfo, Job, Report, Source, SourceInfo, Status, Timings,
};
use urdf_usd_diagnostic::{Diagnostic, Place};
use urdf_usd_messages::{
    Asset, CheckFrames, CheckFramesRequest, Convert as ConvertService, ConvertRequest,
};
use urdf_usd_ros::graph::{ServiceEnd, ServiceRole, TopicEnd, TopicRole};
use urdf_usd_ros::msg::builtin_interfaces::Time;
use urdf_usd_ros::msg::diagnostic_msgs::{DiagnosticArray, DiagnosticStatus};
use urdf_usd_ros::msg::rcl_interfaces::{GetParameters, GetParametersResponse};
use urdf_usd_ros::msg::sensor_msgs::JointState;
use urdf_usd_ros::msg::std_msgs::{self, Header};
use urdf_usd_ros::msg::tf2_msgs::TFMessage;
use urdf_usd_ros::{Graph, Node, PublisherId, Sample, Value, queue};
use urdf_usd_serve::{Presence, RobotView, Server, Site};
use urdf_usd_worker::Workers;

/// A substitute for conversions: it can be paused, counts, and fails for an empty text and for one
/// with "broken" in it. Captured interfaces change the revision.
#[derive(Default)]
struct Converter {
    count: AtomicU64,
    revisions: Mutex<std::collections::HashMap<PathBuf, (u64, String)>>,
    held: Mutex<bool>,
    /// Whether only texts with "slow" in them are paused.
    only_slow: AtomicBool,
    freed: Condvar,
    used: Mutex<Vec<PathBuf>>,
    /// Whether every text is broken.
    fails: AtomicBool,
    /// Number of future conversions that run out of descriptors.
    starving: AtomicU64,
}

impl Converter {
    fn hold(&self, hold: bool) {
        *self.held.lock().unwrap() = hold;
        self.freed.notify_all();
    }

    fn count(&self) -> u64 {
        self.count.load(Ordering::SeqCst)
    }

    fn convert(&self, job: &Job) -> Result<Report, Failure> {
        self.count.fetch_add(1, Ordering::SeqCst);
        let text = match &job.source {
            Source::Text { text, .. } => text.to_string(),
            Source::Bytes { .. } => panic!("the node converts no bytes"),
            Source::File(path) | Source::Xacro { file: path, .. } => {
                fs::read_to_string(path).unwrap_or_else(|_| "broken".to_owned())
            }
        };
        let mut held = self.held.lock().unwrap();
        while *held && (!self.only_slow.load(Ordering::SeqCst) || text.contains("slow")) {
            held = self.freed.wait(held).unwrap();
        }
        drop(held);
        let mut used = self.used.lock().unwrap().clone();
        if let Source::File(path) = &job.source {
            used.push(path.clone());
        }
        if self
            .starving
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1))
            .is_ok()
        {
            let message = "a.stl can't be read: Too many open files";
            let diagnostic = urdf_usd_resolve::Error::too_many_open(message).at(Place::default());
            return Err(Failure {
                diagnostics: vec![diagnostic],
                used,
            });
        }
        if text.contains("panic") {
            panic!("a defect");
        }
        // A file that is being written is empty for a moment.
        if text.is_empty() || text.contains("broken") || self.fails.load(Ordering::SeqCst) {
            let place = Place {
                line: 3,
                column: 7,
                ..Place::default()
            };
            let diagnostic =
                Diagnostic::new(&super::codes::DEFECT, place, "the description is broken");
            return Err(Failure {
                diagnostics: vec![diagnostic],
                used,
            });
        }
        let content: Vec<String> = used
            .iter()
            .map(|path| fs::read_to_string(path).unwrap_or_default())
            .collect();
        let robot = super::robot_name(&text).unwrap_or_else(|| "robot".to_owned());
        let name = urdf_usd_convert::file_name(&robot);
        let directory = job.output_dir.join(&name);
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("report.json"), "{}").unwrap();
        let captured: Vec<&str> = job
            .captured
            .iter()
            .map(|captured| captured.interface.name.as_str())
            .collect();
        let now = format!("{text}{content:?}{captured:?}");
        let mut revisions = self.revisions.lock().unwrap();
        let entry = revisions.entry(directory.clone()).or_default();
        let changed = entry.1 != now;
        *entry = (entry.0 + u64::from(changed), now);
        Ok(Report {
            robot,
            status: Status::Ok,
            source: SourceInfo {
                kind: "urdf".into(),
                uri: None,
                file: None,
                sha256: String::new(),
            },
            options: Default::default(),
            revision: entry.0,
            files: vec![FileInfo {
                path: format!("{name}.glb"),
                bytes: 3,
                sha256: "00".to_owned(),
            }],
            counts: Counts::default(),
            timings_ms: Timings::default(),
            diagnostics: Vec::new(),
            root: "base".to_owned(),
            namespace: job.options.namespace.clone().unwrap_or_default(),
            directory,
            name,
            changed,
            used,
        })
    }
}

struct Bed {
    folder: tempfile::TempDir,
    node: Arc<Fake>,
    converter: Arc<Converter>,
    site: Arc<Site>,
    assets: queue::Receiver<Sample<Asset>>,
    diagnostics: queue::Receiver<Sample<DiagnosticArray>>,
    /// Returns why the engine ended.
    engine: tokio::task::JoinHandle<Diagnostic>,
}

fn bed() -> Bed {
    bed_with(|_| {})
}

fn bed_with(set: impl FnOnce(&mut Parameters)) -> Bed {
    bed_of(Fake::default(), None, set)
}

/// Creates a bed with real conversions, so that assets have frames; the counter stays 0.
fn real_bed(set: impl FnOnce(&mut Parameters)) -> Bed {
    bed_of(
        Fake::default(),
        Some(Arc::new(|job: &Job| {
            urdf_usd_convert::convert(job, &urdf_usd_convert::Context::default())
        })),
        |parameters| {
            parameters.conversion.formats =
                urdf_usd_convert::Formats::parse(&["usd".to_owned()]).unwrap();
            set(parameters);
        },
    )
}

fn bed_of(node: Fake, convert: Option<Arc<Convert>>, set: impl FnOnce(&mut Parameters)) -> Bed {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().canonicalize().unwrap().join("out");
    fs::create_dir(&own).unwrap();
    let mut parameters = fake::parameters(&own);
    parameters.conversion.resolve.allowed_roots = vec![folder.path().canonicalize().unwrap()];
    set(&mut parameters);
    let (assets, diagnostics) = (node.listen("/urdf_usd/asset"), node.listen("/diagnostics"));
    let Started {
        engine,
        node,
        converter,
        site,
    } = start(node, convert, parameters);
    Bed {
        folder,
        node,
        converter,
        site,
        assets,
        diagnostics,
        engine: tokio::spawn(engine.run()),
    }
}

/// Creates an engine that does not run yet.
struct Started {
    engine: Engine<Fake>,
    node: Arc<Fake>,
    converter: Arc<Converter>,
    site: Arc<Site>,
}

/// Starts an engine whose conversions are those of a [`Converter`], unless others are given.
fn start(node: Fake, convert: Option<Arc<Convert>>, parameters: Parameters) -> Started {
    let (node, converter) = (Arc::new(node), Arc::new(Converter::default()));
    let (site, stand_in) = (Arc::new(Site::default()), converter.clone());
    let convert = convert.unwrap_or_else(|| Arc::new(move |job: &Job| stand_in.convert(job)));
    let changes = node.changes();
    let engine = Engine::start(
        node.clone(),
        parameters,
        changes,
        (convert, Arc::new(Workers::here())),
        site.clone(),
        AssetPaths::default(),
    )
    .unwrap();
    Started {
        engine,
        node,
        converter,
        site,
    }
}

impl Bed {
    fn describe(&self, text: &str) {
        self.node.say(
            "/robot_description",
            &std_msgs::String {
                data: text.to_owned(),
            },
            1,
        );
    }

    /// Publishes on a topic, once the node has subscribed to it for descriptions.
    async fn describe_on(&self, topic: &str, text: &str, who: u8) {
        within(async {
            while !self.node.is_heard::<std_msgs::String>(topic) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        })
        .await;
        self.node.say(
            topic,
            &std_msgs::String {
                data: text.to_owned(),
            },
            who,
        );
    }

    /// Waits until a topic has no subscription.
    async fn unheard(&self, topic: &str) {
        within(async {
            while self.node.listeners(topic) > 0 {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        })
        .await;
    }

    /// Waits until a topic has a subscription.
    async fn heard(&self, topic: &str) {
        within(async {
            while self.node.listeners(topic) == 0 {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        })
        .await;
    }

    /// Waits until `wanted` holds for the robot with this key on the page.
    async fn shows(&self, key: &str, wanted: impl Fn(&RobotView) -> bool) {
        within(async {
            while !self.site.robot(key).is_some_and(|robot| wanted(&robot)) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        })
        .await;
    }

    async fn asset(&mut self) -> Asset {
        within(self.assets.next()).await.unwrap().message
    }

    /// Returns the first status from now on for which `accept` holds.
    async fn status(&mut self, accept: impl Fn(&DiagnosticStatus) -> bool) -> DiagnosticStatus {
        while self.diagnostics.try_next().is_some() {}
        within(async {
            loop {
                let array = self.diagnostics.next().await.unwrap().message;
                if let Some(status) = array.status.into_iter().find(&accept) {
                    return status;
                }
            }
        })
        .await
    }

    /// Waits until the page lists `count` robots, which follows the announcement of their assets.
    async fn listed(&self, count: usize) {
        within(async {
            while self.site.robots().len() != count {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        })
        .await;
    }

    async fn converting(&self, count: u64) {
        within(async {
            while self.converter.count() < count {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
}

async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future)
        .await
        .expect("in time")
}

const TWO: &str = "<robot name='arm'><link name='two'/></robot>";

#[tokio::test(flavor = "multi_thread")]
async fn a_description_becomes_an_announced_asset() {
    let mut bed = bed();
    let stale = bed.status(|s| s.name == "urdf_usd: conversion").await;
    assert_eq!(stale.level, DiagnosticStatus::STALE);
    bed.describe("<robot name='arm'/>");
    let asset = bed.asset().await;
    assert_eq!((asset.robot.as_str(), asset.revision), ("arm", 1));
    assert!(
        asset.glb.ends_with("/out/arm/arm.glb") && asset.entry.is_empty(),
        "{asset:?}"
    );
    let status = bed
        .status(|s| s.name == "urdf_usd: conversion of arm")
        .await;
    assert_eq!(
        (status.level, status.hardware_id.as_str()),
        (DiagnosticStatus::OK, "arm")
    );
    bed.listed(1).await;
    assert_eq!(bed.site.robots()[0].revision, Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_conversion_runs_only_the_newest_waits() {
    let mut bed = bed();
    bed.converter.hold(true);
    bed.describe("<robot name='arm'/>");
    bed.converting(1).await;
    for n in 0..50 {
        bed.describe(&format!("<robot name='arm'><link name='l{n}'/></robot>"));
    }
    bed.describe(TWO);
    // Another robot is not blocked in the queue, only by the converter.
    bed.describe("<robot name='rover'/>");
    bed.converting(2).await;
    bed.converter.hold(false);
    let mut seen = Vec::new();
    for _ in 0..3 {
        let asset = bed.asset().await;
        seen.push((asset.robot, asset.revision));
    }
    seen.sort();
    assert_eq!(
        seen,
        [
            ("arm".to_owned(), 1),
            ("arm".to_owned(), 2),
            ("rover".to_owned(), 1)
        ]
    );
    assert_eq!(bed.converter.count(), 3);
    let newest = bed
        .converter
        .revisions
        .lock()
        .unwrap()
        .values()
        .any(|(_, text)| text.starts_with(TWO));
    assert!(newest);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_again_is_not_converted_again() {
    let mut bed = bed();
    bed.describe("<robot name='arm'/>");
    bed.asset().await;
    bed.describe("<robot name='arm'/>");
    // A third robot is converted after it, so it was processed.
    bed.describe("<robot name='rover'/>");
    assert_eq!(bed.asset().await.robot, "rover");
    assert_eq!(bed.converter.count(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_description_leaves_the_last_asset_and_is_reported() {
    let mut bed = bed();
    bed.describe("<robot name='arm'/>");
    bed.asset().await;
    bed.describe("<robot name='arm'>broken</robot>");
    let status = bed.status(|s| s.level == DiagnosticStatus::ERROR).await;
    assert_eq!(status.name, "urdf_usd: conversion of arm");
    assert!(
        status.message.contains(":3:7: error") && status.message.contains("revision 1 is kept"),
        "{}",
        status.message
    );
    let view = bed.site.robots()[0].clone();
    assert_eq!((view.revision, view.diagnostics.len()), (Some(1), 1));
    bed.describe(TWO);
    assert_eq!(bed.asset().await.revision, 2);
    bed.status(|s| s.level == DiagnosticStatus::OK).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_defect_costs_one_conversion_and_a_huge_description_none() {
    let mut bed = bed();
    bed.describe("<robot name='arm'>panic</robot>");
    let status = bed.status(|s| s.level == DiagnosticStatus::ERROR).await;
    assert!(status.message.contains("a defect"), "{}", status.message);
    bed.describe(&format!(
        "<robot name='huge'><!--{}--></robot>",
        "x".repeat(16 << 20)
    ));
    let status = bed.status(|s| s.name.ends_with("of huge")).await;
    assert!(
        status.message.contains("more than 16777216") && status.level == DiagnosticStatus::ERROR,
        "{}",
        status.message
    );
    bed.describe("<robot name='arm'/>");
    assert_eq!(bed.asset().await.robot, "arm");
    assert_eq!(bed.converter.count(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_file_makes_a_revision_and_a_mended_name_leaves_no_ghost() {
    let mut bed = bed();
    let mesh = bed.folder.path().canonicalize().unwrap().join("a.stl");
    fs::write(&mesh, "one").unwrap();
    bed.converter.used.lock().unwrap().push(mesh.clone());
    bed.describe("<robot name='brm'>broken</robot>");
    bed.status(|s| s.name == "urdf_usd: conversion of brm")
        .await;
    bed.describe("<robot name='arm'/>");
    assert_eq!(bed.asset().await.revision, 1);
    bed.listed(1).await;
    fs::write(&mesh, "two").unwrap();
    assert_eq!(bed.asset().await.revision, 2);
    fs::remove_file(&mesh).unwrap();
    assert_eq!(bed.asset().await.revision, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_are_answered() {
    let mut bed = bed();
    let call = |request| bed.node.ask::<ConvertService>("/convert", request);
    let empty = within(call(ConvertRequest::default())).await;
    assert!(
        !empty.success
            && empty
                .message
                .contains("no robot description was received on /robot_description"),
        "{}",
        empty.message
    );
    bed.describe("<robot name='arm'/>");
    bed.asset().await;
    let call = |request| bed.node.ask::<ConvertService>("/convert", request);
    let again = within(call(ConvertRequest::default())).await;
    assert!(
        again.success && again.message.contains("already current: revision 1"),
        "{}",
        again.message
    );
    assert!(
        again.files[0].ends_with("/out/arm/arm.glb") && again.report.contains("\"revision\": 1")
    );
    let both = within(call(ConvertRequest {
        urdf: "a".into(),
        uri: "b".into(),
        ..Default::default()
    }))
    .await;
    assert!(
        !both.success && both.message.contains("both"),
        "{}",
        both.message
    );
    let bad = within(call(ConvertRequest {
        urdf: "<robot name='x'>broken".into(),
        ..Default::default()
    }))
    .await;
    assert!(
        !bad.success && bad.message.contains(":3:7: error"),
        "{}",
        bad.message
    );
    let path = bed.folder.path().canonicalize().unwrap().join("dog.urdf");
    fs::write(&path, "<robot name='dog'/>").unwrap();
    let request = ConvertRequest {
        uri: path.display().to_string(),
        output_dir: "sub".into(),
        ..Default::default()
    };
    let file = within(call(request)).await;
    assert!(
        file.success && file.files[0].ends_with("/out/sub/dog/dog.glb"),
        "{file:?}"
    );
    let asset = bed.asset().await;
    assert_eq!(
        (
            asset.robot.as_str(),
            asset.directory.ends_with("/out/sub/dog")
        ),
        ("dog", true)
    );
    // The URDF file is watched from now on.
    fs::write(&path, "<robot name='dog'><link name='tail'/></robot>").unwrap();
    assert_eq!(bed.asset().await.revision, 2);
    bed.listed(2).await;
    assert_eq!(
        bed.site
            .robots()
            .iter()
            .map(|r| r.key.clone())
            .collect::<Vec<_>>(),
        ["arm", "sub/dog"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn many_calls_at_once_are_all_answered() {
    let bed = bed();
    bed.converter.hold(true);
    let request = |n: usize| ConvertRequest {
        urdf: format!("<robot name='r{}'><link name='l{n}'/></robot>", n % 7),
        ..Default::default()
    };
    let waiting: Vec<_> = (0..60)
        .map(|n| {
            bed.node
                .start_call::<ConvertService>("/convert", request(n))
        })
        .collect();
    bed.converting(2).await;
    bed.converter.hold(false);
    for answer in waiting {
        assert!(within(answer).await.unwrap().success);
    }
    // In the order of the calls, so the last text of each robot is on disk.
    for (directory, (_, text)) in &*bed.converter.revisions.lock().unwrap() {
        let robot: usize = directory.file_name().unwrap().to_str().unwrap()[1..]
            .parse()
            .unwrap();
        let last = (0..60).filter(|n| n % 7 == robot).max().unwrap();
        assert!(text.contains(&format!("'l{last}'")), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn frames_without_usd_or_robot_are_refused_with_the_reason() {
    let mut bed = bed();
    let check = |robot: &str| {
        bed.node.ask::<CheckFrames>(
            "/urdf_usd/check_frames",
            CheckFramesRequest {
                robot: robot.into(),
                frames: vec![],
            },
        )
    };
    let none = within(check("")).await;
    assert!(
        !none.success && none.message.contains("/robot_description"),
        "{}",
        none.message
    );
    bed.describe("<robot name='arm'/>");
    bed.asset().await;
    let check = |robot: &str| {
        bed.node.ask::<CheckFrames>(
            "/urdf_usd/check_frames",
            CheckFramesRequest {
                robot: robot.into(),
                frames: vec![],
            },
        )
    };
    let other = within(check("rover")).await;
    assert!(
        !other.success && other.message.contains("\"rover\"") && other.message.contains("arm"),
        "{}",
        other.message
    );
    let no_usd = within(check("arm")).await;
    assert!(
        !no_usd.success && no_usd.message.contains("has no USD"),
        "{}",
        no_usd.message
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_parameter_holds_from_the_next_conversion() {
    let mut bed = bed();
    // The parameter's rule rejects it first; an invalid value changes nothing.
    bed.node
        .set("formats", Value::StringArray(vec!["stl".into()]));
    bed.node
        .set("asset_namespace", Value::String("left".into()));
    bed.node.set("diagnostics_period", Value::Double(0.1));
    // A description may overtake the change.
    for n in 0.. {
        bed.describe(&format!("<robot name='arm'><link name='l{n}'/></robot>"));
        if bed.asset().await.ros_namespace == "left" {
            break;
        }
        assert!(n < 100, "the change does not come");
    }
    bed.status(|s| s.level == DiagnosticStatus::OK).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_source_that_is_written_late_gives_way_to_the_newer() {
    let mut bed = bed();
    let path = bed.folder.path().canonicalize().unwrap().join("dog.urdf");
    fs::write(&path, "<robot name='arm'><!-- slow --></robot>").unwrap();
    bed.converter.only_slow.store(true, Ordering::SeqCst);
    bed.converter.hold(true);
    let request = ConvertRequest {
        uri: path.display().to_string(),
        ..Default::default()
    };
    let call = bed.node.start_call::<ConvertService>("/convert", request);
    bed.converting(1).await;
    bed.describe(TWO);
    assert_eq!(bed.asset().await.revision, 1);
    bed.converter.hold(false);
    assert!(within(call).await.unwrap().success);
    // Revision 2 was that of the call, which does not replace the running robot.
    assert_eq!(bed.asset().await.revision, 3);
    assert!(
        bed.converter
            .revisions
            .lock()
            .unwrap()
            .values()
            .all(|(_, text)| text.starts_with(TWO))
    );
}

/// Returns the page's JSON for a path.
async fn get_json(address: SocketAddr, path: &str) -> serde_json::Value {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn joint_states_and_their_end_reach_clients() {
    let bed = bed();
    let server = Server::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let url = format!("ws://{}/joints", server.address());
    tokio::spawn(server.serve(bed.site.clone()));
    let mut socket = tokio_tungstenite::connect_async(url).await.unwrap().0;
    let mut state = async || loop {
        if let Message::Text(text) = within(socket.next()).await.unwrap().unwrap() {
            return serde_json::from_str::<serde_json::Value>(&text).unwrap();
        }
    };
    assert_eq!(state().await["live"], false);
    let header = Header {
        stamp: Time {
            sec: 7,
            nanosec: 500_000_000,
        },
        ..Header::default()
    };
    let say = |names: &[&str], position: &[f64]| {
        let name = names.iter().map(|name| (*name).to_owned()).collect();
        let message = JointState {
            header: header.clone(),
            name,
            position: position.to_vec(),
            ..JointState::default()
        };
        bed.node.say("/joint_states", &message, 1);
    };
    say(&["hip", "knee", "nameless"], &[0.5, -0.25]);
    let first = state().await;
    assert_eq!(
        (&first["live"], &first["stamp"]),
        (&true.into(), &7.5.into())
    );
    assert_eq!(
        first["positions"],
        serde_json::json!({ "hip": 0.5, "knee": -0.25 })
    );
    // Another publisher with other joints, and with more positions than names.
    say(&["grip"], &[0.01, 9.0]);
    assert_eq!(
        state().await["positions"],
        serde_json::json!({ "grip": 0.01, "hip": 0.5, "knee": -0.25 })
    );
    // Joint states end: the last positions stay.
    let last = state().await;
    assert_eq!(
        (&last["live"], &last["positions"]["hip"]),
        (&false.into(), &0.5.into())
    );
    say(&["hip"], &[0.75]);
    let again = state().await;
    assert_eq!(
        (&again["live"], &again["positions"]["hip"]),
        (&true.into(), &0.75.into())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_robot_without_usd_has_a_tf_tree() {
    let mut bed = bed();
    let server = Server::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = server.address();
    tokio::spawn(server.serve(bed.site.clone()));
    bed.describe("<robot name='arm'/>");
    bed.asset().await;
    bed.listed(1).await;
    assert_eq!(
        get_json(address, "/api/frames/arm").await,
        serde_json::json!({ "frames": [], "causes": [], "tf": [] })
    );
    let said = |parent, child| TFMessage {
        transforms: vec![transform(parent, child, 1.0)],
    };
    bed.node.say("/tf", &said("/base", "tool"), 1);
    bed.node.say("/tf_static", &said("world", "base"), 1);
    let tree = within(async {
        loop {
            let tree = get_json(address, "/api/frames/arm").await["tf"].clone();
            if tree.as_array().is_some_and(|tree| tree.len() == 2) {
                return tree;
            }
        }
    })
    .await;
    let edges: Vec<_> = (0..2)
        .map(|n| {
            (
                tree[n]["frame"].as_str(),
                tree[n]["parent"].as_str(),
                tree[n]["static"].as_bool(),
            )
        })
        .collect();
    assert_eq!(
        edges,
        [
            (Some("base"), Some("world"), Some(true)),
            (Some("tool"), Some("base"), Some(false))
        ]
    );
    assert!(
        (0..2).all(|n| (0.0..20.0).contains(&tree[n]["age"].as_f64().unwrap())),
        "{tree}"
    );
}

const STRING: &str = "std_msgs/msg/String";
const TF: &str = "tf2_msgs/msg/TFMessage";

/// Returns a graph of publishers, each with topic, type and identity.
fn graph(publishers: &[(&str, &str, u8)]) -> Graph {
    let end = |(topic, kind, who): &(&str, &str, u8)| TopicEnd {
        topic: (*topic).to_owned(),
        type_name: (*kind).to_owned(),
        role: TopicRole::Publisher,
        node: None,
        id: Some(PublisherId([*who; 16])),
        qos: None,
    };
    Graph {
        topics: publishers.iter().map(end).collect(),
        ..Graph::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_robots_in_namespaces_are_robots_of_their_own() {
    let mut bed = bed_with(|parameters| {
        parameters.discover = true;
        // Applies to the node's own robot only: no two robots may share a namespace.
        parameters.conversion.namespace = Some("own".to_owned());
    });
    let (r1, r2) = ("/r1/robot_description", "/fleet/r2/robot_description");
    bed.node.set_graph(graph(&[
        (r1, STRING, 2),
        (r2, STRING, 3),
        ("/robot_description", STRING, 1),
        ("/r3/robot_description", "std_msgs/msg/Header", 4),
        ("/r4/my_robot_description", STRING, 5),
    ]));
    bed.describe_on(r1, TWO, 2).await;
    bed.describe_on(r2, TWO, 3).await;
    bed.describe(TWO);
    let mut seen = Vec::new();
    for _ in 0..3 {
        let asset = bed.asset().await;
        let folder = asset.directory.split_once("/out/").unwrap().1.to_owned();
        seen.push((folder, asset.ros_namespace, asset.revision));
    }
    seen.sort();
    let expected = [
        ("arm", "own"),
        ("fleet/r2/arm", "fleet/r2"),
        ("r1/arm", "r1"),
    ];
    assert_eq!(
        seen,
        expected.map(|(folder, namespace)| (folder.to_owned(), namespace.to_owned(), 1))
    );
    bed.listed(3).await;
    let listed: Vec<_> = bed
        .site
        .robots()
        .iter()
        .map(|robot| (robot.key.clone(), robot.namespace.clone()))
        .collect();
    let expected = [
        ("arm", "/"),
        ("fleet/r2/arm", "/fleet/r2"),
        ("r1/arm", "/r1"),
    ];
    assert_eq!(
        listed,
        expected.map(|(key, namespace)| (key.to_owned(), namespace.to_owned()))
    );
    // The own topic has one subscription, and no other topic is followed.
    assert_eq!(bed.converter.count(), 3);
    for topic in ["/r3/robot_description", "/r4/my_robot_description"] {
        assert_eq!(bed.node.listeners(topic), 0, "{topic}");
    }
    // Topics in the namespaces are subscribed to only if they have publishers.
    assert_eq!(
        (bed.node.listeners("/r1/tf"), bed.node.listeners("/tf")),
        (0, 1)
    );
    let check = |robot: &str| {
        bed.node.ask::<CheckFrames>(
            "/urdf_usd/check_frames",
            CheckFramesRequest {
                robot: robot.into(),
                frames: vec![],
            },
        )
    };
    let several = within(check("arm")).await;
    assert!(
        several.message.contains("has no USD"),
        "a key is taken first: {}",
        several.message
    );
    // A call without a source converts the last described robot.
    let last = within(
        bed.node
            .ask::<ConvertService>("/convert", ConvertRequest::default()),
    )
    .await;
    assert!(
        last.success && last.message.contains("already current: revision 1"),
        "{}",
        last.message
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_several_robots_have_is_asked_back() {
    let bed = bed_with(|parameters| parameters.discover = true);
    let (r1, r2) = ("/r1/robot_description", "/r2/robot_description");
    bed.node
        .set_graph(graph(&[(r1, STRING, 2), (r2, STRING, 3)]));
    bed.describe_on(r1, TWO, 2).await;
    bed.describe_on(r2, TWO, 3).await;
    bed.listed(2).await;
    let check = async |robot: &str| {
        let request = CheckFramesRequest {
            robot: robot.into(),
            frames: vec![],
        };
        within(
            bed.node
                .ask::<CheckFrames>("/urdf_usd/check_frames", request),
        )
        .await
        .message
    };
    let several = check("arm").await;
    assert!(
        several.contains("several robots") && several.contains("r1/arm, r2/arm"),
        "{several}"
    );
    assert!(check("r2/arm").await.contains("has no USD"));
}

#[tokio::test(flavor = "multi_thread")]
async fn robots_leave_and_come_back() {
    let mut bed = bed_with(|parameters| parameters.discover = true);
    let (r1, r2) = ("/r1/robot_description", "/r2/robot_description");
    let (both, one) = (
        graph(&[(r1, STRING, 2), (r2, STRING, 3)]),
        graph(&[(r2, STRING, 3)]),
    );
    bed.node.set_graph(both);
    bed.describe_on(r1, TWO, 2).await;
    bed.describe_on(r2, TWO, 3).await;
    bed.shows("r1/arm", |robot| robot.presence == Presence::Live)
        .await;
    bed.shows("r2/arm", |robot| robot.presence == Presence::Live)
        .await;
    bed.node.set_graph(one);
    bed.shows("r1/arm", |robot| {
        robot.presence == Presence::Gone && robot.revision == Some(1)
    })
    .await;
    let status = bed
        .status(|s| s.name == "urdf_usd: conversion of r1/arm")
        .await;
    assert_eq!(status.level, DiagnosticStatus::STALE);
    assert!(
        status.message.starts_with("gone: ") && status.message.contains(r1),
        "{}",
        status.message
    );
    assert_eq!(
        bed.status(|s| s.name.ends_with("of r2/arm")).await.level,
        DiagnosticStatus::OK
    );
    bed.unheard(r1).await;
    // Another process publishes the same again.
    bed.node
        .set_graph(graph(&[(r1, STRING, 4), (r2, STRING, 3)]));
    bed.describe_on(r1, TWO, 4).await;
    bed.shows("r1/arm", |robot| robot.presence == Presence::Live)
        .await;
    assert_eq!(
        bed.status(|s| s.name == "urdf_usd: conversion of r1/arm")
            .await
            .level,
        DiagnosticStatus::OK
    );
    assert_eq!((bed.site.robots().len(), bed.converter.count()), (2, 2));
    // Without discovery, discovered topics are no longer followed.
    bed.node.set("discover", Value::Bool(false));
    bed.shows("r1/arm", |robot| robot.presence == Presence::Gone)
        .await;
    bed.shows("r2/arm", |robot| robot.presence == Presence::Gone)
        .await;
    bed.unheard(r2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_whose_requests_can_t_be_answered_are_named_in_diagnostics() {
    let mut bed = bed();
    let this = bed.node.fully_qualified_name().to_string();
    let end = |role, node: &str, is_reachable| ServiceEnd {
        service: "/convert".to_owned(),
        type_name: "urdf_usd/srv/Convert".to_owned(),
        role,
        node: Some(node.to_owned()),
        is_reachable,
    };
    let server = end(ServiceRole::Server, &this, true);
    let with = |client| Graph {
        services: vec![end(ServiceRole::Client, "/cli", client), server.clone()],
        ..Graph::default()
    };
    bed.node.set_graph(with(false));
    let status = bed.status(|s| s.name == "urdf_usd: services").await;
    assert_eq!(
        (status.level, value(&status, "clients first")),
        (DiagnosticStatus::WARN, Some("/cli (/convert)"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_nodes_own_robot_leaves_when_its_last_publisher_does() {
    let mut bed = bed();
    let topic = "/robot_description";
    bed.node
        .set_graph(graph(&[(topic, STRING, 1), (topic, STRING, 2)]));
    bed.describe(TWO);
    bed.node.say(
        topic,
        &std_msgs::String {
            data: TWO.to_owned(),
        },
        2,
    );
    bed.asset().await;
    bed.shows("arm", |robot| robot.presence == Presence::Live)
        .await;
    bed.node.set_graph(graph(&[(topic, STRING, 2)]));
    tokio::time::sleep(Duration::from_millis(300)).await;
    bed.shows("arm", |robot| robot.presence == Presence::Live)
        .await;
    bed.node
        .set_graph(graph(&[("/rosout", "rcl_interfaces/msg/Log", 9)]));
    bed.shows("arm", |robot| robot.presence == Presence::Gone)
        .await;
    let request = CheckFramesRequest {
        robot: "arm".into(),
        frames: vec![],
    };
    let answer = within(
        bed.node
            .ask::<CheckFrames>("/urdf_usd/check_frames", request),
    )
    .await;
    assert!(
        !answer.success && answer.message.contains("is gone"),
        "{}",
        answer.message
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn joint_states_and_transforms_of_a_namespace_are_its_robots() {
    let bed = bed_with(|parameters| parameters.discover = true);
    let topic = "/r1/robot_description";
    bed.node.set_graph(graph(&[
        (topic, STRING, 2),
        ("/r1/joint_states", "sensor_msgs/msg/JointState", 2),
        ("/r1/tf", TF, 2),
    ]));
    bed.describe_on(topic, TWO, 2).await;
    bed.listed(1).await;
    let server = Server::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = server.address();
    tokio::spawn(server.serve(bed.site.clone()));
    let mut socket = tokio_tungstenite::connect_async(format!("ws://{address}/joints"))
        .await
        .unwrap()
        .0;
    bed.heard("/r1/joint_states").await;
    bed.heard("/r1/tf").await;
    let say = |topic: &str, position: f64| {
        let message = JointState {
            name: vec!["hip".into()],
            position: vec![position],
            ..JointState::default()
        };
        bed.node.say(topic, &message, 1);
    };
    say("/joint_states", 0.5);
    say("/r1/joint_states", 0.75);
    let mut heard = std::collections::BTreeMap::new();
    within(async {
        while heard.len() < 2 {
            let Message::Text(text) = socket.next().await.unwrap().unwrap() else {
                continue;
            };
            let state: serde_json::Value = serde_json::from_str(&text).unwrap();
            if state["live"] == true {
                heard.insert(
                    state["robot"].as_str().map(str::to_owned),
                    state["positions"]["hip"].as_f64(),
                );
            }
        }
    })
    .await;
    assert_eq!(
        heard,
        [(None, Some(0.5)), (Some("r1/arm".to_owned()), Some(0.75))].into()
    );
    // Transforms in the namespace take precedence over shared ones.
    let tree = async |root: &str| {
        within(async {
            loop {
                let tree = get_json(address, "/api/frames/r1/arm").await["tf"].clone();
                if tree[0]["parent"] == root {
                    return tree.as_array().map(Vec::len);
                }
            }
        })
        .await
    };
    bed.node.say(
        "/tf",
        &TFMessage {
            transforms: vec![transform("everybody", "tool", 1.0)],
        },
        1,
    );
    assert_eq!(tree("everybody").await, Some(1));
    bed.node.say(
        "/r1/tf",
        &TFMessage {
            transforms: vec![transform("own", "tool", 1.0)],
        },
        1,
    );
    assert_eq!(tree("own").await, Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nodes_parameter_is_read_where_no_topic_is_heard() {
    let mut bed = bed_with(|parameters| parameters.description_from = Some("/*".to_owned()));
    let mut requests = bed
        .node
        .answer::<GetParameters>("/r1/robot_state_publisher/get_parameters");
    let mut others = bed.node.answer::<GetParameters>("/r1/a/get_parameters");
    let nodes = ["/r1/a", "/r1/robot_state_publisher", "/urdf_usd"]
        .map(str::to_owned)
        .to_vec();
    bed.node.set_graph(Graph {
        nodes,
        ..graph(&[("/rosout", "rcl_interfaces/msg/Log", 9)])
    });
    let call = within(requests.next()).await.unwrap();
    assert_eq!(call.request.names, ["robot_description"]);
    call.responder
        .send(GetParametersResponse {
            values: vec![Value::String(TWO.to_owned()).into()],
        })
        .unwrap();
    let asset = bed.asset().await;
    assert!(
        asset.directory.ends_with("/out/arm"),
        "without discovery it is the node's own robot: {}",
        asset.directory
    );
    bed.shows("arm", |robot| robot.presence == Presence::Live)
        .await;
    // A node without the parameter is no robot, and one answer is enough.
    assert!(
        tokio::time::timeout(Duration::from_millis(1500), others.next())
            .await
            .is_err()
    );
    bed.node
        .set_graph(graph(&[("/rosout", "rcl_interfaces/msg/Log", 9)]));
    bed.shows("arm", |robot| robot.presence == Presence::Gone)
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_converted_and_followed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap().join("my.urdf");
    let mut bed = bed_with(|parameters| parameters.urdf_file = Some(path.clone()));
    // It appears late, is broken, and is fixed under a name other than the file's.
    fs::write(&path, "<robot name='arm'>broken</robot>").unwrap();
    bed.status(|s| s.name == "urdf_usd: conversion of my" && s.level == DiagnosticStatus::ERROR)
        .await;
    fs::write(&path, "<robot name='arm'/>").unwrap();
    assert_eq!(bed.asset().await.revision, 1);
    bed.listed(1).await;
    fs::write(&path, TWO).unwrap();
    assert_eq!(bed.asset().await.revision, 2);
    // Another description of the node's own robot does not replace it.
    bed.describe("<robot name='arm'><link name='other'/></robot>");
    fs::write(&path, "<robot name='arm'><link name='three'/></robot>").unwrap();
    assert_eq!(bed.asset().await.revision, 3);
    assert_eq!(bed.site.robots().len(), 1);
    // A call without a description converts the file.
    let answer = within(
        bed.node
            .ask::<ConvertService>("/convert", ConvertRequest::default()),
    )
    .await;
    assert!(
        answer.success && answer.message.contains("already current: revision 3"),
        "{}",
        answer.message
    );
    bed.node.set("urdf_file", Value::String(String::new()));
    bed.shows("arm", |robot| robot.presence == Presence::Gone)
        .await;
    // Without a file, descriptions count again, until there is one.
    bed.describe("<robot name='dog'/>");
    bed.shows("dog", |robot| robot.presence == Presence::Live)
        .await;
    bed.node
        .set("urdf_file", Value::String(path.display().to_string()));
    bed.shows("dog", |robot| {
        robot.presence == Presence::Gone && robot.message.contains("is converted instead of")
    })
    .await;
    bed.shows("arm", |robot| robot.presence == Presence::Live)
        .await;
}

/// Returns a value of a status.
fn value<'a>(status: &'a DiagnosticStatus, key: &str) -> Option<&'a str> {
    status
        .values
        .iter()
        .find(|value| value.key == key)
        .map(|value| value.value.as_str())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_robot_that_left_during_its_conversion_stays_gone() {
    let mut bed = bed();
    let topic = "/robot_description";
    let mesh = bed.folder.path().canonicalize().unwrap().join("a.stl");
    fs::write(&mesh, "one").unwrap();
    bed.converter.used.lock().unwrap().push(mesh.clone());
    bed.node.set_graph(graph(&[(topic, STRING, 1)]));
    bed.describe(TWO);
    bed.shows("arm", |robot| {
        robot.presence == Presence::Live && robot.revision == Some(1)
    })
    .await;
    bed.asset().await;
    bed.node
        .set_graph(graph(&[("/rosout", "rcl_interfaces/msg/Log", 9)]));
    bed.shows("arm", |robot| robot.presence == Presence::Gone)
        .await;
    let since = value(&bed.status(|s| s.name.ends_with("of arm")).await, "gone").map(str::to_owned);
    assert!(since.is_some());
    // Then a conversion from a file that changes, and one that fails.
    for (content, revision) in [("two", 2), ("three", 3)] {
        fs::write(&mesh, content).unwrap();
        assert_eq!(bed.asset().await.revision, revision);
        let status = bed.status(|s| s.name.ends_with("of arm")).await;
        assert_eq!(
            (value(&status, "gone"), value(&status, "revision")),
            (since.as_deref(), Some(&*revision.to_string()))
        );
    }
    bed.converter.used.lock().unwrap().clear();
    bed.converter.fails.store(true, Ordering::SeqCst);
    fs::write(&mesh, "four").unwrap();
    let status = bed
        .status(|s| s.name.ends_with("of arm") && value(s, "errors") == Some("1"))
        .await;
    assert_eq!(
        (value(&status, "gone"), status.level),
        (since.as_deref(), DiagnosticStatus::STALE)
    );
    bed.converter.fails.store(false, Ordering::SeqCst);
    bed.node.set_graph(graph(&[(topic, STRING, 2)]));
    bed.node.say(
        topic,
        &std_msgs::String {
            data: TWO.to_owned(),
        },
        2,
    );
    bed.shows("arm", |robot| robot.presence == Presence::Live)
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_robot_of_another_name_takes_the_place_of_what_its_publisher_described() {
    let mut bed = bed();
    let topic = "/robot_description";
    bed.node
        .set_graph(graph(&[(topic, STRING, 1), (topic, STRING, 2)]));
    bed.describe(TWO);
    bed.node.say(
        topic,
        &std_msgs::String {
            data: "<robot name='dog'/>".to_owned(),
        },
        2,
    );
    bed.shows("arm", |robot| robot.presence == Presence::Live)
        .await;
    bed.shows("dog", |robot| robot.presence == Presence::Live)
        .await;
    bed.describe("<robot name='crane'/>");
    bed.shows("arm", |robot| {
        robot.presence == Presence::Gone && robot.revision == Some(1)
    })
    .await;
    bed.shows("crane", |robot| robot.presence == Presence::Live)
        .await;
    bed.shows("dog", |robot| robot.presence == Presence::Live)
        .await;
    let status = bed.status(|s| s.name.ends_with("of arm")).await;
    assert!(
        status.message.starts_with("gone: ") && status.message.contains("revision 1 is kept"),
        "{}",
        status.message
    );
    assert!(bed.folder.path().join("out/arm/report.json").exists());
    // Even while the first is still in progress; and back again.
    bed.converter.hold(true);
    bed.describe("<robot name='arm'><link name='three'/></robot>");
    bed.converting(4).await;
    bed.describe("<robot name='crane'/>");
    bed.shows("crane", |robot| robot.presence == Presence::Live)
        .await;
    bed.converter.hold(false);
    bed.shows("arm", |robot| {
        robot.presence == Presence::Gone && robot.revision == Some(2)
    })
    .await;
    bed.describe(TWO);
    bed.shows("arm", |robot| {
        robot.presence == Presence::Live && robot.revision == Some(3)
    })
    .await;
    bed.shows("crane", |robot| robot.presence == Presence::Gone)
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_the_parameter_names_again_is_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap().join("arm.urdf");
    fs::write(&path, TWO).unwrap();
    let bed = bed_with(|parameters| parameters.urdf_file = Some(path.clone()));
    bed.shows("arm", |robot| robot.presence == Presence::Live)
        .await;
    bed.node.set("urdf_file", Value::String(String::new()));
    bed.shows("arm", |robot| robot.presence == Presence::Gone)
        .await;
    bed.node
        .set("urdf_file", Value::String(path.display().to_string()));
    bed.shows("arm", |robot| {
        robot.presence == Presence::Live && robot.revision == Some(1)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_longest_gone_robots_are_evicted() {
    let most = 256;
    let bed = bed();
    let mut before = None;
    for n in 0..most + 20 {
        let key = format!("r{n}");
        bed.describe(&format!("<robot name='{key}'/>"));
        bed.shows(&key, |robot| robot.presence == Presence::Live)
            .await;
        if let Some(before) = before.replace(key) {
            bed.shows(&before, |robot| robot.presence == Presence::Gone)
                .await;
        }
    }
    bed.listed(most + 1).await;
    assert!(
        bed.site.robot("r18").is_none() && bed.site.robot("r19").is_some(),
        "the longest gone go first"
    );
    assert!(bed.folder.path().join("out/r0/report.json").exists());
    // It is like new when it is described again.
    bed.describe("<robot name='r0'/>");
    bed.shows("r0", |robot| {
        robot.presence == Presence::Live && robot.revision == Some(1)
    })
    .await;
}

/// A base, a tool on a fixed joint, and a camera on the tool.
const REAL: &str = "<robot name='arm'>\
    <link name='base'><visual><geometry><box size='1 1 1'/></geometry></visual></link>\
    <link name='tool'><visual><geometry><box size='1 1 1'/></geometry></visual></link>\
    <joint name='flange' type='fixed'><parent link='base'/><child link='tool'/><origin xyz='1 0 0'/></joint>\
    <gazebo reference='tool'><sensor name='eye' type='camera'><topic>image</topic><camera><horizontal_fov>1</horizontal_fov>\
    <image><width>640</width><height>480</height></image></camera></sensor></gazebo></robot>";

impl Bed {
    /// Publishes the tool repeatedly on the static topic of a namespace until `wanted` holds for
    /// the status of the frames.
    async fn with_tool_on(
        &mut self,
        namespace: &str,
        wanted: impl Fn(&DiagnosticStatus) -> bool,
    ) -> DiagnosticStatus {
        let topic = format!("{namespace}/tf_static");
        self.heard(&topic).await;
        let node = self.node.clone();
        let saying = tokio::spawn(async move {
            loop {
                node.say(
                    &topic,
                    &TFMessage {
                        transforms: vec![transform("base", "tool", 1.0)],
                    },
                    7,
                );
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
        let status = self
            .status(|s| s.name.ends_with("frames of arm") && wanted(s))
            .await;
        saying.abort();
        status
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn frames_are_heard_in_the_namespace_that_the_asset_declares() {
    let mut bed = real_bed(|parameters| parameters.conversion.namespace = Some("left".to_owned()));
    let tf = |namespace: &str| {
        graph(&[
            ("/robot_description", STRING, 1),
            (&format!("{namespace}/tf_static"), TF, 7),
        ])
    };
    bed.node.set_graph(tf("/left"));
    bed.describe(REAL);
    assert_eq!(bed.asset().await.ros_namespace, "left");
    let status = bed
        .with_tool_on("/left", |status| status.level == DiagnosticStatus::OK)
        .await;
    assert!(!status.message.contains("heard on"), "{}", status.message);
    // Changes at run time apply too.
    bed.node
        .set("asset_namespace", Value::String("right".into()));
    bed.node.set_graph(tf("/right"));
    bed.unheard("/left/tf_static").await;
    bed.describe(
        &REAL
            .replace("'arm'", "'brm'")
            .replace("'brm'", "'arm' version='2'"),
    );
    let status = bed
        .with_tool_on("/right", |status| status.level == DiagnosticStatus::OK)
        .await;
    assert!(!status.message.contains("heard on"), "{}", status.message);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_robot_with_a_camera_that_is_heard_nowhere_is_looked_for_elsewhere() {
    let mut bed = real_bed(|_| {});
    let ends = [
        ("/robot_description", STRING, 1),
        ("/r9/tf_static", TF, 7),
        ("/news", STRING, 8),
    ];
    bed.node.set_graph(graph(&ends[..2]));
    bed.describe(REAL);
    let status = bed
        .with_tool_on("/r9", |status| status.message.contains("/r9/tf_static"))
        .await;
    assert_eq!(status.level, DiagnosticStatus::WARN);
    // The camera's optical frame is ok without being received; that proves nothing about where the
    // robot is.
    bed.node.set_graph(graph(&ends));
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(bed.node.listeners("/r9/tf_static"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn static_transforms_stay_when_their_publisher_leaves() {
    let mut bed = real_bed(|_| {});
    let description = ("/robot_description", STRING, 1);
    bed.node
        .set_graph(graph(&[description, ("/tf_static", TF, 7)]));
    bed.describe(REAL);
    bed.with_tool_on("", |status| status.level == DiagnosticStatus::OK)
        .await;
    bed.node.set_graph(graph(&[
        description,
        ("/rosout", "rcl_interfaces/msg/Log", 9),
    ]));
    let status = bed
        .status(|s| s.name.ends_with("frames of arm") && s.message.contains("has left"))
        .await;
    assert_eq!(status.level, DiagnosticStatus::OK, "{}", status.message);
    // It is published again.
    bed.node
        .set_graph(graph(&[description, ("/tf_static", TF, 7)]));
    bed.with_tool_on("", |status| !status.message.contains("has left"))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_robot_made_by_a_call_does_not_count_as_running() {
    let mut bed = real_bed(|parameters| parameters.capture_interfaces = true);
    bed.node.set_graph(graph(&[("/tf_static", TF, 7)]));
    let request = ConvertRequest {
        urdf: REAL.to_owned(),
        ..Default::default()
    };
    let answer = within(bed.node.ask::<ConvertService>("/convert", request)).await;
    assert!(answer.success, "{}", answer.message);
    bed.node.say(
        "/tf_static",
        &TFMessage {
            transforms: vec![transform("somebody", "else", 1.0)],
        },
        7,
    );
    bed.shows("arm", |robot| robot.revision == Some(1)).await;
    // Its frames are compared with TF on request.
    let request = CheckFramesRequest {
        robot: "arm".into(),
        frames: vec![],
    };
    let checked = within(
        bed.node
            .ask::<CheckFrames>("/urdf_usd/check_frames", request),
    )
    .await;
    assert!(checked.success && !checked.all_ok, "{}", checked.message);
    let (mut seen, until) = (
        Vec::new(),
        tokio::time::Instant::now() + Duration::from_millis(1500),
    );
    while let Ok(Some(array)) = tokio::time::timeout_at(until, bed.diagnostics.next()).await {
        seen.extend(array.message.status.into_iter().map(|status| status.name));
    }
    assert!(
        seen.iter()
            .all(|name| name == "urdf_usd: conversion of arm" || name == "urdf_usd: conversion"),
        "{seen:?}"
    );
    assert!(
        bed.site
            .robot("arm")
            .is_some_and(|robot| robot.frames.is_none())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn remaps_are_for_the_nodes_own_names() {
    let remaps = [
        ("/r1/robot_description", "/elsewhere/description"),
        ("/r2/tf", "/elsewhere/tf"),
        ("/r2/scan", "/elsewhere/scan"),
    ];
    let bed = bed_of(Fake::remapped(&remaps), None, |parameters| {
        (parameters.discover, parameters.capture_interfaces) = (true, true);
    });
    let r2 = "/r2/robot_description";
    bed.node.set_graph(graph(&[
        ("/r1/robot_description", STRING, 1),
        (r2, STRING, 2),
        ("/r2/tf", TF, 2),
        ("/r2/tf_static", TF, 2),
        ("/r2/scan", "sensor_msgs/msg/LaserScan", 2),
        ("/r2/odometry", "nav_msgs/msg/Odometry", 2),
    ]));
    bed.describe_on(r2, TWO, 2).await;
    bed.heard("/r2/tf_static").await;
    bed.heard("/r2/odometry").await;
    // Messages on the renamed topic belong to another robot, or to none.
    assert_eq!(
        remaps.map(|(_, elsewhere)| bed.node.listeners(elsewhere)),
        [0; 3]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn captured_interfaces_outlive_a_call() {
    let mut bed = bed_with(|parameters| parameters.capture_interfaces = true);
    bed.node.set_graph(graph(&[
        ("/robot_description", STRING, 1),
        ("/scan", "sensor_msgs/msg/LaserScan", 2),
    ]));
    bed.describe(TWO);
    let captured = async |bed: &Bed| {
        let directory = bed.folder.path().canonicalize().unwrap().join("out/arm");
        within(async {
            loop {
                let revisions = bed
                    .converter
                    .revisions
                    .lock()
                    .unwrap()
                    .get(&directory)
                    .cloned();
                if let Some((revision, _)) = revisions
                    .filter(|(_, text)| text.ends_with("[\"robot_description\", \"scan\"]"))
                {
                    return revision;
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        })
        .await
    };
    let revision = captured(&bed).await;
    bed.shows("arm", |robot| robot.revision == Some(revision))
        .await;
    while bed.assets.try_next().is_some() {}
    let answer = within(
        bed.node
            .ask::<ConvertService>("/convert", ConvertRequest::default()),
    )
    .await;
    assert!(answer.success, "{}", answer.message);
    // The call converts what it asks for; afterwards the robot's own asset is restored.
    assert_eq!(bed.asset().await.revision, revision + 1);
    assert_eq!(bed.asset().await.revision, revision + 2);
    assert_eq!(captured(&bed).await, revision + 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revision_that_can_t_be_published_in_the_object_store_is_in_diagnostics() {
    let mut bed = bed_with(|parameters| parameters.output_url = Some("s3://b/x?y".to_owned()));
    let status = bed.status(|s| s.name == "urdf_usd: output_url").await;
    assert_eq!(
        (status.level, value(&status, "published")),
        (DiagnosticStatus::OK, Some("0"))
    );
    bed.describe(TWO);
    // The conversion does not wait for it.
    bed.asset().await;
    let status = bed
        .status(|s| s.name == "urdf_usd: output_url" && s.level == DiagnosticStatus::ERROR)
        .await;
    assert_eq!(
        (value(&status, "failed"), value(&status, "code")),
        (Some("1"), Some("object-store-url"))
    );
    // The query of an address can be a credential.
    assert_eq!(value(&status, "url"), Some("s3://b/x?…"));
}
