//! `planning.usda`: data for motion planners, as attributes `planning:*`, and collision spheres as
//! guides; written only if there is any. A variant makes some of the spheres colliders.
//! `docs/output.md` documents the attributes.

use super::Scene;
use super::instances::author_primitive;
use urdf_usd_robot::{
    Geometry, JointId, LinkId, NamedPose, Planning, PlanningCollision, Pose, Sphere, names,
};
use urdf_usd_usd_author::layout::{COLLISION, DEFAULT_POSE_PROPERTIES, SELF_COLLISION, SPHERES};
use urdf_usd_usd_author::numbers::{place, vec3d};
use urdf_usd_usd_author::{Attribute, Layer, Prim, Relationship};

pub(super) fn layer(scene: &Scene<'_>) -> Option<Layer> {
    let planning = scene.robot.planning();
    let pose = scene.robot.default_pose();
    if planning.is_empty() && pose.is_none() {
        return None;
    }
    let (mut layer, root) = super::layer(
        scene,
        "planning:* (what motion planners need to know) and spheres",
    );
    author_joints(scene, layer.over(&root), pose);
    if !planning.groups.is_empty() {
        let groups = planning.groups.iter().map(|group| group.name.clone());
        layer.over(&root).attribute(
            "planning:sphereGroups",
            Attribute::string_array(groups).uniform().custom(),
        );
    }
    author_collisions(scene, &mut layer, &root);
    author_spheres(scene, &mut layer);
    Some(layer)
}

/// Returns the path of a link.
fn path_of<'a>(scene: &'a Scene<'_>, link: LinkId) -> &'a str {
    &scene.plan.links[link].path
}

/// Authors the configuration space, the tool frames and the planner's default pose.
fn author_joints(scene: &Scene<'_>, mut prim: Prim<'_>, pose: Option<&NamedPose>) {
    let planning = scene.robot.planning();
    // A joint without a prim is fixed, so it is not a coordinate either.
    let path = |joint: JointId| {
        scene.plan.joints[joint]
            .as_ref()
            .map(|plan| plan.path.clone())
    };
    let coordinates: Vec<_> = planning
        .coordinates
        .iter()
        .filter_map(|c| Some((path(c.joint)?, c)))
        .collect();
    if !coordinates.is_empty() {
        let limits = |limit: fn(&urdf_usd_robot::Coordinate) -> Option<f64>| {
            // An array needs a value for each joint: 0 means no limit.
            let limits = coordinates
                .iter()
                .map(|(_, coordinate)| limit(coordinate).unwrap_or(0.0));
            Attribute::double_array(limits).uniform().custom()
        };
        prim.relationship(
            "planning:cspace:joints",
            Relationship::to(coordinates.iter().map(|(path, _)| path)).custom(),
        )
        .attribute(
            "planning:cspace:accelerationLimits",
            limits(|coordinate| coordinate.acceleration),
        )
        .attribute(
            "planning:cspace:jerkLimits",
            limits(|coordinate| coordinate.jerk),
        );
    }
    if !planning.tool_frames.is_empty() {
        prim.relationship(
            "planning:toolFrames",
            Relationship::to(
                planning
                    .tool_frames
                    .iter()
                    .map(|link| path_of(scene, *link)),
            )
            .custom(),
        );
    }
    if let Some(pose) = pose {
        let set: Vec<_> = pose
            .positions
            .iter()
            .filter_map(|(joint, at)| match at[..] {
                [at] => Some((path(*joint)?, at)),
                _ => None,
            })
            .collect();
        let [joints, positions] = DEFAULT_POSE_PROPERTIES;
        prim.relationship(
            joints,
            Relationship::to(set.iter().map(|(path, _)| path)).custom(),
        )
        .attribute(
            positions,
            Attribute::double_array(set.iter().map(|(_, at)| *at))
                .uniform()
                .custom(),
        );
    }
}

/// Authors the spheres checked for each kind of collision, with their margins.
fn author_collisions(scene: &Scene<'_>, layer: &mut Layer, root: &str) {
    let planning = scene.robot.planning();
    for (name, collision) in [
        (COLLISION, &planning.collision),
        (SELF_COLLISION, &planning.self_collision),
    ] {
        if let Some(PlanningCollision { group, buffers }) = collision {
            let group = planning.groups.get(*group).map_or("", |group| &group.name);
            layer.over(root).attribute(
                &format!("{name}:group"),
                Attribute::string(group).uniform().custom(),
            );
            for (of, buffer) in buffers {
                layer.over(path_of(scene, *of)).attribute(
                    &format!("{name}:buffer"),
                    Attribute::double(*buffer).uniform().custom(),
                );
            }
        }
    }
    let mut pairs = planning.ignored.iter().peekable();
    while let Some((first, second)) = pairs.next() {
        let mut others = vec![path_of(scene, second)];
        while let Some((_, other)) = pairs.next_if(|(next, _)| *next == first) {
            others.push(path_of(scene, other));
        }
        layer.over(path_of(scene, first)).relationship(
            &format!("{SELF_COLLISION}:ignored"),
            Relationship::to(others).custom(),
        );
    }
}

/// Authors the spheres of each group below their links.
fn author_spheres(scene: &Scene<'_>, layer: &mut Layer) {
    let planning = scene.robot.planning();
    let wanted: Vec<&str> = planning
        .groups
        .iter()
        .map(|group| group.name.as_str())
        .collect();
    for (group, scope) in planning
        .groups
        .iter()
        .zip(names::identifiers(&wanted, "spheres", &[]))
    {
        for (of, spheres) in &group.spheres {
            let holder = format!("{}/{SPHERES}", path_of(scene, *of));
            layer.scope(&holder);
            let holder = format!("{holder}/{scope}");
            let mut prim = layer.scope(&holder);
            if scope != group.name {
                prim.display_name(&group.name);
            }
            for (index, sphere) in spheres.iter().enumerate() {
                author_sphere(
                    &mut layer.def(&format!("{holder}/{}", name(index)), ""),
                    sphere,
                );
            }
        }
    }
}

/// Types a prim as a sphere with the purpose guide. A sphere with a negative radius becomes a point
/// with the radius as an attribute.
pub(super) fn author_sphere(prim: &mut Prim<'_>, sphere: &Sphere) {
    author_primitive(prim, &shape(sphere));
    prim.attribute("purpose", Attribute::token("guide").uniform());
    if sphere.radius < 0.0 {
        prim.attribute(
            "planning:radius",
            Attribute::double(sphere.radius).uniform().custom(),
        );
    }
    place(prim, &at(sphere), None);
}

/// Returns the spheres of a link that serve as colliders, with their names: those checked against
/// obstacles, or else against other links, or else those of the first group.
pub(super) fn colliders(planning: &Planning, link: LinkId) -> Vec<(String, &Sphere)> {
    let group = planning
        .collision
        .as_ref()
        .or(planning.self_collision.as_ref())
        .map_or(0, |collision| collision.group);
    let of_link = planning
        .groups
        .get(group)
        .and_then(|group| group.spheres.iter().find(|(of, _)| *of == link));
    let spheres = of_link
        .map_or(&[][..], |(_, spheres)| spheres)
        .iter()
        .enumerate();
    spheres
        .filter(|(_, sphere)| sphere.radius > 0.0)
        .map(|(index, sphere)| (name(index), sphere))
        .collect()
}

/// Returns the prim name of a sphere.
fn name(index: usize) -> String {
    format!("sphere_{index}")
}

/// Returns the drawn geometry of a sphere.
pub(super) fn shape(sphere: &Sphere) -> Geometry {
    Geometry::Sphere {
        radius: sphere.radius.max(0.0),
    }
}

/// Returns the pose of a sphere in its link.
pub(super) fn at(sphere: &Sphere) -> Pose {
    let [x, y, z] = vec3d(&sphere.center.coords);
    Pose::translation(x, y, z)
}
