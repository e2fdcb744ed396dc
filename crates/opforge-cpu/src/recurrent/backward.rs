//! The gradients of a recurrent layer, from the last step to the first.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use opforge_core::{Meta, Result};
use opforge_runtime::parallel::parallel_for;
use opforge_runtime::{HostKernel, checkpoint};
use smallvec::SmallVec;

use super::cell::Cell;
use super::parts::{Parts, Products};
use super::{ELEMENT, Sizes};
use crate::copy::Shared;
use crate::loops::fallible::try_parallel_for;
use crate::loops::work::grain;
use crate::matmul;
use crate::memory::scratch::buffer;
use crate::simd::{Entry, Float, FloatElem, Isa, Routine, Simd, Vector, resolve};

/// A step's pointwise part.
struct Step<C, E> {
    cell: C,
    sizes: Sizes,
    element: PhantomData<E>,
}

/// The addresses of a step: what was saved, the states before and now, their gradients from outside and from the step after (directly, and
/// through its gates), and where the gates' gradients and the direct ones go.
#[derive(Clone, Copy)]
struct At<E> {
    saved: Shared<*const E>,
    before: [Shared<*const E>; 2],
    now: [Shared<*const E>; 2],
    grad: [Shared<*const E>; 2],
    direct: [Shared<*mut E>; 2],
    through: Shared<*const E>,
    dx: Shared<*mut E>,
    dh: Shared<*mut E>,
}

impl<C: Cell, E: FloatElem> Routine for Step<C, E> {
    type Args = (At<E>, Range<usize>);
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, (at, rows): (At<E>, Range<usize>)) {
        let (n, lanes) = (self.sizes.hidden, <E::Vector<S>>::LANES);
        let zero = <E::Vector<S>>::splat(0.0);
        for row in rows {
            let mut j = 0;
            while j < n {
                let (m, place) = (lanes.min(n - j), row * n + j);
                // SAFETY: tensors hold these rows, `n` numbers each; `m` are left from `j` on. Cells are touched where there are any.
                unsafe {
                    let load = |ptr: *const E| <E::Vector<S>>::load_partial(ptr, m);
                    let state = |of: [Shared<*const E>; 2]| {
                        let c = if C::HAS_CELL { load(of[1].get().add(place)) } else { zero };
                        [load(of[0].get().add(place)), c]
                    };
                    let (mut saved, mut dx, mut dh) = ([zero; 4], [zero; 4], [zero; 4]);
                    for (g, saved) in saved[..C::SAVED].iter_mut().enumerate() {
                        *saved = load(at.saved.get().add((row * C::SAVED + g) * n + j));
                    }
                    let after = state(at.direct.map(|p| Shared(p.get().cast_const())));
                    let [mut dh_now, mut dc_now] = state(at.grad);
                    dh_now = dh_now + after[0] + load(at.through.get().add(place));
                    dc_now = dc_now + after[1];
                    let (before, now) = (state(at.before), state(at.now));
                    let direct = self.cell.backward(&saved, before, now, [dh_now, dc_now], &mut dx, &mut dh);
                    for g in 0..C::GATES {
                        let place = (row * C::GATES + g) * n + j;
                        dx[g].store_partial(at.dx.get().add(place), m);
                        dh[g].store_partial(at.dh.get().add(place), m);
                    }
                    direct[0].store_partial(at.direct[0].get().add(place), m);
                    if C::HAS_CELL {
                        direct[1].store_partial(at.direct[1].get().add(place), m);
                    }
                }
                j += m;
            }
        }
    }
}

struct Backward<C: Cell, E: FloatElem> {
    step: Step<C, E>,
    entry: Entry<Step<C, E>>,
    reverse: bool,
    parts: Parts,
    /// The hidden state's gradient from that of its gates, of a part's rows.
    products: Products,
}

pub(super) fn kernel<C: Cell, E: FloatElem>(
    op: &'static str,
    cell: C,
    sizes: Sizes,
    reverse: bool,
) -> Result<Arc<dyn HostKernel>> {
    let (wide, parts) = (C::GATES * sizes.hidden, Parts::of(sizes.batch));
    let weight = Meta::contiguous(E::DTYPE, [wide, sizes.hidden]);
    let products = parts.products(|rows| {
        let gates = Meta::contiguous(E::DTYPE, [rows, wide]);
        matmul::matmul(op, &gates, &weight, &Meta::contiguous(E::DTYPE, [rows, sizes.hidden]))
    })?;
    let step = Step { cell, sizes, element: PhantomData::<E> };
    Ok(Arc::new(Backward { step, entry: resolve::<Step<C, E>>(Isa::current()), reverse, parts, products }))
}

/// The addresses of a call.
struct Call<'a, E> {
    inputs: &'a [Shared<*const u8>],
    outputs: &'a [Shared<*mut u8>],
    /// Room for a state.
    through: Shared<*mut E>,
}

impl<C: Cell, E: FloatElem> Backward<C, E> {
    /// All steps of a part's rows.
    ///
    /// # Safety
    /// As [`HostKernel::run`]; others do not touch these rows.
    unsafe fn steps(&self, call: &Call<'_, E>, part: usize) -> Result<()> {
        let Sizes { steps, batch, hidden } = self.step.sizes;
        let (rows, area) = (self.parts.rows(part), batch * hidden);
        let (product, skipped, own) = (self.products.of(rows.len()), rows.start * hidden, rows.len() * hidden);
        // Null for the cells of those that have none; else where the part's rows begin.
        let input =
            |i: usize| call.inputs.get(i).map_or(std::ptr::null(), |p| p.get().cast::<E>().wrapping_add(skipped));
        let output =
            |i: usize| call.outputs.get(i).map_or(std::ptr::null_mut(), |p| p.get().cast::<E>().wrapping_add(skipped));
        let through = call.through.get().wrapping_add(skipped);
        // The gradients of the first states hold what each step hands to the one before.
        let direct = [output(2), output(3)];
        // SAFETY: the tensors hold all steps of these rows.
        unsafe {
            through.write_bytes(0, own);
            direct.iter().filter(|p| !p.is_null()).for_each(|p| p.write_bytes(0, own));
            for step in (0..steps).rev() {
                checkpoint();
                let t = if self.reverse { steps - 1 - step } else { step };
                let at_time = |p: *const E, t: usize| if p.is_null() { p } else { p.add(t * area) };
                let before = match (step, self.reverse) {
                    (0, _) => [input(2), input(6)],
                    (_, false) => [at_time(input(1), t - 1), at_time(input(5), t - 1)],
                    (_, true) => [at_time(input(1), t + 1), at_time(input(5), t + 1)],
                };
                // Blocks of gates and of what was saved lie behind those of all rows before.
                let blocks = |count: usize| (t * area + skipped) * count;
                let dh = call.outputs[1].get().cast::<E>().add(blocks(C::GATES));
                let at = At {
                    saved: Shared(call.inputs[0].get().cast::<E>().add(blocks(C::SAVED))),
                    before: before.map(Shared),
                    now: [at_time(input(1), t), at_time(input(5), t)].map(Shared),
                    grad: [at_time(input(4), t), at_time(input(7), t)].map(Shared),
                    direct: direct.map(Shared),
                    through: Shared(through.cast_const()),
                    dx: Shared(call.outputs[0].get().cast::<E>().add(blocks(C::GATES))),
                    dh: Shared(dh),
                };
                parallel_for(rows.len(), grain(ELEMENT * hidden), |rows| (self.entry)(&self.step, (at, rows)));
                product.run(&[dh.cast_const().cast(), call.inputs[3].get()], &[through.cast()])?;
            }
            for i in 0..own {
                *direct[0].add(i) += *through.add(i);
            }
        }
        Ok(())
    }
}

impl<C: Cell, E: FloatElem> HostKernel for Backward<C, E> {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let Sizes { batch, hidden, .. } = self.step.sizes;
        let mut through = buffer::<E>(batch * hidden)?;
        let inputs: SmallVec<[_; 8]> = inputs.iter().copied().map(Shared).collect();
        let outputs: SmallVec<[_; 4]> = outputs.iter().copied().map(Shared).collect();
        let call = Call { inputs: &inputs, outputs: &outputs, through: Shared(through.as_mut_ptr()) };
        try_parallel_for(self.parts.count, 1, |parts| {
            // SAFETY: the addresses are those of `run`, and parts have rows of their own.
            parts.into_iter().try_for_each(|part| unsafe { self.steps(&call, part) })
        })
    }

    fn cost(&self) -> u64 {
        let Sizes { steps, batch, hidden } = self.step.sizes;
        (steps as u64).saturating_mul(self.products.cost() + (batch * hidden * C::GATES) as u64)
    }
}
