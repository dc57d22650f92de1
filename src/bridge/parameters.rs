//! The node's parameters: one table that they are declared from, that `config/bridge.yaml` is written from, and that says which of
//! them may change while the node runs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::convert::{self, Formats, Simready, Tiers};
use crate::diagnostic::Diagnostic;
use crate::gltf::{Compression, Extent};
use crate::mesh::UpAxis;
use crate::resolve;
use crate::ros::parameter::{Change, Range};
use crate::ros::{Declaration, Node, Value};
use crate::store;
use crate::usd::{Base, Bodies, Overlay};
use crate::xacro;

/// The default of a parameter, and with it its type.
#[derive(Clone, Copy)]
enum Initial {
    Bool(bool),
    Integer(i64),
    Double(f64),
    Text(&'static str),
    Texts(&'static [&'static str]),
}

impl Initial {
    fn value(self) -> Value {
        match self {
            Self::Bool(v) => Value::Bool(v),
            Self::Integer(v) => Value::Integer(v),
            Self::Double(v) => Value::Double(v),
            Self::Text(v) => Value::String(v.to_owned()),
            Self::Texts(v) => Value::StringArray(v.iter().map(|&text| text.to_owned()).collect()),
        }
    }

    /// As a parameter file has it. Empty lists are left out: `rcl` can't read them.
    #[cfg(test)]
    fn yaml(self) -> Option<String> {
        Some(match self {
            Self::Texts([]) => return None,
            Self::Bool(v) => v.to_string(),
            Self::Integer(v) => v.to_string(),
            Self::Double(v) => format!("{v:?}"),
            Self::Text(v) => format!("{v:?}"),
            Self::Texts(v) => format!("[{}]", v.join(", ")),
        })
    }
}

/// What a value must be beyond its type.
#[derive(Clone, Copy)]
enum Rule {
    Any,
    Integers(i64, i64),
    Doubles(f64, f64),
    /// In words, and as code.
    Own(&'static str, fn(&Value) -> Result<(), String>),
}

/// One parameter.
struct Row {
    name: &'static str,
    default: Initial,
    description: &'static str,
    rule: Rule,
    /// Whether it may change while the node runs; from the next conversion, check or message on.
    is_live: bool,
}

const fn fixed(name: &'static str, default: Initial, rule: Rule, description: &'static str) -> Row {
    Row { name, default, description, rule, is_live: false }
}

const fn live(name: &'static str, default: Initial, rule: Rule, description: &'static str) -> Row {
    Row { name, default, description, rule, is_live: true }
}

/// A file, or none.
const FILE: Rule = Rule::Own(
    "a regular file, or one that is yet to come; a relative one lies where the node is started; ~ is the home directory",
    |value| match text(value) {
        "" => Ok(()),
        text => folder(text).and_then(|path| regular(&path)),
    },
);

/// All parameters. Units are those of REP-103: metres, radians, seconds.
const TABLE: &[Row] = &[
    fixed(
        "output_dir",
        Initial::Text("~/.ros/urdf_usd"),
        Rule::Own("a relative one lies where the node is started; ~ is the home directory", |value| {
            folder(text(value)).map(|_| ())
        }),
        "Where assets are written: each robot gets a folder of its name in it.",
    ),
    live(
        "formats",
        Initial::Texts(&["usd", "glb"]),
        Rule::Own("any of usd, glb, usdz, gltf", |value| Formats::parse(texts(value)).map(|_| ())),
        "What is written.",
    ),
    live(
        "overlays",
        Initial::Texts(&[]),
        Rule::Own("any of newton, openpbr", |value| convert::overlays(texts(value)).map(|_| ())),
        "Which overlays are written beside the layers of format usd, each with an entry of its own.",
    ),
    live(
        "simready",
        Initial::Bool(false),
        Rule::Any,
        "Whether to add what SimReady asks for to the layers of format usd: a picture of the robot, and metadata in NAME.json.",
    ),
    live(
        "simready_metadata",
        Initial::Texts(&[]),
        Rule::Own("each KEY=VALUE, KEY one of author, asset_license, category, qcode", |value| {
            Simready::parse(texts(value)).map(|_| ())
        }),
        "What that metadata says beside or instead of what the robot's package says. A description from the topic has no package.",
    ),
    live(
        "packages",
        Initial::Texts(&[]),
        Rule::Own("each NAME=DIR", |value| texts(value).iter().try_for_each(|text| package(text).map(|_| ()))),
        "Where single ROS packages are, for package:// URIs: NAME=DIR. They come before everything else.",
    ),
    live(
        "package_paths",
        Initial::Texts(&[]),
        Rule::Own("relative ones lie where the node is started; ~ is the home directory", folders),
        "Folders that hold ROS packages. They come before the ament index (AMENT_PREFIX_PATH).",
    ),
    live(
        "allowed_roots",
        Initial::Texts(&[]),
        Rule::Own("relative ones lie where the node is started; ~ is the home directory", folders),
        "Further folders that URDFs, meshes and textures may be read from. Without any: only packages and the URDF's own folder.",
    ),
    live(
        "restrict_calls",
        Initial::Bool(true),
        Rule::Any,
        "Whether calls of convert may only name URDFs in packages and allowed_roots, and only write to output_dir and below. Without it \
         everybody who can call the node may have its user's files read and overwritten.",
    ),
    live(
        "ros_namespace",
        Initial::Text(""),
        Rule::Own("a ROS namespace such as robot_1 or fleet/robot_1, or empty", |value| match text(value) {
            "" => Ok(()),
            text => crate::ros::names::check_robot_namespace(text).map_err(|e| e.message),
        }),
        "The ROS namespace that assets declare for their robot. Empty: the node's, or the robot's name in the root namespace.",
    ),
    live(
        "base",
        Initial::Text("auto"),
        Rule::Own("one of auto, fixed, floating", |value| base(text(value)).map(|_| ())),
        "Whether the robot's base is held to the world. auto: if the URDF has a root link named world.",
    ),
    live(
        "bodies",
        Initial::Text("nested"),
        Rule::Own("one of nested, flat", |value| bodies(text(value)).map(|_| ())),
        "Whether the prims of bodies stand in each other, or all in the robot's root for engines that need it.",
    ),
    live(
        "mesh_up_axis",
        Initial::Text("ignore"),
        Rule::Own("one of ignore, honor", |value| up_axis(text(value)).map(|_| ())),
        "Whether the up_axis of Collada meshes turns them (honor), or is ignored as RViz does.",
    ),
    live(
        "tiers",
        Initial::Text("all"),
        Rule::Own("one of all, high", |value| tiers(text(value)).map(|_| ())),
        "Whether simplified meshes are written beside the source's (mesh_medium, mesh_low), or the source's alone (high).",
    ),
    live(
        "srdf_file",
        Initial::Text(""),
        FILE,
        "An SRDF file: which pairs of links of the robot need no check for collision, and named poses. Empty: none.",
    ),
    live("xrdf_file", Initial::Text(""), FILE, "An XRDF file: the same, and frames that it adds. Empty: none."),
    live(
        "stand_ins",
        Initial::Bool(false),
        Rule::Any,
        "Whether a box shows in place of a visual mesh that can't be read: around the link's colliders, or with its mass and inertia.",
    ),
    live("strict", Initial::Bool(false), Rule::Any, "Whether a warning keeps an asset from being published."),
    live(
        "discover",
        Initial::Bool(false),
        Rule::Any,
        "Whether every topic NAMESPACE/robot_description that appears is followed beside the node's own: each robot with its own asset, \
         in output_dir/NAMESPACE/NAME.",
    ),
    live(
        "description_from",
        Initial::Text("/*"),
        Rule::Own("the name of a node, in which * stands for anything, as in /*robot_state_publisher; or empty", |value| {
            node_pattern(text(value))
        }),
        "Which node's parameter robot_description is read once where nothing is heard on the topic; with /*, any node's while nobody at all \
         publishes a description. Empty: none.",
    ),
    live(
        "urdf_file",
        Initial::Text(""),
        FILE,
        "A URDF or xacro file that is converted at start, and whenever it or a file that it uses changes (watch_files). Empty: none.",
    ),
    live(
        "xacro_args",
        Initial::Texts(&[]),
        Rule::Own("each NAME:=VALUE", |value| xacro_arguments(value).map(|_| ())),
        "The arguments that the xacro file urdf_file is expanded with.",
    ),
    live(
        "capture_interfaces",
        Initial::Bool(false),
        Rule::Any,
        "Whether to look at the running robot, write the topics, services and actions that it really has into its asset, and report those \
         of the asset that nobody offers. Every topic of the robot is listened to for some seconds.",
    ),
    live(
        "settle_time",
        Initial::Double(0.2),
        Rule::Doubles(0.0, 60.0),
        "How long a description that follows another within this time waits for a newer one, in s: a lone change is converted at once, \
         of a burst the first and the last.",
    ),
    fixed(
        "max_description_bytes",
        Initial::Integer(16 << 20),
        Rule::Integers(1024, 64 << 20),
        "The largest description that is converted. Larger ones are reported and left.",
    ),
    live(
        "time_limit",
        Initial::Double(300.0),
        Rule::Doubles(0.0, 86_400.0),
        "How long a conversion may take, in s. One that takes longer is given up, and the robot set aside until its description, a file of it \
         or a parameter changes. 0.0: as long as it likes.",
    ),
    fixed(
        "max_assets",
        Initial::Integer(1000),
        Rule::Integers(1, 1_000_000),
        "How many assets output_dir may hold, those of earlier runs included: robots of further names are reported and left, so that nobody \
         who makes up names fills the disk.",
    ),
    fixed(
        "workers",
        Initial::Integer(0),
        Rule::Integers(0, 256),
        "How many robots are converted at the same time. 0: as many as there are processors.",
    ),
    fixed(
        "cache_mb",
        Initial::Integer(512),
        Rule::Integers(0, 1 << 20),
        "How many MiB of meshes that were loaded, simplified and hulled are kept in memory for the next conversion. 0: none.",
    ),
    fixed(
        "watch_files",
        Initial::Bool(true),
        Rule::Any,
        "Whether a changed mesh, texture or URDF file leads to a new revision of the assets that used it.",
    ),
    live(
        "diagnostics_period",
        Initial::Double(1.0),
        Rule::Doubles(0.05, 3600.0),
        "How often the state is published on /diagnostics even if nothing changes, in s.",
    ),
    live(
        "gltf.animations",
        Initial::Bool(false),
        Rule::Any,
        "Whether the glTF has an animation per joint, from limit to limit.",
    ),
    live(
        "gltf.physics",
        Initial::Bool(false),
        Rule::Any,
        "Whether the glTF has what engines need: KHR_implicit_shapes and KHR_physics_rigid_bodies.",
    ),
    live(
        "gltf.compression",
        Initial::Text("none"),
        Rule::Own("one of none, quantize, meshopt", |value| compression(text(value)).map(|_| ())),
        "How the glTF stores triangles: none: in single precision; quantize: in 8 and 16 bits (KHR_mesh_quantization); meshopt: that, \
         compressed (EXT_meshopt_compression).",
    ),
    live(
        "frames.position_tolerance",
        Initial::Double(0.001),
        Rule::Doubles(0.0, 1000.0),
        "How far a frame may be from where the asset says before its verdict is off, in m.",
    ),
    live(
        "frames.angle_tolerance",
        Initial::Double(0.01),
        Rule::Doubles(0.0, 3.15),
        "How far a frame may be turned from what the asset says before its verdict is off, in rad.",
    ),
    live(
        "frames.timeout",
        Initial::Double(5.0),
        Rule::Doubles(0.01, 3600.0),
        "How long ago a frame on /tf may have been heard before its verdict is stale, in s.",
    ),
    live(
        "frames.ignore",
        Initial::Texts(&[]),
        Rule::Any,
        "Frames that are not looked at, as patterns: * stands for any characters, ? for one. Such as what perception hangs on the robot.",
    ),
    fixed(
        "http.address",
        Initial::Text("127.0.0.1"),
        Rule::Own("an IP address of this machine", |value| address(text(value)).map(|_| ())),
        "Where assets and the viewer are served. Anything but 127.0.0.1 lets others on the network read the assets.",
    ),
    fixed("http.port", Initial::Integer(8642), Rule::Integers(0, 65535), "The TCP port for that. 0: nothing is served."),
];

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn texts(value: &Value) -> &[String] {
    value.as_strings().unwrap_or_default()
}

/// A folder as an absolute path, `~` expanded.
fn folder(text: &str) -> Result<PathBuf, String> {
    let path = match text.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            let home = std::env::home_dir().filter(|home| !home.as_os_str().is_empty());
            home.ok_or("there is no home directory: set HOME, or give an absolute path")?.join(rest.trim_start_matches('/'))
        }
        _ => PathBuf::from(text),
    };
    if text.is_empty() {
        return Err("it is empty".to_owned());
    }
    std::path::absolute(&path).map_err(|e| e.to_string())
}

/// Whether a path is that of a file, or of nothing yet: a device or a pipe may have no end.
fn regular(path: &Path) -> Result<(), String> {
    let kind = match std::fs::metadata(path) {
        Ok(meta) if meta.is_file() => return Ok(()),
        Ok(meta) if meta.is_dir() => "a folder",
        Ok(_) => "a device, a pipe or a socket",
        Err(_) => return Ok(()),
    };
    Err(format!("{} is {kind}, no regular file", path.display()))
}

fn folders(value: &Value) -> Result<(), String> {
    texts(value).iter().try_for_each(|text| folder(text).map(|_| ()))
}

fn node_pattern(text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Ok(());
    }
    // Whatever a star stands for, the rest has to be a name.
    let name = text.replace('*', "a");
    let absolute = if name.starts_with('/') { name } else { format!("/{name}") };
    crate::ros::names::check_namespace(&absolute).map_err(|_| "no node can have such a name".to_owned())
}

fn xacro_arguments(value: &Value) -> Result<Vec<xacro::Argument>, String> {
    texts(value).iter().map(|text| xacro::Argument::parse(text)).collect()
}

fn package(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, path)) if !name.is_empty() && !path.is_empty() => Ok((name.to_owned(), folder(path)?)),
        _ => Err(format!("{text:?} is not NAME=DIR")),
    }
}

fn base(text: &str) -> Result<Base, String> {
    match text {
        "auto" => Ok(Base::Auto),
        "fixed" => Ok(Base::Fixed),
        "floating" => Ok(Base::Floating),
        _ => Err("there is no such choice".to_owned()),
    }
}

fn bodies(text: &str) -> Result<Bodies, String> {
    match text {
        "nested" => Ok(Bodies::Nested),
        "flat" => Ok(Bodies::Flat),
        _ => Err("there is no such choice".to_owned()),
    }
}

fn up_axis(text: &str) -> Result<UpAxis, String> {
    match text {
        "ignore" => Ok(UpAxis::Ignore),
        "honor" => Ok(UpAxis::Honor),
        _ => Err("there is no such choice".to_owned()),
    }
}

fn tiers(text: &str) -> Result<Tiers, String> {
    match text {
        "all" => Ok(Tiers::All),
        "high" => Ok(Tiers::High),
        _ => Err("there is no such choice".to_owned()),
    }
}

fn compression(text: &str) -> Result<Compression, String> {
    match text {
        "none" => Ok(Compression::None),
        "quantize" => Ok(Compression::Quantize),
        "meshopt" => Ok(Compression::Meshopt),
        _ => Err("there is no such choice".to_owned()),
    }
}

fn address(text: &str) -> Result<std::net::IpAddr, String> {
    text.parse().map_err(|_| "it is not an IP address".to_owned())
}

impl Row {
    fn declaration(&self) -> Declaration {
        let declaration = Declaration::new(self.name, self.default.value(), self.description);
        let declaration = match self.rule {
            Rule::Any => declaration,
            Rule::Integers(from, to) => declaration.range(Range::Integer { from, to }),
            Rule::Doubles(from, to) => declaration.range(Range::Double { from, to }),
            Rule::Own(words, check) => declaration.check(words, check),
        };
        if self.is_live { declaration } else { declaration.read_only() }
    }
}

/// The values of all parameters, checked and in the types that the node works with.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// Where assets go; absolute.
    pub output_dir: PathBuf,
    /// What to write unless a call says otherwise.
    pub formats: Formats,
    /// Which overlays to write beside the layers.
    pub overlays: Vec<Overlay>,
    /// Whether to add what SimReady asks for.
    pub simready: bool,
    /// What its metadata says beside what is known of the robot.
    pub simready_metadata: Simready,
    /// `NAME=DIR` of single packages.
    pub packages: Vec<(String, PathBuf)>,
    /// Folders of packages.
    pub package_paths: Vec<PathBuf>,
    /// Further folders that may be read.
    pub allowed_roots: Vec<PathBuf>,
    /// Whether calls are held to packages, allowed roots and the output directory.
    pub restrict_calls: bool,
    /// The namespace that assets declare, if one is given.
    pub ros_namespace: Option<String>,
    /// The node's own namespace without its first slash; `None` in the root namespace.
    pub node_namespace: Option<String>,
    /// Whether the base is held to the world.
    pub base: Base,
    /// How bodies are nested.
    pub bodies: Bodies,
    /// What the `up_axis` of Collada meshes does.
    pub mesh_up_axis: UpAxis,
    /// Which tiers of visuals are written.
    pub tiers: Tiers,
    /// What is in the glTF beside the robot, and how.
    pub gltf: Extent,
    /// The robot's SRDF file, if one is given; absolute.
    pub srdf_file: Option<PathBuf>,
    /// The robot's XRDF file, if one is given; absolute.
    pub xrdf_file: Option<PathBuf>,
    /// Whether a warning keeps an asset from being published.
    pub stand_ins: bool,
    pub strict: bool,
    /// Whether all topics of descriptions are followed.
    pub discover: bool,
    /// Whether the interfaces of running robots are taken into their assets.
    pub capture_interfaces: bool,
    /// Which nodes' parameter is read where no topic is heard, if any.
    pub description_from: Option<String>,
    /// The URDF or xacro file to convert, if one is given; absolute.
    pub urdf_file: Option<PathBuf>,
    /// What it is expanded with.
    pub xacro_args: Vec<xacro::Argument>,
    /// How long a description of a burst waits for a newer one.
    pub settle_time: Duration,
    /// The largest description that is converted, in bytes.
    pub max_description_bytes: usize,
    /// How long a conversion may take, if there is a limit.
    pub time_limit: Option<Duration>,
    /// How many assets the output directory may hold.
    pub max_assets: usize,
    /// How many robots are converted at the same time, at least 1.
    pub workers: usize,
    /// MiB of meshes that are kept in memory.
    pub cache_mb: u64,
    /// Whether used files are watched.
    pub watch_files: bool,
    /// How often `/diagnostics` is published even if nothing changes.
    pub diagnostics_period: Duration,
    /// How far a frame may be from where the asset says, in metres.
    pub position_tolerance: f64,
    /// How far a frame may be turned from what the asset says, in radians.
    pub angle_tolerance: f64,
    /// How long ago a moving frame may have been heard.
    pub frame_timeout: Duration,
    /// Patterns of frames that are not looked at.
    pub ignored_frames: Vec<String>,
    /// Where to serve HTTP; `None`: nowhere.
    pub http: Option<std::net::SocketAddr>,
}

impl Parameters {
    /// Declares all parameters on `node` and returns their values.
    ///
    /// # Errors
    /// [`crate::ros::codes::PARAMETER_TYPE`], [`crate::ros::codes::PARAMETER_VALUE`] for values that do not fit, with their place.
    pub fn declare(node: &impl Node) -> Result<Self, Diagnostic> {
        let values: Result<Vec<(&str, Value)>, Diagnostic> =
            TABLE.iter().map(|row| Ok((row.name, node.declare(row.declaration())?))).collect();
        let namespace = node.namespace().trim_start_matches('/');
        let node_namespace = (!namespace.is_empty()).then(|| namespace.to_owned());
        let mut parameters = Self { node_namespace, ..Self::unset() };
        for (name, value) in values? {
            parameters.set(name, &value);
        }
        Ok(parameters)
    }

    /// Takes over a change. Other parameters than these are left to whoever declared them.
    pub fn apply(&mut self, change: &Change) {
        self.set(&change.name, &change.value);
    }

    /// How references to files are resolved.
    pub fn resolve(&self) -> resolve::Options {
        resolve::Options {
            packages: self.packages.clone(),
            package_paths: self.package_paths.clone(),
            allowed_roots: self.allowed_roots.clone(),
            ..resolve::Options::from_environment()
        }
    }

    /// What stands before the values are known; every field is set from the table.
    fn unset() -> Self {
        Self {
            output_dir: PathBuf::new(),
            formats: Formats::default(),
            overlays: Vec::new(),
            simready: false,
            simready_metadata: Simready::default(),
            packages: Vec::new(),
            package_paths: Vec::new(),
            allowed_roots: Vec::new(),
            restrict_calls: false,
            ros_namespace: None,
            node_namespace: None,
            base: Base::Auto,
            bodies: Bodies::Nested,
            mesh_up_axis: UpAxis::Ignore,
            tiers: Tiers::All,
            gltf: Extent::default(),
            srdf_file: None,
            xrdf_file: None,
            stand_ins: false,
            strict: false,
            discover: false,
            capture_interfaces: false,
            description_from: None,
            urdf_file: None,
            xacro_args: Vec::new(),
            settle_time: Duration::ZERO,
            max_description_bytes: 0,
            time_limit: None,
            max_assets: 0,
            workers: 1,
            cache_mb: store::MEMORY_BYTES >> 20,
            watch_files: true,
            diagnostics_period: Duration::ZERO,
            position_tolerance: 0.0,
            angle_tolerance: 0.0,
            frame_timeout: Duration::ZERO,
            ignored_frames: Vec::new(),
            http: None,
        }
    }

    /// Sets one field. Values have passed the table's rules; what still does not fit leaves the field as it is.
    fn set(&mut self, name: &str, value: &Value) {
        fn put<T, E>(field: &mut T, value: Result<T, E>) {
            if let Ok(value) = value {
                *field = value;
            }
        }
        let seconds = || Duration::try_from_secs_f64(value.as_double().unwrap_or_default());
        let all = || texts(value).iter().map(|text| folder(text)).collect::<Result<Vec<_>, _>>();
        match name {
            "output_dir" => put(&mut self.output_dir, folder(text(value))),
            "formats" => put(&mut self.formats, Formats::parse(texts(value))),
            "overlays" => put(&mut self.overlays, convert::overlays(texts(value))),
            "simready" => self.simready = value.as_bool().unwrap_or(self.simready),
            "simready_metadata" => put(&mut self.simready_metadata, Simready::parse(texts(value))),
            "packages" => put(&mut self.packages, texts(value).iter().map(|text| package(text)).collect::<Result<_, _>>()),
            "package_paths" => put(&mut self.package_paths, all()),
            "allowed_roots" => put(&mut self.allowed_roots, all()),
            "ros_namespace" => self.ros_namespace = Some(text(value).to_owned()).filter(|text| !text.is_empty()),
            "base" => put(&mut self.base, base(text(value))),
            "bodies" => put(&mut self.bodies, bodies(text(value))),
            "tiers" => put(&mut self.tiers, tiers(text(value))),
            "mesh_up_axis" => put(&mut self.mesh_up_axis, up_axis(text(value))),
            "restrict_calls" => self.restrict_calls = value.as_bool().unwrap_or(self.restrict_calls),
            "srdf_file" => self.srdf_file = folder(text(value)).ok(),
            "xrdf_file" => self.xrdf_file = folder(text(value)).ok(),
            "stand_ins" => self.stand_ins = value.as_bool().unwrap_or(self.stand_ins),
            "gltf.animations" => self.gltf.animations = value.as_bool().unwrap_or(self.gltf.animations),
            "gltf.physics" => self.gltf.physics = value.as_bool().unwrap_or(self.gltf.physics),
            "gltf.compression" => put(&mut self.gltf.compression, compression(text(value))),
            "strict" => self.strict = value.as_bool().unwrap_or(self.strict),
            "discover" => self.discover = value.as_bool().unwrap_or(self.discover),
            "capture_interfaces" => self.capture_interfaces = value.as_bool().unwrap_or(self.capture_interfaces),
            "description_from" => self.description_from = Some(text(value).to_owned()).filter(|text| !text.is_empty()),
            "urdf_file" => self.urdf_file = folder(text(value)).ok(),
            "xacro_args" => put(&mut self.xacro_args, xacro_arguments(value)),
            "settle_time" => put(&mut self.settle_time, seconds()),
            "max_description_bytes" => {
                put(&mut self.max_description_bytes, usize::try_from(value.as_integer().unwrap_or_default()))
            }
            "time_limit" => self.time_limit = seconds().ok().filter(|limit| !limit.is_zero()),
            "max_assets" => put(&mut self.max_assets, usize::try_from(value.as_integer().unwrap_or_default())),
            "workers" => {
                let asked = value.as_integer().and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0);
                self.workers = asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
            }
            "cache_mb" => put(&mut self.cache_mb, u64::try_from(value.as_integer().unwrap_or_default())),
            "watch_files" => self.watch_files = value.as_bool().unwrap_or(self.watch_files),
            "diagnostics_period" => put(&mut self.diagnostics_period, seconds()),
            "frames.position_tolerance" => self.position_tolerance = value.as_double().unwrap_or(self.position_tolerance),
            "frames.angle_tolerance" => self.angle_tolerance = value.as_double().unwrap_or(self.angle_tolerance),
            "frames.timeout" => put(&mut self.frame_timeout, seconds()),
            "frames.ignore" => self.ignored_frames = texts(value).to_vec(),
            "http.address" => {
                let port = self.http.map_or(0, |http| http.port());
                self.http = address(text(value)).ok().map(|address| (address, port).into());
            }
            "http.port" => {
                let port = value.as_integer().and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0);
                self.http = self.http.zip(port).map(|(http, port)| (http.ip(), port).into());
            }
            _ => {}
        }
    }
}

/// `config/bridge.yaml`: all parameters with their defaults, limits and meaning. A test holds the file against it.
#[cfg(test)]
fn yaml() -> String {
    let mut text = String::from(
        "# The parameters of the node `bridge`, with their defaults. A parameter file for it needs only the lines that differ:\n\
         #   ros2 launch urdf_usd bridge.launch.py params_file:=my.yaml\n\
         #   ros2 run urdf_usd bridge --ros-args --params-file my.yaml\n\
         # Those marked \"at start\" keep their value while the node runs; `ros2 param set` changes the others.\n\
         # Doubles need a decimal point (1.0): ROS 2 takes 1 for an integer and refuses it.\n\
         /**:\n  ros__parameters:\n",
    );
    let mut group = "";
    for row in TABLE {
        let (of, name) = row.name.rsplit_once('.').unwrap_or(("", row.name));
        if of != group {
            text.push_str(&format!("\n    {of}:\n"));
            group = of;
        } else {
            text.push('\n');
        }
        let indent = if of.is_empty() { "    " } else { "      " };
        let limits = match row.rule {
            Rule::Any => None,
            Rule::Integers(from, to) => Some(format!("{from} … {to}")),
            Rule::Doubles(from, to) => Some(format!("{from:?} … {to:?}")),
            Rule::Own(words, _) => Some(words.to_owned()),
        };
        for line in wrap(row.description, 100) {
            text.push_str(&format!("{indent}# {line}\n"));
        }
        let notes: Vec<String> = limits.into_iter().chain((!row.is_live).then(|| "at start".to_owned())).collect();
        if !notes.is_empty() {
            text.push_str(&format!("{indent}# ({})\n", notes.join("; ")));
        }
        match row.default.yaml() {
            Some(default) => text.push_str(&format!("{indent}{name}: {default}\n")),
            None => text.push_str(&format!("{indent}# {name}: [...]  # none unless given\n")),
        }
    }
    text
}

/// Breaks a sentence into lines of at most `width` characters.
#[cfg(test)]
fn wrap(sentence: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in sentence.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::ros::overrides::{Given, read_file};
    use crate::ros::parameter::Store;

    fn yaml_path() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("config/bridge.yaml")
    }

    /// A store as a node has one, filled from a parameter text.
    fn store(text: &str) -> Store {
        let text = format!("/**:\n  ros__parameters: {{{text}}}\n");
        let read = crate::ros::overrides::read_str(&text, "f.yaml").expect("valid");
        Store::new(read.into_iter().map(|o| (o.parameter.clone(), o)).collect())
    }

    fn parameters(text: &str) -> Result<Parameters, Diagnostic> {
        let mut store = store(text);
        let mut parameters = Parameters::unset();
        for row in TABLE {
            parameters.set(row.name, &store.declare(row.declaration())?);
        }
        Ok(parameters)
    }

    #[test]
    fn the_file_is_written_from_the_table() {
        if std::env::var_os("UPDATE_FILES").is_some() {
            std::fs::write(yaml_path(), yaml()).expect("written");
        }
        let file = std::fs::read_to_string(yaml_path()).expect("config/bridge.yaml");
        assert!(file == yaml(), "config/bridge.yaml is not what the table says: run the test with UPDATE_FILES=1");
    }

    #[test]
    fn the_file_says_the_defaults() {
        let read = read_file(&yaml_path()).expect("a parameter file");
        let names: Vec<_> = read.iter().map(|o| o.parameter.as_str()).collect();
        let rows: Vec<&Row> = TABLE.iter().filter(|row| row.default.yaml().is_some()).collect();
        assert_eq!(names, rows.iter().map(|row| row.name).collect::<Vec<_>>());
        for (given, row) in read.iter().zip(rows) {
            assert_eq!(given.value, Given::Value(row.default.value()), "{}", row.name);
        }
        let store = Store::new(read.into_iter().map(|o| (o.parameter.clone(), o)).collect());
        assert_eq!(declare(store), parameters("").ok());
    }

    fn declare(mut store: Store) -> Option<Parameters> {
        let mut parameters = Parameters::unset();
        for row in TABLE {
            parameters.set(row.name, &store.declare(row.declaration()).ok()?);
        }
        Some(parameters)
    }

    #[test]
    fn every_parameter_reaches_its_field() {
        let changed = parameters(
            "output_dir: /o, formats: [glb], overlays: [openpbr, newton], simready: true, simready_metadata: ['author=A'], \
             packages: ['a=/p'], package_paths: [/q], allowed_roots: [/r], restrict_calls: false, ros_namespace: \
             robot_1, base: fixed, bodies: flat, mesh_up_axis: honor, tiers: high, srdf_file: /s.srdf, xrdf_file: /x.xrdf, stand_ins: true, \
             gltf.animations: true, gltf.physics: true, gltf.compression: meshopt, strict: true, discover: true, capture_interfaces: true, description_from: '*/rsp', urdf_file: /u.urdf, xacro_args: ['a:=1'], settle_time: 3.0, max_description_bytes: 2048, time_limit: 60.0, max_assets: 7, workers: 3, cache_mb: 64, watch_files: false, \
             diagnostics_period: 2.0, frames.position_tolerance: 0.5, frames.angle_tolerance: 0.25, frames.timeout: 9.0, frames.ignore: ['a*'], \
             http.address: '::1', http.port: 80",
        )
        .expect("valid");
        let expected = Parameters {
            output_dir: "/o".into(),
            formats: Formats::parse(&["glb"]).expect("valid"),
            overlays: vec![Overlay::Newton, Overlay::OpenPbr],
            simready: true,
            simready_metadata: Simready::parse(&["author=A"]).expect("valid"),
            packages: vec![("a".into(), "/p".into())],
            package_paths: vec!["/q".into()],
            allowed_roots: vec!["/r".into()],
            restrict_calls: false,
            ros_namespace: Some("robot_1".into()),
            node_namespace: None,
            base: Base::Fixed,
            bodies: Bodies::Flat,
            mesh_up_axis: UpAxis::Honor,
            tiers: Tiers::High,
            gltf: Extent { animations: true, physics: true, compression: Compression::Meshopt },
            srdf_file: Some("/s.srdf".into()),
            xrdf_file: Some("/x.xrdf".into()),
            stand_ins: true,
            strict: true,
            discover: true,
            capture_interfaces: true,
            description_from: Some("*/rsp".into()),
            urdf_file: Some("/u.urdf".into()),
            xacro_args: vec![xacro::Argument::parse("a:=1").expect("valid")],
            settle_time: Duration::from_secs(3),
            max_description_bytes: 2048,
            time_limit: Some(Duration::from_secs(60)),
            max_assets: 7,
            workers: 3,
            cache_mb: 64,
            watch_files: false,
            diagnostics_period: Duration::from_secs(2),
            position_tolerance: 0.5,
            angle_tolerance: 0.25,
            frame_timeout: Duration::from_secs(9),
            ignored_frames: vec!["a*".to_owned()],
            http: "[::1]:80".parse().ok(),
        };
        assert_eq!(changed, expected);
        assert_eq!(parameters("http.port: 0").expect("valid").http, None);
        assert_eq!(parameters("time_limit: 0.0").expect("valid").time_limit, None);
        let mut changed = parameters("").expect("valid");
        changed.apply(&Change { name: "formats".into(), value: Value::StringArray(vec!["usd".into()]) });
        assert_eq!(changed.formats, Formats::parse(&["usd"]).expect("valid"));
    }

    #[test]
    fn bad_values_are_refused_with_the_choice() {
        for (text, part) in [
            ("formats: [stl]", "stl"),
            ("formats: []", "any of usd, glb, usdz, gltf"),
            ("gltf.compression: draco", "one of none, quantize, meshopt"),
            ("overlays: [isaac]", "not written by this version"),
            ("overlays: [oak]", "any of newton, openpbr"),
            ("simready_metadata: ['mass=1']", "asset_license"),
            ("packages: [a]", "NAME=DIR"),
            ("output_dir: ''", "empty"),
            ("base: glued", "one of auto, fixed, floating"),
            ("bodies: round", "one of nested, flat"),
            ("mesh_up_axis: up", "one of ignore, honor"),
            ("tiers: low", "one of all, high"),
            ("ros_namespace: 'a b'", "namespace"),
            ("ros_namespace: a/b-c", "namespace"),
            ("ros_namespace: //a", "namespace"),
            ("description_from: 'a b'", "no node can have such a name"),
            ("xacro_args: [a]", "xacro_args"),
            ("settle_time: -1.0", "0.0 … 60.0"),
            ("settle_time: 1", "write 1.0"),
            ("workers: -1", "0 … 256"),
            ("http.address: here", "not an IP address"),
            ("http.port: 65536", "0 … 65535"),
            ("urdf_file: /dev/zero", "/dev/zero is a device"),
            ("srdf_file: /dev", "/dev is a folder, no regular file"),
            ("max_assets: 0", "1 … 1000000"),
        ] {
            let fault = parameters(text).expect_err(text).to_string();
            assert!(fault.contains(part), "{fault}");
        }
    }
}
