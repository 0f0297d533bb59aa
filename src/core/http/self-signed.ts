import { generateKeyPair, randomBytes, sign } from 'node:crypto';
import { promisify } from 'node:util';
import { dayMs } from '../durations.ts';

/** A certificate chain, leaf first, and its private key; both PEM. */
export interface CertificatePair {
	readonly cert: string;
	readonly key: string;
}

/** Tags of DER, the notation of certificates. */
const tags = {
	boolean: 0x01,
	integer: 0x02,
	bits: 0x03,
	bytes: 0x04,
	id: 0x06,
	text: 0x0c,
	utcTime: 0x17,
	list: 0x30,
	set: 0x31,
	dnsName: 0x82,
	address: 0x87,
	version: 0xa0,
	extensions: 0xa3,
} as const;

function der(tag: keyof typeof tags, ...parts: readonly (Uint8Array | readonly number[] | string)[]): Buffer {
	const content = Buffer.concat(parts.map((part) => Buffer.from(part as Uint8Array)));
	const { length } = content;
	// From 128 on, the length of the length comes first.
	const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
	return Buffer.concat([Buffer.from([tags[tag], ...size]), content]);
}

const id = (hex: string) => der('id', Buffer.from(hex, 'hex'));
const ecdsaWithSha256 = der('list', id('2a8648ce3d040302'));
const commonName = id('550403');
const name = der('list', der('set', der('list', commonName, der('text', 'Caskade, self-signed'))));

const loopback = [
	der('dnsName', 'localhost'),
	der('address', [127, 0, 0, 1]),
	der('address', Buffer.from('1'.padStart(32, '0'), 'hex')),
];
const subjectAltName = der('list', id('551d11'), der('bytes', der('list', ...loopback)));
/** Of no authority; critical. */
const basicConstraints = der('list', id('551d13'), der('boolean', [255]), der('bytes', der('list')));
const serverAuth = id('2b06010505070301');
const extKeyUsage = der('list', id('551d25'), der('bytes', der('list', serverAuth)));

/** For example 261127153000Z; until 2049, as RFC 5280 has it. */
const time = (ms: number) => der('utcTime', new Date(ms).toISOString().replaceAll(/^..|[-:T]|\.\d+/g, ''));

/** Generates a key and a self-signed certificate (RFC 5280) for this machine's loopback names, for trying out HTTPS. */
export async function selfSignedPair(nowMs = Date.now()): Promise<CertificatePair> {
	const { publicKey, privateKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' });
	const signed = der(
		'list',
		der('version', der('integer', [2])),
		// The first byte makes it positive, and says nothing else.
		der('integer', [1], randomBytes(16)),
		ecdsaWithSha256,
		name,
		der('list', time(nowMs - dayMs), time(nowMs + 365 * dayMs)),
		name,
		publicKey.export({ type: 'spki', format: 'der' }),
		der('extensions', der('list', subjectAltName, basicConstraints, extKeyUsage)),
	);
	const signature = der('bits', [0], sign('sha256', signed, privateKey));
	const base64 = der('list', signed, ecdsaWithSha256, signature)
		.toString('base64')
		.replaceAll(/.{64}/g, '$&\n');
	return {
		cert: `-----BEGIN CERTIFICATE-----\n${base64.trim()}\n-----END CERTIFICATE-----\n`,
		key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
	};
}
