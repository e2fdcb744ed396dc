//! All operators and functions there are.

use std::sync::RwLock;

use crate::declaration::{Definition, Function};
use crate::{Error, Result};

/// Operators that were added at run time.
static ADDED: RwLock<Vec<&'static Definition>> = RwLock::new(Vec::new());

/// Adds an operator from outside of this crate to the registry.
///
/// # Errors
/// When an operator of that name is there already.
pub fn register(definition: &'static Definition) -> Result<()> {
    let mut added = ADDED.write().unwrap_or_else(std::sync::PoisonError::into_inner);
    let taken = |d: &&&'static Definition| d.name == definition.name;
    if crate::ops::OPERATORS.iter().chain(added.iter()).any(|d| taken(&d)) {
        return Err(Error::value("register", "name", definition.name, "a name that no operator has"));
    }
    added.push(definition);
    Ok(())
}

/// Every function that users call, in the order in which overloads are tried: the operators' own, then compositions.
pub fn functions() -> Vec<&'static Function> {
    let operators = operators().into_iter().map(|definition| definition.function);
    operators.chain(crate::functional::compositions()).collect()
}

/// Every operator in the registry: the built-in ones, then those added at run time.
pub fn operators() -> Vec<&'static Definition> {
    let added = ADDED.read().unwrap_or_else(std::sync::PoisonError::into_inner);
    crate::ops::OPERATORS.iter().chain(added.iter()).copied().collect()
}
