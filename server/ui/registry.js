// The registry: names of models, their versions, and aliases that name a version and can be moved.
import { html, useState } from './preact.js';
import * as api from './api.js';
import { ago, count, moment, plural } from './format.js';
import { Card, Copy, Loading, ProblemBox, say, useLoad } from './parts.js';

const at = (name, more = '') => `/v1/registry/${encodeURIComponent(name)}${more}`;
const words = (tags) => Object.entries(tags || {}).map(([key, value]) => html`<span class="kind" key=${key}>${key}: ${value}
  </span> `);

// Does what a button asks for, says what came of it, and calls `then`.
async function act(call, text, then) {
  try {
    await call();
    say(text);
    await then();
  } catch (refused) { say(refused.message, 'bad'); }
}

export function Names() {
  const [token, setToken] = useState('');
  const { value: page, problem } = useLoad(() => api.get(`/v1/registry?pageSize=50${token
    ? `&pageToken=${encodeURIComponent(token)}` : ''}`), token);
  if (problem) return html`<${ProblemBox} problem=${problem} />`;
  if (!page?.models.length) return null;
  return html`<h2>Registered</h2><table class="list"><caption class="hidden">Registered models, by name</caption><thead><tr>
    <th>Name</th><th>Aliases</th><th class="number">Versions</th><th class="when">Changed</th></tr></thead>
    <tbody>${page.models.map((model) => html`<tr key=${model.name}><td class="what">
      <a href=${`#/registry/${encodeURIComponent(model.name)}`}>${model.name}</a><span class="dim">${model.description}
      </span></td><td>${Object.entries(model.aliases || {}).map(([alias, version]) => html`<span class="kind" key=${alias}>
      ${alias} → ${version}</span> `)}</td><td class="number">${count(model.versions)}</td><td class="when">
      <time title=${moment(model.updated)}>${ago(model.updated)}</time></td></tr>`)}</tbody></table>
    ${(token || page.nextPageToken) && html`<nav class="pager" aria-label="Pages of names">${token && html`<button
      type="button" class="small" onClick=${() => setToken('')}>First</button>`}${page.nextPageToken && html`<button
      type="button" class="small" onClick=${() => setToken(page.nextPageToken)}>More names</button>`}</nav>`}`;
}

// Gives a stored model a name, and its version an alias.
export function Register({ model }) {
  const [name, setName] = useState(''), [alias, setAlias] = useState(''), [made, setMade] = useState(null);
  const [problem, setProblem] = useState(null);
  const { value: known } = useLoad(() => api.get('/v1/registry?pageSize=100'), 'names');
  const register = async (event) => {
    event.preventDefault();
    setProblem(null);
    try {
      const version = await api.post(at(name, '/versions'), { model: model.id });
      setMade(version);
      if (alias) await api.put(at(name, `/aliases/${encodeURIComponent(alias)}`), { version: version.version });
    } catch (refused) { setProblem(refused); }
  };
  return html`<${Card} title="Register it" id="register"><form onSubmit=${register}><div class="fields">
    <label>Name <input required list="names" value=${name} onInput=${(e) => setName(e.target.value.trim())} /></label>
    <datalist id="names">${(known?.models || []).map((m) => html`<option key=${m.name} value=${m.name} />`)}</datalist>
    <label>Alias <input placeholder="none, or champion" value=${alias}
      onInput=${(e) => setAlias(e.target.value.trim())} /></label></div>
    <div class="row end"><button>Register</button></div></form><${ProblemBox} problem=${problem} />
    ${made && html`<p aria-live="polite">It is <a href=${`#/registry/${encodeURIComponent(made.name)}`}>
      ${made.name}/${made.version}</a>.</p>`}<//>`;
}

function Versions({ name, versions, again }) {
  const remove = ({ version }) => act(() => api.remove(at(name, `/versions/${version}`)), `Version ${version} is deleted.`, again);
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Versions"><table><thead><tr>
    <th class="number">Version</th><th>Model</th><th>Aliases</th><th>Tags</th><th>Registered</th><th>
    <span class="hidden">Delete</span></th></tr></thead><tbody>${versions.map((v) => html`<tr key=${v.version}>
    <td class="number">${v.version}</td><td><a href=${`#/models/${encodeURIComponent(v.model)}`}><code>${v.model}</code></a>
    ${v.description && html`<span class="dim"> ${v.description}</span>`}</td>
    <td>${(v.aliases || []).map((alias) => html`<span class="kind" key=${alias}>${alias}</span> `)}</td>
    <td>${words(v.tags)}</td><td class="dim"><time title=${moment(v.created)}>${ago(v.created)}</time></td><td>
    <button type="button" class="small danger" aria-label=${`Delete version ${v.version}`}
      onClick=${() => remove(v)}>Delete</button></td></tr>`)}</tbody></table></div>`;
}

function Aliases({ name, model, versions, again }) {
  const [alias, setAlias] = useState(''), [version, setVersion] = useState('');
  const chosen = version || versions[0]?.version;
  const path = (which) => at(name, `/aliases/${encodeURIComponent(which)}`);
  const move = (event) => {
    event.preventDefault();
    act(() => api.put(path(alias), { version: Number(chosen) }), `${alias} names version ${chosen}.`, again);
  };
  return html`<${Card} title="Aliases" id="aliases"><ul class="plain">${Object.entries(model.aliases || {}).map(([which, v]) => html`
    <li key=${which}><code>${name}@${which}</code> → version ${v} <button type="button" class="small"
      aria-label=${`Remove ${which}`} onClick=${() => act(() => api.remove(path(which)), `${which} is removed.`, again)}>
      Remove</button></li>`)}</ul>
    <form class="row" onSubmit=${move}><label>Alias <input required value=${alias} placeholder="champion"
      onInput=${(e) => setAlias(e.target.value.trim())} /></label><label>Version <select value=${chosen}
      onChange=${(e) => setVersion(e.target.value)}>${versions.map((v) => html`<option key=${v.version} value=${v.version}>
      ${v.version}</option>`)}</select></label><button>Set or move</button></form><//>`;
}

export function NameView({ name }) {
  const [token, setToken] = useState(''), [isSure, setSure] = useState(false);
  const { value, problem, again } = useLoad(async () => {
    const [model, page] = await Promise.all([api.get(at(name)), api.get(at(name, `/versions?pageSize=50${token
      ? `&pageToken=${encodeURIComponent(token)}` : ''}`))]);
    return { model, page };
  }, name + token);
  if (problem) return html`<${ProblemBox} problem=${problem} /><p><a href="#/models">To the models</a></p>`;
  if (!value) return html`<${Loading} what="the versions" />`;
  const { model, page } = value, [alias] = Object.keys(model.aliases || {}), reference = alias ? `${name}@${alias}` : name;
  const forget = () => (isSure ? act(() => api.remove(at(name)), `${name} is deleted; its models stay.`,
    () => { location.hash = '#/models'; }) : setSure(true));
  return html`<div class="head"><div><p class="crumbs"><a href="#/models">Models</a></p><h1>${name}</h1><p class="under dim">
    ${plural(model.versions, 'version')} · ${ago(model.updated)} ${model.description} ${words(model.tags)}</p></div>
    <span class="grow"></span><div class="row"><a class="button" href=${`#/models/${encodeURIComponent(reference)}`}>Ask
      ${' '}${reference}</a><button type="button" class="danger" onClick=${forget}>${isSure ? 'Delete for good' : 'Delete'}
      </button></div></div>
    <div class="cards one"><${Card} title="Versions" id="versions" note=${plural(model.versions, 'version')}>
      <${Versions} name=${name} versions=${page.versions} again=${again} />
      ${page.nextPageToken && html`<button type="button" class="small"
        onClick=${() => setToken(page.nextPageToken)}>Older versions</button>`}<//>
      <${Aliases} name=${name} model=${model} versions=${page.versions} again=${again} />
      <${Card} title="From other programs" id="calls"><p>Wherever a model’s id stands there may be
        ${' '}<code>${name}@ALIAS</code>, <code>${name}/VERSION</code> or <code>${name}</code>.</p><${Copy} small
        text=${() => `curl -s -H "Authorization: Bearer $KEDGE_TOKEN" ${api.base}/v1/models/${reference}`}>Copy as curl<//>
      <//></div>`;
}
