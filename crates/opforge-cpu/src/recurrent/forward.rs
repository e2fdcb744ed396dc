//! Steps of recurrent cells.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use opforge_core::{Meta, Result};
use opforge_runtime::parallel::parallel_for;
use opforge_runtime::{HostKernel, checkpoint};

use super::cell::Cell;
use super::{ELEMENT, Sizes};
use crate::copy;
use crate::copy::Shared;
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
    /// The state's gates of one step.
    product: Arc<dyn HostKernel>,
    /// Turns the weight into what the product of many steps reads without packing it each time: its transpose.
    turn: Option<Arc<dyn HostKernel>>,
}

pub(super) fn kernel<C: Cell, E: FloatElem>(
    op: &'static str,
    cell: C,
    sizes: Sizes,
    reverse: bool,
    inputs: &[&Meta],
) -> Result<Arc<dyn HostKernel>> {
    let state = Meta::contiguous(E::DTYPE, [sizes.batch, sizes.hidden]);
    let gates = Meta::contiguous(E::DTYPE, [sizes.batch, C::GATES * sizes.hidden]);
    let (mut weight, mut turn) = (inputs[1].clone(), None);
    if sizes.batch > 1 && sizes.steps > 1 {
        let transposed = Meta { dtype: weight.dtype, layout: weight.layout.transpose(0, 1)? };
        let turned = Meta::contiguous(weight.dtype, transposed.shape());
        turn = Some(copy::copy(op, &transposed, &turned)?);
        weight.layout = turned.layout.transpose(0, 1)?;
    }
    let product = matmul::linear(op, &state, &weight, Some(inputs[2]), &gates)?;
    let step = Step { cell, sizes, element: PhantomData::<E> };
    Ok(Arc::new(Forward { step, entry: resolve::<Step<C, E>>(Isa::current()), reverse, product, turn }))
}

impl<C: Cell, E: FloatElem> Forward<C, E> {
    /// # Safety
    /// As [`HostKernel::run`]; `gates` has room for a step's, and `weight` is as the product takes it.
    unsafe fn steps(&self, inputs: &[*const u8], outputs: &[*mut u8], gates: *mut u8, weight: *const u8) -> Result<()> {
        let Sizes { steps, batch, hidden } = self.step.sizes;
        let area = batch * hidden;
        let saved = outputs[outputs.len() - 1].cast::<E>();
        let mut before = [inputs[3].cast::<E>(), inputs.get(4).map_or(std::ptr::null(), |p| p.cast::<E>())];
        for step in 0..steps {
            checkpoint();
            let t = if self.reverse { steps - 1 - step } else { step };
            // SAFETY: the tensors hold all steps, and a step's rows are disjoint.
            unsafe {
                self.product.run(&[before[0].cast(), weight, inputs[2]], &[gates])?;
                let hidden_now = outputs[0].cast::<E>().add(t * area);
                let cell_now = if C::HAS_CELL { outputs[1].cast::<E>().add(t * area) } else { std::ptr::null_mut() };
                let at = At {
                    x: Shared(inputs[0].cast::<E>().add(t * area * C::GATES)),
                    h: Shared(gates.cast_const().cast::<E>()),
                    before: before.map(Shared),
                    now: [Shared(hidden_now), Shared(cell_now)],
                    saved: Shared(saved.add(t * area * C::SAVED)),
                };
                parallel_for(batch, grain(ELEMENT * hidden), |rows| (self.entry)(&self.step, (at, rows)));
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
        // SAFETY: the pointers are those of `run`; the buffers hold the gates of a step, `GATES` for each state, and a weight.
        unsafe {
            let mut weight = inputs[1];
            if let Some(turn) = &self.turn {
                turn.run(&[weight], &[turned.as_mut_ptr().cast()])?;
                weight = turned.as_ptr().cast();
            }
            self.steps(inputs, outputs, gates.as_mut_ptr().cast(), weight)
        }
    }

    fn cost(&self) -> u64 {
        let Sizes { steps, batch, hidden } = self.step.sizes;
        (steps as u64).saturating_mul(self.product.cost() + (batch * hidden * C::GATES) as u64)
    }
}
