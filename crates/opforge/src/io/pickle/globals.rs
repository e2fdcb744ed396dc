//! What the names in a pickle stand for. Nothing is looked up: these are all.

use super::FORMAT;
use super::object::{Id, Map, Object, Pickle, StorageName, unexpected};
use super::rebuild::{rebuilt, rebuilt_of_class};
use crate::{DType, Error, Result};

/// Names of PyTorch's dtypes, and of the classes of their storages.
const DTYPES: [(DType, &str, &str); 17] = [
    (DType::F32, "float32", "FloatStorage"),
    (DType::F64, "float64", "DoubleStorage"),
    (DType::F16, "float16", "HalfStorage"),
    (DType::BF16, "bfloat16", "BFloat16Storage"),
    (DType::I64, "int64", "LongStorage"),
    (DType::I32, "int32", "IntStorage"),
    (DType::I16, "int16", "ShortStorage"),
    (DType::I8, "int8", "CharStorage"),
    (DType::U8, "uint8", "ByteStorage"),
    (DType::Bool, "bool", "BoolStorage"),
    (DType::C64, "complex64", "ComplexFloatStorage"),
    (DType::C128, "complex128", "ComplexDoubleStorage"),
    // These have untyped storages.
    (DType::U16, "uint16", ""),
    (DType::U32, "uint32", ""),
    (DType::U64, "uint64", ""),
    (DType::F8E4M3, "float8_e4m3fn", ""),
    (DType::F8E5M2, "float8_e5m2", ""),
];

/// PyTorch's name of a dtype.
pub(super) fn dtype_name(dtype: DType) -> &'static str {
    DTYPES.iter().find(|(known, ..)| *known == dtype).map_or("", |(_, name, _)| name)
}

/// PyTorch's class of storages of a dtype, if there is one.
pub(super) fn storage_class(dtype: DType) -> Option<&'static str> {
    DTYPES.iter().find(|(known, ..)| *known == dtype).map(|(.., class)| *class).filter(|class| !class.is_empty())
}

/// What a name stands for.
pub(super) fn named(module: String, name: String) -> Object {
    let dtype = DTYPES.iter().find(|(_, known, _)| module == "torch" && *known == name);
    dtype.map_or(Object::Name(module, name), |(dtype, ..)| Object::DType(*dtype))
}

/// What a storage's persistent name says: `("storage", class, key, device, length)`, before version 1.6 followed by `None` or `(key, start, length)` of a
/// part.
pub(super) fn storage(pickle: &Pickle, name: Id) -> Result<StorageName> {
    let refused = || Error::format(FORMAT, format!("{}, expected the name of a storage", pickle.object(name).kind()));
    let (class, key, location, len, part) = match *pickle.items(name)? {
        [tag, class, key, location, len] if pickle.text(tag)? == "storage" => (class, key, location, len, None),
        [tag, class, key, location, len, part] if pickle.text(tag)? == "storage" => {
            (class, key, location, len, Some(part).filter(|&part| *pickle.object(part) != Object::None))
        }
        _ => return Err(refused()),
    };
    let Object::Name(module, class) = pickle.object(class) else { return Err(refused()) };
    let known = DTYPES.iter().find(|(.., known)| !known.is_empty() && known == class);
    let dtype = match (module.as_str(), known) {
        ("torch" | "torch.cuda", Some((dtype, ..))) => *dtype,
        ("torch.storage" | "torch", None) if class == "UntypedStorage" => DType::U8,
        _ => return Err(refusal(module, class)),
    };
    let (key, location) = (pickle.text(key)?.to_owned(), pickle.text(location).unwrap_or("cpu").to_owned());
    let (start, len) = match part.map(|part| pickle.items(part)).transpose()? {
        None => (0, pickle.natural(len)?),
        Some(&[_, start, len]) => (pickle.natural(start)?, pickle.natural(len)?),
        Some(_) => return Err(refused()),
    };
    Ok(StorageName { key, dtype, len, start, location })
}

pub(super) fn refusal(module: &str, name: &str) -> Error {
    let accepted = "containers, numbers, texts and tensors";
    Error::format(FORMAT, format!("it asks for {module}.{name}, which is not executed (accepted: {accepted})"))
}

/// What a function that is known by its name makes of its arguments.
pub(super) fn call(pickle: &Pickle, function: Id, arguments: Id) -> Result<Object> {
    let Object::Name(module, name) = pickle.object(function) else {
        return Err(unexpected(pickle.object(function), "the name of a function"));
    };
    let given = pickle.items(arguments)?;
    let items = || given.first().map_or(Ok(&[][..]), |&first| pickle.items(first)).map(<[Id]>::to_vec);
    match (module.as_str(), name.as_str(), given) {
        ("collections", "OrderedDict", []) => Ok(mapping(Map::Ordered, Vec::new())),
        ("collections", "OrderedDict", [list]) => {
            let pair = |&item: &Id| match *pickle.items(item)? {
                [key, value] => Ok((key, value)),
                _ => Err(unexpected(pickle.object(item), "a key and a value")),
            };
            Ok(mapping(Map::Ordered, pickle.items(*list)?.iter().map(pair).collect::<Result<_>>()?))
        }
        // The function that makes missing values is not kept.
        ("collections", "defaultdict", [] | [_]) => Ok(mapping(Map::Dict, Vec::new())),
        ("collections", "Counter", []) => Ok(mapping(Map::Counter, Vec::new())),
        ("collections", "Counter", [counts]) => match pickle.object(*counts) {
            Object::Map { entries, .. } => Ok(mapping(Map::Counter, entries.clone())),
            other => Err(unexpected(other, "a mapping")),
        },
        ("builtins" | "__builtin__", "set", [] | [_]) => Ok(Object::Set(items()?)),
        ("builtins" | "__builtin__", "frozenset", [] | [_]) => Ok(Object::FrozenSet(items()?)),
        ("builtins" | "__builtin__", "list", [] | [_]) => Ok(Object::List(items()?)),
        ("builtins" | "__builtin__", "tuple", [] | [_]) => Ok(Object::Tuple(items()?)),
        ("builtins" | "__builtin__", "dict", []) => Ok(mapping(Map::Dict, Vec::new())),
        ("builtins" | "__builtin__", "bytes" | "bytearray", []) => Ok(Object::Bytes(Vec::new())),
        ("builtins" | "__builtin__", "complex", &[re, im]) => {
            Ok(Object::Complex(float(pickle, re)?, float(pickle, im)?))
        }
        ("builtins" | "__builtin__", "bytearray", &[bytes]) => match pickle.object(bytes) {
            Object::Bytes(bytes) => Ok(Object::Bytes(bytes.clone())),
            other => Err(unexpected(other, "bytes")),
        },
        // How bytes are written up to protocol 2.
        ("_codecs", "encode", &[text, encoding]) if pickle.text(encoding)? == "latin1" => {
            let byte = |c: char| u8::try_from(u32::from(c)).map_err(|_| Error::format(FORMAT, "bytes above 255"));
            Ok(Object::Bytes(pickle.text(text)?.chars().map(byte).collect::<Result<_>>()?))
        }
        ("numpy", "dtype", &[name, ..]) => Ok(Object::ArrayDType(format!("<{}", numbers(pickle.text(name)?)?))),
        ("numpy._core.multiarray" | "numpy.core.multiarray", "_reconstruct", &[..]) => {
            Ok(Object::Array { dtype: String::new(), shape: Some(Vec::new()), fortran_order: false, bytes: Vec::new() })
        }
        ("numpy._core.multiarray" | "numpy.core.multiarray", "scalar", &[dtype, bytes]) => {
            array(pickle, dtype, None, false, bytes)
        }
        ("torch", "Size", &[sizes]) => {
            Ok(Object::Size(pickle.naturals(sizes)?.into_iter().map(|n| n as i64).collect()))
        }
        ("torch", "device", &[name]) => Ok(Object::Device(pickle.text(name)?.to_owned())),
        ("torch", "device", &[name, index]) => {
            Ok(Object::Device(format!("{}:{}", pickle.text(name)?, pickle.natural(index)?)))
        }
        ("torch._utils", name, given) => rebuilt(pickle, name, given),
        ("torch._tensor", "_rebuild_from_type_v2", &[function, class, arguments, _]) => {
            rebuilt_of_class(pickle, function, class, arguments)
        }
        _ => Err(refusal(module, name)),
    }
}

/// A dtype of numpy's, if it is one of numbers: texts, records and objects are not read.
fn numbers(name: &str) -> Result<&str> {
    let is_number = name.starts_with(['b', 'i', 'u', 'f', 'c']) && name[1..].parse().is_ok_and(|size: u8| size <= 16);
    if is_number { Ok(name) } else { Err(Error::format(FORMAT, format!("an array of {name:?}, accepted: numbers"))) }
}

fn array(pickle: &Pickle, dtype: Id, shape: Option<Vec<usize>>, fortran_order: bool, bytes: Id) -> Result<Object> {
    match (pickle.object(dtype), pickle.object(bytes)) {
        (Object::ArrayDType(dtype), Object::Bytes(bytes)) => {
            Ok(Object::Array { dtype: dtype.clone(), shape, fortran_order, bytes: bytes.clone() })
        }
        (Object::ArrayDType(_), other) => Err(unexpected(other, "bytes")),
        (other, _) => Err(unexpected(other, "a dtype of numpy's")),
    }
}

fn mapping(map: Map, entries: Vec<(Id, Id)>) -> Object {
    Object::Map { map, entries, attributes: None }
}

fn float(pickle: &Pickle, id: Id) -> Result<f64> {
    match *pickle.object(id) {
        Object::Float(x) => Ok(x),
        Object::Int(x) => Ok(x as f64),
        ref other => Err(unexpected(other, "a number")),
    }
}

/// What is set on an object after it was made: attributes of mappings, what arrays and their dtypes are, nothing else.
pub(super) fn set_state(pickle: &mut Pickle, object: Id, state: Id) -> Result<()> {
    match pickle.object(object) {
        Object::Array { .. } => {
            let [_, shape, dtype, fortran_order, bytes] = *pickle.items(state)? else {
                return Err(unexpected(pickle.object(state), "the five parts of an array"));
            };
            let shape = pickle.naturals(shape)?;
            pickle.objects[object] = array(pickle, dtype, Some(shape), pickle.flag(fortran_order)?, bytes)?;
            return Ok(());
        }
        Object::ArrayDType(name) => {
            let order = pickle.items(state)?.get(1).map(|&order| pickle.text(order)).transpose()?;
            let order = order.filter(|order| ["<", ">", "|", "="].contains(order));
            let order = order.ok_or_else(|| unexpected(pickle.object(state), "the byte order of a dtype"))?;
            pickle.objects[object] = Object::ArrayDType(format!("{order}{}", &name[1..]));
            return Ok(());
        }
        _ => {}
    }
    match (&mut pickle.objects[object], state) {
        (Object::Map { attributes, .. }, state) => *attributes = Some(state),
        (other, _) => {
            let kind = other.kind();
            return Err(Error::format(FORMAT, format!("attributes of {kind}, which are not kept")));
        }
    }
    match pickle.object(state) {
        Object::Map { .. } | Object::None => Ok(()),
        other => Err(unexpected(other, "a mapping of attributes")),
    }
}
