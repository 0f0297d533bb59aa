/**
 * `node bench/nodes.ts [SECONDS] [SHARE]` compares how much two PostgreSQL nodes store with how much one does, when each may use
 * this share of a core (0.2 by default), so that Caskade and the clients beside them are no limit. The nodes are plain servers with
 * an account each. Needs root on Linux, for the limits (control groups).
 */

import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openStore } from '../src/assembly/open-store.ts';
import type { ServingWriter } from '../src/core/store/serving.ts';
import { subscriptionEvent, upload } from '../test/core/store/engines.ts';
import { hit } from '../test/core/store/made-hits.ts';
import { createDatabase, type OwnPostgres, startOwnPostgres } from '../test/core/store/postgres/server.ts';

const seconds = Number(process.argv[2] ?? 10);
const share = Number(process.argv[3] ?? 0.2);
const rounds = 3;
/** Enough that a node never waits for work. */
const clientsPerNode = 32;
const eventsPerUpload = 30;
const periodUs = 20_000;

/** Limits what a server's later processes use together. @returns a function that removes the limit when they have ended */
function limit({ folder }: OwnPostgres, name: string): () => void {
	const pid = readFileSync(join(folder, 'postgres/postmaster.pid'), 'utf8').split('\n')[0] as string;
	const isFirstVersion = existsSync('/sys/fs/cgroup/cpu/cgroup.procs');
	const group = join(isFirstVersion ? '/sys/fs/cgroup/cpu' : '/sys/fs/cgroup', name);
	mkdirSync(group);
	const quotaUs = Math.round(share * periodUs);
	if (isFirstVersion) {
		writeFileSync(join(group, 'cpu.cfs_period_us'), `${periodUs}`);
		writeFileSync(join(group, 'cpu.cfs_quota_us'), `${quotaUs}`);
	} else writeFileSync(join(group, 'cpu.max'), `${quotaUs} ${periodUs}`);
	writeFileSync(join(group, 'cgroup.procs'), pid);
	return () => rmdirSync(group);
}

const kinds = {
	uploads: async (writer: ServingWriter, id: number) => {
		await upload(
			writer,
			id,
			Array.from({ length: eventsPerUpload }, () => subscriptionEvent()),
		);
	},
	hits: async (writer: ServingWriter, id: number) => {
		await writer.storeHit(id, hit());
	},
} as const;

const servers = await Promise.all([startOwnPostgres(), startOwnPostgres(), startOwnPostgres()]);
const [home, ...nodes] = servers as [OwnPostgres, OwnPostgres, OwnPostgres];
const unlimit = nodes.map((node, index) => limit(node, `caskade-bench-${process.pid}-${index}`));
const store = await openStore(await createDatabase(home));
try {
	const ids: number[] = [];
	for (const [index, node] of nodes.entries()) {
		const ownDatabase = await createDatabase(node);
		const account = { aid: `c-a-${index}`, client: 'bench', origins: [], ownDatabase };
		const { id } = await store.control.createAccount(account, (id) =>
			store.createAccountDatabase(id, ownDatabase),
		);
		ids.push(id);
	}
	const writer = await store.startWriting({
		onCommit() {},
		onError: (database, reason) => process.stderr.write(`${database}: ${reason}\n`),
		onNotice() {},
		onWaiting() {},
		onDeath() {},
	});
	const perSecond = async (send: (typeof kinds)['hits'], accounts: readonly number[]) => {
		let stored = 0;
		const beganMs = performance.now();
		const client = async (id: number) => {
			for (; performance.now() < beganMs + seconds * 1000; stored++) await send(writer, id);
		};
		await Promise.all(accounts.flatMap((id) => Array.from({ length: clientsPerNode }, () => client(id))));
		return stored / ((performance.now() - beganMs) / 1000);
	};
	for (const [kind, send] of Object.entries(kinds))
		for (let round = 1; round <= rounds; round++) {
			const ownBefore = process.cpuUsage();
			const one = await perSecond(send, ids.slice(0, 1));
			const two = await perSecond(send, ids);
			const { user, system } = process.cpuUsage(ownBefore);
			const own = ((user + system) / 1e6 / (2 * seconds)).toFixed(2);
			process.stdout.write(
				`${kind}, round ${round}: one node ${one.toFixed(0)} a second, two ${two.toFixed(0)}, ${(two / one).toFixed(2)} times (aim 1.8); this process ${own} cores\n`,
			);
		}
	await writer.stop();
} finally {
	await store.close();
	await Promise.all(servers.map((server) => server.stop()));
	for (const remove of unlimit) remove();
}
// What tests share would report that no test has run.
process.exit();
