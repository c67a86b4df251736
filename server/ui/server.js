// The server itself: devices, queue, workers, tenants, from /v1/info and /metrics, asked every few seconds while one looks.
import { html, useEffect, useState } from './preact.js';
import * as api from './api.js';
import { Bars, Spark } from './charts.js';
import { bytes, count, number, seconds } from './format.js';
import { Card, Loading, ProblemBox } from './parts.js';

const EVERY_MS = 5000, KEPT = (15 * 60 * 1000) / EVERY_MS;
const history = [];   // of samples, for as long as the page is open

// Prometheus' text: name -> [{labels, value}]
export function parse(text) {
  const found = {};
  for (const line of text.split('\n')) {
    if (!line || line.startsWith('#')) continue;
    const match = line.match(/^([a-z_:]+)(?:\{(.*)\})? (\S+)/);
    if (!match) continue;
    const labels = {};
    for (const [, key, value] of (match[2]
      || '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) labels[key] = value.replace(/\\(.)/g, (_, c) => (c === 'n' ? '\n'
        : c));
    (found[match[1]] ||= []).push({ labels, value: Number(match[3]) });
  }
  return found;
}

const sum = (rows = [], where = {}) => rows.filter((r) => Object.entries(where).every(([k, v]) => r.labels[k] === v))
  .reduce((total, r) => total + r.value, 0);

function usePoll() {
  const [state, setState] = useState({ info: null, metrics: history[history.length - 1]?.metrics });
  useEffect(() => {
    let isOn = true, timer = 0;
    const ask = async () => {
      try {
        const [info, text] = await Promise.all([api.get('/v1/info'), api.request('GET', '/metrics',
          { accept: 'text/plain' }).then((a) => a.text())]);
        history.push({ at: Date.now(), metrics: parse(text) });
        if (history.length > KEPT) history.shift();
        if (isOn) setState({ info, metrics: history[history.length - 1].metrics });
      } catch (problem) { if (isOn) setState((before) => ({ ...before, problem })); }
      if (isOn) timer = setTimeout(ask, document.hidden ? 30000 : EVERY_MS);
    };
    ask();
    return () => { isOn = false; clearTimeout(timer); };
  }, []);
  return state;
}

// How busy something was between two samples, 0 to 1.
const busy = (name, where) => history.slice(1).map((sample, i) => {
  const before = history[i], span = (sample.at - before.at) / 1000;
  return Math.max(0, Math.min(1, (sum(sample.metrics[name], where) - sum(before.metrics[name], where)) / span));
});

function Device({ device, metrics }) {
  const where = { device: device.id };
  const use = busy('kedge_device_busy_seconds_total', where), last = use[use.length - 1];
  const gpu = (metrics?.kedge_gpu_memory_total_bytes || []).find((r) => r.labels.device === device.id
    || `cuda:${r.labels.gpu}` === device.id);
  const of = (name) => (metrics?.[name] || []).find((r) => gpu
    && JSON.stringify(r.labels) === JSON.stringify(gpu.labels))?.value;
  return html`<div class=${`device${device.missing ? ' missing' : ''}`}><header><strong>${device.id}
    </strong> <span class="dim">${device.name}</span></header>
    ${device.missing ? html`<p class="dim">${device.missing}</p>` : html`<dl class="pairs"><dt>Threads</dt><dd>
      ${device.threads || '–'}</dd><dt>Memory</dt><dd>${bytes(device.memoryBytes)}</dd>
      ${gpu && html`<dt>Memory in use</dt><dd>${bytes(of('kedge_gpu_memory_used_bytes'))}</dd><dt>Temperature</dt><dd>
        ${number(of('kedge_gpu_temperature_celsius'))} °C</dd>`}<dt>Busy</dt><dd>
        ${last == null ? 'measured after a few seconds' : `${Math.round(100 * last)} %`}</dd></dl>
      ${use.length > 1 && html`<${Spark} values=${use} high=${1}
        label=${`Use of ${device.id} since the page was opened`} />`}`}</div>`;
}

export function Server() {
  const { info, metrics, problem } = usePoll();
  if (!info) return html`<h1>Server</h1><${ProblemBox} problem=${problem} />
    ${!problem && html`<${Loading} what="the server" />`}`;
  const jobs = metrics?.kedge_jobs || [], finished = metrics?.kedge_jobs_finished_total || [],
    tenants = metrics?.kedge_tenant_busy_seconds_total || [];
  const states = ['queued', 'fetching', 'running', 'finalizing'].map((state) => [state, sum(jobs, { state })]);
  const waiting = history.map((s) => sum(s.metrics.kedge_jobs, { state: 'queued' })), running = history.map((s) =>
    sum(s.metrics.kedge_jobs, { state: 'running' }));
  return html`<div class="head"><div><h1>Server</h1><p class="under dim">Kedge ${info.version} at ${api.base}</p></div>
    </div><${ProblemBox} problem=${problem} />
    <dl class="figures">${states.map(([state, n]) => html`<div class="figure" key=${state}><dt>${state}</dt><dd>
      ${count(n)}</dd></div>`)}
      <div class="figure"><dt>Oldest in the queue</dt><dd>${seconds(sum(metrics?.kedge_queue_oldest_seconds))}</dd>
        </div><div class="figure"><dt>Workers</dt><dd>${count(sum(metrics?.kedge_workers))}</dd></div>
      <div class="figure"><dt>Free on the disk</dt><dd>${bytes(sum(metrics?.kedge_data_dir_free_bytes))}</dd></div></dl>
    <div class="cards"><${Card} title="Devices" id="devices"><div class="devices">
      ${info.devices.map((d) => html`<${Device} key=${d.id} device=${d} metrics=${metrics} />`)}</div><//>
      <${Card} title="Queue" id="queue" note=${`last ${Math.round((history.length * EVERY_MS) / 1000)} s`}>
        <div class="sparks"><div><span class="dim">queued</span><${Spark}
        values=${waiting} label="Jobs that wait" width=${240} /><strong>${count(waiting[waiting.length - 1])}</strong>
        </div>
        <div><span class="dim">running</span><${Spark} values=${running} label="Jobs that run" width=${240} /><strong>
          ${count(running[running.length - 1])}</strong></div></div><//>
      ${finished.length > 0 && html`<${Card} title="Ended jobs" id="ended" note="since the server started">
        <${Bars} label="Ended jobs by outcome" low=${0}
        rows=${Object.entries(finished.reduce((all, r) => ({ ...all, [r.labels.state || r.labels.outcome
          || 'ended']: (all[r.labels.state || r.labels.outcome || 'ended'] || 0) + r.value }), {})).map(([name,
            value]) =>
            ({ name, value, text: count(value) }))} /><//>`}
      ${tenants.length > 0 && html`<${Card} title="Tenants" id="tenants" note="seconds of devices">
        <${Bars} label="Device seconds by tenant" low=${0}
        rows=${tenants.map((r) => ({ name: r.labels.tenant || '(none)', value: r.value, text: seconds(r.value) }))} />
        <//>`}
      <${Card} title="Data" id="cache"><dl class="pairs"><dt>Cached data sets</dt><dd>
        ${bytes(sum(metrics?.kedge_dataset_cache_bytes))}</dd><dt>Found in the cache</dt><dd>
        ${count(sum(metrics?.kedge_dataset_cache_hits_total))}</dd><dt>Not found</dt><dd>
        ${count(sum(metrics?.kedge_dataset_cache_misses_total))}</dd><dt>Downloaded</dt><dd>
        ${bytes(sum(metrics?.kedge_download_bytes_total))}</dd></dl><//></div>`;
}
