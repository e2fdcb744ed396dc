//! Every optimizer against its formula in f64 on one number, for several steps.

use opforge::{DType, Device, Result, Tensor, Var};
use opforge_nn::{Adam, AdamW, Optimizer, ParamsAdam, ParamsAdamW, ParamsSGD, SGD};

const STEPS: usize = 12;
const STARTS: [f64; 5] = [-2.0, -0.5, 0.0, 0.7, 3.0];

/// The gradient of the test's loss, `sum(x^4 / 4 + x)`.
fn gradient(x: f64) -> f64 {
    x * x * x + 1.0
}

fn loss(x: &Var) -> Result<Tensor> {
    x.sqr()?.sqr()?.affine(0.25, 0.0)?.add(x)?.sum_all()
}

/// Runs the optimizer beside a formula that takes the value, the gradient and the step (from 1) to the next value.
fn check<O: Optimizer, F: FnMut(f64, f64, i32) -> f64>(config: O::Config, formula: impl Fn() -> F) -> Result<()> {
    let x = Var::new(&STARTS, &Device::Cpu)?;
    let view = x.as_detached_tensor();
    with_optimizer(&x, O::from_slice(&[&x], config)?, formula)?;
    assert_eq!(view.to_vec1::<f64>()?, x.to_vec1::<f64>()?, "an earlier view sees the new values");
    Ok(())
}

fn with_optimizer<O: Optimizer, F: FnMut(f64, f64, i32) -> f64>(
    x: &Var,
    mut optimizer: O,
    formula: impl Fn() -> F,
) -> Result<()> {
    let mut wanted: Vec<(f64, F)> = STARTS.iter().map(|&start| (start, formula())).collect();
    for step in 1..=STEPS as i32 {
        optimizer.backward_step(&loss(x)?)?;
        for (i, (value, formula)) in wanted.iter_mut().enumerate() {
            *value = formula(*value, gradient(*value), step);
            let got = x.to_vec1::<f64>()?[i];
            assert!((got - *value).abs() <= 1e-12 * value.abs().max(1.0), "step {step}: {got}, wanted {value}");
        }
    }
    Ok(())
}

#[test]
fn sgd() -> Result<()> {
    check::<SGD, _>(0.03, || |x, g, _| x - 0.03 * g)
}

#[test]
fn sgd_with_momentum_nesterov_and_decay() -> Result<()> {
    for (momentum, nesterov, weight_decay) in
        [(0.0, false, 0.1), (0.9, false, 0.0), (0.9, false, 0.1), (0.8, true, 0.0), (0.8, true, 0.2)]
    {
        let lr = 0.02;
        let x = Var::new(&STARTS, &Device::Cpu)?;
        let sgd = SGD::with_params(vec![x.clone()], ParamsSGD { lr, momentum, nesterov, weight_decay })?;
        with_optimizer(&x, sgd, || {
            let mut buffer = 0.0;
            move |x: f64, g: f64, _| {
                let d = g + weight_decay * x;
                buffer = momentum * buffer + d;
                let ahead = if nesterov { d + momentum * buffer } else { buffer };
                x - lr * ahead
            }
        })?;
    }
    Ok(())
}

/// Adam's formula as its paper states it; `decoupled` as in AdamW's.
fn adam(p: ParamsAdamW, decoupled: bool) -> impl FnMut(f64, f64, i32) -> f64 {
    let (mut m, mut v) = (0.0, 0.0);
    move |x, g, t| {
        let g = if decoupled { g } else { g + p.weight_decay * x };
        m = p.beta1 * m + (1.0 - p.beta1) * g;
        v = p.beta2 * v + (1.0 - p.beta2) * g * g;
        let (mean, square) = (m / (1.0 - p.beta1.powi(t)), v / (1.0 - p.beta2.powi(t)));
        let x = if decoupled { x - p.lr * p.weight_decay * x } else { x };
        x - p.lr * mean / (square.sqrt() + p.eps)
    }
}

#[test]
fn adamw() -> Result<()> {
    let params = ParamsAdamW { lr: 0.1, weight_decay: 0.2, beta1: 0.8, ..ParamsAdamW::default() };
    check::<AdamW, _>(params, || adam(params, true))
}

#[test]
fn adam_with_and_without_decay() -> Result<()> {
    for weight_decay in [0.0, 0.3] {
        let p = ParamsAdam { lr: 0.1, weight_decay, ..ParamsAdam::default() };
        let ParamsAdam { lr, beta1, beta2, eps, .. } = p;
        check::<Adam, _>(p, || adam(ParamsAdamW { lr, beta1, beta2, eps, weight_decay }, false))?;
    }
    Ok(())
}

#[test]
fn the_learning_rate_can_change_between_steps() -> Result<()> {
    let x = Var::new(&[1f64], &Device::Cpu)?;
    let mut sgd = SGD::new(vec![x.clone()], 0.5)?;
    sgd.backward_step(&x.sum_all()?)?;
    sgd.set_learning_rate(0.25);
    assert_eq!(sgd.learning_rate(), 0.25);
    sgd.backward_step(&x.sum_all()?)?;
    assert_eq!(x.to_vec1::<f64>()?, [0.25]);
    Ok(())
}

#[test]
fn variables_without_gradient_stay() -> Result<()> {
    let (used, idle) = (Var::new(&[1f32], &Device::Cpu)?, Var::new(&[1f32], &Device::Cpu)?);
    let count = Var::new(&[7u32], &Device::Cpu)?;
    let mut adam = AdamW::new_lr(vec![used.clone(), idle.clone(), count], 0.1)?;
    adam.backward_step(&used.sqr()?.sum_all()?)?;
    assert!(used.to_vec1::<f32>()?[0] < 1.0);
    assert_eq!(idle.to_vec1::<f32>()?, [1.0]);
    Ok(())
}

#[test]
fn half_precision_is_updated_in_its_own_dtype() -> Result<()> {
    for dtype in [DType::F16, DType::BF16, DType::F32] {
        let x = Var::ones(4, dtype, &Device::Cpu)?;
        SGD::new(vec![x.clone()], 0.5)?.backward_step(&x.sqr()?.sum_all()?)?;
        assert_eq!(x.to_dtype(DType::F32)?.to_vec1::<f32>()?, [0.0; 4], "{dtype}");
    }
    Ok(())
}

#[test]
fn a_gradient_of_another_layout_is_read_right() -> Result<()> {
    let x = Var::new(&[[1f64, 2.0, 3.0], [4.0, 5.0, 6.0]], &Device::Cpu)?;
    let factor = Tensor::new(&[[1f64, 2.0], [3.0, 4.0], [5.0, 6.0]], &Device::Cpu)?;
    SGD::new(vec![x.clone()], 1.0)?.backward_step(&x.t()?.mul(&factor)?.sum_all()?)?;
    assert_eq!(x.to_vec2::<f64>()?, [[0.0, -1.0, -2.0], [2.0, 1.0, 0.0]]);
    Ok(())
}

#[test]
fn senseless_numbers_are_refused() {
    assert!(AdamW::new(vec![], ParamsAdamW { beta1: 1.0, ..ParamsAdamW::default() }).is_err());
    assert!(Adam::new(vec![], ParamsAdam { beta2: f64::NAN, ..ParamsAdam::default() }).is_err());
    assert!(SGD::with_params(vec![], ParamsSGD { nesterov: true, ..ParamsSGD::default() }).is_err());
}

#[test]
fn adam_goes_on_from_its_state() -> Result<()> {
    let (one, other) = (Var::new(&[1f32, -2.0], &Device::Cpu)?, Var::new(&[1f32, -2.0], &Device::Cpu)?);
    let mut whole = AdamW::new_lr(vec![one.clone()], 0.1)?;
    let step = |optimizer: &mut AdamW, var: &Var| optimizer.backward_step(&var.sqr()?.sum_all()?);
    for _ in 0..3 {
        step(&mut whole, &one)?;
    }
    let state = whole.state()?;
    other.set(&one)?;
    for _ in 0..3 {
        step(&mut whole, &one)?;
    }
    let mut resumed = AdamW::new_lr(vec![other.clone()], 0.1)?;
    resumed.load_state(&state.iter().cloned().collect())?;
    for _ in 0..3 {
        step(&mut resumed, &other)?;
    }
    assert_eq!(one.to_vec1::<f32>()?, other.to_vec1::<f32>()?);

    let missing = resumed.load_state(&state[..2].iter().cloned().collect()).unwrap_err().to_string();
    assert!(missing.contains("optimizer.0.square"), "{missing}");
    let mut wrong: std::collections::HashMap<String, Tensor> = state.iter().cloned().collect();
    wrong.insert("optimizer.0.mean".to_owned(), Tensor::zeros(3, DType::F32, &Device::Cpu)?);
    let wrong = resumed.load_state(&wrong).unwrap_err().to_string();
    assert!(wrong.contains("[3]") && wrong.contains("[2]"), "{wrong}");
    Ok(())
}
