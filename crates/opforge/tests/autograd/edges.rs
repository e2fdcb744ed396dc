//! Gradients at the edges of formulas: NaN and infinities, ends of domains, next to zeros of divisors.

use opforge::autograd::{BackwardOptions, grad};
use opforge::{DType, Device, Result, Tensor, Var, functional as f};

const CPU: &Device = &Device::Cpu;
const CREATE: BackwardOptions = BackwardOptions { retain_graph: false, create_graph: true };
const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

fn vector(x: &[f64]) -> Var {
    Var::from_slice(x, x.len(), CPU).unwrap()
}

/// The derivatives of an order, element by element.
#[track_caller]
fn derivatives(function: impl Fn(&Tensor) -> Result<Tensor>, x: &[f64], order: usize) -> Vec<f64> {
    let x = vector(x);
    let mut y = function(&x).unwrap();
    for _ in 0..order {
        y = grad(&[(y.sum_all().unwrap(), None)], &[&x], CREATE).unwrap().swap_remove(0).unwrap();
    }
    y.to_vec1().unwrap()
}

#[track_caller]
fn assert_close(found: &[f64], wanted: &[f64]) {
    let close = |(a, b): (&f64, &f64)| a == b || a.is_nan() && b.is_nan() || (a - b).abs() < 1e-9 * b.abs().max(1.0);
    assert!(found.len() == wanted.len() && found.iter().zip(wanted).all(close), "{found:?}, but {wanted:?}");
}

#[test]
fn nan_shares_the_gradient_of_extremes_and_medians() {
    for function in [f::max, f::min, f::median, |x: &Tensor| f::vector_norm(x, INF, None, false, None)] {
        let is_norm = function(&vector(&[-1.0])).unwrap().to_scalar::<f64>().unwrap() > 0.0;
        let of = |x: &[f64]| derivatives(function, x, 1);
        assert_close(&of(&[1.0, NAN, 3.0]), &[0.0, if is_norm { 0.0 } else { 1.0 }, 0.0]);
        assert_close(&of(&[2.0, 2.0]), &[0.5, 0.5]);
        assert_close(&of(&[INF, INF, INF]), &[1.0 / 3.0; 3]);
    }
    assert_close(&derivatives(f::max, &[NAN, 1.0, NAN], 1), &[0.5, 0.0, 0.5]);
    assert_close(&derivatives(f::nanmedian, &[NAN, NAN], 1), &[0.5, 0.5]);
    assert_close(&derivatives(|x| f::amax(x, None, false), &[1.0, NAN], 1), &[NAN, NAN]);
    let complex = |x: &Tensor| f::vector_norm(&f::complex(x, x)?, INF, None, false, None);
    assert_close(&derivatives(complex, &[3.0, 1.0], 1), &[2f64.sqrt(), 0.0]);
    assert_close(&derivatives(complex, &[NAN, 1.0], 1), &[0.0, 0.0]);
}

#[test]
fn logit_between_its_bounds() {
    let x = [0.0, 0.5, 1.0, NAN, -0.5, 1.5];
    assert_close(&derivatives(|x| f::logit(x, Some(0.0)), &x, 1), &[INF, 4.0, INF, NAN, 0.0, 0.0]);
    assert_close(&derivatives(|x| f::logit(x, Some(0.5)), &x, 1), &[0.0, 4.0, 0.0, NAN, 0.0, 0.0]);
    assert_close(&derivatives(|x| f::logit(x, Some(0.6)), &x, 1), &[0.0, 0.0, 0.0, NAN, 0.0, 0.0]);
}

#[test]
fn powers_of_zero_by_their_exponent() {
    let bases = Tensor::new(&[0.0, -0.0, 0.0, 0.0, 0.0, 2.0], CPU).unwrap();
    let exponents = [-1.0, -1.0, 0.0, 2.0, NAN, 1.0];
    let wanted = [-INF, INF, 0.0, 0.0, NAN, 2.0 * 2f64.ln()];
    assert_close(&derivatives(|e| f::pow((&bases).into(), e.into()), &exponents, 1), &wanted);
    assert_close(&derivatives(|e| f::float_power((&bases).into(), e.into()), &exponents, 1), &wanted);
    assert_close(&derivatives(|e| f::pow(0.0.into(), e.into()), &[-1.0, 1.0], 1), &[-INF, 0.0]);
}

#[test]
fn complex_powers_of_zero_by_their_exponent() {
    let zero = Tensor::zeros(2, DType::C128, CPU).unwrap();
    let power = |e: &Tensor| f::real(&f::pow((&zero).into(), (&f::complex(e, &e.zeros_like()?)?).into())?);
    assert_close(&derivatives(power, &[0.0, 1.0], 1), &[0.0, 0.0]);
}

#[test]
fn second_derivatives_of_special_functions() {
    let slope = |x: f64| (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt();
    assert_close(&derivatives(f::log_ndtr, &[50.0, 1e3, 1e200, INF], 1), &[0.0; 4]);
    assert_close(&derivatives(f::log_ndtr, &[40.0, 50.0, 1e3, 1e200], 2), &[0.0; 4]);
    assert!((derivatives(f::log_ndtr, &[6.0], 2)[0] / (-6.0 * slope(6.0)) - 1.0).abs() < 1e-8);
    let tiny = [0.0, 1e-300, 1e-160, 1e-40, -1e-300];
    assert_close(&derivatives(f::i1e, &tiny, 2), &[0.0; 5]);
    assert_close(&derivatives(f::i1, &tiny, 2), &[0.0; 5]);
    assert_close(&derivatives(f::bessel_j1, &tiny, 2), &[0.0; 5]);
    assert_close(&derivatives(f::spherical_bessel_j0, &[0.0, 1e-160, 1e-9], 2), &[-1.0 / 3.0; 3]);
    assert_close(&derivatives(f::sinc, &[0.0, 1e-160, 1e-10], 2), &[-std::f64::consts::PI.powi(2) / 3.0; 3]);
    // On both sides of where the series ends.
    let direct = |x: f64| (x.cos() - x.sin() / x) / x;
    assert_close(&derivatives(f::spherical_bessel_j0, &[0.0999, 0.1001], 1), &[direct(0.0999), direct(0.1001)]);
}

#[test]
fn impossible_targets_have_no_gradient() {
    let ids = |x: &[i64]| Tensor::new(x, CPU).unwrap();
    let loss = |zero_infinity: bool| {
        move |x: &Tensor| {
            let (targets, steps, lengths) = (ids(&[1, 1, 1, 2]).reshape((2, 2))?, ids(&[2, 3]), ids(&[2, 2]));
            let log_probs = f::log_softmax(&x.reshape((3, 2, 3))?, -1, None)?;
            f::ctc_loss(&log_probs, &targets, &steps, &lengths, 0, "sum", zero_infinity)
        }
    };
    let x: Vec<f64> = (0..18).map(|i| f64::from(i * 7 % 5)).collect();
    let (found, without) = (derivatives(loss(false), &x, 1), derivatives(loss(true), &x, 1));
    assert!(without.iter().all(|x| x.is_finite()) && without[3..6].iter().any(|&x| x != 0.0));
    // Element [step, sequence, class]: the first sequence is impossible, and has two steps.
    let wanted: Vec<f64> = (0..18).map(|i| if i < 12 && i / 3 % 2 == 0 { NAN } else { without[i] }).collect();
    assert_close(&found, &wanted);
}

#[test]
fn half_a_spectrum_tells_a_real_signal() {
    let parts = |x: &Tensor| f::view_as_complex(&x.reshape((4, 1, 2))?);
    let signal = |x: &Tensor, frequencies: usize| {
        let z = parts(x)?.narrow(0, 0, frequencies)?;
        f::istft(&z, 4, None, None, None, false, false, Some(frequencies < 4), None, false)
    };
    let x = [1.0, 0.0, 2.0, -1.0, 0.5, 0.0, 7.0, 3.0];
    for order in [0, 1] {
        assert_eq!(derivatives(|x| signal(x, 4), &x, order), derivatives(|x| signal(x, 3), &x, order));
    }
}
