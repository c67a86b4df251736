// Numbers, times and jobs as words.

export const isFinal = (state) => state === 'succeeded' || state === 'failed' || state === 'cancelled';

export function seconds(value) {
  if (value == null || !isFinite(value)) return '–';
  if (value === 0) return '0 s';
  if (value < 0.001) return '< 1 ms';
  if (value < 1) return `${Math.round(value * 1000)} ms`;
  if (value < 10) return `${value.toFixed(2)} s`;
  if (value < 60) return `${value.toFixed(1)} s`;
  if (value < 3600) return `${Math.floor(value / 60)} m ${String(Math.floor(value % 60)).padStart(2, '0')} s`;
  return `${Math.floor(value / 3600)} h ${String(Math.floor(value / 60) % 60).padStart(2, '0')} m`;
}

export function bytes(value) {
  if (value == null || !isFinite(value)) return '–';
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  let at = 0;
  while (value >= 1024 && at < units.length - 1) value /= 1024, at++;
  return `${at === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[at]}`;
}

export const count = (value) => (value == null ? '–' : Math.round(value).toLocaleString('en'));

// With as many digits as help.
export function number(value, digits = 4) {
  if (value == null) return '–';
  if (typeof value !== 'number') return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e7) return String(value);
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(2);
  return String(Number(value.toPrecision(digits)));
}

// Of a score: four places, as the command line prints it.
export const score = (value) => (typeof value === 'number' ? (Math.abs(value) < 1000 ? value.toFixed(4) : number(value))
  : '–');

export function ago(time, now = Date.now()) {
  if (!time) return '–';
  const past = Math.max(0, (now - Date.parse(time)) / 1000);
  if (past < 5) return 'just now';
  if (past < 60) return `${Math.floor(past)} s ago`;
  if (past < 3600) return `${Math.floor(past / 60)} min ago`;
  if (past < 86400) return `${Math.floor(past / 3600)} h ago`;
  return new Date(time).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', year: 'numeric' });
}

export const moment = (time) => (time ? new Date(time).toLocaleString('en-GB') : '–');

export function datasetName(dataset) {
  if (!dataset) return '';
  if (dataset.builtin) return dataset.builtin;
  if (dataset.stored) return dataset.stored.startsWith('sha256:') ? `upload ${dataset.stored.slice(7, 15)}`
    : dataset.stored;
  if (dataset.openml) return dataset.openml.name || `OpenML ${dataset.openml.id}`;
  if (dataset.sklearn) return dataset.sklearn;
  if (dataset.url) {
    const { url, urls } = dataset.url, address = url || urls?.[0] || '';
    return (address.split('/').pop() || address) + (urls?.length > 1 ? ` and ${urls.length - 1} more` : '');
  }
  if (dataset.generate) return dataset.generate.name;
  if (dataset.inline) return 'table in the job';
  return Object.keys(dataset)[0] || '';
}

export const pipelineName = (spec) => (spec.pipeline || []).map((step) => step.estimator).join(' → ') || modelOf(spec)
  || '';
export const modelOf = (spec) => spec.task?.predict?.model || spec.task?.transform?.model;

export function taskName(task) {
  if (!task) return '';
  const [kind, how] = Object.entries(task)[0] || ['', {}];
  const folds = (cv) => `${cv?.cv ?? 5}-fold`;
  switch (kind) {
    case 'fit': return 'fit';
    case 'fitScore': return 'train and test';
    case 'crossValidate': return `${folds(how)} cross-validation`;
    case 'gridSearch': return `grid search, ${folds(how.crossValidate)}`;
    case 'randomizedSearch': return `random search of ${how.nIter ?? 10}, ${folds(how.crossValidate)}`;
    case 'halvingGridSearch': return 'halving search';
    case 'learningCurve': return `learning curve, ${folds(how.crossValidate)}`;
    case 'validationCurve': return `validation curve, ${folds(how.crossValidate)}`;
    case 'permutationTestScore': return `permutation test of ${how.nPermutations ?? 100}`;
    case 'permutationImportance': return 'permutation importance';
    case 'partialDependence': return 'partial dependence';
    case 'predict': return 'predict rows';
    case 'transform': return 'transform rows';
    default: return kind;
  }
}

// {name, mean, std} of the score that a list shows.
export function headline(result) {
  if (!result) return null;
  if (result.search && typeof result.search.bestScore === 'number') return { name: 'best',
    mean: result.search.bestScore };
  const [name, value] = Object.entries(result.scores || {})[0] || [];
  return name ? { name, mean: value.mean, std: value.std } : null;
}

// As the server searches: each word is part of one of these.
export function matches(job, words) {
  const text = [job.id, JSON.stringify(job.spec.dataset), pipelineName(job.spec), Object.keys(job.spec.task || {})
    .join(' '), job.state, job.spec.device,
    job.reason || '', job.error?.message || ''].join('\n').toLowerCase();
  return words.toLowerCase().split(' ').every((word) => text.includes(word));
}

export const plural = (n, word) => `${count(n)} ${word}${n === 1 ? '' : 's'}`;
