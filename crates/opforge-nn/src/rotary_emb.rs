//! Rotary position embeddings (Su et al., 2021): pairs of a head's elements are turned by angles that grow with the position.
//!
//! `cos` and `sin` are `[positions, d / 2]`, or `[batch, positions, d / 2]`; they may hold more positions than `x`, whose first is their first.

use opforge::{D, Error, Result, Tensor};

/// Turns the pairs `(i, i + d / 2)` of `x`, `[batch, heads, positions, d]`.
///
/// # Errors
/// For other shapes, an odd `d`, or fewer positions in `cos` and `sin`.
#[track_caller]
pub fn rope(x: &Tensor, cos: &Tensor, sin: &Tensor) -> Result<Tensor> {
    let (half, cos, sin) = prepare("rope", x, 2, cos, sin)?;
    turn_halves(x, half, &cos, &sin)
}

/// As [`rope`], for `x` of `[batch, positions, heads, d]`.
///
/// # Errors
/// As [`rope`].
#[track_caller]
pub fn rope_thd(x: &Tensor, cos: &Tensor, sin: &Tensor) -> Result<Tensor> {
    let (half, cos, sin) = prepare("rope_thd", x, 1, cos, sin)?;
    turn_halves(x, half, &cos, &sin)
}

/// Turns the neighbours `(2 i, 2 i + 1)` of `x`, `[batch, heads, positions, d]`.
///
/// # Errors
/// As [`rope`].
#[track_caller]
pub fn rope_i(x: &Tensor, cos: &Tensor, sin: &Tensor) -> Result<Tensor> {
    let (half, cos, sin) = prepare("rope_i", x, 2, cos, sin)?;
    let dims = x.dims();
    let pairs = x.reshape((dims[0], dims[1], dims[2], half, 2))?;
    let part = |i: usize| pairs.narrow(D::Minus1, i, 1)?.squeeze(D::Minus1);
    let (a, b) = turn(&part(0)?, &part(1)?, &cos, &sin)?;
    Tensor::stack(&[a, b], D::Minus1)?.reshape(x.shape())
}

/// As [`rope`]: candle's name of the version with a gradient, which both have here.
///
/// # Errors
/// As [`rope`].
#[track_caller]
pub fn rope_slow(x: &Tensor, cos: &Tensor, sin: &Tensor) -> Result<Tensor> {
    rope(x, cos, sin)
}

/// As [`rope_i`]: candle's name of the version with a gradient, which both have here.
///
/// # Errors
/// As [`rope`].
#[track_caller]
pub fn rope_i_slow(x: &Tensor, cos: &Tensor, sin: &Tensor) -> Result<Tensor> {
    rope_i(x, cos, sin)
}

fn turn(a: &Tensor, b: &Tensor, cos: &Tensor, sin: &Tensor) -> Result<(Tensor, Tensor)> {
    Ok((a.broadcast_mul(cos)?.sub(&b.broadcast_mul(sin)?)?, a.broadcast_mul(sin)?.add(&b.broadcast_mul(cos)?)?))
}

fn turn_halves(x: &Tensor, half: usize, cos: &Tensor, sin: &Tensor) -> Result<Tensor> {
    let part = |start: usize| x.narrow(D::Minus1, start, half);
    let (a, b) = turn(&part(0)?, &part(half)?, cos, sin)?;
    Tensor::cat(&[a, b], D::Minus1)
}

/// `d / 2`, and the angles of the positions of `x`, ready to broadcast over its heads, if the shapes go together; `positions` is the dimension of `x`
/// that counts them.
fn prepare(
    op: &'static str,
    x: &Tensor,
    positions: usize,
    cos: &Tensor,
    sin: &Tensor,
) -> Result<(usize, Tensor, Tensor)> {
    let &[batch, _, _, d] = x.dims() else {
        return Err(Error::shape(op, "x", format!("{:?}", x.shape()), "rank 4"));
    };
    if d % 2 != 0 {
        return Err(Error::shape(op, "x", format!("{:?}", x.shape()), "a last dimension of even length"));
    }
    let (length, half) = (x.dims()[positions], d / 2);
    for (name, angles) in [("cos", cos), ("sin", sin)] {
        let fits = match *angles.dims() {
            [t, n] => t >= length && n == half,
            [b, t, n] => b == batch && t >= length && n == half,
            _ => false,
        };
        if !fits {
            let accepted = format!("[{length}, {half}], or with a batch of {batch} before");
            return Err(Error::shape(op, name, format!("{:?}", angles.shape()), accepted));
        }
    }
    let ready = |table: &Tensor| {
        let rank = table.rank();
        // The heads come before the positions, or after them.
        table.narrow(rank - 2, 0, length)?.unsqueeze(if positions == 2 { rank - 2 } else { rank - 1 })
    };
    Ok((half, ready(cos)?, ready(sin)?))
}
