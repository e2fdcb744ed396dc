//! Steps of recurrent cells.

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
use crate::copy::{self, Shared};
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

/// The addresses of a step: of the input's gates, the state's gates, the states before and now (hidden, cell), and what is saved.
#[derive(Clone, Copy)]
struct At<E> {
    x: Shared<*const E>,
    h: Shared<*const E>,
    before: [Shared<*const E>; 2],
    now: [Shared<*mut E>; 2],
    saved: Shared<*mut E>,
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
                let m = lanes.min(n - j);
                // SAFETY: the step's tensors hold these rows, for each gate and saved value `n` numbers, of which `m` are left from `j` on.
                unsafe {
                    let load = |ptr: *const E| <E::Vector<S>>::load_partial(ptr, m);
                    let (mut x, mut h, mut saved) = ([zero; 4], [zero; 4], [zero; 4]);
                    for g in 0..C::GATES {
                        let place = (row * C::GATES + g) * n + j;
                        (x[g], h[g]) = (load(at.x.get().add(place)), load(at.h.get().add(place)));
                    }
                    let place = row * n + j;
                    let c = if C::HAS_CELL { load(at.before[1].get().add(place)) } else { zero };
                    let before = [load(at.before[0].get().add(place)), c];
                    let now = self.cell.forward(&x, &h, before, &mut saved);
                    now[0].store_partial(at.now[0].get().add(place), m);
                    if C::HAS_CELL {
                        now[1].store_partial(at.now[1].get().add(place), m);
                    }
                    for (g, saved) in saved[..C::SAVED].iter().enumerate() {
                        saved.store_partial(at.saved.get().add((row * C::SAVED + g) * n + j), m);
                    }
                }
                j += m;
            }
        }
    }
}

struct Forward<C: Cell, E: FloatElem> {
    step: Step<C, E>,
    entry: Entry<Step<C, E>>,
    reverse: bool,
    parts: Parts,
    /// The state's gates of one step, of a part's rows.
    products: Products,
    /// Turns the weight into what the products of many steps read without packing it each time: its transpose.
    turn: Option<Arc<dyn HostKernel>>,
}

pub(super) fn kernel<C: Cell, E: FloatElem>(
    op: &'static str,
    cell: C,
    sizes: Sizes,
    reverse: bool,
    inputs: &[&Meta],
) -> Result<Arc<dyn HostKernel>> {
    let (mut weight, mut turn, parts) = (inputs[1].clone(), None, Parts::of(sizes.batch));
    if sizes.batch > 1 && sizes.steps > 1 {
        let transposed = Meta { dtype: weight.dtype, layout: weight.layout.transpose(0, 1)? };
        let turned = Meta::contiguous(weight.dtype, transposed.shape());
        turn = Some(copy::copy(op, &transposed, &turned)?);
        weight.layout = turned.layout.transpose(0, 1)?;
    }
    let products = parts.products(|rows| {
        let state = Meta::contiguous(E::DTYPE, [rows, sizes.hidden]);
        let gates = Meta::contiguous(E::DTYPE, [rows, C::GATES * sizes.hidden]);
        matmul::linear(op, &state, &weight, Some(inputs[2]), &gates)
    })?;
    let step = Step { cell, sizes, element: PhantomData::<E> };
    Ok(Arc::new(Forward { step, entry: resolve::<Step<C, E>>(Isa::current()), reverse, parts, products, turn }))
}

/// The addresses of a call.
struct Call<'a> {
    inputs: &'a [Shared<*const u8>],
    outputs: &'a [Shared<*mut u8>],
    /// Room for a step's gates.
    gates: Shared<*mut u8>,
    /// The weight as the products take it.
    weight: Shared<*const u8>,
}

impl<C: Cell, E: FloatElem> Forward<C, E> {
    /// All steps of a part's rows.
    ///
    /// # Safety
    /// As [`HostKernel::run`]; others do not touch these rows.
    unsafe fn steps(&self, call: &Call<'_>, part: usize) -> Result<()> {
        let Sizes { steps, batch, hidden } = self.step.sizes;
        let (rows, area) = (self.parts.rows(part), batch * hidden);
        let (product, skipped) = (self.products.of(rows.len()), rows.start * hidden);
        let input = |i: usize| call.inputs.get(i).map_or(std::ptr::null(), |p| p.get().cast::<E>());
        let output = |i: usize| call.outputs[i].get().cast::<E>();
        let at_rows = |p: *const E| if p.is_null() { p } else { p.wrapping_add(skipped) };
        let mut before = [at_rows(input(3)), at_rows(input(4))];
        for step in 0..steps {
            checkpoint();
            let t = if self.reverse { steps - 1 - step } else { step };
            let skipped = t * area + skipped;
            // SAFETY: the tensors hold all steps of these rows; the room for gates is divided as the rows are.
            unsafe {
                let gates = call.gates.get().cast::<E>().add(rows.start * hidden * C::GATES);
                product.run(&[before[0].cast(), call.weight.get(), call.inputs[2].get()], &[gates.cast()])?;
                let hidden_now = output(0).add(skipped);
                let cell_now = if C::HAS_CELL { output(1).add(skipped) } else { std::ptr::null_mut() };
                let at = At {
                    x: Shared(input(0).add(skipped * C::GATES)),
                    h: Shared(gates.cast_const()),
                    before: before.map(Shared),
                    now: [Shared(hidden_now), Shared(cell_now)],
                    saved: Shared(output(call.outputs.len() - 1).add(skipped * C::SAVED)),
                };
                parallel_for(rows.len(), grain(ELEMENT * hidden), |rows| (self.entry)(&self.step, (at, rows)));
                before = [hidden_now.cast_const(), cell_now.cast_const()];
            }
        }
        Ok(())
    }
}

impl<C: Cell, E: FloatElem> HostKernel for Forward<C, E> {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let Sizes { batch, hidden, .. } = self.step.sizes;
        let mut gates = buffer::<E>(batch * hidden * C::GATES)?;
        let mut turned = buffer::<E>(if self.turn.is_some() { hidden * hidden * C::GATES } else { 0 })?;
        let mut weight = inputs[1];
        if let Some(turn) = &self.turn {
            // SAFETY: the kernel was made for the weight, and the buffer has as many elements.
            unsafe { turn.run(&[weight], &[turned.as_mut_ptr().cast()])? };
            weight = turned.as_ptr().cast();
        }
        let inputs: SmallVec<[_; 5]> = inputs.iter().copied().map(Shared).collect();
        let outputs: SmallVec<[_; 3]> = outputs.iter().copied().map(Shared).collect();
        let gates = Shared(gates.as_mut_ptr().cast());
        let call = Call { inputs: &inputs, outputs: &outputs, gates, weight: Shared(weight) };
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
