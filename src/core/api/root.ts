import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { sendJson } from '../http/answer.ts';
import { version } from '../version.ts';

const style = `body { font: 16px/1.5 system-ui, sans-serif; max-width: 38rem; margin: 3rem auto; padding: 0 1rem; color: #222 }
li { margin: .5rem 0 }
a { color: #7b3f1d }
`;

function page(hasDemo: boolean): string {
	const shop = hasDemo ? '\n<li><a href="demo/">The demo shop</a>: a small site that uses the tag</li>' : '';
	return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Caskade</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="root.css">
<h1>Caskade</h1>
<p>This is a server of Caskade ${version}. It stores subscription events and serves visitor scores and segments.</p>
<ul>
<li><a href="docs/">The documentation</a>, with a search</li>
<li><a href="docs/api">The HTTP reference</a>, for programs <a href="openapi.json">openapi.json</a></li>${shop}
</ul>
<p>For administrators: <code>caskade status</code> shows its state, and <code>caskade --help</code> lists every command.</p>
</html>
`;
}

const headers = {
	'content-security-policy':
		"default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	'x-content-type-options': 'nosniff',
	vary: 'accept',
};

/** `GET /`: what runs here, as a page for browsers and as JSON for everybody else. */
export function root(app: FastifyInstance, hasDemo: boolean): void {
	const { prefix } = app;
	const html = page(hasDemo);
	const json = JSON.stringify({
		name: 'Caskade',
		version,
		docs: `${prefix}/docs/`,
		openapi: `${prefix}/openapi.json`,
		...(hasDemo && { demo: `${prefix}/demo/` }),
	});
	const answer = (request: FastifyRequest, reply: FastifyReply) => {
		const { accept = '' } = request.headers;
		reply.headers(headers);
		if (!accept.includes('text/html') || accept.includes('application/json')) sendJson(reply, 200, json);
		else if (request.url.split('?', 1)[0] === prefix) reply.redirect(`${prefix}/`);
		else reply.type('text/html; charset=utf-8').send(html);
	};
	// Two routes, because of one for both the framework would report only one.
	for (const prefixTrailingSlash of prefix ? (['slash', 'no-slash'] as const) : (['slash'] as const))
		app.get('/', { prefixTrailingSlash }, answer);
	app.get('/root.css', (_request, reply) =>
		reply.headers(headers).type('text/css; charset=utf-8').send(style),
	);
}
