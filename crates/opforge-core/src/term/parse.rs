//! Reading terms, and what else is written around them: a cursor over a text that says what it expected where.

use super::Term;
use crate::{Error, Result};

/// How deep terms may be nested.
const DEEPEST: usize = 24;

/// A place in a text. What it reads takes no more memory than a multiple of the text's length.
#[derive(Debug, Clone)]
pub struct Parser<'a> {
    text: &'a str,
    at: usize,
    format: &'static str,
}

impl<'a> Parser<'a> {
    /// The beginning of a text; errors call it malformed data of this format.
    pub fn new(text: &'a str, format: &'static str) -> Self {
        Parser { text, at: 0, format }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Leaves out spaces, but no ends of lines.
    fn skip_spaces(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start_matches(' ').len();
    }

    /// Whether nothing but spaces is left.
    pub fn is_at_end(&mut self) -> bool {
        self.skip_spaces();
        self.rest().is_empty()
    }

    /// Takes `token` if it comes next.
    pub fn take(&mut self, token: &str) -> bool {
        self.skip_spaces();
        let comes = self.rest().starts_with(token);
        self.at += if comes { token.len() } else { 0 };
        comes
    }

    /// Takes `token`.
    ///
    /// # Errors
    /// If something else comes next.
    pub fn expect(&mut self, token: &str) -> Result<()> {
        if self.take(token) { Ok(()) } else { Err(self.expected(&format!("`{}`", token.escape_default()))) }
    }

    /// The number of the current line, from 1 on.
    pub fn line(&self) -> usize {
        1 + self.text[..self.at].matches('\n').count()
    }

    /// The error of this place, where something else was expected.
    #[cold]
    pub fn expected(&self, what: &str) -> Error {
        let found: String = self.rest().chars().take_while(|c| *c != '\n').take(24).collect();
        let found = if found.is_empty() { "the end of the line".to_owned() } else { format!("`{found}`") };
        self.fault(&format!("expected {what}, found {found}"))
    }

    /// An error of this line.
    #[cold]
    pub fn fault(&self, message: &str) -> Error {
        Error::format(self.format, format!("line {}: {message}", self.line()))
    }

    /// What comes next as long as characters are such.
    fn run(&mut self, accepted: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let taken = &rest[..rest.len() - rest.trim_start_matches(&accepted).len()];
        self.at += taken.len();
        taken
    }

    /// A name of letters, digits and underscores.
    ///
    /// # Errors
    /// If something else comes next.
    pub fn word(&mut self) -> Result<&'a str> {
        self.skip_spaces();
        let word = self.run(|c| c.is_ascii_alphanumeric() || c == '_');
        if word.is_empty() { Err(self.expected("a name")) } else { Ok(word) }
    }

    /// A number that is no less than 0.
    ///
    /// # Errors
    /// If something else comes next, or a number that is too large.
    pub fn number(&mut self) -> Result<usize> {
        self.skip_spaces();
        let begin = self.at;
        let digits = self.run(|c| c.is_ascii_digit());
        let read = digits.parse();
        self.at = if read.is_ok() { self.at } else { begin };
        read.map_err(|_| self.expected("a number"))
    }

    /// What `item` reads, several times, between two tokens and with commas.
    ///
    /// # Errors
    /// Those of `item`; missing commas and ends.
    pub fn list<T>(
        &mut self,
        [open, close]: [&str; 2],
        mut item: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        self.expect(open)?;
        let mut items = Vec::new();
        if self.take(close) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.take(close) {
                return Ok(items);
            }
            if !self.take(",") {
                return Err(self.expected(&format!("`,` or `{close}`")));
            }
        }
    }

    /// A term.
    ///
    /// # Errors
    /// [`Error::Format`], which names the line and what was expected.
    pub fn term(&mut self) -> Result<Term> {
        self.nested(0)
    }

    fn nested(&mut self, depth: usize) -> Result<Term> {
        if depth > DEEPEST {
            return Err(self.fault("terms are nested too deeply"));
        }
        self.skip_spaces();
        match self.rest().bytes().next() {
            Some(b'[') => Ok(Term::List(self.list(["[", "]"], |own| own.nested(depth + 1))?)),
            Some(b'"') => Ok(Term::Text(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.numeral(),
            Some(b'{') => Ok(Term::Hole(self.hole()?.to_owned())),
            _ => self.named(depth),
        }
    }

    fn numeral(&mut self) -> Result<Term> {
        let begin = self.clone();
        let text = self.run(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
        let number = match text.parse::<i128>() {
            Ok(number) => Ok(Term::Int(number)),
            Err(_) => text.parse::<f64>().map(Term::Float),
        };
        number.map_err(|_| begin.expected("a number"))
    }

    /// A name, with what stands in angle brackets.
    fn head(&mut self) -> Result<String> {
        let begin = self.at;
        self.word()?;
        let mut open = 0usize;
        loop {
            let rest = self.rest();
            let taken = match rest.bytes().next() {
                Some(b'<') => {
                    open += 1;
                    1
                }
                Some(b'>') if open > 0 => {
                    open -= 1;
                    1
                }
                Some(b',') if open > 0 => 1,
                _ if open > 0 => self.run(|c| c.is_ascii_alphanumeric() || c == '_').len(),
                _ => break,
            };
            if taken == 0 {
                return Err(self.expected("`>`"));
            }
            if !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') {
                self.at += taken;
            }
        }
        Ok(self.text[begin..self.at].trim_start().to_owned())
    }

    fn named(&mut self, depth: usize) -> Result<Term> {
        let head = self.head()?;
        let fields = match self.rest().starts_with('(') {
            true => self.list(["(", ")"], |own| own.field(depth))?,
            false => Vec::new(),
        };
        Ok(match (&head[..], &fields[..]) {
            ("inf", []) => Term::Float(f64::INFINITY),
            ("nan", []) => Term::Float(f64::NAN),
            ("nan", [(_, Term::Int(bits))]) => {
                let nan = u64::try_from(*bits).map(f64::from_bits).ok().filter(|nan| nan.is_nan());
                Term::Float(nan.ok_or_else(|| self.fault(&format!("{bits} are no bits of NaN")))?)
            }
            _ => Term::Named(head, fields),
        })
    }

    fn field(&mut self, depth: usize) -> Result<(String, Term)> {
        let mut ahead = self.clone();
        if let Ok(name) = ahead.word()
            && ahead.take("=")
        {
            *self = ahead;
            return Ok((name.to_owned(), self.nested(depth + 1)?));
        }
        Ok((String::new(), self.nested(depth + 1)?))
    }

    /// The text of a hole.
    ///
    /// # Errors
    /// If something else comes next, or a hole without an end in this line.
    pub fn hole(&mut self) -> Result<&'a str> {
        self.expect("{")?;
        let text = self.run(|c| !matches!(c, '{' | '}' | '\n'));
        self.expect("}")?;
        Ok(text)
    }

    /// A string in quotes, as [`str::escape_default`] and `{:?}` write it.
    ///
    /// # Errors
    /// For anything else.
    pub fn string(&mut self) -> Result<String> {
        self.expect("\"")?;
        let mut text = String::new();
        loop {
            text.push_str(self.run(|c| !matches!(c, '"' | '\\' | '\n')));
            if self.rest().starts_with('"') {
                self.at += 1;
                return Ok(text);
            }
            text.push(self.escaped()?);
        }
    }

    fn escaped(&mut self) -> Result<char> {
        let simple = [('"', '"'), ('\'', '\''), ('\\', '\\'), ('n', '\n'), ('r', '\r'), ('t', '\t'), ('0', '\0')];
        let letter = self.rest().strip_prefix('\\').and_then(|rest| rest.chars().next());
        if let Some((_, c)) = simple.into_iter().find(|(escape, _)| letter == Some(*escape)) {
            self.at += 2;
            return Ok(c);
        }
        let code = self.rest().strip_prefix("\\u{").and_then(|rest| rest.split_once('}'));
        let read = code.and_then(|(code, _)| char::from_u32(u32::from_str_radix(code, 16).ok()?).zip(Some(code.len())));
        let (c, digits) = read.ok_or_else(|| self.expected("`\"` or an escape"))?;
        self.at += "\\u{}".len() + digits;
        Ok(c)
    }
}
