import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import type { CertificatePair } from './tls.ts';

/** Bytes of a value in ASN.1's DER. */
const der = (tag: number, ...content: Buffer[]): Buffer => {
	const body = Buffer.concat(content);
	const { length } = body;
	const head = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
	return Buffer.concat([Buffer.from([tag, ...head]), body]);
};
const sequence = (...content: Buffer[]) => der(0x30, ...content);
const set = (...content: Buffer[]) => der(0x31, ...content);
const integer = (bytes: Buffer) => der(0x02, bytes);
const octets = (content: Buffer) => der(0x04, content);
const bits = (content: Buffer) => der(0x03, Buffer.from([0]), content);
const utf8 = (text: string) => der(0x0c, Buffer.from(text));
const isTrue = Buffer.from([0x01, 0x01, 0xff]);
/** An object identifier, by the hexadecimal of its encoding. */
const identifier = (hex: string) => der(0x06, Buffer.from(hex, 'hex'));
/** `YYYYMMDDHHMMSSZ`. */
const time = (ms: number) =>
	der(0x18, Buffer.from(`${new Date(ms).toISOString().slice(0, 19).replace(/\D/g, '')}Z`));

const ecdsaWithSha256 = sequence(identifier('2a8648ce3d040302'));
const commonName = '550403';
const subjectAlternativeName = '551d11';
const basicConstraints = '551d13';
const extendedKeyUsage = '551d25';
const serverAuthentication = '2b06010505070301';
const dayMs = 86_400_000;

/**
 * A new key, and a certificate for this machine's loopback names that nobody vouches for: to try HTTPS out.
 * `node:crypto` signs, but makes no certificates; this is the little of RFC 5280 that one needs.
 */
export function selfSignedPair(nowMs = Date.now()): CertificatePair {
	const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
	const name = sequence(set(sequence(identifier(commonName), utf8('Caskade, self-signed'))));
	const body = sequence(
		der(0xa0, integer(Buffer.from([2]))),
		integer(Buffer.concat([Buffer.from([0x01]), randomBytes(15)])),
		ecdsaWithSha256,
		name,
		sequence(time(nowMs - dayMs), time(nowMs + 365 * dayMs)),
		name,
		publicKey.export({ type: 'spki', format: 'der' }),
		der(0xa3, sequence(...extensions())),
	);
	const signature = sign('sha256', body, privateKey);
	const certificate = sequence(body, ecdsaWithSha256, bits(signature));
	return {
		cert: `-----BEGIN CERTIFICATE-----\n${lines(certificate.toString('base64'))}-----END CERTIFICATE-----\n`,
		key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
	};
}

function extensions(): Buffer[] {
	const names = sequence(
		der(0x82, Buffer.from('localhost')),
		der(0x87, Buffer.from([127, 0, 0, 1])),
		der(0x87, Buffer.concat([Buffer.alloc(15), Buffer.from([1])])),
	);
	return [
		sequence(identifier(subjectAlternativeName), octets(names)),
		// It vouches for nobody else.
		sequence(identifier(basicConstraints), isTrue, octets(sequence())),
		sequence(identifier(extendedKeyUsage), octets(sequence(identifier(serverAuthentication)))),
	];
}

function lines(base64: string): string {
	return base64.replace(/.{1,64}/g, '$&\n');
}
