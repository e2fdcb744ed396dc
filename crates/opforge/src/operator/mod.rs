//! What an operator is: the trait that each file under [`crate::ops`] implements.
//!
//! An operator is a value whose fields are its attributes. The value's equality and hash are the key of the inference cache; a node of the autograd
//! graph, and a node of a traced graph, own a copy. [Families](crate::family) fill in most of the trait, or [`Plain`](crate::family::Plain) where
//! constants and a form say all.

mod axes;
mod law;
mod lowering;
mod place;
mod reader;
mod reduction;
mod rows;
mod tile;
mod work;

use std::any::{Any, TypeId};
use std::fmt::Debug;
use std::hash::{Hash, Hasher};
use std::ops::{BitOr, RangeInclusive};
use std::panic::Location;

use opforge_core::term::Term;
use rustc_hash::FxHasher;
use smallvec::SmallVec;

pub use axes::{Axis, AxisMap, Linearity, Role};
pub use law::{Law, Repeats};
pub use lowering::{Lowering, TensorFunction};
pub use opforge_core::term::Attributes;
pub use opforge_macros::Attributes;
pub use place::Place;
pub use reader::{Readable, Reader};
pub use reduction::Reduce;
pub use rows::Rows;
pub use tile::Tile;
pub(crate) use tile::rounded;
pub use work::{Work, distinct_bytes};

use crate::autograd::Backward;
use crate::{Device, Error, Layout, Meta, Result, Shape, Tensor};

/// The metas of an operator's outputs.
pub type Metas = SmallVec<[Meta; 1]>;
/// An operator's outputs.
pub type Tensors = SmallVec<[Tensor; 2]>;
/// A gradient for each input of an operator, or `None` where the operator has none to give.
pub type Grads = SmallVec<[Option<Tensor>; 3]>;

/// One operator with its attributes: everything that the interpreters need to know to run it anywhere.
///
/// Implementations are small values: the fields are the attributes. Two equal values with inputs of equal metas infer and compute the same,
/// which is what the inference cache relies on.
pub trait Operator: OperatorKey + Debug + Send + Sync + 'static {
    /// The name, as in the catalogue and in error messages.
    fn name(&self) -> &'static str;

    /// The device of the outputs, where inputs do not say it: of operators without any, and of those that move them.
    fn device(&self) -> Option<Device> {
        None
    }

    /// Checks the inputs and says what the outputs are. Never looks at the layouts' offsets.
    fn infer(&self, inputs: &[&Meta]) -> Result<Metas>;

    /// For a view: how it changes its input's layout. Interpreters run a view without a kernel.
    fn view(&self, _input: &Layout) -> Option<Result<Layout>> {
        None
    }

    /// Whether the view's layout is one of the whole storage, whatever the input shows of it.
    fn views_storage(&self) -> bool {
        false
    }

    /// As [`Operator::view`], of a part of the input as [`Operator::axes`] allows it; the result has the shape `part`.
    fn view_of_part(&self, input: &Layout, _part: &Shape) -> Option<Result<Layout>> {
        self.view(input)
    }

    /// How axes flow from inputs to outputs, for inputs that passed [`Operator::infer`].
    fn axes(&self, inputs: &[&Meta]) -> AxisMap;

    /// What is computed of these inputs and outputs; outputs are those of [`Operator::infer`], or others of equal shape and dtype.
    ///
    /// A kernel in it must be prepared for exactly these metas: interpreters run it on memory of these layouts.
    fn lower(&self, inputs: &[&Meta], outputs: &[&Meta]) -> Result<Lowering>;

    /// As [`Operator::lower`], of parts that lie there in the whole: for operators whose elements depend on that.
    fn lower_part(&self, inputs: &[&Meta], outputs: &[&Meta], _place: &Place) -> Result<Lowering> {
        self.lower(inputs, outputs)
    }

    /// Which tensors [`Operator::backward`] reads. What is not named is not kept alive.
    fn saves(&self) -> Saves {
        Saves::NOTHING
    }

    /// What the gradient of input `i` reads, of what [`Operator::saves`] names: kept where that input alone needs a gradient.
    fn saves_for(&self, _i: usize) -> Saves {
        self.saves()
    }

    /// Whether outputs depend smoothly enough on inputs to have a gradient.
    fn differentiable(&self) -> bool {
        true
    }

    /// Which outputs carry a gradient, a bit each; the others are by-products.
    fn differentiable_outputs(&self) -> u32 {
        u32::MAX
    }

    /// Whether the result may be written over input `i`, given as the very same view: the kernel never reads an element of it after writing
    /// there.
    fn overwrites(&self, _i: usize) -> bool {
        false
    }

    /// Whether the kernel may fail for what it finds in elements. In place such a call waits, so that its failure leaves the tensor as it was.
    fn refuses_elements(&self, _inputs: &[&Tensor]) -> bool {
        false
    }

    /// Whether a call does more than computing its outputs: it must then neither be left out nor merged with an equal one.
    fn has_effects(&self) -> bool {
        false
    }

    /// Of which inputs that are sums the outputs are the sums of what each summand gives.
    fn linearity(&self) -> Linearity {
        Linearity::None
    }

    /// Which tensor the result equals, bit for bit, that is there anyway: if the only input is of this meta, and was made by `before` from a tensor of
    /// the other one.
    fn law(&self, _input: &Meta, _before: Option<(&dyn Operator, &Meta)>) -> Option<Law> {
        None
    }

    /// The same results by operators whose axes may be split where this one needs them whole: what is done with parts that lie apart.
    fn decompose(&self, _inputs: &[&Tensor]) -> Option<Result<Tensors>> {
        None
    }

    /// The inputs' gradients from the outputs', made of operators so that it can be differentiated again.
    fn backward(&self, _ctx: &Backward<'_>) -> Result<Grads> {
        Err(Error::autograd(self.name(), "gradient", "requested", "an operator that defines backward"))
    }
}

/// A call as an interpreter sees it: inputs that the functional layer has checked and promoted.
pub struct Call<'a> {
    /// The operator with its attributes.
    pub op: &'a dyn Operator,
    /// Its inputs.
    pub inputs: &'a [&'a Tensor],
    /// Tensors to write instead of new ones: in-place forms and `out=`.
    pub outputs: Option<&'a [&'a Tensor]>,
    /// Where the user called.
    pub at: &'static Location<'static>,
}

/// Which inputs and outputs an operator saves for its backward, a bit each.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Saves {
    /// Bit `i` is set when input `i` is needed.
    pub inputs: u32,
    /// Bit `i` is set when output `i` is needed.
    pub outputs: u32,
}

impl Debug for Saves {
    /// `inputs [0, 1], outputs all`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = |bits: u32| match bits {
            0 => "none".to_owned(),
            u32::MAX => "all".to_owned(),
            some => format!("{:?}", (0..u32::BITS).filter(|i| some >> i & 1 == 1).collect::<Vec<_>>()),
        };
        write!(f, "inputs {}, outputs {}", names(self.inputs), names(self.outputs))
    }
}

impl Saves {
    /// Backward needs shapes and dtypes only.
    pub const NOTHING: Saves = Saves { inputs: 0, outputs: 0 };
    /// Backward reads every input.
    pub const INPUTS: Saves = Saves { inputs: u32::MAX, outputs: 0 };
    /// Backward reads every output.
    pub const OUTPUTS: Saves = Saves { inputs: 0, outputs: u32::MAX };

    /// Backward reads these inputs, by index.
    pub const fn inputs<const N: usize>(which: [u32; N]) -> Saves {
        let (mut bits, mut i) = (0, 0);
        while i < N {
            bits |= 1 << which[i];
            i += 1;
        }
        Saves { inputs: bits, outputs: 0 }
    }
}

impl BitOr for Saves {
    type Output = Saves;
    fn bitor(self, other: Saves) -> Saves {
        Saves { inputs: self.inputs | other.inputs, outputs: self.outputs | other.outputs }
    }
}

/// Identity of an operator value: its type and its attributes. Implemented for every operator that is `Clone + Eq + Hash + Attributes`.
pub trait OperatorKey {
    /// The value as `Any`, to compare across types.
    fn as_any(&self) -> &dyn Any;
    /// Same type, equal attributes.
    fn same(&self, other: &dyn Operator) -> bool;
    /// A hash of type and attributes.
    fn key_hash(&self) -> u64;
    /// An owned copy.
    fn boxed(&self) -> Box<dyn Operator>;
    /// Type and attributes as text; the registry's `read_operator` reads it.
    fn term(&self) -> Term;
}

impl<T: Operator + Clone + Eq + Hash + Attributes> OperatorKey for T {
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn same(&self, other: &dyn Operator) -> bool {
        other.as_any().downcast_ref::<T>().is_some_and(|other| other == self)
    }
    fn key_hash(&self) -> u64 {
        let mut hasher = FxHasher::default();
        TypeId::of::<T>().hash(&mut hasher);
        self.hash(&mut hasher);
        hasher.finish()
    }
    fn boxed(&self) -> Box<dyn Operator> {
        Box::new(self.clone())
    }
    fn term(&self) -> Term {
        self.write()
    }
}

/// Fails unless there are exactly `n` inputs.
pub fn arity(op: &'static str, inputs: &[&Meta], n: usize) -> Result<()> {
    if inputs.len() == n {
        return Ok(());
    }
    Err(Error::value(op, "inputs", inputs.len(), format!("{n} tensors")))
}

/// Fails unless the number of inputs is one of these, and each of the first `of_rank.0` has `of_rank.1` dimensions or more.
pub fn arity_within(
    op: &'static str,
    inputs: &[&Meta],
    counts: RangeInclusive<usize>,
    (first, rank): (usize, usize),
) -> Result<()> {
    if !counts.contains(&inputs.len()) {
        return Err(Error::value(
            op,
            "inputs",
            inputs.len(),
            format!("{} to {} tensors", counts.start(), counts.end()),
        ));
    }
    match inputs.iter().take(first).find(|input| input.rank() < rank) {
        None => Ok(()),
        Some(input) => Err(Error::shape(op, "input", format!("{:?}", input.shape()), format!("rank at least {rank}"))),
    }
}
