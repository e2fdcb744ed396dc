//! How kinds of calls are carried out on parts, found once for each: what the operator's axes allow along each dimension of the mesh (`choice.rs`),
//! compared by what boxing costs. Where an operator needs an axis whole that is split, it may say how other operators do the same
//! ([`Operator::decompose`]).

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::rc::Rc;
use std::sync::Arc;

use opforge::dispatch::Prepared;
use opforge::operator::{Call, Metas, Operator, Place, Work, distinct_bytes};
use opforge::{Device, Meta, Result, Tensor};
use opforge_tile::forms::Portion;
use rustc_hash::FxHasher;

use super::World;
use super::choice::{Case, Cheapest};
use super::content::Part;
use super::device::device_of;
use crate::{Distribution, Placement, Reduction, Sbp};

/// How a call is carried out on parts.
pub(super) struct Signature {
    /// Where inputs are brought.
    pub inputs: Vec<Arc<Distribution>>,
    /// Where outputs are then.
    pub outputs: Vec<Output>,
    /// What the operator infers.
    pub metas: Metas,
    /// Whether a dimension that lies apart is brought together because the operator needs it whole.
    pub gathers: bool,
    /// What this rank computes.
    pub share: Share,
    /// Where its parts lie in the whole, for operators whose elements depend on that.
    pub place: Option<Place>,
    /// The operator on this rank's parts, once it has run.
    pub prepared: RefCell<Option<Rc<Prepared>>>,
    /// [`Signature::work`], once it is known.
    work: OnceCell<(Work, usize)>,
}

/// An output of a signature.
pub(super) struct Output {
    pub distribution: Arc<Distribution>,
    /// The whole, row-major.
    pub whole: Meta,
    /// This rank's part of it.
    pub part: Meta,
    /// The device of its placement.
    pub device: Device,
}

impl Signature {
    /// What the busiest rank computes of a call, and the bytes of the inputs that are brought to it first.
    pub fn work(&self, call: &Call<'_>, parts: &[Part]) -> Result<(Work, usize)> {
        if let Some(known) = self.work.get() {
            return Ok(*known);
        }
        let part = |(input, to): (&&Tensor, &Arc<Distribution>)| {
            Meta::contiguous(input.dtype(), to.part(input.shape(), 0).shape())
        };
        let inputs: Vec<Meta> = call.inputs.iter().zip(&self.inputs).map(part).collect();
        let moved = parts.iter().zip(&self.inputs).zip(&inputs).filter(|((part, to), _)| part.distribution != **to);
        let brought = moved.map(|(_, meta)| distinct_bytes(meta)).sum();
        let outputs: Vec<Meta> = self.outputs.iter().map(Output::largest_part).collect();
        let (inputs, outputs) = (inputs.iter().collect::<Vec<_>>(), outputs.iter().collect::<Vec<_>>());
        let work = call.op.lower(&inputs, &outputs)?.work(&inputs, &outputs);
        Ok(*self.work.get_or_init(|| (work, brought)))
    }
}

impl Output {
    /// That of the first rank.
    fn largest_part(&self) -> Meta {
        Meta::contiguous(self.whole.dtype, self.distribution.part(self.whole.shape(), 0).shape())
    }
}

/// What a rank computes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Share {
    /// Nothing: it is not in the placement.
    None,
    /// What changes nothing: it has no elements to compute of.
    Neutral,
    /// Sums of zeros instead of no elements, to which the operator adds inputs that are summands.
    OfZeros,
    /// The operator on its parts.
    Parts,
}

/// A call as it is looked up.
pub(super) struct Kind<'a> {
    pub world: &'a World,
    pub op: &'a dyn Operator,
    pub inputs: &'a [&'a Meta],
    pub from: &'a [&'a Arc<Distribution>],
    /// Where outputs must be.
    pub to: Option<&'a [&'a Arc<Distribution>]>,
    pub placement: &'a Placement,
}

struct Entry {
    rank: usize,
    costs: u64,
    op: Box<dyn Operator>,
    inputs: Vec<(Meta, Arc<Distribution>)>,
    to: Option<Vec<Arc<Distribution>>>,
    placement: Placement,
    signature: Rc<Signature>,
}

/// Signatures that are kept; beyond so many they are found anew.
const KEPT: usize = 4096;

thread_local!(static CACHE: RefCell<HashMap<u64, Vec<Entry>, rustc_hash::FxBuildHasher>> = RefCell::default());

impl Kind<'_> {
    /// The signature of least cost, from the cache or found now.
    pub fn signature(&self) -> Result<Rc<Signature>> {
        let hash = self.hash();
        let found = CACHE.with_borrow(|cache| {
            let entries = cache.get(&hash)?;
            entries.iter().find(|entry| self.is_of(entry)).map(|entry| entry.signature.clone())
        });
        if let Some(signature) = found {
            return Ok(signature);
        }
        let signature = Rc::new(self.find()?);
        CACHE.with_borrow_mut(|cache| {
            if cache.len() >= KEPT {
                cache.clear();
            }
            cache.entry(hash).or_default().push(self.entry(signature.clone()));
        });
        Ok(signature)
    }

    fn hash(&self) -> u64 {
        let mut hasher = FxHasher::default();
        hasher.write_u64(self.op.key_hash());
        for (meta, distribution) in self.inputs.iter().zip(self.from) {
            meta.hash(&mut hasher);
            distribution.sbp().hash(&mut hasher);
        }
        hasher.finish()
    }

    fn is_of(&self, entry: &Entry) -> bool {
        let same = |a: &Arc<Distribution>, b: &Arc<Distribution>| Arc::ptr_eq(a, b) || a == b;
        (entry.rank, entry.costs) == (self.world.rank(), self.world.digest())
            && entry.inputs.len() == self.inputs.len()
            && entry.op.same(self.op)
            && entry.inputs.iter().zip(self.inputs).all(|((meta, _), other)| meta == *other)
            && entry.inputs.iter().zip(self.from).all(|((_, from), other)| same(from, other))
            && entry.placement == *self.placement
            && match (&entry.to, self.to) {
                (None, None) => true,
                (Some(to), Some(others)) => to.len() == others.len() && to.iter().zip(others).all(|(a, b)| same(a, b)),
                _ => false,
            }
    }

    fn entry(&self, signature: Rc<Signature>) -> Entry {
        Entry {
            rank: self.world.rank(),
            costs: self.world.digest(),
            op: self.op.boxed(),
            inputs: self.inputs.iter().zip(self.from).map(|(meta, from)| ((*meta).clone(), (*from).clone())).collect(),
            to: self.to.map(|to| to.iter().map(|&to| to.clone()).collect()),
            placement: self.placement.clone(),
            signature,
        }
    }

    #[cold]
    fn find(&self) -> Result<Signature> {
        let Kind { world, op, inputs, from, to, placement } = *self;
        let metas = op.infer(inputs)?;
        let Cheapest { inputs: brought, outputs, gathers, needs_place } =
            Case { world, op, inputs, from, outputs: &metas, to, placement }.cheapest()?;
        let position = placement.position(world.rank());
        let part = |meta: &Meta, distribution: &Distribution| {
            let shape = position.map_or_else(|| 0.into(), |position| distribution.part(meta.shape(), position).shape());
            Meta::contiguous(meta.dtype, shape)
        };
        let device = device_of(placement)?;
        let portion = |position: usize, meta: &Meta, distribution: &Distribution| Portion {
            whole: meta.shape().clone(),
            ranges: distribution.part(meta.shape(), position).ranges().to_vec(),
        };
        let place = position.filter(|_| needs_place).map(|position| Place {
            inputs: inputs.iter().zip(&brought).map(|(meta, to)| portion(position, meta, to)).collect(),
            outputs: metas.iter().zip(&outputs).map(|(meta, to)| portion(position, meta, to)).collect(),
        });
        let output = |(meta, distribution): (&Meta, Arc<Distribution>)| {
            let whole = Meta::contiguous(meta.dtype, meta.shape());
            Output { part: part(meta, &distribution), whole, distribution, device }
        };
        let outputs: Vec<Output> = metas.iter().zip(outputs).map(output).collect();
        let lacks =
            |(meta, to): (&&Meta, &Arc<Distribution>)| meta.elem_count() > 0 && part(meta, to).elem_count() == 0;
        let lacking = inputs.iter().zip(&brought).any(lacks);
        let gives_none = outputs.iter().all(|out| out.part.elem_count() == 0 && out.whole.elem_count() > 0);
        let is_sum = |distribution: &Distribution| distribution.sbp().contains(&Sbp::Partial(Reduction::Sum));
        let has_summands = brought.iter().any(|to| is_sum(to)) && outputs.iter().any(|out| is_sum(&out.distribution));
        let share = match position {
            None => Share::None,
            Some(_) if lacking && !gives_none && has_summands => Share::OfZeros,
            Some(_) if lacking || gives_none => Share::Neutral,
            Some(_) => Share::Parts,
        };
        let (prepared, work) = (RefCell::default(), OnceCell::new());
        Ok(Signature { inputs: brought, outputs, metas, gathers, share, place, prepared, work })
    }
}
