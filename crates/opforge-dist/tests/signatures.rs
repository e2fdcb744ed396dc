//! Every operator's samples under every signature that its axes allow, at one to four ranks: one process's values and gradients. On a mesh of two by two,
//! `OPFORGE_CHOICES=1000` tries all of them.

use std::sync::Arc;

use opforge::declaration::{Definition, Sample};
use opforge::dispatch::{dispatch, dispatch_into};
use opforge::operator::Operator;
use opforge::registry::operators;
use opforge::{Meta, Result, Tensor, no_grad};
use opforge_dist::global::{Choice, World, choices, distribute, distribution_of, redistribute};
use opforge_dist::{Distribution, Engine, Guard, Placement, Sbp, Settings, Threads};

mod sampling;

use sampling::{MOST, Values, alone, difference, real_of, spread_over, values, with_gradients};

/// Along each dimension of a mesh, what an operator is to do.
type Signature = Vec<Choice>;

/// The signatures of an operator on a mesh: all of them in a row of ranks, in more dimensions as many as are [tried](MOST).
fn signatures(op: &dyn Operator, inputs: &[Tensor], placement: &Placement) -> Result<Vec<Signature>> {
    let along = choices(op, &inputs.iter().map(Tensor::meta).collect::<Vec<&Meta>>())?;
    let longer = |begun: Vec<Signature>, _: &usize| {
        let with = |begun: &Signature| {
            along.iter().map(|one| [&begun[..], std::slice::from_ref(one)].concat()).collect::<Vec<_>>()
        };
        begun.iter().flat_map(with).collect()
    };
    let mut all = placement.mesh().iter().fold(vec![vec![]], longer);
    all.retain(|signature| {
        signature.iter().all(|one| {
            let same = signature.iter().zip(placement.mesh()).filter(|(other, _)| *other == one);
            one.divides_into(same.map(|(_, &ranks)| ranks).product())
        })
    });
    let most = if placement.mesh().len() == 1 { all.len() } else { *MOST };
    Ok(spread_over(all.len(), most, 0).map(|i| all[i].clone()).collect())
}

/// How a tensor lies under a signature.
fn lies(signature: &Signature, placement: &Placement, of: impl Fn(&Choice) -> Sbp) -> Result<Distribution> {
    Distribution::new(placement.clone(), &signature.iter().map(of).collect::<Vec<_>>())
}

/// How a signature came to be carried out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// The interpreter chose it for inputs in the distributions that it names.
    Chosen,
    /// It chose a cheaper one until results were wanted where this signature gives them.
    Wanted,
    /// Not at all: a view is not written anywhere, and another one was cheaper.
    Never,
}

/// What a rank gets of inputs that lie as a signature has it, and how that was carried out.
fn try_one(
    sample: &Sample,
    op: &dyn Operator,
    inputs: &[Tensor],
    signature: &Signature,
    placement: &Placement,
) -> Result<(Vec<Values>, How)> {
    let spread = |(i, input): (usize, &Tensor)| {
        let given = distribute(&input.detach(), &lies(signature, placement, |_| Sbp::Broadcast)?)?;
        Ok(redistribute(&given, &lies(signature, placement, |one| one.inputs()[i])?)?.detach())
    };
    let given = inputs.iter().enumerate().map(spread).collect::<Result<Vec<_>>>()?;
    let given_to: Vec<&Tensor> = given.iter().collect();
    let made = no_grad(|| dispatch(op, &given_to))?;
    let wanted = (0..made.len())
        .map(|i| lies(signature, placement, |one| one.outputs()[i]))
        .collect::<Result<Vec<Distribution>>>()?;
    let mut is_chosen = true;
    for (made, wanted) in made.iter().zip(&wanted) {
        is_chosen &= distribution_of(made)?.is_some_and(|found| *found == *wanted);
    }
    let is_view = matches!(inputs, [input] if op.view(input.layout()).is_some());
    let how = match (is_chosen, is_view) {
        (true, _) => How::Chosen,
        (false, true) => How::Never,
        (false, false) => How::Wanted,
    };
    if how == How::Wanted {
        let there = made.iter().zip(&wanted).map(|(made, to)| redistribute(&made.zeros_like()?, to));
        let there = there.collect::<Result<Vec<Tensor>>>()?;
        no_grad(|| dispatch_into(op, &given_to, &there.iter().collect::<Vec<_>>()))?;
        let [forced, chosen] = [&there[..], &made[..]].map(values);
        if let Some(wrong) = difference(forced, &chosen?) {
            return Err(opforge::Error::msg(format!("into its outputs: {wrong}")));
        }
    }
    Ok((values(&with_gradients(sample, &given)?)?, how))
}

#[derive(Default)]
struct Tally {
    cases: Vec<How>,
    failures: Vec<String>,
}

impl Tally {
    fn check(&mut self, definition: &Definition, placement: &Placement) {
        let Some(real) = real_of(definition) else { return };
        for sample in (definition.samples)().iter().filter(|sample| !sample.inputs.is_empty()) {
            let Some(op) = sample.operator() else { continue };
            let tried = alone(sample, real).and_then(|known| {
                let Some((inputs, wanted)) = known else { return Ok(()) };
                let all = signatures(op, &inputs, placement)?;
                self.compare(definition, sample, &all, &wanted, &try_all(sample, op, &inputs, &all, placement));
                Ok(())
            });
            if let Err(error) = tried {
                self.failures.push(format!("{}: {sample:?}: {error}", definition.name));
            }
        }
    }

    fn compare(&mut self, of: &Definition, sample: &Sample, all: &[Signature], wanted: &[Values], ranks: &[Tried]) {
        for (rank, results) in ranks.iter().enumerate() {
            for (result, signature) in results.iter().zip(all) {
                let result = result.as_ref().map_err(|error| opforge::Error::msg(error.to_string()));
                self.cases.extend(result.as_ref().ok().filter(|_| rank == 0).map(|(_, how)| *how));
                if let Some(wrong) = difference(result.map(|(values, _)| values.clone()), wanted) {
                    self.failures.push(format!("{}: {sample:?} {signature:?} rank {rank}: {wrong}", of.name));
                }
            }
        }
    }
}

/// What a rank gets under each signature, up to the first that fails.
type Tried = Vec<Result<(Vec<Values>, How)>>;

fn try_all(
    sample: &Sample,
    op: &dyn Operator,
    inputs: &[Tensor],
    all: &[Signature],
    placement: &Placement,
) -> Vec<Tried> {
    let ranks = Threads::run(placement.ranks().len(), |engine| {
        let guard = Arc::new(Guard::new(engine, Settings::default()));
        let world = World::new(guard.clone());
        let mut results = Vec::new();
        for signature in all {
            results.push(world.run(|| try_one(sample, op, inputs, signature, placement)));
            if let Some(Err(error)) = results.last() {
                guard.abort(error);
                break;
            }
        }
        Ok(results)
    });
    ranks.into_iter().map(|rank| rank.unwrap_or_else(|error| vec![Err(error)])).collect()
}

fn check_all(mesh: &str) {
    let (placement, mut tally): (Placement, _) = (mesh.parse().unwrap(), Tally::default());
    let only = std::env::var("OPFORGE_OPERATOR").ok();
    for definition in operators().into_iter().filter(|one| only.as_deref().is_none_or(|only| only == one.name)) {
        tally.check(definition, &placement);
    }
    let Tally { cases, failures } = tally;
    let count = |how: How| cases.iter().filter(|other| **other == how).count();
    let [chosen, wanted, never] = [How::Chosen, How::Wanted, How::Never].map(count);
    println!("{mesh}: {chosen} signatures chosen, {wanted} where results were wanted so, {never} views of others");
    assert!(failures.is_empty(), "{} of {} failed:\n{}", failures.len(), cases.len(), failures.join("\n"));
    // Some signatures are never the cheapest: views that could become split, and results that are reduced otherwise.
    assert!(chosen > 0 && never * 50 < cases.len(), "{never} of {} were never carried out", cases.len());
}

#[test]
fn on_one_rank() {
    check_all("cpu[0]");
}

#[test]
fn on_two_ranks() {
    check_all("cpu[0, 1]");
}

#[test]
fn on_three_ranks() {
    check_all("cpu[0, 1, 2]");
}

#[test]
fn on_four_ranks() {
    check_all("cpu[0, 1, 2, 3]");
}

#[test]
fn on_a_mesh_of_four_ranks() {
    check_all("cpu[[0, 1], [2, 3]]");
}
