//! Losses against their formulas, values and gradients, also where a naive formula would overflow.

use opforge::{Device, ErrorKind, Result, Tensor, Var};
use opforge_nn::{encoding, loss};

const CPU: &Device = &Device::Cpu;

fn close(got: f64, wanted: f64) {
    assert!((got - wanted).abs() <= 1e-12 * wanted.abs().max(1.0), "{got}, wanted {wanted}");
}

#[test]
fn cross_entropy_and_nll() -> Result<()> {
    let rows = [[1f64, -2.0, 0.5], [0.0, 0.0, 1000.0]];
    let classes = [2u32, 0];
    let scores = Var::new(&rows, CPU)?;
    let target = Tensor::new(&classes, CPU)?;
    let result = loss::cross_entropy(&scores, &target)?;
    let softmax = |row: [f64; 3]| {
        let top = row.iter().copied().fold(f64::MIN, f64::max);
        let powers = row.map(|x| (x - top).exp());
        powers.map(|x| x / powers.iter().sum::<f64>())
    };
    close(result.to_scalar()?, (1000.0 - softmax(rows[0])[2].ln()) / 2.0);
    let grad = result.backward()?.get(&scores).unwrap().to_vec2::<f64>()?;
    for (i, row) in grad.iter().enumerate() {
        for (j, &got) in row.iter().enumerate() {
            close(got, (softmax(rows[i])[j] - f64::from(u8::from(classes[i] as usize == j))) / 2.0);
        }
    }
    let logs = Tensor::new(&[[-1f64, -2.0], [-3.0, -4.0]], CPU)?;
    close(loss::nll(&logs, &Tensor::new(&[1u32, 0], CPU)?)?.to_scalar()?, 2.5);
    assert_eq!(loss::nll(&logs, &Tensor::new(&[1u32], CPU)?).unwrap_err().kind(), ErrorKind::Shape);
    assert!(loss::nll(&logs, &Tensor::new(&[1u32, 2], CPU)?).and_then(|l| l.to_scalar::<f64>()).is_err());
    Ok(())
}

#[test]
fn mean_squares() -> Result<()> {
    let x = Var::new(&[1f64, 2.0], CPU)?;
    let result = loss::mse(&x, &Tensor::new(&[0f64, 5.0], CPU)?)?;
    close(result.to_scalar()?, 5.0);
    assert_eq!(result.backward()?.get(&x).unwrap().to_vec1::<f64>()?, [1.0, -3.0]);
    Ok(())
}

#[test]
fn binary_cross_entropy() -> Result<()> {
    let (xs, ts) = ([-800f64, -2.0, 0.0, 0.5, 800.0], [0f64, 1.0, 1.0, 0.25, 0.0]);
    let x = Var::new(&xs, CPU)?;
    let result = loss::binary_cross_entropy_with_logit(&x, &Tensor::new(&ts, CPU)?)?;
    let softplus = |x: f64| x.max(0.0) + (-x.abs()).exp().ln_1p();
    let wanted: f64 = xs.iter().zip(ts).map(|(&x, t)| t * softplus(-x) + (1.0 - t) * softplus(x)).sum();
    close(result.to_scalar()?, wanted / 5.0);
    let grad = result.backward()?.get(&x).unwrap().to_vec1::<f64>()?;
    for ((x, t), got) in xs.iter().zip(ts).zip(grad) {
        close(got, (1.0 / (1.0 + (-x).exp()) - t) / 5.0);
    }
    Ok(())
}

#[test]
fn huber() -> Result<()> {
    let x = Var::new(&[0f64, 0.5, 4.0, -3.0], CPU)?;
    let result = loss::huber(&x, &x.zeros_like()?, 2.0)?;
    close(result.to_scalar()?, (0.125 + 2.0 * 3.0 + 2.0 * 2.0) / 4.0);
    assert_eq!(result.backward()?.get(&x).unwrap().to_vec1::<f64>()?, [0.0, 0.125, 0.5, -0.5]);
    Ok(())
}

#[test]
fn one_hot_refuses_what_is_no_class() -> Result<()> {
    for bad in [3i64, -2, i64::MAX] {
        let error = encoding::one_hot(Tensor::new(&[0, bad], CPU)?, 3, 1u8, 0u8).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Index);
    }
    assert_eq!(encoding::one_hot(Tensor::new(&[0f32], CPU)?, 3, 1u8, 0u8).unwrap_err().kind(), ErrorKind::DType);
    let rows = encoding::one_hot(Tensor::new(&[[1u8], [0]], CPU)?, 2, 5i64, -5)?;
    assert_eq!(rows.to_vec3::<i64>()?, [[[-5, 5]], [[5, -5]]]);
    Ok(())
}
