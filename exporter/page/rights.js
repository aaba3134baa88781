// rights.js - who the client is and what it may do, as `kubectl auth can-i --list` asks: a button that would be
// refused is not shown. Plain http only reads, whatever the role allows.
import { get, send, token } from './api.js';

export const me = { identity: '', role: 'viewer', namespace: '', readOnly: true, server: '', rules: [] };

export async function readRights() {
  const rulesIn = (namespace) => send('POST', 'apis/authorization.k8s.io/v1/selfsubjectrulesreviews',
    { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview', spec: { namespace } });
  const [access, everywhere] = await Promise.all([get('access'), rulesIn('default')]);
  const review = access.namespace ? await rulesIn(access.namespace) : everywhere;
  Object.assign(me, { identity: access.identity, role: access.role, namespace: access.namespace ?? '', readOnly: access.readOnly === true,
    server: access.server ?? '', rules: review.status.resourceRules, paths: review.status.nonResourceRules });
}

const KUBEVIRT = 'kubevirt.io', SUB = 'subresources.kubevirt.io', FERRY = 'ferry.internal';
const VMIM = 'virtualmachineinstancemigrations';
const CHANGES = {
  abort: [KUBEVIRT, `${VMIM}/abort`, 'update'],
  migrate: [KUBEVIRT, VMIM, 'create'],
  recover: [SUB, `${VMIM}/recover`, 'create'],
  resolve: [SUB, `${VMIM}/resolve`, 'create'],
  acknowledge: [SUB, `${VMIM}/ack`, 'create'],
  adopt: [SUB, 'virtualmachineinstances/adopt', 'create'],
  cordon: ['', 'nodes', 'patch'],
  drain: [FERRY, 'drains', 'create'],
  stopDrain: [FERRY, 'drains', 'delete'],
};

// May this be changed, in that namespace ('' or undefined: objects without one)?
export function can(change, ns) {
  const [group, resource, verb] = CHANGES[change];
  if (me.readOnly || (me.namespace !== '' && ns !== me.namespace)) return false;
  return me.rules.some((rule) => rule.apiGroups.includes(group) && rule.resources.includes(resource) && rule.verbs.includes(verb));
}
export const canQuery = () => (me.paths ?? []).some((rule) => rule.nonResourceURLs.includes('/query'));
// Why no change is possible here, and what would help; '': some are.
export function whyReadOnly() {
  if (me.readOnly) return `Read-only: plain http. ${me.server ? 'Changes need https and an identity:' : 'Changes need https and an identity.'}`;
  if (me.role === 'viewer') return token() === '' ? 'Read-only: you are viewer here. Sign in with a token to change something.' : 'Read-only: your role is viewer.';
  return '';
}
