//! Complex numbers: values against `num_complex`, gradients against differences of both parts.

use opforge::autograd::{BackwardOptions, grad};
use opforge::{Complex, DType, Device, ErrorKind, Result, Tensor, functional as f};

type C = Complex<f64>;

fn numbers(n: usize, seed: f64) -> Vec<C> {
    (0..n).map(|i| C::new((i as f64 + seed).sin() + 0.3, (2.0 * i as f64 - seed).cos() - 0.2)).collect()
}

fn tensor(values: &[C], shape: &[usize]) -> Tensor {
    Tensor::from_slice(values, shape, &Device::Cpu).expect("elements for the shape")
}

fn near(got: &Tensor, want: &[C]) {
    let got = got.flatten_all().and_then(|t| t.to_vec1::<C>()).expect("complex numbers");
    assert_eq!(got.len(), want.len());
    got.iter().zip(want).for_each(|(got, want)| assert!((got - want).norm() < 1e-12, "{got} and {want}"));
}

#[test]
fn arithmetic_is_that_of_complex_numbers() -> Result<()> {
    let (x, y) = (numbers(6, 0.5), numbers(6, 1.5));
    let (a, b) = (tensor(&x, &[6]), tensor(&y, &[6]));
    let pairs = |f: fn(C, C) -> C| x.iter().zip(&y).map(|(&x, &y)| f(x, y)).collect::<Vec<_>>();
    near(&a.add(&b)?, &pairs(|x, y| x + y));
    near(&a.sub(&b)?, &pairs(|x, y| x - y));
    near(&a.mul(&b)?, &pairs(|x, y| x * y));
    near(&a.div(&b)?, &pairs(|x, y| x / y));
    let each = |f: fn(C) -> C| x.iter().map(|&x| f(x)).collect::<Vec<_>>();
    near(&a.neg()?, &each(|x| -x));
    near(&a.exp()?, &each(C::exp));
    near(&a.log()?, &each(C::ln));
    near(&a.sqr()?, &each(|x| x * x));
    near(&a.recip()?, &each(|x| x.inv()));
    near(&f::conj(&a)?, &each(|x| x.conj()));
    near(&f::polar(&a.abs()?, &f::angle(&a)?)?, &x);
    near(&a.sum_all()?, &[x.iter().sum()]);
    near(&a.mean_all()?, &[x.iter().sum::<C>() / 6.0]);
    near(&f::mul((&a).into(), opforge::Scalar::Complex(0.0, 1.0).into())?, &each(|x| x * C::i()));
    near(&f::add((&a).into(), 2.0.into(), 1i64.into())?, &each(|x| x + 2.0));
    Ok(())
}

#[test]
fn numbers_near_the_limits_are_divided_and_measured() -> Result<()> {
    let large = [C::new(1e300, 1e300)];
    let z = tensor(&large, &[1]);
    near(&z.div(&z)?, &[C::new(1.0, 0.0)]);
    assert!((z.abs()?.to_vec1::<f64>()?[0] / 1e300 - 2f64.sqrt()).abs() < 1e-12);
    Ok(())
}

#[test]
fn products_of_matrices_and_shapes() -> Result<()> {
    let (x, y) = (numbers(6, 0.1), numbers(12, 0.7));
    let product: Vec<C> = (0..8).map(|at| (0..3).map(|k| x[at / 4 * 3 + k] * y[k * 4 + at % 4]).sum()).collect();
    near(&f::matmul(&tensor(&x, &[2, 3]), &tensor(&y, &[3, 4]))?, &product);
    let real = Tensor::ones(3, DType::F64, &Device::Cpu)?;
    let sum = f::add((&tensor(&x, &[2, 3])).into(), (&real).into(), 1i64.into())?;
    near(&sum, &x.iter().map(|x| x + 1.0).collect::<Vec<_>>());
    let columns = f::sum(&tensor(&x, &[2, 3]), Some(&[0]), false, None)?;
    near(&columns, &(0..3).map(|j| x[j] + x[j + 3]).collect::<Vec<_>>());
    Ok(())
}

#[test]
fn views_share_memory_and_refuse_what_does_not_fit() -> Result<()> {
    let z = tensor(&numbers(6, 0.2), &[2, 3]);
    let parts = f::view_as_real(&z.t()?)?;
    assert_eq!(parts.dims(), [3, 2, 2]);
    near(&f::view_as_complex(&parts)?, &z.t()?.flatten_all()?.to_vec1::<C>()?);
    f::imag(&z)?.add_(&Tensor::ones((2, 3), DType::F64, &Device::Cpu)?)?;
    near(&z, &numbers(6, 0.2).iter().map(|z| z + C::i()).collect::<Vec<_>>());
    let real = Tensor::ones((2, 3), DType::F64, &Device::Cpu)?;
    assert_eq!(f::view_as_real(&real).map_err(|e| e.kind()).err(), Some(ErrorKind::DType));
    assert_eq!(f::view_as_complex(&real).map_err(|e| e.kind()).err(), Some(ErrorKind::Shape));
    assert_eq!(f::complex(&real, &real.to_dtype(DType::F32)?).map_err(|e| e.kind()).err(), Some(ErrorKind::DType));
    assert_eq!(z.floor().map_err(|e| e.kind()).err(), Some(ErrorKind::DType));
    Ok(())
}

/// `d loss / d re + i d loss / d im` of every element, for losses of two tensors of complex numbers.
fn check(loss: impl Fn(&Tensor, &Tensor) -> Result<Tensor>) -> Result<()> {
    const STEP: f64 = 1e-6;
    let values = [numbers(4, 0.4), numbers(4, 1.1)];
    let inputs = values.each_ref().map(|x| tensor(x, &[2, 2]));
    inputs.iter().try_for_each(|x| x.set_requires_grad(true))?;
    let root = loss(&inputs[0], &inputs[1])?;
    let found = grad(&[(root, None)], &inputs.each_ref(), BackwardOptions::default())?;
    for (i, found) in found.iter().enumerate() {
        let found = found.as_ref().expect("a gradient").flatten_all()?.to_vec1::<C>()?;
        for (k, found) in found.iter().enumerate() {
            let difference = |step: C| -> Result<f64> {
                let at = |sign: f64| -> Result<f64> {
                    let mut moved = values.clone();
                    moved[i][k] += step * sign;
                    loss(&tensor(&moved[0], &[2, 2]), &tensor(&moved[1], &[2, 2]))?.to_scalar()
                };
                Ok((at(1.0)? - at(-1.0)?) / (2.0 * STEP))
            };
            let want = C::new(difference(C::new(STEP, 0.0))?, difference(C::new(0.0, STEP))?);
            assert!((found - want).norm() < 1e-7, "input {i}, element {k}: {found} and {want}");
        }
    }
    Ok(())
}

#[test]
fn gradients_are_the_derivatives_by_both_parts() -> Result<()> {
    let weight = tensor(&numbers(4, 2.2), &[2, 2]);
    let weighed = |z: Tensor| f::real(&z.mul(&weight)?)?.sum_all();
    check(|a, b| weighed(a.add(b)?.mul(b)?))?;
    check(|a, b| weighed(a.sub(b)?.div(b)?))?;
    check(|a, b| weighed(f::matmul(a, &f::conj(b)?)?))?;
    check(|a, b| a.mul(b)?.abs()?.sum_all())?;
    check(|a, b| weighed(a.exp()?.mul(&b.log()?)?))?;
    check(|a, b| f::angle(&a.mul(b)?)?.sum_all())
}

#[test]
fn the_magnitude_has_no_slope_at_zero() -> Result<()> {
    let z = tensor(&[C::new(0.0, 0.0)], &[1]);
    z.set_requires_grad(true)?;
    let slope = grad(&[(z.abs()?.sum_all()?, None)], &[&z], BackwardOptions::default())?.remove(0);
    near(&slope.expect("a gradient"), &[C::new(0.0, 0.0)]);
    Ok(())
}
