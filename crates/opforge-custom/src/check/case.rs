//! Which inputs an operator is tried on.

use std::fmt;

use opforge::{DType, Error, Result, Tensor};

use super::{Options, huge, values};
use crate::CustomOp;

/// An input of a case: name, shape, dtype.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// As the schema calls it.
    pub name: String,
    /// Lengths.
    pub shape: Vec<usize>,
    /// The elements' type.
    pub dtype: DType,
}

/// Inputs to try an operator on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// From 1, the same for the same operator and options.
    pub number: usize,
    /// The inputs.
    pub inputs: Vec<Input>,
    /// Whether the user named these shapes, so that the operator must accept them.
    pub is_given: bool,
}

/// Shapes that all inputs get where none are given. The last ones are beyond 2^16 elements.
const SHAPES: [&[usize]; 12] =
    [&[3, 4], &[5], &[2, 3, 4], &[1], &[], &[0], &[3, 0], &[0, 3], &[33, 65], &[4099], &[70_001], &[257, 263]];

/// Those that further combinations of dtypes get.
const FEWER_SHAPES: [&[usize]; 5] = [&[3, 4], &[5], &[], &[0], &[70_001]];

impl Input {
    /// The number of elements.
    pub fn count(&self) -> usize {
        self.shape.iter().product()
    }
}

impl Case {
    /// The number of elements of the largest input.
    pub fn count(&self) -> usize {
        self.inputs.iter().map(Input::count).max().unwrap_or(0)
    }

    /// The inputs as tensors, of these bytes.
    pub(super) fn tensors(&self, bytes: &[Vec<u8>]) -> Result<Vec<Tensor>> {
        let inputs = self.inputs.iter().zip(bytes);
        inputs.map(|(input, bytes)| values::tensor(bytes, &input.shape, input.dtype)).collect()
    }

    /// Whether an input has no elements.
    pub fn is_empty(&self) -> bool {
        self.inputs.iter().any(|input| input.count() == 0)
    }
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}{:?}", self.name, self.dtype.long_name(), self.shape)
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, input) in self.inputs.iter().enumerate() {
            write!(f, "{}{input}", if i > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

/// The cases for an operator: its dtypes with the given shapes, or else with shapes of all kinds.
///
/// # Errors
/// Where the number of inputs is not known, and for options that contradict it.
pub(super) fn derive(op: &CustomOp, options: &Options) -> Result<Vec<Case>> {
    let count = input_count(op, options)?;
    let mut cases = Vec::new();
    for (i, dtypes) in dtypes(op, options, count)?.iter().enumerate() {
        for shapes in shapes(op, options, count, i == 0)? {
            let input =
                |(i, (shape, &dtype)): (usize, (Vec<usize>, &DType))| Input { name: op.input_name(i), shape, dtype };
            let inputs = shapes.into_iter().zip(dtypes).enumerate().map(input).collect();
            cases.push(Case { number: cases.len() + 1, inputs, is_given: !options.shapes.is_empty() });
        }
    }
    if options.huge {
        cases.extend(huge::case(&cases));
    }
    Ok(cases)
}

fn input_count(op: &CustomOp, options: &Options) -> Result<usize> {
    let declared = op.schema().map(|schema| schema.tensors().count());
    let given = options.shapes.first().map(Vec::len).or(options.dtypes.first().map(Vec::len));
    let accepted = || Some(op.accepted().first()?.len().saturating_sub(op.output_count().unwrap_or(1)));
    declared.or(given).or_else(accepted).ok_or_else(|| {
        let accepted = "an operator with a schema or with accepted dtypes; or shapes or a schema as options";
        Error::value(op.name(), "inputs", "an unknown number", accepted)
    })
}

fn dtypes(op: &CustomOp, options: &Options, count: usize) -> Result<Vec<Vec<DType>>> {
    if !options.dtypes.is_empty() {
        let of_count = options.dtypes.iter().map(|dtypes| repeated(op, "dtypes", dtypes, count));
        return of_count.collect();
    }
    let inputs = |combination: &Vec<Option<DType>>| -> Vec<DType> {
        combination.iter().take(count).map(|dtype| dtype.unwrap_or(DType::F32)).collect()
    };
    let mut combinations: Vec<_> = op.accepted().iter().map(inputs).filter(|dtypes| dtypes.len() == count).collect();
    combinations.dedup();
    if combinations.is_empty() {
        combinations.push(vec![DType::F32; count]);
    }
    Ok(combinations)
}

fn shapes(op: &CustomOp, options: &Options, count: usize, all: bool) -> Result<Vec<Vec<Vec<usize>>>> {
    if !options.shapes.is_empty() {
        return options.shapes.iter().map(|shapes| repeated(op, "shapes", shapes, count)).collect();
    }
    let list: &[&[usize]] = if all { &SHAPES } else { &FEWER_SHAPES };
    let wanted = |shape: &&&[usize]| options.ranks.as_ref().is_none_or(|ranks| ranks.contains(&shape.len()));
    Ok(list.iter().filter(wanted).map(|shape| vec![shape.to_vec(); count]).collect())
}

/// One entry stands for all inputs.
fn repeated<T: Clone + fmt::Debug>(op: &CustomOp, option: &'static str, given: &[T], count: usize) -> Result<Vec<T>> {
    match given {
        [one] => Ok(vec![one.clone(); count]),
        all if all.len() == count => Ok(all.to_vec()),
        other => {
            let accepted = format!("one for all inputs, or one for each of {count}");
            Err(Error::value(op.name(), option, format!("{other:?}"), accepted))
        }
    }
}
