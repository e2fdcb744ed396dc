//! All operators and functions there are: the built-in ones, from the one list in `ops/mod.rs`, and those that join at run time by [`register`].
//! Tests, fuzzing and benchmarks go through the registry, so that they cover what is added.

use std::collections::HashMap;
use std::sync::{OnceLock, RwLock};

use crate::declaration::{Definition, Function};
use crate::operator::{Operator, Reader};
use crate::term::{Term, unexpected};
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

/// The operator that [`OperatorKey::term`](crate::operator::OperatorKey::term) wrote, one of this crate's or of those that were added.
///
/// ```
/// use opforge::operator::OperatorKey;
/// use opforge::ops::shape::transpose::Transpose;
/// use opforge::term::Parser;
///
/// let transpose = opforge::family::ViewOp(Transpose { dim0: 0, dim1: 1 });
/// let text = "ViewOp<Transpose>(Transpose(dim0=0, dim1=1))";
/// assert_eq!(transpose.term().to_string(), text);
/// let term = Parser::new(text, "operator").term()?;
/// assert!(opforge::registry::read_operator(&term)?.same(&transpose));
/// # Ok::<(), opforge::Error>(())
/// ```
///
/// # Errors
/// For names that no operator has, and attributes that this one does not have.
pub fn read_operator(term: &Term) -> Result<Box<dyn Operator>> {
    let unknown = || unexpected("registry", term, "an operator that is registered");
    let head = term.head().ok_or_else(unknown)?;
    let reader = built_in().get(head).copied().or_else(|| added(head)).ok_or_else(unknown)?;
    (reader.read)(term)
}

/// The readers of this crate's operators, by the names of their types.
fn built_in() -> &'static HashMap<String, Reader> {
    static READERS: OnceLock<HashMap<String, Reader>> = OnceLock::new();
    READERS.get_or_init(|| {
        let readers = crate::ops::OPERATORS.iter().copied().flat_map(readers);
        readers.map(|reader| ((reader.name)(), reader)).collect()
    })
}

fn added(name: &str) -> Option<Reader> {
    let added = ADDED.read().unwrap_or_else(std::sync::PoisonError::into_inner);
    added.iter().copied().flat_map(readers).find(|reader| (reader.name)() == name)
}

fn readers(definition: &'static Definition) -> impl Iterator<Item = Reader> {
    definition.readers.iter().copied().flatten().copied()
}
