//! Compiles the part in C, on Linux.

fn main() {
    const SOURCE: &str = "src/syscalls.c";
    println!("cargo:rerun-if-changed={SOURCE}");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        cc::Build::new().file(SOURCE).warnings(true).compile("urdf_usd_syscalls");
    }
}
