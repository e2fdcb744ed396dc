//! An operator in the registry, where it is listed, bound and tested as opforge's own are.

use opforge::declaration::{Array, DTypes, Default, Definition, Function, Param, Sample, Type, Value};
use opforge::dispatch::Out;
use opforge::operator::Readable;
use opforge::registry::register;
use opforge::{Error, Result, Scalar, Tensor};

use super::CustomOp;
use super::call::Call;
use super::text::remember;
use crate::attribute::{Attribute, AttributeType};
use crate::schema::{ParamKind, Schema};

impl CustomOp {
    /// Enters the operator into the registry, for as long as the program runs, where texts of graphs find it. Its schema is its signature; `samples` drive the checks that every
    /// registered operator must pass, and may be none.
    ///
    /// # Errors
    /// Without a schema; for attributes that functions cannot have, lists of lists; when another operator has the name.
    pub fn register(&self, doc: &'static str, dtypes: DTypes, samples: fn() -> Vec<Sample>) -> Result<()> {
        let Some(schema) = self.schema() else {
            return Err(Error::value(self.name(), "schema", "none", "a declared schema"));
        };
        let params = schema.params.iter().map(|param| self.param(param)).collect::<Result<Vec<_>>>()?;
        let (op, names) = (self.clone(), schema.clone());
        let function = Function {
            name: self.name(),
            module: "custom",
            doc,
            params: Box::leak(params.into()),
            returns: if schema.several { "Vec<Tensor>" } else { "Tensor" },
            declared_faces: None,
            view: false,
            call: Box::leak(Box::new(move |values: &[Value], _: Out<'_>| op.call_values(&names, values))),
        };
        let function = Box::leak(Box::new(function));
        let definition = Definition {
            name: self.name(),
            function,
            dtypes,
            differentiable: self.has_gradient(),
            samples,
            readers: &[Call::READERS],
        };
        register(Box::leak(Box::new(definition)))?;
        remember(self);
        Ok(())
    }

    /// A sample call with the declared attributes: inputs, and what computes the outputs from them independently.
    ///
    /// # Errors
    /// For attributes that are missing.
    pub fn sample(
        &self,
        inputs: Vec<Array>,
        reference: impl Fn(&[Array]) -> Vec<Array> + Send + Sync + 'static,
    ) -> Result<Sample> {
        Ok(Sample::many(self.declared()?.clone(), inputs, reference))
    }

    fn param(&self, param: &crate::schema::Param) -> Result<Param> {
        let (ty, default) = match &param.kind {
            ParamKind::Tensor { .. } => (Type::Tensor, None),
            ParamKind::Attribute { ty, default } => (self.value_type(&param.name, *ty)?, default.clone()),
        };
        let default = default.map(|default| Default {
            text: Box::leak(default.to_string().into_boxed_str()),
            value: Box::leak(Box::new(move || to_value(&default))),
        });
        Ok(Param { name: Box::leak(param.name.clone().into()), ty, default, keyword_only: param.keyword_only })
    }

    fn value_type(&self, name: &str, ty: AttributeType) -> Result<Type> {
        Ok(match ty {
            AttributeType::Bool => Type::Bool,
            AttributeType::Int => Type::Int,
            AttributeType::Float => Type::Float,
            AttributeType::Text => Type::Text,
            AttributeType::Ints => Type::Ints,
            AttributeType::Floats => Type::Floats,
            AttributeType::IntRows | AttributeType::FloatRows => {
                let accepted = "a type that functions take: no lists of lists";
                return Err(Error::value(self.name(), name.to_owned(), ty, accepted));
            }
        })
    }

    /// Calls the operator with a value for each parameter.
    fn call_values(&self, schema: &Schema, values: &[Value]) -> Result<Value> {
        let (mut tensors, mut attributes) = (Vec::new(), Vec::new());
        for (param, value) in schema.params.iter().zip(values) {
            match (&param.kind, value) {
                (ParamKind::Tensor { .. }, Value::Tensor(tensor)) => tensors.push(tensor),
                (ParamKind::Attribute { .. }, value) => {
                    attributes.push((param.name.clone(), self.to_attribute(&param.name, value)?))
                }
                (ParamKind::Tensor { .. }, other) => {
                    return Err(Error::dtype(self.name(), param.name.clone(), format!("{other:?}"), "a tensor"));
                }
            }
        }
        let mut outputs: Vec<Tensor> = self.apply_with(&tensors, &attributes)?.into_iter().collect();
        if schema.several { Ok(Value::Tensors(outputs)) } else { Ok(Value::Tensor(outputs.swap_remove(0))) }
    }

    fn to_attribute(&self, name: &str, value: &Value) -> Result<Attribute> {
        Ok(match value {
            Value::Scalar(Scalar::Bool(b)) => Attribute::Bool(*b),
            Value::Scalar(Scalar::Int(i)) => Attribute::Int(*i),
            Value::Scalar(Scalar::Float(x)) => Attribute::Float(*x as f32),
            Value::Text(text) => Attribute::Text(text.clone()),
            Value::Ints(list) => Attribute::Ints(list.clone()),
            Value::Floats(list) => Attribute::Floats(list.iter().map(|&x| x as f32).collect()),
            other => return Err(Error::dtype(self.name(), name.to_owned(), format!("{other:?}"), "an attribute")),
        })
    }
}

fn to_value(attribute: &Attribute) -> Value {
    match attribute {
        Attribute::Bool(b) => Value::Scalar(Scalar::Bool(*b)),
        Attribute::Int(i) => Value::Scalar(Scalar::Int(*i)),
        Attribute::Float(x) => Value::Scalar(Scalar::Float(f64::from(*x))),
        Attribute::Text(text) => Value::Text(text.clone()),
        Attribute::Ints(list) => Value::Ints(list.clone()),
        Attribute::Floats(list) => Value::Floats(list.iter().map(|&x| f64::from(x)).collect()),
        Attribute::IntRows(_) | Attribute::FloatRows(_) => Value::None,
    }
}
