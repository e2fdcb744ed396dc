//! Room for a sequence that grows, as attention keeps its keys and values.

use opforge::{Error, Result, Tensor};

/// A tensor that grows along one dimension up to a fixed length, without copying what it holds.
#[derive(Debug, Clone)]
pub struct Cache {
    /// Made at the first append, which knows the other dimensions.
    all_data: Option<Tensor>,
    dim: usize,
    current_seq_len: usize,
    max_seq_len: usize,
}

impl Cache {
    /// An empty cache that grows along `dim`.
    pub fn new(dim: usize, max_seq_len: usize) -> Self {
        Cache { all_data: None, dim, current_seq_len: 0, max_seq_len }
    }

    /// The dimension that grows.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The length so far.
    pub fn current_seq_len(&self) -> usize {
        self.current_seq_len
    }

    /// The most it can hold.
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

    /// Forgets what it holds.
    pub fn reset(&mut self) {
        self.current_seq_len = 0;
        self.all_data = None;
    }

    /// Appends the elements of `src`.
    ///
    /// # Errors
    /// When there is no room left, or dtype or other dimensions are not those of earlier ones.
    pub fn append(&mut self, src: &Tensor) -> Result<()> {
        let len = src.dim(self.dim)?;
        let room = self.max_seq_len - self.current_seq_len;
        if len > room {
            return Err(Error::shape("append", "src", format!("length {len}"), format!("at most {room} more")));
        }
        let data = match &self.all_data {
            Some(data) => data,
            None => {
                let mut dims = src.dims().to_vec();
                dims[self.dim] = self.max_seq_len;
                self.all_data.insert(Tensor::zeros(dims, src.dtype(), src.device())?)
            }
        };
        data.slice_set(&src.contiguous()?, self.dim, self.current_seq_len)?;
        self.current_seq_len += len;
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
    /// Empty caches that grow along `dim`.
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
