// The server itself: devices, queue, workers, tenants, the machine, from /v1/info and what /metrics has said since the page was opened.
import { html, useEffect, useState } from './preact.js';
import * as api from './api.js';
import { Bars, Spark } from './charts.js';
import { bytes, count, number, seconds } from './format.js';
import { Card, Loading, ProblemBox } from './parts.js';
import { gauge, onSample, rate, samples, span, sum, valueOf } from './samples.js';

function usePoll() {
  const [state, setState] = useState({ info: null });
  useEffect(() => {
    let isOn = true;
    const ask = () => api.get('/v1/info').then((info) => isOn && setState({ info }), (problem) => isOn
      && setState((before) => ({ ...before, problem })));
    const stop = onSample((problem) => (problem ? isOn && setState((before) => ({ ...before, problem })) : ask()));
    ask();
    return () => { isOn = false; stop(); };
  }, []);
  return { ...state, metrics: samples[samples.length - 1]?.metrics };
}

const last = (values) => values[values.length - 1];
const percent = (share) => `${Math.round(100 * share)} %`;

// A figure over the last minutes, with what it is now.
const Over = ({ name, values, high, text, label }) => html`<div><span class="dim">${name}</span><${Spark} values=${values}
  high=${high} width=${240} label=${`${label}, ${values.length} times in ${seconds(span())}: now ${text}`} />
  <strong>${text}</strong></div>`;

function Device({ device, metrics }) {
  const use = rate('kedge_device_busy_seconds_total', { device: device.id }).map((share) => Math.min(1, share));
  const gpu = { gpu: device.id.replace('cuda:', '') }, all = valueOf(metrics, 'kedge_gpu_memory_total_bytes', gpu);
  const used = gauge('kedge_gpu_memory_used_bytes', gpu), heat = gauge('kedge_gpu_temperature_celsius', gpu);
  return html`<div class=${`device${device.missing ? ' missing' : ''}`}><header><strong>${device.id}
    </strong> <span class="dim">${device.name}</span></header>
    ${device.missing ? html`<p class="dim">${device.missing}</p>` : html`<dl class="pairs">${device.threads > 0
      && html`<dt>Threads</dt><dd>${device.threads}</dd>`}<dt>Memory</dt><dd>${bytes(device.memoryBytes)}</dd></dl>
      ${use.length > 1 ? html`<div class="sparks">
        <${Over} name="Busy" values=${use} high=${1} text=${percent(last(use))} label=${`Use of ${device.id}`} />
        ${all > 0 && html`<${Over} name="Memory" values=${used} high=${all} text=${bytes(last(used))}
          label=${`Memory in use of ${device.id}`} />
        <${Over} name="Heat" values=${heat} high=${100} text=${`${number(last(heat))} °C`}
          label=${`Temperature of ${device.id}`} />`}</div>` : html`<p class="dim">Measured after a few seconds.</p>`}`}
    </div>`;
}

// Of what all tenants have used, and of what they may have when all of them want it.
function Tenants({ metrics }) {
  const tenants = metrics?.kedge_tenant_busy_seconds_total || [];
  if (!tenants.length) return null;
  const all = sum(metrics, 'kedge_tenant_busy_seconds_total') || 1, weights = sum(metrics, 'kedge_tenant_weight');
  const row = ({ labels, value }) => {
    const weight = valueOf(metrics, 'kedge_tenant_weight', labels);
    return { name: labels.tenant || 'the only one', value: value / all, text: percent(value / all),
      note: `${seconds(value)} of devices${weight ? `, may have ${percent(weight / weights)}` : ''}` };
  };
  const rows = tenants.map(row).sort((a, b) => b.value - a.value);
  return html`<${Card} title="Tenants" id="tenants" note="shares of the devices since the server started">
    <${Bars} label="Shares of the devices by tenant" low=${0} rows=${rows.slice(0, 20)} />
    <details><summary>As a table</summary><div class="scroll" tabindex="0" role="region" aria-label="Tenants"><table><tbody>
    ${rows.map((r) => html`<tr key=${r.name}><td>${r.name}</td><td class="number">${r.text}</td><td class="dim">${r.note}
    </td></tr>`)}</tbody></table></div></details><//>`;
}

// A rented machine: the server knows its price and its end from who rented it.
function Machine({ metrics }) {
  const price = valueOf(metrics, 'kedge_machine_price_usd_per_hour'), ends = valueOf(metrics, 'kedge_machine_ends_seconds');
  if (price == null && ends == null) return null;
  return html`<${Card} title="Machine" id="machine"><dl class="pairs">${price != null && html`<dt>Price</dt><dd>
    ${price.toFixed(3)} USD an hour</dd><dt>So far</dt><dd>${valueOf(metrics, 'kedge_machine_cost_usd').toFixed(3)} USD
    since the server started</dd>`}${ends != null && html`<dt>Ends in</dt><dd>${seconds(ends)}, if not before</dd>`}</dl>
    <p class="dim"><code>kedge machines</code> lists all machines that you rent, with what each has cost.</p><//>`;
}

function Ended({ metrics }) {
  const outcomes = [...new Set((metrics?.kedge_jobs_finished_total || []).map((row) => row.labels.outcome))];
  if (!outcomes.length) return null;
  const rows = outcomes.map((outcome) => ({ name: outcome, value: sum(metrics, 'kedge_jobs_finished_total', { outcome }) }));
  return html`<${Card} title="Ended jobs" id="ended" note="since the server started"><${Bars} low=${0}
    label="Ended jobs by outcome" rows=${rows.map((row) => ({ ...row, text: count(row.value) }))} /><//>`;
}

const STATES = ['queued', 'fetching', 'running', 'finalizing'];

export function Server() {
  const { info, metrics, problem } = usePoll();
  if (!info) return html`<h1>Server</h1><${ProblemBox} problem=${problem} />
    ${!problem && html`<${Loading} what="the server" />`}`;
  const waiting = gauge('kedge_jobs', { state: 'queued' }), running = gauge('kedge_jobs', { state: 'running' });
  return html`<div class="head"><div><h1>Server</h1><p class="under dim">Kedge ${info.version} at ${api.base}</p></div>
    </div><${ProblemBox} problem=${problem} />
    <dl class="figures">${STATES.map((state) => html`<div class="figure" key=${state}><dt>${state}</dt><dd>
      ${count(sum(metrics, 'kedge_jobs', { state }))}</dd></div>`)}
      <div class="figure"><dt>Oldest in the queue</dt><dd>${seconds(sum(metrics, 'kedge_queue_oldest_seconds'))}</dd>
        </div><div class="figure"><dt>Workers</dt><dd>${count(sum(metrics, 'kedge_workers', { state: 'idle' }) + sum(metrics, 'kedge_workers', { state: 'busy' }))}</dd></div>
      <div class="figure"><dt>Free on the disk</dt><dd>${bytes(sum(metrics, 'kedge_data_dir_free_bytes'))}</dd></div></dl>
    <div class="cards"><${Card} title="Devices" id="devices" note=${samples.length > 1
      && `the last ${seconds(span())} of 15 minutes`}><div class="devices">
      ${info.devices.map((d) => html`<${Device} key=${d.id} device=${d} metrics=${metrics} />`)}</div><//>
      <${Card} title="Queue" id="queue"><div class="sparks">
        <${Over} name="queued" values=${waiting} text=${count(last(waiting))} label="Jobs that wait" />
        <${Over} name="running" values=${running} text=${count(last(running))} label="Jobs that run" /></div><//>
      <${Machine} metrics=${metrics} /><${Ended} metrics=${metrics} /><${Tenants} metrics=${metrics} />
      <${Card} title="Data" id="cache"><dl class="pairs"><dt>Cached data sets</dt><dd>
        ${bytes(sum(metrics, 'kedge_dataset_cache_bytes'))}</dd><dt>Found in the cache</dt><dd>
        ${count(sum(metrics, 'kedge_dataset_cache_hits_total'))}</dd><dt>Not found</dt><dd>
        ${count(sum(metrics, 'kedge_dataset_cache_misses_total'))}</dd><dt>Downloaded</dt><dd>
        ${bytes(sum(metrics, 'kedge_download_bytes_total'))}</dd></dl><//></div>`;
}
