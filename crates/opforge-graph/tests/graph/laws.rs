//! Calls that are left out because their results are there already.

use crate::common::floats;
use opforge::{DType, Device, Result, Tensor};
use opforge_graph::{Options, trace};

type Function = fn(&Tensor) -> Result<Tensor>;

/// How many calls a program of a function of `x` makes; its result has the bits that eager code gives.
fn calls(x: &Tensor, f: impl Fn(&Tensor) -> Result<Tensor>) -> usize {
    let program = trace(&[x], |x| Ok(vec![f(&x[0])?])).unwrap().compile_with(Options::ALL).unwrap();
    let (found, expected) = (program.run(&[x]).unwrap().remove(0), f(x).unwrap());
    assert_eq!(found.dtype(), expected.dtype());
    assert_eq!(bits(&found), bits(&expected));
    assert!(!found.shares_storage(x));
    program.stages().iter().map(|stage| stage.calls.len()).sum()
}

fn bits(x: &Tensor) -> Vec<u64> {
    let wide = x.to_dtype(DType::F64).unwrap().flatten_all().unwrap();
    wide.to_vec1::<f64>().unwrap().into_iter().map(f64::to_bits).collect()
}

fn wild(dtype: DType) -> Tensor {
    let numbers = [
        0.0,
        -0.0,
        1.5,
        -2.5,
        0.5,
        -0.5,
        1e-40,
        -1e-40,
        3e38,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        127.0,
        -128.0,
    ];
    Tensor::new(&numbers, &Device::Cpu).unwrap().to_dtype(dtype).unwrap()
}

#[test]
fn functions_of_their_own_results() {
    let functions: [(Function, usize); 7] = [
        (Tensor::relu, 1),
        (Tensor::abs, 1),
        (Tensor::floor, 1),
        (Tensor::ceil, 1),
        (opforge::functional::trunc, 1),
        (Tensor::sign, 1),
        (Tensor::neg, 0),
    ];
    for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16, DType::I8, DType::I64] {
        for (number, (f, left)) in functions.into_iter().enumerate() {
            let x = wild(dtype);
            // The last call is there so that the result is not the argument.
            assert_eq!(calls(&x, |x| f(&f(x)?)?.sqr()), left + 1, "{number} {dtype}");
            assert_eq!(calls(&x, |x| f(&f(&f(x)?)?)), 1, "{number} {dtype}");
        }
    }
}

#[test]
fn a_wider_dtype_and_back() {
    let there_and_back = |through: DType| move |x: &Tensor| x.to_dtype(through)?.to_dtype(x.dtype())?.sqr();
    for (dtype, wide) in
        [(DType::BF16, DType::F32), (DType::F16, DType::F64), (DType::I8, DType::I64), (DType::F32, DType::F64)]
    {
        assert_eq!(calls(&wild(dtype), there_and_back(wide)), 1, "{dtype} {wide}");
    }
    for (dtype, other) in
        [(DType::F32, DType::BF16), (DType::F16, DType::BF16), (DType::F32, DType::I64), (DType::I64, DType::F32)]
    {
        assert_eq!(calls(&wild(dtype), there_and_back(other)), 3, "{dtype} {other}");
    }
}

/// Copies are left out unless they, or what they are of, change, or they are results.
#[test]
fn copies_that_stay_as_they_are() {
    let x = floats(&[4, 6], 1);
    assert_eq!(calls(&x, |x| x.copy()?.exp()?.copy()?.sqr()), 2);
    assert_eq!(calls(&x, Tensor::copy), 1);
    assert_eq!(calls(&x, |x| x.exp()?.copy()), 1);
    assert_eq!(calls(&x, |x| x.t()?.copy()?.exp()), 2);
    assert_eq!(calls(&x, |x| x.narrow(0, 1, 2)?.copy()?.exp()), 2);
    let changed = |x: &Tensor| {
        let (y, copy) = (x.exp()?, x.exp()?.copy()?);
        copy.mul_(&y)?;
        copy.sub(&y)
    };
    assert_eq!(calls(&x, changed), 4);
    let changed_later = |x: &Tensor| {
        let y = x.exp()?;
        let copy = y.copy()?;
        y.mul_(x)?;
        copy.sub(&y)
    };
    assert_eq!(calls(&x, changed_later), 4);
    assert_eq!(calls(&x, |x| x.neg()?.narrow(0, 1, 2)?.neg()?.exp()), 3);
}

/// A copy of a part is there to let go of the rest.
#[test]
fn a_result_keeps_no_more_memory_than_its_own() {
    let x = floats(&[100, 6], 1);
    let graph = trace(&[&x], |x| Ok(vec![x[0].exp()?.narrow(0, 0, 2)?.copy()?]));
    let result = graph.unwrap().compile().unwrap().run(&[&x]).unwrap().remove(0);
    assert_eq!(result.storage().nbytes(), 2 * 6 * 4);
}

/// Two results are two, though one is a copy of the other.
#[test]
fn results_stay_apart() {
    let x = floats(&[5], 1);
    let graph = trace(&[&x], |x| {
        let y = x[0].exp()?;
        Ok(vec![y.copy()?, y.neg()?.neg()?, y])
    });
    let results = graph.unwrap().compile().unwrap().run(&[&x]).unwrap();
    for (i, j) in [(0, 1), (0, 2), (1, 2)] {
        assert!(!results[i].shares_storage(&results[j]));
        assert_eq!(bits(&results[i]), bits(&results[j]));
    }
}
