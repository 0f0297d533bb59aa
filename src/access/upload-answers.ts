import type { UploadAnswers, UploadProblem } from '../store/control/control-store.ts';

/** A crash loses so much of the count at most. */
const recordEveryMs = 5000;
/** Of the problems of that time. The counts have all. */
const maxProblems = 100;

/** Refusals of which nobody learns anything but their number. */
const onlyCounted: ReadonlySet<string> = new Set(['rate_limit_exceeded', 'quota_exceeded', 'forbidden']);
const fine: ReadonlySet<string> = new Set(['stored', 'simulated']);

/** Counts how uploads are answered. In memory, and told to the store every few seconds, so that an upload costs no write more. */
export class UploadAnswerCounter {
	readonly #record: (answers: readonly UploadAnswers[], problems: readonly UploadProblem[]) => Promise<void>;
	readonly #onError: (error: unknown) => void;
	#counts = new Map<string, UploadAnswers>();
	#problems: UploadProblem[] = [];
	readonly #timer: NodeJS.Timeout;

	constructor(
		record: (answers: readonly UploadAnswers[], problems: readonly UploadProblem[]) => Promise<void>,
		onError: (error: unknown) => void,
		everyMs = recordEveryMs,
	) {
		this.#record = record;
		this.#onError = onError;
		this.#timer = setInterval(() => void this.#tell(), everyMs).unref();
	}

	add(answered: UploadProblem): void {
		const { clientId, aid, cause, atMs } = answered;
		this.#count({ clientId, aid, cause, day: new Date(atMs).toISOString().slice(0, 10), requests: 1 });
		if (fine.has(cause) || onlyCounted.has(cause)) return;
		this.#problems.push(answered);
		if (this.#problems.length > maxProblems) this.#problems.shift();
	}

	#count(answers: UploadAnswers): void {
		const { clientId, aid, day, cause } = answers;
		const name = `${clientId} ${aid} ${day} ${cause}`;
		const requests = (this.#counts.get(name)?.requests ?? 0) + answers.requests;
		this.#counts.set(name, { ...answers, requests });
	}

	async #tell(): Promise<void> {
		if (this.#counts.size === 0) return;
		const [counts, problems] = [this.#counts, this.#problems];
		this.#counts = new Map();
		this.#problems = [];
		try {
			await this.#record([...counts.values()], problems);
		} catch (error) {
			for (const answers of counts.values()) this.#count(answers);
			this.#problems = [...problems, ...this.#problems].slice(-maxProblems);
			this.#onError(error);
		}
	}

	/** To be called once no more requests are admitted. */
	async stop(): Promise<void> {
		clearInterval(this.#timer);
		await this.#tell();
	}
}
