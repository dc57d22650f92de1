//! Poses of root links in the root node of their model.

use nalgebra::Vector3;

use super::codes;
use super::findings::Findings;
use super::placement::Placement;
use super::scene::Scene;
use urdf_usd_gltf_extension::Model;
use urdf_usd_robot::names::unique_from;
use urdf_usd_robot::{ArenaMap, Joint, JointKind, Link, LinkId, Pose, Robot, WORLD};

/// Tolerance, in metres and radians, within which a root link is in its place.
const SAME: f64 = 1e-6;
/// REP-105 name of a robot's base frame, in which z is up.
const BASE: &str = "base_link";

/// Keeps the poses of root links in the node that holds the root node: the roots of a robot with
/// several float in a world, and a root that is tilted hangs on a link that is upright.
pub fn place(
    robot: &mut Robot,
    model: &Model<'_>,
    scene: &Scene<'_>,
    nodes: &ArenaMap<Link, Option<usize>>,
    findings: &mut Findings,
) {
    let root = model.entry.index("rootNode").or_report(findings);
    let above = root
        .filter(|root| *root < scene.len())
        .and_then(|root| scene.parent(root))
        .map(|above| scene.base(above));
    let pose = |link: LinkId| {
        let node = nodes[link]?;
        let placement: Placement = match &above {
            Some(above) => scene.relative(above, node).0,
            None => scene.world(node),
        };
        Some(placement)
            .filter(Placement::is_finite)
            .map(|placement| placement.pose)
    };
    let roots: Vec<(LinkId, Pose)> = robot
        .tree()
        .roots()
        .iter()
        .map(|&link| (link, pose(link).unwrap_or_else(Pose::identity)))
        .collect();
    let is_moved =
        |pose: &Pose| pose.translation.vector.norm() > SAME || pose.rotation.angle() > SAME;
    let name = |name: &str, is_taken: &dyn Fn(&str) -> bool| {
        unique_from(name, "_", 2, |name| !is_taken(name))
    };
    let mut hang = |robot: &mut Robot, kind: JointKind, above: LinkId, link: LinkId, pose: Pose| {
        let wanted = format!("{}_joint", robot.links()[link].name());
        let name = name(&wanted, &|name| robot.joint_named(name).is_some());
        let mut joint = Joint::new(name, kind, above, link);
        joint.origin = pose;
        joint.place = robot.links()[link].place.clone();
        let added = robot.add_joint(joint);
        findings.accept(added.map(|_| ()), &model.entry.at);
    };
    let said = match roots.as_slice() {
        [(link, pose)] if is_moved(pose) => {
            let label = robot.links()[*link].name().to_owned();
            let is_tilted = (pose.rotation * Vector3::z() - Vector3::z()).norm() > SAME;
            if !is_tilted {
                let at = pose.translation.vector;
                let turn = pose.rotation.scaled_axis().z.to_degrees();
                format!(
                    "the root link \"{label}\" is at ({:.4}, {:.4}, {:.4}) m in the scene, turned by {turn:.1}° about z, which is \
                     left out",
                    at.x, at.y, at.z
                )
            } else {
                let base = name(BASE, &|name| robot.link_named(name).is_some());
                let Ok(base) = robot.add_link(Link::new(base)) else {
                    return;
                };
                let turned = Pose::from_parts(Vector3::zeros().into(), pose.rotation);
                hang(robot, JointKind::Fixed, base, *link, turned);
                format!(
                    "the root link \"{label}\" is tilted below its root node: it hangs on the link \"{}\", which is upright",
                    robot.links()[base].name()
                )
            }
        }
        [_, _, ..] if roots.iter().any(|(_, pose)| is_moved(pose)) => {
            let world = match robot.link_named(WORLD) {
                Some(world) => world,
                None => {
                    let Ok(world) = robot.add_link(Link::new(WORLD)) else {
                        return;
                    };
                    world
                }
            };
            for (link, pose) in roots.iter().filter(|(link, _)| *link != world) {
                hang(robot, JointKind::Floating, world, *link, *pose);
            }
            format!(
                "{} root links keep their places: they float in the link \"{WORLD}\"",
                roots.len()
            )
        }
        _ => return,
    };
    let help =
        "nothing need be done; the root node of a robot with one root link is best at identity";
    findings.report(&codes::ROOT, &model.entry.at, said, help);
}
