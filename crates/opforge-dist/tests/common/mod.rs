//! What every engine must do, as programs that each rank runs.
#![allow(dead_code)]

use opforge_core::{DType, Element, Error, Result, bf16, f16};
use opforge_dist::{Buffer, Collectives, Engine, LIMIT, Reduction};

/// Every call, in every dtype that it takes.
pub fn everything(engine: &dyn Engine) -> Result<()> {
    reductions(engine)?;
    moves(engine)?;
    overlapping(engine)?;
    large(engine)?;
    subgroups(engine)?;
    refusals(engine)
}

/// An all-reduce and a reduce-scatter of small whole numbers, whose result every dtype holds, against the definition.
fn reductions(engine: &dyn Engine) -> Result<()> {
    reduced(engine, |x| x as u8)?;
    reduced(engine, |x| x as u16)?;
    reduced(engine, |x| x as u32)?;
    reduced(engine, |x| x as u64)?;
    reduced(engine, |x| x as i8)?;
    reduced(engine, |x| x as i16)?;
    reduced(engine, |x| x as i32)?;
    reduced(engine, |x: i64| x)?;
    reduced(engine, |x| f16::from_f32(x as f32))?;
    reduced(engine, |x| bf16::from_f32(x as f32))?;
    reduced(engine, |x| x as f32)?;
    reduced(engine, |x| x as f64)?;
    reduced(engine, |x| opforge_core::Complex::new(x as f32, 0.0))?;
    reduced(engine, |x| opforge_core::Complex::new(x as f64, 0.0))?;
    reduced(engine, |x| x % 2 != 0)
}

fn reduced<T: Element>(engine: &dyn Engine, element: impl Fn(i64) -> T) -> Result<()> {
    let number = |rank: usize, i: usize| ((rank * 3 + i) % 3) as i64;
    let size = engine.size();
    // A part for each rank: 0 elements, 1, 2, ..
    let counts: Vec<usize> = (0..size).collect();
    let len: usize = counts.iter().sum();
    let elements = |rank: usize| (0..len).map(|i| element(number(rank, i))).collect::<Vec<T>>();
    for op in Reduction::ALL.into_iter().filter(|op| op.takes(T::DTYPE)) {
        let expected: Vec<T> =
            (0..len).map(|i| element(by_definition(op, T::DTYPE, (0..size).map(|r| number(r, i))))).collect();
        let mine = Buffer::of(&elements(engine.rank()))?;
        let all = engine.all_reduce(mine, T::DTYPE, op)?.wait(LIMIT)?.to_vec::<T>()?;
        equal(&all, &expected, format!("all_reduce({op}) of {}", T::DTYPE))?;
        let mine = Buffer::of(&elements(engine.rank()))?;
        let part = engine.reduce_scatter(mine, T::DTYPE, op, &counts)?.wait(LIMIT)?.to_vec::<T>()?;
        let start: usize = counts[..engine.rank()].iter().sum();
        equal(&part, &expected[start..][..counts[engine.rank()]], format!("reduce_scatter({op}) of {}", T::DTYPE))?;
    }
    Ok(())
}

fn by_definition(op: Reduction, dtype: DType, numbers: impl Iterator<Item = i64>) -> i64 {
    let truth = |x: i64| if dtype == DType::Bool { i64::from(x % 2 != 0) } else { x };
    let mut numbers = numbers.map(truth);
    match op {
        Reduction::Sum => numbers.sum(),
        Reduction::Product => numbers.product(),
        Reduction::Max => numbers.max().unwrap_or_default(),
        Reduction::Min => numbers.min().unwrap_or_default(),
        Reduction::Any => i64::from(numbers.any(|x| x != 0)),
        Reduction::All => i64::from(numbers.all(|x| x != 0)),
    }
}

/// Parts of different lengths, empty ones among them.
fn moves(engine: &dyn Engine) -> Result<()> {
    let (rank, size) = (engine.rank(), engine.size());
    let counts: Vec<usize> = (0..size).map(|rank| (rank * 2) % 3).collect();
    let of = |rank: usize, to: usize, count: usize| {
        (0..count).map(|i| (100 * rank + 10 * to + i) as i64).collect::<Vec<_>>()
    };

    let mine = Buffer::of(&of(rank, 0, counts[rank]))?;
    let all = engine.all_gather(mine, DType::I64, &counts)?.wait(LIMIT)?.to_vec::<i64>()?;
    equal(&all, &(0..size).flat_map(|rank| of(rank, 0, counts[rank])).collect::<Vec<_>>(), "all_gather")?;

    // Rank r sends (r + 2 t) % 4 elements to rank t.
    let between = |from: usize, to: usize| (from + 2 * to) % 4;
    let sent: Vec<usize> = (0..size).map(|to| between(rank, to)).collect();
    let received: Vec<usize> = (0..size).map(|from| between(from, rank)).collect();
    let mine = Buffer::of(&(0..size).flat_map(|to| of(rank, to, sent[to])).collect::<Vec<_>>())?;
    let parts = engine.all_to_all(mine, DType::I64, &sent, &received)?.wait(LIMIT)?.to_vec::<i64>()?;
    let expected: Vec<i64> = (0..size).flat_map(|from| of(from, rank, received[from])).collect();
    equal(&parts, &expected, "all_to_all")?;

    // From one rank alone: the others' buffers are empty, and their address must mean nothing to MPI.
    let sent: Vec<usize> = (0..size).map(|to| if rank == 0 { to } else { 0 }).collect();
    let received: Vec<usize> = (0..size).map(|from| if from == 0 { rank } else { 0 }).collect();
    let mine = Buffer::of(&sent.iter().enumerate().flat_map(|(to, &count)| of(0, to, count)).collect::<Vec<_>>())?;
    let part = engine.all_to_all(mine, DType::I64, &sent, &received)?.wait(LIMIT)?.to_vec::<i64>()?;
    equal(&part, &of(0, rank, rank), "all_to_all from one rank")?;

    for root in 0..size {
        let mine = Buffer::of(&[rank as f32, 5.0])?;
        let roots = engine.broadcast(mine, DType::F32, root)?.wait(LIMIT)?.to_vec::<f32>()?;
        equal(&roots, &[root as f32, 5.0], "broadcast")?;
    }

    // Around a ring, two tags crossing.
    let (next, before) = ((rank + 1) % size, (rank + size - 1) % size);
    let first = engine.send(Buffer::of(&[rank as i64])?, DType::I64, next, 1)?;
    let second = engine.send(Buffer::of(&[10 + rank as i64])?, DType::I64, next, 2)?;
    let late = engine.receive(1, DType::I64, before, 2)?.wait(LIMIT)?.to_vec::<i64>()?;
    let early = engine.receive(1, DType::I64, before, 1)?.wait(LIMIT)?.to_vec::<i64>()?;
    first.wait(LIMIT)?;
    second.wait(LIMIT)?;
    equal(&[early[0], late[0]], &[before as i64, 10 + before as i64], "send and receive")?;
    engine.barrier()?.wait(LIMIT)?;
    Ok(())
}

/// Several calls at a time, waited for in another order.
fn overlapping(engine: &dyn Engine) -> Result<()> {
    let begin = |i: i32| engine.all_reduce(Buffer::of(&vec![i; 3000])?, DType::I32, Reduction::Sum);
    let requests = (0..4).map(begin).collect::<Result<Vec<_>>>()?;
    for (i, request) in requests.into_iter().enumerate().rev() {
        let sum = request.wait(LIMIT)?.to_vec::<i32>()?;
        equal(&sum, &vec![i as i32 * engine.size() as i32; 3000], "calls that overlap")?;
    }
    Ok(())
}

/// More than an engine sends in one piece; the sum is by rank, so that all bits are known.
fn large(engine: &dyn Engine) -> Result<()> {
    let element = |rank: usize, i: usize| 0.1f32 + rank as f32 * 1e-3 + i as f32 * 1e-6;
    let mine: Vec<f32> = (0..600_001).map(|i| element(engine.rank(), i)).collect();
    let sum = engine.all_reduce(Buffer::of(&mine)?, DType::F32, Reduction::Sum)?.wait(LIMIT)?.to_vec::<f32>()?;
    let expected: Vec<f32> =
        (0..mine.len()).map(|i| (1..engine.size()).fold(element(0, i), |sum, rank| sum + element(rank, i))).collect();
    equal(&sum, &expected, "a large all_reduce")
}

/// Even ranks and odd ranks apart, in reverse order.
fn subgroups(engine: &dyn Engine) -> Result<()> {
    let members: Vec<usize> = (0..engine.size()).rev().filter(|rank| rank % 2 == engine.rank() % 2).collect();
    let group = engine.subgroup(&members)?;
    equal(&[members[group.rank()], group.size()], &[engine.rank(), members.len()], "a subgroup's ranks")?;
    let mine = Buffer::of(&[engine.rank() as u32])?;
    let all = group.all_gather(mine, DType::U32, &vec![1; members.len()])?.wait(LIMIT)?.to_vec::<u32>()?;
    equal(&all, &members.iter().map(|&rank| rank as u32).collect::<Vec<_>>(), "all_gather in a subgroup")
}

/// Wrong calls are refused at once, and disturb nothing.
fn refusals(engine: &dyn Engine) -> Result<()> {
    let size = engine.size();
    let bytes = || Buffer::of(&[1u8, 2, 3]);
    let refused = [
        engine.all_reduce(bytes()?, DType::F32, Reduction::Sum).err(),
        engine.all_reduce(bytes()?, DType::Bool, Reduction::Sum).err(),
        engine.all_reduce(Buffer::of(&[1f32])?, DType::F32, Reduction::Any).err(),
        engine.all_gather(bytes()?, DType::U8, &vec![2; size]).err(),
        engine.all_gather(bytes()?, DType::U8, &vec![3; size + 1]).err(),
        engine.all_gather(bytes()?, DType::U8, &vec![usize::MAX; size + 1]).err(),
        engine.broadcast(bytes()?, DType::U8, size).err(),
        engine.send(bytes()?, DType::U8, size, 0).err(),
        engine.receive(1, DType::U8, 0, u16::MAX).err(),
        engine.subgroup(&[engine.rank(), engine.rank()]).err(),
        engine.subgroup(&[]).err(),
    ];
    match refused.iter().position(Option::is_none) {
        Some(number) => Err(Error::msg(format!("wrong call {number} was taken"))),
        None => engine.barrier()?.wait(LIMIT).map(drop),
    }
}

pub fn equal<T: PartialEq + std::fmt::Debug>(got: &[T], expected: &[T], what: impl std::fmt::Display) -> Result<()> {
    match got == expected {
        true => Ok(()),
        false => Err(Error::msg(format!("{what}: got {got:?}, expected {expected:?}"))),
    }
}
