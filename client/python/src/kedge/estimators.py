"""The estimators of the server, with scikit-learn's names, parameters and defaults. Written by client/python/generate.py from the catalogue."""
from __future__ import annotations

from typing import Any

from ._boosting_names import of_peers
from .steps import Estimator

# What is not set has the server's default.
UNSET: Any = type("Unset", (), {"__repr__": lambda self: "UNSET"})()


def _given(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if name not in ("self", "__class__") and value is not UNSET}


class ARDRegression(Estimator):
    """Bayesian regression with a precision for each coefficient (automatic relevance determination).

    max_iter: Largest number of iterations. Default 300.
    tol: Stop when the coefficients change by less, in sum. Default 0.001.
    alpha_1: Shape of the gamma distribution of the noise's precision. Default 1e-06.
    alpha_2: Rate of that distribution. Default 1e-06.
    lambda_1: Shape of the gamma distribution of the coefficients' precisions. Default 1e-06.
    lambda_2: Rate of that distribution. Default 1e-06.
    compute_score: Give the objective after each iteration. Default False.
    threshold_lambda: Coefficients of a greater precision become 0. Default 10000.0.
    fit_intercept: Fit an intercept, which has no prior. Default True.
    copy_X: Accepted for compatibility and ignored. Default True.
    verbose: Accepted for compatibility and ignored. Default False.
    """

    def __init__(self, *,
                 max_iter: int = UNSET,
                 tol: float = UNSET,
                 alpha_1: float = UNSET,
                 alpha_2: float = UNSET,
                 lambda_1: float = UNSET,
                 lambda_2: float = UNSET,
                 compute_score: bool = UNSET,
                 threshold_lambda: float = UNSET,
                 fit_intercept: bool = UNSET,
                 copy_X: bool = UNSET,
                 verbose: int | bool = UNSET) -> None:
        super().__init__(**_given(locals()))


class AdaBoostClassifier(Estimator):
    """Fit copies of a classifier, each with more weight on the rows that those before it got wrong.

    estimator: What is copied; null takes DecisionTreeClassifier of depth 1. Default None.
    n_estimators: Most copies of the estimator. Default 50.
    learning_rate: By how much each copy counts and changes the weights. Default 1.0.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    """

    def __init__(self, *,
                 estimator: Any = UNSET,
                 n_estimators: int = UNSET,
                 learning_rate: float = UNSET,
                 random_state: int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class AdaBoostRegressor(Estimator):
    """Fit copies of a regressor, each on rows drawn by how far those before it missed them.

    estimator: What is copied; null takes DecisionTreeRegressor of depth 3. Default None.
    n_estimators: Most copies of the estimator. Default 50.
    learning_rate: By how much each copy counts and changes the weights. Default 1.0.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    loss: Of a row's error. Default 'linear'.
    """

    def __init__(self, *,
                 estimator: Any = UNSET,
                 n_estimators: int = UNSET,
                 learning_rate: float = UNSET,
                 random_state: int | None = UNSET,
                 loss: str = UNSET) -> None:
        super().__init__(**_given(locals()))


class AgglomerativeClustering(Estimator):
    """Clusters by merging the two nearest ones, again and again.

    n_clusters: Clusters to find; null with a distance_threshold. Default 2.
    metric: Distance of two points. Default 'euclidean'.
    memory: Accepted for compatibility and ignored. Default None.
    connectivity: Accepted for compatibility and ignored. Default None.
    compute_full_tree: The whole tree is always made; with a distance_threshold this may not be false. Default 'auto'.
    linkage: Distance of two clusters: the growth of the variance within, or the largest, mean or least distance of their points. Default 'ward'.
    distance_threshold: Clusters this far apart are not merged. Default None.
    compute_distances: Whether distances_ is kept without a distance_threshold. Default False.
    """

    def __init__(self, *,
                 n_clusters: int | None = UNSET,
                 metric: str = UNSET,
                 memory: None = UNSET,
                 connectivity: None = UNSET,
                 compute_full_tree: bool | str = UNSET,
                 linkage: str = UNSET,
                 distance_threshold: float | None = UNSET,
                 compute_distances: bool = UNSET) -> None:
        super().__init__(**_given(locals()))


class BaggingClassifier(Estimator):
    """Fit copies of a classifier on rows and columns drawn at random, and average them.

    estimator: What is copied; null takes DecisionTreeClassifier. Default None.
    n_estimators: How many copies of the estimator are fitted. Default 10.
    max_samples: Rows that each is fitted on: a number, or a share of all; null takes as many as there are. Default None.
    max_features: Columns that each is fitted on: a number, or a share of all. Default 1.0.
    bootstrap: Draw rows with replacement. Default True.
    bootstrap_features: Draw columns with replacement. Default False.
    oob_score: Score each row by the estimators that were not fitted on it. Default False.
    warm_start: Accepted for compatibility and ignored. Default False.
    n_jobs: Accepted for compatibility and ignored. Default None.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    verbose: Accepted for compatibility and ignored. Default 0.
    """

    def __init__(self, *,
                 estimator: Any = UNSET,
                 n_estimators: int = UNSET,
                 max_samples: int | float | None = UNSET,
                 max_features: int | float = UNSET,
                 bootstrap: bool = UNSET,
                 bootstrap_features: bool = UNSET,
                 oob_score: bool = UNSET,
                 warm_start: bool = UNSET,
                 n_jobs: int | None = UNSET,
                 random_state: int | None = UNSET,
                 verbose: int = UNSET) -> None:
        super().__init__(**_given(locals()))


class BaggingRegressor(Estimator):
    """Fit copies of a regressor on rows and columns drawn at random, and average them.

    estimator: What is copied; null takes DecisionTreeRegressor. Default None.
    n_estimators: How many copies of the estimator are fitted. Default 10.
    max_samples: Rows that each is fitted on: a number, or a share of all; null takes as many as there are. Default None.
    max_features: Columns that each is fitted on: a number, or a share of all. Default 1.0.
    bootstrap: Draw rows with replacement. Default True.
    bootstrap_features: Draw columns with replacement. Default False.
    oob_score: Score each row by the estimators that were not fitted on it. Default False.
    warm_start: Accepted for compatibility and ignored. Default False.
    n_jobs: Accepted for compatibility and ignored. Default None.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    verbose: Accepted for compatibility and ignored. Default 0.
    """

    def __init__(self, *,
                 estimator: Any = UNSET,
                 n_estimators: int = UNSET,
                 max_samples: int | float | None = UNSET,
                 max_features: int | float = UNSET,
                 bootstrap: bool = UNSET,
                 bootstrap_features: bool = UNSET,
                 oob_score: bool = UNSET,
                 warm_start: bool = UNSET,
                 n_jobs: int | None = UNSET,
                 random_state: int | None = UNSET,
                 verbose: int = UNSET) -> None:
        super().__init__(**_given(locals()))


class BayesianGaussianMixture(Estimator):
    """Mixture of normal distributions with priors, by variational inference.

    n_components: Number of components. Default 1.
    covariance_type: full: each component has a matrix of its own; tied: all share one; diag: variances of the columns; spherical: one variance.
        Default 'full'.
    tol: The iterations end when the lower bound changes by less. Default 0.001.
    reg_covar: Added to the diagonal of each covariance. Default 1e-06.
    max_iter: Most iterations of a run. Default 100.
    n_init: Runs from different starts; the best is kept. Default 1.
    init_params: Where shares start: clusters of KMeans, rows chosen by k-means++, random shares, random rows. Default 'kmeans'.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    warm_start: Accepted for compatibility and ignored. Default False.
    verbose: Accepted for compatibility and ignored. Default 0.
    verbose_interval: Accepted for compatibility and ignored. Default 10.
    weight_concentration_prior_type: The prior of the weights. Default 'dirichlet_process'.
    weight_concentration_prior: Concentration of that prior: small values leave few components; null for 1 / n_components. Default None.
    mean_precision_prior: Precision of the prior of the means; null for 1. Default None.
    mean_prior: Mean of the prior; null for that of the data. Default None.
    degrees_of_freedom_prior: Degrees of freedom of the prior of the covariances, above n_features - 1; null for n_features. Default None.
    covariance_prior: Covariance of the prior, in the shape of one component; null for that of the data. Default None.
    """

    def __init__(self, *,
                 n_components: int = UNSET,
                 covariance_type: str = UNSET,
                 tol: float = UNSET,
                 reg_covar: float = UNSET,
                 max_iter: int = UNSET,
                 n_init: int = UNSET,
                 init_params: str = UNSET,
                 random_state: int | None = UNSET,
                 warm_start: bool = UNSET,
                 verbose: int | bool = UNSET,
                 verbose_interval: int = UNSET,
                 weight_concentration_prior_type: str = UNSET,
                 weight_concentration_prior: float | None = UNSET,
                 mean_precision_prior: float | None = UNSET,
                 mean_prior: Any = UNSET,
                 degrees_of_freedom_prior: float | None = UNSET,
                 covariance_prior: Any = UNSET) -> None:
        super().__init__(**_given(locals()))


class BayesianRidge(Estimator):
    """Ridge regression with the penalty and the noise level of the greatest evidence.

    max_iter: Largest number of iterations. Default 300.
    tol: Stop when the coefficients change by less, in sum. Default 0.001.
    alpha_1: Shape of the gamma distribution of the noise's precision. Default 1e-06.
    alpha_2: Rate of that distribution. Default 1e-06.
    lambda_1: Shape of the gamma distribution of the coefficients' precision. Default 1e-06.
    lambda_2: Rate of that distribution. Default 1e-06.
    alpha_init: The noise's precision at the start; null: 1 / variance of the target. Default None.
    lambda_init: The coefficients' precision at the start; null: 1. Default None.
    compute_score: Give the log marginal likelihood of each iteration. Default False.
    fit_intercept: Fit an intercept, which has no prior. Default True.
    copy_X: Accepted for compatibility and ignored. Default True.
    verbose: Accepted for compatibility and ignored. Default False.
    """

    def __init__(self, *,
                 max_iter: int = UNSET,
                 tol: float = UNSET,
                 alpha_1: float = UNSET,
                 alpha_2: float = UNSET,
                 lambda_1: float = UNSET,
                 lambda_2: float = UNSET,
                 alpha_init: float | None = UNSET,
                 lambda_init: float | None = UNSET,
                 compute_score: bool = UNSET,
                 fit_intercept: bool = UNSET,
                 copy_X: bool = UNSET,
                 verbose: int | bool = UNSET) -> None:
        super().__init__(**_given(locals()))


class BernoulliNB(Estimator):
    """Naive Bayes for columns of 0 and 1.

    alpha: Added to every count; a list has one for each column. Default 1.0.
    force_alpha: Take alpha as it is; else it is raised to 1e-10. Default True.
    binarize: Values above count as 1, others as 0; null: they are 0 and 1 already. Default 0.0.
    fit_prior: Learn the classes' probabilities; else they are equal. Default True.
    class_prior: Prior probabilities of the classes, in order. Default None.
    """

    def __init__(self, *,
                 alpha: Any = UNSET,
                 force_alpha: bool = UNSET,
                 binarize: float | None = UNSET,
                 fit_prior: bool = UNSET,
                 class_prior: Any = UNSET) -> None:
        super().__init__(**_given(locals()))


class Binarizer(Estimator):
    """Set values above a threshold to 1 and the others to 0.

    threshold: Values above it become 1. Default 0.0.
    copy: Accepted for compatibility and ignored. Default True.
    """

    def __init__(self, *,
                 threshold: float = UNSET,
                 copy: bool = UNSET) -> None:
        super().__init__(**_given(locals()))


class Birch(Estimator):
    """Clusters of small subclusters, which one pass over the rows finds.

    threshold: Radius of a subcluster beyond which a row begins a new one. Default 0.5.
    branching_factor: Subclusters of a node beyond which it is divided. Default 50.
    n_clusters: Clusters that the subclusters are merged into; null: each is one. Default 3.
    compute_labels: Accepted for compatibility and ignored. Default True.
    """

    def __init__(self, *,
                 threshold: float = UNSET,
                 branching_factor: int = UNSET,
                 n_clusters: int | None = UNSET,
                 compute_labels: bool = UNSET) -> None:
        super().__init__(**_given(locals()))


class BisectingKMeans(Estimator):
    """Clusters around means, by dividing one in two, again and again.

    n_clusters: Number of clusters. Default 8.
    init: Where the two centres of a division start. Default 'random'.
    n_init: Runs of a division from different starts. Default 1.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    max_iter: Most iterations of a run. Default 300.
    verbose: Accepted for compatibility and ignored. Default 0.
    tol: A run ends when the squared moves of its centres sum up to at most this. Default 0.0001.
    copy_x: Accepted for compatibility and ignored. Default True.
    algorithm: Both give the nearest centres exactly; the same code does both. Default 'lloyd'.
    bisecting_strategy: What is divided next: the cluster with the largest sum of squares, or with most rows. Default 'biggest_inertia'.
    """

    def __init__(self, *,
                 n_clusters: int = UNSET,
                 init: str = UNSET,
                 n_init: int = UNSET,
                 random_state: int | None = UNSET,
                 max_iter: int = UNSET,
                 verbose: int | bool = UNSET,
                 tol: float = UNSET,
                 copy_x: bool = UNSET,
                 algorithm: str = UNSET,
                 bisecting_strategy: str = UNSET) -> None:
        super().__init__(**_given(locals()))


class CalibratedClassifierCV(Estimator):
    """Make a classifier's scores probabilities, by rows that it was not fitted on.

    estimator: Gives the scores; null takes LogisticRegression. Default None.
    method: Platt's sigmoid, a curve that never falls, or one temperature of all classes. Default 'sigmoid'.
    cv: How many folds; null takes 5. Default None.
    n_jobs: Accepted for compatibility and ignored. Default None.
    ensemble: Average over the folds' classifiers (auto does), or fit one on all rows. Default 'auto'.
    """

    def __init__(self, *,
                 estimator: Any = UNSET,
                 method: str = UNSET,
                 cv: int | None = UNSET,
                 n_jobs: int | None = UNSET,
                 ensemble: bool | str = UNSET) -> None:
        super().__init__(**_given(locals()))


class CategoricalNB(Estimator):
    """Naive Bayes for columns of categories 0, 1, 2 ...

    alpha: Added to every count. Default 1.0.
    force_alpha: Take alpha as it is; else it is raised to 1e-10. Default True.
    fit_prior: Learn the classes' probabilities; else they are equal. Default True.
    class_prior: Prior probabilities of the classes, in order. Default None.
    min_categories: Least number of categories of each column; a list has one for each column. Default None.
    """

    def __init__(self, *,
                 alpha: float = UNSET,
                 force_alpha: bool = UNSET,
                 fit_prior: bool = UNSET,
                 class_prior: Any = UNSET,
                 min_categories: Any = UNSET) -> None:
        super().__init__(**_given(locals()))


class ClassifierChain(Estimator):
    """Fit a copy of a classifier to each of several target columns, one after the other; each reads the columns before its own.

    estimator: A copy of it is fitted to each target column; null takes LogisticRegression. Default None.
    order: Positions of the target columns in the order of the chain; null takes that of select.targets. Default None.
    cv: Folds whose predictions later links are fitted on; null fits them on the true targets. Default None.
    chain_method: What a link passes on to the next; of a list the first that the estimator has. Default 'predict'.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    verbose: Accepted for compatibility and ignored. Default False.
    """

    def __init__(self, *,
                 estimator: Any = UNSET,
                 order: Any = UNSET,
                 cv: int | None = UNSET,
                 chain_method: Any = UNSET,
                 random_state: int | None = UNSET,
                 verbose: bool = UNSET) -> None:
        super().__init__(**_given(locals()))


class ColumnTransformer(Estimator):
    """Apply transformers to columns of their own and put the results side by side.

    transformers: The transformers with their columns, {"name", "transformer", "columns"} each, or [name, transformer, columns]. Default [].
    remainder: What happens to columns that no transformer names. Default 'drop'.
    sparse_threshold: Accepted for compatibility and ignored. Default 0.3.
    n_jobs: Accepted for compatibility and ignored. Default None.
    transformer_weights: What the results of transformers are multiplied by, by name. Default None.
    verbose: Accepted for compatibility and ignored. Default False.
    verbose_feature_names_out: Name output columns TRANSFORMER__COLUMN, as they are, or by a format with {transformer_name} and {feature_name}.
        Default True.
    """

    def __init__(self, *,
                 transformers: Any = UNSET,
                 remainder: Any = UNSET,
                 sparse_threshold: float = UNSET,
                 n_jobs: int | None = UNSET,
                 transformer_weights: Any = UNSET,
                 verbose: bool | int = UNSET,
                 verbose_feature_names_out: bool | str = UNSET) -> None:
        super().__init__(**_given(locals()))


class ComplementNB(Estimator):
    """Naive Bayes for counts that learns each class from all others; for classes of unequal size.

    alpha: Added to every count; a list has one for each column. Default 1.0.
    force_alpha: Take alpha as it is; else it is raised to 1e-10. Default True.
    fit_prior: Learn the classes' probabilities; else they are equal. Default True.
    class_prior: Prior probabilities of the classes, in order. Default None.
    norm: Divide each class's weights by their sum. Default False.
    """

    def __init__(self, *,
                 alpha: Any = UNSET,
                 force_alpha: bool = UNSET,
                 fit_prior: bool = UNSET,
                 class_prior: Any = UNSET,
                 norm: bool = UNSET) -> None:
        super().__init__(**_given(locals()))


class CountVectorizer(Estimator):
    """Turn a column of texts into counts of its terms.

    input: Accepted for compatibility and ignored. Default 'content'.
    encoding: Accepted for compatibility and ignored. Default 'utf-8'.
    decode_error: Accepted for compatibility and ignored. Default 'strict'.
    strip_accents: Take accents off: ascii keeps nothing but ASCII. Default None.
    lowercase: Turn all to lower case first. Default True.
    preprocessor: Accepted for compatibility and ignored. Default None.
    tokenizer: Accepted for compatibility and ignored. Default None.
    stop_words: Words that are left out: scikit-learn's English list, or a list of yours. Default None.
    token_pattern: The regular expression of a word, where the analyzer is word; RE2's, with Unicode's \\w, \\d and \\s. Default
        '(?u)\\\\b\\\\w\\\\w+\\\\b'.
    ngram_range: The least and the most words or characters of a term. Default [1, 1].
    analyzer: Terms of words, of characters, or of characters within words that have blanks around them. Default 'word'.
    max_df: Leave out terms that more documents have: a count, or a share. Default 1.0.
    min_df: Leave out terms that fewer documents have: a count, or a share. Default 1.
    max_features: Keep so many terms, the most frequent ones. Default None.
    vocabulary: The terms, as a list or as an object with their columns, instead of those of the texts. Default None.
    binary: Count a term once a document. Default False.
    dtype: Accepted for compatibility and ignored. Default 'float64'.
    """

    def __init__(self, *,
                 input: str = UNSET,
                 encoding: str = UNSET,
                 decode_error: str = UNSET,
                 strip_accents: str | None = UNSET,
                 lowercase: bool = UNSET,
                 preprocessor: None = UNSET,
                 tokenizer: None = UNSET,
                 stop_words: Any = UNSET,
                 token_pattern: str = UNSET,
                 ngram_range: Any = UNSET,
                 analyzer: str = UNSET,
                 max_df: int | float = UNSET,
                 min_df: int | float = UNSET,
                 max_features: int | None = UNSET,
                 vocabulary: Any = UNSET,
                 binary: bool = UNSET,
                 dtype: str = UNSET) -> None:
        super().__init__(**_given(locals()))


class DBSCAN(Estimator):
    """Clusters of dense rows, and noise.

    eps: Distance within which two rows are neighbours. Default 0.5.
    min_samples: Neighbours, itself included, or their weight, that make a row core. Default 5.
    algorithm: A hint: few columns are searched in a k-d tree, many by scanning, with any value; the neighbours are the same. Default 'auto'.
    leaf_size: Accepted for compatibility and ignored. Default 30.
    p: Power of the Minkowski metric; null means 2. Default None.
    metric: Distance. Default 'euclidean'.
    metric_params: Accepted for compatibility and ignored. Default None.
    n_jobs: Accepted for compatibility and ignored. Default None.
    """

    def __init__(self, *,
                 eps: float = UNSET,
                 min_samples: int = UNSET,
                 algorithm: str = UNSET,
                 leaf_size: int = UNSET,
                 p: float | None = UNSET,
                 metric: str = UNSET,
                 metric_params: None = UNSET,
                 n_jobs: int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class DecisionTreeClassifier(Estimator):
    """A decision tree.

    criterion: Impurity that a split decreases most. Default 'gini'.
    splitter: The best cut of a column, or one at a random value. Default 'best'.
    max_depth: Deepest a tree may get; null for no limit. Default None.
    min_samples_split: Fewest rows of a node that is split, as a number or a share of all. Default 2.
    min_samples_leaf: Fewest rows of a leaf, as a number or a share of all. Default 1.
    min_weight_fraction_leaf: Least share of the weight in a leaf. Default 0.0.
    max_features: Columns looked at for a split; null for all. Default None.
    max_leaf_nodes: Most leaves of a tree, grown best first; null for no limit. Default None.
    min_impurity_decrease: Least decrease of impurity by a split. Default 0.0.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    draws: Whose random numbers: kedge's; scikit-learn's, which give its trees where columns have at most 256 values, and grow on the host; auto takes
        scikit-learn's there on a CPU, else kedge's. Default 'kedge'.
    class_weight: Weight of each class: an object by class name, balanced, or null for 1 each. Default None.
    ccp_alpha: What a leaf costs when trees are pruned by cost and complexity; 0 for no pruning. Default 0.0.
    monotonic_cst: Only null: no column is constrained. Default None.
    """

    def __init__(self, *,
                 criterion: str = UNSET,
                 splitter: str = UNSET,
                 max_depth: int | None = UNSET,
                 min_samples_split: int | float = UNSET,
                 min_samples_leaf: int | float = UNSET,
                 min_weight_fraction_leaf: float = UNSET,
                 max_features: str | int | float | None = UNSET,
                 max_leaf_nodes: int | None = UNSET,
                 min_impurity_decrease: float = UNSET,
                 random_state: int | None = UNSET,
                 draws: str = UNSET,
                 class_weight: Any = UNSET,
                 ccp_alpha: float = UNSET,
                 monotonic_cst: Any = UNSET) -> None:
        super().__init__(**_given(locals()))


class DecisionTreeRegressor(Estimator):
    """A regression tree.

    criterion: Impurity that a split decreases most; friedman_mse is squared_error. Default 'squared_error'.
    splitter: The best cut of a column, or one at a random value. Default 'best'.
    max_depth: Deepest a tree may get; null for no limit. Default None.
    min_samples_split: Fewest rows of a node that is split, as a number or a share of all. Default 2.
    min_samples_leaf: Fewest rows of a leaf, as a number or a share of all. Default 1.
    min_weight_fraction_leaf: Least share of the weight in a leaf. Default 0.0.
    max_features: Columns looked at for a split; null for all. Default None.
    max_leaf_nodes: Most leaves of a tree, grown best first; null for no limit. Default None.
    min_impurity_decrease: Least decrease of impurity by a split. Default 0.0.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    draws: Whose random numbers: kedge's; scikit-learn's, which give its trees where columns have at most 256 values, and grow on the host; auto takes
        scikit-learn's there on a CPU, else kedge's. Default 'kedge'.
    ccp_alpha: What a leaf costs when trees are pruned by cost and complexity; 0 for no pruning. Default 0.0.
    monotonic_cst: Only null: no column is constrained. Default None.
    """

    def __init__(self, *,
                 criterion: str = UNSET,
                 splitter: str = UNSET,
                 max_depth: int | None = UNSET,
                 min_samples_split: int | float = UNSET,
                 min_samples_leaf: int | float = UNSET,
                 min_weight_fraction_leaf: float = UNSET,
                 max_features: str | int | float | None = UNSET,
                 max_leaf_nodes: int | None = UNSET,
                 min_impurity_decrease: float = UNSET,
                 random_state: int | None = UNSET,
                 draws: str = UNSET,
                 ccp_alpha: float = UNSET,
                 monotonic_cst: Any = UNSET) -> None:
        super().__init__(**_given(locals()))


class DictVectorizer(Estimator):
    """Turn each row, a dictionary of its columns, into a sparse row: numbers as they are, a column for each category.

    separator: What stands between a column's name and a category. Default '='.
    sparse: Make sparse rows. Default True.
    sort: Order the features by name; otherwise by the first cell that has them. Default True.
    dtype: Accepted for compatibility and ignored. Default 'float64'.
    """

    def __init__(self, *,
                 separator: str = UNSET,
                 sparse: bool = UNSET,
                 sort: bool = UNSET,
                 dtype: str = UNSET) -> None:
        super().__init__(**_given(locals()))


class DummyClassifier(Estimator):
    """Predicts classes without looking at the features.

    strategy: prior and most_frequent predict the most frequent class, stratified and uniform draw one, constant takes what is given. Default 'prior'.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    constant: The class that strategy constant predicts. Default None.
    """

    def __init__(self, *,
                 strategy: str = UNSET,
                 random_state: int | None = UNSET,
                 constant: str | int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class DummyRegressor(Estimator):
    """Predicts a constant: the target's mean, a quantile of it, or what is given.

    strategy: What is predicted. Default 'mean'.
    constant: What strategy constant predicts; a list must have one number. Default None.
    quantile: The quantile of the target that strategy quantile predicts. Default None.
    """

    def __init__(self, *,
                 strategy: str = UNSET,
                 constant: Any = UNSET,
                 quantile: float | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class ElasticNet(Estimator):
    """Least squares with L1 and L2 penalties.

    alpha: Strength of the penalty. Default 1.0.
    l1_ratio: Share of the L1 penalty; the rest is L2. Default 0.5.
    fit_intercept: Fit an intercept, which is not penalised. Default True.
    precompute: Accepted for compatibility and ignored. Default False.
    copy_X: Accepted for compatibility and ignored. Default True.
    max_iter: Largest number of passes over the coordinates. Default 1000.
    tol: Stop when the duality gap is at most this part of the target's sum of squares. Default 0.0001.
    warm_start: Accepted for compatibility and ignored. Default False.
    positive: Coefficients of at least 0. Default False.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    selection: Coordinates in order, or drawn. Default 'cyclic'.
    """

    def __init__(self, *,
                 alpha: float = UNSET,
                 l1_ratio: float = UNSET,
                 fit_intercept: bool = UNSET,
                 precompute: Any = UNSET,
                 copy_X: bool = UNSET,
                 max_iter: int = UNSET,
                 tol: float = UNSET,
                 warm_start: bool = UNSET,
                 positive: bool = UNSET,
                 random_state: int | None = UNSET,
                 selection: str = UNSET) -> None:
        super().__init__(**_given(locals()))


class ElasticNetCV(Estimator):
    """ElasticNet with its penalty chosen by cross-validation.

    l1_ratio: Share of the L1 penalty, or a list to choose from. Default 0.5.
    eps: The smallest alpha of a grid, relative to the largest. Default 0.001.
    alphas: Number of alphas of a grid, or a list. Default 100.
    fit_intercept: Fit an intercept, which is not penalised. Default True.
    precompute: Accepted for compatibility and ignored. Default 'auto'.
    max_iter: Largest number of passes over the coordinates. Default 1000.
    tol: Stop when the duality gap is at most this part of the target's sum of squares. Default 0.0001.
    copy_X: Accepted for compatibility and ignored. Default True.
    cv: Number of folds; null for 5. Default None.
    verbose: Accepted for compatibility and ignored. Default False.
    n_jobs: Accepted for compatibility and ignored. Default None.
    positive: Coefficients of at least 0. Default False.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    selection: Coordinates in order, or drawn. Default 'cyclic'.
    """

    def __init__(self, *,
                 l1_ratio: Any = UNSET,
                 eps: float = UNSET,
                 alphas: Any = UNSET,
                 fit_intercept: bool = UNSET,
                 precompute: Any = UNSET,
                 max_iter: int = UNSET,
                 tol: float = UNSET,
                 copy_X: bool = UNSET,
                 cv: int | None = UNSET,
                 verbose: bool | int = UNSET,
                 n_jobs: int | None = UNSET,
                 positive: bool = UNSET,
                 random_state: int | None = UNSET,
                 selection: str = UNSET) -> None:
        super().__init__(**_given(locals()))


class EllipticEnvelope(Estimator):
    """Outliers of normal data, by a covariance matrix that they do not spoil.

    store_precision: Whether the inverse of the covariance is kept. Default True.
    assume_centered: Whether the location is taken for 0. Default False.
    support_fraction: Share of the rows that the raw estimate is made of; null for the least that resists: half of them, and half of the columns more.
        Default None.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    contamination: Share of the fitted rows that are outliers. Default 0.1.
    """

    def __init__(self, *,
                 store_precision: bool = UNSET,
                 assume_centered: bool = UNSET,
                 support_fraction: float | None = UNSET,
                 random_state: int | None = UNSET,
                 contamination: float = UNSET) -> None:
        super().__init__(**_given(locals()))


class EmpiricalCovariance(Estimator):
    """Covariance matrix of the rows, by maximum likelihood.

    store_precision: Whether the inverse of the covariance is kept. Default True.
    assume_centered: Whether the means of the columns are taken for 0. Default False.
    """

    def __init__(self, *,
                 store_precision: bool = UNSET,
                 assume_centered: bool = UNSET) -> None:
        super().__init__(**_given(locals()))


class ExtraTreesClassifier(Estimator):
    """The mean of trees that cut random columns at random values.

    n_estimators: Number of trees. Default 100.
    criterion: Impurity that a split decreases most. Default 'gini'.
    max_depth: Deepest a tree may get; null for no limit. Default None.
    min_samples_split: Fewest rows of a node that is split, as a number or a share of all. Default 2.
    min_samples_leaf: Fewest rows of a leaf, as a number or a share of all. Default 1.
    min_weight_fraction_leaf: Least share of the weight in a leaf. Default 0.0.
    max_features: Columns looked at for a split; null for all. Default 'sqrt'.
    max_leaf_nodes: Most leaves of a tree, grown best first; null for no limit. Default None.
    min_impurity_decrease: Least decrease of impurity by a split. Default 0.0.
    bootstrap: Draw the rows of each tree with replacement; false takes all. Default False.
    oob_score: Estimate the score from the rows that trees did not draw. Default False.
    n_jobs: Accepted for compatibility and ignored. Default None.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    draws: Whose random numbers: kedge's; scikit-learn's, which give its trees where columns have at most 256 values, and grow on the host; auto takes
        scikit-learn's there on a CPU, else kedge's. Default 'kedge'.
    verbose: Accepted for compatibility and ignored. Default 0.
    warm_start: Only false: every fit starts anew. Default False.
    class_weight: Weight of each class: an object by class name, balanced, balanced_subsample, or null for 1 each. Default None.
    max_samples: Rows drawn for each tree, as a number or a share of all; null for as many as there are. Default None.
    ccp_alpha: What a leaf costs when trees are pruned by cost and complexity; 0 for no pruning. Default 0.0.
    monotonic_cst: Only null: no column is constrained. Default None.
    """

    def __init__(self, *,
                 n_estimators: int = UNSET,
                 criterion: str = UNSET,
                 max_depth: int | None = UNSET,
                 min_samples_split: int | float = UNSET,
                 min_samples_leaf: int | float = UNSET,
                 min_weight_fraction_leaf: float = UNSET,
                 max_features: str | int | float | None = UNSET,
                 max_leaf_nodes: int | None = UNSET,
                 min_impurity_decrease: float = UNSET,
                 bootstrap: bool = UNSET,
                 oob_score: bool = UNSET,
                 n_jobs: int | None = UNSET,
                 random_state: int | None = UNSET,
                 draws: str = UNSET,
                 verbose: int | bool = UNSET,
                 warm_start: bool = UNSET,
                 class_weight: Any = UNSET,
                 max_samples: int | float | None = UNSET,
                 ccp_alpha: float = UNSET,
                 monotonic_cst: Any = UNSET) -> None:
        super().__init__(**_given(locals()))


class ExtraTreesRegressor(Estimator):
    """The mean of regression trees that cut columns at random values.

    n_estimators: Number of trees. Default 100.
    criterion: Impurity that a split decreases most; friedman_mse is squared_error. Default 'squared_error'.
    max_depth: Deepest a tree may get; null for no limit. Default None.
    min_samples_split: Fewest rows of a node that is split, as a number or a share of all. Default 2.
    min_samples_leaf: Fewest rows of a leaf, as a number or a share of all. Default 1.
    min_weight_fraction_leaf: Least share of the weight in a leaf. Default 0.0.
    max_features: Columns looked at for a split; null for all. Default 1.0.
    max_leaf_nodes: Most leaves of a tree, grown best first; null for no limit. Default None.
    min_impurity_decrease: Least decrease of impurity by a split. Default 0.0.
    bootstrap: Draw the rows of each tree with replacement; false takes all. Default False.
    oob_score: Estimate the score from the rows that trees did not draw. Default False.
    n_jobs: Accepted for compatibility and ignored. Default None.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    draws: Whose random numbers: kedge's; scikit-learn's, which give its trees where columns have at most 256 values, and grow on the host; auto takes
        scikit-learn's there on a CPU, else kedge's. Default 'kedge'.
    verbose: Accepted for compatibility and ignored. Default 0.
    warm_start: Only false: every fit starts anew. Default False.
    max_samples: Rows drawn for each tree, as a number or a share of all; null for as many as there are. Default None.
    ccp_alpha: What a leaf costs when trees are pruned by cost and complexity; 0 for no pruning. Default 0.0.
    monotonic_cst: Only null: no column is constrained. Default None.
    """

    def __init__(self, *,
                 n_estimators: int = UNSET,
                 criterion: str = UNSET,
                 max_depth: int | None = UNSET,
                 min_samples_split: int | float = UNSET,
                 min_samples_leaf: int | float = UNSET,
                 min_weight_fraction_leaf: float = UNSET,
                 max_features: str | int | float | None = UNSET,
                 max_leaf_nodes: int | None = UNSET,
                 min_impurity_decrease: float = UNSET,
                 bootstrap: bool = UNSET,
                 oob_score: bool = UNSET,
                 n_jobs: int | None = UNSET,
                 random_state: int | None = UNSET,
                 draws: str = UNSET,
                 verbose: int | bool = UNSET,
                 warm_start: bool = UNSET,
                 max_samples: int | float | None = UNSET,
                 ccp_alpha: float = UNSET,
                 monotonic_cst: Any = UNSET) -> None:
        super().__init__(**_given(locals()))


class FactorAnalysis(Estimator):
    """Few normal factors, with noise of each column's own.

    n_components: Factors; null for as many as columns. Default None.
    tol: The iterations end when the log likelihood grows by less. Default 0.01.
    copy: Accepted for compatibility and ignored. Default True.
    max_iter: Most iterations. Default 1000.
    noise_variance_init: Noise of each column to start from; null for 1. Default None.
    svd_method: Both are exact here: the eigenvectors of the covariance matrix. Default 'randomized'.
    iterated_power: Accepted for compatibility and ignored. Default 3.
    rotation: How the factors are turned at the end. Default None.
    random_state: Accepted for compatibility and ignored. Default 0.
    """

    def __init__(self, *,
                 n_components: int | None = UNSET,
                 tol: float = UNSET,
                 copy: bool = UNSET,
                 max_iter: int = UNSET,
                 noise_variance_init: Any = UNSET,
                 svd_method: str = UNSET,
                 iterated_power: int = UNSET,
                 rotation: str | None = UNSET,
                 random_state: int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class FastICA(Estimator):
    """Independent component analysis.

    n_components: Components to keep; null for all. Default None.
    algorithm: parallel: all at once; deflation: one after the other. Default 'parallel'.
    whiten: What the results are scaled to; false: the data are white already. Default 'unit-variance'.
    fun: The contrast, by its slope. Default 'logcosh'.
    fun_args: Arguments of fun. Default None.
    max_iter: Most iterations. Default 200.
    tol: Largest change of a direction at which the iterations end. Default 0.0001.
    w_init: Where the iterations begin, n_components x n_components; null draws it. Default None.
    whiten_solver: Does not change the result: both use the eigenvectors of the covariance matrix where these are accurate, and singular vectors of
        the data elsewhere. Default 'svd'.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    """

    def __init__(self, *,
                 n_components: int | None = UNSET,
                 algorithm: str = UNSET,
                 whiten: str | bool = UNSET,
                 fun: str = UNSET,
                 fun_args: Any = UNSET,
                 max_iter: int = UNSET,
                 tol: float = UNSET,
                 w_init: Any = UNSET,
                 whiten_solver: str = UNSET,
                 random_state: int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class FeatureAgglomeration(Estimator):
    """Columns that are alike become one, their mean.

    n_clusters: Clusters to find; null with a distance_threshold. Default 2.
    metric: Distance of two points. Default 'euclidean'.
    memory: Accepted for compatibility and ignored. Default None.
    connectivity: Accepted for compatibility and ignored. Default None.
    compute_full_tree: The whole tree is always made; with a distance_threshold this may not be false. Default 'auto'.
    linkage: Distance of two clusters: the growth of the variance within, or the largest, mean or least distance of their points. Default 'ward'.
    distance_threshold: Clusters this far apart are not merged. Default None.
    compute_distances: Whether distances_ is kept without a distance_threshold. Default False.
    pooling_func: What becomes of the columns of a cluster. Default 'mean'.
    """

    def __init__(self, *,
                 n_clusters: int | None = UNSET,
                 metric: str = UNSET,
                 memory: None = UNSET,
                 connectivity: None = UNSET,
                 compute_full_tree: bool | str = UNSET,
                 linkage: str = UNSET,
                 distance_threshold: float | None = UNSET,
                 compute_distances: bool = UNSET,
                 pooling_func: str = UNSET) -> None:
        super().__init__(**_given(locals()))


class FeatureHasher(Estimator):
    """Turn each row, a dictionary of its columns, into a sparse row, whose columns hashes of the features name.

    n_features: Columns that features are hashed to. Default 1048576.
    input_type: A row is a dictionary of its columns. Default 'dict'.
    alternate_sign: Count half of the features downwards, so that collisions cancel out. Default True.
    dtype: Accepted for compatibility and ignored. Default 'float64'.
    """

    def __init__(self, *,
                 n_features: int = UNSET,
                 input_type: str = UNSET,
                 alternate_sign: bool = UNSET,
                 dtype: str = UNSET) -> None:
        super().__init__(**_given(locals()))


class FeatureUnion(Estimator):
    """Apply several transformers to the same columns and put the results side by side.

    transformer_list: The transformers, {"name", "transformer"} each, or [name, transformer]. Default [].
    n_jobs: Accepted for compatibility and ignored. Default None.
    transformer_weights: What the results of transformers are multiplied by, by name. Default None.
    verbose: Accepted for compatibility and ignored. Default False.
    verbose_feature_names_out: Name output columns TRANSFORMER__COLUMN, or as they are. Default True.
    """

    def __init__(self, *,
                 transformer_list: Any = UNSET,
                 n_jobs: int | None = UNSET,
                 transformer_weights: Any = UNSET,
                 verbose: bool | int = UNSET,
                 verbose_feature_names_out: bool = UNSET) -> None:
        super().__init__(**_given(locals()))


class FixedThresholdClassifier(Estimator):
    """A classifier with a given threshold of its scores.

    estimator: Gives the scores; null takes LogisticRegression. Default None.
    response_method: Which scores; auto takes probabilities where there are any. Default 'auto'.
    threshold: The least score of the positive class; auto: 0.5 of probabilities, 0 of decisions. Default 'auto'.
    pos_label: The positive class; null takes the last. Default None.
    """

    def __init__(self, *,
                 estimator: Any = UNSET,
                 response_method: str = UNSET,
                 threshold: str | float = UNSET,
                 pos_label: str | int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class FunctionTransformer(Estimator):
    """A named function of each cell, or formulas over the columns.

    func: The name of a function ("log1p"), a formula of each cell x ("log(x + 1) / 2"), or a list of formulas over the columns, each with the name of
        what it gives ("bmi = weight / height ** 2"); null: the cells as they are. Default None.
    inverse_func: What brings the cells back, in the same forms; for check_inverse. Default None.
    check_inverse: Warn where inverse_func does not bring 100 of the fitted rows back. Default True.
    validate: Accepted for compatibility and ignored. Default False.
    accept_sparse: Accepted for compatibility and ignored. Default False.
    feature_names_out: Accepted for compatibility and ignored. Default None.
    kw_args: Accepted for compatibility and ignored. Default None.
    inv_kw_args: Accepted for compatibility and ignored. Default None.
    """

    def __init__(self, *,
                 func: Any = UNSET,
                 inverse_func: Any = UNSET,
                 check_inverse: bool = UNSET,
                 validate: bool = UNSET,
                 accept_sparse: bool = UNSET,
                 feature_names_out: str | None = UNSET,
                 kw_args: None = UNSET,
                 inv_kw_args: None = UNSET) -> None:
        super().__init__(**_given(locals()))


class GammaRegressor(Estimator):
    """Regression of positive values: the gamma distribution with a log link and an L2 penalty.

    alpha: Strength of the L2 penalty. Default 1.0.
    fit_intercept: Fit an intercept, which is not penalised. Default True.
    solver: Has no influence on the answer. Default 'lbfgs'.
    max_iter: Largest number of iterations. Default 100.
    tol: Has no influence: iterations go on to rounding. Default 0.0001.
    warm_start: Accepted for compatibility and ignored. Default False.
    verbose: Accepted for compatibility and ignored. Default 0.
    """

    def __init__(self, *,
                 alpha: float = UNSET,
                 fit_intercept: bool = UNSET,
                 solver: str = UNSET,
                 max_iter: int = UNSET,
                 tol: float = UNSET,
                 warm_start: bool = UNSET,
                 verbose: int | bool = UNSET) -> None:
        super().__init__(**_given(locals()))


class GaussianMixture(Estimator):
    """Mixture of normal distributions, by expectation maximisation.

    n_components: Number of components. Default 1.
    covariance_type: full: each component has a matrix of its own; tied: all share one; diag: variances of the columns; spherical: one variance.
        Default 'full'.
    tol: The iterations end when the lower bound changes by less. Default 0.001.
    reg_covar: Added to the diagonal of each covariance. Default 1e-06.
    max_iter: Most iterations of a run. Default 100.
    n_init: Runs from different starts; the best is kept. Default 1.
    init_params: Where shares start: clusters of KMeans, rows chosen by k-means++, random shares, random rows. Default 'kmeans'.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    warm_start: Accepted for compatibility and ignored. Default False.
    verbose: Accepted for compatibility and ignored. Default 0.
    verbose_interval: Accepted for compatibility and ignored. Default 10.
    weights_init: Weights to start from; they sum to 1. Default None.
    means_init: Means to start from, one row each. Default None.
    precisions_init: Precisions (inverses of covariances) to start from, in the shape of covariances_. Default None.
    """

    def __init__(self, *,
                 n_components: int = UNSET,
                 covariance_type: str = UNSET,
                 tol: float = UNSET,
                 reg_covar: float = UNSET,
                 max_iter: int = UNSET,
                 n_init: int = UNSET,
                 init_params: str = UNSET,
                 random_state: int | None = UNSET,
                 warm_start: bool = UNSET,
                 verbose: int | bool = UNSET,
                 verbose_interval: int = UNSET,
                 weights_init: Any = UNSET,
                 means_init: Any = UNSET,
                 precisions_init: Any = UNSET) -> None:
        super().__init__(**_given(locals()))


class GaussianNB(Estimator):
    """Gaussian naive Bayes.

    priors: Prior probabilities of the classes, in order; null takes the shares in the data. Default None.
    var_smoothing: This part of the largest column variance is added to every variance, for stability. Default 1e-09.
    """

    def __init__(self, *,
                 priors: Any = UNSET,
                 var_smoothing: float = UNSET) -> None:
        super().__init__(**_given(locals()))


class GaussianRandomProjection(Estimator):
    """Rows times a matrix of normal numbers, which keeps distances.

    n_components: Components to make; auto: as many as keep all distances within eps, by the Johnson-Lindenstrauss lemma. Default 'auto'.
    eps: Distortion of squared distances that "auto" allows. Default 0.1.
    compute_inverse_components: Whether fit computes inverse_components_. Default False.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    """

    def __init__(self, *,
                 n_components: int | str = UNSET,
                 eps: float = UNSET,
                 compute_inverse_components: bool = UNSET,
                 random_state: int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class GenericUnivariateSelect(Estimator):
    """Keep columns by their scores, in a way that mode names.

    score_func: Score of a column: f_classif and chi2 for classes, f_regression for values. Default 'f_classif'.
    mode: What is kept: a share of the columns, a number of them, or those below a rate of errors. Default 'percentile'.
    param: Of percentile the columns to keep, in percent, of k_best their number or all, of the others the rate. Default 1e-05.
    """

    def __init__(self, *,
                 score_func: str = UNSET,
                 mode: str = UNSET,
                 param: float | str = UNSET) -> None:
        super().__init__(**_given(locals()))


class GradientBoostingClassifier(Estimator):
    """Gradient boosting of classes: small trees on all cuts of all columns, each fitted to the slopes of the loss.

    loss: What the trees lower. Default 'log_loss'.
    learning_rate: Share of each tree's prediction that is added. Default 0.1.
    n_estimators: Stages; each has a tree, or one for each of many classes. Default 100.
    subsample: Share of the rows that each stage draws. Default 1.0.
    criterion: Accepted for compatibility and ignored. Default 'deprecated'.
    min_samples_split: Fewest rows of a node that is split, as a number or a share of all. Default 2.
    min_samples_leaf: Fewest rows of a leaf, as a number or a share of all. Default 1.
    min_weight_fraction_leaf: Least share of the weight in a leaf. Default 0.0.
    max_depth: Deepest a tree may get; null for no limit. Default 3.
    min_impurity_decrease: Least decrease of impurity by a split. Default 0.0.
    init: What comes before the trees: zero, or null for the best constant. Default None.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    max_features: Columns looked at for a split; null for all. Default None.
    verbose: Accepted for compatibility and ignored. Default 0.
    max_leaf_nodes: Most leaves of a tree, grown best first; null for no limit. Default None.
    warm_start: Accepted for compatibility and ignored. Default False.
    validation_fraction: Share of the rows that n_iter_no_change sets aside. Default 0.1.
    n_iter_no_change: Stages without improvement on the rows set aside before the end; null for no such end. Default None.
    tol: Least improvement that counts. Default 0.0001.
    ccp_alpha: What a leaf costs when trees are pruned; 0 for no pruning. Default 0.0.
    """

    def __init__(self, *,
                 loss: str = UNSET,
                 learning_rate: float = UNSET,
                 n_estimators: int = UNSET,
                 subsample: float = UNSET,
                 criterion: str = UNSET,
                 min_samples_split: int | float = UNSET,
                 min_samples_leaf: int | float = UNSET,
                 min_weight_fraction_leaf: float = UNSET,
                 max_depth: int | None = UNSET,
                 min_impurity_decrease: float = UNSET,
                 init: str | None = UNSET,
                 random_state: int | None = UNSET,
                 max_features: str | int | float | None = UNSET,
                 verbose: int | bool = UNSET,
                 max_leaf_nodes: int | None = UNSET,
                 warm_start: bool = UNSET,
                 validation_fraction: float = UNSET,
                 n_iter_no_change: int | None = UNSET,
                 tol: float = UNSET,
                 ccp_alpha: float = UNSET) -> None:
        super().__init__(**_given(locals()))


class GradientBoostingRegressor(Estimator):
    """Gradient boosting of values: small trees on all cuts of all columns, each fitted to the slopes of the loss.

    loss: What the trees lower. Default 'squared_error'.
    learning_rate: Share of each tree's prediction that is added. Default 0.1.
    n_estimators: Stages; each has a tree, or one for each of many classes. Default 100.
    subsample: Share of the rows that each stage draws. Default 1.0.
    criterion: Accepted for compatibility and ignored. Default 'deprecated'.
    min_samples_split: Fewest rows of a node that is split, as a number or a share of all. Default 2.
    min_samples_leaf: Fewest rows of a leaf, as a number or a share of all. Default 1.
    min_weight_fraction_leaf: Least share of the weight in a leaf. Default 0.0.
    max_depth: Deepest a tree may get; null for no limit. Default 3.
    min_impurity_decrease: Least decrease of impurity by a split. Default 0.0.
    init: What comes before the trees: zero, or null for the best constant. Default None.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    max_features: Columns looked at for a split; null for all. Default None.
    verbose: Accepted for compatibility and ignored. Default 0.
    max_leaf_nodes: Most leaves of a tree, grown best first; null for no limit. Default None.
    warm_start: Accepted for compatibility and ignored. Default False.
    validation_fraction: Share of the rows that n_iter_no_change sets aside. Default 0.1.
    n_iter_no_change: Stages without improvement on the rows set aside before the end; null for no such end. Default None.
    tol: Least improvement that counts. Default 0.0001.
    ccp_alpha: What a leaf costs when trees are pruned; 0 for no pruning. Default 0.0.
    alpha: The quantile of loss quantile, and that of huber's errors. Default 0.9.
    """

    def __init__(self, *,
                 loss: str = UNSET,
                 learning_rate: float = UNSET,
                 n_estimators: int = UNSET,
                 subsample: float = UNSET,
                 criterion: str = UNSET,
                 min_samples_split: int | float = UNSET,
                 min_samples_leaf: int | float = UNSET,
                 min_weight_fraction_leaf: float = UNSET,
                 max_depth: int | None = UNSET,
                 min_impurity_decrease: float = UNSET,
                 init: str | None = UNSET,
                 random_state: int | None = UNSET,
                 max_features: str | int | float | None = UNSET,
                 verbose: int | bool = UNSET,
                 max_leaf_nodes: int | None = UNSET,
                 warm_start: bool = UNSET,
                 validation_fraction: float = UNSET,
                 n_iter_no_change: int | None = UNSET,
                 tol: float = UNSET,
                 ccp_alpha: float = UNSET,
                 alpha: float = UNSET) -> None:
        super().__init__(**_given(locals()))


class HDBSCAN(Estimator):
    """Clusters that are dense over the widest range of densities, and noise.

    min_cluster_size: Rows that make a cluster. Default 5.
    min_samples: The neighbour, the row itself counted, whose distance is the least of a row; null takes min_cluster_size. Default None.
    cluster_selection_epsilon: Clusters that part at less than this distance stay together. Default 0.0.
    max_cluster_size: Larger clusters are divided. Default None.
    alpha: Divides the distances, not those to neighbours. Default 1.0.
    cluster_selection_method: eom: the clusters that exist over most of the density; leaf: those that part no further. Default 'eom'.
    allow_single_cluster: Whether all rows may be one cluster. Default False.
    store_centers: Which centres of the clusters are kept. Default None.
    copy: Accepted for compatibility and ignored. Default False.
    algorithm: A hint: few columns are searched in a k-d tree, many by scanning, with any value; the neighbours are the same. Default 'auto'.
    leaf_size: Accepted for compatibility and ignored. Default 30.
    p: Power of the Minkowski metric; null means 2. Default None.
    metric: Distance. Default 'euclidean'.
    metric_params: Accepted for compatibility and ignored. Default None.
    n_jobs: Accepted for compatibility and ignored. Default None.
    """

    def __init__(self, *,
                 min_cluster_size: int = UNSET,
                 min_samples: int | None = UNSET,
                 cluster_selection_epsilon: float = UNSET,
                 max_cluster_size: int | None = UNSET,
                 alpha: float = UNSET,
                 cluster_selection_method: str = UNSET,
                 allow_single_cluster: bool = UNSET,
                 store_centers: str | None = UNSET,
                 copy: bool = UNSET,
                 algorithm: str = UNSET,
                 leaf_size: int = UNSET,
                 p: float | None = UNSET,
                 metric: str = UNSET,
                 metric_params: None = UNSET,
                 n_jobs: int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class HashingVectorizer(Estimator):
    """Turn a column of texts into counts of its terms, in columns that a hash of the term names.

    input: Accepted for compatibility and ignored. Default 'content'.
    encoding: Accepted for compatibility and ignored. Default 'utf-8'.
    decode_error: Accepted for compatibility and ignored. Default 'strict'.
    strip_accents: Take accents off: ascii keeps nothing but ASCII. Default None.
    lowercase: Turn all to lower case first. Default True.
    preprocessor: Accepted for compatibility and ignored. Default None.
    tokenizer: Accepted for compatibility and ignored. Default None.
    stop_words: Words that are left out: scikit-learn's English list, or a list of yours. Default None.
    token_pattern: The regular expression of a word, where the analyzer is word; RE2's, with Unicode's \\w, \\d and \\s. Default
        '(?u)\\\\b\\\\w\\\\w+\\\\b'.
    ngram_range: The least and the most words or characters of a term. Default [1, 1].
    analyzer: Terms of words, of characters, or of characters within words that have blanks around them. Default 'word'.
    n_features: Columns that terms are hashed to. Default 1048576.
    binary: Give every column that a text has the value 1. Default False.
    norm: The norm of each row that becomes 1; null leaves rows alone. Default 'l2'.
    alternate_sign: Count half of the terms downwards, so that collisions cancel out. Default True.
    dtype: Accepted for compatibility and ignored. Default 'float64'.
    """

    def __init__(self, *,
                 input: str = UNSET,
                 encoding: str = UNSET,
                 decode_error: str = UNSET,
                 strip_accents: str | None = UNSET,
                 lowercase: bool = UNSET,
                 preprocessor: None = UNSET,
                 tokenizer: None = UNSET,
                 stop_words: Any = UNSET,
                 token_pattern: str = UNSET,
                 ngram_range: Any = UNSET,
                 analyzer: str = UNSET,
                 n_features: int = UNSET,
                 binary: bool = UNSET,
                 norm: str | None = UNSET,
                 alternate_sign: bool = UNSET,
                 dtype: str = UNSET) -> None:
        super().__init__(**_given(locals()))


class HistGradientBoostingClassifier(Estimator):
    """Gradient boosting: trees on binned columns, each fitted to what those before it leave. Takes missing values and categories.

    loss: The loss. Default 'log_loss'.
    learning_rate: What the trees' predictions are multiplied by. Default 0.1.
    max_iter: Most iterations; each grows a tree, with more than two classes one for each. Default 100.
    max_leaf_nodes: Most leaves of a tree; null for no limit. Default 31.
    max_depth: Deepest a tree may get; null for no limit. Default None.
    min_samples_leaf: Fewest rows of a leaf. Default 20.
    l2_regularization: Added to the second derivatives of a leaf: shrinks light leaves. Default 0.0.
    max_features: Share of the columns, drawn anew, that each node looks at. Default 1.0.
    max_bins: Most bins of a column; one more is for missing values. Default 255.
    categorical_features: Columns of categories: those that are nominal in the data set, or a list of names or positions, or a flag for each column.
        Default 'from_dtype'.
    monotonic_cst: Columns in which the prediction may only rise (1) or only fall (-1): a number for each column, or an object by name. Default None.
    interaction_cst: Sets of columns, by position, that may be cut below each other; columns in no set are one more. Default None.
    warm_start: Only false: every fit starts anew. Default False.
    early_stopping: Stop when the score does not get better; auto does so with more than 10,000 rows. Default 'auto'.
    scoring: The score of early stopping: the loss that is fitted. Default 'loss'.
    validation_fraction: Rows left out to be scored, as a share or a number; null scores the fitted rows. Default 0.1.
    n_iter_no_change: Iterations within which the score must get better. Default 10.
    tol: By how much it must get better. Default 1e-07.
    verbose: Accepted for compatibility and ignored. Default 0.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    class_weight: Weight of each class: an object by class name, balanced, or null for 1 each. Default None.
    others: LightGBM's and XGBoost's names of these parameters, such as num_leaves and reg_lambda.
    """

    def __init__(self, *,
                 loss: str = UNSET,
                 learning_rate: float = UNSET,
                 max_iter: int = UNSET,
                 max_leaf_nodes: int | None = UNSET,
                 max_depth: int | None = UNSET,
                 min_samples_leaf: int = UNSET,
                 l2_regularization: float = UNSET,
                 max_features: float = UNSET,
                 max_bins: int = UNSET,
                 categorical_features: Any = UNSET,
                 monotonic_cst: Any = UNSET,
                 interaction_cst: Any = UNSET,
                 warm_start: bool = UNSET,
                 early_stopping: str | bool = UNSET,
                 scoring: str = UNSET,
                 validation_fraction: float | int | None = UNSET,
                 n_iter_no_change: int = UNSET,
                 tol: float = UNSET,
                 verbose: int | bool = UNSET,
                 random_state: int | None = UNSET,
                 class_weight: Any = UNSET,
                 **others: Any) -> None:
        super().__init__(**of_peers("HistGradientBoostingClassifier", _given(locals())))


class HistGradientBoostingRegressor(Estimator):
    """Gradient boosting of values: trees on binned columns, each fitted to what those before it leave. Takes missing values and categories.

    loss: The loss. poisson and gamma predict by exp() and need a target of at least, or above, 0. Default 'squared_error'.
    quantile: Which quantile loss quantile predicts. Default None.
    learning_rate: What the trees' predictions are multiplied by. Default 0.1.
    max_iter: Most iterations; each grows a tree, with more than two classes one for each. Default 100.
    max_leaf_nodes: Most leaves of a tree; null for no limit. Default 31.
    max_depth: Deepest a tree may get; null for no limit. Default None.
    min_samples_leaf: Fewest rows of a leaf. Default 20.
    l2_regularization: Added to the second derivatives of a leaf: shrinks light leaves. Default 0.0.
    max_features: Share of the columns, drawn anew, that each node looks at. Default 1.0.
    max_bins: Most bins of a column; one more is for missing values. Default 255.
    categorical_features: Columns of categories: those that are nominal in the data set, or a list of names or positions, or a flag for each column.
        Default 'from_dtype'.
    monotonic_cst: Columns in which the prediction may only rise (1) or only fall (-1): a number for each column, or an object by name. Default None.
    interaction_cst: Sets of columns, by position, that may be cut below each other; columns in no set are one more. Default None.
    warm_start: Only false: every fit starts anew. Default False.
    early_stopping: Stop when the score does not get better; auto does so with more than 10,000 rows. Default 'auto'.
    scoring: The score of early stopping: the loss that is fitted. Default 'loss'.
    validation_fraction: Rows left out to be scored, as a share or a number; null scores the fitted rows. Default 0.1.
    n_iter_no_change: Iterations within which the score must get better. Default 10.
    tol: By how much it must get better. Default 1e-07.
    verbose: Accepted for compatibility and ignored. Default 0.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    others: LightGBM's and XGBoost's names of these parameters, such as num_leaves and reg_lambda.
    """

    def __init__(self, *,
                 loss: str = UNSET,
                 quantile: float | None = UNSET,
                 learning_rate: float = UNSET,
                 max_iter: int = UNSET,
                 max_leaf_nodes: int | None = UNSET,
                 max_depth: int | None = UNSET,
                 min_samples_leaf: int = UNSET,
                 l2_regularization: float = UNSET,
                 max_features: float = UNSET,
                 max_bins: int = UNSET,
                 categorical_features: Any = UNSET,
                 monotonic_cst: Any = UNSET,
                 interaction_cst: Any = UNSET,
                 warm_start: bool = UNSET,
                 early_stopping: str | bool = UNSET,
                 scoring: str = UNSET,
                 validation_fraction: float | int | None = UNSET,
                 n_iter_no_change: int = UNSET,
                 tol: float = UNSET,
                 verbose: int | bool = UNSET,
                 random_state: int | None = UNSET,
                 **others: Any) -> None:
        super().__init__(**of_peers("HistGradientBoostingRegressor", _given(locals())))


class HuberRegressor(Estimator):
    """Linear regression robust to outliers: Huber's loss, its scale found together with the coefficients.

    epsilon: Scales beyond which a residual counts by its distance. Default 1.35.
    max_iter: Largest number of iterations. Default 100.
    alpha: Strength of the L2 penalty. Default 0.0001.
    warm_start: Accepted for compatibility and ignored. Default False.
    fit_intercept: Fit an intercept, which is not penalised. Default True.
    tol: Has no influence: iterations go on to rounding. Default 1e-05.
    """

    def __init__(self, *,
                 epsilon: float = UNSET,
                 max_iter: int = UNSET,
                 alpha: float = UNSET,
                 warm_start: bool = UNSET,
                 fit_intercept: bool = UNSET,
                 tol: float = UNSET) -> None:
        super().__init__(**_given(locals()))


class IncrementalPCA(Estimator):
    """Principal component analysis by batches of rows.

    n_components: Components to keep; null for as many as the first batch has. Default None.
    whiten: Scale the result to unit variance. Default False.
    copy: Accepted for compatibility and ignored. Default True.
    batch_size: Rows of a batch; null for five times the columns. Default None.
    """

    def __init__(self, *,
                 n_components: int | None = UNSET,
                 whiten: bool = UNSET,
                 copy: bool = UNSET,
                 batch_size: int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class IsolationForest(Estimator):
    """Outliers by the lengths of the paths that isolate them in random trees.

    n_estimators: Number of trees. Default 100.
    max_samples: Rows of each tree: a number, a share of all, or auto for at most 256. Default 'auto'.
    contamination: Share of the fitted rows that are outliers; auto: the threshold of the method's authors. Default 'auto'.
    max_features: Columns of each tree: a number, or a share of all. Default 1.0.
    bootstrap: Whether the rows of a tree are drawn with replacement. Default False.
    n_jobs: Accepted for compatibility and ignored. Default None.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    verbose: Accepted for compatibility and ignored. Default 0.
    warm_start: Accepted for compatibility and ignored. Default False.
    """

    def __init__(self, *,
                 n_estimators: int = UNSET,
                 max_samples: str | int | float = UNSET,
                 contamination: str | float = UNSET,
                 max_features: int | float = UNSET,
                 bootstrap: bool = UNSET,
                 n_jobs: int | None = UNSET,
                 random_state: int | None = UNSET,
                 verbose: int | bool = UNSET,
                 warm_start: bool = UNSET) -> None:
        super().__init__(**_given(locals()))


class IsotonicRegression(Estimator):
    """The nearest function of one column that never falls, or never rises.

    y_min: Least value that is predicted; null for none. Default None.
    y_max: Greatest value that is predicted; null for none. Default None.
    increasing: Never fall, or never rise; auto: as the sign of Spearman's rank correlation. Default True.
    out_of_bounds: What is predicted beyond the fitted values: NaN, the value at the nearest end, or an error. Default 'nan'.
    """

    def __init__(self, *,
                 y_min: float | None = UNSET,
                 y_max: float | None = UNSET,
                 increasing: bool | str = UNSET,
                 out_of_bounds: str = UNSET) -> None:
        super().__init__(**_given(locals()))


class IterativeImputer(Estimator):
    """Replace missing values by what regressions on the other columns predict, round after round.

    estimator: Accepted for compatibility and ignored. Default None.
    missing_values: What stands for a missing value: "NaN" or a number. Default 'NaN'.
    sample_posterior: Only false: the mean of what is predicted is taken. Default False.
    max_iter: Largest number of rounds. Default 10.
    tol: Stop when no row changes by more, in sum, as a share of the largest size of a value. Default 0.001.
    n_nearest_features: Columns that one is predicted from, drawn by their correlation with it; null takes all. Default None.
    initial_strategy: What values are missing at first. Default 'mean'.
    fill_value: The constant of initial_strategy "constant"; null: 0. Default None.
    imputation_order: Columns by how many values they lack, from left to right, from right to left, or shuffled each round. Default 'ascending'.
    skip_complete: Make no regression for columns that lack nothing in the fitted rows. Default False.
    min_value: Least value, one or one for each column; null for none. Default None.
    max_value: Greatest value, one or one for each column; null for none. Default None.
    verbose: Accepted for compatibility and ignored. Default 0.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    add_indicator: Add a column of zeros and ones for each column that lacked values. Default False.
    keep_empty_features: Keep columns without any value, filled with 0 or the constant. Default False.
    """

    def __init__(self, *,
                 estimator: None = UNSET,
                 missing_values: str | float | None = UNSET,
                 sample_posterior: bool = UNSET,
                 max_iter: int = UNSET,
                 tol: float = UNSET,
                 n_nearest_features: int | None = UNSET,
                 initial_strategy: str = UNSET,
                 fill_value: float | None = UNSET,
                 imputation_order: str = UNSET,
                 skip_complete: bool = UNSET,
                 min_value: Any = UNSET,
                 max_value: Any = UNSET,
                 verbose: int = UNSET,
                 random_state: int | None = UNSET,
                 add_indicator: bool = UNSET,
                 keep_empty_features: bool = UNSET) -> None:
        super().__init__(**_given(locals()))


class KBinsDiscretizer(Estimator):
    """Cut columns into bins.

    n_bins: Bins of each column, or a list with one number a column. Default 5.
    encode: A column a bin, or the number of the bin. Default 'onehot'.
    strategy: Where the edges are. Default 'quantile'.
    quantile_method: Which quantiles, for strategy quantile. Default 'averaged_inverted_cdf'.
    dtype: Accepted for compatibility and ignored. Default None.
    subsample: Most rows to find the edges from; null for all. Default 200000.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    """

    def __init__(self, *,
                 n_bins: Any = UNSET,
                 encode: str = UNSET,
                 strategy: str = UNSET,
                 quantile_method: str = UNSET,
                 dtype: None | str = UNSET,
                 subsample: int | None = UNSET,
                 random_state: int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class KMeans(Estimator):
    """Clusters around means, from k-means++ starts.

    n_clusters: Number of clusters. Default 8.
    init: Where centres start: k-means++ (greedy), random rows, or the centres, one row each. Default 'k-means++'.
    n_init: Runs from different starts; auto: 10 with init="random", else 1. Default 'auto'.
    max_iter: Most iterations of a run. Default 300.
    tol: A run ends when the centres move less, squared, relative to the mean variance of the columns. Default 0.0001.
    verbose: Accepted for compatibility and ignored. Default 0.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    copy_x: Accepted for compatibility and ignored. Default True.
    algorithm: Both give the nearest centres exactly; the same code does both. Default 'lloyd'.
    """

    def __init__(self, *,
                 n_clusters: int = UNSET,
                 init: Any = UNSET,
                 n_init: str | int = UNSET,
                 max_iter: int = UNSET,
                 tol: float = UNSET,
                 verbose: int | bool = UNSET,
                 random_state: int | None = UNSET,
                 copy_x: bool = UNSET,
                 algorithm: str = UNSET) -> None:
        super().__init__(**_given(locals()))


class KNNImputer(Estimator):
    """Replace missing values by the mean of the nearest rows that have them.

    missing_values: What stands for a missing value: "NaN" or a number. Default 'NaN'.
    n_neighbors: Rows whose values are averaged. Default 5.
    weights: All neighbours alike, or by the inverse of their distance. Default 'uniform'.
    metric: The distance: Euclidean over the columns that both rows have. Default 'nan_euclidean'.
    copy: Accepted for compatibility and ignored. Default True.
    add_indicator: Add a column of zeros and ones for each column that lacked values. Default False.
    keep_empty_features: Keep columns without any value, filled with 0. Default False.
    """

    def __init__(self, *,
                 missing_values: str | float | None = UNSET,
                 n_neighbors: int = UNSET,
                 weights: str = UNSET,
                 metric: str = UNSET,
                 copy: bool = UNSET,
                 add_indicator: bool = UNSET,
                 keep_empty_features: bool = UNSET) -> None:
        super().__init__(**_given(locals()))


class KNeighborsClassifier(Estimator):
    """Vote of the k nearest training rows.

    n_neighbors: Number of neighbours that vote. Default 5.
    weights: uniform: each neighbour counts 1 (null means the same); distance: 1 / distance. Default 'uniform'.
    algorithm: A hint: few columns are searched in a k-d tree, many by scanning, with any value; the neighbours are the same. Default 'auto'.
    leaf_size: Accepted for compatibility and ignored. Default 30.
    p: Power of the Minkowski metric; null means 2. Default 2.0.
    metric: Distance. Default 'minkowski'.
    metric_params: Accepted for compatibility and ignored. Default None.
    n_jobs: Accepted for compatibility and ignored. Default None.
    """

    def __init__(self, *,
                 n_neighbors: int = UNSET,
                 weights: str | None = UNSET,
                 algorithm: str = UNSET,
                 leaf_size: int = UNSET,
                 p: float | None = UNSET,
                 metric: str = UNSET,
                 metric_params: None = UNSET,
                 n_jobs: int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class KNeighborsRegressor(Estimator):
    """Mean target of the k nearest training rows.

    n_neighbors: Number of neighbours. Default 5.
    weights: uniform: each neighbour counts 1 (null means the same); distance: 1 / distance. Default 'uniform'.
    algorithm: A hint: few columns are searched in a k-d tree, many by scanning, with any value; the neighbours are the same. Default 'auto'.
    leaf_size: Accepted for compatibility and ignored. Default 30.
    p: Power of the Minkowski metric; null means 2. Default 2.0.
    metric: Distance. Default 'minkowski'.
    metric_params: Accepted for compatibility and ignored. Default None.
    n_jobs: Accepted for compatibility and ignored. Default None.
    """

    def __init__(self, *,
                 n_neighbors: int = UNSET,
                 weights: str | None = UNSET,
                 algorithm: str = UNSET,
                 leaf_size: int = UNSET,
                 p: float | None = UNSET,
                 metric: str = UNSET,
                 metric_params: None = UNSET,
                 n_jobs: int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class KernelDensity(Estimator):
    """Density of rows, as a sum of kernels around the fitted rows.

    bandwidth: Width of the kernels, or the rule that finds it. Default 1.0.
    algorithm: A hint: all pairs are summed with any value. Default 'auto'.
    kernel: The kernel. Default 'gaussian'.
    metric: Distance. Default 'euclidean'.
    atol: Accepted for compatibility and ignored. Default 0.0.
    rtol: Accepted for compatibility and ignored. Default 0.0.
    breadth_first: Accepted for compatibility and ignored. Default True.
    leaf_size: Accepted for compatibility and ignored. Default 40.
    metric_params: Accepted for compatibility and ignored. Default None.
    """

    def __init__(self, *,
                 bandwidth: float | str = UNSET,
                 algorithm: str = UNSET,
                 kernel: str = UNSET,
                 metric: str = UNSET,
                 atol: float = UNSET,
                 rtol: float = UNSET,
                 breadth_first: bool = UNSET,
                 leaf_size: int = UNSET,
                 metric_params: None = UNSET) -> None:
        super().__init__(**_given(locals()))


class KernelPCA(Estimator):
    """Principal components in the space of a kernel.

    n_components: Components to find; null for all that are not 0. Default None.
    kernel: The kernel. Default 'linear'.
    gamma: Factor of the rbf, poly and sigmoid kernels; null for 1 / n_features. Default None.
    degree: Degree of the poly kernel. Default 3.0.
    coef0: Constant of the poly and sigmoid kernels. Default 1.0.
    kernel_params: Accepted for compatibility and ignored. Default None.
    alpha: Accepted for compatibility and ignored. Default 1.0.
    fit_inverse_transform: Accepted for compatibility and ignored. Default False.
    eigen_solver: Accepted for compatibility and ignored. Default 'auto'.
    tol: Accepted for compatibility and ignored. Default 0.0.
    max_iter: Accepted for compatibility and ignored. Default None.
    iterated_power: Accepted for compatibility and ignored. Default 'auto'.
    remove_zero_eig: Leave out components whose eigenvalue is 0. Default False.
    random_state: Accepted for compatibility and ignored. Default None.
    copy_X: Accepted for compatibility and ignored. Default True.
    n_jobs: Accepted for compatibility and ignored. Default None.
    """

    def __init__(self, *,
                 n_components: int | None = UNSET,
                 kernel: str = UNSET,
                 gamma: float | None = UNSET,
                 degree: float = UNSET,
                 coef0: float = UNSET,
                 kernel_params: None = UNSET,
                 alpha: float = UNSET,
                 fit_inverse_transform: bool = UNSET,
                 eigen_solver: str = UNSET,
                 tol: float = UNSET,
                 max_iter: int | None = UNSET,
                 iterated_power: int | str = UNSET,
                 remove_zero_eig: bool = UNSET,
                 random_state: int | None = UNSET,
                 copy_X: bool = UNSET,
                 n_jobs: int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class KernelRidge(Estimator):
    """Ridge regression on the features of a kernel.

    alpha: Penalty of the squares; a list must have one number, for there is one target. Default 1.0.
    kernel: The kernel. Default 'linear'.
    gamma: Factor of the rbf, polynomial, sigmoid and laplacian kernels; null for 1 / n_features. Default None.
    degree: Degree of the polynomial kernel. Default 3.0.
    coef0: Constant of the polynomial and sigmoid kernels. Default 1.0.
    kernel_params: Accepted for compatibility and ignored. Default None.
    """

    def __init__(self, *,
                 alpha: Any = UNSET,
                 kernel: str = UNSET,
                 gamma: float | None = UNSET,
                 degree: float = UNSET,
                 coef0: float = UNSET,
                 kernel_params: None = UNSET) -> None:
        super().__init__(**_given(locals()))


class Lars(Estimator):
    """Least angle regression: columns join one after the other.

    fit_intercept: Fit an intercept. Default True.
    verbose: Accepted for compatibility and ignored. Default False.
    precompute: Accepted for compatibility and ignored. Default 'auto'.
    eps: Least pivot of the Cholesky factor. Default 2.220446049250313e-16.
    copy_X: Accepted for compatibility and ignored. Default True.
    n_nonzero_coefs: Largest number of steps. Default 500.
    fit_path: Give all knots in alphas_, active_ and coef_path_; false: the last alpha alone. Default True.
    jitter: Add a uniform number below this to each value of the target; null for none. Default None.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    """

    def __init__(self, *,
                 fit_intercept: bool = UNSET,
                 verbose: bool | int = UNSET,
                 precompute: str | bool = UNSET,
                 eps: float = UNSET,
                 copy_X: bool = UNSET,
                 n_nonzero_coefs: int = UNSET,
                 fit_path: bool = UNSET,
                 jitter: float | None = UNSET,
                 random_state: int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class LarsCV(Estimator):
    """Least angle regression, its end chosen by cross-validation.

    fit_intercept: Fit an intercept. Default True.
    max_iter: Largest number of steps. Default 500.
    verbose: Accepted for compatibility and ignored. Default False.
    precompute: Accepted for compatibility and ignored. Default 'auto'.
    eps: Least pivot of the Cholesky factor. Default 2.220446049250313e-16.
    copy_X: Accepted for compatibility and ignored. Default True.
    cv: Number of folds; null for 5. Default None.
    max_n_alphas: Alphas of the folds' knots that are compared, about. Default 1000.
    n_jobs: Accepted for compatibility and ignored. Default None.
    """

    def __init__(self, *,
                 fit_intercept: bool = UNSET,
                 max_iter: int = UNSET,
                 verbose: bool | int = UNSET,
                 precompute: str | bool = UNSET,
                 eps: float = UNSET,
                 copy_X: bool = UNSET,
                 cv: int | None = UNSET,
                 max_n_alphas: int = UNSET,
                 n_jobs: int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class Lasso(Estimator):
    """Least squares with an L1 penalty.

    alpha: Strength of the penalty. Default 1.0.
    fit_intercept: Fit an intercept, which is not penalised. Default True.
    precompute: Accepted for compatibility and ignored. Default False.
    copy_X: Accepted for compatibility and ignored. Default True.
    max_iter: Largest number of passes over the coordinates. Default 1000.
    tol: Stop when the duality gap is at most this part of the target's sum of squares. Default 0.0001.
    warm_start: Accepted for compatibility and ignored. Default False.
    positive: Coefficients of at least 0. Default False.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    selection: Coordinates in order, or drawn. Default 'cyclic'.
    """

    def __init__(self, *,
                 alpha: float = UNSET,
                 fit_intercept: bool = UNSET,
                 precompute: Any = UNSET,
                 copy_X: bool = UNSET,
                 max_iter: int = UNSET,
                 tol: float = UNSET,
                 warm_start: bool = UNSET,
                 positive: bool = UNSET,
                 random_state: int | None = UNSET,
                 selection: str = UNSET) -> None:
        super().__init__(**_given(locals()))


class LassoCV(Estimator):
    """Lasso with its penalty chosen by cross-validation.

    eps: The smallest alpha of a grid, relative to the largest. Default 0.001.
    alphas: Number of alphas of a grid, or a list. Default 100.
    fit_intercept: Fit an intercept, which is not penalised. Default True.
    precompute: Accepted for compatibility and ignored. Default 'auto'.
    max_iter: Largest number of passes over the coordinates. Default 1000.
    tol: Stop when the duality gap is at most this part of the target's sum of squares. Default 0.0001.
    copy_X: Accepted for compatibility and ignored. Default True.
    cv: Number of folds; null for 5. Default None.
    verbose: Accepted for compatibility and ignored. Default False.
    n_jobs: Accepted for compatibility and ignored. Default None.
    positive: Coefficients of at least 0. Default False.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    selection: Coordinates in order, or drawn. Default 'cyclic'.
    """

    def __init__(self, *,
                 eps: float = UNSET,
                 alphas: Any = UNSET,
                 fit_intercept: bool = UNSET,
                 precompute: Any = UNSET,
                 max_iter: int = UNSET,
                 tol: float = UNSET,
                 copy_X: bool = UNSET,
                 cv: int | None = UNSET,
                 verbose: bool | int = UNSET,
                 n_jobs: int | None = UNSET,
                 positive: bool = UNSET,
                 random_state: int | None = UNSET,
                 selection: str = UNSET) -> None:
        super().__init__(**_given(locals()))


class LassoLars(Estimator):
    """The lasso, along the path of least angles.

    alpha: Strength of the L1 penalty; 0 for least squares. Default 1.0.
    fit_intercept: Fit an intercept. Default True.
    verbose: Accepted for compatibility and ignored. Default False.
    precompute: Accepted for compatibility and ignored. Default 'auto'.
    eps: Least pivot of the Cholesky factor. Default 2.220446049250313e-16.
    copy_X: Accepted for compatibility and ignored. Default True.
    max_iter: Largest number of steps. Default 500.
    positive: Coefficients of at least 0. Default False.
    fit_path: Give all knots in alphas_, active_ and coef_path_; false: the last alpha alone. Default True.
    jitter: Add a uniform number below this to each value of the target; null for none. Default None.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    """

    def __init__(self, *,
                 alpha: float = UNSET,
                 fit_intercept: bool = UNSET,
                 verbose: bool | int = UNSET,
                 precompute: str | bool = UNSET,
                 eps: float = UNSET,
                 copy_X: bool = UNSET,
                 max_iter: int = UNSET,
                 positive: bool = UNSET,
                 fit_path: bool = UNSET,
                 jitter: float | None = UNSET,
                 random_state: int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class LassoLarsCV(Estimator):
    """The lasso along the path of least angles, its penalty chosen by cross-validation.

    fit_intercept: Fit an intercept. Default True.
    max_iter: Largest number of steps. Default 500.
    verbose: Accepted for compatibility and ignored. Default False.
    precompute: Accepted for compatibility and ignored. Default 'auto'.
    eps: Least pivot of the Cholesky factor. Default 2.220446049250313e-16.
    copy_X: Accepted for compatibility and ignored. Default True.
    cv: Number of folds; null for 5. Default None.
    max_n_alphas: Alphas of the folds' knots that are compared, about. Default 1000.
    n_jobs: Accepted for compatibility and ignored. Default None.
    positive: Coefficients of at least 0. Default False.
    """

    def __init__(self, *,
                 fit_intercept: bool = UNSET,
                 max_iter: int = UNSET,
                 verbose: bool | int = UNSET,
                 precompute: str | bool = UNSET,
                 eps: float = UNSET,
                 copy_X: bool = UNSET,
                 cv: int | None = UNSET,
                 max_n_alphas: int = UNSET,
                 n_jobs: int | None = UNSET,
                 positive: bool = UNSET) -> None:
        super().__init__(**_given(locals()))


class LassoLarsIC(Estimator):
    """The lasso whose penalty has the least information criterion.

    criterion: What is least: Akaike's criterion or the Bayesian. Default 'aic'.
    fit_intercept: Fit an intercept. Default True.
    verbose: Accepted for compatibility and ignored. Default False.
    precompute: Accepted for compatibility and ignored. Default 'auto'.
    eps: Least pivot of the Cholesky factor. Default 2.220446049250313e-16.
    copy_X: Accepted for compatibility and ignored. Default True.
    max_iter: Largest number of steps. Default 500.
    positive: Coefficients of at least 0. Default False.
    noise_variance: Variance of the noise; null: of least squares. Default None.
    """

    def __init__(self, *,
                 criterion: str = UNSET,
                 fit_intercept: bool = UNSET,
                 verbose: bool | int = UNSET,
                 precompute: str | bool = UNSET,
                 eps: float = UNSET,
                 copy_X: bool = UNSET,
                 max_iter: int = UNSET,
                 positive: bool = UNSET,
                 noise_variance: float | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class LedoitWolf(Estimator):
    """Covariance matrix with the shrinkage of Ledoit and Wolf.

    store_precision: Whether the inverse of the covariance is kept. Default True.
    assume_centered: Whether the means of the columns are taken for 0. Default False.
    block_size: Accepted for compatibility and ignored. Default 1000.
    """

    def __init__(self, *,
                 store_precision: bool = UNSET,
                 assume_centered: bool = UNSET,
                 block_size: int = UNSET) -> None:
        super().__init__(**_given(locals()))


class LinearDiscriminantAnalysis(Estimator):
    """Linear discriminant analysis: normal distributions with a common covariance; also projects onto what separates the classes.

    solver: svd forms no covariance; lsqr cannot transform; lsqr and eigen can shrink. Default 'svd'.
    shrinkage: Share by which covariances are pulled towards a multiple of the unit matrix; auto by Ledoit and Wolf. Default None.
    priors: Prior probabilities of the classes, in order; null takes their shares. Default None.
    n_components: Columns of transform; null for as many as there can be. Default None.
    store_covariance: Also give covariance_ with solver svd. Default False.
    tol: Singular values up to this count as 0, with solver svd. Default 0.0001.
    covariance_estimator: Accepted for compatibility and ignored. Default None.
    """

    def __init__(self, *,
                 solver: str = UNSET,
                 shrinkage: float | str | None = UNSET,
                 priors: Any = UNSET,
                 n_components: int | None = UNSET,
                 store_covariance: bool = UNSET,
                 tol: float = UNSET,
                 covariance_estimator: None = UNSET) -> None:
        super().__init__(**_given(locals()))


class LinearRegression(Estimator):
    """Ordinary least squares.

    fit_intercept: Fit an intercept: centre columns and target. Default True.
    copy_X: Accepted for compatibility and ignored. Default True.
    tol: In float32, singular values up to this part of the largest count as 0. Default 1e-06.
    n_jobs: Accepted for compatibility and ignored. Default None.
    positive: Coefficients of at least 0. Default False.
    """

    def __init__(self, *,
                 fit_intercept: bool = UNSET,
                 copy_X: bool = UNSET,
                 tol: float = UNSET,
                 n_jobs: int | None = UNSET,
                 positive: bool = UNSET) -> None:
        super().__init__(**_given(locals()))


class LinearSVC(Estimator):
    """Linear support vector classification.

    penalty: Which norm of the coefficients is penalised. Default 'l2'.
    loss: Of a row on the wrong side of its margin. Default 'squared_hinge'.
    multi_class: ovr: one line a class, against all others. Default 'ovr'.
    class_weight: Weight of each class: an object by class name, balanced, or null for 1 each. Default None.
    C: Inverse of the strength of the penalty. Default 1.0.
    fit_intercept: Fit an intercept, which is penalised. Default True.
    intercept_scaling: The intercept is penalised divided by this. Default 1.0.
    dual: Has no influence on the answer, but is checked as scikit-learn does. Default 'auto'.
    verbose: Accepted for compatibility and ignored. Default 0.
    random_state: Accepted for compatibility and ignored. Default None.
    tol: Has no influence: iterations go on to a relative gap of 1e-9. Default 0.0001.
    max_iter: Largest number of iterations. Default 1000.
    """

    def __init__(self, *,
                 penalty: str = UNSET,
                 loss: str = UNSET,
                 multi_class: str = UNSET,
                 class_weight: Any = UNSET,
                 C: float = UNSET,
                 fit_intercept: bool = UNSET,
                 intercept_scaling: float = UNSET,
                 dual: bool | str = UNSET,
                 verbose: int | bool = UNSET,
                 random_state: int | None = UNSET,
                 tol: float = UNSET,
                 max_iter: int = UNSET) -> None:
        super().__init__(**_given(locals()))


class LinearSVR(Estimator):
    """Linear support vector regression.

    epsilon: Half the width of the tube in which rows have no loss. Default 0.0.
    loss: Of a row outside of the tube. Default 'epsilon_insensitive'.
    C: Inverse of the strength of the penalty. Default 1.0.
    fit_intercept: Fit an intercept, which is penalised. Default True.
    intercept_scaling: The intercept is penalised divided by this. Default 1.0.
    dual: Has no influence on the answer, but is checked as scikit-learn does. Default 'auto'.
    verbose: Accepted for compatibility and ignored. Default 0.
    random_state: Accepted for compatibility and ignored. Default None.
    tol: Has no influence: iterations go on to a relative gap of 1e-9. Default 0.0001.
    max_iter: Largest number of iterations. Default 1000.
    """

    def __init__(self, *,
                 epsilon: float = UNSET,
                 loss: str = UNSET,
                 C: float = UNSET,
                 fit_intercept: bool = UNSET,
                 intercept_scaling: float = UNSET,
                 dual: bool | str = UNSET,
                 verbose: int | bool = UNSET,
                 random_state: int | None = UNSET,
                 tol: float = UNSET,
                 max_iter: int = UNSET) -> None:
        super().__init__(**_given(locals()))


class LocalOutlierFactor(Estimator):
    """Outliers by their density, compared with that of their neighbours.

    n_neighbors: Number of neighbours. Default 20.
    algorithm: A hint: few columns are searched in a k-d tree, many by scanning, with any value; the neighbours are the same. Default 'auto'.
    leaf_size: Accepted for compatibility and ignored. Default 30.
    p: Power of the Minkowski metric; null means 2. Default 2.0.
    metric: Distance. Default 'minkowski'.
    metric_params: Accepted for compatibility and ignored. Default None.
    n_jobs: Accepted for compatibility and ignored. Default None.
    contamination: Share of the fitted rows that are outliers; auto: the threshold of the method's authors. Default 'auto'.
    novelty: Whether rows that it was not fitted with are judged, and not the fitted ones. Default False.
    """

    def __init__(self, *,
                 n_neighbors: int = UNSET,
                 algorithm: str = UNSET,
                 leaf_size: int = UNSET,
                 p: float | None = UNSET,
                 metric: str = UNSET,
                 metric_params: None = UNSET,
                 n_jobs: int | None = UNSET,
                 contamination: str | float = UNSET,
                 novelty: bool = UNSET) -> None:
        super().__init__(**_given(locals()))


class LogisticRegression(Estimator):
    """Logistic regression without penalty, with L1, L2 or both; multinomial for three classes and more.

    penalty: l1, l2, elasticnet, or null for none; deprecated leaves it to C and l1_ratio. Default 'deprecated'.
    C: Inverse of the strength of the penalty; inf for none. Default 1.0.
    l1_ratio: Share of the L1 penalty; null means 0. Default 0.0.
    dual: Solver liblinear with L2 only, where the minimum is the same. Default False.
    tol: Stop when no element of the gradient is larger. Default 0.0001.
    fit_intercept: Add an intercept, which only solver liblinear penalises. Default True.
    intercept_scaling: Solver liblinear penalises the intercept divided by this. Default 1.0.
    class_weight: Weight of each class: an object by class name, balanced, or null for 1 each. Default None.
    random_state: Accepted for compatibility and ignored. Default None.
    solver: How the minimum is found. Default 'lbfgs'.
    max_iter: Largest number of iterations. Default 100.
    verbose: Accepted for compatibility and ignored. Default 0.
    warm_start: Accepted for compatibility and ignored. Default False.
    n_jobs: Accepted for compatibility and ignored. Default None.
    """

    def __init__(self, *,
                 penalty: str | None = UNSET,
                 C: float | str = UNSET,
                 l1_ratio: float | None = UNSET,
                 dual: bool = UNSET,
                 tol: float = UNSET,
                 fit_intercept: bool = UNSET,
                 intercept_scaling: float = UNSET,
                 class_weight: Any = UNSET,
                 random_state: int | None = UNSET,
                 solver: str = UNSET,
                 max_iter: int = UNSET,
                 verbose: int | bool = UNSET,
                 warm_start: bool = UNSET,
                 n_jobs: int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class LogisticRegressionCV(Estimator):
    """Logistic regression with its penalty chosen by cross-validation.

    Cs: Inverse strengths of the penalty to choose from; a number: so many between 1e-4 and 1e4. Default 10.
    l1_ratios: Shares of the L1 penalty to choose from; null and warn: none. Default 'warn'.
    fit_intercept: Add an intercept, which only solver liblinear penalises. Default True.
    cv: Number of folds; null for 5. Default None.
    dual: Solver liblinear with L2 only, where the minimum is the same. Default False.
    penalty: l1, l2 or elasticnet; deprecated leaves it to l1_ratios. Default 'deprecated'.
    scoring: What folds are compared by; null and warn take accuracy. Default 'warn'.
    solver: How a minimum is found. Default 'lbfgs'.
    tol: Stop when no element of the gradient is larger. Default 0.0001.
    max_iter: Largest number of iterations of a fit. Default 100.
    class_weight: Weight of each class: an object by class name, balanced, or null for 1 each. Default None.
    n_jobs: Accepted for compatibility and ignored. Default None.
    verbose: Accepted for compatibility and ignored. Default 0.
    refit: Fit all rows with what is best; false: the mean of each fold's best line. Default True.
    intercept_scaling: Solver liblinear penalises the intercept divided by this. Default 1.0.
    random_state: Accepted for compatibility and ignored. Default None.
    use_legacy_attributes: Attributes by class, as before scikit-learn 1.10; false: arrays by fold, share and C. Default 'warn'.
    """

    def __init__(self, *,
                 Cs: Any = UNSET,
                 l1_ratios: Any = UNSET,
                 fit_intercept: bool = UNSET,
                 cv: int | None = UNSET,
                 dual: bool = UNSET,
                 penalty: str = UNSET,
                 scoring: str | None = UNSET,
                 solver: str = UNSET,
                 tol: float = UNSET,
                 max_iter: int = UNSET,
                 class_weight: Any = UNSET,
                 n_jobs: int | None = UNSET,
                 verbose: int | bool = UNSET,
                 refit: bool = UNSET,
                 intercept_scaling: float = UNSET,
                 random_state: int | None = UNSET,
                 use_legacy_attributes: bool | str = UNSET) -> None:
        super().__init__(**_given(locals()))


class MLPClassifier(Estimator):
    """A network of dense layers, fitted to the logistic loss by Adam, gradient descent or L-BFGS.

    hidden_layer_sizes: Neurons of each hidden layer. Default [100].
    activation: Of the hidden layers. Default 'relu'.
    solver: lbfgs takes all rows in each step, the others take batches; adamw and rmsprop are beyond scikit-learn. Default 'adam'.
    alpha: Strength of the L2 penalty. Default 0.0001.
    batch_size: Rows of a batch; auto takes 200, or all if they are fewer. Default 'auto'.
    learning_rate: How the rate of sgd changes. Default 'constant'.
    learning_rate_init: Size of the first steps of all but lbfgs. Default 0.001.
    power_t: Exponent of invscaling. Default 0.5.
    max_iter: Largest number of epochs, or of iterations of lbfgs. Default 200.
    shuffle: Draw the order of the rows anew in each epoch. Default True.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    tol: Least improvement that counts; lbfgs stops at a gradient this small. Default 0.0001.
    verbose: Send the loss and the score of each epoch as an event. Default False.
    warm_start: Accepted for compatibility and ignored. Default False.
    momentum: Of sgd. Default 0.9.
    nesterovs_momentum: Take Nesterov's momentum. Default True.
    early_stopping: Stop, and keep the best epoch, by the score of rows set aside. Default False.
    validation_fraction: Share of the rows that early_stopping sets aside. Default 0.1.
    beta_1: Decay of adam's mean of gradients. Default 0.9.
    beta_2: Decay of the mean of squared gradients of adam and rmsprop. Default 0.999.
    epsilon: Added to the divisor of adam and rmsprop. Default 1e-08.
    n_iter_no_change: Epochs without improvement before the end. Default 10.
    max_fun: Largest number of evaluations of lbfgs. Default 15000.
    layers: Beyond scikit-learn, in place of hidden_layer_sizes and activation: the hidden layers, such as dense(128, relu), dropout(0.2), batch_norm,
        layer_norm, gelu; before them embeddings of columns of codes. Default None.
    lr_schedule: Beyond scikit-learn: the rate by epoch, step(epochs, factor), exponential(factor), cosine(epochs), warm_restarts(epochs) or
        warmup(epochs). Default None.
    weight_decay: Beyond scikit-learn: times the rate, the share of itself that a weight loses in each step; null is 0.01 with adamw, otherwise 0.
        Default None.
    max_grad_norm: Beyond scikit-learn: longer gradients are cut to this norm. Default None.
    scoring: Beyond scikit-learn: what early_stopping goes by: score (accuracy or R^2), the loss, or a scorer. Default 'score'.
    """

    def __init__(self, *,
                 hidden_layer_sizes: Any = UNSET,
                 activation: str = UNSET,
                 solver: str = UNSET,
                 alpha: float = UNSET,
                 batch_size: str | int = UNSET,
                 learning_rate: str = UNSET,
                 learning_rate_init: float = UNSET,
                 power_t: float = UNSET,
                 max_iter: int = UNSET,
                 shuffle: bool = UNSET,
                 random_state: int | None = UNSET,
                 tol: float = UNSET,
                 verbose: bool | int = UNSET,
                 warm_start: bool = UNSET,
                 momentum: float = UNSET,
                 nesterovs_momentum: bool = UNSET,
                 early_stopping: bool = UNSET,
                 validation_fraction: float = UNSET,
                 beta_1: float = UNSET,
                 beta_2: float = UNSET,
                 epsilon: float = UNSET,
                 n_iter_no_change: int | str = UNSET,
                 max_fun: int = UNSET,
                 layers: Any = UNSET,
                 lr_schedule: str | None = UNSET,
                 weight_decay: float | None = UNSET,
                 max_grad_norm: float | None = UNSET,
                 scoring: str = UNSET) -> None:
        super().__init__(**_given(locals()))


class MLPRegressor(Estimator):
    """A network of dense layers, fitted to squared errors or Poisson's deviance by Adam, gradient descent or L-BFGS.

    loss: What is minimised; poisson predicts exponentials. Default 'squared_error'.
    hidden_layer_sizes: Neurons of each hidden layer. Default [100].
    activation: Of the hidden layers. Default 'relu'.
    solver: lbfgs takes all rows in each step, the others take batches; adamw and rmsprop are beyond scikit-learn. Default 'adam'.
    alpha: Strength of the L2 penalty. Default 0.0001.
    batch_size: Rows of a batch; auto takes 200, or all if they are fewer. Default 'auto'.
    learning_rate: How the rate of sgd changes. Default 'constant'.
    learning_rate_init: Size of the first steps of all but lbfgs. Default 0.001.
    power_t: Exponent of invscaling. Default 0.5.
    max_iter: Largest number of epochs, or of iterations of lbfgs. Default 200.
    shuffle: Draw the order of the rows anew in each epoch. Default True.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    tol: Least improvement that counts; lbfgs stops at a gradient this small. Default 0.0001.
    verbose: Send the loss and the score of each epoch as an event. Default False.
    warm_start: Accepted for compatibility and ignored. Default False.
    momentum: Of sgd. Default 0.9.
    nesterovs_momentum: Take Nesterov's momentum. Default True.
    early_stopping: Stop, and keep the best epoch, by the score of rows set aside. Default False.
    validation_fraction: Share of the rows that early_stopping sets aside. Default 0.1.
    beta_1: Decay of adam's mean of gradients. Default 0.9.
    beta_2: Decay of the mean of squared gradients of adam and rmsprop. Default 0.999.
    epsilon: Added to the divisor of adam and rmsprop. Default 1e-08.
    n_iter_no_change: Epochs without improvement before the end. Default 10.
    max_fun: Largest number of evaluations of lbfgs. Default 15000.
    layers: Beyond scikit-learn, in place of hidden_layer_sizes and activation: the hidden layers, such as dense(128, relu), dropout(0.2), batch_norm,
        layer_norm, gelu; before them embeddings of columns of codes. Default None.
    lr_schedule: Beyond scikit-learn: the rate by epoch, step(epochs, factor), exponential(factor), cosine(epochs), warm_restarts(epochs) or
        warmup(epochs). Default None.
    weight_decay: Beyond scikit-learn: times the rate, the share of itself that a weight loses in each step; null is 0.01 with adamw, otherwise 0.
        Default None.
    max_grad_norm: Beyond scikit-learn: longer gradients are cut to this norm. Default None.
    scoring: Beyond scikit-learn: what early_stopping goes by: score (accuracy or R^2), the loss, or a scorer. Default 'score'.
    """

    def __init__(self, *,
                 loss: str = UNSET,
                 hidden_layer_sizes: Any = UNSET,
                 activation: str = UNSET,
                 solver: str = UNSET,
                 alpha: float = UNSET,
                 batch_size: str | int = UNSET,
                 learning_rate: str = UNSET,
                 learning_rate_init: float = UNSET,
                 power_t: float = UNSET,
                 max_iter: int = UNSET,
                 shuffle: bool = UNSET,
                 random_state: int | None = UNSET,
                 tol: float = UNSET,
                 verbose: bool | int = UNSET,
                 warm_start: bool = UNSET,
                 momentum: float = UNSET,
                 nesterovs_momentum: bool = UNSET,
                 early_stopping: bool = UNSET,
                 validation_fraction: float = UNSET,
                 beta_1: float = UNSET,
                 beta_2: float = UNSET,
                 epsilon: float = UNSET,
                 n_iter_no_change: int | str = UNSET,
                 max_fun: int = UNSET,
                 layers: Any = UNSET,
                 lr_schedule: str | None = UNSET,
                 weight_decay: float | None = UNSET,
                 max_grad_norm: float | None = UNSET,
                 scoring: str = UNSET) -> None:
        super().__init__(**_given(locals()))


class MaxAbsScaler(Estimator):
    """Scale each column by its largest absolute value.

    copy: Accepted for compatibility and ignored. Default True.
    clip: Clip values outside -1 to 1, which new data may have. Default False.
    """

    def __init__(self, *,
                 copy: bool = UNSET,
                 clip: bool = UNSET) -> None:
        super().__init__(**_given(locals()))


class MeanShift(Estimator):
    """Clusters around the places where the rows are densest.

    bandwidth: Radius of a mean; null takes the mean distance to the neighbour with 0.3 of the rows before it. Default None.
    seeds: Where means start, a row each; null starts at the rows, or at their bins. Default None.
    bin_seeding: Whether means start at the bins of a grid that hold rows. Default False.
    min_bin_freq: Rows of a bin that is a seed. Default 1.
    cluster_all: Whether a row farther than the bandwidth from all centres has a cluster. Default True.
    n_jobs: Accepted for compatibility and ignored. Default None.
    max_iter: Steps of a mean. Default 300.
    """

    def __init__(self, *,
                 bandwidth: float | None = UNSET,
                 seeds: Any = UNSET,
                 bin_seeding: bool = UNSET,
                 min_bin_freq: int = UNSET,
                 cluster_all: bool = UNSET,
                 n_jobs: int | None = UNSET,
                 max_iter: int = UNSET) -> None:
        super().__init__(**_given(locals()))


class MinCovDet(Estimator):
    """Covariance matrix that outliers do not spoil, by the minimum covariance determinant.

    store_precision: Whether the inverse of the covariance is kept. Default True.
    assume_centered: Whether the location is taken for 0. Default False.
    support_fraction: Share of the rows that the raw estimate is made of; null for the least that resists: half of them, and half of the columns more.
        Default None.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    """

    def __init__(self, *,
                 store_precision: bool = UNSET,
                 assume_centered: bool = UNSET,
                 support_fraction: float | None = UNSET,
                 random_state: int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class MinMaxScaler(Estimator):
    """Scale each column to a given range.

    feature_range: Lower and upper end of the result, as a list of two. Default [0.0, 1.0].
    clip: Clip values outside the range, which new data may have. Default False.
    copy: Accepted for compatibility and ignored. Default True.
    """

    def __init__(self, *,
                 feature_range: Any = UNSET,
                 clip: bool = UNSET,
                 copy: bool = UNSET) -> None:
        super().__init__(**_given(locals()))


class MiniBatchKMeans(Estimator):
    """Clusters around means, moved by small random batches.

    n_clusters: Number of clusters. Default 8.
    init: Where centres start: k-means++ (greedy), random rows, or the centres, one row each. Default 'k-means++'.
    max_iter: Most passes over as many rows as there are. Default 100.
    batch_size: Rows of a batch. Default 1024.
    verbose: Accepted for compatibility and ignored. Default 0.
    compute_labels: Label all rows at the end. Default True.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    tol: Ends when the centres move less, squared, relative to the mean variance of the columns; 0: never. Default 0.0.
    max_no_improvement: Ends after so many batches without a better smoothed inertia; null: never. Default 10.
    init_size: Rows that starts are chosen from; null: 3 batches. Default None.
    n_init: Number of starts, of which the best is kept; auto: 3 with init="random", otherwise 1. Default 'auto'.
    reassignment_ratio: Clusters lighter than this share of the heaviest start anew. Default 0.01.
    """

    def __init__(self, *,
                 n_clusters: int = UNSET,
                 init: Any = UNSET,
                 max_iter: int = UNSET,
                 batch_size: int = UNSET,
                 verbose: int | bool = UNSET,
                 compute_labels: bool = UNSET,
                 random_state: int | None = UNSET,
                 tol: float = UNSET,
                 max_no_improvement: int | None = UNSET,
                 init_size: int | None = UNSET,
                 n_init: str | int = UNSET,
                 reassignment_ratio: float = UNSET) -> None:
        super().__init__(**_given(locals()))


class MissingIndicator(Estimator):
    """Mark missing values by ones.

    missing_values: What stands for a missing value: "NaN", a number or a category. Default 'NaN'.
    features: Mark the columns that lack values in the fitted rows, or all. Default 'missing-only'.
    sparse: Accepted for compatibility and ignored. Default 'auto'.
    error_on_new: Refuse new rows that lack values where the fitted ones did not. Default True.
    """

    def __init__(self, *,
                 missing_values: str | float | None = UNSET,
                 features: str = UNSET,
                 sparse: bool | str = UNSET,
                 error_on_new: bool = UNSET) -> None:
        super().__init__(**_given(locals()))


class MultiOutputClassifier(Estimator):
    """Fit a copy of a classifier to each of several target columns.

    estimator: A copy of it is fitted to each target column; null takes LogisticRegression. Default None.
    n_jobs: Accepted for compatibility and ignored. Default None.
    """

    def __init__(self, *,
                 estimator: Any = UNSET,
                 n_jobs: int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class MultiOutputRegressor(Estimator):
    """Fit a copy of a regressor to each of several target columns.

    estimator: A copy of it is fitted to each target column; null takes LinearRegression. Default None.
    n_jobs: Accepted for compatibility and ignored. Default None.
    """

    def __init__(self, *,
                 estimator: Any = UNSET,
                 n_jobs: int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class MultinomialNB(Estimator):
    """Naive Bayes for counts, such as words of a text.

    alpha: Added to every count; a list has one for each column. Default 1.0.
    force_alpha: Take alpha as it is; else it is raised to 1e-10. Default True.
    fit_prior: Learn the classes' probabilities; else they are equal. Default True.
    class_prior: Prior probabilities of the classes, in order. Default None.
    """

    def __init__(self, *,
                 alpha: Any = UNSET,
                 force_alpha: bool = UNSET,
                 fit_prior: bool = UNSET,
                 class_prior: Any = UNSET) -> None:
        super().__init__(**_given(locals()))


class NMF(Estimator):
    """Rows as sums of parts, none of which is negative.

    n_components: Parts to find; auto and null take as many as there are columns. Default 'auto'.
    init: Where the factors start: drawn, or from singular vectors, whose zeros stay, become the mean of the data, or are drawn. null takes nndsvda
        where there are as many rows and columns as components, otherwise random. Default None.
    solver: cd: by coordinates; mu: multiplicative updates. Default 'cd'.
    beta_loss: The divergence that is minimised; kullback-leibler with solver="mu" alone. Default 'frobenius'.
    tol: cd: share of the first violation at which the iterations end; mu: the least improvement in 10 iterations. Default 0.0001.
    max_iter: Most iterations. Default 200.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    alpha_W: Penalty of W, times the number of columns. Default 0.0.
    alpha_H: Penalty of H, times the number of rows; same: as alpha_W. Default 'same'.
    l1_ratio: Share of the penalties that is of sums, the rest of squares. Default 0.0.
    verbose: Accepted for compatibility and ignored. Default 0.
    shuffle: cd: whether the components take turns in a random order. Default False.
    """

    def __init__(self, *,
                 n_components: int | str | None = UNSET,
                 init: str | None = UNSET,
                 solver: str = UNSET,
                 beta_loss: str = UNSET,
                 tol: float = UNSET,
                 max_iter: int = UNSET,
                 random_state: int | None = UNSET,
                 alpha_W: float = UNSET,
                 alpha_H: float | str = UNSET,
                 l1_ratio: float = UNSET,
                 verbose: int | bool = UNSET,
                 shuffle: bool = UNSET) -> None:
        super().__init__(**_given(locals()))


class NearestCentroid(Estimator):
    """Nearest centre of a class.

    metric: Distance; manhattan takes medians for centres. Default 'euclidean'.
    shrink_threshold: By how many standard errors centres are moved towards the mean of all rows; null for none. Default None.
    priors: Shares of the classes: equal, those of the fitted rows, or given ones. Default 'uniform'.
    """

    def __init__(self, *,
                 metric: str = UNSET,
                 shrink_threshold: float | None = UNSET,
                 priors: Any = UNSET) -> None:
        super().__init__(**_given(locals()))


class NearestNeighbors(Estimator):
    """Keeps rows, prepared for searches of neighbours.

    n_neighbors: Number of neighbours. Default 5.
    radius: Distance within which rows are neighbours. Default 1.0.
    algorithm: A hint: few columns are searched in a k-d tree, many by scanning, with any value; the neighbours are the same. Default 'auto'.
    leaf_size: Accepted for compatibility and ignored. Default 30.
    p: Power of the Minkowski metric; null means 2. Default 2.0.
    metric: Distance. Default 'minkowski'.
    metric_params: Accepted for compatibility and ignored. Default None.
    n_jobs: Accepted for compatibility and ignored. Default None.
    """

    def __init__(self, *,
                 n_neighbors: int = UNSET,
                 radius: float = UNSET,
                 algorithm: str = UNSET,
                 leaf_size: int = UNSET,
                 p: float | None = UNSET,
                 metric: str = UNSET,
                 metric_params: None = UNSET,
                 n_jobs: int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class Normalizer(Estimator):
    """Scale each row to unit norm.

    norm: The norm that becomes 1. Default 'l2'.
    copy: Accepted for compatibility and ignored. Default True.
    """

    def __init__(self, *,
                 norm: str = UNSET,
                 copy: bool = UNSET) -> None:
        super().__init__(**_given(locals()))


class NuSVC(Estimator):
    """Support vector machine whose share of support vectors is set.

    nu: Share of errors of the margin at most, and of support vectors at least. Default 0.5.
    kernel: What takes the place of the product of two rows. Default 'rbf'.
    degree: Degree of the poly kernel. Default 3.
    gamma: Factor of the rbf, poly and sigmoid kernels. scale: 1 / (n_features * variance of all values); auto: 1 / n_features. Default 'scale'.
    coef0: Constant of the poly and sigmoid kernels. Default 0.0.
    tol: Largest violation of the optimality conditions at which the fit ends. Default 0.001.
    cache_size: Megabytes of kernel values that are kept; at least two working sets are. Default 200.0.
    shrinking: Does not change the result: working sets take its place. Default True.
    max_iter: Most steps of two multipliers; -1: no limit. Default -1.
    verbose: Accepted for compatibility and ignored. Default False.
    probability: Whether predict_proba is there: five more fits for each pair of classes; deprecated means false. Default 'deprecated'.
    class_weight: Factor of C of each class: an object by class name, balanced, or null for 1 each. NuSVC does not read it. Default None.
    decision_function_shape: ovo is accepted for predictions; decision values have a column for each class in any case. Default 'ovr'.
    break_ties: Whether predict takes the largest decision value where classes have equal votes. Default False.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    """

    def __init__(self, *,
                 nu: float = UNSET,
                 kernel: str = UNSET,
                 degree: int = UNSET,
                 gamma: str | float = UNSET,
                 coef0: float = UNSET,
                 tol: float = UNSET,
                 cache_size: float = UNSET,
                 shrinking: bool = UNSET,
                 max_iter: int = UNSET,
                 verbose: bool | int = UNSET,
                 probability: bool | str = UNSET,
                 class_weight: Any = UNSET,
                 decision_function_shape: str = UNSET,
                 break_ties: bool = UNSET,
                 random_state: int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class NuSVR(Estimator):
    """Support vector regression whose share of support vectors is set.

    C: Upper bound of a multiplier: the larger, the fewer errors are accepted. Default 1.0.
    nu: Share of rows outside of the tube at most, and of support vectors at least. Default 0.5.
    kernel: What takes the place of the product of two rows. Default 'rbf'.
    degree: Degree of the poly kernel. Default 3.
    gamma: Factor of the rbf, poly and sigmoid kernels. scale: 1 / (n_features * variance of all values); auto: 1 / n_features. Default 'scale'.
    coef0: Constant of the poly and sigmoid kernels. Default 0.0.
    tol: Largest violation of the optimality conditions at which the fit ends. Default 0.001.
    cache_size: Megabytes of kernel values that are kept; at least two working sets are. Default 200.0.
    shrinking: Does not change the result: working sets take its place. Default True.
    max_iter: Most steps of two multipliers; -1: no limit. Default -1.
    verbose: Accepted for compatibility and ignored. Default False.
    """

    def __init__(self, *,
                 C: float = UNSET,
                 nu: float = UNSET,
                 kernel: str = UNSET,
                 degree: int = UNSET,
                 gamma: str | float = UNSET,
                 coef0: float = UNSET,
                 tol: float = UNSET,
                 cache_size: float = UNSET,
                 shrinking: bool = UNSET,
                 max_iter: int = UNSET,
                 verbose: bool | int = UNSET) -> None:
        super().__init__(**_given(locals()))


class Nystroem(Estimator):
    """Approximate feature map of a kernel, from a subset of the rows.

    kernel: The kernel that is approximated. Default 'rbf'.
    gamma: Factor of the rbf, polynomial, sigmoid and laplacian kernels; null for 1 / n_features. Default None.
    coef0: Constant of the polynomial and sigmoid kernels; null for 1. Default None.
    degree: Degree of the polynomial kernel; null for 3. Default None.
    kernel_params: Accepted for compatibility and ignored. Default None.
    n_components: Features to make, and rows to make them from. Default 100.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    n_jobs: Accepted for compatibility and ignored. Default None.
    """

    def __init__(self, *,
                 kernel: str = UNSET,
                 gamma: float | None = UNSET,
                 coef0: float | None = UNSET,
                 degree: float | None = UNSET,
                 kernel_params: None = UNSET,
                 n_components: int = UNSET,
                 random_state: int | None = UNSET,
                 n_jobs: int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class OAS(Estimator):
    """Covariance matrix with oracle approximating shrinkage.

    store_precision: Whether the inverse of the covariance is kept. Default True.
    assume_centered: Whether the means of the columns are taken for 0. Default False.
    """

    def __init__(self, *,
                 store_precision: bool = UNSET,
                 assume_centered: bool = UNSET) -> None:
        super().__init__(**_given(locals()))


class OPTICS(Estimator):
    """Rows in the order of their density, and clusters of any density in it.

    min_samples: Rows within the core distance of a row, itself included; below 1 a share of all rows. Default 5.
    max_eps: Distance beyond which rows are no neighbours; null: no limit. Default None.
    cluster_method: xi: clusters between steep slopes; dbscan: below the distance eps. Default 'xi'.
    eps: Distance of cluster_method "dbscan"; null takes max_eps. Default None.
    xi: Least share by which a slope falls or rises. Default 0.05.
    predecessor_correction: Whether a cluster ends with a row that was reached from within. Default True.
    min_cluster_size: Rows of a cluster, or their share of all; null takes min_samples. Default None.
    memory: Accepted for compatibility and ignored. Default None.
    algorithm: A hint: few columns are searched in a k-d tree, many by scanning, with any value; the neighbours are the same. Default 'auto'.
    leaf_size: Accepted for compatibility and ignored. Default 30.
    p: Power of the Minkowski metric; null means 2. Default 2.0.
    metric: Distance. Default 'minkowski'.
    metric_params: Accepted for compatibility and ignored. Default None.
    n_jobs: Accepted for compatibility and ignored. Default None.
    """

    def __init__(self, *,
                 min_samples: int | float = UNSET,
                 max_eps: float | None = UNSET,
                 cluster_method: str = UNSET,
                 eps: float | None = UNSET,
                 xi: float = UNSET,
                 predecessor_correction: bool = UNSET,
                 min_cluster_size: int | float | None = UNSET,
                 memory: None = UNSET,
                 algorithm: str = UNSET,
                 leaf_size: int = UNSET,
                 p: float | None = UNSET,
                 metric: str = UNSET,
                 metric_params: None = UNSET,
                 n_jobs: int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class OneClassSVM(Estimator):
    """A boundary around most of the rows: 1 within it, -1 outside.

    nu: Share of rows outside at most, and of support vectors at least. Default 0.5.
    kernel: What takes the place of the product of two rows. Default 'rbf'.
    degree: Degree of the poly kernel. Default 3.
    gamma: Factor of the rbf, poly and sigmoid kernels. scale: 1 / (n_features * variance of all values); auto: 1 / n_features. Default 'scale'.
    coef0: Constant of the poly and sigmoid kernels. Default 0.0.
    tol: Largest violation of the optimality conditions at which the fit ends. Default 0.001.
    cache_size: Megabytes of kernel values that are kept; at least two working sets are. Default 200.0.
    shrinking: Does not change the result: working sets take its place. Default True.
    max_iter: Most steps of two multipliers; -1: no limit. Default -1.
    verbose: Accepted for compatibility and ignored. Default False.
    """

    def __init__(self, *,
                 nu: float = UNSET,
                 kernel: str = UNSET,
                 degree: int = UNSET,
                 gamma: str | float = UNSET,
                 coef0: float = UNSET,
                 tol: float = UNSET,
                 cache_size: float = UNSET,
                 shrinking: bool = UNSET,
                 max_iter: int = UNSET,
                 verbose: bool | int = UNSET) -> None:
        super().__init__(**_given(locals()))


class OneHotEncoder(Estimator):
    """Encode categories as columns of zeros and ones, one for each category.

    categories: "auto": what the fitted rows hold; or a list of categories for each column, ascending where it is numeric. Default 'auto'.
    drop: Leave out the first category of each column, or of columns with two, or a given one for each column. Default None.
    sparse_output: Accepted for compatibility and ignored. Default True.
    dtype: Accepted for compatibility and ignored. Default 'float64'.
    handle_unknown: What a category is that no fitted row had: an error, all zeros, or the group of infrequent ones ("warn": with a warning). Default
        'error'.
    min_frequency: Categories with fewer rows, or a smaller share of them, are infrequent. Default None.
    max_categories: Largest number of output columns per column; the rest is infrequent. Default None.
    feature_name_combiner: How output columns are named: COLUMN_CATEGORY. Default 'concat'.
    """

    def __init__(self, *,
                 categories: Any = UNSET,
                 drop: Any = UNSET,
                 sparse_output: bool = UNSET,
                 dtype: str = UNSET,
                 handle_unknown: str = UNSET,
                 min_frequency: int | float | None = UNSET,
                 max_categories: int | None = UNSET,
                 feature_name_combiner: str = UNSET) -> None:
        super().__init__(**_given(locals()))


class OneVsOneClassifier(Estimator):
    """Fit a classifier for each pair of classes, and let them vote.

    estimator: Tells two classes apart; null takes LogisticRegression. Default None.
    n_jobs: Accepted for compatibility and ignored. Default None.
    """

    def __init__(self, *,
                 estimator: Any = UNSET,
                 n_jobs: int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class OneVsRestClassifier(Estimator):
    """Fit a classifier for each class against all others.

    estimator: Tells two classes apart; null takes LogisticRegression. Default None.
    n_jobs: Accepted for compatibility and ignored. Default None.
    verbose: Accepted for compatibility and ignored. Default 0.
    """

    def __init__(self, *,
                 estimator: Any = UNSET,
                 n_jobs: int | None = UNSET,
                 verbose: int = UNSET) -> None:
        super().__init__(**_given(locals()))


class OrdinalEncoder(Estimator):
    """Encode the categories of each column as whole numbers.

    categories: "auto": what the fitted rows hold; or a list of categories for each column, ascending where it is numeric. Default 'auto'.
    dtype: Accepted for compatibility and ignored. Default 'float64'.
    handle_unknown: What to do with a category that no fitted row had. Default 'error'.
    unknown_value: Code of unknown categories with handle_unknown = "use_encoded_value". Default None.
    encoded_missing_value: Code of missing values. Default 'NaN'.
    min_frequency: Categories with fewer rows, or a smaller share of them, get one code, the last. Default None.
    max_categories: Largest number of codes per column; the rest shares the last. Default None.
    """

    def __init__(self, *,
                 categories: Any = UNSET,
                 dtype: str = UNSET,
                 handle_unknown: str = UNSET,
                 unknown_value: int | str | None = UNSET,
                 encoded_missing_value: int | str = UNSET,
                 min_frequency: int | float | None = UNSET,
                 max_categories: int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class OrthogonalMatchingPursuit(Estimator):
    """Least squares on a few columns, taken greedily.

    n_nonzero_coefs: Columns to take; null takes a tenth of them, or with tol as many as it needs. Default None.
    tol: Take columns until the squared error is at most this; overrides n_nonzero_coefs. Default None.
    fit_intercept: Fit an intercept. Default True.
    precompute: Accepted for compatibility and ignored. Default 'auto'.
    """

    def __init__(self, *,
                 n_nonzero_coefs: int | None = UNSET,
                 tol: float | None = UNSET,
                 fit_intercept: bool = UNSET,
                 precompute: str | bool = UNSET) -> None:
        super().__init__(**_given(locals()))


class PCA(Estimator):
    """Principal component analysis.

    n_components: Components to keep: a number; the share of the variance that they must explain; mle for Minka's estimate; null for all. Default
        None.
    copy: Accepted for compatibility and ignored. Default True.
    whiten: Scale the result to unit variance. Default False.
    svd_solver: How the components are found. Default 'auto'.
    tol: Accepted for compatibility and ignored. Default 0.0.
    iterated_power: Power iterations of the randomized solver. Default 'auto'.
    n_oversamples: Extra random vectors of the randomized solver. Default 10.
    power_iteration_normalizer: What the randomized solver does between power iterations; LU is done as QR, with the same result. Default 'auto'.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    """

    def __init__(self, *,
                 n_components: int | float | str | None = UNSET,
                 copy: bool = UNSET,
                 whiten: bool = UNSET,
                 svd_solver: str = UNSET,
                 tol: float = UNSET,
                 iterated_power: int | str = UNSET,
                 n_oversamples: int = UNSET,
                 power_iteration_normalizer: str = UNSET,
                 random_state: int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class PLSRegression(Estimator):
    """Regression on the directions of the columns that have most in common with the target.

    n_components: Number of directions. Default 2.
    scale: Divide columns and target by their deviations. Default True.
    max_iter: Accepted for compatibility and ignored. Default 500.
    tol: Accepted for compatibility and ignored. Default 1e-06.
    copy: Accepted for compatibility and ignored. Default True.
    """

    def __init__(self, *,
                 n_components: int = UNSET,
                 scale: bool = UNSET,
                 max_iter: int = UNSET,
                 tol: float = UNSET,
                 copy: bool = UNSET) -> None:
        super().__init__(**_given(locals()))


class PassiveAggressiveClassifier(Estimator):
    """Linear classification by passive-aggressive steps.

    C: Longest step. Default 1.0.
    loss: The first: steps bounded by C; the second: steps made smaller by it. Default 'hinge'.
    average: Give the average of the coefficients over all steps, or over those from this row on. Default False.
    fit_intercept: Fit an intercept. Default True.
    max_iter: Largest number of epochs. Default 1000.
    tol: Stop after n_iter_no_change epochs that do not lower the mean objective by this; null: never. Default 0.001.
    shuffle: Shuffle the rows before each epoch. Default True.
    verbose: Accepted for compatibility and ignored. Default 0.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    early_stopping: Only false: there is no set of rows for validation. Default False.
    validation_fraction: Accepted for compatibility and ignored. Default 0.1.
    n_iter_no_change: Epochs without improvement before the end. Default 5.
    warm_start: Accepted for compatibility and ignored. Default False.
    class_weight: Weight of each class: an object by class name, balanced, or null for 1 each. Default None.
    n_jobs: Accepted for compatibility and ignored. Default None.
    """

    def __init__(self, *,
                 C: float = UNSET,
                 loss: str = UNSET,
                 average: bool | int = UNSET,
                 fit_intercept: bool = UNSET,
                 max_iter: int = UNSET,
                 tol: float | None = UNSET,
                 shuffle: bool = UNSET,
                 verbose: int | bool = UNSET,
                 random_state: int | None = UNSET,
                 early_stopping: bool = UNSET,
                 validation_fraction: float = UNSET,
                 n_iter_no_change: int = UNSET,
                 warm_start: bool = UNSET,
                 class_weight: Any = UNSET,
                 n_jobs: int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class PassiveAggressiveRegressor(Estimator):
    """Linear regression by passive-aggressive steps.

    C: Longest step. Default 1.0.
    loss: The first: steps bounded by C; the second: steps made smaller by it. Default 'epsilon_insensitive'.
    average: Give the average of the coefficients over all steps, or over those from this row on. Default False.
    epsilon: Half the width of the tube in which rows have no loss. Default 0.1.
    fit_intercept: Fit an intercept. Default True.
    max_iter: Largest number of epochs. Default 1000.
    tol: Stop after n_iter_no_change epochs that do not lower the mean objective by this; null: never. Default 0.001.
    shuffle: Shuffle the rows before each epoch. Default True.
    verbose: Accepted for compatibility and ignored. Default 0.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    early_stopping: Only false: there is no set of rows for validation. Default False.
    validation_fraction: Accepted for compatibility and ignored. Default 0.1.
    n_iter_no_change: Epochs without improvement before the end. Default 5.
    warm_start: Accepted for compatibility and ignored. Default False.
    """

    def __init__(self, *,
                 C: float = UNSET,
                 loss: str = UNSET,
                 average: bool | int = UNSET,
                 epsilon: float = UNSET,
                 fit_intercept: bool = UNSET,
                 max_iter: int = UNSET,
                 tol: float | None = UNSET,
                 shuffle: bool = UNSET,
                 verbose: int | bool = UNSET,
                 random_state: int | None = UNSET,
                 early_stopping: bool = UNSET,
                 validation_fraction: float = UNSET,
                 n_iter_no_change: int = UNSET,
                 warm_start: bool = UNSET) -> None:
        super().__init__(**_given(locals()))


class Perceptron(Estimator):
    """Rosenblatt's perceptron.

    penalty: Null: none. Default None.
    alpha: Strength of the penalty; the rate optimal depends on it as well. Default 0.0001.
    l1_ratio: Share of the L1 penalty in elasticnet. Default 0.15.
    eta0: Length of a step. Default 1.0.
    fit_intercept: Fit an intercept. Default True.
    max_iter: Largest number of epochs. Default 1000.
    tol: Stop after n_iter_no_change epochs that do not lower the mean objective by this; null: never. Default 0.001.
    shuffle: Shuffle the rows before each epoch. Default True.
    verbose: Accepted for compatibility and ignored. Default 0.
    random_state: Seed of the random numbers; null takes the seed of the job. Default 0.
    early_stopping: Only false: there is no set of rows for validation. Default False.
    validation_fraction: Accepted for compatibility and ignored. Default 0.1.
    n_iter_no_change: Epochs without improvement before the end. Default 5.
    warm_start: Accepted for compatibility and ignored. Default False.
    class_weight: Weight of each class: an object by class name, balanced, or null for 1 each. Default None.
    n_jobs: Accepted for compatibility and ignored. Default None.
    """

    def __init__(self, *,
                 penalty: str | None = UNSET,
                 alpha: float = UNSET,
                 l1_ratio: float | None = UNSET,
                 eta0: float = UNSET,
                 fit_intercept: bool = UNSET,
                 max_iter: int = UNSET,
                 tol: float | None = UNSET,
                 shuffle: bool = UNSET,
                 verbose: int | bool = UNSET,
                 random_state: int | None = UNSET,
                 early_stopping: bool = UNSET,
                 validation_fraction: float = UNSET,
                 n_iter_no_change: int = UNSET,
                 warm_start: bool = UNSET,
                 class_weight: Any = UNSET,
                 n_jobs: int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class PoissonRegressor(Estimator):
    """Regression of counts: Poisson's distribution with a log link and an L2 penalty.

    alpha: Strength of the L2 penalty. Default 1.0.
    fit_intercept: Fit an intercept, which is not penalised. Default True.
    solver: Has no influence on the answer. Default 'lbfgs'.
    max_iter: Largest number of iterations. Default 100.
    tol: Has no influence: iterations go on to rounding. Default 0.0001.
    warm_start: Accepted for compatibility and ignored. Default False.
    verbose: Accepted for compatibility and ignored. Default 0.
    """

    def __init__(self, *,
                 alpha: float = UNSET,
                 fit_intercept: bool = UNSET,
                 solver: str = UNSET,
                 max_iter: int = UNSET,
                 tol: float = UNSET,
                 warm_start: bool = UNSET,
                 verbose: int | bool = UNSET) -> None:
        super().__init__(**_given(locals()))


class PolynomialCountSketch(Estimator):
    """Approximate feature map of the polynomial kernel, by hashed columns.

    gamma: Factor of the inner product in the polynomial kernel. Default 1.0.
    degree: Degree of the polynomial kernel. Default 2.
    coef0: Constant of the polynomial kernel. Default 0.0.
    n_components: Features to make. Default 100.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    """

    def __init__(self, *,
                 gamma: float = UNSET,
                 degree: int = UNSET,
                 coef0: float = UNSET,
                 n_components: int = UNSET,
                 random_state: int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class PolynomialFeatures(Estimator):
    """Products of columns up to a degree.

    degree: Largest degree, or smallest and largest as a list of two. Default 2.
    interaction_only: Leave out powers of single features. Default False.
    include_bias: Begin with a column of ones. Default True.
    order: Accepted for compatibility and ignored. Default 'C'.
    """

    def __init__(self, *,
                 degree: Any = UNSET,
                 interaction_only: bool = UNSET,
                 include_bias: bool = UNSET,
                 order: str = UNSET) -> None:
        super().__init__(**_given(locals()))


class PowerTransformer(Estimator):
    """Make columns more normally distributed by a power transform.

    method: Which power; box-cox needs positive values. Default 'yeo-johnson'.
    standardize: Scale the result to mean 0 and variance 1. Default True.
    copy: Accepted for compatibility and ignored. Default True.
    """

    def __init__(self, *,
                 method: str = UNSET,
                 standardize: bool = UNSET,
                 copy: bool = UNSET) -> None:
        super().__init__(**_given(locals()))


class QuadraticDiscriminantAnalysis(Estimator):
    """Quadratic discriminant analysis: a normal distribution with its own covariance for each class.

    solver: svd forms no covariance; eigen can shrink. Default 'svd'.
    shrinkage: Share by which covariances are pulled towards a multiple of the unit matrix; auto by Ledoit and Wolf. Default None.
    priors: Prior probabilities of the classes, in order; null takes their shares. Default None.
    reg_param: Share by which variances are pulled towards 1, with solver svd. Default 0.0.
    store_covariance: Also give covariance_. Default False.
    tol: Variances up to this count as 0. Default 0.0001.
    covariance_estimator: Accepted for compatibility and ignored. Default None.
    """

    def __init__(self, *,
                 solver: str = UNSET,
                 shrinkage: float | str | None = UNSET,
                 priors: Any = UNSET,
                 reg_param: float = UNSET,
                 store_covariance: bool = UNSET,
                 tol: float = UNSET,
                 covariance_estimator: None = UNSET) -> None:
        super().__init__(**_given(locals()))


class QuantileRegressor(Estimator):
    """Linear regression of a quantile, with an L1 penalty.

    quantile: The quantile that is predicted. Default 0.5.
    alpha: Strength of the L1 penalty. Default 1.0.
    fit_intercept: Fit an intercept, which is not penalised. Default True.
    solver: Has no influence on the answer: always an interior point method. Default 'highs'.
    solver_options: Accepted for compatibility and ignored. Default None.
    """

    def __init__(self, *,
                 quantile: float = UNSET,
                 alpha: float = UNSET,
                 fit_intercept: bool = UNSET,
                 solver: str = UNSET,
                 solver_options: Any = UNSET) -> None:
        super().__init__(**_given(locals()))


class QuantileTransformer(Estimator):
    """Map columns to a uniform or normal distribution by their quantiles.

    n_quantiles: Quantiles to compute; at most as many as rows are used. Default 1000.
    output_distribution: Distribution of the result. Default 'uniform'.
    ignore_implicit_zeros: Accepted for compatibility and ignored. Default False.
    subsample: Most rows to find the quantiles from; null for all. Default 10000.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    copy: Accepted for compatibility and ignored. Default True.
    """

    def __init__(self, *,
                 n_quantiles: int = UNSET,
                 output_distribution: str = UNSET,
                 ignore_implicit_zeros: bool = UNSET,
                 subsample: int | None = UNSET,
                 random_state: int | None = UNSET,
                 copy: bool = UNSET) -> None:
        super().__init__(**_given(locals()))


class RANSACRegressor(Estimator):
    """Robust regression: the model that most rows agree with, of models of few random rows.

    estimator: Is fitted to the subsets; null takes LinearRegression. Default None.
    min_samples: Rows of a subset: a number, or a share of all; null: one more than columns, of LinearRegression. Default None.
    residual_threshold: Largest loss of an inlier; null: the median deviation of the target from its median. Default None.
    is_data_valid: Accepted for compatibility and ignored. Default None.
    is_model_valid: Accepted for compatibility and ignored. Default None.
    max_trials: Largest number of subsets. Default 100.
    max_skips: Largest number of subsets with too few inliers. Default 'inf'.
    stop_n_inliers: Stop when so many rows agree. Default 'inf'.
    stop_score: Stop at this R^2 of the inliers. Default 'inf'.
    stop_probability: Stop when a subset without outliers was drawn with this probability. Default 0.99.
    loss: What is compared with residual_threshold. Default 'absolute_error'.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    """

    def __init__(self, *,
                 estimator: Any = UNSET,
                 min_samples: int | float | None = UNSET,
                 residual_threshold: float | None = UNSET,
                 is_data_valid: None = UNSET,
                 is_model_valid: None = UNSET,
                 max_trials: int | str = UNSET,
                 max_skips: int | str = UNSET,
                 stop_n_inliers: int | str = UNSET,
                 stop_score: float | str = UNSET,
                 stop_probability: float = UNSET,
                 loss: str = UNSET,
                 random_state: int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class RBFSampler(Estimator):
    """Approximate feature map of the Gaussian kernel, by cosines of random directions.

    gamma: Factor in the exponent of the kernel. scale: 1 / (n_features * variance of all values). Default 1.0.
    n_components: Features to make. Default 100.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    """

    def __init__(self, *,
                 gamma: str | float = UNSET,
                 n_components: int = UNSET,
                 random_state: int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class RFE(Estimator):
    """Leave out the columns that an estimator finds least important, a few at a time.

    estimator: Judges the columns; null takes LogisticRegression. Default None.
    n_features_to_select: Columns to keep: a number, or a share of all; null takes half. Default None.
    step: Columns that each round leaves out: a number, or a share of all. Default 1.
    verbose: Accepted for compatibility and ignored. Default 0.
    importance_getter: The attribute to read; auto takes coef_, else feature_importances_. Default 'auto'.
    """

    def __init__(self, *,
                 estimator: Any = UNSET,
                 n_features_to_select: int | float | None = UNSET,
                 step: int | float = UNSET,
                 verbose: int = UNSET,
                 importance_getter: str = UNSET) -> None:
        super().__init__(**_given(locals()))


class RFECV(Estimator):
    """Leave out the columns that an estimator finds least important, as many as folds score best with.

    estimator: Judges the columns; null takes RidgeClassifier. Default None.
    step: Columns that each round leaves out: a number, or a share of all. Default 1.
    min_features_to_select: Fewest columns to keep. Default 1.
    cv: Number of folds; null for 5. Default None.
    scoring: What folds are compared by; null takes accuracy or R^2. Default None.
    verbose: Accepted for compatibility and ignored. Default 0.
    n_jobs: Accepted for compatibility and ignored. Default None.
    importance_getter: The attribute to read; auto takes coef_, else feature_importances_. Default 'auto'.
    """

    def __init__(self, *,
                 estimator: Any = UNSET,
                 step: int | float = UNSET,
                 min_features_to_select: int = UNSET,
                 cv: int | None = UNSET,
                 scoring: str | None = UNSET,
                 verbose: int | bool = UNSET,
                 n_jobs: int | None = UNSET,
                 importance_getter: str = UNSET) -> None:
        super().__init__(**_given(locals()))


class RadiusNeighborsClassifier(Estimator):
    """Vote of the training rows within a radius.

    radius: Distance within which rows are neighbours. Default 1.0.
    weights: uniform: each neighbour counts 1 (null means the same); distance: 1 / distance. Default 'uniform'.
    algorithm: A hint: few columns are searched in a k-d tree, many by scanning, with any value; the neighbours are the same. Default 'auto'.
    leaf_size: Accepted for compatibility and ignored. Default 30.
    p: Power of the Minkowski metric; null means 2. Default 2.0.
    metric: Distance. Default 'minkowski'.
    metric_params: Accepted for compatibility and ignored. Default None.
    n_jobs: Accepted for compatibility and ignored. Default None.
    outlier_label: Class of rows without neighbours; most_frequent takes the commonest; null refuses them. Default None.
    """

    def __init__(self, *,
                 radius: float = UNSET,
                 weights: str | None = UNSET,
                 algorithm: str = UNSET,
                 leaf_size: int = UNSET,
                 p: float | None = UNSET,
                 metric: str = UNSET,
                 metric_params: None = UNSET,
                 n_jobs: int | None = UNSET,
                 outlier_label: str | int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class RadiusNeighborsRegressor(Estimator):
    """Mean target of the training rows within a radius.

    radius: Distance within which rows are neighbours. Default 1.0.
    weights: uniform: each neighbour counts 1 (null means the same); distance: 1 / distance. Default 'uniform'.
    algorithm: A hint: few columns are searched in a k-d tree, many by scanning, with any value; the neighbours are the same. Default 'auto'.
    leaf_size: Accepted for compatibility and ignored. Default 30.
    p: Power of the Minkowski metric; null means 2. Default 2.0.
    metric: Distance. Default 'minkowski'.
    metric_params: Accepted for compatibility and ignored. Default None.
    n_jobs: Accepted for compatibility and ignored. Default None.
    """

    def __init__(self, *,
                 radius: float = UNSET,
                 weights: str | None = UNSET,
                 algorithm: str = UNSET,
                 leaf_size: int = UNSET,
                 p: float | None = UNSET,
                 metric: str = UNSET,
                 metric_params: None = UNSET,
                 n_jobs: int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class RandomForestClassifier(Estimator):
    """Random forest: the mean of trees grown on bootstrap samples with random columns at each split.

    n_estimators: Number of trees. Default 100.
    criterion: Impurity that a split decreases most. Default 'gini'.
    max_depth: Deepest a tree may get; null for no limit. Default None.
    min_samples_split: Fewest rows of a node that is split, as a number or a share of all. Default 2.
    min_samples_leaf: Fewest rows of a leaf, as a number or a share of all. Default 1.
    min_weight_fraction_leaf: Least share of the weight in a leaf. Default 0.0.
    max_features: Columns looked at for a split; null for all. Default 'sqrt'.
    max_leaf_nodes: Most leaves of a tree, grown best first; null for no limit. Default None.
    min_impurity_decrease: Least decrease of impurity by a split. Default 0.0.
    bootstrap: Draw the rows of each tree with replacement; false takes all. Default True.
    oob_score: Estimate the score from the rows that trees did not draw. Default False.
    n_jobs: Accepted for compatibility and ignored. Default None.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    draws: Whose random numbers: kedge's; scikit-learn's, which give its trees where columns have at most 256 values, and grow on the host; auto takes
        scikit-learn's there on a CPU, else kedge's. Default 'kedge'.
    verbose: Accepted for compatibility and ignored. Default 0.
    warm_start: Only false: every fit starts anew. Default False.
    class_weight: Weight of each class: an object by class name, balanced, balanced_subsample, or null for 1 each. Default None.
    max_samples: Rows drawn for each tree, as a number or a share of all; null for as many as there are. Default None.
    ccp_alpha: What a leaf costs when trees are pruned by cost and complexity; 0 for no pruning. Default 0.0.
    monotonic_cst: Only null: no column is constrained. Default None.
    """

    def __init__(self, *,
                 n_estimators: int = UNSET,
                 criterion: str = UNSET,
                 max_depth: int | None = UNSET,
                 min_samples_split: int | float = UNSET,
                 min_samples_leaf: int | float = UNSET,
                 min_weight_fraction_leaf: float = UNSET,
                 max_features: str | int | float | None = UNSET,
                 max_leaf_nodes: int | None = UNSET,
                 min_impurity_decrease: float = UNSET,
                 bootstrap: bool = UNSET,
                 oob_score: bool = UNSET,
                 n_jobs: int | None = UNSET,
                 random_state: int | None = UNSET,
                 draws: str = UNSET,
                 verbose: int | bool = UNSET,
                 warm_start: bool = UNSET,
                 class_weight: Any = UNSET,
                 max_samples: int | float | None = UNSET,
                 ccp_alpha: float = UNSET,
                 monotonic_cst: Any = UNSET) -> None:
        super().__init__(**_given(locals()))


class RandomForestRegressor(Estimator):
    """Random forest: the mean of regression trees grown on bootstrap samples.

    n_estimators: Number of trees. Default 100.
    criterion: Impurity that a split decreases most; friedman_mse is squared_error. Default 'squared_error'.
    max_depth: Deepest a tree may get; null for no limit. Default None.
    min_samples_split: Fewest rows of a node that is split, as a number or a share of all. Default 2.
    min_samples_leaf: Fewest rows of a leaf, as a number or a share of all. Default 1.
    min_weight_fraction_leaf: Least share of the weight in a leaf. Default 0.0.
    max_features: Columns looked at for a split; null for all. Default 1.0.
    max_leaf_nodes: Most leaves of a tree, grown best first; null for no limit. Default None.
    min_impurity_decrease: Least decrease of impurity by a split. Default 0.0.
    bootstrap: Draw the rows of each tree with replacement; false takes all. Default True.
    oob_score: Estimate the score from the rows that trees did not draw. Default False.
    n_jobs: Accepted for compatibility and ignored. Default None.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    draws: Whose random numbers: kedge's; scikit-learn's, which give its trees where columns have at most 256 values, and grow on the host; auto takes
        scikit-learn's there on a CPU, else kedge's. Default 'kedge'.
    verbose: Accepted for compatibility and ignored. Default 0.
    warm_start: Only false: every fit starts anew. Default False.
    max_samples: Rows drawn for each tree, as a number or a share of all; null for as many as there are. Default None.
    ccp_alpha: What a leaf costs when trees are pruned by cost and complexity; 0 for no pruning. Default 0.0.
    monotonic_cst: Only null: no column is constrained. Default None.
    """

    def __init__(self, *,
                 n_estimators: int = UNSET,
                 criterion: str = UNSET,
                 max_depth: int | None = UNSET,
                 min_samples_split: int | float = UNSET,
                 min_samples_leaf: int | float = UNSET,
                 min_weight_fraction_leaf: float = UNSET,
                 max_features: str | int | float | None = UNSET,
                 max_leaf_nodes: int | None = UNSET,
                 min_impurity_decrease: float = UNSET,
                 bootstrap: bool = UNSET,
                 oob_score: bool = UNSET,
                 n_jobs: int | None = UNSET,
                 random_state: int | None = UNSET,
                 draws: str = UNSET,
                 verbose: int | bool = UNSET,
                 warm_start: bool = UNSET,
                 max_samples: int | float | None = UNSET,
                 ccp_alpha: float = UNSET,
                 monotonic_cst: Any = UNSET) -> None:
        super().__init__(**_given(locals()))


class RandomOverSampler(Estimator):
    """Repeat rows of rare classes, in fits alone: rows that are predicted or scored pass unchanged. The last step must be a classifier.

    sampling_strategy: Classes that get as many rows as the largest (auto: all but that); with 2 classes also the rows of the smaller one as a share
        of the larger one's; or {class: rows}. Default 'auto'.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    shrinkage: Accepted for compatibility and ignored. Default None.
    """

    def __init__(self, *,
                 sampling_strategy: Any = UNSET,
                 random_state: int | None = UNSET,
                 shrinkage: None = UNSET) -> None:
        super().__init__(**_given(locals()))


class RandomUnderSampler(Estimator):
    """Leave out rows of frequent classes, in fits alone: rows that are predicted or scored pass unchanged. The last step must be a classifier.

    sampling_strategy: Classes that keep as many rows as the smallest has (auto: all but that); with 2 classes also the rows of the smaller one as a
        share of those that the larger one keeps; or {class: rows}. Default 'auto'.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    replacement: Draw rows that may be drawn again. Default False.
    """

    def __init__(self, *,
                 sampling_strategy: Any = UNSET,
                 random_state: int | None = UNSET,
                 replacement: bool = UNSET) -> None:
        super().__init__(**_given(locals()))


class RegressorChain(Estimator):
    """Fit a copy of a regressor to each of several target columns, one after the other; each reads the columns before its own.

    estimator: A copy of it is fitted to each target column; null takes LinearRegression. Default None.
    order: Positions of the target columns in the order of the chain; null takes that of select.targets. Default None.
    cv: Folds whose predictions later links are fitted on; null fits them on the true targets. Default None.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    verbose: Accepted for compatibility and ignored. Default False.
    """

    def __init__(self, *,
                 estimator: Any = UNSET,
                 order: Any = UNSET,
                 cv: int | None = UNSET,
                 random_state: int | None = UNSET,
                 verbose: bool = UNSET) -> None:
        super().__init__(**_given(locals()))


class Ridge(Estimator):
    """Least squares with an L2 penalty.

    alpha: Strength of the penalty; a list has one for each target. Default 1.0.
    fit_intercept: Fit an intercept, which is not penalised. Default True.
    copy_X: Accepted for compatibility and ignored. Default True.
    max_iter: Accepted for compatibility and ignored. Default None.
    tol: Accepted for compatibility and ignored. Default 0.0001.
    solver: svd: by singular values; any other: by Cholesky's decomposition, and by singular values where that fails. Default 'auto'.
    positive: Coefficients of at least 0. Default False.
    random_state: Accepted for compatibility and ignored. Default None.
    """

    def __init__(self, *,
                 alpha: Any = UNSET,
                 fit_intercept: bool = UNSET,
                 copy_X: bool = UNSET,
                 max_iter: int | None = UNSET,
                 tol: float = UNSET,
                 solver: str = UNSET,
                 positive: bool = UNSET,
                 random_state: int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class RidgeCV(Estimator):
    """Ridge regression with its penalty chosen by exact leave-one-out, or by folds.

    alphas: Penalties to choose from. Default [0.1, 1.0, 10.0].
    fit_intercept: Fit an intercept, which is not penalised. Default True.
    scoring: What is best; null: the mean squared error, or r2 with cv. Default None.
    cv: Number of folds; null leaves out one row at a time. Default None.
    gcv_mode: Has no influence on the answer: always by eigenvectors. Default None.
    store_cv_results: Give the errors of each row under each alpha; not with cv. Default False.
    alpha_per_target: Has no influence: there is one target. Default False.
    """

    def __init__(self, *,
                 alphas: Any = UNSET,
                 fit_intercept: bool = UNSET,
                 scoring: str | None = UNSET,
                 cv: int | None = UNSET,
                 gcv_mode: str | None = UNSET,
                 store_cv_results: bool = UNSET,
                 alpha_per_target: bool = UNSET) -> None:
        super().__init__(**_given(locals()))


class RidgeClassifier(Estimator):
    """Classification by ridge regression on -1 and 1.

    alpha: Strength of the penalty; a list has one for each target. Default 1.0.
    fit_intercept: Fit an intercept, which is not penalised. Default True.
    copy_X: Accepted for compatibility and ignored. Default True.
    max_iter: Accepted for compatibility and ignored. Default None.
    tol: Accepted for compatibility and ignored. Default 0.0001.
    class_weight: Weight of each class: an object by class name, balanced, or null for 1 each. Default None.
    solver: svd: by singular values; any other: by Cholesky's decomposition, and by singular values where that fails. Default 'auto'.
    positive: Coefficients of at least 0. Default False.
    random_state: Accepted for compatibility and ignored. Default None.
    """

    def __init__(self, *,
                 alpha: Any = UNSET,
                 fit_intercept: bool = UNSET,
                 copy_X: bool = UNSET,
                 max_iter: int | None = UNSET,
                 tol: float = UNSET,
                 class_weight: Any = UNSET,
                 solver: str = UNSET,
                 positive: bool = UNSET,
                 random_state: int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class RidgeClassifierCV(Estimator):
    """Ridge classification with its penalty chosen by exact leave-one-out, or by folds.

    alphas: Penalties to choose from. Default [0.1, 1.0, 10.0].
    fit_intercept: Fit an intercept, which is not penalised. Default True.
    scoring: What is best; null: the squared errors of the targets, or accuracy with cv. Default None.
    cv: Number of folds; null leaves out one row at a time. Default None.
    class_weight: Weight of each class: an object by class name, balanced, or null for 1 each. Default None.
    store_cv_results: Give the errors, or with scoring the predictions, of each row under each alpha; not with cv. Default False.
    """

    def __init__(self, *,
                 alphas: Any = UNSET,
                 fit_intercept: bool = UNSET,
                 scoring: str | None = UNSET,
                 cv: int | None = UNSET,
                 class_weight: Any = UNSET,
                 store_cv_results: bool = UNSET) -> None:
        super().__init__(**_given(locals()))


class RobustScaler(Estimator):
    """Scale columns by statistics that outliers do not move.

    with_centering: Subtract the median of each column. Default True.
    with_scaling: Divide each column by the distance of its quantiles. Default True.
    quantile_range: Lower and upper quantile in percent, as a list of two. Default [25.0, 75.0].
    copy: Accepted for compatibility and ignored. Default True.
    unit_variance: Scale so that normally distributed columns get variance 1. Default False.
    """

    def __init__(self, *,
                 with_centering: bool = UNSET,
                 with_scaling: bool = UNSET,
                 quantile_range: Any = UNSET,
                 copy: bool = UNSET,
                 unit_variance: bool = UNSET) -> None:
        super().__init__(**_given(locals()))


class SGDClassifier(Estimator):
    """Linear classification by stochastic gradient descent: support vectors, logistic regression and others.

    loss: Of a row. Default 'hinge'.
    epsilon: Width of the losses huber, epsilon_insensitive and squared_epsilon_insensitive. Default 0.1.
    learning_rate: How long a step is; pa1 and pa2: passive-aggressive. Default 'optimal'.
    eta0: The first length, or the most aggressive. Default 0.01.
    power_t: Exponent of invscaling. Default 0.5.
    penalty: Null: none. Default 'l2'.
    alpha: Strength of the penalty; the rate optimal depends on it as well. Default 0.0001.
    l1_ratio: Share of the L1 penalty in elasticnet. Default 0.15.
    average: Give the average of the coefficients over all steps, or over those from this row on. Default False.
    fit_intercept: Fit an intercept. Default True.
    max_iter: Largest number of epochs. Default 1000.
    tol: Stop after n_iter_no_change epochs that do not lower the mean objective by this; null: never. Default 0.001.
    shuffle: Shuffle the rows before each epoch. Default True.
    verbose: Accepted for compatibility and ignored. Default 0.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    early_stopping: Only false: there is no set of rows for validation. Default False.
    validation_fraction: Accepted for compatibility and ignored. Default 0.1.
    n_iter_no_change: Epochs without improvement before the end. Default 5.
    warm_start: Accepted for compatibility and ignored. Default False.
    class_weight: Weight of each class: an object by class name, balanced, or null for 1 each. Default None.
    n_jobs: Accepted for compatibility and ignored. Default None.
    """

    def __init__(self, *,
                 loss: str = UNSET,
                 epsilon: float = UNSET,
                 learning_rate: str = UNSET,
                 eta0: float = UNSET,
                 power_t: float = UNSET,
                 penalty: str | None = UNSET,
                 alpha: float = UNSET,
                 l1_ratio: float | None = UNSET,
                 average: bool | int = UNSET,
                 fit_intercept: bool = UNSET,
                 max_iter: int = UNSET,
                 tol: float | None = UNSET,
                 shuffle: bool = UNSET,
                 verbose: int | bool = UNSET,
                 random_state: int | None = UNSET,
                 early_stopping: bool = UNSET,
                 validation_fraction: float = UNSET,
                 n_iter_no_change: int = UNSET,
                 warm_start: bool = UNSET,
                 class_weight: Any = UNSET,
                 n_jobs: int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class SGDRegressor(Estimator):
    """Linear regression by stochastic gradient descent.

    loss: Of a row. Default 'squared_error'.
    epsilon: Width of the losses huber, epsilon_insensitive and squared_epsilon_insensitive. Default 0.1.
    learning_rate: How long a step is; pa1 and pa2: passive-aggressive. Default 'invscaling'.
    eta0: The first length, or the most aggressive. Default 0.01.
    power_t: Exponent of invscaling. Default 0.25.
    penalty: Null: none. Default 'l2'.
    alpha: Strength of the penalty; the rate optimal depends on it as well. Default 0.0001.
    l1_ratio: Share of the L1 penalty in elasticnet. Default 0.15.
    average: Give the average of the coefficients over all steps, or over those from this row on. Default False.
    fit_intercept: Fit an intercept. Default True.
    max_iter: Largest number of epochs. Default 1000.
    tol: Stop after n_iter_no_change epochs that do not lower the mean objective by this; null: never. Default 0.001.
    shuffle: Shuffle the rows before each epoch. Default True.
    verbose: Accepted for compatibility and ignored. Default 0.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    early_stopping: Only false: there is no set of rows for validation. Default False.
    validation_fraction: Accepted for compatibility and ignored. Default 0.1.
    n_iter_no_change: Epochs without improvement before the end. Default 5.
    warm_start: Accepted for compatibility and ignored. Default False.
    """

    def __init__(self, *,
                 loss: str = UNSET,
                 epsilon: float = UNSET,
                 learning_rate: str = UNSET,
                 eta0: float = UNSET,
                 power_t: float = UNSET,
                 penalty: str | None = UNSET,
                 alpha: float = UNSET,
                 l1_ratio: float | None = UNSET,
                 average: bool | int = UNSET,
                 fit_intercept: bool = UNSET,
                 max_iter: int = UNSET,
                 tol: float | None = UNSET,
                 shuffle: bool = UNSET,
                 verbose: int | bool = UNSET,
                 random_state: int | None = UNSET,
                 early_stopping: bool = UNSET,
                 validation_fraction: float = UNSET,
                 n_iter_no_change: int = UNSET,
                 warm_start: bool = UNSET) -> None:
        super().__init__(**_given(locals()))


class SMOTE(Estimator):
    """Make rows of rare classes between rows and their neighbours, in fits alone: rows that are predicted or scored pass unchanged. The last step must
        be a classifier.

    sampling_strategy: Classes that get as many rows as the largest (auto: all but that); with 2 classes also the rows of the smaller one as a share
        of the larger one's; or {class: rows}. Default 'auto'.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    k_neighbors: Neighbours of a row in its class, of which one is drawn. Default 5.
    """

    def __init__(self, *,
                 sampling_strategy: Any = UNSET,
                 random_state: int | None = UNSET,
                 k_neighbors: int = UNSET) -> None:
        super().__init__(**_given(locals()))


class SVC(Estimator):
    """Support vector machine with a kernel, one for each pair of classes.

    C: Upper bound of a multiplier: the larger, the fewer errors are accepted. Default 1.0.
    kernel: What takes the place of the product of two rows. Default 'rbf'.
    degree: Degree of the poly kernel. Default 3.
    gamma: Factor of the rbf, poly and sigmoid kernels. scale: 1 / (n_features * variance of all values); auto: 1 / n_features. Default 'scale'.
    coef0: Constant of the poly and sigmoid kernels. Default 0.0.
    tol: Largest violation of the optimality conditions at which the fit ends. Default 0.001.
    cache_size: Megabytes of kernel values that are kept; at least two working sets are. Default 200.0.
    shrinking: Does not change the result: working sets take its place. Default True.
    max_iter: Most steps of two multipliers; -1: no limit. Default -1.
    verbose: Accepted for compatibility and ignored. Default False.
    probability: Whether predict_proba is there: five more fits for each pair of classes; deprecated means false. Default 'deprecated'.
    class_weight: Factor of C of each class: an object by class name, balanced, or null for 1 each. NuSVC does not read it. Default None.
    decision_function_shape: ovo is accepted for predictions; decision values have a column for each class in any case. Default 'ovr'.
    break_ties: Whether predict takes the largest decision value where classes have equal votes. Default False.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    """

    def __init__(self, *,
                 C: float = UNSET,
                 kernel: str = UNSET,
                 degree: int = UNSET,
                 gamma: str | float = UNSET,
                 coef0: float = UNSET,
                 tol: float = UNSET,
                 cache_size: float = UNSET,
                 shrinking: bool = UNSET,
                 max_iter: int = UNSET,
                 verbose: bool | int = UNSET,
                 probability: bool | str = UNSET,
                 class_weight: Any = UNSET,
                 decision_function_shape: str = UNSET,
                 break_ties: bool = UNSET,
                 random_state: int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class SVR(Estimator):
    """Support vector regression: errors within epsilon cost nothing.

    C: Upper bound of a multiplier: the larger, the fewer errors are accepted. Default 1.0.
    epsilon: Errors up to it cost nothing. Default 0.1.
    kernel: What takes the place of the product of two rows. Default 'rbf'.
    degree: Degree of the poly kernel. Default 3.
    gamma: Factor of the rbf, poly and sigmoid kernels. scale: 1 / (n_features * variance of all values); auto: 1 / n_features. Default 'scale'.
    coef0: Constant of the poly and sigmoid kernels. Default 0.0.
    tol: Largest violation of the optimality conditions at which the fit ends. Default 0.001.
    cache_size: Megabytes of kernel values that are kept; at least two working sets are. Default 200.0.
    shrinking: Does not change the result: working sets take its place. Default True.
    max_iter: Most steps of two multipliers; -1: no limit. Default -1.
    verbose: Accepted for compatibility and ignored. Default False.
    """

    def __init__(self, *,
                 C: float = UNSET,
                 epsilon: float = UNSET,
                 kernel: str = UNSET,
                 degree: int = UNSET,
                 gamma: str | float = UNSET,
                 coef0: float = UNSET,
                 tol: float = UNSET,
                 cache_size: float = UNSET,
                 shrinking: bool = UNSET,
                 max_iter: int = UNSET,
                 verbose: bool | int = UNSET) -> None:
        super().__init__(**_given(locals()))


class SelectFdr(Estimator):
    """Keep columns by their scores so that an expected share of them at most is due to chance.

    score_func: Score of a column: f_classif and chi2 for classes, f_regression for values. Default 'f_classif'.
    alpha: Largest rate of errors. Default 0.05.
    """

    def __init__(self, *,
                 score_func: str = UNSET,
                 alpha: float = UNSET) -> None:
        super().__init__(**_given(locals()))


class SelectFpr(Estimator):
    """Keep columns whose scores are hardly due to chance, each by itself.

    score_func: Score of a column: f_classif and chi2 for classes, f_regression for values. Default 'f_classif'.
    alpha: Largest rate of errors. Default 0.05.
    """

    def __init__(self, *,
                 score_func: str = UNSET,
                 alpha: float = UNSET) -> None:
        super().__init__(**_given(locals()))


class SelectFromModel(Estimator):
    """Keep the columns that an estimator finds important.

    estimator: Judges the columns; null takes LogisticRegression. Default None.
    threshold: Columns of less importance are left out: a number, "mean", "median" or "1.25*mean"; null takes 1e-5 where the estimator has an L1
        penalty, else the mean. Default None.
    norm_order: Of the norm over the classes, where coef_ has a row for each. Default 1.
    max_features: Columns to keep at most. Default None.
    importance_getter: The attribute to read; auto takes coef_, else feature_importances_. Default 'auto'.
    """

    def __init__(self, *,
                 estimator: Any = UNSET,
                 threshold: float | str | None = UNSET,
                 norm_order: int | str = UNSET,
                 max_features: int | None = UNSET,
                 importance_getter: str = UNSET) -> None:
        super().__init__(**_given(locals()))


class SelectFwe(Estimator):
    """Keep columns by their scores so that hardly one of them is due to chance.

    score_func: Score of a column: f_classif and chi2 for classes, f_regression for values. Default 'f_classif'.
    alpha: Largest rate of errors. Default 0.05.
    """

    def __init__(self, *,
                 score_func: str = UNSET,
                 alpha: float = UNSET) -> None:
        super().__init__(**_given(locals()))


class SelectKBest(Estimator):
    """Keep the columns with the highest scores.

    score_func: Score of a column: f_classif and chi2 for classes, f_regression for values. Default 'f_classif'.
    k: Columns to keep. Default 10.
    """

    def __init__(self, *,
                 score_func: str = UNSET,
                 k: int | str = UNSET) -> None:
        super().__init__(**_given(locals()))


class SelectPercentile(Estimator):
    """Keep a percentage of the columns, those with the highest scores.

    score_func: Score of a column: f_classif and chi2 for classes, f_regression for values. Default 'f_classif'.
    percentile: Columns to keep, in percent. Default 10.0.
    """

    def __init__(self, *,
                 score_func: str = UNSET,
                 percentile: float = UNSET) -> None:
        super().__init__(**_given(locals()))


class SequentialFeatureSelector(Estimator):
    """Take columns in, or leave them out, one at a time, by how an estimator then scores in folds.

    estimator: Is fitted on the columns; null takes RidgeClassifier. Default None.
    n_features_to_select: Columns to keep: a number, or a share of all; auto takes half, or with tol as many as help. Default 'auto'.
    tol: Least gain of a column with auto; null for any. Default None.
    direction: Take columns in, or leave them out. Default 'forward'.
    scoring: What folds are compared by; null takes accuracy or R^2. Default None.
    cv: Number of folds. Default 5.
    n_jobs: Accepted for compatibility and ignored. Default None.
    """

    def __init__(self, *,
                 estimator: Any = UNSET,
                 n_features_to_select: str | int | float = UNSET,
                 tol: float | None = UNSET,
                 direction: str = UNSET,
                 scoring: str | None = UNSET,
                 cv: int = UNSET,
                 n_jobs: int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class ShrunkCovariance(Estimator):
    """Covariance matrix, pulled towards a multiple of the unit matrix.

    store_precision: Whether the inverse of the covariance is kept. Default True.
    assume_centered: Whether the means of the columns are taken for 0. Default False.
    shrinkage: Share of the multiple of the unit matrix. Default 0.1.
    """

    def __init__(self, *,
                 store_precision: bool = UNSET,
                 assume_centered: bool = UNSET,
                 shrinkage: float = UNSET) -> None:
        super().__init__(**_given(locals()))


class SimpleImputer(Estimator):
    """Replace missing values by the mean, median or most frequent value of their column, or by a constant.

    missing_values: What stands for a missing value: "NaN", a number or a category. Default 'NaN'.
    strategy: What a missing value is replaced by. Default 'mean'.
    fill_value: The constant; null: 0 in numeric columns, "missing_value" in nominal ones. Default None.
    copy: Accepted for compatibility and ignored. Default True.
    add_indicator: Add a column of zeros and ones for each column that lacked values. Default False.
    keep_empty_features: Keep columns without any value, filled with 0 or the constant. Default False.
    """

    def __init__(self, *,
                 missing_values: str | float | None = UNSET,
                 strategy: str = UNSET,
                 fill_value: float | str | None = UNSET,
                 copy: bool = UNSET,
                 add_indicator: bool = UNSET,
                 keep_empty_features: bool = UNSET) -> None:
        super().__init__(**_given(locals()))


class SkewedChi2Sampler(Estimator):
    """Approximate feature map of the skewed chi-squared kernel, by cosines of random directions.

    skewedness: Is added to all values before their logarithm. Default 1.0.
    n_components: Features to make. Default 100.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    """

    def __init__(self, *,
                 skewedness: float = UNSET,
                 n_components: int = UNSET,
                 random_state: int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class SparseRandomProjection(Estimator):
    """Rows times a matrix of few random signs, which keeps distances.

    n_components: Components to make; auto: as many as keep all distances within eps, by the Johnson-Lindenstrauss lemma. Default 'auto'.
    eps: Distortion of squared distances that "auto" allows. Default 0.1.
    compute_inverse_components: Whether fit computes inverse_components_. Default False.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    density: Share of entries that are not 0; auto: 1 / sqrt(n_features). Default 'auto'.
    dense_output: Accepted for compatibility and ignored. Default False.
    """

    def __init__(self, *,
                 n_components: int | str = UNSET,
                 eps: float = UNSET,
                 compute_inverse_components: bool = UNSET,
                 random_state: int | None = UNSET,
                 density: float | str = UNSET,
                 dense_output: bool = UNSET) -> None:
        super().__init__(**_given(locals()))


class SpectralClustering(Estimator):
    """Clusters of the places that the eigenvectors of a graph of the rows give.

    n_clusters: Number of clusters; at most the rows. Default 8.
    eigen_solver: Accepted for compatibility and ignored. Default None.
    n_components: Eigenvectors to use; null for n_clusters. Default None.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    n_init: assign_labels="kmeans": runs from different starts. Default 10.
    gamma: Factor of the rbf, poly, sigmoid and laplacian kernels. Default 1.0.
    affinity: How alike two rows are: a kernel, whether they are neighbours, or X itself, a square of affinities. Default 'rbf'.
    n_neighbors: Neighbours of a row, itself counted. Default 10.
    eigen_tol: Accepted for compatibility and ignored. Default 'auto'.
    assign_labels: How the places are divided. Default 'kmeans'.
    degree: Degree of the poly kernel. Default 3.0.
    coef0: Constant of the poly and sigmoid kernels. Default 1.0.
    kernel_params: Accepted for compatibility and ignored. Default None.
    n_jobs: Accepted for compatibility and ignored. Default None.
    verbose: Accepted for compatibility and ignored. Default False.
    """

    def __init__(self, *,
                 n_clusters: int = UNSET,
                 eigen_solver: str | None = UNSET,
                 n_components: int | None = UNSET,
                 random_state: int | None = UNSET,
                 n_init: int = UNSET,
                 gamma: float = UNSET,
                 affinity: str = UNSET,
                 n_neighbors: int = UNSET,
                 eigen_tol: float | str = UNSET,
                 assign_labels: str = UNSET,
                 degree: float = UNSET,
                 coef0: float = UNSET,
                 kernel_params: None = UNSET,
                 n_jobs: int | None = UNSET,
                 verbose: bool = UNSET) -> None:
        super().__init__(**_given(locals()))


class SpectralEmbedding(Estimator):
    """Rows at the places that the eigenvectors of a graph of them give.

    n_components: Dimensions of the embedding; less than the rows. Default 2.
    affinity: How alike two rows are: whether they are neighbours, the Gaussian kernel, or X itself, a square of affinities. Default
        'nearest_neighbors'.
    gamma: Factor of the Gaussian kernel; null for 1 / n_features. Default None.
    random_state: Accepted for compatibility and ignored. Default None.
    eigen_solver: Accepted for compatibility and ignored. Default None.
    eigen_tol: Accepted for compatibility and ignored. Default 'auto'.
    n_neighbors: Neighbours of a row, itself counted; null for a tenth of the rows, at most 1024. Default None.
    n_jobs: Accepted for compatibility and ignored. Default None.
    """

    def __init__(self, *,
                 n_components: int = UNSET,
                 affinity: str = UNSET,
                 gamma: float | None = UNSET,
                 random_state: int | None = UNSET,
                 eigen_solver: str | None = UNSET,
                 eigen_tol: float | str = UNSET,
                 n_neighbors: int | None = UNSET,
                 n_jobs: int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class SplineTransformer(Estimator):
    """Univariate B-spline bases of the columns.

    n_knots: Knots of each column, if knots is not an array. Default 5.
    degree: Degree of the polynomials. Default 3.
    knots: Where the knots are: evenly spaced, at quantiles, or an array of rows, one number a column. Default 'uniform'.
    extrapolation: What values beyond the first and last knot give. Default 'constant'.
    include_bias: Keep the last spline of each column, so that they sum to 1. Default True.
    order: Accepted for compatibility and ignored. Default 'C'.
    handle_missing: What a missing value gives. Default 'error'.
    sparse_output: Accepted for compatibility and ignored. Default False.
    """

    def __init__(self, *,
                 n_knots: int = UNSET,
                 degree: int = UNSET,
                 knots: Any = UNSET,
                 extrapolation: str = UNSET,
                 include_bias: bool = UNSET,
                 order: str = UNSET,
                 handle_missing: str = UNSET,
                 sparse_output: bool = UNSET) -> None:
        super().__init__(**_given(locals()))


class StackingClassifier(Estimator):
    """Fit a classifier on what other classifiers predict of rows that they were not fitted on.

    estimators: The estimators, {"name", "estimator"} each, or [name, estimator]. Default [].
    final_estimator: Learns from what the estimators predict; null takes LogisticRegression. Default None.
    cv: How many folds; null takes 5. Default None.
    stack_method: What it reads of each estimator; auto takes the first of these that the estimator has. Default 'auto'.
    n_jobs: Accepted for compatibility and ignored. Default None.
    passthrough: Let it read the columns of the data as well. Default False.
    verbose: Accepted for compatibility and ignored. Default 0.
    """

    def __init__(self, *,
                 estimators: Any = UNSET,
                 final_estimator: Any = UNSET,
                 cv: int | None = UNSET,
                 stack_method: str = UNSET,
                 n_jobs: int | None = UNSET,
                 passthrough: bool = UNSET,
                 verbose: int = UNSET) -> None:
        super().__init__(**_given(locals()))


class StackingRegressor(Estimator):
    """Fit a regressor on what other regressors predict of rows that they were not fitted on.

    estimators: The estimators, {"name", "estimator"} each, or [name, estimator]. Default [].
    final_estimator: Learns from what the estimators predict; null takes RidgeCV. Default None.
    cv: How many folds; null takes 5. Default None.
    n_jobs: Accepted for compatibility and ignored. Default None.
    passthrough: Let it read the columns of the data as well. Default False.
    verbose: Accepted for compatibility and ignored. Default 0.
    """

    def __init__(self, *,
                 estimators: Any = UNSET,
                 final_estimator: Any = UNSET,
                 cv: int | None = UNSET,
                 n_jobs: int | None = UNSET,
                 passthrough: bool = UNSET,
                 verbose: int = UNSET) -> None:
        super().__init__(**_given(locals()))


class StandardScaler(Estimator):
    """Standardise columns by removing the mean and scaling to unit variance.

    with_mean: Subtract the mean of each column. Default True.
    with_std: Divide each column by its standard deviation. Default True.
    copy: Accepted for compatibility and ignored. Default True.
    """

    def __init__(self, *,
                 with_mean: bool = UNSET,
                 with_std: bool = UNSET,
                 copy: bool = UNSET) -> None:
        super().__init__(**_given(locals()))


class TSNE(Estimator):
    """Rows as points of a plane, near rows near each other.

    n_components: Dimensions of the embedding. Default 2.
    perplexity: About how many neighbours a row has; less than the rows. Default 30.0.
    early_exaggeration: Factor of the affinities in the first 250 iterations. Default 12.0.
    learning_rate: auto: rows / early_exaggeration / 4, at least 50. Default 'auto'.
    max_iter: Iterations. Default 1000.
    n_iter_without_progress: Iterations after which it ends where the divergence no longer falls; after the first 250. Default 300.
    min_grad_norm: It ends below this length of the gradient. Default 1e-07.
    init: Where the points start: pca, random, or a list of places. Default 'pca'.
    verbose: Accepted for compatibility and ignored. Default 0.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    method: barnes_hut: far points count as one; exact: each counts. Default 'barnes_hut'.
    angle: barnes_hut: the width of a cell, as a share of its distance, that counts as one point. Default 0.5.
    algorithm: A hint: few columns are searched in a k-d tree, many by scanning, with any value; the neighbours are the same. Default 'auto'.
    leaf_size: Accepted for compatibility and ignored. Default 30.
    p: Power of the Minkowski metric; null means 2. Default None.
    metric: Distance. Default 'euclidean'.
    metric_params: Accepted for compatibility and ignored. Default None.
    n_jobs: Accepted for compatibility and ignored. Default None.
    """

    def __init__(self, *,
                 n_components: int = UNSET,
                 perplexity: float = UNSET,
                 early_exaggeration: float = UNSET,
                 learning_rate: float | str = UNSET,
                 max_iter: int = UNSET,
                 n_iter_without_progress: int = UNSET,
                 min_grad_norm: float = UNSET,
                 init: Any = UNSET,
                 verbose: int = UNSET,
                 random_state: int | None = UNSET,
                 method: str = UNSET,
                 angle: float = UNSET,
                 algorithm: str = UNSET,
                 leaf_size: int = UNSET,
                 p: float | None = UNSET,
                 metric: str = UNSET,
                 metric_params: None = UNSET,
                 n_jobs: int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class TargetEncoder(Estimator):
    """Encode each category by the mean of the target in its rows, the fitted rows by those of other folds.

    categories: "auto": what the fitted rows hold; or a list of categories for each column, ascending where it is numeric. Default 'auto'.
    target_type: What the target is; auto takes that of the pipeline's last step. Default 'auto'.
    smooth: As how many rows the mean of all counts in a category; auto: as the variances say. Default 'auto'.
    cv: Folds in which the fitted rows are encoded, each by the others. Default 5.
    shuffle: Shuffle the rows before they are dealt to folds. Default True.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    """

    def __init__(self, *,
                 categories: Any = UNSET,
                 target_type: str = UNSET,
                 smooth: str | float = UNSET,
                 cv: int = UNSET,
                 shuffle: bool = UNSET,
                 random_state: int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class TfidfTransformer(Estimator):
    """Weight counts of terms by how few rows have the term (tf-idf).

    norm: The norm of each row that becomes 1; null leaves rows alone. Default 'l2'.
    use_idf: Weight terms by the inverse of their document frequency. Default True.
    smooth_idf: Count one more document that has every term. Default True.
    sublinear_tf: Replace a count by 1 + log(count). Default False.
    """

    def __init__(self, *,
                 norm: str | None = UNSET,
                 use_idf: bool = UNSET,
                 smooth_idf: bool = UNSET,
                 sublinear_tf: bool = UNSET) -> None:
        super().__init__(**_given(locals()))


class TfidfVectorizer(Estimator):
    """Turn a column of texts into weights of its terms (tf-idf).

    input: Accepted for compatibility and ignored. Default 'content'.
    encoding: Accepted for compatibility and ignored. Default 'utf-8'.
    decode_error: Accepted for compatibility and ignored. Default 'strict'.
    strip_accents: Take accents off: ascii keeps nothing but ASCII. Default None.
    lowercase: Turn all to lower case first. Default True.
    preprocessor: Accepted for compatibility and ignored. Default None.
    tokenizer: Accepted for compatibility and ignored. Default None.
    stop_words: Words that are left out: scikit-learn's English list, or a list of yours. Default None.
    token_pattern: The regular expression of a word, where the analyzer is word; RE2's, with Unicode's \\w, \\d and \\s. Default
        '(?u)\\\\b\\\\w\\\\w+\\\\b'.
    ngram_range: The least and the most words or characters of a term. Default [1, 1].
    analyzer: Terms of words, of characters, or of characters within words that have blanks around them. Default 'word'.
    max_df: Leave out terms that more documents have: a count, or a share. Default 1.0.
    min_df: Leave out terms that fewer documents have: a count, or a share. Default 1.
    max_features: Keep so many terms, the most frequent ones. Default None.
    vocabulary: The terms, as a list or as an object with their columns, instead of those of the texts. Default None.
    binary: Count a term once a document. Default False.
    dtype: Accepted for compatibility and ignored. Default 'float64'.
    norm: The norm of each row that becomes 1; null leaves rows alone. Default 'l2'.
    use_idf: Weight terms by the inverse of their document frequency. Default True.
    smooth_idf: Count one more document that has every term. Default True.
    sublinear_tf: Replace a count by 1 + log(count). Default False.
    """

    def __init__(self, *,
                 input: str = UNSET,
                 encoding: str = UNSET,
                 decode_error: str = UNSET,
                 strip_accents: str | None = UNSET,
                 lowercase: bool = UNSET,
                 preprocessor: None = UNSET,
                 tokenizer: None = UNSET,
                 stop_words: Any = UNSET,
                 token_pattern: str = UNSET,
                 ngram_range: Any = UNSET,
                 analyzer: str = UNSET,
                 max_df: int | float = UNSET,
                 min_df: int | float = UNSET,
                 max_features: int | None = UNSET,
                 vocabulary: Any = UNSET,
                 binary: bool = UNSET,
                 dtype: str = UNSET,
                 norm: str | None = UNSET,
                 use_idf: bool = UNSET,
                 smooth_idf: bool = UNSET,
                 sublinear_tf: bool = UNSET) -> None:
        super().__init__(**_given(locals()))


class TheilSenRegressor(Estimator):
    """Robust linear regression: the spatial median of fits to small subsets of the rows.

    fit_intercept: Fit an intercept. Default True.
    max_subpopulation: Largest number of subsets. Default 10000.0.
    n_subsamples: Rows of a subset; null: as many as coefficients. Default None.
    max_iter: Largest number of iterations for the median. Default 300.
    tol: Stop when the median moves by less. Default 0.001.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    n_jobs: Accepted for compatibility and ignored. Default None.
    verbose: Accepted for compatibility and ignored. Default False.
    """

    def __init__(self, *,
                 fit_intercept: bool = UNSET,
                 max_subpopulation: float = UNSET,
                 n_subsamples: int | None = UNSET,
                 max_iter: int = UNSET,
                 tol: float = UNSET,
                 random_state: int | None = UNSET,
                 n_jobs: int | None = UNSET,
                 verbose: bool | int = UNSET) -> None:
        super().__init__(**_given(locals()))


class TransformedTargetRegressor(Estimator):
    """Fit a regressor to a function of the target, and bring its predictions back.

    regressor: Is fitted to func of the target; null takes LinearRegression. Default None.
    transformer: Accepted for compatibility and ignored. Default None.
    func: Function of the target, by numpy's name; null for none. Default None.
    inverse_func: What brings predictions back, by numpy's name; null for none. Default None.
    check_inverse: Warn where inverse_func does not bring the fitted targets back. Default True.
    """

    def __init__(self, *,
                 regressor: Any = UNSET,
                 transformer: None = UNSET,
                 func: str | None = UNSET,
                 inverse_func: str | None = UNSET,
                 check_inverse: bool = UNSET) -> None:
        super().__init__(**_given(locals()))


class TruncatedSVD(Estimator):
    """Singular value decomposition without centring, cut to its leading components.

    n_components: Components to keep. Default 2.
    algorithm: arpack: exact; randomized: by random projection. Default 'randomized'.
    n_iter: Power iterations of the randomized algorithm. Default 5.
    n_oversamples: Extra random vectors of the randomized algorithm. Default 10.
    power_iteration_normalizer: What is done between power iterations; LU is done as QR, with the same result. Default 'auto'.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    tol: Accepted for compatibility and ignored. Default 0.0.
    """

    def __init__(self, *,
                 n_components: int = UNSET,
                 algorithm: str = UNSET,
                 n_iter: int = UNSET,
                 n_oversamples: int = UNSET,
                 power_iteration_normalizer: str = UNSET,
                 random_state: int | None = UNSET,
                 tol: float = UNSET) -> None:
        super().__init__(**_given(locals()))


class TunedThresholdClassifierCV(Estimator):
    """A classifier whose threshold is chosen by a score of rows that it was not fitted on.

    estimator: Gives the scores; null takes LogisticRegression. Default None.
    response_method: Which scores; auto takes probabilities where there are any. Default 'auto'.
    scoring: What is to be largest. Default 'balanced_accuracy'.
    thresholds: How many thresholds, between the least and the largest score; or these, ascending. Default 100.
    cv: How many folds; null takes 5. Default None.
    store_cv_results: Keep the score of each threshold. Default False.
    refit: Accepted for compatibility and ignored. Default True.
    n_jobs: Accepted for compatibility and ignored. Default None.
    random_state: Accepted for compatibility and ignored. Default None.
    """

    def __init__(self, *,
                 estimator: Any = UNSET,
                 response_method: str = UNSET,
                 scoring: str = UNSET,
                 thresholds: Any = UNSET,
                 cv: int | None = UNSET,
                 store_cv_results: bool = UNSET,
                 refit: bool = UNSET,
                 n_jobs: int | None = UNSET,
                 random_state: int | None = UNSET) -> None:
        super().__init__(**_given(locals()))


class TweedieRegressor(Estimator):
    """Regression with a distribution of Tweedie's family and an L2 penalty.

    power: Power of the mean to which the variance is proportional: 0 normal, 1 Poisson, 2 gamma, 3 inverse Gaussian. Default 0.0.
    alpha: Strength of the L2 penalty. Default 1.0.
    fit_intercept: Fit an intercept, which is not penalised. Default True.
    link: From the linear predictor to the mean; auto: identity for a power up to 0, otherwise log. Default 'auto'.
    solver: Has no influence on the answer. Default 'lbfgs'.
    max_iter: Largest number of iterations. Default 100.
    tol: Has no influence: iterations go on to rounding. Default 0.0001.
    warm_start: Accepted for compatibility and ignored. Default False.
    verbose: Accepted for compatibility and ignored. Default 0.
    """

    def __init__(self, *,
                 power: float = UNSET,
                 alpha: float = UNSET,
                 fit_intercept: bool = UNSET,
                 link: str = UNSET,
                 solver: str = UNSET,
                 max_iter: int = UNSET,
                 tol: float = UNSET,
                 warm_start: bool = UNSET,
                 verbose: int | bool = UNSET) -> None:
        super().__init__(**_given(locals()))


class UMAP(Estimator):
    """Rows as points of few dimensions that keep their neighbourhoods, as umap-learn has it.

    n_neighbors: Neighbours that a row is to keep, itself counted. Default 15.
    n_components: Dimensions of the embedding. Default 2.
    metric: Distance of rows. Default 'euclidean'.
    n_epochs: Epochs of the layout; null for 500, or 200 beyond 10,000 rows. Default None.
    learning_rate: How far places move in the first epoch. Default 1.0.
    init: Where the places start: eigenvectors of the graph, by chance, pca, or a list of places. Default 'spectral'.
    min_dist: How near places may lie; at most spread. Default 0.1.
    spread: The scale of the places. Default 1.0.
    set_op_mix_ratio: 1: an edge that either of its rows has; 0: that both have. Default 1.0.
    local_connectivity: How many neighbours count in full. Default 1.0.
    repulsion_strength: Weight of the places by chance. Default 1.0.
    negative_sample_rate: Places by chance for each edge that pulls. Default 5.
    a: Of the curve 1 / (1 + a d^2b); null takes it from min_dist and spread. Default None.
    b: Of the same curve. Default None.
    random_state: Seed of the random numbers; null takes the seed of the job. Default None.
    transform_seed: Seed of the draws for new rows. Default 42.
    low_memory: Accepted for compatibility and ignored. Default True.
    n_jobs: Accepted for compatibility and ignored. Default -1.
    verbose: Accepted for compatibility and ignored. Default False.
    """

    def __init__(self, *,
                 n_neighbors: int = UNSET,
                 n_components: int = UNSET,
                 metric: str = UNSET,
                 n_epochs: int | None = UNSET,
                 learning_rate: float = UNSET,
                 init: Any = UNSET,
                 min_dist: float = UNSET,
                 spread: float = UNSET,
                 set_op_mix_ratio: float = UNSET,
                 local_connectivity: float = UNSET,
                 repulsion_strength: float = UNSET,
                 negative_sample_rate: int = UNSET,
                 a: float | None = UNSET,
                 b: float | None = UNSET,
                 random_state: int | None = UNSET,
                 transform_seed: int = UNSET,
                 low_memory: bool = UNSET,
                 n_jobs: int | None = UNSET,
                 verbose: bool | int = UNSET) -> None:
        super().__init__(**_given(locals()))


class VarianceThreshold(Estimator):
    """Leave out columns that hardly vary.

    threshold: Columns with at most this variance are left out. Default 0.0.
    """

    def __init__(self, *,
                 threshold: float = UNSET) -> None:
        super().__init__(**_given(locals()))


class VotingClassifier(Estimator):
    """Let several classifiers vote, or average their probabilities.

    estimators: The estimators, {"name", "estimator"} each, or [name, estimator]. Default [].
    voting: Count the predicted classes, or average the probabilities. Default 'hard'.
    weights: What the answers weigh, in the order of `estimators`; null weighs all alike. Default None.
    n_jobs: Accepted for compatibility and ignored. Default None.
    flatten_transform: Without effect here: this estimator only predicts. Default True.
    verbose: Accepted for compatibility and ignored. Default False.
    """

    def __init__(self, *,
                 estimators: Any = UNSET,
                 voting: str = UNSET,
                 weights: Any = UNSET,
                 n_jobs: int | None = UNSET,
                 flatten_transform: bool = UNSET,
                 verbose: bool | int = UNSET) -> None:
        super().__init__(**_given(locals()))


class VotingRegressor(Estimator):
    """Average what several regressors predict.

    estimators: The estimators, {"name", "estimator"} each, or [name, estimator]. Default [].
    weights: What the answers weigh, in the order of `estimators`; null weighs all alike. Default None.
    n_jobs: Accepted for compatibility and ignored. Default None.
    verbose: Accepted for compatibility and ignored. Default False.
    """

    def __init__(self, *,
                 estimators: Any = UNSET,
                 weights: Any = UNSET,
                 n_jobs: int | None = UNSET,
                 verbose: bool | int = UNSET) -> None:
        super().__init__(**_given(locals()))
