//! Messages of any type: nothing is decoded but the header that most of them begin with.

use std::convert::Infallible;

use rustdds::RepresentationIdentifier;
use rustdds::no_key::{Decode, DefaultDecoder, DeserializerAdapter};

use crate::ros::{Observed, cdr};

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
        Ok(Observed { header: cdr::header(bytes, encoding == RepresentationIdentifier::CDR_LE) })
    }
}
