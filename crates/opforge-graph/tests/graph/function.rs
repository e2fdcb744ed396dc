//! Traced functions in programs that record gradients.

use std::sync::{Arc, Mutex};

use crate::common::{floats, vec};
use opforge::autograd::{BackwardOptions, accumulate};
use opforge::functional::dropout;
use opforge::{DType, Device, Result, Tensor, Var, no_grad};
use opforge_graph::Function;

fn network(x: &Tensor, [w, b, v]: &[Var; 3]) -> Result<Tensor> {
    opforge::functional::softmax(&x.matmul(w)?.broadcast_add(b)?.tanh()?.matmul(v)?, -1, None)
}

fn parameters() -> [Var; 3] {
    [floats(&[16, 8], 1), floats(&[8], 2), floats(&[8, 4], 3)].map(|t| Var::from_tensor(&t).unwrap())
}

#[test]
fn gradients_flow_through_a_function() {
    let own = parameters();
    let x = floats(&[32, 16], 4);
    let function = Function::trace(&[&x], |x| Ok(vec![network(&x[0], &own)?])).unwrap();
    assert!(function.backward().is_some() && function.accepts(&[&x]));
    for seed in 4..7 {
        let x = floats(&[32, 16], seed);
        let loss = |y: &Tensor| y.sqr()?.mean_all();
        let eager = loss(&network(&x, &own).unwrap()).unwrap();
        let lazy = loss(&function.call(&[&x]).unwrap()[0]).unwrap();
        assert_eq!(vec(&eager), vec(&lazy));
        let (eager, lazy) = (eager.backward().unwrap(), lazy.backward().unwrap());
        for parameter in &own {
            assert_eq!(vec(eager.get(parameter).unwrap()), vec(lazy.get(parameter).unwrap()));
            no_grad(|| parameter.sub_(&eager.get(parameter).unwrap().affine(0.5, 0.0)?)).unwrap();
        }
    }
}

#[test]
fn arguments_have_gradients_too() {
    let x = Var::from_tensor(&floats(&[5, 16], 4)).unwrap();
    let own = parameters();
    let function = Function::trace(&[&x], |x| {
        let y = network(&x[0], &own)?;
        Ok(vec![y.clone(), x[0].sum(0)?, y.argmax(1)?])
    });
    let function = function.unwrap();
    // One result alone is used; the argument is a result of other calls.
    let of = |f: &dyn Fn(&Tensor) -> Result<Tensor>| {
        let input = x.affine(2.0, 0.0)?;
        f(&input)?.sqr()?.sum_all()?.backward().map(|store| vec(store.get(&x).unwrap()))
    };
    let eager: Result<Vec<f32>> = of(&|x| network(x, &own));
    let lazy = of(&|x| Ok(function.call(&[x])?.remove(0)));
    assert_eq!(eager.unwrap(), lazy.unwrap());
    assert_eq!(of(&|x| x.sum(0)).unwrap(), of(&|x| Ok(function.call(&[x])?.remove(1))).unwrap());
    assert!(!function.call(&[&x]).unwrap()[2].requires_grad());
}

#[test]
fn without_recording_nothing_is_saved() {
    let own = parameters();
    let x = floats(&[32, 16], 4);
    let function = no_grad(|| Function::trace(&[&x], |x| Ok(vec![network(&x[0], &own)?]))).unwrap();
    assert!(function.backward().is_none() && !function.accepts(&[&x]));
    assert_eq!(vec(&function.call(&[&x]).unwrap()[0]), vec(&network(&x, &own).unwrap()));
}

/// The gradient draws again what the function drew, in each run anew.
#[test]
fn gradients_of_dropout_drop_the_same_elements() {
    let x = Tensor::ones(200, DType::F32, &Device::Cpu).unwrap();
    x.set_requires_grad(true).unwrap();
    let function = Function::trace(&[&x], |x| Ok(vec![dropout(&x[0].sqr()?, 0.5, true, false)?])).unwrap();
    let mut before = Vec::new();
    for _ in 0..3 {
        let y = function.call(&[&x]).unwrap().remove(0);
        let gradients = y.sum_all().unwrap().backward().unwrap();
        let twice: Vec<f32> = vec(&y).into_iter().map(|y: f32| 2.0 * y).collect();
        assert_eq!(vec(gradients.get(&x).unwrap()), twice);
        assert!(twice.contains(&0.0) && twice.contains(&4.0) && twice != before);
        before = twice;
    }
}

#[test]
fn what_would_be_wrong_is_refused() {
    let own = parameters();
    let x = floats(&[32, 16], 4);
    let function = Function::trace(&[&x], |x| Ok(vec![network(&x[0], &own)?])).unwrap();
    // A parameter, and the result, changed between the programs.
    let y = function.call(&[&x]).unwrap().remove(0);
    no_grad(|| own[2].sub_(&own[2].ones_like()?)).unwrap();
    assert!(y.sum_all().unwrap().backward().unwrap_err().to_string().contains("changed in place"));
    let y = function.call(&[&x]).unwrap().remove(0);
    let loss = y.sum_all().unwrap();
    no_grad(|| y.detach().mul_(&y.ones_like()?)).unwrap();
    assert!(loss.backward().unwrap_err().to_string().contains("changed in place"));
    // Gradients of results that somebody keeps.
    let w = &own[0];
    let gradients = Arc::new(Mutex::new(Vec::new()));
    let (kept, like_w) = (gradients.clone(), floats(&[16, 8], 4));
    let keeping = move |x: &[Tensor]| {
        let (y, kept) = (x[0].mul(w)?, kept.clone());
        y.register_hook(Arc::new(move |gradient: &Tensor| {
            kept.lock().unwrap().push(gradient.clone());
            Ok(None)
        }))?;
        Ok(vec![y])
    };
    let error = Function::trace(&[&like_w], keeping).err().unwrap().to_string();
    assert!(
        error.contains("a function that keeps what it computes") && gradients.lock().unwrap().len() == 1,
        "{error}"
    );
    // What calls before the graph computed.
    let scaled = own[0].affine(2.0, 0.0).unwrap();
    let error = Function::trace(&[&x], |x| Ok(vec![x[0].matmul(&scaled)?])).err().unwrap().to_string();
    assert!(error.contains("earlier calls computed"), "{error}");
    let known = |x: &[Tensor]| {
        scaled.detach().exp()?;
        Ok(vec![x[0].matmul(&scaled)?])
    };
    assert!(Function::trace(&[&x], known).is_err(), "its elements alone are known to the graph");
}

/// A step of training: backward inside of the function, and the update of a weight.
#[test]
fn gradients_that_tensors_keep_are_arguments_and_results() {
    let w = Var::from_tensor(&floats(&[8], 1)).unwrap();
    let step = |x: &Tensor| {
        let loss = x.mul(&w)?.sqr()?.sum_all()?;
        accumulate(&[(loss, None)], None, BackwardOptions::default())?;
        no_grad(|| w.sub_(&w.grad().expect("backward leaves one").affine(0.1, 0.0)?))
    };
    let trace = || Function::trace(&[&floats(&[8], 2)], |x| step(&x[0]).map(|_| Vec::new())).unwrap();
    let (alone, added) = (trace(), {
        w.set_grad(Some(&floats(&[8], 3))).unwrap();
        let added = trace();
        assert_eq!(vec(&w.grad().unwrap()), vec(&floats(&[8], 3)), "a trace leaves gradients as they are");
        w.set_grad(None).unwrap();
        added
    });
    assert!(!alone.keeps() && !added.keeps());
    let begun = w.copy().unwrap();
    let results = [true, false].map(|is_graph| {
        no_grad(|| w.copy_from(&begun)).unwrap();
        w.set_grad(None).unwrap();
        let mut grads = Vec::new();
        for seed in 4..10 {
            let x = floats(&[8], seed);
            if seed == 7 {
                w.set_grad(Some(&floats(&[8], 5))).unwrap();
            }
            if is_graph {
                let is_first = w.grad().is_none();
                let (function, other) = if is_first { (&alone, &added) } else { (&added, &alone) };
                assert!(function.accepts(&[&x]) && !other.accepts(&[&x]));
                assert!(other.call(&[&x]).unwrap_err().to_string().contains("keep gradients"));
                function.call(&[&x]).unwrap();
            } else {
                step(&x).unwrap();
            }
            grads.push(vec(&w.grad().unwrap()));
        }
        (grads, vec(&w))
    });
    assert_eq!(results[0], results[1]);
}
