//! A graph's kernels on a device other than the CPU: those of its backend, with functions of single elements and of rows joined.

use std::ops::Range;

use opforge::devices::{self, Link, Operand};
use opforge::fusion::{Access, Obstacle};
use opforge::operator::Lowering;
use opforge::{Result, Shape};
use opforge_runtime::Kernel;
use opforge_tile::forms::{Move, Normalize};

use crate::graph::{Graph, Node, Use};
use crate::inside::Apart;
use crate::kernel::{Step, access, accesses, metas};
use crate::program::Options;

/// The most tensors that a kernel is given.
const MOST_TENSORS: usize = 48;

/// What a call does, as far as calls are joined by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// It makes elements of those at the same place.
    Elements,
    /// It makes elements, or a number, of rows along the last dimension.
    Rows,
    /// It makes numbers of other elements than rows.
    Numbers,
    Other,
}

impl Role {
    fn of(node: &Node) -> Result<Role> {
        if node.op.has_effects() {
            return Ok(Role::Other);
        }
        let inputs = metas(&node.inputs);
        let last = |meta: &opforge::Meta| meta.rank().wrapping_sub(1);
        Ok(match node.op.lower(&inputs, &metas(&node.outputs))? {
            Lowering::Fill(_) | Lowering::Move(Move::Copy) => Role::Elements,
            Lowering::Tile(tile) if !tile.refuses_elements(inputs[0].dtype) => Role::Elements,
            Lowering::Rows(rows) if rows.axis == last(&node.outputs[0].meta) => Role::Rows,
            Lowering::Normalize(Normalize::Rows { .. } | Normalize::RootMeanSquare { .. }) => Role::Rows,
            Lowering::Reduce(reduce) if reduce.axes[..] == [last(inputs[0])] => Role::Rows,
            Lowering::Reduce(_) => Role::Numbers,
            _ => Role::Other,
        })
    }
}

/// Calls that may be one kernel: of elements of one shape, and of numbers of its rows.
struct Group<'g> {
    shape: &'g Shape,
    has_rows: bool,
    /// Whether something is changed in place: what is computed of rows may be computed again after that.
    changes: bool,
    /// What has been read and written.
    seen: Vec<(&'g Use, bool)>,
}

impl<'g> Group<'g> {
    /// That which begins with this call.
    fn new(node: &'g Node, role: Role) -> Self {
        let first = if role == Role::Elements { &node.outputs[0] } else { &node.inputs[0] };
        Group { shape: first.meta.shape(), has_rows: false, changes: false, seen: Vec::new() }
    }

    /// Whether it is the shape of numbers of rows.
    fn is_of_rows(&self, shape: &Shape) -> bool {
        let (dims, all) = (shape.dims(), self.shape.dims());
        self.has_rows && dims.len() == all.len() && dims.split_last() == all.split_last().map(|(_, most)| (&1, most))
    }

    /// Adds a call; or why not.
    fn push(&mut self, node: &'g Node, role: Role) -> std::result::Result<(), Apart> {
        let name = node.op.name();
        let is_ours = |x: &Use| x.meta.shape() == self.shape;
        let fits = match role {
            Role::Elements => node.outputs.iter().all(|y| is_ours(y) || self.is_of_rows(y.meta.shape())),
            Role::Rows => is_ours(&node.inputs[0]),
            Role::Numbers => is_ours(&node.inputs[0]) && !self.has_rows,
            Role::Other => return Err(Apart::Whole(name)),
        };
        if !fits {
            return Err(Apart::Device(name));
        }
        let uses = || node.inputs.iter().map(|x| (x, false)).chain(node.outputs.iter().map(|x| (x, true)));
        if uses().any(|(x, written)| self.seen.iter().any(|before| is_other_view(*before, x, written))) {
            return Err(Apart::Obstacle(name, Obstacle::OtherView));
        }
        let is_known = |y: &Use| self.seen.iter().any(|(x, _)| x.value == y.value);
        let is_read = |y: &Use| node.inputs.iter().any(|x| x.value == y.value);
        let changes = self.changes || node.outputs.iter().any(|y| is_known(y) || is_read(y));
        let has_rows = self.has_rows || role == Role::Rows;
        if changes && has_rows {
            return Err(Apart::Obstacle(name, Obstacle::OtherView));
        }
        if self.seen.len() + uses().count() > MOST_TENSORS {
            return Err(Apart::Device(name));
        }
        self.seen.extend(uses());
        (self.changes, self.has_rows) = (changes, has_rows);
        Ok(())
    }
}

impl Graph {
    /// The kernels, each of as many calls as go together.
    pub(crate) fn device_steps(&self, options: Options) -> Result<Vec<Step<dyn Kernel>>> {
        let roles = self.nodes.iter().map(Role::of).collect::<Result<Vec<Role>>>()?;
        let last_reads = self.last_reads();
        let mut steps: Vec<Step<dyn Kernel>> = Vec::new();
        let mut start = 0;
        while start < self.nodes.len() {
            let (end, apart) =
                if options.fusion { self.together(start, &roles) } else { (start + 1, Some(Apart::Off)) };
            // What a device does not join as a whole it may join up to the first call that is none of elements.
            let elements = start + roles[start..end].iter().take_while(|role| **role == Role::Elements).count();
            let joined = [end, elements].into_iter().find_map(|end| self.chain(start..end, &last_reads));
            let step = joined.map_or_else(|| self.alone(start), Ok)?;
            start = step.nodes.end;
            let apart = if start == end { apart } else { Some(Apart::Device(self.nodes[start].op.name())) };
            steps.push(Step { apart, ..step });
        }
        if let Some(last) = steps.last_mut() {
            last.apart = None;
        }
        Ok(steps)
    }

    /// Up to which call those from `start` on go together, and why not the next.
    fn together(&self, start: usize, roles: &[Role]) -> (usize, Option<Apart>) {
        let first = &self.nodes[start];
        if roles[start] == Role::Other {
            return (start + 1, Some(Apart::AfterWhole(first.op.name())));
        }
        let mut group = Group::new(first, roles[start]);
        for (number, node) in self.nodes.iter().enumerate().skip(start) {
            match group.push(node, roles[number]) {
                Ok(()) if roles[number] == Role::Numbers => {
                    return (number + 1, Some(Apart::AfterWhole(node.op.name())));
                }
                Ok(()) => {}
                Err(apart) => return (number.max(start + 1), Some(apart)),
            }
        }
        (self.nodes.len(), None)
    }

    /// The kernel of several calls; none of fewer than two, and of those that the device makes no such kernel for.
    fn chain(&self, nodes: Range<usize>, last_reads: &[Option<usize>]) -> Option<Step<dyn Kernel>> {
        if nodes.len() < 2 {
            return None;
        }
        let (mut links, mut inputs, mut outputs): (Vec<Link<'_>>, Vec<Access>, Vec<Access>) = Default::default();
        for node in &self.nodes[nodes.clone()] {
            let lowering = node.op.lower(&metas(&node.inputs), &metas(&node.outputs)).ok()?;
            let read = node.inputs.iter().map(|x| (self.operand(x, &nodes, links.len(), &mut inputs), &x.meta));
            let read = read.collect();
            let is_wanted =
                |x: &Use| !self.is_made(x.value) || last_reads[x.value].is_some_and(|last| last >= nodes.end);
            let written = node.outputs.iter().map(|x| (&x.meta, is_wanted(x).then(|| place_of(x, &mut outputs))));
            let written = written.collect();
            links.push(Link { op: node.op.name(), lowering, inputs: read, outputs: written });
        }
        let kernel = devices::of(self.device).ok()?.chain(&links).ok()?;
        Some(Step { nodes, kernel, inputs, outputs, flops: 0, apart: None })
    }

    /// What a call reads, the `number`-th of a chain: of the last one before it that makes it, or of memory.
    fn operand(&self, x: &Use, nodes: &Range<usize>, number: usize, inputs: &mut Vec<Access>) -> Operand {
        let before = self.nodes[nodes.start..nodes.start + number].iter().enumerate().rev();
        let made = before.filter_map(|(link, node)| Some((link, node.outputs.iter().position(|y| y == x)?)));
        match made.map(|(link, output)| Operand::Made(link, output)).next() {
            Some(made) => made,
            None => Operand::Given(place_of(x, inputs)),
        }
    }

    /// A call as a kernel of its own.
    fn alone(&self, number: usize) -> Result<Step<dyn Kernel>> {
        let node = &self.nodes[number];
        let (inputs, outputs) = (metas(&node.inputs), metas(&node.outputs));
        let lower = || node.op.lower(&inputs, &outputs);
        let lowering = lower()?;
        let flops = lowering.work(&inputs, &outputs).flops;
        let kernel = devices::kernel(self.device, node.op.name(), lowering, lower, &inputs, &outputs)?;
        let (inputs, outputs) = (accesses(&node.inputs), accesses(&node.outputs));
        Ok(Step { nodes: number..number + 1, kernel, inputs, outputs, flops, apart: None })
    }
}

/// Whether two tensors share memory that one of them writes, without being the same: then the threads of one kernel would meet.
fn is_other_view((before, was_written): (&Use, bool), x: &Use, is_written: bool) -> bool {
    before.value == x.value && (was_written || is_written) && before != x
}

/// The number of a tensor's place among those that a kernel is given.
fn place_of(x: &Use, places: &mut Vec<Access>) -> usize {
    let place = access(x);
    places.iter().position(|known| *known == place).unwrap_or_else(|| {
        places.push(place);
        places.len() - 1
    })
}
