//! Graphs from text. Each call is written down as a trace writes it: inference, places and changes in place are checked by what checks eager calls,
//! and nothing that a text claims is allocated.

use std::collections::BTreeSet;
use std::panic::Location;
use std::str::FromStr;

use opforge::dispatch::Call;
use opforge::operator::Operator;
use opforge::term::Parser;
use opforge::{DType, Error, Layout, Meta, Result, Shape, Tensor, registry};

use crate::graph::{Captured, Graph, Origin, Use};
use crate::text::{MAGIC, VERSION};
use crate::trace::Recording;

const FORMAT: &str = "graph";
/// Bytes of a key of random numbers: two of 64 bits.
const KEY: usize = 16;

impl FromStr for Graph {
    type Err = Error;

    /// As [`Graph::parse`].
    #[track_caller]
    fn from_str(text: &str) -> Result<Graph> {
        Graph::parse(text)
    }
}

impl Graph {
    /// The graph that a text tells, as [`Display`](std::fmt::Display) wrote it. What it captured is to be bound: [`Graph::bind`].
    ///
    /// ```
    /// # use opforge::{Device, Tensor};
    /// # use opforge_graph::{Graph, trace};
    /// let x = Tensor::new(&[[1f32, 2.0]], &Device::Cpu)?;
    /// let text = trace(&[&x], |x| Ok(vec![x[0].exp()?.t()?]))?.to_string();
    /// let expected = "opforge graph 1\ngraph(%0 f32[1, 2]) {\n  %1 f32[1, 2] = UnaryOp<Exp> %0 f32[1, 2]\n  return %1 f32[2, 1]\n}\n";
    /// assert_eq!(text, expected);
    /// let graph = Graph::parse(&text)?;
    /// assert_eq!(graph.to_string(), text);
    /// assert_eq!(graph.compile()?.run(&[&x])?[0].dims(), [2, 1]);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Format`], which names the line: for texts of another form or version, operators that are not registered or refuse these tensors, memory that
    /// is not defined before it is used, and tensors that are not within it. Nothing of what a text claims is allocated.
    #[track_caller]
    pub fn parse(text: &str) -> Result<Graph> {
        Reading::new(text, Location::caller()).graph()
    }
}

/// A tensor as text has it: a number, and a part of that memory.
struct Part {
    number: usize,
    meta: Meta,
}

struct Reading<'a> {
    text: Parser<'a>,
    recording: Recording,
    names: BTreeSet<String>,
    at: &'static Location<'static>,
}

impl<'a> Reading<'a> {
    fn new(text: &'a str, at: &'static Location<'static>) -> Self {
        Reading { text: Parser::new(text, FORMAT), recording: Recording::default(), names: BTreeSet::new(), at }
    }

    fn graph(mut self) -> Result<Graph> {
        self.header()?;
        let inputs = self.inputs()?;
        while !self.text.take("return") {
            match self.given_number() {
                Some(number) => self.given(number)?,
                None => self.call()?,
            }
            self.text.expect("\n")?;
        }
        let outputs = self.parts()?.iter().map(|part| self.tensor(part)).collect::<Result<Vec<Tensor>>>()?;
        self.text.expect("\n")?;
        self.text.expect("}")?;
        self.text.expect("\n")?;
        if !self.text.is_at_end() {
            return Err(self.text.expected("the end of the text"));
        }
        let outputs = outputs.iter().map(|output| self.recording.used(output)).collect();
        let Recording { device, values, nodes, .. } = self.recording;
        Ok(Graph { device, values, nodes, inputs, outputs })
    }

    fn header(&mut self) -> Result<()> {
        self.text.expect(MAGIC.trim_end())?;
        let version = self.text.number()?;
        if version != VERSION {
            return Err(self.text.fault(&format!("version {version} of graphs, where {VERSION} is known")));
        }
        self.text.expect("\n")?;
        self.text.expect("graph")
    }

    fn inputs(&mut self) -> Result<Vec<Use>> {
        let parts = self.text.list(["(", ")"], part)?;
        let mut inputs = Vec::new();
        for (number, Part { number: given, meta }) in parts.into_iter().enumerate() {
            self.is_next(given)?;
            if meta.layout.start_offset() != 0 {
                return Err(self.text.fault("an argument begins at 0"));
            }
            let bytes = self.bytes(&meta)?;
            let tensor = self.made(meta, bytes, Origin::Input(number))?;
            inputs.push(self.recording.used(&tensor));
        }
        self.text.expect("{")?;
        self.text.expect("\n")?;
        Ok(inputs)
    }

    /// The number of `%number =`, which has no type: that of something given.
    fn given_number(&mut self) -> Option<usize> {
        let mut ahead = self.text.clone();
        let number = ahead.take("%").then(|| ahead.number().ok()).flatten().filter(|_| ahead.take("="))?;
        self.text = ahead;
        Some(number)
    }

    fn call(&mut self) -> Result<()> {
        let parts = self.parts()?;
        self.text.expect("=")?;
        let term = self.text.term()?;
        let op = registry::read_operator(&term).map_err(|error| self.blame(error))?;
        let inputs = self.parts()?.iter().map(|part| self.tensor(part)).collect::<Result<Vec<Tensor>>>()?;
        let inputs: Vec<&Tensor> = inputs.iter().collect();
        if matches!(inputs[..], [input] if op.view(input.layout()).is_some()) {
            return Err(self.text.fault(&format!("{term} is a view, which is no call")));
        }
        let is_new = parts.first().is_some_and(|part| part.number == self.recording.values.len());
        if is_new { self.new_results(&*op, &inputs, &parts) } else { self.changes(&*op, &inputs, &parts) }
    }

    /// `captured` and `key`.
    fn given(&mut self, number: usize) -> Result<()> {
        self.is_next(number)?;
        if self.text.take("key") {
            return self.made(Meta::contiguous(DType::U64, 2), KEY, Origin::Key).map(drop);
        }
        self.text.expect("captured")?;
        let name = self.text.string()?;
        let stored = typed(&mut self.text)?;
        if !stored.layout.is_contiguous() || stored.layout.start_offset() != 0 {
            return Err(self.text.fault("what is captured is contiguous"));
        }
        if !self.names.insert(name.clone()) {
            return Err(self.text.fault(&format!("{name:?} is captured twice")));
        }
        let bytes = self.bytes(&stored)?;
        let captured = Captured::unbound(name, stored.clone());
        self.made(stored, bytes, Origin::Captured(captured)).map(drop)
    }

    fn new_results(&mut self, op: &dyn Operator, inputs: &[&Tensor], parts: &[Part]) -> Result<()> {
        let first = self.recording.values.len();
        let call = Call { op, inputs, outputs: None, at: self.at };
        let outputs = self.recording.write_down(&call).map_err(|error| self.blame(error))?;
        let numbers = parts.iter().map(|part| part.number);
        if !numbers.eq(first..first + outputs.len()) {
            let accepted = format!("{} results, from %{first} on", outputs.len());
            return Err(self.text.fault(&format!("{} makes {accepted}", op.name())));
        }
        match parts.iter().zip(&outputs).find(|(part, output)| part.meta != *output.meta()) {
            None => Ok(()),
            Some((part, output)) => {
                let (given, made) = (&part.meta, output.meta());
                let text = |meta: &Meta| format!("{}{:?}", meta.dtype, meta.layout);
                Err(self.text.fault(&format!("{} makes {}, not {}", op.name(), text(made), text(given))))
            }
        }
    }

    fn changes(&mut self, op: &dyn Operator, inputs: &[&Tensor], parts: &[Part]) -> Result<()> {
        let outputs = parts.iter().map(|part| self.tensor(part)).collect::<Result<Vec<Tensor>>>()?;
        let outputs: Vec<&Tensor> = outputs.iter().collect();
        let call = Call { op, inputs, outputs: Some(&outputs), at: self.at };
        self.recording.write_down(&call).map(drop).map_err(|error| self.blame(error))
    }

    /// A tensor of new memory.
    fn made(&mut self, meta: Meta, bytes: usize, origin: Origin) -> Result<Tensor> {
        self.recording.tensor(meta, bytes, origin, FORMAT, self.at).map_err(|error| self.blame(error))
    }

    fn is_next(&self, number: usize) -> Result<()> {
        let next = self.recording.values.len();
        if number == next { Ok(()) } else { Err(self.text.fault(&format!("%{number} where %{next} is the next"))) }
    }

    /// The bytes that a layout spans.
    fn bytes(&self, meta: &Meta) -> Result<usize> {
        let bytes = meta.layout.span().checked_mul(meta.dtype.size_in_bytes());
        bytes.ok_or_else(|| self.text.fault("a tensor that is too large"))
    }

    /// The tensor that a part of the text means, which lies within what is defined.
    fn tensor(&self, part: &Part) -> Result<Tensor> {
        let storage = self.recording.storages.get(part.number);
        let storage = storage.ok_or_else(|| self.text.fault(&format!("%{} is not defined yet", part.number)))?;
        let Meta { dtype, layout } = part.meta.clone();
        Tensor::over_storage(storage.clone(), dtype, layout).map_err(|error| self.blame(error))
    }

    /// Tensors up to the end of the line, or a `=`.
    fn parts(&mut self) -> Result<Vec<Part>> {
        let mut parts = Vec::new();
        let mut ahead = self.text.clone();
        if !ahead.take("%") {
            return Ok(parts);
        }
        loop {
            parts.push(part(&mut self.text)?);
            if !self.text.take(",") {
                return Ok(parts);
            }
        }
    }

    /// An operator's error, with the line.
    #[cold]
    fn blame(&self, error: Error) -> Error {
        self.text.fault(&error.to_string())
    }
}

/// `%number type`.
fn part(text: &mut Parser<'_>) -> Result<Part> {
    text.expect("%")?;
    let number = text.number()?;
    Ok(Part { number, meta: typed(text)? })
}

/// A dtype and a layout.
fn typed(text: &mut Parser<'_>) -> Result<Meta> {
    let dtype: DType = text.word()?.parse().map_err(|_| text.fault("expected a dtype"))?;
    let numbers = |text: &mut Parser<'_>| text.list(["[", "]"], Parser::number);
    let shape = Shape::from(numbers(text)?);
    shape.check(FORMAT, dtype.size_in_bytes()).map_err(|error| text.fault(&error.to_string()))?;
    let stride = if text.take("stride") { Some(numbers(text)?) } else { None };
    let stride = stride.map_or_else(|| Layout::contiguous(&shape).stride().into(), Into::into);
    let start = if text.take("from") { text.number()? } else { 0 };
    let layout = Layout::new(shape, stride, start, FORMAT).map_err(|error| text.fault(&error.to_string()))?;
    Ok(Meta { dtype, layout })
}
