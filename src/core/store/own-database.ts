import { OperatorError } from '../errors.ts';

/**
 * Checks the address of an account's own database server.
 * @throws OperatorError, which does not repeat the address, because that may contain a password
 */
export function checkOwnDatabase(address: string): string {
	const url = URL.parse(address);
	if (!url || !/^postgres(ql)?:$/.test(url.protocol) || !url.hostname || url.pathname.length < 2)
		throw new OperatorError(
			"The address of an account's own database must be like postgres://user:password@host:port/database.",
		);
	return address;
}

/** The address without user, password and options, for lists and logs. */
export function shownAddress(address: string): string {
	const url = URL.parse(address);
	return url ? `postgres://${url.hostname}:${url.port || 5432}${url.pathname}` : 'postgres://…';
}
