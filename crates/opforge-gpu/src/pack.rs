//! Elements that lie side by side, which a thread loads, computes and stores together: 16 bytes at a time are what memory is fastest with.

use opforge_core::DType;

use crate::kernel::{Node, Source, Statement};
use crate::tensor::Tensor;
use crate::value::Value;

/// How many elements a thread takes at a time of tensors of these lengths, each of a dtype and with its steps, perhaps of the last
/// dimensions only: 1 where they do not lie side by side. In memory, too, every pack begins after whole ones.
pub(crate) fn width<'s>(dims: &[usize], tensors: impl Iterator<Item = (DType, &'s [usize])>) -> usize {
    /// Bytes of a pack, its elements at most, and the elements from which on there are threads enough.
    const NBYTES: usize = 16;
    const MOST: usize = 8;
    const MANY: usize = 1 << 16;
    let Some(&last) = dims.last().filter(|_| dims.iter().product::<usize>() >= MANY) else { return 1 };
    let (mut size, mut whole) = (NBYTES / MOST, vec![last]);
    for (dtype, steps) in tensors {
        match steps.split_last() {
            Some((0, _)) => {}
            Some((1, outer)) => {
                size = size.max(dtype.size_in_bytes());
                let lengths = dims[..dims.len() - 1].iter().rev();
                whole.extend(outer.iter().rev().zip(lengths).filter(|(_, len)| **len > 1).map(|(step, _)| step));
            }
            _ => return 1,
        }
    }
    let mut width = NBYTES / size;
    while !whole.iter().all(|n| n.is_multiple_of(width)) {
        width /= 2;
    }
    width
}

/// The lengths in packs of `width` elements of the last dimension.
pub(crate) fn in_packs(dims: &[usize], width: usize) -> Vec<usize> {
    let mut dims = dims.to_vec();
    if let Some(last) = dims.last_mut() {
        *last /= width;
    }
    dims
}

impl<'a> Tensor<'a> {
    /// Where the first element of a pack is.
    fn first(&self, at: &[Value<'a>], width: usize) -> Value<'a> {
        let mut at = at.to_vec();
        if let Some(last) = at.last_mut().filter(|_| width > 1) {
            *last = *last * width;
        }
        self.place(&at)
    }

    /// The elements of a pack, as they are computed in; where steps are 0, one for all.
    pub fn load_pack(&self, at: &[Value<'a>], width: usize) -> Vec<Value<'a>> {
        let is_one = self.steps.last().is_none_or(|step| step.is(0));
        let index = self.first(at, width);
        if is_one { vec![self.load_at(index); width] } else { self.load_pack_at(index, width) }
    }

    /// The elements that lie side by side from a place on, as they are computed in.
    pub fn load_pack_at(&self, index: Value<'a>, width: usize) -> Vec<Value<'a>> {
        if width == 1 {
            return vec![self.load_at(index)];
        }
        let code = self.code;
        let node = |i| Node { dtype: self.dtype.compute(), source: Source::OfPack(i), operands: vec![index.id] };
        let values: Vec<Value<'a>> = (0..width).map(|i| Value { code, id: code.node(node(i)) }).collect();
        let ids = values.iter().map(|value| value.id).collect();
        code.say(Statement::LoadPack { buffer: self.buffer, index: index.id, values: ids });
        values
    }

    /// Writes the elements of a pack.
    pub fn store_pack(&self, at: &[Value<'a>], values: &[Value<'a>]) {
        self.store_pack_at(self.first(at, values.len()), values);
    }

    /// Writes elements that lie side by side from a place on.
    pub fn store_pack_at(&self, index: Value<'a>, values: &[Value<'a>]) {
        if let [value] = values {
            return self.store_at(index, *value);
        }
        let values = values.iter().map(|value| value.id).collect();
        self.code.say(Statement::StorePack { buffer: self.buffer, index: index.id, values });
    }
}

#[cfg(test)]
mod tests {
    use opforge_core::DType;

    use super::width;

    #[test]
    fn packs_have_16_bytes_of_the_widest_elements() {
        let of = |dims: &[usize], tensors: &[(DType, &[usize])]| width(dims, tensors.iter().copied());
        assert_eq!(of(&[1 << 20], &[(DType::F32, &[1]), (DType::F32, &[1])]), 4);
        assert_eq!(of(&[1 << 20], &[(DType::BF16, &[1])]), 8);
        assert_eq!(of(&[1 << 20], &[(DType::BF16, &[1]), (DType::F64, &[1])]), 2);
        assert_eq!(of(&[1 << 20], &[(DType::U8, &[1])]), 8);
        assert_eq!(of(&[1000, 1002], &[(DType::F32, &[1002, 1]), (DType::F32, &[1, 0])]), 2);
        assert_eq!(of(&[1000, 1000], &[(DType::F32, &[1002, 1])]), 2);
        assert_eq!(of(&[1, 100_000], &[(DType::F32, &[7, 1])]), 4);
        assert_eq!(of(&[1000, 1000], &[(DType::F32, &[1000, 1]), (DType::F32, &[1])]), 4);
        assert_eq!(of(&[1000, 1001], &[(DType::F32, &[1001, 1])]), 1);
        assert_eq!(of(&[1000, 1000], &[(DType::F32, &[1, 1000])]), 1);
        assert_eq!(of(&[100], &[(DType::F32, &[1])]), 1);
    }
}
