import { readFileSync } from 'node:fs';
import { type ConnectionOptions, createSecureContext } from 'node:tls';
import { OperatorError } from '../../../errors.ts';

/** The values of `sslmode`. All but the first two check the authority of the server's certificate. */
const modes = ['disable', 'no-verify', 'require', 'verify-ca', 'verify-full'];

/** What an address says about TLS. */
interface EncryptionSettings {
	/** The address without it. */
	readonly address: string;
	/** Reads the files, because certificates are renewed. Files that are being replaced are taken as they were. */
	readonly options: () => ConnectionOptions | false | undefined;
}

/** @throws OperatorError where a parameter is wrong, or a file cannot be used */
export function tlsOf(address: string): EncryptionSettings {
	const url = URL.parse(address);
	const take = (name: string) => {
		const value = url?.searchParams.get(name) ?? undefined;
		url?.searchParams.delete(name);
		return value;
	};
	const mode = take('sslmode');
	const files = { sslrootcert: take('sslrootcert'), sslcert: take('sslcert'), sslkey: take('sslkey') };
	if (!url || (mode === undefined && Object.values(files).every((file) => file === undefined)))
		return { address, options: () => undefined };
	if (mode !== undefined && !modes.includes(mode))
		throw new OperatorError(
			`sslmode=${mode} in the address of the database must be one of ${modes.join(', ')}.`,
		);
	if (mode === 'disable') return { address: url.href, options: () => false };
	if ((files.sslcert === undefined) !== (files.sslkey === undefined))
		throw new OperatorError('sslcert and sslkey in the address of the database go together: name both.');
	if (mode === 'verify-ca' && files.sslrootcert === undefined)
		throw new OperatorError(
			'sslmode=verify-ca in the address of the database needs sslrootcert: any public authority would do.',
		);
	const options: ConnectionOptions = {
		rejectUnauthorized: mode !== 'no-verify',
		...(mode === 'verify-ca' && { checkServerIdentity: () => undefined }),
	};
	const read = () => ({ ...options, secureContext: contextOf(files) });
	let latest = read();
	return {
		address: url.href,
		options() {
			try {
				latest = read();
			} catch {}
			return latest;
		},
	};
}

type Files = Record<'sslrootcert' | 'sslcert' | 'sslkey', string | undefined>;

function contextOf({ sslrootcert, sslcert, sslkey }: Files) {
	const contents = (name: keyof Files, file: string | undefined) => {
		try {
			return file && readFileSync(file);
		} catch (error) {
			throw new OperatorError(`${name}=${file} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
		}
	};
	// As psql writes it: the authorities that the system trusts.
	const ca = sslrootcert === 'system' ? undefined : contents('sslrootcert', sslrootcert);
	const [cert, key] = [contents('sslcert', sslcert), contents('sslkey', sslkey)];
	const shown = [sslrootcert, sslcert, sslkey].filter((file) => file !== undefined).join(', ');
	try {
		return createSecureContext({ ca, cert, key });
	} catch (error) {
		throw new OperatorError(
			`The certificates of the connection to the database cannot be used (${shown}): ${(error as Error).message}.`,
		);
	}
}

const unknownAuthority = new Set([
	...['SELF_SIGNED_CERT_IN_CHAIN', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
	...['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'UNABLE_TO_GET_ISSUER_CERT', 'CERT_SIGNATURE_FAILURE'],
]);

interface TlsError extends NodeJS.ErrnoException {
	/** Of a message from OpenSSL, without its place in the source. */
	readonly reason?: string;
	readonly cert?: { readonly subjectaltname?: string };
}

/** What is wrong with the encryption of a connection; `undefined` where something else is. */
export function tlsProblem(error: TlsError, server: string, host: string): string | undefined {
	const { code = '', message, cert } = error;
	if (unknownAuthority.has(code))
		return `The certificate of the PostgreSQL server at ${server} is not from a trusted authority: name the file with its authority's certificate in the address with sslrootcert.`;
	if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
		return `The certificate of the PostgreSQL server at ${server} is for ${cert?.subjectaltname || 'no name'}, not for ${host}.`;
	if (/^CERT_(HAS_EXPIRED|NOT_YET_VALID)$/.test(code))
		return `The certificate of the PostgreSQL server at ${server} cannot be used now: ${message}.`;
	if (/^ERR_SSL_.*ALERT/.test(code))
		return `The PostgreSQL server at ${server} refuses the certificate in sslcert: ${error.reason}.`;
	if (/no encryption$/.test(message))
		return `The PostgreSQL server at ${server} takes no connection without TLS: add sslmode=verify-full to the address.`;
	if (/does not support SSL/.test(message))
		return `The PostgreSQL server at ${server} takes no TLS: set ssl = on there, or sslmode=disable in the address.`;
	return undefined;
}
