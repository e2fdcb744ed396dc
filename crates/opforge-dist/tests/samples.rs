//! Every operator's samples on global tensors, whatever the distributions of their inputs: one process's values and gradients.

use std::sync::Arc;
use std::time::Duration;

use opforge::declaration::{Definition, Sample};
use opforge::registry::operators;
use opforge::{Generator, Result, Tensor};
use opforge_dist::global::{World, distribute};
use opforge_dist::{Distribution, Engine, Guard, LIMIT, Mpi, Reduction, Sbp, Settings, Threads};

mod launcher;
mod sampling;

use sampling::{MOST, Values, alone, difference, real_of, spread_over, values, with_gradients};

/// How each input lies along each dimension of the mesh.
type Choice = Vec<Vec<Sbp>>;

/// Tries a sample with these inputs under each choice.
type Attempt<'a> = &'a dyn Fn(&Sample, &[Tensor], &[Choice]) -> Tried;

/// What ranks get of a sample under each choice.
type Tried = Vec<Vec<Result<Vec<Values>>>>;

/// Ways in which inputs may lie: all of them, or so many that are spread over all, others for each `turn`.
fn choices(inputs: &[Tensor], dims: usize, most: usize, turn: usize) -> Vec<Choice> {
    let of = |input: &Tensor| -> Vec<Sbp> {
        let partial = input.dtype().is_float().then_some(Sbp::Partial(Reduction::Sum));
        [Sbp::Broadcast].into_iter().chain((0..input.rank()).map(Sbp::Split)).chain(partial).collect()
    };
    let slots: Vec<Vec<Sbp>> = inputs.iter().flat_map(|input| vec![of(input); dims]).collect();
    let count: usize = slots.iter().map(Vec::len).product();
    let nth = |mut n: usize| {
        let mut one = |slot: &Vec<Sbp>| {
            let sbp = slot[n % slot.len()];
            n /= slot.len();
            sbp
        };
        let all: Vec<Sbp> = slots.iter().map(&mut one).collect();
        all.chunks(dims).map(<[Sbp]>::to_vec).collect()
    };
    spread_over(count, most, turn).map(nth).collect()
}

/// What a rank gets of a sample under each choice, up to the first that fails.
fn try_on_rank(
    guard: &Arc<Guard>,
    sample: &Sample,
    mesh: &str,
    inputs: &[Tensor],
    all: &[Choice],
) -> Vec<Result<Vec<Values>>> {
    let try_one = |sbp: &Choice| {
        let spread = |(input, sbp): (&Tensor, &Vec<Sbp>)| {
            distribute(&input.detach(), &Distribution::new(mesh.parse()?, sbp)?).map(|t| t.detach())
        };
        let given = inputs.iter().zip(sbp).map(spread).collect::<Result<Vec<_>>>()?;
        with_gradients(sample, &given).and_then(|results| values(&results))
    };
    let mut results = Vec::new();
    for sbp in all {
        results.push(World::new(guard.clone()).run(|| try_one(sbp)));
        if let Some(Err(error)) = results.last() {
            guard.abort(error);
            break;
        }
    }
    results
}

/// As [`try_on_rank`], on ranks that are threads.
fn try_on_threads(ranks: usize, sample: &Sample, mesh: &str, inputs: &[Tensor], all: &[Choice]) -> Tried {
    let results = Threads::run(ranks, |engine| {
        Ok(try_on_rank(&Arc::new(Guard::new(engine, Settings::default())), sample, mesh, inputs, all))
    });
    results.into_iter().map(|rank| rank.unwrap_or_else(|error| vec![Err(error)])).collect()
}

/// Holds the samples of an operator, under so many choices each, to what they give alone; how many cases there were.
fn check(definition: &Definition, mesh: &str, most: usize, failures: &mut Vec<String>, attempt: Attempt<'_>) -> usize {
    let mut cases = 0;
    let Some(real) = real_of(definition) else { return 0 };
    for (turn, sample) in (definition.samples)().iter().filter(|sample| !sample.inputs.is_empty()).enumerate() {
        let (inputs, wanted) = match alone(sample, real) {
            Ok(Some(known)) => known,
            Ok(None) => continue,
            Err(error) => {
                failures.push(format!("{}: {sample:?} alone: {error}", definition.name));
                continue;
            }
        };
        let dims = mesh.matches("[[").count() + 1;
        let all = choices(&inputs, dims, most, turn);
        cases += all.len();
        for (rank, results) in attempt(sample, &inputs, &all).into_iter().enumerate() {
            for (got, sbp) in results.into_iter().zip(&all) {
                if let Some(wrong) = difference(got, &wanted) {
                    failures.push(format!("{}: {sample:?} {mesh} {sbp:?} rank {rank}: {wrong}", definition.name));
                }
            }
        }
    }
    cases
}

fn check_all(mesh: &str, ranks: usize, most: usize) {
    let (only, mut failures, mut cases) = (std::env::var("OPFORGE_OPERATOR").ok(), Vec::new(), 0);
    for definition in operators() {
        if only.as_deref().is_none_or(|only| only == definition.name) {
            let attempt =
                |sample: &Sample, inputs: &[Tensor], all: &[Choice]| try_on_threads(ranks, sample, mesh, inputs, all);
            cases += check(definition, mesh, most, &mut failures, &attempt);
        }
    }
    assert!(cases > 0 || !failures.is_empty(), "no case was tried");
    assert!(failures.is_empty(), "{} of {cases} cases failed:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn on_one_rank() {
    check_all("cpu[0]", 1, *MOST);
}

#[test]
fn on_two_ranks() {
    check_all("cpu[0, 1]", 2, *MOST);
}

#[test]
fn on_three_ranks() {
    check_all("cpu[0, 1, 2]", 3, MOST.div_ceil(3));
}

#[test]
fn on_a_mesh_of_four_ranks() {
    check_all("cpu[[0, 1], [2, 3]]", 4, MOST.div_ceil(3));
}

/// Ranks that are processes, with their meshes: each tries a third of the operators.
const PROCESSES: [(usize, &str); 3] = [(2, "cpu[0, 1]"), (3, "cpu[0, 1, 2]"), (4, "cpu[[0, 1], [2, 3]]")];

#[test]
fn over_mpi() {
    let Some(launch) = launcher::launcher() else { return };
    for (ranks, mesh) in PROCESSES {
        let output = launch.run(ranks, "rank_of_samples", false, Duration::from_secs(120));
        let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        assert!(output.status.success() && text.matches("1 passed").count() == ranks, "{mesh}: {text}");
    }
}

#[test]
#[ignore = "a rank's program"]
fn rank_of_samples() {
    // Ranks are to find the same samples random.
    Generator::global().manual_seed(5);
    let mpi = Mpi::start().unwrap();
    let guard = Arc::new(Guard::new(mpi.world().unwrap(), Settings::default()));
    let part = PROCESSES.iter().position(|(ranks, _)| *ranks == guard.size()).unwrap();
    let (mesh, mut failures, mut cases) = (PROCESSES[part].1, Vec::new(), 0);
    for definition in operators().into_iter().skip(part).step_by(PROCESSES.len()) {
        let attempt =
            |sample: &Sample, inputs: &[Tensor], all: &[Choice]| vec![try_on_rank(&guard, sample, mesh, inputs, all)];
        cases += check(definition, mesh, MOST.div_ceil(3), &mut failures, &attempt);
        assert!(failures.is_empty(), "{}", failures.join("\n"));
    }
    assert!(cases > 100, "only {cases} cases");
    guard.close().unwrap();
    drop(guard);
    mpi.finish(LIMIT).unwrap();
}
