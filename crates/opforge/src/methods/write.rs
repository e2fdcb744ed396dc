//! Changes in place. Gradients do not flow through them; a backward that needs the old elements reports an error.

use opforge_core::Scalar;
use opforge_tile::forms::Special;

use crate::dispatch::dispatch_into;
use crate::operator::Operator;
use crate::ops::create::full::Full;
use crate::ops::index::scatter::Scatter;
use crate::ops::index::scatter_add::ScatterAdd;
use crate::{Dim, Error, Result, Tensor};

impl Tensor {
    /// Writes `src` in place over the elements from `offset` on along a dimension; elsewhere the lengths are equal. Views and clones of this
    /// tensor see the change.
    ///
    /// # Errors
    /// For a source of another dtype or shape, one that does not fit, and one that shares this tensor's storage; for read-only memory.
    ///
    /// ```
    /// # use opforge::{DType, Device, Tensor};
    /// let cache = Tensor::zeros((2, 3), DType::F32, &Device::Cpu)?;
    /// cache.slice_set(&Tensor::ones((2, 1), DType::F32, &Device::Cpu)?, 1, 2)?;
    /// assert_eq!(cache.to_vec2::<f32>()?, [[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    #[track_caller]
    pub fn slice_set<D: Dim>(&self, src: &Tensor, dim: D, offset: usize) -> Result<()> {
        let dim = dim.to_index(self.shape(), "slice_set")?;
        if self.shares_storage(src) {
            return Err(Error::value("slice_set", "src", "a view of the same storage", "a tensor of its own").bt());
        }
        if self.rank() != src.rank() {
            return Err(Error::shapes("slice_set", self.shape(), src.shape(), "equal ranks").bt());
        }
        self.detach().narrow(dim, offset, src.dims()[dim])?.copy_from(&src.detach())
    }

    /// Writes one number in place over all elements, also through views.
    ///
    /// # Errors
    /// For a number that the dtype cannot hold, a tensor whose elements share memory, and read-only memory.
    ///
    /// ```
    /// # use opforge::{DType, Device, IndexOp, Tensor};
    /// let t = Tensor::zeros((2, 2), DType::F32, &Device::Cpu)?;
    /// t.i((.., 1))?.const_set(7f32.into())?;
    /// assert_eq!(t.to_vec2::<f32>()?, [[0.0, 7.0], [0.0, 7.0]]);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    #[track_caller]
    pub fn const_set(&self, value: Scalar) -> Result<()> {
        let value = crate::functional::fit("const_set", value, self.dtype())?;
        let fill = Full { value, shape: self.shape().clone(), dtype: self.dtype(), device: *self.device() };
        dispatch_into(&fill, &[], &[&self.detach()])
    }

    /// Writes zeros in place: see [`Tensor::const_set`].
    ///
    /// # Errors
    /// As [`Tensor::const_set`].
    #[track_caller]
    pub fn zero_set(&self) -> Result<()> {
        self.const_set(Scalar::Int(0))
    }

    /// Writes ones in place: see [`Tensor::const_set`].
    ///
    /// # Errors
    /// As [`Tensor::const_set`].
    #[track_caller]
    pub fn one_set(&self) -> Result<()> {
        self.const_set(Scalar::Int(1))
    }

    /// Writes `src` in place at the places that an index tensor names along a dimension: [`Tensor::scatter`] without a copy.
    ///
    /// # Errors
    /// As [`Tensor::scatter`], and as [`Tensor::slice_set`].
    #[track_caller]
    pub fn scatter_set<D: Dim>(&self, ids: &Tensor, src: &Tensor, dim: D) -> Result<()> {
        let dim = dim.to_index(self.shape(), "scatter_set")?;
        self.update(&Scatter { dim, special: Special::LargestSkips }, ids, src)
    }

    /// Adds `src` in place at the places that an index tensor names along a dimension: [`Tensor::scatter_add`] without a copy.
    ///
    /// # Errors
    /// As [`Tensor::scatter_add`], and as [`Tensor::slice_set`].
    #[track_caller]
    pub fn scatter_add_set<D: Dim>(&self, ids: &Tensor, src: &Tensor, dim: D) -> Result<()> {
        let dim = dim.to_index(self.shape(), "scatter_add_set")?;
        self.update(&ScatterAdd { dim, special: Special::LargestSkips }, ids, src)
    }

    #[track_caller]
    fn update(&self, op: &dyn Operator, ids: &Tensor, src: &Tensor) -> Result<()> {
        for (argument, other) in [("ids", ids), ("src", src)] {
            if self.shares_storage(other) {
                let given = "a view of the same storage";
                return Err(Error::value(op.name(), argument, given, "a tensor of its own").bt());
            }
        }
        let (target, src) = (self.detach(), src.detach());
        if self.is_contiguous() {
            return dispatch_into(op, &[&target, ids, &src], &[&target]);
        }
        target.copy_from(&crate::dispatch::dispatch1(op, &[&target, ids, &src])?)
    }
}
