//! `cross_entropy(input, target)`: the negative logarithm of the probability that softmax gives to the right class.

use opforge_tile::forms::Special;

use crate::autograd::{no_grad, record_function};
use crate::family::index::onto;
use crate::functional::{self as f, exp_times, gather, log_softmax, where_cond};
use crate::ops::index::scatter_add::ScatterAdd;
use crate::ops::prelude::*;

/// How a loss's elements become its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub enum Reduce {
    /// One loss an element.
    None,
    /// Their mean, weighted where there are weights.
    Mean,
    /// Their sum.
    Sum,
}

impl Reduce {
    /// The reduction of this name.
    ///
    /// # Errors
    /// For a name other than `"none"`, `"mean"` and `"sum"`.
    pub fn named(op: &'static str, name: &str) -> Result<Self> {
        match name {
            "none" => Ok(Reduce::None),
            "mean" => Ok(Reduce::Mean),
            "sum" => Ok(Reduce::Sum),
            other => Err(Error::value(op, "reduction", other, "\"none\", \"mean\" or \"sum\"")),
        }
    }

    /// The loss as a whole, of those of each sample; `mean` gives their mean.
    #[track_caller]
    pub(crate) fn apply(self, loss: Tensor, mean: impl FnOnce(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
        match self {
            Reduce::None => Ok(loss),
            Reduce::Sum => f::sum(&loss, None, false, None),
            Reduce::Mean => mean(&loss),
        }
    }
}

/// The cross entropy between scores (before softmax) and classes. `input` is `[n, classes, ..]`, or `[classes]` for one element; `target`
/// holds integers, `[n, ..]`, or probabilities, of the input's shape. `weight` (`[classes]`) scales each class; elements of class
/// `ignore_index` count for nothing; `label_smoothing` moves that share of the target evenly to all classes. The mean is weighted, but of
/// probabilities it is one over the elements.
///
/// # Errors
/// For shapes that do not go together, a class out of range, and an unknown reduction.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let scores = Tensor::new(&[[0f32, 0.0], [0.0, 100.0]], &Device::Cpu)?;
/// let classes = Tensor::new(&[0i64, 1], &Device::Cpu)?;
/// let loss = opforge::functional::cross_entropy(&scores, &classes, None, -100, "mean", 0.0)?;
/// assert!((loss.to_scalar::<f32>()? - 2f32.ln() / 2.0).abs() < 1e-6);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(weight = None, *, ignore_index = -100, reduction = "mean", label_smoothing = 0.0)]
#[python(nn)]
#[operator(DTypes::FLOATS, samples)]
pub fn cross_entropy(
    input: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    ignore_index: i64,
    reduction: &str,
    label_smoothing: f64,
) -> Result<Tensor> {
    let reduce = Reduce::named(OP, reduction)?;
    ensure((0.0..=1.0).contains(&label_smoothing), || Error::value(OP, "label_smoothing", label_smoothing, "0 to 1"))?;
    if target.dtype().kind() == opforge_core::Kind::Float && target.shape() == input.shape() {
        return of_probabilities(input, target, weight, reduce, label_smoothing);
    }
    let dim = class_dim(OP, input, target)?;
    let log = log_softmax(input, dim as i64, None)?;
    let picked = |index: &Tensor| match label_smoothing {
        0.0 => picked_of_scores(input, &log, dim, index),
        _ => gather(&log, dim as i64, index),
    };
    class_loss(&log, picked, target, weight, dim, ignore_index, reduce, label_smoothing)
}

/// The logarithms of the right classes' probabilities, with their gradient by the scores themselves: at class `c` of a sample whose right class is `r`
/// it is `[c = r] - softmax(scores)[c]` times that of the sample. The gradient by all logarithms, nearly all of it zeros, is never made.
#[track_caller]
fn picked_of_scores(scores: &Tensor, log: &Tensor, dim: usize, index: &Tensor) -> Result<Tensor> {
    let picked = no_grad(|| gather(log, dim as i64, index))?;
    // The logarithms have a history, by which the gradient can be differentiated.
    let (log, index) = (log.clone(), index.clone());
    let backward = move |grads: &[Option<Tensor>], _: &[bool]| {
        let Some(grad) = &grads[0] else { return Ok(vec![None]) };
        let spread = exp_times((&log).into(), (&grad.neg()?).into())?;
        Ok(vec![Some(onto(&ScatterAdd { dim, special: Special::None }, spread, &index, grad)?)])
    };
    Ok(record_function("cross_entropy", &[scores], &[picked], &[true], Arc::new(backward))?.remove(0))
}

/// The loss of a target that gives each class a share.
#[track_caller]
fn of_probabilities(
    input: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    reduce: Reduce,
    smoothing: f64,
) -> Result<Tensor> {
    if input.rank() == 0 {
        return Err(crate::functional::no_dims("cross_entropy"));
    }
    let dim = usize::from(input.rank() > 1);
    let log = log_softmax(input, dim as i64, None)?;
    let target = target.to_dtype(log.dtype())?.affine(1.0 - smoothing, smoothing / input.dims()[dim] as f64)?;
    let loss = weighted(log, weight, dim)?.mul(&target)?.sum(dim)?.neg()?;
    reduce.apply(loss, Tensor::mean_all)
}

/// The negative logarithm of each right class's probability, which `picked` gives, weighted, smoothed and reduced.
#[track_caller]
#[expect(clippy::too_many_arguments, reason = "those of the losses that it is part of")]
pub(crate) fn class_loss(
    log: &Tensor,
    picked: impl FnOnce(&Tensor) -> Result<Tensor>,
    target: &Tensor,
    weight: Option<&Tensor>,
    dim: usize,
    ignore_index: i64,
    reduce: Reduce,
    smoothing: f64,
) -> Result<Tensor> {
    let terms = Terms::new(log, target, weight, dim, ignore_index)?;
    let mut loss = terms.nll(&picked(&terms.index)?)?;
    if smoothing > 0.0 {
        loss = loss.affine(1.0 - smoothing, 0.0)?.add(&terms.even(log, weight)?.affine(smoothing, 0.0)?)?;
    }
    reduce.apply(loss, |loss| loss.sum_all()?.div(&terms.total(loss.dtype())?))
}

/// The logarithms times the weights of their classes.
#[track_caller]
fn weighted(log: Tensor, weight: Option<&Tensor>, dim: usize) -> Result<Tensor> {
    let Some(weight) = weight else { return Ok(log) };
    ensure(weight.dims() == [log.dims()[dim]], || {
        wrong_shape("cross_entropy", "weight", weight.shape(), format!("[{}]", log.dims()[dim]))
    })?;
    let mut shape = vec![1; log.rank()];
    shape[dim] = log.dims()[dim];
    log.broadcast_mul(&weight.to_dtype(log.dtype())?.reshape(shape)?)
}

/// The dimension of classes, once the shapes go together.
pub(crate) fn class_dim(op: &'static str, input: &Tensor, target: &Tensor) -> Result<usize> {
    let dim = usize::from(input.rank() > 1);
    let without: Shape = (0..input.rank()).filter(|&d| d != dim).map(|d| input.dims()[d]).collect();
    ensure(input.rank() != 0 && &without == target.shape(), || {
        Error::shapes(op, input.shape(), target.shape(), "scores [n, classes, ..] and classes [n, ..]")
    })?;
    ensure(target.dtype().is_int(), || Error::dtype(op, "target", target.dtype(), "an integer dtype"))?;
    Ok(dim)
}

/// What each element's loss is made of.
struct Terms {
    dim: usize,
    /// The classes, with a dimension for them, ignored ones replaced by 0.
    index: Tensor,
    /// Each element's weight, if there are weights: 0 where it is ignored.
    share: Option<Tensor>,
    /// Whether the element is not ignored.
    counted: Tensor,
}

impl Terms {
    #[track_caller]
    fn new(log: &Tensor, target: &Tensor, weight: Option<&Tensor>, dim: usize, ignore: i64) -> Result<Self> {
        let dtype = log.dtype();
        let target = target.to_dtype(DType::I64)?;
        let counted = target.ne(ignore)?;
        let safe = where_cond(&counted, (&target).into(), 0i64.into())?;
        let share = match weight {
            None => None,
            Some(weight) if weight.dims() == [log.dims()[dim]] => {
                let each = weight.to_dtype(dtype)?.index_select(&safe.flatten_all()?, 0)?;
                Some(each.reshape(safe.shape())?.mul(&counted.to_dtype(dtype)?)?)
            }
            Some(weight) => {
                return Err(wrong_shape("cross_entropy", "weight", weight.shape(), format!("[{}]", log.dims()[dim])));
            }
        };
        Ok(Terms { dim, index: safe.unsqueeze(dim)?, share, counted })
    }

    /// The weighted negative logarithm of each right class's probability.
    #[track_caller]
    fn nll(&self, picked: &Tensor) -> Result<Tensor> {
        let mut loss = picked.squeeze(self.dim)?.neg()?;
        if let Some(share) = &self.share {
            loss = loss.mul(share)?;
        }
        self.unless_ignored(&loss)
    }

    /// The losses, or 0 where an element is ignored, whatever its scores.
    #[track_caller]
    fn unless_ignored(&self, loss: &Tensor) -> Result<Tensor> {
        where_cond(&self.counted, loss.into(), 0.0.into())
    }

    /// The weight of all elements.
    #[track_caller]
    fn total(&self, dtype: DType) -> Result<Tensor> {
        self.share.as_ref().map_or_else(|| self.counted.to_dtype(dtype)?.sum_all(), Tensor::sum_all)
    }

    /// The loss of a target that gives all classes the same share.
    #[track_caller]
    fn even(&self, log: &Tensor, weight: Option<&Tensor>) -> Result<Tensor> {
        let classes = log.dims()[self.dim];
        let weighted = weighted(log.clone(), weight, self.dim)?;
        self.unless_ignored(&weighted.sum(self.dim)?.affine(-1.0 / classes as f64, 0.0)?)
    }
}

fn samples() -> Vec<Sample> {
    let nll = |x: &Array, i: usize, class: usize| {
        let row: Vec<f64> = (0..x.shape[1]).map(|c| x.at(&[i, c])).collect();
        row.iter().map(|x| x.exp()).sum::<f64>().ln() - row[class]
    };
    let inputs = || vec![Array::spread(&[4, 3], -2.0..2.0), Array::indices(&[4], 3)];
    let mean = Sample::composed(
        "cross_entropy",
        |x| cross_entropy(x[0], x[1], None, -100, "mean", 0.0),
        inputs(),
        move |x| {
            let total: f64 = (0..4).map(|i| nll(&x[0], i, x[1].at(&[i]) as usize)).sum();
            Array::new(&[], vec![total / 4.0])
        },
    );
    let smooth = Sample::composed(
        "cross_entropy, smoothed, class 0 ignored",
        |x| cross_entropy(x[0], x[1], None, 0, "none", 0.2),
        inputs(),
        move |x| {
            Array::from_fn(&[4], |i| match x[1].at(i) as usize {
                0 => 0.0,
                class => {
                    let even = (0..3).map(|c| nll(&x[0], i[0], c)).sum::<f64>() / 3.0;
                    0.8 * nll(&x[0], i[0], class) + 0.2 * even
                }
            })
        },
    );
    vec![mean, smooth]
}
