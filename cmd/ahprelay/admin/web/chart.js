// A line chart of the last points of some series, as SVG. Everything goes through the DOM, so that no
// text is ever taken for markup and no inline style is needed.

const svgSpace = 'http://www.w3.org/2000/svg';
const height = 140, left = 46, right = 8, top = 8, bottom = 18;

function svg(name, attributes, ...children) {
  const e = document.createElementNS(svgSpace, name);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  e.append(...children);
  return e;
}

// ceiling is the least round number that is not below v: 1, 2, 5, 10, … or 1, 2, 4, 8, … times
// a power of base.
function ceiling(v, base) {
  const steps = base === 1024 ? [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024] : [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
  let unit = base === 1024 ? 64 : 1;
  while (v > base * unit) unit *= base;
  return unit * steps.find((m) => v <= m * unit);
}

export class Chart {
  // series: [{name, label, cls}]; format: number → text; points: how many are kept, one a second;
  // base: 1000, or 1024 for a scale in KiB.
  constructor(title, series, format, points, base = 1000) {
    this.title = title; this.series = series; this.format = format; this.points = points; this.base = base;
    this.data = series.map(() => []);
    this.at = [];
    this.hover = null;

    this.legend = document.createElement('ul');
    this.legend.className = 'legend';
    this.values = series.map((s) => {
      const item = document.createElement('li');
      const mark = document.createElement('span');
      mark.className = 'mark ' + s.cls;
      const value = document.createElement('b');
      item.append(mark, s.label + ' ', value);
      this.legend.append(item);
      return value;
    });
    this.picture = svg('svg', {role: 'img', height: String(height), focusable: 'false'});
    const heading = document.createElement('h2');
    heading.textContent = title;
    this.element = document.createElement('figure');
    this.element.className = 'card chart';
    const caption = document.createElement('figcaption');
    caption.append(heading, this.legend);
    this.element.append(caption, this.picture);
    this.picture.addEventListener('pointermove', (e) => this.point(e.offsetX));
    this.picture.addEventListener('pointerleave', () => { this.hover = null; this.draw(); });
  }

  add(time, values) {
    this.at.push(time);
    if (this.at.length > this.points) this.at.shift();
    values.forEach((v, i) => {
      this.data[i].push(v);
      if (this.data[i].length > this.points) this.data[i].shift();
    });
    this.draw();
  }

  clear() { this.data = this.series.map(() => []); this.at = []; this.draw(); }

  point(x) {
    const inner = this.width - left - right;
    const back = Math.round((1 - (x - left) / inner) * (this.points - 1));
    const i = this.at.length - 1 - back;
    this.hover = i >= 0 && i < this.at.length ? i : null;
    this.draw();
  }

  draw() {
    this.width = this.element.clientWidth > 40 ? this.element.clientWidth - 26 : 400;
    const w = this.width, inner = w - left - right, h = height - top - bottom;
    const max = ceiling(Math.max(0, ...this.data.flat()), this.base);
    const n = this.at.length;
    const x = (i) => left + inner * (1 - (n - 1 - i) / (this.points - 1));
    const y = (v) => top + h * (1 - v / max);
    const parts = [];
    for (const f of [0, 0.5, 1]) {
      parts.push(svg('line', {class: 'grid', x1: left, x2: w - right, y1: y(max * f), y2: y(max * f)}));
      parts.push(svg('text', {class: 'tick', x: left - 6, y: y(max * f) + 3, 'text-anchor': 'end'}, this.format(max * f)));
    }
    for (const [back, label, anchor] of [[this.points - 1, `${Math.round(this.points / 60)} min ago`, 'start'], [0, 'now', 'end']]) {
      parts.push(svg('text', {class: 'tick', x: left + inner * (1 - back / (this.points - 1)), y: height - 4, 'text-anchor': anchor}, label));
    }
    this.data.forEach((points, s) => {
      if (points.length < 2) return;
      const d = points.map((v, i) => `${i ? 'L' : 'M'}${x(i).toFixed(1)} ${y(v).toFixed(1)}`).join('');
      if (s === 0) parts.push(svg('path', {class: 'area ' + this.series[s].cls, d: `${d}L${x(n - 1).toFixed(1)} ${y(0)}L${x(0).toFixed(1)} ${y(0)}Z`}));
      parts.push(svg('path', {class: 'line ' + this.series[s].cls, d}));
    });
    const shown = this.hover ?? n - 1;
    if (this.hover !== null) {
      parts.push(svg('line', {class: 'cursor', x1: x(shown), x2: x(shown), y1: top, y2: top + h}));
      const time = new Date(this.at[shown]).toLocaleTimeString();
      parts.push(svg('text', {class: 'tick strong', x: Math.min(Math.max(x(shown), left + 28), w - 34), y: height - 4, 'text-anchor': 'middle'}, time));
    }
    this.picture.setAttribute('viewBox', `0 0 ${w} ${height}`);
    this.picture.setAttribute('width', String(w));
    this.picture.replaceChildren(...parts);
    const said = this.series.map((s, i) => {
      const text = n ? this.format(this.data[i][shown]) : '–';
      this.values[i].textContent = text;
      return `${s.label} ${text}`;
    });
    this.picture.setAttribute('aria-label', `${this.title}: ${said.join(', ')}; scale up to ${this.format(max)}`);
  }
}
