//! Sequences of pieces of bytes.

use bytemuck::NoUninit;
use bytes::Bytes;

use super::spill::Piece;

/// Returns the bytes of `values` as they are in memory, which is the layout of little-endian
/// formats on the supported platforms. Spare capacity is freed.
pub fn bytes_of<T: NoUninit + Send>(mut values: Vec<T>) -> Bytes {
    struct Owner<T>(Vec<T>);
    impl<T: NoUninit> AsRef<[u8]> for Owner<T> {
        fn as_ref(&self) -> &[u8] {
            bytemuck::cast_slice(&self.0)
        }
    }
    // These bytes live until the end of the conversion; spare capacity would as well.
    values.shrink_to_fit();
    Bytes::from_owner(Owner(values))
}

/// Minimum number of bytes for which a piece is not copied.
pub(super) const MIN_PIECE_BYTES: usize = 16 << 10;

/// A sequence of bytes in pieces, to which large pieces are appended without a copy.
#[derive(Debug, Default)]
pub struct Pieces {
    pieces: Vec<Piece>,
    /// Bytes that follow the pieces.
    last: Vec<u8>,
    /// Total number of bytes.
    length: usize,
}

impl Pieces {
    /// Appends `piece`, without a copy if it is large.
    pub fn push(&mut self, piece: &Piece) {
        // A small piece that can't be read stays a piece, so that reading the whole reports it.
        let small = if piece.len() < MIN_PIECE_BYTES {
            piece.bytes()
        } else {
            None
        };
        match small {
            Some(bytes) => self.extend(&bytes),
            None => {
                self.length += piece.len();
                self.end_last();
                self.pieces.push(piece.clone());
            }
        }
    }

    /// Appends a copy of `bytes`.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.last.extend(bytes);
        self.length += bytes.len();
    }

    /// Appends zeros up to a total of `length` bytes.
    pub fn fill_up(&mut self, length: usize) {
        let zeros = length.saturating_sub(self.length);
        self.last.resize(self.last.len() + zeros, 0);
        self.length += zeros;
    }

    /// Removes the last `bytes` bytes, but none of the last large piece or before it.
    pub fn shorten(&mut self, bytes: usize) {
        let left = self.last.len().saturating_sub(bytes);
        self.length -= self.last.len() - left;
        self.last.truncate(left);
    }

    /// Returns the bytes after the last large piece, to be modified.
    pub fn last(&mut self) -> &mut [u8] {
        &mut self.last
    }

    /// Returns the number of bytes.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Returns whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns all pieces.
    pub fn pieces(&mut self) -> Vec<Piece> {
        self.end_last();
        self.pieces.clone()
    }

    fn end_last(&mut self) {
        if !self.last.is_empty() {
            self.pieces.push(std::mem::take(&mut self.last).into());
        }
    }
}

impl From<Vec<u8>> for Pieces {
    fn from(bytes: Vec<u8>) -> Self {
        Self {
            length: bytes.len(),
            pieces: Vec::new(),
            last: bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_large_is_a_piece_of_its_own() {
        let large = Bytes::from(vec![7; MIN_PIECE_BYTES]);
        let mut pieces = Pieces::default();
        assert!(pieces.is_empty() && pieces.pieces().is_empty());
        pieces.push(&Piece::from(&b"ab"[..]));
        pieces.extend(b"cd");
        pieces.push(&large.clone().into());
        pieces.extend(b"efgh");
        pieces.shorten(1);
        pieces.last()[0] = b'E';
        pieces.fill_up(MIN_PIECE_BYTES + 9);
        pieces.fill_up(3);
        assert_eq!(pieces.len(), MIN_PIECE_BYTES + 9);
        let all: Vec<Bytes> = pieces.pieces().iter().filter_map(Piece::bytes).collect();
        assert_eq!([&all[0][..], &all[2]], [&b"abcd"[..], b"Efg\0\0"]);
        assert_eq!(all[1].as_ptr(), large.as_ptr());
        // Nothing of a large piece is removed.
        pieces.shorten(9);
        assert_eq!(
            (pieces.len(), pieces.pieces().len()),
            (MIN_PIECE_BYTES + 9, 3)
        );
    }
}
