//! The node's parameters: those of a conversion and those of the node, declared from tables.
//!
//! [`NODE`] is the table of the node's own parameters, [`options::TABLE`] that of a conversion.
//! Everything that names a parameter is generated from the two: the declarations with their
//! descriptors, `config/bridge.yaml`, `config/parameters.json` (from which the launch file makes
//! its arguments) and `docs/parameters.md`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use urdf_usd_convert::option::{self, About, Access, Field, Kind, Opt, field, misfit, text, texts};
use urdf_usd_convert::{self as convert, options};
use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_ros::parameter::{Change, Range};
use urdf_usd_ros::{Declaration, Node, Value};
use urdf_usd_serve::origin;
use urdf_usd_urdf::xacro;
use urdf_usd_worker::{DEFAULT_MEMORY_LIMIT, DEFAULT_TIME_LIMIT};
use {urdf_usd_resolve as resolve, urdf_usd_store as store};

/// The parameters that only the node has. Groups (`frames.…`, `http.…`) come last; units follow
/// REP-103.
static NODE: &[Opt<Parameters>] = &[
    Opt::new(
        "output_dir",
        Kind::Folder,
        "DIR",
        field!(Parameters.output_dir),
        "Directory that assets are written to: each robot gets a folder NAME, or NAMESPACE/NAME in another namespace.",
    )
    .at_start(),
    Opt::new(
        "output_url",
        Kind::Text("the address of a folder in an object store, such as s3://bucket/robots; or empty"),
        "URL",
        Access {
            set: |parameters: &mut Parameters, value| {
                let url = text(value)?;
                if !url.is_empty() {
                    urdf_usd_objects::check_url(url).map_err(|fault| fault.to_sentence())?;
                }
                Field::read(value).map(|url| parameters.output_url = url)
            },
            get: |parameters: &Parameters| parameters.output_url.write(),
        },
        "Folder in an object store (s3://, gs://, az://) that each new revision is published in after its conversion, with the credentials of the \
         environment. Failures are on /diagnostics. Requires the Cargo feature cloud. Empty: none.",
    )
    .at_start(),
    Opt::new(
        "restrict_calls",
        Kind::Switch,
        "",
        field!(Parameters.restrict_calls),
        "Restrict calls of convert to URDFs in packages and allowed_roots, and to writing below output_dir. If false, \
         anyone who can call the node can have its user's files read and overwritten.",
    ),
    Opt::new(
        "discover",
        Kind::Switch,
        "",
        field!(Parameters.discover),
        "Follow every topic NAMESPACE/robot_description besides the node's own: each robot gets its own asset \
         in output_dir/NAMESPACE/NAME.",
    ),
    Opt::new(
        "description_from",
        Kind::Text("the name of a node, in which * matches any characters, as in /*robot_state_publisher; or empty"),
        "NODE",
        Access {
            set: |parameters: &mut Parameters, value| {
                node_pattern(text(value)?)?;
                Field::read(value).map(|pattern| parameters.description_from = pattern)
            },
            get: |parameters: &Parameters| parameters.description_from.write(),
        },
        "The node whose parameter robot_description is read once if the topic has no publisher. /*: any node, but only while no node \
         publishes a description. Not read if asset_file or urdf_file is set. Empty: none.",
    ),
    Opt::new(
        "asset_file",
        Kind::File,
        "FILE",
        field!(Parameters.asset_file),
        "An OpenUSD file, or a glTF file with EXT_robot_kinematics, that is converted at start and whenever it or a file that it uses changes \
         (watch_files). Takes precedence over urdf_file and over every description of this robot by other nodes. Empty: none.",
    ),
    Opt::new(
        "publish_description",
        Kind::Switch,
        "",
        field!(Parameters.publish_description),
        "Publish the robot of asset_file (or urdf_file) as a URDF on the topic robot_description, latched. Its meshes are files in the asset's \
         folder, or in the package urdf_package.",
    ),
    Opt::new(
        "description_to",
        Kind::Text("the name of a node, in which * matches any characters, as in /*robot_state_publisher; or empty"),
        "NODE",
        Access {
            set: |parameters: &mut Parameters, value| {
                node_pattern(text(value)?)?;
                Field::read(value).map(|pattern| parameters.description_to = pattern)
            },
            get: |parameters: &Parameters| parameters.description_to.write(),
        },
        "With publish_description: the nodes whose parameter robot_description is set to the same URDF, since robot_state_publisher does not \
         subscribe to the topic. Empty: none.",
    ),
    Opt::new(
        "urdf_file",
        Kind::File,
        "FILE",
        field!(Parameters.urdf_file),
        "A URDF or xacro file that is converted at start and whenever it or a file that it uses changes (watch_files). Takes precedence over every \
         description of this robot by other nodes. Empty: none.",
    ),
    Opt::new(
        "xacro_args",
        Kind::Texts("each NAME:=VALUE"),
        "NAME:=VALUE",
        Access {
            set: |parameters: &mut Parameters, value| {
                let arguments: Result<_, _> = texts(value)?.iter().map(|text| xacro::Argument::parse(text)).collect();
                arguments.map(|arguments| parameters.xacro_args = arguments)
            },
            get: |parameters: &Parameters| option::Value::List(parameters.xacro_args.iter().map(ToString::to_string).collect()),
        },
        "Arguments for the xacro file urdf_file.",
    ),
    Opt::new(
        "capture_interfaces",
        Kind::Switch,
        "",
        field!(Parameters.capture_interfaces),
        "Observe the running robot, write its actual topics, services and actions into its asset, and report those \
         of the asset that no node offers. Subscribes to every topic of the robot for some seconds.",
    ),
    Opt::new(
        "moveit_services",
        Kind::Switch,
        "",
        field!(Parameters.moveit_services),
        "Serve MoveIt's compute_ik and compute_fk (moveit_msgs/srv/GetPositionIK, GetPositionFK) for the robot that runs. \
         Do not use it next to a move_group in the same namespace, which serves both. Not available in a node built on rclrs or r2r.",
    )
    .at_start(),
    Opt::new(
        "settle_time",
        Kind::Number { from: 0.0, to: 60.0 },
        "SECONDS",
        field!(Parameters.settle_time),
        "Debounce time of descriptions, in s. A single change is converted at once; \
         of a burst within this time, the first and the last are converted.",
    ),
    Opt::new(
        "max_description_bytes",
        Kind::Integer { from: 1024, to: 64 << 20 },
        "BYTES",
        field!(Parameters.max_description_bytes),
        "Maximum size of a description. Larger ones are reported and not converted.",
    )
    .at_start(),
    Opt::new(
        "max_assets",
        Kind::Integer { from: 1, to: 1_000_000 },
        "COUNT",
        field!(Parameters.max_assets),
        "Maximum number of assets in output_dir, including those of earlier runs. Further robots are reported and not converted, so that \
         invented names cannot fill the disk.",
    )
    .at_start(),
    Opt::new(
        "workers",
        Kind::Integer { from: 0, to: 256 },
        "COUNT",
        Access {
            set: |parameters: &mut Parameters, value| {
                let asked = usize::read(value)?;
                let processors = || std::thread::available_parallelism().map_or(1, usize::from);
                parameters.workers = if asked > 0 { asked } else { processors() };
                Ok(())
            },
            get: |parameters: &Parameters| parameters.workers.write(),
        },
        "Maximum number of robots converted in parallel, each in its own process. 0: the number of processors.",
    )
    .at_start(),
    Opt::new(
        "cache_mb",
        Kind::Integer { from: 0, to: 1 << 20 },
        "MIB",
        field!(Parameters.cache_mb),
        "Size of the in-memory cache of loaded and simplified meshes and hulls, in MiB, of all workers together. \
         0: none.",
    )
    .at_start(),
    Opt::new(
        "watch_files",
        Kind::Switch,
        "",
        field!(Parameters.watch_files),
        "Watch meshes, textures and URDF files, and write a new revision of the assets that use a changed one.",
    )
    .at_start(),
    Opt::new(
        "diagnostics_period",
        Kind::Number { from: 0.05, to: 3600.0 },
        "SECONDS",
        field!(Parameters.diagnostics_period),
        "Period of publishing the state on /diagnostics, in s. Changes are published at once.",
    ),
    Opt::new(
        "frames.position_tolerance",
        Kind::Number { from: 0.0, to: 1000.0 },
        "METRES",
        field!(Parameters.position_tolerance),
        "Maximum distance of a frame from its pose in the asset, in m; beyond it, the frame's verdict is \"off\".",
    ),
    Opt::new(
        "frames.angle_tolerance",
        Kind::Number { from: 0.0, to: 3.15 },
        "RADIANS",
        field!(Parameters.angle_tolerance),
        "Maximum rotation of a frame from its pose in the asset, in rad; beyond it, the frame's verdict is \"off\".",
    ),
    Opt::new(
        "frames.timeout",
        Kind::Number { from: 0.01, to: 3600.0 },
        "SECONDS",
        field!(Parameters.frame_timeout),
        "Maximum age of a frame on /tf, in s; beyond it, the frame's verdict is \"stale\".",
    ),
    Opt::new(
        "frames.ignore",
        Kind::Texts(""),
        "PATTERN",
        field!(Parameters.ignored_frames),
        "Patterns of frames to ignore, such as those that perception adds to the robot: * matches any characters, ? matches one.",
    ),
    Opt::new(
        "fleet.dir",
        Kind::Folder,
        "DIR",
        field!(Parameters.fleet_dir),
        "Folder that the bridges of a fleet share, on one machine or a network file system: each announces its robots there, serves those of all \
         at /fleet, and uses the meshes that others have processed. Empty: none.",
    )
    .at_start(),
    Opt::new(
        "fleet.period",
        Kind::Number { from: 0.1, to: 3600.0 },
        "SECONDS",
        field!(Parameters.fleet_period),
        "Period of announcements in fleet.dir, in s. A bridge that is silent for three periods counts as lost.",
    )
    .at_start(),
    Opt::new(
        "http.address",
        Kind::Text("an IP address of this machine"),
        "ADDRESS",
        Access {
            set: |parameters: &mut Parameters, value| {
                let address = text(value)?.parse().map_err(|_| "it is not an IP address".to_owned());
                address.map(|address| parameters.http_address = address)
            },
            get: |parameters: &Parameters| option::Value::Text(parameters.http_address.to_string()),
        },
        "Address that assets and the viewer are served at. With any other than 127.0.0.1, others on the network can read the assets.",
    )
    .at_start(),
    Opt::new(
        "http.port",
        Kind::Integer { from: 0, to: 65535 },
        "PORT",
        field!(Parameters.http_port),
        "TCP port of the HTTP server; if another program uses it, the next free one. 0: no server.",
    )
    .at_start(),
    Opt::new(
        "http.allow_writing",
        Kind::Switch,
        "",
        field!(Parameters.http_allow_writing),
        "Allow viewers on other machines to store and delete named poses, and to have dropped robots converted. At an address \
         of this machine alone, such as 127.0.0.1, every viewer may.",
    )
    .at_start(),
    Opt::new(
        "http.embed_in",
        Kind::Texts("each an origin such as https://example.org, or *"),
        "ORIGIN",
        Access {
            set: |parameters: &mut Parameters, value| {
                let origins: Result<_, _> = texts(value)?.iter().map(|text| origin(text)).collect();
                origins.map(|origins| parameters.http_embed_in = origins)
            },
            get: |parameters: &Parameters| option::Value::List(parameters.http_embed_in.clone()),
        },
        "Origins of pages that may show the viewer in a frame; * for any. Empty: none.",
    )
    .at_start(),
];

fn node_pattern(text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Ok(());
    }
    // Replace each star by a letter: the result must be a valid name.
    let name = text.replace('*', "a");
    let absolute = if name.starts_with('/') {
        name
    } else {
        format!("/{name}")
    };
    urdf_usd_ros::names::check_namespace(&absolute)
        .map_err(|_| "this is not a valid node name".to_owned())
}

/// A row of either table.
#[derive(Clone, Copy)]
enum Row {
    Conversion(&'static Opt<convert::Options>),
    Node(&'static Opt<Parameters>),
}

/// Returns all parameters, those in groups last.
fn rows() -> Vec<Row> {
    let mut rows: Vec<Row> = NODE
        .iter()
        .map(Row::Node)
        .chain(options::TABLE.iter().map(Row::Conversion))
        .collect();
    // A stable sort: groups come last, and everything else keeps the order of the tables.
    rows.sort_by_key(|row| row.about().name.contains('.'));
    rows
}

/// Maximum width of a line of help.
const HELP_WIDTH: usize = 100;

/// Returns all parameters as text for help: name, default and meaning.
pub(crate) fn to_help() -> String {
    let defaults = Parameters::default();
    let mut text = String::new();
    for row in rows() {
        let about = row.about();
        text += &format!("  {}: {:?}\n", about.name, row.get(&defaults).to_string());
        let mut line = String::new();
        for word in about.help.split(' ') {
            if !line.is_empty() && line.chars().count() + word.chars().count() > HELP_WIDTH {
                text += &format!("      {}\n", line.trim_end());
                line.clear();
            }
            line += word;
            line.push(' ');
        }
        text += &format!("      {}\n", line.trim_end());
    }
    text
}

impl Row {
    fn about(self) -> &'static About {
        match self {
            Self::Conversion(option) => &option.about,
            Self::Node(option) => &option.about,
        }
    }

    fn get(self, parameters: &Parameters) -> option::Value {
        match self {
            Self::Conversion(option) => option.get(&parameters.conversion),
            Self::Node(option) => option.get(parameters),
        }
    }

    fn set(self, parameters: &mut Parameters, value: &Value) -> Result<(), String> {
        let value = self
            .about()
            .kind
            .absolute(&from_ros(value)?, Path::new(""))?;
        match self {
            Self::Conversion(option) => option.set(&mut parameters.conversion, &value),
            Self::Node(option) => option.set(parameters, &value),
        }
    }

    fn declaration(self) -> Declaration {
        let about = self.about();
        let declaration = Declaration::new(
            about.name,
            to_ros(self.get(&Parameters::default())),
            about.help,
        );
        // A trial on scratch values, so that the check can't differ from what is set later.
        let check = move |value: &Value| self.set(&mut Parameters::default(), value);
        let declaration = match about.kind {
            // As a range, the limits are part of the parameter's descriptor.
            Kind::Integer { from, to } => declaration.range(Range::Integer { from, to }),
            Kind::Number { from, to } => declaration.range(Range::Double { from, to }),
            kind => declaration.check(kind.rule(), check),
        };
        if about.is_live {
            declaration
        } else {
            declaration.read_only()
        }
    }
}

fn from_ros(value: &Value) -> Result<option::Value, String> {
    Ok(match value {
        Value::Bool(value) => option::Value::Bool(*value),
        Value::Integer(value) => option::Value::Integer(*value),
        Value::Double(value) => option::Value::Number(*value),
        Value::String(text) => option::Value::Text(text.clone()),
        Value::StringArray(texts) => option::Value::List(texts.clone()),
        _ => return misfit(),
    })
}

fn to_ros(value: option::Value) -> Value {
    match value {
        option::Value::Bool(value) => Value::Bool(value),
        option::Value::Integer(value) => Value::Integer(value),
        option::Value::Number(value) => Value::Double(value),
        option::Value::Text(text) => Value::String(text),
        option::Value::List(texts) => Value::StringArray(texts),
    }
}

/// The values of all parameters, checked and converted to the node's types.
///
/// Paths are absolute, except for the default of [`output_dir`](Self::output_dir), which is
/// expanded when it is declared.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// Options of conversions; a call may override some.
    pub conversion: convert::Options,
    /// Directory that assets are written to.
    pub output_dir: PathBuf,
    /// Address of a folder in an object store that revisions are published in.
    pub output_url: Option<String>,
    /// Whether calls are restricted to packages, allowed roots and the output directory.
    pub restrict_calls: bool,
    /// The node's own namespace without its first slash; `None` in the root namespace. Not a
    /// parameter.
    pub node_namespace: Option<String>,
    /// Whether description topics in all namespaces are followed.
    pub discover: bool,
    /// Pattern of the nodes whose parameter is read if no topic has a publisher.
    pub description_from: Option<String>,
    /// The OpenUSD or glTF file to convert.
    pub asset_file: Option<PathBuf>,
    /// Whether the robot of the file is published as a URDF.
    pub publish_description: bool,
    /// Pattern of the nodes whose parameter is set to that URDF.
    pub description_to: Option<String>,
    /// The URDF or xacro file to convert, if there is no `asset_file`.
    pub urdf_file: Option<PathBuf>,
    /// Arguments for expanding `urdf_file`.
    pub xacro_args: Vec<xacro::Argument>,
    /// Whether the interfaces of running robots are written into their assets.
    pub capture_interfaces: bool,
    /// Whether MoveIt's kinematics services are served.
    pub moveit_services: bool,
    /// Debounce time of descriptions.
    pub settle_time: Duration,
    /// Maximum size of a description, in bytes.
    pub max_description_bytes: usize,
    /// Maximum number of assets in the output directory.
    pub max_assets: usize,
    /// Maximum number of parallel conversions; 0 only as a default that was not declared yet.
    pub workers: usize,
    /// Size of the in-memory mesh cache, in MiB.
    pub cache_mb: u64,
    /// Whether input files are watched.
    pub watch_files: bool,
    /// Period of `/diagnostics`.
    pub diagnostics_period: Duration,
    /// Maximum position error of a frame, in metres.
    pub position_tolerance: f64,
    /// Maximum angular error of a frame, in radians.
    pub angle_tolerance: f64,
    /// Maximum age of a moving frame.
    pub frame_timeout: Duration,
    /// Patterns of frames to ignore.
    pub ignored_frames: Vec<String>,
    /// Folder that the bridges of a fleet share.
    pub fleet_dir: Option<PathBuf>,
    /// Period of announcements in that folder.
    pub fleet_period: Duration,
    /// Address of the HTTP server.
    pub http_address: IpAddr,
    /// Port of the HTTP server; 0 for none.
    pub http_port: u16,
    /// Whether viewers on other machines may store poses.
    pub http_allow_writing: bool,
    /// Origins of pages that may show the viewer in a frame.
    pub http_embed_in: Vec<String>,
}

/// The default values of all parameters.
impl Default for Parameters {
    fn default() -> Self {
        Self {
            // A node runs for days: one robot must not block it or exhaust its memory.
            conversion: convert::Options {
                time_limit: Some(DEFAULT_TIME_LIMIT),
                memory_limit: Some(DEFAULT_MEMORY_LIMIT),
                ..convert::Options::default()
            },
            output_dir: PathBuf::from("~/.ros/urdf_usd"),
            output_url: None,
            restrict_calls: true,
            node_namespace: None,
            discover: false,
            description_from: Some("/*".to_owned()),
            asset_file: None,
            publish_description: false,
            description_to: None,
            urdf_file: None,
            xacro_args: Vec::new(),
            capture_interfaces: false,
            moveit_services: false,
            settle_time: Duration::from_millis(200),
            max_description_bytes: 16 << 20,
            max_assets: 1000,
            workers: 0,
            cache_mb: store::DEFAULT_MEMORY_BYTES >> 20,
            watch_files: true,
            diagnostics_period: Duration::from_secs(1),
            position_tolerance: 0.001,
            angle_tolerance: 0.01,
            frame_timeout: Duration::from_secs(5),
            ignored_frames: Vec::new(),
            fleet_dir: None,
            fleet_period: Duration::from_secs(5),
            http_address: Ipv4Addr::LOCALHOST.into(),
            http_port: 8642,
            http_allow_writing: false,
            http_embed_in: Vec::new(),
        }
    }
}

impl Parameters {
    /// Declares all parameters on `node` and returns their values.
    ///
    /// # Errors
    /// [`urdf_usd_ros::codes::PARAMETER_TYPE`], [`urdf_usd_ros::codes::PARAMETER_VALUE`] for values
    /// that do not fit, with their place.
    pub fn declare(node: &impl Node) -> Result<Self, Diagnostic> {
        let namespace = node.namespace().trim_start_matches('/');
        let node_namespace = (!namespace.is_empty()).then(|| namespace.to_owned());
        let parameters = Self {
            node_namespace,
            ..Self::default()
        };
        parameters.declared(|declaration| node.declare(declaration))
    }

    /// Returns the parameters with the values that `declare` returns.
    ///
    /// # Errors
    /// Returns the first error of `declare`, or [`urdf_usd_ros::codes::PARAMETER_VALUE`] for a
    /// value that does not fit.
    pub fn declared(
        mut self,
        mut declare: impl FnMut(Declaration) -> Result<Value, Diagnostic>,
    ) -> Result<Self, Diagnostic> {
        self.conversion.resolve = resolve::Options::from_environment();
        for row in rows() {
            let value = declare(row.declaration())?;
            row.set(&mut self, &value).map_err(|why| {
                let message = format!("parameter `{}` cannot be {value}: {why}", row.about().name);
                Diagnostic::new(
                    &urdf_usd_ros::codes::PARAMETER_VALUE,
                    urdf_usd_diagnostic::Place::default(),
                    message,
                )
                .help(row.about().kind.rule())
            })?;
        }
        Ok(self)
    }

    /// Applies a change. Parameters that others declared are ignored.
    ///
    /// # Errors
    /// Returns why the value is invalid, which the declaration has normally rejected before.
    pub fn apply(&mut self, change: &Change) -> Result<(), String> {
        let row = rows()
            .into_iter()
            .find(|row| row.about().name == change.name);
        row.map_or(Ok(()), |row| row.set(self, &change.value))
    }

    /// Returns the file that the node converts, if one is set.
    pub fn file(&self) -> Option<&PathBuf> {
        self.asset_file.as_ref().or(self.urdf_file.as_ref())
    }

    /// Returns the address of the HTTP server; `None` for no server.
    pub fn http(&self) -> Option<SocketAddr> {
        (self.http_port != 0).then(|| (self.http_address, self.http_port).into())
    }
}

#[cfg(test)]
mod files;

#[cfg(test)]
mod tests {
    use super::*;
    use urdf_usd_convert::{Formats, MeshFormat, Simready, Tiers, UrdfOptions};
    use urdf_usd_gltf_write::{Compression, Extent};
    use urdf_usd_mesh::UpAxis;
    use urdf_usd_robot::SelfCollision;
    use urdf_usd_ros::parameter::Store;
    use urdf_usd_usd_write::{Base, Bodies, Overlay};

    /// A value for every parameter, each different from its default.
    const CHANGED: &str = "output_dir: /o, output_url: 's3://b/x', formats: [glb], overlays: [openpbr, newton], robot_type: Wheeled, sites_last: true, changelog: ['new tool'], pose_scope: NamedPoses, simready: true, thumbnail: true, simready_metadata: ['author=A'], \
         packages: ['a=/p'], package_paths: [/q], allowed_roots: [/r], restrict_calls: false, asset_namespace: robot_1, base: fixed, \
         bodies: flat, mesh_up_axis: honor, tiers: high, srdf_file: /s.srdf, xrdf_file: /x.xrdf, density: 1200.0, masses_file: /m.yaml, pose: ready, drive: 'position:300.5,20.25', drives_file: /d.yaml, natural_frequency: 5.0, damping_ratio: 0.5, sag: 0.01, convex_parts: 8, fit_primitives: 0.002, self_collision: none, merge_fixed: true, keep_frames: ['.*_foot'], stand_ins: true, rep158: '2026-07', check: true, mesh_format: stl, urdf_package: my_robot, \
         urdf_file_uris: true, gltf.animations: true, gltf.physics: true, gltf.compression: meshopt, gltf.date: true, strict: true, memory_limit: 500, cache_url: /c, discover: true, capture_interfaces: true, moveit_services: true, \
         description_from: '*/rsp', asset_file: /a.usda, publish_description: true, description_to: '/r*', variants: ['a=b'], \
         urdf_file: /u.urdf, xacro_args: ['a:=1'], settle_time: 3.0, max_description_bytes: 2048, \
         time_limit: 60.0, max_assets: 7, workers: 3, cache_mb: 64, watch_files: false, diagnostics_period: 2.0, \
         frames.position_tolerance: 0.5, frames.angle_tolerance: 0.25, frames.timeout: 9.0, frames.ignore: ['a*'], fleet.dir: /f, fleet.period: 7.0, \
         http.address: '::1', http.port: 80, http.allow_writing: true, http.embed_in: ['https://a.org']";

    /// A parameter store like a node's, filled from YAML text.
    fn store(text: &str) -> Store {
        let text = format!("/**:\n  ros__parameters: {{{text}}}\n");
        let read = urdf_usd_ros::overrides::read_str(&text, "f.yaml").expect("valid");
        Store::new(read.into_iter().map(|o| (o.parameter.clone(), o)).collect())
    }

    fn parameters(text: &str) -> Result<Parameters, Diagnostic> {
        let mut store = store(text);
        Parameters::default().declared(|declaration| store.declare(declaration))
    }

    #[test]
    fn names_are_there_once() {
        let rows = rows();
        let mut seen = std::collections::BTreeSet::new();
        for name in rows.iter().map(|row| row.about().name) {
            assert!(seen.insert(name), "duplicate {name}");
        }
        let flags = options::TABLE.iter().flat_map(|option| {
            let about = &option.about;
            let short = about.short_flag.map(str::to_owned);
            std::iter::once(about.flag())
                .chain(about.list_flag())
                .chain(short)
        });
        let mut seen = std::collections::BTreeSet::new();
        for flag in flags {
            assert!(seen.insert(flag.clone()), "duplicate --{flag}");
        }
    }

    /// The declaration matches the table: name, type, range, rule, and whether it may change.
    #[test]
    fn every_parameter_is_described() {
        for row in rows() {
            let (about, declared) = (row.about(), row.declaration());
            assert_eq!(
                (declared.name.as_str(), declared.description.as_str()),
                (about.name, about.help)
            );
            assert_eq!(declared.read_only, !about.is_live, "{}", about.name);
            assert!(
                about.help.ends_with('.') && !about.help.contains('|'),
                "{}",
                about.name
            );
            let has_range = matches!(about.kind, Kind::Integer { .. } | Kind::Number { .. });
            assert_eq!(declared.range.is_some(), has_range, "{}", about.name);
            if !has_range {
                assert_eq!(declared.constraints, about.kind.rule());
            }
            assert_eq!(declared.check.is_some(), !has_range, "{}", about.name);
            let default = declared.default.clone();
            assert_eq!(
                row.set(&mut Parameters::default(), &default),
                Ok(()),
                "{}",
                about.name
            );
        }
    }

    /// Every value that is read equals the one that is written.
    #[test]
    fn values_round_trip() {
        let mut parameters = parameters(CHANGED).expect("valid");
        for row in rows() {
            let value = to_ros(row.get(&parameters));
            let before = parameters.clone();
            assert_ne!(
                row.get(&before),
                row.get(&Parameters::default()),
                "{} is not changed",
                row.about().name
            );
            assert_eq!(
                row.set(&mut parameters, &value),
                Ok(()),
                "{}",
                row.about().name
            );
            assert_eq!(parameters, before, "{}", row.about().name);
        }
    }

    #[test]
    fn every_parameter_reaches_its_field() {
        let changed = parameters(CHANGED).expect("valid");
        let expected = Parameters {
            conversion: convert::Options {
                formats: Formats::parse(&["glb"]).expect("valid"),
                overlays: vec![Overlay::Newton, Overlay::OpenPbr],
                robot_type: urdf_usd_usd_author::isaac_schema::RobotType::Wheeled,
                sites_last: true,
                changelog: vec!["new tool".to_owned()],
                pose_scope: urdf_usd_usd_author::isaac_schema::PoseScope::Sim,
                simready: true,
                thumbnail: true,
                simready_metadata: Simready::parse(&["author=A"]).expect("valid"),
                variants: vec!["a=b".parse().expect("valid")],
                resolve: resolve::Options {
                    packages: vec![("a".into(), "/p".into())],
                    package_paths: vec!["/q".into()],
                    allowed_roots: vec!["/r".into()],
                    ..resolve::Options::from_environment()
                },
                namespace: Some("robot_1".into()),
                base: Base::Fixed,
                bodies: Bodies::Flat,
                meshes: urdf_usd_mesh::Options {
                    up_axis: UpAxis::Honor,
                },
                tiers: Tiers::High,
                srdf: Some("/s.srdf".into()),
                xrdf: Some("/x.xrdf".into()),
                density: 1200.0,
                masses: Some("/m.yaml".into()),
                pose: Some("ready".into()),
                rule: convert::Rule {
                    drive: "position:300.5,20.25".parse().expect("valid"),
                    file: Some("/d.yaml".into()),
                    frequency: 5.0,
                    damping_ratio: 0.5,
                    sag: 0.01,
                },
                convex_parts: 8,
                fit_primitives: 0.002,
                self_collision: SelfCollision::None,
                merge_fixed: true,
                keep_frames: vec![".*_foot".parse().expect("valid")],
                stand_ins: true,
                rep158: "2026-07".parse().expect("valid"),
                check: true,
                strict: true,
                time_limit: Some(Duration::from_secs(60)),
                memory_limit: Some(500),
                cache_url: Some("/c".into()),
                gltf: Extent {
                    animations: true,
                    physics: true,
                    compression: Compression::Meshopt,
                },
                dated: true,
                urdf: UrdfOptions {
                    mesh_format: MeshFormat::Stl,
                    package: Some("my_robot".into()),
                    file_uris: true,
                },
            },
            output_dir: "/o".into(),
            output_url: Some("s3://b/x".into()),
            restrict_calls: false,
            node_namespace: None,
            discover: true,
            capture_interfaces: true,
            moveit_services: true,
            description_from: Some("*/rsp".into()),
            asset_file: Some("/a.usda".into()),
            publish_description: true,
            description_to: Some("/r*".into()),
            urdf_file: Some("/u.urdf".into()),
            xacro_args: vec![xacro::Argument::parse("a:=1").expect("valid")],
            settle_time: Duration::from_secs(3),
            max_description_bytes: 2048,
            max_assets: 7,
            workers: 3,
            cache_mb: 64,
            watch_files: false,
            diagnostics_period: Duration::from_secs(2),
            position_tolerance: 0.5,
            angle_tolerance: 0.25,
            frame_timeout: Duration::from_secs(9),
            ignored_frames: vec!["a*".to_owned()],
            fleet_dir: Some("/f".into()),
            fleet_period: Duration::from_secs(7),
            http_address: "::1".parse().expect("an address"),
            http_port: 80,
            http_allow_writing: true,
            http_embed_in: vec!["https://a.org".to_owned()],
        };
        assert_eq!(changed, expected);
        assert_eq!(parameters("http.port: 0").expect("valid").http(), None);
        assert_eq!(
            parameters("time_limit: 0.0")
                .expect("valid")
                .conversion
                .time_limit,
            None
        );
        let mut changed = parameters("").expect("valid");
        let change = |name: &str, text: &str| Change {
            name: name.into(),
            value: Value::StringArray(vec![text.into()]),
        };
        assert_eq!(changed.apply(&change("formats", "usd")), Ok(()));
        assert_eq!(
            changed.conversion.formats,
            Formats::parse(&["usd"]).expect("valid")
        );
        // A parameter of another declaration.
        assert_eq!(changed.apply(&change("use_sim_time", "usd")), Ok(()));
        let before = changed.clone();
        assert!(
            changed
                .apply(&change("formats", "stl"))
                .expect_err("unknown")
                .contains("stl")
        );
        assert!(
            changed
                .apply(&change("strict", "usd"))
                .expect_err("type")
                .contains("type")
        );
        assert_eq!(changed, before);
    }

    #[test]
    fn bad_values_are_refused_with_the_choice() {
        for (text, part) in [
            ("formats: [stl]", "stl"),
            ("formats: []", "any of usd, glb, usdz, gltf, urdf"),
            ("gltf.compression: draco", "one of none, quantize, meshopt"),
            ("overlays: [oak]", "any of isaac, mujoco, newton, openpbr"),
            ("simready_metadata: ['mass=1']", "asset_license"),
            ("packages: [a]", "NAME=DIR"),
            ("output_dir: ''", "empty"),
            ("output_url: 'ftp://b'", "no such kind"),
            ("base: glued", "one of auto, fixed, floating"),
            ("drive: stiff", "none of auto, none"),
            ("drive: 'velocity:-1'", "none of auto, none"),
            ("self_collision: some", "one of all, not-touching, none"),
            ("bodies: round", "one of nested, flat"),
            ("mesh_up_axis: up", "one of ignore, honor"),
            ("tiers: low", "one of all, high"),
            ("asset_namespace: 'a b'", "namespace"),
            ("asset_namespace: a/b-c", "namespace"),
            ("asset_namespace: //a", "namespace"),
            ("description_from: 'a b'", "not a valid node name"),
            ("xacro_args: [a]", "xacro_args"),
            ("settle_time: -1.0", "0.0 … 60.0"),
            ("settle_time: 1", "write 1.0"),
            ("workers: -1", "0 … 256"),
            ("http.address: here", "not an IP address"),
            ("http.port: 65536", "0 … 65535"),
            ("urdf_file: /dev/zero", "/dev/zero is a device"),
            ("srdf_file: /dev", "/dev is a folder, not a regular file"),
            ("max_assets: 0", "1 … 1000000"),
        ] {
            let fault = parameters(text).expect_err(text).to_string();
            assert!(fault.contains(part), "{fault}");
        }
    }
}
