import type { FastifyInstance } from 'fastify';
import { dayMs } from '../durations.ts';

/** RFC 9116 wants less than a year, so that nobody believes an address that is no longer read. */
const validMs = 180 * dayMs;

/** `GET /.well-known/security.txt`: whom to tell of a weakness, as the operator has said. */
export function securityText(app: FastifyInstance, contact: string, now: () => number): void {
	app.get('/.well-known/security.txt', (_request, reply) => {
		const expires = new Date(now() + validMs).toISOString();
		reply.type('text/plain; charset=utf-8').send(`Contact: ${contact}\nExpires: ${expires}\n`);
	});
}
