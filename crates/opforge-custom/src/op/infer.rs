//! What an operator's outputs are, by its declared rules and its library; whatever they say is checked.

use opforge::dispatch::{EAGER, interpreted_by};
use opforge::operator::Metas;
use opforge::tracer::untraced;
use opforge::{DType, Device, Error, Layout, Meta, Result, Tensor};
use opforge_runtime::Storage;

use super::call::Bound;
use super::{Body, DTypeRule, Function, Lengths, ShapeRule};
use crate::abi::{Inferred, UNKNOWN_LENGTH, UNKNOWN_RANK, lengths};
use crate::runner::Query;

impl Bound {
    /// The outputs for inputs of these metas, and behind them the inputs that are changed without being outputs.
    pub(super) fn infer_metas(&self, inputs: &[&Meta]) -> Result<Metas> {
        if let Body::Function { fake: Some(fake), .. } = &self.spec.body {
            return self.infer_by_fake(&**fake, inputs);
        }
        let shapes: Vec<Lengths> = inputs.iter().map(|meta| lengths(meta.dims())).collect();
        let dtypes: Vec<DType> = inputs.iter().map(|meta| meta.dtype).collect();
        let mut metas = Metas::new();
        for (i, (shape, dtype)) in self.infer_outputs(&shapes, &dtypes)?.into_iter().enumerate() {
            let known = |&n: &i64| usize::try_from(n).ok();
            let dims: Option<Vec<usize>> = shape.iter().map(known).collect();
            let unknown =
                || self.spec.place.fault(format_args!("output {i} has shape {shape:?}, although all inputs are known"));
            metas.push(Meta::contiguous(dtype, dims.ok_or_else(unknown)?));
        }
        metas.extend(self.spec.changes.only.iter().map(|&i| inputs[i].clone()));
        Ok(metas)
    }

    /// As [`Bound::infer_metas`], of what a function gives for tensors without elements.
    fn infer_by_fake(&self, fake: &Function, inputs: &[&Meta]) -> Result<Metas> {
        self.check_count(inputs.len())?;
        let without_elements = |meta: &&Meta| {
            let layout = Layout::new(meta.shape().clone(), meta.layout.stride().into(), 0, self.spec.name)?;
            let storage = Storage::promised(Device::Meta, layout.span() * meta.dtype.size_in_bytes());
            Tensor::over_storage(storage, meta.dtype, layout)
        };
        let tensors = inputs.iter().map(without_elements).collect::<Result<Vec<Tensor>>>()?;
        let outputs = untraced(|| interpreted_by(&EAGER, || self.outputs_of(fake, &tensors)))?;
        let meta = |(i, output): (usize, &Tensor)| match self.spec.changes.alias(i) {
            Some(input) => inputs[input].clone(),
            None => Meta::contiguous(output.dtype(), output.shape()),
        };
        let changed = self.spec.changes.only.iter().map(|&i| inputs[i].clone());
        Ok(outputs.iter().enumerate().map(meta).chain(changed).collect())
    }

    /// The outputs' shapes and dtypes; shapes may be known in part.
    pub(super) fn infer_outputs(&self, shapes: &[Lengths], dtypes: &[DType]) -> Result<Vec<(Lengths, DType)>> {
        let spec = &self.spec;
        self.check_count(shapes.len())?;
        self.check_combinations(shapes.len(), spec.output_count())?;
        self.check_dtypes(dtypes, 0)?;
        let library = self.ask_library(shapes, dtypes)?;
        let mut out_shapes = self.output_shapes(shapes, &library)?;
        let count = spec.output_count().unwrap_or(out_shapes.len());
        if out_shapes.len() == 1 && matches!(spec.shapes, ShapeRule::Like(_)) {
            out_shapes.resize(count, out_shapes[0].clone());
        }
        if out_shapes.len() != count {
            let message =
                format_args!("inferred {} output shapes where {count} outputs are declared", out_shapes.len());
            return Err(spec.place.fault(message));
        }
        self.check_combinations(shapes.len(), Some(count))?;
        let mut out_dtypes = self.output_dtypes(dtypes, &library)?;
        if out_dtypes.len() == 1 {
            out_dtypes.resize(count, out_dtypes[0]);
        }
        if out_dtypes.len() != count {
            let message = format_args!("inferred {} output dtypes where there are {count} outputs", out_dtypes.len());
            return Err(spec.place.fault(message));
        }
        for (i, input) in (0..count).filter_map(|i| Some((i, spec.changes.alias(i)?))) {
            (out_shapes[i], out_dtypes[i]) = (shapes[input].clone(), dtypes[input]);
        }
        out_shapes.iter().enumerate().try_for_each(|(i, shape)| self.check_shape(i, shape))?;
        self.check_dtypes(&out_dtypes, dtypes.len())?;
        Ok(out_shapes.into_iter().zip(out_dtypes).collect())
    }

    pub(super) fn check_count(&self, given: usize) -> Result<()> {
        let refuse = |expected: String| Err(Error::value(self.spec.name, "inputs", given, expected));
        match (&self.spec.schema, self.spec.inputs) {
            (Some(schema), _) if schema.tensors().count() != given => {
                refuse(format!("{} tensors: {schema}", schema.tensors().count()))
            }
            (None, Some(count)) if count != given => refuse(format!("{count} tensors, as declared")),
            _ => Ok(()),
        }
    }

    /// There are as many inputs as accepted combinations have dtypes for beside those of the outputs, of which there is at least one where their number is
    /// not known yet: a kernel would read pointers that are not there.
    fn check_combinations(&self, given: usize, outputs: Option<usize>) -> Result<()> {
        let accepted = &self.spec.accepted;
        let fits = |length: usize| outputs.map_or(given < length, |outputs| given + outputs == length);
        if accepted.is_empty() || accepted.iter().any(|combination| fits(combination.len())) {
            return Ok(());
        }
        let length = accepted[0].len();
        let tensors = length.saturating_sub(outputs.unwrap_or(1));
        let expected = format!("{tensors} tensors: accepted combinations are of {length} inputs and outputs");
        Err(Error::value(self.spec.name, "inputs", given, expected))
    }

    /// The dtypes of inputs (from 0) or outputs (from the number of inputs) are among the accepted combinations.
    fn check_dtypes(&self, dtypes: &[DType], from: usize) -> Result<()> {
        let spec = &self.spec;
        let fits = |combination: &Vec<Option<DType>>| {
            let expected = combination.iter().skip(from);
            dtypes.iter().zip(expected).all(|(dtype, expected)| expected.is_none_or(|expected| expected == *dtype))
        };
        if spec.accepted.is_empty() || spec.accepted.iter().any(fits) {
            return Ok(());
        }
        let list = |dtypes: &mut dyn Iterator<Item = String>| dtypes.collect::<Vec<_>>().join(", ");
        let name = |dtype: &Option<DType>| dtype.map_or("any", DType::long_name).to_owned();
        let part = |combination: &Vec<_>| list(&mut combination.iter().skip(from).take(dtypes.len()).map(name));
        let accepted = spec.accepted.iter().map(part);
        let argument = if from == 0 { "inputs" } else { "outputs" };
        let given = list(&mut dtypes.iter().map(|dtype| dtype.long_name().to_owned()));
        Err(Error::dtype(spec.name, argument, given, accepted.collect::<Vec<_>>().join(" or ")))
    }

    fn ask_library(&self, shapes: &[Lengths], dtypes: &[DType]) -> Result<Vec<Inferred>> {
        let Body::Kernel(runner) = &self.spec.body else { return Ok(Vec::new()) };
        let infers = runner.infers();
        let asks_shape = matches!(self.spec.shapes, ShapeRule::Library) && infers.shape;
        let asks_dtype = matches!(self.spec.dtypes, DTypeRule::Library) && infers.dtype;
        if !asks_shape && !asks_dtype {
            return Ok(Vec::new());
        }
        let several = self.spec.output_count().is_some_and(|count| count != 1);
        let want = crate::runner::Infers { shape: asks_shape, dtype: asks_dtype };
        runner.infer(&Query { place: &self.spec.place, attributes: &self.attributes, shapes, dtypes, several, want })
    }

    fn output_shapes(&self, shapes: &[Lengths], library: &[Inferred]) -> Result<Vec<Lengths>> {
        let spec = &self.spec;
        match &spec.shapes {
            ShapeRule::Like(i) => Ok(vec![self.input(shapes, *i)?.clone()]),
            ShapeRule::Fixed(fixed) => Ok(fixed.clone()),
            ShapeRule::Function(rule) => rule(shapes, &self.attributes),
            ShapeRule::Library => {
                let found: Option<Vec<Lengths>> = library.iter().map(|output| output.shape.clone()).collect();
                let aliased =
                    || (0..spec.output_count()?).map(|i| Some(shapes[spec.changes.alias(i)?].clone())).collect();
                let found = found.filter(|found| !found.is_empty()).or_else(aliased);
                found.ok_or_else(|| {
                    let function = &spec.place.function;
                    let remedy = format_args!("declare one, or define {function}InferShape or {function}Infer");
                    spec.place.fault(format_args!("has no shape for its outputs: {remedy}"))
                })
            }
        }
    }

    fn output_dtypes(&self, dtypes: &[DType], library: &[Inferred]) -> Result<Vec<DType>> {
        match &self.spec.dtypes {
            DTypeRule::Like(i) => Ok(vec![*self.input(dtypes, *i)?]),
            DTypeRule::Fixed(fixed) => Ok(fixed.clone()),
            DTypeRule::Function(rule) => rule(dtypes, &self.attributes),
            DTypeRule::Library => {
                let stated: Vec<_> = library.iter().filter_map(|output| output.dtype.clone()).collect();
                if stated.is_empty() {
                    return Ok(vec![*self.input(dtypes, 0)?]);
                }
                let unknown = |what: String| self.spec.place.fault(format_args!("inferred {what}, which no dtype has"));
                stated.into_iter().map(|dtype| dtype.map_err(unknown)).collect()
            }
        }
    }

    fn input<'a, T>(&self, inputs: &'a [T], i: usize) -> Result<&'a T> {
        let missing = || Error::value(self.spec.name, "inputs", inputs.len(), format!("at least {} tensors", i + 1));
        inputs.get(i).ok_or_else(missing)
    }

    fn check_shape(&self, output: usize, shape: &[i64]) -> Result<()> {
        if shape == [UNKNOWN_RANK] || shape.iter().all(|&n| n >= UNKNOWN_LENGTH) {
            return Ok(());
        }
        let message = format_args!("inferred shape {shape:?} for output {output}: lengths must not be negative");
        Err(self.spec.place.fault(message))
    }
}
