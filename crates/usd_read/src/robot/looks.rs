//! Variants that change only the looks of a robot (REP-158 §3.7): the robot is read once for each
//! variant, and the results are compared.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::Reading;
use crate::codes;
use urdf_usd_diagnostic::{Diagnostic, Place};
use urdf_usd_robot::{
    Geometry, JointProperties, LazyMesh, Light, LinkId, LinkProperties, LookVariant, Material,
    Robot, Sensor, Shape, VisualPart,
};
use urdf_usd_stage::{Options, Stage, VariantChoice, on_large_stack};
use urdf_usd_usd_author::layout::{FIDELITY, REPRESENTATION};

/// Maximum number of variants read besides the selected ones: each takes as long as the asset
/// itself.
const MAX_READS: usize = 16;

/// The variant sets of REP-158 §1.3.1 and §1.3.2, which change geometry.
const OF_GEOMETRY: [&str; 2] = [FIDELITY, REPRESENTATION];

/// A variant set, if it is the same on all prims that have one of this name.
struct Set<'s> {
    name: &'s str,
    variants: &'s [String],
    selection: Option<&'s str>,
    place: Place,
}

/// Returns the variant sets of a stage that may change looks.
fn sets(stage: &Stage) -> impl Iterator<Item = Set<'_>> {
    let mut found: BTreeMap<&str, Set<'_>> = BTreeMap::new();
    for prim in stage.prims.iter().filter(|prim| prim.instance.is_none()) {
        let of_looks = prim
            .variant_sets
            .iter()
            .filter(|set| !OF_GEOMETRY.contains(&set.name.as_str()));
        for set in of_looks.filter(|set| set.variants.len() > 1) {
            let file = prim.site(None).map_or_else(
                || stage.entry.clone(),
                |site| stage[site.layer].path.clone(),
            );
            found.entry(&set.name).or_insert_with(|| Set {
                name: &set.name,
                variants: &set.variants,
                selection: set.selection.as_deref(),
                place: Place {
                    element: prim.path.clone(),
                    ..Place::file(file)
                },
            });
        }
    }
    found.into_values()
}

/// Returns whether some variant set of a stage may change only looks.
pub(super) fn may_vary(stage: &Stage) -> bool {
    sets(stage).next().is_some()
}

/// Adds the looks from variants to the robot of a stage. Returns diagnostics about the sets that
/// change more.
pub(super) fn read(stage: &Stage, options: &Options, robot: &mut Robot) -> Vec<Diagnostic> {
    let (mut diagnostics, mut kept, mut reads) = (Vec::new(), Vec::new(), 0);
    for set in sets(stage) {
        let baked = |why: &str| {
            let selection = set.selection.map_or_else(
                || "no variant".to_owned(),
                |name| format!("the variant \"{name}\""),
            );
            let message = format!(
                "of the variant set \"{}\" {selection} is read: {why}",
                set.name
            );
            let others = set
                .variants
                .iter()
                .filter(|name| Some(name.as_str()) != set.selection);
            let help = others
                .take(1)
                .map(|name| format!("choose another with `--variant {}={name}`", set.name))
                .collect::<String>();
            Diagnostic::new(&codes::VARIANT, set.place.clone(), message).help(help)
        };
        reads += set.variants.len() - usize::from(set.selection.is_some());
        if reads > MAX_READS {
            diagnostics.push(baked("there are too many variants to compare"));
            continue;
        }
        match looks(stage, options, robot, &set) {
            Some(looks) if looks.iter().any(|look| !look.materials.is_empty()) => {
                kept.push((set, looks))
            }
            Some(_) => {}
            None => diagnostics.push(baked("its variants change more than materials")),
        }
    }
    let is_alone = kept.len() == 1;
    for (set, looks) in kept {
        for mut look in looks {
            if !is_alone {
                look.name = format!("{}={}", set.name, look.name);
            }
            if let Err(error) = robot.add_look_variant(look) {
                let message = format!("a variant is left out: {error}");
                diagnostics.push(
                    Diagnostic::new(&codes::VARIANT, set.place.clone(), message)
                        .help("give each variant a name of its own"),
                );
            }
        }
    }
    diagnostics
}

/// Returns the looks of a set's variants; `None` if one of them changes more, or can't be read.
fn looks(
    stage: &Stage,
    options: &Options,
    robot: &Robot,
    set: &Set<'_>,
) -> Option<Vec<LookVariant>> {
    let outline = outline(robot);
    let mut others: Vec<(&String, Materials)> = Vec::new();
    for name in set
        .variants
        .iter()
        .filter(|name| Some(name.as_str()) != set.selection)
    {
        let choice = VariantChoice {
            prim: None,
            set: set.name.to_owned(),
            variant: name.clone(),
        };
        let other = with(stage, options, choice)?;
        if self::outline(&other) != outline {
            return None;
        }
        others.push((name, differing(robot, &other)?));
    }
    let varying: BTreeSet<VisualPart> = others
        .iter()
        .flat_map(|(_, materials)| materials.keys().copied())
        .collect();
    let look = |name: &String| {
        let other = others
            .iter()
            .find(|(other, _)| *other == name)
            .map(|(_, materials)| materials);
        let material = |at: &VisualPart| match other.and_then(|materials| materials.get(at)) {
            Some(material) => material.clone(),
            None => robot
                .material_of(robot.links()[at.link].visuals.get(at.visual)?, at.part)
                .cloned(),
        };
        LookVariant {
            name: name.clone(),
            materials: varying.iter().map(|at| (*at, material(at))).collect(),
        }
    };
    Some(set.variants.iter().map(look).collect())
}

/// The materials of parts of visuals.
type Materials = BTreeMap<VisualPart, Option<Material>>;

/// Reads the robot with another variant selected.
fn with(stage: &Stage, options: &Options, choice: VariantChoice) -> Option<Robot> {
    let kept = options
        .variants
        .iter()
        .filter(|known| known.set != choice.set)
        .cloned();
    let options = Options {
        variants: kept.chain([choice.clone()]).collect(),
        ..options.clone()
    };
    let other = stage.reopen(&options).ok()?;
    let reading = on_large_stack(|| Reading::of(&other)).ok()?.ok()?;
    Some(reading.robot)
}

/// Returns a canonical text of a robot without its shapes and looks. It is independent of the order
/// of parts, because prims that a variant mentions come first.
fn outline(robot: &Robot) -> Vec<String> {
    let name = |link: LinkId| robot.links()[link].name();
    let links = robot.links().values().map(|link| {
        let mut bare = LinkProperties::clone(link);
        bare.place = Place::default();
        bare.inertial
            .iter_mut()
            .for_each(|inertial| inertial.place = Place::default());
        format!("{:?} {bare:?}", link.name())
    });
    let joints = robot.joints().values().map(|joint| {
        let mimic = joint.mimic().map(|mimic| {
            let leader = robot.joints()[mimic.joint].name();
            (leader, mimic.multiplier, mimic.offset)
        });
        let bare = JointProperties {
            place: Place::default(),
            ..JointProperties::clone(joint)
        };
        format!(
            "{:?} {:?} {} {} {mimic:?} {} {bare:?}",
            joint.name(),
            joint.kind(),
            name(joint.parent()),
            name(joint.child()),
            joint.closes_loop()
        )
    });
    let sensors = robot.sensors().iter().map(|sensor| {
        let Sensor {
            name: own,
            kind,
            link,
            origin,
            frame,
            frame_name,
            interfaces,
            place: _,
        } = sensor;
        let (link, frame) = (name(*link), frame.map(name));
        format!("{link} {frame:?} {own} {kind:?} {origin:?} {frame_name:?} {interfaces:?}")
    });
    let lights = robot.lights().iter().map(|light| {
        let Light {
            name: own,
            kind,
            link,
            origin,
            color,
            intensity,
            range,
            place: _,
        } = light;
        let link = name(*link);
        format!("{link} {own} {kind:?} {origin:?} {color:?} {intensity} {range:?}")
    });
    let pairs = robot.disabled_collisions().iter().map(|(a, b)| {
        let mut pair = [name(a), name(b)];
        pair.sort_unstable();
        format!("{pair:?}")
    });
    let whole = format!(
        "{} {:?} {:?} {:?} {:?}",
        robot.name(),
        robot.about,
        robot.custom,
        robot.interfaces,
        robot.named_poses()
    );
    let mut outline: Vec<String> = links
        .chain(joints)
        .chain(sensors)
        .chain(lights)
        .chain(pairs)
        .chain([whole])
        .collect();
    outline.sort_unstable();
    outline
}

/// Returns the parts of visuals whose materials differ, with the materials of `other`; `None` if
/// anything else differs.
fn differing(robot: &Robot, other: &Robot) -> Option<Materials> {
    let mut found = Materials::new();
    for (link, a) in robot.links().iter() {
        let b = &other.links()[other.link_named(a.name())?];
        for (a, b, is_visible) in [
            (&a.visuals, &b.visuals, true),
            (&a.collisions, &b.collisions, false),
        ] {
            let others: HashMap<(&str, usize), &Shape> = numbered(b).collect();
            if a.len() != b.len() {
                return None;
            }
            for (visual, (at, a)) in numbered(a).enumerate() {
                let b = others
                    .get(&at)
                    .filter(|b| is_same_shape(robot, a, other, b))?;
                for part in 0..mesh_of(robot, a).map_or(1, |mesh| mesh.parts.len()) {
                    let material = other.material_of(b, part);
                    if is_visible && robot.material_of(a, part) != material {
                        let at = VisualPart { link, visual, part };
                        found.insert(at, material.cloned());
                    }
                }
            }
        }
    }
    Some(found)
}

/// Returns shapes with their prim, and their index among the shapes of the prim.
fn numbered(shapes: &[Shape]) -> impl Iterator<Item = ((&str, usize), &Shape)> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    shapes.iter().map(move |shape| {
        let prim = shape.place.element.as_str();
        let count = counts.entry(prim).or_insert(0);
        *count += 1;
        ((prim, *count), shape)
    })
}

fn mesh_of<'a>(robot: &'a Robot, shape: &Shape) -> Option<&'a LazyMesh> {
    match shape.geometry {
        Geometry::Mesh { mesh, .. } => Some(&robot.meshes()[mesh].mesh),
        _ => None,
    }
}

/// Returns whether shapes are equal except for their materials.
fn is_same_shape(robot: &Robot, a: &Shape, other: &Robot, b: &Shape) -> bool {
    let is_same = match (&a.geometry, &b.geometry) {
        (
            Geometry::Mesh { scale, .. },
            Geometry::Mesh {
                scale: of_other, ..
            },
        ) => {
            let [a, b] =
                [mesh_of(robot, a), mesh_of(other, b)].map(|mesh| mesh.map(|mesh| mesh.digest));
            scale == of_other && a == b
        }
        (a, b) => a == b,
    };
    is_same
        && (a.origin, &a.name, &a.stand_in_for, a.instance_set.is_some())
            == (b.origin, &b.name, &b.stand_in_for, b.instance_set.is_some())
        && format!("{:?}", a.custom) == format!("{:?}", b.custom)
}
