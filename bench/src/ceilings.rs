//! What the machine can do: plain loops on all cores, with nothing of either library in them.

use std::hint::black_box;
use std::thread;
use std::time::Instant;

use crate::case::Work;

/// The machine's speeds, in bytes and in operations a second.
#[derive(Debug, Clone, Copy)]
pub struct Ceilings {
    pub copy: f64,
    pub read: f64,
    pub flops: f64,
}

/// Elements of a buffer: beyond the caches.
const LEN: usize = 8 << 20;

impl Ceilings {
    pub fn measure() -> Self {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        Ceilings { copy: copy(threads), read: read(threads), flops: flops(threads) }
    }

    /// The least time that the work can take, in seconds.
    pub fn floor(&self, work: Work) -> Option<f64> {
        match work {
            Work::Call => None,
            Work::Copy(bytes) => Some(bytes as f64 / self.copy),
            Work::Read(bytes) => Some(bytes as f64 / self.read),
            Work::Flops(count) => Some(count as f64 / self.flops),
        }
    }
}

/// The least time of a pass, in seconds.
fn time(mut pass: impl FnMut()) -> f64 {
    pass();
    let sample = |_| {
        let start = Instant::now();
        pass();
        start.elapsed().as_secs_f64()
    };
    (0..30).map(sample).fold(f64::INFINITY, f64::min)
}

/// `y = x + 1`: bytes read and written a second.
fn copy(threads: usize) -> f64 {
    let (x, mut y) = (vec![1f32; LEN], vec![0f32; LEN]);
    let chunk = LEN.div_ceil(threads);
    let seconds = time(|| {
        thread::scope(|scope| {
            for (x, y) in x.chunks(chunk).zip(y.chunks_mut(chunk)) {
                scope.spawn(move || y.iter_mut().zip(x).for_each(|(y, x)| *y = x + 1.0));
            }
        });
        black_box(&mut y);
    });
    (2 * LEN * size_of::<f32>()) as f64 / seconds
}

/// A sum in many accumulators: bytes read a second.
fn read(threads: usize) -> f64 {
    const LANES: usize = 128;
    let x = vec![1f32; LEN];
    let sum = |x: &[f32]| {
        let mut sums = [0f32; LANES];
        for block in x.as_chunks::<LANES>().0 {
            sums.iter_mut().zip(block).for_each(|(sum, x)| *sum += x);
        }
        black_box(sums);
    };
    let seconds = time(|| {
        thread::scope(|scope| x.chunks(LEN.div_ceil(threads)).for_each(|x| drop(scope.spawn(move || sum(x)))));
    });
    (LEN * size_of::<f32>()) as f64 / seconds
}

/// Independent fused multiply-adds on registers: operations a second.
fn flops(threads: usize) -> f64 {
    const STEPS: usize = 4_000_000;
    let per_step = fused::step_flops();
    let seconds = time(|| {
        thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(|| black_box(fused::run(STEPS))))));
    });
    (threads * STEPS * per_step) as f64 / seconds
}

/// Chains of fused multiply-adds, enough of them to hide their latency.
#[cfg(target_arch = "x86_64")]
mod fused {
    use std::arch::x86_64::*;

    const CHAINS: usize = 12;

    fn has_avx512() -> bool {
        is_x86_feature_detected!("avx512f")
    }

    pub fn step_flops() -> usize {
        2 * CHAINS * if has_avx512() { 16 } else { 8 }
    }

    pub fn run(steps: usize) -> f32 {
        if has_avx512() {
            // SAFETY: the processor has AVX-512.
            unsafe { wide(steps) }
        } else if is_x86_feature_detected!("fma") {
            // SAFETY: the processor has FMA, and AVX with it.
            unsafe { narrow(steps) }
        } else {
            super::portable::<{ 8 * CHAINS }>(steps)
        }
    }

    #[target_feature(enable = "avx512f")]
    fn wide(steps: usize) -> f32 {
        let (x, y) = (_mm512_set1_ps(1e-9), _mm512_set1_ps(0.999));
        let mut sums = [x; CHAINS];
        for _ in 0..steps {
            for sum in &mut sums {
                *sum = _mm512_fmadd_ps(*sum, y, x);
            }
        }
        sums.iter().map(|&sum| _mm512_reduce_add_ps(sum)).sum()
    }

    #[target_feature(enable = "fma")]
    fn narrow(steps: usize) -> f32 {
        let (x, y) = (_mm256_set1_ps(1e-9), _mm256_set1_ps(0.999));
        let mut sums = [x; CHAINS];
        for _ in 0..steps {
            for sum in &mut sums {
                *sum = _mm256_fmadd_ps(*sum, y, x);
            }
        }
        sums.iter().map(|&sum| _mm256_cvtss_f32(sum)).sum()
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod fused {
    const LANES: usize = 96;

    pub fn step_flops() -> usize {
        2 * LANES
    }

    pub fn run(steps: usize) -> f32 {
        super::portable::<LANES>(steps)
    }
}

/// As many chains as there are lanes, for the compiler to make vectors of.
fn portable<const LANES: usize>(steps: usize) -> f32 {
    let mut sums = [1e-9f32; LANES];
    for _ in 0..steps {
        sums.iter_mut().for_each(|sum| *sum = *sum * 0.999 + 1e-9);
    }
    sums.iter().sum()
}
