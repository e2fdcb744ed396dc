//! Sizes that depend on others, as text and as numbers.
//!
//! ```text
//! expression = sum | "(" sum ")" "/" number                     a division without a remainder
//! sum        = ["-"] product {("+" | "-") product}
//! product    = (number | atom) {"*" atom}
//! atom       = name | "%" number "." number | "(" sum ")" "//" number
//! real       = float ["*" "(" expression ")"] ["/" "(" expression ")"]
//! ```
//!
//! A name is a size that a graph is given, `%5.2` is the length that inference finds for dimension 2 of the value with number 5, and `//` rounds down.
//! What is in the parentheses of `//` has none itself.

use std::fmt::{self, Display};
use std::sync::Arc;

use opforge::term::{Parser, Term};
use opforge::{Error, Result};

/// What expressions are made of.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Atom {
    /// A size that the graph is given, by its name.
    Size(Arc<str>),
    /// A length of a result that inference finds.
    Inferred { value: usize, dim: usize },
    /// A sum divided by a number, rounded down.
    Floor { sum: Sum, by: i128 },
}

/// A whole number times atoms.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Product {
    pub factor: i128,
    pub atoms: Vec<Atom>,
}

/// Products that are added.
pub(crate) type Sum = Vec<Product>;

/// A sum divided by a number that divides it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Expression {
    pub sum: Sum,
    pub divisor: i128,
}

impl From<i128> for Expression {
    fn from(factor: i128) -> Expression {
        let sum = if factor == 0 { Vec::new() } else { vec![Product { factor, atoms: Vec::new() }] };
        Expression { sum, divisor: 1 }
    }
}

impl From<Atom> for Expression {
    fn from(atom: Atom) -> Expression {
        Expression { sum: vec![Product { factor: 1, atoms: vec![atom] }], divisor: 1 }
    }
}

impl Expression {
    /// The number, of what depends on nothing.
    pub fn constant(&self) -> Option<i128> {
        if self.sum.iter().all(|product| product.atoms.is_empty()) { self.value(&|_| None) } else { None }
    }

    /// The number, where `known` gives those of sizes and lengths. None without one of them, with a remainder, or beyond 128 bits.
    pub fn value(&self, known: &impl Fn(&Atom) -> Option<i128>) -> Option<i128> {
        let sum = total(&self.sum, known)?;
        (sum.checked_rem(self.divisor)? == 0).then(|| sum / self.divisor)
    }

    /// What the text of a hole, or of a part of it, tells.
    pub fn read(text: &mut Parser<'_>) -> Result<Expression> {
        let begin = text.clone();
        if text.take("(") {
            let sum = sum(text, true)?;
            text.expect(")")?;
            if !text.take("//") {
                text.expect("/")?;
                return Ok(Expression { sum, divisor: positive(text)? });
            }
        }
        *text = begin;
        Ok(Expression { sum: sum(text, true)?, divisor: 1 })
    }
}

fn total(sum: &Sum, known: &impl Fn(&Atom) -> Option<i128>) -> Option<i128> {
    sum.iter().try_fold(0i128, |total, product| {
        let factors = product.atoms.iter().map(|atom| atom.value(known));
        let product = factors.into_iter().try_fold(product.factor, |product, atom| product.checked_mul(atom?));
        total.checked_add(product?)
    })
}

impl Atom {
    pub fn value(&self, known: &impl Fn(&Atom) -> Option<i128>) -> Option<i128> {
        match self {
            Atom::Floor { sum, by } => total(sum, known)?.checked_div_euclid(*by),
            Atom::Size(_) | Atom::Inferred { .. } => known(self),
        }
    }
}

/// A divisor.
fn positive(text: &mut Parser<'_>) -> Result<i128> {
    match text.number()? {
        0 => Err(text.fault("a division by 0")),
        number => Ok(number as i128),
    }
}

fn sum(text: &mut Parser<'_>, nests: bool) -> Result<Sum> {
    let mut sum = Vec::new();
    let mut sign = if text.take("-") { -1 } else { 1 };
    loop {
        let mut product = product(text, nests)?;
        product.factor *= sign;
        sum.push(product);
        sign = if text.take("+") {
            1
        } else if text.take("-") {
            -1
        } else {
            return Ok(sum);
        };
    }
}

fn product(text: &mut Parser<'_>, nests: bool) -> Result<Product> {
    // A name may not begin with a digit.
    let mut product = match text.number() {
        Ok(factor) => Product { factor: factor as i128, atoms: Vec::new() },
        Err(_) => Product { factor: 1, atoms: vec![atom(text, nests)?] },
    };
    while text.take("*") {
        product.atoms.push(atom(text, nests)?);
    }
    Ok(product)
}

fn atom(text: &mut Parser<'_>, nests: bool) -> Result<Atom> {
    if text.take("%") {
        let value = text.number()?;
        text.expect(".")?;
        return Ok(Atom::Inferred { value, dim: text.number()? });
    }
    if nests && text.take("(") {
        let sum = sum(text, false)?;
        text.expect(")")?;
        text.expect("//")?;
        return Ok(Atom::Floor { sum, by: positive(text)? });
    }
    Ok(Atom::Size(text.word()?.into()))
}

impl Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.divisor {
            1 => write_sum(&self.sum, f),
            divisor => {
                f.write_str("(")?;
                write_sum(&self.sum, f)?;
                write!(f, ")/{divisor}")
            }
        }
    }
}

fn write_sum(sum: &Sum, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if sum.is_empty() {
        return f.write_str("0");
    }
    for (i, Product { factor, atoms }) in sum.iter().enumerate() {
        let sign = match (*factor < 0, i) {
            (true, _) => "-",
            (false, 0) => "",
            (false, _) => "+",
        };
        f.write_str(sign)?;
        let mut star = "";
        if factor.unsigned_abs() != 1 || atoms.is_empty() {
            write!(f, "{}", factor.unsigned_abs())?;
            star = "*";
        }
        for atom in atoms {
            write!(f, "{star}{atom}")?;
            star = "*";
        }
    }
    Ok(())
}

impl Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Atom::Size(name) => f.write_str(name),
            Atom::Inferred { value, dim } => write!(f, "%{value}.{dim}"),
            Atom::Floor { sum, by } => {
                f.write_str("(")?;
                write_sum(sum, f)?;
                write!(f, ")//{by}")
            }
        }
    }
}

/// What stands in a hole of a term: a whole number, or a float times one and divided by another.
#[derive(Debug, Clone)]
pub(crate) enum Filler {
    Whole(Expression),
    Real { factor: f64, times: Option<Expression>, by: Option<Expression> },
}

impl Filler {
    /// What a hole's text tells.
    ///
    /// # Errors
    /// [`Error::Format`] for other texts.
    pub fn read(text: &str, format: &'static str) -> Result<Filler> {
        let mut parser = Parser::new(text, format);
        let mut ahead = parser.clone();
        let filler = match ahead.term() {
            Ok(Term::Float(factor)) => {
                parser = ahead;
                let times = operand(&mut parser, "*")?;
                Filler::Real { factor, times, by: operand(&mut parser, "/")? }
            }
            _ => Filler::Whole(Expression::read(&mut parser)?),
        };
        if parser.is_at_end() { Ok(filler) } else { Err(parser.expected("the end of an expression")) }
    }

    /// The number as a term; none where there is none.
    pub fn term(&self, known: &impl Fn(&Atom) -> Option<i128>) -> Option<Term> {
        let value = |expression: &Option<Expression>| match expression {
            Some(expression) => expression.value(known).map(|number| number as f64),
            None => Some(1.0),
        };
        Some(match self {
            Filler::Whole(expression) => Term::Int(expression.value(known)?),
            Filler::Real { factor, times, by } => Term::Float(factor * value(times)? / value(by)?),
        })
    }
}

/// An expression in parentheses after this sign, if that comes next.
fn operand(text: &mut Parser<'_>, sign: &str) -> Result<Option<Expression>> {
    if !text.take(sign) {
        return Ok(None);
    }
    text.expect("(")?;
    let expression = Expression::read(text)?;
    text.expect(")")?;
    Ok(Some(expression))
}

impl Display for Filler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Filler::Whole(expression) => expression.fmt(f),
            Filler::Real { factor, times, by } => {
                write!(f, "{}", Term::Float(*factor))?;
                times.iter().try_for_each(|times| write!(f, "*({times})"))?;
                by.iter().try_for_each(|by| write!(f, "/({by})"))
            }
        }
    }
}

/// The error of an expression that has no value.
#[cold]
pub(crate) fn valueless(format: &'static str, what: &dyn Display) -> Error {
    Error::format(format, format!("{what} is no number for these sizes"))
}
