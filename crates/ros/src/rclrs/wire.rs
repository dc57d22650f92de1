//! Conversion between the plain structs of [`crate::msg`] and those that rosidl generated.
//!
//! `urdf_usd_rosidl` generates it for every message, field by field, so that the compiler reports
//! differences between the two definitions.

use ::rclrs::rosidl_runtime_rs::{BoundedSequence, SequenceAlloc};

/// A type that rosidl generated, with the same fields as the plain struct `Ours`.
pub trait Mirror<Ours>: Sized {
    /// Converts a message to send.
    fn from_ours(ours: Ours) -> Self;
    /// Converts a message received.
    fn into_ours(self) -> Ours;
}

macro_rules! same {
    ($($type:ty)+) => {
        $(impl Mirror<$type> for $type {
            fn from_ours(ours: $type) -> Self {
                ours
            }
            fn into_ours(self) -> $type {
                self
            }
        })+
    };
}
same!(bool i8 u8 i16 u16 i32 u32 i64 u64 f32 f64 String);

impl<Ours, Theirs: Mirror<Ours>> Mirror<Vec<Ours>> for Vec<Theirs> {
    fn from_ours(ours: Vec<Ours>) -> Self {
        ours.into_iter().map(Theirs::from_ours).collect()
    }
    fn into_ours(self) -> Vec<Ours> {
        self.into_iter().map(Theirs::into_ours).collect()
    }
}

/// Elements beyond the limit are dropped.
impl<Ours, Theirs: Mirror<Ours> + SequenceAlloc, const N: usize> Mirror<Vec<Ours>>
    for BoundedSequence<Theirs, N>
{
    fn from_ours(ours: Vec<Ours>) -> Self {
        ours.into_iter().take(N).map(Theirs::from_ours).collect()
    }
    fn into_ours(self) -> Vec<Ours> {
        self.into_iter().map(Theirs::into_ours).collect()
    }
}
