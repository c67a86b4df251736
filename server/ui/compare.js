// Two to twenty jobs side by side: what differs, scores, folds, times.
import { html, useState } from './preact.js';
import * as api from './api.js';
import { Bars, COLOURS, Legend, Plot, extent } from './charts.js';
import { datasetName, isFinal, number, pipelineName, plural, score, seconds, taskName } from './format.js';
import { Card, Empty, Loading, ProblemBox, State, useLive, useLoad } from './parts.js';
import { duration } from './jobs.js';

// "pipeline[0].params.C" -> value, of all that is not an object.
export function leaves(value, path = '', out = {}) {
  if (value === null || typeof value !== 'object') out[path] = value;
  else if (Array.isArray(value)) value.forEach((v, i) => leaves(v, `${path}[${i}]`, out));
  else for (const [key, v] of Object.entries(value)) leaves(v, path ? `${path}.${key}` : key, out);
  return out;
}

const letter = (i) => String.fromCharCode(65 + i);

function Differences({ jobs }) {
  const all = jobs.map((job) => leaves(job.spec));
  const keys = [...new Set(all.flatMap(Object.keys))].filter((key) => new Set(all.map((a) =>
    JSON.stringify(a[key]))).size > 1).sort();
  if (!keys.length) return html`<p class="dim">The descriptions are equal.</p>`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Differences"><table><thead><tr><th>Field</th>
    ${jobs.map((job, i) => html`<th key=${job.id}>${letter(i)}</th>`)}</tr></thead>
    <tbody>${keys.map((key) => html`<tr key=${key}><td><code>${key}</code></td>${all.map((a, i) => html`<td key=${i}>
      ${key in a ? html`<code>${String(a[key])}</code>` : html`<span class="dim">–</span>`}</td>`)}</tr>`)}</tbody>
      </table></div>`;
}

function FoldLines({ jobs, name }) {
  const lines = jobs.map((job, i) => ({ i, values: job.result?.scores?.[name]?.perFold || [] })).filter((line) =>
    line.values.length > 1);
  if (lines.length < 2) return null;
  const most = Math.max(...lines.map((line) => line.values.length));
  return html`<${Plot} label=${`${name} of each fold`} x=${[0.7, most + 0.3]}
    y=${extent(lines.flatMap((l) => l.values), 0.1)} xTitle="fold" yTitle=${name}
    xTicks=${Array.from({ length: most }, (_, k) => [k + 1, k + 1])}
    legend=${html`<${Legend} names=${lines.map((l) => letter(l.i))} />`}>
    ${(sx, sy) => lines.map((line, n) => html`<g key=${line.i}>
      <path class="curve" d=${line.values.map((v, k) => `${k ? 'L' : 'M'}${sx(k + 1)} ${sy(v)}`).join('')}
      style=${{ stroke: COLOURS[n % 8] }} />
      ${line.values.map((v, k) => html`<circle key=${k} class="dot" cx=${sx(k + 1)}
        cy=${sy(v)} r="4" style=${{ fill: COLOURS[n % 8] }}><title>${letter(line.i)}, fold ${k + 1}: ${score(v)}</title>
        </circle>`)}</g>`)}<//>`;
}

export function Compare({ ids }) {
  const key = ids.join(',');
  const { value: jobs, problem, again } = useLoad(() => Promise.all(ids.slice(0, 20).map((id) =>
    api.get(`/v1/jobs/${encodeURIComponent(id)}`))), key);
  const names = [...new Set((jobs || []).flatMap((job) => Object.keys(job.result?.scores || {})))];
  const [chosen, setChosen] = useState('');
  const name = chosen || names[0];
  useLive((message) => { if (message.job && ids.includes(message.job.id) && isFinal(message.job.state)) again(); });
  if (problem) return html`<h1>Compare</h1><${ProblemBox} problem=${problem} />`;
  if (!jobs) return html`<h1>Compare</h1><${Loading} what="jobs" />`;
  if (!jobs.length) return html`<h1>Compare</h1>
    <${Empty} title="No jobs are chosen">Choose two or more in <a href="#/jobs">the list of jobs</a>.<//>`;
  const valueOf = (job) => job.result?.scores?.[name]?.mean ?? job.result?.search?.bestScore;
  const scored = jobs.map((job, i) => ({ job, i })).filter(({ job }) => typeof valueOf(job) === 'number');
  const best = scored.reduce((a, b) => (a == null || valueOf(b.job) > valueOf(a.job) ? b : a), null);
  return html`<div class="head"><h1>Compare ${plural(jobs.length, 'job')}</h1></div>
    ${jobs.length === 1 && html`<p class="note">Choose another in <a href="#/jobs">the list of jobs</a>; the address of this page takes up to 20 ids.</p>`}
    <div class="scroll" tabindex="0" role="region" aria-label="Jobs"><table><thead><tr><th>
      <span class="hidden">Letter</span></th><th>Job</th><th>State</th>
      ${names.map((n) => html`<th class="number" key=${n}>${n}</th>`)}<th class="number">Time</th><th>Device</th></tr>
      </thead>
      <tbody>${jobs.map((job, i) => html`<tr key=${job.id} class=${best && best.i === i ? 'chosen' : ''}><td>
        <span class="letter" style=${{ background: COLOURS[i % 8] }}>${letter(i)}</span></td>
        <td class="what"><a href=${`#/jobs/${encodeURIComponent(job.id)}`}>${pipelineName(job.spec)}</a>
          <span class="dim">${datasetName(job.spec.dataset)} · ${taskName(job.spec.task)}</span></td><td><${State}
          state=${job.state} /></td>
        ${names.map((n) => html`<td class="number" key=${n}>${score(job.result?.scores?.[n]?.mean)}</td>`)}
          <td class="number">${seconds(duration(job, Date.now()))}</td><td>${job.result?.device?.kind || '–'}</td>
          </tr>`)}</tbody></table></div>
    <div class="cards">${scored.length > 0 && html`<${Card} title="Scores" id="scores"
      actions=${names.length > 1 && html`<label class="inline">Score <select value=${name}
      onChange=${(e) => setChosen(e.target.value)}>${names.map((n) => html`<option key=${n} value=${n}>${n}</option>`)}
      </select></label>`}>
        <${Bars} label=${`${name || 'score'} of each job`} low=${Math.min(0, ...scored.map(({ job }) => valueOf(job)))}
          rows=${scored.map(({ job, i }) => ({ name: `${letter(i)} ${pipelineName(job.spec).split(' → ').pop()}`,
            value: valueOf(job), text: score(valueOf(job)), spread: job.result?.scores?.[name]?.std,
              colour: COLOURS[i % 8] }))} /><//>`}
      <${Card} title="Times" id="times"><${Bars} label="Seconds of each job"
        rows=${jobs.map((job, i) => ({ name: `${letter(i)} ${pipelineName(job.spec).split(' → ').pop()}`,
          value: duration(job, Date.now()) || 0, text: seconds(duration(job, Date.now())),
            colour: COLOURS[i % 8] }))} /><//>
      ${name && html`<${Card} title="Folds" id="foldlines"><${FoldLines} jobs=${jobs} name=${name} /><//>`}
      <${Card} title="Differences" id="differences"><${Differences} jobs=${jobs} /><//></div>`;
}
