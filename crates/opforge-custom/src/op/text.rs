//! Custom operators in the text of graphs: by the names under which they are registered.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use opforge::term::{Attributes, Fields, Term, record, unexpected};
use opforge::{Error, Result};

use super::CustomOp;
use super::call::Call;
use crate::attribute::Attribute;

/// The operators that were registered, which texts can name.
static REGISTERED: RwLock<Option<HashMap<&'static str, CustomOp>>> = RwLock::new(None);

/// Has texts that name the operator mean this one.
pub(super) fn remember(op: &CustomOp) {
    let mut registered = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    registered.get_or_insert_default().insert(op.name(), op.clone());
}

fn registered(name: &str) -> Result<CustomOp> {
    let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    let found = registered.as_ref().and_then(|all| all.get(name)).cloned();
    found.ok_or_else(|| Error::value("CustomOp", "name", name, "an operator that is registered"))
}

impl Attributes for Call {
    fn type_name() -> String {
        "CustomOp".to_owned()
    }

    fn write(&self) -> Term {
        let pairs = self.0.attributes.iter().map(|(name, value)| Pair(name.to_owned(), value.clone()));
        let attributes = pairs.collect::<Vec<Pair>>().write();
        let name = self.0.spec.name.to_owned().write();
        record(Self::type_name(), [("name", Some(name)), ("attributes", Some(attributes))])
    }

    fn read(term: &Term) -> Result<Self> {
        let mut fields = Fields::of(term, &Self::type_name())?;
        let op = registered(&fields.next::<String>("name")?)?;
        let attributes: Vec<Pair> = fields.next("attributes")?;
        fields.end()?;
        let attributes: Vec<(String, Attribute)> =
            attributes.into_iter().map(|Pair(name, value)| (name, value)).collect();
        let declared = op.declared()?;
        let own = declared.0.attributes.iter().map(|(name, value)| (name.to_owned(), value.clone()));
        if own.eq(attributes.iter().cloned()) { Ok(declared.clone()) } else { op.with(&attributes) }
    }
}

/// An attribute with its name.
struct Pair(String, Attribute);

impl Attributes for Pair {
    fn type_name() -> String {
        "Attribute".to_owned()
    }
    fn write(&self) -> Term {
        Term::List(vec![self.0.write(), self.1.write()])
    }
    fn read(term: &Term) -> Result<Self> {
        match term {
            Term::List(pair) if pair.len() == 2 => Ok(Pair(String::read(&pair[0])?, Attribute::read(&pair[1])?)),
            _ => Err(unexpected("attribute", term, "[name, value]")),
        }
    }
}
