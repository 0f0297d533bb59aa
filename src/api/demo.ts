import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { FastifyInstance } from 'fastify';

const folder = join(import.meta.dirname, '../../demo');

const types: Readonly<Record<string, string>> = {
	'.html': 'text/html; charset=utf-8',
	'.css': 'text/css; charset=utf-8',
	'.js': 'text/javascript; charset=utf-8',
};

/** `GET /demo/`, a small shop that uses the tag. Each file is a route of its own, so nothing else can be reached. */
export function demo(app: FastifyInstance): void {
	for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
		const type = types[extname(file)];
		if (type === undefined) continue;
		const path = `/demo/${file.replaceAll('\\', '/')}`.replace(/\/index\.html$/, '/');
		const body = readFileSync(join(folder, file));
		app.get(path, { schema: { hide: true } }, (_request, reply) =>
			reply
				.headers({ 'content-type': type, 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' })
				.send(body),
		);
		// Relative links need the slash.
		if (path.endsWith('/'))
			app.get(path.slice(0, -1), { schema: { hide: true } }, (_request, reply) =>
				reply.redirect(`${app.prefix}${path}`, 302),
			);
	}
}
