import { compareTexts } from '../../core/domain/compare-texts.ts';
import { counted, formatNumber } from '../../core/format/numbers.ts';
import type { Journey } from './journey.ts';
import {
	conversion,
	type Grouping,
	labelOf,
	labelText,
	lost as lostEnd,
	moreSteps,
	none,
	other,
	touchLabelsOf,
} from './label.ts';
import type { LostPaths } from './lost-paths.ts';
import { byCount, sumOf } from './sums.ts';

/** How many went on from a row at one step of their path to a row at the next one, or to an end. */
export interface StepFlow {
	/** From 1. */
	readonly step: number;
	readonly from: string;
	readonly to: string;
	readonly subscriptions: number;
	/** Lost paths. */
	readonly lost: number;
}

const maxSteps = 5;
const maxNames = 12;

/** Paths that went the same way. Equal touches that follow each other are one step. */
interface Way {
	readonly names: readonly string[];
	readonly subscriptions: number;
	readonly lost: number;
}

/**
 * The flow of paths by steps, those of subscriptions and lost ones together. Each step has the twelve most frequent rows, or
 * eleven and the others as one; the most frequent of each step come first.
 */
export function stepFlows(journeys: readonly Pick<Journey, 'path'>[], lost: LostPaths, by: Grouping) {
	const ways = waysOf(journeys, lost, by);
	const steps = Array.from({ length: maxSteps }, (_, place) => namesAt(ways, place));
	const flows = new Map<string, StepFlow>();
	const beyond = { subscriptions: 0, lost: 0 };
	const nameAt = (names: readonly string[], place: number) => {
		const name = names[place] as string;
		return steps[place]?.kept.has(name) ? name : other;
	};
	for (const { names, ...counts } of ways) {
		if (names.length > maxSteps) {
			beyond.subscriptions += counts.subscriptions;
			beyond.lost += counts.lost;
		}
		for (let place = 0; place < Math.min(names.length, maxSteps); place++) {
			const from = nameAt(names, place);
			const isLast = place + 1 === names.length;
			if (!isLast) {
				const to = place + 1 < maxSteps ? nameAt(names, place + 1) : moreSteps;
				add(flows, { step: place + 1, from, to, ...counts });
				continue;
			}
			if (counts.subscriptions > 0)
				add(flows, { step: place + 1, from, to: conversion, subscriptions: counts.subscriptions, lost: 0 });
			if (counts.lost > 0)
				add(flows, { step: place + 1, from, to: lostEnd, subscriptions: 0, lost: counts.lost });
		}
	}
	const cut = steps.flatMap(({ kept, distinct, others }, place) =>
		distinct > kept.size
			? [
					`Step ${place + 1} has ${kept.size} rows of ${distinct}; ${other} has the rest, ${counted(others, 'path')}.`,
				]
			: [],
	);
	const longer = beyond.subscriptions + beyond.lost;
	const goOn = `${counted(longer, 'path has', 'paths have')} more than ${maxSteps} steps, ${formatNumber(beyond.subscriptions)} of them to a subscription. The rest of their steps is left out.`;
	return {
		flows: [...flows.values()].sort(
			(a, b) =>
				a.step - b.step || sizeOf(b) - sizeOf(a) || compareTexts(a.from, b.from) || compareTexts(a.to, b.to),
		),
		notes: [...cut, ...(longer > 0 ? [goOn] : [])],
	};
}

/** The rows of each step, the most frequent first: who came to it, and what became of them next. */
export function stepNodes(flows: readonly StepFlow[]) {
	const nodes = Map.groupBy(flows, ({ step, from }) => `${step} ${from}`);
	return [...nodes.values()]
		.map((own) => {
			const { step, from } = own[0] as StepFlow;
			const sum = (some: readonly StepFlow[]) => sumOf(some, sizeOf);
			const paths = sum(own);
			const converted = sum(own.filter(({ to }) => to === conversion));
			const lost = sum(own.filter(({ to }) => to === lostEnd));
			return { step, name: from, paths, converted, lost, wentOn: paths - converted - lost };
		})
		.sort((a, b) => a.step - b.step || b.paths - a.paths);
}

/** How many paths it is. */
export function sizeOf({ subscriptions, lost }: Pick<StepFlow, 'subscriptions' | 'lost'>): number {
	return subscriptions + lost;
}

function waysOf(journeys: readonly Pick<Journey, 'path'>[], lost: LostPaths, by: Grouping): Way[] {
	const labels = touchLabelsOf(journeys, [lost], by);
	const nameOf = (label: number) => labelText(labels.names[label] as string);
	const subscribed = journeys.map(({ path }) => ({
		names:
			path.length === 0 ? [none] : stepsOf(path.map((touch) => nameOf(labels.numberOf(labelOf(touch, by))))),
		subscriptions: 1,
		lost: 0,
	}));
	const others = lost
		.labelled((label) => labels.numberOf(label))
		.map(({ labels: path, visitors }) => ({
			names: stepsOf(path.map(nameOf)),
			subscriptions: 0,
			lost: visitors,
		}));
	return [...subscribed, ...others];
}

function stepsOf(names: readonly string[]): string[] {
	return names.filter((name, place) => name !== names[place - 1]);
}

/** The most frequent names at a place of paths. */
function namesAt(ways: readonly Way[], place: number) {
	const counts = new Map<string, number>();
	for (const way of ways) {
		const name = way.names[place];
		if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + sizeOf(way));
	}
	const sorted = byCount(counts);
	const kept = sorted.length <= maxNames ? sorted : sorted.slice(0, maxNames - 1);
	const others = sumOf(sorted.slice(kept.length), ([, count]) => count);
	return { kept: new Set(kept.map(([name]) => name)), distinct: sorted.length, others };
}

function add(flows: Map<string, StepFlow>, flow: StepFlow): void {
	const key = `${flow.step}\u001f${flow.from}\u001f${flow.to}`;
	const { subscriptions, lost } = flows.get(key) ?? { subscriptions: 0, lost: 0 };
	flows.set(key, {
		...flow,
		subscriptions: subscriptions + flow.subscriptions,
		lost: lost + flow.lost,
	});
}
