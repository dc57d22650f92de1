//! Compiles Cyclone DDS from the sources in the crate `cyclonedds-src`; needs only a C compiler.
//!
//! Upstream builds with CMake, which generates four headers for the platform and passes lists of
//! files to the compiler; this script does both for Unix. It leaves out features that a ROS node
//! does not need and that would widen the attack surface: DDS Security, the exchange of type
//! descriptions, TCP, QoS files, and plug-ins in shared libraries.
//!
//! `patches` fixes faults of that release by which a peer can overwrite the memory of the process
//! or exhaust it. Each file describes its fault; `docs/upstream/cyclonedds.md` has them for
//! upstream. A patch that no longer applies fails the build.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// Headers that CMake would generate, by the path in `#include`.
const HEADERS: [(&str, &str); 4] = [
    (
        "dds/export.h",
        "#ifndef DDS_EXPORT_H\n#define DDS_EXPORT_H\n#define DDS_EXPORT\n#define DDS_NO_EXPORT\n#define DDS_INLINE_EXPORT\n\
         #define DDS_DEPRECATED __attribute__((__deprecated__))\n#define DDS_DEPRECATED_EXPORT DDS_DEPRECATED\n\
         #define DDS_EXPORT_INTERNAL_FUNCTION\n#endif\n",
    ),
    (
        "dds/config.h",
        "#ifndef DDS_CONFIG_H\n#define DDS_CONFIG_H\n#define DDSRT_HAVE_FILESYSTEM 1\n#define DDSRT_HAVE_NETSTAT 1\n\
         #define DDSRT_HAVE_RUSAGE 1\n#define DDSRT_HAVE_IPV6 1\n#define DDSRT_HAVE_SSM 1\n#define DDSRT_HAVE_DNS 1\n\
         #define DDSRT_HAVE_GETADDRINFO 1\n#define DDSRT_HAVE_GETHOSTNAME 1\n#define DDSRT_HAVE_INET_NTOP 1\n\
         #define DDSRT_HAVE_INET_PTON 1\n#ifdef __linux__\n#define DDSRT_HAVE_GETHOSTBYNAME_R 1\n\
         #define DDSRT_HAVE_CONDATTR_SETCLOCK 1\n#endif\n#endif\n",
    ),
    (
        "dds/features.h",
        "#ifndef DDS_FEATURES_H\n#define DDS_FEATURES_H\n#define DDS_HAS_LIFESPAN 1\n#define DDS_HAS_DEADLINE_MISSED 1\n\
         #define DDS_HAS_NETWORK_PARTITIONS 1\n#define DDS_IS_STATIC_LIBRARY 1\n#endif\n",
    ),
    (
        "dds/version.h",
        "#ifndef DDS_VERSION_H\n#define DDS_VERSION_H\n#define DDS_VERSION \"11.0.0\"\n#define DDS_VERSION_MAJOR 11\n\
         #define DDS_VERSION_MINOR 0\n#define DDS_VERSION_PATCH 0\n#define DDS_VERSION_TWEAK\n\
         #define DDS_PROJECT_NAME \"CycloneDDS\"\n#define DDS_GIT_HASH \"\"\n#define DDS_HOST_NAME \"\"\n\
         #define DDS_TARGET_NAME \"\"\n#endif\n",
    ),
];

/// Folders of sources; all of their C files are compiled.
const FOLDERS: [&str; 4] = [
    "ddsrt/src",
    "core/cdr/src",
    "core/ddsi/src",
    "core/ddsc/src",
];
/// The parts of the runtime that exist once per operating system.
const POSIX: [&str; 12] = [
    "sockets",
    "ifaddrs",
    "heap",
    "dynlib",
    "environ",
    "filesystem",
    "process",
    "random",
    "sync",
    "threads",
    "rusage",
    "time",
];
/// Files of features that are left out.
const LEFT_OUT: [&str; 15] = [
    "dds_dynamic_type.c",
    "dds_qos_provider.c",
    "dds_sysdef_parser.c",
    "dds_sysdef_validation.c",
    "ddsi_discovery_topic.c",
    "ddsi_dynamic_type.c",
    "ddsi_security_exchange.c",
    "ddsi_security_msg.c",
    "ddsi_typebuilder.c",
    "ddsi_typelib.c",
    "ddsi_typelookup.c",
    "ddsi_typewrap.c",
    "ddsi_xt_typeinfo.c",
    "ddsi_xt_typelookup.c",
    "ddsi_xt_typemap.c",
];
const INCLUDES: [&str; 8] = [
    "ddsrt/include",
    "ddsrt/src",
    "core/cdr/include",
    "core/ddsi/include",
    "core/ddsi/src",
    "core/ddsc/include",
    "core/ddsc/src",
    "core/ddsi",
];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/shim.c");
    println!("cargo:rerun-if-changed=patches");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let headers = out.join("include");
    fs::create_dir_all(headers.join("dds")).expect("OUT_DIR can be written to");
    for (name, text) in HEADERS {
        fs::write(headers.join(name), text).expect("OUT_DIR can be written to");
    }
    let system = if env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("macos") {
        "darwin"
    } else {
        "linux"
    };
    let sources = cyclonedds_src::source_dir().join("src");
    let folders = FOLDERS.iter().map(|folder| sources.join(folder));
    let posix = POSIX
        .iter()
        .map(|part| sources.join("ddsrt/src").join(part).join("posix"));
    let netstat = sources.join("ddsrt/src/netstat").join(system);
    let files = folders
        .chain(posix)
        .chain([netstat])
        .flat_map(|folder| sources_in(&folder));
    let files = files.chain([
        sources.join("core/ddsi/defconfig.c"),
        PathBuf::from("src/shim.c"),
    ]);
    let patched = patched(&cyclonedds_src::source_dir(), &out);
    let files = files.map(|file| patched.get(&file).cloned().unwrap_or(file));
    cc::Build::new()
        .files(files)
        .include(headers)
        .includes(INCLUDES.map(|folder| sources.join(folder)))
        .std("gnu11")
        // Assertions of Cyclone abort on states that its code otherwise handles, and change the
        // layout of its structs; the shim is therefore compiled with the same setting.
        .define("NDEBUG", None)
        .flag_if_supported("-fvisibility=hidden")
        // Without optimization, the discovery of a fleet takes longer than peers wait.
        .opt_level_str(if env::var("OPT_LEVEL").as_deref() == Ok("0") {
            "1"
        } else {
            "2"
        })
        .warnings(false)
        .compile("urdf_usd_cyclone");
}

/// Applies the files in `patches` to copies of the sources; returns the copies by their originals.
fn patched(sources: &Path, out: &Path) -> BTreeMap<PathBuf, PathBuf> {
    let mut copies = BTreeMap::new();
    for path in files_in(Path::new("patches"), "patch") {
        let text =
            fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        // The description of the patch precedes the difference.
        let (_, difference) = text
            .split_once("\n--- ")
            .unwrap_or_else(|| panic!("{}: no difference", path.display()));
        let difference = format!("--- {difference}");
        let name = difference
            .lines()
            .find_map(|line| line.strip_prefix("+++ b/"))
            .expect("a file that is changed");
        let original = sources.join(name);
        let from = copies.get(&original).unwrap_or(&original);
        let source =
            fs::read_to_string(from).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
        let patch = diffy::Patch::from_str(&difference)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let corrected = diffy::apply(&source, &patch)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let copy = out.join(Path::new(name).file_name().expect("a file's name"));
        fs::write(&copy, corrected).expect("OUT_DIR can be written to");
        copies.insert(original, copy);
    }
    copies
}

/// Returns the C files of a folder, without those of features that are left out.
fn sources_in(folder: &Path) -> Vec<PathBuf> {
    let mut files = files_in(folder, "c");
    files.retain(|file| {
        !file
            .file_name()
            .is_some_and(|name| LEFT_OUT.iter().any(|left_out| name == *left_out))
    });
    files
}

/// Returns the files of a folder with an extension, in a fixed order.
fn files_in(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a folder that can be read").path())
        .collect();
    files.retain(|file| file.extension().is_some_and(|found| found == extension));
    files.sort();
    files
}
