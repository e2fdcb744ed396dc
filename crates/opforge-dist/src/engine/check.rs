//! What every engine demands of a call.

use opforge_core::{Error, Result};

use super::{Call, Collective, Engine, Reduction};
use crate::Buffer;

/// Checks a call against the group: counts, lengths, ranks, dtypes, alignment, memory. What passes can be executed without looking again.
pub(crate) fn check(engine: &dyn Engine, call: &Call) -> Result<()> {
    let checked = Checked { engine, call };
    match &call.collective {
        Collective::AllReduce(op) => checked.reduces(*op).and(checked.whole("recv", &call.recv)),
        Collective::AllGather { counts } => {
            checked.holds("send", &call.send, checked.mine(counts)?).and(checked.holds_all("recv", &call.recv, counts))
        }
        Collective::ReduceScatter { op, counts } => {
            checked.reduces(*op)?;
            checked.holds("recv", &call.recv, checked.mine(counts)?).and(checked.holds_all("send", &call.send, counts))
        }
        Collective::AllToAll { send, recv } => {
            checked.holds_all("send", &call.send, send).and(checked.holds_all("recv", &call.recv, recv))?;
            let (sent, received) = (checked.mine(send)?, checked.mine(recv)?);
            let kept = format!("{sent} to itself, {received} from itself");
            checked.demand(sent == received, Error::shape(checked.op(), "counts", kept, "equal counts"))
        }
        Collective::Broadcast { root } => checked.member("root", *root).and(checked.whole("recv", &call.recv)),
        Collective::Send { to, tag } => {
            checked.member("to", *to).and(checked.tag(*tag)).and(checked.whole("send", &call.send))
        }
        Collective::Receive { from, tag } => {
            checked.member("from", *from).and(checked.tag(*tag)).and(checked.whole("recv", &call.recv))
        }
        Collective::Barrier => Ok(()),
    }
}

/// The largest tag of a message.
pub(crate) const MAX_TAG: u16 = 32767;

struct Checked<'a> {
    engine: &'a dyn Engine,
    call: &'a Call,
}

impl Checked<'_> {
    fn op(&self) -> &'static str {
        self.call.collective.name()
    }

    fn demand(&self, right: bool, error: Error) -> Result<()> {
        if right { Ok(()) } else { Err(error) }
    }

    fn reduces(&self, op: Reduction) -> Result<()> {
        let accepted = "sum and product of numbers, max and min of all but complex numbers, any and all of bool and u8";
        let given = format!("{op} of {}", self.call.dtype);
        self.demand(op.takes(self.call.dtype), Error::dtype(self.op(), "dtype", given, accepted))
    }

    fn member(&self, argument: &'static str, rank: usize) -> Result<()> {
        let size = self.engine.size();
        self.demand(rank < size, Error::value(self.op(), argument, rank, format!("ranks 0 to {}", size - 1)))
    }

    /// MPI promises no larger tags than 32767.
    fn tag(&self, tag: u16) -> Result<()> {
        self.demand(tag <= MAX_TAG, Error::value(self.op(), "tag", tag, format!("0 to {MAX_TAG}")))
    }

    /// This rank's count.
    fn mine(&self, counts: &[usize]) -> Result<usize> {
        let size = self.engine.size();
        let given = format!("{} counts", counts.len());
        self.demand(
            counts.len() == size,
            Error::shape(self.op(), "counts", given, format!("{size}, one for each rank")),
        )?;
        Ok(counts[self.engine.rank()])
    }

    fn holds_all(&self, argument: &'static str, buffer: &Buffer, counts: &[usize]) -> Result<()> {
        self.mine(counts)?;
        let sum = counts.iter().try_fold(0usize, |sum, &count| sum.checked_add(count));
        self.holds(argument, buffer, sum.unwrap_or(usize::MAX))
    }

    fn holds(&self, argument: &'static str, buffer: &Buffer, count: usize) -> Result<()> {
        let bytes = count.checked_mul(self.call.dtype.size_in_bytes());
        let accepted = || format!("{count} elements of {}", self.call.dtype);
        if bytes != Some(buffer.len()) {
            return Err(Error::shape(self.op(), argument, format!("{} bytes", buffer.len()), accepted()));
        }
        self.usable(argument, buffer)
    }

    /// Any whole number of elements.
    fn whole(&self, argument: &'static str, buffer: &Buffer) -> Result<()> {
        self.holds(argument, buffer, buffer.len() / self.call.dtype.size_in_bytes())
    }

    fn usable(&self, argument: &'static str, buffer: &Buffer) -> Result<()> {
        let (here, there) = (self.engine.location(), buffer.location());
        self.demand(
            here == there,
            Error::device(self.op(), argument, there, format!("{here}, for {}", self.engine.name())),
        )?;
        // Parts of complex numbers are aligned by themselves.
        let alignment = self.call.dtype.size_in_bytes().min(8);
        let aligned = buffer.is_empty() || buffer.address().addr().get().is_multiple_of(alignment);
        let given = format!("address {:?}", buffer.address());
        self.demand(aligned, Error::value(self.op(), argument, given, format!("aligned to {alignment} bytes")))
    }
}

/// This rank's place in a subgroup, whose ranks must be distinct ranks of the group.
pub(crate) fn position(engine: &dyn Engine, ranks: &[usize]) -> Result<usize> {
    let mut seen = vec![false; engine.size()];
    let distinct = ranks.iter().all(|&rank| rank < seen.len() && !std::mem::replace(&mut seen[rank], true));
    let accepted = || format!("distinct ranks below {}, with {}", engine.size(), engine.rank());
    let position = ranks.iter().position(|&rank| rank == engine.rank()).filter(|_| distinct);
    position.ok_or_else(|| Error::value("subgroup", "ranks", format!("{ranks:?}"), accepted()))
}
