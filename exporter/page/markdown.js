// markdown.js - the appliance's own documents (runbooks, docs/) as vnodes: headings, paragraphs, lists, tables, code,
// links. Nothing in them becomes markup, and a link leads to a view, to http(s), or nowhere.
import { html } from './lib.js';
import { docLink } from './parts.js';

const INLINE = /(`+)([\s\S]*?[^`])\1(?!`)|!?\[([^\]]*)\]\(([^)\s]+)(?:\s+"[^"]*")?\)|\*\*([\s\S]+?)\*\*|\*([^*\s][^*]*)\*|<(https?:\/\/[^>\s]+)>/;

export function inline(text) {
  const out = [];
  for (let rest = text; rest !== '';) {
    const found = INLINE.exec(rest);
    if (!found) {
      out.push(rest);
      break;
    }
    out.push(rest.slice(0, found.index));
    rest = rest.slice(found.index + found[0].length);
    const [, , code, label, href, bold, slanted, url] = found;
    if (code !== undefined) out.push(html`<code>${code}</code>`);
    else if (bold !== undefined) out.push(html`<strong>${inline(bold)}</strong>`);
    else if (slanted !== undefined) out.push(html`<em>${inline(slanted)}</em>`);
    else {
      const where = docLink(href ?? url);
      const shown = label === undefined ? url : inline(label);
      out.push(where ? html`<a href=${where} rel="noreferrer">${shown}</a>` : html`<span>${shown}</span>`);
    }
  }
  return out;
}

const anchor = (text) => text.toLowerCase().replace(/[^a-z0-9 -]/g, '').trim().replace(/ +/g, '-');
const cells = (line) => line.trim().replace(/^\||\|$/g, '').split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'));
const ITEM = /^(\s*)([-*]|\d+\.)\s+(.*)$/;

// A list and what is indented below its items.
function list(lines, i) {
  const indent = ITEM.exec(lines[i])[1].length, ordered = /\d/.test(ITEM.exec(lines[i])[2]), items = [];
  while (i < lines.length) {
    const found = ITEM.exec(lines[i]);
    if (!found || found[1].length !== indent) break;
    const inner = [found[3]], deep = indent + found[2].length + 1;
    for (i++; i < lines.length && (lines[i].trim() === '' || /^\s*/.exec(lines[i])[0].length > indent); i++) inner.push(lines[i].slice(Math.min(deep, /^\s*/.exec(lines[i])[0].length)));
    items.push(inner);
  }
  const body = items.map((inner) => html`<li>${blocks(inner, true)}</li>`);
  return [ordered ? html`<ol>${body}</ol>` : html`<ul>${body}</ul>`, i];
}

function blocks(lines, isTight = false) {
  const out = [];
  for (let i = 0; i < lines.length;) {
    const line = lines[i], heading = /^(#{1,6})\s+(.*)$/.exec(line), fence = /^\s*```/.exec(line);
    if (line.trim() === '') i++;
    else if (fence) {
      const code = [];
      for (i++; i < lines.length && !/^\s*```/.test(lines[i]); i++) code.push(lines[i]);
      i++;
      out.push(html`<pre tabindex="0"><code>${code.join('\n')}</code></pre>`);
    } else if (/^ {4}\S/.test(line)) {
      const code = [];
      for (; i < lines.length && (/^ {4}/.test(lines[i]) || lines[i].trim() === ''); i++) code.push(lines[i].slice(4));
      out.push(html`<pre tabindex="0"><code>${code.join('\n').trimEnd()}</code></pre>`);
    } else if (heading) {
      const tag = `h${Math.min(heading[1].length, 4)}`;
      out.push(html`<${tag} id=${anchor(heading[2])}>${inline(heading[2])}<//>`);
      i++;
    } else if (/^\s*\|/.test(line) && /^\s*\|?\s*:?-+/.test(lines[i + 1] ?? '')) {
      const names = cells(line), rows = [];
      for (i += 2; i < lines.length && /^\s*\|/.test(lines[i]); i++) rows.push(cells(lines[i]));
      out.push(html`<div class="scroll" tabindex="0"><table><thead><tr>${names.map((n) => html`<th scope="col">${inline(n)}</th>`)}</tr></thead>
        <tbody>${rows.map((row) => html`<tr>${row.map((cell) => html`<td>${inline(cell)}</td>`)}</tr>`)}</tbody></table></div>`);
    } else if (ITEM.test(line)) {
      const [vnode, next] = list(lines, i);
      out.push(vnode);
      i = next;
    } else {
      const text = [];
      for (; i < lines.length && lines[i].trim() !== '' && !/^\s*```|^#{1,6}\s/.test(lines[i]) && !ITEM.test(lines[i]); i++) text.push(lines[i].trim());
      out.push(isTight && out.length === 0 ? html`<span>${inline(text.join(' '))}</span>` : html`<p>${inline(text.join(' '))}</p>`);
    }
  }
  return out;
}

// Comments are for who edits the document.
export const markdown = (text) => blocks(text.replace(/<!--[\s\S]*?-->/g, '').split('\n'));
