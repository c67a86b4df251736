"""The expected numbers of tests/unit/engine/estimators/network_embeddings_test.cc: networks with embeddings in numpy alone, forward and backward, with scikit-learn's
first weights and steps, printed as rows of C++. The gradients are compared with differences of the loss first. Run it with numpy: python3 tests/estimators/embedding_peer.py"""
import numpy

ROWS, BATCH, EPOCHS, ALPHA = 12, 4, 5, 0.1
PLAIN, TABLES = [0, 2], [([1], 6, 3), ([4, 3], 4, 2)]   # columns; columns, input_dim, output_dim
X = numpy.array([[numpy.sin(1.3 * i), 7 * i % 5, numpy.cos(0.7 * i), (5 * i + 2) % 4, 3 * i % 4] for i in range(ROWS)])
Y = numpy.array([numpy.cos(0.9 * i) for i in range(ROWS)])
WIDTH = len(PLAIN) + sum(len(columns) * dim for columns, _, dim in TABLES)


def first_parameters(hidden):
    random, made, inputs = numpy.random.RandomState(1), [], WIDTH
    for units in [*hidden, 1]:
        bound = numpy.sqrt(6 / (inputs + units))
        made += [random.uniform(-bound, bound, (inputs, units)), random.uniform(-bound, bound, units)]
        inputs = units
    return made + [random.uniform(-0.05, 0.05, (n, dim)) for _, n, dim in TABLES]


def read(rows, tables):
    return numpy.hstack([rows[:, PLAIN]] + [table[rows[:, column].astype(int)] for table, (columns, _, _) in zip(tables, TABLES) for column in columns])


def forward(parameters, rows):
    dense, tables = parameters[:-len(TABLES)], parameters[-len(TABLES):]
    values = [read(rows, tables)]
    for layer in range(0, len(dense), 2):
        values.append(values[-1] @ dense[layer] + dense[layer + 1])
        if layer + 2 < len(dense):
            values[-1] = numpy.tanh(values[-1])
    return values


def loss(parameters, rows, y):
    dense = parameters[:-len(TABLES)]
    return ((forward(parameters, rows)[-1][:, 0] - y) ** 2).mean() / 2 + ALPHA / 2 * sum((weights ** 2).sum() for weights in dense[::2]) / len(y)


def gradient(parameters, rows, y):
    dense, values = parameters[:-len(TABLES)], forward(parameters, rows)
    made, slopes = [numpy.zeros_like(part) for part in parameters], (values[-1] - y[:, None]) / len(y)
    for layer in range(len(dense) - 2, -1, -2):
        below = values[layer // 2]
        made[layer], made[layer + 1] = below.T @ slopes + ALPHA / len(y) * dense[layer], slopes.sum(0)
        slopes = slopes @ dense[layer].T
        if layer > 0:
            slopes = slopes * (1 - below ** 2)
    at = len(PLAIN)
    for (columns, _, dim), table in zip(TABLES, made[-len(TABLES):]):
        for column in columns:
            numpy.add.at(table, rows[:, column].astype(int), slopes[:, at:at + dim])
            at += dim
    return made


def check_gradient(parameters):
    for part, slopes in zip(parameters, gradient(parameters, X, Y)):
        for place in numpy.ndindex(part.shape):
            kept, sides = part[place], []
            for step in (1e-6, -1e-6):
                part[place] = kept + step
                sides.append(loss(parameters, X, Y))
            part[place] = kept
            assert abs((sides[0] - sides[1]) / 2e-6 - slopes[place]) < 1e-8


def run(hidden, solver):
    parameters, curve, count = first_parameters(hidden), [], 0
    check_gradient(parameters)
    first, second = [numpy.zeros_like(part) for part in parameters], [numpy.zeros_like(part) for part in parameters]
    for _ in range(EPOCHS):
        total = 0.0
        for begin in range(0, ROWS, BATCH):
            rows, y = X[begin:begin + BATCH], Y[begin:begin + BATCH]
            total += loss(parameters, rows, y) * len(y)
            slopes, count = gradient(parameters, rows, y), count + 1
            rate = 0.1 * numpy.sqrt(1 - 0.999 ** count) / (1 - 0.9 ** count)
            for part, own, m, v in zip(parameters, slopes, first, second):
                if solver == "sgd":
                    m[...] = 0.9 * m - 0.1 * own
                    part += 0.9 * m - 0.1 * own
                else:
                    m[...], v[...] = 0.9 * m + (1 - 0.9) * own, 0.999 * v + (1 - 0.999) * own ** 2
                    part -= rate * m / (numpy.sqrt(v) + 1e-6)
        curve.append(total / ROWS)
    return curve + forward(parameters, X[:3])[-1][:, 0].tolist() + [parameters[-2][4, 1], parameters[-2][5, 2], parameters[-1][3, 0]]


for hidden in ([4], []):
    for solver in ("sgd", "adam"):
        print("    {{%s}, \"%s\",\n     {%s}}," % (", ".join(f'"dense({units}, tanh)"' for units in hidden), solver, ", ".join(f"{value:.12g}" for value in run(hidden, solver))))
