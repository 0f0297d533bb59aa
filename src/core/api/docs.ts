import { readFile } from 'node:fs/promises';
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
const docsScript = `SwaggerUIBundle({
	url: '../openapi.json', dom_id: '#reference', deepLinking: true, docExpansion: 'full',
	supportedSubmitMethods: [], validatorUrl: null,
});
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
	const add = (path: string, type: string, content: () => string | Promise<Buffer>) =>
		app.get(path, async (_request, reply) =>
			reply
				.headers(headers)
				.type(type)
				.send(await content()),
		);
	add('/docs/api', 'text/html; charset=utf-8', () => docsPage);
	add('/docs/api/start.js', 'text/javascript; charset=utf-8', () => docsScript);
	const addFile = (name: string, type: string) => {
		// Read once, so that many who ask, and take it slowly, share it.
		let file: Promise<Buffer> | undefined;
		add(`/docs/api/${name}`, type, () => {
			file ??= readFile(join(folder, name)).catch((error) => {
				file = undefined;
				throw error;
			});
			return file;
		});
	};
	addFile('swagger-ui.css', 'text/css; charset=utf-8');
	addFile('swagger-ui-bundle.js', 'text/javascript; charset=utf-8');
}
