//! What several traces of one function, for arguments of different sizes, have in common: the same calls, whose numbers are expressions of the sizes.
//!
//! Shapes of results need no expression, as inference finds them again; where they have none of the sizes, as those of convolutions with strides, they are
//! sizes themselves, on which later numbers may depend.

use opforge::term::Term;
use opforge::{Error, Result};

use super::expression::{Atom, Expression, Filler};
use super::fit::{Fit, Values};
use super::{Line, Part, Pattern, Says, Size, Type};

/// A trace for some sizes.
pub(crate) struct Sample {
    pub sizes: Vec<usize>,
    pub pattern: Pattern,
}

/// The pattern of all samples, of which there is one at least. `are_all`: whether there are no other sizes.
///
/// # Errors
/// [`Error::Value`], where traces have other calls, or numbers that are no expression of the sizes.
pub(crate) fn unify(samples: &[Sample], sizes: Vec<Size>, are_all: bool) -> Result<Pattern> {
    let values = |i: usize| samples.iter().map(|sample| sample.sizes[i] as i128).collect();
    let fit = Fit::new(sizes.iter().enumerate().map(|(i, size)| (size.name.clone(), values(i))), are_all);
    let mut unifier = Unifier { samples, sizes: &sizes, fit, inferred: Vec::new() };
    let first = &samples[0].pattern;
    if let Some(other) = samples.iter().position(|sample| sample.pattern.lines.len() != first.lines.len()) {
        return Err(unifier.differs(other, first.lines.len()));
    }
    let inputs = unifier.parts("arguments", false, |pattern| Some(&pattern.inputs))?;
    let lines =
        (0..first.lines.len()).map(|i| Ok(Line { number: 0, says: unifier.line(i)? })).collect::<Result<_>>()?;
    let outputs = unifier.parts("results", false, |pattern| Some(&pattern.outputs))?;
    let mut pattern = Pattern { inputs, lines, outputs, sizes };
    pattern.number_lines();
    Ok(pattern)
}

/// Atoms with their values at the samples.
type Known = Vec<(Atom, Vec<i128>)>;

struct Unifier<'a> {
    samples: &'a [Sample],
    sizes: &'a [Size],
    fit: Fit,
    /// The lengths of values that are no expressions of the sizes.
    inferred: Vec<Known>,
}

impl<'a> Unifier<'a> {
    fn line(&mut self, i: usize) -> Result<Says> {
        let says = |sample: &'a Sample| &sample.pattern.lines[i].says;
        let all: Vec<&Says> = self.samples.iter().map(says).collect();
        let differs = |own: &Self| own.differs_at(i, &all);
        match all[0] {
            // Of what is captured, whose memory is the same, samples may have seen other parts first.
            Says::Key { .. } | Says::Captured { .. } => {
                let same = all.iter().all(|other| match (all[0], other) {
                    (Says::Captured { value, name, .. }, Says::Captured { value: v, name: n, .. }) => {
                        (value, name) == (v, n)
                    }
                    (Says::Key { value }, Says::Key { value: v }) => value == v,
                    _ => false,
                });
                if same { Ok(all[0].clone()) } else { Err(differs(self)) }
            }
            Says::Call { at, .. } => {
                let calls = all.iter().map(|says| match says {
                    Says::Call { term, inputs, outputs, .. } => Some((term, inputs, outputs)),
                    _ => None,
                });
                let calls: Vec<_> = calls.collect::<Option<_>>().ok_or_else(|| differs(self))?;
                let name = calls[0].0.to_string();
                let inputs = self.parts(&name, false, |p| call(p, i).map(|(inputs, _)| inputs))?;
                let near = self.near(inputs.iter());
                let terms: Vec<&Term> = calls.iter().map(|(term, ..)| *term).collect();
                let term = self.term(&terms, &near)?.ok_or_else(|| differs(self))?;
                let outputs = self.parts(&name, true, |p| call(p, i).map(|(_, outputs)| outputs))?;
                Ok(Says::Call { term, inputs, outputs, at: *at })
            }
        }
    }

    /// The lengths of these tensors' values.
    fn near<'b>(&self, parts: impl Iterator<Item = &'b Part>) -> Known {
        parts.filter_map(|part| self.inferred.get(part.value)).flatten().cloned().collect()
    }

    /// Tensors of a line, or arguments or results; `made` by the line's call, if they are not there already.
    fn parts(
        &mut self,
        what: &str,
        made: bool,
        of: impl Fn(&'a Pattern) -> Option<&'a Vec<Part>>,
    ) -> Result<Vec<Part>> {
        let all: Option<Vec<&Vec<Part>>> = self.samples.iter().map(|sample| of(&sample.pattern)).collect();
        let all = all.ok_or_else(|| self.unlike(what))?;
        if all.iter().any(|parts| parts.len() != all[0].len()) {
            return Err(self.unlike(what));
        }
        (0..all[0].len())
            .map(|i| self.part(what, made, &all.iter().map(|parts| &parts[i]).collect::<Vec<_>>()))
            .collect()
    }

    fn part(&mut self, what: &str, made: bool, parts: &[&Part]) -> Result<Part> {
        let first = parts[0];
        let like = |part: &&Part| {
            part.value == first.value && part.is.dtype == first.is.dtype && part.is.dims.len() == first.is.dims.len()
        };
        if !parts.iter().all(like) {
            return Err(self.unlike(what));
        }
        let value = first.value;
        // Numbers count what is defined.
        let is_new = made && value >= self.inferred.len();
        self.inferred.resize(self.inferred.len().max(value + 1), Vec::new());
        let mut dims = Vec::new();
        for dim in 0..first.is.dims.len() {
            let lengths = numbers(parts.iter().map(|part| &part.is.dims[dim]));
            dims.push(self.length(what, lengths, value, is_new.then_some(dim))?);
        }
        let stride = match parts.iter().all(|part| part.is.stride.is_none()) {
            true => None,
            false => {
                let strides: Vec<Values> = parts.iter().map(|part| strides(&part.is)).collect();
                let of = |dim: usize| strides.iter().map(|strides| strides[dim]).collect::<Values>();
                Some((0..dims.len()).map(|dim| self.number(what, &of(dim), value)).collect::<Result<_>>()?)
            }
        };
        let starts: Values = parts.iter().map(|part| start(&part.is)).collect();
        let start = self.number(what, &starts, value)?;
        Ok(Part { value, is: Type { dtype: first.is.dtype, dims, stride, start } })
    }

    /// A length of a tensor; `new` is its dimension where the tensor is a call's result, and inference finds it.
    fn length(&mut self, what: &str, values: Vec<i128>, value: usize, new: Option<usize>) -> Result<Expression> {
        let Some(dim) = new else { return self.number(what, &all(&values), value) };
        // Nothing but sizes: two results are not as long as each other because they are so in all samples.
        if let Some(found) = self.fit.of_sizes(&all(&values)) {
            return Ok(found);
        }
        let atom = Atom::Inferred { value, dim };
        self.fit.add(atom.clone(), &values);
        self.inferred[value].push((atom.clone(), values));
        Ok(Expression::from(atom))
    }

    /// A number of a tensor of this value.
    fn number(&mut self, what: &str, values: &Values, value: usize) -> Result<Expression> {
        let near = self.inferred.get(value).cloned().unwrap_or_default();
        let given = || values.iter().map(|value| value.unwrap_or(1)).collect::<Vec<i128>>();
        self.whole(values, &near).ok_or_else(|| self.unknown(what, &given()))
    }

    fn whole(&mut self, values: &Values, near: &Known) -> Option<Expression> {
        if let Some(found) = self.fit.expression(values, near) {
            return Some(found);
        }
        let quotient = self.fit.quotient(values)?;
        self.fit.add(quotient.clone(), &values.iter().copied().collect::<Option<Vec<i128>>>()?);
        Some(Expression::from(quotient))
    }

    /// An operator with its attributes; none where operators differ.
    fn term(&mut self, terms: &[&Term], near: &Known) -> Result<Option<Term>> {
        let found = match terms[0] {
            Term::Int(_) => match terms.iter().map(|term| int(term)).collect::<Option<Vec<i128>>>() {
                None => return Ok(None),
                Some(values) if values.iter().all(|value| *value == values[0]) => terms[0].clone(),
                Some(values) => {
                    let whole = self.whole(&all(&values), near).ok_or_else(|| self.unknown("attribute", &values))?;
                    Term::Hole(Filler::Whole(whole).to_string())
                }
            },
            Term::Float(_) => match terms.iter().map(|term| float(term)).collect::<Option<Vec<f64>>>() {
                None => return Ok(None),
                Some(values) if values.iter().all(|value| value.to_bits() == values[0].to_bits()) => terms[0].clone(),
                Some(values) => {
                    let real = self.real(&values, near).ok_or_else(|| self.unknown("attribute", &values))?;
                    Term::Hole(real.to_string())
                }
            },
            Term::List(first) => {
                let lists = terms.iter().map(|term| list(term).filter(|list| list.len() == first.len()));
                let Some(lists) = lists.collect::<Option<Vec<&[Term]>>>() else { return Ok(None) };
                let items =
                    (0..first.len()).map(|i| self.term(&lists.iter().map(|list| &list[i]).collect::<Vec<_>>(), near));
                let Some(items) = items.collect::<Result<Option<Vec<Term>>>>()? else { return Ok(None) };
                Term::List(items)
            }
            Term::Named(head, first) => {
                let same = |fields: &&[(String, Term)]| {
                    fields.len() == first.len() && fields.iter().zip(first).all(|(a, b)| a.0 == b.0)
                };
                let all = terms.iter().map(|term| fields(term, head).filter(same));
                let Some(all) = all.collect::<Option<Vec<_>>>() else { return Ok(None) };
                let mut found = Vec::new();
                for (i, (name, _)) in first.iter().enumerate() {
                    let values: Vec<&Term> = all.iter().map(|fields| &fields[i].1).collect();
                    let Some(value) = self.term(&values, near)? else { return Ok(None) };
                    found.push((name.clone(), value));
                }
                Term::Named(head.clone(), found)
            }
            Term::Text(_) | Term::Hole(_) => {
                if terms.iter().any(|term| term.to_string() != terms[0].to_string()) {
                    return Ok(None);
                }
                terms[0].clone()
            }
        };
        Ok(Some(found))
    }

    /// A float that is a multiple of a whole number or a quotient of two, to the bit.
    fn real(&mut self, values: &[f64], near: &Known) -> Option<Filler> {
        let known: Vec<Vec<i128>> = self.fit.known().cloned().collect();
        let wholes = |of: &dyn Fn(f64) -> f64| values.iter().map(|x| rounded(of(*x))).collect::<Option<Vec<i128>>>();
        let mut found = |factor: f64, times: Option<Vec<i128>>, by: Option<Vec<i128>>| {
            let number = |all: &Option<Vec<i128>>, i: usize| all.as_ref().map_or(1.0, |all| all[i] as f64);
            let value = |i: usize| factor * number(&times, i) / number(&by, i);
            if (0..values.len()).any(|i| value(i).to_bits() != values[i].to_bits()) {
                return None;
            }
            let mut whole = |values: Option<Vec<i128>>| match values {
                Some(values) => self.whole(&all(&values), near).map(Some),
                None => Some(None),
            };
            Some(Filler::Real { factor, times: whole(times)?, by: whole(by)? })
        };
        // Factors that people write.
        for n in (1..=16).map(f64::from) {
            let quotient = wholes(&|x| n / x).and_then(|by| found(n, None, Some(by)));
            let multiple = || wholes(&|x| x * n).and_then(|times| found(1.0 / n, Some(times), None));
            if let Some(filler) = quotient.or_else(multiple) {
                return Some(filler);
            }
        }
        // What is divided may be a length, or one less; so is each by the next, as the factors of variances are.
        let lengths = near.iter().map(|(_, values)| values).chain(known.iter());
        let mut dividends = lengths.flat_map(|all| [all.clone(), all.iter().map(|n| n - 1).collect()]);
        let by_lengths = dividends.find_map(|all| {
            let by = values.iter().zip(&all).map(|(x, n)| rounded(*n as f64 / x)).collect::<Option<Vec<i128>>>()?;
            found(1.0, Some(all), Some(by))
        });
        by_lengths.or_else(|| {
            let more = wholes(&|x| x / (x - 1.0))?;
            let less = more.iter().map(|n| n - 1).collect();
            found(1.0, Some(more), Some(less))
        })
    }

    #[cold]
    fn unknown<T: std::fmt::Debug>(&self, what: &str, values: &[T]) -> Error {
        let told = |i: usize| format!("{:?} for {}", values[i], self.named(&self.samples[i]));
        let last = values.len() - 1;
        let some: Vec<String> = [0, last.min(1), last.saturating_sub(1), last].map(told).into();
        let given = format!("a number that is no simple expression of the sizes: {}", some.join(", "));
        Error::value("export", what.to_owned(), given, "sums and products of sizes, and their quotients")
    }

    #[cold]
    fn unlike(&self, what: &str) -> Error {
        Error::value("export", what.to_owned(), "other tensors for other sizes", "the same calls for all sizes")
    }

    #[cold]
    fn differs_at(&self, line: usize, says: &[&Says]) -> Error {
        // Numbers may differ: the first that is another call, or else any.
        let kind = |says: &Says| says.to_string().replace(|c: char| c.is_ascii_digit(), "");
        let other = says.iter().position(|other| kind(other) != kind(says[0]));
        let other = other.or_else(|| says.iter().position(|other| other.to_string() != says[0].to_string()));
        self.differs(other.unwrap_or(0), line)
    }

    /// The error of a sample whose calls are others than those of the first one, at this line at the latest.
    #[cold]
    fn differs(&self, other: usize, line: usize) -> Error {
        let line = line.min((0..).find(|&i| !self.same_kind(other, i)).unwrap_or(line));
        let told = |sample: &Sample| {
            let said =
                sample.pattern.lines.get(line).map_or_else(|| "its end".to_owned(), |line| line.says.to_string());
            format!("`{said}` for {}", self.named(sample))
        };
        let (first, other) = (told(&self.samples[0]), told(&self.samples[other]));
        Error::value("export", "calls", format!("{first}, {other}"), "the same calls for all sizes")
    }

    /// Whether this line of a sample and of the first one is the same operator's.
    fn same_kind(&self, other: usize, line: usize) -> bool {
        let head = |sample: &Sample| {
            let says = &sample.pattern.lines.get(line)?.says;
            Some(match says {
                Says::Call { term, .. } => term.head().unwrap_or_default().to_owned(),
                _ => says.to_string(),
            })
        };
        let (first, other) = (head(&self.samples[0]), head(&self.samples[other]));
        first.is_some() && first == other
    }

    /// A sample's sizes, with their names.
    fn named(&self, sample: &Sample) -> String {
        let sizes = self.sizes.iter().zip(&sample.sizes).map(|(size, value)| format!("{}={value}", size.name));
        sizes.collect::<Vec<_>>().join(", ")
    }
}

fn call(pattern: &Pattern, line: usize) -> Option<(&Vec<Part>, &Vec<Part>)> {
    match &pattern.lines[line].says {
        Says::Call { inputs, outputs, .. } => Some((inputs, outputs)),
        _ => None,
    }
}

/// Numbers of samples, which depend on nothing.
fn numbers<'b>(expressions: impl Iterator<Item = &'b Expression>) -> Vec<i128> {
    expressions.map(|expression| expression.constant().unwrap_or_default()).collect()
}

/// A sample's strides, also of what is contiguous; none where they say nothing: of one element, or of no elements at all.
fn strides(is: &Type) -> Values {
    let dims = numbers(is.dims.iter());
    let mut strides = vec![1; dims.len()];
    for dim in (1..dims.len()).rev() {
        strides[dim - 1] = strides[dim] * dims[dim];
    }
    let strides = is.stride.as_ref().map_or(strides, |stride| numbers(stride.iter()));
    let is_empty = is_empty(is);
    strides.into_iter().zip(dims).map(|(stride, len)| (len != 1 && !is_empty).then_some(stride)).collect()
}

/// Where a sample begins, unless it has no elements.
fn start(is: &Type) -> Option<i128> {
    is.start.constant().filter(|_| !is_empty(is))
}

fn is_empty(is: &Type) -> bool {
    is.dims.iter().any(|length| length.constant() == Some(0))
}

/// Values that are all something.
fn all(values: &[i128]) -> Values {
    values.iter().copied().map(Some).collect()
}

fn int(term: &Term) -> Option<i128> {
    if let Term::Int(number) = term { Some(*number) } else { None }
}

fn float(term: &Term) -> Option<f64> {
    if let Term::Float(number) = term { Some(*number) } else { None }
}

fn list(term: &Term) -> Option<&[Term]> {
    if let Term::List(items) = term { Some(items) } else { None }
}

fn fields<'b>(term: &'b Term, head: &str) -> Option<&'b [(String, Term)]> {
    if let Term::Named(found, fields) = term { (found == head).then_some(fields) } else { None }
}

/// The whole number next to one that is almost one.
fn rounded(x: f64) -> Option<i128> {
    let whole = x.round();
    ((x - whole).abs() <= 1e-6 * whole.abs() && whole.abs() < 9e15).then_some(whole as i128)
}
