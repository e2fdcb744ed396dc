//! From a lowering to a program.

use opforge::devices::Link;
use opforge::operator::Lowering;
use opforge_core::{DType, Error, Meta, Result};
use opforge_tile::forms::Attention;
use opforge_trace::Arithmetic;

use crate::code::Code;
use crate::forms;
use crate::program::Program;

/// What kernels are for.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// What the device is called, for errors.
    pub device: &'static str,
    /// Whether multiply-add rounds once.
    pub fused: bool,
    /// Whether exponentials and quotients of f32 that are [within 2 units](Arithmetic::Approximate) are faster.
    pub approximates: bool,
    /// Whether compilers may compute sums in another order than they are written, as those of WGSL may.
    pub reorders: bool,
    /// Whether kernels may compute in f64 what is not of that dtype.
    pub doubles: bool,
    /// How many bytes the threads of a group may share.
    pub shared: usize,
}

impl Target {
    /// How functions of elements are traced.
    pub fn arithmetic(&self) -> Arithmetic {
        if self.approximates { Arithmetic::Approximate } else { self.fused.into() }
    }
}

/// A call that a program is made for.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    pub target: &'a Target,
    pub op: &'static str,
    pub inputs: &'a [&'a Meta],
    pub outputs: &'a [&'a Meta],
}

/// The launches that compute `outputs` from `inputs` as an operator says.
///
/// # Errors
/// [`Error::Device`] for what has no kernel yet, naming operator and device; what the operator's own kernel refuses.
pub fn program_of(
    target: &Target,
    op: &'static str,
    lowering: &Lowering,
    inputs: &[&Meta],
    outputs: &[&Meta],
) -> Result<Program> {
    let call = &Call { target, op, inputs, outputs };
    call.check_sizes()?;
    match lowering {
        Lowering::Fill(value) => forms::fill::fill(call, *value),
        Lowering::Range { start, step } => forms::fill::range(call, *start, *step),
        Lowering::Tile(tile) => forms::tile::tile(call, tile),
        Lowering::Reduce(reduce) => forms::reduce::reduce(call, reduce),
        Lowering::Spread(form) => forms::spread::spread(call, form),
        Lowering::Search(form) => forms::search::search(call, form),
        Lowering::Scan(form) => forms::scan::scan(call, form),
        Lowering::Rows(rows) => forms::rows::rows(call, rows),
        Lowering::Normalize(form) => forms::normalize::normalize(call, form),
        Lowering::Contract(form) => forms::contract::contract(call, form),
        Lowering::Distances(form) => forms::distances::distances(call, form),
        Lowering::Attention(form) => forms::attention::attention(call, form),
        Lowering::Recurrent(form) => forms::recurrent::recurrent(call, form),
        Lowering::Move(form) => forms::moved::moved(call, form),
        Lowering::Index(form) => forms::index::index(call, form),
        Lowering::Windowed(form) => forms::windowed::windowed(call, form),
        Lowering::Sort(form) => forms::sort::sort(call, form),
        Lowering::Fourier(form) => forms::fourier::fourier(call, form),
        Lowering::Random(form) => forms::random::random(call, form),
        Lowering::Dense(form) => Err(call.refuse("form", format!("{form:?}"), "no factorisations of matrices")),
        Lowering::View(_) | Lowering::Transfer | Lowering::Prepared(_) | Lowering::Function(_) => {
            Err(call.refuse("form", "a view, a copy or a function", "what has a kernel"))
        }
        Lowering::Opaque(_) => Err(call.refuse("form", "a kernel of the CPU", "what says what it computes")),
    }
}

/// The launch of functions of single elements, in order, as one kernel: they have the bits that they have one by one, but for multiply-add.
///
/// # Errors
/// As [`program_of`]; for other calls, and for those that may fail.
pub fn program_of_chain(target: &Target, links: &[Link<'_>]) -> Result<Program> {
    forms::chain::chain(target, links)
}

/// The launch that makes attention's weights `[.., n, m]` of products of queries and keys, which are not scaled yet, and, for the form's gradient, the
/// gradients of these products too. Inputs are the products, for the gradient those of the output's gradient and the values, and perhaps a mask; outputs
/// like these, contiguous. What has the dtype of its input takes the input's place: the memory of that output is read, and the input's is not.
///
/// # Errors
/// As [`program_of`].
pub fn program_of_weights(
    target: &Target,
    op: &'static str,
    form: &Attention,
    inputs: &[&Meta],
    outputs: &[&Meta],
) -> Result<Program> {
    let call = &Call { target, op, inputs, outputs };
    call.check_sizes()?;
    forms::weights::weights(call, form)
}

impl<'a> Call<'a> {
    /// The error for what has no kernel.
    pub fn refuse(&self, argument: &'static str, given: impl Into<String>, accepted: &str) -> Error {
        Error::device(self.op, argument, given.into(), format!("{accepted} on {}", self.target.device))
    }

    /// Indices are of 31 bits, as [divisions](crate::value::Value::divided) take them; positions before the beginning wrap.
    pub fn check_sizes(&self) -> Result<()> {
        const MOST: usize = 1 << 31;
        // Elements are addressed as words of four bytes at least, and those that are read again and again have numbers nevertheless.
        let elements = |meta: &Meta| meta.layout.span().max(meta.elem_count());
        let large = |meta: &&&Meta| elements(meta).saturating_mul(meta.dtype.size_in_bytes().div_ceil(4)) >= MOST;
        match self.inputs.iter().chain(self.outputs).find(large) {
            Some(meta) => Err(self.refuse("input", format!("{:?}", meta.layout), "fewer than 2^31 elements")),
            None => Ok(()),
        }
    }

    /// Fails unless elements of these tensors can be computed with.
    pub fn real(&self, metas: &[&Meta]) -> Result<()> {
        let other = |meta: &&&Meta| meta.dtype.is_complex() || meta.dtype.is_storage_only();
        match metas.iter().find(other) {
            Some(meta) => Err(self.refuse("dtype", meta.dtype.as_str(), "real numbers of 16 bits or more")),
            None => Ok(()),
        }
    }

    /// The dtype for what should be more exact than single precision, where the target has one.
    pub fn wide(&self, dtype: DType) -> DType {
        if self.target.doubles && dtype.is_float() { DType::F64 } else { dtype.compute() }
    }

    /// A program of one launch.
    pub fn one(&self, write: impl FnOnce(&Code) -> Result<()>) -> Result<Program> {
        let mut program = Program::default();
        program.launch(self.target, write)?;
        Ok(program)
    }
}
