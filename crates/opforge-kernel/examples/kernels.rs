//! A library of kernels: each shows something that kernels can do, and the tests load it.

use std::cell::Cell;
use std::fmt::Display;
use std::fs;
use std::ops::Add;
use std::path::PathBuf;

use opforge_kernel::{
    AnyView, AnyViewMut, Attributes, Element, InPlace, Infer, Inferred, Init, Result, View, ViewMut, Workspace, bf16,
    dispatch, f16, kernel,
};

/// The output is like the first input.
fn like_first(infer: &Infer<'_>) -> Result<Inferred> {
    infer.input(0)
}

/// `y = factor * x`
#[kernel(infer = like_first)]
fn scale(x: View<'_, f32>, mut y: ViewMut<'_, f32>, attributes: &Attributes) -> Result<()> {
    let factor: f32 = attributes.get("factor")?;
    y.as_mut_slice().iter_mut().zip(x.as_slice()).for_each(|(y, x)| *y = factor * x);
    Ok(())
}

/// `y = -x`
#[kernel(infer = like_first)]
fn negate(x: View<'_, f32>, mut y: ViewMut<'_, f32>) {
    y.as_mut_slice().iter_mut().zip(x.as_slice()).for_each(|(y, x)| *y = -x);
}

/// A sum of numbers of any type.
#[kernel(infer = like_first)]
fn add(x: AnyView<'_>, y: AnyView<'_>, mut sum: AnyViewMut<'_>) -> Result<()> {
    dispatch!(x.dtype(), T in [i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64] => {
        add_typed::<T>(x.view()?, y.view()?, sum.view_mut()?)
    })
}

fn add_typed<T: Element + Add<Output = T>>(x: View<'_, T>, y: View<'_, T>, mut sum: ViewMut<'_, T>) -> Result<()> {
    let terms = x.as_slice().iter().zip(y.as_slice());
    sum.as_mut_slice().iter_mut().zip(terms).for_each(|(sum, (x, y))| *sum = *x + *y);
    Ok(())
}

/// Of truth values; without a result, for nothing can fail.
#[kernel(name = "LogicalNot", infer = like_first)]
fn logical_not(x: View<'_, bool>, mut y: ViewMut<'_, bool>) {
    y.as_mut_slice().iter_mut().zip(x.as_slice()).for_each(|(y, x)| *y = !x);
}

/// Bytes as they are, whatever the dtypes.
#[kernel]
fn reinterpret(x: AnyView<'_>, mut y: AnyViewMut<'_>) {
    y.bytes_mut().copy_from_slice(x.bytes());
}

/// Of complex numbers.
#[kernel(infer = like_first)]
fn conjugate(z: View<'_, [f32; 2]>, mut conjugate: ViewMut<'_, [f32; 2]>) {
    let values = z.as_slice().iter().map(|[re, im]| [*re, -im]);
    conjugate.as_mut_slice().iter_mut().zip(values).for_each(|(to, value)| *to = value);
}

/// A matrix with its dimensions exchanged.
#[kernel(infer = infer_transposed)]
fn transposed(x: View<'_, f32>, mut y: ViewMut<'_, f32>) -> Result<(), String> {
    let &[rows, columns] = x.shape() else { return Err(format!("x has rank {}; accepted: 2", x.rank())) };
    for i in 0..rows {
        for j in 0..columns {
            y[[j, i]] = x[[i, j]];
        }
    }
    Ok(())
}

fn infer_transposed(infer: &Infer<'_>) -> Result<[Inferred; 1], String> {
    let mut output = infer.input(0)?;
    match output.shape.as_deref_mut() {
        Some([rows, columns]) => std::mem::swap(rows, columns),
        Some(shape) => return Err(format!("x has rank {}; accepted: 2", shape.len())),
        None => output.shape = Some(vec![None, None]),
    }
    Ok([output])
}

/// Quotients and remainders.
#[kernel(infer = infer_div_rem)]
fn div_rem(
    x: View<'_, i32>,
    y: View<'_, i32>,
    mut quotient: ViewMut<'_, i64>,
    mut remainder: ViewMut<'_, i32>,
) -> Result<(), impl Display> {
    for (i, (x, y)) in x.as_slice().iter().zip(y.as_slice()).enumerate() {
        let (Some(q), Some(r)) = (x.checked_div(*y), x.checked_rem(*y)) else {
            return Err(format!("{x} cannot be divided by {y}"));
        };
        quotient.as_mut_slice()[i] = q.into();
        remainder.as_mut_slice()[i] = r;
    }
    Ok(())
}

fn infer_div_rem(infer: &Infer<'_>) -> Result<Vec<Inferred>> {
    let remainder = infer.input(0)?;
    let quotient = Inferred { dtype: i64::DTYPE, shape: remainder.shape.clone() };
    Ok(vec![quotient, remainder])
}

/// What a reduction knows of its shapes.
struct Plan {
    columns: usize,
    runs: f64,
}

fn plan(init: &mut Init<'_>) -> Result<Plan> {
    let columns = init.output(0)?.shape.iter().product();
    init.workspace::<f64>(columns);
    Ok(Plan { columns, runs: 0.0 })
}

fn infer_column_sums(infer: &Infer<'_>) -> Result<Vec<Inferred>> {
    let mut sums = infer.input(0)?;
    if let Some(shape) = &mut sums.shape {
        shape.drain(..1.min(shape.len()));
    }
    Ok(vec![sums, Inferred::new(f64::DTYPE, &[])])
}

/// Sums over the first dimension, in double precision, and how often it ran for this signature.
#[kernel(init = plan, infer = infer_column_sums)]
fn column_sums<'a>(
    x: View<'a, f32>,
    mut y: ViewMut<'a, f32>,
    mut runs: ViewMut<'_, f64>,
    mut sums: Workspace<'_, f64>,
    plan: &mut Plan,
) -> Result<()> {
    sums.fill(0.0);
    for row in x.as_slice().chunks_exact(plan.columns.max(1)) {
        sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += f64::from(*x));
    }
    y.as_mut_slice().iter_mut().zip(sums.iter()).for_each(|(y, sum)| *y = *sum as f32);
    plan.runs += 1.0;
    runs[[]] = plan.runs;
    Ok(())
}

/// `x += y`
#[kernel]
fn add_to(InPlace(mut x): InPlace<ViewMut<'_, f32>>, y: View<'_, f32>) {
    x.as_mut_slice().iter_mut().zip(y.as_slice()).for_each(|(x, y)| *x += y);
}

/// One number made of attributes of all types.
#[kernel]
fn digest(_x: View<'_, f32>, mut y: ViewMut<'_, f64>, attributes: &Attributes) -> Result<()> {
    let flag: bool = attributes.get("flag")?;
    let int: i64 = attributes.get("int")?;
    let float: f32 = attributes.get("float")?;
    let text: &str = attributes.get("text")?;
    let ints: &[i64] = attributes.get("ints")?;
    let floats: &[f32] = attributes.get("floats")?;
    let int_rows: Vec<&[i64]> = attributes.get("int_rows")?;
    let float_rows: Vec<&[f32]> = attributes.get("float_rows")?;
    let optional: Option<i64> = attributes.find("optional")?;
    let values = [
        f64::from(u8::from(flag)),
        int as f64,
        f64::from(float),
        text.chars().count() as f64,
        ints.iter().sum::<i64>() as f64,
        f64::from(floats.iter().sum::<f32>()),
        int_rows.iter().zip(1..).map(|(row, weight)| weight * row.iter().sum::<i64>()).sum::<i64>() as f64,
        float_rows.iter().map(|row| row.len() as f64).fold(0.0, |digits, len| 10.0 * digits + len),
        optional.unwrap_or(-1) as f64,
    ];
    y.as_mut_slice().copy_from_slice(&values);
    Ok(())
}

/// Data that leaves a note when it is dropped.
struct Noted(PathBuf);

impl Drop for Noted {
    fn drop(&mut self) {
        // Nobody could be told of a failure; the test misses the file.
        let _ = fs::write(&self.0, "dropped");
    }
}

fn note(init: &mut Init<'_>) -> Result<Noted> {
    Ok(Noted(init.attributes().get::<&str>("path")?.into()))
}

#[kernel(init = note, infer = like_first)]
fn noted(x: View<'_, f32>, mut y: ViewMut<'_, f32>, note: &mut Noted) {
    assert!(!note.0.exists(), "the data was dropped while it was used");
    y.as_mut_slice().copy_from_slice(x.as_slice());
}

/// Fails in the way that an attribute names.
#[kernel(infer = like_first)]
fn failing(
    x: View<'_, f32>,
    mut y: ViewMut<'_, f32>,
    attributes: &Attributes,
) -> Result<(), Box<dyn std::error::Error>> {
    match attributes.get("how")? {
        "error" => return Err("a text\0with a zero".into()),
        "number" => y.as_mut_slice()[0] = "1.5x".parse()?,
        "panic" => panic!("{} is too much", x[[0]]),
        "index" => y[[7]] = 1.0,
        "value" => std::panic::panic_any(7),
        how => return Err(format!("{how} is unknown").into()),
    }
    Ok(())
}

/// Panics whenever it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

fn explode(infer: &Infer<'_>) -> Result<Inferred> {
    let shape = infer.input(0)?.shape;
    Ok(Inferred { dtype: f32::DTYPE, shape: shape.filter(|shape| shape.len() < 3).or_else(|| panic!("rank")) })
}

fn bomb(init: &mut Init<'_>) -> Result<Bomb, String> {
    match init.input(0)?.shape {
        [] => Err("rank 0 has no length".to_owned()),
        [0, ..] => panic!("nothing to do"),
        _ => Ok(Bomb),
    }
}

#[kernel(init = bomb, infer = explode)]
fn bombs(_x: View<'_, f32>, mut y: ViewMut<'_, f32>, _bomb: &mut Bomb) {
    y.as_mut_slice().fill(1.0);
}

thread_local! {
    static CALLS: Noticed = const { Noticed(Cell::new(0.0)) };
}

/// A thread's count of runs, with a destructor that runs when the thread ends.
struct Noticed(Cell<f32>);

impl Drop for Noticed {
    fn drop(&mut self) {
        assert!(self.0.get() > 0.0);
    }
}

/// How often the thread that it runs on has run it.
#[kernel]
fn calls(_x: View<'_, f32>, mut count: ViewMut<'_, f32>) {
    CALLS.with(|calls| calls.0.set(calls.0.get() + 1.0));
    count[[0]] = CALLS.with(|calls| calls.0.get());
}
