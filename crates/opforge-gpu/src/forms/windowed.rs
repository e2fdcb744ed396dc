//! Elements made of those under windows: what convolutions, pooling and resampling share.

use opforge_core::{Meta, Result};
use opforge_tile::forms::{MAX_SPATIAL, Window, Windowed};

use crate::code::Code;
use crate::lower::Call;
use crate::program::{Place, Program};
use crate::tensor::Tensor;
use crate::value::Value;

use super::{convolution, pool, resample};

pub(crate) fn windowed(call: &Call<'_>, form: &Windowed) -> Result<Program> {
    call.real(call.inputs)?;
    match form {
        Windowed::Convolution { geometry, part } => convolution::convolution(call, geometry, *part),
        &Windowed::Average { ref average, spatial, gradient: false } => pool::average(call, average, spatial),
        &Windowed::Average { ref average, spatial, gradient: true } => pool::average_gradient(call, average, spatial),
        &Windowed::Greatest { ref windows, spatial } => pool::greatest(call, windows, spatial),
        &Windowed::Spread { ref windows, spatial } => pool::spread(call, windows, spatial),
        &Windowed::Resample { ref how, spatial, gradient } => resample::resample(call, how, spatial, gradient),
        Windowed::Sample { .. } => {
            Err(call.refuse("form", format!("{form:?}"), "what is composed where it has no kernel"))
        }
    }
}

/// A tensor as planes of three dimensions, after those before them.
pub(crate) struct Planes<'a> {
    of: Tensor<'a>,
    /// How many of the dimensions are the plane's.
    spatial: usize,
    /// The lengths of planes, missing ones first.
    pub lengths: [Value<'a>; MAX_SPATIAL],
}

/// The lengths of planes, missing ones first.
pub(crate) fn lengths(meta: &Meta, spatial: usize) -> [usize; MAX_SPATIAL] {
    let mut all = [1; MAX_SPATIAL];
    all[MAX_SPATIAL - spatial..].copy_from_slice(&meta.dims()[meta.rank() - spatial..]);
    all
}

/// The lengths of the dimensions before planes, and of planes.
pub(crate) fn split_dims(meta: &Meta, spatial: usize) -> (Vec<usize>, [usize; MAX_SPATIAL]) {
    (meta.dims()[..meta.rank() - spatial].to_vec(), lengths(meta, spatial))
}

impl<'a> Planes<'a> {
    pub fn new(k: &'a Code, place: Place, meta: &Meta, spatial: usize) -> Self {
        let of = k.tensor(place, meta, matches!(place, Place::Output(_)));
        let mut lengths = [k.index(1); MAX_SPATIAL];
        lengths[MAX_SPATIAL - spatial..].copy_from_slice(&of.dims[of.dims.len() - spatial..]);
        Planes { of, spatial, lengths }
    }

    fn at(&self, lead: &[Value<'a>], at: &[Value<'a>]) -> Vec<Value<'a>> {
        [lead, &at[MAX_SPATIAL - self.spatial..]].concat()
    }

    pub fn load(&self, lead: &[Value<'a>], at: &[Value<'a>]) -> Value<'a> {
        self.of.load(&self.at(lead, at))
    }

    pub fn store(&self, lead: &[Value<'a>], at: &[Value<'a>], value: Value<'a>) {
        self.of.store(&self.at(lead, at), value.to(self.of.dtype.compute()));
    }

    /// The place in the plane, row by row.
    pub fn flat(&self, at: &[Value<'a>]) -> Value<'a> {
        (at[0] * self.lengths[1] + at[1]) * self.lengths[2] + at[2]
    }
}

/// A window's numbers in a kernel.
#[derive(Clone, Copy)]
pub(crate) struct WindowOf<'a> {
    pub stride: Value<'a>,
    pub padding: Value<'a>,
    pub dilation: Value<'a>,
}

impl<'a> WindowOf<'a> {
    pub fn new(k: &'a Code, window: &Window) -> Self {
        let [stride, padding, dilation] = [window.stride, window.padding, window.dilation].map(|n| k.size(n));
        WindowOf { stride, padding, dilation }
    }

    /// Where output `t` and element `e` of the window meet the input: beyond any length where that is before its beginning.
    pub fn position(self, t: Value<'a>, e: Value<'a>) -> Value<'a> {
        t * self.stride + e * self.dilation - self.padding
    }
}

/// The body for every index below three lengths.
pub(crate) fn nest<'a>(k: &'a Code, lengths: [Value<'a>; 3], body: impl FnOnce([Value<'a>; 3])) {
    k.repeat(lengths[0], |a| k.repeat(lengths[1], |b| k.repeat(lengths[2], |c| body([a, b, c]))));
}
