import { onMounted, onUnmounted, type ShallowRef, shallowRef } from 'vue';
import { type Score, type Segment, scores, segments } from './index.ts';
import { show } from './shown.ts';

function useAnswer<Entry>(list: () => Promise<readonly Entry[]>): ShallowRef<readonly Entry[]> {
	const entries = shallowRef<readonly Entry[]>([]);
	let end = () => {};
	onMounted(() => {
		end = show(list, (answer) => {
			entries.value = answer;
		});
	});
	onUnmounted(() => end());
	return entries;
}

/** The visitor's scores; empty until they are known. */
export const useScores = (): ShallowRef<readonly Score[]> => useAnswer(scores);
/** The visitor's segments; empty until they are known. */
export const useSegments = (): ShallowRef<readonly Segment[]> => useAnswer(segments);
