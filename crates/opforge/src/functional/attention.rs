//! Attention, and other rearrangements of what networks compute with.

use crate::operator::prelude::*;

functions! {
    /// `softmax(query key^T scale) value` over the last two dimensions, `[.., length, width]`; `scale` is 1 over the root of the width, unless
    /// given. `attn_mask` is true where attention may go (bool), or is added to the scores (floats); `is_causal` lets a position see those up to
    /// its own. A row that may see nothing gives 0. With `enable_gqa` each head (third dimension from the end) of key and value serves several
    /// of the query. `dropout_p` drops weights.
    ///
    /// # Errors
    /// For shapes that do not go together, and both a mask and `is_causal`.
    ///
    /// ```
    /// # use opforge::{Device, Tensor, functional as f};
    /// let x = Tensor::new(&[[1f32, 0.0], [0.0, 1.0]], &Device::Cpu)?;
    /// let y = f::scaled_dot_product_attention(&x, &x, &x, None, 0.0, true, None, false)?;
    /// assert_eq!(y.get(0)?.to_vec1::<f32>()?, [1.0, 0.0]);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    #[python(nn)]
    pub fn scaled_dot_product_attention(
        query: &Tensor,
        key: &Tensor,
        value: &Tensor,
        attn_mask: Option<&Tensor> = None,
        dropout_p: f64 = 0.0,
        is_causal: bool = false;
        scale: Option<f64> = None,
        enable_gqa: bool = false,
    ) -> Result<Tensor> {
        const NAME: &str = "scaled_dot_product_attention";
        let ranks = [query, key, value].map(Tensor::rank);
        if ranks.iter().any(|&rank| rank < 2) {
            return Err(Error::shapes(NAME, query.shape(), key.shape(), "tensors [.., length, width]"));
        }
        if attn_mask.is_some() && is_causal {
            return Err(Error::value(NAME, "is_causal", true, "false, beside attn_mask"));
        }
        let (key, value) = match enable_gqa {
            true => (shared_heads(NAME, query, key)?, shared_heads(NAME, query, value)?),
            false => (key.clone(), value.clone()),
        };
        let width = query.dims()[ranks[0] - 1].max(1) as f64;
        let scaled = query.affine(scale.unwrap_or(1.0 / width.sqrt()), 0.0)?;
        let scores = super::matmul(&scaled, &key.transpose(key.rank() - 2, key.rank() - 1)?)?;
        let weights = match attn_mask {
            None if is_causal => super::softmax(&causal(&scores)?, -1, None)?,
            None => super::softmax(&scores, -1, None)?,
            Some(mask) => masked_softmax(&scores, mask)?,
        };
        super::matmul(&super::dropout(&weights, dropout_p, true, false)?, &value)
    }

    /// Softmax of the negated input.
    #[python(nn)]
    pub fn softmin(input: &Tensor, dim: i64; dtype: Option<DType> = None) -> Result<Tensor> {
        super::softmax(&input.neg()?, dim, dtype)
    }

    /// Softmax of `logits` with Gumbel noise, over `tau`: a smooth sample of classes along `dim`. With `hard` the result is 1 for the largest and
    /// 0 elsewhere, with the gradient of the smooth one.
    ///
    /// # Errors
    /// For a dimension out of range.
    #[python(nn)]
    pub fn gumbel_softmax(
        logits: &Tensor,
        tau: f64 = 1.0,
        hard: bool = false,
        eps: f64 = 1e-10,
        dim: i64 = -1,
    ) -> Result<Tensor> {
        let _ = eps;
        let place = super::existing_dim("gumbel_softmax", logits, dim)?;
        // Uniform numbers come from [0, 1): their complement has a logarithm.
        let uniform = Tensor::rand(0f32, 1.0, logits.shape(), logits.device())?.affine(-1.0, 1.0)?;
        let noise = uniform.log()?.neg()?.affine(1.0, f64::from(f32::MIN_POSITIVE))?.log()?.neg()?.to_dtype(logits.dtype())?;
        let soft = super::softmax(&logits.add(&noise)?.affine(1.0 / tau, 0.0)?, dim, None)?;
        if !hard {
            return Ok(soft);
        }
        let top = super::argmax(&soft.detach(), Some(place as i64), true)?;
        let one = super::scatter_value(&soft.detach().zeros_like()?, place as i64, &top, Scalar::Int(1), None)?;
        one.sub(&soft.detach())?.add(&soft)
    }

    /// `[.., channels r^2, height, width]` as `[.., channels, height r, width r]`: each square of channels becomes one of points.
    ///
    /// # Errors
    /// For channels that are not a multiple of the factor's square.
    ///
    /// ```
    /// # use opforge::{Device, Tensor, functional as f};
    /// let x = Tensor::arange(0f32, 4.0, &Device::Cpu)?.reshape((4, 1, 1))?;
    /// assert_eq!(f::pixel_shuffle(&x, 2)?.to_vec3::<f32>()?, [[[0.0, 1.0], [2.0, 3.0]]]);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    #[python(torch, nn)]
    pub fn pixel_shuffle(input: &Tensor, upscale_factor: i64) -> Result<Tensor> {
        let (lead, [channels, height, width], r) = image("pixel_shuffle", input, upscale_factor)?;
        if !channels.is_multiple_of(r * r) {
            let accepted = format!("a multiple of {} channels", r * r);
            return Err(Error::shape("pixel_shuffle", "input", format!("{:?}", input.shape()), accepted));
        }
        let n = lead.iter().product::<usize>();
        let parts = input.reshape(&[n, channels / (r * r), r, r, height, width][..])?;
        let moved = parts.permute((0, 1, 4, 2, 5, 3))?;
        moved.reshape([lead, &[channels / (r * r), height * r, width * r]].concat())
    }

    /// `[.., channels, height r, width r]` as `[.., channels r^2, height, width]`: undoes [`pixel_shuffle`].
    ///
    /// # Errors
    /// For a height or width that is not a multiple of the factor.
    ///
    /// ```
    /// # use opforge::{Device, Tensor, functional as f};
    /// let x = Tensor::arange(0f32, 4.0, &Device::Cpu)?.reshape((1, 2, 2))?;
    /// assert_eq!(f::pixel_unshuffle(&x, 2)?.dims(), [4, 1, 1]);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    #[python(torch, nn)]
    pub fn pixel_unshuffle(input: &Tensor, downscale_factor: i64) -> Result<Tensor> {
        let (lead, [channels, height, width], r) = image("pixel_unshuffle", input, downscale_factor)?;
        if !height.is_multiple_of(r) || !width.is_multiple_of(r) {
            let accepted = format!("multiples of {r} for height and width");
            return Err(Error::shape("pixel_unshuffle", "input", format!("{:?}", input.shape()), accepted));
        }
        let n = lead.iter().product::<usize>();
        let parts = input.reshape(&[n, channels, height / r, r, width / r, r][..])?;
        let moved = parts.permute((0, 1, 3, 5, 2, 4))?;
        moved.reshape([lead, &[channels * r * r, height / r, width / r]].concat())
    }

    /// The channels (the second dimension), in `groups` groups, interleaved: the first of each group, then the second of each, and so on.
    ///
    /// # Errors
    /// For a number of channels that the groups do not divide.
    ///
    /// ```
    /// # use opforge::{Device, Tensor, functional as f};
    /// let x = Tensor::new(&[[0f32, 1.0, 2.0, 3.0]], &Device::Cpu)?;
    /// assert_eq!(f::channel_shuffle(&x, 2)?.to_vec2::<f32>()?, [[0.0, 2.0, 1.0, 3.0]]);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    #[python(torch, nn)]
    pub fn channel_shuffle(input: &Tensor, groups: i64) -> Result<Tensor> {
        let channels = input.dims().get(1).copied().unwrap_or(0);
        let groups = usize::try_from(groups).ok().filter(|&g| g > 0 && channels.is_multiple_of(g));
        let Some(groups) = groups.filter(|_| input.rank() >= 2) else {
            return Err(Error::shape("channel_shuffle", "input", format!("{:?}", input.shape()), "[n, channels, ..] that the groups divide"));
        };
        let grouped = [&input.dims()[..1], &[groups, channels / groups], &input.dims()[2..]].concat();
        input.reshape(grouped)?.transpose(1, 2)?.reshape(input.shape())
    }
}

/// The heads of key or value, repeated to as many as the query has.
#[track_caller]
fn shared_heads(op: &'static str, query: &Tensor, t: &Tensor) -> Result<Tensor> {
    let heads = |t: &Tensor| t.rank().checked_sub(3).map(|d| t.dims()[d]);
    match (heads(query), heads(t)) {
        (Some(many), Some(few)) if few > 0 && many.is_multiple_of(few) => {
            super::repeat_interleave(t, (many / few) as i64, Some(-3), None)
        }
        _ => Err(Error::shapes(op, query.shape(), t.shape(), "heads of the query that are a multiple of the others'")),
    }
}

/// Minus infinity where a position (row) would see a later one (column).
#[track_caller]
fn causal(scores: &Tensor) -> Result<Tensor> {
    let [rows, columns] = [scores.dims()[scores.rank() - 2], scores.dims()[scores.rank() - 1]];
    let seen = super::tril(&Tensor::ones((rows, columns), DType::Bool, scores.device())?, 0)?;
    super::where_cond(&seen, scores.into(), f64::NEG_INFINITY.into())
}

/// Softmax of the scores that a mask lets through; rows without any are 0.
#[track_caller]
fn masked_softmax(scores: &Tensor, mask: &Tensor) -> Result<Tensor> {
    let masked = match mask.dtype() {
        DType::Bool => super::where_cond(mask, scores.into(), f64::NEG_INFINITY.into())?,
        _ => scores.broadcast_add(&mask.to_dtype(scores.dtype())?)?,
    };
    let highest = super::amax(&masked.detach(), Some(&[-1]), true)?;
    let blind = super::eq((&highest).into(), f64::NEG_INFINITY.into())?;
    super::masked_fill(&super::softmax(&masked, -1, None)?, &blind, Operand::Scalar(Scalar::Int(0)))
}

/// The dimensions before the last three, those, and a factor.
fn image<'a>(op: &'static str, input: &'a Tensor, factor: i64) -> Result<(&'a [usize], [usize; 3], usize)> {
    let factor = usize::try_from(factor).ok().filter(|f| (1..=1 << 16).contains(f));
    let factor = factor.ok_or_else(|| Error::value(op, "factor", "out of range", "1 to 65536"))?;
    match input.dims() {
        [lead @ .., channels, height, width] => Ok((lead, [*channels, *height, *width], factor)),
        _ => Err(Error::shape(op, "input", format!("{:?}", input.shape()), "[.., channels, height, width]")),
    }
}
