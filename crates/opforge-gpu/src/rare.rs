//! Which operations of an expression are computed only where a choice takes the side that needs them: calls, and what is long. Groups whose threads all take
//! the other side, as where angles are small, do without.

use opforge_trace::{Expression, Op};

/// A side of a choice: the number of its node, and which operand, 1 or 2.
pub(crate) type Side = (usize, usize);

/// Where nodes of an expression are computed.
pub(crate) struct Sides {
    /// Of each node that is used, the innermost side that all its uses are on; none where they are on no side together.
    places: Vec<Option<Option<Side>>>,
    /// What the nodes of both sides of each choice cost.
    costs: Vec<[usize; 2]>,
}

/// The operations that are worth a branch.
const WORTH: usize = 20;

impl Sides {
    pub fn new(of: &Expression) -> Self {
        let count = of.nodes().len();
        let mut sides = Sides { places: vec![None; count], costs: vec![[0; 2]; count] };
        of.results().iter().chain(&of.failure()).for_each(|id| sides.places[id.number()] = Some(None));
        // Uses come after what they use.
        for (i, node) in of.nodes().iter().enumerate().rev() {
            let Some(own) = sides.places[i] else { continue };
            for (n, id) in node.operands.iter().enumerate() {
                let used = if node.op == Op::Select && n > 0 { Some((i, n)) } else { own };
                let known = sides.places[id.number()];
                sides.places[id.number()] = Some(known.map_or(used, |known| sides.common(known, used)));
            }
            sides.charge(own, &node.op);
        }
        for i in 0..count {
            sides.places[i] = sides.places[i].map(|place| sides.block_around(place));
        }
        sides
    }

    /// Where a node is computed: in the block of a side, or always; none for one that is not used.
    pub fn place(&self, node: usize) -> Option<Option<Side>> {
        self.places[node]
    }

    /// Whether the nodes of a side are a block of their own.
    pub fn is_block(&self, (choice, n): Side) -> bool {
        self.costs[choice][n - 1] > WORTH
    }

    /// The side that a side's choice is on.
    fn outer(&self, (choice, _): Side) -> Option<Side> {
        self.places[choice].flatten()
    }

    /// The innermost side that is around both: outer choices come after inner ones.
    fn common(&self, mut a: Option<Side>, mut b: Option<Side>) -> Option<Side> {
        while a != b {
            match (a, b) {
                (Some(one), Some(other)) if one.0 <= other.0 => a = self.outer(one),
                (Some(one), None) => a = self.outer(one),
                (_, Some(other)) => b = self.outer(other),
                (None, None) => {}
            }
        }
        a
    }

    /// Adds an operation to the sides around it.
    fn charge(&mut self, mut place: Option<Side>, op: &Op) {
        let cost = match op {
            Op::Input(_) | Op::Constant(_) => 0,
            Op::Call(..) => WORTH + 1,
            _ => 1,
        };
        while let Some((choice, n)) = place {
            self.costs[choice][n - 1] += cost;
            place = self.outer((choice, n));
        }
    }

    /// The innermost block around a place.
    fn block_around(&self, mut place: Option<Side>) -> Option<Side> {
        while let Some(side) = place.filter(|&side| !self.is_block(side)) {
            place = self.outer(side);
        }
        place
    }
}

#[cfg(test)]
mod tests {
    use opforge::family::UnaryOp;
    use opforge::operator::{Lowering, Operator};
    use opforge::ops::pointwise::sin::Sin;
    use opforge::{DType, Meta};
    use opforge_trace::{Expression, Op};

    use super::Sides;
    use crate::{Target, print, program_of};

    fn sine(dtype: DType) -> Lowering {
        let x = Meta::contiguous(dtype, 10);
        UnaryOp(Sin).lower(&[&x], &[&x]).expect("a lowering")
    }

    fn traced(dtype: DType) -> Expression {
        let Lowering::Tile(tile) = sine(dtype) else { panic!("no tile function") };
        tile.trace(&[dtype], true).expect("a trace")
    }

    #[test]
    fn calls_of_one_side_are_its_block_and_what_is_shared_is_not() {
        for dtype in [DType::F32, DType::F64] {
            let of = traced(dtype);
            let (sides, nodes) = (Sides::new(&of), of.nodes());
            let call = nodes.iter().position(|node| matches!(node.op, Op::Call(..))).expect("a call");
            let (choice, n) = sides.place(call).flatten().expect("a block");
            assert!(nodes[choice].operands[n].number() >= call && n == 1);
            for (i, node) in nodes.iter().enumerate().filter(|(i, _)| sides.place(*i).is_some()) {
                let around = |mut place| {
                    let mut all = vec![None];
                    while let Some(side) = place {
                        all.push(place);
                        place = sides.outer(side);
                    }
                    all
                };
                let known = around(sides.place(i).flatten());
                let chosen = |k: usize| (node.op == Op::Select && k > 0).then_some((i, k));
                for (k, id) in node.operands.iter().enumerate() {
                    let place = sides.place(id.number()).flatten();
                    let seen = known.contains(&place) || place == chosen(k);
                    assert!(seen, "{dtype}: operand {k} of node {i} is not known there");
                }
            }
        }
    }

    #[test]
    fn sines_of_large_angles_are_in_a_branch() {
        let x = Meta::contiguous(DType::F32, 10);
        let target =
            Target { device: "c", fused: true, approximates: true, reorders: false, doubles: true, shared: 48 << 10 };
        let program = program_of(&target, "sin", &sine(DType::F32), &[&x], &[&x]).expect("a program");
        let text = print::cuda(&program.launches[0].kernel, "sin", "cuda:0").expect("a text");
        let (before, after) = text.split_once(" sin(").expect("one call");
        assert!(before.rsplit('\n').any(|line| line.trim_start().starts_with("if (")), "{text}");
        assert!(!after.contains(" sin("), "{text}");
    }
}
