"""Random projections and the count sketch of polynomials: scikit-learn's draws, so its matrices."""
from harness import Case, Exact, SignOfColumns

PROJECTION = {"n_components_": Exact(), "components_": 1e-14, "transform": 1e-12}
SKETCH = {"indexHash_": Exact(), "bitHash_": Exact(), "transform": 1e-12}

CASES = []
for data in ("iris", "wine", "digits"):
    for seed in (0, 7):
        CASES.append(Case("GaussianRandomProjection", {"n_components": 3, "random_state": seed}, data, PROJECTION))
        CASES.append(Case("SparseRandomProjection", {"n_components": 3, "random_state": seed}, data, {**PROJECTION, "density_": Exact()}))
for density in (0.01, 1 / 3, 0.995, 1.0):
    CASES.append(Case("SparseRandomProjection", {"n_components": 12, "density": density, "random_state": 3}, "digits", {**PROJECTION, "density_": Exact()}))
# More than 30 entries a row, which numpy draws by another algorithm.
CASES.append(Case("SparseRandomProjection", {"n_components": 20, "density": 0.6, "random_state": 1}, "digits", {**PROJECTION, "density_": Exact()}))
for estimator in ("GaussianRandomProjection", "SparseRandomProjection"):
    CASES.append(Case(estimator, {"eps": 0.9, "random_state": 5}, "words", PROJECTION))   # n_components = "auto"
    CASES.append(Case(estimator, {"n_components": 6, "random_state": 0, "compute_inverse_components": True}, "wine", {**PROJECTION, "inverse_components_": 1e-10}))
    CASES.append(Case(estimator, {"n_components": 40, "random_state": 0}, "words", PROJECTION, sparse=True))
    CASES.append(Case(estimator, {}, "iris", error="asks for"))
    CASES.append(Case(estimator, {"eps": 1.5}, "iris", error="eps is 1.5, must be below 1"))

for data in ("iris", "wine"):
    for params in ({}, {"degree": 1}, {"degree": 3, "gamma": 0.5}, {"coef0": 1.0}, {"degree": 4, "coef0": 0.5, "n_components": 33}, {"n_components": 1}):
        CASES.append(Case("PolynomialCountSketch", {"random_state": 2, **params}, data, SKETCH, before=[("StandardScaler", {})]))
CASES.append(Case("PolynomialCountSketch", {"random_state": 0, "n_components": 256}, "digits", SKETCH))

FOURIER = {"random_weights_": 1e-14, "random_offset_": 1e-15, "transform": 1e-12}
for data in ("iris", "wine"):
    for params in ({}, {"gamma": "scale"}, {"gamma": 0.2, "n_components": 7}, {"gamma": 0, "n_components": 1}):
        CASES.append(Case("RBFSampler", {"random_state": 4, **params}, data, FOURIER, before=[("StandardScaler", {})]))
    for params in ({}, {"skewedness": 0.01, "n_components": 33}):
        CASES.append(Case("SkewedChi2Sampler", {"random_state": 4, **params}, data, FOURIER))
CASES.append(Case("RBFSampler", {"random_state": 0, "n_components": 300, "gamma": "scale"}, "digits", FOURIER))
CASES.append(Case("RBFSampler", {"gamma": -1}, "iris", error="gamma is -1"))
CASES.append(Case("SkewedChi2Sampler", {"skewedness": -1}, "iris", error="must be above 1"))

SEEN = {"eigenvalues_": 1e-9, "transform": SignOfColumns(1e-7), "eigenvectors_": SignOfColumns(1e-7), "gamma_": 1e-15}
CASES += [Case("KernelPCA", params, data, SEEN, before=[("StandardScaler", {})], f32=None)
          for data in ("diabetes", "wine", "regression")
          for params in ({"n_components": 2}, {"n_components": 3, "kernel": "rbf"}, {"n_components": 4, "kernel": "poly", "degree": 2, "gamma": 0.1}, {"n_components": 3, "kernel": "cosine"})]
CASES += [Case("KernelPCA", {"kernel": "linear"}, "regression", {"eigenvalues_": 1e-9, "transform": SignOfColumns(1e-7)}, before=[("StandardScaler", {})], f32=None),
          Case("KernelPCA", {"kernel": "rbf", "n_components": 5}, "regression", {"eigenvalues_": 1e-4, "transform": SignOfColumns(5e-3)}, before=[("StandardScaler", {})], f32=5e-3, note="float32"),
          Case("KernelPCA", {"n_components": 0}, "regression", error="n_components")]
