# Written by `make generate` from the declared functions; do not edit.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, misc"
import builtins
from ._core import ArgumentError as ArgumentError
from ._core import AutogradError as AutogradError
from ._tensors.typed import BFloat16Tensor
from ._tensors.typed import BoolTensor
from ._tensors.typed import ByteTensor
from ._tensors.typed import CharTensor
from .custom.operator import CustomOp as CustomOp
from ._core import CustomOpError as CustomOpError
from ._core import DTypeError as DTypeError
from ._core import DeviceError as DeviceError
from ._tensors.typed import DoubleTensor
from ._absent.accelerators import Event
from ._tensors.typed import FloatTensor
from ._core import FormatError as FormatError
from .futures import Future as Future
from ._core import Generator as Generator
from ._core import GradFn as GradFn
from ._tensors.typed import HalfTensor
from ._core import IndexError as IndexError
from ._tensors.typed import IntTensor
from ._core import KernelError as KernelError
from ._tensors.typed import LongTensor
from ._core import OpforgeError as OpforgeError
from ._core import OutOfMemoryError as OutOfMemoryError
from ._absent import PyTorchFileReader as PyTorchFileReader
from ._absent import PyTorchFileWriter as PyTorchFileWriter
from ._core import RemovableHandle as RemovableHandle
from .jit import ScriptModule as ScriptModule
from ._core import ShapeError as ShapeError
from ._tensors.typed import ShortTensor
from ._tensors.size import Size
from ._absent.accelerators import Stream
from ._core import Tensor as Tensor
from ._absent import TypedStorage as TypedStorage
from ._core import UnsupportedError as UnsupportedError
from ._core import UntypedStorage as UntypedStorage
from ._core import __version__ as __version__
from ._core import abs as abs
from ._core import absolute as absolute
from . import accelerator as accelerator
from ._core import acos as acos
from ._core import acosh as acosh
from ._core import adaptive_avg_pool1d as adaptive_avg_pool1d
from ._core import adaptive_max_pool1d as adaptive_max_pool1d
from ._core import add as add
from ._core import addbmm as addbmm
from ._core import addcdiv as addcdiv
from ._core import addcmul as addcmul
from ._core import addmm as addmm
from ._core import addmv as addmv
from ._core import addr as addr
from ._core import adjoint as adjoint
from ._functional.layers import affine_grid_generator as affine_grid_generator
from ._functional.copies import alias_copy as alias_copy
from ._core import all as all
from ._core import allclose as allclose
from ._core import alpha_dropout as alpha_dropout
from ._functional.layers import alpha_dropout_ as alpha_dropout_
from ._core import amax as amax
from ._core import amin as amin
from ._core import aminmax as aminmax
from . import amp as amp
from ._core import angle as angle
from ._core import any as any
from . import ao as ao
from ._core import arange as arange
from ._core import arccos as arccos
from ._core import arccosh as arccosh
from ._core import arcsin as arcsin
from ._core import arcsinh as arcsinh
from ._core import arctan as arctan
from ._core import arctan2 as arctan2
from ._core import arctanh as arctanh
from ._settings import are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled
from ._core import argmax as argmax
from ._core import argmin as argmin
from ._core import argsort as argsort
from ._core import argwhere as argwhere
from . import array_api as array_api
from ._core import as_strided as as_strided
from ._functional.copies import as_strided_copy as as_strided_copy
from ._functional.copies import as_strided_scatter as as_strided_scatter
from ._core import as_tensor as as_tensor
from . import as_torch as as_torch
from ._core import asarray as asarray
from ._core import asin as asin
from ._core import asinh as asinh
from ._core import atan as atan
from ._core import atan2 as atan2
from ._core import atanh as atanh
from ._core import atleast_1d as atleast_1d
from ._core import atleast_2d as atleast_2d
from ._core import atleast_3d as atleast_3d
from .amp.autocast_mode import autocast as autocast
from .amp.autocast_mode import autocast_decrement_nesting as autocast_decrement_nesting
from .amp.autocast_mode import autocast_increment_nesting as autocast_increment_nesting
from . import autograd as autograd
from ._core import avg_pool1d as avg_pool1d
from . import backends as backends
from ._core import baddbmm as baddbmm
from ._calls.functions import bartlett_window
from ._functional.layers import batch_norm as batch_norm
from ._core import bernoulli as bernoulli
from ._core import bfloat16 as bfloat16
from ._functional.layers import bilinear as bilinear
from ._functional.layers import binary_cross_entropy_with_logits as binary_cross_entropy_with_logits
from ._core import bincount as bincount
from .distributions._rejection import binomial as binomial
from ._core import bitwise_and as bitwise_and
from ._core import bitwise_left_shift as bitwise_left_shift
from ._core import bitwise_not as bitwise_not
from ._core import bitwise_or as bitwise_or
from ._core import bitwise_right_shift as bitwise_right_shift
from ._core import bitwise_xor as bitwise_xor
from ._calls.functions import blackman_window
from ._core import block_diag as block_diag
from ._core import bmm as bmm
from ._core import bool as bool
from ._calls.functions import broadcast_shapes
from ._core import broadcast_tensors as broadcast_tensors
from ._core import broadcast_to as broadcast_to
from ._core import bucketize as bucketize
from ._core import byte as byte
from ._core import can_cast as can_cast
from ._core import cartesian_prod as cartesian_prod
from ._core import cat as cat
from ._core import cdist as cdist
from ._core import cdouble as cdouble
from ._core import ceil as ceil
from ._core import celu as celu
from .nn.functional import celu_ as celu_
from ._core import cfloat as cfloat
from ._core import chain_matmul as chain_matmul
from ._core import channel_shuffle as channel_shuffle
from ._core import char as char
from .custom.checker import check as check
from ._core import cholesky as cholesky
from ._core import cholesky_inverse as cholesky_inverse
from ._core import cholesky_solve as cholesky_solve
from ._core import chunk as chunk
from ._core import clamp as clamp
from ._core import clamp_max as clamp_max
from ._core import clamp_min as clamp_min
from .amp.autocast_mode import clear_autocast_cache as clear_autocast_cache
from ._core import clip as clip
from ._core import clone as clone
from ._core import column_stack as column_stack
from ._core import combinations as combinations
from .graph._compile import compile as compile
from . import compiler as compiler
from ._core import complex as complex
from ._core import complex128 as complex128
from ._core import complex64 as complex64
from ._core import concat as concat
from ._core import concatenate as concatenate
from ._functional.control import cond as cond
from ._core import conj as conj
from ._core import conj_physical as conj_physical
from ._functional.memory import conj_physical_ as conj_physical_
from ._functional.layers import constant_pad_nd as constant_pad_nd
from ._core import conv1d as conv1d
from ._core import conv2d as conv2d
from ._core import conv3d as conv3d
from ._functional.layers import conv_tbc as conv_tbc
from ._core import conv_transpose1d as conv_transpose1d
from ._core import conv_transpose2d as conv_transpose2d
from ._core import conv_transpose3d as conv_transpose3d
from ._core import convolution as convolution
from ._core import copysign as copysign
from ._core import corrcoef as corrcoef
from ._core import cos as cos
from ._core import cosh as cosh
from ._functional.layers import cosine_embedding_loss as cosine_embedding_loss
from ._core import cosine_similarity as cosine_similarity
from ._core import count_nonzero as count_nonzero
from ._core import cov as cov
from . import cpu as cpu
from ._core import cross as cross
from ._functional.layers import ctc_loss as ctc_loss
from . import cuda as cuda
from ._core import cummax as cummax
from ._core import cummin as cummin
from ._core import cumprod as cumprod
from ._core import cumsum as cumsum
from ._core import cumulative_trapezoid as cumulative_trapezoid
from . import custom as custom
from .custom.operator import custom_op as custom_op
from ._core import default_generator as default_generator
from ._core import deg2rad as deg2rad
from ._core import det as det
from ._functional.copies import detach_copy as detach_copy
from ._core import device as device
from ._core import diag as diag
from ._core import diag_embed as diag_embed
from ._core import diagflat as diagflat
from ._core import diagonal as diagonal
from ._functional.copies import diagonal_copy as diagonal_copy
from ._core import diagonal_scatter as diagonal_scatter
from ._core import diff as diff
from ._core import digamma as digamma
from ._core import dist as dist
from . import distributed as distributed
from . import distributions as distributions
from ._core import div as div
from ._core import divide as divide
from ._core import dot as dot
from ._core import double as double
from ._core import dropout as dropout
from ._functional.layers import dropout_ as dropout_
from ._core import dsplit as dsplit
from ._core import dstack as dstack
from ._core import dtype as dtype
from ._core import e as e
from ._core import einsum as einsum
from ._functional.layers import embedding as embedding
from ._functional.layers import embedding_renorm_ as embedding_renorm_
from ._core import empty as empty
from ._core import empty_cache as empty_cache
from ._core import empty_like as empty_like
from ._functional.memory import empty_permuted as empty_permuted
from ._core import empty_strided as empty_strided
from .autograd.grad_mode import enable_grad as enable_grad
from ._core import eq as eq
from ._core import equal as equal
from ._core import erf as erf
from ._core import erfc as erfc
from ._core import erfinv as erfinv
from ._core import exp as exp
from ._core import exp2 as exp2
from ._functional.copies import expand_copy as expand_copy
from ._core import expm1 as expm1
from . import export as export
from ._core import eye as eye
from ._core import feature_alpha_dropout as feature_alpha_dropout
from ._functional.layers import feature_alpha_dropout_ as feature_alpha_dropout_
from ._core import feature_dropout as feature_dropout
from ._functional.layers import feature_dropout_ as feature_dropout_
from . import fft as fft
from ._functional.memory import fill as fill
from ._core import finfo as finfo
from ._core import fix as fix
from ._core import flatten as flatten
from ._core import flip as flip
from ._core import fliplr as fliplr
from ._core import flipud as flipud
from ._core import float as float
from ._core import float16 as float16
from ._core import float32 as float32
from ._core import float64 as float64
from ._core import float_power as float_power
from ._core import floor as floor
from ._core import floor_divide as floor_divide
from ._core import fmax as fmax
from ._core import fmin as fmin
from ._core import fmod as fmod
from .random import fork_rng as fork_rng
from ._core import frac as frac
from ._core import frexp as frexp
from ._functional.layers import frobenius_norm as frobenius_norm
from ._core import from_dlpack as from_dlpack
from ._calls.functions import from_file
from ._core import from_numpy as from_numpy
from ._core import frombuffer as frombuffer
from ._core import full as full
from ._core import full_like as full_like
from . import func as func
from . import functional as functional
from . import futures as futures
from . import fx as fx
from ._core import gather as gather
from ._core import gcd as gcd
from ._core import ge as ge
from ._functional.factors import geqrf as geqrf
from ._core import ger as ger
from .amp._older import get_autocast_cpu_dtype as get_autocast_cpu_dtype
from .amp.autocast_mode import get_autocast_dtype as get_autocast_dtype
from .amp._older import get_autocast_gpu_dtype as get_autocast_gpu_dtype
from ._core import get_default_device as get_default_device
from ._core import get_default_dtype as get_default_dtype
from ._settings import get_deterministic_debug_mode as get_deterministic_debug_mode
from ._functional.memory import get_device as get_device
from ._settings import get_device_module as get_device_module
from ._settings import get_float32_matmul_precision as get_float32_matmul_precision
from ._settings import get_num_interop_threads as get_num_interop_threads
from ._core import get_num_threads as get_num_threads
from ._core import get_printoptions as get_printoptions
from ._core import get_rng_state as get_rng_state
from ._core import gradient as gradient
from . import graph as graph
from ._core import greater as greater
from ._core import greater_equal as greater_equal
from ._functional.layers import grid_sampler as grid_sampler
from ._functional.layers import grid_sampler as grid_sampler_2d
from ._functional.layers import grid_sampler as grid_sampler_3d
from ._functional.layers import group_norm as group_norm
from ._core import gru as gru
from ._core import gru_cell as gru_cell
from ._core import gt as gt
from ._core import half as half
from ._calls.functions import hamming_window
from ._calls.functions import hann_window
from ._core import hardshrink as hardshrink
from ._calls.functions import hash_tensor
from ._core import heaviside as heaviside
from ._functional.layers import hinge_embedding_loss as hinge_embedding_loss
from ._core import histc as histc
from ._core import histogram as histogram
from ._calls.functions import histogramdd
from ._core import hsplit as hsplit
from ._core import hstack as hstack
from . import hub as hub
from ._core import hypot as hypot
from ._core import i0 as i0
from ._core import igamma as igamma
from ._core import igammac as igammac
from ._core import iinfo as iinfo
from ._core import imag as imag
from ._core import include_dir as include_dir
from ._core import index_add as index_add
from ._core import index_copy as index_copy
from ._core import index_fill as index_fill
from ._core import index_put as index_put
from ._core import index_reduce as index_reduce
from ._core import index_select as index_select
from ._core import inf as inf
from .autograd.grad_mode import inference_mode as inference_mode
from ._core import initial_seed as initial_seed
from ._core import inner as inner
from ._functional.layers import instance_norm as instance_norm
from ._core import int as int
from ._core import int16 as int16
from ._core import int32 as int32
from ._core import int64 as int64
from ._core import int8 as int8
from ._core import inverse as inverse
from .autograd.anomaly_mode import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from .autograd.anomaly_mode import is_anomaly_enabled as is_anomaly_enabled
from .amp.autocast_mode import is_autocast_cache_enabled as is_autocast_cache_enabled
from .amp._older import is_autocast_cpu_enabled as is_autocast_cpu_enabled
from .amp.autocast_mode import is_autocast_enabled as is_autocast_enabled
from ._core import is_complex as is_complex
from ._functional.memory import is_conj as is_conj
from ._settings import is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled
from ._functional.memory import is_distributed as is_distributed
from ._core import is_floating_point as is_floating_point
from ._core import is_fusing as is_fusing
from ._core import is_grad_enabled as is_grad_enabled
from ._functional.memory import is_inference as is_inference
from ._functional.memory import is_neg as is_neg
from ._core import is_nonzero as is_nonzero
from ._calls.functions import is_same_size
from ._functional.memory import is_signed as is_signed
from ._core import is_storage as is_storage
from ._core import is_tensor as is_tensor
from ._settings import is_warn_always_enabled as is_warn_always_enabled
from ._core import isclose as isclose
from ._core import isfinite as isfinite
from ._core import isin as isin
from ._core import isinf as isinf
from ._core import isnan as isnan
from ._core import isneginf as isneginf
from ._core import isposinf as isposinf
from ._core import isreal as isreal
from ._core import istft as istft
from . import jit as jit
from ._calls.functions import kaiser_window
from ._functional.layers import kl_div as kl_div
from ._core import kron as kron
from ._core import kthvalue as kthvalue
from ._core import layer_norm as layer_norm
from ._tensors.layouts import layout
from ._core import lcm as lcm
from ._core import ldexp as ldexp
from ._core import le as le
from ._core import lerp as lerp
from ._core import less as less
from ._core import less_equal as less_equal
from ._core import lgamma as lgamma
from . import library as library
from . import linalg as linalg
from ._core import linspace as linspace
from .serialization import load as load
from .custom.inline import load_inline as load_inline
from ._core import log as log
from ._core import log10 as log10
from ._core import log1p as log1p
from ._core import log2 as log2
from ._core import log_softmax as log_softmax
from ._core import logaddexp as logaddexp
from ._core import logaddexp2 as logaddexp2
from ._core import logcumsumexp as logcumsumexp
from ._core import logdet as logdet
from ._core import logical_and as logical_and
from ._core import logical_not as logical_not
from ._core import logical_or as logical_or
from ._core import logical_xor as logical_xor
from ._core import logit as logit
from ._core import logspace as logspace
from ._core import logsumexp as logsumexp
from ._core import long as long
from ._core import lstm as lstm
from ._core import lstm_cell as lstm_cell
from ._core import lt as lt
from ._calls.functions import lu
from ._core import lu_solve as lu_solve
from ._core import lu_unpack as lu_unpack
from .random import manual_seed as manual_seed
from ._functional.layers import margin_ranking_loss as margin_ranking_loss
from . import masked as masked
from ._core import masked_fill as masked_fill
from ._core import masked_scatter as masked_scatter
from ._core import masked_select as masked_select
from ._core import matmul as matmul
from ._core import matrix_exp as matrix_exp
from ._core import matrix_power as matrix_power
from ._core import max as max
from ._core import max_memory_allocated as max_memory_allocated
from ._core import max_pool1d as max_pool1d
from ._core import max_pool1d_with_indices as max_pool1d_with_indices
from ._core import max_pool2d as max_pool2d
from ._core import max_pool3d as max_pool3d
from ._core import maximum as maximum
from ._core import mean as mean
from ._core import median as median
from ._core import memory_allocated as memory_allocated
from ._tensors.layouts import memory_format
from ._core import memory_reserved as memory_reserved
from ._core import memory_stats as memory_stats
from ._core import meshgrid as meshgrid
from ._core import min as min
from . import mindspore as mindspore
from ._core import minimum as minimum
from ._core import mm as mm
from ._core import mode as mode
from ._core import moveaxis as moveaxis
from ._core import movedim as movedim
from . import mps as mps
from ._core import msort as msort
from ._core import mul as mul
from ._core import multinomial as multinomial
from ._core import multiply as multiply
from . import multiprocessing as multiprocessing
from ._core import mv as mv
from ._core import mvlgamma as mvlgamma
from ._core import nan as nan
from ._core import nan_to_num as nan_to_num
from ._core import nanmean as nanmean
from ._core import nanmedian as nanmedian
from ._core import nanquantile as nanquantile
from ._core import nansum as nansum
from ._core import narrow as narrow
from ._core import narrow_copy as narrow_copy
from ._functional.layers import native_batch_norm as native_batch_norm
from ._functional.layers import native_channel_shuffle as native_channel_shuffle
from ._functional.layers import native_dropout as native_dropout
from ._functional.layers import native_group_norm as native_group_norm
from ._functional.layers import native_layer_norm as native_layer_norm
from ._core import ne as ne
from ._core import neg as neg
from ._core import negative as negative
from . import nested as nested
from ._core import nextafter as nextafter
from . import nn as nn
from .autograd.grad_mode import no_grad as no_grad
from ._core import nonzero as nonzero
from ._functional.memory import nonzero_static as nonzero_static
from ._core import norm as norm
from ._functional.layers import norm_except_dim as norm_except_dim
from ._core import normal as normal
from ._core import not_equal as not_equal
from ._functional.layers import nuclear_norm as nuclear_norm
from ._core import numel as numel
from ._core import ones as ones
from ._core import ones_like as ones_like
from . import onnx as onnx
from . import ops as ops
from . import optim as optim
from ._core import orgqr as orgqr
from ._functional.factors import ormqr as ormqr
from ._core import outer as outer
from . import overrides as overrides
from ._core import pairwise_distance as pairwise_distance
from ._calls.functions import pca_lowrank
from ._core import pdist as pdist
from ._core import permute as permute
from ._functional.copies import permute_copy as permute_copy
from ._core import pi as pi
from ._core import pinverse as pinverse
from ._core import pixel_shuffle as pixel_shuffle
from ._core import pixel_unshuffle as pixel_unshuffle
from ._core import poisson as poisson
from ._functional.layers import poisson_nll_loss as poisson_nll_loss
from ._core import polar as polar
from ._core import polygamma as polygamma
from ._core import positive as positive
from ._core import pow as pow
from ._core import prelu as prelu
from ._core import prod as prod
from . import profiler as profiler
from ._core import promote_types as promote_types
from ._functional.memory import put as put
from ._core import qr as qr
from ._core import quantile as quantile
from . import quantization as quantization
from . import quasirandom as quasirandom
from ._core import rad2deg as rad2deg
from ._core import rand as rand
from ._core import rand_like as rand_like
from ._core import randint as randint
from ._core import randint_like as randint_like
from ._core import randn as randn
from ._core import randn_like as randn_like
from . import random as random
from ._core import randperm as randperm
from ._functional.memory import range as range
from ._core import ravel as ravel
from ._core import real as real
from ._core import reciprocal as reciprocal
from ._core import relu as relu
from ._core import remainder as remainder
from ._core import renorm as renorm
from ._core import repeat_interleave as repeat_interleave
from ._core import reset_peak_memory_stats as reset_peak_memory_stats
from ._core import reshape as reshape
from ._functional.memory import resize_as_ as resize_as_
from ._core import resolve_conj as resolve_conj
from ._core import resolve_neg as resolve_neg
from ._core import result_type as result_type
from . import return_types as return_types
from ._core import rms_norm as rms_norm
from ._core import rnn_relu as rnn_relu
from ._core import rnn_relu_cell as rnn_relu_cell
from ._core import rnn_tanh as rnn_tanh
from ._core import rnn_tanh_cell as rnn_tanh_cell
from ._core import roll as roll
from ._core import rot90 as rot90
from ._core import round as round
from ._core import row_stack as row_stack
from ._functional.layers import rrelu as rrelu
from ._functional.layers import rrelu_ as rrelu_
from ._core import rsqrt as rsqrt
from ._core import rsub as rsub
from .serialization import save as save
from ._calls.functions import scalar_tensor
from ._core import scatter as scatter
from ._core import scatter_add as scatter_add
from ._core import scatter_reduce as scatter_reduce
from ._core import searchsorted as searchsorted
from .random import seed as seed
from ._core import segment_reduce as segment_reduce
from ._core import select as select
from ._functional.copies import select_copy as select_copy
from ._core import select_scatter as select_scatter
from ._core import selu as selu
from .nn.functional import selu_ as selu_
from . import serialization as serialization
from .autograd.anomaly_mode import set_anomaly_enabled as set_anomaly_enabled
from .amp.autocast_mode import set_autocast_cache_enabled as set_autocast_cache_enabled
from .amp._older import set_autocast_cpu_dtype as set_autocast_cpu_dtype
from .amp._older import set_autocast_cpu_enabled as set_autocast_cpu_enabled
from .amp.autocast_mode import set_autocast_dtype as set_autocast_dtype
from .amp.autocast_mode import set_autocast_enabled as set_autocast_enabled
from .amp._older import set_autocast_gpu_dtype as set_autocast_gpu_dtype
from ._core import set_default_device as set_default_device
from ._core import set_default_dtype as set_default_dtype
from ._tensors.typed import set_default_tensor_type
from ._settings import set_deterministic_debug_mode as set_deterministic_debug_mode
from ._settings import set_float32_matmul_precision as set_float32_matmul_precision
from ._settings import set_flush_denormal as set_flush_denormal
from ._core import set_fusing as set_fusing
from .autograd.grad_mode import set_grad_enabled as set_grad_enabled
from ._core import set_memory_limit as set_memory_limit
from ._settings import set_num_interop_threads as set_num_interop_threads
from ._core import set_num_threads as set_num_threads
from ._core import set_printoptions as set_printoptions
from .random import set_rng_state as set_rng_state
from ._settings import set_warn_always as set_warn_always
from ._core import sgn as sgn
from ._core import short as short
from ._core import sigmoid as sigmoid
from ._core import sign as sign
from . import signal as signal
from ._core import signbit as signbit
from ._core import sin as sin
from ._core import sinc as sinc
from ._core import sinh as sinh
from ._functional.copies import slice_copy as slice_copy
from ._functional.copies import slice_inverse as slice_inverse
from ._core import slice_scatter as slice_scatter
from ._core import slogdet as slogdet
from ._core import softmax as softmax
from ._core import sort as sort
from . import sparse as sparse
from .sparse._build import sparse_compressed_tensor as sparse_compressed_tensor
from .sparse._build import sparse_coo_tensor as sparse_coo_tensor
from .sparse._build import sparse_csc_tensor as sparse_csc_tensor
from .sparse._build import sparse_csr_tensor as sparse_csr_tensor
from . import special as special
from ._core import split as split
from ._functional.copies import split_copy as split_copy
from ._core import split_with_sizes as split_with_sizes
from ._functional.copies import split_with_sizes_copy as split_with_sizes_copy
from ._core import sqrt as sqrt
from ._core import square as square
from ._core import squeeze as squeeze
from ._functional.copies import squeeze_copy as squeeze_copy
from ._core import stack as stack
from ._core import std as std
from ._core import std_mean as std_mean
from ._core import stft as stft
from . import storage as storage
from ._core import sub as sub
from ._core import subtract as subtract
from ._core import sum as sum
from ._core import svd as svd
from ._calls.functions import svd_lowrank
from ._core import swapaxes as swapaxes
from ._core import swapdims as swapdims
from ._assertions import sym_int as sym_int
from ._assertions import sym_ite as sym_ite
from ._assertions import sym_not as sym_not
from ._core import synchronize as synchronize
from ._core import t as t
from ._functional.copies import t_copy as t_copy
from ._core import take as take
from ._core import take_along_dim as take_along_dim
from ._core import tan as tan
from ._core import tanh as tanh
from ._core import tensor as tensor
from ._core import tensor_split as tensor_split
from ._calls.functions import tensordot
from . import testing as testing
from ._core import threshold as threshold
from .nn.functional import threshold_ as threshold_
from ._core import tile as tile
from ._core import topk as topk
from . import torch_version as torch_version
from ._core import trace as trace
from ._core import transpose as transpose
from ._functional.copies import transpose_copy as transpose_copy
from ._core import trapezoid as trapezoid
from ._core import trapz as trapz
from ._functional.memory import triangular_solve as triangular_solve
from ._core import tril as tril
from ._core import tril_indices as tril_indices
from ._functional.layers import triplet_margin_loss as triplet_margin_loss
from ._core import triu as triu
from ._core import triu_indices as triu_indices
from ._core import true_divide as true_divide
from ._core import trunc as trunc
from ._tensors.typed import typename
from . import types as types
from ._core import uint16 as uint16
from ._core import uint32 as uint32
from ._core import uint64 as uint64
from ._core import uint8 as uint8
from ._core import unbind as unbind
from ._functional.copies import unbind_copy as unbind_copy
from ._core import unflatten as unflatten
from ._functional.copies import unfold_copy as unfold_copy
from ._core import unique as unique
from ._core import unique_consecutive as unique_consecutive
from ._core import unravel_index as unravel_index
from ._functional.copies import unsafe_chunk as unsafe_chunk
from ._functional.copies import unsafe_split as unsafe_split
from ._functional.copies import unsafe_split_with_sizes as unsafe_split_with_sizes
from ._core import unsqueeze as unsqueeze
from ._functional.copies import unsqueeze_copy as unsqueeze_copy
from ._settings import use_deterministic_algorithms as use_deterministic_algorithms
from . import utils as utils
from ._core import vander as vander
from ._core import var as var
from ._core import var_mean as var_mean
from ._core import vdot as vdot
from . import version as version
from ._core import view_as_complex as view_as_complex
from ._functional.copies import view_as_complex_copy as view_as_complex_copy
from ._core import view_as_real as view_as_real
from ._functional.copies import view_as_real_copy as view_as_real_copy
from ._functional.copies import view_copy as view_copy
from .func._vmap import vmap as vmap
from ._core import vsplit as vsplit
from ._core import vstack as vstack
from ._core import where as where
from ._functional.control import while_loop as while_loop
from ._core import xlogy as xlogy
from . import xpu as xpu
from ._core import zeros as zeros
from ._core import zeros_like as zeros_like

abs_ = Tensor.abs_
acos_ = Tensor.acos_
acosh_ = Tensor.acosh_
addmv_ = Tensor.addmv_
arccos_ = Tensor.arccos_
arccosh_ = Tensor.arccosh_
arcsin_ = Tensor.arcsin_
arcsinh_ = Tensor.arcsinh_
arctan_ = Tensor.arctan_
arctanh_ = Tensor.arctanh_
asin_ = Tensor.asin_
asinh_ = Tensor.asinh_
atan_ = Tensor.atan_
atanh_ = Tensor.atanh_
ceil_ = Tensor.ceil_
clamp_ = Tensor.clamp_
clamp_max_ = Tensor.clamp_max_
clamp_min_ = Tensor.clamp_min_
clip_ = Tensor.clip_
cos_ = Tensor.cos_
cosh_ = Tensor.cosh_
deg2rad_ = Tensor.deg2rad_
detach = Tensor.detach
detach_ = Tensor.detach_
erf_ = Tensor.erf_
erfc_ = Tensor.erfc_
exp2_ = Tensor.exp2_
exp_ = Tensor.exp_
expm1_ = Tensor.expm1_
fill_ = Tensor.fill_
fix_ = Tensor.fix_
floor_ = Tensor.floor_
frac_ = Tensor.frac_
gcd_ = Tensor.gcd_
i0_ = Tensor.i0_
index_put_ = Tensor.index_put_
lcm_ = Tensor.lcm_
ldexp_ = Tensor.ldexp_
log10_ = Tensor.log10_
log1p_ = Tensor.log1p_
log2_ = Tensor.log2_
log_ = Tensor.log_
logit_ = Tensor.logit_
nan_to_num_ = Tensor.nan_to_num_
neg_ = Tensor.neg_
negative_ = Tensor.negative_
newaxis: None
rad2deg_ = Tensor.rad2deg_
reciprocal_ = Tensor.reciprocal_
relu_ = Tensor.relu_
round_ = Tensor.round_
rsqrt_ = Tensor.rsqrt_
sigmoid_ = Tensor.sigmoid_
sin_ = Tensor.sin_
sinc_ = Tensor.sinc_
sinh_ = Tensor.sinh_
sqrt_ = Tensor.sqrt_
square_ = Tensor.square_
tan_ = Tensor.tan_
tanh_ = Tensor.tanh_
trunc_ = Tensor.trunc_
xlogy_ = Tensor.xlogy_
zero_ = Tensor.zero_
