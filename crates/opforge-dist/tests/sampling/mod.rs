//! What samples of operators give, and how it is compared.

use std::sync::LazyLock;

use opforge::declaration::{Definition, Sample};
use opforge::{DType, Device, Result, Scalar, Tensor};

/// How many cases a sample is tried in, where there are many. `OPFORGE_CHOICES=1000 cargo test --release -p opforge-dist --test samples` tries nearly all.
pub static MOST: LazyLock<usize> =
    LazyLock::new(|| std::env::var("OPFORGE_CHOICES").ok().and_then(|text| text.parse().ok()).unwrap_or(3));

/// Which of `count` cases are tried: all, or about so many that are spread over all. `turn` moves from sample to sample, so that together they try what
/// each leaves out.
pub fn spread_over(count: usize, most: usize, turn: usize) -> impl Iterator<Item = usize> {
    let step = if count <= most { 1 } else { (count / most) | 1 };
    (turn % step.min(count.max(1))..count).step_by(step)
}

/// The outputs, and the gradients of the sum of the real ones with respect to real inputs.
pub fn with_gradients(sample: &Sample, given: &[Tensor]) -> Result<Vec<Tensor>> {
    let mut leaves = given.iter().filter(|x| sample.smooth && x.dtype().is_float());
    leaves.try_for_each(|x| x.set_requires_grad(true))?;
    sample.call_with_gradients(given)?.iter().map(|result| result.to_device(&Device::Cpu)).collect()
}

/// A result: its dtype, dimensions and elements.
pub type Values = (DType, Vec<usize>, Vec<Scalar>);

/// Results as they are compared.
pub fn values(tensors: &[Tensor]) -> Result<Vec<Values>> {
    tensors.iter().map(|t| Ok((t.dtype(), t.dims().to_vec(), t.to_scalars()?))).collect()
}

fn is_near(a: Scalar, b: Scalar, dtype: DType) -> bool {
    let tolerance = match dtype {
        DType::F64 | DType::C128 => 1e-9,
        DType::F16 | DType::BF16 => 2e-2,
        _ => 1e-4,
    };
    let near = |a: f64, b: f64| a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= tolerance * (1.0 + b.abs());
    match (a, b) {
        (Scalar::Float(a), Scalar::Float(b)) => near(a, b),
        (a, b) => format!("{a:?}") == format!("{b:?}"),
    }
}

fn are_near(got: &[Values], wanted: &[Values]) -> bool {
    got.len() == wanted.len()
        && got
            .iter()
            .zip(wanted)
            .all(|(a, b)| (a.0, &a.1) == (b.0, &b.1) && a.2.iter().zip(&b.2).all(|(&x, &y)| is_near(x, y, a.0)))
}

/// What a sample's inputs are, and what it gives of them in one process; nothing for what is drawn at random.
///
/// # Errors
/// Those of the call.
pub fn alone(sample: &Sample, real: DType) -> Result<Option<(Vec<Tensor>, Vec<Values>)>> {
    let inputs: Vec<Tensor> =
        sample.inputs.iter().map(|array| array.to_tensor(real, &Device::Cpu)).collect::<Result<_>>()?;
    let once = || {
        let own: Vec<Tensor> = inputs.iter().map(Tensor::detach).collect();
        with_gradients(sample, &own).and_then(|results| values(&results))
    };
    let (wanted, again) = (once()?, once()?);
    Ok(are_near(&wanted, &again).then_some((inputs, wanted)))
}

/// The dtype of real inputs with which an operator is tried.
pub fn real_of(definition: &Definition) -> Option<DType> {
    let exact = [DType::F64, DType::F32].into_iter().find(|&dtype| definition.dtypes.contains(dtype));
    exact.or(definition.dtypes.iter().next())
}

/// What is wrong with results, if anything is.
pub fn difference(got: Result<Vec<Values>>, wanted: &[Values]) -> Option<String> {
    let got = match got {
        Ok(got) if are_near(&got, wanted) => return None,
        Ok(got) => got,
        Err(error) => return Some(error.to_string()),
    };
    let differs = got.iter().zip(wanted).position(|(a, b)| !are_near(std::slice::from_ref(a), std::slice::from_ref(b)));
    let show = |all: &[Values]| differs.map(|i| format!("{:?}", all[i]));
    Some(format!("result {differs:?} is {:.1000?}, not {:.1000?}", show(&got), show(wanted)))
}
