//! Reads URDF into a [`Robot`], and writes a [`Robot`] as URDF ([`write()`]).
//!
//! Everything that URDF 1.0 to 1.2 defines is read; everything else is kept as custom data, except
//! comments and white space. Errors are reported with line and column, and reading continues:
//! [`codes`] documents the recovery for each kind of finding. Reading fails only if the text
//! describes no robot.
//!
//! This crate knows nothing of the contents of other files, of meshes, or of the robot's use.

pub mod codes;
mod custom;
mod decode;
mod extensions;
mod joints;
mod links;
mod materials;
mod references;
mod source;
pub mod srdf;
mod unclosed;
pub mod write;
pub mod xacro;
pub(crate) mod xml;
pub mod xrdf;

use std::path::Path;
use std::sync::Arc;

pub use decode::{Decoded, decode};
pub use extensions::set_controllers;
use joints::joints;
use links::{Assets, ShapeKind, inertial, shapes};
use materials::Materials;
pub use references::{MeshReference, References};
pub use source::MAX_TEXT_BYTES;
use source::Source;
use unclosed::Unclosed;
pub use write::write;
use xml::{Node, Xml, children, elements, name_of, qualified_name, short};

use urdf_usd_diagnostic::{Code, Diagnostic, Place};
use urdf_usd_resolve::{LFS_HELP, is_lfs_pointer};
use urdf_usd_robot::{Link, LinkId, LinkProperties, Robot, Shape, WORLD};

/// Remedy for text that still contains xacro.
const RUN_XACRO: &str = "name the file robot.urdf.xacro, so that it is expanded, or run xacro first: xacro robot.urdf.xacro > robot.urdf";
/// Maximum number of unexpanded xacro elements that are reported.
const MAX_LEFT: usize = 20;
/// Maximum number of names that a message lists.
const MAX_NAMES: usize = 5;
/// Maximum number of links of a robot. The largest real ones have some hundreds.
pub const MAX_LINKS: usize = 10_000;
/// Maximum number of joints of a robot, loop-closing joints included.
pub const MAX_JOINTS: usize = 20_000;
/// Maximum number of visuals and collisions of a robot, together.
pub const MAX_SHAPES: usize = 20_000;
/// Maximum length of the name of a robot, link or joint, in bytes. Everything that belongs to the
/// named element is written with it.
pub const MAX_NAME_BYTES: usize = 1_000;

/// The result of reading a URDF.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The robot, without the contents of other files. `None` if the text describes no robot; then
    /// the diagnostics contain an error.
    pub robot: Option<Robot>,
    /// Other files that the description refers to.
    pub references: References,
    /// Findings, in no particular order.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads a robot from `text`. `file` is the source of the text; diagnostics name it, and it names a
/// robot without a name. No mesh, texture or controller file is loaded: they are listed in
/// [`Outcome::references`].
pub fn read(text: &str, file: Option<&Path>) -> Outcome {
    let (described, diagnostics) = read_xml(text, file, |xml, root| {
        if is_robot(xml, root, URDF) {
            robot(xml, root, file)
        } else {
            None
        }
    });
    let (robot, references) = described.unzip();
    Outcome {
        robot,
        references: references.unwrap_or_default(),
        diagnostics,
    }
}

/// Parses `text` and returns what `read` makes of its root element, with all findings; `None` if
/// the text can't be parsed.
pub(crate) fn read_xml<T>(
    text: &str,
    file: Option<&Path>,
    read: impl FnOnce(&mut Xml<'_>, Node<'_>) -> Option<T>,
) -> (Option<T>, Vec<Diagnostic>) {
    let file: Option<Arc<Path>> = file.map(Arc::from);
    let mut source = Source::new(text);
    let stop = |code: &'static Code, line: u32, column: u32, message: String, help: &str| {
        let place = Place {
            file: file.clone(),
            line,
            column,
            ..Place::default()
        };
        (None, vec![Diagnostic::new(code, place, message).help(help)])
    };
    if let Some(excess) = source.excess() {
        let help = "no robot needs this many; correct the program that wrote the text";
        return stop(
            &codes::TOO_LARGE,
            1,
            1,
            format!("the text exceeds a limit: {excess}"),
            help,
        );
    }
    loop {
        // The loop ends: comments are repaired once, and each of at most 32 prefixes once.
        let error = match source.parse() {
            Ok(document) => {
                let mut xml = Xml::new(&source, file.clone());
                report_repairs(&mut xml, &source);
                let value = read(&mut xml, document.root_element());
                return (value, xml.into_diagnostics());
            }
            Err(error) => error,
        };
        if !source.repair(&error) {
            if let Some(Unclosed {
                offset,
                message,
                help,
            }) = unclosed::find(&error, &source)
            {
                let (line, column) = source.position(offset);
                return stop(&codes::MALFORMED_XML, line, column, message, &help);
            }
            let (line, column) = source.original_position(source.error_offset(&error));
            let (message, help) = explain(&error, source.original());
            return stop(&codes::MALFORMED_XML, line, column, message, &help);
        }
    }
}

/// Returns what is wrong with malformed XML, and the remedy.
fn explain(error: &roxmltree::Error, text: &str) -> (String, String) {
    use roxmltree::Error;
    let help = match error {
        _ if text.trim().is_empty() => {
            return (
                "the text is empty".to_owned(),
                "provide the text of a URDF".to_owned(),
            );
        }
        _ if is_lfs_pointer(text.as_bytes()) => {
            return (
                "the text is a Git LFS pointer, not the file itself".to_owned(),
                LFS_HELP.to_owned(),
            );
        }
        Error::UnclosedRootNode | Error::UnexpectedEndOfStream => {
            "complete the text: it ends inside an element".to_owned()
        }
        Error::UnknownEntityReference(..) | Error::MalformedEntityReference(..) => {
            "write &amp; for &".to_owned()
        }
        Error::InvalidAttributeValue(..) => "write &lt; for < in an attribute".to_owned(),
        Error::UnexpectedDeclaration(..) => {
            "move <?xml …?> to the beginning of the text".to_owned()
        }
        Error::DuplicatedAttribute(..) => "remove one of the attributes".to_owned(),
        _ => "correct the text there".to_owned(),
    };
    let message = error.to_string();
    // Drop the parser's position: the place has it, and repairs may have shifted it.
    let message = message
        .rfind(" at ")
        .and_then(|end| message.get(..end))
        .unwrap_or(&message);
    (
        format!(
            "the text is not well-formed XML: {}",
            message.chars().take(200).collect::<String>()
        ),
        help,
    )
}

/// Reports the repairs that were needed to parse the text.
fn report_repairs(xml: &mut Xml<'_>, source: &Source<'_>) {
    for (prefix, offset) in &source.unbound {
        xml.report_original(
            &codes::UNBOUND_PREFIX,
            *offset,
            format!("the prefix \"{}\" is not declared", short(prefix)),
            format!("add xmlns:{}=\"…\" to the robot element", short(prefix)),
        );
    }
    if let Some(offset) = source.loose_comment {
        let message = "a comment contains --, which XML does not allow".to_owned();
        xml.report_original(
            &codes::LOOSE_COMMENT,
            offset,
            message,
            "replace -- in the comment",
        );
    }
    // `decode` puts this character in place of invalid UTF-16; a text may also contain it.
    if let Some(offset) = source.original().find('\u{fffd}') {
        let message = "the text contains bytes that are invalid in its encoding".to_owned();
        xml.report_original(
            &codes::BROKEN_CHARACTERS,
            offset,
            message,
            "save the file as UTF-8",
        );
    }
}

/// A dialect whose root element is `robot`.
#[derive(Clone, Copy)]
pub(crate) struct Form {
    /// Name of the dialect.
    pub name: &'static str,
    /// Remedy for text that still contains xacro.
    pub run_xacro: &'static str,
    /// Child element that makes a text worth reading; `None` for any.
    pub needs: Option<&'static str>,
}

const URDF: Form = Form {
    name: "URDF",
    run_xacro: RUN_XACRO,
    needs: Some("link"),
};

/// Returns whether `root` is the robot element of a text of the given form; otherwise reports what
/// it is. Reports unexpanded xacro elements as well, which are no obstacle if other elements can be
/// read.
pub(crate) fn is_robot(xml: &mut Xml<'_>, root: Node<'_>, form: Form) -> bool {
    let name = qualified_name(root);
    if name == "robot" {
        return is_expanded(xml, root, form);
    }
    let (what, help) = match name {
        "sdf" | "gazebo" => (
            "SDF, Gazebo's format",
            "convert it to URDF, or use the URDF that it was made from",
        ),
        "mujoco" | "mujocoinclude" => ("MJCF, MuJoCo's format", "use the URDF of the robot"),
        "COLLADA" => (
            "a COLLADA mesh",
            "refer to it from a URDF: <mesh filename=\"…\"/>",
        ),
        "launch" => ("a launch file", "use the URDF that it loads"),
        "package" => ("a package.xml", "use the URDF in the package"),
        "html" => ("a web page", "download the raw file"),
        _ => ("something else", "the root element must be <robot>"),
    };
    let message = format!(
        "the root element is <{}>, not <robot>: this is {what}",
        short(name)
    );
    xml.report(&codes::NOT_URDF, root, message, help);
    false
}

/// Returns whether `root` contains anything to read without xacro. Reports the unexpanded elements.
fn is_expanded(xml: &mut Xml<'_>, root: Node<'_>, form: Form) -> bool {
    let Form {
        name,
        run_xacro,
        needs,
    } = form;
    let is_needed = |child: Node<'_>| {
        !is_xacro(child) && needs.is_none_or(|needed| qualified_name(child) == needed)
    };
    let mut left = outermost_xacro(root);
    let Some(first) = left.next() else {
        return true;
    };
    if !elements(root).any(is_needed) {
        let message = format!(
            "this is xacro, not {name}: <{}> is not expanded",
            short(qualified_name(first))
        );
        xml.report(&codes::XACRO, first, message, run_xacro);
        return false;
    }
    let mut report = |element: Node<'_>, more: &str| {
        let message = format!(
            "<{}> is an unexpanded xacro element and is ignored{more}",
            short(qualified_name(element))
        );
        let help = format!("remove it if the {name} is complete without it; otherwise {run_xacro}");
        xml.report(&codes::XACRO_LEFT, element, message, help);
    };
    report(first, "");
    left.by_ref()
        // The first and the last one are reported separately.
        .take(MAX_LEFT - 2)
        .for_each(|element| report(element, ""));
    if let Some(last) = left.next() {
        let more = left.count();
        report(
            last,
            &if more > 0 {
                format!(", as are {more} more after it")
            } else {
                String::new()
            },
        );
    }
    true
}

/// Returns whether an element belongs to xacro, by its prefix or by the namespace bound to it.
fn is_xacro(node: Node<'_>) -> bool {
    let prefix = qualified_name(node)
        .split_once(':')
        .map(|(prefix, _)| prefix);
    prefix.is_some_and(|prefix| {
        prefix == "xacro"
            || node
                .tag_name()
                .namespace()
                .is_some_and(|uri| uri.contains("xacro"))
    })
}

/// Returns the xacro elements in `root` that are not inside another one.
fn outermost_xacro(root: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    // Descendants are in the order of the text: one end suffices to skip what is inside.
    let mut end = 0;
    root.descendants().filter(move |node| {
        let is_outermost = node.is_element() && node.range().start >= end && is_xacro(*node);
        if is_outermost {
            end = node.range().end;
        }
        is_outermost
    })
}

/// Reads the robot element; reports and returns `None` if it has no links.
fn robot(xml: &mut Xml<'_>, root: Node<'_>, file: Option<&Path>) -> Option<(Robot, References)> {
    if children(root, "link").next().is_none() {
        let message = format!(
            "{} has no link, so there is nothing to convert",
            xml.label(root)
        );
        xml.report(
            &codes::NO_LINKS,
            root,
            message,
            "a robot needs at least one <link name=\"…\"/>",
        );
        return None;
    }
    if let Some((node, message)) = excess(xml, root) {
        xml.report(
            &codes::TOO_MANY,
            node,
            message,
            "no robot needs this many; correct the program that wrote the text",
        );
        return None;
    }
    let mut robot = Robot::new(robot_name(xml, root, file));
    version(xml, root);
    let mut assets = Assets::new(Materials::read(xml, root, &mut robot));
    links(xml, root, &mut robot, &mut assets);
    assets.materials.report_unused(xml, root);
    add_world(xml, root, &mut robot);
    let nodes = joints(xml, root, &mut robot);
    // Custom data comes last: reading mimics decides which elements are left out.
    for (&node, id) in nodes.iter().zip(robot.joints().handles()) {
        let custom = xml.custom(node, &custom::JOINT);
        let joint = &mut robot.joint_mut(id).custom;
        joint.attributes.extend(custom.attributes);
        joint.elements.extend(custom.elements);
    }
    report_topology(xml, root, &robot, &nodes);
    (robot.custom, robot.place) = (xml.custom(root, &custom::ROBOT), xml.place(root));
    let (controller_files, found) = extensions::read(&mut robot);
    found.into_iter().for_each(|finding| xml.push(finding));
    Some((
        robot,
        References {
            meshes: assets.meshes,
            textures: assets.materials.textures,
            controller_files,
        },
    ))
}

/// Returns the first element that exceeds a limit, and a message. The limits are checked before
/// anything is read, since each finding takes time as well.
fn excess<'n>(xml: &Xml<'_>, root: Node<'n>) -> Option<(Node<'n>, String)> {
    let shapes = || {
        let links = children(root, "link");
        links.flat_map(|link| children(link, "visual").chain(children(link, "collision")))
    };
    let counts: [(&str, usize, Option<Node<'n>>); 3] = [
        ("links", MAX_LINKS, children(root, "link").nth(MAX_LINKS)),
        (
            "joints",
            MAX_JOINTS,
            children(root, "joint").nth(MAX_JOINTS),
        ),
        (
            "visuals and collisions",
            MAX_SHAPES,
            shapes().nth(MAX_SHAPES),
        ),
    ];
    for (what, max, beyond) in counts {
        if let Some(node) = beyond {
            return Some((node, format!("the robot has more than {max} {what}")));
        }
    }
    let mut named = std::iter::once(root)
        .chain(children(root, "link"))
        .chain(children(root, "joint"));
    let node = named.find(|&node| name_of(node).is_some_and(|name| name.len() > MAX_NAME_BYTES))?;
    Some((
        node,
        format!(
            "{} has a name longer than {MAX_NAME_BYTES} bytes",
            xml.label(node)
        ),
    ))
}

fn robot_name(xml: &mut Xml<'_>, root: Node<'_>, file: Option<&Path>) -> String {
    if let Some(name) = name_of(root) {
        return name.to_owned();
    }
    // Both robot.urdf and robot.urdf.xacro give `robot`.
    let stem = file
        .and_then(Path::file_stem)
        .map(|stem| stem.to_string_lossy().into_owned());
    let stem = stem.map(|stem| {
        stem.strip_suffix(".urdf")
            .map(str::to_owned)
            .unwrap_or(stem)
    });
    let name = stem
        .filter(|stem| !stem.trim().is_empty())
        .unwrap_or_else(|| "robot".to_owned());
    let message = format!("the robot has no name; it is called \"{}\"", short(&name));
    xml.report(
        &codes::NO_NAME,
        root,
        message,
        "add name=\"…\" to the robot element",
    );
    name
}

fn version(xml: &mut Xml<'_>, root: Node<'_>) {
    if let Some(version) = root.attribute("version")
        && !matches!(version.trim(), "1.0" | "1.1" | "1.2")
    {
        let (message, help) = match version.trim() {
            "1" => (
                "the URDF version \"1\" lacks its minor number, so ROS's URDF parser rejects the robot".to_owned(),
                "write version=\"1.0\"",
            ),
            _ => (
                format!("the URDF version \"{}\" is unknown; the text is read as 1.2", short(version)),
                "use version 1.0, 1.1 or 1.2",
            ),
        };
        xml.report_at(&codes::UNKNOWN_VERSION, root, "version", message, help);
    }
}

/// Reads all links.
fn links(xml: &mut Xml<'_>, root: Node<'_>, robot: &mut Robot, assets: &mut Assets) {
    // Generated names must not be those of links that follow.
    let written: std::collections::HashSet<&str> =
        children(root, "link").filter_map(name_of).collect();
    let mut unnamed = 0_usize;
    for node in children(root, "link") {
        let name = match name_of(node) {
            Some(name) => name.to_owned(),
            None => {
                let name = loop {
                    unnamed += 1;
                    let name = format!("unnamed_link_{unnamed}");
                    if !written.contains(name.as_str()) {
                        break name;
                    }
                };
                xml.report(
                    &codes::UNNAMED,
                    node,
                    format!("a link has no name; it is named \"{name}\""),
                    "add name=\"…\"",
                );
                name
            }
        };
        let Ok(id) = robot.add_link(Link::new(name.clone())) else {
            let first = robot.link_named(&name);
            let line = first.map_or(0, |first| robot.links()[first].place.line);
            let message = format!(
                "the link \"{}\" is already defined on line {line}; the first definition is used",
                short(&name)
            );
            xml.report(
                &codes::DUPLICATE_LINK,
                node,
                message,
                "rename or remove one of them",
            );
            // Read it all the same, to report its other errors; its meshes are not loaded.
            if let Some(first) = first {
                let mut discarded = Assets::new(std::mem::take(&mut assets.materials));
                link(xml, node, first, &mut discarded, robot);
                assets.materials = discarded.materials;
            }
            xml.leave_out(node);
            continue;
        };
        let read = link(xml, node, id, assets, robot);
        *robot.link_mut(id) = read.properties;
        let visuals = robot.set_visuals(id, read.visuals);
        let set = visuals.and_then(|()| robot.set_collisions(id, read.collisions));
        if let Err(error) = set {
            xml.push(error.to_diagnostic(xml.place(node)));
        }
    }
}

/// Adds the link `world` if joints name it as their parent, and the robot does not have it.
fn add_world(xml: &mut Xml<'_>, root: Node<'_>, robot: &mut Robot) {
    if robot.link_named(WORLD).is_some() {
        return;
    }
    for joint in children(root, "joint") {
        let end = |which: &str| children(joint, which).next()?.attribute("link");
        let child = end("child").and_then(|child| robot.link_named(child));
        if child.is_none() || end("parent") != Some(WORLD) {
            continue;
        }
        let mut world = Link::new(WORLD);
        let parent = children(joint, "parent").next().unwrap_or(joint);
        world.place = xml.place(parent);
        if let Err(error) = robot.add_link(world) {
            xml.push(error.to_diagnostic(xml.place(parent)));
            return;
        }
        let message = format!(
            "{} has the parent link \"{WORLD}\", which the robot does not have; that link is added",
            xml.label(joint)
        );
        let help = format!("add <link name=\"{WORLD}\"/>: ROS's URDF parser rejects the robot");
        xml.report_at(&codes::UNKNOWN_LINK, parent, "link", message, help);
        return;
    }
}

/// The content of a `link` element.
struct ReadLink {
    properties: LinkProperties,
    visuals: Vec<Shape>,
    collisions: Vec<Shape>,
}

fn link(
    xml: &mut Xml<'_>,
    node: Node<'_>,
    id: LinkId,
    assets: &mut Assets,
    robot: &mut Robot,
) -> ReadLink {
    let inertial = inertial(xml, node);
    ReadLink {
        visuals: shapes(xml, node, ShapeKind::Visual, id, assets, robot),
        collisions: shapes(xml, node, ShapeKind::Collision, id, assets, robot),
        properties: LinkProperties {
            inertial,
            custom: xml.custom(node, &custom::LINK),
            connector: None,
            place: xml.place(node),
            ..LinkProperties::default()
        },
    }
}

/// Reports loops and multiple roots, and how they are handled.
fn report_topology(xml: &mut Xml<'_>, root: Node<'_>, robot: &Robot, nodes: &[Node<'_>]) {
    let tree = robot.tree();
    let link_name = |id: LinkId| short(robot.links()[id].name());
    for (joint, &node) in robot
        .joints()
        .values()
        .zip(nodes)
        .filter(|(joint, _)| joint.closes_loop())
    {
        let (label, child) = (xml.label(node), link_name(joint.child()));
        let above = tree
            .parent_joint(joint.child())
            .map(|id| &robot.joints()[id]);
        let stays = above.map_or_else(
            || format!("\"{child}\" is the root"),
            |above| {
                format!(
                    "\"{child}\" is attached by the joint \"{}\"",
                    short(above.name())
                )
            },
        );
        let loops = if tree.is_below(joint.parent(), joint.child()) {
            format!("makes the link \"{child}\" its own ancestor")
        } else {
            "closes a loop".to_owned()
        };
        let message = format!(
            "{label} {loops}; it is kept as a constraint outside the tree, in which {stays}"
        );
        xml.report(
            &codes::LOOP,
            node,
            message,
            "if the loop is unintended, correct the joint's parent or child",
        );
    }
    if tree.roots().len() > 1 {
        let names: Vec<String> = tree
            .roots()
            .iter()
            .take(MAX_NAMES)
            .map(|&id| format!("\"{}\"", link_name(id)))
            .collect();
        let more = if tree.roots().len() > MAX_NAMES {
            ", …"
        } else {
            ""
        };
        let message = format!(
            "the robot has {} roots, but URDF allows one: {}{more}; each is kept with its descendants, all at the origin",
            tree.roots().len(),
            names.join(", ")
        );
        let help = "add the missing joints, or remove unused links; robot_state_publisher accepts a single root only";
        xml.report(&codes::SEVERAL_ROOTS, root, message, help);
    }
}

#[cfg(test)]
mod tests;
