//! Assumes masses of links whose source gives none, by a file or a density: [`assume`].
//!
//! Without either, no mass is computed: an invented mass would look like a measured one.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use urdf_usd_diagnostic::{Code, Diagnostic, Place, did_you_mean, nearest};
use urdf_usd_geometry::convex_hull;
use urdf_usd_resolve::Files;
use urdf_usd_robot::{
    CacheEvicted, Geometry, Inertial, Link, LinkId, Pose, Robot, Role, Roles, Shape, Solid,
};
use urdf_usd_text::yaml;

use super::context::Stop;
use super::{Options, codes};

/// Maximum size of a file of masses, in bytes.
const MAX_FILE: u64 = 4 << 20;

/// Gives each body without a positive mass in its source the mass that `options` define, and
/// reports it.
///
/// # Errors
/// Fails if the file of masses can't be read, or a mesh is no longer in the cache.
pub(super) fn assume(
    robot: &mut Robot,
    options: &Options,
    files: &Files,
) -> Result<Vec<Diagnostic>, Stop> {
    let mut found = Vec::new();
    let given = match &options.masses {
        Some(path) => read(path, robot, files, &mut found)?,
        None => HashMap::new(),
    };
    if given.is_empty() && options.density <= 0.0 {
        return Ok(found);
    }
    let roles = Roles::new(robot, options.base);
    for id in robot.links().handles() {
        let link = &robot.links()[id];
        let is_measured = link
            .inertial
            .as_ref()
            .is_some_and(|inertial| inertial.mass > 0.0);
        // A frame whose content belongs to another link has no mass itself.
        let is_body =
            roles.of[id] == Role::Body || roles.content.values().any(|&content| content == id);
        let is_solid = !(link.visuals.is_empty() && link.collisions.is_empty());
        if is_measured || !(is_body || is_solid) || roles.of[id] == Role::World {
            continue;
        }
        // Without a density, only the shape matters: the inertia is scaled to the given mass below.
        let solid = evenly_filled(
            robot,
            link,
            if options.density > 0.0 {
                options.density
            } else {
                1.0
            },
        )?;
        let (mass, how) = match (given.get(&id), solid) {
            (Some(&mass), _) => (mass, "from the file of masses".to_owned()),
            (None, Some(solid)) if options.density > 0.0 => (
                solid.mass,
                format!("its volume with {} kg/m³", options.density),
            ),
            _ => continue,
        };
        let origin = link
            .inertial
            .as_ref()
            .map_or_else(Pose::identity, |inertial| inertial.origin);
        let (origin, inertia) = match solid {
            Some(solid) => (
                Pose::from_parts(solid.centre.into(), Default::default()),
                solid.inertia * (mass / solid.mass),
            ),
            None => (origin, nalgebra::Matrix3::zeros()),
        };
        let message = format!(
            "link {:?} has no mass in its source; assuming {mass:.4} kg: {how}",
            link.name()
        );
        let place = link
            .inertial
            .as_ref()
            .map_or_else(|| link.place.clone(), |inertial| inertial.place.clone());
        found.push(
            Diagnostic::new(&codes::MASS_ASSUMED, place.clone(), message).help(
                "give the link an inertial with its true mass and inertia when they are known",
            ),
        );
        robot.link_mut(id).inertial = Some(Inertial {
            origin,
            mass,
            inertia,
            is_assumed: true,
            place,
        });
    }
    Ok(found)
}

/// Returns the solid of a link of uniform density: its colliders, or its visuals if it has none.
///
/// An open mesh counts as its convex hull. `None` if nothing encloses a volume.
fn evenly_filled(robot: &Robot, link: &Link, density: f64) -> Result<Option<Solid>, CacheEvicted> {
    let of = |shapes: &[Shape]| {
        let solids = shapes
            .iter()
            .map(|shape| shape_solid(robot, shape, density))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Solid::together(
            &solids.into_iter().flatten().collect::<Vec<_>>(),
        ))
    };
    match of(&link.collisions)? {
        Some(solid) => Ok(Some(solid)),
        None => of(&link.visuals),
    }
}

fn shape_solid(robot: &Robot, shape: &Shape, density: f64) -> Result<Option<Solid>, CacheEvicted> {
    let solid = match &shape.geometry {
        Geometry::Mesh { mesh: id, .. } => {
            let source = &robot.meshes()[*id];
            let arrays = source.mesh.arrays()?;
            match &source.hull {
                _ if arrays.is_watertight() => Solid::of(&shape.geometry, Some(&arrays), density),
                Some(hull) => Solid::of(&shape.geometry, Some(&*hull.arrays()?), density),
                None => convex_hull(&arrays.points)
                    .ok()
                    .and_then(|hull| Solid::of(&shape.geometry, Some(&hull), density)),
            }
        }
        geometry => Solid::of(geometry, None, density),
    };
    Ok(solid.map(|solid| solid.placed(&shape.origin)))
}

/// Reads a YAML file of a user; returns its documents and its absolute path. `help` says what to write.
///
/// # Errors
/// If the file can't be read (with `code` if it is not YAML).
pub(super) fn read_yaml(
    path: &Path,
    files: &Files,
    code: &'static Code,
    help: &str,
) -> Result<(Vec<yaml::Yaml>, PathBuf), Diagnostic> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let file = files
        .input_within(&path, MAX_FILE)
        .map_err(|error| error.at(Place::file(path.clone())))?;
    let text = String::from_utf8_lossy(&file.bytes);
    let documents = yaml::read(text.trim_start_matches('\u{feff}')).map_err(|fault| {
        let help = if fault.help.is_empty() {
            help
        } else {
            &fault.help
        };
        let place = Place {
            line: fault.at.line,
            column: fault.at.column,
            ..Place::file(path.clone())
        };
        Diagnostic::new(code, place, fault.message).help(help)
    })?;
    Ok((documents, path))
}

/// Reads the masses in a file, in kg.
fn read(
    path: &Path,
    robot: &Robot,
    files: &Files,
    found: &mut Vec<Diagnostic>,
) -> Result<HashMap<LinkId, f64>, Diagnostic> {
    const HELP: &str = "write a line for each link: upper_arm_link: 2.5 (kg)";
    let (documents, path) = read_yaml(path, files, &codes::MASSES_FILE, HELP)?;
    let place = |at: yaml::Mark| Place {
        line: at.line,
        column: at.column,
        ..Place::file(path.clone())
    };
    let mut masses = HashMap::new();
    for (key, value) in documents.iter().flat_map(yaml::Yaml::entries) {
        let number = value
            .text()
            .and_then(|text| text.parse::<f64>().ok())
            .filter(|mass| *mass > 0.0 && mass.is_finite());
        let Some(mass) = number else {
            let message = format!("the mass of link {:?} is not a number above zero", key.text);
            return Err(Diagnostic::new(&codes::MASSES_FILE, place(value.at), message).help(HELP));
        };
        match robot.link_named(&key.text) {
            None => {
                let names = robot.links().values().map(Link::name);
                let meant = did_you_mean(nearest(&key.text, names));
                let message = format!("the robot has no link {:?}", key.text);
                let help =
                    meant.unwrap_or_else(|| "correct the name, or remove the line".to_owned());
                found.push(Diagnostic::new(&codes::MASS_UNUSED, place(key.at), message).help(help));
            }
            Some(link)
                if robot.links()[link]
                    .inertial
                    .as_ref()
                    .is_some_and(|inertial| inertial.mass > 0.0) =>
            {
                let message = format!(
                    "link {:?} already has a mass in its source, which takes precedence",
                    key.text
                );
                found.push(
                    Diagnostic::new(&codes::MASS_UNUSED, place(key.at), message)
                        .help("remove the line, or correct the source"),
                );
            }
            Some(link) => drop(masses.insert(link, mass)),
        }
    }
    Ok(masses)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::{Context, Failure, Formats, Job, Options, OutputFormat, Report, Source, convert};

    const URDF: &str = "<robot name='r'>\n<link name='base'><collision><geometry><box size='1 2 3'/></geometry></collision></link>
        <link name='wheel'><visual><origin xyz='0 0 1'/><geometry><sphere radius='0.5'/></geometry></visual></link>
        <link name='known'><inertial><mass value='7'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial></link>
        <link name='bare'/>
        <joint name='a' type='continuous'><parent link='base'/><child link='wheel'/></joint>
        <joint name='b' type='continuous'><parent link='base'/><child link='known'/></joint>
        <joint name='c' type='continuous'><parent link='base'/><child link='bare'/></joint></robot>";

    /// The name of a link, its mass in kg, and whether that is marked as assumed.
    type Weight = (String, f64, bool);

    fn run(density: f64, masses: Option<&str>) -> Result<(Report, Vec<Weight>), Failure> {
        let folder = tempfile::tempdir().unwrap();
        let file = masses.map(|text| {
            let path = folder.path().join("masses.yaml");
            fs::write(&path, text).unwrap();
            path
        });
        let options = Options {
            density,
            masses: file,
            formats: Formats::only(OutputFormat::Usd),
            ..Options::default()
        };
        let job = Job {
            options,
            ..Job::new(
                Source::Text {
                    text: URDF.into(),
                    file: None,
                },
                folder.path().join("out"),
            )
        };
        let report = convert(&job, &Context::default())?;
        // The asset as read back.
        let (summary, _) = urdf_usd_usd_read::inspect(
            &report.directory.join("r.usda"),
            &urdf_usd_usd_read::ReadOptions::default(),
        )
        .unwrap();
        let links = summary
            .links
            .into_iter()
            .map(|link| (link.frame, link.mass.unwrap_or_default(), link.mass_assumed));
        Ok((report, links.collect()))
    }

    fn count(report: &Report, code: &str) -> usize {
        report
            .diagnostics
            .iter()
            .filter(|found| found.code == code)
            .count()
    }

    #[test]
    fn a_density_gives_links_a_mass_marked_as_assumed() {
        let (report, links) = run(1000.0, None).unwrap();
        let of = |name: &str| {
            links
                .iter()
                .find(|(frame, ..)| frame == name)
                .map(|(_, mass, assumed)| (*mass, *assumed))
                .unwrap()
        };
        assert_eq!((of("base"), of("known")), ((6000.0, true), (7.0, false)));
        let (wheel, assumed) = of("wheel");
        assert!((wheel - 523.5988).abs() < 1e-3 && assumed, "{wheel}");
        // A link without geometry keeps the substitute mass, which is marked, too.
        assert!((of("bare").0 - 0.001).abs() < 1e-9 && of("bare").1);
        assert_eq!(
            (
                count(&report, "mass-assumed"),
                count(&report, "link-without-mass")
            ),
            (2, 1)
        );
    }

    #[test]
    fn without_density_or_file_no_mass_is_computed() {
        let (report, links) = run(0.0, None).unwrap();
        assert_eq!(
            (
                count(&report, "mass-assumed"),
                count(&report, "link-without-mass")
            ),
            (0, 3)
        );
        assert!(
            links
                .iter()
                .all(|(name, mass, assumed)| *assumed == (name != "known")
                    && (*assumed == (*mass < 0.01))),
            "{links:?}"
        );
    }

    #[test]
    fn a_file_names_masses() {
        let (report, links) = run(0.0, Some("base: 12.5\nwheel: 2\nknown: 3\nwheal: 1\n")).unwrap();
        let masses: Vec<f64> = links
            .iter()
            .filter(|link| ["base", "wheel", "known"].contains(&link.0.as_str()))
            .map(|link| link.1)
            .collect();
        assert_eq!(masses, [12.5, 2.0, 7.0]);
        assert_eq!(
            (
                count(&report, "mass-assumed"),
                count(&report, "mass-unused")
            ),
            (2, 2)
        );
        let unused = report
            .diagnostics
            .iter()
            .filter(|found| found.code == "mass-unused");
        assert_eq!(
            unused.map(|found| found.place.line).collect::<Vec<_>>(),
            [3, 4]
        );
        for (text, line) in [
            ("base: heavy", 1),
            ("base: 1\nwheel: -2", 2),
            ("base: [1", 1),
        ] {
            let failure = run(0.0, Some(text)).unwrap_err();
            assert_eq!(
                (
                    failure.diagnostics[0].code,
                    failure.diagnostics[0].place.line
                ),
                ("masses-file", line),
                "{failure}"
            );
        }
    }
}
