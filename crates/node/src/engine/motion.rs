//! Calls about how a robot stands: its named poses, forward and inverse kinematics.
//!
//! Each is worked on by a thread, over the asset as it was written and the joint states heard last.
//! Nothing here moves a robot.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(not(feature = "rclrs"))]
use super::moveit;
use super::running::{Caller, Task};
use super::{Done, Engine, MOST_CALLS, interfaces};
use crate::request;
use crate::robots::{ENTRY, Posable};
use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_isaac::poses::Poses;
use urdf_usd_isaac::poses::stored::{self as poses, PoseView};
use urdf_usd_kinematics::ik::{Goal, Lm, Outcome, Problem, Restarts, Starts, Target, solve};
use urdf_usd_kinematics::{Mechanism, Stance, names};
use urdf_usd_messages::{
    ComputeFkRequest, ComputeFkResponse, DeletePoseRequest, DeletePoseResponse, ListPosesRequest,
    ListPosesResponse, SolveIkRequest, SolveIkResponse, StorePoseRequest, StorePoseResponse,
};
use urdf_usd_robot::kinematics::position_count;
use urdf_usd_robot::{JointId, LinkId, Pose, Robot};
use urdf_usd_ros::msg::Service;
use urdf_usd_ros::msg::geometry_msgs;
use urdf_usd_ros::msg::sensor_msgs::JointState;
use urdf_usd_ros::{Node, Request, Requests};
use urdf_usd_stage::Stage;
use urdf_usd_worker::{Limits, Workers};

/// The calls that come.
pub(super) struct MotionCalls {
    list: Requests<interfaces::ListPoses>,
    store: Requests<interfaces::StorePose>,
    delete: Requests<interfaces::DeletePose>,
    ik: Requests<interfaces::SolveIk>,
    fk: Requests<interfaces::ComputeFk>,
    #[cfg(not(feature = "rclrs"))]
    moveit: Option<moveit::Calls>,
}

/// A call that came.
pub(super) enum Call {
    List(Request<interfaces::ListPoses>),
    Store(Request<interfaces::StorePose>),
    Delete(Request<interfaces::DeletePose>),
    Ik(Request<interfaces::SolveIk>),
    Fk(Request<interfaces::ComputeFk>),
    #[cfg(not(feature = "rclrs"))]
    MoveIt(moveit::Call),
}

impl MotionCalls {
    /// Serves them, and with `moveit` those of MoveIt.
    pub(super) fn start<N: Node>(node: &N, moveit: bool) -> Result<Self, Diagnostic> {
        // The types of MoveIt are declared here; rclrs wants those of a workspace.
        #[cfg(feature = "rclrs")]
        let _ = moveit;
        Ok(Self {
            list: node.serve("~/list_poses")?,
            store: node.serve("~/store_pose")?,
            delete: node.serve("~/delete_pose")?,
            ik: node.serve("~/solve_ik")?,
            fk: node.serve("~/compute_fk")?,
            #[cfg(not(feature = "rclrs"))]
            moveit: moveit.then(|| moveit::Calls::start(node)).transpose()?,
        })
    }

    /// The next one; `None` once the node has left.
    pub(super) async fn next(&mut self) -> Option<Call> {
        #[cfg(not(feature = "rclrs"))]
        let moveit = async {
            match &mut self.moveit {
                Some(calls) => calls.next().await.map(Call::MoveIt),
                None => std::future::pending().await,
            }
        };
        #[cfg(feature = "rclrs")]
        let moveit = std::future::pending();
        tokio::select! {
            call = moveit => call,
            call = self.list.next() => call.map(Call::List),
            call = self.store.next() => call.map(Call::Store),
            call = self.delete.next() => call.map(Call::Delete),
            call = self.ik.next() => call.map(Call::Ik),
            call = self.fk.next() => call.map(Call::Fk),
        }
    }
}

/// An answer that says why there is none.
pub(super) trait Refused: Default {
    fn refused(message: String) -> Self;
}

macro_rules! refused {
    ($($response:ident),*) => {$(
        impl Refused for $response {
            fn refused(message: String) -> Self {
                Self { message, ..Self::default() }
            }
        }
    )*};
}
refused!(
    ListPosesResponse,
    StorePoseResponse,
    DeletePoseResponse,
    SolveIkResponse,
    ComputeFkResponse
);

/// What a call is about, as it was when the call came.
pub(super) struct Subject {
    key: String,
    name: String,
    revision: u64,
    /// The USD entry of the asset.
    entry: PathBuf,
    /// Where joints are by the joint states heard last.
    heard: HashMap<String, f64>,
    /// The robot, if it was read before.
    known: Option<Arc<Posable>>,
    /// Worker pool that first opens the asset, and its limits.
    workers: Arc<Workers>,
    limits: Limits,
}

impl<N: Node> Engine<N> {
    /// A call came: it is answered from a thread.
    pub(super) fn take_motion_call(&mut self, call: Call) {
        match call {
            Call::List(call) => self.work_on(call, |request| &request.robot, list),
            Call::Store(call) => self.work_on(call, |request| &request.robot, store),
            Call::Delete(call) => self.work_on(call, |request| &request.robot, delete),
            Call::Ik(call) => self.work_on(call, |request| &request.robot, ik),
            Call::Fk(call) => self.work_on(call, |request| &request.robot, fk),
            #[cfg(not(feature = "rclrs"))]
            Call::MoveIt(call) => self.take_moveit_call(call),
        }
    }

    pub(super) fn work_on<S: Service<Response: Refused>>(
        &mut self,
        call: Request<S>,
        robot: fn(&S::Request) -> &str,
        work: fn(&S::Request, &mut Subject) -> Result<S::Response, String>,
    ) {
        let (request, caller) = (call.request, Caller::<S>::new(call.responder));
        let waiting = self.running.motion_calls();
        let subject = match waiting < MOST_CALLS {
            true => self.subject(robot(&request).trim()),
            false => Err(format!(
                "{waiting} calls are waiting already; call again later"
            )),
        };
        let mut subject = match subject {
            Ok(subject) => subject,
            Err(message) => return caller.send(S::Response::refused(message)),
        };
        let given_up = {
            let caller = caller.clone();
            Box::new(move |why: &Diagnostic| {
                caller.send(S::Response::refused(request::first(std::slice::from_ref(
                    why,
                ))))
            })
        };
        self.running.begin(Task::Motion { given_up }, move |_| {
            // Opening it here cannot be interrupted, so a worker proves first that it opens within
            // the limits.
            let is_readable = match subject.known {
                Some(_) => Ok(()),
                None => subject.workers.try_poses(&subject.entry, subject.limits),
            };
            let answer = is_readable.and_then(|()| work(&request, &mut subject));
            caller.send(answer.unwrap_or_else(S::Response::refused));
            Done::Posable {
                key: subject.key,
                posable: subject.known,
            }
        });
    }

    fn subject(&self, asked: &str) -> Result<Subject, String> {
        let key = self.asked(asked)?;
        let Some(robot) = self.robots.get(key) else {
            return Err(format!("no robot {asked:?}"));
        };
        let Some(asset) = &robot.asset else {
            return Err(format!(
                "{:?} has no asset: {}",
                robot.name,
                robot.message()
            ));
        };
        let Some(entry) = asset.report.file(ENTRY) else {
            return Err(format!(
                "the asset of {:?} has no USD: add usd to the parameter formats",
                robot.name
            ));
        };
        let heard = self.subscriptions.with(&robot.robot_namespace, |heard| {
            heard
                .joints
                .joint_positions()
                .map(|(joint, position)| (joint.to_owned(), position))
                .collect()
        });
        let revision = asset.report.revision;
        let known = robot
            .posable
            .clone()
            .filter(|known| known.revision == revision);
        let (workers, limits) = (self.workers.clone(), self.work_limits());
        Ok(Subject {
            key: key.to_owned(),
            name: robot.name.clone(),
            revision,
            entry,
            heard,
            known,
            workers,
            limits,
        })
    }

    /// A robot was read for a call: the next one need not.
    pub(super) fn keep_posable(&mut self, key: &str, posable: Option<Arc<Posable>>) {
        if let (Some(robot), Some(posable)) = (self.robots.get_mut(key), posable) {
            robot.posable = Some(posable);
        }
    }
}

/// A robot, its coordinates, and the joints whose positions are known.
type Standing = (Arc<Posable>, Vec<f64>, Vec<JointId>);

impl Subject {
    /// The robot, read from its asset if it was not yet.
    fn posable(&mut self) -> Result<Arc<Posable>, String> {
        if let Some(known) = &self.known {
            return Ok(known.clone());
        }
        let stage =
            Stage::open(&self.entry, &Default::default()).map_err(|error| error.to_string())?;
        let robot = Poses::of(&stage, None)
            .map_err(|error| error.to_string())?
            .robot;
        let mechanism = Mechanism::of(&robot);
        let posable = Arc::new(Posable {
            revision: self.revision,
            robot,
            mechanism,
        });
        self.known = Some(posable.clone());
        Ok(posable)
    }

    /// The coordinates for joint states that a caller gives, and which joints they are of; of other
    /// joints those heard last count, then rest.
    pub(super) fn coordinates(&mut self, state: &JointState) -> Result<Standing, String> {
        let posable = self.posable()?;
        let Posable {
            robot, mechanism, ..
        } = &*posable;
        let mut at: BTreeMap<JointId, f64> = BTreeMap::new();
        for (id, joint) in robot.joints().iter() {
            if let Some(position) = self.heard.get(joint.name()) {
                at.insert(id, *position);
            }
        }
        for (joint, position) in named(&state.name, &state.position)? {
            at.insert(
                names::joint(robot, joint).map_err(|wrong| wrong.to_sentence())?,
                position,
            );
        }
        // What has several positions is in no joint state, and what follows another joint follows
        // it.
        at.retain(|joint, _| {
            let joint = &robot.joints()[*joint];
            joint.mimic().is_none() && position_count(joint.kind()) == 1
        });
        let joints: Vec<(JointId, &[f64])> = at
            .iter()
            .map(|(joint, position)| (*joint, std::slice::from_ref(position)))
            .collect();
        let mut stance = Stance::new(mechanism);
        stance
            .teleport(mechanism, &joints)
            .map_err(|error| error.to_string())?;
        let q = stance.coordinates().to_vec();
        let known = joints.iter().map(|(joint, _)| *joint).collect();
        Ok((posable, q, known))
    }
}

/// Names and positions that belong together.
fn named<'a>(
    names: &'a [String],
    positions: &'a [f64],
) -> Result<impl Iterator<Item = (&'a str, f64)>, String> {
    if names.len() != positions.len() {
        return Err(format!(
            "{} joints are named and {} positions given: give one for each",
            names.len(),
            positions.len()
        ));
    }
    if let Some((name, position)) = names
        .iter()
        .zip(positions)
        .find(|(_, position)| !position.is_finite())
    {
        return Err(format!(
            "the position of joint {name:?} is {position}: give radians or metres"
        ));
    }
    Ok(names
        .iter()
        .map(String::as_str)
        .zip(positions.iter().copied()))
}

pub(super) fn link_of(robot: &Robot, name: &str) -> Result<LinkId, String> {
    names::link(robot, name.trim()).map_err(|wrong| wrong.to_sentence())
}

pub(super) fn base_of(robot: &Robot, name: &str) -> Result<LinkId, String> {
    if name.trim().is_empty() {
        names::base(robot).map_err(|wrong| wrong.to_sentence())
    } else {
        link_of(robot, name)
    }
}

fn list(_: &ListPosesRequest, subject: &mut Subject) -> Result<ListPosesResponse, String> {
    let poses: Vec<_> = poses::list(&subject.entry)?
        .into_iter()
        .map(message)
        .collect();
    let message = match poses.len() {
        0 => format!("{:?} has no named poses", subject.name),
        1 => format!("{:?} has one named pose", subject.name),
        count => format!("{:?} has {count} named poses", subject.name),
    };
    Ok(ListPosesResponse {
        success: true,
        message,
        robot: subject.name.clone(),
        poses,
    })
}

fn message(pose: PoseView) -> interfaces::NamedPose {
    let (joint_names, positions) = pose.joints.into_iter().unzip();
    interfaces::NamedPose {
        name: pose.name,
        group: pose.group.unwrap_or_default(),
        joint_names,
        positions,
        valid: pose.valid,
    }
}

fn store(request: &StorePoseRequest, subject: &mut Subject) -> Result<StorePoseResponse, String> {
    let positions = |poses: &Poses<'_>| positions_of(request, subject, poses);
    let stored = poses::store(
        &subject.entry,
        &request.name,
        Some(&request.group),
        positions,
    );
    let (stored, saved) = stored.map_err(poses::Refused::message)?;
    let joints = stored.joints.len();
    let outside = if stored.valid {
        ""
    } else {
        "; some are outside their limits"
    };
    let said = format!(
        "stored {:?} with {joints} joint position{}{outside}",
        stored.name,
        if joints == 1 { "" } else { "s" }
    );
    Ok(StorePoseResponse {
        success: true,
        message: said,
        pose: message(stored),
        entry: absolute(&saved.entry),
    })
}

/// Where the pose that is to be stored puts joints: as given, or where they were heard to be.
fn positions_of(
    request: &StorePoseRequest,
    subject: &Subject,
    poses: &Poses<'_>,
) -> Result<BTreeMap<JointId, Vec<f64>>, String> {
    let mut positions: BTreeMap<JointId, Vec<f64>> = BTreeMap::new();
    if request.joint_names.is_empty() && request.positions.is_empty() {
        // What no pose can set is left out: joints that follow others.
        let heard = subject
            .heard
            .iter()
            .filter_map(|(joint, at)| Some((poses.joint(joint).ok()?, vec![*at])));
        positions.extend(heard);
        if positions.is_empty() {
            return Err(format!(
                "no joint states of {:?} were heard: is joint_states published? Or give joint_names and positions",
                subject.name
            ));
        }
    } else if request.positions.is_empty() {
        for joint in &request.joint_names {
            let id = poses.joint(joint).map_err(|error| error.to_string())?;
            let Some(at) = subject.heard.get(joint) else {
                return Err(format!(
                    "no joint state of joint {joint:?} was heard: give its position"
                ));
            };
            positions.insert(id, vec![*at]);
        }
    } else {
        for (joint, at) in named(&request.joint_names, &request.positions)? {
            positions.insert(
                poses.joint(joint).map_err(|error| error.to_string())?,
                vec![at],
            );
        }
    }
    Ok(positions)
}

fn absolute(path: &Path) -> String {
    std::path::absolute(path)
        .unwrap_or_else(|_| path.to_owned())
        .to_string_lossy()
        .into_owned()
}

fn delete(
    request: &DeletePoseRequest,
    subject: &mut Subject,
) -> Result<DeletePoseResponse, String> {
    let name = poses::delete(&subject.entry, &request.name, Some(&request.group))?;
    Ok(DeletePoseResponse {
        success: true,
        message: format!("deleted {name:?}"),
    })
}

fn ik(request: &SolveIkRequest, subject: &mut Subject) -> Result<SolveIkResponse, String> {
    let (posable, mut q, known) = subject.coordinates(&request.seed)?;
    let Posable {
        robot, mechanism, ..
    } = &*posable;
    let (base, tip) = (
        base_of(robot, &request.base)?,
        link_of(robot, &request.tip)?,
    );
    let chain = names::chain(robot, mechanism, base, tip).map_err(|wrong| wrong.to_sentence())?;
    let target = Target::new(base, tip, Goal::Pose(pose_of(&request.target)?));
    let outcome = reach(&posable, &[target], &mut q, &known)?;
    let mut positions = vec![0.0; mechanism.position_count()];
    mechanism.positions(&q, &mut positions);
    let mut at = positions.into_iter();
    let mut solution = JointState::default();
    let leaders = chain
        .coordinates()
        .iter()
        .filter_map(|at| Some(mechanism.coordinates().get(*at)?.joint));
    let wanted: Vec<JointId> = chain
        .joints()
        .iter()
        .map(|joint| joint.joint)
        .chain(leaders)
        .collect();
    for (id, joint) in robot.joints().iter() {
        let own: Vec<f64> = at.by_ref().take(position_count(joint.kind())).collect();
        if let [one] = own[..]
            && wanted.contains(&id)
        {
            solution.name.push(joint.name().to_owned());
            solution.position.push(one);
        }
    }
    let message = match outcome.is_reached {
        true => "reached".to_owned(),
        false => format!(
            "not reached in {} attempts: {:.6} m and {:.6} rad are left",
            outcome.attempts, outcome.position, outcome.angle
        ),
    };
    Ok(SolveIkResponse {
        success: outcome.is_reached,
        message,
        solution,
        position_error: outcome.position,
        angle_error: outcome.angle,
        iterations: u32::try_from(outcome.iterations).unwrap_or(u32::MAX),
    })
}

/// Brings links to targets, from the coordinates `q`, of which those of the joints `known` are
/// where they should start.
pub(super) fn reach(
    posable: &Posable,
    targets: &[Target],
    q: &mut [f64],
    known: &[JointId],
) -> Result<Outcome, String> {
    let Posable {
        robot, mechanism, ..
    } = posable;
    let problem = Problem::new(mechanism, targets).map_err(|error| error.to_string())?;
    if let Some(target) = problem.unmoved().and_then(|index| targets.get(index)) {
        let tip = robot.links()[target.tip].name();
        return Err(format!(
            "no joint moves link {tip:?} for its base: name another tip or base"
        ));
    }
    // A robot that stands somewhere gets the solution next to it.
    let stands = |at: &usize| {
        mechanism
            .coordinates()
            .get(*at)
            .is_some_and(|coordinate| known.contains(&coordinate.joint))
    };
    let mut steps = 0;
    if !problem
        .chains()
        .flat_map(|chain| chain.coordinates())
        .any(stands)
    {
        steps = Starts::new(&problem, q).choose(&problem, q);
    }
    let outcome = solve(&mut Lm::default(), &problem, q, &Restarts::default());
    Ok(Outcome {
        iterations: outcome.iterations + steps,
        ..outcome
    })
}

fn fk(request: &ComputeFkRequest, subject: &mut Subject) -> Result<ComputeFkResponse, String> {
    let (posable, q, _) = subject.coordinates(&request.state)?;
    let Posable {
        robot, mechanism, ..
    } = &*posable;
    let base = base_of(robot, &request.base)?;
    let in_tree = |link: &LinkId| mechanism.root(*link) == mechanism.root(base);
    let wanted: Vec<LinkId> = match request.links.is_empty() {
        true => robot
            .tree()
            .order()
            .iter()
            .copied()
            .filter(in_tree)
            .collect(),
        false => request
            .links
            .iter()
            .map(|name| link_of(robot, name))
            .collect::<Result<_, _>>()?,
    };
    let mut response = ComputeFkResponse {
        success: true,
        ..ComputeFkResponse::default()
    };
    for link in wanted {
        let chain =
            names::chain(robot, mechanism, base, link).map_err(|wrong| wrong.to_sentence())?;
        let mut own = vec![0.0; chain.coordinates().len()];
        chain.gather(&q, &mut own);
        response.links.push(robot.links()[link].name().to_owned());
        response.poses.push(message_of(&chain.forward(&own).pose()));
    }
    let base = robot.links()[base].name();
    response.message = format!("{} links in the frame of {base:?}", response.links.len());
    Ok(response)
}

pub(super) fn pose_of(pose: &geometry_msgs::Pose) -> Result<Pose, String> {
    let geometry_msgs::Pose {
        position: p,
        orientation: o,
    } = pose;
    if ![p.x, p.y, p.z].iter().all(|number| number.is_finite()) {
        return Err("the target's position is no number of metres".to_owned());
    }
    let turn =
        nalgebra::UnitQuaternion::try_new(nalgebra::Quaternion::new(o.w, o.x, o.y, o.z), 1e-9);
    let turn = turn.filter(|turn| turn.coords.iter().all(|number| number.is_finite()));
    let turn = turn.ok_or("the target's orientation has no length: x y z w of a rotation are wanted, 0 0 0 1 for none")?;
    Ok(Pose::from_parts(
        nalgebra::Translation3::new(p.x, p.y, p.z),
        turn,
    ))
}

pub(super) fn message_of(pose: &Pose) -> geometry_msgs::Pose {
    let (t, q) = (pose.translation.vector, pose.rotation.coords);
    geometry_msgs::Pose {
        position: geometry_msgs::Point {
            x: t.x,
            y: t.y,
            z: t.z,
        },
        orientation: geometry_msgs::Quaternion {
            x: q.x,
            y: q.y,
            z: q.z,
            w: q.w,
        },
    }
}
