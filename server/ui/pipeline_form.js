// The steps of a pipeline: found by search, moved, with their parameters, their bounds and what they mean.
import { html, useEffect, useMemo, useRef, useState } from './preact.js';

const TYPES = { null: 'null', boolean: 'true or false', integer: 'integer', number: 'number', string: 'text',
  object: 'object', array: 'list' };

export function formText(form) {
  if (form.type === 'string' && form.choices?.length) return form.choices.join(', ');
  const low = form.minimum != null ? ` ${form.exclusiveMinimum ? '>' : '≥'} ${form.minimum}` : '';
  const high = form.maximum != null ? `${low ? ' and' : ''} ${form.exclusiveMaximum ? '<' : '≤'} ${form.maximum}` : '';
  return (TYPES[form.type] || form.type) + low + high;
}

// What was typed as a value: a choice, JSON, Python's words, or text.
export function read(text, forms) {
  const word = text.trim();
  if (forms.some((form) => form.type === 'string' && form.choices?.includes(word))) return word;
  if (word === 'None') return null;
  if (word === 'True' || word === 'False') return word === 'True';
  try { return JSON.parse(word); } catch { return word; }
}
const write = (value) => (value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value));

let made = 0;   // ids of texts that describe fields

function Param({ param, value, onChange, isWrong }) {
  const [text, setText] = useState(null);
  const forms = param.forms || [];
  const isChoice = forms.length > 0 && forms.every((form) => form.type === 'boolean' || form.type === 'null'
    || (form.type === 'string' && form.choices?.length));
  const words = [...new Set(forms.flatMap((form) => (form.type === 'boolean' ? ['true', 'false'] : form.type === 'null'
    ? ['null'] : form.choices || [])))];
  const shown = param.default ?? param.defaultValue ?? null;
  const set = (typed) => onChange(typed.trim() === '' ? undefined : read(typed, forms));
  const id = useMemo(() => `about-${++made}`, []);
  return html`<div class=${`parameter${isWrong ? ' wrong' : ''}${value !== undefined ? ' set' : ''}`}><label><span>
    <code>${param.name}</code></span>
    ${isChoice ? html`<select value=${value === undefined ? '' : write(value)} onChange=${(e) => set(e.target.value)}
      aria-describedby=${id}><option value="">${`default: ${write(shown)}`}</option>
      ${words.map((w) => html`<option key=${w} value=${w}>${w}</option>`)}</select>`
      : html`<input value=${text ?? write(value)} placeholder=${`default: ${write(shown)}`}
        aria-invalid=${isWrong ? 'true' : undefined} aria-describedby=${id}
        onInput=${(e) => { setText(e.target.value); set(e.target.value); }} onBlur=${() => setText(null)} />`}</label>
    <p class="dim" id=${id}>${param.doc} <span class="bounds">${forms.map(formText).join('; ')}</span></p></div>`;
}

function Params({ step, info, onChange, where }) {
  const params = step.params || {}, n = Object.keys(params).length;
  const wrong = where.match(/\.params\.([^.[]+)/)?.[1];
  const [filter, setFilter] = useState('');
  const set = (name, value) => {
    const next = { ...params };
    if (value === undefined) delete next[name];
    else next[name] = value;
    const { params: _, ...rest } = step;
    onChange(Object.keys(next).length ? { ...rest, params: next } : rest);
  };
  if (!info) return html`<p class="bad">The catalogue has no ${step.estimator}.</p>`;
  if (!info.params?.length) return html`<p class="dim">It has no parameters.</p>`;
  const shown = info.params.filter((p) => p.name.includes(filter.toLowerCase()));
  return html`<details open=${!!wrong}><summary>Parameters: ${n ? `${n} set` : 'all as by default'}</summary>
    ${info.params.length > 8 && html`<input type="search"
      aria-label=${`Find a parameter of ${step.estimator}`} placeholder="Find a parameter" value=${filter}
      onInput=${(e) => setFilter(e.target.value)} />`}
    <div class="parameters">${shown.map((param) => html`<${Param} key=${step.estimator + param.name} param=${param}
      value=${params[param.name]} isWrong=${param.name === wrong} onChange=${(value) => set(param.name, value)} />`)}
      </div></details>`;
}

// A combobox, as the ARIA practices have it.
export function EstimatorSearch({ catalogue, onChoose }) {
  const [text, setText] = useState(''), [at, setAt] = useState(0), [isOpen, setOpen] = useState(false);
  const list = useRef(null);
  const words = text.toLowerCase().split(' ').filter(Boolean);
  const found = catalogue.estimators.filter((e) => words.every((w) =>
    `${e.name} ${e.kind} ${e.family} ${e.doc}`.toLowerCase().includes(w)))
    .sort((a, b) => b.name.toLowerCase().startsWith(words[0] || ' ') - a.name.toLowerCase().startsWith(words[0]
      || ' ')).slice(0, 60);
  useEffect(() => { list.current?.children[at]?.scrollIntoView?.({ block: 'nearest' }); }, [at]);
  const choose = (name) => { onChoose(name); setText(''); setOpen(false); setAt(0); };
  const keys = (event) => {
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (move) {
      event.preventDefault();
      setOpen(true);
      if (isOpen) setAt((at + move + found.length) % Math.max(1, found.length));
    } else if (event.key === 'Enter') {
      event.preventDefault();
      if (isOpen && found[at]) choose(found[at].name);
    } else if (event.key === 'Escape') setOpen(false);
  };
  return html`<div class="combo"><label>Add a step <input role="combobox"
    aria-expanded=${String(isOpen)} aria-controls="estimators" aria-autocomplete="list"
    aria-activedescendant=${isOpen && found[at] ? `e-${found[at].name}` : undefined}
      placeholder="Search ${String(catalogue.estimators.length)} estimators" value=${text} autocomplete="off"
        onFocus=${() => setOpen(true)} onBlur=${() => setTimeout(() => setOpen(false), 150)}
      onInput=${(e) => { setText(e.target.value); setAt(0); setOpen(true); }} onKeyDown=${keys} /></label>
    <ul id="estimators" role="listbox" aria-label="Estimators" ref=${list} hidden=${!isOpen}>
      ${isOpen && found.map((e, i) => html`<li key=${e.name}
      id=${`e-${e.name}`} role="option" aria-selected=${String(i === at)}
      onMouseDown=${(event) => { event.preventDefault(); choose(e.name); }}>
      <strong>${e.name}</strong> <span class="kind">${e.kind}</span><span class="dim">${e.doc}</span></li>`)}</ul>
        </div>`;
}

export function Steps({ steps, catalogue, onChange, where }) {
  const replace = (at, step) => onChange([...steps.slice(0, at), ...(step ? [step] : []), ...steps.slice(at + 1)]);
  const move = (at, by) => {
    const next = steps.slice();
    [next[at], next[at + by]] = [next[at + by], next[at]];
    onChange(next);
  };
  // A model goes to the end, what transforms goes before it.
  const add = (name) => {
    const isTransformer = (n) => catalogue.estimators.find((e) => e.name === n)?.kind === 'transformer';
    const last = steps[steps.length - 1];
    const step = { estimator: name };
    onChange(isTransformer(name) && last && !isTransformer(last.estimator) ? [...steps.slice(0, -1), step, last]
      : [...steps, step]);
  };
  return html`<ol class="steps">${steps.map((step, i) => {
      const info = catalogue.estimators.find((e) => e.name === step.estimator),
        mine = where.startsWith(`pipeline[${i}]`) ? where : '';
      return html`<li key=${step.estimator + i} class=${mine ? 'wrong' : ''}><div class="row"><strong>${step.estimator}
        </strong>${info && html`<span class="kind">${info.kind}</span>`}<span class="grow"></span>
        <button type="button" class="small" disabled=${i === 0} aria-label=${`Move ${step.estimator} up`}
          onClick=${() => move(i, -1)}>↑</button>
        <button type="button" class="small" disabled=${i === steps.length - 1}
          aria-label=${`Move ${step.estimator} down`} onClick=${() => move(i, 1)}>↓</button>
        <button type="button" class="small" aria-label=${`Remove ${step.estimator}`}
          onClick=${() => replace(i, null)}>Remove</button></div>
        ${info && html`<p class="dim">${info.doc} <a
          href=${`../docs/estimators/${encodeURIComponent(info.name)}`}>Docs</a></p>`}<${Params} step=${step}
          info=${info} where=${mine} onChange=${(next) => replace(i, next)} /></li>`;
    })}</ol><${EstimatorSearch} catalogue=${catalogue} onChoose=${add} />`;
}
