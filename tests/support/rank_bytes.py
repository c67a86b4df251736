"""What a rank brings to the others in a fit: counted, by the event of the job, and by formula; and what follows for many GPUs. n rows, d columns, C classes,
k clusters, P ranks; an exact number is three integers, L = 24 bytes."""
import json
import re

L = 24
CUT = 80   # bytes of the best cut of one column
COUNTED = re.compile(r"the first rank brought (\d+) bytes to (\d+) sums of all ranks and (\d+) bytes to (\d+) exchanges")
RANKS = (8, 64, 256, 1024)


def counted(server, job):
    """Of a job that several ranks have shared: bytes, sums over ranks, exchanges."""
    text = server.call("GET", f"/v1/jobs/{job}/events").body.decode()
    messages = [json.loads(line[5:]).get("log", {}).get("message", "") for line in text.splitlines() if line.startswith("data:")]
    (found,) = [match for match in map(COUNTED.fullmatch, messages) if match]
    summed, sums, moved, exchanges = map(int, found.groups())
    return summed + moved, sums, exchanges


def first_rows(n, ranks):
    """Rows of the first rank, in whole blocks (engine/comm/dealt_blocks.h)."""
    block = 1024
    while block * 64 < n:
        block *= 2
    return min(n, -(-n // block) // ranks * block)


def of_formula(name, n, d, ranks, sums, exchanges, fitted, model_bytes):
    """Bytes, and the formula in words. `fitted`: the attributes of the model, some of which say how many steps there were."""
    classes, clusters = len(fitted.get("classes_", ())), len(fitted.get("cluster_centers_", ()))
    if name == "GaussianNB":   # counts, means, variances
        return L * (classes + 2 * classes * d), "L (C + 2 C d)"
    if name == "Ridge":   # the triangle of the Gram matrix, products with the target, means
        return L * (d * (d + 1) // 2 + 3 * d), "L (d (d + 1) / 2 + 3 d)"
    if name == "LogisticRegression":   # loss and gradient of each evaluation, of which the intercepts are a sum of their own
        return L * (classes * (d + 1) + 1) * (sums // 2), f"L (C (d + 1) + 1), {sums // 2} times"
    if name == "KMeans":   # sums of clusters; labels of the rank's rows; for each start weights of groups of 65,536 rows and of 256 rows of the last group
        steps, own = fitted["n_iter_"], first_rows(n, ranks)
        weights = own // 65536 + own % 65536 // 256
        return L * clusters * (d + 1) * steps + 4 * own + 8 * weights * clusters, f"L k (d + 1), {steps} times, + 4 n / P + {8 * weights} k"
    if name == "DBSCAN":   # rows go round once, as float32; neighbours of each row, components until they are the same everywhere, and borders
        rounds, own = sums // 2 - 1, first_rows(n, ranks)
        return 4 * own * d + 8 * n * (rounds + 2), f"4 n d / P + 8 n ({rounds} + 2)"
    if name == "RandomForestClassifier":
        return model_bytes // ranks, "bytes of the model / P"
    if name == "HistGradientBoostingClassifier":   # a tenth of the rows is held back; the codes, and the best cuts for two nodes at a time
        rows = n - n // 10 if fitted["do_early_stopping_"] else n
        return rows * d // ranks + 2 * CUT * d // ranks * (exchanges - 2), f"n d / P + {2 * CUT} d / P, {exchanges - 2} times"
    raise ValueError(f"fit is {name}, must be one of which the formula is known")


def seconds_of_calls(ranks, sums, summed, gathered):
    """Of a step on H100 GPUs: latencies of NCCL's own model, 200 GB/s between machines of 8 GPUs and 370 within one; a sum over ranks has three calls (sizes,
    exponents, integers) and its bytes travel twice, gathered ones to every rank; 20 us for the host's decision."""
    latency = {8: 15e-6, 64: 45e-6, 256: 65e-6, 1024: 85e-6}[ranks]
    speed = 370e9 if ranks == 8 else 200e9
    return 3 * latency * sums + 2 * summed / speed + gathered * ranks / speed + 20e-6


def modelled():
    """Fits of 1e9 rows of 64 float32 columns: name, seconds of computing on one GPU, and on P the seconds of calls. A pass over the table: 3 TB/s."""
    n, d, a_pass = 1e9, 64, 256e9 / 3e12
    gram, gradient, means, bayes = d * d // 2 + 3 * d, 3 * (d + 1) + 1, 100 * (d + 1), 3 * (2 * d + 1)

    def sums(numbers, steps, calls=1):
        return lambda ranks: steps * seconds_of_calls(ranks, calls, L * numbers, 2 * numbers)
    return [
        ("GaussianNB, 3 classes", 2 * a_pass, sums(bayes, 1, 3)),
        ("Ridge", 2 * n * d * d / 50e12 + a_pass, sums(gram, 1, 3)),
        ("LogisticRegression, 3 classes, 30 evaluations", 30 * a_pass, sums(gradient, 30, 2)),
        ("KMeans, 100 clusters, 20 iterations, sums alone", 20 * 2 * n * d * 100 / 50e12, sums(means, 20)),
        ("the same, with labels to all at the end", 20 * 2 * n * d * 100 / 50e12, lambda ranks: sums(means, 20)(ranks) + seconds_of_calls(ranks, 1, 0, 4 * n / ranks)),
    ]
