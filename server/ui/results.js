// What a result holds: folds, the candidates of a search, curves, what the steps have learned.
import { html, useMemo, useState } from './preact.js';
import { Bars, COLOURS, ConfusionMatrix, Lines, Parallel, Plot, Scatter, extent } from './charts.js';
import { Card, SortableTable, Tabs } from './parts.js';
import { number, plural, score, seconds } from './format.js';

// The scores of the folds as dots, and the times of each.
export function Folds({ result }) {
  const scores = Object.entries(result.scores || {}).filter(([, value]) => (value.perFold || []).length > 1);
  if (!scores.length) return null;
  const folds = result.timings?.folds || [];
  const n = Math.max(...scores.map(([, value]) => value.perFold.length));
  const rows = Array.from({ length: n }, (_, i) => i);
  const columns = [{ key: 'fold', title: 'Fold', of: (i) => i + 1, number: true },
    ...scores.map(([name, value]) => ({ key: name, title: name, of: (i) => value.perFold[i], show: (i) =>
      score(value.perFold[i]), number: true })),
    ...(folds.length === n ? [{ key: 'fit', title: 'fit', of: (i) => folds[i].fit, show: (i) => seconds(folds[i].fit),
      number: true }, { key: 'predict', title: 'predict', of: (i) => folds[i].predict, show: (i) =>
        seconds(folds[i].predict), number: true }] : [])];
  const range = extent(scores.flatMap(([, value]) => value.perFold), 0.15);
  return html`<${Card} title="Folds" id="folds"
    note=${scores.map(([name, v]) => `${name} ${score(v.mean)} ± ${v.std.toFixed(4)}`).join(' · ')}>
    <${Plot} label=${`Scores of ${n} folds`} x=${[-0.5, scores.length - 0.5]} y=${range} height=${200}
      xTicks=${scores.map(([name], i) => [i, name.length > 22 ? `${name.slice(0, 21)}…` : name])}>
      ${(sx, sy) => scores.map(([name, value], i) => html`<g key=${name}>
        <line class="whisker thick" x1=${sx(i - 0.22)} x2=${sx(i + 0.22)} y1=${sy(value.mean)} y2=${sy(value.mean)}>
        <title>mean ${score(value.mean)}</title></line>
        ${value.perFold.map((v, k) => typeof v === 'number' && html`<circle key=${k} class="dot"
          cx=${sx(i + (n > 1 ? (k / (n - 1) - 0.5) * 0.3 : 0))} cy=${sy(v)} r="4" style=${{ fill: COLOURS[i % 8] }}>
          <title>fold ${k + 1}: ${score(v)}</title></circle>`)}</g>`)}
    <//>
    <details><summary>As a table</summary><${SortableTable} label="Folds" rows=${rows} columns=${columns} /></details>
      <//>`;
}

function candidatesOf(cv) {
  const keys = Object.keys(cv).filter((key) => key.startsWith('param_'));
  const n = Math.max(0, ...Object.values(cv).map((values) => (Array.isArray(values) ? values.length : 0)));
  return { n, params: keys.map((key) => ({ key, name: key.slice(6), values: cv[key] })), metrics: Object.keys(cv)
    .filter((key) => key.startsWith('mean_test_')) };
}
const plain = (value) => (value == null ? '–' : typeof value === 'object' ? value.estimator || JSON.stringify(value)
  : value);

// cv_results_: a table that sorts, each parameter against the score, and all of them at once.
export function Search({ result }) {
  const search = result.search, cv = search?.cvResults;
  const { n, params, metrics } = useMemo(() => candidatesOf(cv || {}), [cv]);
  const [metric, setMetric] = useState(metrics.includes('mean_test_score') ? 'mean_test_score' : metrics[0]);
  const [view, setView] = useState('scatter');
  const [param, setParam] = useState(() => (params.find((p) => new Set(p.values.map((v) => JSON.stringify(v))).size > 1)
    || params[0])?.name);
  if (!search || !n || !metric) return null;
  const means = cv[metric], std = cv[metric.replace('mean_', 'std_')] || [], rank = cv[metric.replace('mean_', 'rank_')]
    || [];
  const chosenParam = params.find((p) => p.name === param);
  const nameOf = (i) => params.map((p) => (p.values[i] == null ? '' : `${p.name}=${plain(p.values[i])}`))
    .filter(Boolean).join(', ');
  const rows = Array.from({ length: n }, (_, i) => i);
  const columns = [{ key: 'rank', title: 'Rank', of: (i) => rank[i] ?? i + 1, number: true },
    ...params.map((p) => ({ key: p.key, title: p.name, of: (i) => plain(p.values[i]), show: (i) =>
      number(plain(p.values[i])), number: p.values.every((v) => v == null || typeof v === 'number') })),
    { key: 'mean', title: metric.replace('mean_test_', ''), of: (i) => means[i], show: (i) => html`<strong>
      ${score(means[i])}</strong>${typeof std[i] === 'number' && html` <span class="dim">± ${std[i].toFixed(3)}
      </span>`}`, number: true },
    ...(cv.mean_fit_time ? [{ key: 'fit', title: 'fit', of: (i) => cv.mean_fit_time[i], show: (i) =>
      seconds(cv.mean_fit_time[i]), number: true }] : [])];
  const axes = [...params.map((p) => ({ name: p.name, values: p.values.map((v) => (v == null || typeof v === 'number'
    ? v : String(plain(v)))) })), { name: metric.replace('mean_test_', ''), values: means }];
  return html`<${Card} wide title="Candidates" id="search"
    note=${`${plural(n, 'candidate')}, best ${score(search.bestScore)}`}
    actions=${metrics.length > 1 && html`<label class="inline">Score <select value=${metric}
      onChange=${(e) => setMetric(e.target.value)}>${metrics.map((m) => html`<option key=${m} value=${m}>
      ${m.replace('mean_test_', '')}</option>`)}</select></label>`}>
    <p><strong>Best:</strong> ${Object.entries(search.bestParams || {}).map(([k, v]) => html`<code class="param"
      key=${k}>${k}=${String(plain(v))}</code> `)}</p>
    <div class="row"><${Tabs} label="Chart"
      tabs=${[['scatter', 'One parameter'], ['parallel', 'All parameters'], ['table', 'Table only']]} chosen=${view}
      onChoose=${setView} />
      ${view === 'scatter' && chosenParam && html`<label class="inline">Parameter <select value=${param}
        onChange=${(e) => setParam(e.target.value)}>${params.map((p) => html`<option key=${p.name} value=${p.name}>
        ${p.name}</option>`)}</select></label>`}</div>
    ${view === 'scatter' && chosenParam && html`<${Scatter} label=${`${metric} by ${param}`} xTitle=${param}
      yTitle=${metric.replace('mean_test_', '')}
        points=${rows.filter((i) => chosenParam.values[i] != null).map((i) => ({ x: plain(chosenParam.values[i]),
          y: means[i], chosen: i === search.bestIndex, title: `${nameOf(i)}: ${score(means[i])}` }))} />`}
    ${view === 'parallel' && html`<${Parallel} label=${`${n} candidates, a line each`} axes=${axes} score=${means}
      chosen=${search.bestIndex} />`}
    <${SortableTable} label="Candidates" rows=${rows} columns=${columns} first=${{ key: 'rank', down: false }}
      pageSize=${20} chosen=${(i) => i === search.bestIndex} /><//>`;
}

export function Evaluation({ evaluation }) {
  const [which, setWhich] = useState('roc');
  if (!evaluation) return null;
  const matrix = evaluation.confusion_matrix, roc = Object.entries(evaluation.roc_curve || {}),
    pr = Object.entries(evaluation.precision_recall_curve || {});
  const curves = which === 'roc' ? roc : pr;
  return html`${matrix && html`<${Card} title="Confusion matrix" id="confusion"><${ConfusionMatrix}
    labels=${matrix.labels.map(String)} matrix=${matrix.matrix} />
      <details><summary>As a table</summary>
        <div class="scroll" tabindex="0" role="region" aria-label="Confusion matrix as a table"><table><thead><tr>
        <th>true \\ predicted</th>${matrix.labels.map((l) => html`<th class="number" key=${l}>${l}</th>`)}</tr></thead>
      <tbody>${matrix.matrix.map((row, i) => html`<tr key=${i}><th>${matrix.labels[i]}</th>
        ${row.map((v, j) => html`<td class="number" key=${j}>${v}</td>`)}</tr>`)}</tbody></table></div></details><//>`}
    ${curves.length > 0 && html`<${Card} title="Curves" id="curves">
      <${Tabs} label="Curve" tabs=${[['roc', 'ROC'], ['pr', 'Precision and recall']]} chosen=${which}
      onChoose=${setWhich} />
      ${which === 'roc' ? html`<${Lines} square diagonal label="ROC curves" x=${[0, 1]}
        y=${[0, 1]} xTitle="false positive rate" yTitle="true positive rate"
        series=${roc.slice(0, 8).map(([name, c]) => ({ name: `${name} · AUC ${score(c.auc)}`, xs: c.fpr,
          ys: c.tpr }))} />`
        : html`<${Lines} square label="Precision and recall" x=${[0, 1]}
          y=${[0, 1]} xTitle="recall" yTitle="precision"
          series=${pr.slice(0, 8).map(([name, c]) => ({ name: `${name} · AP ${score(c.average_precision)}`,
            xs: c.recall, ys: c.precision }))} />`}
      ${curves.length > 8 && html`<p class="dim">The first 8 of ${curves.length} classes.</p>`}<//>`}`;
}

const isVector = (value) => Array.isArray(value) && value.length > 1 && value.every((v) => typeof v === 'number');
const isMatrix = (value) => Array.isArray(value) && value.length > 0 && value.every(isVector);
const RANKED = ['feature_importances_', 'coef_'];
const TOP = 20;

function Ranked({ step, name, values, features }) {
  const vector = isMatrix(values) ? values[0].map((_, j) => Math.sqrt(values.reduce((sum, row) => sum + row[j] ** 2,
    0) / values.length)) : values;
  const named = vector.map((value, i) => ({ name: features?.[i] != null ? String(features[i]) : `column ${i}`,
    value }));
  const rows = named.sort((a, b) => Math.abs(b.value) - Math.abs(a.value)).slice(0, TOP);
  const what = name === 'coef_' ? (isMatrix(values) && values.length > 1
    ? 'Coefficients, root mean square over the classes' : 'Coefficients') : 'Importances';
  return html`<${Card} title=${what} id=${`ranked-${step}`}
    note=${`${step}${vector.length > TOP ? `, the ${TOP} largest of ${vector.length}` : ''}`}>
    <${Bars} label=${`${what} of ${step}`}
      rows=${rows.map((r, i) => ({ ...r, name: `${r.name}${rows.findIndex((o) => o.name === r.name) !== i ? ` (${i})`
        : ''}` }))} /><//>`;
}

// Fitted attributes: what ranks columns as bars, what is a curve as a line, the rest as text.
export function Fitted({ result }) {
  const steps = Object.entries(result.fitted || {});
  if (!steps.length) return null;
  const ranked = [], curves = [], rest = [];
  for (const [step, attributes] of steps) {
    for (const [name, value] of Object.entries(attributes)) {
      if (RANKED.includes(name) && (isVector(value) || (isMatrix(value) && value.length <= 50))) ranked.push({ step,
        name, values: value, features: attributes.feature_names_in_ });
      else if (/curve|_history|train_score_|validation_score|explained_variance_ratio_/.test(name)
        && isVector(value)) curves.push({ step, name, values: value });
      else rest.push({ step, name, value });
    }
  }
  const shown = (value) => {
    const text = JSON.stringify(value);
    return text.length > 90 ? `${text.slice(0, 90)}…` : text;
  };
  return html`${ranked.map((r) => html`<${Ranked} key=${r.step + r.name} ...${r} />`)}
    ${curves.map((c) => html`<${Card} key=${c.step + c.name} title=${c.name} id=${`curve-${c.step}-${c.name}`}
      note=${c.step}><${Lines} label=${`${c.name} of ${c.step}`} height=${200}
      series=${[{ name: c.name, xs: c.values.map((_, i) => i + 1), ys: c.values }]} /><//>`)}
    ${rest.length > 0 && html`<${Card} title="Fitted attributes" id="fitted"><details><summary>
      ${plural(rest.length, 'attribute')}</summary>
      <div class="scroll" tabindex="0" role="region" aria-label="Fitted attributes"><table><tbody>
      ${rest.map(({ step, name, value }) => html`<tr key=${step + name}><td class="dim">${step}</td><td><code>${name}
        </code></td><td class="clip"><code>${shown(value)}</code></td></tr>`)}</tbody></table></div></details><//>`}`;
}
