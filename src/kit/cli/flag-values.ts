import { InvalidArgumentError } from 'commander';
import { matching } from '../config.ts';

/** Parses a flag's address of a server. */
export function serverUrl(value: string): string {
	const url = URL.parse(value);
	if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username)
		throw new InvalidArgumentError('It must be the address of a server, for example http://127.0.0.1:8080.');
	return url.href.replace(/\/$/, '');
}

/** Parses a `vid` or `sid`. */
export const visitorId = matching(/^[0-9a-f]{32}$/, 'It must be 32 lower-case hexadecimal digits.');
