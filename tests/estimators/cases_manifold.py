"""Embeddings. The descent is chaotic, so that its places cannot be compared; how well they keep the neighbours can."""
from harness import Case

NEAR = {"kl_divergence_": 0.03, "learning_rate_": 1e-12}

CASES = [Case("TSNE", params, data, NEAR, split=False, f32=0.05, sk=params | {"random_state": 0})
         for data, params in (("iris", {"method": "exact"}), ("iris", {}),
                              ("iris", {"perplexity": 10.0}), ("wine", {"method": "exact"}), ("wine", {"angle": 0.2, "early_exaggeration": 6.0}),
                              ("digits", {}), ("digits", {"metric": "manhattan", "learning_rate": 200.0}))]
CASES += [Case("TSNE", {"perplexity": 150.0}, "iris", split=False, error="perplexity is 150"),
          Case("TSNE", {"n_components": 4}, "iris", error="n_components"),
          Case("TSNE", {"max_iter": 100}, "iris", error="max_iter"),
          Case("TSNE", {"init": [[0.0, 1.0]]}, "iris", error="init has 1 places")]
