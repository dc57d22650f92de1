//! Forward and inverse kinematics as clients of MoveIt ask for them: `compute_ik` and `compute_fk`.
//!
//! Links are named by the call, so planning groups are not looked at. Nothing here knows what
//! touches.

use super::Engine;
use super::motion::{Refused, Subject, base_of, link_of, message_of, pose_of, reach};
use crate::robots::Posable;
use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_kinematics::ik::{Goal, Target};
use urdf_usd_kinematics::names;
use urdf_usd_robot::Robot;
use urdf_usd_robot::kinematics::position_count;
use urdf_usd_ros::msg::geometry_msgs::PoseStamped;
use urdf_usd_ros::msg::moveit_msgs::{
    GetPositionFK, GetPositionFKRequest, GetPositionFKResponse, GetPositionIK,
    GetPositionIKRequest, GetPositionIKResponse, MoveItErrorCodes, RobotState,
};
use urdf_usd_ros::msg::sensor_msgs::JointState;
use urdf_usd_ros::{Node, Request, Requests};

/// The calls that come.
pub(super) struct Calls {
    ik: Requests<GetPositionIK>,
    fk: Requests<GetPositionFK>,
}

/// A call that came; boxed, since they are much larger than those of our own.
pub(super) enum Call {
    Ik(Box<Request<GetPositionIK>>),
    Fk(Box<Request<GetPositionFK>>),
}

impl Calls {
    pub(super) fn start<N: Node>(node: &N) -> Result<Self, Diagnostic> {
        Ok(Self {
            ik: node.serve("compute_ik")?,
            fk: node.serve("compute_fk")?,
        })
    }

    /// The next one; `None` once the node has left.
    pub(super) async fn next(&mut self) -> Option<Call> {
        tokio::select! {
            call = self.ik.next() => call.map(|call| Call::Ik(Box::new(call))),
            call = self.fk.next() => call.map(|call| Call::Fk(Box::new(call))),
        }
    }
}

impl<N: Node> Engine<N> {
    pub(super) fn take_moveit_call(&mut self, call: Call) {
        match call {
            Call::Ik(call) => self.work_on(
                *call,
                |_| "",
                |request, subject| Ok(ik(request, subject).unwrap_or_else(Into::into)),
            ),
            Call::Fk(call) => self.work_on(
                *call,
                |_| "",
                |request, subject| Ok(fk(request, subject).unwrap_or_else(Into::into)),
            ),
        }
    }
}

/// Why a call is refused: one of [`MoveItErrorCodes`], and a sentence.
struct Why(i32, String);

impl From<Why> for MoveItErrorCodes {
    fn from(Why(val, message): Why) -> Self {
        Self {
            val,
            message,
            source: "urdf_usd".to_owned(),
        }
    }
}

impl From<Why> for GetPositionIKResponse {
    fn from(why: Why) -> Self {
        Self {
            error_code: why.into(),
            ..Self::default()
        }
    }
}

impl From<Why> for GetPositionFKResponse {
    fn from(why: Why) -> Self {
        Self {
            error_code: why.into(),
            ..Self::default()
        }
    }
}

impl Refused for GetPositionIKResponse {
    fn refused(message: String) -> Self {
        Why(MoveItErrorCodes::FAILURE, message).into()
    }
}

impl Refused for GetPositionFKResponse {
    fn refused(message: String) -> Self {
        Why(MoveItErrorCodes::FAILURE, message).into()
    }
}

fn is(code: i32) -> impl Fn(String) -> Why {
    move |message| Why(code, message)
}

/// The link whose frame a header names; none: the root link.
fn frame(robot: &Robot, name: &str) -> Result<urdf_usd_robot::LinkId, Why> {
    base_of(robot, name.trim_start_matches('/'))
        .map_err(is(MoveItErrorCodes::FRAME_TRANSFORM_FAILURE))
}

fn ik(request: &GetPositionIKRequest, subject: &mut Subject) -> Result<GetPositionIKResponse, Why> {
    let request = &request.ik_request;
    if request.avoid_collisions {
        let message =
            "nothing here knows what touches: call with avoid_collisions = false".to_owned();
        return Err(Why(
            MoveItErrorCodes::COLLISION_CHECKING_UNAVAILABLE,
            message,
        ));
    }
    let held = &request.constraints;
    if !(held.joint_constraints.is_empty()
        && held.position_constraints.is_empty()
        && held.orientation_constraints.is_empty()
        && held.visibility_constraints.is_empty())
    {
        let message =
            "no constraints are held here but the limits of joints: call without".to_owned();
        return Err(Why(MoveItErrorCodes::INVALID_GOAL_CONSTRAINTS, message));
    }
    let (tips, poses) = if request.ik_link_names.is_empty() {
        (
            std::slice::from_ref(&request.ik_link_name),
            std::slice::from_ref(&request.pose_stamped),
        )
    } else {
        (&request.ik_link_names[..], &request.pose_stamped_vector[..])
    };
    if tips.len() != poses.len() {
        let message = format!(
            "{} links are named and {} poses given: give one for each",
            tips.len(),
            poses.len()
        );
        return Err(Why(MoveItErrorCodes::INVALID_LINK_NAME, message));
    }
    if tips.iter().any(|tip| tip.trim().is_empty()) {
        let message =
            "planning groups are not known here: name the link in ik_link_name".to_owned();
        return Err(Why(MoveItErrorCodes::INVALID_LINK_NAME, message));
    }
    let state = subject.coordinates(&request.robot_state.joint_state);
    let (posable, mut q, known) = state.map_err(is(MoveItErrorCodes::INVALID_ROBOT_STATE))?;
    let Posable {
        robot, mechanism, ..
    } = &*posable;
    let mut targets = Vec::new();
    for (tip, pose) in tips.iter().zip(poses) {
        let tip = link_of(robot, tip).map_err(is(MoveItErrorCodes::INVALID_LINK_NAME))?;
        let goal = Goal::Pose(pose_of(&pose.pose).map_err(is(MoveItErrorCodes::FAILURE))?);
        targets.push(Target::new(frame(robot, &pose.header.frame_id)?, tip, goal));
    }
    let outcome = reach(&posable, &targets, &mut q, &known)
        .map_err(is(MoveItErrorCodes::INVALID_LINK_NAME))?;
    if !outcome.is_reached {
        let (attempts, way, turn) = (outcome.attempts, outcome.position, outcome.angle);
        let message =
            format!("not reached in {attempts} attempts: {way:.6} m and {turn:.6} rad are left");
        return Err(Why(MoveItErrorCodes::NO_IK_SOLUTION, message));
    }
    let mut positions = vec![0.0; mechanism.position_count()];
    mechanism.positions(&q, &mut positions);
    let mut at = positions.into_iter();
    let mut joint_state = JointState::default();
    for joint in robot.joints().values() {
        let own: Vec<f64> = at.by_ref().take(position_count(joint.kind())).collect();
        if let [one] = own[..] {
            joint_state.name.push(joint.name().to_owned());
            joint_state.position.push(one);
        }
    }
    let solution = RobotState {
        joint_state,
        ..RobotState::default()
    };
    Ok(GetPositionIKResponse {
        solution,
        error_code: Why(MoveItErrorCodes::SUCCESS, "reached".to_owned()).into(),
    })
}

fn fk(request: &GetPositionFKRequest, subject: &mut Subject) -> Result<GetPositionFKResponse, Why> {
    if request.fk_link_names.is_empty() {
        return Err(Why(
            MoveItErrorCodes::INVALID_LINK_NAME,
            "no links are named in fk_link_names".to_owned(),
        ));
    }
    let state = subject.coordinates(&request.robot_state.joint_state);
    let (posable, q, _) = state.map_err(is(MoveItErrorCodes::INVALID_ROBOT_STATE))?;
    let Posable {
        robot, mechanism, ..
    } = &*posable;
    let base = frame(robot, &request.header.frame_id)?;
    let mut header = request.header.clone();
    header.frame_id = robot.links()[base].name().to_owned();
    let mut response = GetPositionFKResponse::default();
    for name in &request.fk_link_names {
        let link = link_of(robot, name).map_err(is(MoveItErrorCodes::INVALID_LINK_NAME))?;
        let chain = names::chain(robot, mechanism, base, link).map_err(|wrong| wrong.to_sentence());
        let chain = chain.map_err(is(MoveItErrorCodes::FRAME_TRANSFORM_FAILURE))?;
        let mut own = vec![0.0; chain.coordinates().len()];
        chain.gather(&q, &mut own);
        let pose = message_of(&chain.forward(&own).pose());
        response.pose_stamped.push(PoseStamped {
            header: header.clone(),
            pose,
        });
        response.fk_link_names.push(name.clone());
    }
    response.error_code = Why(
        MoveItErrorCodes::SUCCESS,
        format!("{} links", response.fk_link_names.len()),
    )
    .into();
    Ok(response)
}
