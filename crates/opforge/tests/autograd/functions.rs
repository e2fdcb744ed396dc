//! Functions that bring their own backward, and what they save for it.

use std::slice;
use std::sync::{Arc, Weak};

use opforge::autograd::{
    BackwardOptions, FunctionBackward, SavedTensor, accumulate, grad, no_grad, record_function,
    record_function_in_place,
};
use opforge::{DType, Device, Error, ErrorKind, Result, Tensor, Var};

const CPU: &Device = &Device::Cpu;
const RETAIN: BackwardOptions = BackwardOptions { retain_graph: true, create_graph: false };
const CREATE: BackwardOptions = BackwardOptions { retain_graph: false, create_graph: true };

fn vector(x: &[f64]) -> Var {
    Var::from_slice(x, x.len(), CPU).unwrap()
}

fn values(t: &Tensor) -> Vec<f64> {
    t.to_vec1().unwrap()
}

/// `exp(x)`, whose backward reads its output.
fn exp(x: &Tensor) -> Result<(Tensor, Weak<SavedTensor>)> {
    let y = no_grad(|| x.exp())?;
    let saved = Arc::new(SavedTensor::new(&y, true));
    let held = saved.clone();
    let backward = move |grads: &[Option<Tensor>], needs: &[bool]| {
        assert_eq!(needs, [true]);
        let grad = grads[0].as_ref().expect("the only output");
        Ok(vec![Some(grad.mul(&held.unpack()?)?)])
    };
    let y = record_function("Exp", &[x], &[y], &[true], Arc::new(backward))?.remove(0);
    saved.bind(&y);
    Ok((y, Arc::downgrade(&saved)))
}

fn scaled(by: f64) -> Arc<FunctionBackward> {
    Arc::new(move |grads, _| Ok(vec![grads[0].as_ref().map(|g| g.affine(by, 0.0)).transpose()?]))
}

#[track_caller]
fn assert_refused<T>(result: Result<T>, kind: ErrorKind, words: &str) {
    let Err(error) = result else { panic!("{words:?} was not refused") };
    assert!(error.to_string().contains(words), "{words:?} is not in {error}");
    assert_eq!(error.kind(), kind, "{error}");
}

#[test]
fn derivatives_of_any_order() {
    let x = vector(&[0.5]);
    let (mut y, _) = exp(&x).unwrap();
    assert_eq!(y.grad_fn().unwrap().name(), "Exp");
    for _ in 0..3 {
        y = grad(&[(y, None)], &[&x], CREATE).unwrap().swap_remove(0).unwrap();
        assert!((values(&y)[0] - 0.5f64.exp()).abs() < 1e-15);
    }
}

#[test]
fn what_is_saved_lives_as_long_as_the_graph() {
    let x = vector(&[0.5]);
    let (y, saved) = exp(&x).unwrap();
    accumulate(&[(y.clone(), None)], None, RETAIN).unwrap();
    assert!(saved.upgrade().is_some());
    y.backward().unwrap();
    assert!(saved.upgrade().is_some(), "backwards of tensors keep the graph");
    let once = || accumulate(&[(y.clone(), None)], None, Default::default());
    once().unwrap();
    assert!(saved.upgrade().is_none());
    assert_refused(once(), ErrorKind::Autograd, "second time");
    let (y, saved) = exp(&x).unwrap();
    drop(y);
    assert!(saved.upgrade().is_none(), "a reference cycle");
}

#[test]
fn changes_of_saved_tensors_are_found() {
    let x = vector(&[0.5]);
    let (y, _) = exp(&x).unwrap();
    no_grad(|| y.add_(&y.ones_like().unwrap())).unwrap();
    assert_refused(y.backward(), ErrorKind::Autograd, "modified by an inplace operation");
    let saved = SavedTensor::new(&x, false);
    assert_eq!(saved.unpack().unwrap().id(), x.id());
    no_grad(|| x.detach().zero_set()).unwrap();
    assert_refused(saved.unpack(), ErrorKind::Autograd, "modified by an inplace operation");
    let inner = x.affine(2.0, 0.0).unwrap();
    let unpacked = SavedTensor::new(&inner, false).unpack().unwrap();
    assert!(unpacked.grad_fn().unwrap().same(&inner.grad_fn().unwrap()));
}

#[test]
fn outputs_without_gradients_and_missing_ones() {
    let x = vector(&[1.0, 2.0]);
    let outputs = no_grad(|| [x.affine(2.0, 0.0).unwrap(), x.affine(3.0, 0.0).unwrap(), x.copy().unwrap()]);
    let backward = |grads: &[Option<Tensor>], _: &[bool]| {
        assert!(grads[0].is_none() && grads[2].is_none());
        Ok(vec![grads[1].clone(), None])
    };
    let ids = Tensor::new(&[1i64], CPU).unwrap();
    let flags = [true, true, false];
    let results = record_function("Several", &[&x, &ids], &outputs, &flags, Arc::new(backward)).unwrap();
    assert_eq!(results.iter().map(Tensor::requires_grad).collect::<Vec<_>>(), flags);
    assert_eq!((results[1].id(), results[1].output_nr()), (outputs[1].id(), 1));
    assert_eq!(values(results[1].backward().unwrap().get(&x).unwrap()), [1.0, 1.0]);
    let missing = record_function("Several", &[&x], &outputs, &[true], scaled(1.0));
    assert_refused(missing, ErrorKind::Value, "differentiable");
}

#[test]
fn outputs_that_are_inputs_come_back_as_others() {
    let x = vector(&[1.0, 2.0]);
    let same = record_function("Same", &[&x], &[x.as_tensor().clone()], &[true], scaled(5.0)).unwrap().remove(0);
    assert!(same.id() != x.id() && same.shares_storage(&x) && x.is_leaf());
    assert_eq!(values(same.backward().unwrap().get(&x).unwrap()), [5.0, 5.0]);
    let constant = record_function("Same", &[&x], &[x.as_tensor().clone()], &[false], scaled(5.0)).unwrap().remove(0);
    assert!(constant.id() != x.id() && !constant.requires_grad());
    let unrecorded =
        no_grad(|| record_function("Same", &[&x], &[x.as_tensor().clone()], &[true], scaled(5.0))).unwrap();
    assert!(unrecorded[0].id() != x.id() && !unrecorded[0].requires_grad());
    // One with a history keeps it: the function's result is another.
    let y = x.sqr().unwrap();
    let z = record_function("Other", &[&x], slice::from_ref(&y), &[true], scaled(7.0)).unwrap().remove(0);
    assert_eq!(values(z.backward().unwrap().get(&x).unwrap()), [7.0, 7.0]);
    assert_eq!(values(y.backward().unwrap().get(&x).unwrap()), [2.0, 4.0]);
}

#[test]
fn changed_inputs_get_the_new_history() {
    let x = vector(&[1.0, 2.0]);
    let double = |t: &Tensor| {
        no_grad(|| t.detach().add_(&t.copy()?))?;
        record_function_in_place("Double", &[t], slice::from_ref(t), &[true], &[true], scaled(2.0))
    };
    let y = x.affine(3.0, 0.0).unwrap();
    let result = double(&y).unwrap().remove(0);
    assert_eq!((result.id(), y.grad_fn().unwrap().name().as_str()), (y.id(), "Double"));
    assert_eq!(values(y.backward().unwrap().get(&x).unwrap()), [6.0, 6.0]);
    // Of a part.
    let y = x.affine(3.0, 0.0).unwrap();
    double(&y.narrow(0, 1, 1).unwrap()).unwrap();
    assert_eq!(values(&y), [3.0, 12.0]);
    assert_eq!(values(y.backward().unwrap().get(&x).unwrap()), [3.0, 6.0]);
    let leaf = record_function_in_place("Double", &[&x], &[x.as_tensor().clone()], &[true], &[true], scaled(2.0));
    assert_refused(leaf, ErrorKind::Autograd, "a leaf Variable that requires grad");
}

#[test]
fn gradients_are_fitted_to_inputs_or_refused() {
    let x = Var::new(&[1f32, 2.0], CPU).unwrap();
    let call = |grads: Result<Vec<Option<Tensor>>>| {
        let backward: Arc<FunctionBackward> = Arc::new(move |_, _| grads.clone());
        let y = no_grad(|| x.affine(2.0, 0.0)).unwrap();
        let y = record_function("Odd", &[&x], &[y], &[true], backward).unwrap().remove(0);
        y.backward().map(|store| store.get(&x).map(|grad| grad.to_vec1::<f32>().unwrap()))
    };
    let wide = Tensor::ones((3, 2), DType::F64, CPU).unwrap();
    assert_eq!(call(Ok(vec![Some(wide.clone())])).unwrap().unwrap(), [3.0, 3.0]);
    assert_eq!(call(Ok(vec![None])).unwrap(), None);
    let words = "function Odd returned an incorrect number of gradients (expected 1, got 2)";
    assert_refused(call(Ok(vec![None, None])), ErrorKind::Autograd, words);
    let words = "Function Odd returned an invalid gradient at index 0 - got [3] but expected shape compatible with [2]";
    let three = wide.narrow(1, 0, 1).unwrap().flatten_all().unwrap();
    assert_refused(call(Ok(vec![Some(three)])), ErrorKind::Autograd, words);
    assert_refused(call(Err(Error::msg("no"))), ErrorKind::Other, "no");
}
