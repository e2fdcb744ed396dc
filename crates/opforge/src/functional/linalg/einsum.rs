//! Sums of products over named dimensions.

use crate::functional as f;
use crate::ops::prelude::*;

functions! { einsum }

/// The sum of products that an equation describes: each operand's dimensions are named by a letter; equal letters go together, and those that
/// the result does not name are summed. `...` stands for any number of dimensions, which are broadcast; a letter twice in one operand takes
/// its diagonal. Without `->` the result has, in order, the letters that occur once.
///
/// Operands are multiplied from left to right, each pair by a matrix product.
///
/// # Errors
/// For an equation that is malformed or does not fit the operands.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// let y = opforge::functional::einsum("ij,kj->ik", &[x.clone(), x.clone()])?;
/// assert_eq!(y.to_vec2::<f32>()?, [[5.0, 11.0], [11.0, 25.0]]);
/// assert_eq!(opforge::functional::einsum("ii", &[x])?.to_scalar::<f32>()?, 5.0);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch)]
#[view]
pub fn einsum(equation: &str, operands: &[Tensor]) -> Result<Tensor> {
    let equation: String = equation.chars().filter(|c| !c.is_whitespace()).collect();
    let (inputs, output) = match equation.split_once("->") {
        Some((inputs, output)) => (inputs, Some(output)),
        None => (&equation[..], None),
    };
    let terms: Vec<&str> = inputs.split(',').collect();
    ensure(terms.len() == operands.len() && !operands.is_empty(), || {
        Error::value(OP, "operands", operands.len(), format!("{} operands for {equation:?}", terms.len()))
    })?;
    let named = terms.iter().zip(operands).map(|(term, operand)| Named::new(&equation, term, operand));
    let named = named.collect::<Result<Vec<_>>>()?;
    let output = output_names(&equation, output, &terms, &named)?;
    let mut parts = named.into_iter();
    let mut result = parts.next().ok_or_else(|| malformed(&equation, "an operand"))?;
    while let Some(next) = parts.next() {
        let needed =
            |name: Name| output.contains(&name) || parts.as_slice().iter().any(|rest| rest.names.contains(&name));
        result = result.times(next, needed)?;
    }
    // Only of a single operand there is something left to be summed: integers as [`sum`](fn@crate::functional::sum) does.
    result.summed(None, |name| output.contains(&name))?.arranged(&output)
}

/// A dimension's name: a letter, or the distance from the end of an ellipsis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Name {
    Ellipsis(std::cmp::Reverse<usize>),
    Letter(char),
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Name::Ellipsis(place) => write!(f, "dimension -{} of the ellipsis", place.0 + 1),
            Name::Letter(letter) => write!(f, "'{letter}'"),
        }
    }
}

/// A tensor whose dimensions have names, each another one.
struct Named {
    tensor: Tensor,
    names: Vec<Name>,
}

fn malformed(equation: &str, accepted: &str) -> Error {
    Error::value("einsum", "equation", format!("{equation:?}"), accepted)
}

/// The names in a term, of which an ellipsis stands for `ellipsis` dimensions.
fn names(equation: &str, term: &str, ellipsis: usize) -> Result<Vec<Name>> {
    let letters = |part: &str| -> Result<Vec<Name>> {
        let letter = |c: char| c.is_ascii_alphabetic().then_some(Name::Letter(c));
        let found: Option<Vec<Name>> = part.chars().map(letter).collect();
        found.ok_or_else(|| malformed(equation, "letters, commas, at most one ... a term, and one ->"))
    };
    let Some((before, after)) = term.split_once("...") else { return letters(term) };
    let rest = (0..ellipsis).map(|i| Name::Ellipsis(std::cmp::Reverse(ellipsis - 1 - i)));
    Ok(letters(before)?.into_iter().chain(rest).chain(letters(after)?).collect())
}

/// The result's names: as given, or the ellipsis and the letters that occur once, in order.
fn output_names(equation: &str, output: Option<&str>, terms: &[&str], inputs: &[Named]) -> Result<Vec<Name>> {
    let distance = |name: &Name| if let Name::Ellipsis(place) = name { place.0 + 1 } else { 0 };
    let ellipsis = inputs.iter().flat_map(|input| &input.names).map(distance).max().unwrap_or(0);
    let Some(output) = output else {
        let once = |name: &Name| match name {
            Name::Letter(c) => terms.iter().map(|term| term.matches(*c).count()).sum::<usize>() == 1,
            Name::Ellipsis(_) => true,
        };
        let mut all: Vec<Name> = inputs.iter().flat_map(|input| input.names.iter().copied()).filter(once).collect();
        all.sort();
        all.dedup();
        return Ok(all);
    };
    let result = names(equation, output, ellipsis)?;
    for (i, name) in result.iter().enumerate() {
        if result[..i].contains(name) || !inputs.iter().any(|input| input.names.contains(name)) {
            return Err(malformed(equation, "each letter of the result once, and in an operand"));
        }
    }
    Ok(result)
}

impl Named {
    /// An operand by its term; of letters that come twice, the diagonal.
    fn new(equation: &str, term: &str, operand: &Tensor) -> Result<Self> {
        let letters = term.chars().filter(char::is_ascii_alphabetic).count();
        let wrong = || {
            let given = format!("{:?} for {term:?}", operand.shape());
            Error::shape("einsum", "operands", given, "a dimension for each letter")
        };
        let ellipsis = operand.rank().checked_sub(letters).ok_or_else(wrong)?;
        let mut named = Named { tensor: operand.clone(), names: names(equation, term, ellipsis)? };
        if named.names.len() != operand.rank() {
            return Err(wrong());
        }
        while let Some((i, j)) = named.repeated() {
            if named.tensor.dims()[i] != named.tensor.dims()[j] {
                let given = format!("{:?} for {term:?}", operand.shape());
                return Err(Error::shape("einsum", "operands", given, "equal lengths for equal letters"));
            }
            named.tensor = f::diagonal(&named.tensor, 0, i as i64, j as i64)?;
            let name = named.names.remove(j);
            named.names.remove(i);
            named.names.push(name);
        }
        Ok(named)
    }

    /// Two places with one name, in order.
    fn repeated(&self) -> Option<(usize, usize)> {
        let first = |j: usize| self.names[..j].iter().position(|name| *name == self.names[j]);
        (0..self.names.len()).find_map(|j| first(j).map(|i| (i, j)))
    }

    fn len(&self, name: Name) -> Option<usize> {
        self.names.iter().position(|n| *n == name).map(|d| self.tensor.dims()[d])
    }

    /// Summed over what is not needed, in another dtype than a sum's if one is given.
    fn summed(self, dtype: Option<DType>, needed: impl Fn(Name) -> bool) -> Result<Self> {
        let dims: Vec<i64> = (0..self.names.len()).filter(|&d| !needed(self.names[d])).map(|d| d as i64).collect();
        if dims.is_empty() {
            return Ok(self);
        }
        let names = self.names.iter().copied().filter(|&name| needed(name)).collect();
        Ok(Named { tensor: f::sum(&self.tensor, Some(&dims), false, dtype)?, names })
    }

    /// The tensor with its dimensions in this order.
    fn arranged(&self, order: &[Name]) -> Result<Tensor> {
        let place = |name: &Name| self.names.iter().position(|n| n == name).map(|d| d as i64);
        let dims: Option<Vec<i64>> = order.iter().map(place).collect();
        f::permute(
            &self.tensor,
            &dims.ok_or_else(|| Error::value("einsum", "names", format!("{order:?}"), "known names"))?,
        )
    }

    /// The product with another, summed over what neither the result nor later operands need.
    fn times(self, other: Named, needed: impl Fn(Name) -> bool) -> Result<Named> {
        // What only one of them has and nobody needs is summed first.
        let (of_self, of_other) = (self.names.clone(), other.names.clone());
        let (own, others) = (self.tensor.dtype(), other.tensor.dtype());
        let a = self.summed(Some(own), |name| needed(name) || of_other.contains(&name))?;
        let b = other.summed(Some(others), |name| needed(name) || of_self.contains(&name))?;
        let split = |names: &[Name], keep: &dyn Fn(Name) -> bool| -> Vec<Name> {
            names.iter().copied().filter(|&n| keep(n)).collect()
        };
        let shared = split(&a.names, &|n| b.names.contains(&n));
        let (batch, summed) = (split(&shared, &needed), split(&shared, &|n| !needed(n)));
        let (left, right) = (split(&a.names, &|n| !shared.contains(&n)), split(&b.names, &|n| !shared.contains(&n)));
        let length = |name: Name| match (a.len(name), b.len(name)) {
            (Some(1), Some(n)) | (Some(n), Some(1) | None) | (None, Some(n)) => Ok(n),
            (Some(n), Some(m)) if n == m => Ok(n),
            (n, m) => Err(Error::shapes("einsum", n.unwrap_or(0), m.unwrap_or(0), format!("equal lengths of {name}"))),
        };
        let lengths = |names: &[Name]| names.iter().map(|&n| length(n)).collect::<Result<Vec<usize>>>();
        let [b_len, l_len, s_len, r_len] = [lengths(&batch)?, lengths(&left)?, lengths(&summed)?, lengths(&right)?];
        let matrices = |t: &Named, order: [&[Name]; 3], shape: [&[usize]; 3]| {
            let full: Vec<usize> = shape.concat();
            let sizes: Vec<usize> = shape.iter().map(|part| part.iter().product()).collect();
            t.arranged(&order.concat())?.broadcast_as(full)?.reshape(sizes)
        };
        let dtype = f::common_dtype("einsum", &a.tensor, &b.tensor)?;
        let first = matrices(&a, [&batch, &left, &summed], [&b_len, &l_len, &s_len])?.to_dtype(dtype)?;
        let second = matrices(&b, [&batch, &summed, &right], [&b_len, &s_len, &r_len])?.to_dtype(dtype)?;
        let tensor = f::matmul(&first, &second)?.reshape([b_len, l_len, r_len].concat())?;
        Ok(Named { tensor, names: [batch, left, right].concat() })
    }
}

/// The products of two tensors summed over dimensions in pairs; the others follow in order.
#[track_caller]
pub(crate) fn contract(op: &'static str, a: &Tensor, b: &Tensor, from_a: &[usize], from_b: &[usize]) -> Result<Tensor> {
    let lengths = |t: &Tensor, dims: &[usize]| -> Vec<usize> { dims.iter().map(|&d| t.dims()[d]).collect() };
    let summed = lengths(a, from_a);
    ensure(summed == lengths(b, from_b), || {
        Error::shapes(op, a.shape(), b.shape(), format!("equal lengths of dimensions {from_a:?} and {from_b:?}"))
    })?;
    let others = |t: &Tensor, dims: &[usize]| -> Vec<usize> { (0..t.rank()).filter(|d| !dims.contains(d)).collect() };
    let (rest_a, rest_b) = (others(a, from_a), others(b, from_b));
    let (rows, columns) = (lengths(a, &rest_a), lengths(b, &rest_b));
    let k = summed.iter().product::<usize>();
    let first = a.permute([rest_a, from_a.to_vec()].concat())?.reshape((rows.iter().product::<usize>(), k))?;
    let second = b.permute([from_b.to_vec(), rest_b].concat())?.reshape((k, columns.iter().product::<usize>()))?;
    f::matmul(&first, &second)?.reshape([rows, columns].concat())
}
