//! One kernel of several calls gives the bits that the calls give one by one.

#[path = "fusion/queue.rs"]
mod queue;
#[path = "fusion/record.rs"]
mod record;

use opforge::{DType, Device, Result, Tensor};
use proptest::prelude::*;

use record::{Program, record};

fn values(shape: &[usize], dtype: DType, seed: usize) -> Tensor {
    let count: usize = shape.iter().product();
    let numbers = (0..count).map(|i| ((i * 7919 + seed * 104_729) % 2003) as f64 / 1001.0 - 1.0);
    let numbers: Vec<f64> =
        if dtype.is_float() { numbers.collect() } else { numbers.map(|x| (x * 9.0).round()).collect() };
    Tensor::from_vec(numbers, shape, &Device::Cpu).unwrap().to_dtype(dtype).unwrap()
}

fn floats(shape: &[usize], seed: usize) -> Tensor {
    values(shape, DType::F32, seed)
}

/// Records `f`, and expects that one kernel carries out `calls` calls with the same bits.
fn expect_one(calls: usize, f: impl FnOnce() -> Result<Tensor>) {
    let program: Program = record(f);
    assert_eq!(program.joined(), calls, "{program:?}");
    program.check(calls, &[]);
    program.check(calls, &[0]);
}

#[test]
fn maps_of_one_shape() {
    for shape in [&[100_003][..], &[301, 77], &[7, 5, 1300], &[2, 3, 4, 5000], &[40, 1, 640]] {
        let [x, y] = [1, 2].map(|seed| floats(shape, seed));
        expect_one(3, || ((&x * &y)? + &x)?.gelu());
    }
}

#[test]
fn rows_and_columns_that_are_repeated() {
    let (x, w, b) = (floats(&[96, 1500], 1), floats(&[1500], 2), floats(&[96, 1], 3));
    expect_one(3, || x.broadcast_mul(&w)?.broadcast_add(&b)?.tanh());
    let (x, w) = (floats(&[6, 10, 700], 1), floats(&[10, 1], 2));
    expect_one(2, || x.broadcast_add(&w)?.exp());
}

#[test]
fn softmax_of_a_masked_and_scaled_score() {
    let (scores, mask) = (floats(&[8, 40, 333], 1), floats(&[40, 333], 2));
    expect_one(3, || {
        let scaled = (&scores * 0.125)?;
        opforge::functional::softmax(&scaled.broadcast_add(&mask)?, 2, None)
    });
}

#[test]
fn rows_are_reduced_within_blocks() {
    let x = floats(&[500, 300], 1);
    expect_one(3, || {
        let squares = x.sqr()?;
        x.broadcast_div(&squares.sum_keepdim(1)?)
    });
    let (x, y) = (floats(&[200, 384], 1), floats(&[200, 384], 2));
    expect_one(2, || opforge::functional::rms_norm(&(&x + &y)?, &[384], None, Some(1e-5)));
    let (scale, shift) = (floats(&[384], 3), floats(&[384], 4));
    expect_one(2, || opforge::functional::layer_norm(&(&x + &y)?, &[384], Some(&scale), Some(&shift), 1e-5));
    expect_one(2, || (&x * &y)?.argmax(1));
}

#[test]
fn transposed_and_repeated_results() {
    let x = floats(&[120, 130], 1);
    // Read as its transpose alone, a result is the same block by block.
    expect_one(2, || x.exp()?.t()?.sqr());
    let (row, y) = (floats(&[64, 1], 2), floats(&[64, 900], 3));
    expect_one(2, || row.exp()?.broadcast_add(&y));
}

/// The differences are written nowhere, unless somebody wants them or another tensor is a factor.
#[test]
fn squared_differences_are_reduced_as_such() {
    for (dtype, shape) in [
        (DType::F32, &[300_007][..]),
        (DType::F64, &[300, 1001]),
        (DType::BF16, &[70, 3001]),
        (DType::F32, &[4_200_001]),
    ] {
        let [x, y, z] = [1, 2, 3].map(|seed| values(shape, dtype, seed));
        expect_one(2, || opforge::functional::mean_square(&(&x - &y)?, None, false));
        expect_one(3, || (&x - &y)?.sqr()?.mean_all());
        expect_one(3, || (&x - &y)?.sqr()?.sum_all());
        expect_one(3, || {
            let difference = (&x - &y)?;
            (&difference * &difference)?.sum_all()
        });
        expect_one(3, || (&(&x - &y)? * &z)?.mean_all());
        expect_one(2, || (&x - &x)?.sum_all());
    }
}

#[test]
fn totals_end_a_program() {
    for shape in [&[100_003][..], &[301, 777], &[16, 16, 1024]] {
        let [x, y] = [1, 2].map(|seed| floats(shape, seed));
        expect_one(3, || (&x - &y)?.sqr()?.mean_all());
        expect_one(2, || (&x * &y)?.sum_all());
        expect_one(3, || x.abs()?.affine(2.0, 1.0)?.max_all());
        expect_one(3, || x.to_dtype(DType::BF16)?.sqr()?.sum_all());
        let (whole, truth) = (values(shape, DType::I64, 1), x.gt(&y).unwrap());
        expect_one(2, || (&whole + &whole)?.sum_all());
        expect_one(2, || opforge::functional::any(&truth.where_cond(&x, &y)?, None, false));
    }
    // Another order of elements, rows that are repeated, short tensors, and what is not made by the calls before.
    let (x, row) = (floats(&[300, 400], 1), floats(&[400], 2));
    for (name, f) in [
        ("transposed", (|x: &Tensor, _: &Tensor| x.exp()?.t()?.sum_all()) as fn(&Tensor, &Tensor) -> Result<Tensor>),
        ("a repeated row", |x, row| x.broadcast_mul(row)?.sum_all()),
        ("a short one", |_, row| row.exp()?.sum_all()),
        ("an argument's", |x, _| {
            x.exp()?;
            x.sum_all()
        }),
    ] {
        let program = record(|| f(&x, &row));
        assert_eq!(program.joined(), 1, "{name}: {program:?}");
    }
    let program = record(|| (x.exp()?.sum_all()? + 1.0)?.exp());
    assert_eq!(program.joined(), 2, "what follows a total is another program");
}

#[test]
fn dtypes_change_on_the_way() {
    for dtype in [DType::F16, DType::BF16, DType::F64] {
        let x = values(&[300, 400], dtype, 1);
        expect_one(4, || (x.to_dtype(DType::F32)?.exp()? + 1.0)?.to_dtype(dtype));
    }
    let (x, y) = (values(&[90_000], DType::I64, 1), floats(&[90_000], 2));
    expect_one(3, || x.gt(2i64)?.where_cond(&y, &y.neg()?));
}

#[test]
fn what_does_not_go_together_stays_apart() {
    let x = floats(&[300, 300], 1);
    for (name, f) in [
        (
            "a result and its transpose",
            (|x: &Tensor| {
                let y = x.exp()?;
                &y + &y.t()?
            }) as fn(&Tensor) -> Result<Tensor>,
        ),
        ("sums of columns, spread again", |x| x.broadcast_div(&x.sqr()?.sum_keepdim(0)?)),
        ("a part of a result", |x| x.exp()?.narrow(0, 0, 10)?.sqr()),
        ("another part", |x| x.exp()?.narrow(1, 7, 200)?.sqr()),
    ] {
        let program = record(|| f(&x));
        assert!(program.joined() < program.len(), "{name}: {program:?}");
    }
}

/// A step of a random program: what it does, and with which of the tensors so far.
type Choice = (u8, usize, usize);

fn step((kind, a, b): Choice, pool: &[Tensor]) -> Result<Tensor> {
    let (x, y) = (&pool[a % pool.len()], &pool[b % pool.len()]);
    match kind % 15 {
        0 => x.broadcast_add(y),
        1 => x.broadcast_mul(y),
        2 => x.broadcast_sub(y),
        3 => x.broadcast_maximum(y),
        4 => x.tanh(),
        5 => x.relu(),
        6 => x.affine(0.5, 0.25),
        7 => x.sum_keepdim(x.rank() - 1),
        8 => x.max_keepdim(x.rank() - 1),
        9 => opforge::functional::softmax(x, -1, None),
        10 => x.to_dtype(DType::F16)?.to_dtype(DType::F32),
        14 => x.sum_all()?.reshape((1, 1, 1)),
        11 => x.broadcast_lt(y)?.where_cond(&x.broadcast_add(y)?, &x.broadcast_sub(y)?),
        12 if x.rank() == 3 && x.dims()[0] == x.dims()[1] => x.transpose(0, 1)?.exp(),
        _ => x.neg(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 48 } else { 400 }))]
    #[test]
    fn random_programs(
        dims in prop::sample::select(vec![[3usize, 50, 700], [64, 64, 64], [1, 2, 40_000], [900, 30, 2], [1000, 1, 65], [17, 129, 33]]),
        choices in prop::collection::vec((any::<u8>(), any::<usize>(), any::<usize>()), 2..9),
        wanted in prop::collection::vec(0usize..9, 0..3),
    ) {
        let [a, b, c] = dims;
        let mut pool = vec![floats(&[a, b, c], 1), floats(&[a, b, c], 2), floats(&[c], 3), floats(&[b, 1], 4), floats(&[a, 1, 1], 5)];
        let program = record(|| {
            for choice in choices {
                // The last results are likelier to be read.
                let last = pool[pool.len() - 1].clone();
                if let Ok(made) = step(choice, &pool) && made.rank() == 3 {
                    pool.push(last);
                    pool.push(made);
                }
            }
            Ok(pool.pop().unwrap())
        });
        let joined = program.joined();
        if joined > 1 {
            let wanted: Vec<usize> = wanted.into_iter().filter(|i| *i < joined).collect();
            program.check(joined, &wanted);
        }
    }
}
