//! Products and the calls that follow them on each rectangle of their results.

use crate::common::floats;
use opforge::{DType, Device, Result, Tensor, Var, no_grad};
use opforge_graph::{Options, Program, trace};
use proptest::prelude::*;

/// The bits of each result of a function, which a program of it and eager code must share, and how many calls each kernel carries out.
fn expect_eager(given: &[&Tensor], f: impl Fn(&[Tensor]) -> Result<Vec<Tensor>>) -> Vec<usize> {
    let owned: Vec<Tensor> = given.iter().map(|&x| x.clone()).collect();
    let eager = no_grad(|| f(&owned)).unwrap();
    let program = trace(given, f).unwrap().compile().unwrap();
    let results = program.run(given).unwrap();
    for (result, expected) in results.iter().zip(&eager) {
        assert_eq!(result.dims(), expected.dims());
        assert_eq!(bits(result), bits(expected));
    }
    joined(&program)
}

fn bits(x: &Tensor) -> Vec<u64> {
    let wide = x.to_dtype(DType::F64).unwrap().contiguous().unwrap().flatten_all().unwrap();
    wide.to_vec1::<f64>().unwrap().into_iter().map(f64::to_bits).collect()
}

fn joined(program: &Program) -> Vec<usize> {
    program.stages().iter().map(|stage| stage.calls.len()).collect()
}

/// A bias, an activation, a residual, a scale: of results of any size, whole vectors or not, one task or several.
#[test]
fn activations_and_residuals_are_made_with_the_product() {
    // The last ones are of many rows and little depth, with one kernel for all columns and with several.
    for (m, k, n) in [
        (60, 64, 100),
        (2, 300, 500),
        (300, 40, 300),
        (513, 257, 129),
        (64, 1000, 1300),
        (241, 33, 2500),
        (600, 40, 30),
        (600, 12, 100),
    ] {
        let (x, w) = (floats(&[m, k], 1), floats(&[n, k], 2));
        let (bias, residual) = (floats(&[n], 3), floats(&[m, n], 4));
        let calls = expect_eager(&[&x, &residual], |x| {
            let y = x[0].matmul(&w.t()?)?.broadcast_add(&bias)?.gelu_erf()?;
            Ok(vec![(y * 0.5)?.add(&x[1])?])
        });
        assert_eq!(calls, [5], "{m} {k} {n}");
        // So is a number for each row.
        let column = floats(&[m, 1], 5);
        let calls = expect_eager(&[&x], |x| Ok(vec![x[0].matmul(&w.t()?)?.broadcast_mul(&column)?.relu()?]));
        assert_eq!(calls, [3]);
        // What others read too is there as well.
        let calls = expect_eager(&[&x], |x| {
            let y = x[0].matmul(&w.t()?)?;
            Ok(vec![y.relu()?, y.clone()])
        });
        assert_eq!(calls, [2]);
        // So it is where it is read twice.
        let calls = expect_eager(&[&x], |x| {
            let y = x[0].matmul(&w.t()?)?;
            Ok(vec![y.mul(&y.tanh()?)?])
        });
        assert_eq!(calls, [3]);
    }
}

#[test]
fn every_dtype_and_batches() {
    for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
        let x = floats(&[3, 170, 190], 1).to_dtype(dtype).unwrap();
        let (w, v) =
            (floats(&[3, 190, 130], 2).to_dtype(dtype).unwrap(), floats(&[110, 190], 3).to_dtype(dtype).unwrap());
        assert_eq!(expect_eager(&[&x, &w], |x| Ok(vec![x[0].matmul(&x[1])?.relu()?])), [2], "{dtype}");
        let (tall, narrow) =
            (floats(&[2000, 16], 4).to_dtype(dtype).unwrap(), floats(&[16, 40], 5).to_dtype(dtype).unwrap());
        assert_eq!(expect_eager(&[&tall, &narrow], |x| Ok(vec![x[0].matmul(&x[1])?.relu()?])), [2], "{dtype}");
        let linear = |x: &[Tensor]| {
            let y = opforge::functional::linear(&x[0], &v, None)?;
            Ok(vec![y.affine(2.0, 1.0)?.to_dtype(DType::I64)?.to_dtype(DType::F32)?.sin()?])
        };
        assert_eq!(expect_eager(&[&x], linear), [5], "{dtype}");
    }
}

/// Rows of what follows are channels, its columns positions: of blocks of either, of images side by side, and of lines of one dimension.
#[test]
fn activations_and_residuals_are_made_with_the_convolution() {
    use opforge::functional as f;
    let sizes: [([usize; 4], [usize; 4], i64, i64); 6] = [
        ([2, 16, 30, 30], [24, 16, 3, 3], 1, 1),
        ([1, 3, 90, 70], [33, 3, 5, 5], 2, 1),
        ([20, 8, 6, 6], [17, 8, 1, 1], 1, 1),
        ([3, 32, 20, 20], [32, 1, 3, 3], 1, 32),
        ([2, 64, 40, 40], [2, 64, 3, 3], 1, 1),
        ([1, 40, 200, 90], [20, 20, 3, 3], 1, 2),
    ];
    for (dtype, (x, w, stride, groups)) in sizes.iter().flat_map(|size| [(DType::F32, size), (DType::BF16, size)]) {
        let of = |dims: &[usize], seed| floats(dims, seed).to_dtype(dtype).unwrap();
        let (x, w, bias) = (of(x, 1), of(w, 2), of(&w[..1], 3));
        let convolve = |x: &Tensor| f::conv2d(x, &w, Some(&bias), &[*stride], &[1], &[1], *groups);
        let residual = of(convolve(&x).unwrap().dims(), 4);
        let calls = expect_eager(&[&x, &residual], |x| Ok(vec![convolve(&x[0])?.relu()?.add(&x[1])?.tanh()?]));
        assert_eq!(calls, [4], "{dtype} {x:?} {w:?}");
        let calls = expect_eager(&[&x], |x| {
            let y = convolve(&x[0])?;
            Ok(vec![y.mul(&y.tanh()?)?, y])
        });
        assert_eq!(calls, [3]);
        let of_channels = of(&[w.dims()[0], 1, 1], 5);
        assert_eq!(expect_eager(&[&x], |x| Ok(vec![convolve(&x[0])?.broadcast_mul(&of_channels)?.relu()?])), [3]);
    }
    let (x, w, position) = (floats(&[3, 20, 400], 1), floats(&[30, 20, 5], 2), floats(&[396], 3));
    let convolve = |x: &Tensor| f::conv1d(x, &w, None, &[1], &[0], &[1], 1);
    assert_eq!(expect_eager(&[&x], |x| Ok(vec![convolve(&x[0])?.broadcast_add(&position)?.relu()?])), [3]);
    let (x, w) = (floats(&[2, 20, 30, 30], 1), floats(&[20, 10, 4, 4], 2));
    for (stride, calls) in [(1, vec![2]), (2, vec![1, 1])] {
        let grow = |x: &[Tensor]| {
            let y = f::conv_transpose2d(&x[0], &w, None, &[stride], &[1], &[0], 1, &[1])?;
            Ok(vec![y.relu()?])
        };
        assert_eq!(expect_eager(&[&x], grow), calls);
    }
}

/// What is made of the statistics comes before the convolution, so that the norm follows it.
#[test]
fn norms_by_running_statistics_are_made_with_the_convolution() {
    use opforge::functional as f;
    for (batch, side) in [(1, 20), (3, 9)] {
        let (x, w, residual) =
            (floats(&[batch, 8, side, side], 1), floats(&[24, 8, 3, 3], 2), floats(&[batch, 24, side, side], 6));
        let [mean, weight, bias] = [3, 4, 5].map(|seed| floats(&[24], seed));
        let var = floats(&[24], 7).sqr().unwrap();
        let block = |x: &[Tensor]| {
            let y = f::conv2d(&x[0], &w, None, &[1], &[1], &[1], 1)?;
            let y = f::batch_norm(&y, Some(&mean), Some(&var), Some(&weight), Some(&bias), false, 0.1, 1e-5)?;
            Ok(vec![y.add(&x[1])?.relu()?])
        };
        let calls = expect_eager(&[&x, &residual], block);
        assert_eq!(calls.last(), Some(&4), "{calls:?}");
    }
    // Channels of a product are its columns, however many rows there are: also one.
    for (rows, columns) in [(200, 200), (300, 200), (200, 300), (1, 200)] {
        let (x, w) = (floats(&[rows, 100], 1), floats(&[columns, 100], 2));
        let [mean, shift] = [3, 4].map(|seed| floats(&[columns], seed));
        let var = floats(&[columns], 7).sqr().unwrap();
        expect_eager(&[&x], |x| {
            let y = f::linear(&x[0], &w, None)?;
            let y = f::batch_norm(&y, Some(&mean), Some(&var), None, Some(&shift), false, 0.1, 1e-5)?;
            Ok(vec![y.relu()?])
        });
    }
    // One channel, and one position of as many channels as images.
    for (x, w) in [([3, 4, 9, 9], [1, 4, 3, 3]), ([12, 5, 3, 3], [12, 5, 3, 3]), ([1, 5, 3, 3], [12, 5, 3, 3])] {
        let (x, w) = (floats(&x, 1), floats(&w, 2));
        let channels = w.dims()[0];
        let (mean, var) = (floats(&[channels], 3), floats(&[channels], 7).sqr().unwrap());
        expect_eager(&[&x], |x| {
            let y = f::conv2d(&x[0], &w, None, &[1], &[0], &[1], 1)?;
            Ok(vec![f::batch_norm(&y, Some(&mean), Some(&var), None, None, false, 0.1, 1e-5)?.relu()?])
        });
    }
}

/// A gradient that only its step reads never lies in memory.
#[test]
fn an_optimizer_steps_with_the_gradient() {
    let (x, g) = (floats(&[200, 120], 1), floats(&[200, 80], 2));
    let weights = [floats(&[80, 120], 3), floats(&[80, 120], 3)].map(|w| Var::from_tensor(&w).unwrap());
    let step = |w: &Var, x: &[Tensor]| -> Result<Vec<Tensor>> {
        no_grad(|| w.sub_(&(x[1].t()?.matmul(&x[0])? * 0.1)?)).map(|_| vec![])
    };
    let program = trace(&[&x, &g], |x| step(&weights[0], x)).unwrap().compile().unwrap();
    assert_eq!((joined(&program), program.memory()), (vec![3], 80 * 120 * 4));
    for _ in 0..3 {
        program.run(&[&x, &g]).unwrap();
        step(&weights[1], &[x.clone(), g.clone()]).unwrap();
        assert_eq!(bits(&weights[0]), bits(&weights[1]));
    }
}

/// What a product reads must stay until all of it is made; and rows, other views and sums of all wait for all of its result.
#[test]
fn what_cannot_follow_does_not() {
    let x = floats(&[150, 150], 1);
    let in_place = |x: &[Tensor]| {
        let own = x[0].affine(1.0, 0.5)?;
        own.add_(&own.matmul(&x[0])?)?;
        Ok(vec![own])
    };
    assert_eq!(expect_eager(&[&x], in_place), [1, 1, 1]);
    let over_result = |x: &[Tensor]| {
        let y = x[0].matmul(&x[0])?;
        y.mul_(&x[0])?;
        Ok(vec![y])
    };
    assert_eq!(expect_eager(&[&x], over_result), [1, 1]);
    assert_eq!(expect_eager(&[&x], |x| Ok(vec![x[0].matmul(&x[0])?.t()?.exp()?])), [1, 1]);
    assert_eq!(expect_eager(&[&x], |x| Ok(vec![x[0].matmul(&x[0])?.narrow(0, 3, 60)?.exp()?])), [1, 1]);
    assert_eq!(
        expect_eager(&[&x], |x| Ok(vec![opforge::functional::softmax(&x[0].matmul(&x[0])?, -1, None)?])),
        [1, 1]
    );
    let product_again = |x: &[Tensor]| Ok(vec![x[0].matmul(&x[0])?.relu()?.matmul(&x[0])?.relu()?]);
    assert_eq!(expect_eager(&[&x], product_again), [2, 2]);
}

/// A packed weight is read as it is at each run, whatever follows the product.
#[test]
fn a_packed_weight_is_followed_too() {
    let weight = Var::from_tensor(&floats(&[300, 200], 1)).unwrap();
    let x = floats(&[30, 200], 2);
    let f = |x: &[Tensor]| Ok(vec![x[0].matmul(&weight.t()?)?.relu()?]);
    let program = trace(&[&x], f).unwrap().compile().unwrap();
    assert_eq!(joined(&program), [2]);
    for seed in 3..6 {
        let expected = no_grad(|| f(std::slice::from_ref(&x))).unwrap();
        assert_eq!(bits(&program.run(&[&x]).unwrap()[0]), bits(&expected[0]));
        weight.set(&floats(&[300, 200], seed)).unwrap();
    }
}

fn follow(kind: u8, y: &Tensor, pool: &[Tensor]) -> Result<Tensor> {
    match kind % 8 {
        0 => y.broadcast_add(&pool[0]),
        1 => y.mul(&pool[1]),
        2 => y.gelu()?.add(&pool[1]),
        3 => y.affine(0.5, -0.25),
        4 => y.lt(&pool[1])?.where_cond(y, &pool[1]),
        5 => y.to_dtype(DType::F64)?.sqr()?.to_dtype(DType::F32),
        6 => y.broadcast_mul(&Tensor::full(1.5f32, (), &Device::Cpu)?),
        _ => y.sub(&y.tanh()?),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 40 } else { 600 }))]
    #[test]
    fn random_followers(
        m in 2usize..400, k in 1usize..300, n in 2usize..400, calls in prop::collection::vec(any::<u8>(), 1..6),
        kept in any::<bool>(), prepacking in any::<bool>(),
    ) {
        let (x, w) = (floats(&[m, k], 1), floats(&[n, k], 2));
        let pool = [floats(&[n], 3), floats(&[m, n], 4)];
        let f = |x: &[Tensor]| {
            let product = x[0].matmul(&w.t()?)?;
            let last = calls.iter().try_fold(product.clone(), |y, kind| follow(*kind, &y, &pool))?;
            Ok(if kept { vec![last, product] } else { vec![last] })
        };
        let eager = f(std::slice::from_ref(&x)).unwrap();
        let options = Options { prepacking, ..Options::ALL };
        let program = trace(&[&x], f).unwrap().compile_with(options).unwrap();
        for (a, b) in program.run(&[&x]).unwrap().iter().zip(&eager) {
            prop_assert_eq!(bits(a), bits(b));
        }
    }
}
