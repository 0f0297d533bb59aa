import { existsSync } from 'node:fs';
import { glob, readFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import type { Marked } from 'marked';
import { asWritten, html } from '../../kit/format/html.ts';

/** As in the repository, so in the package. */
const project = join(import.meta.dirname, '../../..');
const start = 'docs/README.md';
/** Pages that lie elsewhere, and where they are served. */
const others: Readonly<Record<string, string>> = {
	'CHANGELOG.md': 'changelog',
	'SECURITY.md': 'security',
	'client/README.md': 'client',
	'client/tag/README.md': 'client-tag',
};
const linkOrCode = /^```.*?^```|!?\[([^\]]*)\]\(([^)\s]+)\)/gms;

/** What stands below one heading. */
export interface Section {
	readonly anchor: string;
	readonly heading: string;
	/** Without markup. */
	readonly text: string;
	/** The text without markup in lower case, for the search. */
	readonly searched: string;
}

export interface Document {
	/** Below `docs/`, without `.md`; empty for the start page. */
	readonly path: string;
	readonly title: string;
	readonly sections: readonly Section[];
	/** The page's content. Rendered when it is first asked for: all at once would keep requests waiting. */
	html(): string;
	/** The page for programs. Links lead to others of its kind; where there is none, the name stays. */
	markdown(): string;
}

/** All pages by their paths, those of the start page first. */
export type Documents = ReadonlyMap<string, Document>;

function pathOf(source: string): string {
	return others[source] ?? (source === start ? '' : source.slice('docs/'.length, -'.md'.length));
}

/** The anchor of a heading, as GitHub makes it. */
function anchorOf(heading: string): string {
	return heading
		.toLowerCase()
		.replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
		.replaceAll(' ', '-');
}

function plain(text: string): string {
	return text.replaceAll(/\]\([^)]*\)|^```.*|^[-|\s]+$|[`*[\]|]|^[-#>\s:]+/gm, ' ').replaceAll(/\s+/g, ' ');
}

function sectionsOf(text: string): Section[] {
	const withoutCode = text.replaceAll(/^```.*?^```/gms, (code) => code.replaceAll(/^#/gm, ' #'));
	return withoutCode.split(/^(?=#+ )/m).map((part) => {
		const [first = '', ...rest] = part.split('\n');
		const heading = first.replace(/^#+ /, '').replaceAll('`', '');
		const text = plain(rest.join('\n'));
		return { anchor: anchorOf(heading), heading, text, searched: text.toLowerCase() };
	});
}

/** Where a link of a page leads, from this page; undefined where it leads to what is not served. @param end of pages' names */
function hrefFrom(source: string, href: string, sources: ReadonlySet<string>, end = ''): string | undefined {
	if (/^(https?:|mailto:|#)/.test(href)) return href;
	const [path = '', anchor] = href.split('#');
	const target = posix.join(posix.dirname(source), path);
	const isImage = /\.png$/.test(target) && existsSync(join(project, target));
	if (!isImage && !sources.has(target)) return undefined;
	const page = end === '' ? pathOf(target) : `${pathOf(target) || 'README'}${end}`;
	const served = isImage ? target.slice('docs/'.length) : page;
	const from = posix.dirname(`docs/${pathOf(source) || 'start'}`);
	const relative = posix.relative(from, `docs/${served}`) || '.';
	return `${served === '' ? `${relative}/` : relative}${anchor === undefined ? '' : `#${anchor}`}`;
}

function rendererOf(marked: Marked, source: string, sources: ReadonlySet<string>): Marked {
	return marked.use({
		renderer: {
			heading({ tokens, depth, text }) {
				const anchor = anchorOf(text);
				return `<h${depth} id="${anchor}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
			},
			link({ href, tokens }) {
				const target = hrefFrom(source, href, sources);
				const text = this.parser.parseInline(tokens);
				return target === undefined ? text : `${html`<a href="${target}">`}${text}</a>`;
			},
			image({ href, text }) {
				const target = hrefFrom(source, href, sources);
				return target === undefined ? '' : html`<img src="${target}" alt="${text}">`.toString();
			},
			code({ text }) {
				return html`<pre tabindex="0"><code>${asWritten(text)}</code></pre>\n`.toString();
			},
			table({ header, rows }) {
				const cell = ({ tokens, text }: (typeof header)[number], isHeading = false) => {
					const [open, close] = isHeading && text !== '' ? ['<th scope="col">', '</th>'] : ['<td>', '</td>'];
					return `${open}${this.parser.parseInline(tokens)}${close}`;
				};
				const isHeaded = header.some(({ text }) => text !== '');
				const head = `<thead><tr>${header.map((each) => cell(each, true)).join('')}</tr></thead>`;
				const body = rows.map((row) => `<tr>${row.map((each) => cell(each)).join('')}</tr>`);
				return `<div class="table" tabindex="0"><table>${isHeaded ? head : ''}<tbody>\n${body.join('\n')}\n</tbody></table></div>\n`;
			},
		},
	});
}

/** Reads all pages. */
export async function readDocuments(): Promise<Documents> {
	const { Marked } = await import('marked');
	const found = await Array.fromAsync(glob('docs/**/*.md', { cwd: project }));
	const sources = new Set(
		[...found, ...Object.keys(others)].filter((source) => existsSync(join(project, source))),
	);
	const first = await readFile(join(project, start), 'utf8');
	const place = (source: string) => {
		const at = first.lastIndexOf(`](${posix.relative('docs', source)})`);
		return source === start ? -1 : at === -1 ? first.length : at;
	};
	const ordered = [...sources].sort((a, b) => place(a) - place(b) || (a < b ? -1 : 1));
	const documents = new Map<string, Document>();
	for (const source of ordered) {
		const text = await readFile(join(project, source), 'utf8');
		const sections = sectionsOf(text);
		const title = sections.find(({ heading }) => heading !== '')?.heading ?? source;
		let rendered: string | undefined;
		const html = () => {
			rendered ??= rendererOf(new Marked(), source, sources).parse(text, { async: false });
			return rendered;
		};
		const markdown = () =>
			text.replaceAll(linkOrCode, (whole: string, name: string, href?: string) => {
				const target = href && hrefFrom(source, href, sources, '.md');
				return href && !target ? name : whole.replace(`](${href})`, `](${target})`);
			});
		documents.set(pathOf(source), { path: pathOf(source), title, sections, html, markdown });
	}
	return documents;
}

/** A picture of the documentation; undefined where it is not shipped. */
export async function readPicture(path: string): Promise<Buffer | undefined> {
	if (!/^(?:[a-z-]+\/)+[a-z-]+\.png$/.test(path)) return undefined;
	return readFile(join(project, 'docs', path)).catch(() => undefined);
}
