//! A graph's kernels on a device other than the CPU: those of its backend, with functions of single elements joined.

use std::ops::Range;

use opforge::Result;
use opforge::devices::{self, Link, Operand};
use opforge::fusion::{Access, Kind, Obstacle};
use opforge_runtime::Kernel;

use crate::graph::{Graph, Node, Use};
use crate::inside::Apart;
use crate::kernel::{Step, access, accesses, metas, part};
use crate::program::Options;

/// The most tensors that a kernel is given.
const MOST_TENSORS: usize = 48;

impl Graph {
    /// The kernels, each of as many calls as go together.
    pub(crate) fn device_steps(&self, options: Options) -> Result<Vec<Step<dyn Kernel>>> {
        let is_map = |node: &Node| Ok(part(node)?.is_some_and(|part| part.kind == Kind::Map));
        let maps = self.nodes.iter().map(is_map).collect::<Result<Vec<bool>>>()?;
        let last_reads = self.last_reads();
        let mut steps: Vec<Step<dyn Kernel>> = Vec::new();
        let mut start = 0;
        while start < self.nodes.len() {
            let (end, apart) = if options.fusion { self.together(start, &maps) } else { (start + 1, Some(Apart::Off)) };
            match self.chain(start..end, &last_reads) {
                Some(step) => steps.push(Step { apart, ..step }),
                None => {
                    for number in start..end {
                        let alone = (number + 1 == end).then_some(apart).flatten();
                        let next = self.nodes.get(number + 1).map(|next| Apart::Device(next.op.name()));
                        steps.push(self.alone(number, alone.or(next))?);
                    }
                }
            }
            start = end;
        }
        if let Some(last) = steps.last_mut() {
            last.apart = None;
        }
        Ok(steps)
    }

    /// Up to which call those from `start` on go together, and why not the next.
    fn together(&self, start: usize, maps: &[bool]) -> (usize, Option<Apart>) {
        let shape = self.nodes[start].outputs[0].meta.shape();
        let mut seen: Vec<(&Use, bool)> = Vec::new();
        for (number, node) in self.nodes.iter().enumerate().skip(start) {
            let name = node.op.name();
            let uses = || node.inputs.iter().map(|x| (x, false)).chain(node.outputs.iter().map(|x| (x, true)));
            let apart = if !maps[number] {
                Apart::Whole(name)
            } else if node.outputs.iter().any(|output| output.meta.shape() != shape) {
                Apart::Device(name)
            } else if uses().any(|(x, written)| seen.iter().any(|before| is_other_view(*before, x, written))) {
                Apart::Obstacle(name, Obstacle::OtherView)
            } else if seen.len() + uses().count() > MOST_TENSORS {
                Apart::Device(name)
            } else {
                seen.extend(uses());
                continue;
            };
            // A call that is no function of elements is a kernel of its own.
            return if number == start { (start + 1, Some(Apart::AfterWhole(name))) } else { (number, Some(apart)) };
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
    fn alone(&self, number: usize, apart: Option<Apart>) -> Result<Step<dyn Kernel>> {
        let node = &self.nodes[number];
        let (inputs, outputs) = (metas(&node.inputs), metas(&node.outputs));
        let lower = || node.op.lower(&inputs, &outputs);
        let lowering = lower()?;
        let flops = lowering.work(&inputs, &outputs).flops;
        let kernel = devices::kernel(self.device, node.op.name(), lowering, lower, &inputs, &outputs)?;
        let (inputs, outputs) = (accesses(&node.inputs), accesses(&node.outputs));
        Ok(Step { nodes: number..number + 1, kernel, inputs, outputs, flops, apart })
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
