// What the tasks of curves and inspections find: scores by rows or by a parameter, what a score is by chance, what each column is worth.
import { html, useState } from './preact.js';
import { Bars, COLOURS, Legend, Plot, extent, path } from './charts.js';
import { Card, SortableTable } from './parts.js';
import { number, plural, score } from './format.js';

const finite = (values) => values.filter((v) => typeof v === 'number' && isFinite(v));
const mean = (values) => finite(values).reduce((sum, v) => sum + v, 0) / finite(values).length;
const deviation = (values) => Math.sqrt(mean(finite(values).map((v) => (v - mean(values)) ** 2)));
const text = (value) => (value == null ? 'missing' : typeof value === 'object' ? value.estimator || JSON.stringify(value)
  : number(value));

// Which of several to look at: scorers, outputs.
function Choice({ title, names, chosen, onChoose }) {
  return names.length > 1 && html`<label class="inline">${title} <select value=${chosen}
    onChange=${(e) => onChoose(e.target.value)}>${names.map((n) => html`<option key=${n} value=${n}>${n}</option>`)}
    </select></label>`;
}

// Positions of the values on the axis: as they are, by their logarithms where they span much, or one after the other.
function axisOf(values) {
  const all = finite(values);
  if (all.length < values.length || !all.length) return { at: values.map((_, i) => i), range: [-0.5, values.length - 0.5],
    ticks: values.map((v, i) => [i, text(v).slice(0, 14)]) };
  const isLog = all.every((v) => v > 0) && Math.max(...all) / Math.min(...all) > 50;
  const at = values.map((v) => (isLog ? Math.log10(v) : v)), step = Math.ceil(values.length / 8);
  return { at, range: extent(at, 0.04), ticks: values.map((v, i) => [at[i], number(v, 3)]).filter((_, i) =>
    i % step === 0) };
}

// The mean of the folds as a line, one standard deviation to each side as a band, and a mark with a tip at each value.
function FoldCurves({ label, values, xTitle, yTitle, series }) {
  const axis = axisOf(values);
  const lines = series.map((s) => ({ ...s, means: s.folds.map(mean), spreads: s.folds.map(deviation) }));
  const range = extent(lines.flatMap((s) => s.means.flatMap((m, i) => [m - s.spreads[i], m + s.spreads[i]])), 0.06);
  return html`<${Plot} label=${label} x=${axis.range} y=${range} xTitle=${xTitle} yTitle=${yTitle} xTicks=${axis.ticks}
    height=${280} legend=${html`<${Legend} names=${lines.map((s) => s.name)} />`}>
    ${(sx, sy) => lines.map((s, i) => {
      const edge = (sign) => s.means.map((m, k) => [sx(axis.at[k]), sy(m + sign * s.spreads[k])]);
      return html`<g key=${s.name} style=${{ fill: COLOURS[i], stroke: COLOURS[i] }}>
        <path class="band" d=${`${path([...edge(1), ...edge(-1).reverse()])}Z`} />
        <path class="curve" d=${path(s.means.map((m, k) => [sx(axis.at[k]), sy(m)]))} style=${{ stroke: COLOURS[i] }} />
        ${s.means.map((m, k) => isFinite(m) && html`<circle key=${k} class="dot" cx=${sx(axis.at[k])} cy=${sy(m)} r="3.5"
          style=${{ fill: COLOURS[i] }}><title>${s.name} at ${text(values[k])}: ${score(m)} ± ${s.spreads[k].toFixed(4)}
          </title></circle>`)}</g>`;
    })}<//>`;
}

function CurveOf({ id, title, curve, values, xTitle }) {
  const names = Object.keys(curve.test_scores || {}), [chosen, choose] = useState(names[0]);
  if (!names.length) return null;
  const test = curve.test_scores[chosen], train = curve.train_scores?.[chosen];
  const shown = (folds, i) => `${score(mean(folds[i]))} ± ${deviation(folds[i]).toFixed(4)}`;
  const rows = values.map((_, i) => i);
  const isNumber = values.every((v) => typeof v === 'number');
  return html`<${Card} wide id=${id} title=${title} note=${plural(test[0].length, 'fold')}
    actions=${html`<${Choice} title="Score" names=${names} chosen=${chosen} onChoose=${choose} />`}>
    <${FoldCurves} label=${`${chosen} by ${xTitle}, train and test`} values=${values} xTitle=${xTitle} yTitle=${chosen}
      series=${[{ name: 'test', folds: test }, ...(train ? [{ name: 'train', folds: train }] : [])]} />
    <details><summary>As a table</summary><${SortableTable} label=${title} rows=${rows} columns=${[
      { key: 'x', title: xTitle, of: (i) => (isNumber ? values[i] : text(values[i])), show: (i) => text(values[i]),
        number: isNumber },
      { key: 'test', title: 'test', of: (i) => mean(test[i]), show: (i) => shown(test, i), number: true },
      ...(train ? [{ key: 'train', title: 'train', of: (i) => mean(train[i]), show: (i) => shown(train, i),
        number: true }] : [])]} /></details><//>`;
}

// Scores of permuted targets as a histogram, with the score of the target as it is.
function PermutationTest({ tests }) {
  const names = Object.keys(tests), [chosen, choose] = useState(names[0]);
  const test = tests[chosen];
  if (!test) return null;
  const chance = finite(test.permutation_scores);
  const range = extent([...chance, test.score], 0.05), n = Math.min(30, Math.max(5, Math.ceil(Math.sqrt(chance.length) * 1.5)));
  const bins = Array(n).fill(0), width = (range[1] - range[0]) / n;
  for (const v of chance) bins[Math.min(n - 1, Math.floor((v - range[0]) / width))]++;
  const most = Math.max(1, ...bins);
  return html`<${Card} wide id="permutation-test" title="Permutation test"
    note=${`score ${score(test.score)}, p ${number(test.pvalue, 3)}`}
    actions=${html`<${Choice} title="Score" names=${names} chosen=${chosen} onChoose=${choose} />`}>
    <${Plot} label=${`${chosen} of ${plural(chance.length, 'permutation')} of the target, and of the target as it is: ${score(test.score)}`}
      x=${range} y=${[0, most * 1.12]} xTitle=${chosen} yTitle="permutations" height=${260}>
      ${(sx, sy) => html`${bins.map((count, i) => count > 0 && html`<rect key=${i} class="bar"
          x=${sx(range[0] + i * width) + 0.5} width=${Math.max(1, sx(range[0] + width) - sx(range[0]) - 1)} y=${sy(count)}
          height=${sy(0) - sy(count)} style=${{ fill: 'var(--c4)' }}><title>${score(range[0] + i * width)} to
          ${score(range[0] + (i + 1) * width)}: ${count}</title></rect>`)}
        <line class="whisker thick" x1=${sx(test.score)} x2=${sx(test.score)} y1=${sy(0)} y2=${sy(most * 1.05)}
          style=${{ stroke: 'var(--c2)' }}><title>score ${score(test.score)}</title></line>`}<//>
    <p class="dim">${plural(chance.filter((v) => v >= test.score).length, 'permutation')} of ${chance.length}
      ${' '}scored at least as well as the target as it is.</p><//>`;
}

const TOP = 20;

function Importances({ found }) {
  const names = Object.keys(found.scorers || {}), [chosen, choose] = useState(names[0]);
  const of = found.scorers?.[chosen];
  if (!of) return null;
  const rows = found.features.map((name, i) => ({ name, value: of.importances_mean[i], spread: of.importances_std[i] }))
    .sort((a, b) => b.value - a.value);
  return html`<${Card} wide id="permutation-importance" title="Permutation importance"
    note=${`what ${chosen} of ${score(of.baseline_score)} loses with the column permuted`}
    actions=${html`<${Choice} title="Score" names=${names} chosen=${chosen} onChoose=${choose} />`}>
    <${Bars} label=${`Permutation importance of ${plural(rows.length, 'column')}`} rows=${rows.slice(0, TOP)} />
    ${rows.length > TOP && html`<p class="dim">The ${TOP} largest of ${rows.length}.</p>`}
    <details><summary>As a table</summary><${SortableTable} label="Permutation importance" rows=${rows} pageSize=${TOP}
      first=${{ key: 'mean', down: true }} columns=${[{ key: 'name', title: 'Column', of: (r) => r.name },
        { key: 'mean', title: 'mean', of: (r) => r.value, show: (r) => score(r.value), number: true },
        { key: 'std', title: 'std', of: (r) => r.spread, show: (r) => score(r.spread), number: true }]} /></details><//>`;
}

const MOST_ROWS = 60;   // lines of single rows

function Dependence({ entry, output }) {
  const [name] = entry.features, values = entry.grid_values[0], axis = axisOf(values);
  const average = entry.average?.[output], rows = (entry.individual?.[output] || []).slice(0, MOST_ROWS);
  const range = extent([...(average || []), ...rows.flat()], 0.06);
  return html`<${Plot} label=${`Prediction by ${name}`} x=${axis.range} y=${range} xTitle=${name} xTicks=${axis.ticks}
    height=${220}>${(sx, sy) => html`
    ${rows.map((row, i) => html`<path key=${i} class="strand" d=${path(row.map((v, k) => [sx(axis.at[k]), sy(v)]))}
      style=${{ stroke: 'var(--c4)', strokeOpacity: 0.35 }} />`)}
    ${average && html`<path class="curve" d=${path(average.map((v, k) => [sx(axis.at[k]), sy(v)]))}
      style=${{ stroke: 'var(--c1)' }} />${average.map((v, k) => html`<circle key=${k} class="dot" r="2.5"
      cx=${sx(axis.at[k])} cy=${sy(v)} style=${{ fill: 'var(--c1)' }}><title>${name} ${text(values[k])}: ${number(v)}
      </title></circle>`)}`}`}<//>`;
}

// Two columns: the averages as colours, at most so many cells on a side.
const MOST_CELLS = 40;
const thinned = (values) => {
  const step = Math.ceil(values.length / MOST_CELLS);
  return values.map((_, i) => i).filter((i) => i % step === 0);
};

function PairDependence({ entry, output }) {
  const [first, second] = entry.features, [xs, ys] = entry.grid_values, table = entry.average?.[output];
  if (!table) return html`<p class="dim">Of two columns only averages are drawn.</p>`;
  const columns = thinned(xs), rows = thinned(ys), [low, high] = extent(table.flat());
  const short = (value) => (typeof value === 'number' ? number(value, 3) : text(value).slice(0, 10));
  const ticks = columns.map((i, k) => [k, short(xs[i])]).filter((_, k) => k % Math.ceil(columns.length / 6) === 0);
  return html`<${Plot} label=${`Prediction by ${first} and ${second}: ${number(low)} to ${number(high)}`}
    x=${[-0.5, columns.length - 0.5]} y=${[-0.5, rows.length - 0.5]} xTitle=${first} yTitle=${second} xTicks=${ticks}
    yTicks=${rows.map((j, k) => [k, short(ys[j])]).filter((_, k) => k % Math.ceil(rows.length / 6) === 0)} height=${300}>
    ${(sx, sy) => columns.map((i, k) => rows.map((j, l) => html`<rect key=${`${k} ${l}`} x=${sx(k - 0.5)}
      width=${sx(0.5) - sx(-0.5) + 0.4} y=${sy(l + 0.5)} height=${sy(-0.5) - sy(0.5) + 0.4}
      style=${{ fill: 'var(--c1)', fillOpacity: 0.06 + 0.94 * ((table[i][j] - low) / (high - low || 1)) }}>
      <title>${first} ${text(xs[i])}, ${second} ${text(ys[j])}: ${number(table[i][j])}</title></rect>`))}<//>
    <p class="dim">From ${number(low)} (light) to ${number(high)} (dark).</p>`;
}

function Dependences({ entries, classes }) {
  const outputs = Math.max(...entries.map((e) => (e.average || e.individual).length));
  const names = outputs > 1 ? Array.from({ length: outputs }, (_, i) => String(classes?.[i] ?? i)) : [''];
  const [chosen, choose] = useState(names[0]), output = Math.max(0, names.indexOf(chosen));
  return html`<${Card} wide id="partial-dependence" title="Partial dependence" note=${plural(entries.length, 'plot')}
    actions=${html`<${Choice} title="Class" names=${names} chosen=${chosen} onChoose=${choose} />`}>
    <div class="plots">${entries.map((entry) => html`<div key=${entry.features.join(' ')}>
      <h3>${entry.features.join(' × ')}</h3>${entry.features.length === 1
        ? html`<${Dependence} entry=${entry} output=${output} />`
        : html`<${PairDependence} entry=${entry} output=${output} />`}</div>`)}</div>
    ${entries.some((e) => (e.individual?.[0].length || 0) > MOST_ROWS) && html`<p class="dim">
      Of single rows the first ${MOST_ROWS} are drawn.</p>`}<//>`;
}

export function Inspections({ result }) {
  const found = result.evaluation || {};
  const learning = found.learning_curve, validation = found.validation_curve, dependence = found.partial_dependence;
  return html`${learning && html`<${CurveOf} id="learning-curve" title="Learning curve" curve=${learning}
      values=${learning.train_sizes} xTitle="train rows" />`}
    ${validation && html`<${CurveOf} id="validation-curve" title="Validation curve" curve=${validation}
      values=${validation.param_range} xTitle=${validation.param_name} />`}
    ${found.permutation_test_score && html`<${PermutationTest} tests=${found.permutation_test_score} />`}
    ${found.permutation_importance && html`<${Importances} found=${found.permutation_importance} />`}
    ${dependence?.length > 0 && html`<${Dependences} entries=${dependence} classes=${result.classes} />`}`;
}
