//! Graphs of patterns. Each call is written down as a trace writes it: inference, places and changes in place are checked by what checks eager calls, and
//! nothing that a text claims is allocated.

use std::collections::HashSet;
use std::fmt::Display;
use std::panic::Location;

use opforge::dispatch::Call;
use opforge::operator::Operator;
use opforge::term::Term;
use opforge::{DType, Device, Error, Generator, Layout, Meta, Result, Shape, Tensor, registry};

use super::expression::{Atom, Expression, Filler, valueless};
use super::{FORMAT, Line, Part, Pattern, Says, Type};
use crate::graph::{Captured, Graph, Origin, Use};
use crate::trace::Recording;

/// Bytes of a key of random numbers: two of 64 bits.
const KEY: usize = 16;

impl Pattern {
    /// The graph for these sizes, as many as the pattern has and in their order. What it captured is to be bound.
    ///
    /// # Errors
    /// [`Error::Format`], which names the line: for operators that are not registered or refuse these tensors, memory that is not defined before it is used,
    /// tensors that are not within it, and expressions without a value.
    pub fn fill(&self, sizes: &[usize], device: Device, at: &'static Location<'static>) -> Result<Graph> {
        let recording = Recording::on(device);
        let mut filling =
            Filling { pattern: self, sizes, at, recording, made: Vec::new(), names: HashSet::new(), line: 0 };
        filling.line = 2 + self.sizes.len();
        let inputs = filling.inputs()?;
        self.lines.iter().try_for_each(|line| filling.write_down(line))?;
        filling.line = self.lines.last().map_or(filling.line, |line| line.number) + 1;
        let outputs = filling.tensors(&self.outputs)?;
        let outputs = outputs.iter().map(|output| filling.recording.used(output)).collect();
        let Recording { device, values, nodes, .. } = filling.recording;
        Ok(Graph { device, values, nodes, inputs, outputs, reads: Vec::new() })
    }

    /// The number of an expression of the sizes alone.
    pub fn number(&self, expression: &Expression, sizes: &[usize]) -> Option<usize> {
        let known = |atom: &Atom| self.size(atom, sizes);
        expression.value(&known).and_then(|number| usize::try_from(number).ok())
    }

    fn size(&self, atom: &Atom, sizes: &[usize]) -> Option<i128> {
        let Atom::Size(name) = atom else { return None };
        let place = self.sizes.iter().position(|size| size.name == *name)?;
        sizes.get(place).map(|&size| size as i128)
    }
}

struct Filling<'a> {
    pattern: &'a Pattern,
    sizes: &'a [usize],
    at: &'static Location<'static>,
    recording: Recording,
    /// The shapes of values, where a call made them.
    made: Vec<Option<Shape>>,
    /// What is captured so far.
    names: HashSet<&'a str>,
    /// The number of the current line.
    line: usize,
}

impl<'a> Filling<'a> {
    fn inputs(&mut self) -> Result<Vec<Use>> {
        let mut inputs = Vec::new();
        for (number, part) in self.pattern.inputs.iter().enumerate() {
            self.is_next(part.value)?;
            let meta = self.meta(&part.is)?;
            if meta.layout.start_offset() != 0 {
                return Err(self.fault("an argument begins at 0"));
            }
            let bytes = self.bytes(&meta)?;
            let tensor = self.given(meta, bytes, Origin::Input(number))?;
            inputs.push(self.recording.used(&tensor));
        }
        Ok(inputs)
    }

    fn write_down(&mut self, line: &'a Line) -> Result<()> {
        self.line = line.number;
        match &line.says {
            Says::Key { value } => {
                self.is_next(*value)?;
                self.given(Meta::contiguous(DType::U64, 2), KEY, Origin::Key(Generator::default())).map(drop)
            }
            Says::Captured { value, name, stored } => self.captured(*value, name, stored),
            Says::Call { term, inputs, outputs, at } => self.call(term, inputs, outputs, at.unwrap_or(self.at)),
        }
    }

    fn captured(&mut self, value: usize, name: &'a str, stored: &Type) -> Result<()> {
        self.is_next(value)?;
        let stored = self.meta(stored)?;
        if !stored.layout.is_contiguous() || stored.layout.start_offset() != 0 {
            return Err(self.fault("what is captured is contiguous"));
        }
        if !self.names.insert(name) {
            return Err(self.fault(format!("{name:?} is captured twice")));
        }
        let bytes = self.bytes(&stored)?;
        let captured = Captured::unbound(name.to_owned(), stored.clone());
        self.given(stored, bytes, Origin::Captured(captured)).map(drop)
    }

    fn call(&mut self, term: &Term, inputs: &[Part], outputs: &[Part], at: &'static Location<'static>) -> Result<()> {
        let filled = term.filled(&mut |text| {
            let filler = Filler::read(text, FORMAT)?;
            filler.term(&|atom| self.known(atom)).ok_or_else(|| valueless(FORMAT, &filler))
        });
        let term = filled.map_err(|error| self.fault(error))?;
        let op = registry::read_operator(&term).map_err(|error| self.fault(error))?;
        let inputs = self.tensors(inputs)?;
        let inputs: Vec<&Tensor> = inputs.iter().collect();
        if matches!(inputs[..], [input] if op.view(input.layout()).is_some()) {
            return Err(self.fault(format!("{term} is a view, which is no call")));
        }
        let is_new = outputs.first().is_some_and(|part| part.value == self.recording.values.len());
        let call = Call { op: &*op, inputs: &inputs, outputs: None, at };
        if is_new { self.new_results(&call, outputs) } else { self.changes(call, outputs) }
    }

    fn new_results(&mut self, call: &Call<'_>, parts: &[Part]) -> Result<()> {
        let first = self.recording.values.len();
        let outputs = self.recording.write_down(call).map_err(|error| self.fault(error))?;
        if !parts.iter().map(|part| part.value).eq(first..first + outputs.len()) {
            let accepted = format!("{} results, from %{first} on", outputs.len());
            return Err(self.fault(format!("{} makes {accepted}", call.op.name())));
        }
        self.made.resize(first, None);
        self.made.extend(outputs.iter().map(|output| Some(output.shape().clone())));
        parts.iter().zip(&outputs).try_for_each(|(part, output)| self.is_what_it_makes(call.op, part, output.meta()))
    }

    /// Refuses a result that is not what inference finds. Where a dimension has one element, or a tensor none, strides say nothing.
    fn is_what_it_makes(&self, op: &dyn Operator, part: &Part, made: &Meta) -> Result<()> {
        let told = self.meta(&part.is)?;
        let strides = told.layout.dims().iter().zip(told.layout.stride()).zip(made.layout.stride());
        let same_places = made.elem_count() == 0 || strides.into_iter().all(|((&len, a), b)| len == 1 || a == b);
        let same = told.dtype == made.dtype && told.shape() == made.shape() && same_places;
        if same && told.layout.start_offset() == made.layout.start_offset() {
            return Ok(());
        }
        let text = |meta: &Meta| format!("{}{:?}", meta.dtype, meta.layout);
        Err(self.fault(format!("{} makes {}, not {}", op.name(), text(made), text(&told))))
    }

    fn changes(&mut self, call: Call<'_>, parts: &[Part]) -> Result<()> {
        let outputs = self.tensors(parts)?;
        let outputs: Vec<&Tensor> = outputs.iter().collect();
        let call = Call { outputs: Some(&outputs), ..call };
        self.recording.write_down(&call).map(drop).map_err(|error| self.fault(error))
    }

    /// A tensor of memory that no call makes.
    fn given(&mut self, meta: Meta, bytes: usize, origin: Origin) -> Result<Tensor> {
        self.recording.tensor(meta, bytes, origin, FORMAT, self.at).map_err(|error| self.fault(error))
    }

    fn is_next(&self, number: usize) -> Result<()> {
        let next = self.recording.values.len();
        if number == next { Ok(()) } else { Err(self.fault(format!("%{number} where %{next} is the next"))) }
    }

    /// The bytes that a layout spans.
    fn bytes(&self, meta: &Meta) -> Result<usize> {
        let bytes = meta.layout.span().checked_mul(meta.dtype.size_in_bytes());
        bytes.ok_or_else(|| self.fault("a tensor that is too large"))
    }

    fn tensors(&self, parts: &[Part]) -> Result<Vec<Tensor>> {
        parts.iter().map(|part| self.tensor(part)).collect()
    }

    /// The tensor that a part means, which lies within what is defined.
    fn tensor(&self, part: &Part) -> Result<Tensor> {
        let storage = self.recording.storages.get(part.value);
        let storage = storage.ok_or_else(|| self.fault(format!("%{} is not defined yet", part.value)))?;
        let Meta { dtype, layout } = self.meta(&part.is)?;
        Tensor::over_storage(storage.clone(), dtype, layout).map_err(|error| self.fault(error))
    }

    fn meta(&self, is: &Type) -> Result<Meta> {
        let shape = Shape::from(self.numbers(&is.dims)?);
        shape.check(FORMAT, is.dtype.size_in_bytes()).map_err(|error| self.fault(error))?;
        let stride = match &is.stride {
            None => Layout::contiguous(&shape).stride().into(),
            Some(stride) => self.numbers(stride)?.into(),
        };
        // Without elements there is no first one.
        let start = if shape.elem_count() == 0 { 0 } else { self.number(&is.start)? };
        let layout = Layout::new(shape, stride, start, FORMAT).map_err(|error| self.fault(error))?;
        Ok(Meta { dtype: is.dtype, layout })
    }

    fn numbers(&self, expressions: &[Expression]) -> Result<Vec<usize>> {
        expressions.iter().map(|expression| self.number(expression)).collect()
    }

    fn number(&self, expression: &Expression) -> Result<usize> {
        let number = expression.value(&|atom| self.known(atom)).and_then(|number| usize::try_from(number).ok());
        number.ok_or_else(|| self.fault(valueless(FORMAT, expression)))
    }

    fn known(&self, atom: &Atom) -> Option<i128> {
        match atom {
            Atom::Inferred { value, dim } => {
                self.made.get(*value)?.as_ref()?.dims().get(*dim).map(|&length| length as i128)
            }
            _ => self.pattern.size(atom, self.sizes),
        }
    }

    /// An error of this line.
    #[cold]
    fn fault(&self, message: impl Display) -> Error {
        Error::format(FORMAT, format!("line {}: {message}", self.line))
    }
}
