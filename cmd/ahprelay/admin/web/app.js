// The status page. It asks /api/stats once a second and the list in view every other second, and nothing
// while it is paused or out of sight. The token lives in this tab and goes out as a header, never as a
// cookie, which a browser would also send to whatever else listens on this machine.

import {Chart} from './chart.js';
import {bytes, compact, count, duration, element, lists, table} from './table.js';

const $ = (id) => document.getElementById(id);
const points = 180;
const shownMax = 200;

let token = sessionStorage.getItem('ahprelay-token') || '';
let before = null; // the stats of the second before
let current = lists[0];
let sorts = {};
let paused = false;
let tick = 0;
let asking = false;

class Unauthorized extends Error {}

async function ask(path) {
  const headers = token ? {Authorization: `Bearer ${token}`} : {};
  const response = await fetch(path, {headers, cache: 'no-store', signal: AbortSignal.timeout(8000)});
  if (response.status === 401) throw new Unauthorized((await response.json()).error);
  if (!response.ok) throw new Error((await response.json().catch(() => ({}))).error || response.statusText);
  return response.json();
}

// ---- charts and levels

const total = (counts) => Object.values(counts).reduce((a, b) => a + b, 0);
const failures = (s) => s.requestsRefused + total(s.requestsCompleted) - s.requestsCompleted.result - s.requestsCompleted.error;
const perSecond = (n) => compact(n);

const charts = [
  {of: (d) => [d((s) => s.sent.notification.frames), d((s) => s.sent.request.frames), d((s) => s.sent.answer.frames), d((s) => s.sent.action.frames)],
    chart: new Chart('Messages a second', [{label: 'notifications', cls: 's1'}, {label: 'requests', cls: 's2'}, {label: 'answers', cls: 's3'}, {label: 'catalogue', cls: 's4'}], perSecond, points)},
  {of: (d) => [d((s) => total(s.notificationsDropped)), d(failures), d((s) => total(s.closed)), d((s) => s.protocolErrors)],
    chart: new Chart('Drops and failures a second', [{label: 'dropped', cls: 's2'}, {label: 'failed', cls: 's4'}, {label: 'closed', cls: 's1'}, {label: 'protocol errors', cls: 's3'}], perSecond, points)},
  {of: (d) => [d((s) => s.bytesIn), d((s) => s.bytesOut)],
    chart: new Chart('Bytes a second', [{label: 'in', cls: 's1'}, {label: 'out', cls: 's2'}], bytes, points, 1024)},
  {of: (_, s) => [s.queueBytes],
    chart: new Chart('Bytes that wait to be read', [{label: 'unsent', cls: 's2'}], bytes, points, 1024)},
];

// quantile of what a histogram counted since an earlier one, in seconds; null when that is nothing.
function quantile(now, then, q) {
  const counts = now.counts.map((n, i) => n - (then ? then.counts[i] : 0));
  let left = q * counts.reduce((a, b) => a + b, 0);
  if (left <= 0) return null;
  for (let i = 0; i < counts.length; i++) {
    left -= counts[i];
    if (left <= 0) return now.bounds[Math.min(i, now.bounds.length - 1)];
  }
  return null;
}

function level(label, value, small, warn) {
  return element('dl', {class: `card level${warn ? ' warn' : ''}`}, element('dt', {}, label), element('dd', {}, value, small ? element('small', {}, ` ${small}`) : undefined));
}

function showLevels(s) {
  const slow = quantile(s.requestSeconds, before && before.requestSeconds, 0.99);
  $('levels').replaceChildren(
    level('Connections', count(s.connections)),
    level('Services', count(s.services), `${count(s.subscriptions)} following`),
    level('In flight', count(s.inflight), s.abandoned ? `${count(s.abandoned)} abandoned` : '', s.abandoned > 0),
    level('99 % answered in', slow === null ? '–' : `≤ ${duration(slow)}`),
    level('Unsent', bytes(s.queueBytes)),
    level('Memory', bytes(s.memoryBytes), s.memoryBytesMax < 2 ** 50 ? `of ${bytes(s.memoryBytesMax)}` : '', s.memoryBytes > 0.8 * s.memoryBytesMax),
    level('Longest loop turn', duration(s.turnSecondsMax), '', s.turnSecondsMax > 0.05),
  );
}

function showTotals(s) {
  const group = (title, counts) => element('div', {}, element('h2', {}, title), element('dl', {},
    ...Object.entries(counts).flatMap(([k, v]) => [element('dt', {}, k), element('dd', {}, count(v))])));
  const traffic = (kinds) => Object.fromEntries(Object.entries(kinds).map(([k, t]) => [k, t.frames]));
  $('totals').replaceChildren(
    group('Received', traffic(s.received)), group('Sent', traffic(s.sent)),
    group('Notifications dropped', s.notificationsDropped), group('Requests ended', {...s.requestsCompleted, refused: s.requestsRefused}),
    group('Connections closed', {...s.closed, 'refused at once': s.refused}),
    group('Other', {'protocol errors': s.protocolErrors, 'answers late': s.answersLate, 'answers to nothing': s.answersDropped, ignored: s.ignored, 'reloads': s.reloads, 'reloads failed': s.reloadsFailed}),
  );
}

function state(text, cls) {
  if ($('state').textContent !== text) $('state').textContent = text;
  $('state').className = `pill ${cls}`;
}

async function updateStats() {
  const s = await ask('api/stats');
  if (before && s.uptimeSeconds < before.uptimeSeconds) { before = null; charts.forEach((c) => c.chart.clear()); }
  const seconds = before ? s.uptimeSeconds - before.uptimeSeconds : 0;
  if (seconds > 0) {
    const d = (of) => Math.max(0, of(s) - of(before)) / seconds;
    charts.forEach((c) => c.chart.add(Date.parse(s.time), c.of(d, s)));
  }
  state(s.draining ? 'draining' : s.ready ? 'ready' : 'starting', s.ready ? 'good' : 'warn');
  $('about').textContent = `${s.version} · up ${duration(s.uptimeSeconds)}`;
  showLevels(s);
  if (document.querySelector('.totals').open) showTotals(s);
  for (const l of lists) if (l.level) $(`tab-${l.id}`).lastChild.textContent = ` ${compact(s[l.level])}`;
  before = s;
}

// ---- lists

async function updateList() {
  const list = current;
  const q = new URLSearchParams({limit: shownMax});
  if ($('search').value.trim()) q.set('q', $('search').value.trim());
  if (sorts[list.id]) q.set('sort', sorts[list.id]);
  const answer = await ask(`api/${list.id}?${q}`);
  if (list !== current) return;
  const shown = answer.items.length;
  $('count').textContent = shown < answer.matched ? `${count(shown)} of ${count(answer.matched)} shown, of ${count(answer.total)}; filter or sort to see others`
    : answer.matched < answer.total ? `${count(answer.matched)} of ${count(answer.total)}` : `${count(answer.total)} in all`;
  if ($('list').querySelector('details[open]') || window.getSelection().toString() && $('list').contains(window.getSelection().anchorNode)) return; // being read
  const focused = document.activeElement && document.activeElement.dataset.sort;
  $('list').replaceChildren(shown ? table(list, answer.items, sorts[list.id], (sort) => { sorts[list.id] = sort; refresh(); })
    : element('p', {class: 'quiet empty'}, answer.total ? 'Nothing matches the filter.' : list.empty));
  if (focused) $('list').querySelector(`[data-sort="${focused}"]`)?.focus();
}

function choose(list, focus) {
  current = list;
  for (const l of lists) {
    const tab = $(`tab-${l.id}`);
    tab.setAttribute('aria-selected', String(l === list));
    tab.tabIndex = l === list ? 0 : -1;
    if (focus && l === list) tab.focus();
  }
  $('panel').setAttribute('aria-labelledby', `tab-${list.id}`);
  $('list').replaceChildren();
  refresh();
}

function refresh() { updateList().catch(failed); }

// ---- the course of things

function failed(err) {
  if (err instanceof Unauthorized) {
    const wrong = token !== '';
    forget(wrong ? err.message : '');
    return;
  }
  state('no answer', 'bad');
  $('about').textContent = String(err.message || err);
}

async function update() {
  if (asking || $('status').hidden) return;
  asking = true;
  try {
    await updateStats();
    if (tick % 2 === 0) await updateList();
  } catch (err) { failed(err); } finally { asking = false; }
}

async function enter() {
  try {
    await ask('api/stats');
  } catch (err) {
    if (err instanceof Unauthorized) { failed(err); return; }
    failed(err); // not there yet: the page keeps asking
  }
  $('login').hidden = true;
  $('status').hidden = false;
  $('forget').hidden = token === '';
  if (token) sessionStorage.setItem('ahprelay-token', token);
  choose(current, false);
  await update();
}

function forget(message) {
  token = '';
  before = null;
  sessionStorage.removeItem('ahprelay-token');
  $('status').hidden = $('forget').hidden = true;
  $('login').hidden = false;
  state('signed out', '');
  $('about').textContent = '';
  $('login-error').textContent = message;
  $('token').value = '';
  $('token').focus();
}

function fromAddress() {
  const found = new URLSearchParams(location.hash.slice(1)).get('token');
  if (!found) return false;
  token = found;
  history.replaceState(null, '', location.pathname);
  return true;
}

const themes = ['system', 'light', 'dark'];
function theme(name) {
  if (name === 'system') delete document.documentElement.dataset.theme; else document.documentElement.dataset.theme = name;
  $('theme').textContent = `Theme: ${name}`;
  localStorage.setItem('ahprelay-theme', name);
}
const nextTheme = () => theme(themes[(themes.indexOf(localStorage.getItem('ahprelay-theme')) + 1) % themes.length]);

function pause() {
  paused = !paused;
  $('pause').setAttribute('aria-pressed', String(paused));
  $('pause').textContent = paused ? 'Go on' : 'Pause';
  if (!paused) update();
}

function keys(e) {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  const typing = e.target.matches('input');
  if (typing) {
    if (e.key === 'Escape' && e.target === $('search')) { $('search').value = ''; $('panel').focus(); refresh(); }
    return;
  }
  if ($('status').hidden) { if (e.key === 't') nextTheme(); return; }
  if (e.key === '/') { e.preventDefault(); $('search').focus(); }
  else if (e.key === 'p') pause();
  else if (e.key === 't') nextTheme();
  else if (lists[Number(e.key) - 1]) choose(lists[Number(e.key) - 1], true);
}

function build() {
  charts.forEach((c) => $('charts').append(c.chart.element));
  lists.forEach((l, i) => {
    const tab = element('button', {type: 'button', role: 'tab', id: `tab-${l.id}`, 'aria-controls': 'panel'}, l.label, element('span', {}));
    tab.addEventListener('click', () => choose(l, true));
    tab.addEventListener('keydown', (e) => {
      const step = {ArrowRight: 1, ArrowLeft: -1, Home: -i, End: lists.length - 1 - i}[e.key];
      if (step !== undefined) { e.preventDefault(); choose(lists[(i + step + lists.length) % lists.length], true); }
    });
    $('tabs').append(tab);
  });
  $('login-form').addEventListener('submit', (e) => { e.preventDefault(); token = $('token').value.trim(); enter(); });
  $('forget').addEventListener('click', () => forget(''));
  $('pause').addEventListener('click', pause);
  $('theme').addEventListener('click', nextTheme);
  $('search').addEventListener('input', refresh);
  document.addEventListener('keydown', keys);
  window.addEventListener('hashchange', () => { if (fromAddress()) enter(); });
  window.addEventListener('resize', () => charts.forEach((c) => c.chart.draw()));
  setInterval(() => { tick++; if (!paused && !document.hidden) update(); }, 1000);
}

theme(themes.includes(localStorage.getItem('ahprelay-theme')) ? localStorage.getItem('ahprelay-theme') : 'system');
build();
fromAddress();
enter();
