// Calls of the server, its event streams, and the token, which is kept for this tab alone and sent as a header.
const KEY = 'kedge-token';
export const base = new URL('..', document.baseURI).href.replace(/\/$/, '');

export const getToken = () => sessionStorage.getItem(KEY) || '';
export function setToken(token) {
  if (token) sessionStorage.setItem(KEY, token);
  else sessionStorage.removeItem(KEY);
  window.dispatchEvent(new Event('kedge-token'));
}

// What the server answers with when it refuses (RFC 9457), or that it does not answer.
export class Problem extends Error {
  constructor(status, body) {
    super(body.detail || body.title || `the server answers ${status}`);
    this.status = status;
    this.code = body.code || '';
    this.where = body.where || '';
  }
}

const fields = (more) => ({ ...(getToken() ? { Authorization: `Bearer ${getToken()}` } : {}), ...more });

async function problemOf(answer, isQuiet) {
  let body = {};
  try { body = await answer.json(); } catch { /* not JSON: a proxy speaks */ }
  if (answer.status === 401 && !isQuiet) window.dispatchEvent(new Event('kedge-unauthenticated'));
  return new Problem(answer.status, body);
}

// isQuiet: a missing token is not asked for.
export async function request(method, path, { body, type, accept = 'application/json', signal, more = {}, isQuiet } = {}) {
  const headers = fields({ Accept: accept, ...more });
  if (body !== undefined) headers['Content-Type'] = type || 'application/json';
  let answer;
  try {
    answer = await fetch(base + path, { method, headers, body: body === undefined || type ? body : JSON.stringify(body),
      signal, cache: 'no-store' });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Problem(0, { detail: 'The server does not answer.' });
  }
  if (!answer.ok) throw await problemOf(answer, isQuiet);
  return answer;
}
export const get = async (path, options) => (await request('GET', path, options)).json();
export const post = async (path, body, options) => (await request('POST', path, { body, ...options })).json();
export const put = async (path, body) => (await request('PUT', path, { body })).json();
export const remove = (path) => request('DELETE', path);

// An upload with its progress, which fetch does not tell.
export function upload(path, file, onProgress) {
  const sent = new XMLHttpRequest();
  const done = new Promise((resolve, reject) => {
    sent.open('PUT', base + path);
    if (getToken()) sent.setRequestHeader('Authorization', `Bearer ${getToken()}`);
    sent.upload.onprogress = (event) => onProgress(event.loaded, event.total);
    sent.onerror = () => reject(new Problem(0, { detail: 'The server does not answer.' }));
    sent.onabort = () => reject(new Problem(0, { detail: 'The upload was stopped.' }));
    sent.onload = () => {
      let body = {};
      try { body = JSON.parse(sent.responseText); } catch { /* a proxy speaks */ }
      if (sent.status < 300) resolve(body);
      else reject(new Problem(sent.status, body));
    };
    sent.send(file);
  });
  return { done, abort: () => sent.abort() };
}

const pause = (ms, signal) => new Promise((resolve) => {
  const timer = setTimeout(resolve, ms);
  signal.addEventListener('abort', () => { clearTimeout(timer); resolve(); });
});

async function* frames(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    for (let end; (end = text.indexOf('\n\n')) >= 0; text = text.slice(end + 2)) {
      const frame = { event: 'message', data: '', id: '' };
      for (const line of text.slice(0, end).split('\n')) {
        const colon = line.indexOf(':');
        if (colon > 0) frame[line.slice(0, colon)] = line.slice(colon + 1).trimStart();
      }
      yield frame;
    }
  }
}

// Follows a stream until stop() or isLast(event). A connection that breaks is taken up again after the last event, so nothing is missed or
// comes twice. onState: 'live', 'lost'. EventSource cannot send a token, hence this.
export function follow(path, onEvent, { onState = () => {}, onProblem = () => {}, isLast = () => false } = {}) {
  const control = new AbortController();
  let last = '', wait = 500;
  const once = async () => {
    const answer = await request('GET', path, { accept: 'text/event-stream', signal: control.signal, more: last
      ? { 'Last-Event-ID': last } : {} });
    onState('live');
    for await (const frame of frames(answer)) {
      if (frame.id) last = frame.id;
      if (!frame.data || frame.event === 'shutdown') continue;
      wait = 500;
      const data = JSON.parse(frame.data);
      onEvent(frame.event, data);
      if (isLast(frame.event, data)) return true;
    }
    return false;
  };
  const run = async () => {
    while (!control.signal.aborted) {
      try {
        if (await once()) return;
      } catch (error) {
        if (control.signal.aborted) return;
        onState('lost');
        if (error instanceof Problem && error.status >= 400 && error.status < 500
          && error.status !== 429) return onProblem(error);
      }
      if (control.signal.aborted) return;
      await pause(wait, control.signal);
      wait = Math.min(wait * 2, 10000);
    }
  };
  run();
  return () => control.abort();
}

// One stream of the list for the whole page. Listeners get {job}, or {reload: true} where something may have been missed.
const listeners = new Set();
let stop = null;
export let liveState = 'connecting';

function tell(message) {
  for (const listener of [...listeners]) listener(message);
}

export function startLive() {
  if (stop) stop();
  liveState = 'connecting';
  stop = follow('/v1/events?list=true', (event, data) => {
    if (event === 'list' && !data.resumed) tell({ reload: true });
    if (event === 'job') tell({ job: data.job });
  }, { onState: (state) => { liveState = state; tell({ state }); }, onProblem: (problem) => tell({ problem }) });
}

export function onLive(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
window.addEventListener('kedge-token', startLive);

// What does not change while the server runs.
const kept = new Map();
export function once(path) {
  if (!kept.has(path)) kept.set(path, get(path).catch((error) => { kept.delete(path); throw error; }));
  return kept.get(path);
}
window.addEventListener('kedge-token', () => kept.clear());
