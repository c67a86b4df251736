// What the server says of itself in /metrics, every few seconds since the page was opened, for the last 15 minutes.
import * as api from './api.js';

const EVERY_MS = 5000, HIDDEN_MS = 30000, KEPT_MS = 15 * 60 * 1000;
export const samples = [];   // {at, metrics}, the oldest first
const listeners = new Set();
let timer = 0, isRefused = false;

// Prometheus' text: name -> [{labels, value}]
export function parse(text) {
  const found = {};
  for (const line of text.split('\n')) {
    const match = !line.startsWith('#') && line.match(/^([a-z_:]+)(?:\{(.*)\})? (\S+)/);
    if (!match) continue;
    const labels = {};
    for (const [, key, value] of (match[2] || '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g))
      labels[key] = value.replace(/\\(.)/g, (_, c) => (c === 'n' ? '\n' : c));
    (found[match[1]] ||= []).push({ labels, value: Number(match[3]) });
  }
  return found;
}

const has = (row, where) => Object.entries(where).every(([key, value]) => row.labels[key] === value);
export const valueOf = (metrics, name, where = {}) => metrics?.[name]?.find((row) => has(row, where))?.value;
export const sum = (metrics, name, where = {}) => (metrics?.[name] || []).filter((row) => has(row, where))
  .reduce((total, row) => total + row.value, 0);

// Of each sample, or, of a counter, its growth in a second between two.
export const gauge = (name, where) => samples.map((sample) => sum(sample.metrics, name, where));
export const rate = (name, where) => samples.slice(1).map((sample, i) => Math.max(0, (sum(sample.metrics, name, where)
  - sum(samples[i].metrics, name, where)) / ((sample.at - samples[i].at) / 1000)));
export const span = () => (samples.length ? (samples[samples.length - 1].at - samples[0].at) / 1000 : 0);

// A token that may not see the figures is not asked for here: the page works without them.
async function take() {
  clearTimeout(timer);
  let problem = null;
  try {
    const answer = await api.request('GET', '/metrics', { accept: 'text/plain', isQuiet: true });
    samples.push({ at: Date.now(), metrics: parse(await answer.text()) });
    while (samples[0].at < Date.now() - KEPT_MS) samples.shift();
  } catch (error) {
    problem = error;
    isRefused = error.status === 401 || error.status === 403;
  }
  for (const listener of [...listeners]) listener(problem);
  clearTimeout(timer);
  if (!isRefused) timer = setTimeout(take, document.hidden ? HIDDEN_MS : EVERY_MS);
}

export function start() {
  if (timer) return;
  window.addEventListener('kedge-token', () => { isRefused = false; samples.length = 0; take(); });
  timer = 1;
  take();
}

// The listener is called after each sample, with what went wrong or null.
export function onSample(listener) {
  listeners.add(listener);
  start();
  return () => listeners.delete(listener);
}
