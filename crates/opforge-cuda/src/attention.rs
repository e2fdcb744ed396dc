//! Attention by fast means: in one kernel where scores need not reach memory (`fused.rs`), or by products of matrices.

use std::sync::Arc;

use opforge::{DType, Meta, Result};
use opforge_gpu::{Place, program_of_weights};
use opforge_runtime::Kernel;
use opforge_tile::forms::Attention;

use crate::backend::Cuda;
use crate::blas::numbers;
use crate::parts::{Operand, Parts, last_matrix};
use crate::product::LEAST;

/// Weights that are in memory together, about: a gibibyte of f32.
const MOST_TOGETHER: usize = 1 << 28;

impl Cuda {
    /// The kernel of attention, or of its gradients, where there is one that is faster than the written one.
    pub fn attention(
        &'static self,
        op: &'static str,
        form: Attention,
        inputs: &[&Meta],
        outputs: &[&Meta],
    ) -> Option<Result<Arc<dyn Kernel>>> {
        let (q, k) = (inputs[0], inputs[1]);
        let work = q.elem_count().saturating_mul(k.dims()[k.rank() - 2]);
        if work < LEAST || inputs.iter().any(|input| input.elem_count() == 0) {
            return None;
        }
        self.fused_attention(op, form, inputs, outputs)
            .or_else(|| self.attention_by_products(op, form, inputs, outputs))
    }

    /// The kernel that has scores, weights and, for gradients, their slopes in memory, and makes them by cuBLAS.
    pub fn attention_by_products(
        &'static self,
        op: &'static str,
        form: Attention,
        inputs: &[&Meta],
        outputs: &[&Meta],
    ) -> Option<Result<Arc<dyn Kernel>>> {
        let mut parts = Parts::new(self, self.blas()?, op);
        let slices = Given::of(form, inputs, outputs)?.slices(MOST_TOGETHER);
        let add = |slice: &Given| {
            parts.begin();
            slice.add(self, op, &mut parts)
        };
        // A slice whose layout cuBLAS does not take is none.
        let added = slices.and_then(|slices| slices.iter().map(add).collect::<Result<Option<()>>>());
        added.map(|added| added.map(|()| Arc::new(parts) as Arc<dyn Kernel>)).transpose()
    }
}

/// A call, or some of its batches or heads. Heads of queries are seen as rows of the head of keys that they share: `q [.., heads of keys, rows, width]`.
struct Given {
    form: Attention,
    /// The mask, which comes last, with the dimensions of scores.
    inputs: Vec<Operand>,
    outputs: Vec<Operand>,
    /// How many heads of queries share one of keys.
    group: usize,
    dtype: DType,
}

impl Given {
    fn of(form: Attention, inputs: &[&Meta], outputs: &[&Meta]) -> Option<Self> {
        let (q, k) = (inputs[0], inputs[1]);
        let (rank, dtype) = (q.rank(), q.dtype);
        let group = if rank > 2 { q.dims()[rank - 3] / k.dims()[rank - 3] } else { 1 };
        let is_taken = numbers(dtype, false).is_some()
            && inputs[..mask_number(form)].iter().all(|input| input.dtype == dtype)
            && outputs.iter().all(|output| output.dtype == dtype && output.layout.is_contiguous());
        if !is_taken {
            return None;
        }
        let operands = |place: fn(usize) -> Place, metas: &[&Meta]| -> Vec<Operand> {
            metas.iter().enumerate().map(|(i, meta)| Operand::at(place(i), meta)).collect()
        };
        let mut given = Given {
            form,
            inputs: operands(Place::Input, inputs),
            outputs: operands(Place::Output, outputs),
            group,
            dtype,
        };
        let scores = given.scores();
        if let Some(mask) = given.inputs.get_mut(mask_number(form)) {
            mask.meta.layout = mask.meta.layout.broadcast_as(&scores.into(), "attention").ok()?;
        }
        Some(given)
    }

    /// Lengths of leading dimensions, queries and keys.
    fn scores(&self) -> Vec<usize> {
        let (q, k) = (self.inputs[0].meta.dims(), self.inputs[1].meta.dims());
        [&q[..q.len() - 1], &k[k.len() - 2..k.len() - 1]].concat()
    }

    /// Slices of at most so many weights, unless that many are of one head.
    fn slices(self, most: usize) -> Result<Vec<Given>> {
        let (k, weights) = (self.inputs[1].meta.dims(), self.scores().iter().product::<usize>());
        let longer = k[..k.len() - 2].iter().position(|len| *len > 1).filter(|_| weights > most);
        let Some((d, len)) = longer.map(|d| (d, k[d])) else { return Ok(vec![self]) };
        let each = (most / (weights / len)).max(1);
        let slices = (0..len).step_by(each).map(|start| self.slice(d, start, each.min(len - start))?.slices(most));
        Ok(slices.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    }

    /// Some indices of a leading dimension of keys, and those of queries that go with them.
    fn slice(&self, d: usize, start: usize, len: usize) -> Result<Given> {
        let keys = self.inputs[1].meta.dims()[d];
        let narrow = |operand: &Operand| {
            let times = operand.meta.dims()[d] / keys;
            operand.narrow(d, times * start, times * len)
        };
        let all = |operands: &[Operand]| operands.iter().map(narrow).collect::<Result<Vec<_>>>();
        Ok(Given { inputs: all(&self.inputs)?, outputs: all(&self.outputs)?, ..*self })
    }

    /// Adds what computes the outputs; none where cuBLAS does not take a layout.
    fn add(&self, on: &'static Cuda, op: &'static str, parts: &mut Parts) -> Result<Option<()>> {
        if self.form.gradient { self.gradients(on, op, parts) } else { self.forward(on, op, parts) }
    }

    fn forward(&self, on: &'static Cuda, op: &'static str, parts: &mut Parts) -> Result<Option<()>> {
        let [q, k, v] = [self.queries(parts, 0)?, self.shared(parts, 1)?, self.shared(parts, 2)?];
        let scores = self.matrix(parts);
        let multiplied = parts.multiply(&q, &turned(&k)?, &self.grouped(&scores)?);
        let [weights] = self.weights(on, op, parts, [scores])?;
        let y = self.grouped(&self.outputs[0])?;
        Ok(multiplied.and(parts.multiply(&self.grouped(&weights)?, &v, &y)))
    }

    fn gradients(&self, on: &'static Cuda, op: &'static str, parts: &mut Parts) -> Result<Option<()>> {
        let [q, k, v] = [self.queries(parts, 0)?, self.shared(parts, 1)?, self.shared(parts, 2)?];
        let grad = self.queries(parts, 3)?;
        let both = [self.matrix(parts), self.matrix(parts)];
        let scores = parts.multiply(&q, &turned(&k)?, &self.grouped(&both[0])?);
        let by_weights = parts.multiply(&grad, &turned(&v)?, &self.grouped(&both[1])?);
        let [weights, by_scores] = self.weights(on, op, parts, both)?;
        let [weights, by_scores] = [self.grouped(&weights)?, self.grouped(&by_scores)?];
        let by_q = parts.multiply(&by_scores, &k, &self.grouped(&self.outputs[0])?);
        let by_k = parts.multiply(&turned(&by_scores)?, &q, &self.outputs[1]);
        let by_v = parts.multiply(&turned(&weights)?, &grad, &self.outputs[2]);
        Ok([scores, by_weights, by_q, by_k, by_v].into_iter().collect())
    }

    /// Room for products of queries and keys, in the dtype that they are summed in.
    fn matrix(&self, parts: &mut Parts) -> Operand {
        parts.own(self.dtype.compute(), &self.scores())
    }

    /// What scores, and the gradients of weights, become: in their place, unless products want halves.
    fn weights<const N: usize>(
        &self,
        on: &'static Cuda,
        op: &'static str,
        parts: &mut Parts,
        from: [Operand; N],
    ) -> Result<[Operand; N]> {
        let is_in_place = self.dtype == self.dtype.compute();
        let to = from.each_ref().map(|matrix| match is_in_place {
            true => matrix.clone(),
            false => parts.own(self.dtype, matrix.meta.dims()),
        });
        let mask = self.inputs.get(mask_number(self.form));
        let (reads, writes): (Vec<_>, Vec<_>) = (from.iter().chain(mask).collect(), to.iter().collect());
        let [inputs, outputs] =
            [&reads, &writes].map(|all| all.iter().map(|operand| &operand.meta).collect::<Vec<_>>());
        let program = program_of_weights(&on.target, op, &self.form, &inputs, &outputs)?;
        parts.run(program, &reads, &writes)?;
        Ok(to)
    }

    /// An input of the keys' shape, as products take it.
    fn shared(&self, parts: &mut Parts, number: usize) -> Result<Operand> {
        let given = &self.inputs[number];
        if last_matrix(&given.meta).is_some() { Ok(given.clone()) } else { parts.copied(given) }
    }

    /// An input of the queries' shape, grouped.
    fn queries(&self, parts: &mut Parts, number: usize) -> Result<Operand> {
        let given = self.shared(parts, number)?;
        let given = if self.is_groupable(&given.meta) { given } else { parts.copied(&given)? };
        self.grouped(&given)
    }

    /// Whether the rows of heads that share keys follow one another.
    fn is_groupable(&self, meta: &Meta) -> bool {
        let (rank, dims, stride) = (meta.rank(), meta.dims(), meta.layout.stride());
        self.group == 1 || dims[rank - 2] == 1 || stride[rank - 3] == dims[rank - 2] * stride[rank - 2]
    }

    /// `[.., heads, rows, columns]` as `[.., heads / group, group * rows, columns]`.
    fn grouped(&self, of: &Operand) -> Result<Operand> {
        if self.group == 1 {
            return Ok(of.clone());
        }
        let (mut dims, mut stride) = (of.meta.dims().to_vec(), of.meta.layout.stride().to_vec());
        let [head, row] = [dims.len() - 3, dims.len() - 2];
        if dims[row] == 1 {
            stride[row] = stride[head];
        }
        stride[head] *= self.group;
        dims[head] /= self.group;
        dims[row] *= self.group;
        of.laid_out(&dims, &stride)
    }
}

/// The number of the mask among inputs, if there is one.
fn mask_number(form: Attention) -> usize {
    if form.gradient { 4 } else { 3 }
}

/// The transposed matrices.
fn turned(of: &Operand) -> Result<Operand> {
    let (mut dims, mut stride) = (of.meta.dims().to_vec(), of.meta.layout.stride().to_vec());
    let [rows, columns] = [dims.len() - 2, dims.len() - 1];
    dims.swap(rows, columns);
    stride.swap(rows, columns);
    of.laid_out(&dims, &stride)
}

#[cfg(test)]
mod tests {
    use opforge::{DType, Meta, Scalar};
    use opforge_tile::forms::Attention;

    use super::Given;

    #[test]
    fn slices_have_few_weights_and_all_of_them() {
        let form = Attention { scale: Scalar::Float(1.0), causal: false, gradient: false };
        let [q, k, y] = [[3, 4, 5, 8], [3, 2, 6, 8], [3, 4, 5, 8]].map(|dims| Meta::contiguous(DType::F32, &dims[..]));
        let mask = Meta::contiguous(DType::Bool, (5, 6));
        let given = || Given::of(form, &[&q, &k, &k, &mask], &[&y]).expect("a call");
        // A batch has 4 * 5 * 6 weights.
        for (most, count) in [(360, 1), (250, 2), (120, 3), (119, 6), (1, 6)] {
            let slices = given().slices(most).expect("slices");
            assert_eq!(slices.len(), count, "of {most} weights");
            assert_eq!(slices.iter().map(|slice| slice.scores().iter().product::<usize>()).sum::<usize>(), 360);
            let last = &slices[count - 1];
            let [q, k, y] =
                [&last.inputs[0], &last.inputs[1], &last.outputs[0]].map(|of| (of.offset / 32, of.meta.dims()[0]));
            match count {
                1 => assert_eq!([q, k, y], [(0, 3), (0, 3), (0, 3)]),
                2 | 3 => assert_eq!([q, k, y], [(40, 1), (24, 1), (40, 1)]),
                _ => assert_eq!([q, k, y], [(50, 1), (30, 1), (50, 1)]),
            }
            assert_eq!(last.inputs[3].offset, 0);
        }
    }
}
