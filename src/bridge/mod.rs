pub mod codes {
    pub const ALL: &[&crate::diagnostic::Code] = &[];
}
pub fn main(_: Vec<std::ffi::OsString>) -> std::process::ExitCode {
    std::process::ExitCode::FAILURE
}
pub mod demo {
    #[derive(clap::Args)]
    pub struct Options {}
    pub fn main(_: Options) -> std::process::ExitCode {
        std::process::ExitCode::FAILURE
    }
}
