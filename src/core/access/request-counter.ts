import { LRUCache } from 'lru-cache';
import { countedBits, registers } from '../domain/distinct-count.ts';
import { type ExperimentGroup, experimentGroups } from '../domain/experiment-group.ts';
import { quarterHourMs } from '../durations.ts';
import type {
	ExperimentRead,
	RequestCounts,
	UploadAnswers,
	UploadProblem,
} from '../store/control/control-store.ts';

/** A crash loses so much of the counts at most. */
const recordEveryMs = 5000;
/** Of the problems of that time. The counts have all. */
const maxProblems = 100;

/** Outcomes that are only counted. */
const onlyCounted: ReadonlySet<string> = new Set([
	'stored',
	'simulated',
	'rate_limit_exceeded',
	'quota_exceeded',
	'forbidden',
]);

/** What was counted since it was last recorded. */
class UnrecordedCounts {
	/** When each key was used last. */
	keyUses = new Map<string, number>();
	experimentReads = new Map<string, ExperimentRead>();
	readonly uploadAnswers = new Map<string, UploadAnswers & { requests: number }>();
	uploadProblems: UploadProblem[] = [];

	/** On the way of each upload. */
	addAnswers(
		clientId: number,
		aid: string | null,
		cause: string,
		answeredMs: number,
		requests: number,
	): void {
		const atMs = answeredMs - (answeredMs % quarterHourMs);
		const name = `${clientId} ${aid} ${atMs} ${cause}`;
		const known = this.uploadAnswers.get(name);
		if (known) known.requests += requests;
		else this.uploadAnswers.set(name, { clientId, aid, cause, atMs, requests });
	}

	/** Takes back what could not be recorded. Later uses and reads count. */
	addEarlier(earlier: UnrecordedCounts): void {
		this.keyUses = new Map([...earlier.keyUses, ...this.keyUses]);
		this.experimentReads = new Map([...earlier.experimentReads, ...this.experimentReads]);
		for (const { clientId, aid, cause, atMs, requests } of earlier.uploadAnswers.values())
			this.addAnswers(clientId, aid, cause, atMs, requests);
		this.uploadProblems = [...earlier.uploadProblems, ...this.uploadProblems].slice(-maxProblems);
	}
}

/**
 * Counts what requests are to leave behind: when keys were used, visitors of experiments who ask for segments, and how
 * uploads are answered. In memory, and told to the store every few seconds, so that a request costs no write more.
 */
export class RequestCounter {
	readonly #record: (counts: RequestCounts) => Promise<void>;
	readonly #onError: (error: unknown) => void;
	readonly #timer: NodeJS.Timeout;
	#counted = new UnrecordedCounts();
	/**
	 * The highest rank of each register, by the experiment's secret: of treated visitors, then of those held out. Once most
	 * visitors were counted, there is nothing new to tell.
	 */
	readonly #ranks = new LRUCache<string, Uint8Array>({ max: 1000 });

	constructor(record: (counts: RequestCounts) => Promise<void>, onError: (error: unknown) => void) {
		this.#record = record;
		this.#onError = onError;
		this.#timer = setInterval(() => void this.#tell(), recordEveryMs).unref();
	}

	useKey(keyId: string, atMs: number): void {
		this.#counted.keyUses.set(keyId, atMs);
	}

	/** @param experiment.secret no other experiment has it */
	readExperiment(
		accountId: number,
		{ name, secret }: { readonly name: string; readonly secret: string },
		{ group, bits }: { readonly group: ExperimentGroup; readonly bits: number },
	): void {
		const { register, rank } = countedBits(bits);
		let ranks = this.#ranks.get(secret);
		if (!ranks) {
			ranks = new Uint8Array(experimentGroups.length * registers);
			this.#ranks.set(secret, ranks);
		}
		const place = register + registers * experimentGroups.indexOf(group);
		if ((ranks[place] as number) >= rank) return;
		ranks[place] = rank;
		const read = { accountId, experiment: name, group, register, rank };
		this.#counted.experimentReads.set(`${secret} ${place}`, read);
	}

	/** @param describe tells of a problem; of most answers only the number is kept */
	answerUpload(
		answered: Pick<UploadProblem, 'clientId' | 'aid' | 'cause' | 'atMs'>,
		describe: () => Pick<UploadProblem, 'requestId' | 'keyId' | 'detail'>,
	): void {
		const { clientId, aid, cause, atMs } = answered;
		this.#counted.addAnswers(clientId, aid, cause, atMs, 1);
		if (onlyCounted.has(cause)) return;
		const { uploadProblems } = this.#counted;
		uploadProblems.push({ ...answered, ...describe() });
		if (uploadProblems.length > maxProblems) uploadProblems.shift();
	}

	async #tell(): Promise<void> {
		const told = this.#counted;
		const { keyUses, experimentReads, uploadAnswers, uploadProblems } = told;
		// Each problem is among the answers.
		if (keyUses.size + experimentReads.size + uploadAnswers.size === 0) return;
		this.#counted = new UnrecordedCounts();
		try {
			await this.#record({
				keyUses: Array.from(keyUses, ([keyId, atMs]) => ({ keyId, atMs })),
				experimentReads: [...experimentReads.values()],
				uploadAnswers: [...uploadAnswers.values()],
				uploadProblems,
			});
		} catch (error) {
			this.#counted.addEarlier(told);
			this.#onError(error);
		}
	}

	/** To be called once no more requests are admitted. */
	async stop(): Promise<void> {
		clearInterval(this.#timer);
		await this.#tell();
	}
}
