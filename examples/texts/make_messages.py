#!/usr/bin/env python3
"""Writes messages to a help desk with the team that answered each, as CSV. The same rows for the same seed. Needs nothing but Python.

    python3 examples/texts/make_messages.py messages.csv
"""
import argparse
import csv
import random

TEAMS = {
    "billing": ("invoice", "refund", "charged twice", "price", "payment failed", "credit card", "receipt", "discount", "not paid", "tax number"),
    "technical": ("router", "no signal", "slow", "password", "outage", "does not work", "restart", "error message", "not connected", "update"),
    "delivery": ("parcel", "courier", "not arrived", "address", "tracking", "broken box", "late", "returned", "pickup", "delivered twice"),
}
COMMON = ("please", "hello", "thanks", "since yesterday", "again", "my order", "your service", "I am waiting", "it is urgent", "Grüße", "could you", "best regards", "not happy")


def message(draw):
    team = draw.choice(list(TEAMS))
    words = draw.choices(COMMON, k=draw.randint(3, 12)) + draw.choices(TEAMS[team], k=draw.randint(0, 3))
    words += [draw.choice(TEAMS[draw.choice(list(TEAMS))]) for _ in range(draw.randint(0, 2))]
    draw.shuffle(words)
    return ", ".join(words) + draw.choice((".", "!", "?", "")), team


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    with open(options.file, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["message", "team"])
        writer.writerows(message(draw) for _ in range(options.rows))


if __name__ == "__main__":
    main()
