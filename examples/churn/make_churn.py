#!/usr/bin/env python3
"""Writes a table of customers as such tables often come: numbers among which some cells say "unknown", dates, free text, a target in words,
and categories that only one row has. The same rows for the same seed. Needs nothing but Python.

    python3 examples/churn/make_churn.py churn.csv
"""
import argparse
import csv
import datetime
import math
import random

PLANS = ("basic", "plus", "family", "business")
REGIONS = ("north", "south", "east", "west", "islands")
RARE_REGIONS = ("embassy", "ship")   # of one row each
WORDS = ("support", "slow", "invoice", "router", "moved", "price", "offer", "family", "fast", "outage", "contract", "thanks")
FIRST_DAY = datetime.date(2019, 1, 1)


def customer(draw):
    """One row, and whether this customer leaves."""
    age = draw.randint(18, 85)
    fee = round(draw.uniform(9, 120), 2)
    plan = draw.choice(PLANS)
    region = draw.choice(REGIONS)
    signup = FIRST_DAY + datetime.timedelta(days=draw.randrange(2000))
    calls = min(draw.randrange(12), draw.randrange(12))
    comment = " ".join(draw.choices(WORDS, k=draw.randint(2, 6))) + f" {draw.randrange(1000000)}"
    years = (FIRST_DAY + datetime.timedelta(days=2000) - signup).days / 365.25
    odds = -1.2 + 0.02 * (fee - 50) + 0.35 * calls - 0.45 * years + 0.01 * (40 - age) + (0.8 if plan == "basic" else 0.0)
    leaves = draw.random() < 1 / (1 + math.exp(-odds))
    return [age, plan, region, signup.isoformat(), fee, calls, comment], leaves


def rows(n, seed):
    draw = random.Random(seed)
    rare = dict(zip((n // 3, n // 2), RARE_REGIONS))
    for i in range(n):
        cells, leaves = customer(draw)
        cells[2] = rare.get(i, cells[2])
        if draw.random() < 0.02:
            cells[0] = "unknown"
        if draw.random() < 0.01:
            cells[4] = "unknown"
        if draw.random() < 0.03:
            cells[5] = ""
        yield cells + ["left" if leaves else "stayed"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="the CSV file to write")
    parser.add_argument("--rows", type=int, default=50000, help="at least 1 (default 50000)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with open(options.file, "w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["age", "plan", "region", "signup", "fee", "calls", "comment", "status"])
        writer.writerows(rows(options.rows, options.seed))


if __name__ == "__main__":
    main()
