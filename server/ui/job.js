// One job: what it is, how it went, where its time went, what it found.
import { html, useEffect, useMemo, useState } from './preact.js';
import * as api from './api.js';
import { ago, bytes, count, datasetName, headline, isFinal, moment, number, pipelineName, score, seconds,
  taskName } from './format.js';
import { Card, Copy, Loading, ProblemBox, State, Tabs, cancelJob, mayCancel, save, savePage, useLive, useLoad,
  useNow } from './parts.js';
import { Waterfall } from './charts.js';
import { Evaluation, Fitted, Folds, Search } from './results.js';
import { Inspections } from './inspections.js';
import { Points } from './points.js';
import { asCpp, asCurl, asPython } from './as_code.js';
import { duration } from './jobs.js';

// What to do about a failure, by code.
const ADVICE = {
  BAD_DATA: 'The data cannot be used as the job asks. The message names the column; the data set’s page shows what each column is.',
  OUT_OF_MEMORY: 'The job needs more memory than there is. Use fewer rows or columns, float32, or a device with more memory.',
  WORKER_CRASHED: 'Its worker died twice with this job. The server’s log says how.',
  DEADLINE_EXCEEDED: 'It waited, fetched or ran longer than its deadline. Give it more time in “deadlines”, or less work.',
  DATASET_NOT_FOUND: 'The data set is not there. Check its name, or upload it.',
  DATASET_UNAVAILABLE: 'The server of the data set does not answer. Submit the job again later.',
  DATASET_CORRUPT: 'The data set is not what its checksum or format says.',
  DEVICE_UNAVAILABLE: 'The device is not there. The server’s page shows which there are.',
  MODEL_CORRUPT: 'The file of the model is damaged. Fit it again, or upload it again.',
  INVALID_VALUE: 'Correct the description at the place that is named, and submit it again.',
};

function Failure({ job }) {
  if (job.state !== 'failed') return null;
  const error = job.error || { message: `The job failed: ${job.reason || 'no reason is known'}.` };
  return html`<div class="problem" role="alert"><p><strong>${error.message}</strong></p>
    <p>${error.code && html`<code class="code">${error.code}</code> `}${error.where && html`<span class="dim">at <code>
      ${error.where}</code></span>`}</p>
    ${ADVICE[error.code] && html`<p>${ADVICE[error.code]}</p>`}</div>`;
}

const Figure = ({ title, value, note }) => html`<div class="figure"><dt>${title}</dt><dd>
  ${value}${note && html`<span class="dim">${note}</span>`}</dd></div>`;

function Figures({ job, now }) {
  const result = job.result, best = headline(result), device = result?.device;
  return html`<dl class="figures">
    ${best && html`<${Figure} title=${best.name === 'best' ? 'Best score' : best.name} value=${score(best.mean)}
      note=${best.std > 0 ? `± ${best.std.toFixed(4)}` : ''} />`}
    <${Figure} title=${isFinal(job.state) ? 'Time' : 'Time so far'} value=${seconds(duration(job, now))}
      note=${result?.timings?.cold ? 'data was fetched' : ''} />
    ${result && html`<${Figure} title="Rows × columns" value=${`${count(result.nSamples)} × ${count(result.nFeatures)}`}
      note=${result.dtype} />
      <${Figure} title="Device" value=${device?.kind || '–'} note=${device?.name || ''} />`}
    ${result?.model && html`<${Figure} title="Model" value=${html`<a
      href=${`#/models/${encodeURIComponent(result.model)}`}>open</a>`} note=${result.registered || result.model.slice(0, 14)} />`}
    <${Figure} title="Submitted" value=${ago(job.created, now)} note=${moment(job.created)} />
  </dl>`;
}

const STAGES = [['queued', 'queued', 'var(--dim)'], ['download', 'download', 'var(--c4)'], ['parse', 'parse',
  'var(--c4)'], ['load', 'load', 'var(--c4)'], ['toDevice', 'to device', 'var(--c3)'],
  ['prepare', 'prepare', 'var(--c3)'], ['fit', 'fit', 'var(--c1)'], ['transform', 'transform', 'var(--c1)'], ['predict',
    'predict', 'var(--c5)'], ['score', 'score', 'var(--c5)']];

function Stages({ timings }) {
  const stages = STAGES.map(([key, name, colour]) => ({ name, seconds: timings[key] || 0, colour })).filter((stage) =>
    stage.seconds > 0);
  if (!stages.length) return null;
  return html`<${Card} title="Where the time went" id="stages" note=${`${seconds(timings.total)} in all`}><${Waterfall}
    stages=${stages} total=${timings.total} /><//>`;
}

function Memory({ memory }) {
  if (!memory) return null;
  const rows = [['needed at least', memory.neededBytes], ['expected at most', memory.predictedBytes], ['measured peak',
    memory.peakBytes]].filter(([, value]) => value != null);
  const most = Math.max(...rows.map(([, value]) => value), 1);
  return html`<${Card} title="Memory" id="memory" note="beyond what the worker held before"><div class="meters">
    ${rows.map(([name, value]) => html`<div key=${name}><span>${name}</span>
    <span class="track"><i class=${name === 'measured peak' ? 'peak' : ''}
      style=${{ width: `${(100 * value) / most}%` }}></i></span><span class="number">${bytes(value)}</span></div>`)}
      </div><//>`;
}

// The device of each step: what the catalogue says of the host's part, with the seconds of the step.
function Steps({ job }) {
  const [catalogue, setCatalogue] = useState(null);
  useEffect(() => { api.once('/v1/estimators').then(setCatalogue, () => {}); }, []);
  const steps = job.spec.pipeline || [];
  if (!steps.length) return null;
  const timings = Object.fromEntries((job.result?.timings?.steps || []).map((s) => [s.name, s.seconds]));
  const device = job.result?.device?.kind;
  const nameOf = (step) => step.name || step.estimator;   // as the timings have it
  return html`<${Card} title="Steps" id="steps"><div class="scroll" tabindex="0" role="region" aria-label="Steps">
    <table><thead><tr><th>Step</th><th>Parameters</th><th>Ran on</th><th class="number">Time</th></tr></thead><tbody>
    ${steps.map((step) => {
      const host = catalogue?.estimators.find((e) => e.name === step.estimator)?.hostPart;
      return html`<tr key=${nameOf(step)}><td><a href=${`../docs/estimators/${encodeURIComponent(step.estimator)}`}>
        ${step.estimator}</a>${step.name && html` <span class="dim">${step.name}</span>`}</td>
        <td>${Object.entries(step.params || {}).map(([k, v]) => html`<code class="param" key=${k}>
          ${k}=${typeof v === 'string' ? v : JSON.stringify(v)}
          </code> `)}${!Object.keys(step.params || {}).length && html`<span class="dim">defaults</span>`}</td>
        <td>${device || '–'}${device && device !== 'cpu' && host && html`<span class="dim"> and the host: ${host}
          </span>`}</td><td class="number">${seconds(timings[nameOf(step)])}</td></tr>`;
    })}</tbody></table></div><//>`;
}

function textOf(kind, event) {
  const body = event[kind] || {};
  switch (kind) {
    case 'state': return [body.state, body.reason, body.device && `on ${body.device}`, body.error?.message]
      .filter(Boolean).join(' · ');
    case 'progress': return `${body.phase} ${body.done} of ${body.total}${body.unit ? ` ${body.unit}` : ''}`;
    case 'metric': return `${body.name} ${number(body.value)}${body.fold >= 0 ? `, fold ${body.fold + 1}` : ''}`;
    case 'timing': return `${body.phase} ${seconds(body.seconds)}${body.fold >= 0 ? `, fold ${body.fold + 1}` : ''}`;
    case 'log': return `${body.level} ${body.message}`;
    case 'gap': return `events ${body.from} to ${body.to} are no longer kept`;
    case 'result': return 'the result is stored';
    default: return '';
  }
}
const kindOf = (event) => ['state', 'progress', 'metric', 'timing', 'log', 'result', 'gap'].find((kind) =>
  kind in event) || 'event';

function Events({ events }) {
  const [all, setAll] = useState(false);
  const shown = all ? events : events.slice(-200);
  return html`<${Card} title="Events" id="events" note=${count(events.length)}>
    <div class="scroll log" tabindex="0" role="region" aria-label="Events"><table><tbody>${shown.map((event) => html`
    <tr key=${event.id}><td class="number dim">${event.id}</td><td class="dim">${event.time?.slice(11, 23)}</td><td>
      <span class="kind">${kindOf(event)}</span></td><td>${textOf(kindOf(event), event)}</td></tr>`)}</tbody></table>
      </div>
    ${events.length > shown.length && html`<button type="button" class="small"
      onClick=${() => setAll(true)}>Show all ${count(events.length)}</button>`}<//>`;
}

// The last progress of each phase, while the job runs.
function Progress({ job, events }) {
  if (isFinal(job.state)) return null;
  const last = [...events].reverse().find((event) => event.progress && event.progress.total > 0)?.progress;
  const scores = events.filter((event) => event.metric && event.metric.fold >= 0).map((event) => event.metric);
  return html`<${Card} title="In progress" id="progress">${last ? html`<label class="wide">
    ${last.phase}: ${last.done} of ${last.total} ${last.unit || ''}<progress max=${last.total} value=${last.done}>
    </progress></label>`
    : html`<label class="wide">${job.state === 'queued' ? 'It waits for its turn' : 'It has begun'}<progress></progress>
      </label>`}
    ${scores.length > 0 && html`<p class="dim">
      ${scores.slice(-6).map((m) => `${m.name} ${score(m.value)} (fold ${m.fold + 1})`).join(' · ')}</p>`}<//>`;
}

const FORMS = { json: ['JSON', (spec) => JSON.stringify(spec, null, 2)], curl: ['curl', asCurl], python: ['Python',
  asPython], cpp: ['C++', asCpp] };

function Description({ spec }) {
  const [form, setForm] = useState('json');
  const text = useMemo(() => FORMS[form][1](spec), [spec, form]);
  return html`<${Card} title="Description" id="spec" actions=${html`<button type="button" class="small"
    onClick=${() => save('job.json', JSON.stringify(spec, null, 2))}>Save</button> <${Copy} small
    text=${() => text}>Copy<//>`}>
    <${Tabs} label="Form" tabs=${Object.entries(FORMS).map(([key, [title]]) => [key, title])} chosen=${form}
      onChoose=${setForm} /><pre tabindex="0" class="source">${text}</pre><//>`;
}

function useEvents(id, isOver) {
  const [events, setEvents] = useState([]);
  useEffect(() => {
    let kept = [], timer = 0;
    const flush = () => { timer = 0; setEvents(kept.slice()); };
    const stop = api.follow(`/v1/jobs/${encodeURIComponent(id)}/events`, (_, event) => {
      kept.push(event);
      if (!timer) timer = setTimeout(flush, 120);
    }, { isLast: (_, event) => event.state && isFinal(event.state.state) });
    return () => { stop(); clearTimeout(timer); };
  }, [id, isOver]);
  return events;
}

export function JobView({ id }) {
  const path = `/v1/jobs/${encodeURIComponent(id)}`;
  const { value: job, problem, again, set } = useLoad(() => api.get(path), path);
  const events = useEvents(id, false);
  useLive((message) => {
    if (message.reload && job && !isFinal(job.state)) again();
    if (message.job?.id !== id) return;
    if (isFinal(message.job.state)) again();
    else set((before) => before && { ...before, state: message.job.state, started: message.job.started });
  });
  const now = useNow(500, !job || !isFinal(job.state));
  useEffect(() => { document.title = job ? `${pipelineName(job.spec) || taskName(job.spec.task)} · Kedge`
    : 'Kedge'; return () => { document.title = 'Kedge'; }; }, [job]);
  if (problem && !job) return html`<${ProblemBox} problem=${problem} /><p><a href="#/jobs">To the jobs</a></p>`;
  if (!job) return html`<${Loading} what="the job" />`;
  const result = job.result;
  return html`<div class="head"><div><p class="crumbs"><a href="#/jobs">Jobs</a> / <code>${job.id}</code></p><h1>
    ${pipelineName(job.spec) || taskName(job.spec.task)}</h1>
      <p class="under"><${State} state=${job.state} /> <span class="dim">
        ${datasetName(job.spec.dataset)} · ${taskName(job.spec.task)}${job.attempts > 1 ? ` · ${job.attempts} attempts`
          : ''}</span></p></div>
    <span class="grow"></span><div class="row">${mayCancel(job) && html`<button type="button" class="danger"
      onClick=${() => cancelJob(id)}>Cancel</button>`}
      <a class="button" href=${`#/new?from=${encodeURIComponent(id)}`}>Repeat</a>
        <a class="button" href=${`#/compare?jobs=${encodeURIComponent(id)}`}>Compare</a>
      <button type="button" onClick=${() => savePage(`${id}.html`, document.title, job)}>Save as a file</button></div>
        </div>
    <${Failure} job=${job} /><${Figures} job=${job} now=${now} />
    ${result?.warnings?.length > 0 && html`<div class="note" role="note"><strong>
      ${result.warnings.length === 1 ? 'A warning' : `${result.warnings.length} warnings`}</strong><ul>
      ${result.warnings.map((text) => html`<li key=${text}>${text}</li>`)}</ul></div>`}
    <div class="cards"><${Progress} job=${job} events=${events} />
      ${result && html`<${Search} result=${result} /><${Inspections} result=${result} /><${Points} job=${job} />
        <${Folds} result=${result} /><${Evaluation} evaluation=${result.evaluation} /><${Fitted} result=${result} /><${Stages} timings=${result.timings} />
        <${Memory} memory=${result.memory} />`}
      <${Steps} job=${job} /><${Artifacts} job=${job} /><${Description} spec=${job.spec} /><${Events}
        events=${events} /></div>`;
}

function Artifacts({ job }) {
  const files = job.result?.artifacts || [];
  if (!files.length) return null;
  const fetchFile = async (name) => {
    const answer = await api.request('GET',
      `/v1/jobs/${encodeURIComponent(job.id)}/artifacts/${encodeURIComponent(name)}`, { accept: '*/*' });
    save(name, await answer.blob(), 'application/octet-stream');
  };
  return html`<${Card} title="Files" id="files"><ul class="plain">${files.map((file) => html`<li key=${file.name}>
    <button type="button" class="small" onClick=${() => fetchFile(file.name)}>Download</button> <code>${file.name}
    </code> <span class="dim">${bytes(file.bytes)}</span></li>`)}</ul><//>`;
}
