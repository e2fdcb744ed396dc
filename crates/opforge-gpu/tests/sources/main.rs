//! Every kernel's source in the languages of GPUs is accepted by who compiles them: no GPU is needed to see that.

#[path = "../calls/mod.rs"]
mod calls;
mod cuda;
mod wgsl;

use std::collections::{BTreeMap, HashMap};

use opforge::devices::{Link, Operand};
use opforge::operator::Lowering;
use opforge::{Meta, Result};
use opforge_gpu::{Kernel, Program, Target, program_of, program_of_chain};
use opforge_tile::forms::Move;

/// The chain of a function of single elements and a copy of its first result; none for other calls.
fn copied_on(
    target: &Target,
    op: &'static str,
    lowering: Lowering,
    inputs: &[&Meta],
    outputs: &[&Meta],
) -> Option<Program> {
    let read = inputs.iter().enumerate().map(|(i, meta)| (Operand::Given(i), *meta)).collect();
    let further = outputs.iter().enumerate().skip(1).map(|(i, meta)| (*meta, Some(i)));
    let made = [(outputs[0], None)].into_iter().chain(further).collect();
    let (input, output) = ((Operand::Made(0, 0), outputs[0]), (outputs[0], Some(0)));
    let copy = Lowering::Move(Move::Copy);
    let links = [
        Link { op, lowering, inputs: read, outputs: made },
        Link { op: "copy", lowering: copy, inputs: vec![input], outputs: vec![output] },
    ];
    program_of_chain(target, &links).ok()
}

/// The texts of all kernels, each with a call that needs it; and how often functions were refused, by name.
fn sources(
    target: Target,
    print: impl Fn(&Kernel, &'static str) -> Result<String>,
) -> (HashMap<String, String>, BTreeMap<String, usize>) {
    let (mut texts, mut refused) = (HashMap::new(), BTreeMap::new());
    for case in calls::all() {
        let (inputs, outputs) = case.metas();
        let lowering = case.lowering().unwrap_or_else(|error| panic!("{}: {error}", case.name));
        let Ok(program) = program_of(&target, case.op.name(), &lowering, &inputs, &outputs) else { continue };
        let chain = copied_on(&target, case.op.name(), lowering, &inputs, &outputs);
        for launch in program.launches.iter().chain(chain.iter().flat_map(|chain| &chain.launches)) {
            match print(&launch.kernel, case.op.name()) {
                Ok(text) => {
                    texts.entry(text).or_insert_with(|| case.name.clone());
                }
                Err(error) => {
                    let error = error.to_string();
                    let name = error.split("function: ").nth(1).and_then(|rest| rest.split(' ').next());
                    let name = name.unwrap_or_else(|| panic!("{}: {error}", case.name));
                    *refused.entry(name.to_owned()).or_default() += 1;
                }
            }
        }
    }
    (texts, refused)
}
