//! Another device than the CPU: operators, gradients and host reads know nothing of where memory is.

mod common;

use std::alloc::Layout;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use opforge::autograd::{BackwardOptions, backward};
use opforge::declaration::{Definition, Sample};
use opforge::devices::{self, Backend};
use opforge::operator::Lowering;
use opforge::{DType, Device, Error, ErrorKind, Meta, Result, Tensor};
use opforge_runtime::{Argument, Context, HostKernel, Kernel, Memory};

use common::data::{Types, refs, tensor_on};
use common::{Report, text};

/// A device whose addresses nobody but itself can follow: those of main memory, moved beyond what is mapped. It computes with the CPU's kernels.
struct Mirror {
    in_use: AtomicUsize,
    launched: AtomicUsize,
}

/// How far addresses are moved.
const BEYOND: usize = 1 << 62;

static MIRROR: Mirror = Mirror { in_use: AtomicUsize::new(0), launched: AtomicUsize::new(0) };
static DEVICE: LazyLock<Device> = LazyLock::new(|| devices::add(&MIRROR).expect("a device more"));

fn layout(nbytes: usize) -> Layout {
    Layout::from_size_align(nbytes.max(1), 64).expect("a size")
}

fn real(at: *const u8) -> *mut u8 {
    ptr::with_exposed_provenance_mut(at.addr() - BEYOND)
}

impl Memory for Mirror {
    fn name(&self) -> &str {
        "mirror:0"
    }

    fn allocate(&self, nbytes: usize) -> Result<NonNull<u8>> {
        if nbytes > 1 << 40 {
            return Err(Error::OutOfMemory { requested: nbytes, in_use: 0, limit: 1 << 40 });
        }
        self.in_use.fetch_add(nbytes, Ordering::Relaxed);
        // SAFETY: the layout is not empty.
        let block = unsafe { std::alloc::alloc(layout(nbytes)) };
        Ok(NonNull::new(ptr::without_provenance_mut(block.expose_provenance() + BEYOND)).expect("an address"))
    }

    unsafe fn free(&self, block: NonNull<u8>, nbytes: usize) {
        self.in_use.fetch_sub(nbytes, Ordering::Relaxed);
        // SAFETY: what `allocate` has given.
        unsafe { std::alloc::dealloc(real(block.as_ptr()), layout(nbytes)) };
    }

    unsafe fn clear(&self, to: *mut u8, nbytes: usize) -> Result<()> {
        // SAFETY: `to` is valid for `nbytes` bytes of a block of `allocate`, as `Memory::clear` demands, whose real address this is.
        unsafe { real(to).write_bytes(0, nbytes) };
        Ok(())
    }

    unsafe fn upload(&self, from: &[u8], to: *mut u8) -> Result<()> {
        // SAFETY: `to` is valid for as many bytes of a block of `allocate`, as `Memory::upload` demands, whose real address this is.
        unsafe { real(to).copy_from_nonoverlapping(from.as_ptr(), from.len()) };
        Ok(())
    }

    unsafe fn download(&self, from: *const u8, to: &mut [u8]) -> Result<()> {
        // SAFETY: `from` is valid for as many bytes of a block of `allocate`, as `Memory::download` demands, whose real address this is.
        unsafe { to.as_mut_ptr().copy_from_nonoverlapping(real(from), to.len()) };
        Ok(())
    }
}

struct Mirrored(Arc<dyn HostKernel>);

impl Kernel for Mirrored {
    unsafe fn launch(&self, context: &Context, inputs: &[Argument<'_>], outputs: &[Argument<'_>]) -> Result<()> {
        assert_eq!(context.device, *DEVICE);
        MIRROR.launched.fetch_add(1, Ordering::Relaxed);
        let inputs: Vec<*const u8> =
            inputs.iter().map(|x| Ok(real(x.to_read()?).cast_const())).collect::<Result<_>>()?;
        let outputs: Vec<*mut u8> = outputs.iter().map(|x| Ok(real(x.to_write()?))).collect::<Result<_>>()?;
        // SAFETY: arguments are as `launch` demands, for the kernel within; these are their real addresses.
        unsafe { self.0.run(&inputs, &outputs) }
    }

    fn duration(&self) -> u64 {
        self.0.cost()
    }
}

impl Backend for Mirror {
    fn memory(&self) -> &dyn Memory {
        self
    }

    fn kernel(
        &self,
        op: &'static str,
        lowering: Lowering,
        inputs: &[&Meta],
        outputs: &[&Meta],
    ) -> Result<Arc<dyn Kernel>> {
        Ok(Arc::new(Mirrored(lowering.kernel(op, inputs, outputs)?)))
    }
}

/// Elements as bytes, and whether they are where they should be.
fn content(tensor: &Tensor, device: Device) -> Result<(DType, Vec<usize>, String), String> {
    if *tensor.device() != device {
        return Err(format!("on {}, not on {device}", tensor.device()));
    }
    let scalars = tensor.detach().to_scalars().map_err(text)?;
    Ok((tensor.dtype(), tensor.dims().to_vec(), format!("{scalars:?}")))
}

/// The outputs of a sample and the gradients of its inputs.
fn run(sample: &Sample, dtype: DType, device: Device) -> Result<Vec<(DType, Vec<usize>, String)>, String> {
    let types = Types::real(dtype);
    let on_device = |a| tensor_on(a, types.of(a.content), &Device::Cpu).to_device(&device).map_err(text);
    let inputs: Vec<Tensor> = sample.inputs.iter().map(on_device).collect::<Result<_, String>>()?;
    let floats: Vec<&Tensor> = inputs.iter().filter(|t| sample.smooth && t.dtype().is_float()).collect();
    floats.iter().try_for_each(|t| t.set_requires_grad(true)).map_err(text)?;
    let outputs = sample.call(&refs(&inputs)).map_err(text)?;
    let mut all: Vec<_> = outputs.iter().map(|t| content(t, device)).collect::<Result<_, String>>()?;
    for output in outputs.iter().filter(|t| t.requires_grad()) {
        let options = BackwardOptions { retain_graph: true, ..Default::default() };
        let seed = output.ones_like().map_err(text)?;
        let store = backward(&[(output.clone(), Some(seed))], options).map_err(text)?;
        for gradient in floats.iter().filter_map(|input| store.get(input)) {
            all.push(content(gradient, device)?);
        }
    }
    Ok(all)
}

fn same_on_both(definition: &Definition, report: &mut Report) {
    for sample in (definition.samples)() {
        // What has no inputs says itself where its output is.
        let dtype = [DType::F32, DType::F64].into_iter().find(|&dtype| definition.dtypes.contains(dtype));
        let moves = sample.operator().is_some_and(|op| op.device().is_some());
        let Some(dtype) = dtype.filter(|_| !moves && !sample.inputs.is_empty()) else { continue };
        report.case(definition, &sample, dtype, || {
            let (here, there) = (run(&sample, dtype, Device::Cpu), run(&sample, dtype, *DEVICE));
            if here == there { Ok(()) } else { Err(format!("{here:?} on the CPU, {there:?} on the device")) }
        });
    }
}

#[test]
fn operators_and_gradients_are_the_same_on_another_device() {
    common::check_all(same_on_both);
    assert!(MIRROR.launched.load(Ordering::Relaxed) > 1000);
}

#[test]
fn tensors_are_made_moved_read_and_freed_there() -> Result<()> {
    let device = *DEVICE;
    let zeros = Tensor::zeros((2, 3), DType::F32, &device)?;
    let x = Tensor::new(&[[1f32, 2.0, 3.0], [4.0, 5.0, 6.0]], &device)?;
    let sum = (zeros + &x)?;
    assert_eq!(sum.device().to_string(), "mirror:0");
    assert_eq!(sum.t()?.to_vec2::<f32>()?, [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]);
    // Strided from device to device and back.
    let back = sum.t()?.to_device(&Device::Cpu)?;
    assert!(back.device().is_cpu());
    assert_eq!(back.to_vec2::<f32>()?, [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]);
    assert!(format!("{x:?}").contains("mirror:0"), "{x:?}");
    Ok(())
}

#[test]
fn gradients_come_back_over_the_way_of_their_tensors() -> Result<()> {
    let x = Tensor::new(&[1f32, 2.0], &Device::Cpu)?;
    x.set_requires_grad(true)?;
    let y = x.to_device(&DEVICE)?.sqr()?.to_device(&Device::Cpu)?.sum_all()?;
    let store = y.backward()?;
    let gradient = store.get(&x).expect("a gradient");
    assert!(gradient.device().is_cpu());
    assert_eq!(gradient.to_vec1::<f32>()?, [2.0, 4.0]);
    Ok(())
}

#[test]
fn devices_do_not_mix() -> Result<()> {
    let here = Tensor::new(&[1f32], &Device::Cpu)?;
    let there = here.to_device(&DEVICE)?;
    let error = here.add(&there).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Device);
    assert!(error.to_string().contains("mirror:0"), "{error}");
    Ok(())
}

#[test]
fn failures_of_the_device_are_errors() -> Result<()> {
    let x = Tensor::zeros(1 << 45, DType::F32, &DEVICE)?;
    assert_eq!(x.narrow(0, 0, 1)?.to_vec1::<f32>().unwrap_err().root().kind(), ErrorKind::OutOfMemory);
    Ok(())
}
