//! Dropout: elements set to zero at random.

use opforge::{ModuleT, Result, Tensor};

use crate::ops;

/// While training, sets each element to zero with a probability and scales the others up for it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dropout {
    drop_p: f32,
}

impl Dropout {
    /// With this probability.
    pub fn new(drop_p: f32) -> Dropout {
        Dropout { drop_p }
    }

    /// The elements, dropped out if `train`.
    ///
    /// # Errors
    /// When the probability is not within 0 and 1.
    pub fn forward(&self, xs: &Tensor, train: bool) -> Result<Tensor> {
        if train { ops::dropout(xs, self.drop_p) } else { Ok(xs.clone()) }
    }
}

impl ModuleT for Dropout {
    fn forward_t(&self, xs: &Tensor, train: bool) -> Result<Tensor> {
        self.forward(xs, train)
    }
}
