//! What happens while a backward runs: gradients of leaves that hooks wait for, and what is to be done at its end.

use std::sync::{Arc, Mutex};

use opforge::autograd::{accumulate, at_the_end, enable_grad};
use opforge::{Device, Error, Tensor, Var};

fn leaf(x: f64) -> Var {
    Var::new(&[x], &Device::Cpu).unwrap()
}

/// Notes when something happens.
fn noting(events: &Arc<Mutex<Vec<String>>>, text: &'static str) -> impl Fn() + Send + Sync + 'static + use<> {
    let events = events.clone();
    move || events.lock().unwrap().push(text.to_owned())
}

#[test]
fn gradients_of_leaves_with_hooks_are_there_as_soon_as_they_are_complete() {
    let [first, last, twice] = [1.0, 2.0, 3.0].map(leaf);
    let events = Arc::new(Mutex::new(Vec::new()));
    for (leaf, name) in [(&first, "first"), (&last, "last"), (&twice, "twice")] {
        let note = noting(&events, name);
        let hook = move |leaf: &Tensor| {
            assert!(leaf.grad().is_some());
            note();
            Ok(())
        };
        leaf.register_post_accumulate_grad_hook(Arc::new(hook)).unwrap();
    }
    let middle = first.mul(&twice).unwrap();
    let note = noting(&events, "middle");
    let watch = move |_: &Tensor| {
        note();
        Ok(None)
    };
    middle.register_hook(Arc::new(watch)).unwrap();
    let end = middle.mul(&last).unwrap().mul(&twice).unwrap();
    accumulate(&[(end, None)], None, Default::default()).unwrap();
    // The last layer's gradient is there before backward comes to the middle; one that is used twice, after its first use.
    assert_eq!(*events.lock().unwrap(), ["last", "middle", "first", "twice"]);
    assert_eq!(twice.grad().unwrap().to_vec1::<f64>().unwrap(), [12.0]);
}

#[test]
fn a_hook_may_change_its_leaf_while_backward_goes_on() {
    let [a, b] = [3.0, 5.0].map(leaf);
    let step = |leaf: &Tensor| leaf.detach().sub_(&leaf.grad().unwrap());
    b.register_post_accumulate_grad_hook(Arc::new(step)).unwrap();
    accumulate(&[(a.sqr().unwrap().mul(&b).unwrap(), None)], None, Default::default()).unwrap();
    assert_eq!((b.to_vec1::<f64>().unwrap(), a.grad().unwrap().to_vec1::<f64>().unwrap()), (vec![-4.0], vec![30.0]));
}

#[test]
fn endings_run_after_all_gradients_and_only_of_backwards_that_succeed() {
    let [x, y] = [2.0, 3.0].map(leaf);
    assert!(at_the_end(Box::new(|| Ok(()))).is_err());
    let ended = Arc::new(Mutex::new(Vec::new()));
    let (seen, leaves) = (ended.clone(), (x.clone(), y.clone()));
    let hook = move |_: &Tensor| {
        // A backward inside of this one has the same end.
        accumulate(&[(enable_grad(|| leaves.1.sqr())?, None)], None, Default::default())?;
        let (seen, y) = (seen.clone(), leaves.1.clone());
        at_the_end(Box::new(move || {
            seen.lock().unwrap().push(y.grad().unwrap().to_vec1::<f64>()?);
            Ok(())
        }))
    };
    x.register_post_accumulate_grad_hook(Arc::new(hook)).unwrap();
    accumulate(&[(y.mul(&x).unwrap(), None)], None, Default::default()).unwrap();
    assert_eq!(*ended.lock().unwrap(), [[8.0]]);

    let failing = y.mul(&x).unwrap();
    y.register_hook(Arc::new(|_| Err(Error::msg("no")))).unwrap();
    let error = accumulate(&[(failing, None)], None, Default::default()).unwrap_err();
    assert!(error.to_string().contains("no"));
    assert_eq!(ended.lock().unwrap().len(), 1);
}
