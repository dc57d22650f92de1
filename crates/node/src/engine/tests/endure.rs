//! Robustness of the node: conversions that never return, parts that end, endless peers, and lack
//! of file descriptors.

use super::*;

/// Returns a description of a robot with this name that is longer than `bytes`.
fn large(name: &str, bytes: usize) -> String {
    format!("<robot name='{name}'><!--{}--></robot>", "x".repeat(bytes))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversion_that_never_comes_back_is_given_up_and_others_go_on() {
    let mut bed = bed_with(|parameters| {
        parameters.workers = 1;
        parameters.conversion.time_limit = Some(Duration::from_millis(200));
    });
    bed.converter.only_slow.store(true, Ordering::SeqCst);
    bed.describe("<robot name='good'/>");
    bed.asset().await;
    bed.converter.hold(true);
    let slow = "<robot name='good'><!-- slow --></robot>";
    bed.describe(slow);
    bed.node.say(
        "/robot_description",
        &std_msgs::String {
            data: "<robot name='other'/>".to_owned(),
        },
        2,
    );
    // The only worker is free again.
    assert_eq!(bed.asset().await.robot, "other");
    let status = bed
        .status(|s| s.name.ends_with("of good") && s.level == DiagnosticStatus::ERROR)
        .await;
    assert!(
        status.message.contains("bridge-time-limit")
            && status.message.contains("revision 1 is kept"),
        "{}",
        status.message
    );
    bed.shows("good", |robot| {
        robot
            .diagnostics
            .iter()
            .any(|d| d.code == "bridge-time-limit")
    })
    .await;
    // It is set aside: the same description is not tried again, another one is.
    let count = bed.converter.count();
    bed.describe(slow);
    bed.node.say(
        "/robot_description",
        &std_msgs::String {
            data: "<robot name='third'/>".to_owned(),
        },
        3,
    );
    assert_eq!(
        (bed.asset().await.robot.as_str(), bed.converter.count()),
        ("third", count + 1)
    );
    bed.describe("<robot name='good'><link name='new'/></robot>");
    assert_eq!(bed.asset().await.revision, 2);
    // It returned after all, and wrote an outdated asset: the newer source is written again.
    bed.converter.hold(false);
    assert_eq!(
        (bed.asset().await.revision, bed.asset().await.revision),
        (3, 4)
    );
    assert!(
        bed.converter
            .revisions
            .lock()
            .unwrap()
            .values()
            .all(|(_, text)| !text.contains("slow"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_whose_conversion_is_given_up_gets_an_answer_and_too_many_end_the_node() {
    let bed =
        bed_with(|parameters| parameters.conversion.time_limit = Some(Duration::from_millis(100)));
    bed.converter.only_slow.store(true, Ordering::SeqCst);
    bed.converter.hold(true);
    let calls: Vec<_> = (0..=super::super::running::MAX_WORKING)
        .map(|n| {
            let urdf = format!("<robot name='r{n}'><!-- slow --></robot>");
            bed.node.start_call::<ConvertService>(
                "/convert",
                ConvertRequest {
                    urdf,
                    ..Default::default()
                },
            )
        })
        .collect();
    for call in calls {
        let answer = within(call).await.unwrap();
        assert!(
            !answer.success && answer.message.contains("was abandoned"),
            "{}",
            answer.message
        );
    }
    let ended = within(bed.engine).await.unwrap();
    assert!(
        ended.code == "bridge-ended" && ended.message.starts_with("5 abandoned threads"),
        "{ended}"
    );
    bed.converter.hold(false);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_robot_that_panics_is_tried_again_when_a_file_or_its_description_changes() {
    let mut bed = bed();
    let mesh = bed.folder.path().canonicalize().unwrap().join("a.stl");
    fs::write(&mesh, "one").unwrap();
    bed.converter.used.lock().unwrap().push(mesh.clone());
    bed.describe("<robot name='arm'/>");
    bed.asset().await;
    bed.describe("<robot name='arm'>panic</robot>");
    bed.shows("arm", |robot| {
        robot.diagnostics.iter().any(|d| d.code == "bridge-defect")
    })
    .await;
    bed.describe("<robot name='arm'>panic</robot>");
    bed.describe("<robot name='rover'/>");
    assert_eq!(
        (bed.asset().await.robot.as_str(), bed.converter.count()),
        ("rover", 3)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_changes_while_a_newer_description_is_converted_brings_no_older_one_back() {
    let mut bed = bed();
    let mesh = bed.folder.path().canonicalize().unwrap().join("a.stl");
    fs::write(&mesh, "one").unwrap();
    bed.converter.used.lock().unwrap().push(mesh.clone());
    bed.describe("<robot name='arm'/>");
    assert_eq!(bed.asset().await.revision, 1);
    bed.converter.hold(true);
    bed.describe(TWO);
    bed.converting(2).await;
    fs::write(&mesh, "two").unwrap();
    // The change is reported meanwhile.
    tokio::time::sleep(Duration::from_secs(1)).await;
    bed.converter.hold(false);
    assert_eq!(bed.asset().await.revision, 2);
    bed.describe("<robot name='rover'/>");
    while bed.asset().await.robot != "rover" {}
    tokio::time::sleep(Duration::from_millis(300)).await;
    let made = bed.converter.revisions.lock().unwrap();
    let (_, (revision, text)) = made
        .iter()
        .find(|(folder, _)| folder.ends_with("arm"))
        .unwrap();
    assert!(
        *revision == 2 && text.starts_with(TWO) && text.contains("two"),
        "revision {revision} is of {text}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn work_that_panics_outside_of_the_conversion_keeps_no_key_busy() {
    // Work of the engine on a thread may panic as well.
    let mut bed = bed();
    let mut running = super::super::Running::default();
    running.begin(super::super::Task::Assets, |_| panic!("seven"));
    let (number, done) = within(running.tasks.join_next()).await.unwrap().unwrap();
    assert!(number == 1 && done.is_err_and(|text| text == "seven"));
    bed.describe("<robot name='arm'/>");
    bed.asset().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_node_ends_when_a_part_of_it_does() {
    for (topic, part) in [
        ("/tf", "listening to /tf"),
        ("/joint_states", "listening to /joint_states"),
    ] {
        let bed = bed();
        bed.heard(topic).await;
        bed.node.lose(topic);
        let ended = within(bed.engine).await.unwrap();
        assert!(
            ended.code == "bridge-ended" && ended.message.contains(part),
            "{ended}"
        );
    }
    let bed = bed_with(|parameters| parameters.discover = true);
    bed.node
        .set_graph(graph(&[("/r1/robot_description", STRING, 2)]));
    bed.heard("/r1/robot_description").await;
    // A subscription that was closed on purpose ends nothing …
    bed.node
        .set_graph(graph(&[("/r2/robot_description", STRING, 2)]));
    bed.unheard("/r1/robot_description").await;
    bed.heard("/r2/robot_description").await;
    assert!(!bed.engine.is_finished());
    // … but an unexpected end does.
    bed.node.lose("/r2/robot_description");
    let ended = within(bed.engine).await.unwrap();
    assert!(
        ended.message.contains("listening to /r2/robot_description"),
        "{ended}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversion_that_lacked_descriptors_is_made_again() {
    let mut bed = bed();
    bed.converter.starving.store(2, Ordering::SeqCst);
    bed.describe("<robot name='arm'/>");
    bed.shows("arm", |robot| robot.message.contains("Too many open files"))
        .await;
    assert_eq!(bed.asset().await.revision, 1);
    assert_eq!(bed.converter.count(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn descriptions_that_wait_are_bounded_and_none_is_lost() {
    let mut bed = bed_with(|parameters| parameters.workers = 1);
    bed.converter.hold(true);
    for n in 0..12 {
        bed.describe(&large(&format!("r{n}"), 400 << 10));
    }
    bed.converting(1).await;
    // Three wait in the engine, besides the one in progress; the others wait in the subscriptions.
    tokio::time::sleep(Duration::from_millis(200)).await;
    let call = ConvertRequest {
        urdf: "<robot name='call'/>".into(),
        ..Default::default()
    };
    let busy = within(bed.node.ask::<ConvertService>("/convert", call)).await;
    assert!(
        !busy.success && busy.message.contains("call again later"),
        "{}",
        busy.message
    );
    bed.converter.hold(false);
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..12 {
        seen.insert(bed.asset().await.robot);
    }
    assert_eq!(seen.len(), 12);
}

#[tokio::test(flavor = "multi_thread")]
async fn gone_robots_are_evicted_by_memory() {
    let bed = bed();
    bed.describe("<robot name='arm'/>");
    bed.shows("arm", |robot| robot.revision.is_some()).await;
    // A second publisher keeps the first robot present.
    let say = |text: String| {
        bed.node
            .say("/robot_description", &std_msgs::String { data: text }, 2)
    };
    say(large("big", 2 << 20));
    bed.shows("big", |robot| robot.revision.is_some()).await;
    // It publishes another robot, which fails, so that the big one is gone and forgotten.
    say("<robot name='bad'>broken</robot>".to_owned());
    bed.shows("bad", |robot| robot.revision.is_none()).await;
    within(async {
        while bed.site.robot("big").is_some() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    let check = bed
        .node
        .ask::<CheckFrames>("/urdf_usd/check_frames", CheckFramesRequest::default());
    let message = within(check).await.message;
    assert_eq!(message, "several robots are running: pass one of arm, bad");
}

#[tokio::test(flavor = "multi_thread")]
async fn robots_that_calls_made_are_forgotten_in_the_end() {
    let bed = bed();
    for n in 0..300 {
        let urdf = format!("<robot name='r{n}'/>");
        within(bed.node.ask::<ConvertService>(
            "/convert",
            ConvertRequest {
                urdf,
                ..Default::default()
            },
        ))
        .await;
    }
    within(async {
        // The last one is shown just before the oldest one is removed.
        while bed.site.robot("r299").is_none() || bed.site.robots().len() > 256 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    assert_eq!(bed.site.robots().len(), 256);
    assert!(bed.folder.path().join("out/r0/report.json").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn made_up_names_fill_no_disk() {
    let mut bed = bed_with(|parameters| parameters.max_assets = 2);
    for name in ["arm", "dog"] {
        bed.describe(&format!("<robot name='{name}'/>"));
        assert_eq!(bed.asset().await.robot, name);
    }
    bed.listed(2).await;
    let refused = |robot: &RobotView| {
        robot
            .diagnostics
            .iter()
            .any(|d| d.code == "bridge-too-many-assets")
    };
    bed.describe("<robot name='cat'/>");
    bed.shows("cat", refused).await;
    let urdf = "<robot name='cow'/>".to_owned();
    let answer = within(bed.node.ask::<ConvertService>(
        "/convert",
        ConvertRequest {
            urdf,
            ..Default::default()
        },
    ))
    .await;
    assert!(
        !answer.success && answer.message.contains("max_assets"),
        "{}",
        answer.message
    );
    // Existing robots are not affected.
    bed.describe("<robot name='arm'><link name='x'/></robot>");
    assert_eq!((bed.asset().await.revision, bed.converter.count()), (2, 3));
    // A user makes room, which is noticed with the next description.
    fs::remove_dir_all(bed.folder.path().join("out/dog")).unwrap();
    within(async {
        while !bed.folder.path().join("out/cat").exists() {
            bed.describe("<robot name='cat'/>");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_third_publisher_of_the_same_robot_is_reported() {
    let lines: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = crate::process::logging::tests::collecting(lines.clone());
    let _guard = tracing::subscriber::set_default(log);
    // On this thread, so that the log lines arrive here.
    let folder = tempfile::tempdir().unwrap();
    let parameters = fake::parameters(folder.path());
    let Started { mut engine, .. } = start(Fake::default(), None, parameters);
    let topic: Arc<str> = "/robot_description".into();
    let hear = |engine: &mut Engine<Fake>, who: u8, link: &str| {
        engine.hear(super::super::descriptions::Described {
            robot_namespace: super::super::RobotNamespace::Own,
            origin: super::super::Origin::Topic(topic.clone()),
            publisher: Some(PublisherId([who; 16])),
            text: format!("<robot name='arm'><link name='{link}'/></robot>"),
        });
    };
    hear(&mut engine, 1, "a");
    engine.start_due();
    let back = within(engine.running.tasks.join_next()).await.unwrap();
    engine.finish_task(back).unwrap();
    let count = || {
        lines
            .lock()
            .unwrap()
            .iter()
            .filter(|text| text.contains("describe a robot"))
            .count()
    };
    for (who, link, times) in [
        (2, "b", 1),
        (1, "c", 1),
        (2, "d", 1),
        (3, "e", 2),
        (1, "f", 2),
    ] {
        hear(&mut engine, who, link);
        assert_eq!(count(), times, "{who}: {:?}", lines.lock().unwrap());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_does_not_reveal_paths() {
    let mut bed = bed();
    let mut events = bed.site.events();
    bed.describe("<robot name='arm'/>");
    bed.asset().await;
    bed.listed(1).await;
    let own = bed.folder.path().canonicalize().unwrap();
    let robots = serde_json::to_string(&bed.site.robots()).unwrap();
    assert!(
        !robots.contains(own.to_str().unwrap()) && robots.contains("revision 1 in output_dir/arm"),
        "{robots}"
    );
    while let Ok(event) = events.try_recv() {
        assert!(
            !event.data.contains(own.to_str().unwrap()),
            "{}",
            event.data
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_grows_with_robots_that_are_gone() {
    const BATCH: u16 = 100;
    let folder = tempfile::tempdir().unwrap();
    let mut parameters = fake::parameters(folder.path());
    (parameters.max_assets, parameters.settle_time) = (usize::MAX, Duration::ZERO);
    let Started {
        mut engine,
        node,
        site,
        ..
    } = start(Fake::default(), None, parameters);
    let topic: Arc<str> = "/robot_description".into();
    let mut sizes = Vec::new();
    for batch in 0..20 {
        let publishers: Vec<u16> = (0..BATCH).map(|n| batch * BATCH + n).collect();
        let id = |who: u16| PublisherId([(who + 1).to_le_bytes(); 8].concat().try_into().unwrap());
        let end = |who: &u16| TopicEnd {
            topic: topic.to_string(),
            type_name: STRING.to_owned(),
            role: TopicRole::Publisher,
            node: None,
            id: Some(id(*who)),
            qos: None,
        };
        // Another publisher, without which the graph would count as unknown.
        let other = TopicEnd {
            topic: "/other".to_owned(),
            ..end(&0)
        };
        let with = |ends: Vec<TopicEnd>| Graph {
            topics: ends.into_iter().chain([other.clone()]).collect(),
            ..Graph::default()
        };
        node.set_graph(with(publishers.iter().map(end).collect()));
        // They appear, fail under one name and continue under another, which yields an asset …
        for (name, text) in [("a", "broken"), ("b", "fine")] {
            for &who in &publishers {
                engine.hear(super::super::descriptions::Described {
                    robot_namespace: super::super::RobotNamespace::Own,
                    origin: super::super::Origin::Topic(topic.clone()),
                    publisher: Some(id(who)),
                    text: format!("<robot name='{name}{who}'>{text}</robot>"),
                });
            }
            within(async {
                loop {
                    engine.start_due();
                    if engine.running.tasks.is_empty() && engine.schedule.weight() == 0 {
                        break;
                    }
                    let back = engine.running.tasks.join_next().await.unwrap();
                    engine.finish_task(back).unwrap();
                }
            })
            .await;
        }
        assert!(
            publishers
                .iter()
                .all(|who| !engine.robots.contains_key(&format!("a{who}")))
        );
        assert!(
            publishers
                .iter()
                .all(|who| engine.robots[&format!("b{who}")].announcer.is_some())
        );
        engine.scan_graph();
        // … and leave.
        node.set_graph(with(Vec::new()));
        engine.scan_graph();
        assert!(engine.robots.values().all(|robot| robot.gone.is_some()));
        sizes.push((
            engine.robots.len(),
            site.robots().len(),
            engine.asset_paths.sizes(),
            engine.publishers.sizes(),
        ));
    }
    assert_eq!(
        sizes.last(),
        Some(&(256, 256, [256, 256, 0], [0, 0, 0])),
        "{sizes:?}"
    );
    assert!(
        engine.running.tasks.is_empty()
            && engine.to_check.is_empty()
            && engine.reading.weight() == 0
    );
}
