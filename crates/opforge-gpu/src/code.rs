//! A builder of kernels: values record what is done to them, and closures fill blocks of statements.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use opforge_core::{DType, Meta, Scalar};
use opforge_trace::{Op, bits};

use crate::division::Reciprocal;
use crate::kernel::{self, Block, Buffer, INDEX, Id, Kernel, LANES, Loop, Shared, Source, Statement, Variable};
use crate::lower::Target;
use crate::program::{Fault, Launch, Place};
use crate::tensor::Tensor;
use crate::value::{Array, Value, Var};

/// A kernel that is being written.
pub(crate) struct Code {
    state: RefCell<State>,
    pub target: Target,
    /// How many faults the program has already.
    faults_before: usize,
}

#[derive(Default)]
struct State {
    kernel: Kernel,
    places: Vec<Place>,
    parameters: Vec<u32>,
    faults: Vec<Fault>,
    count: usize,
    /// The blocks around the place that is written at, the innermost last.
    blocks: Vec<Block>,
    constants: HashMap<(DType, u64), Id>,
    /// What divides by parameters, by their numbers: a factor and a shift.
    reciprocals: HashMap<usize, [Id; 2]>,
}

impl Code {
    pub fn new(target: Target, faults_before: usize) -> Self {
        let state = State { blocks: vec![Block::new()], ..State::default() };
        Code { state: RefCell::new(state), target, faults_before }
    }

    /// Whether multiply-add rounds once.
    pub fn fused(&self) -> bool {
        self.target.fused
    }

    /// The launch of what was written, and the faults it may find.
    pub fn finish(self) -> (Launch, Vec<Fault>) {
        let State { mut kernel, places, parameters, faults, count, mut blocks, .. } = self.state.into_inner();
        kernel.body = blocks.pop().unwrap_or_default();
        kernel.parameters = parameters.len();
        (Launch { kernel: Arc::new(kernel), places, parameters, count, copies: false }, faults)
    }

    pub fn node(&self, node: kernel::Node) -> Id {
        let values = &mut self.state.borrow_mut().kernel.values;
        values.push(node);
        Id(values.len() as u32 - 1)
    }

    fn value(&self, dtype: DType, source: Source, operands: &[Id]) -> Value<'_> {
        Value { code: self, id: self.node(kernel::Node { dtype, source, operands: operands.to_vec() }) }
    }

    /// A value that is there from here on.
    pub fn defined(&self, dtype: DType, source: Source, operands: &[Id]) -> Value<'_> {
        let value = self.value(dtype, source, operands);
        self.say(Statement::Let(value.id));
        value
    }

    pub fn say(&self, statement: Statement) {
        if let Some(block) = self.state.borrow_mut().blocks.last_mut() {
            block.push(statement);
        }
    }

    pub fn dtype_of(&self, id: Id) -> DType {
        self.state.borrow().kernel.value(id).dtype
    }

    /// The bits of a constant.
    pub fn constant_of(&self, id: Id) -> Option<u64> {
        match self.state.borrow().kernel.value(id).source {
            Source::Compute(Op::Constant(bits)) => Some(bits),
            _ => None,
        }
    }

    /// A number of a dtype that is computed in.
    pub fn constant(&self, value: impl Into<Scalar>, dtype: DType) -> Value<'_> {
        self.constant_bits(bits(value.into(), dtype), dtype)
    }

    pub fn constant_bits(&self, bits: u64, dtype: DType) -> Value<'_> {
        if let Some(&id) = self.state.borrow().constants.get(&(dtype, bits)) {
            return Value { code: self, id };
        }
        let value = self.value(dtype, Source::Compute(Op::Constant(bits)), &[]);
        // Numbers that are equal by chance are two: see `Numbers`.
        if dtype == INDEX || dtype == DType::Bool {
            self.state.borrow_mut().constants.insert((dtype, bits), value.id);
        }
        value
    }

    /// An index that the kernel always has.
    pub fn index(&self, i: usize) -> Value<'_> {
        self.constant_bits(i as u64, INDEX)
    }

    /// A size or stride: a parameter, unless it is 0 or 1.
    pub fn size(&self, n: usize) -> Value<'_> {
        if n <= 1 { self.index(n) } else { self.parameter(n as u32) }
    }

    /// A parameter of the launch.
    pub fn parameter(&self, n: u32) -> Value<'_> {
        let number = {
            let parameters = &mut self.state.borrow_mut().parameters;
            parameters.push(n);
            parameters.len() - 1
        };
        self.value(INDEX, Source::Parameter(number), &[])
    }

    /// The factor and the shift that [divide](Reciprocal) by a parameter of 2 or more, which are parameters too.
    pub fn reciprocal<'a>(&'a self, of: Value<'a>) -> Option<[Value<'a>; 2]> {
        let Source::Parameter(number) = self.state.borrow().kernel.value(of.id).source else { return None };
        let known = self.state.borrow().reciprocals.get(&number).copied();
        if let Some(known) = known {
            return Some(known.map(|id| Value { code: self, id }));
        }
        let divisor = self.state.borrow().parameters[number];
        let Reciprocal { factor, shift } = (divisor > 1).then(|| Reciprocal::of(divisor))?;
        let values = [factor, shift].map(|n| self.parameter(n));
        self.state.borrow_mut().reciprocals.insert(number, values.map(|value| value.id));
        Some(values)
    }

    /// A buffer of this dtype, at a place.
    pub fn buffer(&self, place: Place, dtype: DType, written: bool) -> usize {
        let state = &mut *self.state.borrow_mut();
        state.places.push(place);
        state.kernel.buffers.push(Buffer { dtype, written });
        state.places.len() - 1
    }

    /// The call's input of this number.
    pub fn input(&self, i: usize, meta: &Meta) -> Tensor<'_> {
        self.tensor(Place::Input(i), meta, false)
    }

    /// The call's output of this number.
    pub fn output(&self, i: usize, meta: &Meta) -> Tensor<'_> {
        self.tensor(Place::Output(i), meta, true)
    }

    /// A tensor at a place.
    pub fn tensor(&self, place: Place, meta: &Meta, written: bool) -> Tensor<'_> {
        self.strided(place, meta.dtype, meta.dims(), meta.layout.stride(), written)
    }

    /// A tensor of these lengths and strides at a place.
    pub fn strided(&self, place: Place, dtype: DType, dims: &[usize], stride: &[usize], written: bool) -> Tensor<'_> {
        let steps = dims.iter().zip(stride).map(|(&len, &step)| self.size(if len == 1 { 0 } else { step }));
        Tensor {
            code: self,
            buffer: self.buffer(place, dtype, written),
            dtype,
            dims: dims.iter().map(|&len| self.size(len)).collect(),
            steps: steps.collect(),
        }
    }

    /// The block that a closure fills.
    fn block(&self, fill: impl FnOnce()) -> Block {
        self.state.borrow_mut().blocks.push(Block::new());
        fill();
        self.state.borrow_mut().blocks.pop().unwrap_or_default()
    }

    fn counted<'a>(&'a self, count: Value<'a>, body: impl FnOnce(Value<'a>)) -> Loop {
        let index = self.value(INDEX, Source::Index, &[]);
        Loop { index: index.id, count: count.id, body: self.block(|| body(index)) }
    }

    /// For every index below `count`, shared by all threads.
    pub fn each<'a>(&'a self, count: usize, body: impl FnOnce(Value<'a>)) {
        self.state.borrow_mut().count = count;
        let of = self.counted(self.parameter(count as u32), body);
        self.say(Statement::Each(of));
    }

    /// For every index of a tensor of these lengths, shared by all threads.
    pub fn each_of<'a>(&'a self, dims: &[usize], body: impl FnOnce(&[Value<'a>])) {
        let lengths: Vec<Value<'a>> = dims.iter().map(|&len| self.size(len)).collect();
        self.each(dims.iter().product(), |i| body(&self.unravelled(i, &lengths)));
    }

    /// For every index below `count`, each by one group.
    pub fn groups<'a>(&'a self, count: usize, body: impl FnOnce(Value<'a>)) {
        self.state.borrow_mut().count = count;
        let of = self.counted(self.parameter(count as u32), body);
        self.say(Statement::Groups(of));
    }

    /// For every lane of the group below `count`; then the lanes wait for one another.
    pub fn lanes<'a>(&'a self, count: usize, body: impl FnOnce(Value<'a>)) {
        let of = self.counted(self.index(count), body);
        self.say(Statement::Lanes(of));
    }

    /// For every lane of the group, which changes nothing that other lanes look at.
    pub fn alone<'a>(&'a self, body: impl FnOnce(Value<'a>)) {
        let of = self.counted(self.index(LANES), body);
        self.say(Statement::Alone(of));
    }

    /// A variable of lanes becomes another one's value in the lane whose number differs in a bit.
    pub fn exchange(&self, to: Var<'_>, from: Var<'_>, apart: usize) {
        self.say(Statement::Exchange { to: to.number, from: from.number, apart });
    }

    /// For every index below `count`, in order.
    pub fn repeat<'a>(&'a self, count: Value<'a>, body: impl FnOnce(Value<'a>)) {
        let of = self.counted(count, body);
        self.say(Statement::Repeat(of));
    }

    /// Again and again, until it [leaves](Code::leave).
    pub fn forever(&self, body: impl FnOnce()) {
        let body = self.block(body);
        self.say(Statement::Forever(body));
    }

    /// Leaves the innermost loop.
    pub fn leave(&self, condition: Value<'_>) {
        self.say(Statement::Leave(condition.id));
    }

    /// Only where the condition is true.
    pub fn when(&self, condition: Value<'_>, then: impl FnOnce()) {
        self.either(condition, then, || {});
    }

    /// One of two.
    pub fn either(&self, condition: Value<'_>, then: impl FnOnce(), otherwise: impl FnOnce()) {
        let (then, otherwise) = (self.block(then), self.block(otherwise));
        self.say(Statement::When { condition: condition.id, then, otherwise });
    }

    /// The launch fails where the condition is true.
    pub fn fail(&self, condition: Value<'_>, fault: Fault, found: Value<'_>) {
        let number = {
            let faults = &mut self.state.borrow_mut().faults;
            let known = faults.iter().position(|known| *known == fault).unwrap_or(faults.len());
            if known == faults.len() {
                faults.push(fault);
            }
            self.faults_before + known + 1
        };
        self.say(Statement::Fail { condition: condition.id, fault: number as u32, found: found.id });
    }

    fn declared(&self, dtype: DType, of_lanes: bool) -> Var<'_> {
        let variables = &mut self.state.borrow_mut().kernel.variables;
        variables.push(Variable { dtype, of_lanes });
        Var { code: self, number: variables.len() - 1, dtype }
    }

    /// A variable that begins with a value.
    pub fn var<'a>(&'a self, first: Value<'a>) -> Var<'a> {
        let var = self.declared(first.dtype(), false);
        self.say(Statement::Declare(var.number, first.id));
        var
    }

    /// A variable of each lane, without a value.
    pub fn lane_var(&self, dtype: DType) -> Var<'_> {
        self.declared(dtype, true)
    }

    /// A variable of each lane that begins with a value.
    pub fn lane_var_of<'a>(&'a self, first: Value<'a>) -> Var<'a> {
        let var = self.lane_var(first.dtype());
        var.set(first);
        var
    }

    /// An array of the group.
    pub fn shared(&self, dtype: DType, len: usize) -> Array<'_> {
        let shared = &mut self.state.borrow_mut().kernel.shared;
        shared.push(Shared { dtype, len });
        Array { code: self, number: shared.len() - 1, dtype }
    }

    /// The index in each dimension of the element of this number, in row-major order.
    pub fn unravelled<'a>(&'a self, i: Value<'a>, dims: &[Value<'a>]) -> Vec<Value<'a>> {
        let (mut left, mut at) = (i, vec![self.index(0); dims.len()]);
        let outermost = dims.iter().position(|len| !len.is(1));
        for (d, &len) in dims.iter().enumerate().rev().filter(|(_, len)| !len.is(1)) {
            [left, at[d]] = if Some(d) == outermost { [left, left] } else { left.divided(len) };
        }
        at
    }
}
