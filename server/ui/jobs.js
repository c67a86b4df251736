// The list of jobs: live, filtered, searched, fifty at a time; every state of it has an address.
import { html, useEffect, useRef, useState } from './preact.js';
import * as api from './api.js';
import { ago, datasetName, headline, isFinal, matches, moment, pipelineName, plural, score, seconds,
  taskName } from './format.js';
import { Empty, Loading, ProblemBox, State, useLive, useLoad, useNow } from './parts.js';

const STATES = ['', 'queued', 'running', 'succeeded', 'failed', 'cancelled'];
const PAGE = 50;

export function address(query, change) {
  const next = new URLSearchParams(query);
  for (const [key, value] of Object.entries(change)) value ? next.set(key, value) : next.delete(key);
  return `#/jobs${next.toString() ? `?${next}` : ''}`;
}

// What a job has taken so far, or in all.
export function duration(job, now) {
  if (job.result?.timings?.total) return job.result.timings.total;
  const from = Date.parse(job.started || job.created || ''), to = isFinal(job.state) ? Date.parse(job.ended || '')
    : now;
  return isFinite(from) && isFinite(to) ? Math.max(0, (to - from) / 1000) : null;
}

function Score({ job }) {
  const best = headline(job.result);
  if (job.state === 'failed') return html`<code class="code">${job.error?.code || job.reason}</code>`;
  if (!best) return html`<span class="dim">–</span>`;
  return html`<span class="score">${score(best.mean)}</span>
    ${best.std > 0 && html`<span class="dim"> ± ${best.std.toFixed(3)}</span>`} <span class="dim small">${best.name}
    </span>`;
}

function Warnings({ warnings = [] }) {
  if (!warnings.length) return html`<span class="dim" aria-label="no warnings">–</span>`;
  return html`<span class="warn" title=${warnings.join('\n')}>
    <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true"><path d="M8 2l6.5 11.5h-13zM8 6.5v3.5M8 12h0" />
    </svg> ${warnings.length}<span class="hidden"> warnings: ${warnings[0]}</span></span>`;
}

function Row({ job, now, chosen, onChoose }) {
  const title = pipelineName(job.spec) || taskName(job.spec.task);
  return html`<tr class=${chosen ? 'chosen' : ''}>
    <td class="pick"><input type="checkbox" checked=${chosen} onChange=${onChoose}
      aria-label=${`Compare ${title}, ${job.id}`} /></td>
    <td class="what"><a href=${`#/jobs/${encodeURIComponent(job.id)}`}>${title}</a><span class="dim">
      ${datasetName(job.spec.dataset)} · ${taskName(job.spec.task)}</span></td>
    <td><${State} state=${job.state} /></td>
    <td class="number"><${Score} job=${job} /></td>
    <td class="number">${seconds(duration(job, now))}</td>
    <td class="number warnings"><${Warnings} warnings=${job.result?.warnings} /></td>
    <td class="when"><time datetime=${job.created} title=${moment(job.created)}>${ago(job.created, now)}</time></td>
      </tr>`;
}

// Puts a changed job where it belongs on this page.
function merged(page, job, filter) {
  const at = page.jobs.findIndex((other) => other.id === job.id);
  const belongs = (!filter.state || job.state === filter.state) && (!filter.search || matches(job, filter.search));
  const jobs = page.jobs.slice();
  if (at >= 0 && belongs) jobs[at] = { ...jobs[at], ...job };
  else if (at >= 0) jobs.splice(at, 1);
  else if (belongs && !filter.after && (!jobs.length || job.id > jobs[jobs.length - 1].id || jobs.length < PAGE)) {
    const place = jobs.findIndex((other) => other.id < job.id);
    jobs.splice(place < 0 ? jobs.length : place, 0, job);
  }
  return { ...page, jobs: jobs.slice(0, PAGE), nextPageToken: jobs.length > PAGE ? jobs[PAGE - 1].id
    : page.nextPageToken };
}

function Search({ query, filter }) {
  const [text, setText] = useState(filter.search);
  const timer = useRef(0);
  useEffect(() => setText(filter.search), [filter.search]);
  const type = (event) => {
    const words = event.target.value;
    setText(words);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => location.replace(address(query, { search: words.trim(), after: '' })), 250);
  };
  return html`<input class="search" type="search" aria-label="Search jobs" placeholder="Search: estimator, data set, code, id" value=${text} maxlength="50" onInput=${type} />`;
}

export function Jobs({ query }) {
  const filter = { state: query.get('state') || '', search: query.get('search') || '', after: query.get('after')
    || '' };
  const [chosen, setChosen] = useState([]);
  const path = `/v1/jobs?pageSize=${PAGE}${filter.state ? `&state=${encodeURIComponent(filter.state)}`
    : ''}${filter.search ? `&search=${encodeURIComponent(filter.search)}` : ''}${filter.after
      ? `&pageToken=${encodeURIComponent(filter.after)}` : ''}`;
  const { value: page, problem, again, set } = useLoad(() => api.get(path), path);
  useLive((message) => {
    if (message.reload) again();
    if (message.job) set((before) => before && merged(before, message.job, filter));
  });
  const now = useNow(1000);
  const toggle = (id) => setChosen((before) => (before.includes(id) ? before.filter((other) => other !== id)
    : [...before, id].slice(-20)));
  return html`<div class="head"><h1>Jobs</h1><span class="grow"></span>
    <a class="button primary" href="#/new">New job</a></div>
    <div class="bar"><nav class="chips" aria-label="Filter by state">${STATES.map((state) => html`<a key=${state}
      href=${address(query, { state, after: '' })} aria-current=${state === filter.state ? 'true' : undefined}>
      ${state || 'all'}</a>`)}</nav>
      <span class="grow"></span><${Search} query=${query} filter=${filter} /></div>
    <${ProblemBox} problem=${problem} />
    ${!page && !problem && html`<${Loading} what="jobs" />`}
    ${page && (page.jobs.length ? html`<table class="jobs"><caption class="hidden">Jobs, newest first</caption>
        <thead><tr><th class="pick"><span class="hidden">Compare</span></th><th>Job</th><th>State</th>
          <th class="number">Score</th><th class="number">Time</th><th class="number warnings">Warnings</th>
          <th class="when">Submitted</th></tr></thead>
        <tbody>${page.jobs.map((job) => html`<${Row} key=${job.id} job=${job} now=${now}
          chosen=${chosen.includes(job.id)} onChoose=${() => toggle(job.id)} />`)}</tbody></table>`
      : filter.state || filter.search
        ? html`<${Empty} title="No job matches">Try another filter, or <a href="#/jobs">see all jobs</a>.<//>`
      : html`<${Empty} title="No jobs yet">
        <a href="#/new">Make the first one here</a>, or submit one with <code>kedge run</code>, Python, C++ or curl.<//>`)}
    ${page && (filter.after || page.nextPageToken) && html`<nav class="pager" aria-label="Pages">
      ${filter.after && html`<a class="button small" href=${address(query, { after: '' })}>Newest</a>`}
      ${page.nextPageToken && html`<a class="button small"
        href=${address(query, { after: page.nextPageToken })}>Older jobs</a>`}</nav>`}
    ${chosen.length > 0 && html`<div class="picked" role="region" aria-label="Chosen jobs"><span>
      ${plural(chosen.length, 'job')} chosen</span>
      ${chosen.length > 1 ? html`<a class="button primary"
        href=${`#/compare?jobs=${chosen.map(encodeURIComponent).join(',')}`}>Compare</a>`
          : html`<span class="dim">choose one more to compare</span>`}
      <button type="button" class="quiet" onClick=${() => setChosen([])}>Clear</button></div>`}`;
}
