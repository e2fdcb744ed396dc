//! Positions of true elements beside plain loops, where words and pieces of rows begin and end.

use opforge_core::{DType, Layout, Meta};
use opforge_cpu::index::nonzero;
use opforge_cpu::internals::{GRAIN, truths_of_eight};

/// The positions in a tensor of bytes of a layout, in row-major order.
fn expected(bytes: &[u8], layout: &Layout) -> Vec<i64> {
    let mut found = Vec::new();
    for (mut n, _) in layout.indices().enumerate().filter(|(_, at)| bytes[*at] != 0) {
        let mut position: Vec<i64> = layout.dims().iter().rev().map(|&len| take(&mut n, len)).collect();
        position.reverse();
        found.extend(position);
    }
    found
}

/// The last digit of a number whose digits go up to `len`; the number loses it.
fn take(number: &mut usize, len: usize) -> i64 {
    let digit = *number % len;
    *number /= len;
    digit as i64
}

fn check(bytes: &[u8], layout: Layout) {
    let count = layout.indices().filter(|&at| bytes[at] != 0).count();
    let (expected, rank) = (expected(bytes, &layout), layout.dims().len());
    let (start, shown) = (layout.start_offset(), format!("{layout:?}"));
    let (input, output) = (Meta { dtype: DType::Bool, layout }, Meta::contiguous(DType::I64, [count, rank]));
    let kernel = nonzero("n", &input, &output).unwrap();
    let mut found = vec![-1i64; count * rank + 1];
    // SAFETY: the bytes span the layout, and the output has an element more than the meta says.
    unsafe { kernel.run(&[bytes[start..].as_ptr()], &[found.as_mut_ptr().cast()]) }.unwrap();
    assert_eq!(found.pop(), Some(-1), "{shown}");
    assert!(found == expected, "{shown}");
}

/// All true, all false, and about half of them; true bytes are any but 0.
fn masks(n: usize) -> [Vec<u8>; 3] {
    let random = |i: usize| {
        let bits = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        if bits & 1 == 0 { 0 } else { [1, 2, 128, 255][(bits >> 1) as usize % 4] }
    };
    [vec![1; n], vec![0; n], (0..n).map(random).collect()]
}

#[test]
fn lengths_around_words_and_pieces() {
    let around = |n: usize| [n - 1, n, n + 1];
    for row in [0, 1, 7, 8, 9].into_iter().chain([64, 128, GRAIN, 3 * GRAIN].into_iter().flat_map(around)) {
        for mask in masks(3 * row) {
            check(&mask, Layout::contiguous([row]));
            check(&mask, Layout::contiguous([3, row]));
            check(&mask, Layout::contiguous([row, 3]));
        }
    }
}

#[test]
fn ranks_and_strides() {
    for mask in masks(2 * 5 * 70) {
        check(&mask, Layout::contiguous([2, 5, 70]));
        check(&mask, Layout::contiguous([2, 5, 70]).transpose(0, 2).unwrap());
        check(&mask, Layout::contiguous([2, 5, 70]).slice(2, 1, 70, 3).unwrap());
        check(&mask, Layout::contiguous([10, 70]).narrow(1, 3, 65).unwrap());
        check(&mask[..1], Layout::contiguous([1]).broadcast_as(&[3, 70].into(), "n").unwrap());
        check(&mask[..1], Layout::contiguous(()));
    }
}

#[test]
fn every_byte_but_zero_is_true() {
    for byte in 0..=255u8 {
        for place in 0..8 {
            let word = u64::from(byte) << (8 * place);
            assert_eq!(truths_of_eight(word), u64::from(byte != 0) << place);
            assert_eq!(truths_of_eight(word | !(255 << (8 * place))), 255 & !(u64::from(byte == 0) << place));
        }
    }
}
