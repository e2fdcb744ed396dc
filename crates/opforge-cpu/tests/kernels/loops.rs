//! Loops over operands of several strides: merged, ordered and walked.

use opforge_cpu::internals::{LoopDim, LoopDims, Walk, order_and_merge};

fn dims<const N: usize>(dims: &[(usize, [usize; N])]) -> LoopDims<N> {
    dims.iter().map(|&(len, stride)| LoopDim { len, stride }).collect()
}

#[test]
fn merges_only_what_is_one_loop_for_all_operands() {
    let mut both = dims(&[(2, [12, 12]), (3, [4, 4]), (1, [9, 9]), (4, [1, 1])]);
    order_and_merge(&mut both);
    assert_eq!(both, dims(&[(24, [1, 1])]));

    let mut one = dims(&[(3, [4, 1]), (4, [1, 3])]);
    order_and_merge(&mut one);
    assert_eq!(one, dims(&[(3, [4, 1]), (4, [1, 3])]));
}

#[test]
fn repeated_loops_go_outermost() {
    let mut repeated = dims(&[(3, [1]), (5, [0]), (2, [3])]);
    order_and_merge(&mut repeated);
    assert_eq!(repeated, dims(&[(5, [0]), (6, [1])]));
}

#[test]
fn walks_from_anywhere_in_row_major_order() {
    let loops = dims(&[(2, [100, 7]), (3, [10, 0]), (4, [1, 2])]);
    let all: Vec<[usize; 2]> = (0..2)
        .flat_map(|a| (0..3).flat_map(move |b| (0..4).map(move |c| [a * 100 + b * 10 + c, a * 7 + c * 2])))
        .collect();
    for start in 0..all.len() {
        let mut walk = Walk::new(&loops, start);
        for step in 0..all.len() {
            assert_eq!(walk.offset(), all[(start + step) % all.len()]);
            walk.step();
        }
    }
}
