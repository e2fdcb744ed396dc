//! Floats of 16 bits beside numbers and in scaled products: rounded once.

use opforge::arguments::Operand;
use opforge::autograd::{BackwardOptions, grad};
use opforge::{DType, Device, Result, Scalar, Tensor, functional as f};

const HALVES: [DType; 2] = [DType::F16, DType::BF16];

fn numbers(dims: &[usize], dtype: DType) -> Result<Tensor> {
    let count: usize = dims.iter().product();
    let values: Vec<f32> = (0..count).map(|i| (i as f32 * 0.7391).sin() * 3.0 + 3.2).collect();
    Tensor::from_vec(values, dims, &Device::Cpu)?.to_dtype(dtype)
}

/// Both tensors hold the same numbers, the first in its dtype and the second rounded to it.
fn assert_rounded_once(got: &Tensor, wide: &Tensor, what: &str) -> Result<()> {
    let values = |t: &Tensor| t.flatten_all()?.to_dtype(DType::F32)?.to_vec1::<f32>();
    assert_eq!(values(got)?, values(&wide.to_dtype(got.dtype())?)?, "{what} of {}", got.dtype());
    Ok(())
}

type Call = fn(Operand<'_>, Operand<'_>) -> Result<Tensor>;

#[test]
fn products_and_quotients_do_not_round_numbers() -> Result<()> {
    let calls: [(&str, Call); 4] = [
        ("mul", |a, b| f::mul(a, b)),
        ("div", |a, b| f::div(a, b, None)),
        ("trunc", |a, b| f::div(a, b, Some("trunc"))),
        ("floor_divide", |a, b| f::floor_divide(a, b)),
    ];
    let number = Tensor::new(0.3f64, &Device::Cpu)?;
    for (dtype, (name, call)) in HALVES.into_iter().flat_map(|dtype| calls.map(|call| (dtype, call))) {
        let (x, g) = (numbers(&[9, 70], dtype)?, numbers(&[9, 70], dtype)?);
        let wide = x.to_dtype(DType::F32)?;
        assert_rounded_once(&call((&x).into(), 0.3.into())?, &call((&wide).into(), 0.3.into())?, name)?;
        if name != "trunc" {
            assert_rounded_once(&call(0.3.into(), (&x).into())?, &call(0.3.into(), (&wide).into())?, name)?;
            assert_rounded_once(&call((&x).into(), (&number).into())?, &call((&wide).into(), 0.3.into())?, name)?;
        }
        if name == "mul" || name == "div" {
            x.set_requires_grad(true)?;
            let y = call((&x).into(), 0.3.into())?;
            let found = grad(&[(y, Some(g.clone()))], &[&x], BackwardOptions::default())?;
            let expected = call((&g.to_dtype(DType::F32)?).into(), 0.3.into())?;
            assert_rounded_once(found[0].as_ref().expect("a gradient"), &expected, name)?;
        }
    }
    Ok(())
}

#[test]
fn sums_round_numbers() -> Result<()> {
    for dtype in HALVES {
        let x = numbers(&[70], dtype)?;
        let rounded = Tensor::new(0.3f32, &Device::Cpu)?.to_dtype(dtype)?.to_dtype(DType::F32)?.to_scalar::<f32>()?;
        let wide = f::add((&x.to_dtype(DType::F32)?).into(), f64::from(rounded).into(), 1i64.into())?;
        assert_rounded_once(&f::add((&x).into(), 0.3.into(), 1i64.into())?, &wide, "add")?;
    }
    Ok(())
}

#[test]
fn numbers_beyond_the_range_stay_finite() -> Result<()> {
    let of = |x: f32| Tensor::new(&[x], &Device::Cpu)?.to_dtype(DType::F16);
    let value = |t: Tensor| t.to_dtype(DType::F32)?.to_vec1::<f32>();
    assert_eq!(value(f::mul((&of(1e-4)?).into(), 65536i64.into())?)?, [6.5546875]);
    assert_eq!(value(f::div((&of(6e4)?).into(), 70000.0.into(), None)?)?, [0.856_933_6]);
    Ok(())
}

/// Sums in f64 of what the halves hold differ from those in f32 less than halves do from each other.
#[test]
fn products_are_scaled_and_added_to_before_they_are_rounded() -> Result<()> {
    let near = |name: &str, got: &Tensor, exact: &Tensor| -> Result<()> {
        let eps = if got.dtype() == DType::F16 { 2f64.powi(-10) } else { 2f64.powi(-7) };
        let values = |t: &Tensor| t.flatten_all()?.to_dtype(DType::F64)?.to_vec1::<f64>();
        for (got, exact) in values(got)?.into_iter().zip(values(exact)?) {
            assert!((got - exact).abs() <= 0.502 * eps * exact.abs() + 1e-5, "{name}: {got}, not {exact}");
        }
        Ok(())
    };
    let factors: [[Scalar; 2]; 3] = [[0.7.into(), 0.3.into()], [1i64.into(), 1i64.into()], [0i64.into(), 0.3.into()]];
    for (dtype, [beta, alpha]) in HALVES.into_iter().flat_map(|dtype| factors.map(|factors| (dtype, factors))) {
        let of = |dims: &[usize], shift: f64| numbers(dims, dtype)?.affine(1.0, shift);
        let (a, b) = (of(&[3, 20, 31], -3.0)?, of(&[3, 31, 24], -2.5)?);
        let (m, n) = (a.get(0)?, b.get(0)?);
        let (matrix, bias, rows, depth) = (of(&[20, 24], 0.0)?, of(&[24], 0.0)?, of(&[20], 0.0)?, of(&[31], -3.0)?);
        let calls: [(&str, [&Tensor; 3]); 6] = [
            ("addmm", [&matrix, &m, &n]),
            ("addmm", [&bias, &m, &n]),
            ("addmv", [&rows, &m, &depth]),
            ("addr", [&matrix, &rows, &bias]),
            ("addbmm", [&matrix, &a, &b]),
            ("baddbmm", [&matrix, &a, &b]),
        ];
        for (name, x) in calls {
            let call = |x: [&Tensor; 3]| match name {
                "addmm" => f::addmm(x[0], x[1], x[2], beta, alpha),
                "addmv" => f::addmv(x[0], x[1], x[2], beta, alpha),
                "addr" => f::addr(x[0], x[1], x[2], beta, alpha),
                "addbmm" => f::addbmm(x[0], x[1], x[2], beta, alpha),
                _ => f::baddbmm(x[0], x[1], x[2], beta, alpha),
            };
            let wide = x.map(|t| t.to_dtype(DType::F64).expect("a wider dtype"));
            let got = call(x)?;
            assert_eq!(got.dtype(), dtype);
            near(name, &got, &call(wide.each_ref())?)?;
        }
    }
    Ok(())
}
