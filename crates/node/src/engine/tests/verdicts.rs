//! The clock of verdicts.

use std::time::Instant;

use super::*;
use urdf_usd_messages::CheckFramesResponse;
use urdf_usd_ros::{Simulated, Timeline};

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
