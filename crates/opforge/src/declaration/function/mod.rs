//! Functions as data: the signature that a function's file declares once, for bindings, stubs and reference pages.
//!
//! The attribute `#[function]` (crate `opforge-macros`) leaves an ordinary Rust function as it is and puts its signature beside it, as a
//! [`Function`]. `#[operator]` adds the operator's entry in the registry, and `#[unary]` makes both of a block that implements `Unary`. The Python
//! binding, its stubs, the reference and the catalogue are made from these values, and no declared function is bound by hand. Compositions
//! (`functional/`, a folder a subject) are declared in the same way; each of their files lists its own.

mod argument;
mod declare;
mod faces;
mod invoke;
mod value;

pub use argument::Argument;
pub use declare::function;
pub(crate) use declare::functions;
pub use faces::Faces;
pub use invoke::shared_results;
pub use value::{Type, Value};

use crate::Result;
use crate::dispatch::Out;

/// A functional-layer function: its declared signature, its documentation, and a way to call it with dynamic values.
#[derive(Clone, Copy)]
pub struct Function {
    /// The name.
    pub name: &'static str,
    /// The Rust module that declares it.
    pub module: &'static str,
    /// The documentation, in Markdown.
    pub doc: &'static str,
    /// The parameters in order.
    pub params: &'static [Param],
    /// What it returns, as Rust spells it: `Tensor`, `(Tensor, Tensor)`, ..
    pub returns: &'static str,
    /// Where Python shows it, if its declaration says so; see [`Function::faces`].
    pub declared_faces: Option<Faces>,
    /// Whether a result may share memory with an argument: a view of it, or the argument itself.
    pub view: bool,
    /// Calls it with one value a parameter, and a destination, which few functions heed; see [`Function::invoke`].
    pub call: &'static dyn Callable,
}

/// What calls a [`Function`]. A trait of its own: there are very many, and with `dyn Fn` each would have the code of `FnOnce` too.
pub trait Callable: Send + Sync {
    /// Calls it.
    ///
    /// # Errors
    /// Those of the call.
    fn call(&self, values: &[Value], out: Out<'_>) -> Result<Value>;
}

impl<F: Fn(&[Value], Out<'_>) -> Result<Value> + Send + Sync> Callable for F {
    fn call(&self, values: &[Value], out: Out<'_>) -> Result<Value> {
        self(values, out)
    }
}

/// A parameter of a [`Function`].
#[derive(Debug, Clone, Copy)]
pub struct Param {
    /// The name.
    pub name: &'static str,
    /// What it takes.
    pub ty: Type,
    /// The default, if it may be left out.
    pub default: Option<Default>,
    /// Whether it must be given by name.
    pub keyword_only: bool,
}

/// What a parameter is when it is left out.
#[derive(Clone, Copy)]
pub struct Default {
    /// As the signature spells it, in Rust.
    pub text: &'static str,
    /// As a value.
    pub value: &'static dyn Valued,
}

/// What gives a parameter's [`struct@Default`]. A trait of its own, as [`Callable`] is.
pub trait Valued: Send + Sync {
    /// The value.
    fn value(&self) -> Value;
}

impl<F: Fn() -> Value + Send + Sync> Valued for F {
    fn value(&self) -> Value {
        self()
    }
}

impl std::fmt::Debug for Default {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.text)
    }
}

impl Function {
    /// Where Python shows this function: as declared, otherwise as a function of the module, and as a method if the first parameter is a
    /// tensor called `input`.
    pub fn faces(&self) -> Faces {
        let receiver = |p: &Param| p.name == "input" && matches!(p.ty, Type::Tensor | Type::Operand);
        let method = self.params.first().is_some_and(receiver);
        self.declared_faces.unwrap_or(Faces { torch: true, method, ..Faces::NOWHERE })
    }

    /// The family that it belongs to: the folder of `ops` or `functional` that holds it, a file of its own there; elsewhere its module.
    pub fn family(&self) -> &'static str {
        let mut parts = self.module.split("::").skip_while(|part| !matches!(*part, "ops" | "functional")).skip(1);
        parts.next().unwrap_or_else(|| self.module.rsplit("::").next().unwrap_or_default())
    }

    /// The name in Python.
    pub fn python_name(&self) -> &'static str {
        self.declared_faces.and_then(|f| f.name).unwrap_or(self.name)
    }
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}::{self}", self.module)
    }
}

impl std::fmt::Display for Function {
    /// The signature: `sum(input: Tensor, dim: Ints? = None, keepdim: Bool = false, *, dtype: DType? = None) -> Tensor`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}(", self.name)?;
        let mut by_name = false;
        for (i, param) in self.params.iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            let star =
                if param.keyword_only && !std::mem::replace(&mut by_name, param.keyword_only) { "*, " } else { "" };
            write!(f, "{comma}{star}{}: {}", param.name, param.ty)?;
            if let Some(default) = param.default {
                write!(f, " = {}", default.text)?;
            }
        }
        write!(f, ") -> {}", self.returns)
    }
}
