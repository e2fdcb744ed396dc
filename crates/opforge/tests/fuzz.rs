//! Random arguments: views, reductions and index operators against a naive model that also knows what is valid; and every function of the
//! registry with values of the right types but otherwise anything.

mod common;

use common::data::{self, read_f64, tensor};
use common::guarded;
use opforge::declaration::{Array, Param, Type, Value, each_index};
use opforge::functional as f;
use opforge::registry::functions;
use opforge::{DType, Device, ErrorKind, Result, Scalar, Tensor};
use proptest::prelude::*;

/// One change of a tensor, with arguments that need not be valid for it.
#[derive(Debug, Clone)]
enum Step {
    Narrow(i64, i64, usize),
    Slice(i64, Option<i64>, Option<i64>, i64),
    Transpose(i64, i64),
    Permute(Vec<i64>),
    Flip(Vec<i64>),
    Expand(Vec<i64>),
    Reshape(Vec<i64>),
    Unsqueeze(i64),
    Squeeze(i64),
    Diagonal(i64, i64, i64),
    Unfold(i64, usize, usize),
    Sum(Vec<i64>, bool),
    Max(Vec<i64>, bool),
    IndexSelect(i64, Vec<i64>),
}

fn step() -> impl Strategy<Value = Step> {
    let dim = || -4..4i64;
    let dims = || prop::collection::vec(dim(), 1..3);
    let size = || prop::collection::vec(-1..5i64, 0..4);
    prop_oneof![
        (dim(), -4..4i64, 0..4usize).prop_map(|(d, s, n)| Step::Narrow(d, s, n)),
        (dim(), prop::option::of(-5..5i64), prop::option::of(-5..5i64), 0..3i64)
            .prop_map(|(d, s, e, t)| Step::Slice(d, s, e, t)),
        (dim(), dim()).prop_map(|(a, b)| Step::Transpose(a, b)),
        prop::collection::vec(-2..3i64, 0..4).prop_map(Step::Permute),
        dims().prop_map(Step::Flip),
        size().prop_map(Step::Expand),
        size().prop_map(Step::Reshape),
        dim().prop_map(Step::Unsqueeze),
        dim().prop_map(Step::Squeeze),
        (-3..4i64, dim(), dim()).prop_map(|(o, a, b)| Step::Diagonal(o, a, b)),
        (dim(), 0..4usize, 0..3usize).prop_map(|(d, n, s)| Step::Unfold(d, n, s)),
        (dims(), any::<bool>()).prop_map(|(d, k)| Step::Sum(d, k)),
        (dims(), any::<bool>()).prop_map(|(d, k)| Step::Max(d, k)),
        (dim(), prop::collection::vec(-1..4i64, 0..4)).prop_map(|(d, i)| Step::IndexSelect(d, i)),
    ]
}

fn apply(step: &Step, x: &Tensor) -> Result<Tensor> {
    match step {
        Step::Narrow(dim, start, len) => f::narrow(x, *dim, *start, *len),
        Step::Slice(dim, start, end, step) => f::slice(x, *dim, *start, *end, *step),
        Step::Transpose(a, b) => f::transpose(x, *a, *b),
        Step::Permute(dims) => f::permute(x, dims),
        Step::Flip(dims) => f::flip(x, dims),
        Step::Expand(size) => f::expand(x, size),
        Step::Reshape(size) => f::reshape(x, size),
        Step::Unsqueeze(dim) => f::unsqueeze(x, *dim),
        Step::Squeeze(dim) => f::squeeze(x, Some(&[*dim])),
        Step::Diagonal(offset, a, b) => f::diagonal(x, *offset, *a, *b),
        Step::Unfold(dim, size, step) => f::unfold(x, *dim, *size, *step),
        Step::Sum(dims, keepdim) => f::sum(x, Some(dims), *keepdim, None),
        Step::Max(dims, keepdim) => f::amax(x, Some(dims), *keepdim),
        Step::IndexSelect(dim, ids) => f::index_select(x, *dim, &Tensor::from_slice(ids, ids.len(), &Device::Cpu)?),
    }
}

/// What the step should give; `None` where its arguments are wrong.
fn model(step: &Step, x: &Array) -> Option<Array> {
    let rank = x.shape.len();
    let dim = |d: i64| named(d, rank);
    match step {
        Step::Narrow(d, start, len) => narrowed(x, dim(*d)?, *start, *len),
        Step::Slice(d, start, end, step) => sliced(x, dim(*d)?, *start, *end, *step),
        Step::Transpose(a, b) => {
            let mut order: Vec<usize> = (0..rank).collect();
            order.swap(dim(*a)?, dim(*b)?);
            Some(permuted(x, &order))
        }
        Step::Permute(dims) => {
            let order = distinct(dims, rank)?;
            (order.len() == rank).then(|| permuted(x, &order))
        }
        Step::Flip(dims) => {
            let flipped = |x: Array, &d: &usize| along(&x, d, x.shape[d], |i| x.shape[d] - 1 - i);
            Some(distinct(dims, rank)?.iter().fold(x.clone(), flipped))
        }
        Step::Expand(size) => expanded(x, size),
        Step::Reshape(size) => reshaped(x, size),
        Step::Unsqueeze(d) => {
            let mut shape = x.shape.clone();
            shape.insert(named(*d, rank + 1)?, 1);
            Some(Array::new(&shape, x.data.clone()))
        }
        Step::Squeeze(d) => {
            let (d, mut shape) = (dim(*d)?, x.shape.clone());
            if shape[d] == 1 {
                shape.remove(d);
            }
            Some(Array::new(&shape, x.data.clone()))
        }
        Step::Diagonal(offset, a, b) => diagonal(x, *offset, dim(*a)?, dim(*b)?),
        Step::Unfold(d, size, step) => unfolded(x, dim(*d)?, *size, *step),
        Step::Sum(dims, keepdim) => reduced(x, &distinct(dims, rank)?, *keepdim, 0.0, |a, b| a + b),
        Step::Max(dims, keepdim) => {
            let dims = distinct(dims, rank)?;
            let kept = (0..rank).filter(|d| !dims.contains(d)).all(|d| x.shape[d] > 0);
            let nothing = kept && dims.iter().any(|&d| x.shape[d] == 0);
            if nothing { None } else { reduced(x, &dims, *keepdim, f64::NEG_INFINITY, f64::max) }
        }
        Step::IndexSelect(d, ids) => {
            let d = dim(*d)?;
            let valid = ids.iter().all(|&i| (0..x.shape[d] as i64).contains(&i));
            // Where there is nothing to read no index is looked at.
            valid.then(|| along(x, d, ids.len(), |i| ids[i] as usize))
        }
    }
}

/// `n` elements along a dimension, from these places of it.
fn along(x: &Array, d: usize, n: usize, place: impl Fn(usize) -> usize) -> Array {
    let mut shape = x.shape.clone();
    shape[d] = n;
    Array::from_fn(&shape, |index| {
        let mut index = index.to_vec();
        index[d] = place(index[d]);
        x.at(&index)
    })
}

fn narrowed(x: &Array, d: usize, start: i64, len: usize) -> Option<Array> {
    let start = usize::try_from(if start < 0 { start + x.shape[d] as i64 } else { start }).ok()?;
    (start + len <= x.shape[d]).then(|| along(x, d, len, |i| start + i))
}

fn sliced(x: &Array, d: usize, start: Option<i64>, end: Option<i64>, step: i64) -> Option<Array> {
    let n = x.shape[d] as i64;
    let bound = |at: i64| (if at < 0 { at + n } else { at }).clamp(0, n);
    let (start, end) = (start.map_or(0, bound), end.map_or(n, bound));
    let step = usize::try_from(step).ok().filter(|&s| s > 0)?;
    let len = usize::try_from(end - start).unwrap_or(0).div_ceil(step);
    Some(along(x, d, len, |i| start as usize + i * step))
}

fn expanded(x: &Array, size: &[i64]) -> Option<Array> {
    let lead = size.len().checked_sub(x.shape.len())?;
    let shape: Vec<usize> = (size.iter().enumerate())
        .map(|(i, &n)| match (n, i.checked_sub(lead).map(|d| x.shape[d])) {
            (-1, own) => own,
            (n, None) => usize::try_from(n).ok(),
            (n, Some(own)) => usize::try_from(n).ok().filter(|&n| own == 1 || own == n),
        })
        .collect::<Option<_>>()?;
    Some(Array::from_fn(&shape, |index| x.at_broadcast(index)))
}

fn reshaped(x: &Array, size: &[i64]) -> Option<Array> {
    let known: i64 = size.iter().filter(|&&n| n >= 0).product();
    let holes = size.iter().filter(|&&n| n == -1).count();
    let hole = if holes == 1 && known > 0 { x.data.len() as i64 / known } else { 0 };
    let shape: Vec<usize> = size.iter().map(|&n| if n == -1 { hole } else { n } as usize).collect();
    let fits = holes <= 1 && (holes == 0 || known > 0) && shape.iter().product::<usize>() == x.data.len();
    fits.then(|| Array::new(&shape, x.data.clone()))
}

fn diagonal(x: &Array, offset: i64, a: usize, b: usize) -> Option<Array> {
    if a == b {
        return None;
    }
    let rank = x.shape.len();
    let (down, right) = ((-offset).max(0) as usize, offset.max(0) as usize);
    let len = x.shape[a].saturating_sub(down).min(x.shape[b].saturating_sub(right));
    let kept: Vec<usize> = (0..rank).filter(|&d| d != a && d != b).collect();
    let shape: Vec<usize> = kept.iter().map(|&d| x.shape[d]).chain([len]).collect();
    Some(Array::from_fn(&shape, |index| {
        let mut at = vec![0; rank];
        kept.iter().zip(index).for_each(|(&d, &i)| at[d] = i);
        (at[a], at[b]) = (index[index.len() - 1] + down, index[index.len() - 1] + right);
        x.at(&at)
    }))
}

fn unfolded(x: &Array, d: usize, size: usize, step: usize) -> Option<Array> {
    if step == 0 || size > x.shape[d] {
        return None;
    }
    let (rank, mut shape) = (x.shape.len(), x.shape.clone());
    shape[d] = (x.shape[d] - size) / step + 1;
    shape.push(size);
    Some(Array::from_fn(&shape, |index| {
        let mut at = index[..rank].to_vec();
        at[d] = at[d] * step + index[rank];
        x.at(&at)
    }))
}

fn named(d: i64, rank: usize) -> Option<usize> {
    let n = rank as i64;
    (-n..n).contains(&d).then(|| (if d < 0 { d + n } else { d }) as usize)
}

fn distinct(dims: &[i64], rank: usize) -> Option<Vec<usize>> {
    let dims: Vec<usize> = dims.iter().map(|&d| named(d, rank)).collect::<Option<_>>()?;
    dims.iter().enumerate().all(|(i, d)| !dims[..i].contains(d)).then_some(dims)
}

fn permuted(x: &Array, order: &[usize]) -> Array {
    let shape: Vec<usize> = order.iter().map(|&d| x.shape[d]).collect();
    Array::from_fn(&shape, |index| {
        let mut at = vec![0; index.len()];
        order.iter().zip(index).for_each(|(&d, &i)| at[d] = i);
        x.at(&at)
    })
}

fn reduced(x: &Array, dims: &[usize], keepdim: bool, start: f64, f: fn(f64, f64) -> f64) -> Option<Array> {
    let kept: Vec<usize> = (0..x.shape.len()).map(|d| if dims.contains(&d) { 1 } else { x.shape[d] }).collect();
    let mut out = Array::from_fn(&kept, |_| start);
    each_index(&x.shape, |index| {
        let flat = kept.iter().zip(index).fold(0, |flat, (&n, &i)| flat * n + if n == 1 { 0 } else { i });
        out.data[flat] = f(out.data[flat], x.at(index));
    });
    if !keepdim {
        out.shape = (0..x.shape.len()).filter(|d| !dims.contains(d)).map(|d| x.shape[d]).collect();
    }
    Some(out)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn steps_agree_with_the_model(shape in prop::collection::vec(0..4usize, 1..4), steps in prop::collection::vec(step(), 1..12)) {
        let mut expected = Array::spread(&shape, -9.0..9.0).map(f64::round);
        let mut x = tensor(&expected, DType::F64);
        for step in &steps {
            let got = guarded(|| apply(step, &x).and_then(|y| data::elements(&y).map(|_| y)));
            let got = got.map_err(|panic| TestCaseError::fail(format!("{step:?} on {:?} panicked: {panic}", expected.shape)))?;
            // A scalar counts as having one dimension here and there; the model does not know where.
            if expected.shape.is_empty() {
                break;
            }
            match (model(step, &expected), got) {
                (Some(want), Ok(y)) => {
                    prop_assert_eq!(y.dims(), &want.shape[..], "{:?} on {:?}", step, expected.shape);
                    prop_assert_eq!(read_f64(&y), Ok(want.data.clone()), "{:?} on {:?}", step, expected);
                    (x, expected) = (y, want);
                }
                (None, Err(_)) => {}
                (Some(want), Err(e)) => prop_assert!(false, "{step:?} on {:?}: {e}, expected {:?}", expected.shape, want.shape),
                (None, Ok(y)) => prop_assert!(false, "{step:?} on {:?} gave {:?}", expected.shape, y.dims()),
            }
        }
    }
}

/// A value of a parameter's type, but for that anything.
fn value(ty: Type) -> BoxedStrategy<Value> {
    let whole = || prop_oneof![8 => -3..5i64, 1 => Just(i64::MAX), 1 => Just(i64::MIN)];
    let number = || prop_oneof![-3.0..5.0, Just(0.0), Just(f64::NAN), Just(f64::INFINITY), Just(-1e300)];
    let scalar = move || {
        prop_oneof![
            whole().prop_map(Scalar::Int),
            number().prop_map(Scalar::Float),
            any::<bool>().prop_map(Scalar::Bool),
            Just(Scalar::UInt(u64::MAX)),
            Just(Scalar::Complex(1.0, 2.0)),
        ]
    };
    match ty {
        Type::Tensor => some_tensor().prop_map(Value::Tensor).boxed(),
        Type::Tensors => prop::collection::vec(some_tensor(), 0..4).prop_map(Value::Tensors).boxed(),
        Type::Operand => prop_oneof![some_tensor().prop_map(Value::Tensor), scalar().prop_map(Value::Scalar)].boxed(),
        Type::Scalar => scalar().prop_map(Value::Scalar).boxed(),
        Type::Int => whole().prop_map(|i| Value::Scalar(Scalar::Int(i))).boxed(),
        Type::Float => number().prop_map(|x| Value::Scalar(Scalar::Float(x))).boxed(),
        Type::Bool => any::<bool>().prop_map(|b| Value::Scalar(Scalar::Bool(b))).boxed(),
        Type::Ints => prop::collection::vec(whole(), 0..4).prop_map(Value::Ints).boxed(),
        Type::Floats => prop::collection::vec(number(), 0..4).prop_map(Value::Floats).boxed(),
        Type::OptionalTensors => {
            prop::collection::vec(prop::option::of(some_tensor()), 0..4).prop_map(Value::OptionalTensors).boxed()
        }
        Type::DType => prop::sample::select(&DType::ALL[..]).prop_map(Value::DType).boxed(),
        Type::Device => prop_oneof![Just(Device::Cpu), Just(Device::Meta)].prop_map(Value::Device).boxed(),
        Type::Generator => Just(Value::Generator(opforge::Generator::new())).boxed(),
        Type::Text => {
            prop::sample::select(vec!["none", "mean", "sum", "tanh", ""]).prop_map(|s| Value::Text(s.into())).boxed()
        }
        Type::Optional(inner) => prop_oneof![Just(Value::None), value(*inner)].boxed(),
    }
}

fn some_tensor() -> impl Strategy<Value = Tensor> {
    let dtype = prop_oneof![4 => Just(DType::F32), 2 => Just(DType::I64), 2 => prop::sample::select(&DType::ALL[..])];
    let shape = prop_oneof![4 => prop::collection::vec(0..4usize, 0..4), 1 => Just(vec![2, 2])];
    (dtype, shape, any::<bool>()).prop_map(|(dtype, shape, transposed)| {
        let x = tensor(&Array::spread(&shape, -2.0..4.0).map(f64::round), dtype);
        if transposed && shape.len() > 1 { x.transpose(0, 1).expect("two dimensions") } else { x }
    })
}

fn arguments(params: &[Param]) -> BoxedStrategy<Vec<Value>> {
    let none = Just(Vec::new()).boxed();
    params.iter().fold(none, |all, param| {
        (all, value(param.ty))
            .prop_map(|(mut all, value)| {
                all.push(value);
                all
            })
            .boxed()
    })
}

/// Reads what a function returned.
fn settle(value: Value) -> Result<()> {
    let tensors = match value {
        Value::Tensor(t) => vec![t],
        Value::Tensors(t) => t,
        _ => vec![],
    };
    tensors.iter().filter(|t| t.device().is_cpu()).try_for_each(|t| data::elements(t).map(drop))
}

#[test]
fn no_function_panics() {
    let config = ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() };
    let mut failures = Vec::new();
    for function in functions() {
        let mut runner = proptest::test_runner::TestRunner::new_with_rng(
            config.clone(),
            proptest::test_runner::TestRng::deterministic_rng(Default::default()),
        );
        let result = runner.run(&arguments(function.params), |values| {
            match guarded(|| function.invoke(&values).and_then(settle)) {
                Err(panic) => Err(TestCaseError::fail(format!("{} panicked: {panic}", function.name))),
                Ok(Err(e)) if matches!(e.kind(), ErrorKind::Kernel | ErrorKind::Interrupted | ErrorKind::Other) => {
                    Err(TestCaseError::fail(format!("{}: {e}", function.name)))
                }
                Ok(_) => Ok(()),
            }
        });
        if let Err(e) = result {
            failures.push(format!("{}: {e}", function.name));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
