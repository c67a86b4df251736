// The shell of the page: addresses, navigation, the token, and what the stream of the list says.
import { html, render, useEffect, useErrorBoundary, useRef, useState } from './preact.js';
import * as api from './api.js';
import { Loading, ProblemBox, Says, useLive, say } from './parts.js';
import { Jobs } from './jobs.js';

// The other views are loaded when they are first looked at.
const LATER = {
  JobView: () => import('./job.js'), NewJob: () => import('./new_job.js'), Compare: () => import('./compare.js'),
    Models: () => import('./models.js'), ModelView: () => import('./models.js'), NameView: () => import('./registry.js'),
  DataSets: () => import('./data.js'), DataSetView: () => import('./data.js'), Server: () => import('./server.js'), Tokens: () => import('./tokens.js'),
};
const loaded = {};

function Later({ view, ...props }) {
  const [, redraw] = useState(0);
  const [problem, setProblem] = useState(null);
  useEffect(() => {
    if (!loaded[view]) LATER[view]().then((module) => { loaded[view] = module[view]; redraw((n) => n + 1); }, () =>
      setProblem(new api.Problem(0, { detail: 'The server does not answer.' })));
  }, [view]);
  if (problem) return html`<h1>Kedge</h1><${ProblemBox} problem=${problem} />`;
  return loaded[view] ? html`<${loaded[view]} ...${props} />` : html`<${Loading} />`;
}

const PLACES = [
  ['jobs', 'Jobs', 'M3 4h10M3 8h10M3 12h6'], ['new', 'New job', 'M8 3v10M3 8h10'], ['models', 'Models',
    'M8 2l6 3v6l-6 3-6-3V5zM2 5l6 3 6-3M8 8v6'],
  ['data', 'Data sets', 'M3 4c0-2 10-2 10 0v8c0 2-10 2-10 0zM3 4c0 2 10 2 10 0M3 8c0 2 10 2 10 0'], ['server', 'Server',
    'M3 3h10v4H3zM3 9h10v4H3zM5.5 5h0M5.5 11h0'], ['tokens', 'Tokens', 'M6 10a3 3 0 1 1 0-6 3 3 0 0 1 0 6zM8.2 9l4.8 4.5M11 12l1.4-1.4'],
];
const UNDER = { compare: 'jobs', registry: 'models' };   // views without a place of their own

function read() {
  const [path, query = ''] = location.hash.replace(/^#\/?/, '').split('?');
  const parts = (path || 'jobs').split('/').map((part) =>
    { try { return decodeURIComponent(part); } catch { return part; } });
  return { parts, query: new URLSearchParams(query) };
}

function View({ route }) {
  const [place, name] = route.parts;
  switch (place) {
    case 'jobs': return name ? html`<${Later} view="JobView" key=${name} id=${name} />` : html`<${Jobs}
      query=${route.query} />`;
    case 'new': return html`<${Later} view="NewJob" key=${`new?${route.query}`} query=${route.query} />`;
    case 'compare': return html`<${Later} view="Compare" key="compare"
      ids=${(route.query.get('jobs') || '').split(',').filter(Boolean)} />`;
    case 'models': return name ? html`<${Later} view="ModelView" key=${`models/${name}`}
      id=${name} />` : html`<${Later} view="Models" key="models" />`;
    case 'registry': return html`<${Later} view="NameView" key=${`registry/${name}`} name=${name || ''} />`;
    case 'data': return name ? html`<${Later} view="DataSetView" key=${route.parts.join('/')} kind=${name}
      name=${route.parts[2] || ''} />` : html`<${Later} view="DataSets" key="data" />`;
    case 'tokens': return html`<${Later} view="Tokens" key="tokens" />`;
    case 'server': return html`<${Later} view="Server" key="server" />`;
    default: return html`<h1>There is no such page</h1><p><a href="#/jobs">To the jobs</a></p>`;
  }
}

function Guarded({ route }) {
  const [error, forget] = useErrorBoundary();
  useEffect(() => { if (error) forget(); }, [location.hash]);
  if (error) return html`<div class="problem" role="alert"><strong>This view has failed.</strong> <code>
    ${String(error.message || error)}</code></div>`;
  return html`<${View} route=${route} />`;
}

function TokenDialog({ onClose, isNeeded }) {
  const box = useRef(null), input = useRef(null);
  useEffect(() => {
    box.current.showModal();
    input.current.focus();
  }, []);
  const enter = (event) => {
    event.preventDefault();
    api.setToken(input.current.value.trim());
    onClose();
    say('The token is kept until this tab is closed.');
  };
  return html`<dialog ref=${box} onClose=${onClose} aria-labelledby="token-title"><form onSubmit=${enter}>
    <h2 id="token-title">${isNeeded ? 'This server needs a token' : 'Token'}</h2>
    <p class="dim">It is kept in this tab alone, until the tab is closed, and sent as a header. <code>kedged token create</code> makes one.</p>
    <label>Token <input
      ref=${input} type="password" autocomplete="off" spellcheck="false" required placeholder="kdg_…" /></label>
    <div class="row end">${api.getToken() && html`<button type="button"
      onClick=${() => { api.setToken(''); onClose(); }}>Forget it</button>`}
      <button type="button" onClick=${onClose}>Close</button><button class="primary">Use this token</button></div>
        </form></dialog>`;
}

function themeOf() { return localStorage.getItem('kedge-theme') || 'auto'; }
function setTheme(theme) {
  if (theme === 'auto') localStorage.removeItem('kedge-theme');
  else localStorage.setItem('kedge-theme', theme);
  document.documentElement.dataset.theme = theme;
}
document.documentElement.dataset.theme = themeOf();

const LIVE = { live: 'Live', connecting: 'Connecting', lost: 'No connection' };

function App() {
  const [route, setRoute] = useState(read());
  const [live, setLive] = useState(api.liveState);
  const [asked, setAsked] = useState(null);   // 'needed' or 'wanted': the token
  const [theme, chooseTheme] = useState(themeOf());
  const main = useRef(null);
  const [era, setEra] = useState(0);   // another token: everything is loaded again
  useEffect(() => {
    let last = read();
    const go = () => {
      const next = read();
      setRoute(next);
      const isOther = next.parts.join('/') !== last.parts.join('/');
      if (isOther || next.query.get('after') !== last.query.get('after')) window.scrollTo(0, 0);
      if (isOther) main.current?.focus({ preventScroll: true });   // not while one types a search
      last = next;
    };
    const renew = () => setEra((n) => n + 1);
    window.addEventListener('kedge-token', renew);
    const need = () => setAsked((before) => before || 'needed');
    window.addEventListener('hashchange', go);
    window.addEventListener('kedge-unauthenticated', need);
    api.startLive();
    setTimeout(() => import('./samples.js').then((samples) => samples.start(), () => {}), 1000);   // when the view is there
    return () => { window.removeEventListener('kedge-token', renew); window.removeEventListener('hashchange',
      go); window.removeEventListener('kedge-unauthenticated', need); };
  }, []);
  useLive((message) => {
    if (message.state) setLive(message.state);
    if (message.problem) setLive('lost');
  });
  const next = { auto: 'dark', dark: 'light', light: 'auto' }[theme];
  return html`<a class="skip" href="#main"
    onClick=${(event) => { event.preventDefault(); main.current.focus(); }}>Skip to the content</a>
    <div class="shell"><header class="side"><a class="brand" href="#/jobs">
      <img src="icon.svg" alt="" width="26" height="26" /> Kedge</a>
      <nav aria-label="Main">${PLACES.map(([key, title, d]) => html`<a key=${key} href=${`#/${key}`}
        aria-current=${route.parts[0] === key || UNDER[route.parts[0]] === key ? 'page' : undefined}>
        <svg viewBox="0 0 16 16" width="17" height="17" aria-hidden="true"><path d=${d} /></svg><span>${title}</span>
          </a>`)}</nav>
      <div class="foot"><span class=${`live ${live}`} role="status"><i></i>${LIVE[live]}</span>
        <button type="button" class="quiet" onClick=${() => setAsked('wanted')}>Token</button>
        <button type="button" class="quiet" onClick=${() => { setTheme(next); chooseTheme(next); }}
          aria-label=${`Theme: ${theme}. Change to ${next}`}>${{ auto: 'Auto', dark: 'Dark', light: 'Light' }[theme]}
          </button>
        <a class="quiet" href="../docs">Docs</a></div></header>
    <main id="main" ref=${main} tabindex="-1"><${Guarded} route=${route} key=${`${era} ${route.parts.join('/')}`} />
      </main></div>
    <${Says} />${asked && html`<${TokenDialog} isNeeded=${asked === 'needed'} onClose=${() => setAsked(null)} />`}`;
}

render(html`<${App} />`, document.getElementById('app'));
