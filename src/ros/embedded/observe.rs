//! Messages of any type: nothing is decoded but the header that most of them begin with.

use std::convert::Infallible;

use rustdds::RepresentationIdentifier;
use rustdds::no_key::{Decode, DefaultDecoder, DeserializerAdapter};

use crate::ros::Observed;
use crate::ros::msg::builtin_interfaces::Time;
use crate::ros::msg::std_msgs::Header;

/// The longest frame name believed, in bytes.
const LONGEST_FRAME: usize = 1024;
const SECOND: u32 = 1_000_000_000;

/// Looks at the first bytes of a message in place, whatever its size.
pub(super) struct Look;

impl DeserializerAdapter<Observed> for Look {
    type Error = Infallible;
    type Decoded = Observed;

    fn supported_encodings() -> &'static [RepresentationIdentifier] {
        const ALL: &[RepresentationIdentifier] = &[RepresentationIdentifier::CDR_LE, RepresentationIdentifier::CDR_BE];
        ALL
    }

    fn transform_decoded(decoded: Observed) -> Observed {
        decoded
    }
}

impl DefaultDecoder<Observed> for Look {
    type Decoder = Eye;
    const DECODER: Eye = Eye;
}

#[derive(Clone)]
pub(super) struct Eye;

impl Decode<'_, Observed> for Eye {
    type Error = Infallible;

    fn decode_bytes(self, bytes: &[u8], encoding: RepresentationIdentifier) -> Result<Observed, Infallible> {
        Ok(Observed { header: header(bytes, encoding == RepresentationIdentifier::CDR_LE) })
    }
}

/// The `std_msgs/msg/Header` that a message in CDR begins with, if it looks like one.
///
/// The type is only known by name, so this is a guess: nanoseconds below a second, and a text that ends where it says. A message of
/// zeroes would pass, so a header that says nothing does not.
fn header(bytes: &[u8], is_little: bool) -> Option<Header> {
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
    use crate::ros::msg::sensor_msgs::JointState;
    use crate::ros::msg::std_msgs::String as Text;
    use proptest::prelude::*;
    use serde::Serialize;

    fn cdr(message: &impl Serialize, encoding: RepresentationIdentifier) -> Vec<u8> {
        let mut bytes = Vec::new();
        rustdds::serialization::to_writer_with_rep_id(&mut bytes, message, encoding).expect("CDR");
        bytes
    }

    fn seen(message: &impl Serialize) -> Option<Header> {
        let [little, big] = [RepresentationIdentifier::CDR_LE, RepresentationIdentifier::CDR_BE]
            .map(|encoding| Eye.decode_bytes(&cdr(message, encoding), encoding).expect("never fails").header);
        assert_eq!(little, big);
        little
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
        }
    }
}
