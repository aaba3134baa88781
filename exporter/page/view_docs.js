// view_docs.js - the documents that the appliance serves: runbooks, docs/.
import { get, text } from './api.js';
import { html, useEffect } from './lib.js';
import { markdown } from './markdown.js';
import { Empty, Problem, Section, to, useLoaded } from './parts.js';

export function Document({ folder, name, anchor }) {
  const { value, error } = useLoaded((signal) => text(`${folder}/${encodeURIComponent(name)}`, signal), [folder, name]);
  useEffect(() => { if (value && anchor) document.getElementById(anchor)?.scrollIntoView(); }, [value, anchor]);
  return html`<article class="document">${value ? markdown(value) : error ? html`<h1>${name}</h1><${Problem} error=${error}/>` : html`<${Empty}>Loading…<//>`}</article>`;
}

export function Documents() {
  const { value, error } = useLoaded((signal) => get('page', signal), []);
  const names = (list, link) => html`<ul class="names">${(list ?? []).map((name) => html`<li><a href=${link(name)}>${name}</a></li>`)}</ul>`;
  return html`<h1>Documents</h1><${Problem} error=${error}/>
    <${Section} id="docs" title="Ferry">${names(value?.docs, (name) => to.doc(name))}<//>
    <${Section} id="runbooks" title="Runbooks of the alerts">${names(value?.runbooks, to.runbook)}<//>
    <${Section} id="files" title="For Prometheus and Grafana">${names(value?.alerts, (name) => `alerts/${name}`)}${names(value?.dashboards, (name) => `dashboards/${name}`)}<//>`;
}
