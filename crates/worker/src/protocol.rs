//! The protocol between a pool and its workers: messages of a kind, a length and JSON.

use std::borrow::Cow;
use std::io::{self, Read, Write};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use urdf_usd_convert::{Job, Step};

/// Maximum length of a message, in bytes; reports and descriptions are far shorter.
const MAX_LENGTH: u32 = 1 << 30;

/// The kinds of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// To a worker: a [`Request`].
    Request = 1,
    /// From a worker: a [`Progress`].
    Progress,
    /// From a worker: the source as expanded by xacro.
    Expanded,
    /// From a worker: a [`Diagnostic`](urdf_usd_diagnostic::Diagnostic) that is no part of a report.
    Warning,
    /// From a worker: the outcome, of a type that follows from the task.
    Done,
}

impl Kind {
    fn of(byte: u8) -> Option<Self> {
        let all = [
            Self::Request,
            Self::Progress,
            Self::Expanded,
            Self::Warning,
            Self::Done,
        ];
        all.into_iter().find(|kind| *kind as u8 == byte)
    }
}

/// A task for a worker.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Task<'a> {
    /// Convert a robot: `Result<Outcome, Failure>`.
    Convert(Box<Cow<'a, Job>>),
    /// Read the frames of the asset with this entry: `Result<AssetFrames, String>`.
    Frames(PathBuf),
    /// Read its interfaces: `Result<Vec<InterfaceSummary>, String>`.
    Interfaces(PathBuf),
    /// Read its mesh tiers: `Result<Vec<TierSet>, String>`.
    Tiers(PathBuf),
    /// Check that it opens and that its poses can be read: `Result<(), String>`.
    Poses(PathBuf),
}

/// A task and its memory limit; the parent keeps the time.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Request<'a> {
    pub(super) task: Task<'a>,
    /// In MiB.
    pub(super) memory_limit: Option<u64>,
}

/// Progress of a conversion: [`convert::Progress`](urdf_usd_convert::Progress).
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Progress<'a> {
    pub(super) step: Step,
    pub(super) name: Cow<'a, str>,
    pub(super) done: usize,
    pub(super) all: usize,
}

/// Encodes a message.
pub(super) fn message(kind: Kind, content: &impl Serialize) -> io::Result<Vec<u8>> {
    const HEAD: usize = 5;
    // The length is filled in once the content is encoded, which saves a second buffer.
    let mut message = vec![kind as u8, 0, 0, 0, 0];
    serde_json::to_writer(&mut message, content)?;
    let too_long = || io::Error::new(io::ErrorKind::FileTooLarge, "it is longer than 1 GiB");
    let length = u32::try_from(message.len() - HEAD)
        .ok()
        .filter(|length| *length <= MAX_LENGTH)
        .ok_or_else(too_long)?;
    if let Some(place) = message.get_mut(1..HEAD) {
        place.copy_from_slice(&length.to_le_bytes());
    }
    Ok(message)
}

/// Sends a message.
pub(super) fn send(to: &mut impl Write, kind: Kind, content: &impl Serialize) -> io::Result<()> {
    to.write_all(&message(kind, content)?)?;
    to.flush()
}

/// Receives the next message; `None` at the end.
pub(super) fn receive(from: &mut impl Read) -> io::Result<Option<(Kind, Vec<u8>)>> {
    let mut kind = [0];
    // Unlike `read`, retries after a signal.
    match from.read_exact(&mut kind) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let (kind, length) = (Kind::of(kind[0]), u32::from_le_bytes(length));
    let Some(kind) = kind.filter(|_| length <= MAX_LENGTH) else {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "not a message"));
    };
    let mut content = Vec::new();
    // Memory grows with the bytes received, not with the length announced.
    if from.take(length.into()).read_to_end(&mut content)? < length as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some((kind, content)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use urdf_usd_convert::option::Value;
    use urdf_usd_convert::options::TABLE;
    use urdf_usd_convert::{Options, Source};
    use urdf_usd_robot::{Captured, Interface, InterfaceKind, Qos};

    #[test]
    fn jobs_arrive_as_they_were_sent() {
        let mut options = Options::default();
        for (name, value) in [
            ("formats", Value::List(vec!["usd".into(), "urdf".into()])),
            (
                "overlays",
                Value::List(vec!["isaac".into(), "openpbr".into()]),
            ),
            ("robot_type", Value::Text("Wheeled".into())),
            (
                "simready_metadata",
                Value::List(vec!["author=me".into(), "qcode=Q5".into()]),
            ),
            (
                "variants",
                Value::List(vec!["/a/b{look=red}".into(), "c=d".into()]),
            ),
            ("packages", Value::List(vec!["p=/p".into()])),
            ("allowed_roots", Value::List(vec!["/r".into()])),
            ("bodies", Value::Text("flat".into())),
            ("base", Value::Text("fixed".into())),
            ("mesh_up_axis", Value::Text("honor".into())),
            ("tiers", Value::Text("high".into())),
            ("mesh_format", Value::Text("stl".into())),
            ("density", Value::Number(0.1)),
            ("gltf.compression", Value::Text("meshopt".into())),
        ] {
            let option = TABLE
                .iter()
                .find(|option| option.about.name == name)
                .unwrap();
            option
                .set(&mut options, &value)
                .unwrap_or_else(|why| panic!("{name}: {why}"));
        }
        options.resolve.ament_prefixes = vec!["/opt/ros".into()];
        (options.time_limit, options.memory_limit) = (Some(Duration::from_millis(1500)), Some(7));
        let qos = Qos::seen(true, false, Some(3));
        let interface = Interface::new(
            "scan",
            "sensor_msgs/msg/LaserScan",
            InterfaceKind::Publisher { rate: 9.7, qos },
        );
        let captured = vec![Captured {
            interface,
            is_measured: true,
            frame: Some("laser".to_owned()),
        }];
        let argument = urdf_usd_urdf::xacro::Argument::parse("prefix:=left_").unwrap();
        for source in [
            Source::Text {
                text: "<robot name='ä'/>".into(),
                file: Some("/a/b.urdf".into()),
            },
            Source::Bytes {
                bytes: Arc::new([0, 255, 7]),
                file: "/a".into(),
            },
            Source::File("/a.usda".into()),
            Source::Xacro {
                file: "/a.xacro".into(),
                arguments: vec![argument],
            },
        ] {
            let xrdf = Some("format: xrdf\n".into());
            let job = Job {
                options: options.clone(),
                xrdf,
                captured: captured.clone(),
                ..Job::new(source, "/out")
            };
            let mut sent = Vec::new();
            send(
                &mut sent,
                Kind::Request,
                &Request {
                    task: Task::Convert(Cow::Borrowed(&job).into()),
                    memory_limit: Some(9),
                },
            )
            .unwrap();
            let (kind, content) = receive(&mut &sent[..]).unwrap().unwrap();
            let request: Request<'_> = serde_json::from_slice(&content).unwrap();
            let Task::Convert(arrived) = request.task else {
                panic!("{request:?}")
            };
            assert_eq!(
                (kind, &**arrived, request.memory_limit),
                (Kind::Request, &job, Some(9))
            );
            // A truncated message is an error.
            assert!(receive(&mut &sent[..sent.len() - 1]).is_err());
        }
        assert!(
            receive(&mut &[][..]).unwrap().is_none() && receive(&mut &b"hello, world"[..]).is_err()
        );
    }
}
