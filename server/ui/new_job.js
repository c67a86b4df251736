// A job as a form. The description is the only state: the form and the text beside it both change it, and the server checks it.
import { html, useEffect, useMemo, useRef, useState } from './preact.js';
import * as api from './api.js';
import { datasetName, plural } from './format.js';
import { Card, Loading, ProblemBox, say } from './parts.js';
import { Steps } from './pipeline_form.js';
import { PreviewTable } from './data.js';

const START = { dataset: { builtin: 'iris' }, pipeline: [{ estimator: 'StandardScaler' },
  { estimator: 'LogisticRegression' }], task: { crossValidate: { cv: 5 } }, device: 'auto' };

const SOURCES = { builtin: 'Built in', stored: 'Upload', openml: 'OpenML', sklearn: 'scikit-learn', url: 'URL',
  generate: 'Generated', inline: 'Table here' };
const EMPTY = { builtin: 'iris', stored: '', openml: { name: 'mnist_784', version: 1 },
  sklearn: 'california_housing', url: { url: 'https://' },
  generate: { name: 'make_classification', params: { n_samples: 1000, random_state: 0 } },
  inline: { csv: 'x,y\n1,2.1\n2,3.9\n3,6.2\n4,7.8\n', target: 'y' } };

const FORMATS = ['csv', 'arff', 'libsvm', 'parquet', 'arrow'];
const MADE = ['classification', 'regression', 'friedman1', 'blobs', 'moons', 'circles', 'swiss_roll', 's_curve'];

// Without what is empty.
export function changed(object, key, value) {
  const next = { ...object };
  if (value === '' || value === undefined || value === null || (Array.isArray(value)
    && !value.length)) delete next[key];
  else next[key] = value;
  return next;
}

function Dataset({ dataset, onChange }) {
  const kind = Object.keys(dataset)[0] || 'builtin', value = dataset[kind];
  const [info, setInfo] = useState(null), [uploads, setUploads] = useState([]);
  useEffect(() => {
    api.once('/v1/info').then(setInfo, () => {});
    api.get('/v1/datasets').then((list) => setUploads(list.datasets), () => {});
  }, []);
  const set = (v) => onChange({ [kind]: v });
  return html`<fieldset class="choices"><legend>Source</legend>
    ${Object.entries(SOURCES).map(([key, title]) => html`<label key=${key}>
    <input type="radio" name="source" checked=${key === kind}
    onChange=${() => onChange({ [key]: key === 'stored' ? uploads[0]?.name || '' : EMPTY[key] })} />${title}</label>`)}
    </fieldset>
    ${kind === 'builtin' && html`<label>Data set <select value=${value} onChange=${(e) => set(e.target.value)}>
      ${(info?.builtinDatasets || [value]).map((name) => html`<option key=${name} value=${name}>${name}</option>`)}
      </select></label>`}
    ${kind === 'stored' && html`<label>Upload <input list="uploads" value=${value}
      onInput=${(e) => set(e.target.value)} /><datalist id="uploads">${uploads.map((u) => html`<option key=${u.name}
      value=${u.name} />`)}</datalist></label>
      <p class="dim">More are uploaded on the page <a href="#/data">Data sets</a>.</p>`}
    ${kind === 'openml' && html`<div class="row"><label>Name <input value=${value.name || ''}
      onInput=${(e) => set(changed(value, 'name', e.target.value))} /></label>
      <label>Version <input type="number" min="1" value=${value.version ?? ''}
        onInput=${(e) => set(changed(value, 'version', e.target.value && Number(e.target.value)))} /></label></div>`}
    ${kind === 'sklearn' && html`<label>Name, as in fetch_california_housing <input value=${value}
      onInput=${(e) => set(e.target.value)} /></label>`}
    ${kind === 'url' && html`${value.urls ? html`<label>Addresses, a line each<textarea rows="4" spellcheck="false"
      value=${value.urls.join('\n')} onInput=${(e) => set({ ...value, urls: e.target.value.split('\n') })}></textarea>
      </label>` : html`<label>Address <input inputmode="url" value=${value.url}
      spellcheck="false" onInput=${(e) => set({ ...value, url: e.target.value })} /></label>
      <p class="dim">Also <code>s3://</code> and <code>gs://bucket/part-*.parquet</code>, <code>hf://datasets/OWNER/NAME@~parquet/…</code>,
        ${' '}<code>https://host/part-[00-11].csv.gz</code></p>`}
      <label>Format <select value=${value.format || ''} onChange=${(e) => set(changed(value, 'format', e.target.value))}>
      <option value="">as the address says</option>${FORMATS.map((f) => html`<option key=${f} value=${f}>${f}</option>`)}
      </select></label>`}
    ${kind === 'generate' && html`<div class="row"><label>Function <select value=${value.name}
      onChange=${(e) => set({ ...value, name: e.target.value })}>${MADE.map((name) => html`<option key=${name}
      value=${`make_${name}`}>make_${name}</option>`)}</select></label><label>Rows <input type="number" min="1"
      value=${value.params?.n_samples ?? ''} onInput=${(e) => set({ ...value, params: changed(value.params || {},
        'n_samples', e.target.value && Number(e.target.value)) })} /></label></div>
      <p class="dim">Its other parameters, as scikit-learn has them, go into the description.</p>`}
    ${kind === 'inline' && html`<label>Table as CSV, with names in the first line<textarea rows="6" spellcheck="false"
      value=${value.csv} onInput=${(e) => set({ ...value, csv: e.target.value })}></textarea></label>`}`;
}

function Preview({ dataset, select }) {
  const kind = Object.keys(dataset)[0], isNear = kind === 'builtin' || kind === 'inline' || (kind === 'stored'
    && dataset.stored);
  const key = JSON.stringify([dataset, select]);
  const [state, setState] = useState({});
  const load = () => {
    const control = new AbortController();
    setState({ isLoading: true });
    api.post('/v1/datasets/preview?rows=50', { dataset, select }, { signal: control.signal }).then((preview) =>
      setState({ preview }), (problem) => problem.name !== 'AbortError' && setState({ problem }));
    return () => control.abort();
  };
  useEffect(() => {
    setState({});
    if (!isNear) return undefined;
    let stop = null;
    const timer = setTimeout(() => { stop = load(); }, 400);
    return () => { clearTimeout(timer); stop?.(); };
  }, [key]);
  return html`${!isNear && !state.preview && !state.isLoading && html`<button type="button" class="small"
    onClick=${load}>Fetch and preview</button>`}
    ${state.isLoading && html`<${Loading} what="the preview" />`}<${ProblemBox} problem=${state.problem} />
    ${state.preview && html`<p class="dim">
      ${plural(state.preview.rows, 'row')}, ${plural(state.preview.nColumns, 'column')}${state.preview.target
        ? `, target ${state.preview.target}` : ''}</p><${PreviewTable} preview=${state.preview} columnsOnly />`}`;
}

function Select({ select, onChange }) {
  const set = (key, value) => onChange(changed(select, key, value));
  return html`<div class="row"><label>Target <input placeholder="the data set’s own" value=${select.target || ''}
    onInput=${(e) => set('target', e.target.value)} /></label>
    <label>First rows <input type="number" min="1" placeholder="all" value=${select.rows ?? ''}
      onInput=${(e) => set('rows', e.target.value && Number(e.target.value))} /></label>
    <label>Type <select value=${select.dtype || ''} onChange=${(e) => set('dtype', e.target.value)}>
      <option value="">as it fits</option><option value="float32">float32</option>
      <option value="float64">float64</option></select></label></div>
    <label>Feature columns <input placeholder="all; else names with commas" value=${(select.columns || []).join(', ')}
      onChange=${(e) => set('columns', e.target.value.split(',').map((s) => s.trim()).filter(Boolean))} /></label>`;
}

const TASKS = { crossValidate: 'Cross-validation', fit: 'Fit', fitScore: 'Train and test', gridSearch: 'Grid search',
  randomizedSearch: 'Random search', predict: 'Predict with a model' };
const STORES = ['fit', 'gridSearch', 'randomizedSearch', 'halvingGridSearch'];   // a model, which can be registered
const TASK_START = { crossValidate: { cv: 5 }, fit: {}, fitScore: {}, gridSearch: { paramGrid: {},
  crossValidate: { cv: 5 } }, randomizedSearch: { paramDistributions: {}, nIter: 10, crossValidate: { cv: 5 } },
    predict: { model: '', format: 'csv' } };

function Scoring({ value, onChange, where }) {
  const [info, setInfo] = useState(null);
  useEffect(() => { api.once('/v1/info').then(setInfo, () => {}); }, []);
  return html`<label>Scores <input list=${`scorers-${where}`} placeholder="accuracy, or r2; several with commas"
    value=${(value || []).join(', ')}
    onChange=${(e) => onChange(e.target.value.split(',').map((s) => s.trim()).filter(Boolean))} />
    <datalist id=${`scorers-${where}`}>${(info?.scorers || []).map((s) => html`<option key=${s} value=${s} />`)}
      </datalist></label>`;
}

// Rows of "step__parameter" and values.
function Grid({ grid, pipeline, catalogue, onChange }) {
  const names = pipeline.flatMap((step) => (catalogue?.estimators.find((e) => e.name === step.estimator)?.params || [])
    .map((p) => `${step.name || step.estimator.toLowerCase()}__${p.name}`));
  if (Array.isArray(grid)) return html`<p class="dim">The grid is a list of grids: change it in the description.</p>`;
  const rows = Object.entries(grid);
  const replace = (at, key, values) => onChange(Object.fromEntries([...rows.slice(0, at), ...(key === null ? [] : [[key,
    values]]), ...rows.slice(at + 1)]));
  const read = (text) => {
    try { const v = JSON.parse(text); return Array.isArray(v) || typeof v === 'object' ? v
      : [v]; } catch { return text.split(',').map((t) => t.trim()).filter(Boolean).map((t) =>
        { try { return JSON.parse(t); } catch { return t; } }); }
  };
  const write = (values) => (Array.isArray(values) && values.every((v) => v === null || typeof v !== 'object')
    ? values.map((v) => (typeof v === 'string' ? v : JSON.stringify(v))).join(', ') : JSON.stringify(values));
  return html`<div class="grid">${rows.map(([key, values], i) => html`<div class="row" key=${i}>
    <label>Parameter <input list="grid-names" value=${key} onChange=${(e) => replace(i, e.target.value, values)} />
    </label>
      <label>Values <input value=${write(values)} placeholder="0.1, 1, 10"
        onChange=${(e) => replace(i, key, read(e.target.value))} /></label>
        <button type="button" class="small" aria-label=${`Remove ${key}`}
        onClick=${() => replace(i, null)}>Remove</button></div>`)}
    <datalist id="grid-names">${names.map((n) => html`<option key=${n} value=${n} />`)}</datalist>
    <button type="button" class="small"
      onClick=${() => onChange({ ...grid, [names.find((n) => !(n in grid))
        || `step__parameter${rows.length}`]: [] })}>Add a parameter</button></div>`;
}

function Task({ spec, catalogue, onChange }) {
  const kind = Object.keys(spec.task)[0], how = spec.task[kind];
  const set = (key, value) => onChange({ [kind]: changed(how, key, value) });
  const cv = kind === 'crossValidate' ? how : how.crossValidate || {};
  const setCv = (key, value) => (kind === 'crossValidate' ? set(key, value) : set('crossValidate', changed(cv, key,
    value)));
  const isSearch = kind === 'gridSearch' || kind === 'randomizedSearch', hasFolds = kind === 'crossValidate'
    || isSearch;
  const grid = kind === 'gridSearch' ? 'paramGrid' : 'paramDistributions';
  const check = (key, text) => html`<label class="check"><input type="checkbox" checked=${!!how[key]}
    onChange=${(e) => set(key, e.target.checked || undefined)} />${text}</label>`;
  return html`<label>Task <select value=${kind}
    onChange=${(e) => onChange({ [e.target.value]: TASK_START[e.target.value] })}>
    ${Object.entries(TASKS).map(([key, title]) => html`<option key=${key} value=${key}>${title}
    </option>`)}${!(kind in TASKS) && html`<option value=${kind}>${kind}</option>`}</select></label>
    ${hasFolds && html`<div class="row"><label>Folds <input type="number" min="2" value=${cv.cv ?? 5}
      onInput=${(e) => setCv('cv', Number(e.target.value))} /></label><${Scoring} where=${kind} value=${cv.scoring}
      onChange=${(v) => setCv('scoring', v)} /></div>`}
    ${kind === 'fitScore' && html`<div class="row">
      <label>Test share <input type="number" min="0.01" max="0.99" step="0.01" placeholder="0.25"
      value=${how.testSize ?? ''} onInput=${(e) => set('testSize', e.target.value && Number(e.target.value))} /></label>
      <${Scoring} where=${kind} value=${how.scoring} onChange=${(v) => set('scoring', v)} /></div>`}
    ${(kind === 'crossValidate' || kind === 'fitScore') && html`<div class="row">
      ${check('confusionMatrix', 'Confusion matrix')}${check('curves',
        'ROC and precision-recall curves')}${kind === 'crossValidate' && check('shuffle', 'Shuffle')}</div>`}
    ${kind === 'randomizedSearch' && html`<label>Candidates <input type="number" min="1" value=${how.nIter ?? 10}
      onInput=${(e) => set('nIter', Number(e.target.value))} /></label>`}
    ${isSearch && html`<${Grid} grid=${how[grid] || {}} pipeline=${spec.pipeline || []} catalogue=${catalogue}
      onChange=${(v) => onChange({ [kind]: { ...how, [grid]: v } })} />`}
    ${kind === 'predict' && html`<label>Model <input value=${how.model} placeholder="mdl_…"
      onInput=${(e) => onChange({ predict: { ...how, model: e.target.value } })} /></label>`}`;
}

// The server's own check, a moment after the last change.
function useCheck(spec) {
  const [check, setCheck] = useState({});
  useEffect(() => {
    const control = new AbortController();
    setCheck((before) => ({ ...before, isRunning: true }));
    const timer = setTimeout(() => api.post('/v1/jobs/check', spec, { signal: control.signal }).then(() =>
      setCheck({ isValid: true }), (problem) => problem.name !== 'AbortError' && setCheck({ problem })), 350);
    return () => { clearTimeout(timer); control.abort(); };
  }, [JSON.stringify(spec)]);
  return check;
}

function Description({ spec, onChange }) {
  const [text, setText] = useState(null), [wrong, setWrong] = useState('');
  const type = (event) => {
    setText(event.target.value);
    try {
      const read = JSON.parse(event.target.value);
      if (read === null || typeof read !== 'object' || !read.task
        || !read.dataset) throw new Error('it needs a dataset and a task');
      setWrong('');
      onChange(read);
    } catch (error) { setWrong(error.message); }
  };
  return html`<label class="wide">Description<textarea class="source"
    rows=${Math.min(34, JSON.stringify(spec, null, 2).split('\n').length + 1)} spellcheck="false"
    value=${text ?? JSON.stringify(spec, null, 2)} onInput=${type} onBlur=${() => { setText(null); setWrong(''); }}
    aria-invalid=${wrong ? 'true' : undefined}></textarea></label>
    ${wrong && html`<p class="bad">This is not a description yet: ${wrong}</p>`}`;
}

function devicesOf(info) {
  return ['auto', ...(info?.devices || []).filter((d) => !d.missing).map((d) => d.id)];
}

export function NewJob({ query }) {
  const [spec, setSpec] = useState(null), [problem, setProblem] = useState(null), [isSent, setSent] = useState(false);
  const [catalogue, setCatalogue] = useState(null), [info, setInfo] = useState(null);
  const key = useRef(crypto.randomUUID?.() || String(Math.random()).slice(2));
  useEffect(() => {
    api.once('/v1/estimators').then(setCatalogue, setProblem);
    api.once('/v1/info').then(setInfo, () => {});
    const from = query.get('from'), stored = query.get('data'), model = query.get('model');
    if (from) api.get(`/v1/jobs/${encodeURIComponent(from)}`).then((job) => setSpec({ pipeline: [], ...job.spec }),
      setProblem);
    else if (model) setSpec({ dataset: { builtin: 'iris' }, task: { predict: { model, format: 'csv' } } });
    else setSpec(stored ? { ...START, dataset: { stored } } : START);
  }, []);
  if (!spec) return html`<h1>New job</h1><${ProblemBox} problem=${problem} />${!problem && html`<${Loading} />`}`;
  return html`<${Form} ...${{ spec, setSpec, problem, setProblem, isSent, setSent, catalogue, info,
    idempotency: key.current }} />`;
}

function Form({ spec, setSpec, problem, setProblem, isSent, setSent, catalogue, info, idempotency }) {
  const check = useCheck(spec), where = check.problem?.where || '';
  const set = (part, value) => setSpec((before) => changed(before, part, value));
  const asks = spec.task.predict || spec.task.transform;
  const setTask = (task) => setSpec((before) => {
    const { pipeline, ...rest } = before;
    if (!STORES.some((kind) => task[kind])) delete rest.register;
    return task.predict ? { ...rest, task } : { ...rest, pipeline: pipeline || START.pipeline, task };
  });
  const submit = async (event) => {
    event.preventDefault();
    setSent(true);
    setProblem(null);
    try {
      const job = await api.post('/v1/jobs', spec,
        { more: { 'Idempotency-Key': `${idempotency}-${JSON.stringify(spec).length}-${hash(JSON.stringify(spec))}` } });
      say('The job is submitted.');
      location.hash = `#/jobs/${encodeURIComponent(job.id)}`;
    } catch (refused) {
      setProblem(refused);
      setSent(false);
    }
  };
  const cards = useMemo(() => catalogue, [catalogue]);
  return html`<form onSubmit=${submit}><div class="head"><h1>New job</h1><span class="grow"></span>
      <button class="primary" disabled=${isSent || !!check.problem}>${isSent ? 'Submitting…' : 'Submit'}</button></div>
    <${ProblemBox} problem=${problem} />
    <div class="form"><div class="cards one">
      <${Card} title="Data" id="f-data" note=${datasetName(spec.dataset)}><${Dataset} dataset=${spec.dataset}
        onChange=${(dataset) => set('dataset', dataset)} />
        <${Select} select=${spec.select || {}}
          onChange=${(select) => set('select', Object.keys(select).length ? select : undefined)} /><${Preview}
          dataset=${spec.dataset} select=${spec.select} /><//>
      ${!asks && html`<${Card} title="Pipeline" id="f-pipeline">${cards ? html`<${Steps} steps=${spec.pipeline || []}
        catalogue=${cards} where=${where}
        onChange=${(pipeline) => setSpec((before) => ({ ...before, pipeline }))} />`
          : html`<${Loading} what="the estimators" />`}<//>`}
      <${Card} title="Task" id="f-task"><${Task} spec=${spec} catalogue=${catalogue} onChange=${setTask} />
        ${STORES.some((task) => spec.task[task]) && html`<label>Register the model as <input placeholder="no name" value=${spec.register || ''}
          onInput=${(e) => set('register', e.target.value.trim())} /></label>`}
        <label>Device <select value=${spec.device || 'auto'} onChange=${(e) => set('device', e.target.value)}>
          ${devicesOf(info).map((d) => html`<option key=${d} value=${d}>${d}</option>`)}</select></label><//></div>
    <div class="beside"><${Card} title="What the server says" id="f-check"><div aria-live="polite">
      ${check.problem ? html`<div class="problem"><strong>${check.problem.message}</strong>
      ${where && html` <span class="dim">at <code>${where}</code></span>`}</div>`
        : check.isValid && !check.isRunning ? html`<p class="good">It would accept this job.</p>`
          : html`<p class="dim">It is being asked…</p>`}</div>
        <${Description} spec=${spec} onChange=${setSpec} /><//></div></div></form>`;
}

function hash(text) {
  let value = 0;
  for (const c of text) value = (value * 31 + c.codePointAt(0)) >>> 0;
  return value.toString(36);
}
