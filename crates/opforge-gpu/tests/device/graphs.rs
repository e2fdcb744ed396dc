//! What tests of every kind of GPU check of graphs: functions of single elements are one kernel, and results are those of calls one by one.
#![allow(dead_code)]

use opforge::{DType, Device, Result, Tensor, Var, functional as f};
use opforge_graph::{Function, Options, trace};

/// Tests of graphs, named as the functions of this module: on the device that `$gpu` gives, and without one they pass.
macro_rules! tests_of_graphs {
    ($gpu:expr) => {
        tests_of_graphs! { $gpu;
            rows_of_what_was_changed_in_place_are_of_the_new_elements,
            functions_of_single_elements_are_one_kernel,
            changes_in_place_and_views_keep_their_order,
            gradients_are_programs_too,
            a_graph_is_of_one_device,
        }
    };
    ($gpu:expr; $($name:ident),* $(,)?) => {
        $(#[test]
        fn $name() -> Result<()> {
            $gpu.map_or(Ok(()), |gpu| graphs::$name(&gpu))
        })*
    };
}

fn numbers(shape: (usize, usize), dtype: DType, device: &Device) -> Result<Tensor> {
    let values: Vec<f32> = (0..shape.0 * shape.1).map(|i| (i as f32 * 0.37).sin() * 2.0).collect();
    Tensor::from_vec(values, shape, &Device::Cpu)?.to_dtype(dtype)?.to_device(device)
}

fn flat(t: &Tensor) -> Result<Vec<f32>> {
    t.detach().to_dtype(DType::F32)?.flatten_all()?.to_vec1()
}

fn assert_near(got: &[f32], want: &[f32], tolerance: f32) {
    assert_eq!(got.len(), want.len());
    for (got, want) in got.iter().zip(want) {
        assert!((got - want).abs() <= tolerance * (1.0 + want.abs()), "{got} is not {want}");
    }
}

/// A function of elements, rows and products.
fn layer(x: &Tensor, w: &Tensor, b: &Tensor) -> Result<Tensor> {
    let y = x.broadcast_mul(b)?.broadcast_add(b)?.gelu()?;
    let z = (y.sqr()? + &y)?.tanh()?.affine(0.5, 1.0)?.log()?;
    z.matmul(w)?.relu()?.broadcast_sub(b)
}

pub fn functions_of_single_elements_are_one_kernel(gpu: &Device) -> Result<()> {
    for (dtype, tolerance) in [(DType::F32, 1e-5), (DType::F64, 1e-6), (DType::F16, 4e-3), (DType::BF16, 3e-2)] {
        let [x, w] = [(5, 4), (4, 4)].map(|shape| numbers(shape, dtype, gpu));
        let (x, w, b) = (x?, w?, numbers((1, 4), dtype, gpu)?.squeeze(0)?);
        let f = |x: &[Tensor]| Ok(vec![layer(&x[0], &x[1], &x[2])?]);
        let program = trace(&[&x, &w, &b], f)?.compile()?;
        assert_eq!(program.device(), *gpu);
        assert_eq!(program.stages().len(), 3, "{:?}", program.stages());
        let [got] = &program.run(&[&x, &w, &b])?[..] else { panic!("one result") };
        let want = layer(&x.to_device(&Device::Cpu)?, &w.to_device(&Device::Cpu)?, &b.to_device(&Device::Cpu)?)?;
        assert!(got.device().same_device(gpu));
        assert_near(&flat(got)?, &flat(&want)?, tolerance);
        let apart = trace(&[&x, &w, &b], f)?.compile_with(Options { fusion: false, ..Options::ALL })?;
        assert!(apart.stages().len() > 8);
        // Halves that pass between calls are rounded as in memory.
        assert_eq!(flat(&apart.run(&[&x, &w, &b])?[0])?, flat(got)?);
    }
    Ok(())
}

/// Functions of tensors `[n, m]`, and of numbers of rows `[m]`, whose calls are one kernel.
type OfRows = fn(&Tensor, &Tensor, &Tensor) -> Result<Vec<Tensor>>;
const OF_ROWS: [(&str, OfRows); 8] = [
    ("softmax", |x, y, _| Ok(vec![f::softmax(&(x.affine(0.5, 0.1)? + y)?, -1, None)?])),
    ("softmax and what follows", |x, y, b| {
        Ok(vec![f::softmax(&x.broadcast_mul(b)?, -1, None)?.mul(y)?.affine(3.0, 1.0)?])
    }),
    ("norm", |x, y, b| {
        let sum = (x + y)?;
        let normal = f::layer_norm(&sum, &[sum.dims()[1] as i64], Some(b), Some(b), 1e-5)?;
        Ok(vec![normal.gelu()?, sum])
    }),
    ("root mean square", |x, y, b| {
        Ok(vec![(f::rms_norm(&(x * y)?, &[x.dims()[1] as i64], Some(b), Some(1e-5))? + x)?])
    }),
    ("softmax by hand", |x, _, _| {
        let powers = x.broadcast_sub(&x.max_keepdim(1)?)?.exp()?;
        Ok(vec![powers.broadcast_div(&powers.sum_keepdim(1)?)?])
    }),
    ("numbers of rows", |x, y, _| {
        let size = (x * y)?.sum_keepdim(1)?.abs()?.affine(1.0, 1.0)?;
        Ok(vec![x.broadcast_div(&size)?, size.log()?])
    }),
    ("a mean", |x, y, _| Ok(vec![(x - y)?.sqr()?.mean_all()?])),
    ("sums of columns", |x, y, b| Ok(vec![(x * y)?.broadcast_mul(b)?.sum(0)?])),
];

/// In f32; in bf16 too where rows fill packs and where they do not, or for `all` shapes.
pub fn functions_of_rows_are_one_kernel(gpu: &Device, all: bool) -> Result<()> {
    // Short and long rows, those that lanes hold in packs and those that are too long for that.
    for shape in [(5, 4), (7, 1), (300, 256), (70, 1000), (3, 9000), (9, 37)] {
        let dtypes = [(DType::F32, 2e-5), (DType::BF16, 4e-2)];
        let tried = if all || matches!(shape, (300, 256) | (9, 37)) { 2 } else { 1 };
        for (dtype, tolerance) in dtypes.into_iter().take(tried) {
            let [x, y] = [numbers(shape, dtype, gpu)?, numbers(shape, dtype, gpu)?.cos()?];
            let b = numbers((1, shape.1), dtype, gpu)?.squeeze(0)?;
            for (name, of) in OF_ROWS {
                let program = trace(&[&x, &y, &b], |t| of(&t[0], &t[1], &t[2]))?.compile()?;
                assert_eq!(program.stages().len(), 1, "{name}: {:?}", program.stages());
                let want = of(&x, &y, &b)?;
                for (got, want) in program.run(&[&x, &y, &b])?.iter().zip(&want) {
                    assert_eq!(got.dims(), want.dims(), "{name} of {shape:?}");
                    let (got, want) = (flat(got)?, flat(want)?);
                    let far =
                        got.iter().zip(&want).find(|(got, want)| (*got - *want).abs() > tolerance * (1.0 + want.abs()));
                    assert!(far.is_none(), "{name} of {shape:?} in {dtype:?}: {far:?}");
                }
            }
        }
    }
    Ok(())
}

pub fn rows_of_what_was_changed_in_place_are_of_the_new_elements(gpu: &Device) -> Result<()> {
    // Rows that lanes hold, and rows that are computed again wherever they are needed.
    for shape in [(6, 40), (2, 20_000)] {
        let change = |x: &[Tensor]| -> Result<Vec<Tensor>> {
            x[0].copy_from(&(&x[0] + &x[1])?)?;
            let y = f::softmax(&x[0], -1, None)?;
            x[1].copy_from(&y.affine(2.0, 0.0)?)?;
            Ok(vec![(&y + &x[1])?, x[1].sum_keepdim(1)?])
        };
        let run = |device: &Device, traced: bool| -> Result<Vec<Vec<f32>>> {
            let x = numbers(shape, DType::F32, device)?;
            let given = [x.cos()?, x];
            let made = match traced {
                true => trace(&[&given[0], &given[1]], change)?.compile()?.run(&[&given[0], &given[1]])?,
                false => change(&given)?,
            };
            made.iter().chain(&given).map(flat).collect()
        };
        for (got, want) in run(gpu, true)?.iter().zip(&run(&Device::Cpu, false)?) {
            assert_near(got, want, 1e-6);
        }
    }
    Ok(())
}

pub fn changes_in_place_and_views_keep_their_order(gpu: &Device) -> Result<()> {
    let program = |x: &[Tensor]| -> Result<Vec<Tensor>> {
        let y = x[0].affine(2.0, 0.0)?;
        // A row of what is changed, read before and after; a part, changed.
        let before = x[0].broadcast_add(&x[0].narrow(0, 1, 1)?)?;
        x[0].copy_from(&y.sin()?)?;
        let after = x[0].broadcast_add(&x[0].narrow(0, 1, 1)?)?;
        x[0].narrow(1, 0, 2)?.copy_from(&y.narrow(1, 2, 2)?)?;
        Ok(vec![before, after.t()?, (x[0].exp()? + &y)?, y.narrow(1, 1, 2)?])
    };
    let run = |device: &Device, traced: bool| -> Result<Vec<Vec<f32>>> {
        let x = numbers((3, 4), DType::F32, device)?;
        let results = match traced {
            true => trace(&[&x], program)?.compile()?.run(&[&x])?,
            false => program(std::slice::from_ref(&x))?,
        };
        results.iter().chain([&x]).map(flat).collect()
    };
    let want = run(&Device::Cpu, false)?;
    for got in [run(gpu, false)?, run(gpu, true)?] {
        got.iter().zip(&want).for_each(|(got, want)| assert_near(got, want, 1e-6));
    }
    Ok(())
}

pub fn gradients_are_programs_too(gpu: &Device) -> Result<()> {
    let run = |device: &Device, traced: bool| -> Result<Vec<Vec<f32>>> {
        let x = numbers((3, 4), DType::F32, device)?;
        let w = Var::from_tensor(&numbers((4, 4), DType::F32, device)?)?;
        let b = Var::from_tensor(&numbers((1, 4), DType::F32, device)?.squeeze(0)?)?;
        let network = |x: &[Tensor]| Ok(vec![f::softmax(&layer(&x[0], &w, &b)?, 1, None)?]);
        let y = match traced {
            true => Function::trace(&[&x], network)?.call(&[&x])?.remove(0),
            false => network(&[x])?.remove(0),
        };
        let gradients = y.sqr()?.sum_all()?.backward()?;
        [Ok(&y), gradients.get(&w).ok_or("w"), gradients.get(&b).ok_or("b")]
            .map(|t| flat(t.expect("a gradient")))
            .into_iter()
            .collect()
    };
    let want = run(&Device::Cpu, false)?;
    for got in [run(gpu, false)?, run(gpu, true)?] {
        got.iter().zip(&want).for_each(|(got, want)| assert_near(got, want, 1e-4));
    }
    Ok(())
}

pub fn a_graph_is_of_one_device(gpu: &Device) -> Result<()> {
    let (x, y) = (numbers((2, 2), DType::F32, gpu)?, numbers((2, 2), DType::F32, &Device::Cpu)?);
    let error = trace(&[&x, &y], |x| Ok(x.to_vec())).expect_err("two devices").to_string();
    assert!(error.contains("cpu") && error.contains("one device"), "{error}");
    let program = trace(&[&x], |x| Ok(vec![x[0].exp()?]))?.compile()?;
    assert!(program.run(&[&y]).is_err());
    // What is drawn is drawn anew, from the same stream.
    let dropout = trace(&[&x], |x| Ok(vec![(x[0].rand_like(0.0, 1.0)? + &x[0])?]))?.compile()?;
    opforge_runtime::Generator::global().manual_seed(3);
    let drawn = flat(&dropout.run(&[&x])?[0])?;
    opforge_runtime::Generator::global().manual_seed(3);
    assert_eq!(flat(&(x.rand_like(0.0, 1.0)? + &x)?)?, drawn);
    Ok(())
}
