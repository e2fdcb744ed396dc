//! Convolutions by cuDNN and their gradients, as the CPU has them: those that it takes, and those that it does not.

mod host_driver;

use opforge::{DType, Device, Result, Tensor, functional as f};

fn numbers(shape: &[usize], dtype: DType, device: &Device) -> Result<Tensor> {
    let count: usize = shape.iter().product();
    let values: Vec<f32> = (0..count).map(|i| ((i * 7919 + 13) % 101) as f32 / 50.0 - 1.0).collect();
    Tensor::from_vec(values, shape, &Device::Cpu)?.to_dtype(dtype)?.to_device(device)
}

fn flat(t: &Tensor) -> Result<Vec<f64>> {
    t.to_dtype(DType::F64)?.flatten_all()?.to_vec1()
}

/// How many convolutions the host's cuDNN has made; none on a GPU.
fn made() -> Option<i32> {
    host_driver::counted("libcudnn.so.9", "opforge_host_convolutions")
}

/// How many of them had the channels of all tensors last.
fn of_channels_last() -> Option<i32> {
    host_driver::counted("libcudnn.so.9", "opforge_host_channels_last")
}

/// How an input of the function lies in memory, with the same elements at the same places.
type Laid = fn(&Tensor) -> Result<Tensor>;

const AS_IT_IS: Laid = |x| Ok(x.clone());
/// Channels are the fastest.
const CHANNELS_LAST: Laid = |x| {
    let last = x.rank() - 1;
    x.transpose(1, last)?.contiguous()?.transpose(1, last)
};
/// As libraries have channels last: items, positions in their order, channels.
const IN_VECTORS: Laid = |x| {
    let rank = x.rank();
    let order: Vec<usize> = [0].into_iter().chain(2..rank).chain([1]).collect();
    let back: Vec<usize> = [0, rank - 1].into_iter().chain(1..rank - 1).collect();
    x.permute(order)?.contiguous()?.permute(back)
};
/// It begins at an address that no vector of elements does.
const UNALIGNED: Laid = |x| {
    let count = x.elem_count();
    let more = Tensor::cat(&[&x.flatten_all()?.narrow(0, 0, 1)?, &x.flatten_all()?], 0)?;
    more.narrow(0, 1, count)?.reshape(x.dims())
};

struct Case {
    name: &'static str,
    x: &'static [usize],
    w: &'static [usize],
    /// Stride, padding, dilation.
    window: [i64; 3],
    /// Of a transposed convolution, how far its result is longer.
    transposed: Option<i64>,
    groups: i64,
    bias: bool,
    laid: Laid,
    by_library: bool,
}

const PLAIN: Case = Case {
    name: "2-d",
    x: &[2, 8, 9, 10],
    w: &[12, 8, 3, 3],
    window: [1, 1, 1],
    transposed: None,
    groups: 1,
    bias: false,
    laid: AS_IT_IS,
    by_library: true,
};

/// Channels that are whole vectors of halves.
const VECTORS: Case = Case { name: "vectors", w: &[16, 8, 3, 3], bias: true, laid: IN_VECTORS, ..PLAIN };

const CASES_OF_VECTORS: [Case; 6] = [
    VECTORS,
    Case { name: "vectors with a stride", window: [2, 3, 2], ..VECTORS },
    Case { name: "vectors of lines", x: &[2, 8, 80], w: &[16, 8, 5], window: [1, 2, 1], ..VECTORS },
    Case { name: "vectors of 3-d", x: &[1, 8, 6, 7, 5], w: &[16, 8, 3, 2, 3], ..VECTORS },
    Case { name: "transposed vectors", w: &[8, 16, 3, 3], window: [2, 1, 1], transposed: Some(1), ..VECTORS },
    Case { name: "vectors that are contiguous", laid: AS_IT_IS, ..VECTORS },
];

const CASES: [Case; 15] = [
    PLAIN,
    Case { name: "with a bias", bias: true, ..PLAIN },
    Case { name: "stride, dilation", window: [2, 3, 2], bias: true, ..PLAIN },
    Case {
        name: "a stride that leaves elements over",
        x: &[2, 8, 10, 12],
        window: [3, 0, 1],
        w: &[60, 8, 2, 2],
        ..PLAIN
    },
    Case { name: "groups", w: &[12, 2, 3, 3], groups: 4, x: &[3, 8, 9, 12], bias: true, ..PLAIN },
    Case { name: "depthwise", x: &[4, 16, 12, 12], w: &[16, 1, 3, 3], groups: 16, ..PLAIN },
    Case { name: "1-d", x: &[2, 8, 80], w: &[12, 8, 5], window: [1, 2, 1], bias: true, ..PLAIN },
    Case { name: "3-d", x: &[1, 4, 6, 7, 5], w: &[6, 4, 3, 2, 3], window: [1, 1, 1], bias: true, ..PLAIN },
    Case { name: "transposed", w: &[8, 12, 3, 3], transposed: Some(0), bias: true, ..PLAIN },
    Case { name: "longer transposed", w: &[8, 6, 3, 3], window: [2, 1, 2], transposed: Some(1), groups: 2, ..PLAIN },
    Case { name: "transposed 1-d", x: &[2, 8, 80], w: &[8, 12, 5], window: [2, 2, 1], transposed: Some(0), ..PLAIN },
    Case { name: "channels last", laid: CHANNELS_LAST, bias: true, ..PLAIN },
    Case {
        name: "transposed with channels last",
        w: &[8, 12, 3, 3],
        transposed: Some(0),
        laid: CHANNELS_LAST,
        ..PLAIN
    },
    Case { name: "unaligned", laid: UNALIGNED, ..PLAIN },
    Case { name: "a small one", x: &[1, 2, 5, 5], w: &[3, 2, 3, 3], bias: true, by_library: false, ..PLAIN },
];

impl Case {
    /// The result, and the gradients of input, weight and bias.
    fn run(&self, dtype: DType, device: &Device) -> Result<Vec<Tensor>> {
        let mut leaves =
            vec![(self.laid)(&numbers(self.x, dtype, device)?)?, (self.laid)(&numbers(self.w, dtype, device)?)?];
        if self.bias {
            let channels = if self.transposed.is_some() { self.w[1] * self.groups as usize } else { self.w[0] };
            leaves.push(numbers(&[channels], dtype, device)?);
        }
        leaves.iter().try_for_each(|leaf| leaf.set_requires_grad(true))?;
        let [stride, padding, dilation] = self.window.map(|n| vec![n; self.x.len() - 2]);
        let (extra, transposed) = (vec![self.transposed.unwrap_or(0); stride.len()], self.transposed.is_some());
        let (bias, groups) = (leaves.get(2), self.groups);
        let y = f::convolution(&leaves[0], &leaves[1], bias, &stride, &padding, &dilation, transposed, &extra, groups)?;
        let found = y.mul(&numbers(y.dims(), dtype, device)?)?.sum_all()?.backward()?;
        let gradients = leaves.iter().map(|leaf| found.get(leaf).expect("a gradient").clone());
        Ok([y.detach()].into_iter().chain(gradients).collect())
    }
}

/// How far results are from those that are wanted, in parts of the largest.
fn difference(got: &Tensor, want: &Tensor) -> Result<f64> {
    assert_eq!(got.dims(), want.dims());
    let (got, want) = (flat(got)?, flat(want)?);
    let size = want.iter().fold(0f64, |size, x| size.max(x.abs()));
    Ok(got.iter().zip(&want).fold(0f64, |most, (got, want)| most.max((got - want).abs())) / size)
}

#[test]
fn convolutions_and_their_gradients_are_those_of_the_cpu() -> Result<()> {
    host_driver::install();
    let gpu = opforge_cuda::device(0)?;
    assert!(opforge_cuda::cudnn_version().is_some_and(|[major, ..]| major >= 8));
    for (dtype, tolerance) in [(DType::F32, 5e-5), (DType::F64, 1e-12), (DType::F16, 1e-2), (DType::BF16, 3e-2)] {
        for case in &CASES {
            let before = made();
            let got = case.run(dtype, &gpu)?;
            let want = case.run(dtype, &Device::Cpu)?;
            for (i, (got, want)) in got.iter().zip(&want).enumerate() {
                let far = difference(got, want)?;
                assert!(far <= tolerance, "{} of {dtype:?}: result {i} differs by {far}", case.name);
            }
            if let (Some(before), Some(after)) = (before, made()) {
                assert_eq!(after - before, if case.by_library { 3 } else { 0 }, "{}", case.name);
            }
        }
    }
    vectors_have_channels_last(&gpu)?;
    what_it_does_not_take_has_our_kernels(&gpu)?;
    gradients_of_sums_are_made_contiguous(&gpu)?;
    f32_is_computed_in_full_unless_tf32_is_allowed(&gpu)
}

/// Halves, and f32 where it may be TF32, as they lie: the result and the gradient of the weight read the input, which has channels last, that of the input reads
/// the result's gradient, which has not.
fn vectors_have_channels_last(gpu: &Device) -> Result<()> {
    for (dtype, tolerance, last) in [(DType::F32, 2e-3, 2), (DType::F64, 1e-12, 0), (DType::BF16, 3e-2, 2)] {
        for case in &CASES_OF_VECTORS {
            let want = case.run(dtype, &Device::Cpu)?;
            let before = of_channels_last();
            opforge_cuda::set_tf32_convolutions(true)?;
            let got = case.run(dtype, gpu)?;
            opforge_cuda::set_tf32_convolutions(false)?;
            for (i, (got, want)) in got.iter().zip(&want).enumerate() {
                let far = difference(got, want)?;
                assert!(far <= tolerance, "{} of {dtype:?}: result {i} differs by {far}", case.name);
            }
            if let (Some(before), Some(after)) = (before, of_channels_last()) {
                let last = if case.name.ends_with("contiguous") { 0 } else { last };
                assert_eq!(after - before, last, "{} of {dtype:?}", case.name);
            }
        }
    }
    Ok(())
}

/// Padding of one side more than of the other.
fn what_it_does_not_take_has_our_kernels(gpu: &Device) -> Result<()> {
    let before = made();
    let [got, want] = [gpu, &Device::Cpu].map(|device| -> Result<Tensor> {
        let (x, w) = (numbers(&[2, 8, 80], DType::F32, device)?, numbers(&[12, 8, 4], DType::F32, device)?);
        f::conv1d_named_padding(&x, &w, None, &[1], "same", &[1], 1)
    });
    assert!(difference(&got?, &want?)? < 5e-5);
    assert_eq!(made(), before);
    Ok(())
}

/// The gradient of a sum is one number, which every position reads.
fn gradients_of_sums_are_made_contiguous(gpu: &Device) -> Result<()> {
    let [got, want] = [gpu, &Device::Cpu].map(|device| -> Result<Tensor> {
        let (x, w) = (numbers(PLAIN.x, DType::F32, device)?, numbers(PLAIN.w, DType::F32, device)?);
        x.set_requires_grad(true)?;
        let found = f::conv2d(&x, &w, None, &[1], &[1], &[1], 1)?.sum_all()?.backward()?;
        Ok(found.get(&x).expect("a gradient").clone())
    });
    assert!(difference(&got?, &want?)? < 5e-5);
    Ok(())
}

fn f32_is_computed_in_full_unless_tf32_is_allowed(gpu: &Device) -> Result<()> {
    let want = PLAIN.run(DType::F64, &Device::Cpu)?;
    let far = || -> Result<f64> { difference(&PLAIN.run(DType::F32, gpu)?[0], &want[0]) };
    assert!(!opforge_cuda::tf32_convolutions() && far()? < 5e-5);
    opforge_cuda::set_tf32_convolutions(true)?;
    let reduced = far()?;
    opforge_cuda::set_tf32_convolutions(false)?;
    // A GPU may have no units for TF32.
    assert!(reduced < 2e-3 && (made().is_none() || reduced > 5e-5), "{reduced}");
    assert!(far()? < 5e-5);
    Ok(())
}
