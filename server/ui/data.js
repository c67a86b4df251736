// Data sets: uploads by drop, with progress; what each holds and how a job would read it.
import { html, useEffect, useRef, useState } from './preact.js';
import * as api from './api.js';
import { Histogram } from './charts.js';
import { ago, bytes, count, moment, number, plural } from './format.js';
import { Card, Empty, Loading, ProblemBox, say, useLoad } from './parts.js';

// A name as the server takes it: letters, digits, dots, underlines and lines.
export const nameFor = (file) => file.replace(/[^A-Za-z0-9._-]+/g, '-').replace(/^[.]+/, '').slice(0, 64) || 'data';

function Upload({ file, onDone }) {
  const [sent, setSent] = useState(0), [problem, setProblem] = useState(null), [rate, setRate] = useState(0);
  useEffect(() => {
    const start = performance.now();
    const { done, abort } = api.upload(`/v1/datasets/${encodeURIComponent(nameFor(file.name))}`, file, (n) => {
      setSent(n);
      setRate(n / Math.max(0.001, (performance.now() - start) / 1000));
    });
    done.then((info) => { say(`${info.name || nameFor(file.name)} is uploaded.`); onDone(); }, setProblem);
    return abort;
  }, []);
  if (problem) return html`<li><strong>${file.name}</strong><${ProblemBox} problem=${problem} /></li>`;
  const left = rate > 0 ? (file.size - sent) / rate : 0;
  return html`<li><label class="wide">${file.name} <span class="dim">
    ${sent < file.size ? `${bytes(sent)} of ${bytes(file.size)} · ${bytes(rate)}/s · ${Math.ceil(left)} s left`
      : 'the server reads it'}</span><progress max=${file.size || 1} value=${sent < file.size ? sent
        : undefined}></progress></label></li>`;
}

function Drop({ onFiles }) {
  const input = useRef(null), [isOver, setOver] = useState(false);
  const drop = (event) => {
    event.preventDefault();
    setOver(false);
    onFiles([...event.dataTransfer.files]);
  };
  return html`<div class=${`drop${isOver ? ' over' : ''}`} onDragOver=${(e) => { e.preventDefault(); setOver(true); }}
    onDragLeave=${() => setOver(false)} onDrop=${drop}>
    <svg viewBox="0 0 24 24" width="30" height="30" aria-hidden="true"><path d="M12 16V4M7 9l5-5 5 5M4 16v4h16v-4" />
      </svg>
    <p><strong>Drop files here</strong>, or <button type="button" class="link"
      onClick=${() => input.current.click()}>choose them</button></p>
      <p class="dim">CSV, ARFF, libsvm, NPY, NPZ, Parquet or Arrow, also packed by gzip, zstd or bzip2</p>
    <input ref=${input} type="file" multiple class="hidden" tabindex="-1" aria-label="Files to upload"
      onChange=${(e) => { onFiles([...e.target.files]); e.target.value = ''; }} /></div>`;
}

export function DataSets() {
  const { value: list, problem, again } = useLoad(() => api.get('/v1/datasets?pageSize=500'), 'list');
  const [info, setInfo] = useState(null), [uploads, setUploads] = useState([]);
  useEffect(() => { api.once('/v1/info').then(setInfo, () => {}); }, []);
  const add = (files) => setUploads((before) => [...before, ...files.map((file) => ({ file, key: Math.random() }))]);
  const done = (key) => { setUploads((before) => before.filter((u) => u.key !== key)); again(); };
  return html`<div class="head"><h1>Data sets</h1></div><${Drop} onFiles=${add} />
    ${uploads.length > 0 && html`<ul class="plain uploads">${uploads.map((u) => html`<${Upload} key=${u.key}
      file=${u.file} onDone=${() => done(u.key)} />`)}</ul>`}
    <${ProblemBox} problem=${problem} />${!list && !problem && html`<${Loading} what="data sets" />`}
    ${list && !list.datasets.length
      && html`<${Empty} title="No uploads yet">The sets below are part of every server.<//>`}
    ${list?.datasets.length > 0 && html`<h2>Uploads</h2><table class="list">
      <caption class="hidden">Uploads, by name</caption><thead><tr><th>Name</th><th>Format</th>
      <th class="number">Rows × columns</th><th class="number">Size</th><th class="when">Uploaded</th></tr></thead>
      <tbody>${list.datasets.map((d) => html`<tr key=${d.name}><td class="what">
        <a href=${`#/data/stored/${encodeURIComponent(d.name)}`}>${d.name}</a></td><td>${d.format}</td>
        <td class="number">${count(d.rows)} × ${count(d.columns)}</td><td class="number">${bytes(d.bytes)}</td>
        <td class="when"><time title=${moment(d.created)}>${ago(d.created)}</time></td></tr>`)}</tbody></table>`}
    ${info && html`<h2>Built in</h2><ul class="tiles">${info.builtinDatasets.map((name) => html`<li key=${name}>
      <a href=${`#/data/builtin/${encodeURIComponent(name)}`}>${name}</a></li>`)}</ul>`}`;
}

// What the columns are, with the shape of each in the first rows.
export function PreviewTable({ preview, columnsOnly }) {
  const n = preview.firstRows?.length || 0;
  const valuesOf = (j) => preview.firstRows.map((row) => row[j]);
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Columns"><table class="columns"><thead><tr>
    <th>Column</th><th>Type</th><th>Role</th><th class="number">Missing</th><th class="number">Distinct</th>
    <th>First ${n} rows</th></tr></thead>
    <tbody>${preview.columns.slice(0, columnsOnly ? 30 : 200).map((c, j) => html`<tr key=${c.name}><td><code>${c.name}
      </code>${c.hint && html`<span class="hint">${c.hint}</span>`}</td><td>${c.type}</td><td>
      ${c.role === 'target' ? html`<span class="kind">target</span>` : c.role}</td>
      <td class="number">${c.missing > 0 ? html`<span class="warn">
        ${count(c.missing)} <span class="dim">(${((100 * c.missing) / Math.max(1,
          preview.countedRows)).toFixed(1)} %)</span></span>`
            : '0'}</td><td class="number">${count(c.distinct)}${c.moreDistinct ? '+' : ''}</td>
      <td>${n > 0 && html`<${Histogram} values=${valuesOf(j)} label=${`${c.name} in the first ${n} rows`} />`}</td>
        </tr>`)}</tbody></table></div>
    ${columnsOnly && preview.columns.length > 30
      && html`<p class="dim">The first 30 of ${count(preview.nColumns)} columns.</p>`}
    ${preview.notes?.length > 0 && html`<ul class="note">${preview.notes.map((note) => html`<li key=${note}>${note}
      </li>`)}</ul>`}`;
}

export function DataSetView({ kind, name }) {
  const { value: preview, problem } = useLoad(() => api.post('/v1/datasets/preview?rows=100',
    { dataset: { [kind]: name } }), kind + name);
  const [isSure, setSure] = useState(false);
  const forget = async () => {
    if (!isSure) return setSure(true);
    try { await api.remove(`/v1/datasets/${encodeURIComponent(name)}`); say(`${name} is deleted.`); location.hash = '#/data'; } catch (refused) { say(refused.message, 'bad'); }
    return undefined;
  };
  return html`<div class="head"><div><p class="crumbs"><a href="#/data">Data sets</a></p><h1>${name}</h1>
    ${preview && html`<p class="under dim">
    ${plural(preview.rows, 'row')} × ${plural(preview.nColumns, 'column')}${preview.target
      ? ` · target ${preview.target}` : ''}</p>`}</div><span class="grow"></span>
    <div class="row">${kind === 'stored' && html`<a class="button primary"
      href=${`#/new?data=${encodeURIComponent(name)}`}>New job with it</a>
      <button type="button" class="danger" onClick=${forget}>${isSure ? 'Delete for good' : 'Delete'}</button>`}</div>
      </div>
    <${ProblemBox} problem=${problem} />${!preview && !problem && html`<${Loading} what="what it holds" />`}
    ${preview && html`<div class="cards one"><${Card} title="Columns" id="columns"
      note=${preview.countedRows < preview.rows
        ? `missing and distinct count the first ${count(preview.countedRows)} rows`
          : ''}><${PreviewTable} preview=${preview} /><//>
      <${Card} title="First rows" id="rows"><div class="scroll log" tabindex="0" role="region" aria-label="First rows">
        <table><thead><tr>${preview.columns.map((c) => html`<th key=${c.name}>${c.name}</th>`)}</tr></thead>
        <tbody>${preview.firstRows.slice(0, 20).map((row, i) => html`<tr key=${i}>${row.map((v, j) => html`<td key=${j}
          class=${typeof v === 'number' ? 'number' : ''}>
          ${v == null ? html`<span class="dim">missing</span>` : number(v, 6)}</td>`)}</tr>`)}</tbody></table></div><//>
          </div>`}`;
}
