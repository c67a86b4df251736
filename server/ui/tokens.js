// Who this tab is for the server, and the tokens: an administrator sees all of them, others their own. They are made and
// revoked on the server's machine, by kedged token.
import { html } from './preact.js';
import * as api from './api.js';
import { ago, moment, plural } from './format.js';
import { Card, Copy, Loading, ProblemBox, SortableTable, useLoad } from './parts.js';

const MEANING = { read: 'see jobs, data sets and models', submit: 'submit and cancel jobs, upload and delete',
  admin: 'do everything, for every tenant' };

const stateOf = (token, now) => (token.revoked ? 'revoked' : token.expires && Date.parse(token.expires) <= now ? 'expired'
  : 'valid');

function Scopes({ scopes }) {
  return scopes.map((scope) => html`<span class="kind" key=${scope} title=${MEANING[scope]}>${scope}</span> `);
}

function Caller({ caller }) {
  const isOpen = !api.getToken() && !caller.token;
  return html`<${Card} title="You" id="caller"><dl class="pairs"><dt>Tenant</dt><dd>${caller.tenant || 'the only one'}</dd>
    <dt>Token</dt><dd>${caller.token ? html`<code>${caller.token}</code>` : isOpen ? 'none is needed here' : 'not one of the list'}</dd>
    <dt>May</dt><dd><ul class="plain">${caller.scopes.map((scope) => html`<li key=${scope}><span class="kind">${scope}</span>
    ${' '}${MEANING[scope]}</li>`)}</ul></dd></dl><//>`;
}

const COMMAND = 'kedged token create --data-dir DIR --tenant NAME --scopes read,submit --expires 30d';

export function Tokens() {
  const { value: answer, problem } = useLoad(() => api.get('/v1/tokens'), 'tokens');
  const now = Date.now();
  const columns = [{ key: 'id', title: 'Token', of: (t) => t.id, show: (t) => html`<code>${t.id}</code>${t.id === answer.caller.token
    ? html` <span class="kind">yours</span>` : ''}` },
  { key: 'tenant', title: 'Tenant', of: (t) => t.tenant }, { key: 'name', title: 'Name', of: (t) => t.name || '' },
  { key: 'scopes', title: 'May', of: (t) => t.scopes.join(' '), show: (t) => html`<${Scopes} scopes=${t.scopes} />` },
  { key: 'state', title: 'State', of: (t) => stateOf(t, now), show: (t) => (stateOf(t, now) === 'valid' ? 'valid'
    : html`<span class="bad">${stateOf(t, now)}</span>`) },
  { key: 'created', title: 'Created', of: (t) => t.created, show: (t) => html`<time title=${moment(t.created)}>
    ${ago(t.created, now)}</time>` },
  { key: 'expires', title: 'Expires', of: (t) => t.expires || '9', show: (t) => (t.expires ? moment(t.expires) : 'never') }];
  return html`<div class="head"><h1>Tokens</h1></div><${ProblemBox} problem=${problem} />
    ${!answer && !problem && html`<${Loading} what="tokens" />`}
    ${answer && html`<div class="cards one"><${Caller} caller=${answer.caller} />
      ${answer.tokens.length > 0 && html`<${Card} title="Tokens" id="tokens" note=${plural(answer.tokens.length, 'token')}>
        <${SortableTable} label="Tokens" rows=${answer.tokens} columns=${columns} rowKey=${(t) => t.id}
          first=${{ key: 'created', down: true }} /><//>`}
      ${answer.caller.scopes.includes('admin') && html`<${Card} title="Another one" id="another" actions=${html`<${Copy} small
        text=${() => COMMAND}>Copy<//>`}><pre class="source" tabindex="0">${COMMAND}</pre><p class="dim">On the server’s
        machine; the token is shown once. <code>kedged token revoke</code> ends one within a second.</p><//>`}</div>`}`;
}
