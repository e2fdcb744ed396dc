//! What PyTorch's functions that make tensors again give.

use super::FORMAT;
use super::globals::{call, refusal};
use super::object::{Id, Object, Pickle, StorageName, Stored, unexpected};
use crate::{DType, Error, Result};

/// What a function of `torch._utils` makes of its arguments.
pub(super) fn rebuilt(pickle: &Pickle, name: &str, given: &[Id]) -> Result<Object> {
    match (name, given) {
        ("_rebuild_tensor", &[storage, offset, size, stride]) => {
            tensor(pickle, [storage, offset, size, stride], false, None).map(Object::Tensor)
        }
        ("_rebuild_tensor_v2", &[storage, offset, size, stride, grad, hooks, ref metadata @ ..]) => {
            without_hooks(pickle, hooks)?;
            let stored = tensor(pickle, [storage, offset, size, stride], pickle.flag(grad)?, None)?;
            Ok(Object::Tensor(with_bits(pickle, stored, metadata)?))
        }
        ("_rebuild_tensor_v3", &[storage, offset, size, stride, grad, hooks, dtype, ref metadata @ ..]) => {
            without_hooks(pickle, hooks)?;
            let stored =
                tensor(pickle, [storage, offset, size, stride], pickle.flag(grad)?, Some(pickle.dtype(dtype)?))?;
            Ok(Object::Tensor(with_bits(pickle, stored, metadata)?))
        }
        ("_rebuild_meta_tensor_no_storage", &[dtype, size, stride, grad]) => {
            let (dtype, shape, stride) = (pickle.dtype(dtype)?, pickle.naturals(size)?, pickle.naturals(stride)?);
            Ok(Object::Meta { dtype, shape, stride, requires_grad: pickle.flag(grad)? })
        }
        ("_rebuild_parameter" | "_rebuild_parameter_with_state", &[data, grad, hooks] | &[data, grad, hooks, _]) => {
            without_hooks(pickle, hooks)?;
            match pickle.object(data) {
                Object::Tensor(data) => {
                    let requires_grad = pickle.flag(grad)?;
                    Ok(Object::Tensor(Stored { requires_grad, is_parameter: true, ..data.clone() }))
                }
                other => Err(unexpected(other, "a tensor")),
            }
        }
        _ => Err(refusal("torch._utils", name)),
    }
}

/// A tensor of one of PyTorch's own classes; attributes that programs have set on it are not kept.
pub(super) fn rebuilt_of_class(pickle: &Pickle, function: Id, class: Id, arguments: Id) -> Result<Object> {
    let Object::Name(module, class) = pickle.object(class) else {
        return Err(unexpected(pickle.object(class), "a class"));
    };
    let is_known = module.starts_with("torch") && ["Tensor", "Parameter", "Buffer"].contains(&class.as_str());
    // No function of this kind itself: a file could nest them without end.
    let rebuilds = matches!(pickle.object(function), Object::Name(module, _) if module == "torch._utils");
    if is_known && rebuilds { call(pickle, function, arguments) } else { Err(refusal(module, class)) }
}

/// Hooks are functions, which are not executed.
fn without_hooks(pickle: &Pickle, hooks: Id) -> Result<()> {
    match pickle.object(hooks) {
        Object::None => Ok(()),
        Object::Map { entries, .. } if entries.is_empty() => Ok(()),
        _ => Err(Error::format(FORMAT, "a tensor with hooks, which are not executed")),
    }
}

fn tensor(
    pickle: &Pickle,
    [storage, offset, size, stride]: [Id; 4],
    requires_grad: bool,
    dtype: Option<DType>,
) -> Result<Stored> {
    let Object::Storage(StorageName { dtype: own, .. }) = pickle.object(storage) else {
        return Err(unexpected(pickle.object(storage), "a storage"));
    };
    let (shape, stride) = (pickle.naturals(size)?, pickle.naturals(stride)?);
    if shape.len() != stride.len() {
        return Err(Error::format(FORMAT, format!("a tensor of shape {shape:?} with strides {stride:?}")));
    }
    let (dtype, offset) = (dtype.unwrap_or(*own), pickle.natural(offset)?);
    let (is_parameter, is_conj, is_neg) = (false, false, false);
    Ok(Stored { storage, dtype, offset, shape, stride, requires_grad, is_parameter, is_conj, is_neg })
}

/// A tensor with the bits that PyTorch notes of it, if it notes any.
fn with_bits(pickle: &Pickle, stored: Stored, metadata: &[Id]) -> Result<Stored> {
    let noted = metadata.first().copied().filter(|&id| *pickle.object(id) != Object::None);
    let bit = |name| noted.and_then(|id| pickle.get(id, name)).map_or(Ok(false), |flag| pickle.flag(flag));
    Ok(Stored { is_conj: bit("conj")?, is_neg: bit("neg")?, ..stored })
}
