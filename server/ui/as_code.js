// A description as what one would type in a shell, in Python, in C++.
import { base } from './api.js';

export function asCurl(spec) {
  const text = JSON.stringify(spec, null, 2).replaceAll("'", "'\\''");
  return `curl -s -H 'Content-Type: application/json' -H "Authorization: Bearer $KEDGE_TOKEN" \\\n  --data-binary '${text}' \\\n  '${base}/v1/jobs?wait=60s'`;
}

export function pythonLiteral(value, indent = 0) {
  const inner = ' '.repeat(indent + 4), end = ' '.repeat(indent);
  if (value === null) return 'None';
  if (value === true) return 'True';
  if (value === false) return 'False';
  if (typeof value !== 'object') return JSON.stringify(value);
  const short = JSON.stringify(value).length < 60;
  const parts = Array.isArray(value) ? value.map((v) => pythonLiteral(v, indent + 4)) : Object.entries(value).map(([k,
    v]) => `${JSON.stringify(k)}: ${pythonLiteral(v, indent + 4)}`);
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  return short || !parts.length ? `${open}${parts.join(', ')}${close}`
    : `${open}\n${inner}${parts.join(`,\n${inner}`)},\n${end}${close}`;
}

export const asPython = (spec) => `import kedge

session = kedge.connect(${JSON.stringify(base)})   # the token comes from KEDGE_TOKEN
job = session.submit(${pythonLiteral(spec)})
print(job.result())
`;

export const asCpp = (spec) => `#include <kedge/session.h>
#include <schemas/codec.h>

#include <iostream>

int main() {
  const kedge::Session session(${JSON.stringify(base)});   // the token comes from KEDGE_TOKEN
  const auto spec = kedge::schema::from_json<kedge::schema::JobSpec>(R"json(${JSON.stringify(spec, null, 2)})json");
  const kedge::schema::Job job = session.submit(spec).wait();
  std::cout << kedge::schema::to_json(job) << "\\n";
}
`;
