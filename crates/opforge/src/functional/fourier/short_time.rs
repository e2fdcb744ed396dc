//! Transforms of short pieces of a signal, and the signal of such.

use std::borrow::Cow;

use super::lines::{self, Norm, Way, complex_input, input, length};
use crate::functional as f;
use crate::functional::complex_dtype;
use crate::ops::prelude::*;

functions! { stft, istft }

/// Transforms of overlapping pieces of a signal, `[..batch, samples]`: `[..batch, frequencies, pieces]`. Pieces of `n_fft` samples begin every `hop_length`,
/// a quarter of that if not given, and are multiplied by a `window` of `win_length`, in the middle between zeros. A `center`ed piece `t` has the sample
/// `t hop_length` in its middle, the signal being continued on both sides as [`pad`](f::pad) does by `pad_mode`. `normalized` divides by the root of `n_fft`;
/// `onesided` leaves away conjugates, the default for real numbers. The result is complex, or with `return_complex = false` has its parts in a last dimension.
///
/// # Errors
/// For a signal of other than one or two dimensions, lengths that do not go together, a half spectrum of complex numbers, and real numbers without
/// `return_complex`.
///
/// ```
/// # use opforge::{DType, Device, Tensor, functional as f};
/// let x = Tensor::ones(16, DType::F32, &Device::Cpu)?;
/// let y = f::stft(&x, 8, None, None, None, true, "reflect", false, None, Some(true), None)?;
/// assert_eq!(y.dims(), [5, 9]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(hop_length = None, win_length = None, window = None, center = true, pad_mode = "reflect", normalized = false,
    onesided = None, return_complex = None, align_to_window = None)]
#[allow(clippy::too_many_arguments, reason = "PyTorch's signature")]
pub fn stft(
    input: &Tensor,
    n_fft: i64,
    hop_length: Option<i64>,
    win_length: Option<i64>,
    window: Option<&Tensor>,
    center: bool,
    pad_mode: &str,
    normalized: bool,
    onesided: Option<bool>,
    return_complex: Option<bool>,
    align_to_window: Option<bool>,
) -> Result<Tensor> {
    ensure(!(center && align_to_window.is_some()), || {
        Error::value(OP, "align_to_window", "a choice", "none where pieces are centered")
    })?;
    let is_complex = input.dtype().is_complex() || window.is_some_and(|w| w.dtype().is_complex());
    ensure(is_complex || return_complex.is_some(), || {
        Error::value(OP, "return_complex", "None", "True or False, for real numbers")
    })?;
    let x = self::input(OP, input)?;
    let signal = match x.rank() {
        1 => x.unsqueeze(0)?,
        2 => x,
        _ => return Err(wrong_shape(OP, "input", x.shape(), "[samples] or [batch, samples]")),
    };
    let pieces = Pieces::new(OP, n_fft, hop_length, win_length, window, &signal)?;
    let signal = if center { pieces.centered(&signal, pad_mode)? } else { signal };
    let n = pieces.n;
    ensure(signal.dims()[1] >= n, || {
        Error::value(OP, "n_fft", n, format!("at most {}, the length of the signal", signal.dims()[1]))
    })?;
    let pieces = f::mul((&signal.unfold(1, n, pieces.hop)?).into(), (&*pieces.window).into())?;
    let norm = Norm::new(OP, normalized.then_some("ortho"))?;
    let onesided = onesided.unwrap_or(!is_complex);
    ensure(!(onesided && is_complex), || Error::value(OP, "onesided", "true", "false for complex numbers"))?;
    let spectrum = match onesided {
        true => lines::of_real(&pieces, 2, n, Way::Forward, norm)?,
        false => lines::complex(&complex_input(OP, &pieces)?, 2, n, Way::Forward, norm)?,
    };
    let spectrum = spectrum.transpose(1, 2)?;
    let spectrum = if input.rank() == 1 { spectrum.squeeze(0)? } else { spectrum };
    if return_complex.unwrap_or(true) { Ok(spectrum) } else { f::view_as_real(&spectrum)?.contiguous() }
}

/// The signal whose [`stft`] this is: pieces multiplied by the window again, added up where they overlap, and divided by the sum of the windows' squares.
/// `length` samples, or as many as the pieces say. A real signal comes of the first half of the frequencies, whether there are more or not.
///
/// # Errors
/// For real numbers, other dimensions than `[.., frequencies, pieces]`, and windows that leave samples out.
///
/// ```
/// # use opforge::{DType, Device, Tensor, functional as f};
/// let x = Tensor::new(&[1f32, -2.0, 3.0, 0.5, 4.0, 2.0], &Device::Cpu)?;
/// let y = f::stft(&x, 4, Some(1), None, None, true, "reflect", false, None, Some(true), None)?;
/// let back = f::istft(&y, 4, Some(1), None, None, true, false, None, Some(6), false)?;
/// assert!(back.sub(&x)?.abs()?.max_all()?.to_scalar::<f32>()? < 1e-5);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(hop_length = None, win_length = None, window = None, center = true, normalized = false, onesided = None, length = None,
    return_complex = false)]
#[allow(clippy::too_many_arguments, reason = "PyTorch's signature")]
pub fn istft(
    input: &Tensor,
    n_fft: i64,
    hop_length: Option<i64>,
    win_length: Option<i64>,
    window: Option<&Tensor>,
    center: bool,
    normalized: bool,
    onesided: Option<bool>,
    length: Option<i64>,
    return_complex: bool,
) -> Result<Tensor> {
    let z = input;
    ensure(z.dtype().is_complex(), || Error::dtype(OP, "input", z.dtype(), "complex numbers"))?;
    let z = match z.rank() {
        2 => z.unsqueeze(0)?,
        3 => z.clone(),
        _ => return Err(wrong_shape(OP, "input", z.shape(), "[frequencies, pieces] or [batch, frequencies, pieces]")),
    };
    let pieces = Pieces::new(OP, n_fft, hop_length, win_length, window, &z)?;
    let (n, onesided) = (pieces.n, onesided.unwrap_or(z.dims()[1] != pieces.n));
    let frequencies = if onesided { n / 2 + 1 } else { n };
    ensure(z.dims()[1] == frequencies && z.dims()[2] > 0, || {
        wrong_shape(OP, "input", z.shape(), format!("{frequencies} frequencies and at least one piece"))
    })?;
    ensure(!(onesided && return_complex), || Error::value(OP, "onesided", "true", "false for complex signals"))?;
    let norm = Norm::new(OP, normalized.then_some("ortho"))?;
    let samples = match (onesided, return_complex) {
        (false, true) => lines::complex(&z, 1, n, Way::Back, norm)?,
        (true, _) | (false, false) => lines::to_real(&z, 1, n, Way::Back, norm)?,
    };
    let window = pieces.window.unsqueeze(1)?;
    let sum = pieces.added_up(&f::mul((&samples).into(), (&window).into())?)?;
    let squares = f::mul((&window).into(), (&window).into())?.broadcast_as((1, n, z.dims()[2]))?;
    let weights = pieces.added_up(&squares)?;
    let (start, all) = (if center { n / 2 } else { 0 }, sum.dims()[1]);
    let end = match length {
        Some(length) => start.saturating_add(lines::length(OP, Some(length), 0)?).min(all),
        None => all - start,
    };
    let len = end.checked_sub(start).filter(|&len| len > 0);
    let len = len.ok_or_else(|| wrong_shape(OP, "input", input.shape(), "pieces that make a sample or more"))?;
    let weights = weights.narrow(1, start, len)?;
    ensure(f::abs(&weights)?.min_all()?.to_dtype(DType::F64)?.to_scalar::<f64>()? > 1e-11, || {
        Error::value(OP, "window", "one that leaves samples out", "windows whose overlapping squares are nowhere 0")
    })?;
    let signal = f::div((&sum.narrow(1, start, len)?).into(), (&weights).into(), None)?;
    let missing = length.map_or(0, |length| (length as usize).saturating_sub(len));
    let signal = if missing > 0 { lines::fitted(&signal, 1, len + missing)? } else { signal };
    if input.rank() == 2 { signal.squeeze(0) } else { Ok(signal) }
}

/// Pieces of a signal: their length, how far apart they begin, and what they are multiplied by.
struct Pieces<'a> {
    n: usize,
    hop: usize,
    window: Cow<'a, Tensor>,
}

impl<'a> Pieces<'a> {
    #[track_caller]
    fn new(
        op: &'static str,
        n_fft: i64,
        hop: Option<i64>,
        win_length: Option<i64>,
        window: Option<&'a Tensor>,
        signal: &Tensor,
    ) -> Result<Pieces<'a>> {
        let n = length(op, Some(n_fft), 0)?;
        let hop = hop.map_or(Some((n / 4).max(1)), |hop| usize::try_from(hop).ok().filter(|&hop| hop > 0));
        let hop = hop.ok_or_else(|| Error::value(op, "hop_length", "less than 1", "1 or more"))?;
        let len = win_length.map_or(Some(n), |len| usize::try_from(len).ok().filter(|&len| 0 < len && len <= n));
        let len = len.ok_or_else(|| Error::value(op, "win_length", win_length.unwrap_or(0), format!("1 to {n}")))?;
        let real = if complex_dtype(signal.dtype()).is_none() { f::real(signal)?.dtype() } else { signal.dtype() };
        let window = match window {
            Some(window) if window.dims() == [len] => Cow::Borrowed(window),
            Some(window) => return Err(wrong_shape(op, "window", window.shape(), format!("[{len}], its win_length"))),
            None => Cow::Owned(Tensor::ones(len, real, signal.device())?),
        };
        if len == n {
            return Ok(Pieces { n, hop, window });
        }
        let before = (n - len) / 2;
        let sides = [before as i64, (n - len - before) as i64];
        Ok(Pieces { n, hop, window: Cow::Owned(f::pad(&window, &sides, "constant", None)?) })
    }

    /// The signal with half a piece more on either side.
    #[track_caller]
    fn centered(&self, signal: &Tensor, mode: &str) -> Result<Tensor> {
        let side = (self.n / 2) as i64;
        f::pad(&signal.unsqueeze(1)?, &[side, side], mode, None)?.squeeze(1)
    }

    /// Pieces, `[batch, n, pieces]`, added up where they overlap.
    #[track_caller]
    fn added_up(&self, pieces: &Tensor) -> Result<Tensor> {
        let (batch, count) = (pieces.dims()[0], pieces.dims()[2]);
        if pieces.dtype().is_complex() {
            let part = |part: &Tensor| self.added_up(part);
            return f::complex(&part(&f::real(pieces)?)?, &part(&f::imag(pieces)?)?);
        }
        let len = self.n + (count - 1) * self.hop;
        let sums = f::fold(pieces, &[1, len as i64], &[1, self.n as i64], &[1], &[0], &[1, self.hop as i64])?;
        sums.reshape((batch, len))
    }
}
