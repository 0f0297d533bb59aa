import { text } from 'node:stream/consumers';
import { reasonOf } from '../../../core/errors.ts';
import { request } from '../../../core/node-http.ts';
import type { OpenStore } from '../../../core/store/store.ts';
import { command } from '../../../kit/cli/command.ts';
import { serverUrl } from '../../../kit/cli/flag-values.ts';
import { print, printRecord, withStore } from '../../../kit/cli/output.ts';
import { erasureListSetting } from '../../../kit/config.ts';
import { unusableModels } from '../../training/judge/model-versions.ts';
import { countMissing } from '../../visitors/store/erasing-again.ts';
import { waitingIn } from '../store/waiting-work.ts';

export const statusCommand = command('status', 'show the state of the running server')
	.description(
		`Print the address of the server on the data folder, its version and newest schemas, how long it has run, how
many requests wait for the store, how much background work waits, and when the last backup began. The exit
code is 1 if no server runs, or it is not ready.

On PostgreSQL, servers may be on other machines: their number is printed. --url asks one of them.`,
	)
	.option('--url <address>', 'print only what this server says: https://api.example.com', serverUrl)
	.setting(...erasureListSetting)
	.common()
	.action(async (options) => {
		const status: ServerStatus =
			options.url === undefined ? await withStore(options, statusOfStore) : await askServer(options.url);
		const { state, uptimeSeconds, modelsUnusable, erasuresMissing } = status;
		if (state !== 'ready' && state !== 'running') process.exitCode = 1;
		print(options, status, () =>
			printRecord({
				...status,
				...(uptimeSeconds !== undefined && {
					uptimeSeconds: `${uptimeSeconds} (${readable(uptimeSeconds)})`,
				}),
				...(modelsUnusable !== undefined && {
					modelsUnusable: `${modelsUnusable} (run 'caskade train AID', see 'caskade doctor')`,
				}),
				...(erasuresMissing !== undefined && {
					erasuresMissing: `${erasuresMissing} (run 'caskade visitor erase-again')`,
				}),
			}),
		);
	});

interface ServerStatus {
	/** `ready`, or why not. */
	readonly state: string;
	readonly uptimeSeconds?: number;
	readonly modelsUnusable?: number;
	readonly erasuresMissing?: number;
}

async function statusOfStore(store: OpenStore) {
	const { servers, url, lastBackupAt = null, collation } = await store.status();
	const idle = store.takesManyServers ? 'running' : 'starting';
	const server = url === undefined ? { state: servers > 0 ? idle : 'stopped' } : await askServer(url);
	return {
		...server,
		servers,
		...(await waitingIn(store)),
		...(await modelsIn(store)),
		...(await erasuresIn(store)),
		lastBackupAt,
		...(collation && { collation }),
	};
}

/** Only where something is wrong: it is for an operator to mend. */
async function modelsIn(store: OpenStore) {
	const { length } = await unusableModels(store);
	return length > 0 && { modelsUnusable: length };
}

async function erasuresIn(store: OpenStore) {
	const erasuresMissing = await countMissing(store);
	return erasuresMissing > 0 && { erasuresMissing };
}

/** What a server says of itself. */
async function askServer(url: string) {
	try {
		const { version, commit, schemas, startedAt, requestsWaiting } = await getJson(`${url}/healthz`);
		if (typeof startedAt !== 'string') return { url, state: 'another program answers' };
		const { status: state } = await getJson(`${url}/readyz`);
		const { control: controlSchema, accounts: accountSchema } = schemas;
		const uptimeSeconds = Math.max(0, Math.round((Date.now() - Date.parse(startedAt)) / 1000));
		const known = { version, commit, controlSchema, accountSchema, startedAt, uptimeSeconds };
		return { url, state, ...known, requestsWaiting };
	} catch (error) {
		return { url, state: `no answer (${(error as NodeJS.ErrnoException).code ?? reasonOf(error)})` };
	}
}

const answerTimeoutMs = 5000;

/** Nothing secret is sent or read, so a certificate may be for another name than that of this machine. */
// biome-ignore lint/suspicious/noExplicitAny: the answer may be of any program
function getJson(url: string): Promise<any> {
	const ask = url.startsWith('https:') ? process.getBuiltinModule('node:https').request : request;
	return new Promise((resolve, reject) => {
		const asked = ask(url, { timeout: answerTimeoutMs, rejectUnauthorized: false }, (response) => {
			text(response).then((answer) => resolve(parsed(answer)), reject);
		});
		asked.on('timeout', () => asked.destroy(new Error('timed out')));
		asked.on('error', reject).end();
	});
}

function parsed(answer: string): unknown {
	try {
		return JSON.parse(answer) ?? {};
	} catch {
		return {};
	}
}

/** For example `2 d 3 h 41 min`. */
function readable(seconds: number): string {
	const {
		days,
		hours,
		minutes,
		seconds: rest,
	} = Temporal.Duration.from({ seconds }).round({ largestUnit: 'days' });
	const parts = [days && `${days} d`, hours && `${hours} h`, minutes && `${minutes} min`];
	return parts.filter(Boolean).join(' ') || `${rest} s`;
}
