import { createServer } from 'node:net';
import { OperatorError } from '../errors.ts';

/** Explains why a port cannot be listened on. */
export function portError(host: string, port: number, flag: string): (error: NodeJS.ErrnoException) => never {
	return (error) => {
		const reasons: Readonly<Record<string, string>> = {
			EADDRINUSE: `Port ${port} on ${host} is in use; choose another with ${flag}.`,
			EACCES: `Port ${port} requires privileges that this process lacks; choose one above 1023 with ${flag}.`,
			EADDRNOTAVAIL: `${host} is not an address of this machine.`,
			ENOTFOUND: `${host} is not an address of this machine.`,
			ENOTSUP: 'This system cannot share a port among threads, as Linux can; leave --workers out.',
		};
		throw new OperatorError(reasons[error.code ?? ''] ?? error.message, { cause: error });
	};
}

/**
 * Checks that no process uses a port. Threads that share it would not notice another process that shares it as well.
 * @throws OperatorError if the port is in use
 */
export async function requireFreePort(host: string, port: number): Promise<void> {
	const server = createServer();
	await new Promise<void>((resolve, reject) => {
		server.once('error', reject);
		server.listen({ host, port }, resolve);
	}).catch(portError(host, port, '--port'));
	await new Promise((resolve) => server.close(resolve));
}
