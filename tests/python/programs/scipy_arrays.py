"""Functions of scipy that take the arrays of any library of the standard: of opforge's they give what they give of numpy's, in opforge's tensors.

scipy decides when it is imported, so that `SCIPY_ARRAY_API=1` has to be set before.
"""

import numpy as np
import scipy.cluster.vq as vq
import scipy.integrate as integrate
import scipy.ndimage as ndimage
import scipy.signal as signal
import scipy.special as special
import scipy.stats as stats
from scipy.differentiate import derivative
from scipy.optimize import elementwise

import opforge

rng = np.random.default_rng(0)
TABLE, OTHER = rng.normal(size=(2, 20, 3))
SERIES, NOISE = rng.normal(size=(2, 50))
SHARES, PARTS = rng.uniform(0.1, 0.9, size=(2, 20, 3))
COUNTS = np.asarray([16.0, 18, 16, 14, 12, 12])

# What is called, of arrays that `a` makes of numpy's.
CALLS = {
    "describe": lambda a: stats.describe(a(TABLE)),
    "skew and kurtosis": lambda a: (stats.skew(a(TABLE)), stats.kurtosis(a(TABLE))),
    "zscore": lambda a: stats.zscore(a(TABLE)),
    "means": lambda a: (stats.gmean(a(SHARES)), stats.hmean(a(SHARES)), stats.pmean(a(SHARES), 2), stats.circmean(a(SERIES))),
    "ttest_1samp": lambda a: stats.ttest_1samp(a(TABLE), 0.1),
    "ttest_ind": lambda a: stats.ttest_ind(a(TABLE), a(OTHER)),
    "pearsonr": lambda a: stats.pearsonr(a(SERIES), a(NOISE)),
    "chisquare": lambda a: stats.chisquare(a(COUNTS)),
    "normaltest": lambda a: stats.normaltest(a(TABLE)),
    "mannwhitneyu": lambda a: stats.mannwhitneyu(a(SERIES), a(NOISE)),
    "wilcoxon": lambda a: stats.wilcoxon(a(SERIES), a(NOISE)),
    "kruskal": lambda a: stats.kruskal(a(SERIES), a(NOISE)),
    "rankdata": lambda a: stats.rankdata(a(SERIES)),
    "quantile": lambda a: stats.quantile(a(TABLE), 0.3),
    "entropy": lambda a: stats.entropy(a(SHARES), a(PARTS)),
    "combine_pvalues": lambda a: stats.combine_pvalues(a(SHARES[:, 0])),
    "errors": lambda a: (special.erf(a(SERIES)), special.ndtri(a(SHARES)), special.log_ndtr(a(SERIES)), special.expit(a(SERIES))),
    "gamma functions": lambda a: (special.gammaln(a(SHARES)), special.gammainc(a(SHARES), a(PARTS)), special.betainc(a(SHARES), a(PARTS), a(PARTS))),
    "logsumexp": lambda a: (special.logsumexp(a(TABLE), axis=0, b=a(SHARES)), special.softmax(a(TABLE), axis=1)),
    "filters": lambda a: (signal.lfilter(a(COUNTS[:2]), a(COUNTS[2:4]), a(SERIES)), signal.savgol_filter(a(SERIES), 7, 2), signal.detrend(a(TABLE))),
    "convolve": lambda a: signal.convolve(a(SERIES), a(NOISE), method="direct"),
    "transforms": lambda a: (signal.fftconvolve(a(SERIES), a(NOISE)), signal.hilbert(a(SERIES))),
    "gaussian_filter": lambda a: ndimage.gaussian_filter(a(TABLE), 1.0),
    "clusters": lambda a: (vq.whiten(a(TABLE)), vq.kmeans2(a(TABLE), a(TABLE[:3]), iter=3)),
    "integrals": lambda a: (integrate.trapezoid(a(SERIES)), integrate.tanhsinh(lambda x: x**2, a(COUNTS[:2]), a(COUNTS[2:4])).integral),
    "roots": lambda a: elementwise.find_root(lambda x: x**2 - 2, (a(np.zeros(2)), a(np.full(2, 3.0)))).x,
    "derivatives": lambda a: derivative(lambda x: x**3, a(SERIES)).df,
}


def parts(result):
    """The arrays in a result."""
    if hasattr(result, "statistic"):
        return [result.statistic, result.pvalue]
    return [part for one in result for part in parts(one)] if isinstance(result, tuple) else [result]


def main():
    """How many calls there were, after each was compared."""
    for name, call in CALLS.items():
        ours, theirs = parts(call(lambda array: opforge.asarray(array.copy()))), parts(call(np.copy))
        assert len(ours) == len(theirs)
        for got, wanted in zip(ours, theirs):
            assert isinstance(got, (opforge.Tensor, int)), (name, type(got))
            np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-9, atol=1e-11, err_msg=name)
    return len(CALLS)


if __name__ == "__main__":
    print(main())
