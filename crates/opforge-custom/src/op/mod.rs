//! A custom operator: what is declared of it, and how it is called.

mod apply;
mod bind;
mod call;
mod changes;
mod declare;
mod device_kernel;
mod gradient;
mod infer;
mod inspect;
mod kernel;
mod load;
mod register;
mod rules;
mod staging;
mod text;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};

use opforge::operator::Role;
use opforge::{DType, Result, Tensor};

use crate::attribute::{Attribute, Attributes};
use crate::library::Place;
use crate::runner::Runner;
use crate::schema::Schema;
use crate::source::Target;

use changes::Changes;

pub use gradient::{Gradient, GradientContext};
pub use rules::{DTypeRule, Lengths, ShapeRule};

type Function = dyn Fn(&[Tensor], &Attributes) -> Result<Vec<Tensor>> + Send + Sync;

/// What computes an operator.
#[derive(Clone)]
enum Body {
    /// A library's functions.
    Kernel(Arc<dyn Runner>),
    /// A function of tensors, which runs on the calling thread, and what stands for it on [`opforge::Device::Meta`]. One that is not `traced` is a call in
    /// graphs, rather than the calls that it makes.
    Function { run: Arc<Function>, fake: Option<Arc<Function>>, traced: bool },
}

/// An operator that a user brought.
///
/// It is declared step by step and then called; clones share everything.
///
/// ```no_run
/// use opforge::{Device, Tensor};
/// use opforge_custom::CustomOp;
/// # fn main() -> opforge::Result<()> {
/// let reduce = CustomOp::load("kernel.cc:CustomKernel")?.attr("axis", 1)?.attr("keep_dim", false)?;
/// let x = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// let y = reduce.apply(&[&x, &x])?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct CustomOp {
    spec: Arc<Spec>,
    bounds: Arc<Bounds>,
    hold: Option<Arc<Hold>>,
    /// Of the operators that its gradient needs.
    further_holds: Vec<Arc<Hold>>,
}

/// Ends a runner's work with the last operator that has it: caches, which have runners too, may live longer.
struct Hold(Arc<dyn Runner>);

impl Hold {
    fn new(runner: Arc<dyn Runner>) -> Arc<Self> {
        Arc::new(Hold(runner))
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.rest();
    }
}

/// Everything declared of an operator.
#[derive(Clone)]
struct Spec {
    place: Place,
    /// The name for the rest of opforge, which knows operators by names that live as long as the program.
    name: &'static str,
    body: Body,
    schema: Option<Schema>,
    changes: Changes,
    /// How many inputs and outputs there are, if that was declared.
    inputs: Option<usize>,
    outputs: Option<usize>,
    shapes: ShapeRule,
    dtypes: DTypeRule,
    /// The combinations of dtypes accepted, of inputs and then outputs; `None` is any dtype. Empty: all combinations.
    accepted: Vec<Vec<Option<DType>>>,
    attributes: Vec<(String, Attribute)>,
    gradient: Option<Gradient>,
    axes: Option<(String, Vec<(char, Role)>)>,
    effects: bool,
    origin: Option<Arc<load::Origin>>,
}

/// The operator with each set of attributes that it has been called with: the cache of prepared calls knows an operator by its identity.
#[derive(Default)]
struct Bounds {
    /// With the attributes that were declared.
    declared: OnceLock<call::Call>,
    others: Mutex<HashMap<Vec<(String, Attribute)>, call::Call>>,
}

impl CustomOp {
    /// The operator's name.
    pub fn name(&self) -> &'static str {
        self.spec.name
    }

    /// The declared parameters, if there are any declared.
    pub fn schema(&self) -> Option<&Schema> {
        self.spec.schema.as_ref()
    }

    /// The declared attributes.
    pub fn attributes(&self) -> &[(String, Attribute)] {
        &self.spec.attributes
    }

    /// How many outputs are declared.
    pub fn output_count(&self) -> Option<usize> {
        self.spec.output_count()
    }

    /// Whether a gradient is declared.
    pub fn has_gradient(&self) -> bool {
        self.spec.gradient.is_some()
    }
}

impl Spec {
    fn output_count(&self) -> Option<usize> {
        let of_shapes = match &self.shapes {
            ShapeRule::Fixed(shapes) => Some(shapes.len()),
            _ => None,
        };
        // One dtype stands for any number of outputs.
        let of_dtypes = match &self.dtypes {
            DTypeRule::Fixed(dtypes) if dtypes.len() > 1 => Some(dtypes.len()),
            _ => None,
        };
        let of_schema = || self.schema.as_ref().map(|schema| schema.outputs.len());
        self.outputs.or_else(of_schema).or(of_shapes).or(of_dtypes)
    }

    /// Whether its library has code of NVIDIA's GPUs.
    fn is_for_cuda(&self) -> bool {
        self.origin.as_ref().is_some_and(|origin| origin.artifact.target == Target::Cuda)
    }

    /// How the operator and its arguments are called in errors about input `i`.
    fn input_name(&self, i: usize) -> String {
        let declared = self.schema.as_ref().and_then(|schema| schema.tensors().nth(i));
        declared.map_or_else(|| format!("input {i}"), |(name, _)| name.to_owned())
    }
}

impl fmt::Debug for CustomOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { op, library, function } = &self.spec.place;
        write!(f, "CustomOp({op}, {library}:{function})")
    }
}
