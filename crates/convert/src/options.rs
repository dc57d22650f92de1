//! The options of a conversion: each is a field of [`Options`] with its default in
//! [`Options::default`], and a row of [`TABLE`].
//!
//! The command line, the parameters of the node, `config/`, the launch file and the pages of the
//! documentation are made from the table; nothing else names an option.

use std::path::PathBuf;
use std::time::Duration;

use super::option::{Access, Field, Kind, Opt, Value, field, texts};
use super::{Formats, MeshFormat, OutputFormat, Simready, Tiers, UrdfOptions};
use urdf_usd_gltf_write as gltf;
use urdf_usd_mesh as mesh;
use urdf_usd_resolve as resolve;
use urdf_usd_usd_author as usd_author;
use urdf_usd_usd_read as usd_read;
use urdf_usd_usd_write as usd_write;

/// How a robot is converted.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
pub struct Options {
    /// What to write.
    pub formats: Formats,
    /// Which overlays to write beside the layers; none without [`OutputFormat::Usd`].
    pub overlays: Vec<usd_write::Overlay>,
    /// What kind of robot the overlay for Isaac says that it is.
    pub robot_type: usd_author::isaac_schema::RobotType,
    /// Whether that overlay lists sites after all links, not each after its link.
    pub sites_last: bool,
    /// Whether to add what SimReady asks for; nothing is added without [`OutputFormat::Usd`].
    pub simready: bool,
    /// What people say of the asset, for SimReady's metadata.
    pub simready_metadata: Simready,
    /// Variants that are selected in an OpenUSD source instead of those that it selects.
    pub variants: Vec<usd_read::VariantChoice>,
    /// How references to files are resolved.
    pub resolve: resolve::Options,
    /// `ros:context:namespace`; `None`: the robot's name.
    pub namespace: Option<String>,
    /// Whether the base is held to the world.
    pub base: usd_write::Base,
    /// How bodies are nested.
    pub bodies: usd_write::Bodies,
    /// How mesh files are understood.
    pub meshes: mesh::Options,
    /// Which tiers of visuals are written.
    pub tiers: Tiers,
    /// An SRDF file: which pairs of links need no collision check, and named poses.
    pub srdf: Option<PathBuf>,
    /// An XRDF file: the same, and frames beside the links.
    pub xrdf: Option<PathBuf>,
    /// kg/m³: what links weigh whose source gives no mass; 0: nothing is computed.
    pub density: f64,
    /// A file with the masses of such links.
    pub masses: Option<PathBuf>,
    /// Whether a box shows in place of a visual mesh that can't be read.
    pub stand_ins: bool,
    /// Whether the OpenUSD asset is held against the rules of REP-158 before it is published.
    pub check: bool,
    /// Publish nothing if there is any warning.
    pub strict: bool,
    /// How long the conversion may take; then it ends with `convert-timed-out`. `None`: as long as
    /// it needs.
    pub time_limit: Option<Duration>,
    /// Memory limit of the conversion, in MiB; `None`: unlimited. Enforced by worker processes
    /// only: [`convert`] in this process ignores it.
    ///
    /// [`convert`]: super::convert
    pub memory_limit: Option<u64>,
    /// What is in the glTF beside the robot, and how.
    pub gltf: gltf::Extent,
    /// Whether the glTF says when it was made, so that the same input no longer gives the same
    /// bytes.
    pub dated: bool,
    /// What the URDF refers to, and how; nothing without [`OutputFormat::Urdf`].
    pub urdf: UrdfOptions,
}

/// Every option. The groups (`gltf.…`) stand last.
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
        "Which files are written.",
    ),
    Opt::new(
        "overlays",
        Kind::Choices(|| usd_write::Overlay::ALL.map(usd_write::Overlay::as_str).to_vec()),
        "LIST",
        field!(Options.overlays),
        "Which overlays are written beside the OpenUSD layers, each with an entry of its own.",
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
        "What kind of robot it is, for the overlay isaac (isaac:robotType).",
    ),
    Opt::new(
        "sites_last",
        Kind::Switch,
        "",
        field!(Options.sites_last),
        "In the overlay isaac, list sites (frames that are no bodies) after all links. Otherwise each stands after its link.",
    ),
    Opt::new(
        "simready",
        Kind::Switch,
        "",
        field!(Options.simready),
        "Add what SimReady asks for to the OpenUSD layers: a picture of the robot, and metadata in NAME.json.",
    ),
    Opt::new(
        "simready_metadata",
        Kind::Texts("each KEY=VALUE, KEY one of author, asset_license, category, qcode"),
        "KEY=VALUE",
        field!(Options.simready_metadata),
        "What that metadata says beside or instead of what the robot's package says. A description from a topic has no package.",
    ),
    Opt::new(
        "variants",
        Kind::Texts("each SET=NAME, or /PRIM{SET=NAME} for one prim's set"),
        "SET=NAME",
        field!(Options.variants),
        "A variant of an OpenUSD source that is converted instead of the one that the source selects (REP-158 §3.7).",
    ),
    Opt::new(
        "packages",
        Kind::NamedFolders,
        "NAME=DIR",
        field!(Options.resolve.packages),
        "Where a ROS package is, for package:// URIs. It comes before everything else.",
    ),
    Opt::new(
        "package_paths",
        Kind::Folders,
        "DIR",
        field!(Options.resolve.package_paths),
        "A folder that holds ROS packages. It comes before the ament index (AMENT_PREFIX_PATH).",
    ),
    Opt::new(
        "allowed_roots",
        Kind::Folders,
        "DIR",
        field!(Options.resolve.allowed_roots),
        "Another folder that URDFs, meshes and textures may be read from. Without any: only packages and the URDF's own folder.",
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
        "The ROS namespace that the asset declares for its robot. Empty: the node's, or the robot's name.",
    )
    .short("namespace"),
    Opt::new(
        "base",
        Kind::Choice(|| usd_write::Base::ALL.map(usd_write::Base::as_str).to_vec()),
        "",
        field!(Options.base),
        "Whether the robot's base is held to the world. auto: if the URDF has a root link named world.",
    ),
    Opt::new(
        "bodies",
        Kind::Choice(|| usd_write::Bodies::ALL.map(usd_write::Bodies::as_str).to_vec()),
        "",
        field!(Options.bodies),
        "Whether the prims of bodies stand in each other, or all in the robot's root for engines that need it. Bodies nested more than \
         64 deep stand in the root in any case.",
    ),
    Opt::new(
        "mesh_up_axis",
        Kind::Choice(|| mesh::UpAxis::ALL.map(mesh::UpAxis::as_str).to_vec()),
        "",
        field!(Options.meshes.up_axis),
        "Which mesh files are turned to z up. ignore: glTF, from y up as its specification says, but not Collada, whose up_axis RViz \
         ignores, too; honor: Collada as well; z: none, all have the axes of their link.",
    )
    .short("up-axis"),
    Opt::new(
        "tiers",
        Kind::Choice(|| Tiers::ALL.map(Tiers::as_str).to_vec()),
        "",
        field!(Options.tiers),
        "Whether simplified meshes are written beside the source's (mesh_medium, mesh_low), or the source's alone (high).",
    ),
    Opt::new(
        "srdf_file",
        Kind::File,
        "FILE",
        field!(Options.srdf),
        "An SRDF file: which pairs of links of the robot need no check for collision, and named poses. Empty: none.",
    )
    .short("srdf"),
    Opt::new(
        "xrdf_file",
        Kind::File,
        "FILE",
        field!(Options.xrdf),
        "An XRDF file: the same, and frames that it adds. Empty: none.",
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
        "What links without a mass weigh, in kg/m³ of their colliders (or visuals), with an inertia of even density; they are marked as \
         assumed. 0.0: nothing is computed, and bodies without a mass get 1 g.",
    ),
    Opt::new(
        "masses_file",
        Kind::File,
        "FILE",
        field!(Options.masses),
        "A YAML file with the masses of links without one, a line for each: LINK: KG. It comes before the density. Empty: none.",
    ),
    Opt::new(
        "stand_ins",
        Kind::Switch,
        "",
        field!(Options.stand_ins),
        "Show a box in place of a visual mesh that can't be read: around the link's colliders, or with its mass and inertia.",
    ),
    Opt::new(
        "check",
        Kind::Switch,
        "",
        field!(Options.check),
        "Hold the OpenUSD asset against the rules of REP-158, in every variant, and add what it breaks to the report.",
    ),
    Opt::new(
        "strict",
        Kind::Switch,
        "",
        field!(Options.strict),
        "Write nothing if there is any warning.",
    ),
    Opt::new(
        "time_limit",
        Kind::Number {
            from: 0.0,
            to: 86_400.0,
        },
        "SECONDS",
        field!(Options.time_limit),
        "How long a conversion may take, in s. One that takes longer writes nothing; the node sets the robot aside until its description, \
         a file of it or a parameter changes. 0.0: as long as it needs.",
    ),
    Opt::new(
        "memory_limit",
        Kind::Integer {
            from: 0,
            to: 1 << 24,
        },
        "MIB",
        field!(Options.memory_limit),
        "How much memory the process of a conversion may take, in MiB. One that needs more writes nothing; the node sets the robot aside until \
         its description, a file of it or a parameter changes. 0: as much as it needs.",
    ),
    Opt::new(
        "mesh_format",
        Kind::Choice(|| MeshFormat::ALL.map(MeshFormat::as_str).to_vec()),
        "",
        field!(Options.urdf.mesh_format),
        "What the mesh files of the URDF are: glb has all that a mesh shows, obj colours and images in files of their own, stl triangles \
         alone.",
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
        "The ROS package that the URDF's mesh files will be in: it names them package://PACKAGE/meshes/…, so put the asset's meshes/ into \
         the package's folder. Empty: it names them from its own folder, which RViz does not understand.",
    ),
    Opt::new(
        "urdf_file_uris",
        Kind::Switch,
        "",
        field!(Options.urdf.file_uris),
        "Let the URDF name mesh files by where they are written (file:///…), for RViz on the same machine without a package.",
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
        "Write what physics engines need into the glTF: KHR_implicit_shapes and KHR_physics_rigid_bodies.",
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
        "How the glTF stores triangles. none: in single precision; quantize: in 8 and 16 bits (KHR_mesh_quantization); meshopt: that, \
         compressed (EXT_meshopt_compression).",
    ),
    Opt::new(
        "gltf.date",
        Kind::Switch,
        "",
        field!(Options.dated),
        "Write into the glTF when it was made, so that the same input no longer gives the same bytes.",
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

impl Field for Simready {
    fn read(value: &Value) -> Result<Self, String> {
        Self::parse(texts(value)?)
    }

    fn write(&self) -> Value {
        Value::List(self.texts())
    }
}
