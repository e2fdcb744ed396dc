"""Estimators and metrics of scikit-learn that take the arrays of any library of the standard: fitted to opforge's tensors they know what they know of
numpy's, in opforge's tensors.

scipy decides when it is imported, so that `SCIPY_ARRAY_API=1` has to be set before.
"""

import numpy as np
import sklearn
from sklearn import metrics
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import LabelEncoder, MaxAbsScaler, MinMaxScaler, Normalizer, PolynomialFeatures, StandardScaler

import opforge

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 5))
CLASSES = (X[:, 0] + 0.5 * X[:, 1] + 0.3 * rng.normal(size=60) > 0).astype("int64")
NUMBERS = X @ rng.normal(size=5) + 0.1 * rng.normal(size=60)
SCORES = rng.uniform(size=60)
KINDS, GUESSES = rng.integers(0, 3, size=(2, 60))

FITTED = [
    (StandardScaler(), None, ["mean_", "var_", "transform"]),
    (MinMaxScaler(), None, ["transform"]),
    (MaxAbsScaler(), None, ["transform"]),
    (Normalizer(), None, ["transform"]),
    (PolynomialFeatures(2), None, ["transform"]),
    (PCA(3, svd_solver="full"), None, ["explained_variance_", "transform"]),
    (PCA(3, svd_solver="covariance_eigh"), None, ["explained_variance_", "transform"]),
    (GaussianMixture(2, random_state=0, init_params="random"), None, ["means_", "predict"]),
    (LinearDiscriminantAnalysis(), CLASSES, ["predict", "predict_proba", "transform"]),
    (GaussianNB(), CLASSES, ["predict", "predict_proba"]),
    (LogisticRegression(), CLASSES, ["predict", "predict_proba"]),
    (Ridge(solver="svd"), NUMBERS, ["coef_", "intercept_", "predict"]),
    (make_pipeline(StandardScaler(), PCA(3), Ridge(solver="svd")), NUMBERS, ["predict"]),
    (GridSearchCV(Ridge(solver="svd"), {"alpha": [0.1, 1.0]}, cv=3), NUMBERS, ["predict"]),
]
METRICS = {
    **dict.fromkeys("accuracy_score confusion_matrix hamming_loss cohen_kappa_score balanced_accuracy_score".split(), (KINDS, GUESSES)),
    **dict.fromkeys("f1_score precision_score recall_score jaccard_score".split(), (CLASSES, CLASSES[::-1])),
    **dict.fromkeys("roc_auc_score roc_curve average_precision_score precision_recall_curve".split(), (CLASSES, SCORES)),
    **dict.fromkeys("r2_score mean_squared_error mean_absolute_error explained_variance_score max_error".split(), (NUMBERS, SCORES)),
    **dict.fromkeys("mean_tweedie_deviance mean_pinball_loss d2_tweedie_score mean_squared_log_error".split(), (SCORES, SCORES[::-1])),
    **dict.fromkeys("pairwise.euclidean_distances pairwise.rbf_kernel pairwise.cosine_similarity".split(), (X, X[:7])),
}


def ours(array):
    return opforge.asarray(array.copy())


def known(estimator, y, names, make):
    """What an estimator knows, fitted to arrays of a library."""
    estimator = sklearn.clone(estimator)
    x = make(X)
    estimator.fit(x, None if y is None else make(y))
    return [getattr(estimator, name)(x) if callable(getattr(estimator, name)) else getattr(estimator, name) for name in names]


def compare(got, wanted, what):
    np.testing.assert_allclose(np.asarray(got), np.asarray(wanted), rtol=1e-7, atol=1e-9, err_msg=str(what))


def main():
    """How many estimators and metrics there were, after each was compared."""
    with sklearn.config_context(array_api_dispatch=True):
        for case in FITTED:
            for got, wanted in zip(known(*case, ours), known(*case, np.copy)):
                assert isinstance(got, opforge.Tensor), case
                compare(got, wanted, case)
        for name, (x, y) in METRICS.items():
            metric = metrics
            for part in name.split("."):
                metric = getattr(metric, part)
            results = [result if isinstance(result, tuple) else (result,) for result in (metric(ours(x), ours(y)), metric(np.copy(x), np.copy(y)))]
            for got, wanted in zip(*results):
                compare(got, wanted, name)
        encoder = LabelEncoder().fit(ours(KINDS))
        compare(encoder.inverse_transform(encoder.transform(ours(KINDS))), KINDS, encoder)
        ridge = Ridge(solver="svd")
        compare(cross_val_predict(ridge, ours(X), ours(NUMBERS), cv=3), cross_val_predict(ridge, X, NUMBERS, cv=3), ridge)
    return len(FITTED) + len(METRICS)


if __name__ == "__main__":
    print(main())
