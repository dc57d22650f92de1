//! Converts robots from ROS to OpenUSD (REP-158) and glTF (EXT_robot_kinematics).
//!
//! This library is behind the programs `urdf_usd` and `bridge`. Data flows one way: text → reader
//! ([`urdf::read`]) → [`robot::Robot`] → writer ([`usd::write`], [`gltf::write`]) → files.
//! [`convert::convert`] does all of it. Each module is a crate, `urdf_usd_NAME`, that can also be
//! used alone; [`gltf`] is three.
//!
//! ```
//! use urdf_usd::store::Store;
//! use urdf_usd::{gltf, urdf, usd};
//!
//! # let text = "<robot name='arm'><link name='base'/></robot>";
//! let urdf::Outcome { robot, .. } = urdf::read(&text, None);
//! if let Some(robot) = robot {
//!     let store = Store::none();
//!     let asset = usd::write(&robot, &usd::Options::default(), &store)?;
//!     let glb = gltf::write(&robot, &gltf::Options::default(), &store)?.glb()?;
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Depend on it with `default-features = false`: the feature `programs` adds only dependencies of
//! the two programs.
//!
//! Large meshes and several files are processed in parallel by rayon. Its global pool starts with
//! the first of them; to choose another, call within `rayon::ThreadPool::install`.

#![forbid(unsafe_code)]

pub use urdf_usd_convert as convert;
pub use urdf_usd_diagnostic as diagnostic;
pub use urdf_usd_fix as fix;
pub use urdf_usd_geometry as geometry;
pub use urdf_usd_isaac as isaac;
pub use urdf_usd_kinematics as kinematics;
pub use urdf_usd_mesh as mesh;
pub use urdf_usd_mjcf as mjcf;
pub use urdf_usd_rep158 as rep158;
pub use urdf_usd_resolve as resolve;
pub use urdf_usd_robot as robot;
pub use urdf_usd_sdf as sdf;
pub use urdf_usd_store as store;
pub use urdf_usd_tf_check as tf_check;
pub use urdf_usd_urdf as urdf;
pub use urdf_usd_urdf::{srdf, xacro, xrdf};

/// OpenUSD: robots written as layers, assets read, and layers authored (`urdf_usd_usd_write`,
/// `urdf_usd_usd_read`, `urdf_usd_usd_author`).
pub mod usd {
    pub use urdf_usd_usd_author::layout::DEFAULT_POSE_PROPERTIES;
    pub use urdf_usd_usd_author::{
        self as author, Chain, ISAAC_SCHEMA_FILES, PosePrim, SCHEMA_FILES, crate_file,
        isaac_schema, text,
    };
    pub use urdf_usd_usd_read::{
        AssetFrame, AssetFrames, AssetJoint, AssetMimic, BodyMass, DENSITY, FrameKind,
        InterfaceSummary, JointSummary, LinkSummary, OfStage, Outcome, ReadError, ReadOptions,
        RosContext, Summary, TierSet, VariantChoice, VariantSummary, body_masses,
        codes as read_codes, finest, inspect, read, read_frames, read_interfaces, read_stage,
        read_tiers,
    };
    pub use urdf_usd_usd_write::{
        Asset, Base, Bodies, Isaac, Options, Overlay, Written, check_namespace, codes,
        default_namespace, interfaces, is_layer, write,
    };
}

/// glTF with EXT_robot_kinematics, in three crates: the writer is `urdf_usd_gltf_write`.
pub mod gltf {
    pub use urdf_usd_gltf_check as check;
    pub use urdf_usd_gltf_read::{self as read, read};
    pub use urdf_usd_gltf_write::*;
}
