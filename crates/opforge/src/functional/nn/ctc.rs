//! The loss of sequences whose alignment is not known.
//!
//! Source: Graves et al., "Connectionist Temporal Classification" (2006), section 4.1, with logarithms.

use super::loss::reduced;
use crate::functional as f;
use crate::ops::prelude::*;

functions! { ctc_loss }

/// Stands for the logarithm of 0: far below all others, but finite, so that differences of it are.
const NEVER: f64 = -1e30;

/// The negative logarithm of the probability of `targets`, summed over all alignments: `log_probs` is `[steps, n, classes]` or `[steps,
/// classes]`; targets are rows of a matrix, or one after another in a vector; lengths are vectors of integers. `blank` is the class that stands
/// for nothing. The mean is one of the losses over their targets' lengths. With `zero_infinity` targets that cannot be are left out.
///
/// The gradient is the derivative by `log_probs`. PyTorch gives them the derivative by the scores of which they are the `log_softmax`; the scores
/// themselves get the same from both.
///
/// # Errors
/// For shapes, lengths and classes that do not go together.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let log = Tensor::new(&[[[0.5f32, 0.5]], [[0.5, 0.5]]], &Device::Cpu)?.log()?;
/// let [targets, steps, lengths] = [1i64, 2, 1].map(|n| Tensor::new(&[n], &Device::Cpu).unwrap());
/// let loss = f::ctc_loss(&log, &targets, &steps, &lengths, 0, "mean", false)?;
/// assert!((loss.to_scalar::<f32>()? + 0.75f32.ln()).abs() < 1e-6);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(blank = 0, reduction = "mean", zero_infinity = false)]
#[python(nn)]
pub fn ctc_loss(
    log_probs: &Tensor,
    targets: &Tensor,
    input_lengths: &Tensor,
    target_lengths: &Tensor,
    blank: i64,
    reduction: &str,
    zero_infinity: bool,
) -> Result<Tensor> {
    if log_probs.rank() == 2 {
        let lengths = [input_lengths, target_lengths].map(f::atleast_1d);
        let [inputs, outputs] = lengths;
        let loss = ctc_loss(
            &log_probs.unsqueeze(1)?,
            &f::atleast_2d(targets)?,
            &inputs?,
            &outputs?,
            blank,
            reduction,
            zero_infinity,
        )?;
        return if loss.rank() == 1 { loss.squeeze(0) } else { Ok(loss) };
    }
    let (steps, n, classes) = log_probs.shape().dims3()?;
    let lengths = |t: &Tensor, name: &'static str, most: usize| lengths(t, name, n, most);
    let inputs = lengths(input_lengths, "input_lengths", steps)?;
    let most = if targets.rank() == 2 { targets.dims()[1] } else { targets.elem_count() };
    let outputs = lengths(target_lengths, "target_lengths", most)?;
    let rows = target_rows(targets, &outputs, classes, blank)?;
    let loss = negative_log(log_probs, &rows, &inputs, blank)?;
    let impossible = loss.gt(-NEVER / 2.0)?;
    let other = if zero_infinity { 0.0 } else { f64::INFINITY };
    let other = if !zero_infinity && log_probs.requires_grad() {
        infinite(log_probs, &inputs, &impossible)?
    } else {
        Tensor::full_scalar(Scalar::Float(other), loss.shape(), loss.dtype(), loss.device())?
    };
    let loss = impossible.where_cond(&other, &loss)?;
    if reduction != "mean" {
        return reduced(OP, loss, reduction);
    }
    let sizes = Tensor::from_iter(outputs.iter().map(|&n| n.max(1) as f64), loss.device())?;
    loss.div(&sizes.to_dtype(loss.dtype())?)?.mean_all()
}

/// Infinity for each sequence. The gradient of those that are impossible is NaN, at all steps that they have.
fn infinite(log_probs: &Tensor, inputs: &[usize], impossible: &Tensor) -> Result<Tensor> {
    let (steps, n, _) = log_probs.shape().dims3()?;
    let running = (0..steps).flat_map(|t| inputs.iter().map(move |&len| u8::from(t < len)));
    let running = Tensor::from_iter(running, log_probs.device())?.reshape((steps, n, 1))?.to_dtype(DType::Bool)?;
    let own = f::logical_and((&running).into(), (&impossible.reshape((1, n, 1))?).into())?;
    let seen = f::where_cond(&own, log_probs.into(), 0.0.into())?.sigmoid()?;
    // exp(0 x + inf), whose derivative is 0 times infinity; sigmoids are finite.
    f::sum(&seen, Some(&[0, 2]), false, None)?.affine(0.0, f64::INFINITY)?.exp()
}

fn lengths(t: &Tensor, name: &'static str, n: usize, most: usize) -> Result<Vec<usize>> {
    if t.dims() != [n] || !t.dtype().is_int() {
        return Err(Error::shape("ctc_loss", name, format!("{} {:?}", t.dtype(), t.shape()), format!("{n} integers")));
    }
    let length = |&n: &i64| {
        let fits = usize::try_from(n).ok().filter(|&n| n <= most);
        fits.ok_or_else(|| Error::value("ctc_loss", name, n, format!("0 to {most}")))
    };
    t.to_dtype(DType::I64)?.to_vec1::<i64>()?.iter().map(length).collect()
}

/// Each sequence's classes.
fn target_rows(targets: &Tensor, lengths: &[usize], classes: usize, blank: i64) -> Result<Vec<Vec<i64>>> {
    f::position("ctc_loss", classes, blank)?;
    let all = targets.to_dtype(DType::I64)?.flatten_all()?.to_vec1::<i64>()?;
    let total = lengths.iter().fold(0usize, |sum, &n| sum.saturating_add(n));
    let fits = match *targets.dims() {
        [n, _] => n == lengths.len(),
        [len] => len >= total,
        _ => false,
    };
    if !fits {
        let accepted = format!("rows, or one vector, for {} sequences", lengths.len());
        return Err(wrong_shape("ctc_loss", "targets", targets.shape(), accepted));
    }
    let mut start = 0;
    let row = |(i, &len): (usize, &usize)| {
        let from = if targets.rank() == 2 { i * targets.dims()[1] } else { start };
        start += len;
        let row = all[from..from + len].to_vec();
        match row.iter().find(|&&c| !(0..classes as i64).contains(&c)) {
            Some(wrong) => Err(Error::index("ctc_loss", "targets", wrong, format!("0 to {}", classes as i64 - 1))),
            None => Ok(row),
        }
    };
    lengths.iter().enumerate().map(row).collect()
}

/// The recursion over steps: the logarithms of the probabilities of all prefixes, which end in a blank or in a class.
#[track_caller]
fn negative_log(log_probs: &Tensor, rows: &[Vec<i64>], inputs: &[usize], blank: i64) -> Result<Tensor> {
    let (steps, n, _) = log_probs.shape().dims3()?;
    let (device, dtype) = (log_probs.device(), log_probs.dtype());
    let width = 2 * rows.iter().map(Vec::len).max().unwrap_or(0) + 1;
    // Classes with blanks around them; a class may follow the one before without a blank if it is another.
    let class = |row: &Vec<i64>, s: usize| if s % 2 == 1 { row.get(s / 2).copied().unwrap_or(blank) } else { blank };
    let skips = |row: &Vec<i64>, s: usize| s % 2 == 1 && s >= 3 && class(row, s) != class(row, s - 2);
    let grid = |f: &dyn Fn(&Vec<i64>, usize) -> f64| {
        let all = rows.iter().flat_map(|row| (0..width).map(move |s| f(row, s)));
        Tensor::from_iter(all, device)?.reshape((n, width))?.to_dtype(dtype)
    };
    let classes = grid(&|row, s| class(row, s) as f64)?.to_dtype(DType::I64)?;
    let barrier = grid(&|row, s| if skips(row, s) { 0.0 } else { NEVER })?;
    let never = |columns: usize| Tensor::full_scalar(Scalar::Float(NEVER), (n, columns), dtype, device);
    // Before the first step: ahead of the first blank.
    let mut alpha = grid(&|_, s| if s == 0 { 0.0 } else { NEVER })?;
    let per_step = f::unbind(log_probs, 0)?;
    for (t, log) in per_step.iter().enumerate().take(steps) {
        let own = f::gather(log, 1, &classes)?;
        let shifted = |by: usize| {
            let by = by.min(width);
            Tensor::cat(&[&never(by)?, &alpha.narrow(1, 0, width - by)?], 1)
        };
        let stepped = f::logaddexp((&alpha).into(), (&shifted(1)?).into())?;
        let reached = f::logaddexp((&stepped).into(), (&shifted(2)?.add(&barrier)?).into())?;
        let next = reached.add(&own)?;
        let running = Tensor::from_iter(inputs.iter().map(|&len| u8::from(t < len)), device)?.reshape((n, 1))?;
        alpha = f::where_cond(&running.to_dtype(DType::Bool)?, (&next).into(), (&alpha).into())?;
    }
    let last = grid(&|row, s| if s == 2 * row.len() || s + 1 == 2 * row.len() { 0.0 } else { NEVER })?;
    f::logsumexp(&alpha.add(&last)?, &[1], false)?.neg()
}
