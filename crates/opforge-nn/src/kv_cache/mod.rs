//! Caches of attention's keys and values, for a sequence that grows.

mod concat;
mod interleaved;
mod rotating;
mod scattered;

use opforge::{Error, Result, Tensor};

pub use concat::ConcatKvCache;
pub use interleaved::{InterleavedKvCache, RawInterleavedKvCache, rope_i_inplace};
pub use rotating::{RotatingCache, RotatingKvCache};
pub use scattered::{IndicesAndMask, ScatteredCacheBuilder, ScatteredKvCache};

/// A tensor that grows along one dimension. Up to the length of its room appending copies only what it adds; beyond it the room grows by the length that it
/// had at first.
#[derive(Debug, Clone)]
pub struct Cache {
    /// Made at the first append, which knows the other dimensions.
    all_data: Option<Tensor>,
    dim: usize,
    current_seq_len: usize,
    grow_by: usize,
    max_seq_len: usize,
}

impl Cache {
    /// An empty cache along `dim`, with room for `max_seq_len`.
    pub fn new(dim: usize, max_seq_len: usize) -> Self {
        Cache { all_data: None, dim, current_seq_len: 0, grow_by: max_seq_len, max_seq_len }
    }

    /// The dimension that grows.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The length so far.
    pub fn current_seq_len(&self) -> usize {
        self.current_seq_len
    }

    /// The length that there is room for.
    pub fn max_seq_len(&self) -> usize {
        self.max_seq_len
    }

    /// All the room there is, used or not.
    pub fn all_data(&self) -> &Option<Tensor> {
        &self.all_data
    }

    /// What it holds: a view, which later appends leave as it is.
    ///
    /// # Errors
    /// None that appending would not have met.
    pub fn current_data(&self) -> Result<Option<Tensor>> {
        self.all_data.as_ref().map(|data| data.narrow(self.dim, 0, self.current_seq_len)).transpose()
    }

    /// Forgets what it holds; room that was gained stays.
    pub fn reset(&mut self) {
        self.current_seq_len = 0;
        self.all_data = None;
    }

    /// Appends the elements of `src`.
    ///
    /// # Errors
    /// When dtype or other dimensions are not those of earlier ones, there is no memory, or the cache was made for a length of 0.
    pub fn append(&mut self, src: &Tensor) -> Result<()> {
        let len = src.dim(self.dim)?;
        self.make_room(len, src)?;
        if let Some(data) = &self.all_data {
            data.slice_set(&src.contiguous()?, self.dim, self.current_seq_len)?;
        }
        self.current_seq_len += len;
        Ok(())
    }

    /// Room for `len` more of elements like those of `src`.
    fn make_room(&mut self, len: usize, src: &Tensor) -> Result<()> {
        let zeros = |len: usize| {
            let mut dims = src.dims().to_vec();
            dims[self.dim] = len;
            Tensor::zeros(dims, src.dtype(), src.device())
        };
        let missing = (self.current_seq_len.checked_add(len)).map(|all| all.saturating_sub(self.max_seq_len));
        let too_long =
            || Error::shape("append", "src", format!("length {len}"), format!("a room above {}", self.grow_by));
        let steps = match missing {
            Some(0) => 0,
            Some(missing) if self.grow_by > 0 => missing.div_ceil(self.grow_by),
            _ => return Err(too_long()),
        };
        let gained = steps.checked_mul(self.grow_by).ok_or_else(too_long)?;
        let longer = self.max_seq_len.checked_add(gained).ok_or_else(too_long)?;
        match &self.all_data {
            None => self.all_data = Some(zeros(longer)?),
            Some(data) if gained > 0 => self.all_data = Some(Tensor::cat(&[data, &zeros(gained)?], self.dim)?),
            Some(_) => {}
        }
        self.max_seq_len = longer;
        Ok(())
    }
}

/// The keys and values of an attention layer.
#[derive(Debug, Clone)]
pub struct KvCache {
    k: Cache,
    v: Cache,
}

impl KvCache {
    /// Empty caches along `dim`, with room for `max_seq_len`: see [`Cache`].
    pub fn new(dim: usize, max_seq_len: usize) -> Self {
        KvCache { k: Cache::new(dim, max_seq_len), v: Cache::new(dim, max_seq_len) }
    }

    /// The keys' cache.
    pub fn k_cache(&self) -> &Cache {
        &self.k
    }

    /// The values' cache.
    pub fn v_cache(&self) -> &Cache {
        &self.v
    }

    /// The keys' cache, to be changed.
    pub fn k_cache_mut(&mut self) -> &mut Cache {
        &mut self.k
    }

    /// The values' cache, to be changed.
    pub fn v_cache_mut(&mut self) -> &mut Cache {
        &mut self.v
    }

    /// The keys so far.
    ///
    /// # Errors
    /// As [`Cache::current_data`].
    pub fn k(&self) -> Result<Option<Tensor>> {
        self.k.current_data()
    }

    /// The values so far.
    ///
    /// # Errors
    /// As [`Cache::current_data`].
    pub fn v(&self) -> Result<Option<Tensor>> {
        self.v.current_data()
    }

    /// The length so far.
    pub fn current_seq_len(&self) -> usize {
        self.k.current_seq_len()
    }

    /// Forgets all.
    pub fn reset(&mut self) {
        self.k.reset();
        self.v.reset();
    }

    /// Appends keys and values; gives all so far.
    ///
    /// # Errors
    /// As [`Cache::append`].
    pub fn append(&mut self, k: &Tensor, v: &Tensor) -> Result<(Tensor, Tensor)> {
        self.k.append(k)?;
        self.v.append(v)?;
        let held = |cache: &Cache| cache.current_data()?.ok_or_else(|| Error::msg("an empty cache after appending"));
        Ok((held(&self.k)?, held(&self.v)?))
    }
}
