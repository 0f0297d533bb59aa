import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';

const folder = join(import.meta.dirname, '../../../../demo');

/** The shop's own files, the tag and its hits alone. */
const policy =
	"default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** `GET /demo/`: a small shop that uses the tag. Each file has its own route, so no other file can be reached. */
export async function demoShop(app: FastifyInstance): Promise<void> {
	const { default: fastifyStatic } = await import('@fastify/static');
	await app.register(fastifyStatic, {
		root: folder,
		prefix: '/demo/',
		wildcard: false,
		globIgnore: ['**/*.ts', '**/*.png'],
		redirect: true,
		decorateReply: false,
		acceptRanges: false,
		cacheControl: false,
		setHeaders: (reply) => {
			reply.setHeader('cache-control', 'no-cache');
			reply.setHeader('x-content-type-options', 'nosniff');
			reply.setHeader('content-security-policy', policy);
		},
	});
}
