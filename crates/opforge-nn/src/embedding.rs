//! Embeddings: a learned vector for each integer.

use opforge::{Module, Result, Tensor};

use crate::{Init, VarBuilder};

/// Rows of a table, chosen by integer ids: ids of shape `[..]` give `[.., hidden]`.
#[derive(Debug, Clone)]
pub struct Embedding {
    embeddings: Tensor,
    hidden_size: usize,
}

impl Embedding {
    /// A layer over the table `[count, hidden_size]`.
    pub fn new(embeddings: Tensor, hidden_size: usize) -> Self {
        Embedding { embeddings, hidden_size }
    }

    /// The table.
    pub fn embeddings(&self) -> &Tensor {
        &self.embeddings
    }

    /// The length of a row.
    pub fn hidden_size(&self) -> usize {
        self.hidden_size
    }
}

impl Module for Embedding {
    #[track_caller]
    fn forward(&self, ids: &Tensor) -> Result<Tensor> {
        let dims = [ids.dims(), &[self.hidden_size]].concat();
        self.embeddings.index_select(&ids.flatten_all()?, 0)?.reshape(dims)
    }
}

/// An embedding of `in_size` rows, of the variable `weight`.
///
/// # Errors
/// When the builder has no variable of this name and shape.
pub fn embedding(in_size: usize, out_size: usize, vb: VarBuilder<'_>) -> Result<Embedding> {
    let embeddings = vb.get_with_hints((in_size, out_size), "weight", Init::Randn { mean: 0.0, stdev: 1.0 })?;
    Ok(Embedding::new(embeddings, out_size))
}
