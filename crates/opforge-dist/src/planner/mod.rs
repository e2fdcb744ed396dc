//! The planner: which distributions of weights, inputs and what is computed of them let a program take the least time on a machine, without the machine.
//!
//! A program runs on simulated ranks, seen from a rank that is none of them: its global tensors have shapes and distributions but no elements, the interpreter chooses
//! and boxes as ever, and instead of carrying calls out it adds up what they cost. So a plan costs what the program's own calls cost, those of its gradients and its optimizer too.
//!
//! ```
//! use opforge::{DType, Result, Tensor};
//! use opforge_dist::Costs;
//! use opforge_dist::planner::{Lies, Machine, Simulation, Space, Spent, Variable, search};
//!
//! // A product of few rows and a large weight, on four devices.
//! let machine = Machine { flops: 1e12, bytes: 1e11, launch: 1e-6, memory: None, costs: Costs::default() };
//! let simulation = Simulation::new(&machine, &[4])?;
//! let space = Space::new(simulation.placement(), vec![Variable::input("x", (8, 4096)), Variable::weight("w", (4096, 4096))]);
//! let evaluate = |chosen: &[Lies]| -> Result<Spent> {
//!     simulation.run(|| {
//!         let tensors: Vec<Tensor> =
//!             (0..2).map(|i| simulation.tensor(&space, i, DType::F32, &chosen[i])).collect::<Result<_>>()?;
//!         tensors[0].matmul(&tensors[1])
//!     })?;
//!     Ok(simulation.take())
//! };
//! let found = search(&simulation, &space, evaluate)?;
//! assert!(matches!(found.best.lies[1][0], Some(opforge_dist::Sbp::Split(_))), "the weight is split");
//! # Ok::<(), opforge::Error>(())
//! ```

mod ledger;
mod machine;
mod nowhere;
mod search;
mod simulation;
mod space;
mod usual;

pub use ledger::Spent;
pub(crate) use ledger::{Held, Ledger};
pub use machine::Machine;
pub use search::{Found, Planned, search};
pub use simulation::Simulation;
pub use space::{Kind, Lies, Space, Variable, lay};
