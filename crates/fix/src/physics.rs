//! Bodies, masses, colliders, contact materials, articulations (REP-158 §1.3).

use nalgebra::{Point3, Quaternion, UnitQuaternion, Vector3};
use openusd::gf;
use urdf_usd_robot::realisable_moments;
use urdf_usd_stage::{Stage, Value, factor, numbers};

use super::frames::{Places, scale_numbers};
use super::joints::rotated;
use super::notes::Notes;
use super::scene::{Node, NodeId, Scene};

/// Converts physics to the new frames and units, and authors missing properties.
pub fn fix(scene: &mut Scene, stage: &Stage, places: &Places, notes: &mut Notes) {
    for index in scene.nodes.handles() {
        fix_mass(scene, index, places, notes);
        fix_gravity(scene, index, places);
    }
    compute_masses(scene, stage, places, notes);
    fix_articulations(scene, notes);
    // After all that needs the places of prims, which new ones don't have.
    super::shapes::fix(scene, notes);
    fix_approximations(scene, notes);
    fix_contacts(scene, notes);
}

/// Converts mass properties to the new frame of the body.
fn fix_mass(scene: &mut Scene, index: NodeId, places: &Places, notes: &mut Notes) {
    let (m, kg) = (places.meters, places.kilograms);
    let affine = places.change(index);
    let rotation = places.rotation_change(index);
    let node = &mut scene.nodes[index];
    scale_numbers(node, &["physics:mass"], kg);
    scale_numbers(node, &["physics:density"], kg / (m * m * m));
    scale_numbers(node, &["physics:diagonalInertia"], kg * m * m);
    if !Places::is_identity(&affine) {
        // Minus infinity means that the centre of mass is not authored.
        if let Some(centre) = node
            .value("physics:centerOfMass")
            .and_then(numbers::<3>)
            .filter(|c| c.iter().all(|c| c.is_finite()))
        {
            let old = factor(&(places.world * places.old[index]));
            let c = Point3::from(old.scale.component_mul(&Vector3::from(centre)));
            let c = (places.new[index].inverse() * old.pose).transform_point(&c);
            node.set(
                "physics:centerOfMass",
                "point3f",
                Value::Vec3f(gf::Vec3f {
                    x: c.x as f32,
                    y: c.y as f32,
                    z: c.z as f32,
                }),
            );
        }
        let axes = node.value("physics:principalAxes").and_then(numbers::<4>);
        // UsdPhysics ignores moments of zero and axes of zero length, which are its fallbacks.
        let is_given = node
            .value("physics:diagonalInertia")
            .and_then(numbers::<3>)
            .is_some_and(|inertia| inertia.iter().any(|i| *i != 0.0));
        if is_given && rotation.angle() > 1e-12 {
            let [w, x, y, z] = axes
                .filter(|axes| axes.iter().any(|c| *c != 0.0))
                .unwrap_or([1.0, 0.0, 0.0, 0.0]);
            let q = (rotation * UnitQuaternion::from_quaternion(Quaternion::new(w, x, y, z)))
                .into_inner();
            let value = gf::Quatf {
                w: q.w as f32,
                x: q.i as f32,
                y: q.j as f32,
                z: q.k as f32,
            };
            node.set("physics:principalAxes", "quatf", Value::Quatf(value));
        }
        for name in ["physics:velocity", "physics:angularVelocity"] {
            if let Some(v) = node.value(name).and_then(numbers::<3>) {
                node.set(name, "vector3f", Value::Vec3f(rotated(&rotation, v)));
            }
        }
    }
    let has_moments = node
        .value("physics:diagonalInertia")
        .and_then(numbers::<3>)
        .is_some_and(|moments| moments.iter().any(|i| *i != 0.0));
    let has_axes = node
        .value("physics:principalAxes")
        .and_then(numbers::<4>)
        .is_some_and(|axes| axes.iter().any(|c| *c != 0.0));
    if has_moments && !has_axes {
        // Programs assume the axes of the body.
        node.set(
            "physics:principalAxes",
            "quatf",
            Value::Quatf(gf::Quatf {
                w: 1.0,
                x: 0.0,
                y: 0.0,
                z: 0.0,
            }),
        );
        notes.changed(
            &node.path,
            "authored the principal axes of inertia: those of the body",
        );
    }
    scale_numbers(node, &["physics:velocity"], m);
    if node.is_body() && node.number("physics:mass").is_some() && !node.has("PhysicsMassAPI") {
        node.apply("PhysicsMassAPI");
        notes.changed(&node.path, "applied PhysicsMassAPI to the body with a mass");
    }
}

/// Gives bodies without a mass the mass, centre and inertia that UsdPhysics computes from their
/// colliders.
fn compute_masses(scene: &mut Scene, stage: &Stage, places: &Places, notes: &mut Notes) {
    let has_mass = |node: &Node| node.number("physics:mass").is_some_and(|mass| mass > 0.0);
    if scene
        .nodes
        .values()
        .all(|node| !node.is_body() || has_mass(node))
    {
        return;
    }
    // Masses cannot be computed if the stage cannot be read as a robot.
    let computed = urdf_usd_usd_read::body_masses(stage).unwrap_or_default();
    for index in scene.nodes.handles() {
        let node = &mut scene.nodes[index];
        if !node.is_body() || has_mass(node) {
            continue;
        }
        let known = computed
            .iter()
            .find(|known| stage[known.prim].path == node.path);
        let Some(known) = known.filter(|known| known.inertial.mass > 0.0) else {
            notes.left(
                &node.path,
                "the body has no mass, so each program computes a different one",
                "author physics:mass, in kg, and the inertia",
            );
            continue;
        };
        let here = places.new[index].inverse() * known.inertial.origin;
        let rotation = here.rotation.to_rotation_matrix().into_inner();
        let (moments, axes) = urdf_usd_robot::principal_axes(
            &(rotation * known.inertial.inertia * rotation.transpose()),
        );
        let single = |v: Vector3<f64>| {
            Value::Vec3f(gf::Vec3f {
                x: v.x as f32,
                y: v.y as f32,
                z: v.z as f32,
            })
        };
        let q = axes.into_inner();
        node.apply("PhysicsMassAPI");
        node.set(
            "physics:mass",
            "float",
            Value::Float(known.inertial.mass as f32),
        );
        node.set(
            "physics:centerOfMass",
            "point3f",
            single(here.translation.vector),
        );
        node.set("physics:diagonalInertia", "float3", single(moments));
        node.set(
            "physics:principalAxes",
            "quatf",
            Value::Quatf(gf::Quatf {
                w: q.w as f32,
                x: q.i as f32,
                y: q.j as f32,
                z: q.k as f32,
            }),
        );
        let density = if known.is_assumed {
            format!(
                "{} kg/m³, the default of UsdPhysics: author the real mass",
                urdf_usd_usd_read::DENSITY
            )
        } else {
            "the densities or masses of the asset".to_owned()
        };
        notes.changed(
            &node.path,
            format!("computed the mass and inertia of the body from its colliders, with {density}"),
        );
    }
}

/// Replaces principal moments of inertia that no body has, or that programs in single precision reject.
pub fn repair_inertias(scene: &mut Scene, notes: &mut Notes) {
    for node in scene.nodes.values_mut() {
        repair_inertia(node, notes);
    }
}

fn repair_inertia(node: &mut Node, notes: &mut Notes) {
    let name = "physics:diagonalInertia";
    let mass = node.number("physics:mass").filter(|mass| *mass > 0.0);
    let (Some(mass), Some(moments)) = (mass, node.value(name).and_then(numbers::<3>)) else {
        return;
    };
    // UsdPhysics ignores moments of zero, which are its fallback.
    if !node.is_body() || moments == [0.0; 3] {
        return;
    }
    let finite = moments.map(|moment| if moment.is_finite() { moment } else { 0.0 });
    let sound: [f64; 3] = realisable_moments(mass, &finite.into()).into();
    if sound == moments {
        return;
    }
    let [x, y, z] = sound.map(|moment| moment as f32);
    node.set(name, "float3", Value::Vec3f(gf::Vec3f { x, y, z }));
    let list = |moments: [f64; 3]| moments.map(|moment| format!("{moment:.6e}")).join(", ");
    notes.changed(
        &node.path,
        format!(
            "replaced the moments of inertia ({}), which no body has or which are too close to that for single precision, by ({})",
            list(moments),
            list(sound)
        ),
    );
}

/// Converts gravity to the new units and axes.
fn fix_gravity(scene: &mut Scene, index: NodeId, places: &Places) {
    let node = &mut scene.nodes[index];
    scale_numbers(node, &["physics:gravityMagnitude"], places.meters);
    if places.rotation.angle() > 0.0
        && let Some(direction) = node
            .value("physics:gravityDirection")
            .and_then(numbers::<3>)
    {
        node.set(
            "physics:gravityDirection",
            "vector3f",
            Value::Vec3f(rotated(&places.rotation, direction)),
        );
    }
}

/// Removes articulation roots below another one.
fn fix_articulations(scene: &mut Scene, notes: &mut Notes) {
    let is_root =
        |scene: &Scene, index: NodeId| scene.nodes[index].has("PhysicsArticulationRootAPI");
    for index in scene.nodes.handles() {
        if is_root(scene, index)
            && scene
                .upwards(index)
                .skip(1)
                .any(|above| is_root(scene, above))
        {
            let node = &mut scene.nodes[index];
            node.schemas
                .retain(|schema| schema != "PhysicsArticulationRootAPI");
            notes.changed(
                &node.path,
                "removed the articulation root below another one",
            );
        }
    }
}

/// Returns the purpose of a prim: its own, or that of the nearest ancestor with one.
pub fn purpose(scene: &Scene, index: NodeId) -> String {
    let authored = scene.upwards(index).find_map(|above| {
        scene.nodes[above]
            .text("purpose")
            .filter(|purpose| *purpose != "default")
    });
    authored.unwrap_or("default").to_owned()
}

/// Authors the approximation of colliders.
fn fix_approximations(scene: &mut Scene, notes: &mut Notes) {
    for node in scene
        .nodes
        .values_mut()
        .filter(|node| node.is_collider() && node.is_shape())
    {
        if node.text("physics:approximation").is_none() {
            node.apply("PhysicsMeshCollisionAPI");
            node.set_uniform(
                "physics:approximation",
                "token",
                Value::Token("none".into()),
            );
            notes.changed(
                &node.path,
                "set physics:approximation of the collider to none",
            );
        }
    }
}

/// Binds a contact material to every collider.
fn fix_contacts(scene: &mut Scene, notes: &mut Notes) {
    let mut missing = Vec::new();
    for index in scene.nodes.handles() {
        let node = &scene.nodes[index];
        if node.is_collider()
            && node.is_shape()
            && node.targets("material:binding:physics").is_empty()
        {
            // An inherited binding, or one for all purposes to a material with physics, is authored on
            // the collider itself.
            let names = ["material:binding:physics", "material:binding"];
            let inherited = scene
                .upwards(index)
                .flat_map(|above| {
                    names.map(|name| scene.nodes[above].targets(name).first().cloned())
                })
                .flatten();
            let found = inherited.into_iter().find(|path| {
                scene
                    .at(path)
                    .is_some_and(|material| scene.nodes[material].has("PhysicsMaterialAPI"))
            });
            missing.push((index, found));
        }
    }
    for index in scene.nodes.handles() {
        let node = &mut scene.nodes[index];
        if node.has("PhysicsMaterialAPI") {
            complete_material(node, notes);
        }
    }
    if missing.is_empty() {
        return;
    }
    let mut default = None;
    for (index, found) in missing {
        let material = found.unwrap_or_else(|| {
            let material = *default.get_or_insert_with(|| default_material(scene));
            scene.nodes[material].path.clone()
        });
        let node = &mut scene.nodes[index];
        node.apply("MaterialBindingAPI");
        node.set_target("material:binding:physics", material);
        notes.changed(&node.path, "bound a contact material to the collider");
    }
}

/// Adds the contact material of colliders without one: the defaults of engines differ.
fn default_material(scene: &mut Scene) -> NodeId {
    let folder = scene.add(scene.root, "PhysicsMaterials", "Scope");
    let material = scene.add(folder, "default", "Material");
    let contact = urdf_usd_robot::Contact::default();
    let node = &mut scene.nodes[material];
    node.apply("PhysicsMaterialAPI");
    node.set(
        "physics:staticFriction",
        "float",
        Value::Float(contact.static_friction as f32),
    );
    node.set(
        "physics:dynamicFriction",
        "float",
        Value::Float(contact.dynamic_friction as f32),
    );
    node.set(
        "physics:restitution",
        "float",
        Value::Float(contact.restitution.unwrap_or(0.0) as f32),
    );
    material
}

/// Authors missing properties of a contact material, with the defaults of UsdPhysics.
fn complete_material(node: &mut Node, notes: &mut Notes) {
    for name in [
        "physics:staticFriction",
        "physics:dynamicFriction",
        "physics:restitution",
    ] {
        if node.value(name).is_none() {
            node.set(name, "float", Value::Float(0.0));
            notes.changed(
                &node.path,
                "authored the default of UsdPhysics, 0, for missing properties of the contact material",
            );
        }
    }
}
