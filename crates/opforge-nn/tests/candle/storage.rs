//! Programs that work on candle's storages: custom operators, devices, kernels for every dtype.

use candle::backend::{BackendDevice, BackendStorage};
use candle::cpu_backend::{CpuDevice, Map1, Map2, Map2U8, binary_map_vec, unary_map_vec};
use candle::op::{BackpropOp, CmpOp, ReduceOp};
use candle::{
    CpuStorage, CpuStorageRef, CustomOp1, DType, Device, InplaceOp1, Layout, Result, Shape, Storage, Tensor, WithDType,
};
use opforge as candle;

const CPU: &Device = &Device::Cpu;

/// Twice each element, generic over dtypes as candle-nn's operators are.
struct Twice;

impl Map1 for Twice {
    fn f<T: WithDType>(&self, values: &[T], layout: &Layout) -> Result<Vec<T>> {
        Ok(layout.strided_index().map(|i| values[i] + values[i]).collect())
    }
}

impl CustomOp1 for Twice {
    fn name(&self) -> &'static str {
        "twice"
    }
    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        Ok((self.map(storage, layout)?, layout.shape().clone()))
    }
    // As programs for candle's GPUs have it; this build never calls it.
    fn cuda_fwd(&self, _: &candle::CudaStorage, _: &Layout) -> Result<(candle::CudaStorage, Shape)> {
        candle::bail!("not there")
    }
}

#[test]
fn one_kernel_serves_every_dtype() -> Result<()> {
    let x = Tensor::new(&[[1u8, 2], [3, 4]], CPU)?;
    for dtype in [DType::U8, DType::I64, DType::BF16, DType::F64] {
        let doubled = x.to_dtype(dtype)?.t()?.apply_op1(Twice)?;
        assert_eq!(doubled.dtype(), dtype);
        assert_eq!(doubled.to_dtype(DType::F32)?.to_vec2::<f32>()?, [[2.0, 6.0], [4.0, 8.0]]);
    }
    assert!(matches!(
        x.to_dtype(DType::Bool)?.apply_op1_no_bwd(&Twice).unwrap_err().root(),
        candle::Error::UnsupportedDTypeForOp(..)
    ));
    Ok(())
}

/// Sums along rows, as programs read a tensor without an operator.
fn row_sums(x: &Tensor) -> Result<Vec<f32>> {
    let (storage, layout) = x.storage_and_layout();
    let storage = match &*storage {
        Storage::Cpu(storage) => storage,
        Storage::Cuda(_) | Storage::Metal(_) => candle::bail!("not on the CPU"),
        other => candle::bail!("{other:?}"),
    };
    let values = storage.as_slice::<f32>()?;
    let columns = layout.dims()[1];
    let places: Vec<usize> = layout.strided_index().collect();
    Ok(places.chunks(columns).map(|row| row.iter().map(|&i| values[i]).sum()).collect())
}

#[test]
fn tensors_are_read_by_storage_and_layout() -> Result<()> {
    let x = Tensor::arange(0f32, 12.0, CPU)?.reshape((3, 4))?;
    assert_eq!(row_sums(&x)?, [6.0, 22.0, 38.0]);
    assert_eq!(row_sums(&x.t()?.narrow(0, 1, 2)?)?, [3.0 * 0.0 + 15.0, 18.0]);
    assert_eq!(row_sums(&x.narrow(1, 1, 1)?.broadcast_as((3, 2))?)?, [2.0, 10.0, 18.0]);
    assert_eq!(row_sums(&x.narrow(0, 1, 0)?)?, [0f32; 0]);
    assert!(row_sums(&Tensor::zeros((1, 1), DType::F32, &Device::Meta)?).is_err());
    Ok(())
}

#[test]
fn tensors_are_made_of_storages() -> Result<()> {
    let storage = f32::to_cpu_storage_owned(vec![1.0, 2.0, 3.0, 4.0]);
    let x = Tensor::from_storage(Storage::Cpu(storage.clone()), (2, 2), BackpropOp::none(), false);
    assert_eq!(x.to_vec2::<f32>()?, [[1.0, 2.0], [3.0, 4.0]]);
    let w = Tensor::from_storage(Storage::Cpu(storage.clone()), 4, BackpropOp::none(), true);
    assert_eq!(w.sqr()?.backward()?.get(&w).unwrap().to_vec1::<f32>()?, [2.0, 4.0, 6.0, 8.0]);
    // What does not fit is told to whoever reads it.
    for shape in [Shape::from(5), Shape::from((usize::MAX, 2))] {
        let broken = Tensor::from_storage(Storage::Cpu(storage.clone()), shape, BackpropOp::none(), false);
        assert!(broken.flatten_all().and_then(|x| x.to_vec1::<f32>()).is_err());
    }
    Ok(())
}

#[test]
fn vectors_come_and_go() -> Result<()> {
    let storage = i64::to_cpu_storage(&[1, -2]);
    assert_eq!(i64::cpu_storage_as_slice(&storage)?, [1, -2]);
    assert!(f32::cpu_storage_as_slice(&storage).is_err());
    assert!(matches!(u8::cpu_storage_ref(&[1, 2]), CpuStorageRef::U8(&[1, 2])));
    assert_eq!(CpuStorage::concat(&[storage.clone(), i64::to_cpu_storage(&[3])])?, CpuStorage::I64(vec![1, -2, 3]));
    assert!(CpuStorage::concat(&[storage.clone(), f32::to_cpu_storage(&[3.0])]).is_err());
    assert_eq!(i64::cpu_storage_data(storage)?, [1, -2]);
    Ok(())
}

#[test]
fn storages_compute_without_tensors() -> Result<()> {
    let storage = CpuDevice.storage_from_slice(&[1f32, 2.0, 3.0, 4.0])?;
    let (rows, columns) = (Layout::contiguous((2, 2)), Layout::contiguous((2, 2)).transpose(0, 1)?);
    let f32s = |storage: CpuStorage| f32::cpu_storage_data(storage);
    assert_eq!(f32s(storage.affine(&columns, 2.0, 1.0)?)?, [3.0, 7.0, 5.0, 9.0]);
    assert_eq!(f32s(storage.reduce_op(ReduceOp::Sum, &rows, &[0])?)?, [4.0, 6.0]);
    assert_eq!(f32s(storage.reduce_op(ReduceOp::Max, &rows, &[0, 1])?)?, [4.0]);
    assert_eq!(u32::cpu_storage_data(storage.reduce_op(ReduceOp::ArgMin, &columns, &[1])?)?, [0, 0]);
    assert_eq!(u8::cpu_storage_data(storage.cmp(CmpOp::Lt, &storage, &rows, &columns)?)?, [0, 1, 0, 0]);
    assert_eq!(f32s(storage.matmul(&storage, (1, 2, 2, 2), &rows, &columns)?)?, [5.0, 11.0, 11.0, 25.0]);
    assert_eq!(f32s(storage.to_dtype(&columns, DType::I32)?.to_dtype(&rows, DType::F32)?)?, [1.0, 3.0, 2.0, 4.0]);
    let mut target = CpuDevice.zeros_impl(&6.into(), DType::F32)?;
    storage.copy_strided_src(&mut target, 2, &columns)?;
    assert_eq!(f32s(target.clone())?, [0.0, 0.0, 1.0, 3.0, 2.0, 4.0]);
    assert!(storage.copy_strided_src(&mut target, 3, &columns).is_err());
    target.const_set(7f32.into(), &Layout::contiguous_with_offset(2, 1))?;
    assert_eq!(f32s(target)?, [0.0, 7.0, 7.0, 3.0, 2.0, 4.0]);
    assert!(storage.affine(&Layout::contiguous(5), 1.0, 0.0).is_err(), "a layout beyond the storage");
    CpuDevice.set_seed(3)?;
    let drawn = CpuDevice.rand_uniform(&8.into(), DType::F32, 2.0, 3.0)?;
    assert!(f32s(drawn)?.iter().all(|v| (2.0..3.0).contains(v)));
    Ok(())
}

struct Difference;
impl Map2 for Difference {
    fn f<T: WithDType>(&self, v1: &[T], l1: &Layout, v2: &[T], l2: &Layout) -> Result<Vec<T>> {
        Ok(binary_map_vec(
            l1,
            l2,
            v1,
            v2,
            |a, b| a - b,
            |a, b, out| {
                out.iter_mut().zip(a.iter().zip(b)).for_each(|(out, (&a, &b))| *out = a - b);
            },
            |a, b, out| out.iter_mut().zip(b).for_each(|(out, &b)| *out = a - b),
        ))
    }
}
struct Above;
impl Map2U8 for Above {
    fn f<T: WithDType>(&self, v1: &[T], l1: &Layout, v2: &[T], l2: &Layout) -> Result<Vec<u8>> {
        Ok(l1.strided_index().zip(l2.strided_index()).map(|(i, j)| u8::from(v1[i] > v2[j])).collect())
    }
}

#[test]
fn kernels_of_two_arguments_take_any_layouts() -> Result<()> {
    let x = CpuStorage::from(vec![1i32, 2, 3, 4]);
    let rows = Layout::contiguous((2, 2));
    let repeated = Layout::contiguous((1, 1)).broadcast_as(&(2, 2).into(), "broadcast_as")?;
    assert_eq!(Difference.map(&x, &rows, &x, &rows)?, CpuStorage::I32(vec![0; 4]));
    assert_eq!(Difference.map(&x, &repeated, &x, &rows)?, CpuStorage::I32(vec![0, -1, -2, -3]));
    assert_eq!(Difference.map(&x, &rows.transpose(0, 1)?, &x, &rows)?, CpuStorage::I32(vec![0, 1, -1, 0]));
    assert_eq!(Difference.map(&x, &rows, &x, &rows.transpose(0, 1)?)?, CpuStorage::I32(vec![0, -1, 1, 0]));
    assert_eq!(Above.map(&x, &rows, &x, &repeated)?, CpuStorage::U8(vec![0, 1, 1, 1]));
    assert!(Difference.map(&x, &rows, &CpuStorage::from(vec![1f32; 4]), &rows).is_err());
    let squares = unary_map_vec(
        &[1u32, 2, 3],
        &Layout::contiguous(3),
        |v| v * v,
        |v, out| {
            out.iter_mut().zip(v).for_each(|(out, v)| *out = v * v);
        },
    );
    assert_eq!(squares, [1, 4, 9]);
    Ok(())
}

/// Negates in place, through the slice.
struct Negate;
impl InplaceOp1 for Negate {
    fn name(&self) -> &'static str {
        "negate"
    }
    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> Result<()> {
        let values = storage.as_mut_slice::<f32>()?;
        layout.strided_index().for_each(|i| values[i] = -values[i]);
        Ok(())
    }
}

#[test]
fn programs_choose_by_device() -> Result<()> {
    let x = Tensor::new(&[1f32, 2.0, 3.0], CPU)?;
    x.narrow(0, 1, 2)?.inplace_op1(&Negate)?;
    assert_eq!(x.to_vec1::<f32>()?, [1.0, -2.0, -3.0]);
    let kind = match x.device() {
        Device::Cpu => "cpu",
        Device::Cuda(_) => "cuda",
        Device::Metal(_) => "metal",
        _ => "another",
    };
    assert_eq!(kind, "cpu");
    assert!(x.device().as_cuda_device().is_err() && x.device().as_metal_device().is_err());
    assert!(Device::new_cuda_with_stream(0).is_err());
    assert_eq!(x.device().with_context(|| 3), 3);
    assert!(!candle::utils::cuda_is_available() && !candle::utils::metal_is_available());
    Ok(())
}

#[test]
fn programs_use_the_threads_of_kernels() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let pool = candle::utils::barrier_pool();
    candle::utils::init_global_threadpool();
    let (calls, sum) = (AtomicUsize::new(0), AtomicUsize::new(0));
    pool.execute(|_| {
        calls.fetch_add(1, Ordering::Relaxed);
    });
    pool.execute_chunked(1000, |range| {
        sum.fetch_add(range.sum(), Ordering::Relaxed);
    });
    assert_eq!((calls.into_inner(), sum.into_inner()), (pool.n_workers(), 499_500));
    assert_eq!(candle::utils::with_threadpool(|| 5), 5);
}

#[test]
fn operands_become_tensors() -> Result<()> {
    use candle::scalar::{TensorOrScalar, TensorScalar};
    let of = |operand: TensorScalar| match operand {
        TensorScalar::Tensor(t) => ("tensor", t),
        TensorScalar::Scalar(t) => ("scalar", t),
    };
    let (kind, three) = of(3f32.to_tensor_scalar()?);
    assert_eq!((kind, three.to_scalar::<f32>()?), ("scalar", 3.0));
    assert_eq!(of((&three).to_tensor_scalar()?).0, "tensor");
    Ok(())
}
