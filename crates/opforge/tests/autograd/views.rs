//! Changes in place of tensors that share elements: gradients are those of the same computation without sharing.

use opforge::autograd::{BackwardOptions, grad, no_grad};
use opforge::dispatch::dispatch_into;
use opforge::ops::create::full::Full;
use opforge::{DType, Device, ErrorKind, Result, Tensor, Var};

const CPU: &Device = &Device::Cpu;
const ONCE: BackwardOptions = BackwardOptions { retain_graph: false, create_graph: false };
const CREATE: BackwardOptions = BackwardOptions { retain_graph: false, create_graph: true };

fn vector(x: &[f64]) -> Var {
    Var::from_slice(x, x.len(), CPU).unwrap()
}

fn matrix(rows: usize, columns: usize) -> Var {
    let data: Vec<f64> = (0..rows * columns).map(|i| 0.3 + 0.17 * i as f64).collect();
    Var::from_vec(data, (rows, columns), CPU).unwrap()
}

fn zeros(shape: (usize, usize)) -> Tensor {
    Tensor::zeros(shape, DType::F64, CPU).unwrap()
}

fn values(t: &Tensor) -> Vec<f64> {
    t.flatten_all().unwrap().to_vec1().unwrap()
}

fn gradient(root: &Tensor, of: &Tensor) -> Vec<f64> {
    let found = grad(&[(root.clone(), None)], &[of], BackwardOptions { retain_graph: true, ..ONCE });
    found.unwrap().swap_remove(0).map_or_else(Vec::new, |grad| values(&grad))
}

#[track_caller]
fn assert_refused(result: Result<()>, words: &str) {
    let error = result.expect_err(words);
    assert!(error.to_string().contains(words), "{words:?} is not in {error}");
    assert_eq!(error.kind(), ErrorKind::Autograd, "{error}");
}

#[test]
fn what_is_written_over_gets_zeros() {
    let (w, v) = (vector(&[3.0, 4.0]), vector(&[1.0, 2.0]));
    let names = |t: &Tensor| t.grad_fn().map(|f| f.name()).unwrap_or_default();
    for write in [|x: &Tensor, _: &Tensor| x.zero_set(), |x: &Tensor, v: &Tensor| x.copy_from(v)] {
        let x = w.sqr().unwrap();
        write(&x, &v).unwrap();
        assert!(x.requires_grad());
        assert_eq!(gradient(&x.sqr().unwrap(), &w), [0.0, 0.0], "{}", names(&x));
    }
    let x = w.sqr().unwrap();
    x.copy_from(&v).unwrap();
    assert_eq!(names(&x), "CopyBackward0");
    assert_eq!(gradient(&x.sqr().unwrap(), &v), [2.0, 4.0]);
    // What reads itself goes on.
    let x = w.sqr().unwrap();
    x.add_(&v).unwrap();
    assert_eq!(gradient(&x, &w), [6.0, 8.0]);
}

#[test]
fn writing_a_part_gives_the_whole_a_history() {
    let (x, w) = (zeros((2, 2)), vector(&[3.0, 4.0]));
    let row = x.get(0).unwrap();
    let column = x.narrow(1, 1, 1).unwrap();
    let corner = row.narrow(0, 0, 1).unwrap();
    let names = |t: &Tensor| t.grad_fn().map(|f| f.name()).unwrap_or_default();
    assert_eq!(names(&x), "");
    assert_eq!(
        [&x, &row, &corner, &x.detach()].map(|t| t.base().map(Tensor::id)),
        [None, Some(x.id()), Some(x.id()), None]
    );
    row.copy_from(&w).unwrap();
    assert_eq!([&x, &row, &column, &corner].map(Tensor::requires_grad), [true; 4]);
    assert_eq!([&x, &row, &column].map(names), ["CopySlices", "AsStridedBackward0", "AsStridedBackward0"]);
    let next = x.grad_fn().unwrap().next_functions();
    assert!(next[0].0.is_none() && next[1].0.as_ref().unwrap().name() == "CopyBackward0");
    assert_eq!(gradient(&x.sqr().unwrap(), &w), [6.0, 8.0]);
    assert_eq!(gradient(&column.sqr().unwrap(), &w), [0.0, 8.0]);
    assert_eq!(gradient(&corner.sqr().unwrap(), &w), [6.0, 0.0]);
    // Views that are taken later, and a detached one, which has no share in it.
    assert_eq!(gradient(&x.t().unwrap().get(0).unwrap().sqr().unwrap(), &w), [6.0, 0.0]);
    let constant = x.detach();
    constant.get(1).unwrap().copy_from(&w).unwrap();
    assert_eq!(values(&x), [3.0, 4.0, 3.0, 4.0]);
    assert_eq!(gradient(&x, &w), [1.0, 1.0]);
    assert!(constant.requires_grad());
}

#[test]
fn adding_to_a_part_keeps_the_rest() {
    let (a, w) = (vector(&[1.0, 2.0, 3.0]), vector(&[10.0]));
    let y = a.affine(2.0, 0.0).unwrap();
    let before = y.sqr().unwrap();
    y.narrow(0, 1, 1).unwrap().add_(&w).unwrap();
    let root = y.affine(5.0, 0.0).unwrap();
    assert_eq!(values(&root), [10.0, 70.0, 30.0]);
    assert_eq!((gradient(&root, &a), gradient(&root, &w)), (vec![10.0, 10.0, 10.0], vec![5.0]));
    assert_refused(before.backward().map(drop), "modified by an inplace operation");
}

#[test]
fn views_follow_their_base() {
    let (a, w) = (vector(&[1.0, 2.0, 3.0]), vector(&[10.0, 20.0, 30.0]));
    let y = a.affine(2.0, 0.0).unwrap();
    let view = y.narrow(0, 1, 2).unwrap();
    let earlier = view.affine(1.0, 0.0).unwrap();
    y.add_(&w).unwrap();
    assert_eq!((gradient(&view, &w), gradient(&view, &a)), (vec![0.0, 1.0, 1.0], vec![0.0, 2.0, 2.0]));
    // What was computed before the change has the history from before.
    assert_eq!((gradient(&earlier, &w), gradient(&earlier, &a)), (vec![], vec![0.0, 2.0, 2.0]));
    // Changes without recording leave histories as they are.
    no_grad(|| y.zero_set()).unwrap();
    assert_eq!(gradient(&view, &a), [0.0, 2.0, 2.0]);
}

#[test]
fn constants_in_a_part_end_its_graph() {
    let a = vector(&[1.0, 2.0, 3.0]);
    let y = a.affine(2.0, 0.0).unwrap();
    let part = y.narrow(0, 1, 1).unwrap();
    let seven = Full { value: 7.0.into(), shape: 1.into(), dtype: DType::F64, device: *CPU };
    dispatch_into(&seven, &[], &[&part]).unwrap();
    assert_eq!((values(&y), gradient(&y, &a)), (vec![2.0, 7.0, 6.0], vec![2.0, 0.0, 2.0]));
    // Zeros, not what infinities leave: they never meet.
    let seed = Tensor::new(&[1.0, f64::INFINITY, 1.0], CPU).unwrap();
    let found = grad(&[(y, Some(seed))], &[&a], ONCE).unwrap().swap_remove(0).unwrap();
    assert_eq!(values(&found), [2.0, 0.0, 2.0]);
}

#[test]
fn leaves_and_what_shows_them_are_not_changed() {
    let (x, w) = (vector(&[1.0, 2.0]), vector(&[5.0]));
    let view = x.narrow(0, 0, 1).unwrap();
    assert_refused(view.copy_from(&w), "a view of a leaf Variable that requires grad is being used in an in-place");
    assert_refused(x.add_(&x), "a leaf Variable that requires grad is being used in an in-place operation");
    let plain = Tensor::new(&[1f64, 2.0], CPU).unwrap();
    let view = plain.narrow(0, 0, 1).unwrap();
    plain.set_requires_grad(true).unwrap();
    assert!(!view.requires_grad());
    assert_refused(view.copy_from(&w), "a view of a leaf Variable");
    let y = x.sqr().unwrap();
    let view = no_grad(|| y.narrow(0, 0, 1)).unwrap();
    assert!(!view.requires_grad());
    assert_refused(view.copy_from(&w), "A view was created in no_grad mode");
    assert_eq!(values(&y), [1.0, 4.0]);
    no_grad(|| view.copy_from(&w)).unwrap();
    assert_eq!((values(&y), gradient(&y, &x)), (vec![5.0, 4.0], vec![2.0, 4.0]));
    let whole = Tensor::new(&[0f64], CPU).unwrap().broadcast_as((2, 2)).unwrap().detach();
    assert_refused(whole.get(0).unwrap().narrow(0, 0, 1).unwrap().copy_from(&w), "share memory");
}

#[test]
fn views_keep_the_gradient_of_what_they_show_now() {
    let (a, w) = (vector(&[1.0, 2.0]), vector(&[3.0]));
    let y = a.sqr().unwrap();
    let part = y.narrow(0, 0, 1).unwrap();
    part.retain_grad().unwrap();
    y.retain_grad().unwrap();
    part.mul_(&w.affine(0.0, 5.0).unwrap().detach()).unwrap();
    let root = part.add(&y.narrow(0, 0, 1).unwrap()).unwrap();
    opforge::autograd::accumulate(&[(root, None)], None, ONCE).unwrap();
    assert_eq!(values(&part.grad().unwrap()), [1.0]);
    assert_eq!(values(&y.grad().unwrap()), [2.0, 0.0]);
    assert_eq!(values(&a.grad().unwrap()), [20.0, 0.0]);
}

/// A scalar of two matrices that changes parts of tensors in place.
type Program = fn(&Tensor, &Tensor) -> Result<Tensor>;

/// Weighs all elements differently and not linearly.
fn weigh(t: &Tensor) -> Result<Tensor> {
    let n = t.elem_count();
    let weights = Tensor::from_vec((0..n).map(|i| 0.5 + 0.1 * i as f64).collect::<Vec<_>>(), t.shape(), CPU)?;
    t.sqr()?.mul(t)?.mul(&weights)?.sum_all()
}

const PROGRAMS: [(&str, Program); 7] = [
    ("rows of a constant", |x, w| {
        let y = zeros((3, 2));
        y.get(0)?.copy_from(&x.get(1)?)?;
        y.narrow(0, 1, 2)?.copy_from(&x.mul(w)?.narrow(0, 0, 2)?)?;
        weigh(&y)
    }),
    ("a column, transposed", |x, w| {
        let y = x.sin()?;
        y.t()?.get(1)?.add_(&w.narrow(1, 0, 1)?.squeeze(1)?)?;
        weigh(&y)?.add(&weigh(&y.t()?)?)
    }),
    ("a part twice, and a part of the part", |x, w| {
        let y = x.affine(2.0, 0.0)?;
        let rows = y.narrow(0, 1, 2)?;
        rows.add_(&w.narrow(0, 0, 2)?)?;
        rows.narrow(1, 1, 1)?.copy_from(&w.narrow(0, 0, 2)?.narrow(1, 0, 1)?.sqr()?)?;
        rows.add_(&x.narrow(0, 0, 2)?.sqr()?)?;
        weigh(&y)?.add(&weigh(&rows)?)
    }),
    ("a base that is not row-major", |x, w| {
        let y = x.t()?.sin()?;
        assert!(!y.is_contiguous());
        y.narrow(1, 0, 2)?.narrow(0, 1, 1)?.add_(&w.narrow(0, 0, 2)?.narrow(1, 1, 1)?.t()?)?;
        weigh(&y)
    }),
    ("every other element", |x, w| {
        let y = x.affine(2.0, 0.0)?;
        let some = y.as_strided((3, 1), &[2, 2], 1)?;
        some.sub_(&w.narrow(1, 0, 1)?)?;
        weigh(&y)?.add(&weigh(&some)?)
    }),
    ("beyond a base that shows a part of its storage", |x, w| {
        let storage = zeros((4, 2));
        let y = storage.narrow(0, 1, 3)?.detach();
        y.copy_from(&x.affine(2.0, 0.0)?)?;
        y.as_strided((2, 2), &[2, 1], 0)?.copy_from(&w.narrow(0, 1, 2)?)?;
        weigh(&y)
    }),
    ("the base after a view of it", |x, w| {
        let y = x.affine(2.0, 0.0)?;
        let row = y.get(2)?;
        y.get(2)?.add_(&w.get(0)?)?;
        y.add_(w)?;
        weigh(&row)?.add(&weigh(&y)?)
    }),
];

/// `f` at `x` with element `i` moved by `by`.
fn moved(f: impl Fn(&Tensor) -> Result<Tensor>, x: &Tensor, i: usize, by: f64) -> Vec<f64> {
    let mut data = values(x);
    data[i] += by;
    let x = Var::from_vec(data, x.shape(), CPU).unwrap();
    values(&f(&x).unwrap())
}

fn assert_slopes(name: &str, f: impl Fn(&Tensor) -> Result<Tensor>, x: &Tensor) {
    const STEP: f64 = 1e-6;
    let y = f(x).unwrap();
    let found = gradient(&y, x);
    for i in 0..x.elem_count() {
        let (up, down) = (moved(&f, x, i, STEP)[0], moved(&f, x, i, -STEP)[0]);
        let (expected, found) = ((up - down) / (2.0 * STEP), found.get(i).copied().unwrap_or(0.0));
        let error = (found - expected).abs() / (1.0 + expected.abs());
        assert!(error < 1e-6, "{name}: derivative {i} is {found}, not {expected}");
    }
}

#[test]
fn gradients_agree_with_differences() {
    let (x, w) = (matrix(3, 2), matrix(3, 2));
    for (name, program) in PROGRAMS {
        assert_slopes(name, |x| program(x, &w), &x);
        assert_slopes(name, |w| program(&x, w), &w);
    }
}

#[test]
fn second_gradients_agree_with_differences() {
    let (x, w) = (matrix(3, 2), matrix(3, 2));
    for (name, program) in PROGRAMS {
        let slope = |x: &Tensor, w: &Tensor| -> Result<Tensor> {
            let y = program(x, w)?;
            let gradients = grad(&[(y, None)], &[x, w], CREATE)?;
            gradients.iter().flatten().try_fold(Tensor::new(0f64, CPU)?, |sum, g| sum.add(&weigh(g)?))
        };
        assert_slopes(name, |x| slope(x, &w), &x);
        assert_slopes(name, |w| slope(&x, w), &w);
    }
}

#[test]
fn threads_catch_up_alike() {
    let (x, w) = (vector(&[1.0, 2.0, 3.0]), vector(&[4.0]));
    for _ in 0..100 {
        let y = x.affine(2.0, 0.0).unwrap();
        let view = y.narrow(0, 1, 2).unwrap();
        y.narrow(0, 1, 1).unwrap().add_(&w).unwrap();
        let functions: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..2).map(|_| scope.spawn(|| view.grad_fn().unwrap())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(functions[0].same(&functions[1]));
        assert_eq!(gradient(&view, &w), [1.0]);
    }
}

#[test]
fn long_histories_need_no_stack() {
    const TIMES: usize = 3_000;
    let change = || -> Result<Vec<f64>> {
        let w = vector(&[1.0]);
        let y = Tensor::zeros(4, DType::F64, CPU)?;
        let parts = (0..4).map(|i| y.narrow(0, i, 1)).collect::<Result<Vec<_>>>()?;
        for i in 0..TIMES {
            parts[i % 4].add_(&w)?;
        }
        Ok(gradient(&y, &w))
    };
    let thread = std::thread::Builder::new().stack_size(256 << 10).spawn(change).unwrap();
    assert_eq!(thread.join().unwrap().unwrap(), [TIMES as f64]);
}
