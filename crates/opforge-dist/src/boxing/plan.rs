//! Routes from one distribution to another.

use std::fmt;
use std::sync::OnceLock;

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
#[derive(Debug, Clone)]
pub struct Plan {
    dtype: DType,
    shape: Shape,
    from: Distribution,
    to: Distribution,
    steps: Vec<Step>,
    /// The bytes of each step, once they are asked for: every rank's parts are looked at.
    bytes: OnceLock<Vec<u64>>,
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
        Ok(Plan { dtype, shape, from, to, steps, bytes: OnceLock::new() })
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
        self.bytes_by_step().iter().sum()
    }

    /// Of each step, the bytes that all ranks together receive.
    pub fn bytes_by_step(&self) -> &[u64] {
        self.bytes.get_or_init(|| self.steps.iter().map(|step| self.received(step)).collect())
    }

    fn received(&self, step: &Step) -> u64 {
        let ranks = 0..step.to.placement().ranks().len();
        let received = |position| cost::received(step.change, &self.shape, &step.from, &step.to, position);
        ranks.map(received).map(|elements| (elements * self.dtype.size_in_bytes()) as u64).sum()
    }

    /// Seconds, by the costs that the plan was made with.
    pub fn seconds(&self) -> f64 {
        self.steps.iter().map(|step| step.seconds).sum()
    }
}

fn step(dtype: DType, shape: &Shape, change: Change, from: Distribution, to: Distribution, costs: &Costs) -> Step {
    let seconds = costs.seconds(change, dtype.size_in_bytes(), shape, &from, &to);
    Step { change, from, to, seconds }
}

/// The steps, with the bytes that all ranks together receive.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |(step, bytes): (&Step, &u64)| match step.change.is_local() {
            true => step.change.to_string(),
            false => format!("{}: {bytes} bytes", step.change),
        };
        let steps: Vec<String> = self.steps.iter().zip(self.bytes_by_step()).map(show).collect();
        f.write_str(if steps.is_empty() { "nothing" } else { "" })?;
        f.write_str(&steps.join("; "))
    }
}
