//! From the attributes of a call to the operator bound to them.

use std::sync::{Arc, PoisonError};

use opforge::{Error, Result};

use super::call::{Bound, Call};
use super::{CustomOp, Spec};
use crate::attribute::{Attribute, Attributes};
use crate::schema::Schema;

/// The most sets of attributes that an operator remembers.
const REMEMBERED: usize = 1024;

impl CustomOp {
    /// The operator with its declared attributes.
    #[inline]
    pub(super) fn declared(&self) -> Result<&Call> {
        match self.bounds.declared.get() {
            Some(call) => Ok(call),
            None => {
                let call = self.bind(&[])?;
                Ok(self.bounds.declared.get_or_init(|| call))
            }
        }
    }

    /// The operator with further attributes, which win over declared ones.
    pub(super) fn with(&self, attributes: &[(String, Attribute)]) -> Result<Call> {
        if attributes.is_empty() {
            return self.declared().cloned();
        }
        let mut others = self.bounds.others.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(call) = others.get(attributes) {
            return Ok(call.clone());
        }
        let call = self.bind(attributes)?;
        if others.len() >= REMEMBERED {
            others.clear();
        }
        others.insert(attributes.to_vec(), call.clone());
        Ok(call)
    }

    fn bind(&self, given: &[(String, Attribute)]) -> Result<Call> {
        let spec = &self.spec;
        let mut values = spec.attributes.clone();
        for (name, value) in given {
            let value = match &spec.schema {
                Some(schema) => checked(spec, schema, name, value.clone())?,
                None => value.clone(),
            };
            values.retain(|(own, _)| own != name);
            values.push((name.clone(), value));
        }
        for (name, ty, default) in spec.schema.iter().flat_map(Schema::attributes) {
            if values.iter().any(|(own, _)| own == name) {
                continue;
            }
            let Some(default) = default else {
                let accepted = format!("a value of type {ty}");
                return Err(Error::value(spec.name, name.to_owned(), "not given", accepted));
            };
            values.push((name.to_owned(), default.clone()));
        }
        let attributes = Arc::new(Attributes::new(spec.name, values)?);
        Ok(Call(Arc::new(Bound { spec: spec.clone(), attributes })))
    }
}

/// A value as the schema wants it.
pub(super) fn checked(spec: &Spec, schema: &Schema, name: &str, value: Attribute) -> Result<Attribute> {
    let Some((_, ty, _)) = schema.attributes().find(|(own, ..)| *own == name) else {
        let names: Vec<&str> = schema.attributes().map(|(name, ..)| name).collect();
        let accepted = format!("attributes {}", if names.is_empty() { "none".to_owned() } else { names.join(", ") });
        return Err(Error::value(spec.name, "attribute", name, accepted));
    };
    let wrong =
        || Error::value(spec.name, name.to_owned(), format!("{value} of type {}", value.ty()), format!("type {ty}"));
    value.to_type(ty).ok_or_else(wrong)
}
