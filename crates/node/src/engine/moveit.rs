//! The MoveIt services `compute_ik` and `compute_fk`.
//!
//! Calls name links, so planning groups are ignored. Collisions are not checked.

use super::Engine;
use super::motion::{Refusal, Subject, find_base, find_link, solve_ik, to_message, to_pose};
use crate::robots::MotionModel;
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

/// Queues of the MoveIt services.
pub(super) struct Calls {
    ik: Requests<GetPositionIK>,
    fk: Requests<GetPositionFK>,
}

/// A received call, boxed since these requests are much larger than the node's own.
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

    /// Waits for the next call; `None` once the node has shut down.
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

/// The result of a call: one of [`MoveItErrorCodes`], and a sentence.
struct ErrorCode(i32, String);

impl From<ErrorCode> for MoveItErrorCodes {
    fn from(ErrorCode(val, message): ErrorCode) -> Self {
        Self {
            val,
            message,
            source: "urdf_usd".to_owned(),
        }
    }
}

impl From<ErrorCode> for GetPositionIKResponse {
    fn from(why: ErrorCode) -> Self {
        Self {
            error_code: why.into(),
            ..Self::default()
        }
    }
}

impl From<ErrorCode> for GetPositionFKResponse {
    fn from(why: ErrorCode) -> Self {
        Self {
            error_code: why.into(),
            ..Self::default()
        }
    }
}

impl Refusal for GetPositionIKResponse {
    fn refusal(message: String) -> Self {
        ErrorCode(MoveItErrorCodes::FAILURE, message).into()
    }
}

impl Refusal for GetPositionFKResponse {
    fn refusal(message: String) -> Self {
        ErrorCode(MoveItErrorCodes::FAILURE, message).into()
    }
}

fn error(code: i32) -> impl Fn(String) -> ErrorCode {
    move |message| ErrorCode(code, message)
}

/// Returns the link whose frame a header names, the root link if it names none.
fn frame(robot: &Robot, name: &str) -> Result<urdf_usd_robot::LinkId, ErrorCode> {
    // As in the frame check, a leading slash of a frame's name does not count.
    find_base(robot, name.trim_start_matches('/'))
        .map_err(error(MoveItErrorCodes::FRAME_TRANSFORM_FAILURE))
}

fn ik(
    request: &GetPositionIKRequest,
    subject: &mut Subject,
) -> Result<GetPositionIKResponse, ErrorCode> {
    let request = &request.ik_request;
    if request.avoid_collisions {
        let message = "collisions cannot be checked: call with avoid_collisions = false".to_owned();
        return Err(ErrorCode(
            MoveItErrorCodes::COLLISION_CHECKING_UNAVAILABLE,
            message,
        ));
    }
    let constraints = &request.constraints;
    if !(constraints.joint_constraints.is_empty()
        && constraints.position_constraints.is_empty()
        && constraints.orientation_constraints.is_empty()
        && constraints.visibility_constraints.is_empty())
    {
        let message =
            "constraints other than joint limits are not supported: call without constraints"
                .to_owned();
        return Err(ErrorCode(
            MoveItErrorCodes::INVALID_GOAL_CONSTRAINTS,
            message,
        ));
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
            "got {} link names and {} poses: pass one pose per link",
            tips.len(),
            poses.len()
        );
        return Err(ErrorCode(MoveItErrorCodes::INVALID_LINK_NAME, message));
    }
    if tips.iter().any(|tip| tip.trim().is_empty()) {
        let message = "planning groups are not supported: name the link in ik_link_name".to_owned();
        return Err(ErrorCode(MoveItErrorCodes::INVALID_LINK_NAME, message));
    }
    let state = subject.coordinates(&request.robot_state.joint_state);
    let (motion_model, mut q, known) =
        state.map_err(error(MoveItErrorCodes::INVALID_ROBOT_STATE))?;
    let MotionModel {
        robot, mechanism, ..
    } = &*motion_model;
    let mut targets = Vec::new();
    for (tip, pose) in tips.iter().zip(poses) {
        let tip = find_link(robot, tip).map_err(error(MoveItErrorCodes::INVALID_LINK_NAME))?;
        let goal = Goal::Pose(to_pose(&pose.pose).map_err(error(MoveItErrorCodes::FAILURE))?);
        targets.push(Target::new(frame(robot, &pose.header.frame_id)?, tip, goal));
    }
    let outcome = solve_ik(&motion_model, &targets, &mut q, &known)
        .map_err(error(MoveItErrorCodes::INVALID_LINK_NAME))?;
    if !outcome.is_reached {
        let (attempts, way, turn) = (outcome.attempts, outcome.position, outcome.angle);
        let message = format!(
            "not reached in {attempts} attempts: the best is off by {way:.6} m and {turn:.6} rad"
        );
        return Err(ErrorCode(MoveItErrorCodes::NO_IK_SOLUTION, message));
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
        error_code: ErrorCode(MoveItErrorCodes::SUCCESS, "reached".to_owned()).into(),
    })
}

fn fk(
    request: &GetPositionFKRequest,
    subject: &mut Subject,
) -> Result<GetPositionFKResponse, ErrorCode> {
    if request.fk_link_names.is_empty() {
        return Err(ErrorCode(
            MoveItErrorCodes::INVALID_LINK_NAME,
            "fk_link_names is empty".to_owned(),
        ));
    }
    let state = subject.coordinates(&request.robot_state.joint_state);
    let (motion_model, q, _) = state.map_err(error(MoveItErrorCodes::INVALID_ROBOT_STATE))?;
    let MotionModel {
        robot, mechanism, ..
    } = &*motion_model;
    let base = frame(robot, &request.header.frame_id)?;
    let mut header = request.header.clone();
    header.frame_id = robot.links()[base].name().to_owned();
    let mut response = GetPositionFKResponse::default();
    for name in &request.fk_link_names {
        let link = find_link(robot, name).map_err(error(MoveItErrorCodes::INVALID_LINK_NAME))?;
        let chain = names::chain(robot, mechanism, base, link).map_err(|wrong| wrong.to_sentence());
        let chain = chain.map_err(error(MoveItErrorCodes::FRAME_TRANSFORM_FAILURE))?;
        let mut own = vec![0.0; chain.coordinates().len()];
        chain.gather(&q, &mut own);
        let pose = to_message(&chain.forward(&own).pose());
        response.pose_stamped.push(PoseStamped {
            header: header.clone(),
            pose,
        });
        response.fk_link_names.push(name.clone());
    }
    response.error_code = ErrorCode(
        MoveItErrorCodes::SUCCESS,
        format!("{} links", response.fk_link_names.len()),
    )
    .into();
    Ok(response)
}
