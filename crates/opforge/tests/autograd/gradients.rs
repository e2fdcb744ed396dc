//! The engine: order, memory, modes, higher derivatives, and what it refuses.

use opforge::autograd::{BackwardOptions, backward, enable_grad, grad, is_grad_enabled, no_grad};
use opforge::dispatch::dispatch_into;
use opforge::ops::create::full::Full;
use opforge::{DType, Device, Error, ErrorKind, Result, Tensor, Var};

const CPU: &Device = &Device::Cpu;
const RETAIN: BackwardOptions = BackwardOptions { retain_graph: true, create_graph: false };
const CREATE: BackwardOptions = BackwardOptions { retain_graph: false, create_graph: true };

fn scalar(x: f64) -> Var {
    Var::new(x, CPU).unwrap()
}

fn value(t: &Tensor) -> f64 {
    t.to_scalar::<f64>().unwrap()
}

/// The error's kind, once its message names all of these.
#[track_caller]
fn kind_naming(error: &Error, words: &[&str]) -> ErrorKind {
    let message = error.to_string();
    words.iter().for_each(|word| assert!(message.contains(word), "{word:?} is not in {message:?}"));
    error.kind()
}

/// `d sum(y) / d x`, recorded.
fn slope(y: &Tensor, x: &Tensor) -> Result<Tensor> {
    Ok(grad(&[(y.clone(), None)], &[x], CREATE)?.swap_remove(0).expect("y depends on x"))
}

#[test]
fn long_chains_need_no_stack() {
    let chain = || -> Result<f64> {
        let x = scalar(1.0);
        let mut y = x.affine(1.0, 0.0)?;
        for _ in 0..10_000 {
            y = y.affine(1.0, 0.0)?.mul(&x)?;
        }
        let gradient = value(y.backward()?.get(&x).expect("y depends on x"));
        let mut forgotten = x.affine(1.0, 0.0)?;
        for _ in 0..10_000 {
            forgotten = forgotten.mul(&x)?;
        }
        drop(forgotten);
        Ok(gradient)
    };
    let thread = std::thread::Builder::new().stack_size(256 << 10).spawn(chain).unwrap();
    assert_eq!(thread.join().unwrap().unwrap(), 10_001.0);
}

#[test]
fn a_graph_serves_one_backward_unless_retained() {
    let x = scalar(3.0);
    let y = x.sqr().unwrap();
    for _ in 0..2 {
        let gradients = backward(&[(y.clone(), None)], RETAIN).unwrap();
        assert_eq!(value(gradients.get(&x).unwrap()), 6.0);
    }
    let once = || backward(&[(y.clone(), None)], BackwardOptions::default());
    once().unwrap();
    let error = once().unwrap_err();
    assert_eq!(kind_naming(&error, &["sqr", "retain_graph", "gradients.rs"]), ErrorKind::Autograd);
}

/// candle's `backward` keeps the graph.
#[test]
fn backwards_of_tensors_may_share_a_graph() -> Result<()> {
    let a = Var::new(&[1f64, 2.0], CPU)?;
    let of = |gradients: &opforge::GradStore| gradients.get(&a).expect("depends on a").to_vec1::<f64>();
    let h = a.sqr()?;
    let (first, second) = (h.sqr()?.sum_all()?, h.affine(3.0, 0.0)?.sum_all()?);
    for _ in 0..2 {
        assert_eq!(of(&first.backward()?)?, [4.0, 32.0], "4 a^3");
        assert_eq!(of(&second.backward()?)?, [6.0, 12.0], "6 a");
    }
    // A state that goes from step to step: d (a^(n + 1))^2 / da.
    let mut state = a.as_tensor().clone();
    for n in 1..4 {
        state = state.mul(&a)?;
        let power = f64::from(2 * n + 2);
        let expected = [power, power * 2f64.powf(power - 1.0)];
        assert_eq!(of(&state.sqr()?.sum_all()?.backward()?)?, expected, "step {n}");
    }
    Ok(())
}

#[test]
fn derivatives_of_any_order() {
    let x = scalar(0.7);
    let (sin, cos) = (0.7f64.sin(), 0.7f64.cos());
    let tanh = 0.7f64.tanh();
    let bend = 1.0 - tanh * tanh;
    type Function = fn(&Tensor) -> Result<Tensor>;
    let cases: [(&str, Function, [f64; 3]); 4] = [
        ("sin", |x| x.sin(), [cos, -sin, -cos]),
        ("x^4", |x| x.powf(4.0), [4.0 * 0.343, 12.0 * 0.49, 24.0 * 0.7]),
        ("x^4 of squares", |x| x.sqr()?.sqr(), [4.0 * 0.343, 12.0 * 0.49, 24.0 * 0.7]),
        ("tanh", |x| x.tanh(), [bend, -2.0 * tanh * bend, bend * (6.0 * tanh * tanh - 2.0)]),
    ];
    for (name, f, expected) in cases {
        let mut y = f(&x).unwrap();
        for (order, expected) in expected.into_iter().enumerate() {
            y = slope(&y, &x).unwrap();
            let got = value(&y);
            assert!((got - expected).abs() < 1e-12, "derivative {} of {name} is {got}, not {expected}", order + 1);
        }
    }
}

#[test]
fn gradients_of_one_variable_add_up() {
    let x = scalar(3.0);
    let y = x.mul(&x).unwrap().add(&x).unwrap().add(&x.sqr().unwrap()).unwrap();
    assert_eq!(value(y.backward().unwrap().get(&x).unwrap()), 13.0);
    let (a, b) = (x.sqr().unwrap(), x.affine(5.0, 0.0).unwrap());
    let both = backward(&[(a, None), (b, None)], BackwardOptions::default()).unwrap();
    assert_eq!(value(both.get(&x).unwrap()), 11.0);
}

#[test]
fn seeds_weigh_roots_and_have_their_shape() {
    let x = Var::new(&[1f64, 2.0], CPU).unwrap();
    let y = x.sqr().unwrap();
    let seed = Tensor::new(&[10f64, 1.0], CPU).unwrap();
    let gradients = backward(&[(y.clone(), Some(seed.clone()))], RETAIN).unwrap();
    assert_eq!(gradients.get(&x).unwrap().to_vec1::<f64>().unwrap(), [20.0, 4.0]);
    let error = backward(&[(y, Some(seed.narrow(0, 0, 1).unwrap()))], RETAIN).unwrap_err();
    assert_eq!(kind_naming(&error, &["backward", "[2]", "[1]"]), ErrorKind::Shape);
}

#[test]
fn gradients_of_computed_and_of_unused_tensors() {
    let (x, unused) = (scalar(3.0), scalar(1.0));
    let inner = x.sqr().unwrap();
    let y = inner.affine(2.0, 0.0).unwrap();
    let found = grad(&[(y.clone(), None)], &[&inner, &x, &unused], RETAIN).unwrap();
    assert_eq!(value(found[0].as_ref().unwrap()), 2.0);
    assert_eq!(value(found[1].as_ref().unwrap()), 12.0);
    assert!(found[2].is_none());
    let plain = Tensor::new(1f64, CPU).unwrap();
    let error = grad(&[(y, None)], &[&plain], RETAIN).unwrap_err();
    assert_eq!(kind_naming(&error, &["grad", "requires_grad"]), ErrorKind::Autograd);
}

#[test]
fn modes_nest_and_are_of_the_thread() {
    let x = scalar(2.0);
    no_grad(|| {
        assert!(!is_grad_enabled());
        assert!(!x.sqr().unwrap().requires_grad());
        enable_grad(|| assert!(x.sqr().unwrap().requires_grad()));
        std::thread::spawn(|| assert!(is_grad_enabled())).join().unwrap();
        assert!(!is_grad_enabled());
    });
    assert!(std::panic::catch_unwind(|| no_grad(|| std::panic::resume_unwind(Box::new(())))).is_err());
    assert!(is_grad_enabled());
}

#[test]
fn detached_tensors_are_constants() {
    let x = scalar(3.0);
    let y = x.mul(&x.detach()).unwrap();
    assert_eq!(value(y.backward().unwrap().get(&x).unwrap()), 3.0);
    assert!(x.detach().shares_storage(&x) && !x.detach().requires_grad());
}

#[test]
fn only_floats_need_gradients_and_only_leaves_stop() {
    let ints = Tensor::new(&[1i64], CPU).unwrap();
    let error = ints.set_requires_grad(true).unwrap_err();
    assert_eq!(kind_naming(&error, &["set_requires_grad", "i64"]), ErrorKind::DType);
    let error = scalar(1.0).sqr().unwrap().set_requires_grad(false).unwrap_err();
    assert_eq!(kind_naming(&error, &["set_requires_grad", "detach"]), ErrorKind::Autograd);
}

#[test]
fn leaves_are_not_changed_in_place() {
    let x = Var::new(&[1f32, 2.0], CPU).unwrap();
    let one = Tensor::ones(2, DType::F32, CPU).unwrap();
    let error = x.add_(&one).unwrap_err();
    assert_eq!(kind_naming(&error, &["add", "leaf", "no_grad"]), ErrorKind::Autograd);
    no_grad(|| x.add_(&one)).unwrap();
    assert_eq!(x.to_vec1::<f32>().unwrap(), [2.0, 3.0]);
}

#[test]
fn in_place_changes_are_part_of_the_graph() {
    let (x, w) = (Var::new(&[1f64, 2.0], CPU).unwrap(), Var::new(&[5f64, 7.0], CPU).unwrap());
    let y = x.affine(3.0, 0.0).unwrap();
    y.mul_(&w).unwrap();
    let gradients = y.sum_all().unwrap().backward().unwrap();
    assert_eq!(gradients.get(&x).unwrap().to_vec1::<f64>().unwrap(), [15.0, 21.0]);
    assert_eq!(gradients.get(&w).unwrap().to_vec1::<f64>().unwrap(), [3.0, 6.0]);
    let y = x.affine(3.0, 0.0).unwrap();
    y.add_(&w).unwrap();
    let gradients = y.sum_all().unwrap().backward().unwrap();
    assert_eq!(gradients.get(&x).unwrap().to_vec1::<f64>().unwrap(), [3.0, 3.0]);
    assert_eq!(gradients.get(&w).unwrap().to_vec1::<f64>().unwrap(), [1.0, 1.0]);
}

#[test]
fn what_a_call_overwrites_is_kept_for_its_gradient_only() {
    let x = Var::new(&[1f64, 2.0], CPU).unwrap();
    let y = x.affine(3.0, 0.0).unwrap();
    let before = y.exp().unwrap().sin().unwrap();
    let saved_by_another = y.sqr().unwrap();
    y.mul_(&y).unwrap();
    assert_eq!(y.sum_all().unwrap().backward().unwrap().get(&x).unwrap().to_vec1::<f64>().unwrap(), [18.0, 36.0]);
    let error = saved_by_another.sum_all().unwrap().backward().unwrap_err();
    assert_eq!(kind_naming(&error, &["sqr", "saved input 0", "version"]), ErrorKind::Autograd);
    before.sum_all().unwrap().backward().unwrap();
}

#[test]
fn only_what_inputs_with_gradients_ask_for_is_saved() {
    let x = Var::new(&[1f64, 2.0], CPU).unwrap();
    let constant = Tensor::new(&[3f64, 4.0], CPU).unwrap();
    let y = x.affine(1.0, 0.0).unwrap();
    let product = y.mul(&constant).unwrap();
    // The gradient of `y` reads the constant only: `y` may change.
    y.add_(&constant).unwrap();
    assert_eq!(product.sum_all().unwrap().backward().unwrap().get(&x).unwrap().to_vec1::<f64>().unwrap(), [3.0, 4.0]);
}

#[test]
fn untracked_tensors_count_their_own_changes() {
    let x = Var::new(&[1f64, 2.0], CPU).unwrap();
    let y = x.sqr().unwrap();
    let data = x.untracked();
    data.narrow(0, 0, 1).unwrap().add_(&Tensor::new(&[1f64], CPU).unwrap()).unwrap();
    assert_eq!((x.version(), data.version(), x.to_vec1::<f64>().unwrap()), (0, 1, vec![2.0, 2.0]));
    assert_eq!(y.sum_all().unwrap().backward().unwrap().get(&x).unwrap().to_vec1::<f64>().unwrap(), [4.0, 4.0]);
}

#[test]
fn constants_end_the_graph_with_zeros() {
    let x = Var::new(&[1f64, 2.0], CPU).unwrap();
    let y = x.affine(3.0, 0.0).unwrap();
    let constant = Full { value: 5.0.into(), shape: 2.into(), dtype: DType::F64, device: *CPU };
    dispatch_into(&constant, &[], &[&y]).unwrap();
    assert_eq!(y.to_vec1::<f64>().unwrap(), [5.0, 5.0]);
    assert!(y.requires_grad());
    assert_eq!(y.backward().unwrap().get(&x).unwrap().to_vec1::<f64>().unwrap(), [0.0, 0.0]);
}

#[test]
fn only_what_was_saved_is_freed() {
    let x = Var::new(&[1f64, 2.0], CPU).unwrap();
    let shared = x.affine(3.0, 0.0).unwrap();
    let first = shared.sqr().unwrap();
    for _ in 0..2 {
        assert_eq!(shared.backward().unwrap().get(&x).unwrap().to_vec1::<f64>().unwrap(), [3.0, 3.0]);
    }
    let once = || backward(&[(first.clone(), None)], BackwardOptions::default());
    once().unwrap();
    assert!(once().is_err());
    shared.backward().unwrap();
}

#[test]
fn a_backward_for_some_tensors_visits_no_others() {
    let (x, w) = (scalar(3.0), scalar(2.0));
    let hidden = x.sqr().unwrap();
    let y = hidden.mul(&w).unwrap();
    let once = BackwardOptions::default();
    let seed = grad(&[(y, None)], &[&hidden], once).unwrap().swap_remove(0);
    assert_eq!(value(seed.as_ref().unwrap()), 2.0);
    // What lies before was not freed.
    let found = grad(&[(hidden, seed)], &[&x], once).unwrap();
    assert_eq!(value(found[0].as_ref().unwrap()), 12.0);
}

#[test]
fn without_recording_new_elements_take_the_place_of_old_ones() {
    let x = Var::new(&[1f64, 2.0], CPU).unwrap();
    let y = x.affine(3.0, 0.0).unwrap();
    no_grad(|| y.copy_from(&Tensor::new(&[7f64, 8.0], CPU).unwrap())).unwrap();
    let gradients = y.sqr().unwrap().backward().unwrap();
    assert_eq!(gradients.get(&x).unwrap().to_vec1::<f64>().unwrap(), [42.0, 48.0]);
}
