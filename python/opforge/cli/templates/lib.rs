//! scale * x^2, element by element, and its gradient.

use opforge_kernel::{Attributes, Infer, Inferred, Result, View, ViewMut, kernel};

/// The output is like the first input.
fn like_first(infer: &Infer<'_>) -> Result<Inferred> {
    infer.input(0)
}

#[kernel(name = "$Name", infer = like_first)]
fn $name(x: View<'_, f32>, mut y: ViewMut<'_, f32>, attributes: &Attributes) -> Result<()> {
    let scale: f32 = attributes.get("scale")?;
    y.as_mut_slice().iter_mut().zip(x.as_slice()).for_each(|(y, x)| *y = scale * x * x);
    Ok(())
}

/// The gradient is an operator of the inputs, the outputs and the outputs' gradients.
#[kernel(name = "${Name}Gradient", infer = like_first)]
fn ${name}_gradient(
    x: View<'_, f32>,
    _y: View<'_, f32>,
    dy: View<'_, f32>,
    mut dx: ViewMut<'_, f32>,
    attributes: &Attributes,
) -> Result<()> {
    let scale: f32 = attributes.get("scale")?;
    let known = x.as_slice().iter().zip(dy.as_slice());
    dx.as_mut_slice().iter_mut().zip(known).for_each(|(dx, (x, dy))| *dx = 2.0 * scale * x * dy);
    Ok(())
}
