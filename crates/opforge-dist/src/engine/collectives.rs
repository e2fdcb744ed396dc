//! The calls of engines as methods: `all_reduce`, `all_gather` and so on.

use opforge_core::{DType, Result, Shape};

use super::{Call, Collective, Engine, Place, Reduction, Request};
use crate::Buffer;

/// The calls of an [`Engine`] by name. Counts are numbers of elements; each begins a [`Request`], which owns the buffers and gives the result back.
///
/// Errors are those of [`Engine::start`], and out of memory for results.
///
/// ```
/// use opforge_core::DType;
/// use opforge_dist::{Buffer, Collectives, Engine, LIMIT, Threads};
///
/// let ranks = Threads::run(2, |engine| {
///     let mine = Buffer::of(&vec![engine.rank() as i64; engine.rank() + 1])?;
///     engine.all_gather(mine, DType::I64, &[1, 2])?.wait(LIMIT)?.to_vec::<i64>()
/// });
/// for all in ranks {
///     assert_eq!(all?, [0, 1, 1]);
/// }
/// # Ok::<(), opforge_core::Error>(())
/// ```
pub trait Collectives: Engine {
    /// The reduction of all ranks' buffers, to all.
    #[track_caller]
    fn all_reduce(&self, buffer: Buffer, dtype: DType, op: Reduction) -> Result<Request> {
        begin(self, Collective::AllReduce(op), dtype, Buffer::empty(), buffer)
    }

    /// All ranks' elements, one rank's after the other's, to all.
    #[track_caller]
    fn all_gather(&self, send: Buffer, dtype: DType, counts: &[usize]) -> Result<Request> {
        let recv = room(counts, dtype)?;
        begin(self, Collective::AllGather { counts: counts.to_vec() }, dtype, send, recv)
    }

    /// Each rank's part of the reduction of all ranks' buffers.
    #[track_caller]
    fn reduce_scatter(&self, send: Buffer, dtype: DType, op: Reduction, counts: &[usize]) -> Result<Request> {
        let recv = room(counts.get(self.rank()..=self.rank()).unwrap_or_default(), dtype)?;
        begin(self, Collective::ReduceScatter { op, counts: counts.to_vec() }, dtype, send, recv)
    }

    /// A part to each rank, and one from each.
    #[track_caller]
    fn all_to_all(&self, buffer: Buffer, dtype: DType, send: &[usize], recv: &[usize]) -> Result<Request> {
        let collective = Collective::AllToAll { send: send.to_vec(), recv: recv.to_vec() };
        begin(self, collective, dtype, buffer, room(recv, dtype)?)
    }

    /// The root's elements, to all; buffers of all ranks have one length.
    #[track_caller]
    fn broadcast(&self, buffer: Buffer, dtype: DType, root: usize) -> Result<Request> {
        begin(self, Collective::Broadcast { root }, dtype, Buffer::empty(), buffer)
    }

    /// Elements to one rank.
    #[track_caller]
    fn send(&self, buffer: Buffer, dtype: DType, to: usize, tag: u16) -> Result<Request> {
        begin(self, Collective::Send { to, tag }, dtype, buffer, Buffer::empty())
    }

    /// `count` elements from one rank.
    #[track_caller]
    fn receive(&self, count: usize, dtype: DType, from: usize, tag: u16) -> Result<Request> {
        begin(self, Collective::Receive { from, tag }, dtype, Buffer::empty(), room(&[count], dtype)?)
    }

    /// Done when all ranks have come.
    #[track_caller]
    fn barrier(&self) -> Result<Request> {
        begin(self, Collective::Barrier, DType::U8, Buffer::empty(), Buffer::empty())
    }
}

impl<E: Engine + ?Sized> Collectives for E {}

#[track_caller]
fn begin<E: Engine + ?Sized>(
    engine: &E,
    collective: Collective,
    dtype: DType,
    send: Buffer,
    recv: Buffer,
) -> Result<Request> {
    // The side whose number of elements is the same on all ranks.
    let common = match &collective {
        Collective::AllReduce(_) | Collective::Broadcast { .. } | Collective::AllGather { .. } => recv.len(),
        Collective::ReduceScatter { .. } | Collective::Send { .. } => send.len(),
        Collective::Receive { .. } => recv.len(),
        Collective::AllToAll { .. } | Collective::Barrier => 0,
    };
    let shape = Shape::from_dims(&[common / dtype.size_in_bytes()]);
    engine.start(Call { collective, dtype, shape, send, recv, place: Place::here() })
}

/// A buffer for so many elements. Counts that overflow are refused by the memory that they ask for.
fn room(counts: &[usize], dtype: DType) -> Result<Buffer> {
    let count = counts.iter().fold(0usize, |sum, &count| sum.saturating_add(count));
    Buffer::zeros(count.saturating_mul(dtype.size_in_bytes()))
}
