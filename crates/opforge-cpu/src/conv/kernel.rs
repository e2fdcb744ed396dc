//! Convolutions as kernels: they pack their weights at each run, or read what was packed before.

use std::sync::Arc;

use opforge_core::Result;
use opforge_runtime::alloc::Workspace;
use opforge_runtime::{HostKernel, Prepack, Rectangles, Then};

use super::Element;
use super::correlate::{Correlation, Spec, Tensors, is_direct};
use super::packing::{self, Packer};
use super::phase::Phase;
use crate::copy::Shared;

/// A correlation whose second input is the weight, or what [`Packer`] made of it.
pub(super) struct Convolution<E: Element> {
    correlation: Arc<Correlation<E>>,
    is_packed: bool,
}

impl<E: Element> Convolution<E> {
    pub fn prepare(spec: Spec, phases: Vec<Phase>) -> Result<Arc<dyn HostKernel>> {
        Ok(Arc::new(Convolution::<E> { correlation: Arc::new(Correlation::new(spec, phases)?), is_packed: false }))
    }

    /// # Safety
    /// As [`HostKernel::run`], and as [`Rectangles::run_then`] if something follows.
    unsafe fn tasks(&self, inputs: &[*const u8], outputs: &[*mut u8], then: Option<Then<'_>>) -> Result<()> {
        let spec = &self.correlation.spec;
        let packs = !self.is_packed && !is_direct(spec);
        let room = Workspace::new(if packs { packing::bytes(&self.correlation) } else { 0 })?;
        let packed = if packs { room.as_ptr().cast_const() } else { inputs[1] };
        let tensors = Tensors {
            source: Shared(inputs[0].cast::<E>()),
            weight: Shared(inputs[1].cast::<E>()),
            bias: Shared(if spec.bias { inputs[2].cast::<E>() } else { std::ptr::null() }),
            target: Shared(outputs[0].cast::<E>()),
            packed: Shared(packed.cast::<E::Compute>()),
        };
        // SAFETY: as the caller promises; the room is as large as the packed weights.
        unsafe {
            if packs {
                packing::pack(&self.correlation, tensors.weight.get(), room.as_ptr().cast())?;
            }
            self.correlation.run(tensors, then)
        }
    }
}

impl<E: Element> HostKernel for Convolution<E> {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        // SAFETY: as the caller promises.
        unsafe { self.tasks(inputs, outputs, None) }
    }

    fn cost(&self) -> u64 {
        200 + (self.correlation.spec.work / 32) as u64
    }

    fn prepack(&self) -> Option<Prepack> {
        let correlation = &self.correlation;
        if self.is_packed || !packing::is_worth_it(correlation) {
            return None;
        }
        Some(Prepack {
            input: 1,
            pack: Arc::new(Packer(correlation.clone())),
            bytes: packing::bytes(correlation),
            arrangement: packing::arrangement(correlation),
            kernel: Arc::new(Convolution { correlation: correlation.clone(), is_packed: true }),
        })
    }

    fn rectangles(&self) -> Option<&dyn Rectangles> {
        self.correlation.rectangles().is_some().then_some(self)
    }
}

/// A matrix of the target is an image, a row of it a channel.
impl<E: Element> Rectangles for Convolution<E> {
    fn shape(&self) -> [usize; 3] {
        let Spec { batch, channels, target, .. } = &self.correlation.spec;
        [*batch, channels.groups * channels.target, target.iter().product()]
    }

    fn sizes(&self) -> Vec<[usize; 2]> {
        self.correlation.rectangles().unwrap_or_default()
    }

    unsafe fn run_then(&self, inputs: &[*const u8], outputs: &[*mut u8], then: Then<'_>) -> Result<()> {
        // SAFETY: as the caller promises.
        unsafe { self.tasks(inputs, outputs, Some(then)) }
    }
}
