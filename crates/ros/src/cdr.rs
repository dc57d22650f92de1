//! Encodes and decodes messages as ROS 2 clients do: CDR with an encapsulation header of four bytes
//! (RTPS 2.5, section 10.2).

use byteorder::{BigEndian, LittleEndian};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Observed;
use super::msg::builtin_interfaces::Time;
use super::msg::std_msgs::Header;

/// Maximum length of a frame name in a guessed header, in bytes.
const MAX_FRAME_BYTES: usize = 1024;
const SECOND: u32 = 1_000_000_000;
/// Length of the encapsulation header, in bytes.
const HEADER: usize = 4;

/// Byte order of numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Endian {
    Big,
    Little,
}

/// Encodes a message, little-endian.
///
/// # Errors
/// Returns the reason if the message can't be encoded.
pub fn encode(message: &impl Serialize) -> Result<Vec<u8>, String> {
    // CDR_LE, and two bytes of options that plain CDR does not use.
    let mut bytes = vec![0, 1, 0, 0];
    cdr_encoding::to_writer::<_, LittleEndian, _>(&mut bytes, message)
        .map_err(|error| error.to_string())?;
    Ok(bytes)
}

/// Decodes a message.
///
/// # Errors
/// Returns the reason if the bytes can't be decoded.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let (endian, body) = split(bytes).ok_or("it is not a message in CDR")?;
    let decoded = match endian {
        Endian::Big => cdr_encoding::from_bytes::<T, BigEndian>(body),
        Endian::Little => cdr_encoding::from_bytes::<T, LittleEndian>(body),
    };
    decoded
        .map(|(message, _)| message)
        .map_err(|error| error.to_string())
}

/// Reads what can be known of a message of any type.
pub fn observe(bytes: &[u8]) -> Observed {
    let header = split(bytes).and_then(|(endian, body)| header(body, endian == Endian::Little));
    Observed { header }
}

/// Splits off the encapsulation header. Accepts only plain CDR, of either byte order: ROS 2 does
/// not use the encodings of mutable types.
fn split(bytes: &[u8]) -> Option<(Endian, &[u8])> {
    let (header, body) = bytes.split_at_checked(HEADER)?;
    let endian = match header {
        [0, 0, ..] => Endian::Big,
        [0, 1, ..] => Endian::Little,
        _ => return None,
    };
    Some((endian, body))
}

/// Returns the `std_msgs/msg/Header` at the beginning of a CDR message, if it looks like one.
///
/// The layout of the type is unknown, so this is a guess: nanoseconds are below a second, and a NUL
/// ends the frame name where its length says. A message of zeroes would pass, so an empty header is
/// rejected.
pub(super) fn header(bytes: &[u8], is_little: bool) -> Option<Header> {
    let word = |at: usize| {
        let bytes: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
        Some(if is_little {
            u32::from_le_bytes(bytes)
        } else {
            u32::from_be_bytes(bytes)
        })
    };
    let stamp = Time {
        sec: word(0)?.cast_signed(),
        nanosec: word(4).filter(|nanosec| *nanosec < SECOND)?,
    };
    // The length counts the NUL, so that of an empty name is 1.
    let length = usize::try_from(word(8)?)
        .ok()
        .filter(|length| (1..=MAX_FRAME_BYTES).contains(length))?;
    let frame = bytes.get(12..12 + length)?.strip_suffix(&[0])?;
    let frame_id = std::str::from_utf8(frame)
        .ok()
        .filter(|frame| !frame.chars().any(char::is_control))?;
    let says_something = stamp != Time::default() || !frame_id.is_empty();
    says_something.then(|| Header {
        stamp,
        frame_id: frame_id.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::msg::sensor_msgs::JointState;
    use crate::msg::std_msgs::String as Text;
    use proptest::prelude::*;
    use serde::Serialize;

    fn big_endian(message: &impl Serialize) -> Vec<u8> {
        let mut bytes = vec![0; HEADER];
        cdr_encoding::to_writer::<_, BigEndian, _>(&mut bytes, message).expect("CDR");
        bytes
    }

    fn seen(message: &impl Serialize) -> Option<Header> {
        let [little, big] = [encode(message).expect("CDR"), big_endian(message)]
            .map(|bytes| observe(&bytes).header);
        assert_eq!(little, big);
        little
    }

    #[test]
    fn messages_round_trip_in_either_byte_order() {
        let message = JointState {
            name: vec!["a".into(), "ö".into()],
            position: vec![0.5, -1.0],
            ..JointState::default()
        };
        assert_eq!(decode(&encode(&message).expect("CDR")), Ok(message.clone()));
        assert_eq!(decode(&big_endian(&message)), Ok(message));
        // As Fast CDR writes it.
        assert_eq!(
            encode(&Text { data: "hi".into() }),
            Ok(b"\0\x01\0\0\x03\0\0\0hi\0".to_vec())
        );
        for bytes in [&b""[..], b"\0\x01\0", b"\0\x01\0\0\x09\0\0\0hi\0"] {
            assert!(
                decode::<Text>(bytes).is_err() && observe(bytes).header.is_none(),
                "{bytes:?}"
            );
        }
    }

    #[test]
    fn only_headers_are_recognized_as_headers() {
        let header = Header {
            stamp: Time {
                sec: -1,
                nanosec: 999_999_999,
            },
            frame_id: "left/camera_ö".into(),
        };
        assert_eq!(
            seen(&JointState {
                header: header.clone(),
                position: vec![1.0; 9],
                ..JointState::default()
            }),
            Some(header)
        );
        let unnamed = Header {
            stamp: Time { sec: 3, nanosec: 0 },
            frame_id: String::new(),
        };
        assert_eq!(seen(&unnamed), Some(unnamed.clone()));
        assert_eq!(
            seen(&Text {
                data: "a text of some length".into()
            }),
            None
        );
        assert_eq!(seen(&[0.5f64, 0.25, 1.0, 0.0, 0.0, 0.0]), None);
        assert_eq!(seen(&[0u64; 16]), None);
        // An empty layout and one number: std_msgs/msg/Int32MultiArray.
        assert_eq!(seen(&(Vec::<u8>::new(), 0u32, vec![0i32])), None);
        assert_eq!(seen(&(1i32, SECOND, "base")), None);
        assert_eq!(seen(&(1i32, 5u32, "ba\0se")), None);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64), is_little: bool) {
            let _ = header(&bytes, is_little);
            let _ = decode::<JointState>(&bytes);
        }
    }
}
