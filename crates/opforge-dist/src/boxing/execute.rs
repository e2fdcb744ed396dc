//! Carrying out a plan on parts.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use opforge_core::{DType, Error, Result, Shape};

use super::identity::identities;
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
        let rank = groups.world.rank();
        let position = self.from().placement().position(rank);
        let bytes =
            position.map(|position| self.from().part(self.shape(), position).len() * self.dtype().size_in_bytes());
        if part.as_ref().map(Buffer::len) != bytes {
            let show = |bytes: Option<usize>| bytes.map_or("nothing".to_owned(), |bytes| format!("{bytes} bytes"));
            return Err(Error::shape("boxing", "part", show(part.as_ref().map(Buffer::len)), show(bytes)));
        }
        let run = Run { groups, dtype: self.dtype(), shape: self.shape(), place, rank };
        self.steps().iter().try_fold(part, |part, step| run.step(step, part))
    }
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
    fn step(&self, step: &Step, part: Option<Buffer>) -> Result<Option<Buffer>> {
        if step.change == Change::Move {
            return self.exchange(step, part);
        }
        let (Some(position), Some(part), Some(dim)) =
            (step.from.placement().position(self.rank), part, step.change.dim())
        else {
            return Ok(None);
        };
        let here = Here { run: self, step, position, dim };
        Ok(Some(match step.change {
            Change::AllReduce { op, .. } => here.all_reduce(op, part)?,
            Change::ReduceScatter { op, .. } => here.reduce_scatter(op, &part)?,
            Change::AllGather { .. } => here.all_gather(part)?,
            Change::Slice { .. } => here.cut(&part, Buffer::zeros(here.after(position).len() * self.size())?)?,
            Change::Pad { op, .. } => here.cut(&part, identities(self.dtype, op, here.after(position).len())?)?,
            Change::Mask { op, .. } => here.mask(op, part)?,
            Change::AllToAll { .. } | Change::Move => return self.exchange(step, Some(part)),
        }))
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
    fn exchange(&self, step: &Step, part: Option<Buffer>) -> Result<Option<Buffer>> {
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
        self.unpack(&new, &arrived, &received, Buffer::zeros(new.len() * self.size())?).map(Some)
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

    fn reduce_scatter(&self, op: Reduction, part: &Buffer) -> Result<Buffer> {
        let parts: Vec<_> = self.members().into_iter().map(|member| Some(self.after(member))).collect();
        let counts: Vec<usize> = parts.iter().flatten().map(Region::len).collect();
        let send = self.run.pack(&self.before(self.position), part, &parts)?;
        let recv = Buffer::zeros(self.after(self.position).len() * self.run.size())?;
        self.call(Collective::ReduceScatter { op, counts }, [send, recv])
    }

    fn all_gather(&self, part: Buffer) -> Result<Buffer> {
        let parts: Vec<_> = self.members().into_iter().map(|member| Some(self.before(member))).collect();
        let counts: Vec<usize> = parts.iter().flatten().map(Region::len).collect();
        let new = self.after(self.position);
        let bytes = new.len() * self.run.size();
        let arrived = self.call(Collective::AllGather { counts }, [part, Buffer::zeros(bytes)?])?;
        self.run.unpack(&new, &arrived, &parts, Buffer::zeros(bytes)?)
    }

    /// What the new part has of the old one, in a buffer of the new part's size.
    fn cut(&self, part: &Buffer, mut target: Buffer) -> Result<Buffer> {
        let (old, new) = (self.before(self.position), self.after(self.position));
        copy(&old.intersection(&new), self.run.size(), (&old, part.bytes()?), (&new, target.bytes_mut()?));
        Ok(target)
    }

    fn mask(&self, op: Reduction, part: Buffer) -> Result<Buffer> {
        let adds = matches!(op, Reduction::Sum | Reduction::Product);
        match adds && self.step.from.placement().coordinate(self.position, self.dim) > 0 {
            true => identities(self.run.dtype, op, self.before(self.position).len()),
            false => Ok(part),
        }
    }
}
