//! Boxing: from one distribution of a tensor to another. A [`Plan`] is the cheapest route, as data; who has the parts executes it.
//!
//! Routes are searched by cost over distributions (`search.rs`), not listed. Parts are regions, which may be empty, so that nothing has to divide.

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
