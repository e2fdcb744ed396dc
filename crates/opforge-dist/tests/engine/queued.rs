//! Parts on their way: ranks compute meanwhile, and hear of each other's failures.

use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use opforge::{DType, Device, Result, Tensor, functional as f};
use opforge_dist::global::{World, from_part, part_of, redistribute};
use opforge_dist::{Distribution, Engine, Fault, Guard, LIMIT, Settings};

use super::Ranks;

const PARTIAL: &str = "cpu[0, 1] [P(sum)]";
const WHOLE: &str = "cpu[0, 1] [B]";

/// Runs a program on each of two ranks.
fn on<T: Send>(program: impl Fn(usize) -> Result<T> + Sync) -> Vec<Result<T>> {
    Ranks::run(2, |engine| {
        let guard = Guard::new(engine, Settings::default());
        let rank = guard.rank();
        World::new(Arc::new(guard)).run(|| program(rank))
    })
}

fn all_reduced(part: &Tensor) -> Result<Tensor> {
    let partial: Distribution = PARTIAL.parse()?;
    part_of(&redistribute(&from_part(part, &partial)?, &WHOLE.parse()?)?)
}

#[test]
fn ranks_compute_while_parts_are_on_their_way() {
    let (go_on, wait) = mpsc::channel();
    let wait = std::sync::Mutex::new(wait);
    let sums = on(|rank| {
        let part = Tensor::full(rank as f64 + 1.0, 1000, &Device::Cpu)?;
        let partial = from_part(&part, &PARTIAL.parse()?)?;
        if rank == 1 {
            // Rank 0 has made its call and computed something else by then.
            wait.lock().unwrap().recv_timeout(LIMIT / 2).expect("rank 0 goes on");
        }
        let whole = part_of(&redistribute(&partial, &WHOLE.parse()?)?)?;
        if rank == 0 {
            assert_eq!(part.sum_all()?.to_scalar::<f64>()?, 1000.0);
            go_on.send(()).unwrap();
        }
        whole.sum_all()?.to_scalar::<f64>()
    });
    assert!(sums.into_iter().all(|sum| sum.unwrap() == 3000.0));
}

#[test]
fn what_changes_after_a_call_does_not_change_what_is_sent() {
    let firsts = on(|rank| {
        let part = Tensor::full(rank as f64 + 1.0, 100_000, &Device::Cpu)?;
        let whole = all_reduced(&part)?;
        part.copy_from(&Tensor::full(7.0, 100_000, &Device::Cpu)?)?;
        Ok([whole.max_all()?.to_scalar::<f64>()?, part.min_all()?.to_scalar::<f64>()?])
    });
    assert!(firsts.into_iter().all(|both| both.unwrap() == [3.0, 7.0]));
}

/// Division by 0 behind something that takes a while, so that it is found out after the call.
fn failing() -> Result<Tensor> {
    let slow = Tensor::ones((700, 700), DType::F32, &Device::Cpu)?;
    (0..4).try_fold(slow.clone(), |product, _| product.matmul(&slow))?;
    f::remainder((&Tensor::new(&[1i64, 2], &Device::Cpu)?).into(), (&Tensor::new(&[1i64, 0], &Device::Cpu)?).into())
}

#[test]
fn a_rank_whose_part_cannot_be_computed_says_so() {
    let begun = Instant::now();
    let errors = on(|rank| {
        let part = if rank == 1 { failing()? } else { Tensor::new(&[5i64, 6], &Device::Cpu)? };
        all_reduced(&part)?.to_vec1::<i64>()
    });
    let [first, second] = errors.try_into().unwrap();
    let (first, second) = (first.unwrap_err(), second.unwrap_err());
    assert!(matches!(Fault::of(&first), Some(Fault::Left { other: 1, .. })), "{first}");
    assert!(second.to_string().contains("zero") || second.to_string().contains('0'), "{second}");
    let cause = second.root().to_string();
    assert!(first.to_string().contains(&cause), "{first}: {cause}");
    assert!(begun.elapsed() < LIMIT / 2 + Duration::from_secs(1), "after {:?}", begun.elapsed());
}
