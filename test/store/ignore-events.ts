import type { WriterEvents } from '../../src/store/serving.ts';

/** For a writer of which only the death matters. */
export const ignoreEvents: WriterEvents = {
	onCommit: () => {},
	onError: () => {},
	onWaiting: () => {},
	onDeath: (error) => {
		throw error;
	},
};
