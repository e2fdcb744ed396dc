//! What is added to scores: bands of keys that are seen, and ALiBi's penalty for distance (Press et al., 2022).

use opforge::{Device, Error, Result, Tensor};

/// Which keys the queries of a sequence see. Query `i` stands at the place `i + offset` among the keys.
pub(super) struct Band {
    pub queries: usize,
    pub keys: usize,
    pub offset: isize,
    /// No keys behind a query's place.
    pub causal: bool,
    /// How many keys before a query's place, and behind it, are seen at most.
    pub window: (Option<usize>, Option<usize>),
}

impl Band {
    fn sees(&self, query: usize, key: usize) -> bool {
        let (place, key) = (query as isize + self.offset, key as isize);
        let ahead = if self.causal { Some(0) } else { self.window.1 };
        let near = |most: Option<usize>, distance: isize| most.is_none_or(|most| distance <= most as isize);
        near(self.window.0, place - key) && near(ahead, key - place)
    }

    fn hides_nothing(&self) -> bool {
        let reach = |query: usize| self.sees(query, 0) && self.sees(query, self.keys - 1);
        self.queries == 0 || self.keys == 0 || reach(0) && reach(self.queries - 1)
    }

    /// Whether this is what attention calls causal.
    pub fn is_plainly_causal(&self) -> bool {
        self.causal && self.offset == 0 && self.window == (None, None)
    }

    /// The bias `[heads, queries, keys]`, or truth values `[queries, keys]` where there are no slopes; none where everything counts alike.
    /// A slope is a head's ALiBi penalty for each step of distance.
    pub fn bias(&self, slopes: Option<&[f32]>) -> Result<Option<Tensor>> {
        let pairs = || (0..self.queries).flat_map(|query| (0..self.keys).map(move |key| (query, key)));
        let Some(slopes) = slopes else {
            if self.hides_nothing() {
                return Ok(None);
            }
            let seen = Tensor::from_iter(pairs().map(|(query, key)| self.sees(query, key)), &Device::Cpu)?;
            return seen.reshape((self.queries, self.keys)).map(Some);
        };
        let cost = |slope: f32, (query, key): (usize, usize)| match self.sees(query, key) {
            true => -slope * (query as isize + self.offset).abs_diff(key as isize) as f32,
            false => f32::NEG_INFINITY,
        };
        let bias = slopes.iter().flat_map(|&slope| pairs().map(move |pair| cost(slope, pair)));
        Tensor::from_iter(bias, &Device::Cpu)?.reshape((slopes.len(), self.queries, self.keys)).map(Some)
    }
}

/// The slopes of heads for the largest exponent of ALiBi: `2^(-most (h + 1) / n)`, `n` the heads rounded up to a power of two.
pub(super) fn slopes(most: f32, heads: usize) -> Result<Vec<f32>> {
    if !most.is_finite() || most < 0.0 {
        return Err(Error::value("flash_attn", "max_bias", most, "a finite number of at least 0"));
    }
    let rounded = heads.next_power_of_two() as f32;
    Ok((1..=heads).map(|head| (-most * head as f32 / rounded).exp2()).collect())
}
