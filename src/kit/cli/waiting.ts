import { ConnectionError, type Retry } from '../../../client/src/index.ts';

/** How often to say it. */
const everyMs = 1000;

/** Tells how long a server has not answered. */
export class WaitingNotice implements Disposable {
	readonly #timer: NodeJS.Timeout;
	#retry: Retry | undefined;
	#sinceMs = 0;

	/** @param show receives a line every second, while there is something to wait for */
	constructor(show: (line: string) => void) {
		this.#timer = setInterval(() => {
			const seconds = Math.round((performance.now() - this.#sinceMs) / 1000);
			if (this.#retry && seconds > 0) show(waitText(this.#retry, seconds));
		}, everyMs).unref();
	}

	failed(retry: Retry): void {
		if (this.#retry === undefined) this.#sinceMs = performance.now() - retry.failingForMs;
		this.#retry = retry;
	}

	answered(): void {
		this.#retry = undefined;
	}

	get isWaiting(): boolean {
		return this.#retry !== undefined;
	}

	[Symbol.dispose](): void {
		clearInterval(this.#timer);
	}
}

/** For example `no answer since 3 s (ECONNREFUSED), trying again`. */
function waitText({ error }: Retry, seconds: number): string {
	const what = error.status === undefined ? 'no answer' : `only errors (${error.status})`;
	const code = error instanceof ConnectionError ? ` (${error.code ?? error.message})` : '';
	return `${what} since ${seconds} s${code}, trying again`;
}
