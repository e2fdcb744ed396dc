//! Expressions: as text and back, and found from their values.

use std::sync::Arc;

use opforge::term::Parser;
use proptest::prelude::*;

use super::expression::{Atom, Expression, Filler, Product};
use super::fit::Fit;

fn size(name: &str) -> Atom {
    Atom::Size(name.into())
}

fn atoms() -> impl Strategy<Value = Atom> {
    let plain = prop_oneof![
        prop::sample::select(vec!["a", "rows", "s0"]).prop_map(size),
        (0usize..9, 0usize..4).prop_map(|(value, dim)| Atom::Inferred { value, dim }),
    ];
    let sum = prop::collection::vec((-9i128..9, prop::collection::vec(plain.clone(), 0..3)), 1..3);
    let floor = (sum, 1i128..9).prop_map(|(sum, by)| Atom::Floor { sum: products(sum), by });
    prop_oneof![3 => plain, 1 => floor]
}

fn products(sum: Vec<(i128, Vec<Atom>)>) -> Vec<Product> {
    sum.into_iter().map(|(factor, atoms)| Product { factor, atoms }).collect()
}

fn known(atom: &Atom) -> Option<i128> {
    match atom {
        Atom::Size(name) => Some(name.len() as i128 * 7 + 5),
        Atom::Inferred { value, dim } => Some((value * 3 + dim) as i128),
        Atom::Floor { .. } => None,
    }
}

proptest! {
    #[test]
    fn expressions_are_read_as_written(sum in prop::collection::vec((-9i128..9, prop::collection::vec(atoms(), 0..4)), 0..4), divisor in 1i128..5) {
        let expression = Expression { sum: products(sum), divisor };
        let text = expression.to_string();
        let mut parser = Parser::new(&text, "graph");
        let read = Expression::read(&mut parser).unwrap();
        prop_assert!(parser.is_at_end(), "{}", text);
        prop_assert_eq!(read.to_string(), text);
        prop_assert_eq!(read.value(&known), expression.value(&known));
    }

    #[test]
    fn any_filler_is_read_or_refused(text in "[ a-c0-9.+*/()%-]{0,30}") {
        if let Ok(filler) = Filler::read(&text, "graph") {
            let again = Filler::read(&filler.to_string(), "graph").unwrap();
            prop_assert_eq!(again.to_string(), filler.to_string());
            let _ = filler.term(&known);
        }
    }

    /// Whatever polynomial it is, the one that is found has its values where nobody looked.
    #[test]
    fn polynomials_are_found(c in prop::collection::vec(-50i128..50, 6)) {
        let points: Vec<[i128; 2]> = (0..14).map(|i| [2 + i, 3 + i * i % 11]).collect();
        let value = |[a, b]: [i128; 2]| c[0] + c[1] * a + c[2] * b + c[3] * a * b + c[4] * a * a + c[5] * (a * (a - 1) / 2);
        let at = |which: usize| points.iter().map(|point| point[which]).collect::<Vec<i128>>();
        let mut fit = Fit::new([("a", 0), ("b", 1)].map(|(name, i)| (Arc::from(name), at(i))), false);
        let values = points.iter().map(|point| Some(value(*point))).collect();
        let found = fit.expression(&values, &[]).unwrap();
        for point in [[0, 0], [1000, 3], [7, 100_000], [12345, 54321]] {
            let known = |atom: &Atom| Some(point[usize::from(*atom == size("b"))]);
            prop_assert_eq!(found.value(&known), Some(value(point)), "{}", found);
        }
    }

    #[test]
    fn quotients_are_found(factor in 1i128..4, more in -3i128..9, by in 2i128..8) {
        let n: Vec<i128> = (5..16).chain([2, 3, 1000, 1 << 20]).collect();
        let values = n.iter().map(|n| Some((factor * n + more).div_euclid(by))).collect();
        let fit = Fit::new([(Arc::from("n"), n.clone())], false);
        let whole = fit.of_sizes(&values);
        if let Some(found) = whole.or_else(|| fit.quotient(&values).map(Expression::from)) {
            for n in [17, 18, 19, 12345, 54321] {
                prop_assert_eq!(found.value(&|_| Some(n)), Some((factor * n + more).div_euclid(by)), "{}", found);
            }
        } else {
            prop_assert!(false, "({}n+{})//{}", factor, more, by);
        }
    }
}

#[test]
fn what_is_no_polynomial_is_not_found() {
    let n: Vec<i128> = (5..13).chain([2, 3, 1000, 1 << 20]).collect();
    let found = |f: fn(i128) -> i128| {
        let values = n.iter().map(|n| Some(f(*n))).collect();
        let mut fit = Fit::new([(Arc::from("n"), n.clone())], false);
        fit.expression(&values, &[])
            .or_else(|| fit.quotient(&values).map(Expression::from))
            .map(|found| found.to_string())
    };
    assert_eq!(found(|n| 3 * n * n - n), Some("-n+3*n*n".to_owned()));
    assert_eq!(found(|n| n * (n - 1) / 2), Some("(-n+n*n)/2".to_owned()));
    assert_eq!(found(|n| (n + 1) / 2), Some("(n+1)//2".to_owned()));
    let odd: [fn(i128) -> i128; 4] =
        [|n| n.min(512), |n| n.max(8), |n| if n == 1000 { n + 1 } else { n }, |n| 1 << (n % 40)];
    for f in odd {
        assert_eq!(found(f), None);
    }
}

#[test]
fn numbers_that_cannot_be_had_are_none() {
    let value = |text: &str, n: i128| Expression::read(&mut Parser::new(text, "graph")).unwrap().value(&|_| Some(n));
    assert_eq!((value("(n+1)/2", 3), value("(n+1)/2", 4), value("(n+1)//2", 4)), (Some(2), None, Some(2)));
    assert_eq!(value("n*n*n*n*n", i128::from(u64::MAX)), None);
    assert_eq!(Expression::read(&mut Parser::new("a+%3.1", "graph")).unwrap().value(&|_| None), None);
    let filler = |text| Filler::read(text, "graph").unwrap().term(&|_| Some(3)).unwrap().to_string();
    assert_eq!(
        (filler("0.5/(n)"), filler("0.5*(2*n)/(n-1)"), filler("2*n")),
        ("0.16666666666666666".into(), "1.5".into(), "6".into())
    );
}
