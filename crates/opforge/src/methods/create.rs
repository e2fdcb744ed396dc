//! Matrices and grids made of positions.

use crate::family::ensure;
use crate::{DType, Device, Error, Result, Tensor};

/// The row and the column of every place of an `n` by `n` matrix, as two vectors that broadcast to it.
fn positions(op: &'static str, n: usize, device: &Device) -> Result<(Tensor, Tensor)> {
    let end = u32::try_from(n).map_err(|_| Error::shape(op, "n", n, "a size below 2^32"))?;
    let columns = Tensor::from_iter(0..end, device)?;
    Ok((columns.unsqueeze(1)?, columns))
}

impl Tensor {
    /// The `n` by `n` matrix with ones on the diagonal and zeros elsewhere.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    ///
    /// ```
    /// # use opforge::{DType, Device, Tensor};
    /// assert_eq!(Tensor::eye(2, DType::F32, &Device::Cpu)?.to_vec2::<f32>()?, [[1.0, 0.0], [0.0, 1.0]]);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    #[track_caller]
    pub fn eye(n: usize, dtype: DType, device: &Device) -> Result<Tensor> {
        let (rows, columns) = positions("eye", n, device)?;
        rows.broadcast_eq(&columns)?.to_dtype(dtype)
    }

    /// The `n` by `n` matrix with ones on and below the diagonal and zeros above.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    #[track_caller]
    pub fn tril2(n: usize, dtype: DType, device: &Device) -> Result<Tensor> {
        let (rows, columns) = positions("tril2", n, device)?;
        rows.broadcast_ge(&columns)?.to_dtype(dtype)
    }

    /// The `n` by `n` matrix with ones on and above the diagonal and zeros below.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    #[track_caller]
    pub fn triu2(n: usize, dtype: DType, device: &Device) -> Result<Tensor> {
        let (rows, columns) = positions("triu2", n, device)?;
        rows.broadcast_le(&columns)?.to_dtype(dtype)
    }

    /// The coordinates of all points of the grid that vectors span: one tensor a vector, each of the grid's shape. With `xy_indexing` the
    /// grid's dimensions are those of the vectors in reverse order.
    ///
    /// # Errors
    /// For fewer than two tensors, and tensors that are not vectors.
    ///
    /// ```
    /// # use opforge::{Device, Tensor};
    /// let x = Tensor::new(&[1f32, 2.0, 3.0], &Device::Cpu)?;
    /// let y = Tensor::new(&[4f32, 5.0], &Device::Cpu)?;
    /// let grids = Tensor::meshgrid(&[&x, &y], true)?;
    /// assert_eq!(grids[0].to_vec2::<f32>()?, [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]);
    /// assert_eq!(grids[1].to_vec2::<f32>()?, [[4.0, 4.0, 4.0], [5.0, 5.0, 5.0]]);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    #[track_caller]
    pub fn meshgrid<A: AsRef<Tensor>>(args: &[A], xy_indexing: bool) -> Result<Vec<Tensor>> {
        ensure(args.len() >= 2, || Error::value("meshgrid", "args", args.len(), "at least two vectors"))?;
        let dim = |i: usize| if xy_indexing { args.len() - 1 - i } else { i };
        let mut shape = vec![0; args.len()];
        for (i, arg) in args.iter().enumerate() {
            shape[dim(i)] = arg.as_ref().dims1()?;
        }
        let grid = |(i, arg): (usize, &A)| {
            let mut along = vec![1; args.len()];
            along[dim(i)] = shape[dim(i)];
            arg.as_ref().reshape(along)?.broadcast_as(&shape)?.contiguous()
        };
        args.iter().enumerate().map(grid).collect()
    }
}
