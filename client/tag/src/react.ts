import { useEffect, useState } from 'react';
import { type Score, type Segment, scores, segments } from './index.ts';

function useAnswer<Entry>(ask: () => Promise<readonly Entry[]>): readonly Entry[] {
	const [entries, setEntries] = useState<readonly Entry[]>([]);
	useEffect(() => {
		let isMounted = true;
		ask().then((answer) => isMounted && setEntries(answer));
		return () => {
			isMounted = false;
		};
	}, [ask]);
	return entries;
}

/** The visitor's scores; empty until they are known. */
export const useScores = (): readonly Score[] => useAnswer(scores);
/** The visitor's segments; empty until they are known. */
export const useSegments = (): readonly Segment[] => useAnswer(segments);
