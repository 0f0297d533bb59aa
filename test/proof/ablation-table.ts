/** `npm run proof:scoring -- --without NAME`, or `--without each`: what mechanisms of scoring gain on public and made-up data, as a table. */

import { mean, meanOfGroups } from '../../src/capabilities/training/fit/measure.ts';
import { withInterval } from '../../src/capabilities/training/pages/report-text.ts';
import type * as Ablations from './ablations.ts';
import { importWithout, linesOf, type Mechanism, mechanisms } from './mechanisms.ts';

/**
 * Prints how much more log loss each history has without a mechanism, with its 95 % interval, and how many lines of code it has.
 * @param on only histories with this in their name
 */
export async function printAblations(
	files: { readonly sample: string; readonly shoppers: string },
	names: readonly string[],
	on = '',
): Promise<void> {
	const asked = names[0] === 'each' ? mechanisms : names.map(mechanismOf);
	const historiesWithout = async (mechanism?: Mechanism) => {
		const { measuredHistories } = await importWithout<typeof Ablations>('./ablations.ts', mechanism);
		return measuredHistories(files).filter(({ name }) => name.includes(on));
	};
	const whole = new Map<string, Ablations.Losses>();
	for (const { name, lossesOf } of await historiesWithout()) {
		if (!asked.some((one) => one.on.test(name))) continue;
		const losses = await lossesOf();
		whole.set(name, losses);
		process.stdout.write(`${name}: log loss ${mean(losses.losses).toFixed(4)}\n`);
	}
	process.stdout.write('\n| mechanism | lines | history | gains |\n|---|---|---|---|\n');
	for (const mechanism of asked)
		for (const { name, lossesOf } of await historiesWithout(mechanism)) {
			const all = whole.get(name);
			if (!all || !mechanism.on.test(name)) continue;
			const less = await lossesOf();
			const more = less.losses.map((loss, row) => loss - (all.losses[row] as number));
			const gain = withInterval(meanOfGroups(more, all.groups));
			process.stdout.write(`| ${mechanism.name} | ${linesOf(mechanism)} | ${name} | ${gain} |\n`);
		}
}

function mechanismOf(name: string): Mechanism {
	const found = mechanisms.find((one) => one.name === name);
	if (found) return found;
	throw new Error(
		`There is no mechanism ${name}; use one of ${mechanisms.map((one) => one.name).join(', ')}.`,
	);
}
