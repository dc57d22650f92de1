//! What the node logs, through rcl: to the terminal as the workspace wants it, to the log file and to `/rosout`.

use ::rclrs::{LogSeverity, Logger, ToLogParams};
use tracing::Level;

/// A logger of rcl.
pub struct Log(Logger);

impl Log {
    /// The logger `name`: `left.urdf_usd`. It logs whatever it is given: the filter stands before it.
    pub fn new(name: &str) -> Self {
        let logger = Logger::new(name).unwrap_or_default();
        let _ = logger.set_level(LogSeverity::Debug);
        Self(logger)
    }

    /// Logs a line.
    pub fn line(&self, level: Level, text: &str) {
        let severity = match level {
            Level::ERROR => LogSeverity::Error,
            Level::WARN => LogSeverity::Warn,
            Level::INFO => LogSeverity::Info,
            _ => LogSeverity::Debug,
        };
        ::rclrs::log!(self.0.severity(severity), "{text}");
    }
}
