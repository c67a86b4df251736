// Models: registered names, stored models, and one model that can be asked and explains its answer.
import { html, useState } from './preact.js';
import * as api from './api.js';
import { Bars } from './charts.js';
import { ago, bytes, count, datasetName, moment, number, pipelineName } from './format.js';
import { Card, Copy, Empty, Loading, ProblemBox, save, say, useLoad } from './parts.js';
import { Names, Register } from './registry.js';

const nameOf = (model) => pipelineName({ pipeline: model.pipeline });

export function Models() {
  const [token, setToken] = useState('');
  const { value: page, problem } = useLoad(() => api.get(`/v1/models?pageSize=50${token ? `&pageToken=${token}` : ''}`),
    token);
  return html`<div class="head"><h1>Models</h1></div><${Names} /><${ProblemBox} problem=${problem} />
    ${!page && !problem && html`<${Loading} what="models" />`}
    ${page && !page.models.length
      && html`<${Empty} title="No models yet">A fit, and a search that fits its best candidate again, stores one.<//>`}
    ${page?.models.length > 0 && html`<h2>Stored</h2><table class="list"><caption class="hidden">Models, newest first</caption><thead>
      <tr><th>Model</th><th>Answers</th><th class="number">Rows × columns</th><th class="number">Size</th>
      <th class="when">Created</th></tr></thead>
      <tbody>${page.models.map((model) => html`<tr key=${model.id}><td class="what">
        <a href=${`#/models/${encodeURIComponent(model.id)}`}>${nameOf(model)}</a><span class="dim">
        ${datasetName(model.dataset)}${model.target ? ` · target ${model.target}` : ''}</span></td>
        <td>${(model.outputs || []).join(', ')}</td><td class="number">
          ${count(model.nSamples)} × ${count(model.columns?.length)}</td><td class="number">${bytes(model.bytes)}</td>
          <td class="when"><time title=${moment(model.created)}>${ago(model.created)}</time></td></tr>`)}</tbody>
          </table>
      <nav class="pager" aria-label="Pages">${token && html`<button type="button" class="small"
        onClick=${() => setToken('')}>Newest</button>`}${page.nextPageToken && html`<button type="button" class="small"
        onClick=${() => setToken(page.nextPageToken)}>Older models</button>`}</nav>`}`;
}

// A cell as the model takes it.
function cell(column, text) {
  if (text === '' || text == null) return null;
  return column.categories?.length || column.kind !== 'number' || !isFinite(Number(text)) ? text : Number(text);
}

// What each column adds to the answer, from the expected answer. Of several classes the blocks lie one behind the other.
function Contributions({ answer }) {
  const EXPECTED = 'expected_value', names = answer.columns, values = answer.values[0];
  const width = names.findIndex((name) => name === EXPECTED || name.endsWith(`:${EXPECTED}`)) + 1;
  const blocks = Array.from({ length: names.length / width }, (_, k) => {
    const label = names[(k + 1) * width - 1].slice(0, -EXPECTED.length - 1), mine = values.slice(k * width, (k + 1) * width);
    return { label, expected: mine[width - 1], sum: mine.reduce((a, b) => a + b, 0), rows: mine.slice(0, -1).map((value,
      i) => ({ name: names[k * width + i].slice(label ? label.length + 1 : 0), value })) };
  });
  const [chosen, choose] = useState(null);
  const block = blocks.find((b) => b.label === chosen) || blocks.reduce((a, b) => (b.sum > a.sum ? b : a));
  const rows = block.rows.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  return html`<div aria-live="polite">${blocks.length > 1 && html`<label class="inline">Class <select value=${block.label}
    onChange=${(e) => choose(e.target.value)}>${blocks.map((b) => html`<option key=${b.label} value=${b.label}>${b.label}
    </option>`)}</select></label>`}
    <${Bars} label=${`Contributions of ${rows.length} columns${block.label ? ` to ${block.label}` : ''}`}
      rows=${rows.slice(0, 20).map((r) => ({ ...r, colour: r.value < 0 ? 'var(--c2)' : undefined }))} />
    <p class="dim">${number(block.expected)} is expected of any row; with the columns it is ${number(block.sum)}.
    ${rows.length > 20 && ` The 20 largest of ${rows.length} are shown.`}</p></div>`;
}

function Answer({ answer, output, classes }) {
  if (!answer) return null;
  if (output === 'contributions') return html`<${Contributions} answer=${answer} />`;
  const values = answer.values ?? answer.predictions ?? answer;
  const first = Array.isArray(values) ? values[0] : values;
  if (output === 'predict_proba' && Array.isArray(first))
    return html`<div aria-live="polite"><${Bars} label="Probabilities" low=${0}
      rows=${first.map((value, i) => ({ name: String(answer.columns?.[i] ?? classes?.[i] ?? i), value,
        text: `${(100 * value).toFixed(1)} %` })).sort((a, b) => b.value - a.value).slice(0, 12)} /></div>`;
  if (output === 'predict' && Array.isArray(first))   // of several targets
    return html`<p class="answer" aria-live="polite">
      ${first.map((v, i) => `${answer.columns?.[i] ?? i} ${number(v)}`).join(', ')}</p>`;
  return html`<p class="answer" aria-live="polite">
    ${Array.isArray(first) ? first.map((v) => number(v)).join(', ') : number(first)}</p>`;
}

// A form with a field for each column; wide models get a line of CSV.
function Predict({ model }) {
  const columns = model.columns || [], isWide = columns.length > 40;
  const outputs = (model.outputs || ['predict']).filter((o) => o !== 'contributions'), canExplain = model.outputs?.includes('contributions');
  const [cells, setCells] = useState({}), [line, setLine] = useState(''), [output,
    setOutput] = useState(model.outputs?.includes('predict_proba') ? 'predict_proba' : model.outputs?.[0] || 'predict');
  const [answer, setAnswer] = useState(null), [problem, setProblem] = useState(null);
  const ask = async (output) => {
    setProblem(null);
    const texts = isWide ? line.split(/[,;\s]+/) : columns.map((column) => cells[column.name]);
    try {
      setAnswer({ output, body: await api.post(`/v1/models/${encodeURIComponent(model.id)}/${output === 'transform'
        ? 'transform' : 'predict'}${output === 'transform' ? '' : `?output=${output}`}`, { rows: [columns.map((column,
          i) => cell(column, texts[i]))] }) });
    } catch (refused) { setProblem(refused); setAnswer(null); }
  };
  return html`<${Card} title="Ask it" id="ask"><form
    onSubmit=${(event) => { event.preventDefault(); ask(output); }}>
    ${isWide ? html`<label class="wide">
      ${count(columns.length)} values, with commas<textarea rows="5" spellcheck="false" value=${line}
      onInput=${(e) => setLine(e.target.value)}></textarea></label>`
      : html`<div class="fields">${columns.map((column) => html`<label key=${column.name}>
        ${column.name}${column.categories?.length ? html`<select value=${cells[column.name] || ''}
        onChange=${(e) => setCells({ ...cells, [column.name]: e.target.value })}><option value="">missing</option>
        ${column.categories.map((c) => html`<option key=${c} value=${c}>${c}</option>`)}</select>`
        : html`<input inputmode=${column.kind === 'number' ? 'decimal' : undefined} placeholder="missing"
          value=${cells[column.name] || ''} onInput=${(e) => setCells({ ...cells, [column.name]: e.target.value })} />`}
          </label>`)}</div>`}
    <div class="row end"><label class="inline">Answer <select value=${output}
      onChange=${(e) => setOutput(e.target.value)}>${outputs.map((o) => html`<option key=${o}
      value=${o}>${o}</option>`)}</select></label>${canExplain && html`<button type="button"
      onClick=${() => ask('contributions')}>Explain</button>`}<button class="primary">Ask</button></div></form>
    <${ProblemBox} problem=${problem} /><${Answer} answer=${answer?.body} output=${answer?.output}
      classes=${model.classes} /><//>`;
}

export function ModelView({ id }) {
  const { value: model, problem } = useLoad(() => api.get(`/v1/models/${encodeURIComponent(id)}`), id);
  const [isSure, setSure] = useState(false);
  if (problem) return html`<${ProblemBox} problem=${problem} /><p><a href="#/models">To the models</a></p>`;
  if (!model) return html`<${Loading} what="the model" />`;
  const download = async () => {
    try { save(`${id}.kedge`, await (await api.request('GET', `/v1/models/${encodeURIComponent(id)}/download`,
      { accept: '*/*' })).blob(), 'application/octet-stream'); } catch (refused) { say(refused.message, 'bad'); }
  };
  const forget = async () => {
    if (!isSure) return setSure(true);
    try { await api.remove(`/v1/models/${encodeURIComponent(id)}`); say('The model is deleted.'); location.hash = '#/models'; } catch (refused) { say(refused.message, 'bad'); }
    return undefined;
  };
  return html`<div class="head"><div><p class="crumbs"><a href="#/models">Models</a> / <code>${model.id}</code></p><h1>
    ${nameOf(model)}</h1>
      <p class="under dim">
        ${datasetName(model.dataset)}${model.target ? ` · target ${model.target}`
          : model.targets?.length > 0 ? ` · targets ${model.targets.map((one) => one.name).join(', ')}` : ''} · ${bytes(model.bytes)} · ${ago(model.created)}</p></div><span class="grow"></span>
    <div class="row"><button type="button" onClick=${download}>Download</button>
      <a class="button" href=${`#/new?model=${encodeURIComponent(id)}`}>Predict many rows</a>
      <button type="button" class="danger" onClick=${forget}>${isSure ? 'Delete for good' : 'Delete'}</button></div>
      </div>
    <div class="cards"><${Predict} model=${model} /><${Register} model=${model} />
      <${Card} title="What it is" id="about"><dl class="pairs"><dt>From the job</dt><dd>
        ${model.job ? html`<a href=${`#/jobs/${encodeURIComponent(model.job)}`}>${model.job}</a>` : 'uploaded'}</dd>
        <dt>Fitted on</dt><dd>${count(model.nSamples)} rows, ${model.dtype}, ${model.device || '–'}</dd>
        ${model.classes?.length > 0 && html`<dt>Classes</dt><dd>
          ${model.classes.slice(0, 30).join(', ')}${model.classes.length > 30 ? ` and ${model.classes.length - 30} more`
            : ''}</dd>`}<dt>Seed</dt><dd>${model.seed}</dd><dt>Version</dt><dd>${model.version}</dd><dt>SHA-256</dt><dd><code class="clip">${model.sha256 || '–'}</code></dd></dl>
        <${Copy} small
          text=${() => `curl -s -H 'Content-Type: application/json' -H "Authorization: Bearer $KEDGE_TOKEN" --data-binary '{"rows": [[${(model.columns || []).map(() => '0').join(', ')}]]}' ${api.base}/v1/models/${id}/predict`}>Copy the call as curl<//><//>
      <${Card} title="Columns" id="columns" note=${count(model.columns?.length)}>
        <div class="scroll log" tabindex="0" role="region" aria-label="Columns"><table><tbody>
        ${(model.columns || []).slice(0, 200).map((column) => html`<tr key=${column.name}><td><code>${column.name}
        </code></td><td>${column.kind}</td><td class="dim clip">${(column.categories || []).slice(0, 12).join(', ')}
        </td></tr>`)}</tbody></table></div><//></div>`;
}
