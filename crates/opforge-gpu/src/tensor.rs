//! Tensors as kernels see them: a buffer, lengths, strides.

use opforge_core::DType;

use crate::code::Code;
use crate::kernel::{Source, Statement};
use crate::value::Value;

/// A tensor of the kernel that is written.
#[derive(Clone)]
pub(crate) struct Tensor<'a> {
    pub code: &'a Code,
    pub buffer: usize,
    /// The dtype of its elements in memory.
    pub dtype: DType,
    pub dims: Vec<Value<'a>>,
    pub steps: Vec<Value<'a>>,
}

impl<'a> Tensor<'a> {
    /// Where an element is in the buffer.
    pub fn place(&self, at: &[Value<'a>]) -> Value<'a> {
        let terms = at.iter().zip(&self.steps).map(|(&i, &step)| i * step);
        terms.fold(self.code.index(0), |sum, term| sum + term)
    }

    /// The element at an index, as it is computed in.
    pub fn load(&self, at: &[Value<'a>]) -> Value<'a> {
        self.load_at(self.place(at))
    }

    pub fn load_at(&self, place: Value<'a>) -> Value<'a> {
        self.code.defined(self.dtype.compute(), Source::Load(self.buffer), &[place.id])
    }

    /// Writes an element, rounded as it is stored.
    pub fn store(&self, at: &[Value<'a>], value: Value<'a>) {
        self.store_at(self.place(at), value);
    }

    pub fn store_at(&self, place: Value<'a>, value: Value<'a>) {
        self.code.say(Statement::Store { buffer: self.buffer, index: place.id, value: value.id });
    }

    /// The tensor without its first `n` dimensions' lengths, of which only the others are spoken: its last lengths.
    pub fn last(&self, n: usize) -> Value<'a> {
        self.dims[self.dims.len() - n]
    }
}

/// The same elements in as few dimensions as go: of a shape and the strides of several tensors.
pub(crate) fn collapsed(shape: &[usize], strides: &[&[usize]]) -> (Vec<usize>, Vec<Vec<usize>>) {
    let (mut dims, mut steps): (Vec<usize>, Vec<Vec<usize>>) = (Vec::new(), vec![Vec::new(); strides.len()]);
    for (d, &len) in shape.iter().enumerate().filter(|(_, len)| **len != 1) {
        let joins = !dims.is_empty()
            && steps.iter().zip(strides).all(|(steps, stride)| steps.last() == Some(&(stride[d].wrapping_mul(len))));
        if let (true, Some(last)) = (joins, dims.last_mut()) {
            *last *= len;
            steps
                .iter_mut()
                .zip(strides)
                .for_each(|(steps, stride)| *steps.last_mut().expect("a dimension") = stride[d]);
        } else {
            dims.push(len);
            steps.iter_mut().zip(strides).for_each(|(steps, stride)| steps.push(stride[d]));
        }
    }
    (dims, steps)
}

#[cfg(test)]
mod tests {
    use super::collapsed;

    #[test]
    fn dimensions_join_where_all_tensors_walk_through_them_alike() {
        assert_eq!(collapsed(&[2, 3, 4], &[&[12, 4, 1]]), (vec![24], vec![vec![1]]));
        assert_eq!(collapsed(&[2, 1, 4], &[&[4, 9, 1], &[0, 0, 1]]), (vec![2, 4], vec![vec![4, 1], vec![0, 1]]));
        assert_eq!(collapsed(&[2, 3, 4], &[&[12, 4, 1], &[0, 4, 1]]), (vec![2, 12], vec![vec![12, 1], vec![0, 1]]));
        assert_eq!(collapsed(&[1, 1], &[&[5, 7]]), (vec![], vec![vec![]]));
    }
}
