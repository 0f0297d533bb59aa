import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, cpSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, type TestContext, test } from 'node:test';
import pg from 'pg';
import { assertRefused, caskade } from '../../../../process.ts';
import { addClient, browserUserAgent, event, serveAt } from '../../../../support.ts';
import { openStore } from '../../../../whole.ts';
import { createDatabase, type OwnPostgres, startOwnPostgres } from '../server.ts';
import { becomes } from '../service.ts';

let server: OwnPostgres;
let admin: pg.Client;

/** Certificates are made by openssl, in the server's folder, so that they go with it. */
const fileOf = (name: string) => join(server.folder, 'certificates', name);

function makePair(name: string, subject: string, options: { authority?: string; names?: string }): void {
	const { authority, names } = options;
	const signer = authority && ['-CA', fileOf(`${authority}.pem`), '-CAkey', fileOf(`${authority}.key`)];
	execFileSync(
		'openssl',
		[
			...['req', '-x509', '-days', '2', '-subj', `/CN=${subject}`],
			...['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', ...(signer || [])],
			...(names === undefined ? [] : ['-addext', `subjectAltName=${names}`]),
			...['-keyout', fileOf(`${name}.key`), '-out', fileOf(`${name}.pem`)],
		],
		{ stdio: 'pipe' },
	);
}

/** Gives the server a certificate, from now on. */
async function useCertificate(name: string): Promise<void> {
	const folder = join(server.folder, 'postgres');
	const { uid, gid } = statSync(folder);
	for (const end of ['pem', 'key']) {
		cpSync(fileOf(`${name}.${end}`), join(folder, `server.${end}`));
		chownSync(join(folder, `server.${end}`), uid, gid);
		chmodSync(join(folder, `server.${end}`), 0o600);
	}
	await admin.query('SELECT pg_reload_conf()');
	const { port } = new URL(server.url);
	const subject = () =>
		execFileSync(
			'sh',
			['-c', 'openssl s_client -starttls postgres -connect "127.0.0.1:$0" </dev/null 2>/dev/null', port],
			{ encoding: 'utf8' },
		);
	await becomes(`the certificate is ${name}`, 5000, () => subject().includes(`CN = ${name}.test`));
}

/** A new database whose role may connect with TLS only, or with a certificate only. */
async function freshAddress(
	role: 'encrypted' | 'certified',
	parameters: Record<string, string>,
): Promise<string> {
	const url = new URL(await createDatabase(server));
	await admin.query(`ALTER DATABASE ${url.pathname.slice(1)} OWNER TO ${role}`);
	url.username = role;
	for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
	return url.href;
}

const verified = () => ({ sslmode: 'verify-full', sslrootcert: fileOf('authority.pem') });
const withCertificate = (name: string) => ({
	...verified(),
	sslcert: fileOf(`${name}.pem`),
	sslkey: fileOf(`${name}.key`),
});

/** Whether each connection of Caskade is encrypted. */
async function encryptions(address: string): Promise<boolean[]> {
	const { rows } = await admin.query(
		`SELECT ssl FROM pg_stat_activity JOIN pg_stat_ssl USING (pid)
		 WHERE datname = $1 AND application_name = 'caskade'`,
		[new URL(address).pathname.slice(1)],
	);
	return rows.map(({ ssl }) => ssl);
}

async function assertServes(t: TestContext, address: string): Promise<void> {
	const store = await openStore(address);
	const { aid, key } = await addClient(store);
	await store.close();
	const service = await serveAt(address);
	t.after(() => service.stop());
	const post = (path: string, body: unknown, headers: Record<string, string>) =>
		fetch(`${service.url}${path}`, {
			method: 'POST',
			headers: { 'content-type': 'application/json', ...headers },
			body: JSON.stringify(body),
		});
	assert.equal((await post('/subscription', { aid, data: [event()] }, { 'x-api-key': key })).status, 201);
	const hit = await post('/hit', { aid }, { 'user-agent': browserUserAgent });
	const { cask } = (await hit.json()) as { cask: string };
	assert.equal((await fetch(`${service.url}/visscores?cask=${cask}`)).status, 200);
	assert.equal((await caskade(['doctor', '--database', address])).code, 0);
	const found = await encryptions(address);
	assert.ok(found.length >= 5 && found.every((encrypted) => encrypted), found.join());
}

async function refused(address: string, sentence: RegExp): Promise<void> {
	assertRefused(await caskade(['doctor', '--database', address]), sentence);
}

suite('TLS to PostgreSQL', () => {
	before(async () => {
		server = await startOwnPostgres();
		admin = new pg.Client({ connectionString: server.url });
		await admin.connect();
		mkdirSync(fileOf(''));
		makePair('authority', 'authority', {});
		makePair('other-authority', 'other authority', {});
		makePair('good', 'good.test', { authority: 'authority', names: 'DNS:localhost,IP:127.0.0.1' });
		makePair('elsewhere', 'elsewhere.test', { authority: 'authority', names: 'DNS:db.elsewhere.test' });
		makePair('client', 'certified', { authority: 'authority' });
		makePair('stranger', 'certified', { authority: 'other-authority' });
		for (const role of ['encrypted', 'certified'])
			await admin.query(`CREATE ROLE ${role} LOGIN PASSWORD 'postgres'`);
		writeFileSync(
			join(server.folder, 'postgres/pg_hba.conf'),
			`hostssl all certified all password clientcert=verify-full
			 hostssl all encrypted all password
			 host all postgres all password`,
		);
		for (const [name, value] of [
			['ssl', 'on'],
			['ssl_cert_file', 'server.pem'],
			['ssl_key_file', 'server.key'],
			['ssl_ca_file', fileOf('authority.pem')],
		])
			await admin.query(`ALTER SYSTEM SET ${name} = '${value}'`);
		chmodSync(fileOf(''), 0o755);
		await useCertificate('good');
	});

	after(async () => {
		await admin.end();
		await server.stop();
	});

	test('every connection is encrypted, to a host by its name or number', async (t) => {
		const address = await freshAddress('encrypted', verified());
		await assertServes(t, address);
		const named = new URL(await freshAddress('encrypted', verified()));
		named.hostname = 'localhost';
		await assertServes(t, named.href);
	});

	test('a copy is encrypted, and so is a database of an account', async () => {
		const from = await freshAddress('encrypted', verified());
		const store = await openStore(from);
		await addClient(store);
		await store.close();
		const own = await freshAddress('encrypted', verified());
		const created = await caskade([
			...['account', 'create', 'c-a-own', '--client', 'own', '--own-database', own, '--database', from],
		]);
		assert.equal(created.code, 0, created.stderr);
		const to = await freshAddress('encrypted', verified());
		const copied = await caskade(['copy', '--from', from, '--to', to]);
		assert.equal(copied.code, 0, copied.stderr);
		assert.equal((await caskade(['doctor', '--database', to])).code, 0);
	});

	test('without TLS, the sentence says so', async () => {
		await refused(
			await freshAddress('encrypted', {}),
			/takes no connection without TLS: add sslmode=verify-full to the address\.$/m,
		);
		await admin.query("ALTER SYSTEM SET ssl = 'off'");
		await admin.query('SELECT pg_reload_conf()');
		const address = await freshAddress('encrypted', verified());
		await becomes('TLS is off', 5000, async () =>
			/takes no TLS: set ssl = on there/.test((await caskade(['doctor', '--database', address])).stderr),
		);
		await admin.query("ALTER SYSTEM SET ssl = 'on'");
		await useCertificate('good');
	});

	test('another authority and another name are refused', async () => {
		const unknown =
			/certificate of the PostgreSQL server at 127\.0\.0\.1:\d+ is not from a trusted authority/;
		await refused(await freshAddress('encrypted', { sslmode: 'verify-full' }), unknown);
		await refused(await freshAddress('encrypted', { sslmode: 'require' }), unknown);
		const other = { sslrootcert: fileOf('other-authority.pem') };
		await refused(await freshAddress('encrypted', { ...verified(), ...other }), unknown);
		await useCertificate('elsewhere');
		const [strict, authorityOnly, encryptedOnly] = [
			await freshAddress('encrypted', verified()),
			await freshAddress('encrypted', { ...verified(), sslmode: 'verify-ca' }),
			await freshAddress('encrypted', { sslmode: 'no-verify' }),
		];
		await refused(strict, /certificate of .* is for DNS:db\.elsewhere\.test, not for 127\.0\.0\.1\.\n$/);
		await (await openStore(authorityOnly)).close();
		await (await openStore(encryptedOnly)).close();
		await useCertificate('good');
	});

	test("a client's certificate is presented, and one of another authority is refused", async (t) => {
		await assertServes(t, await freshAddress('certified', withCertificate('client')));
		await refused(await freshAddress('certified', verified()), /requires a valid client certificate/);
		await refused(
			await freshAddress('certified', withCertificate('stranger')),
			/refuses the certificate in sslcert: .*unknown ca\.\n$/,
		);
	});

	test('a wrong parameter or file is named', async () => {
		for (const [parameters, sentence] of [
			[{ sslmode: 'prefer' }, /sslmode=prefer .* must be one of disable, no-verify, require/],
			[{ ...verified(), sslrootcert: '/none.pem' }, /sslrootcert=\/none\.pem cannot be read \(ENOENT\)/],
			[{ ...verified(), sslcert: fileOf('client.pem') }, /sslcert and sslkey .* go together/],
			[{ sslmode: 'verify-ca' }, /needs sslrootcert/],
			[{ ...withCertificate('client'), sslkey: fileOf('stranger.key') }, /cannot be used \(.*\): .*mismatch/],
		] as const)
			await refused(await freshAddress('encrypted', parameters), sentence);
	});

	test("a server without the files of an account's own database serves the others", async (t) => {
		const home = await freshAddress('encrypted', verified());
		const store = await openStore(home);
		const { aid, key } = await addClient(store);
		await store.close();
		cpSync(fileOf('authority.pem'), fileOf('passing.pem'));
		const own = await freshAddress('encrypted', { ...verified(), sslrootcert: fileOf('passing.pem') });
		const created = await caskade([
			...['account', 'create', 'c-a-own', '--client', 'acme', '--own-database', own, '--database', home],
		]);
		assert.equal(created.code, 0, created.stderr);
		rmSync(fileOf('passing.pem'));
		const logged: string[] = [];
		const service = await serveAt(home, {}, logged);
		t.after(() => service.stop());
		const upload = (to: string) =>
			fetch(`${service.url}/subscription`, {
				method: 'POST',
				headers: { 'content-type': 'application/json', 'x-api-key': key },
				body: JSON.stringify({ aid: to, data: [event()] }),
			});
		const hit = () =>
			fetch(`${service.url}/hit`, {
				method: 'POST',
				headers: { 'content-type': 'application/json', 'user-agent': browserUserAgent },
				body: JSON.stringify({ aid: 'c-a-own' }),
			});
		assert.equal((await hit()).status, 500);
		assert.equal((await upload('c-a-own')).status, 500);
		assert.equal((await upload(aid)).status, 201);
		assert.match(logged.join(''), /passing\.pem cannot be read/);
		const { stdout, code } = await caskade(['doctor', '--database', home]);
		assert.equal(code, 1);
		assert.match(stdout, /CARE +account c-a-own: .*passing\.pem cannot be read \(ENOENT\)/);
	});

	test('renewed certificates are read again, and a missing one is no failure', async (t) => {
		makePair('renewed', 'certified', { authority: 'authority' });
		const address = await freshAddress('certified', withCertificate('renewed'));
		const service = await serveAt(address);
		t.after(() => service.stop());
		const isReady = async () => (await fetch(`${service.url}/readyz`)).status === 200;
		const cutAll = () =>
			admin.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1', ['certified']);
		const serialOf = async () => {
			const { rows } = await admin.query(
				'SELECT max(client_serial::text) AS serial FROM pg_stat_activity JOIN pg_stat_ssl USING (pid) WHERE usename = $1',
				['certified'],
			);
			return rows[0].serial;
		};
		const before = await serialOf();
		rmSync(fileOf('renewed.key'));
		await cutAll();
		await becomes('ready without the file', 10_000, isReady);
		assert.equal(await serialOf(), before);
		makePair('renewed', 'certified', { authority: 'authority' });
		await becomes('the new one is used', 10_000, async () => {
			const serial = await serialOf();
			// A connection that was being made when all were cut has the old one, and keeps it.
			if (serial === before) await cutAll();
			return serial !== null && serial !== before && isReady();
		});
	});
});
