//! Sample calls of operators, with references that know nothing of tensors: plain f64 arrays and loops.

use std::ops::Range;
use std::sync::Arc;

use smallvec::smallvec;

use super::DTypes;
use crate::autograd::{BackwardOptions, grad};
use crate::dispatch::dispatch;
use crate::operator::{Operator, Tensors};
use crate::{DType, Device, Result, Tensor};

/// A row-major array of f64, the language of references.
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    /// The lengths of the dimensions.
    pub shape: Vec<usize>,
    /// The elements, row-major.
    pub data: Vec<f64>,
    /// How the elements become a tensor.
    pub content: Content,
}

/// What an [`Array`]'s numbers stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Real numbers: every dtype that the operator takes is tried.
    Real,
    /// Indices: integer dtypes.
    Index,
    /// Truth values: bool and u8.
    Truth,
}

impl Content {
    /// The dtype of tensors of it where real numbers are in `real`: indices are i64, truth values bool.
    pub fn dtype(self, real: DType) -> DType {
        match self {
            Content::Real => real,
            Content::Index => DType::I64,
            Content::Truth => DType::Bool,
        }
    }
}

impl Array {
    /// The array with these elements.
    pub fn new(shape: &[usize], data: Vec<f64>) -> Self {
        assert_eq!(shape.iter().product::<usize>(), data.len(), "elements for the shape {shape:?}");
        Array { shape: shape.to_vec(), data, content: Content::Real }
    }

    /// The array whose element at each index is `f(index)`.
    pub fn from_fn(shape: &[usize], mut f: impl FnMut(&[usize]) -> f64) -> Self {
        let mut data = Vec::with_capacity(shape.iter().product());
        each_index(shape, |index| data.push(f(index)));
        Array::new(shape, data)
    }

    /// Well-spread numbers from a range, the same at every call; no two adjacent ones are equal.
    pub fn spread(shape: &[usize], range: Range<f64>) -> Self {
        // The golden ratio's multiples modulo 1 (a Weyl sequence) fill the range evenly in an irregular order.
        let mut k = 0.37;
        Array::from_fn(shape, |_| {
            k = (k + 0.618_033_988_749_894_9_f64) % 1.0;
            range.start + k * (range.end - range.start)
        })
    }

    /// Well-spread whole numbers from `0..end`, as indices.
    pub fn indices(shape: &[usize], end: usize) -> Self {
        let mut array = Array::spread(shape, 0.0..end as f64);
        array.data.iter_mut().for_each(|x| *x = x.floor());
        Array { content: Content::Index, ..array }
    }

    /// Truth values in an irregular order.
    pub fn truths(shape: &[usize]) -> Self {
        let mut array = Array::spread(shape, 0.0..2.0);
        array.data.iter_mut().for_each(|x| *x = x.floor());
        Array { content: Content::Truth, ..array }
    }

    /// The element at an index.
    pub fn at(&self, index: &[usize]) -> f64 {
        let flat = self.shape.iter().zip(index).fold(0, |flat, (&d, &i)| flat * d + i);
        self.data[flat]
    }

    /// The element at an index into a shape that this one broadcasts to.
    pub fn at_broadcast(&self, index: &[usize]) -> f64 {
        let own = &index[index.len() - self.shape.len()..];
        let own: Vec<usize> = own.iter().zip(&self.shape).map(|(&i, &d)| if d == 1 { 0 } else { i }).collect();
        self.at(&own)
    }

    /// The array with a function applied to each element.
    pub fn map(&self, f: impl Fn(f64) -> f64) -> Self {
        Array { shape: self.shape.clone(), data: self.data.iter().map(|&x| f(x)).collect(), content: self.content }
    }

    /// The array as a contiguous tensor, of the dtype that its [content](Content::dtype) has.
    ///
    /// # Errors
    /// A dtype that the device lacks, out of memory.
    pub fn to_tensor(&self, real: DType, device: &Device) -> Result<Tensor> {
        let tensor = Tensor::from_vec(self.data.clone(), &self.shape[..], &Device::Cpu)?;
        tensor.to_dtype(self.content.dtype(real))?.to_device(device)
    }
}

/// Calls `f` with every index of a shape, in row-major order.
pub fn each_index(shape: &[usize], mut f: impl FnMut(&[usize])) {
    let mut index = vec![0; shape.len()];
    for _ in 0..shape.iter().product::<usize>() {
        f(&index);
        for d in (0..shape.len()).rev() {
            index[d] += 1;
            if index[d] < shape[d] {
                break;
            }
            index[d] = 0;
        }
    }
}

type Reference = Arc<dyn Fn(&[Array]) -> Vec<Array> + Send + Sync>;
type Composition = Arc<dyn Fn(&[&Tensor]) -> Result<Tensor> + Send + Sync>;

/// What a sample calls.
#[derive(Clone)]
enum Callee {
    Operator(Arc<dyn Operator>),
    Composition(&'static str, Composition),
}

/// One call of an operator or of a composition of operators, with a way to compute what it should give.
#[derive(Clone)]
pub struct Sample {
    callee: Callee,
    /// The inputs.
    pub inputs: Vec<Array>,
    /// Whether the outputs are smooth in the real inputs here, so that finite differences tell the gradient.
    pub smooth: bool,
    /// Whether NaN and infinities in the first input are refused, with a value error.
    pub finite: bool,
    /// Whether NaN and infinities spread over results as the algorithm has it, not as the reference does.
    pub spreads: bool,
    /// Whether the reference holds for matrices of full rank only: elements of their two dimensions must not be repeated.
    pub full_rank: bool,
    /// Whether elements are computed with here, though other calls of the operator only move them.
    pub computes: bool,
    /// Whether the reference is one of real numbers, from which nothing follows for complex ones.
    pub of_reals: bool,
    up_to_sign: bool,
    reference: Reference,
}

impl Sample {
    /// A sample of a smooth operator with one output.
    pub fn new(
        op: impl Operator,
        inputs: Vec<Array>,
        reference: impl Fn(&[Array]) -> Array + Send + Sync + 'static,
    ) -> Self {
        Self::many(op, inputs, move |inputs| vec![reference(inputs)])
    }

    /// A sample of a smooth operator with several outputs.
    pub fn many(
        op: impl Operator,
        inputs: Vec<Array>,
        reference: impl Fn(&[Array]) -> Vec<Array> + Send + Sync + 'static,
    ) -> Self {
        Self::of(Callee::Operator(Arc::new(op)), inputs, Arc::new(reference))
    }

    /// A sample of a smooth composition.
    pub fn composed(
        name: &'static str,
        call: impl Fn(&[&Tensor]) -> Result<Tensor> + Send + Sync + 'static,
        inputs: Vec<Array>,
        reference: impl Fn(&[Array]) -> Array + Send + Sync + 'static,
    ) -> Self {
        let reference = move |inputs: &[Array]| vec![reference(inputs)];
        Self::of(Callee::Composition(name, Arc::new(call)), inputs, Arc::new(reference))
    }

    fn of(callee: Callee, inputs: Vec<Array>, reference: Reference) -> Self {
        Sample {
            callee,
            inputs,
            smooth: true,
            computes: false,
            of_reals: false,
            finite: false,
            spreads: false,
            full_rank: false,
            up_to_sign: false,
            reference,
        }
    }

    /// The same sample with a function applied to every element of its inputs.
    pub fn on(mut self, f: impl Fn(f64) -> f64) -> Self {
        self.inputs.iter_mut().for_each(|input| *input = input.map(&f));
        self
    }

    /// The same sample, without the claim that it is smooth.
    pub fn rough(self) -> Self {
        Sample { smooth: false, ..self }
    }

    /// The same sample, whose reference is one of real numbers: it is no linear function, of which both parts of complex numbers are an example.
    pub fn of_reals(self) -> Self {
        Sample { of_reals: true, ..self }
    }

    /// The same sample, of a call that computes with elements where others of its operator only move them.
    pub fn computing(self) -> Self {
        Sample { computes: true, ..self }
    }

    /// The dtypes that the call takes, of those that some call of its operator takes. Samples of factorisations are of real matrices: what is computed of
    /// complex ones does not follow from theirs, as linear functions do.
    pub fn dtypes(&self, operator: DTypes) -> DTypes {
        match operator {
            DTypes::FACTORED => operator.common(DTypes::REAL),
            _ if self.of_reals => operator.common(DTypes::REAL),
            _ if self.computes => operator.common(DTypes::COMPUTED),
            _ => operator,
        }
    }

    /// The same sample, whose reference holds for matrices of full rank only.
    pub fn full_rank(self) -> Self {
        Sample { full_rank: true, ..self }
    }

    /// The same sample, of an operator that refuses NaN and infinities in its first input.
    pub fn finite(self) -> Self {
        Sample { finite: true, ..self }
    }

    /// The same sample, of an operator where the algorithm, not the definition, decides which results NaN and infinities spread to; they spread to some.
    pub fn spreading(self) -> Self {
        Sample { spreads: true, ..self }
    }

    /// The same sample, whose results are free to have either sign: absolute values are compared.
    pub fn up_to_sign(self) -> Self {
        Sample { up_to_sign: true, ..self }
    }

    /// The operator that is called, unless it is a composition.
    pub fn operator(&self) -> Option<&dyn Operator> {
        match &self.callee {
            Callee::Operator(op) => Some(&**op),
            Callee::Composition(..) => None,
        }
    }

    /// Makes the call.
    ///
    /// # Errors
    /// Those of the call.
    pub fn call(&self, inputs: &[&Tensor]) -> Result<Tensors> {
        let outputs = match &self.callee {
            Callee::Operator(op) => dispatch(&**op, inputs)?,
            Callee::Composition(_, call) => smallvec![call(inputs)?],
        };
        if self.up_to_sign { outputs.iter().map(Tensor::abs).collect() } else { Ok(outputs) }
    }

    /// Makes the call: its outputs, then the gradients of the sum of the real ones with respect to the inputs that need gradients.
    ///
    /// # Errors
    /// Those of the call, and of its gradient.
    pub fn call_with_gradients(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        let mut results = self.call(&inputs.iter().collect::<Vec<_>>())?.into_vec();
        let roots = results.iter().filter(|y| y.requires_grad() && y.dtype().is_float());
        let roots: Vec<_> = roots.map(|y| Ok((y.clone(), Some(y.ones_like()?)))).collect::<Result<_>>()?;
        if !roots.is_empty() {
            let leaves: Vec<&Tensor> = inputs.iter().filter(|x| x.requires_grad()).collect();
            results.extend(grad(&roots, &leaves, BackwardOptions::default())?.into_iter().flatten());
        }
        Ok(results.iter().map(Tensor::detach).collect())
    }

    /// What the call should give for inputs like the sample's.
    pub fn expected(&self, inputs: &[Array]) -> Vec<Array> {
        (self.reference)(inputs)
    }
}

impl std::fmt::Debug for Sample {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.callee {
            Callee::Operator(op) => write!(f, "{op:?}")?,
            Callee::Composition(name, _) => f.write_str(name)?,
        }
        write!(f, " on {:?}", self.inputs.iter().map(|a| &a.shape).collect::<Vec<_>>())
    }
}
