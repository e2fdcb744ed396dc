//! Python functions from declared signatures: [`Signature`] is a function as Python sees it, [`bind`] brings a call's arguments to its parameters,
//! [`convert`] turns objects into values and [`results`] values into objects; [`Entry`] is one Python name with its overloads.

mod bind;
pub mod catalogue;
mod convert;
mod doc;
pub mod entry;
mod export;
mod forms;
pub mod intercept;
mod mismatch;
mod native;
mod results;
mod signature;

pub use bind::Arguments;
pub use convert::{int, natural_dtype, scalar};
pub use entry::{Entry, Form, entry};
pub use export::{add_to, gains_inplace};
pub use results::scalar as number;
pub use signature::Signature;
