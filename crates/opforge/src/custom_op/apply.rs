//! From a custom operator to a call that is recorded like any other.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::panic::Location;
use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use super::{CpuStorage, CustomOp1, CustomOp2, CustomOp3, host};
use crate::autograd::Backward;
use crate::dispatch::{Autograd, Call, Interpreter};
use crate::operator::{Attributes, AxisMap, Grads, Lowering, Metas, Operator, Saves, Tensors};
use crate::term::{Term, unexpected};
use crate::{Error, Layout, Meta, Result, Shape, Tensor};

/// An argument as a custom operator sees it.
type Arg = (CpuStorage, Layout, usize);

/// The custom operators of one, two and three arguments as one.
trait Rule: Send + Sync {
    fn name(&self) -> &'static str;
    fn forward(&self, args: &[Arg]) -> Result<(CpuStorage, Shape)>;
    fn backward(&self, args: &[Tensor], res: &Tensor, grad: &Tensor) -> Result<Grads>;
}

struct One<C>(C);
struct Two<C>(C);
struct Three<C>(C);

impl<C: CustomOp1 + Send + Sync> Rule for One<C> {
    fn name(&self) -> &'static str {
        self.0.name()
    }
    fn forward(&self, args: &[Arg]) -> Result<(CpuStorage, Shape)> {
        self.0.cpu_fwd(&args[0].0, &args[0].1)
    }
    fn backward(&self, args: &[Tensor], res: &Tensor, grad: &Tensor) -> Result<Grads> {
        Ok(smallvec![self.0.bwd(&args[0], res, grad)?])
    }
}

impl<C: CustomOp2 + Send + Sync> Rule for Two<C> {
    fn name(&self) -> &'static str {
        self.0.name()
    }
    fn forward(&self, args: &[Arg]) -> Result<(CpuStorage, Shape)> {
        self.0.cpu_fwd(&args[0].0, &args[0].1, &args[1].0, &args[1].1)
    }
    fn backward(&self, args: &[Tensor], res: &Tensor, grad: &Tensor) -> Result<Grads> {
        let (a, b) = self.0.bwd(&args[0], &args[1], res, grad)?;
        Ok(smallvec![a, b])
    }
}

impl<C: CustomOp3 + Send + Sync> Rule for Three<C> {
    fn name(&self) -> &'static str {
        self.0.name()
    }
    fn forward(&self, args: &[Arg]) -> Result<(CpuStorage, Shape)> {
        let [a, b, c] = [&args[0], &args[1], &args[2]];
        self.0.cpu_fwd(&a.0, &a.1, &b.0, &b.1, &c.0, &c.1)
    }
    fn backward(&self, args: &[Tensor], res: &Tensor, grad: &Tensor) -> Result<Grads> {
        let (a, b, c) = self.0.bwd(&args[0], &args[1], &args[2], res, grad)?;
        Ok(smallvec![a, b, c])
    }
}

/// A custom operator in the graph. It is equal to itself only.
#[derive(Clone)]
struct Custom(Arc<dyn Rule>);

impl fmt::Debug for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}
impl PartialEq for Custom {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
impl Eq for Custom {}
impl Hash for Custom {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).cast::<()>().hash(state);
    }
}

impl Attributes for Custom {
    fn type_name() -> String {
        "CustomOp".to_owned()
    }
    fn write(&self) -> Term {
        Term::name(self.0.name())
    }
    fn read(term: &Term) -> Result<Self> {
        Err(unexpected(
            "CustomOp",
            term,
            "an operator that can be read: those of `apply_op1` and such are values of the program",
        ))
    }
}

impl Custom {
    /// What is known of the result only once it has been computed.
    fn unknown(&self, what: &'static str) -> Error {
        Error::value(self.0.name(), what, "asked for before the call", "an operator that runs at once")
    }
}

impl Operator for Custom {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn infer(&self, _: &[&Meta]) -> Result<Metas> {
        Err(self.unknown("shape"))
    }

    /// Nothing is known of how axes flow.
    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        let none = |meta: &&Meta| SmallVec::from_elem(None, meta.rank());
        AxisMap { inputs: inputs.iter().map(none).collect(), outputs: vec![], roles: SmallVec::new() }
    }

    fn lower(&self, _: &[&Meta], _: &[&Meta]) -> Result<Lowering> {
        Err(self.unknown("kernel"))
    }

    fn saves(&self) -> Saves {
        Saves { inputs: u32::MAX, outputs: u32::MAX }
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let args = (0..ctx.input_count()).map(|i| ctx.input(i)).collect::<Result<Vec<_>>>()?;
        self.0.backward(&args, &ctx.output(0)?, &ctx.grad(0)?)
    }
}

/// Runs custom operators on the calling thread.
struct OnHost;

impl Interpreter for OnHost {
    fn interpret(&self, call: &Call<'_>) -> Result<Tensors> {
        let custom = call.op.as_any().downcast_ref::<Custom>();
        let rule = &custom.ok_or_else(|| Error::value(call.op.name(), "op", "not custom", "a custom operator"))?.0;
        let args = call.inputs.iter().map(|t| host::spanned(t)).collect::<Result<Vec<_>>>()?;
        let (storage, shape) = rule.forward(&args)?;
        let result = host::into_tensor(storage, shape, call.inputs[0].device())
            .map_err(|error| error.context(format!("the result of {}", rule.name())))?;
        Ok(smallvec![result])
    }
}

#[track_caller]
fn apply(rule: Arc<dyn Rule>, inputs: &[&Tensor]) -> Result<Tensor> {
    let custom = Custom(rule);
    let call = Call { op: &custom, inputs, outputs: None, at: Location::caller() };
    let mut outputs = Autograd { inner: OnHost }.interpret(&call)?;
    Ok(outputs.swap_remove(0))
}

impl Tensor {
    /// Applies a custom operator.
    ///
    /// # Errors
    /// Those of the operator; a result with another number of elements than its shape has.
    #[track_caller]
    pub fn apply_op1<C: CustomOp1 + Send + Sync + 'static>(&self, c: C) -> Result<Tensor> {
        apply(Arc::new(One(c)), &[self])
    }

    /// Applies a custom operator of two tensors.
    ///
    /// # Errors
    /// As [`Tensor::apply_op1`].
    #[track_caller]
    pub fn apply_op2<C: CustomOp2 + Send + Sync + 'static>(&self, rhs: &Tensor, c: C) -> Result<Tensor> {
        apply(Arc::new(Two(c)), &[self, rhs])
    }

    /// Applies a custom operator of three tensors.
    ///
    /// # Errors
    /// As [`Tensor::apply_op1`].
    #[track_caller]
    pub fn apply_op3<C: CustomOp3 + Send + Sync + 'static>(&self, t2: &Tensor, t3: &Tensor, c: C) -> Result<Tensor> {
        apply(Arc::new(Three(c)), &[self, t2, t3])
    }

    /// Applies a custom operator without recording it.
    ///
    /// # Errors
    /// As [`Tensor::apply_op1`].
    pub fn apply_op1_no_bwd<C: CustomOp1>(&self, c: &C) -> Result<Tensor> {
        let (s, l, _) = host::spanned(self)?;
        let (storage, shape) = c.cpu_fwd(&s, &l)?;
        host::into_tensor(storage, shape, self.device())
    }

    /// Applies a custom operator of two tensors without recording it.
    ///
    /// # Errors
    /// As [`Tensor::apply_op1`].
    pub fn apply_op2_no_bwd<C: CustomOp2>(&self, rhs: &Tensor, c: &C) -> Result<Tensor> {
        let ((s1, l1, _), (s2, l2, _)) = (host::spanned(self)?, host::spanned(rhs)?);
        let (storage, shape) = c.cpu_fwd(&s1, &l1, &s2, &l2)?;
        host::into_tensor(storage, shape, self.device())
    }

    /// Applies a custom operator of three tensors without recording it.
    ///
    /// # Errors
    /// As [`Tensor::apply_op1`].
    pub fn apply_op3_no_bwd<C: CustomOp3>(&self, t2: &Tensor, t3: &Tensor, c: &C) -> Result<Tensor> {
        let ((s1, l1, _), (s2, l2, _), (s3, l3, _)) = (host::spanned(self)?, host::spanned(t2)?, host::spanned(t3)?);
        let (storage, shape) = c.cpu_fwd(&s1, &l1, &s2, &l2, &s3, &l3)?;
        host::into_tensor(storage, shape, self.device())
    }
}
