// make.mjs OUT DASHBOARD... - writes the schema that tests/dashboards/check uses, from the types that
// Grafana publishes of its own dashboards and panels, and has ajv judge the dashboards by it: a
// second opinion beside check's own reading. Runs where its packages are (make dashboards-schema).
import { readFileSync, writeFileSync } from 'node:fs';
import { createGenerator } from 'ts-json-schema-generator';
import Ajv from 'ajv';

const [out, ...dashboards] = process.argv.slice(2);
const types = 'node_modules/@grafana/schema/dist/types/raw';
const { version } = JSON.parse(readFileSync('node_modules/@grafana/schema/package.json', 'utf8'));
// Kinds of panels, and how Grafana's package calls them where it calls them otherwise.
const panels = {
  barchart: '', bargauge: '', gauge: '', heatmap: '', histogram: '', piechart: '', stat: '',
  'state-timeline': 'statetimeline', 'status-history': 'statushistory', table: '', text: '',
  timeseries: '', xychart: '',
};

function schemaOf(file, type) {
  const config = {
    path: `${types}/${file}/types.gen.d.ts`, type, tsconfig: undefined, skipTypeCheck: true,
    expose: 'all', topRef: true, jsDoc: 'none', encodeRefs: false, additionalProperties: false,
  };
  try {
    return createGenerator(config).createSchema(type);
  } catch (error) {
    if (/No root type/.test(error.message)) return undefined; // a panel without such options
    throw error;
  }
}

const all = {
  $comment: `Written by make dashboards-schema from the types of @grafana/schema ${version} (Apache-2.0); do not edit.`,
  dashboard: schemaOf('dashboard/x', 'Dashboard'),
  panels: {},
};
// Grafana's type stops short of what its Prometheus data source keeps in an annotation (its package calls
// that PrometheusAnnotation, and is not among the published schemas).
const annotation = all.dashboard.definitions.AnnotationQuery.properties;
for (const key of ['expr', 'step', 'tagKeys', 'textFormat', 'titleFormat']) annotation[key] = { type: 'string' };
annotation.useValueForTime = { type: 'boolean' };
for (const [kind, folder] of Object.entries(panels)) {
  const file = `composable/${folder || kind}/panelcfg/x`;
  all.panels[kind] = { options: schemaOf(file, 'Options'), custom: schemaOf(file, 'FieldConfig') };
}
writeFileSync(out, JSON.stringify(all, null, 1) + '\n');

const ajv = new Ajv({ allErrors: true, strict: false });
const judge = { dashboard: ajv.compile(all.dashboard), panels: {} };
let bad = 0;
function tell(where, validate, value) {
  if (validate(value)) return;
  bad++;
  for (const error of validate.errors) console.log(`${where}${error.instancePath}: ${error.message}`);
}
for (const [kind, parts] of Object.entries(all.panels))
  for (const [part, schema] of Object.entries(parts))
    if (schema) (judge.panels[kind] ??= {})[part] = ajv.compile(schema);
for (const file of dashboards) {
  const dashboard = JSON.parse(readFileSync(file, 'utf8'));
  tell(file, judge.dashboard, dashboard);
  for (const panel of dashboard.panels) {
    const parts = judge.panels[panel.type] ?? {};
    if (parts.options) tell(`${file} '${panel.title}' options`, parts.options, panel.options ?? {});
    if (parts.custom) tell(`${file} '${panel.title}' custom`, parts.custom, panel.fieldConfig?.defaults?.custom ?? {});
  }
}
console.log(`dashboards-schema: @grafana/schema ${version}, ${dashboards.length} dashboards, ajv: ${bad || 'nothing'} to say`);
process.exit(bad ? 1 : 0);
