//! Every operator's kernels, printed as C and built by the host's compiler, against the CPU's kernels: all calls that samples and their gradients make.

#[path = "../calls/mod.rs"]
mod calls;
mod library;

use std::collections::BTreeMap;

use calls::{Bytes, Case, found_in, transposed};
use library::{Library, Source};
use opforge::operator::Lowering;
use opforge::{Error, ErrorKind, Result};
use opforge_gpu::{Memory, Place, Program, Target, program_of};

const TARGET: Target =
    Target { device: "c", fused: true, approximates: true, reorders: false, doubles: true, shared: 48 << 10 };

/// A call with its program; for each launch, the number of its kernel in the library.
struct Prepared {
    case: Case,
    program: Program,
    kernels: Vec<usize>,
}

/// The word that a form's name begins with.
fn form(lowering: &Lowering) -> String {
    format!("{lowering:?}").split([' ', '(', '{']).next().unwrap_or_default().to_owned()
}

/// Programs of all cases, and why some have none, by form.
fn prepare(cases: Vec<Case>, source: &mut Source) -> (Vec<Prepared>, BTreeMap<(String, String), usize>) {
    let (mut prepared, mut refused) = (Vec::new(), BTreeMap::new());
    for case in cases {
        let lowering = case.lowering().unwrap_or_else(|e| panic!("{}: {e}", case.name));
        let (inputs, outputs) = case.metas();
        match program_of(&TARGET, case.op.name(), &lowering, &inputs, &outputs) {
            Ok(program) => {
                let kernels = program.launches.iter().map(|launch| source.add(&launch.kernel)).collect();
                prepared.push(Prepared { case, program, kernels });
            }
            Err(e) if e.kind() == ErrorKind::Device => {
                let (_, accepted) = e
                    .to_string()
                    .split_once("accepted: ")
                    .map(|(a, b)| (a.to_owned(), b.to_owned()))
                    .unwrap_or_default();
                *refused.entry((form(&lowering), accepted)).or_default() += 1;
            }
            // What the CPU refuses too.
            Err(e) => assert!(case.on_cpu().is_err(), "{}: {e}", case.name),
        }
    }
    (prepared, refused)
}

impl Prepared {
    fn run(&self, library: &Library) -> Result<Vec<Bytes>> {
        let mut results: Vec<Bytes> = self.case.outputs.iter().map(Bytes::for_layout).collect();
        let mut scratch: Vec<Bytes> = self.program.scratch.iter().map(own).collect();
        for (launch, &kernel) in self.program.launches.iter().zip(&self.kernels) {
            let address = |place: &Place| match *place {
                Place::Input(i) => self.case.inputs[i].1.first(&self.case.inputs[i].0).cast_mut(),
                Place::Output(i) => results[i].as_mut_ptr(),
                Place::Scratch(i) => scratch[i].as_mut_ptr(),
            };
            let buffers: Vec<*mut u8> = launch.places.iter().map(address).collect();
            let status = library.launch(kernel, &buffers, &launch.parameters);
            if !results.iter().chain(&scratch).all(Bytes::is_intact) {
                return Err(Error::msg("written beyond memory"));
            }
            self.program.check(self.case.op.name(), status)?;
        }
        Ok(results)
    }

    /// Compares what C and the CPU's kernel compute.
    fn check(&self, library: &Library) -> Option<String> {
        match (self.run(library), self.case.on_cpu()) {
            (Ok(got), Ok(want)) => {
                let all = got.iter().zip(&want).zip(&self.case.outputs);
                all.enumerate().find_map(|(i, ((got, want), meta))| {
                    got.difference(want, meta, self.case.is_loose())
                        .map(|difference| format!("output {i}: {difference}"))
                })
            }
            (Err(got), Err(want)) if got.kind() == want.kind() => None,
            (got, want) => Some(format!("{:?} in C, {:?} on the CPU", got.map(drop), want.map(drop))),
        }
    }
}

fn own(memory: &Memory) -> Bytes {
    match memory {
        Memory::Space(nbytes) => Bytes::zeros(*nbytes),
        Memory::Table(table) => {
            let mut bytes = Bytes::zeros(table.len());
            // SAFETY: the bytes were made for as many.
            unsafe { bytes.as_mut_ptr().copy_from_nonoverlapping(table.as_ptr(), table.len()) };
            bytes
        }
    }
}

/// What is accepted where something is refused.
const ACCEPTED: [&str; 5] = [
    "no factorisations of matrices",
    "numbers that are computed with",
    "real numbers of 16 bits or more",
    "uniform, normal, Bernoulli and integer draws",
    "what is composed where it has no kernel",
];

#[test]
fn every_kernel_gives_in_c_what_the_cpu_gives() {
    let mut source = Source::default();
    // Places in lines that are not sorted are any.
    let mut cases: Vec<Case> =
        calls::all().into_iter().filter(|case| !(case.special && case.op.name() == "searchsorted")).collect();
    // A third of the calls: by the golden ratio, since each third would miss dtypes, which return every so many calls.
    let all = std::env::var("OPFORGE_DTYPES").is_ok_and(|text| text == "all");
    let chosen = cases.iter().enumerate().filter(|(i, _)| all || i * 618 % 1000 < 333);
    let strided: Vec<Case> = chosen.filter_map(|(_, case)| case.laid_out(transposed)).collect();
    // Some operators are called with contiguous tensors only.
    cases.extend(strided.into_iter().filter(|case| case.lowering().is_ok() && case.on_cpu().is_ok()));
    let (prepared, refused) = prepare(cases, &mut source);
    eprintln!("{} calls of {} kernels; refused: {refused:#?}", prepared.len(), source.count());
    assert!(
        prepared.iter().any(|prepared| prepared.case.op.name() == "cube"),
        "an operator from elsewhere has no kernel"
    );
    let library = source.build();
    let failures = found_in(&prepared, |prepared| {
        prepared.check(&library).map(|difference| format!("{}: {difference}", prepared.case.name))
    });
    assert!(failures.is_empty(), "{} of {} differ:\n{}", failures.len(), prepared.len(), failures.join("\n"));
    assert!(prepared.len() > 10_000, "only {} calls", prepared.len());
    let known = |accepted: &str| ACCEPTED.iter().any(|known| accepted.starts_with(known));
    let others: Vec<_> = refused.keys().filter(|(_, accepted)| !known(accepted)).collect();
    assert!(others.is_empty(), "{others:?} are refused");
}
