//! Functions of rows along one dimension, and of their elements, in order, in one kernel: what passes between them stays in registers where rows are short
//! enough to be held.

use std::rc::Rc;

use opforge::devices::{Link, Operand};
use opforge::operator::{Lowering, Rows};
use opforge_core::{Meta, Result, Scalar, Shape};
use opforge_tile::forms::Normalize;
use opforge_trace::{Pass, Reduction};

use crate::code::Code;
use crate::lower::{Call, Target};
use crate::program::{Place, Program};
use crate::team::{self, Found, Held, Team};
use crate::value::Value;

use super::chain::{Function, rounded};
use super::normalize::{Flat, flat, normalized};
use super::reduce::{before, traced};
use super::rows::passed;
use super::scan::Lines;

/// What a link does.
pub(super) enum Part {
    Elements(Function),
    /// A function of numbers of rows.
    Numbers(Function),
    Rows(Vec<Pass>),
    Normalized {
        eps: f64,
        centered: bool,
    },
    Reduced(Box<Reduction>),
}

impl Part {
    fn of(call: &Call<'_>, lowering: &Lowering, shape: &Shape) -> Result<Part> {
        call.check_sizes()?;
        call.real(call.inputs)?;
        let made = call.outputs[0].dims();
        let Some((axis, others)) = shape.dims().split_last().map(|(_, others)| (others.len(), others)) else {
            return Err(call.refuse("shape", "no dimension", "rows"));
        };
        let is_of_rows = made.split_last() == Some((&1, others));
        let normalized = |eps: Scalar, centered| Part::Normalized { eps: eps.to_f64(), centered };
        match lowering {
            Lowering::Rows(rows) if rows.axis == axis => Part::rows(call, rows),
            &Lowering::Normalize(Normalize::Rows { eps }) => Ok(normalized(eps, true)),
            &Lowering::Normalize(Normalize::RootMeanSquare { eps }) => Ok(normalized(eps, false)),
            Lowering::Reduce(reduce) if reduce.axes[..] == [axis] => Ok(Part::Reduced(Box::new(traced(call, reduce)?))),
            _ if made == shape.dims() => Function::of(call, lowering).map(Part::Elements),
            _ if is_of_rows => Function::of(call, lowering).map(Part::Numbers),
            _ => Err(call.refuse("shape", format!("{made:?}"), "that of the elements, or of numbers of rows")),
        }
    }

    /// Passes over rows.
    pub fn rows(call: &Call<'_>, rows: &Rows) -> Result<Part> {
        call.real(call.inputs)?;
        let dtype = call.inputs[0].dtype;
        let traced = rows.trace(dtype, call.target.arithmetic());
        Ok(Part::Rows(traced.ok_or_else(|| call.refuse("dtype", dtype.as_str(), "floats"))?.passes))
    }

    /// Whether an operand is needed for all of a row before anything of the row is made.
    fn needs_all_of(&self, operand: usize) -> bool {
        match self {
            Part::Elements(_) | Part::Numbers(_) => false,
            Part::Rows(_) | Part::Reduced(_) => true,
            Part::Normalized { .. } => operand == 0,
        }
    }
}

/// A link: its operator's name, what it does, and its tensors, as [`Link`] has them.
struct Joint<'l> {
    op: &'static str,
    part: Part,
    inputs: Vec<(Operand, &'l Meta)>,
    outputs: Vec<(&'l Meta, Option<usize>)>,
}

/// Links of tensors of one shape, and of numbers of their rows along an axis.
pub(super) struct Chain<'l> {
    links: Vec<Joint<'l>>,
    /// Of the elements.
    shape: &'l Shape,
    axis: usize,
}

/// What is known of a row: of each element, or as a whole.
enum Known<'h, 'a, T> {
    Elements(Rc<Held<'h, 'a, T>>),
    Number(Found<'a>),
}

/// An output in memory.
enum Made<'a> {
    Elements(Lines<'a>),
    Numbers(Flat<'a>),
}

/// Where a row is: its index in the other dimensions.
type At<'a> = Vec<Value<'a>>;

impl<'l> Chain<'l> {
    /// Links along the last dimension.
    pub fn new(target: &Target, links: &[Link<'l>]) -> Result<Self> {
        let first = &links[0];
        let shape = match first.lowering {
            Lowering::Rows(_) | Lowering::Normalize(_) | Lowering::Reduce(_) => first.inputs[0].1.shape(),
            _ => first.outputs[0].0.shape(),
        };
        let joint = |link: &Link<'l>| {
            let inputs: Vec<&Meta> = link.inputs.iter().map(|(_, meta)| *meta).collect();
            let outputs: Vec<&Meta> = link.outputs.iter().map(|(meta, _)| *meta).collect();
            let call = Call { target, op: link.op, inputs: &inputs, outputs: &outputs };
            let part = Part::of(&call, &link.lowering, shape)?;
            Ok(Joint { op: link.op, part, inputs: link.inputs.clone(), outputs: link.outputs.clone() })
        };
        let axis = shape.rank().saturating_sub(1);
        Ok(Chain { links: links.iter().map(joint).collect::<Result<_>>()?, shape, axis })
    }

    /// One call, whose first output has all elements.
    pub fn alone(call: &Call<'l>, part: Part, axis: usize) -> Self {
        let inputs = call.inputs.iter().enumerate().map(|(i, meta)| (Operand::Given(i), *meta)).collect();
        let outputs = call.outputs.iter().enumerate().map(|(i, meta)| (*meta, Some(i))).collect();
        Chain { links: vec![Joint { op: call.op, part, inputs, outputs }], shape: call.outputs[0].shape(), axis }
    }

    /// The inputs of a link, broadcast to all elements.
    fn inputs(&self, link: &Joint<'_>) -> Result<Vec<Meta>> {
        let stretched =
            |meta: &Meta| Ok(Meta { dtype: meta.dtype, layout: meta.layout.broadcast_as(self.shape, link.op)? });
        link.inputs.iter().map(|(_, meta)| stretched(meta)).collect()
    }

    fn is_of_elements(&self, meta: &Meta) -> bool {
        meta.shape() == self.shape
    }

    /// How rows are shared: by packs that all tensors in memory have side by side.
    fn rows(&self, inputs: &[Vec<Meta>]) -> team::Rows {
        let (axis, mut memory) = (self.axis, Vec::new());
        for (link, inputs) in self.links.iter().zip(inputs) {
            let given = link.inputs.iter().zip(inputs).filter(|((operand, _), _)| matches!(operand, Operand::Given(_)));
            memory.extend(given.map(|(_, meta)| (meta, axis)));
            let made = link.outputs.iter().filter(|(meta, kept)| kept.is_some() && self.is_of_elements(meta));
            memory.extend(made.map(|(meta, _)| (*meta, axis)));
        }
        let (len, count) = (self.shape.dims()[axis], Lines::others(memory[0].0, axis).iter().product());
        let across = len > 1 && memory.iter().all(|(meta, _)| meta.layout.stride()[axis] != 1);
        let width = if across { 1 } else { Lines::width(&memory) };
        team::Rows { across, ..team::Rows::packed(count, len, width) }
    }

    /// Whether what a link makes is held: where it is needed more than once, or all of it at once.
    fn is_held(&self, link: usize, output: usize) -> bool {
        let mut uses = usize::from(self.links[link].outputs[output].1.is_some());
        for reader in &self.links {
            for (n, (operand, _)) in reader.inputs.iter().enumerate() {
                if *operand == Operand::Made(link, output) {
                    uses += if reader.part.needs_all_of(n) { 2 } else { 1 };
                }
            }
        }
        uses > 1
    }

    /// The kernel.
    pub fn program(&self, target: &Target) -> Result<Program> {
        let inputs = self.links.iter().map(|link| self.inputs(link)).collect::<Result<Vec<_>>>()?;
        let (mut program, rows) = (Program::default(), self.rows(&inputs));
        program.launch(target, |k| {
            let given: Vec<Vec<Option<Lines<'_>>>> = self.given(k, &inputs);
            let made: Vec<Vec<Option<Made<'_>>>> = self.made(k);
            let lengths: Vec<Value<'_>> = Lines::others(&inputs[0][0], self.axis).iter().map(|&n| k.size(n)).collect();
            let size = k.size(rows.len);
            let locate = |row| (k.unravelled(row, &lengths), size);
            k.teams(rows, locate, |team| {
                let mut row = Row { k, team, chain: self, given: &given, known: Vec::new() };
                for (link, made) in made.iter().enumerate() {
                    let known = row.carried_out(link);
                    known.iter().zip(made).for_each(|(known, made)| store(team, known, made.as_ref()));
                    row.known.push(known);
                }
            });
            Ok(())
        })?;
        Ok(program)
    }

    fn given<'a>(&self, k: &'a Code, inputs: &[Vec<Meta>]) -> Vec<Vec<Option<Lines<'a>>>> {
        let lines = |((operand, _), meta): (&(Operand, &Meta), &Meta)| match *operand {
            Operand::Given(i) => Some(Lines::new(k, Place::Input(i), meta, self.axis)),
            Operand::Made(..) => None,
        };
        let of_link = |(link, metas): (&Joint<'_>, &Vec<Meta>)| link.inputs.iter().zip(metas).map(lines).collect();
        self.links.iter().zip(inputs).map(of_link).collect()
    }

    fn made<'a>(&self, k: &'a Code) -> Vec<Vec<Option<Made<'a>>>> {
        let made = |(meta, kept): &(&Meta, Option<usize>)| {
            let place = Place::Output((*kept)?);
            Some(match self.is_of_elements(meta) {
                true => Made::Elements(Lines::new(k, place, meta, self.axis)),
                false => Made::Numbers(flat(k, place, meta)),
            })
        };
        self.links.iter().map(|link| link.outputs.iter().map(made).collect()).collect()
    }
}

/// Stores what is kept.
fn store<'a>(team: &Team<'_, 'a, At<'a>>, known: &Known<'_, 'a, At<'a>>, made: Option<&Made<'a>>) {
    match (known, made) {
        (Known::Elements(held), Some(Made::Elements(lines))) => {
            team.each_pack(|line, pack| lines.store_pack(&line.at, pack, &held.of(line, pack)));
        }
        (Known::Number(found), Some(Made::Numbers(flat))) => {
            team.once(|line| flat.store(line.row, found.of(line)));
        }
        // A row of one element.
        (Known::Number(found), Some(Made::Elements(lines))) => {
            team.each_pack(|line, pack| lines.store_pack(&line.at, pack, &[found.of(line)]));
        }
        (Known::Elements(held), Some(Made::Numbers(flat))) => {
            team.each_pack(|line, pack| flat.store(line.row, held.of(line, pack)[0]));
        }
        (_, None) => {}
    }
}

/// A row while links are written.
struct Row<'h, 'c, 'a> {
    k: &'a Code,
    team: &'h Team<'c, 'a, At<'a>>,
    chain: &'h Chain<'h>,
    given: &'h [Vec<Option<Lines<'a>>>],
    /// What each link before has made.
    known: Vec<Vec<Known<'h, 'a, At<'a>>>>,
}

impl<'h, 'a> Row<'h, '_, 'a> {
    /// An operand's elements.
    fn elements(&self, link: usize, operand: usize) -> Rc<Held<'h, 'a, At<'a>>> {
        if let Some(lines) = &self.given[link][operand] {
            let load = move |line: &team::Line<'a, At<'a>>, pack: &team::Pack<'a>| lines.load_pack(&line.at, pack);
            let needs_all = self.chain.links[link].part.needs_all_of(operand);
            return Rc::new(if needs_all { self.team.hold(load) } else { Held::Again(Box::new(load)) });
        }
        let Operand::Made(by, output) = self.chain.links[link].inputs[operand].0 else { unreachable!("it is given") };
        match &self.known[by][output] {
            Known::Elements(held) => held.clone(),
            &Known::Number(found) => Rc::new(Held::Again(Box::new(move |line, pack| vec![found.of(line); pack.width]))),
        }
    }

    /// All operands' elements.
    fn all_elements(&self, link: usize) -> Vec<Rc<Held<'h, 'a, At<'a>>>> {
        (0..self.chain.links[link].inputs.len()).map(|operand| self.elements(link, operand)).collect()
    }

    /// An operand that is a number of each row.
    fn number(&self, link: usize, operand: usize, line: &team::Line<'a, At<'a>>) -> Value<'a> {
        if let Some(lines) = &self.given[link][operand] {
            return lines.load(&line.at, self.k.index(0));
        }
        let Operand::Made(by, output) = self.chain.links[link].inputs[operand].0 else { unreachable!("it is given") };
        match &self.known[by][output] {
            Known::Number(found) => found.of(line),
            Known::Elements(_) => unreachable!("numbers are not made of elements"),
        }
    }

    /// What a link makes.
    fn carried_out(&self, link: usize) -> Vec<Known<'h, 'a, At<'a>>> {
        let (k, team, outputs) = (self.k, self.team, &self.chain.links[link].outputs);
        let dtype = outputs[0].0.dtype;
        match &self.chain.links[link].part {
            Part::Elements(function) => {
                let inputs = Rc::new(self.all_elements(link));
                let output = |n: usize| {
                    let inputs = inputs.clone();
                    self.made(link, n, move |line, pack| {
                        let inputs: Vec<Vec<Value<'a>>> = inputs.iter().map(|held| held.of(line, pack)).collect();
                        let elements = |i: usize| inputs.iter().map(|all| all[i]).collect::<Vec<_>>();
                        (0..pack.width).map(|i| function.apply(k, &elements(i), dtype)[n]).collect()
                    })
                };
                (0..outputs.len()).map(output).collect()
            }
            Part::Numbers(function) => {
                let operands = 0..self.chain.links[link].inputs.len();
                let number = |n: usize| {
                    self.found(link, n, |line| {
                        let numbers: Vec<_> =
                            operands.clone().map(|operand| self.number(link, operand, line)).collect();
                        function.apply(k, &numbers, dtype)[n]
                    })
                };
                (0..outputs.len()).map(number).collect()
            }
            Part::Rows(passes) => {
                let results = passed(k, team, passes, self.all_elements(link));
                let mut known: Vec<_> = results.into_iter().map(|(n, of)| (n, self.made(link, n, of))).collect();
                known.sort_by_key(|(n, _)| *n);
                known.into_iter().map(|(_, known)| known).collect()
            }
            &Part::Normalized { eps, centered } => {
                let mut operands = self.all_elements(link);
                let x = operands.remove(0);
                let (elements, numbers) = normalized(team, (eps, centered), dtype.compute(), x, operands);
                let numbers = numbers.into_iter().enumerate();
                let numbers = numbers.map(|(n, number)| self.found(link, n + 1, |line| number.of(line)));
                [self.made(link, 0, elements)].into_iter().chain(numbers).take(outputs.len()).collect()
            }
            Part::Reduced(of) => {
                let elements = self.elements(link, 0);
                let all = team.fold_packs(
                    k.call(&of.identity, &[]),
                    |line, pack| before(k, of, elements.of(line, pack)),
                    |a, b| k.call(&of.combine, &[a, b]),
                );
                vec![self.found(link, 0, |line| k.call(&of.after, &[all.of(line)]))]
            }
        }
    }

    /// Elements of an output, as further links read them.
    fn made(
        &self,
        link: usize,
        output: usize,
        of: impl Fn(&team::Line<'a, At<'a>>, &team::Pack<'a>) -> Vec<Value<'a>> + 'h,
    ) -> Known<'h, 'a, At<'a>> {
        let (k, dtype) = (self.k, self.chain.links[link].outputs[output].0.dtype);
        let rounded = move |line: &team::Line<'a, At<'a>>, pack: &team::Pack<'a>| {
            of(line, pack).into_iter().map(|value| rounded(k, value.to(dtype.compute()), dtype)).collect()
        };
        let is_held = self.chain.is_held(link, output);
        Known::Elements(Rc::new(if is_held { self.team.hold(rounded) } else { Held::Again(Box::new(rounded)) }))
    }

    /// A number of each row that is an output, as further links read it.
    fn found(
        &self,
        link: usize,
        output: usize,
        of: impl Fn(&team::Line<'a, At<'a>>) -> Value<'a>,
    ) -> Known<'h, 'a, At<'a>> {
        let (k, dtype) = (self.k, self.chain.links[link].outputs[output].0.dtype);
        Known::Number(self.team.known(|line| rounded(k, of(line).to(dtype.compute()), dtype)))
    }
}
