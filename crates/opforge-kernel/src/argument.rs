//! The types of a kernel's parameters.

use std::ops::{Deref, DerefMut};

use crate::call::Call;
use crate::signature::Role;
use crate::{AnyView, AnyViewMut, Attributes, Element, Result, View, ViewMut};

/// A type that a kernel's parameter may have, and what it stands for.
#[diagnostic::on_unimplemented(
    message = "kernels do not take a `{Self}`",
    note = "they take View, AnyView, ViewMut, AnyViewMut, InPlace, Workspace, &Attributes, and `&mut T` for kernel data"
)]
pub trait Parameter {
    #[doc(hidden)]
    const ROLE: Role;
}

/// A parameter of a kernel whose data is a `D`.
#[diagnostic::on_unimplemented(
    message = "kernels with data `{D}` do not take a `{Self}`",
    note = "a parameter `&mut T` is the value that the function named by `init = ..` returns"
)]
pub trait Argument<'a, D>: Parameter + Sized {
    #[doc(hidden)]
    fn take(call: &mut Call<'a, D>) -> Result<Self>;
}

/// An input that the kernel changes in place: a [`ViewMut`] or an [`AnyViewMut`].
///
/// Such an operator is declared with a schema that says so, for example `"(Tensor(a!) x, Tensor y) -> Tensor(a!)"`. The output that is this input has no
/// parameter of its own. If one of several is returned, all must be.
///
/// ```
/// use opforge_kernel::{InPlace, Result, View, ViewMut, kernel};
///
/// #[kernel]
/// fn add_to(InPlace(mut x): InPlace<ViewMut<'_, f32>>, y: View<'_, f32>) -> Result<()> {
///     x.as_mut_slice().iter_mut().zip(y.as_slice()).for_each(|(x, y)| *x += y);
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct InPlace<V>(pub V);

/// Memory that the kernel works with and that ends with the call; what it holds before is anything. The kernel's [`Init`](crate::Init) function
/// says how much there is.
#[derive(Debug)]
pub struct Workspace<'a, T>(&'a mut [T]);

impl<'a, T> Workspace<'a, T> {
    /// Memory as tests of kernels need it.
    pub fn new(data: &'a mut [T]) -> Self {
        Workspace(data)
    }
}

impl<T> Deref for Workspace<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.0
    }
}

impl<T> DerefMut for Workspace<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.0
    }
}

/// The role of each type, and how it is taken from a call.
macro_rules! parameters {
    ($([$($generics:tt)*] $ty:ty = $role:ident, |$call:ident| $take:expr;)*) => {
        $(impl<$($generics)*> Parameter for $ty {
            const ROLE: Role = Role::$role;
        }

        impl<$($generics)* D> Argument<'a, D> for $ty {
            fn take($call: &mut Call<'a, D>) -> Result<Self> {
                $take
            }
        })*
    };
}

parameters! {
    ['a,] AnyView<'a> = Input, |call| call.input();
    ['a, T: Element,] View<'a, T> = Input, |call| call.input()?.view();
    ['a,] AnyViewMut<'a> = Output, |call| call.exclusive(Role::Output);
    ['a, T: Element,] ViewMut<'a, T> = Output, |call| call.exclusive(Role::Output)?.into_view();
    ['a,] InPlace<AnyViewMut<'a>> = Changed, |call| call.exclusive(Role::Changed).map(InPlace);
    ['a, T: Element,] InPlace<ViewMut<'a, T>> = Changed, |call| call.exclusive(Role::Changed)?.into_view().map(InPlace);
    ['a, T: Element,] Workspace<'a, T> = Workspace, |call| call.workspace().map(Workspace);
    ['a,] &'a Attributes = Other, |call| call.attributes();
}

impl<T> Parameter for &mut T {
    const ROLE: Role = Role::Other;
}

impl<'a, D> Argument<'a, D> for &'a mut D {
    fn take(call: &mut Call<'a, D>) -> Result<Self> {
        call.data()
    }
}
