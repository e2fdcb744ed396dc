//! A cache of the last steps, as a ring buffer.

use opforge::{Device, Error, Result, Tensor};

/// A ring buffer with room for `max_seq_len` along one dimension: later elements overwrite the first ones.
#[derive(Debug, Clone)]
pub struct RotatingCache {
    /// Made at the first append, which knows the other dimensions.
    all_data: Option<Tensor>,
    dim: usize,
    /// Where the next element goes.
    offset: usize,
    /// How many were appended, overwritten ones too.
    current_seq_len: usize,
    max_seq_len: usize,
}

impl RotatingCache {
    /// An empty cache along `dim`.
    pub fn new(dim: usize, max_seq_len: usize) -> Self {
        RotatingCache { all_data: None, dim, offset: 0, current_seq_len: 0, max_seq_len }
    }

    /// Where the next element goes.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The dimension that grows.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// How many were appended, overwritten ones too.
    pub fn current_seq_len(&self) -> usize {
        self.current_seq_len
    }

    /// How many there is room for.
    pub fn max_seq_len(&self) -> usize {
        self.max_seq_len
    }

    /// All the room there is, used or not.
    pub fn all_data(&self) -> &Option<Tensor> {
        &self.all_data
    }

    /// The elements held, in the order of the buffer.
    ///
    /// # Errors
    /// None that appending would not have met.
    pub fn current_data(&self) -> Result<Option<Tensor>> {
        let held = self.current_seq_len.min(self.max_seq_len);
        self.all_data.as_ref().map(|data| data.narrow(self.dim, 0, held)).transpose()
    }

    /// Forgets what it holds.
    pub fn reset(&mut self) {
        (self.offset, self.current_seq_len, self.all_data) = (0, 0, None);
    }

    /// Appends the elements of `src`. Returns what attention is to see: all that the cache holds, or `src` where that alone fills it.
    ///
    /// # Errors
    /// When dtype or other dimensions are not those of earlier ones, and for a cache without room.
    pub fn append(&mut self, src: &Tensor) -> Result<Tensor> {
        let len = src.dim(self.dim)?;
        let data = self.room_for(src)?;
        if len >= self.max_seq_len {
            data.slice_set(
                &src.narrow(self.dim, len - self.max_seq_len, self.max_seq_len)?.contiguous()?,
                self.dim,
                0,
            )?;
            self.offset = 0;
            self.current_seq_len += len;
            return Ok(src.clone());
        }
        let first = len.min(self.max_seq_len - self.offset);
        let set = |start: usize, len: usize, at: usize| {
            if len == 0 {
                Ok(())
            } else {
                data.slice_set(&src.narrow(self.dim, start, len)?.contiguous()?, self.dim, at)
            }
        };
        set(0, first, self.offset)?;
        set(first, len - first, 0)?;
        self.offset = (self.offset + len) % self.max_seq_len;
        self.current_seq_len += len;
        data.narrow(self.dim, 0, self.current_seq_len.min(self.max_seq_len))
    }

    /// The room, made if there is none yet.
    fn room_for(&mut self, src: &Tensor) -> Result<Tensor> {
        if self.max_seq_len == 0 {
            return Err(Error::value("append", "max_seq_len", 0, "a cache with room"));
        }
        if let Some(data) = &self.all_data {
            return Ok(data.clone());
        }
        let mut dims = src.dims().to_vec();
        dims[self.dim] = self.max_seq_len;
        Ok(self.all_data.insert(Tensor::zeros(dims, src.dtype(), src.device())?).clone())
    }

    /// The positions in the sequence of the elements that [`RotatingCache::append`] returns once `seq_len` more are appended.
    pub fn positions(&self, seq_len: usize) -> Vec<usize> {
        let (end, room) = (self.current_seq_len + seq_len, self.max_seq_len);
        if seq_len >= room {
            return (self.current_seq_len..end).collect();
        }
        if end <= room {
            return (0..end).collect();
        }
        // Places before the next one were written in this round, the others in the round before.
        let next = (self.offset + seq_len) % room;
        (0..room).map(|i| end - next + i - if i < next { 0 } else { room }).collect()
    }

    /// The mask `[seq_len, given]` of the next `seq_len` elements over what [`RotatingCache::append`] will return: 1 for what an element must not see, which is
    /// later elements, and those more than `max_seq_len` before it. `None` for a single element, which sees all.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn attn_mask(&self, seq_len: usize, device: &Device) -> Result<Option<Tensor>> {
        if seq_len == 1 {
            return Ok(None);
        }
        let positions = self.positions(seq_len);
        let rows = (0..seq_len).map(|i| self.current_seq_len + i);
        let hidden = |own: usize, p: usize| u8::from(p > own || p + self.max_seq_len < own);
        let mask: Vec<u8> = rows.flat_map(|own| positions.iter().map(move |&p| hidden(own, p))).collect();
        Tensor::from_vec(mask, (seq_len, positions.len()), device).map(Some)
    }
}

/// The keys and values of an attention layer, each in a [`RotatingCache`].
#[derive(Debug, Clone)]
pub struct RotatingKvCache {
    k: RotatingCache,
    v: RotatingCache,
}

impl RotatingKvCache {
    /// Empty caches along `dim`.
    pub fn new(dim: usize, max_seq_len: usize) -> Self {
        RotatingKvCache { k: RotatingCache::new(dim, max_seq_len), v: RotatingCache::new(dim, max_seq_len) }
    }

    /// The keys' cache.
    pub fn k_cache(&self) -> &RotatingCache {
        &self.k
    }

    /// The values' cache.
    pub fn v_cache(&self) -> &RotatingCache {
        &self.v
    }

    /// The keys' cache, to be changed.
    pub fn k_cache_mut(&mut self) -> &mut RotatingCache {
        &mut self.k
    }

    /// The values' cache, to be changed.
    pub fn v_cache_mut(&mut self) -> &mut RotatingCache {
        &mut self.v
    }

    /// The keys held.
    ///
    /// # Errors
    /// As [`RotatingCache::current_data`].
    pub fn k(&self) -> Result<Option<Tensor>> {
        self.k.current_data()
    }

    /// The values held.
    ///
    /// # Errors
    /// As [`RotatingCache::current_data`].
    pub fn v(&self) -> Result<Option<Tensor>> {
        self.v.current_data()
    }

    /// Appends keys and values; gives what attention is to see.
    ///
    /// # Errors
    /// As [`RotatingCache::append`].
    pub fn append(&mut self, k: &Tensor, v: &Tensor) -> Result<(Tensor, Tensor)> {
        Ok((self.k.append(k)?, self.v.append(v)?))
    }

    /// Where the next element goes.
    pub fn offset(&self) -> usize {
        self.k.offset()
    }

    /// How many were appended.
    pub fn current_seq_len(&self) -> usize {
        self.k.current_seq_len()
    }

    /// As [`RotatingCache::attn_mask`].
    ///
    /// # Errors
    /// As [`RotatingCache::attn_mask`].
    pub fn attn_mask(&self, seq_len: usize, device: &Device) -> Result<Option<Tensor>> {
        self.k.attn_mask(seq_len, device)
    }

    /// As [`RotatingCache::positions`].
    pub fn positions(&self, seq_len: usize) -> Vec<usize> {
        self.k.positions(seq_len)
    }

    /// Forgets all.
    pub fn reset(&mut self) {
        self.k.reset();
        self.v.reset();
    }
}
