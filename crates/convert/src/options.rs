//! The options of a conversion.
//!
//! Each is a field of [`Options`] with its default in [`Options::default`], and a row of [`TABLE`].
//!
//! The command line, the parameters of the node, `config/`, the launch file and the documentation
//! are generated from the table; nothing else lists options.

use std::path::PathBuf;
use std::time::Duration;

use super::fixed::Pattern;
use super::option::{Access, Field, Kind, Opt, Value, field, texts};
use super::simulation::Rule;
use super::{Formats, MeshFormat, OutputFormat, Simready, Tiers, UrdfOptions};
use urdf_usd_geometry::decompose;
use urdf_usd_gltf_write as gltf;
use urdf_usd_mesh as mesh;
use urdf_usd_rep158 as rep158;
use urdf_usd_resolve as resolve;
use urdf_usd_robot::SelfCollision;
use urdf_usd_usd_author as usd_author;
use urdf_usd_usd_read as usd_read;
use urdf_usd_usd_write as usd_write;

/// The options of a conversion.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
pub struct Options {
    /// The formats to write.
    pub formats: Formats,
    /// The overlays to write beside the layers; ignored without [`OutputFormat::Usd`].
    pub overlays: Vec<usd_write::Overlay>,
    /// The kind of robot that the overlay for Isaac declares.
    pub robot_type: usd_author::isaac_schema::RobotType,
    /// Whether that overlay lists sites after all links instead of after their link.
    pub sites_last: bool,
    /// Changes of the asset that the overlay for Isaac adds to those of the source.
    pub changelog: Vec<String>,
    /// The scopes in which that overlay has named poses.
    pub pose_scope: usd_author::isaac_schema::PoseScope,
    /// Whether to add SimReady's picture and metadata; ignored without [`OutputFormat::Usd`].
    pub simready: bool,
    /// True to add a picture alone.
    pub thumbnail: bool,
    /// Statements of users about the asset, for SimReady's metadata.
    pub simready_metadata: Simready,
    /// Variants to select in an OpenUSD source instead of its own selection.
    pub variants: Vec<usd_read::VariantChoice>,
    /// How references to files are resolved.
    pub resolve: resolve::Options,
    /// `ros:context:namespace`; `None` for the robot's name.
    pub namespace: Option<String>,
    /// Whether the base is fixed to the world.
    pub base: usd_write::Base,
    /// How bodies are nested.
    pub bodies: usd_write::Bodies,
    /// How mesh files are read.
    pub meshes: mesh::Options,
    /// The tiers of visuals to write.
    pub tiers: Tiers,
    /// An SRDF file: pairs of links without collision checks, and named poses.
    pub srdf: Option<PathBuf>,
    /// An XRDF file: the same, and additional frames.
    pub xrdf: Option<PathBuf>,
    /// Density in kg/m³ of links without a mass in the source; 0 to compute nothing.
    pub density: f64,
    /// A file with the masses of such links.
    pub masses: Option<PathBuf>,
    /// The pose to start simulations from; `None`: `default`, `home` or `ready` if there is one, or
    /// else zero within the limits.
    pub pose: Option<String>,
    /// The drives of joints whose source gives no gains.
    pub rule: Rule,
    /// Maximum number of convex parts of each collider's mesh; 0 for none.
    pub convex_parts: usize,
    /// Maximum distance in metres of the primitives that replace meshes of colliders; 0 for none.
    pub fit_primitives: f64,
    /// Collisions among the links in simulations.
    pub self_collision: SelfCollision,
    /// Merges links that fixed joints connect.
    pub merge_fixed: bool,
    /// Names of merged links that remain as frames: regular expressions for the whole name.
    pub keep_frames: Vec<Pattern>,
    /// Whether to show a box in place of a visual mesh that can't be read.
    pub stand_ins: bool,
    /// The revision of REP-158 that the OpenUSD asset follows.
    pub rep158: rep158::Revision,
    /// Whether to check the OpenUSD asset against REP-158 before publication.
    pub check: bool,
    /// Whether to publish nothing if there are warnings.
    pub strict: bool,
    /// Time limit of the conversion, which then ends with `convert-timed-out`; `None` for
    /// unlimited.
    pub time_limit: Option<Duration>,
    /// Memory limit of the conversion in MiB; `None` for unlimited. Enforced by worker processes
    /// only: [`convert`] in this process ignores it.
    ///
    /// [`convert`]: super::convert
    pub memory_limit: Option<u64>,
    /// The folder or the object store with results that machines share; `None` for none. The code that
    /// creates the store of a [`Context`](super::Context) connects it.
    pub cache_url: Option<String>,
    /// Additional contents of the glTF, and its compression.
    pub gltf: gltf::Extent,
    /// Whether the glTF contains the time of its conversion, so that the same input no longer gives
    /// the same bytes.
    pub dated: bool,
    /// How the URDF refers to files; ignored without [`OutputFormat::Urdf`].
    pub urdf: UrdfOptions,
}

/// Names of the options that do not belong to an asset: where packages are on this machine, and
/// under which limits and conditions the asset is published.
pub const NOT_OF_THE_ASSET: [&str; 8] = [
    "packages",
    "package_paths",
    "allowed_roots",
    "check",
    "strict",
    "time_limit",
    "memory_limit",
    "cache_url",
];

/// Returns the heading of an option in help: the subject that it belongs to.
pub fn heading(name: &str) -> &'static str {
    match name {
        "variants" | "srdf_file" | "xrdf_file" => "Input",
        "packages" | "package_paths" | "allowed_roots" => "Packages",
        "base" | "bodies" | "density" | "masses_file" | "pose" | "drive" | "drives_file"
        | "natural_frequency" | "damping_ratio" | "sag" | "self_collision" | "merge_fixed"
        | "keep_frames" | "convex_parts" | "fit_primitives" | "gltf.physics" => "Physics",
        "mesh_up_axis" | "tiers" | "stand_ins" | "gltf.animations" | "gltf.compression" => {
            "Appearance"
        }
        "time_limit" | "memory_limit" | "cache_url" => "Global",
        _ => "Output",
    }
}

/// All options. Grouped ones (`gltf.…`) come last.
pub static TABLE: &[Opt<Options>] = &[
    Opt::new(
        "formats",
        Kind::Choices(|| {
            OutputFormat::ALL
                .iter()
                .map(|format| format.as_str())
                .collect()
        }),
        "LIST",
        field!(Options.formats),
        "The formats to write.",
    ),
    Opt::new(
        "overlays",
        Kind::Choices(|| usd_write::Overlay::ALL.map(usd_write::Overlay::as_str).to_vec()),
        "LIST",
        field!(Options.overlays),
        "Overlays to write beside the OpenUSD layers, each with its own entry file.",
    ),
    Opt::new(
        "robot_type",
        Kind::Choice(|| {
            usd_author::isaac_schema::RobotType::ALL
                .map(usd_author::isaac_schema::RobotType::as_str)
                .to_vec()
        }),
        "",
        field!(Options.robot_type),
        "The kind of robot that the overlay isaac declares (isaac:robotType).",
    ),
    Opt::new(
        "sites_last",
        Kind::Switch,
        "",
        field!(Options.sites_last),
        "In the overlay isaac, list sites (frames that are not bodies) after all links. Otherwise each follows its link.",
    ),
    Opt::new(
        "changelog",
        Kind::Texts("the description of a change"),
        "TEXT",
        field!(Options.changelog),
        "Add a change to the list of changes of the overlay isaac (isaac:changelog), after those of the source.",
    ),
    Opt::new(
        "pose_scope",
        Kind::Choice(|| {
            usd_author::isaac_schema::PoseScope::ALL
                .map(usd_author::isaac_schema::PoseScope::as_str)
                .to_vec()
        }),
        "",
        field!(Options.pose_scope),
        "The scope of named poses in the overlay isaac: Named_Poses as the schema's documentation has it, NamedPoses as Isaac Sim 6.0 reads it, \
         or both. All are read.",
    ),
    Opt::new(
        "simready",
        Kind::Switch,
        "",
        field!(Options.simready),
        "Add to the OpenUSD layers what SimReady requires: a picture of the robot, and metadata in NAME.json.",
    ),
    Opt::new(
        "thumbnail",
        Kind::Switch,
        "",
        field!(Options.thumbnail),
        "Add a picture of the robot in .thumbs/256x256, where browsers of OpenUSD assets look for it. With simready, it is always added.",
    ),
    Opt::new(
        "simready_metadata",
        Kind::Texts("each KEY=VALUE, KEY one of author, asset_license, category, qcode"),
        "KEY=VALUE",
        field!(Options.simready_metadata),
        "Add or replace a field of SimReady's metadata, which otherwise comes from the robot's package. A description from a topic has no package.",
    ),
    Opt::new(
        "variants",
        Kind::Texts("each SET=NAME, or /PRIM{SET=NAME} for one prim's set"),
        "SET=NAME",
        field!(Options.variants),
        "Convert this variant of an OpenUSD source instead of the one that the source selects (REP-158 §3.7).",
    ),
    Opt::new(
        "packages",
        Kind::NamedFolders,
        "NAME=DIR",
        field!(Options.resolve.packages),
        "The directory of a ROS package, for package:// URIs. It takes precedence over all other locations.",
    ),
    Opt::new(
        "package_paths",
        Kind::Folders,
        "DIR",
        field!(Options.resolve.package_paths),
        "A folder of ROS packages. It takes precedence over the ament index (AMENT_PREFIX_PATH).",
    ),
    Opt::new(
        "allowed_roots",
        Kind::Folders,
        "DIR",
        field!(Options.resolve.allowed_roots),
        "Allow reading URDFs, meshes and textures from this folder, in addition to packages and the URDF's own folder.",
    ),
    Opt::new(
        "asset_namespace",
        Kind::Text("a ROS namespace such as robot_1 or fleet/robot_1, or empty"),
        "NS",
        Access {
            set: |options: &mut Options, value| {
                let namespace = Option::read(value)?;
                namespace.as_deref().map_or(Ok(()), usd_write::check_namespace)?;
                options.namespace = namespace;
                Ok(())
            },
            get: |options: &Options| options.namespace.write(),
        },
        "The ROS namespace that the asset declares for its robot. Empty: the node's namespace, or the robot's name.",
    )
    .short("namespace"),
    Opt::new(
        "base",
        Kind::Choice(|| usd_write::Base::ALL.map(usd_write::Base::as_str).to_vec()),
        "",
        field!(Options.base),
        "Whether the robot's base is fixed to the world. auto: fixed if the URDF has a root link named world.",
    ),
    Opt::new(
        "bodies",
        Kind::Choice(|| usd_write::Bodies::ALL.map(usd_write::Bodies::as_str).to_vec()),
        "",
        field!(Options.bodies),
        "Whether the prims of bodies are nested, or all direct children of the robot's root for engines that need it. Bodies nested more than \
         64 deep become children of the root in any case.",
    ),
    Opt::new(
        "mesh_up_axis",
        Kind::Choice(|| mesh::UpAxis::ALL.map(mesh::UpAxis::as_str).to_vec()),
        "",
        field!(Options.meshes.up_axis),
        "Which mesh files are rotated to z up. ignore: glTF files (y up by their specification), but not Collada files, whose up_axis RViz \
         ignores, too; honor: glTF and Collada files; z: none.",
    )
    .short("up-axis"),
    Opt::new(
        "tiers",
        Kind::Choice(|| Tiers::ALL.map(Tiers::as_str).to_vec()),
        "",
        field!(Options.tiers),
        "Which tiers of meshes to write. all: the source's and simplified ones (mesh_medium, mesh_low); high: only the source's.",
    ),
    Opt::new(
        "srdf_file",
        Kind::File,
        "FILE",
        field!(Options.srdf),
        "An SRDF file: pairs of links that need no collision check, and named poses. Empty: none.",
    )
    .short("srdf"),
    Opt::new(
        "xrdf_file",
        Kind::File,
        "FILE",
        field!(Options.xrdf),
        "An XRDF file: pairs of links that need no collision check, named poses, and additional frames. Empty: none.",
    )
    .short("xrdf"),
    Opt::new(
        "density",
        Kind::Number {
            from: 0.0,
            to: 100_000.0,
        },
        "KG_PER_M3",
        field!(Options.density),
        "The density in kg/m³ for computing mass and inertia of links without a mass from their colliders (or visuals). Computed masses are \
         marked as assumed. 0.0: no mass is computed, and bodies without one get 1 g.",
    ),
    Opt::new(
        "masses_file",
        Kind::File,
        "FILE",
        field!(Options.masses),
        "A YAML file with a line LINK: KG for each link without a mass. It takes precedence over the density. Empty: none.",
    ),
    Opt::new(
        "pose",
        Kind::Text("the name of a pose of the SRDF or XRDF, or empty"),
        "NAME",
        field!(Options.pose),
        "The pose from which simulations start. Empty: default, home or ready if the robot has such a pose, otherwise zero, or the position \
         within the limits that is nearest to zero.",
    ),
    Opt::new(
        "drive",
        Kind::Text("auto, none, position, position:KP,KD, velocity, velocity:KD or effort"),
        "MODE",
        field!(Options.rule.drive),
        "The drives of joints whose source gives no gains, in the layers for engines, MJCF and SDF. auto: gains that hold the joint, from \
         its inertia and gravity load; none: no drives; position, velocity, effort: drives of this mode, with the gains KP (N·m/rad or N/m) and \
         KD (N·m·s/rad or N·s/m), if given: position:KP,KD, velocity:KD.",
    ),
    Opt::new(
        "drives_file",
        Kind::File,
        "FILE",
        field!(Options.rule.file),
        "A YAML file of drives: patterns of joint names with mode, stiffness, damping, armature, friction, effort. Later entries take \
         precedence, also over gains of the source. Empty: none.",
    )
    .short("drives"),
    Opt::new(
        "natural_frequency",
        Kind::Number { from: 0.1, to: 1000.0 },
        "HZ",
        field!(Options.rule.frequency),
        "The natural frequency of drives with assumed gains, in Hz.",
    ),
    Opt::new(
        "damping_ratio",
        Kind::Number { from: 0.0, to: 100.0 },
        "RATIO",
        field!(Options.rule.damping_ratio),
        "The damping ratio of drives with assumed gains; 1.0 is critical damping.",
    ),
    Opt::new(
        "sag",
        Kind::Number { from: 0.0001, to: 1.0 },
        "RAD",
        field!(Options.rule.sag),
        "The angle by which a joint with assumed gains gives way under gravity at most, in rad. Sliding joints: a tenth of it, in m.",
    ),
    Opt::new(
        "convex_parts",
        Kind::Integer {
            from: 0,
            to: decompose::MAX_PARTS as i64,
        },
        "N",
        field!(Options.convex_parts),
        "Decompose the meshes of colliders into at most N convex parts each. OpenUSD has them in the variant convex_decomposition of \
         collision_fidelity; MJCF, and glTF for physics engines, in place of the convex hulls. 0: no decomposition.",
    ),
    Opt::new(
        "fit_primitives",
        Kind::Number { from: 0.0, to: 1.0 },
        "METRES",
        field!(Options.fit_primitives),
        "Replace the mesh of a collider by a box, sphere, cylinder or capsule if neither is outside of the other by more than this, in m. \
         0.0: no replacement.",
    ),
    Opt::new(
        "self_collision",
        Kind::Choice(|| SelfCollision::ALL.map(SelfCollision::as_str).to_vec()),
        "",
        field!(Options.self_collision),
        "Which links of the robot collide with each other in simulations. not-touching: all pairs but those that touch at the start or in all \
         sampled configurations. Links that a joint connects never collide.",
    ),
    Opt::new(
        "merge_fixed",
        Kind::Switch,
        "",
        field!(Options.merge_fixed),
        "Merge links that fixed joints connect: mass, inertia, visuals and colliders go to the upper link, and simulators have fewer bodies. \
         Frames stay: links without mass and shapes, those of sensors, and base_link, tool0 and others with a conventional name.",
    ),
    Opt::new(
        "keep_frames",
        Kind::Texts("a regular expression for the whole name of links"),
        "PATTERN",
        field!(Options.keep_frames),
        "With merge_fixed, keep links with such a name as frames, too.",
    )
    .short("keep"),
    Opt::new(
        "stand_ins",
        Kind::Switch,
        "",
        field!(Options.stand_ins),
        "Show a box in place of a visual mesh that can't be read. It encloses the link's colliders; without colliders, its size follows from \
         the link's mass and inertia.",
    ),
    Opt::new(
        "rep158",
        Kind::Choice(|| rep158::Revision::ALL.map(rep158::Revision::as_str).to_vec()),
        "",
        field!(Options.rep158),
        "The revision of REP-158 that the OpenUSD asset follows. 2026-06: mimic joints are in a neutral layer (ext_physics:). 2026-07: only in the \
         layers of engines that overlays name, each in the words of its engine.",
    ),
    Opt::new(
        "check",
        Kind::Switch,
        "",
        field!(Options.check),
        "Check the OpenUSD asset against the rules of REP-158, in every variant, and add the findings to the report.",
    ),
    Opt::new(
        "strict",
        Kind::Switch,
        "",
        field!(Options.strict),
        "Treat warnings as errors: write nothing if there is any.",
    ),
    Opt::new(
        "time_limit",
        Kind::Number {
            from: 0.0,
            to: 86_400.0,
        },
        "SECONDS",
        field!(Options.time_limit),
        "Time limit of a conversion, in s. One that exceeds it writes nothing; the node skips the robot until its description, \
         one of its files or a parameter changes. 0.0: no limit.",
    ),
    Opt::new(
        "memory_limit",
        Kind::Integer {
            from: 0,
            to: 1 << 24,
        },
        "MIB",
        field!(Options.memory_limit),
        "Memory limit of the process of a conversion, in MiB. One that exceeds it writes nothing; the node skips the robot until \
         its description, one of its files or a parameter changes. 0: no limit.",
    ),
    Opt::new(
        "cache_url",
        Kind::Text("a folder, or the address of one in an object store, such as s3://bucket/cache; or empty"),
        "URL",
        field!(Options.cache_url),
        "Share meshes, hulls and other intermediate results with other machines: a folder on a network file system, or s3://, gs:// or az:// with \
         the credentials of the environment. Without it, or if it fails, results are cached on this machine only. Anyone who can write there can \
         change assets. Empty: none.",
    ),
    Opt::new(
        "mesh_format",
        Kind::Choice(|| MeshFormat::ALL.map(MeshFormat::as_str).to_vec()),
        "",
        field!(Options.urdf.mesh_format),
        "The format of the mesh files of the URDF and the SDF. obj: with colours and images in separate files; all robotics programs read it; glb: \
         all looks in one file, which MuJoCo and Drake do not read; stl: triangles only, which Drake does not read.",
    ),
    Opt::new(
        "urdf_package",
        Kind::Text("the name of a ROS package such as my_robot_description, or empty"),
        "PACKAGE",
        Access {
            set: |options: &mut Options, value| {
                let package = Option::read(value)?;
                package
                    .as_deref()
                    .map_or(Ok(()), UrdfOptions::check_package)?;
                options.urdf.package = package;
                Ok(())
            },
            get: |options: &Options| options.urdf.package.write(),
        },
        "The ROS package that will contain the URDF's mesh files: they are named package://PACKAGE/meshes/…, so copy the asset's meshes/ into \
         the package's folder. Empty: paths relative to the URDF, which RViz does not support.",
    ),
    Opt::new(
        "urdf_file_uris",
        Kind::Switch,
        "",
        field!(Options.urdf.file_uris),
        "Name the URDF's mesh files by absolute URIs (file:///…), for RViz on the same machine without a package.",
    ),
    Opt::new(
        "gltf.animations",
        Kind::Switch,
        "",
        field!(Options.gltf.animations),
        "Write an animation per joint into the glTF, from its lower to its upper limit.",
    ),
    Opt::new(
        "gltf.physics",
        Kind::Switch,
        "",
        field!(Options.gltf.physics),
        "Write physics into the glTF: KHR_implicit_shapes and KHR_physics_rigid_bodies.",
    ),
    Opt::new(
        "gltf.compression",
        Kind::Choice(|| {
            gltf::Compression::ALL
                .map(gltf::Compression::as_str)
                .to_vec()
        }),
        "",
        field!(Options.gltf.compression),
        "How the glTF stores triangles. none: in single precision; quantize: in 8 and 16 bits (KHR_mesh_quantization); meshopt: quantized \
         and compressed (EXT_meshopt_compression).",
    ),
    Opt::new(
        "gltf.date",
        Kind::Switch,
        "",
        field!(Options.dated),
        "Write the time of conversion into the glTF; the same input then no longer gives the same bytes.",
    ),
];

impl Field for Formats {
    fn read(value: &Value) -> Result<Self, String> {
        Self::parse(texts(value)?)
    }

    fn write(&self) -> Value {
        Value::List(self.names().into_iter().map(str::to_owned).collect())
    }
}

impl Field for Vec<usd_read::VariantChoice> {
    fn read(value: &Value) -> Result<Self, String> {
        texts(value)?.iter().map(|text| text.parse()).collect()
    }

    fn write(&self) -> Value {
        Value::List(self.iter().map(ToString::to_string).collect())
    }
}

impl Field for Vec<usd_write::Overlay> {
    fn read(value: &Value) -> Result<Self, String> {
        super::overlays(texts(value)?)
    }

    fn write(&self) -> Value {
        Value::List(self.iter().map(ToString::to_string).collect())
    }
}

impl Field for Vec<Pattern> {
    fn read(value: &Value) -> Result<Self, String> {
        texts(value)?.iter().map(|text| text.parse()).collect()
    }

    fn write(&self) -> Value {
        Value::List(self.iter().map(ToString::to_string).collect())
    }
}

impl Field for Simready {
    fn read(value: &Value) -> Result<Self, String> {
        Self::parse(texts(value)?)
    }

    fn write(&self) -> Value {
        Value::List(self.texts())
    }
}
