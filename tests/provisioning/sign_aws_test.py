"""1,000 random requests get the same Authorization header from us as from botocore. Skips itself where there is no botocore."""
import datetime
import json
import os
import random
import subprocess
import sys
import urllib.parse

try:
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials
except ImportError:
    print("skipped: botocore is not installed (python3 -m pip install botocore)")
    sys.exit(77)

COUNT = 1000
TEXT = "abzAZ09-_.~ /+=&%?#:;,@!*'()äß€"


def text(rng, most):
    return "".join(rng.choice(TEXT) for _ in range(rng.randrange(most)))


def make(rng):
    path = "/" + "/".join(urllib.parse.quote(text(rng, 8), safe="") if rng.random() < 0.7 else rng.choice(["", ".", "..", "a"])
                          for _ in range(rng.randrange(4)))
    query = "&".join(f"{urllib.parse.quote(text(rng, 6) or 'k', safe='')}={urllib.parse.quote(text(rng, 12), safe='')}"
                     for _ in range(rng.randrange(6)))
    host = rng.choice(["ec2.us-east-1.amazonaws.com", "127.0.0.1:5000", "ssm.eu-central-1.amazonaws.com:443", "[::1]:8080"])
    scheme = rng.choice(["https", "http"]) if ":" in host else "https"
    headers = [[name, rng.choice(["", " "]) + text(rng, 20).replace("€", "") + rng.choice(["", "  x  y"])]
               for name in rng.sample(["Content-Type", "X-Amz-Target", "Accept", "X-Custom", "x-amz-meta-a"], rng.randrange(4))]
    headers = [[name, value.encode("ascii", "ignore").decode()] for name, value in headers]
    return {"method": rng.choice(["GET", "POST", "PUT", "DELETE"]), "url": f"{scheme}://{host}{path}" + ("?" + query if query else ""),
            "body": text(rng, 200), "headers": headers, "access": "AKID" + str(rng.randrange(10**9)), "secret": text(rng, 40) or "s",
            "session": rng.choice(["", "", "tok/en+" + str(rng.random())]), "region": rng.choice(["us-east-1", "eu-central-1"]),
            "service": rng.choice(["ec2", "ssm", "pricing"]), "time": rng.randrange(1_600_000_000, 2_000_000_000)}


def signed_by_botocore(case):
    request = AWSRequest(method=case["method"], url=case["url"], data=case["body"].encode(), headers=dict(case["headers"]))
    auth = SigV4Auth(Credentials(case["access"], case["secret"], case["session"] or None), case["service"], case["region"])
    when = datetime.datetime.fromtimestamp(case["time"], datetime.timezone.utc)
    request.context["timestamp"] = when.strftime("%Y%m%dT%H%M%SZ")
    auth._modify_request_before_signing(request)
    canonical = auth.canonical_request(request)
    to_sign = auth.string_to_sign(request, canonical)
    auth._inject_signature_to_request(request, auth.signature(to_sign, request))
    return request.headers["Authorization"], canonical


def main():
    rng = random.Random(5)
    cases = [make(rng) for _ in range(COUNT)]
    ours = subprocess.run([os.environ["KEDGE_SIGN_PROBE"]], input="\n".join(map(json.dumps, cases)) + "\n", capture_output=True, text=True,
                          check=True).stdout.splitlines()
    assert len(ours) == COUNT, len(ours)
    wrong = 0
    for case, mine in zip(cases, ours):
        theirs, canonical = signed_by_botocore(case)
        if mine != theirs:
            wrong += 1
            if wrong <= 3:
                print(json.dumps(case), "\nours:  ", mine, "\ntheirs:", theirs, "\n" + canonical)
    print(f"{COUNT - wrong} of {COUNT} equal")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
