import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { currentTag } from '../collect/tag-versions.ts';

const folder = new URL('../collect/tag/', import.meta.url);
/** Pages without a pinned version get an update within minutes. */
const currentCaching = 'public, max-age=300, stale-while-revalidate=86400';
const versionCaching = 'public, max-age=31536000, immutable';

/** `GET /tag.js`: the current tag. */
export function tag(app: FastifyInstance, path = '/tag.js'): void {
	serveScript(app, path, currentTag, currentCaching);
}

/** `GET /tag.v1.js` and so on: each version of the tag as it was published. */
export function tagVersions(app: FastifyInstance): void {
	for (const file of readdirSync(folder).filter((name) => /^tag\.v\d+\.js$/.test(name)))
		serveScript(app, `/${file}`, file, versionCaching);
}

function serveScript(app: FastifyInstance, path: string, file: string, caching: string): void {
	const plain = readFileSync(new URL(file, folder));
	const hash = createHash('sha256').update(plain).digest('base64url').slice(0, 22);
	// Most versions are never asked for.
	let gzipped: Buffer | undefined;
	app.get(path, (request, reply) => {
		const takesGzip = /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/.test(request.headers['accept-encoding'] ?? '');
		const etag = `"${hash}${takesGzip ? '-gzip' : ''}"`;
		reply.headers({
			etag,
			'cache-control': caching,
			vary: 'accept-encoding',
			'access-control-allow-origin': '*',
			'cross-origin-resource-policy': 'cross-origin',
			'x-content-type-options': 'nosniff',
		});
		const known = request.headers['if-none-match']?.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
		if (known?.includes(etag) || known?.includes('*')) return reply.code(304).send();
		reply.type('text/javascript; charset=utf-8');
		if (!takesGzip) return reply.send(plain);
		gzipped ??= gzipSync(plain, { level: 9 });
		return reply.header('content-encoding', 'gzip').send(gzipped);
	});
}
