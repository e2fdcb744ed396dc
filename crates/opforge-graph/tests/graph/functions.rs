//! Calls of functions of tensors between the kernels of a program.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use opforge::{DType, Device, Error, Result, Tensor, Var};
use opforge_custom::{CustomOp, ShapeRule};
use opforge_graph::{Function, inside::Apart, trace};

const CPU: &Device = &Device::Cpu;

/// Twice its input, by elements that it reads, and how often it was called.
fn twice() -> (CustomOp, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let own = calls.clone();
    let op = CustomOp::from_fn("twice", move |x, _| {
        own.fetch_add(1, Ordering::Relaxed);
        let doubled: Vec<f32> = x[0].flatten_all()?.to_vec1::<f32>()?.iter().map(|x| 2.0 * x).collect();
        Ok(vec![Tensor::from_vec(doubled, x[0].shape(), CPU)?])
    });
    let op = op.untraced().shapes(ShapeRule::Like(0)).gradient_by(|context| Ok(vec![Some((&context.grads[0] * 2.0)?)]));
    (op.unwrap(), calls)
}

fn vector(x: &[f32]) -> Tensor {
    Tensor::new(x, CPU).unwrap()
}

#[test]
fn a_function_runs_in_each_run_between_kernels() -> Result<()> {
    let (op, calls) = twice();
    let x = vector(&[1.0, 2.0, 3.0]);
    let graph = trace(&[&x], |x| Ok(vec![op.apply(&[&x[0].affine(2.0, 1.0)?.neg()?])?.sqr()?.sum_all()?]))?;
    assert_eq!((graph.nodes().len(), calls.load(Ordering::Relaxed)), (5, 0));
    let program = graph.compile()?;
    let stages: Vec<usize> = program.stages().iter().map(|stage| stage.calls.len()).collect();
    assert_eq!(stages, [2, 1, 1, 1]);
    assert_eq!(program.stages()[0].apart, Some(Apart::Function("twice")));
    // What comes out of the first kernel, what the function gives, and its square.
    assert!(program.memory() >= 36 && program.passing().len() == 3);
    for run in 1..4 {
        let x = vector(&[1.0, 2.0, run as f32]);
        let expected: f32 = x.to_vec1::<f32>()?.iter().map(|x| (4.0 * x + 2.0).powi(2)).sum();
        assert_eq!(program.run(&[&x])?[0].to_scalar::<f32>()?, expected);
        assert_eq!(calls.load(Ordering::Relaxed), run);
    }
    assert_eq!(program.measure(&[&x], 2)?.times().len(), 4);
    Ok(())
}

#[test]
fn gradients_are_those_of_calls_one_by_one() -> Result<()> {
    let (op, _) = twice();
    let w = Var::new(&[0.5f32, -1.0, 2.0], CPU)?;
    let x = vector(&[1.0, 2.0, 3.0]);
    let step = |x: &[Tensor]| Ok(vec![op.apply(&[&x[0].mul(&w)?])?.sin()?, op.apply(&[&w])?]);
    let function = Function::trace(&[&x], step)?;
    for _ in 0..2 {
        let (own, eager) = (function.call(&[&x])?, step(std::slice::from_ref(&x))?);
        let mut gradients = Vec::new();
        for results in [own, eager] {
            let loss = (results[0].sum_all()? + results[1].sqr()?.sum_all()?)?;
            gradients.push(loss.backward()?.get(&w).unwrap().to_vec1::<f32>()?);
        }
        assert_eq!(gradients[0], gradients[1]);
    }
    Ok(())
}

#[test]
fn a_function_changes_what_it_says() -> Result<()> {
    let op = CustomOp::from_fn("count", |x, _| {
        let counted = Tensor::from_vec(vec![x[0].to_scalar::<f32>()? + 1.0], (), CPU)?;
        x[0].copy_from(&counted).map(|()| Vec::new())
    });
    let op = op.untraced().with_schema("(Tensor(a!) x) -> ()")?;
    let counter = Tensor::zeros((), DType::F32, CPU)?;
    let graph = trace(&[&counter], |x| {
        let before = x[0].copy()?;
        op.apply_all(&[&x[0]])?;
        Ok(vec![before, (&x[0] * 10.0)?])
    })?;
    let program = graph.compile()?;
    for run in 0..3 {
        let results = program.run(&[&counter])?;
        assert_eq!(results[0].to_scalar::<f32>()?, run as f32);
        assert_eq!(results[1].to_scalar::<f32>()?, 10.0 * (run + 1) as f32);
    }
    assert_eq!(counter.to_scalar::<f32>()?, 3.0);
    Ok(())
}

#[test]
fn other_results_than_the_rule_tells_are_an_error() -> Result<()> {
    let op = CustomOp::from_fn("short", |x, _| Ok(vec![x[0].narrow(0, 0, 1)?])).untraced().shapes(ShapeRule::Like(0));
    let x = vector(&[1.0, 2.0]);
    let program = trace(&[&x], |x| Ok(vec![op.apply(&[&x[0]])?]))?.compile()?;
    let error = program.run(&[&x]).unwrap_err();
    assert!(matches!(error, Error::Value { .. }) && error.to_string().contains("short"), "{error}");
    Ok(())
}

#[test]
fn a_function_without_a_rule_is_the_calls_that_it_makes() -> Result<()> {
    let op = CustomOp::from_fn("calls", |x, _| Ok(vec![x[0].exp()?.neg()?])).untraced();
    let graph = trace(&[&vector(&[1.0])], |x| Ok(vec![op.apply(&[&x[0]])?]))?;
    assert_eq!(graph.nodes().iter().map(|node| node.op.name()).collect::<Vec<_>>(), ["exp", "neg"]);
    Ok(())
}
