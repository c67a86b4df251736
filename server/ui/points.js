// Rows as points: what a regressor predicts beside the target, clusters, projections. From the fitted attributes, the
// job's file of predictions or transformed rows, and the first rows of the data.
import { html, useEffect, useState } from './preact.js';
import * as api from './api.js';
import { COLOURS, Plot, Scatter, extent } from './charts.js';
import { Card, ProblemBox, Tabs } from './parts.js';
import { count, number, plural } from './format.js';

const MOST = 2000;             // points of a chart
const FILE_BYTES = 1 << 20;    // of a file: its first rows
const ROWS = 100;              // of a preview
const isNumber = (v) => typeof v === 'number' && isFinite(v);

// The first rows of a .npy file of numbers, perhaps cut; null for anything else.
export function readNpy(buffer) {
  const bytes = new DataView(buffer);
  if (buffer.byteLength < 12 || bytes.getUint8(0) !== 0x93) return null;
  const isOld = bytes.getUint8(6) === 1, start = (isOld ? 10 : 12) + (isOld ? bytes.getUint16(8, true)
    : bytes.getUint32(8, true));
  const head = new TextDecoder('latin1').decode(buffer.slice(isOld ? 10 : 12, start));
  const form = head.match(/'descr': '<([fi])([48])'/), shape = head.match(/'shape': \((\d+),? ?(\d*)/);
  if (!form || !shape || /'fortran_order': True/.test(head)) return null;
  const size = Number(form[2]), n = Number(shape[1]), width = Number(shape[2] || 1);
  const read = { f4: (at) => bytes.getFloat32(at, true), f8: (at) => bytes.getFloat64(at, true), i4: (at) =>
    bytes.getInt32(at, true), i8: (at) => Number(bytes.getBigInt64(at, true)) }[form[1] + size];
  const have = Math.min(n, MOST, Math.floor((buffer.byteLength - start) / (size * width)));
  return { n, rows: Array.from({ length: have }, (_, i) => Array.from({ length: width }, (__, j) =>
    read(start + (i * width + j) * size))) };
}

// A CSV file of numbers, as the server writes it: a head, then lines without quotes. A line that was cut is left out.
export function readCsv(text, isWhole) {
  const lines = text.split(/\r?\n/).slice(1, MOST + 2);
  if (!isWhole || lines[lines.length - 1] === '') lines.pop();
  return { n: lines.length, rows: lines.slice(0, MOST).map((line) => line.split(',').map(Number)) };
}

async function fileOf(job, name) {
  const path = `/v1/jobs/${encodeURIComponent(job.id)}/artifacts/${encodeURIComponent(name)}`;
  const answer = await api.request('GET', path, { accept: '*/*', more: { Range: `bytes=0-${FILE_BYTES - 1}` } });
  const all = Number((answer.headers.get('Content-Range') || '').split('/')[1] || 0), bytes = await answer.arrayBuffer();
  return name.endsWith('.npy') ? readNpy(bytes) : readCsv(new TextDecoder().decode(bytes), all <= FILE_BYTES);
}

const previewOf = (job) => api.post(`/v1/datasets/preview?rows=${ROWS}`, { dataset: job.spec.dataset,
  ...(job.spec.select ? { select: job.spec.select } : {}) });
const columnOf = (preview, role) => preview.columns.findIndex((c) => c.role === role);

function useAsked(ask, key) {
  const [state, setState] = useState({});
  useEffect(() => {
    let isOn = true;
    setState({});
    ask().then((value) => isOn && setState({ value }), (problem) => isOn && setState({ problem }));
    return () => { isOn = false; };
  }, [key]);
  return state;
}

function Residuals({ pairs, note }) {
  const [view, setView] = useState('predicted');
  const off = pairs.map((p) => p.target - p.predicted), n = pairs.length;
  const squares = off.reduce((sum, v) => sum + v * v, 0), middle = pairs.reduce((sum, p) => sum + p.target, 0) / n;
  const spread = pairs.reduce((sum, p) => sum + (p.target - middle) ** 2, 0);
  const at = view === 'predicted' ? (p) => p.target : (p) => p.target - p.predicted;
  const xs = extent(pairs.map((p) => p.predicted), 0.04), ys = extent([...pairs.map(at), ...(view === 'predicted' ? [] : [0])], 0.06);
  const ends = [Math.max(xs[0], ys[0]), Math.min(xs[1], ys[1])];
  return html`<${Card} wide id="residuals" title="Predictions against the target"
    note=${`${note}: RMSE ${number(Math.sqrt(squares / n))}${spread > 0 ? `, r² ${number(1 - squares / spread)}` : ''}`}>
    <${Tabs} label="Chart" tabs=${[['predicted', 'Target'], ['residual', 'Residual']]} chosen=${view} onChoose=${setView} />
    <${Plot} label=${`${view === 'predicted' ? 'Target' : 'Target less prediction'} by prediction of ${plural(n, 'row')}`}
      x=${xs} y=${ys} xTitle="predicted" yTitle=${view === 'predicted' ? 'target' : 'target − predicted'} height=${300}>
      ${(sx, sy) => html`${view === 'predicted' ? ends[1] > ends[0] && html`<line class="axis dashed" x1=${sx(ends[0])}
          y1=${sy(ends[0])} x2=${sx(ends[1])} y2=${sy(ends[1])} />` : html`<line class="axis" x1=${sx(xs[0])} y1=${sy(0)}
          x2=${sx(xs[1])} y2=${sy(0)} />`}
        ${pairs.map((p) => html`<circle key=${p.row} class="dot" cx=${sx(p.predicted).toFixed(1)} cy=${sy(at(p)).toFixed(1)}
          r="3.5"><title>row ${p.row + 1}: predicted ${number(p.predicted)}, target ${number(p.target)}</title></circle>`)}`}
    <//><//>`;
}

const pairsOf = (predicted, targets) => targets.map((target, row) => ({ row, target, predicted: predicted[row] }))
  .filter((p) => isNumber(p.target) && isNumber(p.predicted));

// Of a job that predicted many rows: its file beside the target that the data have.
function FileResiduals({ job, name }) {
  const { value } = useAsked(async () => {
    const [file, preview] = await Promise.all([fileOf(job, name), previewOf(job)]);
    const j = columnOf(preview, 'target');
    return file && j >= 0 && pairsOf(file.rows.map((row) => row[0]), preview.firstRows.map((row) => row[j]));
  }, job.id);
  if (!value || value.length < 2) return null;
  return html`<${Residuals} pairs=${value} note=${`the first ${plural(value.length, 'row')}`} />`;
}

// Of a fitted regressor: its model is asked about the first rows, when one wants to see them.
function ModelResiduals({ job }) {
  const [state, setState] = useState({});
  const draw = async () => {
    try {
      const [preview, model] = await Promise.all([previewOf(job), api.get(`/v1/models/${encodeURIComponent(job.result.model)}`)]);
      const places = model.columns.map((c) => preview.columns.findIndex((p) => p.name === c.name)), j = columnOf(preview, 'target');
      if (j < 0 || places.some((p) => p < 0)) throw new api.Problem(0, { detail: 'The data have too many columns to be shown here.' });
      const answer = await api.post(`/v1/models/${encodeURIComponent(model.id)}/predict`,
        { rows: preview.firstRows.map((row) => places.map((p) => row[p])) });
      const predicted = (answer.values ?? answer.predictions).map((v) => (Array.isArray(v) ? v[0] : v));
      setState({ pairs: pairsOf(predicted, preview.firstRows.map((row) => row[j])) });
    } catch (problem) { setState({ problem }); }
  };
  if (state.pairs?.length > 1) return html`<${Residuals} pairs=${state.pairs}
    note=${`the first ${plural(state.pairs.length, 'row')}, which it was fitted on`} />`;
  return html`<${Card} id="residuals" title="Predictions against the target"><${ProblemBox} problem=${state.problem} />
    <button type="button" onClick=${draw}>Draw the first ${ROWS} rows</button><//>`;
}

// rows: lists of numbers; labels: of each row, or none; names: of the columns.
function Projection({ title, note, rows, labels, names }) {
  const [x, setX] = useState(0), [y, setY] = useState(Math.min(1, names.length - 1));
  const groups = labels ? [...new Set(labels)].sort((a, b) => (isNumber(a) && isNumber(b) ? a - b : String(a)
    .localeCompare(String(b)))) : [];
  const nameOf = (label) => (label === -1 ? 'noise' : String(label));
  const colourOf = (label) => (label === -1 ? 'var(--c4)' : COLOURS[groups.filter((g) => g !== -1).indexOf(label) % COLOURS.length]);
  const pick = (label, value, set) => html`<label class="inline">${label} <select value=${value}
    onChange=${(e) => set(Number(e.target.value))}>${names.map((n, i) => html`<option key=${i} value=${i}>${n}</option>`)}
    </select></label>`;
  const points = rows.slice(0, MOST).map((row, i) => ({ x: row[x], y: row[y], colour: labels ? colourOf(labels[i]) : undefined,
    title: `row ${i + 1}${labels ? `, ${nameOf(labels[i])}` : ''}: ${number(row[x])}, ${number(row[y])}` }))
    .filter((p) => isNumber(p.x) && isNumber(p.y));
  return html`<${Card} wide id="points" title=${title} note=${note}
    actions=${names.length > 2 && html`${pick('Across', x, setX)} ${pick('Up', y, setY)}`}>
    <${Scatter} label=${`${title}: ${plural(points.length, 'row')} by ${names[x]} and ${names[y]}`} points=${points}
      xTitle=${names[x]} yTitle=${names[y]} height=${340} />
    ${groups.length > 0 && groups.length <= 24 && html`<p class="legend">${groups.map((g) => html`<span key=${g}>
      <i style=${{ background: colourOf(g) }}></i>${nameOf(g)} <span class="dim">${count(labels.filter((l) => l === g)
      .length)}</span></span>`)}</p>`}<//>`;
}

const drawn = (have, n) => (have < n ? `the first ${count(have)} of ${plural(n, 'row')}` : plural(n, 'row'));

// Clusters have labels; the places of their rows are in the data.
function Clusters({ job, labels }) {
  const { value: preview, problem } = useAsked(() => previewOf(job), job.id);
  if (problem) return html`<${Card} id="points" title="Clusters"><p class="dim">The rows cannot be shown:
    ${problem.message}</p><//>`;
  if (!preview) return null;
  const places = preview.columns.map((c, j) => j).filter((j) => preview.columns[j].type === 'number'
    && preview.columns[j].role !== 'leftOut').slice(0, 50);
  if (places.length < 2) return null;
  const rows = preview.firstRows.map((row) => places.map((j) => row[j]));
  return html`<${Projection} title="Clusters" note=${drawn(rows.length, labels.length)} rows=${rows}
    labels=${labels.slice(0, rows.length)} names=${places.map((j) => preview.columns[j].name)} />`;
}

// The columns that a job has made of its rows.
function TransformedFile({ job, name }) {
  const { value: file } = useAsked(() => fileOf(job, name), job.id);
  const width = file?.rows[0]?.length || 0;
  if (width < 2) return null;
  return html`<${Projection} title="Transformed rows" note=${drawn(file.rows.length, job.result.nSamples)} rows=${file.rows}
    names=${Array.from({ length: Math.min(width, 50) }, (_, i) => `column ${i}`)} />`;
}

const listOf = (result, name) => Object.values(result.fitted || {}).map((step) => step[name]).find(Array.isArray);

export function Points({ job }) {
  const result = job.result, labels = listOf(result, 'labels_'), embedding = listOf(result, 'embedding_');
  const [isRegressor, setRegressor] = useState(false);
  const last = job.spec.pipeline?.[job.spec.pipeline.length - 1]?.estimator;
  const isFit = result.model && job.spec.task.fit && !job.spec.select?.scale;
  useEffect(() => {
    if (isFit && last) api.once('/v1/estimators').then((all) => setRegressor(all.estimators.find((e) =>
      e.name === last)?.kind === 'regressor'), () => {});
  }, [job.id]);
  const file = (prefix) => (result.artifacts || []).map((f) => f.name).find((name) => name === `${prefix}.npy`
    || name === `${prefix}.csv`);
  const predictions = file('predictions'), transformed = file('transformed');
  const isPlane = Array.isArray(embedding?.[0]) && embedding[0].length > 1;
  return html`${isPlane && html`<${Projection} title="Embedding" note=${drawn(Math.min(MOST, embedding.length), result.nSamples)}
      rows=${embedding} labels=${labels?.length === embedding.length ? labels : undefined}
      names=${embedding[0].slice(0, 50).map((_, i) => `dimension ${i + 1}`)} />`}
    ${labels?.length > 0 && !isPlane && html`<${Clusters} job=${job} labels=${labels} />`}
    ${transformed && html`<${TransformedFile} job=${job} name=${transformed} />`}
    ${predictions && !result.classes?.length && html`<${FileResiduals} job=${job} name=${predictions} />`}
    ${isRegressor && html`<${ModelResiduals} job=${job} />`}`;
}
