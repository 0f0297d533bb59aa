import assert from 'node:assert/strict';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { openStore } from '../../src/assembly/open-store.ts';
import { issueCask } from '../../src/core/access/cask.ts';
import type { CaskScope } from '../../src/core/domain/cask-scope.ts';
import type { SigningKey } from '../../src/core/domain/signing-key.ts';
import type { OpenStore } from '../../src/core/store/store.ts';
import { eventually } from '../eventually.ts';
import { ServeProcess } from '../process.ts';
import type { RawAnswer } from '../raw-http.ts';
import { addClient, browserUserAgent } from '../support.ts';

/** What a visitor gets with a hit. */
interface Visitor {
	readonly vid: string;
	readonly sid: string;
	readonly cask: string;
}

/** A client with an account, keys and a visitor of its own. */
export interface Party {
	readonly aid: string;
	/** A disabled account. */
	readonly disabledAid: string;
	readonly uploadKey: string;
	readonly readKey: string;
	readonly revokedKey: string;
	readonly expiredKey: string;
	readonly visitor: Visitor;
	readonly erasedCask: string;
}

/** A server with two clients, of whom one is the stranger who asks, and the other has what nobody else may see. */
export interface World {
	readonly server: ServeProcess;
	readonly store: OpenStore;
	readonly own: Party;
	readonly other: Party;
	readonly signingKeys: readonly SigningKey[];
	/** What no answer to the stranger may contain. */
	readonly secrets: readonly string[];
	/** What no line of the log may contain. */
	readonly unlogged: readonly string[];
}

/** Asks as an ordinary client does, over HTTP/1.1, whatever the certificate. @param line method and path */
export function ask(
	url: string,
	line: string,
	headers: Readonly<Record<string, string | string[]>> = {},
	body?: unknown,
): Promise<RawAnswer> {
	const [method, path = ''] = line.split(' ');
	const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>();
	const options = { method, rejectUnauthorized: false, agent: false };
	const request = (url.startsWith('https:') ? requestHttps : requestHttp)(
		`${url}${path}`,
		options,
		async (response) => {
			const chunks = await Array.fromAsync(response as AsyncIterable<Buffer>);
			const fields = Object.entries(response.headers).map(([name, value]): [string, string] => [
				name,
				String(value),
			]);
			const { statusCode: status = 0 } = response;
			resolve({ status, headers: new Headers(fields), body: Buffer.concat(chunks).toString() });
		},
	);
	request.on('error', reject);
	if (body !== undefined) request.setHeader('content-type', 'application/json');
	for (const [name, value] of Object.entries(headers)) request.setHeader(name, value);
	request.end(body === undefined ? undefined : JSON.stringify(body));
	return promise;
}

/** In what only the other client has. */
const marker = 'MARKER-OF-THE-OTHER';

/** The origin whose pages alone may fire hits of the other client's account. */
export const otherOrigin = 'https://other.example';

/** Starts a server on an empty database. */
export async function startWorld(address: string, flags: readonly string[] = []): Promise<World> {
	const stage = flags.includes('--stage') ? flags[flags.indexOf('--stage') + 1] : undefined;
	const store = await openStore(address, stage === undefined ? {} : { stage });
	const clients = [
		await addClient(store, { client: 'acme' }),
		await addClient(store, { client: 'other' }),
	] as const;
	await store.control.updateAccount(clients[1].aid, { origins: [otherOrigin] });
	const args = ['--database', address, '--log-level', 'debug', '--demo', '--hit-path', '/basket'];
	const limits = ['--hits-per-address', '1000000', '--hits-per-visitor', '1000000'];
	const server = await ServeProcess.start([...args, ...limits, ...flags]);
	const [own, other] = [
		await addParty(store, server, clients[0], 'OWN'),
		await addParty(store, server, clients[1], marker),
	];
	const signingKeys = await store.control.signingKeys();
	const keysOf = ({ uploadKey, readKey, revokedKey, expiredKey }: Party) => [
		uploadKey,
		readKey,
		revokedKey,
		expiredKey,
	];
	const hidden = [...signingKeys.map(({ secret }) => secret), address.replace(/^sqlite:/, '')];
	return {
		server,
		store,
		own,
		other,
		signingKeys,
		secrets: [...hidden, ...keysOf(own), ...keysOf(other), marker, other.visitor.vid, other.visitor.sid],
		unlogged: [
			...hidden,
			...keysOf(own),
			...keysOf(other),
			own.visitor.cask,
			other.visitor.cask,
			'eyJ',
			'CID',
		],
	};
}

async function addParty(
	store: OpenStore,
	server: ServeProcess,
	{ client, planName, aid, key: uploadKey }: Awaited<ReturnType<typeof addClient>>,
	label: string,
): Promise<Party> {
	const issue = async (options: object = {}) => (await store.control.issueKey(client, planName, options)).key;
	const readKey = await issue({ scope: 'read' });
	const { key: revokedKey, id } = await store.control.issueKey(client, planName);
	await store.control.revokeKey(id);
	const expiredKey = await issue({ expiresInMs: 1 });
	const disabledAid = `${aid}-closed`;
	await store.control.createAccount({ aid: disabledAid, client, origins: [] }, (number) =>
		store.createAccountDatabase(number),
	);
	await store.control.setAccountDisabled(disabledAid, true);
	const data = [
		{ tid: `${label}-TID`, subid: `${label}-SUB`, cid: `${label}-CID`, evt: 'newsletter', rvn: 499 },
	];
	const stored = () => ask(server.url, 'POST /subscription', { 'x-api-key': uploadKey }, { aid, data });
	await eventually('a new key', async () => (await stored()).status === 201, 5000);
	const hit = async () => {
		const headers = { 'user-agent': browserUserAgent, origin: otherOrigin };
		const events = [{ name: 'sale', tid: `${label}-TID` }];
		const body = { aid, url: 'https://shop.example/', events, cid: `${label}-CID` };
		const answer = await ask(server.url, 'POST /hit', headers, body);
		assert.equal(answer.status, 200, answer.body);
		return JSON.parse(answer.body) as Visitor;
	};
	const [visitor, erased] = [await hit(), await hit()];
	const account = await store.control.account(aid);
	await store.control.revokeCasks(account.id, [erased.vid], Date.now());
	return { aid, disabledAid, uploadKey, readKey, revokedKey, expiredKey, visitor, erasedCask: erased.cask };
}

/** A cask as this world signs them, of any moment. */
export function caskOf(
	{ signingKeys }: World,
	aid: string,
	scope: CaskScope,
	subject: string,
	issuedAtMs = Date.now(),
): string {
	return issueCask(signingKeys, { aid, scope, subject }, issuedAtMs).cask;
}

export async function endWorld({ server, store }: World): Promise<void> {
	await server.kill();
	await store.close();
}
