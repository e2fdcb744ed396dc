//! What initialisation functions see.

use crate::raw::{Arrays, Info};
use crate::{Attributes, Element, Result};

/// What a kernel's initialisation function sees of a signature: attributes, dtypes and shapes. It runs once for each, before the first run.
///
/// What it returns is the kernel's data: the kernel gets it as a parameter `&mut T`, and it is dropped before the library is closed.
///
/// ```
/// use opforge_kernel::{Init, Result, View, ViewMut, Workspace, kernel};
///
/// struct Plan {
///     rows: usize,
///     runs: usize,
/// }
///
/// fn plan(init: &mut Init<'_>) -> Result<Plan> {
///     let columns: i64 = init.attributes().get("columns")?;
///     init.workspace::<f64>(columns as usize);
///     Ok(Plan { rows: init.input(0)?.shape[0], runs: 0 })
/// }
///
/// #[kernel(init = plan)]
/// fn sums(x: View<'_, f32>, mut y: ViewMut<'_, f32>, mut sums: Workspace<'_, f64>, plan: &mut Plan) {
///     plan.runs += 1;
///     sums.fill(0.0);
///     for row in x.as_slice().chunks_exact(x.len() / plan.rows) {
///         sums.iter_mut().zip(row).for_each(|(sum, &x)| *sum += f64::from(x));
///     }
///     y.as_mut_slice().iter_mut().zip(&*sums).for_each(|(y, &sum)| *y = sum as f32);
/// }
/// ```
pub struct Init<'a> {
    arrays: Arrays<'a>,
    inputs: usize,
    attributes: &'a Attributes,
    pub(crate) workspaces: Vec<usize>,
}

impl<'a> Init<'a> {
    pub(crate) fn new(arrays: Arrays<'a>, inputs: usize, attributes: &'a Attributes) -> Self {
        Init { arrays, inputs, attributes, workspaces: Vec::new() }
    }

    /// An input's dtype and shape.
    ///
    /// # Errors
    /// If there are not so many inputs.
    pub fn input(&self, i: usize) -> Result<Info<'a>> {
        if i < self.inputs { self.arrays.info(i) } else { Err(format!("there is no input {i}").into()) }
    }

    /// An output's dtype and shape.
    ///
    /// # Errors
    /// If there are not so many outputs.
    pub fn output(&self, i: usize) -> Result<Info<'a>> {
        let outputs = self.arrays.len() - self.inputs;
        if i < outputs { self.arrays.info(self.inputs + i) } else { Err(format!("there is no output {i}").into()) }
    }

    /// The operator's attributes.
    pub fn attributes(&self) -> &'a Attributes {
        self.attributes
    }

    /// Asks for memory for so many elements: the next of the kernel's [`Workspace`](crate::Workspace) parameters.
    pub fn workspace<T: Element>(&mut self, count: usize) {
        // What cannot be refuses the framework.
        self.workspaces.push(count.saturating_mul(size_of::<T>()));
    }
}
