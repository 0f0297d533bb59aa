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
