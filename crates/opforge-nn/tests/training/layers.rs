//! Layers: values on small inputs, and gradients against finite differences.

use std::collections::HashMap;

use opforge::{DType, Device, ErrorKind, Module, ModuleT, Result, Tensor, Var};
use opforge_nn::*;

const CPU: &Device = &Device::Cpu;

fn close(got: &[f64], wanted: &[f64], tolerance: f64) {
    assert_eq!(got.len(), wanted.len());
    for (got, wanted) in got.iter().zip(wanted) {
        assert!((got - wanted).abs() <= tolerance * wanted.abs().max(1.0), "{got}, wanted {wanted}");
    }
}

fn values(t: &Tensor) -> Result<Vec<f64>> {
    t.flatten_all()?.to_vec1::<f64>()
}

/// Compares the gradient of `sum(f(x) * c)`, for a fixed uneven `c`, with central differences.
fn check_gradient(x: &Var, f: impl Fn() -> Result<Tensor>) -> Result<()> {
    const H: f64 = 1e-5;
    let scalar = || -> Result<Tensor> {
        let y = f()?;
        let factors: Vec<f64> = (0..y.elem_count()).map(|i| (i as f64 * 0.7).sin() + 0.3).collect();
        y.mul(&Tensor::from_vec(factors, y.shape(), CPU)?)?.sum_all()
    };
    let grads = scalar()?.backward()?;
    let grad = values(grads.get(x).expect("a gradient"))?;
    let start = values(x)?;
    let at = |i: usize, h: f64| -> Result<f64> {
        let mut moved = start.clone();
        moved[i] += h;
        x.set(&Tensor::from_vec(moved, x.shape(), CPU)?)?;
        scalar()?.to_scalar::<f64>()
    };
    let slopes: Vec<f64> = (0..start.len()).map(|i| Ok((at(i, H)? - at(i, -H)?) / (2.0 * H))).collect::<Result<_>>()?;
    x.set(&Tensor::from_vec(start, x.shape(), CPU)?)?;
    close(&grad, &slopes, 1e-6);
    Ok(())
}

fn sample(shape: impl Into<opforge::Shape>) -> Result<Var> {
    let shape = shape.into();
    let data = (0..shape.elem_count()).map(|i| (i as f64 * 1.3).sin() * 2.0 + 0.1).collect();
    Var::from_vec(data, shape, CPU)
}

#[test]
fn linear_layers() -> Result<()> {
    let vars = VarMap::new();
    let vb = VarBuilder::from_varmap(&vars, DType::F64, CPU);
    let layer = linear(3, 2, vb.pp("a"))?;
    assert_eq!((layer.weight().dims(), layer.bias().unwrap().dims()), (&[2, 3][..], &[2][..]));
    let x = sample((4, 3))?;
    let by_hand = x.matmul(&layer.weight().t()?)?.broadcast_add(layer.bias().unwrap())?;
    close(&values(&layer.forward(&x)?)?, &values(&by_hand)?, 1e-12);
    assert_eq!(vars.all_vars().len(), 2);
    for var in vars.all_vars() {
        check_gradient(&var, || layer.forward(&x))?;
    }
    assert!(linear_b(3, 2, false, vb.pp("b"))?.bias().is_none());
    Ok(())
}

#[test]
fn embeddings_of_any_rank() -> Result<()> {
    let table = sample((5, 3))?;
    let layer = Embedding::new(table.as_tensor().clone(), 3);
    let ids = Tensor::new(&[[4u32, 0], [1, 4]], CPU)?;
    let rows = layer.forward(&ids)?;
    assert_eq!(rows.dims(), [2, 2, 3]);
    let (all, table_values) = (values(&rows)?, values(&table)?);
    assert_eq!(all[..3], table_values[12..]);
    assert_eq!(all[3..6], table_values[..3]);
    check_gradient(&table, || layer.forward(&ids))
}

#[test]
fn norms_have_values_and_gradients() -> Result<()> {
    let (x, w, b) = (sample((3, 4))?, sample(4)?, sample(4)?);
    let (weight, bias) = (w.as_tensor().clone(), b.as_tensor().clone());
    let norm = LayerNorm::new(weight.clone(), bias, 1e-3);
    let mean = x.mean_keepdim(1)?;
    let centred = x.broadcast_sub(&mean)?;
    let deviation = (centred.sqr()?.mean_keepdim(1)? + 1e-3)?.sqrt()?;
    let by_hand = centred.broadcast_div(&deviation)?.broadcast_mul(&w)?.broadcast_add(&b)?;
    close(&values(&norm.forward(&x)?)?, &values(&by_hand)?, 1e-9);
    for var in [&x, &w, &b] {
        check_gradient(var, || norm.forward(&x))?;
    }
    let rms = LayerNorm::rms_norm(weight.clone(), 1e-3);
    let root = (x.sqr()?.mean_keepdim(1)? + 1e-3)?.sqrt()?;
    close(&values(&rms.forward(&x)?)?, &values(&x.broadcast_div(&root)?.broadcast_mul(&w)?)?, 1e-9);
    for var in [&x, &w] {
        check_gradient(var, || rms.forward(&x))?;
        check_gradient(var, || ops::rms_norm(&x, &weight, 1e-3))?;
    }
    Ok(())
}

#[test]
fn softmax_has_a_gradient_in_every_dimension() -> Result<()> {
    let x = sample((2, 3, 4))?;
    for dim in 0..3 {
        close(&values(&ops::softmax(&x, dim)?.sum_all()?)?, &[24.0 / [2.0, 3.0, 4.0][dim]], 1e-12);
        close(&values(&ops::log_softmax(&x, dim)?)?, &values(&ops::softmax(&x, dim)?.log()?)?, 1e-12);
        check_gradient(&x, || ops::softmax(&x, dim))?;
        check_gradient(&x, || ops::log_softmax(&x, dim))?;
    }
    assert!(ops::softmax(&x, 3).is_err());
    Ok(())
}

#[test]
fn activations() -> Result<()> {
    let softplus = |x: f64| x.exp().ln_1p();
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let hard = |x: f64| ((x + 3.0) / 6.0).clamp(0.0, 1.0);
    type Case<'a> = (Activation, &'a dyn Fn(f64) -> f64);
    let cases: [Case<'_>; 11] = [
        (Activation::Relu, &|x| x.max(0.0)),
        (Activation::Relu2, &|x| x.max(0.0).powi(2)),
        (Activation::Relu6, &|x| x.clamp(0.0, 6.0)),
        (Activation::Silu, &|x| x * sigmoid(x)),
        (Activation::Swish, &|x| x * sigmoid(x)),
        (Activation::Sigmoid, &sigmoid),
        (Activation::HardSigmoid, &hard),
        (Activation::HardSwish, &|x| x * hard(x)),
        (Activation::Mish, &|x| x * softplus(x).tanh()),
        (Activation::Elu(1.5), &|x| if x > 0.0 { x } else { 1.5 * x.exp_m1() }),
        (Activation::LeakyRelu(0.1), &|x| if x > 0.0 { x } else { 0.1 * x }),
    ];
    let inputs = [-30.0, -4.0, -1.5, -0.2, 0.3, 2.0, 5.0, 8.0, 40.0];
    let x = Var::new(&inputs, CPU)?;
    for (activation, reference) in cases {
        let wanted: Vec<f64> = inputs.iter().map(|&x| reference(x)).collect();
        close(&values(&activation.forward(&x)?)?, &wanted, 1e-12);
        check_gradient(&x, || activation.forward(&x))?;
    }
    for activation in [Activation::Gelu, Activation::NewGelu, Activation::GeluPytorchTanh] {
        check_gradient(&x, || activation.forward(&x))?;
    }
    let pair = sample((2, 6))?;
    assert_eq!(Activation::Swiglu.forward(&pair)?.dims(), [2, 3]);
    check_gradient(&pair, || Activation::Swiglu.forward(&pair))?;
    assert_eq!(Activation::Swiglu.forward(&x).unwrap_err().kind(), ErrorKind::Shape);
    Ok(())
}

#[test]
fn prelu_learns_its_slopes() -> Result<()> {
    let (x, w) = (sample((2, 3, 2))?, sample(3)?);
    let per_channel = PReLU::new(w.as_tensor().clone(), false);
    check_gradient(&w, || per_channel.forward(&x))?;
    let one = Var::new(&[0.25f64], CPU)?;
    let shared = PReLU::new(one.as_tensor().clone(), true);
    let wanted: Vec<f64> = values(&x)?.iter().map(|&x| if x > 0.0 { x } else { x / 4.0 }).collect();
    close(&values(&shared.forward(&x)?)?, &wanted, 0.0);
    check_gradient(&one, || shared.forward(&x))
}

#[test]
fn dropout_keeps_the_mean_and_stops_when_not_training() -> Result<()> {
    let x = Tensor::ones(20_000, DType::F64, CPU)?;
    let layer = Dropout::new(0.25);
    let dropped = values(&layer.forward_t(&x, true)?)?;
    let kept = dropped.iter().filter(|&&y| y != 0.0).count();
    assert!((14_500..15_500).contains(&kept), "{kept} of 20000 kept");
    assert!(dropped.iter().all(|&y| y == 0.0 || (y - 4.0 / 3.0).abs() < 1e-9));
    assert_eq!(values(&layer.forward(&x, false)?)?, values(&x)?);
    assert!(Dropout::new(1.5).forward(&x, true).is_err());
    Ok(())
}

#[test]
fn chains_and_closures() -> Result<()> {
    let x = Tensor::new(&[-1f64, 2.0], CPU)?;
    let chain = seq().add(Activation::Relu).add_fn(|x| x.affine(3.0, 1.0)).add(func(|x| x.neg()));
    assert_eq!((chain.len(), seq().is_empty()), (3, true));
    assert_eq!(values(&chain.forward(&x)?)?, [-1.0, -7.0]);
    let all: Vec<_> = chain.forward_all(&x)?.iter().map(values).collect::<Result<_>>()?;
    assert_eq!(all, [[0.0, 2.0], [1.0, 7.0], [-1.0, -7.0]]);
    assert_eq!(values(&x.apply(&chain)?.apply_t(&Activation::Relu, true)?)?, [0.0, 0.0]);
    assert_eq!(values(&seq().forward(&x)?)?, [-1.0, 2.0]);
    Ok(())
}

#[test]
fn builders_name_check_and_start_their_tensors() -> Result<()> {
    let vars = VarMap::new();
    let vb = VarBuilder::from_varmap(&vars, DType::F32, CPU);
    let w = vb.pp("block").pp(3).get_with_hints((2, 2), "w", Init::Const(0.5))?;
    assert_eq!(w.to_vec2::<f32>()?, [[0.5; 2]; 2]);
    assert!(w.requires_grad() && vb.contains_tensor("block.3.w"));
    let again = vb.set_prefix("block.3").get((2, 2), "w")?;
    assert_eq!(again.id(), w.id());
    assert_eq!(vb.pp("block.3").get((2, 3), "w").unwrap_err().kind(), ErrorKind::Shape);
    let tensors = HashMap::from([("a.w".to_owned(), Tensor::new(&[1f64, 2.0], CPU)?)]);
    let given = VarBuilder::from_tensors(tensors, DType::F32, CPU);
    assert_eq!(given.pp("a").get(2, "w")?.to_vec1::<f32>()?, [1.0, 2.0]);
    assert!(given.get(2, "w").unwrap_err().to_string().contains("cannot find tensor w"));
    assert_eq!(VarBuilder::zeros(DType::F64, CPU).get(3, "any")?.to_vec1::<f64>()?, [0.0; 3]);
    Ok(())
}

#[test]
fn starts_have_their_scale() -> Result<()> {
    let spread = |init: Init, shape: (usize, usize)| -> Result<(f64, f64)> {
        let all = values(init.var(shape, DType::F64, CPU)?.as_tensor())?;
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        Ok((mean, (all.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / all.len() as f64).sqrt()))
    };
    let wanted = (2.0f64 / 200.0).sqrt();
    for init in [Init::DEFAULT_KAIMING_NORMAL, Init::DEFAULT_KAIMING_UNIFORM, Init::Randn { mean: 0.0, stdev: wanted }]
    {
        let (mean, deviation) = spread(init, (300, 200))?;
        assert!(mean.abs() < wanted / 50.0 && (deviation / wanted - 1.0).abs() < 0.02, "{init:?}: {mean} {deviation}");
    }
    let (mean, deviation) = spread(Init::Uniform { lo: 1.0, up: 3.0 }, (300, 200))?;
    assert!((mean - 2.0).abs() < 0.02 && (deviation - 1.0 / 3f64.sqrt()).abs() < 0.01);
    Ok(())
}
