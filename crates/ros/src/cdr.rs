//! Messages as bytes: CDR, as ROS 2 clients write it, with the four bytes in front that tell the order of bytes.
//!
//! The serializer is that of RustDDS; where it is also the transport, it adds those four bytes itself.

use rustdds::RepresentationIdentifier;
use rustdds::serialization::{deserialize_from_cdr_with_rep_id, to_writer_with_rep_id};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Observed;
use super::msg::builtin_interfaces::Time;
use super::msg::std_msgs::Header;

/// The longest frame name believed, in bytes.
const LONGEST_FRAME: usize = 1024;
const SECOND: u32 = 1_000_000_000;
/// How many bytes stand in front.
const FRONT: usize = 4;

/// Writes a message, little-endian.
///
/// # Errors
/// Why it can't be written.
pub fn encode(message: &impl Serialize) -> Result<Vec<u8>, String> {
    let encoding = RepresentationIdentifier::CDR_LE;
    let [first, second] = encoding.to_bytes();
    let mut bytes = vec![first, second, 0, 0];
    to_writer_with_rep_id(&mut bytes, message, encoding).map_err(|error| error.to_string())?;
    Ok(bytes)
}

/// Reads a message.
///
/// # Errors
/// Why it can't be read.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let (encoding, body) = split(bytes).ok_or("it is too short")?;
    deserialize_from_cdr_with_rep_id(body, encoding).map(|(message, _)| message).map_err(|error| error.to_string())
}

/// Looks at a message of any type.
pub fn observe(bytes: &[u8]) -> Observed {
    let header = split(bytes).and_then(|(encoding, body)| header(body, encoding == RepresentationIdentifier::CDR_LE));
    Observed { header }
}

fn split(bytes: &[u8]) -> Option<(RepresentationIdentifier, &[u8])> {
    let (front, body) = bytes.split_at_checked(FRONT)?;
    Some((RepresentationIdentifier::from_bytes(front).ok()?, body))
}

/// The `std_msgs/msg/Header` that a message in CDR begins with, if it looks like one.
///
/// The type is only known by name, so this is a guess: nanoseconds below a second, and a text that ends where it says. A message of
/// zeroes would pass, so a header that says nothing does not.
pub(super) fn header(bytes: &[u8], is_little: bool) -> Option<Header> {
    let word = |at: usize| {
        let bytes: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
        Some(if is_little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
    };
    let stamp = Time { sec: word(0)?.cast_signed(), nanosec: word(4).filter(|nanosec| *nanosec < SECOND)? };
    let length = usize::try_from(word(8)?).ok().filter(|length| (1..=LONGEST_FRAME).contains(length))?;
    let frame = bytes.get(12..12 + length)?.strip_suffix(&[0])?;
    let frame_id = std::str::from_utf8(frame).ok().filter(|frame| !frame.chars().any(char::is_control))?;
    let says_something = stamp != Time::default() || !frame_id.is_empty();
    says_something.then(|| Header { stamp, frame_id: frame_id.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::msg::sensor_msgs::JointState;
    use crate::msg::std_msgs::String as Text;
    use proptest::prelude::*;
    use serde::Serialize;

    fn cdr(message: &impl Serialize, encoding: RepresentationIdentifier) -> Vec<u8> {
        let mut bytes = encoding.to_bytes().to_vec();
        bytes.extend([0, 0]);
        to_writer_with_rep_id(&mut bytes, message, encoding).expect("CDR");
        bytes
    }

    fn seen(message: &impl Serialize) -> Option<Header> {
        let [little, big] = [RepresentationIdentifier::CDR_LE, RepresentationIdentifier::CDR_BE]
            .map(|encoding| observe(&cdr(message, encoding)).header);
        assert_eq!(little, big);
        little
    }

    #[test]
    fn messages_come_back_in_either_order_of_bytes() {
        let message = JointState { name: vec!["a".into(), "ö".into()], position: vec![0.5, -1.0], ..JointState::default() };
        assert_eq!(decode(&encode(&message).expect("CDR")), Ok(message.clone()));
        assert_eq!(decode(&cdr(&message, RepresentationIdentifier::CDR_BE)), Ok(message));
        // As Fast CDR writes it.
        assert_eq!(encode(&Text { data: "hi".into() }), Ok(b"\0\x01\0\0\x03\0\0\0hi\0".to_vec()));
        for bytes in [&b""[..], b"\0\x01\0", b"\0\x01\0\0\x09\0\0\0hi\0"] {
            assert!(decode::<Text>(bytes).is_err() && observe(bytes).header.is_none(), "{bytes:?}");
        }
    }

    #[test]
    fn headers_are_seen_and_other_beginnings_are_not_taken_for_one() {
        let header = Header { stamp: Time { sec: -1, nanosec: 999_999_999 }, frame_id: "left/camera_ö".into() };
        assert_eq!(seen(&JointState { header: header.clone(), position: vec![1.0; 9], ..JointState::default() }), Some(header));
        let unnamed = Header { stamp: Time { sec: 3, nanosec: 0 }, frame_id: String::new() };
        assert_eq!(seen(&unnamed), Some(unnamed.clone()));
        assert_eq!(seen(&Text { data: "a text of some length".into() }), None);
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
