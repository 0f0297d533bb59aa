import { after } from 'node:test';

const closing = new AsyncDisposableStack();

// Registered here, because a hook registered inside a test would run when that test ends.
after(() => closing.disposeAsync());

/** What tests of this process share is closed when all of them are over, the last one first; given instead of a test. */
export const allTests = {
	after(close: () => unknown): void {
		closing.defer(async () => {
			await close();
		});
	},
};
