//! Boxing: from one distribution of a tensor to another. A [`Plan`] is the cheapest route, as data; who has the parts executes it.

mod change;
mod cost;
mod execute;
mod identity;
mod moves;
mod plan;
mod search;

pub use change::Change;
pub use cost::{Costs, Link};
pub use execute::Groups;
pub(crate) use identity::identities;
pub use plan::{Plan, Step};
