//! Bytes that are put together of others.

use bytemuck::NoUninit;
use bytes::Bytes;

use super::spill::Piece;

/// The bytes of `values` as they are in memory, and so in the files of little-endian formats on the
/// machines that this is for. Room that is not used is given back.
pub fn bytes_of<T: NoUninit + Send>(mut values: Vec<T>) -> Bytes {
    struct Owner<T>(Vec<T>);
    impl<T: NoUninit> AsRef<[u8]> for Owner<T> {
        fn as_ref(&self) -> &[u8] {
            bytemuck::cast_slice(&self.0)
        }
    }
    // They stay for long, and what is not used of them would.
    values.shrink_to_fit();
    Bytes::from_owner(Owner(values))
}

/// So many bytes at least are a piece of their own.
pub(super) const LARGE: usize = 16 << 10;

/// Bytes in pieces that follow each other, so that what is large need not be copied to be put
/// behind something else.
#[derive(Debug, Default)]
pub struct Pieces {
    pieces: Vec<Piece>,
    /// What follows these.
    last: Vec<u8>,
    /// How many bytes there are in all.
    length: usize,
}

impl Pieces {
    /// Puts `piece` behind them, without a copy if it is large.
    pub fn push(&mut self, piece: &Piece) {
        let small = if piece.len() < LARGE {
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

    /// Puts a copy of `bytes` behind them.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.last.extend(bytes);
        self.length += bytes.len();
    }

    /// Puts zeros behind them up to `length`.
    pub fn fill_up(&mut self, length: usize) {
        let zeros = length.saturating_sub(self.length);
        self.last.resize(self.last.len() + zeros, 0);
        self.length += zeros;
    }

    /// Takes so many bytes away that were put behind the last large piece; fewer if there are not
    /// so many.
    pub fn shorten(&mut self, bytes: usize) {
        let left = self.last.len().saturating_sub(bytes);
        self.length -= self.last.len() - left;
        self.last.truncate(left);
    }

    /// What was put behind the last large piece, to be written to again.
    pub fn last(&mut self) -> &mut [u8] {
        &mut self.last
    }

    /// How many bytes there are.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// All of them.
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
        let large = Bytes::from(vec![7; LARGE]);
        let mut pieces = Pieces::default();
        assert!(pieces.is_empty() && pieces.pieces().is_empty());
        pieces.push(&Piece::from(&b"ab"[..]));
        pieces.extend(b"cd");
        pieces.push(&large.clone().into());
        pieces.extend(b"efgh");
        pieces.shorten(1);
        pieces.last()[0] = b'E';
        pieces.fill_up(LARGE + 9);
        pieces.fill_up(3);
        assert_eq!(pieces.len(), LARGE + 9);
        let all: Vec<Bytes> = pieces.pieces().iter().filter_map(Piece::bytes).collect();
        assert_eq!([&all[0][..], &all[2]], [&b"abcd"[..], b"Efg\0\0"]);
        assert_eq!(all[1].as_ptr(), large.as_ptr());
        // From the large piece nothing can be taken away.
        pieces.shorten(9);
        assert_eq!((pieces.len(), pieces.pieces().len()), (LARGE + 9, 3));
    }
}
