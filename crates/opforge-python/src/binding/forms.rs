//! Calls in forms that no declared signature has but PyTorch takes; they are tried when nothing else fits.

use std::ffi::CString;

use pyo3::exceptions::{PyTypeError, PyUserWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyEllipsis, PyList, PyString, PyTuple};

use super::bind::Arguments;
use super::{Entry, convert};

/// What a form's function gives, or nothing if the arguments have no such form.
type Outcome = Option<PyResult<Py<PyAny>>>;

/// Functions that once took numbers ahead of tensors: how many tensors they take, and the numbers by their names now.
const NUMBERS_FIRST: [(&str, usize, &[&str]); 9] = [
    ("add", 2, &["alpha"]),
    ("sub", 2, &["alpha"]),
    ("addcmul", 3, &["value"]),
    ("addcdiv", 3, &["value"]),
    ("addmm", 3, &["beta", "alpha"]),
    ("addmv", 3, &["beta", "alpha"]),
    ("addr", 3, &["beta", "alpha"]),
    ("addbmm", 3, &["beta", "alpha"]),
    ("baddbmm", 3, &["beta", "alpha"]),
];

/// Functions whose results are new, and may be asked to lie in another order; besides them those that give the elements of a tensor.
const MAKING: [&str; 29] = [
    "arange",
    "empty",
    "empty_like",
    "empty_strided",
    "eye",
    "fftfreq",
    "full",
    "full_like",
    "linspace",
    "logspace",
    "new_empty",
    "new_full",
    "new_ones",
    "new_zeros",
    "normal",
    "ones",
    "ones_like",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
    "rfftfreq",
    "tril_indices",
    "triu_indices",
    "zeros",
    "zeros_like",
];
const GIVING: [&str; 2] = ["clone", "contiguous"];
/// PyTorch's keywords that say how elements lie, and where.
const LAYING: [&str; 4] = ["layout", "memory_format", "names", "pin_memory"];
/// What PyTorch calls the first parameter: its documentation and what it accepts do not agree.
const FIRST: [&str; 4] = ["input", "tensor", "A", "x"];

/// Calls the function of this name in another form, if the arguments have one.
#[cold]
pub fn call<'py>(entry: &Entry, py: Python<'py>, args: &Arguments<'_, 'py>) -> Outcome {
    match entry.name {
        name if MAKING.contains(&name) || GIVING.contains(&name) => laid_as_asked(entry, py, args),
        "einsum" => of_sublists(entry, py, args),
        name => match NUMBERS_FIRST.iter().find(|(known, ..)| *known == name) {
            Some((_, tensors, numbers)) => with_numbers_first(entry, py, args, *tensors, numbers),
            None => with_first_renamed(entry, py, args),
        },
    }
}

/// Calls an entry with these arguments.
fn apply<'py>(
    entry: &Entry,
    py: Python<'py>,
    positional: &[Bound<'py, PyAny>],
    named: &[(Bound<'py, PyAny>, Bound<'py, PyAny>)],
) -> Outcome {
    let names = match PyTuple::new(py, named.iter().map(|(name, _)| name)) {
        Ok(names) => names,
        Err(error) => return Some(Err(error)),
    };
    let all: Vec<_> = positional.iter().chain(named.iter().map(|(_, value)| value)).map(Bound::as_ptr).collect();
    // SAFETY: `all` holds the positional arguments and then one for each of `names`; the objects and both lists outlive the call.
    let args = unsafe { Arguments::from_raw(py, None, all.as_ptr(), positional.len(), names.as_ptr()) };
    entry.try_call(py, &args)
}

/// `empty_like(x, memory_format=..)`, `zeros(2, layout=.., pin_memory=..)`: what the call without these keywords gives, as they say.
fn laid_as_asked<'py>(entry: &Entry, py: Python<'py>, args: &Arguments<'_, 'py>) -> Outcome {
    let named = args.named().map(|(name, value)| (name.to_owned(), value.to_owned()));
    let (laying, rest): (Vec<_>, Vec<_>) =
        named.partition(|(name, _)| name.extract::<&str>().is_ok_and(|name| LAYING.contains(&name)));
    if laying.is_empty() {
        return None;
    }
    let lay = |made: Py<PyAny>| {
        let options = PyDict::new(py);
        laying.iter().try_for_each(|(name, value)| options.set_item(name, value))?;
        let laid_as = py.import("opforge._tensors.layouts")?.getattr("laid_as")?;
        Ok(laid_as.call((made, MAKING.contains(&entry.name)), Some(&options))?.unbind())
    };
    let given = positional(args);
    // Another order than the usual one is made at once.
    let is_ordered = entry.name == "contiguous" && laying.iter().any(|(_, value)| !value.is_none());
    match &given[..] {
        [tensor] if is_ordered && rest.is_empty() => Some(lay(tensor.clone().unbind())),
        _ => Some(apply(entry, py, &given, &rest)?.and_then(lay)),
    }
}

fn positional<'py>(args: &Arguments<'_, 'py>) -> Vec<Bound<'py, PyAny>> {
    (0..args.count()).map(|i| args.at(i).to_owned()).collect()
}

/// `add(x, 2, y)` for `add(x, y, alpha=2)`, `addmm(2, x, 3, a, b)` for `addmm(x, a, b, beta=2, alpha=3)`.
fn with_numbers_first<'py>(
    entry: &Entry,
    py: Python<'py>,
    args: &Arguments<'_, 'py>,
    tensors: usize,
    names: &[&str],
) -> Outcome {
    let all = positional(args);
    let is_tensor = |object: &Bound<'_, PyAny>| convert::is_tensor(object.as_borrowed());
    let starts_well = is_tensor(all.first()?) || names.len() == 2;
    if args.named().next().is_some() || !starts_well || !is_tensor(all.last()?) {
        return None;
    }
    let (given, numbers): (Vec<_>, Vec<_>) = all.into_iter().partition(is_tensor);
    let are_numbers = numbers.iter().all(|number| convert::scalar(number.as_borrowed()).is_some());
    if given.len() != tensors || !are_numbers || !(1..=names.len()).contains(&numbers.len()) {
        return None;
    }
    let name = entry.name;
    let text = format!("{name}: numbers ahead of tensors are deprecated; give them by name: {}", names.join(", "));
    let text = CString::new(text).unwrap_or_default();
    if let Err(error) = PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 1) {
        return Some(Err(error));
    }
    let named: Vec<_> = names.iter().map(|name| PyString::new(py, name).into_any()).zip(numbers).collect();
    apply(entry, py, &given, &named)
}

/// `split(tensor=x, ..)`, `pinv(input=x)`, `det(A=x)`: the first parameter by another name, which is that of no parameter.
fn with_first_renamed<'py>(entry: &Entry, py: Python<'py>, args: &Arguments<'_, 'py>) -> Outcome {
    let own = entry.overloads.first()?.params.first()?.name;
    let is_known = |name: &str| entry.overloads.iter().flat_map(|overload| &overload.params).any(|p| p.name == name);
    let is_other = |name: &str| FIRST.contains(&name) && !is_known(name);
    let mut named: Vec<_> = args.named().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let place = named.iter().position(|(name, _)| name.extract::<&str>().is_ok_and(is_other))?;
    named[place].0 = PyString::new(py, own).into_any();
    apply(entry, py, &positional(args), &named)
}

/// `einsum(x, [0, 1], y, [1, 2], [0, 2])`: each operand is followed by the numbers of its dimensions, from 0 to 51, or `...`; the result's come last,
/// if at all.
fn of_sublists<'py>(entry: &Entry, py: Python<'py>, args: &Arguments<'_, 'py>) -> Outcome {
    let all = positional(args);
    let is_list = |object: &Bound<'_, PyAny>| object.cast::<PyList>().is_ok() || object.cast::<PyTuple>().is_ok();
    let fits = |(i, object): (usize, &Bound<'_, PyAny>)| match i % 2 {
        0 if i + 1 < all.len() => convert::is_tensor(object.as_borrowed()),
        _ => is_list(object),
    };
    if all.len() < 2 || args.named().next().is_some() || !all.iter().enumerate().all(fits) {
        return None;
    }
    let equation = || -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let terms = all.chunks_exact(2).map(|pair| term(&pair[1])).collect::<PyResult<Vec<_>>>()?.join(",");
        let result = all.chunks_exact(2).remainder().first().map(term).transpose()?;
        let equation = result.map_or(terms.clone(), |result| format!("{terms}->{result}"));
        let operands = PyList::new(py, all.chunks_exact(2).map(|pair| &pair[0]))?;
        Ok((PyString::new(py, &equation).into_any(), operands.into_any()))
    };
    match equation() {
        Ok((equation, operands)) => apply(entry, py, &[equation, operands], &[]),
        Err(error) => Some(Err(error)),
    }
}

/// A list of dimensions' numbers as letters, in the order of the numbers.
fn term(list: &Bound<'_, PyAny>) -> PyResult<String> {
    let letter = |item: Bound<'_, PyAny>| {
        if item.cast::<PyEllipsis>().is_ok() {
            return Ok("...".to_owned());
        }
        let Some(number) = convert::int(item.as_borrowed()) else {
            return Err(PyTypeError::new_err(format!("einsum(): a dimension must be an int or ..., not {item}")));
        };
        let letter = usize::try_from(number).ok().and_then(|number| ('A'..='Z').chain('a'..='z').nth(number));
        let unknown = || PyValueError::new_err(format!("einsum(): dimension {number}, expected 0 to 51"));
        letter.map(String::from).ok_or_else(unknown)
    };
    list.try_iter()?.map(|item| letter(item?)).collect()
}
