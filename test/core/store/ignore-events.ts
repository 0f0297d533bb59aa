import type { WriterEvents } from '../../../src/core/store/serving.ts';

/** For a writer of which only the death matters. */
export const ignoreEvents: WriterEvents = {
	onCommit: () => {},
	onError: () => {},
	onNotice: () => {},
	onWaiting: () => {},
	onDeath: (error) => {
		throw error;
	},
};
