/** Time, so that tests need not wait for it. */
export interface Clock {
	/** Monotonic, in milliseconds. */
	now(): number;
	/** Resolves after `ms`. @throws the signal's reason if it is aborted before */
	sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const realClock: Clock = {
	now: () => performance.now(),
	sleep: (ms, signal) =>
		new Promise((resolve, reject) => {
			if (signal?.aborted) {
				reject(signal.reason);
				return;
			}
			const stop = () => {
				clearTimeout(timer);
				reject(signal?.reason);
			};
			const timer = setTimeout(() => {
				signal?.removeEventListener('abort', stop);
				resolve();
			}, ms);
			signal?.addEventListener('abort', stop, { once: true });
		}),
};
