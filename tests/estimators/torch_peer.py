"""The expected numbers of tests/unit/engine/estimators/network_layers_test.cc: small networks in torch, from scikit-learn's first weights, in float64, printed
as rows of C++. Run it with torch's CPU or CUDA wheel of PyPI: python3 tests/estimators/torch_peer.py"""
import numpy
import torch
from torch import nn

torch.set_default_dtype(torch.float64)
ROWS, COLS, BATCH, EPOCHS = 12, 3, 4, 5
X = torch.tensor([[numpy.sin(1.3 * i + 0.7 * j) for j in range(COLS)] for i in range(ROWS)])
Y = torch.tensor([numpy.cos(0.9 * i) for i in range(ROWS)])
KINDS = {"relu": nn.ReLU, "leaky_relu": nn.LeakyReLU, "elu": nn.ELU, "gelu": nn.GELU, "silu": nn.SiLU, "tanh": nn.Tanh, "logistic": nn.Sigmoid, "identity": nn.Identity}


def network(layers):
    random, stages, width = numpy.random.RandomState(1), [], COLS
    for text in [*layers, "dense(1)"]:
        name, _, inside = text.rstrip(")").partition("(")
        if name == "dense":
            words = [word.strip() for word in inside.split(",")]
            dense = nn.Linear(width, int(words[0]))
            bound = numpy.sqrt(6 / (width + int(words[0])))
            with torch.no_grad():
                dense.weight.copy_(torch.tensor(random.uniform(-bound, bound, (width, int(words[0]))).T))
                dense.bias.copy_(torch.tensor(random.uniform(-bound, bound, int(words[0]))))
            width = int(words[0])
            stages += [dense] + ([KINDS[words[1]]()] if len(words) > 1 else [])
        else:
            stages.append({"batch_norm": nn.BatchNorm1d, "layer_norm": nn.LayerNorm}[name](width) if name.endswith("norm") else KINDS[name]())
    return nn.Sequential(*stages)


def optimiser(model, solver, decay):
    weights = [layer.weight for layer in model if isinstance(layer, nn.Linear)]
    rest = [p for p in model.parameters() if not any(p is w for w in weights)]
    groups = [{"params": weights, "weight_decay": decay}, {"params": rest, "weight_decay": 0.0}]
    if solver == "sgd":
        return torch.optim.SGD(groups, lr=0.1, momentum=0.9, nesterov=True)
    if solver == "rmsprop":
    # An intercept before a batch norm has slopes of rounding alone: a smaller epsilon would let Adam and RMSprop walk by them.
        return torch.optim.RMSprop(groups, lr=0.01, alpha=0.9, eps=1e-6)
    return torch.optim.AdamW(groups, lr=0.1, betas=(0.9, 0.999), eps=1e-6)


SCHEDULES = {"step(2, 0.5)": lambda o: torch.optim.lr_scheduler.StepLR(o, 2, 0.5), "exponential(0.8)": lambda o: torch.optim.lr_scheduler.ExponentialLR(o, 0.8),
             "cosine(4)": lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, 4), "warm_restarts(2)": lambda o: torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(o, 2),
             "warmup(4)": lambda o: torch.optim.lr_scheduler.LambdaLR(o, lambda epoch: min(1, (epoch + 1) / 4))}


def run(layers, solver="adam", decay=0.0, most=None, schedule=None):
    model = network(layers)
    steps = optimiser(model, solver, decay)
    rates, curve = SCHEDULES[schedule](steps) if schedule else None, []
    count = 0
    for _ in range(EPOCHS):
        total = 0.0
        for first in range(0, ROWS, BATCH):
            steps.zero_grad()
            loss = ((model(X[first:first + BATCH])[:, 0] - Y[first:first + BATCH]) ** 2).mean() / 2
            loss.backward()
            if most:
                nn.utils.clip_grad_norm_(model.parameters(), most)
            count += 1
            for group in steps.param_groups:
                if solver.startswith("adam"):   # scikit-learn adds epsilon before it corrects the mean of squares, torch behind that
                    group["eps"] = 1e-6 / numpy.sqrt(1 - 0.999 ** count)
            steps.step()
            total += loss.item() * BATCH
        curve.append(total / ROWS)
        if rates:
            rates.step()
    model.eval()
    with torch.no_grad():
        return curve + model(X[:3])[:, 0].tolist()


TWO = ["dense(5, relu)", "dense(4, tanh)"]
CASES = [dict(layers=["dense(6)", kind, "dense(4)", kind]) for kind in KINDS]
CASES += [dict(layers=["dense(6)", norm, "gelu", "dense(4, silu)", norm]) for norm in ("batch_norm", "layer_norm")]
CASES += [dict(layers=["dense(5, elu)", "batch_norm", "layer_norm"]), dict(layers=TWO, solver="rmsprop"), dict(layers=TWO, solver="adamw", decay=0.5),
          dict(layers=TWO, most=0.05), dict(layers=["dense(6, relu)", "batch_norm"], solver="sgd", most=0.1)]
CASES += [dict(layers=TWO, schedule=name) for name in SCHEDULES]

for case in CASES:
    texts = ", ".join(f'"{text}"' for text in case["layers"])
    print("    {{%s}, \"%s\", %s, %s, \"%s\",\n     {%s}}," % (texts, case.get("solver", "adam"), case.get("decay", 0.0), case.get("most") or 0.0, case.get("schedule") or "",
                                                      ", ".join(f"{value:.12g}" for value in run(**case))))
