//! Carrying out a plan on parts.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use opforge_core::{DType, Error, Result, Shape};

use super::identity::filled;
use super::{Change, Plan, Step, moves};
use crate::distribution::copy;
use crate::engine::{Call, Collective, Engine, LIMIT, Place};
use crate::{Buffer, Reduction, Region};

/// The groups of ranks that plans have needed, made once each. All members of a group ask for it in the same order of calls.
#[derive(Debug)]
pub struct Groups {
    world: Arc<dyn Engine>,
    limit: Duration,
    made: Mutex<HashMap<Vec<usize>, Arc<dyn Engine>>>,
}

impl Groups {
    /// Groups of a world's ranks; the engine should be a [`crate::Guard`]. Calls wait for [`LIMIT`].
    pub fn new(world: Arc<dyn Engine>) -> Self {
        Groups { world, limit: LIMIT, made: Mutex::default() }
    }

    /// The same, with calls that wait so long.
    pub fn with_limit(self, limit: Duration) -> Self {
        Groups { limit, ..self }
    }

    /// The engine of the world.
    pub fn world(&self) -> &Arc<dyn Engine> {
        &self.world
    }

    /// The group of these ranks of the world, with this one among them.
    ///
    /// # Errors
    /// Those of [`Engine::subgroup`].
    pub fn of(&self, ranks: &[usize]) -> Result<Arc<dyn Engine>> {
        if ranks.iter().copied().eq(0..self.world.size()) {
            return Ok(self.world.clone());
        }
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(group) = made.get(ranks) {
            return Ok(group.clone());
        }
        let group = self.world.subgroup(ranks)?;
        made.insert(ranks.to_vec(), group.clone());
        Ok(group)
    }

    /// Makes a call of a group and waits for it.
    pub(crate) fn call(&self, group: &Arc<dyn Engine>, call: Call) -> Result<Buffer> {
        group.start(call)?.wait(self.limit)
    }
}

impl Plan {
    /// Brings this rank's part from one distribution to the other. All ranks of both placements call it, with plans of equal arguments; `part` holds the
    /// contiguous elements of [`crate::Distribution::region`], and is `None` on ranks that are not in the first placement. The result is `None` on ranks that
    /// are not in the last one.
    ///
    /// # Errors
    /// A part of another size, or where there should be none; those of the engine.
    ///
    /// ```
    /// use opforge_core::{DType, Shape};
    /// use opforge_dist::{Buffer, Costs, Distribution, Engine, Groups, Place, Plan, Sbp, Threads};
    ///
    /// let ranks = Threads::run(2, |engine| {
    ///     let row = |sbp| Distribution::new("cpu[0, 1]".parse()?, &[sbp]);
    ///     let (split, whole) = (row(Sbp::Split(0))?, row(Sbp::Broadcast)?);
    ///     let plan = Plan::new(DType::I64, Shape::from(3), split, whole, &Costs::default())?;
    ///     let part: &[i64] = [&[1, 2][..], &[3]][engine.rank()];
    ///     plan.execute(&Groups::new(engine), Some(Buffer::of(part)?), &Place::here())
    /// });
    /// for whole in ranks {
    ///     assert_eq!(whole?.unwrap().to_vec::<i64>()?, [1, 2, 3]);
    /// }
    /// # Ok::<(), opforge_core::Error>(())
    /// ```
    pub fn execute(&self, groups: &Groups, part: Option<Buffer>, place: &Place) -> Result<Option<Buffer>> {
        Ok(self.run(groups, part.map(Part::Own), &mut None, place)?.map(Part::into_buffer))
    }

    /// The same into memory of the new part's size, from memory that is only read.
    pub(crate) fn execute_into(
        &self,
        groups: &Groups,
        part: Option<Buffer>,
        target: Option<Buffer>,
        place: &Place,
    ) -> Result<()> {
        let mut room = target;
        let made = self.run(groups, part.map(Part::Lent), &mut room, place)?;
        if let (Some(made), Some(mut target)) = (made, room) {
            target.bytes_mut()?.copy_from_slice(made.bytes()?);
        }
        Ok(())
    }

    /// `room` is taken where the last step makes something new.
    fn run(
        &self,
        groups: &Groups,
        part: Option<Part>,
        room: &mut Option<Buffer>,
        place: &Place,
    ) -> Result<Option<Part>> {
        let rank = groups.world.rank();
        let position = self.from().placement().position(rank);
        let bytes =
            position.map(|position| self.from().part(self.shape(), position).len() * self.dtype().size_in_bytes());
        let given = part.as_ref().map(|part| part.len());
        if given != bytes {
            let show = |bytes: Option<usize>| bytes.map_or("nothing".to_owned(), |bytes| format!("{bytes} bytes"));
            return Err(Error::shape("boxing", "part", show(given), show(bytes)));
        }
        let run = Run { groups, dtype: self.dtype(), shape: self.shape(), place, rank };
        let Some((last, first)) = self.steps().split_last() else { return Ok(part) };
        let part = first.iter().try_fold(part, |part, step| run.step(step, part, &mut None))?;
        run.step(last, part, room)
    }
}

/// A part on its way: in memory of its own, or in somebody's, which is only read.
enum Part {
    Own(Buffer),
    Lent(Buffer),
}

impl Part {
    fn into_buffer(self) -> Buffer {
        let (Part::Own(buffer) | Part::Lent(buffer)) = self;
        buffer
    }

    /// The elements in memory that may be written.
    fn into_own(self, room: &mut Option<Buffer>) -> Result<Buffer> {
        match self {
            Part::Own(buffer) => Ok(buffer),
            Part::Lent(buffer) => {
                let mut own = room_of(room, buffer.len())?;
                own.bytes_mut()?.copy_from_slice(buffer.bytes()?);
                Ok(own)
            }
        }
    }
}

impl Deref for Part {
    type Target = Buffer;

    fn deref(&self) -> &Buffer {
        let (Part::Own(buffer) | Part::Lent(buffer)) = self;
        buffer
    }
}

/// The room that is given, else a new one.
fn room_of(room: &mut Option<Buffer>, bytes: usize) -> Result<Buffer> {
    room.take_if(|room| room.len() == bytes).map_or_else(|| Buffer::zeros(bytes), Ok)
}

/// A plan under way at one rank.
struct Run<'a> {
    groups: &'a Groups,
    dtype: DType,
    shape: &'a Shape,
    place: &'a Place,
    rank: usize,
}

impl Run<'_> {
    fn step(&self, step: &Step, part: Option<Part>, room: &mut Option<Buffer>) -> Result<Option<Part>> {
        if step.change == Change::Move {
            return self.exchange(step, part, room);
        }
        let (Some(position), Some(part), Some(dim)) =
            (step.from.placement().position(self.rank), part, step.change.dim())
        else {
            return Ok(None);
        };
        let here = Here { run: self, step, position, dim };
        let new = |room: &mut Option<Buffer>| room_of(room, here.after(position).len() * self.size());
        let made = match step.change {
            Change::AllReduce { op, .. } => here.all_reduce(op, part.into_own(room)?)?,
            Change::ReduceScatter { op, .. } => here.reduce_scatter(op, part, new(room)?)?,
            Change::AllGather { .. } => here.all_gather(part, new(room)?)?,
            Change::Slice { .. } => here.cut(&part, new(room)?)?,
            Change::Pad { op, .. } => here.cut(&part, filled(self.dtype, op, new(room)?)?)?,
            Change::Mask { op, .. } if here.is_masked(op) => filled(self.dtype, op, new(room)?)?,
            Change::Mask { .. } => return Ok(Some(part)),
            Change::AllToAll { .. } | Change::Move => return self.exchange(step, Some(part), room),
        };
        Ok(Some(Part::Own(made)))
    }

    fn size(&self) -> usize {
        self.dtype.size_in_bytes()
    }

    fn call(&self, ranks: &[usize], collective: Collective, [send, recv]: [Buffer; 2]) -> Result<Buffer> {
        let (shape, place) = (self.shape.clone(), self.place.clone());
        let call = Call { collective, dtype: self.dtype, shape, send, recv, place };
        self.groups.call(&self.groups.of(ranks)?, call)
    }

    /// Every rank gets what it lacks from ranks that have it.
    fn exchange(&self, step: &Step, part: Option<Part>, room: &mut Option<Buffer>) -> Result<Option<Part>> {
        let (from, to) = (&step.from, &step.to);
        let ranks = match step.change.dim().zip(from.placement().position(self.rank)) {
            Some((dim, position)) => {
                from.placement().along(position, dim).map(|member| from.placement().ranks()[member]).collect()
            }
            None => moves::union(from, to),
        };
        if !ranks.contains(&self.rank) {
            return Ok(None);
        }
        let regions = |sender: usize, receiver: usize| match step.change {
            Change::Move => moves::provided(self.shape, from, to, sender, receiver),
            _ => moves::common(self.shape, from, to, sender, receiver),
        };
        let sent: Vec<_> = ranks.iter().map(|&other| regions(self.rank, other)).collect();
        let received: Vec<_> = ranks.iter().map(|&other| regions(other, self.rank)).collect();
        let counts = |regions: &[Option<Region>]| -> Vec<usize> {
            regions.iter().map(|region| region.as_ref().map_or(0, Region::len)).collect()
        };
        let (send_counts, recv_counts) = (counts(&sent), counts(&received));
        let send = match (part, from.placement().position(self.rank)) {
            (Some(part), Some(position)) => self.pack(&from.part(self.shape, position), &part, &sent)?,
            _ => Buffer::empty(),
        };
        let recv = Buffer::zeros(recv_counts.iter().sum::<usize>() * self.size())?;
        let collective = Collective::AllToAll { send: send_counts, recv: recv_counts };
        let arrived = self.call(&ranks, collective, [send, recv])?;
        let Some(position) = to.placement().position(self.rank) else { return Ok(None) };
        let new = to.part(self.shape, position);
        let target = room_of(room, new.len() * self.size())?;
        Ok(Some(Part::Own(self.unpack(&new, &arrived, &received, target)?)))
    }

    /// Parts of a region, one after the other.
    fn pack(&self, region: &Region, bytes: &Buffer, parts: &[Option<Region>]) -> Result<Buffer> {
        let size = self.size();
        let mut packed = Buffer::zeros(parts.iter().flatten().map(Region::len).sum::<usize>() * size)?;
        let mut rest = packed.bytes_mut()?;
        for part in parts.iter().flatten() {
            let (place, after) = rest.split_at_mut(part.len() * size);
            copy(part, size, (region, bytes.bytes()?), (part, place));
            rest = after;
        }
        Ok(packed)
    }

    /// Puts parts that lie one after the other into a region.
    fn unpack(&self, region: &Region, packed: &Buffer, parts: &[Option<Region>], mut target: Buffer) -> Result<Buffer> {
        let size = self.size();
        let mut rest = packed.bytes()?;
        for part in parts.iter().flatten() {
            let (bytes, after) = rest.split_at(part.len() * size);
            copy(part, size, (part, bytes), (region, target.bytes_mut()?));
            rest = after;
        }
        Ok(target)
    }
}

/// A step along one dimension of the mesh, at one position.
struct Here<'a> {
    run: &'a Run<'a>,
    step: &'a Step,
    position: usize,
    dim: usize,
}

impl Here<'_> {
    fn before(&self, position: usize) -> Region {
        self.step.from.part(self.run.shape, position)
    }

    fn after(&self, position: usize) -> Region {
        self.step.to.part(self.run.shape, position)
    }

    /// The positions of the group.
    fn members(&self) -> Vec<usize> {
        self.step.from.placement().along(self.position, self.dim).collect()
    }

    fn call(&self, collective: Collective, buffers: [Buffer; 2]) -> Result<Buffer> {
        let ranks = self.step.from.placement().ranks();
        let ranks: Vec<usize> = self.members().into_iter().map(|member| ranks[member]).collect();
        self.run.call(&ranks, collective, buffers)
    }

    fn all_reduce(&self, op: Reduction, part: Buffer) -> Result<Buffer> {
        self.call(Collective::AllReduce(op), [Buffer::empty(), part])
    }

    fn reduce_scatter(&self, op: Reduction, part: Part, recv: Buffer) -> Result<Buffer> {
        let parts: Vec<_> = self.members().into_iter().map(|member| Some(self.after(member))).collect();
        let counts: Vec<usize> = parts.iter().flatten().map(Region::len).collect();
        let before = self.before(self.position);
        let send = match before.is_row_by_row(parts.iter().flatten()) {
            true => part.into_buffer(),
            false => self.run.pack(&before, &part, &parts)?,
        };
        self.call(Collective::ReduceScatter { op, counts }, [send, recv])
    }

    fn all_gather(&self, part: Part, target: Buffer) -> Result<Buffer> {
        let parts: Vec<_> = self.members().into_iter().map(|member| Some(self.before(member))).collect();
        let counts: Vec<usize> = parts.iter().flatten().map(Region::len).collect();
        let (new, send) = (self.after(self.position), part.into_buffer());
        if new.is_row_by_row(parts.iter().flatten()) {
            return self.call(Collective::AllGather { counts }, [send, target]);
        }
        let arrived = self.call(Collective::AllGather { counts }, [send, Buffer::zeros(target.len())?])?;
        self.run.unpack(&new, &arrived, &parts, target)
    }

    /// What the new part has of the old one, in a buffer of the new part's size.
    fn cut(&self, part: &Buffer, mut target: Buffer) -> Result<Buffer> {
        let (old, new) = (self.before(self.position), self.after(self.position));
        copy(&old.intersection(&new), self.run.size(), (&old, part.bytes()?), (&new, target.bytes_mut()?));
        Ok(target)
    }

    /// Whether this position's part becomes one that changes nothing.
    fn is_masked(&self, op: Reduction) -> bool {
        let adds = matches!(op, Reduction::Sum | Reduction::Product);
        adds && self.step.from.placement().coordinate(self.position, self.dim) > 0
    }
}
