// The lists of the page: what each shows, and how a list becomes a table. Text is always set as text.

export function element(name, attributes = {}, ...children) {
  const e = document.createElement(name);
  for (const [k, v] of Object.entries(attributes)) if (v !== undefined && v !== false) e.setAttribute(k, v === true ? '' : v);
  e.append(...children.filter((c) => c !== undefined && c !== null));
  return e;
}

const whole = new Intl.NumberFormat('en', {maximumFractionDigits: 0});
const short = new Intl.NumberFormat('en', {notation: 'compact', maximumFractionDigits: 1});

export const count = (n) => whole.format(n);
export const compact = (n) => (n !== 0 && Math.abs(n) < 10 ? String(Math.round(n * 10) / 10) : short.format(n));

export function bytes(n) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let i = 0;
  for (; Math.abs(n) >= 1024 && i < units.length - 1; i++) n /= 1024;
  return `${i && n < 100 ? n.toFixed(1) : Math.round(n)} ${units[i]}`;
}

export function duration(s) {
  if (s < 0.001) return `${Math.round(s * 1e6)} µs`;
  if (s < 1) return `${(s * 1000).toFixed(s < 0.01 ? 1 : 0)} ms`;
  if (s < 60) return `${s.toFixed(s < 10 ? 1 : 0)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${Math.floor(s % 60)} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
}

const pill = (text, cls = '') => element('span', {class: `pill ${cls}`}, text);
const mono = (text, cls = '') => element('span', {class: `mono ${cls}`}, text);
const column = (label, show, sort, number = sort !== undefined) => ({label, show, sort, number});

function connectionState(c) {
  const marks = [pill(c.state, c.state === 'open' ? 'good' : 'warn')];
  if (c.blocked) marks.push(' ', pill('not reading', 'warn'));
  if (c.shedding) marks.push(' ', pill('dropping', 'bad'));
  return element('span', {}, ...marks);
}

// metadata is shown as it is; its members are looked at only to print them one a line.
function metadata(m) {
  const line = JSON.stringify(m);
  if (line.length <= 100) return mono(line);
  return element('details', {}, element('summary', {}, mono(line.slice(0, 80) + '…')), element('pre', {}, JSON.stringify(m, null, 2)));
}

const client = (c) => element('span', {}, c.clientId || '–', c.clientName ? element('span', {class: 'quiet'}, ` ${c.clientName} ${c.clientVersion || ''}`) : undefined);

export const lists = [
  {id: 'connections', label: 'Connections', level: 'connections', key: (c) => c.id, empty: 'Nobody is connected.', columns: [
    column('Client', client),
    column('State', connectionState),
    column('Principal', (c) => c.principal),
    column('From', (c) => `${c.transport} ${c.remote}`),
    column('Services', (c) => count(c.services), 'services'),
    column('In flight', (c) => count(c.inflight), 'inflight'),
    column('Unsent', (c) => bytes(c.queueBytes), 'queueBytes'),
    column('Frames in', (c) => compact(c.framesIn), 'framesIn'),
    column('Bytes out', (c) => bytes(c.bytesOut), 'bytesOut'),
    column('Idle', (c) => duration(c.idleSeconds), 'idleSeconds'),
    column('Age', (c) => duration(c.ageSeconds), 'ageSeconds'),
  ]},
  {id: 'services', label: 'Services', level: 'services', key: (s) => s.serviceId, empty: 'No service is registered.', columns: [
    column('Protocol', (s) => s.protocol || '–'),
    column('Owner', (s) => s.clientId),
    column('Service', (s) => mono(s.serviceId, 'id')),
    column('Metadata', (s) => metadata(s.metadata)),
    column('In flight', (s) => count(s.inflight), 'inflight'),
    column('Forwarded', (s) => compact(s.forwarded), 'forwarded'),
    column('Lost', (s) => count(s.dropped), 'dropped'),
  ]},
  {id: 'requests', label: 'Requests', level: 'inflight', key: (r) => r.relayId, empty: 'No request is in flight.', columns: [
    column('Caller', (r) => r.caller || '–'),
    column('Id', (r) => mono(r.id)),
    column('Protocol', (r) => r.protocol || '–'),
    column('Owner', (r) => r.owner),
    column('Service', (r) => mono(r.service, 'id')),
    column('State', (r) => (r.abandoned ? pill('abandoned', 'warn') : pill('waiting'))),
    column('Age', (r) => duration(r.ageSeconds), undefined, true),
  ]},
  {id: 'closings', label: 'Closings', key: (c) => c.number, empty: 'The relay has closed no connection, and nobody ran into a limit.', columns: [
    column('When', (c) => new Date(c.time).toLocaleTimeString()),
    column('What', (c) => pill(c.kind === 'closed' ? 'closed' : 'limit', c.kind === 'closed' ? 'bad' : 'warn')),
    column('Reason', (c) => mono(c.reason)),
    column('Detail', (c) => c.detail),
    column('Client', (c) => c.clientId || '–'),
    column('Principal', (c) => c.principal),
    column('From', (c) => c.remote),
    column('Unsent', (c) => bytes(c.queueBytes), undefined, true),
  ]},
];

// table makes a table of a list; sort is the column's word, onSort is called with another.
export function table(list, items, sort, onSort) {
  const head = list.columns.map((c) => {
    const th = element('th', {scope: 'col', role: 'columnheader', class: c.number ? 'number' : undefined});
    if (!c.sort) return th.append(c.label), th;
    const on = c.sort === sort;
    if (on) th.setAttribute('aria-sort', 'descending');
    const button = element('button', {type: 'button', 'data-sort': c.sort}, c.label + (on ? ' ▾' : ''));
    button.addEventListener('click', () => onSort(on ? '' : c.sort));
    return th.append(button), th;
  });
  const rows = items.map((item) => element('tr', {role: 'row', 'data-key': String(list.key(item))}, ...list.columns.map((c) => {
    const shown = c.show(item);
    return element('td', {role: 'cell', 'data-label': c.label, class: [c.number ? 'number' : '', shown === '–' || shown === '' ? 'void' : ''].join(' ')}, shown);
  })));
  return element('table', {role: 'table'}, element('caption', {class: 'sr'}, list.label),
    element('thead', {role: 'rowgroup'}, element('tr', {role: 'row'}, ...head)), element('tbody', {role: 'rowgroup'}, ...rows));
}
