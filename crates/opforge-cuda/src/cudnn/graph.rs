//! cuDNN's graphs: what it has the fastest kernels by. Everything is a descriptor of some kind, with attributes of which each has a number and a type.

use std::ffi::{c_int, c_void};

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

/// Kinds of descriptors: `cudnnBackendDescriptorType_t`. Those of operations are where these are.
mod kind {
    use std::ffi::c_int;

    pub const ENGINE: c_int = 2;
    pub const CONFIGURATION: c_int = 3;
    pub const HEURISTICS: c_int = 4;
    pub const PLAN: c_int = 5;
    pub const GRAPH: c_int = 15;
    pub const PACK: c_int = 16;
    pub const TENSOR: c_int = 17;
}

/// Attributes of these descriptors: `cudnnBackendAttributeName_t`.
mod attribute {
    use std::ffi::c_int;

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
    pub const TENSOR_IS_BETWEEN: c_int = 907;
    pub const TENSOR_IS_NUMBER: c_int = 908;
    pub const PACK_NAMES: c_int = 1000;
    pub const PACK_ADDRESSES: c_int = 1001;
    pub const PACK_WORKSPACE: c_int = 1003;
    pub const ENGINE_NOTES: c_int = 1303;
}

/// What an attribute is set to.
#[derive(Clone, Copy)]
pub(super) enum Values<'a> {
    Handle(Handle),
    DType(c_int),
    True,
    Integers(&'a [i64]),
    Single(f32),
    Double(f64),
    Addresses(&'a [*mut c_void]),
    Mode(c_int),
    Heuristics(c_int),
    Pointwise(c_int),
    Reduction(c_int),
    Descriptors(&'a [Handle]),
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
            Values::True => (2, 1, std::ptr::from_ref(&true).cast()),
            Values::Integers(all) => (INTEGER, all.len() as i64, all.as_ptr().cast()),
            Values::Single(number) => (4, 1, (&raw const *number).cast()),
            Values::Double(number) => (5, 1, (&raw const *number).cast()),
            Values::Addresses(all) => (6, all.len() as i64, all.as_ptr().cast()),
            Values::Mode(mode) => (7, 1, (&raw const *mode).cast()),
            Values::Heuristics(which) => (8, 1, (&raw const *which).cast()),
            Values::Pointwise(mode) => (14, 1, (&raw const *mode).cast()),
            Values::Descriptors(all) => (DESCRIPTOR, all.len() as i64, all.as_ptr().cast()),
            Values::Reduction(operation) => (18, 1, (&raw const *operation).cast()),
        }
    }
}

/// An attribute of a descriptor.
pub(super) type Set<'a> = (c_int, Values<'a>);

/// What is known of an engine's arithmetic: `cudnnBackendNumericalNote_t`.
pub(super) mod note {
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

impl Functions {
    /// A descriptor without attributes.
    fn empty(&self, kind: c_int) -> Option<Descriptor> {
        // SAFETY: the library writes a handle, which its function for all kinds destroys.
        unsafe { Descriptor::new(|at| (self.create)(kind, at), self.destroy) }
    }

    /// A descriptor with these attributes.
    fn made(&self, kind: c_int, attributes: &[Set<'_>]) -> Option<Descriptor> {
        let made = self.empty(kind)?;
        let is_set = |(attribute, values): &Set<'_>| {
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

    /// Configurations of engines, the fastest first.
    fn proposed(&self, graph: Handle, which: c_int) -> Option<Vec<Descriptor>> {
        let asked = [
            (attribute::HEURISTICS_GRAPH, Values::Descriptors(&[graph])),
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
                (attribute::PLAN_CONFIGURATION, Values::Descriptors(&[found.at])),
            ],
        )?;
        let mut nbytes = [0i64];
        self.read(&plan, attribute::PLAN_NBYTES, INTEGER, &mut nbytes)?;
        ((0..=MOST_BYTES).contains(&nbytes[0])).then_some((plan, nbytes[0] as usize, found))
    }
}

/// Strides of a tensor without gaps.
pub(super) fn dense(dims: &[i64]) -> Vec<i64> {
    let mut strides = vec![1; dims.len()];
    for d in (1..dims.len()).rev() {
        strides[d - 1] = strides[d] * dims[d];
    }
    strides
}

/// A tensor of a graph.
#[derive(Debug, Clone)]
pub(super) struct Tensor {
    pub at: Handle,
    pub dims: Vec<i64>,
}

/// A graph that is being written.
pub(super) struct Graph {
    functions: &'static Functions,
    /// All that was described, which the library may refer to.
    all: Vec<Descriptor>,
    operations: Vec<Handle>,
    tensors: i64,
    /// The names of tensors whose addresses each run gives, in this order.
    given: Vec<i64>,
}

impl Graph {
    pub fn new(functions: &'static Functions) -> Self {
        Graph { functions, all: Vec::new(), operations: Vec::new(), tensors: 0, given: Vec::new() }
    }

    /// Describes something.
    pub fn describe(&mut self, kind: c_int, attributes: &[Set<'_>]) -> Option<Handle> {
        let made = self.functions.made(kind, attributes)?;
        let at = made.at;
        self.all.push(made);
        Some(at)
    }

    /// Adds an operation.
    pub fn operation(&mut self, kind: c_int, attributes: &[Set<'_>]) -> Option<()> {
        let operation = self.describe(kind, attributes)?;
        self.operations.push(operation);
        Some(())
    }

    fn tensor(&mut self, dtype: c_int, dims: &[i64], strides: &[i64], more: &[Set<'_>]) -> Option<Tensor> {
        self.tensors += 1;
        let name = self.tensors;
        let attributes = [
            (attribute::TENSOR_ALIGNMENT, Values::Integers(&[ALIGNMENT])),
            (attribute::TENSOR_DTYPE, Values::DType(dtype)),
            (attribute::TENSOR_DIMS, Values::Integers(dims)),
            (attribute::TENSOR_STRIDES, Values::Integers(strides)),
            (attribute::TENSOR_NAME, Values::Integers(&[name])),
        ];
        let at = self.describe(kind::TENSOR, &[&attributes, more].concat())?;
        if !more.iter().any(|(attribute, _)| *attribute == attribute::TENSOR_IS_BETWEEN) {
            self.given.push(name);
        }
        Some(Tensor { at, dims: dims.to_vec() })
    }

    /// A tensor in the GPU's memory, at an address that is a multiple of 16.
    pub fn given(&mut self, dtype: c_int, dims: &[i64], strides: &[i64]) -> Option<Tensor> {
        self.tensor(dtype, dims, strides, &[])
    }

    /// A number in the host's memory, of as many dimensions as the graph's tensors.
    pub fn number(&mut self, dtype: c_int, rank: usize) -> Option<Tensor> {
        let ones = vec![1; rank];
        self.tensor(dtype, &ones, &ones, &[(attribute::TENSOR_IS_NUMBER, Values::True)])
    }

    /// A tensor that passes from one operation to others.
    pub fn between(&mut self, dtype: c_int, dims: &[i64]) -> Option<Tensor> {
        self.strided_between(dtype, dims, &dense(dims))
    }

    /// As [`between`](Self::between), with these strides.
    pub fn strided_between(&mut self, dtype: c_int, dims: &[i64], strides: &[i64]) -> Option<Tensor> {
        self.tensor(dtype, dims, strides, &[(attribute::TENSOR_IS_BETWEEN, Values::True)])
    }

    /// Has the library prepare the operations by the first engine that it proposes of whose arithmetic nothing is `refused`.
    pub fn plan(mut self, handle: Handle, refused: impl Fn(c_int) -> bool) -> Option<Planned> {
        let operations = std::mem::take(&mut self.operations);
        let graph = self.describe(
            kind::GRAPH,
            &[
                (attribute::GRAPH_HANDLE, Values::Handle(handle)),
                (attribute::GRAPH_OPERATIONS, Values::Descriptors(&operations)),
            ],
        )?;
        let of = self.functions;
        let (plan, nbytes, configuration) = HEURISTICS.into_iter().find_map(|which| {
            let usable = |found: &Descriptor| of.notes(found).is_some_and(|all| !all.iter().any(|&note| refused(note)));
            let found = of.proposed(graph, which).unwrap_or_default().into_iter().filter(usable);
            found.into_iter().find_map(|found| of.prepared(handle, found))
        })?;
        self.all.push(configuration);
        Some(Planned { functions: of, plan, nbytes, given: self.given, _of: self.all })
    }
}

/// A prepared graph.
pub(crate) struct Planned {
    functions: &'static Functions,
    plan: Descriptor,
    /// The bytes that it works in.
    pub nbytes: usize,
    given: Vec<i64>,
    /// What the plan was made of, which it may refer to.
    _of: Vec<Descriptor>,
}

impl Planned {
    /// Issues the operations; the library's status.
    ///
    /// # Safety
    /// The addresses are those of what was [given](Graph::given), in that order and as it was described, and of so many bytes as the plan says. Numbers are in
    /// the host's memory, until this returns.
    pub unsafe fn run(&self, handle: Handle, at: &[*mut c_void], workspace: *mut c_void) -> c_int {
        const NO_MEMORY: c_int = 2;
        let pack = [
            (attribute::PACK_NAMES, Values::Integers(&self.given)),
            (attribute::PACK_ADDRESSES, Values::Addresses(at)),
            (attribute::PACK_WORKSPACE, Values::Addresses(&[workspace])),
        ];
        let Some(pack) = self.functions.made(kind::PACK, &pack) else { return NO_MEMORY };
        // SAFETY: plan and pack are of this library; the rest is the caller's promise.
        unsafe { (self.functions.execute)(handle, self.plan.at, pack.at) }
    }
}
