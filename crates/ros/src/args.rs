//! `--ros-args`: a node's command-line arguments, in the syntax of `rcl`.
//!
//! ```text
//! bridge … --ros-args [-r from:=to] [-r __ns:=/left] [-p name:=value] [--params-file FILE] [--log-level LEVEL] … [--] …
//! ```

use std::collections::BTreeMap;
use std::path::Path;

use super::codes;
use super::names::{Names, Remap, RemapKind};
use super::overrides::{Given, NodePattern, Override, read_file, read_value};
use urdf_usd_diagnostic::{Diagnostic, Place};

/// Name of the program; the names of its crates, and so the targets of their logs, begin with it.
const PROGRAM: &str = "urdf_usd";

/// A severity of log messages, as ROS names and numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    /// Details for debugging.
    Debug = 10,
    /// Normal operation (the default).
    Info = 20,
    /// Warnings.
    Warn = 30,
    /// Errors.
    Error = 40,
    /// The reason why the node ended; the same as `Error` here.
    Fatal = 50,
}

impl LogLevel {
    fn parse(text: &str) -> Option<Self> {
        Some(match text.to_ascii_lowercase().as_str() {
            "debug" => Self::Debug,
            "unset" | "info" => Self::Info,
            "warn" => Self::Warn,
            "error" => Self::Error,
            "fatal" => Self::Fatal,
            _ => return None,
        })
    }

    /// The level's name for `tracing` filters.
    pub fn as_filter(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error | Self::Fatal => "error",
        }
    }
}

/// The arguments after `--ros-args`.
#[derive(Clone, Debug, Default)]
pub struct Args {
    /// The whole command line, as given.
    pub given: Vec<String>,
    /// Remap rules, in order.
    pub remaps: Vec<Remap>,
    /// Parameter values from files and the command line, in order; later ones win.
    pub overrides: Vec<Override>,
    /// The log level of all loggers.
    pub log_level: Option<LogLevel>,
    /// The log levels of single loggers.
    pub logger_levels: Vec<(String, LogLevel)>,
    /// The security enclave.
    pub enclave: Option<String>,
    /// Whether to write the log to the terminal.
    pub stdout_logs: Option<bool>,
    /// Whether to publish the log on `/rosout`.
    pub rosout_logs: Option<bool>,
    /// Whether to write the log to a file.
    pub file_logs: Option<bool>,
    /// The beginning of the log file's name.
    pub log_file_name: Option<String>,
    /// Arguments that are valid but change nothing in this node; the program warns of each.
    pub without_effect: Vec<String>,
}

impl Args {
    /// Splits a command line (without the program's name) into ROS arguments and the rest.
    ///
    /// Reads parameter files at once.
    ///
    /// # Errors
    /// [`codes::ARGUMENT`], [`codes::PARAMETER_FILE`], [`codes::INVALID_NAME`].
    pub fn parse(
        arguments: impl IntoIterator<Item = String>,
    ) -> Result<(Self, Vec<String>), Diagnostic> {
        let given: Vec<String> = arguments.into_iter().collect();
        let mut args = Self::default();
        let mut rest = Vec::new();
        let mut arguments = given.iter().cloned();
        let mut is_ros = false;
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--ros-args" => is_ros = true,
                // Outside of the ROS arguments, `--` belongs to the program.
                "--" if is_ros => is_ros = false,
                _ if is_ros => args.take(&argument, &mut arguments)?,
                _ => rest.push(argument),
            }
        }
        args.given = given;
        Ok((args, rest))
    }

    fn take(
        &mut self,
        flag: &str,
        arguments: &mut impl Iterator<Item = String>,
    ) -> Result<(), Diagnostic> {
        let mut value = || {
            let missing =
                || fault(flag, "a value is missing").help(format!("write `{flag} VALUE`"));
            arguments.next().ok_or_else(missing)
        };
        match flag {
            "-r" | "--remap" => self.remaps.push(remap(flag, &value()?)?),
            "-p" | "--param" => self.overrides.push(parameter(flag, &value()?)?),
            "--params-file" => self.overrides.extend(read_file(Path::new(&value()?))?),
            "--log-level" => self.take_log_level(flag, &value()?)?,
            "-e" | "--enclave" => self.enclave = Some(enclave(flag, value()?)?),
            "--enable-rosout-logs" => self.rosout_logs = Some(true),
            "--disable-rosout-logs" => self.rosout_logs = Some(false),
            "--enable-stdout-logs" => self.stdout_logs = Some(true),
            "--disable-stdout-logs" => self.stdout_logs = Some(false),
            "--enable-external-lib-logs" => self.file_logs = Some(true),
            "--disable-external-lib-logs" => self.file_logs = Some(false),
            "--log-file-name" => self.log_file_name = Some(log_file_name(flag, value()?)?),
            "--log-config-file" => self.without_effect.push(format!("{flag} {}", value()?)),
            _ => {
                let fault = fault(flag, "unknown argument after --ros-args");
                return Err(fault.help(
                    "ROS arguments are -r, -p, --params-file, --log-level, --enclave, --enable-rosout-logs \
                     and their like; `--` ends them",
                ));
            }
        }
        Ok(())
    }

    fn take_log_level(&mut self, flag: &str, text: &str) -> Result<(), Diagnostic> {
        let (logger, level) = text
            .split_once(":=")
            .map_or((None, text), |(logger, level)| (Some(logger), level));
        let Some(level) = LogLevel::parse(level) else {
            let fault = fault(
                &format!("{flag} {text}"),
                format!("`{level}` is not a log level"),
            );
            return Err(
                fault.help("one of debug, info, warn, error, fatal; for one logger: NAME:=debug")
            );
        };
        match logger {
            Some("") => {
                return Err(fault(
                    &format!("{flag} {text}"),
                    "the logger's name is missing",
                ));
            }
            Some(logger) => self.logger_levels.push((logger.to_owned(), level)),
            None => self.log_level = Some(level),
        }
        Ok(())
    }

    /// Returns the names of the node that calls itself `default_name`, under these arguments.
    ///
    /// # Errors
    /// [`codes::INVALID_NAME`].
    pub fn names(&self, default_name: &str) -> Result<Names, Diagnostic> {
        Names::new(default_name, &self.remaps)
    }

    /// Returns the parameter values meant for the node of this fully qualified name.
    ///
    /// As in `rcl`: all values under one node name or pattern are grouped at the place where that
    /// name was first used. If several names match this node, the one first used last wins.
    pub fn overrides_for(&self, fully_qualified: &str) -> BTreeMap<String, Override> {
        let mut patterns: Vec<&NodePattern> = Vec::new();
        for Override { nodes, .. } in &self.overrides {
            if nodes.matches(fully_qualified) && !patterns.contains(&nodes) {
                patterns.push(nodes);
            }
        }
        let values = patterns
            .into_iter()
            .flat_map(|pattern| self.overrides.iter().filter(move |o| o.nodes == *pattern));
        values.map(|o| (o.parameter.clone(), o.clone())).collect()
    }

    /// Returns these levels as a filter for `tracing_subscriber::EnvFilter`.
    ///
    /// `node` is the name of the node's logger, as in `left.urdf_usd`. That logger is the target
    /// `urdf_usd` with all crates of the program, and `left.urdf_usd.ros` is `urdf_usd::ros` or
    /// `urdf_usd_ros`. Zenoh logs errors only, unless its level is set by name (`zenoh:=debug`): it
    /// warns of every peer that comes or goes.
    pub fn log_filter(&self, node: &str) -> String {
        let mut filter = self
            .log_level
            .unwrap_or(LogLevel::Info)
            .as_filter()
            .to_owned();
        // r2r logs an error whenever a publisher leaves, since it takes the sample that says so for a
        // message.
        filter.push_str(",zenoh=error,r2r::subscribers=off");
        for (logger, level) in &self.logger_levels {
            let targets = match logger.strip_prefix(node) {
                Some("") => vec![PROGRAM.to_owned()],
                // A module of the program, or one of its crates: their names begin with the
                // program's.
                Some(child) if child.starts_with('.') => {
                    vec![
                        format!("{PROGRAM}{child}"),
                        format!("{PROGRAM}_{}", &child[1..]),
                    ]
                }
                _ => vec![logger.clone()],
            };
            for target in targets {
                filter.push_str(&format!(
                    ",{}={}",
                    target.replace('.', "::"),
                    level.as_filter()
                ));
            }
        }
        filter
    }
}

/// Checks the name of an enclave: absolute, like a namespace.
fn enclave(flag: &str, name: String) -> Result<String, Diagnostic> {
    let valid = super::names::check_namespace(&name);
    valid.map_err(|why| {
        fault(&format!("{flag} {name}"), why.message)
            .help("write it as in `ros2 security`: /left/urdf_usd")
    })?;
    Ok(name)
}

/// Checks the beginning of a log file's name.
fn log_file_name(flag: &str, name: String) -> Result<String, Diagnostic> {
    if name.is_empty() || name.contains('/') {
        let fault = fault(
            &format!("{flag} {name}"),
            "a file name can't begin with this",
        );
        return Err(fault.help("give a name without slashes; ROS_LOG_DIR is the folder"));
    }
    Ok(name)
}

fn fault(argument: &str, why: impl AsRef<str>) -> Diagnostic {
    let place = Place {
        element: argument.to_owned(),
        ..Place::default()
    };
    Diagnostic::new(
        &codes::ARGUMENT,
        place,
        format!("{argument}: {}", why.as_ref()),
    )
}

/// Parses a remap rule: `[node:]from:=to`.
fn remap(flag: &str, text: &str) -> Result<Remap, Diagnostic> {
    let bad = |why: &str| {
        fault(&format!("{flag} {text}"), why)
            .help("write FROM:=TO, __node:=NAME or __ns:=/NAMESPACE, with NODE: in front for one node only")
    };
    let (left, to) = text
        .split_once(":=")
        .ok_or_else(|| bad("`:=` is missing"))?;
    if to.is_empty() {
        return Err(bad("the new name is missing"));
    }
    let (kind, left) = scheme(left);
    let (node, from) = left
        .split_once(':')
        .map_or((None, left), |(node, from)| (Some(node), from));
    if let Some(node) = node {
        super::names::check_node_name(node)
            .map_err(|_| bad(&format!("`{node}` is not the name of a node")))?;
    }
    let ((kind, from), to) = (scheme_after_node(kind, from), scheme(to).1);
    match (kind, from) {
        (Some(_), "") | (None, "") => return Err(bad("the name to replace is missing")),
        _ => {}
    }
    let (kind, from) = match from {
        "__node" | "__name" => (RemapKind::Node, ""),
        "__ns" => (RemapKind::Namespace, ""),
        _ => (kind.unwrap_or(RemapKind::Any), from),
    };
    // Names that no node can expand are refused now, while the argument is known, instead of when
    // the topic is opened.
    let probe = Names::new("node", &[])?;
    let valid = match kind {
        RemapKind::Node => super::names::check_node_name(to),
        RemapKind::Namespace => super::names::check_namespace(to),
        _ => probe.topic(from).and_then(|_| probe.topic(to)).map(|_| ()),
    };
    valid.map_err(|fault| bad(&fault.message))?;
    Ok(Remap {
        node: node.map(str::to_owned),
        kind,
        from: from.to_owned(),
        to: to.to_owned(),
    })
}

/// Splits `rostopic://` or `rosservice://` off a name.
fn scheme(name: &str) -> (Option<RemapKind>, &str) {
    if let Some(rest) = name.strip_prefix("rostopic://") {
        (Some(RemapKind::Topic), rest)
    } else if let Some(rest) = name.strip_prefix("rosservice://") {
        (Some(RemapKind::Service), rest)
    } else {
        (None, name)
    }
}

/// Splits off a scheme that follows the node: `node:rostopic://from`.
fn scheme_after_node(kind: Option<RemapKind>, name: &str) -> (Option<RemapKind>, &str) {
    match scheme(name) {
        (None, name) => (kind, name),
        inner => inner,
    }
}

/// Parses a parameter: `[node:]name:=value`.
fn parameter(flag: &str, text: &str) -> Result<Override, Diagnostic> {
    let argument = format!("{flag} {text}");
    let bad = |why: &str| {
        fault(&argument, why).help("write NAME:=VALUE, or NODE:NAME:=VALUE for one node only")
    };
    let (left, value) = text
        .split_once(":=")
        .ok_or_else(|| bad("`:=` is missing"))?;
    let (node, parameter) = left
        .split_once(':')
        .map_or((None, left), |(node, name)| (Some(node), name));
    if parameter.is_empty() || parameter.chars().any(|c| c.is_whitespace() || c == ':') {
        return Err(bad(&format!(
            "`{parameter}` is not the name of a parameter"
        )));
    }
    let nodes = match node {
        None => NodePattern::any(),
        Some(node) => NodePattern::parse(node)
            .ok_or_else(|| bad(&format!("`{node}` is not the name of a node")))?,
    };
    let value: Given = read_value(value, &argument)?;
    Ok(Override {
        nodes,
        parameter: parameter.to_owned(),
        value,
        place: Place {
            element: argument,
            ..Place::default()
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;

    fn parse(line: &str) -> Result<(Args, Vec<String>), Diagnostic> {
        Args::parse(line.split_whitespace().map(str::to_owned))
    }

    fn args(line: &str) -> Args {
        parse(line).unwrap_or_else(|e| panic!("{line}: {e}")).0
    }

    #[test]
    fn ros_arguments_are_split_from_the_rest() {
        let (args, rest) =
            parse("-o dir --ros-args -r a:=b -- in.urdf --ros-args -p x:=1").expect("valid");
        assert_eq!(rest, ["-o", "dir", "in.urdf"]);
        assert_eq!((args.remaps.len(), args.overrides.len()), (1, 1));
        assert_eq!(parse("-- a").expect("valid").1, ["--", "a"]);
    }

    #[test]
    fn remaps_of_every_form() {
        let one = |text: &str| args(&format!("--ros-args -r {text}")).remaps.remove(0);
        for (text, node, kind, from, to) in [
            ("a:=b", None, RemapKind::Any, "a", "b"),
            ("~/asset:=/x", None, RemapKind::Any, "~/asset", "/x"),
            ("node:a:=b", Some("node"), RemapKind::Any, "a", "b"),
            ("__node:=n", None, RemapKind::Node, "", "n"),
            ("__name:=n", None, RemapKind::Node, "", "n"),
            (
                "old:__ns:=/a/b",
                Some("old"),
                RemapKind::Namespace,
                "",
                "/a/b",
            ),
            ("rostopic://a:=b", None, RemapKind::Topic, "a", "b"),
            (
                "rosservice:///a:=rosservice://b",
                None,
                RemapKind::Service,
                "/a",
                "b",
            ),
            (
                "node:rosservice://a:=b",
                Some("node"),
                RemapKind::Service,
                "a",
                "b",
            ),
        ] {
            let expected = Remap {
                node: node.map(str::to_owned),
                kind,
                from: from.into(),
                to: to.into(),
            };
            assert_eq!(one(text), expected, "{text}");
        }
    }

    #[test]
    fn parameters_of_every_form() {
        let args = args(
            "--ros-args -p a.b:=1 --param urdf_usd:c:=yes -p other:c:=no -p a.b:=2.5 -p l:=[usd,glb]",
        );
        let mine = args.overrides_for("/urdf_usd");
        let value = |name: &str| mine.get(name).map(|o| o.value.clone());
        assert_eq!(value("a.b"), Some(Given::Value(Value::Double(2.5))));
        assert_eq!(value("c"), Some(Given::Value(Value::Bool(true))));
        assert_eq!(
            value("l"),
            Some(Given::Value(Value::StringArray(vec![
                "usd".into(),
                "glb".into()
            ])))
        );
        assert_eq!(args.overrides_for("/ns/urdf_usd").len(), 2);
    }

    #[test]
    fn later_files_and_arguments_win() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = |name: &str, value: i64| {
            let path = dir.path().join(name);
            std::fs::write(&path, format!("/**:\n  ros__parameters:\n    x: {value}\n"))
                .expect("written");
            path.display().to_string()
        };
        let (a, b) = (file("a.yaml", 1), file("b.yaml", 2));
        let x = |line: &str| {
            args(line)
                .overrides_for("/n")
                .get("x")
                .map(|o| o.value.clone())
        };
        let integer = |v| Some(Given::Value(Value::Integer(v)));
        assert_eq!(
            x(&format!("--ros-args --params-file {a} --params-file {b}")),
            integer(2)
        );
        assert_eq!(
            x(&format!("--ros-args --params-file {b} --params-file {a}")),
            integer(1)
        );
        assert_eq!(
            x(&format!("--ros-args --params-file {b} -p x:=3")),
            integer(3)
        );
        assert_eq!(
            x(&format!("--ros-args -p x:=3 --params-file {b}")),
            integer(2)
        );
        // A name takes the place of its first use: /** before /n, whatever is set for it later.
        let c = dir.path().join("c.yaml");
        std::fs::write(
            &c,
            "/**: {ros__parameters: {x: 4}}\n/n: {ros__parameters: {x: 5}}\n",
        )
        .expect("written");
        let c = c.display();
        assert_eq!(
            x(&format!("--ros-args --params-file {c} -p x:=6")),
            integer(5)
        );
        assert_eq!(
            x(&format!("--ros-args --params-file {c} -p n:x:=7 -p x:=6")),
            integer(7)
        );
        assert_eq!(x("--ros-args -p n:x:=7 -p x:=6"), integer(6));
    }

    #[test]
    fn log_arguments() {
        let args = args(
            "--ros-args --log-level WARN --log-level urdf_usd.frames:=debug --log-level zenoh:=info --disable-rosout-logs \
             --enable-stdout-logs --log-file-name x --log-config-file y --disable-external-lib-logs -e /here",
        );
        assert_eq!(
            args.log_filter("n"),
            "warn,zenoh=error,r2r::subscribers=off,urdf_usd::frames=debug,zenoh=info"
        );
        assert_eq!(
            (args.stdout_logs, args.rosout_logs, args.file_logs),
            (Some(true), Some(false), Some(false))
        );
        assert_eq!(args.log_file_name.as_deref(), Some("x"));
        assert_eq!(args.without_effect, ["--log-config-file y"]);
        assert_eq!(args.enclave.as_deref(), Some("/here"));
        let levels = "--ros-args --log-level left.twin:=debug --log-level left.twin.bridge:=error --log-level left.twins:=warn";
        let expected = "info,zenoh=error,r2r::subscribers=off,urdf_usd=debug,urdf_usd::bridge=error,urdf_usd_bridge=error,left::twins=warn";
        assert_eq!(self::args(levels).log_filter("left.twin"), expected);
        // As in rcl, the last of two opposite flags wins.
        assert_eq!(
            self::args("--ros-args --enable-rosout-logs --disable-rosout-logs").rosout_logs,
            Some(false)
        );
    }

    #[test]
    fn faults_name_the_argument() {
        for line in [
            "-r",
            "-r a",
            "-r a:=",
            "-r :=b",
            "-r a:b:c:=d",
            "-r __ns:=/a//b",
            "-r __ns:=a",
            "-r __node:=a/b",
            "-r a-b:=c",
            "-p",
            "-p x",
            "-p x:=",
            "-p :=1",
            "-p a:b:c:=1",
            "-p a*:b:=1",
            "-p x:=[1,a]",
            "--params-file",
            "--params-file /nowhere.yaml",
            "--log-level",
            "--log-level loud",
            "--log-level :=debug",
            "--log-file-name a/b",
            "-e here",
            "--nonsense",
            "x:=y",
        ] {
            let fault = parse(&format!("--ros-args {line}")).expect_err(line);
            let first = line.split(' ').next_back().unwrap_or_default();
            let named = fault.message.contains(first) || fault.to_string().contains(first);
            assert!(
                named
                    && (!fault.help.is_empty()
                        || line.contains("x:=[")
                        || line == "--log-level :=debug"),
                "{line}: {fault}"
            );
        }
    }
}
