//! Patterns from text.

use opforge::term::{Parser, Term};
use opforge::{DType, Result};

use super::expression::{Expression, Filler};
use super::{FORMAT, Line, Part, Pattern, Says, Size, Type};
use crate::text::{MAGIC, VERSION};

impl Pattern {
    /// What a text says. Whether calls are such as can be made is a matter of [`Pattern::fill`].
    ///
    /// # Errors
    /// [`opforge::Error::Format`], which names the line, for texts of another form or version.
    pub fn read(text: &str) -> Result<Pattern> {
        let mut text = Parser::new(text, FORMAT);
        header(&mut text)?;
        let mut sizes: Vec<Size> = Vec::new();
        while text.take("size ") {
            let next = size(&mut text)?;
            if sizes.iter().any(|other| other.name == next.name) {
                return Err(text.fault(&format!("the size {} is there twice", next.name)));
            }
            text.expect("\n")?;
            sizes.push(next);
        }
        text.expect("graph")?;
        let inputs = text.list(["(", ")"], part)?;
        text.expect("{")?;
        text.expect("\n")?;
        let mut lines = Vec::new();
        while !text.take("return") {
            let number = text.line();
            lines.push(Line { number, says: says(&mut text)? });
            text.expect("\n")?;
        }
        let outputs = parts(&mut text)?;
        text.expect("\n")?;
        text.expect("}")?;
        text.expect("\n")?;
        match text.is_at_end() {
            true => Ok(Pattern { sizes, inputs, lines, outputs }),
            false => Err(text.expected("the end of the text")),
        }
    }
}

fn header(text: &mut Parser<'_>) -> Result<()> {
    text.expect(MAGIC.trim_end())?;
    let version = text.number()?;
    if version != VERSION {
        return Err(text.fault(&format!("version {version} of graphs, where {VERSION} is known")));
    }
    text.expect("\n")
}

fn size(text: &mut Parser<'_>) -> Result<Size> {
    let name = text.word()?;
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(text.fault(&format!("{name} is no name of a size")));
    }
    text.expect("from")?;
    let min = text.number()?;
    let max = if text.take("to") { text.number()? } else { usize::MAX };
    match min <= max {
        true => Ok(Size { name: name.into(), min, max }),
        false => Err(text.fault(&format!("a size from {min} to {max}"))),
    }
}

fn says(text: &mut Parser<'_>) -> Result<Says> {
    match given_number(text) {
        Some(value) if text.take("key") => Ok(Says::Key { value }),
        Some(value) => {
            text.expect("captured")?;
            Ok(Says::Captured { value, name: text.string()?, stored: typed(text)? })
        }
        None => {
            let outputs = parts(text)?;
            text.expect("=")?;
            let term = text.term()?;
            holes(&term).map_err(|error| text.fault(&error.to_string()))?;
            Ok(Says::Call { term, outputs, inputs: parts(text)?, at: None })
        }
    }
}

/// The number of `%number =`, which has no type: that of something given.
fn given_number(text: &mut Parser<'_>) -> Option<usize> {
    let mut ahead = text.clone();
    let number = ahead.take("%").then(|| ahead.number().ok()).flatten().filter(|_| ahead.take("="))?;
    *text = ahead;
    Some(number)
}

/// Refuses holes that hold no expressions.
fn holes(term: &Term) -> Result<()> {
    term.filled(&mut |text| Filler::read(text, FORMAT).map(|_| Term::Int(0))).map(drop)
}

/// Tensors up to the end of the line, or a `=`.
fn parts(text: &mut Parser<'_>) -> Result<Vec<Part>> {
    let mut parts = Vec::new();
    if !text.clone().take("%") {
        return Ok(parts);
    }
    loop {
        parts.push(part(text)?);
        if !text.take(",") {
            return Ok(parts);
        }
    }
}

/// `%number type`.
fn part(text: &mut Parser<'_>) -> Result<Part> {
    text.expect("%")?;
    let value = text.number()?;
    Ok(Part { value, is: typed(text)? })
}

/// A dtype and a layout.
fn typed(text: &mut Parser<'_>) -> Result<Type> {
    let dtype: DType = text.word()?.parse().map_err(|_| text.fault("expected a dtype"))?;
    let dims = text.list(["[", "]"], number)?;
    let stride = if text.take("stride") { Some(text.list(["[", "]"], number)?) } else { None };
    let start = if text.take("from") { number(text)? } else { Expression::from(0) };
    Ok(Type { dtype, dims, stride, start })
}

/// A number, or an expression in braces.
fn number(text: &mut Parser<'_>) -> Result<Expression> {
    if !text.take("{") {
        return text.number().map(|number| Expression::from(number as i128));
    }
    let expression = Expression::read(text)?;
    text.expect("}")?;
    Ok(expression)
}
