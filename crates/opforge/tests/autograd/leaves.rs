//! `.grad` and hooks: what backward leaves with tensors, and who sees it pass.

use std::sync::{Arc, Mutex};

use opforge::autograd::{BackwardOptions, accumulate, grad, no_grad};
use opforge::{DType, Device, Error, ErrorKind, Result, Tensor, Var};

const CPU: &Device = &Device::Cpu;
const ONCE: BackwardOptions = BackwardOptions { retain_graph: false, create_graph: false };
const RETAIN: BackwardOptions = BackwardOptions { retain_graph: true, create_graph: false };
const CREATE: BackwardOptions = BackwardOptions { retain_graph: false, create_graph: true };

fn vector(x: &[f64]) -> Var {
    Var::from_slice(x, x.len(), CPU).unwrap()
}

fn values(t: &Tensor) -> Vec<f64> {
    t.flatten_all().unwrap().to_vec1().unwrap()
}

fn grad_of(t: &Tensor) -> Vec<f64> {
    values(&t.grad().expect("a gradient"))
}

fn run(root: &Tensor, options: BackwardOptions) -> Result<()> {
    accumulate(&[(root.clone(), None)], None, options)
}

fn total(t: &Tensor) -> Tensor {
    t.sum_all().unwrap()
}

#[track_caller]
fn assert_refused(result: Result<()>, kind: ErrorKind, words: &str) {
    let error = result.expect_err(words);
    assert!(error.to_string().contains(words), "{words:?} is not in {error}");
    assert_eq!(error.kind(), kind, "{error}");
}

#[test]
fn gradients_add_up_in_place() {
    let x = vector(&[1.0, 2.0]);
    assert!(x.grad().is_none());
    run(&total(&x.sqr().unwrap()), ONCE).unwrap();
    let first = x.grad().unwrap();
    assert_eq!(values(&first), [2.0, 4.0]);
    run(&total(&x.affine(10.0, 0.0).unwrap()), ONCE).unwrap();
    assert_eq!(grad_of(&x), [12.0, 14.0]);
    assert_eq!(x.grad().unwrap().id(), first.id());
    assert_eq!(values(&first), [12.0, 14.0]);
    x.set_grad(None).unwrap();
    assert!(x.grad().is_none());
    let store = x.sqr().unwrap().backward().unwrap();
    assert!(store.get(&x).is_some() && x.grad().is_none());
}

#[test]
fn recorded_gradients_add_up_in_new_tensors() {
    let x = vector(&[3.0]);
    run(&total(&x.sqr().unwrap()), CREATE).unwrap();
    let first = x.grad().unwrap();
    run(&total(&x.sqr().unwrap()), CREATE).unwrap();
    assert_eq!((values(&first), grad_of(&x)), (vec![6.0], vec![12.0]));
    let slope = grad(&[(x.grad().unwrap(), None)], &[&x], ONCE).unwrap().swap_remove(0);
    assert_eq!(values(&slope.unwrap()), [4.0]);
    x.set_grad(None).unwrap();
}

#[test]
fn stored_gradients_share_memory_with_nobody() {
    let (x, y) = (vector(&[1.0, 2.0]), vector(&[3.0, 4.0]));
    let seed = Tensor::new(&[5f64, 6.0], CPU).unwrap();
    // The same gradient goes to both, and to a leaf that is a root.
    accumulate(&[(x.add(&y).unwrap(), Some(seed.clone()))], None, ONCE).unwrap();
    accumulate(&[(x.as_tensor().clone(), Some(seed.clone()))], None, ONCE).unwrap();
    assert_eq!((grad_of(&x), grad_of(&y), values(&seed)), (vec![10.0, 12.0], vec![5.0, 6.0], vec![5.0, 6.0]));
    // A sum's gradient is one element, repeated.
    let z = vector(&[1.0, 2.0]);
    run(&total(&z), ONCE).unwrap();
    assert!(!z.grad().unwrap().layout().may_overlap_itself());
    // A product's gradient may be the other factor, where the seed is one.
    let (a, b) = (vector(&[2.0]), Tensor::new(&[7f64], CPU).unwrap());
    for _ in 0..2 {
        run(&a.mul(&b).unwrap(), ONCE).unwrap();
    }
    assert_eq!((grad_of(&a), values(&b)), (vec![14.0], vec![7.0]));
}

#[test]
fn gradients_that_nobody_shares_are_not_copied() {
    // Small, and large enough to be computed in the background.
    for len in [2, 1 << 20] {
        let x = Var::ones(len, DType::F64, CPU).unwrap();
        let seen = Arc::new(Mutex::new(None));
        let log = seen.clone();
        let watch = move |grad: &Tensor| {
            *log.lock().unwrap() = Some(grad.id());
            Ok(None)
        };
        x.register_hook(Arc::new(watch)).unwrap();
        run(&total(&x.sqr().unwrap()), ONCE).unwrap();
        assert_eq!(seen.lock().unwrap().take(), x.grad().map(|grad| grad.id()), "{len}");
    }
}

#[test]
fn gradients_are_set_by_hand() {
    let x = vector(&[1.0, 2.0]);
    let given = Tensor::new(&[1f64, 1.0], CPU).unwrap();
    x.set_grad(Some(&given)).unwrap();
    assert_eq!(x.grad().unwrap().id(), given.id());
    run(&total(&x.sqr().unwrap()), ONCE).unwrap();
    assert_eq!(values(&given), [3.0, 5.0]);
    let plain = Tensor::new(&[1f64, 2.0], CPU).unwrap();
    plain.set_grad(Some(&given)).unwrap();
    assert!(plain.grad().is_some());
    let short = Tensor::new(&[1f64], CPU).unwrap();
    assert_refused(x.set_grad(Some(&short)), ErrorKind::Autograd, "attempting to assign a gradient of size '[1]'");
    let single = Tensor::new(&[1f32, 2.0], CPU).unwrap();
    assert_refused(x.set_grad(Some(&single)), ErrorKind::DType, "f32");
    assert_refused(x.set_grad(Some(&x)), ErrorKind::Autograd, "can't assign Variable as its own grad");
    let meta = Tensor::zeros(2, DType::F64, &Device::Meta).unwrap();
    assert_refused(x.set_grad(Some(&meta)), ErrorKind::Device, "set_grad");
    // One that cannot be added to in place is replaced.
    let repeated = Tensor::new(&[1f64], CPU).unwrap().broadcast_as(2).unwrap();
    x.set_grad(Some(&repeated)).unwrap();
    run(&total(&x.affine(2.0, 0.0).unwrap()), ONCE).unwrap();
    assert_eq!((grad_of(&x), values(&repeated)), (vec![3.0, 3.0], vec![1.0, 1.0]));
}

#[test]
fn roots_are_checked() {
    let x = vector(&[1.0, 2.0]);
    let constant = Tensor::new(1f64, CPU).unwrap();
    let words = "element 0 of tensors does not require grad and does not have a grad_fn";
    assert_refused(run(&constant, ONCE), ErrorKind::Autograd, words);
    let words = "grad can be implicitly created only for scalar outputs";
    assert_refused(run(&x.sqr().unwrap(), ONCE), ErrorKind::Autograd, words);
    let wrong = accumulate(&[(x.sqr().unwrap(), Some(Tensor::zeros(3, DType::F64, CPU).unwrap()))], None, ONCE);
    assert_refused(wrong, ErrorKind::Shape, "grad_output[0] has a shape of [3] and output[0] has a shape of [2]");
    let plain = Tensor::new(1f64, CPU).unwrap();
    let words = "One of the differentiated Tensors does not require grad";
    let root = (total(&x), None);
    assert_refused(accumulate(&[root], Some(&[&plain]), ONCE), ErrorKind::Autograd, words);
    assert!(x.grad().is_none());
}

#[test]
fn only_the_inputs_asked_for_get_gradients() {
    let (x, w) = (vector(&[1.0, 2.0]), vector(&[3.0, 4.0]));
    let hidden = x.mul(&w).unwrap();
    let root = total(&hidden.sqr().unwrap());
    accumulate(&[(root.clone(), None)], Some(&[&w, &hidden]), RETAIN).unwrap();
    assert!(x.grad().is_none());
    assert_eq!(grad_of(&w), [6.0, 32.0]);
    assert_eq!(grad_of(&hidden), [6.0, 16.0]);
}

#[test]
fn computed_tensors_keep_gradients_if_told_to() {
    let x = vector(&[1.0, 2.0]);
    let y = x.affine(3.0, 0.0).unwrap();
    assert!(!y.retains_grad());
    y.retain_grad().unwrap();
    y.retain_grad().unwrap();
    assert!(y.retains_grad() && !x.retains_grad());
    let root = total(&y.sqr().unwrap());
    run(&root, RETAIN).unwrap();
    assert_eq!(grad_of(&y), [6.0, 12.0]);
    run(&root, ONCE).unwrap();
    assert_eq!((grad_of(&y), grad_of(&x)), (vec![12.0, 24.0], vec![36.0, 72.0]));
    let plain = Tensor::new(1f64, CPU).unwrap();
    assert_refused(
        plain.retain_grad(),
        ErrorKind::Autograd,
        "can't retain_grad on Tensor that has requires_grad=False",
    );
}

#[test]
fn a_kept_gradient_is_of_the_tensor_as_it_is_now() {
    let x = vector(&[1.0, 2.0]);
    let y = x.affine(3.0, 0.0).unwrap();
    y.retain_grad().unwrap();
    y.add_(&vector(&[1.0, 1.0])).unwrap();
    run(&total(&y.affine(5.0, 0.0).unwrap()), ONCE).unwrap();
    assert_eq!(grad_of(&y), [5.0, 5.0]);
}

#[test]
fn hooks_see_the_complete_gradient_once() {
    let x = vector(&[1.0, 2.0]);
    let y = x.affine(3.0, 0.0).unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let watch = |name: &'static str, t: &Tensor| {
        let seen = seen.clone();
        t.register_hook(Arc::new(move |grad| {
            seen.lock().unwrap().push((name, values(grad)));
            Ok(None)
        }))
    };
    watch("x", &x).unwrap();
    watch("y", &y).unwrap();
    let doubled = y.register_hook(Arc::new(|grad| grad.affine(2.0, 0.0).map(Some))).unwrap();
    watch("y after", &y).unwrap();
    // Both use each tensor twice.
    let root = total(&y.mul(&y).unwrap().add(&x).unwrap());
    run(&root, RETAIN).unwrap();
    let expected = [("y", vec![6.0, 12.0]), ("y after", vec![12.0, 24.0]), ("x", vec![37.0, 73.0])];
    assert_eq!(*seen.lock().unwrap(), expected);
    assert_eq!(grad_of(&x), [37.0, 73.0]);
    y.remove_hook(doubled);
    seen.lock().unwrap().clear();
    let gradients = root.backward().unwrap();
    assert_eq!(values(gradients.get(&x).unwrap()), [19.0, 37.0]);
    assert_eq!(seen.lock().unwrap()[1], ("y after", vec![6.0, 12.0]));
}

#[test]
fn hooks_apply_to_asked_for_gradients_too() {
    let x = vector(&[1.0, 2.0]);
    let y = x.affine(3.0, 0.0).unwrap();
    for t in [x.as_tensor(), &y] {
        t.register_hook(Arc::new(|grad| grad.affine(10.0, 0.0).map(Some))).unwrap();
    }
    let found = grad(&[(total(&y), None)], &[&x, &y], ONCE).unwrap();
    assert_eq!(values(found[0].as_ref().unwrap()), [300.0, 300.0]);
    assert_eq!(values(found[1].as_ref().unwrap()), [10.0, 10.0]);
}

#[test]
fn what_waits_for_a_gradient_runs_when_it_is_there() {
    let x = vector(&[1.0, 2.0]);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = seen.clone();
    let step = move |leaf: &Tensor| {
        log.lock().unwrap().push(grad_of(leaf));
        leaf.set_grad(None)
    };
    let id = x.register_post_accumulate_grad_hook(Arc::new(step)).unwrap();
    for _ in 0..2 {
        run(&total(&x.sqr().unwrap()), ONCE).unwrap();
    }
    assert_eq!(*seen.lock().unwrap(), [[2.0, 4.0], [2.0, 4.0]]);
    assert!(x.grad().is_none());
    x.remove_hook(id);
    run(&total(&x.sqr().unwrap()), ONCE).unwrap();
    assert_eq!(seen.lock().unwrap().len(), 2);
    let computed = x.sqr().unwrap().register_post_accumulate_grad_hook(Arc::new(|_| Ok(())));
    let words = "post accumulate grad hooks cannot be registered on non-leaf tensors";
    assert_refused(computed.map(drop), ErrorKind::Autograd, words);
}

#[test]
fn a_failing_hook_ends_one_backward() {
    let (x, w) = (vector(&[1.0, 2.0]), vector(&[3.0, 4.0]));
    let fail = || Err(Error::msg("no"));
    for on_leaf in [true, false] {
        let y = x.mul(&w).unwrap();
        let watched = if on_leaf { w.as_tensor() } else { &y };
        let id = watched.register_hook(Arc::new(move |_| fail())).unwrap();
        assert_refused(run(&total(&y), RETAIN), ErrorKind::Other, "no");
        assert!(x.grad().is_none() && w.grad().is_none() && opforge::autograd::is_grad_enabled());
        watched.remove_hook(id);
        run(&total(&y), RETAIN).unwrap();
        assert_eq!((grad_of(&x), grad_of(&w)), (vec![3.0, 4.0], vec![1.0, 2.0]));
        x.set_grad(None).unwrap();
        w.set_grad(None).unwrap();
    }
    x.register_hook(Arc::new(|grad| grad.narrow(0, 0, 1).map(Some))).unwrap();
    assert_refused(run(&total(&x), ONCE), ErrorKind::Autograd, "hook");
    let plain = Tensor::new(1f64, CPU).unwrap();
    let words = "cannot register a hook on a tensor that doesn't require gradient";
    assert_refused(plain.register_hook(Arc::new(|_| Ok(None))).map(drop), ErrorKind::Autograd, words);
}

#[test]
fn hooks_may_run_backwards() {
    let (x, z) = (vector(&[1.0, 2.0]), vector(&[3.0]));
    let inner = z.as_tensor().clone();
    x.register_hook(Arc::new(move |_| opforge::autograd::enable_grad(|| run(&inner.sqr()?, ONCE)).map(|()| None)))
        .unwrap();
    run(&total(&x), ONCE).unwrap();
    assert_eq!((grad_of(&x), grad_of(&z)), (vec![1.0, 1.0], vec![6.0]));
}

#[test]
fn threads_add_to_the_same_gradients() {
    const THREADS: usize = 4;
    const ROUNDS: usize = 50;
    let x = vector(&[1.0, 2.0]);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| (0..ROUNDS).for_each(|_| run(&total(&x.sqr().unwrap()), ONCE).unwrap()));
        }
    });
    let n = (THREADS * ROUNDS) as f64;
    assert_eq!(grad_of(&x), [2.0 * n, 4.0 * n]);
}

#[test]
fn optimizers_count_as_changes() {
    let (x, w) = (vector(&[1.0, 2.0]), vector(&[3.0, 4.0]));
    let y = x.mul(&w).unwrap();
    no_grad(|| w.sub_(&w.ones_like().unwrap())).unwrap();
    assert_refused(run(&total(&y), ONCE), ErrorKind::Autograd, "modified by an inplace operation");
    let y = x.mul(&w).unwrap();
    w.detach().add_(&w.ones_like().unwrap()).unwrap();
    assert_refused(run(&total(&y), ONCE), ErrorKind::Autograd, "modified by an inplace operation");
}

#[test]
fn leaves_change_their_kind() {
    let x = vector(&[1.0, 2.0]);
    let y = x.sqr().unwrap();
    assert!(y.grad_fn().is_some() && !y.is_leaf());
    y.detach_().unwrap();
    assert!(y.grad_fn().is_none() && y.is_leaf() && !y.requires_grad());
    y.set_requires_grad(true).unwrap();
    run(&total(&y), ONCE).unwrap();
    assert_eq!(grad_of(&y), [1.0, 1.0]);
    y.set_requires_grad(false).unwrap();
    assert_eq!(grad_of(&y), [1.0, 1.0]);
    let view = x.sqr().unwrap().narrow(0, 0, 1).unwrap();
    assert_refused(view.detach_(), ErrorKind::Autograd, "Can't detach views in-place");
}

#[test]
fn functions_are_named_and_linked() {
    let x = vector(&[1.0, 2.0]);
    let y = opforge::functional::log_softmax(&x.mul(&x).unwrap(), 0, None).unwrap();
    let sum = y.sum_all().unwrap();
    let function = sum.grad_fn().unwrap();
    assert_eq!(function.name(), "SumBackward0");
    assert!(function.same(&sum.grad_fn().unwrap()) && !function.same(&y.grad_fn().unwrap()));
    let (softmax, output) = &function.next_functions()[0];
    let softmax = softmax.as_ref().unwrap();
    assert_eq!((softmax.name().as_str(), *output), ("LogSoftmaxBackward0", 0));
    let (product, _) = &softmax.next_functions()[0];
    let ends = product.as_ref().unwrap().next_functions();
    assert_eq!(ends.len(), 2);
    for (end, _) in ends {
        let end = end.unwrap();
        assert_eq!((end.name().as_str(), end.variable().unwrap().id()), ("AccumulateGrad", x.id()));
        assert!(end.next_functions().is_empty());
    }
    let constant = x.add(&x.ones_like().unwrap()).unwrap().grad_fn().unwrap();
    assert!(constant.next_functions()[1].0.is_none());
}
