import { onMounted, type ShallowRef, shallowRef } from 'vue';
import { type Score, type Segment, scores, segments } from './index.ts';

function useAnswer<Entry>(ask: () => Promise<readonly Entry[]>): ShallowRef<readonly Entry[]> {
	const entries = shallowRef<readonly Entry[]>([]);
	onMounted(async () => {
		entries.value = await ask();
	});
	return entries;
}

/** The visitor's scores; empty until they are known. */
export const useScores = (): ShallowRef<readonly Score[]> => useAnswer(scores);
/** The visitor's segments; empty until they are known. */
export const useSegments = (): ShallowRef<readonly Segment[]> => useAnswer(segments);
