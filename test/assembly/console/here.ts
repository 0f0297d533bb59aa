import assert from 'node:assert/strict';
import { type Console, createConsole } from '../../../src/assembly/console/console.ts';
import type { ConsoleOptions } from '../../../src/assembly/console/console-options.ts';
import { openStore } from '../../../src/assembly/open-store.ts';
import { newLoginLink } from '../../../src/capabilities/people/access/sign-in.ts';
import { runReport } from '../../../src/capabilities/reports/run-report.ts';
import type { TrainingJob } from '../../../src/capabilities/training/jobs/training-jobs.ts';
import { AccessDirectory } from '../../../src/core/access/directory.ts';
import { QueueFullError } from '../../../src/core/errors.ts';
import type { OpenStore } from '../../../src/core/store/store.ts';
import { assembled } from '../../../src/kit/assembled.ts';
import type { SsoSettings } from '../../../src/kit/console/exchange.ts';
import type { ComputeInBackground, ConsolePage } from '../../../src/kit/console/page.ts';
import { compute } from '../../../src/kit/jobs/compute.ts';
import type { ComputeJob } from '../../../src/kit/jobs/compute-jobs.ts';
import type { Grant, PersonRole } from '../../../src/kit/person.ts';
import type { ReportJob } from '../../../src/kit/reports/report-job.ts';
import { addAccount, type Engine } from '../../core/store/engines.ts';
import { parts } from '../../pages.ts';
import { caskade } from '../../process.ts';
import { type Lasting, temporaryFolder } from '../../support.ts';
import { Browser, consoleUrl } from './browser.ts';

export interface ConsoleHere {
	readonly store: OpenStore;
	readonly console: Console;
	readonly directory: AccessDirectory;
	readonly clock: { now: number; monotonicMs: number };
	/** What the console has told the log. */
	readonly errors: string[];
	/** Adds a person. @returns a link to sign in with */
	link(email: string, grants: readonly Grant[]): Promise<string>;
	/** Somebody who has signed in. */
	person(email: string, grants: readonly Grant[]): Promise<Browser>;
}

/**
 * Does the jobs of a console: trainings as its thread does, reports as the test makes them itself, and all others here, at the
 * time of the test.
 */
export const computeAt = (store: OpenStore, makeReport: (job: ReportJob) => Promise<object>) =>
	(async (job: ReportJob | TrainingJob, options: object) => {
		if (job.type === 'report') return JSON.stringify(await makeReport(job));
		if (job.type === 'training') return compute(store.place, { ...job, isInBackground: true }, options);
		const run = await assembled('computeJobs')[(job as ComputeJob).type]?.();
		return structuredClone(await run?.(store, structuredClone(job) as never, () => {}));
	}) as unknown as ComputeInBackground;

/** The console in this process, with the accounts `c-a-one` and `c-a-two`, and a clock that tests move. Figures are not made unless asked for. */
export async function consoleHere(
	t: Lasting,
	engine: Engine,
	settings: {
		sso?: SsoSettings;
		consoleUrl?: string;
		tagUrl?: string;
		makesReports?: boolean;
		pages?: readonly ConsolePage[];
	} = {},
): Promise<ConsoleHere> {
	const clock = { now: Date.UTC(2026, 10, 21, 10), monotonicMs: 0 };
	const database = await engine.installedAddress(t);
	const store = await openStore(database, { now: () => clock.now });
	t.after(() => store.close());
	for (const aid of ['c-a-one', 'c-a-two']) await addAccount(store, aid);
	const errors: string[] = [];
	const onError = (error: unknown) => errors.push(String(error));
	const directory = await AccessDirectory.load(store.control, onError);
	t.after(() => directory.stop());
	const console = createConsole({
		store,
		directory,
		onError,
		consoleUrl,
		now: () => clock.now,
		...settings,
		monotonicMs: () => clock.monotonicMs,
		parts: [...parts, { pages: settings.pages ?? [] }],
		compute: computeAt(store, async ({ account, query }) => {
			if (!settings.makesReports) throw new QueueFullError('no figures are made here');
			return runReport(store, account, query);
		}),
	});
	t.after(() => console.stop());
	const link = async (email: string, grants: readonly Grant[]) => {
		const person = await store.control.people.create(email, grants);
		return (await newLoginLink(store.control, person, settings.consoleUrl ?? consoleUrl)).link;
	};
	return {
		store,
		console,
		directory,
		clock,
		errors,
		link,
		async person(email, grants) {
			const browser = new Browser(console);
			await browser.open(await link(email, grants));
			return browser;
		},
	};
}

/** The console of a store, and a browser in which somebody with this role on all accounts has signed in. */
export async function consoleOf(
	t: Lasting,
	store: OpenStore,
	{
		role,
		...settings
	}: Pick<ConsoleOptions, 'compute' | 'waitMs' | 'onError'> &
		Partial<Pick<ConsoleOptions, 'now'>> & { readonly role: PersonRole },
): Promise<Browser> {
	const directory = await AccessDirectory.load(store.control, (error) =>
		settings.onError(error, 'directory'),
	);
	t.after(() => directory.stop());
	const console = createConsole({
		store,
		directory,
		consoleUrl,
		now: store.now,
		monotonicMs: () => performance.now(),
		parts,
		...settings,
	});
	t.after(() => console.stop());
	const person = await store.control.people.create('a@example.com', [{ aid: null, role }]);
	const browser = new Browser(console);
	await browser.open((await newLoginLink(store.control, person, consoleUrl)).link);
	return browser;
}

/** The console in this process with the account of the demo, at one moment for all pages, and somebody who has signed in. */
export async function consoleOfDemo(t: Lasting, visitors: number, role: PersonRole = 'operator') {
	const at = ['--database', `sqlite:${temporaryFolder(t)}/data`];
	assert.equal((await caskade(['demo', '--visitors', String(visitors), ...at])).code, 0);
	const store = await openStore(at[1] as string, {});
	t.after(() => store.close());
	const errors: unknown[] = [];
	const now = Date.now();
	const browser = await consoleOf(t, store, {
		role,
		now: () => now,
		onError: (error) => errors.push(error),
		compute: computeAt(store, ({ account, query }) => runReport(store, account, query)),
		waitMs: 60_000,
	});
	return { browser, store, errors, now, at };
}
