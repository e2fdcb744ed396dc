//! `arange(start, end, step)`: evenly spaced numbers.

use crate::WithDType;
use crate::arguments::{default_dtype, device_or_default, leaf};
use crate::ops::prelude::*;

/// The operator of [`arange`]: `start + i * step`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct Arange {
    /// The first number.
    pub start: Scalar,
    /// The distance between numbers.
    pub step: Scalar,
    /// How many there are.
    pub len: usize,
    /// The result's dtype.
    pub dtype: DType,
    /// The result's device.
    pub device: Device,
}

impl Operator for Arange {
    fn name(&self) -> &'static str {
        "arange"
    }

    fn device(&self) -> Option<Device> {
        Some(self.device)
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity("arange", inputs, 0)?;
        Shape::from(self.len).check("arange", self.dtype.size_in_bytes())?;
        Ok(smallvec![Meta::contiguous(self.dtype, self.len)])
    }

    fn axes(&self, _: &[&Meta]) -> AxisMap {
        AxisMap { inputs: vec![], outputs: vec![smallvec![None]], roles: SmallVec::new() }
    }

    fn lower(&self, _: &[&Meta], _: &[&Meta]) -> Result<Lowering> {
        Ok(Lowering::Range { start: self.start, step: self.step })
    }

    fn differentiable(&self) -> bool {
        false
    }
}

/// How many numbers from `start` on, `step` apart, lie before `end`.
fn count(start: Scalar, end: Scalar, step: Scalar) -> Result<usize> {
    let bad_step = || Error::value("arange", "step", step, "a step that leads from start towards end");
    let whole = |s: Scalar| match s {
        Scalar::Bool(b) => Some(i128::from(b)),
        Scalar::Int(i) => Some(i.into()),
        Scalar::UInt(u) => Some(u.into()),
        _ => None,
    };
    if let (Some(start), Some(end), Some(step)) = (whole(start), whole(end), whole(step)) {
        if step == 0 || ((end - start) != 0 && (end > start) != (step > 0)) {
            return Err(bad_step());
        }
        let steps = (end - start).unsigned_abs().div_ceil(step.unsigned_abs());
        return usize::try_from(steps).map_err(|_| bad_step());
    }
    let steps = (end.to_f64() - start.to_f64()) / step.to_f64();
    if (0.0..9e15).contains(&steps) { Ok(steps.ceil() as usize) } else { Err(bad_step()) }
}

/// The most numbers that are made one from the other.
const MOST_ADDED: usize = 1 << 30;

/// Whether this number and all whole ones up to it are exact in their type.
fn is_exact<D: WithDType>(number: D) -> bool {
    let limit = match D::DTYPE {
        DType::F16 => 2f64.powi(11),
        DType::BF16 => 2f64.powi(8),
        DType::F32 => 2f64.powi(24),
        DType::F64 => 2f64.powi(53),
        _ => return true,
    };
    let number = number.to_f64();
    number.fract() == 0.0 && number.abs() <= limit
}

#[track_caller]
fn range(start: Scalar, end: Scalar, step: Scalar, dtype: DType, device: Device) -> Result<Tensor> {
    let len = count(start, end, step)?;
    dispatch1(&Arange { start, step, len, dtype, device }, &[])
}

/// The numbers `start, start + step, ..` before `end`. Without `dtype`: i64 for integers, else the default dtype.
///
/// # Errors
/// For a step of 0, one that leads away from `end`, and bounds that are not finite.
///
/// ```
/// let x = opforge::functional::arange(0i64.into(), 5i64.into(), 2i64.into(), None, None, false)?;
/// assert_eq!(x.to_vec1::<i64>()?, [0, 2, 4]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(step = Scalar::Int(1), *, dtype = None, device = None, requires_grad = false)]
#[operator(DTypes::NUMERIC, samples, Arange, gradient = false)]
pub fn arange(
    start: Scalar,
    end: Scalar,
    step: Scalar,
    dtype: Option<DType>,
    device: Option<Device>,
    requires_grad: bool,
) -> Result<Tensor> {
    let kind = [start, end, step].into_iter().map(Scalar::kind).max();
    let default = kind.map_or(default_dtype(), |kind| opforge_core::scalar_type(kind, default_dtype()));
    leaf(range(start, end, step, dtype.unwrap_or(default), device_or_default(OP, device)?)?, requires_grad)
}

impl Tensor {
    /// The numbers from `start` to before `end`, 1 apart.
    ///
    /// # Errors
    /// As [`Tensor::arange_step`].
    #[track_caller]
    pub fn arange<D: WithDType>(start: D, end: D, device: &Device) -> Result<Tensor> {
        Self::arange_step(start, end, D::one(), device)
    }

    /// The numbers `start, start + step, ..` before `end`, each the sum of the one before and `step`, with its rounding error; none for a step that
    /// leads away from `end`. The step may be negative. Where a step is lost in rounding, and beyond 2^30 numbers, they are `start + i * step`.
    ///
    /// # Errors
    /// For a step of 0, and for more numbers than memory holds.
    #[track_caller]
    pub fn arange_step<D: WithDType>(start: D, end: D, step: D, device: &Device) -> Result<Tensor> {
        let before_end = move |v: &D| if step >= D::zero() { *v < end } else { *v > end };
        if step != D::zero() && !before_end(&start) {
            return Tensor::zeros(0, D::DTYPE, device);
        }
        let numbers = || std::iter::successors(Some(start), move |v| Some(*v + step).filter(before_end));
        let ends = [start.to_scalar(), end.to_scalar()];
        let exact = [start, end, step].into_iter().all(is_exact);
        // A step that is lost in rounding leads nowhere.
        if exact || count(ends[0], ends[1], step.to_scalar())? > MOST_ADDED || numbers().any(|v| v + step == v) {
            return range(ends[0], ends[1], step.to_scalar(), D::DTYPE, *device);
        }
        Tensor::from_iter(numbers(), device)
    }
}

fn samples() -> Vec<Sample> {
    let sample = |start: f64, end: f64, step: f64, len: usize| {
        let [start_at, end, step_by] = [start, end, step].map(Scalar::Float);
        let call = move |_: &[&Tensor]| range(start_at, end, step_by, DType::F64, Device::Cpu);
        let reference = move |_: &[Array]| Array::from_fn(&[len], |i| start + i[0] as f64 * step);
        Sample::composed("arange", call, vec![], reference).rough()
    };
    vec![sample(0.0, 5.0, 1.0, 5), sample(1.0, 2.0, 0.25, 4), sample(3.0, -1.0, -1.0, 4), sample(0.0, 0.5, 1.0, 1)]
}
