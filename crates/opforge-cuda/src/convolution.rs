//! Convolutions by cuDNN: which it takes, and how it is told.

use std::ffi::c_int;
use std::sync::Arc;

use opforge::operator::{Lowering, Tile};
use opforge::ops::pointwise::add::Add;
use opforge::{DType, Meta, Result};
use opforge_runtime::{Argument, Context, Kernel, vm};
use opforge_tile::forms::{Geometry, MAX_SPATIAL, Part, Window};

use crate::backend::Cuda;
use crate::cudnn::{Dnn, Planned, Problem, numbers};
use crate::dense::{Channels, Dense};
use crate::driver::Address;
use crate::kernel::Prepared;
use crate::memory::Block;
use crate::precision::{CONVOLUTIONS, Plans};
use crate::product::LEAST;

/// A convolution that the library is told of.
struct Told {
    on: &'static Cuda,
    dnn: &'static Dnn,
    op: &'static str,
    problem: Problem,
    /// The two tensors that are given.
    inputs: [Meta; 2],
    output: Meta,
}

/// A convolution that cuDNN computes.
struct Convolution {
    told: Told,
    plans: Plans<Laid>,
    /// Adds one number for each channel to the output.
    bias: Option<Prepared>,
}

/// What the library was told of tensors with one of two orders of [`Channels`], and how they are brought into it.
struct Laid {
    plan: Planned,
    inputs: [Dense; 2],
    /// None where it is made where it is.
    output: Option<Dense>,
}

/// The convolution's `x`, `w` and `y` of an operator's inputs and output.
fn tensors<T>(part: Part, [a, b]: [T; 2], made: T) -> [T; 3] {
    match part {
        Part::Output => [a, b, made],
        Part::Input => [made, b, a],
        Part::Weight => [a, made, b],
    }
}

impl Told {
    /// Whether the library is given tensors with their channels last, as the units for matrices take them by vectors of 16 bytes: where one that is given,
    /// other than the weight, has them last. Others the library brings into its own order as fast as copies would.
    fn has_channels_last(&self, reduced: bool) -> bool {
        let Problem { dtype, part, ref w, groups, .. } = self.problem;
        let vector = match dtype {
            DType::F16 | DType::BF16 => 8,
            DType::F32 if reduced => 4,
            _ => return false,
        };
        let images = if part == Part::Weight { &self.inputs[..] } else { &self.inputs[..1] };
        let is_of_vectors = groups == 1 && w[0] % vector == 0 && w[1] % vector == 0;
        is_of_vectors && images.iter().any(|image| Channels::Last.is_of(&image.layout))
    }

    /// What the library makes of the convolution, f32 as TF32 where `reduced`; none where it has no algorithm.
    fn laid(&self, reduced: bool) -> Result<Option<Laid>> {
        let last = self.has_channels_last(reduced).then_some(Channels::Last);
        let plan = |channels| {
            let problem = Problem { channels, ..self.problem.clone() };
            Some((channels, self.dnn.plan(self.on.gpu, self.op, &problem, reduced)?))
        };
        let Some((channels, plan)) = last.into_iter().chain([Channels::First]).find_map(plan) else { return Ok(None) };
        let input = |input| Dense::input(self.on, self.op, input, channels);
        let inputs = [input(&self.inputs[0])?, input(&self.inputs[1])?];
        Ok(Some(Laid { plan, inputs, output: Dense::output(self.on, self.op, &self.output, channels)? }))
    }

    /// Issues the convolution, and the copies before and after it.
    ///
    /// # Safety
    /// The addresses are those of the tensors that this was made for.
    unsafe fn convolve(&self, laid: &Laid, mut inputs: [Address; 2], y: Address) -> Result<()> {
        let Laid { plan, inputs: dense, output } = laid;
        let apart = [dense[0].apart(inputs[0])?, dense[1].apart(inputs[1])?];
        for ((at, dense), block) in inputs.iter_mut().zip(dense).zip(&apart) {
            let Some(block) = block else { continue };
            // SAFETY: the block is that of this input.
            unsafe { dense.copy(*at, block.at)? };
            *at = block.at;
        }
        let made = output.as_ref().map(|output| output.block().map(|block| (output, block))).transpose()?;
        let workspace = (plan.nbytes > 0).then(|| Block::new(self.on.gpu, plan.nbytes)).transpose()?;
        let workspace = workspace.as_ref().map_or(0, |block| block.at);
        let at = tensors(self.problem.part, inputs, made.as_ref().map_or(y, |(_, block)| block.at));
        // SAFETY: the plan was made for tensors with this layout, and the workspace is of its size; the block is that of the output.
        unsafe {
            self.dnn.convolve((self.on.gpu, self.op), plan, at, workspace)?;
            made.map_or(Ok(()), |(output, block)| output.copy(block.at, y))
        }
    }
}

impl Kernel for Convolution {
    unsafe fn launch(&self, _: &Context, inputs: &[Argument<'_>], outputs: &[Argument<'_>]) -> Result<()> {
        let of = &self.told;
        of.on.gpu.enter(of.op)?;
        let is_reduced = of.problem.dtype == DType::F32 && CONVOLUTIONS.get();
        let laid = self.plans.get(is_reduced, || of.laid(true))?;
        let given = inputs.iter().map(|input| Ok(input.to_read()?.addr() as Address)).collect::<Result<Vec<_>>>()?;
        let y = outputs[0].to_write()?.addr() as Address;
        // SAFETY: the kernel was prepared for these tensors; a thread of the sum reads the element that it writes, and no other.
        unsafe {
            of.convolve(laid, [given[0], given[1]], y)?;
            if let Some(bias) = &self.bias {
                bias.run(&[y, given[2]], &[y])?;
            }
        }
        if vm::is_sync() { of.on.gpu.wait(of.op) } else { Ok(()) }
    }

    fn duration(&self) -> u64 {
        8_000
    }
}

impl Cuda {
    /// The kernel of a convolution, where cuDNN is there and takes it.
    pub fn convolution(
        &'static self,
        op: &'static str,
        geometry: &Geometry,
        part: Part,
        inputs: &[&Meta],
        output: &Meta,
    ) -> Option<Result<Arc<dyn Kernel>>> {
        let problem = problem(geometry, part, inputs, output)?;
        let dnn = self.dnn()?;
        let kernel = || -> Result<Option<Arc<dyn Kernel>>> {
            let given = [inputs[0], inputs[1]].map(Meta::clone);
            let told = Told { on: self, dnn, op, problem, inputs: given, output: output.clone() };
            let Some(full) = told.laid(false)? else { return Ok(None) };
            let bias = inputs.get(2).map(|bias| self.channel_bias(op, bias, output)).transpose()?;
            Ok(Some(Arc::new(Convolution { told, plans: Plans::new(full), bias })))
        };
        kernel().transpose()
    }

    /// The kernel that adds a bias to every position of a channel, in place.
    fn channel_bias(&self, op: &'static str, bias: &Meta, output: &Meta) -> Result<Prepared> {
        let mut layout = bias.layout.clone();
        for d in 1..output.rank() - 1 {
            layout = layout.unsqueeze(d)?;
        }
        let bias = Meta { dtype: bias.dtype, layout };
        self.written(op, &Lowering::Tile(Tile::binary(Add)), &[output, &bias], &[output])
    }
}

/// Whether an output is as long as padding of both sides makes it: padding of one side more than of the other cuDNN does not have.
fn is_symmetric(window: &Window, [x, w, y]: [usize; 3]) -> bool {
    let reach = w.checked_sub(1).map(|last| last * window.dilation + 1);
    let room = reach.and_then(|reach| (x + 2 * window.padding).checked_sub(reach));
    room.is_some_and(|room| room / window.stride + 1 == y)
}

/// A convolution in cuDNN's terms; none for what it does not take, and for what is small.
fn problem(geometry: &Geometry, part: Part, inputs: &[&Meta], output: &Meta) -> Option<Problem> {
    let dtype = output.dtype;
    numbers(dtype).filter(|_| inputs.iter().all(|input| input.dtype == dtype))?;
    let [x, w, y] = tensors(part, [inputs[0], inputs[1]], output);
    let multiplications = y.elem_count().saturating_mul(w.elem_count() / w.dims()[0].max(1));
    let spatial = y.rank() - 2;
    let mut windows = geometry.windows[MAX_SPATIAL - spatial..].iter().zip(2..);
    let is_symmetric = windows.all(|(window, d)| is_symmetric(window, [x, w, y].map(|tensor| tensor.dims()[d])));
    if multiplications < LEAST || !is_symmetric || !output.layout.is_contiguous() {
        return None;
    }
    // Lines are planes of one line: `Window::UNIT` is what windows have that are not there.
    let shown = spatial.max(2);
    let numbers =
        |all: &mut dyn Iterator<Item = usize>| all.map(|n| c_int::try_from(n).ok()).collect::<Option<Vec<_>>>();
    let lengths = |tensor: &Meta| {
        let (lead, plane) = tensor.dims().split_at(2);
        numbers(&mut lead.iter().chain([1].iter().take(shown - spatial)).chain(plane).copied())
    };
    let windows = &geometry.windows[MAX_SPATIAL - shown..];
    Some(Problem {
        dtype,
        part,
        channels: Channels::First,
        x: lengths(x)?,
        w: lengths(w)?,
        y: lengths(y)?,
        padding: numbers(&mut windows.iter().map(|window| window.padding))?,
        stride: numbers(&mut windows.iter().map(|window| window.stride))?,
        dilation: numbers(&mut windows.iter().map(|window| window.dilation))?,
        groups: c_int::try_from(geometry.groups).ok()?,
    })
}
