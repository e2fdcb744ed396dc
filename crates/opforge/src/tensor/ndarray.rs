//! Numbers, nested arrays, slices and vectors that tensors can be made of.

use opforge_core::{Complex, Element, F8E4M3, F8E5M2, bf16, f16};

use crate::{Error, Result, Shape};

/// Numbers and nested arrays, slices and vectors that a tensor can be made of.
pub trait NdArray {
    /// The element type.
    type Elem: Element;
    /// The shape.
    ///
    /// # Errors
    /// When nested vectors differ in length.
    fn shape(&self) -> Result<Shape>;
    /// Appends the elements in row-major order.
    fn push_to(&self, out: &mut Vec<Self::Elem>);
    /// The elements in row-major order.
    fn into_elements(self) -> Vec<Self::Elem>
    where
        Self: Sized,
    {
        let mut out = Vec::new();
        self.push_to(&mut out);
        out
    }
}

macro_rules! scalars {
    ($($ty:ty),*) => {
        $(impl NdArray for $ty {
            type Elem = $ty;
            fn shape(&self) -> Result<Shape> {
                Ok(().into())
            }
            fn push_to(&self, out: &mut Vec<$ty>) {
                out.push(*self);
            }
        })*
    };
}
scalars!(bool, u8, u16, u32, u64, i8, i16, i32, i64, F8E4M3, F8E5M2, f16, bf16, f32, f64, Complex<f32>, Complex<f64>);

/// The shape of a list: its length, then the shape that all of its items have.
fn list_shape<A: NdArray>(items: &[A]) -> Result<Shape> {
    let Some(first) = items.first() else {
        return Ok(Shape::from(0));
    };
    let inner = first.shape()?;
    for item in &items[1..] {
        let shape = item.shape()?;
        if shape != inner {
            return Err(Error::shapes("new", &inner, &shape, "nested lists of equal lengths"));
        }
    }
    Ok([items.len()].into_iter().chain(inner.into_dims()).collect())
}

macro_rules! lists {
    ($([$($generics:tt)*] $ty:ty;)*) => {
        $(impl<$($generics)*> NdArray for $ty {
            type Elem = A::Elem;
            fn shape(&self) -> Result<Shape> {
                list_shape(&self[..])
            }
            fn push_to(&self, out: &mut Vec<A::Elem>) {
                self.iter().for_each(|item| item.push_to(out));
            }
        })*
    };
}
lists! {
    [A: NdArray, const N: usize] [A; N];
    [A: NdArray, const N: usize] &[A; N];
    [A: NdArray] &[A];
    [A: NdArray] Vec<A>;
    [A: NdArray] &Vec<A>;
}
