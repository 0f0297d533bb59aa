import { useEffect, useState } from 'react';
import { type Score, type Segment, scores, segments } from './index.ts';
import { show } from './shown.ts';

function useAnswer<Entry>(list: () => Promise<readonly Entry[]>): readonly Entry[] {
	const [entries, setEntries] = useState<readonly Entry[]>([]);
	useEffect(() => show(list, setEntries), [list]);
	return entries;
}

/** The visitor's scores; empty until they are known. */
export const useScores = (): readonly Score[] => useAnswer(scores);
/** The visitor's segments; empty until they are known. */
export const useSegments = (): readonly Segment[] => useAnswer(segments);
