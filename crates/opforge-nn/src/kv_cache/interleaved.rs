//! Keys and values of a position next to each other: `[positions, heads, 2 width]`, each key before its value.

use opforge::{D, Error, Result, Tensor};

/// Keys and values of one sequence so far, in one tensor.
#[derive(Debug, Clone)]
pub struct InterleavedKvCache {
    kv: Option<Tensor>,
    head_dim: usize,
}

impl InterleavedKvCache {
    /// An empty cache for heads of this width.
    pub fn new(head_dim: usize) -> Self {
        InterleavedKvCache { kv: None, head_dim }
    }

    /// The length so far.
    pub fn current_seq_len(&self) -> usize {
        self.kv.as_ref().map_or(0, |kv| kv.dims()[0])
    }

    /// Whether nothing was appended yet.
    pub fn is_empty(&self) -> bool {
        self.kv.is_none()
    }

    /// Appends keys and values `[1, heads, steps, width]`; gives all so far, `[positions, heads, 2 width]`.
    ///
    /// # Errors
    /// For other shapes, and when heads or dtype are not those of earlier ones.
    pub fn append(&mut self, k: &Tensor, v: &Tensor) -> Result<Tensor> {
        let (batch, _, _, width) = k.dims4()?;
        if batch != 1 || width != self.head_dim || v.shape() != k.shape() {
            let accepted = format!("[1, heads, steps, {}] each", self.head_dim);
            return Err(Error::shapes("append", k.shape(), v.shape(), accepted));
        }
        let steps = Tensor::cat(&[k, v], D::Minus1)?.squeeze(0)?.transpose(0, 1)?;
        let joined = match &self.kv {
            None => steps.contiguous()?,
            Some(kv) => Tensor::cat(&[kv, &steps], 0)?,
        };
        Ok(self.kv.insert(joined).clone())
    }

    /// All so far.
    pub fn kv(&self) -> Option<&Tensor> {
        self.kv.as_ref()
    }

    /// The width of heads.
    pub fn head_dim(&self) -> usize {
        self.head_dim
    }

    /// Forgets all.
    pub fn reset(&mut self) {
        self.kv = None;
    }
}

/// As [`InterleavedKvCache`], of numbers that the program holds itself, with room from the beginning on.
///
/// ```
/// use opforge_nn::attention::cpu_flash::causal::causal_decode_f32_interleaved;
/// use opforge_nn::kv_cache::RawInterleavedKvCache;
/// # fn main() -> opforge::Result<()> {
/// let mut cache = RawInterleavedKvCache::new(1, 2, 8);
/// cache.write_kv(&[1.0, 0.0], &[3.0, 4.0]);
/// let out = causal_decode_f32_interleaved(&[1.0, 1.0], cache.data(), 1, 1, 2, cache.len(), 1.0)?;
/// assert_eq!(out.flatten_all()?.to_vec1::<f32>()?, [3.0, 4.0]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct RawInterleavedKvCache {
    numbers: Vec<f32>,
    heads: usize,
    width: usize,
    len: usize,
}

impl RawInterleavedKvCache {
    /// An empty cache with room for `max_seq` positions of heads of this width; more make room.
    pub fn new(h_kv: usize, d: usize, max_seq: usize) -> Self {
        let mut numbers = Vec::new();
        let room = [h_kv, 2, d].into_iter().fold(max_seq, usize::saturating_mul);
        // Room that cannot be had now is asked for again as positions come.
        let _ = numbers.try_reserve_exact(room);
        RawInterleavedKvCache { numbers, heads: h_kv, width: d, len: 0 }
    }

    /// How many positions there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends the keys and values of a position, `[heads, width]` each.
    ///
    /// # Panics
    /// When the slices are shorter.
    pub fn write_kv(&mut self, k_flat: &[f32], v_flat: &[f32]) {
        self.write_kv_batch(k_flat, v_flat, 1);
    }

    /// Appends the keys and values of several positions, `[seq_len, heads, width]` each.
    ///
    /// # Panics
    /// When the slices are shorter.
    pub fn write_kv_batch(&mut self, k_flat: &[f32], v_flat: &[f32], seq_len: usize) {
        let count = seq_len * self.heads * self.width;
        let width = self.width.max(1);
        for (key, value) in k_flat[..count].chunks_exact(width).zip(v_flat[..count].chunks_exact(width)) {
            self.numbers.extend_from_slice(key);
            self.numbers.extend_from_slice(value);
        }
        self.len += seq_len;
    }

    /// All so far, `[positions, heads, 2 width]`.
    pub fn data(&self) -> &[f32] {
        &self.numbers
    }

    /// Forgets all.
    pub fn reset(&mut self) {
        self.numbers.clear();
        self.len = 0;
    }

    /// How many heads there are.
    pub fn h_kv(&self) -> usize {
        self.heads
    }

    /// The width of heads.
    pub fn d(&self) -> usize {
        self.width
    }
}

/// [`rope_i`](crate::rotary_emb::rope_i) of one position's numbers `[num_heads, d]`, in place; `cos` and `sin` are those of the position, `[d / 2]`.
///
/// # Panics
/// When slices are shorter.
pub fn rope_i_inplace(data: &mut [f32], cos: &[f32], sin: &[f32], num_heads: usize, d: usize) {
    let angles = cos[..d / 2].iter().zip(&sin[..d / 2]);
    for head in data[..num_heads * d].chunks_exact_mut(d.max(1)) {
        for (pair, (cos, sin)) in head.chunks_exact_mut(2).zip(angles.clone()) {
            let [a, b] = [pair[0], pair[1]];
            (pair[0], pair[1]) = (a * cos - b * sin, a * sin + b * cos);
        }
    }
}
