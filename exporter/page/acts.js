// acts.js - what can be done, as buttons: shown to who may, asked for with what will happen.
import { at, send } from './api.js';
import { Fragment, html } from './lib.js';
import { polls } from './live.js';
import { Act, say } from './parts.js';
import { can } from './rights.js';
import { ferry, isFinal, isMoving, isObserved, source, state, target } from './story.js';

export function Abort({ vmim }) {
  const { namespace: ns, name } = vmim.metadata, mode = state(vmim).mode;
  if (isObserved(vmim)) return null;
  // A post-copy cannot be aborted: the guest already runs on the target.
  if (isFinal(vmim) || mode === 'PostCopy' || !can('abort', ns) || state(vmim).abortRequested) return null;
  const what = isMoving(vmim) ? `The guest stays on ${source(vmim)} and goes on running. What was copied so far is thrown away.`
      : `It has not begun; ${vmim.spec.vmiName} stays where it is.`;
  return html`<${Act} label="Abort" tone="danger-quiet" title=${`Abort the migration of ${vmim.spec.vmiName}?`} text=${what} verb="Abort migration" danger
    run=${() => send('PUT', `${at.migrations(ns, name)}/abort`, { value: {} })} done=${`${name}: abort requested`}/>`;
}

export function Recover({ vmim }) {
  const { namespace: ns, name } = vmim.metadata, f = ferry(vmim);
  if (isFinal(vmim) || isObserved(vmim) || !f.recovering || !can('recover', ns)) return null;
  return html`<${Act} label="Recover" title=${`Resume the post-copy of ${vmim.spec.vmiName} again?`}
    text=${`Ferry resumes the broken stream from ${source(vmim)} to ${target(vmim)} again. The guest stays paused until that works.`} verb="Recover"
    run=${() => send('POST', at.sub(ns, name, 'recover'), { value: {} })} done=${`${name}: recovery requested`}/>`;
}

export function Resolve({ vmim }) {
  const { namespace: ns, name } = vmim.metadata, f = ferry(vmim);
  if (isFinal(vmim) || !isMoving(vmim) || !can('resolve', ns)) return null;
  if (isObserved(vmim) && !f.resolving) return null;
  if (!f.resolving && !f.recovering && !['internal-error', 'outcome-unproven', 'unconfirmed'].includes(f.pending?.reason)) return null;
  return html`<${Act} label="Resolve…" tone="danger-quiet" title=${`Where is ${vmim.spec.vmiName}?`} danger verb="Resolve"
    text=${['Operator override: Ferry cannot verify this. If the guest runs elsewhere, two copies may run.', 'Inspect both hosts first.']}
    fields=${[{ name: 'guestAt', label: 'The guest', value: 'source', options: [['source', `runs on the source (${source(vmim)}); the migration failed`],
    ['target', `runs on the target (${target(vmim)}); the migration succeeded`], ['gone', 'runs nowhere; it is lost']] },
    { name: 'because', label: 'How do you know? (stored with the migration)', required: true, placeholder: 'virsh list on both hosts shows …' }]}
    run=${(values) => send('POST', at.sub(ns, name, 'resolve'), { value: values })} done=${`${name}: resolved`}/>`;
}

export function Acknowledge({ incident }) {
  const { namespace: ns, name } = incident.metadata;
  if (incident.status.state !== 'open' || !can('acknowledge', ns)) return null;
  return html`<${Act} label="Acknowledge" title=${`Acknowledge the incident of ${incident.spec.vmiName}?`}
    text="Its alert stops. The incident stays in the history, with your name." verb="Acknowledge"
    run=${async () => {
    await send('POST', at.sub(ns, name, 'ack'), { value: {} });
    polls.incidents.refresh();
  }} done=${`${name}: acknowledged`}/>`;
}

export function Migrate({ ns, name, node, nodes }) {
  if (!can('migrate', ns)) return null;
  const others = nodes.filter((n) => n.metadata.name !== node);
  return html`<${Act} label="Migrate…" tone="main" title=${`Migrate ${name}`} verb="Migrate"
    text=${`The guest goes on running while its memory is copied from ${node}.`}
    fields=${[{ name: 'target', label: 'To', value: '', options: [['', 'the node that the scheduler chooses'], ...others.map((n) => [n.metadata.name, `${n.metadata.name}${n.spec.unschedulable ? ' (cordoned)' : ''}`])] }]}
    run=${async ({ target: wanted }) => {
    const made = await send('POST', at.migrations(ns), { value: { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachineInstanceMigration', metadata: { generateName: 'migration-' },
      spec: { vmiName: name, priority: 'user-triggered', ...(wanted ? { addedNodeSelector: { 'kubernetes.io/hostname': wanted } } : {}) } } });
    location.hash = `#/migration/${encodeURIComponent(ns)}/${encodeURIComponent(made.metadata.name)}`;
    return made;
  }} done=${(made) => `${made.metadata.name} created`}/>`;
}

export function Cordon({ node }) {
  const { name } = node.metadata, is = node.spec.unschedulable === true;
  if (!can('cordon')) return null;
  const set = async () => {
    try {
      await send('PATCH', at.nodes(name), { type: 'application/merge-patch+json', value: { spec: { unschedulable: !is } } });
      say(`${name}: ${is ? 'uncordoned' : 'cordoned'}`);
    } catch (error) {
      say(`${name}: ${error.message}`, 'bad');
    }
    polls.nodes.refresh();
  };
  return html`<button type="button" onClick=${set}>${is ? 'Uncordon' : 'Cordon'}</button>`;
}

export const Acts = ({ vmim }) => html`<${Fragment}><${Recover} vmim=${vmim}/><${Resolve} vmim=${vmim}/><${Abort} vmim=${vmim}/><//>`;
