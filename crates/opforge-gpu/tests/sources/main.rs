//! Every kernel's source in the languages of GPUs is accepted by who compiles them: no GPU is needed to see that.

#[path = "../calls/mod.rs"]
mod calls;
mod cuda;
mod wgsl;

use std::collections::{BTreeMap, HashMap};

use opforge::Result;
use opforge_gpu::{Kernel, Target, program_of};

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
        for launch in &program.launches {
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
