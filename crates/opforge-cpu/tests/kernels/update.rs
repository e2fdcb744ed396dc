//! Tensors that are changed in place by others.

use opforge_core::{DType, Meta, bf16, f16};
use opforge_cpu::elementwise::{UpdateFn, update};
use opforge_cpu::internals::GRAIN;
use opforge_cpu::simd::{Float, Isa, with_isa};

/// Two tensors by a third: their sum with it, and their product.
#[derive(Clone, Copy)]
struct Mix;
impl UpdateFn<2> for Mix {
    #[inline(always)]
    fn float<V: Float>(self, [a, b]: [V; 2], g: V) -> [V; 2] {
        [a + b + g, a * b]
    }
}

fn check<T: opforge_core::WithDType>(len: usize) {
    let meta = Meta::contiguous(T::DTYPE, len);
    let all = |start: usize| -> Vec<T> { (0..len).map(|i| T::from_f64(((start + i) % 7) as f64)).collect() };
    let (mut a, mut b, g) = (all(0), all(3), all(5));
    let kernel = update("mix", Mix, &[&meta; 3], &[&meta; 2]).unwrap();
    let (pa, pb) = (a.as_mut_ptr().cast::<u8>(), b.as_mut_ptr().cast::<u8>());
    // SAFETY: the vectors have the metas' length and dtype; outputs may be the inputs to be changed.
    unsafe { kernel.run(&[pa, pb, g.as_ptr().cast()], &[pa, pb]) }.unwrap();
    for i in 0..len {
        let [x, y, z] = [i % 7, (3 + i) % 7, (5 + i) % 7].map(|n| n as f64);
        assert_eq!((a[i].to_f64(), b[i].to_f64()), (x + y + z, x * y), "{} element {i} of {len}", T::DTYPE);
    }
}

#[test]
fn changes_every_element_once() {
    for isa in Isa::supported() {
        with_isa(isa, || {
            for len in [0, 1, 7, 8, 31, 33, 3 * GRAIN + 5] {
                check::<f16>(len);
                check::<bf16>(len);
                check::<f32>(len);
                check::<f64>(len);
            }
        });
    }
}

#[test]
fn refuses_what_it_cannot_read() {
    let (float, long) = (Meta::contiguous(DType::F32, 4), Meta::contiguous(DType::F32, 5));
    let int = Meta::contiguous(DType::I32, 4);
    let strided = Meta { layout: float.layout.broadcast_as(&(4, 4).into(), "test").unwrap(), ..float.clone() };
    assert!(update("mix", Mix, &[&float; 3], &[&float; 1]).is_err());
    assert!(update("mix", Mix, &[&float, &float, &long], &[&float; 2]).is_err());
    assert!(update("mix", Mix, &[&float, &float, &int], &[&float; 2]).is_err());
    assert!(update("mix", Mix, &[&int; 3], &[&int; 2]).is_err());
    assert!(update("mix", Mix, &[&strided; 3], &[&strided; 2]).is_err());
}
