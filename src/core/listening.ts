import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { OperatorError } from './errors.ts';

/** Explains why a port cannot be listened on. */
export function portError(host: string, port: number, flag: string): (error: NodeJS.ErrnoException) => never {
	return (error) => {
		const reasons: Readonly<Record<string, string>> = {
			EADDRINUSE: `Port ${port} on ${host} is in use; choose another with ${flag}.`,
			EACCES: `Port ${port} requires privileges that this process lacks; choose one above 1023 with ${flag}.`,
			EADDRNOTAVAIL: `${host} is not an address of this machine.`,
			ENOTFOUND: `${host} is not an address of this machine.`,
		};
		throw new OperatorError(reasons[error.code ?? ''] ?? error.message, { cause: error });
	};
}

/** Refuses a public address without TLS, because API keys must not cross a network unencrypted. */
export function requireSafeAddress(host: string, isBehindProxy: boolean): void {
	const isLoopback = host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
	if (!isLoopback && !isBehindProxy)
		throw new OperatorError(
			`--host ${host} would accept API keys without TLS. Set --tls-cert and --tls-key, or put a proxy that terminates TLS in front and set --behind-proxy, or listen on 127.0.0.1.`,
		);
}

/** Interval for closing idle connections while stopping. */
const sweepEveryMs = 50;

/** @param forceAfterMs by then every request is answered. Only bodies that nobody waits for may still be open. */
export async function closeApp(app: FastifyInstance, forceAfterMs: number): Promise<void> {
	const force = setTimeout(() => app.server.closeAllConnections(), forceAfterMs);
	// A connection that was busy when closing began is kept alive by its answer. Node does not close it.
	const sweep = setInterval(() => app.server.closeIdleConnections(), sweepEveryMs);
	await app.close();
	clearInterval(sweep);
	clearTimeout(force);
}

export function originOf(app: FastifyInstance, isSecure: boolean): string {
	const { address, port, family } = app.server.address() as AddressInfo;
	return `${isSecure ? 'https' : 'http'}://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}

/** Where this machine reaches a server that listens on all its addresses. */
export function reachable(url: string): string {
	return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}
