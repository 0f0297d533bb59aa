import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { counted } from '../../../core/format/numbers.ts';
import { version } from '../../../core/version.ts';
import { type HtmlValue, html } from '../../../kit/format/html.ts';
import { type Document, type Documents, readDocuments, readPicture } from '../documents.ts';
import { maxFoundPages, search } from '../search.ts';

const style = readFileSync(new URL('../style.css', import.meta.url), 'utf8');
const kinds = {
	tutorial: 'Tutorial',
	'how-to': 'How-to',
	reference: 'Reference',
	explanation: 'Explanation',
};
const headers = {
	'content-security-policy':
		"default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
	'x-content-type-options': 'nosniff',
	'cache-control': 'no-cache',
};

/** The way from a page to the folder of all pages. */
function upFrom(path: string): string {
	return posix.relative(posix.dirname(`/${path}`), '/') || '.';
}

function menu(documents: Documents, current: string): HtmlValue {
	const up = upFrom(current);
	const link = ({ path, title }: Document) =>
		html`<li><a href="${up}/${path}"${path === current && html` aria-current="page"`}>${title}</a></li>\n`;
	return html`<nav aria-label="Documentation">
<form action="${up}/search" role="search"><label for="q">Search for</label> <input id="q" name="q" type="search" maxlength="100"> <button type="submit">Search</button></form>
<ul>${[...documents.values()].filter(({ path }) => path === '').map(link)}<li><a href="${up}/api">HTTP API, operation by operation</a></li></ul>
${Object.entries(kinds).map(
	([folder, name]) => html`<h2>${name}</h2>
<ul>${[...documents.values()].filter(({ path }) => path.startsWith(`${folder}/`)).map(link)}</ul>
`,
)}</nav>`;
}

/** @param content markup of a page, which is the project's own */
function pageOf(documents: Documents, path: string, title: string, content: string): string {
	const up = upFrom(path);
	return `${html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title} · Caskade</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${up}/style.css">
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
${menu(documents, path)}
<main id="main">
`}${content}${html`
<footer><p>Caskade ${version}${documents.has(path) && html` · <a href="${path === '' ? 'README.md' : `${posix.basename(path)}.md`}">this page as Markdown</a>`}</p></footer>
</main>
</body>
</html>
`}`;
}

function resultsOf(documents: Documents, query: string): string {
	const found = search(documents, query);
	return html`<h1>Search</h1>
<p role="status">${found.length === 0 ? `No results for “${query}”` : `${found.length === maxFoundPages ? `The first ${maxFoundPages} results` : counted(found.length, 'result')} for “${query}”`}</p>
<ol>
${found.map(
	({
		document,
		section,
		excerpt,
	}) => html`<li><a href="${document.path || '.'}#${section.anchor}">${document.title}${section.heading !== document.title && ` · ${section.heading}`}</a><br>${excerpt} …</li>
`,
)}</ol>`.toString();
}

/** The start page for programs: https://llmstxt.org. */
function llmsText(documents: Documents, prefix: string): string {
	const start = documents.get('')?.markdown() ?? '';
	const absolute = start.replaceAll(/\]\((?!https?:)/g, `](${prefix}/docs/`);
	return `${absolute.trimEnd()}

## For programs

- [OpenAPI 3.1 of this server, Caskade ${version}](${prefix}/openapi.json)
`;
}

/** `GET /docs/`: the documentation of what runs here, as pages with a search and as Markdown, and `GET /llms.txt`. */
export function documentationPages(app: FastifyInstance): void {
	let read: Promise<Documents> | undefined;
	const all = () => {
		read ??= readDocuments().catch((error) => {
			read = undefined;
			throw error;
		});
		return read;
	};
	const send = (reply: FastifyReply, type: string, body: string | Buffer) =>
		reply
			.headers(headers)
			.type(type.startsWith('text') ? `${type}; charset=utf-8` : type)
			.send(body);

	app.get('/docs', (_request, reply) => reply.redirect(`${app.prefix}/docs/`));
	app.get('/docs/style.css', (_request, reply) => send(reply, 'text/css', style));
	app.get<{ Querystring: { q?: string | string[] } }>('/docs/search', async ({ query }, reply) => {
		const asked = [query.q ?? ''].flat().join(' ').slice(0, 100);
		const documents = await all();
		return send(reply, 'text/html', pageOf(documents, 'search', 'Search', resultsOf(documents, asked)));
	});
	app.get<{ Params: { '*': string } }>('/docs/*', async ({ params }, reply) => {
		const path = params['*'];
		const documents = await all();
		const document = documents.get(path);
		if (document && !path.endsWith('README'))
			return send(reply, 'text/html', pageOf(documents, path, document.title, document.html()));
		const source = path === 'README.md' ? documents.get('') : documents.get(path.replace(/\.md$/, ''));
		if (source && path.endsWith('.md')) return send(reply, 'text/markdown', source.markdown());
		const picture = await readPicture(path);
		if (picture) return send(reply, 'image/png', picture);
		if (documents.has(path.replace(/\/$/, ''))) return reply.redirect(`../${posix.basename(path)}`);
		const nothing =
			'<h1>There is no such page</h1>\n<p>The search and the list of all pages may have it.</p>';
		return send(reply.code(404), 'text/html', pageOf(documents, path, 'There is no such page', nothing));
	});
	app.get('/llms.txt', async (_request, reply) =>
		send(reply, 'text/plain', llmsText(await all(), app.prefix)),
	);
}
