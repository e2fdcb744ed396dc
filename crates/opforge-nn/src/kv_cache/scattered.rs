//! Ring buffers of the last steps, for several sequences that advance independently.

use opforge::{DType, Device, Error, Result, Tensor};

/// Where steps go that nothing is written of.
const NOWHERE: u32 = u32::MAX;

/// Where the next steps of each sequence go, and what they may see.
#[derive(Debug, Clone)]
pub struct IndicesAndMask {
    /// `[batch, steps]`.
    indices: Tensor,
    mask: Tensor,
}

impl IndicesAndMask {
    /// 0 where a step may look, else minus infinity: `[batch, 1, steps, context]`, or `[steps, steps]` for as many steps as the context has, or more.
    pub fn mask(&self) -> &Tensor {
        &self.mask
    }
}

/// The keys and values of an attention layer, `[batch, heads, context, width]`; later steps overwrite the first ones.
#[derive(Debug, Clone)]
pub struct ScatteredKvCache {
    k: Tensor,
    v: Tensor,
    context: usize,
}

impl ScatteredKvCache {
    /// Writes keys and values, `[batch, heads, steps, width]`. Gives what attention is to see: all that the cache holds, or `k` and `v` themselves where
    /// they fill it.
    ///
    /// # Errors
    /// For other shapes and dtypes.
    pub fn append(&mut self, k: &Tensor, v: &Tensor, iam: &IndicesAndMask) -> Result<(Tensor, Tensor)> {
        let (batch, steps) = iam.indices.dims2()?;
        let indices = iam.indices.reshape((batch, 1, steps, 1))?;
        for (held, new) in [(&self.k, k), (&self.v, v)] {
            let wide = indices.broadcast_as(new.shape())?.contiguous()?;
            held.scatter_set(&wide, &new.contiguous()?, 2)?;
        }
        if steps >= self.context { Ok((k.clone(), v.clone())) } else { Ok((self.k.clone(), self.v.clone())) }
    }

    /// The keys.
    pub fn k(&self) -> &Tensor {
        &self.k
    }

    /// The values.
    pub fn v(&self) -> &Tensor {
        &self.v
    }
}

/// Makes caches for sequences that advance independently, and knows how long each is.
#[derive(Debug, Clone)]
pub struct ScatteredCacheBuilder {
    context: usize,
    /// The length of each sequence so far.
    positions: Vec<usize>,
    dtype: DType,
    device: Device,
}

impl ScatteredCacheBuilder {
    /// For `batch_size` sequences, of each of which the last `context` steps are kept.
    ///
    /// # Errors
    /// For no context.
    pub fn new(batch_size: usize, context: usize, dtype: DType, device: &Device) -> Result<Self> {
        if context == 0 {
            return Err(Error::value("ScatteredCacheBuilder", "context", context, "at least one step"));
        }
        Ok(ScatteredCacheBuilder { context, positions: vec![0; batch_size], dtype, device: *device })
    }

    /// An empty cache.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn make_cache(&self, num_heads: usize, head_dim: usize) -> Result<ScatteredKvCache> {
        let zeros = || Tensor::zeros((self.batch_size(), num_heads, self.context, head_dim), self.dtype, &self.device);
        Ok(ScatteredKvCache { k: zeros()?, v: zeros()?, context: self.context })
    }

    /// The length of each sequence so far.
    pub fn positions(&self) -> &[usize] {
        &self.positions
    }

    /// How many sequences there are.
    pub fn batch_size(&self) -> usize {
        self.positions.len()
    }

    /// Where masks and caches are.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Begins all sequences anew.
    pub fn reset(&mut self) {
        self.positions.fill(0);
    }

    /// Begins one sequence anew.
    ///
    /// # Panics
    /// For a number that no sequence has.
    pub fn reset_batch_index(&mut self, batch_index: usize) {
        self.positions[batch_index] = 0;
    }

    /// Where the next `seq_len` steps go of the sequences that `batch_mask` names; the others stay as they are, and their steps see everything, so that no row of
    /// a softmax is empty.
    ///
    /// # Errors
    /// When there is not one truth value a sequence.
    pub fn indices_and_mask(&mut self, seq_len: usize, batch_mask: &[bool]) -> Result<IndicesAndMask> {
        let batch = self.batch_size();
        if batch_mask.len() != batch {
            let accepted = format!("{batch} truth values, one a sequence");
            return Err(Error::value("indices_and_mask", "batch_mask", batch_mask.len(), accepted));
        }
        let indices: Vec<u32> =
            self.positions.iter().zip(batch_mask).flat_map(|(&at, &goes)| self.places(at, seq_len, goes)).collect();
        let mask = if seq_len >= self.context { self.causal(seq_len)? } else { self.window(seq_len, batch_mask)? };
        let advance = |(position, &goes): (&mut usize, &bool)| *position += if goes { seq_len } else { 0 };
        self.positions.iter_mut().zip(batch_mask).for_each(advance);
        Ok(IndicesAndMask { indices: Tensor::from_vec(indices, (batch, seq_len), &self.device)?, mask })
    }

    /// The places of the steps of a sequence; of more than the context, the last ones have some.
    fn places(&self, position: usize, steps: usize, goes: bool) -> impl Iterator<Item = u32> {
        let (context, lost) = (self.context, steps.saturating_sub(self.context));
        let place = move |i: usize| u32::try_from((position + i) % context).unwrap_or(NOWHERE);
        (0..steps).map(move |i| if goes && i >= lost { place(i) } else { NOWHERE })
    }

    /// Each step sees those before it.
    fn causal(&self, steps: usize) -> Result<Tensor> {
        let mask = (0..steps).flat_map(|i| (0..steps).map(move |j| hidden_unless(j <= i))).collect::<Vec<f32>>();
        Tensor::from_vec(mask, (steps, steps), &self.device)?.to_dtype(self.dtype)
    }

    /// Each step sees what the places hold of steps up to itself.
    fn window(&self, steps: usize, batch_mask: &[bool]) -> Result<Tensor> {
        let context = self.context;
        let mut mask = Vec::with_capacity(self.batch_size() * steps * context);
        for (&position, &goes) in self.positions.iter().zip(batch_mask) {
            let end = position + steps;
            // The last step that was written to a place, if any was.
            let held = |place: usize| (end - 1).checked_sub((end - 1 + context - place) % context);
            for own in position..end {
                let sees = |place| !goes || held(place).is_some_and(|step| step <= own);
                mask.extend((0..context).map(|place| hidden_unless(sees(place))));
            }
        }
        Tensor::from_vec(mask, (self.batch_size(), 1, steps, context), &self.device)?.to_dtype(self.dtype)
    }
}

fn hidden_unless(is_seen: bool) -> f32 {
    if is_seen { 0.0 } else { f32::NEG_INFINITY }
}
