//! Expressions through points: which sum of products of sizes has these values for those sizes?
//!
//! The equations are solved modulo a prime, the coefficients made fractions again, and what is found is evaluated at all points. There are more points
//! than unknowns, so that an expression that fits is one that was not bent to fit.

use std::collections::HashMap;
use std::sync::Arc;

use super::expression::{Atom, Expression, Product};

/// How many more points than unknowns there are at least.
const MARGIN: usize = 3;
/// Denominators and divisors of expressions are no larger.
const LARGEST_DIVISOR: i128 = 64;
/// A prime, 2^61 - 1.
const PRIME: i128 = (1 << 61) - 1;
/// Coefficients are smaller.
const LARGEST: i128 = 1 << 40;

/// A number at each point; none where any would do.
pub(super) type Values = Vec<Option<i128>>;

/// What is known at some points, and what was found of it.
pub(super) struct Fit {
    /// Whether there are no other points: what fits there fits everywhere.
    are_all: bool,
    /// Atoms with their values: first the sizes, then what depends on them.
    atoms: Vec<(Atom, Vec<i128>)>,
    found: HashMap<Values, Expression>,
}

impl Fit {
    /// Of sizes, each with its values at the points. `are_all`: whether sizes have no other values.
    pub fn new(sizes: impl IntoIterator<Item = (Arc<str>, Vec<i128>)>, are_all: bool) -> Fit {
        let atoms = sizes.into_iter().map(|(name, values)| (Atom::Size(name), values)).collect();
        Fit { are_all, atoms, found: HashMap::new() }
    }

    /// A further atom. Of those with equal values the first is used.
    pub fn add(&mut self, atom: Atom, values: &[i128]) {
        if !self.atoms.iter().any(|(_, known)| known == values) {
            self.atoms.push((atom, values.to_vec()));
        }
    }

    /// The numbers that there are names for.
    pub fn known(&self) -> impl Iterator<Item = &Vec<i128>> {
        self.atoms.iter().map(|(_, values)| values)
    }

    /// An expression with these values, of the fewest atoms; those of `near` come first, after the sizes.
    pub fn expression(&mut self, values: &Values, near: &[(Atom, Vec<i128>)]) -> Option<Expression> {
        if let Some(constant) = constant(values) {
            return Some(Expression::from(constant));
        }
        if let Some(known) = self.found.get(values).filter(|_| near.is_empty()) {
            return Some(known.clone());
        }
        let sizes = self.atoms.iter().filter(|(atom, _)| matches!(atom, Atom::Size(_)));
        let others = self.atoms.iter().filter(|(atom, _)| !matches!(atom, Atom::Size(_)));
        let atoms: Vec<_> = sizes.chain(near).chain(others).collect();
        let found = subsets(atoms.len()).find_map(|subset| {
            let subset: Vec<_> = subset.into_iter().map(|i| atoms[i]).collect();
            self.polynomial(values, &subset)
        })?;
        if near.is_empty() {
            self.found.insert(values.clone(), found.clone());
        }
        Some(found)
    }

    /// An expression with these values of nothing but the sizes.
    pub fn of_sizes(&self, values: &Values) -> Option<Expression> {
        if let Some(constant) = constant(values) {
            return Some(Expression::from(constant));
        }
        let sizes: Vec<_> = self.atoms.iter().filter(|(atom, _)| matches!(atom, Atom::Size(_))).collect();
        subsets(sizes.len())
            .find_map(|subset| self.polynomial(values, &subset.into_iter().map(|i| sizes[i]).collect::<Vec<_>>()))
    }

    /// A size, times a number and with another one added, divided by a number and rounded down. None where several would do.
    pub fn quotient(&self, values: &Values) -> Option<Atom> {
        let values = &values.iter().copied().collect::<Option<Vec<i128>>>()?;
        let sizes = self.atoms.iter().filter(|(atom, _)| matches!(atom, Atom::Size(_)));
        sizes.into_iter().find_map(|(size, at)| {
            let (least, most) = ends(at)?;
            let rise = values[most] - values[least];
            (2..=LARGEST_DIVISOR).find_map(|by| {
                let steep = (by * rise + (at[most] - at[least]) / 2).div_euclid(at[most] - at[least]);
                let low = at.iter().zip(values).map(|(n, x)| by * x - steep * n).max()?;
                let high = at.iter().zip(values).map(|(n, x)| by * x - steep * n + by - 1).min()?;
                if low != high {
                    return None;
                }
                let term = Product { factor: steep, atoms: vec![size.clone()] };
                let more = (low != 0).then(|| Product { factor: low, atoms: Vec::new() });
                Some(Atom::Floor { sum: std::iter::once(term).chain(more).collect(), by })
            })
        })
    }

    /// A polynomial in all of these atoms.
    fn polynomial(&self, values: &Values, atoms: &[&(Atom, Vec<i128>)]) -> Option<Expression> {
        let monomials = monomials(atoms.len());
        let points: Vec<(usize, i128)> =
            values.iter().enumerate().filter_map(|(i, value)| Some((i, (*value)?))).collect();
        if !self.are_all && monomials.len() + MARGIN > points.len() {
            return None;
        }
        let power = |monomial: &Vec<usize>, point: usize| {
            let factors = monomial.iter().map(|&atom| atoms[atom].1[point]);
            factors.into_iter().try_fold(1i128, i128::checked_mul)
        };
        let mut rows = Vec::new();
        for &(point, value) in &points {
            let row = monomials.iter().map(|monomial| power(monomial, point).map(residue));
            rows.push(row.chain([Some(residue(value))]).collect::<Option<Vec<i128>>>()?);
        }
        let solved = solve(rows, monomials.len())?;
        let divisor = (1..=LARGEST_DIVISOR).find(|divisor| solved.iter().all(|c| whole(*c, *divisor).is_some()))?;
        let products = solved.iter().zip(&monomials).filter_map(|(c, monomial)| {
            let atoms = monomial.iter().map(|&atom| atoms[atom].0.clone()).collect();
            whole(*c, divisor).filter(|factor| *factor != 0).map(|factor| Product { factor, atoms })
        });
        let found = Expression { sum: products.collect(), divisor };
        let has_value = |&(point, value): &(usize, i128)| {
            let known = |atom: &Atom| atoms.iter().find(|(own, _)| own == atom).map(|(_, values)| values[point]);
            found.value(&known) == Some(value)
        };
        points.iter().all(has_value).then_some(found)
    }
}

/// The one number that values are, wherever they are something; 1 if they are nowhere.
fn constant(values: &Values) -> Option<i128> {
    let mut known = values.iter().flatten();
    let first = known.next().copied().unwrap_or(1);
    known.all(|value| *value == first).then_some(first)
}

/// Where values are least and largest, if they differ.
fn ends(values: &[i128]) -> Option<(usize, usize)> {
    let least = (0..values.len()).min_by_key(|&i| values[i])?;
    let most = (0..values.len()).max_by_key(|&i| values[i])?;
    (values[least] < values[most]).then_some((least, most))
}

/// One, two and three of the numbers below `count`, the lowest first.
fn subsets(count: usize) -> impl Iterator<Item = Vec<usize>> {
    let one = (0..count).map(|a| vec![a]);
    let two = (0..count).flat_map(|b| (0..b).map(move |a| vec![a, b]));
    let three = (0..count).flat_map(|c| (0..c).flat_map(move |b| (0..b).map(move |a| vec![a, b, c])));
    one.chain(two).chain(three)
}

/// Products of one to three atoms, given by their numbers, from simple ones on: squares and products of one or two, products of three.
fn monomials(atoms: usize) -> Vec<Vec<usize>> {
    match atoms {
        1 => vec![vec![0], vec![], vec![0, 0]],
        2 => {
            let simple = [vec![0, 1], vec![0], vec![1], vec![], vec![0, 0], vec![1, 1]];
            simple.into_iter().chain([vec![0, 0, 1], vec![0, 1, 1]]).collect()
        }
        _ => [vec![0, 1, 2], vec![0, 1], vec![0, 2], vec![1, 2], vec![0], vec![1], vec![2], vec![]].into(),
    }
}

fn residue(x: i128) -> i128 {
    x.rem_euclid(PRIME)
}

/// The whole number that this residue, times a divisor, stands for.
fn whole(residue_of: i128, divisor: i128) -> Option<i128> {
    let scaled = residue(residue_of * divisor);
    let signed = if scaled > PRIME / 2 { scaled - PRIME } else { scaled };
    (signed.abs() < LARGEST).then_some(signed)
}

/// The solution of equations modulo the prime, each a row of coefficients with what they make. Unknowns that nothing determines are 0. None without a
/// solution.
fn solve(mut rows: Vec<Vec<i128>>, unknowns: usize) -> Option<Vec<i128>> {
    let mut pivots = Vec::new();
    for column in 0..unknowns {
        let done = pivots.len();
        let Some(found) = (done..rows.len()).find(|&row| rows[row][column] != 0) else { continue };
        rows.swap(done, found);
        let scale = inverse(rows[done][column]);
        rows[done].iter_mut().for_each(|x| *x = residue(*x * scale));
        let pivot = rows[done].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(i, row)| *i != done && row[column] != 0) {
            let times = row[column];
            row.iter_mut().zip(&pivot).for_each(|(x, p)| *x = residue(*x - times * p));
        }
        pivots.push(column);
    }
    if rows[pivots.len()..].iter().any(|row| row[unknowns] != 0) {
        return None;
    }
    let mut solution = vec![0; unknowns];
    pivots.iter().zip(&rows).for_each(|(&column, row)| solution[column] = row[unknowns]);
    Some(solution)
}

/// The inverse modulo the prime, by Fermat's little theorem.
fn inverse(x: i128) -> i128 {
    let (mut power, mut result, mut exponent) = (x, 1, PRIME - 2);
    while exponent > 0 {
        if exponent % 2 == 1 {
            result = residue(result * power);
        }
        power = residue(power * power);
        exponent /= 2;
    }
    result
}
