// page.jsx - one dashboard, drawn with Grafana's own components (@grafana/ui) from a real Prometheus.
//
// What is real: frames, field configuration, units, thresholds, legends, axes, stat, bar gauge and table. What is
// not on npm and therefore ours: the grid, the state timeline (rows of boxes here), the dashboard's own page.
// window.render(DASHBOARD, {from, to, step, vars}) draws and returns what each panel shows.
import React from 'react';
import { createRoot } from 'react-dom/client';
import {
  applyFieldOverrides, createTheme, dateTime, getFieldDisplayName, getFieldDisplayValues, standardFieldConfigEditorRegistry,
  standardTransformers, standardTransformersRegistry, transformDataFrame, toDataFrame, FieldConfigProperty, FieldType, ThemeContext,
} from '@grafana/data';
import { BarGauge, BigValue, GlobalStyles, PanelChrome, Table, TimeSeries } from '@grafana/ui';

const theme = createTheme({ colors: { mode: 'light' } });
// Grafana fills these in where a dashboard says nothing; they are not on npm.
const none = () => null, plain = { isCustom: false, process: (value) => value, shouldApply: () => true, editor: none, override: none };
const thresholds = { mode: 'absolute', steps: [{ value: -Infinity, color: 'green' }, { value: 80, color: 'red' }] };
const colours = { timeseries: 'palette-classic', 'state-timeline': 'continuous-GrYlRd' };
standardFieldConfigEditorRegistry.setInit(() => Object.values(FieldConfigProperty).map((id) => ({ ...plain, id, path: id, name: id }))
  .concat(['width'].map((id) => ({ ...plain, isCustom: true, id: `custom.${id}`, path: id, name: id }))));
standardTransformersRegistry.setInit(() => [...new Map(Object.values(standardTransformers).map((t) => [t.id, t])).values()].map((t) => ({ id: t.id, name: t.name, transformation: t, editor: none })));
const unit = 60, row = 30, gap = 8;
const graph = { drawStyle: 'line', lineWidth: 1, fillOpacity: 0, showPoints: 'auto', pointSize: 5, axisPlacement: 'auto', stacking: { mode: 'none', group: 'A' }, hideFrom: {}, scaleDistribution: { type: 'linear' } };

function filled(text, about) {
  for (const [name, value] of Object.entries({ __rate_interval: about.rate, __interval: `${about.step}s`, __range: `${about.to - about.from}s`, ...about.vars }))
    text = text.replaceAll('${' + name + '}', value).replaceAll(new RegExp('\\$' + name + '\\b', 'g'), value);
  return text;
}

async function ask(path, query) {
  const answer = await (await fetch(`/prometheus/api/v1/${path}?` + new URLSearchParams(query))).json();
  if (answer.status !== 'success') throw new Error(answer.error);
  return answer.data.result;
}

const named = (format, labels) => format ? format.replace(/{{\s*(\w+)\s*}}/g, (_, key) => labels[key] ?? '') : undefined;

// One target as frames: a frame for each series, or one table.
async function framesOf(target, about) {
  const query = filled(target.expr, about);
  if (target.instant && target.format === 'table') {
    const rows = await ask('query', { query, time: about.to });
    if (rows.length === 0) return [];
    const keys = [...new Set(rows.flatMap((r) => Object.keys(r.metric)))].sort();
    return [toDataFrame({ refId: target.refId, fields: [
      { name: 'Time', type: FieldType.time, values: rows.map((r) => r.value[0] * 1000) },
      ...keys.map((name) => ({ name, type: FieldType.string, values: rows.map((r) => r.metric[name] ?? '') })),
      { name: 'Value', type: FieldType.number, values: rows.map((r) => Number(r.value[1])) },
    ] })];
  }
  const series = target.instant
    ? (await ask('query', { query, time: about.to })).map((s) => ({ metric: s.metric, values: [s.value] }))
    : await ask('query_range', { query, start: about.from, end: about.to, step: about.step });
  return series.map(({ metric, values }) => {
    // Grafana's data source also fills what is missing with nulls, so that lines break.
    const at = new Map(values.map(([t, v]) => [Math.round(t), Number(v)]));
    const times = target.instant ? [about.to] : Array.from({ length: Math.floor((about.to - about.from) / about.step) + 1 }, (_, i) => about.from + i * about.step);
    return toDataFrame({ refId: target.refId, fields: [
      { name: 'Time', type: FieldType.time, values: times.map((t) => t * 1000) },
      { name: 'Value', type: FieldType.number, labels: metric, values: times.map((t) => (Number.isFinite(at.get(t)) ? at.get(t) : null)), config: { displayNameFromDS: named(target.legendFormat, metric) } },
    ] });
  });
}

async function load(panel, about) {
  let frames = (await Promise.all(panel.targets.map((t) => framesOf(t, about)))).flat();
  if (panel.transformations?.length)
    frames = await new Promise((ok, no) => transformDataFrame(panel.transformations, frames).subscribe({ next: ok, error: no }));
  panel.fieldConfig.defaults = { thresholds, color: { mode: colours[panel.type] ?? 'thresholds' }, ...panel.fieldConfig.defaults };
  frames = applyFieldOverrides({ data: frames, fieldConfig: panel.fieldConfig, replaceVariables: (v) => v, theme, timeZone: 'utc' });
  for (const frame of frames)
    for (const field of frame.fields)
      if (field.type === FieldType.number) field.config.custom = { ...(panel.type === 'timeseries' ? graph : {}), ...panel.fieldConfig.defaults.custom, ...field.config.custom };
  return frames;
}

function Timeline({ frames, width, height, about }) {
  const rows = frames.map((f) => ({ name: getFieldDisplayName(f.fields[1], f, frames), field: f.fields[1], times: f.fields[0].values }));
  const left = Math.min(260, Math.max(...rows.map((r) => r.name.length * 6.5)) + 10), step = (about.step * (width - left)) / (about.to - about.from), h = height / rows.length;
  return rows.map((r, n) => [
    <div key={r.name} style={{ position: 'absolute', top: n * h + h / 2 - 8, width: left, fontSize: 12, overflow: 'hidden', whiteSpace: 'nowrap' }}>{r.name}</div>,
    r.times.map((t, i) => r.field.values[i] == null ? null : <div key={t} style={{ position: 'absolute', left: left + ((t / 1000 - about.from) * (width - left)) / (about.to - about.from),
      top: n * h + h * 0.1, height: h * 0.8, width: step + 1, background: r.field.display(r.field.values[i]).color }} />),
  ]);
}

function values(panel, frames) {
  return getFieldDisplayValues({ fieldConfig: panel.fieldConfig, reduceOptions: panel.options.reduceOptions, replaceVariables: (v) => v, theme, data: frames, sparkline: panel.options.graphMode === 'area', timeZone: 'utc' });
}

function Inside({ panel, frames, width, height, about }) {
  if (frames.length === 0) return <div style={{ padding: 20, color: theme.colors.text.secondary, textAlign: 'center' }}>No data</div>;
  const range = { from: dateTime(about.from * 1000), to: dateTime(about.to * 1000), raw: { from: 'a', to: 'b' } };
  const shown = panel.type === 'stat' || panel.type === 'bargauge' ? values(panel, frames) : [];
  if (panel.type === 'stat')
    return <div style={{ display: 'flex' }}>{shown.map((v, i) => <BigValue key={i} theme={theme} width={width / shown.length - 4} height={height} value={v.display} sparkline={v.sparkline} count={shown.length}
      colorMode={panel.options.colorMode} graphMode={panel.options.graphMode} justifyMode={panel.options.justifyMode} textMode={panel.options.textMode} disableWideLayout={!panel.options.wideLayout} />)}</div>;
  if (panel.type === 'bargauge')
    return shown.map((v, i) => <div key={i} style={{ marginBottom: 4 }}><BarGauge theme={theme} width={width} height={Math.min(40, height / shown.length - 4)} field={v.field} display={v.view?.getFieldDisplayProcessor(v.colIndex)} value={v.display}
      orientation={panel.options.orientation} displayMode={panel.options.displayMode} showUnfilled={panel.options.showUnfilled} valueDisplayMode={panel.options.valueMode} namePlacement={panel.options.namePlacement} isOverflow={false} /></div>);
  if (panel.type === 'table') return <Table data={frames[panel.options.frameIndex ?? 0]} width={width} height={height} />;
  if (panel.type === 'state-timeline') return <div style={{ position: 'relative', width, height }}><Timeline frames={frames} width={width} height={height} about={about} /></div>;
  return <TimeSeries frames={frames} width={width} height={height} timeRange={range} timeZone="utc" legend={panel.options.legend} options={panel.options} />;
}

window.render = async (dashboard, about) => {
  const panels = await Promise.all(dashboard.panels.map(async (panel) => {
    if (panel.type === 'row') return { panel, frames: [] };
    try { return { panel, frames: await load(panel, about) }; } catch (error) { return { panel, frames: [], error: String(error.message ?? error) }; }
  }));
  const bottom = Math.max(...panels.map(({ panel: p }) => p.gridPos.y + p.gridPos.h)) * (row + gap);
  createRoot(document.getElementById('root')).render(
    <ThemeContext.Provider value={theme}>
      <GlobalStyles />
      <h3 style={{ margin: 8 }}>{dashboard.title} <small style={{ color: theme.colors.text.secondary }}>{dashboard.description}</small></h3>
      <div style={{ position: 'relative', width: 24 * unit, height: bottom, background: theme.colors.background.canvas }}>
        {panels.map(({ panel, frames, error }) => (
          <div key={panel.id} data-panel={panel.title} style={{ position: 'absolute', left: panel.gridPos.x * unit + gap / 2, top: panel.gridPos.y * (row + gap) }}>
            <PanelChrome title={panel.title} description={panel.description} width={panel.gridPos.w * unit - gap} height={panel.gridPos.h * (row + gap) - gap} statusMessage={error}>
              {(width, height) => <Inside panel={panel} frames={frames} width={width} height={height} about={about} />}
            </PanelChrome>
          </div>))}
      </div>
    </ThemeContext.Provider>);
  return panels.filter(({ panel }) => panel.type !== 'row').map(({ panel, frames, error }) => ({
    title: panel.title, series: frames.length, error, mayBeEmpty: /\b[Ee]mpty\b/.test(panel.description) }));
};
