//! Publishes the node's log on `/rosout`.
//!
//! Used by clients that do not publish it themselves.

use super::args::LogLevel;
use super::msg::builtin_interfaces::Time;
use super::msg::rcl_interfaces::Log;
use super::{Node, Qos};
use urdf_usd_diagnostic::Diagnostic;

/// Length of the history and lifespan for late subscribers, as in `rcl`.
const DEPTH: usize = 1000;
const LIFESPAN: std::time::Duration = std::time::Duration::from_secs(10);

/// A line of the log.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// Time of the system clock.
    pub stamp: Time,
    /// Severity.
    pub level: LogLevel,
    /// Name of the logger: `left.urdf_usd`.
    pub logger: &'a str,
    /// The message.
    pub text: &'a str,
    /// The source file.
    pub file: &'a str,
    /// The function or module in it.
    pub function: &'a str,
    /// The line in it.
    pub line: u32,
}

/// Advertises the topic. The returned function publishes a line there; it neither blocks nor logs.
///
/// # Errors
/// [`super::codes::TRANSPORT`].
pub fn open(node: &impl Node) -> Result<impl Fn(&Line) + Send + Sync + 'static, Diagnostic> {
    let publisher = node.advertise(
        "/rosout",
        Qos {
            lifespan: Some(LIFESPAN),
            ..Qos::latched(DEPTH)
        },
    )?;
    Ok(move |line: &Line| {
        let log = Log {
            stamp: line.stamp,
            level: line.level as u8,
            name: line.logger.to_owned(),
            msg: line.text.to_owned(),
            file: line.file.to_owned(),
            function: line.function.to_owned(),
            line: line.line,
        };
        // Fails only after the node has left.
        let _ = publisher.publish(log);
    })
}
