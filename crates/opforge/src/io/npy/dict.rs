//! The Python literal that headers are: `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`.

/// A value of the dictionary.
#[derive(Debug, PartialEq)]
pub(super) enum Entry<'a> {
    Text(&'a str),
    Bool(bool),
    /// A tuple of lengths.
    Numbers(Vec<usize>),
    /// A list, as records have.
    List,
}

/// Keys and values in their order.
pub(super) type Dict<'a> = Vec<(&'a str, Entry<'a>)>;

/// The entries of a dictionary literal, or `None` where the text is not one.
pub(super) fn parse_dict(text: &str) -> Option<Dict<'_>> {
    let mut rest = Rest(text);
    rest.skip('{')?;
    let mut entries = Vec::new();
    while rest.skip('}').is_none() {
        let key = rest.quoted()?;
        rest.skip(':')?;
        let value = rest.value()?;
        let is_list = value == Entry::List;
        entries.push((key, value));
        if is_list {
            // What is in it does not matter: it will be refused.
            return Some(entries);
        }
        if rest.skip(',').is_none() {
            rest.skip('}')?;
            break;
        }
    }
    rest.0.trim().is_empty().then_some(entries)
}

/// What has not been read yet.
struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    /// Goes past a character and the space before it.
    fn skip(&mut self, c: char) -> Option<()> {
        self.0 = self.0.trim_start().strip_prefix(c)?;
        Some(())
    }

    fn word(&mut self, word: &str) -> Option<()> {
        self.0 = self.0.trim_start().strip_prefix(word)?;
        Some(())
    }

    /// A quoted text without escapes.
    fn quoted(&mut self) -> Option<&'a str> {
        let start = self.0.trim_start();
        let quote = start.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let (text, rest) = start[1..].split_once(quote)?;
        self.0 = rest;
        (!text.contains(['\\', '\n'])).then_some(text)
    }

    fn value(&mut self) -> Option<Entry<'a>> {
        match self.0.trim_start().chars().next()? {
            '\'' | '"' => self.quoted().map(Entry::Text),
            '(' => self.tuple().map(Entry::Numbers),
            '[' => Some(Entry::List),
            'T' => self.word("True").map(|()| Entry::Bool(true)),
            'F' => self.word("False").map(|()| Entry::Bool(false)),
            _ => None,
        }
    }

    fn tuple(&mut self) -> Option<Vec<usize>> {
        self.skip('(')?;
        let mut numbers = Vec::new();
        while self.skip(')').is_none() {
            numbers.push(self.number()?);
            if self.skip(',').is_none() {
                self.skip(')')?;
                break;
            }
        }
        Some(numbers)
    }

    /// A number; Python 2 wrote an L after long ones.
    fn number(&mut self) -> Option<usize> {
        let start = self.0.trim_start();
        let end = start.find(|c: char| !c.is_ascii_digit()).unwrap_or(start.len());
        let number = start[..end].parse().ok()?;
        self.0 = &start[end..];
        self.0 = self.0.strip_prefix('L').unwrap_or(self.0);
        Some(number)
    }
}
