//! Memory that strips read or write one after the other: the next strip's is asked for while the strip before it is computed. The processor's own
//! prefetchers follow a loop over few arrays, not one that comes back to each of many now and then.

use super::group::Call;
use super::steps::Place;
use crate::memory::prefetch::{LINE, prefetch};

/// Cache lines that may be asked for before a call: with more, calls wait for them, and chains of few calls (`gelu(x * w + b)` of `make bench`) are slower
/// than without.
const AT_ONCE: usize = 40;

/// An operand of which each strip takes the next bytes.
struct Stream {
    /// Which call of the group, and which operand of it.
    call: usize,
    operand: usize,
    /// Bytes from a strip to the next below it, and beside it.
    moves: [isize; 2],
    /// Bytes from a strip to the one that runs after it.
    next: usize,
    /// Bytes that are asked for before each call.
    share: usize,
}

/// What the calls of a group read or write in other memory in each strip, if there are enough calls to ask for it between them.
pub(super) struct Ahead(Vec<Stream>);

impl Ahead {
    /// `operands` are all of the calls: of which call, which one, and where. Strips follow each other along this of their moves.
    pub fn new(calls: &[Call], operands: impl Iterator<Item = (usize, usize, Place)>, along: usize) -> Self {
        let (mut streams, mut known): (Vec<Stream>, Vec<Place>) = (Vec::new(), Vec::new());
        for (call, operand, place) in operands {
            let moves = calls[call].moves[operand];
            let next = moves[along].unsigned_abs();
            if next > 0 && !known.contains(&place) {
                known.push(place);
                let share = next.div_ceil(calls.len()).next_multiple_of(LINE);
                streams.push(Stream { call, operand, moves, next, share });
            }
        }
        let at_once: usize = streams.iter().map(|stream| stream.share / LINE).sum();
        Ahead(if at_once <= AT_ONCE { streams } else { Vec::new() })
    }

    /// Before the call of this number on a strip: asks for its share of what the next strip takes. `bases` are the addresses of all calls' operands, `at`
    /// is the number of the strip down and across.
    #[inline(always)]
    pub fn ask(&self, bases: &[[*mut u8; 4]], call: usize, at: [usize; 2]) {
        for stream in &self.0 {
            let first = call * stream.share;
            if first < stream.next {
                let strip: isize = at.iter().zip(stream.moves).map(|(&at, by)| at as isize * by).sum();
                let from = bases[stream.call][stream.operand].wrapping_offset(strip).wrapping_add(stream.next + first);
                prefetch(from.cast_const(), stream.share.min(stream.next - first));
            }
        }
    }
}
