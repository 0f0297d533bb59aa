import { generate } from 'selfsigned';
import { dayMs } from '../durations.ts';

/** A certificate chain, leaf first, and its private key; both PEM. */
export interface CertificatePair {
	readonly cert: string;
	readonly key: string;
}

/** Generates a key and a self-signed certificate for this machine's loopback names, for trying out HTTPS. */
export async function selfSignedPair(nowMs = Date.now()): Promise<CertificatePair> {
	const pair = await generate([{ name: 'commonName', value: 'Caskade, self-signed' }], {
		keyType: 'ec',
		curve: 'P-256',
		algorithm: 'sha256',
		notBeforeDate: new Date(nowMs - dayMs),
		notAfterDate: new Date(nowMs + 365 * dayMs),
		extensions: [
			{
				name: 'subjectAltName',
				altNames: [
					{ type: 2, value: 'localhost' },
					{ type: 7, ip: '127.0.0.1' },
					{ type: 7, ip: '::1' },
				],
			},
			{ name: 'basicConstraints', cA: false, critical: true },
			{ name: 'extKeyUsage', serverAuth: true },
		],
	});
	return { cert: pair.cert, key: pair.private };
}
