//! The rule, as make reads it, in which a compiler names the files that it included.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// The prerequisites of the first rule.
pub(super) fn prerequisites(rule: &[u8]) -> Vec<PathBuf> {
    let mut words = words(rule);
    // The target; its colon may stand apart.
    let target = words.iter().position(|word| word.ends_with(b":")).map_or(0, |at| at + 1);
    words.drain(..target);
    words.into_iter().map(|word| PathBuf::from(OsString::from_vec(word))).collect()
}

/// Words of the first logical line. Make's escapes are a backslash before a space, `#` or the line's end, and `$$`.
fn words(rule: &[u8]) -> Vec<Vec<u8>> {
    let (mut words, mut word) = (Vec::new(), Vec::new());
    let mut bytes = rule.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match (byte, bytes.peek().copied()) {
            (b'\\', Some(escaped @ (b' ' | b'#'))) | (b'$', Some(escaped @ b'$')) => {
                bytes.next();
                word.push(escaped);
            }
            (b'\\', Some(b'\n')) => {
                bytes.next();
                words.push(std::mem::take(&mut word));
            }
            (b'\n', _) => break,
            (b' ' | b'\t' | b'\r', _) => words.push(std::mem::take(&mut word)),
            _ => word.push(byte),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::prerequisites;
    use std::path::PathBuf;

    #[test]
    fn names_are_unescaped() {
        let rule = b"out\\ dir/k.so: k.cc \\\n /usr/include/a\\ b.h /x/c$$d.h \\\n  e\\#f.h\n\n/usr/include/other.h:\n";
        let expected = ["k.cc", "/usr/include/a b.h", "/x/c$d.h", "e#f.h"].map(PathBuf::from);
        assert_eq!(prerequisites(rule), expected);
        assert_eq!(prerequisites(b"k.so : k.c"), [PathBuf::from("k.c")]);
        assert!(prerequisites(b"").is_empty());
    }
}
