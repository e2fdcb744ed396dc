//! Modules that take a sequence in pieces, as it comes.
//!
//! ```
//! use opforge::streaming::{BinOp, StreamTensor, StreamingBinOp};
//! use opforge::{D, Device, Tensor};
//! # fn main() -> opforge::Result<()> {
//! let piece = |values: &[f32]| Ok::<_, opforge::Error>(StreamTensor::from(Tensor::new(values, &Device::Cpu)?));
//! let mut sum = StreamingBinOp::new(BinOp::Add, D::Minus1);
//! let first = sum.step(&piece(&[1.0, 2.0, 3.0])?, &piece(&[10.0])?)?;
//! assert_eq!(first.as_option().unwrap().to_vec1::<f32>()?, [11.0]);
//! let second = sum.step(&StreamTensor::empty(), &piece(&[20.0, 30.0, 40.0])?)?;
//! assert_eq!(second.as_option().unwrap().to_vec1::<f32>()?, [22.0, 33.0]);
//! # Ok(())
//! # }
//! ```

use crate::{D, Module, Result, Shape, Tensor};

/// A dimension that can be named again and again.
pub trait Dim: crate::Dim + Copy {}
impl<T: crate::Dim + Copy> Dim for T {}

/// A piece of a sequence, or nothing.
#[derive(Clone)]
pub struct StreamTensor(Option<Tensor>);

impl std::fmt::Debug for StreamTensor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Some(tensor) => write!(f, "{:?}", tensor.shape()),
            None => f.write_str("Empty"),
        }
    }
}

impl From<Option<Tensor>> for StreamTensor {
    fn from(tensor: Option<Tensor>) -> Self {
        StreamTensor(tensor)
    }
}

impl From<Tensor> for StreamTensor {
    fn from(tensor: Tensor) -> Self {
        StreamTensor(Some(tensor))
    }
}

impl From<()> for StreamTensor {
    fn from((): ()) -> Self {
        StreamTensor::empty()
    }
}

impl StreamTensor {
    /// Nothing.
    pub fn empty() -> Self {
        StreamTensor(None)
    }

    /// A piece.
    pub fn from_tensor(tensor: Tensor) -> Self {
        StreamTensor(Some(tensor))
    }

    /// The piece's shape.
    pub fn shape(&self) -> Option<&Shape> {
        self.0.as_ref().map(Tensor::shape)
    }

    /// The piece.
    pub fn as_option(&self) -> Option<&Tensor> {
        self.0.as_ref()
    }

    /// Forgets the piece.
    pub fn reset(&mut self) {
        self.0 = None;
    }

    /// The length along a dimension: 0 of nothing.
    ///
    /// # Errors
    /// For a dimension out of range.
    pub fn seq_len<D: Dim>(&self, dim: D) -> Result<usize> {
        self.0.as_ref().map_or(Ok(0), |tensor| tensor.dim(dim))
    }

    /// This piece and then another.
    ///
    /// # Errors
    /// For pieces that do not go together.
    pub fn cat2<D: Dim>(&self, rhs: &Self, dim: D) -> Result<Self> {
        Ok(StreamTensor(match (&self.0, &rhs.0) {
            (Some(lhs), Some(rhs)) => Some(Tensor::cat(&[lhs, rhs], dim)?),
            (lhs, rhs) => lhs.as_ref().or(rhs.as_ref()).cloned(),
        }))
    }

    /// A part of the piece: nothing where it ends before `offset`, and fewer than `len` where it ends within.
    ///
    /// # Errors
    /// For a dimension out of range.
    pub fn narrow<D: Dim>(&self, dim: D, offset: usize, len: usize) -> Result<StreamTensor> {
        let len = self.seq_len(dim)?.saturating_sub(offset).min(len);
        match &self.0 {
            Some(tensor) if len > 0 => Ok(tensor.narrow(dim, offset, len)?.into()),
            _ => Ok(StreamTensor::empty()),
        }
    }

    /// The first `lhs_len` elements along a dimension, and the others.
    ///
    /// # Errors
    /// For a dimension out of range.
    pub fn split<D: Dim>(&self, dim: D, lhs_len: usize) -> Result<(Self, Self)> {
        Ok((self.narrow(dim, 0, lhs_len)?, self.narrow(dim, lhs_len, usize::MAX)?))
    }

    /// What a module makes of the piece; nothing of nothing.
    ///
    /// # Errors
    /// Those of the module.
    pub fn apply<M: Module>(&self, m: &M) -> Result<Self> {
        self.0.as_ref().map(|tensor| m.forward(tensor)).transpose().map(StreamTensor)
    }
}

/// A module that takes a sequence in pieces. It may keep what it cannot use yet.
pub trait StreamingModule {
    /// Takes the next piece; gives what can be told of it, and of those before.
    ///
    /// # Errors
    /// Whatever the operators that it is made of refuse.
    fn step(&mut self, xs: &StreamTensor) -> Result<StreamTensor>;

    /// Begins another sequence.
    fn reset_state(&mut self);
}

/// A module that needs no more than the piece.
#[derive(Debug, Clone)]
pub struct Map<T: Module>(T);

impl<T: Module> From<T> for Map<T> {
    fn from(module: T) -> Self {
        Map(module)
    }
}

impl<T: Module> StreamingModule for Map<T> {
    fn step(&mut self, xs: &StreamTensor) -> Result<StreamTensor> {
        xs.apply(&self.0)
    }

    fn reset_state(&mut self) {}
}

/// What a [`StreamingBinOp`] computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum BinOp {
    Add,
    Mul,
    Sub,
    Div,
}

/// An operator of two sequences whose pieces may be of different lengths: what one has more of waits for the other.
#[derive(Debug, Clone)]
pub struct StreamingBinOp {
    lhs: StreamTensor,
    rhs: StreamTensor,
    /// What is computed.
    pub op: BinOp,
    /// The dimension along which the sequences go on.
    pub dim: D,
}

impl StreamingBinOp {
    /// Before the first pieces.
    pub fn new(op: BinOp, dim: D) -> Self {
        StreamingBinOp { lhs: StreamTensor::empty(), rhs: StreamTensor::empty(), op, dim }
    }

    /// Begins other sequences.
    pub fn reset_state(&mut self) {
        self.lhs.reset();
        self.rhs.reset();
    }

    /// The operator of whole sequences.
    ///
    /// # Errors
    /// Those of the operator.
    pub fn forward(&self, lhs: &Tensor, rhs: &Tensor) -> Result<Tensor> {
        match self.op {
            BinOp::Add => lhs.add(rhs),
            BinOp::Mul => lhs.mul(rhs),
            BinOp::Sub => lhs.sub(rhs),
            BinOp::Div => lhs.div(rhs),
        }
    }

    /// Takes the next pieces; gives the results of what both have.
    ///
    /// # Errors
    /// Those of the operator.
    pub fn step(&mut self, lhs: &StreamTensor, rhs: &StreamTensor) -> Result<StreamTensor> {
        let (lhs, rhs) = (self.lhs.cat2(lhs, self.dim)?, self.rhs.cat2(rhs, self.dim)?);
        let both = lhs.seq_len(self.dim)?.min(rhs.seq_len(self.dim)?);
        let ((lhs, left), (rhs, right)) = (lhs.split(self.dim, both)?, rhs.split(self.dim, both)?);
        let result = match (lhs.as_option(), rhs.as_option()) {
            (Some(lhs), Some(rhs)) => self.forward(lhs, rhs)?.into(),
            _ => StreamTensor::empty(),
        };
        (self.lhs, self.rhs) = (left, right);
        Ok(result)
    }
}
