// Charts as SVG, drawn at the width that they have. Each has words for screen readers, and each mark a title.
import { html } from './preact.js';
import { useWidth } from './parts.js';
import { number, seconds } from './format.js';

export const COLOURS = ['var(--c1)', 'var(--c2)', 'var(--c3)', 'var(--c4)', 'var(--c5)', 'var(--c6)', 'var(--c7)',
  'var(--c8)'];
const finite = (values) => values.filter((v) => typeof v === 'number' && isFinite(v));

export function extent(values, padding = 0) {
  const all = finite(values);
  if (!all.length) return [0, 1];
  let low = Infinity, high = -Infinity;
  for (const v of all) low = Math.min(low, v), high = Math.max(high, v);
  const room = (high - low || Math.abs(high) * 0.1 || 1) * padding;
  return low === high ? [low - (room || 0.5), high + (room || 0.5)] : [low - room, high + room];
}

function ticks([low, high], n) {
  const raw = (high - low) / Math.max(1, n);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.999) || raw;
  const out = [];
  for (let t = Math.ceil(low / step - 1e-9) * step; t <= high + step * 1e-9; t += step) out.push(Math.abs(t) < step * 1e-9 ? 0 : t);
  return out;
}
const scale = ([low, high], from, to) => (v) => from + ((v - low) / (high - low)) * (to - from);

// Axes and grid; children: (sx, sy, box) => marks.
export function Plot({ label, x, y, xTitle, yTitle, height = 240, square, xTicks, yTicks, children, legend }) {
  const [ref, full] = useWidth();
  const width = square ? Math.min(full, 420) : full;
  const tall = square ? Math.min(width, 380) : height;
  const box = { left: 48, right: width - 12, top: 12, bottom: tall - 38 };
  const sx = scale(x, box.left, box.right), sy = scale(y, box.bottom, box.top);
  const xs = xTicks || ticks(x, Math.max(2, Math.floor(width / 90))).map((v) => [v, number(v, 3)]);
  const ys = yTicks || ticks(y, Math.max(2, Math.floor(tall / 60))).map((v) => [v, number(v, 3)]);
  return html`<figure class="chart" ref=${ref}>
    <svg width=${width} height=${tall} role="img" aria-label=${label}>
      ${ys.map(([v, text]) => html`<g key=${v}>
        <line class="grid" x1=${box.left} x2=${box.right} y1=${sy(v)} y2=${sy(v)} />
        <text class="tick" x=${box.left - 7} y=${sy(v) + 4} text-anchor="end">${text}</text></g>`)}
      ${xs.map(([v, text]) => html`<text class="tick" x=${sx(v)} y=${box.bottom + 16} text-anchor="middle">${text}
        </text>`)}
      <line class="axis" x1=${box.left} x2=${box.right} y1=${box.bottom} y2=${box.bottom} />
      ${xTitle && html`<text class="title" x=${(box.left + box.right) / 2} y=${tall - 4} text-anchor="middle">${xTitle}
        </text>`}
      ${yTitle && html`<text class="title" x=${box.left} y=${9} text-anchor="start">${yTitle}</text>`}
      ${children(sx, sy, box)}
    </svg>${legend}</figure>`;
}

export const Legend = ({ names }) => html`<figcaption class="legend">${names.map((name, i) => html`<span key=${name}>
  <i style=${{ background: COLOURS[i % COLOURS.length] }}></i>${name}</span>`)}</figcaption>`;

export const path = (points) => points.filter(([a, b]) => isFinite(a) && isFinite(b)).map(([a, b], i) => `${i ? 'L'
  : 'M'}${a.toFixed(1)} ${b.toFixed(1)}`).join('');

// series: [{name, xs, ys}]
export function Lines({ label, series, x, y, xTitle, yTitle, square, diagonal, height }) {
  const xr = x || extent(series.flatMap((s) => s.xs)), yr = y || extent(series.flatMap((s) => s.ys), 0.06);
  return html`<${Plot} label=${label} x=${xr} y=${yr} xTitle=${xTitle} yTitle=${yTitle} square=${square}
    height=${height}
    legend=${series.length > 1 && html`<${Legend} names=${series.map((s) => s.name)} />`}>
    ${(sx, sy) => html`${diagonal
      && html`<line class="grid dashed" x1=${sx(xr[0])} y1=${sy(yr[0])} x2=${sx(xr[1])} y2=${sy(yr[1])} />`}
      ${series.map((s, i) => html`<path key=${s.name} class="curve" d=${path(s.xs.map((v, k) => [sx(v), sy(s.ys[k])]))}
        style=${{ stroke: COLOURS[i % COLOURS.length] }}><title>${s.name}</title></path>`)}`}
  <//>`;
}

// points: [{x, y, title, colour, chosen}]; x may be texts.
export function Scatter({ label, points, xTitle, yTitle, onChoose, height }) {
  const isText = points.some((p) => typeof p.x !== 'number');
  const names = isText ? [...new Set(points.map((p) => String(p.x)))] : [];
  const at = (p) => (isText ? names.indexOf(String(p.x)) : p.x);
  const xr = isText ? [-0.5, Math.max(0.5, names.length - 0.5)] : extent(points.map((p) => p.x), 0.06);
  const step = Math.ceil(names.length / 12);
  return html`<${Plot} label=${label} x=${xr} y=${extent(points.map((p) => p.y), 0.08)} xTitle=${xTitle}
    yTitle=${yTitle} height=${height}
    xTicks=${isText ? names.map((n, i) => [i, n.length > 14 ? `${n.slice(0, 13)}…` : n]).filter((t, i) =>
      i % step === 0) : undefined}>
    ${(sx, sy) => points.map((p, i) => typeof p.y === 'number' && isFinite(p.y) && html`<circle key=${i}
      class=${`dot${p.chosen ? ' chosen' : ''}`} cx=${sx(at(p)).toFixed(1)} cy=${sy(p.y).toFixed(1)}
      r=${p.chosen ? 6 : 4}
      style=${p.colour ? { fill: p.colour } : undefined} onClick=${onChoose && (() => onChoose(p))}><title>${p.title}
        </title></circle>`)}
  <//>`;
}

// Horizontal bars. rows: [{name, value, text, spread, colour}]
export function Bars({ label, rows, height = 22, low }) {
  const [ref, width] = useWidth();
  const left = Math.min(190, Math.floor(width * 0.38)), right = 70;
  const [a, b] = extent([...rows.map((r) => r.value), 0]);
  const min = low ?? Math.min(0, a);
  const sx = scale([min, b === min ? min + 1 : b], left, width - right);
  const longest = Math.max(6, Math.floor(left / 7) - 1);
  const shown = (name) => (name.length > longest ? `${name.slice(0, longest - 1)}…` : name);
  return html`<figure class="chart" ref=${ref}><svg width=${width}
    height=${rows.length * height + 4} role="img" aria-label=${label}>
    ${rows.map((r, i) => html`<g key=${r.name}><title>${r.name}: ${r.text || number(r.value)}</title>
      <text class="tick ink" x=${left - 8} y=${i * height + height / 2 + 4} text-anchor="end">${shown(r.name)}</text>
      <rect class="bar" x=${Math.min(sx(0 < min ? min : 0), sx(r.value))} y=${i * height + 3}
        width=${Math.max(1.5, Math.abs(sx(r.value) - sx(0 < min ? min : 0)))} height=${height - 6} rx="2"
        style=${r.colour ? { fill: r.colour } : undefined} />
      ${r.spread > 0 && html`<line class="whisker" x1=${sx(r.value - r.spread)} x2=${sx(r.value + r.spread)} y1=${i * height + height / 2} y2=${i * height + height / 2} />`}
      <text class="tick" x=${width - 4} y=${i * height + height / 2 + 4} text-anchor="end">${r.text || number(r.value)}
        </text></g>`)}
    ${min < 0 && html`<line class="axis" x1=${sx(0)} x2=${sx(0)} y1="0" y2=${rows.length * height} />`}
  </svg></figure>`;
}

// Stages one after the other. stages: [{name, seconds, colour}]
export function Waterfall({ stages, total }) {
  const [ref, width] = useWidth();
  const height = 26, left = 92, right = 74;
  const sum = stages.reduce((s, stage) => s + stage.seconds, 0);
  const sx = scale([0, Math.max(sum, total || 0, 1e-9)], left, width - right);
  let at = 0;
  return html`<figure class="chart" ref=${ref}><svg width=${width} height=${stages.length * height + 4} role="img"
    aria-label=${`Stages: ${stages.map((s) => `${s.name} ${seconds(s.seconds)}`).join(', ')}`}>
    ${stages.map((stage, i) => {
      const from = at;
      at += stage.seconds;
      return html`<g key=${stage.name}><title>${stage.name}: ${seconds(stage.seconds)}</title>
        <rect class="track" x=${left} y=${i * height + 4} width=${width - right - left} height=${height - 8} rx="3" />
        <rect class="bar" x=${sx(from)} y=${i * height + 4} width=${Math.max(2, sx(at) - sx(from))}
          height=${height - 8} rx="3" style=${{ fill: stage.colour || 'var(--c1)' }} />
        <text class="tick ink" x=${left - 8} y=${i * height + height / 2 + 4} text-anchor="end">${stage.name}</text>
        <text class="tick" x=${width - 4} y=${i * height + height / 2 + 4} text-anchor="end">${seconds(stage.seconds)}
          </text></g>`;
    })}</svg></figure>`;
}

export function ConfusionMatrix({ labels, matrix }) {
  const [ref, full] = useWidth();
  const n = labels.length, left = 86, top = 26;
  const side = Math.max(16, Math.min(64, Math.floor((Math.min(full, 560) - left - 4) / n)));
  const sums = matrix.map((row) => row.reduce((a, b) => a + b, 0) || 1);
  const short = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
  const right = matrix.reduce((sum, row, i) => sum + row[i], 0), all = matrix.flat().reduce((a, b) => a + b, 0);
  return html`<figure class="chart" ref=${ref}><svg width=${left + side * n + 4}
    height=${top + side * n + 22} role="img"
    aria-label=${`Confusion matrix of ${n} classes: ${right} of ${all} right`}>
    ${labels.map((label, j) => html`<text class="tick" x=${left + side * (j + 0.5)} y=${top - 8} text-anchor="middle">
      ${short(label, Math.max(2, Math.floor(side / 7)))}<title>${label}</title></text>`)}
    ${matrix.map((row, i) => html`<g key=${i}><text class="tick ink" x=${left - 8}
      y=${top + side * (i + 0.5) + 4} text-anchor="end">${short(labels[i], 11)}<title>${labels[i]}</title></text>
      ${row.map((v, j) => {
        const share = v / sums[i];
        return html`<g key=${j}><title>${labels[i]} taken for ${labels[j]}: ${v} (${(share * 100).toFixed(1)} %)</title>
          <rect x=${left + side * j + 1} y=${top + side * i + 1} width=${side - 2}
            height=${side - 2} rx="3" class="cell"
            style=${{ fill: i === j ? 'var(--c1)' : 'var(--c2)', fillOpacity: v ? 0.12 + 0.88 * share : 0.04 }} />
          ${side >= 24 && v > 0 && html`<text class=${`tick ${share > 0.45 ? 'on' : 'ink'}`}
            x=${left + side * (j + 0.5)} y=${top + side * (i + 0.5) + 4} text-anchor="middle">${number(v)}</text>`}
            </g>`;
      })}</g>`)}
    <text class="title" x=${left} y=${top + side * n + 17}>columns: predicted, rows: true</text></svg></figure>`;
}

// axes: [{name, values}] of equal length; score: values that colour the lines.
export function Parallel({ axes, score, label, chosen }) {
  const [ref, width] = useWidth();
  const height = 270, top = 30, bottom = height - 22, left = 46, right = width - 46;
  const scales = axes.map(({ values }) => {
    const isNumber = values.every((v) => v == null || typeof v === 'number') && finite(values).length > 0;
    if (!isNumber) {
      const names = [...new Set(values.map(String))];
      return { at: (v) => (names.length < 2 ? (top + bottom) / 2
        : bottom - (names.indexOf(String(v)) / (names.length - 1)) * (bottom - top)), ends: [names[0],
          names[names.length - 1]] };
    }
    const all = finite(values), isLog = all.every((v) => v > 0) && Math.max(...all) / Math.min(...all) > 50;
    const f = isLog ? Math.log : (v) => v, range = extent(all.map(f));
    return { at: (v) => (v == null ? bottom : scale(range, bottom, top)(f(v))), ends: all.length
      ? [number(Math.min(...all), 3), number(Math.max(...all), 3)] : ['', ''] };
  });
  const x = (i) => (axes.length < 2 ? (left + right) / 2 : left + (i / (axes.length - 1)) * (right - left));
  const range = extent(score), order = score.map((_, k) => k).sort((a, b) =>
    (score[a] ?? -Infinity) - (score[b] ?? -Infinity));
  return html`<figure class="chart" ref=${ref}><svg width=${width} height=${height} role="img" aria-label=${label}>
    ${order.map((k) => {
      const share = typeof score[k] === 'number' ? (score[k] - range[0]) / (range[1] - range[0] || 1) : 0;
      return html`<path key=${k} class="strand" d=${path(axes.map(({ values }, i) => [x(i), scales[i].at(values[k])]))}
        style=${{ stroke: k === chosen ? 'var(--c2)' : 'var(--c1)', strokeOpacity: k === chosen ? 1
          : 0.08 + 0.7 * share * share, strokeWidth: k === chosen ? 2.5 : 1.3 }}>
        <title>${axes.map(({ name, values }) => `${name} ${number(values[k])}`).join(', ')}</title></path>`;
    })}
    ${axes.map(({ name }, i) => html`<g key=${name}><line class="axis" x1=${x(i)} x2=${x(i)} y1=${top} y2=${bottom} />
      <text class="tick ink" x=${x(i)} y=${14}
        text-anchor=${i === 0 ? 'start' : i === axes.length - 1 ? 'end' : 'middle'}>
        ${name.length > 22 ? `…${name.slice(-21)}` : name}<title>${name}</title></text>
      <text class="tick" x=${x(i) + 5} y=${bottom + 14}>${String(scales[i].ends[0]).slice(0, 9)}</text>
        <text class="tick" x=${x(i) + 5} y=${top + 3}>${String(scales[i].ends[1]).slice(0, 9)}</text></g>`)}
  </svg></figure>`;
}

// Small ones, without axes.
export function Spark({ values, label, low = 0, high, width = 160, height = 36 }) {
  const [a, b] = extent(values);
  const sy = scale([low ?? a, (high ?? b) || 1], height - 2, 2), sx = scale([0, Math.max(1, values.length - 1)], 1,
    width - 1);
  const line = path(values.map((v, i) => [sx(i), sy(v)]));
  return html`<svg class="spark" viewBox=${`0 0 ${width} ${height}`} preserveAspectRatio="none" width=${width}
    height=${height} role="img" aria-label=${label}>
    ${values.length > 1 && html`<path class="area"
      d=${`${line}L${sx(values.length - 1)} ${height}L${sx(0)} ${height}Z`} /><path class="curve" d=${line} />`}</svg>`;
}

export function Histogram({ values, label, width = 132, height = 34 }) {
  const numbers = finite(values);
  let rows;
  if (numbers.length === values.filter((v) => v != null).length && numbers.length) {
    const [a, b] = extent(numbers), bins = Math.min(16, Math.max(4, new Set(numbers).size));
    rows = Array(bins).fill(0);
    for (const v of numbers) rows[Math.min(bins - 1, Math.floor(((v - a) / (b - a || 1)) * bins))]++;
  } else {
    const counts = new Map();
    for (const v of values) if (v != null) counts.set(String(v), (counts.get(String(v)) || 0) + 1);
    rows = [...counts.values()].sort((a, b) => b - a).slice(0, 16);
  }
  const most = Math.max(1, ...rows), step = width / Math.max(1, rows.length);
  return html`<svg class="histogram" width=${width} height=${height} role="img" aria-label=${label}>
    ${rows.map((n, i) => html`<rect key=${i} class="bar" x=${(i * step + 0.5).toFixed(1)}
      width=${Math.max(1, step - 1.5).toFixed(1)} y=${(height - (n / most) * (height - 2)).toFixed(1)}
      height=${((n / most) * (height - 2)).toFixed(1)} rx="1"><title>${n}</title></rect>`)}</svg>`;
}
