# Written by `make generate` from the declared functions; do not edit.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, misc"
from typing import Any
from .._core.nn import adaptive_avg_pool1d as adaptive_avg_pool1d
from .._core.nn import adaptive_avg_pool2d as adaptive_avg_pool2d
from .._core.nn import adaptive_avg_pool3d as adaptive_avg_pool3d
from .._core.nn import adaptive_max_pool1d as adaptive_max_pool1d
from .._core.nn import adaptive_max_pool2d as adaptive_max_pool2d
from .._core.nn import adaptive_max_pool3d as adaptive_max_pool3d
from .._core.nn import affine_grid as affine_grid
from .._core.nn import alpha_dropout as alpha_dropout
from .._core.nn import avg_pool1d as avg_pool1d
from .._core.nn import avg_pool2d as avg_pool2d
from .._core.nn import avg_pool3d as avg_pool3d
from .._core.nn import batch_norm as batch_norm
from .._core.nn import bilinear as bilinear
from .._core.nn import binary_cross_entropy as binary_cross_entropy
from .._core.nn import binary_cross_entropy_with_logits as binary_cross_entropy_with_logits
from .._core.nn import celu as celu
from .._core.nn import channel_shuffle as channel_shuffle
from .._core.nn import conv1d as conv1d
from .._core.nn import conv2d as conv2d
from .._core.nn import conv3d as conv3d
from .._core.nn import conv_transpose1d as conv_transpose1d
from .._core.nn import conv_transpose2d as conv_transpose2d
from .._core.nn import conv_transpose3d as conv_transpose3d
from .._core.nn import cosine_embedding_loss as cosine_embedding_loss
from .._core.nn import cosine_similarity as cosine_similarity
from .._core.nn import cross_entropy as cross_entropy
from .._core.nn import dropout as dropout
from .._core.nn import dropout1d as dropout1d
from .._core.nn import dropout2d as dropout2d
from .._core.nn import dropout3d as dropout3d
from .._core.nn import elu as elu
from .._core.nn import embedding as embedding
from .._core.nn import embedding_bag as embedding_bag
from .._core.nn import feature_alpha_dropout as feature_alpha_dropout
from .._core.nn import fold as fold
from .._core.nn import fractional_max_pool2d as fractional_max_pool2d
from .._core.nn import fractional_max_pool3d as fractional_max_pool3d
from .._core.nn import gaussian_nll_loss as gaussian_nll_loss
from .._core.nn import gelu as gelu
from .._core.nn import glu as glu
from .._core.nn import grid_sample as grid_sample
from .._core.nn import group_norm as group_norm
from .._core.nn import gumbel_softmax as gumbel_softmax
from .._core.nn import hardshrink as hardshrink
from .._core.nn import hardsigmoid as hardsigmoid
from .._core.nn import hardswish as hardswish
from .._core.nn import hardtanh as hardtanh
from .._core.nn import hinge_embedding_loss as hinge_embedding_loss
from .._core.nn import huber_loss as huber_loss
from .._core.nn import instance_norm as instance_norm
from .._core.nn import kl_div as kl_div
from .._core.nn import l1_loss as l1_loss
from .._core.nn import layer_norm as layer_norm
from .._core.nn import leaky_relu as leaky_relu
from .._core.nn import linear as linear
from .._core.nn import logsigmoid as logsigmoid
from .._core.nn import margin_ranking_loss as margin_ranking_loss
from .._core.nn import max_pool1d as max_pool1d
from .._core.nn import max_pool1d_with_indices as max_pool1d_with_indices
from .._core.nn import max_pool2d as max_pool2d
from .._core.nn import max_pool2d_with_indices as max_pool2d_with_indices
from .._core.nn import max_pool3d as max_pool3d
from .._core.nn import max_pool3d_with_indices as max_pool3d_with_indices
from .._core.nn import mish as mish
from .._core.nn import mse_loss as mse_loss
from .._core.nn import multi_margin_loss as multi_margin_loss
from .._core.nn import multilabel_margin_loss as multilabel_margin_loss
from .._core.nn import multilabel_soft_margin_loss as multilabel_soft_margin_loss
from .._core.nn import nll_loss as nll_loss
from .._core.nn import normalize as normalize
from .._core.nn import one_hot as one_hot
from .._core.nn import pad as pad
from .._core.nn import pairwise_distance as pairwise_distance
from .._core.nn import pdist as pdist
from .._core.nn import pixel_shuffle as pixel_shuffle
from .._core.nn import pixel_unshuffle as pixel_unshuffle
from .._core.nn import poisson_nll_loss as poisson_nll_loss
from .._core.nn import prelu as prelu
from .._core.nn import relu as relu
from .._core.nn import relu6 as relu6
from .._core.nn import rms_norm as rms_norm
from .._core.nn import scaled_dot_product_attention as scaled_dot_product_attention
from .._core.nn import selu as selu
from .._core.nn import sigmoid as sigmoid
from .._core.nn import silu as silu
from .._core.nn import smooth_l1_loss as smooth_l1_loss
from .._core.nn import soft_margin_loss as soft_margin_loss
from .._core.nn import softplus as softplus
from .._core.nn import softshrink as softshrink
from .._core.nn import softsign as softsign
from .._core.nn import tanh as tanh
from .._core.nn import tanhshrink as tanhshrink
from .._core.nn import threshold as threshold
from .._core.nn import triplet_margin_loss as triplet_margin_loss
from .._core.nn import unfold as unfold

def rrelu(input: Any, lower: Any=1.0 / 8, upper: Any=1.0 / 3, training: Any=False, inplace: Any=False) -> Any: ...
def rrelu_(input: Any, lower: Any=1.0 / 8, upper: Any=1.0 / 3, training: Any=False) -> Any: ...
def softmax(input: Any, dim: Any=None, _stacklevel: Any=3, dtype: Any=None) -> Any: ...
def softmin(input: Any, dim: Any=None, _stacklevel: Any=3, dtype: Any=None) -> Any: ...
def log_softmax(input: Any, dim: Any=None, _stacklevel: Any=3, dtype: Any=None) -> Any: ...
def ctc_loss(log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: Any=0, reduction: Any='mean', zero_infinity: Any=False) -> Any: ...
def triplet_margin_with_distance_loss(anchor: Any, positive: Any, negative: Any, *, distance_function: Any=None, margin: Any=1.0, swap: Any=False, reduction: Any='mean') -> Any: ...
def linear_cross_entropy(input: Any, linear_weight: Any, target: Any, *, linear_bias: Any=None, weight: Any=None, reduction: Any='mean', ignore_index: Any=None, label_smoothing: Any=0.0, options: Any=None) -> Any: ...
def multi_head_attention_forward(*args: Any, **kwargs: Any) -> Any: ...
def adaptive_max_pool1d_with_indices(*args: Any, **options: Any) -> Any: ...
def adaptive_max_pool2d_with_indices(*args: Any, **options: Any) -> Any: ...
def adaptive_max_pool3d_with_indices(*args: Any, **options: Any) -> Any: ...
def celu_(*args: Any, **options: Any) -> Any: ...
def conv_tbc(input: Any, weight: Any, bias: Any, pad: Any=0) -> Any: ...
def elu_(*args: Any, **options: Any) -> Any: ...
def fractional_max_pool2d_with_indices(*args: Any, **options: Any) -> Any: ...
def fractional_max_pool3d_with_indices(*args: Any, **options: Any) -> Any: ...
def grouped_mm(mat_a: Any, mat_b: Any, *, offs: Any=None, bias: Any=None, out_dtype: Any=None) -> Any: ...
def hardtanh_(*args: Any, **options: Any) -> Any: ...
def interpolate(input: Any, size: Any=None, scale_factor: Any=None, mode: Any='nearest', align_corners: Any=None, recompute_scale_factor: Any=None, antialias: Any=False) -> Any: ...
def leaky_relu_(*args: Any, **options: Any) -> Any: ...
def local_response_norm(input: Any, size: Any, alpha: Any=0.0001, beta: Any=0.75, k: Any=1.0) -> Any: ...
def lp_pool1d(input: Any, norm_type: Any, kernel_size: Any, stride: Any=None, ceil_mode: Any=False) -> Any: ...
def lp_pool2d(input: Any, norm_type: Any, kernel_size: Any, stride: Any=None, ceil_mode: Any=False) -> Any: ...
def lp_pool3d(input: Any, norm_type: Any, kernel_size: Any, stride: Any=None, ceil_mode: Any=False) -> Any: ...
def max_unpool1d(input: Any, indices: Any, kernel_size: Any, stride: Any=None, padding: Any=0, output_size: Any=None) -> Any: ...
def max_unpool2d(input: Any, indices: Any, kernel_size: Any, stride: Any=None, padding: Any=0, output_size: Any=None) -> Any: ...
def max_unpool3d(input: Any, indices: Any, kernel_size: Any, stride: Any=None, padding: Any=0, output_size: Any=None) -> Any: ...
def native_channel_shuffle(input: Any, groups: Any) -> Any: ...
def relu_(*args: Any, **options: Any) -> Any: ...
def selu_(*args: Any, **options: Any) -> Any: ...
def threshold_(*args: Any, **options: Any) -> Any: ...
def upsample(input: Any, size: Any=None, scale_factor: Any=None, mode: Any='nearest', align_corners: Any=None, recompute_scale_factor: Any=None, antialias: Any=False) -> Any: ...
def upsample_bilinear(input: Any, size: Any=None, scale_factor: Any=None) -> Any: ...
def upsample_nearest(input: Any, size: Any=None, scale_factor: Any=None) -> Any: ...
