import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { linuxOnly } from '../core/store/sqlite/databases.ts';
import { eventually } from '../eventually.ts';
import { emptyInstallation, ServeProcess } from '../process.ts';

/** The aim is 130. */
const mostMiB = 140;
const mostThreads = 9;

test('an idle server takes little memory and few threads', linuxOnly, async (t) => {
	const at = await emptyInstallation(t);
	// The files themselves, as operators run them.
	const rested = async () => {
		const server = await ServeProcess.start(at, { NODE_OPTIONS: '' });
		const { pid } = server.child;
		const threads = () =>
			readdirSync(`/proc/${pid}/task`).map((thread) =>
				readFileSync(`/proc/${pid}/task/${thread}/comm`, 'utf8').trim(),
			);
		const residentMiB = () => {
			const [, kiB] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
			return Number(kiB) / 1024;
		};
		await eventually('background work has begun', () => threads().includes('background'), 5000);
		await delay(8000);
		return { server, threads, residentMiB };
	};
	// The first start compiles, each thread what it loads.
	await (await rested()).server.kill('SIGTERM');
	const { server, threads, residentMiB } = await rested();
	t.after(() => server.kill());
	await eventually(`at most ${mostMiB} MiB`, () => residentMiB() <= mostMiB, 1000);
	t.diagnostic(`${residentMiB().toFixed(0)} MiB; ${threads().sort().join(', ')}`);
	const own = threads().filter((name) => !/^(node-V8Worker|DelayedTaskSche|SignalInspector)/.test(name));
	assert.ok(own.length <= mostThreads, own.join(', '));
});
