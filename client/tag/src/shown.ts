/** Of the lists that components of the page show: what asks for each again, and the answers that are awaited. */
const shown = new Set<() => void>();
const asked = new Map<unknown, Promise<readonly unknown[]>>();

/** The page has given a command after which the lists may be others. */
export function mayHaveChanged(command: unknown): void {
	if (command !== 'fire' && command !== 'setConsent') return;
	// What was asked under another consent is not the answer.
	if (command === 'setConsent') asked.clear();
	for (const ask of shown) ask();
}

/**
 * Keeps a component up to date. All of a page share a request.
 * @returns what ends it
 */
export function show<Entry>(
	list: () => Promise<readonly Entry[]>,
	set: (entries: readonly Entry[]) => void,
): () => void {
	let latest: unknown;
	const ask = () => {
		const answer = (asked.get(list) as Promise<readonly Entry[]> | undefined) ?? list();
		asked.set(list, answer);
		latest = answer;
		answer.then((entries) => {
			asked.delete(list);
			if (shown.has(ask) && latest === answer) set(entries);
		});
	};
	shown.add(ask);
	ask();
	return () => void shown.delete(ask);
}
