//! cuDNN's graphs: what it has the fastest kernels by. Everything is a descriptor of some kind, with attributes of which each has a number and a type.

use std::ffi::{c_int, c_void};

use libloading::Library;
use opforge_tile::forms::Part;

use crate::cudnn::Problem;
use crate::driver::Handle;
use crate::library::{Descriptor, functions};

functions! {
    /// The functions for descriptors of all kinds.
    Functions {
        create = "cudnnBackendCreateDescriptor" (c_int, *mut Handle);
        destroy = "cudnnBackendDestroyDescriptor" (Handle);
        set = "cudnnBackendSetAttribute" (Handle, c_int, c_int, i64, *const c_void);
        get = "cudnnBackendGetAttribute" (Handle, c_int, c_int, i64, *mut i64, *mut c_void);
        finalize = "cudnnBackendFinalize" (Handle);
        execute = "cudnnBackendExecute" (Handle, Handle, Handle);
    }
}

/// Kinds of descriptors: `cudnnBackendDescriptorType_t`.
mod kind {
    use std::ffi::c_int;

    pub const CONVOLUTION: c_int = 1;
    pub const ENGINE: c_int = 2;
    pub const CONFIGURATION: c_int = 3;
    pub const HEURISTICS: c_int = 4;
    pub const PLAN: c_int = 5;
    pub const FORWARD: c_int = 10;
    pub const BACKWARD_FILTER: c_int = 11;
    pub const BACKWARD_DATA: c_int = 12;
    pub const GRAPH: c_int = 15;
    pub const PACK: c_int = 16;
    pub const TENSOR: c_int = 17;
}

/// Attributes of descriptors: `cudnnBackendAttributeName_t`. Those of operations are in [`operation`].
mod attribute {
    use std::ffi::c_int;

    pub const SUMMED_IN: c_int = 100;
    pub const MODE: c_int = 101;
    pub const DILATIONS: c_int = 102;
    pub const STRIDES: c_int = 103;
    pub const PADDING_AFTER: c_int = 104;
    pub const PADDING_BEFORE: c_int = 105;
    pub const SPATIAL: c_int = 106;
    pub const HEURISTICS: c_int = 200;
    pub const HEURISTICS_GRAPH: c_int = 201;
    pub const HEURISTICS_RESULTS: c_int = 202;
    pub const CONFIGURATION_ENGINE: c_int = 300;
    pub const PLAN_HANDLE: c_int = 400;
    pub const PLAN_CONFIGURATION: c_int = 401;
    pub const PLAN_NBYTES: c_int = 402;
    pub const GRAPH_HANDLE: c_int = 800;
    pub const GRAPH_OPERATIONS: c_int = 801;
    pub const TENSOR_ALIGNMENT: c_int = 900;
    pub const TENSOR_DTYPE: c_int = 901;
    pub const TENSOR_DIMS: c_int = 902;
    pub const TENSOR_STRIDES: c_int = 903;
    pub const TENSOR_NAME: c_int = 906;
    pub const PACK_NAMES: c_int = 1000;
    pub const PACK_ADDRESSES: c_int = 1001;
    pub const PACK_WORKSPACE: c_int = 1003;
    pub const ENGINE_NOTES: c_int = 1303;
}

/// What an attribute is set to.
#[derive(Clone, Copy)]
enum Values<'a> {
    Handle(Handle),
    DType(c_int),
    Integers(&'a [i64]),
    Single(f32),
    Addresses(&'a [*mut c_void]),
    Mode(c_int),
    Heuristics(c_int),
    Descriptor(&'a Descriptor),
}

/// Numbers of types of attributes that are read.
const INTEGER: c_int = 3;
const NOTE: c_int = 11;
const DESCRIPTOR: c_int = 15;

impl Values<'_> {
    /// The number of the type, how many values there are, and the first of them.
    fn parts(&self) -> (c_int, i64, *const c_void) {
        match self {
            Values::Handle(handle) => (0, 1, (&raw const *handle).cast()),
            Values::DType(dtype) => (1, 1, (&raw const *dtype).cast()),
            Values::Integers(all) => (INTEGER, all.len() as i64, all.as_ptr().cast()),
            Values::Single(number) => (4, 1, (&raw const *number).cast()),
            Values::Addresses(all) => (6, all.len() as i64, all.as_ptr().cast()),
            Values::Mode(mode) => (7, 1, (&raw const *mode).cast()),
            Values::Heuristics(which) => (8, 1, (&raw const *which).cast()),
            Values::Descriptor(of) => (DESCRIPTOR, 1, (&raw const of.at).cast()),
        }
    }
}

/// What is known of an engine's arithmetic: `cudnnBackendNumericalNote_t`.
mod note {
    use std::ffi::c_int;

    pub const BY_MATRICES: c_int = 0;
    pub const CONVERTS_INPUTS: c_int = 1;
    pub const SUMS_IN_LESS: c_int = 2;
    pub const NOT_DETERMINISTIC: c_int = 4;
}

/// The heuristics that are asked, in this order (`cudnnBackendHeurMode_t`): an estimate, and a list of what works without one.
const HEURISTICS: [c_int; 2] = [3, 2];
/// How many engines each is asked for.
const CANDIDATES: usize = 16;
/// Addresses of tensors are multiples of this.
const ALIGNMENT: i64 = 16;
/// The most bytes that an engine may work in.
const MOST_BYTES: i64 = 1 << 30;
/// The names of `x`, `w` and `y` where a plan is run.
const NAMES: [i64; 3] = [1, 2, 3];

/// A prepared convolution.
pub(crate) struct Planned {
    functions: &'static Functions,
    plan: Descriptor,
    /// The bytes that it works in.
    pub nbytes: usize,
    /// What the plan was made of, which it may refer to.
    _of: Vec<Descriptor>,
}

/// The kind of a convolution's operation, and its attributes: `alpha`, `beta`, how tensors meet, `x`, `w`, `y` (`cudnnBackendAttributeName_t`).
fn operation(part: Part) -> (c_int, [c_int; 6]) {
    match part {
        Part::Output => (kind::FORWARD, [700, 701, 702, 704, 703, 705]),
        Part::Input => (kind::BACKWARD_DATA, [706, 707, 708, 710, 709, 711]),
        Part::Weight => (kind::BACKWARD_FILTER, [712, 713, 714, 716, 715, 717]),
    }
}

impl Functions {
    /// Looks them up; none in a library without graphs.
    pub fn find(library: &'static Library) -> Option<Self> {
        Self::of(library).ok()
    }

    /// A descriptor without attributes.
    fn empty(&self, kind: c_int) -> Option<Descriptor> {
        // SAFETY: the library writes a handle, which its function for all kinds destroys.
        unsafe { Descriptor::new(|at| (self.create)(kind, at), self.destroy) }
    }

    /// A descriptor with these attributes.
    fn made(&self, kind: c_int, attributes: &[(c_int, Values<'_>)]) -> Option<Descriptor> {
        let made = self.empty(kind)?;
        let is_set = |(attribute, values): &(c_int, Values<'_>)| {
            let (of_type, count, first) = values.parts();
            // SAFETY: there are as many values of the type; the library copies them.
            unsafe { (self.set)(made.at, *attribute, of_type, count, first) == 0 }
        };
        // SAFETY: the descriptor is ours.
        (attributes.iter().all(is_set) && unsafe { (self.finalize)(made.at) } == 0).then_some(made)
    }

    /// Reads an attribute of numbers into `to`; how many there are.
    fn read<T>(&self, of: &Descriptor, attribute: c_int, of_type: c_int, to: &mut [T]) -> Option<usize> {
        let (mut count, most) = (0, to.len() as i64);
        // SAFETY: the library writes as many values of the type at most, which is `T`'s: 64 bits of integers, a C enumeration of notes.
        let code = unsafe { (self.get)(of.at, attribute, of_type, most, &mut count, to.as_mut_ptr().cast()) };
        (code == 0).then_some(count.clamp(0, most) as usize)
    }

    fn tensor(&self, name: i64, kind: c_int, of: &Problem, dims: &[c_int]) -> Option<Descriptor> {
        let strides = of.channels.strides(dims)?;
        let [dims, strides] = [dims, &strides].map(|all| all.iter().map(|&n| i64::from(n)).collect::<Vec<_>>());
        let attributes = [
            (attribute::TENSOR_ALIGNMENT, Values::Integers(&[ALIGNMENT])),
            (attribute::TENSOR_DTYPE, Values::DType(kind)),
            (attribute::TENSOR_DIMS, Values::Integers(&dims)),
            (attribute::TENSOR_STRIDES, Values::Integers(&strides)),
            (attribute::TENSOR_NAME, Values::Integers(&[name])),
        ];
        self.made(kind::TENSOR, &attributes)
    }

    fn meeting(&self, of: &Problem, summed_in: c_int) -> Option<Descriptor> {
        let numbers = |all: &[c_int]| all.iter().map(|&n| i64::from(n)).collect::<Vec<_>>();
        let [padding, stride, dilation] = [&of.padding, &of.stride, &of.dilation].map(|all| numbers(all));
        let not_mirrored = 1;
        let attributes = [
            (attribute::SUMMED_IN, Values::DType(summed_in)),
            (attribute::MODE, Values::Mode(not_mirrored)),
            (attribute::DILATIONS, Values::Integers(&dilation)),
            (attribute::STRIDES, Values::Integers(&stride)),
            (attribute::PADDING_AFTER, Values::Integers(&padding)),
            (attribute::PADDING_BEFORE, Values::Integers(&padding)),
            (attribute::SPATIAL, Values::Integers(&[padding.len() as i64])),
        ];
        self.made(kind::CONVOLUTION, &attributes)
    }

    /// Has the library prepare a convolution by the first engine that it proposes of those that give the same results at every run, and neither round inputs
    /// nor, unless `by_matrices`, use units that would.
    pub fn plan(
        &'static self,
        handle: Handle,
        of: &Problem,
        kinds: (c_int, c_int),
        by_matrices: bool,
    ) -> Option<Planned> {
        let [x, w, y] = [&of.x, &of.w, &of.y];
        let tensor = |i: usize, dims: &[c_int]| self.tensor(NAMES[i], kinds.0, of, dims);
        let (tensors, meeting) = ([tensor(0, x)?, tensor(1, w)?, tensor(2, y)?], self.meeting(of, kinds.1)?);
        let (kind, [alpha, beta, by, at_x, at_w, at_y]) = operation(of.part);
        let [x, w, y] = tensors.each_ref().map(Values::Descriptor);
        let attributes = [(by, Values::Descriptor(&meeting)), (at_x, x), (at_w, w), (at_y, y)];
        let factors = [(alpha, Values::Single(1.0)), (beta, Values::Single(0.0))];
        let operation = self.made(kind, &[&attributes[..], &factors].concat())?;
        let graph = self.made(
            kind::GRAPH,
            &[
                (attribute::GRAPH_HANDLE, Values::Handle(handle)),
                (attribute::GRAPH_OPERATIONS, Values::Descriptor(&operation)),
            ],
        )?;
        let refused = |note: &c_int| match *note {
            note::BY_MATRICES => !by_matrices,
            note => [note::CONVERTS_INPUTS, note::SUMS_IN_LESS, note::NOT_DETERMINISTIC].contains(&note),
        };
        let (plan, nbytes, configuration) = HEURISTICS.into_iter().find_map(|which| {
            let usable = |found: &Descriptor| self.notes(found).is_some_and(|notes| !notes.iter().any(refused));
            let found = self.proposed(&graph, which).unwrap_or_default().into_iter().filter(usable);
            found.into_iter().find_map(|found| self.prepared(handle, found))
        })?;
        let mut all = vec![configuration, graph, operation, meeting];
        all.extend(tensors);
        Some(Planned { functions: self, plan, nbytes, _of: all })
    }

    /// Configurations of engines, the fastest first.
    fn proposed(&self, graph: &Descriptor, which: c_int) -> Option<Vec<Descriptor>> {
        let asked = [
            (attribute::HEURISTICS_GRAPH, Values::Descriptor(graph)),
            (attribute::HEURISTICS, Values::Heuristics(which)),
        ];
        let heuristics = self.made(kind::HEURISTICS, &asked)?;
        let mut all = (0..CANDIDATES).map(|_| self.empty(kind::CONFIGURATION)).collect::<Option<Vec<_>>>()?;
        let mut handles: Vec<Handle> = all.iter().map(|of| of.at).collect();
        let count = self.read(&heuristics, attribute::HEURISTICS_RESULTS, DESCRIPTOR, &mut handles)?;
        all.truncate(count);
        Some(all)
    }

    /// What is known of the arithmetic of a configuration's engine.
    fn notes(&self, configuration: &Descriptor) -> Option<Vec<c_int>> {
        let engine = self.empty(kind::ENGINE)?;
        self.read(configuration, attribute::CONFIGURATION_ENGINE, DESCRIPTOR, &mut [engine.at])?;
        let mut notes = vec![0; 32];
        let count = self.read(&engine, attribute::ENGINE_NOTES, NOTE, &mut notes)?;
        notes.truncate(count);
        Some(notes)
    }

    /// The plan of a configuration, where it can be run in so much memory as it may.
    fn prepared(&self, handle: Handle, found: Descriptor) -> Option<(Descriptor, usize, Descriptor)> {
        let plan = self.made(
            kind::PLAN,
            &[
                (attribute::PLAN_HANDLE, Values::Handle(handle)),
                (attribute::PLAN_CONFIGURATION, Values::Descriptor(&found)),
            ],
        )?;
        let mut nbytes = [0i64];
        self.read(&plan, attribute::PLAN_NBYTES, INTEGER, &mut nbytes)?;
        ((0..=MOST_BYTES).contains(&nbytes[0])).then_some((plan, nbytes[0] as usize, found))
    }
}

impl Planned {
    /// Issues the convolution; the library's status.
    ///
    /// # Safety
    /// The addresses are those of `x`, `w` and `y` as the problem describes them, multiples of 16, and of so many bytes as the plan says.
    pub unsafe fn run(&self, handle: Handle, at: [*mut c_void; 3], workspace: *mut c_void) -> c_int {
        const NO_MEMORY: c_int = 2;
        let pack = [
            (attribute::PACK_NAMES, Values::Integers(&NAMES)),
            (attribute::PACK_ADDRESSES, Values::Addresses(&at)),
            (attribute::PACK_WORKSPACE, Values::Addresses(&[workspace])),
        ];
        let Some(pack) = self.functions.made(kind::PACK, &pack) else { return NO_MEMORY };
        // SAFETY: plan and pack are of this library; the rest is the caller's promise.
        unsafe { (self.functions.execute)(handle, self.plan.at, pack.at) }
    }
}
