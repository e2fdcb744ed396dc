//! Terms are read as they were written.

use proptest::prelude::*;

use super::*;
use crate::{DType, Scalar, Shape};

fn again<T: Attributes>(value: &T) -> T {
    let text = value.write().to_string();
    let mut parser = Parser::new(&text, "term");
    let read = T::read(&parser.term().unwrap()).unwrap();
    assert!(parser.is_at_end(), "{text}");
    assert_eq!(read.write().to_string(), text);
    read
}

#[test]
fn numbers_keep_every_bit() {
    let odd_nan = f64::from_bits(0xfff8_0000_0000_0001);
    for x in [0.0, -0.0, 1.0, 1e-5, 1e300, f64::MIN_POSITIVE, 5e-324, f64::INFINITY, -f64::INFINITY, f64::NAN, odd_nan]
    {
        assert_eq!(again(&x).to_bits(), x.to_bits());
        assert_eq!(again(&Scalar::Float(x)), Scalar::Float(x));
        assert_eq!(again(&Scalar::Complex(x, -x)), Scalar::Complex(x, -x));
    }
    for scalar in [Scalar::Bool(true), Scalar::Int(i64::MIN), Scalar::UInt(u64::MAX), Scalar::UInt(3)] {
        assert_eq!(again(&scalar), scalar);
    }
}

#[test]
fn values_of_all_kinds_are_read_as_written() {
    assert_eq!(again(&Some(vec![1usize, 2])), Some(vec![1, 2]));
    assert_eq!(again(&None::<usize>), None);
    assert_eq!(again(&Shape::from(vec![2, 0, 3])), Shape::from(vec![2, 0, 3]));
    assert_eq!(again(&DType::BF16), DType::BF16);
    assert_eq!(again(&[3i64, -4]), [3, -4]);
    assert_eq!(again(&"a \"quoted\"\n\u{1f600} \\ text".to_owned()), "a \"quoted\"\n\u{1f600} \\ text");
}

#[test]
fn holes_are_filled_wherever_they_are() {
    let term = Parser::new("Fill(shape=[{2*n}, 3], value={0.5/(n)})", "term").term().unwrap();
    assert_eq!(term.to_string(), "Fill(shape=[{2*n}, 3], value={0.5/(n)})");
    let filled = term.filled(&mut |text| Ok(Term::Int(text.len() as i128))).unwrap();
    assert_eq!(filled.to_string(), "Fill(shape=[3, 3], value=7)");
    assert!(Shape::read(&Term::List(vec![Term::Hole("n".to_owned())])).is_err());
    assert!(Parser::new("{n\n}", "term").term().is_err());
}

#[test]
fn errors_say_what_was_expected_where() {
    let error = |text: &str| Parser::new(text, "term").term().unwrap_err().to_string();
    assert_eq!(error("[1, 2"), "malformed term data: line 1: expected `,` or `]`, found the end of the line");
    assert_eq!(error("Name(a=)"), "malformed term data: line 1: expected a name, found `)`");
    assert_eq!(error("A<B"), "malformed term data: line 1: expected `>`, found the end of the line");
    assert!(error(&"[".repeat(100_000)).contains("nested too deeply"));
    assert!(error("nan(5)").contains("no bits of NaN"));
    assert!(Shape::read(&Parser::new("[18446744073709551615, 9]", "term").term().unwrap()).is_err());
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "[ a-z\\[\\](){},=<>\"0-9.\\\\-]{0,40}") {
        if let Ok(term) = Parser::new(&text, "term").term() {
            let written = term.to_string();
            let again = Parser::new(&written, "term").term().unwrap();
            prop_assert_eq!(again.to_string(), written);
        }
    }

    #[test]
    fn any_string_is_read_as_written(text: String) {
        for written in [format!("{text:?}"), Term::Text(text.clone()).to_string()] {
            prop_assert_eq!(Parser::new(&written, "term").string().unwrap(), text.clone(), "{}", written);
        }
    }
}
