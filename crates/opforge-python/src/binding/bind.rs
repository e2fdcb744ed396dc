//! A call's arguments brought to the parameters of a signature.

use opforge::declaration::{Type, Value};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use pyo3::{Borrowed, ffi};
use smallvec::SmallVec;

use super::convert;
use super::mismatch::Mismatch;
use super::signature::{Parameter, Signature};

/// A call's arguments as the interpreter hands them over: by position, then by keyword. A method's receiver is the first.
#[derive(Clone, Copy)]
pub struct Arguments<'a, 'py> {
    receiver: Option<Borrowed<'a, 'py, PyAny>>,
    positional: &'a [*mut ffi::PyObject],
    keywords: &'a [*mut ffi::PyObject],
    /// The keywords' names.
    names: Option<Borrowed<'a, 'py, PyTuple>>,
    py: Python<'py>,
}

/// Arguments without one keyword.
pub struct Rest<'py> {
    keywords: Vec<*mut ffi::PyObject>,
    names: Bound<'py, PyTuple>,
}

/// The values of a bound call.
pub type Values = SmallVec<[Value; 6]>;

/// numpy's names for parameters, which PyTorch takes too, names that PyTorch's methods have, and those that it accepts where its documentation has
/// others. No function has both.
const SYNONYMS: [(&str, &str); 17] = [
    ("axis", "dim"),
    ("keepdims", "keepdim"),
    ("x", "input"),
    ("self", "input"),
    ("x2", "other"),
    ("other", "src"),
    ("b", "B"),
    ("other", "B"),
    ("input2", "L"),
    ("input2", "tau"),
    ("train", "training"),
    ("element", "elements"),
    ("test_element", "test_elements"),
    ("split_size", "split_size_or_sections"),
    ("split_sizes", "split_size_or_sections"),
    ("sections", "indices_or_sections"),
    ("indices", "indices_or_sections"),
];

impl<'a, 'py> Arguments<'a, 'py> {
    /// The arguments of a C function.
    ///
    /// # Safety
    /// `args` holds `count` arguments and then one for each name in the tuple `names` (null for none); they and the receiver outlive `'a`.
    #[inline]
    pub unsafe fn from_raw(
        py: Python<'py>,
        receiver: Option<*mut ffi::PyObject>,
        args: *const *mut ffi::PyObject,
        count: usize,
        names: *mut ffi::PyObject,
    ) -> Self {
        // SAFETY: `args` holds `all` arguments for `'a`, except that a vector of none may be null, which a slice may not.
        unsafe {
            let receiver = receiver.map(|receiver| Borrowed::from_ptr(py, receiver));
            let names: Option<Borrowed<'a, 'py, PyTuple>> =
                (!names.is_null()).then(|| Borrowed::from_ptr(py, names).cast_unchecked());
            let all = count + names.map_or(0, |names| ffi::PyTuple_Size(names.as_ptr()) as usize);
            let vector = if all == 0 { &[] } else { std::slice::from_raw_parts(args, all) };
            let (positional, keywords) = vector.split_at(count);
            Arguments { receiver, positional, keywords, names, py }
        }
    }

    /// A call of two operands: the receiver and one argument.
    #[inline]
    pub fn pair<R>(
        receiver: &Bound<'py, PyAny>,
        other: &Bound<'py, PyAny>,
        f: impl FnOnce(&Arguments<'_, 'py>) -> R,
    ) -> R {
        let positional = [other.as_ptr()];
        let (receiver, py) = (Some(receiver.as_borrowed()), receiver.py());
        f(&Arguments { receiver, positional: &positional, keywords: &[], names: None, py })
    }

    /// The number of arguments by position.
    #[inline]
    pub fn count(&self) -> usize {
        self.positional.len() + usize::from(self.receiver.is_some())
    }

    /// The argument at a position.
    #[inline]
    pub fn at(&self, i: usize) -> Borrowed<'a, 'py, PyAny> {
        match self.receiver {
            Some(receiver) if i == 0 => receiver,
            Some(_) => self.object(self.positional[i - 1]),
            None => self.object(self.positional[i]),
        }
    }

    /// What is given for a function's first parameter, by position or by name.
    #[inline]
    pub fn first(&self, param: &Parameter) -> Option<Borrowed<'a, 'py, PyAny>> {
        if self.count() > 0 { Some(self.at(0)) } else { self.keyword(param) }
    }

    #[inline]
    fn object(&self, pointer: *mut ffi::PyObject) -> Borrowed<'a, 'py, PyAny> {
        // SAFETY: an argument of this call, which outlives `'a`.
        unsafe { Borrowed::from_ptr(self.py, pointer) }
    }

    /// The keywords with their names.
    pub fn named(&self) -> impl Iterator<Item = (Borrowed<'a, 'py, PyAny>, Borrowed<'a, 'py, PyAny>)> {
        let this = *self;
        let name = move |i: usize| this.names.and_then(|names| item(names, i));
        this.keywords.iter().enumerate().filter_map(move |(i, value)| Some((name(i)?, this.object(*value))))
    }

    /// The keyword of exactly this name.
    pub fn by_name(&self, name: &str) -> Option<Borrowed<'a, 'py, PyAny>> {
        self.named().find(|(key, _)| is_named(key, name)).map(|(_, value)| value)
    }

    /// The value of a keyword, and the arguments without it.
    pub fn without(&self, py: Python<'py>, keyword: &str) -> PyResult<Option<(Py<PyAny>, Rest<'py>)>> {
        let Some(value) = self.by_name(keyword) else { return Ok(None) };
        let rest: Vec<_> = self.named().filter(|(name, _)| !is_named(name, keyword)).collect();
        let names = PyTuple::new(py, rest.iter().map(|(name, _)| name.to_owned()))?;
        let keywords = rest.iter().map(|(_, value)| value.as_ptr()).collect();
        Ok(Some((value.to_owned().unbind(), Rest { keywords, names })))
    }

    /// The keyword for a parameter.
    fn keyword(&self, param: &Parameter) -> Option<Borrowed<'a, 'py, PyAny>> {
        let same = self.named().find(|(name, _)| name.as_ptr() == param.key.as_ptr());
        same.or_else(|| self.named().find(|(name, _)| names(name, param))).map(|(_, value)| value)
    }
}

impl<'py> Rest<'py> {
    /// The arguments of which this is the rest, without the keyword.
    pub fn arguments<'b>(&'b self, whole: &Arguments<'b, 'py>) -> Arguments<'b, 'py> {
        Arguments { keywords: &self.keywords, names: Some(self.names.as_borrowed()), ..*whole }
    }
}

/// An element of a tuple that outlives its handle.
fn item<'a, 'py>(tuple: Borrowed<'a, 'py, PyTuple>, i: usize) -> Option<Borrowed<'a, 'py, PyAny>> {
    // SAFETY: the tuple is immutable, so the element lives as long as the tuple does, `'a`; out of range gives null.
    unsafe {
        let item = ffi::PyTuple_GetItem(tuple.as_ptr(), i as ffi::Py_ssize_t);
        (!item.is_null()).then(|| Borrowed::from_ptr(tuple.py(), item))
    }
}

fn is_named(key: &Borrowed<'_, '_, PyAny>, name: &str) -> bool {
    key.extract::<&str>().is_ok_and(|key| key == name)
}

fn names(name: &Borrowed<'_, '_, PyAny>, param: &Parameter) -> bool {
    name.extract::<&str>().is_ok_and(|name| name == param.name || SYNONYMS.contains(&(name, param.name)))
}

impl Signature {
    /// The values of the parameters, or why the arguments do not fit.
    #[inline]
    pub fn bind<'py>(&self, args: &Arguments<'_, 'py>) -> Result<Values, Mismatch> {
        let given = args.count();
        let rest = self.rest(args);
        if given > self.positional && rest.is_none() {
            return Err(Mismatch::TooMany { given, most: self.positional });
        }
        let mut values = Values::new();
        let mut used = 0;
        for (i, param) in self.params.iter().enumerate() {
            if rest == Some(i) {
                values.push(rest_of(args, i, param.ty)?);
                continue;
            }
            let by_name = if args.keywords.is_empty() { None } else { args.keyword(param) };
            used += usize::from(by_name.is_some());
            let argument = match by_name {
                Some(_) if i < given && i < self.positional => return Err(Mismatch::Twice { param: i }),
                Some(value) => Some(value),
                None if i < given && i < self.positional => Some(args.at(i)),
                None => None,
            };
            values.push(match argument {
                Some(argument) => convert::value(argument, param.ty).ok_or(Mismatch::Type { param: i })?,
                None => param.default.clone().ok_or(Mismatch::Missing { param: i })?,
            });
        }
        if used < args.keywords.len() { Err(self.unexpected(args)) } else { Ok(values) }
    }

    /// The parameter that takes all further numbers, or tensors: the last positional one, if it takes a list and gets one of them. `f(2, 3)` is
    /// `f((2, 3))`.
    #[inline]
    fn rest(&self, args: &Arguments<'_, '_>) -> Option<usize> {
        if let Some(last) = self.positional.checked_sub(1).filter(|&last| self.params[last].ty == Type::Tensors) {
            let only_tensors = (last..args.count()).all(|i| convert::is_tensor(args.at(i)));
            return (args.count() > last && only_tensors).then_some(last);
        }
        let last = self.params[..self.positional].iter().rposition(|p| takes_ints(p.ty))?;
        let only_number = |i: usize| convert::is_index(args.at(i));
        let required_after = self.params[last + 1..self.positional].iter().any(|p| p.default.is_none());
        (args.count() > last + 1
            && !required_after
            && (last..args.count()).all(only_number)
            && (last + 1 == self.positional || args.count() > self.positional))
            .then_some(last)
    }

    #[cold]
    fn unexpected(&self, args: &Arguments<'_, '_>) -> Mismatch {
        let known = |name: &Borrowed<'_, '_, PyAny>| self.params.iter().any(|p| names(name, p));
        let unknown = args.named().map(|(name, _)| name).find(|name| !known(name));
        Mismatch::Unexpected { name: unknown.map_or_else(String::new, |name| name.to_string()) }
    }
}

fn takes_ints(ty: Type) -> bool {
    matches!(ty, Type::Ints | Type::Optional(Type::Ints))
}

fn rest_of(args: &Arguments<'_, '_>, first: usize, ty: Type) -> Result<Value, Mismatch> {
    if ty == Type::Tensors {
        let tensors = (first..args.count()).map(|i| convert::tensor(args.at(i)));
        return tensors.collect::<Option<Vec<_>>>().map(Value::Tensors).ok_or(Mismatch::Type { param: first });
    }
    let ints = (first..args.count()).map(|i| convert::int(args.at(i)));
    ints.collect::<Option<Vec<i64>>>().map(Value::Ints).ok_or(Mismatch::Type { param: first })
}
