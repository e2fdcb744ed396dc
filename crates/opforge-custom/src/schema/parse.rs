//! A parser by recursive descent; every error says what was found and what could have stood there.

use opforge_core::{Error, Result};

use super::{Param, ParamKind, Schema};
use crate::attribute::{Attribute, AttributeType};

/// The text that is still to be read.
struct Reader<'a> {
    text: &'a str,
    rest: &'a str,
}

/// The letter of `Tensor(a!)`.
type Letter = Option<String>;

pub(super) fn schema(text: &str) -> Result<Schema> {
    let mut reader = Reader { text, rest: text };
    reader.expect("(")?;
    let (mut params, mut letters) = (Vec::new(), Vec::new());
    let mut keyword_only = false;
    while !reader.take(")") {
        if !params.is_empty() || keyword_only {
            reader.expect(",")?;
        }
        if reader.take("*") {
            keyword_only = true;
            reader.expect(",")?;
        }
        let (param, letter) = param(&mut reader, keyword_only)?;
        if params.iter().any(|other: &Param| other.name == param.name) {
            return Err(reader.error(format!("a second parameter {:?}", param.name), "each name once"));
        }
        letters.extend(matches!(param.kind, ParamKind::Tensor { .. }).then_some(letter));
        params.push(param);
    }
    reader.expect("->")?;
    let (outputs, several) = outputs(&mut reader, &letters)?;
    reader.end()?;
    Ok(Schema { params, outputs, several })
}

fn param(reader: &mut Reader<'_>, keyword_only: bool) -> Result<(Param, Letter)> {
    let ty = reader.word("a type")?;
    if ty == "Tensor" {
        let letter = letter(reader)?;
        let kind = ParamKind::Tensor { changed: letter.is_some() };
        let name = reader.word("a name")?.to_owned();
        return Ok((Param { name, kind, keyword_only }, letter));
    }
    let ty = attribute_type(reader, ty)?;
    let name = reader.word("a name")?.to_owned();
    let default = if reader.take("=") { Some(default(reader, ty)?) } else { None };
    Ok((Param { name, kind: ParamKind::Attribute { ty, default }, keyword_only }, None))
}

/// `(a!)` behind `Tensor`.
fn letter(reader: &mut Reader<'_>) -> Result<Letter> {
    if !reader.take("(") {
        return Ok(None);
    }
    let letter = reader.word("a letter")?.to_owned();
    reader.expect("!")?;
    reader.expect(")")?;
    Ok(Some(letter))
}

fn attribute_type(reader: &mut Reader<'_>, word: &str) -> Result<AttributeType> {
    let brackets = "[]".repeat((0..3).find(|_| !reader.take("[]")).unwrap_or(3));
    let found = AttributeType::NAMES.iter().find(|(_, name)| *name == format!("{word}{brackets}"));
    let accepted = "Tensor, bool, int, float, str, int[], float[], int[][] or float[][]";
    found.map(|(ty, _)| *ty).ok_or_else(|| reader.error(format!("type {word:?}{brackets}"), accepted))
}

fn default(reader: &mut Reader<'_>, ty: AttributeType) -> Result<Attribute> {
    let value = value(reader)?;
    let wrong = || reader.error(format!("default {value}"), format!("a value of type {ty}"));
    value.to_type(ty).ok_or_else(wrong)
}

/// A literal: `True`, `3`, `0.5`, `"text"`, `[1, 2]`, `[[1], [2, 3]]`.
fn value(reader: &mut Reader<'_>) -> Result<Attribute> {
    if reader.take("[") {
        return list(reader);
    }
    if let Some(quote) = ["\"", "'"].into_iter().find(|quote| reader.take(quote)) {
        let Some((text, rest)) = reader.rest.split_once(quote) else {
            return Err(reader.error("a text without an end", format!("a closing {quote}")));
        };
        reader.rest = rest;
        return Ok(Attribute::Text(text.to_owned()));
    }
    reader.skip_spaces();
    let end = reader.rest.find([',', ')', ']', ' ']).unwrap_or(reader.rest.len());
    let (word, rest) = reader.rest.split_at(end);
    let number = || word.parse().map(Attribute::Int).or_else(|_| word.parse().map(Attribute::Float));
    let value = match word {
        "True" | "true" => Ok(Attribute::Bool(true)),
        "False" | "false" => Ok(Attribute::Bool(false)),
        _ => number(),
    };
    let value = value.map_err(|_| reader.error(format!("{word:?}"), "True, False, a number, a text or a list"))?;
    reader.rest = rest;
    Ok(value)
}

/// A list behind its bracket.
fn list(reader: &mut Reader<'_>) -> Result<Attribute> {
    let mut values = Vec::new();
    while !reader.take("]") {
        if !values.is_empty() {
            reader.expect(",")?;
        }
        values.push(value(reader)?);
    }
    collect(&values).ok_or_else(|| reader.error("a list of mixed values", "whole numbers, numbers, or lists of them"))
}

/// Numbers as a list, lists as rows; `None` for what is mixed.
pub fn collect(values: &[Attribute]) -> Option<Attribute> {
    all(values, AttributeType::Int, int)
        .map(Attribute::Ints)
        .or_else(|| all(values, AttributeType::Float, float).map(Attribute::Floats))
        .or_else(|| all(values, AttributeType::Ints, ints).map(Attribute::IntRows))
        .or_else(|| all(values, AttributeType::Floats, floats).map(Attribute::FloatRows))
}

/// The values, if they can all be of a type, whose content `get` takes out.
fn all<T>(values: &[Attribute], ty: AttributeType, get: fn(Attribute) -> Option<T>) -> Option<Vec<T>> {
    values.iter().map(|value| get(value.to_type(ty)?)).collect()
}

fn int(value: Attribute) -> Option<i64> {
    if let Attribute::Int(i) = value { Some(i) } else { None }
}
fn float(value: Attribute) -> Option<f32> {
    if let Attribute::Float(x) = value { Some(x) } else { None }
}
fn ints(value: Attribute) -> Option<Vec<i64>> {
    if let Attribute::Ints(list) = value { Some(list) } else { None }
}
fn floats(value: Attribute) -> Option<Vec<f32>> {
    if let Attribute::Floats(list) = value { Some(list) } else { None }
}

fn outputs(reader: &mut Reader<'_>, letters: &[Letter]) -> Result<(Vec<Option<usize>>, bool)> {
    if !reader.take("(") {
        return Ok((vec![output(reader, letters)?], false));
    }
    let mut outputs = Vec::new();
    while !reader.take(")") {
        if !outputs.is_empty() {
            reader.expect(",")?;
            if reader.take(")") {
                break;
            }
        }
        outputs.push(output(reader, letters)?);
    }
    Ok((outputs, true))
}

fn output(reader: &mut Reader<'_>, letters: &[Letter]) -> Result<Option<usize>> {
    let ty = reader.word("Tensor")?;
    if ty != "Tensor" {
        return Err(reader.error(format!("result {ty:?}"), "Tensor"));
    }
    let Some(letter) = letter(reader)? else { return Ok(None) };
    let found = letters.iter().position(|other| other.as_ref() == Some(&letter));
    found.map(Some).ok_or_else(|| reader.error(format!("result Tensor({letter}!)"), "a letter of a parameter"))
}

impl<'a> Reader<'a> {
    fn skip_spaces(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn take(&mut self, token: &str) -> bool {
        self.skip_spaces();
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, token: &str) -> Result<()> {
        if self.take(token) { Ok(()) } else { Err(self.error(self.found(), token)) }
    }

    fn word(&mut self, what: &str) -> Result<&'a str> {
        self.skip_spaces();
        let end = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        if word.is_empty() {
            return Err(self.error(self.found(), what));
        }
        self.rest = rest;
        Ok(word)
    }

    fn end(&mut self) -> Result<()> {
        self.skip_spaces();
        if self.rest.is_empty() { Ok(()) } else { Err(self.error(self.found(), "the end")) }
    }

    fn found(&self) -> String {
        self.rest.chars().next().map_or("the end".to_owned(), |c| format!("{c:?}"))
    }

    #[cold]
    fn error(&self, found: impl std::fmt::Display, accepted: impl std::fmt::Display) -> Error {
        let at = self.text.len() - self.rest.len();
        let given = format!("{found} at character {at} of {:?}", self.text);
        Error::value("custom_op", "schema", given, accepted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_what_was_parsed() {
        for text in [
            "(Tensor x, Tensor y) -> Tensor",
            "() -> (Tensor, Tensor)",
            "(Tensor x) -> (Tensor)",
            "(Tensor(a!) x, *, int axis) -> Tensor(a!)",
            "(Tensor x, bool b=true, int i=-3, float f=0.5, str s=\"a b\", *, int[] is=[1, 2], int[][] r=[[1], [2, 3]]) -> Tensor",
        ] {
            assert_eq!(schema(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (text, part) in [
            ("Tensor x -> Tensor", "accepted: ("),
            ("(Tensor x)", "accepted: ->"),
            ("(Tensor x, Tensor x) -> Tensor", "each name once"),
            ("(double x) -> Tensor", "type \"double\""),
            ("(int x=0.5) -> Tensor", "a value of type int"),
            ("(Tensor x) -> Tensor(a!)", "a letter of a parameter"),
            ("(Tensor x) -> Tensor x", "the end"),
            ("(str s=\"x) -> Tensor", "closing"),
            ("(Tensor", "a name"),
            ("(Tensor x, ", "a type"),
            ("(int[][][] x) -> Tensor", "[][][]"),
        ] {
            let error = schema(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
