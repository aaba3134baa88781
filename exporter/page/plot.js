// plot.js - lines over time, by uPlot: its canvas with the page's colours, marks where something was decided.
//
// A screen reader gets a sentence; the table of decisions below the plots has the rest.
import { clock } from './format.js';
import { html, useEffect, useRef } from './lib.js';
import uPlot from './uplot.js';

// Steps of an axis in bytes.
const STEPS = Array.from({ length: 50 }, (_, i) => 2 ** i);

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// marks: [{at, label, tone}] -> upright lines.
function drawMarks(u, marks) {
  const { ctx, bbox } = u, density = devicePixelRatio;
  ctx.save();
  ctx.font = `${11 * density}px system-ui, sans-serif`;
  let free = -Infinity;
  for (const mark of marks) {
    const x = u.valToPos(mark.at / 1000, 'x', true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.strokeStyle = ctx.fillStyle = colour(mark.tone === 'mode' ? '--accent' : '--line-strong');
    ctx.lineWidth = density;
    ctx.setLineDash(mark.tone === 'mode' ? [] : [2 * density, 3 * density]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    const width = ctx.measureText(mark.label ?? '').width;
    if (!mark.label || x < free) continue;
    const fits = x + 4 * density + width < bbox.left + bbox.width;
    ctx.textAlign = fits ? 'left' : 'right';
    ctx.fillText(mark.label, fits ? x + 3 * density : x - 3 * density, bbox.top + 11 * density);
    free = x + width + 8 * density;
  }
  ctx.restore();
}

function options(el, { series, unit, marks, height, small }) {
  const axis = { stroke: colour('--dim'), grid: { stroke: colour('--line'), width: 1 }, ticks: { show: false }, font: '11px system-ui, sans-serif' };
  return {
    width: Math.max(el.clientWidth, 80), height,
    legend: { show: false }, cursor: { show: !small, y: false, drag: { x: false, y: false } },
    padding: small ? [4, 2, 2, 2] : [6, 8, 0, 0],
    scales: { x: { time: true }, y: { range: (u, min, max) => [0, Math.max(max || 0, 1) * 1.08] } },
    axes: small ? [{ show: false }, { show: false }] : [
      { ...axis, space: 70, size: 22, values: (u, splits) => splits.map((s) => clock(s * 1000)) },
      { ...axis, size: 66, space: 26, incrs: STEPS, values: (u, splits) => splits.map(unit) }],
    series: [{}, ...series.map((s) => ({ label: s.name, stroke: colour(s.colour), width: small ? 1.25 : 1.5, dash: s.dash, fill: s.fill ? `${colour(s.colour)}22` : undefined,
      points: { show: false } }))],
    hooks: { draw: [(u) => drawMarks(u, marks.current)] },
  };
}

// series: [{name, colour: '--css-variable', values, fill, dash}], t in milliseconds.
export function Plot({ t, series, unit, marks = [], height = 150, label, small = false }) {
  const box = useRef(), plot = useRef(), held = useRef(marks);
  held.current = marks;
  const data = [t.map((at) => at / 1000), ...series.map((s) => s.values)];
  useEffect(() => {
    const make = () => {
      plot.current?.destroy();
      plot.current = new uPlot(options(box.current, { series, unit, marks: held, height, small }), data, box.current);
    };
    make();
    const resized = new ResizeObserver(() => plot.current?.setSize({ width: Math.max(box.current.clientWidth, 80), height }));
    resized.observe(box.current);
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', make);
    return () => {
      resized.disconnect();
      scheme.removeEventListener('change', make);
      plot.current?.destroy();
      plot.current = null;
    };
  }, [series.length, height, small]);
  useEffect(() => { plot.current?.setData(data); });
  return html`<div class="plot">${!small && html`<div class="legend" aria-hidden="true">${series.map((s) => html`<span key=${s.name}><i class=${`key ${s.colour.slice(2)}`}></i>${s.name} <b>${s.values.length > 0 && s.values.at(-1) !== null ? unit(s.values.at(-1)) : '–'}</b></span>`)}</div>`}
    <div ref=${box} role="img" aria-label=${label}></div></div>`;
}
