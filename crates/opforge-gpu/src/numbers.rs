//! Numbers that change from call to call, as a learning rate does: kernels that differ in nothing else become one, which is given them.
//!
//! A number is a constant of its kernel at first, which compilers can compute with. Where another call has another one, the kernels of both and of all that
//! follow have a parameter in its place.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use opforge_core::DType;
use opforge_trace::Op;

use crate::kernel::{Kernel, Node, Source};
use crate::program::{Launch, Program};

/// The kernels that a device has been asked for, without their numbers.
#[derive(Debug)]
pub struct Numbers {
    dtypes: &'static [DType],
    known: Mutex<HashMap<Kernel, Known>>,
}

/// The numbers of the first kernel, and which of them have been others since.
#[derive(Debug)]
struct Known {
    first: Vec<u64>,
    changing: BTreeSet<usize>,
}

impl Numbers {
    /// None yet, for a language that makes numbers of single words.
    pub fn of_words() -> Self {
        Numbers { dtypes: &[DType::F32, DType::I32], known: Mutex::default() }
    }

    /// None yet, for a language that makes numbers of words and of pairs of them.
    pub fn of_pairs() -> Self {
        Numbers { dtypes: &[DType::F32, DType::I32, DType::F64, DType::I64], known: Mutex::default() }
    }

    /// The bits of a number. Sizes and places, which are indices, are none.
    fn bits(&self, node: &Node) -> Option<u64> {
        match node.source {
            Source::Compute(Op::Constant(bits)) if self.dtypes.contains(&node.dtype) => Some(bits),
            _ => None,
        }
    }

    /// The program with parameters for the numbers that change.
    pub fn given(&self, mut program: Program) -> Program {
        program.launches = program.launches.into_iter().map(|launch| self.launch(launch)).collect();
        program
    }

    fn launch(&self, mut launch: Launch) -> Launch {
        let numbers: Vec<u64> = launch.kernel.values.iter().filter_map(|node| self.bits(node)).collect();
        let changing = self.changing(&launch.kernel, &numbers);
        if changing.is_empty() {
            return launch;
        }
        let kernel = Arc::make_mut(&mut launch.kernel);
        let nodes = kernel.values.iter_mut().filter(|node| self.bits(node).is_some());
        for (_, (node, bits)) in nodes.zip(numbers).enumerate().filter(|(i, _)| changing.contains(i)) {
            node.source = Source::Number(launch.parameters.len());
            launch.parameters.push(bits as u32);
            if node.dtype.size_in_bytes() == 8 {
                launch.parameters.push((bits >> 32) as u32);
            }
        }
        kernel.parameters = launch.parameters.len();
        launch
    }

    fn changing(&self, kernel: &Kernel, numbers: &[u64]) -> BTreeSet<usize> {
        let mut without = kernel.clone();
        for node in without.values.iter_mut().filter(|node| self.bits(node).is_some()) {
            node.source = Source::Compute(Op::Constant(0));
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known =
            known.entry(without).or_insert_with(|| Known { first: numbers.to_vec(), changing: BTreeSet::new() });
        let differs = |&i: &usize| known.first[i] != numbers[i];
        let others: Vec<usize> = (0..numbers.len()).filter(differs).collect();
        known.changing.extend(others);
        known.changing.clone()
    }
}

#[cfg(test)]
mod tests {
    use opforge::family::UnaryOp;
    use opforge::operator::Operator;
    use opforge::ops::pointwise::affine::Affine;
    use opforge::{DType, Meta};

    use super::Numbers;
    use crate::{Launch, Target, print, program_of};

    fn scaled(by: f64, plus: f64) -> Launch {
        let x = Meta::contiguous(DType::F32, 10);
        let lowering = UnaryOp(Affine { mul: by.into(), add: plus.into() }).lower(&[&x], &[&x]).expect("a lowering");
        let target =
            Target { device: "c", fused: true, approximates: true, reorders: false, doubles: true, shared: 48 << 10 };
        program_of(&target, "affine", &lowering, &[&x], &[&x]).expect("a program").launches.remove(0)
    }

    #[test]
    fn numbers_that_change_are_parameters() {
        let numbers = Numbers::of_pairs();
        let text = |launch: &Launch| print::c(&launch.kernel, "f");
        let own = scaled(3.0, 5.0);
        assert_eq!(text(&numbers.launch(own.clone())), text(&own), "the first has its constants");
        let [second, third] = [7.0, 9.0].map(|by| numbers.launch(scaled(by, 5.0)));
        assert_eq!(text(&second), text(&third));
        assert_eq!(third.parameters[own.parameters.len()..], [9f32.to_bits()]);
        assert_eq!(third.kernel.parameters, third.parameters.len());
        assert!(text(&third).contains("5.0"), "what has not changed is a constant: {}", text(&third));
        let first = numbers.launch(own);
        assert_eq!((text(&first), first.parameters.last()), (text(&second), Some(&3f32.to_bits())));
    }
}
