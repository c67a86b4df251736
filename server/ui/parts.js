// Small pieces that the views share.
import { html, useEffect, useRef, useState } from './preact.js';
import * as api from './api.js';
import { isFinal } from './format.js';

const SHAPES = {
  queued: 'M8 4v4l3 2', fetching: 'M8 3v8M5 8l3 3 3-3', running: 'M6 4.5v7l5.5-3.5z', finalizing: 'M4 8h8',
    succeeded: 'M4 8.5l2.7 2.7L12 5.5', failed: 'M5 5l6 6M11 5l-6 6',
  cancelled: 'M4.5 11.5l7-7',
};

export function State({ state }) {
  return html`<span class=${`state ${state}`}>
    <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true"><circle cx="8" cy="8" r="7" />
      <path d=${SHAPES[state] || ''} /></svg>${state}</span>`;
}

export function Card({ title, note, actions, children, wide, id }) {
  return html`<section class=${`card${wide ? ' wide' : ''}`}>
    ${title && html`<header><h2 id=${id}>${title}</h2>${note && html`<span class="dim">${note}</span>`}
      <span class="grow"></span>${actions}</header>`}
    ${children}</section>`;
}

export function ProblemBox({ problem, children }) {
  if (!problem) return null;
  return html`<div class="problem" role="alert"><strong>${problem.message}</strong>
    ${problem.where && html` <span class="dim">at <code>${problem.where}</code></span>`}
    ${problem.code && html` <code class="code">${problem.code}</code>`}${children}</div>`;
}

export const Empty = ({ title, children }) => html`<div class="empty"><p><strong>${title}</strong></p><p class="dim">
  ${children}</p></div>`;
export const Loading = ({ what = '' }) => html`<p class="loading" role="status">
  <span class="spinner" aria-hidden="true"></span> Loading ${what}…</p>`;

// Loads by a function, again when `key` changes; keeps what there was while it loads.
export function useLoad(load, key) {
  const [loaded, setLoaded] = useState({});
  const turn = useRef(0);
  const again = () => {
    const mine = ++turn.current;
    return load().then((value) => mine === turn.current && setLoaded({ value }),
      (problem) => mine === turn.current && problem.name !== 'AbortError' && setLoaded((before) => ({ ...before,
        problem })));
  };
  useEffect(() => {
    setLoaded({});
    again();
    return () => { turn.current++; };
  }, [key]);
  return { ...loaded, again, set: (change) => setLoaded((before) => ({ value: change(before.value) })) };
}

export function useLive(listener) {
  const latest = useRef(listener);
  latest.current = listener;
  useEffect(() => api.onLive((message) => latest.current(message)), []);
}

// A clock that ticks while something runs.
export function useNow(ms, isOn = true) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (!isOn) return undefined;
    const timer = setInterval(() => setNow(Date.now()), ms);
    return () => clearInterval(timer);
  }, [ms, isOn]);
  return now;
}

export function useWidth(otherwise = 600) {
  const ref = useRef(null);
  const [width, setWidth] = useState(otherwise);
  useEffect(() => {
    if (!ref.current) return undefined;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.max(200, Math.floor(entry.contentRect.width))));
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, []);
  return [ref, width];
}

// For screen readers and for the eye: what has just happened.
export function say(text, kind = 'note') {
  window.dispatchEvent(new CustomEvent('kedge-say', { detail: { text, kind } }));
}

export function Says() {
  const [said, setSaid] = useState([]);
  useEffect(() => {
    const hear = (event) => {
      const entry = { ...event.detail, key: Math.random() };
      setSaid((before) => [...before.slice(-2), entry]);
      setTimeout(() => setSaid((before) => before.filter((other) => other !== entry)), 5000);
    };
    window.addEventListener('kedge-say', hear);
    return () => window.removeEventListener('kedge-say', hear);
  }, []);
  return html`<div class="says" role="status" aria-live="polite">${said.map((entry) => html`<p key=${entry.key}
    class=${entry.kind}>${entry.text}</p>`)}</div>`;
}

export function Copy({ text, children = 'Copy', small }) {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text());
      say('Copied.');
    } catch { say('The browser does not let this page copy.', 'bad'); }
  };
  return html`<button type="button" class=${small ? 'small' : ''} onClick=${copy}>${children}</button>`;
}

export function save(name, text, type = 'application/json') {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// The view as one HTML file that needs no server, with its data inside.
export async function savePage(name, title, data) {
  const style = await (await fetch('style.css')).text();
  const main = document.querySelector('main').cloneNode(true);
  for (const control of main.querySelectorAll('button, .button, input, select, textarea')) control.remove();
  for (const link of main.querySelectorAll('a')) link.replaceWith(...link.childNodes);
  const text = (value) => value.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  const json = JSON.stringify(data).replaceAll('<', '\\u003c');
  save(name, `<!doctype html><html lang="en" data-theme="auto"><head><meta charset="utf-8">
    <meta name="viewport" content="width=device-width"><title>${text(title)}</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'"><style>${style}
  </style></head><body>${main.outerHTML}
<script type="application/json" id="data">${json}</script></body></html>`, 'text/html');
}

// Cancels a job and says so.
export async function cancelJob(id) {
  try {
    await api.post(`/v1/jobs/${encodeURIComponent(id)}/cancel`);
    say('The job is being cancelled.');
  } catch (problem) { say(problem.message, 'bad'); }
}
export const mayCancel = (job) => job && !isFinal(job.state);

// Tabs as the ARIA practices have them: arrows move, one is in the tab order.
export function Tabs({ label, tabs, chosen, onChoose }) {
  const move = (event, at) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = (at + step + tabs.length) % tabs.length;
    onChoose(tabs[next][0]);
    event.currentTarget.parentElement.children[next].focus();
  };
  return html`<div class="tabs" role="tablist" aria-label=${label}>${tabs.map(([key, text], at) => html`
    <button type="button" role="tab" key=${key} aria-selected=${String(key === chosen)}
      tabindex=${key === chosen ? 0 : -1}
      onKeyDown=${(event) => move(event, at)} onClick=${() => onChoose(key)}>${text}</button>`)}</div>`;
}

// A table whose columns sort. columns: {key, title, of(row), show(row), number}.
export function SortableTable({ rows, columns, label, first, pageSize = 50, rowKey, chosen }) {
  const [order, setOrder] = useState(first || { key: columns[0].key, down: false });
  const [page, setPage] = useState(0);
  const column = columns.find((c) => c.key === order.key) || columns[0];
  const value = (row) => column.of(row);
  const sorted = [...rows].sort((a, b) => {
    const x = value(a), y = value(b);
    const isLess = typeof x === 'number' && typeof y === 'number' ? x - y
      : String(x ?? '').localeCompare(String(y ?? ''));
    return order.down ? -isLess : isLess;
  });
  const pages = Math.max(1, Math.ceil(rows.length / pageSize)), at = Math.min(page, pages - 1);
  const sort = (key) => { setOrder((o) => ({ key, down: o.key === key ? !o.down : !!columns.find((c) =>
    c.key === key).number })); setPage(0); };
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${label}><table class="sortable"><thead><tr>
    ${columns.map((c) => html`
      <th key=${c.key} class=${c.number ? 'number' : ''}
        aria-sort=${order.key === c.key ? (order.down ? 'descending' : 'ascending') : 'none'}>
        <button type="button" onClick=${() => sort(c.key)}>${c.title}<span class="arrow" aria-hidden="true">
          ${order.key === c.key ? (order.down ? '↓' : '↑') : ''}</span></button></th>`)}
    </tr></thead><tbody>${sorted.slice(at * pageSize, (at + 1) * pageSize).map((row, i) => html`
      <tr key=${rowKey ? rowKey(row) : i} class=${chosen && chosen(row) ? 'chosen' : ''}>
        ${columns.map((c) => html`<td key=${c.key} class=${c.number ? 'number' : ''}>${(c.show || c.of)(row)}</td>`)}
        </tr>`)}
    </tbody></table></div>
    ${pages > 1 && html`<nav class="pager" aria-label=${`Pages of ${label}`}>
      <button type="button" class="small" disabled=${at === 0} onClick=${() => setPage(at - 1)}>Previous</button>
      <span class="dim">${at + 1} of ${pages}</span>
      <button type="button" class="small" disabled=${at === pages - 1} onClick=${() => setPage(at + 1)}>Next</button>
        </nav>`}`;
}
