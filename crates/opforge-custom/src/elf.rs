//! What a library's file tells: which functions it has, which classes and strings its code was compiled for, texts that it declares.

use std::ffi::CStr;
use std::path::Path;

use object::{Object, ObjectSection, ObjectSymbol};

use crate::abi::Variant;

/// The text at a symbol of a library, read without opening it; `None` where there is none.
pub(crate) fn text(file: &Path, symbol: &str) -> Option<String> {
    let bytes = std::fs::read(file).ok()?;
    let parsed = object::File::parse(&*bytes).ok()?;
    let found = parsed.dynamic_symbols().find(|found| found.name() == Ok(symbol) && found.is_definition())?;
    let section = parsed.section_by_index(found.section_index()?).ok()?;
    let start = usize::try_from(found.address().checked_sub(section.address())?).ok()?;
    let text = CStr::from_bytes_until_nul(section.data().ok()?.get(start..)?).ok()?;
    text.to_str().ok().map(str::to_owned)
}

/// The names in a library's symbol table.
#[derive(Debug, Default)]
pub(crate) struct Names {
    defined: Vec<String>,
    undefined: Vec<String>,
}

impl Names {
    /// The names in a file, none if it cannot be read.
    pub fn of(file: &Path) -> Self {
        let mut names = Names::default();
        let Ok(bytes) = std::fs::read(file) else { return names };
        let Ok(parsed) = object::File::parse(&*bytes) else { return names };
        for symbol in parsed.dynamic_symbols().chain(parsed.symbols()) {
            let list = if symbol.is_undefined() { &mut names.undefined } else { &mut names.defined };
            list.extend(symbol.name().ok().filter(|name| !name.is_empty()).map(str::to_owned));
        }
        names
    }

    /// The class that functions take; `marked` is whether the library says itself that it is the one for both ABIs.
    pub fn variant(&self, marked: bool) -> Variant {
        Variant { dual: marked || self.has_dual_class(), old_strings: self.has_old_strings() }
    }

    /// Whether functions take the class that passes texts as vectors of characters.
    fn has_dual_class(&self) -> bool {
        self.all().any(|name| name.contains("AotExtraDualABI") || name.contains("AotKernelDataDualABI"))
    }

    /// Whether functions take `std::string` in the older ABI: the class's own members tell, or else which strings the code calls for. Code that
    /// calls for none in either ABI has the newer, whose short strings are made inline.
    fn has_old_strings(&self) -> bool {
        let members = || self.all().filter(|name| name.contains("8AotExtra4Attr"));
        if members().any(|name| name.ends_with("Ss")) {
            return true;
        }
        let is_new = |name: &String| name.contains("NSt7__cxx1112basic_string");
        let is_old = |name: &String| name.starts_with("_ZNSs") || name.starts_with("_ZNKSs");
        !members().any(is_new) && self.undefined.iter().any(is_old) && !self.undefined.iter().any(is_new)
    }

    /// What to say of a function that is not there.
    pub fn missing(&self, function: &str) -> String {
        let mangled = format!("_Z{}{function}", function.len());
        if self.defined.iter().any(|name| name.starts_with(&mangled)) {
            return format!("has a C++ function {function}, but none with C linkage: declare it extern \"C\"");
        }
        let near = self.near(function);
        let hint = match &near[..] {
            [] => String::new(),
            near => format!("; did you mean {}?", near.join(" or ")),
        };
        format!("has no function {function}{hint}")
    }

    /// The functions with C linkage whose names come near, the nearest first.
    fn near(&self, function: &str) -> Vec<&str> {
        let distance = |name: &str| strsim::damerau_levenshtein(&name.to_lowercase(), &function.to_lowercase());
        let plausible = |name: &&str| !name.starts_with('_') && distance(name) <= function.len().div_ceil(3);
        let mut near: Vec<&str> = self.defined.iter().map(String::as_str).filter(plausible).collect();
        near.sort_by_key(|name| (distance(name), *name));
        near.dedup();
        near.truncate(3);
        near
    }

    fn all(&self) -> impl Iterator<Item = &String> {
        self.defined.iter().chain(&self.undefined)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(defined: &[&str], undefined: &[&str]) -> Names {
        let owned = |list: &[&str]| list.iter().map(|&name| name.to_owned()).collect();
        Names { defined: owned(defined), undefined: owned(undefined) }
    }

    #[test]
    fn near_misses_are_named() {
        let names = names(&["CustomAdd", "CustomSub", "unrelated", "_Z8CppAloneii"], &[]);
        assert_eq!(names.missing("CustomAd"), "has no function CustomAd; did you mean CustomAdd or CustomSub?");
        assert_eq!(names.missing("xyzzy"), "has no function xyzzy");
        assert!(names.missing("CppAlone").contains("extern \"C\""));
    }

    #[test]
    fn string_abis_are_told_apart() {
        let old = "_ZNK8AotExtra4AttrIlEET_Ss";
        let new = "_ZNK8AotExtra4AttrIlEET_NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE";
        assert!(names(&[old], &[]).has_old_strings());
        assert!(!names(&[new], &["_ZNSsC1Ev"]).has_old_strings());
        assert!(names(&[], &["_ZNSsC1EPKcRKSaIcE"]).has_old_strings());
        assert!(!names(&[], &[]).has_old_strings());
    }
}
