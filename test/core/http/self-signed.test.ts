import assert from 'node:assert/strict';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createSecureServer } from 'node:http2';
import { get } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { dayMs } from '../../../src/core/durations.ts';
import { selfSignedPair } from '../../../src/core/http/self-signed.ts';
import { TestProcess } from '../../process.ts';
import { temporaryFolder } from '../../support.ts';

test('a self-signed certificate is of this machine alone, for a year', async () => {
	const nowMs = Date.UTC(2026, 10, 27, 15, 30);
	const { cert, key } = await selfSignedPair(nowMs);
	const certificate = new X509Certificate(cert);
	assert.ok(certificate.checkPrivateKey(createPrivateKey(key)));
	assert.ok(certificate.verify(certificate.publicKey));
	assert.equal(certificate.subject, 'CN=Caskade\\, self-signed');
	assert.equal(certificate.issuer, certificate.subject);
	assert.equal(certificate.subjectAltName, 'DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1');
	assert.equal(certificate.checkHost('example.com'), undefined);
	assert.equal(certificate.ca, false);
	assert.deepEqual(certificate.keyUsage, ['1.3.6.1.5.5.7.3.1']);
	assert.equal(certificate.validFromDate.getTime(), nowMs - dayMs);
	assert.equal(certificate.validToDate.getTime(), nowMs + 365 * dayMs);
	const other = new X509Certificate((await selfSignedPair(nowMs)).cert);
	assert.notEqual(other.serialNumber, certificate.serialNumber);
});

test('OpenSSL, and a client that trusts only it, accept it', async (t) => {
	const pair = await selfSignedPair();
	const file = join(temporaryFolder(t), 'cert.pem');
	writeFileSync(file, pair.cert);
	const options = ['-purpose', 'sslserver', '-verify_ip', '::1', '-x509_strict', '-check_ss_sig'];
	const openssl = await new TestProcess('openssl', ['verify', '-CAfile', file, ...options, file]).ended;
	assert.equal(openssl.stdout, `${file}: OK\n`, openssl.stderr);

	const server = createSecureServer({ ...pair, allowHTTP1: true }, (_, response) => response.end('hello'));
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	t.after(() => server.close());
	const { port } = server.address() as AddressInfo;
	for (const host of ['localhost', '127.0.0.1']) {
		const status = await new Promise((resolve, reject) =>
			get({ host, port, ca: pair.cert, agent: false }, (answer) => resolve(answer.resume().statusCode)).on(
				'error',
				reject,
			),
		);
		assert.equal(status, 200, host);
	}
});
