//! What `help` and `inspect.signature` show of declared functions.

use super::signature::{Signature, python_default};
use opforge::declaration::{Function, Type, Value};

/// A Rust documentation text without what is Rust's: code blocks and link brackets.
pub fn for_python(doc: &str) -> String {
    let mut in_code = false;
    let mut lines: Vec<&str> = Vec::new();
    for line in doc.lines().map(|line| line.strip_prefix(' ').unwrap_or(line)) {
        if line.starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            lines.push(line);
        }
    }
    unlinked(&lines.join("\n").replace("# Errors\n", "Errors: ")).trim().to_owned()
}

/// The text with links to Rust items replaced by their names: [`f`], [`f`](fn@f), [`f`][g].
fn unlinked(text: &str) -> String {
    let mut parts = text.split("[`");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once("`]").unwrap_or((part, ""));
        let target = match rest.chars().next() {
            Some('(') => rest.find(')'),
            Some('[') => rest.find(']'),
            _ => None,
        };
        plain.push_str(&format!("`{name}`{}", &rest[target.map_or(0, |end| end + 1)..]));
    }
    plain
}

/// Whether the interpreter can read the value as a literal.
fn literal(value: &Value) -> bool {
    let text = python_default(value);
    !text.contains(['.', '(']) && !text.contains("nan") || text.parse::<f64>().is_ok_and(f64::is_finite)
}

/// The parameters as `inspect.signature` reads them, if the name has one signature and a literal for each default.
fn text_signature(overloads: &[&'static Signature], is_method: bool) -> Option<String> {
    let [signature] = overloads else { return None };
    let last = signature.positional.checked_sub(1).map(|last| signature.params[last].ty);
    let takes_rest = matches!(last, Some(Type::Tensors | Type::Ints | Type::Optional(Type::Ints)));
    if takes_rest || !signature.params.iter().filter_map(|p| p.default.as_ref()).all(literal) {
        return None;
    }
    let mut parts = vec![if is_method { "$self" } else { "$module" }.to_owned()];
    for (i, param) in signature.params.iter().enumerate().skip(usize::from(is_method)) {
        if i == signature.positional {
            parts.push("*".into());
        }
        parts.push(match &param.default {
            Some(default) => format!("{}={}", param.name, python_default(default)),
            None => param.name.to_owned(),
        });
    }
    if !is_method && takes_out(signature.function) {
        if signature.positional == signature.params.len() {
            parts.push("*".into());
        }
        parts.push("out=None".into());
    }
    Some(parts.join(", "))
}

/// Whether a function takes `out`: when its result is one tensor, or several of a fixed number.
pub fn takes_out(function: &Function) -> bool {
    function.returns.split(['(', ',', ' ', ')']).filter(|part| !part.is_empty()).all(|part| part == "Tensor")
        && function.returns != "()"
}

/// The documentation of a name: a signature for the interpreter where there can be one, all signatures, then the text of the first.
pub fn of(name: &str, overloads: &[&'static Signature], is_method: bool) -> String {
    let header = text_signature(overloads, is_method).map(|params| format!("{name}({params})\n--\n\n"));
    let signatures: Vec<String> = overloads.iter().map(|s| s.to_string()).collect();
    let text = overloads.first().map_or_else(String::new, |s| for_python(s.function.doc));
    format!("{}{}\n\n{text}", header.unwrap_or_default(), signatures.join("\n"))
}
