//! Routes from one distribution to another.

use std::fmt;

use opforge_core::{DType, Result, Shape};

use super::{Change, Costs, cost, search};
use crate::Distribution;

/// One change of a route.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// What is done.
    pub change: Change,
    /// The distribution before.
    pub from: Distribution,
    /// The distribution after.
    pub to: Distribution,
    /// Bytes that all ranks together receive.
    pub bytes: u64,
    /// Bytes that the rank receives that receives most.
    pub busiest: u64,
    /// Seconds, by the costs that the plan was made with.
    pub seconds: f64,
}

/// The cheapest route from one distribution of a tensor to another: plain data, the same on all ranks.
///
/// ```
/// use opforge_core::{DType, Shape};
/// use opforge_dist::{Costs, Distribution, Plan, Reduction, Sbp};
///
/// let partial = Distribution::new("cpu[0, 1, 2, 3]".parse()?, &[Sbp::Partial(Reduction::Sum)])?;
/// let split = Distribution::new("cpu[0, 1, 2, 3]".parse()?, &[Sbp::Split(0)])?;
/// let plan = Plan::new(DType::F32, Shape::from((8, 2)), partial, split, &Costs::default())?;
/// assert_eq!(plan.to_string(), "reduce_scatter(sum, axis 0) along 0: 192 bytes");
/// # Ok::<(), opforge_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    dtype: DType,
    shape: Shape,
    from: Distribution,
    to: Distribution,
    steps: Vec<Step>,
}

impl Plan {
    /// Finds the route of the least time by the given costs.
    ///
    /// # Errors
    /// A distribution that does not go with the shape, or a partial one whose reduction does not take the dtype; kinds of devices that
    /// differ; costs that are negative or not finite.
    pub fn new(dtype: DType, shape: Shape, from: Distribution, to: Distribution, costs: &Costs) -> Result<Self> {
        costs.check()?;
        search::check(dtype, &shape, &from)?;
        search::check(dtype, &shape, &to)?;
        let route = search::cheapest(dtype, &shape, &from, &to, costs)?;
        let steps = route.into_iter().map(|(change, from, to)| step(dtype, &shape, change, from, to, costs)).collect();
        Ok(Plan { dtype, shape, from, to, steps })
    }

    /// The elements' dtype.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The shape of the whole tensor.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The distribution before.
    pub fn from(&self) -> &Distribution {
        &self.from
    }

    /// The distribution after.
    pub fn to(&self) -> &Distribution {
        &self.to
    }

    /// The changes, in order; none where nothing is to be done.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Bytes that all ranks together receive.
    pub fn bytes(&self) -> u64 {
        self.steps.iter().map(|step| step.bytes).sum()
    }

    /// Seconds, by the costs that the plan was made with.
    pub fn seconds(&self) -> f64 {
        self.steps.iter().map(|step| step.seconds).sum()
    }
}

fn step(dtype: DType, shape: &Shape, change: Change, from: Distribution, to: Distribution, costs: &Costs) -> Step {
    let size = dtype.size_in_bytes();
    let received = |position| (cost::received(change, shape, &from, &to, position) * size) as u64;
    let ranks = 0..to.placement().ranks().len();
    let (bytes, busiest) = ranks.map(received).fold((0, 0), |(sum, most), bytes| (sum + bytes, bytes.max(most)));
    let seconds = costs.seconds(change, size, shape, &from, &to);
    Step { change, from, to, bytes, busiest, seconds }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.change)?;
        if self.change.is_local() { Ok(()) } else { write!(f, ": {} bytes", self.bytes) }
    }
}

/// The steps, with the bytes that all ranks together receive.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps: Vec<String> = self.steps.iter().map(Step::to_string).collect();
        f.write_str(if steps.is_empty() { "nothing" } else { "" })?;
        f.write_str(&steps.join("; "))
    }
}
