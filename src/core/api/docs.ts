import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { FastifyInstance } from 'fastify';

const docsPage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Caskade HTTP API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="api/swagger-ui.css">
<div id="reference"></div>
<script src="api/swagger-ui-bundle.js"></script>
<script src="api/start.js"></script>
</html>
`;

/** The service refuses browsers, so the page offers no "try it out". */
const docsScript = `SwaggerUIBundle({ url: '../openapi.json', dom_id: '#reference', deepLinking: true,
	docExpansion: 'full', supportedSubmitMethods: [], validatorUrl: null });
`;

const headers = {
	'content-security-policy':
		"default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	'x-content-type-options': 'nosniff',
};

/**
 * `GET /docs/api`: the reference, rendered by Swagger UI from the files of its package. The page loads nothing from other
 * servers.
 */
export function docs(app: FastifyInstance): void {
	const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
	const add = (path: string, type: string, content: () => string | Buffer) => {
		let kept: string | Buffer | undefined;
		app.get(`/docs/api${path}`, (_request, reply) => {
			// Read once, so that many who ask, and take it slowly, share it.
			kept ??= content();
			return reply.headers(headers).type(`${type}; charset=utf-8`).send(kept);
		});
	};
	const addFile = (name: string, type: string) =>
		add(`/${name}`, type, () => readFileSync(join(folder, name)));
	add('', 'text/html', () => docsPage);
	add('/start.js', 'text/javascript', () => docsScript);
	addFile('swagger-ui.css', 'text/css');
	addFile('swagger-ui-bundle.js', 'text/javascript');
}
