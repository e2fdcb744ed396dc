//! Weights that eager products keep packed are those of the moment, and cost no memory that stays.

use opforge::{Device, Tensor};
use opforge_runtime::alloc;

/// Numbers that are their own places, by a few.
fn floats(dims: (usize, usize), seed: usize) -> Tensor {
    let values: Vec<f32> = (0..dims.0 * dims.1).map(|i| ((i * 7 + seed) % 23) as f32 - 11.0).collect();
    Tensor::from_vec(values, dims, &Device::Cpu).unwrap()
}

/// `x W^T` by a weight that nobody has used before.
fn by_a_new_weight(x: &Tensor, weight: &Tensor) -> Vec<f32> {
    let fresh =
        Tensor::from_vec(weight.flatten_all().unwrap().to_vec1::<f32>().unwrap(), weight.dims(), &Device::Cpu).unwrap();
    product(x, &fresh)
}

fn product(x: &Tensor, weight: &Tensor) -> Vec<f32> {
    x.matmul(&weight.t().unwrap()).unwrap().flatten_all().unwrap().to_vec1().unwrap()
}

/// At this use a weight is packed.
const USES: usize = 5;

/// Uses before it is packed, when it is, and packed.
fn expect_the_weight_of_the_moment(x: &Tensor, weight: &Tensor) {
    for _ in 0..USES + 2 {
        assert_eq!(product(x, weight), by_a_new_weight(x, weight));
    }
}

fn changes_are_seen() {
    let (x, weight) = (floats((5, 300), 3), floats((70, 300), 1));
    let half = Tensor::full(-0.5f32, (), &Device::Cpu).unwrap();
    for _ in 0..2 {
        expect_the_weight_of_the_moment(&x, &weight);
        weight.mul_(&half).unwrap();
        expect_the_weight_of_the_moment(&x, &weight);
        weight.untracked().mul_(&half).unwrap();
        expect_the_weight_of_the_moment(&x, &weight);
        weight.narrow(0, 3, 2).unwrap().mul_(&half).unwrap();
        expect_the_weight_of_the_moment(&x, &weight.narrow(0, 2, 60).unwrap());
    }
    let address = weight.storage().expose().unwrap().cast::<f32>();
    for value in [7.0, -2.0] {
        // SAFETY: the storage holds 70 x 300 floats, and no kernel runs on it: it was waited for.
        unsafe { address.add(11).write(value) };
        expect_the_weight_of_the_moment(&x, &weight);
    }
}

/// Bytes in use besides blocks that are kept for new ones.
fn in_use() -> usize {
    alloc::stats().in_use
}

fn memory_is_that_of_weights_used_often_and_ends_with_them() {
    let (x, weight) = (floats((8, 512), 3), floats((512, 512), 1));
    let bytes = weight.storage().nbytes();
    let before = in_use();
    (1..USES).for_each(|_| drop(product(&x, &weight)));
    assert!(in_use() < before + bytes, "packed for few uses");
    product(&x, &weight);
    assert!(in_use() >= before + bytes, "not packed");
    product(&floats((9, 512), 4), &weight);
    assert!(in_use() < before + 2 * bytes, "packed for each number of rows");
    drop(weight);
    assert!(in_use() < before + bytes, "kept without the weight");
}

fn a_weight_too_large_for_its_share_is_read_as_it_is() {
    let (x, weight) = (floats((8, 512), 3), floats((512, 512), 1));
    let limit = alloc::limit();
    alloc::set_limit(in_use() + 2 * weight.storage().nbytes());
    expect_the_weight_of_the_moment(&x, &weight);
    alloc::set_limit(limit);
}

fn many_weights_of_one_storage_are_kept_in_part() {
    let (x, all) = (floats((8, 256), 3), floats((100 * 128, 256), 1));
    let before = in_use();
    let weights: Vec<Tensor> = (0..100).map(|i| all.narrow(0, 128 * i, 128).unwrap()).collect();
    for weight in weights.iter().cycle().take(100 * (USES + 1)) {
        assert_eq!(product(&x, weight), by_a_new_weight(&x, weight));
    }
    weights.iter().for_each(|weight| (0..USES).for_each(|_| drop(product(&x, weight))));
    assert!(in_use() < before + all.storage().nbytes() / 4, "as many as there are weights");
}

/// One test: they look at memory that all have.
#[test]
fn packed_weights() {
    changes_are_seen();
    memory_is_that_of_weights_used_often_and_ends_with_them();
    many_weights_of_one_storage_are_kept_in_part();
    a_weight_too_large_for_its_share_is_read_as_it_is();
}
