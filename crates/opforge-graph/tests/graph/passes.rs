//! What traced functions mean, and what is done to graphs before they run.

use super::views::{change, view};
use crate::common::{floats, vec};
use opforge::{DType, Device, Result, Tensor, Var, no_grad};
use opforge_graph::{Function, Options, trace};
use proptest::prelude::*;

#[test]
fn parameters_are_seen_as_they_are_when_a_program_runs() {
    let weight = Var::from_tensor(&floats(&[4], 1)).unwrap();
    let x = floats(&[3, 4], 2);
    let program = trace(&[&x], |x| Ok(vec![x[0].broadcast_mul(&weight)?])).unwrap().compile().unwrap();
    for seed in 1..4 {
        weight.set(&floats(&[4], seed)).unwrap();
        assert_eq!(vec(&program.run(&[&x]).unwrap()[0]), vec(&x.broadcast_mul(&weight).unwrap()));
    }
}

#[test]
fn what_is_changed_in_place_is_changed_by_each_run() {
    let count = floats(&[300], 1);
    let before = vec(&count);
    let x = floats(&[300], 2);
    let program = trace(&[&x], |x| {
        count.add_(&x[0])?;
        Ok(vec![count.affine(2.0, 0.0)?])
    });
    assert_eq!(vec(&count), before, "tracing computes nothing");
    let program = program.unwrap().compile().unwrap();
    let expected = count.copy().unwrap();
    for _ in 0..3 {
        let result = program.run(&[&x]).unwrap();
        expected.add_(&x).unwrap();
        assert_eq!(vec(&count), vec(&expected));
        assert_eq!(vec(&result[0]), vec(&expected.affine(2.0, 0.0).unwrap()));
    }
}

/// Masks and tables of positions are made with the program; arguments, parameters and random numbers are not.
#[test]
fn calls_on_own_numbers_are_made_once() {
    let weight = Var::from_tensor(&floats(&[1, 8], 3)).unwrap();
    let f = |x: &[Tensor]| {
        let mask = opforge::functional::tril(&Tensor::ones((8, 8), DType::F32, &Device::Cpu)?, 0)?;
        let table = Tensor::arange(0f32, 8.0, &Device::Cpu)?.affine(0.1, 1.0)?.exp()?.sin()?;
        let own = Tensor::new(&[[2f32, 1.0, 0.0, 1.0, 5.0, 1.0, 1.0, 4.0]], &Device::Cpu)?.sqr()?;
        let noise = Tensor::rand(0f32, 1.0, (1, 8), &Device::Cpu)?.affine(0.0, 1.0)?;
        let y = x[0].matmul(&mask)?.broadcast_mul(&table)?.broadcast_mul(&own)?.broadcast_mul(&noise)?;
        Ok(vec![y.broadcast_mul(&weight.as_tensor().sqr()?)?, own.affine(1.0, 0.0)?])
    };
    let x = floats(&[4, 8], 1);
    let calls = |constants: bool| {
        let program = trace(&[&x], f).unwrap().compile_with(Options { constants, ..Options::ALL }).unwrap();
        let calls: Vec<String> = program.stages().iter().flat_map(|stage| stage.calls.clone()).collect();
        for seed in [3, 4] {
            weight.set(&floats(&[1, 8], seed)).unwrap();
            let (found, expected) = (program.run(&[&x]).unwrap(), f(std::slice::from_ref(&x)).unwrap());
            assert!(found.iter().zip(&expected).all(|(a, b)| vec(a) == vec(b)));
            // Results are memory of their own.
            found[1].mul_(&found[1]).unwrap();
        }
        calls
    };
    let (with, without) = (calls(true), calls(false));
    let named = |calls: &[String], name: &str| calls.iter().filter(|call| call.split(' ').next() == Some(name)).count();
    for name in ["exp", "sin", "tril"] {
        assert_eq!((named(&with, name), named(&without, name)), (0, 1), "{name}: {with:?}, {without:?}");
    }
    assert_eq!((named(&with, "sqr"), named(&without, "sqr")), (1, 2));
    assert_eq!(named(&with, "rand"), 1);
}

#[test]
fn a_trace_draws_no_random_numbers() {
    let (generator, _alone) = (opforge_runtime::Generator::global(), crate::generator());
    let draw = |_: &[Tensor]| {
        Ok(vec![Tensor::rand(0f32, 1.0, 50, &Device::Cpu)?, Tensor::randn(0f32, 1.0, 50, &Device::Cpu)?])
    };
    generator.manual_seed(5);
    let eager: Vec<Vec<f32>> = (0..2).flat_map(|_| draw(&[]).unwrap()).map(|t| vec(&t)).collect();
    generator.manual_seed(5);
    let program = trace(&[], draw).unwrap().compile().unwrap();
    let lazy: Vec<Vec<f32>> = (0..2).flat_map(|_| program.run(&[]).unwrap()).map(|t| vec(&t)).collect();
    assert_eq!(eager, lazy);
}

#[test]
fn an_argument_may_be_changed_and_returned() {
    let x = floats(&[5, 6], 1);
    let program = trace(&[&x], |x| {
        x[0].mul_(&x[0].affine(0.0, 3.0)?)?;
        Ok(vec![x[0].clone(), x[0].t()?])
    });
    let program = program.unwrap().compile().unwrap();
    // A part of a larger tensor: the program begins where the argument does.
    let large = floats(&[9, 6], 4);
    let part = large.narrow(0, 2, 5).unwrap();
    let before = vec(&part);
    let results = program.run(&[&part]).unwrap();
    assert!(vec(&part).iter().zip(&before).all(|(now, before)| *now == before * 3.0));
    assert_eq!(vec(&results[1]), vec(&part.t().unwrap()));
    assert_eq!(vec(&large.narrow(0, 0, 2).unwrap()), vec(&floats(&[9, 6], 4).narrow(0, 0, 2).unwrap()));
}

#[test]
fn reading_elements_is_an_error_that_names_the_call() {
    let x = floats(&[3], 1);
    let line = line!() + 2;
    let error = trace(&[&x], |x| {
        let y = x[0].exp()?;
        if y.sum_all()?.to_scalar::<f32>()? > 0.0 { Ok(vec![y]) } else { Ok(vec![]) }
    });
    let text = error.err().unwrap().to_string();
    assert!(text.contains("elements are there when it runs") && text.contains("sum"), "{text}");
    assert!(text.contains(&format!("passes.rs:{}", line + 1)), "{text}");
}

#[test]
fn arguments_of_other_shapes_are_refused() {
    let program = trace(&[&floats(&[3, 4], 1)], |x| Ok(vec![x[0].exp()?])).unwrap().compile().unwrap();
    for other in [floats(&[4, 3], 1), floats(&[4, 3], 1).t().unwrap(), floats(&[3, 4], 1).to_dtype(DType::F64).unwrap()]
    {
        let text = program.run(&[&other]).unwrap_err().to_string();
        assert!(text.contains("f32[3, 4]"), "{text}");
    }
    assert!(program.run(&[]).is_err());
    assert!(trace(&[], |_| trace(&[], |_| Ok(vec![])).map(|_| vec![])).is_err(), "a trace inside of a trace");
}

#[test]
fn a_failing_kernel_names_its_call() {
    let (x, y) = (Tensor::new(&[1i64, 2], &Device::Cpu).unwrap(), Tensor::new(&[1i64, 0], &Device::Cpu).unwrap());
    let line = line!() + 1;
    let divide = |x: &[Tensor]| Ok(vec![opforge::functional::floor_divide((&x[0]).into(), (&x[1]).into())?]);
    let program = trace(&[&x, &y], divide).unwrap().compile().unwrap();
    let text = program.run(&[&x, &y]).unwrap_err().to_string();
    assert!(text.contains(&format!("passes.rs:{line}")) && text.contains("divisors other than 0"), "{text}");
    assert_eq!(program.run(&[&x, &x]).unwrap()[0].to_vec1::<i64>().unwrap(), [1, 1]);
}

#[test]
fn dead_and_common_calls_are_left_out() {
    let x = floats(&[10], 1);
    let graph = || {
        trace(&[&x], |x| {
            let (a, b) = (x[0].exp()?, x[0].exp()?);
            a.sin()?.cos()?;
            Ok(vec![a.add(&b)?])
        })
        .unwrap()
    };
    assert_eq!(graph().nodes().len(), 5);
    assert_eq!(graph().without_dead_code().nodes().len(), 3);
    assert_eq!(graph().without_common_calls().nodes().len(), 4);
    assert_eq!(graph().without_common_calls().without_dead_code().nodes().len(), 2);
    assert_eq!(
        vec(&graph().compile().unwrap().run(&[&x]).unwrap()[0]),
        vec(&x.exp().unwrap().affine(2.0, 0.0).unwrap())
    );
}

/// What the function makes of numbers of its own, changes and returns, is new in each run; what others hold too is changed for them.
#[test]
fn constants_of_the_function_are_its_own() {
    let x = floats(&[3], 1);
    let kept = Tensor::zeros(3, DType::F32, &Device::Cpu).unwrap();
    let f = |x: &[Tensor]| {
        let own = Tensor::new(&[0f32, 0.0, 0.0], &Device::Cpu)?;
        own.add_(&x[0])?;
        kept.add_(&x[0])?;
        Ok(vec![own, Tensor::new(&[5f32], &Device::Cpu)?])
    };
    let (step, with_gradients) = (trace(&[&x], f).unwrap().compile().unwrap(), Function::trace(&[&x], f).unwrap());
    for run in 1..4 {
        let (a, b) = (step.run(&[&x]).unwrap(), with_gradients.call(&[&x]).unwrap());
        assert_eq!([vec(&a[0]), vec(&b[0])], [vec(&x), vec(&x)], "run {run}");
        assert_eq!([vec(&a[1]), vec(&b[1])], [[5.0], [5.0]]);
        a[1].add_(&a[1]).unwrap();
        b[1].add_(&b[1]).unwrap();
    }
    assert_eq!(
        vec(&kept),
        (0..6).fold(vec![0.0; 3], |sum: Vec<f32>, _| sum.iter().zip(vec(&x)).map(|(a, b)| a + b).collect())
    );
}

#[test]
fn a_trace_that_unwinds_is_over() {
    let unwound = std::panic::catch_unwind(|| trace(&[], |_| panic!("in the function")).map(drop));
    assert!(unwound.is_err() && trace(&[], |_| Ok(vec![])).is_ok());
}

#[test]
fn results_have_memory_of_their_own() {
    let (x, weight) = (floats(&[10], 1), floats(&[3], 2));
    let graph =
        trace(&[&x], |x| Ok(vec![x[0].exp()?, x[0].exp()?, x[0].exp()?.unsqueeze(0)?, weight.clone(), x[0].clone()]));
    let results = graph.unwrap().compile().unwrap().run(&[&x]).unwrap();
    for (i, j) in [(0, 1), (0, 2), (1, 2)] {
        assert!(!results[i].shares_storage(&results[j]), "{i} and {j}");
        assert_eq!(vec(&results[i]), vec(&results[j]));
    }
    assert!(results[3].shares_storage(&weight) && results[4].shares_storage(&x));
}

/// A step of training, with gradients and changes of parameters: all of it one program.
#[test]
fn a_training_step_is_a_program() {
    let parameters =
        || [floats(&[16, 8], 1), floats(&[8], 2), floats(&[8, 4], 3)].map(|t| Var::from_tensor(&t).unwrap());
    let step = |[w, b, v]: &[Var; 3], x: &Tensor, y: &Tensor| -> Result<Tensor> {
        let hidden = x.matmul(w)?.broadcast_add(b)?.tanh()?;
        let loss = hidden.matmul(v)?.sub(y)?.sqr()?.mean_all()?;
        let grads = loss.backward()?;
        for parameter in [w, b, v] {
            let gradient = grads.get(parameter).unwrap();
            no_grad(|| parameter.sub_(&gradient.affine(0.1, 0.0)?))?;
        }
        Ok(loss.detach())
    };
    let (eager, lazy) = (parameters(), parameters());
    let (x, y) = (floats(&[32, 16], 4), floats(&[32, 4], 5));
    let graph = trace(&[&x, &y], |given| Ok(vec![step(&lazy, &given[0], &given[1])?])).unwrap();
    let program = graph.compile().unwrap();
    for _ in 0..5 {
        let loss = step(&eager, &x, &y).unwrap();
        assert_eq!(vec(&program.run(&[&x, &y]).unwrap()[0]), vec(&loss));
        eager.iter().zip(&lazy).for_each(|(a, b)| assert_eq!(vec(a), vec(b)));
    }
    assert!(program.stages().iter().any(|stage| stage.calls.len() > 1));
}

#[test]
fn memory_is_used_again() {
    let x = floats(&[64, 64], 1);
    let program = trace(&[&x], |x| {
        let mut y = x[0].clone();
        for _ in 0..10 {
            y = y.matmul(&x[0])?;
        }
        Ok(vec![y])
    });
    let program = program.unwrap().compile().unwrap();
    assert_eq!(program.memory(), 2 * 64 * 64 * 4);
}

/// A call that may write over its operand does, where nothing reads that afterwards.
#[test]
fn results_take_the_place_of_what_is_read_no_more() {
    let x = floats(&[64, 64], 1);
    let f = |x: &[Tensor]| {
        let (kept, lost) = (x[0].matmul(&x[0])?, x[0].matmul(&x[0].t()?)?);
        let (a, b) = (kept.relu()?, lost.tanh()?);
        Ok(vec![a.matmul(&kept)?, (&b * &b)?.matmul(&b.t()?)?])
    };
    let graph = trace(&[&x], f).unwrap();
    let program = graph.compile_with(Options { fusion: false, ..Options::default() }).unwrap();
    for (result, expected) in program.run(&[&x]).unwrap().iter().zip(f(std::slice::from_ref(&x)).unwrap()) {
        assert_eq!(vec(result), vec(&expected));
    }
    // Both products and relu of the one; tanh lies over the other, and its square where the first product was.
    assert_eq!(program.memory(), 3 * 64 * 64 * 4);
    let chain = trace(&[&x], |x| Ok(vec![x[0].matmul(&x[0])?.relu()?.matmul(&x[0])?]));
    assert_eq!(chain.unwrap().compile().unwrap().memory(), 64 * 64 * 4);
}

#[test]
fn graphs_are_printed() {
    let x = floats(&[2, 3], 1);
    let graph = trace(&[&x], |x| Ok(vec![x[0].t()?.exp()?.sum(0)?])).unwrap();
    let text = graph.to_string();
    let expected = "opforge graph 1\ngraph(%0 f32[2, 3]) {\n  \
        %1 f32[3, 2] stride [1, 3] = UnaryOp<Exp> %0 f32[3, 2] stride [1, 3]\n  \
        %2 f32[2] = ReduceOp<Sum>(reduction=Sum(widen=false), axes=[0], keepdim=false) %1 f32[3, 2] stride [1, 3]\n  \
        return %2 f32[2]\n}\n";
    assert_eq!(text, expected);
}

fn step((kind, a, b): (u8, usize, usize), pool: &[Tensor]) -> Result<Tensor> {
    let (x, y) = (&pool[a % pool.len()], &pool[b % pool.len()]);
    match kind % 18 {
        0 => x.broadcast_add(y),
        1 => x.broadcast_mul(y),
        2 => x.sqr(),
        3 => x.tanh(),
        4 => x.affine(0.5, 0.25),
        5 => x.sum_keepdim(x.rank() - 1),
        6 => opforge::functional::softmax(x, -1, None),
        7 => x.t()?.contiguous()?.t(),
        8 => x.matmul(&y.t()?),
        9 => x.narrow(0, 0, x.dims()[0].div_ceil(2)),
        10 => {
            let copy = x.copy()?;
            copy.mul_(&x.affine(0.0, 2.0)?)?;
            Ok(copy)
        }
        11 => x.neg()?.neg(),
        12 => x.copy()?.to_dtype(DType::F64)?.to_dtype(DType::F32),
        13 => x.broadcast_lt(y)?.where_cond(&x.broadcast_add(y)?, &x.broadcast_sub(y)?),
        // The first three are arguments, which are to stay.
        _ if pool[..3].iter().any(|given| given.shares_storage(x)) => x.exp(),
        kind => {
            let (changed, read) = (view(x, a / 64)?, view(x, b / 64)?);
            change(&changed, kind)?;
            if b % 2 == 0 { changed.affine(0.5, 0.25) } else { read.affine(0.5, 0.25) }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 100 } else { 1000 }))]
    #[test]
    fn random_graphs(
        choices in prop::collection::vec((any::<u8>(), any::<usize>(), any::<usize>()), 1..14),
        dead_code: bool, laws: bool, common_calls: bool, constants: bool, scheduling: bool, fusion: bool, prepacking: bool,
    ) {
        let given = [floats(&[48, 48], 1), floats(&[48, 48], 2), floats(&[1, 48], 3)];
        let program = |x: &[Tensor]| {
            let mut pool = x.to_vec();
            for choice in &choices {
                if let Ok(made) = step(*choice, &pool) {
                    pool.push(made);
                }
            }
            Ok(pool.split_off(pool.len() - 2))
        };
        let references: Vec<&Tensor> = given.iter().collect();
        let eager = program(&given).unwrap();
        let graph = trace(&references, program).unwrap();
        let lazy = graph.compile_with(Options { dead_code, laws, common_calls, constants, scheduling, fusion, prepacking }).unwrap().run(&references).unwrap();
        for (a, b) in lazy.iter().zip(&eager) {
            prop_assert_eq!(a.dims(), b.dims());
            let bits = |t: &Tensor| vec(t).into_iter().map(f32::to_bits).collect::<Vec<u32>>();
            prop_assert_eq!(bits(a), bits(b));
        }
    }
}
